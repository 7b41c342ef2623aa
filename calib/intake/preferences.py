"""Which of two is better: tables of scores, ratings in both orders and files of one's own, all in one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.intake.entry import given
from calib.intake.taken import Columns, Data
from calib.table import TableError
from calib.tables.door import Checked
from calib.tables.preferences import in_the_order_of, preference_scores


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Verdicts on pairs, each a checked table of scores with a row for each pair, criterion and rater.

    Columns: `item` (the pair), `group` (the prompt; the item where none is known), `criterion`, `rater`, `score` (the
    share of A that wins: 1, 0, .5 for a tie, or between), `score_a_first`, `score_b_first` (of each order in which the
    two were shown, NaN where it was not asked), and `system_a`, `system_b` where these are known.
    """

    judges: Checked | None
    people: Checked | None

    def needed(self, side: str, argument: str) -> Checked:
        """The table of a side, "judges" or "people", which must be there."""
        found: Checked | None = getattr(self, side)
        if found is None:
            raise TableError(f"`{argument}`: must hold verdicts of {'a judge' if side == 'judges' else 'people'}.")
        return found


def preferences_in(
    scores: Data,
    people: Data,
    columns: Columns,
    *,
    names: Sequence[str] = ("scores", "gold"),
    needs: Sequence[str] = ("judge",),
) -> Preferences:
    """Verdicts of judges and of people on pairs, in one form, people's in the order of the two that the judge's have.

    Parameters
    ----------
    scores, people : table, path, frame, ...
        Scores of `summarize`, ratings in both orders, a table with `system_a`, `system_b`, `score` and `shown_first`,
        or files of one's own (model_a, model_b, winner), in which a pair may stand twice, once for each order.
    columns : dict
        What was said of the columns of files of one's own.
    names : sequence of str
        The arguments that the two came as.
    needs : sequence of str
        Which sides must be there: "judge", "label".

    Examples
    --------
    >>> mine = {"id": ["q1", "q1"], "model_a": ["x", "y"], "model_b": ["y", "x"], "judge_winner": ["model_a", "tie"]}
    >>> found = preferences_in(mine, None, {})
    >>> found.judges.frame[["item", "system_a", "system_b", "score", "score_a_first", "score_b_first"]]
      item system_a system_b  score  score_a_first  score_b_first
    0   q1        x        y   0.75            1.0            0.5
    """
    files = given(scores, people, columns, names=names, needs=needs, any_scale=True, in_pairs=True)
    judges, labels = (
        None if table is None else preference_scores(table, name)
        for table, name in zip((files.scores, files.people), names, strict=True)
    )
    if judges is not None and labels is not None:
        labels = in_the_order_of(judges, labels)
    return Preferences(judges, labels)
