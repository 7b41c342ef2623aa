"""CPU time of convergence curves and of a G-study, beside a plain scipy loop and statsmodels' mixed model.

Run: CALIB_DATA=... python tests/bench/sampling_speed.py. Without the data the curves are of simulated replies
of the same size. The loop is timed on a few subsets and scaled; README.md says how to read the table.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import platform
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats as peers

from calib.stats import convergence, g_study

SIZES, SUBSETS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20), 200
LOOPED_RUNS, LOOPED = 4, 2  # runs and subsets that the loop is timed on
CRITERIA = ("naturalness", "coherence", "engagingness", "groundedness")


class Run(NamedTuple):
    draws: np.ndarray
    human: np.ndarray
    groups: np.ndarray


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def runs() -> list[Run]:
    """The 28 runs of Chiang and Lee (2023) on Topical-Chat, or as many simulated ones."""
    if os.environ.get("CALIB_DATA"):
        return [run for prompt in _prompts() for run in _recorded(prompt)]
    rng = np.random.default_rng(0)
    truth = rng.normal(2, 0.6, (28, 350))
    draws = np.clip(np.round(truth[:, :, None] + rng.normal(0, 0.5, (28, 350, 20))), 1, 3)
    people = np.round(3 * np.clip(truth + rng.normal(0, 0.6, truth.shape), 1, 3)) / 3
    return [Run(d, y, np.arange(350) // 6) for d, y in zip(draws, people, strict=True)]


def _prompts() -> tuple[str, ...]:
    from calib.datasets import TOPICAL_CHAT_PROMPTS

    return TOPICAL_CHAT_PROMPTS


def _recorded(prompt: str) -> list[Run]:
    import calib

    items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
    document, found = items.set_index("item")["group"], []
    for criterion in CRITERIA:
        rows = ratings[ratings["criterion"] == criterion]
        replies = rows[rows["rater"] == "gpt-3.5"].pivot(index="item", columns="draw", values="score")
        replies = replies.where(replies.le(3 if criterion != "groundedness" else 1)).dropna()
        people = rows[rows["rater"] == "expert_mean"].set_index("item")["score"].reindex(replies.index)
        found.append(Run(replies.to_numpy(), people.to_numpy(), document.reindex(replies.index).to_numpy()))
    return found


def loop(run: Run, method: str, rng: np.random.Generator) -> None:
    """What a user would write: for each size and subset the means, then scipy's coefficient."""
    coefficient = {"spearman": peers.spearmanr, "kendall": peers.kendalltau, "pearson": peers.pearsonr}[method]
    for size in SIZES:
        for _ in range(LOOPED):
            chosen = [rng.choice(row, size, replace=False).mean() for row in run.draws]
            coefficient(chosen, run.human)


def mixed(x: np.ndarray) -> None:
    """The same components by statsmodels, crossed effects in one group of all."""
    import pandas as pd
    import statsmodels.formula.api as smf

    item, prompt, _ = np.indices(x.shape)
    frame = pd.DataFrame({"y": x.ravel(), "i": item.ravel(), "p": prompt.ravel(), "one": 1})
    frame["ip"] = frame["i"] * x.shape[1] + frame["p"]
    parts = {"item": "0 + C(i)", "prompt": "0 + C(p)", "ip": "0 + C(ip)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smf.mixedlm("y ~ 1", frame, groups="one", vc_formula=parts).fit(reml=True)


def main() -> None:
    all_runs, rng = runs(), np.random.default_rng(1)
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; CPU seconds\n")
    print(f"{len(all_runs)} runs, {len(SIZES)} sizes, {SUBSETS} subsets each, with intervals over groups")
    for method in ("spearman", "pearson", "kendall"):
        ours = cpu(
            lambda m=method: [
                convergence(r.draws, labels=r.human, groups=r.groups, method=m, sizes=SIZES, n_subsets=SUBSETS, rng=1)
                for r in all_runs
            ]
        )
        scale = len(all_runs) / LOOPED_RUNS * SUBSETS / LOOPED
        theirs = scale * cpu(lambda m=method: [loop(r, m, rng) for r in all_runs[:LOOPED_RUNS]])
        print(
            f"  {method:9} calib {ours:6.2f}   scipy loop, without intervals {theirs:7.1f} (scaled)"
            f"   x {theirs / ours:.0f}"
        )
    x = np.random.default_rng(2).integers(1, 6, (5000, 8, 8)).astype(float)
    print("\nG-study of 5,000 items x 8 prompts x 8 draws, milliseconds")
    for name, level in (("components", None), ("with intervals", 0.95)):
        print(f"  {name:15} {1e3 * min(cpu(lambda c=level: g_study(x, confidence_level=c)) for _ in range(5)):6.1f}")
    small = np.random.default_rng(3).normal(size=(60, 1, 1)) + np.random.default_rng(4).normal(size=(60, 5, 2))
    small[0, 0] = np.nan
    ours = cpu(lambda: g_study(small, estimator="reml", confidence_level=None))
    theirs = cpu(lambda: mixed(small[1:]))
    print(
        f"\nREML, 60 items x 5 prompts x 2 draws: calib {1e3 * ours:.1f} ms, "
        f"statsmodels {1e3 * theirs:.0f} ms (59 items)"
    )


if __name__ == "__main__":
    main()
