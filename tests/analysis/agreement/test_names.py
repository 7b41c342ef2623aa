"""Labels that are names: unweighted kappa, and nothing that would depend on the order of their codes."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from calib.stats import agreement, alternative_annotator_test, compare, krippendorff_alpha, label_ceiling, reliability

NAMES = np.array(["cat", "dog", "bird", "fish"], dtype=object)


def coded(n=80, k=4, seed=1, right=0.7):
    """Labels 0..k-1 of a judge and of three people, who find the truth or guess."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=np.array([0.4, 0.3, 0.2, 0.1][:k]) / sum([0.4, 0.3, 0.2, 0.1][:k]))
    judge, *people = (np.where(rng.random(n) < right, truth, rng.integers(0, k, n)) for _ in range(4))
    return judge, np.column_stack(people)


def kappa(x, y):
    """Cohen (1960): from the definition."""
    same = np.mean(x == y)
    chance = sum(np.mean(x == label) * np.mean(y == label) for label in np.union1d(x, y))
    return (same - chance) / (1 - chance)


# --- unweighted kappa -------------------------------------------------------------------------------------------


def test_cohens_example():
    # Cohen (1960), Educational and Psychological Measurement 20:37-46, table 1: kappa .492 of 200 items
    table = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    x, y = (np.repeat(axis, table.ravel()) for axis in np.indices((3, 3)).reshape(2, -1))
    assert round(agreement(x, y, coefficient="kappa_nominal").estimate, 3) == 0.492


@pytest.mark.parametrize(("n", "k"), [(12, 2), (80, 4), (2500, 4)])
def test_unweighted_kappa_equals_statsmodels(n, k):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    judge, people = coded(n, k)
    table = np.zeros((k, k))
    np.add.at(table, (judge, people[:, 0]), 1)
    peer = inter_rater.cohens_kappa(table, wt=None)
    result = agreement(judge, people[:, 0], coefficient="kappa_nominal")
    assert_allclose(result.estimate, peer.kappa, rtol=1e-12)
    # the jackknife and the delta method agree as n grows
    assert_allclose(result.std_error, peer.std_kappa, rtol=4 / n)
    assert str(result).startswith("unweighted kappa over items = ")
    quadratic = agreement(judge, people[:, 0], coefficient="kappa")
    assert_allclose(quadratic.estimate, inter_rater.cohens_kappa(table, wt="quadratic").kappa, rtol=1e-12)
    assert str(quadratic).startswith("quadratic weighted kappa over items = ")
    assert quadratic.signature.startswith("kappa|weights:quadratic|level:item|")
    assert result.signature.startswith("kappa_nominal|weights:none|level:item|")
    assert "|weights:none|" in label_ceiling(people, coefficient="kappa_nominal").signature


@pytest.mark.parametrize("used", [("groups",), ("systems",), ("groups", "systems"), ()])
@pytest.mark.parametrize("level", ["item", "group"])
def test_unweighted_kappa_without_each_unit(used, level):
    judge, people = coded(60)
    factors = {"groups": np.repeat(np.arange(10), 6), "systems": np.tile(np.arange(6), 10)}
    if level == "group" and "groups" not in used:
        return

    def by_hand(keep):
        x, y, g = judge[keep], people[keep, 0], factors["groups"][keep]
        if level == "item":
            return kappa(x, y)
        return np.mean([kappa(x[g == u], y[g == u]) for u in np.unique(g)])

    result = agreement(
        judge, people[:, 0], coefficient="kappa_nominal", level=level, **{name: factors[name] for name in used}
    )
    assert_allclose(result.estimate, by_hand(np.full(60, True)), rtol=1e-12)
    variances = []
    for units in [factors[name] for name in used] or [np.arange(60)]:
        left = np.array([by_hand(units != unit) for unit in np.unique(units)])
        variances.append((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())
    if len(used) < 2:
        assert_allclose(result.std_error**2, variances[0], rtol=1e-9)
    else:
        assert result.std_error**2 >= min(variances) * (1 - 1e-9)
    for interval in [f"boot-{name}" for name in used]:
        options = {"interval": interval, "n_resamples": 200, "rng": 1}
        low, high = agreement(
            judge, people[:, 0], coefficient="kappa_nominal", level=level, **options, **{n: factors[n] for n in used}
        ).interval
        assert low < result.estimate < high


def test_unweighted_kappa_where_nothing_differs():
    assert math.isnan(agreement([1, 1, 1], [1, 1, 1], coefficient="kappa_nominal").estimate)
    assert agreement([1, 1, 1, 1], [1, 2, 1, 2], coefficient="kappa_nominal").estimate == 0
    assert agreement([1, 2, 3, 1], [1, 2, 3, 1], coefficient="kappa_nominal").estimate == 1
    with pytest.raises(ValueError, match="'kappa_nominal' compares single scores, but got level 'system'"):
        agreement([1, 2, 3, 1], [1, 2, 3, 1], coefficient="kappa_nominal", systems=[0, 0, 1, 1], level="system")


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 200])
def test_coverage_of_unweighted_kappa(n):
    # half of the labels are right in both, four equally common names: kappa = 1/4 in the population
    rng, hits = np.random.default_rng(81), 0
    for _ in range(2000):
        truth = rng.integers(0, 4, n)
        x, y = (np.where(rng.random(n) < 0.5, truth, rng.integers(0, 4, n)) for _ in range(2))
        low, high = agreement(x, y, coefficient="kappa_nominal").interval
        hits += low <= 0.25 <= high
    assert stats.binomtest(hits, 2000, 0.95).pvalue > 0.001


