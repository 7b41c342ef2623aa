"""Whether scores may be compared: names have no order, and the same value needs the same scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.agreement.coefficients import NEEDS_NO_ORDER, ON_ONE_SCALE
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import matrix_product

_HALF = 0.5  # of the scores
_FEW = 5  # scores below which standardised ones may all be above 0
_SOME = 10  # ratings of one rater from which they say something of his scale
_SEVERAL = 4  # distinct scores from which a range says something of its scale
_scales_stated: ContextVar[bool] = ContextVar("scales_stated", default=False)


@contextmanager
def on_stated_scales(stated: bool) -> Iterator[None]:
    """Where tables state their scale it is not guessed from the values."""
    before = _scales_stated.set(stated)
    try:
        yield
    finally:
        _scales_stated.reset(before)


def comparable(coefficient: str, **columns: ArrayLike) -> list[Floats]:
    """Scores as numbers, names as codes, of which the coefficient makes sense; the last are the labels."""
    names: list[str] = []
    try:
        scores = [check.array(values, who, ndim=1) for who, values in columns.items()]
    except ArgumentError as error:
        has_texts = any(isinstance(v, str) for v in _object_values(columns[error.argument]).flat)
        if has_texts and coefficient not in NEEDS_NO_ORDER:
            others = " and ".join(map(repr, NEEDS_NO_ORDER))
            rule = f"must be numeric for {coefficient!r}, which needs their order (for names there are {others})"
            raise ArgumentError(error.argument, rule, error.received) from None
        codes, names = coded(columns)
        if not names:
            raise
        scores = [check.array(column, who, ndim=1) for who, column in codes.items()]
    *judges, labels = columns
    for who, x in zip(judges, scores, strict=False):
        if names:
            refuse_other_names(who, x, labels, scores[-1], names)
        elif coefficient in ON_ONE_SCALE:
            refuse_other_scale(who, x, labels, scores[-1], f"for {coefficient!r}")
    return scores


def coded(columns: Mapping[str, ArrayLike]) -> tuple[dict[str, Any], list[str]]:
    """The columns with names replaced by numbers, and the names in the order of these numbers, if there are any."""
    objects = {what: _object_values(values) for what, values in columns.items()}
    names = sorted({str(label) for values in objects.values() for label in values.flat if isinstance(label, str)})
    if not names:
        return dict(columns), names
    place, out = {name: float(code) for code, name in enumerate(names)}, {}
    for what, values in columns.items():
        labels = np.asarray(values, dtype=object)
        number = next((v for v in labels.flat if isinstance(v, int | float | np.number) and v == v), None)  # noqa: PLR0124
        if number is not None:
            raise ArgumentError(what, "must be all names or all numbers, as the other", f"got {number!r}")
        codes = [place[label] if isinstance(label, str) else np.nan for label in labels.flat]
        out[what] = np.array(codes, dtype=float).reshape(labels.shape)
    return out, names


def _object_values(values: ArrayLike) -> Any:
    """What may be names; nothing where all are numbers."""
    kind = getattr(getattr(values, "dtype", None), "kind", None) or np.asarray(values).dtype.kind
    return np.empty(0, dtype=object) if kind in "biuf" else np.asarray(values, dtype=object)


def refuse_other_names(who: str, x: Floats, other: str, y: Floats, names: Sequence[str]) -> None:
    """Names of which not one is on the other side are other names, not wrong answers."""
    mine, theirs = (np.unique(v[np.isfinite(v)]).astype(int) for v in (x, y))
    if min(len(mine), len(theirs)) > 1 and not np.isin(mine, theirs).any():
        own, wanted = (", ".join(repr(names[code]) for code in codes[:4]) for codes in (mine, theirs))
        raise ArgumentError(who, f"must have names that {{0}} has ({wanted})", f"got {own}", mentions=(other,))


def refuse_other_scale(who: str, x: Floats, other: str, y: Floats, purpose: str) -> None:
    """Refuse scores that cannot be on one scale by their values.

    Scales end at 1, 10, 100, ... at the latest: where one side stays within such a mark, and half of the other's scores
    lie beyond it and three ranges of the first away (two of 0 to 1), they have two scales. A rater who uses a part of
    the scale, halves, means and standardised scores go through.
    """
    if not _scales_stated.get() and _on_two_scales(x, y):
        ranges = f"goes from {_scale_span(x)}, {{0}} from {_scale_span(y)}"
        raise ArgumentError(who, f"must be on the scale of {{0}} {purpose}", ranges, mentions=(other,))


def refuse_scales_of_raters(table: Floats) -> None:
    """Refuse ratings, items x raters, of which one column is on another scale than the others."""
    some = np.flatnonzero(np.isfinite(table).sum(axis=0) >= _SOME)
    for j in some.tolist() if not _scales_stated.get() else ():
        mine, others = table[:, j], np.delete(table, j, axis=1)
        if _on_two_scales(mine, others):
            ends = f"column {j} goes from {_scale_span(mine)}, the others from {_scale_span(others)}"
            raise ArgumentError("ratings", "must be on one scale", ends)


def scale_caution(coefficient: str, x: Floats, y: Floats) -> tuple[str, ...]:
    """A warning where the values leave open whether a coefficient of equal values may be had of them."""
    return unlike_ranges(repr(coefficient), x, y) if coefficient in ON_ONE_SCALE else ()


def unlike_ranges(what: str, x: Floats, y: Floats) -> tuple[str, ...]:
    """A warning where one side goes beyond the other by as much as that is wide."""
    x, y = (column[np.isfinite(column)] for column in (np.ravel(x), np.ravel(y)))
    if _scales_stated.get() or not (_open_to_doubt(x, y) or _open_to_doubt(y, x)):
        return ()
    ends = f"the scores go from {_scale_span(x)}, the labels from {_scale_span(y)}"
    text = f"unlike_ranges: {ends}, and {what} asks for one scale"
    check.warn(text)
    return (text,)


def _scale_span(values: Floats) -> str:
    return f"{np.nanmin(values):g} to {np.nanmax(values):g}"


def _on_two_scales(x: Floats, y: Floats) -> bool:
    x, y = (column[np.isfinite(column)] for column in (np.ravel(x), np.ravel(y)))
    return max(_share_beyond(x, y), _share_beyond(y, x)) >= _HALF


def _share_beyond(x: Floats, y: Floats, *, far: bool = True) -> float:
    """Share of x beyond the power of ten that holds y, and, if they must be far, some ranges of y away from it."""
    if not len(x) or not len(y) or not np.ptp(y) > 0:  # one value says nothing of a scale
        return 0.0
    mark = 10 ** np.ceil(np.log10(max(float(np.abs(y).max()), 1.0)) - 1e-12)
    if mark == 1 and (len(x) < _FEW or min(x.min(), y.min()) < 0):  # standardised scores of few items, not shares
        return 0.0
    away = np.maximum(x - y.max(), y.min() - x) / np.ptp(y)
    return float(np.mean((np.abs(x) > mark) & (away >= (0 if not far else 2 if mark == 1 else 3))))


def _open_to_doubt(x: Floats, y: Floats) -> bool:
    if not len(x) or not len(y):
        return False
    several = min(len(np.unique(x)), len(np.unique(y))) >= _SEVERAL
    beyond = max(float(x.max() - y.max()), float(y.min() - x.min()))
    below_zero = bool(x.min() < 0 < y.min())
    return _share_beyond(x, y, far=False) >= _HALF or bool(several and (beyond >= np.ptp(y) or below_zero))


def rating_table(ratings: ArrayLike, *, for_names: str = "", **others: Any) -> Floats:
    """Ratings as items x raters; `for_names` says what there is for names, which are refused."""
    try:
        table = check.array(ratings, "ratings", ndim=2)
    except ArgumentError as error:
        if not for_names or not coded({"ratings": ratings})[1]:
            raise
        raise ArgumentError("ratings", f"must be numeric (for names there is {for_names})", error.received) from None
    if table.shape[1] < 2:
        raise ArgumentError("ratings", "must have at least 2 columns, one for each rater", f"got {table.shape[1]}")
    check.same_length(ratings=table, **others)
    refuse_scales_of_raters(table)
    return table


def interchangeable(table: Floats) -> bool:
    """Whether raters differ from item to item: two who rated one together share fewer than three, on average."""
    rated = np.isfinite(table).astype(float)
    shared = matrix_product(rated.T, rated)
    np.fill_diagonal(shared, 0)
    return bool((shared**2).sum() < 3 * shared.sum()) or not shared.any()
