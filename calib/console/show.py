"""Output of commands: tables, sentences, warnings, files that were written."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import calib
from calib.core.progress import end_with_parent
from calib.core.text import plain_json, shortlist
from calib.table.text import visible

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    import pandas as pd

    from calib.table.paper import PaperTable

_ROWS, _NAMED = 20, 8  # rows of a table, names of columns left out
# the columns that a table keeps where it is too wide
_MAIN = ("estimate", "rmse", "agreement", "conf_low", "conf_high", "score", "mean", "n_labels", "half_width", "p_value")


@dataclass(slots=True)
class Answer:
    """What a command has to say, for --json."""

    schema: str = field(default="calib/answer/v1", init=False)
    command: str
    tables: list[dict[str, Any]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    next: str | None = None


_answers: list[Answer] = []  # the one that is being made, if any


@contextmanager
def answer_as_json(command: str) -> Iterator[None]:
    """What is printed meanwhile becomes one JSON object, printed at the end unless the command failed."""
    _answers.append(Answer(command))
    try:
        ended = None
        try:
            yield
        except typer.Exit as code:  # an answer, too
            ended = code
        typer.echo(json.dumps(asdict(_answers[-1]), allow_nan=False, indent=1))
        if ended is not None:
            raise ended
    finally:
        _answers.pop()


def add_table(name: str, frame: pd.DataFrame) -> None:
    """With --json a table of the answer, whole."""
    for answer in _answers:
        answer.tables.append({"name": name, "rows": plain_json(frame.to_dict("records"))})


def say(message: str) -> None:
    """A line on standard error: an error or a warning."""
    for answer in _answers:
        answer.messages.append(message)
    line = f"calib: {visible(message)}"
    typer.echo(wrapped(line) if sys.stderr.isatty() else line, err=True)


def say_next(step: str) -> None:
    """The command that makes sense next, the last line on standard error; with --json a part of the answer."""
    for answer in _answers:
        answer.next = step
    if not _answers:
        typer.echo(f"next: {visible(step)}", err=True)


def echo(text: object = "", *, whole: bool = False) -> None:
    """Text on standard output as wide as the terminal, or with whole lines; with --json a part of the answer."""
    for answer in _answers:
        answer.text += filter(None, map(visible, str(text).splitlines()))
    if not _answers:
        lines = shown_text(text).split("\n")
        typer.echo("\n".join(lines if whole else map(wrapped, lines)))


def wrapped(line: str) -> str:
    """A line as wide as the terminal, further lines indented as it is; what is to be typed stays whole."""
    width, indent = shutil.get_terminal_size().columns, " " * (len(line) - len(line.lstrip(" -")))
    if len(line) <= width or line.startswith(("  calib", "signature:")):
        return line
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def wrote(path: object, what: str = "", *, to_say: bool = True) -> None:
    """Note that a file was written, and say so unless other text does."""
    for answer in _answers:
        answer.written.append(visible(str(path)))
    if to_say and not _answers:
        typer.echo(f"wrote {what}{shown_text(path)}")


def shown_text(value: object) -> str:
    """For a terminal: line by line without control characters."""
    return "\n".join(visible(line) for line in str(value).splitlines())


def show_results(results: calib.Results[Any], out: Path | None = None, *, conclude: bool = False) -> None:
    """The columns in which results differ, the shared values, signature, notes; conclusions and assumptions."""
    from calib.report.columns import informative_columns
    from calib.report.sections import from_topics

    kept, rest = informative_columns(results)
    _add_results(results)
    if len(kept) and not _answers:
        print_table(kept)
        paragraphs(rest)
    signatures = {result.signature for result in results}
    if len(signatures) == 1 and not _answers:
        echo(f"signature: {signatures.pop()}")
    # the first sentence of each note; a report has the rest
    notes = [note.partition(". ")[0].rstrip(".") + "." for note in from_topics(results, "notes")]
    paragraphs(*notes, *(calib.conclusions(results) if conclude else ()))
    _warn_once(results)
    write_table(results.to_frame(), out)
    assumed = [f"- {text}" for text in from_topics(results, "assumptions")] if conclude else []
    paragraphs(*["Assumed:"] * bool(assumed), *assumed)


def _add_results(results: calib.Results[Any]) -> None:
    add_table(type(results[0]).__name__ if len(results) else "none", results.to_frame())


def _warn_once(results: calib.Results[Any]) -> None:
    """Each warning once; of several with one name the first, and how many there are."""
    by_name: dict[str, list[str]] = {}
    for text in (text for result in results for text in getattr(result, "warnings", ())):
        name = text.partition(": ")[0]
        by_name.setdefault(text if " " in name else name, []).append(text)
    for texts in by_name.values():
        more = f" (and {len(texts) - 1} more results)" if len(set(texts)) > 1 else ""
        warnings.warn(texts[0] + more, stacklevel=1)


def show_lines(results: calib.Results[Any]) -> None:
    """The lines of text of results."""
    _add_results(results)
    paragraphs(*str(results).splitlines())
    _warn_once(results)


def paragraphs(*texts: str) -> None:
    """Texts as wide as the terminal, each one paragraph."""
    for text in texts:
        echo(" ".join(text.split()))


def show_rows(frame: pd.DataFrame) -> None:
    """The first rows of a table."""
    from calib.report.columns import informative

    print_table(frame if _answers else informative(frame)[0].head(_ROWS))
    if not _answers:
        echo(f"{len(frame)} rows" if len(frame) <= _ROWS else f"... {len(frame)} rows in all")


def print_table(frame: pd.DataFrame) -> None:
    """A table as wide as the terminal: where it needs more, its main columns, and how to see the others."""
    add_table("rows", frame)
    if _answers:
        return
    width = shutil.get_terminal_size().columns
    columns = _columns(frame, width)
    if sum(2 + _wide(column[0]) for column in columns) > width + 2:
        columns = _columns(frame, max(width // 3, 12))
    # the words in front name the rows, and the estimate with its interval comes before the rest
    numeric = [values.dtype.kind in "iuf" for _, values in frame.items()]
    first, main = [*numeric, True].index(True), [name in _MAIN for name in frame.columns]
    order = sorted(range(len(columns)), key=lambda at: 0 if at < first else 2 - main[at])
    room, kept = width + 2, set[int]()
    for at in order:
        room -= 2 + _wide(columns[at][0])
        if kept and room < 0:
            break
        kept.add(at)
    for cells in zip(*(column for at, column in enumerate(columns) if at in kept), strict=True):
        typer.echo("  ".join(cells).rstrip())
    _say_left_out([columns[at][0].strip() for at in order if at not in kept])


def print_paper(paper: PaperTable) -> None:
    """The table of a paper: the first columns of one that is too wide."""
    for n in range(len(paper.heads), 0, -1):
        cells = tuple(row[:n] for row in paper.cells)
        grid = str(replace(paper, heads=paper.heads[:n], cells=cells, note=""))
        if _answers or max(map(_wide, grid.splitlines())) <= shutil.get_terminal_size().columns:
            break
    echo(grid, whole=True)
    _say_left_out([" ".join(head) for head in paper.heads[n:]])
    paragraphs("", paper.note)


def _say_left_out(names: list[str]) -> None:
    if names:
        echo(f"Not shown (screen too narrow): {shortlist(names, _NAMED)}; --json has all columns.")


def _columns(frame: pd.DataFrame, longest: int) -> list[list[str]]:
    """Head and cells of each column in one width: words flush left, numbers flush right."""
    from calib.core.result import short

    columns = []
    for name, values in frame.items():
        missing = values.isna()
        words = [short(one) if isinstance(one, float) else visible(one, longest) for one in values]
        words = ["" if gone else word for gone, word in zip(missing, words, strict=True)]
        column = [visible(name, longest), *words]
        wide, flush = max(map(_wide, column)), str.rjust if values.dtype.kind in "iuf" else str.ljust
        columns.append([flush(word, wide - _wide(word) + len(word)) for word in column])
    return columns


def _wide(text: str) -> int:
    """Places on a terminal: of a Chinese character two."""
    return len(text) + sum(map("WF".__contains__, map(unicodedata.east_asian_width, text)))


def write_table(frame: pd.DataFrame, out: Path | None) -> None:
    """The table into a file, if one was named."""
    if out is not None:
        wrote(calib.table.write(frame, out, for_spreadsheets=True), f"{len(frame)} rows to ")


# --- several processes for the parts of a folder ----------------------------------------------------------------------


@contextmanager
def processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """An executor of new processes (a copy of this one might hang on its threads), or None for this one alone."""
    if number < 2:
        yield None
        return
    import multiprocessing
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=_stopped_by_parent) as executor:
        try:
            yield executor
        except BrokenExecutor:
            from calib.scale.partitions import DIED

            raise ChildProcessError(f"{DIED}: run the same command again.") from None
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()  # which what it works on takes for an orderly stop
            raise


def _stopped_by_parent() -> None:
    """A keyboard's interrupt reaches all processes: only the first one hears it, and stops the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
