"""Which of two judges, or of many, agrees more with people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from calib.analysis.agreement.agreement import (
    BOOTSTRAPS,
    METHODS,
    NO_SPREAD,
    Agreement,
    Spread,
    agreement,
    check_method,
    jackknife_variance,
    jackknifed,
    percentile_spread,
    several,
    tie_rates,
    warnings_of_bootstrap,
)
from calib.analysis.agreement.coefficients import SHARES
from calib.analysis.agreement.levels import (
    Design,
    LeftOut,
    design_of,
    draws,
    estimate,
    exchanged,
    left_out,
    under,
    within,
)
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import adjusted
from calib.core.result import Interval, Result, bracket, short

TESTS = (
    "jackknife", "boot-both", "boot-groups", "boot-systems", "boot-items", "perm-cells", "perm-axes", "williams"
)  # fmt: skip
CORRECTIONS = ("holm", "bh", "none")
_DUST = 1e-12  # differences below it are rounding
_ANGLES = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
_CIRCLE = np.cos(_ANGLES), np.sin(_ANGLES)
_FAR = 100.0  # standard errors; what is further away has p = 0 for all purposes
_MANY_LACK = 0.05  # share of the items that some judge lacks, from which a ranking warns
_FEW_TIES = 0.05  # fewer ties than one pair in twenty hardly move tau-b


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """Difference of two judges' agreement with the same human scores.

    Attributes
    ----------
    estimate, std_error : float
        First less second.
    interval : Interval
    p_value : float
        Two-sided, of "no difference".
    confidence_level : float
    first, second : float
        The agreement of each, on what both have in common.
    names : tuple of str
    level, method, test, interval_method : str
    generalises_to : str
        What interval and test speak about.
    df : float
    n, n_missing : int
        Items that both judges and the human scored; items in which a score was missing.
    n_groups, n_systems : int
    n_skipped : int
        Groups left out because one of the judges, or the human, gave a single value there.
    constant, missing : str
        The rules, as for `agreement`.
    ties_first, ties_second, ties_y : float
        Shares of tied pairs.
    n_resamples : int
        0 where nothing was drawn.
    warnings : tuple of str
    """

    estimate: float
    std_error: float
    interval: Interval
    p_value: float
    confidence_level: float
    first: float
    second: float
    names: tuple[str, str]
    level: str
    method: str
    test: str
    interval_method: str
    generalises_to: str
    df: float
    n: int
    n_missing: int
    n_groups: int
    n_systems: int
    n_skipped: int
    constant: str
    missing: str
    ties_first: float
    ties_second: float
    ties_y: float
    n_resamples: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"level": self.level, "coefficient": self.method}
        row |= {"first": self.names[0], "second": self.names[1]}
        row |= {"agreement_first": self.first, "agreement_second": self.second, "estimate": self.estimate}
        row |= {"std_error": self.std_error, "conf_low": self.interval.low, "conf_high": self.interval.high}
        row |= {"p_value": self.p_value, "n": self.n, "n_missing": self.n_missing}
        row |= {"n_groups": self.n_groups, "n_systems": self.n_systems, "n_skipped": self.n_skipped}
        row |= {"ties_first": self.ties_first, "ties_second": self.ties_second, "ties_y": self.ties_y}
        row |= {"test": self.test, "interval_method": self.interval_method}
        return [row | {"generalises_to": self.generalises_to}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "difference": True, "level": self.level, "test": self.test}
        terms |= {"ci": self.interval_method.replace(" ", "-"), "cl": self.confidence_level, "n": self.n}
        terms |= {"missing": self.n_missing, "groups": self.n_groups or None, "systems": self.n_systems or None}
        if self.level == "group":
            terms |= {"constant": self.constant, "skipped": self.n_skipped}
        if self.missing == "zero":
            terms["rule"] = "missing-as-zero"
        return terms | {"draws": self.n_resamples or None}

    def __str__(self) -> str:
        return (
            f"{METHODS[self.method]} {_WHERE[self.level]}: {self.names[0]} {short(self.first)}, "
            f"{self.names[1]} {short(self.second)}, difference {short(self.estimate)}, "
            f"{bracket(self.interval, self.confidence_level)}, p = {_p(self.p_value)} ({self.test})"
        )

    @property
    def conclusion(self) -> str:
        """What may be concluded, in one sentence."""
        one, two = self.names if self.estimate >= 0 else self.names[::-1]
        about = f" (about {self.generalises_to})" if self.generalises_to else ""
        if not np.isfinite(self.p_value):
            return f"Whether {one} and {two} differ cannot be said from these data."
        if self.p_value <= 1 - self.confidence_level:
            return f"{one} agrees with the human scores more than {two} does{about}."
        return f"These data do not tell {one} and {two} apart{about}."


_WHERE = {"item": "over items", "group": "within groups", "system": "over systems"}


def _p(value: float) -> str:
    return "nan" if np.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def compare(
    x1: ArrayLike,
    x2: ArrayLike,
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    test: str = "auto",
    constant: str = "skip",
    missing: str = "drop",
    names: tuple[str, str] = ("first", "second"),
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
) -> Comparison:
    r"""Difference of two judges' agreement with the same human scores, paired.

    Both are taken on what they have in common: the items that all three scored and, at
    level "group", the groups in which both have a coefficient.

    Parameters
    ----------
    x1, x2, y : array_like, shape (n,)
        Scores of the two judges and of the human.
    groups, systems, level, method, constant, missing
        As for `agreement`.
    test : str, default "auto"
        ``"auto"`` is ``"jackknife"``: the jackknife that goes with the design, of the
        difference itself; it speaks about new groups and new systems where both are given.
        For Pearson, Spearman and kappa, which are skewed where systems are few, the interval
        is made on Fisher's z scale of both: the least and the largest difference of all pairs
        of values within t standard errors, given how the two estimates vary together; the
        p-value inverts it.
        ``"boot-both"``, ``"boot-groups"`` (the cluster bootstrap), ``"boot-systems"``,
        ``"boot-items"``: percentile interval, and the p-value that inverts it.
        ``"perm-cells"``: the judges' standardised scores of each item change places or not
        (PERM-BOTH as Deutsch et al. and mt-metrics-eval run it). ``"perm-axes"``: whole
        systems and whole groups change places (PERM-BOTH of nlpstats). Both have
        p = (k + 1) / (B + 1), and test "the two judges' scores may be exchanged, each for
        itself". That is more than "both agree equally well with people": where judges favour
        some systems or documents each in its own way, they call a difference in 7 to 32 % of
        the cases at .05 (8 systems, 40 groups). ``"williams"``: for item-level Pearson of
        independent items only,

        .. math:: t = (r_1 - r_2) \sqrt{\frac{(n-1)(1+r_{12})}
                  {2\frac{n-1}{n-3}|R| + \bar r^2 (1-r_{12})^3}}

        with n - 3 degrees of freedom and signed correlations. Permutation tests and
        Williams's have the jackknife's interval beside them.
    names : tuple of str
        What the judges are called in the result.
    confidence_level : float, default 0.95
    n_resamples : int, default 9999
    rng : Generator or int, optional

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        As `agreement`; if a test lacks its factor, or Williams's is asked for anything but
        item-level Pearson.

    Warns
    -----
    CalibWarning
        If tau-b compares judges of whom one ties more than twice as many pairs: tau-b
        leaves tied pairs out of its denominator and favours the one that ties more. If
        Williams's test or a bootstrap of items meets repeated groups or systems.

    References
    ----------
    Deutsch, Dror and Roth (2021), TACL 9:1132-1146. Williams (1959), Regression Analysis.
    The interval on the z scale has the form of a profile likelihood's (Venzon and Moolgavkar
    1988, Applied Statistics 37:87-94).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> close, far = y + rng.normal(size=200), y + 3 * rng.normal(size=200)
    >>> result = compare(close, far, y, names=("close", "far"))
    >>> print(result.conclusion)
    close agrees with the human scores more than far does (about new items, each independent of the others).
    """
    check.choice(test, "test", ("auto", *TESTS))
    test = "jackknife" if test == "auto" else test
    check.choice(method, "method", tuple(METHODS))
    check.choice(constant, "constant", ("skip", "zero"))
    check.choice(missing, "missing", ("drop", "zero"))
    level_wanted = check.probability(confidence_level, "confidence_level")
    check.whole(n_resamples, "n_resamples", least=1)
    if isinstance(names, str) or len(names) != 2:
        raise ArgumentError("names", "must be two", f"got {names!r}")
    rules = {"level": level, "method": method, "constant": constant}
    one, two, n_missing = _both(x1, x2, y, groups, systems, missing, rules)
    one, two, n_skipped = _common(one, two)
    first, second = estimate(one), estimate(two)
    difference = 0.0 if abs(first - second) < _DUST else first - second
    ties = tie_rates(one)[0], tie_rates(two)[0], tie_rates(one)[1]
    warned = _tie_warning(method, ties[0], ties[1], names) + _test_warnings(one, test)
    source = np.random.default_rng(rng)
    spread, interval, p_value, undefined = _tested(one, two, (first, second), test, level_wanted, n_resamples, source)
    warned += undefined
    for text in warned:
        check.warn(text)
    return Comparison(
        estimate=difference,
        std_error=spread.std_error,
        interval=interval,
        p_value=p_value,
        confidence_level=level_wanted,
        first=first,
        second=second,
        names=(str(names[0]), str(names[1])),
        level=level,
        method=method,
        test=test,
        interval_method=spread.name,
        generalises_to=_exchanged(one) if test.startswith("perm") else spread.speaks_of,
        df=spread.df,
        n=one.n,
        n_missing=n_missing,
        n_groups=one.n_groups,
        n_systems=one.n_systems,
        n_skipped=n_skipped,
        constant=constant,
        missing=missing,
        ties_first=ties[0],
        ties_second=ties[1],
        ties_y=ties[2],
        n_resamples=n_resamples if test.startswith(("boot", "perm")) else 0,
        warnings=warned,
    )


def _both(
    x1: ArrayLike,
    x2: ArrayLike,
    y: ArrayLike,
    groups: Labels | None,
    systems: Labels | None,
    missing: str,
    rules: dict[str, str],
) -> tuple[Design, Design, int]:
    """Both designs on the items that all three scored."""
    a, b, c = (check.array(v, name, ndim=1) for v, name in ((x1, "x1"), (x2, "x2"), (y, "y")))
    check.same_length(x1=a, x2=b, y=c, groups=groups, systems=systems)
    n_missing = int((~np.isfinite(a + b + c)).sum())
    if missing == "zero":
        a, b = np.nan_to_num(a), np.nan_to_num(b)
    there = np.where(np.isfinite(a + b), c, np.nan)
    one, two = (design_of(v, there, groups=groups, systems=systems, **rules)[0] for v in (a, b))
    check_method(one)
    return one, two, n_missing


def _common(one: Design, two: Design) -> tuple[Design, Design, int]:
    """Both designs on the groups in which both have a coefficient."""
    if one.level != "group" or one.constant != "skip":
        return one, two, 0
    defined = np.isfinite(within(one)) & np.isfinite(within(two))
    keep = defined[one.group]
    return one.only(keep), two.only(keep), int((~defined).sum())


def _exchanged(design: Design) -> str:
    """What a permutation test speaks about: the scores at hand."""
    factors = [name for name, k in (("groups", design.n_groups), ("systems", design.n_systems)) if k]
    return "these " + (" and ".join(factors) or "items")


def _tie_warning(method: str, first: float, second: float, names: tuple[str, str]) -> tuple[str, ...]:
    low, high = sorted((first, second))
    if method != "kendall" or not high > 2 * low or high < _FEW_TIES:
        return ()
    more, fewer = names if first > second else names[::-1]
    return (
        f"tau-b compares judges with unlike ties: {more} ties {100 * high:.0f} % of the pairs, {fewer} "
        f"{100 * low:.0f} %; tau-b favours the one that ties more, so read Spearman or pairwise accuracy beside it",
    )


def _test_warnings(design: Design, test: str) -> tuple[str, ...]:
    if test in BOOTSTRAPS:
        return warnings_of_bootstrap(design, test, "test")
    for name, codes in (("groups", design.group), ("systems", design.system)):
        if test == "perm-axes" and codes is None:
            raise ArgumentError(name, "must be given for 'perm-axes'", "got None")
    if test != "williams":
        return ()
    if (design.level, design.method) != ("item", "pearson"):
        raise ArgumentError(
            "test",
            "'williams' must go with level 'item' and method 'pearson'",
            f"got {design.level!r} and {design.method!r}",
        )
    return ("Williams's test takes items as independent, but groups or systems repeat",) if design.repeats else ()


# --- the tests --------------------------------------------------------------------------------------------------


class _Outcome(NamedTuple):
    spread: Spread
    interval: Interval
    p_value: float
    warnings: tuple[str, ...] = ()


_NOTHING = _Outcome(NO_SPREAD, Interval(float("nan"), float("nan")), float("nan"))


def _tested(
    one: Design,
    two: Design,
    found: tuple[float, float],
    test: str,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> _Outcome:
    difference = found[0] - found[1]
    if not np.isfinite(difference) or (test in BOOTSTRAPS and not several(one, test)):
        return _NOTHING
    if test in BOOTSTRAPS:
        return _bootstrap(one, two, test, confidence_level, n_resamples, rng)
    outcome = _jackknife(one, two, found, confidence_level)
    if test == "williams":
        return outcome._replace(p_value=_williams(one.x, two.x, one.y))
    if test == "jackknife":
        return outcome
    return outcome._replace(p_value=_permutation(one, two, difference, test, n_resamples, rng))


def _jackknife(one: Design, two: Design, found: tuple[float, float], confidence_level: float) -> _Outcome:
    left = [left_out(design) for design in (one, two)]
    apart = LeftOut(*(None if a is None else a - b for a, b in zip(*map(_parts, left), strict=True)))
    variance, df, name, speaks_of = jackknife_variance(one, apart)
    if not np.isfinite(variance):
        return _NOTHING
    whole = Spread(name, float(np.sqrt(variance)), df, speaks_of, bounds=(-2.0, 2.0))
    parts = [jackknifed(design, each) for design, each in zip((one, two), left, strict=True)]
    if not all(part.fisher and part.std_error >= _DUST for part in parts) or max(map(abs, found)) >= 1 - _DUST:
        difference = found[0] - found[1]
        return _Outcome(whole, whole.interval(difference, confidence_level), whole.p_value(difference))
    return _on_z(whole, (parts[0], parts[1]), found, confidence_level)


def _on_z(whole: Spread, parts: tuple[Spread, Spread], found: tuple[float, float], confidence_level: float) -> _Outcome:
    """The interval of a difference of skewed estimates, from both on Fisher's z scale.

    There the two are taken as normal, with their jackknife variances and the covariance
    that the variance of the difference implies. All pairs within t standard errors form an
    ellipse; the interval has the least and the largest difference on it, as a profile
    likelihood has.
    """
    if not whole.std_error >= _DUST or not whole.df >= 1:
        return _NOTHING
    v, v1, v2 = (spread.std_error**2 for spread in (whole, *parts))
    shared = float(np.clip((v1 + v2 - v) / (2 * np.sqrt(v1 * v2)), -1, 1))  # correlation of the two estimates
    (z1, z2), (e1, e2) = np.arctanh(found), [p.std_error / (1 - r**2) for p, r in zip(parts, found, strict=True)]
    across, along = e1 * _CIRCLE[0], e2 * (shared * _CIRCLE[0] + np.sqrt(1 - shared**2) * _CIRCLE[1])

    def ends(t: float) -> Interval:
        differences = np.tanh(z1 + t * across) - np.tanh(z2 + t * along)
        return Interval(float(differences.min()), float(differences.max()))

    interval = ends(float(stats.t.ppf((1 + confidence_level) / 2, whole.df)))
    return _Outcome(whole, interval, _p_value(found[0] - found[1], ends, whole.df))


def _p_value(difference: float, ends: Callable[[float], Interval], df: float) -> float:
    """The level at which the interval's end just meets 0."""
    if abs(difference) < _DUST:
        return 1.0

    def facing(t: float) -> float:
        return ends(t).low if difference > 0 else -ends(t).high

    t = _FAR if facing(_FAR) > 0 else optimize.brentq(facing, 0.0, _FAR)
    return float(2 * stats.t.sf(t, df))


