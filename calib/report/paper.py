"""The table of a paper from results: which result stands in which cell, and what all of them share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, TypeAlias

import pandas as pd

from calib.analysis.agreement.coefficients import COEFFICIENTS, LEVEL_WORDS
from calib.analysis.means.methods import METHODS
from calib.core.check import ArgumentError, whole
from calib.core.result import short
from calib.report.columns import COUNTS, NO_METHOD, heads
from calib.table.paper import PaperTable
from calib.table.results import Results
from calib.table.text import span_of

Facts: TypeAlias = Mapping[str, str]
Key: TypeAlias = tuple[str, ...]
_USUAL = ("rater", "criterion", "coefficient")  # asked for by default, which not all results have
_OF_RESULTS = ("level", "coefficient", "estimator")  # what tells results apart beside their labels
_IN_HEADS = ("criterion", "level", "coefficient")  # what is added to the heads, not to the rows
_SYMBOLS = {"spearman": "\u03c1", "kendall": "\u03c4", "pearson": "r"}


def paper_table(
    results: Results[Any],
    rows: str | Sequence[str],
    columns: str | Sequence[str],
    *,
    digits: int,
    interval: bool,
    average: bool | None,
) -> PaperTable:
    """As `Results.table`, which see."""
    whole(digits, "digits", least=0)
    if lacks := {type(result).__name__ for result in results if not hasattr(result, "estimate")}:
        raise ValueError(f"a table needs results with one estimate each, but {', '.join(lacks)} has none: .to_frame().")
    if not len(results):
        raise ValueError("a table needs results, but there are none.")
    facts = [_facts_of_result(label, result) for label, result in zip(results.labels, results, strict=True)]
    down, across = _enough(facts, _names_in_use(rows, "rows", facts), _names_in_use(columns, "columns", facts))
    placed = {(_key(fact, down), _key(fact, across)): result for fact, result in zip(facts, results, strict=True)}
    keys, order = list(dict.fromkeys(row for row, _ in placed)), list(dict.fromkeys(column for _, column in placed))
    # by the order in which the words of each level first appear
    levels = [list(dict.fromkeys(words)) for words in zip(*order, strict=True)]
    order.sort(key=lambda head: [level.index(word) for level, word in zip(levels, head, strict=True)])
    estimates = {cell: float(result.estimate) for cell, result in placed.items()}
    numbers = {head: [estimates.get((key, head), math.nan) for key in keys] for head in order}
    coefficients = all(hasattr(result, "coefficient") for result in results)
    several = "criterion" in across and len({fact["criterion"] for fact in facts}) > 1
    if averaged := several and (coefficients if average is None else average):
        numbers |= _averages(numbers, across.index("criterion"))
    note = _note(results, facts, [*down, *across], interval=interval, averaged=averaged)
    words = tuple(tuple(map(_head_word, across, head)) for head in numbers)
    cells = tuple(
        tuple(_cell(column[row], placed.get((key, head)), digits, interval) for head, column in numbers.items())
        for row, key in enumerate(keys)
    )
    index, head = (pd.MultiIndex.from_tuples(of, names=names) for of, names in ((keys, down), (list(numbers), across)))
    index, head = (one.get_level_values(0) if one.nlevels == 1 else one for one in (index, head))
    frame = pd.DataFrame(dict(enumerate(numbers.values())), index=index).set_axis(head, axis=1)
    return PaperTable(tuple(heads().get(name, name) for name in down), words, tuple(keys), cells, note, frame)


def _facts_of_result(label: Mapping[str, Any], result: Any) -> dict[str, str]:
    of = {name: value for name, value in label.items() if name[:2] != "n_"}
    made = {name: getattr(result, name) for name in _OF_RESULTS if name not in of and hasattr(result, name)}
    if made.get("estimator") in METHODS:
        made["estimator"] = METHODS[made["estimator"]].words
    facts = {}
    for name, value in (of | made).items():
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        facts[name] = "" if missing else short(value) if isinstance(value, float) else str(value)
    return facts


def _key(fact: Facts, names: Sequence[str]) -> Key:
    return tuple(fact.get(name, "") for name in names)


def _names_in_use(names: str | Sequence[str], argument: str, facts: Sequence[Facts]) -> list[str]:
    """Names that results have; those that are asked for by default may be absent."""
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    there = list(dict.fromkeys(name for fact in facts for name in fact))
    if wrong := [name for name in names if name not in there and name not in _USUAL]:
        raise ArgumentError(argument, f"must name labels of the results ({', '.join(there)})", f"got {wrong[0]!r}")
    return [name for name in names if name in there]


def _enough(facts: Sequence[Facts], down: list[str], across: list[str]) -> tuple[list[str], list[str]]:
    """The names of rows and columns: without constant ones, and with those that leave one result in a cell."""

    def telling(names: list[str]) -> list[str]:
        """Those that differ; the first where none does."""
        return [name for name in names if len({fact.get(name, "") for fact in facts}) > 1] or names[:1]

    across = telling([name for name in across if name not in down])
    names = [name for name in dict.fromkeys(name for fact in facts for name in fact) if name not in (*down, *across)]
    count = len({_key(fact, [*down, *across]) for fact in facts})
    for name in names:
        more = len({_key(fact, [*down, *across, name]) for fact in facts})
        if more > count:
            count = more
            (across if name in _IN_HEADS else down).append(name)
    if count < len(facts):
        rule = "and {0} must tell results apart"
        raise ArgumentError("rows", rule, "two have the same labels", mentions=("columns",))
    return telling(down) or [""], telling(across) or ["estimate"]  # results of arrays have no labels


def _head_word(name: str, value: str) -> str:
    if name == "estimate":
        return name
    return _SYMBOLS.get(value, COEFFICIENTS.get(value, value)) if name == "coefficient" else value


def _cell(number: float, result: Any, digits: int, interval: bool) -> str:
    text = "\u2013" if math.isnan(number) else f"{number:.{digits}f}"
    if not interval or result is None or math.isnan(result.interval[0]):
        return text
    return f"{text} [{result.interval[0]:.{digits}f}, {result.interval[1]:.{digits}f}]"


def _averages(numbers: Mapping[Key, list[float]], level: int) -> dict[Key, list[float]]:
    """For each head without its criterion the mean over all criteria; none where one of them lacks."""
    others: dict[Key, list[list[float]]] = {}
    for head, column in numbers.items():
        others.setdefault(head[:level] + head[level + 1 :], []).append(column)
    means = {other: [fmean(row) for row in zip(*columns, strict=True)] for other, columns in others.items()}
    return {(*other[:level], "average", *other[level:]): column for other, column in means.items()}


def _note(results: Results[Any], facts: Sequence[Facts], used: Sequence[str], *, interval: bool, averaged: bool) -> str:
    """What all cells share, and what the signs mean."""
    kinds = dict.fromkeys(fact["coefficient"] for fact in facts if "coefficient" in fact)
    parts = [f"{_SYMBOLS[k]}: {COEFFICIENTS[k]}" for k in kinds if k in _SYMBOLS and "coefficient" in used]
    for name in (name for name in facts[0] if name not in used and name not in ("prompt", "temperature")):
        values = {value for fact in facts if (name, value := fact.get(name, "")) != NO_METHOD}
        words = {"level": LEVEL_WORDS, "coefficient": COEFFICIENTS}.get(name, {})
        parts += [words.get(v) or f"{heads().get(name, name)} {v}" for v in values if v and len(values) == 1]
    for name in COUNTS:
        counts = [count for result in results if (count := getattr(result, name, 0))]
        parts += [f"{heads().get(name, name)} {span_of(counts)}"] if counts else []
    levels = {getattr(result, "confidence_level", math.nan) for result in results}
    parts += [f"in brackets: {', '.join(f'{100 * level:g}' for level in sorted(levels))} % CI"] * interval
    return "; ".join([*parts, *["average: mean over criteria"] * averaged])
