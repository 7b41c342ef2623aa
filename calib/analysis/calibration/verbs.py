"""One item's score on tables: calibrated, judged as a forecast, as a set of labels, or handed to people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.verbs import weights_by_level
from calib.core import check
from calib.core.check import ArgumentError, as_typed
from calib.intake.entry import given
from calib.intake.taken import Columns, Data
from calib.table import TableError, has_replies
from calib.tables.calibration import Calibration
from calib.tables.calibration_file import Bound, record_of
from calib.tables.calibration_inputs import KINDS, Beside, beside, judges_of
from calib.tables.door import Checked, Who, checked, in_the_names_of, scores_in
from calib.tables.forecasts import chance_columns, forecasts_of
from calib.tables.gold import groups_of, parts_of, with_warnings
from calib.tables.labelled import Labelled, labelled_pairs
from calib.tables.results import Results, words

# --- calibrate ------------------------------------------------------------------------------------------------------


def calibrate(
    scores: Data,
    gold: Data = None,
    *,
    inputs: str = "score",
    ridge: float | None = None,
    groups: str | None = "group",
    annotators: bool = False,
    prompt: Any = None,
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
    annotators : bool, default False
        Each person who labelled has a shift of her own: `apply` then forecasts what a new person says, or one of these
        (``annotator="ann"``), and the result says what is forecast by who rated alone, without the judge.
    prompt : Prompt or sequence of Prompt, optional
        What the scores were asked with: `save` then writes the hash of all that was sent, otherwise of what the table
        knows. A `Judge` as `judge` does the same for its settings (a text there is the name of a column).
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
    >>> files = {"judge": [1, 2, 3, 4] * 6, "people": [1, 1, 2, 4, 1, 2, 2, 3, 2, 1, 3, 4] * 2}
    >>> calibration = calib.calibrate(files, scale="1|2|3|4")
    >>> [round(float(mean), 2) for mean in calibration.shown.mean]
    [1.26, 1.77, 2.47, 3.24]
    >>> calibration.apply(files, scale="1|2|3|4")[["score", "conf_low", "conf_high", "p_4"]].head(2).round(2)
       score  conf_low  conf_high   p_4
    0   1.33      1.10       1.92  0.01
    1   1.85      1.52       2.28  0.03
    """
    as_typed(calibrate, locals())
    check.choice(inputs, "inputs", KINDS)
    judge, columns = _judge_and_columns(columns)
    files = given(scores, gold, columns)
    people = scores_in(files.people, "gold")
    table = _judges_alone(scores_in(files.scores, "scores"), people)
    group = files.named(groups)
    own = {Who.of(label): rows for label, rows in judges_of(table, inputs).slices()}
    asked = {"ridge": ridge, "confidence_level": confidence_level, "annotators": annotators}
    sent: dict[str, Any] = {"prompt": _prompts(prompt, table), "judge": judge}
    answers = []
    for judged in labelled_pairs(judges_of(table, inputs), people, (group,)):
        read = beside(own[Who.of(judged.label)], table, inputs)
        bound = Bound(judged, read.inputs, inputs, _units_of(judged, group), group, files.people, **sent)
        answers.append(_with_record(bound, _aligned(read, own[Who.of(judged.label)], judged), asked))
    return Calibration(*map(tuple, zip(*answers, strict=True)))


def _judge_and_columns(columns: Columns) -> tuple[Any, Columns]:
    """`judge` may be a `Judge` or, as everywhere, name a column."""
    judge: Any = columns.get("judge")
    if not hasattr(judge, "temperature"):
        return None, columns
    rest: Any = {name: value for name, value in columns.items() if name != "judge"}
    return judge, rest


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
        if not hasattr(one, "sha256"):
            raise ArgumentError("prompt", "must be a calib.Prompt or several", f"got {one!r:.60}")
        if one.id not in known:
            given = f"it is {one.id!r}, and the scores are by {', '.join(map(repr, sorted(known)))}"
            raise ArgumentError("prompt", "must be what the scores were asked with", given)
    return prompts


def _units_of(judged: Labelled, group: str | None) -> Any:
    """The group of each labelled item, at its row; None where nothing is known of groups."""
    rows = judged.given["row"].unique()
    found = None if group is None else groups_of(judged.frame.iloc[rows], group)
    if found is None:
        return None
    whole = np.full(len(judged.frame), None, dtype=object)
    whole[rows] = found
    return whole


def _aligned(read: Beside, own: pd.DataFrame, judged: Labelled) -> Any:
    """The inputs in the order of the items beside their labels."""
    place = pd.Index(own["item"].astype(object)).get_indexer(judged.frame["item"])
    return read.x[place]


def _annotators_of(given_: pd.DataFrame, label: dict[str, Any]) -> Any:
    """Who gave each label, of whom there must be two."""
    if given_["annotator"].nunique() < 2:
        rule = "must hold the labels of each of several annotators where {0} is True"
        had = f"has those of {given_['annotator'].iloc[0]!r} alone"
        raise ArgumentError("gold", rule, had, mentions=("annotators",), about=words(label))
    return given_["annotator"].astype(str).to_numpy()


