"""Rows of judges and of people matched by item: repeats, spellings of systems and ids, what has no counterpart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.availability import LEAST_GOLD
from calib.inputs.cells import folded
from calib.inputs.names import Rows, Side, is_model, loose, stems
from calib.inputs.roles import Seen
from calib.inputs.rows import as_pairs, as_win_rates, averaged_orders, in_one_order
from calib.table import TableError, scale_words

Sides: TypeAlias = dict[Side, Rows]  # the rows of judges and of people, where there are any
_KEY = ["item", "system", "criterion", "rater", "shown"]  # of a pair a judge may be asked in both orders


def of_one_spelling(judges: Rows, people: Rows, name: str, notes: list[str]) -> Rows:
    """People's rows with systems or criteria spelled as the judge's are."""
    mine, theirs = judges.rows[name].dropna().unique(), people.rows[name].dropna().unique()
    if set(theirs) <= set(mine):
        return people
    ours = {_spelling(value): value for value in mine}
    other = {one: ours[_spelling(one)] for one in theirs if one not in mine and _spelling(one) in ours}
    if name == "criterion":  # helpful and helpfulness, relevant and answer relevancy, where no other may be meant
        for one in (one for one in theirs if one not in mine and one not in other):
            near = [value for value in mine if stems(one) <= stems(value)]
            rivals = [value for value in theirs if near and stems(value) <= stems(near[0])]
            if len(near) == len(rivals) == 1:
                other[one] = near[0]
    if not other:
        return people
    such = ", ".join(f"{value!r} as {spelled!r}" for value, spelled in list(other.items())[:3])
    notes.append(f"the labels spell each {name} otherwise than the scores: {such} are taken as one.")
    names = people.rows[name].map(lambda value: other.get(value, value))
    return replace(people, rows=people.rows.assign(**{name: names}))


def _spelling(name: object) -> tuple[str, ...]:
    """What two spellings of a name have in common; b1.2 is no b12."""
    return loose(name), *re.findall(r"\d+", str(name))


def matched(
    by_side: Sides, files: Sequence[Seen], notes: list[str], *, pairwise: bool, in_pairs: bool, first: str
) -> Sides:
    """Both sides without repeats, under one spelling of systems and of items."""
    sides = dict(by_side)
    for name, side in by_side.items():
        rows = in_one_order(side, files) if pairwise or in_pairs else side
        # in one file a judge's score repeats for each annotator, and a label for each judge
        other = "annotator" if name == "judge" else "rater"
        repeats = any(other in one.roles and one.of("judge") and one.of("label") for one in files)
        noted = any(note.startswith(f"{side.source.name}: ") and " rows repeat others" in note for note in notes)
        sides[name] = _refuse_repeated(rows, notes, repeats=repeats or noted)
    if len(sides) == 2:
        sides["label"] = of_one_spelling(sides["judge"], sides["label"], "system", notes)
    for name, side in sides.items() if pairwise or in_pairs else ():
        mean = averaged_orders(side)
        sides[name] = as_pairs(mean, files) if in_pairs else as_win_rates(mean, files, first)
    if len(sides) == 2 and not set(sides["judge"].rows["item"]) & set(sides["label"].rows["item"]):
        # ids such as 7.0, which a gap in the file made of 7
        for name, side in sides.items():
            ids = side.rows["item"]
            if len(ids) and all(text.endswith(".0") and text[:-2].isdigit() for text in map(str, ids)):
                notes.append(f"{side.source.name}: ids such as {ids.iloc[0]!r} are taken as {ids.iloc[0][:-2]!r}.")
                sides[name] = replace(side, rows=side.rows.assign(item=ids.str.slice(0, -2)))
    if len(sides) == 2 and all(side.table is None for side in sides.values()):
        sides["label"] = _with_like_ids(sides["judge"], sides["label"], notes)
    sides = _by_system(sides)
    if len(sides) == 2:
        _refuse_unmatched(sides["judge"], sides["label"], files, notes)
    return sides


def _with_like_ids(judges: Rows, people: Rows, notes: list[str]) -> Rows:
    """People's rows with ids as the judge spells them: T-7 is t007, where no other id may be meant."""
    scored, labelled = set(judges.rows["item"]), set(people.rows["item"])
    like: dict[tuple[str, ...], list[str]] = {}
    for name in scored | labelled if labelled - scored else ():
        parts = re.findall(r"\d+|[^\W\d_]+", name.casefold()) if re.search(r"\d", name) else [name.casefold()]
        like.setdefault(tuple(part.lstrip("0") or "0" for part in parts), []).append(name)
    two = [sorted(names, key=scored.__contains__) for names in like.values() if len(names) == 2]
    same = {name: other for name, other in two if name not in scored and other not in labelled}
    if not same:
        return people
    first = next(name for name in people.rows["item"] if name in same)
    of = f"ids of {len(same)} of {len(labelled)} labelled items"
    notes.append(f"{of} are spelled otherwise than the judge's, such as {first!r} for {same[first]!r}: taken as one.")
    return replace(people, rows=people.rows.assign(item=people.rows["item"].map(lambda name: same.get(name, name))))


