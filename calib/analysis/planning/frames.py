"""Verbs before labels are paid for: which items, how many, whether the judge helps, and where it may be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.planning.half_width import is_whole
from calib.analysis.planning.labels import expected_half_widths
from calib.analysis.prompts.frames import cells_of_replies, over_prompts, with_labels
from calib.core import check
from calib.core.check import ArgumentError
from calib.core.numeric import row_means
from calib.core.result import Result
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import Inputs, resolve_inputs
from calib.table import TableArgumentError, TableError, has_replies
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import NAMES, ends_of, groups_of, label_pairs, parts_of, whole_column
from calib.table.pairs import DESIGN, chosen_in
from calib.table.results import Results, words
from calib.table.scores import summarized
from calib.table.validate import ratings_in, renamed_errors, scores_in

R = TypeVar("R", bound=Result)
_LABELS = (25, 50, 100, 200, 400)  # numbers of labels to choose from before there is one
_RHO = (0.0, 0.5, 0.7, 0.9)  # correlations of a judge with people


@verb
def choose(
    scores: Data,
    n: int,
    *,
    design: str = "simple",
    by: str | None = None,
    on: str = "score",
    groups: str = "group",
    n_strata: int = 4,
    more: bool = False,
    rng: np.random.Generator | int | None = None,
    **columns: Unpack[Columns],
) -> pd.DataFrame:
    """Draw the items that people shall label, and write into the scores how, for `interval` to read.

    Parameters
    ----------
    scores : table, path or frame
        One judge's scores of all items; or your own file. Of several criteria or judges the same items are drawn,
        simply or by groups.
    n : int
        Labels to buy; with `by` for each of its values.
    design : {"simple", "groups", "strata", "active"}
        As for `calib.stats.choose`: at random; whole groups; within strata; or each item with a
        probability that grows with the judge's entropy.
    by : str, optional
        A column, such as "system": a drawing of its own within each value.
    on : {"score", "entropy"}
        What the strata are cut by.
    groups : str, default "group"
        The column that "groups" draws from.
    n_strata, rng
        As for `calib.stats.choose`.
    more : bool, default False
        A further round: n more of those that were not chosen before. The table is one that was drawn before, its
        design stays, and `interval` reads both rounds as one drawing (`calib.stats.choose` says why it may).
    {columns}

    Warns
    -----
    CalibWarning
        "labelled_before": some of the chosen items have a label in the file.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> drawn = calib.choose(calib.summarize(ratings, items), 40, design="strata", on="entropy", rng=1)
    >>> both = calib.choose(drawn, 20, more=True, on="entropy", rng=1)
    >>> int(both["chosen"].sum()), bool(both.loc[drawn["chosen"], "chosen"].all())
    (60, True)
    """
    files = resolve_inputs(scores, None, columns, names=("scores",), needs=("judge",))
    table, by = scores_in(files.scores, "scores"), files.named(by, "by")
    groups = files.named(groups, "groups") or groups
    # a guessed scale is not written down as if it had been stated
    frame = table.frame.assign(scale="") if files.guessed else table.frame
    (label, first), *others = table.slices()
    same_items = all(set(rows["item"]) == set(first["item"]) for _, rows in others)
    if others and not (same_items and design in ("simple", "groups")):
        names = "; ".join(words(each) for each in (label, *(each for each, _ in others)))
        rule = "must be of one judge and one criterion, or of the same items and drawn simply or by groups"
        raise TableArgumentError("scores", rule, f"hold {names}", mentions=())
    source = np.random.default_rng(rng)
    check.choice(on, "on", ("score", "entropy"))
    if by is not None:
        whole_column(frame, by, "by")
    drawn: list[pd.DataFrame] = []
    if (unread := first["score"].isna()).any():
        such = f"{unread.sum()} of {len(first)} have none, such as {str(first.loc[unread, 'item'].iloc[0])!r}"
        rule = "must have a score of each item to draw from"
        raise TableArgumentError("scores", rule, f"{such} (rate these again, or leave them out)")
    for part in [first] if by is None else [rows for _, rows in first.groupby(by, sort=False, observed=True)]:
        after = _choice_before(part) if more else None
        used = after.design if after and design == "simple" else design
        options: dict[str, Any] = {"n_strata": n_strata, "rng": source, "after": after}
        if used == "groups":
            options["groups"] = whole_column(part, groups, "groups")
        if used == "active" or (used, on) == ("strata", "entropy"):
            if "entropy" not in part or part["entropy"].isna().any():
                needs = f"design {used!r} needs the column `entropy` whole"
                raise TableError(f"{needs}, but these scores have none or gaps.")
            options["entropy"] = part["entropy"].to_numpy()
        with renamed_errors(label, f="scores", after="scores"):
            choice = stats.choose(part["score"], n, design=design, **options)
        if more:
            stratum = part["stratum"].astype(float).astype(int)
        else:  # each value of `by` has strata of its own
            stratum = sum(d["stratum"].nunique() for d in drawn) + (0 if choice.stratum is None else choice.stratum)
        how = {"chosen": choice.chosen, "inclusion": choice.inclusion, "stratum": stratum, "design": choice.design}
        drawn.append(pd.DataFrame(how, index=part.index))
    plain, how = frame.drop(columns=[name for name in DESIGN if name in frame]), pd.concat(drawn)
    if files.labels is not None:
        chosen = first["item"].loc[how.index[how["chosen"]]]
        if n_before := int(chosen.isin(files.labels.loc[files.labels["score"].notna(), "item"]).sum()):
            which = f"{n_before} of the {len(chosen)} chosen items have a label already"
            check.warn(f"labelled_before: {which}: add these to the new labels, or have the items labelled again.")
    if others:  # the same items for all
        how = how.set_axis(first["item"].loc[how.index]).reindex(plain["item"]).set_axis(plain.index)
    return plain.join(how)


def _choice_before(part: pd.DataFrame) -> stats.Choice:
    """What was drawn, as the table has it; where strata are those of another column, `by` names it."""
    if missing := [name for name in DESIGN if name not in part]:
        rule = "must have been drawn by `choose` before, for {0}"
        raise TableArgumentError("scores", rule, f"have no column `{missing[0]}`", mentions=("more",))
    if part[list(DESIGN)].isna().any(axis=None) or len(set(part["design"])) > 1:
        raise TableArgumentError("scores", "must come whole from one drawing of items, for {0}", mentions=("more",))
    chosen, strata = chosen_in(part), part["stratum"].astype(float).astype(int)
    design, several = str(part["design"].iloc[0]), len(set(strata)) > 1
    check.choice(design, "design", ("simple", "groups", "strata", "active"))
    if several and design == "groups":
        rule = "must name the column within whose values groups were drawn"
        raise TableArgumentError("by", rule, f"came without, and there are {len(set(strata))} drawings")
    return stats.Choice(
        chosen=chosen.to_numpy(), inclusion=part["inclusion"].to_numpy(dtype=float),
        stratum=np.unique(strata, return_inverse=True)[1] if several and design != "active" else None,
        design=design, n_chosen=int(chosen.sum()), n=len(part), seed=None,
    )  # fmt: skip


@verb
def labels_needed(
    scores: Data,
    labels: Data = None,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    n_items: int | None = None,
    by: str | None = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.LabelsNeeded]:
    """Labels for an interval this narrow, from a pilot.

    Parameters
    ----------
    {scores}
    {labels}
    half_width, difference, power
        As for `calib.stats.labels_needed`.
    n_items : int, optional
        Items that the judge will have scored, labelled ones included. Default: those of the pilot.
    {by}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> pilot = human[human["criterion"] == "coherence"].sample(40, random_state=1)
    >>> print(calib.labels_needed(judge, pilot, half_width=0.15).one())
    88 labels with the judge (r = 0.9224, 312 items), 154 without, for a 95 % interval of +/- 0.1495
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    options: dict[str, Any] = {"half_width": half_width, "difference": difference, "power": power, "n_items": n_items}
    return _each_pilot(files, by, partial(stats.labels_needed, confidence_level=confidence_level, **options))


