"""From a look at files of one's own to the parts of a report: all that it says can be computed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.analysis.agreement import frames as agreements
from calib.analysis.bias import frames as biases
from calib.analysis.calibration import frames as calibrations
from calib.analysis.distributions import frames as distributions
from calib.analysis.means import frames as means
from calib.analysis.pairs import frames as pairs
from calib.analysis.verdicts import frames as verdicts
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.numeric import adjusted
from calib.inputs.availability import MOST_IN_PAIRS, Can
from calib.inputs.look import Look, look
from calib.inputs.names import Intake
from calib.inputs.resolve import is_file
from calib.inputs.tables import taken_in
from calib.table.results import Results
from calib.table.validate import Who

if TYPE_CHECKING:
    import pandas as pd

Part = tuple[str, Any]
_ESTIMATORS = ("classical", "judge_only", "auto")  # people alone, the judge alone, both
_HEADS = {
    "interval": "Mean human score", "difference": "Differences between systems", "rank_judges": "Judges compared",
    "reliability": "Reliability of people, and the ceiling that it sets",
    "profile": "How the judge uses its scale, and the items that deserve a look",
    "pass_fail": "Pass and fail", "bias": "What moves the judge beyond quality", "leaderboard": "Leaderboard",
    "pairwise_agreement": "The judge's verdicts on pairs beside people's",
    "calibrate": "What a score means", "score_sets": "Sets of labels", "escalate": "What the judge may decide alone",
}  # fmt: skip


def expanded(results: Any) -> Any:
    """What a report is of: a look at files, or a file, becomes all that can be computed from it."""
    named = isinstance(results, str) and not any(map(str.isspace, results)) and is_file(results)
    if named or isinstance(results, Path):
        results = look(results)
    return parts_of(results) if isinstance(results, Look) else results


def parts_of(look: Look, *, by: str | None = None, **options: Any) -> list[Part]:
    """Headings and what stands below them, for `calib.report`.

    Parameters
    ----------
    look : Look
    by : str, optional
        A column of the scores: intervals for each of its values, beside those that were recognised.
    **options
        `coefficient`, `method`, `confidence_level`, for the questions that they are about.
    """
    named = {one.column: one.role for one in look.columns if one.role in ("system", "group", "criterion")}
    by = named.get(by or "", by)  # by the name that it has in the file
    if by is not None and (look.scores is None or by not in look.scores):
        raise ArgumentError("by", "must be a column of the scores", f"got {by!r}")
    asked = {name: value for name, value in options.items() if value is not None}
    parts: list[Part] = [("To be minded", "\n\n".join(look.notes))] if look.notes else []
    for can in look.can:
        if can.possible and can.verb in _ANSWERS:
            parts += _answered(look, can, asked)
        elif can.verb == "interval" and not can.options:  # people and judge alone, where they are too few for both
            parts += _intervals(look, _of_all(look), asked)
    if by is not None and by != "system":
        parts += _intervals(look, _of_all(look, by=by), asked)
    if not any(isinstance(part, Results) for _, part in parts):
        reasons = "; ".join(dict.fromkeys(one.why for one in look.can if not one.possible))
        raise ArgumentError("results", "must hold something that can be computed", reasons)
    if look.scores is not None:
        parts += _answered(look, Can(_HEADS["profile"], "profile", possible=True, why=""), asked)
    return [*parts, *_left_out(look), *_taken(look)]


def _answered(look: Look, can: Can, asked: Mapping[str, Any]) -> list[Part]:
    """The parts of one question; what counting did not see coming is no reason to be without the others."""
    try:
        return list(_ANSWERS[can.verb](look, can, asked))
    except ValueError as error:
        if isinstance(error, ArgumentError) and error.argument in asked:
            raise
        return [("", f"{can.what}: {error}")]


def _of_all(look: Look, **options: Any) -> Can:
    """The mean for all criteria, whether it can be computed or not."""
    criteria = () if look.gold is None else tuple(look.gold["criterion"].astype(str).unique())
    return Can("", "interval", possible=False, why="", options=options, criteria=criteria)


def _of(look: Look, can: Can) -> Intake:
    """The tables of the criteria that it can be computed for; of what looks wrong the report tells in one place."""
    scores, people, gold = (_with_criteria(frame, can.criteria) for frame in (look.scores, look.people, look.gold))
    return replace(look.intake, scores=scores, people=people, gold=gold, notes=(), apart=())


def _with_criteria(frame: pd.DataFrame | None, criteria: Sequence[str]) -> pd.DataFrame | None:
    if frame is None:
        return None
    kept = frame[frame["criterion"].astype(str).isin(criteria)]
    return kept if len(kept) else None


def _only(asked: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: asked[name] for name in names if name in asked}


def _agreements(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    level = can.options.get("level", "item")
    options = _only(asked, "coefficient", "method", "confidence_level")
    found = agreements.agreement(_of(look, can), level=level, **options)
    pairs = zip(found.labels, found, strict=True)  # a judge with one score for all has none
    yield f"Agreement, level {level}", Results.of(pair for pair in pairs if not math.isnan(pair[1].estimate))


def _rankings(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    options = _only(asked, "coefficient", "method", "confidence_level")
    yield _HEADS[can.verb], agreements.rank_judges(_of(look, can), **options)


def _reliabilities(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    tables = _of(look, can)
    judged = () if tables.scores is None else tables.scores["criterion"].astype(str).unique()
    if set(judged) != set(can.criteria):  # people stand alone, or a criterion without a judge would be missing
        tables = replace(tables, scores=None)
    yield _HEADS[can.verb], agreements.reliability(tables, **asked)


def _one_by_one(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    """What is said of each item; a confidence level of intervals is not that of a promise."""
    options = _only(asked, "confidence_level") if can.verb == "calibrate" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", check.CalibWarning)  # they stand on the page, below the results
        found = getattr(calibrations, can.verb)(_of(look, can), **options)
    yield _HEADS[can.verb], found


def _verdicts(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", check.CalibWarning)
        found = verdicts.pass_fail(_of(look, can), **_only(asked, "confidence_level"))
    yield _HEADS[can.verb], found


def _favour(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", check.CalibWarning)
        found = biases.bias(_of(look, can), **_only(asked, "confidence_level"))
    yield _HEADS[can.verb], found


def _of_preferences(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    """From the pairs as they are: the tables of a look have win rates."""
    sources, said = look.intake.sources, look.intake.said
    taken = taken_in(sources[0], sources[1] if len(sources) > 1 else None, in_pairs=True, **said)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", check.CalibWarning)
        found = getattr(pairs, can.verb)(taken, **_only(asked, "confidence_level"))
    yield _HEADS[can.verb], found


def _profiles(look: Look, can: Can, _: Mapping[str, Any]) -> Iterator[Part]:
    yield _HEADS[can.verb], distributions.profile(replace(look.intake, notes=(), apart=()))


def _intervals(look: Look, can: Can, asked: Mapping[str, Any]) -> list[Part]:
    """Gold only, judge only and both, or why there is none."""
    found, trouble = [], {}
    options = dict(can.options) | _only(asked, "confidence_level")
    tables = _of(look, can)
    both = tables.scores is not None and tables.gold is not None
    for name in _estimators(tables.scores, tables.gold) if both else ():
        try:
            found.append(_with_intervals(means.interval(tables, estimator=name, **options)))
        except ValueError as error:
            trouble[str(error)] = name
    if all(result.estimator == "judge_only" for results in found for result in results):
        return []
    head, by = "Win rate" if look.intake.pairwise else _HEADS["interval"], can.options.get("by")
    said = [("", f"No interval ({name}): {words}") for words, name in trouble.items()]
    return [(f"{head}{f', by {by}' * bool(by)}", sum(found[1:], found[0])), *said]


def _estimators(scores: pd.DataFrame, gold: pd.DataFrame) -> list[str]:
    """A judge on a scale of its own has no mean that could stand beside that of people."""
    apart = set(scores["scale"].astype(str)) != set(gold["scale"].astype(str))
    return [name for name in _ESTIMATORS if not (apart and name == "judge_only")]


def _with_intervals(results: Results[Any]) -> Results[Any]:
    """Those that have one."""
    pairs = zip(results.labels, results, strict=True)
    return Results.of(pair for pair in pairs if not math.isnan(pair[1].interval.low))


def _differences(look: Look, can: Can, asked: Mapping[str, Any]) -> Iterator[Part]:
    """Each system with each other, of many the first with each; p-values are adjusted over all of them."""
    options = _only(asked, "confidence_level")
    few = len(can.systems) <= MOST_IN_PAIRS
    pairs = combinations(can.systems, 2) if few else ((can.systems[0], None),)
    found = [means.difference(_of(look, can), None, a, b, **options) for a, b in pairs]
    yield _HEADS[can.verb], _adjusted(sum(found[1:], found[0]))


def _adjusted(results: Results[Any]) -> Results[Any]:
    """With the p-values of one judge and criterion adjusted together, by Holm."""
    labels = [dict(label) for label in results.labels]
    who = [Who.of(label) for label in labels]
    for one in dict.fromkeys(who) if len(set(who)) < len(who) else ():
        places = [place for place, other in enumerate(who) if other == one]
        p = adjusted(np.array([results[place].p_value for place in places]), "holm")
        for place, value in zip(places, p, strict=True):
            labels[place]["p_adjusted"] = float(value)
    return Results(tuple(labels), results.results)


def _left_out(look: Look) -> list[Part]:
    """What there is no section of, and why."""
    reasons = [f"{one.what}: {one.why}." for one in look.can if not one.possible and one.verb in _ANSWERS]
    return [("What could not be computed", "\n\n".join(reasons))] if reasons else []


def _taken(look: Look) -> list[Part]:
    return [("What the columns were taken for", look.to_frame())] if look.columns else []


_ANSWERS = {
    "interval": _intervals,
    "difference": _differences,
    "agreement": _agreements,
    "rank_judges": _rankings,
    "reliability": _reliabilities,
    "calibrate": _one_by_one,
    "score_sets": _one_by_one,
    "escalate": _one_by_one,
    "pass_fail": _verdicts,
    "bias": _favour,
    "pairwise_agreement": _of_preferences,
    "leaderboard": _of_preferences,
    "profile": _profiles,
}
