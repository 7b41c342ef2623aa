"""Verbs on the score of one item: calibrated, judged as a forecast of labels, as a set of labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.calibration import frames_calibration as maps
from calib.analysis.calibration.conformal import one_of_each, sets_of
from calib.analysis.calibration.frames_calibration import Calibration
from calib.analysis.calibration.frames_file import record_of
from calib.analysis.distributions.frames import weights_by_level
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.table import TableArgumentError, TableError, has_replies, labelled as beside, parse_scale
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import Labelled, labelled_pairs
from calib.table.results import Results, words
from calib.table.validate import SliceKey, items_in, ratings_in, renamed_errors, scores_in

_FIRST = (
    "calibrate it first, and judge the calibration, which forecasts each label by a map that has not seen it: "
    "calib.forecast_quality(calib.calibrate(scores, labels)), or in a shell `calib calibrate FILE --save judge.json` "
    "and `calib forecast-quality judge.json`"
)


@verb
def calibrate(
    scores: Data,
    labels: Data = None,
    *,
    inputs: str = "score",
    ridge: float | None = None,
    by: str | None = None,
    groups: str | None = "group",
    annotators: bool = False,
    prompt: Any = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Calibration:
    """Learn from people's labels what each score of a judge means: the chance of each label that they would give.

    A ridge proportional odds map for each criterion, rater, prompt, method and temperature, cross-fitted by document:
    `apply` scores a document whose labels were used with the map that has not seen them. Its skill comes first: how
    well these maps foretell labels that they have not seen, beside the labels' own shares.

    Parameters
    ----------
    {scores}
    labels : table, path or frame, optional
        People's labels of some of these items, of one or several annotators, on a scale of up to 25 values. A mean
        between two values counts for both.
    inputs : {"score", "criteria", "raters"}, default "score"
        What the map reads: the judge's score; with "criteria" also its scores on the other criteria; with "raters"
        the mean of all judges and each of them. Whether more than the first is worth it, cross-validation says.
    ridge : float, optional
        As for `calib.stats.calibration_map`; default: by cross-validation.
    by : str, optional
        A column of the scores: a map for each of its values, from labels of its own; `apply` needs the column, too.
    groups : str or None, default "group"
        The column of what items share (the source document): folds and resamples keep it whole. None, or where there
        is no such column: each item is on its own.
    annotators : bool, default False
        Each person who labelled has a shift of her own: `apply` then forecasts what a new person says, or one of these
        (``annotator="ann"``), and the result says what is forecast by who rated alone, without the judge.
    prompt : Prompt or sequence of Prompt, optional
        What the scores were asked with: `save` then writes the hash of all that was sent, otherwise of what the table
        knows. A `Judge` as `judge` does the same for its settings (a text there is the name of a column).
    {confidence_level}
    {columns}

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
    check.choice(inputs, "inputs", maps.KINDS)
    is_judge = hasattr(columns.get("judge"), "temperature")  # a `Judge`, not as everywhere the name of a column
    judge: Any = columns.pop("judge") if is_judge else None
    files, table, labelled = maps.judges_and_labels(scores, labels, columns)
    judges, column, by = maps.judges_of(table, inputs), files.named(groups, "groups"), files.named(by, "by")
    prompts = () if prompt is None else tuple(prompt) if isinstance(prompt, Iterable) else (prompt,)
    ids = set(table.frame["prompt"].astype(str))
    for one in prompts:
        if not hasattr(one, "sha256"):
            raise ArgumentError("prompt", "must be a calib.Prompt or several", f"got {one!r:.60}")
        if one.id not in ids:
            got = f"it is {one.id!r}, and the scores are by {', '.join(map(repr, sorted(ids)))}"
            raise ArgumentError("prompt", "must be what the scores were asked with", got)
    own = {SliceKey.of(label): rows for label, rows in judges.slices()}
    options = {"ridge": ridge, "confidence_level": confidence_level}
    answers, refused = [], []
    for judged in labelled_pairs(judges, labelled, (column, by)):
        rows = own[SliceKey.of(judged.label)]
        x, read = maps.map_inputs(rows, table, inputs)
        values = maps.in_order(x, rows, judged)
        for place, part in beside.parts_of_labelled(judged, by):
            try:
                fit, units = _fitted(part, values[place], column, annotators=annotators, **options)
            except ArgumentError as error:  # of one segment alone: too few labels
                if by is None or error.argument not in ("labels", "scores"):
                    raise
                refused.append(error)
                continue
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(part.frame["x"].isna().sum())}
            about = replace(part, label=part.label | counts)
            bound = {"groups": units, "group_column": column, "annotations": files.annotations, "by": by}
            record = record_of(fit, about, inputs=read, kind=inputs, prompts=prompts, judge=judge, **bound)
            answers.append((about.label, replace(fit, record=record)))
    kept = Results.of(answers, refused)
    return Calibration(kept.labels, kept.results, table.frame)


