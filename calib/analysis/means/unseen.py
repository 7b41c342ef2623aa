"""What labels have not shown: the one observation that was not seen, how much it counts and how far off it can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.core.check import Codes, Floats
from calib.core.gaffke import Gaffke

_LEAST, _MORE_BY = 0.2, 2.5  # what an unseen label weighs at least: .2 + 2.5 / n
_MOST_BY_ERRORS, _MOST_OF_TWO = 0.5, 0.6
_ENOUGH = 20  # labels from which on the place is what the errors say; with fewer the weight alone costs much


@dataclass(frozen=True, slots=True)
class Seen:
    """What the labels show of how far off a label, or the mean of a group's labels, can lie.

    `labels` are deviations of the labels themselves and `errors` of what the judge leaves unexplained, `off` the same
    as they move the mean, each with its `count` and its set `code`; `low` and `high` say how much further than
    the ends of the scale an error can reach where the judge's score is as wrong as can be. An unseen group's
    mean goes `part` of the way, as not all of its labels need to be alike.
    """

    labels: Floats
    errors: Floats
    off: Floats
    count: Floats
    code: Codes
    low: Floats
    high: Floats
    part: Floats

    def total(self, values: Floats) -> Floats:
        return np.bincount(self.code, values, len(self.part)).astype(float)

    def square(self, values: Floats) -> Floats:
        return self.total((self.count * values) ** 2)


def bounded(
    point: Any,
    judge: Floats,
    seen: Seen,
    bounds: tuple[float, float],
    *,
    full: bool = False,
    two: bool = False,
    ends: tuple[float, float] | None = None,
) -> tuple[Any, Gaffke]:
    """The point within the scale and the law of its interval.

    `full` gives the unseen label all that it can have; `two` says that labels have two values only; `ends` are where
    an unseen one can lie, if not anywhere within the bounds.
    """
    inside = np.clip(point, *bounds)
    bottom, top = bounds if full or ends is None else ends
    far = np.maximum(top - inside, inside - bottom)
    weight, place = (np.ones_like(seen.part),) * 2 if full else _unseen(seen, far, two=two)
    weight = weight * seen.square(np.ones_like(seen.count)) / seen.total(seen.count)  # as one that is drawn by count
    low = inside + seen.part * (bottom - place * seen.low - inside)
    high = inside + seen.part * (top + place * seen.high - inside)
    return inside, Gaffke(inside, seen.off, seen.count, seen.code, np.sqrt(judge), weight, (low, high), bounds)


def _unseen(seen: Seen, far: Floats, *, two: bool) -> tuple[Floats, Floats]:
    """Weight and place of the unseen label, from what was seen; `far` is how far off a label can be."""
    n = seen.total(seen.count) ** 2 / seen.total(seen.count**2)
    labels, errors = _evenness(seen, seen.labels, n, far), _evenness(seen, seen.errors, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.sqrt(np.minimum(seen.square(seen.errors) / seen.square(seen.labels), 1.0))
        return unseen_label(n, labels, errors, np.nan_to_num(left, nan=1.0), two=two)


def unseen_label(n: Floats, labels: Floats, errors: Floats, left: Floats, *, two: bool) -> tuple[Floats, Floats]:
    r"""Weight of the unseen label, and its place between an end of the scale (0) and the worst error (1).

    Both follow from how evenly labels and errors are spread, :math:`K = \frac\pi2 (\sum|d|)^2 / n \sum d^2`: 1 if
    normal, near 0 if all but a few are the same. Where labels crowd, seen from the farther end of the scale, rare
    others may be missing from the sample: K of the labels is taken with one more label there. Where the judge's
    errors are 0 but for a few, or small against the spread of the labels, rare gross errors may be. Between two
    values there is no third one to be missed: there the weight is little more than that of Jeffreys' interval,
    which is 1 / 2, and the place is squared. `left` is the spread of errors over that of labels.
    """
    least = np.minimum(_LEAST + _MORE_BY / n, 1.0)
    most = _MOST_OF_TWO if two else 1.0
    weight = np.maximum(np.minimum(least / labels, most), np.minimum(least / errors, _MOST_BY_ERRORS))
    place = (1 - errors * left) * np.minimum(n / _ENOUGH, 1.0)
    return np.maximum(weight, least), place**2 if two else place


def _evenness(seen: Seen, values: Floats, n: Floats, more: Floats | float = 0.0) -> Floats:
    """K of the values, and of one more if it is given."""
    size, square = seen.total(seen.count * np.abs(values)) + more, seen.square(values) + np.square(more)
    even = np.divide(np.pi / 2 * size**2, (n + np.sign(more)) * square, out=np.zeros_like(n), where=square > 0)
    return np.minimum(even, 1.0)


def misjudged(slope: Floats, mean: Floats, lowest: Floats, highest: Floats) -> tuple[Floats, Floats]:
    """How much further down and up than the scale goes an error can be: with the judge at its other end."""
    under, over = slope * (lowest - mean), slope * (highest - mean)
    return np.maximum(under, over), -np.minimum(under, over)
