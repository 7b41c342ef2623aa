"""Numbers and rows that stand for no score: -1, 99 and their like, zeros that may be none, a row of means below."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.core.check import Floats
from calib.table import TableArgumentError, parse_scale

# ends of the usual scales, shortest first; those in _BOTH only where both ends are there
_USUAL = ((0, 1), (-1, 1), (0, 2), (1, 3), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
_BOTH = ((-1, 1), (0, 2), (1, 3))
_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
_FAR = 5.0  # times as high as the scale of the others
_SUMMARIES = frozenset((
    "mean", "average", "avg", "total", "totals", "grand total", "sum", "median", "std", "sd", "count", "min", "max",
    "mittelwert", "summe", "moyenne", "promedio",
))  # fmt: skip


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
    held = [values[np.isfinite(values)] for values in (np.asarray(column, dtype=float) for column in columns)]
    held = [values for values in held if len(values)]
    if not held:
        return ""
    low, high = min(values.min() for values in held), max(values.max() for values in held)
    whole = any((values % 1 == 0).all() for values in held)
    for ends in _USUAL:
        seen = (low, high) == ends or ends not in _BOTH or (not whole and ends == (-1, 1))
        if ends[0] <= low and high <= ends[1] and seen:
            listed = whole and ends[1] - ends[0] <= 10
            return "|".join(map(str, range(ends[0], ends[1] + 1))) if listed else f"{ends[0]}..{ends[1]}"
    return ""


def are_codes(numbers: Floats, scale: str) -> NDArray[np.bool_]:
    """Which numbers say that there is none: -1, 99 and their like, and 0, that are off the scale which was said.

    Where none was said, those that are far from the usual scale of all others.

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
    usual = parse_scale(guessed_scale(pd.Series(rest)))
    if usual is None or not coded.any() or len(set(rest)) < 2:
        return np.zeros(len(numbers), dtype=bool)
    fine = usual.high > 10 or (usual.high == 1 and bool((rest % 1).any()))  # -1 is no step of such a scale
    near = 0.0 if fine else 2.0 if rest.max() <= 2 else 1.0
    far: NDArray[np.bool_] = (numbers < usual.low - near) | (numbers > _FAR * usual.high)
    return far & coded


def refuse_unclear_low(f: pd.Series, y: pd.Series, criterion: str, notes: list[str]) -> None:
    """A lowest value, 0 or -1, that one side alone has: no label, or the lowest? Asked where it is the commonest."""
    for mine, other, what in ((y, f, "labels"), (f, y, "scores of the judge")):
        low, rest = mine.min(), mine[mine > mine.min()]
        if not len(other) or low not in (0, -1) or rest.nunique() < 2:
            continue
        # both are on one scale, of which the other side uses no more than the rest
        scale = guessed_scale(rest) if (rest % 1 == 0).all() and other.min() >= rest.min() else ""
        if not scale or scale != guessed_scale(other):
            continue
        many = f"{int((mine == low).sum())} of {len(mine)} {what} of {criterion} are {low:g}, and none of the others"
        without, within = guessed_scale(rest, other), guessed_scale(mine, other)
        if what == "labels" and mine.value_counts().idxmax() == low:
            rule = f"must say whether {low:g} is a score: {without!r} takes it for none, {within!r} for the lowest"
            raise TableArgumentError("scale", rule, f"says nothing, and {many}")
        if rest.max() >= other.max():  # else it may be 0 to 4 beside 1 to 5
            notes.append(f"{many}: scale={without!r} takes {low:g} for no score.")


def n_summaries(ids: Sequence[object]) -> int:
    """How many of the last rows are no items but their means and sums.

    Examples
    --------
    >>> n_summaries(["a", "b", "c", "Average", "std"]), n_summaries(["a", "total", "b"])
    (2, 0)
    """
    names = [folded(str(name)).rstrip(":") for name in ids]
    last = next((place for place, name in enumerate(reversed(names)) if name not in _SUMMARIES), len(names))
    return last if 2 * last < len(names) else 0


# --- words that people rate in ----------------------------------------------------------------------------------------


