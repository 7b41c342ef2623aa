"""A judge's own page in a browser: hostile texts stay texts, the list sorts and is searched."""

import asyncio

import numpy as np
import pandas as pd
import pytest

import calib

chromium = pytest.importorskip("chromium", reason="the browser is driven through aiohttp")
pytestmark = chromium.MARKS

HOSTILE = (
    "<script>window.bad=1;alert(1)</script></script><img src=x onerror='window.bad=1'></style></details></table>"
    '<svg onload=alert(2)>--><a href="javascript:alert(3)">x</a>{{ 7*7 }} &lt;b&gt; \u202e \x00 \x1b[31m'
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Twenty items: the judge scores 1 and 5, people 3; one of them is called needle."""
    names = [f"{'needle' if i == 7 else 'item'}-{i:02d} {HOSTILE}" for i in range(20)]
    rng = np.random.default_rng(1)
    ratings = pd.DataFrame({"item": np.repeat(names, 3), "draw": np.tile([0, 1, 2], 20)}, dtype=object)
    ratings["score"] = rng.integers(1, 6, 60).astype(float)
    ratings["reply"] = pd.Series([HOSTILE + "\ud800" + " and so on" * 50] * 60, dtype=object)
    ratings = ratings.assign(criterion=HOSTILE, rater=HOSTILE, scale="1|2|3|4|5", method="sample", weight=1.0)
    people = pd.DataFrame({"item": names, "score": 3.0}).assign(criterion=HOSTILE, rater="ann")
    items = pd.DataFrame({"item": names, "source": HOSTILE, "output": [HOSTILE + "\ud800"] * 20}, dtype=object)
    path = tmp_path_factory.mktemp("page") / "r.html"
    calib.report([calib.profile(ratings, people, items=items)], path, title=HOSTILE)
    return path


LIST = "[...document.querySelectorAll('table.sortable')].pop()"


@pytest.mark.parametrize("width", [1200, 400])
def test_hostile_texts_do_nothing(page, width):
    async def look(visit):
        await visit.read("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        await asyncio.sleep(0.1)
        wide = "document.documentElement.scrollWidth <= innerWidth"
        odd = "document.querySelectorAll('img, a[href^=javascript], script:not(:last-of-type), [onload], [onerror]')"
        found = [
            await visit.read(script)
            for script in ("window.bad === undefined", wide, f"{odd}.length", f"{LIST}.textContent")
        ]
        return *found, visit.said, visit.asked(page.resolve().as_uri())

    harmless, fits, odd, text, said, asked = chromium.visited(page, look, width=width)
    assert harmless
    assert fits
    assert odd == 0
    assert text.count("<script>window.bad=1;alert(1)</script>") > 20
    assert (said, asked) == ([], [])


def test_the_list_is_searched_and_sorted(page):
    async def look(visit):
        await visit.read("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        search = f"{LIST}.parentElement.previousElementSibling.querySelector('input')"
        await visit.read(f"{search}.value = 'needle'; {search}.dispatchEvent(new Event('input'))")
        left = await visit.read(
            f"[...{LIST}.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[0].textContent)"
        )
        heads = await visit.read(f"[...{LIST}.tHead.rows[0].cells].map(head => head.textContent)")
        place = heads.index("judge's score")
        await visit.read(f"{LIST}.tHead.rows[0].cells[{place}].querySelector('button').click()")
        scores = await visit.read(f"[...{LIST}.tBodies[0].rows].map(row => parseFloat(row.cells[{place}].textContent))")
        return left, heads, scores

    left, heads, scores = chromium.visited(page, look, width=1200)
    assert len(left) == 1
    assert left[0].startswith("needle-07")
    assert heads == [
        "item", "because", "judge's score", "label", "apart", "output", "judge's words", "source", "entropy",
    ]  # fmt: skip
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 3
