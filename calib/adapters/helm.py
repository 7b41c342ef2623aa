"""HELM: `per_instance_stats.json`, a list of statistics by instance, which may be gigabytes long."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calib.adapters.read_log import array_of, json_of
from calib.adapters.row import Row, number, text_of


def sniff(name: str, head: str) -> bool:
    """Whether a file is such a list."""
    return name.endswith(".json") and '"instance_id"' in head and '"stats"' in head and head.lstrip().startswith("[")


def read(path: Path) -> Iterator[Row]:
    """One row per statistic and instance; a perturbed instance is an item of its own."""
    beside = path.with_name("run_spec.json")
    spec = json_of(beside) if beside.exists() else {}
    scenario = _scenario(spec.get("scenario_spec") or {})
    system = text_of((spec.get("adapter_spec") or {}).get("model"))
    for found in array_of(path):
        moved = found.get("perturbation") or {}
        name = text_of(moved.get("name")) if isinstance(moved, dict) else text_of(moved)
        item = "/".join(filter(None, (scenario, str(found.get("instance_id")), name)))
        for stat in found.get("stats") or []:
            yield _row(found, stat, item, system, str(spec.get("name") or path.parent.name))


def _scenario(spec: dict[str, Any]) -> str:
    """What tells instances of one scenario from those of another, which have the same ids."""
    known = [str(spec.get("class_name") or "").rpartition(".")[2]]
    return ",".join(filter(None, known + [f"{name}={value}" for name, value in (spec.get("args") or {}).items()]))


def _row(found: dict[str, Any], stat: dict[str, Any], item: str, system: str | None, run: str) -> Row:
    about = stat.get("name")
    name = about.get("name") if isinstance(about, dict) else about
    count = stat.get("count", 1)
    value = number(stat.get("mean", stat.get("sum"))) if count else math.nan
    return Row(
        found,
        str(name),
        value,
        "unread" if math.isnan(value) else "ok",
        item=item,
        system=system,
        rater="helm",
        draw=int(found.get("train_trial_index") or 0),
        run=f"helm|{run}",
    )
