"""Inspect AI: `.eval`, a zip with a member for each sample, or the same as one `.json`."""

from __future__ import annotations

import json
import math
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import json_of
from calib.adapters.row import Row, number, text_of
from calib.core.text import needed
from calib.table import TableError

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # the tool's own values of its letters
_ZSTD = 93
_LOCAL_HEADER = 30  # bytes before the name of a member


def sniff(name: str, head: str) -> bool:
    """Whether a file is a log, in either form."""
    if name.endswith(".eval"):
        return head.startswith("PK")
    return name.endswith(".json") and '"eval_id"' in head and '"task"' in head


def read(path: Path) -> Iterator[Row]:
    """One row per scorer, value and epoch; of a panel one for each of its judges; tokens' probabilities beside them."""
    header, samples = _opened(path)
    if (status := header.get("status")) != "success":
        warnings.warn(f"partial: {path.name} has the status {status!r}: the run did not end well.", stacklevel=2)
    spec, crashed = {**(header.get("eval") or {}), "scorer": (header.get("results") or {}).get("scorer")}, []
    names: dict[str, str | None] = {}
    for sample in samples:
        rows = list(_rows_of_sample(sample, spec))
        names |= {row.criterion: row.rater for row in rows if row.method == "sample"}
        yield from rows
        if not rows:
            crashed.append(_bare(sample, spec))
    for row in crashed:  # the system gave no output, so that nothing was graded
        yield from (row._replace(criterion=name, rater=rater) for name, rater in names.items())


def _rows_of_sample(sample: dict[str, Any], spec: dict[str, Any]) -> Iterator[Row]:
    row = _bare(sample, spec)
    for name, score in _scores(sample, spec).items():
        options = _options(name, spec)
        votes = ((score.get("metadata") or {}).get("panel") or {}).get("votes")
        models = options.get("model")
        grading = (score.get("metadata") or {}).get("grading")
        question = str(grading[0].get("content")) if grading and isinstance(grading[0], dict) else None
        asked = row._replace(
            rater=_judge(score, options, spec), asked=question, reply=text_of(score.get("explanation"))
        )
        if isinstance(votes, list) and isinstance(models, list) and len(votes) == len(models):
            for vote, model in zip(votes, models, strict=True):
                yield _scored(asked._replace(criterion=name, rater=str(model)), vote, score)
            continue
        for criterion, value in _values(name, score.get("value")):
            yield _scored(asked._replace(criterion=criterion), value, score)
        yield from _readings(asked, name, score.get("value"), sample)


