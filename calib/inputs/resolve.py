"""Where files of one's own enter the verbs; tables of calib's pass as they are."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.inputs.cells import blank
from calib.inputs.names import Columns, Data, InferredTables, Role, Source
from calib.inputs.roles import is_table
from calib.inputs.source import source_of
from calib.inputs.tables import checked_words, infer_tables
from calib.scale.partitions import refuse_partitions
from calib.table import TableError, check_ratings, check_scores, read_frame
from calib.table.checks import has_answers
from calib.table.labelled import mean_of_annotators
from calib.table.labels import Labels
from calib.table.validate import ValidatedTable, scores_in

_TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
_ROLES = {"item": "ids", "judge": "the judge", "label": "labels", "annotator": "who labelled", "rater": "which judge",
          "first": "the first of two", "second": "the second of two", "text": "reference"}  # fmt: skip
_ONE_SIDE = "must be given beside a table of calib's, which holds a judge's scores or people's labels and not both"
_WANTED = {
    "judge": "the judge's scores, in one of the files or in another one",
    "label": "people's labels, in the file or in a second one",
}
_SIDE = {
    **dict.fromkeys(("scores", "scores_a", "scores_b", "pilot", "preferences", "first", "second"), "judge"),
    **dict.fromkeys(("labels", "gold", "human", "people"), "label"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a verb was given: tables, and how they were taken in where they are of one's own.

    `scores` are those of judges, `gold` people's pooled to one, `people` people's one by one.
    """

    scores: Any
    gold: Any
    people: Any
    inferred: InferredTables | None = None

    def named(self, column: str | None) -> str | None:
        """A column as the tables call it."""
        roles = [one.role for one in self.inferred.columns if one.column == column] if self.inferred is not None else []
        mine = f"my_{column}" if roles and f"my_{column}" in self.scores else column
        names = {"system": "system", "group": "group", "criterion": "criterion", "judge": "score"}
        return next((names[role] for role in roles if role in names), mine)

    @property
    def each(self) -> str | None:
        """What preferences are answered by: a win rate is of a system."""
        return "system" if self.pairwise and "system" in self.scores else None

    @property
    def pairwise(self) -> bool:
        return self.inferred is not None and self.inferred.pairwise

    @property
    def guessed(self) -> str:
        """The scale, where nobody said it."""
        return _scale_in_words(self.inferred) if self.inferred is not None and self.inferred.guessed_scale else ""


def resolve_inputs(
    first: Data,
    second: Data,
    columns: Columns,
    *,
    names: Sequence[str] = ("scores", "gold"),
    needs: Sequence[str] = ("judge", "label"),
    any_scale: bool = False,
    in_pairs: bool = False,
    either_side: bool = False,
) -> Inputs:
    """Tables of calib's as they are, and anything else as it is taken in.

    What looks wrong in files of one's own is warned of, a judge on a scale of its own only where it may not be
    (`any_scale`); a side that is needed and not there is refused. `in_pairs` keeps preferences as they are.
    With `either_side` a judge may stand in the place of people, and people in that of a judge.
    """
    intake = resolve_tables(first, second, columns, names=names, in_pairs=in_pairs)
    if not isinstance(intake, InferredTables):
        return _of_tables(intake, names, needs, either_side)
    doubts = [f"{one.name}: {note}" for one in intake.sources for note in one.notes if note.endswith("?")]
    for note in (*doubts, *intake.notes, *(() if any_scale else intake.scale_warnings)):
        check.warn(note)
    for side, table in (("judge", intake.scores), ("label", intake.labels)):
        if side in needs and table is None:
            left = [one.column for one in intake.columns if one.role == "other"]
            idle = f"; not used: {_few(left)}" if left else ""
            recognised = f"none was recognised: {'; '.join(in_words(intake))}{idle}"
            raise ArgumentError(side, f"must name {_WANTED[side]}", recognised)
    return Inputs(
        intake.scores, intake.labels, intake.annotations, replace(intake, scale_warnings=()) if any_scale else intake
    )


