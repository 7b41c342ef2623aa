"""G1 to G7: single numbers that any program must get from these files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import rivals
from fit_temperature import fit_temperature
from numpy.typing import NDArray
from summeval_draws import CRITERIA, JUDGE, LEVELS, summeval

import calib
from calib.stats import accept_threshold, corp, forecast_quality, ordered_logit

Row = dict[str, Any]
SCALE = np.arange(1, LEVELS + 1)
QUALITY = {"mcb": "MCB", "dsc": "DSC", "unc": "UNC"}


def rows() -> Iterator[Row]:
    """All golden numbers, each with its table, what it is of, and its name."""
    for table, made in MADE.items():
        for of, name, value in made():
            yield {"table": table, "of": of, "quantity": name, "at": "all", "value": value}


def _judge() -> Iterator[tuple[str, str, float]]:
    data = summeval()
    for criterion in ("coherence", "relevance"):
        x, y = data.digits[criterion, JUDGE] + 1, data.label[criterion] + 1
        fit = ordered_logit(x, y, levels=SCALE, ridge=0.0, pseudo=0.0)
        for k, value in enumerate(fit.thresholds, start=1):
            yield criterion, f"threshold {k}", float(value)
        yield criterion, "slope", float(fit.slopes[0])
        yield criterion, "log-likelihood", fit.log_likelihood
        yield criterion, "RPS", corp(fit.predict(x), y, SCALE).score
        parts = corp(np.eye(LEVELS)[x - 1], y, SCALE, x=x)
        yield criterion, "RPS of the digit", parts.score
        yield criterion, "RPS of IDR", parts.score - parts.mcb
        for field, name in QUALITY.items():
            yield criterion, name, getattr(parts, field)
        if criterion == "coherence":
            for level, count in zip(SCALE, np.bincount(y)[1:], strict=True):
                yield criterion, f"labels {level}", float(count)


def _probabilities() -> Iterator[tuple[str, str, float]]:
    p, y = question("real", "Q0")
    levels = np.arange(1, 5)
    found = forecast_quality(p, y, levels)
    yield "probabilities", "RPS", found.rps
    yield "probabilities", "log score", found.log_score
    for field, name in QUALITY.items():
        yield "probabilities", name, getattr(found.corp, field)
    yield "shares", "log score", found.log_shares
    temper = fit_temperature(p, y, levels)
    yield "temperature", "T", temper.tau
    yield "temperature", "log score", temper.forecasts[1].nll
    yield "temperature", "RPS", temper.forecasts[1].rps
    mean = p / p.sum(axis=1, keepdims=True) @ levels
    fit = ordered_logit(mean, y, levels=levels, ridge=0.0, pseudo=0.0)
    made = forecast_quality(fit.predict(mean), y, levels)
    yield "PO on the expectation", "slope", float(fit.slopes[0])
    yield "PO on the expectation", "log-likelihood", fit.log_likelihood
    yield "PO on the expectation", "RPS", made.rps
    yield "PO on the expectation", "log score", made.log_score
    parts = corp(p, y, levels, x=mean)
    yield "IDR on the expectation", "RPS", parts.score - parts.mcb


def question(part: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of the four answers and each label beside them."""
    _, ratings = calib.load_llm_rubric(part)
    ratings = ratings[ratings["criterion"] == name]
    judge = ratings[ratings["method"] == "logprob"].pivot_table(index="item", columns="score", values="weight")
    people = ratings[(ratings["method"] == "human") & ratings["score"].between(1, 4)]
    people = people[people["item"].isin(judge.index)]
    return judge[[1, 2, 3, 4]].loc[people["item"]].to_numpy(), people["score"].to_numpy(dtype=float)


def jury() -> tuple[pd.DataFrame, NDArray[np.intp], NDArray[np.float64]]:
    """TriviaQA's answers in order of questions, how many of nine judges say "right", and what people say."""
    items, ratings = calib.datasets.load_triviaqa_judges()
    items = items.sort_values(["group", "item"], ignore_index=True)
    wide = ratings.astype({"rater": str}).pivot_table(index="item", columns="rater", values="score").loc[items["item"]]
    return items, wide.drop(columns="human").sum(axis=1).to_numpy(dtype=np.intp), wide["human"].to_numpy()


