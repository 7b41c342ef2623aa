"""The verb `pass_fail`: a judge that says pass or fail, or whose score passes a threshold, beside people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import Floats
from calib.core.result import NO_INTERVAL, short
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import resolve_inputs
from calib.table import TableArgumentError, TableError
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import Labelled, groups_of, labelled_pairs, parts_of, with_warnings
from calib.table.pairs import unequal_chances
from calib.table.results import Results
from calib.table.validate import ValidatedTable, scores_in

_UNEQUAL_CHANCES = (
    "unequal_chances: the labelled items were drawn with chances that differ, so that figures of them are not those of "
    "all items; `interval` takes the chances into account."
)


@verb
def pass_fail(
    scores: Data,
    labels: Data = None,
    *,
    judge_threshold: float | None = None,
    label_threshold: float | None = None,
    cost: Sequence[float] = (1.0, 1.0),
    production: Any = None,
    by: str | None = None,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PassFail]:
    """How often a judge's pass and fail are people's, and what share of the items people would pass.

    Results, of `calib.stats.pass_fail`, are labelled by criterion, rater, prompt, method, temperature, `by`,
    `n_unmatched` (labels of items that the judge did not score) and `n_unread`.

    Parameters
    ----------
    scores : table, path or frame
        Judges: pass and fail, or scores; or your own file, which may hold people's labels, too.
    labels : table, path or frame, optional
        People's labels of some of the items; of several persons the majority, an even split fails.
    judge_threshold : float, optional
        The judge passes an item with this score or more. Default: chosen by the labels, for each labelled item from
        other groups (cross-fitted).
    label_threshold : float, optional
        People pass an item with this label or more; needed if labels have more than two values.
    cost : pair of float, default (1, 1)
        Costs of a false pass and of a false fail, by which the threshold is chosen.
    production : table, path or frame, optional
        Scores of the same judge on the items whose pass rate is wanted, if `scores` are a test set of another make-up,
        such as half pass and half fail.
    {by}
    {groups}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline"), progress=False)
    >>> result = calib.pass_fail(ratings, calib.summarize(people, items), label_threshold=4).one()
    >>> print(result)
    threshold 3.786: TPR 0.9758, 95 % CI [0.9435, 0.9917]; TNR 0.7969, 95 % CI [0.6758, 0.9376]; kappa 0.8054, 95 % CI \
[0.6892, 0.9201]; pass rate 0.7949, 95 % CI [0.7437, 0.838]; 312 labels
    """
    files = resolve_inputs(scores, labels, columns, names=("scores", "labels"), any_scale=True)
    judges, label_table = scores_in(files.scores, "scores"), scores_in(files.annotations, "labels")
    by, groups = files.named(by, "by"), files.named(groups, "groups")
    elsewhere = None
    if production is not None:  # the judge's side of what may be a file of one's own
        of_judge: Any = {k: v for k, v in columns.items() if k not in ("label", "label_item", "annotator")}
        side = resolve_inputs(production, None, of_judge, names=("scores",), needs=("judge",), any_scale=True)
        elsewhere = scores_in(side.scores, "production")

    def slices() -> Iterator[Slice[tuple[Labelled, dict[str, Any], pd.DataFrame]]]:
        for judged in labelled_pairs(judges, label_table, (by, groups)):
            passing = _passing(judged, label_threshold)
            if elsewhere is not None and by in elsewhere.frame:  # parts that nobody labelled have no error rates
                apart = elsewhere.frame[by].dropna().astype(str)
                apart = apart[~apart.isin(judged.frame[by].astype(str))]
                if len(apart):
                    which = f"{by} {', '.join(map(repr, apart.unique()[:3]))}, where nothing is labelled."
                    check.warn(f"unlabelled: {len(apart)} rows of `production` are of {which}")
            for value, part in parts_of(judged.frame.assign(_passing=passing), by):
                warnings, n_even = [*judged.warnings], int((np.abs(part["_passing"] - 0.5) < 1e-9).sum())
                if n_even:
                    even = f"on {n_even} items as many people say pass as fail; they are taken to fail."
                    warnings.append(f"even_split: {even}")
                counts = {"n_unmatched": judged.n_unmatched, "n_unread": int(part["x"].isna().sum())}
                label = judged.label | value
                yield Slice(label, (judged, label, part), counts, warnings)

    def result_of(rows: tuple[Labelled, dict[str, Any], pd.DataFrame]) -> stats.PassFail:
        judged, label, part = rows
        result = stats.pass_fail(
            _unit(part["x"], judged, judge_threshold),
            np.where(part["_passing"].isna(), np.nan, part["_passing"] > 0.5), judge_threshold=judge_threshold,
            cost=tuple(cost), production=_production(elsewhere, label, judged, by),
            groups=None if groups is None else groups_of(part, groups), confidence_level=confidence_level,
        )  # fmt: skip
        if not unequal_chances(part):
            return result
        # without PPI's rate where the labelled items are no plain random part
        none = result.ppi._replace(estimate=np.nan, interval=NO_INTERVAL)
        return with_warnings(replace(result, ppi=none), [_UNEQUAL_CHANCES])

    return each_result(slices(), result_of, names={"judge": "scores"}, skip=("scores", "labels"))


def _passing(judged: Labelled, label_threshold: float | None) -> Floats:
    """The share of people who pass each item."""
    if label_threshold is None and len(judged.levels) > 2:
        rule = "must say what passes where labels are not pass and fail"
        raise TableArgumentError("label_threshold", rule, f"came without, and they have {len(judged.levels)} values")
    mark = judged.levels[-1] if label_threshold is None else label_threshold
    if not judged.levels[0] < mark <= judged.levels[-1]:
        ends = f"above {short(judged.levels[0])} and up to {short(judged.levels[-1])}"
        raise TableArgumentError("label_threshold", f"must be {ends}, as labels are", f"got {mark:g}")
    passes = judged.labels.assign(passes=(judged.labels["y"] >= mark) * judged.labels["weight"])
    return np.asarray(passes.groupby("row")["passes"].sum().reindex(judged.frame.index), dtype=float)


def _unit(x: pd.Series, judged: Labelled, threshold: float | None) -> Floats:
    """Verdicts on a scale of two values as 0 and 1; scores as they are."""
    values, low, high = np.asarray(x, dtype=float), judged.levels[0], judged.levels[-1]
    if threshold is not None or len(judged.levels) > 2 or not np.isin(values[~np.isnan(values)], (low, high)).all():
        return values
    return np.asarray((values - low) / (high - low))


def _production(
    elsewhere: ValidatedTable | None, label: dict[str, Any], judged: Labelled, by: str | None
) -> Floats | None:
    """The judge's scores in `elsewhere`, shape (items,), where the rate is wanted; None where there are none."""
    if elsewhere is None:
        return None
    rows = elsewhere.under(label, "criterion", "rater")
    if by is not None:
        if by not in rows:
            raise TableArgumentError("production", "must have the column of {0}", f"has no {by!r}", mentions=("by",))
        rows = rows[rows[by].astype(str) == str(label[by])]
        if not len(rows):
            raise TableArgumentError("production", "must have rows of each part", f"has none of {by} {label[by]!r}")
    if not len(rows):
        wanted = f"{label['criterion']!r} by {label['rater']!r}"
        raise TableArgumentError("production", f"must have scores of {wanted}", f"has {elsewhere.holds}")
    shared = set(rows["item"].astype(object)) & set(judged.frame.loc[judged.frame["y"].notna(), "item"])
    if shared and len(shared) == len(rows):
        raise TableError("`production` must hold other items than those with labels, but all of its items have one.")
    return _unit(rows["score"], judged, None)
