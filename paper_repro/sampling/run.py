"""How many draws, how many prompts: what recorded judges show, and what variance components say beforehand."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import pandas as pd
from fit_temperature import fit_temperature
from scipy.stats import spearmanr

import calib
from calib.datasets import COMPOSO_PROMPTS, LLM_SUMMEVAL_PROMPTS, TOPICAL_CHAT_PROMPTS
from calib.stats import (
    CalibWarning,
    convergence,
    draws_needed,
    expectation,
    g_study,
    precision_gain,
    prompt_mean,
    temperature_curve,
    variance,
    variance_components,
)

Row = dict[str, object]
CRITERIA = {"naturalness": (1, 3), "coherence": (1, 3), "engagingness": (1, 3), "groundedness": (0, 1)}
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
SUBSETS, MANY_SUBSETS = 200, 1000
DESIGNS = ((1, 1), (1, 8), (2, 4), (4, 2), (8, 1), (1, float("inf")))
ACCURACIES = (
    ("gpt-5.4", "base"), ("gpt-5.4", "criteria"), ("gpt-5.4", "cal-low"), ("gpt-5.4", "combined"),
    ("gpt-5.4-mini", "base"),
)  # fmt: skip
RATIOS = (0.04, 0.5, 1.5, 5.71, 11.25, 20)


def rows() -> pd.DataFrame:
    """All tables, one below the other."""
    tables = {
        "convergence": convergence_rows,
        "topical_chat": topical_chat_rows,
        "composo": composo_rows,
        "llm_summeval": llm_summeval_rows,
        "hanna": hanna_rows,
        "llm_rubric": llm_rubric_rows,
        "law": law_rows,
    }
    found = [{"table": name, **row} for name, table in tables.items() for row in table()]
    return pd.DataFrame(found)[["table", "run", "quantity", "at", "value", "conf_low", "conf_high"]]


def row(run: str, quantity: str, at: object, value: float, interval: Iterable[float] = (np.nan, np.nan)) -> Row:
    """One line of the results."""
    low, high = interval
    place = {"run": run, "quantity": quantity, "at": str(at)}
    return {**place, "value": float(value), "conf_low": float(low), "conf_high": float(high)}


# --- (a), (b) Topical-Chat --------------------------------------------------------------------------------------


@cache
def topical_chat() -> tuple[pd.DataFrame, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Items; the draws of each criterion (items, prompts, draws), NaN off the scale; people's means."""
    drawn = {criterion: np.full((360, len(TOPICAL_CHAT_PROMPTS), 20), np.nan) for criterion in CRITERIA}
    people = {}
    for place, prompt in enumerate(TOPICAL_CHAT_PROMPTS):
        items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
        row_of = pd.Series(range(len(items)), index=items["item"])
        for criterion, scale in CRITERIA.items():
            one = ratings[ratings["criterion"] == criterion]
            replies, human = one[one["method"] == "sample"], one[one["method"] == "human"]
            scores = replies["score"].where(replies["score"].between(*scale))
            drawn[criterion][row_of[replies["item"].astype(str)], place, replies["draw"]] = scores
            people[criterion] = human.set_index("item")["score"].reindex(items["item"]).to_numpy()
    return items, drawn, people


def runs() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The 28 runs: name, draws of the items with all 20 replies, people's means."""
    _, drawn, people = topical_chat()
    for criterion, scores in drawn.items():
        for place, prompt in enumerate(TOPICAL_CHAT_PROMPTS):
            whole = np.isfinite(scores[:, place]).all(axis=1)
            yield f"{criterion}, {prompt}", scores[whole, place], people[criterion][whole]