def _refuse_repeated(side: Rows, notes: list[str], *, repeats: bool) -> Rows:
    """Equal rows count once; rows that contradict each other are refused.

    `repeats` is for scores that stand in a row for each annotator of their item.
    """
    if not side.ids or side.table is not None:
        return side
    key = [name for name in _KEY if name in side.rows]
    order = side.rows["score"].isna().sort_values(kind="stable").index  # what was read before what was not
    extra = side.rows.loc[order].duplicated(key).sort_index()
    if not extra.any():
        return side
    again = side.rows[side.rows.duplicated(key, keep=False)]
    unlike = again.groupby(key, dropna=False, sort=False)["score"].transform("nunique") > 1
    rows = again[unlike] if unlike.any() else again
    same = rows[key].fillna("")
    rows = rows[(same == same.iloc[0]).all(axis=1)].iloc[:2]  # the first two of one item, system, criterion and rater
    first = rows.iloc[0]
    if not unlike.any():
        if not repeats:
            such = f"such as {' and '.join(map(side.line, rows['at']))}, of {first['item']!r}"
            notes.append(f"{side.source.name}: {int(extra.sum())} rows repeat others ({such}): each counts once.")
        return replace(side, rows=side.rows[~extra].reset_index(drop=True))
    lines = " and ".join(f"{side.line(at)} ({score:g})" for at, score in zip(rows["at"], rows["score"], strict=True))
    of = "".join(f", {name} {first[name]!r}" for name in ("system", "criterion") if first[name] is not None)
    message = (
        f"{side.source.name}: column `{side.ids}`: {first['item']!r}{of} has several scores by {first['rater']!r}, "
        f"in {lines}. Where a column tells them apart, name it: system, criterion, annotator, rater "
        f"(in a shell --system, ...); else keep one row of each."
    )
    # columns that tell them apart: they differ where item, system and criterion are the same, and have few values
    frame, by_line = side.source.frame, side.rows.drop_duplicates("at").set_index("at")
    keys = by_line[["item", "system", "criterion"]].fillna("").astype(str).agg("/".join, axis=1)
    few = [
        name
        for name in frame.columns.difference([side.ids, *side.rows["column"]], sort=False)
        if not pd.api.types.is_float_dtype(frame[name].dtype)
        and 1 < frame[name].astype(str).nunique() <= len(frame) / 2
    ]
    cells = frame[few].astype(str).loc[keys.index]

    def distinct(*names: str) -> bool:
        return not pd.concat([keys, *(cells[name] for name in names)], axis="columns").duplicated().any()

    apart = [f"`{name}` does" for name in few if distinct(name)]
    apart = apart or [f"`{one}` and `{two}` together do" for one, two in combinations(few, 2) if distinct(one, two)]
    as_they_are = "compare_runs takes the trials of runs as they are, convergence the draws of a judge"
    hint = f" Here {' or '.join(apart[:2])}: {as_they_are}; else keep one of each, or their mean." if apart else ""
    raise TableError(message + hint)


