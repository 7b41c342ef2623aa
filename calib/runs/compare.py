"""Two or more runs compared: tasks matched, each pair of runs, and with labels what people would say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib.adapters.tables import LogOptions
from calib.analysis.means.frames import difference
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.numeric import adjusted_p_values
from calib.core.result import short
from calib.inputs.alike import few
from calib.inputs.names import Columns, Data, key
from calib.inputs.readings import opened_sources
from calib.inputs.resolve import resolve_inputs
from calib.runs.comparison import RunComparison, compare_runs as compare_arrays
from calib.runs.nested import trial_means
from calib.runs.ranks import RunRanks, rank_runs
from calib.runs.sessions import runs_of_sessions
from calib.runs.trials import Arrays, Run, arrays_of, matched_tasks, runs_in
from calib.table import TableArgumentError, check_scores, parse_scale
from calib.table.driver import verb
from calib.table.labelled import with_warnings
from calib.table.pairs import one_scale
from calib.table.results import Results
from calib.table.sessions import LEVELS, by_session
from calib.table.validate import renamed_errors, scores_in

_LACK = "lack a score, or a turn that another run has (where runs differ in length, name turns apart in each),"
_NO_SHARE = 4.0  # a score that is no share, beside a run whose scores all lie from 0 to 1
_UNLIKE_TOPS = {(5.0, 10.0), (5.0, 100.0), (10.0, 100.0)}  # highest scores of two runs, each the top of a usual scale
OF_LABELS = ("label", "annotator", "label_item")  # columns of the labels alone


@verb
def compare_runs(
    a: Data,
    b: Data = None,
    *,
    labels: Data = None,
    run: str | None = None,
    trial: str | None = None,
    groups: str | None = "group",
    level: str = "item",
    turns: str = "mean",
    unlike: bool = False,
    pass_mark: float | None = None,
    adjust: str = "holm",
    tool: str = "auto",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[Any]:
    """Whether run `b` scored higher than run `a` on the same tasks: tasks, trials and judge draws apart.

    No labels are needed, and without them the answer is about the judge's scores. Tasks are matched by their ids, and
    in logs by their inputs, too; a task of one run alone is left out and named.

    Parameters
    ----------
    a, b : log, table, path or frame
        A run each: logs of a tool that `read_log` reads, tables of scores or ratings, or your own files, in which each
        row of a task is a trial. Where `a` holds several runs (a column of runs or systems), or is a dict of runs by
        name, all pairs are compared.
    labels : table, path or frame, optional
        People's labels of some outputs, by the ids of the outputs: adds the difference that people would see.
    run : str, optional
        The column that names the runs. Default: `run` of your own file, else the system.
    trial : str, optional
        The column that numbers the trials of a task; rows of one trial are then draws of the judge. Default: a column
        called trial, epoch, attempt or repeat.
    groups : str or None, default "group"
        The column of what tasks share (a repository, a document), where tasks are matched by id; None: tasks are
        independent.
    level : {"item", "session"}
        "session": tasks are turns, which share a group; sessions are compared, of which each turn must have a score.
    turns : {"mean", "worst", "last"}
        How turns become sessions, as for `calib.to_sessions`.
    unlike : bool, default False
        Compare scores of two judges, where no judge scored both runs.
    pass_mark, adjust, confidence_level
        As for `calib.stats.compare_runs`.
    tool : str, default "auto"
        Who wrote a log, as for `read_log`; `rater` and `scale` below are then as there.
    {columns}

    Returns
    -------
    Results
        A `RunComparison` for each criterion, judge and pair of runs; with several pairs `p_adjusted` (Holm) and a
        `RunRanks`; with labels a `DifferenceEstimate` of each pair. Counts: `n_only_a`, `n_only_b` (tasks of one run
        alone), `n_unread_a`, `n_unread_b` (readings without a score).

    Warns
    -----
    CalibWarning
        "unmatched": tasks of one run alone. "turns_unmatched": a session has the turns that its run has. "unread":
        trials without a score, with the difference that they would make at both ends of the scale. "matched_by_text",
        "other_input", "look_alike", "tasks_by_group", "tasks_in_groups": how tasks were matched. "judges_differ",
        "prompts_differ": the difference may be the judge's.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(run, task, trial, (7 * task + 5 * trial + 3 * (run == "v2")) % 11 > 5)
    ...         for run in ("v1", "v2") for task in range(30) for trial in range(4)]
    >>> table = pd.DataFrame(rows, columns=["run", "task", "trial", "passed"])
    >>> result = compare_runs(table, judge="passed").one()
    >>> result.n, result.n_trials_a, round(result.estimate, 3)
    (30, 120, 0.0)
    """
    several = isinstance(a, Mapping) and b is None
    things = {str(name): thing for name, thing in a.items()} if several else {"a": a} | ({} if b is None else {"b": b})
    if len(things) > 1:
        _refuse_twice(things)
    words: Any = dict(columns)
    of_runs: Any = {name: word for name, word in words.items() if name not in OF_LABELS}
    log = LogOptions(tool=tool, rater=words.get("rater"), scale=words.get("scale"))
    runs = runs_in(things, run=run, trial=trial, groups=groups or "group", log=log, columns=of_runs)
    of_turns: list[str] = []
    if by_session(check.choice(level, "level", LEVELS), turns):
        if labels is not None:
            rule = "cannot be had with {0} 'session': `difference` has that level, for scores of both runs and labels"
            raise TableArgumentError("labels", rule, mentions=("level",))
        runs, of_turns = runs_of_sessions(runs, turns)
    runs, notes, by_id = matched_tasks(runs)
    answers: list[tuple[dict[str, Any], Any]] = []
    for each, rows in _judged(runs, unlike=unlike):
        about = each | ({"sessions": f"{turns} of turns"} if level == "session" else {})
        pairs = []
        for one, two in combinations(rows, 2):
            pairs.append(_pair(about, one, two, groups if by_id else None, of_turns + notes, {
                "pass_mark": pass_mark, "adjust": adjust, "confidence_level": confidence_level,
            }))  # fmt: skip
        p = adjusted_p_values(np.array([result.p_value for _, result in pairs]), "holm")
        several = len(pairs) > 1
        for (label, result), value in zip(pairs, p, strict=True):
            answers.append((label | ({"p_adjusted": float(value)} if several else {}), result))
        if several:
            answers.append((about, _ranks(rows, confidence_level)))
        if labels is not None:
            answers += _as_people(about, rows, labels, words, run, confidence_level)
    return Results.of(answers)


def _refuse_twice(things: Mapping[str, Any]) -> None:
    """One file, or one table, is no two runs."""
    for (name, one), (other, two) in combinations(things.items(), 2):
        paths = [getattr(thing, "path", thing) for thing in (one, two)]
        files = [os.path.realpath(path) for path in paths if isinstance(path, str | Path)]
        if one is two or (len(files) == 2 and files[0] == files[1]):
            raise TableArgumentError(other, f"must be another run than {name!r}", "it is the same one")


def _judged(runs: Sequence[Run], *, unlike: bool) -> Iterator[tuple[dict[str, Any], list[Run]]]:
    """The rows of all runs on one criterion by one judge; a judge of some runs alone is refused, or compared anyway."""
    columns = ["criterion", "rater"]
    keys = [run.rows[columns].drop_duplicates() for run in runs]
    common = keys[0]
    for other in keys[1:]:
        common = common.merge(other)
    for criterion, rater in common.itertuples(index=False):
        parts = [Run(one.name, _under(one.rows, criterion, rater)) for one in runs]
        yield {"criterion": str(criterion), "rater": str(rater)}, parts
    left = [criterion for criterion in keys[0]["criterion"].unique() if criterion not in set(common["criterion"])]
    everywhere = [one for one in left if all(one in set(key["criterion"]) for key in keys)]
    for criterion in everywhere:
        raters = [sorted(map(str, key.loc[key["criterion"] == criterion, "rater"])) for key in keys]
        each = "; ".join(f"{run.name} by {', '.join(names)}" for run, names in zip(runs, raters, strict=True))
        if not unlike or any(len(names) > 1 for names in raters):
            rule = f"must be scored by the judge of {{0}} on {criterion!r} ({{1}} compares one judge with another)"
            other = next(run.name for run, names in zip(runs, raters, strict=True) if names != raters[0])
            raise TableArgumentError(other, rule, each, mentions=(runs[0].name, "unlike"))
        check.warn(f"judges_differ: {each}: the difference on {criterion!r} may be that of the judges.")
        parts = [Run(one.name, _under(one.rows, criterion, None)) for one in runs]
        yield {"criterion": str(criterion), "rater": " / ".join(names[0] for names in raters)}, parts
    if not len(common) and not everywhere:
        there = "; ".join(
            f"{run.name} has {few(list(key['criterion'].unique()))}" for run, key in zip(runs, keys, strict=True)
        )
        raise TableArgumentError("b", "must have a criterion of {0}", there, mentions=("a",))
    _say_left_out(runs, keys, common, set(everywhere))


def _say_left_out(runs: Sequence[Run], keys: Sequence[pd.DataFrame], common: pd.DataFrame, whole: set[Any]) -> None:
    """Criteria and judges that are not in all runs."""
    kept = set(common.itertuples(index=False, name=None))
    for run, each in zip(runs, keys, strict=True):
        pairs = [pair for pair in each.itertuples(index=False, name=None) if pair not in kept and pair[0] not in whole]
        if pairs:
            what = ", ".join(f"{criterion!r} by {rater!r}" for criterion, rater in pairs)
            check.warn(f"left_out: {run.name} has scores that not all runs have: {what}.")


def _under(rows: pd.DataFrame, criterion: Any, rater: Any) -> pd.DataFrame:
    return rows[(rows["criterion"] == criterion) & ((rows["rater"] == rater) | (rater is None))]


def _pair(
    about: Mapping[str, Any], one: Run, two: Run, groups: str | None, notes: Sequence[str], options: dict[str, Any]
) -> tuple[dict[str, Any], RunComparison]:
    """Two runs on one criterion: what the result is about, and the result."""
    label = {**about, "run": f"{two.name} - {one.name}"}
    one_scale(label, "'compare_runs'", **{name: side.rows for name, side in (("a", one), ("b", two))})
    common, alone = _common_tasks(one, two)
    names, warnings = (one.name, two.name), list(notes)
    if any(map(len, alone)):
        texts = [
            f"{len(tasks)} in {name} alone ({few(list(tasks))})"
            for tasks, name in zip(alone, names, strict=True)
            if len(tasks)
        ]
        warnings.append(f"unmatched: tasks {' and '.join(texts)} are left out")
    if set(one.rows["prompt"]) != set(two.rows["prompt"]):
        warnings.append(
            "prompts_differ: the judge was asked in other words in the second run, which may be the difference"
        )
    owners, of_groups = _owners(one, two, common, groups)
    scales = {str(text) for side in (one, two) for text in side.rows["scale"].unique()} - {"", "nan", "None"}
    limits = parse_scale(scales.pop()) if len(scales) == 1 else None
    bounds = None if limits is None else (limits.low, limits.high)
    arrays = [arrays_of(side.rows, common, other.rows) for side, other in ((one, two), (two, one))]
    warnings += of_groups + _suspicious(arrays, names, stated=bounds is not None)
    if "sessions" in about:
        _refuse_unread_sessions(arrays, names)
    with renamed_errors(label, a=one.name, b=two.name):
        result = compare_arrays(
            *(side.scores for side in arrays), groups=owners, bounds=bounds, tasks=common.astype(object), **options
        )
    unread = [int(side.unread.sum()) for side in arrays]
    warnings += _unread(arrays, bounds, result, names, sessions="sessions" in about)
    counts = {"n_only_a": len(alone[0]), "n_only_b": len(alone[1]), "n_unread_a": unread[0], "n_unread_b": unread[1]}
    return label | counts, with_warnings(result, warnings)


def _common_tasks(one: Run, two: Run) -> tuple[pd.Index, list[pd.Index]]:
    """Tasks of both runs, and those of each alone."""
    tasks = [pd.Index(side.rows["task"].dropna().unique()) for side in (one, two)]
    common = tasks[0][tasks[1].get_indexer(tasks[0]) >= 0]
    if not len(common):
        there = f"{one.name} has {few(list(tasks[0]))}, {two.name} has {few(list(tasks[1]))}"
        raise TableArgumentError(two.name, "must have tasks of {0}, by id or by input", there, mentions=(one.name,))
    return common, [side.difference(common, sort=False) for side in tasks]


def _owners(one: Run, two: Run, common: pd.Index, groups: str | None) -> tuple[Any, list[str]]:
    """The group of each task where several tasks share one, else None; and what is odd about the groups."""
    notes = []
    for side in (one, two):
        of_each = side.rows.groupby("task", sort=False)["group"].nunique()
        if several := int((of_each > 1).sum()):
            what = f"{several} tasks of {side.name} are in several groups ({few(list(of_each.index[of_each > 1]))})"
            notes.append(f"tasks_in_groups: {what}: are they ids of turns within a session? Give each its own id")
    if groups is None:
        return None, notes
    shared, others = (side.rows.drop_duplicates("task").set_index("task")["group"][common] for side in (one, two))
    if moved := int((shared.notna() & others.notna() & (shared.astype(str) != others.astype(str))).sum()):
        notes.append(f"groups_differ: {moved} tasks have another group in {two.name}; those of {one.name} count")
    if shared.isna().all() or not shared.duplicated().any():
        return None, notes
    if shared.isna().any():
        rule, lacking = f"must be known of each task ({groups!r})", f"{int(shared.isna().sum())} have none"
        raise ArgumentError("groups", rule, lacking)
    if len(shared.unique()) == 1:
        notes.append(f"one_group: all tasks are of {few([shared.iloc[0]])}: the interval is for tasks of it")
        return None, notes
    return shared.to_numpy(), notes


def _refuse_unread_sessions(arrays: Sequence[Arrays], names: Sequence[str]) -> None:
    """Conversations that differ in length lack each other's turns."""
    read = [np.isfinite(side.scores).any(axis=(1, 2)) for side in arrays]
    if (read[0] & read[1]).sum() < min(2, len(read[0])):
        lack = " and ".join(f"{int((~one).sum())} of {name}" for one, name in zip(read, names, strict=True))
        rule = "must share with {0} two sessions at least of which each turn has a score"
        why = f"{lack} lack one; where conversations differ in length, give the turns of each run ids of their own"
        raise TableArgumentError(names[1], rule, why, mentions=(names[0],))


