"""One item's score on tables: calibrated, judged as a forecast, as a set of labels, or handed to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.calibration.conformal import one_of_each, sets_of
from calib.analysis.calibration.frames_calibration import Calibration, kept_forecasts
from calib.analysis.calibration.frames_escalation import Rule, check_escalation, escalation_of, verdicts_of, votes_of
from calib.analysis.calibration.frames_file import Bound, with_record
from calib.analysis.calibration.frames_inputs import (
    KINDS,
    beside,
    chance_columns,
    forecasts_of,
    group_of_rows,
    inputs_beside,
    judges_alone,
    judges_of,
    labels_beside,
    prompts_of,
)
from calib.analysis.distributions.frames import weights_by_level
from calib.core import check
from calib.core.check import as_typed
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.table import TableArgumentError, TableError, has_replies, parse_scale
from calib.table.labelled import Labelled, groups_of, labelled_pairs, parts_of, whole_column, with_warnings
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, items_in, ratings_in, renamed_errors, scores_in

# --- calibrate ------------------------------------------------------------------------------------------------------


def calibrate(
    scores: Data,
    labels: Data = None,
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
    labels : table, path or frame, optional
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

    Raises
    ------
    TableError
        If nothing matches, or people's labels are on no scale of up to 25 values.

    Examples
    --------
    >>> import calib
    >>> files = {"judge": [1, 2, 3, 4] * 6, "people": [1, 1, 2, 4, 1, 2, 2, 3, 2, 1, 3, 4] * 2}
    >>> calibration = calib.calibrate(files, scale="1|2|3|4")
    >>> [round(float(mean), 2) for mean in calibration.shown.mean]
    [1.26, 1.77, 2.47, 3.24]
    >>> calibration.apply(files, scale="1|2|3|4")[["score", "conf_low", "conf_high", "p_4"]].head(2).round(2)
       score  conf_low  conf_high   p_4
    0   1.33      1.09       1.99  0.01
    1   1.85      1.49       2.33  0.03
    """
    as_typed(calibrate, locals())
    check.choice(inputs, "inputs", KINDS)
    judge: Any = columns.get("judge")  # a `Judge` or, as everywhere, the name of a column
    if hasattr(judge, "temperature"):
        others: Any = {name: value for name, value in columns.items() if name != "judge"}
        columns = others
    else:
        judge = None
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    labelled = scores_in(files.people, "labels")
    table = judges_alone(scores_in(files.scores, "scores"), labelled)
    judges, group, sent = judges_of(table, inputs), files.named(groups), prompts_of(prompt, table)
    own = {SliceKey.of(label): rows for label, rows in judges.slices()}
    options = {"ridge": ridge, "confidence_level": confidence_level, "annotators": annotators}
    answers = []
    for judged in labelled_pairs(judges, labelled, (group,)):
        rows = own[SliceKey.of(judged.label)]
        read = beside(rows, table, inputs)
        bound = Bound(judged, read.inputs, inputs, group_of_rows(judged, group), group, files.people, sent, judge)
        answers.append(with_record(bound, inputs_beside(read, rows, judged), options))
    names, maps = zip(*answers, strict=True)
    return Calibration(names, maps, table.frame)


# --- the quality of forecasts ---------------------------------------------------------------------------------------


