"""Pass and fail on arrays: other packages, coverage, production, cuts."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from calib.core.check import ArgumentError
from calib.stats import CalibWarning, pass_fail, roc, rogan_gladen


def drawn(rng, n, tpr, tnr, share, unlabelled=0):
    """Verdicts of a judge and of people, some of these hidden."""
    yes = rng.random(n + unlabelled) < share
    judge = np.where(yes, rng.random(len(yes)) < tpr, rng.random(len(yes)) > tnr).astype(float)
    labels = yes.astype(float)
    labels[n:] = np.nan
    return judge, labels, yes.mean()


@pytest.fixture
def verdicts():
    return drawn(np.random.default_rng(0), 200, 0.9, 0.8, 0.7)[:2]


def test_figures_are_those_of_scikit_learn(verdicts):
    metrics = pytest.importorskip("sklearn.metrics")
    judge, labels = verdicts
    found = pass_fail(judge, labels)
    expected = {
        "tpr": metrics.recall_score(labels, judge), "tnr": metrics.recall_score(labels, judge, pos_label=0),
        "precision": metrics.precision_score(labels, judge), "npv": metrics.precision_score(labels, judge, pos_label=0),
        "accuracy": metrics.accuracy_score(labels, judge), "f1": metrics.f1_score(labels, judge),
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, judge),
        "mcc": metrics.matthews_corrcoef(labels, judge), "kappa": metrics.cohen_kappa_score(labels, judge),
    }  # fmt: skip
    assert {name: getattr(found, name).estimate for name in expected} == pytest.approx(expected, rel=1e-12)
    tn, fp, fn, tp = metrics.confusion_matrix(labels, judge).ravel()
    assert (found.tp, found.fp, found.fn, found.tn) == (tp, fp, fn, tn)


def test_ac1_is_gwets(verdicts):
    from calib.stats import gwet_ac

    assert pass_fail(*verdicts).ac1.estimate == pytest.approx(gwet_ac(np.c_[verdicts]).estimate, rel=1e-12)


def test_rates_have_wilsons_interval(verdicts):
    judge, labels = verdicts
    found = pass_fail(judge, labels)
    theirs = scipy_stats.binomtest(found.tp, found.tp + found.fn).proportion_ci(method="wilson")
    assert tuple(found.tpr.interval) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_the_corrected_rate_is_rogan_gladens():
    judge, labels, _ = drawn(np.random.default_rng(1), 100, 0.9, 0.8, 0.6, unlabelled=900)
    known = ~np.isnan(labels)
    theirs = rogan_gladen(judge, labels[known], judge[known])
    found = pass_fail(judge, labels)
    assert found.corrected.estimate == pytest.approx(theirs.estimate)
    assert tuple(found.corrected.interval) == pytest.approx(tuple(theirs.interval))
    assert found.pass_rate is found.ppi
    assert found.ppi.n == 1000


def test_a_balanced_test_set_and_skewed_production():
    """Half of the test set passes, a tenth of production: only the error rates carry over."""
    rng = np.random.default_rng(2)
    judge, labels, _ = drawn(rng, 400, 0.9, 0.85, 0.5)
    there, _, share = drawn(rng, 5000, 0.9, 0.85, 0.1)
    found = pass_fail(judge, labels, production=there)
    assert math.isnan(found.ppi.estimate)
    assert found.judge_rate.estimate == there.mean() > 0.2
    assert found.corrected.interval.low < share < found.corrected.interval.high
    assert found.pass_rate is found.corrected
    assert found.n_production == 5000


@pytest.mark.parametrize("words", [("pass", "fail"), ("Yes", "no"), (True, False), ("correct", " incorrect ")])
def test_names_are_verdicts(verdicts, words):
    judge, labels = verdicts
    named = [[words[0] if v else words[1] for v in side] for side in (judge, labels)]
    assert pass_fail(*named) == pass_fail(judge, labels)


def test_an_empty_text_is_no_label():
    found = pass_fail(["pass", "fail", "pass", "fail"] * 20, ["pass", "fail", "", None] * 20)
    assert (found.n, found.n_labelled) == (80, 40)


# --- the threshold ----------------------------------------------------------------------------------------------------


def scores_of(rng, n=300, gain=1.0):
    yes = rng.random(n) < 0.6
    return np.round(5 * scipy_stats.norm.cdf(gain * (yes - 0.5) + rng.normal(size=n)), 1), yes.astype(float)


def test_a_threshold_that_is_chosen_is_judged_by_others():
    """Of a judge that knows nothing, a cut chosen and judged by the same labels looks better than chance."""
    rng, own, held = np.random.default_rng(3), [], []
    for _ in range(100):
        scores, labels = rng.normal(size=60), np.repeat([0.0, 1.0], 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibWarning)
            found = pass_fail(scores, labels)
            own.append(pass_fail(scores, labels, judge_threshold=found.judge_threshold).balanced_accuracy.estimate)
        held.append(found.balanced_accuracy.estimate)
    assert np.mean(own) > 0.55
    assert abs(np.mean(held) - 0.5) < 0.03


def test_costs_move_the_threshold():
    scores, labels = scores_of(np.random.default_rng(4))
    strict, even, lenient = (pass_fail(scores, labels, cost=c).judge_threshold for c in ((5, 1), (1, 1), (1, 5)))
    assert strict > even > lenient


def test_a_threshold_of_the_caller_is_used():
    scores, labels = scores_of(np.random.default_rng(5))
    found = pass_fail(scores, labels, judge_threshold=2.5)
    assert found.judge_threshold == 2.5
    same = pass_fail((scores >= 2.5).astype(float), labels)
    assert (found.tp, found.fp, found.tpr) == (same.tp, same.fp, same.tpr)
    assert not found.chosen
    assert same.roc is None


def test_the_area_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    scores, labels = scores_of(np.random.default_rng(6))
    found = roc(scores, labels)
    assert found.auc.estimate == pytest.approx(metrics.roc_auc_score(labels, scores), rel=1e-12)
    fpr, tpr, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert sorted(found.tpr) == pytest.approx(sorted(tpr)[1:-1])
    assert sorted(found.fpr) == pytest.approx(sorted(fpr)[1:-1])


def test_delongs_variance_is_that_of_the_jackknife():
    """They agree to the order 1/n."""
    scores, labels = scores_of(np.random.default_rng(7), n=200)
    whole = roc(scores, labels, groups=range(200)).auc
    left = np.array([roc(np.delete(scores, i), np.delete(labels, i)).auc.estimate for i in range(200)])
    error = math.sqrt(199 / 200 * ((left - left.mean()) ** 2).sum())
    a = whole.estimate
    half = scipy_stats.t.ppf(0.975, 199) * error / (a * (1 - a))
    ends = scipy_stats.logistic.cdf(scipy_stats.logistic.ppf(a) + np.array([-half, half]))
    assert tuple(whole.interval) == pytest.approx(tuple(ends), abs=2e-3)


# --- coverage ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "tpr", "tnr", "share"), [(30, 0.9, 0.8, 0.6), (100, 0.9, 0.8, 0.8), (300, 0.95, 0.9, 0.5)]
)
def test_intervals_hold(n, tpr, tnr, share):
    """At length, with groups and beside other programs: paper_repro/bias_coverage."""
    rng, runs = np.random.default_rng(8), 400
    cells = np.array([share * tpr, (1 - share) * (1 - tnr), share * (1 - tpr), (1 - share) * tnr])
    many = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], np.round(cells * 10_000).astype(int), axis=0)
    true = pass_fail(many[:, 0], many[:, 1])
    names = ("tpr", "tnr", "precision", "balanced_accuracy", "f1", "mcc", "kappa", "ac1", "label_rate")
    held = dict.fromkeys((*names, "corrected", "ppi"), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            judge, labels, _ = drawn(rng, n, tpr, tnr, share, unlabelled=1000)
            found = pass_fail(judge, labels)
            for name in held:
                low, high = getattr(found, name).interval
                value = getattr(true, name).estimate if name in names else share
                held[name] += low <= value <= high
    shares = {name: count / runs for name, count in held.items()}
    assert all(0.905 <= value <= 0.995 for value in shares.values()), shares


@pytest.mark.slow
def test_intervals_hold_where_items_of_a_document_go_together():
    rng, runs, held = np.random.default_rng(9), 400, dict.fromkeys(("tpr", "tnr", "kappa", "ac1"), 0)
    group = np.repeat(np.arange(20), 15)
    beta = {name: (9 * p, 9 * (1 - p)) for name, p in (("share", 0.5), ("tpr", 0.9), ("tnr", 0.8))}  # ICC .1
    naive = 0
    for _ in range(runs):
        share, tpr, tnr = (rng.beta(*beta[name], 20)[group] for name in beta)
        labels = rng.random(300) < share
        judge = np.where(labels, rng.random(300) < tpr, rng.random(300) > tnr).astype(float)
        found = pass_fail(judge, labels, groups=group)
        for name, value in (("tpr", 0.9), ("tnr", 0.8), ("kappa", 0.7), ("ac1", 0.7005)):
            low, high = getattr(found, name).interval
            held[name] += low <= value <= high
        low, high = pass_fail(judge, labels).tnr.interval
        naive += low <= 0.8 <= high
    assert all(0.90 <= count / runs <= 0.985 for count in held.values()), held
    assert naive / runs < 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, pytest.param(300, marks=pytest.mark.long)])
def test_intervals_hold_for_the_threshold_that_was_chosen(n):
    """Normal scores: at the cut that the labels chose, the rates of as many items as one likes are known."""
    rng, runs, held = np.random.default_rng(11), 300, dict.fromkeys(("tpr", "tnr", "accuracy", "corrected", "ppi"), 0)
    for _ in range(runs):
        labels = (rng.random(n + 500) < 0.6).astype(float)
        scores = 1.5 * labels + rng.normal(size=n + 500)
        labels[n:] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibWarning)
            found = pass_fail(scores, labels)
        tpr, tnr = 1 - scipy_stats.norm.cdf(found.judge_threshold - 1.5), scipy_stats.norm.cdf(found.judge_threshold)
        true = {"tpr": tpr, "tnr": tnr, "accuracy": 0.6 * tpr + 0.4 * tnr, "corrected": 0.6, "ppi": 0.6}
        for name, value in true.items():
            low, high = getattr(found, name).interval
            held[name] += low <= value <= high
    assert held.pop("corrected") / runs >= 0.92  # of two cuts together it holds too often
    assert all(0.91 <= count / runs <= 0.99 for count in held.values()), held


# --- what has no answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [math.nan] * 200}, "`labels` must be of items that `judge` scored, but none is"),
        ({"labels": [2] * 200}, "`labels` must be 1 \\(pass\\) and 0"),
        ({"labels": ["perhaps"] * 200}, "must be verdicts such as 'pass' and 'fail'"),
        ({"labels": [1, 0]}, "`labels` must have the length of `judge`"),
        ({"judge": np.ones(200) * 3}, "`scores` must differ"),
        ({"cost": (1, 0)}, "`cost` must be two positive numbers"),
        ({"confidence_level": 95}, "`confidence_level`"),
    ],
)
def test_what_has_no_answer_is_refused(verdicts, change, words):
    judge, labels = verdicts
    with pytest.raises(ArgumentError, match=words):
        pass_fail(**{"judge": judge, "labels": labels} | change)


def test_a_judge_no_better_than_chance_says_nothing_of_the_rate():
    judge, labels = np.tile([1, 0, 0, 1], 50), np.tile([0, 1, 0, 1], 50)
    with pytest.warns(CalibWarning, match="chance"):
        found = pass_fail(judge, labels)
    assert math.isnan(found.corrected.estimate)
    assert found.corrected.interval == (0, 1)


@pytest.mark.parametrize("outcome", [1.0, 0.0])
def test_of_one_outcome_its_own_rate_is_there(outcome):
    """30 labels alike, of which the judge is right about 27; 200 more items without a label."""
    right = np.r_[np.ones(27), np.zeros(3), np.tile([1, 1, 1, 0], 50)]
    judge, labels = np.where(right == 1, outcome, 1 - outcome), np.r_[np.full(30, outcome), np.full(200, np.nan)]
    with pytest.warns(CalibWarning, match=r"^one_outcome: all 30 labels .*\(50 more are there\)") as told:
        found = pass_fail(judge, labels)
    assert len(told) == 1
    there, open_one = (found.tpr, found.tnr) if outcome else (found.tnr, found.tpr)
    theirs = scipy_stats.binomtest(27, 30).proportion_ci(method="wilson")
    assert there.estimate == 0.9
    assert tuple(there.interval) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert (math.isnan(open_one.estimate), open_one.interval, open_one.n) == (True, (0, 1), 0)
    assert found.balanced_accuracy.interval == pytest.approx((theirs.low / 2, (theirs.high + 1) / 2), rel=1e-9)
    assert math.isnan(found.kappa.estimate)
    assert math.isnan(found.mcc.estimate)
    assert math.isnan(found.corrected.estimate)
    assert (found.label_rate.estimate, found.ppi.estimate) == (outcome, outcome)
    assert "nan (95 %" not in str(found)


@pytest.mark.parametrize("outcome", [1.0, 0.0])
@pytest.mark.parametrize(("right", "called"), [(0.95, 0.5), (0.4, 0.8), (0.7, 0.7)])
def test_bounds_of_the_rate_are_those_of_any_other_error_rate(right, called, outcome):
    """By going through all shares and all rates of the other outcome that give the judge's rate."""
    n, production = 20_000, np.where(np.arange(100_000) < called * 100_000, outcome, 1 - outcome)
    judge = np.where(np.arange(n) < right * n, outcome, 1 - outcome)
    with pytest.warns(CalibWarning, match="one_outcome"):
        found = pass_fail(judge, np.full(n, outcome), production=production)
    share, other = np.meshgrid(np.linspace(0, 1, 2001), np.linspace(0, 1, 2001))
    possible = share[np.abs(share * right + (1 - share) * other - called) < 5e-4]
    ends = (possible.min(), possible.max()) if outcome else (1 - possible.max(), 1 - possible.min())
    assert tuple(found.corrected.interval) == pytest.approx(ends, abs=0.03)
    assert found.corrected.interval.low <= ends[0]
    assert found.corrected.interval.high >= ends[1] - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.98, 0.02])
