"""The scale of a rating: its labels, and the number that each stands for."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from calib.core.check import ArgumentError
from calib.table import scale_words


@dataclass(frozen=True, slots=True)
class Scale:
    """Labels that the judge may answer and the number that each stands for, worst first.

    Parameters
    ----------
    labels : tuple of str
        Distinct, not empty.
    values : tuple of float
        One number each, distinct.

    Examples
    --------
    >>> Scale()
    Scale.of(1, 2, 3, 4, 5)
    >>> str(Scale.of(*range(11))), str(Scale.of(no=0, yes=1))
    ('0|1|2|3|4|5|6|7|8|9|10', '0|1')
    """

    labels: tuple[str, ...] = ("1", "2", "3", "4", "5")
    values: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)

    def __post_init__(self) -> None:
        """Labels and values must be distinct, finite and as many as each other."""
        if not isinstance(self.labels, tuple) or not isinstance(self.values, tuple):
            raise TypeError(f"`labels` and `values` must be tuples, but got {self.labels!r} and {self.values!r}.")
        if len(self.labels) < 2 or len(set(self.labels)) != len(self.labels) or not all(self.labels):
            raise ArgumentError("labels", "must be two or more different words", f"got {self.labels!r}")
        if len(set(self.values)) != len(self.labels) or any(v - v != 0 for v in self.values):
            raise ArgumentError("values", "must be one finite number for each label", f"got {self.values!r}")

    @classmethod
    def of(cls, *numbers: float, **named: float) -> Scale:
        """A scale of plain numbers, or of words: ``Scale.of(1, 2, 3)``, ``Scale.of(no=0, yes=1)``."""
        return cls._sorted([(number_text(n), float(n)) for n in numbers] + [(w, float(n)) for w, n in named.items()])

    @classmethod
    def parse(cls, text: str) -> Scale:
        """A scale from text: ``"1|2|3|4|5"``, ``"no=0|yes=1"``, or words worst first, from 0 on: ``"poor|fair|good"``.

        Examples
        --------
        >>> Scale.parse("no=0|yes=1"), Scale.parse("poor|fair|good")
        (Scale.of(no=0, yes=1), Scale.of(poor=0, fair=1, good=2))
        """
        return cls._sorted(scale_words(text))

    @classmethod
    def _sorted(cls, pairs: list[tuple[str, float]]) -> Scale:
        labels, values = zip(*sorted(pairs, key=itemgetter(1)), strict=True) if pairs else ((), ())
        return cls(labels, values)

    @property
    def numeric(self) -> bool:
        """Whether each label is its number, written out."""
        return all(label == number_text(value) for label, value in zip(self.labels, self.values, strict=True))

    def __str__(self) -> str:
        """The scale as the tables write it: its values."""
        return "|".join(map(number_text, self.values))

    def __repr__(self) -> str:
        """What makes it again, without a character that a terminal would act on."""
        if self.numeric:
            return f"Scale.of({', '.join(self.labels)})"
        pairs = [f"{label}={number_text(value)}" for label, value in zip(self.labels, self.values, strict=True)]
        if all(map(str.isidentifier, self.labels)):
            return f"Scale.of({', '.join(pairs)})"
        return f"Scale.parse({'|'.join(pairs)!r})"


def number_text(value: float) -> str:
    """A value as people write it.

    Examples
    --------
    >>> number_text(4.0), number_text(0.1)
    ('4', '0.1')
    """
    return repr(float(value)).removesuffix(".0")
