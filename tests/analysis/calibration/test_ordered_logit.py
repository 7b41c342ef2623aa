"""Proportional odds: reference values, other packages, ridge, levels that nobody used, judges of every kind."""

import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from calib.stats import ArgumentError, CalibWarning, ordered_logit

# --- numbers from elsewhere -------------------------------------------------------------------------------------

CRITERIA = {
    "coherence": ([0.71672, 2.85987, 4.52906, 5.83356], 1.39437, -2132.9618),
    "relevance": ([-1.41516, 1.00546, 2.72598, 5.14820], 1.40994, -1849.0318),
}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_summeval_has_the_reference_values(summeval, criterion):
    """Reference: calibration.md G1 and G2, which statsmodels' OrderedModel gives as well."""
    digit, people, _ = summeval(criterion)
    fit = ordered_logit(digit, people, ridge=0.0, pseudo=0.0)
    thresholds, slope, log_likelihood = CRITERIA[criterion]
    np.testing.assert_allclose(fit.thresholds, thresholds, atol=5.1e-6)
    np.testing.assert_allclose(fit.slopes, [slope], atol=5.1e-6)
    assert fit.log_likelihood == pytest.approx(log_likelihood, abs=5.1e-5)


def labelled(n=240, p=1, seed=0, levels=4):
    """Inputs, labels 1..levels that follow them, groups of four."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    latent = x @ np.linspace(1.0, 0.4, p) + rng.logistic(size=n)
    return x, 1.0 + np.digitize(latent, np.linspace(-1.5, 1.5, levels - 1)), np.arange(n) // 4


def ordered_model(x, y, **how):
    """statsmodels' fit, with thresholds in place of its first threshold and logarithms of gaps."""
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    model = ordinal.OrderedModel(y, x, distr="logit")
    with warnings.catch_warnings(action="ignore"):  # what the oracle warns of is not ours: its numbers are compared
        found = model.fit(method="bfgs", disp=0, gtol=1e-9, maxiter=500, **how)
    return found, model.transform_threshold_params(found.params)[1:-1]


@pytest.mark.parametrize("p", [1, 3])
def test_without_penalty_it_is_the_ordered_model_of_statsmodels(p):
    x, y, _ = labelled(p=p)
    fit = ordered_logit(x, y, ridge=0, pseudo=0)
    found, thresholds = ordered_model(x, y)
    np.testing.assert_allclose(fit.slopes, found.params[:p], atol=2e-5)
    np.testing.assert_allclose(fit.thresholds, thresholds, atol=2e-5)
    assert fit.log_likelihood == pytest.approx(found.llf, abs=1e-6)


def test_where_packages_differ_the_gradient_says_who_arrived(loaded):
    """LLM-Rubric, synthetic, Q0: 1.172016, where statsmodels by default stops at 1.172009 with the same likelihood.

    Gradients in 40 digits: 1e-13 at ours, .003 at theirs; theirs comes to ours when it goes on (gtol=1e-9).
    """
    _, ratings = loaded("load_llm_rubric", "synth")
    rows = ratings[(ratings["criterion"] == "Q0") & ratings["score"].notna()]
    judged = rows[rows["method"] != "human"]
    mean = (judged["score"] * judged["weight"]).groupby(judged["item"].astype(str)).sum()
    people = rows[(rows["method"] == "human") & rows["item"].astype(str).isin(mean.index)]
    x, y = mean.loc[people["item"].astype(str)].to_numpy(), people["score"].to_numpy() - 1
    fit = ordered_logit(x, y, levels=range(4), ridge=0, pseudo=0)
    assert len(y) == 662
    assert fit.slopes[0] == pytest.approx(1.172016, abs=5e-7)
    assert largest_gradient(fit.thresholds, fit.slopes[0], x, y) < 1e-11
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    model = ordinal.OrderedModel(y, x[:, None], distr="logit")
    theirs = model.fit(method="bfgs", disp=0)
    thresholds = model.transform_threshold_params(theirs.params)[1:-1]
    assert theirs.llf == pytest.approx(fit.log_likelihood, abs=1e-7)
    assert theirs.llf <= fit.log_likelihood
    assert largest_gradient(thresholds, theirs.params[0], x, y) > 1e-4
    assert model.fit(method="bfgs", disp=0, gtol=1e-9).params[0] == pytest.approx(fit.slopes[0], abs=1e-7)


