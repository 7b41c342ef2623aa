"""Confidence interval of the difference of two systems' means, paired where both have a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from calib.analysis.means.design import Design, MeanData, MeanOptions, mean_data, mean_design
from calib.analysis.means.guards import bounds_of, cautions_of, cautions_on, on_scale, options_of
from calib.analysis.means.mean import MeanEstimate, estimated, gain_over_labels, judge_or_labels
from calib.analysis.means.methods import CUT, METHODS, CheckedOptions, MeanLaw, centred, estimator_of, labels_alone
from calib.analysis.means.moments import Moments, refuse_where
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import interval_of, p_value_of
from calib.core.numeric import matrix_product
from calib.core.result import NO_INTERVAL, short

# options of each system's mean, as `options_of` takes them
_OF_EACH: dict[str, Any] = {
    "same_scale": None, "conservative": False, "target": "population", "alternative": "two-sided", "min_labels": 10,
}  # fmt: skip
_LEAST = -300.0  # log of a tail below which none is told apart
_PAIRS = 4.0  # pairs' worth of "what one label is off by says nothing of the other"


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEstimate(MeanEstimate):
    """A difference of two systems' means with an interval: a `MeanEstimate` that knows which labels are paired.

    Attributes
    ----------
    n_paired, n_a_only, n_b_only : int
        Inputs whose labels were used, of both systems, of the first alone, of the second alone. `n_labels` is
        their sum, and `n` counts inputs. Where labels are not all paired `lam` is the mean of both systems' weights.
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
        return f"{2 * both + first + second} human labels of {self.n_labels} inputs ({parts})"

    def _rows(self) -> list[dict[str, Any]]:
        return [row | self._row("n_paired", "n_a_only", "n_b_only") for row in super(DifferenceEstimate, self)._rows()]

    def _terms(self) -> dict[str, Any]:
        return super(DifferenceEstimate, self)._terms() | {"pairs": None if self.is_paired else self.n_paired}

    def __str__(self) -> str:
        if not self.n_labels:
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
    **options: Unpack[MeanOptions],
) -> DifferenceEstimate:
    r"""Mean human score of A less that of B, paired on the inputs on which both have a label.

    Where each labelled input has a label of both, `ppi_mean` of the differences: what a group (a source document)
    does to both systems alike, and what the judge gets wrong on both alike, cancels.

    Where labels were drawn whatever the system, few or none are pairs. Then each system's mean has its own interval
    [l, u] by `ppi_mean`, and the distances to the ends add as standard errors do,

    .. math:: \hat\theta_A - \hat\theta_B - \sqrt{d_A^2 + d_B^2 - 2 r d_A d_B}, \qquad
              d_A = \hat\theta_A - l_A, \quad d_B = u_B - \hat\theta_B

    and the other end likewise. r is the correlation of both errors: from the judge's scores of inputs that both
    answered, and from m pairs of labels, whose covariance counts m / (m + 4). With `min_labels` pairs or more the pairs
    alone are taken where their interval is the narrower one.

    Parameters
    ----------
    y_a, y_b, f_a, f_b : array_like, shape (n,)
        Human labels of the two systems (or versions) on the same n inputs, NaN where unlabelled, and judge scores of
        the same, NaN where that system did not answer the input.
    f_unlabeled : array_like, shape (N,), or Moments, optional
        The judge's differences f_a - f_b on the inputs without labels, if `y_a` and `y_b` are whole.
    bounds, step
        Of one score, as for `ppi_mean`; differences then lie within plus and minus their distance.
    null : float, default 0.0
        `p_value` is for this difference.
    **options
        As for `ppi_mean`: `design` or its fields, `target`, `estimator`, `alternative`, `min_labels` (of each system),
        `conservative`, `same_scale`, `confidence_level`. With groups, strata or weights, and by "ppi", "ppi++" and
        "regression", only pairs count.

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
    inputs (PPI) [warnings: few_labels]
    """
    named = {"y_a": y_a, "y_b": y_b, "f_a": f_a, "f_b": f_b}
    arrays = {name: check.array(value, name, ndim=1) for name, value in named.items()}
    check.same_length(**arrays)
    ends = bounds_of(bounds, step)
    for name in ("y_a", "y_b"):
        on_scale(arrays[name], ends, name)
    estimator = estimator_of(options.get("estimator", "auto"))
    others = {*_OF_EACH, "design", "estimator", "confidence_level"}
    design = mean_design(options.get("design"), {name: value for name, value in options.items() if name not in others})
    level = check.probability(options.get("confidence_level", 0.95), "confidence_level")
    common: dict[str, Any] = _OF_EACH | {name: value for name, value in options.items() if name in _OF_EACH}
    common |= {"bounds": ends, "step": step, "null": null, "estimator": estimator, "confidence": level}
    both, n_alone = [*arrays.values()], int((np.isnan(arrays["y_a"]) != np.isnan(arrays["y_b"])).sum())
    columns = (getattr(design, name) for name in ("groups", "strata", "weights", "inclusion", "folds"))
    # with a design, and by a method that was published for pairs, only pairs count
    published = estimator not in {"auto", "classical"}
    if f_unlabeled is not None or published or any(column is not None for column in columns):
        return _paired(both, f_unlabeled, design, common, n_alone)
    answered = ~np.isnan(arrays["f_a"] + arrays["f_b"])
    both = [values[answered] for values in both]
    if not n_alone:
        return _paired(both, None, design, common, n_alone)
    either = _unpaired(arrays, design, common)
    if either.n_paired < common["min_labels"]:
        return either
    pairs = _paired(both, None, design, common, n_alone)
    width, of_either = (result.conf_high - result.conf_low for result in (pairs, either))
    return pairs if width < of_either else either


