"""The same items for Argilla 2: records and settings to import, and responses read back.

The forms are those of Argilla's package 2.8: `Settings.from_json` reads the settings, `dataset.records.from_json` the
records; what comes back was written by `dataset.to_disk`, `dataset.records.to_json`, or as JSON of
`dataset.records.to_list`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import warn
from calib.core.stop import stoppable
from calib.labelling.carried import (
    Filled,
    answers_of,
    carried,
    carried_back,
    choices_of,
    coded,
    legible,
    scale_told,
    shortened,
    task_told,
)
from calib.labelling.task import Criterion, Sheet, Task, veiled
from calib.table import TableError
from calib.table.files import from_json, of_form, whole_or_not

_TITLE, _DESCRIPTION, _OPTION, _GUIDELINES = 500, 1000, 500, 10_000  # characters that the server takes


def write_argilla(task: Task, sheet: Sheet, path: str | Path) -> Path:
    """Write what one annotator is asked as records (JSON), and beside them the settings of their dataset.

    A dataset for each annotator, because a dataset has one order and shows each record one way round.
    """
    path = Path(path)
    records = [_record(task, sheet, position) for position in range(1, len(sheet.asked) + 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, value in ((path, records), (settings_beside(path), _settings(task))):
        with stoppable(), whole_or_not(target) as part:
            part.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return path


def settings_beside(path: Path) -> Path:
    """Where the settings of a file of records stand.

    Examples
    --------
    >>> settings_beside(Path("label-ann.json")).name
    'label-ann.settings.json'
    """
    return path.with_suffix(".settings.json")


def _record(task: Task, sheet: Sheet, position: int) -> dict[str, Any]:
    asked = sheet.asked[position - 1]
    return {
        "id": veiled(asked.item),
        "fields": {f"text{place}": legible(text) for place, text in enumerate(asked.shown, start=1)},
        "metadata": {"calib": json.dumps(carried(task, sheet, position, asked))},
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }


def _settings(task: Task) -> dict[str, Any]:
    comment = _named("comment", "Comment", {"type": "text", "use_markdown": False}, required=False)
    text = {"type": "text", "use_markdown": False}
    return {
        "guidelines": shortened(task_told(task), _GUIDELINES),
        "fields": [_named(f"text{place}", part, text) for place, part in enumerate(task.parts, start=1)],
        "questions": [*(_question(code, one) for code, one in coded(task.criteria).items()), comment],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }


def _named(name: str, title: str, settings: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"name": name, "title": shortened(title, _TITLE), "required": required, "settings": settings}


def _question(code: str, criterion: Criterion) -> dict[str, Any]:
    """One of the scale's levels, or a number as a text, which is the only question that takes one."""
    told = criterion.meaning if criterion.levels else f"{criterion.meaning}\n{scale_told(criterion)}".strip()
    options = [{"value": value, "text": shortened(text, _OPTION)} for value, text in choices_of(criterion).items()]
    levels = {"type": "label_selection", "options": options, "visible_options": max(len(options), 3)}
    question = _named(code, criterion.name, levels if criterion.levels else {"type": "text", "use_markdown": False})
    return question | {"description": shortened(told, _DESCRIPTION) or None}


class _Response(NamedTuple):
    """What one user said to one question; the status is None where the file does not say it."""

    user: str
    value: Any
    status: str | None


def argilla_answers(path: str | Path) -> pd.DataFrame:
    """Read what Argilla wrote: a folder of `dataset.to_disk`, or its records as JSON.

    Drafts and what was discarded are no answers. Only `dataset.records.to_list(flatten=True)` tells of each response
    whether it was submitted. Elsewhere the record's own status tells it, as long as one person labels in a dataset and
    the settings are beside; what neither tells counts if it answers all questions, with a warning.
    """
    path = Path(path)
    path = path / "records.json" if path.is_dir() else path
    with of_form(path, "Argilla's JSON"):
        records = from_json(path.read_bytes().decode("utf-8").removeprefix("\ufeff"))
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise TableError(f"{path.name}: must be a list of records, as Argilla exports it.")
    least = _least_submitted(path)
    filled: list[Filled] = []
    unsure = 0
    for number, record in enumerate(records, start=1):
        where = f"{path.name}, record {number}"
        by_user = _by_user(record, where)
        sure = _submitted(by_user, record, least)
        unsure += sure is None and len(by_user)
        filled += _filled(record, by_user, sure, where)
    if unsure:
        warn(
            f"unknown_status: {path.name} does not say of {unsure} responses whether they were submitted; those that "
            "answer all questions count. `dataset.records.to_list(flatten=True)`, written as JSON, says it"
        )
    return answers_of(filled)


def _least_submitted(path: Path) -> int | None:
    """How many responses make a record complete, if its settings are there."""
    for settings in (path.parent / ".argilla" / "settings.json", settings_beside(path)):
        if settings.exists():
            with of_form(settings, "Argilla's JSON"):
                found = from_json(settings.read_text(encoding="utf-8"))
            least = (found.get("distribution") or {}).get("min_submitted") if isinstance(found, dict) else None
            return least if isinstance(least, int) else None
    return None


def _by_user(record: Mapping[str, Any], where: str) -> dict[str, dict[str, _Response]]:
    """What each user said, by question."""
    found: dict[str, dict[str, _Response]] = {}
    try:
        for question, response in _responses(record):
            found.setdefault(response.user, {})[question] = response
    except (KeyError, TypeError, AttributeError, ValueError):
        raise TableError(f"{where}: its responses must be as Argilla writes them, but are not.") from None
    return found


def _responses(record: Mapping[str, Any]) -> Iterator[tuple[str, _Response]]:
    """Nested, or flattened into one key for each thing."""
    for question, given in (record.get("responses") or {}).items():
        for one in given or ():
            yield question, _Response(str(one["user_id"]), one["value"], one.get("status"))
    for key in [key for key in record if key.endswith(".responses")]:
        values = record[key] or []
        users, states = record[f"{key}.users"] or [], record.get(f"{key}.status") or [None] * len(values)
        for user, value, status in zip(users, values, states, strict=True):
            yield key.removesuffix(".responses"), _Response(str(user), value, status)


def _submitted(
    by_user: Mapping[str, Mapping[str, _Response]], record: Mapping[str, Any], least: int | None
) -> set[str] | None:
    """The users whose responses were submitted; None if nothing tells."""
    states = {user: {one.status for one in said.values()} for user, said in by_user.items()}
    if all(None not in found for found in states.values()):
        return {user for user, found in states.items() if found == {"submitted"}}
    if least == 1 and record.get("status") == "pending":
        return set()
    if least is not None and record.get("status") == "completed" and len(by_user) <= least:
        return set(by_user)
    return None


def _filled(
    record: Mapping[str, Any], by_user: Mapping[str, Mapping[str, _Response]], sure: set[str] | None, where: str
) -> Iterator[Filled]:
    held = record["metadata"] if isinstance(record.get("metadata"), dict) else record
    item = carried_back(held.get("calib"), where)
    asked = coded(item.criteria)
    for user, responses in by_user.items():
        values = {name: one.value for name, one in responses.items() if one.value not in (None, "")}
        said = {code: values[code] for code in asked if code in values}
        if said and (user in sure if sure is not None else len(said) == len(asked)):
            yield Filled(item, user, said, f"{where}, user {user}", str(values.get("comment", "")))
