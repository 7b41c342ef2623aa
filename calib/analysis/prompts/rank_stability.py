"""The order of systems over prompts: how often two prompts differ on it, beside what noise alone would give."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from calib.analysis.prompts.prompt_mean import unit_deviations, with_all_prompts
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.progress import progress
from calib.core.result import Result, short

if TYPE_CHECKING:
    import pandas as pd


class SystemPair(NamedTuple):
    """Two systems: how often two prompts order them differently, and how often noise alone would make them."""

    first: str
    second: str
    swap: float
    swap_noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability(Result):
    """How far the order of systems depends on the prompt.

    Attributes
    ----------
    swap : float
        Probability that two of the prompts, drawn at random, order two random systems differently.
        Where just one of them ties the systems, half.
    swap_noise : float
        The same if no prompt favoured any system: what items and draws alone would give, at the
        differences seen. NaN where only means are known.
    pairs : tuple of SystemPair
        The same for each pair.
    w : float
        Kendall's coefficient of concordance of the prompts' rankings, corrected for ties; 1 is one order.
    chi2, df, p_value : float
        Friedman's test that the rankings have nothing in common; an approximation.
    names : tuple of str
    winners : tuple of str
        System with the largest mean under each prompt; several are joined by " = ".
    n_systems, n_prompts, n, n_dropped : int
        `n` is 0 where only means are known.
    warnings : tuple of str
        ``few_systems``, ``dropped``.
    """

    _cells = "swap swap_noise w p_value chi2 df winners n_systems n_prompts n_dropped"
    swap: float
    swap_noise: float
    pairs: tuple[SystemPair, ...] = field(repr=False)
    w: float
    chi2: float
    df: int
    p_value: float
    names: tuple[str, ...]
    winners: tuple[str, ...]
    n_systems: int
    n_prompts: int
    n: int
    n_dropped: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(*self._cells.split()) | {"winners": ", ".join(dict.fromkeys(self.winners))}]

    def pairs_to_frame(self) -> pd.DataFrame:
        """Each pair of systems: how often prompts order it differently (needs pandas)."""
        import pandas as pd

        return pd.DataFrame([pair._asdict() for pair in self.pairs])

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"rank-stability": True, "ties": "half", "systems": self.n_systems}
        return terms | {"prompts": self.n_prompts, "n": self.n or None, "dropped": self.n_dropped or None}

    def __str__(self) -> str:
        wins = {name: self.winners.count(name) for name in dict.fromkeys(self.winners)}
        first = ", ".join(f"{name} ({times})" for name, times in sorted(wins.items(), key=lambda item: -item[1]))
        noise = "" if math.isnan(self.swap_noise) else f" ({short(self.swap_noise)} from noise alone)"
        return (
            f"two of {self.n_prompts} prompts order two of {self.n_systems} systems differently with probability "
            f"{short(self.swap)}{noise}; Kendall's W = {short(self.w)} (p = {short(self.p_value)}); first: {first}"
        )


def rank_stability(x: ArrayLike, *, groups: Labels | None = None, names: Labels | None = None) -> RankStability:
    r"""How often systems swap over prompts, beside what noise alone would give, and Kendall's W.

    With the ranks of n systems under m prompts, R_j the sum of ranks of system j, and T the sum of
    t^3 - t over all groups of t tied systems within a prompt,

    .. math:: W = \frac{12 \sum_j (R_j - \bar R)^2}{m^2 (n^3 - n) - m T}, \qquad \chi^2_{n-1} = m (n - 1) W.

    From scores of the same items, the difference d_p of two systems' means under prompt p has a noise
    variance v by item x prompt. If prompts favoured neither system, the d_p would be equal but for that
    noise, and given their mean two of them have different signs with probability

    .. math:: 4 \, T\Big(\frac{|\bar d|}{\sqrt{v (1 - 1/m)}}, \sqrt{\frac{m}{m - 2}}\Big)

    (T is Owen's function), which `swap_noise` averages over pairs.

    Parameters
    ----------
    x : array_like, shape (systems, prompts) or (systems, items, prompts)
        Means, or scores of the same items. Larger is better. An item without one of its scores is
        left out and counted.
    groups : sequence, shape (items,), optional
        Items of one group are not independent.
    names : sequence, shape (systems,), optional
        Default "0", "1", ...

    Returns
    -------
    RankStability

    Raises
    ------
    ValueError
        If there are fewer than two systems or prompts, or a mean is missing.

    References
    ----------
    Kendall and Babington Smith (1939), Annals of Mathematical Statistics 10:275-287, for W; Owen
    (1956), same journal 27:1075-1090, for T.

    Examples
    --------
    >>> print(rank_stability([[4.1, 3.9, 4.4], [3.2, 3.6, 3.8], [3.3, 3.1, 3.5]], names="ABC"))
    two of 3 prompts order two of 3 systems differently with probability 0.2222; Kendall's W = 0.7778
    (p = 0.09697); first: A (3)
    """
    scores = check.array(x, "x")
    if scores.ndim not in {2, 3} or min(scores.shape[0], scores.shape[-1]) < 2:
        shapes = "(systems, prompts) or (systems, items, prompts)"
        rule = f"must have shape {shapes} with two systems and two prompts at least"
        raise ArgumentError("x", rule, f"got {scores.shape}")
    systems, prompts = scores.shape[0], scores.shape[-1]
    named = tuple(map(str, range(systems) if names is None else names))
    check.same_length(x=scores, names=named)
    means, noise, n, dropped = _means_and_noise(scores, groups)
    twos = progress(combinations(range(systems), 2), "pairs of systems", total=math.comb(systems, 2))
    pairs = tuple(_system_pair(means, noise, named, a, b) for a, b in twos)
    w, chi2 = _concordance(means)
    lost = [f"dropped: {dropped} items lack a score and are left out."] if dropped else []
    few = ["few_systems: the p-value is rough with fewer than 7 systems and few prompts."] if systems < 7 else []
    return RankStability(
        swap=float(np.mean([pair.swap for pair in pairs])),
        swap_noise=float(np.mean([pair.swap_noise for pair in pairs])),
        pairs=pairs,
        w=w,
        chi2=chi2,
        df=systems - 1,
        p_value=float(stats.chi2.sf(chi2, systems - 1)),
        names=named,
        winners=tuple(" = ".join(named[j] for j in np.flatnonzero(col == col.max())) for col in means.T),
        n_systems=systems,
        n_prompts=prompts,
        n=n,
        n_dropped=dropped,
        warnings=tuple(few + lost),
    )


def _means_and_noise(scores: Floats, groups: Labels | None) -> tuple[Floats, Floats, int, int]:
    """Means (systems, prompts), and the noise variance of one prompt's difference for each two systems."""
    systems, prompts = scores.shape[0], scores.shape[-1]
    if scores.ndim == 2:
        if groups is not None:
            raise ArgumentError("groups", "must come with scores of items", "got means in {0}", mentions=("x",))
        if np.isnan(scores).any():
            raise ArgumentError("x", "must have the mean of every system under every prompt", "got NaN")
        return scores, np.full((systems, systems), math.nan), 0, 0
    table = np.moveaxis(scores, 1, 0).reshape(scores.shape[1], -1)
    kept, unit, dropped = with_all_prompts(table, groups, "x")
    sums = unit_deviations(kept, unit).reshape(-1, systems, prompts)
    own = sums - sums.mean(axis=2, keepdims=True)
    cross = np.einsum("gap,gbp->ab", own, own) * len(own) / (len(own) - 1) / (prompts - 1)
    noise = np.diag(cross)[:, None] + np.diag(cross) - 2 * cross
    return kept.mean(axis=0).reshape(systems, prompts), np.maximum(noise, 0.0), len(kept), dropped


def _system_pair(means: Floats, noise: Floats, names: tuple[str, ...], a: int, b: int) -> SystemPair:
    gap = means[a] - means[b]
    prompts, won, lost = len(gap), int(np.sum(gap > 0)), int(np.sum(gap < 0))
    tied = prompts - won - lost
    swap = (won * lost + tied * (won + lost) / 2) / math.comb(prompts, 2)
    by_noise = float(noise[a, b])  # NaN where it is not known, 0 where there is none
    if by_noise > 0:
        slope = math.inf if prompts == 2 else math.sqrt(prompts / (prompts - 2))
        by_noise = float(4 * special.owens_t(abs(gap.mean()) / math.sqrt(by_noise * (1 - 1 / prompts)), slope))
    return SystemPair(names[a], names[b], swap, by_noise)


def _concordance(means: Floats) -> tuple[float, float]:
    """Kendall's W and its chi-square; NaN where every prompt ties all systems."""
    systems, prompts = means.shape
    ranks = stats.rankdata(means, axis=0)
    counts = [np.unique(col, return_counts=True)[1] for col in ranks.T]
    tied = sum(float((t**3 - t).sum()) for t in counts)
    whole = prompts**2 * (systems**3 - systems) - prompts * tied
    if not whole > 0:
        return math.nan, math.nan
    total = ranks.sum(axis=1)
    w = 12 * float(((total - total.mean()) ** 2).sum()) / whole
    return w, prompts * (systems - 1) * w
