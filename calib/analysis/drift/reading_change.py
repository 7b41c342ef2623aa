"""Change of a judge's readings: energy distances between then and now, with p-values by dealing readings out anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calib.analysis.means.mean import mean_interval
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import quantile, two_sided, upper
from calib.core.numeric import adjusted_p_values, row_means
from calib.core.result import NO_INTERVAL, Estimate, Interval, short

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 1 << 17  # numbers that a processor keeps near
_ALIKE, _DUST = 1e-9, 1e-12  # sums that differ by rounding alone are equal
_AT_ONCE = 1 << 21  # numbers that are held at once


class Dealt(NamedTuple):
    """The distance of each item, and how often readings that were dealt out anew lay as far apart."""

    energy: Floats
    as_far: Codes  # of each item
    as_far_in_all: int  # of the sum over items
    shifted_as_far: int  # of the sum over items of now less then, up or down


def not_below(drawn: Floats, seen: Floats) -> NDArray[np.bool_]:
    return np.asarray(drawn >= seen * (1 - _ALIKE) - _DUST)


def dealt_anew(then: Floats, now: Floats, n_permutations: int, rng: np.random.Generator) -> Dealt:
    """Within each item every reading is as likely to be one of then as one of now, whatever the others are."""
    # of each item the gaps between its sorted readings, which of them are of then (NaN: none), how many of each side
    values = np.concatenate([then, now], axis=1)
    there = ~np.isnan(values)
    side = np.where(there, np.arange(values.shape[1]) < then.shape[1], np.nan)
    order = np.argsort(np.where(there, values, np.inf), axis=1, kind="stable")
    values, side = (np.take_along_axis(each, order, axis=1) for each in (values, side))
    gaps = np.nan_to_num(np.diff(values, axis=1))
    n_then, n_now = ((side == each).sum(axis=1, keepdims=True).astype(float) for each in (1, 0))
    # the mean of now less that of then is the integral of F - G, and the distance that of 2 (F - G)**2
    apart = (np.cumsum(side == 1, axis=1) / n_then - np.cumsum(side == 0, axis=1) / n_now)[:, :-1]
    shift, energy = (gaps * apart).sum(axis=1), 2 * (gaps * apart**2).sum(axis=1)

    as_far, total = np.full(len(gaps), n_permutations, dtype=np.intp), np.zeros((2, n_permutations))
    moving = np.flatnonzero((gaps > 0).any(axis=1))  # of others nothing can change
    rows = max(1, _BLOCK // (8 * n_permutations))
    for start in range(0, len(moving), rows):
        block = moving[start : start + rows]
        # shifts and distances, shape (2, items, permutations), of readings dealt out in turn from the lowest on
        of_then, drawn = np.zeros((len(block), n_permutations)), np.zeros((2, len(block), n_permutations))
        a, b = n_then[block], n_now[block]
        for place in range(gaps.shape[1]):
            left = a + b - place
            # with this chance the next one is of then; beyond the last reading of an item there is no gap
            of_then += rng.random(of_then.shape) * left < a - of_then
            ahead = of_then * (1 / a + 1 / b) - (place + 1) / b
            step = gaps[block, place, None] * ahead
            drawn[0] += step
            drawn[1] += 2 * step * ahead
        as_far[block] = not_below(drawn[1], energy[block, None]).sum(axis=1)
        total += drawn.sum(axis=1)
    reached = not_below(np.abs(total), np.abs([[shift.sum()], [energy.sum()]])).sum(axis=1)
    return Dealt(energy, as_far, int(reached[1]), int(reached[0]))


# --- sessions ---------------------------------------------------------------------------------------------------------


def session_codes(sessions: Sequence[Any], then: Floats, now: Floats) -> Codes:
    """The number of the session of each reading of then, and of now from there on; -1 where there is no reading."""
    if len(sessions) != 2:
        raise ArgumentError("sessions", "must be a pair, of the readings then and of those now", f"has {len(sessions)}")
    sides = []
    for labels, readings, name in zip(sessions, (then, now), ("then", "now"), strict=True):
        cells, there = np.asarray(labels, dtype=object), np.isfinite(readings)
        if cells.shape not in (readings.shape, readings.shape[1:]):
            rule = "must have a session for each reading, or for each column, of {0}"
            raise ArgumentError("sessions", rule, f"got shape {cells.shape}", mentions=(name,))
        code = np.full(readings.shape, -1)
        code[there] = check.codes(np.broadcast_to(cells, readings.shape)[there].tolist(), "sessions")
        sides.append(code)
    n_then, n_now = (int(code.max(initial=-1)) + 1 for code in sides)
    if n_then < 2 or not n_now:
        rule = "must be two at least then, and one now: of one their noise is not seen"
        raise ArgumentError("sessions", rule, f"got {n_then} then and {n_now} now")
    return np.hstack([sides[0], np.where(sides[1] < 0, -1, sides[1] + n_then)])


def read_in_all(codes: Codes) -> NDArray[np.bool_]:
    """Which items every session read."""
    used = (codes[:, :, None] == np.arange(codes.max() + 1)).any(axis=1).all(axis=1)
    if not used.any():
        raise ArgumentError("sessions", "must share items that each of them read", "there is none")
    return np.asarray(used)


def sessions_dealt(
    values: Floats, codes: Codes, n_then: int, n_deals: int, rng: np.random.Generator
) -> tuple[Dealt, Floats]:
    """Each session, with all its readings of all items, is as likely to be one of then as one of now; and its means."""
    number = int(codes.max()) + 1
    side = np.full((1 + n_deals, number), -1 / (number - n_then))
    chosen = np.argsort(rng.random((n_deals, number)), axis=1)[:, :n_then]
    side[0, :n_then] = 1 / n_then  # as they were
    np.put_along_axis(side[1:], chosen, 1 / n_then, axis=1)
    pairs = (side[:, :, None] * side[:, None, :]).reshape(len(side), -1)
    weight = (codes[:, :, None] == np.arange(number)).astype(float)
    weight /= weight.sum(axis=1, keepdims=True)
    energy, as_far, total = np.empty(len(values)), np.empty(len(values), dtype=np.intp), np.zeros(len(side))
    rows = max(1, _AT_ONCE // max(len(side), values.shape[1] ** 2))
    for start in range(0, len(values), rows):
        x, w = np.nan_to_num(values[start : start + rows]), weight[start : start + rows]
        gaps = np.swapaxes(w, 1, 2) @ np.abs(x[:, :, None] - x[:, None, :]) @ w  # of any two sessions, on average
        drawn = -gaps.reshape(len(x), -1) @ pairs.T
        energy[start : start + rows] = drawn[:, 0]
        as_far[start : start + rows] = not_below(drawn[:, 1:], drawn[:, :1]).sum(axis=1)
        total += drawn.sum(axis=0)
    dealt = Dealt(energy, as_far, int(not_below(total[1:], total[:1]).sum()), 0)
    return dealt, np.einsum("ir,irs->is", np.nan_to_num(values), weight)


def shift_between(means: Floats, n_then: int) -> tuple[float, int, float]:
    """Standard error of the mean shift by the spread of the sessions' means, its df, and the p-value by t."""
    sides, df = (means[:n_then], means[n_then:]), len(means) - 2
    spread = sum(float(((side - side.mean()) ** 2).sum()) for side in sides) / df
    error, shift = math.sqrt(spread * sum(1 / len(side) for side in sides)), float(sides[1].mean() - sides[0].mean())
    p_shift = 2 * float(upper(df, abs(shift) / error)) if error > _DUST else float(abs(shift) <= _DUST)
    return error, df, p_shift


