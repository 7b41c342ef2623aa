"""Means on tables: the interval of a mean, and the difference of two systems, from a judge's scores and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.means.methods import METHODS, estimator_of
from calib.analysis.means.ridge import SPREAD
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.numeric import adjusted_p_values
from calib.core.progress import progress
from calib.inputs.names import Columns, Data, Source, few
from calib.inputs.resolve import Inputs, is_calibs, is_file, opened, resolve_inputs
from calib.scale.condensed import condensed
from calib.scale.partitions import Partitions, is_partitioned, refuse_other_folders, refuse_partitions
from calib.stats import Moments
from calib.table import TableArgumentError, TableError
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import (
    NAMES,
    ends_of,
    folds_of,
    groups_of,
    label_pairs,
    lacking_raters,
    mean_of_raters,
    parts_of,
    whole_column,
    with_value,
    with_warnings,
)
from calib.table.pairs import DESIGN, Pair, chosen_in, labels_in, refuse_drawn_unequally
from calib.table.results import Results, words
from calib.table.sessions import LEVELS, at_sessions, by_session
from calib.table.validate import REPRESENTED, ValidatedTable, items_in, renamed_errors, scores_in

_WITHOUT_JUDGE = ("auto", "labels", "classical")  # estimators that labels alone suffice for
_CROWDED = 0.5  # share of labels at one value from which on Student's t is not to be trusted


@verb
def interval(
    scores: Data,
    labels: Data = None,
    *,
    by: str | None = None,
    groups: str | None = "group",
    strata: str | None = None,
    weights: str | None = None,
    target: str = "population",
    estimator: str = "auto",
    conservative: bool = False,
    alternative: str = "two-sided",
    null: float | None = None,
    min_labels: int = 10,
    tuned_on_labels: bool = False,
    pool: str | None = None,
    level: str = "item",
    turns: str = "mean",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.MeanEstimate]:
    """Mean human score of items like those in `scores`, from the few that `labels` has, with an interval.

    The mean is that of the documents to come, which the items are a sample of; with `target="benchmark"` that of
    exactly these items. The ends of the scale come from the column `scale`; how the labelled items were drawn from what
    `choose` wrote into the scores. `docs/intervals.md` says which estimator to trust where.

    Parameters
    ----------
    scores : table, path, frame or partitions
        A judge's scores (or ratings) of all items; or your own file, which may hold the labels, too. Partitions
        (`calib.Partitions`) need not fit in memory. After `calibrate` in folds the same labels may be used again, and
        the judge has slope 1 (`Design.calibrated_folds`).
    labels : table, path or frame, optional
        People's labels of a random sample of these items, where `scores` does not hold them; several people are
        pooled. Not needed for ``estimator="judge_only"``.
    by : str, optional
        A column of the scores, such as "system": one result for each of its values. Of preferences there is a win
        rate for each system.
    {groups}
    strata : str, optional
        A column: the labelled items were drawn within each of its values.
    weights : str, optional
        A column: how often each item counts in the population that is meant (`calib.stats.shift_weights`).
    conservative : bool, default False
        A wider interval that covers more: the unseen label has full weight, at the farthest value; for yes or no it is
        Clopper and Pearson's.
    target, alternative, null, min_labels, confidence_level
        As for `calib.stats.ppi_mean`.
    tuned_on_labels : bool, default False
        Say so if the judge or its prompt was chosen with these labels: it becomes a warning.
    pool : {"rater"}, optional
        One result from the plain mean of all raters in `scores`, on one scale, instead of one for each.
    estimator : str
        As for `calib.stats.ppi_mean`: "auto"; "labels" uses the labels alone by the same kind of interval, "classical"
        by Student's t; "judge_only" is the judge alone, which gives no interval for the human mean; "regression",
        "ppi", "ppi++" are there for comparison.
    {sessions}
    {columns}

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature, `by`, `n_unmatched` (labels of items that the
        judge did not score, left out) and `n_unread` (items whose judge score is missing, left out). Without any
        score of a judge it is the mean of the labels, with the warning ``no_judge``.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.Judge("offline", method="logprob")
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    >>> labels = human[human["criterion"] == "coherence"].sample(60, random_state=1)
    >>> print(calib.interval(calib.summarize(ratings, items), labels).one())
    human mean = 3.895, 95 % CI [3.716, 4.063], from 60 human labels and 312 judge scores (people and judge)
    """
    estimator = estimator_of(estimator)
    options = {
        "target": target, "estimator": estimator, "conservative": conservative, "alternative": alternative,
        "null": null, "min_labels": min_labels, "tuned_on_labels": tuned_on_labels,
        "confidence_level": confidence_level,
    }  # fmt: skip
    if by_session(check.choice(level, "level", LEVELS), turns) and is_partitioned(scores):
        rule = "'session' cannot be had of partitions: make them scores of sessions first (`to_sessions`)"
        raise TableArgumentError("level", rule)
    if pool is not None and is_partitioned(scores):
        raise TableArgumentError("pool", "cannot be had of partitions", "pool them first: summarize(..., pool='rater')")
    scores, repeat = _in_memory(scores, labels, columns, (by, strata, weights), groups or "group")
    groups = groups if repeat else None
    needs = ("label",) if estimator in _WITHOUT_JUDGE else _sides_of(estimator)
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), needs=needs)
    alone = files.scores is None
    if alone:
        files = replace(files, scores=files.labels)
        options["estimator"] = "classical" if estimator == "classical" else "labels"
        if pool is not None:
            raise ArgumentError("pool", "needs the scores of judges", "there are only labels")
    judges, people, read_as = _judges(files, pool, level, turns)
    by, groups = files.named(by or files.each, "by"), files.named(groups, "groups")
    strata, weights = files.named(strata, "strata"), files.named(weights, "weights")

    def slices() -> Iterator[Slice[pd.DataFrame]]:
        least = min_labels if METHODS[estimator].needs.min_labels else 2
        of_judges = _judged_pairs(judges, people, (by, strata, weights, groups))
        for pair in _labels_alone(files, judges, least) if alone else of_judges:
            warnings = pair.warnings + (lacking_raters(pair.scored) if pool else ())
            scored = with_value(pair.scored, by)
            _need_labels(scored, estimator, by, pair.label, least)
            unmatched = pair.frame[pair.frame["_merge"] == "right_only"]
            for label, part in parts_of(scored, by):
                read = part[part["x"].notna()]
                # of this part where labels without a judge score say that they are, else all
                of_part = [unmatched[name] == value for name, value in label.items()
                           if name in unmatched and unmatched[name].notna().all()]  # fmt: skip
                n_unmatched = int(of_part[0].sum()) if of_part else len(unmatched)
                counts = {"n_unmatched": n_unmatched, "n_unread": items_in(part) - items_in(read)}
                yield Slice(pair.label | label, read, counts | read_as, warnings)

    def mean(rows: pd.DataFrame) -> stats.MeanEstimate:
        result = mean_of(rows, (groups, strata, weights), options, guessed=bool(files.guessed))
        estimand = result.estimand.replace("mean", "win rate") if files.pairwise else result.estimand
        return replace(result, estimand=estimand + f" of sessions by their {turns} turn" * (level == "session"))

    return each_result(slices(), mean, names=NAMES)


def _judges(
    files: Inputs, pool: str | None, level: str, turns: str
) -> tuple[ValidatedTable, ValidatedTable | None, dict[str, str]]:
    """The scores of each rater, or of their mean without people's own; people's; and what labels say of the reading."""
    judges = scores_in(files.scores, "scores")
    people = None if files.labels is None else scores_in(files.labels, "labels")
    if pool is not None:
        check.choice(pool, "pool", ("rater",))
        annotators = {(label["criterion"], label["rater"]) for label, _ in (people.slices() if people else ())}
        raters = zip(judges.frame["criterion"], judges.frame["rater"], strict=True)
        judges = mean_of_raters(judges.only([rater not in annotators for rater in raters]))
    read_as = {"scale": f"{files.guessed}, guessed"} if files.guessed else {}
    if by_session(level, turns):
        judges, people = at_sessions(judges, people, turns)
        read_as |= {"sessions": f"{turns} of turns"}
    return judges, people, read_as


def _sides_of(estimator: str) -> tuple[str, ...]:
    return ("judge", "label") if METHODS[estimator].needs.labels else ("judge",)


def _judged_pairs(
    judges: ValidatedTable, people: ValidatedTable | None, columns: Sequence[str | None] = ()
) -> Iterator[Pair]:
    """Each judge beside people, or alone where there are no labels, which the judge's own mean does not use."""
    if people is not None:
        yield from label_pairs(judges, people, columns)
        return
    for label, rows in judges.slices():
        yield Pair(label, rows.rename(columns={"score": "x"}).assign(y=np.nan, _merge="left_only"))


