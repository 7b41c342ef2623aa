"""Evidence of a gate: a build's scores beside labels, of itself and of what it is compared with, and its checks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special
from scipy.stats import spearmanr

from calib import stats
from calib.analysis.means.frames import difference_of, mean_of
from calib.analysis.means.methods import GROSS
from calib.core.check import ArgumentError
from calib.core.result import NO_INTERVAL, Interval
from calib.gate import unchanged
from calib.gate.matching import Absent
from calib.gate.outcomes import INCONCLUSIVE, GateCheck
from calib.gate.sure_labels import Annotators, annotators_apart, not_drawn
from calib.inputs.alike import few
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.labelled import NAMES, copies, ends_of
from calib.table.pairs import Pair, drawn_unequally
from calib.table.validate import ValidatedTable, renamed_errors

_IN_COMMON = 0.8  # of the inputs, that two builds must both have answered
_GROUPS = 4  # with labels; with two, of ten outputs each, 6 to 8 % of the verdicts at the threshold are wrong
_NO_SCALE = (
    "gate_without_scale: no ends of a scale are given, so that at the threshold a skewed build passes falsely in up to "
    "20 % of the cases with 20 labels and 12 % with 100, not in 5: say the scale (scale=, --scale)"
)
_AGAINST, _CERTAIN = 0.5, 1e-3  # rank correlation, p-value
_LOWEST = 0.02  # of the length of a scale
UNLIKE = 1.5  # times as high as other labels, or scores: on another scale


@dataclass(slots=True)
class GateOptions:
    """What holds for every check."""

    error: float
    sequential: bool
    min_labels: int
    max_unread: float

    @property
    def confidence(self) -> float:
        return 1 - 2 * self.error

    def of_mean(self, null: float, scale: Mapping[str, Any]) -> dict[str, Any]:
        """As the means want them; where the scale has ends, with an allowance for errors that no label shows."""
        return {"target": "population", "estimator": "auto", "alternative": "two-sided", "null": null,
                "min_labels": self.min_labels, "confidence_level": self.confidence,
                "conservative": GROSS if "bounds" in scale else False}  # fmt: skip


class Evidence(NamedTuple):
    """A check whose outcome is open: what stands in the way of one, and the data that more labels add to."""

    check: GateCheck
    blocked: str = ""
    y: Any = ()
    f: Any = ()
    scale: Mapping[str, Any] = {}
    share: float = 1.0


class Build:
    """One criterion of a build: its rows beside people's labels, those of the baseline, and its threshold."""

    def __init__(
        self, pair: Pair, people: ValidatedTable | None, name: str, other: str | None, prints: Mapping[str, str],
        groups: str | None, threshold: float, options: GateOptions, *, named: bool,
    ) -> None:  # fmt: skip
        self.label, self.name, self.other, self.prints = pair.label | {"system": name}, name, other, prints
        self.groups, self.threshold, self.options, self.order = groups, threshold, options, {}
        self.absent = dict[str | None, Absent]()  # outputs without a row
        self.left_out, self.annotators = (0, ""), Annotators()  # labels that do not count; who gave the others
        self.guessed = False  # the scale
        self.criterion, frame = str(pair.label["criterion"]), pair.frame
        if people is not None:  # in which order the labels of a criterion stand in their table
            labels = people.frame[people.frame["criterion"].astype(str) == self.criterion]
            self.order = {item: place for place, item in enumerate(labels["item"].astype(object))}
        if "system" not in frame or not named:  # all that was judged is the build's
            systems, judged = frame.get("system", pd.Series(np.nan, frame.index)), frame["_merge"] != "right_only"
            frame = frame.assign(system=systems.where(~judged, name))
        self.pair = replace(pair, frame=frame.astype({"item": object, "system": object}))
        self.ends = ends_of(frame, pair.label, apart=True)
        self.inputs = "group" if "group" in frame else "item"  # the column of what was answered
        # the scale of what is compared with the threshold
        self.scale = {name: value for name, value in self.ends.items() if name != "same_scale"}
        if other is not None and "bounds" in self.scale:
            low, high = self.scale["bounds"]
            self.scale["bounds"] = (low - high, high - low)

    def rows(self, system: str | None) -> pd.DataFrame:
        """The items of a system that the judge was asked about."""
        scored = self.pair.scored
        return scored[scored["system"] == system]

    @property
    def scales(self) -> str:
        """Scales of labels and scores, where they differ."""
        if self.ends.get("same_scale") is not False:
            return ""
        labels, scores = (self.pair.scored[name].dropna().astype(str) for name in ("scale_y", "scale"))
        return f"labels are on {few(labels[labels != ''].unique())}, scores on {few(scores[scores != ''].unique())}"

    @property
    def n_labels(self) -> int:
        return int(self.rows(self.name)["y"].notna().sum())

    def without_score(self, system: str) -> tuple[int, int]:
        """Outputs of a system that no score could be read of, absent ones among them, of how many that are expected."""
        unread, absent = self.rows(system)["x"].isna(), len(self.absent.get(system, Absent()).names)
        return int(unread.sum()) + absent, len(unread) + absent

    def check(self, **fields: Any) -> GateCheck:
        """A check that is open, with the fields that the evidence gives."""
        options = self.options
        nothing = dict.fromkeys(("estimate", "std_error", "p_below", "p_adjusted", "labels_to_decide"), np.nan)
        cells: dict[str, Any] = nothing | {
            "interval": NO_INTERVAL, "evidence": "none", "scales": self.scales, "error": options.error,
            "n": int(self.rows(self.name)["x"].notna().sum()), "n_unread": self.without_score(self.name)[0],
            "n_labels": self.n_labels, "confidence_level": options.confidence, "threshold": self.threshold,
            "estimand": "human mean" + " difference" * (self.other is not None), "sequential": options.sequential,
        }  # fmt: skip
        return GateCheck(**cells | fields, outcome=INCONCLUSIVE, reason="")


