"""The three tables: items, ratings, scores. What their columns are, checks, and files.

`items` are texts, `ratings` one row per score that a rater (a person or a judge) gave,
`scores` one row per item, criterion and rater, derived from ratings alone. Each check
returns a checked copy with the standard types and defaults; other columns ride along.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError

METHODS = ("human", "sample", "logprob", "chain")
STATUSES = (
    "ok", "off_scale", "unseen", "ambiguous", "unread", "refused", "truncated", "no_logprobs", "constrained",
    "failed",
)  # fmt: skip
SCORE_KEY = ("item", "criterion", "rater", "prompt", "method", "temperature")


class TableError(ValueError):
    """A table breaks a rule of its schema; the message names table, column, row and rule."""


class TableArgumentError(TableError, ArgumentError):
    """An argument does not go with a table: its name, the rule, and what came."""


class Column(NamedTuple):
    """One column: its kind ("text", "label", "number" or "count") and the default where it is absent.

    Labels are repeated strings and become categoricals. No default: the column must be there.
    """

    kind: str
    default: Any = None
    required: bool = False


ITEMS = {
    "item": Column("text", required=True),
    "source": Column("text"),
    "output": Column("text"),
    "group": Column("label"),
    "system": Column("label"),
    "reference": Column("text"),
}
RATINGS = {
    "item": Column("label", required=True),
    "criterion": Column("label", required=True),
    "rater": Column("label", required=True),
    "prompt": Column("label", ""),
    "scale": Column("label", ""),
    "method": Column("label", "human"),
    "temperature": Column("number", math.nan),
    "run": Column("label", ""),
    "draw": Column("count", 0),
    "score": Column("number", required=True),
    "weight": Column("number", 1.0),
    "status": Column("label", ""),
    "low": Column("number", math.nan),
    "high": Column("number", math.nan),
    "reply": Column("text"),
}
SCORES = {
    "item": Column("label", required=True),
    "criterion": Column("label", required=True),
    "rater": Column("label", required=True),
    "prompt": Column("label", ""),
    "method": Column("label", "human"),
    "temperature": Column("number", math.nan),
    "score": Column("number", required=True),
    "entropy": Column("number", math.nan),
    "sd": Column("number", math.nan),
    "mode": Column("number", math.nan),
    "n": Column("count", 1),
    "n_unread": Column("count", 0),
    "mass": Column("number", math.nan),
    "low": Column("number", math.nan),
    "high": Column("number", math.nan),
    "var_within": Column("number"),
    "var_between": Column("number"),
    "scale": Column("label", ""),
    "group": Column("label"),
    "system": Column("label"),
}
SCHEMAS = {"items": ITEMS, "ratings": RATINGS, "scores": SCORES}


# --- scales as text ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScaleRange:
    """A scale as the tables write it: its values, or only its ends where it is continuous."""

    low: float
    high: float
    values: tuple[float, ...] = ()

    def holds(self, scores: pd.Series) -> pd.Series:
        """Whether each score lies between the ends (means of several raters lie between values)."""
        return scores.between(self.low, self.high)


def parse_scale(text: str) -> ScaleRange | None:
    """Read ``1|2|3|4|5`` or ``lo..hi``; an empty text is an unknown scale, None.

    Raises
    ------
    TableError
        If the text is neither.

    Examples
    --------
    >>> parse_scale("0..100")
    ScaleRange(low=0.0, high=100.0, values=())
    >>> parse_scale("1|2|3").values
    (1.0, 2.0, 3.0)
    """
    if not text:
        return None
    try:
        if ".." in text:
            low, high = (float(end) for end in text.split(".."))
            values: tuple[float, ...] = ()
        else:
            values = tuple(sorted(float(value) for value in text.split("|")))
            low, high = values[0], values[-1]
    except ValueError:
        raise TableError(f"a scale must read '1|2|3' or 'lo..hi', but got {text!r}.") from None
    if not low < high or not math.isfinite(high - low):
        raise TableError(f"a scale must have two different finite values, but got {text!r}.")
    return ScaleRange(low, high, values)


# --- checks -----------------------------------------------------------------------------------------------------


def check_items(frame: pd.DataFrame) -> pd.DataFrame:
    """A checked copy of a table of items.

    Parameters
    ----------
    frame : DataFrame
        With a column `item` of unique, non-empty ids; `source`, `output`, `group`,
        `system`, `reference` where there are such.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        With column, row and rule.

    Examples
    --------
    >>> check_items(pd.DataFrame({"item": ["a", "a"], "output": ["x", "y"]}))
    Traceback (most recent call last):
        ...
    calib.table.TableError: items: column `item`, row 1: must be unique, but 'a' was there before.
    """
    out = _typed(frame, "items")
    _each(out, "items", "item", out["item"].str.len() > 0, "must not be empty")
    _each(out, "items", "item", _whole(out["item"]), "must not hold half a character, which few programs can take")
    _unique(out, "items", ("item",))
    return out


def has_replies(frame: pd.DataFrame) -> bool:
    """Whether a table is of single replies: it has a column that no table of scores has.

    Examples
    --------
    >>> has_replies(pd.DataFrame({"item": ["a"], "score": [3], "weight": [0.4]}))
    True
    """
    return not {"weight", "draw"}.isdisjoint(frame)


def check_ratings(frame: pd.DataFrame) -> pd.DataFrame:
    """A checked copy of a table of ratings, with defaults where columns are absent.

    Parameters
    ----------
    frame : DataFrame
        With `item`, `criterion`, `rater`, `score` at least.

    Returns
    -------
    DataFrame
        All columns but `reply`, which stays only where it came.

    Raises
    ------
    TableError
        With column, row and rule.

    Examples
    --------
    >>> people = pd.DataFrame({"item": ["a"], "criterion": ["fluency"], "rater": ["ann"], "score": [9]})
    >>> check_ratings(people.assign(scale="1|2|3"))
    Traceback (most recent call last):
        ...
    calib.table.TableError: ratings: column `score`, row 0: must lie on the scale '1|2|3', but got 9.0.
    """
    if isinstance(frame, pd.DataFrame) and {"mass", "n_unread"} <= set(frame) and not has_replies(frame):
        raise TableError("ratings: must be ratings, one row per label or draw, but these are scores (of `summarize`).")
    out = _typed(frame, "ratings")
    if "weight" in frame:
        stated = out["method"].isin(["human", "sample"]) | frame["weight"].notna().to_numpy()
        _refuse(frame["weight"], "ratings", "weight", stated, "must be given for token probabilities")
    read = out["score"].notna()
    if (unstated := out["status"] == "").any():
        stated = out["status"].astype(object).where(~unstated, np.where(read, "ok", "unread"))
        out["status"] = _convert(stated, "ratings", "status", "label")
    used = out["status"].cat.remove_unused_categories()
    out["status"] = used.cat.reorder_categories(sorted(used.cat.categories))
    _member(out, "ratings", "method", METHODS)
    _member(out, "ratings", "status", STATUSES)
    _each(out, "ratings", "score", (out["status"] == "ok") == read, "must be a number exactly where `status` is 'ok'")
    _each(out, "ratings", "weight", out["weight"].between(0, 1 + 1e-6), "must lie between 0 and 1")
    _each(out, "ratings", "draw", out["draw"] >= 0, "must not be negative")
    bounded = ~out["status"].isin(["ambiguous", "unseen"])
    for name in ("low", "high"):
        _each(out, "ratings", name, bounded | out[name].notna(), "must be given where mass is ambiguous or unseen")
    _on_scale(out, "ratings")
    key = (*SCORE_KEY, "run", "draw", "score")
    _unique(out.loc[read, list(key)], "ratings", key)
    _whole_draws(out)
    return out


def check_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """A checked copy of a table of scores: one row per item, criterion, rater, prompt, method, temperature.

    Parameters
    ----------
    frame : DataFrame
        With `item`, `criterion`, `rater`, `score` at least.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        With column, row and rule.

    Examples
    --------
    >>> check_scores(pd.DataFrame({"item": ["a"], "criterion": ["fluency"], "score": [3]}))
    Traceback (most recent call last):
        ...
    calib.table.TableError: scores: column `rater` is missing; there are 'item', 'criterion', 'score'.
    """
    out = _typed(frame, "scores")
    _member(out, "scores", "method", METHODS)
    _on_scale(out, "scores")
    _unique(out, "scores", SCORE_KEY)
    return out


def _whole_draws(ratings: pd.DataFrame) -> None:
    """The weights of one draw are probabilities of one reply (an unseen row is a bound, not part of the sum)."""
    counted = ratings["weight"].where(ratings["status"].isin(["ok", "off_scale", "ambiguous"]), 0.0)
    key = _varying(ratings, (*SCORE_KEY, "run", "draw"))
    total = counted.groupby([ratings[name] for name in key], observed=True, dropna=False, sort=False).transform("sum")
    _refuse(total.round(6), "ratings", "weight", total <= 1 + 1e-6, "must add up to at most 1 within a draw")


CHECKS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "items": check_items,
    "ratings": check_ratings,
    "scores": check_scores,
}


def _typed(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise TableError(f"{table}: must be a pandas DataFrame, but got {type(frame).__name__}.")
    again = frame.columns[frame.columns.duplicated()]
    if len(again):
        raise TableError(f"{table}: column `{again[0]}` must be there once, but is there more than once.")
    out = frame.reset_index(drop=True).copy()
    for name, column in SCHEMAS[table].items():
        if name in out:
            values = _filled(out[name], "" if name == "reply" else column.default)
            out[name] = _convert(values, table, name, column.kind)
        elif column.required:
            there = ", ".join(repr(str(c)) for c in frame.columns)
            raise TableError(f"{table}: column `{name}` is missing; there are {there}.")
        elif column.default is not None:
            out[name] = _convert(pd.Series([column.default] * len(out)), table, name, column.kind)
    first = [name for name in SCHEMAS[table] if name in out]
    return out[[*first, *(name for name in out if name not in first)]]


def _filled(values: pd.Series, default: Any) -> pd.Series:
    """Tables of people and of judges put together have gaps where one of them had no such column."""
    if default is None or pd.isna(default) or not values.isna().any():
        return values
    return values.astype(object).where(values.notna(), default)


def _convert(values: pd.Series, table: str, name: str, kind: str) -> pd.Series:
    if kind in ("text", "label"):
        _complete(values, table, name)
        if kind == "label" and _is_label(values):
            plain = pd.Index(values.cat.categories, dtype=object)
            return pd.Series(pd.Categorical.from_codes(values.cat.codes, categories=plain), index=values.index)
        # texts stay Python strings: they may hold what Arrow cannot, such as a lone surrogate
        text = pd.Series([_text(value) for value in values], index=values.index, dtype=object)
        if kind == "text":
            return text
        categories = pd.Index(sorted(set(text)), dtype=object)
        return pd.Series(pd.Categorical(text, categories=categories), index=values.index)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf":
        numbers = values.astype(float)
    else:
        given = values.astype(object)
        numbers = pd.to_numeric(given.where(values.notna(), np.nan), errors="coerce").astype(float)
        _refuse(values, table, name, numbers.notna() | values.isna() | (given == ""), "must be a number")
    _refuse(values, table, name, ~np.isinf(numbers), "must be finite")
    if kind == "number":
        return numbers
    _refuse(values, table, name, numbers % 1 == 0, "must be a whole number")
    return numbers.astype("int64")


def _text(value: Any) -> str:
    """A value as text; 7.0, which a gap in the file made of an id 7, is 7 again."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _whole(texts: pd.Series) -> pd.Series:
    """Whether each text has a form in UTF-8: half of a surrogate pair has none."""
    return texts.map(lambda text: text.isascii() or text.encode("utf-8", "ignore").decode() == text)


