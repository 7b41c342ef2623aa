"""A whole sitting in a browser, by keyboard alone: what was pressed is exported, and makes the same interval."""

import asyncio
import math

import numpy as np
import pandas as pd
import pytest
from page_data import page_ids

import calib
from calib.table import check_ratings, read_frame

chromium = pytest.importorskip("chromium", reason="the browser is driven through aiohttp")
pytestmark = chromium.MARKS

CRITERIA = ["coherence", "fluency"]
# a page waits three seconds for its database, which a busy machine may need
PATIENT = (
    "const wait = setTimeout; window.setTimeout = (act, ms, ...more) => wait(act, ms === 3000 ? 60000 : ms, ...more);"
)
# what is written before is in the database once a later look into it has come to its end
WRITTEN = """new Promise((done, failed) => {
  const look = book.transaction("kept", "readwrite");
  look.objectStore("kept").count();
  Object.assign(look, { oncomplete: () => done(true), onabort: failed });
})"""


@pytest.fixture
def chosen(tmp_path):
    """240 items with a judge's scores, 60 of them chosen, and the page to label these."""
    rng = np.random.default_rng(7)
    items = pd.DataFrame(
        {"item": [f"gpt-4o/{k}" for k in range(240)], "source": [f"Source {k // 4}." for k in range(240)],
         "output": [f"Summary {k}." for k in range(240)]}
    )  # fmt: skip
    parts = [items[["item"]].assign(criterion=name, score=rng.uniform(1, 5, 240)) for name in CRITERIA]
    scores = pd.concat(parts, ignore_index=True).assign(rater="judge", scale="1|2|3|4|5")
    picked = set(rng.permutation(items["item"])[:60])
    path = tmp_path / "label.html"
    calib.label(
        items, scores.assign(chosen=scores["item"].isin(picked)), criteria=CRITERIA, scale="1|2|3|4|5",
        annotators=["ana"], path=path,
    )  # fmt: skip
    return scores, next(tmp_path.glob("label*.html"))


class Sitting:
    """Presses keys, and keeps what they come to by itself: answers to (place, criterion), each with those before it."""

    def __init__(self):
        self.pressed, self.order, self.where = {}, [], (0, 0)

    def answer(self, value):
        place, c = self.where
        self.pressed.setdefault(self.where, []).append(value)
        self.order.append(self.where)
        self.where = (place, c + 1) if c + 1 < len(CRITERIA) else (place + 1, 0)

    def undo(self):
        self.where = self.order.pop()
        self.pressed[self.where].pop()

    def found(self, ids):
        return {(ids[place], CRITERIA[c]): values[-1] for (place, c), values in self.pressed.items() if values}


async def press(visit, sitting, rng, until):
    while sitting.where[0] < until:
        key = rng.choice(["1", "2", "3", "4", "5", " ", "u"], p=[0.15, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05])
        await visit.press(str(key))
        if key != "u":
            sitting.answer(math.nan if key == " " else int(key))
        elif sitting.order:
            sitting.undo()


def answers(path):
    frame = check_ratings(read_frame(path))
    assert set(frame["status"]) == {"ok", "cannot_say"}
    return {(row.item, row.criterion): row.score for row in frame.itertuples()}


def same(found, expected):
    return found.keys() == expected.keys() and all(
        found[key] == value or (math.isnan(found[key]) and math.isnan(value)) for key, value in expected.items()
    )


def test_a_sitting_of_sixty_items_by_keyboard(tmp_path, chosen):
    scores, page = chosen
    ids, rng, sitting = page_ids(page), np.random.default_rng(11), Sitting()
    (files := tmp_path / "files").mkdir()

    async def first_day(profile):
        async with chromium.Browser(profile, files) as browser:
            visit = await browser.tab(page, before=PATIENT)
            await visit.press(*["Tab"] * await to_focus(visit, "begin"), "Enter")
            await press(visit, sitting, rng, 23)
            assert await visit.read(WRITTEN)  # a hundred answers come in two seconds, faster than a disk
            await visit.reload()
            focus = await visit.read("[document.activeElement.id, $('begin').textContent]")
            assert focus == ["begin", "Continue (23 of 60)"]
            await visit.press("Enter", "c")
            await visit.type('=half done, "so far"')
            await visit.press("Escape")
            await press(visit, sitting, rng, 41)
            await visit.press("u")  # an answer from before comes back as the place to be
            sitting.undo()
            assert await visit.read(WRITTEN)
        # leaving kills the browser

    async def second_day(profile):
        async with chromium.Browser(profile, files) as browser:
            visit = await browser.tab(page, before=PATIENT)
            assert await visit.read("$('begin').textContent") == f"Continue ({sitting.where[0]} of 60)"
            await visit.press("Enter")
            await press(visit, sitting, rng, 60)
            assert await visit.read("[view, $('end_head').textContent]") == ["end", "All done"]
            table = await visit.downloaded(files, visit.press(*["Tab"] * await to_focus(visit, "csv"), "Enter"))
            lines = await visit.downloaded(files, visit.press("Tab", "Enter"))
            return table, lines, visit.said, visit.asked(page.as_uri())

    asyncio.run(first_day(tmp_path / "profile"))
    table, lines, said, asked = asyncio.run(second_day(tmp_path / "profile"))
    assert (said, asked) == ([], [])
    expected = sitting.found(ids)
    assert len(expected) == 120
    assert same(answers(table), expected)
    assert same(answers(lines), expected)
    comments = read_frame(table).groupby("item")["comment"].first()
    assert comments[comments != ""].tolist() == ['=half done, "so far"']

    rows = [{"item": item, "criterion": name, "score": value} for (item, name), value in expected.items()]
    direct = pd.DataFrame(rows).dropna().assign(rater="ana", scale="1|2|3|4|5")
    golds = (calib.read_labels(table), table, direct)
    frames = [calib.interval(scores, gold).to_frame().drop(columns="warnings") for gold in golds]  # who could not say
    assert list(frames[0]["criterion"]) == CRITERIA
    for frame in frames[:2]:
        pd.testing.assert_frame_equal(frame, frames[2], check_exact=True)


