"""Do the 95 % intervals of an agreement hold the truth 95 times in 100? At length: paper_repro/agreement_coverage.

Systems and documents are drawn anew for every data set; the truth is the mean of the estimates. Coverage is tested
against the nominal level with the binomial distribution: 400 data sets tell 95 % from 90 % and from 99 %.
"""

import math

import numpy as np
import pytest
from scipy import stats

from calib.stats import agreement, compare

pytestmark = pytest.mark.slow

SETS = 400
PLAIN = {"system_sd": 0.35, "document_sd": 0.5, "rho": 0.4, "varying": 0.0, "missing": 0.0, "levels": 0}


def scores(rng, systems, documents, system_sd, document_sd, rho, varying, missing, levels):
    """Judge and human: system + document + noise. The noise correlates, in each document as `varying` has it."""

    def pair(shape, r):
        first, second = rng.standard_normal((2, *shape))
        return first, r * first + np.sqrt(1 - r**2) * second

    noise_rho = np.tanh(np.arctanh(rho) + varying * rng.standard_normal((1, documents)))
    parts = pair((systems, 1), 0.6), pair((1, documents), 0.5), pair((systems, documents), noise_rho)
    judge, human = (system_sd * a + document_sd * b + c for a, b, c in zip(*parts, strict=True))
    if levels:  # five for the human and three for the judge, most of them in the highest
        judge, human = np.digitize(judge, [-0.8, -0.1]), np.digitize(human, [-2.4, -1.6, -0.9, -0.1]).astype(float)
    return judge, np.where(rng.random(human.shape) < missing, np.nan, human)


def simulated(seed, systems, documents, labelled=True, sets=SETS, design=None, **options):
    """Estimate and interval of each data set, shape (sets, 3); without labels the pairs pass for independent."""
    rows = []
    for i in range(sets):
        judge, human = scores(np.random.default_rng([seed, i]), systems, documents, **PLAIN | (design or {}))
        system, document = (index.ravel() for index in np.indices(judge.shape))
        labels = {"systems": system, "groups": document} if labelled else {}
        result = agreement(judge.ravel(), human.ravel(), **labels, **options)
        rows.append((result.estimate, *result.interval))
    return np.array(rows)


def covered(rows):
    """How many intervals hold the mean of the estimates, and how many there are."""
    estimate, low, high = rows[np.isfinite(rows).all(axis=1)].T
    truth = rows[:, 0].mean()
    return int(((low <= truth) & (truth <= high)).sum()), len(estimate)


def p_value(rows):
    """Of coverage 95 %, two-sided."""
    return stats.binomtest(*covered(rows), 0.95).pvalue


@pytest.mark.parametrize(
    ("level", "method", "systems", "documents", "design"),
    [
        ("group", "kendall", 16, 40, {}),
        ("group", "kendall", 6, 60, {"system_sd": 0.7}),
        ("group", "kendall", 40, 12, {"varying": 0.45}),
        ("group", "spearman", 8, 40, {"missing": 0.3}),
        ("group", "pearson", 12, 30, {"system_sd": 1.5, "rho": 0.6}),
        ("group", "spearman", 12, 30, {"levels": 5}),
        ("item", "pearson", 8, 40, {}),
        ("item", "spearman", 12, 20, {"levels": 5}),
        ("item", "kendall", 12, 20, {"varying": 0.45, "missing": 0.1}),
        ("system", "pearson", 12, 40, {"document_sd": 2.0}),
        ("system", "spearman", 24, 20, {"system_sd": 1.0}),
        ("system", "kendall", 12, 20, {}),
    ],
)
def test_the_default_interval_holds_its_level(level, method, systems, documents, design):
    rows = simulated(0, systems, documents, design=design, level=level, method=method)
    held, n = covered(rows)
    assert n >= 0.99 * SETS
    assert p_value(rows) > 0.001, f"{held} of {n}"


@pytest.mark.parametrize("confidence_level", [0.85, 0.998])
def test_this_test_can_fail(confidence_level):
    rows = simulated(0, 16, 40, level="group", method="kendall", confidence_level=confidence_level)
    assert p_value(rows) < 0.001