def _is_label(values: pd.Series) -> bool:
    return isinstance(values.dtype, pd.CategoricalDtype) and all(isinstance(c, str) for c in values.cat.categories)


def _complete(values: pd.Series, table: str, name: str) -> None:
    _refuse(values, table, name, values.notna(), "must not be missing")


def _refuse(values: pd.Series, table: str, name: str, good: pd.Series, rule: str) -> None:
    if not good.all():
        row = int(np.argmin(good.to_numpy(dtype=bool)))
        value = values.iloc[row]
        shown = (
            "" if rule == "must not be missing" else f", but got {value.item() if hasattr(value, 'item') else value!r}"
        )
        raise TableError(f"{table}: column `{name}`, row {row}: {rule}{shown}.")


def _each(frame: pd.DataFrame, table: str, name: str, good: pd.Series, rule: str) -> None:
    _refuse(frame[name], table, name, good, rule)


def _member(frame: pd.DataFrame, table: str, name: str, options: tuple[str, ...]) -> None:
    _each(frame, table, name, frame[name].isin(options), f"must be one of {', '.join(options)}")


def _on_scale(frame: pd.DataFrame, table: str) -> None:
    for text, rows in frame.groupby("scale", observed=True):
        try:
            scale = parse_scale(str(text))
        except TableError as error:
            raise TableError(f"{table}: column `scale`, row {rows.index[0]}: {error}") from None
        if scale is not None:
            inside = pd.Series(True, index=frame.index)
            inside.loc[rows.index] = scale.holds(rows["score"]) | rows["score"].isna()
            _each(frame, table, "score", inside, f"must lie on the scale {text!r}")