def convergence_rows() -> Iterator[Row]:
    """Agreement with people as draws are added, beside the law; how far N draws are from 20."""
    data = list(runs())
    curves = {
        method: [converged(x, y, method, SUBSETS) for _, x, y in data] for method in ("pearson", "spearman", "kendall")
    }
    mean = "mean of 28 runs"
    for method, found in curves.items():
        for size, value in zip(SIZES, np.mean([curve.agreement for curve in found], axis=0), strict=True):
            yield row(mean, method, f"N={size}", value)
    yield row("all", "largest error of the law", f"{SUBSETS} subsets", worst(curves["pearson"]))
    many = [converged(x, y, "pearson", MANY_SUBSETS) for _, x, y in data]
    yield row("all", "largest error of the law", f"{MANY_SUBSETS} subsets", worst(many))
    top = np.array([np.argmax(curve.agreement) for curve in curves["kendall"]])
    yield row("all", "runs whose tau-b is largest at N <= 10", "-", sum(np.array(SIZES)[top] <= 10))
    rng = np.random.default_rng(3)
    off = [error for _, x, _ in data for error in rmse_errors(x, rng)]
    yield row("all", "largest relative error of the RMSE law", f"{SUBSETS} subsets", max(off))
    singles = [variance_components(x).icc for _, x, _ in data]
    yield row("all", "reliability of one draw, smallest", "-", min(singles))
    yield row("all", "reliability of one draw, largest", "-", max(singles))
    for (name, x, _), curve in zip(data, curves["pearson"], strict=True):
        parts = variance_components(x)
        yield row(name, "r", "-", parts.r, parts.interval)
        yield row(name, "reliability", "N=1", parts.icc, parts.icc_interval)
        yield row(name, "draws for reliability .9", "-", draws_needed(parts.r, 0.9**0.5))
        yield row(name, "pearson", "N=20", curve.agreement_reference, curve.agreement_interval)


def converged(x: np.ndarray, y: np.ndarray, coefficient: str, n_subsets: int) -> calib.stats.Convergence:
    """One curve."""
    return convergence(x, labels=y, coefficient=coefficient, sizes=SIZES, n_subsets=n_subsets, rng=1)


def worst(curves: list[calib.stats.Convergence]) -> float:
    """The largest distance of the predicted from the measured Pearson correlation; 20 draws are the reference."""
    return max(float(np.max(np.abs(np.subtract(c.agreement, c.agreement_predicted)[:-1]))) for c in curves)


def rmse_errors(x: np.ndarray, rng: np.random.Generator) -> Iterator[float]:
    """Relative errors of the RMSE law against random subsets (`convergence` itself has the closed form)."""
    shuffled, whole = rng.permuted(np.broadcast_to(x, (SUBSETS, *x.shape)), axis=2), x.mean(axis=1)
    within = variance_components(x).within
    for size in SIZES[:-1]:
        measured = np.mean((shuffled[:, :, :size].mean(axis=2) - whole) ** 2)
        yield abs(float(np.sqrt(measured / (within * (1 / size - 1 / x.shape[1])))) - 1)


def topical_chat_rows() -> Iterator[Row]:
    """Shares of the variance of one score, and how far the mean moves with the prompt."""
    items, drawn, _ = topical_chat()
    for criterion, scores in drawn.items():
        read = np.isfinite(scores).sum(axis=2)
        enough = (read >= 10).all(axis=1)
        x = scores[enough]
        yield row(criterion, "items", "-", len(x))
        total = sum(part.estimate for part in g_study(x).components)
        for part in g_study(x).components:
            yield row(criterion, "share", part.name, part.share, (end / total for end in part.interval))
        means = np.nanmean(x, axis=2)
        for name, groups in {"": None, " over dialogues": items["group"][enough]}.items():
            mean = prompt_mean(means, groups=groups)
            yield row(criterion, f"width of one prompt's interval{name}", "-", mean.prompt_width)
        yield row(criterion, "range of the prompts' means", "-", mean.range)
        yield row(criterion, "mean over prompts", "-", mean.estimate, mean.interval)


# --- (c) composo ------------------------------------------------------------------------------------------------


def composo(judge: str, **options: object) -> list[dict[str, np.ndarray]]:
    """For each prompt, the scores of the queries without a gap in the order of the file: (4 responses, 8 draws)."""
    _, ratings = calib.load_composo(judge, **options)
    out = []
    for _, one in ratings.groupby("prompt", observed=True, sort=False):
        names = one["item"].iloc[::32].astype(str).str.removesuffix("__1")
        scores = zip(names, one["score"].to_numpy().reshape(-1, 4, 8), strict=True)
        out.append({name: score for name, score in scores if np.isfinite(score).all()})
    return out


