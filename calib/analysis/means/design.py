"""The door of the corrected means: what is labelled, what is not, and how both were drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.moments import Moments, flat, moments_of, refuse_missing, refuse_where
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import matrix_product

_TWINS = ("groups", "strata", "weights")  # columns that items without a label have, too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """How the labelled items were drawn, and what items have to do with each other.

    Columns of the n labelled items and, with `_unlabeled`, of the N others; where labels and blanks stand
    in one table, one column is of all items.

    Attributes
    ----------
    groups, groups_unlabeled : sequence, shape (n,) and (N,), optional
        Items of one group (the source document) are not independent.
    strata, strata_unlabeled : sequence, shape (n,) and (N,), optional
        Labelled items were drawn within these.
    weights, weights_unlabeled : array_like, shape (n,) and (N,), optional
        How often each item counts in the population that is meant, as against here (`shift_weights`).
    inclusion : array_like, shape (n,), optional
        Probabilities with which the labelled items were chosen for labelling (`choose`).
    folds : sequence, shape (n,), optional
        The judge was tuned on the labels in folds: `f` is from the judge that did not see the
        item's fold, `f_unlabeled` has shape (N, folds), columns in the folds' sorted order.
    calibrated_folds : int, default 0
        The judge was calibrated to people with these labels in so many folds (`calib.calibrate`): the score of a
        labelled item is by a map that was fitted without its fold, that of another by the mean of the maps. The judge
        then has slope 1, as in cross-prediction (Zrnic and Candes 2024), and is not weighed by these labels once more.
    tuned_on_labels : bool, default False
        Say so if the judge or its prompt was chosen with these labels: it becomes a warning.
    items, items_unlabeled : sequence, shape (n,) and (N,), optional
        Ids, to find items that are on both sides.

    Examples
    --------
    >>> from calib.stats import ppi_mean
    >>> y, f, nan = [4, 2, 5, 3], [4.2, 2.5, 4.6, 3.1, 3.8, 2.2], float("nan")
    >>> documents = Design(groups=["a", "a", "b", "c", "c", "d"])
    >>> ppi_mean([*y, nan, nan], f, design=documents, min_labels=2).n_groups
    3
    """

    groups: Labels | None = None
    groups_unlabeled: Labels | None = None
    strata: Labels | None = None
    strata_unlabeled: Labels | None = None
    weights: ArrayLike | None = None
    weights_unlabeled: ArrayLike | None = None
    inclusion: ArrayLike | None = None
    folds: Labels | None = None
    calibrated_folds: int = 0
    tuned_on_labels: bool = False
    items: Labels | None = None
    items_unlabeled: Labels | None = None


class Drawn(TypedDict, total=False):
    """The fields of a `Design` one by one."""

    groups: Labels | None
    groups_unlabeled: Labels | None
    strata: Labels | None
    strata_unlabeled: Labels | None
    weights: ArrayLike | None
    weights_unlabeled: ArrayLike | None
    inclusion: ArrayLike | None
    folds: Labels | None
    calibrated_folds: int
    tuned_on_labels: bool
    items: Labels | None
    items_unlabeled: Labels | None


class MeanOptions(Drawn, total=False):
    """Options of `ppi_mean` that the means made of it hand on."""

    design: Design | None
    target: str
    estimator: str
    alternative: str
    min_labels: int
    confidence_level: float


def design_of(design: Design | None, drawn: Drawn) -> Design:
    """The design, whichever way it came."""
    fields: dict[str, Any] = dict(drawn)
    if unknown := fields.keys() - Design.__dataclass_fields__.keys():
        raise TypeError(f"{min(unknown)!r} is no argument of this function and no field of `Design`.")
    if not isinstance(design, Design | None):
        raise ArgumentError("design", "must be a `Design`", f"got {type(design).__name__}")
    if design is not None and fields:
        raise ArgumentError("design", "must come without {0}", "both came", mentions=(next(iter(fields)),))
    return replace(design or Design(), **fields)


@dataclass(frozen=True, slots=True)
class MeanData:
    """Labels `y` and judge scores `f` of the labelled items; of the others the moments, and the scores if they came.

    A column that was not given is None; `_rest` is of the items without a label, or where these came as moments of
    several `sets` (one for each group, stratum and weight), of the sets.
    """

    y: Floats
    f: Floats
    rest: Moments
    scores_rest: NDArray[Any] | None
    group: Codes | None = None
    group_rest: Codes | None = None
    stratum: Codes | None = None
    stratum_rest: Codes | None = None
    weight: Floats | None = None
    weight_rest: Floats | None = None
    inclusion: Floats | None = None
    calibrated_folds: int = 0
    sets: Moments | None = None

    @property
    def n_rest(self) -> int:
        return int(self.rest.n)

    @property
    def n(self) -> int:
        return len(self.y) + self.n_rest

    @property
    def n_groups(self) -> int:
        return len(self.y) if self.group is None else len(np.unique(self.group))

    @property
    def drawn(self) -> str:
        """How the labelled items are taken to be drawn; groups of one item each are dropped at the door."""
        if self.stratum is not None:
            return "strata"
        if self.weight is not None or self.inclusion is not None:
            return "weighted"
        return "items" if self.group is None else "groups"

    @property
    def label_weight(self) -> Floats:
        """How much each label counts."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        return weight if self.inclusion is None else weight / self.inclusion

    def loose(self) -> NDArray[Any]:
        """The judge scores of the rest one by one, which moments do not have."""
        if self.scores_rest is None:
            raise ArgumentError("f_unlabeled", "must be an array for this estimator or design", "came as moments")
        return self.scores_rest

    def rest_sets(self) -> Moments:
        """The rest as sets, of one item each where its scores came one by one."""
        if self.sets is not None:
            return self.sets
        if self.scores_rest is None:
            return Moments(*(np.atleast_1d(getattr(self.rest, name)) for name in Moments.__slots__))
        return Moments.one_by_one(self.loose())

    def rest_above(self, low: float, high: float, cut: float) -> int:
        """Items without a label that the judge puts at the cut or above; of moments all are at one end or the other."""
        if self.scores_rest is not None:
            return int(np.count_nonzero(self.scores_rest >= cut))
        if self.n_rest and not self.rest.only(low, high):
            rule = f"must be moments of {low:g} and {high:g} for a proportion: cut the scores at {cut:g}"
            raise ArgumentError("f_unlabeled", rule)
        return round((float(self.rest.mean) - low) / (high - low) * self.n_rest)


