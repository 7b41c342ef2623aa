"""Intervals and tests: the jackknife of a design, resamples of its factors, exchanges of two judges' scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from calib.analysis.agreement import coefficients as kernels, levels
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats
from calib.core.laws import two_sided
from calib.core.numeric import jackknife_variance, wilson
from calib.core.result import NO_INTERVAL, Interval

_FEW_JACKKNIFED = 10  # below it a jackknife may find all estimates alike by chance
_FEW_UNLIKE = 20  # items; where fewer leave the commonest score, intervals cover 65 to 94 % in simulations
_TIED_MOSTLY = 0.5  # share of tied pairs above which tau-b and gamma are as skewed as a product moment
_ROUNDING = 1e-12  # differences of two coefficients below it are rounding
_ANGLES = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
_CIRCLE = np.cos(_ANGLES), np.sin(_ANGLES)
_FAR = 100.0  # standard errors; what is further away has p = 0 for all purposes
BOOTSTRAPS = {
    "boot-both": (("groups", "systems"), "new groups and new systems"),
    "boot-groups": (("groups",), "new groups, these systems"),
    "boot-systems": (("systems",), "new systems, these groups"),
    "boot-items": (("items",), "new items, each independent of the others"),
}


class Answers(NamedTuple):
    """What a share is made of: n answers in so many units, of which `split` are not all yes or all no."""

    n: int
    units: int
    split: int


def answers_of(yes: NDArray[np.bool_], unit: Codes) -> Answers:
    """The answers of units 0..k-1, whose split ones are those that the rarer answer is in."""
    size, agreed = np.bincount(unit), np.bincount(unit, yes)
    return Answers(len(yes), len(size), int(min((agreed > 0).sum(), (agreed < size).sum())))


def share_interval(share: float, variance: float, answers: Answers, df: float, level: float) -> Interval:
    r"""Wilson's interval with an effective number of answers, which stays within 0 and 1 and holds at 100 %.

    The design effect is d = n V / (p (1 - p)), from 1 to n. Where few units hold the rarer answer they say little of
    it, and where none does, nothing; so one more unit, whose answers would all be alike, is averaged in:
    :math:`d^* = (s d + n / k) / (s + 1)` with s split units of k. The share is worth n / d* answers.
    """
    if not np.isfinite(share * variance):
        return NO_INTERVAL
    effect = per_unit = answers.n / answers.units
    if 0 < share < 1 and variance > 0 and per_unit > 1:
        plain = min(max(answers.n * variance / (share * (1 - share)), 1.0), answers.n)
        effect = max(plain, (answers.split * plain + per_unit) / (answers.split + 1))
    worth = answers.n / effect
    return Interval(*map(float, wilson(share * worth, worth, two_sided(df, level))))


@dataclass(frozen=True, slots=True)
class Spread:
    """A standard error with its scale, or resamples: what an interval is made of."""

    name: str
    std_error: float
    df: float = float("nan")
    speaks_of: str = ""
    fisher: bool = False
    bounds: tuple[float, float] = (-1.0, 1.0)
    resamples: Floats | None = None
    least: float = 0.0  # standard error on the z scale, and the degrees of freedom that go with it
    least_df: float = float("inf")
    score: bool = False  # an error that shrinks towards -1 and 1 as that of a share does: Wilson's interval
    correlations: int = 0  # of a mean of correlations of few systems, by Wilson's interval: of how many
    unseen: tuple[float, float] = (0.0, 0.0)  # what one more item could take the estimate down and up by
    answers: Answers | None = None  # of a share: it has Wilson's interval

    def made_over(self, design: levels.AgreementDesign) -> dict[str, Any]:
        """Fields of a result about the interval and its design."""
        counts = {"n": design.n, "n_groups": design.n_groups, "n_systems": design.n_systems}
        return {"interval_method": self.name, "df": self.df, **counts}

    def interval(self, estimate: float, confidence_level: float) -> Interval:
        """The interval around an estimate; NaN where no spread among the units says anything about others."""
        if self.resamples is not None:
            tail = (1 - confidence_level) / 2
            ends = np.quantile(self.resamples, [tail, 1 - tail]).tolist() if len(self.resamples) else NO_INTERVAL
            return Interval(*ends)
        if self.answers is not None and self.df >= 1:
            return share_interval(estimate, self.std_error**2, self.answers, self.df, confidence_level)
        if self._says_nothing(estimate):
            return NO_INTERVAL
        t = float(stats.t.ppf((1 + confidence_level) / 2, self.df))
        if self.score:  # all values in [-1, 1] that lie within t of their own standard errors from the estimate
            ends = []
            for side in (-1, 1):
                square = t**2 * self._variance_at_0(estimate, side)
                half = np.sqrt(square * (1 - estimate**2 + square))
                ends.append(float(np.clip((estimate + side * half) / (1 + square), -1, 1)))
            return Interval(*ends)
        down, up = (t * self._error(side) for side in (-1, 1))
        if self.fisher:
            least = self.least * float(stats.t.ppf((1 + confidence_level) / 2, self.least_df)) if self.least else 0.0
            # d atanh(r) = dr / (1 - r^2)
            centre, (down, up) = np.arctanh(estimate), (max(half / (1 - estimate**2), least) for half in (down, up))
            return Interval(float(np.tanh(centre - down)), float(np.tanh(centre + up)))
        low, high = self.bounds
        return Interval(float(max(estimate - down, low)), float(min(estimate + up, high)))

    def _says_nothing(self, estimate: float) -> bool:
        if self.correlations and np.isinf(self.df):
            return False
        return not self.df >= 1 or not self.std_error >= 1e-12 or ((self.fisher or self.score) and abs(estimate) == 1)

    def _error(self, side: int) -> float:
        """The standard error below (-1) or above (1) the estimate: of the items seen, and of one that was not."""
        return float(np.hypot(self.std_error, self.unseen[side > 0]))

    def _variance_at_0(self, estimate: float, side: int) -> float:
        """Variance of the estimate if it were 0; of correlations that are all 1 or -1, one over their number."""
        return 1 / self.correlations if np.isinf(self.df) else self._error(side) ** 2 / (1 - estimate**2)

    def p_value(self, estimate: float) -> float:
        """Two-sided p-value of 0, by the law of the interval."""
        if self.resamples is not None or self._says_nothing(estimate):
            return float("nan")
        distance = np.arctanh(estimate) * (1 - estimate**2) if self.fisher else estimate
        side = -1 if estimate > 0 else 1  # where 0 lies
        error = np.sqrt(self._variance_at_0(estimate, side)) if self.score else self._error(side)
        return float(2 * stats.t.sf(abs(distance) / error, self.df))


NO_SPREAD = Spread("none", float("nan"))
_NO_TEST = NO_SPREAD, NO_INTERVAL, float("nan")


def refuse_new_systems(systems_are: str, interval: str, argument: str) -> None:
    """A bootstrap that draws systems does not go with systems that are the only ones in question."""
    if systems_are == "fixed" and "systems" in BOOTSTRAPS.get(interval, ((),))[0]:
        rule = f"{interval!r} draws systems, so {{0}} must not be 'fixed'"
        raise ArgumentError(argument, rule, mentions=("systems_are",))


def spread_of_estimate(
    design: levels.AgreementDesign, value: float, interval: str, n_resamples: int, rng: np.random.Generator | int | None
) -> tuple[Spread, tuple[str, ...]]:
    """The spread of one estimate, and warnings about it."""
    if interval == "none" or not np.isfinite(value):
        return NO_SPREAD, ()
    if interval not in BOOTSTRAPS:
        left = levels.left_out(design)
        spread = jackknife_spread(design, left)
        if not np.isfinite(spread.std_error):
            return NO_SPREAD, ()
        if not design.one_counts:
            return spread, ()
        # how far one more item takes the estimate that has the raters agree, below 0 (but kappa) disagree
        negative = design.coefficient not in kernels.ON_ONE_SCALE and value < -_ROUNDING
        moved = levels.with_one_more(design, agreeing=not negative) - value
        down, up = (max(float(-moved.min()), 0.0), 0.0) if negative else (0.0, max(float(moved.max()), 0.0))
        return replace(spread, unseen=(down, up)), ()
    warnings = warnings_of_bootstrap(design, interval, "interval")
    if not has_several_units(design, interval):
        return NO_SPREAD, warnings
    estimates = levels.resampled(design, BOOTSTRAPS[interval][0], n_resamples, np.random.default_rng(rng))
    spread, undefined = percentile_spread(estimates, interval)
    return spread, check.warn_all(warnings + undefined)


def has_several_units(design: levels.AgreementDesign, interval: str) -> bool:
    """Whether a bootstrap has units to draw from: one group says nothing about others."""
    units = {"groups": design.n_groups, "systems": design.n_systems, "items": design.n}
    return all(units[factor] > 1 for factor in BOOTSTRAPS[interval][0])


def percentile_spread(estimates: Floats, interval: str) -> tuple[Spread, tuple[str, ...]]:
    """The spread of resampled estimates, and a warning where some of them are not defined."""
    defined = estimates[np.isfinite(estimates)]
    lost = len(estimates) - len(defined)
    text = f"undefined: {lost} of {len(estimates)} resamples had no coefficient and were left out"
    error = float(defined.std(ddof=1)) if len(defined) > 1 else float("nan")
    spread = Spread(f"{interval} percentile", error, speaks_of=BOOTSTRAPS[interval][1], resamples=defined)
    return spread, (text,) if lost else ()


def warnings_of_bootstrap(design: levels.AgreementDesign, interval: str, argument: str) -> tuple[str, ...]:
    """Refuses a bootstrap that lacks its factor, and says where it takes dependent items as independent."""
    factors = {"groups": (design.group, design.n_groups), "systems": (design.system, design.n_systems)}
    for name, (codes, _) in factors.items():
        if name in BOOTSTRAPS[interval][0] and codes is None:
            raise ArgumentError(name, f"must be given for {interval!r}", "got None")
    if interval != "boot-items":
        return ()
    if design.level != "item":
        raise ArgumentError(argument, "'boot-items' must go with level 'item'", f"got {design.level!r}")
    repeated = [name for name, (codes, k) in factors.items() if codes is not None and k < len(codes)]
    if not repeated:
        return ()
    text = f"boot-items takes items as independent, but {' and '.join(repeated)} repeat: its interval is too short"
    return (f"repeated_groups: {text}",)


def test_cautions(design: levels.AgreementDesign, test: str) -> tuple[str, ...]:
    """Refuses a test of two judges that does not go with the design; what to know of one that does."""
    if test in BOOTSTRAPS:
        return warnings_of_bootstrap(design, test, "test")
    for name, codes in (("groups", design.group), ("systems", design.system)):
        if test == "perm-axes" and codes is None:
            raise ArgumentError(name, "must be given for 'perm-axes'", "got None")
    if test == "williams" and (design.level, design.coefficient) != ("item", "pearson"):
        got = f"got {design.level!r} and {design.coefficient!r}"
        raise ArgumentError("test", "'williams' must go with level 'item' and method 'pearson'", got)
    for name, codes in zip(("groups", "systems"), design.units, strict=True):
        if test == "williams" and codes is not None and int(codes.max(initial=-1)) + 1 < len(codes):
            rule = "'williams' takes items as independent: 'jackknife' is for items that share {0}"
            raise ArgumentError("test", rule, mentions=(name,))
    return ()


def jackknife_spread(design: levels.AgreementDesign, left: levels.LeftOut) -> Spread:
    """The jackknife that goes with the design, from the estimates without each unit."""
    variance, df, name = design_variance(design, left)
    plain = Spread(name, float(np.sqrt(variance)), df, design.speaks_of)
    if design.coefficient in kernels.SHARES:
        # Wilson's interval: of n answers where items are independent, else of what the units make of them
        units = int(df) + 1 if np.isfinite(df) else 0
        if design.coefficient not in kernels.AGREED_WITHIN:  # of pairs, each of which two units answer
            return replace(plain, answers=Answers(units * (units - 1) // 2, units, units))
        if not design.repeats:
            return replace(plain, name="Wilson", df=np.inf, answers=Answers(design.n, design.n, 0))
        yes = np.abs(design.x - design.y) <= kernels.AGREED_WITHIN[design.coefficient]
        several = [unit for unit in design.units if unit is not None]
        # the factor whose units the degrees of freedom count
        unit = min(several, key=lambda codes: abs(int(codes.max()) + 1 - units))
        return replace(plain, name=f"Wilson, {name}", answers=answers_of(yes, unit))
    if design.level == "group" and left.group is not None and left.cell is None:
        # the estimate is a mean of independent correlations, which t fits as it is, but for few systems not
        if not design.fixed:
            return plain
        # of two systems it is 1 or -1 in each group, and its mean a share of the groups
        squares = np.mean(left.group) ** 2 + df * plain.std_error**2
        df = np.inf if np.isclose(squares, 1, rtol=0, atol=1e-9) else df
        return replace(plain, name=f"Wilson, {name}", df=df, score=True, correlations=design.n_groups)
    skewed = design.coefficient in kernels.PRODUCT_MOMENTS
    if design.level == "item" and design.coefficient in ("kendall", "gamma"):  # of yes and no, tau-b is Pearson's r
        ties = levels.ties_of(design)
        skewed = bool(max(ties["ties_x"], ties["ties_y"]) > _TIED_MOSTLY)
    independent = design.level == "item" and left.item is not None
    spread = replace(plain, fisher=skewed, score=independent and not skewed)
    fisher_error = float(1 / np.sqrt(design.n - 3)) if design.n > 3 else float("inf")  # of n independent normal pairs
    if left.item is not None and few_unlike(design):
        return replace(spread, least=fisher_error, least_df=df)
    few = left.item is not None and design.n < _FEW_JACKKNIFED
    return replace(spread, least=fisher_error) if few else spread


def few_unlike(design: levels.AgreementDesign) -> int:
    """Items off the commonest score, of the rater who has fewer, where they are few and the others most; else 0.

    Then a jackknife sees next to nothing of what may come.
    """
    if design.level != "item" or design.coefficient in kernels.SHARES:
        return 0
    sizes = [np.bincount(kernels.levels_of(v), design.count) for v in (design.x, design.y)]
    few = int(min(size.sum() - size.max() for size in sizes))
    return few if 2 * few < design.n and few < _FEW_UNLIKE else 0


def design_variance(design: levels.AgreementDesign, left: levels.LeftOut) -> tuple[float, float, str]:
    """Variance of the jackknife, its degrees of freedom and its name."""
    if left.cell is not None and left.system is not None and left.group is not None:
        parts = (jackknife_variance(v) for v in (left.system, left.group, left.cell))
        (rows, m), (columns, n), (cells, _) = ((float(variance), int(k)) for variance, k in parts)
        least = rows if design.level == "system" else min(rows, columns)
        variance = max(rows + columns - cells, least)
        return variance, min(m, n) - 1, "two-way jackknife"
    for name, without in (("group", left.group), ("system", left.system), ("item", left.item)):
        if without is not None:
            one_way, k = jackknife_variance(without, left.copies)
            return float(one_way), int(k) - 1, f"{name} jackknife"
    return float("nan"), float("nan"), "none"


def no_interval_reason(design: levels.AgreementDesign, estimate: float, interval: str) -> str:
    """Why a design gives no interval, in words."""
    if not np.isfinite(estimate):
        constant = [who for who, v in (("the judge", design.x), ("people", design.y)) if design.n and not np.ptp(v)]
        return f"{' and '.join(constant)} gave one value only" if constant else "nothing can be correlated"
    if interval in BOOTSTRAPS:
        several = has_several_units(design, interval)
        return "no resample has a coefficient" if several else "one alone says nothing about others"
    group = design.units[0]
    if design.level == "group" and group is None:
        return "one group alone says nothing about others"
    if design.level != "item" and design.n_systems == 2:
        no_other = "without one of 2 systems nothing is left to correlate; take them as fixed"
        return "2 systems agree in full or not at all" if design.fixed else no_other
    if design.jumps:
        few = f"over {design.n_systems} systems that are fixed no interval was found to hold"
        jumps = "the order of systems that are fixed changes in jumps, which a bootstrap of groups can follow"
        return few if design.n_systems < levels.FEW_SYSTEMS else jumps
    if not design.repeats and design.n < 4:
        return f"{design.n} items are too few"
    unit = "item" if not design.repeats else "group" if group is not None else "system"
    return f"it is the same without any of the {unit}s"


def no_correlation_test(design: levels.AgreementDesign, value: float, spread: Spread) -> float:
    """Scipy's p-value where the pairs are independent, else that of the interval; NaN of what has no such null."""
    if design.coefficient in kernels.SHARES or not np.isfinite(value):
        return float("nan")
    unsigned = ("gamma", "kappa", "kappa_nominal", "kendall_a")
    if design.repeats or design.level != "item" or design.coefficient in unsigned:
        return spread.p_value(value)
    if design.n < 3 or not np.ptp(design.x) > 0 or not np.ptp(design.y) > 0:
        return float("nan")
    if design.count is None and design.coefficient != "spearman":
        test = stats.pearsonr if design.coefficient == "pearson" else stats.kendalltau
        return float(test(design.x, design.y).pvalue)
    if design.count is not None and design.coefficient not in kernels.PRODUCT_MOMENTS:
        return _p_of_tau(design.x, design.y, design.count)
    df = design.n - 2
    return 0.0 if abs(value) >= 1 else float(2 * stats.t.sf(abs(value) * np.sqrt(df / (1 - value**2)), df))


