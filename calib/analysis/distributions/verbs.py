"""Score distributions on tables: which number to read, and what temperature and sampling do to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core import check
from calib.core.check import ArgumentError
from calib.table import TableArgumentError
from calib.tables.door import in_the_names_of, ratings_in, scores_in
from calib.tables.results import Results

Found = tuple[dict[str, Any], stats.Result]  # a result, and what its label says beside what it is of
Answer = Callable[[dict[str, Any], pd.DataFrame], Found]
Wanted = tuple[Sequence[str], str]  # methods, and how a message calls their ratings
SAMPLED = (["sample"], "ratings of method 'sample'")
_TOLD = (["logprob"], "token probabilities (method 'logprob')")
_EITHER = (["sample", "logprob"], "draws (method 'sample') or probabilities ('logprob')")


def point_scores(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    methods: Sequence[str] = ("pearson", "spearman", "kendall", "gamma", "pairs"),
    rng: np.random.Generator | int | None = None,
) -> Results[stats.PointScores]:
    """Mean, median, mode or a single draw: which number of a score distribution agrees with people.

    Parameters
    ----------
    ratings : DataFrame
        Sampled draws, or token probabilities.
    human : DataFrame
        Human scores of the same items, one rater (pool several first).
    methods, rng
        As for `calib.stats.point_scores`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `entropy`: the mean over items,
        of draws with the correction of Miller and Madow.

    Raises
    ------
    TableError
        If there are neither draws nor probabilities, or `human` does not cover them.

    Warns
    -----
    CalibWarning
        If one rater's entropies are at several temperatures: these say how draws were sampled.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> human = calib.summarize(people, items, pool="rater")
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> result = calib.point_scores(ratings, human, methods=["spearman"], rng=1).one()
    >>> result.value("mean", "spearman") > result.value("draw", "spearman")
    True
    """
    people, source = scores_in(human, "human"), np.random.default_rng(rng)

    def compared(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        weights, levels = weights_by_level(rows)
        aim = people.score_by_item(label, "criterion").reindex(weights.index)
        drawn = label["method"] == "sample"
        scores, values = (draws_by_item(rows), None) if drawn else (weights, levels)
        with in_the_names_of(label, scores="ratings"), warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.CalibWarning)  # said once for all below
            result = stats.point_scores(scores, aim, levels=values, methods=methods, rng=source)
        entropy = stats.sampled_entropy(weights, correction="miller-madow" if drawn else "none")
        return {"entropy": float(np.nanmean(entropy))}, result

    results = each_slice(ratings, _EITHER, compared)
    _warn_of_unlike_entropies(results.labels)
    if warned := [texts for result in results if (texts := getattr(result, "warnings", ()))]:
        check.warn(f"{warned[0][0]} ({len(warned)} of {len(results)} results, see their `warnings`)")
    return results


def _warn_of_unlike_entropies(labels: Sequence[dict[str, Any]]) -> None:
    names = ["criterion", "rater", "method"]
    for key, found in pd.DataFrame(labels).groupby(names, sort=False, dropna=False)["temperature"]:
        several = [f"{value:g}" for value in sorted(found.dropna().unique())]
        if len(several) > 1:
            who = ", ".join(filter(None, map(str, key)))
            check.warn(
                f"unlike_temperatures: entropies at temperatures {' and '.join(several)} ({who}) cannot be compared: "
                "near 0 nearly every draw is the mode, however unsure the judge is."
            )


def distribution_fit(
    sampled: pd.DataFrame, exact: pd.DataFrame, *, n_resamples: int = 999, rng: np.random.Generator | int | None = None
) -> Results[stats.DistributionFit]:
    """Whether sampled replies are distributed as the token probabilities say.

    Parameters
    ----------
    sampled : DataFrame
        Ratings with several draws per item (method "sample").
    exact : DataFrame
        Ratings of the same rater, criterion and prompt from token probabilities.
    n_resamples, rng
        As for `calib.stats.distribution_fit`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched`.

    Raises
    ------
    TableError
        If there are no draws, or no token probabilities of the same prompt.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> sampled, exact = [calib.rate(items, calib.geval_prompt("coherence"), calib.Judge("offline", method=m),
    ...                              progress=False) for m in ("sample", "logprob")]
    >>> calib.distribution_fit(sampled, exact, rng=1).one().p_value > 0.05
    True
    """
    told = ratings_in(exact, "exact")
    told = told.only(told.frame["method"] == "logprob")
    options: dict[str, Any] = {"n_resamples": n_resamples, "rng": np.random.default_rng(rng)}

    def tested(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        same = told.under(label, "criterion", "rater", "prompt")
        if not len(same):
            rule = f"must have token probabilities of prompt {label['prompt']!r}"
            raise TableArgumentError("exact", rule, f"has {told.holds}")
        (weights, levels), draws = weights_by_level(same), draws_by_item(rows)
        kept = draws[draws.index.isin(weights.index)]
        with in_the_names_of(label, samples="sampled", p="exact"):
            result = stats.distribution_fit(kept, weights.reindex(kept.index), levels, **options)
        return {"n_unmatched": len(draws) - len(kept)}, result

    return each_slice(sampled, SAMPLED, tested, "sampled")


def fit_temperature(
    ratings: pd.DataFrame,
    human: pd.DataFrame,
    *,
    groups: str | None = "group",
    floor: float = 0.0,
    confidence_level: float = 0.95,
) -> Results[stats.Temperature]:
    """The temperature at which a judge's token probabilities fit people's labels best.

    Parameters
    ----------
    ratings : DataFrame
        Token probabilities (method "logprob").
    human : DataFrame
        Labels, each a level of the judge's scale; of several people each counts as one.
    groups : str or None, default "group"
        The column of `human` of what items share; several labels of one item are a group anyway.
    floor, confidence_level
        As for `calib.stats.fit_temperature`.

    Returns
    -------
    Results
        Labelled by criterion, rater, prompt, method, temperature and `n_unmatched` (labels without probabilities).

    Raises
    ------
    TableError
        If there are no token probabilities, or no labels of their criterion.
    ValueError
        If a label is not a level: labels that were averaged are not labels any more.

    Examples
    --------
    >>> import calib
    >>> items, people = calib.load_planted()
    >>> one = calib.summarize(people, items).query("rater == 'simulated-1'")
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> found = calib.fit_temperature(ratings, one).one()
    >>> before, after, base_rates = found.forecasts
    >>> after.nll <= before.nll, found.n_groups
    (True, 24)
    """
    people = scores_in(human, "human")

    def fitted(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        weights, levels = weights_by_level(rows)
        theirs = people.under(label, "criterion")
        theirs = theirs[theirs["score"].notna()]
        if not len(theirs):
            raise TableArgumentError("human", f"must have labels of {label['criterion']!r}", f"has {people.holds}")
        known = theirs[theirs["item"].isin(weights.index)]
        names = known["item"].astype(object)
        if groups not in (None, "group") and groups not in known:
            raise TableArgumentError("groups", "must be a column of {0}", f"got {groups!r}", mentions=("human",))
        owner = known[groups] if groups is not None and groups in known and known[groups].notna().all() else names
        options = {"groups": owner.tolist(), "floor": floor, "confidence_level": confidence_level}
        with in_the_names_of(label, p="ratings", y="human"):
            odd = known.loc[~known["score"].isin(levels), "score"]
            if len(odd):
                given = f"got {odd.iloc[0]:g}: averages are none, give the raters one by one"
                raise ArgumentError("human", "must hold labels of the scale", given)
            result = stats.fit_temperature(weights.reindex(names), known["score"], levels, **options)
        return {"n_unmatched": len(theirs) - len(known)}, result

    return each_slice(ratings, _TOLD, fitted)


def temperature_curve(
    ratings: pd.DataFrame, *, taus: Sequence[float] = (0.5, 0.7, 1.0, 1.3, 2.0)
) -> Results[stats.Temperature]:
    """Mean expectation and mean entropy of token probabilities at other temperatures.

    Parameters
    ----------
    ratings : DataFrame
        Token probabilities (method "logprob").
    taus : sequence of float
        Temperatures; 1 is that of the probabilities.

    Returns
    -------
    Results
        Of `calib.stats.temperature_curve`: their `forecasts`.

    Raises
    ------
    TableError
        If there are no token probabilities.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> ratings = calib.rate(items, calib.geval_prompt("fluency"), calib.Judge("offline"), progress=False)
    >>> curve = calib.temperature_curve(ratings, taus=[0.5, 1, 2]).one()
    >>> cold, plain, hot = curve.forecasts
    >>> cold.entropy < plain.entropy < hot.entropy
    True
    """

    def curve(label: dict[str, Any], rows: pd.DataFrame) -> Found:
        with in_the_names_of(label, p="ratings", tau="taus"):
            return {}, stats.temperature_curve(*weights_by_level(rows), taus=taus)

    return each_slice(ratings, _TOLD, curve)


# --- what is read of the tables ---------------------------------------------------------------------------------


def each_slice(ratings: pd.DataFrame, wanted: Wanted, answer: Answer, name: str = "ratings") -> Results[Any]:
    """A result for each criterion, rater, prompt, method and temperature, of ratings of the methods wanted."""
    methods, words = wanted
    table = ratings_in(ratings, name)
    table = table.only(table.frame["method"].isin(methods))
    if not len(table.frame):
        raise TableArgumentError(name, f"must hold {words}", "has none")
    found = [(label, *answer(label, rows)) for label, rows in table.slices()]
    return Results.of((label | more, result) for label, more, result in found)


def draws_by_item(rows: pd.DataFrame) -> pd.DataFrame:
    """Sampled scores, one row per item and one column per draw; NaN where a reply has none."""
    items = rows["item"].astype(object)
    # numbered within each item: batches of items may come from runs of their own
    number = items.groupby(items, sort=False).cumcount().rename("number")
    draws = rows["score"].set_axis([items, number]).unstack("number")  # noqa: PD010 - nothing is to be averaged here
    return draws.reindex(pd.unique(items))


def weights_by_level(rows: pd.DataFrame, key: Sequence[str] = ("item",)) -> tuple[pd.DataFrame, Any]:
    """How much weight each item (or each of its chains) has on each level of the scale."""
    named = rows.astype(dict.fromkeys(key, object))
    good = named[(named["status"] == "ok") & named["score"].notna()]
    wide = good.pivot_table(index=list(key), columns="score", values="weight", aggfunc="sum", fill_value=0.0)
    there = named[list(key)].drop_duplicates()
    wide = wide.reindex(pd.MultiIndex.from_frame(there) if len(key) > 1 else there[key[0]], fill_value=0.0)
    return wide, wide.columns.to_numpy(dtype=float)