# --- names as they are ------------------------------------------------------------------------------------------

CODES = list(itertools.permutations(range(4)))[::5]


@pytest.mark.parametrize("codes", CODES)
def test_names_give_what_any_codes_give(codes):
    judge, people = coded()
    code = np.array(codes)
    for method in ("kappa_nominal", "exact"):
        named = agreement(NAMES[judge], NAMES[people[:, 0]], method=method)
        numbered = agreement(code[judge], code[people[:, 0]], method=method)
        assert_allclose([named.estimate, *named.interval], [numbered.estimate, *numbered.interval], rtol=1e-12)
        ceilings = [label_ceiling(v[people], v[judge], method=method) for v in (NAMES, code)]
        assert_allclose(ceilings[0].ceiling, ceilings[1].ceiling)
        assert_allclose(ceilings[0].judge_interval, ceilings[1].judge_interval)
    both = [reliability(v[people], v[judge], metric="nominal") for v in (NAMES, code)]
    assert str(both[0]) == str(both[1])
    first, second = (alternative_annotator_test(v[judge], v[people], score="accuracy") for v in (NAMES, code))
    assert first.annotators == second.annotators
    assert_allclose(first.kappa, np.mean([kappa(judge, person) for person in people.T]))
    assert_allclose(first.kappa, second.kappa)


@pytest.mark.parametrize("codes", CODES)
def test_the_annotator_test_of_names_shows_no_rank_correlation(codes):
    judge, people = coded()
    code = np.array(codes)
    result = alternative_annotator_test(code[judge], code[people], score="accuracy")
    assert math.isnan(result.rank_agreement)
    assert "Spearman" not in str(result)
    assert f"unweighted kappa with a person {result.kappa:.4g}" in str(result)
    assert "spearman" not in result._rows()[0] and result._rows()[0]["unweighted_kappa"] == result.kappa
    ordered = alternative_annotator_test(judge, people)  # rmse: numbers are numbers
    assert math.isfinite(ordered.rank_agreement) and math.isnan(ordered.kappa)


def test_a_judge_that_always_says_the_same_has_no_kappa():
    _, people = coded()
    result = alternative_annotator_test(np.zeros(80, dtype=int), people, score="accuracy")
    assert result.kappa == 0


ORDERED = ("spearman", "pearson", "kendall", "kendall_c", "gamma", "pairs", "kappa", "adjacent")


@pytest.mark.parametrize("method", ORDERED)
def test_names_meet_no_coefficient_of_order(method):
    judge, people = coded()
    rule = (
        f"must be numeric for '{method}', which needs their order \\(for names there are 'kappa_nominal' and 'exact'\\)"
    )
    with pytest.raises(ValueError, match=f"`x` {rule}"):
        agreement(NAMES[judge], NAMES[people[:, 0]], method=method)
    with pytest.raises(ValueError, match=f"`x1` {rule}"):
        compare(NAMES[judge], NAMES[people[:, 1]], NAMES[people[:, 0]], method=method)
    with pytest.raises(
        ValueError, match=r"`ratings` must be numeric \(for names there is 'kappa_nominal' and 'exact'\)"
    ):
        label_ceiling(NAMES[people], method=method)
    with pytest.raises(ValueError, match=f"`coefficient` must be 'kappa_nominal' or 'exact' under .*got '{method}'"):
        reliability(people, metric="nominal", coefficient=method)