def _suspicious(arrays: Sequence[Arrays], names: Sequence[str], *, stated: bool) -> list[str]:
    """Scores that look like one run under two names, or like two scales where none is stated."""
    one, two = (side.scores for side in arrays)
    ends = [(float(np.nanmin(x)), float(np.nanmax(x))) for x in (one, two) if np.isfinite(x).any()]
    if len(ends) < len(arrays):
        return []
    texts = []
    if one.shape == two.shape and np.array_equal(one, two, equal_nan=True) and ends[0][0] < ends[0][1]:
        texts.append("same_scores: every score is the same in both runs: are they one run under two names?")
    (low, high), (_, most) = sorted(ends, key=lambda end: end[1])
    shares = 0 <= low < 1 and high <= 1 and most >= _NO_SHARE
    if (shares or (high, most) in _UNLIKE_TOPS) and not stated:
        spans = " and ".join(f"{name} from {end[0]:g} to {end[1]:g}" for name, end in zip(names, ends, strict=True))
        texts.append(f"other_range: scores of {spans}: are both on one scale?")
    return texts


def _unread(
    arrays: Sequence[Arrays],
    bounds: tuple[float, float] | None,
    result: RunComparison,
    names: Sequence[str],
    *,
    sessions: bool,
) -> list[str]:
    """What the difference would be if readings without a score were at the ends of the scale."""
    counts = [int(side.unread.sum()) for side in arrays]
    if not any(counts):
        return []
    ends = bounds or ((0.0, 1.0) if result.attempts is not None else None)
    what, lack = ("sessions", _LACK) if sessions else ("readings", "have no score")
    which = " and ".join(
        f"{n} of {int(side.unread.sum() + np.isfinite(side.scores).sum())} {what} of {name}"
        for n, side, name in zip(counts, arrays, names, strict=True)
        if n
    )
    absent = sum(side.n_absent for side in arrays)
    text = f"unread: {which} {lack} and are left out"
    text += f" ({absent} of them without a row, where most tasks have one)" * (absent > 0)
    if ends is None:
        return [text]

    def mean(side: Arrays, end: float) -> float:
        return float(np.nanmean(trial_means(np.where(side.unread, end, side.scores))))

    least = mean(arrays[1], ends[0]) - mean(arrays[0], ends[1])
    most = mean(arrays[1], ends[1]) - mean(arrays[0], ends[0])
    return [f"{text}: at the ends of the scale they would make the difference {short(least)} to {short(most)}"]


