"""The one command that makes sense after another, with the files and columns that were named."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_CHOOSE = "calib choose {first} 60 --out chosen.csv"
# {same} is FILE, LABELS and the columns as they were typed, {first} the first file
_AFTER = {
    "pair-items": "calib rate {out} --pairwise --criterion NAME --model MODEL --out verdicts.csv",
    "rate": "calib choose {out} 60 --out chosen.csv",
    "read-log": "calib look {out}",
    "summarize": "calib choose {out} 60 --out chosen.csv",
    "agreement": "calib interval {same}",
    "rank-judges": "calib interval {same}",
    "reliability": "calib agreement SCORES.csv {first}",
    "convergence": "calib rate ITEMS.csv --method sample --draws N --criterion NAME --model MODEL --out ratings.csv",
    "sensitivity": "calib summarize {first} --out scores.csv",
    "drift": "calib agreement {now} LABELS.csv",
    "interval": "calib report {same}",
    "difference": "calib report {same}",
    "calibrate": "calib calibrate {same} --save calibration.json",
    "forecast-quality": "calib score-sets {same}",
    "score-sets": "calib escalate {same} --within 1",
    "escalate": "calib label {out} {first} --out label.html",
    "pass-fail": "calib gate-judge {same} --kappa 0.6",
    "position-bias": "calib pairwise-agreement {first} LABELS.csv",
    "pairwise-agreement": "calib leaderboard {same}",
    "length-controlled": "calib leaderboard {same}",
    "leaderboard": "calib report {same}",
    "bias": "calib report {same}",
    "rater-effects": "calib agreement {same}",
    "compare": "calib report {same}",
    "labels-needed": "calib choose {first} N --out chosen.csv",
    "plan": "calib choose {first} N --out chosen.csv",
    "profile": "calib agreement {same}",
}


def step_after(command: str, values: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """What to type next; None where the command itself ends with that, or its result decides.

    Examples
    --------
    >>> step_after("agreement", {"file": Path("my file.csv"), "labels": None, "label": ["human"]}, ["label"])
    "calib interval 'my file.csv' --label human"
    """
    files = [values.get(name) for name in ("file", "first", "sampled", "ratings", "then", "labels")]
    files += [Path(one) for one in values.get("arguments", ()) if Path(one).is_file()]
    paths = [shlex.quote(str(path)) for path in files if isinstance(path, Path)]
    if command == "data":
        return f"calib look {shlex.quote(str(values['out'] / 'ratings.csv'))}" if values["out"] else None
    if command == "calibrate" and any(values[name] for name in ("apply", "at", "save")):
        return None
    template = _AFTER.get(command)
    if command == "interval" and values["estimator"] == "judge_only":
        template = _CHOOSE
    if template is None or ("{out}" in template and values["out"] is None):
        return None
    named = [(name, values[name]) for name in columns if values.get(name)]
    words = [(name, one) for name, value in named for one in (value if isinstance(value, list) else [value])]
    options = [f"--{name} {shlex.quote(str(one))}" for name, one in words]
    single = {name: shlex.quote(str(values[name])) for name in ("out", "now") if values.get(name)}
    return template.format(same=" ".join((*paths, *options)), first=" ".join(paths[:1]), **single)