def _parts(left: LeftOut) -> tuple[Floats | None, ...]:
    return left.system, left.group, left.cell, left.item


def _bootstrap(
    one: Design, two: Design, test: str, confidence_level: float, n_resamples: int, rng: np.random.Generator
) -> _Outcome:
    factors = BOOTSTRAPS[test][0]
    if test == "boot-items":
        one, two = (_items_as_groups(design) for design in (one, two))
        factors = ("groups",)
    drawn = np.concatenate([under(one, *w) - under(two, *w) for w in draws(one, factors, n_resamples, rng)])
    drawn[np.abs(drawn) < _DUST] = 0.0
    spread, warned = percentile_spread(drawn, test)
    found = spread.draws
    if found is None or not len(found):
        return _NOTHING._replace(warnings=warned)
    # the level at which the percentile interval just meets 0
    tail = min((found <= 0).sum(), (found >= 0).sum())
    p_value = float(min(1.0, 2 * (tail + 1) / (len(found) + 1)))
    return _Outcome(spread, spread.interval(0.0, confidence_level), p_value, warned)


def _items_as_groups(design: Design) -> Design:
    return Design(design.x, design.y, np.arange(len(design.x)), None, design.level, design.method, design.constant)


def _permutation(
    one: Design, two: Design, difference: float, test: str, n_resamples: int, rng: np.random.Generator
) -> float:
    """Share of exchanges that differ as much, the one seen among them; scores are standardised first."""
    if one.method == "spa":
        raise ArgumentError("test", f"{test!r} must go with another method than 'spa'")
    alike = one.method in ("kappa", *SHARES)  # what asks for the human's very scale is exchanged as it is
    first, second = (one, two) if alike else (_standardised(one), _standardised(two))
    seen, used, step = 0, 0, max(1, 4_000_000 // max(one.n, 1))
    for start in range(0, n_resamples, step):
        masks = _masks(one, test, min(step, n_resamples - start), rng)
        found = exchanged(first, second, masks) - exchanged(first, second, ~masks)
        seen += int((np.abs(found) >= abs(difference) - _DUST).sum())
        used += int(np.isfinite(found).sum())
    return (seen + 1) / (used + 1)


def _masks(design: Design, test: str, b: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    if test == "perm-cells":
        return rng.integers(2, size=(b, design.n), dtype=np.uint8).astype(bool)
    groups, systems = (rng.integers(2, size=(b, k), dtype=np.uint8) for k in (design.n_groups, design.n_systems))
    return np.asarray((groups[:, design.group] ^ systems[:, design.system]).astype(bool))


def _standardised(design: Design) -> Design:
    spread = design.x.std()
    x = (design.x - design.x.mean()) / (spread if spread > 0 else 1.0)
    return Design(x, design.y, design.group, design.system, design.level, design.method, design.constant)


def _williams(x1: Floats, x2: Floats, y: Floats) -> float:
    """Two-sided p-value of Williams's t for two dependent correlations that share y."""
    n = len(y)
    if n < 4:
        return float("nan")
    r = np.corrcoef([x1, x2, y])
    r12, r1, r2 = r[0, 1], r[0, 2], r[1, 2]
    determinant = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    bottom = 2 * (n - 1) / (n - 3) * determinant + ((r1 + r2) / 2) ** 2 * (1 - r12) ** 3
    if not bottom > _DUST:  # judges that are the same but for their scale
        return float("nan")
    return float(2 * stats.t.sf(abs(r1 - r2) * np.sqrt((n - 1) * (1 + r12) / bottom), n - 3))


# --- many judges ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(Result):
    """Many judges in the order of their agreement with people, and which of them can be told apart.

    Attributes
    ----------
    names : tuple of str
        From the highest agreement down.
    agreements : tuple of Agreement
        Each judge with its own interval, on the items that all of them scored.
    comparisons : tuple of Comparison
        Each pair, the higher one first, on the groups that both have, in the order (0, 1), (0, 2), ...
    p_values : ndarray, shape (judges, judges)
        Adjusted for the number of pairs; NaN on the diagonal and where a test is not defined.
    distinct : ndarray of bool, shape (judges, judges)
        Pairs that can be told apart: adjusted p at most 1 - confidence_level.
    clusters : tuple of int
        1, 2, ...: every judge of one cluster can be told apart from every judge of another, and is ahead of it.
    n_missing : int
        Items that the human scored and not all of the judges did.
    correction : str
    level, method, test : str
    confidence_level : float
    warnings : tuple of str
    """

    names: tuple[str, ...]
    agreements: tuple[Agreement, ...]
    comparisons: tuple[Comparison, ...] = field(repr=False)
    p_values: Floats = field(repr=False, compare=False)
    distinct: NDArray[np.bool_] = field(repr=False, compare=False)
    clusters: tuple[int, ...]
    n_missing: int
    correction: str
    level: str
    method: str
    test: str
    confidence_level: float
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for i, (name, result) in enumerate(zip(self.names, self.agreements, strict=True)):
            row: dict[str, Any] = {"level": self.level, "coefficient": self.method, "judge": name}
            row |= {"estimate": result.estimate, "std_error": result.std_error}
            row |= {"conf_low": result.interval.low, "conf_high": result.interval.high, "cluster": self.clusters[i]}
            row["not_distinguishable"] = ", ".join(self.like(i))
            row |= {"n": result.n, "n_missing": self.n_missing, "n_groups": result.n_groups}
            rows.append(row | {"n_systems": result.n_systems})
        return rows

    def like(self, place: int) -> list[str]:
        """The judges that the one at this place cannot be told apart from."""
        return [name for j, name in enumerate(self.names) if j != place and not self.distinct[place, j]]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.method: True, "ranking": True, "level": self.level, "judges": len(self.names)}
        terms |= {"test": self.test, "correction": self.correction, "cl": self.confidence_level}
        pair, judge = self.comparisons[0], self.agreements[0]
        groups = max(result.n_groups for result in self.agreements)
        terms |= {"n": judge.n, "missing": self.n_missing, "groups": groups or None}
        terms |= {"systems": pair.n_systems or None, "constant": judge.constant}
        if pair.missing == "zero":
            terms["rule"] = "missing-as-zero"
        return terms | {"draws": pair.n_resamples or None}

    def __str__(self) -> str:
        listed = [f"{name} {short(r.estimate)}" for name, r in zip(self.names, self.agreements, strict=True)]
        return f"{METHODS[self.method]} {_WHERE[self.level]}: {', '.join(listed)}. {self.conclusion}"

    def _ahead(self, pair: Comparison) -> bool:
        place = [self.names.index(name) for name in pair.names]
        return bool(self.distinct[place[0], place[1]]) and pair.estimate > 0

    @property
    def conclusion(self) -> str:
        """What may be concluded, in one sentence."""
        pairs = len(self.comparisons)
        apart = int(self.distinct.sum()) // 2
        # one that is told apart the other way round, on the groups that both have, is not behind either
        alike = [pair.names[1] for pair in self.comparisons if pair.names[0] == self.names[0] and not self._ahead(pair)]
        adjusted = {"holm": " (Holm)", "bh": " (Benjamini-Hochberg)", "none": " (not adjusted)"}[self.correction]
        first = f"{self.names[0]} is ahead of all others" if not alike else f"{self.names[0]} is not told apart from "
        return f"{first}{', '.join(alike)}; {apart} of {pairs} pairs are told apart{adjusted}."


def rank_judges(
    judges: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    test: str = "auto",
    correction: str = "holm",
    constant: str = "skip",
    missing: str = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
) -> Ranking:
    """Judges in the order of their agreement with one human, every pair tested.

    All of them are taken on the items that all have scored: agreement on other items is
    another quantity.

    Parameters
    ----------
    judges : mapping of str to array_like, shape (n,)
        Two judges or more, by name.
    y : array_like, shape (n,)
        The human scores.
    groups, systems, level, method, test, constant, missing, confidence_level, n_resamples, rng
        As for `compare`.
    correction : {"holm", "bh", "none"}, default "holm"
        Holm holds the chance of any wrong "distinguishable" at 1 - confidence_level;
        Benjamini and Hochberg hold the expected share of wrong ones among them.

    Returns
    -------
    Ranking

    Raises
    ------
    ValueError
        As `compare`; if there are fewer than two judges.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6:65-70. Benjamini and Hochberg (1995),
    JRSS B 57:289-300.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=300)
    >>> judges = {name: y + sd * rng.normal(size=300) for name, sd in [("a", 3), ("b", 1), ("c", 1)]}
    >>> result = rank_judges(judges, y)
    >>> print(result.conclusion)
    b is not told apart from c; 2 of 3 pairs are told apart (Holm).
    >>> result.clusters
    (1, 1, 2)
    """
    check.choice(correction, "correction", CORRECTIONS)
    if not isinstance(judges, Mapping):
        raise ArgumentError("judges", "must be a mapping of names to scores", f"got {type(judges).__name__}")
    if len(judges) < 2:
        raise ArgumentError("judges", "must hold two judges or more", f"got {len(judges)}")
    rules: dict[str, Any] = {"groups": groups, "systems": systems, "level": level, "method": method}
    rules |= {"constant": constant, "missing": missing, "confidence_level": confidence_level}
    target, columns = check.array(y, "y", ndim=1), _columns(judges, y)
    all_scored = np.isfinite(sum(columns.values()))
    n_missing = int((np.isfinite(target) & ~all_scored).sum())
    shared = target if missing == "zero" else np.where(all_scored, target, np.nan)
    warned = _thin(n_missing, int(np.isfinite(target).sum())) if missing == "drop" else ()
    alone = {name: agreement(x, shared, **rules) for name, x in columns.items()}
    # what has no coefficient comes last
    names = sorted(columns, key=lambda name: (np.isnan(alone[name].estimate), -alone[name].estimate))
    source = np.random.default_rng(rng)
    pairs = [
        compare(columns[a], columns[b], shared, test=test, names=(a, b), n_resamples=n_resamples, rng=source, **rules)
        for a, b in combinations(names, 2)
    ]
    p_values = _square(adjusted([pair.p_value for pair in pairs], correction), len(names))
    distinct = p_values <= 1 - confidence_level
    return Ranking(
        names=tuple(names),
        agreements=tuple(alone[name] for name in names),
        comparisons=tuple(pairs),
        p_values=p_values,
        distinct=distinct,
        clusters=_clusters(distinct & (_square([pair.estimate for pair in pairs], len(names)) > 0)),
        n_missing=n_missing,
        correction=correction,
        level=level,
        method=method,
        test=pairs[0].test,
        confidence_level=confidence_level,
        warnings=tuple(dict.fromkeys([*warned, *(text for pair in pairs for text in pair.warnings)])),
    )


def _columns(judges: Mapping[str, ArrayLike], y: ArrayLike) -> dict[str, Floats]:
    """The judges by name as text, each with a score at least."""
    columns = {str(name): check.array(x, f"judges[{name!r}]", ndim=1) for name, x in judges.items()}
    if len(columns) < len(judges):
        raise ArgumentError("judges", "must have names that differ as text", f"got {', '.join(map(repr, judges))}")
    for name, x in columns.items():
        if len(x) != len(np.asarray(y)):
            raise ArgumentError(
                f"judges[{name!r}]",
                f"must have the length of {{0}} ({len(np.asarray(y))})",
                f"got {len(x)}",
                mentions=("y",),
            )
        if not np.isfinite(x).any():
            raise ArgumentError(f"judges[{name!r}]", "must have a score", "all are missing")
    return columns


def _thin(n_missing: int, n: int) -> tuple[str, ...]:
    if n_missing <= _MANY_LACK * n:
        return ()
    text = f"{n_missing} of {n} items are left out because some judge has no score there: compare judges two by two"
    check.warn(text)
    return (text,)


def _square(upper: ArrayLike, k: int) -> Floats:
    table = np.full((k, k), np.nan)
    table[np.triu_indices(k, 1)] = upper
    return np.where(np.isnan(table), table.T, table)


def _clusters(ahead: NDArray[np.bool_]) -> tuple[int, ...]:
    """A new cluster begins where all above are ahead of all below; only the upper triangle is looked at."""
    cuts = [bool(ahead[:i, i:].all()) for i in range(1, len(ahead))]
    return tuple(int(c) for c in 1 + np.concatenate([[0], np.cumsum(cuts)]))
