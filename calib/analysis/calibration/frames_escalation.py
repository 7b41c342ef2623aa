"""Verdicts of a judge, how sure each is, and where people's labels say that it is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.labelled import Labelled, groups_of
from calib.table.pairs import DESIGN, chosen_in
from calib.table.results import words
from calib.table.validate import SliceKey, ValidatedTable, renamed_errors

_VALUES = 50  # values of votes that are counted one by one
_LEARNED = (
    "calibrated_confidence: the confidences were learned from the same labels, so that the promise is one for many "
    "labels; in simulations it held from 50 on; confidence='votes' or a column of your own make it exact"
)
_SPREAD = 0.8  # of the documents that a random draw of items would reach: with fewer, documents were drawn


def check_escalation(
    risk: float, confidence_level: float, label_threshold: float | None, within: float | None, prices: Any
) -> None:
    """What can be refused before anything is read."""
    check.probability(risk, "risk")
    check.probability(confidence_level, "confidence_level")
    if within is not None and not 0 <= within < np.inf:
        raise ArgumentError("within", "must be 0 or more", f"got {within!r}")
    if within is not None and label_threshold is not None:
        raise ArgumentError(
            "within", "says what a verdict is without {0}: leave one of them out", mentions=("label_threshold",)
        )
    if prices is None:
        return
    if "label" not in prices:
        raise ArgumentError("prices", "must have the price of a 'label'", f"has {sorted(map(str, prices))}")
    if set(prices) - {"label", "judge"}:
        raise ArgumentError("prices", "must be of a 'label' and a 'judge'", f"has {sorted(map(str, prices))}")
    for name, price in prices.items():
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < np.inf:
            raise ArgumentError("prices", "must be 0 or more", f"got {price!r} for {name!r}")


def escalation_of(
    judged: Labelled,
    rows: pd.DataFrame,
    rule: Rule,
    verdicts: Verdicts,
    groups: str | None,
    *,
    risk: float,
    confidence_level: float,
    prices: Mapping[str, float] | None,
) -> tuple[dict[str, Any], stats.Escalation]:
    """What becomes of the items of one judge, and whose they are; `rows` are its scores, in their order."""
    drawn, notes = drawn_by(judged, groups)
    y = judged.frame["y"].to_numpy(dtype=float)
    errors = rule.errors(verdicts.verdict, y)
    place = pd.Index(judged.frame["item"].astype(object)).get_indexer(rows["item"].astype(object))
    sure = verdicts.confidence[place]
    with renamed_errors(judged.label, confidence="scores", errors="labels"):
        test = stats.accept_threshold(
            sure,
            errors[place],
            risk=risk,
            confidence_level=confidence_level,
            groups=None if drawn is None else drawn[place],
        )
    accepted, labelled = test.accepts(sure), np.isfinite(y[place])
    items = rows.astype({"item": object}).reset_index(drop=True)
    items = items.assign(label=y[place], verdict=verdicts.verdict[place], confidence=sure)
    items["decided_by"] = np.where(accepted, str(judged.label["rater"]), "").astype(object)
    n, n_escalated = len(items), int((~accepted & ~labelled).sum())
    cost = {}
    if prices is not None:
        cost["cost"] = n * prices.get("judge", 0.0) + (n_escalated + int(labelled.sum())) * prices["label"]
        cost["cost_of_labels"] = n * prices["label"]
    result = stats.Escalation(
        accepted_share=float(accepted.mean()),
        n=n,
        n_accepted=int(accepted.sum()),
        n_escalated=n_escalated,
        n_labels=int(np.isfinite(errors).sum()),
        n_groups=test.n_groups,
        risk=risk,
        confidence_level=confidence_level,
        threshold=test.threshold,
        verdict=str(rule),
        confidence=verdicts.source,
        exact=verdicts.source != "calibrated",
        test=test,
        items=items,
        warnings=tuple(dict.fromkeys((*judged.warnings, *notes, *verdicts.warnings, *test.warnings))),
        **cost,
    )
    counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["x"].isna().sum())}
    return judged.label | counts, result


# --- what a verdict is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """When a verdict is wrong: on the other side of a pass mark, or farther than that from people's label."""

    label_threshold: float | None
    within: float

    @classmethod
    def of(cls, judged: Labelled, label_threshold: float | None, within: float | None, *, pairwise: bool) -> Rule:
        """A pass mark; else the distance asked for; else one step of a scale of more than three values."""
        low, high = judged.levels[0], judged.levels[-1]
        if label_threshold is not None and not low < label_threshold <= high:
            must = f"must be above {short(low)} and at most {short(high)}, people's scale"
            raise TableArgumentError("label_threshold", must, f"got {short(label_threshold)} for {words(judged.label)}")
        step = float(np.diff(judged.levels).min()) if len(judged.levels) > 3 and not pairwise else 0.0
        return cls(label_threshold, step if within is None else within)

    def __str__(self) -> str:
        if self.label_threshold is not None:
            return f"whether people say {short(self.label_threshold)} or more"
        return f"which label, give or take {short(self.within)}" if self.within else "which label"

    def likeliest(self, p: Floats, values: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """The likeliest verdict of each item and its chance, from the chance of each value, shape (n, V).

        With a pass mark the verdict is 1 or 0; else the level that most of the chance is near.
        """
        if self.label_threshold is not None:
            yes = p[:, values >= self.label_threshold].sum(axis=1)
            return np.where(np.isnan(yes), np.nan, yes >= 0.5 - 1e-9), np.maximum(yes, 1 - yes)
        near = np.abs(values[:, None] - levels) <= self.within + 1e-9
        chance = p @ near
        off = np.abs((p @ values)[:, None] - levels)
        best = np.where(chance >= chance.max(axis=1, keepdims=True) - 1e-9, off, np.inf).argmin(axis=1)
        sure = chance[np.arange(len(p)), best]
        return np.where(np.isnan(sure), np.nan, levels[best]), sure

    def errors(self, verdict: Floats, y: Floats) -> Floats:
        """1 where a verdict differs from people's label, NaN where one of them is missing."""
        wrong = (
            np.abs(y - verdict) > self.within + 1e-9
            if self.label_threshold is None
            else (y >= self.label_threshold) != (verdict > 0)
        )
        return np.where(np.isfinite(y) & np.isfinite(verdict), wrong, np.nan).astype(float)


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Of one judge: a verdict of each item (1 or 0 with a pass mark, else a level) and its confidence."""

    verdict: Floats
    confidence: Floats
    source: str
    warnings: tuple[str, ...] = ()


def verdicts_of(
    judged: Labelled, rule: Rule, confidence: str | None, votes: pd.DataFrame | None, x: Any, groups: str | None
) -> Verdicts:
    """By votes where there are some that differ, else calibrated; or as was asked for."""
    notes: tuple[str, ...] = ()
    if confidence not in (None, "votes", "calibrated"):
        source, (verdict, sure) = confidence, _by_column(judged, rule, confidence)
    elif votes is not None and confidence != "calibrated" and (shares := _shares(votes, judged)) is not None:
        source, (verdict, sure) = "votes", rule.likeliest(*shares, judged.levels)
    elif confidence == "votes":
        raise TableArgumentError("confidence", "needs several replies, or raters, on people's scale, for 'votes'",
                                 f"{words(judged.label)} has one, or is on another scale")  # fmt: skip
    else:
        p, doubts = _calibrated_shares(judged, x, None if groups is None else groups_of(judged.frame, groups))
        source, (verdict, sure) = "calibrated", rule.likeliest(p, judged.levels, judged.levels)
        notes = (_LEARNED, *doubts)
    # what should tie must not differ by dust
    return Verdicts(verdict, np.round(sure, 10), source, notes)


def votes_of(replies: pd.DataFrame | None, table: ValidatedTable, judged: Labelled, inputs: str) -> pd.DataFrame | None:
    """What stands behind each score: replies of the judge, or the scores of all judges; item, score, weight."""
    if inputs == "raters":
        rows = table.frame[table.frame["criterion"] == judged.label["criterion"]]
        return rows[["item", "score"]].assign(weight=1.0)
    if replies is None:
        return None
    same = pd.Series(data=True, index=replies.index)
    for name, value in SliceKey.of(judged.label)._asdict().items():
        same &= replies[name].isna() if value is None else replies[name] == value
    return replies.loc[same, ["item", "score", "weight"]]


def _by_column(judged: Labelled, rule: Rule, name: str) -> tuple[Floats, Floats]:
    """The judge's own verdict, with a confidence of the user's.

    Without a pass mark it is the nearest level, of two the upper one: people say no number between two levels, so a
    verdict is none either.
    """
    if name not in judged.frame:
        must = "must be 'votes', 'calibrated' or a column of the scores"
        raise TableArgumentError("confidence", must, f"got {name!r}")
    sure = pd.to_numeric(judged.frame[name], errors="coerce").to_numpy(dtype=float)
    verdict, levels = judged.frame["x"].to_numpy(dtype=float), judged.levels
    if not _on_peoples_scale(judged, verdict):
        got = f"{words(judged.label)} is not"
        raise TableArgumentError("confidence", "of a column needs a judge on people's scale, for its verdicts", got)
    unread = np.isnan(verdict)
    if rule.label_threshold is None or len(levels) == 2:
        verdict = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, verdict, side="right")]
    if rule.label_threshold is not None:
        verdict = verdict >= rule.label_threshold
    return np.where(unread, np.nan, verdict), np.where(np.isinf(sure), np.nan, sure)


def _on_peoples_scale(judged: Labelled, values: Floats) -> bool:
    low, high = judged.levels[0], judged.levels[-1]
    scale = parse_scale(judged.scale) if judged.scale else None
    if scale is not None and (scale.low, scale.high) != (low, high):
        return False
    read = values[np.isfinite(values)]
    return bool(len(read) and low <= read.min() and read.max() <= high)


def _shares(votes: pd.DataFrame, judged: Labelled) -> tuple[Floats, Floats] | None:
    """The share of each value among the votes about each item; None where they all agree, or are on another scale."""
    votes = votes[votes["score"].notna() & (votes["weight"] > 0)]
    place = pd.Index(judged.frame["item"].astype(object)).get_indexer(votes["item"].astype(object))
    votes, place = votes[place >= 0], place[place >= 0]
    value = votes["score"].to_numpy(dtype=float)
    values = np.union1d(value, judged.levels)
    if len(values) > _VALUES or not _on_peoples_scale(judged, value):
        return None
    p = np.zeros((len(judged.frame), len(values)))
    np.add.at(p, (place, np.searchsorted(values, value)), votes["weight"].to_numpy(dtype=float))
    if not ((p > 0).sum(axis=1) > 1).any():
        return None
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.full(p.shape, np.nan), where=total > 0), values


def _calibrated_shares(judged: Labelled, x: Any, units: Any) -> tuple[Floats, tuple[str, ...]]:
    """The chance of each label; from several inputs by a map that has not seen the document's labels."""
    shares = [name for name in (f"p_{short(level)}" for level in judged.levels) if name in judged.frame]
    if len(shares) == len(judged.levels):  # the scores are calibrated
        return np.asarray(judged.frame[shares], dtype=float), ()
    with renamed_errors(judged.label, y="labels", x="scores"):
        made = stats.calibration_map(x, judged.frame["y"], levels=judged.levels, groups=units, n_resamples=2)
    # of one input the map has so few numbers that it may know the labels, and equal scores stay equal
    if x.shape[1] == 1 or not made.n_folds:
        return made.predict(x), made.warnings
    names = judged.frame["item"] if units is None else units
    other = np.array([zlib.crc32(str(name).encode("utf-8", "surrogatepass")) % made.n_folds for name in names])
    # one map each for labelled items and others, or their confidences would not be alike
    return made.predict(x, fold=np.where(made.fold < 0, other, made.fold)), made.warnings


# --- how the labels came about ----------------------------------------------------------------------------------------


def drawn_by(judged: Labelled, groups: str | None) -> tuple[Any, tuple[str, ...]]:
    """The groups that were drawn, None where items were; and what has to be said of how the labels came about."""
    frame = judged.frame
    labelled = frame["y"].notna() & frame["x"].notna()
    design, notes = _design(frame, labelled, judged.label)
    unit = None if groups is None else groups_of(frame, groups)
    if unit is None or not labelled.any():
        return None, notes
    code = pd.factorize(unit)[0]
    there, n, size = len(set(code[labelled])), int(labelled.sum()), np.bincount(code)
    if there == n and design != "groups":
        return None, notes
    of_groups = f"the {n} labels are of {there} groups"
    expected = (1 - (1 - size / len(code)) ** n).sum()
    if design == "groups" or (design is None and there < _SPREAD * expected):
        text = f"whole_groups: {of_groups}, which count instead of the labels"
        return np.asarray(unit, dtype=object), (*notes, text)
    promise = "taken as a random draw of these items: the promise is for them, new groups may differ"
    return None, (*notes, f"repeated_groups: {of_groups} and {promise}")


def _design(frame: pd.DataFrame, labelled: Any, label: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """How `choose` drew the labelled items; chances that differ are refused."""
    if not set(DESIGN) <= set(frame) or frame[list(DESIGN)].isna().all(axis=None) or labelled.all():
        return None, ()
    drawn = frame[frame["inclusion"].notna()]
    chance = drawn["inclusion"].astype(float)
    design = str(drawn["design"].iloc[0])
    if len(set(drawn["design"].astype(str))) > 1 or chance.max() - chance.min() > 1e-6 * chance.max():
        raise TableError(
            f"{words(label)}: the labels must be of items that all had the same chance to be drawn, or errors among "
            f"the accepted would be counted wrongly, but the design {design!r} gave them different ones: draw them "
            f"with choose(scores, n) or choose(scores, n, design='groups')."
        )
    notes, chosen = [], chosen_in(frame)
    if unmatched := int((labelled & ~chosen).sum()):
        notes.append(f"labels_not_drawn: {unmatched} labels are of items that `choose` did not draw")
    if blank := int((chosen & ~labelled).sum()):
        notes.append(f"labels_incomplete: {blank} of {int(chosen.sum())} drawn items have no label")
    return design, tuple(notes)
