"""The label page as a browser shows it: hostile texts, keys, numbers, pairs, files, tabs, storage that fails."""

import csv
import io
import json
from dataclasses import replace

import pandas as pd
import pytest

from calib.labelling.page import page_of
from calib.labelling.record import ANSWERS, Criterion, LabelSheet, Level, Record, Task, encoded_id
from calib.table import check_ratings, read_frame, write

chromium = pytest.importorskip("chromium", reason="the browser is driven through aiohttp")
pytestmark = chromium.MARKS

FIVE = tuple(map(Level, range(1, 6), ("very poor", "poor", "fair", "good", "very good")))
COHERENCE = Criterion("coherence", "Do the sentences build on each other?", "1|2|3|4|5", FIVE)
FLUENCY = replace(COHERENCE, name="fluency", meaning="")
WINS = Criterion("better", "Which is better?", "0|0.5|1", tuple(Level(value, "") for value in (0, 0.5, 1)))
HOSTILE = (
    "<script>window.bad=1;alert(1)</script></script><!-- <img src='http://127.0.0.1:9/x' onerror='window.bad=1'>"
    "<svg onload=alert(2)><a href='javascript:alert(3)'>x</a><style>*{display:none}</style>{{ 7 * 7 }} [m](x:y)"
    "<iframe src='http://127.0.0.1:9/y'></iframe> \u2028 \u2029 \x00 \x1b[31m \u202e txet \u2066 \ud800 ]]> &lt;b&gt;"
)
SEEN = HOSTILE.replace("\ud800", "\ufffd")
WITHOUT = (
    "This page needs JavaScript, which is switched off here. It runs in this file alone and sends nothing anywhere."
)
CLOCK = "window.later = 0; performance.now = () => window.later;"
BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('x', 'SecurityError'); } });"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"


def page_at(folder, *, n=3, criteria=(COHERENCE,), annotator="ana", words=None, name="page.html", ids=None, **task):
    """A file with a page about n items."""
    texts = task.pop("texts", [(f"Source {k}.", f"Summary {k}.") for k in range(n)])
    names = ids or [f"gpt-4o/{k}" for k in range(len(texts))]
    pairs = enumerate(zip(names, texts, strict=True))
    records = tuple(Record(name, text, swapped="parts" in task and k % 2 == 1) for k, (name, text) in pairs)
    sheets = (LabelSheet(annotator, records),)
    shared = {"title": "News", "page": "0123456789ab", "parts": ("source", "output"), "paired": False}
    whole = Task(**(shared | {"guideline": "Read."} | task), criteria=tuple(criteria), sheets=sheets)
    path = folder / name
    path.write_text(page_of(whole, sheets[0], words), encoding="utf-8")
    return path


def paired(folder, **more):
    texts = [("Source.", f"A{k}", f"B{k}") for k in range(4)]
    parts = ("source", "a", "b")
    return page_at(folder, texts=texts, parts=parts, paired=True, criteria=[WINS], **more)


async def begun(browser, path, **how):
    visit = await browser.tab(path, **how)
    await visit.read("begin()")
    return visit


async def exported(visit, folder, kind="csv"):
    await visit.read("toEnd()")
    return await visit.downloaded(folder, visit.click(f"#{kind}"))


async def status(visit):
    await visit.until("$('status').textContent")
    return await visit.read("$('status').textContent")


def answers(path):
    rows = read_frame(path).sort_values(["position", "criterion"])
    return [(row.item, row.criterion, row.score if row.status == "ok" else row.status) for row in rows.itertuples()]


