"""Verbs on verdicts about pairs: position bias, agreement with people, preferences at equal length, leaderboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from calib import stats
from calib.analysis.pairs import frames_preferences as pair_tables
from calib.analysis.pairs.bradley_terry import TIES
from calib.analysis.pairs.frames_preferences import BY_ORDER, SYSTEMS, battles_in, preferences_in
from calib.core.check import choice
from calib.inputs.names import Columns, Data
from calib.inputs.resolve import opened, resolve_inputs
from calib.table import SCORE_KEY, TableArgumentError, TableError, check_items, check_scores
from calib.table.driver import Slice, each_result, verb
from calib.table.labelled import mean_of_annotators
from calib.table.pairs import labels_in, pairs_of
from calib.table.results import Results
from calib.table.validate import ValidatedTable, scores_in

_LENGTHS = ("length_a", "length_b")
_TEXTS = (
    ("output_a", "output_b"), ("my_output_a", "my_output_b"), ("response_a", "response_b"), ("answer_a", "answer_b"),
    ("output_1", "output_2"), ("response_1", "response_2"), ("completion_a", "completion_b"), ("text_a", "text_b"),
)  # fmt: skip
_SEVERAL_SYSTEMS = (
    "several_systems: A is not the same system in all pairs: read the slope, not the win rates, which are of who is "
    "named first",
)


@verb
def position_bias(
    first: Data, second: Data = None, *, groups: str | None = "group", confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PositionBias]:  # fmt: skip
    """Does the judge favour what is shown first, or second: from pairs that it judged in both orders.

    Parameters
    ----------
    first : table, path or frame
        Ratings or scores of pairs in both orders (of `calib.rate` and `calib.summarize`), or your own file that
        has each pair twice: with its two the other way round in `model_a` and `model_b`, or a column `shown_first`.
    second : table, path or frame, optional
        The other order, where it has a table of its own; `first` then is the order in which A was shown first. Both
        are in terms of the same A, unless they name the two (`model_a`, `model_b`) the other way round.
    {groups}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> mine = {"id": [1, 1, 2, 2, 3, 3], "model_a": ["x", "y"] * 3, "model_b": ["y", "x"] * 3,
    ...         "judge_winner": ["model_a", "model_a", "model_a", "model_b", "tie", "model_b"]}
    >>> bias = calib.position_bias(mine).one()
    >>> bias.n_first, bias.n_second, bias.n, round(bias.consistency, 3)
    (1, 1, 3, 0.333)
    """
    table = _preference_verdicts(first, "first", columns)
    if second is not None:  # the verdicts of each order, from a table of each
        tables = table, pair_tables.in_the_order_of(table, _preference_verdicts(second, "second", columns))
        sides = []
        for each, name in zip(tables, BY_ORDER, strict=True):
            frame = each.frame.astype({key: object for key in SCORE_KEY if key != "temperature"})
            if frame[BY_ORDER].notna().all(axis=1).any():
                rule = "must hold one order of each pair, where there are two tables"
                raise TableArgumentError(each.argument, rule, "it holds both of some")
            # the order of a table is that of its argument
            sides.append(frame.assign(**{name: frame[BY_ORDER].bfill(axis=1).iloc[:, 0]}))
        one, two = sides
        same_rater = one["rater"].nunique() == two["rater"].nunique() == 1  # whatever each file calls it
        by = [name for name in SCORE_KEY if name != "rater" or not same_rater]
        of_second = two[[*by, "score_b_first", "score"]]
        if not len(one.merge(of_second, on=by)):
            none = "no item, criterion, rater and prompt is in both"
            raise TableArgumentError("second", "must have pairs of {0}", none, mentions=("first",))
        both = one.merge(of_second, on=by, how="left", validate="one_to_one", suffixes=("", "_of_b"))
        # what was read in that order, else the verdict of a table that says nothing of the order
        both["score_a_first"] = both["score_a_first"].fillna(both["score"])
        both["score_b_first"] = both["score_b_first_of_b"].fillna(both["score_of_b"])
        table = replace(table, frame=check_scores(both.drop(columns=["score_b_first_of_b", "score_of_b"])))
    slices = [Slice(label, rows) for label, rows in table.slices() if rows[BY_ORDER].notna().all(axis=1).any()]
    if not slices:
        rule = "must hold pairs in both orders: each twice, or score_a_first and score_b_first (or give two tables)"
        raise TableArgumentError(table.argument, rule, f"none of {len(table.frame)} pairs has both")

    bias, (a, b) = partial(stats.position_bias, confidence_level=confidence_level), BY_ORDER
    return each_result(slices, lambda rows: bias(rows[a], rows[b], groups=_groups(rows, groups)))


def _preference_verdicts(data: Data, argument: str, columns: Columns) -> ValidatedTable:
    """Verdicts of a judge, or of people where there is no judge."""
    judges, label_table = preferences_in(data, None, columns, names=(argument, "labels"), needs=())
    table = label_table if judges is None else judges
    if table is None:
        raise TableArgumentError(argument, "must hold verdicts on pairs", "none was recognised (name it: judge=)")
    return replace(table, argument=argument)


def _groups(rows: pd.DataFrame, name: str | None) -> Any:
    if name not in (None, "group", *rows):
        raise TableArgumentError("groups", "must be a column of the scores", f"got {name!r}")
    return None if name is None else labels_in(rows, name)


@verb
def pairwise_agreement(
    scores: Data,
    labels: Data = None,
    *,
    groups: str | None = "group",
    confidence_level: float = 0.95,
    **columns: Unpack[Columns],
) -> Results[stats.PairwiseAgreement]:
    """How often a judge of pairs prefers what people prefer: with ties and without, kappa, and its consistency.

    Parameters
    ----------
    scores : table, path or frame
        A judge's verdicts on pairs (ratings in both orders, scores, your own file with the winner of each pair),
        which may hold people's, too.
    labels : table, path or frame, optional
        People's. Of several people a pair has the mean: A wins where it has more than half.
    {groups}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(40), "judge_winner": ["A", "B", "tie", "A"] * 10,
    ...         "human_winner": ["A", "B", "A", "A"] * 10}
    >>> print(calib.pairwise_agreement(mine))
    preference, judge, human: agreement with ties 0.75, 95 % CI [0.5981, 0.8581] (n 40); without ties 1, 95 % CI \
