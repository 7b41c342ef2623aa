"""Which items people shall label: drawn at random, by groups, strata or coins, each with a known probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.moments import refuse_where
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Result, short

if TYPE_CHECKING:
    import pandas as pd

_EACH = 2  # labels a stratum, so that its spread can be estimated
_EVEN = 2 / 3  # of the labels, drawn without regard to the judge's certainty


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice(Result):
    """Items to label, with what the estimator has to know of how they were drawn.

    Attributes
    ----------
    chosen : ndarray of bool, shape (n,)
    inclusion : ndarray of float, shape (n,)
        Probability of each item to be chosen, whether it was or not.
    stratum : ndarray of int or None, shape (n,)
        Where the design has strata; 0 holds the lowest scores (or entropies).
    design : str
        "simple", "groups", "strata" or "active".
    n_chosen, n : int
        Items chosen; items in all.
    seed : int or None
        Where `rng` was a number.
    """

    chosen: NDArray[np.bool_] = field(repr=False)
    inclusion: Floats = field(repr=False)
    stratum: Codes | None = field(repr=False)
    design: str
    n_chosen: int
    n: int
    seed: int | None

    def to_frame(self) -> pd.DataFrame:
        """One row per item, in the order of the scores (needs pandas)."""
        import pandas as pd

        strata = {} if self.stratum is None else {"stratum": self.stratum}
        return pd.DataFrame({"chosen": self.chosen, "inclusion": self.inclusion, **strata})

    def _terms(self) -> dict[str, Any]:
        strata = None if self.stratum is None else int(self.stratum.max()) + 1
        return {"choice": self.design, "labels": self.n_chosen, "n": self.n, "strata": strata, "seed": self.seed}

    def __str__(self) -> str:
        low, high = float(self.inclusion.min()), float(self.inclusion.max())
        chance = short(low) if high - low < 1e-12 else f"{short(low)} to {short(high)}"
        return f"{self.n_chosen} of {self.n} items to label ({self.design}, probability {chance})"


def choose(
    f: ArrayLike,
    n: int,
    *,
    design: str = "simple",
    entropy: ArrayLike | None = None,
    groups: Labels | None = None,
    n_strata: int = 4,
    rng: np.random.Generator | int | None = None,
    after: Choice | None = None,
) -> Choice:
    r"""Draw the items that people shall label, each with a known probability.

    ``"simple"``: n at random, without replacement.
    ``"groups"``: whole groups at random, the smallest number of them that holds n items on average (exactly n or
    more where all are of one size).
    ``"strata"``: the items are cut into strata at quantiles of the judge score, or of the entropy where given, and

    .. math:: n_k \propto N_k \sqrt{\bar u_k}

    are drawn at random in stratum k, as whole numbers with the least variance, two at least (Neyman). Judge scores
    alone do not say where the judge errs: without entropy n_k is proportional to N_k.
    ``"active"``: each item by a coin of its own, with probability proportional to
    :math:`\sqrt{u}`; the number of labels is n on average.

    Here :math:`\sqrt u` is a third of the root of the entropy, the judge's own word on how far off it may be, and two
    thirds of the mean root. So two thirds of the labels do not depend on that word, and with "active" none counts more
    than 1.5 times as much as in a simple sample: a judge can be sure and wrong.

    ``after`` an earlier choice n further items are drawn in its design, among those that it left, and both together
    are returned. Units drawn at random from what a random draw has left are, with it, one random draw: of all sets of
    that size each is as likely (so it is within each stratum, whose number depends on scores alone, and for groups).
    Of coins with probability p, an item that lost is thrown for again with (P - p) / (1 - p), where P is its
    probability in one draw of all labels, and so is drawn with probability P. Who draws again until the labels please
    needs a `confidence_sequence`: an interval of the last round would hold less often than it says.

    Parameters
    ----------
    f : array_like, shape (M,)
        Judge scores of all items.
    n : int
        Labels to buy.
    design : {"simple", "groups", "strata", "active"}
    entropy : array_like, shape (M,), optional
        Entropy, or variance, of the judge's distribution on each item; for "strata" and needed for "active".
    groups : sequence, shape (M,), optional
        Of each item, needed for "groups".
    n_strata : int, default 4
        How many strata; there may be fewer, as items of equal value stay together.
    rng : Generator or int, optional
        Source of the draws; default a fresh one. A number may be that of the earlier choice.
    after : Choice, optional
        What was chosen before; `n` is the number of further labels, and `design` that of the choice.

    References
    ----------
    Neyman (1934); Wright (2012), The American Statistician 66:217, for whole numbers; Zrnic and Candes (2024),
    arXiv:2403.03208, and Angelopoulos et al. (2025), arXiv:2506.07949, for "active".

    Examples
    --------
    >>> choice = choose([1.2, 4.8, 3.3, 4.9, 2.0, 4.1, 3.9, 4.4], 4, design="strata", n_strata=2, rng=0)
    >>> print(choice)
    4 of 8 items to label (strata, probability 0.5)
    >>> print(choose([1.2, 4.8, 3.3, 4.9, 2.0, 4.1, 3.9, 4.4], 2, after=choice, rng=0))
    6 of 8 items to label (strata, probability 0.75)
    """
    scores = _without_gaps(f, "f")
    most, source = len(scores), np.random.default_rng(rng)
    check.choice(design, "design", ("simple", "groups", "strata", "active"))
    if after is None:
        if check.whole(n, "n", least=2) > most:
            raise ArgumentError("n", f"must be at most the number of items ({most})", f"got {n}")
    else:
        if design not in ("simple", after.design):
            got = f"got {design!r} after {after.design!r}"
            raise ArgumentError("design", "must be that of {0}", got, mentions=("after",))
        if len(after.chosen) != most:
            length = f"is of {len(after.chosen)}"
            raise ArgumentError("after", "must be of as many items as {0}", length, mentions=("f",))
        if check.whole(n, "n", least=1) > (left := most - after.n_chosen):
            rule = f"must be at most the number of items that are not chosen yet ({left} of {most})"
            raise ArgumentError("n", rule, f"got {n}" if left else f"got {n}: nothing is left to choose")
        design = after.design
        # a stream of its own for each round, whatever number comes again
        source = np.random.default_rng([*source.integers(2**32, size=4).tolist(), after.n_chosen])
    unsure = _uncertainty(entropy, scores, design)
    stratum = None if after is None else after.stratum
    before = np.zeros(most, dtype=bool) if after is None else after.chosen
    if (groups is not None) != (design == "groups"):
        rule, came = ("must be given for", "without") if groups is None else ("must come with", f"with {design!r}")
        raise ArgumentError("groups", f"{rule} design 'groups'", f"came {came}")
    check.same_length(f=scores, groups=groups)
    if unsure is not None and design == "active":
        had = 0.0 if after is None else after.inclusion
        inclusion = np.maximum(had, _coins(unsure, min(n + float(np.sum(had)), most)))
        # a coin that lost is thrown again, so that both throws together have the probability of one
        again = np.divide(inclusion - had, 1 - had, out=np.zeros(most), where=np.less(had, 1))
        chosen = before | (source.random(most) < again)
    else:
        unit = np.arange(most) if groups is None else check.codes(groups, "groups")
        if design == "strata" and after is None:
            stratum = _strata_of(scores if entropy is None else _without_gaps(entropy, "entropy"), n_strata)
        home = np.zeros(most, dtype=np.intp) if stratum is None else stratum
        chosen, inclusion = _drawn_units(unit, home, unsure, n, design, before, source)
    return Choice(
        chosen=chosen, inclusion=inclusion, stratum=stratum, design=design, n_chosen=int(chosen.sum()), n=most,
        seed=rng if isinstance(rng, int) else None,
    )  # fmt: skip


def _without_gaps(values: ArrayLike, name: str) -> Floats:
    out = check.array(values, name, ndim=1)
    refuse_where(np.isnan(out), out, name, "must have a value for each item")
    return out


def _uncertainty(entropy: ArrayLike | None, scores: Floats, design: str) -> Floats | None:
    """Square roots of the entropies, mixed with their mean."""
    if entropy is None:
        if design == "active":
            raise ArgumentError("entropy", "must be given for design 'active'", "came without")
        return None
    if design not in {"strata", "active"}:
        raise ArgumentError("entropy", "must come with design 'strata' or 'active'", f"came with {design!r}")
    values = _without_gaps(entropy, "entropy")
    check.same_length(f=scores, entropy=values)
    refuse_where(values < 0, values, "entropy", "must be 0 or more")
    root = np.sqrt(values)
    return _EVEN * root.mean() + (1 - _EVEN) * root if root.any() else np.ones_like(root)


def _coins(unsure: Floats, n: float) -> Floats:
    """Probabilities proportional to the uncertainties, none above 1, that sum to n."""
    order = np.argsort(-unsure)
    down = unsure[order]
    rest = np.cumsum(down[::-1])[::-1]  # what is left when the first k are certain
    # the first k are certain as long as the next one would still pass 1
    certain = int(np.argmin((n - np.arange(len(down))) * down > rest)) if n < len(down) else len(down)
    chance = np.ones_like(unsure)
    if certain < len(down):
        chance[order[certain:]] = (n - certain) * down[certain:] / rest[certain]
    return chance


def _strata_of(values: Floats, n_strata: int) -> Codes:
    """Codes by quantiles; equal values stay together, and a stratum has two items at least."""
    k = check.whole(n_strata, "n_strata", least=2)
    cuts = np.quantile(values, np.arange(1, k) / k)
    code = np.searchsorted(cuts, values, side="left")
    sizes = np.bincount(code, minlength=k)
    for small in np.flatnonzero((sizes > 0) & (sizes < _EACH)):
        others = np.unique(code[code != small])
        if len(others):
            code[code == small] = others[np.argmin(np.abs(others - small))]
    return np.unique(code, return_inverse=True)[1].astype(np.intp)


def _neyman(sizes: Codes, spread: Floats, n: int, least: Codes) -> Codes:
    """Whole numbers that sum to n, no less than `least`, and minimise the sum of (N_k s_k)^2 / n_k.

    The j-th label of stratum k lowers that sum by (N_k s_k)^2 / (j (j - 1)): the largest are taken.
    """
    most = np.maximum(np.minimum(sizes, n), least)
    stratum = np.repeat(np.arange(len(sizes)), most - least)
    label = np.concatenate([np.arange(a, b) for a, b in zip(least, most, strict=True)]) + 1.0
    worth = (sizes * spread)[stratum] / np.sqrt(label * (label - 1))
    best = np.argsort(-worth, kind="stable")[: n - int(least.sum())]
    return np.asarray(least + np.bincount(stratum[best], minlength=len(sizes)))


def _drawn_units(
    unit: Codes, stratum: Codes, unsure: Floats | None, n: int, design: str, before: NDArray[np.bool_],
    source: np.random.Generator,
) -> tuple[NDArray[np.bool_], Floats]:  # fmt: skip
    """Units at random within their stratum, those of `before` first (groups and the simple design have one stratum)."""
    count = int(unit.max()) + 1
    # how many units to have drawn in each stratum, with those of `before`
    items, chosen = np.bincount(stratum), np.bincount(stratum[before], minlength=int(stratum.max()) + 1)
    if design == "groups":
        units = np.array([min(len(set(unit[before].tolist())) + math.ceil(n * count / len(unit)), count)])
    elif len(items) == 1 and design == "simple":
        units = chosen + n
    else:
        least, total = np.maximum(np.minimum(_EACH, items), chosen), int(chosen.sum()) + n
        if total < least.sum():
            rule = f"must be {int((least - chosen).sum())} or more for {len(items)} strata"
            raise ArgumentError("n", rule, f"got {n}")
        means = np.ones(len(items)) if unsure is None else np.sqrt(np.bincount(stratum, unsure**2) / items)
        units = _neyman(items, means, total, least)
    home, had = np.empty(count, dtype=np.intp), np.zeros(count, dtype=bool)
    home[unit] = stratum
    had[unit[before]] = True
    if (had[unit] != before).any():
        raise ArgumentError("after", "must be a choice of whole groups", "has some items of a group and not others")
    sizes = np.bincount(home)
    shuffled = source.permutation(count)
    shuffled = shuffled[np.argsort(~had[shuffled], kind="stable")]
    order = shuffled[np.argsort(home[shuffled], kind="stable")]
    place = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    picked = np.zeros(count, dtype=bool)
    picked[order] = place < units[home[order]]
    return picked[unit], (units / sizes)[stratum]
