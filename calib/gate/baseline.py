"""The build that others are held against: its scores, labels and prints of its outputs, with an identity."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.text import printable
from calib.gate.evidence import text_prints
from calib.table import TableError
from calib.table.files import whole_or_not
from calib.table.gold import gold_pairs
from calib.table.validate import scores_in

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
    scores, gold : DataFrame
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
    >>> baseline.system, len(baseline.scores), len(baseline.gold), len(baseline.prints)
    ('clean', 96, 96, 24)
    """

    system: str
    id: str
    scores: pd.DataFrame
    gold: pd.DataFrame
    prints: Mapping[str, str]

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """The baseline of a file.

        Raises
        ------
        TableError
            If it is none, or was edited.
        FileNotFoundError
        """
        here = Path(path)
        try:
            head, *rows = [json.loads(line) for line in here.read_text("utf-8").splitlines() if line.strip()]
            whole = head["schema"] == _SCHEMA and head["id"] == _id(head["system"], rows)
            frame = pd.DataFrame(rows, columns=list(_ROW))
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise TableError(f"{printable(here.name)}: is no baseline that `--save-baseline` wrote, or was edited.")
        return _baseline(head["system"], head["id"], frame)


def _baseline(system: str, name: str, frame: pd.DataFrame) -> Baseline:
    own = frame["item"].astype(str)
    frame = frame.assign(
        item="baseline:" + own, group=frame["group"].fillna(own), system=system, temperature=frame["temperature"]
    )
    labelled = frame[frame["label"].notna()]
    gold = labelled[["item", "group", "system", "criterion"]].assign(
        rater="people of the baseline", method="human", score=labelled["label"], scale=labelled["label_scale"]
    )
    prints = frame[frame["text"].notna()].set_index("item")["text"].to_dict()
    return Baseline(system, name, frame.drop(columns=["label", "label_scale", "text"]), gold, prints)


def saved_baseline(path: str | Path, system: str, scores: Any, gold: Any, items: pd.DataFrame | None = None) -> Path:
    """Write a build as the baseline of later ones: its scores, its labels, and prints of its outputs.

    Parameters
    ----------
    path : path
        A .jsonl file.
    system : str
    scores, gold : DataFrame
        As the gate took them.
    items : DataFrame, optional
        Texts of its outputs, by which later builds know what is unchanged.
    """
    judged, people = scores_in(scores, "scores"), scores_in(gold, "gold")
    rows = [pair.frame.assign(**{name: pair.label[name] for name in (*JUDGED_BY[:4], "temperature")})
            for pair in gold_pairs(judged, people)]  # fmt: skip
    table = pd.concat(rows, ignore_index=True)
    mine = table["_merge"] != "right_only"
    mine &= table["system"] == system if "system" in table else True
    return write_baseline(path, system, table[mine], {} if items is None else text_prints(items))


def write_baseline(path: str | Path, system: str, rows: pd.DataFrame, prints: Mapping[str, str]) -> Path:
    """Write the scored items of a build, with labels `y` where there are any, as a baseline."""
    where = Path(path)
    table = rows.assign(text=rows["item"].astype(str).map(prints), score=rows["x"], label=rows["y"])
    table = table.assign(label_scale=table.get("scale_y", ""))
    lines = [plain_json({name: _cell(row.get(name)) for name in _ROW}) for row in table.to_dict("records")]
    head = {"schema": _SCHEMA, "system": system, "id": _id(system, lines), "n": len(lines)}
    with whole_or_not(where) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), "utf-8")
    return where


def _cell(value: Any) -> Any:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA else value


def _id(system: str, rows: list[dict[str, Any]]) -> str:
    lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return f"sha256:{sha256(chr(10).join([system, *lines]).encode('utf-8', 'surrogatepass')).hexdigest()}"


def refuse_other_judge(baseline: Baseline, scores: pd.DataFrame) -> None:
    """Scores by another judge, prompt or scale are no baseline for these."""
    mine, theirs = (_judges(frame) for frame in (scores, baseline.scores))
    for criterion in mine.keys() & theirs.keys():
        if mine[criterion] != theirs[criterion]:
            before, now = (", ".join(sorted(" / ".join(filter(None, one)) for one in side[criterion]))
                           for side in (theirs, mine))  # fmt: skip
            raise TableError(
                f"{criterion}: the baseline {baseline.system!r} was judged by {before}, these scores are by {now}: "
                "have its outputs judged again, and save it anew."
            )


def _judges(frame: pd.DataFrame) -> dict[str, set[tuple[str, ...]]]:
    names = [name for name in JUDGED_BY if name in frame]
    rows = frame[names].astype(str).drop_duplicates().to_dict("records")
    found: dict[str, set[tuple[str, ...]]] = {}
    for row in rows:
        found.setdefault(row["criterion"], set()).add(tuple(row.get(name, "") for name in JUDGED_BY[1:]))
    return found


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
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode('utf-8', 'surrogatepass')).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Verdicts of before, as their lines have them.

    Attributes
    ----------
    path : Path
    lines : tuple of dict
    """

    path: Path
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """The ledger of a file; one that is not there yet is empty.

        Raises
        ------
        TableError
            If a line is none of a ledger; with its number.
        """
        here = Path(path)
        if not here.exists():
            return cls(here, ())
        lines = []
        for number, line in enumerate(_text(here).splitlines(), start=1):
            if line.strip():
                lines.append(_line(line, f"{printable(here.name)}, line {number}"))
        return cls(here, tuple(lines))

    def looked(self, system: str, n_gold: Mapping[str, int]) -> bool:
        """Whether a verdict on this build was made with fewer labels than it has now."""
        mine = [line for line in self.lines if line["system"] == system]
        counts = [(check["criterion"], check["n_gold"]) for line in mine for check in line["checks"]]
        return any(before < n_gold.get(criterion, 0) for criterion, before in counts)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a further line; what stands there stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plain_json(record), sort_keys=True, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def plain_json(value: Any) -> Any:
    """A value as JSON has it: what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(name): plain_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else plain_json(value.item())


def _line(text: str, where: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
        whole = isinstance(line, dict) and _whole(line)
    except ValueError:
        whole = False
    if not whole:
        raise TableError(f"{where}: must be a verdict of a gate, but is not: the ledger is damaged.")
    return line  # type: ignore[no-any-return]


def _text(path: Path) -> str:
    if not path.is_file():
        raise TableError(f"{printable(path.name)}: a ledger must be a file, but is none.")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise TableError(f"{printable(path.name)}: must be UTF-8, but is not: the ledger is damaged.") from None


def _whole(line: Mapping[str, Any]) -> bool:
    checks = line.get("checks")
    return (
        all(isinstance(line.get(name), str) for name in ("system", "scores", "gold", "outcome"))
        and isinstance(checks, list)
        and all(isinstance(one, dict) for one in checks)
        and all(isinstance(one.get("criterion"), str) and isinstance(one.get("n_gold"), int) for one in checks)
    )
