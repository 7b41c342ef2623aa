"""The gate on tables: whether people would rate a build above a threshold, or not worse than a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError
from calib.gate import matching, sure_labels
from calib.gate.baseline import Baseline, Ledger, digest_of, with_baseline
from calib.gate.certificate import Certificate
from calib.gate.evidence import UNLIKE, Build, GateOptions, evidence_of, settled_checks
from calib.gate.judge_tables import refuse_several_judges
from calib.gate.outcomes import MUCH_UNREAD, error_of
from calib.gate.unchanged import text_prints
from calib.gate.verdict import Verdict
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import Inputs, items_in, resolve_inputs
from calib.table import TableArgumentError
from calib.table.driver import verb
from calib.table.labelled import ends_of, label_pairs
from calib.table.pairs import Pair
from calib.table.results import Results
from calib.table.sessions import LEVELS, all_turns, at_sessions, by_session, session_items, session_of_each
from calib.table.validate import ValidatedTable, scores_in

ERROR = 0.05
Threshold = float | Mapping[str, float]
_LEDGER = {  # what it may say of the labels of a build, by whether there are more of them now, or fewer
    -1: "labels_fewer: this build had a verdict with more labels: why were some taken away?",
    1: "looked_before: this build had a verdict with fewer labels, or with others, so its interval holds at every look",
}


@verb
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
    items: pd.DataFrame | str | Path | None = None,
    groups: str | None = "group",
    level: str = "item",
    turns: str = "mean",
    min_labels: int = 10,
    max_unread: float = 0.05,
    ledger: str | Path | None = None,
    certificate: str | Path | None = None,
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
        A judge's scores (or ratings) of the build's outputs, and of the baseline's; or your own file, which may
        hold the labels, too. Several runs of one build are further draws of the same ratings, no second trial.
    {labels}
    system : str, optional
        The build; may be left out where the scores are of one.
    threshold : float or dict of float, optional
        The threshold that the human mean has to exceed, for every criterion or for those that are named.
    baseline : str, path or Baseline, optional
        Instead: the build to hold it against, a system of the scores or a file of `calib gate --save-baseline`.
    margin : float or dict of float, optional
        How much worse than the baseline it may be, score points; with `baseline`. 0 asks for better.
    error : float, default .05
        Probability of a false pass, and of a false fail.
    sequential : bool, default False
        Set it if you buy labels until the gate decides: the interval then holds at every look and takes about twice the
        labels, which must be in the order in which they came. It is on if the ledger has a verdict on this build with
        fewer labels.
    items : DataFrame or path, optional
        All outputs that there should be: one without a score counts as unread. With their texts, labels of outputs
        that this build left as they were carry over from other systems, in a stratum of their own, and in a
        difference they count 0.
    {groups}
    {sessions}
    min_labels : int, default 10
        Labels below which a check is inconclusive.
    max_unread : float, default .05
        Share of outputs without a score above which a check is inconclusive, also of those with a label. An output
        that labels, items, another criterion or another system have and that has no row counts as well.
    ledger : path, optional
        A file of verdicts, to which this one is added.
    certificate : path, optional
        The judge's, of `calib gate-judge`: scores by another judge, prompt, method or scale are refused, and all after
        its last day.
    **columns
        What the columns of your own files are, as for `calib.look`; but for `system`, which is the build here: the
        column of systems is recognised.

    Raises
    ------
    TableError
        If the certificate is of another judge or has ended, or the baseline was judged otherwise or has fewer than 80 %
        of the inputs in common.

    Notes
    -----
    The judge's scores alone are never a verdict: its mean may move where people's does not.

    On a scale with ends the interval allows for gross errors that no label shows (`conservative="gross errors"` of
    `calib.stats.ppi_mean`), so that it may be wider than that of `interval` or `difference`: by 1 to 3 % where the
    judge correlates with people at .5, and the more the less it errs. `paper_repro/gate` has its errors at the
    threshold.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> print(calib.gate(judge, human, system="clean", threshold={"coherence": 3, "fluency": 4}))
    pass: clean
    pass  coherence: 4.736, 90 % CI [4.292, 4.816], above 3 (24 labels, 24 judge scores)
    pass  fluency: 4.569, 90 % CI [4.458, 4.672], above 4 (24 labels, 24 judge scores)
    >>> verdict = calib.gate(judge, human, system="clean", threshold={"coherence": 4.7})
    >>> verdict.outcome, verdict.exit_code
    ('inconclusive', 3)
    """
    if system is not None and not str(system).strip():
        raise ArgumentError("system", "must be a name", "it is empty")
    for table, argument in ((scores, "scores"), (labels, "labels")):
        matching.refuse_lists(table, argument)
    saved = baseline if isinstance(baseline, Baseline) else None
    if isinstance(baseline, Path) or (isinstance(baseline, str) and baseline.endswith((".jsonl", ".json"))):
        saved = Baseline.read(baseline)  # a file, and no system's name
    files = resolve_inputs(scores, labels, cast(Columns, columns), names=("scores", "labels"))
    of_inputs = []
    if files.pairwise:  # which of two is better is a share of a pair, and no build's mean
        rule = "must be scores of a build, as a gate tests no preferences"
        came = "are preferences: `calib leaderboard` ranks the builds, `calib pairwise-agreement` tests the judge"
        raise TableArgumentError("scores", rule, came)
    texts = None if items is None else items_in(items)
    if files.inferred is not None:
        matching.refuse_nameless(files.inferred)
        of_inputs += sure_labels.require_sure_labels(files.inferred, max_unread, texts)
    if files.guessed and files.labels is not None:
        _refuse_two_scales(files.scores, files.labels)
    own = matching.matched_tables(files.scores, files.labels, texts, system)
    groups, who = _shared_by_items(files, groups, baseline), sure_labels.annotators_in(files.annotations)
    if by_session(check.choice(level, "level", LEVELS), turns):
        own, saved, who = _of_sessions(own, saved, who, turns)
    judged, people, other, notes = with_baseline(own.scores, own.labels, saved, baseline)
    thresholds = _thresholds(judged, threshold, margin, other)
    if own.apart and not isinstance(margin if threshold is None else threshold, Mapping):
        criterion, n = next(iter(own.apart.items()))  # whose scores may be lost, which makes it no criterion less
        rule = "must name the criteria where labels have more of them than scores (a dict, in a shell --criterion)"
        raise ArgumentError("threshold" if margin is None else "margin", rule, f"{n} labels are on {criterion!r}")
    of_inputs += sure_labels.more_is_worse(list(thresholds))
    trusted = [] if certificate is None else Certificate.read(certificate).require(judged.frame, list(thresholds))
    name = _name_of_build(judged, system, other)
    if not 0 <= max_unread <= 1:
        raise ArgumentError("max_unread", "must be a share, from 0 to 1", f"got {max_unread!r}")
    if max_unread > MUCH_UNREAD:
        of_inputs.append(f"much_unread: up to {100 * max_unread:g} % of the outputs may have no score and not count")
    least = check.whole(min_labels, "min_labels", least=2)
    options = GateOptions(error_of(error), sequential, least, float(max_unread))
    prints = ({} if own.items is None else text_prints(own.items)) | ({} if saved is None else dict(saved.prints))
    book = None if ledger is None else Ledger.read(ledger)
    builds = [
        Build(pair, people, name, other, prints, groups, thresholds[str(pair.label["criterion"])], options,
              named="system" in judged.frame)
        for pair in _pairs_of_gate(judged, people, list(thresholds), groups)
    ]  # fmt: skip
    who |= {} if saved is None else dict(saved.annotators)
    of_inputs += sure_labels.constant_annotators(files.annotations)
    for build in builds:
        build.annotators, build.guessed = who, bool(files.guessed)
    notes = (*of_inputs, *own.notes, *notes, *_of_outputs(builds, own, judged.frame, saved, files))
    evidence = [evidence_of(build) for build in builds]
    of_labels = "" if people is None else digest_of(people.frame, ("item", "criterion", "rater", "score"))
    counts = {build.criterion: one.check.n_labels for build, one in zip(builds, evidence, strict=True)}
    changes = set() if book is None else book.changes(name, counts, of_labels)
    if 1 in changes and not options.sequential:
        options.sequential = True
        evidence = [evidence_of(build) for build in builds]
    checks = Results.of(settled_checks(builds, evidence, options.error))
    of_scores = digest_of(judged.frame, ("item", "system", "criterion", "rater", "prompt", "method", "score", "n"))
    guessed = f"scale_guessed: the scale, {files.guessed}, was guessed from the scores: give it (scale=, --scale)"
    verdict = Verdict(
        outcome=stats.GateOutcomes(tuple(one.outcome for one in checks), np.array([])).outcome,
        system=name,
        checks=checks,
        asked={
            "threshold": threshold, "baseline": other, "baseline_id": None if saved is None else saved.id,
            "margin": margin, "error": options.error, "sequential": options.sequential,
            "min_labels": min_labels, "max_unread": max_unread,
        },
        digests={"scores": of_scores, "labels": of_labels},
        notes=(*(guessed,) * bool(files.guessed), *(text for sign, text in _LEDGER.items() if sign in changes), *notes,
               *trusted),
        assumptions=own.assumptions,
    )  # fmt: skip
    if book is not None:
        if earlier := book.before(verdict.record()):
            verdict = replace(verdict, notes=(*verdict.notes, f"verdicts_before: {earlier}"))
        book.append(verdict.record() | {"time": datetime.now(UTC).isoformat(timespec="seconds")})
    return verdict


