"""Which items to label, whether the judge's error is the same elsewhere, and weights where the mix differs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calib.analysis.means.mean import mean_interval
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.result import Interval, Result, bracket, short

if TYPE_CHECKING:
    import pandas as pd

DESIGNS = ("simple", "groups", "strata", "active")
_FLOOR = 0.25  # of the mean uncertainty: a judge that is sure can be wrong
_EACH = 2  # labels a stratum, so that its spread can be estimated


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

        return pd.DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        columns = {"chosen": self.chosen, "inclusion": self.inclusion}
        return columns if self.stratum is None else columns | {"stratum": self.stratum}

    def _rows(self) -> list[dict[str, Any]]:
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _terms(self) -> dict[str, Any]:
        strata = None if self.stratum is None else int(self.stratum.max()) + 1
        return {"choice": self.design, "gold": self.n_chosen, "n": self.n, "strata": strata, "seed": self.seed}

    def __str__(self) -> str:
        low, high = float(self.inclusion.min()), float(self.inclusion.max())
        chance = short(low) if high - low < 1e-12 else f"{short(low)} to {short(high)}"
        return f"{self.n_chosen} of {self.n} items to label ({self.design}, probability {chance})"


def choose_items(
    f: ArrayLike,
    n: int,
    *,
    method: str = "simple",
    entropy: ArrayLike | None = None,
    groups: Labels | None = None,
    n_strata: int = 4,
    rng: np.random.Generator | int | None = None,
) -> Choice:
    r"""Draw the items that people shall label, each with a known probability.

    ``"simple"``: n at random, without replacement.
    ``"groups"``: whole groups at random, the smallest number of them that holds n items
    on average (exactly n or more where all are of one size).
    ``"strata"``: the items are cut into strata at quantiles of the judge score, or of the
    entropy where it is given, and

    .. math:: n_k \propto N_k \sqrt{\bar u_k}

    are drawn at random in stratum k, as whole numbers with the least variance, two at
    least: u is the entropy, the judge's own word on how far off it may be (Neyman).
    Judge scores alone do not say where the judge errs: without entropy n_k is
    proportional to N_k.
    ``"active"``: each item by a coin of its own, with probability proportional to
    :math:`\sqrt{u}`; the number of labels is n on average.

    No item counts as surer than a quarter of the mean :math:`\sqrt u`, since a judge can
    be sure and wrong.

    Parameters
    ----------
    f : array_like, shape (M,)
        Judge scores of all items.
    n : int
        Labels to buy.
    method : {"simple", "groups", "strata", "active"}
    entropy : array_like, shape (M,), optional
        Entropy, or variance, of the judge's distribution on each item; for "strata" and
        needed for "active".
    groups : sequence, shape (M,), optional
        Group of each item, needed for "groups".
    n_strata : int, default 4
        Items of one value stay together, so that there can be fewer.
    rng : Generator or int, optional
        Source of the draws; default a fresh one.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If n is more than there are items (or too few for the strata), a judge score is
        missing, an entropy is negative, or an argument does not belong to the method.

    References
    ----------
    Neyman (1934); Wright (2012), The American Statistician 66:217, for whole numbers;
    Zrnic and Candes (2024), arXiv:2403.03208, and Angelopoulos et al. (2025),
    arXiv:2506.07949, for "active".

    Examples
    --------
    >>> choice = choose_items([1.2, 4.8, 3.3, 4.9, 2.0, 4.1, 3.9, 4.4], 4, method="strata", n_strata=2, rng=0)
    >>> print(choice)
    4 of 8 items to label (strata, probability 0.5)
    >>> choice.stratum.tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    scores = _complete(f, "f")
    design = check.choice(method, "method", DESIGNS)
    total, most = check.whole(n, "n", least=2), len(scores)
    if total > most:
        raise ArgumentError("n", f"must be at most the number of items ({most})", f"got {total}")
    source = np.random.default_rng(rng)
    unsure = _uncertainty(entropy, scores, design)
    stratum: Codes | None = None
    if design == "active":
        assert unsure is not None
        inclusion = _scaled(unsure, total)
        chosen = source.random(most) < inclusion
    else:
        unit = _units(groups, scores, design)
        stratum = _strata(scores if entropy is None else _complete(entropy, "entropy"), n_strata, design)
        taken = _taken(unit, stratum, unsure, total, design)
        chosen, inclusion = _drawn(unit, stratum, taken, source)
    return Choice(
        chosen=chosen,
        inclusion=inclusion,
        stratum=stratum if design == "strata" else None,
        design=design,
        n_chosen=int(chosen.sum()),
        n=most,
        seed=rng if isinstance(rng, int) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport(Result):
    """The judge's mean error on items from elsewhere, against zero or against its error at home.

    Attributes
    ----------
    residual : float
        Mean of label - judge score on the probe.
    residual_base : float or None
        The same at home, where a base was given.
    estimate, std_error, statistic, df, p_value : float
        Of the residual, or of the probe's less the base's.
    interval : Interval
    confidence_level : float
    transports : bool
        Whether the test leaves the judge standing at this level. True is no proof.
    n, n_base : int
        Labels of the probe and of the base.
    n_groups : int
        Independent groups in the probe.
    warnings : tuple of str
        ``constant_error``.
    """

    residual: float
    residual_base: float | None
    estimate: float
    std_error: float
    statistic: float
    df: float
    p_value: float
    interval: Interval
    confidence_level: float
    transports: bool
    n: int
    n_base: int
    n_groups: int
    warnings: tuple[str, ...]

    def _rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {"estimate": self.estimate, "std_error": self.std_error, "statistic": self.statistic}
        row |= {"df": self.df, "p_value": self.p_value, "conf_low": self.interval.low, "conf_high": self.interval.high}
        return [row | {"transports": self.transports, "n": self.n, "n_base": self.n_base, "n_groups": self.n_groups}]

    def _terms(self) -> dict[str, Any]:
        terms: dict[str, Any] = {"transport": True, "t": True, "alt": "two-sided", "cl": self.confidence_level}
        terms |= {"n": self.n, "base": self.n_base or None}
        return terms | {"groups": self.n_groups if self.n_groups != self.n else None}

    def __str__(self) -> str:
        what = "the judge's error" if self.residual_base is None else "the change of the judge's error"
        found = f"{what} is {short(self.estimate)}, {bracket(self.interval, self.confidence_level)}, on {self.n} labels"
        if not self.transports:
            return f"{found}: the judge does not transport (p = {short(self.p_value)})"
        reach = max(abs(self.interval.low), abs(self.interval.high))
        small = "" if math.isnan(reach) else f": an error of {short(reach)} would look the same"
        return f"{found}: not shown to differ, which is no proof{small}"


def transport_test(
    y: ArrayLike,
    f: ArrayLike,
    *,
    y_base: ArrayLike | None = None,
    f_base: ArrayLike | None = None,
    groups: Labels | None = None,
    groups_base: Labels | None = None,
    confidence_level: float = 0.95,
) -> Transport:
    r"""Whether the judge errs elsewhere as it does at home, from a few labels there.

    A correction learned on one system (or domain, or month) holds for another only if the
    judge's mean error is the same. Without a base the mean of y - f is held against zero
    (a calibrated judge), with a base against the mean error there (Welch):

    .. math:: t = \frac{\overline{y - f} - \overline{y - f}_{base}}{\sqrt{V + V_{base}}}

    With groups V is that of `mean_interval`, with G - 1 degrees of freedom.

    Parameters
    ----------
    y, f : array_like, shape (n,)
        Labels (NaN where there is none) and judge scores of the probe.
    y_base, f_base : array_like, shape (m,), optional
        The same at home, of other items.
    groups, groups_base : sequence, optional
        Items of one group are not independent.
    confidence_level : float, default 0.95

    Returns
    -------
    Transport

    Raises
    ------
    ValueError
        If fewer than two labels (or groups) are there, or lengths differ.

    References
    ----------
    The transport audit of CJE (cimo-labs), and Welch (1947).

    Examples
    --------
    >>> print(transport_test([3, 4, 2, 4, 5, 3], [3.4, 4.5, 3.1, 4.2, 4.9, 3.8]))
    the judge's error is -0.4833, 95 % CI [-0.9306, -0.03604], on 6 labels: the judge does not transport (p = 0.03901)
    """
    level = check.probability(confidence_level, "confidence_level")
    here = _error(y, f, groups, "")
    if (y_base is None) != (f_base is None) or (groups_base is not None and y_base is None):
        raise ArgumentError("y_base", "and {0} must be given together", "one of them came alone", mentions=("f_base",))
    if y_base is not None and (groups is None) != (groups_base is None):
        raise ArgumentError(
            "groups_base", "must be given exactly when {0} is", "only one of them came", mentions=("groups",)
        )
    sides = [here] if y_base is None or f_base is None else [here, _error(y_base, f_base, groups_base, "_base")]
    estimate = here.mean - (sides[1].mean if len(sides) > 1 else 0.0)
    variance = sum(side.variance for side in sides)
    spread = sum(side.variance**2 / (side.units - 1) for side in sides)
    df = variance**2 / spread if spread else float(here.units - 1)
    error = math.sqrt(variance)
    half = float(stats.t.ppf((1 + level) / 2, df)) * error if error else math.nan
    p_value = float(2 * stats.t.sf(abs(estimate) / error, df)) if error else math.nan
    warned = () if error else ("constant_error: the judge's error does not vary here, so its spread is not known.",)
    for text in warned:
        check.warn(text)
    return Transport(
        residual=here.mean,
        residual_base=sides[1].mean if len(sides) > 1 else None,
        estimate=estimate,
        std_error=error,
        statistic=estimate / error if error else math.nan,
        df=df,
        p_value=p_value,
        interval=Interval(estimate - half, estimate + half),
        confidence_level=level,
        transports=p_value > 1 - level if error else estimate == 0,
        n=here.n,
        n_base=sides[1].n if len(sides) > 1 else 0,
        n_groups=here.units,
        warnings=warned,
    )


def shift_weights(categories: Labels, shares: Mapping[Any, float]) -> Floats:
    r"""Weights that give the items the mix of categories of a target.

    .. math:: w_i = \frac{\text{share of } i\text{'s category in the target}}{\text{its share here}}

    with mean 1. Within a category the target has to be like the items here: `transport_test`
    on a probe is the check.

    Parameters
    ----------
    categories : sequence, shape (n,)
        Category (topic, language, difficulty) of each item.
    shares : mapping
        Share of each category in the target; they sum to 1. A category that the target
        lacks has share 0.

    Returns
    -------
    ndarray of float, shape (n,)

    Raises
    ------
    ValueError
        If a category has no share, the target has a category that is missing here, or the
        shares are negative or do not sum to 1.

    Examples
    --------
    >>> shift_weights(["code", "code", "code", "law"], {"code": 0.5, "law": 0.5}).round(4)
    array([0.6667, 0.6667, 0.6667, 2.    ])
    """
    code = check.codes(categories, "categories")
    names = _names(categories)
    if not len(code):
        raise ArgumentError("categories", "must have one item at least", "got none")
    for name in names:
        if name not in shares:
            raise ArgumentError("shares", "must have a share for each category", f"{name!r} has none")
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ArgumentError("shares", "must be between 0 and 1", f"got {share!r} for {name!r}")
        if share > 0 and name not in names:
            raise ArgumentError("categories", "must hold each category of the target", f"none is {name!r}")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise ArgumentError("shares", "must sum to 1", f"got {sum(shares.values()):g}")
    wanted = np.array([shares[name] for name in names], dtype=float)
    return np.asarray((wanted / wanted.sum() * len(code) / np.bincount(code))[code])


# --- drawing ----------------------------------------------------------------------------------------------------


def _complete(values: ArrayLike, name: str) -> Floats:
    out = check.array(values, name, ndim=1)
    if np.isnan(out).any():
        raise ArgumentError(name, "must have a value for each item", f"got NaN at {int(np.argmax(np.isnan(out)))}")
    return out


def _uncertainty(entropy: ArrayLike | None, scores: Floats, design: str) -> Floats | None:
    """Square roots of the entropies, with a floor."""
    if entropy is None:
        if design == "active":
            raise ArgumentError("entropy", "must be given for method 'active'", "came without")
        return None
    if design not in {"strata", "active"}:
        raise ArgumentError("entropy", "must come with method 'strata' or 'active'", f"came with {design!r}")
    values = _complete(entropy, "entropy")
    check.same_length(f=scores, entropy=values)
    if (values < 0).any():
        place = int(np.argmax(values < 0))
        raise ArgumentError("entropy", "must be 0 or more", f"got {values[place]:g} at {place}")
    root = np.sqrt(values)
    return np.maximum(root, _FLOOR * root.mean()) if root.any() else np.ones_like(root)


def _scaled(unsure: Floats, n: int) -> Floats:
    """Probabilities proportional to the uncertainties, none above 1, that sum to n."""
    order = np.argsort(-unsure)
    down = unsure[order]
    rest = np.cumsum(down[::-1])[::-1]  # what is left when the first k are certain
    # the first k are certain as long as the next one would still pass 1
    certain = int(np.argmin((n - np.arange(len(down))) * down > rest)) if n < len(down) else len(down)
    share = np.ones_like(unsure)
    if certain < len(down):
        share[order[certain:]] = (n - certain) * down[certain:] / rest[certain]
    return share


def _units(groups: Labels | None, scores: Floats, design: str) -> Codes:
    """What is drawn: the group of each item, or the item itself."""
    if design != "groups":
        if groups is not None:
            raise ArgumentError("groups", "must come with method 'groups'", f"came with {design!r}")
        return np.arange(len(scores))
    if groups is None:
        raise ArgumentError("groups", "must be given for method 'groups'", "came without")
    check.same_length(f=scores, groups=groups)
    return check.codes(groups, "groups")


def _strata(values: Floats, n_strata: int, design: str) -> Codes:
    """Codes by quantiles; equal values stay together, and a stratum has two items at least."""
    if design != "strata":
        return np.zeros(len(values), dtype=np.intp)
    k = check.whole(n_strata, "n_strata", least=2)
    cuts = np.quantile(values, np.arange(1, k) / k)
    code = np.searchsorted(cuts, values, side="left")
    sizes = np.bincount(code, minlength=k)
    for small in np.flatnonzero((sizes > 0) & (sizes < _EACH)):
        others = np.unique(code[code != small])
        if len(others):
            code[code == small] = others[np.argmin(np.abs(others - small))]
    return np.unique(code, return_inverse=True)[1].astype(np.intp)


def _taken(unit: Codes, stratum: Codes, unsure: Floats | None, n: int, design: str) -> Codes:
    """How many units to draw in each stratum."""
    if design == "groups":
        count = int(unit.max()) + 1
        return np.array([math.ceil(n * count / len(unit))])
    sizes = np.bincount(stratum)
    if design == "simple":
        return np.array([n])
    if n < _EACH * len(sizes):
        raise ArgumentError("n", f"must be {_EACH * len(sizes)} or more for {len(sizes)} strata", f"got {n}")
    means = np.ones(len(sizes)) if unsure is None else np.sqrt(np.bincount(stratum, unsure**2) / sizes)
    return _neyman(sizes, means, n)


def _neyman(sizes: Codes, spread: Floats, n: int) -> Codes:
    """Whole numbers that sum to n and minimise the sum of (N_k s_k)^2 / n_k.

    The j-th label of stratum k lowers that sum by (N_k s_k)^2 / (j (j - 1)): the n largest are taken.
    """
    least = np.minimum(_EACH, sizes)
    stratum = np.repeat(np.arange(len(sizes)), np.minimum(sizes, n) - least)
    label = np.concatenate([np.arange(a, b) for a, b in zip(least, np.minimum(sizes, n), strict=True)]) + 1.0
    worth = (sizes * spread)[stratum] / np.sqrt(label * (label - 1))
    best = np.argsort(-worth, kind="stable")[: n - int(least.sum())]
    return np.asarray(least + np.bincount(stratum[best], minlength=len(sizes)))


def _drawn(unit: Codes, stratum: Codes, taken: Codes, source: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    """Units at random within their stratum (groups and the simple design have one stratum)."""
    count = int(unit.max()) + 1
    home = np.empty(count, dtype=np.intp)
    home[unit] = stratum
    sizes = np.bincount(home)
    shuffled = source.permutation(count)
    order = shuffled[np.argsort(home[shuffled], kind="stable")]
    place = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    picked = np.zeros(count, dtype=bool)
    picked[order] = place < taken[home[order]]
    return picked[unit], (taken / sizes)[stratum]


# --- the error on a probe ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Side:
    """Mean error of the judge, its variance, and what it rests on."""

    mean: float
    variance: float
    units: int
    n: int


def _error(y: ArrayLike, f: ArrayLike, groups: Labels | None, suffix: str) -> _Side:
    labels, scores = check.array(y, f"y{suffix}", ndim=1), check.array(f, f"f{suffix}", ndim=1)
    check.same_length(**{f"y{suffix}": labels, f"f{suffix}": scores, f"groups{suffix}": groups})
    given = ~np.isnan(labels)
    if np.isnan(scores[given]).any():
        place = int(np.argmax(given & np.isnan(scores)))
        raise ArgumentError(f"f{suffix}", "must have a judge score for each label", f"got NaN at {place}")
    unit = np.arange(len(labels)) if groups is None else check.codes(groups, f"groups{suffix}")
    _, unit = np.unique(unit[given], return_inverse=True)
    error, count = (labels - scores)[given], int(unit.max(initial=-1)) + 1
    if count < 2:
        raise ArgumentError(f"y{suffix}", "must have labels in two groups (or two items) at least", f"got {count}")
    found = mean_interval(error, groups=unit, estimator="classical")
    return _Side(found.estimate, found.std_error**2, count, len(error))


def _names(labels: Labels) -> list[Hashable]:
    """In the order of the codes."""
    return list(dict.fromkeys(labels.tolist() if hasattr(labels, "tolist") else labels))
