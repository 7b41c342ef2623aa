"""Agreement of two raters at three levels, with an interval that knows the design."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calib.analysis.agreement.coefficients import PAIR_SUMS, levels_of, weighted_correlation
from calib.analysis.agreement.levels import (
    Design,
    LeftOut,
    average,
    condensed,
    design_of,
    estimate,
    left_out,
    resampled,
    system_means,
    within,
)
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import matrix_product, ratio
from calib.core.result import Interval, Result, bracket, short

METHODS = {
    "spearman": "Spearman rho",
    "pearson": "Pearson r",
    "kendall": "Kendall tau-b",
    "kendall_a": "Kendall tau-a",
    "kendall_c": "Kendall tau-c",
    "gamma": "Goodman-Kruskal gamma",
    "pairs": "pairwise accuracy",
    "kappa": "quadratic weighted kappa",
    "exact": "exact agreement",
    "adjacent": "agreement within 1",
    "spa": "soft pairwise accuracy",
}
PRODUCT_MOMENTS = ("spearman", "pearson", "kappa")
SHARES = ("pairs", "exact", "adjacent", "spa")  # from 0 to 1; nothing in them is "no correlation"
NOT_OF_MEANS = ("exact", "adjacent")
_FEW_SYSTEMS = 10  # in simulations the interval of ranks covers 97 % and more below it
BOOTSTRAPS = {
    "boot-both": (("groups", "systems"), "new groups and new systems"),
    "boot-groups": (("groups",), "new groups, these systems"),
    "boot-systems": (("systems",), "new systems, these groups"),
    "boot-items": (("items",), "new items, each independent of the others"),
}

# whole conventions of published tables: what each computes, at which level, and what it does with constants and gaps
CONVENTIONS: dict[str, tuple[dict[str, str], ...]] = {
    "geval": tuple(
        {"level": "group", "method": method, "constant": "skip", "missing": "zero"}
        for method in ("pearson", "spearman", "kendall")
    ),
    "unieval": tuple(
        {"level": "item", "method": method, "constant": "skip", "missing": "drop"}
        for method in ("pearson", "spearman", "kendall")
    ),
    "bartscore": tuple(
        {"level": "group", "method": method, "constant": "skip", "missing": "drop"}
        for method in ("spearman", "kendall")
    ),
    "summeval": ({"level": "system", "method": "kendall", "constant": "skip", "missing": "drop"},),
    "chiang-lee": (
        {"level": "item", "method": "pearson", "constant": "skip", "missing": "drop"},
        {"level": "group", "method": "kendall", "constant": "skip", "missing": "drop"},
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs that a result was made of, for pictures: scores, labels, and the coefficient inside each group."""

    x: Floats
    y: Floats
    group: NDArray[Any] | None
    system: NDArray[Any] | None
    within: dict[Any, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Result):
    """Agreement of two raters.

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
    generalises_to : str
        What the interval speaks about: new groups, new systems, both, new items.
    df : float
        Degrees of freedom of the t quantile; infinite for a normal one, NaN without one.
    n, n_missing : int
        Pairs used; pairs in which a score was missing.
    missing : str
        What was done with a judge's missing score: "drop" or "zero".
    n_groups, n_systems : int
        Used; 0 where none were given.
    n_constant_x, n_constant_y : int
        Groups in which x (the judge), y (the human) had a single value or a single item.
    n_skipped : int
        Groups without a coefficient: constant in x or in y.
    constant : str
        What was done with them: "skip" or "zero".
    estimate_other : float
        The estimate under the other of the two rules.
    estimate_other_missing : float
        The estimate under the other rule for a judge's missing scores.
    ties_x, ties_y : float
        Share of pairs tied in x and in y: of all pairs, of those within groups, or of the
        system means, as the level is.
    levels_x, levels_y : int
        Distinct scores.
    warnings : tuple of str
        What to know before trusting the number: few groups with a coefficient, ranks of few
        systems, resamples that are not what they seem.
    sample : Sample
        The pairs themselves.
    """

    estimate: float
    std_error: float
    interval: Interval
    p_value: float
    confidence_level: float
    level: str
    method: str
    interval_method: str
    generalises_to: str
    df: float
    n: int
    n_missing: int
    missing: str
    n_groups: int
    n_systems: int
    n_constant_x: int
    n_constant_y: int
    n_skipped: int
    constant: str
    estimate_other: float
    estimate_other_missing: float
    ties_x: float
    ties_y: float
    levels_x: int
    levels_y: int
    warnings: tuple[str, ...]
    sample: Sample = field(repr=False, compare=False)

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"level": self.level, "coefficient": self.method, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"p_value": self.p_value, "n": self.n, "n_missing": self.n_missing}
        row |= {"n_groups": self.n_groups, "n_systems": self.n_systems, "n_skipped": self.n_skipped}
        row |= {"estimate_other": self.estimate_other, "estimate_other_missing": self.estimate_other_missing}
        row |= {"ties_x": self.ties_x, "ties_y": self.ties_y, "levels_x": self.levels_x, "levels_y": self.levels_y}
        return [row | {"interval_method": self.interval_method, "generalises_to": self.generalises_to}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "level": self.level, "ci": self.interval_method.replace(" ", "-")}
        terms |= {"cl": self.confidence_level, "n": self.n, "missing": self.n_missing}
        if self.missing == "zero":
            terms["rule"] = "missing-as-zero"
        terms |= {"groups": self.n_groups or None, "systems": self.n_systems or None}
        if self.level == "group":
            terms |= {"constant": self.constant, "skipped": self.n_skipped}
        return terms

    def __str__(self) -> str:
        where = {"item": "over items", "group": "within groups", "system": "over systems"}[self.level]
        unit = {"item": self.n, "group": self.n_groups, "system": self.n_systems}[self.level]
        skipped = (
            f", {self.n_skipped} group{'s' * (self.n_skipped != 1)} without a correlation left out"
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
    missing: str = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
) -> Agreement:
    r"""Agreement of a judge with a human (or of any two raters) at one of three levels.

    ``"item"`` takes all pairs; ``"group"`` takes each group (the source document) for
    itself and averages, the "summary level" of the summarisation literature; ``"system"``
    takes the means of the systems.

    The interval follows from the design. With `groups` and `systems` it is the
    two-way jackknife, which generalises to new documents *and* new systems,

    .. math:: V = \frac{m-1}{m} \sum_i (\theta_{(-i)} - \bar\theta)^2
                + \frac{n-1}{n} \sum_j (\theta_{(-j)} - \bar\theta)^2
                - \frac{C-1}{C} \sum_{ij} (\theta_{(-ij)} - \bar\theta)^2

    over m systems, n groups and the C observed cells, with t quantiles of
    min(m, n) - 1 degrees of freedom. V is at least the smaller of its first two terms:
    each of them holds the cell noise once, so that a smaller V is noise of the third; at
    level "system" it is at least the first, because system means are exchangeable given
    the groups. Spearman, Pearson and kappa, which are skewed where systems are few, have
    their interval made on Fisher's z scale, with the half-width over 1 - r^2.
    With one of the two factors it is the one-way jackknife over its units; with neither,
    Fisher's z for Pearson and the delete-one jackknife for the others.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Scores of the two raters; a pair with a NaN is left out and counted.
    groups, systems : sequence, shape (n,), optional
        Which document and which system an item belongs to. They are part of the
        design whatever the level: repeated groups make items dependent.
    level : {"item", "group", "system"}, default "item"
    method : str, default "spearman"
        ``"spearman"``, ``"pearson"``; ``"kendall"`` (tau-b), ``"kendall_a"``,
        ``"kendall_c"``, ``"gamma"`` (Goodman and Kruskal); ``"pairs"``, the share of pairs
        that both order alike or both tie (acc_eq); ``"kappa"`` (quadratic weights), and
        ``"exact"`` and ``"adjacent"``, the shares of scores that are equal and that are at
        most 1 apart, for two raters on one scale; ``"spa"``, soft pairwise accuracy, at
        level "system" with `groups`.
    interval : str, default "auto"
        ``"auto"`` as above, ``"none"``, or a percentile bootstrap: ``"boot-both"`` draws
        groups and systems and speaks about new ones of both (it is too wide where cell
        noise rules), ``"boot-groups"`` ("boot-inputs") about new groups and these systems,
        ``"boot-systems"`` about new systems and these groups, ``"boot-items"`` takes items
        as independent, and warns where groups or systems repeat.
    constant : {"skip", "zero"}, default "skip"
        A group in which one rater gives a single value has no correlation: leave it
        out, as the published tables do, or count it as 0. The count and the
        estimate under the other rule are part of the result.
    missing : {"drop", "zero"}, default "drop"
        What a missing score in `x` is: left out, or 0, as in some published scripts.
    confidence_level : float, default 0.95
    n_resamples : int, default 9999
    rng : Generator or int, optional
        For the bootstraps.

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
    one-way variances less the cell variance; its jackknife form is used here. Deutsch,
    Foster and Freitag (2023), EMNLP, for pairwise accuracy with ties. Kendall (1970), Rank
    Correlation Methods, for the three taus. How far the intervals hold:
    paper_repro/agreement_coverage in the repository.

    Examples
    --------
    >>> result = agreement([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], method="kendall")
    >>> float(round(result.estimate, 3)), result.n
    (0.6, 6)
    >>> two = agreement([1, 2, 3, 1, 3, 2], [1, 2, 3, 1, 2, 3], groups=list("aaabbb"), level="group")
    >>> two.estimate, two.n_groups
    (0.75, 2)
    """
    check.choice(method, "method", tuple(METHODS))
    check.choice(interval, "interval", ("auto", "none", *BOOTSTRAPS))
    check.choice(constant, "constant", ("skip", "zero"))
    check.choice(missing, "missing", ("drop", "zero"))
    level_wanted = check.probability(confidence_level, "confidence_level")
    check.whole(n_resamples, "n_resamples", least=1)
    rules = {"level": level, "method": method, "constant": constant}
    whole, keep = design_of(x, y, groups=groups, systems=systems, missing=missing, **rules)
    design = condensed(whole)
    check_method(design)
    correlations = within(design) if level == "group" else np.array([])
    found = average(correlations, constant) if level == "group" else estimate(design)
    used = informative(design, correlations)
    spread, warned = _spread(used, found, interval, n_resamples, rng)
    ends = spread.interval(found, level_wanted)
    warned += _cautions(design, correlations, jackknifed=spread.draws is None and bool(np.isfinite(ends.low)))
    other = _average_other(correlations, constant) if level == "group" else found
    ties_x, ties_y, levels_x, levels_y = tie_rates(design)
    return Agreement(
        estimate=found,
        std_error=spread.std_error,
        interval=ends,
        p_value=_p_value(used, found, spread),
        confidence_level=level_wanted,
        level=level,
        method=method,
        interval_method=spread.name,
        generalises_to=spread.speaks_of,
        df=spread.df,
        n=design.n,
        n_missing=_n_missing(x, y),
        missing=missing,
        n_groups=used.n_groups,
        n_systems=design.n_systems,
        n_constant_x=_constant_groups(design.x, design) if level == "group" else 0,
        n_constant_y=_constant_groups(design.y, design) if level == "group" else 0,
        n_skipped=int(np.isnan(correlations).sum()),
        constant=constant,
        estimate_other=other,
        estimate_other_missing=_under_other_missing(x, y, groups, systems, rules, missing, found),
        ties_x=ties_x,
        ties_y=ties_y,
        levels_x=levels_x,
        levels_y=levels_y,
        warnings=warned,
        sample=_sample(whole, groups, systems, keep, correlations),
    )