def forecast_quality(
    scores: Data | Calibration,
    labels: Data = None,
    *,
    by: str | None = None,
    groups: str | None = "group",
    floor: float = 0.0,
    confidence_level: float = 0.95,
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
    labels : table, path or frame, optional
        People's labels; each person's label counts, those of one item together as one.
    by : str, optional
        A column of the scores, such as "system": one result for each of its values.
    groups : str or None, default "group"
        The column of what items share (the source document): what intervals and cross-fitting leave out together.
        None: each item is on its own.
    floor, confidence_level
        As for `calib.stats.forecast_quality`.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `by`, `n_unmatched` (labels of items that the
        judge did not score) and `n_unread` (items whose judge score is missing).

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
    >>> print(found)
    RPS skill 0.297, 95 % CI [0.2526, 0.3414], from 936 labels: RPS 0.09657 (shares 0.1372), log score 1.095 \
(shares 1.306)
    """
    as_typed(forecast_quality, locals())
    notes: tuple[str, ...] = ()
    if isinstance(scores, Calibration):
        own = None
        if labels is not None:
            own = resolve_inputs(labels, None, columns, names=("labels",), needs=("label",))
            own = scores_in(own.people, "labels").frame
        scores, labels, notes = kept_forecasts(scores, own)
        columns, groups = {}, groups and "group"
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    judges, labelled = scores_in(files.scores, "scores"), scores_in(files.people, "labels")
    by, groups = files.named(by), files.named(groups)
    ratings = _ratings_in(files.scores)
    replies = (
        {} if ratings is None else {SliceKey.of(label): weights_by_level(rows) for label, rows in ratings.slices()}
    )
    answers = []
    for judged in labelled_pairs(judges, labelled, (by, groups, *chance_columns(judges.frame))):
        forecasts = forecasts_of(judged, replies.get(SliceKey.of(judged.label)))
        for label, part in parts_of(judged.frame, by):
            whole = judged.label | label
            with renamed_errors(whole, p="scores", y="labels"):
                sample, n = labels_beside(judged, forecasts, part, groups, whole)
                result = stats.forecast_quality(**sample, floor=floor, confidence_level=confidence_level)
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": items_in(part[part["x"].isna()])}
            answers.append((whole | counts, with_warnings(replace(result, n=n), (*judged.warnings, *notes))))
    return Results.of(answers)


def _ratings_in(scores: Any) -> ValidatedTable | None:
    """The single replies, where ratings were given."""
    return ratings_in(scores, "scores") if isinstance(scores, pd.DataFrame) and has_replies(scores) else None


# --- sets -----------------------------------------------------------------------------------------------------------


def score_sets(
    scores: Data,
    labels: Data = None,
    *,
    level: float = 0.9,
    by: str | None = None,
    groups: str | None = "group",
    one_per_group: bool = False,
    rng: np.random.Generator | int | None = 0,
    **columns: Unpack[Columns],
) -> Results[stats.ScoreSets]:
    """For every item the labels that people may give, so that this many of the sets hold what they would say.

    Full conformal sets (`calib.stats.full_conformal`), valid whatever the judge is and however few the labels are;
    of a judge with so many distinct scores that the refits would take long the split form, which is said. The promise
    is about items without a label: the set of a labelled one is what another item of the same score would have.

    Parameters
    ----------
    scores : table, path or frame
        A judge's scores (or ratings) of all items; or a file of your own, which may hold the labels, too.
    labels : table, path or frame, optional
        People's labels of a random sample of these items. Of several people the median counts.
    level : float, default 0.9
        How often a set shall hold the label.
    by : str, optional
        A column of the scores, such as "system", or "score" for the judge's score itself: sets hold within each of its
        values, which need 9 labels each at 0.9, 19 at 0.95. Those with fewer are taken together, which is said.
    groups : str or None, default "group"
        The column of what items share (the source document).
    one_per_group : bool, default False
        Take one label per document, drawn at random: sets then hold for items of new documents.
    rng : Generator or int, default 0
        Which label of a document is taken, and which half of the labels is fitted in the split form.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Each with `items`: a frame with the score and the set of each item, in their order. An item whose score could
        not be read has the whole scale.

    Raises
    ------
    TableError
        If nothing matches, or the labelled items were drawn with unequal probabilities.

    Examples
    --------
    >>> import calib, pandas as pd
    >>> file = pd.DataFrame({"judge": [1, 2, 3, 4] * 20, "people": [1, 3, 2, 4, 2, 3, 3, 4] * 5 + [None] * 40})
    >>> found = calib.score_sets(file, judge="judge", label="people", scale="1|2|3|4").one()
    >>> print(found.items.head(4)[["score", "low", "high"]].astype(int).to_string(index=False))
     score  low  high
         1    1     3
         2    2     3
         3    2     4
         4    3     4
    """
    as_typed(score_sets, locals())
    check.probability(level, "level")
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    labelled = scores_in(files.people, "labels")
    judges = judges_alone(scores_in(files.scores, "scores"), labelled)
    by, group = by if by == "score" else files.named(by), files.named(groups)
    items = pd.Index(judges.frame["item"].astype(object).unique())
    answers = []
    for judged in labelled_pairs(judges, labelled, (group, None if by == "score" else by)):
        frame = judged.frame.iloc[np.argsort(items.get_indexer(judged.frame["item"]), kind="stable")]
        x, y = frame["x"], frame["y"]
        if by == "score":  # an item without a score is in none, and gets the whole scale
            cell = x.fillna(x.min()).fillna(0.0).to_numpy()
        else:
            cell = None if by is None else whole_column(frame, by, "by")
        _need_one_chance(frame, cell, judged.label)
        units = None if group is None else groups_of(frame, group)
        if one_per_group:
            if units is None:
                rule = "needs a column of documents (groups=, in a shell --groups)"
                raise TableArgumentError("one_per_group", rule, "there is none")
            y = y.where(one_of_each(units, y.notna() & x.notna(), rng))
        with renamed_errors(judged.label, y="labels", x="scores"):
            sets = sets_of(x, y, level=level, levels=judged.levels, groups=units, by=cell, rng=rng)
        about = {"item": frame["item"].to_numpy()} | {name: judged.label[name] for name in ("criterion", "rater")}
        about |= {name: frame[name].to_numpy() for name in ("group", "system") if name in frame}
        about |= {"label": frame["y"].to_numpy()}
        counts = {"n_unmatched": judged.n_unmatched, "n_unread": sets.n_unread}
        notes = (*judged.warnings, *_unsaid_scale(judged))
        answers.append((judged.label | counts, with_warnings(replace(sets, columns=about), notes)))
    return Results.of(answers)


def _need_one_chance(frame: pd.DataFrame, cell: Any, label: dict[str, Any]) -> None:
    """Labelled items must come in no particular order among the others, within each cell."""
    if "inclusion" not in frame or frame["inclusion"].isna().all() or frame["y"].notna().all():
        return
    chance = frame["inclusion"].astype(float).groupby(np.zeros(len(frame)) if cell is None else cell)
    if ((chance.max() - chance.min()) > 1e-6 * chance.max()).any():
        design = ", ".join(sorted(set(frame["design"].dropna().astype(str)))) if "design" in frame else ""
        raise TableError(
            f"{words(label)}: sets take labels of items that were drawn with one probability, but `choose` drew "
            f"these with several (design {design!r}). Draw with choose(scores, n) or design='groups'; for labels "
            f"of strata type by='stratum'."
        )


def _unsaid_scale(judged: Labelled) -> tuple[str, ...]:
    """Labels beyond those that came are in no set, unless a scale says that they can be."""
    texts = [judged.frame[name].dropna() for name in ("scale", "scale_y") if name in judged.frame]
    if any(parse_scale(str(text)) for column in texts for text in column.unique()):
        return ()
    ends = f"{short(judged.levels[0])} to {short(judged.levels[-1])}"
    return (f"unsaid_scale: no scale is known, so that sets end where labels do ({ends}); of few labels they may miss "
            "what lies beyond: give people's scores the column `scale`",)  # fmt: skip


# --- escalation -----------------------------------------------------------------------------------------------------


def escalate(
    scores: Data,
    labels: Data = None,
    *,
    risk: float = 0.1,
    confidence_level: float = 0.9,
    label_threshold: float | None = None,
    within: float | None = None,
    confidence: str | None = None,
    inputs: str = "score",
    prices: Mapping[str, float] | None = None,
    groups: str | None = "group",
    **columns: Unpack[Columns],
) -> Results[stats.Escalation]:
    """Which items a judge may decide alone, and which are for people, with a guarantee on the judge's errors.

    The promise: drawing the labels again and again, the verdicts that are accepted differ from people's for more than
    `risk` of the items at most 1 - `confidence_level` of the times. It is about the accepted items together.

    Parameters
    ----------
    scores, labels : table, path or frame
        As for `calibrate`; ratings with several draws or token probabilities are votes. The labels must be a random
        sample, of the items or of whole groups, such as `choose` draws.
    risk, confidence_level : float
        As for `calib.stats.accept_threshold`.
    label_threshold : float, optional
        The label from which on an item passes: the verdict is whether people give this or more.
    within : float, optional
        Without `label_threshold`: a verdict is a level, and wrong where people's label (the median) is farther off.
        Default: one step of a scale of more than three values, else 0, as for preferences.
    confidence : {"votes", "calibrated"} or str, optional
        How sure a verdict is. "votes": the share of the draws, of the token probabilities or, with
        ``inputs="raters"``, of the judges that it is right by; the verdict is that of the votes. "calibrated": its
        chance by a map that is learned from the labels (`calibrate`), in folds; the verdict is the likeliest one by
        the map, not the judge's score, so that a lenient judge, or one on another scale, does not err throughout. Or
        a column of the scores, beside the judge's own verdicts (of a number between two levels the nearest). Default:
        votes where there are some that differ.
    inputs : {"score", "criteria", "raters"}, default "score"
        As for `calibrate`; with "raters" all judges decide together.
    prices : mapping, optional
        Of a "label" and of a "judge" score.
    groups : str or None, default "group"
        The column of what items share (the document). Where whole groups were labelled these count, not the labels.
    **columns
        As for `calibrate`.

    Returns
    -------
    Results
        One for each judge and criterion; `.one().accepted` and `.one().people` are frames of the scores, the latter
        for `label`.

    Raises
    ------
    TableError
        If nothing matches, or labels were drawn with unlike chances.

    Examples
    --------
    >>> import calib
    >>> judge = [1, 2, 4, 5] * 60
    >>> files = {"judge": judge, "people": [1, 2, 4, 5, 2, 3, 5, 4] * 15 + [None] * 120}
    >>> print(calib.escalate(files, scale="1|2|3|4|5", label_threshold=4).one())
    240 of 240 items (100 %) may be decided by judges, with 90 % confidence at most 10 % of the verdicts (whether \
people say 4 or more) differ from people's; 0 are for people [warnings: calibrated_confidence]
    """
    as_typed(escalate, locals())
    check.choice(inputs, "inputs", KINDS)
    check_escalation(risk, confidence_level, label_threshold, within, prices)
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    labelled = scores_in(files.people, "labels")
    ratings = _ratings_in(files.scores)
    replies = None if ratings is None else ratings.frame
    table = judges_alone(scores_in(files.scores, "scores"), labelled)
    judges, group, column = judges_of(table, inputs), files.named(groups), files.named(confidence)
    if column in (None, "votes", "calibrated"):
        beside_scores = [*chance_columns(judges.frame)]
    else:
        beside_scores = [column] if column in judges.frame else []
    own = {SliceKey.of(label): rows for label, rows in judges.slices()}
    answers = []
    for judged in labelled_pairs(judges, labelled, (group, *beside_scores)):
        rows = own[SliceKey.of(judged.label)]
        rule = Rule.of(judged, label_threshold, within, pairwise=files.pairwise)
        x = inputs_beside(beside(rows, table, inputs), rows, judged)
        verdicts = verdicts_of(judged, rule, column, votes_of(replies, table, judged, inputs), x, group)
        options: dict[str, Any] = {"risk": risk, "confidence_level": confidence_level, "prices": prices}
        answers.append(escalation_of(judged, rows, rule, verdicts, group, **options))
    return Results.of(answers)