def test_pairs_that_pass_for_independent_do_not_hold_it():
    rows = simulated(2, 8, 40, design={"system_sd": 1.0}, labelled=False, level="item", method="pearson")
    held, n = covered(rows)
    assert held < 0.6 * n


def test_few_ranked_systems_make_the_interval_long_never_short():
    rows = simulated(3, 6, 40, level="system", method="spearman")
    held, n = covered(rows)
    assert n > 0.9 * SETS
    assert stats.binomtest(held, n, 0.95, alternative="less").pvalue > 0.001


def test_a_bootstrap_of_documents_says_nothing_about_other_systems():
    options = {"interval": "boot-groups", "n_resamples": 199, "rng": 0}
    strong = simulated(4, 8, 40, sets=150, design={"system_sd": 1.0}, level="group", method="kendall", **options)
    assert p_value(strong) < 1e-6


# --- independent pairs ------------------------------------------------------------------------------------------


def rounded(rng, n, rho, judge_cuts=(), human_cuts=(), tails=math.inf):
    first, second = rng.standard_normal((2, n))
    second = rho * first + math.sqrt(1 - rho**2) * second
    if tails < math.inf:
        heavy = np.sqrt(rng.chisquare(tails, n) / tails)
        first, second = first / heavy, second / heavy
    cut = (np.searchsorted(c, v).astype(float) if c else v for c, v in ((judge_cuts, first), (human_cuts, second)))
    return tuple(cut)


def from_table(rng, n, table):
    chances = np.array(table, dtype=float)
    place = rng.choice(chances.size, n, p=chances.ravel() / chances.sum())
    return tuple(v.astype(float) for v in np.divmod(place, chances.shape[1]))


CEILING = {"judge_cuts": (-2.0, -1.5, -1.2, -0.9), "human_cuts": (-2.2, -1.8, -1.5, -1.0)}
GROSS = [[3, 1, 1, 0, 0], [0, 1, 1, 0, 2], [0, 0, 2, 1, 1], [0, 0, 0, 3, 3], [1, 0, 1, 2, 77]]
PAIRS = {
    "normal": lambda rng, n: rounded(rng, n, 0.5),
    "normal, close": lambda rng, n: rounded(rng, n, 0.95),
    "t of 5 df": lambda rng, n: rounded(rng, n, 0.5, tails=5),
    "ceiling": lambda rng, n: rounded(rng, n, 0.5, **CEILING),
    "ceiling, close": lambda rng, n: rounded(rng, n, 0.8, **CEILING),
    "yes and no": lambda rng, n: rounded(rng, n, 0.6, (-1.2,), (-1.3,)),
    "gross failures": lambda rng, n: from_table(rng, n, GROSS),
    "three levels": lambda rng, n: from_table(rng, n, [[4, 1, 2], [1, 3, 3], [2, 3, 81]]),
}


def intervals_of_pairs(name, n, method, sets=SETS):
    """Estimate, ends of the interval and those of Fisher's, of each data set; and the truth."""
    population = PAIRS[name](np.random.default_rng(9), 400_000)
    truth = agreement(*population, method=method, interval="none").estimate
    rows = []
    for i in range(sets):
        x, y = PAIRS[name](np.random.default_rng([n, i]), n)
        found = agreement(x, y, method=method)
        rows.append((*found.interval, *stats.pearsonr(x, y).confidence_interval()))
    return np.array(rows), truth


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "n"),
    [
        *((name, n) for name in ("normal", "normal, close") for n in (10, 20, 50)),
        ("t of 5 df", 50),
        *((name, n) for name in ("ceiling", "ceiling, close", "gross failures", "yes and no") for n in (150, 300)),
        ("three levels", 200),
    ],
)
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_pairs_are_held_with_ties_and_without(name, n, method):
    """Ranks of close pairs have intervals that are too long, never too short: 96 to 99.6 % of those at .95."""
    rows, truth = intervals_of_pairs(name, n, method)
    held = int(((rows[:, 0] <= truth) & (truth <= rows[:, 1])).sum())
    long = name == "normal, close" and method != "pearson"
    assert stats.binomtest(held, SETS, 0.95, alternative="less" if long else "two-sided").pvalue > 0.001, held


