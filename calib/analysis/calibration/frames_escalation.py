"""Escalation on tables: verdicts of a judge, how sure each is, and where people's labels say that it is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.calibration.frames import chance_columns, replies_in
from calib.analysis.calibration.frames_calibration import (
    CALIBRATED,
    KINDS,
    Calibration,
    in_order,
    judges_and_labels,
    judges_of,
    map_inputs,
)
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.driver import verb
from calib.table.labelled import Labelled, groups_of, labelled_pairs
from calib.table.pairs import DESIGN, chosen_in
from calib.table.results import Results, words
from calib.table.validate import SliceKey, renamed_errors

_VALUES = 50  # values of votes that are counted one by one
_LEARNED = (
    "calibrated_confidence: the confidences were learned from the same labels, so that the promise is one for many "
    "labels; in simulations it held from 50 on; confidence='votes' (--confidence votes) or a column of your own make "
    "it exact"
)
_KEYS = ("criterion", "prompt", "method", "temperature")  # by which rows of items are joined
_SPREAD = 0.8  # of the documents that a random draw of items would reach: with fewer, documents were drawn


@verb
def escalate(
    scores: Data,
    labels: Data = None,
    *,
    risk: float = 0.1,
    confidence_level: float = 0.9,
    label_threshold: float | None = None,
    within: float | None = None,
    confidence: str | None = None,
    inputs: str = "score",
    prices: Mapping[str, float] | None = None,
    groups: str | None = "group",
    **columns: Unpack[Columns],
) -> Results[stats.Escalation]:
    """Which items a judge may decide alone, and which are for people, with a guarantee on the judge's errors.

    The promise: drawing the labels again and again, the verdicts that are accepted differ from people's for more than
    `risk` of the items at most 1 - `confidence_level` of the times. It is about the accepted items together.

    Parameters
    ----------
    {scores}
        Ratings with several draws or token probabilities are votes.
    labels : table, path or frame, optional
        People's labels of a random sample, of the items or of whole groups, such as `choose` draws.
    risk, confidence_level : float
        As for `calib.stats.accept_threshold`.
    label_threshold : float, optional
        The label from which on an item passes: the verdict is whether people give this or more.
    within : float, optional
        Without `label_threshold`: a verdict is a level, and wrong where people's label (the median) is farther off.
        Default: one step of a scale of more than three values, else 0, as for preferences.
    confidence : {"votes", "calibrated"} or str, optional
        How sure a verdict is. "votes": the share of the draws, of the token probabilities or, with
        ``inputs="raters"``, of the judges that it is right by; the verdict is that of the votes. "calibrated": its
        chance by a map that is learned from the labels (`calibrate`), in folds; the verdict is the likeliest one by
        the map, not the judge's score, so that a lenient judge, or one on another scale, does not err throughout. Or
        a column of the scores, beside the judge's own verdicts (of a number between two levels the nearest). Default:
        votes where there are some that differ.
    inputs : {"score", "criteria", "raters"}, default "score"
        What confidences are calibrated on: the judge's score; with "criteria" also its scores on the other criteria;
        with "raters" all judges decide together.
    prices : mapping, optional
        Of a "label" and of a "judge" score.
    groups : str or None, default "group"
        The column of what items share (the document). Where whole groups were labelled these count, not the labels.
    {columns}

    Returns
    -------
    Results of Escalation
        One for each judge and criterion; `.one().accepted` and `.one().escalated` are frames of the scores, the latter
        for `label`.

    Examples
    --------
    >>> import calib
    >>> judge = [1, 2, 4, 5] * 60
    >>> files = {"judge": judge, "people": [1, 2, 4, 5, 2, 3, 5, 4] * 15 + [None] * 120}
    >>> print(calib.escalate(files, scale="1|2|3|4|5", label_threshold=4).one())
    240 of 240 items (100 %) may be decided by judges, with 90 % confidence at most 10 % of the verdicts (whether \
people say 4 or more) differ from people's; 0 are for people [warnings: calibrated_confidence]
    """
    check.choice(inputs, "inputs", KINDS)
    _check_options(risk, confidence_level, label_threshold, within, prices)
    files, table, labelled = judges_and_labels(scores, labels, columns)
    replies = replies_in(files.scores)
    judges, group, source = judges_of(table, inputs), files.named(groups, "groups"), files.named(confidence)
    if source in (None, "votes", "calibrated"):
        beside_scores = [*chance_columns(judges.frame)]
    else:
        beside_scores = [source] if source in judges.frame else []
    own = {SliceKey.of(label): rows for label, rows in judges.slices()}
    answers = []
    for judged in labelled_pairs(judges, labelled, (group, *beside_scores)):
        key = SliceKey.of(judged.label)
        low, high = judged.levels[0], judged.levels[-1]
        if label_threshold is not None and not low < label_threshold <= high:
            must = f"must be above {short(low)} and at most {short(high)}, people's scale"
            got = f"got {short(label_threshold)} for {words(judged.label)}"
            raise TableArgumentError("label_threshold", must, got)
        # the distance asked for, or one step of a scale of more than three values
        step = float(np.diff(judged.levels).min()) if len(judged.levels) > 3 and not files.pairwise else 0.0
        rule = _Rule(judged.levels, label_threshold, step if within is None else within)
        votes = replies.get(key)
        if inputs == "raters":  # the scores of all judges
            votes = table.frame[table.frame["criterion"] == judged.label["criterion"]].assign(weight=1.0)
        x, _ = map_inputs(own[key], table, inputs)
        verdicts = _decisions(judged, rule, source, votes, in_order(x, own[key], judged), group)
        options: dict[str, Any] = {"risk": risk, "confidence_level": confidence_level, "prices": prices}
        counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["x"].isna().sum())}
        answers.append((judged.label | counts, _escalation(judged, own[key], rule, verdicts, group, **options)))
    return Results.of(answers)


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """When a verdict is wrong: on the other side of a threshold of labels, or farther than `within` from the label."""

    levels: Floats
    threshold: float | None
    within: float

    def __str__(self) -> str:
        if self.threshold is not None:
            return f"whether people say {short(self.threshold)} or more"
        return f"which label, give or take {short(self.within)}" if self.within else "which label"

    def likeliest(self, p: Floats, values: Floats) -> tuple[Floats, Floats]:
        """The likeliest verdict of each item and its chance, from the chance of each value, shape (n, V).

        With a threshold the verdict is 1 or 0; else the level that most of the chance is near.
        """
        if self.threshold is not None:
            yes = p[:, values >= self.threshold].sum(axis=1)
            return np.where(np.isnan(yes), np.nan, yes >= 0.5 - 1e-9), np.maximum(yes, 1 - yes)
        near = np.abs(values[:, None] - self.levels) <= self.within + 1e-9
        chance = p @ near
        off = np.abs((p @ values)[:, None] - self.levels)
        best = np.where(chance >= chance.max(axis=1, keepdims=True) - 1e-9, off, np.inf).argmin(axis=1)
        sure = chance[np.arange(len(p)), best]
        return np.where(np.isnan(sure), np.nan, self.levels[best]), sure

    def errors(self, verdict: Floats, y: Floats) -> Floats:
        """1 where a verdict differs from people's label, NaN where one of them is missing."""
        if self.threshold is None:
            wrong = np.abs(y - verdict) > self.within + 1e-9
        else:
            wrong = (y >= self.threshold) != (verdict > 0)
        return np.where(np.isfinite(y) & np.isfinite(verdict), wrong, np.nan).astype(float)