def test_hostile_texts_are_texts(tmp_path):
    hostile = Criterion(HOSTILE, HOSTILE, "1|2", (Level(1, HOSTILE), Level(2, "")))
    path = page_at(
        tmp_path, texts=[(HOSTILE, HOSTILE)], criteria=[hostile, COHERENCE], annotator=HOSTILE, title=HOSTILE,
        guideline=HOSTILE, parts=(HOSTILE, "output"), page=HOSTILE,
    )  # fmt: skip

    async def look(browser):
        visit = await browser.tab(path)
        for key in ("g", "Escape", "?", "Escape", "u", "1", "e"):
            await visit.press(key)
        await visit.read("begin()")
        for key in ("1", "g", "Escape", "2", "u", "ArrowLeft"):
            await visit.press(key)
        texts = await visit.read("[...document.querySelectorAll('#texts .plain')].map(one => one.textContent)")
        heads = await visit.read(
            "[...document.querySelectorAll('#part0, legend span')].slice(0, 2).map(one => one.textContent)"
        )
        kinds = "img, svg, iframe, a, main style, main script, [onload], [onerror], [style]"
        made = f"document.querySelectorAll('{kinds}').length"
        marks = await visit.read(made), await visit.read("window.bad")
        return texts + heads, marks, visit.said, visit.asked(path.as_uri())

    texts, marks, *rest = chromium.driven(look)
    assert [text.replace("\ud800", "\ufffd") for text in texts] == [SEEN] * 4
    assert (marks, rest) == ((0, None), [[], []])


def test_keys_answer_and_move(tmp_path):
    path = page_at(tmp_path, n=3, criteria=[COHERENCE, FLUENCY])

    async def look(browser):
        visit = await begun(browser, path)
        where = "[place, active, document.activeElement.id || document.activeElement.localName]"
        seen = []
        for key in ("4", "ArrowUp", " ", "2", "u", "ArrowRight", "ArrowLeft", "ArrowDown", "7", "x"):
            await visit.press(key)
            seen.append((key, *await visit.read(where)))
        await visit.press("3", autoRepeat=True)
        await visit.press("3", modifiers=2)
        seen.append(("not", *await visit.read(where)))
        kept = await visit.read("items[0].answers.map(list => list.map(one => one[0]))")
        await visit.press("c")
        await visit.type("1u?")
        await visit.press("5", "u", "Escape")
        return seen, kept, await visit.read("[items[0].comment, document.activeElement.id]")

    seen, kept, comment = chromium.driven(look)
    assert seen == [
        ("4", 0, 1, "fieldset"), ("ArrowUp", 0, 0, "fieldset"), (" ", 0, 1, "fieldset"), ("2", 1, 0, "place"),
        ("u", 0, 1, "place"), ("ArrowRight", 1, 0, "place"), ("ArrowLeft", 0, 1, "place"),
        ("ArrowDown", 0, 1, "fieldset"), ("7", 0, 1, "fieldset"), ("x", 0, 1, "fieldset"), ("not", 0, 1, "fieldset"),
    ]  # fmt: skip
    assert kept == [[4, "cannot_say"], []]
    assert comment == ["1u?5u", "place"]


def test_other_keyboards_and_keys_that_are_off(tmp_path):
    path = page_at(tmp_path, n=4)

    async def look(browser):
        visit = await begun(browser, path)
        for key, code in (("&", "Digit1"), ("٤", "Digit4"), ("3", "Numpad3"), ("\u0433", "KeyU")):
            await visit.press(key, code=code)
        await visit.press("End", code="Numpad1")
        before = await visit.read("answered().map(one => one.value)")
        await visit.click("#single_keys")
        await visit.press("5", "u")
        await visit.reload()
        await visit.read("begin()")
        await visit.press("5", "u")
        return before, await visit.read("[answered().map(one => one.value), $('single_keys').checked]")

    assert chromium.driven(look) == ([1, 4], [[1, 4], False])


def test_space_and_enter_press_the_button_that_has_the_focus(tmp_path):
    path = page_at(tmp_path)

    async def look(browser):
        visit = await begun(browser, path)
        for key in (" ", "Enter"):
            await visit.read("document.querySelector('fieldset button[value=\"2\"]').focus()")
            await visit.press(key)
        return await visit.read("answered().map(one => one.value)")

    assert chromium.driven(look) == [2, 2]


