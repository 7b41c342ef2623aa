"""Frames of other libraries as frames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from calib.core.text import needed


def pandas_of(thing: Any) -> Any:
    """A frame of pandas as it is, one of polars or Arrow as pandas has it; anything else as it came.

    What a LazyFrame of polars stands for is computed.

    Examples
    --------
    >>> import polars as pl
    >>> pandas_of(pl.LazyFrame({"item": ["a", "b"], "score": [3, None]})).to_dict("list"), pandas_of("a.csv")
    ({'item': ['a', 'b'], 'score': [3.0, nan]}, 'a.csv')
    """
    if isinstance(thing, pd.DataFrame) or not is_frame(thing):
        return thing
    pa = needed("pyarrow", extra="parquet", use="frames of other libraries than pandas")
    return from_arrow(pa.table(collected(thing)))


def without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns of objects in place of categories."""
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))


def is_frame(thing: Any) -> bool:
    """Whether it is a frame, whosever."""
    arrow = hasattr(thing, "__arrow_c_stream__") and hasattr(thing, "columns")
    return isinstance(thing, pd.DataFrame) or arrow or _is_lazy(thing)


def collected(thing: Any) -> Any:
    """What a LazyFrame of polars stands for; anything else as it came."""
    return thing.collect() if _is_lazy(thing) else thing


def _is_lazy(thing: Any) -> bool:
    return type(thing).__name__ == "LazyFrame" and hasattr(thing, "collect")


def from_arrow(table: Any) -> pd.DataFrame:
    """An Arrow table as a frame: whole numbers with gaps stay whole, as ids must; small ones become floats."""
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True, ignore_metadata=True)
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if str(kind).startswith(("int", "uint", "decimal")) and table.column_names.count(name) == 1:
            small = all(value is None or value != value or abs(value) <= 2**53 for value in frame[name])  # noqa: PLR0124
            if small and frame[name].dtype == object:
                frame[name] = frame[name].astype(float)
    return frame