def test_names_of_another_set_are_no_wrong_answers():
    judge, people = coded()
    upper = np.array(["Cat", "Dog", "Bird", "Fish"], dtype=object)
    wrong = r"must have names that `y` has \('bird', 'cat', 'dog', 'fish'\), but got 'Bird', 'Cat'"
    with pytest.raises(ValueError, match=f"`x` {wrong}"):
        agreement(upper[judge], NAMES[people[:, 0]], method="exact")
    with pytest.raises(ValueError, match="`judge` must have names that `ratings` has"):
        alternative_annotator_test(upper[judge], NAMES[people])
    assert agreement(np.repeat("other", 80), NAMES[people[:, 0]], method="exact").estimate == 0


def test_two_judges_of_names():
    judge, people = coded()
    result = compare(NAMES[judge], NAMES[people[:, 1]], NAMES[people[:, 0]], coefficient="kappa_nominal")
    assert_allclose(result.estimate, kappa(judge, people[:, 0]) - kappa(people[:, 1], people[:, 0]))
    swapped = compare(judge, people[:, 1], people[:, 0], coefficient="kappa_nominal", test="perm-cells", rng=1)
    assert 0 < swapped.p_value <= 1


def test_gaps_among_names():
    judge, people = coded()
    holes = NAMES[people].copy()
    holes[::7, 1] = None
    holes[3, 0] = math.nan
    gaps = people.astype(float)
    gaps[::7, 1], gaps[3, 0] = math.nan, math.nan
    assert krippendorff_alpha(holes, metric="nominal") == krippendorff_alpha(gaps, metric="nominal")
    named = label_ceiling(holes, NAMES[judge], method="kappa_nominal")
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    both = {(i, j): np.isfinite(gaps[:, i]) & np.isfinite(gaps[:, j]) for i, j in pairs}
    assert_allclose(named.ceiling, np.mean([kappa(gaps[both[p], p[0]], gaps[both[p], p[1]]) for p in pairs]))
    assert_allclose(named.judge, np.mean([kappa(judge[both[p]], gaps[both[p], p[1]]) for p in pairs]))


# --- reliability ------------------------------------------------------------------------------------------------


def test_reliability_of_names_has_nothing_that_needs_an_order():
    judge, people = coded()
    result = reliability(people, judge, metric="nominal")
    assert result.icc is None and result.disattenuated is None
    assert result.ceiling.coefficient == "kappa_nominal"
    pairs = itertools.permutations(range(3), 2)
    assert_allclose(result.ceiling.ceiling, np.mean([kappa(people[:, i], people[:, j]) for i, j in pairs]))
    assert_allclose(result.ceiling.judge, np.mean([kappa(judge, person) for person in people.T]))
    assert [row["quantity"] for row in result._rows()] == ["alpha (nominal)", "ceiling", "judge", "difference"]
    text = str(result)
    assert "(nominal)" in text and "unweighted kappa of one person with another" in text
    assert "ICC" not in text and "disattenuated" not in text
    share = reliability(people, judge, metric="nominal", method="exact").ceiling
    assert_allclose(
        share.ceiling, np.mean([np.mean(people[:, i] == people[:, j]) for i, j in [(0, 1), (0, 2), (1, 2)]])
    )


@pytest.mark.parametrize("crowd", [60, 500])
def test_raters_who_differ_from_item_to_item(crowd):
    rng = np.random.default_rng(5)
    truth = rng.normal(size=200)
    three = truth[:, None] + 0.7 * rng.normal(size=(200, 3))
    wide = np.full((200, crowd), math.nan)
    for row, ratings in zip(wide, three, strict=True):
        row[np.sort(rng.choice(crowd, 3, replace=False))] = ratings
    judge = truth + 0.5 * rng.normal(size=200)
    found, whole = label_ceiling(wide, judge), label_ceiling(three, judge)
    assert found.raters_differ and not whole.raters_differ
    assert_allclose((found.ceiling, found.judge, found.difference), (whole.ceiling, whole.judge, whole.difference))
    assert_allclose(found.difference_interval, whole.difference_interval)
    assert "whoever rated them" in str(found)
    text = str(reliability(wide, judge))
    assert "ICC(1,k) " in text and "ICC(C,k)" not in text
