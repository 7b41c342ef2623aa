"""Tables of a report: the columns that vary, their heads, numbers as text."""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.analysis import TOPICS
from calib.core.result import short
from calib.core.topic import topic_of
from calib.table.results import Results, filled
from calib.table.text import telling, visible

NO_METHOD = ("method", "given")  # of scores from a file: none
COUNTS = ("n_labels", "n", "n_groups", "n_systems")
_ESTIMATES = ("estimate", "std_error", "conf_low", "conf_high")
# columns that stay in a table even where they do not vary
_STAY = {
    *_ESTIMATES, "p_value", "mean", "label_mean", "difference", "median_entropy", "median_mass", "score", "low", "high",
    "skill", "mean_size", "singles", "accepted_share", "n_accepted", "n_escalated",
}  # fmt: skip
# heads of columns that several topics have
_COMMON_HEADS = {
    "method": "scoring method", "estimator": "method", "std_error": "std. error", "p_value": "p",
    "p_adjusted": "p adjusted", "interval_method": "interval", "generalises_to": "about",
    "n_labels": "labels", "label_mean": "mean label", "n_groups": "groups", "n_systems": "systems",
    "n_missing": "missing", "n_unlabelled": "unlabelled",
    "n_unmatched": "unmatched", "n_unread": "unread", "n_unscored": "labels without a score", "n_dropped": "dropped",
}  # fmt: skip


class Table(NamedTuple):
    """A table as text: heads, rows, which columns are numbers; whether a reader sorts and searches a short one, too."""

    heads: list[str]
    rows: list[list[str]]
    numeric: list[bool]
    sortable: bool = False


@cache
def heads() -> dict[str, str]:
    """The head of each column, from all topics."""
    topics = (import_module(name).TOPIC for name in TOPICS)
    return _COMMON_HEADS | {name: head for topic in topics for name, head in topic.heads.items()}


def informative(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A frame without empty and constant columns; the constant ones as a dict of their values.

    Examples
    --------
    >>> frame = pd.DataFrame({"criterion": ["a", "b"], "rater": "judge", "prompt": "", "estimate": [0.5, 0.5]})
    >>> kept, shared = informative(frame)
    >>> list(kept), shared
    (['criterion', 'estimate'], {'rater': 'judge'})
    """
    full = filled(frame)
    stay = {*_STAY, *(["criterion"] if len(full) == 1 else [])}
    same = [name for name in full if name not in stay and len(full[name].drop_duplicates()) == 1]
    return full.drop(columns=same), {name: full[name].iloc[0] for name in same}


def informative_columns(results: Results[Any]) -> tuple[pd.DataFrame, str]:
    """The columns of results in which the rows differ, and the values of the others in words.

    Examples
    --------
    >>> from calib.stats import mean_interval
    >>> labels = ({"criterion": "fluency", "prompt": "f-1"}, {"criterion": "relevance", "prompt": "r-2"})
    >>> frame, rest = informative_columns(Results(labels, (mean_interval([3, 4, 5]), mean_interval([1, 4, 5]))))
    >>> list(frame), rest[-30:]
    (['criterion', 'estimate', 'std_error', 'conf_low', 'conf_high'], 'In row order: prompt f-1, r-2.')
    """
    # warnings are written out elsewhere, each once
    numbers = results.to_frame().drop(columns=["signature", "warnings"], errors="ignore")
    for topic in {topic.home: topic for topic in map(topic_of, map(type, results))}.values():
        wanted = topic.function("display", topic.frame)
        numbers = wanted(numbers) if wanted else numbers
    frame, shared = informative(numbers)
    names = telling(results.labels) or ["criterion"]
    labels = dict.fromkeys(name for label in results.labels for name in label if not name.startswith("n_"))
    idle = [name for name in labels if name in frame and name not in (*names, "p_adjusted")]
    fixed = {name: value for name, value in shared.items() if (name, value) != NO_METHOD}
    words = ", ".join(f"{heads().get(name, name)} {_cell_text(value)}" for name, value in fixed.items())
    more = "; ".join(f"{heads().get(n, n)} {', '.join(_cell_text(v) for v in dict.fromkeys(frame[n]))}" for n in idle)
    rest = {"The same in all rows" if len(frame) > 1 else "Also": words, "In row order": more}
    return frame.drop(columns=idle), " ".join(f"{head}: {text}." for head, text in rest.items() if text)


def table_of(frame: pd.DataFrame, interval: str = "interval", *, sortable: bool = False) -> Table:
    """All columns as text; the two ends of an interval in one."""
    ends = {"conf_low", "conf_high"} <= set(frame.columns)
    of_estimates = [name for name in _ESTIMATES if name in frame] if ends else []
    digits = _decimals(frame[of_estimates].to_numpy(float, na_value=np.nan))
    named, columns, numeric = [], [], []
    for name, values in frame.items():
        if ends and name == "conf_high":
            continue
        head, texts = heads().get(name, visible(name)), _column_texts(values, digits if name in of_estimates else None)
        if ends and name == "conf_low":
            pairs = zip(texts, _column_texts(frame["conf_high"], digits), strict=True)
            head, texts = interval, [f"[{a}, {b}]" if a and b else "" for a, b in pairs]
        named.append(head)
        columns.append(texts)
        numeric.append(_is_numeric(values))
    return Table(named, [list(row) for row in zip(*columns, strict=True)], numeric, sortable)


def _is_numeric(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def _column_texts(values: pd.Series, digits: int | None = None) -> list[str]:
    if not _is_numeric(values):
        return [_cell_text(value) for value in values]
    if values.name == "p_value":
        return ["" if math.isnan(p) else f"{p:.3g}" for p in values]
    places = _decimals(values.to_numpy(float, na_value=np.nan)) if digits is None else digits
    fixed = [("" if pd.isna(value) else f"{float(value):.{places}f}", value) for value in values]
    # a number that is not 0 is not shown as 0
    return [f"{value:.2g}" if text and value and not float(text) else text for text, value in fixed]


def _decimals(values: Any) -> int:
    """Decimals that show the largest of the numbers with three significant digits."""
    finite = np.abs(values[np.isfinite(values)])
    if not finite.size or (finite % 1 == 0).all():
        return 0
    return max(2 - math.floor(math.log10(finite.max())), 0)


def _cell_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else short(value)
    return "" if value is None or value is pd.NaT else visible(value)