def _fitted(
    judged: Labelled, x: Floats, column: str | None, *, annotators: bool, **options: Any
) -> tuple[stats.CalibrationMap, Any]:
    """The map of one judge, from each label of its items, and the group of each labelled item, at its row, if any."""
    labels, n, groups = judged.labels, len(judged.frame), None
    row, persons, units = labels["row"].to_numpy(), None, judged.frame["item"].to_numpy(dtype=object)
    rows = labels["row"].unique()
    if column is not None and (labelled_groups := beside.groups_of(judged.frame.iloc[rows], column)) is not None:
        units = groups = np.full(n, None, dtype=object)
        groups[rows] = labelled_groups
    if annotators:
        if labels["annotator"].nunique() < 2:
            rule = "must hold the labels of each of several annotators where {0} is True"
            alone = f"has those of {labels['annotator'].iloc[0]!r} alone"
            raise ArgumentError("labels", rule, alone, mentions=("annotators",), about=words(judged.label))
        persons = labels["annotator"].astype(str).to_numpy()
    with renamed_errors(judged.label, y="labels", x="scores"):
        fit = stats.calibration_map(
            x[row], labels["y"], levels=judged.levels, groups=units[row], weights=labels["weight"], annotators=persons,
            **options,
        )  # fmt: skip
    if fit.n_folds:
        p = fit.predict(x[row], fold=fit.fold)
        of_labels = {"groups": units[row], "weights": labels["weight"], "confidence_level": fit.confidence_level}
        quality = stats.forecast_quality(p, labels["y"], judged.levels, **of_labels)
        fit = replace(fit, skill=quality.skill, skill_interval=quality.interval)
    n_labels = int(labels.groupby(["row", "annotator"]).ngroups)
    return beside.with_warnings(replace(fit, n_labels=n_labels), judged.warnings), groups


@verb
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

    Results are of each judge and value of `by`: `n_unmatched` labels are of items that the judge did not score,
    `n_unread` items have no score that could be read.

    Parameters
    ----------
    scores : table, path, frame or Calibration
        On people's scale; of a judge on another scale what `calibrate` makes of them. A `Calibration` is judged by
        its own cross-fitted forecasts of the labels that it was fitted to.
    labels : table, path or frame, optional
        People's labels; each person's label counts, those of one item together as one.
    {by}
    {groups}
    floor : float, default 0
        As for `calib.stats.forecast_quality`.
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> print(calib.forecast_quality(ratings, calib.summarize(people, items)).one())
    RPS skill 0.297, 95 % CI [0.2526, 0.3414], from 936 labels: RPS 0.09657 (shares 0.1372), log score 1.095 \
