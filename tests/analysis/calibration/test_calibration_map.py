"""The map from a judge's score to people's labels: folds, resamples, persons, odd judges."""

import warnings

import numpy as np
import pytest

import calib
from calib.core.check import ArgumentError, CalibWarning
from calib.stats import calibration_map, ordered_logit

LEVELS = [1, 2, 3, 4, 5]


def judged(n, seed=0, slope=1.0):
    """Labels of a proportional odds model, and the judge's score 1 to 5."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 6, n).astype(float)
    latent = slope * (x - 3) + rng.logistic(size=n)
    return x, 1 + (latent[:, None] > [-1.5, -0.3, 0.8, 2.2]).sum(axis=1)


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        return calibration_map(*args, **options)


def test_the_map_of_all_labels_is_the_ordered_logit():
    x, y = judged(150)
    fit, found = ordered_logit(x, y, levels=LEVELS, ridge=1.0), calibration_map(x, y, levels=LEVELS, ridge=1.0)
    np.testing.assert_allclose(found.thresholds, fit.thresholds, rtol=1e-8)
    np.testing.assert_allclose(found.slopes, fit.slopes, rtol=1e-8)


def test_each_fold_has_the_map_of_the_other_folds():
    """Reference: `ordered_logit` of the labels outside the fold; the penalty is on the slope per spread of all."""
    x, y = judged(150)
    groups = np.repeat(np.arange(30), 5)
    found = calibration_map(x, y, levels=LEVELS, ridge=1.0, groups=groups)
    assert found.n_folds == 10
    assert all(len(set(found.fold[groups == one])) == 1 for one in range(30))
    assert np.ptp(np.bincount(found.fold)) == 0
    out = found.fold != 3
    ridge = np.var(x[out]) / np.var(x)  # of the slope per spread of these
    weights = np.append(np.ones(out.sum()), 1e-12)
    both = np.append(x[out], np.mean(x)), np.append(y[out], 1)
    alone = ordered_logit(*both, levels=LEVELS, ridge=ridge, pseudo=1.0, weights=weights)
    # the pseudo-label stands at the mean of all labels, not of these: hardly a difference
    np.testing.assert_allclose(found.predict([1, 5], fold=[3, 3]), alone.predict([1, 5]), atol=2e-3)


@pytest.mark.parametrize("n_groups", [2, 3, 5, 9])
def test_few_groups_have_as_many_folds_and_are_said(n_groups):
    x, y = judged(40)
    with pytest.warns(CalibWarning, match="few_groups"):
        found = calibration_map(x, y, levels=LEVELS, groups=np.arange(40) % n_groups)
    assert found.n_folds == n_groups
    low, high = found.band([1, 3, 5], found.predict([1, 3, 5]) @ found.levels)
    assert (low < high).all() and (low >= 1).all() and (high <= 5).all()


def test_one_group_has_no_folds_and_no_interval():
    x, y = judged(40)
    with pytest.warns(CalibWarning, match="one_group"):
        found = calibration_map(x, y, levels=LEVELS, groups=["a"] * 40)
    assert found.n_folds == 0 and (found.fold == -1).all()
    assert np.isnan(found.band([3], [3.0])[0]).all()
    assert np.isfinite(found.predict([1, 5])).all()
    assert "no interval" in str(found)


def test_what_was_not_labelled_has_the_mean_of_the_folds_maps():
    x, y = judged(60)
    found = quietly(x, y, levels=LEVELS)
    each = [found.predict([2.0], fold=[fold])[0] for fold in range(found.n_folds)]
    np.testing.assert_allclose(found.predict([2.0])[0], np.mean(each, axis=0), rtol=1e-12)
    y = y.astype(float)
    y[:2] = np.nan
    groups = ["a", "b", "a", *map(str, range(57))]
    fold = quietly(x, y, levels=LEVELS, groups=groups).fold
    assert fold[0] == fold[2] >= 0 and fold[1] == -1


def test_a_group_counts_once_in_the_interval():
    """Each label five times over, as five copies of each group, tells no more."""
    x, y = judged(80)
    alone = calibration_map(x, y, levels=LEVELS, ridge=0.0)
    copies = calibration_map(
        np.tile(x, 5), np.tile(y, 5), levels=LEVELS, ridge=0.0, pseudo=5.0, groups=np.tile(np.arange(80), 5)
    )
    mean = alone.predict([3.0]) @ alone.levels
    width, other = (float(np.diff(one.band([3.0], mean), axis=0)[0, 0]) for one in (alone, copies))
    assert other == pytest.approx(width, rel=0.2)
    independent = calibration_map(np.tile(x, 5), np.tile(y, 5), levels=LEVELS, ridge=0.0, pseudo=5.0)
    assert float(np.diff(independent.band([3.0], mean), axis=0)[0, 0]) < 0.6 * width


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_groups", "size"), [pytest.param(25, 1, marks=pytest.mark.long), (100, 1), (5, 10), (40, 5)]
)
def test_the_interval_of_the_map_holds_what_people_would_say(n_groups, size):
    """Simulation: proportional odds with a shift of each group, 300 data sets; nominal .95."""
    rng, at = np.random.default_rng(7), np.array([1.0, 2, 3, 4, 5])
    shift = np.linspace(-4, 4, 81)
    weight = np.exp(-(shift**2) / 2) / np.exp(-(shift**2) / 2).sum()
    spread = 0.5 * (size > 1)
    cut = np.array([-1.5, -0.3, 0.8, 2.2])
    above = 1 / (1 + np.exp(cut[:, None, None] - (at - 3)[:, None] - spread * shift))
    truth = 1 + (above @ weight).sum(axis=0)
    held = []
    for _ in range(300):
        x = rng.integers(1, 6, (n_groups, size)).astype(float)
        latent = x - 3 + rng.normal(0, spread, (n_groups, 1)) + rng.logistic(size=x.shape)
        y = 1 + (latent[..., None] > cut).sum(axis=-1)
        groups = np.repeat(np.arange(n_groups), size)
        found = quietly(x.ravel(), y.ravel(), levels=LEVELS, ridge=1.0, groups=groups, rng=rng)
        low, high = found.band(at, found.predict(at) @ found.levels)
        held.append((low <= truth) & (truth <= high))
    assert 0.90 <= np.mean(held) <= 0.985  # five groups reach .92


# --- odd judges -------------------------------------------------------------------------------------------------------


def test_a_level_that_nobody_gave_stays_possible():
    x, y = judged(25)
    y = np.minimum(y, 4)
    with pytest.warns(CalibWarning, match="unseen_levels: nobody said 5"):
        found = calibration_map(x, y, levels=LEVELS)
    p = found.predict([1, 5])
    assert (p > 0).all() and np.allclose(p.sum(axis=1), 1)


def test_labels_that_are_few_or_all_alike_have_a_finite_answer():
    with pytest.warns(CalibWarning, match="labels_alike: every label is 3"):
        found = calibration_map([1, 2, 3, 4] * 3, [3] * 12, levels=LEVELS)
    assert found.predict([1])[0, 2] > 0.5
    assert np.isfinite(found.predict([1, 4])).all()
    for n in (1, 2):
        few = quietly([2.0, 4.0][:n], [1, 5][:n], levels=LEVELS)
        assert np.isfinite(few.predict([2.0, 4.0])).all() and few.warnings


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"levels": [1, 2]}, "`y` must be one of the levels"), ({"levels": [3]}, "levels"),
        ({"ridge": -1.0}, "`ridge`"),
        ({"confidence_level": 95}, "`confidence_level` must be between 0 and 1"), ({"groups": ["a"]}, "groups"),
        ({"y": [np.nan] * 20}, "`y` must have a label"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(options, match):
    x, y = judged(20)
    with pytest.raises(ArgumentError, match=match):
        quietly(**{"x": x, "y": y, "levels": LEVELS} | options)


# --- several inputs, persons ------------------------------------------------------------------------------------------


def test_own_score_only_is_a_candidate_and_others_are_taken_where_they_help():
    rng = np.random.default_rng(3)
    x, y = judged(200)
    noise = rng.normal(size=(200, 3))
    assert quietly(np.c_[x, noise], y, levels=LEVELS).own_only
    truth = y + rng.normal(0, 0.3, 200)
    helped = quietly(np.c_[x, truth], y, levels=LEVELS)
    assert not helped.own_only and helped.slopes[1] > 0
    forced = quietly(np.c_[x, noise], y, levels=LEVELS, ridge=5.0)
    assert not forced.own_only and (forced.slopes != 0).all()


def test_a_named_person_is_forecast_by_her_shift_and_a_new_one_wider():
    rng = np.random.default_rng(4)
    x = rng.integers(1, 6, 400).astype(float)
    who = np.arange(400) % 8
    latent = x - 3 + 2 * np.linspace(-1, 1, 8)[who] + rng.logistic(size=400)
    y = 1 + (latent[:, None] > [-1.5, -0.3, 0.8, 2.2]).sum(axis=1)
    found = quietly(x, y, levels=LEVELS, annotators=[f"person {one}" for one in who], groups=np.arange(400) // 8)
    assert 0.7 < found.tau < 2.2  # the persons' spread is 1.31
    mild, strict = (found.predict([3.0], annotator=f"person {one}")[0] @ found.levels for one in (7, 0))
    assert mild > strict + 1
    spread = lambda p: float(np.sqrt(p @ found.levels**2 - (p @ found.levels) ** 2))  # noqa: E731
    assert spread(found.predict([3.0])[0]) > spread(found.predict([3.0], annotator="person 4")[0])
    skills = {one.forecast: one.skill for one in found.forecasters}
    assert skills["annotators"] > 0.1 and skills["judge and annotators"] > skills["annotators"]
    assert "annotators 0." in str(found)
    with pytest.raises(ArgumentError, match="annotators=True"):
        quietly(x, y, levels=LEVELS).predict([3.0], annotator="person 7")


def test_a_map_says_what_scores_mean():
    pytest.importorskip("pandas")
    x, y = judged(100)
    found = calibration_map(x, y, levels=LEVELS)
    frame = found.to_frame()
    assert frame["judge"].tolist() == LEVELS
    assert frame["n_at"].sum() == 100
    np.testing.assert_allclose(frame[[f"p_{k}" for k in LEVELS]].sum(axis=1), 1)
    assert (frame["conf_low"] < frame["estimate"]).all() and (frame["estimate"] < frame["conf_high"]).all()
    assert all(text in found.conclusion for text in ("a judge score of", "people would say", "of them 4 or 5"))
    assert found.signature.startswith("calibration_map|")
    axes = calib.plot.calibration(found)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("judge's score", "people's label")


def test_many_scores_are_mapped_by_their_distinct_values():
    x, y = judged(100)
    found = calibration_map(x, y, levels=LEVELS)
    fine = np.linspace(1, 5, 10_001)
    mean = found.predict(fine) @ found.levels
    coarse = found.band(fine[::1000], mean[::1000])
    np.testing.assert_allclose(np.array(found.band(fine, mean))[:, ::1000], coarse, atol=1e-6)


@pytest.mark.slow
def test_neighbouring_scores_taken_together_change_nothing_that_is_seen(monkeypatch):
    """Five thousand distinct scores: folds' maps of a thousand parts beside those of all."""
    from calib.analysis.calibration import calibration_map as fits

    x, y = judged(5000)
    x = x + np.random.default_rng(1).uniform(-0.5, 0.5, 5000)
    parts = quietly(x, y, levels=LEVELS, ridge=1.0)
    monkeypatch.setattr(fits, "_MANY", 10_000)
    whole = quietly(x, y, levels=LEVELS, ridge=1.0)
    np.testing.assert_allclose(parts.fold_slopes, whole.fold_slopes, rtol=1e-4)
    wide = [np.diff(one.band([3.0], [3.0]), axis=0).item() for one in (parts, whole)]
    assert wide[0] == pytest.approx(wide[1], rel=0.25)  # of 200 other resamples
    np.testing.assert_array_equal(parts.slopes, whole.slopes)