def _paired(
    arrays: Sequence[Floats], rest: ArrayLike | Moments | None, design: Design, common: Mapping[str, Any], n_alone: int
) -> DifferenceEstimate:
    """`ppi_mean` of the differences, on inputs that both answered; `n_alone` are labels of one system alone."""
    y_a, y_b, f_a, f_b = arrays
    bounds, ends = common["bounds"], None
    data = mean_data(y_a - y_b, f_a - f_b, rest, design)
    pairs = ~np.isnan(y_a + y_b)
    a, b = (float(values[pairs].mean()) if pairs.any() else 0.0 for values in (y_a, y_b))
    if bounds is not None:
        low, high = bounds
        bounds = low - high, high - low
        # where a difference can lie of which one score is at an end of its scale and the other as it is on average
        ends = min(low - b, a - high), max(high - b, a - low)
    options = replace(options_of(data, binary=False, **{**common, "bounds": bounds}), ends=ends)
    result = estimated(data, options, cautions_of(design) + cautions_on(data, options))
    cells = {cell.name: getattr(result, cell.name) for cell in fields(MeanEstimate)}
    cells["estimand"] = f"{result.estimand} difference"
    if result.n_labels and n_alone:
        cells["warnings"] += (f"pairs_alone: {n_alone} labels of one system alone were left out",)
    return DifferenceEstimate(**cells, n_paired=result.n_labels, n_a_only=0, n_b_only=0)


