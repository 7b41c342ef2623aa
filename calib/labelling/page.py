"""The label page in HTML: one file that needs no network and sends nothing anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches

from calib.core.check import ArgumentError
from calib.core.text import HALF, asset, source_hash
from calib.labelling.record import ANSWERS, LabelSheet, Task, encoded_id
from calib.labelling.talk import COLUMN, english_words, talk_of
from calib.table.text import rendered_page

_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")  # besides, what could end a script or a line of it
_BUTTONS = 10  # levels of a scale; more of them, or none, are a number to type: as in page.js
_BLANK = re.compile(r"\{\w+\}")


def page_of(task: Task, sheet: LabelSheet, words: Mapping[str, str] | None = None) -> str:
    r"""The HTML of the page for one annotator; without a name it asks who labels, and makes an order for each name.

    `words` say what stands there instead of the English in ``words.json``, by the names there; "language" and
    "direction" (ltr or rtl) are two of them.
    """
    english = english_words()
    for name, text in (words or {}).items():
        if name not in english:
            near = get_close_matches(str(name), english, 1)
            hint = f"such as {near[0]!r}" if near else "as they stand in calib/labelling/words.json"
            raise ArgumentError("words", f"must be words of the page, {hint}", f"{name!r} is none")
        if not isinstance(text, str) or not text.strip():
            raise ArgumentError("words", "must be texts", f"{name!r} is {text!r}")
        blanks = _BLANK.findall(english[name])
        if unmatched := [blank for blank in _BLANK.findall(text) if blank not in blanks]:
            rule = f"may have the blanks {', '.join(blanks)} in {name!r}" if blanks else f"has no blanks in {name!r}"
            raise ArgumentError("words", rule, f"got {unmatched[0]}")
    wording = english | dict(words or {})
    if wording["direction"] not in ("ltr", "rtl"):
        raise ArgumentError("words", "must have 'ltr' or 'rtl' as direction", f"got {wording['direction']!r}")
    style = asset("labelling", "page.css") + asset("labelling", "talk.css")
    script = "\n".join(['"use strict";', *(asset("labelling", f"{name}.js") for name in ("talk", "cells", "page"))])
    texts: dict[tuple[str, bool], int] = {}  # a text of several items stands in the data once
    items = []
    for record in sheet.records:
        kinds = [(text, head == COLUMN) for text, head in zip(record.texts, task.parts, strict=True)]
        items.append((encoded_id(record.item), record.swapped, [texts.setdefault(one, len(texts)) for one in kinds]))
    data = {"page": task.page, "annotator": sheet.annotator, "paired": task.paired, "parts": task.parts}
    data |= {"criteria": [asdict(one) for one in task.criteria], "items": items}
    data |= {"texts": [talk_of(text) if is_talk else text for text, is_talk in texts]}
    data |= {"columns": ANSWERS, "words": wording}
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    written = _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", written)  # JSON that no text can break out of
    page = rendered_page(
        "labelling", "page.html.j2", task=task, items=len(sheet.records), talks=COLUMN in task.parts,
        annotator=sheet.annotator, words=wording, data=written, style=style, script=script,
        typed=any(not 0 < len(one.levels) <= _BUTTONS for one in task.criteria),
        style_hash=source_hash(style), script_hash=source_hash(script),
    )  # fmt: skip
    return HALF.sub("\ufffd", page.replace("\0", "\ufffd"))
