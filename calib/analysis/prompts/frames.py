"""A judge's replies as items x prompts x draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.core.check import as_typed
from calib.core.numeric import row_means
from calib.table import TableArgumentError, TableError
from calib.table.checks import first_places
from calib.table.labelled import ends_of, groups_of, mean_of_annotators, parts_of
from calib.table.results import Results, words
from calib.table.validate import SliceKey, ValidatedTable, in_all_rows, ratings_in, renamed_errors, scores_in, validated

_REPLY = ("item", "prompt", "rater", "run", "draw")
_KEY = tuple(name for name in SliceKey._fields if name != "prompt")


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


def sensitivity(
    ratings: Any,
    items: pd.DataFrame | None = None,
    *,
    judges: bool = False,
    groups: str | None = "group",
    estimator: str = "auto",
    confidence_level: float = 0.95,
) -> Results[stats.GStudy]:
    """How much of the variance of a judge's scores is the items', the prompt's, and the draw's (G-study).

    Sampled replies are draws. Token probabilities are exact expectations, and the variance of a draw
    comes from them; after reasoning each chain's expectation is a draw.

    Parameters
    ----------
    ratings : DataFrame
        One judge's scores of the same items under several prompts.
    items : DataFrame, optional
        Gives the groups.
    judges : bool, default False
        Take the raters as a further facet, crossed with items and prompts. Then only sampled replies.
    groups : str or None, default "group"
        A column of the items: the intervals leave out what shares it together.
    estimator, confidence_level
        As for `calib.stats.g_study`.

    Returns
    -------
    Results
        Labelled by criterion, rater, method and temperature; `.one().d_study(prompts, draws)` says what
        other designs would give.

    Raises
    ------
    TableError
        If there is one prompt only, or the prompts have different scales.

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
    as_typed(sensitivity, locals())
    if items is None and groups not in (None, "group"):
        came = f"{groups!r} came without {{0}}"
        raise TableArgumentError("groups", "is a column of the items", came, mentions=("items",))
    owners = None
    if items is not None and groups is not None:
        frame = validated(items, "items", "items").frame
        if groups not in frame and groups != "group":
            raise TableArgumentError("groups", "must be a column of the items", f"got {groups!r}")
        owners = frame.set_index(frame["item"].astype(object))[groups] if groups in frame else None
    table = ratings_in(ratings).frame
    table = table[table["method"] != "human"]
    if judges and not table["method"].eq("sample").all():
        raise TableArgumentError("judges", "needs sampled replies", "some ratings are token probabilities")
    answers = []
    for label, rows in over_prompts(table, "ratings", [n for n in _KEY if not (judges and n == "rater")]):
        (ids, prompts, *_), x, variance = cells_of_replies(rows, exact=label["method"] == "logprob", judges=judges)
        if len(prompts) < 2:
            rule = "two prompts at least (rewordings: prompt.variants(8), in a shell --variants of `calib rate`)"
            one = f"are under one, {prompts[0]!r}"
            raise TableArgumentError("ratings", f"must be under {rule}", one, about=words(label))
        group = None if owners is None else owners.reindex(ids)
        if group is not None and (none := group.isna().sum()):
            raise TableError(f"the items must have a {groups!r} for all that was rated; {none} have none.")
        if group is not None and not group.duplicated().any():
            group = None
        options: dict[str, Any] = {"estimator": estimator, "confidence_level": confidence_level}
        with renamed_errors(label, x="ratings"):
            study = stats.g_study(x, draw_variance=variance, groups=group, **options)
        if not study.n_dropped:  # cells of fewer draws are filled up; what was never asked for is not unread
            reply, begins = first_places(rows, _REPLY)
            good = (rows["status"] == "ok") & rows["score"].notna()
            study = replace(study, n_unread=len(begins) - int(np.count_nonzero(np.bincount(reply, good))))
        answers.append((label, study))
    return Results.of(answers)


def prompt_mean(
    scores: pd.DataFrame, *, by: str | None = None, groups: str | None = "group", confidence_level: float = 0.95
) -> Results[stats.PromptMean]:
    """A judge's mean score with the choice of the prompt inside the interval, per system if asked.

    Parameters
    ----------
    scores : DataFrame
        A judge's scores (or ratings) of the same items under several prompts; with one prompt the result
        says that it is conditional on it.
    by : str, optional
        A column of the scores, such as "system".
    groups : str or None, default "group"
        The column of what items share.
    confidence_level : float



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
    as_typed(prompt_mean, locals())
    answers = []
    frame = scores_in(scores, "scores").frame
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
            options: dict[str, Any] = {"groups": group, "names": wide.columns, "confidence_level": confidence_level}
            with renamed_errors(label | value, x="scores"):
                answers.append((label | value, stats.prompt_mean(wide, **options)))
    return Results.of(answers)


def with_labels(
    judged: Iterator[tuple[dict[str, Any], pd.DataFrame]], people: ValidatedTable
) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """What a judge said beside what people said on the same criterion; criteria that one side lacks are passed over."""
    people = mean_of_annotators(people)
    sides = [(label, rows, people.frame[people.frame["criterion"] == label["criterion"]]) for label, rows in judged]
    if not any(len(theirs) for _, _, theirs in sides):
        criteria = ", ".join(dict.fromkeys(repr(label["criterion"]) for label, _, _ in sides))
        raise TableArgumentError(people.argument, f"must have scores of {criteria}", f"has {people.holds}")
    for label, rows, theirs in sides:
        if theirs["item"].duplicated().any():
            rule = f"must have one score per item of {label['criterion']!r}; pool or select the raters"
            raise TableArgumentError(people.argument, rule)
        if len(theirs):
            yield label, rows, theirs


def beside(
    rows: pd.DataFrame, theirs: pd.DataFrame, items: pd.Index, label: dict[str, Any]
) -> tuple[pd.Series, dict[str, Any], int]:
    """People's score of each item, the ends of the scale, and how many labels are of other items."""
    mine = theirs["item"].astype(object)
    scales = pd.concat([part[["scale"]] for part in (rows, theirs) if "scale" in part])
    return theirs.set_index(mine)["score"].reindex(items), ends_of(scales, label), int((~mine.isin(items)).sum())
