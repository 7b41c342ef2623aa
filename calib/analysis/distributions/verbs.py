"""Score distributions on tables: which number to read, and what temperature and sampling do to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.core.result import short
from calib.intake.entry import given
from calib.intake.files.source import source_of
from calib.intake.taken import Columns, Data
from calib.table import TableArgumentError, TableError, has_replies, parse_scale
from calib.tables.door import Checked, Kind, checked, in_the_names_of, ratings_in, scores_in
from calib.tables.pairs import one_scale
from calib.tables.replies import Asked, asked_of, glimpse, texts_of
from calib.tables.results import Results
from calib.tables.scores import summarize

Found = tuple[dict[str, Any], stats.Result]  # a result, and what its label says beside what it is of
Answer = Callable[[dict[str, Any], pd.DataFrame], Found]
Wanted = tuple[Sequence[str], str]  # methods, and how a message calls their ratings
SAMPLED = (["sample"], "ratings of method 'sample'")
_TOLD = (["logprob"], "token probabilities (method 'logprob')")
_EITHER = (["sample", "logprob"], "draws (method 'sample') or probabilities ('logprob')")


def point_scores(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    methods: Sequence[str] = ("pearson", "spearman", "kendall", "gamma", "pairs"),
    rng: np.random.Generator | int | None = None,
) -> Results[stats.PointScores]:
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
        If one rater's entropies are at several temperatures: these say how draws were sampled.

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
    as_typed(point_scores, locals())
    people, source = scores_in(human, "human"), np.random.default_rng(rng)

    def compared(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        weights, levels = weights_by_level(rows)
        aim = people.score_by_item(label, "criterion").reindex(weights.index)
        drawn = label["method"] == "sample"
        scores, values = (draws_by_item(rows), None) if drawn else (weights, levels)
        with in_the_names_of(label, scores="ratings"), warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.CalibWarning)  # said once for all below
            result = stats.point_scores(scores, aim, levels=values, methods=methods, rng=source)
        entropy = stats.sampled_entropy(weights, correction="miller-madow" if drawn else "none")
        return {"entropy": float(np.nanmean(entropy))}, result

    results = each_slice(ratings, _EITHER, compared)
    _warn_of_unlike_entropies(results.labels)
    if warned := [texts for result in results if (texts := getattr(result, "warnings", ()))]:
        check.warn(f"{warned[0][0]} ({len(warned)} of {len(results)} results, see their `warnings`)")
    return results


def _warn_of_unlike_entropies(labels: Sequence[dict[str, Any]]) -> None:
    names = ["criterion", "rater", "method"]
    for key, found in pd.DataFrame(labels).groupby(names, sort=False, dropna=False)["temperature"]:
        several = [f"{value:g}" for value in sorted(found.dropna().unique())]
        if len(several) > 1:
            who = ", ".join(filter(None, map(str, key)))
            check.warn(
                f"unlike_temperatures: entropies at temperatures {' and '.join(several)} ({who}) cannot be compared: "
                "near 0 nearly every draw is the mode, however unsure the judge is."
            )


def distribution_fit(
    sampled: pd.DataFrame, exact: pd.DataFrame, *, n_resamples: int = 999, rng: np.random.Generator | int | None = None
) -> Results[stats.DistributionFit]:
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
    as_typed(distribution_fit, locals())
    told = ratings_in(exact, "exact")
    told = told.only(told.frame["method"] == "logprob")
    options: dict[str, Any] = {"n_resamples": n_resamples, "rng": np.random.default_rng(rng)}

    def tested(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        same = told.under(label, "criterion", "rater", "prompt")
        if not len(same):
            rule = f"must have token probabilities of prompt {label['prompt']!r}"
            raise TableArgumentError("exact", rule, f"has {told.holds}")
        (weights, levels), draws = weights_by_level(same), draws_by_item(rows)
        kept = draws[draws.index.isin(weights.index)]
        with in_the_names_of(label, samples="sampled", p="exact"):
            result = stats.distribution_fit(kept, weights.reindex(kept.index), levels, **options)
        return {"n_unmatched": len(draws) - len(kept)}, result

    return each_slice(sampled, SAMPLED, tested, "sampled")


def fit_temperature(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    groups: str | None = "group",
    floor: float = 0.0,
    confidence_level: float = 0.95,
) -> Results[stats.Temperature]:
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
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (labels without probabilities).

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
    >>> before, after, base_rates = found.forecasts
    >>> after.nll <= before.nll, found.n_groups
    (True, 24)
    """
    as_typed(fit_temperature, locals())
    people = scores_in(human, "human")

    def fitted(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        weights, levels = weights_by_level(rows)
        theirs = people.under(label, "criterion")
        theirs = theirs[theirs["score"].notna()]
        if not len(theirs):
            raise TableArgumentError("human", f"must have labels of {label['criterion']!r}", f"has {people.holds}")
        known = theirs[theirs["item"].isin(weights.index)]
        names = known["item"].astype(object)
        if groups not in (None, "group") and groups not in known:
            raise TableArgumentError("groups", "must be a column of {0}", f"got {groups!r}", mentions=("human",))
        owner = known[groups] if groups is not None and groups in known and known[groups].notna().all() else names
        options = {"groups": owner.tolist(), "floor": floor, "confidence_level": confidence_level}
        with in_the_names_of(label, p="ratings", y="human"):
            odd = known.loc[~known["score"].isin(levels), "score"]
            if len(odd):
                given = f"got {odd.iloc[0]:g}: averages are none, give the raters one by one"
                raise ArgumentError("human", "must hold labels of the scale", given)
            result = stats.fit_temperature(weights.reindex(names), known["score"], levels, **options)
        return {"n_unmatched": len(theirs) - len(known)}, result

    return each_slice(ratings, _TOLD, fitted)


def temperature_curve(
    ratings: pd.DataFrame, *, taus: Sequence[float] = (0.5, 0.7, 1.0, 1.3, 2.0)
) -> Results[stats.Temperature]:
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
        Of `calib.stats.temperature_curve`: their `forecasts`.

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
    >>> cold, plain, hot = curve.forecasts
    >>> cold.entropy < plain.entropy < hot.entropy
    True
    """
    as_typed(temperature_curve, locals())

    def curve(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        with in_the_names_of(label, p="ratings", tau="taus"):
            return {}, stats.temperature_curve(*weights_by_level(rows), taus=taus)

    return each_slice(ratings, _TOLD, curve)


# --- the judge's own page ---------------------------------------------------------------------------------------------


def profile(
    scores: Data, human: Data = None, *, items: Data = None, top: int = 20, **columns: Unpack[Columns]
) -> Results[stats.Profile]:
    """What a judge does with its scale, how sure it is, and the items that deserve a look, with their texts.

    Parameters
    ----------
    scores : table, path or frame
        A judge's ratings; or scores, which do not say how the replies on an item are distributed; or a file of
        your own, which may hold the labels and the texts, too.
    human : table, path or frame, optional
        People's ratings or scores of the same items; several people are averaged. Default: the people in
        `scores`, if it has judges as well.
    items : table, path or frame, optional
        Table of items, whose texts stand beside those that deserve a look.
    top
        As for `calib.stats.profile`.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (labels of other items).
        Each has its `items`: the largest entropies, the largest differences from people, between prompts and
        between draws, what could not be read; with the judge's own words where there is a column `reply`.

    Raises
    ------
    TableError
        If `human` has no label of the judge's criteria and items, or `items` none of the items.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.profile(ratings, people, items=items, top=2).one()
    >>> print(found)
    scores of 312 items: mean 4.232, median entropy 0.5966, median mass 0.99, +0.287 from people on 312
    >>> found.items[["why", "item", "value", "score", "human"]].round(2)
           why                      item  value  score  human
    0   people    news-library/fluency-1   1.57   4.57   3.00
    1   people  notice-ferry/relevance-2   1.22   4.55   3.33
    2  entropy      howto-soup/fluency-2   0.92   2.55   2.33
    3  entropy  sports-handball/fluency-1   0.92   3.52   4.33
    """
    as_typed(profile, locals())
    files = given(scores, human, columns, names=("scores", "human"), needs=("judge",))
    kind: Kind = "ratings" if isinstance(files.scores, pd.DataFrame) and has_replies(files.scores) else "scores"
    judges, people = _judges_and_people(checked(files.scores, kind, "scores"), files.people)
    items = files.taken.items if items is None and files.taken is not None else items
    items = items if items is None or isinstance(items, pd.DataFrame) else source_of(items, "items").frame
    texts = None if items is None else texts_of(items, judges)
    table = judges if kind == "scores" else checked(summarize(judges.frame), "scores", "scores")
    pairs = [(asked, _labels_of(asked, people)) for asked in asked_of(judges, table)]
    if people is not None and not any(len(labels.by_item) or labels.warnings for _, labels in pairs):
        us, them = (f"{table.holds} (items {glimpse(table.frame['item'])})" for table in (judges, people))
        rule = "must have labels of the criteria and items of {0}"
        raise TableArgumentError("human", rule, f"has {them}, while {{0}} have {us}", mentions=("scores",))
    return Results.of(_profiled(asked, labels, texts, top) for asked, labels in pairs)


_Page = tuple[dict[str, Any], stats.Profile]


class _Labels(NamedTuple):
    """People's labels of a judge's items, how many are of other items, and what is wrong with them."""

    by_item: pd.Series
    n_unmatched: int = 0
    warnings: tuple[str, ...] = ()


def _judges_and_people(table: Checked, human: Any) -> tuple[Checked, Checked | None]:
    """People in one table with judges are people."""
    is_human = table.frame["method"] == "human"
    mixed = bool(is_human.any() and not is_human.all())
    judges = table.only(~is_human) if mixed else table
    if human is None:
        return judges, scores_in(table.frame[is_human], "scores") if mixed else None
    return judges, scores_in(human, "human")


def _labels_of(asked: Asked, people: Checked | None) -> _Labels:
    if people is None:
        return _Labels(pd.Series(dtype=float))
    rows = people.under(asked.who.label, "criterion")
    rows = rows[rows["score"].notna()]
    others = rows["rater"] != asked.who.rater
    rows = rows[others] if others.any() else rows
    labels = rows["score"].set_axis(rows["item"].astype(object))
    try:
        one_scale({}, "", scores=asked.scores, human=rows)
    except TableError as error:
        why = str(error).partition(", but ")[2].rstrip(".")
        return _Labels(labels[:0], 0, (f"other_scale: people are left out, as {why}",))
    ours = labels.index.isin(asked.scores.index)
    return _Labels(labels[ours], int((~ours).sum()))


def _profiled(asked: Asked, labels: _Labels, texts: pd.DataFrame | None, top: int) -> _Page:
    rows, replies, theirs = asked.scores, asked.replies, labels.by_item
    read = rows["score"].notna()
    lost = rows["n_unread"].where(read | (rows["n_unread"] > 0), 1)
    with in_the_names_of(asked.who.label):
        result = stats.profile(
            **_cells_of(asked),
            human=theirs.groupby(level=0).mean().reindex(rows.index),
            labels=theirs,
            scale=_values_of(rows),
            replies=rows["n"].where(read, 0) + lost,
            unread=lost,
            reasons={"prompts": asked.across, "draws": replies.spread},
            statuses=replies.statuses if replies.single else None,
            items=rows.index,
            top=top,
        )
    looks = tuple(look._replace(texts=_to_read(look, asked, theirs, texts)) for look in result.looks)
    result = replace(result, looks=looks, warnings=(*labels.warnings, *result.warnings))
    return asked.who.label | {"n_unmatched": labels.n_unmatched}, result


def _cells_of(asked: Asked) -> dict[str, Any]:
    """The judge's scores, as shares of levels where these are known, with their entropy and mass."""
    rows, replies = asked.scores, asked.replies
    # of one draw nothing is known beyond the number
    told = asked.who.method in ("logprob", "chain")
    known = bool(rows["entropy"].notna().any() and (told or (rows["n"] > 1).any()))
    shared = known and replies.single
    cells = {"scores": replies.shares, "levels": replies.levels} if shared else {"scores": rows["score"]}
    mass = rows["mass"] if told and rows["mass"].notna().any() else None
    return {**cells, "entropy": rows["entropy"] if known else None, "mass": mass}


def _values_of(rows: pd.DataFrame) -> Any:
    """The values of the scale, where it is known; of one without values as many as are counted in bins."""
    scales = [scale for text in rows["scale"].unique() if (scale := parse_scale(str(text)))]
    if not scales:
        return None
    return scales[0].values or np.linspace(scales[0].low, scales[0].high, 101)  # noqa: PD011 - of a scale


def _to_read(
    look: stats.FlaggedItem, asked: Asked, labels: pd.Series, texts: pd.DataFrame | None
) -> tuple[tuple[str, str], ...]:
    """How the scores of an item came about, its own texts, the judge's words."""
    detail, words = asked.replies.distribution(look.item), asked.words(look.item)
    if look.why == "prompts":
        detail, words = asked.contradiction(look.item)
    elif look.why == "people":
        detail = f"labels {', '.join(map(short, labels[[look.item]]))}"
    own: dict[str, Any] = {} if texts is None or look.item not in texts.index else texts.loc[look.item].to_dict()
    said = (("reply", words),) if "reply" in asked.replies.rows else ()
    return (("detail", detail), *((name, "" if pd.isna(text) else str(text)) for name, text in own.items()), *said)


# --- what is read of the tables ---------------------------------------------------------------------------------


def each_slice(ratings: pd.DataFrame, wanted: Wanted, answer: Answer, name: str = "ratings") -> Results[Any]:
    """A result for each criterion, rater, prompt, method and temperature, of ratings of the methods wanted."""
    methods, words = wanted
    table = ratings_in(ratings, name)
    table = table.only(table.frame["method"].isin(methods))
    if not len(table.frame):
        raise TableArgumentError(name, f"must hold {words}", "has none")
    found = [(label, *answer(label, rows)) for label, rows in table.slices()]
    return Results.of((label | more, result) for label, more, result in found)


def draws_by_item(rows: pd.DataFrame) -> pd.DataFrame:
    """Sampled scores, one row per item and one column per draw; NaN where a reply has none."""
    items = rows["item"].astype(object)
    # numbered within each item: batches of items may come from runs of their own
    number = items.groupby(items, sort=False).cumcount().rename("number")
    draws = rows["score"].set_axis([items, number]).unstack("number")  # noqa: PD010 - nothing is to be averaged here
    return draws.reindex(pd.unique(items))


def weights_by_level(rows: pd.DataFrame, key: Sequence[str] = ("item",)) -> tuple[pd.DataFrame, Any]:
    """How much weight each item (or each of its chains) has on each level of the scale."""
    named = rows.astype(dict.fromkeys(key, object))
    good = named[(named["status"] == "ok") & named["score"].notna()]
    wide = good.pivot_table(index=list(key), columns="score", values="weight", aggfunc="sum", fill_value=0.0)
    there = named[list(key)].drop_duplicates()
    wide = wide.reindex(pd.MultiIndex.from_frame(there) if len(key) > 1 else there[key[0]], fill_value=0.0)
    return wide, wide.columns.to_numpy(dtype=float)
