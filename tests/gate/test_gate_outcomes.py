"""Outcomes of intervals beside lines: the rules, one by one."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, strategies as st

from calib.gate.evidence import largest_share, share_reach
from calib.stats import gate_outcomes

try:
    from statsmodels.stats.multitest import multipletests
except ModuleNotFoundError:
    multipletests = None


@pytest.mark.parametrize(
    ("low", "high", "p", "outcome"),
    [(3.1, 4, 0.999, "pass"), (2, 2.9, 0.01, "fail"), (2.5, 3.5, 0.4, "inconclusive"), (3.0, 4, 0.95, "inconclusive"),
     (2.0, 3.0, 0.05, "inconclusive"), (0, 0, 1.0, "inconclusive"), (np.nan, np.nan, np.nan, "inconclusive")],
)  # fmt: skip
def test_one_check(low, high, p, outcome):
    assert gate_outcomes([low], [high], [p], threshold=3).outcomes == (outcome,)


def test_unchanged_outputs_pass_any_margin():
    assert gate_outcomes([0.0], [0.0], [1.0], threshold=-0.2).outcome == "pass"
    assert gate_outcomes([0.0], [0.0], [1.0], threshold=0.0).outcome == "inconclusive"


def test_four_checks_of_which_one_has_three_percent_are_inconclusive():
    found = gate_outcomes([3.5, 3.5, 3.5, 2], [4, 4, 4, 2.9], [0.9, 0.9, 0.9, 0.03], threshold=3)
    assert found.outcome == "inconclusive"
    assert found.p_adjusted[3] == pytest.approx(0.12)


def test_all_must_pass_and_one_failing_fails():
    assert gate_outcomes([3.1, 2.0], [4, 4], [0.99, 0.5], threshold=3).outcome == "inconclusive"
    assert gate_outcomes([3.1, 2.0], [4, 2.5], [0.99, 0.001], threshold=3).outcome == "fail"


@pytest.mark.skipif(multipletests is None, reason="the oracle, statsmodels, is not installed")
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_adjusted_as_statsmodels_has_it(p):
    found = gate_outcomes([0.0] * len(p), [1.0] * len(p), p, threshold=3).p_adjusted
    with patch("gc.collect"):  # which the oracle calls every time, however much there is to look through
        wanted = multipletests(p, method="holm")[1]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_check_without_a_test_is_not_counted():
    found = gate_outcomes([2, np.nan], [2.9, np.nan], [0.04, np.nan], threshold=3)
    assert found.outcomes == ("fail", "inconclusive")


@pytest.mark.parametrize("error", [0, 0.3, -1, 1])
def test_an_error_that_is_none_is_refused(error):
    with pytest.raises(ValueError, match=r"`error` must be above 0 and at most 0\.2"):
        gate_outcomes([1.0], [2.0], [0.5], threshold=0, error=error)


def test_shares_as_statsmodels_has_them():
    proportion_confint = pytest.importorskip("statsmodels.stats.proportion").proportion_confint
    for k, n in ((0, 40), (3, 100), (40, 40)):
        assert largest_share(k / n, n, 0.9) == pytest.approx(proportion_confint(k, n, 0.1, method="beta")[1])
        low, high = proportion_confint(k, n, 0.1, method="normal")
        if 0 < k < n and low > 0:
            assert share_reach(k / n, n, 0.9) == pytest.approx((high - low) / 2)
