"""A judge's replies as items x prompts x draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib import stats
from calib.core.check import as_typed, was_called
from calib.core.numeric import row_means
from calib.table import TableArgumentError, TableError
from calib.table.checks import first_places
from calib.table.gold import ends_of, groups_of, mean_of_people, parts_of
from calib.table.results import Results, words
from calib.table.validate import Checked, Who, checked, in_all_rows, in_the_names_of, ratings_in, scores_in

_REPLY = ("item", "prompt", "rater", "run", "draw")
_STUDY_KEY = tuple(name for name in Who._fields if name != "prompt")


class Study(NamedTuple):
    """Scores of one criterion and judge, items x prompts (x judges) x draws, and the variance of a draw, if known.

    `names` are those of prompts (and of judges), `unread` counts replies.
    """

    label: dict[str, Any]
    items: Any
    names: list[list[str]]
    x: Any
    variance: Any
    unread: int


def studies_of(ratings: Any, judges: bool) -> Iterator[Study]:
    """One for each criterion and judge, or with `judges` for all together."""
    table = ratings_in(ratings).frame
    table = table[table["method"] != "human"]
    if judges and not table["method"].eq("sample").all():
        raise TableArgumentError("judges", "needs sampled replies", "some ratings are token probabilities")
    for label, rows in over_prompts(table, "ratings", [n for n in _STUDY_KEY if not (judges and n == "rater")]):
        (items, *names), x, variance = _cells(rows, judges=judges)
        reply, begins = first_places(rows, _REPLY)
        good = (rows["status"] == "ok") & rows["score"].notna()
        unread = len(begins) - int(np.count_nonzero(np.bincount(reply, good)))
        if label["method"] == "logprob":  # probabilities that were asked for more than once estimate the same
            x, variance = row_means(x), row_means(variance)
        else:
            variance = None
        yield Study(label, items, names, x, variance, unread)


def over_prompts(
    frame: pd.DataFrame, argument: str, key: Sequence[str] = _STUDY_KEY
) -> Iterator[tuple[dict[str, Any], Any]]:
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


def cells_of_replies(rows: pd.DataFrame, *, exact: bool) -> tuple[pd.Index, Any, Any]:
    """Scores as items x prompts x draws, and the variance of one draw where it is known."""
    (items, _), x, variance = _cells(rows, judges=False)
    return (items, row_means(x), row_means(variance)) if exact else (items, x, None)


def _cells(rows: pd.DataFrame, *, judges: bool) -> tuple[list[Any], Any, Any]:
    """Names of the items and of the facets, and by these and draws the scores and their variance within a reply."""
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
    return [pd.Index(names[0]), *([str(name) for name in each] for each in names[1:])], x, variance


# --- prompts on tables ------------------------------------------------------------------------------------------------


_KEY = tuple(name for name in Who._fields if name != "prompt")


def sensitivity(
    ratings: Any,
    items: pd.DataFrame | None = None,
    *,
    judges: bool = False,
    groups: str | None = "group",
    estimator: str = "auto",
    confidence_level: float = 0.95,
    method: str | None = None,
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
    estimator, confidence_level, method
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
    owners = None if items is None or groups is None else _groups_of_items(items, groups)
    options: dict[str, Any] = {"confidence_level": confidence_level}
    options["estimator"] = was_called(method, estimator, name="estimator", default="auto")
    answers = []
    for one in studies_of(ratings, judges):
        _several(one.label, one.names[0], "ratings")
        group = None if owners is None else _group_of_each(owners, one.items)
        with in_the_names_of(one.label, x="ratings"):
            study = stats.g_study(one.x, draw_variance=one.variance, groups=group, **options)
        # cells of fewer draws than others are filled up; what was never asked for is not unread
        answers.append((one.label, study if study.n_dropped else replace(study, n_unread=one.unread)))
    return Results.of(answers)


def _groups_of_items(items: pd.DataFrame, groups: str) -> pd.Series | None:
    frame = checked(items, "items", "items").frame
    if groups not in frame and groups != "group":
        raise TableArgumentError("groups", "must be a column of the items", f"got {groups!r}")
    return frame.set_index(frame["item"].astype(object))[groups] if groups in frame else None


def _group_of_each(owners: pd.Series, items: pd.Index) -> Any:
    group = owners.reindex(items)
    if none := group.isna().sum():
        raise TableError(f"the items must have a {owners.name!r} for all that was rated; {none} have none.")
    return group.to_numpy() if group.duplicated().any() else None


# --- results with the prompt inside -----------------------------------------------------------------------------


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

    Returns
    -------
    Results
        Labelled by criterion, rater, method, temperature and `by`.

    Raises
    ------
    TableError
        If a column is not there, or the prompts have different scales.

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
    for label, rows in _judged(scores):
        for value, part in parts_of(rows, by):
            wide = wide_of(part)
            options = {"groups": shared_groups(part, groups, wide.index), "names": wide.columns}
            whole = label | value
            with in_the_names_of(whole, x="scores"):
                answers.append((whole, stats.prompt_mean(wide, confidence_level=confidence_level, **options)))
    return Results.of(answers)


def with_gold(
    judged: Iterator[tuple[dict[str, Any], pd.DataFrame]], people: Checked
) -> Iterator[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """What a judge said beside what people said on the same criterion; criteria that one side lacks are passed over."""
    people = mean_of_people(people)
    known = [(label, rows, people.frame[people.frame["criterion"] == label["criterion"]]) for label, rows in judged]
    if not any(len(theirs) for _, _, theirs in known):
        wanted = ", ".join(dict.fromkeys(repr(label["criterion"]) for label, _, _ in known))
        raise TableArgumentError("gold", f"must have scores of {wanted}", f"has {people.holds}")
    for label, rows, theirs in known:
        if theirs["item"].duplicated().any():
            rule = f"must have one score per item of {label['criterion']!r}; pool or select the raters"
            raise TableArgumentError("gold", rule)
        if len(theirs):
            yield label, rows, theirs


def beside(
    rows: pd.DataFrame, theirs: pd.DataFrame, items: pd.Index, label: dict[str, Any]
) -> tuple[pd.Series, dict[str, Any], int]:
    """People's score of each item, the ends of the scale, and how many labels are of other items."""
    mine = theirs["item"].astype(object)
    scales = pd.concat([part[["scale"]] for part in (rows, theirs) if "scale" in part])
    return theirs.set_index(mine)["score"].reindex(items), ends_of(scales, label), int((~mine.isin(items)).sum())


