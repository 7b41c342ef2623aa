"""Pairs of raters: scores of two aligned by item, with the counts of items that do not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib.core.progress import progress
from calib.table import TableError, parse_scale
from calib.table.results import words
from calib.table.validate import REPRESENTED, SliceKey, ValidatedTable, by_criterion, items_in, little_mass, slices

DESIGN = ("chosen", "inclusion", "stratum", "design")
# columns that two raters have side by side
_RESERVED = frozenset(("x", "y", "_merge", "item", "score", "scale_y", "group_y", "system_y"))
FOLDED = ("fold", "calibration")  # what `calibrate` wrote beside its scores


def chosen_in(frame: pd.DataFrame) -> pd.Series:
    """Which items `choose` drew; a file has words for it, or nothing where an item was not drawn.

    Examples
    --------
    >>> chosen_in(pd.DataFrame({"chosen": ["True", "FALSE", 1, None]})).tolist()
    [True, False, True, False]
    """
    words = frame["chosen"].astype(str).str.strip().str.lower()
    chosen = words.isin(["true", "1", "1.0"])
    odd = ~(chosen | words.isin(["false", "0", "0.0", ""]) | frame["chosen"].isna())
    if odd.any():
        row = int(odd.to_numpy().argmax())
        raise TableError(f"column `chosen`, row {row}: must be true or false, but got {frame['chosen'].iloc[row]!r}.")
    return chosen


def unequal_chances(frame: pd.DataFrame) -> bool:
    """Whether some of the items were likelier to be drawn; not where no chances are known."""
    chance = frame["inclusion"].dropna().astype(float) if "inclusion" in frame else pd.Series(dtype=float)
    return bool(chance.max() - chance.min() > 1e-6 * chance.max())


def drawn_unequally(frame: pd.DataFrame) -> bool:
    """Whether `choose` drew by strata or coins, or items with chances of their own.

    Examples
    --------
    >>> frame = pd.DataFrame({"design": "simple", "inclusion": [0.2, 0.2, 1.0]})
    >>> drawn_unequally(frame.head(2)), drawn_unequally(frame)
    (False, True)
    """
    return unequal_chances(frame) or ("design" in frame and bool(frame["design"].isin(["strata", "active"]).any()))


def refuse_drawn_unequally(frame: pd.DataFrame, what: str, system: str) -> None:
    """Refuse labels of which some were likelier to be drawn, for what has no place for chances."""
    if drawn_unequally(frame):
        rule = f"{what} needs labels that were drawn simply or by groups (choose with design='groups')"
        raise TableError(f"{rule}, but those of {system!r} were drawn by strata or with chances that differ.")


@dataclass(frozen=True, slots=True)
class Pair:
    """Scores of one rater beside another's, aligned by item; NaN where the other has none."""

    label: dict[str, Any]
    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def both(self) -> pd.DataFrame:
        """The items that both have."""
        return self.frame[self.frame["_merge"] == "both"]

    @property
    def scored(self) -> pd.DataFrame:
        """The items of the first rater; `y` is NaN where the second has none."""
        return self.frame[self.frame["_merge"] != "right_only"]

    @property
    def n_labels_unmatched(self) -> int:
        """Items of the second rater alone."""
        return len(self.frame) - len(self.scored)

    @property
    def n_unmatched(self) -> int:
        """Items that only one of the two has."""
        return items_in(self.frame) - len(self.both)

    @property
    def fold_doubts(self) -> tuple[str, ...]:
        """A warning that calibration in folds of these labels makes a correlation too low."""
        fold, calibration = FOLDED
        both = self.both
        if calibration not in both or both[calibration].isna().all() or fold not in both or both[fold].nunique() < 2:
            return ()
        text = "scores are by maps that have not seen these labels and differ, against them, so that a correlation is"
        count = f"{int(both[fold].notna().sum())} of {len(both)}"
        return (f"folds_apart: {count} {text} too low; take the judge's own scores for that",)

    def on_one_scale(self, purpose: str) -> bool:
        """Whether both sides say their scale, which must be one."""
        sides = {"scores": ["x", "scale"], "labels": ["y", "scale_y"]}
        both = {name: self.both[columns].set_axis(["score", "scale"], axis=1) for name, columns in sides.items()}
        return one_scale(self.label, purpose, **both)