def _p_of_tau(x: Floats, y: Floats, count: Floats) -> float:
    """The normal test of tau with ties (Kendall 1970, chapter 4), from a contingency table."""
    n = float(count.sum())
    balance = kernels.weighted_correlation(x, y, count[None], "kendall_a")[0] * n * (n - 1) / 2
    sums = []
    for values in (x, y):
        t = np.bincount(kernels.levels_of(values), count)
        sums.append([float(v.sum()) for v in (t * (t - 1), t * (t - 1) * (t - 2), t * (t - 1) * (2 * t + 5))])
    (pairs_x, triples_x, fives_x), (pairs_y, triples_y, fives_y) = sums
    variance = (n * (n - 1) * (2 * n + 5) - fives_x - fives_y) / 18
    variance += pairs_x * pairs_y / (2 * n * (n - 1)) + triples_x * triples_y / (9 * n * (n - 1) * (n - 2))
    return float(2 * stats.norm.sf(abs(balance) / np.sqrt(variance)))


def no_difference_test(
    one: levels.AgreementDesign, two: levels.AgreementDesign, values: tuple[float, float], test: str,
    confidence: float, n_resamples: int, rng: np.random.Generator,
) -> tuple[Spread, Interval, float, tuple[str, ...]]:  # fmt: skip
    """The spread and the interval of the difference of two coefficients, the p-value of "no difference", warnings."""
    difference = values[0] - values[1]
    if not np.isfinite(difference) or (test in BOOTSTRAPS and not has_several_units(one, test)):
        return *_NO_TEST, ()
    if test in BOOTSTRAPS:
        factors = BOOTSTRAPS[test][0]
        if test == "boot-items":
            one, two = (replace(design, group=np.arange(design.n), system=None) for design in (one, two))
            factors = ("groups",)
        weights = levels.factor_weights(one, factors, n_resamples, rng)
        differences = np.concatenate([levels.under(one, *w) - levels.under(two, *w) for w in weights])
        differences[np.abs(differences) < _ROUNDING] = 0.0
        spread, warnings = percentile_spread(differences, test)
        defined = spread.resamples
        if defined is None or not len(defined):
            return *_NO_TEST, warnings
        # the level at which the percentile interval just meets 0
        tail = min((defined <= 0).sum(), (defined >= 0).sum())
        p_value = float(min(1.0, 2 * (tail + 1) / (len(defined) + 1)))
        return spread, spread.interval(0.0, confidence), p_value, warnings
    spread, interval, p_value = _jackknife_test(one, two, values, confidence)
    if test == "williams":
        p_value = _williams_p(one.x, two.x, one.y)
    elif test != "jackknife":  # share of exchanges that differ as much, the one observed among them
        if one.coefficient == "spa":
            raise ArgumentError("test", f"{test!r} must go with another method than 'spa'")
        if one.coefficient not in kernels.ON_ONE_SCALE:  # what asks for the scale of the labels is exchanged as it is
            spreads = [design.x.std() or 1.0 for design in (one, two)]
            one, two = (replace(d, x=(d.x - d.x.mean()) / s) for d, s in zip((one, two), spreads, strict=True))
        as_large, n_defined = 0, 0
        for size in levels.resamples_at_once(n_resamples, one.n):
            sizes = (one.n,) if test == "perm-cells" else (one.n_groups, one.n_systems)
            flips = [rng.integers(2, size=(size, k), dtype=np.uint8).astype(bool) for k in sizes]
            masks = flips[0] if test == "perm-cells" else flips[0][:, one.group] ^ flips[1][:, one.system]
            differences = levels.exchanged(one, two, masks) - levels.exchanged(one, two, ~masks)
            as_large += int((np.abs(differences) >= abs(difference) - _ROUNDING).sum())
            n_defined += int(np.isfinite(differences).sum())
        p_value = (as_large + 1) / (n_defined + 1)
    return spread, interval, p_value, ()


