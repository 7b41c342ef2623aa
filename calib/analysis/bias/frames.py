"""The verbs `bias` and `rater_effects`, and the features of items that may move a judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError, Floats, choice
from calib.core.numeric import adjusted_p_values
from calib.core.progress import progress
from calib.core.text import printable
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import items_in, resolve_inputs
from calib.table import TableArgumentError, parse_scale
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import groups_of
from calib.table.pairs import factors_of, one_scale, raters_side_by_side
from calib.table.results import Results
from calib.table.validate import SliceKey, ValidatedTable, scores_in, slices

_DEFAULT_FEATURES = ("length", "system", "family")


@verb
def bias(
    scores: Data,
    labels: Data = None,
    features: Sequence[str] = _DEFAULT_FEATURES,
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

    Results, of `calib.stats.instrumented`, are labelled by criterion, rater, prompt, method, temperature, `against`,
    `feature`, `level` (which value of a column), `n_unmatched` (labels of items that the judge did not score) and
    `n_unread`.

    Parameters
    ----------
    scores : table, path or frame
        Judges; or your own file, which may hold people's labels, too.
    labels : table, path or frame
        People's labels one by one, not pooled: two annotators or more tell how far each may be wrong.
    features : sequence of str
        ``"length"`` (per doubling), ``"lists"``, ``"headings"``, ``"code"``, ``"hedges"`` (whether the output has any)
        are seen in the texts; ``"family"`` is whether the system is of the judge's own family; any other is a column of
        scores or items: of numbers (in standard deviations; of two numbers the higher against the lower), or of names,
        of which each is held against all others, such as ``"system"``. What the usual three lack is left out.
    items : table or path, optional
        The texts (`output`) and what else is known of the items.
    family : mapping, optional
        Of which family each system and each judge is.
    unit : {"words", "characters"}
        In what length is counted.
    correction : {"holm", "by", "none"}
        Of p-values, over all tests of the call: Holm, or Benjamini-Yekutieli to screen many columns.
    {groups}
    reliability : pair of float
        With one annotator: the lowest and the highest share of the variance of the labels that may be quality.
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> print(calib.bias(ratings, calib.summarize(people, items), ("length",), items=items).one())
    at equal quality -0.3081 per doubling of words, 95 % CI [-0.4933, -0.1229]; judge less people -0.3067, 95 % CI \
[-0.4976, -0.1159]; n = 312 in 24 groups
    """
    choice(unit, "unit", ("words", "characters"))
    choice(correction, "correction", ("holm", "by", "none"))
    if not features or isinstance(features, str):
        raise ArgumentError("features", "must name one feature or more, in a list", f"got {features!r}")
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    judges, label_table = scores_in(files.scores, "scores"), scores_in(files.annotations, "labels")
    table = files.inferred.items if files.inferred is not None else None
    if items is not None:
        table = items_in(items)
    made = (*_DEFAULT_FEATURES, "score", *FLAGS)  # of texts and systems; a table of items may have other columns
    kinds = {name: "features" if items is None and name not in made else "" for name in features}
    names, group = [str(files.named(*pair)) for pair in kinds.items()], files.named(groups, "groups")
    default = tuple(features) == _DEFAULT_FEATURES

    def claims() -> Iterator[Slice[tuple[Judged, Claim, Any]]]:
        for judged in progress([*judged_items(judges, label_table, table)], "judges"):
            counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(judged.frame["score"].isna().sum())}
            shared = None if group is None else groups_of(judged.frame, group)
            for claim, warnings in _claims_of_judge(judged, names, unit, family, default=default):
                label = judged.label | {"feature": claim.feature, "level": claim.level}
                yield Slice(label, (judged, claim, shared), counts, warnings)

    def effect_of(rows: tuple[Judged, Claim, Any]) -> stats.Instrumented:
        judged, claim, shared = rows
        options: dict[str, Any] = {"reliability": tuple(reliability), "confidence_level": confidence_level}
        options["annotators"] = judged.names
        result = stats.instrumented(judged.frame["score"], judged.labels, claim.x, groups=shared, **options)
        return replace(result, unit=claim.unit)

    skip = ("scores", "labels", "features", "groups")
    results = each_result(claims(), effect_of, names={"judge": "scores", "x": "features"}, skip=skip)
    if not len(results):
        raise ArgumentError("features", "must be known of some items that have a score and labels", "nothing is left")
    # p-values of both questions, each over all claims
    p_values = np.array([[one.p_value, one.judge_less_labels.p_value] for one in results])
    p_adjusted = np.stack([adjusted_p_values(column, correction) for column in p_values.T], axis=1).tolist()
    corrected = (
        replace(one, n_claims=len(results), correction=correction, p_adjusted=p, difference_p_adjusted=q)
        for one, (p, q) in zip(results, p_adjusted, strict=True)
    )
    return Results(results.labels, tuple(corrected))


