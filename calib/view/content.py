"""What a view shows: a row for each item, criterion and judge, its draws, people's labels, its calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.adapters.read_log import read_log, tool_of
from calib.adapters.tables import LogOptions
from calib.core import check
from calib.inputs.names import Columns, InferredTables, Source
from calib.inputs.readings import resolve_readings
from calib.inputs.resolve import is_calibs, opened, resolve_inputs
from calib.inputs.roles import seen
from calib.inputs.source import source_of
from calib.labelling.talk import COLUMN, TURN
from calib.runs.trials import matched_tasks, runs_in
from calib.scale.summarize import summarize
from calib.table import SCHEMAS, SCORE_KEY, TableError, check_ratings, has_replies, parse_scale
from calib.table.labelled import mean_of_annotators
from calib.table.validate import ValidatedTable, renamed_errors, scores_in
from calib.view.talks import BEFORE, TALK, talks_in, texts_of

FAR = 0.5  # of the scale: a score so far from the label is wrong, labels so far apart disagree
SURE = 0.325  # nats: what the judge's distribution has with .9 on one value and .1 on another
_KEY = list(SCORE_KEY)
_TEXTS = {"source": "input", "output": "output", "output_a": "output a", "output_b": "output b",
          "reference": "reference"}  # fmt: skip
_NAMES = {"item": "item", "criterion": "criterion", "rater": "judge", "prompt": "prompt", "system": "system",
          "group": "group", "score": "score", "entropy": "entropy", "n": "readings", "n_unread": "unread"}  # fmt: skip
FLAGS = ("judge sure and wrong", "annotators disagree", "not read")
# what a page calls columns of its own
_OURS = {*_NAMES.values(), *_TEXTS.values(), *FLAGS, "label", "gap", "spread", "status", "change", "score before",
         "output before", TALK, BEFORE}  # fmt: skip
_DRAWS = {"row": "row", "draw": "draw", "prompt": "prompt", "shown_first": "shown first", "score": "score",
          "weight": "weight", "status": "status", "reply": "reply"}  # fmt: skip
_LABELS = {"row": "row", "rater": "annotator", "score": "label", "status": "status", "comment": "comment"}
_OF_READING = re.compile("\x1freading .*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A run as it was read: scores of judges, their draws, people's labels one by one, and the items' texts."""

    scores: pd.DataFrame | None
    ratings: pd.DataFrame | None = None
    people: pd.DataFrame | None = None
    texts: pd.DataFrame | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Content:
    """The tables of a page, with the names that a reader sees, and the labels pooled to one of each item."""

    rows: pd.DataFrame
    draws: pd.DataFrame
    labels: pd.DataFrame
    scores: pd.DataFrame | None
    pooled: pd.DataFrame | None


def read_run(run: Any, labels: Any, columns: Columns, log: LogOptions, argument: str = "run") -> Run:
    """A log of another tool, a table of calib's (ratings, scores, items), or a file of one's own."""
    with renamed_errors({}, scores=argument):
        read = _read(run, labels, columns, log, argument)
    if read.scores is None and read.people is None and read.texts is None:
        raise TableError(f"{argument}: must hold scores, labels or texts of items, but has none.")
    return read