def resolve_tables(
    first: Data, second: Data, columns: Columns, *, names: Sequence[str], in_pairs: bool = False
) -> InferredTables | tuple[Any, Any]:
    """Two tables of calib's, of one's own files what was taken in."""
    columns = checked_words(columns)
    for thing, name in zip((first, second), names, strict=False):
        refuse_partitions(thing, name)
    if isinstance(first, InferredTables):
        if columns:
            raise ArgumentError(next(iter(columns)), "was said when the files were taken in, and cannot be said again")
        return infer_tables(*first.sources, names=names, in_pairs=True, **first.options) if in_pairs else first
    one, two = (opened(thing, name) for thing, name in zip((first, second), (*names, ""), strict=False))
    if any(not is_calibs(thing) for thing in (one, two) if thing is not None):
        return infer_tables(one, two, names=names, in_pairs=in_pairs, **columns)
    for word in columns:
        raise ArgumentError(word, "describes a file of your own", "the files are tables of calib's")
    return _as_table(one), _as_table(two)


def _of_tables(things: Sequence[Any], names: Sequence[str], needs: Sequence[str], either_side: bool) -> Inputs:
    """Tables of calib's, each of which has one side."""
    order = dict(zip((_SIDE[name] for name in names), things, strict=False))
    for side, name in ((_SIDE[name], name) for name in names):
        if side in needs and order.get(side) is None:
            raise ArgumentError(name, _ONE_SIDE)
    if not either_side and names[-1] in ("labels", "gold") and things[0] is not None and things[-1] is not None:
        _warn_of_swapped(things[0], things[-1], names[-1])
    people = gold = order.get("label")
    if isinstance(people, pd.DataFrame) and has_answers(people):  # of a page, on which several may have labelled
        gold = mean_of_annotators(scores_in(people, next(name for name in names if _SIDE[name] == "label"))).frame
    return Inputs(order.get("judge"), gold, people)


def _warn_of_swapped(scores: Any, labels: Any, argument: str) -> None:
    """Say where labels are of more items than were scored, or mostly of others; people's scores are no judge's."""
    frames = [thing.frame if isinstance(thing, ValidatedTable) else thing for thing in (scores, labels)]
    people, judges = (set(frame["method"].unique()) if "method" in frame else set() for frame in frames)
    if people == {"human"} and judges and judges <= {"sample", "logprob", "chain"}:
        raise ArgumentError(argument, "must be people's labels", "these are a judge's, and the two may be swapped")
    labelled = set(frames[1]["item"].tolist())
    unmatched = len(labelled.difference(frames[0]["item"].tolist()))
    n_scored = scores.n_items if isinstance(scores, ValidatedTable) else None
    n_scored = int(frames[0]["item"].nunique()) if n_scored is None else n_scored
    if 0 < unmatched < len(labelled) and (len(labelled) > n_scored or 2 * unmatched > len(labelled)):
        check.warn(
            f"{len(labelled)} items are labelled, {unmatched} of them without a score, and {n_scored} are scored: what "
            "has no score is left out. Are the two the wrong way round?"
        )


def two_judges(first: Data, second: Data, labels: Data, columns: Columns) -> tuple[Any, Any, Any]:
    """The scores of two judges and of people: from three tables or files, or where one file holds both judges."""
    refuse_partitions(second, "scores_b")
    if labels is None and is_calibs(second := opened(second)):
        raise ArgumentError("labels", "must be given, beside two tables of calib's")
    options: dict[str, Any] = {"names": ("scores_a", "labels"), "either_side": True}
    if second is not None and (labels is not None or isinstance(second, InferredTables)):
        one, two = (resolve_inputs(scores, labels, columns, **options) for scores in (first, second))
        others = two.scores
        if one.inferred is not None and two.inferred is not None:  # another name, where two files call theirs the same
            rater = others["rater"].astype(str)
            others = others.assign(
                rater=rater.where(~others["rater"].isin(set(one.scores["rater"])), rater + " (second)")
            )
        return one.scores, others, one.gold
    files = resolve_inputs(first, second if labels is None else labels, columns, **options)
    table = scores_in(files.scores, "scores_a").frame
    raters = list(dict.fromkeys(table["rater"].astype(str)))
    if len(raters) != 2:
        rule = "must hold two judges (`judge` names their columns, `rank_judges` takes more) where {0} is not given"
        raise ArgumentError("scores_a", rule, f"has {', '.join(map(repr, raters))}", mentions=("scores_b",))
    mine, others = (table[table["rater"].astype(str) == name] for name in raters)
    return mine, others, files.gold


def is_calibs(thing: Any) -> bool:
    """Whether it is a table of calib's, checked or not."""
    return isinstance(thing, ValidatedTable) or is_table(thing.frame if isinstance(thing, Source) else thing)


