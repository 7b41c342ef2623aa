"""A design at three levels: its coefficient, also without each unit, in resamples, and with scores exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.analysis.agreement import coefficients as kernels, many_samples
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.numeric import matrix_product, ratio, recoded, row_means
from calib.core.progress import progress

SYSTEMS = ("auto", "fixed", "random")
FEW_SYSTEMS = 6  # below it "auto" takes systems as fixed: a spread over five says next to nothing about others
FEW_CELLS = 2000  # cells of a contingency table that stand for the items
_MANY_SYSTEMS = 256  # systems up to which all groups are taken together


@dataclass(frozen=True, slots=True)
class AgreementDesign:
    """Pairs of scores, the factors that they repeat over, and what is estimated from them.

    `count` is how often each pair occurs, where equal pairs were put together; `fixed` says that the systems are the
    ones in question, not a sample of others.
    """

    x: Floats
    y: Floats
    group: Codes | None
    system: Codes | None
    level: str
    coefficient: str
    constant: str
    count: Floats | None = None
    fixed: bool = False

    @property
    def n(self) -> int:
        return len(self.x) if self.count is None else int(self.count.sum())

    @property
    def n_groups(self) -> int:
        return 0 if self.group is None else int(self.group.max(initial=-1)) + 1

    @property
    def n_systems(self) -> int:
        return 0 if self.system is None else int(self.system.max(initial=-1)) + 1

    @property
    def units(self) -> tuple[Codes | None, Codes | None]:
        """Groups and systems that stand for others: several, and not fixed. One alone says nothing about others."""
        systems = self.system if self.n_systems > 1 and not self.fixed else None
        return self.group if self.n_groups > 1 else None, systems

    @property
    def repeats(self) -> bool:
        """Whether items depend on each other through a factor."""
        return any(codes is not None for codes in self.units)

    @property
    def one_counts(self) -> bool:
        """Whether one more item, independent of the others, could move a coefficient: there are not thousands."""
        few = self.level == "item" and not self.repeats and self.n <= FEW_CELLS
        return few and self.coefficient not in kernels.SHARES

    @property
    def jumps(self) -> bool:
        """Whether no jackknife over groups holds: the order of fixed systems jumps, and few means lie on a line."""
        if self.level != "system" or not self.fixed or self.coefficient == "spa":
            return False
        return self.n_systems < FEW_SYSTEMS or self.coefficient in ("spearman", *kernels.PAIR_SUMS)

    @property
    def speaks_of(self) -> str:
        """What an interval over the units of the design generalises to."""
        group, system = self.units
        if group is not None and system is not None:
            return "new groups and new systems"
        if system is not None:
            return "new systems" + ", this group" * (self.n_groups == 1)
        these = "this system" if self.n_systems == 1 else "these systems" if self.system is not None else ""
        if group is not None:
            return "new groups" + f", {these}" * bool(these)
        of = f" of {these}" * bool(these)
        return f"new items{of}, each independent of the others"

    def weighted(self, weights: Floats, members: Any = slice(None)) -> Floats:
        """The coefficient over these pairs under each row of multiplicities."""
        return kernels.weighted_correlation(self.x[members], self.y[members], weights, self.coefficient)

    def without(self, units: Codes) -> Floats:
        """The coefficient over all pairs without each unit in turn."""
        return many_samples.leave_out(self.x, self.y, units, self.coefficient)

    def only(self, keep: NDArray[np.bool_]) -> AgreementDesign:
        """The design of some of the pairs."""
        group, system = (None if c is None else recoded(c[keep]) for c in (self.group, self.system))
        return replace(self, x=self.x[keep], y=self.y[keep], group=group, system=system)


def design_of(
    x: ArrayLike, y: ArrayLike, *, groups: Labels | None, systems: Labels | None, level: str, coefficient: str,
    constant: str, missing: str = "drop", systems_are: str = "random",
) -> tuple[AgreementDesign, NDArray[np.bool_]]:  # fmt: skip
    """The design, and which pairs are in it; under ``missing="zero"`` a judge's missing score is 0."""
    first, second = check.array(x, "x", ndim=1), check.array(y, "y", ndim=1)
    check.same_length(x=first, y=second, groups=groups, systems=systems)
    check.choice(level, "level", ("item", "group", "system"))
    check.choice(systems_are, "systems_are", SYSTEMS)
    for name, labels in (("group", groups), ("system", systems)):
        if level == name and labels is None:
            raise ArgumentError(f"{name}s", f"must be given for level {name!r}", "got None")
    group = None if groups is None else check.codes(groups, "groups")
    system = None if systems is None else check.codes(systems, "systems")
    if missing == "zero":
        first = np.nan_to_num(first)
    keep = np.isfinite(first) & np.isfinite(second)
    design = AgreementDesign(first, second, group, system, level, coefficient, constant)
    design = design if keep.all() else design.only(keep)
    few = systems_are == "auto" and design.n_systems < FEW_SYSTEMS
    return replace(design, fixed=system is not None and (few or systems_are == "fixed")), keep


