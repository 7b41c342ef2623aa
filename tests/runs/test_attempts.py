"""pass@k, pass^k and flips against all choices of k trials, in fractions."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from calib.stats import ArgumentError, flip_rate, pass_at_k, pass_hat_k

CASES = [(c, n) for n in range(1, 8) for c in range(n + 1)]
C, N = np.array(CASES).T


@pytest.mark.parametrize("k", range(1, 8))
def test_shares_are_those_of_all_choices_of_k_trials(k):
    at, hat = pass_at_k(C, N, k), pass_hat_k(C, N, k)
    for (c, n), one, every in zip(CASES, at, hat, strict=True):
        if n < k:
            assert np.isnan(one) and np.isnan(every)
            continue
        trials = [1] * c + [0] * (n - c)
        choices = list(combinations(trials, k))
        assert one == pytest.approx(float(Fraction(sum(map(any, choices)), len(choices))), abs=1e-15)
        assert every == pytest.approx(float(Fraction(sum(map(all, choices)), len(choices))), abs=1e-15)
        assert one == pytest.approx(float(1 - Fraction(comb(n - c, k), comb(n, k))), abs=1e-15)  # Chen et al.


def test_many_trials_cost_no_digits():
    c, n, k = 300, 5000, 100
    exact = float(1 - Fraction(comb(n - c, k), comb(n, k)))
    assert pass_at_k([c], [n], k)[0] == pytest.approx(exact, rel=1e-13)
    assert pass_hat_k([4900], [n], k)[0] == pytest.approx(float(Fraction(comb(4900, k), comb(n, k))), rel=1e-12)


def test_flip_rate_is_the_share_of_pairs_of_trials_that_disagree():
    for (c, n), rate in zip(CASES, flip_rate(C, N), strict=True):
        pairs = list(combinations([1] * c + [0] * (n - c), 2))
        assert np.isnan(rate) if n == 1 else rate == pytest.approx(np.mean([a != b for a, b in pairs]))


@pytest.mark.parametrize(
    ("c", "n", "k", "words"),
    [
        ([3], [2], 1, "`successes` must be whole numbers from 0 to `trials`"),
        ([-1], [2], 1, "`successes` must be"),
        ([0.5], [2], 1, "`successes` must be"),
        ([1], [2], 0, "`k` must be"),
        ([1, 2], [2], 1, "successes.*trials|trials.*successes"),
    ],
)
def test_counts_that_cannot_be_are_refused(c, n, k, words):
    with pytest.raises(ArgumentError, match=words):
        pass_at_k(c, n, k)
