"""Logs of benchmarks and batches: lm-evaluation-harness, HELM, OpenAI's evals and its Batch API."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, array_of, head_of, json_lines, json_of, score_and_status, text_of
from calib.table import TableError

_OF_TWO = ("acc", "acc_norm", "exact_match", "acc_mutual_info", "em")
_LETTERS = {"Y": 1.0, "N": 0.0}  # of OpenAI's evals
_MOST_REQUESTS = 1 << 20  # lines of a batch's input file that are held
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT.*)\.jsonl")

# --- lm-eval: `samples_<task>_<date>.jsonl`, one line per document and filter, and `results_*.json` -------------------


def read_lm_eval(path: Path) -> Iterator[Row]:
    """One row per metric, document and filter, from the harness itself as rater."""
    task, model, run = _run_info(path)
    for line in json_lines(path):
        used = "" if line.get("filter") in (None, "none") else f",{line['filter']}"
        row = _lm_eval_row(line, task, model, run)._replace(rater="lm_eval")
        for metric in line.get("metrics") or []:
            # a metric may be a number, a list of its parts, or an object of them
            value, values = line.get(metric), {metric: line.get(metric)}
            if isinstance(value, list | dict):
                parts = enumerate(value) if isinstance(value, list) else value.items()
                values = {f"{metric}.{part}": one for part, one in parts}
            for name, one in values.items():
                score, status = score_and_status(one)
                scale = "0|1" if metric in _OF_TWO else ""
                yield row._replace(criterion=f"{task}/{name}{used}", score=score, status=status, scale=scale)


def read_lm_eval_replies(path: Path) -> Iterator[Row]:
    """Where the model under test is the judge: its replies are the draws, each document once whatever its filters."""
    task, _, run = _run_info(path)
    seen = set()
    for line in json_lines(path):
        if line.get("doc_id") in seen:
            continue
        seen.add(line.get("doc_id"))
        doc = line.get("doc") or {}
        for draw, reply in enumerate((line.get("resps") or [[]])[0]):
            score, status = score_and_status(reply)
            yield _lm_eval_row(line, task, None, run)._replace(
                score=score, status=status, draw=draw, system=text_of(doc.get("system")),
                source=text_of(doc.get("source") or doc.get("question")), output=text_of(doc.get("output")),
                reply=text_of(reply),
            )  # fmt: skip


def _lm_eval_row(line: dict[str, Any], task: str, model: str | None, run: str) -> Row:
    doc = line.get("doc") or {}
    name = doc.get("item") or doc.get("id") if isinstance(doc, dict) else None
    replies = (line.get("resps") or [None])[0]
    is_list = isinstance(replies, list) and replies and isinstance(replies[0], str)
    source = text_of(doc) if doc else None  # two tasks may have one id
    return Row(
        line, task, item=str(name) if name is not None else f"{task}-{line.get('doc_id')}", system=model, run=run,
        source=source, output=text_of(replies[0] if is_list else replies), reference=text_of(line.get("target")),
    )  # fmt: skip


def _run_info(path: Path) -> tuple[str, str | None, str]:
    """Task, model and run, from the file's name and the results beside it."""
    named = _NAME.fullmatch(path.name)
    task, date = (named["task"], named["date"]) if named else (path.stem.removeprefix("samples_"), "")
    for beside in sorted(path.parent.glob("results*.json")):
        if (date and date in beside.name) or beside.name == "results.json" or not date:
            about = json_of(beside)
            version, model = about.get("lm_eval_version", ""), about.get("model_name")
            return task, text_of(model), f"lm_eval {version}|{task} {about.get('date', date)}"
    return task, None, f"lm_eval|{task} {date}"


# --- HELM: `per_instance_stats.json`, a list of statistics by instance, which may be gigabytes long -------------------


def read_helm(path: Path) -> Iterator[Row]:
    """One row per statistic and instance; a perturbed instance is an item of its own."""
    beside = path.with_name("run_spec.json")
    spec = json_of(beside) if beside.exists() else {}
    # class and arguments tell instances of one scenario from those of another, which have the same ids
    about = spec.get("scenario_spec") or {}
    arguments = [f"{name}={value}" for name, value in (about.get("args") or {}).items()]
    scenario = ",".join(filter(None, [str(about.get("class_name") or "").rpartition(".")[2], *arguments]))
    system = text_of((spec.get("adapter_spec") or {}).get("model"))
    for instance in array_of(path):
        moved = instance.get("perturbation") or {}
        perturbation = text_of(moved.get("name")) if isinstance(moved, dict) else text_of(moved)
        item = "/".join(filter(None, (scenario, str(instance.get("instance_id")), perturbation)))
        for stat in instance.get("stats") or []:
            name = stat.get("name")
            yield Row(
                instance, str(name.get("name") if isinstance(name, dict) else name),
                *score_and_status(stat.get("mean", stat.get("sum")) if stat.get("count", 1) else None), item=item,
                system=system, rater="helm", draw=int(instance.get("train_trial_index") or 0),
                run=f"helm|{spec.get('name') or path.parent.name}",
            )  # fmt: skip