def condensed_groups(design: AgreementDesign) -> AgreementDesign:
    """Independent pairs on few levels as the cells of their contingency table: work no longer grows with n."""
    repeats = design.group is not None or design.system is not None
    if design.level != "item" or repeats or design.count is not None or design.n <= FEW_CELLS:
        return design
    first, second = kernels.levels_of(design.x), kernels.levels_of(design.y)
    height, width = int(first.max()) + 1, int(second.max()) + 1
    if height * width > FEW_CELLS:
        return design
    table = np.bincount(first * width + second)
    filled, values_x, values_y = np.flatnonzero(table), np.empty(height), np.empty(width)
    values_x[first], values_y[second] = design.x, design.y
    return replace(design, x=values_x[filled // width], y=values_y[filled % width], count=table[filled].astype(float))


def estimate(design: AgreementDesign) -> float:
    """The coefficient at the level of the design; NaN where it is not defined."""
    if design.level == "group":
        return average(within(design), design.constant)
    if design.level == "system":
        return float(_system_means(_SystemMeans.of(design))[0])
    if design.count is None:
        return kernels.sample_correlation(design.x, design.y, design.coefficient)
    return float(design.weighted(design.count[None])[0])


def average(correlations: Floats, constant: str) -> float:
    """Mean over the groups that have a correlation, or with 0 for the others."""
    values = np.nan_to_num(correlations) if constant == "zero" else correlations[np.isfinite(correlations)]
    return float(values.mean()) if len(values) else float("nan")


def within(design: AgreementDesign, weights: Floats | None = None) -> Floats:
    """The correlation inside each group, shape (groups,); under weights of the systems, shape (B, groups)."""
    assert design.group is not None
    row = design.system
    if row is None:  # the items of a group in their order
        row = np.empty(len(design.group), dtype=np.intp)
        for members in kernels.members_of(design.group):
            row[members] = np.arange(len(members))
    shape = int(row.max(initial=-1)) + 1, design.n_groups
    single = shape[0] <= _MANY_SYSTEMS and len(np.unique(row * shape[1] + design.group)) == len(row)
    w = np.ones((1, shape[0] if single else max(design.n_systems, 1))) if weights is None else weights
    if single:  # one item in each cell at most: a table of systems x groups
        tables = np.full((2, *shape), np.nan)
        tables[:, row, design.group] = design.x, design.y
        correlations = many_samples.column_correlation(tables[0], tables[1], w, design.coefficient)
    else:
        system = np.zeros(len(design.x), dtype=np.intp) if design.system is None else design.system
        correlations = np.full((len(w), design.n_groups), np.nan)
        for g, members in enumerate(kernels.members_of(design.group)):
            correlations[:, g] = design.weighted(w[:, system[members]], members)
    return correlations[0] if weights is None else correlations


@dataclass(frozen=True, slots=True)
class _SystemMeans:
    """What the means of systems are made of: sums and counts by system and group, each (systems, groups)."""

    design: AgreementDesign
    x: Floats
    y: Floats
    count: Floats
    scale: tuple[float, float]

    @classmethod
    def of(cls, design: AgreementDesign) -> _SystemMeans:
        assert design.system is not None
        group = np.zeros_like(design.system) if design.group is None else design.group
        shape = design.n_systems, max(design.n_groups, 1)
        cell, size = design.system * shape[1] + group, shape[0] * shape[1]
        # less a mean, so that a large common offset does not eat the digits of the means; kappa compares the two
        sides = design.x, design.x if design.coefficient == "kappa" else design.y
        zero = [v.mean() if len(v) else 0.0 for v in sides]
        x, y = design.x - zero[0], design.y - zero[1]
        sums = [np.bincount(cell, v, size).reshape(shape).astype(float) for v in (x, y, np.ones_like(x))]
        # the rounding of scores far from 0 is that of their distance from it
        scale = [np.abs(v).max(initial=0.0) + abs(z) / 256 for v, z in zip((x, y), zero, strict=True)]
        return cls(design, sums[0], sums[1], sums[2], (scale[0], scale[1]))

    def settled(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Means of both sides, equal ones tied."""
        return kernels.settled(x, self.scale[0]), kernels.settled(y, self.scale[1])

    @property
    def cells(self) -> tuple[Floats, Floats]:
        """Mean scores by system and group."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.x / self.count, self.y / self.count

    def correlation(self, x: Floats, y: Floats, count: Floats, weights: Floats | None = None) -> Floats:
        """The correlation of means, from rows of sums and counts (B, systems); a system without items has no weight."""
        there = np.round(count) > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.settled(x / count, y / count)
        w: Any = None if there.all() and weights is None else there * (1.0 if weights is None else weights)
        return many_samples.row_correlation(*means, self.design.coefficient, w)


def _system_means(means: _SystemMeans, weights: Floats | None = None, systems: Floats | None = None) -> Floats:
    """The correlation of the means under weights of the groups (B, groups) and of the systems (B, systems)."""
    w = np.ones((1 if systems is None else len(systems), means.x.shape[1])) if weights is None else weights
    if means.design.coefficient == "spa":
        every = [None] * len(w) if systems is None else list(systems)
        return np.array([many_samples.soft_accuracy(*means.cells, u, v) for u, v in zip(w, every, strict=True)])
    x, y, count = (matrix_product(w, v.T) for v in (means.x, means.y, means.count))
    return means.correlation(x, y, count, systems)


def check_level(design: AgreementDesign, argument: str) -> None:
    """Refuse a level where there is one group only, and a coefficient at a level where it has no meaning."""
    if design.level == "group" and design.n_groups == 1:
        raise ArgumentError("groups", "must hold two groups or more with scores at level 'group'", "holds one")
    if design.coefficient == "spa" and (design.level != "system" or design.group is None):
        got = f"level {design.level!r}" + ("" if design.group is not None else " without groups")
        raise ArgumentError(argument, "'spa' must go with level 'system' and {0}", f"got {got}", mentions=("groups",))
    if design.coefficient in kernels.SINGLE_SCORES and design.level == "system":
        got = "got level 'system', that of means"
        raise ArgumentError(argument, f"{design.coefficient!r} compares single scores", got)


def ties_of(design: AgreementDesign) -> dict[str, Any]:
    """Share of tied pairs at the level, and distinct scores, of x and of y."""
    sides = (design.x, design.y)
    if design.level == "system":
        means = _SystemMeans.of(design)
        count = means.count.sum(axis=1)
        sides = means.settled(means.x.sum(axis=1) / count, means.y.sum(axis=1) / count)
    shares = []
    for codes in map(kernels.levels_of, sides):
        block = design.group if design.level == "group" and design.group is not None else np.zeros_like(codes)
        cells = kernels.levels_of((block * (codes.max(initial=0) + 1) + codes).astype(float))
        sizes = np.bincount(cells, design.count), np.bincount(block, design.count)
        tied, every = (float((n * (n - 1.0)).sum()) for n in sizes)
        shares.append(float(ratio(tied, every)))
    levels = {"levels_x": len(np.unique(design.x)), "levels_y": len(np.unique(design.y))}
    return {"ties_x": shares[0], "ties_y": shares[1], **levels}


class LeftOut(NamedTuple):
    """Estimates without each system, each group and each cell in turn, or, without either factor, each item.

    `copies` says how many items each of the last stands for, where equal pairs were put together.
    """

    system: Floats | None = None
    group: Floats | None = None
    cell: Floats | None = None
    item: Floats | None = None
    copies: Floats | None = None


def left_out(design: AgreementDesign) -> LeftOut:
    """The jackknife's estimates for the units that there are several of."""
    group, system = design.units
    if design.jumps or (design.level == "group" and group is None):
        return LeftOut()  # no jackknife follows a jump, and one correlation says nothing about others
    if group is None and system is None:
        if design.n < 4:  # two items left always agree or disagree in full
            return LeftOut()
        if design.level == "system":  # each item is a group of its own
            return LeftOut(item=_without_units_of_systems(replace(design, group=np.arange(design.n))).group)
        if design.count is None:
            return LeftOut(item=design.without(np.arange(len(design.x))))
        return LeftOut(item=design.weighted(design.count - np.eye(len(design.count))), copies=design.count)
    if design.level == "item":
        cell = None if group is None or system is None else kernels.cells_of(system, group)
        return LeftOut(*(None if u is None else design.without(u) for u in (system, group, cell)))
    if design.level == "system":
        parts = _without_units_of_systems(design)
    else:
        # a system touches every group, a group itself alone, a cell one group: one table of correlations has them all
        whole = within(design)
        if design.constant == "zero":
            whole = np.nan_to_num(whole)
        parts = LeftOut(group=_mean_less(whole, whole, np.full(design.n_groups, np.nan)))
        if design.system is not None:
            table = within(design, 1 - np.eye(design.n_systems))
            count = _SystemMeans.of(design).count
            if design.constant == "zero":
                table = np.where(count.sum(axis=0) > count, np.nan_to_num(table), np.nan)  # no system left: no group
            rows, columns = np.nonzero(count)
            by_cell = _mean_less(whole, whole[columns], table[rows, columns])
            parts = LeftOut(row_means(table), parts.group, by_cell)
    if group is not None and system is not None:
        return parts
    return LeftOut(group=parts.group) if system is None else LeftOut(system=parts.system)


def with_one_more(design: AgreementDesign, *, agreeing: bool) -> Floats:
    """The coefficient over all pairs with one more, on which the raters agree in full, or differ as far as they can.

    Such pairs lie at the ends of the scores that were seen, for kappa those of both raters; where labels have no order
    both give the rarest.
    """
    x, y = design.x, design.y
    ends = [(v.min(), v.max()) for v in (x, y)]
    if design.coefficient == "kappa":
        ends = [(min(ends)[0], max(high for _, high in ends))] * 2
    (low_x, high_x), (low_y, high_y) = ends
    pairs = [(low_x, low_y), (high_x, high_y)] if agreeing else [(low_x, high_y), (high_x, low_y)]
    if design.coefficient == "kappa_nominal":
        labels, sizes = np.unique(np.append(x, y), return_counts=True)
        pairs = [(labels[sizes.argmin()],) * 2]
    more = (replace(design, x=np.append(x, a), y=np.append(y, b)) for a, b in pairs)
    return np.array([estimate(design) for design in more])


def _mean_less(values: Floats, old: Floats, new: Floats) -> Floats:
    """The mean of the finite values with one of them, `old`, replaced by `new`."""
    total = np.nansum(values) - np.nan_to_num(old) + np.nan_to_num(new)
    return ratio(total, np.isfinite(values).sum() - np.isfinite(old) + np.isfinite(new))


def _without_units_of_systems(design: AgreementDesign) -> LeftOut:
    means = _SystemMeans.of(design)
    if design.coefficient == "spa":
        return LeftOut(*many_samples.soft_leave_out(*means.cells))
    tables = means.x, means.y, means.count
    total = [v.sum(axis=1) for v in tables]
    m = design.n_systems
    by_system = _system_means(means, None, 1 - np.eye(m)) if m > 1 else None
    less_x, less_y, count = (t - v.T for t, v in zip(total, tables, strict=True))
    by_group = means.correlation(less_x, less_y, count)
    system, group = np.nonzero(means.count)
    # without a cell one system has another mean
    with np.errstate(invalid="ignore", divide="ignore"):
        count = total[2][system] - means.count[system, group]
        every = [
            np.append(t / total[2], np.where(count > 0, (t[system] - v[system, group]) / count, np.nan))
            for t, v in ((total[0], means.x), (total[1], means.y))
        ]
    x, y = means.settled(every[0], every[1])
    by_cell = many_samples.replaced_correlation(x[:m], y[:m], system, (x[m:], y[m:]), design.coefficient)
    return LeftOut(by_system, by_group, by_cell)


# --- resamples --------------------------------------------------------------------------------------------------


def resampled(design: AgreementDesign, factors: Sequence[str], n_resamples: int, rng: np.random.Generator) -> Floats:
    """Estimates of bootstrap resamples of "groups", "systems", both, or "items"."""
    if "items" not in factors:
        return np.concatenate([under(design, *part) for part in factor_weights(design, factors, n_resamples, rng)])
    if design.count is not None:  # equal pairs are drawn together
        weights = rng.multinomial(design.n, design.count / design.n, size=n_resamples).astype(float)
        return design.weighted(weights)
    parts = (multiplicities(len(design.x), size, rng) for size in resamples_at_once(n_resamples, len(design.x)))
    return np.concatenate([design.weighted(w) for w in parts])


def factor_weights(
    design: AgreementDesign, factors: Sequence[str], n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Floats | None, Floats | None]]:
    """Multiplicities of the groups (B, groups) and of the systems (B, systems), so many at a time as memory allows.

    Each factor has its own stream, so that the size of the parts changes no number.
    """
    streams = dict(zip(("groups", "systems"), rng.spawn(2), strict=True))
    sizes = {"groups": design.n_groups, "systems": design.n_systems}
    width = {"item": len(design.x), "group": design.n_groups, "system": design.n_systems}[design.level]
    for size in resamples_at_once(n_resamples, width):
        groups, systems = (multiplicities(k, size, streams[f]) if f in factors else None for f, k in sizes.items())
        yield groups, systems


def resamples_at_once(n_resamples: int, width: int) -> Iterator[int]:
    """The sizes of the parts in which resamples of `width` numbers are drawn, with a progress bar."""
    return progress([cut.stop - cut.start for cut in kernels.cuts(n_resamples, width)], "resamples")


def multiplicities(k: int, n_resamples: int, rng: np.random.Generator) -> Floats:
    """How often each of k units is drawn in each resample, shape (n_resamples, k)."""
    picks = rng.integers(k, size=(n_resamples, k)) + k * np.arange(n_resamples)[:, None]
    return np.bincount(picks.ravel(), minlength=n_resamples * k).reshape(n_resamples, k).astype(float)


def under(design: AgreementDesign, groups: Floats | None, systems: Floats | None) -> Floats:
    """Estimates under multiplicities of the groups (B, groups) and of the systems (B, systems)."""
    if design.level == "system":
        return _system_means(_SystemMeans.of(design), groups, systems)
    w: Any = 1.0
    if design.level == "item":
        for weights, codes in ((groups, design.group), (systems, design.system)):
            if weights is not None:
                w = w * weights.T[codes]  # one row per item
        return design.weighted(w.T)
    table = within(design)[None] if systems is None else within(design, systems)
    there = np.isfinite(table)
    if design.constant == "zero" and systems is None:
        there = np.ones_like(there)
    elif design.constant == "zero":
        there = matrix_product(systems, _SystemMeans.of(design).count) > 0
    table = np.where(there, np.nan_to_num(table), 0.0)
    if groups is not None and systems is None:
        return ratio(*(matrix_product(groups, part) for part in (table[0], there[0].astype(float))))
    w = w if groups is None else groups
    return ratio((w * table).sum(axis=1), (w * there).sum(axis=1))


def exchanged(first: AgreementDesign, second: AgreementDesign, masks: NDArray[np.bool_]) -> Floats:
    """The estimate of the first rater with the second's scores in some places; masks: (B, n), one place per pair.

    Both designs hold the same pairs with the same labels. The opposite masks give the second rater with the first's
    scores.
    """
    pieces = kernels.cuts(len(masks), len(first.x))
    if len(pieces) != 1:
        return np.concatenate([exchanged(first, second, masks[cut]) for cut in pieces])
    if first.level == "system":
        means, member = _SystemMeans.of(first), np.zeros((len(first.x), first.n_systems))
        count = means.count.sum(axis=1)
        member[np.arange(len(first.x)), first.system] = second.x - first.x
        total = means.x.sum(axis=1) + matrix_product(masks.astype(float), member)
        y = np.broadcast_to(means.y.sum(axis=1) / count, total.shape)
        return many_samples.row_correlation(*means.settled(total / count, y), first.coefficient)
    each = kernels.members_of(first.group) if first.level == "group" else [np.arange(len(first.x))]
    correlations = np.full((len(masks), len(each)), np.nan)
    for g, members in enumerate(each):
        (x, y), (x2, y2), mask = *((d.x[members], d.y[members]) for d in (first, second)), masks[:, members]
        if first.level == "group" and first.coefficient in ("kendall", "kendall_a", "gamma", "pairs"):
            correlations[:, g] = many_samples.exchanged_pairs(x, x2, y, mask, first.coefficient)
        else:  # an exchange is a choice among twice the pairs: weights 0 and 1
            weights = np.hstack([~mask, mask]).astype(float)
            pairs = np.append(x, x2), np.append(y, y2)
            correlations[:, g] = kernels.weighted_correlation(*pairs, weights, first.coefficient)
    if first.level == "item":
        return correlations[:, 0]
    return row_means(np.nan_to_num(correlations) if first.constant == "zero" else correlations)
