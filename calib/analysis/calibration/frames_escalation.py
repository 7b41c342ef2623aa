"""Verdicts of a judge, how sure each is, and where people's labels say that it is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.calibration.frames_inputs import beside, inputs_beside, judges_alone, judges_of
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.table import TableArgumentError, TableError, has_replies, parse_scale
from calib.table.gold import Labelled, groups_of, labelled_pairs
from calib.table.pairs import DESIGN, chosen_in
from calib.table.results import words
from calib.table.validate import Checked, Who, in_the_names_of, ratings_in, scores_in

_VALUES = 50  # values of votes that are counted one by one
_LEARNED = (
    "calibrated_confidence: the confidences were learned from the same labels, so that the promise is one for many "
    "labels; in simulations it held from 50 on; confidence='votes' or a column of your own make it exact"
)
_SPREAD = 0.8  # of the documents that a random draw of items would reach: with fewer, documents were drawn


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Of one judge: a verdict of each item (1 or 0 with a pass mark, else a level), its confidence, and its error."""

    verdict: Floats
    confidence: Floats
    errors: Floats
    source: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decider:
    """A judge on one criterion: what it would decide, the rows of its scores, and the groups that were drawn."""

    judged: Labelled
    rows: pd.DataFrame
    rule: Rule
    said: Verdicts
    drawn: Any
    warnings: tuple[str, ...]

    @property
    def label(self) -> dict[str, Any]:
        counts = {"n_unmatched": self.judged.n_unmatched, "n_unread": int(self.judged.frame["x"].isna().sum())}
        return self.judged.label | counts


def deciders_of(
    scores: Any,
    people: Any,
    *,
    cut: float | None,
    within: float | None,
    confidence: str | None,
    inputs: str,
    group: str | None,
    pairwise: bool,
    cascade: Sequence[str] | None = None,
) -> list[Decider]:
    """Each judge with its verdicts, how sure it is of them, and where people's labels say that it errs."""
    labels, replies = scores_in(people, "gold"), replies_in(scores)
    table = judges_alone(scores_in(scores, "scores"), labels)
    judged = judges_of(table if cascade is None else of_raters(table, cascade), inputs)
    own = {Who.of(label): rows for label, rows in judged.slices()}
    found = []
    for one in labelled_pairs(judged, labels, (group, *columns_for(judged.frame, confidence))):
        rows = own[Who.of(one.label)]
        rule = rule_of(one.levels, cut, within, one.label, pairwise=pairwise)
        x = inputs_beside(beside(rows, table, inputs), rows, one)
        votes = votes_of(replies, table, one, inputs)
        found.append(decider_of(one, rule, rows, group, confidence, votes, x))
    return found


def decider_of(
    judged: Labelled, rule: Rule, rows: pd.DataFrame, group: str | None, asked: str | None, votes: Any, x: Any
) -> Decider:
    """One judge with its verdicts, from how the labels were drawn."""
    drawn, said = drawn_by(judged, group)
    units = None if group is None else groups_of(judged.frame, group)
    told = verdicts_of(judged, rule, asked, votes, x, units)
    return Decider(judged, rows, rule, told, drawn, (*judged.warnings, *said, *told.warnings))


@dataclass(frozen=True, slots=True)
class Rule:
    """When a verdict is wrong."""

    cut: float | None
    within: float

    def __str__(self) -> str:
        if self.cut is not None:
            return f"whether people say {short(self.cut)} or more"
        return f"which label, give or take {short(self.within)}" if self.within else "which label"


def rule_of(
    levels: Floats, cut: float | None, within: float | None, label: dict[str, Any], *, pairwise: bool = False
) -> Rule:
    """A pass mark; else the distance asked for; else one step of a scale of more than three values."""
    low, high = levels[0], levels[-1]
    if cut is not None and not low < cut <= high:
        given = f"got {short(cut)} for {words(label)}"
        raise TableArgumentError("cut", f"must be above {short(low)} and at most {short(high)}, people's scale", given)
    step = float(np.diff(levels).min()) if len(levels) > 3 and not pairwise else 0.0
    return Rule(cut, step if within is None else within)


