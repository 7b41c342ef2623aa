"""The quality of forecasts of labels: scores, skill beside the labels' own shares, and calibration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.calibration import corp as isotonic
from calib.analysis.calibration.corp import Corp, ReliabilityCurve, corp_of, forecasts_in, parts_of_score
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import quantile
from calib.core.numeric import jackknife_variance, ratio, unit_sums, units_of
from calib.core.result import Estimate, Interval, short

_FOLDS = 20  # at most; of fewer groups each is left out in turn
_BINS = 10  # of a PIT histogram, and of the calibration error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForecastQuality(Estimate):
    """How good forecasts of labels are. Scores are means over labels; the less, the better.

    The estimate is the skill, 1 - RPS / RPS of the shares of the other groups' labels: 1 is perfect, 0 no better than
    no judge at all.

    Attributes
    ----------
    rps, rps_interval : float, Interval
        Ranked probability score, from 0 to 1: divided by the number of levels less 1. Of a number the distance of its
        place on the scale from that of the label, divided alike.
    skill_in_sample : float
        The same beside the shares of these very labels (`corp.unc`), which know each label already.
    log_score, log_shares : float
        Mean -log chance of the label that came, in nats, and that of the labels' shares. Infinite if a label had no
        chance (`n_impossible`) and there is no `floor`, which was added to each chance for it.
    crps, crps_shares : float
        Continuous ranked probability score in units of the scale; of a number its distance from the label.
    corp, crossfitted : Corp
        Miscalibration, discrimination and uncertainty as fitted to these labels, both too large with few of them; and
        with recalibration and shares learned on other groups' labels, where MCB below 0 is a recalibration that does
        harm. NaN with a single group.
    mcb_interval, dsc_interval : Interval
        Of the cross-fitted parts.
    ece : float
        Expected calibration error of 10 bins, a mean over the K - 1 chances of a label above each level: above 0 for
        perfectly calibrated forecasts, too. NaN for numbers.
    pit : ndarray, shape (10,)
        Non-randomised histogram of where labels lie in their forecast: all .1 if it is calibrated; high ends: the
        forecasts are too sure; high on the left: too high.
    curves : tuple of ReliabilityCurve
        Of the chance of a label above each level but the last, and of the mean: what was forecast and what came.
    kind : str
        "distribution" or "number".
    levels, floor : ndarray, float
    n, n_groups, n_missing, n_impossible : int
        Labels; independent groups of them; rows without a label or a forecast; labels to which the forecast gave no
        chance, before the floor.
    """

    rps: float
    rps_interval: Interval
    skill_in_sample: float
    log_score: float
    log_shares: float
    crps: float
    crps_shares: float
    corp: Corp
    crossfitted: Corp
    mcb_interval: Interval
    dsc_interval: Interval
    ece: float
    pit: Floats = field(repr=False)
    curves: tuple[ReliabilityCurve, ...] = field(repr=False)
    kind: str
    levels: Floats = field(repr=False)
    floor: float
    n: int
    n_groups: int
    n_missing: int
    n_impossible: int

    @property
    def skill(self) -> float:
        """The estimate."""
        return self.estimate

    @property
    def sure(self) -> bool:
        """Whether all chances are 0 or 1, as of verdicts: such forecasts are calibrated where they never err."""
        return self.kind == "distribution" and all(set(curve.forecast) <= {0, 1} for curve in self.curves[:-1])

    def _rows(self) -> list[dict[str, Any]]:
        parts = {"mcb": self.corp.mcb, "dsc": self.corp.dsc, "unc": self.corp.unc, "form": self.corp.form}
        parts |= {"mcb_crossfitted": self.crossfitted.mcb, "dsc_crossfitted": self.crossfitted.dsc}
        row = {"skill": self.skill} | self._row("interval", "skill_in_sample", "rps", "rps_interval", "log_score")
        row |= self._row("log_shares", "crps", "crps_shares") | parts | self._row("ece", "kind", "n", "n_groups")
        return [row | self._row("n_missing", "n_impossible", "confidence_level", "warnings")]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"forecast_quality": True, "kind": self.kind, "form": self.corp.form.replace(" ", "-")}
        terms |= {"ci": "jackknife", "cl": self.confidence_level, "n": self.n}
        terms |= {"groups": self.n_groups if self.n_groups != self.n else None, "missing": self.n_missing or None}
        return terms | {"impossible": self.n_impossible or None, "floor": self.floor or None}

    def __str__(self) -> str:
        log = f"log score {short(self.log_score)} (shares {short(self.log_shares)})"
        skill = f"RPS skill {short(self.skill)}, {self.bracket}, from {self.n} labels"
        return f"{skill}: RPS {short(self.rps)} (shares {short(self.corp.unc)}), {log}{self._bracketed_warnings}"


class _Forecasts(NamedTuple):
    """Labelled forecasts: chances of a label up to each level but the last, or numbers, and what came."""

    below: Floats  # (n, K - 1)
    place: Codes
    weight: Floats
    unit: Codes
    levels: Floats
    number: Floats | None

    @property
    def came(self) -> Floats:
        return np.asarray(self.place[:, None] <= np.arange(len(self.levels) - 1), dtype=float)

    def mean(self, loss: Floats) -> float:
        return float(self.weight @ loss / self.weight.sum())


def forecast_quality(
    p: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike | None = None,
    *,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
    floor: float = 0.0,
    confidence_level: float = 0.95,
) -> ForecastQuality:
    r"""How good forecasts of labels are, beside what the labels' own shares reach without any judge.

    Intervals are jackknives over groups of the mean losses, with Student's t. Those of the score and the skill cover
    what many documents would have (92 to 96 % of the time at 95 %, with 10 to 50 documents, simulated), those of the
    cross-fitted parts what is learned from as many labels. Forecasts that were fitted to these labels flatter
    themselves: give those of a map that was fitted without the label's group.

    Parameters
    ----------
    p : array_like, shape (n, K) or (n,)
        Probabilities or weights of the levels, normalised first; or numbers on the scale, each a forecast that is
        sure of itself; of two levels, how far a number is from the lower one to the higher is the chance of that.
    y : array_like, shape (n,)
        Labels, each one of the levels; NaN where there is none. An item with several labels has a row for each.
    levels : array_like, shape (K,), optional
        Values of the scale, which need not be evenly spaced. Default: 0, 1, ..., K - 1; of numbers 0 and 1.
    groups : sequence, shape (n,), optional
        Labels are independent between groups: documents, or items that several people labelled. Default: each row is
        on its own.
    weights : array_like, shape (n,), optional
        How often each row counts, such as 1 / number of labels of its item.
    floor : float, default 0
        Added to each chance for the log score, which is infinite without one as soon as a label comes that had none.
    confidence_level : float, default 0.95

    References
    ----------
    Epstein (1969), J. Appl. Meteorology 8, for RPS. Gneiting and Raftery (2007), JASA 102, for the scores. Dimitriadis,
    Gneiting and Jordan (2021), PNAS 118(8), for CORP. Czado, Gneiting and Held (2009), Biometrics 65, for the PIT.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1], 200)
    >>> y = [rng.choice([1, 2, 3], p=row) for row in p]
    >>> quality = forecast_quality(p, y, [1, 2, 3])
    >>> print(f"{quality.skill:.3f} [{quality.interval.low:.3f}, {quality.interval.high:.3f}]")
    0.228 [0.132, 0.325]
    """
    check.probability(confidence_level, "confidence_level")
    if not 0 <= floor < 1:
        raise ArgumentError("floor", "must be at least 0 and below 1", f"got {floor!r}")
    data, n_missing = _labelled(p, y, levels, groups, weights)
    result = ForecastQuality(
        **_scoring_rules(data, floor), **_brier_parts(data, n_missing, confidence_level), **_calibration(data),
        kind="distribution" if data.number is None else "number", levels=data.levels, confidence_level=confidence_level,
        floor=float(floor), n=len(data.place), n_groups=int(data.unit.max()) + 1, n_missing=n_missing,
    )  # fmt: skip
    lost, n = result.n_impossible, result.n
    log = f"the log score counts them at the floor, {result.floor:g}" if result.floor else "the log score is infinite"
    number, few = result.kind == "number", result.n_groups < 10
    texts = {
        f"impossible_labels: {lost} of {n} labels had no chance in their forecast; {log}": lost > 0 and not number,
        "no_chances: the scores have no probabilities, so each counts as certain; calibrate them first. "
        f"{lost} of {n} labels differ from their score; {log}": number and lost > 0,
        "worse_than_shares: the forecasts are worse than the shares of the other labels, the same for every item "
        f"(skill {short(result.skill)})": result.skill < 0 and not result.interval.high >= 0,
        f"few_groups: {result.n_groups} independent groups of labels; intervals from fewer than 10 may be short": few,
    }
    return replace(result, warnings=tuple(text for text, holds in texts.items() if holds))


def _labelled(
    p: ArrayLike, y: ArrayLike, levels: ArrayLike | None, groups: Labels | None, weights: ArrayLike | None
) -> tuple[_Forecasts, int]:
    """The rows that have a label and a forecast, and how many have not."""
    share, number = check.array(p, "p"), None
    values = np.arange(share.shape[-1] if share.ndim == 2 else 2.0) if levels is None else check.array(levels, "levels")
    if share.ndim == 1:
        number, values = share, np.sort(values)
        low, high = values[0], values[-1]
        if (off := (number < low) | (number > high)).any():
            rule = f"must be on the scale of the labels, {short(low)} to {short(high)}"
            raise ArgumentError("p", rule, f"got {short(number[off][0])}: calibrate it first")
        if len(values) == 2:
            share = (number - low) / (high - low)
        else:  # all weight on the level of the number, of one between two on the higher: that is where it is reached
            at = np.searchsorted(values, np.where(np.isnan(number), low, number))
            share = np.where(np.isnan(number)[:, None], np.nan, np.eye(len(values))[at])
    below, place, used, weight = forecasts_in(share, y, values, weights)
    if not used.any():
        raise ArgumentError("y", "must have a label beside a forecast in {0}", "has none", mentions=("p",))
    number = None if number is None or len(values) == 2 else number[used]
    unit = units_of(groups, used)
    return _Forecasts(below[used], place[used], weight[used], unit, np.sort(values), number), int((~used).sum())


def _scoring_rules(data: _Forecasts, floor: float) -> dict[str, Any]:
    """The log score and the CRPS, beside those of the labels' shares."""
    share = np.bincount(data.place, data.weight, minlength=len(data.levels)) / data.weight.sum()
    chance = np.diff(data.below, axis=1, prepend=0.0, append=1.0)
    if data.number is not None:
        chance *= data.number[:, None] == data.levels
    own = chance[np.arange(len(chance)), data.place].clip(0.0)
    with np.errstate(divide="ignore"):
        log_score = data.mean(-np.log((own + floor) / (1 + floor * len(data.levels)))) + 0.0
    widths, below = np.diff(data.levels), np.cumsum(share)[:-1]
    crps = ((data.below - data.came) ** 2) @ widths
    if data.number is not None:
        crps = np.abs(data.number - data.levels[data.place])
    return {
        "log_score": log_score,
        "n_impossible": int((own <= 0).sum()),
        "log_shares": float(-(share * np.log(np.where(share > 0, share, 1.0))).sum()) + 0.0,
        "crps": data.mean(crps),
        "crps_shares": float(widths @ (below * (1 - below))),
    }


