"""Files of logs: JSON with what tools put into it, lines of it, arrays too long for memory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from calib.adapters.tables import Asked, items_of, ratings_of, readings_of, scores_of
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.table import TableError

_HEAD = 1 << 20  # characters that tell whose log it is
_PIECE = 1 << 20  # characters of an array that are held at once, and more where one element is longer
_DECODER = json.JSONDecoder()
_BLANKS, _GAP = re.compile(r"\s*"), re.compile(r"[\s,]*")


def head_of(path: Path) -> str:
    """The beginning of a file, as far as it is text."""
    with path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace").removeprefix("\ufeff")


def json_of(path: Path) -> Any:
    """A whole file of JSON; a bare NaN, as some tools write, is a number that is missing."""
    try:
        return json.loads(path.read_text("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _broken(path, getattr(error, "lineno", 1)) from None


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one on each line, one at a time; another line is a `TableError`."""
    with path.open("rb") as file:
        for place, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                found = json.loads(raw.decode("utf-8-sig", "replace"))
            except (ValueError, RecursionError):
                raise _broken(path, place) from None
            if not isinstance(found, dict):
                raise TableError(f"{path.name}, line {place}: must be an object, but is {type(found).__name__}.")
            yield found


def array_of(path: Path) -> Iterator[Any]:
    """The elements of a file that is one array, one at a time, whatever its length."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        text, line = file.read(_PIECE), 1
        at = _end_of(_BLANKS, text, 0)
        if not text.startswith("[", at):
            raise TableError(f"{path.name}: must be an array of JSON, but begins with {text[at : at + 10]!r}.")
        at += 1
        while True:
            at = wrong = _end_of(_GAP, text, at)
            if text.startswith("]", at):
                if (text[at + 1 :] + file.read(_PIECE)).strip():
                    raise TableError(f"{path.name}: must be one array of JSON, but goes on after its end.")
                return
            try:
                found, end = _DECODER.raw_decode(text, at)
                whole = end < len(text)  # a number may go on
            except (ValueError, RecursionError) as error:
                whole, wrong = False, getattr(error, "pos", at)
            if whole:
                at = end
                yield found
            elif more := file.read(max(_PIECE, len(text) - at)):
                line += text.count("\n", 0, at)
                text, at = text[at:] + more, 0
            else:
                raise _broken(path, line + text.count("\n", 0, wrong))


def _end_of(blank: re.Pattern[str], text: str, at: int) -> int:
    found = blank.match(text, at)
    return found.end() if found else at


def rows_of(path: Path) -> Iterator[Any]:
    """The objects of an array, or of lines, by how the file begins."""
    head = head_of(path).lstrip()
    if path.suffix == ".json" and head.partition("\n")[0].strip() == "{":  # one object over many lines
        yield json_of(path)
    else:
        yield from array_of(path) if head.startswith("[") else lines_of(path)


def objects_in(found: Any, path: Path, name: str) -> list[dict[str, Any]]:
    """What a log has under a name: a list of objects, or nothing; anything else is a `TableError`."""
    rows = [] if found is None else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TableError(f"{path.name}: `{name}` must be a list of objects.")
    return rows


def _broken(path: Path, line: int) -> TableError:
    return TableError(f"{path.name}, line {line}: must be whole JSON, but is broken or cut off here.")


# --- another tool's log as calib's tables -----------------------------------------------------------------------------


# each is a file beside this one: `sniff(name, head)` knows its tool's files, `read(path)` gives their rows; one with a
# `STEP` reads a log of expectations, which are scores and no ratings
TOOLS = (
    "deepeval", "inspect_ai", "promptfoo", "lm_eval", "ragas", "mlflow", "opik", "langsmith", "braintrust",
    "openai_batch", "openai_evals", "helm",
)  # fmt: skip
_CALLED = {"inspect": "inspect_ai", "lm-eval": "lm_eval", "openai": "openai_batch"}


def read_log(
    path: str | Path | Sequence[str | Path],
    *,
    tool: str = "auto",
    system: str | None = None,
    item: str | None = None,
    rater: str | None = None,
    scale: str | Mapping[str, str] | None = None,
    texts: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and ratings from what another evaluation tool wrote.

    A judge's reply that was no score keeps its row, with a status in place of a number,
    however the tool wrote it: as a 0, as NaN, or not at all.

    Parameters
    ----------
    path : path or sequence of path
        A log, several of one tool, or a folder of them.
    tool : str, default "auto"
        Who wrote it: "deepeval", "inspect_ai", "promptfoo", "lm_eval", "ragas", "mlflow",
        "opik", "langsmith", "braintrust", "openai_batch", "openai_evals" or "helm"; "auto"
        looks at what the file holds.
    system, item, rater : str, optional
        Where the log names who wrote an output, the output's id, and the judge: a dotted path
        in the tool's own record of an output, such as ``"metadata.system"``; ``"file"`` is
        the file's name without its ending. For `system` and `rater` also a name itself.
        Default: what the tool itself says; without ids, prints of the texts are ids.
    scale : str or dict of str, optional
        The judge's scale, ``"1|2|3|4|5"`` or ``"0..1"``, or that of each criterion. Default:
        the one that the tool documents, or none; it is never guessed from the scores.
    texts : bool, default False
        Keep inputs, outputs and references in the items, and replies in the ratings.

    Returns
    -------
    items, ratings : DataFrame
        Of tools that keep a judge's expectation without its distribution (DeepEval, Opik)
        the second is a table of scores, and says what became of each reply by `status`.
        People's feedback (MLflow, Opik) is rows of the method "human".

    Warns
    -----
    UserWarning
        If repeats hold different outputs (each is then an item, ``id#k``), a run ended before
        its end, or checks that are no judge are among the scores.

    Notes
    -----
    Repeats of a judge's call on one output are draws of one rating; the output's text tells.
    The system's name joins an id that does not hold it, so that outputs of two systems to one
    input are two items; the input is their `group`.

    Examples
    --------
    >>> import json, tempfile
    >>> rows = [{"input": "Why?", "output": "So.", "expected": None, "scores": {"tone": s}} for s in (0.5, 0.75)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "results.json")
    ...     _ = log.write_text(json.dumps(rows))
    ...     items, ratings = read_log(log, system="v2", rater="gpt-4o")
    >>> len(items), ratings["draw"].tolist(), ratings["score"].tolist()
    (1, [0, 1], [0.5, 0.75])
    """
    asked = Asked(system, item, rater, scale, texts)
    files = _files_of(path)
    folder = any(one.is_dir() for one in _named(path))
    reader = _reader_of(files, tool, folder=folder)
    files = _of_reader(files, reader, tool, _named(path), folder=folder)
    # where a model under test is the judge, the harness kept its replies
    read = getattr(reader, "read_replies", reader.read) if rater is not None else reader.read
    rows: list[tuple[Path, Iterator[Any]]] = [(file, read(file)) for file in files]
    readings = readings_of(rows, asked)
    step = getattr(reader, "STEP", None)
    return items_of(readings), ratings_of(readings) if step is None else scores_of(readings, step)


