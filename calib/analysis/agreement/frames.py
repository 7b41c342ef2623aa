"""Agreement on tables: judges with people, people with people, judges with each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.agreement.coefficients import ON_ONE_SCALE
from calib.analysis.agreement.scales import on_known_scales
from calib.core.check import ArgumentError, as_typed, choice
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs, two_judges
from calib.table import TableArgumentError, TableError
from calib.table.labelled import with_warnings
from calib.table.pairs import (
    Pair,
    factors_of,
    identity,
    labels_in,
    merged_items,
    names_of_judges,
    one_scale,
    pairs_of,
    raters_side_by_side,
    short_names,
)
from calib.table.results import Results
from calib.table.validate import SliceKey, ValidatedTable, renamed_errors, scores_in, slices

Rng = np.random.Generator | int | None


def agreement(
    scores: Data,
    labels: Data = None,
    *,
    level: str = "item",
    method: str = "spearman",
    systems: str = "auto",
    interval: str = "auto",
    constant: str = "skip",
    missing: str = "drop",
    convention: str | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    rng: Rng = None,
    coefficient: str | Sequence[str] | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Agreement]:
    """Agreement of every rater in `scores` with every rater in `labels`, per criterion.

    Parameters
    ----------
    scores, labels : table, path or frame
        Tables of scores (or of ratings) of judges or of people on either side: a rater is not
        compared with itself. Or files of your own, of which the first may hold both; several
        annotators are pooled.
    level : {"item", "group", "system"}
    systems : {"auto", "fixed", "random"}
        ``"fixed"``: the question is about these systems, and the interval speaks about new
        groups; ``"random"``: they stand for other systems, too; ``"auto"``: fixed below six.
    method, coefficient, interval, constant : str
    confidence_level : float
    n_resamples : int
    rng : Generator or int, optional
        As for `calib.stats.agreement`, which see for the formulas; `coefficient` may name several.
    missing : {"drop", "zero"}
        Under ``"zero"`` each reply of a judge that could not be read counts as a score of
        0, also within the mean of several draws, as in some published scripts; an item
        that the judge was never asked about stays out.
    convention : {"geval", "unieval", "bartscore", "summeval", "chiang-lee"}, optional
        All coefficients of a published convention at its level, with its rules for
        constants and missing scores, in place of the four options above: G-Eval (mean
        within documents, unread draws as 0), UniEval's dialogue and fact tables (over
        items), BARTScore (within documents), SummEval (Kendall over systems), and
        Chiang and Lee (Pearson over items, Kendall within documents).
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `against` (the other
        rater), `coefficient` where there are several, and `n_unmatched` (items that only one
        of the two scored). ``.table()`` is the table of a paper.

    Raises
    ------
    TableError
        If nothing matches, the level needs a column that is not there, or scores that are compared for
        the same value (kappa, exact, adjacent) are on two scales.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> labels = calib.summarize(people, items)
    >>> pair = calib.agreement(labels[labels["rater"] == "simulated-1"], labels[labels["rater"] == "simulated-2"])
    >>> [round(result.estimate, 2) for result in pair.select(criterion="coherence")]
    [0.63]
    """
    as_typed(agreement, locals())
    rules: dict[str, Any] = {"level": level, "method": method, "coefficient": coefficient}
    rules |= {"constant": constant, "missing": missing}
    options: dict[str, Any] = {"interval": interval, "confidence_level": confidence_level, "n_resamples": n_resamples}
    options |= {"systems_are": systems, "rng": np.random.default_rng(rng)}
    all_rules = _rules_of(convention, rules)
    answers = []
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    for pair in pairs_of(scores_in(files.scores, "scores"), scores_in(files.gold, "labels")):
        for rule in all_rules:
            name = {} if convention is None else {"convention": convention}
            name |= {"coefficient": rule["coefficient"]} if len(all_rules) > 1 else {}
            label = pair.label | name | {"n_unmatched": pair.n_unmatched}
            answers.append((label, _agreement_of_pair(pair, rule, options)))
    return Results.of(answers)


_SIDES = ("scores", "labels")
_DEFAULTS = {"level": "item", "method": "spearman", "coefficient": None, "constant": "skip", "missing": "drop"}
_IN_TABLES = {"groups": "group", "systems": "system", "systems_are": "systems"}


def _rules_of(convention: str | None, rules: dict[str, Any]) -> list[dict[str, Any]]:
    """The options of each coefficient, as they were given or as a published convention has them."""
    if convention is None:
        coefficients = rules["coefficient"]
        if coefficients is None or isinstance(coefficients, str):
            return [rules]
        if not coefficients:
            raise ArgumentError("coefficient", "must name a coefficient", "is empty")
        return [{**rules, "coefficient": one} for one in dict.fromkeys(coefficients)]
    choice(convention, "convention", tuple(stats.CONVENTIONS))
    for name, value in rules.items():
        if value != _DEFAULTS[name]:
            rule, got = f"is set by {{0}} {convention!r}", f"got {value!r} beside it"
            raise ArgumentError(name, rule, got, mentions=("convention",))
    return [dict(rule) for rule in stats.CONVENTIONS[convention]]


def _agreement_of_pair(pair: Pair, rules: dict[str, Any], options: dict[str, Any]) -> stats.Agreement:
    """The agreement under the rule for missing scores, with the estimate under the other one beside it."""
    both = pair.both
    design = _factors_at(both, rules["level"])
    choice(rules["missing"], "missing", ("drop", "zero"))
    plain = {name: value for name, value in rules.items() if name != "missing"} | design
    scores = {"drop": both["x"], "zero": both["x"]}
    if pair.label["method"] != "human" and "n_unread" in both:  # 0 for each reply that could not be read
        read = both["n"].astype(float)
        share = read / (read + both["n_unread"].astype(float))
        scores["zero"] = both["x"].fillna(0.0) * share.where(both["n_unread"] > 0, 1.0)
    on_one_scale = _one_scale(pair, rules["coefficient"] or rules["method"])
    with on_known_scales(on_one_scale), renamed_errors(pair.label, x="scores", y="labels", **_IN_TABLES):
        result = stats.agreement(scores[rules["missing"]], both["y"], **plain, **options)
    result = with_warnings(result, pair.warnings + pair.fold_doubts)
    if scores["drop"].equals(scores["zero"]):  # nothing to fill: all was read, or they are people's
        return dataclasses.replace(result, missing="drop", estimate_other_missing=result.estimate)
    other = "drop" if rules["missing"] == "zero" else "zero"
    estimate = stats.agreement(scores[other], both["y"], **plain, interval="none").estimate
    n_missing = int((both["x"].isna() | both["y"].isna()).sum())
    return dataclasses.replace(result, missing=rules["missing"], n_missing=n_missing, estimate_other_missing=estimate)


def _one_scale(pair: Pair, coefficient: str) -> bool:
    """Whether it is known that both sides have one scale, which they must where the same value is asked for."""
    return coefficient in ON_ONE_SCALE and pair.on_one_scale(repr(coefficient))


def _factors_at(frame: pd.DataFrame, level: str) -> dict[str, Any]:
    """The groups and systems of aligned scores, and the level that they must allow."""
    if not len(frame):
        raise TableError("scores and labels must share items, but no item is in both.")
    if level in ("group", "system") and labels_in(frame, level) is None:
        hint = f"name it ({level}=, in a shell --{level}), or give the items to `summarize` (--items)."
        raise TableError(f"level {level!r} needs a column `{level}`: {hint}")
    return {"groups": labels_in(frame, "group"), "systems": labels_in(frame, "system")}


# --- one judge against another ----------------------------------------------------------------------------------


def compare(
    scores_a: Data,
    scores_b: Data = None,
    labels: Data = None,
    *,
    level: str = "item",
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

    Parameters
    ----------
    scores_a, scores_b : table, path or frame
        Scores (or ratings) of the two judges; each may hold several, which are then
        compared one with one. Or one file of your own that holds two judges.
    labels : table, path or frame
        People's labels of the same items; a file of your own may hold them beside the judges'.
    **columns
        As for `agreement`.
    level, method, coefficient, systems, test, constant, confidence_level, n_resamples, rng
        As for `calib.stats.compare`, where `systems` is `systems_are`.

    Returns
    -------
    Results
        Labelled as for `agreement`, with `versus` (the second judge) and `n_unmatched`
        (items that one of the three lacks).

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
    as_typed(compare, locals())
    options: dict[str, Any] = {"level": level, "method": method, "coefficient": coefficient, "test": test}
    options |= {"constant": constant, "confidence_level": confidence_level, "n_resamples": n_resamples}
    options |= {"systems_are": systems, "rng": np.random.default_rng(rng)}
    answers = []
    sides = zip(two_judges(scores_a, scores_b, labels, columns), ("scores_a", "scores_b", "labels"), strict=True)
    one, two, labelled = (scores_in(side, name) for side, name in sides)
    for judges, name, frame, on_one_scale, doubts in _pairs_of_judges(one, two, labelled, coefficient or method):
        both = frame[frame["y"].notna() & frame["there_a"] & frame["there_b"]]
        who = {key: value for key, value in name.items() if key != "against"}
        with on_known_scales(on_one_scale), renamed_errors(who, x1="scores_a", x2="scores_b", y="labels", **_IN_TABLES):
            result = stats.compare(both["a"], both["b"], both["y"], names=judges, **_factors_at(both, level), **options)
        who |= {"versus": judges[1], "against": name["against"], "n_unmatched": len(frame) - len(both)}
        answers.append((who, with_warnings(result, doubts)))
    return Results.of(answers)


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

    Parameters
    ----------
    scores : table, path or frame
        Scores (or ratings) of two judges or more; or a file of your own.
    labels : table, path or frame
        People's labels of the same items; a file of your own may hold them beside the judges'.
    **columns
        As for `agreement`.
    level, method, coefficient, systems, test, correction, constant, confidence_level, n_resamples, rng
        As for `calib.stats.rank_judges`, where `systems` is `systems_are`.

    Returns
    -------
    Results
        Labelled by criterion and `against`.


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
    as_typed(rank_judges, locals())
    options: dict[str, Any] = {"level": level, "method": method, "coefficient": coefficient, "test": test}
    options |= {"constant": constant, "correction": correction, "confidence_level": confidence_level}
    options |= {"n_resamples": n_resamples, "systems_are": systems, "rng": np.random.default_rng(rng)}
    matched: dict[tuple[str, str], list[Pair]] = {}
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    for pair in pairs_of(scores_in(files.scores, "scores"), scores_in(files.gold, "labels")):
        matched.setdefault((pair.label["criterion"], pair.label["against"]), []).append(pair)
    answers = []
    for (criterion, against), pairs in matched.items():
        names = short_names([pair.label for pair in pairs])
        scored = [pair.both.set_index("item")["x"].rename(name) for pair, name in zip(pairs, names, strict=True)]
        frame = merged_items([pair.both for pair in pairs]).join(pd.concat(scored, axis=1))
        judges = {name: frame[name].to_numpy() for name in names}
        label = {"criterion": criterion, "against": against}
        on_one_scale = [_one_scale(pair, coefficient or method) for pair in pairs]
        with on_known_scales(all(on_one_scale)), renamed_errors(label, judges="scores", y="labels", **_IN_TABLES):
            result = stats.rank_judges(judges, frame["y"], **_factors_at(frame, level), **options)
        answers.append((label, with_warnings(result, [text for pair in pairs for text in pair.fold_doubts][:1])))
    return Results.of(answers)


def _pairs_of_judges(
    scores_a: ValidatedTable, scores_b: ValidatedTable, labels: ValidatedTable, coefficient: str
) -> Iterator[tuple[tuple[str, str], dict[str, Any], pd.DataFrame, bool, tuple[str, ...]]]:
    """Each judge of the one table with each of the other, on one person's items, and whether their scales are known."""
    first, second = list(pairs_of(scores_a, labels)), list(pairs_of(scores_b, labels))
    names = names_of_judges([pair.label for pair in (*first, *second)])
    matched = False
    for a in first:
        for b in second:
            same = all(a.label[key] == b.label[key] for key in ("criterion", "against"))
            if not same or SliceKey.of(a.label) == SliceKey.of(b.label):
                continue
            matched = True
            one, two = (pair.frame.set_index("item")["x"].rename(name) for pair, name in ((a, "a"), (b, "b")))
            frame = merged_items([a.frame, b.frame]).join(one).join(two)
            # what a judge was asked about, read or not
            items = [pair.frame.loc[pair.frame["_merge"] != "right_only", "item"] for pair in (a, b)]
            frame = frame.assign(there_a=frame.index.isin(items[0]), there_b=frame.index.isin(items[1]))
            both = names[identity(a.label)], names[identity(b.label)]
            on_one_scale = [_one_scale(pair, coefficient) for pair in (a, b)]
            yield both, a.label, frame, all(on_one_scale), a.fold_doubts or b.fold_doubts
    if not matched:
        rule, have = "and {0} must hold two judges of one criterion", f"have {scores_a.holds} and {scores_b.holds}"
        raise TableArgumentError("scores_a", rule, have, mentions=("scores_b",))