def _jury() -> Iterator[tuple[str, str, float]]:
    _, said, y = jury()
    p = said / 9
    found = corp(p, y)
    yield "share of nine", "Brier score", found.score
    for field, name in QUALITY.items():
        yield "share of nine", name, getattr(found, field)
    full = np.stack([1 - p, p], axis=1)
    yield "share of nine", "ECE(10)", forecast_quality(full, y).ece
    safe = np.clip(p, 1e-9, 1 - 1e-9)
    z = ((y - safe) * (1 - 2 * safe)).sum() / np.sqrt(((1 - 2 * safe) ** 2 * safe * (1 - safe)).sum())
    yield "share of nine", "Spiegelhalter z", float(z)


def _venn_abers() -> Iterator[tuple[str, str, float]]:
    """The package beside the calibrator of `rivals.py`, which has it by its definition."""
    for name, n_values in (("60 points, no ties", 60), ("60 points, ties", 7)):
        rng = np.random.default_rng(5)
        x = np.arange(60) if n_values == 60 else rng.integers(0, n_values, 60)
        y = (rng.random(60) < (x + 1) / (n_values + 2)).astype(int)
        counts = np.zeros((n_values, 2))
        np.add.at(counts, (x, y), 1)
        ours = rivals.venn_abers(counts)[x, 1]
        yield name, "largest difference to venn-abers", _beside_package(x / n_values, y, ours)


def _beside_package(x: NDArray[np.float64], y: NDArray[np.intp], ours: NDArray[np.float64]) -> float:
    """Not a number where the package is not installed."""
    try:
        from venn_abers import VennAbers
    except ImportError:
        return float("nan")
    model, p = VennAbers(), np.stack([1 - x, x], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package compares with NaN
        model.fit(p, y)
        return float(np.abs(model.predict_proba(p)[0][:, 1] - ours).max())


def _residuals() -> Iterator[tuple[str, str, float]]:
    """Split conformal sets from residuals: calibrated on the ten first documents."""
    data = summeval()
    first = data.document < 10
    for criterion in CRITERIA[:2]:
        x, y = data.digits[criterion, JUDGE], data.label[criterion]
        gap = y - x
        n = int(first.sum())
        for alpha in (0.1, 0.2):
            k = int(np.ceil((n + 1) * (1 - alpha)))
            q = int(np.sort(np.abs(gap[first]))[k - 1])
            of = f"{criterion}, absolute residual, {1 - alpha:.0%}"
            yield of, "k", float(k)
            yield of, "q", float(q)
            yield from _sets(of, x[~first], y[~first], -q, q)
        ends = int(np.floor((n + 1) * 0.05)), int(np.ceil((n + 1) * 0.95))
        low, high = (int(np.sort(gap[first])[end - 1]) for end in ends)
        of = f"{criterion}, signed residual, 90%"
        yield of, "low", float(low)
        yield of, "high", float(high)
        yield from _sets(of, x[~first], y[~first], low, high)


def _sets(of: str, x: Any, y: Any, low: int, high: int) -> Iterator[tuple[str, str, float]]:
    yield of, "coverage", float(np.mean((y - x >= low) & (y - x <= high)))
    ends = np.clip(x + low, 0, LEVELS - 1), np.clip(x + high, 0, LEVELS - 1)
    yield of, "mean size", float(np.mean(ends[1] - ends[0] + 1))


def _accepted() -> Iterator[tuple[str, str, float]]:
    """The jury's majority, and how many of nine say the same, as its confidence."""
    items, said, people = jury()
    sure, wrong = np.maximum(said, 9 - said), ((said >= 5) != (people == 1)).astype(float)
    first = items["group"].isin(sorted(items["group"].unique())[:50]).to_numpy()
    for at in (9, 8, 6, 5):
        above = sure[first] >= at  # a pool that is as sure everywhere has this one threshold
        one = accept_threshold(np.full(above.sum(), at), wrong[first][above]).curve[0]
        yield f"{at} of 9", "labels", float(one.m)
        yield f"{at} of 9", "errors", float(one.errors)
        yield f"{at} of 9", "upper end", one.bound
        rest = (sure >= at) & ~first
        yield f"{at} of 9", "items of the others", float(rest.sum())
        yield f"{at} of 9", "errors of the others", float(wrong[rest].sum())


MADE = {"G1, G2": _judge, "G3": _probabilities, "G4": _jury, "G5": _venn_abers, "G6": _residuals, "G7": _accepted}