@verb
def rater_effects(
    scores: Data,
    labels: Data = None,
    *,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.RaterEffects]:
    """How each judge uses its scale beside people's own spread: leniency, centrality, ends used, halo.

    Results, of `calib.stats.rater_effects`, are labelled by rater, prompt, method and temperature: all criteria of a
    judge that people rated are in one result.

    Parameters
    ----------
    scores : table, path or frame
        Judges; or your own file, which may hold people's labels, too.
    labels : table, path or frame
        People's labels one by one, not pooled, on the same scale.
    {groups}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> results = calib.rater_effects(calib.summarize(people, items), calib.summarize(people, items))
    >>> one = results["simulated-1"].one().one("leniency", "fluency")
    >>> round(one.estimate, 2), [round(value, 2) for value in one.labels], one.inside
    (-0.29, [-0.1, 0.1], False)
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    judges, label_table = scores_in(files.scores, "scores"), scores_in(files.annotations, "labels")
    group = files.named(groups, "groups")
    by_judge: dict[SliceKey, list[Judged]] = {}  # the criteria of each judge
    for judged in judged_items(judges, label_table, None):
        rows = label_table.under(judged.label, "criterion")
        one_scale(judged.label, "rater effects", scores=judged.frame, labels=rows)
        by_judge.setdefault(SliceKey.of(judged.label)._replace(criterion=""), []).append(judged)

    def effects_of(criteria: list[Judged]) -> stats.RaterEffects:
        """Of scores, labels and groups of all criteria, by item."""
        items = pd.Index(list(dict.fromkeys(item for one in criteria for item in one.frame.index)))
        names = list(dict.fromkeys(name for one in criteria for name in one.names))
        labels_of = [pd.DataFrame(one.labels, index=one.frame.index, columns=one.names) for one in criteria]
        rows = pd.concat([one.frame for one in criteria])
        rows = rows[~rows.index.duplicated()].reindex(items)
        texts = (str(text) for one in criteria for text in set(one.frame.get("scale", ())))
        scale = next(filter(None, map(parse_scale, texts)), None)
        return stats.rater_effects(
            np.stack([one.frame["score"].reindex(items).to_numpy(dtype=float) for one in criteria], axis=1),
            np.stack([each.reindex(index=items, columns=names).to_numpy(dtype=float) for each in labels_of], axis=2),
            criteria=[str(one.label["criterion"]) for one in criteria],
            levels=None if scale is None else (scale.low, scale.high),
            groups=None if group is None else groups_of(rows, group),
            confidence_level=confidence_level,
        )

    of_judges = []
    for who, criteria in by_judge.items():
        label = {name: value for name, value in who.label.items() if name != "criterion"}
        of_judges.append(Slice(label, criteria, {"n_unmatched": max(one.n_unmatched for one in criteria)}))
    return each_result(of_judges, effects_of, names={"judge": "scores"})


MOST_LEVELS = 60  # of a column whose values are held against each other


@dataclass(frozen=True, slots=True)
class Judged:
    """Scores of one judge on one criterion, what each person said of the same items, and what is known of these."""

    label: dict[str, Any]
    frame: pd.DataFrame  # by item: score, and whatever columns scores and items have
    labels: Floats  # (items, annotators)
    names: list[str]
    n_unmatched: int


class Claim(NamedTuple):
    """Something that may move a judge: a number for each item, NaN where it is not known."""

    feature: str
    level: str  # which value of a column; empty where the column is a number
    unit: str
    x: Floats


class LackingError(ValueError):
    """What a feature is made of is not there."""


def judged_items(scores: ValidatedTable, label_table: ValidatedTable, items: pd.DataFrame | None) -> Iterator[Judged]:
    """Each judge beside people one by one, on the same criterion; the judge itself is not one of the people."""
    compared = matched = False
    texts = None if items is None else items.astype({"item": object}).set_index("item")
    for criterion, rows in label_table.frame.groupby("criterion", observed=True, sort=False):
        for who, mine in slices(scores.frame[scores.frame["criterion"] == criterion]):
            own = [rows[name].astype(str) == str(who[name]) for name in ("rater", "prompt")]
            others = rows[~(own[0] & own[1])]
            table, names = raters_side_by_side(others) if len(others) else (pd.DataFrame(), [])
            if not len(table):
                continue
            compared = True
            # by item: the judge's rows, group and system from people, too, and what the items have besides
            frame = mine.astype({"item": object}).set_index("item")
            frame = frame.assign(**factors_of(pd.concat([mine, others]), frame.index))
            if texts is not None:
                new = [name for name in texts if name not in frame or frame[name].isna().all()]
                frame = frame.drop(columns=new, errors="ignore").join(texts[new])
            unmatched = int((~table.index.isin(frame.index)).sum())
            matched |= unmatched < len(table)
            against = names[0] if len(names) == 1 else f"{len(names)} annotators"
            labels = table.reindex(frame.index).to_numpy(dtype=float)
            yield Judged(who | {"against": against}, frame, labels, names, unmatched)
    if not matched:
        rule, have = "and {0} must share a criterion", f"have {label_table.holds} and {scores.holds}"
        if compared:
            rule, have = "and {0} must share items", "no item that people labelled was scored by a judge"
        raise TableArgumentError(label_table.argument, rule, have, mentions=(scores.argument,))


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


def flag(texts: pd.Series, name: str) -> Floats:
    r"""1 where a text has lists, headings, code or hedges, else 0; NaN without a text.

    Examples
    --------
    >>> flag(pd.Series(["- one\n- two", "none - here"]), "lists"), flag(pd.Series(["Perhaps so."]), "hedges")
    (array([1., 0.]), array([1.]))
    """
    flags = [bool(FLAGS[name].search(text)) if isinstance(text, str) else np.nan for text in texts]
    return np.array(flags, dtype=float)


_OF_SCORES = frozenset(
    ("criterion", "rater", "prompt", "method", "temperature", "score", "scale", "n", "n_unread", "mass", "low", "high",
     "entropy", "mode", "sd", "std_error", "source", "output", "reference", "references")
)  # fmt: skip


def _claims_of_judge(
    judged: Judged, features: Sequence[str], unit: str, family: Mapping[str, str] | None, *, default: bool
) -> Iterator[tuple[Claim, list[str]]]:
    """The claims of all features, by default those that can be made, each with a warning if replies hide part of it."""
    unread = judged.frame["score"].isna().to_numpy()
    for feature in features:
        try:
            claims = _claims_of(judged, feature, unit, family)
        except LackingError as error:
            if not default:
                raise ArgumentError("features", f"cannot all be computed: {error}") from None
            if feature == "length" or (feature == "system" and "system" in judged.frame):
                check.warn(f"left_out: {error}.")
            continue
        for claim in claims:
            warnings, high = [], claim.x > np.nanmean(claim.x)
            if unread.any() and 0 < high.sum() < len(high):
                there, elsewhere = (float(unread[place].mean()) for place in (high, ~high))
                if abs(there - elsewhere) > 0.05:  # replies could not be read more often where x is high, or less
                    name = f"{claim.feature} {claim.level}".strip()
                    what = f"{100 * there:.0f} % of the scores of {name} could not be read"
                    warnings.append(f"unread: {what}, {100 * elsewhere:.0f} % of the rest.")
            yield claim, warnings


def _claims_of(judged: Judged, feature: str, unit: str, family: Mapping[str, str] | None) -> list[Claim]:
    """The numbers of one feature: one for a number or a flag, one for each value of a column of names."""
    frame = judged.frame
    if feature == "family":
        if family is None:
            made = "family={'gpt-4o': 'openai', ...} of systems and judges"
            raise LackingError(f"'family' needs to know who made what: {made}")
        judge = str(judged.label["rater"])
        if judge not in family:
            names = ", ".join(map(repr, list(family)[:6]))
            raise ArgumentError("family", f"must say of which family the judge {judge!r} is", f"says it of {names}")
        if "system" not in frame:
            raise LackingError("'family' needs a column `system`")
        systems = frame["system"].astype(object)
        makers = systems.map(lambda name: family.get(name, family.get(str(name))), na_action="ignore")
        if missing := sorted(set(systems[makers.isna()].dropna().astype(str))):
            raise ArgumentError("family", "must say of which family each system is", f"lacks {', '.join(missing[:6])}")
        own = np.where(systems.isna(), np.nan, (makers == family[judge]).to_numpy(dtype=float))
        return [Claim(feature, "", "1 = the judge's own family", own)]
    if feature == "score":
        raise LackingError("'score' is the judge's own score, which everything moves with")
    if feature in frame and not frame[feature].isna().all():
        return _claims_of_column(frame[feature], feature)
    if feature not in ("length", *FLAGS):
        columns = ", ".join(repr(str(name)) for name in frame if name not in _OF_SCORES) or "none"
        others = f"'length', 'system', 'family', {', '.join(map(repr, FLAGS))}"
        raise LackingError(f"{feature!r} is no column of scores or items (there are {columns}), nor one of {others}")
    if "output" not in frame or frame["output"].isna().all():
        raise LackingError(f"{feature!r} is of the texts: give the items, with a column `output` (items=, --items)")
    texts = frame["output"].astype(object)
    if feature in FLAGS:
        return [Claim(feature, "", f"1 = has {feature}", flag(texts, feature))]
    # doublings of the words or characters of each text, of one more where one is empty; NaN without a text
    sizes = [len(text.split() if unit == "words" else text) if isinstance(text, str) else np.nan for text in texts]
    x = np.log2(np.array(sizes, dtype=float) + (0.0 in sizes))
    return [Claim(feature, "", f"doubling of {unit}{' + 1' * (0.0 in sizes)}", x)]


def _claims_of_column(column: pd.Series, feature: str) -> list[Claim]:
    """One claim for numbers; for names one for each value against all others, of two values for one of them."""
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(float)
    try:
        values = list(dict.fromkeys(column.dropna().astype(object)))
    except TypeError:
        kind = type(column.dropna().iloc[0]).__name__
        raise LackingError(f"{feature!r} must hold numbers or names, and holds a {kind}") from None
    numbers = pd.to_numeric(column, errors="coerce")
    if feature != "system" and not (numbers.isna() & column.notna()).any():
        x = numbers.to_numpy(dtype=float, na_value=np.nan)
        if np.isinf(x).any():
            raise LackingError(f"{feature!r} has numbers without end (inf)")
        if len(values) == 2:
            low, high = sorted(numbers.dropna().unique())
            return [Claim(feature, "", f"{high:g} against {low:g}", (x - low) / (high - low))]
        spread = float(np.nanstd(x))
        return [Claim(feature, "", f"1 sd ({spread:.2g})", (x - np.nanmean(x)) / spread if spread > 0 else x)]
    if len(values) > MOST_LEVELS:
        raise LackingError(f"{feature!r} has {len(values)} values, {MOST_LEVELS} are the most")
    claims = []
    for value in values[:1] if len(values) == 2 else values:
        x = np.where(column.isna(), np.nan, (column.astype(object) == value).to_numpy(dtype=float))
        rest = printable(str(values[1])) if len(values) == 2 else "all others"
        claims.append(Claim(feature, str(value), f"against {rest}", x))
    return claims
