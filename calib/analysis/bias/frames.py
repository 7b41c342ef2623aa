"""Bias on tables: what moves a judge beyond what people see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError, Floats, as_typed, choice
from calib.core.numeric import adjusted
from calib.core.progress import progress
from calib.core.text import printable
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import opened, resolve_inputs
from calib.table import TableArgumentError, parse_scale
from calib.table.labelled import groups_of, with_warnings
from calib.table.pairs import factors_of, one_scale, raters_side_by_side
from calib.table.results import Results
from calib.table.validate import SliceKey, ValidatedTable, renamed_errors, scores_in, slices, validated

_USUAL = ("length", "system", "family")
_NAMES = {"judge": "scores", "labels": "labels", "x": "features", "groups": "groups"}
_UNREAD_GAP = 0.05  # between the unread shares of two kinds of items, which is worth a word


def bias(
    scores: Data,
    labels: Data = None,
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
    labels : table, path or frame
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
    >>> print(calib.bias(ratings, calib.summarize(people, items), ("length",), items=items).one())
    at equal quality -0.05975, 95 % CI [-0.09644, -0.02306]; judge less people -0.05969, 95 % CI [-0.0967, \
-0.02268]; n = 312 in 24 groups
    """
    as_typed(bias, locals())
    choice(unit, "unit", ("words", "characters"))
    choice(correction, "correction", ("holm", "by", "none"))
    if not features or isinstance(features, str):
        raise ArgumentError("features", "must name one feature or more, in a list", f"got {features!r}")
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    judges, people = scores_in(files.scores, "scores"), scores_in(files.people, "labels")
    table = files.inferred.items if files.inferred is not None else None
    if items is not None:
        thing = opened(items, "items")
        table = validated(thing.frame if hasattr(thing, "frame") else thing, "items", "items").frame
    names, group = [str(files.named(name)) for name in dict.fromkeys(features)], files.named(groups)
    usual = tuple(features) == _USUAL
    options = {"reliability": tuple(reliability), "confidence_level": confidence_level}
    answers = []
    for judged in progress([*judged_items(judges, people, table)], "judges"):
        counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["score"].isna().sum())}
        for feature in names:
            for claim in _claims(judged, feature, unit, family, usual=usual):
                label = judged.label | {"feature": feature, "level": claim.level} | counts
                if (result := _computed(label, judged, claim, group, options)) is not None:
                    answers.append((label, result))
    if not answers:
        raise ArgumentError("features", "must be known of some items that have a score and labels", "nothing is left")
    # p-values of both questions, and with annotators centred, each over all claims
    p_values = [[one.p_value, one.difference.p_value, one.centred.p_value] for _, one in answers]
    p_adjusted = np.stack([adjusted(column, correction) for column in np.array(p_values).T], axis=1).tolist()
    corrected = []
    for (label, one), (p, q, r) in zip(answers, p_adjusted, strict=True):
        of_all = {"p_adjusted": p, "difference_p_adjusted": q, "centred_p_adjusted": r}
        corrected.append((label, replace(one, n_claims=len(answers), correction=correction, **of_all)))
    return Results.of(corrected)


def _claims(judged: Judged, feature: str, unit: str, family: Mapping[str, str] | None, *, usual: bool) -> list[Claim]:
    """Of one feature; none where it is only one of the usual and cannot be made."""
    try:
        return claims_of(judged, feature, unit, family)
    except LackingError as error:
        if not usual:
            raise ArgumentError("features", f"cannot all be computed: {error}") from None
        if feature != "family" and not (feature == "system" and "system" not in judged.frame):
            check.warn(f"left_out: {error}.")
        return []


def _computed(
    label: dict[str, Any], judged: Judged, claim: Claim, groups: str | None, options: dict[str, Any]
) -> stats.Instrumented | None:
    """The result of a claim; None, said in a warning, where its data do not vary."""
    frame, doubts = judged.frame, []
    unread, high = frame["score"].isna().to_numpy(), claim.x > np.nanmean(claim.x)
    if unread.any() and 0 < high.sum() < len(high):  # whether replies could not be read more often where x is high
        there, elsewhere = (float(unread[place].mean()) for place in (high, ~high))
        if abs(there - elsewhere) > _UNREAD_GAP:
            what = f"{100 * there:.0f} % of the scores of {f'{claim.feature} {claim.level}'.strip()} could not be read"
            doubts.append(f"unread: {what}, {100 * elsewhere:.0f} % of the rest.")
    with renamed_errors(label):
        shared = None if groups is None else groups_of(frame, groups)
    try:
        with renamed_errors(label, **_NAMES):
            result = stats.instrumented(frame["score"], judged.labels, claim.x, groups=shared, **options)
    except ArgumentError as error:
        if error.argument not in _NAMES.values():
            raise
        check.warn(f"left_out: {error}")
        return None
    return with_warnings(replace(result, unit=claim.unit), doubts)


