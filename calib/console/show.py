"""Output of commands: tables, sentences, warnings, files that were written."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import textwrap
import warnings
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import calib
from calib.core.progress import end_with_parent
from calib.table.text import visible

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20


def say(message: str) -> None:
    """A line on standard error: what went wrong, or has to be minded."""
    typer.echo(f"calib: {visible(message)}", err=True)


def shown_text(value: object) -> str:
    """For a terminal: line by line without control characters."""
    return "\n".join(visible(line) for line in str(value).splitlines())


def show_results(results: calib.Results[Any], out: Path | None = None, *, conclude: bool = False) -> None:
    """The columns in which results differ, the shared values, signature, notes; conclusions and assumptions."""
    from calib.report.columns import informative_columns
    from calib.report.sections import from_topics

    kept, rest = informative_columns(results)
    if len(kept):
        print_table(kept)
        paragraphs(rest)
    signatures = {result.signature for result in results}
    if len(signatures) == 1:
        typer.echo(f"signature: {signatures.pop()}")
    # of a note the rest is for a report
    notes = [note.partition(". ")[0].rstrip(".") + "." for note in from_topics(results, "notes")]
    paragraphs(*notes, *(calib.conclusions(results) if conclude else ()))
    _warn_once(results)
    write_table(results.to_frame(), out)
    assumed = [f"- {text}" for text in from_topics(results, "assumptions")] if conclude else []
    paragraphs(*["Assumed:"] * bool(assumed), *assumed)


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
    paragraphs(*str(results).splitlines())
    _warn_once(results)


def paragraphs(*texts: str) -> None:
    """Texts as wide as the terminal."""
    for text in texts:
        width = shutil.get_terminal_size().columns
        typer.echo(textwrap.fill(shown_text(text), width, break_on_hyphens=False))


def show_rows(frame: pd.DataFrame) -> None:
    """The first rows of a table."""
    from calib.report.columns import informative

    print_table(informative(frame)[0].head(_ROWS))
    typer.echo(f"{len(frame)} rows" if len(frame) <= _ROWS else f"... {len(frame)} rows in all")


def print_table(frame: pd.DataFrame) -> None:
    """A table as wide as the terminal, in several parts where it needs them."""
    import pandas as pd

    from calib.core.result import short

    columns: dict[str, Any] = {}
    for name, values in frame.items():  # numbers as they are, words flush left under their head
        if values.dtype.kind in "iuf":
            columns[shown_text(name)] = values
        else:
            words = [shown_text(name), *(shown_text(value) for value in values)]
            head, *cells = [word.ljust(max(map(len, words))) for word in words]
            columns[head] = cells
    grid = pd.DataFrame(columns)
    width, options = shutil.get_terminal_size().columns, {"float_format": short, "na_rep": ""}
    text = grid.to_string(index=False, **options)
    if max(map(len, text.splitlines()), default=0) > width:
        # in a table of several parts each part repeats the words that name its rows
        names = [name for name, kind in grid.dtypes.items() if kind.kind not in "iuf"]
        rows = grid[names].agg(" ".join, axis="columns") if names else grid.index
        text = grid.drop(columns=names).set_axis(rows, axis="index").to_string(line_width=width, **options)
    typer.echo(text)


def write_table(frame: pd.DataFrame, out: Path | None) -> None:
    """The table into a file, if one was named."""
    if out is not None:
        typer.echo(f"wrote {len(frame)} rows to {shown_text(calib.table.write(frame, out, for_spreadsheets=True))}")


# --- several processes for the parts of a folder ----------------------------------------------------------------------


@contextmanager
def processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """An executor, or None for this process alone; new processes, as a copy of this one may hang on its threads."""
    if number < 2:
        yield None
        return
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
