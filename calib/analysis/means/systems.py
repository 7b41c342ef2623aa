"""Corrected means of very many systems at once, from labels and mergeable moments: one pass over the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.means.guards import bounds_of, on_scale
from calib.analysis.means.methods import Estimated, kind_of, law_on_scale
from calib.analysis.means.moments import Moments, refuse_missing, system_codes
from calib.analysis.means.rates import post_stratified, posterior_error
from calib.analysis.means.ridge import Rule, ridge
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.result import Columns, short


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanEstimates(Columns, Estimated):
    """Means of many systems with their intervals; see `MeanEstimate` for one.

    Attributes
    ----------
    estimate, std_error, low, high : ndarray, shape (systems,)
    lam : ndarray, shape (systems,)
        Weight of the judge; NaN for yes or no.
    n_gold, n : ndarray of int, shape (systems,)
        Items with a label; items in all.
    confidence_level : float
    estimator : str
        "gaffke-ppi", "t-ppi" or "mover-jeffreys".
    """

    _cells = "system estimate std_error low high lam n_gold n"

    estimate: Floats = field(repr=False)
    std_error: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    lam: Floats = field(repr=False)
    n_gold: Codes = field(repr=False)
    n: Codes = field(repr=False)
    confidence_level: float
    estimator: str

    @property
    def system(self) -> Codes:
        """The number of each."""
        return np.arange(len(self.estimate))

    def _terms(self) -> dict[str, Any]:
        terms = {self.estimator: True, "of": "human-mean", "alt": "two-sided", "cl": self.confidence_level}
        return terms | {"systems": len(self.estimate), "gold": int(self.n_gold.sum()), "n": int(self.n.sum())}

    def __str__(self) -> str:
        half = short(float(np.median(self.high - self.low)) / 2)
        return (
            f"human means of {len(self.estimate)} systems, half-width {half} in the middle, from "
            f"{self.n_gold.sum()} human labels and {self.n.sum()} judge scores (people and judge)"
        )


def ppi_means(
    y: ArrayLike,
    f: ArrayLike,
    systems: ArrayLike,
    f_unlabeled: Moments,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    same_scale: bool | None = None,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimates:
    """`ppi_mean` of each of many systems in one go, from moments of the unlabelled scores.

    The numbers are those of `ppi_mean` on each system alone, without its warnings.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Human labels and judge scores of the gold items of all systems.
    systems : array_like of int, shape (n,)
        Number of the system of each, 0 .. systems - 1.
    f_unlabeled : Moments
        Of the other items by system: ``Moments.from_chunks(..., n_systems=...)``.
    bounds, step, same_scale, confidence_level
        As for `ppi_mean`. The scale is taken as common if all judge scores lie on it.
        Labels and judge scores that are all 0 or 1 give proportions.
    min_gold : int, default 10
        Fewer labels of any system are refused.

    Returns
    -------
    MeanEstimates

    Raises
    ------
    ValueError
        As `ppi_mean`, or if `systems` are not numbers of the systems in `f_unlabeled`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(3, 0.5, (2, 500)).clip(1, 5)
    >>> judged = (quality + rng.normal(0, 0.2, (2, 500))).clip(1, 5)
    >>> rest = Moments.from_chunks([(judged[:, 20:].ravel(), np.repeat([0, 1], 480))], n_systems=2)
    >>> found = ppi_means(quality[:, :20].ravel(), judged[:, :20].ravel(), np.repeat([0, 1], 20), rest, bounds=(1, 5))
    >>> print(found)
    human means of 2 systems, half-width 0.3475 in the middle, from 40 human labels and 1000 judge scores
    (people and judge)
    """
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    refuse_missing(labels, "y")
    refuse_missing(scores, "f")
    ends, confidence = bounds_of(bounds, step), check.probability(confidence_level, "confidence_level")
    on_scale(labels, ends, "y")
    if np.ndim(f_unlabeled.n) != 1:
        raise ArgumentError("f_unlabeled", "must be moments by system ({0})", "holds one set", mentions=("n_systems",))
    code = system_codes(systems, len(f_unlabeled.n))
    check.same_length(y=labels, f=scores, systems=code)
    n_gold = np.bincount(code, minlength=len(f_unlabeled.n))
    least = check.whole(min_gold, "min_gold", least=2)
    if len(few := np.flatnonzero(n_gold < least)):
        raise ValueError(
            f"each system must have {least} gold labels at least (`min_gold` lowers that), but {len(few)} have "
            f"fewer, such as {few[0]} with {n_gold[few[0]]}."
        )
    yes_or_no = ends in {None, (0.0, 1.0)} and bool(np.isin(labels, (0, 1)).all())
    ends = (0.0, 1.0) if yes_or_no else ends
    binary = yes_or_no and bool(np.isin(scores, (0, 1)).all()) and f_unlabeled.binary
    if binary:
        columns = _shares(labels, scores, code, f_unlabeled, confidence)
    else:
        lowest, highest = min(scores.min(), f_unlabeled.low.min()), max(scores.max(), f_unlabeled.high.max())
        inside = ends is not None and bool(ends[0] <= lowest and highest <= ends[1])
        rule = Rule.on(ends, same_scale=inside if same_scale is None else same_scale)
        parts = ridge(labels, scores, code, f_unlabeled, rule)
        point, law = law_on_scale(parts, ends, two=yes_or_no)
        low, high = (np.asarray(end((1 - confidence) / 2)) for end in (law.low, law.high))
        error = np.sqrt(parts.variance)
        columns = {"estimate": point, "std_error": error, "low": low, "high": high, "lam": parts.lam}
    kind = kind_of(bounded=ends is not None, binary=binary)
    n = n_gold + f_unlabeled.n
    return MeanEstimates(**columns, n_gold=n_gold, n=n, confidence_level=confidence, estimator=kind)


def _shares(y: Floats, f: Floats, code: Codes, rest: Moments, confidence: float) -> dict[str, Floats]:
    sets = len(rest.n)
    k1, n1, k0, n0 = (np.bincount(code, part, sets) for part in (y * f, f, y * (1 - f), 1 - f))
    yes = np.round(rest.mean * rest.n)
    counts = (k1, n1, k0, n0, yes, rest.n - yes)
    estimate, low, high, *_ = post_stratified(*counts, confidence)
    error = posterior_error(*counts, finite=False)
    return {"estimate": estimate, "std_error": error, "low": low, "high": high, "lam": np.full(sets, np.nan)}
