"""Proportional odds with a ridge: the chance of each label, given what a judge said."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.calibration import proportional_odds as odds
from calib.analysis.calibration.proportional_odds import RidgeCandidate, distinct_rows
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import units_of
from calib.core.result import Result, short
from calib.core.text import needed

_DUST = 1e-6  # a standardised slope that is none
_NO_END = 1e-2  # log-odds that Newton's next step would still go, where nothing is gained by it


class LogitSample(NamedTuple):
    """Labels in use: inputs (n, p), place among the levels, independent unit and weight of each."""

    x: Floats
    place: Codes
    levels: Floats
    unit: Codes
    grouped: bool
    weight: Floats | None
    used: NDArray[np.bool_]  # of the rows that came

    @property
    def n_missing(self) -> int:
        return len(self.used) - len(self.place)

    @property
    def each_weight(self) -> Floats:
        return np.ones(len(self.place)) if self.weight is None else self.weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedLogit(Result):
    """The chance of each level, given the inputs.

    Attributes
    ----------
    levels, thresholds : ndarray, shape (K,) and (K - 1,)
        Values of the scale, and thresholds on the log-odds scale, both ascending.
    slopes : ndarray, shape (p,)
        Log-odds of a higher label per unit of each input; 0 for inputs that were not taken.
    log_likelihood : float
        Of the labels, without penalty and pseudo-labels.
    ridge, pseudo : float
        The penalty of the standardised slopes, and the number of pseudo-labels.
    inputs_used, candidates : tuple of int, tuple of RidgeCandidate
        Places of the inputs that were taken; what ``ridge=None`` chose among, with the cross-validated scores of each.
    n, n_groups, n_missing : int
        Labels; independent groups of them; rows without a label or an input, left out.
    warnings : tuple of str
    sample : LogitSample
        The labels that were fitted, which `covariance` needs.
    """

    levels: Floats
    thresholds: Floats
    slopes: Floats
    log_likelihood: float
    ridge: float
    pseudo: float
    inputs_used: tuple[int, ...]
    candidates: tuple[RidgeCandidate, ...] = ()
    n: int
    n_groups: int
    n_missing: int = 0
    warnings: tuple[str, ...] = ()
    sample: LogitSample = field(repr=False)

    def predict(self, x: ArrayLike, *, shift: ArrayLike = 0.0) -> Floats:
        """Probability of each level, shape (n, K), of inputs (n,) or (n, p); NaN where one that is used is missing.

        Parameters
        ----------
        shift : array_like, default 0
            Added to the log-odds of a higher label: how much more lenient a person is. A number, or one per row.

        Examples
        --------
        >>> ordered_logit([1, 1, 2, 2, 3, 3], [0, 0, 0, 1, 1, 1]).predict([1, 3, None]).round(2)
        array([[0.78, 0.22],
               [0.22, 0.78],
               [ nan,  nan]])
        """
        at = log_odds_at(x, self.slopes, self.inputs_used) + check.array(shift, "shift")
        return odds.chances(self.thresholds, at)

    @property
    def std_errors(self) -> Floats:
        """Standard errors of thresholds and slopes, shape (K - 1 + p,): see `covariance`."""
        return np.sqrt(np.diag(self.covariance()))

    def covariance(self) -> Floats:
        """Covariance of thresholds and slopes, shape (K - 1 + p, K - 1 + p), of a fit without penalty.

        It is statsmodels', by the delta method for its logarithms of gaps between thresholds: the inverse of the
        observed information; where `groups` were given, its sandwich clustered by them. A penalty or pseudo-labels pull
        estimates to one side by more than any such matrix says, and are refused: resample the documents then, as
        `calibration_map` does. Weights are refused, too.
        """
        for name, value in (("ridge", self.ridge), ("pseudo", self.pseudo)):
            if value:
                raise ArgumentError(name, "must be 0 for a covariance: type ridge=0, pseudo=0", f"is {short(value)}")
        if self.sample.weight is not None:
            raise ArgumentError("weights", "must be left out for a covariance: repeat the rows instead")
        if any(text.startswith("separation") for text in self.warnings) or not self.slopes.all():
            raise ArgumentError("x", "must vary, and not separate the labels without error, for a covariance")
        use = "covariances of an ordered logit"
        models = needed("statsmodels.miscmodels.ordinal_model", extra="covariance", use=use)
        # statsmodels differentiates by steps in its parameters, so that it is given inputs of size 1
        z, centre, spread = odds.standardised(self.sample.x, np.ones(len(self.sample.x)))
        gaps, p, last = np.diff(self.thresholds), len(self.slopes), len(self.thresholds)
        best = np.concatenate([self.slopes * spread, self.thresholds[:1] - self.slopes @ centre, np.log(gaps)])
        clustered = {"cov_type": "cluster", "cov_kwds": {"groups": self.sample.unit}} if self.sample.grouped else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no step was made
            model = models.OrderedModel(self.sample.place, z, distr="logit")
            fit = model.fit(start_params=best, method="bfgs", maxiter=0, disp=0, **clustered)
        # derivatives of thresholds and slopes in statsmodels' (standardised slopes, first threshold, log gaps)
        turn = np.zeros((last + p, p + last))
        turn[:last, :p] = centre / spread
        turn[:last, p] = 1.0
        turn[:last, p + 1 :] = np.tril(np.ones((last, last - 1)), -1) * gaps
        turn[last:, :p] = np.diag(1 / spread)
        return np.asarray(turn @ fit.cov_params() @ turn.T)

    def _rows(self) -> list[dict[str, Any]]:
        parts = (("threshold", self.thresholds), ("slope", self.slopes))
        return [{"term": f"{name}_{k}", "estimate": v} for name, values in parts for k, v in enumerate(values, 1)]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"ordered_logit": True, "ridge": self.ridge, "pseudo": self.pseudo, "n": self.n}
        terms |= {"inputs": ",".join(str(place + 1) for place in self.inputs_used), "cv": bool(self.candidates) or None}
        return terms | {"missing": self.n_missing or None, "groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        slopes = ", ".join(short(slope) for slope in self.slopes[list(self.inputs_used)])
        alone = " of the first input" * (len(self.inputs_used) < len(self.slopes))
        line = f"ordered logit of {len(self.levels)} levels: slope{'s' * (',' in slopes)} {slopes}{alone}"
        return f"{line}, ridge {short(self.ridge)}, from {self.n} labels{self._bracketed_warnings}"


def ordered_logit(
    x: ArrayLike,
    y: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    ridge: float | None = 1.0,
    pseudo: float = 1.0,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
) -> OrderedLogit:
    r"""Chance of each label, given what a judge said: proportional odds with a ridge.

    .. math:: P(Y \le k \mid x) = \frac{1}{1 + e^{-(a_k - b' x)}}, \qquad a_1 < \ldots < a_{K-1}

    with the highest :math:`\sum_i w_i \log P(Y_i = y_i \mid x_i) - \frac{\lambda}{2} \sum_j s_j^2 b_j^2`, where s_j
    is the spread of input j over the labels, and with `pseudo` more labels at the mean input, spread evenly over the
    levels, which keep thresholds finite where a level has no label. The log-likelihood is concave: there is one best
    fit. With two levels it is a ridge logistic regression.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, p)
        What the judge said, on any scale: its score, or several inputs, its own score first.
    y : array_like, shape (n,)
        A person's label of the same item; NaN where there is none. Rows with a missing label or input are left out.
    levels : array_like, shape (K,), optional
        Values that a label can have, ascending. Default: those that came.
    ridge : float or None, default 1.0
        The penalty lambda. None: chosen by cross-validation over `groups`, where the first input alone is among the
        candidates. The reference, which is taken unless another is clearly better, is as many as inputs (20 at most).
    pseudo : float, default 1.0
        How many pseudo-labels. 0 together with ``ridge=0`` is the maximum of the likelihood.
    groups, weights : sequence, shape (n,), optional
        Labels are independent between groups, by which folds are made and standard errors clustered (default: each
        label is on its own); how many labels each row counts for.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data, JRSS B 42. That the likelihood is concave: Pratt (1981), JASA
    76; Burridge (1981), JRSS B 43.

    Examples
    --------
    A judge that scores 0 to 10 beside labels 1 to 3:

    >>> fit = ordered_logit([2, 3, 5, 5, 7, 8, 9, 9], [1, 1, 1, 2, 2, 3, 2, 3])
    >>> print(fit)
    ordered logit of 3 levels: slope 0.5239, ridge 1, from 8 labels
    >>> fit.predict([2, 9]).round(2)
    array([[0.8 , 0.18, 0.03],
           [0.09, 0.39, 0.52]])
    """
    penalties_checked(ordered_logit, ridge=ridge, pseudo=pseudo)
    sample = sample_of(x, y, levels, groups, weights)
    table = odds.counted_rows(sample.x, sample.place, len(sample.levels), sample.weight)
    check_levels(table.counts, sample.levels, pseudo)
    z, centre, spread = odds.standardised(table.x, table.counts.sum(axis=1))
    tried: tuple[RidgeCandidate, ...] = ()
    if ridge is None:
        tried = odds.chosen_ridge(odds.Tabled(z, table, sample.place, sample.unit, sample.each_weight), pseudo)
    best = next((one for one in tried if one.chosen), None)
    used = best.inputs if best else (0,) if ridge is None else tuple(range(z.shape[1]))
    penalty = best.ridge if best else odds.reference_ridge(len(used)) if ridge is None else float(ridge)
    z = z[:, list(used)]
    problem = (*odds.with_pseudo(z, table.counts, pseudo), np.full(len(used), penalty))
    a, b, _ = odds.fitted(*problem)
    slopes = np.zeros(len(spread))
    slopes[list(used)] = b / spread[list(used)]
    constant, (at, counts, _) = not z.any(), problem
    endless = not penalty and np.abs(odds.newton_step(np.concatenate([a, b]), *problem)).max() > _NO_END
    texts = {
        "constant_judge: all inputs are the same for every label, so forecasts are the labels' shares.": constant,
        "negative_slope: higher scores of the judge go with lower labels; its scale may run the other way, or it may "
        "know nothing.": not constant and (counts.sum(axis=1) * at[:, 0]) @ (at @ b) < -_DUST * counts.sum(),
        "separation: the inputs separate the labels without error, so that unpenalised slopes have no end; these are "
        "where the likelihood gained nothing more. Type ridge=1.": endless,
    }
    return OrderedLogit(
        levels=sample.levels, thresholds=a + slopes @ centre, slopes=slopes,
        log_likelihood=float(odds.log_likelihood(a, b, z, table.counts)), ridge=penalty, pseudo=float(pseudo),
        inputs_used=used, candidates=tried, n=len(sample.place), n_groups=int(sample.unit.max()) + 1,
        n_missing=sample.n_missing, warnings=warned(texts), sample=sample,
    )  # fmt: skip


def warned(texts: Mapping[str, Any]) -> tuple[str, ...]:
    """Warn of each text that holds; these texts."""
    return check.warn_all([text for text, holds in texts.items() if holds])


def sample_of(
    x: ArrayLike, y: ArrayLike, levels: ArrayLike | None, groups: Labels | None, weights: ArrayLike | None
) -> LogitSample:
    """The rows that have a label, all inputs and a weight above 0."""
    values, labels = inputs_of(x), check.array(y, "y", ndim=1)
    weight = None if weights is None else check.array(weights, "weights", ndim=1)
    if weight is not None and not (weight >= 0).all():
        raise ArgumentError("weights", "must be numbers not below 0", f"got {short(weight[~(weight >= 0)][0])}")
    check.same_length(x=values, y=labels, groups=groups, weights=weight)
    there = np.isfinite(labels)
    used = there.copy()
    for column in values.T:  # by hand: `all` over an axis of one is slow
        used &= np.isfinite(column)
    if weight is not None:
        used &= weight > 0
    if not used.any():
        raise ArgumentError("y", "must have a label where {0} has a score", "got none", mentions=("x",))
    seen, row = distinct_rows((labels if there.all() else labels[there])[:, None])
    scale = seen[:, 0] if levels is None else check.array(levels, "levels", ndim=1)
    if levels is None and len(scale) < 2:
        rule = "must have two values or more, or {0} must say what a label can be: type levels=[1, 2, 3]"
        raise ArgumentError("y", rule, f"is {short(scale[0])} everywhere", mentions=("levels",))
    if len(scale) < 2 or not (np.diff(scale) > 0).all():
        got = f"got {', '.join(map(short, scale)) or 'none'}"
        raise ArgumentError("levels", "must be two values or more, each above the one before", got)
    place = np.searchsorted(scale, seen[:, 0]).clip(max=len(scale) - 1)
    if (off := scale[place] != seen[:, 0]).any():
        rule = f"must be one of the levels {', '.join(map(short, scale))}"
        raise ArgumentError("y", rule, f"got {short(seen[off, 0][0])}")
    unit, grouped, place = units_of(groups, used), groups is not None, np.asarray(place, dtype=np.intp)[row]
    if used.all():
        return LogitSample(values, place, scale, unit, grouped, weight, used)
    weight = None if weight is None else weight[used]
    return LogitSample(values[used], place[used[there]], scale, unit, grouped, weight, used)


def inputs_of(x: ArrayLike, p: int | None = None) -> Floats:
    """Inputs as (n, p)."""
    values = check.array(x, "x")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != (p or values.shape[1]) or not values.shape[1]:
        wanted = "(n,) or (n, p)" if p is None else "(n,)" if p == 1 else f"(n, {p})"
        got = f"got a number: write [{x!r}]" if values.ndim == 0 else f"got shape {np.shape(x)}"
        raise ArgumentError("x", f"must be an array of shape {wanted}", got)
    return values


def log_odds_at(x: ArrayLike, slopes: Floats, used: Sequence[int]) -> Floats:
    """Log-odds of a higher label at the inputs that are used, (n,)."""
    with np.errstate(over="ignore", invalid="ignore"):  # a judge far off its own scale
        return np.asarray(inputs_of(x, len(slopes))[:, list(used)] @ slopes[list(used)])


def penalties_checked(function: Any, **penalties: float | None) -> None:
    """Refuse penalties that are below 0, or None where the signature has no None."""
    check.check_types(function, penalties)
    for name, value in penalties.items():
        if value is not None and not 0 <= value < np.inf:
            raise ArgumentError(name, "must be a number not below 0", f"got {value!r}")


def check_levels(counts: Floats, levels: Floats, pseudo: float) -> None:
    """Refuse levels without labels where there are no pseudo-labels: their thresholds have no end."""
    empty = levels[counts.sum(axis=0) == 0]
    if len(empty) and not pseudo:
        names = ", ".join(map(short, empty))
        rule = f"must be above 0 where a level has no label (here {names}), as its threshold would have no end: type"
        raise ArgumentError("pseudo", f"{rule} pseudo=1, or leave it out of {{0}}", "got 0", mentions=("levels",))
