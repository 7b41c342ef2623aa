"""A labelling with odd texts and ids, and people who answer it: what every form must bring back."""

import math

import pandas as pd
import pytest
from page_data import sheet_of

from calib.labelling.record import CANNOT_SAY, Criterion, Level, Record, Task

ODD = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "=1+1",
    '@SUM(A1)\n\n  indented "quoted", {{braces}} $text2 \\n',
    "nul \x00 escape \x1b[31m half \ud800 bidi \u202e line \u2028 end",
    "_x0041_ #N/A",
    "007",
    "",
    "long " * 2_000,
)
ITEMS = [(f"gpt-4o/{k} =+<b>", (f"Source {k}.", text)) for k, text in enumerate(ODD)]
CRITERIA = (
    Criterion(
        "fluency $x <b>", 'Is it & "good"?\nIt costs $5.', "1|2|3", tuple(map(Level, (1, 2, 3), ("poor", "", "good")))
    ),
    Criterion("=share", "", "0..100", ()),
    Criterion("output", "", "0|0.1", (Level(0, "no"), Level(0.1, "=yes, no"))),
)
WINS = tuple(map(Level, (0, 0.5, 1), ("second is better", "equal", "first is better")))
SAID = {"c1": (1, 2, CANNOT_SAY, 3, None), "c2": (33.25, CANNOT_SAY, 0, None, 100, 0.1 + 0.2), "c3": (0.1, 0, None)}


@pytest.fixture
def task():
    records, page = [Record(item, texts) for item, texts in ITEMS], "0123456789ab"
    sheets = (sheet_of("anna", records[:6], page, CRITERIA), sheet_of("ben/<i>", records[:2:-1], page, CRITERIA))
    return Task("=Title", page, ("source", "output"), False, CRITERIA, "=Read.\n\nIt costs $5 <b>.", sheets)


@pytest.fixture
def pairs():
    records = [Record(f"gpt-4o vs llama/{k}", ("Source.", f"A{k}", f"B{k}"), swapped=k % 2 == 1) for k in range(6)]
    wins = (Criterion("better", "", "0|0.5|1", WINS),)
    sheet = sheet_of("", records, "ba9876543210", wins)
    return Task("Pairs", sheet.records[0].page, ("source", "first", "second"), True, wins, "", (sheet,))


def said(task, sheet, position):
    """What somebody says of the item at this place, by the criterion's code; None where nothing is said."""
    shift = 2 * task.sheets.index(sheet) + position
    values = {code: SAID[code][shift % len(SAID[code])] for code in list(SAID)[: len(task.criteria)]}
    return {"c1": (0, 0.5, 1)[shift % 3]} if task.paired else values


def comment(position):
    return '=1+1 "x", y\u2028' if position == 2 else ""


def truth(task, *, raters=None):
    """The rows that must come back: item, criterion, rater, scale, score, status, comment, position, swapped, page."""
    rows = []
    for sheet in task.sheets:
        for position, record in enumerate(sheet.records, start=1):
            for (_, value), criterion in zip(said(task, sheet, position).items(), task.criteria, strict=True):
                if value is None:
                    continue
                unsure = value == CANNOT_SAY
                score = math.nan if unsure else 1 - value if record.swapped else float(value)
                who = (raters or {}).get(sheet.annotator, sheet.annotator)
                rows.append(
                    (record.item, criterion.name, who, criterion.scale, score, CANNOT_SAY if unsure else "ok",
                     comment(position), position, record.swapped, task.page)
                )  # fmt: skip
    names = ["item", "criterion", "rater", "scale", "score", "status", "comment", "position", "swapped", "page"]
    frame = pd.DataFrame(rows, columns=names, dtype=object)  # texts that Arrow does not hold
    return frame.astype({"score": float, "position": int, "swapped": bool})


@pytest.fixture
def people():
    """The functions above, for tests of forms."""
    return said, comment, truth


@pytest.fixture
def alike():
    def check(got, expected):
        """The same rows, to the last digit, in whatever order."""
        key = ["rater", "item", "criterion"]
        got, expected = (one.sort_values(key, ignore_index=True) for one in (got, expected))
        pd.testing.assert_frame_equal(got[expected.columns], expected, check_exact=True, check_dtype=False)
        assert set(got["method"]) == {"human"}

    return check
