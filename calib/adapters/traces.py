"""Scores of traces: Langfuse's, Phoenix's annotations, OpenTelemetry's evaluation events; people's are labels."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from calib.adapters.messages import messages_of_call, messages_of_span
from calib.adapters.row import Row, number_or_nan, objects_in, text_of
from calib.core.text import printable
from calib.table import TableError, read_frame
from calib.table.files import from_json, within_limit

_TEXTS = (
    "id", "item", "span_id", "context.span_id", "trace_id", "context.trace_id", "session_id", "observation_id",
    "traceId", "observationId", "sessionId", "dataset_run_id", "datasetRunId", "request_id", "name", "annotation_name",
)  # fmt: skip

# --- files -----------------------------------------------------------------------------------------------------------


def records_in(path: Path) -> list[dict[str, Any]]:
    """The objects of a csv, of a JSON array, of pages with `data`, or of lines; no key may be in one twice."""
    if within_limit(path).suffix == ".csv":
        return [
            {str(name): None if cell != cell or cell == "" else cell for name, cell in row.items()}  # noqa: PLR0124
            for row in read_frame(path, texts=_TEXTS).to_dict("records")
        ]
    text = path.read_text("utf-8-sig", errors="replace")
    lines = [(place, line) for place, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if len(lines) > 1 and lines[0][1].lstrip().startswith("{") and lines[0][1].rstrip().endswith("}"):
        things = [_parsed(line, f"{path.name}, line {place}") for place, line in lines]
    else:
        things = [_parsed(text, path.name)]
    records = []
    for thing in things:
        page = thing["data"] if isinstance(thing, dict) and "data" in thing else thing
        records += objects_in([page] if isinstance(page, dict) else page, path, "data")
    return records


def _parsed(text: str, where: str) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        raise TableError(f"{where}: must be whole JSON, but {printable(str(error))[:120]}.") from None


def _must(record: dict[str, Any], names: Sequence[str], where: str, among: Sequence[str] = ()) -> str:
    """The first of these fields that is there, which must be a text, and one of a few."""
    name, value = next(((name, record[name]) for name in names if record.get(name) is not None), (names[0], None))
    what = f"one of {', '.join(among)}" if among else "a text"
    if not isinstance(value, str) or not value or (among and value not in among):
        either = " or ".join(f"`{name}`" for name in names)
        came = "is not there" if value is None else f"is {printable(str(value))[:60]!r}"
        raise TableError(f"{where}: {either if value is None else f'`{name}`'} must be {what}, but {came}.")
    return value


def number_in(value: Any) -> float:
    """A number, or one in a text; no truth value, and no word."""
    return math.nan if isinstance(value, bool) or str(value).isalpha() else number_or_nan(value)


def word_in(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


# --- Langfuse: scores of the API or of an export, experiment items or traces with their scores ------------------------

_SOURCES, _KINDS = ("API", "EVAL", "ANNOTATION"), ("NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION")
_SUBJECTS = {"trace": "traceId", "observation": "observationId", "session": "sessionId", "experiment": "datasetRunId"}


def read_langfuse(path: Path) -> Iterator[Row]:
    """One row per score; an annotation is a label, and a category counts as its word unless the tool has its number.

    Texts, corrections, and scores of whole experiments are no scores of an output. A judge that failed on an item of
    an experiment left nothing: the others' scores tell which.
    """
    records = records_in(path)
    pairs = [  # what a score is of, as far as that stands around it, and the score
        (record if "scores" in record else {}, _langfuse_score(one, f"{path.name}, score {place}"))
        for place, record in enumerate(records, start=1)
        for one in (objects_in(record["scores"], path, "scores") if "scores" in record else [record])
    ]
    kept = [pair for pair in pairs if pair[1]["dataType"] not in ("TEXT", "CORRECTION") and _langfuse_item(*pair)]
    if n_left := len(pairs) - len(kept):
        message = f"{n_left} texts, corrections, or scores of whole experiments are no scores of an output: left out."
        warnings.warn(f"not_read: {message}", stacklevel=2)
    scores = [score for _, score in kept]
    numbered = _numbered(scores)
    if n_api := sum(score["source"] == "API" for score in scores):
        message = f"{n_api} scores came by the API, from code, users or a judge elsewhere: their rater is 'api'."
        warnings.warn(f"not_judged: {message}", stacklevel=2)
    for name, of in _subjects(scores).items():
        message = f"{name!r} has scores of {' and of '.join(of)}, each an item of its own: item='traceId' joins them."
        warnings.warn(f"subjects_differ: {message}", stacklevel=2)
    if n_unsigned := sum(score["source"] == "ANNOTATION" and _author(score) is None for score in scores):
        message = f"{n_unsigned} annotations name no author (the API has them with fields=annotation): rater 'human'."
        warnings.warn(f"unsigned: {message} Tools may fill annotations in, too.", stacklevel=2)
    judged = [(outer, score) for outer, score in kept if outer and score["source"] != "ANNOTATION"]
    by_name = {score["name"]: score for _, score in judged}
    there = {(id(outer), score["name"]) for outer, score in judged}
    for outer in (record for record in records if "scores" in record and "experimentId" in record):
        absent = dict.fromkeys(("id", "value", "stringValue", "comment")) | {"traceId": outer.get("traceId")}
        kept += [(outer, score | absent) for name, score in by_name.items() if (id(outer), name) not in there]
    for outer, score in kept:
        yield _langfuse_row(outer, score, numbered=bool(score.get("configId")) or score["name"] in numbered)


def _langfuse_row(outer: dict[str, Any], score: dict[str, Any], *, numbered: bool) -> Row:
    human, is_check, value = score["source"] == "ANNOTATION", score["source"] == "API", score.get("value")
    is_word, word = score["dataType"] == "CATEGORICAL", word_in(score.get("stringValue") or value)
    number = number_or_nan(value) if score["dataType"] == "BOOLEAN" else number_in(value)
    if (score["dataType"] == "BOOLEAN" and number not in (0, 1)) or (is_word and not numbered):
        number = math.nan
    whole = bool(outer) and ("experimentId" in outer or not score.get("observationId"))  # texts are those of a trace
    return Row(
        {**outer, **score}, score["name"], word or math.nan if is_word and math.isnan(number) else number,
        item=_langfuse_item(outer, score), system=text_of(outer.get("experimentName")),
        rater=(_author(score) or "human") if human else "api" if is_check else text_of(score.get("evaluatorId")),
        method="human" if human else "sample", scale="0|1" if score["dataType"] == "BOOLEAN" else "", run="langfuse",
        source=text_of(outer.get("input")) if whole else None,
        output=text_of(outer.get("output")) if whole else None, reference=text_of(outer.get("expectedOutput")),
        reply=text_of(score.get("comment")), label=word if is_word else None,
        trace=None if "experimentId" in outer else text_of(score.get("traceId")), id=text_of(score.get("id")),
        is_check=is_check, messages=messages_of_call(outer.get("input"), outer.get("output")) if whole else None,
    )  # fmt: skip


def _author(score: dict[str, Any]) -> str | None:
    return text_of(score.get("authorUserName") or score.get("authorUserId"))


def _subjects(scores: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Criteria that have scores of observations, traces and sessions, and which of them."""
    kinds: dict[str, dict[str, None]] = {}
    for score in scores:
        kind = next((name for name in ("observationId", "traceId", "sessionId") if score.get(name)), None)
        if kind and not score.get("datasetRunId"):
            kinds.setdefault(score["name"], {})[f"{kind[:-2]}s"] = None
    return {name: list(each) for name, each in kinds.items() if len(each) > 1}


