"""A prompt chosen on the labels: what it costs, and that folds pay for it."""

import numpy as np
import pytest
from scipy import stats

from calib.analysis.means.design import mean_data
from calib.analysis.means.methods import METHODS, CheckedOptions
from calib.core.laws import interval_of
from calib.stats import Design, ppi_mean

SHARES = (0.05, 0.10, 0.20, 0.40, 0.25)
TRUTH = float(np.dot(SHARES, np.arange(1, 6)))
SCALE: dict = {}  # no ends: the law of t, which has nothing to spare


def judged(rng, prompts, size, r=0.6):
    """Labels, and the scores of as many prompts, each as good as the others."""
    latent = rng.normal(size=size)
    y = 1.0 + np.searchsorted(stats.norm.ppf(np.cumsum(SHARES)[:-1]), latent)
    noise = rng.normal(size=(prompts, size))
    return y, np.clip(TRUTH + 0.4 + r * latent + np.sqrt(1 - r * r) * noise, 1, 5)


def best(y, f):
    """The prompt that correlates most with these labels."""
    off = f - f.mean(axis=1, keepdims=True)
    return int(np.argmax(off @ (y - y.mean()) / np.sqrt((off**2).sum(axis=1))))


def with_judge(y, f, rest, design=None):
    """The interval with the judge, also where that of the labels alone is narrower."""
    options = CheckedOptions(None, False, False, False, False, "auto", "two-sided", np.nan, 0.95, False)
    return interval_of(METHODS["t-ppi"].law(mean_data(y, f, rest, design or Design()), options).law, 0.95, "two-sided")


def held(rng, n, prompts, folds=5):
    """Whether the interval holds the truth: with the best prompt of all labels, with the best of the other folds.

    And the narrower of the latter and that of the labels alone, which is what `ppi_mean` gives.
    """
    y, f = judged(rng, prompts, 400)
    chosen, fold = best(y[:n], f[:, :n]), np.arange(n) % folds
    own = [best(y[:n][fold != k], f[:, :n][:, fold != k]) for k in range(folds)]
    beside = np.array([f[own[fold[i]], i] for i in range(n)])
    tuned = with_judge(y[:n], f[chosen, :n], f[chosen, n:])
    folded = with_judge(y[:n], beside, f[own, n:].T, Design(folds=fold))
    narrower = ppi_mean(y[:n], beside, f[own, n:].T, design=Design(folds=fold), **SCALE).interval
    return [low <= TRUTH <= high for low, high in (tuned, folded, narrower)]


@pytest.mark.slow
@pytest.mark.long
def test_the_best_of_a_hundred_prompts_flatters_itself_and_folds_do_not():
    rng, sets = np.random.default_rng(41), 1500
    tuned, folded, narrower = np.sum([held(rng, 20, 100) for _ in range(sets)], axis=0)
    assert stats.binomtest(int(tuned), sets, 0.92, alternative="less").pvalue < 0.01
    assert stats.binomtest(int(folded), sets, 0.945).pvalue > 1e-3
    # of two intervals by t that are about as wide the narrower holds less often: without a scale nothing pays for it
    assert stats.binomtest(int(narrower), sets, 0.93, alternative="less").pvalue < 0.01


def test_it_can_be_said():
    y, f = judged(np.random.default_rng(42), 1, 60)
    result = ppi_mean(y[:20], f[0, :20], f[0, 20:], tuned_on_labels=True, **SCALE)
    assert result.warnings[0].startswith("tuned_on_labels: ")