def _read(run: Any, labels: Any, columns: Columns, log: LogOptions, argument: str) -> Run:
    if isinstance(run, str | Path) and Path(run).exists() and tool_of(Path(run)) is not None:
        items, table = read_log(run, **log._replace(texts=True)._asdict())
        of_labels: Any = {name: word for name, word in columns.items() if name not in ("rater", "scale")}
        return _of_calibs(table, labels, of_labels, items)
    source = run.frame if isinstance(run, ValidatedTable) else opened(run, argument)
    if is_calibs(source):
        return _of_calibs(source.frame if isinstance(source, Source) else source, labels, columns)
    source = source if isinstance(source, Source) else source_of(source, argument)
    if labels is None and not columns and _is_items(source):
        return Run(scores=None, texts=texts_of(source.frame))
    try:
        inputs = resolve_inputs(source, labels, columns, needs=())
    except TableError as error:  # each row of an item may be a reading
        try:
            readings = resolve_readings(source, argument, columns)
        except ValueError:
            raise error from None
        read = _of_calibs(readings.ratings.frame, labels, columns if labels is not None else {}, people=readings.labels)
        inferred = readings.inputs.inferred if readings.inputs else None
        texts = inferred.items if inferred else None
        if texts is not None:
            texts = texts.assign(item=texts["item"].astype(str).str.replace(_OF_READING, "", regex=True))
        return _with_talks(replace(read, texts=texts), inferred)
    inferred = inputs.inferred
    texts = inferred.items if inferred else None
    return _with_talks(Run(scores=inputs.scores, people=inputs.annotations, texts=texts), inferred)


def _with_talks(read: Run, inferred: InferredTables | None) -> Run:
    """The run with the conversations of its file, where its scores do not have them."""
    if talks_in(read.scores) is not None:
        return read
    for side in inferred.rows.values() if inferred else ():
        frame = side.source.frame
        if talks_in(frame) is not None and side.table is None:
            ids = side.rows["item"].astype(str).str.replace(_OF_READING, "", regex=True).to_numpy()
            own = frame[[name for name in (COLUMN, TURN) if name in frame]].iloc[side.rows["at"].astype(int)]
            texts = own.assign(item=ids).astype({"item": object}).drop_duplicates("item")
            if read.texts is not None:
                texts = read.texts.astype({"item": object}).merge(texts, "left", on="item")
            return replace(read, texts=texts)
    return read


def _is_items(source: Source) -> bool:
    """Whether it is a table of items, in which no column is called as scores are."""
    graded = seen(source, "", {}).graded
    unnamed = [value.name.entity and not value.side and not value.name.criterion for value in graded]
    return "item" in source.frame and bool({*_TEXTS, COLUMN} & set(source.frame)) and all(unnamed)


def _of_calibs(table: Any, labels: Any, columns: Columns, texts: Any = None, *, people: Any = None) -> Run:
    """Ratings or scores: those of the method "human" are labels."""
    human = table["method"].astype(str) == "human" if "method" in table else pd.Series(True, table.index)
    if human.any():
        people = table[human] if people is None else people
    judged = table[~human]
    ratings = check_ratings(judged) if has_replies(judged) and len(judged) else None
    scores = judged if len(judged) else None
    if ratings is not None:
        ratings = ratings.astype({"item": object})
        scores = summarize(ratings)
        more = [name for name in ("group", "system") if name in ratings]
        if more:
            scores = scores.astype({"item": object}).merge(ratings[["item", *more]].drop_duplicates("item"), on="item")
    if labels is not None or columns:
        inputs = resolve_inputs(scores, labels, columns, needs=())
        scores, people = inputs.scores, people if labels is None else inputs.annotations
    return Run(scores=scores, ratings=ratings, people=people, texts=texts)


# --- the tables of the page -------------------------------------------------------------------------------------------


