"""Frames as validated tables: scores, ratings and items that keep the rules, and the slices of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from calib.core import check
from calib.core.check import ArgumentError
from calib.core.text import printable
from calib.table import CHECKS, TableArgumentError, TableError, has_replies
from calib.table.checks import is_checked
from calib.table.frames import pandas_of
from calib.table.labels import Labels
from calib.table.results import words
from calib.table.scores import scores_of_ratings

Kind = Literal["items", "ratings", "scores"]
LITTLE = 0.5  # captured mass below which a score is mostly a guess
_MANY = 0.01  # share of such scores that is worth a word
# of a row that represents several items: how many, the sum of their squared distances from the mean, and their ends
REPRESENTED = ("n_represented", "squares", "least", "most")


class SliceKey(NamedTuple):
    """The identity of a slice: whose scores on what. Without a temperature two slices are equal in it."""

    criterion: str
    rater: str
    prompt: str
    method: str
    temperature: float | None

    @classmethod
    def of(cls, label: Mapping[str, Any]) -> SliceKey:
        """Of the labels of a result."""
        temperature = None if math.isnan(label["temperature"]) else label["temperature"]
        return cls(label["criterion"], label["rater"], label["prompt"], label["method"], temperature)

    @property
    def label(self) -> dict[str, Any]:
        """As a result carries it."""
        return self._asdict() | {"temperature": math.nan if self.temperature is None else self.temperature}


@dataclass(frozen=True, slots=True, eq=False)
class ValidatedTable:
    """A frame that keeps the rules of its table, and the argument that it came as.

    Of scores that came in parts `n_items` counts all items.
    """

    frame: pd.DataFrame
    kind: Kind
    argument: str
    n_items: int | None = None

    def only(self, rows: Any) -> ValidatedTable:
        """Some of its rows, which keep the rules as well."""
        return replace(self, frame=self.frame[rows])

    def under(self, label: Mapping[str, Any], *names: str) -> pd.DataFrame:
        """Its rows that have these labels."""
        return self.frame[(self.frame[list(names)] == [label[name] for name in names]).all(axis=1)]

    def score_by_item(self, label: Mapping[str, Any], *names: str) -> pd.Series:
        """Its scores under these labels, of which there must be one per item."""
        rows = self.under(label, *names)
        if not len(rows):
            wanted = ", ".join(f"{name} {label[name]!r}" for name in names)
            raise TableArgumentError(self.argument, f"must have scores of {wanted}", f"has {self.holds}")
        if rows["item"].duplicated().any():
            rule = f"must have one score per item of {label['criterion']!r}; pool or select the raters"
            raise TableArgumentError(self.argument, rule)
        return rows.set_index(rows["item"].astype(object))["score"]

    def slices(self) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
        """The rows of each criterion, rater, prompt, method and temperature, with that as labels."""
        yield from slices(self.frame)

    @property
    def holds(self) -> str:
        """Its criteria and raters in words."""
        pairs = self.frame[["criterion", "rater"]].drop_duplicates().astype(str)
        return "; ".join(f"{c} by {r}" for c, r in pairs.itertuples(index=False)) or "nothing"


def slices(frame: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each criterion, rater, prompt, method and temperature."""
    if (same := in_all_rows(frame, SliceKey._fields)) is not None:
        yield dict(zip(SliceKey._fields, same, strict=True)), frame.iloc[:]
        return
    for key, rows in frame.groupby(list(SliceKey._fields), observed=True, dropna=False, sort=False):
        yield dict(zip(SliceKey._fields, key, strict=True)), rows


