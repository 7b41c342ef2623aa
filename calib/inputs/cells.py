"""Cells as people write them, as numbers: words of a scale, blanks, decimal commas, winners of pairs."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.core.check import Floats
from calib.inputs.codes import BLANKS, FIRST, SECOND, TIE, UNRATED, are_codes, folded, known_order, loosely
from calib.table import TableArgumentError, TableError, parse_scale, scale_words

Line = Callable[[int], str]
Nature = Literal["blank", "numbers", "words", "winners", "texts"]
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"([+-]?)(\d+)(?:,(\d+))?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+)", re.ASCII)
_PERCENT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*%", re.ASCII)
_UNCLEAR = re.compile("|".join(f"(?:{form.pattern})" for form in (_PLAIN, _COMMA, _PART, _PERCENT)), re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The cells of a column as numbers; a blank is NaN.

    `scale` is as the tables write it ("" where it is not known), `words` are in the order of their values.
    """

    numbers: pd.Series
    scale: str = ""
    words: tuple[str, ...] = ()
    n_forgiven: int = 0  # cells read in spite of blanks around them, their case, or how the number is written
    n_blank: int = 0
    notes: tuple[str, ...] = ()


def blank(cells: pd.Series) -> pd.Series:
    """Which cells hold no score: empty ones, NaN, and NA, N/A, null, None, - and #N/A in any case.

    Examples
    --------
    >>> blank(pd.Series(["4", " ", "n/a", None])).tolist()
    [False, True, True, True]
    """
    if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iufb":
        return cells.isna()
    return pd.Series([_is_blank(cell) for cell in _plain(cells)], index=cells.index, dtype=bool)


def nature(cells: pd.Series) -> Nature:
    """What a column's cells are: "numbers" (also as texts, and booleans), "words" that are known, "winners", "texts".

    Examples
    --------
    >>> [nature(pd.Series(cells)) for cells in (["4 ", "3.5", "-"], ["Yes", "no"], ["A", "tie"], ["a1", "a2"])]
    ['numbers', 'words', 'winners', 'texts']
    """
    found = [cell for cell in _plain(cells) if not _is_blank(cell)]
    if not found:
        return "blank"
    if _numbers(found, "") is not None or all(_UNCLEAR.fullmatch(str(cell).strip()) for cell in found):
        return "numbers"
    words = {loosely(_word(cell)) for cell in found}
    if known_order(words):
        return "words"
    sides = words - TIE
    coded = sides == {"1", "2"} and len(words) > 2
    return "winners" if coded or (len(words) > 1 and sides and sides <= FIRST | SECOND) else "texts"


def valued(cells: pd.Series, scale: str = "", *, column: str, line: Line = "row {}".format) -> Values:
    """The cells of a column of scores as numbers; `column` and `line` say in messages where a cell stands.

    The scale is ``"1|2|3|4|5"`` or ``"lo..hi"``; words worst first, ``"poor|fair|good"``, which are 0, 1, 2; words with
    their values, ``"no=0|yes=1"``. Without one, numbers are themselves, and words are those of a common order.

    Examples
    --------
    >>> found = valued(pd.Series(["Good ", "poor", "", "fair"]), "poor|fair|good", column="label")
    >>> found.numbers.tolist(), found.scale, found.n_forgiven, found.n_blank
    ([2.0, 0.0, nan, 1.0], '0|1|2', 1, 1)
    """
    told, plain = _words_of(scale), _plain(cells)
    scale = scale if told else scale.replace(" ", "")
    held = [place for place, cell in enumerate(plain) if not _is_blank(cell) or folded(str(cell)) in told]
    found = [plain[place] for place in held]
    where = _Where(column, line, held, scale)
    if told:
        read = _by_words(found, told, scale, where)
    elif (numbers := _numbers(found, scale)) is not None:
        read = numbers
    else:
        where.refuse_unclear(found)
        read = _by_known_words(found, where)
    coded = are_codes(read.numbers, read.scale)
    where.on_scale(np.where(coded, np.nan, read.numbers), found, read.scale)
    out = np.full(len(cells), np.nan)
    out[held] = np.where(coded, np.nan, read.numbers)
    series = pd.Series(out, index=cells.index, name=cells.name)
    notes, blank_places = list(read.notes), sorted(set(range(len(plain))) - set(held))
    # cells that say by a code or in words that they hold no score
    words = [folded(plain[place]) for place in blank_places if isinstance(plain[place], str)]
    none = [*(_word(found[k]) for k in np.flatnonzero(coded)), *(word for word in words if word in UNRATED)]
    if none:
        listed = ", ".join(f"{word} ({n})" for word, n in Counter(none).items())
        notes.append(f"column `{column}`: cells that say {listed} are taken for no score.")
    return Values(series, read.scale, read.words, read.n_forgiven, int(np.isnan(out).sum()), tuple(notes))


