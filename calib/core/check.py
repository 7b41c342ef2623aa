"""Validation of arrays: one door, so that the bodies below it read as their formulas."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Labels = Sequence[Any] | NDArray[Any]


def array(value: ArrayLike, name: str, *, ndim: int | None = None) -> Floats:
    """Floats of the wanted dimension; masked entries become NaN, infinities are refused.

    Examples
    --------
    >>> array([1, 2, None], "x", ndim=1)
    array([ 1.,  2., nan])
    >>> array([[1.0]], "x", ndim=1)
    Traceback (most recent call last):
        ...
    ValueError: `x` must have 1 dimension, but got shape (1, 1).
    """
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(float), np.nan)
    try:
        if hasattr(value, "isna") and hasattr(value, "to_numpy"):  # pandas, whose missing value numpy may not know
            value = value.to_numpy(dtype=float, na_value=np.nan)
        out = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be numeric, but got {_glimpse(value)}.") from None
    if ndim is not None and out.ndim != ndim:
        plural = "" if ndim == 1 else "s"
        raise ValueError(f"`{name}` must have {ndim} dimension{plural}, but got shape {out.shape}.")
    if np.isinf(out).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(out))[0])
        raise ValueError(f"`{name}` must be finite or NaN, but got {out[place]} at {place}.")
    return out


def same_length(**arrays: Any) -> None:
    """All arrays have the length of the first; None is passed over.

    Examples
    --------
    >>> same_length(x=[1, 2, 3], y=[1, 2])
    Traceback (most recent call last):
        ...
    ValueError: `y` must have the length of `x` (3), but got 2.
    """
    given = {name: len(value) for name, value in arrays.items() if value is not None}
    first, length = next(iter(given.items()))
    for name, other in given.items():
        if other != length:
            raise ValueError(f"`{name}` must have the length of `{first}` ({length}), but got {other}.")


def codes(labels: Labels, name: str) -> Codes:
    """Labels as integers 0..k-1, in order of appearance; a missing label is refused.

    Examples
    --------
    >>> codes(["b", "a", "b"], "groups")
    array([0, 1, 0])
    """
    if isinstance(labels, str | bytes):
        raise ValueError(f"`{name}` must be a sequence of labels, but got the text {labels!r}.")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    try:
        place = {label: number for number, label in enumerate(dict.fromkeys(values))}
    except TypeError:
        bad = next(i for i, label in enumerate(values) if not isinstance(label, Hashable))
        raise ValueError(f"`{name}` must have 1 dimension, but got a list at {bad}.") from None
    for label in place:
        if _is_missing(label):
            first = next(i for i, other in enumerate(values) if _is_missing(other))
            raise ValueError(f"`{name}` must have no missing label, but got one at {first}.")
    return np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - what is not itself is NaN or NaT
    except TypeError:  # pandas.NA does not say
        return True


def choice(value: str, name: str, options: Sequence[str]) -> str:
    """One of the options.

    Examples
    --------
    >>> choice("rho", "method", ("pearson", "spearman"))
    Traceback (most recent call last):
        ...
    ValueError: `method` must be one of 'pearson', 'spearman', but got 'rho'.
    """
    if value not in options:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, options))}, but got {value!r}.")
    return value


def probability(value: float, name: str) -> float:
    """A number strictly between 0 and 1.

    Examples
    --------
    >>> probability(95, "confidence_level")
    Traceback (most recent call last):
        ...
    ValueError: `confidence_level` must be between 0 and 1, but got 95.
    """
    if not 0 < value < 1:
        raise ValueError(f"`{name}` must be between 0 and 1, but got {value!r}.")
    return float(value)


def whole(value: int, name: str, *, least: int) -> int:
    """A whole number that is not below `least`.

    Examples
    --------
    >>> whole(0, "n_resamples", least=1)
    Traceback (most recent call last):
        ...
    ValueError: `n_resamples` must be a whole number of 1 or more, but got 0.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"`{name}` must be a whole number of {least} or more, but got {value!r}.")
    return int(value)


class CalibWarning(UserWarning):
    """A result is not what it may be taken for; the text is in its `warnings` too."""


def warn(message: str) -> None:
    """Warn where calib was called."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - `warnings` has no other way before Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("calib."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, CalibWarning, stacklevel=level)


def _glimpse(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