def pairs_of(first: ValidatedTable, second: ValidatedTable, columns: Sequence[str | None] = ()) -> Iterator[Pair]:
    """Every rater of the one table beside every other rater of the second on the same criterion.

    `columns` of the first ride along.
    """
    names = [name for name in columns if name is not None]
    for name in _RESERVED.intersection(names):
        raise TableError(f"a column called {name!r} cannot be used here, as calib has one of that name: rename it.")
    theirs_on = {criterion: list(slices(rows)) for criterion, rows in by_criterion(second.frame)}
    shared = False
    for label, mine in progress([*first.slices()], "raters"):
        for other, theirs in theirs_on.get(label["criterion"], ()):
            if SliceKey.of(label) == SliceKey.of(other):
                continue
            shared = True
            against = f"{other['rater']} ({other['prompt']})" if other["prompt"] else other["rater"]
            yield Pair(label | {"against": against}, aligned(mine, theirs, names), little_mass(label, mine))
    if not shared:
        raise TableError(
            f"scores and labels must share a criterion and differ in the rater (rater=, in a shell --column rater=), "
            f"but scores have {first.holds} and labels {second.holds}."
        )


def aligned(mine: pd.DataFrame, theirs: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """All items of both, with `x`, `y`, and group and system from whichever side has them."""
    # the columns that `choose` wrote beside a judge's scores describe how the labelled items were drawn
    mine_only = ["n", "n_unread", "mass", "low", "high", *REPRESENTED, *DESIGN, *FOLDED, *columns]
    sides = []
    for frame, value, only in ((mine, "x", mine_only), (theirs, "y", ["n_cannot_say"])):
        names = [name for name in dict.fromkeys(("group", "system", "scale", *only)) if name in frame]
        plain = frame[["item", "score", *names]].astype(dict.fromkeys(names, object))
        sides.append(plain.rename(columns={"score": value}))
    mine, theirs = sides
    # an outer merge by item, in the order of items; without a search where all of theirs are among mine
    places = _places_in(mine["item"].array, theirs["item"].array)
    if places is None:
        mine, theirs = (side.astype({"item": object}) for side in sides)
        both = mine.merge(theirs, on="item", how="outer", suffixes=("", "_y"), indicator=True, sort=False)
    else:
        order, place = places
        left = mine.take(order).reset_index(drop=True).astype({"item": object})
        right = theirs.drop(columns="item").rename(columns={name: f"{name}_y" for name in theirs if name in mine})
        right = right.take(place) if (place >= 0).all() else right.reset_index(drop=True).reindex(place)
        merge = pd.Categorical.from_codes(np.where(place >= 0, 2, 0), ["left_only", "right_only", "both"])
        both = pd.concat([left, right.set_axis(left.index, axis=0), pd.Series(merge, name="_merge")], axis=1)
    for name in ("group", "system", "scale"):
        if f"{name}_y" in both:
            both[name] = both[name].where(both[name].notna(), both[f"{name}_y"])
    return both


def _places_in(mine: Any, theirs: Any) -> tuple[Any, Any] | None:
    """The order of my items, and where theirs stand, -1 for nowhere; None where one is not mine, or comes twice."""
    if not all(isinstance(side, pd.Categorical) and len(side) for side in (mine, theirs)):
        return None
    names, wanted = mine.categories, theirs.categories
    if not names.is_monotonic_increasing or len(mine) > len(names):
        return None
    row = np.full(len(names), -1)
    row[mine.codes] = np.arange(len(mine))
    few = 50 * len(wanted) < len(names)
    near = np.minimum(np.searchsorted(names, wanted), len(names) - 1) if few else names.get_indexer(wanted)
    at = np.where(names.take(near) == wanted, near, -1)[theirs.codes] if few else near[theirs.codes]
    whose = np.full(len(names), -1)
    whose[at] = np.arange(len(theirs))
    order = row[row >= 0]
    if (at < 0).any() or (row[at] < 0).any() or len(order) < len(mine) or (whose >= 0).sum() < len(theirs):
        return None
    return order, whose[row >= 0]


def one_scale(label: dict[str, Any], purpose: str, **sides: pd.DataFrame) -> bool:
    """Whether all sides say their scale, which must be one; a side that does not must have its scores on it.

    Examples
    --------
    >>> judge, people = (pd.DataFrame({"score": [3.0], "scale": [scale]}) for scale in ("0..100", "1|2|3|4|5"))
    >>> one_scale({"criterion": "fluency"}, "'exact'", scores=judge, labels=people)
    Traceback (most recent call last):
        ...
    calib.table.schema.TableError: fluency: scores and labels must be on one scale for 'exact', but scores are on \
'0..100' and labels on '1|2|3|4|5'.
    """
    scales = {
        name: sorted({str(text) for text in side["scale"].dropna().unique()} - {""}) for name, side in sides.items()
    }
    every = [text for texts in scales.values() for text in texts]
    ends = {(scale.low, scale.high): text for text in every if (scale := parse_scale(text))}
    rule = f"{words(label)}: {' and '.join(sides)} must be on one scale for {purpose}"
    if len(ends) > 1:
        stated = [f"{name} on {' and '.join(map(repr, texts))}" for name, texts in scales.items() if texts]
        stated[0] = stated[0].replace(" on ", " are on ", 1)
        raise TableError(f"{rule}, but {' and '.join(stated)}.")
    for name, side in sides.items() if ends else ():
        (low, high), text = next(iter(ends.items()))
        off = side["score"].dropna().astype(float)
        off = off[~off.between(low, high)]
        if len(off) and not scales[name]:
            raise TableError(f"{rule}, {text!r}, but {name} have {off.iloc[0]:g}.")
    return all(scales.values())


def labels_in(frame: pd.DataFrame, name: str) -> Any:
    return frame[name].to_numpy() if name in frame and frame[name].notna().all() and len(frame) else None


def factors_of(rows: pd.DataFrame, items: pd.Index) -> pd.DataFrame:
    """Group and system of the items, from whichever row has them."""
    names = [name for name in ("group", "system") if name in rows]
    return rows[["item", *names]].astype(object).groupby("item", sort=False).first().reindex(items)


def raters_side_by_side(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The scores of one criterion as items x raters; one rater under two prompts is two."""
    plain = rows.astype({"item": object})
    who = plain.groupby(list(SliceKey._fields), observed=True, dropna=False, sort=False).ngroup()
    table = plain.assign(who=who).pivot(index="item", columns="who", values="score")  # noqa: PD010 - no averages
    return table.reindex(pd.unique(plain["item"])), short_names([label for label, _ in slices(rows)])


# --- several judges beside each other ---------------------------------------------------------------------------------


def joined_items(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Each item once, with the label and the design from whichever frame has them."""
    return pd.concat(frames).drop(columns="x").groupby("item", sort=False).first()


def identity(label: dict[str, Any]) -> tuple[SliceKey, str]:
    """Who was compared with whom: labels themselves differ where a temperature is missing."""
    return SliceKey.of(label), label["against"]


def names_of_judges(labels: list[dict[str, Any]]) -> dict[tuple[SliceKey, str], str]:
    """A name for each label, which tells it from all others of its criterion."""
    names: dict[tuple[SliceKey, str], str] = {}
    for key in {(label["criterion"], label["against"]) for label in labels}:
        those = {identity(label): label for label in labels if (label["criterion"], label["against"]) == key}
        names |= dict(zip(those, short_names(list(those.values())), strict=True))
    return names


def short_names(labels: list[dict[str, Any]]) -> list[str]:
    """What tells these judges apart: the rater, and as much of prompt, method and temperature as it takes."""
    names = [str(label["rater"]) for label in labels]
    for key in ("prompt", "method", "temperature"):
        if len(set(names)) == len(names):
            break
        if len({str(label[key]) for label in labels}) > 1:
            names = [f"{name} ({label[key]})" for name, label in zip(names, labels, strict=True)]
    return names