def evidence_of(build: Build) -> Evidence:
    """The evidence for one check, and why it may decide nothing."""
    threshold, most = build.threshold, build.options.max_unread
    if "bounds" in build.ends:  # a threshold that no result can pass, or that none can miss, is no gate
        low, high = build.ends["bounds"]
        if build.other is None and not low <= threshold < high:
            rule = f"must lie on people's scale and below its top ({low:g} to {high:g})"
            raise ArgumentError("threshold", rule, f"got {threshold:g}", about=build.criterion)
        if build.other is None and threshold - low < _LOWEST * (high - low):
            rule = f"must lie at least {100 * _LOWEST:g} % of people's scale ({low:g} to {high:g}) above its bottom"
            came = f"got {threshold:g}: is it on the judge's scale?"
            raise ArgumentError("threshold", rule, came, about=build.criterion)
        if build.other is not None and -threshold >= high - low:
            rule = f"must be less than the scale is long ({high - low:g})"
            raise ArgumentError("margin", rule, f"got {-threshold:g}")
    evidence = _mean_evidence(build) if build.other is None else _difference_evidence(build)
    blocked, cautions = evidence.blocked, list[str]()
    if build.ends.get("same_scale") is False:
        cautions.append(f"scales_differ: {build.scales}; the threshold, {threshold:g}, is on the labels' scale")
    n_others, of_others = build.left_out
    if blocked.startswith("needs ") and n_others:
        blocked = f"{blocked}: {of_others}"
    elif n_others > most * (n_others + build.n_labels):  # a name that is misspelled would drop them
        blocked = f"{of_others}: correct their system, or take them out of the labels"
    read = build.rows(build.name).dropna(subset=["x", "y"])
    copied, like_scores = copies(read)
    against = _against(read, build.options.min_labels)
    blocked = unchanged.stale_texts(build) or unchanged.copied_labels(build) or copied or against or blocked
    cautions += [like_scores] * bool(like_scores)
    for name in filter(None, (build.other, build.name)):
        blocked = _lacks_scores(build, name, most) or blocked
        if (absent := build.absent.get(name, Absent())).names:
            expected = f"{len(absent.names)} of {build.without_score(name)[1]} expected outputs of {name}"
            which = f"the scores have no row for {expected}: {absent.few}"
            labelled = f", {absent.n_labelled} of them labelled" * bool(absent.n_labelled)
            cautions.append(f"absent: {which}{labelled}. Score them, or name in labels and items whose they are.")
    if "bounds" not in build.ends:
        cautions.append(_NO_SCALE)
    check = replace(evidence.check, warnings=(*cautions, *build.pair.warnings, *evidence.check.warnings))
    return evidence._replace(check=check, blocked=blocked)


