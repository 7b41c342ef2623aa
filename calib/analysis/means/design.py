"""Data of a corrected mean: labelled items, the others, and the design by which the labels were drawn."""

from __future__ import annotations

from collections.abc import Mapping
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

    Columns of the n labelled items and, with `_unlabeled`, of the N others; in one table of labels and blanks, of all.

    Attributes
    ----------
    groups, groups_unlabeled, strata, strata_unlabeled : sequence, shape (n,) and (N,), optional
        Items of one group (the source document) are not independent; labelled items were drawn within strata.
    weights, weights_unlabeled : array_like, shape (n,) and (N,), optional
        How often each item counts in the population that is meant, as against here (`shift_weights`).
    inclusion : array_like, shape (n,), optional
        Probabilities with which the labelled items were chosen for labelling (`choose`).
    folds : sequence, shape (n,), optional
        The judge was tuned on the labels in folds: `f` is from the judge that did not see the
        item's fold, `f_unlabeled` has shape (N, folds), columns in the folds' sorted order.
    calibrated_folds : int, default 0
        The judge was calibrated to people with these labels in so many folds (`calib.calibrate`), a labelled item by a
        map that was fitted without its fold. The judge then has slope 1, as in cross-prediction (Zrnic and Candes
        2024), and is not weighed by these labels once more.
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


class DesignFields(TypedDict, total=False):
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


class MeanOptions(DesignFields, total=False):
    """Options of `ppi_mean` that other means pass on to it."""

    design: Design | None
    target: str
    estimator: str
    alternative: str
    min_labels: int
    confidence_level: float


def mean_design(design: Design | None, fields: Mapping[str, Any]) -> Design:
    """The design: an object or its fields one by one, and not both."""
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

    `_rest` is of the items without a label, or of their `sets` (one for each group, stratum and weight).
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
    def design(self) -> str:
        """How the labelled items are taken to be drawn; groups of one item each count as items."""
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
        return self.rest.as_sets() if self.scores_rest is None else Moments.one_by_one(self.scores_rest)


def mean_data(y: ArrayLike, f: ArrayLike, f_unlabeled: ArrayLike | Moments | None, design: Design) -> MeanData:
    """Labels and scores with their design, checked, in whichever of the two forms they came."""
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    check.same_length(y=labels, f=scores, **{name: getattr(design, name) for name in (*_TWINS, "folds", "items")})
    refuse_missing(scores, "f")
    together = f_unlabeled is None  # each column comes for both sides, or, where all items stand in one table, for all
    if together and design.folds is not None:
        rule = "must come with {0}, a column for each fold"
        raise ArgumentError("folds", rule, "came without", mentions=("f_unlabeled",))
    for name, twin in ((name, f"{name}_unlabeled") for name in _TWINS):
        alone = getattr(design, twin) is not None
        if together and alone:
            raise ArgumentError(twin, "must come with {0}", "came alone", mentions=("f_unlabeled",))
        if not together and alone != (getattr(design, name) is not None):
            raise ArgumentError(twin, "must be given exactly when {0} is", "only one of them came", mentions=(name,))
    folds = check.whole(design.calibrated_folds, "calibrated_folds", least=0)
    chance = None if design.inclusion is None else check.array(design.inclusion, "inclusion", ndim=1)
    if chance is not None:
        check.same_length(y=labels, inclusion=chance)
        refuse_where(~((chance > 0) & (chance <= 1)), chance, "inclusion", "must be above 0 and at most 1")
    labelled, sets = ~np.isnan(labels), None
    if together:
        loose: NDArray[Any] | None = scores[~labelled]
        rest = moments_of(scores[~labelled], "f")
        labels, scores = labels[labelled], scores[labelled]
        chance = None if chance is None else chance[labelled]
    else:
        refuse_where(~labelled, labels, "y", "must have a label everywhere when {0} is given", ("f_unlabeled",))
        rest, loose, sets = _unlabeled(f_unlabeled, design)
    columns: dict[str, Any] = {}
    for name, values in _design_columns(design).items():
        own = np.zeros(len(values), dtype=bool)
        own[: len(labelled)] = labelled
        columns |= {name: values[own], f"{name}_rest": values[~own]}
    if design.items_unlabeled is not None and (n := len(design.items_unlabeled)) != rest.n:
        raise ArgumentError("items_unlabeled", "must have the length of {0}", f"got {n}", mentions=("f_unlabeled",))
    return MeanData(labels, scores, rest, loose, **columns, inclusion=chance, calibrated_folds=folds, sets=sets)


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
    twins = {f"{name}_unlabeled": getattr(design, f"{name}_unlabeled") for name in _TWINS}
    if not isinstance(f_unlabeled, Moments):
        loose = flat(f_unlabeled, "f_unlabeled")
        check.same_length(f_unlabeled=loose, **twins)
        return moments_of(f_unlabeled, "f_unlabeled"), loose, None
    first = next((name for name, column in twins.items() if column is not None), "")
    if not np.ndim(f_unlabeled.n):
        if first:
            rule, came = "must come with an array {0}, or with moments of a set for each", "that came as moments of one"
            raise ArgumentError(first, rule, came, mentions=("f_unlabeled",))
        return f_unlabeled, None, None
    if not first:
        raise ArgumentError("f_unlabeled", "must be the moments of one set", f"holds {len(f_unlabeled.n)} systems")
    check.same_length(f_unlabeled=f_unlabeled.n, **twins)
    return f_unlabeled.whole(), None, f_unlabeled


def _design_columns(design: Design) -> dict[str, NDArray[Any]]:
    """Groups and strata as numbers, and weights: of the labelled items and then of the others."""
    columns: dict[str, NDArray[Any]] = {}
    for name, column in (("groups", "group"), ("strata", "stratum"), ("weights", "weight")):
        sides = {side: getattr(design, side) for side in (name, f"{name}_unlabeled")}
        sides = {side: values for side, values in sides.items() if values is not None}
        if name == "weights":
            sides = {side: check.array(values, side, ndim=1) for side, values in sides.items()}
            for side, values in sides.items():
                refuse_where(~(values >= 0), values, side, "must be 0 or more")
                if len(values) and not values.any():
                    raise ArgumentError(side, "must have one above 0", "all are 0")
            if sides:
                columns[column] = np.concatenate([*sides.values()])
        elif sides:  # one numbering, so that a group may have labelled and unlabelled items
            codes = [check.codes(values, side) for side, values in sides.items()]
            both = [one for values in sides.values() for one in values]
            columns[column] = codes[0] if len(codes) == 1 else check.codes(both, name)
    if "group" in columns and len(columns["group"]) == int(columns["group"].max(initial=-1)) + 1:
        del columns["group"]  # each has one item only: then the items are the groups
    return columns