def by_criterion(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each criterion, in the order of their names."""
    same = in_all_rows(frame, ("criterion",))
    yield from frame.groupby("criterion", observed=True) if same is None else [(same[0], frame.iloc[:])]


def in_all_rows(frame: pd.DataFrame, names: Sequence[str]) -> list[Any] | None:
    """What checked columns hold, if it is the same in all rows; to group them would cost more than most statistics."""
    same: list[Any] = []
    for name in names if len(frame) else ():
        values = frame[name].array
        if isinstance(values, pd.Categorical):
            alike, value = (values.codes == values.codes[0]).all(), values[0]
        elif values.dtype == float:
            numbers = values.to_numpy()
            alike, value = (numbers == numbers[0]).all() or np.isnan(numbers).all(), float(numbers[0])
        else:
            return None
        if not alike:
            return None
        same.append(value)
    return same or None


def validated(frame: Any, kind: Kind, argument: str) -> ValidatedTable:
    """A user's frame as one of the tables; errors name the argument that it came as.

    Examples
    --------
    >>> validated(pd.DataFrame({"item": ["a"]}), "scores", "labels")
    Traceback (most recent call last):
        ...
    calib.table.schema.TableError: `labels`: scores: column `criterion` is missing; there are 'item'.
    """
    if isinstance(frame, ValidatedTable):
        return frame
    if isinstance(frame, Labels):
        frame = frame.ratings if kind == "ratings" else frame.pooled
    frame = pandas_of(frame)
    if not isinstance(frame, pd.DataFrame):
        raise TableArgumentError(argument, "must be a pandas DataFrame", f"got {type(frame).__name__}")
    try:
        return ValidatedTable(frame if is_checked(frame, kind) else CHECKS[kind](frame), kind, argument)
    except TableError as error:
        raise TableError(f"`{argument}`: {error}") from None


def scores_in(frame: Any, argument: str) -> ValidatedTable:
    """Scores; ratings are summarised on the way, since that is free. Warns of scores with little mass."""
    if isinstance(frame, ValidatedTable):
        return frame
    frame = pandas_of(frame)
    if isinstance(frame, pd.DataFrame) and has_replies(frame):
        frame = scores_of_ratings(validated(frame, "ratings", argument).frame)
    return warned_of_mass(validated(frame, "scores", argument))


def warned_of_mass(table: ValidatedTable) -> ValidatedTable:
    """The table of scores, after a warning for each slice with scores that rest on little probability mass."""
    if (table.frame["mass"] < LITTLE).any():
        for label, rows in table.slices():
            for text in little_mass(label, rows):
                check.warn(text)
    return table


def ratings_in(frame: Any, argument: str = "ratings") -> ValidatedTable:
    """Ratings; scores, in which draws and labels are averaged, are refused."""
    return validated(frame, "ratings", argument)


def little_mass(label: Mapping[str, Any], rows: pd.DataFrame) -> tuple[str, ...]:
    """A warning, if more than a few scores rest on a small part of what the judge answered."""
    # what could not be read at all is counted elsewhere
    little = rows[(rows["mass"] < LITTLE) & rows["score"].notna()]
    if items_in(little) <= _MANY * items_in(rows):
        return ()
    least = little.loc[little["mass"].idxmin()]
    if isinstance(least.get("like"), str):
        least = least.rename(index={"item": "_", "like": "item"})
    share = f"{items_in(little)} of {items_in(rows)} scores of {label['criterion']} by {label['rater']}"
    return (
        f"little_mass: {share} rest on less than half of the judge's probability "
        f"(least: {least['mass']:.2g}, item {str(least['item'])!r}); the rest was on other words or not reported.",
    )


def items_in(rows: pd.DataFrame) -> int:
    """How many items these are, where a row may stand for several."""
    return int(rows["n_represented"].astype(float).fillna(1).sum()) if "n_represented" in rows else len(rows)


@contextmanager
def renamed_errors(label: Mapping[str, Any], **names: str) -> Iterator[None]:
    """Errors of a statistic in the names of a verb's arguments, with what the result is about.

    Examples
    --------
    >>> with renamed_errors({"criterion": "fluency"}, y="labels", f="scores"):
    ...     raise ArgumentError("y", "must have the length of {0}", "got 2", mentions=("f",))
    Traceback (most recent call last):
        ...
    calib.core.check.ArgumentError: fluency: `labels` must have the length of `scores`, but got 2.
    """
    try:
        yield
    except ArgumentError as error:
        raise error.renamed(names, about=words(dict(label))) from None
    except TableError:
        raise  # it says what of itself
    except ValueError as error:
        raise ValueError(printable(f"{words(dict(label))}: {error}")) from None
