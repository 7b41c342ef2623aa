"""A shift per person: the spread of persons found again, known and new ones, and what who rated alone forecasts."""

import numpy as np
import pytest

from calib.stats import ArgumentError, CalibWarning, annotator_logit, ordered_logit

pytestmark = pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")  # small samples of judges that know little


def rated(n_escalated=12, each=15, tau=1.0, slope=1.0, seed=0):
    """Scores, labels 0..3 that follow them and who rates, the person, the shift of each person."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_escalated), each)
    x, shift = rng.normal(size=len(person)), tau * rng.normal(size=n_escalated)
    said = slope * x + shift[person] + rng.logistic(size=len(person))
    return x, np.digitize(said, [-1.5, 0, 1.5]), np.array([f"person {one}" for one in person]), shift


def spread_of(n_escalated, each, tau, seed):
    """As one group: nothing is cross-validated."""
    return annotator_logit(*rated(n_escalated, each, tau, seed=seed)[:3], groups=np.zeros(n_escalated * each)).tau


# --- how much people differ -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n_escalated", "each", "tau"), [(20, 20, 1.0), (40, 5, 1.0), (20, 40, 0.5), (10, 40, 2.0)])
def test_the_spread_of_people_is_found_again(n_escalated, each, tau):
    """In the mean of the variances over 60 samples, to both sides, within 3 standard errors and 6 % of the spread."""
    found = [spread_of(n_escalated, each, tau, seed) for seed in range(60)]
    spread = np.sqrt(np.mean(np.square(found)))
    assert abs(spread - tau) < 3 * np.std(found) / np.sqrt(60) + 0.06 * tau


@pytest.mark.slow
def test_people_who_do_not_differ_are_seen_as_such():
    found = [spread_of(12, 15, 0.0, seed) for seed in range(40)]
    assert np.median(found) < 0.15
    assert max(found) < 0.6


@pytest.mark.slow
def test_shifts_miss_the_truth_by_their_standard_errors():
    """Of 40 samples of 12 people: the mean square of (shift - truth) / error is 1, against shifts less their mean."""
    ratios = []
    for seed in range(40):
        *data, truth = rated(each=30, seed=seed)
        fit = annotator_logit(*data, groups=np.zeros(360))
        off = np.array([one.shift for one in fit.shifts]) - truth
        ratios.append(np.mean((off / [one.std_error for one in fit.shifts]) ** 2))
    assert 0.75 < np.mean(ratios) < 1.3


@pytest.mark.slow
def test_with_two_levels_it_is_the_logistic_model_with_random_intercepts_of_statsmodels():
    """At our estimates its posterior density, of nearly flat priors and our spread, has no slope."""
    mixed = pytest.importorskip("statsmodels.genmod.bayes_mixed_glm")
    x, y, who, _ = rated(n_escalated=10, each=40)
    y = (y > 1).astype(float)
    fit = annotator_logit(x, y, who, ridge=0, pseudo=0)
    people = (who[:, None] == [one.annotator for one in fit.shifts]).astype(float)
    design = np.column_stack([np.ones(len(x)), x])
    model = mixed.BinomialBayesMixedGLM(y, design, people, np.zeros(10, dtype=int), fe_p=1e4)
    shifts = [one.shift for one in fit.shifts]
    slopes = model.logposterior_grad(np.concatenate([-fit.thresholds, fit.slopes, [np.log(fit.tau)], shifts]))
    np.testing.assert_allclose(np.delete(slopes, 2), 0.0, atol=1e-3)


# --- known people and new ones ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_new_person_is_forecast_by_the_mean_over_people():
    """Against draws of shifts from their normal law."""
    x, y, who, _ = rated(tau=1.5)
    fit = annotator_logit(x, y, who)
    shifts = fit.tau * np.random.default_rng(1).normal(size=400_000)
    below = 1 / (1 + np.exp(-(fit.thresholds - fit.slopes[0] * 0.7 - shifts[:, None])))
    expected = np.diff(below.mean(axis=0), prepend=0, append=1)
    np.testing.assert_allclose(fit.predict([0.7])[0], expected, atol=2e-3)


@pytest.mark.slow
def test_a_new_person_is_less_sure_than_one_of_many_labels():
    x, y, who, shift = rated(n_escalated=8, each=60, tau=1.5)
    fit = annotator_logit(x, y, who)
    levels = np.arange(4)

    def spread(p):
        return (p @ levels**2 - (p @ levels) ** 2).mean()

    assert spread(fit.predict(x)) > spread(fit.predict(x, annotator=who)) * 1.2
    lenient, strict = np.argmax(shift), np.argmin(shift)
    means = [fit.predict([0.0], annotator=f"person {one}") @ levels for one in (strict, lenient)]
    assert means[0] < fit.predict([0.0])[0] @ levels < means[1]


@pytest.mark.slow
def test_people_may_be_named_one_per_row():
    x, y, who, _ = rated()
    fit = annotator_logit(x, y, who)
    mixed = fit.predict([0.1, 0.2, 0.3], annotator=["person 3", None, "person 5"])
    np.testing.assert_allclose(mixed[0], fit.predict([0.1], annotator="person 3")[0])
    np.testing.assert_allclose(mixed[1], fit.predict([0.2])[0])
    np.testing.assert_allclose(mixed[2], fit.predict([0.3], annotator="person 5")[0])
    np.testing.assert_allclose(fit.predict(x[:20], annotator=who[:20]), fit.predict(x[:20], annotator=list(who[:20])))


@pytest.mark.slow
def test_people_may_be_numbers():
    x, y, _, _ = rated(n_escalated=4)
    fit = annotator_logit(x, y, np.repeat([7, 8, 9, 10], 15))
    assert [one.annotator for one in fit.shifts] == [7, 8, 9, 10]
    assert fit.predict([0.0], annotator=7).shape == (1, 4)


@pytest.mark.slow
@pytest.mark.parametrize("stranger", ["person 99", ["person 1", "nobody"], 3, float("nan"), [["a"], ["b"]]])
def test_a_stranger_is_refused_and_told_who_there_is(stranger):
    x, y, who, _ = rated(n_escalated=3)
    with pytest.raises(ArgumentError, match="`annotator` must be one of 'person 0', 'person 1', 'person 2', or None"):
        annotator_logit(x, y, who).predict([1, 2], annotator=stranger)


@pytest.mark.slow
def test_another_number_of_people_is_refused():
    x, y, who, _ = rated(n_escalated=3)
    with pytest.raises(ArgumentError, match="`annotator` must have the length of"):
        annotator_logit(x, y, who).predict([1, 2, 3], annotator=["person 1"])


def test_a_missing_annotator_is_refused():
    x, y, who, _ = rated(n_escalated=3)
    with pytest.raises(ArgumentError, match="`annotators` must have no missing label"):
        annotator_logit(x, y, [None, *who[1:]])
    with pytest.raises(ArgumentError, match="`annotators` must have the length of"):
        annotator_logit(x, y, who[1:])


# --- few people, few labels -------------------------------------------------------------------------------------


def test_one_label_of_each_person_shows_no_spread():
    x, y, _, _ = rated(n_escalated=40, each=1)
    with pytest.warns(CalibWarning, match="few_repeats"):
        fit = annotator_logit(x, y, np.arange(40))
    assert fit.tau == 0
    plain = ordered_logit(x, y)
    np.testing.assert_allclose(fit.predict(x), plain.predict(x), atol=1e-8)
    np.testing.assert_allclose(fit.predict(x, annotator=np.arange(40)), plain.predict(x), atol=1e-8)


def test_one_person_is_no_spread():
    x, y, _, _ = rated(n_escalated=1, each=40)
    fit = annotator_logit(x, y, ["ann"] * 40)
    np.testing.assert_allclose(fit.predict(x, annotator="ann"), ordered_logit(x, y).predict(x), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("n_escalated", [1, 2, 5, 12, 25])
@pytest.mark.parametrize("kind", ["constant", "reversed", "each says one thing", "all say one thing"])
def test_25_labels_of_any_kind_have_an_answer(n_escalated, kind):
    rng = np.random.default_rng(n_escalated)
    x, who = rng.integers(1, 6, 25).astype(float), np.arange(25) % n_escalated
    y = {"constant": x, "reversed": 6 - x, "each says one thing": 1.0 + who % 5, "all say one thing": np.full(25, 5.0)}
    fit = annotator_logit(x if kind != "constant" else 0 * x, y[kind], who, levels=[1, 2, 3, 4, 5])
    assert 0 <= fit.tau <= 12
    assert np.isfinite(np.log(fit.predict(x))).all()
    assert np.isfinite(np.log(fit.predict(x, annotator=who))).all()
    assert np.isfinite([one.log_score for one in fit.forecasters]).all()


@pytest.mark.slow
def test_rows_left_out_take_no_person_along():
    x, y, who, _ = rated(n_escalated=4)
    labels = np.where(who == "person 2", np.nan, y)
    fit = annotator_logit(x, labels, who)
    assert [one.annotator for one in fit.shifts] == ["person 0", "person 1", "person 3"]
    assert (fit.n, fit.n_missing) == (45, 15)
    kept = who != "person 2"
    assert fit.tau == pytest.approx(annotator_logit(x[kept], y[kept], who[kept]).tau)


@pytest.mark.slow
def test_weights_are_rows_repeated():
    x, y, who, _ = rated(n_escalated=6)
    groups = np.arange(len(x))
    twice = annotator_logit(np.tile(x, 2), np.tile(y, 2), np.tile(who, 2), groups=np.tile(groups, 2))
    weighted = annotator_logit(x, y, who, groups=groups, weights=np.full(len(x), 2.0))
    assert weighted.tau == pytest.approx(twice.tau, abs=1e-8)
    np.testing.assert_allclose(weighted.predict(x), twice.predict(x), atol=1e-8)


# --- who rated, and what the judge adds ---------------------------------------------------------------------------


def skills(fit):
    return {one.forecast: one.skill for one in fit.forecasters}


@pytest.mark.slow
def test_a_judge_that_knows_nothing_is_told_from_people_who_differ():
    x, y, who, _ = rated(slope=0.0, tau=1.5)
    with pytest.warns(CalibWarning, match="judge_adds_nothing"):
        fit = annotator_logit(np.abs(x), y, who)
    assert skills(fit)["annotators"] > 0.15
    assert skills(fit)["judge"] < 0.02
    assert "annotators 0." in str(fit)


@pytest.mark.slow
def test_a_judge_that_knows_all_is_told_from_people_who_are_alike():
    fit = annotator_logit(*rated(slope=3.0, tau=0.0)[:3])
    assert skills(fit)["judge"] > 0.3
    assert skills(fit)["annotators"] < 0.02
    assert abs(skills(fit)["shares"]) < 0.02


@pytest.mark.slow
def test_copies_of_a_text_in_both_folds_are_a_leak_that_groups_close():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 25)), rng.integers(0, 4, 30)
    copies = (np.repeat(x, 4, axis=0), np.repeat(y, 4), np.arange(120) % 4)
    how = {"levels": [0, 1, 2, 3]}
    honest = skills(annotator_logit(*copies, **how, groups=np.repeat(np.arange(30), 4)))["judge"]
    leaking = skills(annotator_logit(*copies, **how))["judge"]
    assert honest < 0.0 < 0.1 < leaking


RUBRIC = {  # skill of shares, nine expectations, annotators, nine + annotators
    "real": (-0.012, -0.018, 0.088, 0.108),
    "synth": (-0.003, 0.025, 0.077, 0.119),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", RUBRIC)
def test_llm_rubric_has_the_skills_of_the_reference(part):
    """Reference: calibration.md 1.4, ridge PO on nine expectations and dummies, ten-fold by text, five repeats."""
    calib = pytest.importorskip("calib")
    pytest.importorskip("pandas")
    pytest.importorskip("pandas")
    try:
        _, ratings = calib.datasets.load_llm_rubric(part)
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))
    judged = ratings[ratings["method"] != "human"].assign(mass=lambda f: f["score"] * f["weight"])
    sums = judged.groupby(["item", "criterion"])[["mass", "weight"]].sum()
    nine = (sums["mass"] / sums["weight"]).unstack()
    people = ratings[(ratings["method"] == "human") & (ratings["criterion"] == "Q0") & ratings["score"].notna()]
    fit = annotator_logit(
        nine.reindex(people["item"]),
        people["score"],
        people["rater"],
        levels=[1, 2, 3, 4],
        ridge=20.0,
        groups=people["item"],
    )
    assert fit.n == {"real": 223, "synth": 662}[part]
    np.testing.assert_allclose(list(skills(fit).values()), RUBRIC[part], atol=0.02)
