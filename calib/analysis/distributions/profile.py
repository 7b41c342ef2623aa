"""Profile of a judge: what it does with its scale, how sure it is, and the items that deserve a look."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calib.analysis.distributions.distribution import entropy as nats_of, expectation
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import ratio
from calib.core.result import Result, short, term

if TYPE_CHECKING:
    import pandas as pd

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_BINS = 20
_MOST_VALUES = 11  # more of them are counted in bins
_LEAST = 0.005  # share that a sentence names
_HARDLY = 0.001  # share of the scores below which a value is hardly used
_OFTEN = 0.01  # share of people's labels that makes a value one to be used
_ENOUGH = 30  # scores of which some should reach an end of the scale
_LITTLE = 0.5  # captured mass below which a score is mostly a guess
_MANY = 0.01  # share of such scores, or of replies not read, that is worth a warning
_TIE = 9  # decimals: what differs by rounding alone is a tie
_NAN = math.nan


class Shares(NamedTuple):
    """What part of the scores each value has.

    Attributes
    ----------
    levels : tuple of float
        The values of the scale, or the middles of bins.
    width : float
        Of a bin; 0 where the levels are values.
    rounded : bool
        Whether scores of the judge lay between values, as means do.
    judge, labels : tuple of float
        A share for each level; `labels` is empty where there are none.
    """

    levels: tuple[float, ...]
    width: float
    rounded: bool
    judge: tuple[float, ...]
    labels: tuple[float, ...]

    @property
    def most(self) -> str:
        """What the judge uses most, and people: two neighbouring values; of a scale of up to three one."""
        if not any(self.judge):
            return "there are no scores"
        wide = 1 if len(self.levels) < 4 else 2
        sums = np.convolve(self.judge, np.ones(wide), "valid")
        first = int(np.argmax(np.round(sums, _TIE)))
        places = [place for place in range(first, first + wide) if self.judge[place] >= _LEAST]
        ends, half = [self.levels[place] for place in places], self.width / 2
        named = [short(ends[0] - half), short(ends[-1] + half)] if self.width else [*map(short, ends)]
        judge, labels = (sum(part[place] for place in places) for part in (self.judge, self.labels or self.judge))
        where = (" to " if self.width else " or ").join(named) + ", rounded" * self.rounded
        people = f" (people's: {_per_cent_text(labels)})" * bool(self.labels)
        return f"{_per_cent_text(judge)} of the judge's scores are {where}{people}"


def _per_cent_text(share: float) -> str:
    return f"{100 * share:.0f} %"


class Histogram(NamedTuple):
    """A number of each item: its histogram and its quantiles.

    Attributes
    ----------
    edges : tuple of float
    counts : tuple of int
        How many items lie between two edges.
    quantiles : tuple of float
        At 0, 5, 25, 50, 75, 95 and 100 %.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    quantiles: tuple[float, ...]

    @property
    def median(self) -> float:
        """Half of the items are below it."""
        return self.quantiles[_QUANTILES.index(0.5)]

    @property
    def half(self) -> str:
        """The median of an entropy, in words."""
        return f"an entropy above {self.median:.2g} nats (of at most {self.edges[-1]:.2g})"


