"""People as raters: how far they agree, and what that leaves for a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from calib.analysis.agreement.alpha import ICC, Alpha, icc, krippendorff_alpha
from calib.analysis.agreement.ceiling import Ceiling, Disattenuated, disattenuated, human_ceiling
from calib.core import check
from calib.core.check import Labels
from calib.core.result import Result, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability(Result):
    """How far people agree, and what that allows a judge.

    Attributes
    ----------
    alpha : Alpha
    icc : ICC
    ceiling : Ceiling
    disattenuated : Disattenuated or None
        None without a judge.
    """

    alpha: Alpha
    icc: ICC
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
        parts = [f"alpha {short(self.alpha.estimate)}", f"ICC(C,k) {short(self.icc.estimates['ICC(C,k)'])}"]
        parts += [f"one person against the others {short(self.ceiling.ceiling)}"]
        if self.disattenuated is not None:
            value = self.disattenuated
            parts += [f"judge against the same {short(self.ceiling.judge)}"]
            parts += ["disattenuated " + ("refused" if value.reason else short(value.estimate))]
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

    Parameters
    ----------
    ratings : array_like, shape (n_items, n_raters)
    judge : array_like, shape (n_items,), optional
    metric : {"interval", "nominal", "ordinal", "ratio"}
        Of Krippendorff's alpha.
    groups, systems, level, method, coefficient, confidence_level
        As for `calib.stats.agreement`.
    min_reliability : float
        Of people; below it no correlation is corrected for their noise.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> people = [[1, 2, 1], [2, 2, 3], [3, 3, 4], [5, 4, 4], [4, 5, 5]]
    >>> print(reliability(people))
    3 raters, 5 items: alpha 0.8232, ICC(C,k) 0.9364, one person against the others 0.9228
    """
    design: dict[str, Any] = {"groups": groups, "systems": systems, "confidence_level": confidence_level}
    least = check.probability(min_reliability, "min_reliability")
    return Reliability(
        alpha=krippendorff_alpha(ratings, metric=metric, groups=groups, confidence_level=confidence_level),
        icc=icc(ratings, confidence_level=confidence_level),
        ceiling=human_ceiling(ratings, judge, level=level, method=method, coefficient=coefficient, **design),
        disattenuated=None if judge is None else disattenuated(judge, ratings, min_reliability=least, **design),
    )
