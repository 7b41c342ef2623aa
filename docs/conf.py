"""The site: `sphinx-build -W --keep-going -b html docs build/docs`, with the extra `docs` installed."""

import inspect
import re
import shutil
import sys
from itertools import groupby
from pathlib import Path

from docutils.nodes import Element, SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # the calib of this folder, whatever is installed

from gather import FACES, attributes, file_of, first_home, gather, public  # noqa: E402
from numpydoc.docscrape import NumpyDocString, Parameter  # noqa: E402

import calib  # noqa: E402
from calib.core.result import Result  # noqa: E402

project, author, copyright = "calib", "The calib authors", "2026, the calib authors"  # noqa: A001
version = release = calib.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc", "myst_nb"]
default_role = "py:obj"
nitpicky = False
add_module_names = True
highlight_language = "none"  # the shell; Python says so
autosummary_generate = True
homes = [first_home(face, name) for face in FACES for name in public(face)]
autosummary_filename_map = {home: file_of(home) for home in homes}
autodoc_typehints = "none"  # numpydoc has the types
numpydoc_show_class_members = False  # the template has them
templates_path = ["templates"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are kept with their outputs, which a slow test compares
html_theme = "pydata_sphinx_theme"
html_title = f"calib {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_sidebars = {"index": []}  # which has no others below it
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_start": ["navbar-logo", "version-switcher"],
    # beside the folders of the versions, where publish.py writes it; a site that stands alone has none, and no button
    "switcher": {"json_url": "../switcher.json", "version_match": ".".join(release.split(".")[:2])},
    "check_switcher": False,  # which would look for it on the network
    "show_version_warning_banner": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}


def mathml(tex: str, *, block: bool) -> str:
    r"""A formula as browsers show it themselves, without a script.

    To docutils `\big(` is `\bigl(`, and an index of `\bar f` would stand below the letter.
    """
    tex = re.sub(r"\\([Bb]ig)(?![A-Za-z])", r"\\\1l", re.sub(r"\s+", " ", tex))
    return tex2mathml(re.sub(r"(\\bar ?\\?\w+?)_", r"\1{}_", tex), as_block=block)


def visit_math(translator: object, node: Element) -> None:
    """Inline."""
    translator.body.append(mathml(node.astext(), block=False))
    raise SkipNode


def visit_math_block(translator: object, node: Element) -> None:
    """On a line of its own, which scrolls where it is too long."""
    translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>')
    raise SkipNode


def with_inherited(_app: object, what: str, _name: str, thing: type, _options: object, lines: list[str]) -> None:
    """A class has the attributes of those below it in its own list; numpydoc would leave them out."""
    if what in ("class", "exception") and lines:
        doc = NumpyDocString("\n".join(lines))
        own = {name for names, *_ in doc["Parameters"] for name in names.split(", ")}
        listed = [(name, told) for name, told in attributes(thing).items() if name not in own]
        alike = [list(pairs) for _, pairs in groupby(listed, key=lambda pair: id(pair[1]))]  # "low, high : float"
        doc["Attributes"] = [Parameter(", ".join(name for name, _ in pairs), *pairs[0][1]) for pairs in alike]
        lines[:] = str(doc).splitlines()


def unsigned(_app: object, _what: str, _name: str, thing: object, *_: object) -> tuple[str, None] | None:
    """Results are returned, never made by hand: their fields stand in the list of attributes."""
    return ("", None) if inspect.isclass(thing) and issubclass(thing, Result) else None


def for_models(app: object, _error: object) -> None:
    """llms.txt and the files that it links, where it links them."""
    text = (HERE.parent / "llms.txt").read_text(encoding="utf-8")
    for name in ("llms.txt", *re.findall(r"\]\((.+?)\)", text)):
        (app.outdir / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE.parent / name, app.outdir / name)


def setup(app: object) -> None:
    """Write the pages that are made, and say how formulas are."""
    gather(HERE)
    app.connect("build-finished", for_models)
    app.connect("autodoc-process-docstring", with_inherited, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", unsigned)
    app.add_html_math_renderer("mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None))
