"""Shares above a threshold: means of yes and no."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message

from calib.analysis.means.rates import post_stratified
from calib.stats import Moments, ppi_mean, ppi_proportion

NAN = float("nan")


def ordinal(rng, n=60, rest=500):
    y = rng.choice(np.arange(1.0, 6), n + rest, p=[0.05, 0.1, 0.2, 0.4, 0.25])
    f = np.clip(y + 0.4 + 0.8 * rng.standard_normal(n + rest), 1, 5)
    return y[:n], f[:n], f[n:]


def test_a_share_is_post_stratified_by_the_judge():
    y, f, rest = ordinal(np.random.default_rng(0))
    result = ppi_proportion(y, f, rest, above=4, judge_above=4.2)
    yes, said = y >= 4, f >= 4.2
    counts = (yes & said).sum(), said.sum(), (yes & ~said).sum(), (~said).sum(), (rest >= 4.2).sum(), (rest < 4.2).sum()
    estimate, low, high, *_ = post_stratified(*counts, 0.95)
    assert_allclose((result.estimate, *result.interval), (estimate, low, high))
    assert (result.estimator, result.estimand) == ("mover-jeffreys-clopper-pearson", "human share of scores from 4 up")


def test_a_share_takes_one_table_too():
    y, f, rest = ordinal(np.random.default_rng(1))
    labels = np.concatenate([y, np.full(len(rest), NAN)])
    one, two = ppi_proportion(labels, np.concatenate([f, rest]), above=3), ppi_proportion(y, f, rest, above=3)
    assert (one.estimate, one.interval, one.n) == (two.estimate, two.interval, two.n)


def test_all_labels_above_give_a_width_all_the_same():
    result = ppi_proportion([5] * 20, [4.9] * 20, [4.9] * 500, above=4)
    assert result.estimate == 1
    assert 0.8 < result.interval.low < 0.95


def test_a_missing_judge_score_is_no_no():
    y, f, rest = ordinal(np.random.default_rng(2))
    rest[7] = NAN
    assert message(ppi_proportion, y, f, rest, above=3) == (
        "`f_unlabeled` must have a score for each item, but got NaN at 7."
    )


def test_shares_from_moments():
    y, f, rest = ordinal(np.random.default_rng(21))
    said = Moments.from_chunks([rest[:200] >= 4, rest[200:] >= 4])
    one, two = ppi_proportion(y, f, said, above=4), ppi_proportion(y, f, rest, above=4)
    assert one.interval == two.interval
    assert message(ppi_proportion, y, f, Moments.from_chunks([rest]), above=4).startswith(
        "`f_unlabeled` must be moments"
    )


@pytest.mark.parametrize("design", ["groups", "strata"])
def test_shares_take_a_design(design):
    rng = np.random.default_rng(3)
    y, u = rng.integers(1, 6, 40), rng.uniform(1, 5, 200)
    f = y + rng.normal(0, 0.5, 40)
    parts = (
        (np.arange(40) // 2, 100 + np.arange(200) // 2)
        if design == "groups"
        else (np.arange(40) % 2, np.arange(200) % 2)
    )
    options = dict(zip((design, f"{design}_unlabeled"), parts, strict=True))
    found = ppi_proportion(y, f, u, above=4, **options)
    wanted = ppi_mean(y >= 4, f >= 4, u >= 4, bounds=(0, 1), step=1, **options)
    assert (found.design, found.interval) == (design, wanted.interval)
