"""The order of systems over prompts: textbook ranks, scipy, and the normal law of swaps."""

import inspect
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.stats import prompt_difference, rank_stability

NAN = math.nan


# Siegel (1956), Nonparametric Statistics, pp. 229-239: three executives rank six applicants (s = 25.5, W = .16), and
# ten objects with ties (s = 591, W = .828); his 1 is the best, which leaves W as it is
APPLICANTS = [[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]]
TIED = [
    [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10],
    [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5],
    [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10],
]


@pytest.mark.parametrize(("ranks", "w"), [(APPLICANTS, 25.5 / 157.5), (TIED, 591 / 714)])
def test_concordance_is_that_of_the_textbook_and_of_scipy(ranks, w):
    result = rank_stability(np.transpose(ranks))
    assert_allclose(result.w, w)
    friedman = stats.friedmanchisquare(*np.transpose(ranks))
    assert_allclose([result.chi2, result.p_value], friedman)
    assert result.df == len(ranks[0]) - 1


def test_swaps_are_what_kendalls_tau_counts():
    x = np.random.default_rng(18).normal(size=(7, 5))
    taus = [stats.kendalltau(a, b)[0] for a, b in itertools.combinations(x.T, 2)]
    assert_allclose(rank_stability(x).swap, (1 - np.mean(taus)) / 2)


def test_pairs_winners_and_ties_by_hand():
    #            p0 p1 p2 p3
    x = np.array([[3, 2, 1, 5], [1, 2, 2, 4], [0, 0, 0, 0]])
    result = rank_stability(x, names=["A", "B", "C"])
    first, *others = result.pairs
    # A before B twice, a tie, B before A once; of the six pairs of prompts two disagree and three have one tie
    assert first[:3] == ("A", "B", (2 + 3 / 2) / 6)
    assert [pair.swap for pair in others] == [0, 0]
    assert_allclose(result.swap, 3.5 / 18)
    assert result.winners == ("A", "A = B", "B", "A")
    assert np.isnan(result.swap_noise)
    assert str(result).endswith("first: A (2), A = B (1), B (1)")
    pytest.importorskip("pandas")
    assert list(result.pairs_to_frame().columns) == ["first", "second", "swap", "swap_noise"]
    assert result.to_frame()[["swap", "w", "p_value"]].to_numpy().tolist() == [[result.swap, result.w, result.p_value]]
    assert rank_stability(x, names="ABC").names == ("A", "B", "C")


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [2, 5])
def test_noise_alone_swaps_systems_as_often_as_said(prompts):
    rng, gaps = np.random.default_rng(19), np.array([0, 0.05, 0.1, 0.3])[:, None, None]

    def found(favor):
        means = gaps + rng.normal(size=prompts) + favor * rng.normal(size=(4, 1, prompts))
        x = means + 0.4 * rng.normal(size=(4, 60, 1))
        return rank_stability(x + 0.8 * rng.normal(size=(4, 60, prompts)))

    none = np.array([(r.swap, r.swap_noise) for r in (found(0) for _ in range(300))])
    assert abs(np.mean(none[:, 0] - none[:, 1])) < 3.5 * stats.sem(none[:, 0] - none[:, 1])
    some = np.array([(r.swap, r.swap_noise) for r in (found(0.4) for _ in range(300))])
    assert np.mean(some[:, 0] - some[:, 1]) > 5 * stats.sem(some[:, 0] - some[:, 1])


def test_noise_swaps_are_the_orthants_of_the_conditional_normal_law():
    x = np.random.default_rng(20).normal(size=(2, 40, 5)) + np.array([0, 0.1])[:, None, None]
    result, difference = rank_stability(x), prompt_difference(x[0], x[1])
    mean, noise = difference.estimate, difference.noise_variance
    cov = noise * (np.eye(2) - 1 / 5)
    law = stats.multivariate_normal([mean, -mean], cov * [[1, -1], [-1, 1]])
    seeded = {"rng": 0} if "rng" in inspect.signature(law.cdf).parameters else {}  # scipy before 1.16 needs none
    differ = law.cdf([0, 0], **seeded)
    assert_allclose(result.swap_noise, 2 * differ, atol=1e-6)


def test_scores_and_their_means_give_the_same_order():
    x = np.random.default_rng(21).normal(size=(5, 30, 4))
    x[2, 7, 1] = NAN
    group = np.arange(30) // 3
    result, means = rank_stability(x, groups=group), rank_stability(np.delete(x, 7, axis=1).mean(axis=1))
    assert (result.swap, result.w, result.winners) == (means.swap, means.w, means.winners)
    assert (result.n, result.n_dropped, means.n) == (29, 1, 0)
    pair = prompt_difference(x[0], x[3], groups=group)  # item 7 is complete for these two
    assert math.isfinite(result.pairs[2].swap_noise)
    assert pair.n == 30
    assert any(text.startswith("dropped: 1 items") for text in result.warnings)


def test_systems_that_all_tie_have_no_concordance():
    result = rank_stability(np.ones((3, 2)))
    assert math.isnan(result.w)
    assert math.isnan(result.p_value)
    assert result.swap == 0
    assert result.winners == ("0 = 1 = 2",) * 2


@pytest.mark.parametrize(
    ("x", "options", "wanted"),
    [
        ([[1, 2]], {}, "`x` must have shape (systems, prompts) or (systems, items, prompts) with two systems"),
        ([[1], [2]], {}, "`x` must have shape (systems, prompts) or (systems, items, prompts) with two systems"),
        ([1, 2], {}, "`x` must have shape (systems, prompts) or"),
        ([[1, NAN], [2, 3]], {}, "`x` must have the mean of every system under every prompt, but got NaN."),
        ([[1, 2], [2, 3]], {"groups": [1, 2]}, "`groups` must come with scores of items, but got means in `x`."),
        ([[1, 2], [2, 3]], {"names": "A"}, "`names` must have the length of `x` (2), but got 1."),
    ],
)
def test_wrong_means_are_refused(x, options, wanted):
    assert message(rank_stability, x, **options).startswith(wanted)
