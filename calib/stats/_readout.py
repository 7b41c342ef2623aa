"""Draws beside the probabilities they come from, and which number is read from either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calib.stats import _check
from calib.stats._check import Codes, Floats
from calib.stats._distribution import entropy, expectation, median, temper
from calib.stats._estimate import Result, short
from calib.stats._ranks import METHODS, coefficient, levels_of, ratio, settled
from calib.stats._temperature import counts_of, draws_temperature, places_of

CORRECTIONS = ("miller-madow", "none")
READINGS = ("mean", "median", "mode", "draw")
_COMPARED = ("pearson", "spearman", "kendall_a", "kendall", "kendall_c", "gamma", "pairs")
_FEW_TIES = 0.05  # fewer ties than one pair in twenty hardly move tau-b
_N_READINGS = 200  # single draws from given probabilities


def sampled_entropy(counts: ArrayLike, *, correction: str = "miller-madow") -> Floats:
    r"""Entropy of the distribution that draws come from, in nats.

    .. math:: \hat H = -\sum_k \frac{c_k}{N} \log \frac{c_k}{N} + \frac{\hat K - 1}{2 N}

    The first term, the entropy of the draws themselves, is too low on average, the more so the
    fewer they are; the second, with the number of levels that came, mends most of that.

    Parameters
    ----------
    counts : array_like, shape (..., K)
        How often each level was drawn.
    correction : {"miller-madow", "none"}

    Returns
    -------
    ndarray, shape (...)
        NaN where nothing was drawn.

    Raises
    ------
    ValueError
        If a count is negative or `correction` is another one.

    References
    ----------
    Miller (1955), Note on the bias of information estimates.

    Examples
    --------
    >>> [float(round(sampled_entropy([3, 2, 0], correction=c), 4)) for c in ("none", "miller-madow")]
    [0.673, 0.773]
    """
    drawn = counts_of(counts)
    plug_in = entropy(drawn)
    if _check.choice(correction, "correction", CORRECTIONS) == "none":
        return plug_in
    return np.asarray(plug_in + ratio((drawn > 0).sum(axis=-1) - 1, 2 * drawn.sum(axis=-1)))[()]


def expected_entropy(counts: ArrayLike, n: ArrayLike, *, replace: bool = False, correction: str = "none") -> Floats:
    r"""Mean entropy of n of the draws: what a smaller number of draws would have given, exactly.

    .. math:: E[\hat H_n] = -\sum_k \sum_{x=1}^{n} P(X_k = x) \, \frac{x}{n} \log \frac{x}{n}

    with X hypergeometric (n of all draws, without replacement) or binomial (n new draws from
    the shares). No subsets are drawn.

    Parameters
    ----------
    counts : array_like, shape (..., K)
        How often each level was drawn; with ``replace=True`` probabilities or weights.
    n : int or array_like of int
        Sizes, 1 or more.
    replace : bool, default False
        Draw with replacement, that is, from the shares of `counts`.
    correction : {"none", "miller-madow"}
        As for `sampled_entropy`, before the mean is taken.

    Returns
    -------
    ndarray, shape (...) + shape of `n`
        NaN where fewer than n were drawn, without replacement.

    Raises
    ------
    ValueError
        If a count is negative or, without replacement, not whole, or a size is not whole.

    Examples
    --------
    >>> expected_entropy([2, 2], [1, 2, 4]).round(4), expected_entropy([1, 1], [1, 2, 4], replace=True).round(4)
    (array([0.    , 0.4621, 0.6931]), array([0.    , 0.3466, 0.5411]))
    """
    drawn, sizes = counts_of(counts), np.asarray(n)
    _check.choice(correction, "correction", CORRECTIONS)
    wrong = [size for size in sizes.ravel().tolist() if not (size >= 1 and size == int(size))]
    if wrong:
        raise ValueError(f"`n` must be whole numbers of 1 or more, but got {wrong[0]!r}.")
    if not replace and (drawn % 1 > 0).any():
        raise ValueError(f"`counts` must be whole numbers without replacement, but got {float(drawn.max())}.")
    total = drawn.sum(axis=-1, keepdims=True)
    if replace:
        share = drawn / np.where(total > 0, total, np.nan)
        kinds, place = np.unique(share, return_inverse=True)
        terms = [_binomial_terms(kinds, int(size), correction) for size in sizes.ravel()]
    else:
        both = np.stack([drawn, np.broadcast_to(total, drawn.shape)], axis=-1).reshape(-1, 2)
        kinds, place = np.unique(both, axis=0, return_inverse=True)
        terms = [_hypergeometric_terms(kinds, int(size), correction) for size in sizes.ravel()]
    place = place.reshape(drawn.shape)
    columns = [np.asarray(term)[place].sum(axis=-1) for term in terms]
    if correction == "miller-madow":
        columns = [column - 1 / (2 * size) for column, size in zip(columns, sizes.ravel(), strict=True)]
    return np.asarray(np.stack(columns, axis=-1).reshape(drawn.shape[:-1] + sizes.shape))[()]


def _binomial_terms(kinds: Floats, size: int, correction: str) -> Floats:
    """What a level of each probability adds to the expected entropy of `size` draws."""
    x = np.arange(1.0, size + 1)
    ways = _log_choose(size, x)
    logs = ways + special.xlogy(x, kinds[:, None]) + special.xlog1py(size - x, -kinds[:, None])
    return np.asarray(np.exp(logs) @ _gain(x, size, correction))


def _hypergeometric_terms(kinds: Floats, size: int, correction: str) -> Floats:
    """What a level drawn c of T times adds to the expected entropy of `size` of the T draws."""
    x = np.arange(1.0, size + 1)
    count, total = kinds[:, :1], kinds[:, 1:]
    logs = _log_choose(count, x) + _log_choose(total - count, size - x)
    with np.errstate(invalid="ignore"):  # NaN where there are fewer than `size`: infinity less infinity
        logs = logs - _log_choose(total, size)
    return np.asarray(np.exp(logs) @ _gain(x, size, correction))


def _gain(x: Floats, size: int, correction: str) -> Floats:
    """What a level that came x times adds to the entropy."""
    return -x / size * np.log(x / size) + (1 / (2 * size) if correction == "miller-madow" else 0.0)


def _log_choose(n: Any, k: Any) -> Floats:
    """Log of the binomial coefficient; minus infinity where k > n, as the gamma function has poles there."""
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionFit(Result):
    """Whether draws are distributed as the probabilities say.

    Attributes
    ----------
    total_variation : float
        Mean over items of half the summed distance between shares of draws and probabilities.
    total_variation_expected : float
        The same if the draws do come from the probabilities: what sampling alone gives, exactly.
    chi_square : float
        Pearson's statistic, summed over items.
    df : int
        Its mean if the draws do come from the probabilities.
    p_value : float
        Of `chi_square`, by Monte Carlo.
    tau : float
        Temperature at which the probabilities fit the draws best: below 1, the draws are colder.
    tau_p_value : float
        Of tau = 1, by Monte Carlo, two-sided.
    entropy_exact : float
        Mean entropy of the probabilities, nats.
    entropy_sampled, entropy_corrected : float
        Mean entropy of the draws, as they are and after Miller and Madow.
    entropy_expected : float
        Mean entropy that this many draws from the probabilities have on average, exactly.
    n, n_draws : int
        Items with draws and mass; draws used.
    n_unread : int
        Draws without a score, of these items.
    n_impossible : int
        Draws of a level with probability 0, left out.
    n_dropped : int
        Items without draws or without mass.
    n_resamples : int
    seed : int or None
        Where `rng` was a number.
    warnings : tuple of str
        What a reader should know first, each as "name: text".
    """

    total_variation: float
    total_variation_expected: float
    chi_square: float
    df: int
    p_value: float
    tau: float
    tau_p_value: float
    entropy_exact: float
    entropy_sampled: float
    entropy_corrected: float
    entropy_expected: float
    n: int
    n_draws: int
    n_unread: int
    n_impossible: int
    n_dropped: int
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        names = [name for name in self.__slots__ if name not in ("seed", "n_resamples", "warnings")]
        row = {name: getattr(self, name) for name in names}
        return [row | {"warnings": "; ".join(text.partition(":")[0] for text in self.warnings)}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"draws-against-p": True, "n": self.n, "draws": self.n_draws}
        terms |= {"unread": self.n_unread or None, "impossible": self.n_impossible or None}
        return terms | {"rs": self.n_resamples, "seed": self.seed}

    def __str__(self) -> str:
        names = ", ".join(text.partition(":")[0] for text in self.warnings)
        return (
            f"total variation {short(self.total_variation)} between {self.n_draws} draws of {self.n} items and their "
            f"probabilities, {short(self.total_variation_expected)} from sampling alone; chi-square p = "
            f"{short(self.p_value)}, draws at tau {short(self.tau)} (p = {short(self.tau_p_value)} for 1)"
            + (f" [warnings: {names}]" if names else "")
        )


def distribution_fit(
    samples: ArrayLike,
    p: ArrayLike,
    levels: ArrayLike,
    *,
    n_resamples: int = 999,
    rng: np.random.Generator | int | None = None,
) -> DistributionFit:
    r"""Compare draws with the probabilities they should come from.

    .. math:: TV = \frac1n \sum_i \frac12 \sum_k \Big|\frac{c_{ik}}{N_i} - p_{ik}\Big|, \qquad
              \chi^2 = \sum_i \sum_k \frac{(c_{ik} - N_i p_{ik})^2}{N_i p_{ik}}

    What sampling alone gives is exact for TV, from the mean absolute deviation of the binomial
    (De Moivre), :math:`E|X - Np| = 2 m \binom{N}{m} p^m (1-p)^{N-m+1}` with m = floor(Np) + 1.
    P-values come from multinomial draws: with few draws of many items the chi-square law is
    far off. The chi-square statistic does not see draws at a lower temperature, which come too
    often where they are expected; `tau` does, whose p-value is that of the log-likelihood of
    the draws (in simulations at tau 0.8, 20 draws of 100 items: 100 % found, against 0 %).
    Draws are taken to be independent of each other.

    Parameters
    ----------
    samples : array_like, shape (n, draws)
        Scores, each one of the levels; NaN where a reply could not be read.
    p : array_like, shape (n, K)
        Probabilities of the same items at the temperature of the draws; normalised first.
    levels : array_like, shape (K,)
    n_resamples : int, default 999
    rng : Generator or int, optional
        Default: a fresh one.

    Returns
    -------
    DistributionFit

    Raises
    ------
    ValueError
        If lengths differ, a draw is not a level, or no item has both draws and mass.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.dirichlet([1, 1, 1], 100)
    >>> samples = [rng.choice([1, 2, 3], 20, p=row) for row in p]
    >>> result = distribution_fit(samples, p, [1, 2, 3], rng=2)
    >>> print(result)
    total variation 0.09907 between 2000 draws of 100 items and their probabilities,
    0.1056 from sampling alone; chi-square p = 0.781, draws at tau 1.012 (p = 0.75 for 1)
    """
    draws = _check.array(samples, "samples", ndim=2)
    share = temper(_check.array(p, "p", ndim=2), 1.0)
    _check.same_length(samples=draws, p=share)
    _check.whole(n_resamples, "n_resamples", least=1)
    expectation(share, levels)  # refuses levels that do not fit
    share = share[:, np.argsort(_check.array(levels, "levels", ndim=1))]
    counts = _counts(places_of(draws, levels, "samples"), share.shape[1])
    impossible = np.where(share == 0, counts, 0.0)
    keep = ((counts - impossible).sum(axis=1) > 0) & np.isfinite(share).all(axis=1)
    if not keep.any():
        raise ValueError("`samples` and `p` must have an item with draws on levels that have mass.")
    counts, share, lost = (counts - impossible)[keep], share[keep], int(impossible.sum())
    total = counts.sum(axis=1)
    found = _distances(counts, share)
    source = np.random.default_rng(rng)
    drawn = [_distances(source.multinomial(total.astype(int), share), share) for _ in range(n_resamples)]
    chi_square, likely = (np.array([d[k] for d in drawn]) for k in (1, 2))
    sides = _tail(chi_square, found[1]), _tail(likely, found[2]), _tail(-likely, -found[2])
    warned = _impossible(lost, int(total.sum()))
    return DistributionFit(
        total_variation=found[0],
        total_variation_expected=float(np.mean(_deviation(total[:, None], share).sum(axis=1) / 2)),
        chi_square=found[1],
        df=int((share > 0).sum() - len(share)),
        p_value=sides[0],
        tau=draws_temperature(counts, share),
        tau_p_value=min(1.0, 2 * min(sides[1:])),
        entropy_exact=float(np.mean(entropy(share))),
        entropy_sampled=float(np.mean(sampled_entropy(counts, correction="none"))),
        entropy_corrected=float(np.mean(sampled_entropy(counts))),
        entropy_expected=_mean_expected_entropy(share, total),
        n=int(keep.sum()),
        n_draws=int(total.sum()),
        n_unread=int(np.isnan(draws[keep]).sum()),
        n_impossible=lost,
        n_dropped=int((~keep).sum()),
        n_resamples=n_resamples,
        seed=rng if isinstance(rng, int) else None,
        warnings=warned,
    )


def _counts(places: Codes, k: int) -> Floats:
    """How often each place came in each row; -1 is no place."""
    return np.asarray((places[..., None] == np.arange(k)).sum(axis=-2), dtype=float)


def _distances(counts: Any, share: Floats) -> tuple[float, float, float]:
    """Mean total variation, the chi-square statistic, and the log-likelihood of the draws."""
    total = counts.sum(axis=1, keepdims=True)
    apart = counts / total - share
    squares = np.divide(total * apart**2, share, out=np.zeros_like(share), where=share > 0)
    likelihood = special.xlogy(counts, share).sum()
    return float(np.abs(apart).sum() / 2 / len(share)), float(squares.sum()), float(likelihood)


def _tail(drawn: Floats, found: float) -> float:
    """Share of resamples at least as large, what was found among them; a last digit must not decide."""
    return float((1 + (drawn >= found - 1e-12 * abs(found)).sum()) / (len(drawn) + 1))


def _deviation(n: Floats, p: Floats) -> Floats:
    """Mean absolute deviation of a binomial share."""
    m = np.floor(n * p) + 1
    logs = _log_choose(n, m) + special.xlogy(m, p) + special.xlog1py(n - m + 1, -p)
    return np.asarray(2 * m * np.exp(logs) / n)


def _mean_expected_entropy(share: Floats, total: Floats) -> float:
    parts = [expected_entropy(share[total == n], int(n), replace=True).sum() for n in np.unique(total)]
    return float(sum(parts) / len(total))


def _impossible(lost: int, used: int) -> tuple[str, ...]:
    if not lost:
        return ()
    text = (
        f"impossible_draws: {lost} of {lost + used} draws are of levels with probability 0, so they do not come from "
        "these probabilities; they are left out of every number"
    )
    _check.warn(text)
    return (text,)


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
        "mean", "median", "mode" and "draw", each with `name`, `ties` (share of pairs of
        items that it ties) and `estimates`, one per method. For "draw" both are means over
        single draws.
    ties_human : float
        Share of pairs that people tie.
    n, n_missing : int
        Items used; items left out because one side has no score.
    n_draws : int
        Single draws behind "draw".
    warnings : tuple of str
        What a reader should know first, each as "name: text".
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
        _check.choice(method, "method", self.methods)
        place = READINGS.index(_check.choice(reading, "reading", READINGS))
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
        names = ", ".join(text.partition(":")[0] for text in self.warnings)
        return f"{self.methods[0]} with people, {self.n} items: {first}" + (f" [warnings: {names}]" if names else "")


def point_scores(
    scores: ArrayLike,
    human: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    methods: Sequence[str] = _COMPARED,
    rng: np.random.Generator | int | None = None,
) -> PointScores:
    """Which number to read from a distribution of scores, by each coefficient.

    The mean, the median, the mode and a single draw of each item are compared with the people's
    score. Several modes are averaged, as are the two middle levels of a median: to take one
    of them at random, or the lowest, would add noise or an offset that is not the mode's. Readings
    differ in how many pairs of items they tie, and coefficients in what they make of ties:
    tau-b and above all gamma speak of the pairs that are left.

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
        If lengths differ, a method is another one, or fewer than two items have both sides.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(3, 1, 300)
    >>> draws = np.clip(np.round(truth[:, None] + rng.normal(size=(300, 20))), 1, 5)
    >>> print(point_scores(draws, np.round(truth), methods=["spearman", "pairs"]))
    spearman with people, 300 items: mean 0.9118 (2 % ties), median 0.8673 (23 % ties),
    mode 0.7749 (22 % ties), draw 0.6001 (22 % ties)
    """
    table, people = _check.array(scores, "scores", ndim=2), _check.array(human, "human", ndim=1)
    _check.same_length(scores=table, human=people)
    for method in methods:
        _check.choice(method, "methods", METHODS)
    if not len(methods):
        raise ValueError("`methods` must name one coefficient at least.")
    values, weights = _weighed(table, levels)
    keep = np.isfinite(people) & (weights.sum(axis=1) > 0)
    if keep.sum() < 2:
        raise ValueError(f"`scores` and `human` must both be there for two items at least, but are for {keep.sum()}.")
    weights, people = weights[keep], people[keep]
    draws = table[keep] if levels is None else _drawn(weights, values, np.random.default_rng(rng))
    read = {
        "mean": settled(expectation(weights, values))[:, None],
        "median": median(weights, values)[:, None],
        "mode": settled(expectation(temper(weights, 0), values))[:, None],
        "draw": draws,
    }
    readings = tuple(_reading(name, columns, people, methods) for name, columns in read.items())
    ties_human = _tied(people)
    return PointScores(
        methods=tuple(methods),
        readings=readings,
        ties_human=ties_human,
        n=len(people),
        n_missing=int((~keep).sum()),
        n_draws=draws.shape[1],
        warnings=_unequal(readings, ties_human, methods),
    )


def _weighed(table: Floats, levels: ArrayLike | None) -> tuple[Floats, Floats]:
    """Levels, and the weight of each for each item; draws are counted."""
    if levels is not None:
        values = _check.array(levels, "levels", ndim=1)
        if values.shape != table.shape[1:]:
            raise ValueError(
                f"`levels` must have one value for each column of `scores` ({table.shape[1]}), but got {len(values)}."
            )
        if (table < 0).any():
            raise ValueError(f"`scores` must not be negative with `levels`, but got {float(np.nanmin(table))}.")
        return values, np.nan_to_num(table)
    values = np.unique(table[np.isfinite(table)])
    place = np.where(np.isfinite(table), np.searchsorted(values, table), -1)
    return values, _counts(place, len(values))


def _drawn(weights: Floats, values: Floats, rng: np.random.Generator) -> Floats:
    """Single draws from given probabilities, shape (n, draws)."""
    upper = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    u = rng.random((len(weights), _N_READINGS))
    return np.asarray(values[(u[:, :, None] >= upper[:, None, :]).sum(axis=2)])


def _reading(name: str, columns: Floats, people: Floats, methods: Sequence[str]) -> Reading:
    """Mean coefficients and mean share of ties of the columns."""
    there = [(column[ok], people[ok]) for column in columns.T if (ok := np.isfinite(column)).sum() > 1]
    estimates = [[coefficient(x, y, method) for x, y in there] for method in methods]
    return Reading(name, _mean([_tied(x) for x, _ in there]), tuple(_mean(row) for row in estimates))


def _mean(values: list[float]) -> float:
    """Mean of what is defined."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def _tied(values: Floats) -> float:
    """Share of pairs that are equal."""
    count = np.bincount(levels_of(values))
    return float((count * (count - 1.0)).sum() / (len(values) * (len(values) - 1.0)))


def _unequal(readings: tuple[Reading, ...], ties_human: float, methods: Sequence[str]) -> tuple[str, ...]:
    """A warning where tau-b or gamma compares readings that tie unlike shares of the pairs."""
    few, many = (end(readings[:3], key=lambda r: r.ties) for end in (min, max))
    names = [word for name, word in (("kendall", "tau-b"), ("gamma", "gamma")) if name in methods]
    if not names or not many.ties > 2 * few.ties or many.ties < _FEW_TIES:
        return ()
    text = (
        f"unequal_ties: the {many.name} ties {100 * many.ties:.0f} % of the pairs, the {few.name} "
        f"{100 * few.ties:.0f} %, people {100 * ties_human:.0f} %; {' and '.join(names)} favor the one that ties "
        "more, so read Spearman or pairwise accuracy beside"
    )
    _check.warn(text)
    return (text,)
