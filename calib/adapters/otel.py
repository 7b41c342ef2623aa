"""OpenTelemetry's evaluation results, `gen_ai.evaluation.result`: events on spans, or log records of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from calib.adapters.messages import messages_of_span
from calib.adapters.row import Row, head_of, objects_in, text_of
from calib.adapters.traces import number_in, records_in, word_in
from calib.core.text import printable
from calib.table import TableError
from calib.table.files import from_json

EVENT, _EVALUATION, _RESPONSE = "gen_ai.evaluation.result", "gen_ai.evaluation", "gen_ai.response.id"
# records of what a span was asked and answered, where it is not on it
_DETAILS = "gen_ai.client.inference.operation.details"
_INPUTS = ("gen_ai.input.messages", "input.value", "gen_ai.prompt")
_OUTPUTS = ("gen_ai.output.messages", "output.value", "gen_ai.completion")
_SPANS = '"resourceSpans"'
_Thing = tuple[dict[str, Any], dict[str, Any]]  # attributes of a thing and of what it came from, and the thing


def read_otel(path: Path) -> Iterator[Row]:
    """One row per evaluation event; what it is of is the span around it, or the one with its response id.

    Spans stand in the same file, or in those beside it. The convention does not say who evaluated.
    """
    records = records_in(path)
    has_spans = any("resourceSpans" in record for record in records)
    others = [] if has_spans else [one for one in sorted(path.parent.glob("*.json*")) if one != path and one.is_file()]
    here = _under(records, path, "Spans", "spans")
    beside = (_under(records_in(one), one, "Spans", "spans") for one in others if _SPANS in head_of(one)[:200])
    by_span = {_id(span, "spanId"): (about, span) for about, span in chain(here, *beside)}
    for details, record in _under(records, path, "Logs", "logRecords"):
        if _is_event(_DETAILS, details, record):
            about, _ = by_span.setdefault(_id(record, "spanId"), (details, record))
            about["span"] = details["span"] | about["span"]
    of_response: dict[str | None, set[str | None]] = {}
    for about, span in by_span.values():
        of_response.setdefault(text_of(about["span"].get(_RESPONSE)), set()).add(_id(span, "spanId"))
    for place, (record, around) in enumerate(_events(records, path, here), start=1):
        where, response = f"{path.name}, evaluation {place}", text_of(record["attributes"].get(_RESPONSE))
        own, those = _id(around, "spanId"), of_response.get(response, set()) if response else set()
        if len(those) > 1 and own not in those:
            raise TableError(f"{where}: `{_RESPONSE}` {printable(response or '')!r} is that of {len(those)} spans.")
        item = own if own in those or not those else next(iter(those))
        whose, span = by_span.get(item, (record, around))
        yield _otel_row({**record, "span": whose["span"]}, item or response, _id(span, "traceId"), where)


def _events(records: list[dict[str, Any]], path: Path, spans: list[_Thing]) -> list[_Thing]:
    """The evaluations of a file, each with the span that it stands on or the record that it is."""
    on_spans = [
        ({**about, "attributes": _attributes(event, path)}, span)
        for about, span in spans
        for event in objects_in(span.get("events"), path, "events")
        if event.get("name") == EVENT
    ]
    alone = [
        ({**about, "attributes": about["span"], "span": {}}, record)
        for about, record in _under(records, path, "Logs", "logRecords")
        if _is_event(EVENT, about, record)
    ]
    return [*on_spans, *alone]


def _is_event(name: str, about: dict[str, Any], record: dict[str, Any]) -> bool:
    return name in (record.get("eventName"), about["span"].get("event.name"))


def _otel_row(record: dict[str, Any], item: str | None, trace: str | None, where: str) -> Row:
    about, span = record["attributes"], record["span"]
    name, failed = about.get(f"{_EVALUATION}.name"), about.get("error.type")
    if not isinstance(name, str) or not name:
        raise TableError(f"{where}: `{_EVALUATION}.name` must be a text, but is {printable(str(name))[:60]!r}.")
    if item is None:
        rule = "`spanId` or `gen_ai.response.id` must be there and name what was evaluated"
        raise TableError(f"{where}: {rule}.")
    number, label = number_in(about.get(f"{_EVALUATION}.score.value")), word_in(about.get(f"{_EVALUATION}.score.label"))
    texts = [next((_plain_text(span[key]) for key in keys if span.get(key)), None) for keys in (_INPUTS, _OUTPUTS)]
    return Row(
        record, name, math.nan if failed else label or math.nan if math.isnan(number) else number,
        "failed" if failed else "ok", item=item,
        system=text_of(span.get("gen_ai.request.model") or span.get("llm.model_name")), run="opentelemetry",
        source=texts[0], output=texts[1], reply=text_of(about.get(f"{_EVALUATION}.explanation")),
        label=None if failed else label, trace=trace or item, messages=messages_of_span(span),
    )  # fmt: skip


def _under(records: list[dict[str, Any]], path: Path, kind: str, name: str) -> list[_Thing]:
    """Each span or log record of the file, and before it the attributes of it and of what it came from."""
    things: list[_Thing] = []
    for record in records:
        for resource in objects_in(record.get(f"resource{kind}"), path, f"resource{kind}"):
            of = _attributes(objects_in([resource.get("resource") or {}], path, "resource")[0], path)
            for scope in objects_in(resource.get(f"scope{kind}"), path, f"scope{kind}"):
                parts = objects_in(scope.get(name), path, name)
                things += [({"resource": of, "span": _attributes(one, path)}, one) for one in parts]
    return things


def _attributes(thing: dict[str, Any], path: Path) -> dict[str, Any]:
    """Attributes as a dict; one key twice is a `TableError`."""
    attributes: dict[str, Any] = {}
    for pair in objects_in(thing.get("attributes"), path, "attributes"):
        if (key := str(pair.get("key"))) in attributes:
            raise TableError(f"{path.name}: the attribute `{printable(key)[:60]}` is there twice in one object.")
        attributes[key] = _value(pair.get("value"))
    return attributes


def _value(value: Any) -> Any:
    """What stands in a value of OTLP, in which whole numbers are texts."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return int(inner) if str(inner).removeprefix("-").isdecimal() else None
    if kind == "arrayValue":
        return [_value(one) for one in (inner or {}).get("values") or []]
    if kind == "kvlistValue":
        pairs = (one for one in (inner or {}).get("values") or [] if isinstance(one, dict))
        return {str(one.get("key")): _value(one.get("value")) for one in pairs}
    return inner


def _id(thing: dict[str, Any], name: str) -> str | None:
    """An id; one of zeros stands for none."""
    text = text_of(thing.get(name))
    return text if text and text.strip("0") else None


def _plain_text(text: Any) -> str | None:
    """The texts of messages, which are JSON within a text; anything else as it stands."""
    try:
        messages = from_json(text) if isinstance(text, str) else text
        parts = [part for message in messages for part in message["parts"]]
        return "\n".join(str(part["content"]) for part in parts if part.get("content") is not None)
    except (ValueError, TypeError, LookupError, AttributeError):
        return text_of(text)