[0.8865, 1] (n 30); kappa 0.5556, 95 % CI [0.31, 0.7345] (n 40)
    """
    judges, label_table = preferences_in(scores, labels, columns, needs=("judge", "label"))
    if judges is None:
        raise TableError("`scores`: must hold verdicts of a judge.")
    if label_table is None:
        raise TableError("`labels`: must hold verdicts of people.")
    shared = [groups] if groups is not None and groups in judges.frame else []
    pairs = pairs_of(judges, mean_of_annotators(label_table), [*BY_ORDER, *shared])
    slices = (Slice(pair.label, pair.scored, {"n_unmatched": pair.n_labels_unmatched}, pair.warnings) for pair in pairs)

    def agreement_of(rows: pd.DataFrame) -> stats.PairwiseAgreement:
        options: dict[str, Any] = {"groups": _groups(rows, groups), "confidence_level": confidence_level}
        return stats.pairwise_agreement(rows["x"], rows["y"], orders=rows[BY_ORDER], **options)

    return each_result(slices, agreement_of, names={"judge": "scores"})


@verb
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
        Verdicts on pairs; your own file may hold the two outputs (`output_a`, `output_b`), or their lengths
        (`length_a`, `length_b`), too.
    items : frame or path, optional
        Table of items with `output_a` and `output_b`, or with the lengths.
    unit : {"characters", "words"}, default "characters"
        What length is counted in.
    {groups}
    {confidence_level}
    {columns}

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(40), "winner": ["A", "B", "B", "A"] * 10, "length_a": [90, 50, 70, 60] * 10,
    ...         "length_b": [50, 80, 60, 70] * 10}
    >>> result = calib.length_controlled(mine, judge="winner").one()
    >>> round(result.estimate, 2), result.n_longer, result.n_shorter
    (0.5, 20, 20)
    """
    choice(unit, "unit", ("characters", "words"))
    table = _preference_verdicts(scores, "scores", columns)
    rows = scored = table.frame.reset_index(drop=True)
    if items is not None:
        source = opened(items, "items") if isinstance(items, str | Path) else items
        texts_by_item = check_items(getattr(source, "frame", source)).astype({"item": object})
        rows = scored[["item"]].astype(object).merge(texts_by_item, on="item", how="left")
    names = next((pair for pair in (_LENGTHS, *_TEXTS) if {*pair} <= set(rows)), None)
    if names is None:
        rule = "must hold both outputs of a pair, or their lengths: output_a, output_b; length_a, length_b"
        raise TableArgumentError("scores" if items is None else "items", rule, "has neither")
    if names == _LENGTHS:
        a, b = (pd.to_numeric(rows[name], errors="coerce").astype(float) for name in names)
    else:
        count = (lambda text: len(str(text).split())) if unit == "words" else (lambda text: len(str(text)))
        texts = (rows[name].astype(object) for name in names)
        a, b = (cells.map(count).astype(float).where(cells.notna(), np.nan) for cells in texts)
    if items is not None and {*SYSTEMS} <= set(scored) & set(rows):  # items may name the two the other way round
        turn = pair_tables.crossed(scored, rows)
        a, b = a.where(~turn, b), b.where(~turn, a)
    frame = scored.assign(length_difference=(a - b).reset_index(drop=True))

    slices = []
    for label, rows in replace(table, frame=frame).slices():
        systems = [*dict.fromkeys(rows["system_a"].astype(str))] if "system_a" in rows else []
        system = {"system": systems[0]} if len(systems) == 1 and systems[0] else {}
        slices.append(Slice(label | system, rows, warnings=_SEVERAL_SYSTEMS if len(systems) > 1 else ()))

    def controlled(rows: pd.DataFrame) -> stats.LengthControlled:
        options: dict[str, Any] = {"groups": _groups(rows, groups), "confidence_level": confidence_level}
        return stats.length_controlled(rows["score"], rows["length_difference"], **options)

    return each_result(slices, controlled, names={"preference": "scores"})


