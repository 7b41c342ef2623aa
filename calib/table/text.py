"""Texts about results: on one line, harmless, and as short as what tells them apart."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from calib._version import __version__
from calib.core.text import asset, printable

if TYPE_CHECKING:
    import pandas as pd

Tags: TypeAlias = Sequence[Mapping[str, Any]]
Texts: TypeAlias = Callable[[Any], Sequence[str]]
_DIRECTIONS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
_PREFIXES = {"against": "vs ", "temperature": "T = "}


def visible(text: object, most: int | None = None) -> str:
    r"""A text on one line, without what would steer a terminal or turn the reading order.

    Examples
    --------
    >>> visible("a\x1b[31mb\nc\u202ed"), visible("a-rather-long-name-of-a-system", 16)
    ('a[31mb c\ufffdd', 'a-rather…-system')
    """
    spaced = "".join(" " if char in "\n\r\t\u2028\u2029" else char for char in str(text))
    # a lone surrogate cannot be written; a direction mark shows other words than are there
    kept = "".join(
        "\ufffd" if unicodedata.category(char) == "Cs" or unicodedata.bidirectional(char) in _DIRECTIONS else char
        for char in spaced
        if unicodedata.category(char) != "Cc"
    )
    if most is None or len(kept) <= most:
        return kept
    return f"{kept[: most // 2]}…{kept[-(most - most // 2 - 1) :]}"


def markdown_text(text: str) -> str:
    r"""A text that Markdown takes as it stands.

    Examples
    --------
    >>> print(markdown_text("a_b | <b>"))
    a\_b \| \<b\>
    """
    return re.sub(r"([\\`*_\[\]<>|~$&])", r"\\\1", visible(text).strip())


def telling(labels: Tags) -> list[str]:
    """The names that tell labels apart; one that adds nothing to those before it is left out.

    Examples
    --------
    >>> telling([{"criterion": "fluency", "prompt": "f-1", "rater": "a", "n_unmatched": 0},
    ...          {"criterion": "relevance", "prompt": "r-2", "rater": "a", "n_unmatched": 2}])
    ['criterion']
    """
    names: list[str] = []
    for name in names_in(labels):
        before, after = ({place_of(label, some) for label in labels} for some in (names, [*names, name]))
        if len(after) > len(before):
            names.append(name)
    return names


def names_in(labels: Tags) -> list[str]:
    """The names of labels, without those of counts."""
    return list(dict.fromkeys(name for label in labels for name in label if not name.startswith("n_")))


def place_of(label: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(label.get(name, "")) for name in names)


def plain_text(text: object, most: int = 40) -> str:
    """A label that matplotlib takes as it stands: no formula, and no leading underscore, which would hide it."""
    line = visible(text, most).replace("$", r"\$")
    return f" {line}" if line.startswith("_") else line


def joined_words(place: Sequence[str], names: Sequence[str]) -> str:
    pairs = [(name, value) for name, value in zip(names, place, strict=True) if value not in ("", "nan")]
    return plain_text(" · ".join(f"{_PREFIXES.get(name, '')}{value}" for name, value in pairs))


def row_name(label: Mapping[str, Any], names: Sequence[str]) -> str:
    return joined_words(place_of(label, names), names)


def title_of(labels: Tags, names: Sequence[str], against: str = "") -> str:
    """What all results share: criterion, rater and the like."""
    left_out = {*names, "prompt", "method", "temperature", "coefficient", "level", "scale"}
    return ", ".join(
        f"{against if name == 'against' else ''}{plain_text(value)}"
        for name, value in labels[0].items()
        if name not in left_out and not name.startswith("n_") and value != ""
        if all(label.get(name) == value for label in labels)
    )


def span_of(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def number_span(values: Sequence[float]) -> str:
    """The range of numbers, in as few digits as a title wants.

    Examples
    --------
    >>> number_span([0.6177, 0.5264, float("nan")]), number_span([0.5])
    ('0.526 to 0.618', '0.5')
    """
    numbers = [f"{value:.3g}" for value in sorted(values) if not math.isnan(value)]
    return " to ".join(dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "none"


def level_words(results: Sequence[Any]) -> str:
    levels = sorted({r.confidence_level for r in results if r.interval.low == r.interval.low})
    return f" ({', '.join(f'{100 * level:g}' for level in levels)} % CI)" if levels else ""


def side_of(interval: tuple[float, float], value: float = 0.0) -> str:
    """Where an interval lies from a value: above, below, or open."""
    low, high = interval
    if low > value:
        return "above"
    return "below" if high < value else "open"


def told_apart(labels: Tags) -> list[str]:
    """What tells each label from the others."""
    names = telling(labels)
    return [", ".join(str(label[name]) for name in names if label.get(name, "") != "") for label in labels]


def by_text(labels: Tags, results: Sequence[Any], texts: Texts) -> list[tuple[str, str]]:
    """The texts of results, each once, with the names of the results that have it."""
    names_of: dict[str, list[str]] = {}
    own = [result._names_itself for result in results]  # noqa: SLF001 - of every result
    rest = [{k: v for k, v in label.items() if k not in names} for label, names in zip(labels, own, strict=True)]
    for name, result in zip(told_apart(rest), results, strict=True):
        for text in texts(result):
            names_of.setdefault(text, []).append(name)
    return [(text, "; ".join(dict.fromkeys(filter(None, names)))) for text, names in names_of.items()]


def each_once(labels: Tags, results: Sequence[Any], texts: Texts) -> list[str]:
    """Texts of the results (warnings, say), each once, behind the names of the results that have it."""
    return [f"{names}{': ' * bool(names)}{text}" for text, names in by_text(labels, results, texts)]


# --- pages ------------------------------------------------------------------------------------------------------------


def rendered_page(package: str, template: str, **values: Any) -> str:
    """A page from a template of a package; what it shows is escaped, and a value that lacks is an error."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    return environment.from_string(asset(package, template)).render(version=__version__, **values).lstrip()


