"""Win rates at equal length: the fractional logit, its errors, when nothing can be said."""

import numpy as np
import pytest
from scipy import special

from calib.core.check import ArgumentError
from calib.stats import length_controlled


def sample(n=200, seed=4):
    rng = np.random.default_rng(seed)
    d = rng.normal(50, 200, n)
    p = special.expit(-0.4 + 1.1 * np.tanh(d / d.std()))
    return rng.beta(2 * p, 2 * (1 - p)), d


def test_statsmodels_has_the_same_fit_and_errors():
    sm = pytest.importorskip("statsmodels.api")
    y, d = sample()
    model = sm.GLM(y, sm.add_constant(np.tanh(d / d.std())), family=sm.families.Binomial())
    fit, found = model.fit(cov_type="HC1"), length_controlled(y, d)
    assert (found.intercept, found.slope) == pytest.approx(tuple(fit.params))
    assert (found.std_error, found.slope_std_error) == pytest.approx(tuple(fit.bse))
    assert found.slope_p_value == pytest.approx(fit.pvalues[1])
    group = np.arange(200) % 25
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": group})
    assert length_controlled(y, d, groups=group).slope_std_error == pytest.approx(clustered.bse[1], rel=1e-6)


def test_at_equal_length_is_where_the_curve_crosses():
    y, d = sample(20_000)
    found = length_controlled(y, d)
    assert found.estimate == pytest.approx(special.expit(-0.4), abs=0.02)
    assert found.win_rate == pytest.approx(y.mean())
    assert found.interval.low < found.estimate < found.interval.high
    assert found.n_longer + found.n_shorter == 20_000


def test_turning_the_pairs_turns_the_answer():
    y, d = sample()
    one, two = length_controlled(y, d), length_controlled(1 - y, -d)
    assert two.estimate == pytest.approx(1 - one.estimate)
    assert two.slope == pytest.approx(one.slope)
    assert length_controlled(y, 7 * d).slope == pytest.approx(one.slope)


def test_few_on_one_side_are_flagged():
    y, d = sample()
    assert not length_controlled(y, d).warnings
    shifted = length_controlled(y, d - np.quantile(d, 0.95))
    assert [text.partition(":")[0] for text in shifted.warnings] == ["extrapolated"]
    few = length_controlled(y[:40], d[:40])
    assert [text.partition(":")[0] for text in few.warnings] == ["few_pairs"]


def test_level_and_missing():
    y, d = sample()
    wide, narrow = (length_controlled(y, d, confidence_level=level).interval for level in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert length_controlled(np.append(y, np.nan), np.append(d, 3)).n_missing == 1


@pytest.mark.parametrize(
    ("y", "d", "message"),
    [
        ([1, 0] * 4, [1, -1] * 4, "must have 10 pairs"),
        ([1, 0] * 10, [1, 2] * 10, "must lie on both sides of 0"),
        ([1] * 20, [1, -1] * 10, "must have wins of both"),
        ([1, 0] * 10, [5, -5] * 10, "must not part wins from losses"),
        ([1, 0] * 10, [0, 0] * 10, "must lie on both sides of 0"),
        ([1, 0] * 10, [1, -1], "must have the length"),
        ([1, 9] * 10, [1, -1] * 10, "share of A"),
        ([1, 0] * 10, [1, np.inf] * 10, "must be finite"),
    ],
)
def test_refusals(y, d, message):
    with pytest.raises(ArgumentError, match=message):
        length_controlled(y, d)
