"""The build that others are held against: its scores, labels and prints of its outputs, with an identity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from calib.core.text import printable
from calib.table import TableError
from calib.table.files import whole_or_not
from calib.tables.door import scores_in
from calib.tables.gold import gold_pairs
from calib.tables.ledger import plain_json
from calib.tables.unchanged import text_prints

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
