"""AC1, AC2 and Fleiss' kappa: published tables, other packages, what must hold."""

import math

import numpy as np
import pytest

from calib.core.check import ArgumentError
from calib.stats import gwet_ac

NAN = math.nan
# Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., table 2.10: 12 units, 4 raters; values as in its R package
UNITS = [
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1],
    [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
]  # fmt: skip
# Fleiss (1971), table 1: how many of six raters gave each of five diagnoses to 30 patients
PATIENTS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip


def test_gwets_units():
    ac1 = gwet_ac(UNITS)
    assert (ac1.estimate, ac1.std_error) == pytest.approx((0.77544, 0.14295), abs=5.1e-6)
    assert ac1.observed == pytest.approx(0.8181818, abs=5e-8)
    assert ac1.chance == pytest.approx(0.1903212, abs=5e-8)


def test_the_paradox_of_high_agreement():
    """Of 125 items 118 are positive for both: kappa -.023, AC1 .941 (Gwet 2008)."""
    pairs = [[1, 1]] * 118 + [[1, 0]] * 5 + [[0, 1]] * 2
    assert gwet_ac(pairs).estimate == pytest.approx(0.941, abs=5e-4)


def test_weights_names_of_levels_and_levels_that_nobody_gave():
    none, linear, quadratic = (gwet_ac(UNITS, weights=w).estimate for w in ("identity", "linear", "quadratic"))
    assert none < linear < quadratic
    relabelled = np.select([np.array(UNITS) == k for k in range(1, 6)], [40, 7, 2, 90, 11], NAN)
    assert gwet_ac(relabelled).estimate == pytest.approx(none, rel=1e-12)
    assert gwet_ac(UNITS, levels=range(1, 8)).chance < gwet_ac(UNITS).chance
    assert gwet_ac([[1, 1], [1, 1]], levels=[0, 1]).estimate == 1


def test_groups_widen_the_interval():
    doubled = [row for row in UNITS for _ in range(2)]
    alone = gwet_ac(doubled)
    together = gwet_ac(doubled, groups=np.repeat(np.arange(12), 2))
    assert together.std_error == pytest.approx(gwet_ac(UNITS).std_error, rel=1e-12)
    assert together.std_error > alone.std_error


def test_fleiss_kappa_of_his_diagnoses():
    fleiss_kappa = pytest.importorskip("fleiss_kappa").fleiss_kappa
    found = fleiss_kappa([np.repeat(np.arange(1, 6), row) for row in PATIENTS])
    assert round(found.estimate, 3) == 0.430


@pytest.mark.parametrize(
    ("ratings", "more", "words"),
    [
        ([[1, 1], [1, 1]], {}, "two labels or more"),
        ([[1, NAN], [NAN, 2]], {}, "an item with two labels"),
        ([[1, 2], [2, 2]], {"levels": [1, 3]}, "must be of the levels, but has 2"),
        ([[1, 2], [2, 2]], {"weights": "cubic"}, "`weights` must be one of"),
        ([[1, 2], [2, 2]], {"groups": ["a"]}, "`groups` must have the length of `ratings`"),
    ],
)
def test_what_has_no_answer_is_refused(ratings, more, words):
    with pytest.raises(ArgumentError, match=words):
        gwet_ac(ratings, **more)
