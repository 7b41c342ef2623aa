"""A look at files of one's own: what they are taken for, what they can answer, and what to type."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.availability import LEAST_GOLD, Beside, Can, beside, is_one, possibilities
from calib.inputs.calls import FRAMES, commands_of, lines_of, tries_of
from calib.inputs.cells import blank
from calib.inputs.names import Columns, InferredColumn, InferredTables, Source
from calib.inputs.roles import Side, seen, sided
from calib.inputs.source import source_of
from calib.inputs.tables import infer_tables
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.labels import Labels
from calib.table.text import visible

_WIDTH = 88
_MIND, _CAN, _CANNOT = "What looks wrong, or was forgiven", "What can be computed", "What cannot, and why"
_MOST = 34  # characters of a list of columns
_FEW_PEOPLE = 20  # of whom each is held against each
ROLES = {
    "item": "ids", "judge": "judge's scores", "label": "people's labels", "annotator": "who labelled",
    "rater": "which judge", "system": "systems", "group": "groups", "criterion": "criterion", "source": "source text",
    "output": "output text", "text": "text", "weight": "weights", "first": "first of a pair",
    "second": "second of a pair", "other": "not used",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What files of one's own hold, and what can be done with them.

    Attributes
    ----------
    intake : InferredTables
        The files as they were read, with all that was recognised.
    can : tuple of Can
        Each question with `possible` and `why`.
    notes : tuple of str
        What looks wrong, or was forgiven.
    commands, lines : tuple of str
        What to type in a shell, and in Python.
    """

    intake: InferredTables
    can: tuple[Can, ...]
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def scores(self) -> pd.DataFrame | None:
        """The judges' scores; None where there are none."""
        return self.intake.scores

    @property
    def people(self) -> pd.DataFrame | None:
        """The labels of each annotator."""
        return self.intake.annotations

    @property
    def gold(self) -> pd.DataFrame | None:
        """The labels, pooled where there are several annotators."""
        return self.intake.labels

    @property
    def items(self) -> pd.DataFrame | None:
        """The texts, where there are any."""
        return self.intake.items

    @property
    def columns(self) -> tuple[InferredColumn, ...]:
        """What each column was taken for, and why."""
        return self.intake.columns

    def to_frame(self) -> pd.DataFrame:
        """What each column was taken for: one row per column of each file."""
        rows = []
        for one, why in _with_why(self.intake):
            of = f" ({one.score_of})" if one.score_of and one.score_of != one.column else ""
            rows.append((one.source, one.column, f"{ROLES[one.role]}{of}", why))
        return pd.DataFrame(rows, columns=["file", "column", "taken for", "why"])

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(_marked_up(self))


def look(first: Any, second: Any = None, **columns: Unpack[Columns]) -> Look:
    """Look at files of your own: what they are taken for, what can be computed from them, what to type.

    Parameters
    ----------
    first : str, Path or frame
        A file (csv, jsonl, Parquet, Excel), or a DataFrame of pandas, polars or pyarrow; judge and people may be side
        by side in it, with blanks where there is no label.
    second : str, Path or frame, optional
        People's labels, where they are somewhere else.
    **columns : str
        What is not to be recognised, but as you say: `item`, `label_item`, `judge`, `label`, `annotator`, `rater`,
        `system`, `group`, `criterion`, `scale`, `wide`.

    Returns
    -------
    Look
        Prints as a page of text; `calib.report(look, "page.html")` does all that it says can be done.

    Raises
    ------
    ValueError
        If a file cannot be read as a table. What is wrong with a table is said, not raised.

    Examples
    --------
    >>> import calib, pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c", "d"], "gpt-4o": [4, 2, 5, 3], "label": [5, 1, None, None]})
    >>> found = calib.look(mine)
    >>> found.to_frame()[["column", "taken for"]].values.tolist()
    [['id', 'ids'], ['gpt-4o', "judge's scores"], ['label', "people's labels"]]
    >>> [str(one) for one in found.can if one.verb == "reliability"]
    ['reliability of people, ceiling of a judge: no, one annotator: no ceiling']
    """
    words: Columns = {name: value for name, value in columns.items() if value is not None}  # type: ignore[assignment]
    sources = []
    for name, frame, thing in zip(("first", "second"), FRAMES, (first, second), strict=True):
        if name == "second" and thing is None:
            continue
        if isinstance(thing, str | os.PathLike):  # a file that is not there has a name of its own; it may name a sheet
            sources.append(replace(source_of(thing, ""), path=Path(thing)))
        else:
            source = source_of(thing.ratings if isinstance(thing, Labels) else thing, name)
            # two frames are called as the lines to type call them
            sources.append(source if second is None else replace(source, name=f"the frame `{frame}`"))
    try:
        return look_of(infer_tables(*sources, **words))
    except TableError as error:  # of the files, not of a word that was said
        return _not_taken(sources, words, error)