def verdicts_of(
    judged: Labelled, rule: Rule, asked: str | None, votes: pd.DataFrame | None, x: Any, units: Any
) -> Verdicts:
    """By votes where there are some that differ, else calibrated; or as was asked for."""
    said: tuple[str, ...] = ()
    told = _shares(votes, judged) if votes is not None and asked in (None, "votes") else None
    if asked not in (None, "votes", "calibrated"):
        return _by_column(judged, rule, asked)
    if told is not None:
        p, values, source = *told, "votes"
    elif asked == "votes":
        raise TableArgumentError("confidence", "needs several replies, or raters, on people's scale, for 'votes'",
                                 f"{words(judged.label)} has one, or is on another scale")  # fmt: skip
    else:
        p, doubts = _calibrated_shares(judged, x, units)
        values, source, said = judged.levels, "calibrated", (_LEARNED, *doubts)
    verdict, sure = decided(p, values, judged.levels, rule.cut, rule.within)
    return _judged(judged, rule, verdict, sure, source, said)


def columns_for(frame: pd.DataFrame, asked: str | None) -> list[str]:
    """Columns of the scores that a confidence is read from: the one asked for, or those of calibrated scores."""
    if asked not in (None, "votes", "calibrated"):
        return [asked] if asked in frame else []
    return [name for name in frame if isinstance(name, str) and name.startswith("p_")]


def replies_in(scores: Any) -> pd.DataFrame | None:
    """The single replies, where ratings were given."""
    if not (isinstance(scores, pd.DataFrame) and has_replies(scores)):
        return None
    return ratings_in(scores, "scores").frame


def votes_of(replies: pd.DataFrame | None, table: Checked, judged: Labelled, inputs: str) -> pd.DataFrame | None:
    """What stands behind each score: replies of the judge, or the scores of all judges; item, score, weight."""
    if inputs == "raters":
        rows = table.frame[table.frame["criterion"] == judged.label["criterion"]]
        return rows[["item", "score"]].assign(weight=1.0)
    if replies is None:
        return None
    who, same = Who.of(judged.label), pd.Series(data=True, index=replies.index)
    for name, value in who._asdict().items():
        same &= replies[name].isna() if value is None else replies[name] == value
    return replies.loc[same, ["item", "score", "weight"]]


def of_raters(table: Checked, names: Sequence[str]) -> Checked:
    """The scores of some raters, all of which are there."""
    there = sorted(set(table.frame["rater"].astype(str)))
    for name in names:
        if name not in there:
            rule = "must name raters of the scores"
            raise TableArgumentError("cascade", rule, f"got {name!r}; there are {', '.join(map(repr, there))}")
    return table.only(table.frame["rater"].isin(list(names)))


def stages_of(found: Sequence[Decider], cascade: Sequence[str] | None) -> Iterator[list[Decider]]:
    """The judges that come one after the other; without a cascade each is alone."""
    if cascade is None:
        yield from ([one] for one in found)
        return
    for criterion in dict.fromkeys(one.label["criterion"] for one in found):
        several = [[one for one in found if (one.label["criterion"], one.label["rater"]) == (criterion, name)]
                   for name in cascade]  # fmt: skip
        for name, there in zip(cascade, several, strict=True):
            if len(there) > 1:
                known = "; ".join(words(one.judged.label) for one in there)
                raise TableArgumentError("cascade", "must have one kind of scores of each rater", f"has {known}")
            if not there:
                check.warn(f"cascade_lacks: {name!r} has no scores of {criterion!r} beside labels and is passed over")
        yield [one for there in several for one in there]


def aligned_deciders(stages: Sequence[Decider]) -> tuple[pd.DataFrame, dict[str, Floats], Any]:
    """The rows of all items, those of the first judge before others, with people's label; what each judge says of them.

    Arrays have the shape (judges, items); a judge that has not scored an item is not sure of it at all.
    """
    rows = pd.concat([one.rows.astype({"item": object}) for one in stages], ignore_index=True)
    rows = rows.drop_duplicates("item", ignore_index=True)
    facts: dict[str, list[Floats]] = {"verdict": [], "confidence": [], "errors": []}
    label, drawn = pd.Series(np.nan, index=rows["item"]), pd.Series(None, index=rows["item"], dtype=object)
    for one in stages:
        item = one.judged.frame["item"].astype(object)
        for name, parts in facts.items():
            parts.append(pd.Series(getattr(one.said, name), index=item).reindex(rows["item"]).to_numpy())
        label = label.fillna(pd.Series(one.judged.frame["y"].to_numpy(dtype=float), index=item))
        if one.drawn is not None:
            drawn = drawn.where(drawn.notna(), pd.Series(one.drawn, index=item))
    rows = rows.assign(label=label.to_numpy())
    grouped = any(one.drawn is not None for one in stages)
    return rows, {name: np.stack(parts) for name, parts in facts.items()}, drawn.to_numpy() if grouped else None


