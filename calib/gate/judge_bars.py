"""Whether a judge's agreement with labels lies above a bar: the score of a ratio of means, by Gaffke's law."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.gaffke import Gaffke
from calib.core.numeric import recoded, units_of
from calib.core.result import NO_INTERVAL, Estimate, Interval, short
from calib.gate.outcomes import FAIL, INCONCLUSIVE, PASS, error_of, gate_outcomes

TRUSTED, UNTRUSTED = "trusted", "untrusted"
FIGURES = {"kappa": "Cohen's kappa", "weighted_kappa": "weighted kappa", "spearman": "Spearman's rho",
           "tpr": "TPR", "tnr": "TNR"}  # fmt: skip
_RATES = {"tpr": 1, "tnr": 0}  # the label of the items that they are shares of
_UNKNOWN = "too few labels to decide"
_MOST_TILED = 1 << 18  # items
_FEW = 60  # verdicts, of which all tables are summed over
_HIGH = 0.7  # bar, above which few disagree, and how many tables have none depends on the margins
_FEW_APART, _MANY = 12, 400  # disagreements at such a bar, with which tables of so many verdicts are summed over, too
_OFF = (-1.0, 0.0, 1.0)  # standard errors that the margins may be off there
_LEAST_CHANCE = 1e-6
_UNEVEN = 0.5  # of the groups, that those of one size are


class Score(NamedTuple):
    """A figure as a ratio of two means over items, with both terms of every pair of a score and a label."""

    top: Floats
    bottom: Floats
    any_top: Floats  # scores x labels
    any_bottom: Floats
    share: Floats  # of each label
    unit: Codes
    unseen: float  # how many items (or groups) the one that was not seen counts for
    cells: Codes | None = None  # of kappa of few independent items with two values: the counts of its pairs

    @property
    def estimate(self) -> float:
        return float(self.top.mean() / self.bottom.mean())

    def tails(self, bar: float, times: float = 1.0) -> tuple[float, float]:
        """P-values against "not above the bar" and "not below it", with so many times the units."""
        psi = self.top - bar * self.bottom
        size = np.bincount(self.unit)
        value, count = np.bincount(self.unit, psi) / size, size / size.mean()
        point = float(psi.mean())
        if times != 1:  # as many more units that lie as these do
            order, many = np.argsort(value, kind="stable"), math.ceil(times * len(value))
            at = order[((np.arange(many) + 0.5) * len(value) / many).astype(int)]
            value, count = value[at], count[at] / count[at].mean()
            value = value + point - float((value * count).mean())
        uneven = max(1.0, 2 * float(np.mean(count**2)) - 1.5)  # 1 where groups have about one size
        reach = self.any_top - bar * self.any_bottom
        # what was not seen: of the usual labels as wrong as can be, or right where that counts most
        ends = np.array([reach.min(axis=0) @ self.share]), np.array([reach.max()])
        nothing, unseen, support = np.zeros(1), np.array([self.unseen * uneven]), (-math.inf, math.inf)
        code = np.zeros(len(value), dtype=np.intp)
        above, below = Gaffke(point, value - point, count, code, nothing, unseen, ends, support).tails(0.0)
        if self.cells is not None and times == 1 and (most := _disagreements(self.cells, bar)):
            above = _summed_over_tables(self.cells, bar, most)
        return float(above), float(below)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck(Estimate):
    """One bar of a gate for a judge: where a figure of agreement lies beside it.

    Attributes
    ----------
    estimand : str
        The figure: "kappa", "weighted_kappa", "spearman", "tpr" or "tnr".
    outcome : {"trusted", "untrusted", "inconclusive"}
    reason : str
        Why it is inconclusive; empty otherwise.
    threshold : float
        The bar that the figure has to exceed.
    error : float
        Of a false trust and of a false distrust; the interval is at confidence 1 - 2 `error`.
    p_above, p_below, p_adjusted : float
        One-sided p-values against "not above the bar" and "not below the bar"; the latter by Holm over all bars.
    rival : float
        The simplest rival: the share of labels that the best constant verdict gets right. What a constant verdict
        reaches in the figure itself is 0 for a kappa, nothing for a correlation, and 1 for TPR or for TNR.
    agree : float
        Share of labels that the judge gives exactly.
    n_labels, n, n_groups : int
        Labelled items that the judge read; those that the figure rests on; groups of these.
    n_unread, n_unmatched : int
        Labelled items whose reply gave no score; labels of items that the judge was not asked about.
    labels_to_decide : float
        Labels in all with which the interval would end at the bar if the estimate stayed: a judge as good as it looks
        is then decided one time in two. NaN where there is no such number.
    """

    estimand: str
    outcome: str
    reason: str
    threshold: float
    error: float
    p_above: float
    p_below: float
    p_adjusted: float
    rival: float
    agree: float
    n_labels: int
    n: int
    n_groups: int
    n_unread: int = 0
    n_unmatched: int = 0
    labels_to_decide: float
    evidence: ClassVar[str] = "labels"

    _cells = (
        "estimand outcome threshold estimate interval p_above p_below p_adjusted rival agree n_labels n n_groups "
        "n_unread n_unmatched labels_to_decide reason warnings"
    )

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"judge-bar": True, "of": self.estimand, "threshold": self.threshold}
        terms |= {"error": self.error, "cl": self.confidence_level, "labels": self.n_labels, "n": self.n}
        return terms | {"groups": self.n_groups if self.n_groups < self.n else None}

    @property
    def numbers(self) -> str:
        """Estimate, interval, bar and the simplest rival in words."""
        name = FIGURES[self.estimand]
        if math.isnan(self.estimate):
            return f"{name}: no estimate, bar {short(self.threshold)}"
        beside = f"labels agree in {100 * self.agree:.3g} %, with one constant verdict in {100 * self.rival:.3g} %"
        return f"{name} {short(self.estimate)}, {self.bracket}, bar {short(self.threshold)}; {beside}"

    @property
    def share_unread(self) -> float:
        """Of the labelled items those without a score."""
        without = self.n_unread + self.n_unmatched
        return without / max(1, self.n_labels + without)

    @property
    def counts(self) -> str:
        """How many labels it rests on."""
        of = "" if self.n == self.n_labels else f", {self.n} of them of this kind"
        groups = "" if self.n_groups == self.n else f", in {self.n_groups} group{'s' * (self.n_groups != 1)}"
        lost = "".join(f", {n} {why}" for n, why in ((self.n_unread, "unread"), (self.n_unmatched, "unmatched")) if n)
        return f"{self.n_labels} labels{of}{groups}{lost}"

    def __str__(self) -> str:
        return f"{self.outcome}: {self.numbers} ({self.counts}){': ' * bool(self.reason)}{self.reason}"


def judge_bar(
    judge: ArrayLike,
    labels: ArrayLike,
    figure: str,
    bar: float,
    *,
    groups: Labels | None = None,
    error: float = 0.025,
    min_labels: int = 20,
) -> JudgeCheck:
    r"""Whether a figure of a judge's agreement with labels lies above a bar: trusted, untrusted, or not known.

    Each figure is a ratio of two means over items, so that it exceeds the bar where the mean of

    .. math:: \psi_i = a_i - \text{bar} \cdot b_i

    exceeds 0. For kappa :math:`b_i` is item i's share in the disagreement of chance, :math:`\sum_y w(x_i, y) p_y +
    \sum_x w(x, y_i) p_x - D_e`, and :math:`a_i = b_i - w(x_i, y_i)`, with w = 1 for two values that differ, or their
    squared distance for the weighted kappa; for Spearman's rho both are the influences of the covariance and of the
    product of the standard deviations of the midranks; for TPR a is whether the judge passes an item that people pass,
    and b is 1. The p-value is Gaffke's for the mean of :math:`\psi` over items, or over groups of them, with half an
    observation that was not seen and is the worst that there can be (of rates a whole one: Clopper and Pearson's). It
    needs no bootstrap, and holds where hardly any item fails. The interval has the bars that are not refused. Where
    groups are of very different sizes s the one that was not seen counts :math:`2 \overline{s^2} / \bar s^2 - 1.5`
    times as much, if that is more.

    Of up to 60 independent verdicts of pass and fail the p-value of trust is summed over all tables, at the bar and
    with margins like those seen: there kappa takes few values, and half an observation would sometimes be too little.
    With a bar above .7 that is so for up to 400, if at most 12 disagreements are expected; there the largest sum counts
    of margins like those seen, and of margins a standard error higher and lower.

    Parameters
    ----------
    judge, labels : array_like, shape (n,)
        Scores of the judge and people's labels; NaN where there is none. Of rates 1 is pass and 0 is fail.
    figure : {"kappa", "weighted_kappa", "spearman", "tpr", "tnr"}
        Cohen's kappa without weights, or with quadratic ones.
    bar : float
        What the figure has to exceed.
    groups : sequence, shape (n,), optional
        What items share; without, items are independent.
    error : float, default .025
        Of a false trust, and of a false distrust.
    min_labels : int, default 20
        Labels below which nothing is decided.

    References
    ----------
    Gaffke (2005), as in `calib.stats.ppi_mean`; Fieller (1954), JRSS B 16:175-185, for the test of a ratio; Cohen
    (1960), Educational and Psychological Measurement 20:37-46. How often it errs: paper_repro/judge_gate.

    Examples
    --------
    >>> labels = [1] * 60 + [0] * 40
    >>> judge = [1] * 56 + [0] * 4 + [0] * 36 + [1] * 4
    >>> print(judge_bar(judge, labels, "kappa", 0.6))
    trusted: Cohen's kappa 0.8333, 95 % CI [0.6961, 0.9265], bar 0.6; labels agree in 92 %, with one constant
    verdict in 60 % (100 labels)
    >>> judge_bar(judge, labels, "tnr", 0.9).outcome
    'inconclusive'
    """
    one = open_bar(judge, labels, figure, bar, groups=groups, error=error, min_labels=min_labels)
    return settled_bars([one])[0]


def open_bar(
    judge: ArrayLike,
    labels: ArrayLike,
    figure: str,
    bar: float,
    *,
    groups: Labels | None,
    error: float,
    min_labels: int,
) -> JudgeCheck:
    """A bar whose outcome is open; where nothing can be decided `reason` says why."""
    check.choice(figure, "figure", tuple(FIGURES))
    lowest = 0.0 if figure in _RATES else -1.0
    if not lowest < float(bar) < 1:
        raise ArgumentError(figure, f"must lie above {lowest:g} and below 1", f"got {bar!r}")
    level, least = error_of(error), check.whole(min_labels, "min_labels", least=2)
    x, y = check.array(judge, "judge", ndim=1), check.array(labels, "labels", ndim=1)
    check.same_length(judge=x, labels=y, groups=groups)
    read = np.isfinite(x) & np.isfinite(y)
    unit, n_unread = units_of(groups, read), int((np.isnan(x) & np.isfinite(y)).sum())
    x, y = x[read], y[read]
    if figure in _RATES and (odd := np.setdiff1d(np.r_[x, y], (0.0, 1.0))).size:
        rule = "must be 1 (pass) or 0 (fail), and so must {0}"
        raise ArgumentError("judge", rule, f"has {odd[0]:g}", mentions=("labels",))
    kind = y == _RATES[figure] if figure in _RATES else np.ones(len(y), dtype=bool)
    counts = np.unique(y, return_counts=True)[1]
    why = _why_undefined(x, y, kind, figure)
    none: dict[str, Any] = dict.fromkeys(("estimate", "p_above", "p_below", "p_adjusted", "labels_to_decide"), math.nan)
    one = JudgeCheck(
        estimand=figure, outcome=INCONCLUSIVE, threshold=float(bar), error=level, confidence_level=1 - 2 * level,
        reason=f"needs {least} labels, has {len(y)}" if len(y) < least else why, interval=NO_INTERVAL,
        rival=float(counts.max() / len(y)) if len(y) else math.nan, n_unread=n_unread, n_labels=len(y),
        agree=float((x == y).mean()) if len(y) else math.nan, n=int(kind.sum()), n_groups=len(np.unique(unit[kind])),
        **none,
    )  # fmt: skip
    if why:
        return one
    score = score_of(x[kind], y[kind], figure, recoded(unit[kind]))
    size = np.bincount(score.unit)
    worth = float(size.sum() ** 2 / (size**2).sum())
    text = f"{len(size)} groups of up to {size.max()} of {size.sum()} items tell as much as {worth:.0f} of one size"
    uneven = (f"uneven_groups: {text}",) * (worth < _UNEVEN * len(size))
    above, below = score.tails(float(bar))
    low = _end(lambda at: score.tails(at)[0] - level, lowest, score.estimate)
    high = _end(lambda at: score.tails(at)[1] - level, 1.0, score.estimate)
    # the ends say what the p-values at the bar say, also where sums over tables are not quite monotone
    low = max(low, math.nextafter(bar, 1)) if above <= level else min(low, bar)
    high = min(high, math.nextafter(bar, -1)) if below <= level else max(high, bar)
    more = _times_the_labels(score, float(bar), level) * len(y) if len(y) >= least else math.nan
    return replace(
        one, estimate=score.estimate, interval=Interval(low, high), p_above=above, p_below=below,
        labels_to_decide=math.ceil(more) if more < math.inf else math.nan, warnings=uneven,
    )  # fmt: skip


def settled_bars(checks: Sequence[JudgeCheck]) -> list[JudgeCheck]:
    """Outcomes of bars that hang together: each must hold by itself, and one that is missed, by Holm, is enough."""
    low, high, p_below, bars = np.array([(*one.interval, one.p_below, one.threshold) for one in checks]).T
    outcomes = gate_outcomes(low, high, p_below, threshold=bars, error=checks[0].error)
    settled = []
    for one, kind, p in zip(checks, outcomes.outcomes, outcomes.p_adjusted.tolist(), strict=True):
        outcome = INCONCLUSIVE if one.reason else {PASS: TRUSTED, FAIL: UNTRUSTED}.get(kind, kind)
        open_one = outcome == INCONCLUSIVE and not one.reason
        missed = f"below the bar, but not after {len(checks)} checks" if one.interval.high < one.threshold else _UNKNOWN
        more = one.labels_to_decide if open_one else math.nan
        reason = missed if open_one else one.reason
        settled.append(replace(one, outcome=outcome, p_adjusted=p, reason=reason, labels_to_decide=more))
    return settled


def _why_undefined(x: Floats, y: Floats, kind: NDArray[np.bool_], figure: str) -> str:
    """Why there is no figure; empty where there is one."""
    if not kind.any():
        return f"no label is {'pass' if figure == 'tpr' else 'fail'}" if len(y) else "no label has a score"
    if np.ptp(x) == 0:
        return f"the judge gives every item {short(x[0])}: that is no agreement"
    if np.ptp(y) == 0:
        return f"all labels are {short(y[0])}: agreement beyond chance is not defined"
    return ""


# --- a figure as a ratio of two means ---------------------------------------------------------------------------------


def score_of(x: Floats, y: Floats, figure: str, unit: Codes) -> Score:
    """Both terms of each item, and of every pair of values; units are 0..k-1."""
    if figure in _RATES:
        hit = (x == y).astype(float)
        return Score(hit, np.ones(len(hit)), np.array([[0.0], [1.0]]), np.ones((2, 1)), np.ones(1), unit, 1.0)
    (values_x, i), (values_y, j) = (np.unique(side, return_inverse=True) for side in (x, y))
    p, q = np.bincount(i) / len(i), np.bincount(j) / len(j)
    if figure == "spearman":
        # centred midranks u and v in parts of n; what other items' ranks gain from one more item at each value
        u, v = -_above_less_below(p), -_above_less_below(q)
        by_x, by_y = np.bincount(i, v[j]) / len(i), np.bincount(j, u[i]) / len(j)
        covariance, var_x, var_y = float(p @ (u * by_x / p)), float(p @ u**2), float(q @ v**2)
        top = np.outer(u, v) + _above_less_below(by_x)[:, None] + _above_less_below(by_y) - 2 * covariance
        of_x, of_y = (w**2 + 2 * _above_less_below(r * w) - 2 * s for w, r, s in ((u, p, var_x), (v, q, var_y)))
        bottom = (math.sqrt(var_y / var_x) * of_x[:, None] + math.sqrt(var_x / var_y) * of_y) / 2
    else:
        apart = np.subtract.outer(values_x, values_y)
        apart = apart**2 if figure == "weighted_kappa" else (apart != 0).astype(float)
        bottom = (apart @ q)[:, None] + p @ apart - p @ apart @ q
        top = bottom - apart
    alone = figure == "kappa" and len(i) <= _MANY and len(np.unique(np.r_[x, y])) == 2 and unit.max() + 1 == len(unit)
    cells = np.bincount(2 * (y == y.max()) + (x == x.max()), minlength=4) if alone else None
    return Score(top[i, j], bottom[i, j], top, bottom, q, unit, 0.5, cells)


def _above_less_below(share: Floats) -> Floats:
    """Of each value half of what lies above it less what lies below."""
    below = np.cumsum(share) - share
    return np.asarray((share.sum() - share - 2 * below) / 2)


# --- p-values, interval, labels ---------------------------------------------------------------------------------------


def _disagreements(cells: Codes, bar: float) -> int:
    """Up to how many disagreements tables are summed over; 0 where Gaffke's law is near enough."""
    n = int(cells.sum())
    if n <= _FEW:
        return n
    x, y = (cells[1] + cells[3]) / n, (cells[2] + cells[3]) / n
    expected = n * (1 - bar) * (x * (1 - y) + y * (1 - x))
    few = bar > _HIGH and expected <= _FEW_APART
    return int(stats.poisson.isf(_LEAST_CHANCE / 100, expected)) if few else 0


def _summed_over_tables(cells: Codes, bar: float, most: int) -> float:
    """Chance at the bar, and with margins like these, of a table that lies as far above it as this one of n verdicts.

    Cells are counted as both fail, the judge alone passes, people alone pass, both pass. Tables are in the order of the
    mean of psi over its standard error, with the half item that was not seen; of a margin without fail or pass last.
    """
    n = int(cells.sum())
    tables = _tables_of(n, max(most, int(cells[1] + cells[2])))
    share = tables / n
    x, y = share[:, 1] + share[:, 3], share[:, 2] + share[:, 3]
    chance = x * (1 - y) + y * (1 - x)
    # of each cell what its items have in the disagreement of chance, less the bar's part of it
    psi = np.stack([x + y, x + 1 - y, y + 1 - x, 2 - x - y], axis=1) - chance[:, None]
    psi = (1 - bar) * psi - np.array([0, 1, 1, 0])
    worst = np.minimum(psi[:, 1], psi[:, 2])
    mean = ((tables * psi).sum(axis=1) + worst / 2) / (n + 0.5)
    spread = ((tables * psi**2).sum(axis=1) + worst**2 / 2) / (n + 0.5) - mean**2
    place = np.where((x * y * (1 - x) * (1 - y) > 0), mean / np.sqrt(np.maximum(spread, 1e-300)), -np.inf)
    mine = place[(tables == cells).all(axis=1)]
    as_far = tables[place >= mine - 1e-9]
    chances = special.gammaln(n + 1) - special.gammaln(as_far + 1).sum(axis=1)
    p, q = ((cells[1] + cells[3] + 0.5) / (n + 1), (cells[2] + cells[3] + 0.5) / (n + 1))
    sums = []
    for off in _OFF if bar > _HIGH else (0.0,):
        p_off, q_off = (side + off * math.sqrt(side * (1 - side) / n) for side in (p, q))
        p_off, q_off = np.clip([p_off, q_off], 0.5 / (n + 1), 1 - 0.5 / (n + 1))
        apart = (1 - bar) * (p_off * (1 - q_off) + q_off * (1 - p_off))
        alone = np.maximum([(apart + p_off - q_off) / 2, (apart + q_off - p_off) / 2], _LEAST_CHANCE)
        at_bar = np.maximum([1 - q_off - alone[0], *alone, p_off - alone[0]], _LEAST_CHANCE)
        sums.append(np.exp(chances + as_far @ np.log(at_bar / at_bar.sum())).sum())
    return float(max(sums))


@cache
def _tables_of(n: int, most: int) -> Floats:
    """All tables of n verdicts of two, of which up to so many disagree, shape (tables, 4)."""
    second, third = np.indices((most + 1,) * 2).reshape(2, -1)
    kept = second + third <= min(most, n)
    second, third = second[kept], third[kept]
    agreed = n - second - third
    second, third, rest = (np.repeat(part, agreed + 1) for part in (second, third, agreed))
    first = np.arange(len(rest)) - np.repeat(np.cumsum(agreed + 1) - agreed - 1, agreed + 1)
    return np.stack([first, second, third, rest - first], axis=1).astype(float)


def _end(gap: Callable[[float], float], beyond: float, estimate: float) -> float:
    """Where a p-value is the error, between the estimate and the end of what is possible."""
    if beyond == estimate or gap(beyond) >= 0:
        return beyond
    return float(optimize.brentq(gap, *sorted((beyond, estimate)), xtol=1e-7)) if gap(estimate) > 0 else estimate


def _times_the_labels(score: Score, bar: float, error: float) -> float:
    """How many times the labels would put the end of the interval at the bar if nothing else changed."""
    side = 0 if score.estimate > bar else 1
    low, high = 1.0, 2.0
    if score.estimate == bar or score.tails(bar)[side] <= error:
        return math.inf
    while score.tails(bar, high)[side] > error:
        low, high = high, 2 * high
        if high * len(score.unit) > _MOST_TILED:
            return math.inf
    for _ in range(8):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if score.tails(bar, middle)[side] <= error else (middle, high)
    return high
