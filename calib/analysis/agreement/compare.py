"""Two judges, or many, by their agreement with the same labels: which are ahead, and which do not differ clearly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement import agreement as agreements, levels, spread as spreads
from calib.analysis.agreement.agreement import Agreement, AgreementResult
from calib.analysis.agreement.coefficients import WithCoefficient, named_coefficient
from calib.analysis.agreement.levels import AgreementDesign, estimate, within
from calib.analysis.agreement.scales import comparable, scale_caution
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import adjusted_p_values
from calib.core.progress import progress
from calib.core.result import Result, short

TESTS = ("jackknife", *spreads.BOOTSTRAPS, "perm-cells", "perm-axes", "williams")
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "not adjusted"}
_ROUNDING = 1e-12  # differences below it are rounding
_FEW_TIES = 0.05  # fewer ties than one pair in twenty hardly move tau-b


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(AgreementResult):
    """Difference of two judges' agreement with the same labels: the first's less the second's.

    Attributes
    ----------
    first, second : float
        The agreement of each, on what both have in common.
    names, test : tuple of str, str
    n_missing_first, n_missing_second : int
        Labelled items without a score of this judge.
    ties_first, ties_second, ties_y : float
        Shares of tied pairs.
    n_resamples : int
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
        row = self._row("level", "coefficient") | {"first": self.names[0], "second": self.names[1]}
        row |= {"agreement_first": self.first, "agreement_second": self.second}
        more = ("n_missing_first", "n_missing_second", "ties_first", "ties_second", "ties_y", "test")
        return [row | self._row(*agreements.ESTIMATED.split(), *more, "interval_method", "generalises_to")]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {self.coefficient: True, "difference": True, "level": self.level, "test": self.test}
        terms |= self._design_terms
        return terms | {"rule": terms.pop("rule"), "draws": self.n_resamples or None}

    def __str__(self) -> str:
        each = f"{self.names[0]} {short(self.first)}, {self.names[1]} {short(self.second)}"
        difference = f"{short(self.estimate)}, {self.bracket}"
        p = "< 0.0001" if self.p_value < 1e-4 else f"{self.p_value:.2g}"  # NaN is "nan"
        return f"{self._measured}: {each}, difference {difference}, p = {p} ({self.test}, n = {self.n}{self._fixed})"

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
        return f"These data show no clear difference between {one} and {two}{about}."


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

    Both are taken on what they have in common: the items that all three scored and, at level "group", the groups in
    which both have a coefficient.

    Parameters
    ----------
    x1, x2, y : array_like, shape (n,)
        Scores of the two judges, and labels.
    groups, systems, systems_are, level, method, coefficient, constant, missing
        As for `agreement`.
    test : str, default "auto"
        ``"auto"`` is ``"jackknife"``: the jackknife that goes with the design, of the difference itself; it speaks
        about new groups and new systems where both are given and the systems are a sample. For Pearson, Spearman and
        kappa the interval is made on Fisher's z scale of both: the least and the largest difference of all pairs of
        values within t standard errors, given how the two estimates vary together; the p-value inverts it.
        ``"boot-both"``, ``"boot-groups"`` (the cluster bootstrap), ``"boot-systems"``, ``"boot-items"``: percentile
        interval, and the p-value that inverts it. ``"perm-cells"``: the judges' standardised scores of each item change
        places or not (PERM-BOTH as Deutsch et al. and mt-metrics-eval run it). ``"perm-axes"``: whole systems and whole
        groups change places (PERM-BOTH of nlpstats). Both have p = (k + 1) / (B + 1), and test that the two judges'
        scores may be exchanged: where each favours some systems or documents of its own, they call a difference between
        judges that agree equally well with people. ``"williams"``: for item-level Pearson of independent items only,

        .. math:: t = (r_1 - r_2) \sqrt{\frac{(n-1)(1+r_{12})}
                  {2\frac{n-1}{n-3}|R| + \bar r^2 (1-r_{12})^3}}

        with n - 3 degrees of freedom and signed correlations. Permutation tests and Williams's have the jackknife's
        interval beside them.
    names : tuple of str
        What the judges are called in the result.
    confidence_level : float, default 0.95
        How often the interval is to hold.
    n_resamples : int, default 9999
        How many resamples a bootstrap or a permutation test takes.
    rng : Generator or int, optional
        Of these draws: a seed, for the same numbers again.

    Raises
    ------
    ValueError
        As `agreement`; if a test lacks its factor, or Williams's is asked for anything but item-level Pearson of
        independent items.

    Warns
    -----
    CalibWarning
        If tau-b compares judges of whom one ties more than twice as many pairs: tau-b leaves tied pairs out of its
        denominator and favours the one that ties more. If a bootstrap of items meets repeated groups or systems. If a
        judge left more than one item in twenty without a score.

    References
    ----------
    As for `agreement`. Williams (1959), Regression Analysis. The interval on the z scale is that of a profile
    likelihood (Venzon and Moolgavkar 1988, Applied Statistics 37:87-94).

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
    confidence = agreements.checked_agreement_options(constant, missing, confidence_level, n_resamples)
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
    warnings = agreements.unread_cautions(judges, scores[2]) if missing == "drop" else ()
    (low, fewer), (high, more) = sorted(zip((tie["ties_x"] for tie in ties), (0, 1), strict=True))
    if named == "kendall" and high > 2 * low and high >= _FEW_TIES:
        unequal = f"unequal_ties: {names[more]} ties {100 * high:.0f} % of the pairs, {names[fewer]} {100 * low:.0f} %"
        favours = "tau-b favours the one that ties more, so read Spearman or pairwise accuracy beside it"
        warnings = (*warnings, f"{unequal}; {favours}")
    warnings += spreads.test_cautions(one, test)
    how = test, confidence, n_resamples, np.random.default_rng(rng)
    spread, interval, p_value, cautions = spreads.no_difference_test(one, two, (first, second), *how)
    check.warn_all(warnings := warnings + cautions)
    warnings = (*scale_caution(named, one.x, one.y), *scale_caution(named, two.x, two.y), *warnings)
    warnings += agreements.reversed_cautions(dict(zip(names, (first, second), strict=True)), named)
    n_missing = [int((np.isnan(x) & np.isfinite(scores[2])).sum()) for x in scores[:2]]
    factors = " and ".join(name for name, k in (("groups", one.n_groups), ("systems", one.n_systems)) if k)
    reason, undefined = "", [str(name) for name, v in zip(names, (first, second), strict=True) if not np.isfinite(v)]
    if np.isnan(interval.low) and undefined and one.n and np.ptp(one.y) > 0:
        reason = f"{' and '.join(undefined)} {'has' if len(undefined) == 1 else 'have'} no coefficient"
    elif np.isnan(interval.low) and undefined and level == "group":
        reason = "there is no group in which both have a coefficient"
    elif np.isnan(interval.low):
        alike = "the two agree with the labels alike"
        reason = alike if first == second else spreads.no_interval_reason(one, first - second, test)
    return Comparison(
        estimate=difference, std_error=spread.std_error, interval=interval, p_value=p_value,
        confidence_level=confidence, first=first, second=second, names=(str(names[0]), str(names[1])), test=test,
        generalises_to="these " + (factors or "items") if test.startswith("perm") else spread.speaks_of, reason=reason,
        systems_are=agreements.systems_role(one, test), n_missing=int((~np.isfinite(sum(scores))).sum()),
        n_missing_first=n_missing[0], n_missing_second=n_missing[1], n_skipped=n_skipped, ties_first=ties[0]["ties_x"],
        ties_second=ties[1]["ties_x"], ties_y=ties[0]["ties_y"],
        n_resamples=n_resamples if test.startswith(("boot", "perm")) else 0, warnings=warnings, **rules,
        **spread.made_over(one),
    )  # fmt: skip


