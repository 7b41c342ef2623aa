"""Checks of the tables of items, ratings and scores; what was checked and not written to since passes at once."""

from __future__ import annotations

import functools
import weakref
import zlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib.core.check import warn
from calib.table.columns import labels_of
from calib.table.frames import pandas_of
from calib.table.messages import Conversation, MessageError, conversation_in
from calib.table.schema import (
    FARTHEST,
    METHODS,
    OFF_ANY_SCALE,
    ORDERS,
    SCHEMAS,
    SCORE_KEY,
    STATUSES,
    CellError,
    TableError,
    parse_scale,
)

Check = Callable[[Any], pd.DataFrame]


class _CheckedFrame(NamedTuple):
    """A frame that passed a check: which table it is, and the check sums of its columns."""

    frame: weakref.ref[pd.DataFrame]
    table: str
    sums: list[tuple[Any, ...]]


_CHECKED: dict[int, _CheckedFrame] = {}


def is_checked(frame: pd.DataFrame, table: str) -> bool:
    """Whether a check returned this very frame, and nobody has written to it since.

    Examples
    --------
    >>> scores = check_scores(pd.DataFrame({"item": ["a"], "criterion": "fluency", "rater": "ann", "score": 3.0}))
    >>> is_checked(scores, "scores"), is_checked(scores.head(), "scores")
    (True, False)
    """
    before = _CHECKED.get(id(frame))
    if before is None or before.table != table:
        return False
    same = before.frame() is frame
    plain = same and isinstance(frame.index, pd.RangeIndex) and frame.index.name is None and frame.columns.is_unique
    return plain and before.sums == _sums_of(frame, table)


def _sums_of(frame: pd.DataFrame, table: str) -> list[tuple[Any, ...]]:
    """Check sums of the columns of the schema: a thirtieth of the work of looking at each value."""
    sums: list[tuple[Any, ...]] = [(len(frame),)]
    for name in filter(SCHEMAS[table].__contains__, frame.columns):
        values = frame[name].array
        if isinstance(values, pd.Categorical):
            names = hash(tuple(values.categories.tolist()))
            sums.append((name, names, zlib.crc32(np.ascontiguousarray(values.codes).data)))
        else:
            data = np.asarray(values)
            total = hash(tuple(data.tolist())) if data.dtype.hasobject else zlib.crc32(np.ascontiguousarray(data).data)
            sums.append((name, str(data.dtype), total))
    return sums


def _once(table: str) -> Callable[[Check], Check]:
    """Skip the check of a frame that a check returned and nobody changed; read a path first."""

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def checked(frame: Any) -> pd.DataFrame:
            if isinstance(frame, str | Path):
                from calib.table.files import read

                return read(frame, table)
            frame = pandas_of(frame)
            again = is_checked(frame, table)
            out = frame.copy() if again else check(frame)
            sums, key = _CHECKED[id(frame)].sums if again else _sums_of(out, table), id(out)
            gone = functools.partial(_CHECKED.pop, key)  # the record goes with the frame
            _CHECKED[key] = _CheckedFrame(weakref.ref(out, gone), table, sums)
            return out

        return checked

    return decorate


@_once("items")
def check_items(frame: Any) -> pd.DataFrame:
    """A checked copy of a table of items.

    Parameters
    ----------
    frame : DataFrame or path
        With a column `item` of unique, non-empty ids; `source`, `output`, `group`,
        `system`, `reference` where there are such, of pairs of outputs `output_a`,
        `output_b`, `system_a`, `system_b`; of conversations `messages`, a list of dicts with role
        and content, tool calls and results (or the same as JSON), which becomes JSON of one form.

    Examples
    --------
    >>> check_items(pd.DataFrame({"item": ["a", "a"], "output": ["x", "y"]}))
    Traceback (most recent call last):
        ...
    calib.table.schema.TableError: items: column `item`, row 1: must be unique, but 'a' was there before.
    """
    out = _check_type(frame, "items")
    _refuse_row(out["item"], "items", out["item"].str.len() > 0, "must not be empty")
    whole = out["item"].map(lambda text: text.isascii() or text.encode("utf-8", "ignore").decode() == text)
    _refuse_row(out["item"], "items", whole, "must not hold half a character, which few programs can take")
    _unique(out, "items", ("item",))
    if "messages" in out:
        conversations = conversations_of(out)
        texts = ["" if one is None else one.text for one in conversations]
        out["messages"] = pd.Series(texts, index=out.index, dtype=object)
        open_calls = {i: len(one.unanswered) for i, one in zip(out["item"], conversations, strict=True) if one}
        if unanswered := {item: n for item, n in open_calls.items() if n}:
            where = f"{len(unanswered)} items (first: {next(iter(unanswered))!r})"
            warn(f"calls_unanswered: {sum(unanswered.values())} tool calls in the messages of {where} have no result.")
    return out


