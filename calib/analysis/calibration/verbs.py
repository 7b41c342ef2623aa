"""One item's score on tables: calibrated, judged as a forecast, as a set of labels, or handed to people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.intake.entry import given
from calib.intake.taken import Columns, Data
from calib.tables.calibration import Calibration
from calib.tables.calibration_file import Bound, record_of
from calib.tables.calibration_inputs import KINDS, Beside, beside, judges_of
from calib.tables.door import Checked, Who, in_the_names_of, scores_in
from calib.tables.gold import groups_of, with_warnings
from calib.tables.labelled import Labelled, labelled_pairs

# --- calibrate -------------------------------------------------------------------------------------------------------


def calibrate(
    scores: Data,
    gold: Data = None,
    *,
    inputs: str = "score",
    ridge: float | None = None,
    groups: str | None = "group",
    annotators: bool = False,
    prompt: Any = None,
    judge: Any = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Calibration:
    """Learn from people's labels what each score of a judge means: the chance of each label that they would give.

    A ridge proportional odds map for each criterion, rater, prompt, method and temperature, cross-fitted by document:
    `apply` scores a document whose labels were used with the map that has not seen them. The judge may be on any scale.

    Parameters
    ----------
    scores : table, path or frame
        A judge's scores (or ratings) of the labelled items, and of others; or a file of your own, which may hold the
        labels, too.
    gold : table, path or frame, optional
        People's labels of some of these items, of one or several annotators, on a scale of up to 25 values. A mean
        between two values counts for both.
    inputs : {"score", "criteria", "raters"}, default "score"
        What the map reads: the judge's score; with "criteria" also its scores on the other criteria; with "raters"
        the mean of all judges and each of them. Whether more than the first is worth it, cross-validation says.
    ridge : float, optional
        As for `calib.stats.calibration_map`; default: by cross-validation.
    groups : str or None, default "group"
        The column of what items share (the source document): folds and resamples keep it whole. None, or where there
        is no such column: each item is on its own.
    prompt : Prompt or sequence of Prompt, optional
    judge : Judge, optional
        What the scores were asked with. The file then has the hash of all that was sent, and of the judge's settings;
        otherwise it has what the table knows.
    confidence_level : float, default 0.95
        Of the interval of the map.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Calibration

    Raises
    ------
    TableError
        If nothing matches, or people's labels are on no scale of up to 25 values.
    ValueError
        If no labelled item has a score.

    Examples
    --------
    >>> import calib
    >>> files = {"judge": [1, 2, 3, 4] * 5, "people": [1, 3, 2, 4, 2] * 4}
    >>> print(calib.calibrate(files, scale="1|2|3|4"))
    """
    as_typed(calibrate, locals())
    check.choice(inputs, "inputs", KINDS)
    files = given(scores, gold, columns)
    people = scores_in(files.people, "gold")
    table = _judges_alone(scores_in(files.scores, "scores"), people)
    group = files.named(groups)
    own = {Who.of(label): rows for label, rows in judges_of(table, inputs).slices()}
    asked = {"ridge": ridge, "confidence_level": confidence_level}
    sent = {"prompt": _prompts(prompt, table), "judge": judge}
    answers = []
    for judged in labelled_pairs(judges_of(table, inputs), people, (group,)):
        read = beside(own[Who.of(judged.label)], table, inputs)
        bound = Bound(judged, read.inputs, inputs, _units_of(judged, group), group, files.people, **sent)
        answers.append(_calibrated(bound, _aligned(read, own[Who.of(judged.label)], judged), asked))
    return Calibration(*map(tuple, zip(*answers, strict=True)))


def _judges_alone(judges: Checked, people: Checked) -> Checked:
    """Without people, who are no judges of themselves; what was calibrated before is said."""
    theirs = {(label["criterion"], label["rater"]) for label, _ in people.slices()}
    own = [pair not in theirs for pair in zip(judges.frame["criterion"], judges.frame["rater"], strict=True)]
    if "calibration" in judges.frame and judges.frame["calibration"].notna().any():
        check.warn(
            "calibrated_again: these scores are calibrated already; labels that were used then say little now, and the "
            "folds of then are not those of now"
        )
    return judges.only(own)


def _prompts(prompt: Any, table: Checked) -> tuple[Any, ...]:
    """The prompts that were sent, each of which some scores must be by."""
    prompts = () if prompt is None else tuple(prompt) if isinstance(prompt, Iterable) else (prompt,)
    known = set(table.frame["prompt"].astype(str))
    for one in prompts:
        if one.id not in known:
            given = f"it is {one.id!r}, and the scores are by {', '.join(map(repr, sorted(known)))}"
            raise ArgumentError("prompt", "must be what the scores were asked with", given)
    return prompts


def _units_of(judged: Labelled, group: str | None) -> Any:
    return None if group is None else groups_of(judged.frame, group)


def _aligned(read: Beside, own: pd.DataFrame, judged: Labelled) -> Any:
    """The inputs in the order of the items beside their labels."""
    place = pd.Index(own["item"].astype(object)).get_indexer(judged.frame["item"])
    return read.x[place]


def _calibrated(bound: Bound, x: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], stats.CalibrationMap]:
    """One map, what it is about, and its record."""
    judged, given_ = bound.judged, bound.judged.given
    row = given_["row"].to_numpy()
    units = np.asarray(bound.units, dtype=object)[row]
    with in_the_names_of(judged.label, y="gold", x="scores"):
        found = stats.calibration_map(
            x[row], given_["y"], levels=judged.levels, groups=units, weights=given_["weight"], **asked
        )
    n_labels = int(given_.groupby(["row", "annotator"]).ngroups)
    found = with_warnings(replace(found, n_labels=n_labels), judged.warnings)
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["x"].isna().sum())}
    about = replace(bound, judged=replace(judged, label=judged.label | counts))
    return about.judged.label, replace(found, record=record_of(found, about))


# --- the quality of forecasts ----------------------------------------------------------------------------------------


# --- sets ------------------------------------------------------------------------------------------------------------


# --- escalation ------------------------------------------------------------------------------------------------------
