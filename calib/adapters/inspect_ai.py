"""Inspect AI: `.eval`, a zip with a member for each sample, or the same as one `.json`."""

from __future__ import annotations

import json
import math
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, json_of, number_or_nan, text_of
from calib.core.text import needed
from calib.table import TableError

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # the tool's own values of its letters
_ZSTD = 93
_LOCAL_HEADER = 30  # bytes before the name of a member


def read_inspect(path: Path) -> Iterator[Row]:
    """One row per scorer, value and epoch; of a panel one for each of its judges; tokens' probabilities beside them."""
    header, samples = _open_log(path)
    if (status := header.get("status")) != "success":
        warnings.warn(f"partial: {path.name} has the status {status!r}: the run did not end well.", stacklevel=2)
    spec, crashed = {**(header.get("eval") or {}), "scorer": (header.get("results") or {}).get("scorer")}, []
    about, model = spec.get("metadata") or {}, str(spec.get("model") or "")
    version = (spec.get("packages") or {}).get("inspect_ai", "")
    names: dict[str, str | None] = {}
    for sample in samples:
        meta, output = sample.get("metadata") or {}, sample.get("output") or {}
        # who wrote the output: not the model of the eval where a solver of one's own names another
        author = output.get("model")
        author = model if not author or model.endswith(str(author)) else author
        bare = Row(  # what holds for all scores of the sample
            sample,
            "",
            status="failed",
            item=text_of(meta.get("item") or sample.get("id")),
            system=text_of(meta.get("system") or about.get("system") or author),
            draw=int(sample.get("epoch") or 1) - 1,
            run=f"inspect_ai {version}|{spec.get('eval_id', '')}",
            source=_chat_text(sample.get("input")),
            output=text_of(output.get("completion")) or None,
            reference=_chat_text(sample.get("target")),
        )
        rows = list(_rows_of_sample(sample, bare, spec))
        names |= {row.criterion: row.rater for row in rows if row.method == "sample"}
        yield from rows
        if not rows:
            crashed.append(bare)
    for row in crashed:  # the system gave no output, so that nothing was graded
        yield from (row._replace(criterion=name, rater=rater) for name, rater in names.items())