(shares 1.306)
    """
    notes: tuple[str, ...] = ()
    if isinstance(scores, Calibration):
        own = None
        if labels is not None:
            own = resolve_inputs(labels, None, columns, names=("labels",), needs=("label",))
            own = scores_in(own.annotations, "labels").frame
        scores, labels, notes = maps.kept_forecasts(scores, own)
        columns, groups = {}, groups and "group"
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    judges, labelled = scores_in(files.scores, "scores"), scores_in(files.annotations, "labels")
    by, groups = files.named(by, "by"), files.named(groups, "groups")
    replies = {key: weights_by_level(rows) for key, rows in replies_in(files.scores).items()}

    def labels_of_parts() -> Iterator[Slice[dict[str, Any]]]:
        for judged in labelled_pairs(judges, labelled, (by, groups, *chance_columns(judges.frame))):
            forecasts = _forecasts(judged, replies.get(SliceKey.of(judged.label)))
            for label, part in beside.parts_of(judged.frame, by):
                about = judged.label | label
                counts = {"n_unmatched": judged.n_unmatched, "n_unread": items_in(part[part["x"].isna()])}
                rows = judged.labels[judged.labels["row"].isin(part.index)]
                if not len(rows):
                    lacks = "scores and labels must share items, but no item that the judge scored has a label."
                    raise TableError(f"{words(about)}: {lacks}")
                place = rows["row"].to_numpy()
                owner = None if groups is None else beside.groups_of(part, groups)
                unit = place if owner is None else pd.Series(owner, index=part.index).loc[place].tolist()
                # a mean between two values is one label, of which either value has a part
                read = rows[judged.frame["x"].notna().to_numpy()[place]]
                n = len(read[["row", "annotator"]].drop_duplicates())
                sample = {"p": forecasts[place], "y": rows["y"], "levels": judged.levels, "n": n}
                sample |= {"groups": unit, "weights": rows["weight"].to_numpy()}
                yield Slice(about, sample, counts, (*judged.warnings, *notes))

    def quality(sample: dict[str, Any]) -> stats.ForecastQuality:
        n = sample.pop("n")
        return replace(stats.forecast_quality(**sample, floor=floor, confidence_level=confidence_level), n=n)

    return each_result(labels_of_parts(), quality, names={"p": "scores", "y": "labels"})


def replies_in(scores: Any) -> dict[SliceKey, pd.DataFrame]:
    """The single replies of each judge, where ratings came."""
    if not isinstance(scores, pd.DataFrame) or not has_replies(scores):
        return {}
    return {SliceKey.of(label): rows for label, rows in ratings_in(scores, "scores").slices()}


def chance_columns(frame: pd.DataFrame) -> dict[str, float]:
    """The columns that hold the chance of a label, with that label."""
    levels = {}
    for name in map(str, frame):
        with suppress(ValueError):
            levels[name] = float(name.removeprefix("p_")) if name.startswith("p_") else np.nan
    return {name: level for name, level in levels.items() if np.isfinite(level)}


def _forecasts(judged: Labelled, replies: tuple[pd.DataFrame, Any] | None) -> Floats:
    """For each row of `judged.frame` the chance of each level, (n, K), or a number, (n,).

    Of calibrated scores their chances, of draws and token probabilities (`replies`: weights by item, and their levels)
    the shares, and of other scores, or where every item has all its weight on one level, the score itself.
    """
    names = chance_columns(judged.frame)
    if names and judged.frame[list(names)].notna().any(axis=None):
        chances = judged.frame[list(names)].astype(float).to_numpy()
        return _forecast_levels(judged, chances, np.array(list(names.values())))
    # a number on another scale than people's is no forecast of what they say
    low, high = judged.levels[[0, -1]]
    scale, x = parse_scale(judged.scale) if judged.scale else None, judged.frame["x"].astype(float)
    off, rule = x[(x < low) | (x > high)], f"scores must be on people's scale, {short(low)} to {short(high)}"
    if scale is not None and (scale.low, scale.high) != (low, high):
        raise TableError(f"{words(judged.label)}: {rule}, but are on {judged.scale!r}; {_FIRST}.")
    if len(off):
        raise TableError(f"{words(judged.label)}: {rule}, but have {short(off.iloc[0])}; {_FIRST}.")
    if replies is not None:
        weights, levels = replies
        shares = weights.reindex(judged.frame["item"]).to_numpy(dtype=float)
        if ((shares > 0).sum(axis=1) > 1).any():
            return _forecast_levels(judged, shares, levels)
    return np.asarray(x)


def _forecast_levels(judged: Labelled, shares: Floats, levels: Floats) -> Floats:
    """The shares at the values of people's scale; no other value may have any."""
    used = np.nansum(shares, axis=0) > 0
    off = used & ~np.isin(levels, judged.levels)
    if off.any():
        values = ", ".join(map(short, judged.levels))
        raise TableError(
            f"{words(judged.label)}: scores must give chances to values of people's scale ({values}), but give some to "
            f"{short(levels[off][0])}; {_FIRST}."
        )
    out = np.zeros((len(shares), len(judged.levels)))
    out[:, np.searchsorted(judged.levels, levels[used])] = shares[:, used]
    out[np.isnan(shares).any(axis=1)] = np.nan
    return out


