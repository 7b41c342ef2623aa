"""Large files column by column: those that are plain are read at once, the others are for `files` to read with care."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np
import pandas as pd

DEEPEST = 100  # lists within lists

Columns = dict[str, Any]  # arrays of objects by name
_PIECE = 1 << 18  # bytes of jsonl that are objects at one time: few enough for a processor's cache
# a key with an escaped ASCII letter or slash
_ESCAPED_KEY = re.compile(rb'\\(?:u00[2-7][0-9A-Fa-f]|/)[^"]*"\s*:')
_MARK = "\ufeff".encode()  # a byte order mark, which pandas takes away where it is a text, too


def csv_columns(data: bytes) -> Columns | None:
    r"""The cells of a csv file as texts; None where it is not plain.

    Plain is what all readers of csv take alike: a header and two columns at least, as many cells in each line, no
    empty line, quotes around whole cells only, no line break of one ``\r``.

    Examples
    --------
    >>> {name: cells.tolist() for name, cells in csv_columns(b"item,score\n007,3\n8,4\n").items()}
    {'item': ['007', '8'], 'score': ['3', '4']}
    >>> csv_columns(b"item,score\n007\n") is None
    True
    """
    ends = _ends_of_lines(data)
    if ends is None:
        return None
    begin, n, n_commas = ends
    try:
        head = data[:begin].decode("utf-8", errors="surrogatepass")
        names = next(csv.reader(io.StringIO(head, newline=""), strict=True))
        if len(names) < 2 or len(set(names)) < len(names) or "'" in head or n_commas != n * (len(names) - 1):
            return None
        # pandas refuses a line with more cells than the first, and one with fewer would lack commas
        as_written: dict[str, Any] = {"dtype": object, "na_filter": False, "skip_blank_lines": False}
        as_written |= {"encoding": "utf-8", "encoding_errors": "surrogatepass", "low_memory": False}
        frame = pd.read_csv(io.BytesIO(data[begin:]), header=None, **as_written)
    except (ValueError, csv.Error):
        return None
    if frame.shape != (n, len(names)):
        return None
    return {name: frame[place].to_numpy(dtype=object) for place, name in enumerate(names)}


def labels_of(texts: Any) -> pd.Categorical:
    """A categorical of texts, its categories in their order.

    Examples
    --------
    >>> labels_of(np.array(["b", "a", "b"], dtype=object))
    ['b', 'a', 'b']
    Categories (2, object): ['a', 'b']
    """
    codes, distinct = pd.factorize(texts)
    order = sorted(range(len(distinct)), key=distinct.tolist().__getitem__)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return pd.Categorical.from_codes(place[codes], categories=pd.Index(distinct[order], dtype=object))


def _ends_of_lines(data: bytes) -> tuple[int, int, int] | None:
    """Where the second line of a csv file begins, and how many lines and commas there are from there on.

    Those within quotes do not count. None where the file is not plain; of a file without quotes the commas of all
    lines together are counted, for of lines that are too long pandas says so.
    """
    begin = data.find(b"\n") + 1
    if not begin or b"\0" in data or data.count(b"\r") != data.count(b"\r\n") or _MARK in data:
        return None
    if b'"' not in data:
        n_lines = data.count(b"\n", begin) + (not data.endswith(b"\n"))
        return None if begin == len(data) else (begin, n_lines, data.count(b",", begin))
    signs = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
    quotes = np.flatnonzero(signs == ord('"'))
    if len(quotes) % 2:
        return None
    # each quote opens or closes a cell, or is one of two that stand for one
    beside = np.isin(np.arange(256), [ord(sign) for sign in ',\r\n"'])
    opened, closed = quotes[::2], quotes[1::2]
    before = np.where(opened > 0, signs[opened - 1], ord("\n"))
    if not (beside[before].all() and beside[signs[closed + 1]].all()):
        return None
    places = (np.flatnonzero(signs == ord(sign)) for sign in "\n,")
    # what has an odd number of quotes before it stands within them
    lines, commas = (each[np.searchsorted(quotes, each) % 2 == 0] for each in places)
    each = np.diff(np.searchsorted(commas, lines), prepend=0)
    if len(lines) < 2 or (each != each[0]).any():
        return None
    return int(lines[0]) + 1, len(lines) - 1, len(commas) - int(each[0])


# --- jsonl ------------------------------------------------------------------------------------------------------


def jsonl_columns(data: bytes, labels: Collection[str] = ()) -> Columns | None:
    r"""The values of a jsonl file, those of `labels` that are texts as categoricals; None where it is not plain.

    Plain is what has one object in each line, all with the same names, and nothing that readers of JSON take in more
    than one way: NaN, half a character, a number beyond all floats, lists within too many lists.

    Examples
    --------
    >>> columns = jsonl_columns(b'{"item": "a", "score": 3}\n{"item": "b", "score": null}\n')
    >>> {name: values.tolist() for name, values in columns.items()}
    {'item': ['a', 'b'], 'score': [3.0, nan]}
    >>> jsonl_columns(b'{"item": "a"}\n{"score": 3}\n') is None
    True
    """
    texts: dict[str, str] = {}
    try:
        first = msgspec.json.decode(data[: data.find(b"\n") + 1 or len(data)])
        if not isinstance(first, dict) or not first:
            return None
        parts, kinds = {name: list[Any]() for name in first}, {name: set[type]() for name in first}
        for rows in _rows_by_piece(data, [*first]):
            for name, values in zip(first, zip(*map(msgspec.structs.astuple, rows), strict=True), strict=True):
                here = set(map(type, values))
                kinds[name] |= here
                # a text that comes again is kept once
                again = here == {str} and 2 * len(set(values)) <= len(values)
                kept = map(texts.setdefault, values, values) if again else values
                parts[name].append(np.fromiter(kept, float if here == {float} else object, len(rows)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    columns = {}
    for name in first:
        if name in labels and kinds[name] != {str}:
            return None  # they are told apart by who takes them one by one
        whole = np.concatenate(parts[name])
        lists = [cell for cell in whole if isinstance(cell, list)] if list in kinds[name] else []
        if dict in kinds[name] or depth_of(lists) > DEEPEST or any(isinstance(x, dict) for cell in lists for x in cell):
            return None  # keys of objects may be there twice
        if name in labels:
            whole = labels_of(whole)
        elif whole.dtype == object and str not in kinds[name]:
            whole = pd.Series(whole, dtype=object).infer_objects().to_numpy()
        columns[name] = whole
    return columns


def _rows_by_piece(data: bytes, names: list[str]) -> Iterator[list[Any]]:
    """Some lines at a time as objects without dicts of their own; a ValueError where a line is not one object."""
    called = {f"f{place}": name for place, name in enumerate(names)}
    row = msgspec.defstruct(
        "Row", [(name, Any) for name in called], rename=called, forbid_unknown_fields=True, gc=False
    )
    keys = [json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass") for name in names]
    lines, end = msgspec.json.Decoder(row), 0
    while end < len(data):
        begin, end = end, data.find(b"\n", end + _PIECE) + 1 or len(data)
        piece = data[begin:end].rstrip(b"\r\n")
        rows = lines.decode_lines(piece)
        # only between two objects does one line end so and the next begin so
        breaks = piece.count(b"}\n{") + piece.count(b"}\r\n{")
        if not breaks == piece.count(b"\n") == len(rows) - 1 or piece[:1] + piece[-1:] != b"{}":
            raise ValueError("each line must be one object")
        # a key that is there twice is refused; it may be spelled with escapes, and a value may look like a key
        if any(piece.count(key) != len(rows) for key in keys) or _ESCAPED_KEY.search(piece):
            raise ValueError("each key must be there once")
        yield rows


def depth_of(value: Any) -> int:
    """How many lists and objects of JSON are within each other.

    Examples
    --------
    >>> depth_of([{"a": [1]}, 2])
    3
    """
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, list | dict)]:
        depth, level = depth + 1, [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
    return depth
