"""Cells of scores as numbers: words of a scale, blanks, decimal commas, percentages, winners of pairs; ids as texts."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from operator import itemgetter
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pandas as pd

from calib.inputs.names import WORDS
from calib.inputs.scales import are_codes
from calib.table import TableArgumentError, TableError, parse_scale, scale_words
from calib.table.files import NUMBER
from calib.table.schema import FARTHEST, OFF_ANY_SCALE

Line = Callable[[int], str]
Nature = Literal["blank", "numbers", "words", "winners", "texts", ""]
_LONGEST = 40  # characters of a word for what broke off
_GLIMPSE = 100  # different texts: enough to see that they are no words of a scale
_COMMA = re.compile(r"([+-]?)(\d+)(?:,(\d+))?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+)", re.ASCII)
_PERCENT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*%", re.ASCII)
_UNCLEAR = re.compile("|".join(f"(?:{form.pattern})" for form in (NUMBER, _COMMA, _PART, _PERCENT)), re.ASCII)
_BLANKS, _UNRATED, _CRASHED, FIRST, SECOND, TIE = (
    frozenset(WORDS["cells"][name]) for name in ("blank", "unrated", "crashed", "first", "second", "tie")
)
PAIRS, ORDERS = (tuple(map(tuple, WORDS["cells"][name])) for name in ("pairs", "orders"))
_PAIRED = {word: float(value) for pair in PAIRS for value, word in enumerate(pair)}
_ORDERED = frozenset(_PAIRED).union(*ORDERS)
_WON = {**dict.fromkeys(TIE, 0.5), **dict.fromkeys(SECOND, 0.0), **dict.fromkeys(FIRST, 1.0)}


def folded(word: str) -> str:
    """A word in lower case, without blanks around it and with one between its parts."""
    return " ".join(word.split()).casefold()


def loosely(word: str) -> str:
    """A common word, however its parts are joined: ``Strongly_Disagree``, ``model-a``."""
    spaced = re.sub(r"(?<=\w)[_-]+(?=\w)", " ", word.replace("_", " "))
    return " ".join(spaced.split()).casefold()


def known_order(words: Collection[str]) -> dict[str, float]:
    """The common order that holds all of these words (written `loosely`), with their values; else nothing.

    No and yes are 0 and 1, words of a longer order 0, 1, 2 and so on; words whose values depend on the order have none.
    """
    if not words or not _ORDERED.issuperset(words):
        return {}
    if _PAIRED.keys() >= set(words) and set(words) not in ({"good"}, {"bad"}):
        return {word: value for word, value in _PAIRED.items() if word in words}
    holding = sorted((order for order in ORDERS if set(words) <= set(order)), key=len)
    shortest = [order for order in holding if len(order) == len(holding[0])]
    if len({tuple(map(order.index, words)) for order in shortest}) != 1:
        return {}
    return {word: float(place) for place, word in enumerate(shortest[0])}


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The cells of a column as numbers; a blank is NaN.

    `scale` is as the tables write it ("" where it is not known), `words` are in the order of their values.
    """

    numbers: pd.Series
    scale: str = ""
    words: tuple[str, ...] = ()
    n_forgiven: int = 0  # cells read in spite of blanks around them, their case, or how the number is written
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a column that are not blank, and where they are."""

    column: str
    line: Line
    places: list[int]
    plain: list[Any]
    scale: str

    def error(self, number: int, rule: str, hint: str = "") -> TableError:
        text = str(self.plain[number])
        text = text if len(text) <= 80 else f"{text[:77]}..."
        at = self.line(self.places[number])
        return TableError(f"column `{self.column}`, {at}: {rule}, but got {text!r}{f' ({hint})' if hint else ''}.")


def blank(cells: pd.Series) -> pd.Series:
    """Which cells hold no score: empty ones, NaN, and NA, N/A, null, None, - and #N/A in any case.

    So do "error", "timeout" and their like in a column of numbers, or of words that have an order without them.
    """
    if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iufb":
        return cells.isna()
    plain = _plain_cell(cells)
    empty = np.array([_is_blank(cell) for cell in plain], dtype=bool)
    texts = {cell for cell in plain if isinstance(cell, str)}
    if words := {text for text in texts if len(text.strip()) <= _LONGEST and loosely(text) in _CRASHED}:
        crashed = np.array([isinstance(cell, str) and cell in words for cell in plain], dtype=bool)
        others = {loosely(_cell_word(cell)) for cell in compress(plain, ~(empty | crashed))}
        numbers = bool(others) and all(_UNCLEAR.fullmatch(word) for word in others)
        order = known_order(others)
        if numbers or len({order[word] for word in others if order}) > 1:
            empty |= crashed
    return pd.Series(empty, index=cells.index)


def id_texts(cells: pd.Series) -> pd.Series:
    """Names as texts: no blanks around, accents in one form, whole numbers without a point; None for a gap.

    What is empty or missing is a gap; "none" and "NA" may well be names.
    """
    texts = []
    for cell, missing in zip(cells.astype(object), cells.isna(), strict=True):
        whole = isinstance(cell, float) and cell.is_integer()
        text = "" if missing else str(int(cell)) if whole else normalize("NFC", str(cell).strip())
        texts.append(text or None)
    return pd.Series(texts, index=cells.index, dtype=object)


def nature(cells: pd.Series) -> Nature:
    """What cells are: "numbers" (also as texts, and booleans), "words" of a common order, "winners", "texts".

    Nothing ("") for lists and the like. Of many texts the first are looked at.
    """
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return "numbers" if cells.notna().any() else "blank"
    if not all(issubclass(kind, Hashable) for kind in set(map(type, cells))):
        return ""
    cells = cells.drop_duplicates()
    if len(cells) > _GLIMPSE and nature(cells.head(_GLIMPSE)) == "texts":
        return "texts"
    values = _plain_cell(cells[~blank(cells)])
    if not values:
        return "blank"
    unclear = all(_UNCLEAR.fullmatch(str(cell).strip()) for cell in values)
    if unclear or all(_cell_number(cell) is not None for cell in values):
        return "numbers"
    words = {loosely(_cell_word(cell)) for cell in values}
    if known_order(words):
        return "words"
    sides = words - TIE
    coded = sides == {"1", "2"} and len(words) > 2
    return "winners" if coded or (len(words) > 1 and sides and sides <= FIRST | SECOND) else "texts"


def valued(cells: pd.Series, scale: str = "", *, column: str, line: Line = "row {}".format) -> Values:
    """The cells of a column of scores as numbers; `column` and `line` say in messages where a cell is.

    The scale is ``"1|2|3|4|5"`` or ``"lo..hi"``; words worst first, ``"poor|fair|good"``, which are 0, 1, 2; words with
    their values, ``"no=0|yes=1"``. Without one, numbers are themselves, and words are those of a common order.

    Examples
    --------
    >>> values = valued(pd.Series(["Good ", "poor", "", "fair"]), "poor|fair|good", column="label")
    >>> values.numbers.tolist(), values.scale, values.n_forgiven
    ([2.0, 0.0, nan, 1.0], '0|1|2', 1)
    """
    words = word_values(scale)
    scale = scale if words else scale.replace(" ", "")
    empty = blank(cells).to_numpy()
    numeric = isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iuf"
    plain = cells.tolist() if numeric else _plain_cell(cells)
    if words and empty.any():  # such as "none", where the scale has that word
        empty = np.array([hole and folded(str(cell)) not in words for hole, cell in zip(empty, plain, strict=True)])
    places = np.flatnonzero(~empty)
    filled = _Cells(column, line, places.tolist(), list(compress(plain, ~empty)), scale)
    if numeric and not words and np.isfinite(filled.plain).all():
        read = Values(pd.Series(filled.plain, dtype=float), scale)
    else:
        read = _by_words(words, filled) if words else _cell_numbers(filled.plain, scale) or _by_common_words(filled)
    coded = are_codes(read.numbers.to_numpy(), read.scale)
    ends = parse_scale(read.scale)
    off = np.zeros(len(coded), bool) if ends is None else ~coded & ~ends.holds(read.numbers).to_numpy()
    if off.any():
        of_words = f" ({scale})" if scale not in ("", read.scale) else ""
        hint = "words in their order are 0, 1, 2 and so on; `poor=1|good=2` gives them other values"
        raise filled.error(int(off.argmax()), f"must lie on the scale {read.scale}{of_words}", hint if of_words else "")
    if (far := (read.numbers.abs() > FARTHEST).to_numpy()).any():
        raise filled.error(int(far.argmax()), OFF_ANY_SCALE)
    numbers = np.full(len(cells), np.nan)
    numbers[places] = np.where(coded, np.nan, read.numbers)
    notes = list(read.notes)
    if coded.any() or not numeric:  # cells that say by a code or in words that they hold no score
        none = [_cell_word(filled.plain[place]) for place in np.flatnonzero(coded)]
        none += [folded(cell) for cell, hole in zip(plain, empty, strict=True) if hole and isinstance(cell, str)]
        if count := Counter(word for word in none if word not in _BLANKS):
            listed = ", ".join(f"{word} ({n})" for word, n in count.items())
            notes.append(f"column `{column}`: cells that say {listed} are taken for no score.")
    return replace(read, numbers=pd.Series(numbers, index=cells.index, name=cells.name), notes=tuple(notes))


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
    """
    plain, places = _plain_cell(cells), np.flatnonzero(~blank(cells).to_numpy()).tolist()
    sides = (pd.Series(side, cells.index, dtype=object) if isinstance(side, str) else side for side in (first, second))
    firsts, seconds = (list(map(str, _plain_cell(side))) for side in sides)
    numbers, forgiven = np.full(len(plain), np.nan), 0
    # winners that are numbers: 1, .5 and 0, or 1 and 2 with 0 for a tie; words for ties may be among them
    filled = [plain[place] for place in places]
    number_of = {cell: _cell_number(cell) for cell in filled if not (isinstance(cell, str) and loosely(cell) in TIE)}
    codes: dict[Any, float] = {}
    for telling, values in ((0.5, {0.0: 0.0, 0.5: 0.5, 1.0: 1.0}), (2.0, {1.0: 1.0, 2.0: 0.0, 0.0: 0.5})):
        if telling in number_of.values() and set(number_of.values()) <= values.keys():
            codes = values
    for place, cell in zip(places, filled, strict=True):
        names = firsts[place], seconds[place]
        word, two = folded(str(cell)), list(map(folded, names))
        value: float | None
        if codes and cell in number_of:
            value = codes[number_of[cell]]
        elif word and word in two and two[0] != two[1]:  # the names of the two come before the common words
            value = 1.0 - two.index(word)
        else:
            value = _WON.get(loosely(cell)) if isinstance(cell, str) else None
        if value is None:
            rule = f"must say which of two won (A, B or tie{f'; {names[0]} or {names[1]}' if any(names) else ''})"
            raise TableError(f"column `{column}`, {line(place)}: {rule}, but got {cell!r}.")
        numbers[place], forgiven = value, forgiven + (isinstance(cell, str) and cell != cell.strip())
    series = pd.Series(numbers, index=cells.index, name=cells.name)
    return Values(series, "0|0.5|1", ("second", "tie", "first"), forgiven)