def _langfuse_score(record: dict[str, Any], where: str) -> dict[str, Any]:
    """A score with the API's names, whatever wrote it, and with what it is of beside them."""
    score = {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value for name, value in record.items()}
    subject = score.get("subject") or {}
    if not isinstance(subject, dict):
        raise TableError(f"{where}: `subject` must be an object, but is {printable(str(subject))[:60]!r}.")
    if subject:
        kind = _must(subject, ["kind"], f"{where}, `subject`", tuple(_SUBJECTS))
        score |= {"traceId": subject.get("traceId"), _SUBJECTS[kind]: _must(subject, ["id"], f"{where}, `subject`")}
    _must(score, ["name"], where)
    _must(score, ["source"], where, _SOURCES)
    _must(score, ["dataType"], where, _KINDS)
    return score


def _langfuse_item(outer: dict[str, Any], score: dict[str, Any]) -> str | None:
    """The id of what was scored: an item of an experiment, an observation, a trace, a session; None for all of one."""
    own = outer.get("experimentItemId")
    there = [own, *(score.get(name) for name in ("observationId", "traceId", "sessionId"))]
    if (item := next((str(one) for one in there if one), None)) or score.get("datasetRunId"):
        return item
    where = f"score {score.get('id') or score['name']!r}"
    rule = "`observationId`, `traceId` or `sessionId` must be there (the API has `subject` with fields=subject)"
    raise TableError(f"{where}: {rule} and name what was scored.")