def preferred(
    cells: pd.Series,
    first: str | pd.Series = "",
    second: str | pd.Series = "",
    *,
    column: str,
    line: Line = "row {}".format,
) -> Values:
    """Winners of pairs as 1 (the first), 0 (the second) and .5 (a tie, also "both" and "neither").

    Cells are A, B, model_a, left, first, tie, "tie (bothbad)" and their like; 1 and 2, with 0 for a tie; 1, .5 and 0;
    or the names of the two, which `first` and `second` say for all rows or for each.

    Examples
    --------
    >>> preferred(pd.Series(["A", "model_b", "Tie", None]), column="winner").numbers.tolist()
    [1.0, 0.0, 0.5, nan]
    >>> preferred(pd.Series(["gpt", "llama"]), "gpt", "llama", column="winner").numbers.tolist()
    [1.0, 0.0]
    """
    plain = _plain(cells)
    names = [[str(name) for name in _plain(_each(side, cells))] for side in (first, second)]
    numbers, forgiven = np.full(len(plain), np.nan), 0
    held = [place for place, cell in enumerate(plain) if not _is_blank(cell)]
    codes = _codes([plain[place] for place in held])
    for place in held:
        cell, ours = plain[place], (names[0][place], names[1][place])
        value = codes[cell] if cell in codes else _winner(cell, *ours)
        if value is None:
            raise TableError(
                f"column `{column}`, {line(place)}: must say which of two won (A, B or tie"
                f"{f'; {ours[0]} or {ours[1]}' if any(ours) else ''}), but got {cell!r}."
            )
        numbers[place], forgiven = value, forgiven + (isinstance(cell, str) and cell != cell.strip())
    series = pd.Series(numbers, index=cells.index, name=cells.name)
    return Values(series, "0|0.5|1", ("second", "tie", "first"), forgiven, len(plain) - len(held))


@dataclass(frozen=True, slots=True)
class _Where:
    """Where the cells that are looked at stand, for messages about one."""

    column: str
    line: Line
    held: list[int]
    scale: str

    def refused(self, number: int, rule: str, cell: Any, hint: str = "") -> TableError:
        shown = cell if isinstance(cell, str) else str(cell)
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        at = self.line(self.held[number])
        return TableError(f"column `{self.column}`, {at}: {rule}, but got {shown!r}{f' ({hint})' if hint else ''}.")

    def refuse_unclear(self, cells: list[Any]) -> None:
        """Numbers that may be two."""
        texts = [str(cell).strip() for cell in cells]
        if not all(_UNCLEAR.fullmatch(text) for text in texts):
            return
        if all(_PERCENT.fullmatch(text) for text in texts):
            rule = f"must say what 100 % are in column `{self.column}`, '0..1' or '0..100'"
            raise TableArgumentError("scale", rule, f"got {self.scale!r}" if self.scale else "says nothing")
        odd = next(number for number, cell in enumerate(cells) if _number(cell) is None)
        hint = "1,234 may be 1.234 or 1234; shares and percentages need one form in all rows"
        raise self.refused(odd, "must be a number, and read in one way", cells[odd], hint)

    def on_scale(self, numbers: Floats, cells: list[Any], scale: str) -> None:
        """Refuse the first number that is not between the ends."""
        ends = parse_scale(scale)
        inside = np.ones(len(numbers), bool) if ends is None else ~((numbers < ends.low) | (numbers > ends.high))
        if not inside.all():
            first = int(np.argmin(inside))
            words = f" ({self.scale})" if self.scale not in ("", scale) else ""
            hint = (
                "words in their order are 0, 1, 2 and so on; `poor=1|good=2` gives them other values" if words else ""
            )
            raise self.refused(first, f"must lie on the scale {scale}{words}", cells[first], hint)


@dataclass(frozen=True, slots=True)
class _Read:
    numbers: Floats
    scale: str
    n_forgiven: int = 0
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _plain(cells: pd.Series) -> list[Any]:
    """Python's own values, whatever type pandas had for them."""
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells.astype(object).tolist()]


def _is_blank(cell: Any) -> bool:
    if isinstance(cell, str):
        return folded(cell) in BLANKS or folded(cell) in UNRATED
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))