def _check_options(
    risk: float,
    confidence_level: float,
    label_threshold: float | None,
    within: float | None,
    prices: Mapping[str, float] | None,
) -> None:
    """What can be refused before anything is read."""
    check.probability(risk, "risk")
    check.probability(confidence_level, "confidence_level")
    if within is not None and not 0 <= within < np.inf:
        raise ArgumentError("within", "must be 0 or more", f"got {within!r}")
    if within is not None and label_threshold is not None:
        rule = "says what a verdict is without {0}: leave one of them out"
        raise ArgumentError("within", rule, mentions=("label_threshold",))
    if prices is not None and "label" not in prices:
        raise ArgumentError("prices", "must have the price of a 'label'", f"has {sorted(map(str, prices))}")
    if prices is not None and set(prices) - {"label", "judge"}:
        raise ArgumentError("prices", "must be of a 'label' and a 'judge'", f"has {sorted(map(str, prices))}")
    for name, price in (prices or {}).items():
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < np.inf:
            raise ArgumentError("prices", "must be 0 or more", f"got {price!r} for {name!r}")


def _escalation(
    judged: Labelled,
    rows: pd.DataFrame,
    rule: _Rule,
    verdicts: tuple[str, Floats, Floats, tuple[str, ...]],
    groups: str | None,
    *,
    risk: float,
    confidence_level: float,
    prices: Mapping[str, float] | None,
) -> stats.Escalation:
    """What becomes of the items of one judge; `rows` are its scores, in their order."""
    source, verdict, sure, learned = verdicts
    drawn, notes = _drawn_groups(judged, groups)
    place = pd.Index(judged.frame["item"].astype(object)).get_indexer(rows["item"].astype(object))
    y, verdict, sure = judged.frame["y"].to_numpy(dtype=float)[place], verdict[place], sure[place]
    errors, units = rule.errors(verdict, y), None if drawn is None else drawn[place]
    with renamed_errors(judged.label, confidence="scores", errors="labels"):
        test = stats.accept_threshold(sure, errors, risk=risk, confidence_level=confidence_level, groups=units)
    accepted, has_label = test.accepts(sure), np.isfinite(y)
    items = rows.astype({"item": object}).reset_index(drop=True)
    items = items.assign(label=y, verdict=verdict, confidence=sure)
    items["decided_by"] = np.where(accepted, str(judged.label["rater"]), "").astype(object)
    n, n_escalated, cost, cost_of_labels = len(items), int((~accepted & ~has_label).sum()), np.nan, np.nan
    if prices is not None:
        cost = n * prices.get("judge", 0.0) + (n_escalated + int(has_label.sum())) * prices["label"]
        cost_of_labels = n * prices["label"]
    return stats.Escalation(
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
        confidence=source,
        exact=source != "calibrated",
        test=test,
        cost=cost,
        cost_of_labels=cost_of_labels,
        items=items,
        warnings=tuple(dict.fromkeys((*judged.warnings, *notes, *learned, *test.warnings))),
    )