# --- OpenAI's Batch API: the replies, and the input beside them, which has the prompts --------------------------------


def read_batch(path: Path) -> Iterator[Row]:
    """One row per choice; `custom_id` is ``criterion/item``, or else the item of a criterion called "score"."""
    requests: dict[str, Any] = {}
    for beside in sorted(path.parent.glob("*.jsonl")):
        head = head_of(beside)
        if beside != path and '"custom_id"' in head and '"url"' in head and '"response"' not in head:
            for line in json_lines(beside):
                if len(requests) < _MOST_REQUESTS:
                    requests[str(line.get("custom_id"))] = line.get("body") or {}
    for line in json_lines(path):
        name = str(line.get("custom_id"))
        criterion, slash, item = name.partition("/")
        criterion, item = (criterion, item) if slash else ("score", name)
        row = Row(line | {"request": requests.get(name)}, criterion, item=item, run="openai_batch")
        if request := requests.get(name):
            temperature = math.nan if request.get("temperature") is None else float(request["temperature"])
            text = "\n".join(str(message.get("content")) for message in request.get("messages") or [])
            row = row._replace(question=text, rater=text_of(request.get("model")), temperature=temperature)
        response = line.get("response") or {}
        body = response.get("body") or {}
        if body.get("object") not in (None, "chat.completion"):
            problem = f"the replies are {body['object']!r}, where only those of /v1/chat/completions can be read"
            raise TableError(f"{row.criterion}/{row.item}: {problem}.")
        row, choices = row._replace(rater=text_of(body.get("model")) or row.rater), body.get("choices") or []
        if line.get("error") or response.get("status_code", 200) != 200 or not choices:
            yield row._replace(status="failed")
        for choice in choices if not line.get("error") else []:
            reply = text_of((choice.get("message") or {}).get("content"))
            yield row._replace(completion={"choices": [choice]}, reply=reply)


# --- OpenAI's evals: one event a line ---------------------------------------------------------------------------------


def read_evals(path: Path) -> Iterator[Row]:
    """One row per score of a sample: its metrics, its match, or its failure."""
    spec: dict[str, Any] = {}
    sampling: dict[str, Any] = {}  # by sample the first event; what follows is the judge's
    graded: set[str] = set()
    finished = False
    for line in json_lines(path):
        spec, finished = line.get("spec") or spec, finished or "final_report" in line
        data, sample = line.get("data") or {}, str(text_of(line.get("sample_id")))
        if line.get("type") == "sampling":
            if sample in graded:
                graded.discard(sample)
                sampling.pop(sample, None)
            sampling.setdefault(sample, data)
        if line.get("type") not in ("metrics", "match", "error"):
            continue
        graded.add(sample)
        names, sampled = spec.get("completion_fns") or [None], (sampling.get(sample) or {}).get("sampled")
        row = Row(
            line, str(spec.get("base_eval") or spec.get("eval_name") or "eval"), item=text_of(line.get("sample_id")),
            system=text_of(names[0]), rater="oaieval",
            run=f"openai_evals|{spec.get('run_id') or line.get('run_id') or ''}",
            output=text_of(sampled[0] if isinstance(sampled, list) and sampled else sampled),
        )  # fmt: skip
        if line["type"] == "error":
            yield row._replace(status="failed")
            continue
        scores = {row.criterion: data.get("correct")}
        if line["type"] == "match":
            row = row._replace(scale="0|1", reference=text_of(data.get("expected")))
        elif "choice" in data or "score" in data:
            choice, value = data.get("choice"), data.get("score")
            value = _LETTERS.get(str(choice)) if value is None else value
            # where no choice was found, the tool wrote the lowest score there is
            scores = {row.criterion: None if choice == "__invalid__" else value}
            row = row._replace(rater=text_of(names[-1]), reply=text_of(choice))
        else:
            scores = {
                str(name): one for name, one in data.items() if one is None or isinstance(one, bool | int | float)
            }
        for criterion, value in scores.items():
            score, status = score_and_status(value)
            yield row._replace(criterion=criterion, score=score, status=status)
    if not finished:
        warnings.warn(f"partial: {path.name} has no final report: the run broke off.", stacklevel=2)