def look_of(intake: InferredTables) -> Look:
    """At files that are tables already."""
    pairs = beside(intake)
    can = possibilities(intake, pairs)
    roles, lacking = {one.role for one in intake.columns}, []
    if not roles & {"judge", "label"}:
        lacking = ["no column was taken for scores: say which are (--judge, --label)."]
    elif "item" not in roles:
        lacking = ["no column holds ids: each row counts as an item of its own (--column item= names one)."]
    read = [f"{source.name}: {note}" for source in intake.sources for note in source.notes]
    doubts = [*intake.notes, *intake.scale_warnings, *lacking, *suspicions(pairs), *copied_labels(intake)]
    notes = tuple(dict.fromkeys([*read, *doubts]))
    return Look(intake, can, notes, commands_of(intake, can), lines_of(intake, can))


def _not_taken(sources: list[Source], words: Columns, trouble: TableError) -> Look:
    """Of files that make no tables: what the columns look like, what is wrong, and what to try."""
    sides: list[Side] = [""] if len(sources) == 1 else ["judge", "label"]
    recognised = sided([seen(source, side, words) for source, side in zip(sources, sides, strict=True)], words)
    # the likeliest column of ids, which is settled where rows are matched
    with_ids = [
        one.with_role("item", one.ids[0], "the likeliest of them") if one.ids and "item" not in one.roles else one
        for one in recognised
    ]
    text = str(trouble)
    if isinstance(trouble, TableArgumentError) and trouble.argument in Columns.__annotations__:
        text = trouble.message("--{}".format)
    notes = (*(note for source in sources for note in source.notes), text)
    columns = tuple(column for one in with_ids for column in one.inferred({}))
    intake = InferredTables(tuple(sources), columns, "", False, None, None, None, None, False, (), notes, words)
    can = possibilities(intake, ())
    turned = replace(intake, sources=intake.sources[::-1])
    with suppress(ValueError):
        if len(sources) == 2 and infer_tables(*turned.sources, **words).scores is not None:
            text = "the other way round they make tables: the judge's file comes first, people's second."
            return Look(intake, can, (*notes, text), *tries_of(turned))
    scale = ""
    if isinstance(trouble, ArgumentError) and trouble.argument == "scale" and "scale" not in words:
        # the words of scores whose order nobody knows, the commonest first; of percentages their ends
        scores = [(one.source.frame[value.column], value.nature) for one in recognised for value in one.graded]
        texts = Counter(str(cell).strip() for cells, kind in scores if kind == "texts" for cell in cells.dropna())
        percent = any(str(cell).strip().endswith("%") for cells, _ in scores for cell in cells)
        scale = "0..100" if percent else "|".join(word for word, _ in texts.most_common() if word)
    tries = tries_of(replace(intake, options=Columns(**words, scale=scale))) if scale else ((), ())
    return Look(intake, can, notes, *tries)


# --- what looks wrong -------------------------------------------------------------------------------------------