# --- raters ---------------------------------------------------------------------------------------------------------


def rater_effects(
    scores: Data,
    labels: Data = None,
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
    labels : table, path or frame
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


    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> results = calib.rater_effects(calib.summarize(people, items), calib.summarize(people, items))
    >>> one = results["simulated-1"].one().one("leniency", "fluency")
    >>> round(one.estimate, 2), [round(value, 2) for value in one.people], one.inside
    (-0.29, [-0.1, 0.1], False)
    """
    as_typed(rater_effects, locals())
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    judges, people = scores_in(files.scores, "scores"), scores_in(files.people, "labels")
    by_judge: dict[SliceKey, list[Judged]] = {}
    for judged in judged_items(judges, people, None):
        one_scale(judged.label, "rater effects", scores=judged.frame, labels=people.under(judged.label, "criterion"))
        by_judge.setdefault(SliceKey.of(judged.label)._replace(criterion=""), []).append(judged)
    answers = []
    for who, of in by_judge.items():
        label = {name: value for name, value in who.label.items() if name != "criterion"}
        with renamed_errors(label, judge="scores"):
            result = stats.rater_effects(**_side_by_side(of, files.named(groups)), confidence_level=confidence_level)
        answers.append((label | {"n_unmatched": max(one.n_unmatched for one in of)}, result))
    return Results.of(answers)


def _side_by_side(of: Sequence[Judged], groups: str | None) -> dict[str, Any]:
    """Scores, labels and groups of all criteria, by item."""
    items = pd.Index(list(dict.fromkeys(item for one in of for item in one.frame.index)))
    names = list(dict.fromkeys(name for one in of for name in one.names))
    judge = np.stack([one.frame["score"].reindex(items).to_numpy(dtype=float) for one in of], axis=1)
    labels = [
        pd.DataFrame(one.labels, index=one.frame.index, columns=one.names).reindex(index=items, columns=names)
        for one in of
    ]
    rows = pd.concat([one.frame for one in of])
    rows = rows[~rows.index.duplicated()].reindex(items)
    scales = [scale for one in of for text in set(one.frame.get("scale", ())) if (scale := parse_scale(str(text)))]
    return {
        "judge": judge,
        "labels": np.stack([frame.to_numpy(dtype=float) for frame in labels], axis=2),
        "criteria": [str(one.label["criterion"]) for one in of],
        "levels": (scales[0].low, scales[0].high) if scales else None,
        "groups": None if groups is None else groups_of(rows, groups),
    }


# --- what may move a judge --------------------------------------------------------------------------------------------


MOST_LEVELS = 60  # of a column whose values are held against each other


@dataclass(frozen=True, slots=True)
class Judged:
    """Scores of one judge on one criterion, what each person said of the same items, and what is known of these."""

    label: dict[str, Any]
    frame: pd.DataFrame  # by item: score, and whatever columns scores and items have
    labels: Floats  # (items, annotators)
    names: list[str]
    n_unmatched: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that may move a judge: a number for each item, NaN where it is not known."""

    feature: str
    level: str  # which value of a column; empty where the column is a number
    unit: str
    x: Floats


class LackingError(ValueError):
    """What a feature is made of is not there."""


def judged_items(scores: ValidatedTable, people: ValidatedTable, items: pd.DataFrame | None) -> Iterator[Judged]:
    """Each judge beside people one by one, on the same criterion; whoever is a judge there is no person here."""
    compared = matched = False
    for criterion, rows in people.frame.groupby("criterion", observed=True, sort=False):
        for who, mine in slices(scores.frame[scores.frame["criterion"] == criterion]):
            own = [rows[name].astype(str) == str(who[name]) for name in ("rater", "prompt")]
            theirs = rows[~(own[0] & own[1])]
            table, names = raters_side_by_side(theirs) if len(theirs) else (pd.DataFrame(), [])
            if not len(table):
                continue
            compared = True
            frame = _facts_of_items(mine, theirs, items)
            labels = table.reindex(frame.index).to_numpy(dtype=float)
            against = names[0] if len(names) == 1 else f"{len(names)} annotators"
            unmatched = int((~table.index.isin(frame.index)).sum())
            matched |= unmatched < len(table)
            yield Judged(who | {"against": against}, frame, labels, names, unmatched)
    if not compared:
        have = f"have {people.holds} and {scores.holds}"
        raise TableArgumentError(people.argument, "and {0} must share a criterion", have, mentions=(scores.argument,))
    if not matched:
        none = "no item that people labelled was scored by a judge"
        raise TableArgumentError(people.argument, "and {0} must share items", none, mentions=(scores.argument,))


def _facts_of_items(mine: pd.DataFrame, theirs: pd.DataFrame, items: pd.DataFrame | None) -> pd.DataFrame:
    """The judge's rows by item, with group and system from people, too, and what the items have besides."""
    frame = mine.astype({"item": object}).set_index("item")
    for name, column in factors_of(pd.concat([mine, theirs]), frame.index).items():
        frame[name] = column
    if items is None:
        return frame
    texts = items.astype({"item": object}).set_index("item")
    new = [name for name in texts if name not in frame or frame[name].isna().all()]
    return frame.drop(columns=[name for name in new if name in frame]).join(texts[new])


# --- what can be seen in a text without reading it: how long it is, how it is laid out -----------------------------


_HEDGES = (
    "maybe", "perhaps", "possibly", "probably", "might", "could", "likely", "unlikely", "seems", "seem",
    "appears", "appear", "suggests", "suggest", "i think", "i believe", "it is possible", "in my opinion", "not sure",
    "unclear", "generally", "typically", "tend to", "tends to", "somewhat", "arguably",
)  # fmt: skip
FLAGS: dict[str, re.Pattern[str]] = {
    # a line that starts as an item of a list does: -, *, +, a bullet, 1. or 1)
    "lists": re.compile(r"^[ \t]{0,8}(?:[-*+\u2022\u2023\u25aa]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE),
    # a line of Markdown's or HTML's headings, or one that is bold and nothing else
    "headings": re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+\S|<h[1-6][ >]|\*\*[^*\n]{1,120}\*\*:?[ \t]*$)", re.MULTILINE),
    # a block between fences, a word between backticks, or HTML's <code>
    "code": re.compile(r"^[ \t]{0,3}(?:```|~~~)|`[^`\n]+`|<code[ >]|<pre[ >]", re.MULTILINE),
    # a word by which a writer is not held to what follows; May is a month
    "hedges": re.compile(rf"\b(?:may|(?i:{'|'.join(_HEDGES)}))\b"),
}


def log_length(texts: pd.Series, unit: str = "words") -> Floats:
    """The logarithm of one more than the words or characters of each text where one is empty; NaN without a text.

    Examples
    --------
    >>> log_length(pd.Series(["a b c", None])).round(3)
    array([1.099,   nan])
    """
    lengths = [len(text.split() if unit == "words" else text) if isinstance(text, str) else np.nan for text in texts]
    sizes = np.array(lengths, dtype=float)
    empty = (sizes == 0).any()
    return np.asarray(np.log(sizes + empty), dtype=float)


def flag(texts: pd.Series, name: str) -> Floats:
    r"""1 where a text has lists, headings, code or hedges, else 0; NaN without a text.

    Examples
    --------
    >>> flag(pd.Series(["- one\n- two", "none - here"]), "lists"), flag(pd.Series(["Perhaps so."]), "hedges")
    (array([1., 0.]), array([1.]))
    """
    flags = [bool(FLAGS[name].search(text)) if isinstance(text, str) else np.nan for text in texts]
    return np.array(flags, dtype=float)


# --- features -------------------------------------------------------------------------------------------------------


def claims_of(judged: Judged, feature: str, unit: str, family: Mapping[str, str] | None) -> list[Claim]:
    """The numbers of one feature: one for a number or a flag, one for each value of a column of names."""
    frame = judged.frame
    if feature == "family":
        return [Claim(feature, "", "1 = the judge's own family", _own_family(judged, family))]
    if feature == "score":
        raise LackingError("'score' is the judge's own score, which everything moves with")
    if feature in frame and not frame[feature].isna().all():
        return _of_column(frame[feature], feature)
    if feature == "length":
        x = log_length(_outputs(frame, feature), unit)
        return [Claim(feature, "", f"1 sd of log {unit} ({np.nanstd(x):.2g})", _in_sd(x))]
    if feature in FLAGS:
        return [Claim(feature, "", f"1 = has {feature}", flag(_outputs(frame, feature), feature))]
    there = ", ".join(repr(str(name)) for name in frame if name not in _OF_SCORES) or "none"
    raise LackingError(f"{feature!r} is no column of scores or items (there are {there}), nor one of {_ALL}")


_ALL = f"'length', 'system', 'family', {', '.join(map(repr, FLAGS))}"
_OF_SCORES = frozenset(
    ("criterion", "rater", "prompt", "method", "temperature", "score", "scale", "n", "n_unread", "mass", "low", "high",
     "entropy", "mode", "sd", "std_error", "source", "output", "reference", "references")
)  # fmt: skip


def _outputs(frame: pd.DataFrame, feature: str) -> pd.Series:
    if "output" not in frame or frame["output"].isna().all():
        raise LackingError(f"{feature!r} is of the texts: give the items, with a column `output` (items=, --items)")
    return frame["output"].astype(object)


def _in_sd(x: Floats) -> Floats:
    spread = float(np.nanstd(x))
    return (x - np.nanmean(x)) / spread if spread > 0 else x


def _own_family(judged: Judged, family: Mapping[str, str] | None) -> Floats:
    if family is None:
        raise LackingError(
            "'family' needs to know who made what: family={'gpt-4o': 'openai', ...} of systems and judges"
        )
    judge = str(judged.label["rater"])
    if judge not in family:
        names = ", ".join(map(repr, list(family)[:6]))
        raise ArgumentError("family", f"must say of which family the judge {judge!r} is", f"says it of {names}")
    if "system" not in judged.frame:
        raise LackingError("'family' needs a column `system`")
    systems = judged.frame["system"].astype(object)
    makers = systems.map(lambda name: family.get(name, family.get(str(name))), na_action="ignore")
    if missing := sorted(set(systems[makers.isna()].dropna().astype(str))):
        raise ArgumentError("family", "must say of which family each system is", f"lacks {', '.join(missing[:6])}")
    own = (makers == family[judge]).to_numpy(dtype=float)
    return np.where(systems.isna(), np.nan, own)


def _of_column(column: pd.Series, feature: str) -> list[Claim]:
    """Of numbers one claim; of names each value against all others, of two values one says it all."""
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(float)
    try:
        values = list(dict.fromkeys(column.dropna().astype(object)))
    except TypeError:
        kind = type(column.dropna().iloc[0]).__name__
        raise LackingError(f"{feature!r} must hold numbers or names, and holds a {kind}") from None
    numbers = pd.to_numeric(column, errors="coerce")
    is_number = feature != "system" and not (numbers.isna() & column.notna()).any()
    if is_number and np.isinf(numbers.to_numpy(dtype=float, na_value=np.nan)).any():
        raise LackingError(f"{feature!r} has numbers without end (inf)")
    if is_number and len(values) == 2:
        low, high = sorted(numbers.dropna().unique())
        x = (numbers.to_numpy(dtype=float) - low) / (high - low)
        return [Claim(feature, "", f"{high:g} against {low:g}", x)]
    if is_number:
        x = numbers.to_numpy(dtype=float)
        return [Claim(feature, "", f"1 sd ({np.nanstd(x):.2g})", _in_sd(x))]
    if len(values) > MOST_LEVELS:
        raise LackingError(f"{feature!r} has {len(values)} values, {MOST_LEVELS} are the most")
    claims = []
    for value in values[:1] if len(values) == 2 else values:
        x = np.where(column.isna(), np.nan, (column.astype(object) == value).to_numpy(dtype=float))
        rest = printable(str(values[1])) if len(values) == 2 else "all others"
        claims.append(Claim(feature, str(value), f"against {rest}", x))
    return claims