@pytest.mark.parametrize("name", ["t of 5 df", "ceiling", "gross failures", "three levels"])
def test_fishers_interval_does_not_hold_them(name):
    rows, truth = intervals_of_pairs(name, 150, "pearson")
    held = int(((rows[:, 2] <= truth) & (truth <= rows[:, 3])).sum())
    assert held < 0.87 * SETS


@pytest.mark.parametrize("method", ["kendall", "gamma"])
@pytest.mark.parametrize("name", ["ceiling, close", "gross failures"])
def test_many_ties_make_tau_b_and_gamma_skewed(name, method):
    """On the plain scale 84 to 92 % at n = 50; on Fisher's z a little too long, and never short."""
    rows, truth = intervals_of_pairs(name, 60, method)
    rows = rows[np.isfinite(rows[:, 0])]
    held = int(((rows[:, 0] <= truth) & (truth <= rows[:, 1])).sum())
    assert len(rows) > 0.95 * SETS
    assert stats.binomtest(held, len(rows), 0.95, alternative="less").pvalue > 0.001, held


# cuts of a normal variable: 10, 20, 40, 20 and 10 %; half the labels at the top; three in four
LABELS = {
    "ordinary": (-1.28, -0.52, 0.52, 1.28),
    "skewed": (-1.64, -1.28, -0.84, 0.0),
    "top": (-2.05, -1.64, -1.28, -0.67),
}


def judged(rng, n, labels, rho, failures=0.0):
    """Labels 1 to 5 and a judge on the same scale or, where he copies, beside it; failures are at the other end."""
    z = rng.standard_normal(n)
    y = np.searchsorted(LABELS[labels], z) + 1.0
    if rho:
        x = np.searchsorted(LABELS[labels], rho * z + math.sqrt(1 - rho**2) * rng.standard_normal(n)) + 1.0
    else:
        x = y + 0.25 * rng.standard_normal(n)
    failed = rng.random(n) < failures
    return np.where(failed, np.where(y >= 3, 1.0, 5.0), x), y, int(failed.sum())


def held_of_judged(method, n, *population, sets=SETS):
    """Whether intervals lie below, hold or lie above the truth (-1, 0, 1), warn of failures, and how many there are."""
    x, y, _ = judged(np.random.default_rng(9), 400_000, *population)
    truth, rows = agreement(x, y, method=method, interval="none").estimate, []
    for i in range(sets):
        x, y, failed = judged(np.random.default_rng([n, i]), n, *population)
        found = agreement(x, y, method=method)
        side = (found.interval.low > truth) - (found.interval.high < truth)
        if np.isfinite(found.interval.low):
            rows.append((side, any(text.startswith("rare_failures") for text in found.warnings), failed))
    return np.array(rows)


@pytest.mark.parametrize("method", ["kappa", "kappa_nominal", "pearson", "spearman", "kendall"])
@pytest.mark.parametrize(
    ("n", "labels", "rho"),
    [(50, "top", 0.8), (50, "top", 0.6), (100, "top", 0.6), (50, "skewed", 0.8), (30, "ordinary", 0.8)],
)
def test_most_labels_at_the_top_are_held(method, n, labels, rho):
    """Without one more item at the end of the scale kappa covers 90 % of the second, and 9 % lie too low."""
    rows = held_of_judged(method, n, labels, rho)
    held, low, high = ((rows[:, 0] == side).sum() for side in (0, -1, 1))
    assert stats.binomtest(int(held), len(rows), 0.95, alternative="less").pvalue > 0.001, held
    assert held < 0.995 * len(rows)
    assert max(low, high) < 0.06 * len(rows), (low, high)