def suspicions(pairs: Sequence[Beside]) -> Iterator[str]:
    """What no rule forbids, but nobody means."""
    for pair in pairs:
        judged, rows = pair.frame["x"].dropna(), pair.labelled
        who = f"{pair.rater} ({pair.criterion})" if len({p.criterion for p in pairs}) > 1 else pair.rater
        if len(judged) > 1 and is_one(judged):
            yield f"{who} gives {judged.iloc[0]:g} to every item: it cannot tell them apart."
        elif len(rows) >= LEAST_GOLD and not is_one(rows["y"]) and (rows["x"] == rows["y"]).all():
            yield f"{who} says what people say of all {len(rows)} labelled items: is it a copy of the labels?"
        elif len(rows) >= LEAST_GOLD and is_one(rows["y"]):
            yield f"all {len(rows)} labels beside {who} are {rows['y'].iloc[0]:g}: they cannot tell if it is right."
        elif len(rows) >= LEAST_GOLD and (r := _rank_correlation(rows)) < -0.3:
            yield f"{who} goes against the labels (rank correlation {r:.2f}): is one of the scales reversed?"


def copied_labels(intake: InferredTables) -> Iterator[str]:
    """People who never differ, where there is something to differ about."""
    frame = (
        pd.DataFrame() if intake.annotations is None else intake.annotations.astype({"item": object, "rater": object})
    )
    for criterion, rows in frame.groupby("criterion", observed=True, sort=False) if len(frame) else ():
        if rows["rater"].nunique() > _FEW_PEOPLE:
            continue
        table = rows.pivot_table(index="item", columns="rater", values="score", sort=False)
        for one, other in combinations(table, 2):
            both = table[[one, other]].dropna()
            if len(both) >= LEAST_GOLD and not is_one(both[one]) and (both[one] == both[other]).all():
                yield f"{one} and {other} say the same of all {len(both)} items of {criterion}: is one a copy?"


def _rank_correlation(rows: pd.DataFrame) -> float:
    if is_one(rows["x"]) or is_one(rows["y"]):
        return 0.0
    ranks = rows[["x", "y"]].astype(float).rank()
    return float(ranks["x"].corr(ranks["y"]))


# --- in words ---------------------------------------------------------------------------------------------------


def _lines(look: Look) -> Iterator[str]:
    yield taken_text(look)
    yield from ("", _CAN, *_grid([(visible(one.what), visible(one.why)) for one in look.can if one.possible], "  "))
    refused = _refused(look.can)
    if not any(one.possible for one in look.can):
        yield f"  Nothing: {look.can[0].why}." if len(refused) == 1 else "  Nothing."
    if len(refused) > 1 or any(one.possible for one in look.can):
        yield from ("", _CANNOT, *(line for text in refused for line in _wrapped(text, "  - ")))
    for head, texts in (("In a shell", look.commands), ("In Python", look.lines)):
        if texts:
            yield from ("", head, *(f"  {text}" for text in texts))


def taken_text(look: Look) -> str:
    """What the files were taken for, and what looks wrong."""
    lines = []
    for source in look.intake.sources:
        rows, columns = source.frame.shape
        lines.append(f"{visible(source.name)}: {_number(rows, 'row')}, {_number(columns, 'column')}")
    if look.columns:
        lines += ["", *_grid([("columns", "taken for", "why"), *_grouped(look.intake)])]
        lines += ["", *_wrapped(_holds(look.intake))]
    if look.notes:
        lines += ["", _MIND, *(line for note in look.notes for line in _wrapped(note, "  - "))]
    return "\n".join(lines)


def _refused(can: Iterable[Can]) -> list[str]:
    """What cannot be computed, and why; what has one reason in one line."""
    by_reason: dict[str, list[str]] = {}
    for one in can:
        if not one.possible:
            by_reason.setdefault(one.why, []).append(one.what)
    return [f"{'; '.join(what)}: {visible(why)}." for why, what in by_reason.items()]


def _holds(intake: InferredTables) -> str:
    """What the tables hold, in a sentence, and the scale."""
    parts = []
    if intake.scores is not None and len(intake.scores):
        parts.append(_names("judge", intake.scores["rater"]))
        parts += [_names(name, intake.scores[name]) for name in ("criterion", "system") if name in intake.scores]
        if "group" in intake.scores:
            parts.append(_number(intake.scores["group"].nunique(), "group"))
    if intake.labels is not None and intake.annotations is not None and len(intake.labels):
        people = intake.annotations["rater"].nunique()
        parts.append(f"{_number(len(intake.labels), 'label')} of {_number(people, 'annotator')}")
    scale = "scale not known (--scale)"
    if intake.scale:
        parsed = parse_scale(intake.scale)
        values = dict(zip(parsed.values, intake.words, strict=False)) if parsed and intake.words else {}
        text = ", ".join(f"{word} = {value:g}" for value, word in values.items()) or intake.scale
        scale = f"scale {text}{' (a guess, --scale says it)' * intake.guessed_scale}"
    return "; ".join([*filter(None, parts), scale]) + "."