def _labels_alone(files: Inputs, people: ValidatedTable, least: int) -> Iterator[Pair]:
    """Labels where there is no judge, as scored items each of which has one."""
    unused = [one.column for one in files.inferred.columns if one.role == "other"] if files.inferred else []
    beside = f" (not used: {few(unused)}; judge= or --judge names one)" if unused else ""
    warning = f"no_judge: there are no scores of a judge{beside}, so the interval is from the labels alone"
    for label, rows in people.slices():
        if len(rows) < least:
            rule = f"must have {least} labels at least{' ({0} lowers that)' * (least > 2)}"
            raise ArgumentError("labels", rule, f"has {len(rows)}", mentions=("min_labels",) * (least > 2))
        yield Pair(label, rows.rename(columns={"score": "y"}).assign(x=rows["score"], _merge="both"), (warning,))


def _need_labels(judged: pd.DataFrame, estimator: str, by: str | None, label: dict[str, Any], least: int) -> None:
    """Refuse too few labels here, where the message can name the part that has them."""
    ends_of(judged, label, apart=estimator != "judge_only")
    if not METHODS[estimator].needs.labels:
        return
    labelled = judged["y"].notna()
    if not labelled.any():
        rule = "scores and labels must share items, but no item that the judge scored has a label."
        raise TableError(f"{words(label)}: {rule}")
    counts = {} if by is None else labelled.groupby(judged[by], sort=False).sum()
    if short := [f"{name!r} ({n})" for name, n in counts.items() if n < least]:
        rule = f"must have {least} labels at least of each {by}{' ({0} lowers that)' * (least > 2)}"
        came = f"has fewer of {', '.join(short)}"
        raise ArgumentError("labels", rule, came, mentions=("min_labels",) * (least > 2), about=words(label))


