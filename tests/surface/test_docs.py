"""The site: it has each warning, each public name and attribute; once built it loads nothing from elsewhere."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import gather
import pytest

import calib

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
built = pytest.mark.skipif(
    not (SITE / "objects.inv").exists(), reason="needs the site: sphinx-build -W --keep-going -b html docs build/docs"
)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


NAMED = re.compile(r"([a-z]+(?:_[a-z]+)*): ")
SHOWN_BY = (
    "report",
    "console",
    "display.py",
    "display_sentences.py",
    "cli.py",
    "record.py",
)  # which say nothing of their own
NO_WARNING = {"width", "inputs", "assumed"}  # of a style; what was read, and what is assumed


def is_apart(node: ast.AST) -> bool:
    """Docstrings and errors, whose texts may begin like a warning."""
    error = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error")
    return error or isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def warnings_of(tree: ast.Module) -> set[str]:
    """The names of the texts "name: text" in a module."""
    apart = {id(inner) for node in ast.walk(tree) if is_apart(node) for inner in ast.walk(node)}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in apart]
    return {found[1] for text in texts if isinstance(text, str) and (found := NAMED.match(text))}


def test_each_warning_has_its_line_and_a_link():
    files = [path for path in (ROOT / "calib").rglob("*.py") if not set(path.parts) & {*SHOWN_BY}]
    named = set().union(*(warnings_of(ast.parse(path.read_text(encoding="utf-8"))) for path in files)) - NO_WARNING
    lines = re.split(r"\n- ", page("warnings.md"))[1:]
    listed = {name: line for line in lines for name in re.findall(r"`(\w+)`", line.partition(": ")[0])}
    assert named - set(listed) == set(), "docs/warnings.md lacks these"
    assert set(listed) - named == set(), "no code says these, which docs/warnings.md has"
    assert [name for name, line in listed.items() if not re.search(r"\]\([\w-]+\.md", line)] == []


def test_the_security_page_names_every_function_that_calls_a_judge():
    functions = {name: one for name, one in gather.public("calib").items() if inspect.isfunction(one)}
    calls = {name for name, one in functions.items() if "complete" in inspect.signature(one).parameters}
    table = (ROOT / "SECURITY.md").read_text("utf-8").partition("## What leaves")[2].partition("| all else")[0]
    assert {"rate", "write_steps", "to_inspect_scorer"} <= calls <= set(re.findall(r"`calib\.(\w+)`", table))


WORDS = (
    *(
        "group", "system", "mass", "tau", "disattenuated", "lam", "rectifier", "half-width", "judge",
        "criterion",
    ),
    *("rater", "draw", "chain", "level", "ceiling", "entropy", "item", "label", "scale", "annotator", "coverage"),
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_the_glossary_has_the_words_of_results(word):
    assert f"\n{word}\n    " in page("glossary.md")


def test_the_citation_has_the_version():
    assert f"\nversion: {calib.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


NAMES = [(face, name) for face in gather.FACES for name in gather.public(face)]
CLASSES = [(face, name) for face, name in NAMES if inspect.isclass(gather.public(face)[name])]


def test_each_public_name_stands_on_a_page_of_the_reference():
    pages = {face: gather.reference_page(face) for face in gather.FACES}
    assert [name for face, name in NAMES if f"\n   ~{gather.first_home(face, name)}\n" not in pages[face]] == []


@pytest.mark.parametrize(("face", "name"), CLASSES)
def test_each_attribute_of_a_class_is_documented(face, name):
    pytest.importorskip("numpydoc")
    kind = gather.public(face)[name]
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    fields = {name for name in fields if name[0] != "_"}
    assert (fields | {*getattr(kind, "_fields", ())}) - set(gather.attributes(kind)) == set()


@built
@pytest.mark.parametrize(("face", "name"), NAMES)
def test_each_public_name_has_a_page_in_the_site(face, name):
    home = gather.first_home(face, name)
    text = (SITE / "reference" / "names" / f"{gather.file_of(home)}.html").read_text(encoding="utf-8")
    assert f'id="{home}"' in text
    if (face, name) in CLASSES:
        shown = set(re.findall(r"[\w*]+", " ".join(re.findall(r"<dt><strong>(.*?)</strong>", text))))
        shown |= set(re.findall(rf'href="#{re.escape(home)}\.(\w+)"', text))  # properties
        assert set(gather.attributes(gather.public(face)[name])) - shown == set()


LOADS = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*\shref=\"(?:https?:)?//")
ELSEWHERE = re.compile(r"(?:url\(|@import )[\"']?(?:https?:)?//")


@built
def test_no_page_of_the_site_loads_anything_from_elsewhere():
    pages = [path for path in SITE.rglob("*.html") if LOADS.search(path.read_text(encoding="utf-8"))]
    sheets = [path for path in SITE.rglob("*.css") if ELSEWHERE.search(path.read_text(encoding="utf-8"))]
    assert (pages, sheets) == ([], [])


def test_the_pages_and_the_readme_stay_short():
    pages = (ROOT / "docs").glob("*.md")
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in pages) <= 25_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110
