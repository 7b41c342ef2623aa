"""Parts of a report from a look at a user's files: all that can be computed from them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.analysis.agreement import frames as agreements
from calib.analysis.agreement.coefficients import LEVEL_WORDS
from calib.analysis.bias import frames as biases
from calib.analysis.calibration import frames as calibrations, frames_escalation
from calib.analysis.distributions import frames as distributions
from calib.analysis.means import frames as means
from calib.analysis.means.display import thing_of
from calib.analysis.pairs import frames as pairs
from calib.analysis.verdicts import frames as verdicts
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.numeric import adjusted_p_values
from calib.inputs.availability import MOST_IN_PAIRS, Can
from calib.inputs.look import Look, look
from calib.inputs.names import InferredTables
from calib.inputs.resolve import is_file
from calib.inputs.tables import infer_tables
from calib.table.results import Results
from calib.table.validate import SliceKey

Part = tuple[str, Any]
_ESTIMATORS = ("labels", "judge_only", "auto")  # people alone, the judge alone, both
BEFORE = "Before you use these numbers"
_MEANS, _DIFFERENCES = "Mean human score", "Differences between systems"
_OF_AGREEMENT = ("coefficient", "method", "confidence_level")


class _Section(NamedTuple):
    """The section of a report for one verb."""

    verbs: Any  # the module that has it
    head: str
    options: Sequence[str] | None = ("confidence_level",)  # those of a report that it takes; None: all
    quiet: bool = True  # its warnings stand on the page, below the results


_SECTIONS = {
    "agreement": _Section(agreements, "Agreement with people", _OF_AGREEMENT, quiet=False),
    "rank_judges": _Section(agreements, "Judges compared", _OF_AGREEMENT, quiet=False),
    "reliability": _Section(agreements, "How far people agree with each other", None, quiet=False),
    # the confidence level of intervals is not the level of these guarantees
    "calibrate": _Section(calibrations, "What a score means"),
    "score_sets": _Section(calibrations, "The labels that people may give", ()),
    "escalate": _Section(frames_escalation, "What the judge may decide alone", ()),
    "pass_fail": _Section(verdicts, "Pass and fail"),
    "bias": _Section(biases, "What the judge rewards besides quality"),
    "pairwise_agreement": _Section(pairs, "The judge's verdicts on pairs beside people's"),
    "leaderboard": _Section(pairs, "Leaderboard"),
    "profile": _Section(distributions, "How the judge uses its scale, and items that deserve a look", (), quiet=False),
}
_ANSWERED = {*_SECTIONS, "interval", "difference"}


def expanded(results: Any, options: Mapping[str, Any]) -> Any:
    """What a report is of: a look at files, or a file, becomes all that can be computed from it."""
    named = isinstance(results, str) and not any(map(str.isspace, results)) and is_file(results)
    if named or isinstance(results, Path):
        results = look(results)
    if isinstance(results, pd.DataFrame):
        what = "is one frame: give `calib.look(frame)` for all that can be computed from it, `[frame]` for its rows"
        raise ArgumentError("results", "must say what a frame is for", what)
    if isinstance(results, Look):
        return report_parts(results, **options)
    if wanted := [name for name, value in options.items() if value is not None]:
        raise ArgumentError(wanted[0], "is of a file or a look at files", "{0} are computed", mentions=("results",))
    return results


def report_parts(look: Look, *, by: str | None = None, **options: Any) -> list[Part]:
    """Headings and what stands below them, for `calib.report`; `options` go to the questions that they are about.

    `by` is a column of the scores: intervals for each of its values, beside those that were recognised.
    """
    named = {one.column: one.role for one in look.columns if one.role in ("system", "group", "criterion")}
    by = named.get(by or "", by)  # by the name that it has in the file
    if by is not None and (look.scores is None or by not in look.scores):
        raise ArgumentError("by", "must be a column of the scores", f"got {by!r}")
    options = {name: value for name, value in options.items() if value is not None}
    parts: list[Part] = [(BEFORE, "\n\n".join(look.notes))] if look.notes else []
    for can in (one for one in look.can if "estimator" not in one.options):  # that of a judge alone is beside people's
        if can.possible and can.verb in _ANSWERED:
            parts += _parts_of_question(look, can, options)
        elif can.verb == "interval" and not can.options:  # people and judge alone, where they are too few for both
            parts += _intervals(look, _of_all(look), options)
    if by is not None and by != "system":
        parts += _intervals(look, _of_all(look, by=by), options)
    if not any(isinstance(part, Results) for _, part in parts):
        reasons = "; ".join(dict.fromkeys(one.why for one in look.can if not one.possible))
        raise ArgumentError("results", "must hold something that can be computed", reasons)
    if look.scores is not None:
        parts += _parts_of_question(look, Can(_SECTIONS["profile"].head, "profile", possible=True, why=""), options)
    missing = [can for can in look.can if not can.possible and can.verb in _ANSWERED and "estimator" not in can.options]
    if missing:
        parts.append(("What could not be computed", "\n\n".join(f"{can.what}: {can.why}." for can in missing)))
    return [*parts, *[("How the columns were read", look.to_frame())] * bool(look.columns)]


def _parts_of_question(look: Look, can: Can, options: Mapping[str, Any]) -> list[Part]:
    """The parts of one question; an error that counting did not foresee stands in its place."""
    answer = {"interval": _intervals, "difference": _differences}.get(can.verb, _section_results)
    try:
        return answer(look, can, options)
    except ValueError as error:
        if isinstance(error, ArgumentError) and error.argument in options:
            raise
        return [("", f"{can.what}: {error}")]


def _section_results(look: Look, can: Can, options: Mapping[str, Any]) -> list[Part]:
    section, head, tables = _SECTIONS[can.verb], _SECTIONS[can.verb].head, _of(look, can)
    used = options if section.options is None else _subset(options, *section.options)
    if can.verb == "agreement":
        used = {"level": can.options.get("level", "item"), **used}
        head = f"{head} {LEVEL_WORDS[used['level']]}"
    elif can.verb == "reliability":
        judged = () if tables.scores is None else tables.scores["criterion"].astype(str).unique()
        if set(judged) != set(can.criteria):  # people stand alone, or a criterion without a judge would be missing
            tables = replace(tables, scores=None)
    elif can.verb == "profile":
        tables = replace(look.intake, notes=(), scale_warnings=())
    elif section.verbs is pairs:  # from the pairs as they are: the tables of a look have win rates
        tables = infer_tables(*look.intake.sources, in_pairs=True, **look.intake.options)
    with warnings.catch_warnings():
        if section.quiet:
            warnings.simplefilter("ignore", check.CalibWarning)
        results = getattr(section.verbs, can.verb)(tables, **used)
    if can.verb == "agreement":  # a judge with one score for all has none
        each = zip(results.labels, results, strict=True)
        results = Results.of(pair for pair in each if not math.isnan(pair[1].estimate))
    return [(head, results)]


def _of_all(look: Look, **options: Any) -> Can:
    """The question for the mean of all criteria, whether it can be answered or not."""
    criteria = () if look.labels is None else tuple(look.labels["criterion"].astype(str).unique())
    return Can("", "interval", possible=False, why="", options=options, criteria=criteria)


def _of(look: Look, can: Can) -> InferredTables:
    """The tables, with the criteria that this can be computed for and without notes, which stand in one place."""
    frames = (look.scores, look.annotations, look.labels)
    kept = [None if f is None else f[f["criterion"].astype(str).isin(can.criteria)] for f in frames]
    scores, people, gold = (frame if frame is not None and len(frame) else None for frame in kept)
    return replace(look.intake, scores=scores, annotations=people, labels=gold, notes=(), scale_warnings=())


def _subset(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


def _intervals(look: Look, can: Can, options: Mapping[str, Any]) -> list[Part]:
    """Means by labels, by the judge and by both, or why there is none."""
    parts, trouble = [], {}
    tables = _of(look, can)
    estimators: list[str] = []
    if tables.scores is not None and tables.labels is not None:
        # a judge on a scale of its own has no mean that could stand beside that of people
        apart = set(tables.scores["scale"].astype(str)) != set(tables.labels["scale"].astype(str))
        estimators = [name for name in _ESTIMATORS if not (apart and name == "judge_only")]
    for name in estimators:
        try:
            results = means.interval(tables, estimator=name, **can.options, **_subset(options, "confidence_level"))
        except ValueError as error:
            trouble[str(error)] = name
        else:
            each = zip(results.labels, results, strict=True)
            parts.append(Results.of(pair for pair in each if not math.isnan(pair[1].interval.low)))
    if all(result.estimator == "judge_only" for results in parts for result in results):
        return []
    # people alone stand once: where the judge adds nothing, as `calib interval` reads them
    everything = sum(parts[1:], parts[0])
    things = list(map(thing_of, everything.labels))
    last = {thing: k for k, thing in enumerate(things)}
    kept = [
        (everything.labels[k], r)
        for k, r in sorted(enumerate(everything), key=lambda pair: things.index(things[pair[0]]))
        if r.estimator == "judge_only" or k == last[things[k]] or everything[last[things[k]]].uses_judge
    ]
    head, by = "Win rate" if look.intake.pairwise else _MEANS, can.options.get("by")
    reasons = [("", f"No interval ({name}): {words}") for words, name in trouble.items()]
    return [(f"{head}{f', by {by}' * bool(by)}", Results.of(kept)), *reasons]


def _differences(look: Look, can: Can, options: Mapping[str, Any]) -> list[Part]:
    """Each system with each other, of many the first with each; p-values are adjusted over all of them, by Holm."""
    few = len(can.systems) <= MOST_IN_PAIRS
    both = combinations(can.systems, 2) if few else ((can.systems[0], None),)
    level = _subset(options, "confidence_level")
    parts = [means.difference(_of(look, can), None, a, b, **level) for a, b in both]
    results = sum(parts[1:], parts[0])
    labels = [dict(label) for label in results.labels]
    who = [SliceKey.of(label) for label in labels]  # one judge and criterion
    for one in dict.fromkeys(who) if len(set(who)) < len(who) else ():
        places = [place for place, other in enumerate(who) if other == one]
        p = adjusted_p_values(np.array([results[place].p_value for place in places]), "holm")
        for place, value in zip(places, p, strict=True):
            labels[place]["p_adjusted"] = float(value)
    return [(_DIFFERENCES, Results(tuple(labels), results.results))]
