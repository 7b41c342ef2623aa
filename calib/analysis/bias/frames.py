"""Bias on tables: what moves a judge beyond what people see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.bias.frames_claims import Claim, Judged, LackingError, claims_of, judged_items
from calib.core import check
from calib.core.check import ArgumentError, as_typed, choice
from calib.core.numeric import adjusted
from calib.core.progress import progress
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import given, opened
from calib.table import parse_scale
from calib.table.gold import groups_of, with_warnings
from calib.table.pairs import one_scale
from calib.table.results import Results
from calib.table.validate import Who, checked, in_the_names_of, scores_in

_USUAL = ("length", "system", "family")
_NAMES = {"judge": "scores", "raters": "people", "x": "features", "groups": "groups"}
_UNREAD_GAP = 0.05  # between the unread shares of two kinds of items, which is worth a word


def bias(
    scores: Data,
    people: Data = None,
    features: Sequence[str] = _USUAL,
    *,
    items: Any = None,
    family: Mapping[str, str] | None = None,
    unit: str = "words",
    correction: str = "holm",
    groups: str | None = "group",
    reliability: Sequence[float] = (0.5, 1.0),
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.Instrumented]:
    """What moves a judge beyond what people see: length, who wrote it, its own family, layout, any column.

    Two questions, each under its name. What a leaderboard will show: the judge's score less people's mean, for items
    that differ in x (`difference`). Favour at equal quality: the judge's score for items of the same quality that
    differ in x (`estimate`), where quality is one annotator's label, instrumented by the others'.

    Parameters
    ----------
    scores : table, path or frame
        Judges; or a file of your own, which may hold people's labels, too.
    people : table, path or frame
        People's labels one by one, not pooled: two annotators or more tell how far each may be wrong.
    features : sequence of str
        ``"length"`` (logarithm, in standard deviations), ``"lists"``, ``"headings"``, ``"code"``, ``"hedges"`` (whether
        the output has any) are seen in the texts; ``"family"`` is whether the system is of the judge's own family; any
        other is a column of scores or items: of numbers (in standard deviations; of two numbers the higher against the
        lower), or of names, of which each is held against all others, such as ``"system"``. What the usual three lack
        is left out.
    items : table or path, optional
        The texts (`output`) and what else is known of the items.
    family : mapping, optional
        Of which family each system and each judge is.
    unit : {"words", "characters"}
        Of length.
    correction : {"holm", "by", "none"}
        Of p-values, over all claims of the call: Holm for claims, Benjamini-Yekutieli to screen many for a few.
    groups : str or None, default "group"
        The column of what items share (the source document); None: items are independent.
    reliability : pair of float
        With one annotator: the lowest and the highest share of the variance of the labels that may be quality.
    confidence_level : float
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Of `calib.stats.instrumented`, labelled by criterion, rater, prompt, method, temperature, `against`, `feature`,
        `level` (which value of a column), `n_unmatched` (labels of items that the judge did not score) and `n_unread`.

    Raises
    ------
    TableError
        If nothing matches.
    ValueError
        If a feature that was asked for cannot be made, or nothing can be computed.

    Warns
    -----
    CalibWarning
        "left_out": a feature or a judge of which nothing can be said, and why. "unread": replies could not be read more
        often where x is high, which looks like favour and is none. And those of `calib.stats.instrumented`.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> found = calib.bias(ratings, calib.summarize(people, items), ("length",), items=items)
    >>> print(found.one())
    at equal quality -0.05975, 95 % CI [-0.09644, -0.02306]; judge less people -0.05969, 95 % CI [-0.0967, \
-0.02268]; n = 312 in 24 groups
    """
    as_typed(bias, locals())
    choice(unit, "unit", ("words", "characters"))
    choice(correction, "correction", ("holm", "by", "none"))
    if not features or isinstance(features, str):
        raise ArgumentError("features", "must name one feature or more, in a list", f"got {features!r}")
    files = given(scores, people, columns, names=("scores", "people"), any_scale=True)
    judges, labels = scores_in(files.scores, "scores"), scores_in(files.people, "people")
    known = _items(items, files.taken.items if files.taken is not None else None)
    names = [str(files.named(name)) for name in dict.fromkeys(features)]
    options = {"reliability": tuple(reliability), "confidence_level": confidence_level}
    asked = _Asked(names, tuple(features) == _USUAL, unit, family, files.named(groups))
    answers = [
        (label, _computed(label, judged, claim, asked.group, options))
        for judged in progress([*judged_items(judges, labels, known)], "judges")
        for label, claim in asked.claims(judged)
    ]
    kept = [(label, found) for label, found in answers if found is not None]
    if not kept:
        raise ArgumentError("features", "must be known of some items that have a score and labels", "nothing is left")
    return Results.of(_corrected(kept, correction))


def _items(items: Any, own: pd.DataFrame | None) -> pd.DataFrame | None:
    if items is None:
        return own
    thing = opened(items, "items")
    return checked(thing.frame if hasattr(thing, "frame") else thing, "items", "items").frame


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which features were asked for."""

    features: list[str]
    usual: bool
    unit: str
    family: Mapping[str, str] | None
    group: str | None

    def claims(self, judged: Judged) -> Iterator[tuple[dict[str, Any], Claim]]:
        unread = int(judged.frame["score"].isna().sum())
        for feature in self.features:
            try:
                claims = claims_of(judged, feature, self.unit, self.family)
            except LackingError as error:
                if not self.usual:
                    raise ArgumentError("features", f"cannot all be computed: {error}") from None
                if feature != "family" and not (feature == "system" and "system" not in judged.frame):
                    check.warn(f"left_out: {error}.")
                continue
            for claim in claims:
                told = {"feature": feature, "level": claim.level}
                yield judged.label | told | {"n_unmatched": judged.n_unmatched, "n_unread": unread}, claim


