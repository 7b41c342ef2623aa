"""What a reader's browser makes of a view: filters as pandas makes them, keys, addresses, marks to labels, attacks."""

import json

import numpy as np
import pandas as pd
import pytest
from chromium import MARKS, driven
from view_data import HOSTILE, frames_in, hostile_session, run_of, session

import calib

pytestmark = MARKS
COLUMNS = {"item": "id", "judge": "judge", "label": "label", "system": "model", "scale": "1|2|3|4|5"}
READY = "document.body.dataset.state === 'ready'"
SEEN = "[...document.querySelectorAll('#items tbody button')].map(one => one.textContent)"


def looked_at(page, look, downloads=None, **size):
    async def visit(browser):
        tab = await browser.tab(page, **size)
        await tab.until(READY)
        found = await look(tab)
        assert tab.said == []
        assert tab.asked(page.resolve().as_uri()) == []
        return found

    return driven(visit, downloads)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "run.html"
    calib.view(run_of(500, rng=3), path, **COLUMNS)
    return path


def filtered(rows, state):
    """The rows that a filter leaves, in its order, by pandas."""
    keep = pd.Series(True, rows.index)
    for name, values in state["values"].items():
        keep &= rows[name].fillna("").isin(values)
    for name, (low, high) in state["ranges"].items():
        keep &= rows[name].between(low, high)
    for flag in state["flags"]:
        keep &= rows[flag] == 1
    texts = [name for name in rows if rows[name].dtype == object or isinstance(rows[name].dtype, pd.StringDtype)]
    for word in state["query"].lower().split():
        there = [rows[name].fillna("").str.lower().str.contains(word, regex=False) for name in texts]
        keep &= pd.concat(there, axis="columns").any(axis="columns")
    kept, name = rows[keep], state["sort"].removeprefix("-")
    if not name:
        return kept.index.tolist()
    places = kept[name]
    if name == "item":
        places = places.str.extract(r"(\d+)")[0].astype(int)
    return places.sort_values(ascending=state["sort"][0] != "-", kind="stable", na_position="last").index.tolist()


def random_state(random, rows):
    state = {"values": {}, "ranges": {}, "flags": [], "query": "", "sort": "", "item": "", "tab": "items"}
    for name in random.choice(["system", "topic"], random.integers(3), replace=False):
        state["values"][name] = random.choice(rows[name].unique(), random.integers(1, 3), replace=False).tolist()
    for name in random.choice(["score", "label", "gap", "length"], random.integers(3), replace=False):
        state["ranges"][name] = sorted(random.choice(rows[name].dropna(), 2).tolist())
    if random.random() < 0.2:
        state["flags"] = ["judge sure and wrong"]
    if random.random() < 0.4:
        state["query"] = " ".join(random.choice(["w1", "What", "ITEM-1", "e", "theirs", "?"], random.integers(1, 3)))
    if random.random() < 0.8:
        name = random.choice(["score", "label", "gap", "length", "system", "topic", "item", "output"])
        state["sort"] = random.choice(["", "-"]) + name
    return state


def test_filters_and_orders_are_those_of_pandas(page):
    rows = frames_in(page.read_text(encoding="utf-8"))["rows"]
    random = np.random.default_rng(5)
    states = [random_state(random, rows) for _ in range(200)]
    each = "Object.assign(state, one); fromHash(toHash(), rows, about.rules); return [...matching()];"
    script = f"opened.then(({{rows, about, matching}}) => {json.dumps(states)}.map(one => {{ {each} }}))"
    found = looked_at(page, lambda tab: tab.read(script))
    wanted = [filtered(rows, one) for one in states]
    assert found == wanted, "an address leads to the view that made it"
    assert len({tuple(one) for one in wanted}) > 120


def test_keys_clicks_and_addresses(page):
    async def look(tab):
        await tab.click("#items th:nth-child(4) button")
        first = await tab.read(SEEN)
        await tab.press("j", "j", "m")
        item = await tab.read("document.querySelector('#item h2').textContent")
        address = await tab.read("location.hash")
        await tab.press("Escape", "/")
        await tab.type("item-77")
        await tab.until("document.querySelector('#says').textContent.startsWith('1 of')")
        found = await tab.read(SEEN)
        await tab.read(f"location.hash = {json.dumps('#item=item-42')}")
        await tab.until("!document.querySelector('#item').hidden")
        await tab.reload()  # the item is there before its readings are
        await tab.until(READY)
        linked = await tab.read("document.querySelector('#item h2').textContent")
        await tab.read("location.hash = '#item=nobody&in.score=3..x&is.nonsense=[1]&sort=toString&flag=constructor'")
        await tab.until("document.querySelector('#says').textContent.includes('no item')")
        says = await tab.read("document.querySelector('#says').textContent")
        return first, item, address, found, linked, says

    first, item, address, found, linked, says = looked_at(page, look)
    assert len(first) < 60, "rows out of sight are not there"
    assert item == first[1]
    assert f"item={item}" in address
    assert "sort=" in address
    assert found == ["item-77"]
    assert linked == "item-42"
    assert says.startswith("500 of 500")
    assert says.endswith("There is no item nobody.")


