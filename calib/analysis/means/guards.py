"""Guard rails of the gold-corrected means: what is asked for, what is refused, what a reader should know first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.analysis.means.gold import Gold
from calib.analysis.means.published import GROUPED, centred
from calib.analysis.means.ridge import kish
from calib.core import check
from calib.core.check import ArgumentError, Floats, Labels
from calib.core.laws import ALTERNATIVES
from calib.core.numeric import matrix_product

TARGETS = ("population", "benchmark")
CUT = 0.5  # a judge's probability from which on it says yes


@dataclass(frozen=True, slots=True)
class Asked:
    """The options, checked, and what they mean for these data."""

    bounds: tuple[float, float] | None
    step: float
    same_scale: bool
    binary: bool
    conservative: bool
    finite: bool
    method: str
    alternative: str
    null: float
    level: float
    warnings: tuple[str, ...] = ()


def asked_for(
    data: Gold,
    *,
    bounds: tuple[float, float] | None,
    step: float | None,
    method: str,
    alternative: str,
    null: float | None,
    min_gold: int,
    confidence_level: float,
    same_scale: bool | None = None,
    binary: bool | None = None,
    conservative: bool = False,
    target: str = "population",
) -> Asked:
    """Check the options against the data, and find the warnings that they call for."""
    ends, level = bounds_of(bounds, step), check.probability(confidence_level, "confidence_level")
    on_scale(data.y, ends, "y")
    yes_or_no = _yes_or_no(data, ends, step, binary)
    if yes_or_no and ends is None:
        ends = (0.0, 1.0)
    finite = check.choice(target, "target", TARGETS) == "benchmark"
    _enough(data, method, min_gold, finite=finite)
    _fits(data, method, finite)
    inside = ends is not None and _within(data, ends)
    plain = yes_or_no and inside and not data.grouped and data.stratum is None and not data.weighted
    if binary and not plain:
        raise ArgumentError("binary", "needs a judge within the ends of the scale, and no groups, strata or weights")
    if conservative and not plain:
        raise ArgumentError(
            "conservative", "is for labels and a judge that say yes or no, without groups, strata or weights"
        )
    size = 0.0 if ends is None else ends[1] - ends[0]
    return Asked(
        bounds=ends,
        step=size if yes_or_no else float(step or 0),
        same_scale=inside if same_scale is None else same_scale,
        binary=plain,
        conservative=conservative,
        finite=finite,
        method=method,
        alternative=check.choice(alternative, "alternative", ALTERNATIVES),
        null=np.nan if null is None else float(null),
        level=level,
        warnings=_cautions(data, ends, method, yes_or_no=yes_or_no),
    )


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
    if bounds is None:
        return
    off = (y < bounds[0]) | (y > bounds[1])
    if off.any():
        place = int(np.argmax(off))
        raise ArgumentError(
            name,
            f"must lie within {{0}} ({bounds[0]:g} to {bounds[1]:g})",
            f"got {y[place]:g} at {place}",
            mentions=("bounds",),
        )


def _within(data: Gold, bounds: tuple[float, float]) -> bool:
    """Whether the judge's scores lie on people's scale."""
    low = min(data.f.min(initial=np.inf), float(data.rest.low))
    high = max(data.f.max(initial=-np.inf), float(data.rest.high))
    return bool(bounds[0] <= low and high <= bounds[1])


def _yes_or_no(data: Gold, bounds: tuple[float, float] | None, step: float | None, binary: bool | None) -> bool:
    low, high = bounds or (0.0, 1.0)
    two = bool(np.isin(data.y, (low, high)).all()) and len(data.y) > 0
    if binary and not two:
        raise ArgumentError(
            "y", f"must be {low:g} or {high:g} where {{0}} is True", "has other values", mentions=("binary",)
        )
    if binary is not None:
        return binary
    if bounds is not None and step is not None:
        return two and step == high - low
    # labels that are all 1 may be the low end of a longer scale: then the judge goes beyond
    return two and (low, high) == (0.0, 1.0) and (_within(data, (0.0, 1.0)) or bool(np.ptp(data.y)))


def _enough(data: Gold, method: str, min_gold: int, *, finite: bool) -> None:
    least = check.whole(min_gold, "min_gold", least=2)
    n = len(data.y)
    if method != "judge_only" and data.n_groups < 2:
        raise ArgumentError("y", "must have labels in two groups (or two items) at least", f"got {data.n_groups}")
    if data.weighted and (worth := kish(data.label_weight)) < 2:
        raise ArgumentError("weights", "must leave two labels at least", f"these weigh as {worth:.3g}")
    if method in {"auto", "regression"} and n < least and not (finite and not data.n_rest):
        raise ArgumentError(
            "y",
            f"must have {least} gold labels at least",
            (
                f"got {n}: with fewer no interval was found that holds as often as it says. Label more, "
                "or set {0} and read the result with care"
            ),
            mentions=("min_gold",),
        )
    if method == "regression" and n < 4:
        raise ArgumentError("y", "must have 4 gold labels at least for method 'regression'", f"got {n}")


def _fits(data: Gold, method: str, finite: bool) -> None:
    """Refuse by name what does not go together."""
    given = [
        name
        for name, there in (
            ("groups", data.grouped),
            ("strata", data.stratum is not None),
            ("weights", data.weight is not None),
            ("inclusion", data.inclusion is not None),
        )
        if there
    ]
    if "strata" in given and len(given) > 1:
        raise ArgumentError("strata", f"cannot be combined with `{next(n for n in given if n != 'strata')}`")
    if method not in {"auto", "classical", "judge_only"}:
        refused = [n for n in given if n != "groups" or method not in GROUPED]
        refused += ["target='benchmark'"] if finite else []
        if refused:
            raise ValueError(f"method {method!r} cannot take `{refused[0]}`; 'auto' can.")
    if finite and data.weighted:
        raise ValueError("target='benchmark' cannot be combined with `weights` or `inclusion`.")
    if finite and data.split_groups:
        raise ValueError("target='benchmark' with `groups` needs groups that are labelled as a whole or not at all.")


# --- what a reader should know first ---------------------------------------------------------------------------


def tuned(tuned_on_gold: bool) -> tuple[str, ...]:
    text = "tuned_on_gold: the judge has seen these labels, so the interval is too short; tune it in folds (`folds`)"
    return (text,) if tuned_on_gold else ()


def overlap(items: Labels | None, items_unlabeled: Labels | None) -> tuple[str, ...]:
    if items is None or items_unlabeled is None:
        return ()
    common = set(np.asarray(items).tolist()) & set(np.asarray(items_unlabeled).tolist())
    text = (
        f"overlap: {len(common)} gold items are also among the unlabelled, such as {min(map(repr, common), default='')}"
    )
    return (text,) if common else ()


def _cautions(data: Gold, bounds: tuple[float, float] | None, method: str, *, yes_or_no: bool) -> tuple[str, ...]:
    y, n, judged = data.y, len(data.y), data.n_rest > 0 and method not in {"classical", "judge_only"}
    if method == "judge_only" or not n:
        return ()
    found = []
    weight = data.label_weight
    if (worth := round(kish(weight), 1)) < 10:
        number = f"{n} labels" if worth == n else f"{n} labels that weigh as {worth:g}"
        found.append(f"few_labels: {number}; intervals from fewer than 10 do not hold as often as they say")
    if not np.ptp(y[weight > 0]):
        why = "so the interval rests on the length of the scale" if bounds else "so nothing is known of their spread"
        found.append(f"constant_gold: all {n} labels are {y[0]:g}, {why}")
    elif bounds is not None and not yes_or_no and (share := max(np.mean(y == end) for end in bounds)) >= 0.8 and n < 50:
        found.append(
            f"edge: {share:.0%} of the labels are at one end of the scale, where few labels may miss rare others"
        )
    if data.grouped and 1 < data.n_groups < 10:
        found.append(f"few_groups: {data.n_groups} labelled groups; intervals from fewer than 10 are a little short")
    return tuple(found) + (_judge_cautions(data, bounds, yes_or_no=yes_or_no) if judged else ())


def _judge_cautions(data: Gold, bounds: tuple[float, float] | None, *, yes_or_no: bool) -> tuple[str, ...]:
    n, found = len(data.y), []
    low, high = bounds or (0.0, 1.0)
    said = (
        np.where(data.f >= low + CUT * (high - low), high, low) if yes_or_no and _within(data, (low, high)) else data.f
    )
    if np.array_equal(data.y, said):
        found.append(f"no_disagreement: the judge agrees with all {n} labels, which does not show that it always does")
    dy, df = centred(data.y), centred(data.f)
    cross, square_y, square_f = (matrix_product(*pair) for pair in ((dy, df), (dy, dy), (df, df)))
    r = float(cross / np.sqrt(square_y * square_f)) if np.ptp(data.y) and np.ptp(data.f) else 0.0
    if n > 2 and np.ptp(data.y) and abs(r) < 1 / np.sqrt(n - 2):
        found.append(
            f"weak_judge: correlation {r:.2f} with {n} labels, below {1 / np.sqrt(n - 2):.2f}: it may not help at all"
        )
    if not data.grouped and data.stratum is None and not data.weighted and data.n_rest > 1 and n > 1:
        apart = float(data.f.mean() - data.rest.mean)
        error = np.sqrt(square_f / (n - 1) / n + float(data.rest.variance) / data.n_rest)
        if error > 0 and abs(apart) > 3.3 * error:
            found.append(
                f"gold_unlike_rest: the judge scores gold items {apart:+.2g} against the rest, "
                f"{abs(apart) / error:.1f} standard errors: is the gold set a random sample?"
            )
    return tuple(found)