def _jackknife_test(
    one: levels.AgreementDesign, two: levels.AgreementDesign, values: tuple[float, float], confidence: float
) -> tuple[Spread, Interval, float]:
    """The interval of a difference by the jackknife; of skewed estimates from both on Fisher's z scale.

    There the two are taken as normal, with their jackknife variances and the covariance that the variance of the
    difference implies. All pairs within t standard errors form an ellipse; the interval has the least and the largest
    difference on it, as a profile likelihood has.
    """
    left = [levels.left_out(design) for design in (one, two)]
    apart = levels.LeftOut(*(None if a is None else a - b for a, b in zip(*left, strict=True)))
    variance, df, name = design_variance(one, apart)
    difference = values[0] - values[1]
    if not np.isfinite(variance):
        return _NO_TEST
    whole = Spread(name, float(np.sqrt(variance)), df, one.speaks_of, bounds=(-2.0, 2.0))
    if abs(difference) < _ROUNDING and whole.std_error < _ROUNDING:  # nowhere do they differ
        return whole, NO_INTERVAL, 1.0
    parts = [jackknife_spread(design, each) for design, each in zip((one, two), left, strict=True)]
    if not all(part.fisher and part.std_error >= _ROUNDING for part in parts) or max(map(abs, values)) >= 1 - _ROUNDING:
        return whole, whole.interval(difference, confidence), whole.p_value(difference)
    if not whole.std_error >= _ROUNDING or not whole.df >= 1:
        return _NO_TEST
    v, v1, v2 = (spread.std_error**2 for spread in (whole, *parts))
    shared = float(np.clip((v1 + v2 - v) / (2 * np.sqrt(v1 * v2)), -1, 1))  # correlation of the two estimates
    (z1, z2), (e1, e2) = np.arctanh(values), [p.std_error / (1 - r**2) for p, r in zip(parts, values, strict=True)]
    across, along = e1 * _CIRCLE[0], e2 * (shared * _CIRCLE[0] + np.sqrt(1 - shared**2) * _CIRCLE[1])

    def ends(t: float) -> Interval:
        differences = np.tanh(z1 + t * across) - np.tanh(z2 + t * along)
        return Interval(float(differences.min()), float(differences.max()))

    interval = ends(float(stats.t.ppf((1 + confidence) / 2, whole.df)))
    if abs(difference) < _ROUNDING:
        return whole, interval, 1.0
    # the p-value is the level at which the interval's end just meets 0
    facing = 0 if difference > 0 else 1
    beyond = (ends(_FAR)[facing] > 0) == (difference > 0)
    t = _FAR if beyond else optimize.brentq(lambda t: ends(t)[facing], 0.0, _FAR)
    return whole, interval, float(2 * stats.t.sf(t, whole.df))


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
