"""The files of a labelling: where they go, what they must not write over, who writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from calib.core.check import ArgumentError
from calib.core.stop import stoppable
from calib.labelling.assign import file_names
from calib.labelling.task import Sheet, Task
from calib.table import TableError
from calib.table.files import whole_or_not

ENDINGS = {"html": (".html", ".htm"), "xlsx": (".xlsx",), "label-studio": (".json",)}


def checked_path(path: str | Path, to: str) -> Path:
    path, endings = Path(path).expanduser(), ENDINGS[to]
    if path.suffix.lower() not in endings:
        rule = f"must end in {' or '.join(endings)} for {to!r}"
        raise ArgumentError("path", rule, f"got {str(path)!r}")
    if path.is_dir():
        raise ArgumentError("path", "must be a file", f"{str(path)!r} is a folder")
    return path


def spare(task: Task, path: Path, to: str, read: Sequence[Any]) -> None:
    """Nothing that is read is written over, and no workbook that somebody may have filled in."""
    targets = [path] if to == "label-studio" else [target for _, target in _of_each(task, path)]
    there = [one for one in targets if one.is_file()]
    for one, other in product(there, (Path(thing).expanduser() for thing in read if isinstance(thing, str | Path))):
        if other.is_file() and one.samefile(other):
            raise ArgumentError("path", "must lead to other files than those that are read", f"{str(one)!r} is one")
    if to == "xlsx" and (filled := next(filter(_is_filled, there), None)):
        given = f"{str(filled)!r} is there: move it, or write elsewhere"
        raise ArgumentError("path", "must not lead to a workbook that somebody may have filled in", given)


def _is_filled(path: Path) -> bool:
    from calib.labelling.workbook import workbook_answers

    try:
        return not workbook_answers(path).empty
    except TableError:  # of another kind, or with a slip in it
        return True


def written(task: Task, path: Path, to: str, words: Mapping[str, str] | None) -> tuple[Path, ...]:
    """The files: each whole or not at all."""
    if to == "label-studio":
        from calib.labelling.label_studio import write_label_studio

        return (write_label_studio(task, path), path.with_suffix(".xml"))
    files = _of_each(task, path)
    if to == "xlsx":
        from calib.labelling.workbook import write_workbook

        return tuple(write_workbook(task, sheet, target) for sheet, target in files)
    from calib.labelling.page import page_of

    texts = [page_of(task, sheet, words) for sheet, _ in files]  # all of them before the first file
    path.parent.mkdir(parents=True, exist_ok=True)
    for text, (_, target) in zip(texts, files, strict=True):
        with stoppable(), whole_or_not(target) as part:
            part.write_text(text, encoding="utf-8", newline="")
    return tuple(target for _, target in files)


def _of_each(task: Task, path: Path) -> list[tuple[Sheet, Path]]:
    """A file for each annotator; the one of a single sheet is called as was said."""
    if len(task.sheets) == 1:
        return [(task.sheets[0], path)]
    names = file_names([sheet.annotator for sheet in task.sheets])
    return [(s, path.with_name(f"{path.stem}-{name}{path.suffix}")) for s, name in zip(task.sheets, names, strict=True)]
