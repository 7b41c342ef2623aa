"""Options of a mean, checked against its data: what is refused, and the warnings that a result carries."""

from __future__ import annotations

import numpy as np

from calib.analysis.means.design import Design, MeanData
from calib.analysis.means.methods import CUT, GROSS, METHODS, CheckedOptions
from calib.analysis.means.moments import refuse_where
from calib.analysis.means.random_draw import p_of_labels
from calib.analysis.means.ridge import kish
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.laws import ALTERNATIVES

TARGETS = ("population", "benchmark")
_HEAVY = 2  # times the mean weight of a label; `choose` stays below


def options_of(
    data: MeanData, bounds: tuple[float, float] | None, step: float | None, same_scale: bool | None,
    binary: bool | None, conservative: bool | str, target: str, estimator: str, alternative: str, null: float | None,
    min_labels: int, confidence: float,
) -> CheckedOptions:  # fmt: skip
    ends = bounds_of(bounds, step)
    on_scale(data.y, ends, "y")
    low, high = ends or (0.0, 1.0)
    yes_or_no = bool(((data.y == low) | (data.y == high)).all()) and len(data.y) > 0
    if binary and not yes_or_no:
        rule = f"must be {low:g} or {high:g} where {{0}} is True"
        raise ArgumentError("y", rule, "has other values", mentions=("binary",))
    if binary is not None:
        yes_or_no = binary
    elif ends is not None and step is not None:
        yes_or_no = yes_or_no and step == high - low
    else:  # labels that are all 1 may be the low end of a longer scale: then the judge goes beyond
        yes_or_no = yes_or_no and (low, high) == (0, 1) and (_judge_within(data, (0, 1)) or bool(np.ptp(data.y)))
    if yes_or_no and ends is None:
        ends = (0.0, 1.0)
    finite = check.choice(target, "target", TARGETS) == "benchmark"
    _refuse(data, estimator, min_labels, finite=finite)
    inside = ends is not None and _judge_within(data, ends)
    two_rates = yes_or_no and inside and data.design == "items"
    if binary and not two_rates:
        raise ArgumentError("binary", "needs a judge within the ends of the scale, and no groups, strata or weights")
    if isinstance(conservative, str):
        check.choice(conservative, "conservative", (GROSS,))
    if conservative and ends is None:
        raise ArgumentError("conservative", "needs a scale with ends ({0})", mentions=("bounds",))
    return CheckedOptions(
        bounds=ends, same_scale=inside if same_scale is None else same_scale, conservative=conservative, finite=finite,
        # a judge that gives probabilities between yes and no has no two rates
        binary=two_rates and bool(((data.f == low) | (data.f == high)).all()) and data.rest.only(low, high),
        estimator=estimator, alternative=check.choice(alternative, "alternative", ALTERNATIVES),
        null=np.nan if null is None else float(null), confidence=confidence, yes_or_no=yes_or_no,
    )  # fmt: skip


def bounds_of(bounds: tuple[float, float] | None, step: float | None) -> tuple[float, float] | None:
    if bounds is None:
        if step is not None:
            raise ArgumentError("step", "must come with {0}", f"came alone ({step!r})", mentions=("bounds",))
        return None
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise ArgumentError("bounds", "must be two numbers", f"got {bounds!r}") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ArgumentError("bounds", "must be two finite numbers, the smaller first", f"got {bounds!r}")
    if step is not None and not 0 < step <= high - low:
        raise ArgumentError("step", f"must be above 0 and at most {high - low:g}", f"got {step!r}")
    return low, high


def on_scale(y: Floats, bounds: tuple[float, float] | None, name: str) -> None:
    if bounds is not None:
        rule = f"must lie within {{0}} ({bounds[0]:g} to {bounds[1]:g})"
        refuse_where((y < bounds[0]) | (y > bounds[1]), y, name, rule, ("bounds",))


def _judge_within(data: MeanData, bounds: tuple[float, float]) -> bool:
    """Whether the judge's scores lie on people's scale."""
    low, high = data.f.min(initial=float(data.rest.low)), data.f.max(initial=float(data.rest.high))
    return bool(bounds[0] <= low and high <= bounds[1])