class FlaggedItem(NamedTuple):
    """An item that deserves a look.

    Attributes
    ----------
    why : str
    item : str
    value : float
        The judge's score less the label, the entropy in nats, or the number that the reason is about.
    score, label, entropy : float
    texts : tuple of (str, str)
        What there is to read: names and texts.
    """

    why: str
    item: str
    value: float
    score: float
    label: float
    entropy: float
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Result):
    """A judge's scores, their entropy and captured mass, and the items that deserve a look.

    Attributes
    ----------
    n, n_missing, n_labels : int
        Items; those without a score of the judge; those with a score of the judge and a label.
    n_replies, n_unread : int
        Replies of the judge; those of which nothing could be read.
    mean, sd : float
        Of the judge's scores.
    label_mean, difference, distance : float
        Of the items that both scored: the mean label, the mean of judge less label, the mean of its size; NaN
        without labels.
    shares : Shares
        What part of the judge's scores, and of the labels, each value has.
    entropy, mass : Histogram or None
        Of the items, where they are known.
    little : float
        Share of the scores that rest on less than half of the judge's probability; NaN where that is not known.
    statuses : tuple of (str, int)
        How many replies have each status; one of which probabilities were read may have several.
    looks : tuple of FlaggedItem
        As a DataFrame: `items`.
    warnings : tuple of str
        ``unread``, ``little_mass``, ``constant``, ``ends_unused``, and ``other_scale`` (of tables alone).
    """

    _kind = "profile"
    n: int = term("n")
    n_missing: int = term("missing")
    n_labels: int = term("human", unless=0)
    n_replies: int
    n_unread: int
    mean: float
    sd: float
    label_mean: float
    difference: float
    distance: float
    shares: Shares
    entropy: Histogram | None
    mass: Histogram | None
    little: float
    statuses: tuple[tuple[str, int], ...]
    looks: tuple[FlaggedItem, ...] = field(repr=False)
    warnings: tuple[str, ...]

    @property
    def items(self) -> pd.DataFrame:
        """The items that deserve a look, the most striking first (needs pandas).

        `why` is "entropy", "labels" (people say otherwise), "prompts" or "draws" (it contradicts itself), "unread", or
        what the caller had as a reason.
        """
        import pandas as pd

        numbers = dict.fromkeys(("value", "score", "label", "entropy"), float)
        frame = pd.DataFrame([look[:-1] for look in self.looks], columns=list(FlaggedItem._fields[:-1]), dtype=object)
        frame = frame.astype(numbers)
        # Python strings, which may hold what Arrow cannot
        texts = pd.DataFrame([dict(look.texts) for look in self.looks], index=frame.index, dtype=object).fillna("")
        unknown = ["label"] * (not self.n_labels) + ["entropy"] * (self.entropy is None)
        return frame.drop(columns=unknown).join(texts)

    def _rows(self) -> list[dict[str, Any]]:
        of_labels = ("n_labels", "label_mean", "difference", "distance") if self.n_labels else ()
        medians = {f"median_{name}": spread.median for name, spread in self._histograms}
        return [self._row("n", "n_missing", "mean", "sd", *of_labels) | medians | self._row("warnings")]

    @property
    def unused(self) -> tuple[float, ...]:
        """Values with less than 0.1 % of the judge's scores; means and bins do not tell."""
        pairs = zip(self.shares.levels, self.shares.judge, strict=True)
        exact = not self.shares.width and not self.shares.rounded
        return tuple(value for value, share in pairs if share < _HARDLY) if exact else ()

    @property
    def _histograms(self) -> list[tuple[str, Histogram]]:
        both = (("entropy", self.entropy), ("mass", self.mass))
        return [(name, spread) for name, spread in both if spread is not None]

    def __str__(self) -> str:
        parts = [
            "none" if math.isnan(self.mean) else f"mean {short(self.mean)}",
            *[f"median {name} {short(by.median)}" for name, by in self._histograms],
        ]
        if self.n_labels:
            parts.append(f"{self.difference:+.3g} from people on {self.n_labels}")
        none = f" ({self.n_missing} without)" * bool(self.n_missing)
        return f"scores of {self.n} item{'s' * (self.n != 1)}{none}: {', '.join(parts)}{self._bracketed_warnings}"