def check_escalation(
    risk: float,
    confidence_level: float,
    cut: float | None,
    within: float | None,
    prices: Any,
    cascade: Sequence[str] | None,
    inputs: str,
) -> None:
    """What can be refused before anything is read."""
    check.probability(risk, "risk")
    check.probability(confidence_level, "confidence_level")
    if within is not None and not 0 <= within < np.inf:
        raise ArgumentError("within", "must be 0 or more", f"got {within!r}")
    if within is not None and cut is not None:
        raise ArgumentError("within", "says what a verdict is without {0}: leave one of them out", mentions=("cut",))
    if cascade is not None and (isinstance(cascade, str) or not cascade or len(set(cascade)) < len(cascade)):
        raise ArgumentError("cascade", "must name raters, cheap first, each once", f"got {cascade!r}")
    if cascade is not None and inputs == "raters":
        rule = "asks raters in turn, {0} 'raters' all at once: leave one of them out"
        raise ArgumentError("cascade", rule, mentions=("inputs",))
    if prices is not None:
        if "label" not in prices:
            raise ArgumentError("prices", "must have the price of a 'label'", f"has {sorted(map(str, prices))}")
        for name, price in prices.items():
            if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < np.inf:
                raise ArgumentError("prices", "must be 0 or more", f"got {price!r} for {name!r}")


def _judged(
    judged: Labelled, rule: Rule, verdict: Floats, sure: Floats, source: str, said: tuple[str, ...]
) -> Verdicts:
    errors = wrong(verdict, judged.frame["y"].to_numpy(dtype=float), rule.cut, rule.within)
    # what should tie must not differ by dust
    return Verdicts(verdict, np.round(sure, 10), errors, source, said)


def _by_column(judged: Labelled, rule: Rule, name: str) -> Verdicts:
    """The judge's own verdict, with a confidence of the user's."""
    if name not in judged.frame:
        rule_ = "must be 'votes', 'calibrated' or a column of the scores"
        raise TableArgumentError("confidence", rule_, f"got {name!r}")
    sure = pd.to_numeric(judged.frame[name], errors="coerce").to_numpy(dtype=float)
    if not _on_peoples_scale(judged, judged.frame["x"].to_numpy(dtype=float)):
        given = f"{words(judged.label)} is not"
        raise TableArgumentError("confidence", "of a column needs a judge on people's scale, for its verdicts", given)
    x = judged.frame["x"].to_numpy(dtype=float)
    verdict = _nearest_level(x, judged.levels) if rule.cut is None or len(judged.levels) == 2 else x
    if rule.cut is not None:
        verdict = np.where(np.isnan(verdict), np.nan, verdict >= rule.cut)
    return _judged(judged, rule, verdict, np.where(np.isinf(sure), np.nan, sure), name, ())


def _nearest_level(values: Floats, levels: Floats) -> Floats:
    """The nearest level, of two the upper one: people say no number between two levels, so a verdict is none either."""
    place = np.searchsorted((levels[1:] + levels[:-1]) / 2, values, side="right")
    return np.where(np.isnan(values), np.nan, levels[place])


