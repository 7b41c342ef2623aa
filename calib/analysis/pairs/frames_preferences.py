"""Verdicts on pairs as tables of scores (the share of A that wins, in each order), battles, and items in pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from calib.core.text import printable
from calib.inputs.names import Columns, Data, Side
from calib.inputs.resolve import resolve_inputs
from calib.inputs.rows import in_file
from calib.scale.summarize import summarize
from calib.table import TableArgumentError, TableError, check_items, check_ratings, check_scores
from calib.table.driver import verb
from calib.table.schema import CellError
from calib.table.validate import ValidatedTable, scores_in

BY_ORDER = ["score_a_first", "score_b_first"]
SYSTEMS = ("system_a", "system_b")


def preference_scores(table: Any, argument: str) -> ValidatedTable:
    """Scores or ratings of pairs in the form of preferences: one row for each pair, criterion and rater."""
    if isinstance(table, pd.DataFrame) and "shown_first" in table:
        try:
            ratings = check_ratings(table)
        except TableError as error:
            raise TableError(f"`{argument}`: {error}") from None
        # what the ratings say of each pair; rows name its two in the order of the first
        names = [name for name in (*SYSTEMS, "group") if name in ratings]
        pairs = ratings.astype(dict.fromkeys(["item", *names], object))[["item", *names]].drop_duplicates("item")
        table = summarize(_turned(ratings, pairs))
        lost = [name for name in names if name not in table]
        table = table.merge(pairs[["item", *lost]], on="item", how="left") if lost else table
    checked = scores_in(table, argument)
    frame = checked.frame
    if (off := frame["score"].notna() & ~frame["score"].between(0, 1)).any():
        row = int(np.argmax(off.to_numpy()))
        rule = "must be the share of A that wins: 1, 0, 0.5 for a tie, or between"
        raise CellError(f"`{argument}`", "score", row, f"{rule}, but got {frame['score'].iloc[row]:g}")
    out = frame.assign(**{name: np.nan for name in BY_ORDER if name not in frame})
    group = out["item"] if "group" not in out else out["group"].astype(object).where(out["group"] != "", out["item"])
    return replace(checked, frame=check_scores(out.assign(group=group.astype(str))))


def in_the_order_of(judges: ValidatedTable, label_table: ValidatedTable) -> ValidatedTable:
    """People's verdicts in terms of the same A as the judge's, where both name the two."""
    if not {*SYSTEMS} <= set(judges.frame) & set(label_table.frame):
        return label_table
    pairs = judges.frame[["item", *SYSTEMS]].astype(object).drop_duplicates("item")
    return replace(label_table, frame=check_scores(_turned(label_table.frame, pairs)))


def _turned(frame: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Rows in terms of the A of their pair; a row that names the two the other way round is turned."""
    if not {*SYSTEMS} <= set(pairs) & set(frame):
        return frame
    of_pair = frame[["item"]].astype(object).merge(pairs.drop_duplicates("item"), on="item", how="left")
    turn = crossed(frame, of_pair).to_numpy()
    if not turn.any():
        return frame
    out = frame.copy()
    out["score"] = out["score"].where(~turn, 1 - out["score"])
    if "shown_first" in out:
        first = out["shown_first"].astype(object)
        out["shown_first"] = first.where(~turn, first.map({"a": "b", "b": "a", "": ""}))
    if {*BY_ORDER} <= set(out):
        a, b = (out[name].copy() for name in BY_ORDER)
        out["score_a_first"], out["score_b_first"] = a.where(~turn, 1 - b), b.where(~turn, 1 - a)
    own = frame[[*SYSTEMS]].astype(object)
    for name, other in (SYSTEMS, SYSTEMS[::-1]):
        out[name] = own[name].where(~turn, own[other])
    return out