def _designs_in_common(
    scores: Sequence[Floats], options: dict[str, Any], argument: str
) -> tuple[AgreementDesign, AgreementDesign, int]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(WithCoefficient, Result):
    """Many judges in the order of their agreement with people, and which of them differ.

    Attributes
    ----------
    names : tuple of str
        From the highest agreement down; those without a coefficient last.
    agreements, comparisons : tuple of Agreement, tuple of Comparison
        Each judge with its own interval, on the items that all of them scored; each pair, the higher one first, on the
        groups that both have, in the order (0, 1), (0, 2), ...
    p_values, distinct : ndarray, shape (judges, judges)
        Adjusted for the number of pairs, NaN on the diagonal and where a test is not defined; pairs that differ.
    clusters : tuple of int
        1, 2, ...: every judge of one cluster differs from every judge of another, and is ahead of it; 0 where
        a judge has no coefficient.
    n_missing, n_missing_alone : int, tuple of int
        Labelled items without a score of some judge, and of each judge.
    correction : str
    level, coefficient, test : str
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
    n_missing_alone: tuple[int, ...]
    correction: str
    level: str
    coefficient: str
    test: str
    confidence_level: float
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for i, r in enumerate(self.agreements):
            row = self._row("level", "coefficient") | {"judge": self.names[i]}
            row |= {"estimate": r.estimate, "std_error": r.std_error, "conf_low": r.conf_low, "conf_high": r.conf_high}
            row |= {"cluster": self.clusters[i], "not_distinguishable": ", ".join(self.like(i)), "n": r.n}
            row |= {"n_missing": self.n_missing, "n_missing_alone": self.n_missing_alone[i]}
            rows.append(row | {"n_groups": r.n_groups, "n_systems": r.n_systems})
        return rows

    def like(self, place: int) -> list[str]:
        """The judges from which the one at this place does not differ clearly."""
        if not self.clusters[place]:  # what has no coefficient is neither like another judge nor unlike it
            return []
        others = [j for j, cluster in enumerate(self.clusters) if cluster and j != place]
        return [self.names[j] for j in others if not self.distinct[place, j]]

    def _terms(self) -> dict[str, Any]:
        pair, judge, judges = self.comparisons[0], self.agreements[0], len(self.names)
        groups = max(result.n_groups for result in self.agreements)
        terms: dict[str, Any] = {self.coefficient: True, "ranking": True, "level": self.level, "judges": judges}
        terms |= {"test": self.test, "correction": self.correction, "cl": self.confidence_level, "n": judge.n}
        terms |= {"missing": self.n_missing, "groups": groups or None, "systems": pair.n_systems or None}
        rule = "missing-as-zero" if pair.missing == "zero" else None
        return terms | {"constant": judge.constant, "rule": rule, "draws": pair.n_resamples or None}

    def __str__(self) -> str:
        listed = [f"{name} {short(r.estimate)}" for name, r in zip(self.names, self.agreements, strict=True)]
        return f"{self._measured}: {', '.join(listed)}. {self.conclusion}"

    @property
    def conclusion(self) -> str:
        """What may be concluded, in one sentence."""
        ranked = [place for place, cluster in enumerate(self.clusters) if cluster]
        without = self.names[len(ranked) :]
        more = f"; {', '.join(without)} {'has' if len(without) == 1 else 'have'} no coefficient" if without else ""
        if len(ranked) < 2:
            return f"There are not two judges to compare{more}."
        pairs, apart = len(ranked) * (len(ranked) - 1) // 2, int(self.distinct.sum()) // 2
        # one that differs the other way round, on the groups that both have, is not behind either
        behind = [self.distinct[0, j] and self.comparisons[j - 1].estimate > 0 for j in ranked[1:]]
        alike = [self.names[j] for j, lower in zip(ranked[1:], behind, strict=True) if not lower]
        first = f"{self.names[0]} does not differ clearly from {', '.join(alike)}"
        first = first if alike else f"{self.names[0]} is ahead of all others"
        of_pairs = f"; {apart} of {pairs} pairs differ ({CORRECTIONS[self.correction]})" * (pairs > 1)
        return f"{first}{of_pairs}{more}."


def rank_judges(
    judges: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    groups: Labels | None = None,
    systems: Labels | None = None,
    systems_are: str = "auto",
    level: str = "item",
    method: str = "spearman",
    test: str = "auto",
    correction: str = "holm",
    constant: str = "skip",
    missing: str = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: np.random.Generator | int | None = None,
    coefficient: str | None = None,
) -> Ranking:
    """Judges in the order of their agreement with people's labels, every pair tested.

    All of them are taken on the items that all have scored: agreement on other items is another quantity.

    Parameters
    ----------
    judges : mapping of str to array_like, shape (n,)
    y : array_like, shape (n,)
        Two judges or more, by name, and labels.
    groups, systems, systems_are, level, method, coefficient, test, constant, missing
    confidence_level, n_resamples, rng
        As for `compare`.
    correction : {"holm", "bh", "none"}, default "holm"
        Holm holds the chance of any wrong "distinguishable" at 1 - confidence_level; Benjamini and Hochberg hold the
        expected share of wrong ones among them.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6:65-70. Benjamini and Hochberg (1995), JRSS B 57:289-300.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=300)
    >>> judges = {name: y + sd * rng.normal(size=300) for name, sd in [("a", 3), ("b", 1), ("c", 1)]}
    >>> result = rank_judges(judges, y)
    >>> print(result.conclusion)
    b does not differ clearly from c; 2 of 3 pairs differ (Holm).
    >>> result.clusters
    (1, 1, 2)
    """
    check.choice(correction, "correction", tuple(CORRECTIONS))
    if not isinstance(judges, Mapping):
        raise ArgumentError("judges", "must be a mapping of names to scores", f"got {type(judges).__name__}")
    if len(judges) < 2:
        raise ArgumentError("judges", "must hold two judges or more", f"got {len(judges)}")
    rules: dict[str, Any] = {"groups": groups, "systems": systems, "systems_are": systems_are, "level": level}
    rules |= {"method": method, "coefficient": coefficient, "constant": constant, "missing": missing}
    rules["confidence_level"] = confidence_level
    labels = check.array(y, "y", ndim=1)
    columns = {str(name): check.array(x, f"judges[{name!r}]", ndim=1) for name, x in judges.items()}
    if len(columns) < len(judges):
        raise ArgumentError("judges", "must have names that differ as text", f"got {', '.join(map(repr, judges))}")
    check.same_length(y=labels, **{f"judges[{name!r}]": x for name, x in columns.items()})
    for name, x in columns.items():
        if not np.isfinite(x).any():
            raise ArgumentError(f"judges[{name!r}]", "must have a score", "all are missing")
    all_scored = np.isfinite(sum(columns.values()))
    n_missing = int((np.isfinite(labels) & ~all_scored).sum())
    lacks = {name: int((np.isnan(x) & np.isfinite(labels)).sum()) for name, x in columns.items()}
    shared = labels if missing == "zero" else np.where(all_scored, labels, np.nan)
    warnings, n = [], int(np.isfinite(labels).sum())
    if missing == "drop" and n_missing > agreements.MANY_LACK * n:
        lack = f"items_left_out: {n_missing} of {n} items are left out because some judge has no score there"
        most = max(lacks, key=lambda name: lacks[name])
        warnings.append(f"{lack} ({most} for {lacks[most]}): compare judges two by two")
        check.warn(warnings[0])
    alone = {name: agreements.agreement(x, shared, **rules) for name, x in columns.items()}
    # what has no coefficient comes last
    names = sorted(columns, key=lambda name: (np.isnan(alone[name].estimate), -alone[name].estimate))
    how = rules | {"test": test, "n_resamples": n_resamples, "rng": np.random.default_rng(rng)}
    twos = progress([*combinations(names, 2)], "pairs of judges")
    pairs = [compare(columns[a], columns[b], shared, names=(a, b), **how) for a, b in twos]
    p_values = _symmetric(adjusted_p_values([pair.p_value for pair in pairs], correction), len(names))
    distinct = p_values <= 1 - confidence_level
    n_ranked = sum(bool(np.isfinite(each.estimate)) for each in alone.values())
    # a new cluster begins where all above are ahead of all below
    ahead = distinct & (_symmetric([pair.estimate for pair in pairs], len(names)) > 0)
    begins = [0, *(bool(ahead[:i, i:n_ranked].all()) for i in range(1, n_ranked))]
    clusters = [1 + sum(begins[: i + 1]) for i in range(n_ranked)] + [0] * (len(names) - n_ranked)
    return Ranking(
        names=tuple(names), agreements=tuple(alone[name] for name in names), comparisons=tuple(pairs),
        p_values=p_values, distinct=distinct, clusters=tuple(clusters), n_missing=n_missing,
        n_missing_alone=tuple(lacks[name] for name in names), correction=correction, level=level,
        coefficient=pairs[0].coefficient, test=pairs[0].test, confidence_level=confidence_level,
        warnings=tuple(dict.fromkeys([*warnings, *(text for pair in pairs for text in pair.warnings)])),
    )  # fmt: skip


def _symmetric(upper: ArrayLike, k: int) -> Floats:
    table = np.full((k, k), np.nan)
    table[np.triu_indices(k, 1)] = upper
    return np.where(np.isnan(table), table.T, table)