def _judged(scores: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    frame = scores_in(scores, "scores").frame
    yield from over_prompts(frame[frame["method"] != "human"], "scores")


def wide_of(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per item, one column per prompt."""
    keys = rows.assign(item=rows["item"].astype(object), prompt=rows["prompt"].astype(object))
    wide = keys.set_index(["item", "prompt"])["score"].unstack("prompt")  # noqa: PD010 - one score each
    return wide.reindex(index=pd.unique(keys["item"]), columns=pd.unique(keys["prompt"]))


def shared_groups(rows: pd.DataFrame, groups: str | None, items: pd.Index) -> Any:
    if groups is None:
        return None
    heads = rows.assign(item=rows["item"].astype(object)).drop_duplicates("item").set_index("item")
    group = groups_of(heads.reindex(items), groups)
    return group if group is not None and len(set(group)) < len(group) else None


def _several(label: dict[str, Any], prompts: Any, argument: str = "scores") -> None:
    if len(pd.unique(pd.Series(prompts))) < 2:
        rule = (
            "must be under two prompts at least (rewordings: prompt.variants(8), in a shell --variants of `calib rate`)"
        )
        given = f"are under one, {pd.Series(prompts).iloc[0]!r}"
        raise TableArgumentError(argument, rule, given, about=words(label))