def _refuse(data: MeanData, estimator: str, min_labels: int, *, finite: bool) -> None:
    """Refuse too few labels, and by name what does not go together."""
    least, n, needs = check.whole(min_labels, "min_labels", least=2), len(data.y), METHODS[estimator].needs
    if needs.labels and data.n_groups < 2:
        raise ArgumentError("y", "must have labels in two groups (or two items) at least", f"got {data.n_groups}")
    if data.design == "weighted" and (worth := kish(data.label_weight)) < 2:
        raise ArgumentError("weights", "must leave two labels at least", f"these weigh as {worth:.3g}")
    if needs.min_labels and n < least and not (finite and not data.n_rest):
        came = f"got {n}: with fewer no interval was found that holds as often as it says. Label more, "
        came += "or set {0} and read the result with care"
        raise ArgumentError("y", f"must have {least} labels at least", came, mentions=("min_labels",))
    if n < needs.labels:
        raise ArgumentError("y", f"must have {needs.labels} labels at least for estimator {estimator!r}", f"got {n}")
    columns = {"groups": data.group, "strata": data.stratum, "weights": data.weight, "inclusion": data.inclusion}
    names = [name for name, column in columns.items() if column is not None]
    if "strata" in names and len(names) > 1:
        other = next(name for name in names if name != "strata")
        raise ArgumentError("strata", "cannot be combined with {0}", mentions=(other,))
    refused = [name for name in [*names, *["target='benchmark'"] * finite] if name not in needs.takes]
    if refused:
        raise ArgumentError("estimator", "must take {0}, as 'auto' can", f"{estimator!r} cannot", mentions=refused[:1])
    if finite and data.design == "weighted":
        mentions = ("weights", "inclusion")
        raise ArgumentError("target", "must be 'population' with {0} or {1}", "got 'benchmark'", mentions=mentions)
    group, beside = data.group, data.group_rest
    if finite and group is not None and beside is not None and np.isin(group, beside).any():
        rule = "must be 'population' unless each of {0} is labelled as a whole or not at all"
        raise ArgumentError("target", rule, "got 'benchmark'", mentions=("groups",))
    if needs.rest and not data.n_rest:
        rule = "must be 'auto' or 'classical' where every item has a label"
        raise ArgumentError("estimator", rule, f"{estimator!r} needs items without one")
    if needs.rest and min(data.n_rest, data.n_rest if data.group_rest is None else len(np.unique(data.group_rest))) < 2:
        rule = f"must have two items (or groups) at least for estimator {estimator!r}"
        raise ArgumentError("f_unlabeled", rule, "got 1")


def cautions_of(design: Design) -> tuple[str, ...]:
    """What the labels were used for, and items that are on both sides."""
    text = "tuned_on_labels: the judge has seen these labels, so the interval is too short; tune it in folds (`folds`)"
    tuned = (text,) if design.tuned_on_labels else ()
    sides = [set(np.asarray(ids).tolist()) for ids in (design.items, design.items_unlabeled) if ids is not None]
    if len(sides) < 2 or not (common := sides[0] & sides[1]):
        return tuned
    text = f"{len(common)} labelled items are also among the unlabelled, such as {min(map(repr, common))}"
    return (*tuned, f"overlap: {text}")


def cautions_on(data: MeanData, options: CheckedOptions) -> tuple[str, ...]:
    """What the labels and the judge's scores give reason to say."""
    y, n, method, bounds = data.y, len(data.y), METHODS[options.estimator], options.bounds
    if not method.needs.labels or not n:
        return ()
    cautions = []
    weight = data.label_weight
    if (worth := round(kish(weight), 1)) < 10:
        number = f"{n} labels" if worth == n else f"{n} labels that weigh as {worth:g}"
        cautions.append(f"few_labels: {number}; intervals from fewer than 10 do not hold as often as they say")
    if data.inclusion is not None and (heaviest := float(weight.max() / weight.mean())) > _HEAVY:
        text = "times as much as the mean label: few labels can show that the judge errs on such items"
        cautions.append(f"uneven_chances: a label counts up to {heaviest:.1f} {text}")
    if not np.ptp(y[weight > 0]):
        why = "so the interval rests on the length of the scale" if bounds else "so nothing is known of their spread"
        cautions.append(f"constant_labels: all {n} labels are {y[0]:g}, {why}")
    elif bounds and not options.yes_or_no and n < 50 and (share := max(np.mean(y == end) for end in bounds)) >= 0.8:
        text = "of the labels are at one end of the scale, where few labels may miss rare others"
        cautions.append(f"edge: {share:.0%} {text}")
    if bounds is None and options.estimator == "auto":
        text = "no scale was given, so the interval does not allow for rare scores far from the labels"
        whole = bool((y % 1 == 0).all()) and 1 <= np.ptp(y) <= 10 and y.min() >= 0
        seen = f"the labels are whole numbers from {y.min():g} to {y.max():g}"
        ask = f"; {seen}: if their scale has ends, give it (scale=, --scale; bounds= on arrays)"
        cautions.append(f"no_scale: {text}{ask if whole else ''}")
    if data.group is not None and 1 < data.n_groups < 10:
        cautions.append(f"few_groups: {data.n_groups} labelled groups; intervals from fewer than 10 are a little short")
    return tuple(cautions) + (_judge_cautions(data, options) if method.judged and data.n_rest else ())


def _judge_cautions(data: MeanData, options: CheckedOptions) -> tuple[str, ...]:
    n, cautions = len(data.y), []
    low, high = options.bounds or (0.0, 1.0)
    cut = options.yes_or_no and _judge_within(data, (low, high))
    judged = np.where(data.f >= low + CUT * (high - low), high, low) if cut else data.f
    if np.array_equal(data.y, judged):
        text = f"the judge agrees with all {n} labels, which does not show that it always does"
        cautions.append(f"no_disagreement: {text}")
    if data.design == "items" and data.n_rest > 1 and n > 1 and p_of_labels(data.f, data.rest, data.scores_rest) < 1e-3:
        apart = f"{float(data.f.mean() - data.rest.mean):+.2g}"
        text = f"the judge scores labelled items {apart} against the rest (p < .001 in a random draw)"
        cautions.append(f"labels_unlike_rest: {text}: are the labels of a random sample?")
    return tuple(cautions)
