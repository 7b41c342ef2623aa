"""Pairs on tables: position bias, agreement with people, preferences at equal length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.pairs.frames_preferences import (
    ORDERS,
    SYSTEMS,
    battles_in,
    in_the_order_of,
    preference_scores,
    preferences_in,
)
from calib.core.check import as_typed, choice
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import given, opened
from calib.table import SCORE_KEY, TableArgumentError, check_items, check_scores
from calib.table.gold import mean_of_people, with_warnings
from calib.table.pairs import labels_in, pairs_of
from calib.table.results import Results
from calib.table.validate import Checked, in_the_names_of, scores_in

_LENGTHS = ("length_a", "length_b")
_TEXTS = (
    ("output_a", "output_b"), ("my_output_a", "my_output_b"), ("response_a", "response_b"), ("answer_a", "answer_b"),
    ("output_1", "output_2"), ("response_1", "response_2"), ("completion_a", "completion_b"), ("text_a", "text_b"),
)  # fmt: skip


# --- position -------------------------------------------------------------------------------------------------------


def position_bias(
    first: Data,
    second: Data = None,
    *,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PositionBias]:
    """Does the judge favour what is shown first, or second: from pairs that it judged in both orders.

    Parameters
    ----------
    first : table, path or frame
        Ratings or scores of pairs in both orders (of `calib.rate` and `calib.summarize`), or a file of your own that
        has each pair twice: with its two the other way round in `model_a` and `model_b`, or a column `shown_first`.
    second : table, path or frame, optional
        The other order, where it has a table of its own; `first` then is the order in which A was shown first. Both
        are in terms of the same A, unless they name the two (`model_a`, `model_b`) the other way round.
    groups : str or None, default "group"
        The column of what pairs share (the prompt).
    confidence_level : float, default 0.95
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results of PositionBias
        One for each criterion and rater.

    Raises
    ------
    TableError
        If no pair was judged in both orders.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": [1, 1, 2, 2, 3, 3], "model_a": ["x", "y"] * 3, "model_b": ["y", "x"] * 3,
    ...         "judge_winner": ["model_a", "model_a", "model_a", "model_b", "tie", "model_b"]}
    >>> found = calib.position_bias(mine).one()
    >>> found.n_first, found.n_second, found.n, round(found.consistency, 3)
    (1, 1, 3, 0.333)
    """
    as_typed(position_bias, locals())
    table = _both_orders(first, second, columns)
    return Results.of(_position_answers(table, groups, confidence_level))


def _both_orders(first: Data, second: Data, columns: Columns) -> Checked:
    """Verdicts of each order, from one table or from two."""
    table = _verdicts(first, "first", columns)
    if second is None:
        return table
    other = in_the_order_of(table, _verdicts(second, "second", columns))
    one, two = (_plain_scores(each, name) for each, name in ((table, "score_a_first"), (other, "score_b_first")))
    same_rater = one["rater"].nunique() == two["rater"].nunique() == 1  # whatever each file calls it
    by = [name for name in SCORE_KEY if name != "rater" or not same_rater]
    # what was read in that order, else the verdict of a table that says nothing of the order
    names = {"score_b_first": "asked", "score": "said"}
    right = two[[*by, *names]].rename(columns=names)
    if not len(one.merge(right, on=by)):
        given = "no item, criterion, rater and prompt is in both"
        raise TableArgumentError("second", "must have pairs of {0}", given, mentions=("first",))
    both = one.merge(right, on=by, how="left", validate="one_to_one")
    both["score_a_first"] = both["score_a_first"].where(both["score_a_first"].notna(), both["score"])
    both["score_b_first"] = both["asked"].where(both["asked"].notna(), both["said"])
    return replace(table, frame=check_scores(both.drop(columns=["asked", "said"])))


def _verdicts(data: Data, argument: str, columns: Columns) -> Checked:
    """Of a judge, or of people where there is no judge."""
    found = preferences_in(data, None, columns, names=(argument, "gold"), needs=())
    table = found.judges if found.judges is not None else found.people
    if table is None:
        raise TableArgumentError(argument, "must hold verdicts on pairs", "none was recognised (name it: judge=)")
    return replace(table, argument=argument)


def _plain_scores(table: Checked, order: str) -> pd.DataFrame:
    """A table of one order; one of both is refused, as it is not clear which of them is meant."""
    frame = table.frame.astype({name: object for name in SCORE_KEY if name != "temperature"})
    if frame[[*ORDERS.values()]].notna().all(axis=1).any():
        rule = "must hold one order of each pair, where there are two tables"
        raise TableArgumentError(table.argument, rule, "it holds both of some")
    asked = frame[[*ORDERS.values()]].bfill(axis=1).iloc[:, 0]  # the order of a table is that of its argument
    return frame.assign(**{order: asked})


def _position_answers(
    table: Checked, groups: str | None, confidence_level: float
) -> Iterator[tuple[dict[str, Any], stats.PositionBias]]:
    asked = table.frame[[*ORDERS.values()]].notna().all(axis=1)
    if not asked.any():
        rule = "must hold pairs in both orders: each twice, or score_a_first and score_b_first (or give two tables)"
        raise TableArgumentError(table.argument, rule, f"none of {len(table.frame)} pairs has both")
    for label, rows in table.slices():
        if not rows[[*ORDERS.values()]].notna().all(axis=1).any():
            continue
        with in_the_names_of(label):
            a, b = (rows[name] for name in ORDERS.values())
            yield label, stats.position_bias(a, b, groups=_groups(rows, groups), confidence_level=confidence_level)


def _groups(rows: pd.DataFrame, name: str | None) -> Any:
    """The groups of pairs; a column that was asked for must be there."""
    if name is None:
        return None
    if name != "group" and name not in rows:
        raise TableArgumentError("groups", "must be a column of the scores", f"got {name!r}")
    return labels_in(rows, name)


# --- agreement with people ------------------------------------------------------------------------------------------


def pairwise_agreement(
    scores: Data,
    people: Data = None,
    *,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PairwiseAgreement]:
    """How often a judge of pairs prefers what people prefer: with ties and without, kappa, and its consistency.

    Parameters
    ----------
    scores : table, path or frame
        A judge's verdicts on pairs (ratings in both orders, scores, a file of your own with the winner of each pair),
        which may hold people's, too.
    people : table, path or frame, optional
        People's. Of several people a pair has the mean: A wins where it has more than half.
    groups : str or None, default "group"
        The column of what pairs share (the prompt).
    confidence_level : float, default 0.95
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results of PairwiseAgreement
        One for each criterion and rater. `n_missing` pairs of the judge have no verdict of people, or none of the
        judge's could be read; `n_unmatched` pairs of people have none of the judge.

    Raises
    ------
    TableError
        If no pair has a verdict of both.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(40), "judge_winner": ["A", "B", "tie", "A"] * 10,
    ...         "human_winner": ["A", "B", "A", "A"] * 10}
    >>> print(calib.pairwise_agreement(mine))
    preference, judge, human: agreement with ties 0.75, 95 % CI [0.5981, 0.8581] (n 40); without ties 1, 95 % CI \