def test_a_brush_is_a_range(page):
    async def look(tab):
        legend = "one.querySelector('legend').textContent === 'score'"
        box = f"[...document.querySelectorAll('fieldset')].find(one => {legend}).querySelector('svg')"
        await tab.read(f"{box}.scrollIntoView()")
        x, y, width = await tab.read(
            f"(() => {{ const {{x, y, width}} = {box}.getBoundingClientRect(); return [x, y, width]; }})()"
        )
        for kind, at in (("mousePressed", 0.25), ("mouseReleased", 0.75)):
            await tab.call(
                "Input.dispatchMouseEvent", type=kind, x=x + at * width, y=y + 20, button="left", clickCount=1
            )
        return await tab.read("[state.ranges.score, document.querySelector('#says').textContent]")

    (low, high), says = looked_at(page, look)
    score = run_of(500, rng=3)["judge"]
    span = score.max() - score.min()
    assert low == pytest.approx(score.min() + 0.25 * span, abs=0.02 * span)
    assert high == pytest.approx(score.min() + 0.75 * span, abs=0.02 * span)
    assert says.startswith(f"{score.between(low, high).sum()} of 500")


def test_marks_become_a_page_to_label_and_an_interval(page, tmp_path):
    downloads = tmp_path / "downloads"
    downloads.mkdir()

    async def look(tab):
        for _ in range(14):
            await tab.press("j", "m")
        await tab.press("n")
        await tab.type('odd, "very"\nodd')
        await tab.press("Escape", "Escape")
        await tab.reload()
        await tab.until(READY)
        await tab.click("[data-tab=marks]")
        marks = await tab.downloaded(downloads, tab.click("#marks button:nth-child(1)"))
        notes = await tab.downloaded(downloads, tab.click("#marks button:nth-child(2)"))
        return marks, notes

    marks, notes = looked_at(page, look, downloads)
    run = run_of(500, rng=3)
    assert pd.read_csv(marks)["item"].tolist() == run["id"].head(14).tolist()
    assert pd.read_csv(notes).to_numpy().tolist() == [["item-13", 'odd, "very"\nodd']]
    texts = run[["id", "prompt", "response"]]
    pages = calib.label(texts, marks, criteria="quality", scale="1|2|3|4|5", rater="ann", path=tmp_path / "label.html")
    assert pages.n_items == 14
    labels = pd.DataFrame({"item": pd.read_csv(marks)["item"], "score": np.arange(14) % 5 + 1.0})
    labels = labels.assign(criterion="quality", rater="ann", method="human", scale="1|2|3|4|5")
    scores = calib.scores_from(run[["id", "judge"]], item="id", score="judge", rater="j", scale="1|2|3|4|5")
    low, high = calib.interval(scores, labels)[0].interval
    assert low < labels["score"].mean() < high


def test_slices_have_intervals_until_a_filter_is_set(page, tmp_path):
    async def look(tab):
        await tab.click("[data-tab=slices]")
        whole = await tab.read("document.querySelector('#slices').innerText")
        await tab.read("(state.ranges.score = [1, 3], opened.then(page => page.renew()))")
        return whole, await tab.read("document.querySelector('#slices').innerText")

    whole, part = looked_at(page, look)
    result = calib.interval(run_of(500, rng=3), **COLUMNS)[0]
    assert f"{result.estimate:.4g}" in whole
    assert "95 % CI" in whole
    assert "95 % CI" not in part
    assert "--items slice.csv --by in_view" in part