def draw_effect(readings: Floats) -> float:
    r"""P-value of no effect of a draw (a column) that items share; NaN where no item without gaps has any spread.

    .. math:: Q = \sum_k \Big(\sum_i x_{ik} - \bar x_i\Big)^2 \Big/ \sum_i s_i^2 \sim \chi^2_{K - 1}

    over many items, with the variance :math:`s_i^2` of each item's readings.
    """
    whole = readings[np.isfinite(readings).all(axis=1)]
    if whole.shape[1] < 2 or not len(whole) or not (spread := float(whole.var(axis=1, ddof=1).sum())):
        return math.nan
    sums = (whole - whole.mean(axis=1, keepdims=True)).sum(axis=0)
    return float(stats.chi2.sf((sums**2).sum() / spread, whole.shape[1] - 1))


# --- whether a judge reads the same items as it did -------------------------------------------------------------------


_LEAST = 2  # readings of an item then: of fewer its noise is not known
_TOGETHER = 1e-3  # draws that go together with no more than this chance were not made one by one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadingChange(Estimate):
    """Readings of the same items then and now: whether they changed, how far, and beyond what noise.

    `estimate` is the mean shift, readings now less readings then, each item with the same weight; the interval is for
    items like these.

    Attributes
    ----------
    statistic : float
        Mean over the items of the energy distance between the readings then and now.
    p_value, p_shift : float
        Of no change in how any item is read, by `statistic`, and by the mean shift, which sees what is too rare for
        the other. Exact, whatever the judge's noise, if the readings of an item are independent; with `sessions` the
        first if these are, the second by t.
    smallest_shift : float
        The mean shift that the interval would have told from 0 four times in five; NaN where its error is not known.
    floor, floor_gap : float
        Share of differing readings among two of then, what the judge's noise alone does, and their mean distance.
    differ, changed : float
        Share of differing readings among one of then and one of now, and that less `floor`: below 0 where the judge is
        less noisy than it was.
    changed_interval : Interval
        Of `changed`, for items like these; none with sessions.
    n, n_groups, n_dropped : int
        Items in use; independent groups of these; items left out: fewer than two readings then, or none now.
    readings_then, readings_now : float
        Readings of an item, on average.
    n_permutations, sessions_then, sessions_now : int
        No sessions where readings are taken as independent.
    items, then, now, energy, beyond : ndarray
        Which items are in use (places, of `calib.drift` ids), and of each the mean readings, the energy distance, and
        what it adds to `changed`.
    p_items, p_holm, p_by : ndarray of float
        Of no change in this item: alone; for the claim that these items changed (Holm); for a list of which a share
        of false ones is tolerated (Benjamini and Yekutieli).
    least_p : float
        The smallest p-value that an item can have with so many readings.
    """

    _cells = (
        "estimate interval smallest_shift changed differ floor floor_gap statistic p_value p_shift "
        "readings_then readings_now sessions_then sessions_now n n_groups n_dropped n_changed least_p warnings "
        "changed_interval"
    )
    statistic: float
    p_value: float
    p_shift: float
    smallest_shift: float
    floor: float
    floor_gap: float
    differ: float
    changed: float
    changed_interval: Interval
    n: int
    n_groups: int
    n_dropped: int
    readings_then: float
    readings_now: float
    n_permutations: int
    sessions_then: int
    sessions_now: int
    items: NDArray[Any] = field(repr=False)
    then: Floats = field(repr=False)
    now: Floats = field(repr=False)
    energy: Floats = field(repr=False)
    beyond: Floats = field(repr=False)
    p_items: Floats = field(repr=False)
    p_holm: Floats = field(repr=False)
    p_by: Floats = field(repr=False)
    least_p: float

    @property
    def drifted(self) -> bool:
        """Whether one of the two tests speaks of a change, at half the level each. False is no proof of none.

        Where sessions are too few for the first (`shift_alone`), whether the other does, at the whole level.
        """
        return (self.p_shift if self.shift_alone else 2 * min(self.p_value, self.p_shift)) <= 1 - self.confidence_level

    @property
    def shift_alone(self) -> bool:
        """Whether there are too few sessions for `p_value` to be half the level."""
        return self.sessions_then > 0 and 2 * self.least_p > 1 - self.confidence_level

    @property
    def copied(self) -> bool:
        """Whether readings look like copies of those of then, which say nothing of a change."""
        return any(text.startswith("cached_copies") for text in self.warnings)

    @property
    def n_changed(self) -> int:
        """Items that may each be said to have changed (Holm)."""
        return int((self.p_holm <= 1 - self.confidence_level).sum())

    @property
    def changes(self) -> pd.DataFrame:
        """A row for each item, those that lie farthest apart first (needs pandas)."""
        import pandas as pd

        columns = {"item": self.items, "then": self.then, "now": self.now, "shift": self.now - self.then}
        columns |= {"energy": self.energy, "p_item": self.p_items, "p_holm": self.p_holm, "p_by": self.p_by}
        return pd.DataFrame(columns).sort_values("energy", ascending=False, kind="stable", ignore_index=True)

    def _terms(self) -> dict[str, Any]:
        groups = self.n_groups if self.n_groups != self.n else None
        terms: dict[str, Any] = {"reading-change": True, "energy": True, "perm": self.n_permutations}
        sessions = f"{self.sessions_then}+{self.sessions_now}" if self.sessions_then else None
        return terms | {"sessions": sessions, "cl": self.confidence_level, "n": self.n, "groups": groups}

    def __str__(self) -> str:
        p = f"p = {short(self.p_value)} of any change, {short(self.p_shift)} of a shift"
        verdict = f"readings changed ({p})" if self.drifted else f"no change seen ({p}), which is no proof of none"
        verdict = "readings look like cached copies and say nothing of a change" if self.copied else verdict
        shift = f"mean shift {short(self.estimate)}, {self.bracket}"
        shares = f"{100 * self.differ:.3g} % of readings differ, {100 * self.floor:.3g} % by the judge's noise alone"
        read = f"{self.n} items, read {short(self.readings_then)} times then and {short(self.readings_now)} times now"
        return f"{verdict}; {shift}; {shares}; {read}{self._bracketed_warnings}"


