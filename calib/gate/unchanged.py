"""Outputs that a build did not change: which they are, the labels that carry over, and signs of a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from calib.analysis.calibration.calibration_map import sha
from calib.analysis.means.random_draw import p_of_draw
from calib.table import check_items

if TYPE_CHECKING:
    from calib.gate.evidence import Build

CHANGED, UNCHANGED = "changed", "unchanged"
_CERTAIN, _LEAST_PAIRS = 1e-3, 5  # p-value, outputs
_NEARLY, _ALIKE = 0.95, 0.75  # shares of labels, and of scores, that are the same
_NO_CHANCE, _LITTLE_CHANCE = 1e-6, 1e-3  # of scores, and of the fewer labels


def text_prints(items: Any) -> dict[str, str]:
    """Hashes of input and output, as "input/output", for each item that has both.

    The input is `source` and the group, or the one that there is.
    """
    table = check_items(items)
    inputs = [name for name in ("source", "group") if name in table]
    if "output" not in table or not inputs:
        return {}
    rows = table[table["output"].notna() & table[inputs].notna().all(axis=1)]
    prints = {}
    for item, *texts in zip(rows["item"], *(rows[name].astype(str) for name in inputs), rows["output"], strict=True):
        parts = ("\0".join([*inputs, *texts[:-1]]), texts[-1])
        prints[str(item)] = "/".join(sha(part).removeprefix("sha256:") for part in parts)
    return prints


def own_texts(rows: pd.DataFrame, prints: Mapping[str, str]) -> pd.Series:
    """The hash of each row; none where a system has several outputs to an input, which then is a topic or a talk."""
    text = rows["item"].astype(str).map(prints)
    source = text.map(lambda one: one.partition("/")[0], na_action="ignore")
    return text.mask(pd.DataFrame({"system": rows["system"], "source": source}).duplicated(keep=False))


def with_labels_of_unchanged(
    rows: pd.DataFrame, mine: pd.Series, prints: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.Series]:
    """The rows that are `mine`, with the labels that the same answer has elsewhere, and whose labels those are.

    The column `answer` says which are unchanged, since each kind is a stratum of its own: what is unchanged is no
    random sample of all.
    """
    text = own_texts(rows, prints)
    labelled = rows["y"].notna() & text.notna() & ~mine
    labels = rows.loc[labelled, "y"].astype(float).groupby(text[labelled]).mean()
    part = rows[mine]
    elsewhere = text[mine].map(labels)
    new = part["y"].isna() & elsewhere.notna()
    seen = set(text[~mine].dropna())
    answer = text[mine].isin(seen).map({True: UNCHANGED, False: CHANGED})
    whose = text[mine][new].map(rows.loc[labelled, "system"].groupby(text[labelled]).first())
    return part.assign(y=part["y"].where(~new, elsewhere).astype(float), answer=answer), whose


def unchanged_inputs(build: Build) -> set[object]:
    """Inputs to which both systems gave the same answer."""
    rows, sides = build.pair.scored, []
    text = own_texts(rows, build.prints)
    for name in (build.name, build.other):
        side = text[rows["system"] == name].set_axis(rows.loc[rows["system"] == name, build.inputs])
        sides.append(side[~side.index.duplicated()].dropna())
    first, second = sides
    both = first.index.intersection(second.index)
    return set(both[(first[both] == second[both]).to_numpy()])


def alike_throughout(y: Any, f: Any, rows: pd.DataFrame) -> str:
    """A warning where two builds without texts differ nowhere, on too many scores for chance: they are one build."""
    both = np.isfinite(y)
    if not len(f) or np.any(f != 0) or np.any(y[both] != 0):
        return ""
    for values, n, most in ((rows["x"], len(f), _NO_CHANCE), (rows["y"], int(both.sum()), _LITTLE_CHANCE)):
        shares = values.dropna().value_counts(normalize=True)
        # how often n inputs would all agree if the values of two builds were drawn apart
        if not n or float((shares**2).sum() ** n) > most:
            return ""
    return f"same_tables: each of {len(f)} inputs has the same score in both builds: taken as the same outputs"


def copied_labels(build: Build) -> str:
    """Why labels look copied from another build: they are the same, and the judge's scores differ."""
    rows = build.pair.scored
    rows = rows.assign(text=own_texts(rows, build.prints))
    mine = rows[rows["system"] == build.name].drop_duplicates(build.inputs)
    for system, theirs in rows[rows["system"] != build.name].groupby("system", observed=True):
        both = mine.merge(theirs.drop_duplicates(build.inputs), on=build.inputs, suffixes=("", "_b"))
        both = both.dropna(subset=["x", "x_b", "y", "y_b"])
        both = both[both["text"].isna() | (both["text"] != both["text_b"])]
        same = int((both["y"] == both["y_b"]).sum())
        chance = float((both["y"].value_counts(normalize=True) ** 2).sum()) ** len(both)
        alike = float((both["x"] == both["x_b"]).mean()) if len(both) else 1.0
        if same >= _NEARLY * len(both) and chance < _LITTLE_CHANCE and alike < _ALIKE:
            which = f"{same} of {len(both)} labels of {build.name} equal those of {system} on the same input"
            return f"{which}, but the judge's scores do not: check that they were not copied between the builds"
    return ""


def stale_texts(build: Build) -> str:
    """Why texts cannot be the same in both builds: the judge or people score them differently."""
    rows = build.pair.scored
    text, mine = own_texts(rows, build.prints), rows["system"] == build.name
    theirs = ~mine if build.other is None else rows["system"] == build.other
    for name, who in (("x", "the judge scores"), ("y", "people label")):
        means = [rows.loc[side, name].astype(float).groupby(text[side]).mean() for side in (mine, theirs)]
        apart = (means[0] - means[1]).dropna().to_numpy()
        if len(apart) < _LEAST_PAIRS or not apart.any():
            continue
        if np.ptp(apart) == 0 or ttest_1samp(apart, 0).pvalue < _CERTAIN:
            which = f"{len(apart)} outputs have the same text in both builds, but {who} them {apart.mean():+.2g} apart"
            return f"{which}: check that `items` holds the texts of this build"
    # labels of one build on some of these texts and of the other on others
    shared = text.isin(set(text[mine].dropna()) & set(text[theirs].dropna())) & rows["y"].notna() & (mine | theirs)
    labels, own = rows.loc[shared, "y"].to_numpy(float), mine[shared].to_numpy()
    if p_of_draw(labels, own) < _CERTAIN:
        apart = labels[own].mean() - labels[~own].mean()
        which = f"on texts that both builds have, {own.sum()} labels of {build.name} lie {apart:+.2g} apart from"
        return f"{which} {(~own).sum()} of another build: check that `items` holds the texts of this build"
    return ""
