"""A map of results: rows and columns of coloured cells with their numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.core.check import Floats
from calib.tables.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_cells(
    ax: Axes, table: Floats, cells: Mapping[tuple[int, int], Any], framed: Collection[tuple[int, int]]
) -> None:
    """Coloured cells, two units high, with their numbers; from 0 where nothing is negative, else both ways from 0."""
    from matplotlib.patches import Rectangle

    top = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    signed = bool((table < 0).any())
    edges = np.arange(table.shape[1] + 1), 2.0 * np.arange(table.shape[0] + 1)
    colours: dict[str, Any] = {"cmap": "RdBu" if signed else "Blues", "vmin": -top if signed else 0.0, "vmax": top}
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(table), edgecolors="white", linewidth=1.5, **colours)
    for (row, column), result in cells.items():
        shade = mesh.to_rgba(np.ma.masked_invalid([result.estimate]))[0]
        ink = "white" if _dark(shade) else "black"
        _cell_words(ax, (column + 0.5, 2.0 * row + 1), result, ink)
        if (row, column) in framed:
            look: dict[str, Any] = {"fill": False, "linestyle": (0, (3, 2)), "linewidth": 1.1, "edgecolor": ink}
            ax.add_patch(Rectangle((column + 0.05, 2 * row + 0.2), 0.9, 1.6, **look))
    ax.figure.colorbar(mesh, ax=ax, fraction=0.04, pad=0.02)


def _cell_words(ax: Axes, centre: tuple[float, float], result: Any, colour: str) -> None:
    (x, y), (low, high) = centre, result.interval
    whole = not math.isnan(low)
    words: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
    number = "none" if math.isnan(result.estimate) else f"{result.estimate:.3f}"
    ax.text(x, y - 0.3 * whole, number, **words)
    if whole:
        ax.text(x, y + 0.45, f"[{low:.2f}, {high:.2f}]", fontsize="x-small", **words)


def _dark(colour: Floats) -> bool:
    red, green, blue, alpha = colour
    return bool(alpha and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def name_cells(ax: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    ax.set_ylim(2.0 * len(rows), 0)
    ax.set_yticks([2.0 * place + 1 for place in range(len(rows))], rows)
    lines = ["\n".join(textwrap.wrap(visible(name, 36), 14)).replace("$", r"\$") for name in columns]
    ax.set_xticks([place + 0.5 for place in range(len(columns))], lines)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
