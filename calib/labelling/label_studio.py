"""Label Studio: tasks to import with the labelling interface beside them, and exports read back.

The forms are those of Label Studio 1.23: its task format, its tags (Text, Choices, Number, TextArea), and its exports
JSON, JSON_MIN, CSV and TSV.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd

from calib.core.progress import stoppable
from calib.labelling.record import CANNOT_SAY, Record, Task, answer_rows, by_code, legible
from calib.labelling.talk import plain_texts
from calib.table import TableError, parse_scale
from calib.table.files import csv_rows, from_json, of_form, whole_or_not, within_limit

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
        for record in sheet.records:
            data = {f"text{place}": text for place, text in enumerate(plain_texts(record, task.parts), start=1)}
            data |= {"annotator": legible(sheet.annotator)} if len(task.sheets) > 1 else {}
            tasks.append(json.dumps({"data": {**data, "calib": record.to_json()}}))
    path.parent.mkdir(parents=True, exist_ok=True)
    with stoppable(), whole_or_not(path) as part:
        part.write_text("[\n" + ",\n".join(tasks) + "\n]\n", encoding="utf-8")
    # the interface: guideline, texts side by side, and the controls of each criterion
    view = ET.Element("View")
    if task.guideline:
        panel = ET.SubElement(ET.SubElement(view, "Collapse"), "Panel", value="Guideline")
        ET.SubElement(panel, "Text", name="guideline", value=_without_variables(task.guideline))
    beside = ET.SubElement(view, "View", style="display:flex; flex-wrap:wrap; gap:1em")
    for place, head in enumerate(task.parts, start=1):
        column = ET.SubElement(beside, "View", style="flex:1 1 20em")
        ET.SubElement(column, "Header", value=_without_variables(head), size="4")
        ET.SubElement(column, "Text", name=f"text{place}", value=f"$text{place}", valueType="text")
    for row, (code, criterion) in enumerate(by_code(task.criteria).items()):
        ET.SubElement(view, "Header", value=_without_variables(criterion.name), size="4")
        if criterion.meaning:
            ET.SubElement(view, "Header", value=_without_variables(criterion.meaning), size="6")
        if not criterion.levels:
            ends = parse_scale(criterion.scale)
            limits = {} if ends is None else {"min": str(ends.low), "max": str(ends.high), "step": "any"}
            ET.SubElement(view, "Number", {"name": code, "toName": "text1", **limits})
        kind = {"name": code if criterion.levels else code + _UNSURE, "toName": "text1", "choice": "single"}
        required = {"required": "true"} if criterion.levels else {}
        box = ET.SubElement(view, "Choices", {**kind, "showInline": "true", **required})
        keys = _KEYS[row] if row < len(_KEYS) else ""
        for place, (alias, word) in enumerate(criterion.choices.items()):
            hotkey = {"hotkey": keys[place]} if place < len(keys) else {}
            ET.SubElement(box, "Choice", {"value": _without_variables(word), "alias": alias, **hotkey})
    ET.SubElement(view, "TextArea", name="comment", toName="text1", placeholder="Comment", maxSubmissions="1", rows="2")
    ET.indent(view)
    with stoppable(), whole_or_not(path.with_suffix(".xml")) as part:
        part.write_text(ET.tostring(view, encoding="unicode") + "\n", encoding="utf-8")
    return path


def _without_variables(text: str) -> str:
    """A text whose dollar signs name no variable of the interface."""
    return legible(text).replace("$", "\uff04")


def label_studio_answers(path: str | Path) -> pd.DataFrame:
    """Read an export of Label Studio: JSON, JSON_MIN, CSV or TSV."""
    path = Path(path)
    with of_form(path, "Label Studio's JSON, JSON_MIN, CSV or TSV"):
        text = within_limit(path).read_bytes().decode("utf-8").removeprefix("\ufeff")
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
        rule = "must be an export of Label Studio (JSON, JSON_MIN, CSV or TSV)"
        came = "no task says whether it was annotated: it may be the file that was imported"
        raise TableError(f"{path.name}: {rule}, but {came}.")
    last: dict[tuple[str, str], Record] = {}  # of several annotations of a task by one account
    for task in tasks:
        for record in _annotated_records(task, f"{path.name}, task {task.get('id', '?')}"):
            if record.time >= last.setdefault((record.place, record.account), record).time:
                last[record.place, record.account] = record
    return answer_rows(list(last.values()))


def _annotated_records(task: Mapping[str, Any], place: str) -> Iterator[Record]:
    """A task as each of its annotators filled it in; drafts, predictions and what was skipped are none of them."""
    data = task.get("data") if "annotations" in task else task
    record = Record.from_json(data.get("calib") if isinstance(data, Mapping) else None, place)
    done = [one for one in task.get("annotations") or () if not (one.get("was_cancelled") or one.get("skipped"))]
    for annotation in done if "annotations" in task else [task]:
        values, account = dict(annotation), annotation.get("annotator")  # by the name of each control
        if "annotations" in task:
            results = [(result, result.get("value") or {}) for result in annotation.get("result") or ()]
            values = {one.get("from_name"): value.get(one.get("type"), value.get("text")) for one, value in results}
            account = annotation.get("completed_by")
        values = {name: _json_value(value) for name, value in values.items()}
        filled = {name: value for name, value in values.items() if value is not None and value not in ("", [], {})}
        answers: dict[str, Any] = {}
        for code, criterion in by_code(record.criteria).items():
            if code in filled and code + _UNSURE in filled:
                rule = f"{criterion.name!r} must be {criterion.scale_in_words}"
                raise TableError(f"{place}: {rule}, but got both.")
            for name in (code, code + _UNSURE):
                if name in filled:
                    answers[code] = filled[name]
        if not answers:
            continue
        seconds, time = math.nan, ""
        with suppress(TypeError, ValueError):  # what is not there is None
            seconds = float(annotation.get("lead_time"))  # type: ignore[arg-type]
        with suppress(TypeError, ValueError):
            moment = datetime.fromisoformat(annotation.get("created_at") or annotation.get("updated_at"))  # type: ignore[arg-type]
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            time = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
        if isinstance(account, Mapping):
            account = account.get("email") or account.get("id")
        yield replace(
            record, account=str(account), answers=answers, comment=str(filled.get("comment", "")), seconds=seconds,
            time=time,
        )  # fmt: skip


def _json_value(value: Any) -> Any:
    """What one control says, which exports wrap into lists and dicts."""
    if isinstance(value, list):
        parts = [_json_value(one) for one in value]
        return parts[0] if len(parts) == 1 else "\n".join(map(str, parts))
    if isinstance(value, dict) and (inner := [value[key] for key in ("number", "choices", "text") if key in value]):
        return _json_value(inner[0])
    return value
