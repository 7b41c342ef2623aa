"""The half-width that a plan gives against that of `ppi_mean`: 30 designs, normal scores and scores from 1 to 5."""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import missing  # noqa: F401 - first: it says which of the others is not there
import numpy as np
import pandas as pd
from scipy import stats

from calib.stats import CalibWarning, budget_plan, judge_correlation, ppi_mean

SETS, BLOCKS = 480, 40
LIMIT = 0.05
COLUMNS = ("study", "scenario", "n_labels", "n_items", "prompts", "draws", "rho_inf", "item_prompt", "r", "mean")
MEASURED = ("predicted", "realised", "ratio", "coverage", "coverage_low", "coverage_high", "sets")
# n_labels, n_items, prompts, draws, rho_inf, item x prompt over item, r = draw / (item + item x prompt), mean (1 to 5)
SCENARIOS = (
    (20, 200, 1, 1, 0.4, 0.2, 0.04, 3.0),
    (20, 200, 2, 4, 0.7, 0.5, 1.5, 3.7),
    (20, 500, 1, 8, 0.9, 0.1, 5.0, 3.0),
    (20, 1000, 4, 1, 0.6, 0.2, 0.5, 4.2),
    (20, 2000, 8, 8, 0.9, 0.5, 5.0, 3.7),
    (20, 5000, 1, 1, 0.8, 0.0, 0.04, 3.7),
    (25, 300, 3, 2, 0.5, 1.0, 2.0, 3.0),
    (25, 5000, 5, 1, 0.7, 0.3, 1.0, 3.7),
    (30, 200, 1, 2, 0.9, 0.1, 0.2, 3.7),
    (30, 500, 2, 1, 0.6, 0.5, 1.5, 4.2),
    (30, 1000, 1, 4, 0.55, 0.0, 1.5, 3.0),
    (30, 3000, 8, 1, 0.8, 0.3, 0.5, 3.0),
    (40, 200, 4, 4, 0.4, 0.2, 5.0, 3.7),
    (40, 400, 1, 1, 0.7, 0.1, 0.04, 3.7),
    (40, 1000, 3, 3, 0.9, 0.5, 1.0, 3.0),
    (40, 5000, 2, 8, 0.65, 0.2, 3.0, 4.2),
    (50, 250, 1, 5, 0.5, 0.3, 0.5, 3.0),
    (50, 1000, 8, 2, 0.6, 1.0, 1.5, 3.7),
    (50, 2500, 1, 1, 0.9, 0.0, 5.0, 3.7),
    (60, 600, 2, 2, 0.8, 0.2, 0.2, 3.0),
    (80, 200, 1, 3, 0.7, 0.5, 1.0, 3.7),
    (80, 1000, 5, 5, 0.9, 0.1, 2.0, 4.2),
    (80, 4000, 1, 8, 0.55, 0.2, 5.0, 3.0),
    (100, 200, 3, 1, 0.6, 0.3, 0.04, 3.7),
    (100, 500, 1, 2, 0.8, 0.0, 1.5, 3.7),
    (100, 2000, 4, 8, 0.4, 0.5, 0.5, 3.0),
    (150, 1000, 1, 1, 0.9, 0.2, 0.2, 3.7),
    (150, 5000, 8, 4, 0.7, 0.1, 3.0, 3.7),
    (200, 1000, 2, 1, 0.65, 1.0, 0.04, 3.0),
    (200, 5000, 6, 6, 0.9, 0.3, 5.0, 4.2),
)


def replies(
    rng: np.random.Generator,
    size: int,
    prompts: int,
    draws: int,
    rho_inf: float,
    share: float,
    r: float,
    mean: float,
    *,
    scale: bool,
) -> tuple[Any, Any]:
    """Labels, and replies by item, prompt and draw; a scale rounds and cuts both."""
    item = rng.normal(size=size)
    y = rho_inf * item + np.sqrt(1 - rho_inf**2) * rng.normal(size=size)
    x = item[:, None, None] + 0.5 * rng.normal(size=(1, prompts, 1))
    x = x + np.sqrt(share) * rng.normal(size=(size, prompts, 1))
    x = x + np.sqrt(r * (1 + share)) * rng.normal(size=(size, prompts, draws))
    if not scale:
        return y, x
    return np.clip(np.round(mean + y), 1, 5), np.clip(np.round(mean + x), 1, 5)


def facts(rng: np.random.Generator, scenario: Any, *, scale: bool) -> tuple[dict[str, float], float, float, float]:
    """What a very large pilot of 8 prompts and 8 draws knows."""
    _, _, _, _, rho_inf, share, r, mean = scenario
    item, item_prompt, draw, rho, sd, centre = np.mean(
        [moments(*replies(rng, 4000, 8, 8, rho_inf, share, r, mean, scale=scale)) for _ in range(BLOCKS)], axis=0
    )
    return {"item": item, "item_prompt": max(item_prompt, 0), "draw": draw}, rho, sd, centre


