"""Correlation of two raters at three levels, with an interval that knows the design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calib.stats import _check
from calib.stats._check import Codes, Floats
from calib.stats._estimate import Interval, Result, bracket, short
from calib.stats._ranks import row_correlation, settled, weighted_correlation

METHODS = {"pearson": "Pearson r", "spearman": "Spearman rho", "kendall": "Kendall tau-b", "kendall_c": "Kendall tau-c"}
LEVELS = ("item", "group", "system")
Labels = Sequence[Any] | NDArray[Any]

_MANY = 3000  # above this many units, deleting them one by one costs more than it tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Result):
    """Correlation of two raters.

    Attributes
    ----------
    estimate, std_error : float
    interval : Interval
        NaN ends where the design does not give one, or its units do not differ at all.
    p_value : float
        Two-sided, of "no correlation": scipy's where the pairs are independent, the t
        test that goes with the interval where groups or systems repeat; else NaN.
    confidence_level : float
    level, method, interval_method : str
    df : float
        Degrees of freedom of the t quantile; infinite for a normal one, NaN without an interval.
    n, n_missing : int
        Pairs used; pairs left out because a score was missing.
    n_groups, n_systems : int
        Used; 0 where none were given.
    n_constant_x, n_constant_y : int
        Groups in which x (the judge), y (the human) had a single value or a single item.
    n_skipped : int
        Groups without a correlation: constant in x or in y.
    constant : str
        What was done with them: "skip" or "zero".
    estimate_other : float
        The estimate under the other of the two rules.
    """

    estimate: float
    std_error: float
    interval: Interval
    p_value: float
    confidence_level: float
    level: str
    method: str
    interval_method: str
    df: float
    n: int
    n_missing: int
    n_groups: int
    n_systems: int
    n_constant_x: int
    n_constant_y: int
    n_skipped: int
    constant: str
    estimate_other: float

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"level": self.level, "coefficient": self.method, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"p_value": self.p_value, "n": self.n, "n_missing": self.n_missing}
        row |= {"n_groups": self.n_groups, "n_systems": self.n_systems, "n_skipped": self.n_skipped}
        return [row | {"estimate_other": self.estimate_other, "interval_method": self.interval_method}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "level": self.level, "ci": self.interval_method.replace(" ", "-")}
        terms |= {"cl": self.confidence_level, "n": self.n, "missing": self.n_missing}
        terms |= {"groups": self.n_groups or None, "systems": self.n_systems or None}
        if self.level == "group":
            terms |= {"constant": self.constant, "skipped": self.n_skipped}
        return terms

    def __str__(self) -> str:
        where = {"item": "over items", "group": "within groups", "system": "over systems"}[self.level]
        unit = {"item": self.n, "group": self.n_groups, "system": self.n_systems}[self.level]
        skipped = (
            f", {self.n_skipped} groups without a correlation left out"
            if self.n_skipped and self.constant == "skip"
            else ""
        )
        return (
            f"{METHODS[self.method]} {where} = {short(self.estimate)}, "
            f"{bracket(self.interval, self.confidence_level)} (n = {unit}{skipped})"
        )


def agreement(
    x: ArrayLike,
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    interval: str = "auto",
    constant: str = "skip",
    confidence_level: float = 0.95,
) -> Agreement:
    r"""Correlation of a judge with a human (or of any two raters) at one of three levels.

    ``"item"`` correlates all pairs; ``"group"`` correlates within each group (the
    source document) and averages, the "summary level" of the summarisation
    literature; ``"system"`` correlates the means of the systems.

    The interval follows from the design. With `groups` and `systems` it is the
    two-way jackknife, which generalises to new documents *and* new systems,

    .. math:: V = \frac{m-1}{m} \sum_i (\theta_{(-i)} - \bar\theta)^2
                + \frac{n-1}{n} \sum_j (\theta_{(-j)} - \bar\theta)^2
                - \frac{C-1}{C} \sum_{ij} (\theta_{(-ij)} - \bar\theta)^2

    over m systems, n groups and the C observed cells, with t quantiles of
    min(m, n) - 1 degrees of freedom. V is at least the smaller of its first two terms:
    each of them holds the cell noise once, so that a smaller V is noise of the third. At
    level "system" the interval is made on Fisher's z scale. With one of the two, the one-way jackknife over its units.
    With neither, Fisher's z for Pearson and the delete-one jackknife for ranks (above
    3,000 items one hundred interleaved blocks are left out in turn).

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Scores of the two raters; a pair with a NaN is left out and counted.
    groups, systems : sequence, shape (n,), optional
        Which document and which system an item belongs to. They are part of the
        design whatever the level: repeated groups make items dependent.
    level : {"item", "group", "system"}, default "item"
    method : {"spearman", "pearson", "kendall", "kendall_c"}, default "spearman"
        ``"kendall"`` is tau-b, ``"kendall_c"`` tau-c.
    interval : {"auto", "none"}, default "auto"
    constant : {"skip", "zero"}, default "skip"
        A group in which one rater gives a single value has no correlation: leave it
        out, as the published tables do, or count it as 0. The count and the
        estimate under the other rule are part of the result.
    confidence_level : float, default 0.95

    Returns
    -------
    Agreement

    Raises
    ------
    ValueError
        If lengths differ, an option is unknown, or `level` needs labels that were not given.

    References
    ----------
    Deutsch, Dror and Roth (2021), TACL 9:1132-1146, for the levels and resampling both
    factors. Cameron, Gelbach and Miller (2011), JBES 29:238-249, for the sum of two
    one-way variances less the cell variance; its jackknife form is used here.

    Examples
    --------
    >>> result = agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="kendall")
    >>> float(round(result.estimate, 3)), result.n
    (0.6, 6)
    >>> two = agreement([1, 2, 3, 1, 3, 2], [1, 2, 3, 1, 2, 3], groups=list("aaabbb"), level="group")
    >>> two.estimate, two.n_groups
    (0.75, 2)
    """
    design, dropped = _design(x, y, groups, systems, level)
    _check.choice(method, "method", tuple(METHODS))
    _check.choice(interval, "interval", ("auto", "none"))
    _check.choice(constant, "constant", ("skip", "zero"))
    level_wanted = _check.probability(confidence_level, "confidence_level")
    correlations = _within(design, method) if level == "group" else np.array([])
    estimate = _average(correlations, constant) if level == "group" else _estimate(design, level, method, constant)
    used = _informative(design, level, correlations, constant)
    spread = _spread(used, level, method, constant, estimate) if interval == "auto" else _NO_SPREAD
    other = _average(correlations, "zero" if constant == "skip" else "skip") if level == "group" else estimate
    return Agreement(
        estimate=estimate,
        std_error=spread.std_error,
        interval=spread.interval(estimate, level_wanted),
        p_value=_p_value(used, method, estimate, spread),
        confidence_level=level_wanted,
        level=level,
        method=method,
        interval_method=spread.name,
        df=spread.df,
        n=len(design.x),
        n_missing=dropped,
        n_groups=_used_groups(design, level, correlations, constant),
        n_systems=design.n_systems,
        n_constant_x=_constant_groups(design.x, design) if level == "group" else 0,
        n_constant_y=_constant_groups(design.y, design) if level == "group" else 0,
        n_skipped=int(np.isnan(correlations).sum()),
        constant=constant,
        estimate_other=other,
    )


# --- the design -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Design:
    x: Floats
    y: Floats
    group: Codes | None
    system: Codes | None

    @property
    def n_groups(self) -> int:
        return 0 if self.group is None else int(self.group.max(initial=-1)) + 1

    @property
    def n_systems(self) -> int:
        return 0 if self.system is None else int(self.system.max(initial=-1)) + 1

    @property
    def units(self) -> tuple[Codes | None, Codes | None]:
        """Groups and systems where there are several: one alone says nothing about others."""
        return self.group if self.n_groups > 1 else None, self.system if self.n_systems > 1 else None

    def only(self, keep: NDArray[np.bool_]) -> _Design:
        group, system = (None if c is None else _recoded(c[keep]) for c in (self.group, self.system))
        return _Design(self.x[keep], self.y[keep], group, system)


def _design(
    x: ArrayLike, y: ArrayLike, groups: Labels | None, systems: Labels | None, level: str
) -> tuple[_Design, int]:
    first, second = _check.array(x, "x", ndim=1), _check.array(y, "y", ndim=1)
    _check.same_length(x=first, y=second, groups=groups, systems=systems)
    _check.choice(level, "level", LEVELS)
    if level == "group" and groups is None:
        raise ValueError("`groups` must be given for level 'group', but got None.")
    if level == "system" and systems is None:
        raise ValueError("`systems` must be given for level 'system', but got None.")
    group = None if groups is None else _check.codes(groups, "groups")
    system = None if systems is None else _check.codes(systems, "systems")
    keep = np.isfinite(first) & np.isfinite(second)
    return _Design(first, second, group, system).only(keep), int((~keep).sum())


def _recoded(codes: Codes) -> Codes:
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)


def _informative(design: _Design, level: str, correlations: Floats, constant: str) -> _Design:
    """Groups without a correlation are no part of a group-level estimate, nor of its degrees of freedom."""
    if level != "group" or constant != "skip":
        return design
    return design.only(np.isfinite(correlations)[design.group])


def _constant_groups(values: Floats, design: _Design) -> int:
    assert design.group is not None
    low, high = np.full(design.n_groups, np.inf), np.full(design.n_groups, -np.inf)
    np.minimum.at(low, design.group, values)
    np.maximum.at(high, design.group, values)
    return int((low == high).sum())


def _used_groups(design: _Design, level: str, correlations: Floats, constant: str) -> int:
    if level == "group" and constant == "skip":
        return int(np.isfinite(correlations).sum())
    return design.n_groups


# --- the estimate at each level ---------------------------------------------------------------------------------


def _estimate(design: _Design, level: str, method: str, constant: str) -> float:
    if level == "group":
        return _average(_within(design, method), constant)
    if level == "system":
        return coefficient(*_system_means(design), method)
    return coefficient(design.x, design.y, method)


def coefficient(x: Floats, y: Floats, method: str) -> float:
    """One coefficient over all pairs; NaN where x or y is constant or there are fewer than two."""
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    if method == "pearson":
        return float(stats.pearsonr(x, y).statistic)
    if method == "spearman":
        return float(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])
    return float(stats.kendalltau(x, y, variant="c" if method == "kendall_c" else "b").statistic)


def _average(correlations: Floats, constant: str) -> float:
    if constant == "zero":
        correlations = np.nan_to_num(correlations)
    used = correlations[np.isfinite(correlations)]
    return float(used.mean()) if len(used) else float("nan")


def _members(group: Codes) -> list[Codes]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []


def _within(design: _Design, method: str) -> Floats:
    assert design.group is not None
    return np.array([coefficient(design.x[i], design.y[i], method) for i in _members(design.group)])


def _system_means(design: _Design) -> tuple[Floats, Floats]:
    assert design.system is not None
    count, (x, y) = np.bincount(design.system), _centred_pair(design)
    return settled(np.bincount(design.system, x) / count), settled(np.bincount(design.system, y) / count)


def _centred_pair(design: _Design) -> tuple[Floats, Floats]:
    """Scores less their mean, so that a large common offset does not eat the digits of the system means."""
    return (design.x - design.x.mean(), design.y - design.y.mean()) if len(design.x) else (design.x, design.y)


# --- the interval -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spread:
    name: str
    std_error: float
    df: float = float("nan")
    fisher: bool = False

    def interval(self, estimate: float, confidence_level: float) -> Interval:
        if not self.df >= 1 or self.std_error < 1e-12 or (self.fisher and abs(estimate) == 1):
            return Interval(float("nan"), float("nan"))  # no spread among the units says nothing about others
        half = stats.t.ppf((1 + confidence_level) / 2, self.df) * self.std_error
        if self.fisher:
            # d atanh(r) = dr / (1 - r^2)
            centre, half = np.arctanh(estimate), half / (1 - estimate**2)
            return Interval(float(np.tanh(centre - half)), float(np.tanh(centre + half)))
        return Interval(float(max(estimate - half, -1)), float(min(estimate + half, 1)))

    def p_value(self, estimate: float) -> float:
        """Of the test that the interval is made of."""
        if not self.df >= 1 or not self.std_error > 0 or abs(estimate) == 1:
            return float("nan")
        distance = np.arctanh(estimate) * (1 - estimate**2) if self.fisher else estimate
        return float(2 * stats.t.sf(abs(distance) / self.std_error, self.df))


def _p_value(design: _Design, method: str, estimate: float, spread: _Spread) -> float:
    if any(units is not None for units in design.units):
        return spread.p_value(estimate)
    if not np.isfinite(estimate) or len(design.x) < 3:
        return float("nan")
    if method == "pearson":
        return float(stats.pearsonr(design.x, design.y).pvalue)
    if method == "spearman":
        return float(stats.spearmanr(design.x, design.y).pvalue)
    return float(stats.kendalltau(design.x, design.y, variant="c" if method == "kendall_c" else "b").pvalue)


_NO_SPREAD = _Spread("none", float("nan"))


def _spread(design: _Design, level: str, method: str, constant: str, estimate: float) -> _Spread:
    if not np.isfinite(estimate):
        return _NO_SPREAD
    spread = _jackknifed(design, level, method, constant, estimate)
    return spread if np.isfinite(spread.std_error) else _NO_SPREAD


def _jackknifed(design: _Design, level: str, method: str, constant: str, estimate: float) -> _Spread:
    group, system = design.units
    if group is not None and system is not None:
        return _two_way(design, group, system, level, method, constant)
    if group is not None:
        return _one_way(design, group, level, method, constant, "group jackknife")
    if system is not None:
        return _one_way(design, system, level, method, constant, "system jackknife")
    n = len(design.x)
    if method == "pearson":
        return _Spread("Fisher z", (1 - estimate**2) / np.sqrt(n - 3), df=np.inf, fisher=True) if n > 3 else _NO_SPREAD
    # rows are taken as independent: beyond _MANY they are deleted in that many blocks
    return _one_way(design, np.arange(n) % (n if n <= _MANY else 100), level, method, constant, "item jackknife")


def _one_way(design: _Design, units: Codes, level: str, method: str, constant: str, name: str) -> _Spread:
    variance, k = _jackknife(_leave_out(design, units, level, method, constant))
    return _Spread(name, float(np.sqrt(variance)), df=k - 1, fisher=level == "system")


def _two_way(design: _Design, group: Codes, system: Codes, level: str, method: str, constant: str) -> _Spread:
    rows, m = _jackknife(_leave_out(design, system, level, method, constant))
    columns, n = _jackknife(_leave_out(design, group, level, method, constant))
    cell, df, fisher = _recoded(group * design.n_systems + system), min(m, n) - 1, level == "system"
    if cell.max() >= _MANY and level == "item":
        return _Spread("two-way jackknife without cell term", float(np.sqrt(rows + columns)), df, fisher)
    cells, _ = _jackknife(_leave_out(design, cell, level, method, constant))
    variance = max(rows + columns - cells, min(rows, columns))
    return _Spread("two-way jackknife", float(np.sqrt(variance)), df, fisher)


def _jackknife(deleted: Floats) -> tuple[float, int]:
    """Jackknife variance of the estimates without one unit each, and their number."""
    used = deleted[np.isfinite(deleted)]
    k = len(used)
    return (float((k - 1) / k * np.sum((used - used.mean()) ** 2)) if k > 1 else float("nan")), k


def _leave_out(design: _Design, units: Codes, level: str, method: str, constant: str) -> Floats:
    """The estimate without each unit in turn, shape (number of units,)."""
    k = int(units.max()) + 1
    if level == "item" and len(units) <= _MANY:
        weights = (units[None, :] != np.arange(k)[:, None]).astype(float)
        return weighted_correlation(design.x, design.y, weights, method)
    if level == "group":
        return _leave_out_within(design, units, k, method, constant)
    if level == "system":
        return _leave_out_systems(design, units, k, method)
    return np.array([_estimate(design.only(units != u), level, method, constant) for u in range(k)])


def _leave_out_within(design: _Design, units: Codes, k: int, method: str, constant: str) -> Floats:
    """Group level: a unit changes only the groups that it touches."""
    assert design.group is not None
    full = _within(design, method)
    table = np.tile(full, (k, 1))
    gone = np.zeros(table.shape, dtype=bool)
    for g, members in enumerate(_members(design.group)):
        inside = np.unique(units[members])
        weights = (units[members][None, :] != inside[:, None]).astype(float)
        table[inside, g] = weighted_correlation(design.x[members], design.y[members], weights, method)
        gone[inside, g] = ~weights.any(axis=1)
    if constant == "zero":
        table = np.where(gone, np.nan, np.nan_to_num(table))
    counts = np.isfinite(table).sum(axis=1)
    return np.where(counts > 0, np.nansum(table, axis=1) / np.maximum(counts, 1), np.nan)


def _leave_out_systems(design: _Design, units: Codes, k: int, method: str) -> Floats:
    """System level: a unit changes the means of the systems that it touches."""
    assert design.system is not None
    m, size = design.n_systems, (k, design.n_systems)
    system, (first, second) = design.system, _centred_pair(design)

    def less(values: Floats) -> Floats:
        own = np.bincount(units * m + system, values, k * m).reshape(size)
        return np.asarray(np.bincount(system, values, m) - own, dtype=float)

    count = less(np.ones_like(design.x))
    with np.errstate(invalid="ignore"):
        x, y = settled(less(first) / count), settled(less(second) / count)
    seen = np.round(count) > 0
    whole, out = seen.all(axis=1), np.empty(k)
    out[whole] = row_correlation(x[whole], y[whole], method)
    for u in np.flatnonzero(~whole):
        out[u] = coefficient(x[u][seen[u]], y[u][seen[u]], method)
    return out