def _unpaired(arrays: Mapping[str, Floats], design: Design, common: Mapping[str, Any]) -> DifferenceEstimate:
    """Each system's own mean, and both put together with what the same inputs have in common."""
    needs = METHODS[common["estimator"]].needs
    least = check.whole(common["min_labels"], "min_labels", least=2) if needs.min_labels else 2
    for name in ("y_a", "y_b"):
        if (n := int((~np.isnan(arrays[name])).sum())) < least:
            rule = f"must have {least} labels at least{' ({0} lowers that)' * (least > 2)}"
            raise ArgumentError(name, rule, f"got {n}", mentions=("min_labels",) * (least > 2))
    folds = Design(calibrated_folds=design.calibrated_folds)
    pair = [_side(arrays, which, None, folds, common) for which in "ab"]
    if pair[0].options.binary != pair[1].options.binary:  # as yes or no only if both are
        pair = [_side(arrays, which, False, folds, common) for which in "ab"]
    first, second = pair
    options = first.options
    length = np.inf if options.bounds is None else options.bounds[1] - options.bounds[0]
    law, alone = Apart(first.mean, second.mean, _correlation(first, second), length), None
    if METHODS[law.a.estimator].alone not in ("", law.a.estimator) and first.data.n_rest + second.data.n_rest > 0:
        silent = [side._replace(mean=labels_alone(side.data, side.options, side.mean.estimator)) for side in pair]
        alone = Apart(silent[0].mean, silent[1].mean, _correlation(*silent), length)
    choice = judge_or_labels(law, alone, options)
    law = alone if alone and choice.alone else law
    a, b, r = law.a, law.b, law.r
    complete = [side.options.finite and not side.data.n_rest for side in pair]
    has_interval = a.has_interval(complete=complete[0]) and b.has_interval(complete=complete[1])
    n = int((first.labelled | second.labelled).sum())
    paired = int((first.labelled & second.labelled).sum())
    cautions = [
        f"{name}: of the {which} system, {text}"
        for which, side in zip(("first", "second"), pair, strict=True)
        for name, _, text in (caution.partition(": ") for caution in cautions_on(side.data, side.options))
    ]
    return DifferenceEstimate(
        estimate=a.point - b.point, df=np.nan, lam=(a.lam + b.lam) / 2,
        std_error=float(np.sqrt(max(a.error**2 + b.error**2 - 2 * r * a.error * b.error, 0.0))),
        interval=interval_of(law, options.confidence, options.alternative) if has_interval else NO_INTERVAL,
        p_value=p_value_of(law, common["null"], options.alternative) if has_interval else np.nan, null=common["null"],
        confidence_level=options.confidence, alternative=options.alternative, estimand="human mean difference",
        estimator=max((a.estimator, b.estimator), key=lambda name: METHODS[name].judged),
        target="benchmark" if options.finite else "population", design="systems", n_labels=n, n_groups=n,
        n=int((first.answered | second.answered).sum()), n_paired=paired, **gain_over_labels(n, choice.ratio),
        n_a_only=int(first.labelled.sum()) - paired, n_b_only=int(second.labelled.sum()) - paired,
        calibrated_folds=first.data.calibrated_folds, warnings=(*cautions_of(design), *choice.warnings, *cautions),
    )  # fmt: skip


class Side(NamedTuple):
    """One system: its labels and judge scores, where they are among all inputs, and its own mean."""

    data: MeanData
    options: CheckedOptions
    mean: MeanLaw
    labelled: NDArray[np.bool_]
    answered: NDArray[np.bool_]


def _side(
    arrays: Mapping[str, Floats], which: str, binary: bool | None, design: Design, common: Mapping[str, Any]
) -> Side:
    """The mean of one system; inputs that it did not answer have no judge score."""
    y, f = arrays[f"y_{which}"], arrays[f"f_{which}"]
    answered, labelled = ~np.isnan(f), ~np.isnan(y)
    refuse_where(labelled & ~answered, f, f"f_{which}", "must have a score wherever {0} has a label", (f"y_{which}",))
    data = mean_data(y[answered], f[answered], None, design)
    options = options_of(data, binary=binary, **{**common, "null": None})
    mean = METHODS[options.estimator].law(data, options)
    return Side(data, options, mean._replace(estimator=mean.estimator or options.estimator), labelled, answered)