def _varying(frame: pd.DataFrame, key: tuple[str, ...]) -> list[str]:
    """Those of the key's columns that tell rows apart, at least one: the others would only cost memory."""
    return [name for name in key if len(frame[name].unique()) > 1] or [key[0]]


def _unique(frame: pd.DataFrame, table: str, key: tuple[str, ...]) -> None:
    again = frame.duplicated(_varying(frame, key))
    if again.any():
        row = frame.index[again][0]
        shown = ", ".join(repr(str(frame[name][row])) for name in key if name in ("item", "criterion", "rater"))
        rule = "must be unique" if len(key) == 1 else f"must be unique over {', '.join(key)}"
        raise TableError(f"{table}: column `{key[0]}`, row {row}: {rule}, but {shown} was there before.")


# --- files ------------------------------------------------------------------------------------------------------


def read(path: str | Path, table: str) -> pd.DataFrame:
    """Read and check a table of one kind from a .csv, .jsonl or .parquet file.

    Parameters
    ----------
    path : str or Path
    table : {"items", "ratings", "scores"}

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        If the ending is another one or the table breaks its schema.
    FileNotFoundError

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(pd.DataFrame({"item": ["007"], "output": ["A summary."]}), f"{folder}/items.csv")
    ...     read(path, "items")
      item      output
    0  007  A summary.
    """
    if table not in CHECKS:
        raise TableArgumentError("table", f"must be one of {', '.join(CHECKS)}", f"got {table!r}")
    texts = [name for name, column in SCHEMAS[table].items() if column.kind in ("text", "label")]
    return CHECKS[table](read_frame(path, texts=texts))