def test_intervals_hold_where_half_of_the_samples_have_one_outcome(share):
    rng, runs, tpr, tnr = np.random.default_rng(9), 500, 0.9, 0.85
    held, alike = dict.fromkeys(("tpr", "tnr", "label_rate", "corrected", "ppi"), 0), 0
    true = {"tpr": tpr, "tnr": tnr, "label_rate": share, "corrected": share, "ppi": share}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        for _ in range(runs):
            found = pass_fail(*drawn(rng, 30, tpr, tnr, share, unlabelled=500)[:2])
            alike += found.warnings[0].startswith("one_outcome")
            for name, value in true.items():
                low, high = getattr(found, name).interval
                held[name] += low <= value <= high
    assert 0.48 < alike / runs < 0.62  # .98 ** 30 = .545
    assert all(0.91 <= count / runs <= 1 for count in held.values()), held
    assert held["tpr" if share > 0.5 else "tnr"] / runs < 0.985


@pytest.mark.parametrize("outcome", [1.0, 0.0])
@pytest.mark.parametrize("production", [None, np.arange(50) % 5])
def test_scores_and_labels_of_one_outcome_give_the_rate_of_people(outcome, production):
    labels = np.r_[np.full(30, outcome), np.full(70, np.nan)]
    with pytest.warns(CalibWarning, match=r"^no_threshold: all 30 labels .* Set `judge_threshold`"):
        found = pass_fail(np.arange(100) % 5, labels, production=production)
    theirs = scipy_stats.binomtest(int(30 * outcome), 30).proportion_ci(method="wilson")
    assert found.label_rate.estimate == outcome
    assert tuple(found.label_rate.interval) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    others = (found.tpr, found.tnr, found.judge_rate, found.corrected, found.ppi)
    assert all(math.isnan(one.estimate) for one in others)
    # people's rate of the labelled items is none of production
    assert found.pass_rate == (found.label_rate if production is None else found.corrected)
    assert "no threshold, so no rate of the judge" in str(found)


def test_few_of_one_outcome_are_said():
    judge, labels = np.r_[np.ones(40), np.zeros(5)], np.r_[np.ones(41), np.zeros(4)]
    with pytest.warns(CalibWarning, match="few_labels: only 4"):
        found = pass_fail(judge, labels)
    assert found.tnr.interval.high == 1
    assert found.tnr.interval.low > 0.3


def test_labels_of_as_many_passes_as_fails_are_no_random_sample():
    """Drawn by the judge's verdict, labels show another TPR and TNR than all items have."""
    rng = np.random.default_rng(1)
    people = rng.random(1000) < 0.9
    judge = np.where(people, rng.random(1000) < 0.9, rng.random(1000) < 0.3)
    by_verdict = np.r_[np.flatnonzero(judge)[:60], np.flatnonzero(~judge)[:60]]
    for labelled, named in ((by_verdict, True), (np.arange(120), False)):
        labels = np.full(1000, np.nan)
        labels[labelled] = people[labelled]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pass_fail(judge.astype(float), labels)
        assert any(text.startswith("labels_unlike_rest") for text in found.warnings) == named
        assert (0.85 < found.tpr.estimate < 0.95) != named
