"""The instrument with one intercept and one slope for all annotators, as a simpler rival and for older numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core.result import Interval


class OneSlope(NamedTuple):
    """Effect of x, its clustered z, the slope on quality, and the jackknife's interval by t of groups less one."""

    estimate: float
    z: float
    slope: float
    interval: Interval


def one_slope(judge: ArrayLike, labels: ArrayLike, x: ArrayLike, group: ArrayLike, level: float = 0.95) -> OneSlope:
    """Two-stage least squares of a row for each item and annotator; items of one label are left out."""
    e = np.asarray(labels, dtype=float)
    n_labels = (~np.isnan(e)).sum(axis=1)
    item, who = np.nonzero(~np.isnan(e) & (n_labels > 1)[:, None])
    own, one = e[item, who], np.ones(len(item))
    others = (np.nansum(e, axis=1)[item] - own) / (n_labels[item] - 1)
    j, at = (np.asarray(side, dtype=float)[item] for side in (judge, x))
    group = np.unique(np.asarray(group)[item], return_inverse=True)[1]
    regressors, z, g = np.c_[one, own, at], np.c_[one, others, at], group.max() + 1
    products = np.zeros((g, 3, 4))
    np.add.at(products, group, z[:, :, None] * np.c_[regressors, j][:, None, :])
    whole = products.sum(axis=0)
    inverse = np.linalg.inv(whole[:, :3])
    theta = inverse @ whole[:, 3]
    sums = products[:, :, 3] - products[:, :, :3] @ theta
    scale = g / (g - 1) * (len(j) - 1) / (len(j) - 3)
    error = math.sqrt(scale * float(((sums @ inverse.T)[:, 2] ** 2).sum()))
    rest = whole - products
    left_out = np.linalg.solve(rest[:, :, :3], rest[:, :, 3:])[:, 2, 0]
    half = special.stdtrit(g - 1, (1 + level) / 2) * math.sqrt((g - 1) / g * ((left_out - theta[2]) ** 2).sum())
    interval = Interval(float(theta[2] - half), float(theta[2] + half))
    return OneSlope(float(theta[2]), float(theta[2] / error), float(theta[1]), interval)