def profile(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    levels: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    annotations: ArrayLike | None = None,
    entropy: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    replies: ArrayLike | None = None,
    unread: ArrayLike | None = None,
    reasons: Mapping[str, ArrayLike] | None = None,
    statuses: Mapping[str, int] | None = None,
    items: Sequence[Any] | None = None,
    top: int = 20,
) -> Profile:
    """What a judge does with its scale, how sure it is, and the items that deserve a look.

    Parameters
    ----------
    scores : array_like, shape (n,) or (n, K)
        One score per item, NaN where there is none; or, with `levels`, weights: probabilities or counts of draws.
    labels : array_like, shape (n,), optional
        People's label of each item, NaN where there is none.
    levels : array_like, shape (K,) or (n, K), optional
        Values of the columns of `scores`, which then holds weights.
    scale : array_like, shape (L,), optional
        All values of the scale; a score between two of them is counted at the nearest. More than 11 are divided
        into 20 bins. Default: `levels` where they are those of all items, else what occurs.
    annotations : array_like, shape (m,), optional
        The labels of each person, where `labels` has their means. Default: `labels`.
    entropy, mass : array_like, shape (n,), optional
        Of each item's scores, in nats (default: of `scores` with `levels`); its captured probability.
    replies, unread : array_like, shape (n,), optional
        Replies for each item, and those that could not be read. Default: one each, unread where there is no score.
    reasons : mapping of str to array_like of shape (n,), optional
        More reasons to look at items: those with the largest numbers are listed, 0 and NaN are none.
    statuses : mapping of str to int, optional
        How many replies have each status.
    items : sequence, optional
        Names of the items. Default: their numbers, from 0.
    top : int, default 20
        Items listed for each reason, at most; of equal ones those whose names come first.

    Examples
    --------
    >>> weights = [[0.0, 0.1, 0.9], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    >>> result = profile(weights, [3, 1, 2, 3], levels=[1, 2, 3], top=2)
    >>> print(result)
    scores of 4 items: mean 2.6, median entropy 0.5091, +0.35 from people on 4
    >>> [(look.why, look.item, round(look.value, 3)) for look in result.looks]
    [('labels', '1', 1.0), ('labels', '2', 0.5), ('entropy', '1', 1.089), ('entropy', '2', 0.693)]
    """
    check.whole(top, "top", least=0)
    # a number for each item, and what it is made of: values and their weights
    if levels is None:
        number = check.array(scores, "scores", ndim=1)
        values, weights = np.nan_to_num(number)[:, None], np.isfinite(number)[:, None].astype(float)
    else:
        weights = np.nan_to_num(check.array(scores, "scores", ndim=2))
        try:
            number = np.asarray(expectation(weights, levels))
        except ArgumentError as error:
            raise error.renamed({"p": "scores"}) from None
        values = np.broadcast_to(check.array(levels, "levels"), weights.shape)
        if scale is None and np.ndim(levels) == 1 and values.shape[1] > 1:
            scale = values[0] if len(values) else None
    columns = {"labels": labels, "entropy": entropy, "mass": mass, "replies": replies, "unread": unread}
    columns |= reasons or {}
    by = {name: check.array(column, name, ndim=1) for name, column in columns.items() if column is not None}
    check.same_length(scores=number, items=items, **by)
    read = np.isfinite(number)
    label = by.get("labels", np.full(len(number), np.nan))
    unread_of_item = by.get("unread", np.isnan(number).astype(float))
    gap = number - label
    both = np.isfinite(gap)
    if levels is not None:
        by.setdefault("entropy", np.asarray(nats_of(weights)))
    nats = by.get("entropy", np.full(len(number), np.nan))
    each = label if annotations is None else check.array(annotations, "annotations", ndim=1)
    why = {name: by[name] for name in ("entropy", *(reasons or {})) if name in by}
    n_replies, n_unread = int(by["replies"].sum()) if "replies" in by else len(number), int(unread_of_item.sum())
    counts = {"ok": n_replies - n_unread, "unread": n_unread} if statuses is None else statuses
    result = Profile(
        n=len(number), n_missing=int((~read).sum()), n_labels=int(both.sum()), mean=_mean(number[read]),
        sd=float(np.std(number[read], ddof=1)) if read.sum() > 1 else _NAN, label_mean=_mean(label[both]),
        difference=_mean(gap[both]), distance=_mean(np.abs(gap[both])), n_replies=n_replies, n_unread=n_unread,
        shares=_shares_used(values, weights, each[np.isfinite(each)], scale),
        entropy=_histogram_of(nats, 0.0 if scale is None else math.log(np.size(scale))),
        mass=_histogram_of(by.get("mass", nats[:0]), 1.0), warnings=(),
        little=_mean(by["mass"][~np.isnan(number)] < _LITTLE) if "mass" in by else _NAN,
        statuses=tuple((name, int(count)) for name, count in counts.items() if count),
        looks=_looks({"labels": gap, **why, "unread": unread_of_item}, (number, label, nats), items, top),
    )  # fmt: skip
    return replace(result, warnings=_profile_warnings(result))


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else _NAN