# --- people -----------------------------------------------------------------------------------------------------


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

    Parameters
    ----------
    labels : table, path or frame
        Scores (or ratings) of two people or more, one by one: not pooled. A file of your own may hold judges, too.
    scores : table, path or frame, optional
        Judges, each set beside the people.
    **columns
        As for `agreement`.
    metric, level, method, coefficient, min_reliability, confidence_level
        As for `calib.stats.reliability`.

    Returns
    -------
    Results
        Labelled by criterion, and by judge where there are some.


    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> results = calib.reliability(calib.summarize(people, items))
    >>> round(results.select(criterion="coherence").one().alpha.estimate, 2)
    0.73
    """
    as_typed(reliability, locals())
    options: dict[str, Any] = {"metric": metric, "level": level, "method": method, "coefficient": coefficient}
    options |= {"min_reliability": min_reliability, "confidence_level": confidence_level}
    answers = []
    purpose = repr(coefficient or method) if metric != "nominal" else "one set of names"
    shared = metric == "nominal" or (coefficient or method) in ON_ONE_SCALE
    files = resolve_inputs(labels, scores, columns, names=("labels", "scores"), needs=("label",))
    panels = _panels(files.people, files.scores, level, purpose if shared else "", least=2)
    for label, ratings, design, judge, on_one_scale in panels:
        with on_known_scales(on_one_scale):
            answers.append((label, stats.reliability(ratings, judge, **design, **options)))
    return Results.of(answers)


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

    Parameters
    ----------
    scores : table, path or frame
        Judges.
    labels : table, path or frame
        Scores (or ratings) of three annotators or more, one by one; a file of your own may hold both.
    **columns
        As for `agreement`.
    epsilon, score, q
        As for `calib.stats.alternative_annotator_test`.
    clustered : bool, default False
        Take items of one `group` together; the published test takes them as independent.

    Returns
    -------
    Results
        Each with the same test of the best constant judge and the rank agreement beside it.


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
    as_typed(alternative_annotator_test, locals())
    answers = []
    level = "group" if clustered else "item"
    options: dict[str, Any] = {"epsilon": epsilon, "score": score, "q": q}
    files = resolve_inputs(scores, labels, columns, names=_SIDES, either_side=True)
    panels = _panels(files.people, scores_in(files.scores, "scores"), level, "the annotator test", least=3)
    for label, ratings, design, judge, on_one_scale in panels:
        assert judge is not None
        groups = design["groups"] if clustered else None
        with on_known_scales(on_one_scale):
            answers.append((label, stats.alternative_annotator_test(judge, ratings, groups=groups, **options)))
    return Results.of(answers)


def _panels(
    labels: Any, scores: Any, level: str, purpose: str, *, least: int
) -> Iterator[tuple[dict[str, Any], np.ndarray, dict[str, Any], np.ndarray | None, bool]]:
    """Per criterion the people's scores, items x raters, with the design; and each judge of it in turn.

    People must be on one scale, for a `purpose` the judge as well; last, whether all say theirs.
    """
    labelled = scores_in(labels, "labels")
    judges = None if scores is None else scores_in(scores, "scores")
    shared = False
    for criterion, rows in labelled.frame.groupby("criterion", observed=True, sort=False):
        table, names = raters_side_by_side(rows)
        if len(names) < least:
            rule = f"must have {least} raters of {criterion!r} or more"
            raise TableArgumentError("labels", rule, f"has {', '.join(names)}")
        label = {"criterion": criterion, "n_raters": len(names)}
        people_alike = one_scale({"criterion": criterion}, "people beside each other", labels=rows)
        if judges is None:
            shared = True
            design = _factors_at(factors_of(rows, table.index), level)
            yield label | {"n_unmatched": 0}, table.to_numpy(), design, None, people_alike
            continue
        for who, mine in slices(judges.frame[judges.frame["criterion"] == criterion]):
            judge = mine.astype({"item": object}).set_index("item")["score"]
            items = table.index[table.index.isin(judge.index)]
            shared = True
            alike = one_scale(who, purpose, scores=mine, labels=rows) if purpose else people_alike
            design = _factors_at(factors_of(pd.concat([rows, mine]), items), level)
            label_here = who | label | {"n_unmatched": len(table) - len(items)}
            yield label_here, table.loc[items].to_numpy(), design, judge.reindex(items).to_numpy(), alike
    if not shared:
        have = f"have {labelled.holds} and {'nothing' if judges is None else judges.holds}"
        raise TableArgumentError("labels", "and {0} must share a criterion", have, mentions=("scores",))
