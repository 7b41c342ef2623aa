"""Sections -> one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from calib._version import __version__
from calib.report.sections import Section
from calib.tables.text import visible


def html(title: str, sections: Sequence[Section]) -> str:
    """The page; what it shows is escaped by its template."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("calib.report").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    return environment.from_string(source).render(title=title, sections=sections, version=__version__)
