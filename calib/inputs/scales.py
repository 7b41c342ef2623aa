"""The scale of numbers, guessed from them; codes among them that stand for no score; the scale of each criterion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.core.check import Floats
from calib.inputs.names import Columns, Rows, Side
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.schema import scale_words

# ends of the usual scales, shortest first; those in _BOTH only where both ends are there
_USUAL = ((0, 1), (-1, 1), (0, 2), (1, 3), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
_BOTH = ((-1, 1), (0, 2), (1, 3))
_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
_FAR = 5.0  # times as high as the scale of the others
WINS = "0|0.5|1"  # of preferences
_SLIPS = 0.1  # more of a judge's scores than these off the scale of people are on a scale of their own
_LARGER = 2.0  # times as high as the highest label
_RARE = 0.03  # share of labels that may be slips


def guessed_scale(*columns: pd.Series) -> str:
    """The smallest of the usual scales that holds all numbers of all columns, or "" where none does.

    The usual ones are 0|1, -1|0|1, 0|1|2, 1|2|3, 1 to 5, 0 to 5, 1 to 7, 1 to 10, 0 to 10, 0..100. The second to the
    fourth are taken only where both ends are seen: values from 1 to 3 in ten rows may well be of 1 to 5, and a scale
    that is too long makes an interval wider, one that is too short makes it wrong. Where no column is of whole numbers
    alone, the scale is continuous ("0..1"); a judge's expectations between the values of people's labels are on the
    scale of these.

    Examples
    --------
    >>> guessed_scale(pd.Series([1, 4, 5]), pd.Series([3.7, 2.2, 4.9]))
    '1|2|3|4|5'
    >>> guessed_scale(pd.Series([0.1, 0.93])), guessed_scale(pd.Series([-3.0, 250.0]))
    ('0..1', '')
    """
    low, high, whole = math.inf, -math.inf, False
    for column in columns:
        values = np.asarray(column, dtype=float)
        values = values[np.isfinite(values)]
        if len(values):
            low, high = min(low, values.min()), max(high, values.max())
            whole = whole or bool((values % 1 == 0).all())
    if low > high:
        return ""
    for ends in _USUAL:
        reached = (low, high) == ends or ends not in _BOTH or (not whole and ends == (-1, 1))
        if ends[0] <= low and high <= ends[1] and reached:
            listed = whole and ends[1] - ends[0] <= 10
            return "|".join(map(str, range(ends[0], ends[1] + 1))) if listed else f"{ends[0]}..{ends[1]}"
    return ""


def are_codes(numbers: Floats, scale: str) -> NDArray[np.bool_]:
    """Which numbers are codes for no score: -1, 99 and the like, and 0, if they are off the scale.

    Without a scale, those that are far from the usual scale of all others.

    Examples
    --------
    >>> are_codes(np.array([4, 99, 2, 5.0]), "").tolist(), are_codes(np.array([-1, 0, 1, 1.0]), "").tolist()
    ([False, True, False, False], [False, False, False, False])
    >>> are_codes(np.array([4, 0, 2]), "1|2|3|4|5").tolist()
    [False, True, False]
    """
    coded, ends = np.isin(numbers, _CODES), parse_scale(scale)
    if ends is not None:
        off: NDArray[np.bool_] = (numbers < ends.low) | (numbers > ends.high)
        return off & np.isin(numbers, (*_CODES, 0.0))
    rest = numbers[~coded]
    usual = parse_scale(guessed_scale(pd.Series(rest))) if coded.any() else None
    if usual is None or len(set(rest)) < 2:
        return np.zeros(len(numbers), dtype=bool)
    fine = usual.high > 10 or (usual.high == 1 and bool((rest % 1).any()))  # -1 is no step of such a scale
    near = 0.0 if fine else 2.0 if rest.max() <= 2 else 1.0
    far: NDArray[np.bool_] = (numbers < usual.low - near) | (numbers > _FAR * usual.high)
    return far & coded


@dataclass(frozen=True, slots=True)
class Scales:
    """The scale of each criterion on each side, and all of them in a text."""

    text: str = ""
    guessed: bool = False
    of_labels: Mapping[str, str] = field(default_factory=dict)
    of_judges: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # of judges on a scale of their own


def scales_of(sides: Mapping[Side, Rows], options: Columns, notes: list[str], *, worded: str, pairwise: bool) -> Scales:
    """The scales of both sides; `worded` is that of labels in words."""
    criteria = list(pd.unique(pd.concat([side.rows["criterion"] for side in sides.values()]))) if sides else []
    if pairwise:
        return Scales(WINS, False, dict.fromkeys(criteria, WINS), dict.fromkeys(criteria, WINS))
    fixed = options.get("scale", "")
    if fixed and ".." not in fixed:  # words as their values, as the tables write a scale
        fixed = "|".join(f"{value:g}" for value in sorted({value for _, value in scale_words(fixed)}))
    of_labels, of_judges = dict[str, str](), dict[str, str]()
    warnings: list[str] = []
    guessed, none = False, pd.Series([], dtype=float)
    for name in criteria:
        text, scores = fixed, {}
        for side, one in sides.items():
            scores[side] = one.rows.loc[one.rows["criterion"] == name, "score"].dropna().astype(float)
            if one.table is not None and not text:
                texts = one.table.loc[one.table["criterion"].astype(str) == name, "scale"].astype(str)
                text = next(filter(None, texts.unique()), "")
        f, y = scores.get("judge", none), scores.get("label", none)
        guessed |= not text
        text = text or worded
        if not text:
            _refuse_unclear_ends(f, y, name, notes)
            text, both = guessed_scale(y if len(y) else f), guessed_scale(f, y)
            if len(f) and len(y) and text != both:
                # scores that reach a little further on the scale of the labels count as well
                of_two = set(y) <= {0.0, 1.0} or set(f) <= {0.0, 1.0}
                chances = f.min() >= 0 and f.max() <= 1 < y.max()
                other = of_two or chances or not both or f.abs().max() >= _LARGER * y.abs().max()
                text = text if other else both
        of_labels[name] = text
        of_judges[name] = text
        scale = parse_scale(text)
        off = f if scale is None else f[~scale.holds(f)]
        if scale is None or off.empty:
            continue
        if len(off) / len(f) <= _SLIPS:
            judges = sides["judge"]
            row = judges.rows.loc[off.index[0]]
            where = f"{judges.source.name}: column `{row['column']}`, {judges.line(row['at'])}"
            raise TableError(f"{where}: must lie on the scale {text}, but got {row['score']:g}.")
        of_judges[name] = ""
        if len(y):
            span = f"{f.min():g} to {f.max():g}"
            apart = f"the judge's scores of {name} ({span}) are on another scale than the labels ({text})"
            warnings.append(f"{apart}: `calibrate` learns what they mean there.")
    texts = list(dict.fromkeys(filter(None, of_labels.values())))
    return Scales("; ".join(texts), guessed and bool(texts), of_labels, of_judges, tuple(warnings))


def _refuse_unclear_ends(f: pd.Series, y: pd.Series, criterion: str, notes: list[str]) -> None:
    """A lowest value, 0 or -1, that one side alone has: no label, or the lowest? Asked where it is the commonest.

    A few labels more than twice as high as all others may be slips, and would stretch the scale.
    """
    for mine, other, what in ((y, f, "labels"), (f, y, "scores of the judge")):
        low, rest = mine.min(), mine[mine > mine.min()]
        if not len(other) or low not in (0, -1) or rest.nunique() < 2:
            continue
        # both are on one scale, of which the other side uses no more than the rest
        scale = parse_scale(guessed_scale(rest)) if (rest % 1 == 0).all() and other.min() >= rest.min() else None
        beside = parse_scale(guessed_scale(other))
        if scale is None or beside is None or (scale.low, scale.high) != (beside.low, beside.high):
            continue
        many = f"{int((mine == low).sum())} of {len(mine)} {what} of {criterion} are {low:g}, and none of the others"
        without, within = guessed_scale(rest, other), guessed_scale(mine, other)
        if what == "labels" and (low < 0 or mine.value_counts().idxmax() == low):
            rule = f"must say whether {low:g} is a score: {without!r} takes it for no score, {within!r} for the lowest"
            raise TableArgumentError("scale", rule, f"says nothing, and {many}")
        if rest.max() >= other.max():  # else it may be 0 to 4 beside 1 to 5
            notes.append(f"{many}: scale={without!r} takes {low:g} for no score.")
    most = y[y <= y.quantile(1 - _RARE)] if len(y) else y
    if len(most) and most.max() > 0 and y.max() > _LARGER * most.max():
        far, without = y[y > most.max()], guessed_scale(most) or "shorter"
        outliers = f"{len(far)} of {len(y)} labels of {criterion} ({far.max():g} at most) lie far above all others"
        notes.append(f"{outliers}; without them the scale would be {without}: --scale, scale= says it.")