def _brier_parts(data: _Forecasts, n_missing: int, level: float) -> dict[str, Any]:
    """The ranked probability score and its parts, as fitted and cross-fitted, with jackknife intervals over groups.

    Losses of each label: of its forecast, of that recalibrated on other groups, of the shares of other groups.
    The shares and the recalibration are where their own losses are least, so that their errors do not count to
    first order, and the losses may be taken as they are. The shares' error of second order is all that there is where
    forecasts are nearly shares themselves, the same for every item: without it such had skill in one sample of three.
    """
    made: dict[str, Any] = {"form": "by threshold" if data.number is None else "by score", "n": len(data.place)}
    made |= {"n_levels": len(data.levels), "n_missing": n_missing}
    came, below, weight = data.came, data.below, data.weight
    if data.number is None:
        own = np.mean((below - came) ** 2, axis=1)
    else:
        place = np.interp(data.number, data.levels, np.arange(len(data.levels)))
        own = np.abs(place - data.place) / (len(data.levels) - 1)
    elsewhere = np.full(below.shape, np.nan)  # each chance after isotonic regression on the labels of other groups
    at = None if data.number is None else isotonic.ordered(-data.number, weight)
    for k in range(below.shape[1] if data.unit.max() else 0):
        by = isotonic.ordered(below[:, k], weight) if at is None else at
        elsewhere[:, k] = isotonic.learned_elsewhere(by, came[:, k], weight, data.unit % _FOLDS)
    counts = unit_sums(weight[:, None] * np.column_stack([came, np.ones(len(came))]), data.unit)
    others = counts.sum(axis=0) - counts
    of_others = ratio(others[:, :-1], others[:, -1:])[data.unit]
    losses = np.column_stack([own, *(np.mean((p - came) ** 2, axis=1) for p in (elsewhere, of_others))])
    score, recalibrated, reference = map(data.mean, losses.T)
    _, fitted, shares = parts_of_score(below, data.place, weight, data.number)
    sums = unit_sums(weight[:, None] * np.column_stack([losses, np.ones(len(losses))]), data.unit)
    points = _estimates(sums.sum(axis=0)[None])[0]
    variance, n = jackknife_variance(_estimates(sums.sum(axis=0) - sums))
    # variance of what the error of the shares adds to their score, summed over labels: of squares of normal errors
    off = unit_sums(weight[:, None] * (came - np.average(came, axis=0, weights=weight)), data.unit)
    cov = off.T @ off / weight.sum()
    variance[1] += ratio(float(2 * (cov**2).sum() / len(cov) ** 2), sums[:, 2].sum() ** 2) * (1 - points[1]) ** 2
    variance = np.where(variance > 1e-20, variance, np.nan)  # what all groups have alike is not known any better
    half = quantile(n - 1, (1 - level) / 2) * np.sqrt(variance)
    ends = zip((points - half).tolist(), (points + half).tolist(), strict=True)
    intervals = zip(("rps_interval", "interval", "mcb_interval", "dsc_interval"), ends, strict=True)
    return {name: Interval(*pair) for name, pair in intervals} | {
        "rps": score,
        "estimate": 1 - score / reference if reference > 0 else np.nan,
        "skill_in_sample": 1 - score / shares if shares > 0 else np.nan,
        "corp": corp_of(score, fitted, shares, **made),
        "crossfitted": corp_of(score, recalibrated, reference, **made),
    }