def _computed(
    label: dict[str, Any], judged: Judged, claim: Claim, groups: str | None, options: dict[str, Any]
) -> stats.Instrumented | None:
    """The result of a claim; None, said in a warning, where its data do not vary."""
    frame, told = judged.frame, _unread(judged, claim)
    with in_the_names_of(label):
        shared = None if groups is None else groups_of(frame, groups)
    try:
        with in_the_names_of(label, **_NAMES):
            found = stats.instrumented(frame["score"], judged.people, claim.x, groups=shared, **options)
    except ArgumentError as error:
        if error.argument not in _NAMES.values():
            raise
        check.warn(f"left_out: {error}")
        return None
    return with_warnings(replace(found, unit=claim.unit), told)


def _unread(judged: Judged, claim: Claim) -> list[str]:
    """Whether replies could not be read more often where x is high."""
    unread, high = judged.frame["score"].isna().to_numpy(), claim.x > np.nanmean(claim.x)
    if not unread.any() or not 0 < high.sum() < len(high):
        return []
    there, elsewhere = (float(unread[place].mean()) for place in (high, ~high))
    if abs(there - elsewhere) <= _UNREAD_GAP:
        return []
    what = f"{claim.feature} {claim.level}".strip()
    return [
        f"unread: {100 * there:.0f} % of the scores of {what} could not be read, {100 * elsewhere:.0f} % of the rest."
    ]


def _corrected(
    answers: list[tuple[dict[str, Any], stats.Instrumented]], correction: str
) -> Iterator[tuple[dict[str, Any], stats.Instrumented]]:
    """P-values of both questions, and with annotators centred, each over all claims."""
    alone = np.array([found.p_value for _, found in answers])
    apart = np.array([found.difference.p_value for _, found in answers])
    centred = np.array([found.centred.p_value for _, found in answers])
    each = zip(*(adjusted(p, correction) for p in (alone, apart, centred)), strict=True)
    for (label, found), (p, q, r) in zip(answers, each, strict=True):
        told = replace(found, n_claims=len(answers), correction=correction)
        yield label, replace(told, p_adjusted=float(p), difference_p_adjusted=float(q), centred_p_adjusted=float(r))


# --- raters ---------------------------------------------------------------------------------------------------------


def rater_effects(
    scores: Data,
    people: Data = None,
    *,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.RaterEffects]:
    """How each judge uses its scale beside people's own spread: leniency, centrality, ends used, halo.

    Parameters
    ----------
    scores : table, path or frame
        Judges; or a file of your own, which may hold people's labels, too.
    people : table, path or frame
        People's labels one by one, not pooled, on the same scale.
    groups : str or None, default "group"
        The column of what items share (the source document); None: items are independent.
    confidence_level : float
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Of `calib.stats.rater_effects`, labelled by rater, prompt, method and temperature: all criteria of a judge that
        people rated are in one result.

    Raises
    ------
    TableError
        If nothing matches, or people and a judge are on two scales.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> found = calib.rater_effects(calib.summarize(people, items), calib.summarize(people, items))
    >>> one = found["simulated-1"].one().one("leniency", "fluency")
    >>> round(one.estimate, 2), [round(value, 2) for value in one.people], one.inside
    (-0.29, [-0.1, 0.1], False)
    """
    as_typed(rater_effects, locals())
    files = given(scores, people, columns, names=("scores", "people"))
    judges, labels = scores_in(files.scores, "scores"), scores_in(files.people, "people")
    by_judge: dict[Who, list[Judged]] = {}
    for judged in judged_items(judges, labels, None):
        one_scale(judged.label, "rater effects", scores=judged.frame, people=labels.under(judged.label, "criterion"))
        by_judge.setdefault(Who.of(judged.label)._replace(criterion=""), []).append(judged)
    answers = []
    for who, of in by_judge.items():
        label = {name: value for name, value in who.label.items() if name != "criterion"}
        with in_the_names_of(label, judge="scores"):
            found = stats.rater_effects(**_side_by_side(of, files.named(groups)), confidence_level=confidence_level)
        answers.append((label | {"n_unmatched": max(one.n_unmatched for one in of)}, found))
    return Results.of(answers)


def _side_by_side(of: Sequence[Judged], groups: str | None) -> dict[str, Any]:
    """Scores, labels and groups of all criteria, by item."""
    items = pd.Index(list(dict.fromkeys(item for one in of for item in one.frame.index)))
    people = list(dict.fromkeys(name for one in of for name in one.names))
    judge = np.stack([one.frame["score"].reindex(items).to_numpy(dtype=float) for one in of], axis=1)
    labels = [
        pd.DataFrame(one.people, index=one.frame.index, columns=one.names).reindex(index=items, columns=people)
        for one in of
    ]
    known_items = pd.concat([one.frame for one in of])
    known_items = known_items[~known_items.index.duplicated()].reindex(items)
    known = [scale for one in of for text in set(one.frame.get("scale", ())) if (scale := parse_scale(str(text)))]
    return {
        "judge": judge,
        "people": np.stack([frame.to_numpy(dtype=float) for frame in labels], axis=2),
        "criteria": [str(one.label["criterion"]) for one in of],
        "levels": (known[0].low, known[0].high) if known else None,
        "groups": None if groups is None else groups_of(known_items, groups),
    }
