"""What there is to read of an item: its texts, how a judge's scores of it are distributed, the judge's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import Codes, Floats
from calib.core.numeric import ratio
from calib.core.result import short
from calib.table import SCHEMAS, TableArgumentError, has_replies
from calib.table.schema import STATUSES
from calib.table.scores import by_slot
from calib.table.validate import Checked, Who, checked

_PROMPTS = 6  # prompts that are named one by one
# what stands beside texts
_OURS = {
    *("criterion", "rater", "prompt", "method", "temperature", "why", "value", "score", "human", "detail", "reply"),
    *("because", "judge", "people", "apart", "entropy", "judge's words"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """Ratings as replies: of each the score (the expectation of its probabilities) and the item that it is about.

    Attributes
    ----------
    rows : DataFrame
        The ratings, of one judge under one prompt.
    items : Index
        The items, in the order in which numbers of them are given.
    of_row, of_reply : ndarray of int
        The reply that each row belongs to; the place of the item of each reply.
    score : ndarray
        Of each reply; NaN where it could not be read.
    shares, levels : ndarray, shape (n_items, K)
        The distribution of each item's scores, in which each reply counts the same.
    single : bool
        Whether replies are known one by one; scores are one for each item.
    """

    rows: pd.DataFrame
    items: pd.Index
    of_row: Codes
    of_reply: Codes
    score: Floats
    shares: Floats
    levels: Floats
    single: bool

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
        found = [self._word(place) for place in dict.fromkeys([*read[:1], *read[-1:], *lost[:1]])]
        return [(mark, text) for mark, text in found if text.strip() not in ("", mark)]

    def _word(self, reply: Any) -> tuple[str, str]:
        row = self.rows.iloc[int(np.argmax(self.of_row == reply))]
        score = self.score[reply]
        return short(score) if np.isfinite(score) else str(row["status"]), str(row["reply"])


class Asked(NamedTuple):
    """One judge under one prompt: its scores by item, its replies, and the same of each prompt that it was asked."""

    who: Who
    scores: pd.DataFrame
    replies: Replies
    prompts: dict[str, Asked]

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
        some = [*marks.values()]
        shown = some if len(some) <= _PROMPTS else [*some[: _PROMPTS // 2], "…", *some[-_PROMPTS // 2 :]]
        return ", ".join(shown), _as_one([(mark, text) for mark, said in ends.items() for _, text in said])


def asked_of(judges: Checked, scores: Checked) -> list[Asked]:
    """Each judge under each prompt, of ratings (or scores, which are one reply each) and the scores made of them."""
    replies = {Who.of(label): rows for label, rows in judges.slices()}
    found: dict[Who, dict[str, Asked]] = {}
    for label, rows in scores.slices():
        who, names = Who.of(label), pd.Index(rows["item"].astype(object))
        under = found.setdefault(who._replace(prompt=""), {})
        under[who.prompt] = Asked(who, rows.set_index(names), Replies.of(replies[who], names), under)
    return [one for under in found.values() for one in under.values()]


def _as_one(words: Sequence[tuple[str, str]]) -> str:
    """Replies as one text: a single one that was read as it is, others with their marks.

    Examples
    --------
    >>> _as_one([("2", "Rambling."), ("5", "Clear.")]), _as_one([("4", "Good.")]), _as_one([("refused", "No.")])
    ('[2] Rambling. [5] Clear.', 'Good.', '[refused] No.')
    """
    alone = len(words) == 1 and words[0][0] not in STATUSES
    return " ".join(text if alone else f"[{mark}] {text}" for mark, text in words)


def texts_of(items: pd.DataFrame, judges: Checked) -> pd.DataFrame:
    """The texts of items by name: source and output (of pairs both), or what else of a table without these is text."""
    table = checked(items, "items", "items").frame
    names = table["item"].astype(object)
    if len(judges.frame) and not names.isin(judges.frame["item"].astype(object)).any():
        given = f"has {glimpse(names)}, while {{0}} have {glimpse(judges.frame['item'])}"
        raise TableArgumentError("items", "must have the items of {0}", given, mentions=(judges.argument,))
    there = [name for name in ("source", "output", "output_a", "output_b") if name in table]
    more = [name for name in table if name not in SCHEMAS["items"] and pd.api.types.is_string_dtype(table[name])]
    taken = {name: f"{name} of the item" for name in more if name in _OURS}
    # Python strings, which may hold what Arrow cannot
    return table[there or more].astype(object).set_axis(names).rename(columns=taken)


def glimpse(items: Any) -> str:
    """Two of the items, for a message.

    Examples
    --------
    >>> glimpse(["a", "a", "b", "c"])
    "'a' and 'b'"
    """
    return " and ".join(map(repr, list(dict.fromkeys(map(str, items)))[:2])) or "none"