def is_table_file(path: Path) -> bool:
    """Whether a file is a table of calib's."""
    return is_calibs(opened(path))


def opened(thing: Any, argument: str = "") -> Any:
    """A path as what is there, labels as their table; the rest as it is."""
    if isinstance(thing, Labels):
        return Source(thing.ratings, "the labels")
    if isinstance(thing, list) and thing and all(isinstance(one, str | Path) for one in thing):
        rule = "must be one file (`calib.read_labels` joins those of several annotators)"
        raise ArgumentError(argument or "file", rule, f"got {len(thing)}")
    if not isinstance(thing, str | Path):
        return thing
    path, heads = Path(thing), []
    if path.suffix == ".csv":
        with suppress(OSError, UnicodeDecodeError, csv.Error), path.open(encoding="utf-8-sig", newline="") as file:
            heads = next(csv.reader(file), [])
    if set(heads) >= {"item", "criterion", "rater", "score"}:
        return Source(read_frame(path), path.name, path)
    return source_of(thing, argument)


def _as_table(thing: Any) -> Any:
    """A table of calib's as a frame; one from a file is checked here, where its name is known."""
    if not isinstance(thing, Source):
        return thing
    frame = thing.frame
    if thing.path is None:
        return frame
    try:
        replies = {"weight", "draw", "status", "shown_first"} & set(frame) and "n_unread" not in frame
        return check_ratings(frame) if replies else check_scores(frame)
    except TableError as error:
        raise TableError(f"{thing.path}: {error}") from None


def is_file(text: str) -> bool:
    """Whether a text names a file: one that is there, or that ends as tables do.

    Examples
    --------
    >>> is_file("results.csv"), is_file("gpt-4o")
    (True, False)
    """
    return text.casefold().partition("#")[0].endswith(_TABLE_ENDINGS) or Path(text).is_file()


def in_words(intake: InferredTables) -> tuple[str, ...]:
    """For each file what its columns were taken for, in a line.

    Examples
    --------
    >>> print(*in_words(infer_tables({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})))
    the dict: `id` as ids, `gpt-4o` as the judge, `label` as labels (1 of 3); scale 1|2|3|4|5 (guessed)
    """
    lines = []
    for source in intake.sources:
        columns = ["a table of calib's"] if is_table(source.frame) else _columns_in_words(intake, source)
        lines.append(f"{source.name}: {', '.join(columns) or 'nothing'}")
    if intake.scale:
        lines[-1] += f"; scale {_scale_in_words(intake)}{' (guessed)' * intake.guessed_scale}"
    return tuple(lines)


def _scale_in_words(intake: InferredTables) -> str:
    return f"{intake.scale} for {'|'.join(intake.words)}" if intake.words else intake.scale


def _columns_in_words(intake: InferredTables, source: Source) -> list[str]:
    """The columns of each role; of several columns of scores also what they stand for, of labels how many there are."""
    by_role: dict[str, list[str]] = {}
    for one in intake.columns:
        if one.source == source.name and one.role != "other":
            by_role.setdefault(one.role, []).append(one.column)
    words = [] if "item" in by_role else ["each row as an item"]
    for role in (role for role in get_args(Role) if role in by_role):
        names, word, filled = by_role[role], _ROLES.get(role, role), ""
        if role == "label":
            labelled = sum(~blank(source.frame[name]) for name in names) > 0
            filled = "" if labelled.all() else f" ({int(labelled.sum())} of {len(source.frame)})"
        table = {"judge": intake.scores, "label": intake.annotations}.get(role)
        if table is not None and len(names) > 1:
            scores_of = {one.score_of for one in intake.columns if one.role == role and one.column in names}
            several = {"judge": "judges", "label": "labels of several annotators"}[role]
            kinds = {
                "rater": several,
                "system": f"{word} of several systems",
                "criterion": f"{word} of several criteria",
            }
            held = {kind: set(table[kind].astype(str)) if kind in table else set() for kind in kinds}
            word = next((kinds[kind] for kind in kinds if scores_of <= held[kind]), word)
        words.append(f"{_few(names)} as {word}{filled}")
    return words


def _few(names: Sequence[str]) -> str:
    texts = [f"`{name}`" for name in names[:4]]
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:]))) + (" ..." if len(names) > 4 else "")