def _word(cell: Any) -> str:
    """A cell as it would be typed: 1 also where a gap in the column made it 1.0."""
    return f"{cell:g}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def _each(side: str | pd.Series, cells: pd.Series) -> pd.Series:
    return side if isinstance(side, pd.Series) else pd.Series([side] * len(cells), index=cells.index, dtype=object)


def _words_of(scale: str) -> dict[str, tuple[str, float]]:
    """Words of a scale, and their values, by how they are written loosely; none for one of numbers."""
    if not scale or ".." in scale:
        return {}
    words = scale_words(scale)
    if all(_PLAIN.fullmatch(word) and float(word) == value for word, value in words):
        return {}
    told = {folded(word): (word, value) for word, value in words}
    if len(told) < len(words):
        raise TableArgumentError("scale", "must name words that differ in more than case", f"got {scale!r}")
    if len({value for _, value in words}) < 2:
        raise TableArgumentError("scale", "must have two different values at least", f"got {scale!r}")
    return told


def _text_of(values: Any) -> str:
    return "|".join(f"{value:g}" for value in sorted(set(values)))


def _by_words(found: list[Any], told: Mapping[str, tuple[str, float]], scale: str, where: _Where) -> _Read:
    """Cells that are words of the scale that was said, or its numbers."""
    numbers, forgiven = np.empty(len(found)), 0
    for number, cell in enumerate(found):
        word = _word(cell)
        if (hit := told.get(folded(word))) is not None:
            numbers[number], forgiven = hit[1], forgiven + (word != hit[0])
        elif (value := _number(cell)) is not None:
            numbers[number] = value
        else:
            near = difflib.get_close_matches(folded(word), told, n=1)
            hint = f"did you mean {told[near[0]][0]!r}?" if near else ""
            raise where.refused(number, f"must be a word of the scale {scale}", cell, hint)
    words = sorted(told.values(), key=itemgetter(1))
    coded = sum(folded(_word(cell)) not in told for cell in found)
    mixed = f"{coded} of {len(found)} cells are numbers beside words, taken as values of {scale}."
    notes = _turned(words) + (mixed,) * (0 < coded < len(found))
    return _Read(numbers, _text_of(value for _, value in words), forgiven, tuple(word for word, _ in words), notes)


def _turned(words: list[tuple[str, float]]) -> tuple[str, ...]:
    """A word of warning where the order is the reverse of the common one."""
    common = dict(known_order({loosely(word) for word, _ in words}))
    values = [common.get(loosely(word), math.nan) for word, _ in words]
    if len(values) > 1 and all(low > high for low, high in pairwise(values)):
        said = "|".join(word for word, _ in reversed(words))
        return (f"the scale makes {words[-1][0]!r} the best; words stand worst first: was {said!r} meant?",)
    return ()


def _by_known_words(found: list[Any], where: _Where) -> _Read:
    """Cells that are words of a common order; anything else must be said."""
    count = Counter(_word(cell) for cell in found)
    odd = [number for number, cell in enumerate(found) if _number(cell) is None]
    order = dict(known_order({loosely(word) for word in count}))
    if where.scale and (not order or _text_of({0.0, 1.0, *order.values()}) != where.scale):
        raise where.refused(odd[0], f"must be a number on the scale {where.scale}", found[odd[0]], _hint(found[odd[0]]))
    if not order and len(odd) < len(found):  # numbers, and something between them
        raise where.refused(
            odd[0], "must be a number, or blank where there is no score", found[odd[0]], _hint(found[odd[0]])
        )
    if not order:
        raise _unordered(count, where.column)
    spelled: dict[str, str] = {}
    for word, _ in count.most_common():
        spelled.setdefault(loosely(word), word.strip())
    forgiven = sum(n for word, n in count.items() if word != spelled[loosely(word)])
    numbers = np.array([order[loosely(_word(cell))] for cell in found])
    words = sorted(((spelled.get(word, word), value) for word, value in order.items()), key=itemgetter(1))
    told = ", ".join(f"{word} = {value:g}" for word, value in words)
    notes = (f"column `{where.column}`: words are read as {told}.",)
    return _Read(numbers, _text_of({0.0, 1.0, *order.values()}), forgiven, tuple(word for word, _ in words), notes)


def _hint(cell: Any) -> str:
    return "Excel makes a date of 3/5" if hasattr(cell, "year") else "a scale of words names them: 'poor|fair|good'"


