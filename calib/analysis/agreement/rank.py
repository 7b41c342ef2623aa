"""Many judges in the order of their agreement with people, and which of them can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement.agreement import MANY_LACK, Agreement, agreement
from calib.analysis.agreement.coefficients import WithCoefficient
from calib.analysis.agreement.compare import Comparison, compare
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.numeric import adjusted
from calib.core.progress import progress
from calib.core.result import Result, short

CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "not adjusted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(WithCoefficient, Result):
    """Many judges in the order of their agreement with people, and which of them can be told apart.

    Attributes
    ----------
    names : tuple of str
        From the highest agreement down; those without a coefficient last.
    agreements : tuple of Agreement
        Each judge with its own interval, on the items that all of them scored.
    comparisons : tuple of Comparison
        Each pair, the higher one first, on the groups that both have, in the order (0, 1), (0, 2), ...
    p_values : ndarray, shape (judges, judges)
        Adjusted for the number of pairs; NaN on the diagonal and where a test is not defined.
    distinct : ndarray of bool, shape (judges, judges)
        Pairs that can be told apart: adjusted p at most 1 - confidence_level.
    clusters : tuple of int
        1, 2, ...: every judge of one cluster can be told apart from every judge of another, and is ahead of it;
        0 where a judge has no coefficient.
    n_missing : int
        Labelled items without a score of some judge.
    n_missing_alone : tuple of int
        Labelled items without a score of this judge.
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
            row |= r._row("estimate", "std_error", "interval")  # noqa: SLF001 - results of one family
            row |= {"cluster": self.clusters[i], "not_distinguishable": ", ".join(self.like(i)), "n": r.n}
            row |= {"n_missing": self.n_missing, "n_missing_alone": self.n_missing_alone[i]}
            rows.append(row | {"n_groups": r.n_groups, "n_systems": r.n_systems})
        return rows

    def like(self, place: int) -> list[str]:
        """The judges that the one at this place cannot be told apart from."""
        others = [j for j in self._ranked if j != place] if place in self._ranked else []
        return [self.names[j] for j in others if not self.distinct[place, j]]

    @property
    def _ranked(self) -> list[int]:
        """Those that have a coefficient: what has none is neither like another judge nor unlike it."""
        return [place for place, r in enumerate(self.agreements) if np.isfinite(r.estimate)]

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
        ranked = self._ranked
        without = [name for place, name in enumerate(self.names) if place not in ranked]
        more = f"; {', '.join(without)} {'has' if len(without) == 1 else 'have'} no coefficient" if without else ""
        if len(ranked) < 2:
            return f"There are not two judges to tell apart{more}."
        pairs, apart = len(ranked) * (len(ranked) - 1) // 2, int(self.distinct.sum()) // 2
        # one that is told apart the other way round, on the groups that both have, is not behind either
        behind = [self.distinct[0, j] and self.comparisons[j - 1].estimate > 0 for j in ranked[1:]]
        alike = [self.names[j] for j, lower in zip(ranked[1:], behind, strict=True) if not lower]
        first = f"{self.names[0]} is not told apart from {', '.join(alike)}"
        first = first if alike else f"{self.names[0]} is ahead of all others"
        return f"{first}; {apart} of {pairs} pairs are told apart ({CORRECTIONS[self.correction]}){more}."


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

    All of them are taken on the items that all have scored: agreement on other items is
    another quantity.

    Parameters
    ----------
    judges : mapping of str to array_like, shape (n,)
        Two judges or more, by name.
    y : array_like, shape (n,)
        The labels.
    groups, systems, systems_are, level, method, coefficient, test, constant, missing
        As for `compare`.
    confidence_level, n_resamples, rng
        As for `compare`.
    correction : {"holm", "bh", "none"}, default "holm"
        Holm holds the chance of any wrong "distinguishable" at 1 - confidence_level;
        Benjamini and Hochberg hold the expected share of wrong ones among them.


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
    check.choice(correction, "correction", tuple(CORRECTIONS))
    if not isinstance(judges, Mapping):
        raise ArgumentError("judges", "must be a mapping of names to scores", f"got {type(judges).__name__}")
    if len(judges) < 2:
        raise ArgumentError("judges", "must hold two judges or more", f"got {len(judges)}")
    rules: dict[str, Any] = {"groups": groups, "systems": systems, "systems_are": systems_are, "level": level}
    rules |= {"method": method, "coefficient": coefficient, "constant": constant, "missing": missing}
    rules |= {"confidence_level": confidence_level}
    target, columns = check.array(y, "y", ndim=1), _scores_by_name(judges, y)
    all_scored = np.isfinite(sum(columns.values()))
    n_missing = int((np.isfinite(target) & ~all_scored).sum())
    lacks = {name: int((np.isnan(x) & np.isfinite(target)).sum()) for name, x in columns.items()}
    shared = target if missing == "zero" else np.where(all_scored, target, np.nan)
    warned, n = [], int(np.isfinite(target).sum())
    if missing == "drop" and n_missing > MANY_LACK * n:
        lack = f"items_left_out: {n_missing} of {n} items are left out because some judge has no score there"
        most = max(lacks, key=lambda name: lacks[name])
        warned.append(f"{lack} ({most} for {lacks[most]}): compare judges two by two")
        check.warn(warned[0])
    alone = {name: agreement(x, shared, **rules) for name, x in columns.items()}
    # what has no coefficient comes last
    names = sorted(columns, key=lambda name: (np.isnan(alone[name].estimate), -alone[name].estimate))
    how = rules | {"test": test, "n_resamples": n_resamples, "rng": np.random.default_rng(rng)}
    twos = progress([*combinations(names, 2)], "pairs of judges")
    pairs = [compare(columns[a], columns[b], shared, names=(a, b), **how) for a, b in twos]
    p_values = _symmetric(adjusted([pair.p_value for pair in pairs], correction), len(names))
    distinct = p_values <= 1 - confidence_level
    n_ranked = sum(bool(np.isfinite(each.estimate)) for each in alone.values())
    # a new cluster begins where all above are ahead of all below
    ahead = distinct & (_symmetric([pair.estimate for pair in pairs], len(names)) > 0)
    begins = [0, *(bool(ahead[:i, i:n_ranked].all()) for i in range(1, n_ranked))]
    clusters = [1 + sum(begins[: i + 1]) for i in range(n_ranked)] + [0] * (len(names) - n_ranked)
    return Ranking(
        names=tuple(names),
        agreements=tuple(alone[name] for name in names),
        comparisons=tuple(pairs),
        p_values=p_values,
        distinct=distinct,
        clusters=tuple(clusters),
        n_missing=n_missing,
        n_missing_alone=tuple(lacks[name] for name in names),
        correction=correction,
        level=level,
        coefficient=pairs[0].coefficient,
        test=pairs[0].test,
        confidence_level=confidence_level,
        warnings=tuple(dict.fromkeys([*warned, *(text for pair in pairs for text in pair.warnings)])),
    )


def _scores_by_name(judges: Mapping[str, ArrayLike], y: ArrayLike) -> dict[str, Floats]:
    """The judges by name as text, each with a score at least."""
    columns = {str(name): check.array(x, f"judges[{name!r}]", ndim=1) for name, x in judges.items()}
    if len(columns) < len(judges):
        raise ArgumentError("judges", "must have names that differ as text", f"got {', '.join(map(repr, judges))}")
    for name, x in columns.items():
        if len(x) != len(np.asarray(y)):
            rule = f"must have the length of {{0}} ({len(np.asarray(y))})"
            raise ArgumentError(f"judges[{name!r}]", rule, f"got {len(x)}", mentions=("y",))
        if not np.isfinite(x).any():
            raise ArgumentError(f"judges[{name!r}]", "must have a score", "all are missing")
    return columns


def _symmetric(upper: ArrayLike, k: int) -> Floats:
    table = np.full((k, k), np.nan)
    table[np.triu_indices(k, 1)] = upper
    return np.where(np.isnan(table), table.T, table)
