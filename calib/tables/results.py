"""Results in a row: what every verb on tables returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import pandas as pd

from calib.core.result import Result, short
from calib.core.text import printable
from calib.core.topic import words_of
from calib.tables.text import each_once

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Results(Sequence[R_co], Generic[R_co]):
    """Results in a row, one per criterion, rater, prompt, method (and what `by` names).

    Attributes
    ----------
    labels : tuple of dict
        For each result what it is about, and the counts of what did not match.
    results : tuple of Result

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items)
    >>> results = calib.agreement(human, human, level="group")
    >>> len(results), len(results.select(criterion="fluency", rater="simulated-1", against="simulated-2"))
    (24, 1)
    """

    labels: tuple[dict[str, Any], ...]
    results: tuple[R_co, ...]

    @classmethod
    def of(cls, answers: Iterable[tuple[dict[str, Any], R_co]]) -> Results[R_co]:
        """From what each is about and the result, one after the other."""
        pairs = list(answers)
        return cls(tuple(label for label, _ in pairs), tuple(result for _, result in pairs))

    @overload
    def __getitem__(self, place: int) -> R_co: ...
    @overload
    def __getitem__(self, place: slice) -> Results[R_co]: ...
    def __getitem__(self, place: int | slice) -> R_co | Results[R_co]:
        if isinstance(place, slice):
            return Results(self.labels[place], self.results[place])
        return self.results[place]

    def __len__(self) -> int:
        return len(self.results)

    def __add__(self, other: Results[Any]) -> Results[Any]:
        return Results(self.labels + other.labels, self.results + other.results)

    def select(self, **wanted: Any) -> Results[R_co]:
        """Those whose labels have these values.

        Raises
        ------
        KeyError
            If no label has that name or that value.
        """
        for name, value in wanted.items():
            there = list(dict.fromkeys(label[name] for label in self.labels if name in label))
            if not there:
                raise KeyError(f"no label is called {name!r}; there are {', '.join(self._names())}")
            if value not in there:
                raise KeyError(f"no {name} is {value!r}; there are {', '.join(map(repr, there))}")
        pairs = zip(self.labels, self.results, strict=True)
        return Results.of(pair for pair in pairs if all(pair[0].get(k) == v for k, v in wanted.items()))

    def one(self) -> R_co:
        """The single result.

        Raises
        ------
        ValueError
            If there is none or more than one; names what there is.
        """
        if len(self) == 1:
            return self.results[0]
        there = printable("; ".join(words(label) for label in self.labels[:12])) or "none"
        raise ValueError(f"one result was asked for, but there are {len(self)}: {there}{' ...' * (len(self) > 12)}")

    @property
    def conclusion(self) -> str:
        """What may be concluded, a sentence a line."""
        return "\n".join(conclusions(self))

    def to_frame(self) -> pd.DataFrame:
        """All numbers in one frame, unrounded: labels first, then the results, counts and signatures."""
        pairs = zip(self.labels, self.results, strict=True)
        frames = [result.to_frame().assign(**label, signature=result.signature) for label, result in pairs]
        if not frames:
            return pd.DataFrame()
        counts = [name for name in self._names() if name.startswith("n_")]
        first, last = [name for name in self._names() if name not in counts], [*counts, "signature"]
        frame = pd.concat(frames, ignore_index=True)
        return frame[[*first, *(name for name in frame if name not in {*first, *last}), *last]]

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for label in self.labels for name in label))

    def __str__(self) -> str:
        pairs = zip(self.labels, self.results, strict=True)
        return "\n".join(f"{words(label)}: {result}{_left_out(label)}" for label, result in pairs)

    def __repr__(self) -> str:
        return f"<{len(self)} results>\n{self}"

    def _repr_html_(self) -> str:
        return str(filled(self.to_frame()).to_html(index=False, float_format=short, na_rep="", escape=True))


def conclusions(results: Results[Any]) -> list[str]:
    """What may be concluded: from agreements one sentence about the highest, from others a sentence each.

    Those about means can be pasted into a report.

    Examples
    --------
    >>> from calib.stats import agreement
    >>> results = Results(({},), (agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="pearson"),))
    >>> print(*conclusions(results))
    Pearson r = 0.8286, 95 % CI [0.05193, 0.9807], which speaks about new items, each independent of the others, \
and excludes 0.
    """
    lines: list[str] = []
    for kind in dict.fromkeys(map(type, results)):
        places = [place for place, result in enumerate(results) if type(result) is kind]
        of_kind = [results.labels[place] for place in places], [results[place] for place in places]
        say = words_of(kind, "conclusions")
        lines += say(*of_kind) if say else each_once(*of_kind, lambda result: [result.conclusion])
    return lines


def filled(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without its empty columns."""
    return frame.loc[:, [not (frame[name].isna() | (frame[name].astype(object) == "")).all() for name in frame]]


def _left_out(label: dict[str, Any]) -> str:
    counts = {
        "n_unmatched": "unmatched",
        "n_prompts_unmatched": "prompts of one side",
        "n_unread": "unread",
        "n_unscored": "labels without a score",
    }
    parts = [f"{label[name]} {word}" for name, word in counts.items() if label.get(name)]
    return f" [left out: {', '.join(parts)}]" if parts else ""


_UNTOLD = ("method", "given")  # nobody said how the judge was read


def words(label: dict[str, Any]) -> str:
    """What a result is about, in words."""
    shown = [
        f"{name} {short(value)}" if isinstance(value, float) else str(value)
        for name, value in label.items()
        if not name.startswith("n_") and name != "temperature" and value != "" and (name, value) != _UNTOLD
    ]
    # draws at another temperature have another expectation: that has to be seen
    temperature = label.get("temperature", math.nan)
    tempered = label.get("method") in ("sample", "chain") and not math.isnan(temperature) and temperature != 1
    return ", ".join([*shown, f"temperature {temperature:g}"] if tempered else shown)
