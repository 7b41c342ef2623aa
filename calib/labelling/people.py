"""What answers say about those who gave them: how many, how fast, where they differ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from calib.core.check import ArgumentError
from calib.core.numeric import adjusted
from calib.core.result import short
from calib.labelling.answers import File, counted
from calib.labelling.page import CANNOT_SAY
from calib.table import TableError, parse_scale

_FLAGGED = 0.05
_FEW = 10  # labels below which the same one each time says nothing
_COMMON = 5  # items in common below which no difference of annotators can be told
_LONG = 10  # medians: a page that was left open


def annotators_of(answers: pd.DataFrame) -> pd.DataFrame:
    """A row per annotator and criterion: counts, times of the first and last answer, median seconds, mean."""
    rows = []
    for (rater, criterion), part in answers.groupby(["rater", "criterion"], sort=False):
        labelled = part["score"].notna()
        rows.append({
            "annotator": str(rater),
            "criterion": str(criterion),
            "n_items": part["item"].nunique(),
            "n_labels": int(labelled.sum()),
            "n_cannot_say": int((part["status"] == CANNOT_SAY).sum()),
            "n_comments": int((part["comment"].str.strip() != "").sum()),
            "first": part["when"].min(),
            "last": part["when"].max(),
            "seconds": part.loc[labelled, "seconds"].median(),
            "mean": part["score"].mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def all_alike(answers: pd.DataFrame) -> list[str]:
    """A sentence on each annotator whose labels are all the same."""
    notes = []
    for (rater, criterion), labels in answers.groupby(["rater", "criterion"], sort=False)["score"]:
        if labels.count() >= _FEW and labels.min() == labels.max():
            value = short(labels.dropna().iloc[0])
            alike = f"all {labels.count()} labels are {value}, which says nothing about agreement"
            notes.append(f"{str(rater)!r} on {criterion}: {alike}.")
    return notes


def disagreements_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Items that two or more annotators scored differently, the farthest apart first, with what each gave."""
    labels = answers[answers["score"].notna()]
    names = {name: f"{name} (annotator)" if name in _OWN else name for name in labels["rater"].unique().tolist()}
    scores = labels.groupby(["item", "criterion"], sort=False)["score"]
    apart = answers[answers["item"].isin(labels.loc[scores.transform("max") > scores.transform("min"), "item"])]
    differences = []
    for (item, criterion), rows in apart.groupby(["item", "criterion"], sort=False):
        labelled = rows[rows["score"].notna()]
        spread = labelled["score"].max() - labelled["score"].min()
        if spread > 0:
            pairs = zip(rows["rater"], rows["comment"], strict=True)
            comments = "; ".join(f"{rater}: {comment}" for rater, comment in pairs if comment.strip())
            gave = {names[rater]: score for rater, score in zip(labelled["rater"], labelled["score"], strict=True)}
            row = {"item": item, "criterion": criterion, "spread": spread, "comments": comments}
            scale = parse_scale(rows["scale"].iloc[0])
            width = 1.0 if scale is None else scale.high - scale.low
            differences.append((spread / width, row | gave))
    differences.sort(key=lambda pair: -pair[0])  # of several scales each by its share
    return pd.DataFrame([row for _, row in differences], columns=[*_OWN, *names.values()])


_OWN = ("item", "criterion", "spread", "comments")


def in_common(answers: pd.DataFrame) -> int:
    """Items that two or more annotators labelled."""
    labels = answers[answers["score"].notna()]
    return int(labels.groupby("item")["rater"].nunique().gt(1).sum())


def strictness_of(answers: pd.DataFrame) -> list[str]:
    """A sentence for each criterion of which annotators differ on the items in common by more than chance.

    If they do not differ, any exchange of an item's labels among those who gave them is as likely as what came: under
    these exchanges each annotator's sum of deviations from the items' means has a known variance. p-values by the
    chi-squared law, adjusted (Holm) over criteria.
    """
    labels = answers[answers["score"].notna()]
    results = [(str(name), *_strictness(rows)) for name, rows in labels.groupby("criterion", sort=False)]
    if not results:
        return []
    adjusted_p = adjusted([p for _, p, _ in results], "holm")
    notes = []
    for (criterion, _, mean), p in zip(results, adjusted_p, strict=True):
        if p < _FLAGGED:
            means = ", ".join(f"{name!r} {value:+.2g}" for name, value in mean.sort_values().items())
            notes.append(
                f"{criterion}: annotators differ on the items in common ({means} from the items' means, p {short(p)}): "
                "an interval of their labels is one for these annotators; others may give another mean."
            )
    return notes


def _strictness(rows: pd.DataFrame) -> tuple[float, pd.Series]:
    """The p-value of "no annotator is stricter", and how far each is from the mean of an item on average."""
    table = rows.pivot_table(index="item", columns="rater", values="score", sort=False)
    common = table[table.count(axis=1) > 1].dropna(axis=1, how="all")
    scores, there = common.to_numpy(dtype=float), common.notna().to_numpy()
    if len(common) < _COMMON:
        return math.nan, pd.Series(dtype=float)
    m = there.sum(axis=1)
    off = np.where(there, common.sub(common.mean(axis=1), axis=0).to_numpy(), 0.0)
    variance = np.nanvar(scores, axis=1, ddof=1)
    spread = np.diag(there.T @ variance) - (there.T * (variance / m)) @ there
    total = off.sum(axis=0)
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    p = float(special.chdtrc(rank, total @ np.linalg.pinv(spread, hermitian=True) @ total)) if rank else math.nan
    return p, pd.Series(total / there.sum(axis=0), index=common.columns)