def _lacks_scores(build: Build, name: str, most: float) -> str:
    """Why scores of a system are no basis: too many outputs, or labelled ones, have none; a crash raises no mean."""
    rows, absent = build.rows(name), build.absent.get(name, Absent())
    without, expected = build.without_score(name)
    labelled = rows[rows["y"].notna()]
    bare, n_labels = int(labelled["x"].isna().sum()) + absent.n_labelled, len(labelled) + absent.n_labelled
    if without > most * expected and absent.names:
        which = f"{len(absent.names)} absent: {absent.few}): a crash must not raise the mean"
        return f"{without} of {expected} expected outputs of {name} have no score ({which}"
    if without > most * expected:
        return f"{without} of {expected} replies about {name} unread"
    if bare > most * n_labels:
        return f"{bare} of {n_labels} labels of {name} are of outputs without a score"
    return ""


def _against(rows: pd.DataFrame, least: int) -> str:
    """Why labels decide nothing: they go against the judge's scores, as on a reversed scale."""
    if len(rows) < least or rows["x"].nunique() < 2 or rows["y"].nunique() < 2:
        return ""
    rho, p = spearmanr(rows["x"].astype(float), rows["y"].astype(float))
    if rho > -_AGAINST or p > _CERTAIN:
        return ""
    return f"scores go against the labels (rank correlation {rho:.2f}): is one of the scales reversed?"


def _mean_evidence(build: Build) -> Evidence:
    options, frame = build.options, build.pair.frame
    mine = (frame["system"] == build.name) & (frame["_merge"] != "right_only")
    rows, whose = unchanged.with_labels_of_unchanged(frame, mine, {} if options.sequential else build.prints)
    read = rows[rows["x"].notna()]
    n_labels, whose = int(read["y"].notna().sum()), whose[whose.index.isin(read.index)]
    if not len(read):
        return Evidence(build.check(), f"none of {len(rows)} replies could be read")
    if n_labels < options.min_labels:
        lacking = f"needs {options.min_labels} labels, has {n_labels}"
        return Evidence(build.check(n_labels=n_labels), lacking, scale=build.scale)
    if build.groups in read:
        groups = read.loc[read["y"].notna(), build.groups]
        if (several := groups.nunique() + int(groups.isna().sum())) < min(_GROUPS, n_labels):
            lacking = f"labels are of {several} group{'s' * (several > 1)}, and {_GROUPS} at least must have one"
            return Evidence(build.check(n_labels=n_labels), lacking, scale=build.scale)
    strata = "answer" if len(whose) and set(read["answer"]) == {unchanged.CHANGED, unchanged.UNCHANGED} else None
    fields: dict[str, Any] = {"n_labels": n_labels, "evidence": "own labels"}
    fields["carried_from"] = few(whose.replace("", np.nan).dropna().unique()) or "another build"
    if len(whose):
        fields |= {"evidence": "own and carried labels", "n_carried": len(whose)}
    if strata:  # outputs of one kind that hardly have a label: the others' say nothing of them
        counts = read.groupby("answer")["y"].agg(["count", "size"])
        bare = counts[counts["count"] < counts["size"].clip(upper=2)]
        if len(bare):
            kind, (n, size) = bare.index[0], bare.iloc[0]
            lacking = f"{size} outputs are {kind} and {n} of them {'has a label' if n == 1 else 'have a label'}"
            return Evidence(build.check(**fields), lacking)
    parts = [part for _, part in read.groupby(strata)] if strata else [read]
    blocked = not_drawn(parts, build.groups, options.max_unread)
    y, f = read["y"].to_numpy(float), read["x"].to_numpy(float)
    if options.sequential:
        if drawn_unequally(read):
            came = "they were drawn by strata or with chances that differ"
            raise TableArgumentError("sequential", "needs labels that were drawn simply", came)
        labelled = read[read["y"].notna()]
        labelled = labelled.loc[labelled["item"].map(build.order).sort_values(kind="stable").index]
        scaled = _on_scale_of_people(build, read["x"].astype(float))
        pairs = labelled["y"].to_numpy(float), scaled[labelled.index].to_numpy(float)
        blocked = blocked or _out_of_order(*pairs)
        fields |= _at_any_look(*pairs, scaled.to_numpy(float), build.ends.get("bounds"), build.threshold, options.error)
    else:
        with renamed_errors(build.label, **NAMES):
            options_of_mean = options.of_mean(build.threshold, build.scale)
            fields |= _fields_of(mean_of(read, (build.groups, strata, None), options_of_mean))
    return Evidence(build.check(**fields), blocked, y, f, build.scale)


