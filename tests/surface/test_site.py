"""The site as it is published: a folder for each version with a switcher, search, and llms.txt."""

import functools
import http.server
import json
import re
import threading
from pathlib import Path
from urllib.parse import quote

import chromium
import publish
import pytest

from calib.console.program import commands

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
built = pytest.mark.skipif(
    not (SITE / "objects.inv").exists(), reason="needs the site: sphinx-build -W --keep-going -b html docs build/docs"
)
browser = pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium here: no program chromium or google-chrome")
LINK = re.compile(r"\]\((.+?)\)")


def site(folder: Path, version: str) -> Path:
    folder.mkdir()
    (folder / "objects.inv").write_bytes(
        b"# Sphinx inventory version 2\n# Project: calib\n# Version: %b\n" % version.encode()
    )
    (folder / "llms.txt").write_text("[a](docs/a.md)")
    (folder / "page.html").write_text(version)
    return folder


def test_each_version_has_a_folder_and_the_root_leads_to_the_newest(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "0.10").mkdir()
    (pages / "0.10" / "llms.txt").write_text("[a](docs/a.md)")
    (pages / "0.9").mkdir()
    (pages / "0.9" / "gone.html").touch()
    (pages / "1.x").mkdir()
    assert publish.publish(site(tmp_path / "built", "0.9.3"), pages, "calib") == "0.9"
    assert [path.name for path in (pages / "0.9").iterdir() if path.suffix == ".html"] == ["page.html"]
    assert json.loads((pages / "switcher.json").read_text()) == [
        {"version": "0.10", "url": "/calib/0.10/", "preferred": True},
        {"version": "0.9", "url": "/calib/0.9/", "preferred": False},
    ]
    assert "url=0.10/" in (pages / "index.html").read_text()
    assert (pages / "llms.txt").read_text() == "[a](0.10/docs/a.md)"
    assert (pages / ".nojekyll").exists()
    publish.publish(site(tmp_path / "whole", "0.11"), pages, "/")
    assert json.loads((pages / "switcher.json").read_text())[0]["url"] == "/0.11/"


@pytest.mark.parametrize("version", ["0.4.0.dev1", "0.4.0rc1", "../0.4", ""])
def test_only_released_versions_are_published(tmp_path, version):
    with pytest.raises(SystemExit, match="only released versions"):
        publish.publish(site(tmp_path / "built", version), tmp_path / "pages", "/")
    assert not (tmp_path / "pages").exists()


def test_llms_txt_is_short_and_names_what_exists():
    text = (ROOT / "llms.txt").read_text("utf-8")
    assert len(text.split()) < 400
    assert [name for name in LINK.findall(text) if not (ROOT / name).is_file()] == []
    assert set(re.findall(r"`calib ([a-z-]+)", text)) <= set(commands())
    assert [
        line for line in text.splitlines() if line.startswith("- ") and not re.match(r"- \[[^]]+\]\([^)]+\): .", line)
    ] == []


@built
def test_the_site_has_llms_txt_and_what_it_links():
    links = LINK.findall((SITE / "llms.txt").read_text("utf-8"))
    assert len(links) > 10
    assert [name for name in links if not (SITE / name).is_file()] == []


FOUND = {  # what somebody looks for; the first page must be one of the first two that come, the others of the first ten
    "kappa": ["levels.html"],
    "pass^k": ["compare-runs.html", "glossary.html#term-pass-k", "reference/names/calib.stats.pass_hat_k.html"],
    "confidence interval": ["intervals.html", "glossary.html#term-confidence-interval"],
}


@built
@browser
def test_the_search_of_the_site_finds_its_words():
    async def look(browser):
        tab, found = await browser.tab(SITE / "search.html"), {}
        for words in FOUND:
            await tab.open(f"{(SITE / 'search.html').resolve().as_uri()}?q={quote(words)}", 1200)
            await tab.until("/search finished/i.test(document.querySelector('#search-results').innerText)")
            found[words] = await tab.read(
                "[...document.querySelectorAll('#search-results li a')].map(one => one.getAttribute('href'))"
            )
        return found

    for words, addresses in chromium.driven(look).items():
        first, *others = FOUND[words]
        assert any(first in address for address in addresses[:2]), addresses[:10]
        assert [page for page in others if not any(page in address for address in addresses[:10])] == [], addresses[:10]


@built
@browser
def test_the_switcher_leads_to_the_same_page_of_another_version(tmp_path):
    pages = tmp_path / "calib"
    version = publish.publish(SITE, pages, "/calib/")
    (pages / "0.1" / "reference").mkdir(parents=True)
    (pages / "0.1" / "reference" / "calib.html").write_text("of 0.1")
    publish.publish(SITE, pages, "/calib/")
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        async def look(browser):
            tab = await browser.tab(pages / "index.html")
            await tab.open(f"http://127.0.0.1:{server.server_port}/calib/{version}/reference/calib.html", 1200)
            await tab.until("document.querySelectorAll('.version-switcher__menu a').length")
            listed = await tab.read(
                "[...document.querySelector('.version-switcher__menu').children].map(one => one.innerText.trim())"
            )
            shown = await tab.read("document.querySelector('.version-switcher__button').innerText.trim()")
            await tab.read("document.querySelectorAll('.version-switcher__menu a')[1].click()")
            await tab.until("location.pathname.startsWith('/calib/0.1/') && document.body?.innerText")
            return listed, shown, await tab.read("location.pathname + ' ' + document.body.innerText")

        assert chromium.driven(look) == ([version, "0.1"], version, "/calib/0.1/reference/calib.html of 0.1")
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""