def mean_of(
    part: pd.DataFrame, columns: Sequence[str | None], options: dict[str, Any], *, guessed: bool = False
) -> stats.MeanEstimate:
    """The mean of scored items of which some have a label; `columns` hold their groups, strata and weights.

    A scale that was `guessed` does not widen the interval where the labels are spread over several values.
    """
    groups, strata, weights = columns
    group = None if groups is None else groups_of(part, groups)
    repeated = group is not None and len(set(group)) < items_in(part)
    drawn, warnings = _drawn_by(part, strata)
    if groups is None and "group" in part and part["group"].notna().all() and part["group"].nunique() < items_in(part):
        warnings.append("repeated_groups: items that share a `group` were taken as independent, as was asked for")
    design = drawn | ({"groups": group} if repeated and "strata" not in drawn else {})
    if weights is not None:
        design |= {"weights": pd.to_numeric(whole_column(part, weights, "weights"))}
    if part["y"].notna().any() and "system" in part and part["system"].notna().all():
        without = sorted(set(part["system"]) - set(part.loc[part["y"].notna(), "system"]))
        if without:
            names = ", ".join(map(repr, without[:5]))
            warnings.append(f"labels_of_some_systems: no label is of {names}, whose items count too")
    folds, fold_warnings = folds_of(part, group)
    warnings += fold_warnings
    if "n_cannot_say" in part and (n := int((part["y"].isna() & (part["n_cannot_say"] > 0)).sum())):
        warnings.append(f"cannot_say: people looked at {n} of these items and could not say; they count as unlabelled")
    if repeated and "strata" in drawn and options["estimator"] == "auto":
        warnings.append("repeated_groups: items of a stratum that share a `group` were taken as independent")
    data = {"y": part["y"], "f": part["x"], **design}
    if "n_represented" in part:  # rows that stand for many items: labelled items, and moments of the others
        labelled = part["y"].notna().to_numpy()
        n_represented, squares, low, high = (part.loc[~labelled, name].astype(float).to_numpy() for name in REPRESENTED)
        f = part["x"].astype(float).to_numpy()
        size, mean, single = np.nan_to_num(n_represented, nan=1.0), f[~labelled], np.isnan(n_represented)
        sets = Moments(size, mean, np.nan_to_num(squares), np.where(single, mean, low), np.where(single, mean, high))
        by_item = {name: np.asarray(values) for name, values in design.items()}
        beside = {f"{name}_unlabeled": values[~labelled] for name, values in by_item.items() if name != "inclusion"}
        data = {"y": part["y"][labelled], "f": f[labelled], "f_unlabeled": sets if beside else sets.whole()}
        data |= {name: values[labelled] for name, values in by_item.items()} | beside
    of_data = partial(stats.ppi_mean, **data, calibrated_folds=folds, **options)
    result = of_data(**ends_of(part, {}, apart=True))
    if guessed and not options["conservative"]:
        shares = part["y"].value_counts(normalize=True)
        if len(shares) >= SPREAD and shares.iloc[0] < _CROWDED:
            plain = of_data()
            result = plain if np.diff(plain.interval) < np.diff(result.interval) else result
    return with_warnings(result, warnings)


