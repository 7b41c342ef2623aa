"""Draws of a judge on tables: how much they vary, and how many it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.distributions.frames import SAMPLED, Found, draws_by_item, each_slice, weights_by_level
from calib.core.check import as_typed
from calib.table import TableArgumentError
from calib.table.results import Results
from calib.table.validate import ValidatedTable, renamed_errors, scores_in

_READ = (["sample", "logprob", "chain"], "draws (method 'sample') or probabilities ('logprob', 'chain')")


def convergence(
    sampled: pd.DataFrame,
    exact: pd.DataFrame | None = None,
    *,
    labels: pd.DataFrame | None = None,
    groups: str | None = "group",
    coefficient: str | None = None,
    sizes: Sequence[int] | None = None,
    n_subsets: int = 200,
    unlike: bool = False,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> Results[stats.Convergence]:
    """Means of N sampled draws against the logprob expectation, and against labels.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame, optional
        Scores (or ratings) of the same rater and criterion from token probabilities. Default: means of all draws.
    labels : DataFrame, optional
        People's labels of the same items, one rater (pool several first).
    groups : str or None, default "group"
        The column, of `exact` or `labels`, of what items share: intervals are over these. None: over items.
    coefficient, sizes, n_subsets, confidence_level, rng
        As for `calib.stats.convergence`.
    unlike : bool, default False
        Compare the samples with a reference that estimates something else: of another prompt or
        temperature, or after a single chain of reasoning. The results then name it.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (left out: no exact score).

    Notes
    -----
    Samples at temperature 1 have the expectation of the token probabilities only where the label comes first. After
    reasoning these are given one chain; their mean over several has the same target as samples of whole replies.

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
    as_typed(convergence, locals())
    target = None if exact is None else scores_in(exact, "exact")
    pooled = None if labels is None else scores_in(labels, "labels")
    options: dict[str, Any] = {"coefficient": coefficient, "sizes": sizes, "n_subsets": n_subsets}
    options |= {"confidence_level": confidence_level, "rng": np.random.default_rng(rng)}

    def curve(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        draws = draws_by_item(rows)
        aim = None if target is None else _reference_scores(target, label, unlike=unlike)
        kept = draws if aim is None else draws[draws.index.isin(aim.index)]
        y = None if pooled is None else pooled.score_by_item(label, "criterion")
        exact_kept, labels_kept = (None if side is None else side.reindex(kept.index) for side in (aim, y))
        owners = _groups_of_items((target, pooled), groups, kept.index)
        with renamed_errors(label, samples="sampled"):
            result = stats.convergence(kept.to_numpy(), exact=exact_kept, labels=labels_kept, groups=owners, **options)
        counts: dict[str, Any] = {"n_unmatched": len(draws) - len(kept)}
        if unlike and target is not None:
            of = target.under(label, "criterion", "rater")
            kinds = {(str(m), str(p), t) for m, p, t in zip(of["method"], of["prompt"], of["temperature"], strict=True)}
            counts = {"reference": "; ".join(f"{m} of {p} at temperature {t:g}" for m, p, t in sorted(kinds))} | counts
        return counts, result

    return each_slice(sampled, SAMPLED, curve, "sampled")


def _groups_of_items(tables: Sequence[ValidatedTable | None], groups: str | None, items: pd.Index) -> Any:
    """What the items share, from the first table that knows it of all of them; None if nothing."""
    if groups in (None, "item"):
        return None
    for table in (side.frame for side in tables if side is not None):
        if groups in table:
            of_items = table.astype({"item": object}).drop_duplicates("item").set_index("item")[groups]
            if (owners := of_items.reindex(items)).notna().all():
                return owners.to_numpy() if owners.duplicated().any() else None
    if groups != "group":
        rule = "must be a column of {0} or {1} without gaps"
        raise TableArgumentError("groups", rule, f"got {groups!r}", mentions=("exact", "labels"))
    return None


def _reference_scores(exact: ValidatedTable, label: dict[str, Any], *, unlike: bool) -> pd.Series:
    """What the means of the samples are compared with, if they have the same target."""
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


def variance_components(ratings: pd.DataFrame, *, confidence_level: float = 0.95) -> Results[stats.VarianceComponents]:
    """How much a judge's draws vary within an item, against its expectations between items.

    Parameters
    ----------
    ratings : DataFrame
        Sampled draws; token probabilities, which say exactly how draws would vary; or token
        probabilities after several drawn chains of reasoning per item (method "chain").
    confidence_level : float

    Returns
    -------
    Results
        Of `calib.stats.variance_components`: with `r` `calib.stats.draws_needed` says how many draws are enough.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.variance_components(ratings).one()
    >>> found.estimator, calib.stats.draws_needed(found.r, 0.95) <= 5
    ('logprob', True)
    """
    as_typed(variance_components, locals())

    def components(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        method = label["method"]
        with renamed_errors(label, samples="ratings", variances="ratings"):
            if method == "sample":
                return {}, stats.variance_components(draws_by_item(rows), confidence_level=confidence_level)
            # expectation and variance of each item's score, or of the label after each of its chains
            weights, levels = weights_by_level(rows, ["item", "run", "draw"] if method == "chain" else ["item"])
            moments: list[Any] = [read(weights, levels) for read in (stats.expectation, stats.variance)]
            if method == "chain":
                items = weights.index.get_level_values("item")
                moments = [draws_by_item(pd.DataFrame({"item": items, "score": values})) for values in moments]
            return {}, stats.variance_components(*moments, confidence_level=confidence_level)

    return each_slice(ratings, _READ, components)