def _decisions(
    judged: Labelled, rule: _Rule, confidence: str | None, votes: pd.DataFrame | None, x: Any, groups: str | None
) -> tuple[str, Floats, Floats, tuple[str, ...]]:
    """By votes where there are some that differ, else calibrated, or as was asked for.

    The source of the confidences, the verdict of each item (1 or 0 with a threshold, else a level), its confidence.
    """
    notes: tuple[str, ...] = ()
    if confidence not in (None, "votes", "calibrated"):
        # the judge's own verdict; without a threshold it is the nearest level, of two the upper one: people say no
        # number between two levels, so a verdict is none either
        if confidence not in judged.frame:
            must = "must be 'votes', 'calibrated' or a column of the scores"
            raise TableArgumentError("confidence", must, f"got {confidence!r}")
        sure = pd.to_numeric(judged.frame[confidence], errors="coerce").to_numpy(dtype=float)
        score, levels = judged.frame["x"].to_numpy(dtype=float), judged.levels
        if not _on_peoples_scale(judged, score):
            got = f"{words(judged.label)} is not"
            raise TableArgumentError("confidence", "of a column needs a judge on people's scale, for its verdicts", got)
        verdict = score
        if rule.threshold is None or len(levels) == 2:
            verdict = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, score, side="right")]
        if rule.threshold is not None:
            verdict = verdict >= rule.threshold
        source, verdict = confidence, np.where(np.isnan(score), np.nan, verdict)
        sure = np.where(np.isinf(sure), np.nan, sure)
    elif votes is not None and confidence != "calibrated" and (shares := _vote_shares(votes, judged)) is not None:
        source, (verdict, sure) = "votes", rule.likeliest(*shares)
    elif confidence == "votes":
        must = "needs several replies, or raters, on people's scale, for 'votes'"
        got = f"{words(judged.label)} has one, or is on another scale"
        raise TableArgumentError("confidence", must, got)
    else:
        source, notes, units = "calibrated", (_LEARNED,), None if groups is None else groups_of(judged.frame, groups)
        shares_of = [name for name in (f"p_{short(level)}" for level in judged.levels) if name in judged.frame]
        if len(shares_of) == len(judged.levels):  # the scores are calibrated
            p = np.asarray(judged.frame[shares_of], dtype=float)
        else:
            with renamed_errors(judged.label, y="labels", x="scores"):
                fit = stats.calibration_map(x, judged.frame["y"], levels=judged.levels, groups=units, n_resamples=2)
            fold, notes = None, (_LEARNED, *fit.warnings)
            # of one input the map has so few numbers that it may know the labels, and equal scores stay equal; from
            # several inputs by a map that has not seen the document's labels, with one each for labelled items and
            # others, or their confidences would not be alike
            if x.shape[1] > 1 and fit.n_folds:
                names = judged.frame["item"] if units is None else units
                code = [zlib.crc32(str(name).encode("utf-8", "surrogatepass")) % fit.n_folds for name in names]
                fold = np.where(fit.fold < 0, code, fit.fold)
            p = fit.predict(x, fold=fold)
        verdict, sure = rule.likeliest(p, judged.levels)
    # what should tie must not differ by dust
    return source, verdict, np.round(sure, 10), notes