def _ranks(runs: Sequence[Run], confidence: float) -> RunRanks:
    """Of several runs on the tasks of all."""
    means = [run.rows.groupby(["task", "trial"], sort=False)["score"].mean().groupby("task").mean() for run in runs]
    table = pd.concat(means, axis="columns", keys=[run.name for run in runs])
    with renamed_errors({}, scores="a"):
        return rank_runs(table.to_numpy(), names=list(table), confidence_level=confidence)


def _as_people(
    about: Mapping[str, Any], runs: Sequence[Run], labels: Any, words: Any, run: str | None, confidence: float
) -> list[tuple[dict[str, Any], Any]]:
    """`difference` on the mean of each task in each run, with people's labels of outputs as labels of their tasks."""
    outputs = pd.concat(
        [one.rows[["item", "task", "score"]].assign(system=one.name) for one in runs], ignore_index=True
    )
    outputs = outputs.groupby(["system", "item", "task"], sort=False, as_index=False, dropna=False)["score"].mean()
    outputs = outputs.rename(columns={"task": "group"}).assign(**about)
    if outputs["item"].duplicated().any():  # then the labels say the run, too
        outputs = outputs.drop(columns="rater")
        labels, _ = opened_sources({}, labels=labels)["labels"]
        column = run or next((one for one in labels.frame if key(one) == "run"), None)
        words = ({"system": column} if column in labels.frame else {}) | words
        inputs = resolve_inputs(outputs, labels, words | {"judge": "score"}, names=("scores", "labels"))
    else:
        inputs = resolve_inputs(check_scores(outputs.assign(method="given")), labels, words, names=("scores", "labels"))
    whose = scores_in(inputs.scores, "a").frame[["item", "group", "system"]].drop_duplicates("item")
    tables = [
        _of_tasks(scores_in(table, name).frame, whose, about["criterion"])
        for table, name in ((inputs.scores, "a"), (inputs.labels, "labels"))
    ]
    if not len(tables[1]):
        check.warn(f"not_labelled: people labelled no output on {about['criterion']!r}.")
        return []
    answers = []
    for one, two in combinations(runs, 2):
        try:
            means = difference(tables[0], tables[1], two.name, one.name, confidence_level=confidence)
        except ArgumentError as error:
            if "min_labels" not in error.mentions:
                raise
            rule = "must be of 10 tasks at least in each run"
            raise TableArgumentError("labels", rule, error.received, about=about["criterion"]) from None
        answers += [
            (label | {"rater": about["rater"]}, result) for label, result in zip(means.labels, means, strict=True)
        ]
    return answers


def _of_tasks(frame: pd.DataFrame, whose: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Scores of outputs as means of each task in each run."""
    rows = frame[frame["criterion"] == criterion].drop(columns=["group", "system"], errors="ignore")
    rows = rows.astype({"item": object}).merge(whose.astype({"item": object}), on="item", validate="many_to_one")
    keys = ["group", "system", "rater", "method", "scale"]
    means = rows.groupby(keys, sort=False, observed=True, as_index=False, dropna=False)["score"].mean()
    item = means["group"].astype(str) + " in " + means["system"].astype(str)
    return check_scores(means.assign(item=item, criterion=criterion))