def test_numbers_are_typed(tmp_path):
    share = Criterion("share", "", "0..100", ())
    twenty = Criterion("grade", "", "|".join(map(str, range(1, 21))), tuple(Level(k, "") for k in range(1, 21)))
    path = page_at(tmp_path, n=2, criteria=[share, twenty])

    async def look(browser):
        visit = await begun(browser, path)
        await visit.press("7", "2", ".", "5", "Enter", "1", "8", "Enter", "9", "9", "9", "Enter")
        wrong = await visit.read("[$('wrong0').textContent, $('number0').getAttribute('aria-invalid'), place, active]")
        await visit.press("Backspace", "Backspace", "Backspace", "0", "Enter", "2", ".", "5", "Enter")
        level = await visit.read("[$('wrong1').textContent, view]")
        await visit.press("Escape", "ArrowDown", " ")
        return wrong, level, await visit.read("answered().map(one => one.value)")

    wrong, level, found = chromium.driven(look)
    assert wrong == ["Not stored: it must be a number from 0 to 100.", "true", 1, 0]
    assert level == ["Not stored: it must be one of the values of the scale, such as 1 or 20.", "ask"]
    assert found == [72.5, 18, 0, "cannot_say"]


def test_a_number_that_was_typed_is_of_the_item_that_it_stood_under(tmp_path):
    path = page_at(tmp_path, n=2, criteria=[Criterion("share", "", "0..100", ())])

    async def look(browser):
        visit = await begun(browser, path)
        await visit.press("4", "2")
        await visit.click("#next")
        return await visit.read("[items.map(item => item.answers[0].map(one => one[0])), $('number0').value]")

    assert chromium.driven(look) == [[[42], []], ""]


def test_pairs_are_turned_back(tmp_path):
    path = paired(tmp_path)

    async def look(browser):
        visit = await begun(browser, path)
        shown = []
        plain = "[...document.querySelectorAll('#texts .plain')].map(one => one.textContent)"
        for key in ("1", "1", "2", "3"):
            shown.append(await visit.read(plain))
            await visit.press(key)
        text = await visit.read("[...document.querySelectorAll('#criteria button span')].map(one => one.textContent)")
        return shown, text, await exported(visit, tmp_path)

    shown, words, path = chromium.driven(look, tmp_path)
    assert shown == [["Source.", *pair] for pair in (("A0", "B0"), ("B1", "A1"), ("A2", "B2"), ("B3", "A3"))]
    assert words == ["first is better", "equal", "second is better", "cannot say"]
    frame = read_frame(path)
    assert list(frame["score"]) == [1, 0, 0.5, 1]
    assert list(frame["swapped"]) == ["false", "true", "false", "true"]


def test_a_name_makes_an_order_and_turns_pairs(tmp_path):
    path = page_at(tmp_path, n=40, annotator="")

    async def look(browser):
        visit = await browser.tab(path)
        hidden = await visit.read("$('to_export').hidden")
        await visit.click("#begin")
        missing = await visit.read("[$('name_wrong').textContent, document.activeElement.id, view]")
        await visit.type("  Zoë ")
        await visit.press("Enter", "3", "4")
        order = await visit.read("items.map(item => item.id)")
        file = await exported(visit, tmp_path)
        await visit.reload()
        again = await visit.read(
            "[$('name').value, $('begin').textContent, document.activeElement.id, items.map(item => item.id)]"
        )
        firsts = await visit.read("Array.from({length: 400}, (_, k) => { enter('n' + k); return items[0].id; })")
        turns = await visit.read("Array.from({length: 400}, (_, k) => hash('n' + k) % 2).reduce((a, b) => a + b)")
        return hidden, missing, order, file, again, firsts, turns

    hidden, missing, order, file, again, firsts, turns = chromium.driven(look, tmp_path)
    assert hidden and missing == ["Type your name first.", "name", "start"]
    assert again == ["Zoë", "Continue (2 of 40)", "begin", order]
    assert sorted(order) == sorted(f"gpt-4o/{k}" for k in range(40)) != order
    assert answers(file) == [(order[0], "coherence", 3), (order[1], "coherence", 4)]
    assert set(read_frame(file)["rater"]) == {"Zoë"}
    # 400 names, 10 for each item: a chi-square of 39 degrees of freedom is below 72 but once in a thousand
    counts = pd.Series(firsts).value_counts().reindex(order, fill_value=0)
    assert ((counts - 10) ** 2 / 10).sum() < 72
    assert 160 < turns < 240


