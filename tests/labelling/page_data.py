"""Sheets of records for tests, and what a label page holds."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from calib.labelling.record import Criterion, LabelSheet, Record, decoded_id

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def sheet_of(annotator: str, records: Iterable[Record], page: str, criteria: tuple[Criterion, ...]) -> LabelSheet:
    """A sheet in which each record has its place, as `label_page` makes it."""
    shared: dict[str, Any] = {"annotator": annotator, "page": page, "criteria": criteria}
    return LabelSheet(
        annotator, tuple(replace(one, position=place, **shared) for place, one in enumerate(records, start=1))
    )


def page_data(path: str | Path) -> dict[str, Any]:
    """The data of a page; each item as its id, whether it is swapped, and its texts."""
    data: dict[str, Any] = json.loads(_DATA.search(Path(path).read_text("utf-8"))[1])
    texts = data["texts"]
    items = [(decoded_id(key), swapped, [texts[at] for at in places]) for key, swapped, places in data["items"]]
    return data | {"items": items}


def page_ids(path: str | Path) -> list[str]:
    """The ids in their order."""
    return [item for item, *_ in page_data(path)["items"]]