def crossed(prompts: list[dict[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Responses to the queries that all prompts have, (items, prompts, draws), and the query of each."""
    shared = [name for name in prompts[0] if all(name in others for others in prompts)]
    x = np.concatenate([np.stack([prompt[name] for prompt in prompts], axis=1) for name in shared])
    return x, np.repeat(shared, 4)


def composo_rows() -> Iterator[Row]:
    """Components by query, and as published by the number of the query alone; designs; judges; temperatures."""
    for judge in ("gpt-5.4", "gpt-5.4-mini"):
        prompts = composo(judge)
        assert len(prompts) == len(COMPOSO_PROMPTS)
        # one number may stand for two queries: the last one of a file counted
        numbered = [{name.rpartition("-")[2]: score for name, score in prompt.items()} for prompt in prompts]
        for key, tables in {"by query": prompts, "by number": numbered}.items():
            x, queries = crossed(tables)
            study = g_study(x, groups=queries)
            yield row(f"{judge} {key}", "queries", "-", len(x) / 4)
            for part in study.components:
                yield row(f"{judge} {key}", "variance", part.name, part.estimate, part.interval)
            for p, k in DESIGNS:
                yield row(f"{judge} {key}", "Phi", f"P={p} K={k:g}", study.d_study(p, k).phi[0])
    for judge in ("gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "claude-sonnet-4-6", "claude-haiku-4-5"):
        yield from within(judge, "base", composo(judge, prompts=["base"]))
    for tau in (0.0, 0.3, 0.7):
        yield from within("gpt-5.4", f"base at temperature {tau}", composo("gpt-5.4", temperature=tau))
    for judge, prompt in ACCURACIES:
        yield from accuracy(judge, prompt)


def within(judge: str, run: str, prompts: list[dict[str, np.ndarray]]) -> Iterator[Row]:
    """The ratio r of one judge under one prompt, and its within-item variance."""
    x, queries = crossed(prompts)
    parts = variance_components(x[:, 0], groups=queries)
    yield row(f"{judge}, {run}", "r", "-", parts.r, parts.interval)
    yield row(f"{judge}, {run}", "variance", "draw", parts.within)
    yield row(f"{judge}, {run}", "share of items without variance", "-", np.mean(np.ptp(x[:, 0], axis=1) == 0))


def accuracy(judge: str, prompt: str) -> Iterator[Row]:
    """How often the best response is above the other three, by one draw and by the mean of eight."""
    _, ratings = calib.load_composo(judge, [prompt])
    draws = ratings["score"].to_numpy().reshape(-1, 4, 8)
    read = np.isfinite(draws).sum(axis=2)
    means = {"K=1": draws[:, :, 0], "K=8": np.where(read, np.nansum(draws, axis=2) / np.maximum(read, 1), np.nan)}
    for size, scores in means.items():
        best, others = scores[:, 0], scores[:, 1:].max(axis=1)
        known = np.isfinite(best + others)
        yield row(f"{judge}, {prompt}", "best response above all others, %", size, 100 * (best > others)[known].mean())
        yield row(
            f"{judge}, {prompt}",
            "best response level with another at the top, %",
            size,
            100 * (best == others)[known].mean(),
        )


# --- (d), (e) llm_summeval and HANNA ----------------------------------------------------------------------------


def llm_summeval_rows() -> Iterator[Row]:
    """GPT-3.5 in five formats: components, agreement with the experts, the interval with the prompt inside."""
    _, ratings = calib.load_llm_summeval(reading="shen")
    held = 0
    for criterion, one in ratings.groupby("criterion", observed=True):
        table = one.pivot_table("score", "item", ["method", "prompt", "rater"], observed=True)
        judge, experts = table["sample"][list(LLM_SUMMEVAL_PROMPTS)], table["human"].mean(axis=1)
        yield from components(criterion, judge.to_numpy())
        for (prompt, _), scores in judge.items():
            yield row(criterion, "spearman", prompt, spearmanr(scores, experts).statistic)
        yield row(criterion, "spearman", "mean of 5", spearmanr(judge.mean(axis=1), experts).statistic)
        mean = prompt_mean(judge.to_numpy())
        yield row(criterion, "mean over prompts", "-", mean.estimate, mean.interval)
        yield row(criterion, "half-width", "prompts random", (mean.interval.high - mean.interval.low) / 2)
        halves = [(end.high - end.low) / 2 for end in mean.prompt_intervals]
        yield row(criterion, "half-width", "one prompt, narrowest", min(halves))
        yield row(criterion, "half-width", "one prompt, widest", max(halves))
        yield row(criterion, "mean of the experts", "-", experts.mean())
        held += mean.interval.low <= experts.mean() <= mean.interval.high
    yield row("all", "criteria whose interval holds the mean of the experts", "-", held)


def hanna_rows() -> Iterator[Row]:
    """Five judges under four prompts."""
    _, ratings = calib.load_hanna()
    judged = ratings[ratings["method"] == "sample"]
    for (judge, criterion), one in judged.groupby(["rater", "criterion"], observed=True):
        x = one.pivot_table("score", "item", "prompt", observed=True).to_numpy()
        yield from components(f"{judge}, {criterion}", x)


def components(run: str, x: np.ndarray) -> Iterator[Row]:
    """Components and coefficients of scores that were asked for once under each prompt."""
    study = g_study(x)
    for part in study.components:
        yield row(run, "variance", part.name, part.estimate, part.interval)
    for prompts in (1, x.shape[1]):
        design = study.d_study(prompts)
        yield row(run, "Phi", f"P={prompts}", design.phi[0])
        yield row(run, "E(rho^2)", f"P={prompts}", design.e_rho2[0])


# --- (f) LLM-Rubric ---------------------------------------------------------------------------------------------


def llm_rubric_rows() -> Iterator[Row]:
    """Exact probabilities: the ratio r, draws made from them, and what temperature does to them."""
    _, ratings = calib.load_llm_rubric("real")
    levels = np.arange(1.0, 5.0)
    logprobs = ratings[ratings["method"] == "logprob"]
    for question, one in logprobs.groupby("criterion", observed=True):
        p = one.pivot_table("weight", "item", "score", observed=True)
        exact = expectation(p, levels)
        parts = variance_components(exact, variance(p, levels))
        yield row(question, "r", "-", parts.r, parts.interval)
        if question in ("Q0", "Q8"):
            rng = np.random.default_rng(4)
            draws = rng.random((len(p), 1000, 1)) > np.cumsum(p.to_numpy(), axis=1)[:, None, :-1]
            curve = convergence(
                levels[0] + draws.sum(axis=2), exact=exact, sizes=[1, 5, 10, 20, 50, 100], n_subsets=SUBSETS, rng=5
            )
            for size, value in zip(curve.sizes, curve.correlation, strict=True):
                yield row(question, "spearman with the expectation", f"N={size}", value)
        if question == "Q0":
            yield from temperature_rows(p, levels, ratings)


def temperature_rows(p: pd.DataFrame, levels: np.ndarray, ratings: pd.DataFrame) -> Iterator[Row]:
    """Mean expectation and entropy by temperature; the temperature that fits people best."""
    curve = temperature_curve(p, levels, taus=[0.5, 0.7, 1, 1.3, 2])
    for one in curve.forecasts:
        yield row("Q0", "mean expectation", f"tau={one.tau:g}", one.mean)
        yield row("Q0", "mean entropy", f"tau={one.tau:g}", one.entropy)
    people = ratings[(ratings["method"] == "human") & (ratings["criterion"] == "Q0")].set_index("item")["score"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)  # that even then base rates are better, which the rows show
        fit = fit_temperature(p, people.reindex(p.index), levels)
    yield row("Q0", "fitted temperature", "-", fit.tau, fit.interval)
    for name in ("nll", "rps"):
        for when, forecast in zip(("before", "after", "climatology"), fit.forecasts, strict=True):
            yield row("Q0", name, when, getattr(forecast, name))


def law_rows() -> Iterator[Row]:
    """The gain in precision of 20 draws as a function of r: "20 draws recover 80 %" holds at one r alone."""
    for r in RATIOS:
        yield row("gain of 20 draws", "gain", f"r={r:g}", precision_gain(r, 20))


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