def test_two_runs_show_words_that_changed(tmp_path):
    before = run_of(30).drop(columns=["model", "label"]).assign(messages=[session()] * 30)
    now = before.assign(response=before["response"] + " and more", judge=(before["judge"] - 0.5).clip(1, 5))
    now["messages"] = [session(now=" and more")] * 30
    calib.view(now, tmp_path / "two.html", against=before, item="id", judge="judge", scale="1|2|3|4|5")

    async def look(tab):
        await tab.press("j")
        words = "[...document.querySelectorAll('section > .sides ins')].map(one => one.textContent)"
        talks = "[...document.querySelectorAll('.messages .sides')].map(one => one.textContent)"
        return await tab.read(
            f"[{words}, document.querySelectorAll('del').length, document.querySelector('#front').textContent, {talks}]"
        )

    words, removed, front, talks = looked_at(tmp_path / "two.html", look)
    (differs,) = talks
    assert differs.startswith("25 Assistant (before)It is **on its way**, number 5.25 Assistant (now)It is")
    assert differs.endswith("number 5 and more.")
    assert "".join("".join(words).split()) == "andmore"
    assert removed == 0
    assert front.startswith("This run scored")
    assert "For tasks to come" in front


def test_hostile_texts_do_nothing(tmp_path):
    n = len(HOSTILE)
    mine = pd.DataFrame(
        {"id": [f"{k}{text[:200]}." for k, text in enumerate(HOSTILE)], "score": np.arange(n) % 5 + 1.0}
    )
    mine = mine.assign(output=HOSTILE, remark=HOSTILE[::-1], kind=[text[:90] for text in HOSTILE])
    mine["messages"] = [hostile_session()] * n
    mine = mine.assign(constructor=list("ab" * n)[:n], toString=np.arange(n) % 3, __proto__=np.arange(n))
    calib.view(mine, tmp_path / "run.html", item="id", judge="score", title=HOSTILE[0])

    async def look(tab):
        for _ in range(n):
            await tab.press("j", "m")
        await tab.press("t")
        shown = []
        for _ in range(n):
            shown.append(await tab.read("document.querySelector('#item .text').textContent.length"))
            await tab.press("k")
        await tab.press("f")
        await tab.type("script")
        await tab.press("Enter")
        found = await tab.read("document.querySelector('.finding').textContent")
        await tab.press("Escape")
        for name in ("slices", "calls", "marks"):
            await tab.click(f"[data-tab={name}]")
        hit = await tab.read(
            "[window.hit, document.querySelectorAll('#item script, #item img, #item style, #item a').length]"
        )
        return hit, shown, await tab.read("getComputedStyle(document.body).display"), found

    hit, shown, display, found = looked_at(tmp_path / "run.html", look)
    assert hit == [None, 0]
    assert display != "none"
    assert found.startswith("↑↓2 of ")
    assert max(shown) == 100_000


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(page, width):
    async def look(tab):
        wide = [await tab.read("document.documentElement.scrollWidth")]
        await tab.press("j")
        wide.append(await tab.read("document.documentElement.scrollWidth"))
        for name in ("slices", "calls", "marks"):
            await tab.press("Escape")
            await tab.click(f"[data-tab={name}]")
            wide.append(await tab.read("document.documentElement.scrollWidth"))
        return wide

    assert max(looked_at(page, look, width=width)) <= width


def test_a_conversation_is_read_by_keys_and_searched(tmp_path):
    turns = [5 + 4 * k for k in range(20)]  # one session, whose answers are the items
    frame = pd.DataFrame({"id": [f"t{k}" for k in range(20)], "messages": [session()] * 20, "turn": turns})
    calib.view(frame.assign(judge=np.arange(20) % 5 + 1), tmp_path / "run.html", item="id", judge="judge")
    head = "document.activeElement.closest('.said').firstChild.textContent"
    place = "document.querySelector('.messages').scrollTop"

    async def look(tab):
        await tab.press("j", "j", "j")
        judged = await tab.read("document.querySelector('.judged').firstChild.textContent")
        there = "const b = one.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight;"
        seen = await tab.read(f"(() => {{ const one = document.querySelector('.judged'); {there} }})()")
        others = await tab.read("[...document.querySelectorAll('.messages button')].map(one => one.textContent)")
        heads = []
        for _ in range(64):
            await tab.press("J")
            heads.append(await tab.read(head))
        await tab.press("K", "Enter")
        opened = await tab.read("[...document.querySelectorAll('.messages details[open]')].length")
        before = await tab.read(place)
        await tab.press("m")
        kept = await tab.read(place) == before
        await tab.press("f")
        await tab.type("depot 1")
        count = "document.querySelector('.finding [role=status]').textContent"
        counts = [await tab.read(count)]
        for _ in range(2):
            await tab.press("Enter")
            counts.append(await tab.read(count))
        folds = "[...document.querySelectorAll('mark.now')].map(one => one.closest('details').open)"
        counts.append(await tab.read(folds))
        await tab.press("Escape", "/")
        await tab.type("depot 19")
        await tab.until("document.querySelector('.messages') && state.query === 'depot 19'")
        return (
            judged,
            seen,
            others,
            heads,
            opened,
            kept,
            counts,
            await tab.read("document.querySelector('#says').textContent"),
        )

    judged, seen, others, heads, opened, kept, counts, says = looked_at(tmp_path / "run.html", look)
    assert (judged, seen) == ("13 Assistant (judged)", True)
    assert others[:2] == ["quality, judge: 1", "quality, judge: 2"]
    assert len(others) == 19
    assert heads[:3] == ["14 User", "15 Tool call 4: look_up", "16 Result of tool call 4"]
    assert len(set(heads)) == 64, "each key goes on by one message"
    assert opened == 1
    assert kept, "a mark moves nothing"
    assert counts == ["1 of 11", "2 of 11", "3 of 11", [True]]
    assert says.startswith("20 of 20")


