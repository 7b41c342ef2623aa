"""Inspect AI: `.eval`, a zip with a member for each sample, or the same as one `.json`."""

from __future__ import annotations

import json
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, json_of, number_or_nan, score_and_status, text_of
from calib.core.text import needed
from calib.judge.replies.extract import RatingRow
from calib.table import TableError
from calib.table.files import MOST_BYTES

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # the tool's own values of its letters
_CHECKS = ("match", "includes", "pattern", "answer", "exact", "f1", "choice", "math")  # of code
_NO_MODEL = ("", "none", "none/none")  # what an eval was asked of that asks none
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
    graded: dict[tuple[str, str | None], bool] = {}  # criteria and raters, and whether these are sure
    systems, others, mute = set[str | None](), set[str](), set[str]()
    for sample in samples:
        meta, output = sample.get("metadata") or {}, sample.get("output") or {}
        # the model asked for is the system, as a sample that crashed has no other; who answered is a column
        author = str(output.get("model") or "")
        named = meta.get("system") or about.get("system")
        system = named or (author if model in _NO_MODEL else model)
        if author and not named and not _is_one_model(author, str(system)):
            others.add(author)
        bare = Row(  # what holds for all scores of the sample
            sample, "", status="failed", item=text_of(meta.get("item") or sample.get("id")), system=text_of(system),
            draw=int(sample.get("epoch") or 1) - 1, run=f"inspect_ai {version}|{spec.get('eval_id', '')}",
            source=_chat_text(sample.get("input")), output=text_of(output.get("completion")) or None,
            about={**meta, "answered_by": author} if author else meta, reference=_chat_text(sample.get("target")),
            messages=_messages_of(sample),
        )  # fmt: skip
        rows = list(_rows_of_sample(sample, bare, spec))
        graded |= {(row.criterion, row.rater): row.is_check for row in rows if row.completion is None}
        mute |= {str(row.rater) for row in rows} & set(_scores_in(sample, spec))
        yield from rows
        if rows:
            systems.add(bare.system)
        else:
            crashed.append(bare)
    if others:
        names = ", ".join(sorted(others)[:3])
        how = 'the system is the model asked for; answered_by has the other, which system="output.model" takes'
        warnings.warn(f"other_model: {path.name} asked {model} and was answered by {names}: {how}.", stacklevel=2)
    if mute:
        how = "their rows have the scorer's name as rater. If a judge gave them, name it by rater="
        warnings.warn(f"not_judged: {', '.join(sorted(mute))} name no judge: {how}.", stacklevel=2)
    if not graded:
        every = _options_of(spec).items()
        graded = {(name, judge): False for name, each in every for judge in _judges_of(each, spec) or (None,)}
    for row in crashed:  # the system gave no output, so that nothing was graded
        for (criterion, rater), is_check in graded.items():
            sole = row.system or (next(iter(systems)) if len(systems) == 1 else None)
            yield row._replace(criterion=criterion, rater=rater, is_check=is_check, system=sole)


def _is_one_model(author: str, model: str) -> bool:
    """Whether two names are of one model: that of a provider, or of its version of a day."""
    short, long = sorted((name.rpartition("/")[2] for name in (author, model)), key=len)
    return re.search(rf"(?<![^\W_]){re.escape(short)}(?![^\W_])", long) is not None