@dataclass(frozen=True, slots=True)
class Apart:
    """The law of a - b from those of each, whose distances add as standard errors do (Zou and Donner)."""

    a: MeanLaw
    b: MeanLaw
    r: float
    length: float  # of the scale

    @property
    def support(self) -> tuple[float, float]:
        return -self.length, self.length

    def low(self, tail: float) -> float:
        return self._end(-1, self.a.law.low(tail), self.b.law.high(tail))

    def high(self, tail: float) -> float:
        return self._end(1, self.a.law.high(tail), self.b.law.low(tail))

    def tails(self, null: float) -> tuple[float, float]:
        return _tail_beyond(lambda tail: self.low(tail) - null), _tail_beyond(lambda tail: null - self.high(tail))

    def _end(self, sign: int, end_of_a: float, end_of_b: float) -> float:
        """The lower end (-1) or the upper one (1), within the scale; at a half both may lie on one side of a point."""
        one = max(sign * (float(end_of_a) - self.a.point), 0.0)
        other = max(sign * (self.b.point - float(end_of_b)), 0.0)
        reach = float(np.sqrt(max(one**2 + other**2 - 2 * self.r * one * other, 0.0)))
        return float(np.clip(self.a.point - self.b.point + sign * reach, -self.length, self.length))


def _tail_beyond(beyond: Callable[[float], float]) -> float:
    """The tail (up to a half) whose end is the value, which it is not `beyond`; on the log scale."""
    if beyond(0.5) <= 0:
        return 0.5
    near, far = float(np.log(0.5)), -4.0
    while beyond(float(np.exp(far))) > 0:
        if far < _LEAST:
            return float(np.exp(far))
        near, far = far, 2 * far
    return float(np.exp(optimize.brentq(lambda log: beyond(float(np.exp(log))), far, near, xtol=1e-10)))


def _correlation(first: Side, second: Side) -> float:
    """Of the two means' errors: the judge's scores of the same inputs, and labels of both on one input."""
    parts = []  # what each input adds to the error of either mean; of exactly these items, how far its label is off
    for side in (first, second):
        data, n_labels, finite = side.data, len(side.data.y), side.options.finite
        lam, f, loose = side.mean.lam, data.f, np.asarray(data.loose(), dtype=float)
        if np.isnan(lam):  # for yes or no the slope is the difference of both rates
            low, high = side.options.bounds or (0.0, 1.0)
            f, loose = (np.where(part >= low + CUT * (high - low), high, low) for part in (f, loose))
            off, spread = centred(f), float(np.var(np.concatenate([f, loose])))
            slope = float(matrix_product(off, data.y)) / (float(matrix_product(off, off)) + spread) if spread else 0.0
            lam = slope * data.n_rest / data.n
        slope = lam * data.n / max(data.n_rest, 1) if finite else lam
        errors = np.zeros(len(side.labelled))
        errors[side.labelled] = (centred(data.y) - slope * centred(f)) / n_labels
        if data.n_rest and not finite:
            errors[side.answered & ~side.labelled] = lam * centred(loose) / data.n_rest
        parts.append(errors)
    (u, v), paired = parts, first.labelled & second.labelled
    pairs = int(paired.sum())
    trust = pairs / (pairs + _PAIRS)
    if not first.options.finite:
        size = np.sqrt(float(matrix_product(u, u)) * float(matrix_product(v, v)))
        return float(np.clip(np.sum(np.where(paired, trust, 1.0) * u * v) / size, -0.99, 0.99)) if size > 0 else 0.0
    # for exactly these items: labels are drawn from them, and the judge's mean over them is known
    n, m = (float(side.labelled.sum()) for side in (first, second))
    all_n, all_m = (float(side.answered.sum()) for side in (first, second))
    common = first.answered & second.answered
    size = np.sqrt(np.mean(u[first.labelled] ** 2) * np.mean(v[second.labelled] ** 2))
    room = np.sqrt(max(1 / n - 1 / all_n, 0.0) * max(1 / m - 1 / all_m, 0.0))
    if not (paired.any() and size > 0 and room > 0):
        return 0.0
    alike = trust * float(np.mean(u[paired] * v[paired])) / size
    share = (paired.sum() / (n * m) - common.sum() / (all_n * all_m)) / room
    return float(np.clip(alike * share, -0.99, 0.99))
