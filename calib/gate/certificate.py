"""The certificate of a judge that was trusted: whose readings, of which anchors, with which figures, and until when."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from calib._version import __version__
from calib.analysis.calibration.calibration_map import sha
from calib.analysis.calibration.frames_file import id_of
from calib.core import check
from calib.core.result import short
from calib.core.text import printable
from calib.gate.baseline import plain_json
from calib.table import TableError
from calib.table.files import json_object, whole_or_not, within_limit
from calib.table.labelled import Labelled, groups_of
from calib.table.validate import SliceKey, slices

_SCHEMA = "calib/certificate/v1"
_CHANGED = 0.05  # p-value
_SAME = 1e-9
_WHO = ("criterion", "rater", "prompt", "method", "temperature", "scale")
_READING = ("item", "x", "y", "noise", "group", "segment")


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """The labelled items of one criterion: hashes of their ids, the judge's readings, the labels; no texts.

    `who` is the judge as the table has it; `rows` have the columns of `_READING`, of which `noise` is the variance of
    a reading that is a mean of several draws.
    """

    who: Mapping[str, Any]
    annotators: str
    rows: pd.DataFrame

    @classmethod
    def of(cls, judged: Labelled, by: str | None, groups: str | None, annotators: str) -> Anchors:
        """From the scores beside the labels."""
        rows = judged.frame[judged.frame["y"].notna()]
        unit = None if groups is None else groups_of(rows, groups)
        several = judged.label["method"] == "sample" and {"sd", "n"} <= set(rows)
        noise = rows["sd"].astype(float) ** 2 / rows["n"].astype(float) if several else math.nan
        frame = pd.DataFrame({"item": [sha(item) for item in rows["item"]], "x": rows["x"].to_numpy(float),
                              "y": rows["y"].to_numpy(float)})  # fmt: skip
        frame["noise"] = np.where(rows["n"].astype(float) > 1, noise, math.nan) if several else math.nan
        frame["group"] = None if unit is None else [sha(one) for one in unit]
        frame["segment"] = None if by is None else rows[by].astype(str).to_numpy()
        return cls(_who(judged.label, judged.scale), annotators, frame.reindex(columns=list(_READING)))


def _who(label: Mapping[str, Any], scale: str) -> dict[str, Any]:
    return dict(plain_json(SliceKey.of(label)._asdict() | {"scale": scale}))


def _in_words(who: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {who[name]}" for name in _WHO[1:] if who[name] not in ("", None))


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A judge that was trusted.

    Attributes
    ----------
    record : dict
        What the file holds.

    Examples
    --------
    >>> import calib, tempfile
    >>> mine = {"id": range(60), "judge": [1] * 40 + [0] * 20, "label": [1] * 38 + [0] * 22}
    >>> verdict = calib.gate_judge(mine, judge="judge", label="label", scale="0|1", kappa=0.6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     whole = Certificate.read(verdict.certificate(f"{folder}/judge.json", on=date(2026, 1, 1)))
    >>> whole.record["valid"], len(whole.record["anchors"][0]["rows"])
    ({'from': '2026-01-01', 'until': '2026-04-01'}, 60)
    """

    record: Mapping[str, Any]

    @classmethod
    def of(
        cls, anchors: Sequence[Anchors], asked: Mapping[str, Any], checks: Sequence[Mapping[str, Any]],
        annotators: str, days: int, on: date | None,
    ) -> Certificate:  # fmt: skip
        """Of a verdict; `on` is from when it holds, by default today."""
        first = today() if on is None else on
        until = first + timedelta(days=check.whole(days, "days", least=1))
        parts = [
            {"judge": one.who, "annotators": one.annotators, "rows": one.rows.astype(object).to_numpy().tolist()}
            for one in anchors
        ]
        record = {"schema": _SCHEMA, "calib": __version__, "asked": asked, "checks": checks, "anchors": parts,
                  "annotators": annotators, "valid": {"from": str(first), "until": str(until)}}  # fmt: skip
        plain: dict[str, Any] = plain_json(record)
        return cls(plain | {"id": id_of(plain)})

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """The certificate of a file; one that is none, or was edited, is refused."""
        here = within_limit(Path(path))
        name = printable(here.name)
        try:
            record = json_object(here.read_text("utf-8"))
            whole = record["schema"] == _SCHEMA and record["id"] == id_of(record)
            date.fromisoformat(record["valid"]["until"])
            for part in record["anchors"]:
                pd.DataFrame(part["rows"], columns=list(_READING)).astype({"x": float, "y": float, "noise": float})
                whole = whole and set(_WHO) == set(part["judge"])
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise TableError(f"{name}: is no certificate that `calib gate-judge` wrote, or was edited.")
        return cls(record)

    def write(self, path: str | Path) -> Path:
        """Write it as JSON."""
        where = Path(path)
        with whole_or_not(where) as part:
            part.write_text(json.dumps(self.record, indent=1, allow_nan=False) + "\n", "utf-8")
        return where

    @property
    def until(self) -> date:
        """Its last day."""
        return date.fromisoformat(self.record["valid"]["until"])

    def require(self, judged: pd.DataFrame, criteria: Sequence[str], *, on: date | None = None) -> str:
        """Refuse scores by another judge than the certified one, and any after its last day; else whose it is."""
        if (on or today()) > self.until:
            raise TableError(f"the certificate ended on {self.until}: compare the judge with labels anew (gate-judge).")
        certified = {part["judge"]["criterion"]: part["judge"] for part in self.record["anchors"]}
        for criterion in criteria:
            if criterion not in certified:
                has = ", ".join(map(repr, certified))
                raise TableError(printable(f"the certificate is for the criteria {has}, but {criterion!r} is checked."))
            for label, rows in slices(judged[judged["criterion"].astype(str) == criterion]):
                scales = sorted({str(text) for text in rows["scale"].dropna()} - {""}) if "scale" in rows else []
                now, was = _who(label, scales[0] if scales else ""), certified[criterion]
                if differing := [name for name in _WHO if now[name] != was[name]]:
                    sides = [", ".join(f"{name} {side[name]!r}" for name in differing) for side in (was, now)]
                    rule = f"{criterion}: the certificate is for a judge of {sides[0]}, but these scores are by one of"
                    raise TableError(printable(f"{rule} {sides[1]}: compare that judge with labels (gate-judge)."))
        bars = "; ".join(
            f"{one['check']} {short(one['estimate'])} above {one['bar']:g}" for one in self.record["checks"]
        )
        bare = any(certified[criterion]["prompt"] == "" for criterion in criteria)
        unseen = "; the tables name no prompt, so that another one would not be noticed" * bare
        return f"certificate: {bars}, against {self.record['annotators']}, until {self.until}{unseen}"

    def changes(self, now: Sequence[Anchors]) -> list[str]:
        """What changed since: the judge, its readings of the same anchors, or the anchors."""
        notes = [f"expired: the certificate ended on {self.until}"] if today() > self.until else []
        before = {part["judge"]["criterion"]: part for part in self.record["anchors"]}
        for one in now:
            part = before.get(str(one.who["criterion"]))
            if part is None:
                notes.append(f"anchors_changed: the certificate has no anchors of {one.who['criterion']}")
                continue
            if part["judge"] != one.who:
                texts = f"{_in_words(part['judge'])}; these readings are by {_in_words(one.who)}"
                notes.append(f"another_judge: the certificate is of {texts}")
            notes += _changes_of(pd.DataFrame(part["rows"], columns=list(_READING)), one.rows)
        return notes