def _of_sessions(
    own: matching.Matched, saved: Baseline | None, who: sure_labels.Annotators, turns: str
) -> tuple[matching.Matched, Baseline | None, sure_labels.Annotators]:
    """The tables and the baseline of sessions, of which the items are turns, and who labelled those."""
    there = all_turns(own.items, own.scores.frame, None if own.labels is None else own.labels.frame)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", check.CalibWarning)
        judged, people = at_sessions(own.scores, own.labels, turns, items=there)
        saved = saved and saved.of_sessions(turns)
    notes = [f"sessions: an item is a session, its score and its label the {turns} of its turns"]
    for one in heard:  # what is left out is told with the verdict, too
        check.warn(str(one.message), one.category)
        notes += [f"inputs: {one.message}"] * issubclass(one.category, check.CalibWarning)
    items = None if own.items is None else session_items(there)
    own = own._replace(scores=judged, labels=people, items=items, notes=(*own.notes, *notes))
    return own, saved, sure_labels.of_their_sessions(who, session_of_each(there))


def _of_outputs(
    builds: Sequence[Build], own: matching.Matched, judged: pd.DataFrame, saved: Baseline | None, files: Inputs
) -> Iterator[str]:
    """Set which outputs of the builds are absent and which labels do not count; give notes."""
    texts = files.inferred.items if own.items is None and files.inferred is not None else own.items
    items, checked = own.items, judged["criterion"].isin([build.criterion for build in builds])
    if items is not None and saved is not None and "system" in items:  # of whom the file has all
        items = items[items["system"] != saved.system]
    for build in builds:
        build.left_out = own.left_out.get(build.criterion, (0, ""))
        for name in filter(None, (build.name, build.other)):
            build.absent[name] = matching.absent_outputs(build, name, items, judged[checked])
    yield from dict.fromkeys(text for build in builds for text in matching.apart_notes(build, judged))
    yield from dict.fromkeys(text for build in builds for text in matching.repeated_texts(build, texts))


