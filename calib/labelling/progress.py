"""How far a labelling is: what is left of the drawn items, the interval so far, what a target asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.planning.frames import labels_needed
from calib.core.check import ArgumentError
from calib.core.result import short
from calib.labelling.answers import counted
from calib.table.gold import NAMES, ends_of, gold_pairs
from calib.table.labels import Progress
from calib.table.pairs import DESIGN, Pair, chosen_in
from calib.table.results import Results
from calib.table.validate import Checked, in_the_names_of

_START = 10  # labels before the first look of a confidence sequence


def against_drawn(answers: pd.DataFrame, drawn: Checked) -> list[str]:
    """What of the answers does not go with the drawing, and how many items wait for a label."""
    items, known, chosen = set(answers["item"]), set(drawn.frame["item"].astype(str)), chosen_of(drawn.frame)
    strangers = sorted(items - known)
    if len(strangers) == len(items):
        rule = "must have the items that were labelled"
        cut = {one.lstrip("0") or "0" for one in known} & items
        hint = " (a spreadsheet took the zeros in front of their ids: export from the page again)" * bool(cut)
        raise ArgumentError("drawn", rule, f"has none of {counted(len(items), 'item')}, such as {strangers[0]!r}{hint}")
    notes = []
    if strangers:
        notes.append(f"{counted(len(strangers), 'labelled item')} not among the drawn ones, such as {strangers[0]!r}.")
    if chosen is None:
        return notes
    if others := sorted(items & known - chosen):
        notes.append(f"{counted(len(others), 'labelled item')} not chosen by the drawing, such as {others[0]!r}.")
    if waiting := chosen - items:
        notes.append(f"{len(waiting)} of {len(chosen)} chosen items have no answer yet.")
    unsaid = set(answers.loc[answers["score"].isna(), "item"]) - set(answers.loc[answers["score"].notna(), "item"])
    if unsaid & chosen:
        notes.append(
            f"{len(unsaid & chosen)} of {len(chosen)} chosen items could not be judged, and count as unlabelled."
        )
    return notes


def chosen_of(frame: pd.DataFrame) -> set[str] | None:
    """The items that were chosen; None where nobody chose any."""
    return set(frame.loc[chosen_in(frame), "item"].astype(str)) if "chosen" in frame else None


def progress_of(answers: pd.DataFrame, gold: Checked, drawn: Checked, half_width: float | None) -> Progress:
    """What the labels say so far, and how many more a half-width asks for."""
    said: list[str] = []
    chosen, labelled = chosen_of(drawn.frame) or set(), set(answers.loc[answers["score"].notna(), "item"])
    asked, judged = (set(frame["criterion"].astype(str)) for frame in (gold.frame, drawn.frame))
    if not asked & judged:
        told = f"people were asked for {', '.join(sorted(asked))} and the judge for {', '.join(sorted(judged))}"
        return Progress(chosen=len(chosen), left=len(chosen - labelled), said=(f"{told}: there is no interval.",))
    pairs = list(gold_pairs(drawn, gold))
    first = _first_labels(answers)
    looks = [look for pair in pairs if (look := _so_far(pair, first, said)) is not None]
    needed = _needed(drawn, gold, pairs, half_width, said)
    return Progress(
        chosen=len(chosen),
        left=len(chosen - labelled),
        half_width=half_width,
        needed=needed,
        so_far=Results.of(looks) if looks else None,
        said=tuple(said),
    )


def _needed(
    drawn: Checked, gold: Checked, pairs: list[Pair], half_width: float | None, said: list[str]
) -> Results[Any] | None:
    if half_width is None:
        return None
    try:
        needed = labels_needed(drawn, gold, half_width=half_width)
    except ValueError as error:
        said.append(f"how many labels an interval of +/- {short(half_width)} needs is not known: {error}")
        return None
    for pair, result in zip(pairs, needed, strict=True):
        there = int(pair.frame["y"].notna().sum())
        more = min(result.n_gold, result.n_gold_alone) - there
        said.append(
            f"{pair.label['criterion']}: {counted(there, 'item')} labelled so far; "
            f"{'no more' if more <= 0 else f'{more} more'} needed for +/- {short(half_width)} "
            f"({result.n_gold} with the judge, {result.n_gold_alone} without), looked at once."
        )
    return needed


def _first_labels(answers: pd.DataFrame) -> pd.Series:
    """The rank of each criterion and item in the order in which they were first labelled; NaN where nothing tells it.

    Where times are missing or alike it is the place that an annotator's page gave the item, which is random, and where
    places are alike, too, a hash: never the order of the pool, in which the items of one system may stand together.
    """
    labels = answers[answers["score"].notna()]
    mixed = pd.util.hash_array(labels["item"].astype(str).to_numpy(dtype=object), categorize=False)
    ordered = labels.assign(mixed=mixed).sort_values(["when", "position", "mixed"], kind="stable")
    told = ordered["when"].notna() | ordered["position"].notna()
    ranks = pd.Series(np.arange(len(ordered)), index=ordered.index).where(told)
    return ranks.groupby([ordered["criterion"], ordered["item"]]).min()


def _so_far(pair: Pair, first: pd.Series, said: list[str]) -> tuple[dict[str, Any], Any] | None:
    """The interval that may be looked at after every label, in the order in which they came."""
    criterion, frame = pair.label["criterion"], pair.frame
    rows = frame[frame["y"].notna() & frame["x"].notna()]
    came = first.reindex(pd.MultiIndex.from_product([[criterion], rows["item"].astype(str)])).to_numpy(dtype=float)
    if why := _not_simple(frame, rows) or "no time or place says when each label came" * bool(np.isnan(came).any()):
        said.append(f"{criterion}: no interval that may be looked at after every label, as {why}; `interval` has one.")
        return None
    if len(rows) < _START:
        missing = counted(_START - len(rows), "label")
        said.append(f"{criterion}: {missing} short of the first interval, which needs {_START}.")
        return None
    ordered = rows.iloc[np.argsort(came, kind="stable")]
    pool = frame.loc[frame["x"].notna(), "x"].astype(float)
    y, x = (ordered[name].astype(float).to_numpy() for name in "yx")
    with in_the_names_of(pair.label, **NAMES, f_pool="drawn"):
        bounds = ends_of(frame, pair.label).get("bounds")
        return pair.label, stats.confidence_sequence(y, x, pool, bounds=bounds)


def _not_simple(frame: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Why labels are no simple random sample in the order in which they came; empty where they are one."""
    if not set(DESIGN) <= set(frame) or frame["design"].isna().all():
        return "nothing says how the items were drawn (`choose_items` writes it)"
    known = frame[frame["design"].notna()]
    if set(known["design"].astype(str)) != {"simple"} or len(known["stratum"].unique()) > 1:
        return "the items were not drawn simply"
    chosen = chosen_of(known) or set()
    return "" if set(rows["item"].astype(str)) <= chosen else "some labelled items were not drawn"
