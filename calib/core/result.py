"""Base classes of results: an interval, a frame, a line of text, a signature."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from inspect import cleandoc
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from calib._version import __version__
from calib.core.topic import above, display_function

if TYPE_CHECKING:
    import pandas as pd


class Interval(NamedTuple):
    """Two ends of a confidence interval.

    Attributes
    ----------
    low, high : float
        NaN where there is no interval, infinite where it has no end.
    """

    low: float
    high: float


NO_INTERVAL = Interval(math.nan, math.nan)


def term(name: str, *, column: bool = True, unless: Any = None, **options: Any) -> Any:
    """A field of a result that is a term of its signature under a short name, and a column of its frame or not.

    It is no term where its value is `unless`.
    """
    return field(metadata={"term": name, "column": column, "unless": unless}, **options)


class Result:
    """The display hooks of a frozen result: a subclass is a dataclass whose fields say what is tabulated and signed.

    Its frame has a column for each field that holds one value, its signature a term for each field made by `term`.
    A result of several rows has its own `_rows`; one whose signature takes more than its fields its own `_terms`.
    """

    __slots__ = ()
    _kind: ClassVar[str] = ""  # the first term of the signature
    _cells: ClassVar[str] = ""  # names of the columns, where they are not the fields in their order
    _names_itself: ClassVar[tuple[str, ...]] = ()  # labels that its own sentences name

    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(*self._column_names())]

    def __init_subclass__(cls) -> None:
        """Results are equal on each Python: from 3.13 on dataclasses differ where a field is NaN."""
        super().__init_subclass__()
        cls.__eq__ = Result._equal  # type: ignore[assignment]

    def _equal(self, other: object) -> Any:
        """Whether all fields that count are equal, or one object, as `math.nan` is."""
        if type(other) is not type(self):
            return NotImplemented
        names = [one.name for one in fields(self) if one.compare]  # type: ignore[arg-type]
        return [getattr(self, name) for name in names] == [getattr(other, name) for name in names]

    def _column_names(self) -> list[str]:
        """The fields that are columns: those of `_cells`, or all that hold one value, warnings last."""
        if self._cells:
            return self._cells.split()
        names = [one.name for one in fields(self) if one.metadata.get("column", True)]  # type: ignore[arg-type]
        one_value = Interval | str | int | float | np.generic | None
        single = [name for name in names if name != "warnings" and isinstance(getattr(self, name), one_value)]
        return [*single, "warnings"] if "warnings" in names else single

    def _row(self, *names: str) -> dict[str, Any]:
        """Fields by name; an interval as its two ends (of `x_interval` x_low and x_high), warnings by their names."""
        row: dict[str, Any] = {}
        for name in names:
            value = getattr(self, name)
            if isinstance(value, Interval):
                ends = "conf" if name == "interval" else name.removesuffix("_interval")
                row |= {f"{ends}_low": value.low, f"{ends}_high": value.high}
            else:
                row[name] = self._warned("; ") if name == "warnings" else value
        return row

    def _warned(self, comma: str = ", ") -> str:
        """The names of its warnings."""
        return comma.join(text.partition(":")[0] for text in getattr(self, "warnings", ()))

    @property
    def _bracketed_warnings(self) -> str:
        """Behind the line of text."""
        return f" [warnings: {names}]" if (names := self._warned()) else ""

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self._kind: True}
        for one in fields(self):  # type: ignore[arg-type]
            if "term" in one.metadata and (value := getattr(self, one.name)) != one.metadata["unless"]:
                terms[one.metadata["term"]] = value
        return terms

    def to_frame(self) -> pd.DataFrame:
        """The numbers as a pandas DataFrame, unrounded (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self._rows())

    @property
    def signature(self) -> str:
        """How the number was made, in one line: ``method|option:value|...|v:version``.

        A term whose value is True is its name alone, one that is None is left out.
        """
        words = [
            name if value is True else f"{name}:{f'{value:.4g}' if isinstance(value, float) else value}"
            for name, value in self._terms().items()
            if value is not None
        ]
        return "|".join([*words, f"v:{__version__}"])

    @property
    def conclusion(self) -> str:
        """What may be concluded, in the words of its topic, else its own line of text."""
        say = display_function(type(self), "conclusions") if find_spec("pandas") else None
        return " ".join(say([{}], [self])) if say else f"{str(self).removesuffix('.')}."

    def _repr_html_(self) -> str | None:
        if find_spec("pandas") is None:
            return None  # the one line of text is shown instead
        return str(above("report.notebook", "html_of")(self))