def check_method(design: Design) -> None:
    """Refuse a method at a level where it has no meaning."""
    if design.method == "spa" and (design.level != "system" or design.group is None):
        given = f"level {design.level!r}" + ("" if design.group is not None else " without groups")
        raise ArgumentError("method", "'spa' must go with level 'system' and {0}", f"got {given}", mentions=("groups",))
    if design.method in NOT_OF_MEANS and design.level == "system":
        raise ArgumentError("method", f"{design.method!r} compares single scores", "got level 'system', that of means")


def _cautions(design: Design, correlations: Floats, *, jackknifed: bool) -> tuple[str, ...]:
    """What a reader should know before trusting the number; it stands in the result and is not raised as a warning."""
    skipped, k = int(np.isnan(correlations).sum()), len(correlations)
    if design.level == "group" and 2 * skipped > k:
        judge, human = (_constant_groups(v, design) for v in (design.x, design.y))
        return (
            f"only {k - skipped} of {k} groups have a coefficient: the judge gives one value in {judge} of them, "
            f"the human in {human}",
        )
    ranks = design.method in ("spearman", *PAIR_SUMS)
    if jackknifed and design.level == "system" and ranks and design.n_systems < _FEW_SYSTEMS:
        return (
            f"ranks of {design.n_systems} systems take few values: the jackknife's interval is too long; "
            f"see that of Pearson, or boot-systems",
        )
    return ()


