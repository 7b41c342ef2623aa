"""What a build is held against: lines, or a baseline with its scores, labels and prints; and the ledger of verdicts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.gate.evidence import text_prints
from calib.table import TableArgumentError, TableError
from calib.table.files import whole_or_not
from calib.table.labelled import label_pairs
from calib.table.pairs import Pair
from calib.table.validate import ValidatedTable, scores_in

ERROR = 0.05
Threshold = float | Mapping[str, float]
_SCHEMA = "calib/baseline/v1"
JUDGED_BY = ("criterion", "rater", "prompt", "method", "scale")
_ROW = ("item", "group", *JUDGED_BY, "temperature", "score", "n", "label", "label_scale", "text")


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """An accepted build.

    Attributes
    ----------
    system : str
        Its name.
    id : str
        Hash of its rows.
    scores, labels : DataFrame
        As the gate takes them; the items' ids hold the name, so that they are no others'.
    prints : dict
        Of each item's input and output, where the texts were known.

    Examples
    --------
    >>> import calib, tempfile
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     baseline = Baseline.read(saved_baseline(f"{folder}/clean.jsonl", "clean", judge, human, items))
    >>> baseline.system, len(baseline.scores), len(baseline.labels), len(baseline.prints)
    ('clean', 96, 96, 24)
    """

    system: str
    id: str
    scores: pd.DataFrame
    labels: pd.DataFrame
    prints: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """The baseline of a file; one that is none, or was edited, is refused."""
        here = Path(path)
        try:
            head, *rows = [json.loads(line) for line in here.read_text("utf-8").splitlines() if line.strip()]
            whole = head["schema"] == _SCHEMA and head["id"] == _id(head["system"], rows)
            frame = pd.DataFrame(rows, columns=list(_ROW))
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise TableError(f"{printable(here.name)}: is no baseline that `--save-baseline` wrote, or was edited.")
        own, system = frame["item"].astype(str), head["system"]
        frame = frame.assign(item="baseline:" + own, group=frame["group"].fillna(own), system=system)
        labelled = frame[frame["label"].notna()]
        labels = labelled[["item", "group", "system", "criterion"]].assign(
            rater="people of the baseline", method="human", score=labelled["label"], scale=labelled["label_scale"]
        )
        prints = frame[frame["text"].notna()].set_index("item")["text"].to_dict()
        return cls(system, head["id"], frame.drop(columns=["label", "label_scale", "text"]), labels, prints)


def saved_baseline(path: str | Path, system: str, scores: Any, labels: Any, items: pd.DataFrame | None = None) -> Path:
    """Write a build as the baseline of later ones: its scores, its labels, and prints of its outputs.

    Parameters
    ----------
    path : path
        A .jsonl file.
    system : str
    scores, labels : DataFrame
        As the gate took them.
    items : DataFrame, optional
        Texts of its outputs, by which later builds know what is unchanged.
    """
    judged, people = scores_in(scores, "scores"), scores_in(labels, "labels")
    rows = [pair.frame.assign(**{name: pair.label[name] for name in (*JUDGED_BY[:4], "temperature")})
            for pair in label_pairs(judged, people)]  # fmt: skip
    table = pd.concat(rows, ignore_index=True)
    mine = table["_merge"] != "right_only"
    mine &= table["system"] == system if "system" in table else True
    prints, table = {} if items is None else text_prints(items), table[mine]
    table = table.assign(text=table["item"].astype(str).map(prints), score=table["x"], label=table["y"])
    table = table.assign(label_scale=table.get("scale_y", ""))
    lines = [plain_json({name: row.get(name) for name in _ROW}) for row in table.to_dict("records")]
    head = {"schema": _SCHEMA, "system": system, "id": _id(system, lines), "n": len(lines)}
    where = Path(path)
    with whole_or_not(where) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), "utf-8")
    return where


def _id(system: str, rows: list[dict[str, Any]]) -> str:
    lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return _sha256([system, *lines])


def with_baseline(
    scores: Any, labels: Any, held: Baseline | None, baseline: Any
) -> tuple[ValidatedTable, Any, str | None]:
    """The tables, with the rows of a saved baseline, and its name."""
    judged = scores_in(scores, "scores")
    people = None if labels is None else scores_in(labels, "labels")
    if held is None:
        return judged, people, baseline
    _refuse_other_judge(held, judged.frame)
    mine = judged.frame.astype({"item": object})
    if "system" in mine:  # its rows here, if there are any, are those of the file
        mine = mine[mine["system"].astype(str) != held.system]
    if "group" not in mine:
        mine = mine.assign(group=mine["item"])
    both = pd.concat([mine, held.scores.reindex(columns=mine.columns)], ignore_index=True)
    theirs = held.labels
    if people is not None and len(held.labels):
        who = people.frame.astype({"criterion": str}).drop_duplicates("criterion").set_index("criterion")
        for name in ("rater", "prompt", "method", "temperature"):
            if name in who:
                theirs = theirs.assign(**{name: theirs["criterion"].map(who[name].astype(object))})
        theirs = theirs[theirs["rater"].notna()]
        theirs = pd.concat([people.frame.astype({"item": object}), theirs], ignore_index=True)
    place = both.astype({"item": object}).drop_duplicates("item").set_index("item")
    theirs = theirs.assign(**{name: theirs["item"].map(place[name]) for name in ("group", "system") if name in place})
    theirs = theirs[theirs["item"].isin(place.index)]
    return scores_in(both, "scores"), scores_in(theirs, "labels") if len(theirs) else people, held.system


def _refuse_other_judge(baseline: Baseline, scores: pd.DataFrame) -> None:
    """Scores by another judge, prompt or scale are no baseline for these."""
    mine: dict[str, set[tuple[str, ...]]] = {}
    theirs: dict[str, set[tuple[str, ...]]] = {}
    for frame, judges in ((scores, mine), (baseline.scores, theirs)):
        rows = frame[[name for name in JUDGED_BY if name in frame]].astype(str).drop_duplicates()
        for row in rows.to_dict("records"):
            judges.setdefault(row["criterion"], set()).add(tuple(row.get(name, "") for name in JUDGED_BY[1:]))
    for criterion in sorted(mine.keys() & theirs.keys()):
        if mine[criterion] != theirs[criterion]:
            before, now = (", ".join(sorted(" / ".join(filter(None, one)) for one in side[criterion]))
                           for side in (theirs, mine))  # fmt: skip
            raise TableError(
                f"{criterion}: the baseline {baseline.system!r} was judged by {before}, these scores are by {now}: "
                "have its outputs judged again, and save it anew."
            )


# --- what a gate is asked on tables: which build, which lines, held against what --------------------------------------


def lines_of_gate(
    judged: ValidatedTable, threshold: Threshold | None, margin: Threshold | None, other: str | None
) -> dict[str, float]:
    """The threshold of each criterion that is asked about."""
    if (threshold is None) == (other is None):
        came = "neither came" if threshold is None else "both came"
        raise ArgumentError("threshold", "or {0} must be given, and one of them", came, mentions=("baseline",))
    if other is not None and margin is None:
        raise ArgumentError("margin", "must be given with {0} (0 asks for better)", mentions=("baseline",))
    if other is None and margin is not None:
        raise ArgumentError("margin", "must come with {0}", "came alone", mentions=("baseline",))
    values, name = (threshold, "threshold") if other is None else (margin, "margin")
    there = list(dict.fromkeys(judged.frame["criterion"].astype(str)))
    if not there:
        raise TableArgumentError("scores", "must have rows", "has none")
    wanted = dict(values) if isinstance(values, Mapping) else dict.fromkeys(there, values)
    if other_names := [one for one in wanted if one not in there]:
        raise ArgumentError(name, f"must name criteria of the scores ({', '.join(there)})", f"got {other_names[0]!r}")
    lines = {one: float(value) for one, value in wanted.items() if value is not None}
    if name == "margin" and (less := [value for value in lines.values() if not value >= 0]):
        raise ArgumentError("margin", "must be 0 or more", f"got {less[0]:g}")
    if not lines or not np.isfinite(list(lines.values())).all():
        raise ArgumentError(name, "must be a finite number for one criterion at least", f"got {values!r}")
    return lines if other is None else {one: 0.0 - value for one, value in lines.items()}


def build_of(judged: ValidatedTable, system: str | None, other: str | None) -> str:
    """The name of the build."""
    rows = judged.frame
    there = sorted(map(str, rows["system"].dropna().unique())) if "system" in rows else []
    for name, argument in ((system, "system"), (other, "baseline")):
        if name is not None and there and str(name) not in there:
            rule = f"must be a system of the scores ({', '.join(map(repr, there))})"
            raise TableArgumentError(argument, rule, f"got {name!r}")
    if other is not None and not there:
        raise TableError("a baseline needs a column of who answered in the scores: name it by system=, or give a file.")
    rest = [name for name in there if name != other]
    if system is None and len(rest) > 1:
        raise ArgumentError("system", f"must name the build; the scores are of {', '.join(map(repr, rest))}")
    name = str(system) if system is not None else next(iter(rest), "the build")
    if name == other:
        raise ArgumentError("baseline", "must be another build than {0}", f"both are {name!r}", mentions=("system",))
    return name


def pairs_of_gate(judged: ValidatedTable, people: ValidatedTable | None, criteria: Sequence[str]) -> list[Pair]:
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
    pairs: dict[str, Pair] = {}
    if people is not None and shared:
        mine = judged.only(judged.frame["criterion"].astype(str).isin(shared))
        pairs = {str(pair.label["criterion"]): pair for pair in label_pairs(mine, people)}
    elif people is not None and len(people.frame):
        rule = f"must have labels on a criterion that is asked about ({', '.join(criteria)})"
        raise TableArgumentError("labels", rule, f"has {people.holds}")
    for name in criteria:
        if name not in pairs:  # nobody labelled it
            label, rows = judges[name][0]
            frame = rows.astype({"item": object}).rename(columns={"score": "x"})
            frame = frame.assign(y=np.nan, _merge="left_only").reset_index(drop=True)
            pairs[name] = Pair(label | {"against": ""}, frame)
    return [pairs[name] for name in criteria]


# --- the ledger of a gate: one line for each verdict ------------------------------------------------------------------


def digest_of(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """A hash of the rows of a table, in whatever order they stand.

    Examples
    --------
    >>> rows = pd.DataFrame({"item": ["a", "b"], "score": [1.0, 2.0]})
    >>> digest_of(rows, ["item", "score"]) == digest_of(rows[::-1], ["item", "score"])
    True
    """
    names = [name for name in columns if name in frame]
    plain = frame[names].astype(object).where(frame[names].notna(), None)
    lines = sorted(json.dumps(row, default=str) for row in plain.to_numpy().tolist())
    return _sha256(lines)


def _sha256(lines: Sequence[str]) -> str:
    return f"sha256:{sha256(chr(10).join(lines).encode('utf-8', 'surrogatepass')).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Verdicts of before, as their lines have them."""

    path: Path
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """The ledger of a file; one that is not there yet is empty, one with a line that is no verdict is refused."""
        here = Path(path)
        name = printable(here.name)
        if not here.exists():
            return cls(here, ())
        if not here.is_file():
            raise TableError(f"{name}: a ledger must be a file, but is none.")
        try:
            text = here.read_text("utf-8")
        except UnicodeDecodeError:
            raise TableError(f"{name}: must be UTF-8, but is not: the ledger is damaged.") from None
        lines = []
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                record = _verdict_in(line)
                if record is None:
                    rule = "must be a verdict of a gate, but is not: the ledger is damaged."
                    raise TableError(f"{name}, line {number}: {rule}")
                lines.append(record)
        return cls(here, tuple(lines))

    def looked(self, system: str, n_labels: Mapping[str, int]) -> bool:
        """Whether a verdict on this build was made with fewer labels than it has now."""
        mine = [line for line in self.lines if line["system"] == system]
        counts = [(check["criterion"], check["n_labels"]) for line in mine for check in line["checks"]]
        return any(before < n_labels.get(criterion, 0) for criterion, before in counts)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a further line; what stands there stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plain_json(record), sort_keys=True, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def plain_json(value: Any) -> Any:
    """A value as JSON has it: what is not finite, or is missing, is null."""
    if isinstance(value, Mapping):
        return {str(name): plain_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is pd.NA:
        return None
    return value if isinstance(value, str | int | bool | None) else plain_json(value.item())


def _verdict_in(text: str) -> dict[str, Any] | None:
    """What a line of a ledger holds; None where it is no verdict."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    checks = line.get("checks") if isinstance(line, dict) else None
    whole = (
        isinstance(checks, list)
        and all(isinstance(line.get(name), str) for name in ("system", "scores", "labels", "outcome"))
        and all(isinstance(one, dict) for one in checks)
        and all(isinstance(one.get("criterion"), str) and isinstance(one.get("n_labels"), int) for one in checks)
    )
    return line if whole else None