def _on_peoples_scale(judged: Labelled, values: Floats) -> bool:
    low, high = judged.levels[0], judged.levels[-1]
    scale = parse_scale(judged.scale) if judged.scale else None
    if scale is not None and (scale.low, scale.high) != (low, high):
        return False
    read = values[np.isfinite(values)]
    return bool(len(read) and low <= read.min() and read.max() <= high)


def _vote_shares(votes: pd.DataFrame, judged: Labelled) -> tuple[Floats, Floats] | None:
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


def _drawn_groups(judged: Labelled, groups: str | None) -> tuple[Any, list[str]]:
    """The groups that were drawn, None where items were; and what has to be said of how the labels came about."""
    frame = judged.frame
    labelled = frame["y"].notna() & frame["x"].notna()
    design, notes = None, []
    if set(DESIGN) <= set(frame) and not frame[list(DESIGN)].isna().all(axis=None) and not labelled.all():
        drawn = frame[frame["inclusion"].notna()]
        chance, design = drawn["inclusion"].astype(float), str(drawn["design"].iloc[0])
        if len(set(drawn["design"].astype(str))) > 1 or chance.max() - chance.min() > 1e-6 * chance.max():
            raise TableError(
                f"{words(judged.label)}: the labels must be of items that all had the same chance to be drawn, or "
                f"errors among the accepted would be counted wrongly, but the design {design!r} gave them different "
                f"ones: draw them with choose(scores, n) or choose(scores, n, design='groups')."
            )
        chosen = chosen_in(frame)
        if unmatched := int((labelled & ~chosen).sum()):
            notes.append(f"labels_not_drawn: {unmatched} labels are of items that `choose` did not draw")
        if blank := int((chosen & ~labelled).sum()):
            notes.append(f"labels_incomplete: {blank} of {int(chosen.sum())} drawn items have no label")
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
        return np.asarray(unit, dtype=object), [*notes, text]
    promise = "taken as a random draw of these items: the promise is for them, new groups may differ"
    return None, [*notes, f"repeated_groups: {of_groups} and {promise}"]


def said_of_items(thing: Any) -> pd.DataFrame | None:
    """What calibrated scores, sets and escalations say of each item, the least sure first; None for other things."""
    if isinstance(thing, Calibration) and thing.scores is not None:
        thing = thing.apply(thing.scores)
    if not isinstance(thing, Results):
        calibrated = isinstance(thing, pd.DataFrame) and {"item", "criterion", "rater", "calibration"} <= set(thing)
        if not calibrated:
            return None
        chances = {name: f"chance of {name[2:]}" for name in thing if name.startswith("p_")}
        frame = thing[["item", *chances, "score", "sd", "conf_low", "conf_high"]]
        frame = frame.assign(**{name: list(map(_text_of, thing[name])) for name in _KEYS})
        frame = frame.assign(judge=thing["rater"].astype(str).str.removesuffix(CALIBRATED))
        frame = frame.assign(**{"judge's score": thing["judge"]} if "judge" in thing else {})
        return frame.rename(columns={**chances, "score": "mean"}).assign(sort=-thing["sd"])
    frames = []
    for label, result in zip(thing.labels, thing, strict=True):
        if not isinstance(result, stats.Escalation | stats.ScoreSets):
            continue
        items = result.items
        keys = {name: _text_of(label.get(name, "")) for name in _KEYS}  # by which rows of several are joined
        named = pd.DataFrame({"item": items["item"], "judge": str(label.get("rater", "")), **keys})
        if isinstance(result, stats.Escalation):  # items for people first
            judge = np.where(items["decided_by"] != "", "the judge", "people")
            whom = np.where(items["label"].notna() & (judge == "people"), "people (labelled)", judge)
            place = pd.Series(whom).map({"people": 0.0, "people (labelled)": 1.0, "the judge": 2.0}).to_numpy()
            sort = place + items["confidence"].rank(pct=True).fillna(0.0).to_numpy() / 2
            columns = {"for": whom, "judge's score": items["score"], "confidence": items["confidence"], "sort": sort}
        else:  # the widest sets first
            ends = zip(items["low"], items["high"], strict=True)
            sets = [short(low) if low == high else f"{short(low)} to {short(high)}" for low, high in ends]
            columns = {"judge's score": items["score"], "set": sets, "sort": -items["size"].to_numpy(dtype=float)}
        frames.append(named.assign(**columns))
    return pd.concat(frames, ignore_index=True) if frames else None


def _text_of(value: Any) -> str:
    """A value of a key; no temperature is an empty text."""
    return "" if str(value) == "nan" else str(value)
