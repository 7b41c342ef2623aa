"""Draws of a judge on tables: how much they vary within items, and how many are enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.frames import by_method, draws_by_item, shared_by_items, weights_by_level
from calib.inputs.names import Columns, Data
from calib.inputs.readings import opened_sources, resolve_readings, scores_of_source
from calib.inputs.resolve import items_in
from calib.table import TableArgumentError
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import mean_of_annotators
from calib.table.results import Results
from calib.table.validate import ValidatedTable, scores_in


@verb
def convergence(
    sampled: Data,
    exact: Data = None,
    *,
    labels: Data = None,
    items: Data = None,
    groups: str | None = "group",
    coefficient: str | None = None,
    sizes: Sequence[int] | None = None,
    n_subsets: int = 200,
    unlike: bool = False,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
    **columns: Unpack[Columns],
) -> Results[stats.Convergence]:
    """Means of N sampled draws against the logprob expectation, and against labels.

    Parameters
    ----------
    sampled : table, path or frame
        Ratings with several draws per item (method "sample"). Of your own file each row of an item is a draw,
        and so is each column of scores; it may hold the labels, too.
    exact : table, path or frame, optional
        Scores (or ratings) of the same rater and criterion from token probabilities. Default: means of all draws.
    labels : table, path or frame, optional
        People's labels of the same items, where `sampled` does not hold them; several people are pooled.
    items : table, path or frame, optional
        Table of items: what the items share (`groups`).
    groups : str or None, default "group"
        The column, of `items`, `exact`, `labels` or your own file, of what items share: intervals are over
        these. None: over items.
    coefficient, sizes, n_subsets, confidence_level, rng
        As for `calib.stats.convergence`.
    unlike : bool, default False
        Compare the samples with a reference that estimates something else: of another prompt or
        temperature, or after a single chain of reasoning. The results then name it.
    {columns}

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (left out: no exact score).

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> prompt = calib.geval_prompt("coherence")
    >>> sampled, exact = [calib.rate(items.head(60), prompt, calib.Judge("offline", method=m), progress=False)
    ...                   for m in ("sample", "logprob")]
    >>> result = calib.convergence(sampled, exact, rng=1).one()
    >>> result.sizes[-1], result.rmse[0] > 3 * result.rmse[-1]
    (20, True)
    """
    more = {name: thing for name, thing in (("exact", exact), ("labels", labels)) if thing is not None}
    sources = opened_sources(columns, sampled=sampled, **more)
    readings = resolve_readings(sources["sampled"][0], "sampled", sources["sampled"][1])
    draws = by_method(readings.ratings, ["sample"], "ratings of method 'sample'")
    target = scores_of_source(sources["exact"][0], "exact", sources["exact"][1], "judge") if "exact" in more else None
    people = None
    if "labels" in more:
        people = mean_of_annotators(scores_of_source(sources["labels"][0], "labels", sources["labels"][1], "label"))
    elif readings.labels is not None:
        people = mean_of_annotators(scores_in(readings.labels, "labels"))
    tables = [side.frame for side in (target, people) if side is not None]
    tables = [*([] if items is None else [items_in(items)]), *tables]
    tables += [] if readings.items is None else [readings.items]
    options: dict[str, Any] = {"coefficient": coefficient, "sizes": sizes, "n_subsets": n_subsets}
    options |= {"confidence_level": confidence_level, "rng": np.random.default_rng(rng)}

    def slices() -> Iterator[Slice[dict[str, Any]]]:
        for label, rows in draws.slices():
            values = draws_by_item(rows)
            reference = None if target is None else _reference_scores(target, label, unlike=unlike)
            kept = values if reference is None else values[values.index.isin(reference.index)]
            sides = {"exact": reference, "labels": None if people is None else people.score_by_item(label, "criterion")}
            arrays = {name: side.reindex(kept.index) for name, side in sides.items() if side is not None}
            owners = shared_by_items(tables, readings.named(groups), kept.index, ("items", "exact", "labels"))
            arrays |= {"samples": kept.to_numpy(), "groups": owners}
            counts: dict[str, Any] = {"n_unmatched": len(values) - len(kept)}
            if unlike and target is not None:
                of = target.under(label, "criterion", "rater")
                columns_of = (of[name] for name in ("method", "prompt", "temperature"))
                kinds = {(str(m), str(p), t) for m, p, t in zip(*columns_of, strict=True)}
                named = "; ".join(f"{m} of {p} at temperature {t:g}" for m, p, t in sorted(kinds))
                counts = {"reference": named} | counts
            yield Slice(label, arrays, counts)

    return each_result(slices(), lambda arrays: stats.convergence(**arrays, **options), names={"samples": "sampled"})


def _reference_scores(exact: ValidatedTable, label: dict[str, Any], *, unlike: bool) -> pd.Series:
    """What the means of the samples are compared with, if they have the same target."""
    if unlike:
        return exact.score_by_item(label, "criterion", "rater")
    names = ("criterion", "rater", "prompt")
    scores, rows, drawn_at = exact.score_by_item(label, *names), exact.under(label, *names), label["temperature"]
    others = rows.loc[rows["method"] != "logprob", "temperature"].dropna()
    samples, why = f"the samples were drawn at temperature {drawn_at:g}", ""
    if not math.isnan(drawn_at) and drawn_at != 1 and (rows["method"] != "sample").any():
        why = f"{samples}, token probabilities are those of temperature 1"
    elif not math.isnan(drawn_at) and (others != drawn_at).any():
        why = f"{samples}, the reference at {others[others != drawn_at].iloc[0]:g}"
    elif ((rows["method"] == "chain") & (rows["n"] < 2)).any():
        why = "after one chain of reasoning it is the expectation given that chain; read several"
    if why:
        rule = "must estimate what the samples do ({0} compares anyway)"
        raise TableArgumentError("exact", rule, why, mentions=("unlike",))
    return scores


@verb
def variance_components(
    ratings: Data, *, confidence_level: float = 0.95, **columns: Unpack[Columns]
) -> Results[stats.VarianceComponents]:
    """How much a judge's draws vary within an item, against its expectations between items.

    Parameters
    ----------
    ratings : table, path or frame
        Sampled draws; token probabilities, which say exactly how draws would vary; or token
        probabilities after several drawn chains of reasoning per item (method "chain"). Of your own file each
        row of an item is a draw, and so is each column of scores.
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> result = calib.variance_components(ratings).one()
    >>> result.estimator, calib.stats.draws_needed(result.r, 0.95) <= 5
    ('logprob', True)
    """
    words = "draws (method 'sample') or probabilities ('logprob', 'chain')"
    table = by_method(resolve_readings(ratings, "ratings", columns).ratings, ["sample", "logprob", "chain"], words)

    def components(rows: pd.DataFrame) -> stats.VarianceComponents:
        method = rows["method"].iloc[0]
        if method == "sample":
            return stats.variance_components(draws_by_item(rows), confidence_level=confidence_level)
        # expectation and variance of each item's score, or of the label after each of its chains
        weights, levels = weights_by_level(rows, ["item", "run", "draw"] if method == "chain" else ["item"])
        moments: list[Any] = [moment(weights, levels) for moment in (stats.expectation, stats.variance)]
        if method == "chain":
            items = weights.index.get_level_values("item")
            moments = [draws_by_item(pd.DataFrame({"item": items, "score": values})) for values in moments]
        return stats.variance_components(*moments, confidence_level=confidence_level)

    names = dict.fromkeys(("samples", "variances"), "ratings")
    return each_result((Slice(label, rows) for label, rows in table.slices()), components, names=names)
