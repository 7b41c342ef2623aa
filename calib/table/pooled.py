"""Scores of several judges, or of several people, as those of one: their plain mean."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from calib.table import TableArgumentError, check_scores, parse_scale
from calib.table.validate import Checked, Who, slices

_UNLIKE = 4  # times as high as another, and a rater who does not say the scale is not on the same
_MEANS = ("score", "mass", "low", "high")


def mean_of_raters(scores: Checked) -> Checked:
    """One score per item and criterion: the mean of the raters, each with the same weight however often it scored.

    An item that some have not scored has the mean of the others; `n` says of how many.
    """
    if scores.frame.empty:
        raise TableArgumentError(scores.argument, "must have scores of a judge to be pooled", "has none but people's")
    parts = [_mean_by_item(rows, scores.argument) for _, rows in _by_criterion(scores.frame)]
    return Checked(check_scores(pd.concat(parts, ignore_index=True)), "scores", scores.argument)


def mean_of_people(people: Checked) -> Checked:
    """One label per item and criterion: the mean of those who gave one; others than people stay apart.

    Who labels what is for those to say who ask people: an item that some have not labelled lacks nothing. An interval
    of such labels is one for those who labelled, as items were dealt out to them by chance, not for people in general.
    """
    parts = [rows for _, rows in _by_criterion(people.frame)]
    several = [len([*slices(rows)]) > 1 and set(rows["method"]) == {"human"} for rows in parts]
    if not any(several):
        return people
    one = [
        _mean_by_item(rows, people.argument, people=True) if many else rows.astype(dict.fromkeys(_texts(rows), object))
        for rows, many in zip(parts, several, strict=True)
    ]
    return Checked(check_scores(pd.concat(one, ignore_index=True)), "scores", people.argument)


def lacking_raters(frame: pd.DataFrame) -> tuple[str, ...]:
    """A warning, if pooled items have been scored by some of their raters only."""
    lacking = int((frame["n_unread"] > 0).sum())
    text = f"raters_missing: {lacking} of {len(frame)} items were not scored by every rater and have the others' mean"
    return (text,) if lacking else ()


def _by_criterion(frame: pd.DataFrame) -> Any:
    return frame.groupby("criterion", observed=True, sort=False)


def _mean_by_item(rows: pd.DataFrame, argument: str, *, people: bool = False) -> pd.DataFrame:
    plain = rows.astype(dict.fromkeys(["item", "rater", *_texts(rows)], object))
    criterion, raters = plain["criterion"].iloc[0], plain["rater"].unique()
    scale = _scale_of_all(criterion, plain, argument, people=people)
    # each rater's own mean first, then that of the raters
    each = plain.groupby(["item", "rater"], sort=False)[list(_MEANS)].mean()
    found = each.groupby("item", sort=False).agg("mean")
    read = each["score"].groupby("item", sort=False).count()
    by_item = plain.groupby("item", sort=False)
    beside = by_item[[name for name in plain if name not in {*_MEANS, "item", *Who._fields}]].first()
    called = "annotators" if people else "raters"
    one = {name: _in_common(plain, name) for name in ("prompt", "method")}
    one |= {"criterion": criterion, "rater": raters[0] if len(raters) == 1 else f"mean of {len(raters)} {called}"}
    counts = {"n": read, "n_unread": 0 if people else len(raters) - read, "scale": scale}
    counts |= {"n_cannot_say": by_item["n_cannot_say"].sum()} if "n_cannot_say" in plain else {}
    unknown = dict.fromkeys({"entropy", "sd", "mode", "var_within", "var_between"} & set(rows), math.nan)
    return beside.assign(**found, **unknown, **counts, **one, temperature=math.nan).reset_index()


def _texts(rows: pd.DataFrame) -> list[str]:
    return [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]


def _in_common(rows: pd.DataFrame, name: str) -> str:
    """What all raters have in common, and else nothing; of methods "sample", as `summarize` has it."""
    values = rows[name].unique()
    return str(values[0]) if len(values) == 1 else {"method": "sample"}.get(name, "")


def _scale_of_all(criterion: str, rows: pd.DataFrame, argument: str, *, people: bool) -> str:
    """The scale that all raters are on; scores of different scales have no mean."""
    texts = rows["scale"].fillna("").astype(str)
    known = {(scale.low, scale.high): text for text in sorted(texts.unique()) if (scale := parse_scale(text))}
    if len(known) > 1:
        _refuse(criterion, argument, f"are on {' and '.join(sorted(known.values()))}")
    # where one does not say its scale, its scores must look as if they were on that of the others
    reached = rows.dropna(subset=["score"]).groupby("rater", sort=False)["score"].agg(["min", "max"])
    for (low, high), text in known.items():
        beyond = reached[(reached["min"] < low) | (reached["max"] > high)]
        if len(beyond):
            _refuse(criterion, argument, f"are on {text} and at {_spans(beyond)}")
    tops = reached["max"].abs()
    # a person may have labelled a few bad items
    if not people and (texts == "").any() and tops.max() >= _UNLIKE * tops.min():
        _refuse(criterion, argument, f"do not all say theirs and are at {_spans(reached)}")
    return next(iter(known.values()), "")


def _spans(reached: pd.DataFrame) -> str:
    return ", ".join(f"{low:g} to {high:g} ({rater!r})" for rater, low, high in reached.itertuples())


def _refuse(criterion: str, argument: str, given: str) -> None:
    rule = "must have raters on one scale for each criterion to be pooled"
    raise TableArgumentError(argument, rule, f"those of {criterion!r} {given}")
