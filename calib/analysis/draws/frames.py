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
from calib.table.validate import Checked, in_the_names_of, scores_in

_READ = (["sample", "logprob", "chain"], "draws (method 'sample') or probabilities ('logprob', 'chain')")


def convergence(
    sampled: pd.DataFrame,
    exact: pd.DataFrame | None = None,
    *,
    human: pd.DataFrame | None = None,
    groups: str | None = "group",
    coefficient: str | None = None,
    sizes: Sequence[int] | None = None,
    n_subsets: int = 200,
    unlike: bool = False,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
    method: str | None = None,
) -> Results[stats.Convergence]:
    """Means of N sampled draws against the logprob expectation, and against people.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame, optional
        Scores (or ratings) of the same rater and criterion from token probabilities. Default: means of all draws.
    human : DataFrame, optional
        Human scores of the same items, one rater (pool several first).
    groups : str or None, default "group"
        The column, of `exact` or `human`, of what items share: intervals are over these. None: over items.
    coefficient, sizes, n_subsets, confidence_level, rng, method
        As for `calib.stats.convergence`.
    unlike : bool, default False
        Compare the samples with a reference that estimates something else: of another prompt or
        temperature, or after a single chain of reasoning. The results then name it.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (left out: no exact score).

    Raises
    ------
    TableError
        If there are no draws, `exact` or `human` do not cover them, or `exact` does not estimate the same.

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
    people = None if human is None else scores_in(human, "human")
    options: dict[str, Any] = {"coefficient": coefficient, "method": method, "sizes": sizes, "n_subsets": n_subsets}
    options |= {"confidence_level": confidence_level, "rng": np.random.default_rng(rng)}

    def curve(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        draws = draws_by_item(rows)
        aim = None if target is None else _reference_scores(target, label, unlike=unlike)
        kept = draws if aim is None else draws[draws.index.isin(aim.index)]
        theirs = None if people is None else people.score_by_item(label, "criterion")
        exact_kept, human_kept = (None if side is None else side.reindex(kept.index) for side in (aim, theirs))
        owners = _groups_of_items((target, people), groups, kept.index)
        with in_the_names_of(label, samples="sampled"):
            result = stats.convergence(kept.to_numpy(), exact=exact_kept, human=human_kept, groups=owners, **options)
        against = {"reference": _reference_in_words(target, label)} if unlike and target is not None else {}
        return against | {"n_unmatched": len(draws) - len(kept)}, result

    return each_slice(sampled, SAMPLED, curve, "sampled")


def _groups_of_items(tables: Sequence[Checked | None], groups: str | None, items: pd.Index) -> Any:
    """What the items share, from the first table that knows it of all of them; None if nothing."""
    if groups in (None, "item"):
        return None
    for table in (side.frame for side in tables if side is not None):
        if groups in table:
            known = table.astype({"item": object}).drop_duplicates("item").set_index("item")[groups]
            if (owners := known.reindex(items)).notna().all():
                return owners.to_numpy() if owners.duplicated().any() else None
    if groups != "group":
        rule = "must be a column of {0} or {1} without gaps"
        raise TableArgumentError("groups", rule, f"got {groups!r}", mentions=("exact", "human"))
    return None


def _reference_scores(exact: Checked, label: dict[str, Any], *, unlike: bool) -> pd.Series:
    """What the means of the samples are compared with, if they have the same target."""
    if unlike:
        return exact.score_by_item(label, "criterion", "rater")
    names = ("criterion", "rater", "prompt")
    found = exact.score_by_item(label, *names)
    if why := _why_unlike(exact.under(label, *names), label["temperature"]):
        rule = "must estimate what the samples do ({0} compares anyway)"
        raise TableArgumentError("exact", rule, why, mentions=("unlike",))
    return found


def _why_unlike(rows: pd.DataFrame, drawn_at: float) -> str:
    """Why these scores of the same prompt have another target than samples at a temperature; empty if not."""
    known = not math.isnan(drawn_at)
    samples = f"the samples were drawn at temperature {drawn_at:g}"
    if known and drawn_at != 1 and (rows["method"] != "sample").any():
        return f"{samples}, token probabilities are those of temperature 1"
    others = rows.loc[rows["method"] != "logprob", "temperature"].dropna()
    if known and (others != drawn_at).any():
        return f"{samples}, the reference at {others[others != drawn_at].iloc[0]:g}"
    if ((rows["method"] == "chain") & (rows["n"] < 2)).any():
        return "after one chain of reasoning it is the expectation given that chain; read several"
    return ""


def _reference_in_words(exact: Checked, label: dict[str, Any]) -> str:
    rows = exact.under(label, "criterion", "rater")
    kinds = {(str(m), str(p), t) for m, p, t in zip(rows["method"], rows["prompt"], rows["temperature"], strict=True)}
    return "; ".join(f"{m} of {p} at temperature {t:g}" for m, p, t in sorted(kinds))


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
        Of `calib.stats.variance_components`: with `r` `calib.stats.draws_needed` says how many draws are
        enough.

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
        with in_the_names_of(label, samples="ratings", variances="ratings"):
            read = _draws_or_moments(rows, label["method"])
            return {}, stats.variance_components(*read, confidence_level=confidence_level)

    return each_slice(ratings, _READ, components)


def _draws_or_moments(rows: pd.DataFrame, method: str) -> list[Any]:
    """Draws by item; or expectation and variance of each item's score, or of the label after each of its chains."""
    if method == "sample":
        return [draws_by_item(rows)]
    weights, levels = weights_by_level(rows, ["item", "run", "draw"] if method == "chain" else ["item"])
    moments = [read(weights, levels) for read in (stats.expectation, stats.variance)]
    if method == "logprob":
        return moments
    items = weights.index.get_level_values("item")
    return [draws_by_item(pd.DataFrame({"item": items, "score": values})) for values in moments]
