"""Pages of the site that are made: the reference from docstrings; notebooks, reproductions and data cards from theirs.

`conf.py` writes them before a build, `tests/surface/test_docs.py` asks them whether a name is missing.
"""

import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FACES = {
    "calib": "Files and tables in, results out.",
    "calib.stats": "Arrays in, results out: the same statistics with numpy and scipy alone.",
    "calib.plot": "A result in, matplotlib Axes out.",
    "calib.datasets": "Public sets of texts, human scores and judge scores.",
    "calib.table": "The three tables: their columns, checks and files.",
}
# where a name is defined -> under which head it stands; what has none stands under the last
HEADS = {
    "calib.inputs": "From your own files",
    "calib.judge": "Judges, prompts, calls",
    "calib.labelling": "Labels of people",
    "calib.table": "Tables and results",
    "calib.scale": "Tables and results",
    "calib.analysis.agreement": "Agreement",
    "calib.analysis.calibration": "One item: calibrated scores, sets, escalation",
    "calib.analysis.means": "Means and differences, with few labels",
    "calib.analysis.planning": "Planning: which labels, how many, what to buy",
    "calib.analysis.prompts": "Prompts",
    "calib.analysis.draws": "Draws",
    "calib.analysis.distributions": "Distributions and temperature",
    "calib.report": "Reports",
    "calib.datasets": "Data",
    "": "More",
}


def public(face: str) -> dict[str, object]:
    """The names that a face lists, without modules."""
    module = import_module(face)
    found = {name: getattr(module, name) for name in sorted(module.__all__) if name[:2] != "__"}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def head_of(face: str, value: object) -> str:
    """Under which head a name stands on its face's page: faces that are one topic have one head."""
    if face not in ("calib", "calib.stats", "calib.plot"):
        return "Names"
    home = getattr(value, "__module__", "") or ""
    return next(head for place, head in HEADS.items() if home.startswith(place))


def reference_page(face: str) -> str:
    """The names of a face under their heads, each with the first line of its docstring and a page of its own."""
    parts = [f"{face}\n{'=' * len(face)}\n", FACES[face]]
    heads: dict[str, list[str]] = {}
    for name, value in sorted(public(face).items(), key=lambda pair: inspect.isclass(pair[1])):  # functions first
        heads.setdefault(head_of(face, value), []).append(name)
    for head in dict.fromkeys([*HEADS.values(), *heads]):
        if head in heads:
            listed = "\n".join(f"   ~{first_home(face, name)}" for name in heads[head])
            parts += [f"\n{head}\n{'-' * len(head)}\n"]
            parts += [f".. autosummary::\n   :toctree: names\n   :nosignatures:\n\n{listed}\n"]
    return "\n".join(parts)


def file_of(home: str) -> str:
    """The file of a name's page: capitals alone do not tell two files apart on every machine."""
    face, _, name = home.rpartition(".")
    return f"{home}-class" if name.lower() in set(public(face)) - {name} else home


def attributes(kind: type) -> dict[str, list[Any]]:
    """The documented attributes of a class and of those below it, with type and text."""
    from numpydoc.docscrape import NumpyDocString

    found: dict[str, list[Any]] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("calib") and base.__doc__:
            doc = NumpyDocString(inspect.cleandoc(base.__doc__))
            for names, *told in [*doc["Parameters"], *doc["Attributes"]]:
                found |= dict.fromkeys(names.split(", "), told)
    return found


def first_home(face: str, name: str) -> str:
    """The name under which a thing is documented: errors and a few others stand on several faces."""
    value = public(face)[name]
    return next(f"{other}.{name}" for other in FACES if public(other).get(name) is value)


# --- pages that stand elsewhere in the repository ----------------------------------------------------------------


def mended(page: Path, links: dict[str, str]) -> str:
    """A page with the targets of its links as they are within the site."""

    def target(found: re.Match[str]) -> str:
        link = re.sub(r"^(?:\.\./)+paper_repro/(\w+)/README\.md$", r"../reproductions/\1.md", found[1])
        return f"]({links.get(link, link)})"

    return re.sub(r"\]\(([^)\s]+)\)", target, page.read_text(encoding="utf-8"))


def gather(docs: Path) -> None:
    """Write all pages that are made into the folder of the site."""
    for folder in ("reference", "notebooks", "reproductions", "data"):
        shutil.rmtree(docs / folder, ignore_errors=True)
        (docs / folder).mkdir()
    for face in FACES:
        (docs / "reference" / f"{face}.rst").write_text(reference_page(face), encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, docs / "notebooks")
    for page in sorted((ROOT / "paper_repro").glob("*/README.md")):
        name = page.parent.name
        pictures = {path.name: f"{name}-{path.name}" for path in page.parent.glob("*.png")}
        for old, new in pictures.items():
            shutil.copy(page.parent / old, docs / "reproductions" / new)
        (docs / "reproductions" / f"{name}.md").write_text(mended(page, pictures), encoding="utf-8")
    cards = sorted((ROOT / "datasets").glob("*.md"))
    for page in cards:
        (docs / "data" / page.name).write_text(mended(page, {}), encoding="utf-8")
    names = "\n".join(page.stem for page in cards if page.stem != "README")
    with (docs / "data" / "README.md").open("a", encoding="utf-8") as file:
        file.write(f"\n```{{toctree}}\n:hidden:\n{names}\n```\n")