def reading_change(
    then: ArrayLike,
    now: ArrayLike,
    *,
    groups: Labels | None = None,
    sessions: Sequence[Any] | None = None,
    n_permutations: int = 9_999,
    rng: np.random.Generator | int | None = 0,
    confidence_level: float = 0.95,
) -> ReadingChange:
    r"""Whether a judge reads the same items as it did, from repeated readings of each then and now.

    If nothing changed, each reading of an item is as likely to be one of then as one of now. The statistic is

    .. math:: T = \sum_i 2 E|a_i - b_i| - E|a_i - a_i'| - E|b_i - b_i'|

    with a of then and b of now; the readings of each item are dealt out anew to then and now B times, and

    .. math:: p = \frac{1 + \#\{T_b \ge T\}}{1 + B}

    is exact whatever the judge's noise is and however it differs between items, if the readings of an item are
    independent. It sees every kind of change, in the mean, in the spread, up on some items and down on others, but for
    a judge that hardly ever wavers and errs a little more often: that the mean shift sees, by the same dealing out. Its
    interval is t over items or groups of them; that of the share of readings that differ beyond the noise floor,

    .. math:: P(\text{now} \ne \text{then}) - P(\text{then} \ne \text{then}'),

    Gaffke's on [-1, 1] over items, t over groups.

    Readings that were made together may share something (a server, a day). With `sessions` these are dealt out whole,
    and the shift has Student's t over the means of sessions, which it takes to be normal,

    .. math:: t = \frac{\bar m_b - \bar m_a}{s \sqrt{1/S_a + 1/S_b}}, \qquad S_a + S_b - 2 \text{ df}.

    Of 4 and 4 sessions `p_value` is .029 at least, so that the verdict is the shift's; of 5 and 5 .008. So is that of
    an item with 4 readings then and 4 now; with 6 and 6 it is .0022, with 8 and 8 .00016.

    Parameters
    ----------
    then, now : array_like, shape (n, r) and (n, s)
        Readings (draws, chains, repeated calls) of the same items in the same order; NaN where there is none.
        Two then at least, four or more are recommended: with one on each side T is the same however they are
        dealt out, and the noise is not known. One now is enough, and four find much more.
    groups : sequence, shape (n,), optional
        Items of one group (source document) are not independent; this widens the two intervals. The test is about
        these items and needs none.
    sessions : pair of array_like, optional
        The session of each reading then, and now: of its shape, or one for each column. Two then at least. Without, the
        readings of an item are taken as independent, which those of one session on each side cannot show.
    n_permutations : int, default 9,999
    rng : Generator or int, default 0
    confidence_level : float, default 0.95

    References
    ----------
    Szekely and Rizzo (2013), Energy statistics, Journal of Statistical Planning and Inference 143:1249-1272; Phipson
    and Smyth (2010), Permutation p-values should never be zero, SAGMB 9:39; Holm (1979), Scandinavian Journal of
    Statistics 6:65-70; Benjamini and Yekutieli (2001), Annals of Statistics 29:1165-1188.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.uniform(1, 9, size=(100, 1))
    >>> then, again, lower = (np.rint(quality - d + rng.normal(0, 0.6, (100, 4))) for d in (0, 0, 0.5))
    >>> result = reading_change(then, lower)
    >>> result.drifted, round(result.estimate, 3), [round(end, 2) for end in result.interval]
    (True, -0.49, [-0.59, -0.39])
    >>> reading_change(then, again).drifted
    False
    """
    before, after = check.array(then, "then"), check.array(now, "now")
    for name, readings in (("then", before), ("now", after)):
        if readings.ndim != 2:
            rule = "must have two dimensions, an item a row and a reading a column"
            raise ArgumentError(name, rule, f"got shape {readings.shape}")
    check.same_length(then=before, now=after, groups=groups)
    confidence = check.probability(confidence_level, "confidence_level")
    draws = check.whole(n_permutations, "n_permutations", least=99)
    codes = None if sessions is None else session_codes(sessions, before, after)
    used = _items_read_twice(before, after) if codes is None else read_in_all(codes)
    unit = None if groups is None else check.codes(groups, "groups")[used]
    if (n_units := int(used.sum()) if unit is None else len(np.unique(unit))) < 2:
        argument, units = ("then", "items") if unit is None else ("groups", "groups")
        rule = f"must have two {units} at least that were read twice then and again now"
        raise ArgumentError(argument, rule, f"got {n_units}")
    first, second = before[used], after[used]
    source, own = np.random.default_rng(rng), np.broadcast_to(np.arange(first.shape[1]), first.shape)
    if codes is None:
        dealt, means = dealt_anew(first, second, draws, source), (row_means(first), row_means(second))
        n_then, n_now, error, df, p_shift = 0, 0, 0.0, math.inf, (1 + dealt.shifted_as_far) / (1 + draws)
        # the item with the most readings has this many ways to deal them out
        counts = {*zip(*(np.isfinite(side).sum(axis=1).tolist() for side in (first, second)), strict=True)}
        together, lack = [draw_effect(side) for side in (first, second)], "fewer than 2 readings then, or none now"
    else:
        codes, together, lack = codes[used], [], "no reading in one of the sessions"
        own = codes[:, : first.shape[1]]
        n_then, n_now = int(own.max()) + 1, int(codes.max() - own.max())
        dealt, by_session = sessions_dealt(np.hstack([first, second]), codes, n_then, draws, source)
        means = by_session[:, :n_then].mean(axis=1), by_session[:, n_then:].mean(axis=1)
        error, df, p_shift = shift_between(by_session.mean(axis=0), n_then)
        counts = {(n_then, n_now)}
    least_p = min((1 + (r == s)) / math.comb(r + s, r) for r, s in counts)
    differ = _over_pairs(first, second, np.not_equal)
    floor = _over_pairs(first, first, np.not_equal, own)  # of two readings, or of those of two sessions
    floor_gap = _over_pairs(first, first, lambda one, other: np.abs(one - other), own)
    options: dict[str, Any] = {"groups": unit, "confidence_level": confidence}
    shift = mean_interval(means[1] - means[0], estimator="classical", **options)
    error = math.hypot(shift.std_error, error)  # the spread of sessions comes on top of that of items
    df = shift.df if codes is None else df
    half = two_sided(df, confidence) * error if error else math.nan
    smallest = half + float(quantile(math.inf, 1 - 0.8)) * error  # the interval leaves 0 out four times in five
    # of differences of shares t falls short where most are 0, and Gaffke's is far too wide over few groups
    by_t = unit is not None and np.ptp(differ - floor) > 0
    options |= {"estimator": "classical"} if by_t else {"bounds": (-1, 1)}
    changed = mean_interval(differ - floor, **options)
    p_items = (1 + dealt.as_far) / (1 + draws)
    n_dropped, few_groups = len(before) - len(first), shift.n_groups < 10
    texts = {
        f"items_dropped: {n_dropped} of {len(before)} items have {lack}.": n_dropped,
        f"few_groups: only {shift.n_groups} independent items or groups; the intervals are rough ones.": few_groups,
        "no_noise: then all readings of each item were alike, so that any change is one beyond noise.": not floor.any(),
        "draws_together: the readings of a draw rise and fall together over items, as those of a session do, and "
        "the p-values take them as independent: name the sessions.": any(p <= _TOGETHER for p in together),
    }
    return ReadingChange(
        statistic=float(dealt.energy.mean()), p_value=(1 + dealt.as_far_in_all) / (1 + draws), p_shift=p_shift,
        estimate=shift.estimate, interval=Interval(shift.estimate - half, shift.estimate + half),
        smallest_shift=smallest, floor=float(floor.mean()), floor_gap=float(floor_gap.mean()),
        differ=float(differ.mean()), changed=changed.estimate,
        changed_interval=changed.interval if codes is None else NO_INTERVAL,
        confidence_level=confidence, n=len(first), n_groups=shift.n_groups, n_dropped=n_dropped,
        readings_then=float(np.isfinite(first).sum() / len(first)),
        readings_now=float(np.isfinite(second).sum() / len(second)), n_permutations=draws, sessions_then=n_then,
        sessions_now=n_now, items=np.flatnonzero(used), then=means[0], now=means[1], energy=dealt.energy,
        beyond=differ - floor, p_items=p_items, p_holm=adjusted_p_values(p_items, "holm"),
        p_by=adjusted_p_values(p_items, "by"), least_p=float(max(least_p, 1 / (1 + draws))),
        warnings=check.warn_all([text for text, holds in texts.items() if holds]),
    )  # fmt: skip