def conversations_of(items: pd.DataFrame, *, limited: bool = True) -> list[Conversation | None]:
    """The conversation of each item, None where it has none; an error names the item; `limited` refuses long ones."""
    conversations = list[Conversation | None]()
    for row, (item, cell) in enumerate(zip(items["item"], items["messages"], strict=True)):
        is_empty = (pd.api.types.is_scalar(cell) and pd.isna(cell)) or (isinstance(cell, str) and not cell)
        try:
            conversations.append(None if is_empty else conversation_in(cell, limited=limited))
        except MessageError as error:
            raise CellError("items", "messages", row, f"item {str(item)!r}: {error}") from None
    return conversations


def has_answers(frame: pd.DataFrame) -> bool:
    """Whether a table is what people answered on a page to label with.

    Examples
    --------
    >>> has_answers(pd.DataFrame(columns=["item", "criterion", "rater", "score", "status", "position", "page"]))
    True
    """
    return {"item", "criterion", "rater", "score", "status", "position", "page"} <= set(frame)


def has_replies(frame: pd.DataFrame) -> bool:
    """Whether a table is of single replies: it has columns that no table of scores has.

    Examples
    --------
    >>> has_replies(pd.DataFrame({"item": ["a"], "score": [3], "weight": [0.4]}))
    True
    """
    return "weight" in frame or "draw" in frame or has_answers(frame)


@_once("ratings")
def check_ratings(frame: Any) -> pd.DataFrame:
    """A checked copy of a table of ratings, with defaults where columns are absent but `shown_first` and `reply`.

    Parameters
    ----------
    frame : DataFrame or path
        With `item`, `criterion`, `rater`, `score` at least.

    Examples
    --------
    >>> people = pd.DataFrame({"item": ["a"], "criterion": ["fluency"], "rater": ["ann"], "score": [9]})
    >>> check_ratings(people.assign(scale="1|2|3"))
    Traceback (most recent call last):
        ...
    calib.table.schema.CellError: ratings: column `score`, row 0: must lie on the scale '1|2|3', but got 9.0.
    """
    if isinstance(frame, pd.DataFrame) and {"mass", "n_unread"} <= set(frame) and not has_replies(frame):
        raise TableError("ratings: must be ratings, one row per label or draw, but these are scores (of `summarize`).")
    out = _check_type(frame, "ratings")
    if "shown_first" in out:
        _check_member(out["shown_first"], "ratings", (*ORDERS, ""))
        if "draw" not in frame:  # the two orders of a pair are two replies
            out["draw"] = (out["shown_first"] == "b").astype("int64")
        of_draw = [*SCORE_KEY, "run", "draw"]
        again = out.drop_duplicates([*of_draw, "shown_first"]).duplicated(of_draw).reindex(out.index, fill_value=False)
        _refuse_row(out["shown_first"], "ratings", ~again, "must be one within a draw (the two orders are two draws)")
    if "weight" in frame:
        stated = out["method"].isin(["human", "sample", "given"]) | frame["weight"].notna().to_numpy()
        _refuse_row(frame["weight"], "ratings", stated, "must be given for token probabilities")
    has_score = out["score"].notna()
    if (unstated := out["status"] == "").any():
        named = out["status"].cat.add_categories([n for n in ("ok", "unread") if n not in out["status"].cat.categories])
        ok, unread = (named.cat.categories.get_loc(name) for name in ("ok", "unread"))
        codes = np.where(unstated, np.where(has_score, ok, unread), named.cat.codes)
        out["status"] = pd.Categorical.from_codes(codes, categories=named.cat.categories)
    used = out["status"].cat.remove_unused_categories()
    out["status"] = used.cat.reorder_categories(sorted(used.cat.categories))
    _check_member(out["method"], "ratings", METHODS)
    _check_member(out["status"], "ratings", STATUSES)
    _refuse_row(
        out["score"], "ratings", (out["status"] == "ok") == has_score, "must be a number exactly where `status` is 'ok'"
    )
    _refuse_row(out["weight"], "ratings", out["weight"].between(0, 1 + 1e-6), "must lie between 0 and 1")
    _refuse_row(out["draw"], "ratings", out["draw"] >= 0, "must not be negative")
    bounded = ~out["status"].isin(["ambiguous", "unseen"])
    for name in ("low", "high"):
        _refuse_row(
            out[name], "ratings", bounded | out[name].notna(), "must be given where mass is ambiguous or unseen"
        )
    _on_scale(out, "ratings")
    key = (*SCORE_KEY, "run", "draw", "score")
    _unique(out.loc[has_score, list(key)], "ratings", key)
    # the weights of one draw are probabilities of one reply (an unseen row is a bound, not part of the sum)
    counted = out["weight"].where(out["status"].isin(["ok", "off_scale", "ambiguous"]), 0.0)
    draw, _ = first_places(out, (*SCORE_KEY, "run", "draw"))
    total = pd.Series(np.bincount(draw, counted)[draw], index=out.index, name="weight")
    _refuse_row(total.round(6), "ratings", total <= 1 + 1e-6, "must add up to at most 1 within a draw")
    return out


