"""Score distributions on tables: which number to read, and what temperature and sampling do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.frames_replies import Asked, asked_of, glimpse, texts_of
from calib.core.check import as_typed
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import given
from calib.inputs.source import source_of
from calib.scale.summarize import summarize
from calib.table import TableArgumentError, TableError, has_replies, parse_scale
from calib.table.pairs import one_scale
from calib.table.results import Results
from calib.table.validate import Checked, Kind, checked, in_the_names_of, ratings_in, scores_in

Found = tuple[dict[str, Any], stats.Result]  # a result, and what its label says beside what it is of
Answer = Callable[[dict[str, Any], pd.DataFrame], Found]
Wanted = tuple[Sequence[str], str]  # methods, and how a message calls their ratings
SAMPLED = (["sample"], "ratings of method 'sample'")
_TOLD = (["logprob"], "token probabilities (method 'logprob')")


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