# --- the arguments of a gate: which build, which thresholds, compared with what ---------------------------------------


def _thresholds(
    judged: ValidatedTable, threshold: Threshold | None, margin: Threshold | None, other: str | None
) -> dict[str, float]:
    """The threshold of each criterion that is asked about."""
    if (threshold is None) == (other is None):
        came = "neither came" if threshold is None else "both came"
        raise ArgumentError("threshold", "or {0} must be given, and one of them", came, mentions=("baseline",))
    if other is not None and margin is None:
        raise ArgumentError("margin", "must be given with {0} (0 asks for better)", mentions=("baseline",))
    if other is None and margin is not None:
        raise ArgumentError("margin", "must come with {0}", "came alone", mentions=("baseline",))
    values, name = (threshold, "threshold") if other is None else (margin, "margin")
    criteria = list(dict.fromkeys(judged.frame["criterion"].astype(str)))
    if not criteria:
        raise TableArgumentError("scores", "must have rows", "has none")
    by_criterion = dict(values) if isinstance(values, Mapping) else dict.fromkeys(criteria, values)
    if unknown := [one for one in by_criterion if one not in criteria]:
        raise ArgumentError(name, f"must name criteria of the scores ({', '.join(criteria)})", f"got {unknown[0]!r}")
    numbers = {one: float(value) for one, value in by_criterion.items() if value is not None}
    if name == "margin" and (less := [value for value in numbers.values() if not value >= 0]):
        raise ArgumentError("margin", "must be 0 or more", f"got {less[0]:g}")
    if not numbers or not np.isfinite(list(numbers.values())).all():
        raise ArgumentError(name, "must be a finite number for one criterion at least", f"got {values!r}")
    return numbers if other is None else {one: 0.0 - value for one, value in numbers.items()}


def _refuse_two_scales(scores: pd.DataFrame, labels: pd.DataFrame) -> None:
    """Refuse a guessed scale where labels, on whose scale the threshold is, reach another height than scores."""
    reach = [float(table["score"].max()) for table in (labels, scores)]
    if reach[0] > 1 and max(reach) >= UNLIKE * min(reach):  # labels up to 1 are yes and no, whatever the judge's are
        other = "if not, gate the scores that `calibrate` makes of these"
        came = f"labels reach {reach[0]:g} and scores {reach[1]:g}: are they on one scale? ({other})"
        raise ArgumentError("scale", "must be given", came)


