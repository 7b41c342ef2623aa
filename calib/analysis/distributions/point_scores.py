"""Which number to read from a distribution of scores: its mean, its median, its mode or a single draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.agreement.coefficients import OF_ONE_SAMPLE, ON_ONE_SCALE, levels_of, sample_correlation, settled
from calib.analysis.agreement.levels import average
from calib.analysis.agreement.scales import refuse_other_scale
from calib.analysis.distributions.distribution import expectation, median, tallied, temper
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import Result, short

READINGS = ("mean", "median", "mode", "draw")
_COMPARED = ("pearson", "spearman", "kendall_a", "kendall", "kendall_c", "gamma", "pairs")
_FEW_TIES = 0.05  # fewer ties than one pair in twenty hardly move tau-b


class Reading(NamedTuple):
    """One number read from each distribution: its name, its share of tied pairs, its coefficients."""

    name: str
    ties: float
    estimates: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointScores(Result):
    """Mean, median, mode and single draw against people, by several coefficients.

    Attributes
    ----------
    methods : tuple of str
        Coefficients, as for `agreement`.
    readings : tuple of Reading
        "mean", "median", "mode" and "draw", each with `name`, `ties` (share of pairs of items that it ties)
        and `estimates`, one per method. For "draw" both are means over single draws.
    ties_human : float
        Share of pairs that people tie.
    n, n_missing, n_draws : int
        Items used; items left out because one side has no score; single draws behind "draw".
    warnings : tuple of str
        ``unequal_ties``.
    """

    methods: tuple[str, ...]
    readings: tuple[Reading, ...]
    ties_human: float
    n: int
    n_missing: int
    n_draws: int
    warnings: tuple[str, ...]

    def value(self, reading: str, method: str) -> float:
        """One coefficient of one reading."""
        check.choice(method, "method", self.methods)
        place = READINGS.index(check.choice(reading, "reading", READINGS))
        return self.readings[place].estimates[self.methods.index(method)]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"reading": row.name, "ties": row.ties, "ties_human": self.ties_human}
            | dict(zip(self.methods, row.estimates, strict=True))
            for row in self.readings
        ]

    def _terms(self) -> dict[str, Any]:
        return {"readings": True, "modes": "averaged", "n": self.n, "missing": self.n_missing, "draws": self.n_draws}

    def __str__(self) -> str:
        first = ", ".join(f"{r.name} {short(r.estimates[0])} ({100 * r.ties:.0f} % ties)" for r in self.readings)
        return f"{self.methods[0]} with people, {self.n} items: {first}{self._bracketed_warnings}"


def point_scores(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    methods: Sequence[str] = _COMPARED,
    rng: np.random.Generator | int | None = None,
) -> PointScores:
    """Which number to read from a distribution of scores, by each coefficient.

    Several modes are averaged, as are the two middle levels of a median: to take one of them at random, or the
    lowest, would add noise or an offset that is not the mode's. Readings differ in how many pairs of items they
    tie, and coefficients in what they make of ties: tau-b and above all gamma speak of the pairs that are left.

    Parameters
    ----------
    scores : array_like, shape (n, draws) or (n, K)
        Draws, NaN where a reply could not be read; or, with `levels`, probabilities.
    human : array_like, shape (n,)
        People's scores of the same items; NaN where there is none.
    levels : array_like, shape (K,), optional
        Values of the columns of `scores`, which then holds probabilities.
    methods : sequence of str, optional
        Coefficients, as for `agreement`, but not "spa".
    rng : Generator or int, optional
        With `levels`: source of the 200 single draws. Default: a fresh one.

    Returns
    -------
    PointScores
        For intervals of one coefficient and of differences, see `agreement` and `compare`.

    Raises
    ------
    ValueError
        If lengths differ, a method is another one, fewer than two items have both sides, or a method
        that asks for the same value meets two scales.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(3, 1, 300)
    >>> draws = np.clip(np.round(truth[:, None] + rng.normal(size=(300, 20))), 1, 5)
    >>> print(point_scores(draws, np.round(truth), methods=["spearman", "pairs"]))
    spearman with people, 300 items: mean 0.9118 (2 % ties), median 0.8673 (23 % ties),
    mode 0.7749 (22 % ties), draw 0.6001 (22 % ties)
    """
    table, people = check.array(scores, "scores", ndim=2), check.array(human, "human", ndim=1)
    check.same_length(scores=table, human=people)
    for method in methods:
        check.choice(method, "methods", OF_ONE_SAMPLE)
        if method in ON_ONE_SCALE:
            given = ("scores", table) if levels is None else ("levels", check.array(levels, "levels"))
            refuse_other_scale(*given, "human", people, f"for {method!r}")
    if not len(methods):
        raise ArgumentError("methods", "must name one coefficient at least")
    values, weights = _levels_and_weights(table, levels)
    keep = np.isfinite(people) & (weights.sum(axis=1) > 0)
    if keep.sum() < 2:
        rule = "and {0} must both be there for two items at least"
        raise ArgumentError("scores", rule, f"are for {keep.sum()}", mentions=("human",))
    weights, people = weights[keep], people[keep]
    draws = table[keep] if levels is None else _single_draws(weights, values, np.random.default_rng(rng))
    mean, mode = (settled(expectation(p, values))[:, None] for p in (weights, temper(weights, 0)))
    columns = zip(READINGS, (mean, median(weights, values)[:, None], mode, draws), strict=True)
    readings = tuple(_reading(name, values, people, methods) for name, values in columns)
    ties_human = _share_of_ties(people)
    return PointScores(
        methods=tuple(methods),
        readings=readings,
        ties_human=ties_human,
        n=len(people),
        n_missing=int((~keep).sum()),
        n_draws=draws.shape[1],
        warnings=_tie_warnings(readings, ties_human, methods),
    )


def _levels_and_weights(table: Floats, levels: ArrayLike | None) -> tuple[Floats, Floats]:
    """Levels, and the weight of each for each item; draws are counted."""
    if levels is not None:
        values = check.array(levels, "levels", ndim=1)
        if values.shape != table.shape[1:]:
            rule = f"must have one value for each column of {{0}} ({table.shape[1]})"
            raise ArgumentError("levels", rule, f"got {len(values)}", mentions=("scores",))
        if (table < 0).any():
            given = f"got {float(np.nanmin(table))}"
            raise ArgumentError("scores", "must not be negative with {0}", given, mentions=("levels",))
        return values, np.nan_to_num(table)
    values = np.unique(table[np.isfinite(table)])
    place = np.where(np.isfinite(table), np.searchsorted(values, table), -1)
    return values, tallied(place, len(values))


def _single_draws(weights: Floats, values: Floats, rng: np.random.Generator) -> Floats:
    """200 from given probabilities, shape (n, 200)."""
    upper = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    u = rng.random((len(weights), 200))
    return np.asarray(values[(u[:, :, None] >= upper[:, None, :]).sum(axis=2)])


def _reading(name: str, columns: Floats, people: Floats, methods: Sequence[str]) -> Reading:
    """Mean share of ties and mean coefficients, of the columns where they are defined."""
    there = [(column[ok], people[ok]) for column in columns.T if (ok := np.isfinite(column)).sum() > 1]
    estimates = [[sample_correlation(x, y, method) for x, y in there] for method in methods]
    ties, *means = (average(np.array(row), "skip") for row in ([_share_of_ties(x) for x, _ in there], *estimates))
    return Reading(name, ties, tuple(means))


def _share_of_ties(values: Floats) -> float:
    """Share of pairs that are equal."""
    count = np.bincount(levels_of(values))
    return float((count * (count - 1.0)).sum() / (len(values) * (len(values) - 1.0)))


def _tie_warnings(readings: tuple[Reading, ...], ties_human: float, methods: Sequence[str]) -> tuple[str, ...]:
    """A warning where tau-b or gamma compares readings that tie unlike shares of the pairs."""
    few, many = (end(readings[:3], key=lambda r: r.ties) for end in (min, max))  # all but the draw
    names = [word for name, word in (("kendall", "tau-b"), ("gamma", "gamma")) if name in methods]
    if not names or not many.ties > 2 * few.ties or many.ties < _FEW_TIES:
        return ()
    text = (
        f"unequal_ties: the {many.name} ties {100 * many.ties:.0f} % of the pairs, the {few.name} "
        f"{100 * few.ties:.0f} %, people {100 * ties_human:.0f} %; {' and '.join(names)} favor the one that ties "
        "more, so read Spearman or pairwise accuracy beside"
    )
    check.warn(text)
    return (text,)