async def to_focus(visit, name):
    """How many times Tab is pressed until an element has the focus."""
    fields = "a, button, input, textarea, [tabindex='0']"
    order = f'[...document.querySelectorAll("{fields}")].filter(one => one.checkVisibility() && !one.disabled)'
    after = "document.activeElement.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING"
    return await visit.read(f"{order}.filter(one => {after}).findIndex(one => one.id === '{name}') + 1")


def test_three_annotators_with_items_in_common_make_the_interval_of_their_labels(tmp_path, chosen):
    """Each presses what a formula says of the item that is shown; the same labels are given directly."""
    scores, _ = chosen
    scores = scores[scores["criterion"] == "fluency"]
    items = pd.DataFrame({"item": scores["item"], "output": [f"Summary {k}." for k in range(240)]})
    drawn = calib.choose(scores, 40, rng=2)
    names = ["ana", "ben", "cy"]
    pages = calib.label(items, drawn, annotators=names, overlap=10, path=tmp_path / "three.html")

    def label(name, item):
        return 1 + (len(name) * 7 + int(item.split("/")[1]) * 3) % 5

    async def sitting(visit, name, ids, folder):
        await visit.press("Enter", *(str(label(name, item)) for item in ids))
        return await visit.downloaded(folder, visit.click("#csv"))

    async def everybody():
        files = []
        for name, page in zip(names, pages.paths, strict=True):
            (folder := tmp_path / name).mkdir()
            async with chromium.Browser(tmp_path / f"of-{name}", folder) as browser:
                files.append(await sitting(await browser.tab(page), name, page_ids(page), folder))
        return files

    labels = calib.read_labels(asyncio.run(everybody()), drawn=drawn)
    rows = [(name, item) for name, page in zip(names, pages.paths, strict=True) for item in page_ids(page)]
    direct = pd.DataFrame(rows, columns=["annotator", "item"])
    direct["label"] = [float(label(name, item)) for name, item in rows]
    assert (len(direct), labels.overlap, len(labels.pooled)) == (60, 10, 40)
    mean = direct.groupby("item")["label"].mean()
    assert labels.pooled.set_index(labels.pooled["item"].astype(str))["score"].to_dict() == mean.to_dict()
    gold = direct.rename(columns={"annotator": "rater", "label": "score"})
    gold = gold.assign(criterion="fluency", scale="1|2|3|4|5", method="human")
    mine, theirs = (calib.interval(drawn, one).to_frame() for one in (labels, gold))
    pd.testing.assert_frame_equal(mine, theirs, check_exact=True)


def test_a_browser_that_is_killed_loses_nothing(tmp_path, chosen):
    """At a person's pace Chromium keeps its storage in memory for many seconds; its database has what is answered."""
    _, page = chosen

    async def days():
        async with chromium.Browser(tmp_path / "profile") as browser:
            visit = await browser.tab(page, before=PATIENT)
            await visit.press("Enter")
            for key in "13524152":
                await visit.press(key)
                await asyncio.sleep(2)
            assert await visit.read(WRITTEN)
        async with chromium.Browser(tmp_path / "profile") as browser:
            visit = await browser.tab(page, before=PATIENT)
            return await visit.read("answered().map(one => one.value)"), await visit.read("$('begin').textContent")

    assert asyncio.run(days()) == ([1, 3, 5, 2, 4, 1, 5, 2], "Continue (4 of 60)")