def largest_gradient(thresholds, slope, x, y):
    """Of the log-likelihood, in decimals of 40 digits."""
    with localcontext(prec=40):
        a, b = [Decimal(float(one)) for one in thresholds], Decimal(float(slope))
        gradient = [Decimal(0)] * (len(a) + 1)
        for value, place in zip(map(Decimal, x.tolist()), y.astype(int), strict=True):
            ends = [0, *(1 / (1 + (b * value - one).exp()) for one in a), 1]
            low, high = ends[place], ends[place + 1]
            of_low, of_high = low * (1 - low) / (high - low), high * (1 - high) / (high - low)
            gradient[-1] -= value * (of_high - of_low)
            if place < len(a):
                gradient[place] += of_high
            if place:
                gradient[place - 1] -= of_low
        return float(max(map(abs, gradient)))


def test_two_levels_with_a_ridge_are_the_logistic_regression_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    x, y, _ = labelled(p=2, levels=2)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    for ridge in (0.5, 5.0):
        fit = ordered_logit(x, y, ridge=ridge, pseudo=0)
        peer = linear.LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=1000).fit(z, y)
        np.testing.assert_allclose(fit.predict(x), peer.predict_proba(z), atol=1e-6)


# --- how sure -----------------------------------------------------------------------------------------------------


def log_likelihood(parameters, x, y):
    """Of thresholds and slopes, in plain steps."""
    a, b = parameters[:3], parameters[3:]
    below = 1 / (1 + np.exp(-(np.concatenate([[-np.inf], a, [np.inf]]) - (x @ b)[:, None])))
    place = y.astype(int)
    return np.log(below[np.arange(len(y)), place] - below[np.arange(len(y)), place - 1]).sum()


def test_the_covariance_is_the_inverse_of_the_second_derivatives():
    pytest.importorskip("statsmodels")
    x, y, _ = labelled(p=2)
    fit = ordered_logit(x, y, ridge=0, pseudo=0)
    at, step = np.concatenate([fit.thresholds, fit.slopes]), 1e-3 * np.eye(5)
    second = [
        [sum(s * t * log_likelihood(at + s * i + t * j, x, y) for s in (1, -1) for t in (1, -1)) / 4e-6 for j in step]
        for i in step
    ]
    np.testing.assert_allclose(fit.covariance(), np.linalg.inv(-np.array(second)), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("clustered", [False, True])
def test_standard_errors_are_those_of_statsmodels(clustered):
    x, y, group = labelled(p=2)
    fit = ordered_logit(x, y, ridge=0, pseudo=0, groups=group if clustered else None)
    how = {"cov_type": "cluster", "cov_kwds": {"groups": group}} if clustered else {}
    errors = np.asarray(ordered_model(x, y, **how)[0].bse)  # slopes, first threshold, logarithms of gaps
    np.testing.assert_allclose(fit.std_errors[[3, 4, 0]], errors[:3], rtol=1e-3)


def test_labels_in_copies_are_less_sure_when_clustered():
    pytest.importorskip("statsmodels")
    x, y, _ = labelled(n=100)
    copies = {"x": np.repeat(x, 4, axis=0), "y": np.repeat(y, 4), "ridge": 0, "pseudo": 0}
    alone = ordered_logit(x, y, ridge=0, pseudo=0).std_errors
    assert (ordered_logit(**copies).std_errors < 0.6 * alone).all()
    assert (ordered_logit(**copies, groups=np.repeat(np.arange(100), 4)).std_errors > 0.8 * alone).all()


def test_input_on_another_scale_has_errors_on_that_scale():
    pytest.importorskip("statsmodels")
    x, y, _ = labelled()
    small, large = (ordered_logit(x * size, y, ridge=0, pseudo=0).std_errors for size in (1.0, 1e6))
    assert large[-1] * 1e6 == pytest.approx(small[-1], rel=1e-4)


def test_a_fit_without_covariance_says_why():
    x, y, _ = labelled(n=60)
    with pytest.raises(ArgumentError, match="`ridge` must be 0 for a covariance: type ridge=0, pseudo=0, but is 1"):
        ordered_logit(x, y).covariance()
    with pytest.raises(ArgumentError, match="`pseudo` must be 0"):
        ordered_logit(x, y, ridge=0).covariance()
    with pytest.raises(ArgumentError, match="`weights` must be left out"):
        ordered_logit(x, y, ridge=0, pseudo=0, weights=np.full(60, 2.0)).covariance()


# --- judges of every kind -------------------------------------------------------------------------------------------


def test_a_level_that_nobody_used_stays_possible():
    x, y, _ = labelled(n=25, levels=4)
    fit = ordered_logit(x, y, levels=[1, 2, 3, 4, 5])
    assert (np.diff(fit.thresholds) > 0).all()
    assert (fit.predict(x)[:, 4] > 1e-4).all()
    inner = ordered_logit(x[y != 2], y[y != 2], levels=[1, 2, 3, 4])
    assert (inner.predict(x)[:, 1] > 1e-4).all()
    with pytest.raises(ArgumentError, match=r"`pseudo` must be above 0 where a level has no label \(here 3\)"):
        ordered_logit([1, 2, 3, 4], [1, 2, 1, 2], levels=[1, 2, 3], pseudo=0)


def test_a_constant_judge_forecasts_the_shares():
    y = np.repeat([1.0, 2.0, 3.0], [10, 6, 4])
    with pytest.warns(CalibWarning, match="constant_judge"):
        fit = ordered_logit(np.full(20, 7.0), y)
    np.testing.assert_allclose(
        fit.predict([7.0, 9.0]), np.tile(np.array([31 / 63, 19 / 63, 13 / 63]), (2, 1)), atol=1e-6
    )
    assert fit.slopes == [0.0]


def test_of_several_inputs_a_negative_one_beside_the_own_score_is_no_reversed_judge():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 3))
    y = np.digitize(x @ [1.0, -1.0, -1.0] + rng.logistic(size=300), [-1, 1])
    assert not ordered_logit(x, y).warnings


