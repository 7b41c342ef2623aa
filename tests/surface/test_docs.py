"""The site says everything: each warning, each public name and attribute; and a built one loads nothing from elsewhere."""

import ast
import dataclasses
import inspect
import re
import sys
from pathlib import Path

import pytest

import calib

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
sys.path.insert(0, str(ROOT / "docs"))

import gather  # noqa: E402

built = pytest.mark.skipif(
    not (SITE / "objects.inv").exists(), reason="needs the site: sphinx-build -W --keep-going -b html docs build/docs"
)

# --- warnings ---------------------------------------------------------------------------------------------------

NAMED = re.compile(r"([a-z]+(?:_[a-z]+)*): ")
NO_WARNING = {"calib", "signature"}  # lines of the shell that begin so


def told_by(tree: ast.Module) -> set[str]:
    """The names of `name: text` in a module, but for docstrings and errors."""
    passed: set[int] = set()
    for node in ast.walk(tree):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Raise | ast.Expr) or called.endswith("Error"):
            is_doc = not isinstance(node, ast.Expr) or isinstance(node.value, ast.Constant)
            passed |= {id(inner) for inner in ast.walk(node)} if is_doc else set()
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in passed]
    found = (NAMED.match(node.value) for node in texts if isinstance(node.value, str))
    return {match[1] for match in found if match}


def test_each_warning_has_its_line_and_a_link():
    told: set[str] = set()
    for path in (ROOT / "calib").rglob("*.py"):
        told |= told_by(ast.parse(path.read_text(encoding="utf-8")))
    lines = re.split(r"\n- ", (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8"))[1:]
    listed = {name: line for line in lines for name in re.findall(r"`(\w+)`", line.partition(": ")[0])}
    assert told - NO_WARNING - set(listed) == set(), "docs/warnings.md lacks these"
    assert set(listed) - told == set(), "docs/warnings.md has these, and no code says them"
    assert [name for name, line in listed.items() if not re.search(r"\]\(\w+\.md", line)] == []


# --- names ------------------------------------------------------------------------------------------------------

NAMES = [(face, name) for face in gather.FACES for name in gather.public(face)]


def test_each_public_name_stands_on_a_page_of_the_reference():
    pages = {face: gather.reference_page(face) for face in gather.FACES}
    assert [name for face, name in NAMES if f"\n   ~{gather.first_home(face, name)}\n" not in pages[face]] == []


@pytest.mark.parametrize(("face", "name"), [pair for pair in NAMES if inspect.isclass(gather.public(pair[0])[pair[1]])])
def test_each_attribute_of_a_class_is_documented(face, name):
    pytest.importorskip("numpydoc")
    kind = gather.public(face)[name]
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    fields |= set(getattr(kind, "_fields", ()))
    assert fields - set(gather.attributes(kind)) == set()


@built
def test_each_public_name_has_a_page_in_the_site():
    homes = {gather.first_home(face, name) for face, name in NAMES}
    assert [home for home in homes if not (SITE / "reference" / "names" / f"{gather.file_of(home)}.html").exists()] == []


# --- the built site ---------------------------------------------------------------------------------------------


@built
def test_no_page_of_the_site_loads_anything_from_elsewhere():
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*\shref=\"(?:https?:)?//")
    pages = [path for path in SITE.rglob("*.html") if loads.search(path.read_text(encoding="utf-8"))]
    sheets = [path for path in SITE.rglob("*.css") if re.search(r"url\([\"']?(?:https?:)?//", path.read_text("utf-8"))]
    assert (pages, sheets) == ([], [])


def test_the_citation_has_the_version():
    assert f"\nversion: {calib.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
