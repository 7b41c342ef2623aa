"""The label page as a file: what it holds, what it hides, what it weighs, its words, its colours."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import resources

import pytest
from page_data import page_data

from calib.core.check import ArgumentError
from calib.core.text import source_hash
from calib.labelling.page import page_of
from calib.labelling.record import Criterion, LabelSheet, Level, Record, Task, encoded_id
from calib.view.talks import WORDS as OF_VIEW

FIVE = tuple(map(Level, range(1, 6), ("very poor", "poor", "fair", "good", "very good")))
COHERENCE = Criterion("coherence", "Do the sentences build on each other?", "1|2|3|4|5", FIVE)
WORDS = json.loads(resources.files("calib.labelling").joinpath("words.json").read_text("utf-8"))


def task_of(texts, annotator="ana", criteria=(COHERENCE,), guideline="Read both.", names="gpt-4o/{}"):
    records = tuple(Record(names.format(place), text) for place, text in enumerate(texts))
    sheets = (LabelSheet(annotator, records),)
    return Task("News", "0123456789ab", ("source", "output"), False, criteria, guideline, sheets)


def html(task, words=None):
    return page_of(task, task.sheets[0], words)


def between(page, tag):
    return re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.DOTALL)


def test_one_script_and_one_style_are_let_through():
    page = html(task_of([("A source.", "Its summary.")]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    (style,), (data, script) = between(page, "style"), between(page, "script")
    assert json.loads(data)["items"] == [[encoded_id("gpt-4o/0"), False, [0, 1]]]
    allowed = f"script-src '{source_hash(script)}'; style-src '{source_hash(style)}'"
    assert policy == f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    seen = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"\s(on\w+|style|src|href)=", seen)


def test_it_names_no_system():
    task = task_of([("A source.", f"Summary {k}.") for k in range(5)], names="secret-model-7/{}")
    assert "secret" not in html(task)


def test_texts_come_back_whole(tmp_path, task):
    for sheet in task.sheets:
        path = tmp_path / "page.html"
        path.write_text(page_of(task, sheet), encoding="utf-8")
        assert page_data(path)["items"] == [(one.item, one.swapped, list(one.texts)) for one in sheet.records]


def test_no_text_ends_the_script():
    odd = "</script><!--<script>\u2028\u2029 ]]> \ud800 \udc00"
    told = replace(COHERENCE, name=odd, meaning=odd)
    task = replace(task_of([(odd, odd)], annotator=odd, criteria=(told,), guideline=odd), title=odd, page=odd)
    page = html(task)
    page.encode()
    data, _ = between(page, "script")
    assert not set("<\u2028\u2029") & set(data)
    assert json.loads(data)["texts"] == [odd]
    assert json.loads(data)["criteria"][0]["name"] == odd


def test_a_text_of_several_items_stands_once():
    source = "The harbour is closed. " * 40
    page = html(task_of([(source, f"Summary {k}.") for k in range(20)]))
    assert page.count(source) == 1


@pytest.mark.parametrize(
    "letters",
    [
        "The harbour is closed. ",
        '"quoted" \\ and\nbroken\n',
        "港は閉鎖された。",
        "🙂🚢👩‍🔧 ",
        '<p class="x">A &amp; B</p>\n',
        "if a<b: ",
    ],
    ids=["words", "quotes", "cjk", "emoji", "html", "code"],
)
def test_it_weighs_under_three_times_its_texts(letters):
    texts = [(f"{k} {letters * 60}", f"{letters * 12} {k}") for k in range(500)]
    plain = sum(len(text.encode()) for pair in texts for text in pair)
    assert len(html(task_of(texts)).encode()) < 3 * plain


def test_the_table_of_words_has_all_and_no_others():
    names = ("page.html.j2", "page.js", "talk.js", "cells.js")
    page, *scripts = (resources.files("calib.labelling").joinpath(name).read_text("utf-8") for name in names)
    script = "\n".join(scripts)
    used = set(re.findall(r"words\.(\w+)", page)) | set(re.findall(r'words\["(\w+)"\]', page))
    used |= {name for name in WORDS if f'"{name}"' in script or f"{name}:" in script}
    assert used == set(WORDS)
    assert set(re.findall(r'\bsay\("(\w+)"', script)) - {"cut"} <= set(WORDS), "only a view cuts"
    assert set(re.findall(r'\bsay\("(\w+)"', scripts[1])) <= set(OF_VIEW)


def test_words_of_another_language():
    other = {name: f"«{text}»" for name, text in WORDS.items()} | {"language": "ar", "direction": "rtl"}
    page = html(task_of([("A source.", "Its summary.")], annotator=""), other)
    assert '<html lang="ar" dir="rtl">' in page
    seen = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    left = {name for name, text in WORDS.items() if f">{text}<" in seen}
    assert not left


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"strat": "Los"}, "such as 'start'"),
        ({"qqqq": "Los"}, "words.json"),
        ({"start": 3}, "must be texts"),
        ({"start": " "}, "must be texts"),
        ({"start": "Los {n}"}, "has no blanks"),
        ({"place": "{item} von {count}"}, "may have the blanks {place}, {count}"),
        ({"direction": "up"}, "'ltr' or 'rtl'"),
    ],
)
def test_words_that_it_does_not_know_are_refused(words, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        html(task_of([("A source.", "Its summary.")]), words)


def variables(scheme):
    """The colours of a scheme by their names."""
    style = resources.files("calib.labelling").joinpath("page.css").read_text("utf-8")
    light, dark = re.findall(r":root \{([^}]*)\}", style)
    found = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", light))
    return found | (dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", dark)) if scheme == "dark" else {})


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme):
    """WCAG 2.2, 1.4.3: 4.5 for texts; 1.4.11: 3 for what a control is known by."""
    assert round(contrast("#767676", "#fff"), 2) == 4.54  # WebAIM's checker
    colour = variables(scheme)
    texts = [
        *(("ink", ground) for ground in ("paper", "band", "note", "chosen")),
        *(("soft", ground) for ground in ("paper", "band")),
        *(("mind", "paper"), ("on", "link")),
    ]
    marks = [("edge", "paper"), ("link", "paper"), ("link", "chosen"), ("mind", "note")]
    assert min(contrast(colour[one], colour[ground]) for one, ground in texts) >= 4.5
    assert min(contrast(colour[one], colour[ground]) for one, ground in marks) >= 3


@pytest.mark.slow
def test_it_loads_no_jinja():
    code = "import calib.labelling.page, sys; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
