"""A pilot: its labels and judge scores, their correlation, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Interval, bracket, short

LEAST = 10  # labels: with fewer no interval is given
_SURE = 30  # labels from which a correlation says something


def labelled_pairs(y: ArrayLike, f: ArrayLike) -> tuple[Floats, Floats]:
    """Labels and judge scores of the items with a label: four at least, that vary."""
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    check.same_length(y=labels, f=scores)
    given = ~np.isnan(labels)
    bad = given & np.isnan(scores)
    if bad.any():
        raise ArgumentError("f", "must have a judge score for each label", f"got NaN at {int(np.argmax(bad))}")
    if given.sum() < 4:
        raise ArgumentError("y", "must have four labels at least", f"got {int(given.sum())}")
    if not np.ptp(labels[given]):
        raise ArgumentError("y", "must vary to plan from it", f"every label is {labels[given][0]:g}")
    return labels[given], scores[given]


def pearson(labels: Floats, scores: Floats) -> float:
    """Pearson's; 0 for a judge that says the same of all."""
    if not np.ptp(scores):
        return 0.0
    return float(np.clip(np.corrcoef(labels, scores)[0, 1], -1, 1))


def correlation_interval(rho: float, n: int, confidence: float) -> Interval:
    """By Fisher's z, from n pairs; NaN ends where no scatter was seen, so that none is estimated."""
    if abs(rho) > 1 - 1e-12:
        return Interval(math.nan, math.nan)
    half = float(stats.norm.ppf((1 + confidence) / 2)) / math.sqrt(n - 3)
    return Interval(math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def pilot_warning(n: int, rho: float, confidence: float) -> dict[str, str]:
    """A warning where the correlation comes from few labels."""
    if n >= _SURE:
        return {}
    text = bracket(correlation_interval(rho, n, confidence), confidence)
    return {"pilot": f"a correlation of {short(rho)} from {n} labels is uncertain: {text}."}


def told(warned: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of warnings, each with its name, that were also warned of."""
    texts = tuple(f"{name}: {text}" for name, text in warned.items())
    for text in texts:
        check.warn(text)
    return texts


def checked_rho(rho: float) -> float:
    if not -1 < rho < 1:
        raise ArgumentError("rho", "must be between -1 and 1", f"got {rho!r}")
    return float(rho)


def positive(value: float, name: str) -> float:
    if not 0 < value < math.inf:
        raise ArgumentError(name, "must be above 0", f"got {value!r}")
    return float(value)


def not_negative(value: float, name: str, of: str = "") -> float:
    if not 0 <= value < math.inf:
        raise ArgumentError(name, "must be 0 or more", f"got {value!r}{of}")
    return float(value)
