"""People as raters: how far they agree, and what that leaves for a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from calib.analysis.agreement.alpha import Alpha, krippendorff_alpha
from calib.analysis.agreement.ceiling import Ceiling, human_ceiling
from calib.analysis.agreement.coefficients import COEFFICIENTS, NEEDS_NO_ORDER, named_coefficient
from calib.analysis.agreement.disattenuated import Disattenuated, disattenuated
from calib.analysis.agreement.icc import ICC, icc
from calib.core import check
from calib.core.check import ArgumentError, Labels
from calib.core.result import Result, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability(Result):
    """How far people agree, and what that allows a judge.

    Attributes
    ----------
    alpha : Alpha
    icc : ICC or None
        None under the nominal metric: names have no variance.
    ceiling : Ceiling
    disattenuated : Disattenuated or None
        None without a judge, and under the nominal metric.
    """

    alpha: Alpha
    icc: ICC | None
    ceiling: Ceiling
    disattenuated: Disattenuated | None

    def _rows(self) -> list[dict[str, Any]]:
        parts = (self.alpha, self.icc, self.ceiling, self.disattenuated)
        return [row for part in parts if part is not None for row in part._rows()]  # noqa: SLF001 - results of one family

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"reliability": True, "metric": self.alpha.metric, "level": self.ceiling.level}
        terms |= {"method": self.ceiling.coefficient, "ci": self.ceiling.interval_method.replace(" ", "-")}
        terms |= {"cl": self.alpha.confidence_level, "n": self.alpha.n, "raters": self.alpha.n_raters}
        return terms | {"groups": self.ceiling.n_groups or None, "systems": self.ceiling.n_systems or None}

    def __str__(self) -> str:
        of_people, judged = self.ceiling, bool(self.ceiling.judge_by_rater)
        parts = [f"alpha {short(self.alpha.estimate)}"]
        if self.icc is None:
            name = COEFFICIENTS[of_people.coefficient]
            parts[0] += " (nominal)"
            parts += [f"{name} of one person with another {short(of_people.ceiling)}"]
        else:
            parts += [self.icc.of_the_mean, f"one person against the others {short(of_people.ceiling)}"]
        parts += [f"judge against the same {short(of_people.judge)}"] * judged
        if self.disattenuated is not None:
            value = self.disattenuated
            above = " (above 1)" if value.warnings else ""
            parts += ["disattenuated " + ("refused" if value.reason else short(value.estimate)) + above]
        return f"{self.alpha.n_raters} raters, {self.alpha.n} items: {', '.join(parts)}"


def reliability(
    ratings: ArrayLike,
    judge: ArrayLike | None = None,
    *,
    metric: str = "interval",
    groups: Labels | None = None,
    systems: Labels | None = None,
    level: str = "item",
    method: str = "spearman",
    min_reliability: float = 0.7,
    confidence_level: float = 0.95,
    coefficient: str | None = None,
) -> Reliability:
    """Krippendorff's alpha, intraclass correlations, the ceiling for a judge and the disattenuated correlation.

    That is `krippendorff_alpha`, `icc`, `human_ceiling` and `disattenuated`. The frame has
    one row per quantity; the items differ where ratings are missing, so each row has its
    own `n`, and says how its interval was made.

    Under the nominal metric nothing that needs an order is computed: no intraclass correlation and no
    disattenuated one, and the ceiling is the unweighted kappa (or the "exact" agreement) of one person with another.

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
        Names, as strings, for the nominal metric.
    judge : array_like, shape (n_items,), optional
    metric : {"interval", "nominal", "ordinal", "ratio"}
        Of Krippendorff's alpha.
    groups, systems, level, method, coefficient, confidence_level
        As for `calib.stats.agreement`; under the nominal metric "kappa_nominal" (the default there) or "exact".
    min_reliability : float
        Of people; below it no correlation is corrected for their noise.

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        If a coefficient of order is asked for under the nominal metric, or as the four functions say.

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> print(reliability(people))
    3 raters, 5 items: alpha 0.8232, ICC(C,k) 0.9364, one person against the others 0.9228
    """
    design: dict[str, Any] = {"groups": groups, "systems": systems, "confidence_level": confidence_level}
    least = check.probability(min_reliability, "min_reliability")
    nominal = metric == "nominal"
    if nominal:
        coefficient = _nominal_coefficient(method, coefficient)
    return Reliability(
        alpha=krippendorff_alpha(ratings, metric=metric, groups=groups, confidence_level=confidence_level),
        icc=None if nominal else icc(ratings, confidence_level=confidence_level),
        ceiling=human_ceiling(ratings, judge, level=level, method=method, coefficient=coefficient, **design),
        disattenuated=(
            None if nominal or judge is None else disattenuated(judge, ratings, min_reliability=least, **design)
        ),
    )


def _nominal_coefficient(method: str, coefficient: str | None) -> str:
    """The unweighted kappa where nothing was asked for; what needs an order is refused."""
    named = named_coefficient(method, coefficient)
    if named in NEEDS_NO_ORDER:
        return named
    if coefficient is None and method == "spearman":
        return "kappa_nominal"
    rule = f"must be {' or '.join(map(repr, NEEDS_NO_ORDER))} under metric 'nominal', which knows no order"
    raise ArgumentError("method" if coefficient is None else "coefficient", rule, f"got {named!r}")