def _plain_cell(cells: pd.Series) -> list[Any]:
    """Python's own values, whatever type pandas had for them."""
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in cells.astype(object).tolist()]


def _is_blank(cell: Any) -> bool:
    if isinstance(cell, str):
        word = folded(cell)
        return word in _BLANKS or word in _UNRATED
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))


def _cell_word(cell: Any) -> str:
    """A cell as it would be typed: 1 also where a gap in the column made it 1.0."""
    return f"{cell:g}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def word_values(scale: str) -> dict[str, tuple[str, float]]:
    """The words of a scale and their values, by the `folded` word; none for a scale of numbers."""
    if not scale or ".." in scale:
        return {}
    words = scale_words(scale)
    if all(NUMBER.fullmatch(word) and float(word) == value for word, value in words):
        return {}
    values = {folded(word): (word, value) for word, value in words}
    if len(values) < len(words):
        raise TableArgumentError("scale", "must name words that differ in more than case", f"got {scale!r}")
    if len({value for _, value in words}) < 2:
        raise TableArgumentError("scale", "must have two different values at least", f"got {scale!r}")
    return values


def _by_words(values: dict[str, tuple[str, float]], cells: _Cells) -> Values:
    """Cells that are words of the scale that the user wrote, or its numbers."""
    numbers, forgiven, coded = np.empty(len(cells.plain)), 0, 0
    for number, cell in enumerate(cells.plain):
        word = _cell_word(cell)
        if (match := values.get(folded(word))) is not None:
            numbers[number], forgiven = match[1], forgiven + (word != match[0])
        elif (value := _cell_number(cell)) is not None:
            numbers[number], coded = value, coded + 1
        else:
            near = difflib.get_close_matches(folded(word), values, n=1)
            hint = f"did you mean {values[near[0]][0]!r}?" if near else ""
            raise cells.error(number, f"must be a word of the scale {cells.scale}", hint)
    in_order = sorted(values.values(), key=itemgetter(1))
    words, notes = tuple(word for word, _ in in_order), []
    common = known_order({loosely(word) for word in words})
    places = [common.get(loosely(word), math.nan) for word in words]
    if all(low > high for low, high in pairwise(places)):  # the reverse of the common order
        common_order = "|".join(reversed(words))
        notes.append(f"the scale makes {words[-1]!r} the best; words stand worst first: was {common_order!r} meant?")
    if 0 < coded < len(cells.plain):
        of = f"{coded} of {len(cells.plain)} cells"
        notes.append(f"{of} are numbers beside words, taken as values of {cells.scale}.")
    scale = "|".join(f"{value:g}" for value in dict.fromkeys(value for _, value in in_order))
    return Values(pd.Series(numbers), scale, words, forgiven, tuple(notes))


