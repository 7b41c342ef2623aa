"""Do the 95 % intervals of an agreement hold the truth 95 times in 100? At length: paper_repro/agreement_coverage.

Systems and documents are drawn anew for every data set; the truth is the mean of the estimates. Coverage is tested
against the nominal level with the binomial distribution: 400 data sets tell 95 % from 90 % and from 99 %.
"""

import numpy as np
import pytest
from scipy import stats

from calib.stats import agreement

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


def test_six_systems_are_enough_within_documents():
    rows = simulated(1, 6, 60, design={"system_sd": 0.7}, level="group", method="kendall")
    assert p_value(rows) > 0.001, covered(rows)


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
