"""Another tool's log as calib's tables: whose it is, and what is read of it."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from calib.adapters import benchmarks, evaluations, frames, inspect_ai, otel, results, traces
from calib.adapters.row import Sign, Tool, head_of
from calib.adapters.tables import LogOptions, items_of, ratings_of, readings_of, scores_of
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.table import TableArgumentError, TableError
from calib.table.files import MOST_BYTES, within_limit
from calib.table.frames import pandas_of

_JSON, _LINES = (".json", ".jsonl"), (".jsonl",)
_OUTPUTS = (*_JSON, ".yaml", ".yml", ".html", ".xml", ".txt")  # of promptfoo, which also writes .csv


def _first_line(*texts: str, endings: tuple[str, ...] = (".csv",)) -> Sign:
    return Sign(texts, endings, first_line=True)


TOOLS = {
    "deepeval": Tool((Sign(('"testCases"',), (".json",)),), evaluations.read_deepeval,
                     step=0.1),  # G-Eval answers 0 to 10, divided by 10
    "inspect_ai": Tool((Sign((), (".eval",), begins="PK"), Sign(('"eval_id"', '"task"'), (".json",))),
                       inspect_ai.read_inspect),
    "promptfoo": Tool((_first_line("Status,Score,Named Scores"), Sign(('"gradingResult"',), _OUTPUTS),
                       Sign(('"evalId"', '"promptfooVersion"'), _OUTPUTS)), evaluations.read_promptfoo,
                      lossy=(".csv",)),  # rounded, and without the marks of errors
    "lm_eval": Tool((Sign(('"doc_id"', '"filtered_resps"'), _LINES),), benchmarks.read_lm_eval,
                    benchmarks.read_lm_eval_replies),
    "ragas": Tool(tuple(_first_line("user_input", name, endings=(".csv", ".jsonl"))
                        for name in ("response", "retrieved_contexts", "reference")), results.read_ragas),
    "mlflow": Tool((Sign(('"assessments"', "trace_id"), _JSON),), results.read_mlflow),
    "opik": Tool((Sign(('"test_results"', '"test_case"'), (".json",)),
                  Sign(('"experiment"', '"feedback_scores"'), (".json",))), evaluations.read_opik, step=0.1),
    "langsmith": Tool((_first_line("feedback.", "example_id"), Sign(('"evaluation_results"',), _JSON)),
                      results.read_langsmith),
    "braintrust": Tool((Sign(('"input"', '"output"', '"expected"', '"scores"'), _JSON,
                             without='"evaluation_results"'),), results.read_braintrust),
    "openai_batch": Tool((Sign(('"custom_id"', '"response"'), _LINES),), benchmarks.read_batch),
    "openai_evals": Tool((Sign((), _JSON, begins='{"spec"'),), benchmarks.read_evals),
    "helm": Tool((Sign(('"instance_id"', '"stats"'), (".json",), begins="["),), benchmarks.read_helm),
    "langfuse": Tool((Sign(('"dataType"', '"source"'), _JSON), Sign(('"data_type"', '"string_value"'), _JSON),
                      _first_line("dataType", "stringValue"), _first_line("data_type", "string_value")),
                     traces.read_langfuse),
    "phoenix": Tool((Sign(('"annotator_kind"',), _JSON), _first_line("annotator_kind")), traces.read_phoenix),
    "opentelemetry": Tool((Sign(('"resourceLogs"',), _JSON), Sign(('"resourceSpans"',), _JSON)), otel.read_otel),
    # a score and its reason: a user's own table may have the first
    "metrics_table": Tool(tuple(_first_line(f"/{score}{end}", f"/{reason}{end}", endings=(ending,))
                                for score, reason in frames.PAIRS
                                for ending, end in ((".csv", ""), (".jsonl", '":'))), frames.read_metrics_table),
}  # fmt: skip
_CALLED = {
    "inspect": "inspect_ai", "lm-eval": "lm_eval", "openai": "openai_batch", "otel": "opentelemetry",
    "vertex": "metrics_table", "databricks": "metrics_table",
}  # fmt: skip


def read_log(
    path: Any,
    *,
    tool: str = "auto",
    system: str | None = None,
    item: str | None = None,
    rater: str | None = None,
    scale: str | Mapping[str, str] | None = None,
    texts: bool = False,
    max_bytes: float = MOST_BYTES,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items and ratings from what another evaluation tool wrote.

    A judge's reply that was no score keeps its row, with a status in place of a number,
    however the tool wrote it: as a 0, as NaN, or not at all.

    Parameters
    ----------
    path : path, sequence of path, or DataFrame
        A log, several of one tool, or a folder of them; or what a tool returned as a frame of
        pandas, polars or Arrow.
    tool : str, default "auto"
        Who wrote it: "deepeval", "inspect_ai", "promptfoo", "lm_eval", "ragas", "mlflow",
        "opik", "langsmith", "braintrust", "openai_batch", "openai_evals", "helm", "langfuse",
        "phoenix", "opentelemetry" (`gen_ai.evaluation.result`) or "metrics_table" (Vertex AI,
        Databricks); "auto" looks at what the file holds.
    system, item, rater : str, optional
        Where the log names who wrote an output, the output's id, and the judge: a dotted path
        in the tool's own record of an output, such as ``"metadata.system"``; ``"file"`` is
        the file's name without its ending. For `system` and `rater` also a name itself.
        Default: what the tool itself says; without ids, prints of the texts are ids.
    scale : str or dict of str, optional
        The scale, ``"1|2|3|4|5"`` or ``"0..1"``, of words worst first (``"poor|good|excellent"``,
        ``"no=0|yes=1"``), or that of each criterion. Default: the one that the tool documents, or
        none; it is never guessed from the scores.
    texts : bool, default False
        Keep inputs, outputs, references and conversations (`messages`) in the items, and replies in the ratings.
    max_bytes : float, default 2e9
        A longer file is refused, as is a device or a pipe.

    Returns
    -------
    items, ratings : DataFrame
        Of tools that keep a judge's expectation without its distribution (DeepEval, Opik)
        the second is a table of scores, and says what became of each reply by `status`.
        People's feedback (MLflow, Opik, Langfuse, Phoenix) is rows of the method "human", and
        a program's has the check's own name as rater, whatever `rater` says. What the user
        noted of a sample (Inspect AI, DeepEval, promptfoo, LangSmith, Braintrust) is columns
        of the items.

    Warns
    -----
    UserWarning
        If repeats hold different outputs (each is then an item, ``id#k``), a run ended before
        its end, checks that are no judge are among the scores, another model answered than was
        asked for, words are on no scale, or scores off the one that the tool documents.

    Notes
    -----
    Repeats of a judge's call on one output are draws of one rating; the output's text tells.
    The system's name joins an id that does not hold it, so that outputs of two systems to one
    input are two items; the input is their `group`.

    Examples
    --------
    >>> import json, tempfile
    >>> rows = [{"input": "Why?", "output": "So.", "expected": None, "scores": {"tone": s}} for s in (0.5, 0.75)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "results.json")
    ...     _ = log.write_text(json.dumps(rows))
    ...     items, ratings = read_log(log, system="v2", rater="gpt-4o")
    >>> len(items), ratings["draw"].tolist(), ratings["score"].tolist()
    (1, [0, 1], [0.5, 0.75])
    """
    options = LogOptions(system, item, rater, scale, texts, tool)
    readings, step = log_readings(path, options, max_bytes=max_bytes)
    return items_of(readings), ratings_of(readings) if step is None else scores_of(readings, step)


