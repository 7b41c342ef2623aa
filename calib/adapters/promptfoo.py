"""promptfoo: `-o out.json` or `out.jsonl`, one result per provider, test and repeat."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import json_of, lines_of, objects_in
from calib.adapters.row import Row, number, text_of, why_missing
from calib.table import TableError

LOSSY = (".csv",)  # rounded, and without the marks of errors
_JUDGED = (
    "llm-rubric", "g-eval", "model-graded-closedqa", "model-graded-factuality", "factuality", "answer-relevance",
    "context-recall", "context-relevance", "context-faithfulness", "conversation-relevance", "select-best", "pi",
    "search-rubric", "agent-rubric", "trajectory",
)  # fmt: skip


def sniff(name: str, head: str) -> bool:
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
    run, results = _results(path)
    flagged: set[str] = set()
    for result in results:
        parts = (result.get("gradingResult") or {}).get("componentResults")
        for part in objects_in(parts, path, "componentResults") or _ungraded(result):
            if part.get("componentResults"):
                continue
            row = _row(result, part, run)
            if row.rater is not None and row.rater == _kind(part):
                flagged.add(row.rater)
            yield row
    if flagged:
        told = f"{', '.join(sorted(flagged))} are checks and no judge: their rows have the check's name as rater."
        warnings.warn(f"not_judged: {told}", stacklevel=2)


def _results(path: Path) -> tuple[str, Iterator[dict[str, Any]]]:
    if path.suffix == ".jsonl":
        return "promptfoo", lines_of(path)
    whole = json_of(path)
    results = whole.get("results") if isinstance(whole, dict) else None
    if not isinstance(results, dict) or not isinstance(results.get("results"), list):
        raise TableError(f"{path.name}: must be the output of `promptfoo eval -o out.json`, with `results.results`.")
    version = (whole.get("metadata") or {}).get("promptfooVersion", "")
    return f"promptfoo {version}|{whole.get('evalId', '')}", iter(objects_in(results["results"], path, "results"))


def _ungraded(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Of a result whose system failed, what would have been asked."""
    asserts = (result.get("testCase") or {}).get("assert") or []
    return [{"assertion": one, "metadata": {"graderError": True}, "reason": "API error, no output"} for one in asserts]


def _kind(part: dict[str, Any]) -> str:
    return str((part.get("assertion") or {}).get("type") or "assertion")


def _row(result: dict[str, Any], part: dict[str, Any], run: str) -> Row:
    asked, meta = part.get("assertion") or {}, part.get("metadata") or {}
    score = number(part.get("score"))
    missing = bool(meta.get("graderError")) or math.isnan(score)
    provider, judged = result.get("provider") or {}, _kind(part).removeprefix("not-") in _JUDGED
    return Row(
        result,
        _criterion(asked),
        math.nan if missing else score,
        why_missing(part.get("reason")) if missing else "ok",
        system=text_of(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else str(provider),
        rater=_judge(result, asked) if judged else _kind(part),
        asked=_rendered(meta.get("renderedGradingPrompt")),
        scale="0..1",
        run=run,
        source=text_of((result.get("prompt") or {}).get("raw")) or text_of(result.get("vars")),
        output=text_of((result.get("response") or {}).get("output")),
        reference=text_of((result.get("vars") or {}).get("reference")),
        reply=text_of(part.get("reason")),
    )


def _criterion(asked: dict[str, Any]) -> str:
    if asked.get("metric"):
        return str(asked["metric"])
    digest = hashlib.sha256(json.dumps(asked.get("value"), sort_keys=True, default=str).encode()).hexdigest()
    return f"{asked.get('type', 'assertion')}-{digest[:6]}"


def _judge(result: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """The grader that the assertion names, or the test; the default one has no name in the file."""
    options = (result.get("testCase") or {}).get("options") or {}
    for grader in (asked.get("provider"), options.get("provider")):
        name = grader
        while isinstance(name, dict):  # graders of texts and of embeddings may each have one
            name = name.get("id") or name.get("text")
        if name:
            return str(name)
    return None


def _rendered(prompt: Any) -> str | None:
    """What the grader was sent; chats are JSON in which the texts are escaped."""
    if not isinstance(prompt, str):
        return None
    try:
        return "\n".join(str(message["content"]) for message in json.loads(prompt))
    except (ValueError, TypeError, KeyError):
        return prompt
