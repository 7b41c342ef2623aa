"""Score distributions on tables: which number to read, and what temperature and sampling do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core.check import Codes, Floats, as_typed
from calib.core.numeric import ratio
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.inputs.source import source_of
from calib.scale.summarize import summarize
from calib.table import SCHEMAS, TableArgumentError, TableError, has_replies, parse_scale
from calib.table.pairs import one_scale
from calib.table.results import Results
from calib.table.schema import STATUSES
from calib.table.scores import by_slot
from calib.table.validate import Kind, SliceKey, ValidatedTable, ratings_in, renamed_errors, scores_in, validated

Found = tuple[dict[str, Any], stats.Result]  # a result, and what its label says beside what it is of
Answer = Callable[[dict[str, Any], pd.DataFrame], Found]
Wanted = tuple[Sequence[str], str]  # methods, and how a message calls their ratings
SAMPLED = (["sample"], "ratings of method 'sample'")
_EXACT = (["logprob"], "token probabilities (method 'logprob')")


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
        with renamed_errors(label, p="ratings", tau="taus"):
            return {}, stats.temperature_curve(*weights_by_level(rows), taus=taus)

    return each_slice(ratings, _EXACT, curve)


def profile(
    scores: Data, labels: Data = None, *, items: Data = None, top: int = 20, **columns: Unpack[Columns]
) -> Results[stats.Profile]:
    """What a judge does with its scale, how sure it is, and the items that deserve a look, with their texts.

    Parameters
    ----------
    scores : table, path or frame
        A judge's ratings; or scores, which do not say how the replies on an item are distributed; or a file of
        your own, which may hold the labels and the texts, too.
    labels : table, path or frame, optional
        People's labels of the same items; several people are averaged. Default: the people in `scores`, if it has
        judges as well.
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

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.profile(ratings, people, items=items, top=2).one()
    >>> print(found)
    scores of 312 items: mean 4.232, median entropy 0.5966, median mass 0.99, +0.287 from people on 312
    >>> found.items[["why", "item", "value", "score", "label"]].round(2)
           why                      item  value  score  label
    0   people    news-library/fluency-1   1.57   4.57   3.00
    1   people  notice-ferry/relevance-2   1.22   4.55   3.33
    2  entropy      howto-soup/fluency-2   0.92   2.55   2.33
    3  entropy  sports-handball/fluency-1   0.92   3.52   4.33
    """
    as_typed(profile, locals())
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), needs=("judge",))
    kind: Kind = "ratings" if isinstance(files.scores, pd.DataFrame) and has_replies(files.scores) else "scores"
    judges, people = validated(files.scores, kind, "scores"), None
    is_human = judges.frame["method"] == "human"
    if is_human.any() and not is_human.all():  # people in one table with judges are people
        people = scores_in(judges.frame[is_human], "scores") if files.people is None else None
        judges = judges.only(~is_human)
    people = people if files.people is None else scores_in(files.people, "labels")
    items = files.inferred.items if items is None and files.inferred is not None else items
    items = items if items is None or isinstance(items, pd.DataFrame) else source_of(items, "items").frame
    texts = None if items is None else texts_of(items, judges)
    table = judges if kind == "scores" else validated(summarize(judges.frame), "scores", "scores")
    pairs = [(judge, _labels_of(judge, people)) for judge in prompted_judges(judges, table)]
    if people is not None and not any(len(labels) or doubts for _, (labels, _, doubts) in pairs):
        us, them = (f"{table.holds} (items {glimpse(table.frame['item'])})" for table in (judges, people))
        rule = "must have labels of the criteria and items of {0}"
        raise TableArgumentError("labels", rule, f"has {them}, while {{0}} have {us}", mentions=("scores",))
    answers = []
    for judge, (labels, n_unmatched, doubts) in pairs:
        result = _profiled(judge, labels, top)
        looks = tuple(look._replace(texts=_to_read(look, judge, labels, texts)) for look in result.looks)
        result = replace(result, looks=looks, warnings=(*doubts, *result.warnings))
        answers.append((judge.who.label | {"n_unmatched": n_unmatched}, result))
    return Results.of(answers)


def _labels_of(judge: PromptedJudge, people: ValidatedTable | None) -> tuple[pd.Series, int, tuple[str, ...]]:
    """People's labels of a judge's items, how many are of other items, and what is wrong with them."""
    if people is None:
        return pd.Series(dtype=float), 0, ()
    rows = people.under(judge.who.label, "criterion")
    rows = rows[rows["score"].notna()]
    others = rows["rater"] != judge.who.rater
    rows = rows[others] if others.any() else rows
    labels = rows["score"].set_axis(rows["item"].astype(object))
    try:
        one_scale({}, "", scores=judge.scores, labels=rows)
    except TableError as error:
        why = str(error).partition(", but ")[2].rstrip(".")
        return labels[:0], 0, (f"other_scale: people are left out, as {why}",)
    ours = labels.index.isin(judge.scores.index)
    return labels[ours], int((~ours).sum()), ()


def _profiled(judge: PromptedJudge, labels: pd.Series, top: int) -> stats.Profile:
    rows, replies = judge.scores, judge.replies
    read = rows["score"].notna()
    lost = rows["n_unread"].where(read | (rows["n_unread"] > 0), 1)
    # the values of the scale, where it is known; of one without values as many as are counted in bins
    scale = next((each for text in rows["scale"].unique() if (each := parse_scale(str(text)))), None)
    values = None if scale is None else scale.values or np.linspace(scale.low, scale.high, 101)  # noqa: PD011
    # shares of levels, entropy and mass where they are known: of one draw nothing is beyond the number
    exact = judge.who.method in ("logprob", "chain")
    spread = bool(rows["entropy"].notna().any() and (exact or (rows["n"] > 1).any()))
    shared = spread and replies.single
    cells = {"scores": replies.shares, "levels": replies.levels} if shared else {"scores": rows["score"]}
    with renamed_errors(judge.who.label):
        return stats.profile(
            **cells,
            entropy=rows["entropy"] if spread else None,
            mass=rows["mass"] if exact and rows["mass"].notna().any() else None,
            labels=labels.groupby(level=0).mean().reindex(rows.index),
            annotations=labels,
            scale=values,
            replies=rows["n"].where(read, 0) + lost,
            unread=lost,
            reasons={"prompts": judge.across, "draws": replies.spread},
            statuses=replies.statuses if replies.single else None,
            items=rows.index,
            top=top,
        )


def _to_read(
    look: stats.FlaggedItem, judge: PromptedJudge, labels: pd.Series, texts: pd.DataFrame | None
) -> tuple[tuple[str, str], ...]:
    """How the scores of an item came about, its own texts, the judge's words."""
    detail, words = judge.replies.distribution(look.item), judge.words(look.item)
    if look.why == "prompts":
        detail, words = judge.contradiction(look.item)
    elif look.why == "people":
        detail = f"labels {', '.join(map(short, labels[[look.item]]))}"
    own: dict[str, Any] = {} if texts is None or look.item not in texts.index else texts.loc[look.item].to_dict()
    reply = (("reply", words),) if "reply" in judge.replies.rows else ()
    return (("detail", detail), *((name, "" if pd.isna(text) else str(text)) for name, text in own.items()), *reply)


