"""The pictures of a section: what the plots of a topic draw, as SVG."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from calib.core.topic import shown, topic_of
from calib.tables.figure import fit
from calib.tables.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Picture(NamedTuple):
    """A picture as a data URI, and in words."""

    uri: str
    words: str


def pictures_of(results: Results) -> list[Picture]:
    """What a report shows of results of one type."""
    kinds = {type(result) for result in results}
    return [_picture(draw) for draw in _drawings(results, kinds.pop())] if len(kinds) == 1 else []


def _drawings(results: Results, kind: type) -> Iterable[Callable[..., Axes]]:
    topic, look = topic_of(kind), shown(kind)
    choose = topic.function("plots", look.pictures)
    if choose is not None:
        chosen: Iterable[Callable[..., Axes]] = choose(results)
        return chosen
    first = topic.function("plots", "".join(look.plots[:1]))
    parts = [results[place : place + 1] for place in range(len(results))] if look.apart else [results]
    return [partial(first, part) for part in parts if first is not None]


def _picture(draw: Callable[..., Axes]) -> Picture:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a figure of its own, not of pyplot: nothing is shown in a session or left open
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    draw(ax=ax)
    if ax.yaxis_inverted():  # rows, from the top down
        fit(ax)
    image = io.BytesIO()
    # the salt and no metadata: the same results give the same file
    with rc_context({"svg.hashsalt": "calib", "svg.fonttype": "path"}):
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    words = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel()))).replace("\n", ", ")
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(image.getvalue()).decode()}", f"Picture: {words}")