def _fields_of(result: stats.MeanEstimate) -> dict[str, Any]:
    """The fields of a check from an estimate, with the p-value against 'not below the threshold'."""
    half = result.p_value / 2
    below = half if result.estimate < result.null else 1 - half
    return {"estimate": result.estimate, "std_error": result.std_error, "interval": result.interval,
            "p_below": float(below), "warnings": result.warnings}  # fmt: skip


def _difference_evidence(build: Build) -> Evidence:
    options, threshold, frame, inputs = build.options, build.threshold, build.pair.frame, build.inputs
    sides = [build.rows(name) for name in (build.name, build.other)]
    for name, side in zip((build.name, build.other), sides, strict=True):
        if side[inputs].dropna().duplicated().any():
            raise TableError(f"system {name!r} must have one item per {inputs}, but has several in some.")
    answered = [set(side[inputs].dropna()) for side in sides]
    common, most = answered[0] & answered[1], max(map(len, answered))
    if not common or len(common) < _IN_COMMON * most:
        shared = f"{len(common)} of {most}"
        raise TableError(f"{build.criterion}: the builds must have 80 % of the inputs in common, but have {shared}.")
    if build.guessed or "bounds" not in build.ends:
        _refuse_other_scales(build, sides)
    same = unchanged.unchanged_inputs(build) & common
    warnings: tuple[str, ...] = ()
    if not same and (text := unchanged.alike_throughout(*differences_of(build, frame), sides[0])):
        same, warnings = common, (text,)
    share = 1 - len(same) / len(common)
    changed = replace(build.pair, frame=frame[~frame[inputs].isin(same)])
    y, f = differences_of(build, changed.frame)
    fields: dict[str, Any] = {"evidence": "own labels" if share == 1 else "unchanged outputs", "warnings": warnings}
    sides = [side[~side[inputs].isin(same)] for side in sides]
    of_a, of_b = (set(side.loc[side["y"].notna(), inputs].dropna()) & common for side in sides)
    n_paired = int(np.isfinite(y).sum())
    n_labels = n_paired if options.sequential else len(of_a | of_b)
    fields |= {"n": len(common), "n_labels": n_labels}
    if n_labels > 2 * n_paired:
        lone = f"{n_labels - n_paired} of {n_labels} labelled inputs have a label of one build only"
        fields["warnings"] = (*warnings, f"labels_unpaired: {lone}: were they drawn alike for both?")
    if not share:
        fields |= {"estimate": 0.0, "std_error": 0.0, "interval": Interval(0.0, 0.0), "p_below": float(threshold > 0)}
        return Evidence(build.check(**fields))
    n_a, n_b = (int(side["y"].notna().sum()) for side in sides)
    if min(n_a, n_b) < options.min_labels:
        whose = "of each build" + " on outputs that changed" * (share < 1)
        lacking = f"needs {options.min_labels} labels {whose}, has {n_a} and {n_b}"
        if "bounds" in build.scale and share < 1:  # the scale's ends say how much the few that changed can be
            reach = largest_share(share, len(common), options.confidence) * build.scale["bounds"][1]
            if -reach > threshold:
                fields |= {"estimate": 0.0, "interval": Interval(-reach, reach), "p_below": 1.0}
                return Evidence(build.check(**fields))
        return Evidence(build.check(**fields), lacking, scale=build.scale, share=share)
    apart, sure = annotators_apart(build, sides)
    fields["warnings"] += (f"annotators_apart: {apart}",) * bool(apart)
    blocked = not_drawn(sides, build.groups, options.max_unread) or apart * sure
    if options.sequential:  # the labels in the order in which their inputs became whole
        place, answered_of = changed.frame["item"].map(build.order), changed.frame[inputs]
        last = place.groupby(answered_of).max().sort_values(kind="stable")
        rows = changed.frame.assign(x=_on_scale_of_people(build, changed.frame["x"].astype(float)))
        rows = rows.assign(at=answered_of.map({group: k for k, group in enumerate(last.index)})).sort_values("at")
        in_order, scores = differences_of(build, rows)
        both, bounds = np.isfinite(in_order), build.scale.get("bounds")
        blocked = blocked or _out_of_order(in_order[both], scores[both])
        fields |= _at_any_look(in_order[both], scores[both], scores, bounds, threshold / share, options.error)
        fields["interval"] = Interval(*(share * end for end in fields["interval"]))
        fields["estimate"] *= share
    else:
        of_changed = _of_changed(build, changed, share, len(common))
        fields |= of_changed | {"warnings": (*fields["warnings"], *of_changed["warnings"])}
    return Evidence(build.check(**fields), blocked, y, f, build.scale, share)


