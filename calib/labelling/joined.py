"""Answers of several files as one table: of one page, each question answered once by each annotator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calib.core.check import ArgumentError
from calib.labelling.answers import File, counted
from calib.table import TableError

_KEY = ["item", "criterion", "rater"]
_HASH = re.compile(r"[0-9a-f]{12}")
_MEANS = "a page is made of its items, criteria and scales, and labels from two pages answer two questions"


class Joined(NamedTuple):
    """All answers, in the order in which each annotator gave them, and what was found on the way."""

    frame: pd.DataFrame
    page: str
    notes: list[str]


def joined_answers(files: Sequence[File], page: str | Path | None) -> Joined:
    """The answers of files of one page; of an answer that was given again the later one counts."""
    known = _one_page(files, page)
    parts = [file.frame.assign(file=place, row=range(len(file.frame))) for place, file in enumerate(files)]
    every = pd.concat(parts, ignore_index=True)
    _one_scale(every, files)
    last = every["file"].map(every.groupby("file")["when"].max())
    every = every.assign(last=last).sort_values(["when", "last"], kind="stable", na_position="first")
    notes = [note for file in files for note in file.notes]
    notes += [*_of_two_people(every, files), *_given_again(every, files), *_alike(every["rater"])]
    latest = every.drop_duplicates(_KEY, keep="last").assign(comment=_last_comments(every))
    ordered = latest.sort_values(["rater", "when", "position"], kind="stable", na_position="first")
    return Joined(ordered.drop(columns=["file", "row", "last"]).reset_index(drop=True), known, notes)


# --- of one page ------------------------------------------------------------------------------------------------------


def _one_page(files: Sequence[File], page: str | Path | None) -> str:
    known = [(file.name, file.frame["page"].iloc[0]) for file in files]
    first, mine = known[0]
    for name, other in known:
        if other != mine:
            raise TableError(f"{first} is of page {mine} and {name} of page {other}: {_MEANS}. Read them apart.")
    if page is not None and (named := _page_named(page)) is not None and named != mine:
        raise ArgumentError("page", "must be the page that was labelled", f"is {named}, and {first} is of {mine}")
    if page is not None and named is None and mine not in Path(page).read_text("utf-8", errors="replace"):
        raise ArgumentError(
            "page", f"must be the page that {first} comes from ({mine})", f"{str(page)!r} has none such"
        )
    return str(mine)


def _page_named(page: str | Path) -> str | None:
    """A hash that was given, None where a file was."""
    text = str(page)
    if Path(text).is_file():
        return None
    if not _HASH.fullmatch(text):
        raise ArgumentError("page", "must be the path of a label page, or its hash", f"there is no file {text!r}")
    return text


def _one_scale(every: pd.DataFrame, files: Sequence[File]) -> None:
    for criterion, rows in every.groupby("criterion", sort=False):
        if len(rows["scale"].unique()) > 1:
            other = rows[rows["scale"] != rows["scale"].iloc[0]].iloc[0]
            file = files[other["file"]]
            given = f"{rows['scale'].iloc[0]!r} before and {other['scale']!r} here"
            raise TableError(
                f"{file.name}, {file.line(other['row'])}: {criterion!r} must have one scale, but has {given}."
            )


# --- given more than once ---------------------------------------------------------------------------------------------


def _given_again(every: pd.DataFrame, files: Sequence[File]) -> Iterator[str]:
    """Which answers were changed; two that differ, of which none is later, are refused."""
    again = every[every.duplicated(_KEY, keep=False)]
    changed: dict[str, list[str]] = {}
    for (item, criterion, rater), rows in again.groupby(_KEY, sort=False):
        said = rows[["score", "status"]].astype(object).where(rows[["score", "status"]].notna(), None)
        if len(said.drop_duplicates()) == 1:
            continue
        latest = rows[rows["when"] == rows["when"].iloc[-1]] if rows["when"].notna().all() else rows
        if len(latest["score"].unique()) > 1:
            where = " and ".join(
                f"{files[row.file].name}, {files[row.file].line(row.row)}" for row in latest.itertuples()
            )
            told = f"{rater!r} answered item {item!r} ({criterion}) twice, differently ({where})"
            raise TableError(f"{told}, and no time says which answer is the later one: take one of them out.")
        changed.setdefault(rater, []).append(f"item {item!r}, {criterion}: {_steps(rows)}")
    for rater, steps in changed.items():
        yield f"{rater!r} answered {counted(len(steps), 'question')} anew, and the later answer counts ({steps[0]})."


def _steps(rows: pd.DataFrame) -> str:
    said = ["cannot say" if score != score else f"{score:g}" for score in rows["score"]]  # noqa: PLR0124 - NaN
    return " then ".join(word for word, before in zip(said, [None, *said], strict=False) if word != before)


def _last_comments(every: pd.DataFrame) -> Any:
    """The last comment that says something, of each answer."""
    filled = every["comment"].where(every["comment"].str.strip() != "")
    return filled.groupby([every[name] for name in _KEY]).transform("last").fillna("")


def _of_two_people(every: pd.DataFrame, files: Sequence[File]) -> Iterator[str]:
    """Files of one name that contradict each other while both were being labelled."""
    for rater, rows in every.groupby("rater", sort=False):
        for one, other in combinations(sorted(rows["file"].unique()), 2):
            first, second = rows[rows["file"] == one], rows[rows["file"] == other]
            both = first.merge(second, on=["item", "criterion"], suffixes=("", "_b"))
            apart = both[(both["score"] != both["score_b"]) & both[["score", "score_b"]].notna().any(axis=1)]
            overlap = (apart["when_b"].min() <= first["when"].max()) and (apart["when"].min() <= second["when"].max())
            if len(apart) and overlap:
                yield (
                    f"{files[one].name} and {files[other].name} are both of {rater!r}, were labelled at times that "
                    f"overlap, and differ in {len(apart)} of {len(both)} answers: are they of two "
                    "people? Then give one of them another name in the column `rater`."
                )


def _alike(raters: pd.Series) -> Iterator[str]:
    """Names that differ in case or blanks only."""
    spelled: dict[str, list[str]] = {}
    for name in raters.unique():
        spelled.setdefault(" ".join(name.casefold().split()), []).append(name)
    for names in spelled.values():
        if len(names) > 1:
            yield f"{' and '.join(map(repr, names))} are taken for {len(names)} people: are they one?"