COMMENTS = (
    "=1+1", "+x", "-5", "-x", "@SUM(A1)", "\tx", " =x", "'=x", "''+x", "'x", "\u200b=x", "\uff1dx", 'a "quoted", one',
    "two\nlines", "007", "1e5", "nan", " spaces ", "港", "🙂", "\x85=x", "\u00a0-x",
    "[1, 2]", "true", ",", '"', "'", "\n=x", "\x1b[31m",
)  # fmt: skip


def test_comments_come_back_as_they_were(tmp_path):
    path = page_at(tmp_path, n=len(COMMENTS))

    async def look(browser):
        visit = await begun(browser, path)
        for place, text in enumerate(COMMENTS):
            await visit.read(f"go({place}), keepComment(items[{place}], {json.dumps(text)})")
            await visit.press(str(1 + place % 5))
        return [await exported(visit, tmp_path, kind) for kind in ("csv", "jsonl")]

    table, lines = chromium.driven(look, tmp_path)
    texts = ("item", "comment", "rater")
    for file in (table, lines):
        frame = read_frame(file, texts=texts)
        assert tuple(frame["comment"]) == COMMENTS
        assert tuple(frame.columns) == ANSWERS
        check_ratings(frame)
    again = write(read_frame(table, texts=texts), tmp_path / "again.csv", for_spreadsheets=True)
    assert again.read_bytes() == table.read_bytes()
    assert len(list(csv.reader(io.StringIO(table.read_bytes().decode(), newline="")))) == len(COMMENTS) + 1


@pytest.mark.parametrize(
    "score", [0.1 + 0.2, 1e-5, 1.5e-7, 12345.678, 1e16, 1.7976931348623157e308, -0.0, 5, 123456789012345680]
)
def test_numbers_are_written_as_python_writes_them(tmp_path, score):
    path = page_at(tmp_path)
    found = chromium.visited(path, lambda visit: visit.read(f"inPython({score!r})"), width=400)
    assert found == repr(float(score)) or score == 0


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_continues_in_another_browser(tmp_path, kind):
    path = page_at(tmp_path, n=4, criteria=[COHERENCE, FLUENCY])

    async def first(browser):
        visit = await begun(browser, path)
        await visit.press("4", "2", " ", "5", "3")
        await visit.read("keepComment(items[0], '=\"odd\",\\n\\'=1')")
        return await exported(visit, tmp_path, kind)

    file = chromium.driven(first, tmp_path)
    inside = file.read_text("utf-8")
    others = {
        "page": inside.replace("0123456789ab", "ba9876543210"), "name": inside.replace("ana", "ben"),
        "broken": inside.replace("criterion", "kriterium"), "empty": "", "text": '"a, {\nb',
    }  # fmt: skip

    async def second(browser):
        visit = await begun(browser, path)
        await visit.press("1")
        said = []
        for name, text in others.items():
            (tmp_path / f"{name}.{kind}").write_text(text, encoding="utf-8", newline="")
            await visit.give("#file", tmp_path / f"{name}.{kind}")
            await visit.until("$('file_found').textContent")
            said.append(await visit.read("$('file_found').textContent"))
            await visit.read("$('file_found').textContent = ''")
        for _ in range(2):
            await visit.give("#file", file)
            await visit.until("$('file_found').textContent")
            said.append(await visit.read("$('file_found').textContent"))
            await visit.read("$('file_found').textContent = ''")
        comment = await visit.read("items[0].comment")
        return said, comment, await exported(visit, later, kind)

    (later := tmp_path / "later").mkdir()
    said, comment, again = chromium.driven(second, later)
    assert [text.split(" ", 2)[0] for text in said[:5]] == ["Nothing"] * 5
    assert "another page (ba9876543210)" in said[0]
    assert "labels of ben" in said[1]
    assert said[5:] == [
        "Answers taken from the file: 4. Already here: 1. Not of this page: 0.",
        "Answers taken from the file: 0. Already here: 5. Not of this page: 0.",
    ]
    assert comment == '="odd",\n\'=1'
    one, other = (read_frame(name).sort_values(["position", "criterion"], ignore_index=True) for name in (file, again))
    assert other["score"][0] == 1  # pressed here, and later
    pd.testing.assert_frame_equal(one[1:], other[1:], check_dtype=False)  # in JSON 2.0 seconds are 2