def _refuse_other_scales(build: Build, sides: Sequence[pd.DataFrame]) -> None:
    """Refuse labels of two builds that may be on two scales, as they reach far apart and state none."""
    labels = [side["y"].dropna().abs().astype(float) for side in sides]
    if min(map(len, labels)) < build.options.min_labels:
        return
    tops = [values.max() for values in labels]
    if max(tops) >= UNLIKE * min(tops):
        of_each = zip((build.name, build.other), tops, strict=True)
        each = " and ".join(f"those of {name} up to {top:g}" for name, top in of_each)
        rule = "must say their scale (a column `scale`, or --scale), for they may be on two"
        raise TableArgumentError("labels", rule, f"{each} came without")


def _of_changed(build: Build, changed: Pair, share: float, n: int) -> dict[str, Any]:
    """The difference on changed outputs times their share; the errors of both add as squares do."""
    assert build.other is not None
    options, threshold = build.options, build.threshold
    _, first = difference_of(changed, build.name, build.other, options.of_mean(threshold / share, build.scale))
    spread = share_reach(share, n, options.confidence) * abs(first.estimate)
    reach = [share * abs(end - first.estimate) for end in first.interval]
    wide = [float(np.hypot(one, spread)) for one in reach]
    estimate = share * first.estimate
    side = int(threshold > estimate)
    nearer = (threshold - estimate) * (reach[side] / wide[side] if wide[side] > 0 else 1.0)
    at_end = options.of_mean((estimate + nearer) / share, build.scale)
    _, tested = difference_of(changed, build.name, build.other, at_end)
    interval = Interval(estimate - wide[0], estimate + wide[1])
    return _fields_of(tested) | {"estimate": estimate, "std_error": share * first.std_error, "interval": interval}


def differences_of(build: Build, frame: pd.DataFrame) -> tuple[Any, Any]:
    """Differences of labels and of scores on the inputs that both answered."""
    judged = frame[frame["_merge"] != "right_only"]
    sides = (judged[judged["system"] == name] for name in (build.name, build.other))
    first, second = (side.drop_duplicates(build.inputs).set_index(build.inputs) for side in sides)
    both = first.index.intersection(second.index)
    y, f = ((first.loc[both, name] - second.loc[both, name]).to_numpy(float) for name in ("y", "x"))
    read = np.isfinite(f)
    return y[read], f[read]


# --- A gate that one may look at after every label --------------------------------------------------------------------


def _on_scale_of_people(build: Build, f: pd.Series) -> pd.Series:
    """A judge with a scale of its own, stretched to people's."""
    if build.ends.get("same_scale") is not False:
        return f
    low, high = build.ends["bounds"]
    judged = build.pair.scored["scale"].dropna().astype(str)
    ends = parse_scale(judged.iloc[0]) if len(judged) else None
    bottom, top = (f.min(), f.max()) if ends is None else (ends.low, ends.high)
    return low + (f - bottom) / max(top - bottom, 1e-12) * (high - low)


def _out_of_order(y: Any, f: Any) -> str:
    """Why labels decide nothing at any look: they rise or fall from the first to the last, as in a sorted file."""
    for values in (y, y - f):
        rho, p = spearmanr(np.arange(len(values)), values) if len(values) > 2 and np.ptp(values) > 0 else (0.0, 1.0)
        if p < _CERTAIN:
            way = f"{'rise' if rho > 0 else 'fall'} from the first to the last (rank correlation {rho:.2f})"
            return f"labels {way}: a gate at every look needs them in the order in which they were given"
    return ""


