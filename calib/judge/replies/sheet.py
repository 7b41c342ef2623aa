"""The ratings of a run in columns, filled while the replies come."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.judge.judge import Call, Judge
from calib.judge.replies.extract import RatingRow
from calib.table import STATUSES, check_ratings

_STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}


class Sheet:
    """Rating rows by call; a number costs eight bytes, whatever the run's length.

    Attributes
    ----------
    counts : Counter
        Draws by how they read: "ok", or what stands in the way.
    """

    def __init__(self, *, texts: bool = False) -> None:
        self.keeps_texts = texts
        self.expect([])

    def expect(self, calls: list[Call]) -> dict[str, Call]:
        """Begin with these calls, in the order of the table; the different ones by key (equal texts share a reply)."""
        self.counts: Counter[str] = Counter()
        self._calls, self._places = calls, dict[str, list[int]]()
        self._call, self._status = array("q"), array("b")
        self._numbers = {name: array("d") for name in ("score", "weight", "low", "high")}
        self._texts: dict[int, str] = {}
        for place, call in enumerate(calls):
            self._places.setdefault(call.key, []).append(place)
        return {key: calls[places[0]] for key, places in self._places.items()}

    def add(self, call: Call, rows: Sequence[RatingRow], text: str) -> None:
        """The rows of one draw."""
        self.counts["ok" if any(row.status == "ok" for row in rows) else rows[0].status] += 1
        score, weight, status, low, high = zip(*rows, strict=True)
        for place in self._places[call.key]:
            self._call.extend([place] * len(rows))
            self._status.extend([_STATUS_CODES[one] for one in status])
            for name, numbers in (("score", score), ("weight", weight), ("low", low), ("high", high)):
                self._numbers[name].extend(numbers)
            if self.keeps_texts:
                self._texts[place] = text

    def fail(self, call: Call) -> None:
        """The row of a draw that came to nothing."""
        self.add(call, [RatingRow(math.nan, 1.0, "failed")], "")

    @property
    def expected(self) -> int:
        """All draws of the run."""
        return len(self._calls)

    def missing(self) -> int:
        """Draws that were expected and have no row."""
        return len(self._calls) - len(set(self._call))

    def frame(self, judge: Judge, run: str) -> pd.DataFrame:
        """The checked table of ratings, in the order of the calls."""
        place = np.frombuffer(self._call, dtype=np.int64)
        order = np.argsort(place, kind="stable")
        place = place[order]
        calls, numbers = self._calls, {name: np.frombuffer(each)[order] for name, each in self._numbers.items()}
        frame = pd.DataFrame(
            {
                "item": _categorical([str(call.row["item"]) for call in calls], place),
                "criterion": _categorical([call.prompt.criterion for call in calls], place),
                "rater": _categorical([judge.model], np.zeros(len(place), dtype=np.int64)),
                "prompt": _categorical(_prompt_texts(calls, "id"), place),
                "scale": _categorical(_prompt_texts(calls, "scale"), place),
                "method": _categorical([call.method for call in calls], place),
                "temperature": float(judge.temperature),
                "run": _categorical([run], np.zeros(len(place), dtype=np.int64)),
                "draw": np.array([call.draw for call in calls], dtype=np.int64)[place],
                "status": pd.Categorical.from_codes(np.frombuffer(self._status, dtype=np.int8)[order], STATUSES),
                **numbers,
            }
        )
        if any(call.shown_first for call in calls):
            frame["shown_first"] = _categorical([call.shown_first for call in calls], place)
        if self.keeps_texts:
            frame["reply"] = pd.Series([self._texts[i] for i in place.tolist()], dtype=object)
        return check_ratings(frame)


def _prompt_texts(calls: Sequence[Call], name: str) -> list[str]:
    """A property of the prompt for each call; it is the same object for many."""
    prompts = {id(call.prompt): call.prompt for call in calls}
    texts = {key: str(getattr(prompt, name)) for key, prompt in prompts.items()}
    return [texts[id(call.prompt)] for call in calls]


def _categorical(values: list[str], place: Any) -> pd.Categorical:
    """A categorical of the values at these places."""
    return pd.Categorical(pd.Index(values, dtype=object)).take(place).remove_unused_categories()