def mean_data(y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike | Moments | None, design: Design) -> MeanData:
    """Check everything once; both input forms become the same."""
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    beside = {name: getattr(design, name) for name in (*_TWINS, "folds", "items")}
    check.same_length(y=labels, f=scores, **beside)
    refuse_missing(scores, "f")
    _refuse_halves(design, together=f_unlabeled is None)
    folds = check.whole(design.calibrated_folds, "calibrated_folds", least=0)
    chance = None if design.inclusion is None else check.array(design.inclusion, "inclusion", ndim=1)
    if chance is not None:
        check.same_length(y=labels, inclusion=chance)
        refuse_where(~((chance > 0) & (chance <= 1)), chance, "inclusion", "must be above 0 and at most 1")
    if f_unlabeled is None:
        blank = np.isnan(labels)
        labelled = ~blank
        (rest, loose), sets = _moments_and_scores(scores[blank], "f"), None
        labels, scores = labels[labelled], scores[labelled]
        chance = None if chance is None else chance[labelled]
        columns = _columns(design, lambda values: (values[labelled], values[blank]))
    else:
        rule = "must have a label everywhere when {0} is given"
        refuse_where(np.isnan(labels), labels, "y", rule, ("f_unlabeled",))
        rest, loose, sets = _unlabeled(f_unlabeled, design)
        columns = _columns(design, lambda values: (values[: len(labels)], values[len(labels) :]))
    if design.items_unlabeled is not None and (n := len(design.items_unlabeled)) != rest.n:
        rule = "must have the length of {0}"
        raise ArgumentError("items_unlabeled", rule, f"got {n}", mentions=("f_unlabeled",))
    return MeanData(labels, scores, rest, loose, **columns, inclusion=chance, calibrated_folds=folds, sets=sets)