def _chat_text(value: Any) -> str | None:
    """An input is a text, or a chat."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return "\n".join(str(one.get("content")) for one in value)
    return text_of(value)


def _rows_of_sample(sample: dict[str, Any], bare: Row, spec: dict[str, Any]) -> Iterator[Row]:
    scores = sample.get("scores") or {}
    if "scores" not in sample and isinstance(one := sample.get("score"), dict):  # logs of 2024 have a single one
        scores = {str((spec.get("scorer") or {}).get("name") or "score"): one}
    options_of: dict[str, dict[str, Any]] = {}  # further scorers of a name are numbered from 1
    for scorer in spec.get("scorers") or []:
        names = [f"{scorer.get('name')}{number or ''}" for number in range(len(options_of) + 1)]
        options_of[next(name for name in names if name not in options_of)] = scorer.get("options") or {}
    for name, score in scores.items():
        value, meta, options = score.get("value"), score.get("metadata") or {}, options_of.get(name) or {}
        grading, model = meta.get("grading") or [{}], options.get("model")
        question = str(grading[0].get("content")) if meta.get("grading") and isinstance(grading[0], dict) else None
        judge = model if isinstance(model, str) else meta.get("grader") or grading[-1].get("model") or spec.get("model")
        row = bare._replace(rater=text_of(judge), question=question, reply=text_of(score.get("explanation")))
        votes = (meta.get("panel") or {}).get("votes")
        if isinstance(votes, list) and isinstance(model, list) and len(votes) == len(model):
            for vote, voter in zip(votes, model, strict=True):
                yield _scored(row._replace(criterion=name, rater=str(voter)), vote, score)
            continue
        if isinstance(value, list):
            rule = "gives lists, which are no scores: give one value, or one for each criterion"
            raise TableError(f"scorer {name!r} {rule}.")
        values = {str(key): inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
        for criterion, part in values.items():
            yield _scored(row._replace(criterion=criterion), part, score)
        if len(scores) < 2:
            yield from _token_readings(row, list(values), sample)


def _scored(row: Row, value: Any, score: dict[str, Any]) -> Row:
    """A value as the tool turns it into a number; a grade that was not found is none, as older logs had it."""
    lost = "Grade not found" in str(score.get("explanation") or "") and value in ("I", None)
    plain = _LETTERS.get(value, number_or_nan(value)) if isinstance(value, str) else number_or_nan(value)
    result = math.nan if lost else plain
    return row._replace(score=result, status="unread" if math.isnan(result) else "ok")


def _token_readings(row: Row, criteria: list[str], sample: dict[str, Any]) -> Iterator[Row]:
    """Token probabilities of the judge's calls, where the log has one call with them for each value."""
    attachments = sample.get("attachments") or {}  # long messages are kept apart
    calls, questions = [], []
    for event in sample.get("events") or []:
        choices = (event.get("output") or {}).get("choices") or [{}]
        if event.get("event") == "model" and choices[0].get("logprobs"):
            texts = [str(message.get("content")) for message in event.get("input") or []]
            questions.append("\n".join(str(attachments.get(one.removeprefix("attachment://"), one)) for one in texts))
            calls.append(event)
    if len(calls) != len(criteria):
        return
    # which value each call is of: the one that its prompt names, else in their order
    named = [[name for name in criteria if name.lower() in question.lower()] for question in questions]
    unique = [names[0] for names in named if len(names) == 1]
    criteria = unique if sorted(unique) == sorted(criteria) else criteria
    for criterion, event, question in zip(criteria, calls, questions, strict=True):
        choice = event["output"]["choices"][0]
        answer = {"message": choice.get("message"), "finish_reason": "stop", "logprobs": choice["logprobs"]}
        temperature = (event.get("config") or {}).get("temperature")
        yield row._replace(
            criterion=criterion, rater=text_of(event.get("model")), completion={"choices": [answer]}, method="logprob",
            question=question, status="ok", temperature=math.nan if temperature is None else float(temperature),
        )  # fmt: skip


# --- files ------------------------------------------------------------------------------------------------------


def _open_log(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    if path.suffix != ".eval":
        whole = json_of(path)
        if not isinstance(whole, dict) or "eval" not in whole:
            raise TableError(f"{path.name}: must be a log of Inspect AI, with `eval` and `samples`.")
        return whole, iter(whole.get("samples") or [])
    try:
        members = zipfile.ZipFile(path).infolist()
    except zipfile.BadZipFile:
        raise TableError(f"{path.name}: must be a whole .eval file, but is broken or cut off.") from None
    by_name = {one.filename: one for one in members}
    head = by_name.get("header.json") or by_name.get("_journal/start.json")
    if head is None:
        raise TableError(f"{path.name}: has no header: it is no log of Inspect AI.")
    samples = [one for one in members if one.filename.startswith("samples/")]
    header = _zip_member(path, head)
    return header if "status" in header else {"eval": header.get("eval"), "status": "started"}, (
        _zip_member(path, one) for one in samples
    )


def _zip_member(path: Path, member: zipfile.ZipInfo) -> Any:
    """What a member of the zip holds."""
    try:
        return json.loads(_unpacked(path, member))
    except (ValueError, RecursionError):
        raise TableError(f"{path.name}: {member.filename!r} must be whole JSON, but is broken.") from None


def _unpacked(path: Path, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; packed by Zstandard, which Python has from 3.14 on."""
    if member.compress_type != _ZSTD:
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)
    with path.open("rb") as file:
        file.seek(member.header_offset)
        head = file.read(_LOCAL_HEADER)
        name, extra = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
        file.seek(name + extra, 1)
        data = file.read(member.compress_size)
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        use = ".eval files packed with zstd (or `inspect log convert --to json` them), which"
        unpacker = needed("zstandard", extra="logs", use=use).ZstdDecompressor()
        return bytes(unpacker.decompressobj().decompress(data))
    return bytes(zstd.decompress(data))
