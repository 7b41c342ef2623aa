"""What answers say about those who gave them: how many, how fast, whether they drift, where they differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from calib import stats
from calib.core.numeric import adjusted
from calib.core.result import short
from calib.labelling.answers import counted
from calib.labelling.task import CANNOT_SAY
from calib.table import parse_scale

_PAUSE = pd.Timedelta(minutes=30)
_FLAGGED = 0.05
_FEW = 10  # labels below which the same one each time says nothing
_COMMON = 5  # items in common below which no difference of annotators can be told
_LONG = 10  # medians: a page that was left open


def annotators_of(answers: pd.DataFrame) -> pd.DataFrame:
    """A row per annotator and criterion: counts, times, the sitting's numbers; p-values adjusted over all of them."""
    together = sittings_of(answers)
    rows = [
        _row(str(rater), str(criterion), part, together.loc[part.index])
        for (rater, criterion), part in answers.groupby(["rater", "criterion"], sort=False)
    ]
    out = pd.DataFrame(rows)
    p = adjusted(out[["p_drift", "p_run"]].to_numpy(dtype=float).ravel(), "holm").reshape(-1, 2)
    out["p_drift"], out["p_run"] = p[:, 0], p[:, 1]
    out["flags"] = [_flags(row) for row in out.to_dict("records")]
    return out


def sittings_of(answers: pd.DataFrame) -> pd.Series:
    """The number of the sitting of each answer, from 0: a pause of more than half an hour begins another."""
    ordered = answers.sort_values(["rater", "when", "position"], kind="stable", na_position="first")
    pause = ordered.groupby("rater", sort=False)["when"].diff() > _PAUSE
    return pause.groupby(ordered["rater"], sort=False).cumsum().astype(int).reindex(answers.index)


def _row(rater: str, criterion: str, part: pd.DataFrame, sitting: pd.Series) -> dict[str, Any]:
    ordered = part.sort_values(["when", "position"], kind="stable", na_position="first")
    row = {
        "annotator": rater,
        "criterion": criterion,
        "n_items": part["item"].nunique(),
        "n_labels": int(part["score"].notna().sum()),
        "n_cannot_say": int((part["status"] == CANNOT_SAY).sum()),
        "n_comments": int((part["comment"].str.strip() != "").sum()),
        "n_sittings": int(sitting.nunique()),
        "first": part["when"].min(),
        "last": part["when"].max(),
    }
    if not row["n_labels"]:
        return row | dict.fromkeys(_NUMBERS, math.nan)
    told = stats.sitting(ordered["score"], seconds=ordered["seconds"], sittings=sitting[ordered.index].to_numpy())
    # of labels that are all the same no order is more or less likely
    p_run = told.p_run if math.isfinite(told.p_drift) or told.run < told.n else math.nan
    numbers = (
        told.seconds, told.seconds_first, told.seconds_last, told.mean, told.drift, *told.interval, told.tau,
        told.p_drift, told.run, told.run_value, p_run,
    )  # fmt: skip
    return row | dict(zip(_NUMBERS, numbers, strict=True))


_NUMBERS = (
    "seconds", "seconds_first", "seconds_last", "mean", "drift", "conf_low", "conf_high", "tau", "p_drift", "run",
    "run_value", "p_run",
)  # fmt: skip


def _flags(row: dict[str, Any]) -> str:
    """What is out of the ordinary, by its name."""
    same = row["n_labels"] >= _FEW and row["run"] == row["n_labels"]
    found = {"drift": row["p_drift"] < _FLAGGED, "run": row["p_run"] < _FLAGGED, "all the same": same}
    return ", ".join(name for name, there in found.items() if there)


def flagged(annotators: pd.DataFrame) -> list[str]:
    """A sentence for each flag, which says what to look at."""
    notes = []
    for row in annotators.to_dict("records"):
        who, value = f"{row['annotator']!r} on {row['criterion']}", short(row["run_value"])
        if "drift" in row["flags"]:
            ends = f"95 % CI {row['conf_low']:+.2g} to {row['conf_high']:+.2g}, p {short(row['p_drift'])}"
            drift = f"labels drift by {row['drift']:+.2g} from the first to the last of a sitting ({ends})"
            notes.append(f"{who}: {drift}: have some of the first labelled again.")
        if "run" in row["flags"]:
            run = f"{row['run']:.0f} labels of {value} in a row, which the same labels in random order"
            notes.append(f"{who}: {run} hardly ever have (p {short(row['p_run'])}): look at these again.")
        if "all the same" in row["flags"]:
            notes.append(
                f"{who}: all {row['n_labels']} labels are {value}, which says nothing about agreement or drift."
            )
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
