"""Which of two judges, or of many, agrees more with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from calib.analysis.agreement import levels, spread as spreads
from calib.analysis.agreement.agreement import (
    ESTIMATED,
    AgreementResult,
    checked_options,
    reversed_cautions,
    systems_taken_as,
    unread_cautions,
)
from calib.analysis.agreement.coefficients import ON_ONE_SCALE, named_coefficient
from calib.analysis.agreement.levels import Design, LeftOut, estimate, resamples_at_once, within
from calib.analysis.agreement.scales import comparable, scale_caution
from calib.analysis.agreement.spread import BOOTSTRAPS, NO_INTERVAL, NO_SPREAD, Spread
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.result import Interval, short

TESTS = ("jackknife", *BOOTSTRAPS, "perm-cells", "perm-axes", "williams")
Rng = np.random.Generator
_ROUNDING = 1e-12  # differences below it are rounding
_ANGLES = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
_CIRCLE = np.cos(_ANGLES), np.sin(_ANGLES)
_FAR = 100.0  # standard errors; what is further away has p = 0 for all purposes
_FEW_TIES = 0.05  # fewer ties than one pair in twenty hardly move tau-b


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(AgreementResult):
    """Difference of two judges' agreement with the same labels.

    Attributes
    ----------
    estimate, std_error : float
        Of the first judge's agreement less the second's.
    first, second : float
        The agreement of each, on what both have in common.
    names : tuple of str
    n_missing_first, n_missing_second : int
        Labelled items without a score of this judge.
    test : str
    ties_first, ties_second, ties_y : float
        Shares of tied pairs.
    n_resamples : int
        0 where nothing was drawn.
    """

    first: float
    second: float
    names: tuple[str, str]
    n_missing_first: int
    n_missing_second: int
    test: str
    ties_first: float
    ties_second: float
    ties_y: float
    n_resamples: int

    _names_itself = ("rater", "versus")

    def _rows(self) -> list[dict[str, Any]]:
        judges: dict[str, Any] = {"first": self.names[0], "second": self.names[1]}
        judges |= {"agreement_first": self.first, "agreement_second": self.second}
        judges |= self._row(*ESTIMATED.split(), "n_missing_first", "n_missing_second")
        tested = self._row("ties_first", "ties_second", "ties_y", "test", "interval_method", "generalises_to")
        return [self._row("level", "coefficient") | judges | tested]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.coefficient: True, "difference": True, "level": self.level, "test": self.test}
        return terms | self._counted | self._factors | {"rule": self._rule, "draws": self.n_resamples or None}

    def __str__(self) -> str:
        each = f"{self.names[0]} {short(self.first)}, {self.names[1]} {short(self.second)}"
        difference = f"{short(self.estimate)}, {self._bracket}"
        p = "< 0.0001" if self.p_value < 1e-4 else f"{self.p_value:.2g}"  # NaN is "nan"
        return f"{self._measured}: {each}, difference {difference}, p = {p} ({self.test}, n = {self.n}{self._these})"

    @property
    def conclusion(self) -> str:
        """What may be concluded, in one sentence."""
        one, two = self.names if self.estimate >= 0 else self.names[::-1]
        about = f" (about {self.generalises_to})" if self.generalises_to else ""
        if self.estimate == 0:
            return f"There is no difference between {one} and {two} in these data."
        if not np.isfinite(self.p_value):
            why = f": {self.reason}" if self.reason else ""
            return f"Whether {one} and {two} differ cannot be said from these data{why}."
        if self.p_value <= 1 - self.confidence_level:
            return f"{one} agrees with the labels more than {two} does{about}."
        return f"These data do not tell {one} and {two} apart{about}."


def compare(
    x1: ArrayLike,
    x2: ArrayLike,
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    systems_are: str = "auto",
    level: str = "item",
    method: str = "spearman",
    test: str = "auto",
    constant: str = "skip",
    missing: str = "drop",
    names: tuple[str, str] = ("first", "second"),
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
    coefficient: str | None = None,
) -> Comparison:
    r"""Difference of two judges' agreement with the same labels, paired.

    Both are taken on what they have in common: the items that all three scored and, at
    level "group", the groups in which both have a coefficient.

    Parameters
    ----------
    x1, x2, y : array_like, shape (n,)
        Scores of the two judges, and labels.
    groups, systems, systems_are, level, method, coefficient, constant, missing
        As for `agreement`.
    test : str, default "auto"
        ``"auto"`` (the jackknife), ``"boot-both"``, ``"boot-groups"``, ``"boot-systems"``, ``"boot-items"``,
        ``"perm-cells"``, ``"perm-axes"`` or ``"williams"``.

        ``"auto"`` is ``"jackknife"``: the jackknife that goes with the design, of the
        difference itself; it speaks about new groups and new systems where both are given and
        the systems are a sample.
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
        independent items only (where items share groups it finds a difference between equal
        judges in a third of the cases, so that it is refused),

        .. math:: t = (r_1 - r_2) \sqrt{\frac{(n-1)(1+r_{12})}
                  {2\frac{n-1}{n-3}|R| + \bar r^2 (1-r_{12})^3}}

        with n - 3 degrees of freedom and signed correlations. Permutation tests and
        Williams's have the jackknife's interval beside them.
    names : tuple of str
        What the judges are called in the result.
    confidence_level : float, default 0.95
        How often the interval is to hold.
    n_resamples : int, default 9999
        Of a bootstrap or a permutation test.
    rng : Generator or int, optional
        Of these draws: a seed, for the same numbers again.

    Raises
    ------
    ValueError
        As `agreement`; if a test lacks its factor, or Williams's is asked for anything but
        item-level Pearson of independent items.

    Warns
    -----
    CalibWarning
        If tau-b compares judges of whom one ties more than twice as many pairs: tau-b
        leaves tied pairs out of its denominator and favours the one that ties more. If a
        bootstrap of items meets repeated groups or systems. If a judge left more than one item
        in twenty without a score.

    References
    ----------
    As for `agreement`. Williams (1959), Regression Analysis. The interval on the z scale is
    that of a profile likelihood (Venzon and Moolgavkar 1988, Applied Statistics 37:87-94).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> close, far = y + rng.normal(size=200), y + 3 * rng.normal(size=200)
    >>> result = compare(close, far, y, names=("close", "far"))
    >>> print(result.conclusion)
    close agrees with the labels more than far does (about new items, each independent of the others).
    """
    check.choice(test, "test", ("auto", *TESTS))
    test = "jackknife" if test == "auto" else test
    spreads.refuse_new_systems(systems_are, test, "test")
    named = named_coefficient(method, coefficient)
    confidence = checked_options(constant, missing, confidence_level, n_resamples)
    if isinstance(names, str) or len(names) != 2:
        raise ArgumentError("names", "must be two", f"got {names!r}")
    rules: dict[str, Any] = {"level": level, "coefficient": named, "constant": constant, "missing": missing}
    options = rules | {"groups": groups, "systems": systems, "systems_are": systems_are}
    scores = comparable(named, x1=x1, x2=x2, y=y)
    argument = "method" if coefficient is None else "coefficient"
    one, two, n_skipped = _designs_in_common(scores, options, argument)
    first, second = estimate(one), estimate(two)
    difference = 0.0 if abs(first - second) < _ROUNDING else first - second
    ties = levels.ties_of(one), levels.ties_of(two)
    judges = dict(zip(names, scores[:2], strict=True))
    warned = unread_cautions(judges, scores[2]) if missing == "drop" else ()
    warned += _test_warnings(one, test, (ties[0]["ties_x"], ties[1]["ties_x"]), names)
    draws = n_resamples, np.random.default_rng(rng)
    spread, interval, p_value, undefined = _test_of_no_difference(one, two, (first, second), test, confidence, *draws)
    warned += undefined
    for text in warned:
        check.warn(text)
    warned = (*scale_caution(named, one.x, one.y), *scale_caution(named, two.x, two.y), *warned)
    cautions = reversed_cautions(dict(zip(names, (first, second), strict=True)), named)
    n_missing = [int((np.isnan(x) & np.isfinite(scores[2])).sum()) for x in scores[:2]]
    factors = " and ".join(name for name, k in (("groups", one.n_groups), ("systems", one.n_systems)) if k)
    return Comparison(
        estimate=difference,
        std_error=spread.std_error,
        interval=interval,
        p_value=p_value,
        confidence_level=confidence,
        first=first,
        second=second,
        names=(str(names[0]), str(names[1])),
        test=test,
        generalises_to="these " + (factors or "items") if test.startswith("perm") else spread.speaks_of,
        reason=_why_none(one, names, (first, second), test) if np.isnan(interval.low) else "",
        systems_are=systems_taken_as(one, test),
        n_missing=int((~np.isfinite(sum(scores))).sum()),
        n_missing_first=n_missing[0],
        n_missing_second=n_missing[1],
        n_skipped=n_skipped,
        ties_first=ties[0]["ties_x"],
        ties_second=ties[1]["ties_x"],
        ties_y=ties[0]["ties_y"],
        n_resamples=n_resamples if test.startswith(("boot", "perm")) else 0,
        warnings=warned + cautions,
        **rules,
        **spread.made_over(one),
    )


def _designs_in_common(scores: Sequence[Floats], options: dict[str, Any], argument: str) -> tuple[Design, Design, int]:
    """Both designs on the items that all three scored and the groups in which both have a coefficient."""
    a, b, labels = scores
    check.same_length(x1=a, x2=b, y=labels, groups=options["groups"], systems=options["systems"])
    if options["missing"] == "zero":
        a, b = np.nan_to_num(a), np.nan_to_num(b)
    shared = np.where(np.isfinite(a + b), labels, np.nan)
    one, two = (levels.design_of(v, shared, **options)[0] for v in (a, b))
    levels.check_level(one, argument)
    if one.level != "group" or one.constant != "skip":
        return one, two, 0
    defined = np.isfinite(within(one)) & np.isfinite(within(two))
    keep = defined[one.group]
    return one.only(keep), two.only(keep), int((~defined).sum())


def _test_warnings(design: Design, test: str, ties: tuple[float, float], names: tuple[str, str]) -> tuple[str, ...]:
    """What to know of ties and of the test; refuses a test that does not go with the design."""
    warned: tuple[str, ...] = ()
    low, high = sorted(ties)
    if design.coefficient == "kendall" and high > 2 * low and high >= _FEW_TIES:
        more, fewer = names if ties[0] > ties[1] else names[::-1]
        warned = (
            f"unequal_ties: {more} ties {100 * high:.0f} % of the pairs, {fewer} "
            f"{100 * low:.0f} %; tau-b favours the one that ties more, so read Spearman or pairwise accuracy beside it",
        )
    if test in BOOTSTRAPS:
        return warned + spreads.warnings_of_bootstrap(design, test, "test")
    for name, codes in (("groups", design.group), ("systems", design.system)):
        if test == "perm-axes" and codes is None:
            raise ArgumentError(name, "must be given for 'perm-axes'", "got None")
    if test != "williams":
        return warned
    if (design.level, design.coefficient) != ("item", "pearson"):
        got = f"got {design.level!r} and {design.coefficient!r}"
        raise ArgumentError("test", "'williams' must go with level 'item' and method 'pearson'", got)
    for name, codes in zip(("groups", "systems"), design.units, strict=True):
        if codes is not None and int(codes.max(initial=-1)) + 1 < len(codes):
            rule = "'williams' takes items as independent: 'jackknife' is for items that share {0}"
            raise ArgumentError("test", rule, mentions=(name,))
    return warned


def _why_none(design: Design, names: Sequence[str], values: tuple[float, float], test: str) -> str:
    """Why there is no interval of the difference, in words."""
    undefined = [name for name, value in zip(names, values, strict=True) if not np.isfinite(value)]
    if undefined and design.n and np.ptp(design.y) > 0:
        return f"{' and '.join(undefined)} {'has' if len(undefined) == 1 else 'have'} no coefficient"
    if undefined and design.level == "group":
        return "there is no group in which both have a coefficient"
    if values[0] == values[1]:
        return "the two agree with the labels alike"
    return spreads.no_interval_reason(design, values[0] - values[1], test)


# --- the tests --------------------------------------------------------------------------------------------------


class _Tested(NamedTuple):
    spread: Spread
    interval: Interval
    p_value: float
    warnings: tuple[str, ...] = ()


_NOTHING = _Tested(NO_SPREAD, NO_INTERVAL, float("nan"))


def _test_of_no_difference(
    one: Design, two: Design, values: tuple[float, float], test: str, confidence: float, n_resamples: int, rng: Rng
) -> _Tested:
    difference = values[0] - values[1]
    if not np.isfinite(difference) or (test in BOOTSTRAPS and not spreads.has_several_units(one, test)):
        return _NOTHING
    if test in BOOTSTRAPS:
        return _bootstrap_test(one, two, test, confidence, n_resamples, rng)
    outcome = _jackknife_test(one, two, values, confidence)
    if test == "williams":
        return outcome._replace(p_value=_williams_p(one.x, two.x, one.y))
    if test == "jackknife":
        return outcome
    return outcome._replace(p_value=_permutation_p(one, two, difference, test, n_resamples, rng))


def _jackknife_test(one: Design, two: Design, values: tuple[float, float], confidence: float) -> _Tested:
    left = [levels.left_out(design) for design in (one, two)]
    apart = LeftOut(*(None if a is None else a - b for a, b in zip(*left, strict=True)))
    variance, df, name = spreads.design_variance(one, apart)
    difference = values[0] - values[1]
    if not np.isfinite(variance):
        return _NOTHING
    whole = Spread(name, float(np.sqrt(variance)), df, one.speaks_of, bounds=(-2.0, 2.0))
    if abs(difference) < _ROUNDING and whole.std_error < _ROUNDING:  # nowhere do they differ
        return _Tested(whole, NO_INTERVAL, 1.0)
    parts = [spreads.jackknife_spread(design, each) for design, each in zip((one, two), left, strict=True)]
    if not all(part.fisher and part.std_error >= _ROUNDING for part in parts) or max(map(abs, values)) >= 1 - _ROUNDING:
        return _Tested(whole, whole.interval(difference, confidence), whole.p_value(difference))
    return _test_on_z(whole, (parts[0], parts[1]), values, confidence)


def _test_on_z(whole: Spread, parts: tuple[Spread, Spread], values: tuple[float, float], confidence: float) -> _Tested:
    """The interval of a difference of skewed estimates, from both on Fisher's z scale.

    There the two are taken as normal, with their jackknife variances and the covariance
    that the variance of the difference implies. All pairs within t standard errors form an
    ellipse; the interval has the least and the largest difference on it, as a profile
    likelihood has.
    """
    if not whole.std_error >= _ROUNDING or not whole.df >= 1:
        return _NOTHING
    v, v1, v2 = (spread.std_error**2 for spread in (whole, *parts))
    shared = float(np.clip((v1 + v2 - v) / (2 * np.sqrt(v1 * v2)), -1, 1))  # correlation of the two estimates
    (z1, z2), (e1, e2) = np.arctanh(values), [p.std_error / (1 - r**2) for p, r in zip(parts, values, strict=True)]
    across, along = e1 * _CIRCLE[0], e2 * (shared * _CIRCLE[0] + np.sqrt(1 - shared**2) * _CIRCLE[1])

    def ends(t: float) -> Interval:
        differences = np.tanh(z1 + t * across) - np.tanh(z2 + t * along)
        return Interval(float(differences.min()), float(differences.max()))

    def facing(t: float) -> float:
        return ends(t).low if difference > 0 else -ends(t).high

    interval = ends(float(stats.t.ppf((1 + confidence) / 2, whole.df)))
    difference = values[0] - values[1]
    if abs(difference) < _ROUNDING:
        return _Tested(whole, interval, 1.0)
    # the p-value is the level at which the interval's end just meets 0
    t = _FAR if facing(_FAR) > 0 else optimize.brentq(facing, 0.0, _FAR)
    return _Tested(whole, interval, float(2 * stats.t.sf(t, whole.df)))


def _bootstrap_test(one: Design, two: Design, test: str, confidence: float, n_resamples: int, rng: Rng) -> _Tested:
    factors = BOOTSTRAPS[test][0]
    if test == "boot-items":
        one, two = (replace(design, group=np.arange(design.n), system=None) for design in (one, two))
        factors = ("groups",)
    weights = levels.factor_weights(one, factors, n_resamples, rng)
    differences = np.concatenate([levels.under(one, *w) - levels.under(two, *w) for w in weights])
    differences[np.abs(differences) < _ROUNDING] = 0.0
    spread, warned = spreads.percentile_spread(differences, test)
    defined = spread.resamples
    if defined is None or not len(defined):
        return _NOTHING._replace(warnings=warned)
    # the level at which the percentile interval just meets 0
    tail = min((defined <= 0).sum(), (defined >= 0).sum())
    p_value = float(min(1.0, 2 * (tail + 1) / (len(defined) + 1)))
    return _Tested(spread, spread.interval(0.0, confidence), p_value, warned)


def _permutation_p(one: Design, two: Design, difference: float, test: str, n_resamples: int, rng: Rng) -> float:
    """Share of exchanges that differ as much, the one seen among them; scores are standardised first."""
    if one.coefficient == "spa":
        raise ArgumentError("test", f"{test!r} must go with another method than 'spa'")
    alike = one.coefficient in ON_ONE_SCALE  # what asks for the very scale of the labels is exchanged as it is
    first, second = (one, two) if alike else (_standardised_judge(one), _standardised_judge(two))
    seen, used = 0, 0
    for size in resamples_at_once(n_resamples, one.n):
        sizes = (one.n,) if test == "perm-cells" else (one.n_groups, one.n_systems)
        flips = [rng.integers(2, size=(size, k), dtype=np.uint8).astype(bool) for k in sizes]
        masks = flips[0] if test == "perm-cells" else flips[0][:, one.group] ^ flips[1][:, one.system]
        exchanged = levels.exchanged(first, second, masks) - levels.exchanged(first, second, ~masks)
        seen += int((np.abs(exchanged) >= abs(difference) - _ROUNDING).sum())
        used += int(np.isfinite(exchanged).sum())
    return (seen + 1) / (used + 1)


def _standardised_judge(design: Design) -> Design:
    spread = design.x.std()
    return replace(design, x=(design.x - design.x.mean()) / (spread if spread > 0 else 1.0))


def _williams_p(x1: Floats, x2: Floats, y: Floats) -> float:
    """Two-sided p-value of Williams's t for two dependent correlations that share y."""
    n = len(y)
    if n < 4:
        return float("nan")
    r = np.corrcoef([x1, x2, y])
    r12, r1, r2 = r[0, 1], r[0, 2], r[1, 2]
    determinant = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    bottom = 2 * (n - 1) / (n - 3) * determinant + ((r1 + r2) / 2) ** 2 * (1 - r12) ** 3
    if not bottom > _ROUNDING:  # judges that are the same but for their scale
        return 1.0 if abs(r1 - r2) < _ROUNDING else float("nan")
    return float(2 * stats.t.sf(abs(r1 - r2) * np.sqrt((n - 1) * (1 + r12) / bottom), n - 3))