def today() -> date:
    """The day, by which certificates end."""
    return datetime.now(UTC).date()


def _changes_of(then: pd.DataFrame, now: pd.DataFrame) -> list[str]:
    """Whether the anchors are others, and whether readings of the same ones moved beyond the judge's noise."""
    both = then.merge(now, on="item", suffixes=("_then", "_now"))
    relabelled = int((both["y_then"] != both["y_now"]).sum())
    new, gone = len(now) - len(both), len(then) - len(both)
    notes = []
    if new or gone or relabelled:
        text = f"anchors_changed: {new} labelled items are new, {gone} are gone, {relabelled} have another label"
        notes.append(f"{text}; figures of then and now are of different anchors")
    read = both[both["x_then"].notna() & both["x_now"].notna()].astype({"x_then": float, "x_now": float})
    moved = (read["x_now"] - read["x_then"]).to_numpy()
    differ = int((np.abs(moved) > _SAME).sum())
    if not differ:
        text = f"same_readings: all {len(read)} readings of the same anchors are as they were"
        return [*notes, *(text,) * bool(len(read))]
    noise = read["noise_then"].astype(float) + read["noise_now"].astype(float)
    # by t a shift of the mean; by the noise of means of several draws, where it is known, their distances
    p_shift = float(stats.ttest_1samp(moved, 0).pvalue) if np.ptp(moved) > 0 else 0.0 if len(moved) > 4 else 1.0
    known = noise.notna().all() and bool(noise.sum() > 0)
    worth = float(noise.sum() ** 2 / (noise**2).sum()) if known else math.nan
    p_apart = float(stats.chi2.sf((moved**2).sum() / noise.sum() * worth, worth)) if known else 1.0
    p = min(1.0, 2 * min(p_shift, p_apart))
    how = f"{differ} of {len(read)} readings of the same anchors differ, by {short(float(moved.mean()))} on average"
    if p <= _CHANGED:
        return [*notes, f"judge_changed: {how}, more than its noise explains (p = {short(p)})"]
    if known:
        return [*notes, f"judge_as_before: {how}, no more than its noise explains (p = {short(p)})"]
    hint = "with one draw an item its noise is not known, and only a shift of the mean would be seen (`calib drift`)"
    return [*notes, f"readings_differ: {how} (p = {short(p)} of a shift); {hint}"]
