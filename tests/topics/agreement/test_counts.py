"""Counts of pairs: merged they are those of all, and agreement of them is that of the arrays."""

import numpy as np
import pytest

from calib.core.check import ArgumentError
from calib.stats import Counts, agreement

RNG = np.random.default_rng(11)
X, Y = RNG.integers(1, 6, (2, 900)).astype(float)
X[RNG.choice(900, 9, replace=False)] = np.nan
GROUP, SYSTEM = RNG.integers(0, 60, 900), RNG.integers(0, 9, 900)
DESIGNS = {"none": {}, "systems": {"systems": SYSTEM}, "both": {"groups": GROUP, "systems": SYSTEM}}


def counted(design, parts=1):
    columns = [X, Y, design.get("groups"), design.get("systems")]
    pieces = np.array_split(np.random.default_rng(parts).permutation(900), parts)
    return Counts.from_chunks([[None if c is None else c[piece] for c in columns] for piece in pieces])


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_merged_counts_are_those_of_all_in_any_order(design):
    assert counted(design, 1) == counted(design, 13)
    assert counted(design).n.sum() == 900


@pytest.mark.parametrize("systems_are", ["fixed", "random"])
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("coefficient", ["spearman", "kendall", "kendall_a", "gamma", "pearson", "kappa", "exact"])
def test_agreement_of_counts_is_that_of_the_arrays(design, coefficient, systems_are):
    asked = {"coefficient": coefficient} | ({"systems_are": systems_are} if "systems" in design else {})
    found, arrays = agreement(counted(design, 7), **asked), agreement(X, Y, **design, **asked)
    assert found.estimate == pytest.approx(arrays.estimate, abs=1e-15)
    assert tuple(found.interval) == pytest.approx(tuple(arrays.interval), abs=1e-12)
    for name in ("n", "n_missing", "n_groups", "n_systems", "interval_method", "levels_x", "warnings"):
        assert getattr(found, name) == getattr(arrays, name)
    assert found.ties_x == pytest.approx(arrays.ties_x)


@pytest.mark.parametrize("level", ["group", "system"])
def test_other_levels_of_counts_too(level):
    found = agreement(counted(DESIGNS["both"], 4), level=level)
    arrays = agreement(X, Y, **DESIGNS["both"], level=level)
    assert found.estimate == pytest.approx(arrays.estimate, abs=1e-12)
    assert tuple(found.interval) == pytest.approx(tuple(arrays.interval), abs=1e-12)


def test_missing_scores_may_count_as_0():
    assert agreement(counted({}), missing="zero").estimate == agreement(X, Y, missing="zero").estimate


def test_what_counts_say():
    assert repr(counted(DESIGNS["both"])) == "Counts of 900 pairs (5 x 5 levels, 60 groups, 9 systems)"
    assert 25 < len(counted({})) <= 30  # the cells, and values of people where the judge has none
    assert counted({}) != counted(DESIGNS["systems"])
    assert counted({}) != 3
    assert Counts.from_chunks([]).n.sum() == 0


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ArgumentError, match="groups exactly as the first"):
        counted({}).merge(counted({"groups": GROUP}))
    with pytest.raises(ArgumentError, match="must each be"):
        Counts.from_chunks([(X,)])
    with pytest.raises(ArgumentError, match="length"):
        Counts.from_chunks([(X, Y[:5])])
    with pytest.raises(ArgumentError, match="`y` is in the counts"):
        agreement(counted({}), Y)
    with pytest.raises(ArgumentError, match="`y` must be given beside `x`"):
        agreement(X)