def _estimates(sums: Floats) -> Floats:
    """RPS, skill, MCB and DSC of weighted sums of the three losses and of the weight."""
    score, recalibrated, reference = ratio(sums[:, :3], sums[:, 3:]).T
    return np.column_stack([score, 1 - ratio(score, reference), score - recalibrated, reference - recalibrated])


def _calibration(data: _Forecasts) -> dict[str, Any]:
    """Expected calibration error, reliability curves, and where labels lie in their forecasts."""
    # of 10 bins of one width, the last with both its ends; the mean over the levels
    k = data.below.shape[1]
    bins = np.minimum((np.round(1 - data.below, 12) * _BINS).astype(np.intp), _BINS - 1)
    gap = data.weight[:, None] * (data.came - data.below)
    sums = np.bincount((bins * k + np.arange(k)).ravel(), gap.ravel(), minlength=_BINS * k)
    error = float(np.abs(sums).sum() / data.weight.sum() / k)
    # a curve for each chance of a distribution and for its mean; a number is its own forecast
    forecasts = [*(1 - data.below).T, data.levels[-1] - data.below @ np.diff(data.levels)]
    if data.number is not None:
        forecasts = [data.number] * len(data.levels)
    above, targets = (*map(float, data.levels[:-1]), np.nan), [*(1 - data.came).T, data.levels[data.place]]
    curves = [isotonic.reliability_curve(*one, data.weight) for one in zip(above, forecasts, targets, strict=True)]
    # each label is spread evenly over the part of its forecast that is its own
    rows, edges = np.arange(len(data.place)), np.linspace(0, 1, _BINS + 1)
    whole = np.column_stack([np.zeros(len(rows)), data.below, np.ones(len(rows))])
    low, high = whole[rows, data.place][:, None], whole[rows, data.place + 1][:, None]
    reached = np.where(high > low, (edges - low) / np.where(high > low, high - low, 1.0), edges >= high)
    reached[:, 0] = 0.0
    return {
        "ece": error if data.number is None else np.nan,
        "curves": tuple(curves),
        "pit": np.diff(data.weight @ reached.clip(0, 1)) / data.weight.sum(),
    }
