"""A look at files of one's own: what they are taken for, what they can answer, and what to type."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.availability import possibilities, scale_in_words
from calib.inputs.calls import FRAMES, commands_of, lines_of, tries_of
from calib.inputs.cells import blank
from calib.inputs.names import Columns, Intake, Source, Taken
from calib.inputs.question import LEAST_GOLD, Beside, Can, beside, is_one
from calib.inputs.roles import Seen, Side, seen, sided
from calib.inputs.source import source_of
from calib.inputs.tables import taken_in
from calib.table import TableArgumentError, TableError
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
    intake : Intake
        The files as they were read, with all that was recognised.
    can : tuple of Can
        Each question with `possible` and `why`.
    notes : tuple of str
        What looks wrong, or was forgiven.
    commands, lines : tuple of str
        What to type in a shell, and in Python.
    """

    intake: Intake
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
        return self.intake.people

    @property
    def gold(self) -> pd.DataFrame | None:
        """The labels, pooled where there are several annotators."""
        return self.intake.gold

    @property
    def items(self) -> pd.DataFrame | None:
        """The texts, where there are any."""
        return self.intake.items

    @property
    def columns(self) -> tuple[Taken, ...]:
        """What each column was taken for, and why."""
        return self.intake.columns

    def to_frame(self) -> pd.DataFrame:
        """What each column was taken for: one row per column of each file."""
        rows = [(one.source, one.column, _role(one), why) for one, why in _with_why(self.intake)]
        return pd.DataFrame(rows, columns=["file", "column", "taken for", "why"])

    def __str__(self) -> str:
        return "\n".join(_told(self))

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
    said: Columns = {name: value for name, value in columns.items() if value is not None}  # type: ignore[assignment]
    sources = _sources(first, second)
    try:
        return look_of(taken_in(*sources, **said))
    except TableError as error:  # of the files, not of a word that was said
        return _not_taken(sources, said, error)


def _sources(first: Any, second: Any) -> list[Source]:
    """The files as they are read; two frames are called as the lines to type call them."""
    given = {"first": first} | ({} if second is None else {"second": second})
    things = {name: thing.ratings if isinstance(thing, Labels) else thing for name, thing in given.items()}
    # a file that is not there has a name of its own
    called = {name: "" if isinstance(thing, str | os.PathLike) else name for name, thing in things.items()}
    found = [_as_given(source_of(thing, called[name]), thing) for name, thing in things.items()]
    if second is None:
        return found
    pairs = zip(found, FRAMES, strict=True)
    return [source if source.path else replace(source, name=f"the frame `{name}`") for source, name in pairs]


def _as_given(source: Source, thing: Any) -> Source:
    """With its path as it was given, which may name a sheet."""
    return replace(source, path=Path(thing)) if isinstance(thing, str | os.PathLike) else source


def look_of(taken: Intake) -> Look:
    """At files that are tables already."""
    pairs = beside(taken)
    can = possibilities(taken, pairs)
    notes = dict.fromkeys(
        (
            *[f"{source.name}: {note}" for source in taken.sources for note in source.notes],
            *taken.notes,
            *taken.apart,
            *_lacking(taken),
            *suspicions(pairs),
            *copied_labels(taken),
        )
    )
    return Look(taken, can, tuple(notes), commands_of(taken, can), lines_of(taken, can))


def _lacking(taken: Intake) -> Iterator[str]:
    """Roles without which little can be done."""
    roles = {one.role for one in taken.columns}
    if not roles & {"judge", "label"}:
        yield "no column was taken for scores: say which are (--judge, --label)."
    elif "item" not in roles:
        yield "no column holds ids: each row counts as an item of its own (--item names one)."


def _not_taken(sources: list[Source], said: Columns, trouble: TableError) -> Look:
    """Of files that make no tables: what the columns look like, what is wrong, and what to try."""
    sides: list[Side] = [""] if len(sources) == 1 else ["judge", "label"]
    found = sided([seen(source, side, said) for source, side in zip(sources, sides, strict=True)], said)
    columns = tuple(column for one in found for column in _with_ids(one).taken({}))
    text = str(trouble)
    if isinstance(trouble, TableArgumentError) and trouble.argument in Columns.__annotations__:
        text = trouble.told("--{}".format)
    notes = (*(note for source in sources for note in source.notes), text)
    taken = Intake(tuple(sources), columns, "long", "", False, None, None, None, None, False, (), notes, said)
    if len(sources) == 2 and _can_be_taken(sources[::-1], said):
        turned = replace(taken, sources=taken.sources[::-1])
        text = "the other way round they make tables: the judge's file comes first, people's second."
        return Look(taken, possibilities(taken, ()), (*notes, text), *tries_of(turned))
    wanted = isinstance(trouble, ArgumentError) and trouble.argument == "scale" and "scale" not in said
    scale = _scale_to_say(found) if wanted else ""
    again = replace(taken, said=Columns(**said, scale=scale)) if scale else None
    return Look(taken, possibilities(taken, ()), notes, *(tries_of(again) if again else ((), ())))


