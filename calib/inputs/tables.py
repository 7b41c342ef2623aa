"""Files of one's own as tables: what the columns hold, put into rows, matched by item, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast, get_args

from calib.core.check import ArgumentError, as_typed
from calib.inputs.names import Columns, Intake, Source, Stands
from calib.inputs.roles import Seen, is_table, refuse_unknown, seen, sided
from calib.inputs.source import source_of
from calib.inputs.study import tables_of

_PEOPLE = ("gold", "human", "people")  # arguments that are people's


def taken_in(
    first: Any,
    second: Any = None,
    *,
    names: Sequence[str] = ("scores", "gold"),
    in_pairs: bool = False,
    **columns: Unpack[Columns],
) -> Intake:
    """Files or frames of one's own, or one beside a table of calib's, as tables.

    Parameters
    ----------
    first, second : path, frame, ...
        What `source_of` takes; one that holds both sides, or one of each.
    names : sequence of str
        The arguments that they came as; "gold" and "human" are people's.
    in_pairs : bool
        Preferences stay shares of the first of the two compared, who are named in `system_a` and `system_b`; else
        they become win rates of systems.
    **columns
        What is said of the columns; the rest is recognised.

    Raises
    ------
    ArgumentError
        If a word names no column.
    TableError
        If no ids, no scores or no match are found, or rows contradict each other.

    Examples
    --------
    >>> import pandas as pd
    >>> mine = pd.DataFrame({"id": ["a", "b", "c"], "gpt-4o": [4, 2, 5], "label": [5, None, None]})
    >>> found = taken_in(mine)
    >>> [(one.column, one.role) for one in found.columns]
    [('id', 'item'), ('gpt-4o', 'judge'), ('label', 'label')]
    >>> len(found.scores), len(found.gold), found.scale
    (3, 1, '1|2|3|4|5')
    """
    things = [(thing, name) for thing, name in zip((first, second), names, strict=False) if thing is not None]
    sources = [_source(thing, name) for thing, name in things]
    sources = [_told_apart(one, name, sources) for one, (_, name) in zip(sources, things, strict=True)]
    sides = _sides([name for _, name in things])
    said = _of_people(checked_words(columns), sources, sides)
    refuse_unknown([one for one in sources if not is_table(one.frame)] or sources, said)
    found = [seen(source, side, said) for source, side in zip(sources, sides, strict=True)]
    notes: list[str] = []
    found = sided(_in_order(found, said, notes), said)
    return tables_of(found, said, notes, in_pairs=in_pairs)


def checked_words(columns: Columns) -> Columns:
    """The words that were said; None says nothing."""
    known = Columns.__annotations__
    for name in columns:
        if name not in known:
            raise TypeError(f"got an unexpected keyword argument {name!r}; words for columns are {', '.join(known)}")
    said = {name: value for name, value in columns.items() if value is not None}
    as_typed(Columns, said)
    # a column may be called by a number
    said = {
        name: str(value) if isinstance(value, int) else value for name, value in said.items() if value not in ((), [])
    }
    if said.get("wide") not in (None, *get_args(Stands)):
        raise ArgumentError("wide", f"must be one of {', '.join(get_args(Stands))}", f"got {said['wide']!r}")
    return cast(Columns, said)


def _source(thing: Any, name: str) -> Source:
    return thing if isinstance(thing, Source) else source_of(thing, name)


def _told_apart(one: Source, name: str, sources: Sequence[Source]) -> Source:
    """Two files of one name by their folders, two frames by the names of their arguments."""
    alike = [other.path for other in sources if other.name == one.name]
    if len(alike) < 2:
        return one
    return replace(one, name=str(one.path) if one.path is not None and alike.count(one.path) < 2 else f"`{name}`")


def _of_people(said: Columns, sources: Sequence[Source], sides: Sequence[str]) -> Columns:
    """Words for scores are about the labels, where the judge's are in a table of calib's."""
    theirs = [place for place, one in enumerate(sources) if not is_table(one.frame)]
    if len(sources) < 2 or len(theirs) != 1 or sides[theirs[0]] != "label":
        return said
    names = {"judge": "label"} | ({"rater": "annotator"} if said.get("rater") in sources[theirs[0]].frame else {})
    told = {names.get(word, word): value for word, value in said.items() if names.get(word, word) not in said}
    return cast(Columns, told | {word: value for word, value in said.items() if word not in names})


def _sides(names: Sequence[str]) -> list[Any]:
    """Whose scores a file holds by its place; one alone may hold both."""
    if len(names) == 1:
        return ["label" if names[0] in _PEOPLE else ""]
    return ["label" if name in _PEOPLE else "judge" for name in names]


def _in_order(found: Sequence[Seen], said: Columns, notes: list[str]) -> list[Seen]:
    """The judge's file and people's; where the names of their columns say that they were swapped, turned round."""
    if len(found) < 2 or {one.side for one in found} != {"judge", "label"} or "judge" in said or "label" in said:
        return list(found)
    if any(is_table(one.source.frame) for one in found) or not _are_swapped(found):
        return list(found)
    places, (first, second) = [one.side for one in found], [one.source.name for one in found]
    mine, theirs = ("labels", "a judge's scores") if places[0] == "judge" else ("a judge's scores", "labels")
    notes.append(f"{first} holds {mine} and {second} {theirs}, by the names of their columns: taken in that order.")
    return [seen(one.source, places[1 - place], said) for place, one in enumerate(found)]


def _are_swapped(found: Sequence[Seen]) -> bool:
    """Whether both files say that they are the other, or one does, the other says nothing, and their lengths agree."""
    says = [{value.side for value in one.graded if value.side} for one in found]
    others = [{found[1].side}, {found[0].side}]
    if says == others:
        return True
    rows = {one.side: len(one.source.frame) for one in found}
    return rows["label"] > rows["judge"] and (says in ([others[0], set()], [set(), others[1]]))
