"""The scale of labels and of scores: as it was said, as the tables have it, or as the values suggest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from calib.intake.cells.codes import guessed_scale, refuse_unclear_low
from calib.intake.rows.ids import Rows
from calib.intake.taken import Columns
from calib.table import TableError, parse_scale
from calib.table.schema import scale_words

_WINS = "0|0.5|1"
_SLIPS = 0.1  # more of a judge's scores than these off the scale of people are on a scale of their own
_LARGER = 2.0  # times as high as the highest label
_RARE = 0.03  # share of labels that may be slips


@dataclass(frozen=True, slots=True)
class Scales:
    """The scale of each criterion on each side, and the one of all in a text."""

    text: str = ""
    guessed: bool = False
    of_people: Mapping[str, str] = field(default_factory=dict)
    of_judges: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()  # what is to be said of judges on a scale of their own


def scales_of(
    judges: Rows | None, people: Rows | None, said: Columns, notes: list[str], *, worded: str = "", pairwise: bool
) -> Scales:
    """The scales of both sides; `worded` is that of labels in words."""
    criteria = list(
        dict.fromkeys(name for side in (judges, people) if side is not None for name in side.rows["criterion"])
    )
    if pairwise:
        return Scales(_WINS, False, dict.fromkeys(criteria, _WINS), dict.fromkeys(criteria, _WINS))
    known = _as_values(said.get("scale", ""))
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    apart: list[str] = []
    guessed = False
    for name in criteria:
        f, y = (_numbers(side, name) for side in (judges, people))
        text = known or _of_table(judges, name) or _of_table(people, name)
        if not (text or worded):
            refuse_unclear_low(f, y, name, notes)
        guessed |= not text
        if not (text or worded):
            notes += _far_off(y, name)
        text = text or worded or _guess(f, y)
        theirs[name] = text
        ours[name] = _of_judge(f, y, text, name, judges, apart)
    texts = list(dict.fromkeys(filter(None, theirs.values())))
    return Scales("; ".join(texts), guessed and bool(texts), theirs, ours, tuple(apart))


def _as_values(scale: str) -> str:
    """A scale as the tables write it: words as their values."""
    if not scale or ".." in scale:
        return scale
    return "|".join(f"{value:g}" for value in sorted({value for _, value in scale_words(scale)}))


def _numbers(side: Rows | None, criterion: str) -> pd.Series:
    if side is None:
        return pd.Series([], dtype=float)
    return side.rows.loc[side.rows["criterion"] == criterion, "score"].dropna().astype(float)


def _of_table(side: Rows | None, criterion: str) -> str:
    """What a table of calib's says of itself."""
    if side is None or side.table is None:
        return ""
    texts = side.table.loc[side.table["criterion"].astype(str) == criterion, "scale"].astype(str).unique()
    return next((text for text in texts if text), "")


def _guess(f: pd.Series, y: pd.Series) -> str:
    """The scale of the labels; scores that reach a little further on the same are heard as well."""
    if not len(y):
        return guessed_scale(f)
    alone, both = guessed_scale(y), guessed_scale(f, y)
    if not len(f) or alone == both:
        return alone
    of_two = set(y) <= {0.0, 1.0} or set(f) <= {0.0, 1.0}
    chances = f.min() >= 0 and f.max() <= 1 < y.max()
    apart = of_two or chances or not both or f.abs().max() >= _LARGER * y.abs().max()
    return alone if apart else both


def _far_off(y: pd.Series, criterion: str) -> list[str]:
    """A word on a few labels that are more than twice as high as all others: a slip would stretch the scale."""
    most = y[y <= y.quantile(1 - _RARE)] if len(y) else y
    if most.empty or y.max() <= _LARGER * most.max() or most.max() <= 0:
        return []
    far = y[y > most.max()]
    told = f"{len(far)} of {len(y)} labels of {criterion} ({far.max():g} at most) lie far above all others"
    return [f"{told}; without them the scale would be {guessed_scale(most) or 'shorter'}: --scale, scale= says it."]


def _of_judge(f: pd.Series, y: pd.Series, text: str, criterion: str, judges: Rows | None, apart: list[str]) -> str:
    """The same scale, if the scores are on it; nothing where they are on another, which is said."""
    scale = parse_scale(text)
    if scale is None or judges is None or not len(f):
        return text
    off = ~scale.holds(f)
    if not off.any():
        return text
    if off.mean() <= _SLIPS:
        rows = judges.rows.loc[off.index[off]].iloc[0]
        raise TableError(
            f"{judges.source.name}: column `{rows['column']}`, {judges.line(rows['at'])}: "
            f"must lie on the scale {text}, but got {rows['score']:g}."
        )
    if len(y):
        span = f"{np.min(f):g} to {np.max(f):g}"
        apart.append(
            f"the judge's scores of {criterion} ({span}) are on another scale than the labels ({text}): `calibrate` "
            "learns what they mean there."
        )
    return ""