def informative(design: Design, correlations: Floats) -> Design:
    """Groups without a correlation are no part of a group-level estimate, nor of its degrees of freedom."""
    if design.level != "group" or design.constant != "skip" or np.isfinite(correlations).all():
        return design
    return design.only(np.isfinite(correlations)[design.group])


def _average_other(correlations: Floats, constant: str) -> float:
    return average(correlations, "zero" if constant == "skip" else "skip")


def _n_missing(x: ArrayLike, y: ArrayLike) -> int:
    return int((np.isnan(check.array(x, "x")) | np.isnan(check.array(y, "y"))).sum())


def _under_other_missing(
    x: ArrayLike,
    y: ArrayLike,
    groups: Labels | None,
    systems: Labels | None,
    rules: dict[str, str],
    missing: str,
    found: float,
) -> float:
    if not np.isnan(check.array(x, "x")).any():
        return found
    other = "drop" if missing == "zero" else "zero"
    return estimate(condensed(design_of(x, y, groups=groups, systems=systems, missing=other, **rules)[0]))


def _constant_groups(values: Floats, design: Design) -> int:
    assert design.group is not None
    low, high = np.full(design.n_groups, np.inf), np.full(design.n_groups, -np.inf)
    np.minimum.at(low, design.group, values)
    np.maximum.at(high, design.group, values)
    return int((low == high).sum())


