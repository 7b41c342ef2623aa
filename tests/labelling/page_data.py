"""What a label page holds, for tests."""

import json
import re
from pathlib import Path
from typing import Any

from calib.labelling.page import unveiled

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def page_data(path: str | Path) -> dict[str, Any]:
    """The data of a page; each item as its id, whether it is swapped, and its texts."""
    data: dict[str, Any] = json.loads(_DATA.search(Path(path).read_text("utf-8"))[1])
    texts = data["texts"]
    items = [(unveiled(key), swapped, [texts[at] for at in places]) for key, swapped, places in data["items"]]
    return data | {"items": items}


def page_ids(path: str | Path) -> list[str]:
    """The ids in their order."""
    return [item for item, *_ in page_data(path)["items"]]
