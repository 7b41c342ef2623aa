"""What every result shares: an interval, a frame, a line of text, a signature."""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

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


class Result:
    """The display hooks of a frozen result, all fed by `_rows` and `_terms`.

    A subclass is a frozen dataclass that says its numbers (`_cells`, or `_rows` where there
    are several rows), how they were made (`_terms`) and itself in one line (`__str__`).
    """

    __slots__ = ()
    _cells: ClassVar[str] = ""
    _names_itself: ClassVar[tuple[str, ...]] = ()  # labels that its own sentences name

    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(*self._cells.split())]

    def _row(self, *names: str) -> dict[str, Any]:
        """Fields by name; an interval as its two ends, warnings by their names."""
        row: dict[str, Any] = {}
        for name in names:
            value = getattr(self, name)
            if isinstance(value, Interval):
                row |= {"conf_low": value.low, "conf_high": value.high}
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
        raise NotImplementedError

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
            name if value is True else f"{name}:{short(value) if isinstance(value, float) else value}"
            for name, value in self._terms().items()
            if value is not None
        ]
        return "|".join([*words, f"v:{__version__}"])

    @property
    def conclusion(self) -> str:
        """What may be concluded, as its topic says it; where that has no words for it, what it says of itself."""
        say = display_function(type(self), "conclusions") if find_spec("pandas") else None
        return " ".join(say([{}], [self])) if say else f"{str(self).removesuffix('.')}."

    def _repr_html_(self) -> str | None:
        if find_spec("pandas") is None:
            return None  # the one line of text is shown instead
        return str(above("report.notebook", "html_of")(self))


class Columns(Result):
    """A result of many numbers at a time: one row for each place of the arrays that `_cells` names."""

    __slots__ = ()

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


def short(value: float) -> str:
    """Four significant digits, for reading only.

    Examples
    --------
    >>> short(0.0123456), short(1600.0), short(float("nan"))
    ('0.01235', '1600', 'nan')
    """
    return f"{value:.4g}"


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
