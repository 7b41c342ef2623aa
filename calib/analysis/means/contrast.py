"""Two systems compared: the difference and the ratio of their mean human scores, paired where both have a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from calib.analysis.means.gold import Asked, Design, Drawn, design_of, gold_of
from calib.analysis.means.guards import bounds_of, cautions_of, cautions_on, on_scale, options_of
from calib.analysis.means.mean import MeanEstimate, estimated, ppi_mean
from calib.analysis.means.methods import METHODS, estimator_of
from calib.analysis.means.moments import Moments
from calib.analysis.means.unpaired import difference_of, sides_of
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.laws import ALTERNATIVES, interval_of, p_value_of
from calib.core.result import Interval, short

_DOUBLINGS = 40
_NO_INTERVAL = Interval(np.nan, np.nan)
_ASKED = (Asked.__annotations__.keys() - Drawn.__annotations__.keys()) | {"same_scale", "conservative"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEstimate(MeanEstimate):
    """A difference of two systems' means with an interval: a `MeanEstimate` that knows which labels are paired.

    Attributes
    ----------
    n_paired, n_a_only, n_b_only : int
        Inputs whose labels were used, of both systems, of the first alone, of the second alone. `n_gold` is
        their sum, and `n` counts inputs.
    lam : float
        Where labels are not all paired, the mean of both systems' weights.
    """

    n_paired: int
    n_a_only: int
    n_b_only: int

    @property
    def is_paired(self) -> bool:
        """Whether all labels that were used are of both systems."""
        return not self.n_a_only + self.n_b_only

    @property
    def labels_in_words(self) -> str:
        """How many labels, and of which system."""
        both, first, second = self.n_paired, self.n_a_only, self.n_b_only
        if self.is_paired:
            return f"{both} pair{'s' * (both != 1)} of human labels"
        parts = f"{both} pair{'s' * (both != 1)}, {first} of the first and {second} of the second system alone"
        return f"{2 * both + first + second} human labels of {self.n_gold} inputs ({parts})"

    def _rows(self) -> list[dict[str, Any]]:
        counts = self._row("n_paired", "n_a_only", "n_b_only")
        return [row | counts for row in super(DifferenceEstimate, self)._rows()]

    def _terms(self) -> dict[str, Any]:
        return super(DifferenceEstimate, self)._terms() | {"pairs": None if self.is_paired else self.n_paired}

    def __str__(self) -> str:
        if not self.n_gold:
            return super(DifferenceEstimate, self).__str__()
        scores = f" and judge scores of {self.n} inputs" if self.uses_judge else ""
        made = f"from {self.labels_in_words}{scores} ({METHODS[self.estimator].words}){self._bracketed_warnings}"
        return f"{self.estimand} = {short(self.estimate)}, {self.bracket}, {made}"


def ppi_difference(
    y_a: ArrayLike,
    y_b: ArrayLike,
    f_a: ArrayLike,
    f_b: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    null: float = 0.0,
    **options: Unpack[Asked],
) -> DifferenceEstimate:
    r"""Mean human score of A less that of B, paired on the inputs on which both have a label.

    Where each labelled input has a label of both, `ppi_mean` of the differences: what a group (a source document)
    does to both systems alike, and what the judge gets wrong on both alike, cancels.

    Where labels were drawn whatever the system, few or none are pairs. Then each system's mean has its own interval
    [l, u] by `ppi_mean`, and the distances to the ends add as standard errors do,

    .. math:: \hat\theta_A - \hat\theta_B - \sqrt{d_A^2 + d_B^2 - 2 r d_A d_B}, \qquad
              d_A = \hat\theta_A - l_A, \quad d_B = u_B - \hat\theta_B

    and the other end likewise. r is the correlation of both errors: from the judge's scores of inputs that both
    answered, and from m pairs of labels, whose covariance counts m / (m + 4). With `min_gold` pairs or more the pairs
    alone are taken where their interval is the narrower one, as with two versions of one system, which people score
    much alike.

    Parameters
    ----------
    y_a, y_b : array_like, shape (n,)
        Human labels of the two systems (or versions) on the same n inputs, NaN where unlabelled.
    f_a, f_b : array_like, shape (n,)
        Judge scores of the same; NaN where that system did not answer the input.
    f_unlabeled : array_like, shape (N,), or Moments, optional
        The judge's differences f_a - f_b on the inputs without labels, if `y_a` and `y_b` are whole.
    bounds, step
        Of one score, as for `ppi_mean`; differences then lie within plus and minus their distance.
    null : float, default 0.0
        `p_value` is for this difference.
    **options
        As for `ppi_mean`: `design` or its fields, `target`, `estimator`, `alternative`, `min_gold` (of each system),
        `conservative`, `same_scale`, `confidence_level`. With groups, strata or weights, and by "ppi", "ppi++" and
        "regression", only pairs count.

    Returns
    -------
    DifferenceEstimate

    Raises
    ------
    ValueError
        As `ppi_mean`, or if a label has no judge score beside it.

    References
    ----------
    Zou and Donner (2008), Statistics in Medicine 27:1693-1702, for distances that add; Zou (2007), Psychological
    Methods 12:399-413, for correlated ones.

    Examples
    --------
    >>> nan = float("nan")
    >>> result = ppi_difference([4, 5, 4, nan, nan], [3, 3, 4, nan, nan],
    ...                         [4.1, 4.8, 4, 4.5, 4.2], [3, 3.5, 3.6, 3.4, 3.3], estimator="ppi")
    >>> print(result)
    human mean difference = 1.067, 95 % CI [-0.2189, 2.352], from 3 pairs of human labels and judge scores of 5
    inputs (PPI) [warnings: few_labels, weak_judge]

    Labels of other inputs for each, but one:

    >>> y_a, y_b = [4, 5, 4, 3, 4, nan, nan, nan], [nan, nan, nan, nan, 3, 3, 4, 2]
    >>> f_a, f_b = [4.1, 4.8, 4, 3.3, 4.2, 4.5, 3.9, 4.4], [3, 3.5, 3.6, 2.9, 3.1, 3.4, 3.9, 2.2]
    >>> result = ppi_difference(y_a, y_b, f_a, f_b, bounds=(1, 5), step=1, min_gold=2)
    >>> result.n_paired, result.n_a_only, result.n_b_only
    (1, 4, 3)
    """
    named = {"y_a": y_a, "y_b": y_b, "f_a": f_a, "f_b": f_b}
    arrays = {name: check.array(value, name, ndim=1) for name, value in named.items()}
    check.same_length(**arrays)
    ends = bounds_of(bounds, step)
    for name in ("y_a", "y_b"):
        on_scale(arrays[name], ends, name)
    scale = Scale(ends, step, null)
    alone = np.isnan(arrays["y_a"]) != np.isnan(arrays["y_b"])
    if not alone.any() or f_unlabeled is not None or _only_pairs(options):
        return _paired(arrays, f_unlabeled, scale, options)
    either, least = _unpaired(arrays, scale, options), options.get("min_gold", 10)
    if either.n_paired < least:
        return either
    pairs = _paired(arrays, None, scale, options)
    return pairs if _width(pairs) < _width(either) else either


class Scale(NamedTuple):
    """Of one score, and the difference to test."""

    bounds: tuple[float, float] | None
    step: float | None
    null: float


def _width(result: MeanEstimate) -> float:
    return result.interval.high - result.interval.low


def _only_pairs(options: Asked) -> bool:
    """Whether labels of one system alone have no place: with a design, and with what was published for pairs."""
    estimator = estimator_of(options.get("estimator", "auto"), options.get("method"))
    design = _design_in(options)
    columns = (getattr(design, name) for name in ("groups", "strata", "weights", "inclusion", "folds"))
    return estimator not in {"auto", "classical"} or any(column is not None for column in columns)


def _design_in(options: Asked) -> Design:
    """The design among the options, of which what `ppi_mean` does not take is refused."""
    drawn = {name: value for name, value in options.items() if name not in _ASKED}
    return design_of(options.get("design"), cast(Drawn, drawn))


def _paired(
    arrays: Mapping[str, Floats], f_unlabeled: ArrayLike | Moments | None, scale: Scale, options: Asked
) -> DifferenceEstimate:
    """`ppi_mean` of the differences, on inputs that both answered."""
    y_a, y_b, f_a, f_b = arrays.values()
    if f_unlabeled is None and not _only_pairs(options):
        answered = ~np.isnan(f_a + f_b)
        y_a, y_b, f_a, f_b = (values[answered] for values in (y_a, y_b, f_a, f_b))
    design, asked = _design_in(options), _asked_of_each(scale, options) | {"null": scale.null}
    if scale.bounds is not None:
        width = scale.bounds[1] - scale.bounds[0]
        asked["bounds"] = -width, width
    data = gold_of(y_a - y_b, f_a - f_b, f_unlabeled, design)
    pairs = ~np.isnan(y_a + y_b)
    a, b = (float(values[pairs].mean()) if pairs.any() else 0.0 for values in (y_a, y_b))
    found = replace(options_of(data, binary=False, **asked), ends=_one_extreme(a, b, scale.bounds))
    result = estimated(data, found, cautions_of(design) + cautions_on(data, found))
    cells = {cell.name: getattr(result, cell.name) for cell in fields(MeanEstimate)}
    cells["estimand"] = f"{result.estimand} difference"
    if result.n_gold and (left := int((np.isnan(arrays["y_a"]) != np.isnan(arrays["y_b"])).sum())):
        cells["warnings"] += (f"pairs_alone: {left} labels of one system alone were left out",)
    return DifferenceEstimate(**cells, n_paired=result.n_gold, n_a_only=0, n_b_only=0)


def _one_extreme(a: float, b: float, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """Where a difference can lie of which one score is at an end of its scale and the other as it is on average."""
    if bounds is None:
        return None
    low, high = bounds
    return min(low - b, a - high), max(high - b, a - low)


def _unpaired(arrays: Mapping[str, Floats], scale: Scale, options: Asked) -> DifferenceEstimate:
    """Each system's own mean, and both put together."""
    y_a, y_b, f_a, f_b = arrays.values()
    asked = _asked_of_each(scale, options)
    _refuse_few_of_one(arrays, asked)
    folds = _design_in(options).calibrated_folds
    pair = sides_of((y_a, y_b), (f_a, f_b), asked, folds)
    found, asked_of = difference_of(*pair), pair[0].options
    known = all(side.known for side in pair)
    tail = (1 - asked_of.confidence) / 2
    alone = found.law if found.alone is None else found.alone
    theirs = float(alone.high(tail) - alone.low(tail))
    ratio = float(found.law.high(tail) - found.law.low(tail)) / theirs if theirs > 0 else np.nan
    n = int((pair[0].labelled | pair[1].labelled).sum())
    paired = int((pair[0].labelled & pair[1].labelled).sum())
    return DifferenceEstimate(
        estimate=found.point,
        std_error=found.error,
        interval=interval_of(found.law, asked_of.confidence, asked_of.alternative) if known else _NO_INTERVAL,
        confidence_level=asked_of.confidence,
        alternative=asked_of.alternative,
        estimator=max((side.name for side in pair), key=lambda name: METHODS[name].judged),
        estimand="human mean difference",
        target="benchmark" if asked_of.finite else "population",
        df=np.nan,
        null=scale.null,
        p_value=p_value_of(found.law, scale.null, asked_of.alternative) if known else np.nan,
        lam=found.lam,
        width_ratio=ratio,
        effective_n=n / ratio**2 if ratio else np.inf,
        labels_saved=n / ratio**2 - n if ratio else np.inf,
        n_gold=n,
        n=int((pair[0].answered | pair[1].answered).sum()),
        n_groups=n,
        design="systems",
        calibrated_folds=pair[0].data.calibrated_folds,
        warnings=cautions_of(_design_in(options)) + found.warnings,
        n_paired=paired,
        n_a_only=int(pair[0].labelled.sum()) - paired,
        n_b_only=int(pair[1].labelled.sum()) - paired,
    )


