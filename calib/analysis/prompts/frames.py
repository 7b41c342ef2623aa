"""A judge under several prompts, on tables: the G-study of its replies and its mean with the prompt inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.core.numeric import row_means
from calib.inputs.names import Columns, Data
from calib.inputs.readings import opened_sources, resolve_readings, scores_of_source
from calib.inputs.resolve import is_calibs, items_in
from calib.scale.summarize import summarize
from calib.table import TableArgumentError, TableError
from calib.table.checks import first_places
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import groups_of, mean_of_annotators, parts_of
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, in_all_rows, scores_in

_REPLY = ("item", "prompt", "rater", "run", "draw")
_KEY = tuple(name for name in SliceKey._fields if name != "prompt")


@verb
def sensitivity(
    ratings: Data,
    items: Data = None,
    *,
    judges: bool = False,
    groups: str | None = "group",
    prompt: str | None = None,
    estimator: str = "auto",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.GStudy]:
    """How much of the variance of a judge's scores is the items', the prompt's, and the draw's (G-study).

    Sampled replies are draws. Token probabilities are exact expectations, and the variance of a draw
    comes from them; after reasoning each chain's expectation is a draw. `d_study` of a result says what other designs
    would give.

    Parameters
    ----------
    ratings : table, path or frame
        One judge's scores of the same items under several prompts. Of your own file each row of an item is a
        draw, and several columns of scores are one prompt each (with `prompt` draws).
    items : table, path or frame, optional
        Gives the groups.
    judges : bool, default False
        Take the raters as a further facet, crossed with items and prompts. Then only sampled replies.
    groups : str or None, default "group"
        A column of the items, or of your own file: the intervals leave out what shares it together.
    prompt : str, optional
        In your own file the column that says which wording of the prompt was used.
    estimator, confidence_level
        As for `calib.stats.g_study`.
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> prompts = calib.geval_prompt("fluency").variants(4)
    >>> judge = calib.Judge("offline", method="sample", draws=3)
    >>> ratings = calib.rate(items.head(60), prompts, judge, progress=False)
    >>> study = calib.sensitivity(ratings, items).one()
    >>> [part.name for part in study.components], study.n_prompts
    (['item', 'prompt', 'item_prompt', 'draw'], 4)
    """
    readings = resolve_readings(ratings, "ratings", columns, prompt=prompt, columns_are="prompts")
    table_of_items = readings.items if items is None else items_in(items)
    name = readings.named(groups) if items is None else groups
    if table_of_items is None and groups not in (None, "group"):
        came = f"{groups!r} came without {{0}}"
        raise TableArgumentError("groups", "is a column of the items", came, mentions=("items",))
    if table_of_items is not None and name not in (None, "group", *table_of_items):
        raise TableArgumentError("groups", "must be a column of the items", f"got {groups!r}")
    owners = None
    if table_of_items is not None and name in table_of_items:
        owners = table_of_items.set_index(table_of_items["item"].astype(object))[name]
    table = readings.ratings.frame[readings.ratings.frame["method"] != "human"]
    if judges and not table["method"].eq("sample").all():
        raise TableArgumentError("judges", "needs sampled replies", "some ratings are token probabilities")

    def study(rows: pd.DataFrame) -> stats.GStudy:
        exact = rows["method"].iloc[0] == "logprob"
        (ids, prompts, *_), x, variance = cells_of_replies(rows, exact=exact, judges=judges)
        if len(prompts) < 2:
            column = "in your own file name their column by prompt=, in a shell --prompt"
            rule = "must be under two prompts at least (rewordings: prompt.variants(8), in a shell --variants of "
            rule += f"`calib rate`; {column})"
            raise TableArgumentError("ratings", rule, f"are under one, {prompts[0]!r}")
        group = None if owners is None else owners.reindex(ids)
        if group is not None and (n_missing := group.isna().sum()):
            raise TableError(f"the items must have a {groups!r} for all that was rated; {n_missing} have none.")
        if group is not None and not group.duplicated().any():
            group = None
        options: dict[str, Any] = {"estimator": estimator, "confidence_level": confidence_level}
        result = stats.g_study(x, draw_variance=variance, groups=group, **options)
        if result.n_dropped:
            return result
        # NaN also fills up cells of fewer draws: unread are those that were asked for
        reply, begins = first_places(rows, _REPLY)
        good = (rows["status"] == "ok") & rows["score"].notna()
        return replace(result, n_unread=len(begins) - int(np.count_nonzero(np.bincount(reply, good))))

    parts = over_prompts(table, "ratings", [n for n in _KEY if not (judges and n == "rater")])
    return each_result((Slice(label, rows) for label, rows in parts), study, names={"x": "ratings"})


@verb
def prompt_mean(
    scores: Data,
    *,
    by: str | None = None,
    groups: str | None = "group",
    prompt: str | None = None,
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PromptMean]:
    """A judge's mean score with the choice of the prompt inside the interval, per system if asked.

    Parameters
    ----------
    scores : table, path or frame
        A judge's scores (or ratings) of the same items under several prompts; with one prompt the result
        says that it is conditional on it. Your own file is read as by `sensitivity`.
    {by}
    {groups}
    prompt : str, optional
        In your own file the column that says which wording of the prompt was used.
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> prompts = calib.geval_prompt("fluency").variants(4)
    >>> ratings = calib.rate(items, prompts, calib.Judge("offline"), progress=False)
    >>> result = calib.prompt_mean(calib.summarize(ratings, items)).one()
    >>> result.n_prompts, result.n_groups, result.conditional
    (4, 24, False)
    """
    source, column_words = opened_sources(columns, scores=scores)["scores"]
    if is_calibs(source) and prompt is None:
        frame = scores_of_source(source, "scores", column_words, "judge").frame
    else:
        readings = resolve_readings(source, "scores", column_words, prompt=prompt, columns_are="prompts")
        by, groups = readings.named(by), readings.named(groups)
        frame = scores_in(summarize(readings.ratings.frame, readings.items), "scores").frame

    def slices() -> Iterator[Slice[dict[str, Any]]]:
        for label, rows in over_prompts(frame[frame["method"] != "human"], "scores"):
            for value, part in parts_of(rows, by):
                plain = part.assign(item=part["item"].astype(object), prompt=part["prompt"].astype(object))
                # one row per item, one column per prompt
                wide = plain.set_index(["item", "prompt"])["score"].unstack("prompt")  # noqa: PD010 - one score each
                wide = wide.reindex(index=pd.unique(plain["item"]), columns=pd.unique(plain["prompt"]))
                group = None
                if groups is not None:
                    group = groups_of(plain.drop_duplicates("item").set_index("item").reindex(wide.index), groups)
                if group is not None and len(set(group)) == len(group):
                    group = None
                yield Slice(label | value, {"x": wide, "groups": group, "names": wide.columns})

    options: dict[str, Any] = {"confidence_level": confidence_level}
    return each_result(slices(), lambda arrays: stats.prompt_mean(**arrays, **options), names={"x": "scores"})


def over_prompts(frame: pd.DataFrame, argument: str, key: Sequence[str] = _KEY) -> Iterator[tuple[dict[str, Any], Any]]:
    """Scores or ratings of one criterion and judge under all its prompts, on one scale."""
    if not len(frame):
        raise TableArgumentError(argument, "must hold scores of a judge", "has none")
    same = in_all_rows(frame, key)
    groups = frame.groupby(list(key), observed=True, dropna=False, sort=False) if same is None else [(same, frame)]
    for values, rows in groups:
        label = dict(zip(key, values, strict=True))
        scales = {str(text) for text in rows["scale"].unique()} - {"", "nan"} if "scale" in rows else set()
        if len(scales) > 1:
            raise TableError(f"{words(label)}: all prompts must have one scale, but have {', '.join(sorted(scales))}.")
        yield label, rows


def cells_of_replies(rows: pd.DataFrame, *, exact: bool, judges: bool = False) -> tuple[list[Any], Any, Any]:
    """Items, names of prompts (and judges); the scores by these and draws; the variance of one draw where it is known.

    Exact expectations that were asked for more than once estimate the same, and have no draws.
    """
    facets = ["item", "prompt", "rater"] if judges else ["item", "prompt"]
    good = (rows["status"] == "ok") & rows["score"].notna()
    weight, score = rows["weight"].where(good, 0.0), rows["score"].where(good, 0.0)
    reply, begins = first_places(rows, _REPLY)
    sums = pd.DataFrame({"w": weight, "a": weight * score, "b": weight * score**2})
    if len(begins) < len(rows):
        sums = sums.groupby(reply, sort=False).sum()
    w, a, b = (sums[name].to_numpy() + 0.0 for name in sums)  # in the order of the replies; no zero is negative
    with np.errstate(invalid="ignore"):
        mass = np.where(w > 0, w, np.nan)
        mean, spread = a / mass, b / mass - (a / mass) ** 2
    whose = rows[facets].iloc[begins]
    codes, names = zip(*(pd.factorize(whose[name].astype(object)) for name in facets), strict=True)
    cell, _ = first_places(whose, facets)
    draw = pd.Series(cell).groupby(cell).cumcount().to_numpy()
    shape = *(len(n) for n in names), int(draw.max()) + 1
    x, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    x[(*codes, draw)], variance[(*codes, draw)] = mean, np.maximum(spread, 0.0)
    facets_named = [pd.Index(names[0]), *([str(name) for name in each] for each in names[1:])]
    return (facets_named, row_means(x), row_means(variance)) if exact else (facets_named, x, None)


def with_labels(
    judged: Iterator[tuple[dict[str, Any], pd.DataFrame]], labels: ValidatedTable
) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame, pd.Series]]:
    """A judge's ratings beside people's rows and labels on the same criterion; what one side lacks is left out."""
    pooled = mean_of_annotators(labels)
    sides = [(label, rows, pooled.under(label, "criterion")) for label, rows in judged]
    if not any(len(labelled) for _, _, labelled in sides):
        criteria = ", ".join(dict.fromkeys(repr(label["criterion"]) for label, _, _ in sides))
        raise TableArgumentError(labels.argument, f"must have scores of {criteria}", f"has {pooled.holds}")
    for label, rows, labelled in sides:
        if len(labelled):
            yield label, rows, labelled, pooled.score_by_item(label, "criterion")
