"""What a gate is asked on tables: which build, which lines, held against what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.gate.baseline import Baseline, refuse_other_judge
from calib.table import TableArgumentError, TableError
from calib.table.gold import gold_pairs
from calib.table.pairs import Pair
from calib.table.validate import Checked, scores_in

ERROR = 0.05
Line = float | Mapping[str, float]


def read_baseline(baseline: str | Path | Baseline | None) -> Baseline | None:
    """A baseline of a file, where the word is a file's and no system's."""
    is_file = isinstance(baseline, Path) or (isinstance(baseline, str) and baseline.endswith((".jsonl", ".json")))
    return Baseline.read(baseline) if is_file else None  # type: ignore[arg-type]


def with_baseline(scores: Any, gold: Any, held: Baseline | None, baseline: Any) -> tuple[Checked, Any, str | None]:
    """The tables, with the rows of a saved baseline, and its name."""
    judged = scores_in(scores, "scores")
    people = None if gold is None else scores_in(gold, "gold")
    if held is None:
        return judged, people, baseline
    refuse_other_judge(held, judged.frame)
    mine = judged.frame.astype({"item": object})
    if "system" in mine:  # its rows here, if there are any, are those of the file
        mine = mine[mine["system"].astype(str) != held.system]
    if "group" not in mine:
        mine = mine.assign(group=mine["item"])
    both = pd.concat([mine, held.scores.reindex(columns=mine.columns)], ignore_index=True)
    theirs = held.gold
    if people is not None and len(held.gold):
        who = people.frame.astype({"criterion": str}).drop_duplicates("criterion").set_index("criterion")
        for name in ("rater", "prompt", "method", "temperature"):
            if name in who:
                theirs = theirs.assign(**{name: theirs["criterion"].map(who[name].astype(object))})
        theirs = theirs[theirs["rater"].notna()]
        theirs = pd.concat([people.frame.astype({"item": object}), theirs], ignore_index=True)
    place = both.astype({"item": object}).drop_duplicates("item").set_index("item")
    theirs = theirs.assign(**{name: theirs["item"].map(place[name]) for name in ("group", "system") if name in place})
    theirs = theirs[theirs["item"].isin(place.index)]
    return scores_in(both, "scores"), scores_in(theirs, "gold") if len(theirs) else people, held.system


def lines_of_gate(judged: Checked, above: Line | None, margin: Line | None, other: str | None) -> dict[str, float]:
    """The line of each criterion that is asked about."""
    if (above is None) == (other is None):
        came = "neither came" if above is None else "both came"
        raise ArgumentError("above", "or {0} must be given, and one of them", came, mentions=("baseline",))
    if other is not None and margin is None:
        raise ArgumentError("margin", "must be given with {0} (0 asks for better)", mentions=("baseline",))
    if other is None and margin is not None:
        raise ArgumentError("margin", "must come with {0}", "came alone", mentions=("baseline",))
    given_, name = (above, "above") if other is None else (margin, "margin")
    there = list(dict.fromkeys(judged.frame["criterion"].astype(str)))
    if not there:
        raise TableArgumentError("scores", "must have rows", "has none")
    wanted = dict(given_) if isinstance(given_, Mapping) else dict.fromkeys(there, given_)
    if strangers := [one for one in wanted if one not in there]:
        raise ArgumentError(name, f"must name criteria of the scores ({', '.join(there)})", f"got {strangers[0]!r}")
    lines = {one: float(value) for one, value in wanted.items() if value is not None}
    if name == "margin" and (less := [value for value in lines.values() if not value >= 0]):
        raise ArgumentError("margin", "must be 0 or more", f"got {less[0]:g}")
    if not lines or not np.isfinite(list(lines.values())).all():
        raise ArgumentError(name, "must be a finite number for one criterion at least", f"got {given_!r}")
    return lines if other is None else {one: 0.0 - value for one, value in lines.items()}


def build_of(judged: Checked, system: str | None, other: str | None) -> str:
    """The name of the build."""
    rows = judged.frame
    there = sorted(map(str, rows["system"].dropna().unique())) if "system" in rows else []
    for name, argument in ((system, "system"), (other, "baseline")):
        if name is not None and there and str(name) not in there:
            known = ", ".join(map(repr, there))
            raise TableArgumentError(argument, f"must be a system of the scores ({known})", f"got {name!r}")
    if other is not None and not there:
        raise TableError("a baseline needs a column of who answered in the scores: name it by system=, or give a file.")
    rest = [name for name in there if name != other]
    if system is None and len(rest) > 1:
        raise ArgumentError("system", f"must name the build; the scores are of {', '.join(map(repr, rest))}")
    name = str(system) if system is not None else next(iter(rest), "the build")
    if name == other:
        raise ArgumentError("baseline", "must be another build than {0}", f"both are {name!r}", mentions=("system",))
    return name


def pairs_of_gate(judged: Checked, people: Checked | None, criteria: Sequence[str]) -> list[Pair]:
    """The judge beside people on each criterion that is asked about, whether people labelled it or not."""
    judges: dict[str, list[tuple[dict[str, Any], pd.DataFrame]]] = {name: [] for name in criteria}
    for label, rows in judged.slices():
        judges.get(str(label["criterion"]), []).append((label, rows))
    for criterion, several in judges.items():
        if len(several) > 1:
            who = ", ".join(
                " / ".join(filter(None, (one["rater"], one["prompt"], one["method"]))) for one, _ in several
            )
            rule = "must hold one judge, prompt and method for each criterion of a gate: select one"
            raise TableArgumentError("scores", rule, f"{criterion!r} has {who}")
    shared = set() if people is None else set(people.frame["criterion"].astype(str)) & set(criteria)
    found: dict[str, Pair] = {}
    if people is not None and shared:
        mine = judged.only(judged.frame["criterion"].astype(str).isin(shared))
        found = {str(pair.label["criterion"]): pair for pair in gold_pairs(mine, people)}
    elif people is not None and len(people.frame):
        rule = f"must have labels on a criterion that is asked about ({', '.join(criteria)})"
        raise TableArgumentError("gold", rule, f"has {people.holds}")
    return [found[name] if name in found else _unlabelled(*judges[name][0]) for name in criteria]


def _unlabelled(label: dict[str, Any], rows: pd.DataFrame) -> Pair:
    frame = rows.astype({"item": object}).rename(columns={"score": "x"})
    return Pair(label | {"against": ""}, frame.assign(y=np.nan, _merge="left_only").reset_index(drop=True))
