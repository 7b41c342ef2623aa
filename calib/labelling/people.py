"""What answers say about those who gave them: how many, how fast, where they differ."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import special

from calib.core.numeric import adjusted
from calib.core.result import short
from calib.labelling.answers import counted
from calib.labelling.task import CANNOT_SAY
from calib.table import parse_scale

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
        if labels.count() >= _FEW and labels.nunique() == 1:
            value = short(labels.dropna().iloc[0])
            told = f"all {labels.count()} labels are {value}, which says nothing about agreement"
            notes.append(f"{str(rater)!r} on {criterion}: {told}.")
    return notes


def disagreements_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Items that two or more annotators scored differently, the farthest apart first, with what each gave."""
    labels = answers[answers["score"].notna()]
    names = _columns_of(labels["rater"].unique().tolist())
    scores = labels.groupby(["item", "criterion"], sort=False)["score"]
    apart = answers[answers["item"].isin(labels.loc[scores.transform("max") > scores.transform("min"), "item"])]
    found = []
    for (item, criterion), rows in apart.groupby(["item", "criterion"], sort=False):
        known = rows[rows["score"].notna()]
        spread = known["score"].max() - known["score"].min()
        if spread > 0:
            gave = {names[rater]: score for rater, score in zip(known["rater"], known["score"], strict=True)}
            row = {"item": item, "criterion": criterion, "spread": spread, "comments": _said(rows)}
            found.append((spread / _width(rows["scale"].iloc[0]), row | gave))
    found.sort(key=lambda pair: -pair[0])  # of several scales each by its share
    return pd.DataFrame([row for _, row in found], columns=[*_OWN, *names.values()])


def _columns_of(raters: list[str]) -> dict[str, str]:
    """Names of annotators as columns beside those of the table."""
    return {name: f"{name} (annotator)" if name in _OWN else name for name in raters}


_OWN = ("item", "criterion", "spread", "comments")


def _said(rows: pd.DataFrame) -> str:
    pairs = zip(rows["rater"], rows["comment"], strict=True)
    return "; ".join(f"{rater}: {comment}" for rater, comment in pairs if comment.strip())


def _width(scale: str) -> float:
    known = parse_scale(scale)
    return 1.0 if known is None else known.high - known.low


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
    found = [(str(name), *_strictness(rows)) for name, rows in labels.groupby("criterion", sort=False)]
    if not found:
        return []
    adjusted_p = adjusted([p for _, p, _ in found], "holm")
    notes = []
    for (criterion, _, mean), p in zip(found, adjusted_p, strict=True):
        if p < _FLAGGED:
            told = ", ".join(f"{name!r} {value:+.2g}" for name, value in mean.sort_values().items())
            notes.append(
                f"{criterion}: annotators differ on the items in common ({told} from the items' means, p {short(p)}): "
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
    told = f"{counted(int(long.sum()), 'item')} took more than ten times the median (the longest {longest:.0f} s)"
    return total / labels, [f"{told} and count as ten times it in the seconds per label."] * bool(long.any())