class WithInterval(Result):
    """A result with a field `interval`, whose ends are attributes, too, as they are columns of its frame."""

    __slots__ = ()
    interval: Interval

    @property
    def conf_low(self) -> float:
        """The lower end of the interval."""
        return self.interval.low

    @property
    def conf_high(self) -> float:
        """The upper end of the interval."""
        return self.interval.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(WithInterval):
    """An estimate with an interval: what most results share.

    Attributes
    ----------
    estimate : float
    interval : Interval
        Its ends are `conf_low` and `conf_high`, which are its columns, too; NaN where there is none.
    confidence_level : float
    warnings : tuple of str
        What a reader should know first, each as "name: text".
    """

    estimate: float
    interval: Interval
    confidence_level: float = term("cl", column=False)
    warnings: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        """The docstring of a child has the attributes of all, which are written here once."""
        super(Estimate, cls).__init_subclass__()
        head = f"Attributes\n{'-' * 10}\n"
        own, listed = cleandoc(cls.__doc__ or ""), cleandoc(Estimate.__doc__ or "").partition(head)[2]
        if not own or not listed:  # under -OO there are no docstrings
            return
        entries = re.split(r"\n(?=\w)", listed)
        shared = [entry for entry in entries if not re.search(rf"^.*\b{entry.split()[0]}\b.* :", own, re.MULTILINE)]
        if shared:
            before, _, after = own.partition(head) if head in own else (f"{own}\n\n", "", "")
            cls.__doc__ = f"{before}{head}" + "\n".join(shared) + f"\n{after}"

    @property
    def bracket(self) -> str:
        """The interval in words."""
        return bracket(self.interval, self.confidence_level)


class ColumnarResult(Result):
    """A result of many numbers at a time: one row for each place of the arrays that `_cells` names."""

    __slots__ = ()

    @property
    def conf_low(self) -> Any:
        """The lower ends of the intervals, where there are any."""
        return self.low  # type: ignore[attr-defined]

    @property
    def conf_high(self) -> Any:
        """The upper ends of the intervals, where there are any."""
        return self.high  # type: ignore[attr-defined]

    def _columns(self) -> dict[str, Any]:
        heads = {"low": "conf_low", "high": "conf_high", "names": "term"}
        return {heads.get(name, name): value for name, value in self._row(*self._cells.split()).items()}

    def _rows(self) -> list[dict[str, Any]]:
        columns = self._columns()
        cells = [repeat(value) if isinstance(value, str | int | float) else value for value in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=False)]

    def to_frame(self) -> pd.DataFrame:
        """One row per place, unrounded (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self._columns())


_digits: ContextVar[int] = ContextVar("digits", default=4)


@contextmanager
def three_digits() -> Iterator[None]:
    """Numbers in words have three significant digits here, as a page wants them."""
    before = _digits.set(3)
    try:
        yield
    finally:
        _digits.reset(before)


def short(value: float) -> str:
    """Four significant digits, for reading only.

    Examples
    --------
    >>> short(0.0123456), short(1600.0), short(float("nan"))
    ('0.01235', '1600', 'nan')
    """
    return f"{value:.4g}" if 1000 <= abs(value) < 10_000 else f"{value:.{_digits.get()}g}"


def bracket(interval: Interval, confidence_level: float) -> str:
    """An interval as words.

    Examples
    --------
    >>> bracket(Interval(0.41, 0.67), 0.95), bracket(Interval(float("nan"), float("nan")), 0.95)
    ('95 % CI [0.41, 0.67]', 'no interval')
    """
    if math.isnan(interval.low):
        return "no interval"
    return f"{100 * confidence_level:g} % CI [{short(interval.low)}, {short(interval.high)}]"