# cells that hold no value; an id may well be called so, a score is not
BLANKS = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "#n/a", "<na>"))
# that nobody rated, or could
UNRATED = frozenset((
    "--", "---", "?", "n.a.", "not labelled", "not labeled", "unlabelled", "unlabeled", "not rated", "unrated",
    "not annotated", "not graded", "missing", "skip", "skipped", "pending", "todo", "tbd", "no label", "no score",
    "parse error", "parsing error", "unparsable", "unparseable",
))  # fmt: skip
# worse and better; words of several pairs may stand in one column
PAIRS = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("0", "1"), ("0.0", "1.0"), ("fail", "pass"),
    ("failed", "passed"), ("incorrect", "correct"), ("wrong", "right"), ("bad", "good"), ("reject", "accept"),
    ("rejected", "accepted"), ("invalid", "valid"), ("unacceptable", "acceptable"),
)  # fmt: skip
# worst first; of several that hold all words of a column the shortest is taken
ORDERS = (
    ("low", "medium", "high"), ("low", "moderate", "high"), ("very low", "low", "medium", "high", "very high"),
    ("poor", "fair", "good"), ("poor", "average", "good"), ("poor", "fair", "good", "excellent"),
    ("poor", "average", "good", "excellent"), ("poor", "fair", "good", "very good", "excellent"),
    ("very poor", "poor", "fair", "good", "very good"), ("very poor", "poor", "average", "good", "excellent"),
    ("bad", "ok", "good"), ("bad", "okay", "good"), ("bad", "neutral", "good"), ("bad", "average", "good"),
    ("bad", "fair", "good"), ("bad", "mediocre", "good"), ("terrible", "bad", "ok", "good", "great"),
    ("very bad", "bad", "ok", "good", "very good"), ("very bad", "bad", "okay", "good", "very good"),
    ("very bad", "bad", "neutral", "good", "very good"), ("very bad", "bad", "fair", "good", "very good"),
    ("disagree", "neutral", "agree"), ("strongly disagree", "disagree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "undecided", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("negative", "neutral", "positive"), ("never", "rarely", "sometimes", "often", "always"),
    ("not at all", "slightly", "moderately", "very", "extremely"),
    ("incorrect", "partially correct", "correct"), ("incorrect", "partly correct", "correct"),
    ("wrong", "partially correct", "correct"), ("no", "partially", "yes"), ("no", "partly", "yes"),
    ("no", "partial", "yes"), ("no", "maybe", "yes"), ("no", "somewhat", "yes"), ("fail", "partial", "pass"),
    ("irrelevant", "partially relevant", "relevant"), ("not relevant", "partially relevant", "relevant"),
    ("not relevant", "somewhat relevant", "relevant"), ("not relevant", "somewhat relevant", "highly relevant"),
)  # fmt: skip
FIRST = frozenset((
    "a", "[[a]]", "a>b", "a>>b", "[[a>b]]", "[[a>>b]]", "a > b",
    "first", "left", "model a", "system a", "response a", "output a", "answer a", "assistant a",
    "option a", "a wins", "a better", "a is better", "model 1", "system 1", "response 1", "output 1", "answer 1",
))  # fmt: skip
SECOND = frozenset((
    "b", "[[b]]", "b>a", "b>>a", "[[b>a]]", "[[b>>a]]", "b > a",
    "second", "right", "model b", "system b", "response b", "output b", "answer b", "assistant b",
    "option b", "b wins", "b better", "b is better", "model 2", "system 2", "response 2", "output 2", "answer 2",
))  # fmt: skip
TIE = frozenset((
    "tie", "[[c]]", "[[tie]]", "tied", "ties", "draw", "equal", "same", "both", "neither", "both bad", "bothbad",
    "both good", "tie (bothbad)", "tie (both bad)", "no preference", "a=b", "[[a=b]]", "a = b", "a==b", "even",
))  # fmt: skip


def folded(word: str) -> str:
    r"""A word without what writers do not mean: blanks around and between, case.

    Examples
    --------
    >>> folded(" Very  Good\t")
    'very good'
    """
    return " ".join(word.split()).casefold()


def loosely(word: str) -> str:
    """A common word, however its parts are joined: ``Strongly_Disagree``, ``model-a``.

    Examples
    --------
    >>> loosely("Strongly_Disagree"), loosely("-")
    ('strongly disagree', '-')
    """
    return folded(re.sub(r"(?<=\w)[_-]+(?=\w)", " ", word.replace("_", " ")))


def known_order(words: Collection[str]) -> tuple[tuple[str, float], ...]:
    """Words with values of the common order that holds all of these (`loosely` written), or nothing.

    Words of pairs such as no and yes are 0 and 1, of a longer order 0, 1, 2 and so on. What would have one value in
    one order and another in the next is not known.

    Examples
    --------
    >>> known_order({"yes", "pass"})
    (('yes', 1.0), ('pass', 1.0))
    >>> known_order({"fair", "good"})
    (('poor', 0.0), ('fair', 1.0), ('good', 2.0))
    """
    paired = {word: float(place) for pair in PAIRS for place, word in enumerate(pair)}
    if words and all(word in paired for word in words) and set(words) not in ({"good"}, {"bad"}):
        return tuple((word, value) for word, value in paired.items() if word in words)
    holding = [order for order in ORDERS if set(words) <= set(order)]
    shortest = [order for order in holding if len(order) == min(map(len, holding))] if words else []
    values = {tuple(order.index(word) for word in words) for order in shortest}
    return tuple((word, float(place)) for place, word in enumerate(shortest[0])) if len(values) == 1 else ()
