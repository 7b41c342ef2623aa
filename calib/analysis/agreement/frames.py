"""Agreement on tables: judges with people, people with people, judges with each other."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.agreement.coefficients import ON_ONE_SCALE
from calib.analysis.agreement.scales import on_stated_scales
from calib.core.check import ArgumentError, choice
from calib.core.result import Result
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs, two_judges
from calib.table import TableArgumentError, TableError, pairs as pairing
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import parts_of
from calib.table.pairs import Pair, pairs_of
from calib.table.results import Results
from calib.table.sessions import all_turns, at_sessions, by_session
from calib.table.validate import SliceKey, scores_in, slices

Rng = np.random.Generator | int | None
R = TypeVar("R", bound=Result)
_Part = tuple[dict[str, Any], bool]  # the arguments of a statistic, and whether all its scores state their scale
_SIDES = ("scores", "labels")
_NAMES = {"x": "scores", "y": "labels", "groups": "group", "systems": "system", "systems_are": "systems"}
_DEFAULTS = {"level": "item", "method": "spearman", "coefficient": None, "constant": "skip", "missing": "drop"}


@verb
def agreement(
    scores: Data,
    labels: Data = None,
    *,
    level: str = "item",
    turns: str = "mean",
    method: str = "spearman",
    systems: str = "auto",
    interval: str = "auto",
    constant: str = "skip",
    missing: str = "drop",
    convention: str | None = None,
    by: str | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: Rng = None,
    coefficient: str | Sequence[str] | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Agreement]:
    """Agreement of every rater in `scores` with every rater in `labels`, per criterion.

    Results are labelled by criterion, rater, prompt, method, temperature, `against` (the other rater), `by`,
    `coefficient` where there are several, `n_unlabelled` (scored items without a label) and `n_unmatched` (labels of
    items without a score; of a part those that may be of it). ``.table()`` is the table of a paper.

    Parameters
    ----------
    scores, labels : table, path or frame
        Tables of scores (or of ratings) of judges or of people on either side: a rater is not compared with itself. Or
        your own files, of which the first may hold both; several annotators are pooled.
    level : {"item", "group", "system", "session"}
        "session": over sessions, of which the items are turns that share a `group`.
    turns : {"mean", "worst", "last"}
        How turns become sessions, as for `calib.to_sessions`.
    {systems}
    method, coefficient, interval, constant : str
    confidence_level : float
    n_resamples : int
    rng : Generator or int, optional
        As for `calib.stats.agreement`, which has the formulas; `coefficient` may name several.
    missing : {"drop", "zero"}
        Under ``"zero"`` each reply of a judge that could not be read counts as a score of 0, also within the mean of
        several draws, as in some published scripts; an item that the judge was never asked about stays out.
    convention : {"geval", "unieval", "bartscore", "summeval", "chiang-lee"}, optional
        All coefficients of a published convention at its level, with its rules for constants and missing scores, in
        place of the four options above: G-Eval (mean within documents, unread draws as 0), UniEval's dialogue and fact
        tables (over items), BARTScore (within documents), SummEval (Kendall over systems), and Chiang and Lee (Pearson
        over items, Kendall within documents).
    {by}
    {columns}

    Warns
    -----
    CalibWarning
        "left_out": a value of `by` of which nothing can be said, as none of its items has a label.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> pair = calib.agreement(labels[labels["rater"] == "simulated-1"], labels[labels["rater"] == "simulated-2"])
    >>> [round(result.estimate, 2) for result in pair.select(criterion="coherence")]
    [0.63]
    """
    rules: dict[str, Any] = {"level": level, "method": method, "coefficient": coefficient}
    rules |= {"constant": constant, "missing": missing}
    every = [rules]
    if convention is not None:
        choice(convention, "convention", tuple(stats.CONVENTIONS))
        for name, value in rules.items():
            if value != _DEFAULTS[name]:
                rule, got = f"is set by {{0}} {convention!r}", f"got {value!r} beside it"
                raise ArgumentError(name, rule, got, mentions=("convention",))
        every = [dict(convention_rules) for convention_rules in stats.CONVENTIONS[convention]]
    elif coefficient is not None and not isinstance(coefficient, str):
        if not coefficient:
            raise ArgumentError("coefficient", "must name a coefficient", "is empty")
        every = [{**rules, "coefficient": one} for one in dict.fromkeys(coefficient)]
    choice(missing, "missing", ("drop", "zero"))
    options: dict[str, Any] = {"interval": interval, "confidence_level": confidence_level, "n_resamples": n_resamples}
    options |= {"systems_are": systems, "rng": np.random.default_rng(rng)}
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    named = {} if convention is None else {"convention": convention}
    by = files.named(by, "by")
    judged, labelled = scores_in(files.scores, "scores"), scores_in(files.labels, "labels")
    if by_session(level, turns):
        judged, people = at_sessions(judged, labelled, turns, pooled=False)
        labelled = people or labelled
        named = {"sessions": f"{turns} of turns"}
        every = [rule | {"level": "item"} for rule in every]
    parts = (
        Slice(
            pair.label | value | named | ({"coefficient": rule["coefficient"]} if len(every) > 1 else {}),
            (part, rule),
            counts,
            part.warnings + part.fold_doubts,
        )
        for pair in pairs_of(judged, labelled, [by])
        for value, part, counts in _parts_of_pair(pair, by)
        for rule in every
    )
    skip = () if by is None else _SIDES
    return each_result(parts, lambda part: _agreement_of_pair(*part, options), names=_NAMES, skip=skip)


def _parts_of_pair(pair: Pair, by: str | None) -> Iterator[tuple[dict[str, Any], Pair, dict[str, int]]]:
    """The pair within each value of a column, and how many items that may be of that value only one of the two has."""
    lone = pair.frame[pair.frame["_merge"] == "right_only"]
    for value, rows in parts_of(pair.scored, by):
        # a label may say its part
        unmatched = len(lone) if by is None else int((lone[by].isna() | (lone[by] == value[by])).sum())
        counts = {"n_unlabelled": int((rows["_merge"] == "left_only").sum()), "n_unmatched": unmatched}
        yield value, pair if by is None else dataclasses.replace(pair, frame=rows), counts


def _agreement_of_pair(pair: Pair, rules: dict[str, Any], options: dict[str, Any]) -> stats.Agreement:
    """The agreement under the rule for missing scores, with the estimate under the other one beside it."""
    both = pair.both
    rule = {name: value for name, value in rules.items() if name != "missing"} | _factors_at(both, rules["level"])
    scores = {"drop": both["x"], "zero": both["x"]}
    if pair.label["method"] != "human" and "n_unread" in both:  # 0 for each reply that could not be read
        read = both["n"].astype(float)
        share = read / (read + both["n_unread"].astype(float))
        scores["zero"] = both["x"].fillna(0.0) * share.where(both["n_unread"] > 0, 1.0)
    with on_stated_scales(_one_scale(pair, rules["coefficient"] or rules["method"])):
        result = stats.agreement(scores[rules["missing"]], both["y"], **rule, **options)
        if scores["drop"].equals(scores["zero"]):  # nothing to fill: all was read, or they are people's
            return dataclasses.replace(result, missing="drop", estimate_other_missing=result.estimate)
        other = scores["drop" if rules["missing"] == "zero" else "zero"]
        estimate = stats.agreement(other, both["y"], **rule, interval="none").estimate
    n_missing = int((both["x"].isna() | both["y"].isna()).sum())
    return dataclasses.replace(result, missing=rules["missing"], n_missing=n_missing, estimate_other_missing=estimate)


def _one_scale(pair: Pair, coefficient: str) -> bool:
    """Whether both sides state one scale, for a coefficient that compares values; two scales are refused."""
    return coefficient in ON_ONE_SCALE and pair.on_one_scale(repr(coefficient))


def _factors_at(frame: pd.DataFrame, level: str) -> dict[str, Any]:
    """The groups and systems of aligned scores, and the level that they must allow."""
    if not len(frame):
        raise TableArgumentError("labels", "must be of items with scores", "no item has both")
    if level in ("group", "system") and pairing.labels_in(frame, level) is None:
        hint = f"name it ({level}=, in a shell --{level}), or give the items to `summarize` (--items)."
        raise TableError(f"level {level!r} needs a column `{level}`: {hint}")
    return {"groups": pairing.labels_in(frame, "group"), "systems": pairing.labels_in(frame, "system")}


@verb
def compare(
    scores_a: Data,
    scores_b: Data = None,
    labels: Data = None,
    *,
    level: str = "item",
    turns: str = "mean",
    method: str = "spearman",
    systems: str = "auto",
    test: str = "auto",
    constant: str = "skip",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: Rng = None,
    coefficient: str | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Comparison]:
    """Which of two judges agrees more with people: the paired difference, per criterion.

    Results are labelled as for `agreement`, with `versus` (the second judge), `n_unlabelled` (items that both scored,
    without a label) and `n_unmatched` (items that one of the judges did not score).

    Parameters
    ----------
    scores_a, scores_b : table, path or frame
        Scores (or ratings) of the two judges; each may hold several, which are then compared one with one. Or one file
        of your own that holds two judges.
    labels : table, path or frame
        People's labels of the same items; your own file may hold them beside the judges'.
    {columns}
    {systems}
    level, turns
        As for `agreement`.
    method, coefficient, test, constant, confidence_level, n_resamples, rng
        As for `calib.stats.compare`.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> one, two, rest = [labels[labels["rater"] == f"simulated-{i}"] for i in (1, 2, 3)]
    >>> result = calib.compare(one, two, rest, level="group").select(criterion="coherence").one()
    >>> result.names, result.n_groups
    (('simulated-1', 'simulated-2'), 24)
    """
    named = {"sessions": f"{turns} of turns"} if by_session(level, turns) else {}
    options: dict[str, Any] = {"method": method, "coefficient": coefficient, "test": test, "constant": constant}
    options |= {"confidence_level": confidence_level, "n_resamples": n_resamples, "systems_are": systems}
    options |= {"rng": np.random.default_rng(rng)}
    sides = zip(two_judges(scores_a, scores_b, labels, columns), ("scores_a", "scores_b", "labels"), strict=True)
    one, two, labelled = (scores_in(*side) for side in sides)
    if named:
        level, there = "item", all_turns(one.frame, two.frame, labelled.frame)
        one, people = at_sessions(one, labelled, turns, items=there, pooled=False)
        two, labelled = at_sessions(two, None, turns, items=there)[0], people or labelled
    first, second = list(pairs_of(one, labelled)), list(pairs_of(two, labelled))
    names, parts = pairing.names_of_judges([pair.label for pair in (*first, *second)]), []
    for a, b in itertools.product(first, second):  # each judge of the one table with each of the other
        same = all(a.label[key] == b.label[key] for key in ("criterion", "against"))
        if not same or SliceKey.of(a.label) == SliceKey.of(b.label):
            continue
        x1, x2 = (pair.frame.set_index("item")["x"].rename(name) for pair, name in ((a, "a"), (b, "b")))
        frame = pairing.joined_items([a.frame, b.frame]).join(x1).join(x2)
        judged = [frame.index.isin(pair.scored["item"]) for pair in (a, b)]  # what it was asked about, read or not
        both = frame[frame["y"].notna() & judged[0] & judged[1]]
        judges = names[pairing.identity(a.label)], names[pairing.identity(b.label)]
        label = {key: value for key, value in a.label.items() if key != "against"}
        label |= {"versus": judges[1], "against": a.label["against"], **named}
        stated = [_one_scale(pair, coefficient or method) for pair in (a, b)]
        arguments = {"x1": both["a"], "x2": both["b"], "y": both["y"], "names": judges, **_factors_at(both, level)}
        n_judged = int((judged[0] & judged[1]).sum())
        unmatched = {"n_unlabelled": n_judged - len(both), "n_unmatched": len(frame) - n_judged}
        parts.append(Slice(label, (arguments, all(stated)), unmatched, a.fold_doubts or b.fold_doubts))
    if not parts:
        rule, have = "and {0} must hold two judges of one criterion", f"have {one.holds} and {two.holds}"
        raise TableArgumentError("scores_a", rule, have, mentions=("scores_b",))
    arguments_of = _NAMES | {"x1": "scores_a", "x2": "scores_b"}
    return each_result(parts, partial(_computed, stats.compare, options | {"level": level}), names=arguments_of)


@verb
def rank_judges(
    scores: Data,
    labels: Data = None,
    *,
    level: str = "item",
    method: str = "spearman",
    systems: str = "auto",
    test: str = "auto",
    correction: str = "holm",
    constant: str = "skip",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: Rng = None,
    coefficient: str | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Ranking]:
    """All judges in `scores` in the order of their agreement with people, every pair tested, per criterion.

    Results are labelled by criterion and `against`.

    Parameters
    ----------
    scores : table, path or frame
        Scores (or ratings) of two judges or more; or your own file.
    {labels}
    {columns}
    {systems}
    level, method, coefficient, test, correction, constant, confidence_level, n_resamples, rng
        As for `calib.stats.rank_judges`.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> judges, rest = labels[labels["rater"] != "simulated-3"], labels[labels["rater"] == "simulated-3"]
    >>> result = calib.rank_judges(judges, rest, level="group").select(criterion="coherence").one()
    >>> sorted(result.names)
    ['simulated-1', 'simulated-2']
    """
    options: dict[str, Any] = {"level": level, "method": method, "coefficient": coefficient, "test": test}
    options |= {"constant": constant, "correction": correction, "confidence_level": confidence_level}
    options |= {"n_resamples": n_resamples, "systems_are": systems, "rng": np.random.default_rng(rng)}
    matched: dict[tuple[str, str], list[Pair]] = {}
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    for pair in pairs_of(scores_in(files.scores, "scores"), scores_in(files.labels, "labels")):
        matched.setdefault((pair.label["criterion"], pair.label["against"]), []).append(pair)

    parts = []
    for (criterion, against), pairs in matched.items():
        judges = pairing.short_names([pair.label for pair in pairs])
        columns_of = [pair.both.set_index("item")["x"].rename(name) for pair, name in zip(pairs, judges, strict=True)]
        frame = pairing.joined_items([pair.both for pair in pairs]).join(pd.concat(columns_of, axis=1))
        arguments = {"judges": {name: frame[name].to_numpy() for name in judges}, "y": frame["y"]}
        stated = [_one_scale(pair, coefficient or method) for pair in pairs]
        doubts = [text for pair in pairs for text in pair.fold_doubts][:1]
        part = arguments | _factors_at(frame, level), all(stated)
        parts.append(Slice({"criterion": criterion, "against": against}, part, {}, doubts))
    return each_result(parts, partial(_computed, stats.rank_judges, options), names=_NAMES | {"judges": "scores"})


def _computed(statistic: Callable[..., R], options: dict[str, Any], part: _Part) -> R:
    arguments, stated = part
    with on_stated_scales(stated):
        return statistic(**arguments, **options)


@verb
def reliability(
    labels: Data,
    scores: Data = None,
    *,
    metric: str = "interval",
    level: str = "item",
    method: str = "spearman",
    min_reliability: float = 0.7,
    confidence_level: float = 0.95,
    coefficient: str | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Reliability]:
    """How far the raters in `labels` agree among themselves, and what ceiling that sets a judge, per criterion.

    Results are labelled by criterion, and by judge where there are some.

    Parameters
    ----------
    labels : table, path or frame
        Scores (or ratings) of two people or more, one by one: not pooled. Your own file may hold judges, too.
    scores : table, path or frame, optional
        Judges, each set beside the people.
    {columns}
    metric, level, method, coefficient, min_reliability, confidence_level
        As for `calib.stats.reliability`.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> results = calib.reliability(calib.summarize(people, items))
    >>> round(results.select(criterion="coherence").one().alpha.estimate, 2)
    0.73
    """
    options: dict[str, Any] = {"metric": metric, "level": level, "method": method, "coefficient": coefficient}
    options |= {"min_reliability": min_reliability, "confidence_level": confidence_level}
    purpose = "one set of names" if metric == "nominal" else ""
    if metric != "nominal" and (coefficient or method) in ON_ONE_SCALE:
        purpose = repr(coefficient or method)
    files = resolve_inputs(labels, scores, columns, names=("labels", "scores"), needs=("label",))

    panels = _panels(files.annotations, files.scores, level, purpose, least=2)
    return each_result(panels, partial(_computed, stats.reliability, options), names=_NAMES)


@verb
def alternative_annotator_test(
    scores: Data,
    labels: Data = None,
    *,
    epsilon: float = 0.2,
    score: str = "auto",
    clustered: bool = False,
    q: float = 0.05,
    **columns: Unpack[Columns],
) -> Results[stats.AltTest]:
    """Whether a judge may stand in for one of the annotators, per criterion and judge.

    Each result has the same test of the best constant judge and the rank agreement beside it.

    Parameters
    ----------
    scores : table, path or frame
        Judges.
    labels : table, path or frame
        Scores (or ratings) of three annotators or more, one by one; your own file may hold both.
    {columns}
    epsilon, score, q
        As for `calib.stats.alternative_annotator_test`.
    clustered : bool, default False
        Take items of one `group` together; the published test takes them as independent.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> result = calib.alternative_annotator_test(calib.summarize(ratings, items), labels).one()
    >>> result.constant_winning_rate  # most of these outputs are good: "5" for all of them passes too
    1.0
    """
    options: dict[str, Any] = {"epsilon": epsilon, "score": score, "q": q}
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    judges = scores_in(files.scores, "scores")
    level, factors = ("group", ("groups",)) if clustered else ("item", ())
    panels = _panels(files.annotations, judges, level, "the annotator test", least=3, factors=factors)
    return each_result(panels, partial(_computed, stats.alternative_annotator_test, options), names=_NAMES)


def _panels(
    labels: Any, scores: Any, level: str, purpose: str, *, least: int, factors: Sequence[str] = ("groups", "systems")
) -> Iterator[Slice[_Part]]:
    """The ratings of people (items x raters) for each criterion, with each judge of it in turn.

    People must be on one scale, for a `purpose` the judge as well.
    """
    labelled = scores_in(labels, "labels")
    judges = None if scores is None else scores_in(scores, "scores")
    shared = False
    for criterion, rows in labelled.frame.groupby("criterion", observed=True, sort=False):
        table, names = pairing.raters_side_by_side(rows)
        if len(names) < least:
            rule = f"must have {least} raters of {criterion!r} or more"
            raise TableArgumentError("labels", rule, f"has {', '.join(names)}")
        label = {"criterion": criterion, "n_raters": len(names)}
        stated = pairing.one_scale({"criterion": criterion}, "people beside each other", labels=rows)
        if judges is None:
            shared = True
            design = _factors_at(pairing.factors_of(rows, table.index), level)
            yield Slice(label, ({"ratings": table.to_numpy()} | design, stated), {"n_unmatched": 0})
            continue
        for who, mine in slices(judges.frame[judges.frame["criterion"] == criterion]):
            shared = True
            judge = mine.astype({"item": object}).set_index("item")["score"]
            items = table.index[table.index.isin(judge.index)]
            all_stated = pairing.one_scale(who, purpose, scores=mine, labels=rows) if purpose else stated
            design = _factors_at(pairing.factors_of(pd.concat([rows, mine]), items), level)
            arguments = {"ratings": table.loc[items].to_numpy(), "judge": judge.reindex(items).to_numpy()}
            arguments |= {name: design[name] for name in factors}
            yield Slice(who | label, (arguments, all_stated), {"n_unmatched": len(table) - len(items)})
    if not shared:
        have = f"have {labelled.holds} and {'nothing' if judges is None else judges.holds}"
        raise TableArgumentError("labels", "and {0} must share a criterion", have, mentions=("scores",))