def test_seconds_are_active_ones_and_add_up(tmp_path):
    path = page_at(tmp_path, n=3)

    async def look(browser):
        visit = await begun(browser, path, before=CLOCK)
        later = "window.later += {}; dispatchEvent(new Event('pointermove'))"
        await visit.read(later.format(20_000))
        await visit.press("2")  # 20
        await visit.read(later.format(500_000))  # a pause: 60
        await visit.read(later.format(5_000))
        await visit.press("3")  # 65
        await visit.read(later.format(7_000))
        await visit.press("u")
        await visit.read(later.format(4_000))
        await visit.press("4")  # 69 on the second item; 7 on the third, so far
        await visit.press("ArrowLeft")
        await visit.press("ArrowLeft")
        await visit.read(later.format(11_000))
        await visit.press("5")  # 31 on the first
        await visit.read(later.format(3_000))
        await visit.press(" ")  # 10 on the third
        return await exported(visit, tmp_path)

    frame = read_frame(chromium.driven(look, tmp_path))
    assert list(frame["score"][:2]) == [5, 4] and frame["status"][2] == "cannot_say"
    assert frame["seconds"].tolist() == [31, 69, 10]


def test_two_tabs_see_each_other(tmp_path):
    path = page_at(tmp_path, n=6)

    async def look(browser):
        one, other = await begun(browser, path), await begun(browser, path)
        await one.press("1", "2", "3")
        await other.until("answered().length === 3")
        await other.read("toOpen(-1)")
        await other.press("4")
        await one.until("answered().length === 4")
        await one.read("toOpen(-1)")
        await one.press("5")
        await other.until("answered().length === 5")
        await one.press("u")
        await other.until("answered().length === 4")  # a browser tells the other tab some milliseconds later
        await other.press("u")
        await one.until("answered().length === 3")
        return [await visit.read("answered().map(one => one.value)") for visit in (one, other)]

    assert chromium.driven(look) == [[1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("before", [FULL, BLOCKED], ids=["full", "blocked"])
def test_storage_that_fails_is_said_and_labels_can_be_exported(tmp_path, before):
    path = page_at(tmp_path)

    async def look(browser):
        visit = await begun(browser, path, before=before)
        await visit.press("4", "5", "u", "2", " ")
        told = await visit.read("[$('failing').textContent, $('saved').textContent, $('failing').getAttribute('role')]")
        held = await visit.read("dispatchEvent(new Event('beforeunload', { cancelable: true }))")
        return told, held, visit.said, await exported(visit, tmp_path)

    told, held, said, file = chromium.driven(look, tmp_path)
    assert told[0].startswith("This browser cannot keep your labels") and told[1:] == ["not saved", "alert"]
    assert not held and not said
    assert [score for *_, score in answers(file)] == [4, 2, "cannot_say"]


def test_what_is_broken_in_the_storage_is_passed_over(tmp_path):
    path = page_at(tmp_path, n=8)
    time = "2026-01-01T00:00:00.000Z"
    odd = [
        "{", "null", "7", '[[9, 1, "' + time + '"]]', '[["a", 1, "' + time + '"]]', '[[3, -1, "' + time + '"]]',
        '[[3, 1, "then"]]',        '[[3, 1, "' + time + '"], [3], null]',
    ]  # fmt: skip

    async def look(browser):
        visit = await browser.tab(path)
        for place, text in enumerate(odd):
            await visit.read(f"localStorage.setItem(items[{place}].keys[0], {json.dumps(text)})")
        await visit.reload()
        await visit.read("begin()")
        await visit.press("1")
        return await visit.read("answered().map(one => [one.item.id, one.value])"), visit.said

    assert chromium.driven(look) == ([["gpt-4o/0", 1], ["gpt-4o/7", 3]], [])


def test_labels_are_removed_after_a_question_and_only_ones_own(tmp_path):
    ana, other = page_at(tmp_path), page_at(tmp_path, annotator='ana"', name="other.html")

    async def look(browser):
        theirs = await begun(browser, other)
        await theirs.press("1")
        visit = await begun(browser, ana)
        await visit.press("4", "e")
        await visit.click("#ask_remove")
        asked = await visit.read("$('remove_head').textContent")
        await visit.press("Enter")  # the focus is on the safe button
        kept = await visit.read("answered().length")
        await visit.click("#ask_remove")
        await visit.click("#remove_now")
        left = await visit.read("[answered().length, view, Object.keys(localStorage).filter(isMine).length]")
        await theirs.reload()
        return asked, kept, left, await theirs.read("answered().length")

    asked, kept, left, theirs = chromium.driven(look)
    assert asked == "Remove all labels of ana from this browser?"
    assert (kept, left, theirs) == (1, [0, "start", 0], 1)


def test_names_do_not_run_into_each_other(tmp_path):
    path = page_at(tmp_path, annotator="")

    async def look(browser):
        visit = await browser.tab(path)
        names = "['a', 'a,b', 'a\"', '\"a', 'a]', '\\\\', 'a/b', 'a-b', '王', '李', '../x']"
        script = f"[...new Set({names}.map({{}}))].length"
        keys = await visit.read(script.format("name => { enter(name); return items[0].keys[0]; }"))
        files = await visit.read(script.format("name => { enter(name); return fileName('csv'); }"))
        safe = await visit.read(
            "['../x', '王', 'a b', 'CON', ''].map(name => { enter(name); return fileName('csv'); })"
        )
        return keys, files, safe

    keys, files, safe = chromium.driven(look)
    assert (keys, files) == (11, 11)
    assert all(name.isascii() and "/" not in name and ".." not in name for name in safe)


def test_the_end_leads_to_what_is_open(tmp_path):
    path = page_at(tmp_path, n=4, criteria=[COHERENCE, FLUENCY])

    async def look(browser):
        visit = await begun(browser, path)
        await visit.press("4", "4", "ArrowRight", "4", " ", "3")
        await visit.press("e")
        counts = "[...document.querySelectorAll('#counts dd')].map(one => Number(one.textContent))"
        first = await visit.read(f"[$('end_head').textContent, $('thanks').hidden, {counts}]")
        await visit.click("#to_open")
        at = await visit.read("[view, place]")
        await visit.press("1", "1", "1")
        last = await visit.read(f"[view, $('end_head').textContent, $('thanks').hidden, {counts}, $('to_open').hidden]")
        reminder = "[...document.querySelectorAll('.unexported')].map(one => one.hidden)"
        before = await visit.read(reminder)
        await visit.downloaded(tmp_path, visit.click("#csv"))
        return first, at, last, before, await visit.read(reminder)

    first, at, last, before, after = chromium.driven(look, tmp_path)
    assert first == ["Your labels", True, [2, 5, 1, 3]]
    assert at == ["ask", 1]
    assert last == ["end", "All done", False, [4, 8, 1, 0], True]
    assert not any(before) and all(after)


@pytest.mark.parametrize(("width", "height"), [(400, 800), (600, 400), (1200, 800)])
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_nothing_is_wider_than_the_screen_and_the_answers_stay_in_view(tmp_path, width, height, direction):
    long = "A sentence of a long text. " * 500 + "x" * 3000
    criteria = [replace(COHERENCE, name=f"a criterion with a long name {k}") for k in range(4)]
    path = page_at(tmp_path, texts=[(long, long)], criteria=criteria, words={"direction": direction}, guideline=long)
    wide = "document.documentElement.scrollWidth - innerWidth"

    async def look(browser):
        visit = await browser.tab(path, width, height)
        found = [await visit.read(wide)]
        await visit.read("begin()")
        found.append(await visit.read(wide))
        box = "$('criteria').children[active].getBoundingClientRect()"
        in_view = f"{box}.top < innerHeight && {box}.bottom > 0"
        seen = [await visit.read(in_view)]
        for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
            await visit.press(key)
            seen.append(await visit.read(in_view))
        await visit.read("scrollTo(0, document.body.scrollHeight / 2)")
        seen.append(await visit.read(in_view))
        await visit.press("e")
        return [*found, await visit.read(wide)], seen

    found, seen = chromium.driven(look)
    assert max(found) <= 0
    assert all(seen)


def test_a_reader_of_the_screen_is_told(tmp_path):
    """The tree that Chromium hands to screen readers."""
    path = page_at(tmp_path, n=3)

    async def look(browser):
        visit = await begun(browser, path)
        await visit.press("4")
        said = await status(visit)
        await visit.call("Accessibility.enable")
        nodes = [one for one in (await visit.call("Accessibility.getFullAXTree"))["nodes"] if not one["ignored"]]
        return said, [(one["role"]["value"], one.get("name", {}).get("value", ""), one) for one in nodes]

    said, nodes = chromium.driven(look)
    assert said == "coherence: 4 good. Item 2 of 3."
    names = {(role, name) for role, name, _ in nodes}
    texts = {("heading", "News"), ("heading", "Item 2 of 3"), ("region", "source"), ("region", "output")}
    controls = {("group", "coherence"), ("button", "4 good"), ("button", "cannot say"), ("switch", "Single keys")}
    assert texts | controls | {("textbox", "Comment on this item")} <= names
    assert {role for role, _ in names} >= {"banner", "main", "contentinfo", "status", "alert", "progressbar"}
    bar = next(one for role, _, one in nodes if role == "progressbar")
    assert bar["value"]["value"] in (1, "1", "33%")
    kinds = ("button", "textbox", "region", "heading", "progressbar", "switch")
    assert all(name for role, name, _ in nodes if role in kinds)


def test_a_later_page_goes_on_and_nothing_of_it_is_lost(tmp_path):
    early, later = page_at(tmp_path, n=3), page_at(tmp_path, n=6, name="later.html")

    async def look(browser):
        visit = await begun(browser, early)
        await visit.press("1", "2", "3")
        visit = await browser.tab(later)
        await visit.until("$('begin').textContent === 'Continue (3 of 6)'")  # once it has heard of the other tab's
        await visit.press("Enter", "4")
        return await visit.read("answered().map(one => one.value)")

    assert chromium.driven(look) == [1, 2, 3, 4]


def test_ids_come_back_as_they_are(tmp_path):
    ids = ["007", "\ufeffa", "=1+1", "港/🙂", 'a,b"c', "exported"]
    path = page_at(tmp_path, n=len(ids), ids=ids)

    async def look(browser):
        visit = await begun(browser, path)
        await visit.press(*"12345", " ")
        return await exported(visit, tmp_path)

    assert list(read_frame(chromium.driven(look, tmp_path), texts=["item"])["item"]) == ids
    assert encoded_id("exported") != "exported"


def test_without_javascript_it_says_so(tmp_path):
    path = page_at(tmp_path)

    async def look(visit):
        await visit.call("Emulation.setScriptExecutionDisabled", value=True)
        await visit.reload(scripts=False)
        return await visit.read("document.body.innerText")

    assert chromium.visited(path, look, width=400).split("\n\n")[:2] == ["News", WITHOUT]
