"""Aggregates and draws on tables: align by key, count what does not match, call `calib.stats`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib._pairs import Pair, labels_in, pairs_of, ready, seen, slices
from calib._results import Results, words
from calib.stats import Result
from calib.table import TableError, check_ratings, parse_scale

# --- aggregates -------------------------------------------------------------------------------------------------


def interval(
    scores: pd.DataFrame,
    gold: pd.DataFrame,
    *,
    by: str | None = None,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Results:
    """Mean human score of items like those in `scores`, from the few that `gold` labels, with an interval.

    The mean is that of the population which the items are a sample of: the documents to come.

    Parameters
    ----------
    scores : DataFrame
        A judge's scores (or ratings) of all items.
    gold : DataFrame
        Human scores of a random sample of these items, one rater (pool several first).
    by : str, optional
        A column of the scores, such as "system": one result for each of its values.
    method : {"auto", "ppi++", "ppi", "classical", "judge_only"}
        As for `calib.stats.ppi_mean`. "classical" uses the gold labels alone,
        "judge_only" the judge alone, which gives no interval for the human mean.
    confidence_level : float

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `by`, `n_unmatched`
        (gold labels of items that the judge did not score, left out) and `n_unread`
        (items whose judge score is missing, left out).
        Where a `group` repeats within a result, its items are not taken as independent.

    Raises
    ------
    TableError
        If nothing matches, `by` is no column, or `gold` has several raters.
    ValueError
        If a result has fewer than two gold labels.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.Judge("offline", method="logprob")
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    >>> gold = human[human["group"].isin(sorted(set(human["group"]))[:12])]
    >>> results = calib.interval(calib.summarize(ratings, items), gold, by="system")
    >>> print(results.select(system="clean").one())
    human mean = 4.729, 95 % CI [4.608, 4.85], from 12 human labels and 24 judge scores (PPI++)
    """
    labels, results = [], []
    for pair in _gold_pairs(scores, gold):
        judged = pair.frame[pair.frame["_merge"] != "right_only"]
        _need_gold(judged, method, by, pair.label)
        strangers = len(pair.frame) - len(judged)
        for label, part in _parts(judged, by):
            whole = pair.label | label
            read = part[part["x"].notna()]
            results.append(_mean_of(read, method, confidence_level, whole))
            labels.append(whole | {"n_unmatched": strangers, "n_unread": len(part) - len(read)})
    return Results(tuple(labels), tuple(results))


def _need_gold(judged: pd.DataFrame, method: str, by: str | None, label: dict[str, Any]) -> None:
    """Say at once what is short of labels, before the arrays are asked."""
    scales = {f"{scale.low:g} to {scale.high:g}" for text in _scales(judged) if (scale := parse_scale(text))}
    if len(scales) > 1:
        raise TableError(
            f"{words(label)}: scores and gold must be on one scale, but are on {' and '.join(sorted(scales))}."
        )
    if method == "judge_only" or (by is not None and by not in judged):
        return
    labelled = judged["y"].notna()
    if not labelled.any():
        raise TableError(f"{words(label)}: scores and gold must share items, but no gold item was scored by the judge.")
    if by is not None:
        counts = labelled.groupby(judged[by], sort=False).sum()
        short = [f"{name!r} ({n})" for name, n in counts.items() if n < 2]
        if short:
            raise ValueError(
                f"{words(label)}: each {by} must have two gold labels at least, but not: {', '.join(short)}."
            )


def _scales(judged: pd.DataFrame) -> set[str]:
    columns = [judged[name] for name in ("scale", "scale_y") if name in judged]
    return {str(text) for column in columns for text in column.dropna().unique()}


def _gold_pairs(scores: pd.DataFrame, gold: pd.DataFrame) -> Iterator[Pair]:
    people = ready(gold, "gold")
    for criterion, rows in people.groupby("criterion", observed=True):
        raters = [label["rater"] for label, _ in slices(rows)]
        if len(raters) > 1:
            known = ", ".join(map(repr, raters))
            raise TableError(
                f"`gold` must have one rater per criterion, but {criterion!r} has {known}; pool them first."
            )
    yield from pairs_of(scores, people)


def _parts(frame: pd.DataFrame, by: str | None) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if by is None:
        yield {}, frame
        return
    if by not in frame:
        there = ", ".join(repr(name) for name in ("group", "system") if name in frame) or "neither group nor system"
        raise TableError(f"`by` must be a column of the scores, but got {by!r}; there are {there}.")
    if frame[by].isna().any():
        raise TableError(f"`by` must be a column without gaps, but {by!r} has {int(frame[by].isna().sum())}.")
    for value, rows in frame.groupby(by, sort=False):
        yield {by: value}, rows


def _mean_of(part: pd.DataFrame, method: str, confidence_level: float, label: dict[str, Any]) -> Result:
    if "group" in part and part["group"].isna().any() and not part["group"].isna().all():
        raise TableError("some scores have a `group` and some have none: give the items to `summarize` on both sides.")
    group = labels_in(part, "group")
    repeated = group is not None and len(set(group)) < len(group)
    try:
        return stats.ppi_mean(
            part["y"], part["x"], groups=group if repeated else None, method=method, confidence_level=confidence_level
        )
    except ValueError as error:
        raise ValueError(f"{words(label)}: {error}") from None


def difference(
    scores: pd.DataFrame,
    gold: pd.DataFrame,
    a: str,
    b: str,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Results:
    """Mean human score of system `a` less that of system `b`, paired by group.

    Parameters
    ----------
    scores, gold : DataFrame
        As for `interval`, with columns `group` and `system`; both systems answer the same groups.
    a, b : str
        Names of the systems.
    method, confidence_level
        As for `interval`.

    Returns
    -------
    Results
        With `p_value` for "no difference".

    Raises
    ------
    TableError
        If a system is unknown, or the columns are not there.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> result = calib.difference(judge, human.head(600), "clean", "coherence-2").select(criterion="coherence").one()
    >>> result.interval.low > 0
    True
    """
    if a == b:
        raise TableError(f"`a` and `b` must be two systems, but both are {a!r}.")
    labels, results = [], []
    for pair in _gold_pairs(scores, gold):
        sides = [_system(pair.frame, name).add_suffix(end) for name, end in ((a, "_a"), (b, "_b"))]
        both = sides[0].join(sides[1], how="inner").dropna(subset=["x_a", "x_b"])
        result = stats.ppi_difference(
            both["y_a"], both["y_b"], both["x_a"], both["x_b"], method=method, confidence_level=confidence_level
        )
        unmatched = max(len(side) for side in sides) - len(both)
        labels.append(pair.label | {"system": f"{a} - {b}", "n_unmatched": unmatched})
        results.append(result)
    return Results(tuple(labels), tuple(results))


def _system(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    for column in ("group", "system"):
        if column not in frame:
            raise TableError(f"a difference of systems needs a column `{column}`: give the items to `summarize`.")
    rows = frame[frame["system"] == name]
    if not len(rows):
        there = ", ".join(sorted(map(repr, frame["system"].dropna().unique())))
        raise TableError(f"no scores of system {name!r}; there are {there}.")
    if rows["group"].duplicated().any():
        raise TableError(f"system {name!r} must have one item per group, but has several in some.")
    return rows.set_index("group")[["x", "y"]]


# --- draws ------------------------------------------------------------------------------------------------------


def convergence(
    sampled: pd.DataFrame,
    exact: pd.DataFrame | None = None,
    *,
    human: pd.DataFrame | None = None,
    method: str = "spearman",
    sizes: Sequence[int] | None = None,
    n_subsets: int = 100,
    unlike: bool = False,
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
    method, sizes, n_subsets, rng
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
        number = rows.groupby(["run", "draw"], observed=True).ngroup()
        cells = rows.assign(number=number, item=rows["item"].astype(object)).set_index(["item", "number"])
        draws = cells["score"].unstack("number")  # noqa: PD010 - nothing is to be averaged here
        draws = draws.reindex(pd.unique(rows["item"].astype(object)))
        reference = None if target is None else _reference(target, label, unlike=unlike)
        kept = draws if reference is None else draws[draws.index.isin(reference.index)]
        result = stats.convergence(
            kept.to_numpy(),
            exact=None if reference is None else reference.reindex(kept.index),
            human=None if people is None else _column(people, label, ("criterion",), "human").reindex(kept.index),
            method=method,
            sizes=sizes,
            n_subsets=n_subsets,
            rng=source,
        )
        against = {"reference": _kind(target, label)} if unlike and target is not None else {}
        labels.append(label | against | {"n_unmatched": len(draws) - len(kept)})
        results.append(result)
    return Results(tuple(labels), tuple(results))


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