@pytest.mark.parametrize(("levels", "pseudo"), [(2, 0.0), (2, 1.0), (3, 0.0), (4, 0.0)])
def test_separated_labels_have_no_end_without_a_ridge(levels, pseudo):
    x, y = np.arange(12.0), np.repeat(np.arange(levels), 12 // levels)
    with pytest.warns(CalibWarning, match="separation"):
        fit = ordered_logit(x, y, ridge=0, pseudo=pseudo)
    assert np.isfinite(fit.predict(x)).all()
    assert (fit.predict(x).argmax(axis=1) == y).all()
    assert not ordered_logit(x, y).warnings
    if not pseudo:
        with pytest.raises(ArgumentError, match="separate the labels"):
            fit.covariance()


def test_a_fit_that_has_an_end_is_not_called_separated():
    for seed in range(20):
        x, y, _ = labelled(n=60, seed=seed)
        assert not ordered_logit(x, y, ridge=0, pseudo=0).warnings


def test_a_judge_far_off_its_scale_leaves_every_label_possible():
    x, y, _ = labelled()
    p = ordered_logit(x, y).predict([1e2, -1e2])
    assert (p > 0).all()
    assert np.isfinite(ordered_logit(x, y).predict([1e300, -1e300, 1.7e308])).all()


# --- whichever way they come ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "start"), [(1e-9, 0), (1e9, 0), (10, -5), (1e-200, 0), (1e200, 0), (1, 1e6)])
def test_the_scale_of_the_judge_changes_no_forecast(size, start):
    x, y, _ = labelled(p=2)
    moved = x * [size, 1.0] + [start, 0.0]
    np.testing.assert_allclose(ordered_logit(moved, y).predict(moved), ordered_logit(x, y).predict(x), atol=1e-7)


def test_weights_are_rows_repeated():
    x, y, _ = labelled(n=60)
    times = np.arange(60) % 4
    weighted = ordered_logit(x, y, weights=times, levels=[1, 2, 3, 4])
    repeated = ordered_logit(np.repeat(x, times, axis=0), np.repeat(y, times), levels=[1, 2, 3, 4])
    np.testing.assert_allclose(weighted.thresholds, repeated.thresholds, atol=1e-8)
    np.testing.assert_allclose(weighted.slopes, repeated.slopes, atol=1e-8)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood)
    assert (weighted.n, weighted.n_missing) == (45, 15)


def test_rows_without_label_or_score_are_left_out_and_counted():
    x, y, group = labelled(n=40)
    holes, labels = x.copy(), y.copy()
    holes[3], labels[[5, 6]] = np.nan, np.nan
    fit, kept = ordered_logit(holes, labels, groups=group), np.delete(np.arange(40), [3, 5, 6])
    np.testing.assert_allclose(fit.slopes, ordered_logit(x[kept], y[kept]).slopes)
    assert (fit.n, fit.n_missing, fit.n_groups) == (37, 3, 10)