def _shares_used(values: Floats, weights: Floats, labels: Floats, scale: ArrayLike | None) -> Shares:
    """Each item counts the same, whatever mass was captured of it."""
    share = ratio(weights, weights.sum(axis=1, keepdims=True))
    used = share > 0
    grid, width = np.union1d(values[used], labels), 0.0
    if scale is not None:
        grid = np.unique(check.array(scale, "scale", ndim=1))
        if len(grid) < 2:
            raise ArgumentError("scale", "must have two values at least", f"got {scale!r}")
    if len(grid) > _MOST_VALUES:
        edges = np.linspace(grid[0], grid[-1], _BINS + 1)
        grid, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    # what lies halfway between two values goes to both by half, of bins to the upper
    sides: tuple[Any, ...] = ("right",) if width else ("left", "right")
    middles = (grid[:-1] + grid[1:]) / 2

    def shares_of(scores: Floats, mass: Floats) -> tuple[float, ...]:
        if not len(grid):
            return ()
        counts = sum(np.bincount(np.searchsorted(middles, scores, side), mass, len(grid)) for side in sides)
        return tuple((counts / max(len(sides) * mass.sum(), 1e-300)).tolist())

    rounded = not width and not np.isin(values[used], grid).all()
    of_labels = shares_of(labels, np.ones(len(labels))) if len(labels) else ()
    return Shares(tuple(grid.tolist()), width, rounded, shares_of(values[used], share[used]), of_labels)


def _histogram_of(values: Floats, most: float) -> Histogram | None:
    """From 0 to the most that there can be."""
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    counts, edges = np.histogram(values, _BINS, (0.0, max(most, float(values.max())) or 1.0))
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()), tuple(np.quantile(values, _QUANTILES).tolist()))


def _looks(
    reasons: Mapping[str, Floats], columns: tuple[Floats, Floats, Floats], items: Sequence[Any] | None, top: int
) -> tuple[FlaggedItem, ...]:
    """For each reason the items with the largest numbers, of equal ones those whose names come first."""
    rows, looks = np.column_stack(columns).tolist(), []
    for why, by in reasons.items():
        size = np.round(np.abs(np.nan_to_num(by)), _TIE)
        some = np.flatnonzero(size > 0)
        if len(some) > top:  # a sort of the names of all would take longer than everything else
            some = some[:0] if not top else some[size[some] >= np.partition(size[some], -top)[-top]]
        named = [(-size[place], place if items is None else str(items[place]), place) for place in some.tolist()]
        looks += [FlaggedItem(why, str(name), float(by[at]), *rows[at]) for _, name, at in sorted(named)[:top]]
    return tuple(looks)


def _profile_warnings(result: Profile) -> tuple[str, ...]:
    """What a reader should know before the numbers."""
    named = ", ".join(f"{name} {n}" for name, n in result.statuses if name not in ("ok", "unseen", "ambiguous"))
    scores, levels = result.n - result.n_missing, result.shares.levels
    labels = dict(zip(levels, result.shares.labels or [1.0] * len(levels), strict=True))
    ends = [level for level in result.unused if level in (levels[0], levels[-1]) and labels[level] >= _OFTEN]
    share = f" (people's: {_per_cent_text(sum(labels[level] for level in ends))})" * bool(result.shares.labels)
    texts = []
    if result.n_unread > _MANY * result.n_replies:
        texts.append(f"unread: {result.n_unread} of {result.n_replies} replies have no score ({named})")
    if result.little > _MANY:
        texts.append(
            f"little_mass: {_per_cent_text(result.little)} of {scores} scores rest on less than half of the judge's "
            "probability; the rest was on other words or not reported"
        )
    if scores > 1 and result.sd == 0:
        texts.append(f"constant: all {scores} scores are {short(result.mean)}")
    if ends and result.sd > 0 and scores >= _ENOUGH:
        texts.append(f"ends_unused: the judge hardly uses {' and '.join(map(short, ends))}{share}")
    return tuple(texts)