def _refuse_halves(design: Design, *, together: bool) -> None:
    """Each column comes for both sides, or, where all items stand in one table, for all at once."""
    if together and design.folds is not None:
        rule = "must come with {0}, a column for each fold"
        raise ArgumentError("folds", rule, "came without", mentions=("f_unlabeled",))
    for name, twin in ((name, f"{name}_unlabeled") for name in _TWINS):
        alone = getattr(design, twin) is not None
        if together and alone:
            raise ArgumentError(twin, "must come with {0}", "came alone", mentions=("f_unlabeled",))
        if not together and alone != (getattr(design, name) is not None):
            rule = "must be given exactly when {0} is"
            raise ArgumentError(twin, rule, "only one of them came", mentions=(name,))


def _unlabeled(f_unlabeled: Any, design: Design) -> tuple[Moments, NDArray[Any] | None, Moments | None]:
    """Moments of the items without a label, their scores if they came one by one, and their sets if they came so."""
    if design.folds is not None:
        values = check.array(f_unlabeled, "f_unlabeled", ndim=2)
        check.codes(design.folds, "folds")
        # column k belongs to fold k in sorted order, and weighs as the labelled items that its judge did not learn from
        sizes = np.bincount(np.unique(np.asarray(design.folds), return_inverse=True)[1])
        if values.shape[1] != len(sizes):
            rule = f"must have a column for each fold ({len(sizes)})"
            raise ArgumentError("f_unlabeled", rule, f"has {values.shape[1]}")
        f_unlabeled = np.asarray(matrix_product(values, sizes / sizes.sum()))
    twins = [twin for twin in (f"{name}_unlabeled" for name in _TWINS) if getattr(design, twin) is not None]
    rest, loose = _moments_and_scores(f_unlabeled, "f_unlabeled")
    sets = rest if np.ndim(rest.n) else None
    if sets is not None and not twins:
        raise ArgumentError("f_unlabeled", "must be the moments of one set", f"holds {len(rest.n)} systems")
    for twin in twins:
        if loose is None and sets is None:
            rule, came = "must come with an array {0}, or with moments of a set for each", "that came as moments of one"
            raise ArgumentError(twin, rule, came, mentions=("f_unlabeled",))
        check.same_length(f_unlabeled=rest.n if sets is not None else loose, **{twin: getattr(design, twin)})
    if sets is None:
        return rest, loose, None
    return sets.whole(), None, sets


def _moments_and_scores(scores: Any, name: str) -> tuple[Moments, NDArray[Any] | None]:
    return (scores, None) if isinstance(scores, Moments) else (moments_of(scores, name), flat(scores, name))


def _columns(design: Design, split: Callable[[NDArray[Any]], tuple[Any, Any]]) -> dict[str, Any]:
    """Groups, strata and weights, each of the labelled items and of the rest."""
    group, stratum = _numbered(design, "groups"), _numbered(design, "strata")
    if group is not None and len(group) == int(group.max(initial=-1)) + 1:
        group = None  # each has one item only: then the items are the groups
    weights = []
    for name in ("weights", "weights_unlabeled"):
        if getattr(design, name) is not None:
            part = check.array(getattr(design, name), name, ndim=1)
            refuse_where(~(part >= 0), part, name, "must be 0 or more")
            if len(part) and not part.any():
                raise ArgumentError(name, "must have one above 0", "all are 0")
            weights.append(part)
    weight = np.concatenate(weights) if weights else None
    sides: dict[str, Any] = {}
    for name, column in (("group", group), ("stratum", stratum), ("weight", weight)):
        if column is not None:
            sides[name], sides[f"{name}_rest"] = split(column)
    return sides


def _numbered(design: Design, name: str) -> Codes | None:
    """One numbering for both sides, so that a group may have labelled and unlabelled items."""
    own, rest = getattr(design, name), getattr(design, f"{name}_unlabeled")
    if own is None:
        return None
    codes = check.codes(own, name)
    if rest is None:
        return codes
    check.codes(rest, f"{name}_unlabeled")
    return check.codes([*own, *rest], name)