def tie_rates(design: Design) -> tuple[float, float, int, int]:
    """Share of tied pairs at the level, and distinct scores, of x and of y."""
    blocks = design.group if design.level == "group" else None
    sides = system_means(design) if design.level == "system" else (design.x, design.y)
    levels = [int(levels_of(v).max(initial=-1)) + 1 for v in (design.x, design.y)]
    first, second = (_tie_rate(levels_of(v), blocks, design.count) for v in sides)
    return first, second, levels[0], levels[1]


def _tie_rate(codes: Codes, blocks: Codes | None, count: Floats | None) -> float:
    """Share of tied pairs among the pairs within blocks."""
    block = np.zeros_like(codes) if blocks is None else blocks
    cells = levels_of((block * (codes.max(initial=0) + 1) + codes).astype(float))
    tied, every = (float((n * (n - 1.0)).sum()) for n in (np.bincount(cells, count), np.bincount(block, count)))
    return float(ratio(tied, every))


def _sample(
    design: Design, groups: Labels | None, systems: Labels | None, keep: NDArray[np.bool_], correlations: Floats
) -> Sample:
    group, system = (None if v is None else np.array([*v, None], dtype=object)[:-1][keep] for v in (groups, systems))
    names = [] if group is None or design.level != "group" else list(dict.fromkeys(group))
    return Sample(design.x, design.y, group, system, dict(zip(names, correlations.tolist(), strict=False)))


