"""Score distributions on tables: a judge's profile with its texts, and its scores at other temperatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core.check import Codes, Floats
from calib.core.numeric import ratio
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.readings import resolve_readings
from calib.inputs.resolve import items_in, resolve_inputs
from calib.scale.summarize import summarize
from calib.table import SCHEMAS, TableArgumentError, TableError, has_replies, parse_scale
from calib.table.driver import Slice, each_result, verb
from calib.table.pairs import one_scale
from calib.table.results import Results
from calib.table.schema import STATUSES
from calib.table.scores import by_slot
from calib.table.validate import Kind, SliceKey, ValidatedTable, scores_in, validated


@verb
def temperature_curve(
    ratings: Data, *, taus: Sequence[float] = (0.5, 0.7, 1.0, 1.3, 2.0)
) -> Results[stats.Temperature]:
    """Mean expectation and mean entropy of token probabilities at other temperatures.

    Parameters
    ----------
    ratings : table, path or frame
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
    table = resolve_readings(ratings, "ratings").ratings
    table = by_method(table, ["logprob"], "token probabilities (method 'logprob')")
    return each_result(
        (Slice(label, rows) for label, rows in table.slices()),
        lambda rows: stats.temperature_curve(*weights_by_level(rows), taus=taus),
        names={"p": "ratings", "tau": "taus"},
    )


@verb
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
        People's labels of the same items; several people are averaged. Default: those in `scores`, if it has judges
        as well.
    items : table, path or frame, optional
        Table of items, whose texts stand beside those that deserve a look.
    top
        As for `calib.stats.profile`.
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> result = calib.profile(ratings, people, items=items, top=2).one()
    >>> print(result)
    scores of 312 items: mean 4.232, median entropy 0.5966, median mass 0.99, +0.287 from people on 312
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), needs=("judge",), either_side=True)
    kind: Kind = "ratings" if isinstance(files.scores, pd.DataFrame) and has_replies(files.scores) else "scores"
    judges = validated(files.scores, kind, "scores")
    people = None if files.annotations is None else scores_in(files.annotations, "labels")
    is_human = judges.frame["method"] == "human"
    if is_human.any() and not is_human.all():  # people in one table with judges are people
        people = scores_in(judges.frame[is_human], "scores") if people is None else people
        judges = judges.only(~is_human)
    items = files.inferred.items if items is None and files.inferred is not None else items
    texts = None
    if items is not None:  # by name: source and output (of pairs both), or what else of a table without these is text
        about = items_in(items)
        names = about["item"].astype(object)
        if len(judges.frame) and not names.isin(judges.frame["item"].astype(object)).any():
            has = f"has {_glimpse(names)}, while {{0}} have {_glimpse(judges.frame['item'])}"
            raise TableArgumentError("items", "must have the items of {0}", has, mentions=(judges.argument,))
        usual = [name for name in ("source", "output", "output_a", "output_b") if name in about]
        more = [name for name in about if name not in SCHEMAS["items"] and pd.api.types.is_string_dtype(about[name])]
        clashing = {name: f"{name} of the item" for name in more if name in _OURS}
        # Python strings, which may hold what Arrow cannot
        texts = about[usual or more].astype(object).set_axis(names).rename(columns=clashing)
    table = judges if kind == "scores" else validated(summarize(judges.frame), "scores", "scores")
    pairs = [*_prompted_judges(judges, table, people)]
    if people is not None and not any(len(y) or warnings for _, y, _, warnings in pairs):
        scored, labelled = (f"{side.holds} (items {_glimpse(side.frame['item'])})" for side in (judges, people))
        rule = "must have labels of the criteria and items of {0}"
        raise TableArgumentError("labels", rule, f"has {labelled}, while {{0}} have {scored}", mentions=("scores",))

    def profiled(pair: tuple[PromptedJudge, pd.Series]) -> stats.Profile:
        judge, y = pair
        result = _profile_of(judge, y, top)
        looks = tuple(look._replace(texts=_texts_to_read(look, judge, y, texts)) for look in result.looks)
        return replace(result, looks=looks)

    slices = (Slice(judge.who.label, (judge, y), {"n_unmatched": n}, warnings) for judge, y, n, warnings in pairs)
    return each_result(slices, profiled)


