"""Frames in memory as a log: those of a tool's records, and tables with a column for each metric."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from calib.adapters.row import Row, first_of, score_and_status, text_of, why_missing
from calib.adapters.traces import records_in
from calib.table import TableError

_SCORES = ("/score", "/value", "/rating")
_REASONS = ("/explanation", "/rationale", "/justification", "/error_message")
PAIRS = (("score", "explanation"), ("score", "justification"), ("rating", "rationale"), ("value", "rationale"))
_INPUTS = ("prompt", "request", "inputs", "input", "instruction")
_OUTPUTS = ("response", "outputs", "output", "prediction")
_REFERENCES = ("reference", "expected_response", "ground_truth", "target")
_IDS = ("item", "id", "request_id", "trace_id")


def written(table: pd.DataFrame, folder: str) -> Path:
    """A frame as a file of lines, one for each row; a named index is a column."""
    if table.index.names != [None]:
        table = table.reset_index(drop=set(table.index.names) <= set(table.columns))
    if not table.columns.is_unique:
        again = table.columns[table.columns.duplicated()][0]
        raise TableError(f"the frame: column `{again}` must be there once, but is there more than once.")
    path = Path(folder, "frame.jsonl")
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for row in table.astype(object).to_dict("records"):
            gaps = {name for name, cell in row.items() if pd.api.types.is_scalar(cell) and pd.isna(cell)}
            cells = {str(name): None if name in gaps else cell for name, cell in row.items()}
            try:
                file.write(json.dumps(cells, default=_plain) + "\n")
            except (TypeError, ValueError, RecursionError) as error:
                raise TableError(f"the frame: a row is not to be written as JSON: {error}.") from None
    return path


def _plain(value: Any) -> Any:
    """An array, a number of numpy or an object of a tool as JSON has it."""
    for name in ("tolist", "to_dictionary", "to_dict", "model_dump", "isoformat"):
        if callable(say := getattr(value, name, None)):
            return say()
    return str(value)


# --- tables of Vertex AI, Databricks and mlflow.evaluate: `<metric>/score` and, of a judge's, `<metric>/explanation` --


def read_metrics_table(path: Path) -> Iterator[Row]:
    """One row per metric and row; a metric without a column of reasons was computed, and is its own rater."""
    records = records_in(path)
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = [name for name in names if name.endswith(_SCORES)]
    if not columns:
        raise TableError(f"{path.name}: has no column `<metric>/score`, but {', '.join(names)[:200]}.")
    computed = [name for name in columns if not any(name.rpartition("/")[0] + end in names for end in _REASONS)]
    if computed:
        such = ", ".join(name.rpartition("/")[0] for name in computed)
        message = f"{such} have no column of reasons and count as computed: their rows have the metric's name as rater."
        warnings.warn(f"not_judged: {message}", stacklevel=2)
    for record in records:
        source, output, reference = (text_of(first_of(record, keys)) for keys in (_INPUTS, _OUTPUTS, _REFERENCES))
        for column in columns:
            metric = column.rpartition("/")[0]
            reply, error = (first_of(record, [metric + end for end in ends]) for ends in (_REASONS[:3], _REASONS[3:]))
            criterion, missing = metric.rpartition("llm_judged/")[2], why_missing(text_of(reply))
            yield Row(
                record, criterion,
                *(score_and_status(None, "failed") if error else score_and_status(record.get(column), missing)),
                item=text_of(first_of(record, _IDS)), rater=criterion if column in computed else None,
                run="metrics_table", source=source, output=output, reference=reference, reply=text_of(reply),
                is_check=column in computed,
            )  # fmt: skip