def _named(path: Any) -> list[Path]:
    return [Path(one) for one in ([path] if isinstance(path, str | os.PathLike) else path)]


def _files_of(path: Any) -> list[Path]:
    """The files that were named, or those of a folder."""
    found: list[Path] = []
    for here in _named(path):
        if not here.exists():
            raise FileNotFoundError(f"no log at {printable(str(here))}.")
        inside = sorted(each for each in here.rglob("*") if each.is_file()) if here.is_dir() else [here]
        found += inside
    if not found:
        raise ArgumentError("path", "must name a log, or a folder that holds one", f"got {path!r}")
    return found


def _readers() -> dict[str, Any]:
    return {name: import_module(f"calib.adapters.{name}") for name in TOOLS}


def _reader_of(files: Sequence[Path], tool: str, *, folder: bool) -> Any:
    """The reader that the user names, or the one that knows the files."""
    readers = _readers()
    if (name := _CALLED.get(tool, tool)) in readers:
        return readers[name]
    if tool != "auto":
        raise ArgumentError("tool", f"must be 'auto' or one of {', '.join(TOOLS)}", f"got {tool!r}")
    known = {file: [name for name in TOOLS if readers[name].sniff(file.name, head_of(file))] for file in files}
    found = {names[0] for names in known.values() if names}
    if len(found) > 1:
        which = ", ".join(f"{file.name} ({names[0]})" for file, names in known.items() if names)
        raise TableError(f"logs of several tools cannot be read at once: {which}.")
    if not found or (not folder and not all(known.values())):
        strange = next(file for file in files if not known[file])
        raise TableError(f"{strange.name}: is no log of {', '.join(TOOLS)} that can be told; say which by tool=.")
    return readers[found.pop()]


def _of_reader(files: Sequence[Path], reader: Any, tool: str, named: Sequence[Path], *, folder: bool) -> list[Path]:
    """Of a folder, the files that are the tool's and that one should read; a file that was named is read."""
    if len(files) == 1:
        return list(files)
    found = [file for file in files if file in named or reader.sniff(file.name, head_of(file))]
    if not found:
        raise TableError(f"no log of {tool} among {', '.join(file.name for file in files[:5])}.")
    whole = [file for file in found if file.suffix not in getattr(reader, "LOSSY", ())]
    return whole if folder and whole else found
