"""The quality of forecasts: reference values, closed theory, coverage, traps, tables."""

import math

import numpy as np
import pytest

import calib
from calib.stats import forecast_quality, ranked_probability_score

LEVELS = [1, 2, 3, 4, 5]


def drawn(p, rng):
    """Labels with these chances, as places."""
    return (rng.random((len(p), 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


# --- reference values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "score", "mcb", "dsc", "unc"),
    [("coherence", 0.198750, 0.065448, 0.027695, 0.160997), ("relevance", 0.313438, 0.210439, 0.015458, 0.118457)],
)
def test_a_digit_has_the_reference_values(summeval, criterion, score, mcb, dsc, unc):
    """G2 of calibration.md, where they were computed by other code."""
    digit, people, _ = summeval(criterion)
    found = forecast_quality(digit, people, LEVELS)
    parts = found.rps, found.corp.mcb, found.corp.dsc, found.corp.unc
    np.testing.assert_allclose(parts, [score, mcb, dsc, unc], atol=5.1e-7)
    assert found.skill_in_sample == pytest.approx(1 - score / unc, abs=1e-5)
    assert found.interval.high < 0
    assert math.isinf(found.log_score)
    assert found.n_impossible == (digit != people).sum()
    assert found.conclusion.startswith("The judge's number as a forecast of what people say is worse than no judge")


def test_probabilities_have_the_reference_values(loaded):
    """G3: LLM-Rubric, Q0, on tables."""
    _, ratings = loaded("load_llm_rubric")
    rows = ratings[(ratings["criterion"] == "Q0") & (ratings["score"] > 0)]
    found = calib.forecast_quality(rows[rows["method"] == "logprob"], rows[rows["method"] == "human"]).one()
    values = found.rps, found.log_score, found.corp.unc, found.log_shares, found.corp.mcb, found.corp.dsc
    np.testing.assert_allclose(values, [0.179773, 1.409953, 0.140468, 1.170077, 0.051421, 0.012116], atol=5.1e-7)
    assert found.n == 223
    # skill that one can hope for: nothing is left of the in-sample discrimination (-.006 in 1.4's cross-validation)
    assert found.crossfitted.dsc < 0.5 * found.corp.dsc
    assert found.dsc_interval.low < 0 < found.dsc_interval.high


def test_a_jury_has_the_calibration_error_of_netcal(loaded):
    """G4: netcal's ECE with 10 bins."""
    _, ratings = loaded("load_triviaqa_judges")
    wide = ratings.pivot_table(index="item", columns="rater", values="score")
    found = forecast_quality(wide.drop(columns="human").mean(axis=1), wide["human"])
    assert found.ece == pytest.approx(0.117535, abs=5.1e-7)
    assert found.rps == pytest.approx(0.0810841, abs=5.1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "theirs"), [(25, 0.205), (50, 0.143), (100, 0.102), (200, 0.077)])
def test_the_calibration_error_of_calibrated_forecasts_is_that_of_netcal(n, theirs):
    """calibration.md 1.5: netcal's ECE(10) of calibrated Beta(2, 2) forecasts, a mean over draws to .01."""
    rng = np.random.default_rng(n)
    p = rng.beta(2, 2, (400, n))
    errors = [forecast_quality(one, (rng.random(n) < one).astype(int)).ece for one in p]
    assert np.mean(errors) == pytest.approx(theirs, abs=0.012)


# --- closed theory ------------------------------------------------------------------------------------------------


def test_crps_is_an_integral_and_a_distance_where_levels_are_uneven():
    levels = np.array([0.0, 1.0, 4.0, 10.0])
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet([1] * 4, 30), rng.choice(levels, 30)
    z = (np.arange(100_000) + 0.5) / 10_000  # the middle of each cell, none of which a level divides
    steps = (z[:, None] >= levels) @ p.T - (z[:, None] >= y)
    assert forecast_quality(p, y, levels).crps == pytest.approx((steps**2).mean() * 10, abs=1e-10)
    number = rng.uniform(0, 10, 30)
    assert forecast_quality(number, y, levels).crps == pytest.approx(np.abs(number - y).mean())


def test_a_number_is_scored_by_its_place():
    found = forecast_quality([1.5, 4, 2], [1, 4, 10], [1, 2, 4, 10])
    assert found.rps == pytest.approx((0.5 + 0 + 2) / 3 / 3)
    assert found.kind == "number"
    certain = forecast_quality([2.0, 3, 5, 1], [1, 3, 4, 2], LEVELS)
    shares = np.eye(5)[[1, 2, 4, 0]]
    assert certain.rps == pytest.approx(forecast_quality(shares, [1, 3, 4, 2], LEVELS).rps)
    assert certain.rps == pytest.approx(ranked_probability_score(shares, [1, 3, 4, 2], LEVELS).mean())


def test_skill_is_beside_the_labels_of_other_groups():
    rng = np.random.default_rng(2)
    p, y, group = rng.dirichlet([1] * 5, 60), rng.choice(LEVELS, 60), np.repeat(np.arange(12), 5)
    found = forecast_quality(p, y, LEVELS, groups=group)
    reference = []
    for one in range(12):
        others = y[group != one]
        shares = np.tile([(others == level).mean() for level in LEVELS], (5, 1))
        reference.append(ranked_probability_score(shares, y[group == one], LEVELS))
    assert found.skill == pytest.approx(1 - found.rps / np.mean(reference))
    assert found.crossfitted.unc == pytest.approx(np.mean(reference))
    assert found.corp.unc < found.crossfitted.unc
    shares = np.tile([(y == level).mean() for level in LEVELS], (60, 1))
    nothing = forecast_quality(shares, y, LEVELS)
    assert nothing.skill_in_sample == pytest.approx(0, abs=1e-12)
    assert nothing.log_score == pytest.approx(nothing.log_shares)


def test_recalibration_is_learned_on_other_documents():
    """Copies of documents in other groups make it look better than it is: groups take that away."""
    rng = np.random.default_rng(4)
    p = rng.random(30)
    y = rng.integers(0, 2, 30)
    rows = np.tile(np.arange(30), 3)
    alone = forecast_quality(p[rows], y[rows])
    grouped = forecast_quality(p[rows], y[rows], groups=rows)
    assert grouped.crossfitted.dsc < alone.crossfitted.dsc
    assert alone.corp == pytest.approx(grouped.corp) or alone.corp.mcb == pytest.approx(grouped.corp.mcb)


def test_the_interval_of_the_score_is_that_of_a_mean():
    """One row a group: Student's t for the mean, as scipy has it."""
    from scipy import stats as theirs

    rng = np.random.default_rng(5)
    p, y = rng.dirichlet([1] * 5, 40), rng.choice(LEVELS, 40)
    score = ranked_probability_score(p, y, LEVELS)
    low, high = theirs.t.interval(0.9, 39, score.mean(), score.std(ddof=1) / math.sqrt(40))
    assert forecast_quality(p, y, LEVELS, confidence_level=0.9).rps_interval == pytest.approx((low, high))


def test_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(6)
    p, y, weight = rng.dirichlet([1] * 5, 50), rng.choice(LEVELS, 50), rng.integers(1, 4, 50)
    rows = np.repeat(np.arange(50), weight)
    one = forecast_quality(p, y, LEVELS, groups=np.arange(50) // 2, weights=weight)
    many = forecast_quality(p[rows], y[rows], LEVELS, groups=rows // 2)
    for name in ("rps", "skill", "log_score", "crps", "ece", "interval", "mcb_interval"):
        assert getattr(one, name) == pytest.approx(getattr(many, name)), name
    np.testing.assert_allclose(one.pit, many.pit)


# --- the log score ------------------------------------------------------------------------------------------------


def test_an_impossible_label_is_never_hidden():
    pytest.importorskip("pandas")
    p, y = [[0.5, 0.5, 0.0]] * 20, [1, 2] * 9 + [3, 1]
    found = forecast_quality(p, y, [1, 2, 3])
    assert (math.isinf(found.log_score), found.n_impossible) == (True, 1)
    assert found.warnings[0].startswith("impossible_labels: 1 of 20 labels")
    assert "1 of 20 labels had no chance at all: the log score is infinite." in found.conclusion
    floored = forecast_quality(p, y, [1, 2, 3], floor=0.01)
    wanted = -(19 * math.log(0.51 / 1.03) + math.log(0.01 / 1.03)) / 20
    assert (floored.log_score, floored.n_impossible) == (pytest.approx(wanted), 1)
    assert "floor:0.01" in floored.signature
    assert floored.rps == found.rps


# --- calibration --------------------------------------------------------------------------------------------------


def test_a_histogram_of_calibrated_forecasts_is_flat():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([0.7] * 5, 40_000)
    found = forecast_quality(p, drawn(p, rng))
    assert found.pit.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.pit, 0.1, atol=0.006)
    # as Czado, Gneiting and Held define it, label by label
    y, below = np.array([1, 0]), np.array([[0.25, 0.75, 1.0], [0.5, 0.5, 1.0]])
    few = forecast_quality(np.diff(below, axis=1, prepend=0), y)
    expected = np.zeros(10)
    for low, high in ((0.25, 0.75), (0.0, 0.5)):
        edges = np.linspace(0, 1, 11)
        expected += np.diff(((edges - low) / (high - low)).clip(0, 1)) / 2
    np.testing.assert_allclose(few.pit, expected, atol=1e-12)


@pytest.mark.parametrize("p", [[1.0] * 20, [0.0] * 20, [0.95] * 20, [0.4] * 20])
def test_edges_of_the_bins_are_in_them(p):
    """Traps seen elsewhere: p = 1 in a bin of its own, p = 0 left out, the last bin skipped, a constant forecast."""
    y = [0, 1] * 10
    assert forecast_quality(p, y).ece == pytest.approx(abs(0.5 - p[0]))


def test_all_bins_count_by_their_labels():
    p, y = np.array([0, 0.05, 0.1, 0.55, 0.95, 1.0]), np.array([1, 0, 0, 1, 0, 1])
    # by hand: [0, .1): 2 labels, [.1, .2): 1, [.5, .6): 1, [.9, 1]: 2
    wanted = (abs(1 - 0.05) + abs(0 - 0.1) + abs(1 - 0.55) + abs(1 - 1.95)) / 6
    assert forecast_quality(p, y).ece == pytest.approx(wanted)


def test_the_curve_says_where_chances_are_wrong():
    rng = np.random.default_rng(10)
    p = rng.random(400)
    found = forecast_quality(p, (rng.random(400) < p**2).astype(int))
    (curve, mean) = found.curves
    assert (curve.above, math.isnan(mean.above)) == (0, True)
    middle = np.argmin(np.abs(curve.forecast - 0.5))
    assert curve.observed[middle] < 0.4 < 0.5
    assert curve.share.sum() == pytest.approx(1)
    assert (np.diff(curve.observed) >= 0).all()


# --- coverage -----------------------------------------------------------------------------------------------------

CHANCES = np.array(
    [
        [0.4, 0.3, 0.2, 0.08, 0.02],
        [0.2, 0.3, 0.3, 0.15, 0.05],
        [0.1, 0.2, 0.3, 0.25, 0.15],
        [0.05, 0.1, 0.25, 0.35, 0.25],
        [0.02, 0.05, 0.13, 0.3, 0.5],
    ]
)


def sample(n_groups, kind, rng):
    """Four items a document; the judge's digit as a number, or chances that are too high and too sure."""
    x = np.clip(
        np.round(2 + 0.6 * rng.standard_normal(n_groups).repeat(4) + 1.1 * rng.standard_normal(4 * n_groups)), 0, 4
    )
    x = x.astype(int)
    p = x.astype(float) if kind == "number" else CHANCES[np.minimum(x + 1, 4)] ** 1.5
    return p, drawn(CHANCES[x], rng), np.repeat(np.arange(n_groups), 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["number", "distribution"])
@pytest.mark.parametrize("n_groups", [10, 25, 50])
def test_intervals_cover_what_many_documents_have(kind, n_groups):
    rng = np.random.default_rng(n_groups)
    p, y, group = sample(50_000, kind, rng)
    whole = forecast_quality(p, y, range(5), groups=group)
    hits, truth = np.zeros(2), np.array([whole.rps, whole.skill])
    for _ in range(600):
        p, y, group = sample(n_groups, kind, rng)
        found = forecast_quality(p, y, range(5), groups=group)
        low, high = np.transpose([found.rps_interval, found.interval])
        hits += (low <= truth) & (truth <= high)
    assert ((hits / 600 > 0.915) & (hits / 600 < 0.98)).all(), hits / 600


# --- odd input ----------------------------------------------------------------------------------------------------


def test_one_group_has_no_cross_fitting_and_no_interval():
    pytest.importorskip("pandas")
    found = forecast_quality([0.2, 0.8, 0.6], [0, 1, 0], groups=["a"] * 3)
    assert math.isnan(found.skill)
    assert math.isnan(found.interval.low)
    assert found.rps == pytest.approx(np.mean([0.04, 0.04, 0.36]))
    assert "cannot be compared" in found.conclusion
    holes = forecast_quality([[0.2, 0.8], [np.nan, np.nan], [0.5, 0.5], [0.0, 0.0], [0.1, 0.9]], [0, 1, np.nan, 1, 1])
    assert (holes.n, holes.n_missing) == (2, 3)
    assert (found.conf_low, found.conf_high) == pytest.approx(found.interval, nan_ok=True)


@pytest.mark.parametrize("y", [[1], [1, 1, 1], [1, 2]])
def test_few_and_constant_labels_give_numbers_or_none(y):
    pytest.importorskip("pandas")
    found = forecast_quality([[0.5, 0.3, 0.2]] * len(y), y, [1, 2, 3])
    assert found.rps >= 0
    assert found.conclusion
    assert len(found.to_frame()) == 1


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (([0, 6], [1, 5], LEVELS), {}, "`p` must be on the scale of the labels, 1 to 5, but got 0: calibrate it first"),
        (([[0.5, 0.5]], [3], [1, 2]), {}, "`y` must hold nothing but `levels` and NaN"),
        (([0.5], [1]), {"floor": 1.0}, "`floor` must be at least 0 and below 1"),
        (([0.5, 0.5], [1, 0]), {"groups": ["a"]}, "`groups` must have one label per item"),
        (([0.5, 0.5], [1, 0]), {"confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
    ],
)
def test_what_is_no_forecast_is_refused(given, options, words):
    with pytest.raises(calib.ArgumentError, match=words):
        forecast_quality(*given, **options)


def test_labels_that_all_score_alike_have_no_interval():
    pytest.importorskip("pandas")
    found = forecast_quality([0, 1, 0, 1], [0, 1, 0, 1])
    assert (found.skill, found.rps) == (1, 0)
    assert math.isnan(found.interval.low)
    assert "better than no judge on these labels, which all score alike" in found.conclusion
    alike = forecast_quality([[0.5, 0.5]] * 4, [1, 1, 1, 1])
    assert math.isnan(alike.skill)
    assert "labels are all alike" in alike.conclusion


def test_of_verdicts_the_words_and_the_warnings_agree():
    """Chances of 0 and 1 that err: calibrated where they never err, and not worse than no judge as far as is known."""
    rng = np.random.default_rng(2)
    y = np.arange(60) % 5 < 3
    found = forecast_quality(np.where(rng.random(60) < 0.27, ~y, y).astype(float), y.astype(float))
    assert found.sure
    assert found.interval.low < 0 < found.interval.high
    assert [text.split(":")[0] for text in found.warnings] == ["impossible_labels"]
    steady = forecast_quality(np.full(60, 0.6), y.astype(float))
    assert not steady.sure


def test_a_few_labels_do_not_say_which_way_they_lie():
    """Of 24 calibrated forecasts the mean place of the labels is more than .05 from the middle in a third."""
    words = pytest.importorskip("calib.analysis.calibration.display_sentences")
    rng, said = np.random.default_rng(4), []
    for _ in range(100):
        p = rng.dirichlet([2, 2, 2, 2], 24)
        y = (rng.random((24, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        said.append(words.pit_fact(forecast_quality(p, y)))
    assert sum("too" in text or "enough" in text for text in said) <= 15
    skewed = forecast_quality(np.tile([0.7, 0.1, 0.1, 0.1], (60, 1)), np.arange(60) % 4)
    assert "too low" in words.pit_fact(skewed)


def test_forecasts_of_1_share_their_bin_with_those_from_nine_tenths_on():
    """Gaps of opposite sign in one bin cancel: .92 that came always, 1 that came in 92 of 100."""
    p = np.repeat([0.92, 1.0], 100)
    came = np.r_[np.ones(100), np.ones(92), np.zeros(8)]
    assert forecast_quality(p, came).ece == pytest.approx(0, abs=1e-12)