def _by_common_words(cells: _Cells) -> Values:
    """Cells that are words of a common order; anything else the user must say."""
    unread = [number for number, cell in enumerate(cells.plain) if _cell_number(cell) is None]
    texts = [str(cell).strip() for cell in cells.plain]
    if all(_UNCLEAR.fullmatch(text) for text in texts):
        if all(_PERCENT.fullmatch(text) for text in texts):
            rule = f"must say what 100 % are in column `{cells.column}`, '0..1' or '0..100'"
            raise TableArgumentError("scale", rule, f"got {cells.scale!r}" if cells.scale else "says nothing")
        hint = "1,234 may be 1.234 or 1234; shares and percentages need one form in all rows"
        raise cells.error(unread[0], "must be a number, and read in one way", hint)
    count = Counter(map(_cell_word, cells.plain))
    order = known_order({loosely(word) for word in count})
    scale = "|".join(f"{value:g}" for value in sorted({0.0, 1.0, *order.values()}))
    rule = f"must be a number on the scale {cells.scale}" if cells.scale and (not order or scale != cells.scale) else ""
    dated = hasattr(cells.plain[unread[0]], "year")
    if not order and (dated or len(unread) < len(cells.plain)):  # numbers, and something between them
        rule = rule or "must be a number, or blank where there is no score"
    if rule:
        hint = "Excel makes a date of 3/5" if dated else "a scale of words names them: 'poor|fair|good'"
        raise cells.error(unread[0], rule, hint)
    if not order:
        most = sorted(count.items(), key=lambda one: -one[1])
        often = [f"{word[:40]!r} ({'once' if n == 1 else f'{n} times'})" for word, n in most[:8]]
        example = "|".join(dict.fromkeys(word.strip()[:40] for word, _ in most[:5]))
        rule = f"must name the words of column `{cells.column}`, worst first, such as {example!r} in the right order"
        raise TableArgumentError("scale", rule, f"says nothing of {', '.join(often)}{', ...' * (len(most) > 8)}")
    spelled: dict[str, str] = {}
    for word, _ in count.most_common():
        spelled.setdefault(loosely(word), word.strip())
    forgiven = sum(n for word, n in count.items() if word != spelled[loosely(word)])
    numbers = pd.Series([order[loosely(_cell_word(cell))] for cell in cells.plain])
    words = sorted(((spelled.get(word, word), value) for word, value in order.items()), key=itemgetter(1))
    listed = ", ".join(f"{word} = {value:g}" for word, value in words)
    notes = (f"column `{cells.column}`: words are read as {listed}.",)
    return Values(numbers, scale, tuple(word for word, _ in words), forgiven, notes)


def _cell_numbers(cells: list[Any], scale: str) -> Values | None:
    """Cells that are all numbers, in one way of writing them; None where they are not."""
    values = list(map(_cell_number, cells))
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


def _cell_number(cell: Any) -> float | None:
    """A cell that is a number without doubt."""
    if isinstance(cell, str):
        text = cell.strip().replace("\u2212", "-")
        value = float(text) if NUMBER.fullmatch(text) else math.nan
    else:
        try:
            value = float(cell)
        except (TypeError, ValueError):
            return None
    return value if math.isfinite(value) else None


def decimal_commas(texts: list[str]) -> list[float] | None:
    """Numbers with decimal commas; None where one is no number, or each comma may separate thousands."""
    parts = [_COMMA.fullmatch(text) for text in texts]
    if not all(parts):
        return None
    split = [(part[2], part[3]) for part in parts if part is not None and part[3]]
    # 1,234 and 12,345 may be thousands; 0,125 and 3,5 may not
    sure = [len(after) != 3 or len(before) > 3 or before[0] == "0" for before, after in split]
    return [float(text.replace(",", ".")) for text in texts] if any(sure) else None
