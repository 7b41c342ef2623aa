"""The gate on tables: a build beside a threshold, or beside a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.means.frames import difference_of, mean_of
from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.core.result import Interval
from calib.gate.baseline import (
    ERROR,
    Baseline,
    Ledger,
    Threshold,
    build_of,
    digest_of,
    lines_of_gate,
    pairs_of_gate,
    with_baseline,
)
from calib.gate.evidence import (
    CHANGED,
    UNCHANGED,
    Build,
    Evidence,
    GateOptions,
    alike_throughout,
    difference_at_any_look,
    differences_of,
    largest_share,
    mean_at_any_look,
    settled,
    share_reach,
    text_prints,
    unchanged_inputs,
    with_carried,
)
from calib.gate.outcomes import error_of
from calib.gate.verdict import Verdict
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.table import TableError
from calib.table.labelled import ends_of, label_pairs
from calib.table.pairs import Pair
from calib.table.results import Results
from calib.table.validate import scores_in

_LOOKED_BEFORE = "looked_before: this build had a verdict with fewer labels, so its interval holds at every look"
_IN_COMMON = 0.8  # of the inputs, that two builds must both have answered


def gate(
    scores: Data,
    labels: Data = None,
    *,
    system: str | None = None,
    threshold: Threshold | None = None,
    baseline: str | Path | Baseline | None = None,
    margin: Threshold | None = None,
    error: float = ERROR,
    sequential: bool = False,
    items: pd.DataFrame | None = None,
    groups: str | None = "group",
    min_labels: int = 10,
    max_unread: float = 0.05,
    ledger: str | Path | None = None,
    **columns: Any,
) -> Verdict:
    r"""Whether people would rate a build above a threshold, or not worse than a baseline: pass, fail, or not known.

    Each criterion is a check: the human mean of the build (or its difference to the baseline) with an interval at
    confidence 1 - 2 `error`. It passes if the interval lies above the threshold, fails if it lies below and that holds
    by Holm over all checks, and is inconclusive otherwise, with the labels that would decide. All checks have to pass.
    So a false pass and a false fail each have a chance of `error` at most, however many checks there are.

    Parameters
    ----------
    scores : table, path or frame
        A judge's scores (or ratings) of the build's outputs, and of the baseline's; or a file of your own, which may
        hold the labels, too. Several runs of one build are further draws of the same ratings, no second trial.
    labels : table, path or frame, optional
        People's scores of a random sample of these outputs.
    system : str, optional
        The build; may be left out where the scores are of one.
    threshold : float or dict of float, optional
        The threshold that the human mean has to exceed, for every criterion or for those that are named.
    baseline : str, path or Baseline, optional
        Instead: the build to hold it against, a system of the scores or a file of `calib gate --save-baseline`.
    margin : float or dict of float, optional
        How much worse than the baseline it may be, score points; with `baseline`. 0 asks for better.
    error : float, default .05
        Of a false pass, and of a false fail.
    sequential : bool, default False
        Say so where labels are bought until the gate decides: an interval that holds at every look, with about twice
        the labels. A ledger that holds a verdict on this build with fewer labels makes it so.
    items : DataFrame, optional
        Texts of all outputs. Labels of outputs that this build left as they were then carry over from other systems
        in the scores, in a stratum of their own, and in a difference they count 0.
    groups : str or None, default "group"
        As for `calib.interval`.
    min_labels : int, default 10
        Labels below which a check is inconclusive.
    max_unread : float, default .05
        Share of replies without a score above which a check is inconclusive.
    ledger : path, optional
        A file of verdicts, one a line, to which this one is added.
    **columns
        What the columns of files of your own are, as for `calib.look`; but for `system`, which is the build here: the
        column of systems is recognised.

    Raises
    ------
    TableError
        If the baseline was judged otherwise or has fewer than 80 % of the inputs in common.

    Notes
    -----
    The judge's scores alone are never a verdict: its mean may move where people's does not.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> print(calib.gate(judge, human, system="clean", threshold={"coherence": 3, "fluency": 4}))
    pass: clean
    pass  coherence: 4.736, 90 % CI [4.292, 4.816], above 3 (24 labels, 24 judge scores)
    pass  fluency: 4.569, 90 % CI [4.197, 4.68], above 4 (24 labels, 24 judge scores)
    >>> verdict = calib.gate(judge, human, system="clean", threshold={"coherence": 4.5})
    >>> verdict.outcome, verdict.exit_code
    ('inconclusive', 3)
    """
    as_typed(gate, locals())
    held = baseline if isinstance(baseline, Baseline) else None
    if isinstance(baseline, Path) or (isinstance(baseline, str) and baseline.endswith((".jsonl", ".json"))):
        held = Baseline.read(baseline)  # a file, and no system's name
    files = resolve_inputs(scores, labels, cast(Columns, columns), names=("scores", "labels"))
    judged, people, other = with_baseline(files.scores, files.gold, held, baseline)
    lines = lines_of_gate(judged, threshold, margin, other)
    name = build_of(judged, system, other)
    prints = ({} if items is None else text_prints(items)) | ({} if held is None else dict(held.prints))
    book = None if ledger is None else Ledger.read(ledger)
    pairs = pairs_of_gate(judged, people, list(lines))
    named = "system" in judged.frame
    builds = [Build(pair, people, name, other, prints, groups, named=named) for pair in pairs]
    counts = {build.criterion: build.n_labels for build in builds}
    again = book is not None and book.looked(name, counts)
    options = GateOptions(
        error=error_of(error),
        sequential=again or sequential,
        min_labels=check.whole(min_labels, "min_labels", least=2),
        max_unread=float(max_unread),
    )
    if not 0 <= max_unread <= 1:
        raise ArgumentError("max_unread", "must be a share, from 0 to 1", f"got {max_unread!r}")
    evidence = [_evidence(build, lines[build.criterion], options) for build in builds]
    checks = Results.of(settled(builds, evidence, options.error))
    of_labels = "" if people is None else digest_of(people.frame, ("item", "criterion", "rater", "score"))
    of_scores = digest_of(judged.frame, ("item", "system", "criterion", "rater", "prompt", "method", "score", "n"))
    guessed = f"scale_guessed: the scale, {files.guessed}, was guessed from the scores: say it (scale=)"
    verdict = Verdict(
        outcome=stats.GateOutcomes(tuple(one.outcome for one in checks), np.array([])).outcome,
        system=name,
        checks=checks,
        asked={
            "threshold": threshold, "baseline": other, "baseline_id": None if held is None else held.id,
            "margin": margin, "error": options.error, "sequential": options.sequential,
            "min_labels": min_labels, "max_unread": max_unread,
        },
        digests={"scores": of_scores, "labels": of_labels},
        notes=(*(guessed,) * bool(files.guessed), *(_LOOKED_BEFORE,) * again),
    )  # fmt: skip
    if book is not None:
        book.append(verdict.record() | {"time": datetime.now(UTC).isoformat(timespec="seconds")})
    return verdict


# --- evidence ---------------------------------------------------------------------------------------------------


def _evidence(build: Build, threshold: float, options: GateOptions) -> Evidence:
    """What the tables say of one check; what is not fit to decide says why."""
    if "bounds" in build.ends:  # a threshold that no result can pass is no gate
        low, high = build.ends["bounds"]
        if build.other is None and not low <= threshold < high:
            rule = f"must lie on people's scale and below its top ({low:g} to {high:g})"
            raise ArgumentError("threshold", rule, f"got {threshold:g}", about=build.criterion)
        if build.other is not None and -threshold >= high - low:
            raise ArgumentError(
                "margin", f"must be less than the scale is long ({high - low:g})", f"got {-threshold:g}"
            )
    of_kind = _mean_evidence if build.other is None else _difference_evidence
    evidence = of_kind(build, threshold, options)
    warnings = (*build.pair.warnings, *evidence.check.warnings)
    blocked = _unread(build, options.max_unread) or evidence.blocked
    return evidence._replace(check=replace(evidence.check, warnings=warnings), blocked=blocked)


def _unread(build: Build, most: float) -> str:
    """Whether too many replies gave no score, or a share that differs between the builds."""
    shares = []
    for name in filter(None, (build.name, build.other)):
        n_unread, n = build.unread(name)
        shares.append(n_unread / max(n, 1))
        if shares[-1] > most:
            return f"{n_unread} of {n} replies about {name} unread"
    if len(shares) > 1 and abs(shares[0] - shares[1]) > most:
        return "the share of unread replies differs between the builds"
    return ""


def _mean_evidence(build: Build, threshold: float, options: GateOptions) -> Evidence:
    frame = build.pair.frame
    mine = (frame["system"] == build.name) & (frame["_merge"] != "right_only")
    rows, n_carried = with_carried(frame, mine, {} if options.sequential else build.prints)
    read = rows[rows["x"].notna()]
    n_labels = int(read["y"].notna().sum())
    if not len(read):
        return Evidence(build.check(threshold, options), f"none of {len(rows)} replies could be read")
    if n_labels < options.min_labels:
        few = f"needs {options.min_labels} labels, has {n_labels}"
        return Evidence(build.check(threshold, options, n_labels=n_labels), few, scale=build.scale)
    strata = "answer" if n_carried and set(read["answer"]) == {CHANGED, UNCHANGED} else None
    fields: dict[str, Any] = {"n_labels": n_labels, "evidence": "own and carried labels" if n_carried else "own labels"}
    if strata:  # outputs of one kind that hardly have a label: the others' say nothing of them
        counts = read.groupby("answer")["y"].agg(["count", "size"])
        bare = counts[counts["count"] < counts["size"].clip(upper=2)]
        if len(bare):
            kind, (n, size) = bare.index[0], bare.iloc[0]
            few = f"{size} outputs are {kind} and {n} of them {'has a label' if n == 1 else 'have a label'}"
            return Evidence(build.check(threshold, options, **fields), few)
    if options.sequential:
        fields |= mean_at_any_look(build, read, threshold, options)
    else:
        fields |= _fields_of(mean_of(read, (build.groups, strata, None), build.label, options.of_mean(threshold)))
    y, f = read["y"].to_numpy(float), read["x"].to_numpy(float)
    return Evidence(build.check(threshold, options, **fields), "", y, f, build.scale)


def _fields_of(result: stats.MeanEstimate) -> dict[str, Any]:
    """Of an estimate what a check holds; its two-sided p-value as one against 'not below the threshold'."""
    half = result.p_value / 2
    below = half if result.estimate < result.null else 1 - half
    return {"estimate": result.estimate, "std_error": result.std_error, "interval": result.interval,
            "p_below": float(below), "warnings": result.warnings}  # fmt: skip


def _difference_evidence(build: Build, threshold: float, options: GateOptions) -> Evidence:
    assert build.other is not None
    frame, inputs, scale = build.pair.frame, build.inputs, build.scale
    sides = [set(build.rows(name)[inputs].dropna()) for name in (build.name, build.other)]
    common = sides[0] & sides[1]
    if not common or len(common) < _IN_COMMON * max(map(len, sides)):
        shared = f"{len(common)} of {max(map(len, sides))}"
        raise TableError(f"{build.criterion}: the builds must have 80 % of the inputs in common, but have {shared}.")
    same = unchanged_inputs(build) & common
    warnings: tuple[str, ...] = ()
    if not same and (text := alike_throughout(*differences_of(build, frame), build.rows(build.name))):
        same, warnings = common, (text,)
    share = 1 - len(same) / len(common)
    changed = replace(build.pair, frame=frame[~frame[inputs].isin(same)])
    y, f = differences_of(build, changed.frame)
    fields: dict[str, Any] = {"evidence": "own labels" if share == 1 else "unchanged outputs", "warnings": warnings}
    fields |= {"n": len(common), "n_labels": int(np.isfinite(y).sum())}
    if not share:
        fields |= {"estimate": 0.0, "std_error": 0.0, "interval": Interval(0.0, 0.0), "p_below": float(threshold > 0)}
        return Evidence(build.check(threshold, options, **fields))
    labelled = [int(build.rows(name).loc[lambda t: ~t[inputs].isin(same), "y"].notna().sum()) for name in
                (build.name, build.other)]  # fmt: skip
    if min(labelled) < options.min_labels:
        whose = "of each build" + " on outputs that changed" * (share < 1)
        few = f"needs {options.min_labels} labels {whose}, has {labelled[0]} and {labelled[1]}"
        if "bounds" in scale and share < 1:  # the scale's ends say how much the few that changed can be
            most = largest_share(share, len(common), options.confidence) * scale["bounds"][1]
            if -most > threshold:
                fields |= {"estimate": 0.0, "interval": Interval(-most, most), "p_below": 1.0}
                return Evidence(build.check(threshold, options, **fields))
        return Evidence(build.check(threshold, options, **fields), few, scale=scale, share=share)
    if options.sequential:
        fields |= difference_at_any_look(build, changed.frame, threshold, share, options)
    else:
        fields |= _of_changed(build, changed, threshold, options, share, len(common))
    return Evidence(build.check(threshold, options, **fields), "", y, f, scale, share)


def _of_changed(
    build: Build, changed: Pair, threshold: float, options: GateOptions, share: float, n: int
) -> dict[str, Any]:
    """The difference on what changed times its share, whose own error adds as squares do."""
    assert build.other is not None
    _, first = difference_of(changed, build.name, build.other, options.of_mean(threshold / share))
    spread = share_reach(share, n, options.confidence) * abs(first.estimate)
    reach = [share * abs(end - first.estimate) for end in first.interval]
    wide = [float(np.hypot(one, spread)) for one in reach]
    estimate = share * first.estimate
    side = int(threshold > estimate)
    nearer = (threshold - estimate) * (reach[side] / wide[side] if wide[side] > 0 else 1.0)
    _, tested = difference_of(changed, build.name, build.other, options.of_mean((estimate + nearer) / share))
    interval = Interval(estimate - wide[0], estimate + wide[1])
    return _fields_of(tested) | {"estimate": estimate, "std_error": share * first.std_error, "interval": interval}


# --- before there are labels ------------------------------------------------------------------------------------


def gate_plan(
    scores: Data = None,
    labels: Data = None,
    *,
    threshold: Threshold | None = None,
    margin: Threshold | None = None,
    n_labels: int,
    n_items: int | None = None,
    rho: float | None = None,
    sd: float | None = None,
    error: float = ERROR,
    power: float = 0.8,
    **columns: Unpack[Columns],
) -> Results[stats.GatePlan]:
    """Which true means a gate passes with so many labels, and whether it can pass at all.

    Parameters
    ----------
    scores, labels : table, path or frame, optional
        A pilot as for `gate`: correlation, spread and scale are then those of each criterion there.
    threshold : float or dict of float, optional
        The threshold.
    margin : float or dict of float, optional
        Instead: how much worse than a baseline a build may be.
    n_labels : int
        Labels of the build (of a difference: inputs that have one of each build).
    n_items : int, optional
        Items that the judge will have scored. Default: those of the pilot.
    rho, sd : float, optional
        Correlation of judge and people, and standard deviation of people. Default: those of the pilot, else .5 and
        that of scores that are even on their scale.
    error, power : float
        As for `calib.stats.gate_plan`.
    **columns
        What the columns of files of your own are, as for `calib.look`; without a pilot `scale` is people's scale,
        "1|2|3|4|5" if nothing is said.

    Examples
    --------
    >>> plan = gate_plan(threshold=3.7, n_labels=40, n_items=100, sd=0.99).one()
    >>> round(plan.passes_at, 2), [round(chance, 2) for chance in plan.chances(4.1)]
    (4.08, [0.83, 0.0])
    """
    as_typed(gate_plan, locals())
    if (threshold is None) == (margin is None):
        raise ArgumentError("threshold", "or {0} must be given, and one of them", mentions=("margin",))
    sign = 1 if margin is None else -1
    options: dict[str, Any] = {"n_labels": n_labels, "error": error, "power": power, "difference": margin is not None}
    threshold = threshold if margin is None else margin
    if scores is None:
        if n_items is None:
            raise ArgumentError("n_items", "must be given without a pilot")
        ends = ends_of(pd.DataFrame({"scale": [columns.get("scale", "1|2|3|4|5")]}), {})
        lines: dict[str, Any] = dict(threshold) if isinstance(threshold, Mapping) else {"": threshold}
        options |= {"n_items": n_items, "rho": 0.5 if rho is None else rho, "sd": sd} | ends
        return Results.of(
            ({"criterion": name} if name else {}, stats.gate_plan(sign * float(value), **options))
            for name, value in lines.items()
        )
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    answers = []
    for pair in label_pairs(scores_in(files.scores, "scores"), scores_in(files.gold, "labels")):
        value = threshold.get(str(pair.label["criterion"])) if isinstance(threshold, Mapping) else threshold
        if value is not None:
            pilot = _of_pilot(pair, n_items, rho, sd, difference=margin is not None)
            answers.append((pair.label, stats.gate_plan(sign * float(value), **pilot, **options)))
    return Results.of(answers)


def _of_pilot(
    pair: Pair, n_items: int | None, rho: float | None, sd: float | None, *, difference: bool
) -> dict[str, Any]:
    """Correlation, spread and scale of a pilot; a difference of two builds has twice the variance."""
    ends = {name: value for name, value in ends_of(pair.frame, pair.label, apart=True).items() if name != "same_scale"}
    both = pair.both[pair.both["x"].notna()]
    y, f = both["y"].to_numpy(float), both["x"].to_numpy(float)
    spread = float(np.std(y, ddof=1)) * (np.sqrt(2) if difference else 1) if len(y) > 1 else None
    varies = len(y) > 2 and np.ptp(y) > 0 and np.ptp(f) > 0
    correlation = float(np.corrcoef(y, f)[0, 1]) if varies else 0.5
    items = int((pair.frame["_merge"] != "right_only").sum()) if n_items is None else n_items
    return {"n_items": items, "rho": correlation if rho is None else rho, "sd": spread if sd is None else sd, **ends}
