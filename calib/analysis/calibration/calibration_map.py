"""Calibration maps: the chance of each label at a judge's score, by cross-fitted ordered logits, with an interval."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from calib.analysis.calibration import annotator_logit as by_person, proportional_odds as odds
from calib.analysis.calibration.annotator_logit import AnnotatorLogit, Forecaster, Shift
from calib.analysis.calibration.ordered_logit import check_levels, inputs_of, penalties_checked, sample_of, warned
from calib.analysis.calibration.proportional_odds import Tabled, fitted, with_pseudo
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import two_sided
from calib.core.result import NO_INTERVAL, Interval, Result, bracket, short

_FINE = 4096  # distinct scores, above which the band is worked out on a grid
_SPECK = 1e-6  # log-odds over the whole range that are no slope
_NAMED = 10  # persons that an error names
_ROWS = 25  # values of a judge that are shown one by one
_FOLDS = 10  # of the groups, at most
_MANY = 1000  # distinct scores, beyond which neighbours are fitted together in folds and resamples
_AT_ONCE = 4_000_000  # cells of tables that are fitted at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationMap(Result):
    """The chance of each label that people would give, for each score of a judge.

    Attributes
    ----------
    levels : ndarray, shape (K,)
        Values of people's scale, ascending.
    thresholds, slopes : ndarray, shape (K - 1,) and (p,)
        Of the map fitted to all labels; the first input is the judge's own score.
    fold_thresholds, fold_slopes : ndarray, shape (n_folds, K - 1) and (n_folds, p)
        Of the maps fitted without the labels of one fold each; the map of all labels where there are no folds.
    resampled_thresholds, resampled_slopes : ndarray, shape (n_resamples, K - 1) and (n_resamples, p)
        Of maps fitted to resampled groups; none where there is one group only.
    x, counts : ndarray, shape (R, p) and (R, K)
        The distinct inputs that have labels, and how often each label was given to them (an item counts 1, however
        many people labelled it): all that the map was fitted to.
    fold : ndarray of int, shape (n,)
        Of each row that came: the fold of its group; -1 where no label of its group was used.
    own_only, ridge, pseudo : bool, float, float
        Whether the own score alone is used of several inputs; the penalty of the standardised slopes; pseudo-labels.
    n, n_labels, n_groups, n_folds, n_missing : int
        Labelled items; labels of them; independent groups; folds (0: none); labelled items without an input.
    tau, shifts, forecasters
        As of `AnnotatorLogit`; 0 and empty where no annotators were given.
    fold_shifts, resampled_shifts : ndarray, shape (n_folds, J) and (n_resamples, J)
        The persons' shifts in the maps of folds and resamples.
    confidence_level : float
    skill, skill_interval : float and Interval
        Of the folds' maps on labels that they have not seen (`forecast_quality`); NaN of arrays.
    record : mapping
        What the map is bound to, as the file of a `Calibration` has it; empty for arrays.
    warnings : tuple of str
    """

    levels: Floats
    thresholds: Floats
    slopes: Floats
    fold_thresholds: Floats = field(repr=False)
    fold_slopes: Floats = field(repr=False)
    resampled_thresholds: Floats = field(repr=False)
    resampled_slopes: Floats = field(repr=False)
    x: Floats = field(repr=False)
    counts: Floats = field(repr=False)
    fold: Codes = field(repr=False)
    own_only: bool
    ridge: float
    pseudo: float
    n: int
    n_labels: int
    n_groups: int
    n_folds: int
    n_missing: int
    confidence_level: float
    tau: float = 0.0
    shifts: tuple[Shift, ...] = ()
    fold_shifts: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    resampled_shifts: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    forecasters: tuple[Forecaster, ...] = ()
    skill: float = math.nan
    skill_interval: Interval = NO_INTERVAL
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def skill_words(self) -> str:
        """The skill in words, or why it cannot be computed; empty of arrays."""
        if not math.isnan(self.skill):
            return f"skill {short(self.skill)} beside no judge, {bracket(self.skill_interval, self.confidence_level)}"
        why = "all labels are of one group" if self.n_groups == 1 else "all labels are alike"
        return f"no skill can be computed: {why}" * bool(self.record)

    @property
    def without_skill(self) -> bool:
        """Whether the skill may be 0, or cannot be computed, so that what each score means is not worth a table."""
        return self.skill_interval.low <= 0 or (math.isnan(self.skill) and bool(self.record))

    def predict(self, x: ArrayLike, *, fold: ArrayLike | None = None, annotator: Any = None) -> Floats:
        """Probability of each level, shape (n, K), of inputs (n,) or (n, p); NaN where one is missing.

        Parameters
        ----------
        fold : array_like of int, shape (n,), optional
            The fold whose map, fitted without it, is to be used; -1, as by default, is the mean over the folds' maps.
        annotator : optional
            Who rates, one of those in `shifts`. Default: a new person, over whose shift is averaged.
        """
        values = inputs_of(x, len(self.slopes))
        which = np.full(len(values), -1) if fold is None else np.asarray(fold, dtype=np.intp)
        p = np.empty((len(values), len(self.levels)))
        person = self._place_of(annotator)
        spread = self.tau if person is None else self.shifts[person].std_error
        for one in np.unique(which):
            rows = which == one
            total: float | Floats = 0.0
            folds = range(len(self.fold_slopes)) if one < 0 else (one,)
            for k in folds:
                shift = 0.0 if person is None else self.fold_shifts[k, person]
                at = values[rows] @ self.fold_slopes[k] + shift
                total = total + by_person.averaged(self.fold_thresholds[k], at, np.full(len(at), spread))
            p[rows] = total / len(folds)
        return p

    def _place_of(self, annotator: Any) -> int | None:
        """The place of a person in `shifts`, which holds hashes if the map came from a file."""
        names = [one.annotator for one in self.shifts]
        if annotator is None:
            return None
        for name in (annotator, sha(annotator)):
            if name in names:
                return names.index(name)
        if not names:
            rule = "needs a map that knows who rated (calibrate with annotators=True)"
            raise ArgumentError("annotator", rule, "this one does not")
        hashed = str(names[0]).startswith("sha256:")
        listed = ", ".join([*map(repr, names[:_NAMED]), *["..."] * (len(names) > _NAMED)])
        who = f"the {len(names)} who labelled" if hashed else listed
        raise ArgumentError("annotator", f"must be one of {who}, or None for a new person", f"got {annotator!r}")

    def band(self, x: ArrayLike, mean: ArrayLike, *, annotator: Any = None) -> tuple[Floats, Floats]:
        """Ends of the interval of the map around the mean label `mean` at the inputs, each of shape (n,).

        The spread over the resampled groups, on the log-odds of the place on the scale, with Student's t for as many
        groups as there are: it is about the map, not about what single people say. NaN for one group.
        """
        values, person = inputs_of(x, len(self.slopes)), self._place_of(annotator)
        distinct, row = np.unique(values, axis=0, return_inverse=True)
        if distinct.shape[1] == 1 and len(distinct) > _FINE:  # smooth in one input, and many are slow
            there = distinct[np.isfinite(distinct[:, 0]), 0]
            grid = np.linspace(there[0], there[-1], _FINE)
            spread = np.interp(distinct[:, 0], grid, self._spread(grid[:, None], person))[row.ravel()]
        else:
            spread = self._spread(distinct, person)[row.ravel()]
        low, span = self.levels[0], np.ptp(self.levels)
        at = special.logit(np.clip((np.asarray(mean, dtype=float) - low) / span, 0.0, 1.0))
        out = two_sided(max(self.n_groups - 1, 1), self.confidence_level) * spread
        return low + span * special.expit(at - out), low + span * special.expit(at + out)

    def _spread(self, x: Floats, person: int | None) -> Floats:
        """Standard deviation of the mean label over the resamples, on the log-odds of its place on the scale."""
        if not len(self.resampled_slopes):
            return np.full(len(x), np.nan)
        gaps = np.diff(self.levels) / np.ptp(self.levels)
        eta = x @ self.resampled_slopes.T + (0.0 if person is None else self.resampled_shifts[:, person])
        place = sum(gap * special.expit(eta - a) for gap, a in zip(gaps, self.resampled_thresholds.T, strict=True))
        spread = np.std(special.logit(np.clip(place, 1e-12, 1 - 1e-12)), axis=1, ddof=1)
        return np.where(spread > _SPECK, spread, np.nan)

    @property
    def shown(self) -> Shown:
        """What each value of the judge means (of many values: about each tenth of the labels)."""
        own, weight = self.x[:, 0], self.counts.sum(axis=1)
        at, place = np.unique(own, return_inverse=True)
        if len(at) > _ROWS:
            edges = np.quantile(own, np.linspace(0, 1, 11)[1:-1])
            place = np.searchsorted(edges, own)
        p = self.predict(self.x)
        mean = p @ self.levels
        columns = np.column_stack([own, mean, *self.band(self.x, mean), self.counts @ self.levels / weight, p])
        sums = np.stack([np.bincount(place, weight * column) for column in columns.T], axis=1)
        n = np.asarray(np.bincount(place, weight), dtype=float)
        means = sums[n > 0] / n[n > 0, None]
        x, mean, low, high, label = means[:, :5].T
        return Shown(x, mean, low, high, label, n[n > 0], means[:, 5:])

    def _rows(self) -> list[dict[str, Any]]:
        table = self.shown
        n = table.n.round(9)
        whole = n.astype(int) if (n == n.round()).all() else n  # weights may be anything
        names = ["judge", "estimate", "conf_low", "conf_high", "n_at", "label_mean"]
        names += [f"p_{short(level)}" for level in self.levels]
        columns = [table.x, table.mean, table.low, table.high, whole, table.label, *table.p.T]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*(one.tolist() for one in columns), strict=True)]
        return [row | self._row("skill", "skill_interval") for row in rows]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"calibration_map": True, "inputs": len(self.slopes), "own_only": self.own_only or None}
        terms |= {"ridge": self.ridge, "pseudo": self.pseudo, "n": self.n, "labels": self.n_labels}
        terms |= {"groups": self.n_groups, "folds": self.n_folds, "rs": len(self.resampled_slopes)}
        terms |= {"annotators": len(self.shifts) or None, "tau": f"{self.tau:.4g}" if self.shifts else None}
        return terms | {"cl": self.confidence_level, "missing": self.n_missing or None}

    def __str__(self) -> str:
        rows = [*zip(*self.shown[:4], strict=True)]
        means = "; ".join(
            f"{short(x)} means {short(mean)}, {bracket(Interval(low, high), self.confidence_level)}"
            for x, mean, low, high in dict.fromkeys((rows[0], rows[-1]))
        )
        skills = ", ".join(f"{one.forecast} {one.skill:.3f}" for one in self.forecasters)
        persons = f"; people differ by tau {short(self.tau)}" * bool(self.shifts) + f"; skill: {skills}" * bool(skills)
        means = "what each score means is in `.to_frame()`" if self.without_skill else means
        says = f"{self.skill_words}{'; ' * bool(self.skill_words)}{means}"
        return f"{says} (from {self.n} labelled items, {self.n_groups} groups){persons}{self._bracketed_warnings}"


class Shown(NamedTuple):
    """What some scores of a judge mean: ends of the interval around the mean; mean and number of labels; pmf."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    label: Floats
    n: Floats
    p: Floats