# --- what `calib.report` gives ----------------------------------------------------------------------------------------


_MOST_SHOWN = 8_000_000  # characters: a longer page would make a notebook that does not open
# its script sorts and searches its own tables; it sees neither the notebook nor the net
_FRAME = '<iframe srcdoc="{}" title="{}" sandbox="allow-scripts" style="{}" loading="lazy"></iframe>'
_STYLE = "width: 100%; height: 640px; border: 1px solid #ccc; resize: vertical; background: white"


@dataclass(frozen=True, slots=True)
class Report:
    """A report: `text` is Markdown or a whole HTML page, `path` the file that it was written to, if any.

    A notebook shows the page, `print` the path of the file, or the text if there is none.

    Examples
    --------
    >>> print(Report("# Five labels"))
    # Five labels
    >>> Report("# Five labels", Path("runs/report.md"))
    <report in runs/report.md, 1 kB>
    """

    text: str = field(repr=False)
    path: Path | None = None

    @property
    def _size(self) -> str:
        return f"{max(round(len(self.text.encode()) / 1000), 1):,} kB"

    @property
    def _is_page(self) -> bool:
        return self.path is not None and self.path.suffix == ".html"

    def __str__(self) -> str:
        return self.text if self.path is None else f"report in {printable(str(self.path))}, {self._size}"

    def __repr__(self) -> str:
        where = "Markdown, in no file" if self.path is None else f"in {printable(str(self.path))}"
        return f"<report {where}, {self._size}>"

    def _repr_html_(self) -> str | None:
        if not self._is_page:
            return None
        line = escape(f"{str(self)[:1].upper()}{str(self)[1:]}")
        if len(self.text) > _MOST_SHOWN:
            return f"<p>{line}: open it in a browser; a notebook that held it would be too long.</p>"
        return f"<p>{line}.</p>\n{_FRAME.format(escape(self.text), line, _STYLE)}"

    def _repr_markdown_(self) -> str | None:
        return None if self._is_page else self.text


class Block(NamedTuple):
    """What the function that `ResultDisplay.blocks` names gives for results: a heading, sentences, a frame.

    Its columns are called as a reader should see them. A reader may sort it by each column and
    search it; a text longer than a line or two is folded.
    """

    heading: str
    frame: pd.DataFrame
    says: Sequence[str] = ()
