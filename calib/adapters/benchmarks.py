"""Logs of benchmarks: lm-evaluation-harness and HELM, which are raters themselves, item by item."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.row import Row, array_of, json_of, lines_of, number, text_of

_OF_TWO = ("acc", "acc_norm", "exact_match", "acc_mutual_info", "em")
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT.*)\.jsonl")

# --- lm-eval: `samples_<task>_<date>.jsonl`, one line per document and filter, and `results_*.json` -------------------


def read_lm_eval(path: Path) -> Iterator[Row]:
    """One row per metric, document and filter, from the harness itself as rater."""
    task, model, run = _about(path)
    for line in lines_of(path):
        used = "" if line.get("filter") in (None, "none") else f",{line['filter']}"
        row = _lm_eval_row(line, task, model, run)._replace(rater="lm_eval")
        for metric in line.get("metrics") or []:
            # a metric may be a number, a list of its parts, or an object of them
            value = line.get(metric)
            parts = dict(enumerate(value)) if isinstance(value, list) else value
            values = (
                {f"{metric}.{part}": one for part, one in parts.items()} if isinstance(parts, dict) else {metric: value}
            )
            for name, one in values.items():
                score = number(one)
                yield row._replace(
                    criterion=f"{task}/{name}{used}",
                    score=score,
                    status="unread" if math.isnan(score) else "ok",
                    scale="0|1" if metric in _OF_TWO else "",
                )


def read_lm_eval_replies(path: Path) -> Iterator[Row]:
    """Where the model under test is the judge: its replies are the draws, each document once whatever its filters."""
    task, _, run = _about(path)
    seen = set()
    for line in lines_of(path):
        if line.get("doc_id") in seen:
            continue
        seen.add(line.get("doc_id"))
        doc = line.get("doc") or {}
        for draw, reply in enumerate((line.get("resps") or [[]])[0]):
            value = number(reply)
            yield _lm_eval_row(line, task, None, run)._replace(
                score=value,
                status="unread" if math.isnan(value) else "ok",
                draw=draw,
                system=text_of(doc.get("system")),
                source=text_of(doc.get("source") or doc.get("question")),
                output=text_of(doc.get("output")),
                reply=text_of(reply),
            )


def _lm_eval_row(line: dict[str, Any], task: str, model: str | None, run: str) -> Row:
    doc = line.get("doc") or {}
    name = doc.get("item") or doc.get("id") if isinstance(doc, dict) else None
    replies = (line.get("resps") or [None])[0]
    is_list = isinstance(replies, list) and replies and isinstance(replies[0], str)
    return Row(
        line,
        task,
        item=str(name) if name is not None else f"{task}-{line.get('doc_id')}",
        system=model,
        run=run,
        source=text_of(doc) if doc else None,  # two tasks may have one id
        output=text_of(replies[0] if is_list else replies),
        reference=text_of(line.get("target")),
    )


def _about(path: Path) -> tuple[str, str | None, str]:
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
            value = number(stat.get("mean", stat.get("sum"))) if stat.get("count", 1) else math.nan
            yield Row(
                instance,
                str(name.get("name") if isinstance(name, dict) else name),
                value,
                "unread" if math.isnan(value) else "ok",
                item=item,
                system=system,
                rater="helm",
                draw=int(instance.get("train_trial_index") or 0),
                run=f"helm|{spec.get('name') or path.parent.name}",
            )