@_once("scores")
def check_scores(frame: Any) -> pd.DataFrame:
    """A checked copy of a table of scores: one row per item, criterion, rater, prompt, method, temperature.

    Parameters
    ----------
    frame : DataFrame or path
        With `item`, `criterion`, `rater`, `score` at least.

    Examples
    --------
    >>> check_scores(pd.DataFrame({"item": ["a"], "criterion": ["fluency"], "score": [3]}))
    Traceback (most recent call last):
        ...
    calib.table.schema.TableError: scores: column `rater` is missing; there are 'item', 'criterion', 'score'.
    """
    out = _check_type(frame, "scores")
    _check_member(out["method"], "scores", METHODS)
    _on_scale(out, "scores")
    _unique(out, "scores", SCORE_KEY)
    return out


CHECKS: dict[str, Check] = {"items": check_items, "ratings": check_ratings, "scores": check_scores}


def _check_type(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    if not isinstance(frame, pd.DataFrame):
        raise TableError(f"{table}: must be a pandas DataFrame, but got {type(frame).__name__}.")
    if indexed := [name for name in frame.index.names if name in SCHEMAS[table] and name not in frame]:
        frame = frame.reset_index(level=indexed)
    again = frame.columns[frame.columns.duplicated()]
    if len(again):
        raise TableError(f"{table}: column `{again[0]}` must be there once, but is there more than once.")
    plain, columns = frame.reset_index(drop=True), dict[Any, Any]()
    for name, column in SCHEMAS[table].items():
        if name in plain:
            values, default = plain[name], "" if name in ("reply", "shown_first") else column.default
            # tables of people and of judges put together have gaps where one of them had no such column
            if not pd.isna(default) and values.isna().any():
                values = values.astype(object).where(values.notna(), default)
            if column.kind == "messages":  # whose rules are about items
                columns[name] = values.astype(object)
                continue
            convert = _check_texts if column.kind in ("text", "label") else _numbers
            columns[name] = convert(values, table, column.kind)
        elif column.required:
            there = ", ".join(repr(str(c)) for c in frame.columns)
            raise TableError(f"{table}: column `{name}` is missing; there are {there}.")
        elif column.default is None:
            continue
        elif column.kind in ("text", "label"):
            names = pd.Index([column.default] if len(plain) else [], dtype=object)
            texts = pd.Categorical.from_codes(np.zeros(len(plain), dtype=np.int8), categories=names)
            columns[name] = pd.Series(texts if column.kind == "label" else texts.astype(object), index=plain.index)
        else:
            kind = "float64" if column.kind == "number" else "int64"
            columns[name] = pd.Series(column.default, index=plain.index, dtype=kind)
    for name in plain:
        columns.setdefault(name, plain[name])
    out = pd.DataFrame(columns, index=plain.index, copy=True)
    out.columns = pd.Index([*columns], dtype=frame.columns.dtype, name=frame.columns.name)
    out.attrs = deepcopy(frame.attrs)
    return out


def _numbers(values: pd.Series, table: str, kind: str) -> pd.Series:
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf":
        numbers = values.astype(float)
    else:
        plain = values.astype(object)
        numbers = pd.to_numeric(plain.where(values.notna(), np.nan), errors="coerce").astype(float)
        _refuse_row(values, table, numbers.notna() | values.isna() | (plain == ""), "must be a number")
    if (np.abs(numbers.to_numpy()) > FARTHEST).any():
        _refuse_row(values, table, ~np.isinf(numbers), "must be finite")
        _refuse_row(values, table, ~(numbers.abs() > FARTHEST), OFF_ANY_SCALE)
    if kind == "number":
        return numbers
    _refuse_row(values, table, numbers % 1 == 0, "must be a whole number")
    return numbers.astype("int64")


def _check_texts(values: pd.Series, table: str, kind: str) -> pd.Series:
    data = values.array
    names = data.categories.astype(object) if kind == "label" and isinstance(data, pd.Categorical) else None
    if names is not None and pd.api.types.infer_dtype(names, skipna=False) in ("string", "empty"):
        if (data.codes < 0).any():
            _refuse_row(values, table, values.notna(), "must not be missing")
        return pd.Series(pd.Categorical.from_codes(data.codes, categories=names), index=values.index)
    # texts stay Python strings: they may hold what Arrow cannot, such as a lone surrogate
    plain = values if values.dtype == object else values.astype(object)
    if pd.api.types.infer_dtype(plain, skipna=False) != "string":
        _refuse_row(values, table, values.notna(), "must not be missing")
        # 7.0, which a gap in the file made of an id 7, is 7 again
        texts = [str(int(value) if isinstance(value, float) and value.is_integer() else value) for value in values]
        plain = pd.Series(texts, index=values.index, dtype=object)
    return plain if kind == "text" else pd.Series(labels_of(plain.to_numpy()), index=plain.index)


def _refuse_row(values: pd.Series, table: str, good: pd.Series, rule: str) -> None:
    """Refuse the first value of a column that is not good."""
    if not good.all():
        row = int(np.argmin(good.to_numpy(dtype=bool)))
        value = values.iloc[row]
        value = value.item() if hasattr(value, "item") else value
        got = "" if rule == "must not be missing" else f", but got {value!r}"
        raise CellError(table, str(values.name), row, f"{rule}{got}")


def _check_member(values: pd.Series, table: str, options: tuple[str, ...]) -> None:
    _refuse_row(values, table, values.isin(options), f"must be one of {', '.join(options)}")


def _on_scale(frame: pd.DataFrame, table: str) -> None:
    for text, rows in frame.groupby("scale", observed=True):
        try:
            scale = parse_scale(str(text))
        except TableError as error:
            raise TableError(f"{table}: column `scale`, row {rows.index[0]}: {error}") from None
        if scale is not None:
            inside = pd.Series(True, index=frame.index)
            inside.loc[rows.index] = rows["score"].between(scale.low, scale.high) | rows["score"].isna()
            _refuse_row(frame["score"], table, inside, f"must lie on the scale {text!r}")


def _unique(frame: pd.DataFrame, table: str, key: tuple[str, ...]) -> None:
    _, begins = first_places(frame, key)
    if len(begins) < len(frame):
        again = np.ones(len(frame), dtype=bool)
        again[begins] = False
        row = frame.index[again][0]
        whose = ", ".join(repr(str(frame[name][row])) for name in key if name in ("item", "criterion", "rater"))
        rule = "must be unique" if len(key) == 1 else f"must be unique over {', '.join(key)}"
        raise TableError(f"{table}: column `{key[0]}`, row {row}: {rule}, but {whose} was there before.")


def first_places(table: pd.DataFrame, names: Sequence[str]) -> tuple[Any, Any]:
    """A number for each row, one for all that agree in these columns; and the first row of each number.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["b", "a", "b"], "draw": [0, 0, 0]})
    >>> first_places(table, ["item", "draw"])
    (array([0, 1, 0]), array([0, 1]))
    """
    whole, width = np.zeros(len(table), dtype=np.int64), 1
    for name in names:
        values = table[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            codes, n = values.cat.codes.to_numpy(np.int64), len(values.cat.categories)
        else:
            codes, distinct = pd.factorize(values.to_numpy(), use_na_sentinel=False)
            n = len(distinct)
        if width * n >= 2**62:
            whole = pd.factorize(whole)[0]
            width = int(whole.max(initial=0)) + 1
        whole, width = whole * n + codes, width * n
    # rows that are alike mostly stand together: only the first of each run is looked at
    runs = np.flatnonzero(np.append(True, whole[1:] != whole[:-1])) if len(whole) else np.empty(0, dtype=np.intp)
    number = pd.factorize(whole[runs])[0]
    begins = np.empty(int(number.max(initial=-1)) + 1, dtype=np.intp)
    begins[number[::-1]] = runs[::-1]
    return np.repeat(number, np.diff(np.append(runs, len(whole)))), begins
