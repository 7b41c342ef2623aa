"""A look at a user's files: the roles of their columns, what they can answer, and the calls and commands to type."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import shortlist
from calib.inputs.availability import LEAST_GOLD, Beside, Can, beside, is_one, number, possibilities
from calib.inputs.cells import blank, folded
from calib.inputs.names import BY_COLUMN, Columns, InferredColumn, InferredTables, Side, Source, key
from calib.inputs.roles import FEW_WORDS, is_table, seen
from calib.inputs.sides import may_be_labels, sided
from calib.inputs.source import logs_named, source_of
from calib.inputs.tables import infer_tables
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.labels import Labels
from calib.table.text import visible

_WIDTH = 80
_MIND, _CAN, _CANNOT = "What looks wrong, or was forgiven", "What can be computed", "What cannot, and why"
_MOST = 34  # characters of a list of columns
_FEW_PEOPLE = 20  # up to so many each is compared with each
ROLES = {
    "item": "ids", "judge": "judge's scores", "label": "people's labels", "annotator": "who labelled",
    "rater": "which judge", "system": "systems", "group": "groups", "criterion": "criterion", "source": "source text",
    "output": "output text", "text": "text", "weight": "weights", "first": "first of a pair",
    "second": "second of a pair", "other": "not used",
}  # fmt: skip
_BEGINS = re.compile(r"[+-]?\d+(?:\.\d+)?(?![\d.,/%])")  # of a score in words: 4 out of 5, 4.0 - good
_FRAMES = ("frame", "labels")  # what a frame is called that has no name


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
    def annotations(self) -> pd.DataFrame | None:
        """The labels of each annotator."""
        return self.intake.annotations

    @property
    def labels(self) -> pd.DataFrame | None:
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
        lines = [columns_text(self), "", _CAN]
        lines += _grid([(visible(one.what), visible(one.why)) for one in self.can if one.possible], "  ")
        refused, possible = _refused(self.can), any(one.possible for one in self.can)
        if not possible:
            lines.append(f"  Nothing: {self.can[0].why}." if len(refused) == 1 else "  Nothing.")
        if len(refused) > 1 or possible:
            lines += ["", _CANNOT, *(line for text in refused for line in _wrapped(text, "  - "))]
        for head, texts in (("In a shell", self.commands), ("In Python", self.lines)):
            if texts:
                lines += ["", head, *(f"  {text}" for text in texts)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """As HTML, with all texts escaped."""
        names = "; ".join(visible(source.name) for source in self.intake.sources)
        html = f"<p>{escape(names)}: {escape(_holds(self.intake))}</p>"
        if self.columns:
            html += str(self.to_frame().map(visible).to_html(index=False, escape=True))
        rows, cell = "", "<td style='text-align: left'>{}</td>".format
        for one in self.can:
            if one.possible:
                rows += f"<tr>{cell(escape(visible(one.what)))}{cell(escape(visible(one.why)))}</tr>"
        html += _html_list(_MIND, map(visible, self.notes))
        html += f"<p><b>{_CAN}</b></p><table><tbody>{rows}</tbody></table>" + _html_list(_CANNOT, _refused(self.can))
        for head, texts in (("In Python", self.lines), ("In a shell", self.commands)):
            if texts:
                html += f"<p><b>{head}</b></p><pre>{escape(chr(10).join(texts))}</pre>"
        return html


def look(first: Any, second: Any = None, **columns: Unpack[Columns]) -> Look:
    """Look at your own files: what they are taken for, what can be computed from them, what to type.

    Parameters
    ----------
    first : str, Path or frame
        A file (csv, jsonl, Parquet, Excel), or a DataFrame of pandas, polars or pyarrow; judge and people may be side
        by side in it, with blanks where there is no label.
    second : str, Path or frame, optional
        People's labels, where they are somewhere else.
    **columns : str
        Roles of columns that you say, rather than leave to be recognised: `item`, `label_item`, `judge`, `label`,
        `annotator`, `rater`, `system`, `group`, `criterion`, `scale`, `wide`.

    Returns
    -------
    Look
        Prints as a page of text; `calib.report(look, "page.html")` does all that it says can be done. What is wrong
        with a table is said there; only what cannot be read as a table is an error.

    Examples
    --------
    >>> import calib, pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c", "d"], "gpt-4o": [4, 2, 5, 3], "label": [5, 1, None, None]})
    >>> overview = calib.look(mine)
    >>> overview.to_frame()[["column", "taken for"]].values.tolist()
    [['id', 'ids'], ['gpt-4o', "judge's scores"], ['label', "people's labels"]]
    >>> [str(one) for one in overview.can if one.verb == "reliability"]
    ['reliability of people, ceiling of a judge: no, only one annotator: at least two needed']
    """
    options: Columns = {name: value for name, value in columns.items() if value is not None}  # type: ignore[assignment]
    sources = []
    for name, frame, thing in zip(("first", "second"), _FRAMES, (first, second), strict=True):
        if isinstance(thing, str | os.PathLike):  # a file that is not there has a name of its own; it may name a sheet
            with logs_named(first, second):
                sources.append(replace(source_of(thing, ""), path=Path(thing)))
        elif name == "first" or thing is not None:
            source = source_of(thing.ratings if isinstance(thing, Labels) else thing, name)
            # two frames are called as the lines to type call them
            sources.append(source if second is None else replace(source, name=f"the frame `{frame}`"))
    try:
        return look_at(infer_tables(*sources, **options))
    except TableError as error:  # of the files, not of an option
        return _look_of_unread(sources, options, error)


def look_at(intake: InferredTables) -> Look:
    """A look at files from which tables were inferred already."""
    pairs = beside(intake)
    can = possibilities(intake, pairs)
    roles, lacking = {one.role for one in intake.columns}, []
    if not roles & {"judge", "label"}:
        lacking = ["no column was taken for scores: say which are (judge=, label=; in a shell --judge, --label)."]
    elif "item" not in roles:
        lacking = ["no column holds ids: each row counts as an item (item= names one, in a shell --column item=)."]
    if "label" not in roles and (hint := may_be_labels(intake.sources[-1], intake.columns)):
        lacking.append(f"{hint}.")
    read = [f"{source.name}: {note}" for source in intake.sources for note in source.notes]
    lacking += shared_sources(intake)
    doubts = [*intake.notes, *intake.scale_warnings, *lacking, *suspicions(pairs), *copied_labels(intake)]
    notes = tuple(dict.fromkeys([*read, *doubts]))
    return Look(intake, can, notes, *calls_of(intake, can))


def _look_of_unread(sources: list[Source], options: Columns, error: TableError) -> Look:
    """A look at files that make no tables: what the columns look like, what is wrong, and what to try."""
    sides: list[Side] = [""] if len(sources) == 1 else ["judge", "label"]
    recognised = sided([seen(source, side, options) for source, side in zip(sources, sides, strict=True)], options)
    text, columns = str(error), list[InferredColumn]()
    for one in recognised:  # with the likeliest column of ids, which is settled where rows are matched
        likely = one.ids and "item" not in one.roles
        columns += (one.with_role("item", one.ids[0], "the likeliest of them") if likely else one).columns()
    if isinstance(error, TableArgumentError) and error.argument in Columns.__annotations__:
        text = error.sentence("--{}".format)
    notes = (*(note for source in sources for note in source.notes), text)
    none = (None,) * 4
    intake = InferredTables(tuple(sources), tuple(columns), "", False, *none, False, (), notes, options)
    can = possibilities(intake, ())
    turned = replace(intake, sources=intake.sources[::-1])
    with suppress(ValueError):
        if len(sources) == 2 and infer_tables(*turned.sources, **options).scores is not None:
            text = "the other way round they make tables: the judge's file comes first, people's second."
            return Look(intake, can, (*notes, text), *_calls("look", turned))
    scale = ""
    if isinstance(error, ArgumentError) and error.argument == "scale" and "scale" not in options:
        # the words of scores, each with the number it begins with, else with one to fill in; of percentages the ends
        scores = [(one.source.frame[value.column], value.nature) for one in recognised for value in one.graded]
        texts = Counter(str(cell).strip() for cells, kind in scores if kind == "texts" for cell in cells.dropna())
        words = list({folded(word): word for word, _ in texts.most_common() if word}.values())
        begun = {word: float(start[0]) for word in words if (start := _BEGINS.match(word))}
        in_order = sorted(begun, key=begun.__getitem__) if len(set(begun.values())) == len(words) else []
        percent = any(str(cell).strip().endswith("%") for cells, _ in scores for cell in cells)
        valued = [f"{word}={begun[word]:g}" for word in in_order] or [f"{word}=?" for word in words]
        scale = "0..100" if percent else "|".join(valued) if len(words) <= FEW_WORDS else ""
    calls = _calls("look", replace(intake, options=Columns(**options, scale=scale))) if scale else ((), ())
    if "compare_runs" in text and any(key(one.column) == "run" or one.role == "system" for one in columns):
        calls = _calls("compare_runs", intake)
    return Look(intake, can, notes, *calls)


# --- what looks wrong -------------------------------------------------------------------------------------------


def shared_sources(intake: InferredTables) -> Iterator[str]:
    """Notes on files in which several rows answer one text, and no column groups them."""
    tables = [table for table in (intake.scores, intake.annotations) if table is not None]
    if any("group" in table and table["group"].notna().any() for table in tables):
        return
    for source in intake.sources:
        column = {one.role: one.column for one in intake.columns if one.source == source.name}
        if not {"item", "source"} <= set(column):
            continue
        each = [column[role] for role in ("source", "item", "system") if role in column]
        rows = source.frame[each].dropna().astype(str).drop_duplicates()
        n, name = rows[column["source"]].nunique(), column["source"]
        if 1 < n < len(rows):
            how = f"rows of one text are no independent items, so name it: group={name!r}, --group {name}"
            yield f"{source.name}: `{name}` has {n} different texts in {len(rows)} rows; {how}."


def suspicions(pairs: Sequence[Beside]) -> Iterator[str]:
    """What no rule forbids, but is hardly meant."""
    for pair in pairs:
        judged, rows = pair.frame["x"].dropna(), pair.labelled
        who = f"{pair.rater} ({pair.criterion})" if len({p.criterion for p in pairs}) > 1 else pair.rater
        if len(judged) > 1 and is_one(judged):
            yield f"{who} gives {judged.iloc[0]:g} to every item: it does not distinguish them."
        elif len(rows) >= LEAST_GOLD and not is_one(rows["y"]) and (rows["x"] == rows["y"]).all():
            yield f"{who} says what people say of all {len(rows)} labelled items: is it a copy of the labels?"
        elif len(rows) >= LEAST_GOLD and is_one(rows["y"]):
            yield f"all {len(rows)} labels beside {who} are {rows['y'].iloc[0]:g}: they cannot show if it is right."


def copied_labels(intake: InferredTables) -> Iterator[str]:
    """Annotators who never differ, although their labels vary."""
    if intake.annotations is None:
        return
    frame = intake.annotations.astype({"item": object, "rater": object})
    for criterion, rows in frame.groupby("criterion", observed=True, sort=False):
        if rows["rater"].nunique() > _FEW_PEOPLE:
            continue
        table = rows.pivot_table(index="item", columns="rater", values="score", sort=False)
        for one, other in combinations(table, 2):
            both = table[[one, other]].dropna()
            if len(both) >= LEAST_GOLD and not is_one(both[one]) and (both[one] == both[other]).all():
                yield f"{one} and {other} say the same of all {len(both)} items of {criterion}: is one a copy?"


# --- in words ---------------------------------------------------------------------------------------------------


def columns_text(look: Look) -> str:
    """What the files were taken for, and what looks wrong."""
    lines = []
    for source in look.intake.sources:
        rows, columns = source.frame.shape
        lines.append(f"{visible(source.name)}: {number(rows, 'row')}, {number(columns, 'column')}")
    if look.columns:
        # columns that were taken for one thing for one reason in one row; those that are not used last
        alike: dict[tuple[str, ...], list[str]] = {}
        for one, why in _with_why(look.intake):
            alike.setdefault((one.source, one.role, why), []).append(visible(one.column, 40))
        several = len({source for source, _, _ in alike}) > 1
        table = [("columns", "taken for", "why")]
        for (file, role, why), names in sorted(alike.items(), key=lambda pair: pair[0][1] == "other"):
            # as many names as there is room for
            n = max((n for n in range(1, len(names) + 1) if len(", ".join(names[:n])) <= 2 * _MOST), default=1)
            reason = visible(why) + f" ({visible(file, 30)})" * several
            table.append((shortlist(names, n), ROLES[role], reason))
        lines += ["", *_grid(table)]
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
        parts.append(_column_names("judge", intake.scores["rater"]))
        parts += [_column_names(name, intake.scores[name]) for name in ("criterion", "system") if name in intake.scores]
        if "group" in intake.scores:
            parts.append(number(intake.scores["group"].nunique(), "group"))
    if intake.labels is not None and intake.annotations is not None and len(intake.labels):
        people = intake.annotations["rater"].nunique()
        parts.append(f"{number(len(intake.labels), 'label')} of {number(people, 'annotator')}")
    scale = "scale not known (scale=, --scale)"
    if intake.scale:
        parsed = parse_scale(intake.scale)
        values = dict(zip(parsed.values, intake.words, strict=False)) if parsed and intake.words else {}
        text = ", ".join(f"{word} = {value:g}" for value, word in values.items()) or intake.scale
        scale = f"scale {text}{' (a guess; give scale= or --scale)' * intake.guessed_scale}"
    return "; ".join([*filter(None, parts), scale]) + "."


def _column_names(of: str, values: Any) -> str:
    names = [visible(name, 24) for name in values.dropna().unique()]
    listed = shortlist(names, 4)
    several = {"criterion": "criteria"}.get(of, f"{of}s")
    return f"{of} {listed}" if len(names) == 1 else f"{len(names)} {several} ({listed})" if names else ""


def _with_why(intake: InferredTables) -> Iterator[tuple[InferredColumn, str]]:
    """Each column with the reason, and of labels how many are blank."""
    frames = {source.name: source.frame for source in intake.sources}
    for one in intake.columns:
        cells = frames[one.source][one.column]
        blanks = int(blank(cells).sum()) if one.role == "label" and "blank" not in one.why else 0
        yield one, f"{one.why}{f', blank in {blanks} of {len(cells)} rows' * (blanks > 0)}"


def _grid(rows: Sequence[tuple[str, ...]], indent: str = "") -> Iterator[str]:
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
    # an option stays in one piece
    later = " " * len(mark)
    return textwrap.wrap(visible(text), _WIDTH, initial_indent=mark, subsequent_indent=later, break_on_hyphens=False)


def _html_list(head: str, texts: Iterable[str]) -> str:
    points = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<p><b>{head}</b></p><ul>{points}</ul>" if points else ""


# --- calls of verbs as lines of Python and as commands ----------------------------------------------------------------


def report_path(intake: InferredTables) -> Path:
    """The default path of a report: in this folder, named after the file."""
    path = next((source.path for source in intake.sources if source.path is not None), Path("calib"))
    return Path(f"{path.stem}-report.html")


def calls_of(intake: InferredTables, can: Sequence[Can]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Calls of the report and of each question that can be answered: as commands, if all is in files; as Python."""
    frames, words = _python_arguments(intake)
    paths, options = [str(source.path) for source in intake.sources], as_options(intake.options)
    commands, lines = list[str](), list[str]()
    if any(
        one.possible
        and one.verb not in ("choose", "labels_needed")
        and one.options.get("estimator") is None
        and not (one.verb == "interval" and intake.scores is None)  # a report is about a judge, or several annotators
        for one in can
    ):
        commands.append(_joined("report", paths, options))
        page = _literal(str(report_path(intake)))
        lines.append(f"calib.report(calib.look({', '.join([*frames, *words])}), {page})")
    own = not any(is_table(source.frame) for source in intake.sources) and "criterion" not in intake.options
    for one in (one for one in can if one.possible):
        # for all criteria, or for each one that allows it
        each: list[dict[str, Any]] = [{}] if one.whole else [{"criterion": name} for name in one.criteria]
        # of two systems both are named, else the first, which is held against all others
        systems = one.systems if len(one.systems) == 2 else one.systems[:1]
        # of reliability people come first; items are drawn from the judge's scores alone
        order = {"choose": slice(1), "reliability": slice(None, None, -1)}.get(one.verb, slice(None))
        for criterion in each if one.whole or (own and one.verb != "choose") else ():
            named = {**one.options, **criterion}
            sides = dict(zip("ab", systems, strict=False))
            arguments = [f"{name}={_literal(value)}" for name, value in {**sides, **named}.items()]
            lines.append(f"calib.{one.verb}({', '.join([*frames[order], *arguments, *words])})")
            amount = [str(named.pop("n"))] if "n" in named else []
            more = [*as_options(named), *options, *["--out", "chosen.csv"] * (one.verb == "choose")]
            commands.append(_joined(one.verb.replace("_", "-"), [*paths[order], *amount, *systems], more))
    if intake.scores is not None and intake.annotations is None:
        commands.append(_joined("plan", paths, options))
    in_files = all(source.path is not None for source in intake.sources)
    return tuple(commands) if in_files else (), tuple(lines)


