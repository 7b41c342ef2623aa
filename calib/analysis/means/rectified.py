"""The t interval of labels that are corrected by what the judge gets wrong on them (PPI), and the weight of PPI++."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.analysis.means.gold import Gold
from calib.core.check import Codes, Floats
from calib.core.laws import Student


def rectified_mean(data: Gold, lam: Floats | float) -> Student:
    """The law of the mean of y - lam (f - mean of f), with a lam for each gold item; 0 is the labels alone."""
    each = np.broadcast_to(lam, len(data.y))
    point, variance, df = _summed(data, each) if data.grouped else _independent(data, each)
    return Student(point, np.sqrt(variance), df)


def lam_without_each(data: Gold) -> Floats:
    """PPI++'s lambda for each gold item, tuned on the others."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = _slope_without_group(data) if data.grouped else _slope_without_item(data)
    return np.clip(np.where(np.isfinite(slope), slope, 0.0), 0.0, 1.0)


def _slope_without_item(data: Gold) -> Floats:
    """Covariance without each item, over the variance of all judge scores, as in PPI++."""
    n, rest, y, f = len(data.y), data.n_rest, centred(data.y), centred(data.f)
    gap = float(data.f.mean() - data.rest.mean)
    squares = float(np.sum(f**2) + data.rest.squares) + n * rest / (n + rest) * gap**2
    covariance = (np.sum(y * f) - n / (n - 1) * y * f) / (n - 2)
    return np.asarray(covariance / ((1 + n / rest) * (squares / (n + rest - 1))))


def _slope_without_group(data: Gold) -> Floats:
    """The minimum of the grouped variance, sum over groups of (A - lambda B)^2, without each group.

    With k gold items in a group, a and b the sums of their deviations in y and f, and r the
    group's share of the error of the unlabelled mean: A = a / n, B = b / n - r. Leaving a
    group out also moves the means that the deviations are taken from, by s and t.
    """
    group, group_rest, groups = _group_codes(data)
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


def _independent(data: Gold, lam: Floats) -> tuple[float, float, float]:
    """Point, variance and degrees of freedom of independent items."""
    n, mean_lam = len(data.y), float(lam.mean())
    rectified = data.y - lam * (data.f - float(data.rest.mean))
    gold = float(np.sum(centred(rectified) ** 2)) / (n - 1) / n
    judge = mean_lam**2 * float(data.rest.squares) / (data.n_rest - 1) / data.n_rest if mean_lam else 0.0
    return float(rectified.mean()), *_satterthwaite(((gold, n - 1), (judge, data.n_rest - 1)))


def _summed(data: Gold, lam: Floats) -> tuple[float, float, float]:
    """The same with the errors of a group summed before they are squared."""
    group, group_rest, groups = _group_codes(data)
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


def _group_codes(data: Gold) -> tuple[Codes, Codes, int]:
    assert data.group is not None
    rest = data.group_rest if data.group_rest is not None else np.empty(0, dtype=np.intp)
    return data.group, rest, int(max(data.group.max(initial=-1), rest.max(initial=-1))) + 1


def centred(values: Floats) -> Floats:
    """Deviations from the mean; of a constant exactly 0, without the mean's rounding dust."""
    return np.asarray(values - values.mean()) if np.ptp(values) > 0 else np.zeros_like(values)


def _by_group(group: Codes, values: Floats, groups: int) -> Floats:
    return np.bincount(group, values, groups).astype(float)
