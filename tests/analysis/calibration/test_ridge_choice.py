"""The penalty and the inputs, chosen by documents."""

import numpy as np
import pytest

from calib.stats import ordered_logit

pytestmark = pytest.mark.filterwarnings("ignore:negative_slope")  # of inputs that know nothing


def copied(n_texts=40, copies=5, p=12, seed=0):
    """Texts of one label each that stand there several times, and inputs that know nothing of the label."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n_texts, p)), rng.integers(1, 5, n_texts).astype(float)
    return np.repeat(x, copies, axis=0), np.repeat(y, copies), np.repeat(np.arange(n_texts), copies)


def chosen(fit):
    return next(one for one in fit.candidates if one.chosen)


def best_of_all_inputs(fit):
    return min(one.rps for one in fit.candidates if len(one.inputs) > 1)


def test_copies_of_a_text_in_other_folds_do_not_tell_its_label():
    """A leak: with folds of labels noise forecasts labels, since a copy of each text is in the fit."""
    for seed in range(5):
        x, y, text = copied(seed=seed)
        leaking, honest = (ordered_logit(x, y, ridge=None, groups=groups) for groups in (None, text))
        assert best_of_all_inputs(leaking) < 0.9 * best_of_all_inputs(honest)
        assert len(leaking.inputs_used) == 12
        assert len(honest.inputs_used) == 1


def test_what_forecasts_labels_is_taken():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 4))
    own = np.digitize(1.5 * x[:, 0] + rng.logistic(size=200), [-1, 0, 1])
    all_ = np.digitize(x @ [0.2, 1.0, 1.0, 1.0] + rng.logistic(size=200), [-1, 0, 1])
    assert ordered_logit(x, own, ridge=None).inputs_used == (0,)
    fit = ordered_logit(x, all_, ridge=None)
    assert fit.inputs_used == (0, 1, 2, 3)
    assert (chosen(fit).ridge, chosen(fit).inputs) == (fit.ridge, fit.inputs_used)


def test_inputs_that_are_not_taken_may_be_missing_later():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 3))
    fit = ordered_logit(x, np.digitize(2 * x[:, 0] + rng.logistic(size=100), [-1, 1]), ridge=None)
    assert (fit.slopes[1:] == 0).all()
    later = x[:5] * [1, np.nan, np.nan]
    np.testing.assert_allclose(fit.predict(later), fit.predict(x[:5]))


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


def test_a_penalty_is_taken_when_it_is_clearly_better():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 20))
    y = np.digitize(x @ rng.normal(size=20) + rng.logistic(size=400), [-2, 0, 2])
    assert ordered_logit(x, y, ridge=None).ridge < 20.0


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