def _by_system(sides: Sides) -> Sides:
    """Where items repeat over systems, each output becomes an item, and what was an item its group.

    Each row must say whose output it is.
    """
    repeated: Rows | None = None
    for side in sides.values():
        pairs = side.rows[["item", "system"]].drop_duplicates()
        if repeated is None and pairs["system"].notna().any() and pairs["item"].duplicated().any():
            repeated = side
    if repeated is None:
        return sides
    every = {f"{item}/{system}" for item, system in zip(repeated.rows["item"], repeated.rows["system"], strict=True)}
    for side in sides.values():
        if side.rows["system"].isna().any() and not set(side.rows["item"]) & every:
            where = f"`{repeated.system}`" if repeated.system else "one column for each"
            rule = f"must be a column of {side.source.name} as well (or one column for each system)"
            unnamed = f"and {side.source.name} does not say whose output it is"
            raise ArgumentError("system", rule, f"{repeated} repeats over systems ({where}), {unnamed}")
    split = dict(sides)
    for name, side in sides.items():
        if side.table is None:
            rows, whole = side.rows, side.rows["system"].isna()
            group = rows["group"].where(rows["group"].notna(), rows["item"])
            item = rows["item"].where(whole, rows["item"] + "/" + rows["system"].astype(str))
            split[name] = replace(side, rows=rows.assign(item=item, group=group.where(~whole, rows["group"])))
    return split


def _refuse_unmatched(judges: Rows, people: Rows, files: Sequence[Seen], notes: list[str]) -> None:
    """Refuse labels none of which is of a scored item, and note those that are of no scored item.

    Where there are more labels than scores, the files may be swapped.
    """
    scored, labelled = dict.fromkeys(judges.rows["item"]), dict.fromkeys(people.rows["item"])
    unmatched = [item for item in labelled if item not in scored]
    such = " and ".join(map(repr, unmatched[:2]))
    if scored and labelled and len(unmatched) == len(labelled):
        hint = "; item= and label_item= (--column item=, --column label_item=) name other columns"
        hint += "; of a log `calib read-log --item` names the field of ids" * (judges.table is not None)
        mine = " and ".join(map(repr, list(scored)[:2]))
        raise TableError(f"no id is in both: {judges} has {mine}, {people} has {such}{hint}.")
    if unmatched:
        of = f"{len(unmatched)} of {len(labelled)} labelled items have no score of the judge"
        notes.append(f"{of} and are left out, such as {such} ({people}).")
    n_scored = judges.rows.loc[judges.rows["score"].notna(), "item"].nunique()
    n_labelled = people.rows.loc[people.rows["score"].notna(), "item"].nunique()
    if n_labelled <= n_scored or people.table is not None or judges.table is not None:
        return
    counts = f"{people.source.name} labels {n_labelled} items and {judges.source.name} scores {n_scored} of a judge"
    # whether anything but the order of the files says which are the labels
    says = [v for one in files for v in one.graded if v.why == "as was said" or v.name.side == v.side]
    if len(files) > 1 and all(v.why != "as was said" and is_model(v.name.entity) for v in says):
        rule = "the judge's file comes first, so these two may be swapped. If they are not, say which columns hold what"
        raise TableError(f"{counts}: {rule}: judge= and label= (--judge, --label).")
    notes.append(f"{counts}: labels without a score are left out. Are the two columns or files the wrong way round?")


def reversed_judges(sides: Sides, files: Sequence[Seen], scale: str, *, pairwise: bool) -> Iterator[str]:
    """Judges that go against the labels by more than chance; where both have words, with the scale to turn theirs."""
    if len(sides) < 2:
        return
    by, hint = ["item", "criterion", *["system"] * pairwise], ""
    people = sides["label"].rows.astype({"score": float}).groupby(by, observed=True)["score"].mean().rename("label")
    both = sides["judge"].rows[[*by, "rater", "score"]].merge(people, left_on=by, right_index=True).dropna()
    cells = {side: [one.source.frame[v.column] for one in files for v in one.of(side)] for side in sides}
    words = {side: {folded(str(cell)) for some in columns for cell in some} for side, columns in cells.items()}
    values = scale_words(scale) if scale and ".." not in scale else ()
    mine = {folded(word) for word, _ in values} & words["judge"]
    if mine and not mine & words["label"]:
        top = max(value for _, value in values)
        turned = (f"{word}={top - value if folded(word) in mine else value:g}" for word, value in values)
        hint = f" (scale={'|'.join(turned)!r} turns the judge's)"
    for (criterion, rater), rows in both.groupby(["criterion", "rater"], observed=True, sort=False):
        ranks = rows[["score", "label"]].astype(float).rank()
        if len(rows) < LEAST_GOLD or ranks.std().min() == 0:
            continue
        if (r := float(ranks["score"].corr(ranks["label"]))) < min(-0.3, -2 / math.sqrt(len(rows))):
            who = f"{rater} ({criterion})" if len(both["criterion"].unique()) > 1 else rater
            yield f"{who} goes against the labels (rank correlation {r:.2f}): is one of the scales reversed{hint}?"
