"""A drawing -> two pictures of text and lines: one for screens and paper, one that a phone shows unshrunk."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from calib.table import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE, _NARROW = 7.0, 3.55  # inches; the second is what a phone of 400 px has room for
# what a dark page turns round; colours that mean something stay
_OF_THE_PAGE = {
    "#000000": "currentColor", "#ffffff": "var(--paper)", "#f4f4f4": "var(--band)", "#dddddd": "var(--rule)",
    "#4d4d4d": "var(--soft)", "#555555": "var(--soft)", "#6e6e6e": "var(--soft)", "#0072b2": "var(--blue)",
}  # fmt: skip


class Picture(NamedTuple):
    """What is seen in words, and the picture in two widths, as SVG that is part of the page."""

    title: str
    words: str
    wide: str
    narrow: str


def picture(draw: Callable[..., Axes], name: str) -> Picture:
    """The picture that a function draws; `name` tells its parts from those of other pictures."""
    title, words, wide = _svg(draw, _WIDE, f"{name}-wide")
    return Picture(title, words, wide, _svg(draw, _NARROW, f"{name}-narrow")[2])


def _svg(draw: Callable[..., Axes], width: float, name: str) -> tuple[str, str, str]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a figure of its own, not of pyplot: nothing is shown in a session or left open
    drawn = Figure(figsize=(width, 4), layout="constrained")
    ax = drawn.subplots()
    draw(ax=ax)
    title = " ".join(ax.get_title(loc="left").split()).replace(r"\$", "$")
    ax.set_title("", loc="left")  # the page says it, in its own letters
    words = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel()))).replace("\n", ", ")
    figure.wrap_words(ax)
    if ax.yaxis_inverted():  # rows, from the top down
        figure.fit(ax)
    image = io.BytesIO()
    # the salt and no metadata: the same results give the same file
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        drawn.savefig(
            image, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    return title, words, _part_of_a_page(image.getvalue().decode(), f"Picture: {words}")


def _part_of_a_page(svg: str, words: str) -> str:
    """The picture without what a page does not need, in the colours of the page, with its size in its own units."""
    from markupsafe import escape

    from calib.table.text import visible

    inner = svg[svg.index("<svg") :]
    for idle in (r"<!--.*?-->", r"<metadata>.*?</metadata>", r"<style.*?</style>", r"\n *"):
        inner = re.sub(idle, "", inner, flags=re.DOTALL)
    # only within tags: what a text says stays as it is
    inner = re.sub(r"<[^>]+>", lambda tag: _tidy(tag[0]), inner)
    return inner.replace("<svg", f'<svg role="img" aria-label="{escape(visible(words))}"', 1)


def _tidy(tag: str) -> str:
    """A tag in the colours and letters of the page, with coordinates as fine as an eye sees."""
    short = re.sub(r"^<g id=\"[^\"]*\"", "<g", tag)
    short = re.sub(r" ?font-family: [^;\"]*;?", "", short)
    short = re.sub(r" transform=\"rotate\(-0 [^\"]*\"", "", short)
    short = re.sub(r"(\.\d\d)\d+", r"\1", short)
    return re.sub(r"#[0-9a-f]{6}\b(?=[;\"])", lambda found: _OF_THE_PAGE.get(found[0], found[0]), short)
