"""Results of a verb: a sequence with a label for each, as a frame, text, plot, report or table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar, overload

import pandas as pd

from calib.core.check import ArgumentError, choice, warn
from calib.core.result import Result, short
from calib.core.text import printable, shortlist
from calib.core.topic import above, display_function, display_of, topic_of
from calib.table.paper import PaperTable
from calib.table.text import Report, Tags, each_once, names_in, telling, told_apart, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R_co = TypeVar("R_co", bound=Result, covariant=True)
_NAMED = 12  # results that a message names
_SHOWN = 30  # results that are shown where nobody asked for all
_LEFT_OUT = {
    "n_unlabelled": "unlabelled",
    "n_unmatched": "unmatched",
    "n_prompts_unmatched": "prompts of one side",
    "n_unread": "unread",
    "n_unscored": "labels without a score",
}


@dataclass(frozen=True, slots=True, eq=False)
class Results(Sequence[R_co], Generic[R_co]):
    """Results in a row, one per criterion, rater, prompt, method (and what `by` names).

    ``results[0]`` is the first, ``results["gpt-4o"]`` those of which a label is that, ``results["gpt-4o", "fluency"]``
    those with both. Where there is a single one, its numbers are attributes here, too: ``results.estimate``.

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
    def of(cls, answers: Iterable[tuple[dict[str, Any], R_co]], refused: Sequence[Exception] = ()) -> Results[R_co]:
        """From pairs of a label and a result; an error becomes a warning, or is raised where there is no result."""
        pairs = list(answers)
        if refused and not pairs:
            raise refused[0]
        for error in refused:
            warn(f"left_out: {error}")
        return cls(tuple(label for label, _ in pairs), tuple(result for _, result in pairs))

    @overload
    def __getitem__(self, place: SupportsIndex) -> R_co: ...
    @overload
    def __getitem__(self, place: slice | str | float | tuple[Any, ...]) -> Results[R_co]: ...
    def __getitem__(self, place: SupportsIndex | slice | str | float | tuple[Any, ...]) -> R_co | Results[R_co]:
        if isinstance(place, slice):
            return type(self)(self.labels[place], self.results[place])
        if isinstance(place, SupportsIndex):
            return self.results[place]
        results = self
        for value in place if isinstance(place, tuple) else (place,):
            results = results.select(**{label_with(results.labels, value): value})
        return results

    if not TYPE_CHECKING:  # or a type checker would find no wrong name any more

        def __getattr__(self, name: str) -> Any:
            """What the single result has; of several, how to get at one."""
            if name.startswith("_") or name in ("labels", "results"):  # while it is unpickled there are none yet
                raise AttributeError(f"'Results' object has no attribute {name!r}")
            if len(self) == 1:
                return getattr(self.results[0], name)
            raise AttributeError(self._of_several(name))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(dir(self.results[0]) if len(self) == 1 else ())})

    def __len__(self) -> int:
        return len(self.results)

    def __add__(self, other: Results[Any]) -> Results[Any]:
        return Results(self.labels + other.labels, self.results + other.results)

    def select(self, **wanted: Any) -> Results[R_co]:
        """Those whose labels have these values; a KeyError lists what there is."""
        for name, value in wanted.items():
            there = list(dict.fromkeys(label[name] for label in self.labels if name in label))
            if not there:
                raise KeyError(f"no label is called {name!r}; there are {', '.join(self._names())}")
            if value not in there:
                raise KeyError(f"no {name} is {value!r}; there are {', '.join(map(repr, there))}")
        pairs = zip(self.labels, self.results, strict=True)
        return type(self).of(pair for pair in pairs if all(pair[0].get(k) == v for k, v in wanted.items()))

    def one(self) -> R_co:
        """The single result; of none or several a ValueError shows how to take one."""
        if len(self) == 1:
            return self.results[0]
        if not len(self):
            raise ValueError("one result was asked for, but there are 0: none")
        more, one = " ..." * (len(self) > _NAMED), way_to_one(self.labels)
        named = "; ".join(map(str, told_apart(self.labels[:_NAMED])))
        raise ValueError(printable(f"one result was asked for, but there are {len(self)} (take {one}): {named}{more}"))

    @property
    def conclusion(self) -> str:
        """What may be concluded, a sentence a line."""
        return "\n".join(conclusions(self))

    def to_frame(self) -> pd.DataFrame:
        """All numbers in one frame, unrounded: labels first, then the results, counts and signatures."""
        frames = [result.to_frame() for result in self.results]
        if not frames:
            return pd.DataFrame()
        frame = pd.concat(frames, ignore_index=True)
        lengths = [len(part) for part in frames]
        for name in self._names():  # once for all: a thousand frames of one row are slow
            values = [label.get(name, math.nan) for label in self.labels]
            column = pd.Series(values).repeat(lengths).set_axis(frame.index)
            there = pd.Series([name in label for label in self.labels]).repeat(lengths).set_axis(frame.index)
            frame[name] = column if name not in frame or there.all() else column.where(there, frame[name])
        frame["signature"] = [result.signature for result, n in zip(self, lengths, strict=True) for _ in range(n)]
        counts = [name for name in self._names() if name.startswith("n_")]
        first, last = [name for name in self._names() if name not in counts], [*counts, "signature"]
        return frame[[*first, *(name for name in frame if name not in {*first, *last}), *last]]

    def plot(self, kind: str | None = None, **options: Any) -> Axes:
        """Draw them, as `calib.plot` does.

        Parameters
        ----------
        kind : str, optional
            Which function of `calib.plot`; default: the first for results of this type.
        **options
            Its own, such as `ax`.
        """
        kinds = {type(result): display_of(type(result)).plots for result in self}
        there = list(dict.fromkeys(name for names in kinds.values() for name in names))
        if not there:
            what = ", ".join(kind.__name__ for kind in kinds) or "no results"
            raise ValueError(f"there is no plot of {what}; .to_frame() has the numbers, .report() the page.")
        first = {names[:1] for names in kinds.values()}
        if kind is None and len(first) > 1:
            types = "; ".join(f"{kind.__name__}: {', '.join(names) or 'none'}" for kind, names in kinds.items())
            raise ArgumentError("kind", "must name a plot, where results are of several types", f"there are {types}")
        name = there[0] if kind is None else choice(kind, "kind", there)
        owner = next(kind for kind, names in kinds.items() if name in names)
        draw = topic_of(owner).function("display", name)
        assert draw is not None
        drawn: Axes = draw(self, **options)
        return drawn

    def report(self, path: str | Path | None = None, **options: Any) -> Report:
        """Write them down as a page, which a notebook shows: `calib.report` of these alone, with its options."""
        written: Report = above("report.report", "report")(self, path, **options)
        return written

    def table(
        self,
        rows: str | Sequence[str] = "rater",
        columns: str | Sequence[str] = ("criterion", "coefficient"),
        *,
        digits: int = 3,
        interval: bool = False,
        average: bool | None = None,
    ) -> PaperTable:
        """The table of a paper: estimates of judges (or systems) by criterion and coefficient.

        A notebook shows it; it has `.to_latex()`, `.to_markdown()` and `.to_frame()`.

        Parameters
        ----------
        rows, columns : str or sequence of str
            Labels that name the rows, and the levels of the heads. What else tells two results apart is added.
        digits : int, default 3
            After the point.
        interval : bool, default False
            Each estimate with its interval.
        average : bool, optional
            A last column with the mean over the criteria. Default: of coefficients of agreement, not of means.

        Examples
        --------
        >>> import calib
        >>> items, people = calib.load_planted()
        >>> human = calib.summarize(people, items)
        >>> one, rest = human[human["rater"] == "simulated-1"], human[human["rater"] != "simulated-1"]
        >>> results = calib.agreement(rest, one, level="group", coefficient=("pearson", "kendall"))
        >>> print(results["fluency"].table())
        rater            r      \u03c4
        simulated-2  0.748  0.500
        simulated-3  0.738  0.489
        <BLANKLINE>
        r: Pearson r; \u03c4: Kendall tau-b; criterion fluency; scoring method human; against simulated-1; within
        groups; n 312; groups 24; systems 13
        """
        options = {"digits": digits, "interval": interval, "average": average}
        table: PaperTable = above("report.paper", "paper_table")(self, rows, columns, **options)
        return table

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for label in self.labels for name in label))

    def _ipython_key_completions_(self) -> list[str]:
        """The texts that stand in brackets: values in which the labels differ, if each is of one label only."""
        homes: dict[str, set[str]] = {}
        for name in telling(self.labels):
            for label in self.labels:
                if isinstance(label.get(name), str):
                    homes.setdefault(label[name], set()).add(name)
        return [value for value, names in homes.items() if len(names) == 1]

    def _of_several(self, name: str) -> str:
        """How to get at the numbers of that name."""
        if not any(hasattr(type(result), name) for result in self):
            return f"'Results' object has no attribute {name!r}; .to_frame() has all numbers"
        columns = ["conf_low", "conf_high"] if name == "interval" else name
        held = set(self[:1].to_frame())
        everything = f".to_frame()[{columns!r}]" if {"conf_low" if name == "interval" else name} <= held else ""
        each = everything or f"[result.{name} for result in results]"
        one = way_to_one(self.labels)
        return printable(
            f"there are {len(self)} results, each with its own `{name}`: take one, such as results{one}.{name} "
            f"(`.one()` is for a single result), or all, {'results' * bool(everything)}{each}"
        )

    def __str__(self) -> str:
        lines = []
        for label, result in zip(self.labels, self.results, strict=True):
            counts = ", ".join(f"{label[name]} {word}" for name, word in _LEFT_OUT.items() if label.get(name))
            left_out = f" [left out: {counts}]" if counts else ""
            whose = printable(words(label))
            lines.append(f"{whose}{': ' * bool(whose)}{result}{left_out}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        more = [f"... and {len(self) - _SHOWN:,} more: .to_frame() has all"] * (len(self) > _SHOWN)
        return "\n".join([f"<{len(self):,} result{'s' * (len(self) != 1)}>", str(self[:_SHOWN]), *more])

    def _repr_html_(self) -> str:
        return str(above("report.notebook", "html_of")(self))


def conclusions(results: Results[Any] | Sequence[Results[Any]]) -> list[str]:
    """What may be concluded: from agreements one sentence about the highest, from others a sentence each.

    Those about means can be pasted into a report.

    Parameters
    ----------
    results : Results or sequence of Results
        Of several those of each, as in a report.

    Examples
    --------
    >>> from calib.stats import agreement
    >>> results = Results(({},), (agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="pearson"),))
    >>> print(*conclusions(results))
    Pearson r = 0.8286, 95 % CI [0.05193, 0.9807], which generalises to new items, each independent of the others, \
and excludes 0.
    """
    if isinstance(results, list | tuple):
        return [line for one in results for line in conclusions(one)]
    if not isinstance(results, Results):
        raise TypeError(f"`results` must be Results, as the verbs return them, but got {type(results).__name__}.")
    lines: list[str] = []
    for kind in dict.fromkeys(map(type, results)):
        places = [place for place, result in enumerate(results) if type(result) is kind]
        of_kind = [results.labels[place] for place in places], [results[place] for place in places]
        say = display_function(kind, "conclusions")
        lines += say(*of_kind) if say else each_once(*of_kind, lambda result: [result.conclusion])
    return lines


def filled(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without its empty columns."""
    return frame.loc[:, [not (frame[name].isna() | (frame[name].astype(object) == "")).all() for name in frame]]


_UNSTATED = ("method", "given")  # the way in which the judge was read is unknown


def words(label: dict[str, Any]) -> str:
    """What a result is about, in words."""
    parts = [
        f"{name} {short(value)}" if isinstance(value, float) else str(value)
        for name, value in label.items()
        if not name.startswith("n_") and name != "temperature" and value != "" and (name, value) != _UNSTATED
    ]
    # draws at another temperature have another expectation: that has to be seen
    temperature = label.get("temperature", math.nan)
    tempered = label.get("method") in ("sample", "chain") and not math.isnan(temperature) and temperature != 1
    return ", ".join([*parts, f"temperature {temperature:g}"] if tempered else parts)


# --- how one asks for some of several results -------------------------------------------------------------------------


_LISTED, _LONGEST = 12, 60  # values that a message names, and characters of each
_EMPTY = ("", "nan", "None")


class LabelError(KeyError):
    """No label, or more than one, is what was asked for; the message is a sentence, not a key."""

    def __str__(self) -> str:
        return printable(str(self.args[0]))


def label_with(labels: Tags, value: Any) -> str:
    """The name of the label that has this value.

    Examples
    --------
    >>> label_with([{"rater": "gpt-4o", "criterion": "fluency"}, {"rater": "o3", "criterion": "fluency"}], "o3")
    'rater'
    """
    places: dict[str, tuple[int, ...]] = {}
    for name in names_in(labels):
        if rows := tuple(place for place, label in enumerate(labels) if name in label and label[name] == value):
            places[name] = rows
    if not places:
        parts = []  # the first few values of each label
        for name in names_in(labels):
            texts = (visible(repr(label[name]), _LONGEST) for label in labels if str(label.get(name, "")) not in _EMPTY)
            values = list(dict.fromkeys(texts))
            parts += [f"{name} {shortlist(values, _LISTED)}"] * bool(values)
        raise LabelError(f"no label is {value!r}; there are {'; '.join(parts) or 'no labels'}")
    if len(set(places.values())) > 1:
        ways = " or ".join(f".select({name}={value!r})" for name in places)
        raise LabelError(f"{value!r} is the {' of some and the '.join(places)} of others: say which by {ways}")
    return next(iter(places))


def way_to_one(labels: Tags) -> str:
    """The code after the name of these results that takes the first of them.

    Examples
    --------
    >>> way_to_one([{"criterion": "fluency", "rater": "a"}, {"criterion": "fluency", "rater": "b"}])
    "['a']"
    >>> way_to_one([{"rater": "a", "against": "b"}, {"rater": "b", "against": "a"}])
    ".select(rater='a').one()"
    """
    named = {name: labels[0][name] for name in telling(labels) if labels[0].get(name, "") != ""}
    alike = [label for label in labels if all(label.get(name) == value for name, value in named.items())]
    if not named or len(alike) > 1:
        return "[0]"
    narrowed = list(labels)
    for name, value in named.items():
        if len({key for label in narrowed for key, there in label.items() if there == value}) > 1:
            return f".select({', '.join(f'{name}={value!r}' for name, value in named.items())}).one()"
        narrowed = [label for label in narrowed if label.get(name) == value]
    return f"[{', '.join(map(repr, named.values()))}]"
