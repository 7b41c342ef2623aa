"""Escalation: what a jury may decide alone, over a thousand choices of labels, beside the published rule."""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

import calib
from calib.stats import CalibWarning, accept_threshold, ordered_logit

Floats = NDArray[np.float64]
Rule = Callable[[Floats, Floats, Floats, float], float]  # of labels' confidences and errors, of the pool, of the risk
Case = tuple[str, Floats, Floats, float, tuple[int, ...]]  # name, confidences, errors, risk, numbers of labels
SPLITS, CONFIDENCE, FOLDS = 1000, 0.9, 10
FEWER = 300  # splits where each system has a test of its own
WEAK = ("Gemma-2B", "JudgeLM", "Llama-13B", "Llama-7B", "Mistral-7B")
LEAST = 30  # labels above the strictest threshold that the published code tests


def rows() -> pd.DataFrame:
    """Accepted shares of the pool and how often its risk there is above what was promised, of each rule."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        return pd.DataFrame([row for case in cases() for row in of_case(*case)] + [*within_systems()])


# --- what is decided ----------------------------------------------------------------------------------------------


def cases() -> Iterator[Case]:
    """TriviaQA's juries, three pass marks on SummEval, and a judge that errs as often whatever it says."""
    said, right = jury()
    nine = majority(said.to_numpy(), right)
    yield "TriviaQA, nine judges", *nine, 0.1, (100, 200, 400)
    yield "TriviaQA, nine judges", *nine, 0.05, (200,)
    yield "TriviaQA, five weak judges", *majority(said[list(WEAK)].to_numpy(), right), 0.1, (50, 100, 200)
    for criterion, n in {"consistency": 100, "relevance": 200, "coherence": 200}.items():
        yield f"SummEval, {criterion} of 4 and more", *pass_mark(criterion), 0.15, (n,)
    rng = np.random.default_rng(0)
    errors = rng.permutation(np.arange(10_000) % 10 < 3).astype(float)
    yield "30 % errors at any confidence", rng.random(10_000), errors, 0.15, (250,)


def jury() -> tuple[pd.DataFrame, Floats]:
    """What each judge says of 3,200 answers, and people."""
    _, ratings = calib.datasets.load_triviaqa_judges()
    wide = ratings.astype({"rater": str}).pivot_table(index="item", columns="rater", values="score").sort_index()
    return wide.drop(columns="human"), wide["human"].to_numpy()


def majority(said: Floats, right: Floats) -> tuple[Floats, Floats]:
    """How many judges are of the majority's opinion, and whether that is wrong."""
    yes, of = said.sum(axis=1), said.shape[1]
    return np.maximum(yes, of - yes), ((yes > of / 2) != (right == 1)).astype(float)


def pass_mark(criterion: str) -> tuple[Floats, Floats]:
    """Six judges calibrated to the median of the experts on other documents: max(p, 1 - p) of a label of 4 or 5."""
    items, ratings = calib.datasets.load_summeval_judges()
    ratings = ratings[ratings["criterion"] == criterion]
    wide = ratings.astype({"rater": str}).pivot_table(index="item", columns="rater", values="score").sort_index()
    document = pd.factorize(items.set_index("item")["group"].loc[wide.index], sort=True)[0]
    people = sorted(set(ratings.loc[ratings["method"] == "human", "rater"].astype(str)))
    label, judges = wide[people].median(axis=1).to_numpy(), wide.drop(columns=people).to_numpy()
    passes = np.empty(len(label))
    for fold in range(FOLDS):
        here = document % FOLDS == fold
        map_ = ordered_logit(judges[~here], label[~here], levels=range(1, 6), ridge=5.0)
        passes[here] = map_.predict(judges[here])[:, 3:].sum(axis=1)
    return np.maximum(passes, 1 - passes), ((passes >= 0.5) != (label >= 4)).astype(float)


# --- rules --------------------------------------------------------------------------------------------------------


def ours(sure: Floats, wrong: Floats, pool: Floats, risk: float) -> float:
    """The threshold of calib."""
    return accept_threshold(sure, wrong, pool=pool, risk=risk, confidence_level=CONFIDENCE).threshold


def strictest_first(sure: Floats, wrong: Floats, pool: Floats, risk: float) -> float:
    """Ten quantiles of the pool, tested from the highest on; nothing where that one fails."""
    at = np.unique(np.quantile(pool, np.arange(10) / 10, method="lower"))[::-1]
    above = sure >= at[:, None]
    return _last_before_a_failure(at, above.sum(axis=1), (above * wrong).sum(axis=1), risk, np.inf)


def published(sure: Floats, wrong: Floats, _pool: Floats, risk: float) -> float:
    """What the published code returns: its strictest threshold even where that one fails."""
    at = np.unique(-sure)
    order = np.argsort(-sure, kind="stable")
    last = np.append(np.flatnonzero(np.diff(-sure[order])), len(sure) - 1)
    m, errors = last + 1, np.cumsum(wrong[order])[last]
    kept = m >= LEAST
    return _last_before_a_failure(-at[kept], m[kept], errors[kept], risk, -at[kept][0])


