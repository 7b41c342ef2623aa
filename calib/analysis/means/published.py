"""Intervals of the literature and of other programs, kept as they are published for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.analysis.means.gold import Gold
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import Student

# divisor of the variances (n - ddof); "z" where the normal quantile is used
_MANNERS = {
    "classical": (1, "t"),
    "ppi": (1, "t"),
    "ppi++": (1, "t"),
    "ppi_py": (0, "z"),
    "ares": (0, "z"),
    "glide": (1, "z"),
}
METHODS = tuple(_MANNERS)
GROUPED = ("classical", "ppi", "ppi++")


def published(data: Gold, method: str) -> tuple[Student, float]:
    """The law of a published method, and lambda."""
    if method != "classical":
        _enough_unlabelled(data, method)
    lam = _lambda(data, method)
    ddof, kind = _MANNERS[method]
    point, variance, df = _summed(data, lam) if data.grouped else _corrected(data, lam, ddof)
    return Student(point, np.sqrt(variance), df if kind == "t" else np.inf), float(lam.mean())


def _enough_unlabelled(data: Gold, method: str) -> None:
    if not data.n_rest:
        raise ValueError(
            f"method {method!r} needs items without a label, but every item has one: use 'auto' or 'classical'."
        )
    if data.n_rest < 2 or (data.group_rest is not None and len(np.unique(data.group_rest)) < 2):
        raise ArgumentError("f_unlabeled", f"must have two items (or groups) at least for method {method!r}", "got 1")


def _lambda(data: Gold, method: str) -> Floats:
    """Weight of the judge for each gold item."""
    if method in {"classical", "ppi", "ares"}:
        return np.full(len(data.y), float(method != "classical"))
    if method != "ppi++":
        return np.full(len(data.y), _tuned(data, ddof=_MANNERS[method][0], clip=method == "ppi_py"))
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = _without_each_group(data) if data.grouped else _without_each_item(data)
    return np.clip(np.where(np.isfinite(slope), slope, 0.0), 0.0, 1.0)


def _pooled(data: Gold) -> float:
    """Variance of all judge scores."""
    n, rest = len(data.f), data.n_rest
    gap = float(data.f.mean() - data.rest.mean)
    squares = float(np.sum(centred(data.f) ** 2) + data.rest.squares) + n * rest / (n + rest) * gap**2
    return squares / (n + rest - 1)


def _tuned(data: Gold, *, ddof: int, clip: bool) -> float:
    n = len(data.y)
    below = (1 + n / data.n_rest) * _pooled(data)
    lam = float(np.sum(centred(data.y) * centred(data.f)) / (n - ddof) / below) if below else 0.0
    return min(max(lam, 0.0), 1.0) if clip else lam


def _without_each_item(data: Gold) -> Floats:
    """Covariance without each item, over the variance of all judge scores, as in PPI++."""
    n, y, f = len(data.y), centred(data.y), centred(data.f)
    covariance = (np.sum(y * f) - n / (n - 1) * y * f) / (n - 2)
    return np.asarray(covariance / ((1 + n / data.n_rest) * _pooled(data)))


def _without_each_group(data: Gold) -> Floats:
    """The minimum of the grouped variance, sum over groups of (A - lambda B)^2, without each group.

    With k gold items in a group, a and b the sums of their deviations in y and f, and r the
    group's share of the error of the unlabelled mean: A = a / n, B = b / n - r. Leaving a
    group out also moves the means that the deviations are taken from, by s and t.
    """
    group, group_rest, groups = _numbered(data)
    k, a, b = (_by_group(group, v, groups) for v in (np.ones_like(data.y), centred(data.y), centred(data.f)))
    r = _by_group(group_rest, centred(np.asarray(data.loose(), dtype=float)) / data.n_rest, groups)

    def others(values: Floats) -> Floats:
        return np.asarray(values.sum() - values)

    n = others(k)
    s, t = others(a) / n, others(b) / n
    cross = (others(a * b) - t * others(a * k) - s * others(b * k) + s * t * others(k * k)) / n
    square = (others(b * b) - 2 * t * others(b * k) + t * t * others(k * k)) / n
    cross -= others(a * r) - s * others(k * r)
    square += n * others(r * r) - 2 * (others(b * r) - t * others(k * r))
    return np.asarray((cross / square)[group])


def _corrected(data: Gold, lam: Floats, ddof: int) -> tuple[float, float, float]:
    """Point, variance and degrees of freedom of independent items."""
    n, weight = len(data.y), float(lam.mean())
    rectified = data.y - lam * (data.f - float(data.rest.mean))
    gold = float(np.sum(centred(rectified) ** 2)) / (n - ddof) / n
    judge = weight**2 * float(data.rest.squares) / (data.n_rest - ddof) / data.n_rest if weight else 0.0
    return float(rectified.mean()), *_satterthwaite(((gold, n - 1), (judge, data.n_rest - 1)))


def _summed(data: Gold, lam: Floats) -> tuple[float, float, float]:
    """The same with the errors of a group summed before they are squared."""
    group, group_rest, groups = _numbered(data)
    rectified = data.y - lam * (data.f - float(data.rest.mean))
    error = _by_group(group, centred(rectified) / len(rectified), groups)
    if lam.any() and data.n_rest:
        scores = np.asarray(data.loose(), dtype=float)
        error += _by_group(group_rest, float(lam.mean()) * centred(scores) / data.n_rest, groups)
    gold, rest = (np.bincount(code, minlength=groups) > 0 for code in (group, group_rest))
    rest &= ~gold
    if rest.sum() == 1:
        gold, rest = gold | rest, rest & ~rest  # one group alone has no spread: it joins the others
    parts = [(float(k / (k - 1) * np.sum(error[m] ** 2)), k - 1) for m in (gold, rest) if (k := int(m.sum())) > 1]
    return float(rectified.mean()), *_satterthwaite(parts)


def _satterthwaite(parts: Any) -> tuple[float, float]:
    """Sum of independent variances and its degrees of freedom."""
    variance = sum(v for v, _ in parts)
    spread = sum(v**2 / df for v, df in parts if v)
    return variance, variance**2 / spread if spread else float(parts[0][1])


def _numbered(data: Gold) -> tuple[Codes, Codes, int]:
    assert data.group is not None
    rest = data.group_rest if data.group_rest is not None else np.empty(0, dtype=np.intp)
    return data.group, rest, int(max(data.group.max(initial=-1), rest.max(initial=-1))) + 1


def centred(values: Floats) -> Floats:
    """Deviations from the mean; of a constant exactly 0, without the mean's rounding dust."""
    return np.asarray(values - values.mean()) if np.ptp(values) > 0 else np.zeros_like(values)


def _by_group(group: Codes, values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(float)