def _shared_by_items(files: Inputs, groups: str | None, baseline: Any) -> str | None:
    """The column of what items share, as the tables call it."""
    column = files.named(groups, "groups")
    if baseline is not None and column not in ("group", None):
        rule = "must be left out with {0}: of a difference each input counts once, whatever inputs share"
        raise ArgumentError("groups", rule, f"got {groups!r}", mentions=("baseline",))
    return column


def _name_of_build(judged: ValidatedTable, system: str | None, other: str | None) -> str:
    rows = judged.frame
    there = sorted(map(str, rows["system"].dropna().unique())) if "system" in rows else []
    for name, argument in ((system, "system"), (other, "baseline")):
        if name is not None and there and str(name) not in there:
            rule = f"must be a system of the scores ({', '.join(map(repr, there))})"
            raise TableArgumentError(argument, rule, f"got {name!r}")
    if other is not None and not there:
        rule = "needs a column of who answered in the scores, or a file that `calib gate --save-baseline` wrote"
        raise TableArgumentError("baseline", rule)
    rest = [name for name in there if name != other]
    if system is None and len(rest) > 1:
        raise ArgumentError("system", f"must name the build; the scores are of {', '.join(map(repr, rest))}")
    name = str(system) if system is not None else next(iter(rest), "the build")
    if name == other:
        raise ArgumentError("baseline", "must be another build than {0}", f"both are {name!r}", mentions=("system",))
    return name


def _pairs_of_gate(
    judged: ValidatedTable, people: ValidatedTable | None, criteria: Sequence[str], groups: str | None
) -> list[Pair]:
    """The judge beside people on each criterion that is asked about, whether people labelled it or not."""
    judges = [(label, rows) for label, rows in judged.slices() if str(label["criterion"]) in criteria]
    refuse_several_judges(label for label, _ in judges)
    of_criterion = {str(label["criterion"]): (label, rows) for label, rows in judges}
    shared = set() if people is None else set(people.frame["criterion"].astype(str)) & set(criteria)
    pairs: dict[str, Pair] = {}
    if people is not None and shared:
        mine = judged.only(judged.frame["criterion"].astype(str).isin(shared))
        pairs = {str(pair.label["criterion"]): pair for pair in label_pairs(mine, people, (groups,))}
    elif people is not None and len(people.frame):
        rule = f"must have labels on a criterion that is asked about ({', '.join(criteria)})"
        raise TableArgumentError("labels", rule, f"has {people.holds}")
    for name in criteria:
        if name not in pairs:  # nobody labelled it
            label, rows = of_criterion[name]
            frame = rows.astype({"item": object}).rename(columns={"score": "x"})
            frame = frame.assign(y=np.nan, _merge="left_only").reset_index(drop=True)
            pairs[name] = Pair(label | {"against": ""}, frame)
    return [pairs[name] for name in criteria]


@verb
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
        What the columns of your own files are, as for `calib.look`; without a pilot `scale` is people's scale,
        "1|2|3|4|5" if nothing is said.

    Examples
    --------
    >>> plan = gate_plan(threshold=3.7, n_labels=40, n_items=100, sd=0.99).one()
    >>> round(plan.passes_at, 2), [round(chance, 2) for chance in plan.chances(4.1)]
    (4.08, [0.83, 0.0])
    """
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
        plans = {name: stats.gate_plan(sign * float(value), **options) for name, value in lines.items()}
        return Results.of(({"criterion": name} if name else {}, plan) for name, plan in plans.items())
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    answers = []
    for pair in label_pairs(scores_in(files.scores, "scores"), scores_in(files.labels, "labels")):
        value = threshold.get(str(pair.label["criterion"])) if isinstance(threshold, Mapping) else threshold
        if value is None:
            continue
        ends = ends_of(pair.frame, pair.label, apart=True)
        ends.pop("same_scale", None)
        both = pair.both[pair.both["x"].notna()]
        y, f = both["y"].to_numpy(float), both["x"].to_numpy(float)
        # a difference of two builds has twice the variance
        spread = float(np.std(y, ddof=1)) * (1 if margin is None else np.sqrt(2)) if len(y) > 1 else None
        varies = len(y) > 2 and np.ptp(y) > 0 and np.ptp(f) > 0
        correlation = float(np.corrcoef(y, f)[0, 1]) if varies else 0.5
        items = int((pair.frame["_merge"] != "right_only").sum()) if n_items is None else n_items
        pilot = {"rho": correlation if rho is None else rho, "sd": spread if sd is None else sd, **ends}
        answers.append((pair.label, stats.gate_plan(sign * float(value), n_items=items, **pilot, **options)))
    return Results.of(answers)