def test_whole_numbers_and_others_are_counted_alike():
    rng = np.random.default_rng(4)
    x = rng.integers(-3, 4, 200).astype(float)
    y = np.digitize(x + rng.logistic(size=200), [-1, 1])
    np.testing.assert_allclose(
        ordered_logit(x, y).predict(x), ordered_logit(x / 7 + 0.1, y).predict(x / 7 + 0.1), atol=1e-9
    )


drawn = hnp.arrays(float, st.integers(8, 40), elements=st.floats(-1e6, 1e6, allow_subnormal=False))


@settings(deadline=None)
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
@given(x=drawn, seed=st.integers(0, 99), ridge=st.sampled_from([0.0, 1.0, 1e6]), pseudo=st.sampled_from([0.01, 1.0]))
def test_thresholds_ascend_and_chances_sum_to_one(x, seed, ridge, pseudo):
    y = np.random.default_rng(seed).integers(1, 5, len(x))
    fit = ordered_logit(x, y, levels=[1, 2, 3, 4, 5], ridge=ridge, pseudo=pseudo)
    p = fit.predict(x)
    assert (np.diff(fit.thresholds) > 0).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)


@settings(deadline=None)
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
@given(seed=st.integers(0, 999), ridge=st.sampled_from([1.0, None]))
def test_the_order_of_rows_changes_nothing(seed, ridge):
    rng = np.random.default_rng(seed)
    x, y, group = labelled(n=60, p=2, seed=seed)
    order = rng.permutation(60)
    one = ordered_logit(x, y, ridge=ridge, groups=group)
    other = ordered_logit(x[order], y[order], ridge=ridge, groups=group[order])
    np.testing.assert_allclose(one.predict(x), other.predict(x), atol=1e-8)
    assert (one.ridge, one.inputs_used) == (other.ridge, other.inputs_used)


# --- the penalty and the inputs, chosen by documents ------------------------------------------------------------------


def copied(n_texts=40, copies=5, p=12, seed=0):
    """Texts of one label each that stand there several times, and inputs that know nothing of the label."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n_texts, p)), rng.integers(1, 5, n_texts).astype(float)
    return np.repeat(x, copies, axis=0), np.repeat(y, copies), np.repeat(np.arange(n_texts), copies)


def chosen_of(fit):
    return next(one for one in fit.candidates if one.chosen)


def best_of_all_inputs(fit):
    return min(one.rps for one in fit.candidates if len(one.inputs) > 1)


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_copies_of_a_text_in_other_folds_do_not_tell_its_label():
    """A leak: with folds of labels noise forecasts labels, since a copy of each text is in the fit."""
    for seed in range(5):
        x, y, text = copied(seed=seed)
        leaking, honest = (ordered_logit(x, y, ridge=None, groups=groups) for groups in (None, text))
        assert best_of_all_inputs(leaking) < 0.9 * best_of_all_inputs(honest)
        assert len(leaking.inputs_used) == 12
        assert len(honest.inputs_used) == 1


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_what_forecasts_labels_is_taken():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    own = np.digitize(1.5 * x[:, 0] + rng.logistic(size=200), [-1, 0, 1])
    all_ = np.digitize(x @ [0.2, 1.0, 1.0, 1.0] + rng.logistic(size=200), [-1, 0, 1])
    assert ordered_logit(x, own, ridge=None).inputs_used == (0,)
    fit = ordered_logit(x, all_, ridge=None)
    assert fit.inputs_used == (0, 1, 2, 3)
    assert (chosen_of(fit).ridge, chosen_of(fit).inputs) == (fit.ridge, fit.inputs_used)


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_inputs_that_are_not_taken_may_be_missing_later():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 3))
    fit = ordered_logit(x, np.digitize(2 * x[:, 0] + rng.logistic(size=100), [-1, 1]), ridge=None)
    assert (fit.slopes[1:] == 0).all()
    later = x[:5] * [1, np.nan, np.nan]
    np.testing.assert_allclose(fit.predict(later), fit.predict(x[:5]))


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_the_table_has_what_leaving_folds_out_gives():
    """Ten labels, so ten folds of one label each."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=10)
    y = np.array([1, 2, 1, 2, 2, 1, 2, 1, 2, 2.0])
    one, losses, z = ordered_logit(x, y, ridge=None, pseudo=0).candidates[1], [], (x - x.mean()) / x.std()
    for i in range(10):
        rest = np.arange(10) != i
        # the spread is that of all ten labels: the same penalty of the same standardised slope
        left = ordered_logit(z[rest], y[rest], ridge=one.ridge / z[rest].var(), pseudo=0)
        losses.append(-np.log(left.predict(z[[i]])[0, int(y[i]) - 1]))
    assert one.log_score == pytest.approx(np.mean(losses), abs=1e-6)


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_a_penalty_is_taken_when_it_is_clearly_better():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 20))
    y = np.digitize(x @ rng.normal(size=20) + rng.logistic(size=400), [-2, 0, 2])
    assert ordered_logit(x, y, ridge=None).ridge < 20.0


