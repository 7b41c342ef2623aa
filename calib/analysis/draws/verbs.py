"""Draws of a judge on tables: how many it needs, and which number to read from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.table import TableArgumentError
from calib.tables.door import slices
from calib.tables.pairs import asked, ready, seen
from calib.tables.results import Results, words

R = TypeVar("R", bound=stats.Result)


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
    table = _of(sampled, _SAMPLED, "sampled")
    target = None if exact is None else ready(exact, "exact")
    people = None if human is None else ready(human, "human")
    source = np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in slices(table):
        draws = _drawn(rows)
        reference = None if target is None else _reference(target, label, unlike=unlike)
        kept = draws if reference is None else draws[draws.index.isin(reference.index)]
        ask = partial(
            stats.convergence,
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
        results.append(_asked(label, ask))
    return Results(tuple(labels), tuple(results))


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """Sampled scores, one row per item and one column per draw; NaN where a reply has none."""
    named = rows.assign(item=rows["item"].astype(object))
    # numbered within each item: batches of items may come from runs of their own
    cells = named.assign(number=named.groupby("item", sort=False).cumcount()).set_index(["item", "number"])
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
        raise TableArgumentError(
            "groups", "must be a column of {0} or {1} without gaps", f"got {groups!r}", mentions=("exact", "human")
        )
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
    people, source = ready(human, "human"), np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in slices(_of(ratings, _EITHER)):
        weights, levels = _weights(rows)
        aim = _column(people, label, ("criterion",), "human").reindex(weights.index)
        drawn = label["method"] == "sample"
        scores, values = (_drawn(rows), None) if drawn else (weights, levels)
        with warnings.catch_warnings():  # said once for all below
            warnings.simplefilter("ignore", stats.CalibWarning)
            ask = partial(stats.point_scores, scores, aim, levels=values, methods=methods, rng=source)
            result = _asked(label, ask)
        entropy = stats.sampled_entropy(weights, correction="miller-madow" if drawn else "none")
        labels.append(label | {"entropy": float(np.nanmean(entropy))})
        results.append(result)
    _unlike_entropies(labels)
    if warned := [result for result in results if result.warnings]:
        check.warn(f"{warned[0].warnings[0]} ({len(warned)} of {len(results)} results, see their `warnings`)")
    return Results(tuple(labels), tuple(results))


def variance_components(ratings: pd.DataFrame, *, confidence_level: float = 0.95) -> Results:
    """How much a judge's draws vary within an item, against its expectations between items.

    Parameters
    ----------
    ratings : DataFrame
        Sampled draws, or token probabilities, which say exactly how draws would vary.
    confidence_level : float

    Returns
    -------
    Results
        Of `calib.stats.variance_components`, or `exact_components` for token probabilities; with `r`
        `calib.stats.draws_needed` says how many draws are enough.

    Raises
    ------
    TableError
        If there are neither draws nor probabilities.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.variance_components(ratings).one()
    >>> found.method, calib.stats.draws_needed(found.r, 0.95) <= 5
    ('logprob', True)
    """
    labels, results = [], []
    for label, rows in slices(_of(ratings, _EITHER)):
        if label["method"] == "sample":
            ask = partial(stats.variance_components, _drawn(rows), confidence_level=confidence_level)
        else:
            weights, levels = _weights(rows)
            moments = (read(weights, levels) for read in (stats.expectation, stats.variance))
            ask = partial(stats.exact_components, *moments, confidence_level=confidence_level)
        results.append(_asked(label, ask))
        labels.append(label)
    return Results(tuple(labels), tuple(results))


def chain_components(ratings: pd.DataFrame, *, confidence_level: float = 0.95) -> Results:
    """Variance between chains of reasoning and of the label after one: `calib.stats.chain_components` on tables.

    Parameters
    ----------
    ratings : DataFrame
        Token probabilities after several drawn chains per item (method "chain").
    confidence_level : float

    Returns
    -------
    Results
        `calib.stats.chain_plan` takes their `between` and `within`, and what chains and labels cost.

    Raises
    ------
    TableError
        If there are no chains.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> prompt, judge = calib.geval_prompt("fluency", reasoning="think"), calib.Judge("offline", draws=4)
    >>> found = calib.chain_components(calib.rate(items.head(50), prompt, judge, progress=False)).one()
    >>> print(calib.stats.chain_plan(found.between, found.within, tokens_chain=200, tokens_label=3, budget=800))
    3 chains with 22 labels each: standard error 0.1522 for 798 tokens per item
    """
    table = _of(ratings, {"chain": "chains of reasoning (method 'chain')"})
    labels, results = [], []
    for label, rows in slices(table):
        weights, levels = _weights(rows, ["item", "run", "draw"])
        moments = {"mean": stats.expectation(weights, levels), "var": stats.variance(weights, levels)}
        chains = weights.index.to_frame(index=False)[["item"]].assign(**moments)
        chains["number"] = chains.groupby("item", sort=False).cumcount()
        tables = [chains.pivot_table(index="item", columns="number", values=name, sort=False) for name in moments]
        results.append(_asked(label, partial(stats.chain_components, *tables, confidence_level=confidence_level)))
        labels.append(label)
    return Results(tuple(labels), tuple(results))


def distribution_fit(
    sampled: pd.DataFrame,
    exact: pd.DataFrame,
    *,
    n_resamples: int = 999,
    rng: np.random.Generator | int | None = None,
) -> Results:
    """Whether sampled replies are distributed as the token probabilities say.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame
        Ratings of the same rater, criterion and prompt from token probabilities.
    n_resamples, rng
        As for `calib.stats.distribution_fit`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched`.

    Raises
    ------
    TableError
        If there are no draws, or no token probabilities of the same prompt.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> sampled, exact = [calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline", method=m),
    ...                              progress=False) for m in ("sample", "logprob")]
    >>> calib.distribution_fit(sampled, exact, rng=1).one().p_value > 0.05
    True
    """
    drawn, told = _of(sampled, _SAMPLED, "sampled"), asked(exact, "exact")
    told = told[told["method"] == "logprob"]
    source = np.random.default_rng(rng)
    labels, results = [], []
    for label, rows in slices(drawn):
        same = _rows_of(told, label, ("criterion", "rater", "prompt"))
        if not len(same):
            raise TableArgumentError(
                "exact", f"must have token probabilities of prompt {label['prompt']!r}", f"has {seen(told)}"
            )
        (weights, levels), draws = _weights(same), _drawn(rows)
        kept = draws[draws.index.isin(weights.index)]
        ask = partial(stats.distribution_fit, kept, weights.reindex(kept.index), levels, n_resamples=n_resamples)
        results.append(_asked(label, partial(ask, rng=source)))
        labels.append(label | {"n_unmatched": len(draws) - len(kept)})
    return Results(tuple(labels), tuple(results))


def fit_temperature(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    groups: str | None = "group",
    floor: float = 0.0,
    confidence_level: float = 0.95,
) -> Results:
    """The temperature at which a judge's token probabilities fit people's labels best.

    Parameters
    ----------
    ratings : DataFrame
        Token probabilities (method "logprob").
    human : DataFrame
        Labels, each a level of the judge's scale; of several people each counts as one.
    groups : str or None, default "group"
        The column of `human` of what items share; several labels of one item are a group anyway.
    floor, confidence_level
        As for `calib.stats.fit_temperature`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (labels of items
        without probabilities).

    Raises
    ------
    TableError
        If there are no token probabilities, or no labels of their criterion.
    ValueError
        If a label is not a level: labels that were averaged are not labels any more.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> one = calib.summarize(people, items).query("rater == 'simulated-1'")
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.fit_temperature(ratings, one).one()
    >>> found.nll_after <= found.nll_before, found.n_groups
    (True, 24)
    """
    people = ready(human, "human")
    labels, results = [], []
    for label, rows in slices(_of(ratings, _TOLD)):
        weights, levels = _weights(rows)
        theirs = _rows_of(people, label, ("criterion",))
        theirs = theirs[theirs["score"].notna()]
        if not len(theirs):
            raise TableArgumentError("human", f"must have labels of {label['criterion']!r}", f"has {seen(people)}")
        known = theirs[theirs["item"].isin(weights.index)]
        odd = known.loc[~known["score"].isin(levels), "score"]
        if len(odd):
            raise ValueError(
                f"{words(label)}: `human` must hold labels of the scale, but got {odd.iloc[0]:g}: averages are none, "
                "give the raters one by one."
            )
        names = known["item"].astype(object)
        if groups not in (None, "group") and groups not in known:
            raise TableArgumentError("groups", "must be a column of {0}", f"got {groups!r}", mentions=("human",))
        owner = known[groups] if groups is not None and groups in known and known[groups].notna().all() else names
        ask = partial(stats.fit_temperature, weights.reindex(names), known["score"], levels, groups=owner.tolist())
        results.append(_asked(label, partial(ask, floor=floor, confidence_level=confidence_level)))
        labels.append(label | {"n_unmatched": len(theirs) - len(known)})
    return Results(tuple(labels), tuple(results))


def temperature_curve(ratings: pd.DataFrame, *, taus: Sequence[float] = (0.5, 0.7, 1.0, 1.3, 2.0)) -> Results:
    """Mean expectation and mean entropy of token probabilities at other temperatures.

    Parameters
    ----------
    ratings : DataFrame
        Token probabilities (method "logprob").
    taus : sequence of float
        Temperatures; 1 is that of the probabilities.

    Returns
    -------
    Results
        Of `calib.stats.temperature_curve`.

    Raises
    ------
    TableError
        If there are no token probabilities.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> curve = calib.temperature_curve(ratings, taus=[0.5, 1, 2]).one()
    >>> curve.entropy[0] < curve.entropy[1] < curve.entropy[2]
    True
    """
    labels, results = [], []
    for label, rows in slices(_of(ratings, _TOLD)):
        weights, levels = _weights(rows)
        results.append(_asked(label, partial(stats.temperature_curve, weights, levels, taus=taus)))
        labels.append(label)
    return Results(tuple(labels), tuple(results))


_SAMPLED = {"sample": "ratings of method 'sample'"}
_TOLD = {"logprob": "token probabilities (method 'logprob')"}
_EITHER = dict.fromkeys(("sample", "logprob"), "draws (method 'sample') or probabilities ('logprob')")


def _of(ratings: pd.DataFrame, wanted: Mapping[str, str], argument: str = "ratings") -> pd.DataFrame:
    """Checked ratings of these methods, which are said in words where there are none."""
    table = asked(ratings, argument)
    table = table[table["method"].isin(list(wanted))]
    if not len(table):
        raise TableArgumentError(argument, f"must hold {next(iter(wanted.values()))}", "has none")
    return table


def _asked(label: dict[str, Any], ask: Callable[[], R]) -> R:
    try:
        return ask()
    except ValueError as error:
        said = (
            str(error).replace("`y`", "`human`").replace("`samples`", "the draws").replace("`p`", "the probabilities")
        )
        raise ValueError(f"{words(label)}: {said}") from None


def _weights(rows: pd.DataFrame, key: Sequence[str] = ("item",)) -> tuple[pd.DataFrame, Any]:
    """How much weight each item (or each of its chains) has on each level of the scale."""
    named = rows.astype(dict.fromkeys(key, object))
    good = named[(named["status"] == "ok") & named["score"].notna()]
    wide = good.pivot_table(index=list(key), columns="score", values="weight", aggfunc="sum", fill_value=0.0)
    there = named[list(key)].drop_duplicates()
    wide = wide.reindex(pd.MultiIndex.from_frame(there) if len(key) > 1 else there[key[0]], fill_value=0.0)
    return wide, wide.columns.to_numpy(dtype=float)


def _unlike_entropies(labels: Sequence[dict[str, Any]]) -> None:
    tempered: dict[tuple[Any, ...], set[float]] = {}
    for label in labels:
        if not math.isnan(label["temperature"]):
            key = tuple(label[name] for name in ("criterion", "rater", "method"))
            tempered.setdefault(key, set()).add(label["temperature"])
    for key, found in tempered.items():
        if len(found) > 1:
            several = " and ".join(f"{value:g}" for value in sorted(found))
            check.warn(
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
        raise TableArgumentError(
            "exact", "must estimate what the samples do", f"{trouble}. `unlike=True` compares anyway"
        )
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
        raise TableArgumentError(argument, f"must have scores of {wanted}", f"has {seen(scores)}")
    if rows["item"].duplicated().any():
        raise TableArgumentError(
            argument, f"must have one score per item of {label['criterion']!r}; pool or select the raters"
        )
    return rows.set_index(rows["item"].astype(object))["score"]