def content_of(run: Run) -> Content:
    """The rows of a run with what is known of them; without a judge those of the labels, else of the items.

    Examples
    --------
    >>> scores = pd.DataFrame({"item": ["a", "b"], "criterion": "tone", "rater": "j", "score": [4.0, 2.0]})
    >>> people = scores.assign(rater="ann", method="human", score=[1.0, 2.0], scale="1|2|3|4|5")
    >>> content_of(Run(scores=scores, people=people)).rows[["item", "score", "label", "gap"]].to_numpy().tolist()
    [['a', 4.0, 1.0, 3.0], ['b', 2.0, 2.0, 0.0]]
    """
    pooled = None if run.people is None else mean_of_annotators(scores_in(run.people, "labels")).frame
    base = run.scores
    if base is None and pooled is not None:
        base = pooled[["item", "criterion", "scale"]].drop_duplicates()
    elif base is None:
        assert run.texts is not None
        base = run.texts[["item"]]
    base = base.reset_index(drop=True).astype({"item": object})
    if run.texts is not None:  # groups, by which intervals are made, and systems
        more = [name for name in ("group", "system") if name in run.texts and name not in base]
        of_items = run.texts[["item", *more]].drop_duplicates("item").astype({"item": object})
        base = base.merge(of_items, "left", on="item")
    rows = pd.DataFrame({name: base[column] for column, name in _NAMES.items() if column in base})
    own = base[[name for name in base if name not in SCHEMAS["scores"]]]
    rows = rows.join(own.rename(columns={name: f"my {name}" for name in own if name in _OURS}))
    if run.texts is not None:
        mine = {name: f"my {name}" for name in run.texts if name in _OURS and name not in _NAMES}
        texts = run.texts.rename(columns=mine | _TEXTS).drop_duplicates("item").astype({"item": object})
        texts = texts[["item", *[name for name in texts if name not in rows]]]
        rows = rows.merge(texts, on="item", how="left", validate="many_to_one")
    labels = pd.DataFrame()
    far = pd.Series(np.nan, rows.index)
    if pooled is not None and run.people is not None:
        rows, labels, far = _with_labels(rows, base, pooled, run.people)
    draws = pd.DataFrame()
    if run.ratings is not None:
        keys = [name for name in _KEY if name in base]
        plain = {name: object for name in keys if name != "temperature"}
        places = base[keys].astype(plain).assign(row=np.arange(len(base)))
        draws = run.ratings.astype(plain).merge(places, on=keys).sort_values(["row", "draw"], kind="stable")
        rows["status"] = _statuses(draws, rows)
        draws = pd.DataFrame({name: draws[column] for column, name in _DRAWS.items() if column in draws})
    elif "score" in rows:
        rows["status"] = np.where(rows["score"].isna(), "unread", "ok")
    nothing = pd.Series(0.0, rows.index)
    several = (rows.get("readings", nothing) > 1) | base.get("method", nothing).astype(str).isin(["logprob", "chain"])
    gap = rows.get("gap", nothing * np.nan).abs()
    rows[FLAGS[0]] = ((rows.get("entropy", nothing * np.nan) <= SURE) & several & (gap >= far)).astype(float)
    if "score" in rows:
        rows[FLAGS[2]] = (rows["score"].isna() | (rows.get("unread", nothing) > 0)).astype(float)
    order = ["item", "criterion", "judge", "system", "score", "entropy", "label", "gap", "status", "group"]
    first = [name for name in order if name in rows]
    rest = [name for name in rows if name not in (*first, *FLAGS)]
    last = [name for name in FLAGS if name in rows]
    scores = None if run.scores is None else base
    return Content(rows=rows[first + rest + last], draws=draws, labels=labels, scores=scores, pooled=pooled)


