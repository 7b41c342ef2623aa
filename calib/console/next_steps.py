"""The one command that makes sense after another, with the files and columns that were named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calib.console.menu import MENU

_CHOOSE = "choose {judge} 60 --out chosen.csv"
_STEPS = {name: step for group in MENU.values() for name, (_, step) in group.items()}
_OF_LABELS = ("label_item=", "annotator=")


def step_after(command: str, values: Mapping[str, Any], columns: Iterable[str]) -> str | None:
    """What to type next; None where the command itself ends with that, or its result decides.

    Examples
    --------
    >>> step_after("agreement", {"file": Path("my file.csv"), "labels": None, "label": ["human"]}, ["label"])
    "calib interval 'my file.csv' --label human"
    """
    from calib.inputs.look import as_options, shell_word

    def place(path: Path) -> str:  # a file whose name begins as an option does
        return f"./{path}" if str(path)[:1] == "-" else str(path)

    files = [values.get(name) for name in ("file", "first", "sampled", "ratings", "then", "labels")]
    files += [Path(one) for one in values.get("arguments", ()) if Path(one).is_file()]
    paths = [shell_word(place(path)) for path in files if isinstance(path, Path)]
    if command == "calibrate" and any(values[name] for name in ("apply", "at", "save")):
        return None
    template = _STEPS[command]
    if command in ("interval", "difference") and values["estimator"] == "judge_only":  # a report needs labels
        template = _CHOOSE
    written = values.get("out")
    needs_file = "{out}" in template or "{out_" in template
    if not template or values.get("dry_run") or (needs_file and not (written and written.exists())):
        return None
    named = {name: place(one) if isinstance(one, Path) else one for name in columns if (one := values.get(name))}
    of_judge = {name: one for name, one in named.items() if name != "label"}
    if "column" in of_judge:
        of_judge["column"] = [one for one in named["column"] if not one.startswith(_OF_LABELS)]
    all_options, options = ([shell_word(word) for word in as_options(each)] for each in (named, of_judge))
    first = (paths or ["SCORES.csv"])[0]
    words = {"same": " ".join([*paths, *all_options]), "first": first, "judge": " ".join([first, *options])}
    words |= {"judges": "SCORES.csv"}
    words |= {name: shell_word(place(values[name])) for name in ("out", "now", "judges") if values.get(name)}
    if "out" in words:
        words |= {f"out_{name}": shell_word(place(values["out"] / f"{name}.csv")) for name in ("results", "ratings")}
    cut = ""
    if command == "pass-fail" and values.get("label_threshold") is not None:
        cut = f" --cut {values['label_threshold']:g}"
        cut += "" if values.get("judge_threshold") is None else f" --judge-cut {values['judge_threshold']:g}"
    return f"calib {template.format(**words)}{cut}"
