"""What a gate can tell before there are labels."""

import numpy as np
import pytest
from scipy import stats

from calib.stats import gate_plan

TABLE = {  # gate.md, section 2: pass and fail in % at the true mean less the line, as simulated with intervals of 90 %
    (100, 40): {-0.4: (0, 84), -0.2: (0, 38), 0.2: (37, 0), 0.4: (86, 0)},
    (200, 100): {-0.4: (0, 100), -0.2: (0, 69), 0.2: (67, 0), 0.4: (100, 0)},
}


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "cells"), TABLE.items())
def test_chances_as_simulated(sizes, cells):
    """Within 4 points: half-widths are averages, and interpolated."""
    plan = gate_plan(3.7, n_items=sizes[0], n_labels=sizes[1], rho=0.5, sd=0.99, bounds=(1, 5), step=1)
    for gap, (passed, failed) in cells.items():
        found = plan.chances(3.7 + gap)
        assert 100 * np.array(found) == pytest.approx([passed, failed], abs=4)


def test_a_gate_that_cannot_pass_says_so():
    plan = gate_plan(4.9, n_labels=10, n_items=100, sd=0.9, bounds=(1, 5), step=1)
    assert not plan.can_pass
    assert str(plan).startswith("cannot pass")
    assert np.isnan(plan.passes_at) or plan.passes_at > plan.best_low


@pytest.mark.slow
def test_more_labels_tell_more():
    wide, narrow = (gate_plan(3.7, n_labels=n, n_items=400, sd=1, bounds=(1, 5), step=1) for n in (20, 200))
    assert narrow.passes_at < wide.passes_at
    assert narrow.fails_at > wide.fails_at


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"n_labels": 9}, "`n_labels` must be"),
        ({"n_labels": 101}, "`n_labels` must not be more than `n_items`"),
        ({"rho": 2}, "`rho` must lie between"),
        ({"sd": 0}, "`sd` must be above 0"),
        ({"threshold": 5}, "`threshold` must lie on the scale"),
        ({"bounds": None, "step": None}, "`sd` must be given"),
        ({"error": 0.6}, "`error` must be above 0"),
    ],
)
def test_what_cannot_be_is_refused(asked, message):
    known = {"threshold": 3.5, "n_labels": 40, "n_items": 100, "bounds": (1, 5), "step": 1} | asked
    with pytest.raises(ValueError, match=message):
        gate_plan(known.pop("threshold"), **known)


def test_without_ends_of_the_scale_what_passes_and_what_fails_lie_on_both_sides_of_the_threshold():
    plan = gate_plan(3.0, n_labels=50, n_items=200, rho=0.5, sd=1.0)
    assert plan.passes_at - 3.0 == pytest.approx(3.0 - plan.fails_at)
    error = plan.half_width / stats.norm.ppf(0.95)  # about; the interval is a little wider than normal
    assert 3.0 + plan.half_width < plan.passes_at < 3.0 + plan.half_width + 1.2 * error