def crossed(rows: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Where two tables of the same rows name the two systems of a pair the other way round."""
    own, other = (frame[[*SYSTEMS]].astype(object).reset_index(drop=True) for frame in (rows, others))
    turned = (own["system_a"] == other["system_b"]) & (own["system_b"] == other["system_a"])
    return turned & (own["system_a"] != own["system_b"])


BATTLE = ("group", *SYSTEMS)


def battles_in(table: ValidatedTable) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """For each criterion and rater: group, system_a, system_b, score, and the pair's id."""
    pairs = {*SYSTEMS} <= set(table.frame) and table.frame[[*SYSTEMS]].notna().all(axis=None)
    for label, rows in table.slices():
        if pairs:
            battles = rows.astype(dict.fromkeys(("item", *BATTLE), object))[["item", *BATTLE, "score"]]
            yield label, battles[battles["system_a"] != battles["system_b"]].reset_index(drop=True)
            continue
        # of scores, each output against each other to the same prompt: the higher score wins, equal ones tie
        for name in ("system", "group"):
            if name not in rows or rows[name].isna().any():
                rule = "must be pairs (system_a, system_b: give `summarize` the items), or scores"
                rule += " with `system` and `group`"
                lacks = f"lacks {name!r} for {label['criterion']} by {label['rater']}"
                raise TableArgumentError(table.argument, rule, lacks)
        keys = rows.astype({"group": object, "system": object})
        wide = keys.pivot_table(index="group", columns="system", values="score")
        parts = []
        for a, b in combinations(wide.columns, 2):
            both = wide[[a, b]].dropna()
            score = (np.sign(both[a] - both[b]) + 1) / 2
            battle = {"group": both.index, "system_a": a, "system_b": b, "score": score.to_numpy()}
            parts.append(pd.DataFrame(battle))
        battles = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*BATTLE, "score"])
        group, one, other = (battles[name].astype(str) for name in BATTLE)
        yield label, battles.assign(item=group + "\x1f" + one + "\x1f" + other)


_BETWEEN = " vs "
_OF_ONE = {"item", "output", "system"}  # columns of one output; a pair has two of each


@verb
def pair_items(items: Any, baseline: str | None = None) -> pd.DataFrame:
    """Pairs of systems' outputs on the same source, as items for a prompt that compares two.

    Two outputs make a pair where their `source` is the same (and their `group`, where there is one), or their `group`
    where there is no `source`; a warning counts outputs in no pair. Each pair stands there once: `rate` asks in both
    orders by itself.

    Parameters
    ----------
    items : DataFrame or path
        With `item`, `system`, `output`, and `source` or `group`.
    baseline : str, optional
        A system to compare each other one with; it is `output_b`, so that scores are shares of
        wins against it. Default: each system with each other, in the order of the table.

    Returns
    -------
    DataFrame
        A table of items, one row per pair: `item` ("x vs y", of the two ids), `source` and `group` as they were
        (`group` is the source's number where there was none), `output_a`, `output_b`, `system_a`, `system_b`, `item_a`,
        `item_b` (the ids), and other columns that both outputs have alike everywhere.

    Examples
    --------
    >>> import calib
    >>> items, _ = calib.load_planted()
    >>> pairs = pair_items(items, baseline="clean")
    >>> pairs.loc[0, ["item", "system_a", "system_b"]].tolist()
    ['news-harbour/coherence-1 vs news-harbour/clean', 'coherence-1', 'clean']
    """
    table = check_items(items)
    for name in ("system", "output"):
        if name not in table:
            there = ", ".join(repr(str(column)) for column in table)
            raise TableError(f"items: column `{name}` is missing, of which pairs are made; there are {there}.")
    shared = [name for name in ("group", "source") if name in table]
    if not shared:
        raise TableError("items: column `source` is missing (or `group`), which says what outputs are compared on.")
    # of each output: its row, the place of its system in the table, and its source
    rank, systems = pd.factorize(table["system"].astype(object))
    place = table.groupby(shared, sort=False, observed=True).ngroup()
    outputs = seconds = pd.DataFrame({"at": range(len(table)), "rank": rank, "place": place})
    if baseline is not None:
        names = list(systems)
        if str(baseline) not in names:
            some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
            raise TableArgumentError("baseline", f"must be one of the systems: {some}", f"got {baseline!r}")
        seconds = outputs[outputs["rank"] == names.index(str(baseline))]
    pairs = outputs.merge(seconds, on="place", suffixes=("_a", "_b"))
    pairs = pairs[pairs["rank_a"] < pairs["rank_b"] if baseline is None else pairs["rank_a"] != pairs["rank_b"]]
    if pairs.empty:
        among = " and ".join(f"`{name}`" for name in shared)
        raise TableError(f"items: column `system`: must have two or more systems with the same {among}, but has none.")
    if left := len(table) - len({*pairs["at_a"], *pairs["at_b"]}):
        other = "no other system" if baseline is None else f"not the baseline {baseline!r}"
        note = f"unpaired: {left} of {len(table)} outputs are in no pair, for {other} has an output on the same source."
        warnings.warn(printable(note), stacklevel=2)
    # the pairs as items, in the order of the table
    pairs = pairs.sort_values(["place", "at_a", "at_b"])
    plain = table.astype(object)
    first, second = (plain.iloc[pairs[at]].reset_index(drop=True) for at in ("at_a", "at_b"))
    # an id that could be taken for two is quoted in that of a pair
    ids = [[repr(name) if _BETWEEN in name else name for name in side["item"]] for side in (first, second)]
    out = pd.DataFrame({"item": pd.Series([_BETWEEN.join(pair) for pair in zip(*ids, strict=True)], dtype=object)})
    for name in [name for name in plain if name not in _OF_ONE]:
        if ((first[name] == second[name]) | (first[name].isna() & second[name].isna())).all():
            out[name] = first[name]
    if "group" not in table:
        out["group"] = "source " + (pairs["place"].to_numpy() + 1).astype(str).astype(object)
    for name in ("output", "system", "item"):
        out[f"{name}_a"], out[f"{name}_b"] = first[name], second[name]
    return check_items(out)


