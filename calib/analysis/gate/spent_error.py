"""The error that a gate may make at its t-th use, where all uses together shall make at most one such error."""

from __future__ import annotations

import math

from calib.core import check


def spent_error(error: float, use: int) -> float:
    r"""Share of an error for the t-th use of a gate: :math:`\frac{6}{\pi^2 t^2}` of it, which adds up to all of it.

    Parameters
    ----------
    error : float
        Of all uses together.
    use : int
        1 for the first.

    Examples
    --------
    >>> round(spent_error(0.05, 1), 4), round(spent_error(0.05, 30), 6)
    (0.0304, 3.4e-05)
    """
    return check.probability(error, "error") * 6 / (math.pi * check.whole(use, "use", least=1)) ** 2
