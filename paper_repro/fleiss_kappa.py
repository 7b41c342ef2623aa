"""Fleiss' kappa: agreement of several raters on names, beyond what their common shares would bring."""

from __future__ import annotations

from numpy.typing import ArrayLike

from calib.analysis.agreement.alpha import ChanceCorrected, corrected_for_chance
from calib.core.check import Floats, Labels


def fleiss_kappa(
    ratings: ArrayLike,
    *,
    weights: str = "identity",
    levels: ArrayLike | None = None,
    groups: Labels | None = None,
    confidence_level: float = 0.95,
) -> ChanceCorrected:
    r"""Fleiss' kappa of two raters or more; labels may be missing.

    .. math:: \kappa = \frac{p_a - p_e}{1 - p_e}, \qquad p_e = \sum_{kl} w_{kl} \pi_k \pi_l

    with the observed agreement p_a and shares :math:`\pi_k` of `gwet_ac`. Of two raters it is Scott's pi.

    Parameters
    ----------
    ratings : array_like, shape (n, R)
        One column per rater, NaN where one gave none.
    weights, levels, groups, confidence_level
        As for `gwet_ac`.

    Returns
    -------
    ChanceCorrected
        NaN where all labels are one.

    Raises
    ------
    ValueError
        As for `gwet_ac`.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76:378-382; Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed.

    Examples
    --------
    >>> found = fleiss_kappa([[1, 1, 1], [2, 2, 1], [2, 2, 2], [1, 2, 1], [3, 3, 3], [3, 1, 3]])
    >>> round(found.estimate, 3), round(found.observed, 3)
    (0.5, 0.667)
    """
    return corrected_for_chance(ratings, "Fleiss' kappa", _by_fleiss, weights, levels, groups, confidence_level)


def _by_fleiss(shares: Floats, mean: Floats, w: Floats) -> tuple[float, Floats]:
    each = (w + w.T) @ mean / 2
    return float(mean @ each), shares @ each