def _numbered(scores: Sequence[dict[str, Any]]) -> set[str]:
    """Names of which each word has a number of its own: a category without a configuration has a 0, whatever it is."""
    pairs: dict[str, set[tuple[str, float]]] = {}
    for score in scores:
        if score["dataType"] == "CATEGORICAL" and word_in(score.get("stringValue")):
            pairs.setdefault(score["name"], set()).add((score["stringValue"], number_in(score.get("value"))))
    counts = {name: [len(set(column)) for column in zip(*each, strict=True)] for name, each in pairs.items()}
    return {name for name, each in pairs.items() if len(each) > 1 and counts[name] == [len(each)] * 2}


# --- Phoenix: annotations of spans, as the client gives them or their frame; spans may stand beside them --------------

_ANNOTATORS = ("HUMAN", "LLM", "CODE", "DECISION", "AGENT")


def read_phoenix(path: Path) -> Iterator[Row]:
    """One row per annotation: a person's is a label, a language model's a judge's, any other of its own rater."""
    for place, record in enumerate(records_in(path), start=1):
        where = f"{path.name}, annotation {place}"
        kind = _must(record, ["annotator_kind"], where, _ANNOTATORS)
        name = _must(record, ["annotation_name", "name"], where)
        span = _must(record, ["span_id", "context.span_id", "trace_id", "session_id"], where)
        result = record.get("result")
        if not isinstance(result, dict):  # of the client's frame
            result = {key.removeprefix("result."): record[key] for key in record}
        number, label = number_in(result.get("score")), result.get("label")
        meta, own = record.get("metadata"), text_of(record.get("identifier") or None)
        position = record.get("document_position")
        judge = text_of(meta.get("model")) if isinstance(meta, dict) else None
        rater = {"HUMAN": text_of(record.get("user_id")) or own or "human", "LLM": judge}
        yield Row(
            record, name, word_in(label) or math.nan if math.isnan(number) else number,
            item=span if position is None else f"{span}:{position:g}",
            rater=rater[kind] if kind in rater else own or kind.lower(),
            method="human" if kind == "HUMAN" else "sample", run="phoenix",
            source=text_of(record.get("attributes.input.value")),
            output=text_of(record.get("attributes.output.value")) if position is None else None,
            reply=text_of(result.get("explanation")), label=word_in(label),
            trace=text_of(record.get("context.trace_id") or record.get("trace_id")) or span,
            id=text_of(record.get("id")), is_check=kind not in rater,
            messages=messages_of_span({key.removeprefix("attributes."): record[key] for key in record}),
        )  # fmt: skip