def _profile_of(judge: PromptedJudge, labels: pd.Series, top: int) -> stats.Profile:
    rows = judge.scores
    read = rows["score"].notna()
    unread = rows["n_unread"].where(read | (rows["n_unread"] > 0), 1)
    # the values of the scale, where it is known; of one without values as many as are counted in bins
    scale = next((each for text in rows["scale"].unique() if (each := parse_scale(str(text)))), None)
    values = None if scale is None else scale.values or np.linspace(scale.low, scale.high, 101)  # noqa: PD011
    # shares of levels, entropy and mass where they are known: of one draw nothing is beyond the number
    exact = judge.who.method in ("logprob", "chain")
    spread = bool(rows["entropy"].notna().any() and (exact or (rows["n"] > 1).any()))
    cells: dict[str, Any] = {"scores": rows["score"]}
    if spread and judge.has_replies:
        cells = {"scores": judge.shares, "levels": judge.levels}
    # the largest difference between the scores of an item under two prompts, and between two replies on it
    under = pd.DataFrame({prompt: one.scores["score"] for prompt, one in judge.prompts.items()})
    across = (under.max(axis=1) - under.min(axis=1)).reindex(rows.index)
    low, high = (np.full(len(rows), end) for end in (np.inf, -np.inf))
    is_read = np.isfinite(judge.reply_scores)
    np.minimum.at(low, judge.item_of_reply[is_read], judge.reply_scores[is_read])
    np.maximum.at(high, judge.item_of_reply[is_read], judge.reply_scores[is_read])
    pairs = pd.DataFrame({"status": judge.ratings["status"].astype(object).to_numpy(), "reply": judge.reply_of_row})
    counts = pairs.drop_duplicates()["status"].value_counts()  # replies that have rows of each status
    return stats.profile(
        **cells, entropy=rows["entropy"] if spread else None,
        mass=rows["mass"] if exact and rows["mass"].notna().any() else None,
        labels=labels.groupby(level=0).mean().reindex(rows.index), annotations=labels, scale=values,
        replies=rows["n"].where(read, 0) + unread, unread=unread,
        reasons={"prompts": across, "draws": np.maximum(high - low, 0.0)},
        statuses={str(status): int(n) for status, n in counts.items()} if judge.has_replies else None,
        items=rows.index, top=top,
    )  # fmt: skip


_PROMPTS = 6  # prompts that are named one by one
# what stands beside texts
_OURS = {
    *("criterion", "rater", "prompt", "method", "temperature", "why", "value", "score", "label", "detail", "reply"),
    *("because", "judge", "apart", "entropy", "judge's words"),
}


@dataclass(frozen=True, slots=True, eq=False)
class PromptedJudge:
    """One judge under one prompt: its scores by item, its replies, and the same of each prompt that it was asked."""

    who: SliceKey
    scores: pd.DataFrame  # a row for each item, named by it
    ratings: pd.DataFrame  # ratings, or scores, which are one reply each
    has_replies: bool  # whether replies are known one by one
    reply_of_row: Codes  # the reply that each row of the ratings belongs to
    item_of_reply: Codes  # the place of the item of each reply
    reply_scores: Floats  # the expectation of each reply's probabilities; NaN where it could not be read
    shares: Floats  # (items, K): the distribution of each item's scores, in which each reply counts the same
    levels: Floats  # (items, K)
    prompts: dict[str, PromptedJudge]

    def words(self, item: str) -> list[tuple[str, str]]:
        """What the judge said on an item, each with its score or status: its lowest and highest reply, one not read.

        A reply that is its score says nothing beside it.
        """
        if "reply" not in self.ratings:
            return []
        places = np.flatnonzero(self.item_of_reply == self.scores.index.get_loc(item))
        scores = self.reply_scores
        read = sorted((place for place in places if np.isfinite(scores[place])), key=lambda place: scores[place])
        unread = [place for place in places if not np.isfinite(scores[place])]
        words = []
        for reply in dict.fromkeys([*read[:1], *read[-1:], *unread[:1]]):
            row, score = self.ratings.iloc[int(np.argmax(self.reply_of_row == reply))], scores[reply]
            mark, text = short(score) if np.isfinite(score) else str(row["status"]), str(row["reply"])
            if text.strip() not in ("", mark):
                words.append((mark, text))
        return words


def _prompted_judges(
    judges: ValidatedTable, scores: ValidatedTable, people: ValidatedTable | None
) -> Iterator[tuple[PromptedJudge, pd.Series, int, tuple[str, ...]]]:
    """Each judge under each prompt, of ratings and the scores made of them, beside the labels of its items.

    And how many labels are of other items, and what is wrong with them.
    """
    ratings = {SliceKey.of(label): rows for label, rows in judges.slices()}
    by_judge: dict[SliceKey, dict[str, PromptedJudge]] = {}
    for label, rows in scores.slices():
        who, items = SliceKey.of(label), pd.Index(rows["item"].astype(object))
        replies = ratings[who]
        single = has_replies(replies)
        if not single:
            status = np.where(replies["score"].notna(), "ok", "unread")
            replies = replies.assign(run="", draw=0, weight=1.0, status=status)
        place = items.get_indexer(replies["item"].astype(object))
        reply = replies.groupby([place, replies["run"].astype(object), replies["draw"]], sort=False).ngroup().to_numpy()
        ok = (replies["status"] == "ok").to_numpy()
        weight, value = np.where(ok, replies["weight"], 0.0), replies["score"].fillna(0.0).to_numpy()
        mass = np.bincount(reply, weight)
        item_of_reply = np.zeros(len(mass), dtype=np.intp)
        item_of_reply[reply] = place
        share = ratio(weight, mass[reply])[ok]
        shares, levels = by_slot(place[ok], value[ok], np.nan_to_num(share), len(items))
        reply_scores = ratio(np.bincount(reply, weight * value), mass)
        under = by_judge.setdefault(who._replace(prompt=""), {})
        under[who.prompt] = PromptedJudge(
            who, rows.set_index(items), replies, single, reply, item_of_reply, reply_scores, shares, levels, under
        )
    for judge in (one for under in by_judge.values() for one in under.values()):
        if people is None:
            yield judge, pd.Series(dtype=float), 0, ()
            continue
        rows = people.under(judge.who.label, "criterion")
        rows = rows[rows["score"].notna()]
        others = rows["rater"] != judge.who.rater
        rows = rows[others] if others.any() else rows
        labels = rows["score"].set_axis(rows["item"].astype(object))
        try:
            one_scale({}, "", scores=judge.scores, labels=rows)
        except TableError as error:
            why = str(error).partition(", but ")[2].rstrip(".")
            yield judge, labels[:0], 0, (f"other_scale: people are left out, as {why}",)
        else:
            scored = labels.index.isin(judge.scores.index)
            yield judge, labels[scored], int((~scored).sum()), ()