# --- the interval -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """What an interval is made of: a standard error with its scale, or the quantiles of resamples."""

    name: str
    std_error: float
    df: float = float("nan")
    speaks_of: str = ""
    fisher: bool = False
    bounds: tuple[float, float] = (-1.0, 1.0)
    draws: Floats | None = None

    def interval(self, estimate: float, confidence_level: float) -> Interval:
        """The interval around an estimate; NaN where no spread among the units says anything about others."""
        nothing = Interval(float("nan"), float("nan"))
        if self.draws is not None:
            if not len(self.draws):
                return nothing
            tail = (1 - confidence_level) / 2
            return Interval(*(float(end) for end in np.quantile(self.draws, [tail, 1 - tail])))
        if not self.df >= 1 or self.std_error < 1e-12 or (self.fisher and abs(estimate) == 1):
            return nothing
        return self.ends(estimate, float(stats.t.ppf((1 + confidence_level) / 2, self.df)))

    def ends(self, estimate: float, t: float) -> Interval:
        """The estimate less and plus t standard errors, on its scale."""
        half = t * self.std_error
        if self.fisher:
            # d atanh(r) = dr / (1 - r^2)
            centre, half = np.arctanh(estimate), half / (1 - estimate**2)
            return Interval(float(np.tanh(centre - half)), float(np.tanh(centre + half)))
        low, high = self.bounds
        return Interval(float(max(estimate - half, low)), float(min(estimate + half, high)))

    def p_value(self, estimate: float) -> float:
        """Of the test of 0 that the interval is made of."""
        nothing = not self.df >= 1 or not self.std_error >= 1e-12 or (self.fisher and abs(estimate) == 1)
        if self.draws is not None or nothing:
            return float("nan")
        distance = np.arctanh(estimate) * (1 - estimate**2) if self.fisher else estimate
        return float(2 * stats.t.sf(abs(distance) / self.std_error, self.df))


NO_SPREAD = Spread("none", float("nan"))


def _spread(
    design: Design, found: float, interval: str, n_resamples: int, rng: np.random.Generator | int | None
) -> tuple[Spread, tuple[str, ...]]:
    if interval == "none" or not np.isfinite(found):
        return NO_SPREAD, ()
    if interval in BOOTSTRAPS:
        return _bootstrapped(design, interval, n_resamples, np.random.default_rng(rng))
    if design.method == "pearson" and not design.repeats:
        error = (1 - found**2) / np.sqrt(design.n - 3) if design.n > 3 else float("nan")
        spread = Spread("Fisher z", float(error), np.inf, "new items, each independent of the others", fisher=True)
    else:
        spread = jackknifed(design, left_out(design))
    return (spread if np.isfinite(spread.std_error) else NO_SPREAD), ()


def _bootstrapped(
    design: Design, interval: str, n_resamples: int, rng: np.random.Generator
) -> tuple[Spread, tuple[str, ...]]:
    warned = warnings_of_bootstrap(design, interval, "interval")
    if not several(design, interval):
        return NO_SPREAD, warned
    spread, undefined = percentile_spread(resampled(design, BOOTSTRAPS[interval][0], n_resamples, rng), interval)
    warned += undefined
    for text in warned:
        check.warn(text)
    return spread, warned


def several(design: Design, interval: str) -> bool:
    """Whether a bootstrap has units to draw from: one group says nothing about others."""
    units = {"groups": design.n_groups, "systems": design.n_systems, "items": design.n}
    return all(units[factor] > 1 for factor in BOOTSTRAPS[interval][0])


def percentile_spread(draws: Floats, interval: str) -> tuple[Spread, tuple[str, ...]]:
    """The spread of resampled estimates, and a warning where some of them are not defined."""
    defined = draws[np.isfinite(draws)]
    lost = len(draws) - len(defined)
    warned = (f"{lost} of {len(draws)} resamples had no coefficient and were left out",) if lost else ()
    error = float(defined.std(ddof=1)) if len(defined) > 1 else float("nan")
    return Spread(f"{interval} percentile", error, speaks_of=BOOTSTRAPS[interval][1], draws=defined), warned


def warnings_of_bootstrap(design: Design, interval: str, argument: str) -> tuple[str, ...]:
    """Refuses a bootstrap that lacks its factor, and says where it takes dependent items as independent."""
    for name, codes in (("groups", design.group), ("systems", design.system)):
        if name in BOOTSTRAPS[interval][0] and codes is None:
            raise ArgumentError(name, f"must be given for {interval!r}", "got None")
    if interval != "boot-items":
        return ()
    if design.level != "item":
        raise ArgumentError(argument, "'boot-items' must go with level 'item'", f"got {design.level!r}")
    repeated = [
        name
        for name, codes, k in (("groups", design.group, design.n_groups), ("systems", design.system, design.n_systems))
        if codes is not None and k < len(codes)
    ]
    if not repeated:
        return ()
    return (f"boot-items takes items as independent, but {' and '.join(repeated)} repeat: its interval is too short",)


