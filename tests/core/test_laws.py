"""Laws of estimates whose ends are functions of the tail."""

import pytest
from scipy import special

from calib.core.laws import Numeric

NORMAL = Numeric(lambda tail: (special.ndtri(tail), -special.ndtri(tail)), (-9.0, 9.0))


@pytest.mark.parametrize("null", [-1.5, 0.0, 0.3, 2.0])
def test_tails_invert_the_ends(null):
    """One tail is the normal distribution's; the other, which no tail up to a half excludes, is a half."""
    beyond = special.ndtr(-abs(null))
    assert sorted(NORMAL.tails(null)) == pytest.approx([beyond, 0.5], rel=1e-6)
