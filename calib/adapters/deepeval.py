"""DeepEval: `test_run_*.json`, a run with its test cases; it keeps expectations, not what they are of."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import json_of, objects_in
from calib.adapters.row import Row, number, text_of, why_missing
from calib.table import TableError

STEP = 0.1  # G-Eval answers 0 to 10, divided by 10
_UNNAMED = re.compile(r"(?:conversational_)?test_case_\d+")
_STEPS = re.compile(r"Evaluation Steps:\s*(\[.*?\])\s*\n", re.DOTALL)


def sniff(name: str, head: str) -> bool:
    """Whether a file is a test run."""
    return '"testCases"' in head and name.endswith(".json")


def read(path: Path) -> Iterator[Row]:
    """One row per metric and test case; repeats are further test cases of the same name."""
    run = json_of(path)
    run = run.get("testRunData", run) if isinstance(run, dict) else run  # as `.latest_test_run.json` has it
    if not isinstance(run, dict) or "testCases" not in run:
        raise TableError(f"{path.name}: must be a test run of DeepEval, with `testCases`.")
    beside = run.get("hyperparameters") or {}
    for kind in ("testCases", "conversationalTestCases"):
        for case in objects_in(run.get(kind), path, kind):
            for metric in objects_in(case.get("metricsData"), path, "metricsData"):
                yield _row(case, metric, beside)


def _row(case: dict[str, Any], metric: dict[str, Any], beside: dict[str, Any]) -> Row:
    name, meta = str(case.get("name") or ""), case.get("metadata") or case.get("additionalMetadata") or {}
    score, steps = number(metric.get("score")), _STEPS.search(str(metric.get("verboseLogs") or ""))
    missing = math.isnan(score) or bool(metric.get("error"))
    return Row(
        {**case, "hyperparameters": beside},
        re.sub(r" \[(?:Conversational ?|Arena )?GEval\]$", "", str(metric.get("name"))),
        math.nan if missing else score,
        why_missing(metric.get("error")) if missing else "ok",
        item=None if not name or _UNNAMED.fullmatch(name) else name,
        system=text_of(meta.get("system") or beside.get("system")),
        rater=text_of(metric.get("evaluationModel")),
        # a name of the evaluation steps, which is all that is kept of the prompt; an error has none
        prompt=f"steps-{hashlib.sha256(steps[1].encode()).hexdigest()[:6]}" if steps else "",
        method="logprob",
        scale="0..1",
        run="deepeval",
        source=text_of(case.get("input") if "input" in case else case.get("turns")),
        output=text_of(case.get("actualOutput") if "actualOutput" in case else case.get("turns")),
        reference=text_of(case.get("expectedOutput") or case.get("expectedOutcome")),
        reply=text_of(metric.get("reason")),
    )