def _can_be_taken(sources: list[Source], said: Columns) -> bool:
    try:
        return taken_in(*sources, **said).scores is not None
    except ValueError:
        return False


def _with_ids(found: Seen) -> Seen:
    """With the likeliest column of ids, which is settled where rows are matched."""
    likely = found.ids[:1] if "item" not in found.roles else ()
    return found.with_role("item", likely[0], "the likeliest of them") if likely else found


def _scale_to_say(found: Iterable[Seen]) -> str:
    """The words of scores whose order nobody knows, the commonest first; of percentages their ends."""
    columns = [(one.source.frame[value.column], value.nature) for one in found for value in one.graded]
    if any(str(cell).strip().endswith("%") for cells, _ in columns for cell in cells):
        return "0..100"
    words = Counter(str(cell).strip() for cells, kind in columns if kind == "texts" for cell in cells.dropna())
    return "|".join(word for word, _ in words.most_common() if word)


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


def copied_labels(taken: Intake) -> Iterator[str]:
    """People who never differ, where there is something to differ about."""
    frame = pd.DataFrame() if taken.people is None else taken.people.astype({"item": object, "rater": object})
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


def _role(taken: Taken) -> str:
    of = f" ({taken.stands})" if taken.stands and taken.stands != taken.column else ""
    return f"{ROLES[taken.role]}{of}"


def _told(look: Look) -> Iterator[str]:
    yield from _taken_lines(look)
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
    return "\n".join(_taken_lines(look))


def _taken_lines(look: Look) -> Iterator[str]:
    for source in look.intake.sources:
        rows, columns = source.frame.shape
        yield f"{visible(source.name)}: {_number(rows, 'row')}, {_number(columns, 'column')}"
    if look.columns:
        yield from ("", *_grid([("columns", "taken for", "why"), *_grouped(look.intake)]))
        yield from ("", *_wrapped(holds(look.intake)))
    if look.notes:
        yield from ("", _MIND)
        yield from (line for note in look.notes for line in _wrapped(note, "  - "))


def _refused(can: Iterable[Can]) -> list[str]:
    """What cannot be computed, and why; what has one reason in one line."""
    found: dict[str, list[str]] = {}
    for one in can:
        if not one.possible:
            found.setdefault(one.why, []).append(one.what)
    return [f"{'; '.join(what)}: {visible(why)}." for why, what in found.items()]


def holds(taken: Intake) -> str:
    """What the tables hold, in a sentence."""
    parts = []
    if taken.scores is not None and len(taken.scores):
        parts.append(_names("judge", taken.scores["rater"]))
        parts += [_names(name, taken.scores[name]) for name in ("criterion", "system") if name in taken.scores]
        if "group" in taken.scores:
            parts.append(_number(taken.scores["group"].nunique(), "group"))
    if taken.gold is not None and taken.people is not None and len(taken.gold):
        people = taken.people["rater"].nunique()
        parts.append(f"{_number(len(taken.gold), 'label')} of {_number(people, 'annotator')}")
    return "; ".join([*filter(None, parts), scale_in_words(taken)]) + "."


def _names(of: str, values: Any) -> str:
    names = [visible(name, 24) for name in values.dropna().unique()]
    listed = ", ".join(names[:4]) + f" and {len(names) - 4} more" * (len(names) > 4)
    several = {"criterion": "criteria"}.get(of, f"{of}s")
    return f"{of} {listed}" if len(names) == 1 else f"{len(names)} {several} ({listed})" if names else ""


def _with_why(taken: Intake) -> Iterator[tuple[Taken, str]]:
    """Each column with the reason, and of labels how many are blank."""
    frames = {source.name: source.frame for source in taken.sources}
    for one in taken.columns:
        cells = frames[one.source][one.column]
        blanks = int(blank(cells).sum()) if one.role == "label" and "blank" not in one.why else 0
        yield one, f"{one.why}{f', blank in {blanks} of {len(cells)} rows' * (blanks > 0)}"


def _grouped(taken: Intake) -> list[tuple[str, str, str]]:
    """Columns that were taken for one thing for one reason, in one row; those that are not used last."""
    found: dict[tuple[str, ...], list[str]] = {}
    for one, why in _with_why(taken):
        found.setdefault((one.source, one.role, why), []).append(visible(one.column, 40))
    order = sorted(found, key=lambda key: key[1] == "other")
    several = len({key[0] for key in found}) > 1
    return [
        (_shortened(found[key]), ROLES[key[1]], visible(key[2]) + f" ({visible(key[0], 30)})" * several)
        for key in order
    ]


def _shortened(names: list[str]) -> str:
    """As many names as there is room for."""
    room = [n for n in range(1, len(names) + 1) if len(", ".join(names[:n])) <= 2 * _MOST] or [1]
    more = len(names) - room[-1]
    return ", ".join(names[: room[-1]]) + f" and {more} more" * (more > 0)


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
    yield f"<p>{escape(names)}: {escape(holds(look.intake))}</p>"
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