def price_of(answers: pd.DataFrame) -> tuple[float, list[str]]:
    """Active seconds that a label takes on average, "cannot say" paid for too; NaN where no time is known.

    No item counts for more than ten times its annotator's median: a page was left open. Items, not answers: of several
    criteria the first answer takes the reading, too.
    """
    timed = answers[answers["seconds"].notna()]
    labels = int(timed["score"].notna().sum())
    if not labels:
        return math.nan, []
    spent = timed.groupby(["rater", "item"], sort=False)["seconds"].sum()
    most = _LONG * spent.groupby("rater").transform("median")
    long = (spent > most) & (most > 0)
    total = float(spent.where(~long, most).sum())
    longest = spent[long].max()
    cut = f"{counted(int(long.sum()), 'item')} took more than ten times the median (the longest {longest:.0f} s)"
    return total / labels, [f"{cut} and count as ten times it in the seconds per label."] * bool(long.any())


# --- answers of several files as one table ----------------------------------------------------------------------------


_KEY = ["item", "criterion", "rater"]
_HASH = re.compile(r"[0-9a-f]{12}")
_MEANS = "a page is made of its items, criteria and scales, and labels from two pages answer two questions"


def joined_answers(files: Sequence[File], page: str | Path | None) -> tuple[pd.DataFrame, str, list[str]]:
    """The answers of files of one page, in the order in which each annotator gave them; the page; what was found.

    Of an answer that was given again the later one counts.
    """
    of_page = _one_page(files, page)
    parts = [file.frame.assign(file=place, row=range(len(file.frame))) for place, file in enumerate(files)]
    every = pd.concat(parts, ignore_index=True)
    for criterion, rows in every.groupby("criterion", sort=False):
        if len(rows["scale"].unique()) > 1:
            other = rows[rows["scale"] != rows["scale"].iloc[0]].iloc[0]
            where = f"{files[other['file']].name}, {files[other['file']].line(other['row'])}"
            given = f"{rows['scale'].iloc[0]!r} before and {other['scale']!r} here"
            raise TableError(f"{where}: {criterion!r} must have one scale, but has {given}.")
    last = every["file"].map(every.groupby("file")["when"].max())
    every = every.assign(last=last).sort_values(["when", "last"], kind="stable", na_position="first")
    notes = [note for file in files for note in file.notes]
    notes += [*_of_two_people(every, files), *_given_again(every, files)]
    spelled: dict[str, list[str]] = {}  # names that differ in case or blanks only
    for name in every["rater"].unique():
        spelled.setdefault(" ".join(name.casefold().split()), []).append(name)
    alike = [names for names in spelled.values() if len(names) > 1]
    notes += [f"{' and '.join(map(repr, names))} are taken for {len(names)} people: are they one?" for names in alike]
    # of each answer the last comment that says something
    filled = every["comment"].where(every["comment"].str.strip() != "")
    comments = filled.groupby([every[name] for name in _KEY]).transform("last").fillna("")
    latest = every.drop_duplicates(_KEY, keep="last").assign(comment=comments)
    ordered = latest.sort_values(["rater", "when", "position"], kind="stable", na_position="first")
    return ordered.drop(columns=["file", "row", "last"]).reset_index(drop=True), of_page, notes


def _one_page(files: Sequence[File], page: str | Path | None) -> str:
    pages = [(file.name, file.frame["page"].iloc[0]) for file in files]
    first, mine = pages[0]
    for name, other in pages:
        if other != mine:
            raise TableError(f"{first} is of page {mine} and {name} of page {other}: {_MEANS}. Read them apart.")
    if page is None:
        return str(mine)
    text = str(page)
    if Path(text).is_file():
        if mine not in Path(text).read_text("utf-8", errors="replace"):
            raise ArgumentError("page", f"must be the page that {first} comes from ({mine})", f"{text!r} has none such")
    elif not _HASH.fullmatch(text):
        raise ArgumentError("page", "must be the path of a label page, or its hash", f"there is no file {text!r}")
    elif text != mine:
        raise ArgumentError("page", "must be the page that was labelled", f"is {text}, and {first} is of {mine}")
    return str(mine)


def _given_again(every: pd.DataFrame, files: Sequence[File]) -> Iterator[str]:
    """Which answers were changed; two that differ, of which none is later, are refused."""
    again = every[every.duplicated(_KEY, keep=False)]
    changed: dict[str, list[str]] = {}
    for (item, criterion, rater), rows in again.groupby(_KEY, sort=False):
        given = rows[["score", "status"]].astype(object).where(rows[["score", "status"]].notna(), None)
        if len(given.drop_duplicates()) == 1:
            continue
        latest = rows[rows["when"] == rows["when"].iloc[-1]] if rows["when"].notna().all() else rows
        if len(latest["score"].unique()) > 1:
            where = " and ".join(
                f"{files[row.file].name}, {files[row.file].line(row.row)}" for row in latest.itertuples()
            )
            twice = f"{rater!r} answered item {item!r} ({criterion}) twice, differently ({where})"
            raise TableError(f"{twice}, and no time says which answer is the later one: take one of them out.")
        words = ["cannot say" if math.isnan(score) else f"{score:g}" for score in rows["score"]]
        steps = [word for word, before in zip(words, [None, *words], strict=False) if word != before]
        changed.setdefault(rater, []).append(f"item {item!r}, {criterion}: {' then '.join(steps)}")
    for rater, steps in changed.items():
        yield f"{rater!r} answered {counted(len(steps), 'question')} anew, and the later answer counts ({steps[0]})."


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
