"""What `calib.report` returns: the text of a report, and the file that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from calib.core.text import printable

if TYPE_CHECKING:
    import pandas as pd

_MOST_SHOWN = 8_000_000  # characters: a longer page would make a notebook that does not open
# its script sorts and searches its own tables; it sees neither the notebook nor the net
_FRAME = '<iframe srcdoc="{}" title="{}" sandbox="allow-scripts" style="{}" loading="lazy"></iframe>'
_STYLE = "width: 100%; height: 640px; border: 1px solid #ccc; resize: vertical; background: white"


@dataclass(frozen=True, slots=True)
class Report:
    """A report: `text` is Markdown or a whole HTML page, `path` the file that it was written to, if any.

    A notebook shows the page, `print` says where the file is, or the text if there is none.

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
        said = escape(f"{str(self)[:1].upper()}{str(self)[1:]}")
        if len(self.text) > _MOST_SHOWN:
            return f"<p>{said}: open it in a browser; a notebook that held it would be too long.</p>"
        return f"<p>{said}.</p>\n{_FRAME.format(escape(self.text), said, _STYLE)}"

    def _repr_markdown_(self) -> str | None:
        return None if self._is_page else self.text


# --- A part of a report that a topic makes of its own: beside the table that each result has --------------------------


class Block(NamedTuple):
    """What the function that `Shown.blocks` names gives for results: a heading, what it says, a frame.

    Its columns are called as a reader should see them. A reader may sort it by each column and
    search it; a text longer than a line or two is folded.
    """

    heading: str
    frame: pd.DataFrame
    says: Sequence[str] = ()