def jackknifed(design: Design, left: LeftOut) -> Spread:
    """The jackknife that goes with the design, from the estimates without each unit."""
    bounds = (0.0, 1.0) if design.method in SHARES else (-1.0, 1.0)
    fisher = design.method in PRODUCT_MOMENTS
    variance, df, name, speaks_of = jackknife_variance(design, left)
    # over groups alone the estimate is a mean of independent correlations, which t fits as it is
    plain = design.level == "group" and name == "group jackknife"
    return Spread(name, float(np.sqrt(variance)), df, speaks_of, fisher and not plain, bounds)


def jackknife_variance(design: Design, left: LeftOut) -> tuple[float, float, str, str]:
    """Variance, degrees of freedom, name, and what it generalises to."""
    if left.cell is not None and left.system is not None and left.group is not None:
        (rows, m), (columns, n), (cells, _) = (_one_way(v) for v in (left.system, left.group, left.cell))
        least = rows if design.level == "system" else min(rows, columns)
        variance = max(rows + columns - cells, least)
        return variance, min(m, n) - 1, "two-way jackknife", "new groups and new systems"
    for values, name, speaks_of in (
        (left.group, "group jackknife", "new groups"),
        (left.system, "system jackknife", "new systems"),
    ):
        if values is not None:
            variance, k = _one_way(values)
            return variance, k - 1, name, speaks_of
    assert left.item is not None
    variance, k = _one_way(left.item, left.copies)
    return variance, k - 1, "item jackknife", "new items, each independent of the others"


def _one_way(deleted: Floats, copies: Floats | None = None) -> tuple[float, int]:
    """Jackknife variance of the estimates without one unit each, and their number."""
    used = np.isfinite(deleted)
    weights = used.astype(float) if copies is None else used * copies
    k = int(weights.sum())
    if k < 2:
        return float("nan"), k
    values = np.where(used, deleted, 0.0)
    mean = matrix_product(weights, values) / k
    return float((k - 1) / k * matrix_product(weights, np.square(values - mean))), k


# --- the test of no correlation ---------------------------------------------------------------------------------


def _p_value(design: Design, found: float, spread: Spread) -> float:
    if design.method in SHARES or not np.isfinite(found):
        return float("nan")
    if design.repeats or design.method in ("gamma", "kappa", "kendall_a"):
        return spread.p_value(found)
    if design.n < 3:
        return float("nan")
    return _independent_test(design, found)


def _independent_test(design: Design, found: float) -> float:
    if not np.ptp(design.x) > 0 or not np.ptp(design.y) > 0:
        return float("nan")
    if design.method == "spearman" or (design.method == "pearson" and design.count is not None):
        return _t_test(found, design.n)
    if design.method == "pearson":
        return float(stats.pearsonr(design.x, design.y).pvalue)
    if design.count is not None:
        return _kendall_test(design.x, design.y, design.count)
    return float(stats.kendalltau(design.x, design.y).pvalue)


def _t_test(r: float, n: int) -> float:
    if abs(r) >= 1:
        return 0.0
    return float(2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r**2)), n - 2))


def _kendall_test(x: Floats, y: Floats, count: Floats) -> float:
    """The normal test of tau with ties (Kendall 1970, chapter 4), from a contingency table."""
    n = float(count.sum())
    balance = weighted_correlation(x, y, count[None], "kendall_a")[0] * n * (n - 1) / 2
    sums = []
    for values in (x, y):
        t = np.bincount(levels_of(values), count)
        sums.append([float(v.sum()) for v in (t * (t - 1), t * (t - 1) * (t - 2), t * (t - 1) * (2 * t + 5))])
    (pairs_x, triples_x, fives_x), (pairs_y, triples_y, fives_y) = sums
    variance = (n * (n - 1) * (2 * n + 5) - fives_x - fives_y) / 18
    variance += pairs_x * pairs_y / (2 * n * (n - 1)) + triples_x * triples_y / (9 * n * (n - 1) * (n - 2))
    return float(2 * stats.norm.sf(abs(balance) / np.sqrt(variance)))
