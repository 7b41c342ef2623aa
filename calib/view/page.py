"""The page: columns as gzip in base64, one script and one style by their hashes; texts stay data."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.core.text import HALF, asset, source_hash
from calib.table.text import rendered_page, visible
from calib.view.talks import BEFORE, TALK

_SCRIPTS = ("data", "text", "filter", "table", "talks", "item", "slices", "main")
_LONG, _MANY = 60, 200  # mean characters of a text that stands apart; different values that are sorted as numbers are
_NUMBERS = re.compile(r"(\d{1,18})")


class Blocks:
    """Columns of tables, each a block or two of the page."""

    def __init__(self) -> None:
        self.blocks: list[str] = []

    def add(self, data: bytes) -> int:
        """Add a block and give its place."""
        self.blocks.append(base64.b64encode(gzip.compress(data, 6, mtime=0)).decode())
        return len(self.blocks) - 1

    def table(self, frame: pd.DataFrame, flags: Sequence[str] = ()) -> dict[str, Any]:
        """Add the columns of a table and give its head."""
        columns = [self._column(str(name), frame[name]) | {"flag": name in flags} for name in frame]
        return {"n": len(frame), "columns": columns}

    def _column(self, name: str, cells: pd.Series) -> dict[str, Any]:
        head: dict[str, Any] = {"name": name, "title": visible(name, 60)}
        if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype):
            small = "f4" if name == "weight" else "f8"
            values = cells.to_numpy(dtype=float, na_value=np.nan).astype(f"<{small}")
            return head | {"kind": "number", "type": small, "cells": self.add(values.tobytes())}
        there = (cells.notna() & (cells != "")).to_numpy()
        codes, levels = pd.factorize(cells[there].astype(object).map(str))
        levels, is_talk = list(levels), name in (TALK, BEFORE)
        long = is_talk or sum(map(len, levels)) > _LONG * max(len(levels), 1)
        if not long:  # in the order in which a reader expects them
            order = sorted(range(len(levels)), key=lambda at: _natural_order(levels[at]))
            codes, levels = np.argsort(order)[codes], [levels[at] for at in order]
        whole = np.full(len(cells), -1, dtype="<i4")
        whole[there] = codes
        written = f"[{','.join(levels)}]" if is_talk else json.dumps(levels, ensure_ascii=False, separators=(",", ":"))
        kind, of_levels = "talk" if is_talk else "text", self.add(written.encode())
        return head | {"kind": kind, "long": long, "cells": self.add(whole.tobytes()), "levels": of_levels}


def with_plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    r"""The frame with texts that a page can hold: of lists and objects as Python writes them, no half characters.

    Examples
    --------
    >>> with_plain_cells(pd.DataFrame({"tags": [["a"], "cut \ud83d"]}, dtype=object))["tags"].tolist()
    ["['a']", 'cut �']
    """
    names = [name for name in frame if frame[name].dtype == object]
    plain = {name: frame[name].map(lambda cell: HALF.sub("\ufffd", str(cell)), na_action="ignore") for name in names}
    return frame.assign(**plain)


def _natural_order(text: str) -> list[Any]:
    return [int(part) if place % 2 else part.casefold() for place, part in enumerate(_NUMBERS.split(text))]


def page_of(title: str, tables: Mapping[str, pd.DataFrame], flags: Sequence[str], about: Mapping[str, Any]) -> str:
    """The HTML of the view: tables with their columns, and what is said about them."""
    blocks = Blocks()
    heads = {name: blocks.table(frame, flags) for name, frame in tables.items()}
    manifest = json.dumps({"title": title, "tables": heads, **about}, ensure_ascii=False, allow_nan=False)
    start = blocks.add(HALF.sub("\ufffd", manifest).encode())
    style = asset("report", "page.css") + asset("labelling", "talk.css") + asset("view", "page.css")
    parts = [asset("labelling", f"{name}.js") for name in ("talk", "cells")]
    parts += [asset("view", f"{name}.js") for name in _SCRIPTS]
    script = '"use strict";\n' + "\n".join(parts)
    page = rendered_page(
        "view", "page.html.j2", title=title, style=style, script=script, style_hash=source_hash(style),
        script_hash=source_hash(script), blocks=blocks.blocks, start=start,
    )  # fmt: skip
    return HALF.sub("\ufffd", page)
