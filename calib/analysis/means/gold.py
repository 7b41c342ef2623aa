"""The door of the gold-corrected means: what is labelled, what is not, and how both were drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.means.moments import Moments, flat, moments_of, refuse_missing
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import matrix_product


@dataclass(frozen=True, slots=True)
class Gold:
    """Labels `y` and judge scores `f` of the gold items; of the other items the moments, and the scores if they came.

    A column that was not given is None; `_rest` is of the items without a label.
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
    def grouped(self) -> bool:
        """Whether items share groups; those of one item are dropped at the door (`shared`)."""
        return self.group is not None

    @property
    def split_groups(self) -> bool:
        """Whether a group has items with and without a label."""
        if self.group is None or self.group_rest is None:
            return False
        return bool(np.isin(self.group, self.group_rest).any())

    @property
    def weighted(self) -> bool:
        return self.weight is not None or self.inclusion is not None

    @property
    def label_weight(self) -> Floats:
        """How much each label counts."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        return weight if self.inclusion is None else weight / self.inclusion

    def loose(self) -> NDArray[Any]:
        """The judge scores of the rest one by one, which moments do not have."""
        if self.scores_rest is None:
            raise ArgumentError("f_unlabeled", "must be an array for this method or design", "came as moments")
        return self.scores_rest

    def rest_above(self, cut: float) -> int:
        """Items without a label that the judge puts at the cut or above."""
        if self.scores_rest is not None:
            return int(np.count_nonzero(self.scores_rest >= cut))
        if self.n_rest and not self.rest.binary:
            raise ArgumentError(
                "f_unlabeled", f"must be moments of 0 and 1 for a proportion: cut the scores at {cut:g}"
            )
        return round(float(self.rest.mean) * self.n_rest)


def gold_of(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabeled: ArrayLike | Moments | None,
    *,
    groups: tuple[Labels | None, Labels | None] = (None, None),
    strata: tuple[Labels | None, Labels | None] = (None, None),
    weights: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    inclusion: ArrayLike | None = None,
    folds: Labels | None = None,
) -> Gold:
    """Check everything once; both input forms become the same."""
    labels, scores = check.array(y, "y", ndim=1), check.array(f, "f", ndim=1)
    check.same_length(y=labels, f=scores, groups=groups[0], strata=strata[0], weights=weights[0], folds=folds)
    refuse_missing(scores, "f")
    if f_unlabeled is None:
        if folds is not None:
            raise ArgumentError(
                "folds", "must come with {0}, a column for each fold", "came without", mentions=("f_unlabeled",)
            )
        return _from_one_table(labels, scores, groups, strata, weights, inclusion)
    if np.isnan(labels).any():
        place = int(np.argmax(np.isnan(labels)))
        raise ArgumentError(
            "y", "must have a label everywhere when {0} is given", f"got NaN at {place}", mentions=("f_unlabeled",)
        )
    if folds is not None:
        f_unlabeled = _over_folds(f_unlabeled, folds)
    loose = None if isinstance(f_unlabeled, Moments) else flat(f_unlabeled, "f_unlabeled")
    rest = f_unlabeled if isinstance(f_unlabeled, Moments) else moments_of(f_unlabeled, "f_unlabeled")
    if np.ndim(rest.n):
        raise ArgumentError("f_unlabeled", "must be the moments of one set", f"holds {len(rest.n)} systems")
    for name, pair in (("groups", groups), ("strata", strata), ("weights", weights)):
        if (pair[0] is None) != (pair[1] is None):
            raise ArgumentError(
                f"{name}_unlabeled", "must be given exactly when {0} is", "only one of them came", mentions=(name,)
            )
        if pair[1] is not None:
            _need_scores(loose, f"{name}_unlabeled")
            check.same_length(f_unlabeled=loose, **{f"{name}_unlabeled": pair[1]})
    group, group_rest = _codes_of(groups, "groups", unit=True)
    stratum, stratum_rest = _codes_of(strata, "strata")
    weight, weight_rest = _positive(weights[0], "weights"), _positive(weights[1], "weights_unlabeled")
    drawn = _inclusion(inclusion, len(labels))
    return Gold(labels, scores, rest, loose, group, group_rest, stratum, stratum_rest, weight, weight_rest, drawn)


def _need_scores(loose: NDArray[Any] | None, name: str) -> None:
    if loose is None:
        raise ArgumentError(name, "must come with an array {0}", "that came as moments", mentions=("f_unlabeled",))


def _from_one_table(
    labels: Floats, scores: Floats, groups: Any, strata: Any, weights: Any, inclusion: ArrayLike | None
) -> Gold:
    for name, pair in (("groups", groups), ("strata", strata), ("weights", weights)):
        if pair[1] is not None:
            raise ArgumentError(f"{name}_unlabeled", "must come with {0}", "came alone", mentions=("f_unlabeled",))
    blank = np.isnan(labels)
    given = ~blank
    rest = scores[blank]

    def split(values: NDArray[Any] | None) -> tuple[Any, Any]:
        return (None, None) if values is None else (values[given], values[blank])

    known = None if groups[0] is None else shared(check.codes(groups[0], "groups"))
    parts = None if strata[0] is None else check.codes(strata[0], "strata")
    drawn = None if inclusion is None else _inclusion(inclusion, len(labels))
    group, group_rest = split(known)
    stratum, stratum_rest = split(parts)
    weight, weight_rest = split(_positive(weights[0], "weights"))
    chance = None if drawn is None else drawn[given]
    moments = moments_of(rest, "f")
    return Gold(
        labels[given],
        scores[given],
        moments,
        rest,
        group,
        group_rest,
        stratum,
        stratum_rest,
        weight,
        weight_rest,
        chance,
    )


def shared(codes: Codes) -> Codes | None:
    """Groups, or nothing where each has one item only: then the items are the groups."""
    return codes if len(codes) > int(codes.max(initial=-1)) + 1 else None


def _codes_of(
    pair: tuple[Labels | None, Labels | None], name: str, *, unit: bool = False
) -> tuple[Codes | None, Codes | None]:
    """One numbering for both, so that a group may have labelled and unlabelled items."""
    if pair[0] is None or pair[1] is None:
        return None, None
    check.codes(pair[0], name)
    check.codes(pair[1], f"{name}_unlabeled")
    both = check.codes([*pair[0], *pair[1]], name)
    if unit and shared(both) is None:
        return None, None
    return both[: len(pair[0])], both[len(pair[0]) :]


def _positive(values: ArrayLike | None, name: str) -> Floats | None:
    if values is None:
        return None
    weights = check.array(values, name, ndim=1)
    bad = ~(weights >= 0)
    if bad.any():
        place = int(np.argmax(bad))
        raise ArgumentError(name, "must be 0 or more", f"got {weights[place]:g} at {place}")
    if len(weights) and not weights.any():
        raise ArgumentError(name, "must have one above 0", "all are 0")
    return weights


def _inclusion(values: ArrayLike | None, length: int) -> Floats | None:
    if values is None:
        return None
    drawn = check.array(values, "inclusion", ndim=1)
    if len(drawn) != length:
        raise ArgumentError(
            "inclusion", f"must have the length of {{0}} ({length})", f"got {len(drawn)}", mentions=("y",)
        )
    bad = ~((drawn > 0) & (drawn <= 1))
    if bad.any():
        place = int(np.argmax(bad))
        raise ArgumentError("inclusion", "must be above 0 and at most 1", f"got {drawn[place]:g} at {place}")
    return drawn


def _over_folds(f_unlabeled: Any, folds: Labels) -> Floats:
    """The rest as the judges of all folds see it, each weighed by the gold items that it did not learn from."""
    values = check.array(f_unlabeled, "f_unlabeled", ndim=2)
    check.codes(folds, "folds")
    # column k belongs to fold k in sorted order
    fold = np.unique(np.asarray(folds), return_inverse=True)[1]
    sizes = np.bincount(fold)
    if values.shape[1] != len(sizes):
        raise ArgumentError("f_unlabeled", f"must have a column for each fold ({len(sizes)})", f"has {values.shape[1]}")
    return np.asarray(matrix_product(values, sizes / sizes.sum()))
