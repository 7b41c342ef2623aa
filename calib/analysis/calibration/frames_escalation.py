"""Escalation on tables: verdicts of a judge, how sure each is, and where people's labels say that it is wrong."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats as laws

from calib import stats
from calib.analysis.calibration import frames_calibration as maps
from calib.analysis.calibration.escalation import VerdictRule
from calib.analysis.calibration.frames import chance_columns, replies_in
from calib.analysis.calibration.frames_calibration import CALIBRATED, KINDS, Calibration
from calib.analysis.means.random_draw import p_of_draw
from calib.core import check
from calib.core.check import ArgumentError, Floats
from calib.core.numeric import adjusted_p_values
from calib.core.result import short
from calib.inputs.names import Columns, Data
from calib.table import TableArgumentError, TableError, parse_scale
from calib.table.driver import verb
from calib.table.labelled import Labelled, copies, groups_of, labelled_pairs, parts_of_labelled, whole_column
from calib.table.pairs import DESIGN, chosen_in, unequal_chances
from calib.table.results import Results, words
from calib.table.validate import SliceKey, renamed_errors

_VALUES = 50  # values of votes that are counted one by one
_LEARNED = (
    "calibrated_confidence: the confidences were learned from the same labels, so that the promise is one for many "
    "labels; in simulations it held from 50 on; confidence='votes' (--confidence votes) or a column of your own make "
    "it exact"
)
_KEYS = ("criterion", "prompt", "method", "temperature")  # by which rows of items are joined
_DIGITS = 10  # of confidences: what should tie must not differ by dust
_NEVER = 0.001  # chance of a draw with so few labels of a system, or of items so sure, below which it was none
_LEVEL = 0.05  # of the tests whether systems differ, and whether groups were drawn
_BESIDE_SCORES = ", with the system beside all scores (in a shell --items)"
_WHOLE = 0.9  # of the labelled groups that are labelled in full, where groups were drawn and few labels are missing
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
    by: str | None = None,
    groups: str | None = "group",
    **columns: Unpack[Columns],
) -> Results[stats.Escalation]:
    """Which items a judge may decide alone, and which are for people, with a guarantee on the judge's errors.

    The promise: drawing the labels again and again, the verdicts that are accepted differ from people's for more than
    `risk` of the items at most 1 - `confidence_level` of the times. It is about the accepted items together, and about
    one rule that was fixed before: to take the best of m judges or thresholds afterwards, ask each of them with a
    `confidence_level` of 1 - (1 - confidence_level) / m. A judge decides nothing where one verdict for all items keeps
    the risk, or where labels do not show that its verdicts err less than the best of these.

    Results are one for each judge, criterion and value of `by`; `.one().accepted` and `.one().escalated` are frames of
    the scores, the latter for `label`.

    Parameters
    ----------
    {scores}
        Ratings with several draws or token probabilities are votes.
    labels : table, path or frame, optional
        People's labels of a random sample, of the items or of whole groups, such as `choose` draws.
    risk, confidence_level : float
        As for `calib.stats.accept_threshold`.
    label_threshold : float, optional
        The label from which on an item passes: the verdict is whether people give this or more. It or `within` must be
        set where people's scale has more than three values.
    within : float, optional
        Without `label_threshold`: a verdict is a level, and wrong where people's label (the median) is farther off.
        Default: 0 on a scale of up to three values, as for preferences.
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
    by : str, optional
        A column of the scores, such as "system": the promise holds within each of its values, by labels of its own.
        Where these are too few nothing is accepted. Without it a system may err far more often than all together.
    groups : str or None, default "group"
        The column of what items share (the document). Where whole groups were labelled these count, not the labels.
    {columns}

    Examples
    --------
    >>> import calib
    >>> judge = [1, 2, 4, 5] * 60
    >>> files = {"judge": judge, "people": [1, 2, 4, 5, 2, 3, 5, 4] * 15 + [None] * 120}
    >>> print(calib.escalate(files, scale="1|2|3|4|5", label_threshold=4).one())
    240 of 240 items (100 %) may be decided by what the calibration map makes of the judge's score. With 90 % \
confidence at most 10 % of these verdicts (whether people say 4 or more) differ from people's. One verdict for all \
items (4 or more) differs from 50 % of 120 labels. 0 are for people [warnings: calibrated_confidence]
    """
    check.choice(inputs, "inputs", KINDS)
    options: dict[str, Any] = {"risk": check.probability(risk, "risk")}
    options["confidence_level"] = check.probability(confidence_level, "confidence_level")
    _check_options(label_threshold, within, prices)
    files, table, labelled = maps.judges_and_labels(scores, labels, columns)
    replies = replies_in(files.scores)
    judges, group, source = maps.judges_of(table, inputs), files.named(groups, "groups"), files.named(confidence)
    by = files.named(by, "by")
    if by is not None:
        whole_column(judges.frame.head(0), by, "by")
    if source in (None, "votes", "calibrated"):
        beside_scores = [*chance_columns(judges.frame)]
    else:
        beside_scores = [source] if source in judges.frame else []
    own = {SliceKey.of(label): rows for label, rows in judges.slices()}
    answers = []
    for judged in labelled_pairs(judges, labelled, (group, by, *beside_scores)):
        key = SliceKey.of(judged.label)
        low, high = judged.levels[0], judged.levels[-1]
        if label_threshold is not None and not low < label_threshold <= high:
            must = f"must be above {short(low)} and at most {short(high)}, people's scale"
            got = f"got {short(label_threshold)} for {words(judged.label)}"
            raise TableArgumentError("label_threshold", must, got)
        if label_threshold is None and within is None and len(judged.levels) > 3 and not files.pairwise:
            must = "must say from which label on an item passes, or {0} how far a verdict may be from the label"
            got = f"people's scale has {len(judged.levels)} values"
            raise ArgumentError("label_threshold", must, got, mentions=("within",), about=words(judged.label))
        rule = VerdictRule(judged.levels, label_threshold, within or 0.0)
        votes = replies.get(key)
        if inputs == "raters":  # the scores of all judges
            votes = table.frame[table.frame["criterion"] == judged.label["criterion"]].assign(weight=1.0)
        x, _ = maps.map_inputs(own[key], table, inputs)
        verdicts = _decisions(judged, rule, source, votes, maps.in_order(x, own[key], judged), group, inputs)
        for place, part in parts_of_labelled(judged, by):
            rows = own[key][own[key]["item"].astype(object).isin(part.frame["item"])]
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(part.frame["x"].isna().sum())}
            verdict = verdicts.at(place)
            one = _escalation(part, rows, rule, verdict, group, systems=by != "system", prices=prices, **options)
            answers.append((part.label | counts, one))
    return Results.of(answers)


class _Verdicts(NamedTuple):
    """Verdicts of the items of a judge: 1 or 0 with a threshold, else a level; how sure; whose; what to mind."""

    source: str
    whose: str
    verdict: Floats
    sure: Floats
    own: Floats | None  # the judge's own, where they are others
    notes: tuple[str, ...] = ()

    def at(self, rows: Any) -> _Verdicts:
        """The verdicts of some of the items."""
        own = None if self.own is None else self.own[rows]
        return self._replace(verdict=self.verdict[rows], sure=self.sure[rows], own=own)


def _check_options(threshold: float | None, within: float | None, prices: Mapping[str, float] | None) -> None:
    """What can be refused before anything is read."""
    if within is not None and not 0 <= within < np.inf:
        raise ArgumentError("within", "must be 0 or more", f"got {within!r}")
    if within is not None and threshold is not None:
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
    judged: Labelled, rows: pd.DataFrame, rule: VerdictRule, verdicts: _Verdicts, groups: str | None, *, systems: bool,
    prices: Mapping[str, float] | None, **options: float,
) -> stats.Escalation:  # fmt: skip
    """What becomes of the items of one judge; `rows` are its scores, in their order, `options` risk and level."""
    drawn, notes = _drawn_groups(judged, groups)
    place = pd.Index(judged.frame["item"].astype(object)).get_indexer(rows["item"].astype(object))
    decided, y = verdicts.at(place), judged.frame["y"].to_numpy(dtype=float)[place]
    verdict, sure = decided.verdict, decided.sure
    errors, units = rule.errors(verdict, y), None if drawn is None else drawn[place]
    constants = rule.constants
    rivals = np.stack([rule.errors(np.full(len(y), one), y) for one in constants.values()], axis=1)
    with renamed_errors(judged.label, confidence="scores", errors="labels"):
        test = stats.accept_threshold(sure, errors, rivals=rivals, groups=units, **options)
    accepted, has_label, best = test.accepts(sure), np.isfinite(y), test.rival
    if accepted.any():
        _refuse_picked(judged.label, judged.frame.iloc[place].assign(sure=sure, unit=units), np.isfinite(errors))
    if systems:
        notes += _unlike_systems(judged.frame, place, accepted, errors, test.n_groups)
    if copied := "".join(copies(judged.frame.dropna(subset=["x", "y"]))).removeprefix("labels_like_scores: "):
        notes.append(f"labels_like_scores: {copied}")
    items = rows.astype({"item": object}).reset_index(drop=True)
    items = items.assign(label=y, verdict=verdict, confidence=sure)
    decider = "calibration map of " * (verdicts.source == "calibrated") + str(judged.label["rater"])
    items["decided_by"] = np.where(accepted, decider, "").astype(object)
    n, n_escalated, cost, cost_of_labels = len(items), int((~accepted & ~has_label).sum()), np.nan, np.nan
    if prices is not None:
        cost = n * prices.get("judge", 0.0) + (n_escalated + int(has_label.sum())) * prices["label"]
        cost_of_labels = n * prices["label"]
    return stats.Escalation(
        accepted_share=float(accepted.mean()), n=n, n_accepted=int(accepted.sum()), n_escalated=n_escalated,
        n_labels=int(np.isfinite(errors).sum()), n_groups=test.n_groups, **options,
        threshold=test.threshold, verdict=str(rule), confidence=verdicts.source, whose=verdicts.whose,
        n_not_own=None if decided.own is None else int((np.isfinite(verdict) & (verdict != decided.own)).sum()),
        constant="" if best is None else [*constants][best.place],
        constant_error=np.nan if best is None else best.errors / best.m,
        constant_bound=np.nan if best is None else best.bound, exact=verdicts.source != "calibrated", test=test,
        cost=cost, cost_of_labels=cost_of_labels, items=items,
        warnings=tuple(dict.fromkeys((*judged.warnings, *notes, *verdicts.notes, *test.warnings))),
    )  # fmt: skip


def _refuse_picked(label: dict[str, Any], frame: pd.DataFrame, labelled: NDArray[np.bool_]) -> None:
    """Refuse labels of surer, or less sure, items than a random draw of items (or of whole groups) would reach."""
    frame = frame.assign(labelled=labelled)[np.isfinite(frame["sure"])]
    if set(DESIGN) <= set(frame) and frame["chosen"].notna().any():
        frame = frame[chosen_in(frame)]
    drawn = frame if frame["unit"].isna().all() else frame.groupby("unit").agg({"sure": "mean", "labelled": "any"})
    of, chosen = drawn["sure"], drawn["labelled"].to_numpy(dtype=bool)
    if p_of_draw(of.to_numpy(dtype=float), chosen) < _NEVER:
        apart = f"confidence of {short(of[chosen].mean())} on average, the others of {short(of[~chosen].mean())}"
        rule = f"labels must be of a random sample of the items that are decided, but they are of items with a {apart}"
        raise TableError(f"{words(label)}: {rule}: label a random sample (calib.choose).")


def _unlike_systems(frame: pd.DataFrame, place: Any, accepted: Any, errors: Floats, n_units: int) -> list[str]:
    """Warnings of systems that have no label, and of those with more errors than the others among the accepted.

    Fisher's exact test of each against all others, adjusted over systems by Holm. Where a random draw of so many labels
    would seldom have so few of a system the labels are of other items than are decided, which is refused. Of systems
    that stand beside the labels alone it says only which have more errors.
    """
    if not accepted.any() or "system" not in frame or frame["system"].nunique() < 2:
        return []
    named = frame["system"].iloc[place].notna().to_numpy()
    everywhere, labelled, notes = named.all(), np.isfinite(errors), []
    place, accepted, errors, labelled = (one[named] for one in (place, accepted, errors, labelled))
    system, names = pd.factorize(frame["system"].iloc[place].astype(str), sort=True)
    bare = np.setdiff1d(system[accepted], system[labelled])
    who = ", ".join(repr(str(names[one])) for one in bare[:5])
    # how often a random draw of as many units would hold no more of a system
    n_labelled, share = np.bincount(system[labelled], minlength=len(names)), np.bincount(system) / len(system)
    as_few = laws.binom.cdf(np.floor(n_labelled * n_units / max(labelled.sum(), 1)), n_units, share)
    seldom = np.flatnonzero((adjusted_p_values(as_few, "holm") < _NEVER) & np.isin(range(len(names)), system[accepted]))
    if everywhere and len(seldom):
        few = ", ".join(f"{n_labelled[one]} of {str(names[one])!r}" for one in seldom[:5])
        n = labelled.sum()
        rule = f"labels must be of a random sample of the items that are decided, but of {n} only {few} are"
        raise TableError(f"{rule}: label more of these, or ask for each system by itself (by='system', --by system).")
    if len(bare):
        notes.append(f"labels_of_some_systems: no label is of {who}, whose items are decided too")
    here = labelled & accepted
    n, wrong = (np.bincount(system[here], part, len(names)) for part in (None, errors[here]))
    p = adjusted_p_values(laws.hypergeom.sf(wrong - 1, n.sum(), wrong.sum(), n), "holm")
    if len(worse := np.flatnonzero(p <= _LEVEL)):
        each = ", ".join(f"{names[one]!r} ({wrong[one]:.0f} of {n[one]:.0f})" for one in worse[:5])
        notes.append(
            f"systems_differ: of all accepted labels {wrong.sum():.0f} of {n.sum():.0f} differ from their verdict, of "
            f"{each} more (Fisher's test at {100 * _LEVEL:g} % over all systems): the promise does not hold within "
            f"each; by='system' (--by system) gives one that does{'' if everywhere else _BESIDE_SCORES}"
        )
    return notes


def _decisions(
    judged: Labelled, rule: VerdictRule, confidence: str | None, votes: pd.DataFrame | None, x: Any, groups: str | None,
    inputs: str,
) -> _Verdicts:  # fmt: skip
    """The verdicts: by votes that differ, else by a calibration map, or by what `confidence` names."""
    score, of_all = judged.frame["x"].to_numpy(dtype=float), inputs == "raters"
    on_scale = _on_peoples_scale(judged, score)
    if confidence not in (None, "votes", "calibrated"):
        if confidence not in judged.frame:
            must = "must be 'votes', 'calibrated' or a column of the scores"
            raise TableArgumentError("confidence", must, f"got {confidence!r}")
        if not on_scale:
            got = f"{words(judged.label)} is not"
            raise TableArgumentError("confidence", "of a column needs a judge on people's scale, for its verdicts", got)
        sure = pd.to_numeric(judged.frame[confidence], errors="coerce").to_numpy(dtype=float)
        sure = np.where(np.isinf(sure), np.nan, sure)
        return _Verdicts(confidence, "the judge's own verdict", rule.own(score), sure.round(_DIGITS), None)
    if votes is not None and confidence != "calibrated" and (shares := _vote_shares(votes, judged)) is not None:
        verdict, sure = rule.likeliest(*shares)
        whose = "what most judges say" if of_all else "what most of the judge's votes say"
        return _Verdicts("votes", whose, verdict, np.round(sure, _DIGITS), None)
    if confidence == "votes":
        must = "needs several replies, or raters, on people's scale, for 'votes'"
        got = f"{words(judged.label)} has one, or is on another scale"
        raise TableArgumentError("confidence", must, got)
    p, notes = _map_chances(judged, x, groups)
    verdict, sure = rule.likeliest(p, judged.levels)
    reads = "all judges' scores" if of_all else "the judge's score" + "s on all criteria" * (inputs == "criteria")
    own = rule.own(score) if on_scale and not of_all else None
    whose = f"what the calibration map makes of {reads}"
    return _Verdicts("calibrated", whose, verdict, np.round(sure, _DIGITS), own, (_LEARNED, *notes))


def _map_chances(judged: Labelled, x: Any, groups: str | None) -> tuple[Floats, tuple[str, ...]]:
    """The chance of each label by a calibration map, of scores that were calibrated by their own; what to mind."""
    shares_of = [name for name in (f"p_{short(level)}" for level in judged.levels) if name in judged.frame]
    if len(shares_of) == len(judged.levels):
        return np.asarray(judged.frame[shares_of], dtype=float), ()
    units = None if groups is None else groups_of(judged.frame, groups)
    with renamed_errors(judged.label, y="labels", x="scores"):
        fit = stats.calibration_map(x, judged.frame["y"], levels=judged.levels, groups=units, n_resamples=2)
    fold = None
    # a map of one input has too few parameters to remember labels, and equal scores keep equal confidences; of several
    # inputs each document has the map of a fold, also one without labels, so that confidences of both are alike
    if x.shape[1] > 1 and fit.n_folds:
        names = judged.frame["item"] if units is None else units
        code = [zlib.crc32(str(name).encode("utf-8", "surrogatepass")) % fit.n_folds for name in names]
        fold = np.where(fit.fold < 0, code, fit.fold)
    return fit.predict(x, fold=fold), fit.warnings


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
    """The groups that were drawn, None where items were; and warnings of how the labels were drawn."""
    frame = judged.frame
    labelled = frame["y"].notna() & frame["x"].notna()
    design, notes = None, []
    if set(DESIGN) <= set(frame) and not frame[list(DESIGN)].isna().all(axis=None) and not labelled.all():
        drawn = frame[frame["inclusion"].notna()]
        design = str(drawn["design"].iloc[0])
        if len(set(drawn["design"].astype(str))) > 1 or unequal_chances(drawn):
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
    if design == "groups" or (design is None and (there < _SPREAD * expected or _labelled_whole(code, frame))):
        text = f"whole_groups: {of_groups}, which count instead of the labels"
        return np.asarray(unit, dtype=object), [*notes, text]
    promise = "taken as a random draw of these items: the promise is for them, new groups may differ"
    return None, [*notes, f"repeated_groups: {of_groups} and {promise}"]


def _labelled_whole(code: Any, frame: pd.DataFrame) -> bool:
    """Whether groups are labelled in full that a draw of items would seldom have labelled so.

    Of a group of s items it labels all with a chance of p^s / (1 - (1 - p)^s), where it labels one at least.
    """
    labelled = frame["y"].notna()
    size, n = np.bincount(code), np.bincount(code, labelled)
    several, p = (size > 1) & (n > 0), labelled.mean()
    whole, there = int((n == size)[several].sum()), int(several.sum())
    chance = (p ** size[several] / (1 - (1 - p) ** size[several])).mean() if there else 1.0
    return whole >= _WHOLE * there and bool(laws.binom.sf(whole - 1, there, chance) < _LEVEL)


def said_of_items(thing: Any) -> pd.DataFrame | None:
    """What calibrated scores, sets and escalations say of each item, the least sure first; None for other things."""
    if isinstance(thing, Calibration) and thing.scores is not None:
        with warnings.catch_warnings():  # the page has that in its first sentence
            warnings.filterwarnings("ignore", "no_skill")
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
            decider = "the map" if result.confidence == "calibrated" else "the judge"
            judge = np.where(items["decided_by"] != "", decider, "people")
            whom = np.where(items["label"].notna() & (judge == "people"), "people (labelled)", judge)
            place = pd.Series(whom).map({"people": 0.0, "people (labelled)": 1.0, decider: 2.0}).to_numpy()
            sort = place + items["confidence"].rank(pct=True).fillna(0.0).to_numpy() / 2
            columns = {"for": whom, "judge's score": items["score"], f"{decider}'s verdict": items["verdict"],
                       "confidence": items["confidence"], "sort": sort}  # fmt: skip
        else:  # the widest sets first
            ends = zip(items["low"], items["high"], strict=True)
            sets = [short(low) if low == high else f"{short(low)} to {short(high)}" for low, high in ends]
            columns = {"judge's score": items["score"], "set": sets, "sort": -items["size"].to_numpy(dtype=float)}
        frames.append(named.assign(**columns))
    return pd.concat(frames, ignore_index=True) if frames else None


def _text_of(value: Any) -> str:
    """A value of a key; no temperature is an empty text."""
    return "" if str(value) == "nan" else str(value)