def moments(y: Any, x: Any) -> tuple[float, ...]:
    """Components of items, prompts and draws by the mean squares; correlation, spread and mean of the labels."""
    size, prompts, draws = x.shape
    cell, row, column = x.mean(axis=2), x.mean(axis=(1, 2)), x.mean(axis=(0, 2))
    draw = float(np.sum((x - cell[..., None]) ** 2)) / (size * prompts * max(draws - 1, 1))
    both = draws * np.sum((cell - row[:, None] - column + x.mean()) ** 2) / (size - 1) / max(prompts - 1, 1)
    items = prompts * draws * np.var(row, ddof=1)
    rho = np.corrcoef(y, row)[0, 1]
    return (items - both) / (prompts * draws), (both - draw) / draws, draw, rho, np.std(y, ddof=1), y.mean()


def predicted(scenario: Any, known: dict[str, float], rho: float, sd: float, centre: float, *, scale: bool) -> float:
    """The present design of a plan; the correlation is taken from 8 x 8 to this design."""
    n, items, prompts, draws = scenario[:4]
    rho_inf = min(rho / judge_correlation(1.0, **known, prompts=8, draws=8), 1)
    here = judge_correlation(rho_inf, **known, prompts=prompts, draws=draws)
    options: dict[str, Any] = {"bounds": (1, 5), "step": 1, "mean": centre} if scale else {}
    prices = {"label": 1, "judge": 0.01}
    return budget_plan(
        rho=here,
        sd=sd,
        **known,
        n_labels=n,
        n_items=items,
        prompts=prompts,
        draws=draws,
        prices=prices,
        budget=1,
        **options,
    ).present.half_width


def realised(rng: np.random.Generator, scenario: Any, centre: float, sets: int, *, scale: bool) -> tuple[float, int]:
    """Half-widths and hits of the default interval, with prompts drawn anew for each block of data sets."""
    n, items, prompts, draws, *model = scenario
    options: dict[str, Any] = {"bounds": (1, 5), "step": 1} if scale else {}
    half, hits = [], 0
    for _ in range(BLOCKS):
        y, x = replies(rng, 4 * items, prompts, draws, *model, scale=scale)
        f = x.mean(axis=(1, 2))
        for _ in range(sets // BLOCKS):
            take = rng.permutation(len(y))[:items]
            gold, rest = take[:n], take[n:]
            low, high = ppi_mean(y[gold], f[gold], f[rest], **options).interval
            half.append((high - low) / 2)
            hits += low <= centre <= high
    return float(np.mean(half)), hits


def row(study: str, number: int, sets: int) -> dict[str, Any]:
    """One scenario: what the plan says, what the intervals are, and how often they hold."""
    scale, scenario = study != "normal", SCENARIOS[number - 1]
    rng = np.random.default_rng([number, scale])
    known, rho, sd, centre = facts(rng, scenario, scale=scale)
    plan = predicted(scenario, known, rho, sd, centre, scale=scale)
    wide, hits = realised(rng, scenario, centre if scale else 0.0, sets, scale=scale)
    ends = stats.binomtest(hits, sets).proportion_ci(0.99)
    measured = (plan, wide, wide / plan, hits / sets, ends.low, ends.high)
    named = dict(zip(MEASURED, (round(value, 4) for value in measured), strict=False)) | {"sets": sets}
    return dict(zip(COLUMNS, (study, number, *scenario), strict=True)) | named


def main() -> None:
    """All scenarios into results.csv, or with --check a few of them held against the limit of 5 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="every fifth scenario, 200 data sets each")
    quick = parser.parse_args().check
    warnings.simplefilter("ignore", CalibWarning)  # that 20 labels are few
    numbers = range(1, len(SCENARIOS) + 1, 5 if quick else 1)
    rows = [row(study, number, 200 if quick else SETS) for study in ("normal", "1 to 5") for number in numbers]
    results = pd.DataFrame(rows)
    if not quick:
        results.to_csv(Path(__file__).parent / "results.csv", index=False)
    missed = results[(results["ratio"] - 1).abs() > LIMIT]
    print(results[["study", "scenario", "predicted", "realised", "ratio", "coverage"]].to_string(index=False))
    print(f"{len(results) - len(missed)} of {len(results)} within {100 * LIMIT:g} %")
    sys.exit(1 if len(missed) else 0)


if __name__ == "__main__":
    main()
