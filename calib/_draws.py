"""Draws of a judge on tables: how many it needs, and which number to read from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib._pairs import ready, seen, slices
from calib._results import Results
from calib.stats import _check
from calib.table import TableError, check_ratings


def convergence(
    sampled: pd.DataFrame,
    exact: pd.DataFrame | None = None,
    *,
    human: pd.DataFrame | None = None,
    groups: str | None = "group",
    method: str = "spearman",
    sizes: Sequence[int] | None = None,
    n_subsets: int = 200,
    unlike: bool = False,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> Results:
    """Means of N sampled draws against the logprob expectation, and against people.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame, optional
        Scores (or ratings) of the same rater and criterion from token probabilities.
        Default: the mean of all draws is the reference.
    human : DataFrame, optional
        Human scores of the same items, one rater (pool several first).
    groups : str or None, default "group"
        The column, of `exact` or `human`, of what items share: intervals are over these. None
        takes items as independent.
    method, sizes, n_subsets, confidence_level, rng
        As for `calib.stats.convergence`.
    unlike : bool, default False
        Compare the samples with a reference that estimates something else: of another
        prompt or temperature, or after a single chain of reasoning. The results are then
        labelled with what it is.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched`
        (items of the sampled ratings without an exact score, left out).

    Raises
    ------
    TableError
        If there are no sampled draws, `exact` or `human` do not cover them, or `exact`
        does not estimate what the samples do.

    Notes
    -----
    Samples at temperature 1 have the expectation of the token probabilities only where
    the label comes first. After reasoning the probabilities are those given one chain;
    their mean over several chains has the same target as samples of whole replies.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> prompt = calib.geval_prompt("coherence")
    >>> sampled, exact = [calib.rate(items.head(60), prompt, calib.Judge("offline", method=m), progress=False)
    ...                   for m in ("sample", "logprob")]
    >>> result = calib.convergence(sampled, exact, rng=1).one()
    >>> result.sizes[-1], result.rmse[0] > 3 * result.rmse[-1]
    (20, True)
    """
    table = check_ratings(sampled)
    table = table[table["method"] == "sample"]
    if not len(table):
        raise TableError("`sampled` must hold ratings of method 'sample', but has none.")
    target = None if exact is None else ready(exact, "exact")
    people = None if human is None else ready(human, "human")
    source = np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in slices(table):
        draws = _drawn(rows)
        reference = None if target is None else _reference(target, label, unlike=unlike)
        kept = draws if reference is None else draws[draws.index.isin(reference.index)]
        result = stats.convergence(
            kept.to_numpy(),
            exact=None if reference is None else reference.reindex(kept.index),
            human=None if people is None else _column(people, label, ("criterion",), "human").reindex(kept.index),
            groups=_owners((target, people), groups, kept.index),
            method=method,
            sizes=sizes,
            n_subsets=n_subsets,
            confidence_level=confidence_level,
            rng=source,
        )
        against = {"reference": _kind(target, label)} if unlike and target is not None else {}
        labels.append(label | against | {"n_unmatched": len(draws) - len(kept)})
        results.append(result)
    return Results(tuple(labels), tuple(results))


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """Sampled scores, one row per item and one column per draw; NaN where a reply has none."""
    number = rows.groupby(["run", "draw"], observed=True).ngroup()
    cells = rows.assign(number=number, item=rows["item"].astype(object)).set_index(["item", "number"])
    draws = cells["score"].unstack("number")  # noqa: PD010 - nothing is to be averaged here
    return draws.reindex(pd.unique(rows["item"].astype(object)))


def _owners(tables: Sequence[pd.DataFrame | None], groups: str | None, items: pd.Index) -> Any:
    """What the items share, from the first table that knows it of all of them; None if nothing."""
    if groups is None:
        return None
    for table in tables:
        if table is not None and groups in table:
            known = table.assign(item=table["item"].astype(object)).drop_duplicates("item").set_index("item")[groups]
            owners = known.reindex(items)
            if owners.notna().all():
                return owners.to_numpy() if owners.duplicated().any() else None
    if groups != "group":
        raise TableError(f"`groups` must be a column of `exact` or `human` without gaps, but got {groups!r}.")
    return None


def point_scores(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    methods: Sequence[str] = ("pearson", "spearman", "kendall", "gamma", "pairs"),
    rng: np.random.Generator | int | None = None,
) -> Results:
    """Mean, median, mode or a single draw: which number of a score distribution agrees with people.

    Parameters
    ----------
    ratings : DataFrame
        Sampled draws, or token probabilities.
    human : DataFrame
        Human scores of the same items, one rater (pool several first).
    methods, rng
        As for `calib.stats.point_scores`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `entropy`: the mean over items,
        of draws with the correction of Miller and Madow.

    Raises
    ------
    TableError
        If there are neither draws nor probabilities, or `human` does not cover them.

    Warns
    -----
    CalibWarning
        If one rater's entropies are at several temperatures: how sharp a distribution is there says
        how it was sampled, not how sure the judge is.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> result = calib.point_scores(ratings, human, methods=["spearman"], rng=1).one()
    >>> result.value("mean", "spearman") > result.value("draw", "spearman")
    True
    """
    table = check_ratings(ratings)
    table = table[table["method"].isin(["sample", "logprob"])]
    if not len(table):
        raise TableError(
            "`ratings` must hold draws (method 'sample') or token probabilities ('logprob'), but has none."
        )
    people, source = ready(human, "human"), np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in slices(table):
        weights, levels = _weights(rows)
        aim = _column(people, label, ("criterion",), "human").reindex(weights.index)
        drawn = label["method"] == "sample"
        scores, values = (_drawn(rows), None) if drawn else (weights, levels)
        result = stats.point_scores(scores, aim, levels=values, methods=methods, rng=source)
        entropy = stats.sampled_entropy(weights, correction="miller-madow" if drawn else "none")
        labels.append(label | {"entropy": float(np.nanmean(entropy))})
        results.append(result)
    _unlike_entropies(labels)
    return Results(tuple(labels), tuple(results))


def _weights(rows: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """How much weight each item has on each level of the scale."""
    good = rows[(rows["status"] == "ok") & rows["score"].notna()]
    cells = good.assign(item=good["item"].astype(object))
    wide = cells.pivot_table(index="item", columns="score", values="weight", aggfunc="sum", fill_value=0.0)
    wide = wide.reindex(pd.unique(rows["item"].astype(object)), fill_value=0.0)
    return wide, wide.columns.to_numpy(dtype=float)


def _unlike_entropies(labels: Sequence[dict[str, Any]]) -> None:
    tempered: dict[tuple[Any, ...], set[float]] = {}
    for label in labels:
        if not math.isnan(label["temperature"]):
            key = tuple(label[name] for name in ("criterion", "rater", "prompt", "method"))
            tempered.setdefault(key, set()).add(label["temperature"])
    for key, found in tempered.items():
        if len(found) > 1:
            several = " and ".join(f"{value:g}" for value in sorted(found))
            _check.warn(
                f"entropies at temperatures {several} ({', '.join(filter(None, map(str, key)))}) cannot be compared: "
                f"near 0 nearly every draw is the mode, however unsure the judge is."
            )


def _reference(exact: pd.DataFrame, label: dict[str, Any], *, unlike: bool) -> pd.Series:
    """What the means of the samples are compared with, if they have the same target."""
    if unlike:
        return _column(exact, label, ("criterion", "rater"), "exact")
    found = _column(exact, label, ("criterion", "rater", "prompt"), "exact")
    trouble = _unlike(_rows_of(exact, label, ("criterion", "rater", "prompt")), label["temperature"])
    if trouble:
        raise TableError(f"`exact` must estimate what the samples do, but {trouble}. `unlike=True` compares anyway.")
    return found


def _unlike(rows: pd.DataFrame, drawn_at: float) -> str:
    """Why these scores of the same prompt have another target than samples at a temperature; empty if not."""
    known = not math.isnan(drawn_at)
    samples = f"the samples were drawn at temperature {drawn_at:g}"
    if known and drawn_at != 1 and (rows["method"] != "sample").any():
        return f"{samples}, token probabilities are those of temperature 1"
    others = rows.loc[rows["method"] != "logprob", "temperature"].dropna()
    if known and (others != drawn_at).any():
        return f"{samples}, the reference at {others[others != drawn_at].iloc[0]:g}"
    if ((rows["method"] == "chain") & (rows["n"] < 2)).any():
        return "after one chain of reasoning it is the expectation given that chain; read several (`draws`)"
    return ""


def _kind(exact: pd.DataFrame, label: dict[str, Any]) -> str:
    """What a reference is, in words."""
    rows = _rows_of(exact, label, ("criterion", "rater"))
    return "; ".join(f"{m} of {p} at temperature {t:g}" for m, p, t in sorted(set(_told(rows))))


def _told(rows: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    return zip(rows["method"].astype(str), rows["prompt"].astype(str), rows["temperature"], strict=True)


def _rows_of(scores: pd.DataFrame, label: dict[str, Any], names: tuple[str, ...]) -> pd.DataFrame:
    return scores[np.logical_and.reduce([scores[name] == label[name] for name in names])]


def _column(scores: pd.DataFrame, label: dict[str, Any], names: tuple[str, ...], argument: str) -> pd.Series:
    """The scores under a label by item; one rater of them."""
    rows = _rows_of(scores, label, names)
    if not len(rows):
        wanted = ", ".join(f"{name} {label[name]!r}" for name in names)
        raise TableError(f"`{argument}` must have scores of {wanted}, but has {seen(scores)}.")
    if rows["item"].duplicated().any():
        raise TableError(
            f"`{argument}` must have one score per item of {label['criterion']!r}; pool or select the raters."
        )
    return rows.set_index(rows["item"].astype(object))["score"]