def _calls(verb: str, intake: InferredTables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The call of a verb with these options: as a command, if all is in files; as Python."""
    files, options = _python_arguments(intake)
    line = f"calib.{verb}({', '.join([*files, *options])})"
    in_files = all(source.path is not None for source in intake.sources)
    paths = [str(source.path) for source in intake.sources]
    command = _joined(verb.replace("_", "-"), paths, as_options(intake.options))
    return (command,) if in_files else (), (line,)


def _python_arguments(intake: InferredTables) -> tuple[list[str], list[str]]:
    """The files (a frame by a name to replace) and the options for columns, as Python."""
    files = [_FRAMES[place] if s.path is None else _literal(str(s.path)) for place, s in enumerate(intake.sources)]
    return files, [f"{name}={_literal(value)}" for name, value in intake.options.items()]


def as_options(values: Mapping[str, Any]) -> list[str]:
    """Each value as an option of a shell; one that begins with a dash is joined to its name."""
    words = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        for one in map(str, [value] if isinstance(value, str | float | int) else value):
            if name in BY_COLUMN:
                words += ["--column", f"{name}={one}"]
            else:
                words += [f"{option}={one}"] if one[:1] == "-" else [option, one]
    return words


def _joined(command: str, places: Sequence[str], options: Sequence[str]) -> str:
    """A command; where a path begins with a dash, all paths stand behind two dashes."""
    words = [*options, "--", *places] if any(place[:1] == "-" for place in places) else [*places, *options]
    return " ".join(["calib", command, *map(shell_word, words)])


def shell_word(text: str) -> str:
    r"""A word quoted for a shell; invisible characters are escaped, as bash and zsh understand.

    Examples
    --------
    >>> print(shell_word("results.csv"), shell_word("my file's"), shell_word("a\x1b[31m"))
    results.csv 'my file'"'"'s' $'a\x1b[31m'
    """
    if text.isprintable():
        return shlex.quote(text)
    written = ""
    for char in text.replace("\\", "\\\\").replace("'", "\\'"):
        code = f"\\x{ord(char):02x}" if ord(char) < 128 else f"\\U{ord(char):08x}"
        written += char if char.isprintable() else code
    return f"$'{written}'"


def _literal(value: Any) -> str:
    """A value as Python, a text in double quotes where possible."""
    if not isinstance(value, str | float | int):
        return f"[{', '.join(map(_literal, value))}]"
    text = repr(value)
    plain = isinstance(value, str) and text[0] == "'" and not {'"', "\\"} & set(text)
    return f'"{text[1:-1]}"' if plain else text
