"""A judge's yes for one kind of item against others, within each verdict of people: Mantel and Haenszel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Interval, Result, bracket, short

_ETS = -2.35  # of the log odds ratio: the delta scale of test items
_POWER = 0.8
_NO_ENDS = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class MantelHaenszel(Result):
    """Odds of a judge's yes for one kind of item, against others of the same verdict of people.

    Attributes
    ----------
    odds_ratio : float
    interval : Interval
        Robins, Breslow and Greenland's; infinite or 0 ends where a cell is empty in all strata.
    log_std_error : float
        Of the log of the odds ratio.
    chi2, p_value : float
        Mantel and Haenszel's test, with the continuity correction.
    chi2_plain, p_plain : float
        Without.
    breslow_day, p_breslow_day : float
        Whether the odds ratio is one for all strata.
    delta : float
        -2.35 ln OR, as testing services print it: negative where the judge favours the first row.
    ets_class : {"A", "B", "C", ""}
        A: delta nearer to 0 than 1, or not told apart from 0; C: 1.5 or more and told apart from 1; B: between.
    smallest : float
        The smallest odds ratio above 1 that these tables would find 4 times in 5.
    confidence_level : float
    n, n_strata : int
        Items, and strata that tell something.
    """

    odds_ratio: float
    interval: Interval
    log_std_error: float
    chi2: float
    p_value: float
    chi2_plain: float
    p_plain: float
    breslow_day: float
    p_breslow_day: float
    delta: float
    ets_class: str
    smallest: float
    confidence_level: float
    n: int
    n_strata: int
    _cells = (
        "odds_ratio interval log_std_error chi2 p_value chi2_plain p_plain breslow_day p_breslow_day delta ets_class "
        "smallest n n_strata"
    )

    def _terms(self) -> dict[str, Any]:
        return {"mantel-haenszel": True, "strata": self.n_strata, "cl": self.confidence_level, "n": self.n}

    def __str__(self) -> str:
        return (
            f"odds ratio {short(self.odds_ratio)}, {bracket(self.interval, self.confidence_level)}, "
            f"p = {self.p_value:.2g} (Mantel-Haenszel, {self.n_strata} strata, n = {self.n}); delta "
            f"{short(self.delta)}, class {self.ets_class}; {short(self.smallest)} would be found 4 times in 5"
        )


def mantel_haenszel(tables: ArrayLike, *, confidence_level: float = 0.95) -> MantelHaenszel:
    r"""Common odds ratio of 2 x 2 tables, one for each stratum.

    .. math:: OR = \frac{\sum_s a_s d_s / n_s}{\sum_s b_s c_s / n_s}, \qquad
              \chi^2 = \frac{(|\sum_s a_s - E a_s| - \tfrac12)^2}{\sum_s Var(a_s)}

    What people err in within a stratum leaks quality into it: items of the better system are better within "people say
    right", too. `instrumented` takes people's errors into account; this one needs a single annotator.

    Parameters
    ----------
    tables : array_like, shape (S, 2, 2)
        For each stratum (people's verdict): the items of interest in the first row, the others in the second; the
        judge's yes in the first column, its no in the second.
    confidence_level : float, default 0.95

    Returns
    -------
    MantelHaenszel

    Raises
    ------
    ValueError
        If the shape is another, a count is negative, or no stratum tells anything.

    References
    ----------
    Mantel and Haenszel (1959), JNCI 22:719-748; Robins, Breslow and Greenland (1986), Biometrics 42:311-323; Breslow
    and Day (1980), Statistical Methods in Cancer Research 1; Holland and Thayer (1988), in Test Validity (delta).

    Examples
    --------
    TriviaQA, Llama-7B on answers of Llama-2 7B against others, of what people call wrong and right:

    >>> found = mantel_haenszel([[[206, 169], [451, 335]], [[420, 5], [1588, 26]]])
    >>> round(found.odds_ratio, 4), [round(end, 4) for end in found.interval]
    (0.9317, [0.7338, 1.1831])
    """
    confidence = check.probability(confidence_level, "confidence_level")
    t = check.array(tables, "tables", ndim=3)
    if t.shape[1:] != (2, 2):
        raise ArgumentError("tables", "must have shape (S, 2, 2)", f"got {t.shape}")
    if np.isnan(t).any() or (t < 0).any():
        raise ArgumentError("tables", "must be counts", "has one that is negative or missing")
    t = t[(t.sum(axis=1) > 0).all(axis=1) & (t.sum(axis=2) > 0).all(axis=1)]  # the others tell nothing
    if not len(t):
        raise ArgumentError("tables", "must have a stratum with both kinds of items and both answers", "has none")
    a, b, c, d = t[:, 0, 0], t[:, 0, 1], t[:, 1, 0], t[:, 1, 1]
    n = a + b + c + d
    ratio, error = _odds_ratio(a, b, c, d, n)
    expected = (a + b) * (a + c) / n
    variance = float(((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1))).sum())
    off = abs(float((a - expected).sum()))
    plain, corrected = off**2 / variance, max(off - 0.5, 0.0) ** 2 / variance
    day = _breslow_day(a, b, c, d, ratio)
    p_day = _p(day, len(t) - 1) if len(t) > 1 else math.nan
    log, z = math.log(ratio) if 0 < ratio < math.inf else math.nan, float(special.ndtri((1 + confidence) / 2))
    interval = _NO_ENDS if math.isnan(error) else Interval(math.exp(log - z * error), math.exp(log + z * error))
    return MantelHaenszel(
        odds_ratio=ratio, interval=interval, log_std_error=error, chi2=corrected, p_value=_p(corrected, 1),
        chi2_plain=plain, p_plain=_p(plain, 1), breslow_day=day, p_breslow_day=p_day,
        delta=_ETS * log, ets_class=_ets_class(log, error, _p(corrected, 1)),
        smallest=math.exp((z + float(special.ndtri(_POWER))) * error) if not math.isnan(error) else math.nan,
        confidence_level=confidence, n=int(n.sum()), n_strata=len(t),
    )  # fmt: skip


def _p(chi2: float, df: int) -> float:
    return float(special.chdtrc(df, chi2))


def _odds_ratio(a: Floats, b: Floats, c: Floats, d: Floats, n: Floats) -> tuple[float, float]:
    """And the error of its log, NaN where it is 0 or has no end."""
    r, s = a * d / n, b * c / n
    top, bottom = float(r.sum()), float(s.sum())
    if top == 0 or bottom == 0:
        return (math.inf if top > 0 else 0.0 if bottom > 0 else math.nan), math.nan
    p, q = (a + d) / n, (b + c) / n
    variance = (
        (p * r).sum() / (2 * top**2) + (p * s + q * r).sum() / (2 * top * bottom) + (q * s).sum() / (2 * bottom**2)
    )
    return top / bottom, math.sqrt(float(variance))


def _breslow_day(a: Floats, b: Floats, c: Floats, d: Floats, ratio: float) -> float:
    """Distance of the first cells from those that the common ratio would bring."""
    if len(a) < 2 or not 0 < ratio < math.inf:
        return math.nan
    row, column, n = a + b, a + c, a + b + c + d
    x = 1 - ratio
    if abs(x) < 1e-12:
        wanted = row * column / n
    else:
        linear = n - row - column + ratio * (row + column)
        root = np.sqrt(linear**2 + 4 * x * ratio * row * column)
        wanted = (-linear + root) / (2 * x)
    spread = 1 / (1 / wanted + 1 / (row - wanted) + 1 / (column - wanted) + 1 / (n - row - column + wanted))
    return float(((a - wanted) ** 2 / spread).sum())


def _ets_class(log: float, error: float, p_value: float) -> str:
    if math.isnan(log) or math.isnan(error):
        return ""
    delta = abs(_ETS * log)
    if delta < 1 or p_value > 0.05:
        return "A"
    beyond = (delta - 1) / (abs(_ETS) * error) > special.ndtri(0.95)
    return "C" if delta >= 1.5 and beyond else "B"


# --- of scores on a scale -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Mantel(Result):
    """Scores of one kind of item against others, within each label of people.

    Attributes
    ----------
    estimate : float
        Points that items of interest get more, on average over strata by how many of them each has.
    z, p_value : float
        Mantel's test.
    n, n_focal, n_strata : int
        Items, those of interest, and strata with both kinds.
    """

    estimate: float
    z: float
    p_value: float
    n: int
    n_focal: int
    n_strata: int
    _cells = "estimate z p_value n n_focal n_strata"

    def _terms(self) -> dict[str, Any]:
        return {"mantel": True, "strata": self.n_strata, "focal": self.n_focal, "n": self.n}

    def __str__(self) -> str:
        return (
            f"{short(self.estimate)} points more within people's labels, z = {self.z:.3g}, p = {self.p_value:.2g} "
            f"({self.n_focal} of {self.n} items, {self.n_strata} strata)"
        )


def mantel(scores: ArrayLike, focal: ArrayLike, strata: Labels) -> Mantel:
    r"""Whether items of one kind get other scores than items with the same label of people: Mantel's test.

    .. math:: z = \frac{\sum_s (F_s - E F_s)}{\sqrt{\sum_s Var(F_s)}}, \qquad
              Var(F_s) = \frac{n_{1s} n_{0s}}{n_s^2 (n_s - 1)} \Big(n_s \sum j^2 - \big(\sum j\big)^2\Big)

    with the sum of scores F of the items of interest in each stratum, and its hypergeometric mean and variance.

    Parameters
    ----------
    scores : array_like, shape (n,)
        The judge's.
    focal : array_like, shape (n,)
        1 for the items of interest, 0 for the others.
    strata : sequence, shape (n,)
        People's label of each item.

    Returns
    -------
    Mantel

    Raises
    ------
    ValueError
        If no stratum has both kinds of items.

    References
    ----------
    Mantel (1963), Journal of the American Statistical Association 58:690-700.

    Examples
    --------
    >>> found = mantel([1, 2, 2, 3, 4, 4, 5, 5], [1, 0, 1, 0, 0, 1, 0, 1], [1, 1, 1, 1, 2, 2, 2, 2])
    >>> round(found.estimate, 3), round(found.z, 3)
    (-0.5, -1.0)
    """
    j, mine = check.array(scores, "scores", ndim=1), check.array(focal, "focal", ndim=1)
    check.same_length(scores=j, focal=mine, strata=strata)
    if not np.isin(mine[~np.isnan(mine)], (0.0, 1.0)).all():
        raise ArgumentError("focal", "must be 1 for the items of interest and 0 for the others")
    stratum = check.codes(strata, "strata")
    kept = ~np.isnan(j) & ~np.isnan(mine)
    j, mine, stratum = j[kept], mine[kept], stratum[kept]
    size, own, total, squares, hit = (np.bincount(stratum, w) for w in (np.ones(len(j)), mine, j, j**2, mine * j))
    both = (own > 0) & (own < size)
    if not both.any():
        raise ArgumentError("strata", "must have one with both kinds of items", "none has")
    size, own, total, squares, hit = (part[both] for part in (size, own, total, squares, hit))
    off = float((hit - own * total / size).sum())
    variance = float((own * (size - own) / (size**2 * (size - 1)) * (size * squares - total**2)).sum())
    z = off / math.sqrt(variance) if variance > 0 else math.nan
    apart = hit / own - (total - hit) / (size - own)
    return Mantel(
        estimate=float((own * apart).sum() / own.sum()), z=z, p_value=float(2 * special.ndtr(-abs(z))),
        n=int(size.sum()), n_focal=int(own.sum()), n_strata=len(size),
    )  # fmt: skip