def _scores_in(sample: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """A sample's scores by scorer; logs of 2024 have a single one."""
    if "scores" not in sample and isinstance(one := sample.get("score"), dict):
        return {str((spec.get("scorer") or {}).get("name") or "score"): one}
    return sample.get("scores") or {}


def _options_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of each scorer; further ones of a name are numbered from 1."""
    options: dict[str, dict[str, Any]] = {}
    for scorer in spec.get("scorers") or []:
        names = [f"{scorer.get('name')}{number or ''}" for number in range(len(options) + 1)]
        options[next(name for name in names if name not in options)] = scorer.get("options") or {}
    return options


def _judges_of(options: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """The models that a scorer's options name, or its role has; none where that is left to the model evaluated."""
    named = options.get("model")
    if named is None:
        role = options.get("model_role", "grader")
        named = (spec.get("model_roles") or {}).get(str(role.get("name") if isinstance(role, dict) else role))
    several = named if isinstance(named, list) else [named]
    return [str(one.get("model") if isinstance(one, dict) else one) for one in several if one]


def _models_called(sample: dict[str, Any]) -> dict[str, list[str]]:
    scorer_of, models = dict[str, str](), dict[str, dict[str, None]]()
    for event in sample.get("events") or []:
        if event.get("event") == "span_begin":
            outer = scorer_of.get(str(event.get("parent_id")))
            if name := str(event.get("name")) if event.get("type") == "scorer" else outer:
                scorer_of[str(event.get("id"))] = name
        elif event.get("event") == "model" and (name := scorer_of.get(str(event.get("span_id")))):
            models.setdefault(name, {})[str(event.get("model"))] = None
    return {name: list(each) for name, each in models.items()}


def _chat_text(value: Any) -> str | None:
    """The text of an input, which may be a chat."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return "\n".join(str(one.get("content")) for one in value)
    return text_of(value)


def _messages_of(sample: dict[str, Any]) -> list[Any] | None:
    """The messages of a sample, in which long texts, which the log keeps apart, are put back."""
    attachments = sample.get("attachments") or {}

    def whole(value: Any) -> Any:
        if isinstance(value, str):
            return attachments.get(value.removeprefix("attachment://"), value) if attachments else value
        if isinstance(value, list):
            return [whole(one) for one in value]
        return {key: whole(one) for key, one in value.items()} if isinstance(value, dict) else value

    messages = sample.get("messages")
    if not isinstance(messages, list) or not any(
        isinstance(one, dict) and one.get("role") == "assistant" for one in messages
    ):
        messages = _last_call(sample) or [*(messages or ()), *_answers(sample.get("output") or {})]
    return whole(messages) if isinstance(messages, list) and messages else None


def _last_call(sample: dict[str, Any]) -> list[Any]:
    """What the model was sent and answered as it gave the sample's output: solvers may keep messages to themselves."""
    wanted = (sample.get("output") or {}).get("completion")
    pool = (sample.get("events_data") or {}).get("messages") or []
    for event in reversed(sample.get("events") or []):
        answer = event.get("output") or {}
        if event.get("event") == "model" and wanted and answer.get("completion") == wanted:
            refs = [message for first, end in event.get("input_refs") or [] for message in pool[first:end]]
            return [*refs, *(event.get("input") or []), *_answers(answer)]
    return []


def _answers(output: dict[str, Any]) -> list[Any]:
    return [choice["message"] for choice in output.get("choices") or []][:1]


def _rows_of_sample(sample: dict[str, Any], bare: Row, spec: dict[str, Any]) -> Iterator[Row]:
    scores = _scores_in(sample, spec)
    options_of, called = _options_of(spec), _models_called(sample)
    for name, score in scores.items():
        value, meta, options = score.get("value"), score.get("metadata") or {}, options_of.get(name) or {}
        grading = [one for one in meta.get("grading") or [] if isinstance(one, dict)]
        question = str(grading[0].get("content")) if grading else None
        row = bare._replace(criterion=name, question=question, reply=text_of(score.get("explanation")))
        if isinstance(meta.get("readings"), list):
            yield from _own_readings(row, meta)
            continue
        is_graded = bool(grading) or name.startswith("model_graded") or "model" in options
        judges = _judges_of(options, spec) if is_graded else []
        votes = (meta.get("panel") or {}).get("votes")
        if isinstance(votes, list) and len(judges) == len(votes) > 1:
            for vote, voter in zip(votes, judges, strict=True):
                yield _scored(row._replace(rater=voter), vote, score)
            judges = [f"panel of {', '.join(judges)}"]
        # of a grader without a name the log has the model that answered, which is the one evaluated by default
        evaluated, grader = str(spec.get("model")), str((grading[-1] if grading else {}).get("model") or "")
        if is_graded and (not grader or _is_one_model(grader, evaluated)):
            grader = evaluated
        named = ", ".join(judges) or meta.get("grader") or ", ".join(called.get(name) or []) or grader
        row = row._replace(rater=text_of(named or name), is_check=not named and name in _CHECKS)
        if isinstance(value, list):
            rule = "gives lists, which are no scores: give one value, or one for each criterion"
            raise TableError(f"scorer {name!r} {rule}.")
        values = {str(key): inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
        for criterion, part in values.items():
            yield _scored(row._replace(criterion=criterion), part, score)
        if len(scores) < 2:
            yield from _token_readings(row, list(values), sample)


def _own_readings(row: Row, meta: dict[str, Any]) -> Iterator[Row]:
    """What calib's own scorer kept of each draw: its distribution, under the judge's and the prompt's names."""
    temperature = number_or_nan(meta.get("temperature"))
    row = row._replace(
        criterion=str(meta.get("criterion") or row.criterion), rater=text_of(meta.get("judge")), question=None,
        prompt=str(meta.get("prompt") or ""), scale=str(meta.get("scale") or ""), temperature=temperature,
        method=str(meta.get("method") or "sample"), is_check=True,
    )  # fmt: skip
    draws: dict[int, list[RatingRow]] = {}
    for draw, score, weight, status, low, high in meta["readings"]:
        numbers = [number_or_nan(one) for one in (score, weight, low, high)]
        draws.setdefault(int(draw), []).append(RatingRow(numbers[0], numbers[1], str(status), *numbers[2:]))
    for draw, shares in draws.items():
        yield row._replace(reading=draw, shares=tuple(shares), status="ok")
    if not draws:
        yield row._replace(status="failed")


def _scored(row: Row, value: Any, score: dict[str, Any]) -> Row:
    """A value as the tool turns it into a number; a grade that was not found is none, as older logs had it."""
    lost = "Grade not found" in str(score.get("explanation") or "") and value in ("I", None)
    number, status = score_and_status(None if lost else _LETTERS.get(value, value) if isinstance(value, str) else value)
    return row._replace(score=number, status=status)


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
    header = _zip_member(path, head)
    header = header if "status" in header else {"eval": header.get("eval"), "status": "started"}
    return header, (_zip_member(path, one) for one in members if one.filename.startswith("samples/"))


def _zip_member(path: Path, member: zipfile.ZipInfo) -> Any:
    if member.file_size > MOST_BYTES:
        rule = f"must unpack to at most {MOST_BYTES / 1e9:.3g} GB, but has {member.file_size / 1e9:.3g}"
        raise TableError(f"{path.name}: {member.filename!r} {rule}.")
    try:
        return json.loads(_unpacked(path, member))
    except (ValueError, RecursionError):
        raise TableError(f"{path.name}: {member.filename!r} must be whole JSON, but is broken.") from None


def _unpacked(path: Path, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, no more than it says that it has; packed by Zstandard, which Python has from 3.14 on."""
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
        return bytes(unpacker.stream_reader(data, read_across_frames=True).read(member.file_size))
    return bytes(zstd.ZstdFile(BytesIO(data)).read(member.file_size))