@verb
def leaderboard(
    preferences: Data,
    labels: Data = None,
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
        Verdicts on pairs (of `calib.rate` with a pairwise prompt, or your own file with the winner of each pair);
        or scores of several systems on the same groups (prompts), of which the higher one wins.
    labels : table, path or frame, optional
        People's verdicts on a random part of the battles, or people's scores of some of the outputs.
    ties : {"auto", "davidson", "half"}
        As for `calib.stats.bradley_terry`. With `labels` a tie counts as half a win.
    {groups}
    {confidence_level}
    rng : Generator or int, optional
        Of the sets of ranks.
    {columns}

    Examples
    --------
    >>> import calib
    >>> mine = {"id": range(60), "model_a": ["x", "y", "z"] * 20, "model_b": ["y", "z", "x"] * 20,
    ...         "judge_winner": ["model_a", "model_a", "model_b", "tie", "model_b", "model_b"] * 10}
    >>> print(calib.leaderboard(mine).one())
    x first, strength 1.776, 95 % CI [1.391, 2.162]; the rank of 1 of 3 systems is sure (n = 60 battles in 60 groups)
    """
    choice(ties, "ties", TIES)
    arguments = ("preferences", "labels")
    files = resolve_inputs(preferences, labels, columns, names=arguments, needs=(), any_scale=True, in_pairs=True)
    if files.inferred is not None and not files.pairwise:  # scores of one's own
        files = resolve_inputs(preferences, labels, columns, names=arguments, needs=(), any_scale=True)
    sides = files.scores, files.annotations
    if any({"system_a", "shown_first"} & set(getattr(side, "frame", side)) for side in sides if side is not None):
        judges, label_table = pair_tables.preferences_of(*sides, arguments)
    else:
        pairs = zip(sides, arguments, strict=True)
        judges, label_table = (None if side is None else scores_in(side, name) for side, name in pairs)
    if judges is not None:
        board, label_table = judges, None if label_table is None else mean_of_annotators(label_table)
    elif label_table is not None:  # without judges people's verdicts are the board
        board, label_table = label_table, None
    else:
        rule = "must hold verdicts on pairs, or scores of systems"
        raise TableArgumentError("preferences", rule, "none was recognised")
    verdicts = {}
    for label, rows in () if label_table is None else battles_in(label_table):
        verdicts[label["criterion"]] = rows.set_index("item")["score"]

    def slices() -> Iterator[Slice[pd.DataFrame]]:
        for label, rows in battles_in(board):
            y = verdicts.get(label["criterion"])
            if label_table is None:
                yield Slice(label, rows)
            elif y is not None:
                label_of_battle = y[~y.index.duplicated()].reindex(rows["item"]).to_numpy(dtype=float)
                unmatched = int((~y.index.isin(rows["item"])).sum())
                yield Slice(label, rows.assign(label=label_of_battle), {"n_unmatched": unmatched})

    def board_of(rows: pd.DataFrame) -> stats.BradleyTerry:
        a, b = (rows[name].tolist() for name in SYSTEMS)
        options: dict[str, Any] = {"groups": _groups(rows, groups), "confidence_level": confidence_level, "rng": rng}
        if label_table is None:
            return stats.bradley_terry(a, b, rows["score"], ties=ties, **options)
        if rows["label"].isna().any():
            return stats.ppi_bradley_terry(a, b, rows["score"], rows["label"], **options)
        return stats.bradley_terry(a, b, rows["label"], ties="half", **options)

    names = {"a": "system_a", "b": "system_b", "score": "preferences", "judge": "preferences"}
    return each_result(slices(), board_of, names=names)
