"""The page as a browser shows it: at two widths, light and dark, on paper, with hostile texts, with many items."""

import asyncio
import math
import re
import struct

import numpy as np
import pandas as pd
import pytest

import calib
from calib import Results, report
from calib.report import sections as report_sections
from calib.stats import agreement, compare, convergence, mean_interval, ppi_difference, ppi_mean, rank_judges
from calib.table.text import Block

chromium = pytest.importorskip("chromium", reason="the browser is driven through aiohttp")
pytestmark = chromium.MARKS

HOSTILE = (
    "<script>window.bad=1;alert(1)</script><img src=x onerror='window.bad=1'></style></svg>--><svg onload=alert(2)>"
    '"><a href="javascript:alert(3)">x</a><style>*{display:none}</style>{{ 7 * 7 }}'
)
LONG = "a long reply of the judge, " * 20
WIDTHS = [(1200, False), (400, False), (400, True)]


def means(names, null=None, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for place in range(len(names)):
        f = np.clip(rng.normal(2.5 + 0.05 * place, 0.7, 80), 1, 5)
        y = np.clip(np.round(f[:30] + rng.normal(0, 0.4, 30)), 1, 5)
        found.append(ppi_mean(y, f[:30], f[30:], bounds=(1, 5), null=null))
    return Results(tuple({"criterion": "coherence", "rater": "judge", "system": name} for name in names), tuple(found))


def differences():
    rng = np.random.default_rng(1)
    base = rng.normal(3, 0.5, 60)
    found = []
    for shift in (0.8, 0.0):
        f = base, base - shift + rng.normal(0, 0.2, 60)
        y = [np.where(np.arange(60) < 25, one + rng.normal(0, 0.2, 60), np.nan) for one in f]
        found.append(ppi_difference(*y, *f))
    return Results(
        ({"criterion": "coherence", "system": "A - B"}, {"criterion": "coherence", "system": "A - C"}), found
    )


def agreements(number=3, n=60, name="judge"):
    rng = np.random.default_rng(2)
    y = rng.normal(size=n)
    found = [agreement(y + rng.normal(size=n), y, groups=np.arange(n) // 5, level="group") for _ in range(number)]
    return Results(tuple({"criterion": f"c{i}", "rater": f"{name}{i % 2}"} for i in range(number)), tuple(found))


def every_kind():
    rng = np.random.default_rng(3)
    y = rng.normal(size=60)
    judges = {f"a-judge-with-a-long-name-{i}": y + (0.3 + i) * rng.normal(size=60) for i in range(4)}
    first, second = list(judges.values())[:2]
    pair = compare(first, second, y, names=tuple(list(judges)[:2]), groups=np.arange(60) // 5)
    draws = rng.integers(1, 6, size=(40, 10))
    curves = [convergence(draws, labels=draws.mean(axis=1) + rng.normal(size=40), rng=1)] * 3
    return [
        "What this is, in a sentence.",
        ("Means of many systems", means([f"a-rather-long-name-of-a-system-{i}" for i in range(20)])),
        ("Means against a value", means(["A", "B"], null=2.0)), ("Differences", differences()),
        ("Agreement", agreements()), ("A map", agreements(4)), ("One judge", agreements(1)),
        ("Many pairs", Results(({},), (agreement(rng.normal(size=5000), rng.normal(size=5000)),))),
        ("Convergence", Results(tuple({"criterion": name} for name in "abc"), tuple(curves))),
        ("Two judges", Results(({"criterion": "a"},), (pair,))),
        ("Order", Results(({"criterion": "a"},), (rank_judges(judges, y),))),
        ("Labels", calib.stats.labels_needed(rho=0.8, sd=1.1, n_items=2000, half_width=0.2)),
        ("Nothing", Results((), ())),
        ("Frame", pd.DataFrame({"text": [LONG, "b", "c"], "number": [2.5, 10.0, np.nan]})),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "every.html"
    report(every_kind(), path, title="Every kind", notes="First.\n\nSecond.")
    return path


LOOK = """(() => {
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  const seen = [...document.querySelectorAll("svg text")].filter(one => one.getClientRects().length);
  const box = one => one.getBoundingClientRect();
  const outside = one => {
    const [a, b] = [box(one), box(one.ownerSVGElement)];
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
  };
  const size = one => {
    const by = one.getScreenCTM();
    return parseFloat(getComputedStyle(one).fontSize) * Math.hypot(by.a, by.b);
  };
  const grey = getComputedStyle(document.body);
  return {
    page: document.scrollingElement.scrollWidth, window: innerWidth, texts: seen.length,
    smallest: Math.min(...seen.map(size)), clipped: seen.filter(outside).map(one => one.textContent),
    ink: getComputedStyle(seen[0]).fill, paper: grey.backgroundColor,
    pictures: [...document.querySelectorAll("figure > div")].filter(one => one.clientWidth)
      .map(one => [one.parentElement.className || one.className, one.scrollWidth, one.clientWidth]),
  };
})()"""


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("width", "dark"), WIDTHS)
def test_it_fits_can_be_read_says_nothing_and_loads_nothing(page, width, dark, tmp_path):
    async def look(visit):
        found = await visit.read(LOOK)
        await asyncio.sleep(0.2)
        await visit.picture(tmp_path / "page.png")
        return found, visit.said, visit.asked(page.resolve().as_uri())

    found, said, asked = chromium.visited(page, look, width=width, dark=dark)
    assert found["page"] <= found["window"] == width
    assert found["texts"] > 100
    assert found["smallest"] >= 11
    assert found["clipped"] == []
    assert contrast(found["ink"], found["paper"]) > 7
    assert (luminance(found["paper"]) < 0.1) == dark
    assert {kind for kind, *_ in found["pictures"]} == {"small", "narrow" if width < 600 else "wide"}
    # no picture needs to be scrolled
    assert all(inner <= outer for _, inner, outer in found["pictures"])
    assert said == []
    assert asked == []
    shot = (tmp_path / "page.png").read_bytes()
    assert struct.unpack(">I", shot[16:20])[0] == width


ACCESS = """(() => {
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  const every = [...document.querySelectorAll("body *:not(svg, svg *)")].filter(one => one.getClientRects().length);
  const own = one => [...one.childNodes].some(part => part.nodeType === 3 && part.textContent.trim());
  const ground = one => {
    while (one.parentElement && getComputedStyle(one).backgroundColor === "rgba(0, 0, 0, 0)") one = one.parentElement;
    return getComputedStyle(one).backgroundColor;
  };
  const texts = every.filter(own), look = one => getComputedStyle(one);
  const cut = one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
  const boxes = every.filter(one => /auto|scroll/.test(look(one).overflowX + look(one).overflowY) && cut(one));
  return {
    colours: [...new Set(texts.map(one => `${look(one).color}|${ground(one)}`))],
    outside: texts.filter(one => !one.closest("header, main, footer")).map(one => one.textContent),
    boxes: boxes.length, unnamed: boxes.filter(one => one.tabIndex < 0 || !one.getAttribute("aria-label")).length,
    tables: [...document.querySelectorAll(".scroll")].filter(one => one.scrollWidth > one.clientWidth + 1).length,
  };
})()"""


@pytest.mark.parametrize(("width", "dark"), WIDTHS)
def test_texts_have_contrast_and_boxes_that_scroll_can_be_reached(page, width, dark):
    async def look(visit):
        return await visit.read(ACCESS)

    found = chromium.visited(page, look, width=width, dark=dark)
    pairs = [colours.split("|") for colours in found["colours"]]
    assert len(pairs) > 4
    assert min(contrast(*pair) for pair in pairs) >= 4.5
    assert found["outside"] == []
    assert found["boxes"] > 3
    assert found["unnamed"] == 0
    assert width < 600 or found["tables"] == 0  # none is cut at the right


def test_the_reader_meets_the_answers_first_and_opens_what_he_wants(page):
    async def look(visit):
        return await visit.read("""(() => ({
          answers: [...document.querySelectorAll(".answers li")].map(one => one.textContent),
          lights: [...document.querySelectorAll(".light")].map(one => one.textContent),
          before: document.querySelector(".answers").compareDocumentPosition(document.querySelector("figure")),
          open: [...document.querySelectorAll("section > details")].map(one => one.open),
          heads: [...document.querySelectorAll("summary > h2")].map(one => one.textContent),
          generator: document.querySelector("meta[name=generator]").content,
          notes: [...document.querySelectorAll("header p")].map(one => one.textContent),
        }))()""")

    found = chromium.visited(page, look, width=1200)
    assert found["notes"] == ["First.", "Second.", "What this is, in a sentence."]
    assert found["answers"][0].startswith("Human mean from ")
    assert {"▲ above 2", "▲ above 0", "○ not decided"} <= set(found["lights"])
    assert found["before"] == 4  # the picture follows
    assert not any(found["open"])
    assert "Nothing" not in found["heads"]
    assert found["generator"] == f"calib {calib.__version__}"


def test_sections_open_by_the_keyboard_and_by_links_and_all_on_paper(page, tmp_path):
    opened = "[...document.querySelectorAll('details')].map(one => one.open)"

    async def look(visit):
        found = {}
        await visit.read("document.querySelectorAll('section > details > summary')[2].focus()")
        for key in ("Enter", " "):
            await visit.press(key)
            found[key] = await visit.read("document.querySelectorAll('section > details')[2].open")
        await visit.read("location.hash = document.querySelectorAll('section > details')[4].lastElementChild.id")
        await visit.until("document.querySelectorAll('section > details')[4].open")
        before = await visit.read(opened)
        await visit.read(f"addEventListener('beforeprint', () => {{ window.printed = {opened}; }})")
        await visit.pdf(tmp_path / "page.pdf")
        found["printed"] = await visit.read("window.printed")
        found["after"] = await visit.read(opened) == before
        return found

    found = chromium.visited(page, look, width=1200)
    assert (found["Enter"], found[" "]) == (True, False)
    assert len(found["printed"]) > 20
    assert all(found["printed"])
    assert found["after"]
    assert (tmp_path / "page.pdf").read_bytes()[:5] == b"%PDF-"


def test_tables_are_sorted_and_searched_by_the_keyboard(page):
    column = """(place => [...document.querySelector("#s2 table.sortable").tBodies[0].rows]
        .filter(row => !row.hidden).map(row => row.cells[place].textContent))"""

    async def look(visit):
        place = await visit.read("""(() => {
          document.querySelector("#s2").parentElement.open = true;
          const heads = [...document.querySelectorAll("#s2 table.sortable th")];
          const place = heads.findIndex(one => one.textContent === "estimate");
          heads[place].querySelector("button").focus();
          return place; })()""")
        found = {"sorts": []}
        for _ in range(2):
            await visit.press("Enter")
            sort = await visit.read("document.activeElement.parentElement.getAttribute('aria-sort')")
            found["sorts"].append((sort, await visit.read(f"{column}({place})")))
        await visit.read("""(() => { const search = document.querySelector("#s2 input[type=search]");
            search.value = "SYSTEM-1 name"; search.dispatchEvent(new Event("input")); })()""")
        found["left"] = await visit.read(f"{column}({place - 1})")
        found["status"] = await visit.read("document.querySelector('#s2 [role=status]').textContent")
        return found

    found = chromium.visited(page, look, width=1200)
    estimates = [float(one) for one in found["sorts"][0][1]]
    assert [way for way, _ in found["sorts"]] == ["descending", "ascending"]
    assert len(estimates) == 20
    assert estimates == sorted(estimates, reverse=True)
    assert [float(one) for one in found["sorts"][1][1]] == sorted(estimates)
    # 1 and 10 to 19
    assert len(found["left"]) == 11
    assert found["status"] == "11 of 20 rows"


def test_a_long_cell_is_folded_and_what_is_empty_stays_below(tmp_path, monkeypatch):
    frame = pd.DataFrame({"reply": [LONG, *"bcdef"], "number": [2.5, 10.0, np.nan, -1.0, 3.0, 4.0]})
    known, block = report_sections.display_function, Block("Items", frame, ["Said."])
    tell = lambda kind, what: (lambda _: [block]) if what == "blocks" else known(kind, what)  # noqa: E731
    monkeypatch.setattr(report_sections, "display_function", tell)
    path = tmp_path / "r.html"
    report([("M", mean_interval([1, 2, 4]))], path)

    async def look(visit):
        return await visit.read("""(() => {
          const table = document.querySelector("table.sortable"), button = table.querySelectorAll("th button")[1];
          const numbers = () => [...table.tBodies[0].rows].map(row => row.cells[1].textContent);
          button.click(); const down = numbers(); button.click();
          return [down, numbers(), table.querySelectorAll("td details").length,
            [...document.querySelectorAll("h3")].map(one => one.textContent)]; })()""")

    down, up, folded, heads = chromium.visited(path, look, width=1200)
    assert down == ["10.0", "4.0", "3.0", "2.5", "-1.0", ""]
    assert up == ["-1.0", "2.5", "3.0", "4.0", "10.0", ""]
    assert folded == 1
    assert heads == ["Items"]


@pytest.mark.parametrize("width", [1200, 400])
def test_hostile_texts_are_text_in_a_browser(width, tmp_path):
    path = tmp_path / "r.html"
    labels = tuple({"criterion": f"{HOSTILE}{i}", "rater": HOSTILE, "system": HOSTILE} for i in range(3))
    named = [Results(labels, of.results[:3]) for of in (means([*"abc"]), agreements())]
    frame = pd.DataFrame({HOSTILE: [HOSTILE, HOSTILE * 3], "y": [1, 2]})
    parts = [HOSTILE, *((HOSTILE, one) for one in named), (HOSTILE, frame), agreements(4, name=HOSTILE)]
    report(parts, path, title=HOSTILE, notes=HOSTILE)

    async def look(visit):
        found = await visit.read("""(() => {
          document.querySelectorAll("details").forEach(one => { one.open = true; });
          document.querySelectorAll("th button").forEach(one => one.click());
          const input = document.querySelector("input"), search = new Event("input");
          if (input) { input.value = "<img src=x onerror=alert(4)>"; input.dispatchEvent(search); }
          const every = [...document.querySelectorAll("*")];
          return { bad: window.bad ?? null, title: document.title, scripts: document.scripts.length,
            kinds: [...new Set(every.map(one => one.localName))],
            handlers: every.flatMap(one => [...one.attributes]).filter(one => one.name.startsWith("on")).length,
            links: [...document.querySelectorAll("a")].map(one => one.getAttribute("href")),
            images: [...document.querySelectorAll("image")].map(one => one.href.baseVal),
            text: document.querySelector("h1").textContent, width: document.scrollingElement.scrollWidth }; })()""")
        await asyncio.sleep(0.2)
        return found, visit.said, visit.asked(path.resolve().as_uri())

    found, said, asked = chromium.visited(path, look, width=width)
    assert found["bad"] is None
    assert found["scripts"] == 1
    assert found["text"] == found["title"] == HOSTILE
    assert not {"img", "iframe", "object", "embed", "link", "foreignObject"} & set(found["kinds"])
    assert found["handlers"] == 0
    # the colours of a map are one
    assert all(image.startswith("data:image/png;base64,") for image in found["images"])
    assert all(re.fullmatch(r"#s\d+", link) for link in found["links"])
    assert found["width"] <= width
    assert said == []
    assert asked == []


def test_many_items_are_a_small_page(tmp_path):
    rng = np.random.default_rng(4)
    n = 100_000
    y, groups = rng.normal(size=n), np.arange(n) // 6
    kept = agreement(y + rng.normal(size=n), y, groups=groups, level="group", interval="none")
    parts = [("Items", agreement(y + rng.normal(size=n), y, interval="none")), ("Groups", kept)]
    report(parts, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 3e6
    assert math.isfinite(kept.estimate)