def _asked_of_each(scale: Scale, options: Asked) -> dict[str, Any]:
    """What is asked for the mean of each system, as `options_of` wants it."""
    return {
        "bounds": scale.bounds,
        "step": scale.step,
        "same_scale": options.get("same_scale"),
        "conservative": options.get("conservative", False),
        "target": options.get("target", "population"),
        "estimator": estimator_of(options.get("estimator", "auto"), options.get("method")),
        "alternative": options.get("alternative", "two-sided"),
        "null": None,
        "min_gold": options.get("min_gold", 10),
        "confidence": check.probability(options.get("confidence_level", 0.95), "confidence_level"),
    }


def _refuse_few_of_one(arrays: Mapping[str, Floats], asked: Mapping[str, Any]) -> None:
    needs = METHODS[asked["estimator"]].needs
    least = max(check.whole(asked["min_gold"], "min_gold", least=2) if needs.min_gold else 2, 2)
    for name in ("y_a", "y_b"):
        if (n := int((~np.isnan(arrays[name])).sum())) < least:
            rule = f"must have {least} gold labels at least" + " ({0} lowers that)" * (least > 2)
            raise ArgumentError(name, rule, f"got {n}", mentions=("min_gold",) * (least > 2))


def ppi_ratio(
    y_top: ArrayLike,
    y_bottom: ArrayLike,
    f_top: ArrayLike,
    f_bottom: ArrayLike,
    *,
    groups: Labels | None = None,
    alternative: str = "two-sided",
    null: float = 1.0,
    min_gold: int = 10,
    confidence_level: float = 0.95,
) -> MeanEstimate:
    r"""Mean human score of A over that of B, paired on what both answered.

    All :math:`\theta` for which `ppi_mean` of :math:`y_{top} - \theta y_{bottom}` does not reject a mean of 0
    (Fieller's interval, with the judge's weight tuned anew for each). It holds with few labels, where a
    standard error of the ratio (the delta method) is too short; and it has no end where the labels cannot tell
    the lower mean from 0, because no interval that holds has one.

    Parameters
    ----------
    y_top, y_bottom : array_like, shape (n,)
        Human labels on the same n inputs, NaN where unlabelled; a pair counts as gold where both have a label.
    f_top, f_bottom : array_like, shape (n,)
        Judge scores of the same.
    groups : sequence, shape (n,), optional
    alternative, min_gold, confidence_level
        As for `ppi_mean`.
    null : float, default 1.0
        `p_value` is for this ratio.

    Returns
    -------
    MeanEstimate
        `std_error` is that of the delta method.

    Raises
    ------
    ValueError
        As `ppi_mean`; or if the lower mean is 0.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16:175-185.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_a, y_b = rng.integers(2, 6, 200).astype(float), rng.integers(1, 5, 200).astype(float)
    >>> f_a, f_b = y_a + rng.normal(size=200), y_b + rng.normal(size=200)
    >>> y_a[40:] = y_b[40:] = float("nan")
    >>> result = ppi_ratio(y_a, y_b, f_a, f_b)
    >>> round(result.estimate, 3), [round(end, 3) for end in result.interval]
    (1.43, [1.257, 1.641])
    """
    side = check.choice(alternative, "alternative", ALTERNATIVES)
    confidence = check.probability(confidence_level, "confidence_level")
    columns = {"y_top": y_top, "y_bottom": y_bottom, "f_top": f_top, "f_bottom": f_bottom}
    arrays = {name: check.array(value, name, ndim=1) for name, value in columns.items()}
    check.same_length(**arrays, groups=groups)
    y_a, y_b, f_a, f_b = arrays.values()

    def at(theta: float, side: str = "two-sided") -> MeanEstimate:
        y, f = y_a - theta * y_b, f_a - theta * f_b
        return ppi_mean(y, f, groups=groups, null=0, alternative=side, min_gold=min_gold)

    both = ~np.isnan(y_a + y_b)
    bottom = ppi_mean(np.where(both, y_b, np.nan), f_b, groups=groups, min_gold=min_gold).estimate
    if bottom == 0:
        raise ArgumentError("y_bottom", "must have a mean that is not 0 to divide by")
    estimate = float(np.mean(y_a[both]) / np.mean(y_b[both]))
    for _ in range(_DOUBLINGS):  # towards the ratio at which the difference is 0
        move = at(estimate).estimate / bottom
        estimate += move
        if abs(move) <= 1e-12 * (1 + abs(estimate)):
            break
    here = at(estimate)
    error = here.std_error / abs(bottom)
    tail = (1 - confidence) if side == "two-sided" else 2 * (1 - confidence)
    low, high = (_crossing(lambda theta: at(theta).p_value - tail, estimate, sign * error) for sign in (-1, 1))
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = -np.inf, np.inf  # a set with a hole, of which only the whole line is an interval
    # where the lower mean is negative, a larger ratio is a smaller difference
    p_side = side if bottom > 0 or side == "two-sided" else {"greater": "less", "less": "greater"}[side]
    text = "unbounded: the labels do not tell the lower mean from 0, so the ratio has no interval"
    return replace(
        here,
        estimate=estimate,
        std_error=error,
        interval=Interval(low if side != "less" else -np.inf, high if side != "greater" else np.inf),
        confidence_level=confidence,
        alternative=side,
        estimand="human ratio of means",
        null=float(null),
        p_value=at(null, p_side).p_value,
        warnings=here.warnings if np.isfinite(low) else (*here.warnings, text),
    )


def _crossing(kept: Callable[[float], float], start: float, step: float) -> float:
    """Where `kept` falls through 0 on the way from `start`, or infinity."""
    if not step or not np.isfinite(step):
        return np.nan
    inner, outer = start, start + step
    for _ in range(_DOUBLINGS):
        if kept(outer) < 0:
            return float(optimize.brentq(kept, inner, outer, xtol=1e-10 * abs(step), rtol=1e-12))
        inner, outer, step = outer, outer + 2 * step, 2 * step
    return float(np.copysign(np.inf, step))
