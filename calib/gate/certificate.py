"""The certificate of a judge that was trusted: whose readings, of which anchors, with which figures, and until when."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pandas as pd
from scipy import stats

from calib._version import __version__
from calib.analysis.calibration.calibration_map import sha
from calib.analysis.calibration.frames_file import id_of
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.core.text import plain_json, printable
from calib.gate.judge_tables import NO_SEGMENT
from calib.inputs.alike import looks
from calib.inputs.names import is_model
from calib.table import TableError
from calib.table.files import json_object, whole_or_not, within_limit
from calib.table.labelled import Labelled, groups_of
from calib.table.validate import SliceKey, slices

_SCHEMA = "calib/certificate/v1"
_CHANGED = 0.05  # p-value
_SAME = 1e-9
_NEGLIGIBLE = 1e-4  # of the range of the readings
_MOST_DAYS, _LAST_YEAR = 3660, 9000
_WEAK_ERROR, _WEAK_UNREAD, _WEAK_LABELS = 0.05, 0.05, 20
_WHO = ("rater", "prompt", "method", "temperature", "scale")
_READING = ("item", "x", "y", "noise", "group", "segment")
Number = float | None


class _Judge(msgspec.Struct, forbid_unknown_fields=True):
    criterion: str
    rater: str
    prompt: str
    method: str
    temperature: Number
    scale: str
    draws: int


class _Part(msgspec.Struct):
    judge: _Judge
    annotators: str
    rows: list[tuple[str, Number, Number, Number, str | None, str | None]]


class _Check(msgspec.Struct):
    check: str
    bar: float
    estimate: float
    low: float


class _Asked(msgspec.Struct):
    by: str | None
    error: float
    min_labels: int
    max_unread: float


class _Days(msgspec.Struct, rename={"first": "from"}):
    first: date
    until: date


class _File(msgspec.Struct):
    """What a file of a certificate must hold; every field that is read is one of these."""

    id: str
    schema: str
    asked: _Asked
    checks: Annotated[list[_Check], msgspec.Meta(min_length=1)]
    anchors: Annotated[list[_Part], msgspec.Meta(min_length=1)]
    annotators: str
    valid: _Days

    @property
    def holds_together(self) -> bool:
        """Days in their order, one judge on a criterion, and each figure above its bar."""
        criteria = {part.judge.criterion for part in self.anchors}
        above = all(one.low > one.bar for one in self.checks)
        return self.valid.first <= self.valid.until and len(criteria) == len(self.anchors) and above


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
    def of(
        cls, judged: Labelled, scored: pd.DataFrame, by: str | None, groups: str | None, annotators: str
    ) -> Anchors:  # fmt: skip
        """From the scores beside the labels; `scored` are all scores on the criterion."""
        rows = judged.frame[judged.frame["y"].notna()]
        unit = None if groups is None else groups_of(rows, groups)
        several = judged.label["method"] == "sample" and {"sd", "n"} <= set(rows)
        noise = rows["sd"].astype(float) ** 2 / rows["n"].astype(float) if several else math.nan
        frame = pd.DataFrame({"item": [sha(looks(item)) for item in rows["item"]], "x": rows["x"].to_numpy(float),
                              "y": rows["y"].to_numpy(float)})  # fmt: skip
        frame["noise"] = np.where(rows["n"].astype(float) > 1, noise, math.nan) if several else math.nan
        frame["group"] = None if unit is None else [sha(one) for one in unit]
        frame["segment"] = None if by is None else rows[by].astype(str).to_numpy()
        return cls(_judge_of(judged.label, scored), annotators, frame.reindex(columns=list(_READING)))


def _judge_of(label: Mapping[str, Any], rows: pd.DataFrame) -> dict[str, Any]:
    """Who scored these rows, on which scales, and from how many replies an item (the median)."""
    scales = sorted(rows["scale"].astype(object).fillna("").astype(str).unique()) if "scale" in rows else [""]
    replies = sum(rows[name].astype(float).fillna(0) for name in ("n", "n_unread") if name in rows)
    draws = max(1, int(np.median(replies))) if "n" in rows and len(rows) else 1
    scale = scales[0] if len(scales) == 1 else " and ".join(one or "none" for one in scales)
    return dict(plain_json(SliceKey.of(label)._asdict() | {"scale": scale, "draws": draws}))


def _in_words(who: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {who[name]}" for name in (*_WHO, "draws") if who[name] not in ("", None))


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
        if not isinstance(first, date) or isinstance(first, datetime) or first.year > _LAST_YEAR:
            raise ArgumentError("on", f"must be a date (datetime.date) up to {_LAST_YEAR}", f"got {on!r}")
        if check.whole(days, "days", least=1) > _MOST_DAYS:
            raise ArgumentError("days", f"must be at most {_MOST_DAYS}", f"got {days}")
        until = first + timedelta(days=days)
        rows = [one.rows.astype(object).to_numpy().tolist() for one in anchors]
        each = zip(anchors, rows, strict=True)
        parts = [{"judge": one.who, "annotators": one.annotators, "rows": row} for one, row in each]
        record = {"schema": _SCHEMA, "calib": __version__, "asked": asked, "checks": checks, "anchors": parts,
                  "annotators": annotators, "valid": {"from": str(first), "until": str(until)}}  # fmt: skip
        plain: dict[str, Any] = plain_json(record)
        return cls(plain | {"id": id_of(plain)})

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """The certificate of a file; one that is none, or was edited, is refused."""
        here = within_limit(Path(path))
        name = printable(here.name or str(here))
        try:
            record = json_object(here.read_text("utf-8"))
            whole = msgspec.convert(record, _File).holds_together
            whole &= record["schema"] == _SCHEMA and record["id"] == id_of(record)
        except (ValueError, OverflowError, IsADirectoryError):
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

    def require(self, judged: pd.DataFrame, criteria: Sequence[str], *, on: date | None = None) -> list[str]:
        """Refuse scores by another judge than the certified one, and those outside its days; else notes on it."""
        day, first = on or today(), date.fromisoformat(self.record["valid"]["from"])
        if day > self.until:
            raise TableError(f"the certificate ended on {self.until}: compare the judge with labels anew (gate-judge).")
        if day < first:
            raise TableError(f"the certificate holds from {first}, and today is {day}.")
        certified = {part["judge"]["criterion"]: part for part in self.record["anchors"]}
        for criterion in criteria:
            if criterion not in certified:
                has = ", ".join(map(repr, certified))
                raise TableError(printable(f"the certificate is for the criteria {has}, but {criterion!r} is checked."))
            rows, was = judged[judged["criterion"].astype(str) == criterion], certified[criterion]["judge"]
            for label, part in slices(rows):
                now = _judge_of(label, part)
                # another judge, or fewer replies, which scatter more
                differing = [name for name in _WHO if now[name] != was[name]]
                if differing := differing + ["draws"] * (now["draws"] < was["draws"]):
                    sides = [", ".join(f"{name} {side[name]!r}" for name in differing) for side in (was, now)]
                    rule = f"{criterion}: the certificate is for a judge of {sides[0]}, but these scores are by one of"
                    raise TableError(printable(f"{rule} {sides[1]}: compare that judge with labels (gate-judge)."))
            self._refuse_segments(criterion, rows, {row[-1] for row in certified[criterion]["rows"]})
        return self._notes([certified[criterion]["judge"] for criterion in criteria], judged)

    def _refuse_segments(self, criterion: str, rows: pd.DataFrame, certified: set[str]) -> None:
        """Refuse segments in which the judge was not compared."""
        by = self.record["asked"]["by"]
        if by is not None and by in rows:
            named = rows[by].astype(object).where(rows[by].notna(), "").astype(str)
            if other := set(named.replace(r"^\s*$", NO_SEGMENT, regex=True)) - certified:
                rule = f"{criterion}: the certificate is for {by} {', '.join(sorted(certified))}, but these scores have"
                raise TableError(printable(f"{rule} {min(other)}: compare the judge with labels there (gate-judge)."))

    def _notes(self, judges: Sequence[Mapping[str, Any]], judged: pd.DataFrame) -> list[str]:
        """Whose certificate it is, what it cannot tell apart, and whether it was easy to get."""
        options, checks = self.record["asked"], self.record["checks"]
        bars = "; ".join(f"{one['check']} {short(one['estimate'])} above {one['bar']:g}" for one in checks)
        nameless = sorted({one["rater"] for one in judges if not is_model(one["rater"])})
        unseen = [f"{', '.join(map(repr, nameless))} is no model's name"] * bool(nameless)
        unseen += ["the tables name no prompt"] * any(one["prompt"] == "" for one in judges)
        if options["by"] is not None and options["by"] not in judged:
            unseen.append(f"the scores have no column {options['by']!r}, by which it was compared")
        another = f"; {', and '.join(unseen)}, so that another one would not be noticed" * bool(unseen)
        notes = [f"certificate: {bars}, against {self.record['annotators']}, until {self.until}{another}"]
        weak = [f"an error of {options['error']:g}"] * (options["error"] > _WEAK_ERROR)
        unread = options["max_unread"]
        weak += [f"{100 * unread:g} % of labels without a score"] * (unread > _WEAK_UNREAD)
        weak += [f"{options['min_labels']} labels"] * (options["min_labels"] < _WEAK_LABELS)
        weak += [f"a bar of {min(one['bar'] for one in checks):g}"] * any(one["bar"] <= 0 for one in checks)
        return [printable(text) for text in (*notes, *[f"weak_certificate: it allowed {', '.join(weak)}"] * bool(weak))]

    def changes(self, now: Sequence[Anchors]) -> list[str]:
        """What changed since: the judge, its readings of the same anchors, or the anchors."""
        notes = [f"expired: the certificate ended on {self.until}"] if today() > self.until else []
        before = {part["judge"]["criterion"]: part for part in self.record["anchors"]}
        gone = [name for name in before if name not in {one.who["criterion"] for one in now}]
        notes += [f"anchors_changed: no anchors are of {', '.join(gone)}, as the certificate's"] * bool(gone)
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
    """Notes on whether the anchors changed, and whether readings of the same ones moved beyond the judge's noise."""
    both = then.merge(now, on="item", suffixes=("_then", "_now"))
    relabelled = int((both["y_then"] != both["y_now"]).sum())
    new, gone = len(now) - len(both), len(then) - len(both)
    notes = []
    if new or gone or relabelled:
        text = f"anchors_changed: {new} labelled items are new, {gone} are gone, {relabelled} have another label"
        notes.append(f"{text}; figures of then and now are of different anchors")
    if lost := int((both["x_then"].notna() & both["x_now"].isna()).sum()):
        notes.append(f"anchors_unread: {lost} of {len(both)} anchors had a score then and have none now")
    read = both[both["x_then"].notna() & both["x_now"].notna()].astype({"x_then": float, "x_now": float})
    moved = (read["x_now"] - read["x_then"]).to_numpy()
    moved = np.where(_as_written(read["x_then"].to_numpy(), read["x_now"].to_numpy()), 0.0, moved)
    differ = int((moved != 0).sum())
    if not differ:
        of = f"all {len(read)}" if len(read) == len(both) else f"{len(read)} of {len(both)}"
        text = f"same_readings: {of} readings of the same anchors are as they were"
        return [*notes, *(text,) * bool(len(read))]
    noise = read["noise_then"].astype(float) + read["noise_now"].astype(float)
    # a t test of a shift of the mean; where the noise of means of draws is known, chi-squared of the distances
    p_shift = float(stats.ttest_1samp(moved, 0).pvalue) if np.ptp(moved) > 0 else 0.0 if len(moved) > 4 else 1.0
    has_noise = noise.notna().all() and bool(noise.sum() > 0)
    worth = float(noise.sum() ** 2 / (noise**2).sum()) if has_noise else math.nan
    p_apart = float(stats.chi2.sf((moved**2).sum() / noise.sum() * worth, worth)) if has_noise else 1.0
    p = min(1.0, 2 * min(p_shift, p_apart))
    how = f"{differ} of {len(read)} readings of the same anchors differ, by {short(float(moved.mean()))} on average"
    if p <= _CHANGED:
        return [*notes, f"judge_changed: {how}, more than its noise explains (p = {short(p)})"]
    if has_noise:
        return [*notes, f"judge_as_before: {how}, no more than its noise explains (p = {short(p)})"]
    hint = "with one draw an item its noise is not known, and only a shift of the mean would be seen (`calib drift`)"
    return [*notes, f"readings_differ: {how} (p = {short(p)} of a shift); {hint}"]


def _as_written(then: Floats, now: Floats) -> Any:
    """Which readings are the same but for the digits that one of two files has, or for a negligible part."""
    both = np.concatenate([then, now])
    same = np.abs(now - then) <= max(_SAME, _NEGLIGIBLE * float(np.ptp(both)) if len(both) else 0.0)
    digits = [  # that readings are written with, 9 at most
        next((d for d in range(9) if np.allclose(side, np.round(side, d), rtol=0, atol=_SAME)), 9)
        for side in (then, now)
    ]
    coarse, fine = (then, now) if digits[0] <= digits[1] else (now, then)
    if 0 < min(digits) < max(digits):  # whole numbers are another way of answering
        unit = 10.0 ** min(digits)
        cut = np.trunc(fine * unit + np.copysign(_SAME, fine)) / unit
        same |= (np.abs(coarse - fine) <= 0.5 / unit + _SAME) | (np.abs(coarse - cut) <= _SAME)
    return same