def _on_peoples_scale(judged: Labelled, values: Floats) -> bool:
    low, high = judged.levels[0], judged.levels[-1]
    scale = parse_scale(judged.scale) if judged.scale else None
    if scale is not None and (scale.low, scale.high) != (low, high):
        return False
    known = values[np.isfinite(values)]
    return bool(len(known) and low <= known.min() and known.max() <= high)


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
    with in_the_names_of(judged.label, y="gold", x="scores"):
        found = stats.calibration_map(x, judged.frame["y"], levels=judged.levels, groups=units, n_resamples=2)
    # of one input the map has so few numbers that it may know the labels, and equal scores stay equal
    if x.shape[1] == 1 or not found.n_folds:
        return found.predict(x), found.warnings
    names = judged.frame["item"] if units is None else units
    other = np.array([zlib.crc32(str(name).encode("utf-8", "surrogatepass")) % found.n_folds for name in names])
    # one map each for labelled items and others, or their confidences would not be alike
    return found.predict(x, fold=np.where(found.fold < 0, other, found.fold)), found.warnings


def drawn_by(judged: Labelled, groups: str | None) -> tuple[Any, tuple[str, ...]]:
    """The groups that were drawn, None where items were; and what has to be said of how the labels came about."""
    frame = judged.frame
    labelled = frame["y"].notna() & frame["x"].notna()
    design, said = _design(frame, labelled, judged.label)
    unit = None if groups is None else groups_of(frame, groups)
    if unit is None or not labelled.any():
        return None, said
    code = pd.factorize(unit)[0]
    there, n, size = len(set(code[labelled])), int(labelled.sum()), np.bincount(code)
    if there == n and design != "groups":
        return None, said
    expected = (1 - (1 - size / len(code)) ** n).sum()
    if design == "groups" or (design is None and there < _SPREAD * expected):
        text = f"whole_groups: the {n} labels are of {there} groups, which count instead of the labels"
        return np.asarray(unit, dtype=object), (*said, text)
    text = (
        f"repeated_groups: the {n} labels are of {there} groups and taken as a random draw of these items: the "
        f"promise is for them, new groups may differ"
    )
    return None, (*said, text)


def _design(frame: pd.DataFrame, labelled: Any, label: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """How `choose_items` drew the labelled items; chances that differ are refused."""
    if not set(DESIGN) <= set(frame) or frame[list(DESIGN)].isna().all(axis=None) or labelled.all():
        return None, ()
    drawn = frame[frame["inclusion"].notna()]
    chance = drawn["inclusion"].astype(float)
    design = str(drawn["design"].iloc[0])
    if len(set(drawn["design"].astype(str))) > 1 or chance.max() - chance.min() > 1e-6 * chance.max():
        raise TableError(
            f"{words(label)}: the labels must be of items that all had the same chance to be drawn, or errors among "
            f"the accepted would be counted wrongly, but the design {design!r} gave them different ones: draw them "
            f"with choose_items(scores, n) or choose_items(scores, n, design='groups')."
        )
    said, chosen = [], chosen_in(frame)
    if strangers := int((labelled & ~chosen).sum()):
        said.append(f"gold_not_drawn: {strangers} labels are of items that `choose_items` did not draw")
    if blank := int((chosen & ~labelled).sum()):
        said.append(f"gold_incomplete: {blank} of {int(chosen.sum())} drawn items have no label")
    return design, tuple(said)


def decided(p: Floats, values: Floats, levels: Floats, cut: float | None, within: float) -> tuple[Floats, Floats]:
    """The likeliest verdict of each item and its chance, from the chance of each value, shape (n, V).

    With a pass mark the verdict is 1 or 0; else the level that most of the chance is near.
    """
    if cut is not None:
        yes = p[:, values >= cut].sum(axis=1)
        return np.where(np.isnan(yes), np.nan, yes >= 0.5 - 1e-9), np.maximum(yes, 1 - yes)
    near = np.abs(values[:, None] - levels) <= within + 1e-9
    chance = p @ near
    off = np.abs((p @ values)[:, None] - levels)
    best = np.where(chance >= chance.max(axis=1, keepdims=True) - 1e-9, off, np.inf).argmin(axis=1)
    sure = chance[np.arange(len(p)), best]
    return np.where(np.isnan(sure), np.nan, levels[best]), sure


def wrong(verdict: Floats, y: Floats, cut: float | None, within: float) -> Floats:
    """1 where a verdict differs from people's label, NaN where one of them is missing."""
    apart = np.abs(y - verdict) > within + 1e-9 if cut is None else (y >= cut) != (verdict > 0)
    return np.where(np.isfinite(y) & np.isfinite(verdict), apart, np.nan).astype(float)