@verb
def will_it_help(
    scores: Data,
    labels: Data = None,
    *,
    by: str | None = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.JudgeHelp]:
    """Whether a judge narrows the interval of people's mean: `calib.stats.will_it_help` on tables.

    Parameters
    ----------
    {scores}
    {labels}
    {by}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> calib.will_it_help(judge, human).select(criterion="fluency").one().helps
    True
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    return _each_pilot(files, by, partial(stats.will_it_help, confidence_level=confidence_level))


def widths_to_expect(scores: Any = None, confidence_level: float = 0.95) -> pd.DataFrame:
    """Half-widths of people's mean for some numbers of labels, before there is one: by the spread of a judge's scores.

    Without scores they are of 1,000 items whose labels have a standard deviation of 1.
    """
    spreads: list[tuple[dict[str, Any], float, int]] = [({}, 1.0, 1000)]
    if scores is not None:
        read = [(label, rows["score"].dropna().astype(float)) for label, rows in scores_in(scores, "scores").slices()]
        names = [{name: label[name] for name in ("criterion", "rater")} for label, _ in read]
        spreads = [(name, float(x.std()), len(x)) for name, (_, x) in zip(names, read, strict=True)]
    parts = []
    for label, sd, n_items in spreads:
        numbers = [n for n in _LABELS if n <= n_items] or [n_items]
        widths = expected_half_widths(sd, n_items, n_labels=numbers, rho=_RHO, confidence_level=confidence_level)
        columns = ["labels alone", *(f"r = {r:g}" for r in _RHO[1:])]
        parts.append(pd.DataFrame({**label, "labels": numbers, **dict(zip(columns, widths.T, strict=True))}))
    return pd.concat(parts, ignore_index=True)


@verb
def plan(
    pilot: Data = None,
    labels: Data = None,
    *,
    prices: Mapping[str, float] | None = None,
    half_width: float | None = None,
    budget: float | None = None,
    max_items: int | None = None,
    by: str | None = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Any:
    """What to buy next: labels, items, prompts or draws; how many labels, and whether the judge helps.

    From ratings, under one prompt or several and with draws or token probabilities, the plan says what more of each
    would do to the interval of the corrected mean. From scores alone it is about labels and judge scores as they are.

    Parameters
    ----------
    pilot : table, path or frame
        A judge's ratings of the items, or its scores; or your own file, which may hold the labels, too.
    {labels}
    prices : mapping, optional
        Price of a "label" and of a "judge" reply (one draw under one prompt for one item); of an
        "item" itself and, with ratings, of writing a "prompt", where that costs anything.
    half_width : float, optional
        Finds the cheapest way to this half-width of the interval, in score points; not with `budget`.
    budget : float, optional
        Finds the smallest half-width for this much more money; not with `half_width`.
    max_items : int, optional
        How many items are available.
    by : str, optional
        A column of the scores, such as "system". With scores only.
    {confidence_level}
    {columns}

    Returns
    -------
    Results or DataFrame
        With `prices` a `BudgetPlan` of each judge and criterion; without prices the answer of `labels_needed` for
        `half_width`, else of `will_it_help`; without labels a table of the half-widths to expect.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> labels = human[human["criterion"] == "coherence"].sample(40, random_state=1)
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> print(calib.plan(judge, labels, prices={"label": 2, "judge": 0.01}, half_width=0.15).one())
    65 labels, 1080 items (768 items new) for 57.68: +/- 0.15 instead of 0.2348; next
    items: 31 more for 0.31 narrow it by 0.85 %
    """
    if prices is None:
        if budget is not None or max_items is not None:
            raise ArgumentError("prices", "must be given for {0} and {1}", mentions=("budget", "max_items"))
        intake = None if pilot is None else resolve_inputs(pilot, labels, columns, names=("pilot", "labels"), needs=())
        if intake is None or intake.labels is None:
            if half_width is not None:
                raise ArgumentError("half_width", "needs a pilot: a judge's scores of which some have a label")
            scores = None if intake is None else intake.scores
            is_read = not isinstance(scores, pd.DataFrame) or not has_replies(scores)
            return widths_to_expect(scores if is_read else summarized(scores, None, None)[0], confidence_level)
        shared: dict[str, Any] = {"by": by, "confidence_level": confidence_level, **columns}
        if half_width is None:
            return will_it_help(pilot, labels, **shared)
        return labels_needed(pilot, labels, half_width=half_width, **shared)
    if pilot is None or (half_width is None) == (budget is None):
        raise ArgumentError("half_width", "or {0} must be given, and only one of them", mentions=("budget",))
    options: dict[str, Any] = {"prices": prices, "half_width": half_width, "budget": budget}
    options |= {"max_items": max_items, "confidence_level": confidence_level}
    files = resolve_inputs(pilot, labels, columns, names=("pilot", "labels"))
    if isinstance(files.scores, pd.DataFrame) and has_replies(files.scores):
        if by is not None:
            raise ArgumentError("by", "needs scores: what draws and prompts do is told for all items", f"got {by!r}")
        return _plans_of_ratings(files, options)
    if "prompt" in prices:
        raise ArgumentError("prices", "must be of 'label', 'judge', 'item' for scores", "got 'prompt'")

    def plan_of(y: pd.Series, f: pd.Series, **ends: Any) -> stats.BudgetPlan:
        score = f.to_numpy(dtype=float)
        facts = _pilot_facts(y.to_numpy(dtype=float), score, score, ends)
        exact = not is_whole(score, ends.get("bounds"), ends.get("step"))  # such as expected scores
        item = float(np.var(score, ddof=1)) or 1.0
        return stats.budget_plan(**facts, **options, item=item, draws=math.inf if exact else 1)

    return _each_pilot(files, by, plan_of)


def _plans_of_ratings(files: Inputs, options: dict[str, Any]) -> Results[stats.BudgetPlan]:
    """One plan for each judge and criterion, from what items, prompts and draws add to the variance of its replies."""
    table = ratings_in(files.scores, "pilot").frame
    judged, label_table = over_prompts(table[table["method"] != "human"], "pilot"), scores_in(files.labels, "labels")

    def slices() -> Iterator[Slice[tuple[Any, ...]]]:
        for label, rows, labelled, labels in with_labels(judged, label_table):
            (index, _), x, variance = cells_of_replies(rows, exact=label["method"] == "logprob")
            cells = row_means(x) if x.ndim == 3 else x
            # what a prompt does to all items cancels, and must not come back where an item lacks a prompt
            score = row_means(cells - row_means(cells.T) + row_means(cells.ravel()))
            y = labels.reindex(index).to_numpy(dtype=float)
            ends = ends_of(pd.concat([part[["scale"]] for part in (rows, labelled) if "scale" in part]), label)
            unread = np.isfinite(y) & ~np.isfinite(score)
            counts = {"n_unmatched": int((~labels.index.isin(index)).sum()), "n_unread": int(unread.sum())}
            yield Slice(label, (x, variance, y, score, cells, ends, labelled), counts)

    def plan_of(pilot: tuple[Any, ...]) -> stats.BudgetPlan:
        x, variance, y, score, cells, ends, labelled = pilot
        # what items, prompts and draws add to the variance of one reply, and how many there are of them
        unknown: dict[str, Any] = {"item_prompt": None, "draw": None}
        facts, n_draws = unknown, math.nan
        if x.shape[1] > 1:
            study = stats.g_study(x, draw_variance=variance, confidence_level=None)
            parts = {part.name: part.estimate for part in study.components}
            facts = {"item": parts["item"], "item_prompt": parts.get("item_prompt", parts.get("residual"))}
            facts |= {"draw": parts.get("draw"), "prompts": study.n_prompts}
            n_draws = study.n_draws
        elif variance is not None or x.shape[2] > 1:
            one = stats.variance_components(x[:, 0], None if variance is None else variance[:, 0])
            facts = {"item": one.between, "item_prompt": None, "draw": one.within, "prompts": 1}
            n_draws = one.n_draws
        else:  # nothing is known of prompts and draws
            facts = {"item": float(np.nanvar(x, ddof=1)) or 1.0} | unknown
        if not math.isnan(n_draws):  # replies that were read, as a whole number
            facts["draws"] = n_draws if math.isinf(n_draws) else max(1, round(n_draws))
            if not facts["item"] > 0:  # items differ by no more than prompts and draws add: the score as it is
                facts |= {"item": 1.0} | unknown
        facts |= _pilot_facts(y, score, cells, ends)
        return _with_group_warning(labelled, stats.budget_plan(**facts, **options))

    return each_result(slices(), plan_of, names=NAMES | {"x": "pilot", "samples": "pilot", "item": "pilot"}, skip=None)


def _pilot_facts(y: Any, score: Any, replies: Any, ends: dict[str, Any]) -> dict[str, Any]:
    """Labels and their correlation with the judge, and the scale with whether the judge answers on it."""
    both = np.isfinite(y) & np.isfinite(score)
    n_items, y, score = int(np.isfinite(score).sum()), y[both], score[both]
    if len(y) < 4 or not np.ptp(y):
        raise ArgumentError("labels", "must be of four items of the pilot at least, and vary", f"are of {len(y)}")
    # a judge that says the same of all explains nothing; one that is always right, as good as all: r = 1 needs no label
    rho = float(np.clip(np.corrcoef(y, score)[0, 1], 1e-9 - 1, 1 - 1e-9)) if np.ptp(score) else 0.0
    facts = {"mean": float(np.mean(y)), "sd": float(np.std(y, ddof=1)), "rho": rho, "n_labels": len(y)}
    if ends:
        low, high = ends["bounds"]
        ends = ends | {"same_scale": bool(low <= np.nanmin(replies) and np.nanmax(replies) <= high)}
    return facts | ends | {"n_items": n_items}


@verb
def transport_test(
    scores: Data,
    labels: Data = None,
    *,
    by: str = "system",
    base: str | None = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.Transport]:
    """Whether the judge errs alike on each value of a column, from a few labels of each.

    Parameters
    ----------
    {scores}
    {labels}
    by : str, default "system"
        A column of the scores: systems, topics, months.
    base : str, optional
        The value at home; the others are held against it. Default: each against no error at all.
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    >>> results = calib.transport_test(judge, human, base="clean").select(criterion="coherence")
    >>> results.select(system="coherence-1").one().transports
    True
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"))
    by = files.named(by, "by") or by

    def slices() -> Iterator[Slice[tuple[pd.DataFrame, pd.DataFrame | None]]]:
        for pair in label_pairs(scores_in(files.scores, "scores"), scores_in(files.labels, "labels"), [by]):
            judged = pair.both[pair.both["x"].notna()]
            whole_column(judged, by, "by")
            parts = dict(iter(judged.groupby(by, sort=False, observed=True)))
            if base is not None and base not in parts:
                values = ", ".join(map(repr, parts))
                raise TableArgumentError("base", f"must be a value of {by!r}", f"got {base!r}; there are {values}")
            home = {} if base is None else {"base": base}
            for value, rows in parts.items():
                if value != base:
                    yield Slice(pair.label | {by: value} | home, (rows, parts.get(base)), warnings=pair.warnings)

    def transport_of(rows: tuple[pd.DataFrame, pd.DataFrame | None]) -> stats.Transport:
        sides: dict[str, Any] = {}
        for part, suffix in zip(rows, ("", "_base"), strict=True):
            if part is not None:
                sides |= {f"y{suffix}": part["y"], f"f{suffix}": part["x"], f"groups{suffix}": groups_of(part, "group")}
        return stats.transport_test(**sides, confidence_level=confidence_level)

    return each_result(slices(), transport_of, names=NAMES)


