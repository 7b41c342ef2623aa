"""Terms of a variance that one number alone would not show missing, each by its closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from calib.stats import ppi_mean

RNG = np.random.default_rng(11)
STRATUM = np.repeat([0, 1], [120, 80])
LABELS = RNG.normal(size=200)
SCORES = LABELS + 0.4 * RNG.normal(size=200)
LABELLED = np.r_[np.arange(30), np.arange(120, 145)]


def of_strata(apart, **options):
    """A stratified mean where the second stratum lies so much higher, for people and for the judge."""
    shift = apart * STRATUM
    y = np.full(200, np.nan)
    y[LABELLED] = (LABELS + shift)[LABELLED]
    return ppi_mean(y, SCORES + shift, strata=STRATUM, **options)


def test_the_spread_between_strata_is_in_the_variance_of_a_population_mean():
    """Cochran (1977), section 5A.9: a sample of the population has its strata's sizes by chance."""
    near, far = of_strata(0.0), of_strata(3.0)
    share = np.array([120, 80]) / 200
    means = [part.estimate for part in (_of_one(0), _of_one(1))]
    between = [share @ (m - share @ m) ** 2 / 200 for m in (np.array(means), np.add(means, [0, 3.0]))]
    assert_allclose(far.std_error**2 - near.std_error**2, between[1] - between[0], rtol=1e-9)


def _of_one(stratum):
    mine = stratum == STRATUM
    y = np.full(200, np.nan)
    y[LABELLED] = LABELS[LABELLED]
    return ppi_mean(y[mine], SCORES[mine], strata=np.zeros(mine.sum(), dtype=int))


def test_a_benchmark_of_these_items_has_no_spread_between_strata():
    near, far = of_strata(0.0, target="benchmark"), of_strata(3.0, target="benchmark")
    assert far.std_error == pytest.approx(near.std_error, rel=1e-9)
    assert far.std_error < of_strata(3.0).std_error


def test_where_small_groups_err_most_the_variance_is_cr1():
    """The larger of CR1, sum of squares times g / (g - 1), and of its form with leverages (g by Kish)."""
    size = np.array([30, *[3] * 9])
    group = np.repeat(np.arange(10), size)
    effect = np.array([0.1, 2, -2, 1.5, -1.5, 1, -1, 2, -2, 0.3])
    y = effect[group] + 0.1 * np.random.default_rng(0).normal(size=len(group))
    error = np.bincount(group, y - y.mean()) / len(y)
    share = size / len(y)
    g = 1 / np.sum(share**2)
    usual, leverages = error @ error * g / (g - 1), (g - 1) / g * np.sum((error / (1 - share)) ** 2)
    assert usual > 1.02 * leverages
    more = np.full(20, np.nan)  # further items without labels, of a judge that says nothing
    found = ppi_mean(np.append(y, more), np.zeros(len(y) + 20), groups=np.append(group, 10 + np.arange(20)))
    assert found.std_error**2 == pytest.approx(usual, rel=1e-9)
