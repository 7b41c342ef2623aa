"""One item's score on tables: calibrated, judged as a forecast, as a set of labels, or handed to people."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.verbs import weights_by_level
from calib.core.check import as_typed
from calib.intake.entry import given
from calib.intake.taken import Columns, Data
from calib.table import TableError, has_replies
from calib.tables.door import Who, checked, in_the_names_of, scores_in
from calib.tables.forecasts import chance_columns, forecasts_of
from calib.tables.gold import groups_of, parts_of, with_warnings
from calib.tables.labelled import Labelled, labelled_pairs
from calib.tables.results import Results, words

# --- calibrate ----------------------------------------------------------------------------------------------------------


# --- the quality of forecasts ------------------------------------------------------------------------------------------


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
                result = stats.forecast_quality(**_labels_beside(judged, forecasts, part, groups, whole), **options, rng=rng)
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
    asked = {"groups": unit, "items": place, "weights": weights}
    return {"p": forecasts[place], "y": rows["y"], "levels": judged.levels} | asked



# --- sets ---------------------------------------------------------------------------------------------------------------


# --- escalation ---------------------------------------------------------------------------------------------------------