def _scores(sample: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """Scores by their scorers' names; logs of 2024 have a single one."""
    if "scores" not in sample and isinstance(one := sample.get("score"), dict):
        return {str((spec.get("scorer") or {}).get("name") or "score"): one}
    return sample.get("scores") or {}


def _bare(sample: dict[str, Any], spec: dict[str, Any]) -> Row:
    meta, output = sample.get("metadata") or {}, sample.get("output") or {}
    about = spec.get("metadata") or {}
    version = (spec.get("packages") or {}).get("inspect_ai", "")
    return Row(
        sample,
        "",
        status="failed",
        item=text_of(meta.get("item") or sample.get("id")),
        system=text_of(meta.get("system") or about.get("system") or _answered_by(output, spec)),
        draw=int(sample.get("epoch") or 1) - 1,
        run=f"inspect_ai {version}|{spec.get('eval_id', '')}",
        source=_text(sample.get("input")),
        output=text_of(output.get("completion")) or None,
        reference=_text(sample.get("target")),
    )


def _answered_by(output: dict[str, Any], spec: dict[str, Any]) -> Any:
    """Who wrote the output: not the model of the eval where a solver of one's own names another."""
    model, asked = output.get("model"), str(spec.get("model") or "")
    return asked if not model or asked.endswith(str(model)) else model


def _text(value: Any) -> str | None:
    """An input is a text, or a chat."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return "\n".join(str(one.get("content")) for one in value)
    return text_of(value)


def _options(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Options of a scorer; further ones of a name are numbered from 1."""
    scorers = spec.get("scorers") or []
    same: dict[str, int] = {}
    for one in scorers:
        place = same.get(one.get("name"), 0)
        same[one.get("name")] = place + 1
        if name == one.get("name") + (str(place) if place else ""):
            return one.get("options") or {}
    return {}


def _judge(score: dict[str, Any], options: dict[str, Any], spec: dict[str, Any]) -> str | None:
    meta = score.get("metadata") or {}
    grading = meta.get("grading") or [{}]
    model = options.get("model")
    named = model if isinstance(model, str) else meta.get("grader") or grading[-1].get("model") or spec.get("model")
    return text_of(named)


def _values(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        raise TableError(
            f"scorer {name!r} gives lists, which are no scores: give one value, or one for each criterion."
        )
    else:
        yield name, value


def _scored(row: Row, value: Any, score: dict[str, Any]) -> Row:
    """A value as the tool turns it into a number; a grade that was not found is none, as older logs had it."""
    lost = "Grade not found" in str(score.get("explanation") or "") and value in ("I", None)
    found = math.nan if lost else _LETTERS.get(value, number(value)) if isinstance(value, str) else number(value)
    return row._replace(score=found, status="unread" if math.isnan(found) else "ok")


def _readings(row: Row, name: str, value: Any, sample: dict[str, Any]) -> Iterator[Row]:
    """Token probabilities of the judge's calls, where the log has one call with them for each value."""
    criteria = [criterion for criterion, _ in _values(name, value)]
    calls = [event for event in sample.get("events") or [] if _has_logprobs(event)]
    if len(calls) != len(criteria) or len(_scores(sample, {})) > 1:
        return
    for criterion, event in zip(_matched(criteria, calls, sample), calls, strict=True):
        choice = event["output"]["choices"][0]
        body = {
            "choices": [{"message": choice.get("message"), "finish_reason": "stop", "logprobs": choice["logprobs"]}]
        }
        asked = "\n".join(_attached(message.get("content"), sample) for message in event.get("input") or [])
        temperature = (event.get("config") or {}).get("temperature")
        yield row._replace(
            criterion=criterion, rater=text_of(event.get("model")), completion=body, method="logprob", asked=asked,
            status="ok", temperature=math.nan if temperature is None else float(temperature),
        )  # fmt: skip


def _has_logprobs(event: dict[str, Any]) -> bool:
    choices = (event.get("output") or {}).get("choices") or [{}]
    return event.get("event") == "model" and bool(choices[0].get("logprobs"))


def _matched(criteria: list[str], calls: list[dict[str, Any]], sample: dict[str, Any]) -> list[str]:
    """Which value each call is of: the one that its prompt names, else in their order."""
    texts = [" ".join(_attached(one.get("content"), sample) for one in call.get("input") or []) for call in calls]
    named = [[name for name in criteria if name.lower() in text.lower()] for text in texts]
    unique = [names[0] for names in named if len(names) == 1]
    return unique if sorted(unique) == sorted(criteria) else criteria


def _attached(content: Any, sample: dict[str, Any]) -> str:
    """A message's text; long ones are kept apart."""
    text = str(content)
    return str((sample.get("attachments") or {}).get(text.removeprefix("attachment://"), text))


# --- files ------------------------------------------------------------------------------------------------------


def _opened(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
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
    header = _member(path, head)
    return header if "status" in header else {"eval": header.get("eval"), "status": "started"}, (
        _member(path, one) for one in samples
    )


def _member(path: Path, member: zipfile.ZipInfo) -> Any:
    if member.compress_type != _ZSTD:
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read(member))
    with path.open("rb") as file:
        file.seek(member.header_offset)
        head = file.read(_LOCAL_HEADER)
        name, extra = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
        file.seek(name + extra, 1)
        return json.loads(_unpacked(file.read(member.compress_size)))


def _unpacked(data: bytes) -> bytes:
    """Zstandard, which Python has from 3.14 on."""
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        pass
    else:
        return bytes(zstd.decompress(data))
    use = ".eval files packed with zstd (or `inspect log convert --to json` them), which"
    return bytes(needed("zstandard", extra="logs", use=use).ZstdDecompressor().decompressobj().decompress(data))
