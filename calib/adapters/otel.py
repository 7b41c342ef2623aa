"""OpenTelemetry's evaluation results, `gen_ai.evaluation.result`: events on spans, or log records of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, head_of, objects_in, text_of
from calib.adapters.traces import number_in, records_in, word_in
from calib.core.text import printable
from calib.table import TableError
from calib.table.files import from_json

EVENT, _EVALUATION = "gen_ai.evaluation.result", "gen_ai.evaluation"
_INPUTS = ("gen_ai.input.messages", "input.value", "gen_ai.prompt")
_OUTPUTS = ("gen_ai.output.messages", "output.value", "gen_ai.completion")
_SPANS = '"resourceSpans"'


def read_otel(path: Path) -> Iterator[Row]:
    """One row per evaluation event; what it is of is the span around it, or the one with its response id.

    Spans stand in the same file, or in those beside it. The convention does not say who evaluated.
    """
    records = records_in(path)
    beside = [] if any("resourceSpans" in record for record in records) else _spans_beside(path)
    here = _under(records, path, "Spans", "spans")
    spans = [*here, *chain.from_iterable(_under(*one, "Spans", "spans") for one in beside)]
    by_span = {_id(span, "spanId"): (held, span) for held, span in spans}
    by_response: dict[Any, set[str | None]] = {}
    for held, span in spans:
        by_response.setdefault(text_of(held["span"].get("gen_ai.response.id")), set()).add(_id(span, "spanId"))
    events = [
        ({**held, "attributes": _attributes(event, path)}, _id(span, "spanId"), _id(span, "traceId"))
        for held, span in here
        for event in objects_in(span.get("events"), path, "events")
        if event.get("name") == EVENT
    ]
    for held, record in _under(records, path, "Logs", "logRecords"):
        if EVENT in (record.get("eventName"), held["span"].get("event.name")):
            own = {**held, "attributes": held["span"], "span": {}}
            events.append((own, _id(record, "spanId"), _id(record, "traceId")))
    for place, (held, around, trace) in enumerate(events, start=1):
        where = f"{path.name}, evaluation {place}"
        response = text_of(held["attributes"].get("gen_ai.response.id"))
        of = by_response.get(response, set()) if response else set()
        if len(of) > 1 and around not in of:
            raise TableError(f"{where}: `gen_ai.response.id` {printable(response or '')!r} is that of {len(of)} spans.")
        span = around if around in of or not of else next(iter(of))
        whose, inner = by_span.get(span, (held, {}))
        item = span or response
        yield _otel_row({**held, "span": whose["span"]}, item, _id(inner, "traceId") or trace or item, where)


def _otel_row(record: dict[str, Any], item: str | None, trace: str | None, where: str) -> Row:
    held, span = record["attributes"], record["span"]
    name, failed = held.get(f"{_EVALUATION}.name"), held.get("error.type")
    if not isinstance(name, str) or not name:
        raise TableError(f"{where}: `{_EVALUATION}.name` must be a text, but is {printable(str(name))[:60]!r}.")
    if item is None:
        rule = "`spanId` or `gen_ai.response.id` must be there, or it is not known what was evaluated"
        raise TableError(f"{where}: {rule}.")
    number, label = number_in(held.get(f"{_EVALUATION}.score.value")), word_in(held.get(f"{_EVALUATION}.score.label"))
    texts = [next((_said(span[key]) for key in keys if span.get(key)), None) for keys in (_INPUTS, _OUTPUTS)]
    return Row(
        record,
        name,
        math.nan if failed else label or math.nan if math.isnan(number) else number,
        "failed" if failed else "ok",
        item=item,
        system=text_of(span.get("gen_ai.request.model") or span.get("llm.model_name")),
        run="opentelemetry",
        source=texts[0],
        output=texts[1],
        reply=text_of(held.get(f"{_EVALUATION}.explanation")),
        label=None if failed else label,
        trace=trace,
    )


def _spans_beside(path: Path) -> list[tuple[list[dict[str, Any]], Path]]:
    others = (one for one in sorted(path.parent.glob("*.jsonl")) if one != path and one.is_file())
    return [(records_in(one), one) for one in others if _SPANS in head_of(one)[:200]]


def _under(records: list[dict[str, Any]], path: Path, kind: str, name: str) -> list[tuple[Any, dict[str, Any]]]:
    """Each span or log record of the file, and before it the attributes of it and of what it came from."""
    found: list[tuple[Any, dict[str, Any]]] = []
    for record in records:
        for resource in objects_in(record.get(f"resource{kind}"), path, f"resource{kind}"):
            of = _attributes(resource.get("resource") or {}, path)
            for scope in objects_in(resource.get(f"scope{kind}"), path, f"scope{kind}"):
                held = objects_in(scope.get(name), path, name)
                found += [({"resource": of, "span": _attributes(one, path)}, one) for one in held]
    return found


def _attributes(thing: dict[str, Any], path: Path) -> dict[str, Any]:
    """Attributes as a dict; one key twice is a `TableError`."""
    held: dict[str, Any] = {}
    for pair in objects_in(thing.get("attributes"), path, "attributes"):
        if pair.get("key") in held:
            name = printable(str(pair["key"]))[:60]
            raise TableError(f"{path.name}: the attribute `{name}` is there twice in one object.")
        held[str(pair.get("key"))] = _value(pair.get("value"))
    return held


def _value(value: Any) -> Any:
    """What stands in a value of OTLP, in which whole numbers are texts."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return number_in(inner)
    if kind == "arrayValue":
        return [_value(one) for one in (inner or {}).get("values") or []]
    return inner


def _id(thing: dict[str, Any], name: str) -> str | None:
    """An id; one of zeros stands for none."""
    text = text_of(thing.get(name))
    return text if text and text.strip("0") else None


def _said(text: Any) -> str | None:
    """The texts of messages, which are JSON within a text; anything else as it stands."""
    try:
        messages = from_json(text) if isinstance(text, str) else text
        parts = [part for message in messages for part in message["parts"]]
        return "\n".join(str(part["content"]) for part in parts if part.get("content") is not None)
    except (ValueError, TypeError, LookupError, AttributeError):
        return text_of(text)