def _with_labels(
    rows: pd.DataFrame, base: pd.DataFrame, pooled: pd.DataFrame, people: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """The rows with the mean of their labels and its gap, every label with the row it is of, and how far is far."""
    by = ["item", *(["criterion"] if "criterion" in rows else [])]
    each = people.astype({"item": object, "criterion": object, "rater": object})
    spread = each.groupby(by)["score"].agg(["min", "max"])
    rows = rows.astype(dict.fromkeys(by, object))
    mean = pooled.astype(dict.fromkeys(by, object)).groupby(by)["score"].mean().rename("label")
    rows = rows.join(mean, on=by).join((spread["max"] - spread["min"]).rename("spread"), on=by)
    far, alike = pd.Series(np.nan, rows.index), pd.Series(True, rows.index)
    groups = rows.groupby("criterion").groups if "criterion" in rows else {None: rows.index}
    for criterion, at in groups.items():
        theirs = each if criterion is None else each[each["criterion"] == criterion]
        ends = [_ends(table) for table in (base.loc[at], theirs)]
        stated = [one for one in ends if one is not None]
        alike[at] = len(set(stated)) < 2
        values = pd.concat([theirs["score"], rows.loc[at].get("score", pd.Series(dtype=float))])
        low, high = stated[-1] if stated else (values.min(), values.max())
        far[at] = FAR * (high - low) if high > low else np.nan
    if "score" in rows:
        rows["gap"] = (rows["score"] - rows["label"]).where(alike)
        if not alike.all():
            check.warn("scales_differ: judge and labels are on two scales, so the view shows no gap between them.")
    rows[FLAGS[1]] = (rows.pop("spread") >= far).astype(float)
    columns = list(dict.fromkeys([*by, *(name for name in _LABELS if name in each)]))
    places = rows[by].assign(row=np.arange(len(rows)))
    labels = each[columns].merge(places, on=by).sort_values("row", kind="stable")
    return rows, pd.DataFrame({name: labels[column] for column, name in _LABELS.items() if column in labels}), far


def _ends(table: pd.DataFrame) -> tuple[float, float] | None:
    texts = set(table["scale"].dropna().astype(str)) - {""} if "scale" in table else set()
    scale = parse_scale(texts.pop()) if len(texts) == 1 else None
    return None if scale is None else (scale.low, scale.high)


def _statuses(draws: pd.DataFrame, rows: pd.DataFrame) -> Any:
    """What became of the readings of a row: ok, or what kept most of those from a score that have none."""
    lost = draws[draws["status"].astype(str).ne("ok") & (rows["unread"].to_numpy()[draws["row"]] > 0)]
    most = lost.astype({"status": str}).groupby("row")["status"].agg(lambda one: one.value_counts().index[0])
    return pd.Series("ok", rows.index).where(~rows.index.isin(most.index), most.reindex(rows.index)).astype(object)


# --- beside another run -----------------------------------------------------------------------------------------------


def beside(rows: pd.DataFrame, other: Run, things: Sequence[Any], log: LogOptions, columns: Columns) -> pd.DataFrame:
    """The rows with score and texts of the same task in another run, and what changed."""
    both = {"against": things[0], "run": things[1]}
    runs, _, _ = matched_tasks(runs_in(both, run=None, trial=None, groups="group", log=log, columns=columns))
    keys = ["task", "criterion", "rater"]
    theirs, mine = (one.rows.astype(dict.fromkeys(["item", *keys], object)) for one in runs)
    if not set(theirs["rater"]) & set(mine["rater"]):
        keys = keys[:2]
    before = theirs.groupby(keys, sort=False)["score"].mean().rename("score before")
    which = theirs.drop_duplicates(keys).set_index(keys)["item"].rename("item before")
    tasks = mine.drop_duplicates(["item", *keys[1:]])[["item", *keys]]
    own_keys = ["item", *(_NAMES[name] for name in keys[1:])]
    table = rows.astype(dict.fromkeys(own_keys, object))
    table = table.merge(tasks, "left", left_on=own_keys, right_on=["item", *keys[1:]], suffixes=("", " "))
    table = table.join(before, on=keys).join(which, on=keys)
    rows = rows.copy()
    rows.insert(rows.columns.get_loc("score") + 1, "score before", table["score before"].to_numpy())
    rows.insert(rows.columns.get_loc("score") + 1, "change", rows["score"] - rows["score before"])
    for theirs in (other.texts, other.scores):
        if theirs is None:
            continue
        ids = theirs["item"].astype(object)
        for name, cells in (("output before", theirs.get("output")), (BEFORE, talks_in(theirs))):
            if cells is not None and name not in rows:
                texts = pd.Series(cells.to_numpy(), ids)
                texts = texts[~texts.index.duplicated()]
                rows[name] = table["item before"].map(texts).to_numpy()
    return rows