def _with_record(bound: Bound, x: Any, asked: dict[str, Any]) -> tuple[dict[str, Any], stats.CalibrationMap]:
    """One map, what it is about, and its record."""
    judged, given_ = bound.judged, bound.judged.given
    row = given_["row"].to_numpy()
    units = np.asarray(bound.units, dtype=object)[row]
    persons = _annotators_of(given_, judged.label) if asked["annotators"] else None
    with in_the_names_of(judged.label, y="gold", x="scores"):
        found = stats.calibration_map(
            x[row],
            given_["y"],
            levels=judged.levels,
            groups=units,
            weights=given_["weight"],
            **asked | {"annotators": persons},
        )
    n_labels = int(given_.groupby(["row", "annotator"]).ngroups)
    found = with_warnings(replace(found, n_labels=n_labels), judged.warnings)
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["x"].isna().sum())}
    about = replace(bound, judged=replace(judged, label=judged.label | counts))
    return about.judged.label, replace(found, record=record_of(found, about))


# --- the quality of forecasts ---------------------------------------------------------------------------------------


def forecast_quality(
    scores: Data,
    gold: Data = None,
    *,
    by: str | None = None,
    groups: str | None = "group",
    floor: float = 0.0,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: np.random.Generator | int | None = 0,
    **columns: Unpack[Columns],
) -> Results[stats.ForecastQuality]:
    """How well scores foretell what people say of each item, beside their labels' shares without any judge.

    Calibrated scores are judged by their chances, ratings by their token probabilities or shares of draws, other
    scores as numbers, each of which is a forecast that is sure of itself. Of a scale of two values a number between
    them is a chance.

    Parameters
    ----------
    scores : table, path, frame or Calibration
        On people's scale; of a judge on another scale what `calibrate` makes of them. A `Calibration` is judged by
        its own cross-fitted forecasts of the labels that it was fitted to.
    gold : table, path or frame, optional
        People's labels; each person's label counts, those of one item together as one.
    by : str, optional
        A column of the scores, such as "system": one result for each of its values.
    groups : str or None, default "group"
        The column of what items share (the source document): what intervals and cross-fitting leave out together.
        None: each item is on its own.
    floor, confidence_level, n_resamples, rng
        As for `calib.stats.forecast_quality`.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `by`, `n_unmatched` (labels of items that the
        judge did not score) and `n_unread` (labelled items whose judge score is missing).

    Raises
    ------
    TableError
        If nothing matches, a column is not there, or scores are not on people's scale.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> found = calib.forecast_quality(ratings, calib.summarize(people, items)).one()
    >>> print(found.conclusion)
    """
    as_typed(forecast_quality, locals())
    options: dict[str, Any] = {"floor": floor, "confidence_level": confidence_level, "n_resamples": n_resamples}
    files = given(scores, gold, columns)
    judges, people = scores_in(files.scores, "scores"), scores_in(files.people, "gold")
    by, groups = files.named(by), files.named(groups)
    told = _told_in(files.scores)
    answers = []
    for judged in labelled_pairs(judges, people, (by, groups, *chance_columns(judges.frame))):
        forecasts = forecasts_of(judged, told.get(Who.of(judged.label)))
        for label, part in parts_of(judged.frame, by):
            whole = judged.label | label
            with in_the_names_of(whole, p="scores", y="gold"):
                result = stats.forecast_quality(
                    **_labels_beside(judged, forecasts, part, groups, whole), **options, rng=rng
                )
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(part["x"].isna().sum())}
            answers.append((whole | counts, with_warnings(result, judged.warnings)))
    return Results.of(answers)


def _told_in(scores: Any) -> dict[Who, tuple[pd.DataFrame, Any]]:
    """Of ratings how the replies on each item are distributed."""
    if not (isinstance(scores, pd.DataFrame) and has_replies(scores)):
        return {}
    return {Who.of(label): weights_by_level(rows) for label, rows in checked(scores, "ratings", "scores").slices()}


def _labels_beside(
    judged: Labelled, forecasts: Any, part: pd.DataFrame, groups: str | None, label: dict[str, Any]
) -> dict[str, Any]:
    """Each label of a part, with the forecast of its item, its group and its weight."""
    rows = judged.given[judged.given["row"].isin(part.index)]
    if not len(rows):
        raise TableError(f"{words(label)}: scores and gold must share items, but no gold item was scored by the judge.")
    place = rows["row"].to_numpy()
    owner = None if groups is None else groups_of(part, groups)
    unit = place if owner is None else pd.Series(owner, index=part.index).loc[place].tolist()
    weights = rows["weight"].to_numpy()
    return {"p": forecasts[place], "y": rows["y"], "levels": judged.levels, "groups": unit, "weights": weights}


# --- sets -----------------------------------------------------------------------------------------------------------


# --- escalation -----------------------------------------------------------------------------------------------------