# --- what there is to read of an item: its texts, how its scores are distributed, the judge's own words ---------------


_PROMPTS = 6  # prompts that are named one by one
# what stands beside texts
_OURS = {
    *("criterion", "rater", "prompt", "method", "temperature", "why", "value", "score", "label", "detail", "reply"),
    *("because", "judge", "apart", "entropy", "judge's words"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """Ratings of one judge under one prompt as replies, and the items that they are about."""

    rows: pd.DataFrame
    items: pd.Index  # in the order in which numbers of them are given
    of_row: Codes  # the reply that each row belongs to
    of_reply: Codes  # the place of the item of each reply
    score: Floats  # of each reply, the expectation of its probabilities; NaN where it could not be read
    shares: Floats  # (items, K): the distribution of each item's scores, in which each reply counts the same
    levels: Floats  # (items, K)
    single: bool  # whether replies are known one by one; scores are one for each item

    @classmethod
    def of(cls, rows: pd.DataFrame, items: pd.Index) -> Replies:
        """Of ratings or scores of these items."""
        single = has_replies(rows)
        if not single:
            status = np.where(rows["score"].notna(), "ok", "unread")
            rows = rows.assign(run="", draw=0, weight=1.0, status=status)
        place = items.get_indexer(rows["item"].astype(object))
        of_row = rows.groupby([place, rows["run"].astype(object), rows["draw"]], sort=False).ngroup().to_numpy()
        ok = (rows["status"] == "ok").to_numpy()
        weight, value = np.where(ok, rows["weight"], 0.0), rows["score"].fillna(0.0).to_numpy()
        mass = np.bincount(of_row, weight)
        of_reply = np.zeros(len(mass), dtype=np.intp)
        of_reply[of_row] = place
        share = ratio(weight, mass[of_row])[ok]
        cells = by_slot(place[ok], value[ok], np.nan_to_num(share), len(items))
        return cls(rows, items, of_row, of_reply, ratio(np.bincount(of_row, weight * value), mass), *cells, single)

    @property
    def spread(self) -> Floats:
        """The largest difference between two replies on each item; 0 where fewer than two were read."""
        low, high = (np.full(len(self.items), end) for end in (np.inf, -np.inf))
        read = np.isfinite(self.score)
        np.minimum.at(low, self.of_reply[read], self.score[read])
        np.maximum.at(high, self.of_reply[read], self.score[read])
        return np.asarray(np.maximum(high - low, 0.0))

    @property
    def statuses(self) -> dict[str, int]:
        """How many replies have rows of each status."""
        pairs = pd.DataFrame({"status": self.rows["status"].astype(object).to_numpy(), "reply": self.of_row})
        return {str(status): int(n) for status, n in pairs.drop_duplicates()["status"].value_counts().items()}

    def distribution(self, item: str) -> str:
        """How the scores of an item are distributed, in words; nothing where that is not known.

        Examples
        --------
        >>> rows = pd.DataFrame({"item": "a", "run": "", "draw": [0, 1, 2, 3], "score": [4.0, 5, 4, 2]})
        >>> Replies.of(rows.assign(weight=1.0, status="ok"), pd.Index(["a"])).distribution("a")
        '2 25 %, 4 50 %, 5 25 %'
        """
        if not self.single:
            return ""
        place = self.items.get_loc(item)
        total = self.shares[place].sum()
        pairs = sorted((level, s / total) for level, s in zip(self.levels[place], self.shares[place], strict=True) if s)
        return ", ".join(f"{short(level)} {100 * share:.0f} %" for level, share in pairs if share >= 0.005)

    def words(self, item: str) -> list[tuple[str, str]]:
        """What the judge said on an item, each with its score or status: its lowest and highest reply, one not read.

        A reply that is its score says nothing beside it.
        """
        if "reply" not in self.rows:
            return []
        places = np.flatnonzero(self.of_reply == self.items.get_loc(item))
        read = sorted((place for place in places if np.isfinite(self.score[place])), key=lambda p: self.score[p])
        lost = [place for place in places if not np.isfinite(self.score[place])]
        words = []
        for reply in dict.fromkeys([*read[:1], *read[-1:], *lost[:1]]):
            row, score = self.rows.iloc[int(np.argmax(self.of_row == reply))], self.score[reply]
            mark, text = short(score) if np.isfinite(score) else str(row["status"]), str(row["reply"])
            if text.strip() not in ("", mark):
                words.append((mark, text))
        return words


class PromptedJudge(NamedTuple):
    """One judge under one prompt: its scores by item, its replies, and the same of each prompt that it was asked."""

    who: SliceKey
    scores: pd.DataFrame
    replies: Replies
    prompts: dict[str, PromptedJudge]

    @property
    def across(self) -> pd.Series:
        """The largest difference between the scores of each item under two prompts."""
        under = pd.DataFrame({prompt: one.scores["score"] for prompt, one in self.prompts.items()})
        return (under.max(axis=1) - under.min(axis=1)).reindex(self.scores.index)

    def words(self, item: str) -> str:
        """What the judge said on an item."""
        return _as_one(self.replies.words(item))

    def contradiction(self, item: str) -> tuple[str, str]:
        """The scores of an item under each prompt, and the judge's words under those of the lowest and the highest."""
        under = {prompt: one.scores["score"].get(item, np.nan) for prompt, one in self.prompts.items()}
        scores = {prompt: score for prompt, score in under.items() if np.isfinite(score)}
        order = sorted(scores, key=scores.__getitem__)
        marks = {prompt: f"{prompt} {short(scores[prompt])}" for prompt in order}
        ends = {marks[prompt]: self.prompts[prompt].replies.words(item)[:1] for prompt in (*order[:1], *order[-1:])}
        named = [*marks.values()]
        named = named if len(named) <= _PROMPTS else [*named[: _PROMPTS // 2], "…", *named[-_PROMPTS // 2 :]]
        return ", ".join(named), _as_one([(mark, text) for mark, words in ends.items() for _, text in words])


def prompted_judges(judges: ValidatedTable, scores: ValidatedTable) -> list[PromptedJudge]:
    """Each judge under each prompt, of ratings (or scores, which are one reply each) and the scores made of them."""
    replies = {SliceKey.of(label): rows for label, rows in judges.slices()}
    by_judge: dict[SliceKey, dict[str, PromptedJudge]] = {}
    for label, rows in scores.slices():
        who, names = SliceKey.of(label), pd.Index(rows["item"].astype(object))
        under = by_judge.setdefault(who._replace(prompt=""), {})
        under[who.prompt] = PromptedJudge(who, rows.set_index(names), Replies.of(replies[who], names), under)
    return [one for under in by_judge.values() for one in under.values()]


def _as_one(words: Sequence[tuple[str, str]]) -> str:
    """Replies as one text: a single one that was read as it is, others with their marks.

    Examples
    --------
    >>> _as_one([("2", "Rambling."), ("5", "Clear.")]), _as_one([("4", "Good.")]), _as_one([("refused", "No.")])
    ('[2] Rambling. [5] Clear.', 'Good.', '[refused] No.')
    """
    alone = len(words) == 1 and words[0][0] not in STATUSES
    return " ".join(text if alone else f"[{mark}] {text}" for mark, text in words)


def texts_of(items: pd.DataFrame, judges: ValidatedTable) -> pd.DataFrame:
    """The texts of items by name: source and output (of pairs both), or what else of a table without these is text."""
    table = validated(items, "items", "items").frame
    names = table["item"].astype(object)
    if len(judges.frame) and not names.isin(judges.frame["item"].astype(object)).any():
        has = f"has {glimpse(names)}, while {{0}} have {glimpse(judges.frame['item'])}"
        raise TableArgumentError("items", "must have the items of {0}", has, mentions=(judges.argument,))
    texts = [name for name in ("source", "output", "output_a", "output_b") if name in table]
    more = [name for name in table if name not in SCHEMAS["items"] and pd.api.types.is_string_dtype(table[name])]
    clashing = {name: f"{name} of the item" for name in more if name in _OURS}
    # Python strings, which may hold what Arrow cannot
    return table[texts or more].astype(object).set_axis(names).rename(columns=clashing)


def glimpse(items: Any) -> str:
    """Two of the items, for a message.

    Examples
    --------
    >>> glimpse(["a", "a", "b", "c"])
    "'a' and 'b'"
    """
    return " and ".join(map(repr, list(dict.fromkeys(map(str, items)))[:2])) or "none"


# --- what is read of the tables ---------------------------------------------------------------------------------


def each_slice(ratings: pd.DataFrame, wanted: Wanted, answer: Answer, name: str = "ratings") -> Results[Any]:
    """A result for each criterion, rater, prompt, method and temperature, of ratings of the methods wanted."""
    methods, words = wanted
    table = ratings_in(ratings, name)
    table = table.only(table.frame["method"].isin(methods))
    if not len(table.frame):
        raise TableArgumentError(name, f"must hold {words}", "has none")
    answers = []
    for label, rows in table.slices():
        more, result = answer(label, rows)
        answers.append((label | more, result))
    return Results.of(answers)


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
    keys = named[list(key)].drop_duplicates()
    wide = wide.reindex(pd.MultiIndex.from_frame(keys) if len(key) > 1 else keys[key[0]], fill_value=0.0)
    return wide, wide.columns.to_numpy(dtype=float)