def _drawn_by(part: pd.DataFrame, strata: str | None) -> tuple[dict[str, Any], list[str]]:
    """How the labelled items were drawn, for `ppi_mean`, and what does not fit."""
    if strata is not None:
        return {"strata": whole_column(part, strata, "strata")}, []
    labelled = part["y"].notna()
    if not set(DESIGN) <= set(part) or part[list(DESIGN)].isna().all(axis=None) or labelled.all():
        return {}, []  # nobody drew them, or there was nothing to draw
    if part[list(DESIGN)].isna().any(axis=None):
        raise TableError("the columns of `choose` must have no gaps, but some scores have none of them.")
    designs = sorted(set(part["design"].astype(str)))
    if len(designs) > 1:
        raise TableError(f"the scores must come from one drawing of items, but `design` has {', '.join(designs)}.")
    chosen = chosen_in(part)
    warnings = []
    if other := int((labelled & ~chosen).sum()):
        warnings.append(f"labels_not_drawn: {other} labels are of items that `choose` did not draw")
    if blank := int((chosen & ~labelled).sum()):
        warnings.append(f"labels_incomplete: {blank} of {int(chosen.sum())} drawn items have no label")
    parts = part["stratum"].astype(float).astype(int).to_numpy()
    several = len(set(parts)) > 1
    if designs == ["active"] or (designs == ["groups"] and several):
        return {"inclusion": part["inclusion"].astype(float)}, warnings
    return ({"strata": parts} if several else {}), warnings


@verb
def difference(
    scores: Data,
    labels: Data = None,
    a: str | None = None,
    b: str | Sequence[str] | None = None,
    *,
    target: str = "population",
    estimator: str = "auto",
    alternative: str = "two-sided",
    min_labels: int = 10,
    adjust: str = "holm",
    pool: str | None = None,
    level: str = "item",
    turns: str = "mean",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.DifferenceEstimate]:
    """Mean human score of system `a` less that of system `b`, paired where both have a label; or of `a` against many.

    Parameters
    ----------
    scores, labels : table, path or frame
        As for `interval`, with a column `system` and a column `group`, what the systems answered. Without `group`
        nothing is paired. Where one file holds all, `labels` may be left out: ``difference("results.csv", "x", "y")``.
    a : str
        Name of a system.
    b : str or sequence of str, optional
        The other system, or several. Default: all others.
    target, estimator, alternative, min_labels, confidence_level
        As for `interval`; `min_labels` is of each system.
    adjust : {"holm", "bh"}
        How p-values are adjusted where `a` is compared with several.
    pool : {"rater"}, optional
        As for `interval`: the mean of all raters in `scores` is the judge.
    {sessions}
    {columns}

    Returns
    -------
    Results
        With `p_value` for "no difference", and counts of what is left out: `n_unmatched` (groups that only one of them
        answered), `n_unscored` (labels of items that the judge did not score), `n_unread` (items whose judge score is
        missing); against several systems also `p_adjusted`, within criterion and rater. Intervals are not adjusted.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6:65-70.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> result = calib.difference(judge, human.head(600), "clean", "coherence-2").select(criterion="coherence").one()
    >>> result.interval.low > 0
    True
    """
    if isinstance(labels, str) and not is_file(labels) and (a is None or b is None):
        labels, a, b = None, labels, b if a is None else a
    estimator = estimator_of(estimator)
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), needs=_sides_of(estimator))
    judged, people, read_as = _judges(files, pool, check.choice(level, "level", LEVELS), turns)
    systems = judged.frame["system"].dropna().unique().tolist() if "system" in judged.frame else []
    if a is None:
        names = ", ".join(map(repr, sorted(map(str, systems))))
        raise ArgumentError("a", "must name a system", f"there are {names}" if systems else "")
    others = [b] if isinstance(b, str | int) else list(b or ())
    if b is None:
        others = [name for name in systems if name != a] or [a]
    elif not others:
        raise TableArgumentError("b", "must name a system")
    elif a in others:
        raise TableArgumentError("a", "and {0} must be two systems", f"both are {a!r}", mentions=("b",))
    adjust = check.choice(adjust, "adjust", ("holm", "bh"))
    options = {"target": target, "estimator": estimator, "alternative": alternative, "min_labels": min_labels}
    options |= {"confidence_level": confidence_level}
    answers = []
    for pair in _judged_pairs(judged, people):
        _need_labels(pair.frame, estimator, None, pair.label, 2)
        pairs = [difference_of(pair, a, other, options) for other in progress(others, "systems")]
        p = adjusted_p_values(np.array([result.p_value for _, result in pairs]), adjust)
        for (label, result), value in zip(pairs, p, strict=True):
            more = {"p_adjusted": float(value)} if len(others) > 1 else {}
            estimand = result.estimand.replace("mean", "win rate") if files.pairwise else result.estimand
            estimand += f" of sessions by their {turns} turn" * (level == "session")
            answers.append((label | more | read_as, replace(result, estimand=estimand)))
    return Results.of(answers)