@verb
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

    Full conformal sets (`calib.stats.full_conformal`); of a judge with very many distinct scores the split form, with a
    warning. The promise is about items without a label: the set of a labelled one is what another item of the same
    score would have.

    Each result has `items`: a frame with the score and the set of each item, in their order. An item whose score could
    not be read has the whole scale.

    Parameters
    ----------
    {scores}
    labels : table, path or frame, optional
        People's labels of a random sample of these items. Of several people the median counts.
    level : float, default 0.9
        How often a set shall hold the label.
    by : str, optional
        A column of the scores, such as "system", or "score" for the judge's score itself: sets hold within each of its
        values, which need 9 labels each at 0.9, 19 at 0.95. Those with fewer are taken together, with a warning.
    {groups}
    one_per_group : bool, default False
        Take one label per document, drawn at random: sets then hold for items of new documents.
    rng : Generator or int, default 0
        Which label of a document is taken, and which half of the labels is fitted in the split form.
    {columns}

    Examples
    --------
    >>> import calib, pandas as pd
    >>> file = pd.DataFrame({"judge": [1, 2, 3, 4] * 20, "people": [1, 3, 2, 4, 2, 3, 3, 4] * 5 + [None] * 40})
    >>> sets = calib.score_sets(file, judge="judge", label="people", scale="1|2|3|4").one()
    >>> print(sets.items.head(4)[["score", "low", "high"]].astype(int).to_string(index=False))
     score  low  high
         1    1     3
         2    2     3
         3    2     4
         4    3     4
    """
    check.probability(level, "level")
    files, judges, labelled = maps.judges_and_labels(scores, labels, columns)
    by, group = by if by == "score" else files.named(by, "by"), files.named(groups, "groups")
    items = pd.Index(judges.frame["item"].astype(object).unique())

    def ordered_items() -> Iterator[Slice[tuple[Labelled, pd.DataFrame, dict[str, Any]]]]:
        for judged in labelled_pairs(judges, labelled, (group, None if by == "score" else by)):
            frame = judged.frame.iloc[np.argsort(items.get_indexer(judged.frame["item"]), kind="stable")]
            x, y = frame["x"], frame["y"]
            if by == "score":  # an item without a score is in none, and gets the whole scale
                cell = x.fillna(x.min()).fillna(0.0).to_numpy()
            else:
                cell = None if by is None else beside.whole_column(frame, by, "by")
            _need_one_chance(frame, cell, judged.label)
            units = None if group is None else beside.groups_of(frame, group)
            if one_per_group:
                if units is None:
                    rule = "needs a column of documents (groups=, in a shell --groups)"
                    raise TableArgumentError("one_per_group", rule, "there is none")
                y = y.where(one_of_each(units, y.notna() & x.notna(), rng))
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(x.isna().sum())}
            notes = judged.warnings
            texts = [frame[name].dropna().unique() for name in ("scale", "scale_y") if name in frame]
            if not any(parse_scale(str(text)) for text in itertools.chain(*texts)):
                # labels beyond those that came are in no set, unless a scale says that they can be
                ends = f"{short(judged.levels[0])} to {short(judged.levels[-1])}"
                beyond = "of few labels they may miss what lies beyond: give people's scores the column `scale`"
                text = f"unsaid_scale: no scale is known, so that sets end where labels do ({ends}); {beyond}"
                notes = (*notes, text)
            yield Slice(judged.label, (judged, frame, {"x": x, "y": y, "groups": units, "by": cell}), counts, notes)

    def sets(rows: tuple[Labelled, pd.DataFrame, dict[str, Any]]) -> stats.ScoreSets:
        judged, frame, sample = rows
        about = {"item": frame["item"].to_numpy()} | {name: judged.label[name] for name in ("criterion", "rater")}
        about |= {name: frame[name].to_numpy() for name in ("group", "system") if name in frame}
        about |= {"label": frame["y"].to_numpy()}
        return replace(sets_of(**sample, level=level, levels=judged.levels, rng=rng), columns=about)

    return each_result(ordered_items(), sets, names={"y": "labels", "x": "scores"})


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