def _last_before_a_failure(at: Floats, m: Any, errors: Floats, risk: float, otherwise: float) -> float:
    bound = np.where(m > errors, special.betaincinv(errors + 1, np.maximum(m - errors, 1), CONFIDENCE), 1.0)
    passed = np.cumprod(bound <= risk).sum()
    return float(at[passed - 1]) if passed else otherwise


RULES: dict[str, Rule] = {"calib": ours, "strictest first": strictest_first, "published rule": published}


def of_case(name: str, sure: Floats, wrong: Floats, risk: float, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Each rule with each number of labels; the best that any threshold of the ten could do."""
    at = np.unique(np.quantile(sure, np.arange(10) / 10, method="lower"))
    could = [float((sure >= t).mean()) for t in at if wrong[sure >= t].mean() <= risk]
    for n in sizes:
        key = {"case": name, "risk": risk, "labels": n}
        yield {**key, "rule": "best possible", "quantity": "accepted", "value": max(could, default=0.0)}
        for name_of_rule, rule in RULES.items():
            shares, broken = over_splits(rule, sure, wrong, risk, n)
            of = {**key, "rule": name_of_rule}
            yield {**of, "quantity": "accepted", "value": shares.mean(), "mc_error": _error(shares)}
            yield {**of, "quantity": "violations", "value": broken.mean(), "mc_error": _error(broken)}
            if rule is ours:
                yield {**of, "quantity": "violations beyond 0.1", "value": max(0.0, broken.mean() - 0.1)}
                yield {**of, "quantity": "accepted short of the best column", "value": short(key, shares)}


BEST_COLUMN = {  # what the order that is recommended for this number of labels accepted in the reference
    ("TriviaQA, nine judges", 0.1, 100): 0.643,
    ("TriviaQA, nine judges", 0.1, 200): 0.738,
    ("TriviaQA, nine judges", 0.1, 400): 0.857,
    ("TriviaQA, nine judges", 0.05, 200): 0.083,
    ("SummEval, consistency of 4 and more", 0.15, 100): 0.984,
    ("SummEval, relevance of 4 and more", 0.15, 200): 0.044,
    ("SummEval, coherence of 4 and more", 0.15, 200): 0.002,
}


def short(key: dict[str, Any], shares: Floats) -> float:
    """By how much less is accepted than in the reference."""
    return max(0.0, BEST_COLUMN.get((key["case"], key["risk"], key["labels"]), 0.0) - float(shares.mean()))


def over_splits(rule: Rule, sure: Floats, wrong: Floats, risk: float, n: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Accepted share of the pool, and whether the risk there is above what was promised, in each split."""
    shares, broken = np.empty(SPLITS), np.empty(SPLITS, dtype=bool)
    for split in range(SPLITS):
        rows = np.random.default_rng(split).permutation(len(sure))[:n]
        accepted = sure >= rule(sure[rows], wrong[rows], sure, risk)
        shares[split] = accepted.mean()
        broken[split] = accepted.any() and wrong[accepted].mean() > risk
    return shares, broken


def within_systems() -> Iterator[dict[str, Any]]:
    """One promise for all 16 systems of SummEval, and one for each: how often the worst system's own risk is broken."""
    sure, wrong = pass_mark("consistency")
    items = calib.datasets.load_summeval_judges()[0].drop_duplicates("item").set_index("item").sort_index()
    system, names = pd.factorize(items["system"].astype(str), sort=True)
    for n in (200, 400, 800):
        for rule, cells in (("calib", np.zeros_like(system)), ("calib, by system", system)):
            shares, broken = np.empty(FEWER), np.zeros((FEWER, len(names)), dtype=bool)
            for split in range(FEWER):
                rows = np.random.default_rng(split).permutation(len(sure))[:n]
                labelled = np.isin(np.arange(len(sure)), rows)
                accepted = np.zeros(len(sure), dtype=bool)
                for cell in range(cells.max() + 1):
                    here = cells == cell
                    at = ours(sure[here & labelled], wrong[here & labelled], sure[here], 0.15)
                    accepted |= here & (sure >= at)
                shares[split] = accepted.mean()
                counts = np.bincount(system, accepted)
                broken[split] = np.bincount(system, accepted * wrong) > 0.15 * counts
            worst = broken.mean(axis=0).max()
            key = {"case": "SummEval, consistency of 4 and more", "risk": 0.15, "labels": n, "rule": rule}
            yield {**key, "quantity": "accepted, 16 systems", "value": shares.mean(), "mc_error": _error(shares)}
            yield {**key, "quantity": "violations in the worst system", "value": worst}
            if rule != "calib":
                yield {**key, "quantity": "violations in the worst system beyond 0.1", "value": max(0.0, worst - 0.1)}


def _error(value: Floats) -> float:
    return float(value.std(ddof=1) / np.sqrt(len(value)))


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
