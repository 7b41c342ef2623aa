"""Scores of several raters as those of one: their plain mean."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from calib.table import TableArgumentError, check_scores, parse_scale
from calib.tables.door import Checked, Who

_UNLIKE = 4  # times as high as another, and a rater who does not say the scale is not on the same
_MEANS = ("score", "mass", "low", "high")


def mean_of_raters(scores: Checked) -> Checked:
    """One score per item and criterion: the mean of the raters, each with the same weight however often it scored.

    An item that some have not scored has the mean of the others; `n` says of how many.
    """
    if scores.frame.empty:
        raise TableArgumentError(scores.argument, "must have scores of a judge to be pooled", "has none but people's")
    parts = [_mean_by_item(str(criterion), rows, scores) for criterion, rows in _by_criterion(scores.frame)]
    return Checked(check_scores(pd.concat(parts, ignore_index=True)), "scores", scores.argument)


def lacking_raters(frame: pd.DataFrame) -> tuple[str, ...]:
    """A warning, if pooled items have been scored by some of their raters only."""
    lacking = int((frame["n_unread"] > 0).sum())
    text = f"raters_missing: {lacking} of {len(frame)} items were not scored by every rater and have the others' mean"
    return (text,) if lacking else ()


def _by_criterion(frame: pd.DataFrame) -> Any:
    return frame.groupby("criterion", observed=True, sort=False)


def _mean_by_item(criterion: str, rows: pd.DataFrame, scores: Checked) -> pd.DataFrame:
    plain = rows.astype(dict.fromkeys(["item", "rater", *_texts(rows)], object))
    raters = plain["rater"].unique()
    scale = _scale_of_all(criterion, plain, scores.argument)
    # each rater's own mean first, then that of the raters
    each = plain.groupby(["item", "rater"], sort=False)[list(_MEANS)].mean()
    found = each.groupby("item", sort=False).agg("mean")
    read = each["score"].groupby("item", sort=False).count()
    beside = plain.groupby("item", sort=False)[[name for name in plain if name not in {*_MEANS, "item", *Who._fields}]]
    one = {name: _in_common(plain, name) for name in ("prompt", "method")}
    one |= {"criterion": criterion, "rater": raters[0] if len(raters) == 1 else f"mean of {len(raters)} raters"}
    counts = {"n": read, "n_unread": len(raters) - read, "scale": scale}
    unknown = dict.fromkeys({"entropy", "sd", "mode", "var_within", "var_between"} & set(rows), math.nan)
    pooled = beside.first().assign(**found, **unknown, **counts, **one, temperature=math.nan)
    return pooled.reset_index()


def _texts(rows: pd.DataFrame) -> list[str]:
    return [name for name in rows if isinstance(rows[name].dtype, pd.CategoricalDtype)]


def _in_common(rows: pd.DataFrame, name: str) -> str:
    """What all raters have in common, and else nothing; of methods "sample", as `summarize` has it."""
    values = rows[name].unique()
    return str(values[0]) if len(values) == 1 else {"method": "sample"}.get(name, "")


def _scale_of_all(criterion: str, rows: pd.DataFrame, argument: str) -> str:
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
    if (texts == "").any() and tops.max() >= _UNLIKE * tops.min():
        _refuse(criterion, argument, f"do not all say theirs and are at {_spans(reached)}")
    return next(iter(known.values()), "")


def _spans(reached: pd.DataFrame) -> str:
    return ", ".join(f"{low:g} to {high:g} ({rater!r})" for rater, low, high in reached.itertuples())


def _refuse(criterion: str, argument: str, given: str) -> None:
    rule = "must have raters on one scale for each criterion to be pooled"
    raise TableArgumentError(argument, rule, f"those of {criterion!r} {given}")