def _each_pilot(files: Inputs, by: str | None, statistic: Callable[..., R]) -> Results[R]:
    """One result for each judge, criterion and value of `by`, from labels, scores and the ends of their scale."""
    column = files.named(by or files.each, "by")

    def slices() -> Iterator[Slice[tuple[pd.DataFrame, dict[str, Any]]]]:
        for pair in label_pairs(scores_in(files.scores, "scores"), scores_in(files.labels, "labels"), [column]):
            judged = pair.scored[pair.scored["x"].notna()]
            ends = ends_of(judged, pair.label)
            for value, part in parts_of(judged, column):
                yield Slice(pair.label | value, (part, ends), warnings=(*pair.warnings, *pair.fold_doubts))

    def result_of(pilot: tuple[pd.DataFrame, dict[str, Any]]) -> R:
        part, ends = pilot
        return _with_group_warning(part, statistic(part["y"], part["x"], **ends))

    return each_result(slices(), result_of, names=NAMES, skip=None)


def _with_group_warning(part: pd.DataFrame, result: R) -> R:
    """Planning takes items as independent; where they share groups that has to be said."""
    group = groups_of(part, "group")
    if group is None or len(set(group)) == len(group):
        return result
    text = "repeated_groups: items that share a `group` are taken as independent here; it may be wider or narrower"
    return replace(result, warnings=(*result.warnings, text))  # type: ignore[attr-defined, type-var]
