"""The same items for Label Studio: tasks to import, the labelling interface beside them, and exports read back.

The forms are those of Label Studio 1.23: its task format, its tags (Text, Choices, Number, TextArea), and its exports
JSON, JSON_MIN, CSV and TSV.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd

from calib.core.progress import stoppable
from calib.labelling.forms import (
    Filled,
    Record,
    answers_of,
    choices_of,
    coded,
    legible,
    read_record,
    record_of,
    scale_told,
    utc,
)
from calib.labelling.page import CANNOT_SAY, Task
from calib.table import TableError, parse_scale
from calib.table.files import csv_rows, from_json, of_form, whole_or_not

_KEYS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")  # a row of the keyboard for each criterion
_UNSURE = f"_{CANNOT_SAY}"  # of a continuous scale, a control of its own


def write_label_studio(task: Task, path: str | Path) -> Path:
    """Write the tasks as JSON, which Label Studio imports, and beside them the labelling interface (.xml).

    All annotators' items are in one file, because one project has one interface, one import and one export: where there
    are several annotators each task says in its data for which `annotator` it is, which is what tasks are filtered and
    assigned by.
    """
    path = Path(path)
    tasks = []
    for sheet in task.sheets:
        for position, item in enumerate(sheet.asked, start=1):
            data = {f"text{place}": legible(text) for place, text in enumerate(item.shown, start=1)}
            data |= {"annotator": legible(sheet.annotator)} if len(task.sheets) > 1 else {}
            tasks.append(json.dumps({"data": {**data, "calib": record_of(task, sheet, position, item)}}))
    path.parent.mkdir(parents=True, exist_ok=True)
    with stoppable(), whole_or_not(path) as part:
        part.write_text("[\n" + ",\n".join(tasks) + "\n]\n", encoding="utf-8")
    with stoppable(), whole_or_not(path.with_suffix(".xml")) as part:
        part.write_text(_interface(task) + "\n", encoding="utf-8")
    return path


def _interface(task: Task) -> str:
    view = ET.Element("View")
    if task.guideline:
        panel = ET.SubElement(ET.SubElement(view, "Collapse"), "Panel", value="Guideline")
        ET.SubElement(panel, "Text", name="guideline", value=_literal(task.guideline))
    beside = ET.SubElement(view, "View", style="display:flex; flex-wrap:wrap; gap:1em")
    for place, part in enumerate(task.parts, start=1):
        column = ET.SubElement(beside, "View", style="flex:1 1 20em")
        ET.SubElement(column, "Header", value=_literal(part), size="4")
        ET.SubElement(column, "Text", name=f"text{place}", value=f"$text{place}", valueType="text")
    for row, (code, criterion) in enumerate(coded(task.criteria).items()):
        ET.SubElement(view, "Header", value=_literal(criterion.name), size="4")
        if criterion.meaning:
            ET.SubElement(view, "Header", value=_literal(criterion.meaning), size="6")
        if not criterion.levels:
            ends = parse_scale(criterion.scale)
            limits = {} if ends is None else {"min": str(ends.low), "max": str(ends.high), "step": "any"}
            ET.SubElement(view, "Number", {"name": code, "toName": "text1", **limits})
        kind = {"name": code if criterion.levels else code + _UNSURE, "toName": "text1", "choice": "single"}
        required = {"required": "true"} if criterion.levels else {}
        box = ET.SubElement(view, "Choices", {**kind, "showInline": "true", **required})
        keys = _KEYS[row] if row < len(_KEYS) else ""
        for place, (alias, word) in enumerate(choices_of(criterion).items()):
            hotkey = {"hotkey": keys[place]} if place < len(keys) else {}
            ET.SubElement(box, "Choice", {"value": _literal(word), "alias": alias, **hotkey})
    ET.SubElement(view, "TextArea", name="comment", toName="text1", placeholder="Comment", maxSubmissions="1", rows="2")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode")


def _literal(text: str) -> str:
    """A text that is no variable: the interface knows no other dollar."""
    return legible(text).replace("$", "\uff04")


def label_studio_answers(path: str | Path) -> pd.DataFrame:
    """Read an export of Label Studio: JSON, JSON_MIN, CSV or TSV."""
    path = Path(path)
    with of_form(path, "Label Studio's JSON, JSON_MIN, CSV or TSV"):
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
        if path.suffix.lower() not in (".csv", ".tsv"):
            tasks = from_json(text)
        else:
            try:
                rows = [row for _, row in csv_rows(text, "\t" if path.suffix.lower() == ".tsv" else ",")]
            except csv.Error as error:
                raise ValueError(str(error)) from None
            names, *cells = rows or [[]]
            tasks = [dict(zip(names, row, strict=True)) for row in cells]
            for task in tasks:  # as JSON_MIN has them, a number too
                numbers = {name for name, cell in task.items() if cell.startswith('[{"number"') and name != "comment"}
                task.update({name: from_json(task[name]) for name in numbers})
    if not isinstance(tasks, list) or not all(isinstance(one, dict) for one in tasks):
        raise TableError(f"{path.name}: must be a list of tasks, as Label Studio exports it.")
    if tasks and not any({"annotations", "annotation_id"} & set(one) for one in tasks):
        raise TableError(
            f"{path.name}: must be an export of Label Studio (JSON, JSON_MIN, CSV or TSV), but no task says whether it "
            "was annotated: it may be the file that was imported."
        )
    filled = [one for task in tasks for one in _filled(task, f"{path.name}, task {task.get('id', '?')}")]
    last: dict[tuple[str, str], Filled] = {}  # of several annotations of a task by one account
    for one in filled:
        if one.time >= last.setdefault((one.where, one.account), one).time:
            last[one.where, one.account] = one
    return answers_of(list(last.values()))


def _filled(task: Mapping[str, Any], where: str) -> Iterator[Filled]:
    """A task as each of its annotators filled it in; drafts, predictions and what was skipped are none of them."""
    data = task.get("data") if "annotations" in task else task
    item = read_record(data.get("calib") if isinstance(data, Mapping) else None, where)
    if "annotations" not in task:
        values = {name: _plain_value(value) for name, value in task.items()}
        yield from _annotated(item, values, task, task.get("annotator"), where)
        return
    for annotation in task["annotations"] or ():
        if not (annotation.get("was_cancelled") or annotation.get("skipped")):
            values = {}  # what each control says
            for result in annotation.get("result") or ():
                value = result.get("value") or {}
                values[result.get("from_name")] = _plain_value(value.get(result.get("type"), value.get("text")))
            yield from _annotated(item, values, annotation, annotation.get("completed_by"), where)


def _plain_value(value: Any) -> Any:
    """What one control says, which exports wrap into lists and dicts."""
    if isinstance(value, list):
        parts = [_plain_value(one) for one in value]
        return parts[0] if len(parts) == 1 else "\n".join(map(str, parts))
    if isinstance(value, dict) and (inner := [value[key] for key in ("number", "choices", "text") if key in value]):
        return _plain_value(inner[0])
    return value


def _annotated(
    item: Record, values: Mapping[str, Any], annotation: Mapping[str, Any], account: Any, where: str
) -> Iterator[Filled]:
    """One annotation, if it has an answer."""
    answers: dict[str, Any] = {}
    for code, criterion in coded(item.criteria).items():
        given = [values[name] for name in (code, code + _UNSURE) if not _blank(values.get(name))]
        if len(given) > 1:
            raise TableError(f"{where}: {criterion.name!r} must be {scale_told(criterion)}, but got both.")
        answers |= dict.fromkeys([code] * len(given), *given)
    if isinstance(account, Mapping):
        account = account.get("email") or account.get("id")
    seconds = math.nan
    with suppress(TypeError, ValueError):
        seconds = float(annotation.get("lead_time"))  # type: ignore[arg-type]  # None is a TypeError
    if answers:
        yield Filled(
            item, str(account), answers, where,
            comment="" if _blank(values.get("comment")) else str(values["comment"]),
            seconds=seconds,
            time=utc(annotation.get("created_at") or annotation.get("updated_at")),
        )  # fmt: skip


def _blank(value: Any) -> bool:
    return value is None or value in ("", [], {})
