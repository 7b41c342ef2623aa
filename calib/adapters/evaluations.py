"""Logs of evaluations: DeepEval, Opik and promptfoo; the first two keep expectations without their distributions."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, field, json_lines, json_of, objects_in, score_and_status, text_of, why_missing
from calib.table import TableError

_UNNAMED = re.compile(r"(?:conversational_)?test_case_\d+")
_STEPS = re.compile(r"Evaluation Steps:\s*(\[.*?\])\s*\n", re.DOTALL)
_GEVAL = re.compile(r" \[(?:Conversational ?|Arena )?GEval\]$")
_TEMPORARY_ID = re.compile(r"temp_item_\d+")  # Opik's, in the order of completion
_LONGEST_LABEL = 40  # characters of a prompt's label in a system's name
_GRADED = (
    "llm-rubric", "g-eval", "model-graded-closedqa", "model-graded-factuality", "factuality", "answer-relevance",
    "context-recall", "context-relevance", "context-faithfulness", "conversation-relevance", "select-best", "pi",
    "search-rubric", "agent-rubric", "trajectory",
)  # fmt: skip

# --- DeepEval: `test_run_*.json` --------------------------------------------------------------------------------------


def read_deepeval(path: Path) -> Iterator[Row]:
    """One row per metric and test case; repeats are further test cases of the same name."""
    run = json_of(path)
    run = run.get("testRunData", run) if isinstance(run, dict) else run  # as `.latest_test_run.json` has it
    if not isinstance(run, dict) or "testCases" not in run:
        raise TableError(f"{path.name}: must be a test run of DeepEval, with `testCases`.")
    beside = run.get("hyperparameters") or {}
    for kind in ("testCases", "conversationalTestCases"):
        for case in objects_in(run.get(kind), path, kind):
            name, meta = str(case.get("name") or ""), case.get("metadata") or case.get("additionalMetadata") or {}
            for metric in objects_in(case.get("metricsData"), path, "metricsData"):
                steps, error = _STEPS.search(str(metric.get("verboseLogs") or "")), metric.get("error")
                criterion = _GEVAL.sub("", str(metric.get("name")))
                # a name of the evaluation steps, which is all that is kept of the prompt; an error has none
                prompt = f"steps-{hashlib.sha256(steps[1].encode()).hexdigest()[:6]}" if steps else ""
                # G-Eval alone weights by token probabilities; other metrics are ratios of verdicts
                method = "sample" if criterion == metric.get("name") and not steps else "logprob"
                yield Row(
                    {**case, "hyperparameters": beside}, criterion,
                    *score_and_status(None if error else metric.get("score"), why_missing(error)),
                    item=None if not name or _UNNAMED.fullmatch(name) else name,
                    system=text_of(meta.get("system") or beside.get("system")), prompt=prompt, method=method,
                    rater=text_of(metric.get("evaluationModel")), scale="0..1", about=meta, run="deepeval",
                    source=text_of(case.get("input") if "input" in case else case.get("turns")),
                    output=text_of(case.get("actualOutput") if "actualOutput" in case else case.get("turns")),
                    reference=text_of(case.get("expectedOutput") or case.get("expectedOutcome")),
                    reply=text_of(metric.get("reason")), messages=case.get("turns") or _turns_of(case),
                )  # fmt: skip


def _turns_of(case: dict[str, Any]) -> list[Any] | None:
    """A case of one input and output whose tools were called: the run as turns."""
    question, answer, used = case.get("input"), case.get("actualOutput"), case.get("toolsCalled")
    if not used or not isinstance(question, str):
        return None
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer or "", "toolsCalled": used}]


# --- Opik: `evaluate_on_dict_items` dumped as JSON, or `opik export experiment` ---------------------------------------


def read_opik(path: Path) -> Iterator[Row]:
    """One row per metric and item; a metric that failed wrote a 0, or nothing."""
    whole = json_of(path)
    if isinstance(whole, dict) and "test_results" in whole:
        for result in objects_in(whole["test_results"], path, "test_results"):
            case, trial = result.get("test_case") or {}, result.get("trial_id")
            data = case.get("dataset_item_content") or {}
            for score in objects_in(result.get("score_results"), path, "score_results"):
                row = _opik_row(case | {"trial_id": trial}, data, case.get("task_output"), score)
                yield row._replace(draw=trial)
        return
    if not isinstance(whole, dict) or not isinstance(whole.get("experiment"), dict):
        raise TableError(f"{path.name}: must be a result of Opik's `evaluate`, or an exported experiment.")
    items, about = objects_in(whole.get("items"), path, "items"), whole["experiment"]
    by_item = [objects_in(item.get("feedback_scores"), path, "feedback_scores") for item in items]
    # scores that failed are absent: the others' names tell; a judge and a person may each give one of a name
    judged = [[score.get("name") for score in scores if score.get("source") != "ui"] for scores in by_item]
    names = dict.fromkeys(name for present in judged for name in present)
    for item, scores, present in zip(items, by_item, judged, strict=True):
        data, output = item.get("dataset_item_data") or {}, item.get("evaluation_task_output")
        absent = [{"name": name, "value": None} for name in names if name not in present]
        for score in [*scores, *absent]:
            row = _opik_row(item, data, output, score)
            system = row.system or text_of((about.get("metadata") or {}).get("system") or about.get("name"))
            yield row._replace(system=system, run=f"opik|{about.get('id', '')}")


def _opik_row(record: dict[str, Any], data: dict[str, Any], output: Any, score: dict[str, Any]) -> Row:
    value = None if score.get("scoring_failed") else score.get("value")
    reasons = f"{score.get('reason') or ''} {field(score, 'metadata.error_info.message') or ''}"
    ids = (str(one) for one in (data.get("item"), data.get("id"), record.get("dataset_item_id")) if one)
    source = next((data[name] for name in ("input", "question", "prompt", "source") if name in data), None)
    return Row(
        record, str(score.get("name")), *score_and_status(value, why_missing(reasons)),
        item=next((one for one in ids if not _TEMPORARY_ID.fullmatch(one)), None), system=text_of(data.get("system")),
        method="human" if score.get("source") == "ui" else "logprob",
        rater=text_of(score.get("created_by")) if score.get("source") == "ui" else None, scale="0..1", run="opik",
        source=text_of(source), output=text_of(output.get("output", output) if isinstance(output, dict) else output),
        reference=text_of(data.get("reference") or data.get("expected_output")), reply=text_of(score.get("reason")),
    )  # fmt: skip


# --- promptfoo: `-o out.json` or `out.jsonl`, one result per provider, test and repeat --------------------------------


def read_promptfoo(path: Path) -> Iterator[Row]:
    """One row per assertion of each result; a grader that broke wrote a 0, which is none.

    A set of assertions stands beside its parts and is no reading of its own.
    """
    if path.suffix not in (".json", ".jsonl"):
        why = "rounds scores and loses which are errors: read the out.json or out.jsonl of it"
        raise TableError(f"{path.name}: {why}.")
    run = "promptfoo"
    if path.suffix == ".jsonl":
        results = list(json_lines(path))
    else:
        whole = json_of(path)
        outer = whole.get("results") if isinstance(whole, dict) else None
        if not isinstance(outer, dict) or not isinstance(outer.get("results"), list):
            rule = "must be the output of `promptfoo eval -o out.json`, with `results.results`"
            raise TableError(f"{path.name}: {rule}.")
        version = (whole.get("metadata") or {}).get("promptfooVersion", "")
        run = f"promptfoo {version}|{whole.get('evalId', '')}"
        results = objects_in(outer["results"], path, "results")
    prompts_of: dict[str, set[str]] = {}
    graded: dict[str, list[dict[str, Any]]] = {}  # by test what some system was graded by
    for result in results:
        prompts_of.setdefault(_provider_of(result), set()).add(_prompt_of(result))
        parts = objects_in((result.get("gradingResult") or {}).get("componentResults"), path, "componentResults")
        if parts:
            graded[_test_of(result)] = [part for part in parts if not part.get("componentResults")]
    criteria = {_criterion_of(part) for parts in graded.values() for part in parts}
    flagged: set[str] = set()
    for result in results:
        system = _provider_of(result)
        if len(prompts_of[system]) > 1:  # each prompt makes a system of its own
            system = ", ".join(filter(None, [system, _prompt_of(result)]))
        parts = (result.get("gradingResult") or {}).get("componentResults") or []
        if not parts:  # the system failed: what others were graded by on that test, or else what it says itself
            every = (result.get("testCase") or {}).get("assert") or []
            own = [{"assertion": each} for one in every for each in one.get("assert") or [one]]
            own = [part for part in own if _criterion_of(part) in criteria] or own
            failed = {"metadata": {"graderError": True}, "reason": "API error, no output", "score": None}
            parts = [{**part, **failed} for part in graded.get(_test_of(result)) or own]
        for part in parts:
            if part.get("componentResults"):
                continue
            kind = str((part.get("assertion") or {}).get("type") or "assertion")
            row = _promptfoo_row(result, part, run, kind)._replace(system=system)
            if row.is_check:
                flagged.add(kind)
            yield row
    if flagged:
        message = f"{', '.join(sorted(flagged))} are checks and no judge: their rows have the check's name as rater."
        warnings.warn(f"not_judged: {message}", stacklevel=2)


def _provider_of(result: dict[str, Any]) -> str:
    provider = result.get("provider") or {}
    return str(text_of(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider)


def _prompt_of(result: dict[str, Any]) -> str:
    """A short name of the prompt: its label, which is the template where it has none of its own."""
    prompt = result.get("prompt") or {}
    label = " ".join(str(prompt.get("label") or result.get("promptId") or "").split())
    if len(label) <= _LONGEST_LABEL:
        return label
    return f"{label[: _LONGEST_LABEL - 10].rstrip()}... {hashlib.sha256(label.encode()).hexdigest()[:6]}"


def _test_of(result: dict[str, Any]) -> str:
    """What all prompts and providers were asked in a test: its variables, but for those that the tool adds."""
    values = (result.get("testCase") or {}).get("vars") or result.get("vars") or {}
    values = {name: value for name, value in values.items() if not name.startswith("_")}
    return json.dumps(values, sort_keys=True, default=str) if values else ""


def _criterion_of(part: dict[str, Any]) -> str:
    assertion = part.get("assertion") or {}
    if metric := assertion.get("metric"):
        return str(metric)
    value = json.dumps(assertion.get("value"), sort_keys=True, default=str)
    return f"{assertion.get('type', 'assertion')}-{hashlib.sha256(value.encode()).hexdigest()[:6]}"


def _promptfoo_row(result: dict[str, Any], part: dict[str, Any], run: str, kind: str) -> Row:
    assertion, meta = part.get("assertion") or {}, part.get("metadata") or {}
    prompt = meta.get("renderedGradingPrompt")
    prompt = prompt if isinstance(prompt, str) else None
    with suppress(ValueError, TypeError, KeyError, RecursionError):  # chats are JSON in which the texts are escaped
        prompt = prompt and "\n".join(str(message["content"]) for message in json.loads(prompt))
    test = result.get("testCase") or {}
    rater = None  # the grader that the assertion names, or the test; the default one has no name in the file
    for grader in (assertion.get("provider"), (test.get("options") or {}).get("provider")):
        name = grader
        while isinstance(name, dict):  # graders of texts and of embeddings may each have one
            name = name.get("id") or name.get("text")
        rater = rater or (str(name) if name else None)
    is_check = kind.removeprefix("not-") not in _GRADED
    return Row(
        result, _criterion_of(part),
        *score_and_status(None if meta.get("graderError") else part.get("score"), why_missing(part.get("reason"))),
        rater=kind if is_check else rater, is_check=is_check, question=prompt, scale="0..1", run=run,
        source=text_of((result.get("prompt") or {}).get("raw")) or text_of(result.get("vars")),
        task=_test_of(result) or None, about=test.get("metadata") or {},
        output=text_of((result.get("response") or {}).get("output")),
        reference=text_of((result.get("vars") or {}).get("reference")), reply=text_of(part.get("reason")),
    )  # fmt: skip