def calibration_map(
    x: ArrayLike,
    y: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    ridge: float | None = None,
    pseudo: float = 1.0,
    groups: Labels | None = None,
    weights: ArrayLike | None = None,
    annotators: Labels | None = None,
    n_resamples: int = 200,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> CalibrationMap:
    r"""The chance of each label that people would give, from a judge's score, cross-fitted by group.

    .. math:: P(Y \le k \mid x) = \frac{1}{1 + e^{-(a_k - b' x)}}, \qquad a_1 < \ldots < a_{K-1}

    Fitted to the table of (score, label) counts with the penalty :math:`\lambda |b|^2 / 2` of the standardised slopes
    and `pseudo` labels at the mean score, spread evenly. Rows of a group whose labels were used are for the map fitted
    without their fold; others have the mean of the folds' maps.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, p)
        The judge's score, on any scale; with several inputs its own score is the first.
    y : array_like, shape (n,)
        A person's label, one of the levels; NaN where there is none.
    levels : array_like, shape (K,), optional
        Values that people could give. Default: those that they gave.
    ridge : float, optional
        Penalty on the slopes, of inputs in units of their spread. Default: chosen by cross-validation over groups, as
        by `ordered_logit`; the own score alone is always among the candidates.
    pseudo : float, default 1
    groups : sequence, shape (n,), optional
        Labels are independent between groups: folds and resamples keep them whole. Default: each row is on its own.
        An item with several labels has a row for each, and one group at least.
    weights : array_like, shape (n,), optional
    annotators : sequence, shape (n,), optional
        Who gave each label: each has a shift of her own, as in `annotator_logit`, whose spread is that of all labels.
    n_resamples : int, default 200
        Resampled sets of groups, for the interval of the map.
    confidence_level : float, default 0.95
    rng : Generator or int, optional
        For the resamples; default: always the same.

    References
    ----------
    Pratt (1981), JASA 76, that the likelihood is concave. Zrnic and Candes (2024), PNAS 121, for the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = rng.integers(1, 6, 120)
    >>> judge = np.clip(labels + rng.integers(0, 3, 120), 1, 5)
    >>> result = calibration_map(judge, labels, levels=[1, 2, 3, 4, 5])
    >>> [round(float(mean), 2) for mean in result.predict([2, 5]) @ result.levels]
    [1.37, 4.23]
    """
    check.check_types(calibration_map, {"n_resamples": n_resamples, "rng": rng})
    check.probability(confidence_level, "confidence_level")
    check.whole(n_resamples, "n_resamples", least=2)
    penalties_checked(calibration_map, ridge=ridge, pseudo=pseudo)
    labels = sample_of(x, y, levels, groups, weights)
    # items, as n: their weights say how many, where several rows are of one
    counts = np.ones(len(labels.used)) if weights is None else check.array(weights, "weights")
    n_missing = math.ceil(round(float(counts[np.isfinite(check.array(y, "y")) & ~labels.used].sum()), 6))
    unit, fold = units_and_folds(groups, labels.used)
    inputs, p, alone = labels.x, labels.x.shape[1], None
    if annotators is not None:  # the place of each label's person is one more input
        options: Any = {"levels": levels, "ridge": ridge, "pseudo": pseudo, "groups": groups, "weights": weights}
        alone = by_person.annotator_logit(x, y, annotators, **options)
        inputs = np.column_stack([inputs, by_person.persons_of(annotators, labels)[1]])
    table = odds.counted_rows(inputs, labels.place, len(labels.levels), labels.weight)
    check_levels(table.counts, labels.levels, pseudo)
    z, centre, spread = odds.standardised(table.x[:, :p], table.counts.sum(axis=1))
    sample = Tabled(z, table, labels.place, unit[labels.used], labels.each_weight)
    sample, own_only, penalty = _chosen_inputs(sample, alone, ridge, pseudo)
    random = np.random.default_rng(0 if rng is None else rng)
    fits = _fold_fits(sample, fold[labels.used], penalty, alone, pseudo, n_resamples, random, centre, spread)
    n_groups = int(sample.unit.max()) + 1
    result = CalibrationMap(
        levels=labels.levels, **fits, x=table.x[:, :p], counts=table.counts,
        fold=fold if n_groups > 1 else np.full(len(fold), -1), own_only=own_only, ridge=float(penalty),
        pseudo=float(pseudo), n=round(float(sample.weight.sum())), n_labels=len(sample.weight), n_groups=n_groups,
        n_folds=len(fits["fold_slopes"]) if n_groups > 1 else 0, n_missing=n_missing, confidence_level=confidence_level,
    )  # fmt: skip
    return replace(result, warnings=(*_map_warnings(result), *(() if alone is None else alone.warnings)))


def _map_warnings(result: CalibrationMap) -> tuple[str, ...]:
    """What a reader should know before the map."""
    present, n_groups, missing = result.levels[result.counts.sum(axis=0) > 0], result.n_groups, result.n_missing
    absent = ", ".join(map(short, np.setdiff1d(result.levels, present)))
    alone = result.own_only or len(result.slopes) == 1
    reversed_ = float((result.resampled_slopes[:, 0] < 0).mean()) if len(result.resampled_slopes) else math.nan
    down = alone and result.slopes[0] * np.ptp(result.x[:, 0]) < -_SPECK
    unseen, few_groups = 1 < len(present) < len(result.levels), 1 < n_groups < 10
    texts = {
        "constant_judge: the judge's score is the same wherever there is a label, so that every item gets the labels' "
        "shares": bool((np.ptp(result.x, axis=0) == 0).all()),
        "negative_slope: the higher the judge's score, the lower people's labels "
        f"(in {reversed_:.0%} of the resamples, too); the map follows": down,
        f"labels_alike: every label is {short(present[0])}; nothing tells which items have another": len(present) == 1,
        f"unseen_levels: nobody said {absent}; their chance comes from the pseudo-label alone": unseen,
        "one_group: all labels are of one group, so the map has no interval and no folds; its scores of the labelled "
        "items are fitted to their own labels": n_groups == 1,
        f"few_groups: {n_groups} independent groups of labels; intervals from fewer than 10 may be short": few_groups,
        f"inputs_missing: labelled items that lack an input are left out: {missing}": missing > 0,
    }
    return warned(texts)


def _chosen_inputs(
    sample: Tabled, alone: AnnotatorLogit | None, ridge: float | None, pseudo: float
) -> tuple[Tabled, bool, float]:
    """The inputs in use, whether that is the own score alone, and the penalty: of a fit with persons, or chosen."""
    p, own_only = sample.z.shape[1], False
    if alone is not None:
        own_only, penalty = len(alone.inputs_used) < p, alone.ridge
    elif ridge is not None:
        penalty = float(ridge)
    else:
        best = next((one for one in odds.chosen_ridge(sample, pseudo) if one.chosen), None)
        own_only = p > 1 if best is None else len(best.inputs) < p
        penalty = odds.reference_ridge(1) if best is None else best.ridge
    if own_only:
        sample = sample._replace(z=np.where(np.arange(p) > 0, 0.0, sample.z))
    return sample, own_only, penalty


def _fold_fits(
    sample: Tabled, fold: Codes, ridge: float, alone: AnnotatorLogit | None, pseudo: float, n_resamples: int,
    rng: np.random.Generator, centre: Floats, spread: Floats,
) -> dict[str, Any]:  # fmt: skip
    """Fields of a map: thresholds, slopes per unit of input, shifts; of all labels, without each fold, resampled."""
    p, persons = sample.z.shape[1], None
    penalty = np.full(p, ridge)
    if alone is not None:
        persons = odds.Persons(sample.table.x[:, p].astype(np.intp), np.array(alone.tau))
        penalty = np.append(penalty, np.ones(len(alone.shifts)))
    z, table = sample.z, sample.table
    a, b, _ = fitted(*with_pseudo(z, table.counts, pseudo), penalty, None, persons)
    without, resampled = (a[None], b[None]), [(np.empty((0, *a.shape)), np.empty((0, *b.shape)))]
    n_units = int(sample.unit.max()) + 1
    if table.x.shape[1] == 1 and len(z) > _MANY:
        # neighbouring scores taken together where there are very many of a single input; a thousand are as good
        part, weight = np.arange(len(z)) * _MANY // len(z), table.counts.sum(axis=1)  # rows are in order
        z = (np.bincount(part, weight * z[:, 0]) / np.bincount(part, weight))[:, None]
        counts = np.zeros((_MANY, table.counts.shape[1]))
        np.add.at(counts, part, table.counts)
        table = odds.Counted(z, counts, part[table.row])
        sample = sample._replace(table=table)
    if n_units > 1:
        others = np.maximum(table.counts - sample.held_out(fold), 0.0)
        without = fitted(*with_pseudo(z, others, pseudo), penalty, (a, b), persons)[:2]
    step = max(1, _AT_ONCE // table.counts.size)
    sizes = [min(step, n_resamples - done) for done in range(0, n_resamples if n_units > 1 else 0, step)]
    # the pseudo-label varies, too, as an unseen label would: where all labels are at one end, little else does
    unseen = [pseudo * rng.exponential(size=(n, 1, 1)) for n in sizes]
    counts = table.counts
    single = n_units == len(sample.unit) and (sample.weight == 1).all()  # single labels: cells are drawn at once
    cell = table.row * counts.shape[1] + sample.place
    each = sparse.csr_matrix((sample.weight, (sample.unit, cell)), shape=(n_units, counts.size))
    chances = counts.ravel() / n_units if single else np.full(n_units, 1 / n_units)
    for extra in unseen:
        times = rng.multinomial(n_units, chances, len(extra))
        drawn = (times if single else (each.T @ times.T).T).reshape(-1, *counts.shape).astype(float)
        resampled.append(fitted(*with_pseudo(z, drawn, extra), penalty, (a, b), persons)[:2])
    fields = dict[str, Any]()
    fits = {"": (a, b), "fold_": without, "resampled_": tuple(map(np.concatenate, zip(*resampled, strict=True)))}
    for name, (thresholds, all_slopes) in fits.items():
        slopes = all_slopes[..., :p] / spread
        fields |= {f"{name}thresholds": thresholds + (slopes @ centre)[..., None], f"{name}slopes": slopes}
        if alone is not None:
            fields[f"{name}shifts"] = np.array(alone.tau) * all_slopes[..., p:]
    if alone is not None:
        fields |= {"tau": alone.tau, "shifts": alone.shifts, "forecasters": alone.forecasters}
    return fields


def units_and_folds(groups: Labels | None, used: Any) -> tuple[Codes, Codes]:
    """The number and fold of each row's group, whatever the order of the rows; -1 where no label of it is used.

    Groups with many labels are dealt out first, each to the fold that has fewest labels; those with as many in the
    order of a hash of their names, which has nothing to do with what they are.
    """
    if groups is None:
        unit, n_used = np.full(len(used), -1), int(used.sum())
        unit[used] = np.random.default_rng(0).permutation(n_used)
        return unit, np.where(used, unit % _FOLDS, -1)
    code = check.codes(groups, "groups")
    names = list(dict.fromkeys(groups.tolist() if hasattr(groups, "tolist") else groups))
    size = np.bincount(code[used], minlength=len(names))
    there = sorted(np.flatnonzero(size).tolist(), key=lambda g: (-size[g], sha(names[g])))
    unit, fold = np.full((2, len(names)), -1)
    held = [(0, place) for place in range(min(_FOLDS, len(there)))]
    for number, group in enumerate(there):
        n, place = held[0]
        unit[group], fold[group] = number, place
        heapq.heapreplace(held, (n + int(size[group]), place))
    return unit[code], fold[code]


def sha(name: Any) -> str:
    """The hash that stands for a name, which may be any text."""
    return f"sha256:{hashlib.sha256(str(name).encode('utf-8', 'surrogatepass')).hexdigest()}"