def _items_read_twice(then: Floats, now: Floats) -> NDArray[np.bool_]:
    """Items with two readings then and one now."""
    counts = [np.isfinite(side).sum(axis=1) for side in (then, now)]
    if counts[0].max(initial=0) < _LEAST:
        rule = (
            f"must have {_LEAST} readings of an item at least (4 are recommended): from one on each side a change "
            "cannot be told from the judge's own noise, since the statistic is the same if the two are exchanged"
        )
        raise ArgumentError("then", rule, f"has {int(counts[0].max(initial=0))}")
    used = (counts[0] >= _LEAST) & (counts[1] > 0)
    if not used.any():
        raise ArgumentError("now", "must have a reading of an item that {0} read twice", "has none", mentions=("then",))
    return np.asarray(used)


def _over_pairs(
    first: Floats, second: Floats, apart: Callable[[Floats, Floats], Any], own: Codes | None = None
) -> Floats:
    """The mean of each item's pairs of readings; of one side only of readings whose numbers in `own` differ."""
    out, rows = np.empty(len(first)), max(1, _AT_ONCE // (first.shape[1] * second.shape[1]))
    for start in range(0, len(first), rows):
        one, other = first[start : start + rows, :, None], second[start : start + rows, None, :]
        there = np.isfinite(one) & np.isfinite(other)
        if own is not None:
            there &= own[start : start + rows, :, None] != own[start : start + rows, None, :]
        out[start : start + rows] = np.where(there, apart(one, other), 0.0).sum(axis=(1, 2)) / there.sum(axis=(1, 2))
    return out