def log_readings(path: Any, options: LogOptions, *, max_bytes: float = MOST_BYTES) -> tuple[pd.DataFrame, float | None]:
    """The readings in a log, one row each, before they become tables; and the step of scores that are expectations."""
    if isinstance(frame := pandas_of(path), pd.DataFrame):
        with tempfile.TemporaryDirectory() as place:
            file = frames.written(frame, place)
            return log_readings(file, options, max_bytes=math.inf)
    try:
        named = [Path(one) for one in ([path] if isinstance(path, str | os.PathLike) else path)]
    except TypeError:
        rule = "must be a path, several paths, or one frame (put several together)"
        raise ArgumentError("path", rule, f"got {type(path).__name__}") from None
    files: list[Path] = []
    for here in named:
        if not here.exists():
            raise FileNotFoundError(f"no log at {printable(str(here))}.")
        files += sorted(filter(Path.is_file, here.rglob("*"))) if here.is_dir() else [within_limit(here, max_bytes)]
    if not files:
        raise ArgumentError("path", "must name a log, or a folder that holds one", f"got {path!r}")
    folder = any(one.is_dir() for one in named)
    reader = _reader_of(files, options.tool, folder=folder)
    if len(files) > 1:  # of a folder those that are the tool's and that one should read; a file that was named is read
        read = [file for file in files if file in named or reader.sniff(file.name, head_of(file))]
        if not read:
            raise TableError(f"no log of {options.tool} among {', '.join(file.name for file in files[:5])}.")
        whole = [file for file in read if file.suffix not in reader.lossy]
        files = whole if folder and whole else read
    stems = [file.stem for file in files]
    if options.system == "file" and len(set(stems)) < len(stems):
        twice = next(stem for stem in stems if stems.count(stem) > 1)
        raise ArgumentError("system", "'file' must be one name a file", f"two of them are called {twice!r}")
    # where a model under test is the judge, the harness kept its replies
    read_rows = reader.read_replies if options.rater is not None and reader.read_replies else reader.read
    readings = readings_of([(file, read_rows(within_limit(file, max_bytes))) for file in files], options)
    return readings, reader.step


def tool_of(path: Path) -> str | None:
    """Whose log a file is, or a folder holds; None where it is no tool's, or there are several."""
    files = path.rglob("*") if path.is_dir() else [path]
    tools = {name for file in files if file.is_file() for name in _tools_of(file)}
    return tools.pop() if len(tools) == 1 else None


def _tools_of(file: Path) -> list[str]:
    head = head_of(file)
    return [name for name, tool in TOOLS.items() if tool.sniff(file.name, head)]


def _reader_of(files: Sequence[Path], tool: str, *, folder: bool) -> Tool:
    """The reader that the user names, or the one that knows the files."""
    if (name := _CALLED.get(tool, tool)) in TOOLS:
        return TOOLS[name]
    if tool != "auto":
        raise ArgumentError("tool", f"must be 'auto' or one of {', '.join(TOOLS)}", f"got {tool!r}")
    readers = {file: _tools_of(file) for file in files}
    tools = {names[0] for names in readers.values() if names}
    if len(tools) > 1:
        which = ", ".join(f"{file.name} ({names[0]})" for file, names in readers.items() if names)
        raise TableError(f"logs of several tools cannot be read at once: {which}.")
    if not tools or (not folder and not all(readers.values())):
        unknown = next(file for file in files if not readers[file])
        came = f"{unknown.name} is no log of {', '.join(TOOLS)} that can be told"
        raise TableArgumentError("tool", "must say whose log it is", came)
    return TOOLS[tools.pop()]