def preferences_in(
    scores: Data, labels: Data, columns: Columns, *, names: Sequence[str] = ("scores", "labels"),
    needs: Sequence[str] = ("judge",),
) -> tuple[ValidatedTable | None, ValidatedTable | None]:  # fmt: skip
    """Verdicts of judges and of people on pairs, each a table of scores with a row for each pair, criterion and rater.

    Columns: `item` (the pair), `group` (the prompt; the item where none is known), `criterion`, `rater`, `score` (the
    share of A that wins: 1, 0, .5 for a tie, or between), `score_a_first`, `score_b_first` (of each order in which the
    two were shown, NaN where it was not asked), and `system_a`, `system_b` where these are known. A is people's what it
    is the judge's.

    From scores of `summarize`, ratings in both orders, a table with `system_a`, `system_b`, `score` and `shown_first`,
    or files of one's own (model_a, model_b, winner), in which a pair may stand twice, once for each order.

    Examples
    --------
    >>> mine = {"id": ["q1", "q1"], "model_a": ["x", "y"], "model_b": ["y", "x"], "judge_winner": ["model_a", "tie"]}
    >>> judges, _ = preferences_in(mine, None, {})
    >>> judges.frame[["item", "system_a", "system_b", "score", "score_a_first", "score_b_first"]]
      item system_a system_b  score  score_a_first  score_b_first
    0   q1        x        y   0.75            1.0            0.5
    """
    files = resolve_inputs(scores, labels, columns, names=names, needs=needs, any_scale=True, in_pairs=True)
    try:
        return preferences_of(files.scores, files.annotations, names)
    except CellError as error:
        if files.inferred is None:
            raise
        side: Side = "label" if error.table == f"`{names[1]}`" else "judge"
        raise in_file(error, files.inferred.rows[side]) from None


def preferences_of(
    scores: Any, labels: Any, names: Sequence[str]
) -> tuple[ValidatedTable | None, ValidatedTable | None]:
    """Tables of judges and of people in the form of preferences, people's in terms of the same A as the judge's."""
    sides = zip((scores, labels), names, strict=True)
    judges, label_table = (None if table is None else preference_scores(table, name) for table, name in sides)
    if judges is not None and label_table is not None:
        label_table = in_the_order_of(judges, label_table)
    return judges, label_table