def read_frame(path: str | Path, *, texts: Collection[str] = ()) -> pd.DataFrame:
    """Read any .csv, .jsonl or .parquet file, unchecked.

    A csv column becomes numbers only if it is not one of `texts` and each of its cells
    is written as Python writes that number, so that ids such as 007 keep their zeros.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(pd.DataFrame({"id": ["007", "8"], "words": [12, 9]}), f"{folder}/mine.csv")
    ...     read_frame(path)
        id  words
    0  007     12
    1    8      9
    """
    path = Path(path)
    if _ending(path) == ".parquet":
        return pd.read_parquet(path)
    try:
        # a byte order mark is how spreadsheets sign their csv files
        text = path.read_bytes().decode("utf-8", errors="surrogatepass").removeprefix("\ufeff")
        if _ending(path) == ".jsonl":
            return _frame([_object(line) for line in text.split("\n") if line.strip()])
    except ValueError as error:
        raise TableError(f"{path}: not a table in UTF-8: {error}.") from None
    return _from_cells(_csv_rows(io.StringIO(text, newline=""), path), texts)


def write(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as .csv, .jsonl or .parquet, by the ending of `path`; folders are made.

    Returns
    -------
    Path

    Raises
    ------
    TableError
        If the ending is another one.

    Examples
    --------
    >>> write(pd.DataFrame({"item": ["a"]}), "items.xlsx")
    Traceback (most recent call last):
        ...
    calib.table.TableError: a table's file must end in .csv, .jsonl or .parquet, but got 'items.xlsx'.
    """
    path = Path(path)
    ending = _ending(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if ending == ".parquet":
        try:
            frame.to_parquet(path, index=False)
        except UnicodeEncodeError:
            path.unlink(missing_ok=True)
            raise TableError(f"a parquet file holds no half characters; write {path.stem}.csv or .jsonl.") from None
        return path
    with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        if ending == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _plain_rows(frame))
        else:
            writer = csv.writer(file, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
            writer.writerow(frame.columns)
            writer.writerows([_cell(value) for value in row.values()] for row in _plain_rows(frame))
    return path


def _ending(path: Path) -> str:
    if path.suffix not in (".csv", ".jsonl", ".parquet"):
        raise TableError(f"a table's file must end in .csv, .jsonl or .parquet, but got {str(path)!r}.")
    return path.suffix


def _object(line: str) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"each line must be a JSON object, but one is {line.strip()[:40]!r}")
    return value


def _csv_rows(file: Iterable[str], path: Path) -> list[list[str]]:
    limit = csv.field_size_limit(2**31 - 1)  # texts may be longer than the module's default of 128 kB
    try:
        rows = [row for row in csv.reader(file, strict=True) if row]
    except csv.Error as error:
        raise TableError(f"{path}: not a csv table: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise TableError(f"{path}: must have a header line, but the file is empty.")
    again = [name for name in rows[0] if rows[0].count(name) > 1]
    if again:
        raise TableError(f"{path}: column `{again[0]}` must be there once, but is there more than once.")
    for number, row in enumerate(rows[1:]):
        if len(row) != len(rows[0]):
            raise TableError(f"{path}: row {number}: must have {len(rows[0])} cells, but got {len(row)}.")
    return rows


def _from_cells(rows: list[list[str]], texts: Collection[str]) -> pd.DataFrame:
    columns = {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
    return _frame({name: cells if name in texts else _guess(cells) for name, cells in columns.items()})


def _frame(values: Any) -> pd.DataFrame:
    """A frame whose texts stay Python strings and whose numbers are numbers."""
    frame = pd.DataFrame(values, dtype=object)
    texts = [name for name in frame if any(isinstance(value, str) for value in frame[name])]
    numbers = {name: frame[name].infer_objects() for name in frame if name not in texts}
    return frame.assign(**numbers)


def _guess(cells: list[str]) -> list[Any]:
    for kind in (int, float, json.loads):
        try:
            values = [math.nan if cell == "" else kind(cell) for cell in cells]
        except ValueError:
            continue
        lists = all(isinstance(value, list) for value in values)
        if lists if kind is json.loads else [_cell(value) for value in values] == cells:
            return values
    return cells


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return json.dumps(_plain(value))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _plain_rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows as plain Python values; NaN as None, which is what JSON can hold."""
    for row in frame.astype(object).to_dict(orient="records"):
        yield {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value
