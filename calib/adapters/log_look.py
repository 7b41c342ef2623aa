"""A look at another tool's log: what it holds, and what to type."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

import pandas as pd

from calib.adapters.read_log import read_log, tool_of
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.text import printable, shortlist
from calib.inputs.names import Source
from calib.inputs.source import field_of_ids
from calib.table import TableError
from calib.table.text import visible

_TABLES, _MOST_FILES = (".csv", ".tsv", ".xlsx", ".jsonl"), 20  # of labels beside a log
_MOST = 6  # systems and criteria that are named
_STANDS_FOR = {"rater": "JUDGE", "scale": "1|2|3|4|5"}  # what a user has to say of some logs
_PEOPLE = "people.csv holds labels of some of the outputs: item, criterion, rater, score, scale."


def look_at_log(path: Path) -> str | None:
    """What a log holds, and the lines to type, as text; None where a file is no log of another tool.

    Examples
    --------
    >>> look_at_log(Path("setup.cfg")) is None
    True
    """
    tool = tool_of(path)
    if tool is None:
        return None
    lines, options, assumed = [f"{visible(path.name)} is a log of {tool}."], dict[str, str](), list[str]()
    labels = _labels_beside(path)
    if labels is not None:
        options["item"] = field_of_ids(path, labels)[0]
    while True:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                items, table = read_log(path, tool=tool, **options)  # type: ignore[arg-type]
        except ArgumentError as error:
            sentence = error.sentence("--{}".format)
            if error.argument in options or error.argument not in _STANDS_FOR:
                return "\n".join([*lines, "", sentence])
            options[error.argument] = _STANDS_FOR[error.argument]
            assumed.append(f"{sentence} {options[error.argument]} stands for it here.")
        except TableError as error:
            return "\n".join([*lines, "", str(error)])
        else:
            break
    version = [*str(table["run"].iloc[0]).split("|"), tool][1] if "run" in table else tool
    lines = [f"{visible(path.name)} is a log of {visible(version.strip())}.", *_holds(items, table)]
    notes = dict.fromkeys([*assumed, *(str(one.message) for one in caught)])
    if notes:
        lines += ["", "What to know", *(f"  - {printable(note)}" for note in notes)]
    words = " ".join(f"--{name} {shlex.quote(value)}" for name, value in options.items())
    name, out = shlex.quote(str(path)), "ratings.csv" if "draw" in table else "scores.csv"
    by = " --by system" if "system" in items else ""
    human = bool((table["method"] == "human").any())  # labels of people, who used the tool
    people = "people.csv" if labels is None else shlex.quote(str(labels))
    words += " --labels people.csv" * human
    reading = f"calib read-log {name} {words.strip()}{' ' * bool(words)}--out {out} --items items.csv"
    lines += ["", "In a shell", f"  {reading}"]
    needs_people = not human and labels is None
    lines += [f"  calib interval {out} {people} --items items.csv{by}", *[f"  {_PEOPLE}"] * needs_people]
    arguments = "".join(f", {name}={value!r}" for name, value in options.items())
    lines += ["", "In Python", f"  items, {out[:-4]} = calib.read_log({str(path)!r}{arguments})"]
    if human:
        lines.append(f"""  human = {out[:-4]}["method"] == "human\"""")
    if out == "ratings.csv":
        lines.append(f"  scores = calib.summarize(ratings{'[~human]' * human}, items)")
    whose = f"{out[:-4]}[human]" if human else f'"{people}"'
    lines.append(f"""  means = calib.interval(scores, {whose}{', by="system"' * bool(by)})""")
    return "\n".join(lines)


def log_beside(path: Path, labels: Path) -> Source | None:
    """The scores of a log whose records hold the ids of the labels; None for any other file."""
    tool = tool_of(path) if path.suffix == ".json" else None
    if tool is None or not (field := field_of_ids(path, labels)[0]):
        return None
    check.warn(f"{path.name} is a log of {tool}: read by its field `{field}` (`calib read-log --item {field}`).")
    try:
        table = read_log(path, tool=tool, item=field)[1]
    except ArgumentError as error:
        if error.argument != "rater":
            raise
        table = read_log(path, tool=tool, item=field, rater="judge")[1]
    return Source(table, path.name, path)


def _labels_beside(path: Path) -> Path | None:
    """The first file beside a log that holds ids of its records."""
    beside = sorted(one for one in path.parent.iterdir() if one != path and one.suffix in _TABLES)[:_MOST_FILES]
    return next((one for one in beside if path.suffix == ".json" and field_of_ids(path, one)[0]), None)


def _holds(items: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Outputs and systems; of each criterion and rater how many scores could be read."""
    groups = f" to {items['group'].nunique()} inputs" if "group" in items else ""
    names = [visible(str(name)) for name in items["system"].unique()] if "system" in items else []
    lines = [f"  {len(items)} outputs{groups}{f', by {shortlist(names, _MOST)}' * bool(names)}"]
    plain = table.astype(dict.fromkeys(("criterion", "rater", "scale", "status", "method"), object))
    single = [name for name in ("item", "criterion", "rater", "method", "prompt", "run", "draw") if name in plain]
    plain = plain.sort_values("status", key=lambda one: one != "ok", kind="stable").drop_duplicates(single)
    parts = plain.groupby(["criterion", "rater", "method"], sort=False)
    for (criterion, rater, method), rows in list(parts)[: 2 * _MOST]:
        lost = rows.loc[rows["status"] != "ok", "status"].value_counts()
        counts = ", ".join([f"{(rows['status'] == 'ok').sum()} read", *(f"{n} {why}" for why, n in lost.items())])
        who = "by the person" if method == "human" else "by"
        scale = f" on {rows['scale'].iloc[0]}" if rows["scale"].iloc[0] else ", scale unknown (--scale)"
        lines.append(f"  {visible(criterion)}: {len(rows)} scores {who} {visible(rater)}{scale}: {counts}")
    if len(parts) > 2 * _MOST:
        lines.append(f"  and {len(parts) - 2 * _MOST} further criteria and raters")
    return lines