def test_an_item_without_messages_says_so_and_a_row_of_the_table_is_one_line(tmp_path):
    talks = [session(1), None, "", []]
    frame = pd.DataFrame({"id": list("abcd"), "messages": talks, "judge": [1, 2, 3, 4]}, dtype=object)
    calib.view(frame, tmp_path / "run.html", item="id", judge="judge")

    async def look(tab):
        line = await tab.read("document.querySelector('#items tbody tr:nth-child(2)').textContent")
        told = []
        for _ in range(4):
            await tab.press("j")
            told.append(await tab.read("document.querySelector('#item').textContent.includes('has no messages')"))
        await tab.click("[data-tab=marks]")
        await tab.press("n")
        await tab.type("why")
        return line, told, await tab.read("document.querySelector('#marks').innerText")

    line, told, marks = looked_at(tmp_path / "run.html", look)
    assert "Where is order 0? look_up" in line
    assert told == [False, True, True, True]
    assert marks.splitlines()[-1].split() == ["d", "why"]


def test_a_closed_item_stays_closed_and_on_a_narrow_screen_makes_room(page):
    async def closed(tab):
        await tab.press("j", "Escape", "t")
        return await tab.read("document.querySelector('#item').hidden")

    async def narrow(tab):
        await tab.press("j")
        await tab.click("[data-tab=slices]")
        shown = await tab.read("document.querySelector('#slices').offsetHeight > 0")
        await tab.press("j", "/")
        return shown, await tab.read("document.activeElement.id")

    assert looked_at(page, closed)
    assert looked_at(page, narrow, width=400) == (True, "query")


def test_slices_of_two_prompts_stand_apart(tmp_path):
    run = pd.DataFrame(
        {"item": [f"i{k}" for k in range(12)], "score": np.arange(12) % 5 + 1.0, "topic": ["a", "b"] * 6}
    )
    run = run.assign(criterion="q", rater="j", method="given", scale="1|2|3|4|5")
    both = pd.concat([run.assign(prompt="one"), run.assign(prompt="two", score=3.0)])
    calib.view(both, tmp_path / "run.html")

    async def look(tab):
        await tab.click("[data-tab=slices]")
        heads = "document.querySelector('#says').textContent"
        return await tab.read(f"[{heads}, document.querySelector('#slices').innerText]")

    says, slices = looked_at(tmp_path / "run.html", look)
    assert says == "24 of 24 rows"
    assert "all\tone\t12\t2.75" in slices
    assert "all\ttwo\t12\t3" in slices


def test_marked_ids_come_back_as_they_are(tmp_path):
    ids = ["'=x", "=x", "-1", "a,b", 'say "x"', "two\nlines", "NA", "007"]
    run = pd.DataFrame({"item": ids, "output": [f"text {k}" for k in range(len(ids))], "score": range(len(ids))})
    calib.view(run, tmp_path / "run.html", item="item", judge="score")

    async def look(tab):
        for _ in ids:
            await tab.press("j", "m")
        await tab.click("[data-tab=marks]")
        return await tab.downloaded(tmp_path, tab.click("#marks button"))

    marks = looked_at(tmp_path / "run.html", look, downloads=tmp_path)
    assert "\n'=x\n" in marks.read_text()
    assert calib.table.read_frame(marks, texts=["item"])["item"].tolist() == ids
