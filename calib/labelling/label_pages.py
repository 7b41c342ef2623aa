"""What `calib.label_page` returns: the files to label in."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from calib.core.text import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPages:
    """Files in which people label.

    Attributes
    ----------
    paths : tuple of Path
        One for each annotator, or one for a tool.
    page : str
        What the files are known by: a hash of items, criteria and scales.
    n_items : int
        Items to label, by all annotators together.
    annotators : tuple of str
        Who labels; empty where the page asks.
    overlap : int
        Items that all annotators have in common.
    criteria : tuple of str
    parts : tuple of str
        The texts that are shown of each item.
    n_labels : int
        Answers that all annotators together give.
    n_words : int
        Words that all annotators together read, as far as blanks part them.

    Examples
    --------
    >>> pages = LabelPages(paths=(Path("label.html"),), page="3e90d600b322", n_items=40, annotators=(), overlap=40,
    ...                    criteria=("fluency",), parts=("source", "output"), n_labels=40, n_words=4200)
    >>> print(pages)
    label.html: 40 items to label (fluency)
    """

    paths: tuple[Path, ...]
    page: str
    n_items: int
    annotators: tuple[str, ...]
    overlap: int
    criteria: tuple[str, ...]
    parts: tuple[str, ...]
    n_labels: int
    n_words: int

    def __str__(self) -> str:
        """Where the pages are, and how much there is to label."""
        return f"{printable(', '.join(map(str, self.paths)))}: {self._counts}"

    @property
    def _counts(self) -> str:
        who = len(self.annotators)
        shared = f", {self.overlap} of them by {'both' if who == 2 else f'all {who}'} annotators" if who > 1 else ""
        items = f"{self.n_items} item{'s' * (self.n_items != 1)}"
        return printable(f"{items} to label ({', '.join(self.criteria)}){shared}")

    def _repr_html_(self) -> str:
        """Links, for a notebook."""
        links = (f'<a href="{quote(path.as_posix())}" target="_blank">{escape(path.name)}</a>' for path in self.paths)
        return f"<p>{', '.join(links)}: {escape(self._counts)}</p>"