def _texts_to_read(
    look: stats.FlaggedItem, judge: PromptedJudge, labels: pd.Series, texts: pd.DataFrame | None
) -> tuple[tuple[str, str], ...]:
    """How the scores of an item came about, its own texts, the judge's words: those of several replies with marks."""
    detail, words = "", judge.words(look.item)
    if look.why == "prompts":
        # the scores under each prompt, and the judge's words under those of the lowest and the highest
        under = {prompt: one.scores["score"].get(look.item, np.nan) for prompt, one in judge.prompts.items()}
        scores = {prompt: score for prompt, score in under.items() if np.isfinite(score)}
        order = sorted(scores, key=scores.__getitem__)
        marks = {prompt: f"{prompt} {short(scores[prompt])}" for prompt in order}
        ends = {marks[prompt]: judge.prompts[prompt].words(look.item)[:1] for prompt in (*order[:1], *order[-1:])}
        named = [*marks.values()]
        named = named if len(named) <= _PROMPTS else [*named[: _PROMPTS // 2], "…", *named[-_PROMPTS // 2 :]]
        detail, words = ", ".join(named), [(mark, text) for mark, of_end in ends.items() for _, text in of_end]
    elif look.why == "labels":
        detail = f"labels {', '.join(map(short, labels[[look.item]]))}"
    elif judge.has_replies:  # how the scores of the item are distributed
        shares = judge.shares[judge.scores.index.get_loc(look.item)]
        at = judge.levels[judge.scores.index.get_loc(look.item)]
        parts = sorted((level, share / shares.sum()) for level, share in zip(at, shares, strict=True) if share)
        detail = ", ".join(f"{short(level)} {100 * share:.0f} %" for level, share in parts if share >= 0.005)
    own: dict[str, Any] = {} if texts is None or look.item not in texts.index else texts.loc[look.item].to_dict()
    out = [("detail", detail), *((name, "" if pd.isna(text) else str(text)) for name, text in own.items())]
    if "reply" in judge.ratings:
        is_plain = len(words) == 1 and words[0][0] not in STATUSES
        out.append(("reply", " ".join(text if is_plain else f"[{mark}] {text}" for mark, text in words)))
    return tuple(out)


def _glimpse(items: Any) -> str:
    """Two of the items, for a message."""
    return " and ".join(map(repr, list(dict.fromkeys(map(str, items)))[:2])) or "none"


def by_method(ratings: ValidatedTable, methods: Sequence[str], words: str) -> ValidatedTable:
    """The ratings of these methods, of which there must be some; `words` is what a message calls them."""
    table = ratings.only(ratings.frame["method"].isin(methods))
    if not len(table.frame):
        raise TableArgumentError(table.argument, f"must hold {words}", "has none")
    return table


def shared_by_items(tables: Sequence[pd.DataFrame], groups: str | None, items: pd.Index, where: Sequence[str]) -> Any:
    """What the items share, from the first table that has it for all of them; None if they share nothing.

    `where` are the arguments that a message names where no table has the column.
    """
    if groups in (None, "item"):
        return None
    for table in (table for table in tables if groups in table):
        owners = table.astype({"item": object}).drop_duplicates("item").set_index("item")[groups].reindex(items)
        if owners.notna().all() and (owners.astype(str) != "").all():
            return owners.astype(object).to_numpy() if owners.duplicated().any() else None
    if groups != "group":
        names = [f"{{{place}}}" for place in range(len(where))]
        rule = f"must be a column of {', '.join(names[:-1])} or {names[-1]} without gaps"
        raise TableArgumentError("groups", rule, f"got {groups!r}", mentions=tuple(where))
    return None


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
