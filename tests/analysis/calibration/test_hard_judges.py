"""Judges that no one would choose, with 25 labels: forecasts stay finite and ordered, and no worse than no judge."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from calib.stats import CalibWarning, calibration_map, full_conformal, ordered_logit

N, TESTED, RUNS = 25, 2000, 40


class Judge(NamedTuple):
    """A scale of people, the middle of their labels on it, and what the judge says of a quality and a label."""

    levels: np.ndarray
    middle: float
    says: object


def fives(value):
    return np.clip(np.round(value), 1, 5)


FIVE = np.arange(1.0, 6.0)
JUDGES = {
    "miscalibrated": Judge(FIVE, 3, lambda q, noise: fives(3 + 3 * (q + noise))),
    "lenient": Judge(FIVE, 2.5, lambda q, noise: fives(4.3 + 0.8 * q + 0.5 * noise)),
    "reversed": Judge(FIVE, 3, lambda q, noise: fives(3 - 1.2 * q + 0.5 * noise)),
    "constant": Judge(FIVE, 3, lambda q, noise: np.full(len(q), 4.0)),
    "two levels": Judge(FIVE, 3, lambda q, noise: np.where(q + 0.5 * noise > 0, 5.0, 1.0)),
    "noise": Judge(FIVE, 3, lambda q, noise: fives(3 + noise)),
    "an oracle": Judge(FIVE, 3, lambda q, noise: fives(3 + 1.2 * q)),
    "labels at the ceiling": Judge(FIVE, 5.3, lambda q, noise: fives(4 + q + noise)),
    "labels at the floor": Judge(FIVE, 0.5, lambda q, noise: fives(3 + q + noise)),
    "yes or no": Judge(np.array([0.0, 1.0]), 0.5, lambda q, noise: (q + 0.5 * noise > 0.5).astype(float)),
    "ten levels": Judge(np.arange(1.0, 11.0), 6, lambda q, noise: np.clip(np.round(6 + 2 * (q + noise)), 1, 10)),
    "a judge from 0 to 100": Judge(FIVE, 3, lambda q, noise: np.clip(np.round(60 + 15 * (q + noise)), 0, 100)),
    "one that shouts": Judge(FIVE, 3, lambda q, noise: 1e8 * np.sign(q + noise)),
    "a scale in millionths": Judge(FIVE, 3, lambda q, noise: 1e-6 * (q + noise)),
}


def sample(judge, n, rng):
    """Scores and labels of n items."""
    quality, noise = rng.standard_normal((2, n))
    width = 1.2 if len(judge.levels) == 5 else np.ptp(judge.levels) / 4
    place = judge.middle + width * (quality + 0.5 * rng.standard_normal(n))
    return judge.says(quality, noise), judge.levels[np.abs(place[:, None] - judge.levels).argmin(axis=1)]


def rps(p, y, levels):
    gap = np.cumsum(p, axis=1)[:, :-1] - (y[:, None] <= levels[:-1])
    return (gap**2).mean()


def log_score(p, y, levels):
    return -np.log(p[np.arange(len(y)), np.searchsorted(levels, y)])


def is_a_forecast(p, n, k):
    """Every level has a chance, the distribution function rises, and all of it is 1."""
    below = np.cumsum(p, axis=1)
    return p.shape == (n, k) and (p > 0).all() and (np.diff(below, axis=1) > 0).all() and np.allclose(below[:, -1], 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize("name", JUDGES)
def test_25_labels_of_a_hard_judge(name):
    judge, gains = JUDGES[name], []
    levels = judge.levels
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        x, y = sample(judge, N, rng)
        new, truth = sample(judge, TESTED, rng)
        found = calibration_map(x, y, levels=levels, groups=np.arange(N) // 2, n_resamples=20)
        p = found.predict(new)
        assert is_a_forecast(p, TESTED, len(levels))
        assert np.isfinite(log_score(p, truth, levels)).all()
        held_out = found.predict(x, fold=found.fold)
        assert is_a_forecast(held_out, N, len(levels))
        assert np.isfinite(log_score(held_out, y, levels)).all()
        shares = np.bincount(np.searchsorted(levels, truth), minlength=len(levels)) / TESTED
        learned = np.bincount(np.searchsorted(levels, y), minlength=len(levels)) / N
        unit = rps(np.tile(shares, (TESTED, 1)), truth, levels)
        gains.append((rps(np.tile(learned, (TESTED, 1)), truth, levels) - rps(p, truth, levels)) / unit)
    error = np.std(gains, ddof=1) / np.sqrt(RUNS)
    assert np.mean(gains) > -0.03 - 2 * error  # in skill: no worse than the shares of the same labels, without a judge
    if name in ("miscalibrated", "lenient", "reversed", "two levels", "an oracle", "a judge from 0 to 100"):
        assert np.mean(gains) > 0.05 + 2 * error  # and these know something, whatever they call it


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_ends_and_gaps_of_a_scale_have_a_chance(name):
    judge = JUDGES[name]
    x, y = sample(judge, N, np.random.default_rng(7))
    seen = np.unique(y)[: max(1, len(np.unique(y)) - 1)]  # a level that none of the labels has
    kept, width = np.isin(y, seen), 1 + np.ptp(x)
    for made in (ordered_logit, partial(ordered_logit, ridge=None), calibration_map):
        found = made(x[kept], y[kept], levels=judge.levels)
        p = found.predict([x.min() - 100 * width, *np.unique(x), x.max() + 100 * width])
        below = np.cumsum(p, axis=1)
        assert (p >= 0).all() and (np.diff(below, axis=1) >= 0).all() and np.allclose(below[:, -1], 1)
        near = np.linspace(x.min() - 5 * np.ptp(x), x.max() + 5 * np.ptp(x), 51)
        assert np.isfinite(np.log(found.predict(near))).all()  # near what the judge says nothing is impossible
        assert (np.diff(found.thresholds) > 0).all()


@pytest.mark.parametrize("made", [ordered_logit, calibration_map])
def test_a_reversed_judge_is_followed_and_said(made):
    x, y = sample(JUDGES["reversed"], N, np.random.default_rng(3))
    with pytest.warns(CalibWarning, match="negative_slope"):
        found = made(x, y, levels=FIVE)
    assert any(text.startswith("negative_slope: ") for text in found.warnings) and "negative_slope" in str(found)
    assert (np.diff(found.predict(np.unique(x)) @ FIVE) < 0).all()
    turned = made(-x, y, levels=FIVE)
    np.testing.assert_allclose(found.slopes, -turned.slopes)
    assert not any("negative_slope" in text for text in turned.warnings)


@pytest.mark.parametrize("made", [ordered_logit, calibration_map])
def test_a_constant_judge_gets_what_the_labels_are(made):
    x, y = sample(JUDGES["constant"], N, np.random.default_rng(3))
    counts = np.bincount(y.astype(int), minlength=6)[1:]
    with pytest.warns(CalibWarning, match="constant_judge"):
        found = made(x, y, levels=FIVE)
    p = found.predict([4.0, 1.0])
    np.testing.assert_allclose(p[0], p[1], atol=1e-9)
    np.testing.assert_allclose(p[0], (counts + 0.2) / (N + 1), atol=5e-3)  # the labels and the pseudo-label
    assert made is ordered_logit or len(found.shown.x) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize("name", [name for name in JUDGES if name not in ("one that shouts", "a scale in millionths")])
def test_sets_hold_whatever_the_judge_is(name):
    judge, held = JUDGES[name], []
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        x, y = sample(judge, N, rng)
        new, truth = sample(judge, 400, rng)
        sets = full_conformal(x, y, levels=judge.levels, x_new=new)
        assert (sets.low <= sets.high).all()
        held.append(((truth >= sets.low[sets.row]) & (truth <= sets.high[sets.row])).mean())
    assert np.mean(held) > 0.9 - 3 * np.std(held, ddof=1) / np.sqrt(RUNS)
