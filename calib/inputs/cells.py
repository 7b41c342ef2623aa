"""Cells as people write them, as numbers: words of a scale, blanks, decimal commas, winners of pairs."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
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
    held = [cell for cell in _plain(cells) if not _is_blank(cell)]
    if not held:
        return "blank"
    if _numbers(held, "") is not None or all(_UNCLEAR.fullmatch(str(cell).strip()) for cell in held):
        return "numbers"
    words = {loosely(_word(cell)) for cell in held}
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
    values, plain = _words_of(scale), _plain(cells)
    scale = scale if values else scale.replace(" ", "")
    places = [place for place, cell in enumerate(plain) if not _is_blank(cell) or folded(str(cell)) in values]
    where = _Where(column, line, places, [plain[place] for place in places], scale)
    read = _by_words(values, where) if values else _numbers(where.cells, scale)
    if read is None:
        where.refuse_unclear()
        read = _by_common_words(where)
    coded = are_codes(read.numbers.to_numpy(), read.scale)
    numbers = np.where(coded, np.nan, read.numbers)
    where.refuse_off_scale(numbers, read.scale)
    out = np.full(len(cells), np.nan)
    out[places] = numbers
    notes, blank_places = list(read.notes), sorted(set(range(len(plain))) - set(places))
    # cells that say by a code or in words that they hold no score
    words = [folded(plain[place]) for place in blank_places if isinstance(plain[place], str)]
    none = [*(_word(where.cells[k]) for k in np.flatnonzero(coded)), *(word for word in words if word in UNRATED)]
    if none:
        listed = ", ".join(f"{word} ({n})" for word, n in Counter(none).items())
        notes.append(f"column `{column}`: cells that say {listed} are taken for no score.")
    series = pd.Series(out, index=cells.index, name=cells.name)
    return replace(read, numbers=series, n_blank=int(np.isnan(out).sum()), notes=tuple(notes))


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
    names = [
        [str(name) for name in _plain(side)] if isinstance(side, pd.Series) else [side] * len(plain)
        for side in (first, second)
    ]
    numbers, forgiven = np.full(len(plain), np.nan), 0
    held = [place for place, cell in enumerate(plain) if not _is_blank(cell)]
    codes = _codes([plain[place] for place in held])
    for place in held:
        cell, ours = plain[place], (names[0][place], names[1][place])
        value = codes[cell] if cell in codes else _winner(cell, *ours)
        if value is None:
            rule = f"must say which of two won (A, B or tie{f'; {ours[0]} or {ours[1]}' if any(ours) else ''})"
            raise TableError(f"column `{column}`, {line(place)}: {rule}, but got {cell!r}.")
        numbers[place], forgiven = value, forgiven + (isinstance(cell, str) and cell != cell.strip())
    series = pd.Series(numbers, index=cells.index, name=cells.name)
    return Values(series, "0|0.5|1", ("second", "tie", "first"), forgiven, len(plain) - len(held))


@dataclass(frozen=True, slots=True)
class _Where:
    """The cells that are not blank and where they stand, for messages about one."""

    column: str
    line: Line
    places: list[int]
    cells: list[Any]
    scale: str

    def refused(self, number: int, rule: str, hint: str = "") -> TableError:
        text = str(self.cells[number])
        text = text if len(text) <= 80 else f"{text[:77]}..."
        at = self.line(self.places[number])
        return TableError(f"column `{self.column}`, {at}: {rule}, but got {text!r}{f' ({hint})' if hint else ''}.")

    def refuse_unclear(self) -> None:
        texts = [str(cell).strip() for cell in self.cells]
        if not all(_UNCLEAR.fullmatch(text) for text in texts):
            return
        if all(_PERCENT.fullmatch(text) for text in texts):
            rule = f"must say what 100 % are in column `{self.column}`, '0..1' or '0..100'"
            raise TableArgumentError("scale", rule, f"got {self.scale!r}" if self.scale else "says nothing")
        odd = next(number for number, cell in enumerate(self.cells) if _number(cell) is None)
        hint = "1,234 may be 1.234 or 1234; shares and percentages need one form in all rows"
        raise self.refused(odd, "must be a number, and read in one way", hint)

    def refuse_off_scale(self, numbers: Floats, scale: str) -> None:
        ends = parse_scale(scale)
        inside = np.ones(len(numbers), bool) if ends is None else ~((numbers < ends.low) | (numbers > ends.high))
        if not inside.all():
            first = int(np.argmin(inside))
            words = f" ({self.scale})" if self.scale not in ("", scale) else ""
            hint = "words in their order are 0, 1, 2 and so on; `poor=1|good=2` gives them other values"
            raise self.refused(first, f"must lie on the scale {scale}{words}", hint if words else "")


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


def _words_of(scale: str) -> dict[str, tuple[str, float]]:
    """Words of a scale, and their values, by how they are written loosely; none for one of numbers."""
    if not scale or ".." in scale:
        return {}
    words = scale_words(scale)
    if all(_PLAIN.fullmatch(word) and float(word) == value for word, value in words):
        return {}
    values = {folded(word): (word, value) for word, value in words}
    if len(values) < len(words):
        raise TableArgumentError("scale", "must name words that differ in more than case", f"got {scale!r}")
    if len({value for _, value in words}) < 2:
        raise TableArgumentError("scale", "must have two different values at least", f"got {scale!r}")
    return values


def _text_of(values: Any) -> str:
    return "|".join(f"{value:g}" for value in sorted(set(values)))


def _by_words(values: Mapping[str, tuple[str, float]], where: _Where) -> Values:
    """Cells that are words of the scale that was said, or its numbers."""
    numbers, forgiven, coded = np.empty(len(where.cells)), 0, 0
    for number, cell in enumerate(where.cells):
        word = _word(cell)
        if (hit := values.get(folded(word))) is not None:
            numbers[number], forgiven = hit[1], forgiven + (word != hit[0])
        elif (value := _number(cell)) is not None:
            numbers[number], coded = value, coded + 1
        else:
            near = difflib.get_close_matches(folded(word), values, n=1)
            hint = f"did you mean {values[near[0]][0]!r}?" if near else ""
            raise where.refused(number, f"must be a word of the scale {where.scale}", hint)
    in_order = sorted(values.values(), key=itemgetter(1))
    words, notes = tuple(word for word, _ in in_order), []
    common = dict(known_order({loosely(word) for word in words}))
    places = [common.get(loosely(word), math.nan) for word in words]
    if all(low > high for low, high in pairwise(places)):  # the reverse of the common order
        common_order = "|".join(reversed(words))
        notes.append(f"the scale makes {words[-1]!r} the best; words stand worst first: was {common_order!r} meant?")
    if 0 < coded < len(where.cells):
        of = f"{coded} of {len(where.cells)} cells"
        notes.append(f"{of} are numbers beside words, taken as values of {where.scale}.")
    return Values(pd.Series(numbers), _text_of(value for _, value in in_order), words, forgiven, 0, tuple(notes))


def _by_common_words(where: _Where) -> Values:
    """Cells that are words of a common order; anything else must be said."""
    count = Counter(map(_word, where.cells))
    odd = [number for number, cell in enumerate(where.cells) if _number(cell) is None]
    order = dict(known_order({loosely(word) for word in count}))
    scale = _text_of({0.0, 1.0, *order.values()})
    rule = f"must be a number on the scale {where.scale}" if where.scale and (not order or scale != where.scale) else ""
    if not order and len(odd) < len(where.cells):  # numbers, and something between them
        rule = rule or "must be a number, or blank where there is no score"
    if rule:
        dated = hasattr(where.cells[odd[0]], "year")
        hint = "Excel makes a date of 3/5" if dated else "a scale of words names them: 'poor|fair|good'"
        raise where.refused(odd[0], rule, hint)
    if not order:
        most = sorted(count.items(), key=lambda one: -one[1])
        often = [f"{word[:40]!r} ({'once' if n == 1 else f'{n} times'})" for word, n in most[:8]]
        example = "|".join(dict.fromkeys(word.strip()[:40] for word, _ in most[:5]))
        rule = f"must name the words of column `{where.column}`, worst first, such as {example!r} in the right order"
        raise TableArgumentError("scale", rule, f"says nothing of {', '.join(often)}{', ...' * (len(most) > 8)}")
    spelled: dict[str, str] = {}
    for word, _ in count.most_common():
        spelled.setdefault(loosely(word), word.strip())
    forgiven = sum(n for word, n in count.items() if word != spelled[loosely(word)])
    numbers = pd.Series([order[loosely(_word(cell))] for cell in where.cells])
    words = sorted(((spelled.get(word, word), value) for word, value in order.items()), key=itemgetter(1))
    listed = ", ".join(f"{word} = {value:g}" for word, value in words)
    notes = (f"column `{where.column}`: words are read as {listed}.",)
    return Values(numbers, scale, tuple(word for word, _ in words), forgiven, 0, notes)


def _numbers(cells: list[Any], scale: str) -> Values | None:
    """Cells that are all numbers, in one way of writing them; None where they are not."""
    values = [_number(cell) for cell in cells]
    if None not in values:
        boolean = any(isinstance(cell, bool) for cell in cells)
        forgiven = sum(isinstance(cell, str) and cell != cell.strip() for cell in cells)
        return Values(pd.Series(values, dtype=float), scale or "0|1" * boolean, n_forgiven=forgiven)
    texts, ends = [str(cell).strip() for cell in cells], parse_scale(scale)
    if (decimals := decimal_commas(texts)) is not None:
        return Values(pd.Series(decimals), scale, n_forgiven=sum("," in text for text in texts))
    # 4/5 as 4, where all are out of the same
    parts = [part for text in texts if (part := _PART.fullmatch(text))]
    of = {part[2] for part in parts}
    if len(parts) == len(texts) and len(of) == 1 and (ends is None or ends.high == float(*of)):
        numbers = pd.Series([float(part[1]) for part in parts])
        note = f"`{texts[0]}` is read as {numbers[0]:g}."
        return Values(numbers, scale, n_forgiven=len(texts), notes=(note,))
    # 80 % as 80 on 0..100, as .8 on 0..1; without a scale it may be either
    shares = [share for text in texts if (share := _PERCENT.fullmatch(text))]
    if len(shares) == len(texts) and ends is not None and (ends.low, ends.high) in ((0, 1), (0, 100)):
        numbers = pd.Series([float(share[1]) for share in shares]) * ends.high / 100
        return Values(numbers, scale, n_forgiven=len(texts))
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


def _codes(cells: list[Any]) -> dict[Hashable, float]:
    """Values of winners that are numbers: 1, .5, 0, or 1 and 2 with 0 for a tie; words for ties may be among them."""
    numbers = {cell: _number(cell) for cell in cells if not (isinstance(cell, str) and loosely(cell) in TIE)}
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
