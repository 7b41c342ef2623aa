"""CORP: reference values, other packages, what must hold of any decomposition."""

import numpy as np
import pytest

import calib
from calib.analysis.calibration.corp import learned_elsewhere, monotone, ordered
from calib.stats import corp, ranked_probability_score

# score, MCB, DSC, UNC, score of the recalibrated: calibration.md, G2, where they were computed by other code
SUMMEVAL = {
    "coherence": (0.198750, 0.065448, 0.027695, 0.160997, 0.133302),
    "relevance": (0.313438, 0.210439, 0.015458, 0.118457, 0.102999),
}


def isotonic_distribution(at, place, n_levels, weight):
    """An antitonic regression of 1{y <= k} for each k: Henzi, Ziegel and Gneiting (2021), JRSS B 83."""
    upto = (at.mean((place <= k).astype(float), weight) for k in range(n_levels - 1))
    return np.stack([monotone(mean, at.weight, increasing=False) for mean in upto], axis=1)


def one_hot(x, k=5):
    return (np.asarray(x)[:, None] == np.arange(1, k + 1)).astype(float)


@pytest.mark.parametrize("criterion", SUMMEVAL)
def test_a_digit_has_the_reference_parts(summeval, criterion):
    digit, people, _ = summeval(criterion)
    found = corp(one_hot(digit), people, [1, 2, 3, 4, 5], x=digit)
    parts = found.score, found.mcb, found.dsc, found.unc, found.score - found.mcb
    np.testing.assert_allclose(parts, SUMMEVAL[criterion], atol=5.1e-7)
    at = ordered(digit, np.ones(len(digit)))
    place = people.astype(int) - 1
    idr = isotonic_distribution(at, place, 5, np.ones(len(digit)))[np.searchsorted(at.x, digit)]
    again = corp(np.diff(idr, axis=1, prepend=0, append=1), people, [1, 2, 3, 4, 5])
    assert again.score == pytest.approx(found.score - found.mcb, abs=1e-12)
    assert again.mcb == pytest.approx(0, abs=1e-12)  # of what was recalibrated nothing is left, in either form


def test_probabilities_have_the_reference_parts(loaded):
    """G3: LLM-Rubric, Q0, four probabilities; by threshold, and by their expectation."""
    _, ratings = loaded("load_llm_rubric")
    rows = ratings[ratings["criterion"] == "Q0"]
    people = rows[rows["method"] == "human"].set_index("item")["score"]
    told = rows[rows["method"] == "logprob"].pivot_table(index="item", columns="score", values="weight", aggfunc="sum")
    p = told.reindex(people.index).to_numpy()
    found = corp(p, people, [1, 2, 3, 4])
    parts = found.score, found.mcb, found.dsc, found.unc, found.n
    np.testing.assert_allclose(parts, [0.179773, 0.051421, 0.012116, 0.140468, 223], atol=5.1e-7)
    expected = p @ [1, 2, 3, 4] / p.sum(axis=1)
    by_score = corp(p, people, [1, 2, 3, 4], x=expected)
    assert by_score.score - by_score.mcb == pytest.approx(0.129025, abs=5.1e-7)
    assert by_score.mcb != pytest.approx(found.mcb, abs=1e-4)  # the two forms are not one


def test_a_jury_has_the_reference_parts_and_those_of_model_diagnostics(loaded):
    """G4: TriviaQA, the share of nine judges."""
    scoring = pytest.importorskip("model_diagnostics.scoring")
    _, ratings = loaded("load_triviaqa_judges")
    wide = ratings.pivot(index="item", columns="rater", values="score")
    y, p = wide["human"].to_numpy(), wide.drop(columns="human").mean(axis=1).to_numpy()
    found = corp(p, y)
    parts = found.score, found.mcb, found.dsc, found.unc
    # G4 prints DSC .1792517; it is .17925163, in the package as well
    np.testing.assert_allclose(parts, [0.0810841, 0.0291561, 0.1792516, 0.2311796], atol=5.1e-8)
    theirs = scoring.decompose(y_obs=y, y_pred=p, scoring_function=scoring.SquaredError())
    names = ["score", "miscalibration", "discrimination", "uncertainty"]
    np.testing.assert_allclose(parts, theirs.select(names).row(0), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_pooling_is_that_of_scikit_learn(seed):
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(seed)
    x, y, weight = rng.integers(0, 20, 200) / 8, rng.normal(size=200), rng.uniform(0.1, 3, 200)
    at = ordered(x, weight)
    for increasing in (True, False):
        fit = monotone(at.mean(y, weight), at.weight, increasing=increasing)
        theirs = isotonic.IsotonicRegression(increasing=increasing).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(fit, theirs.predict(at.x), atol=1e-12)


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")  # of the package, where points tie
@pytest.mark.parametrize("ties", [False, True])
def test_pooling_with_a_point_more_is_that_of_venn_abers(ties):
    """G5: each point of 60 added once as a 0 and once as a 1, as the definition says it, beside the package."""
    package = pytest.importorskip("venn_abers")
    rng = np.random.default_rng(5)
    x = rng.integers(1, 8, 60) / 8 if ties else rng.random(60)
    y = (rng.random(60) < x).astype(float)

    def refitted(at, label):
        rows = ordered(np.append(x, at), np.ones(61))
        fit = monotone(rows.mean(np.append(y, label), np.ones(61)), rows.weight)
        return fit[np.searchsorted(rows.x, at - 1e-9)]

    low, high = (np.array([refitted(at, label) for at in x]) for label in (0, 1))
    model, p = package.VennAbers(), np.stack([1 - x, x], axis=1)
    model.fit(p, y)
    merged, bounds = model.predict_proba(p)
    np.testing.assert_allclose(np.stack([low, high], axis=1), bounds, atol=1e-12)
    np.testing.assert_allclose(high / (1 - low + high), merged[:, 1], atol=1e-12)


def test_what_is_learned_elsewhere_is_that_of_scikit_learn():
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(6)
    x, y, weight, fold = rng.normal(size=90).round(1), rng.random(90), rng.uniform(0.1, 3, 90), rng.integers(0, 4, 90)
    ours = learned_elsewhere(ordered(x, weight), y, weight, fold)
    for one in range(4):
        own = fold == one
        theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(x[~own], y[~own], sample_weight=weight[~own])
        np.testing.assert_allclose(ours[own], theirs.predict(x[own]), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 25, 400])