def _unordered(count: Mapping[str, int], column: str) -> TableArgumentError:
    most = sorted(count.items(), key=lambda one: -one[1])
    often = [f"{word[:40]!r} ({'once' if n == 1 else f'{n} times'})" for word, n in most[:8]]
    shown = ", ".join(often) + (", ..." if len(most) > 8 else "")
    example = "|".join(dict.fromkeys(word.strip()[:40] for word, _ in most[:5]))
    rule = f"must name the words of column `{column}`, worst first, such as {example!r} in the right order"
    return TableArgumentError("scale", rule, f"says nothing of {shown}")


def _numbers(found: list[Any], scale: str) -> _Read | None:
    """Cells that are all numbers, in one way of writing them; None where they are not."""
    values = [_number(cell) for cell in found]
    if None not in values:
        boolean = any(isinstance(cell, bool) for cell in found)
        forgiven = sum(isinstance(cell, str) and cell != cell.strip() for cell in found)
        return _Read(np.array(values, dtype=float), scale or "0|1" * boolean, forgiven)
    for form in (_with_commas, _as_parts, _as_percent):
        if (read := form([str(cell).strip() for cell in found], scale)) is not None:
            return read
    return None


def _number(cell: Any) -> float | None:
    """A cell that is a number without doubt."""
    if isinstance(cell, str):
        text = cell.strip().replace("\u2212", "-")
        value = float(text) if _PLAIN.fullmatch(text) else math.nan
    else:
        try:
            value = float(cell)
        except (TypeError, ValueError):
            return None
    return value if math.isfinite(value) else None


def decimal_commas(texts: list[str]) -> list[float] | None:
    """Numbers with decimal commas; None where one is none, or where each comma may be of thousands.

    Examples
    --------
    >>> decimal_commas(["3,5", "4", "0,125"]), decimal_commas(["1,234", "5"]), decimal_commas(["3,5", "x"])
    ([3.5, 4.0, 0.125], None, None)
    """
    parts = [_COMMA.fullmatch(text) for text in texts]
    if not all(parts):
        return None
    split = [(part[2], part[3]) for part in parts if part is not None and part[3]]
    # 1,234 and 12,345 may be thousands; 0,125 and 3,5 may not
    sure = [len(after) != 3 or len(before) > 3 or before[0] == "0" for before, after in split]
    return [float(text.replace(",", ".")) for text in texts] if any(sure) else None


def _with_commas(texts: list[str], scale: str) -> _Read | None:
    values = decimal_commas(texts)
    return None if values is None else _Read(np.array(values), scale, sum("," in text for text in texts))


def _as_parts(texts: list[str], scale: str) -> _Read | None:
    """``4/5`` as 4, where all are out of the same."""
    parts = [_PART.fullmatch(text) for text in texts]
    of = {part[2] for part in parts if part is not None}
    ends = parse_scale(scale)
    if not all(parts) or len(of) != 1 or (ends is not None and ends.high != float(*of)):
        return None
    numbers = np.array([float(part[1]) for part in parts if part is not None])
    return _Read(numbers, scale, len(texts), notes=(f"`{texts[0]}` is read as {numbers[0]:g}.",))


def _as_percent(texts: list[str], scale: str) -> _Read | None:
    """``80 %`` as 80 on 0..100, as .8 on 0..1; without a scale it may be either."""
    parts, ends = [_PERCENT.fullmatch(text) for text in texts], parse_scale(scale)
    if not all(parts) or ends is None or (ends.low, ends.high) not in ((0, 1), (0, 100)):
        return None
    numbers = np.array([float(part[1]) for part in parts if part is not None]) * ends.high / 100
    return _Read(numbers, scale, len(texts))


def _codes(found: list[Any]) -> dict[Hashable, float]:
    """Values of winners that are numbers: 1, .5, 0, or 1 and 2 with 0 for a tie; words for ties may be among them."""
    numbers = {cell: _number(cell) for cell in found if not (isinstance(cell, str) and loosely(cell) in TIE)}
    values = set(numbers.values())
    if 0.5 in values and values <= {0.0, 0.5, 1.0}:
        return {cell: value for cell, value in numbers.items() if value is not None}
    if 2.0 in values and values <= {0.0, 1.0, 2.0}:
        return {cell: {1.0: 1.0, 2.0: 0.0, 0.0: 0.5}[value] for cell, value in numbers.items() if value is not None}
    return {}


def _winner(cell: Any, first: str, second: str) -> float | None:
    """The names of the two come before the common words."""
    word, names = folded(str(cell)), [folded(first), folded(second)]
    if word and word in names and names[0] != names[1]:
        return 1.0 - names.index(word)
    word = loosely(word) if isinstance(cell, str) else ""
    values = [value for words, value in ((FIRST, 1.0), (SECOND, 0.0), (TIE, 0.5)) if word in words]
    return values[0] if values else None