def _at_any_look(y: Any, f: Any, pool: Any, bounds: Any, threshold: float, error: float) -> dict[str, Any]:
    """The mean with an interval that holds however often one looked."""

    def at(tail: float) -> stats.ConfidenceSequence:
        return stats.confidence_sequence(y, f, pool, bounds=bounds, confidence_level=1 - 2 * tail)

    sequence = at(error)
    low, high, is_below = -np.log(1e9), np.log(0.5 - 1e-9), sequence.estimate[-1] < threshold
    for _ in range(30 if is_below else 0):  # the least error at which the threshold is above
        middle = (low + high) / 2
        below = at(float(np.exp(middle))).high[-1] < threshold
        low, high = (low, middle) if below else (middle, high)
    ends = Interval(float(sequence.low[-1]), float(sequence.high[-1]))
    p_below = float(np.exp(high)) if is_below else 0.5
    return {"estimate": float(sequence.estimate[-1]), "interval": ends, "p_below": p_below}


# --- the outcomes of a gate's checks ----------------------------------------------------------------------------------


def settled_checks(
    builds: Sequence[Build], evidence: Sequence[Evidence], error: float
) -> list[tuple[dict[str, Any], GateCheck]]:
    """The checks with their outcomes, which hang together, and what would decide the open ones."""
    rows = [(one.check.conf_low, one.check.conf_high, one.check.p_below) for one in evidence]
    low, high, p = np.array([(np.nan,) * 3 if one.blocked else row for one, row in zip(evidence, rows, strict=True)]).T
    threshold = [build.threshold for build in builds]
    outcomes, adjusted = stats.gate_outcomes(low, high, p, threshold=threshold, error=error)
    answers = []
    for build, one, outcome, p_adjusted in zip(builds, evidence, outcomes, adjusted, strict=True):
        check, reason, needed = one.check, "", np.nan
        if outcome == INCONCLUSIVE and one.blocked:
            reason = one.blocked
            needed = float(reason.split()[1]) if reason.startswith("needs ") else np.nan
        elif outcome == INCONCLUSIVE:
            below = check.conf_high < check.threshold
            reason = f"below, not after {len(builds)} checks" if below else "too few labels to decide"
            needed = _labels_to_decide(check, one)
            if np.isinf(needed):
                reason, needed = f"{reason}, even with labels for all {check.n} items", np.nan
        check = replace(check, outcome=outcome, p_adjusted=float(p_adjusted), reason=reason, labels_to_decide=needed)
        answers.append((build.label | {"n_unmatched": build.pair.n_labels_unmatched}, check))
    return answers


def _labels_to_decide(check: GateCheck, evidence: Evidence) -> float:
    """Labels in all with which the interval would end at the threshold; infinite if all items do not have so many."""
    half = abs(check.estimate - check.threshold) / evidence.share
    if not len(evidence.y):
        return np.nan
    if not half > 0:
        return np.inf
    try:
        with warnings.catch_warnings():  # about the pilot; here it only says what to do next
            warnings.simplefilter("ignore")
            options: dict[str, Any] = {name: evidence.scale.get(name) for name in ("bounds", "step")}
            options |= {"half_width": half, "confidence_level": check.confidence_level}
            plan = stats.labels_needed(evidence.y, evidence.f, **options)
    except ArgumentError as error:
        return np.inf if error.argument == "half_width" else np.nan
    more = max(plan.n_labels, check.n_labels + 1)
    return float(more) if more <= len(evidence.f) else np.inf


def share_reach(share: float, n: int, confidence_level: float) -> float:
    """How far the share of n inputs may be from that of all inputs, by the normal law."""
    return float(special.ndtri((1 + confidence_level) / 2)) * math.sqrt(share * (1 - share) / n)


def largest_share(share: float, n: int, confidence_level: float) -> float:
    """Clopper and Pearson's upper end of a share of n inputs."""
    k = round(share * n)
    return 1.0 if k >= n else float(special.betaincinv(k + 1, n - k, (1 + confidence_level) / 2))