def difference_of(pair: Pair, a: str, b: str, options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """What the difference of two systems is about, and the difference."""
    rows, warnings = pair.frame, list(pair.warnings)
    sides = [_system(rows, name).add_suffix(end) for name, end in ((a, "_a"), (b, "_b"))]
    if "group" not in rows:
        text = f"no column `group` says what both answered, so labels of {a} and {b} stand alone"
        warnings.append(f"nothing_paired: {text}")
    inputs = sides[0].join(sides[1], how="outer")
    those, unscored = rows["system"].isin((a, b)), rows["_merge"] == "right_only"
    both = rows[those & rows["x"].notna()]
    folds, fold_warnings = folds_of(both, labels_in(both, "group"))
    warnings += fold_warnings
    labelled = {name: int(inputs[f"y{end}"].notna().sum()) for name, end in ((a, "_a"), (b, "_b"))}
    counts = {
        "n_unmatched": int(inputs[["x_a", "x_b"]].isna().any(axis="columns").sum()) if "group" in rows else 0,
        "n_unscored": int((unscored & (those | rows["system"].isna())).sum()),
        "n_unread": int((~unscored & those & rows["x"].isna()).sum()),
    }
    label = pair.label | {"system": f"{a} - {b}"} | counts
    least = options["min_labels"]
    if METHODS[options["estimator"]].needs.min_labels and min(labelled.values()) < least:
        short = " and ".join(f"{n} of {name!r}" for name, n in labelled.items())
        rule = f"must have {least} labels at least of each system{' ({0} lowers that)' * (least > 2)}"
        raise ArgumentError("labels", rule, f"has {short}", mentions=("min_labels",), about=words(label))
    with renamed_errors(label, **NAMES):
        y_a, y_b, x_a, x_b = (inputs[name].astype(float) for name in ("y_a", "y_b", "x_a", "x_b"))
        ends = ends_of(rows, label, apart=True)
        result = stats.ppi_difference(y_a, y_b, x_a, x_b, calibrated_folds=folds, **ends, **options)
    return label, with_warnings(result, warnings)


def _system(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """What a system was scored, by what was answered where that is known, else by item."""
    if "system" not in frame:
        ask = "name it (system=, in a shell --system), or give the items to `summarize` (--items)"
        raise TableError(f"a difference of systems needs a column of who answered: {ask}.")
    rows = frame[frame["system"] == name]
    if not len(rows):
        there = ", ".join(sorted(map(repr, frame["system"].dropna().unique())))
        raise TableError(f"no scores of system {name!r}; there are {there}.")
    inputs = "group" if "group" in rows else "item"
    if rows[inputs].isna().any():
        raise TableError(f"system {name!r} must have a `group` for each item, but has none for some.")
    if rows[inputs].duplicated().any():
        raise TableError(f"system {name!r} must have one item per group, but has several in some.")
    refuse_drawn_unequally(rows, "a difference", name)
    return rows[rows["x"].notna()].set_index(inputs)[["x", "y"]]


def _in_memory(
    scores: Any, labels: Any, described: Mapping[str, Any], columns: Sequence[str | None], groups: str
) -> tuple[Any, bool]:
    """Scores that come in parts as the rows of labelled items and a few for all others; the rest as it is.

    And whether `groups` repeat, as far as that is to be known. `columns` are those that results are made by;
    `described` are those of files of one's own, which do not come in parts.
    """
    if not is_partitioned(scores):
        return scores, True
    refuse_other_folders(scores, "scores")
    for word in described:
        raise ArgumentError(word, "describes your own file", "scores come in partitions")
    refuse_partitions(labels, "labels")
    beside = opened(labels, "labels")
    if beside is None or not is_calibs(beside):
        rule = "must be a table of calib's (`calib.read_labels`, `calib.scores_from`) where {0} come in partitions"
        came = "is not given" if beside is None else "is your own file"
        raise ArgumentError("labels", rule, came, mentions=("scores",))
    frame = beside.frame if isinstance(beside, Source | ValidatedTable) else beside
    return condensed(Partitions(scores), frame["item"], columns, groups)
