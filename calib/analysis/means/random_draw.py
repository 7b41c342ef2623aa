"""How often a random draw of labels would lie as far from the rest as these do, however rare some scores are."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calib.analysis.means.moments import Moments, moments_of
from calib.core.check import Floats

_SUSPECT = 2.5  # standard errors below which no p-value is worked out
_DRAWS, _VALUES, _MOST = 20_000, 200, 200_000


def p_of_draw(values: Floats, labelled: np.ndarray) -> float:
    """How often a random draw of as many would have a mean as far from that of all; 1 where that is no question.

    Draws without replacement from the values themselves: with few labels and skewed scores no law of the mean holds in
    the tails. More than 200 different values are put on an even grid.
    """
    n, size = int(labelled.sum()), len(values)
    spread = float(np.var(values, ddof=1)) if size > 1 else 0.0
    if not 0 < n < size or not spread > 0:
        return 1.0
    apart = abs(values[labelled].mean() - values.mean())
    if apart < _SUSPECT * np.sqrt(spread * (1 / n - 1 / size)):
        return 1.0
    if len(np.unique(values)) > _VALUES:
        step = float(np.ptp(values)) / _VALUES
        values = np.round(values / step) * step
        apart = abs(values[labelled].mean() - values.mean())
    kinds, counts = np.unique(values, return_counts=True)
    drawn = min(n, size - n)  # the rest is a draw as well
    # a step for each score drawn, or a law for each value
    method: Literal["count", "marginals"] = "count" if drawn < 5 * len(kinds) else "marginals"
    draws = np.random.default_rng(0).multivariate_hypergeometric(counts, drawn, size=_DRAWS, method=method)
    reach = np.abs(draws @ kinds - drawn * values.mean())
    return float((1 + np.sum(reach >= n * apart * (1 - 1e-9))) / (1 + _DRAWS))


def p_of_moments(n: int, apart: float, every: Moments) -> float:
    r"""An upper limit of the same chance, where of all scores only moments are there.

    Bennett's inequality, which holds for draws without replacement, too: of the variance :math:`\sigma^2` of all
    scores, the largest deviation b from their mean and the distance t of the mean of n labelled ones from it

    .. math:: P \le 2 \exp\{-n (\sigma / b)^2 h(b t / \sigma^2)\}, \qquad h(u) = (1 + u) \log(1 + u) - u

    References
    ----------
    Boucheron, Lugosi and Massart (2013), Concentration Inequalities, theorem 2.9.
    """
    square = float(every.squares) / int(every.n)
    if not square > 0:
        return 1.0
    far = max(float(every.high - every.mean), float(every.mean - every.low))
    u = far * abs(apart) * (1 - n / int(every.n)) / square
    return min(1.0, 2 * float(np.exp(-n * square / far**2 * ((1 + u) * np.log1p(u) - u))))


def p_of_labels(labelled: Floats, rest: Moments, scores: Floats | None) -> float:
    """The chance for labelled scores beside the rest, of which all are there one by one or only moments."""
    n, every = len(labelled), rest.merge(moments_of(labelled, "judge"))
    apart = float(labelled.mean() - rest.mean)
    if abs(apart) < _SUSPECT * np.sqrt(float(every.squares) / int(every.n) * (1 / n + 1 / int(rest.n))):
        return 1.0
    if scores is None or len(scores) > _MOST:  # too many to be copied
        return p_of_moments(n, apart, every)
    return p_of_draw(np.append(labelled, scores), np.arange(n + len(scores)) < n)