def _names(of: str, values: Any) -> str:
    names = [visible(name, 24) for name in values.dropna().unique()]
    listed = ", ".join(names[:4]) + f" and {len(names) - 4} more" * (len(names) > 4)
    several = {"criterion": "criteria"}.get(of, f"{of}s")
    return f"{of} {listed}" if len(names) == 1 else f"{len(names)} {several} ({listed})" if names else ""


def _with_why(intake: InferredTables) -> Iterator[tuple[InferredColumn, str]]:
    """Each column with the reason, and of labels how many are blank."""
    frames = {source.name: source.frame for source in intake.sources}
    for one in intake.columns:
        cells = frames[one.source][one.column]
        blanks = int(blank(cells).sum()) if one.role == "label" and "blank" not in one.why else 0
        yield one, f"{one.why}{f', blank in {blanks} of {len(cells)} rows' * (blanks > 0)}"


def _grouped(intake: InferredTables) -> list[tuple[str, str, str]]:
    """Columns that were taken for one thing for one reason, in one row; those that are not used last."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for one, why in _with_why(intake):
        alike.setdefault((one.source, one.role, why), []).append(visible(one.column, 40))
    several = len({source for source, _, _ in alike}) > 1
    rows = []
    for (source, role, why), names in sorted(alike.items(), key=lambda pair: pair[0][1] == "other"):
        # as many names as there is room for
        n = max((n for n in range(1, len(names) + 1) if len(", ".join(names[:n])) <= 2 * _MOST), default=1)
        more = f" and {len(names) - n} more" * (len(names) > n)
        rows.append((", ".join(names[:n]) + more, ROLES[role], visible(why) + f" ({visible(source, 30)})" * several))
    return rows


def _grid(rows: list[tuple[str, ...]], indent: str = "") -> Iterator[str]:
    """Columns of text as wide as they need, the last one wrapped."""
    if not rows:
        return
    widths = [min(max(map(len, cells)), _MOST) for cells in zip(*rows, strict=True)]
    widths[-1] = max(_WIDTH - len(indent) - sum(widths[:-1]) - 2 * (len(widths) - 1), 20)
    for row in rows:
        cells = [textwrap.wrap(text, width) or [""] for text, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            yield (indent + "  ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))).rstrip()


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(visible(text), _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))


def _number(n: int, of: str) -> str:
    return f"{n} {of}{'s' * (n != 1)}"


# --- in a notebook ----------------------------------------------------------------------------------------------


def _marked_up(look: Look) -> Iterator[str]:
    """As a page has it; nothing in it is of ours but the tags."""
    names = "; ".join(visible(source.name) for source in look.intake.sources)
    yield f"<p>{escape(names)}: {escape(_holds(look.intake))}</p>"
    if look.columns:
        yield str(look.to_frame().map(visible).to_html(index=False, escape=True))
    if look.notes:
        notes = "".join(f"<li>{escape(visible(note))}</li>" for note in look.notes)
        yield f"<p><b>{_MIND}</b></p><ul>{notes}</ul>"
    rows = "".join(
        f"<tr><td style='text-align: left'>{escape(visible(one.what))}</td>"
        f"<td style='text-align: left'>{escape(visible(one.why))}</td></tr>"
        for one in look.can
        if one.possible
    )
    yield f"<p><b>{_CAN}</b></p><table><tbody>{rows}</tbody></table>"
    if refused := _refused(look.can):
        yield f"<p><b>{_CANNOT}</b></p><ul>{''.join(f'<li>{escape(text)}</li>' for text in refused)}</ul>"
    for head, texts in (("In Python", look.lines), ("In a shell", look.commands)):
        if texts:
            yield f"<p><b>{head}</b></p><pre>{escape(chr(10).join(texts))}</pre>"