@pytest.mark.filterwarnings("ignore:negative_slope")
def test_with_too_few_groups_the_first_input_and_its_reference_stay():
    x, y, _ = copied(n_texts=40, copies=1)
    fit = ordered_logit(x, y, ridge=None, groups=np.arange(40) % 4)
    assert (fit.candidates, fit.inputs_used, fit.ridge) == ((), (0,), 1.0)


def test_with_plenty_of_labels_only_inputs_are_chosen():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(1200, 2))
    y = np.digitize(x.sum(axis=1) + rng.logistic(size=1200), [-1, 1])
    assert ordered_logit(x[:, 0], y, ridge=None).candidates == ()
    fit = ordered_logit(x, y, ridge=None)
    assert [(one.inputs, one.ridge) for one in fit.candidates] == [((0,), 1.0), ((0, 1), 2.0)]
    assert fit.inputs_used == (0, 1)


# --- what is refused ------------------------------------------------------------------------------------------------

GOOD = {"x": [1, 2, 3, 4], "y": [1, 1, 2, 2]}
BAD = [
    ({"levels": [2, 1]}, "`levels` must be two values or more, each above the one before, but got 2, 1"),
    ({"levels": [1, 1, 2]}, "each above the one before, but got 1, 1, 2"),
    ({"levels": [1]}, "`levels` must be two values or more"),
    ({"levels": [1, np.nan]}, "`levels` must be two values or more"),
    ({"levels": []}, "but got none"),
    ({"levels": [1, 3]}, "`y` must be one of the levels 1, 3, but got 2"),
    ({"y": [1, 1, 1, 1]}, "`y` must have two values or more, or `levels` must say"),
    ({"y": [np.nan] * 4}, "`y` must have a label where `x` has a score, but got none"),
    ({"y": [1, 1, 2]}, r"`y` must have the length of `x` \(4\), but got 3"),
    ({"y": [1, 1, 2, np.inf]}, "`y` must be finite or NaN"),
    ({"y": list("abcd")}, "`y` must be numeric"),
    ({"x": [1, 2, 3, np.inf]}, "`x` must be finite or NaN"),
    ({"x": np.zeros((4, 2, 2))}, r"`x` must be an array of shape \(n,\) or \(n, p\)"),
    ({"x": np.zeros((4, 0))}, r"`x` must be an array of shape \(n,\) or \(n, p\)"),
    ({"x": 3.0}, r"`x` must be an array of shape \(n,\) or \(n, p\)"),
    ({"ridge": -1.0}, "`ridge` must be a number not below 0, but got -1.0"),
    ({"ridge": np.nan}, "`ridge` must be a number not below 0"),
    ({"ridge": "strong"}, "`ridge` must be a number or None"),
    ({"pseudo": -0.5}, "`pseudo` must be a number not below 0"),
    ({"pseudo": None}, "`pseudo` must be a number"),
    ({"weights": [1, 1, 1, -2]}, "`weights` must be numbers not below 0, but got -2"),
    ({"weights": [1, 1, 1, np.nan]}, "`weights` must be numbers not below 0, but got nan"),
    ({"weights": [0, 0, 0, 0]}, "`y` must have a label"),
    ({"weights": [1, 1]}, "`weights` must have the length of"),
    ({"groups": ["a", "b"]}, "`groups` must have the length of"),
    ({"groups": ["a", "b", None, "a"]}, "`groups` must have no missing label"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_refused_by_its_name(change, message):
    with pytest.raises(ArgumentError, match=message):
        ordered_logit(**(GOOD | change))


def test_another_number_of_inputs_is_refused():
    x, y, _ = labelled(p=3)
    with pytest.raises(ArgumentError, match=r"`x` must be an array of shape \(n, 3\), but got shape \(240,\)"):
        ordered_logit(x, y).predict(x[:, 0])