@pytest.mark.parametrize("x", [False, True])
def test_the_parts_add_up_and_have_their_signs(n, x):
    rng = np.random.default_rng(n)
    p, y, weight = rng.dirichlet([0.5] * 4, n), rng.integers(1, 5, n), rng.integers(1, 4, n)
    found = corp(p, y, [1, 2, 3, 4], x=p @ np.arange(4) if x else None, weights=weight)
    assert found.score == pytest.approx(found.mcb - found.dsc + found.unc, abs=1e-12)
    assert found.dsc >= -1e-12
    assert x or found.mcb >= -1e-12
    scores = ranked_probability_score(p, y, [1, 2, 3, 4])
    assert found.score == pytest.approx(np.average(scores, weights=weight), abs=1e-12)
    rows = np.repeat(np.arange(n), weight)  # a weight of 3 is three rows
    again = corp(p[rows], y[rows], [1, 2, 3, 4], x=(p @ np.arange(4))[rows] if x else None)
    np.testing.assert_allclose([again.mcb, again.dsc, again.unc], [found.mcb, found.dsc, found.unc], atol=1e-12)


def test_the_order_of_rows_and_levels_changes_nothing():
    rng = np.random.default_rng(3)
    p, y, mixed = rng.integers(1, 4, (300, 3)) / 1.0, rng.integers(0, 3, 300), rng.permutation(300)
    found, moved = corp(p, y), corp(p[mixed], y[mixed])
    turned = corp(p[:, ::-1], y, [2, 1, 0])
    for other in (moved, turned):
        assert (other.mcb, other.dsc) == pytest.approx((found.mcb, found.dsc), abs=1e-12)


def test_shares_that_differ_by_rounding_are_one_value():
    """(.1 + .2) / 1 and .3 / 1 are the same chance of a label up to the second level."""
    p = [[0.1, 0.2, 0.7], [0.3, 0.0, 0.7]] * 2
    found = corp(p, [0, 2, 2, 0])
    alike = corp([[0.3, 0.7]] * 4, [0, 1, 1, 0])
    assert found.dsc >= 0
    assert 2 * found.score - alike.score == pytest.approx(np.mean([0.81, 0.09, 0.01, 0.49]))
    assert corp([[0.1, 0.2, 0.7], [0.3, 0.0, 0.7]], [2, 2]).dsc == pytest.approx(0, abs=1e-15)
    assert corp([0.1 + 0.2, 0.3], [0, 1]).dsc == pytest.approx(0, abs=1e-12)


def test_two_levels_are_the_brier_score_and_labels_are_counted():
    pytest.importorskip("pandas")
    p, y = np.array([0.1, 0.4, np.nan, 0.8, 0.3]), np.array([0, 1, 1, 1, np.nan])
    found = corp(p, y)
    assert (found.n, found.n_missing) == (3, 2)
    assert found.score == pytest.approx(np.mean((p - y)[[0, 1, 3]] ** 2))
    assert corp(np.stack([1 - p, p], axis=1), y) == found
    assert "Brier" in str(found)
    assert found.signature.startswith("corp|form:by-threshold|levels:2|n:3|missing:2")
    assert list(found.to_frame()) == ["score", "mcb", "dsc", "unc", "form", "n_levels", "n", "n_missing"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([0.2, 1.2], [0, 1]), "`p` must be chances from 0 to 1"),
        (([[0.2, -0.1]], [0]), "`p` must hold weights that are not negative"),
        (([0.2, 0.3], [0, 2]), "`y` must hold nothing but `levels` and NaN"),
        (([0.2, 0.3], [np.nan, np.nan]), "`y` must have a label beside a forecast in `p`"),
        (([0.2, 0.3], [0]), "must have the length"),
        (([[0.2, 0.3, 0.5]], [1], [1, 2]), "`p` must have a row for each item and a column for each of 2 levels"),
    ],
)
def test_what_is_no_forecast_is_refused(given, words):
    with pytest.raises(calib.ArgumentError, match=words):
        corp(*given)
