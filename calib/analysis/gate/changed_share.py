"""The share of outputs that a build changed, as a sample shows it."""

from __future__ import annotations

import math

from scipy import special


def share_reach(share: float, n: int, confidence_level: float) -> float:
    """How far off the share of n inputs may be from that of all inputs, by the normal law.

    Examples
    --------
    >>> round(share_reach(0.3, 100, 0.9), 4)
    0.0754
    """
    return float(special.ndtri((1 + confidence_level) / 2)) * math.sqrt(share * (1 - share) / n)


def largest_share(share: float, n: int, confidence_level: float) -> float:
    """Clopper and Pearson's upper end of a share of n inputs.

    Examples
    --------
    >>> round(largest_share(0.01, 100, 0.9), 4)
    0.0466
    """
    k = round(share * n)
    return 1.0 if k >= n else float(special.betaincinv(k + 1, n - k, (1 + confidence_level) / 2))