@pytest.mark.long
@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize(("n", "failures"), [(50, 0.03), (100, 0.01), (100, 0.03)])
@pytest.mark.parametrize("labels", ["ordinary", "top"])
def test_failures_are_held_or_warned_of(labels, n, failures, method):
    """Samples without one cannot hold the truth, and warn; with one or more the interval holds 88 to 98 %.

    Of a few that were sampled one may be a mild one, and the interval too short: at 3 % and n = 100 it is 90 %.
    """
    rows = held_of_judged(method, n, labels, 0, failures)
    held, warned, none = rows[:, 0] == 0, rows[:, 1] == 1, rows[:, 2] == 0
    if method == "pearson":
        assert held[none].mean() < 0.2
        assert warned[none].mean() > 0.9
    for good, least in ((held | warned, 0.93), (held[~none], 0.9)):
        assert stats.binomtest(int(good.sum()), len(good), least, alternative="less").pvalue > 0.001, good.mean()


@pytest.mark.parametrize("method", ["kendall", "kendall_a", "gamma", "kappa_nominal"])
def test_close_judges_miss_on_both_sides(method):
    """On the plain scale 4 to 8 % of intervals of tau lay above the truth, and next to none below."""
    rows = held_of_judged(method, 50, "ordinary", 0.95)
    held, high = (int((rows[:, 0] == side).sum()) for side in (0, 1))
    assert stats.binomtest(held, len(rows), 0.95, alternative="less").pvalue > 0.001, held
    assert high < 0.055 * len(rows)


# --- the same systems, new documents ----------------------------------------------------------------------------


def new_documents(rng, effects, documents, cuts):
    shape = len(effects), documents

    def pair(size, r):
        first, second = rng.standard_normal((2, *size))
        return np.stack([first, r * first + np.sqrt(1 - r**2) * second])

    scores = effects.T[:, :, None] + 0.5 * pair((1, documents), 0.5) + pair(shape, 0.5)
    return tuple(np.searchsorted(cuts, v).astype(float) if cuts else v for v in scores)


@pytest.mark.long
@pytest.mark.parametrize("cuts", [(), (-1.4, -0.7, 0.0, 0.7)])
@pytest.mark.parametrize(("n_systems", "documents"), [(2, 20), (2, 100), (3, 50), (5, 20)])
@pytest.mark.parametrize(
    ("level", "method"),
    [("item", "pearson"), ("item", "spearman"), ("item", "kendall"), ("group", "kendall"), ("group", "pearson")],
)
def test_new_documents_of_the_same_systems_are_held(level, method, n_systems, documents, cuts):
    effects = 0.5 * np.random.default_rng(n_systems).standard_normal((n_systems, 2))
    options = {"level": level, "method": method}

    def result(rng, n, **more):
        judge, human = new_documents(rng, effects, n, cuts)
        systems, groups = (index.ravel() for index in np.indices(judge.shape))
        return agreement(judge.ravel(), human.ravel(), systems=systems, groups=groups, **options, **more)

    truth = result(np.random.default_rng(0), 5_000, interval="none").estimate
    found = [result(np.random.default_rng([1, i]), documents) for i in range(SETS)]
    assert {r.generalises_to for r in found} == {"new groups, these systems"}
    ends = np.array([r.interval for r in found])
    held, n = int(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).sum()), int(np.isfinite(ends[:, 0]).sum())
    assert n >= 0.99 * SETS
    assert stats.binomtest(held, n, 0.95).pvalue > 0.001, f"{held} of {n}"


@pytest.mark.parametrize("level", ["item", "group"])
def test_two_judges_on_new_documents_of_the_same_systems(level):
    """Of no difference five in a hundred are found."""
    systems, groups = (index.ravel() for index in np.indices((2, 60)))
    found = 0
    for i in range(SETS):
        rng = np.random.default_rng([3, i])
        y = np.array([0.0, 0.8])[systems] + 0.5 * rng.standard_normal(60)[groups] + rng.standard_normal(120)
        x1, x2 = y + rng.standard_normal((2, 120))
        labels = {"systems": systems, "groups": groups}
        found += compare(x1, x2, y, **labels, level=level, method="pearson").p_value <= 0.05
    assert stats.binomtest(found, SETS, 0.05).pvalue > 0.001, found
