"""The baseline of a gate, with its scores, labels and prints of outputs, and the ledger of verdicts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.analysis.calibration.calibration_map import sha
from calib.core.text import plain_json, printable
from calib.gate.matching import matched_tables
from calib.gate.sure_labels import annotators_in, of_their_sessions
from calib.gate.unchanged import text_prints
from calib.inputs.alike import alike_note, looks, renamed, spelled_as
from calib.table import TableArgumentError, TableError
from calib.table.files import json_object, whole_or_not, within_limit
from calib.table.labelled import label_pairs
from calib.table.pairs import refuse_drawn_unequally
from calib.table.sessions import at_sessions, session_of_each
from calib.table.validate import ValidatedTable, scores_in

_SCHEMA = "calib/baseline/v1"
JUDGED_BY = ("criterion", "rater", "prompt", "method", "scale")
_ROW = ("item", "group", *JUDGED_BY, "temperature", "score", "n", "label", "label_scale", "text", "who")


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
    annotators : dict
        Who labelled each item, as hashes of names.
    in_order : bool
        Whether the scores stand in the order of the turns of a session.

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
    annotators: Mapping[tuple[str, str], frozenset[str]]
    in_order: bool = True

    @classmethod
    def read(cls, path: str | Path) -> Baseline:
        """The baseline of a file; one that is none, or was edited, is refused."""
        here = within_limit(Path(path))
        try:
            lines = here.read_text("utf-8").splitlines()
            head, *rows = [json_object(line) for line in lines if line.strip()]
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
        named = frame[frame["who"].map(lambda who: isinstance(who, list))]
        keys = zip(named["criterion"], map(looks, named["item"]), strict=True)
        annotators = dict(zip(keys, map(frozenset, named["who"]), strict=True))
        scores = frame.drop(columns=["label", "label_scale", "text", "who"])
        return cls(system, head["id"], scores, labels, prints, annotators, bool(head.get("in_order")))

    def of_sessions(self, turns: str) -> Baseline:
        """The baseline as sessions, whose turns its items are; none of them counts as unchanged."""
        if turns == "last" and not self.in_order:
            came = "its file does not say which turn is the last: save it anew"
            raise TableArgumentError("baseline", "must keep the order of turns", came)
        people = scores_in(self.labels, "baseline") if len(self.labels) else None
        judged, labelled = at_sessions(scores_in(self.scores, "baseline"), people, turns)

        def own(table: ValidatedTable) -> pd.DataFrame:
            sessions = table.frame["item"]
            return table.frame.assign(group=sessions, item="baseline:" + sessions.astype(str), system=self.system)

        place = {turn: f"baseline:{session}" for turn, session in session_of_each(self.scores).items()}
        who, labels = of_their_sessions(self.annotators, place), self.labels if labelled is None else own(labelled)
        return replace(self, scores=own(judged), labels=labels, prints={}, annotators=who)


def saved_baseline(
    path: str | Path, system: str, scores: Any, labels: Any, items: pd.DataFrame | None = None, annotations: Any = None
) -> Path:
    """Write a build as the baseline of later ones: its scores, its labels, and prints of its outputs.

    `scores` and `labels` are as the gate took them, `items` the texts of its outputs, by which later builds know what
    is unchanged, `annotations` people's labels one by one, where `labels` are their means.
    """
    own = matched_tables(scores, labels, items, system)
    judged, people, items = own.scores, scores_in(own.labels, "labels"), own.items
    rows = [pair.frame.assign(**{name: pair.label[name] for name in (*JUDGED_BY[:4], "temperature")})
            for pair in label_pairs(judged, people)]  # fmt: skip
    table = pd.concat(rows, ignore_index=True)
    mine = table["_merge"] != "right_only"
    mine &= table["system"] == system if "system" in table else True
    prints, table = {} if items is None else text_prints(items), table[mine]
    refuse_drawn_unequally(table, "a baseline", system)  # of which its file would say nothing
    table = table.assign(text=table["item"].astype(str).map(prints), score=table["x"], label=table["y"])
    table = table.assign(label_scale=table.get("scale_y", ""))
    order = judged.frame.sort_values("turn", kind="stable") if "turn" in judged.frame else judged.frame
    place = {item: at for at, item in enumerate(order["item"])}
    table = table.sort_values("item", key=lambda one: one.astype(object).map(place), kind="stable")
    who = annotators_in(people.frame if annotations is None else annotations)
    places = zip(table["criterion"].astype(str), map(looks, table["item"]), strict=True)
    table = table.assign(who=[sorted(who.get(place, ())) or None for place in places])
    lines = [plain_json({name: row.get(name) for name in _ROW}) for row in table.to_dict("records")]
    head = {"schema": _SCHEMA, "system": system, "id": _id(system, lines), "n": len(lines), "in_order": True}
    where = Path(path)
    with whole_or_not(where) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)), "utf-8")
    return where


def _id(system: str, rows: list[dict[str, Any]]) -> str:
    lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return sha("\n".join([system, *lines]))


def with_baseline(
    judged: ValidatedTable, people: ValidatedTable | None, saved: Baseline | None, baseline: Any
) -> tuple[ValidatedTable, ValidatedTable | None, str | None, tuple[str, ...]]:
    """The tables, with the rows of a saved baseline, its name, and notes."""
    if saved is None:
        return judged, people, baseline, ()
    # scores by another judge, prompt or scale are no baseline for these
    judges: list[dict[str, set[tuple[str, ...]]]] = [{}, {}]
    for frame, by_criterion in zip((saved.scores, judged.frame), judges, strict=True):
        rows = frame[[name for name in JUDGED_BY if name in frame]].astype(str).drop_duplicates()
        for row in rows.to_dict("records"):
            by_criterion.setdefault(row["criterion"], set()).add(tuple(row.get(name, "") for name in JUDGED_BY[1:]))
    before, now = judges
    for criterion in sorted(now.keys() & before.keys()):
        if now[criterion] != before[criterion]:
            old, new = (", ".join(sorted(" / ".join(filter(None, one)) for one in side[criterion])) for side in judges)
            raise TableError(
                f"{criterion}: the baseline {saved.system!r} was judged by {old}, these scores are by {new}: "
                "have its outputs judged again, and save it anew "
                "(if it is one judge under two names, name it in both: `rater`, in a shell --column rater=NAME)."
            )
    mine = judged.frame.astype({"item": object})
    if "system" not in mine:
        raise TableArgumentError("scores", "must say in a column of systems which build they are of", "has none")
    own = _of_system(mine, saved.system)  # its rows here, if there are any, are those of the file
    mine, gone = mine[~own], set(mine.loc[own, "item"])
    if "group" not in mine:
        mine = mine.assign(group=mine["item"])
    rows = saved.scores.reindex(columns=mine.columns)
    other = spelled_as(mine["group"].unique(), rows["group"].unique())
    notes = (alike_note(other, "baseline", "group"),) * bool(other)
    both = pd.concat([mine, rows.assign(group=renamed(rows["group"], other))], ignore_index=True)
    every = saved.labels
    if people is not None:
        theirs = people.frame["item"].astype(object).isin(gone)
        people = people.only(~(theirs | _of_system(people.frame, saved.system)))
    if people is not None and len(every):
        who = people.frame.astype({"criterion": str}).drop_duplicates("criterion").set_index("criterion")
        for name in ("rater", "prompt", "method", "temperature"):
            if name in who:
                every = every.assign(**{name: every["criterion"].map(who[name].astype(object))})
        every = pd.concat([people.frame.astype({"item": object}), every[every["rater"].notna()]], ignore_index=True)
    place = both.astype({"item": object}).drop_duplicates("item").set_index("item")
    for name in ("group", "system"):  # of a label without a score as the labels have it
        if name in place:
            values = every["item"].map(place[name].astype(object))
            every[name] = values.where(values.notna(), every.get(name)).fillna("")
    labels = scores_in(every, "labels") if len(every) else people
    return scores_in(both, "scores"), labels, saved.system, notes


def _of_system(frame: pd.DataFrame, system: str) -> Any:
    """Which rows are of a system, however it is written."""
    names = frame["system"] if "system" in frame else [""] * len(frame)
    return np.array([looks(name) == looks(system) for name in names], dtype=bool)


# --- the ledger of a gate: one line for each verdict ------------------------------------------------------------------


def digest_of(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """A hash of the rows of a table, in whatever order they stand."""
    names = [name for name in columns if name in frame]
    plain = frame[names].astype(object).where(frame[names].notna(), None)
    lines = sorted(json.dumps(row, default=str) for row in plain.to_numpy().tolist())
    return sha("\n".join(lines))


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
        within_limit(here)
        try:
            text = here.read_text("utf-8")
        except UnicodeDecodeError:
            raise TableError(f"{name}: must be UTF-8, but is not: the ledger is damaged.") from None
        lines = []
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                verdict = json_object(line)
                texts = [verdict[part] for part in ("system", "scores", "labels", "outcome")]
                texts += [one["criterion"] for one in verdict["checks"]]
                whole = all(isinstance(one, str) for one in texts)
                whole &= all(isinstance(one["n_labels"], int) for one in verdict["checks"])
            except (ValueError, TypeError, KeyError):
                whole = False
            if not whole:
                rule = "must be a verdict of a gate, but is not: the ledger is damaged."
                raise TableError(f"{name}, line {number}: {rule}")
            lines.append(verdict)
        return cls(here, tuple(lines))

    def changes(self, system: str, n_labels: Mapping[str, int], labels: str) -> set[int]:
        """Whether verdicts on this build had fewer labels than it has now, or others (1), or more (-1)."""
        signs = set()
        for line in self._of(system):
            counts = [(check["criterion"], check["n_labels"]) for check in line["checks"]]
            more = {int(np.sign(n_labels[name] - before)) for name, before in counts if name in n_labels}
            signs |= more | ({1} if more and line["labels"] != labels else set())
        return signs

    def _of(self, system: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if looks(line["system"]) == looks(system)]

    def before(self, record: Mapping[str, Any]) -> str:
        """Which verdict on this build it is, and the outcomes of those before; nothing at the first, or at a re-run."""
        verdicts: dict[str, str] = {}
        for line in self._of(record["system"]):
            verdicts.setdefault(_evidence(line), line["outcome"])
        now = _evidence(plain_json(record))
        others = [outcome for evidence, outcome in verdicts.items() if evidence != now]
        place = list(verdicts).index(now) if now in verdicts else len(others)
        so_far = ", ".join(f"{n} {outcome}" for outcome, n in Counter(others[:place]).items())
        return f"verdict {place + 1} on this build, after {so_far}" if so_far else ""

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a further line; what stands there stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plain_json(record), sort_keys=True, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def _evidence(record: Mapping[str, Any]) -> str:
    """What a verdict rests on: tables, and what was asked; another outcome of these is no re-run."""
    options, names = record.get("asked"), ("threshold", "baseline", "margin")
    wanted = {name: options.get(name) for name in names} if isinstance(options, dict) else {}
    return json.dumps([record["scores"], record["labels"], record["outcome"], wanted], sort_keys=True)
