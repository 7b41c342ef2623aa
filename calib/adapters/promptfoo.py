"""promptfoo: `-o out.json` or `out.jsonl`, one result per provider, test and repeat."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, json_of, lines_of, number, objects_in, text_of, why_missing
from calib.table import TableError

_JUDGED = (
    "llm-rubric", "g-eval", "model-graded-closedqa", "model-graded-factuality", "factuality", "answer-relevance",
    "context-recall", "context-relevance", "context-faithfulness", "conversation-relevance", "select-best", "pi",
    "search-rubric", "agent-rubric", "trajectory",
)  # fmt: skip


def is_log(name: str, head: str) -> bool:
    """Whether a file is an evaluation's output, in whichever form."""
    if name.endswith(".csv"):
        return "Status,Score,Named Scores" in head.partition("\n")[0]
    return '"gradingResult"' in head or ('"evalId"' in head and '"promptfooVersion"' in head)


def read(path: Path) -> Iterator[Row]:
    """One row per assertion of each result; a grader that broke wrote a 0, which is none.

    A set of assertions stands beside its parts and is no reading of its own.
    """
    if path.suffix not in (".json", ".jsonl"):
        raise TableError(
            f"{path.name}: rounds scores and loses which are errors: read the out.json or out.jsonl of it."
        )
    run, results = "promptfoo", lines_of(path) if path.suffix == ".jsonl" else None
    if results is None:
        whole = json_of(path)
        held = whole.get("results") if isinstance(whole, dict) else None
        if not isinstance(held, dict) or not isinstance(held.get("results"), list):
            rule = "must be the output of `promptfoo eval -o out.json`, with `results.results`"
            raise TableError(f"{path.name}: {rule}.")
        version = (whole.get("metadata") or {}).get("promptfooVersion", "")
        run = f"promptfoo {version}|{whole.get('evalId', '')}"
        results = iter(objects_in(held["results"], path, "results"))
    flagged: set[str] = set()
    for result in results:
        parts = objects_in((result.get("gradingResult") or {}).get("componentResults"), path, "componentResults")
        if not parts:  # the system failed: what would have been asked
            failed = {"metadata": {"graderError": True}, "reason": "API error, no output"}
            parts = [{"assertion": one, **failed} for one in (result.get("testCase") or {}).get("assert") or []]
        for part in parts:
            if part.get("componentResults"):
                continue
            kind = str((part.get("assertion") or {}).get("type") or "assertion")
            row = _row(result, part, run, kind)
            if row.rater is not None and row.rater == kind:
                flagged.add(row.rater)
            yield row
    if flagged:
        message = f"{', '.join(sorted(flagged))} are checks and no judge: their rows have the check's name as rater."
        warnings.warn(f"not_judged: {message}", stacklevel=2)


def _row(result: dict[str, Any], part: dict[str, Any], run: str, kind: str) -> Row:
    assertion, meta = part.get("assertion") or {}, part.get("metadata") or {}
    criterion = assertion.get("metric")
    if not criterion:
        value = json.dumps(assertion.get("value"), sort_keys=True, default=str)
        criterion = f"{assertion.get('type', 'assertion')}-{hashlib.sha256(value.encode()).hexdigest()[:6]}"
    prompt = meta.get("renderedGradingPrompt")
    prompt = prompt if isinstance(prompt, str) else None
    with suppress(ValueError, TypeError, KeyError):  # chats are JSON in which the texts are escaped
        prompt = prompt and "\n".join(str(message["content"]) for message in json.loads(prompt))
    score, provider = number(part.get("score")), result.get("provider") or {}
    missing = bool(meta.get("graderError")) or math.isnan(score)
    return Row(
        result,
        str(criterion),
        math.nan if missing else score,
        why_missing(part.get("reason")) if missing else "ok",
        system=text_of(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else str(provider),
        rater=_judge(result, assertion) if kind.removeprefix("not-") in _JUDGED else kind,
        asked=prompt,
        scale="0..1",
        run=run,
        source=text_of((result.get("prompt") or {}).get("raw")) or text_of(result.get("vars")),
        output=text_of((result.get("response") or {}).get("output")),
        reference=text_of((result.get("vars") or {}).get("reference")),
        reply=text_of(part.get("reason")),
    )


def _judge(result: dict[str, Any], assertion: dict[str, Any]) -> str | None:
    """The grader that the assertion names, or the test; the default one has no name in the file."""
    options = (result.get("testCase") or {}).get("options") or {}
    for grader in (assertion.get("provider"), options.get("provider")):
        name = grader
        while isinstance(name, dict):  # graders of texts and of embeddings may each have one
            name = name.get("id") or name.get("text")
        if name:
            return str(name)
    return None