[0.8865, 1] (n 30); kappa 0.5556, 95 % CI [0.3408, 0.7703] (n 40)
    """
    as_typed(pairwise_agreement, locals())
    found = preferences_in(scores, people, columns, needs=("judge", "label"))
    judges, labels = found.needed("judges", "scores"), mean_of_people(found.needed("people", "people"))
    return Results.of(_pairwise_answers(judges, labels, groups, confidence_level))


def _pairwise_answers(
    judges: Checked, people: Checked, groups: str | None, confidence_level: float
) -> Iterator[tuple[dict[str, Any], stats.PairwiseAgreement]]:
    more = [*ORDERS.values(), *([groups] if groups is not None and groups in judges.frame else [])]
    for pair in pairs_of(judges, people, more):
        rows = pair.frame[pair.frame["_merge"] != "right_only"]
        label = pair.label | {"n_unmatched": int((pair.frame["_merge"] == "right_only").sum())}
        with in_the_names_of(label, judge="scores"):
            result = stats.pairwise_agreement(
                rows["x"],
                rows["y"],
                orders=rows[[*ORDERS.values()]],
                groups=_groups(rows, groups),
                confidence_level=confidence_level,
            )
        yield label, with_warnings(result, pair.warnings)


# --- length ---------------------------------------------------------------------------------------------------------


def length_controlled(
    scores: Data,
    items: Any = None,
    *,
    unit: str = "characters",
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.LengthControlled]:
    """The win rate of A at equal length, and how preferences go with length: an association, no bias without people.

    Parameters
    ----------
    scores : table, path or frame
        Verdicts on pairs; a file of your own may hold the two outputs (`output_a`, `output_b`), or their lengths
        (`length_a`, `length_b`), too.
    items : frame or path, optional
        Table of items with `output_a` and `output_b`, or with the lengths.
    unit : {"characters", "words"}, default "characters"
        What length is counted in.
    groups : str or None, default "group"
        The column of what pairs share (the prompt).
    confidence_level : float, default 0.95
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results of LengthControlled
        One for each criterion and rater.

    Raises
    ------
    TableError
        If neither outputs nor lengths are there.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(40), "winner": ["A", "B", "B", "A"] * 10, "length_a": [90, 50, 70, 60] * 10,
    ...         "length_b": [50, 80, 60, 70] * 10}
    >>> found = calib.length_controlled(mine, judge="winner").one()
    >>> round(found.estimate, 2), found.n_longer, found.n_shorter
    (0.5, 20, 20)
    """
    as_typed(length_controlled, locals())
    choice(unit, "unit", ("characters", "words"))
    table = _verdicts(scores, "scores", columns)
    known = table.frame if items is None else _items_of_pairs(items, table)
    difference = _length_difference(known, unit, "scores" if items is None else "items")
    return Results.of(_length_answers(table, difference, groups, confidence_level))


def _items_of_pairs(items: Any, table: Checked) -> pd.DataFrame:
    """The items in the rows of the scores; where they name the two the other way round, turned."""
    given = opened(items, "items") if isinstance(items, str | Path) else items
    frame = check_items(getattr(given, "frame", given)).astype({"item": object})
    own = table.frame.reset_index(drop=True)
    known = own[["item"]].astype(object).merge(frame, on="item", how="left")
    if {*SYSTEMS} <= set(own) & set(known):
        mine, theirs = (part[[*SYSTEMS]].astype(object) for part in (own, known))
        turn = (mine["system_a"] == theirs["system_b"]) & (mine["system_b"] == theirs["system_a"])
        for one, two in (_LENGTHS, *_TEXTS):
            if {one, two} <= set(known):
                known[one], known[two] = known[one].where(~turn, known[two]), known[two].where(~turn, known[one])
    return known


def _length_difference(frame: pd.DataFrame, unit: str, argument: str) -> pd.Series:
    """Length of A less length of B, in the rows of the frame."""
    there = next((pair for pair in (_LENGTHS, *_TEXTS) if {*pair} <= set(frame)), None)
    if there is None:
        rule = "must hold both outputs of a pair, or their lengths: output_a, output_b; length_a, length_b"
        raise TableArgumentError(argument, rule, f"has {', '.join(repr(str(name)) for name in frame)}")
    a, b = (_lengths(frame[name], unit if there != _LENGTHS else "") for name in there)
    return (a - b).reset_index(drop=True)


def _lengths(cells: pd.Series, unit: str) -> pd.Series:
    if not unit:
        return pd.to_numeric(cells, errors="coerce").astype(float)
    texts = cells.astype(object)
    count = texts.map(lambda text: len(str(text).split()) if unit == "words" else len(str(text)))
    return count.astype(float).where(texts.notna(), np.nan)


def _length_answers(
    table: Checked, difference: pd.Series, groups: str | None, confidence_level: float
) -> Iterator[tuple[dict[str, Any], stats.LengthControlled]]:
    placed = replace(table, frame=table.frame.reset_index(drop=True))
    for label, rows in placed.slices():
        with in_the_names_of(label, preference="scores"):
            result = stats.length_controlled(
                rows["score"],
                difference.loc[rows.index],
                groups=_groups(rows, groups),
                confidence_level=confidence_level,
            )
        systems = [*dict.fromkeys(rows["system_a"].astype(str))] if "system_a" in rows else []
        named = label | ({"system": systems[0]} if len(systems) == 1 and systems[0] else {})
        yield named, with_warnings(result, _several_systems(systems))


def _several_systems(systems: list[str]) -> tuple[str, ...]:
    text = "A is not the same system in all pairs: read the slope, not the win rates, which are of who is named first"
    return (f"several_systems: {text}",) if len(systems) > 1 else ()


# --- boards ---------------------------------------------------------------------------------------------------------


def leaderboard(
    preferences: Data,
    gold: Data = None,
    *,
    ties: str = "auto",
    groups: str | None = "group",
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    **columns: Unpack[Columns],
) -> Results[stats.BradleyTerry]:
    """Who wins against whom: Bradley-Terry strengths of systems with intervals and sets of ranks.

    With people's verdicts on some of the battles: the strengths that people would see, from the judge on all battles
    and people on these.

    Parameters
    ----------
    preferences : table, path or frame
        Verdicts on pairs (of `calib.rate` with a pairwise prompt, or a file of your own with the winner of each pair);
        or scores of several systems on the same groups (prompts), of which the higher one wins.
    gold : table, path or frame, optional
        People's verdicts on a random part of the battles, or people's scores of some of the outputs.
    ties : {"auto", "davidson", "half"}
        As for `calib.stats.bradley_terry`. With `gold` a tie counts as half a win.
    groups : str or None, default "group"
        The column of what battles share (the prompt); None: battles are independent.
    confidence_level : float, default 0.95
    rng : Generator or int, optional
        Of the sets of ranks.
    **columns
        What the columns of files of your own are, as for `calib.look`; what is not said is recognised.

    Returns
    -------
    Results of BradleyTerry
        One for each criterion and rater; with `gold` of each judge. `n_unmatched` verdicts of people are on battles
        that the judge did not decide.

    Raises
    ------
    TableError
        If there are neither pairs of named systems nor scores with `system` and `group`.

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(60), "model_a": ["x", "y", "z"] * 20, "model_b": ["y", "z", "x"] * 20,
    ...         "judge_winner": ["model_a", "model_a", "model_b", "tie", "model_b", "model_b"] * 10}
    >>> print(calib.leaderboard(mine).one())
    x first, strength 1.776, 95 % CI [1.391, 2.162]; the rank of 1 of 3 systems is sure (n = 60 battles in 60 groups)
    """
    as_typed(leaderboard, locals())
    judges, people = _sides_of_battles(preferences, gold, columns)
    options: dict[str, Any] = {"confidence_level": confidence_level, "rng": rng}
    if people is None:
        answers = []
        for label, rows in battles_in(judges):
            with in_the_names_of(label, **_OF_BATTLES):
                a, b = (rows[name].tolist() for name in SYSTEMS)
                found = stats.bradley_terry(a, b, rows["score"], groups=_groups(rows, groups), ties=ties, **options)
            answers.append((label, found))
        return Results.of(answers)
    return Results.of(_with_people(judges, people, groups, options))


_OF_BATTLES = {"a": "system_a", "b": "system_b", "score": "preferences", "people": "gold", "judge": "preferences"}


def _sides_of_battles(preferences: Data, gold: Data, columns: Columns) -> tuple[Checked, Checked | None]:
    """Judges' verdicts or scores, and people's; where there are no judges, people's are the board."""
    files = given(preferences, gold, columns, needs=(), any_scale=True, in_pairs=True)
    if files.taken is not None and not files.pairwise:  # scores of one's own
        files = given(preferences, gold, columns, needs=(), any_scale=True)
    sides = {"preferences": files.scores, "gold": files.people}
    frames = [getattr(side, "frame", side) for side in sides.values() if side is not None]
    if any({"system_a", "shown_first"} & set(frame) for frame in frames):
        judges, people = (None if side is None else preference_scores(side, name) for name, side in sides.items())
        people = in_the_order_of(judges, people) if judges is not None and people is not None else people
    else:
        judges, people = (None if side is None else scores_in(side, name) for name, side in sides.items())
    if judges is None and people is None:
        raise TableArgumentError(
            "preferences", "must hold verdicts on pairs, or scores of systems", "none was recognised"
        )
    if judges is None:
        assert people is not None
        return people, None
    return judges, None if people is None else mean_of_people(people)


def _with_people(
    judges: Checked, people: Checked, groups: str | None, options: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], stats.BradleyTerry]]:
    """Each judge with people's verdicts on some of its battles."""
    theirs = {label["criterion"]: rows for label, rows in battles_in(people)}
    for label, rows in battles_in(judges):
        if label["criterion"] not in theirs:
            continue
        said = theirs[label["criterion"]].set_index("item")["score"]
        y = said[~said.index.duplicated()].reindex(rows["item"])
        strangers = int((~said.index.isin(rows["item"])).sum())
        a, b = (rows[name].tolist() for name in SYSTEMS)
        options = options | {"groups": _groups(rows, groups)}
        with in_the_names_of(label, **_OF_BATTLES):
            if y.notna().all():  # people decide all of them
                found = stats.bradley_terry(a, b, y.to_numpy(dtype=float), ties="half", **options)
            else:
                found = stats.ppi_bradley_terry(a, b, rows["score"], y.to_numpy(dtype=float), **options)
        yield label | {"n_unmatched": strangers}, found
