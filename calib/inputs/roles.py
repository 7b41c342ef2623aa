"""What each column of a file is: ids, scores of judges and of people, who, of what, and texts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.cells import blank, nature
from calib.inputs.codes import TIE, folded, guessed_scale, loosely
from calib.inputs.names import (
    ROLE_OF,
    Columns,
    InferredColumn,
    Name,
    Role,
    Source,
    is_person,
    key,
    no_score,
    of_a_score,
    read,
)
from calib.table import parse_scale

Side = Literal["judge", "label", ""]
BOTH_SIDES: tuple[Side, Side] = ("judge", "label")
WHO: tuple[Role, ...] = ("system", "group", "criterion", "annotator", "rater")
_TABLE = frozenset(("item", "criterion", "rater", "score"))
_SPARSE = 0.9  # a column is sparse where it is filled less than this share of the fullest
_WHOSE = re.compile(r"^(annotator|labell?er|worker|coder)|_(id|by|name)$")
_FEW = 12  # different words that a scale may have
_GLIMPSE = 100  # different texts, of which one at least shows that they are no words of a scale
_SHORT = 80  # characters of an id
_WEAK = ("idx", "index", "row", "row_id", "no", "number", "nr", "unnamed_0", "")  # an id only for want of a better


@dataclass(frozen=True, slots=True)
class Value:
    """A column of scores, or of winners of pairs: whose, and what its name says of it."""

    column: str
    name: Name
    side: Side
    why: str
    nature: str
    filled: int


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the columns of a source were recognised as."""

    source: Source
    side: Side  # by where it stands among the files
    roles: dict[Role, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    graded: tuple[Value, ...] = ()
    ids: tuple[str, ...] = ()  # columns that may be that of ids, the likeliest first

    def cells(self, role: Role) -> pd.Series | None:
        return self.source.frame[self.roles[role]] if role in self.roles else None

    def of(self, side: Side) -> tuple[Value, ...]:
        return tuple(value for value in self.graded if value.side == side)

    def with_role(self, role: Role, column: str, why: str) -> Seen:
        return replace(self, roles=self.roles | {role: column}, why=self.why | {column: why})

    def inferred(self, score_of: Mapping[str, str]) -> Iterator[InferredColumn]:
        """What each column was taken for, in the order of the file."""
        role_of: dict[str, Role] = {column: role for role, column in self.roles.items()}
        values = {value.column: value for value in self.graded if value.side}
        for column in map(str, self.source.frame):
            if column in values:
                value = values[column]
                yield InferredColumn(
                    self.source.name, column, value.side or "other", value.why, score_of.get(column, "")
                )
            else:
                role = role_of.get(column, "other")
                why = self.why.get(column, "no role was found for it")
                yield InferredColumn(self.source.name, column, role, why)


def is_table(frame: Any) -> bool:
    """Whether a frame is one of calib's tables of scores or ratings.

    Examples
    --------
    >>> is_table(pd.DataFrame(columns=["item", "criterion", "rater", "score"]))
    True
    """
    return isinstance(frame, pd.DataFrame) and set(frame.columns) >= _TABLE


def seen(source: Source, side: Side, options: Columns) -> Seen:
    """The columns of one source, each by what was said, its name and its cells."""
    if is_table(source.frame) and (side or "method" in source.frame):
        # a table of calib's, in which each column has its name
        side, why = side or ("label" if (source.frame["method"] == "human").all() else "judge"), "a table of calib's"
        own: dict[Role, str] = {name: name for name in ("item", *WHO) if name in source.frame}
        values = (Value("score", Name(), side, why, "numbers", len(source.frame)),)
        return Seen(source, side, own, dict.fromkeys(own.values(), why), values, ("item",))
    frame, one = source.frame, Seen(source, side)
    natures = {str(name): kind for name in frame if (kind := _nature(frame[name]))}
    # the names in the two columns that say what was compared
    sides = [column for column in natures if ROLE_OF.get(key(column)) in ("first", "second")]
    compared = {column: {folded(str(cell)) for cell in frame[column].dropna().unique()} for column in sides}
    compared = compared if len(sides) == 2 else {}
    item = options.get("label_item") if side == "label" else None
    roles: dict[Role, Any] = {name: options.get(name) for name in WHO} | {"item": item or options.get("item")}
    for role, column in roles.items():
        if column is not None and column in frame:
            one = one.with_role(role, str(column), "as was said")
    scores = {*_listed(options, "judge"), *_listed(options, "label")}
    scores |= {column for column in natures if _are_words_of(frame[column], options.get("scale", ""))}
    one = _with_group(_with_roles(one, natures, scores, compared))
    one = replace(one, ids=tuple(_candidates(one, natures, scores)))
    graded = []
    for column, kind in natures.items():
        if _holds_scores(one, column, kind, options, compared):
            name, filled = read(column), int((~blank(frame[column])).sum())
            mine = [s for s in BOTH_SIDES if column in _listed(options, s) and side in ("", s)]
            whose, why = (mine[0], "as was said") if mine else (name.side, "its name" if name.side else "")
            graded.append(Value(column, name, whose, why, kind, filled))
    return replace(one, graded=tuple(graded))


def _with_roles(one: Seen, natures: Mapping[str, str], scores: set[str], compared: Mapping[str, set[str]]) -> Seen:
    """With what columns are by their names, where the cells are of such."""
    frame = one.source.frame
    for column, kind in natures.items():
        role = ROLE_OF.get(key(column))
        if role is None or role in ("item", *one.roles) or column in scores | set(one.roles.values()):
            continue
        if role in ("rater", "annotator") and _names_the_better(frame[column], compared):
            continue
        if _fits(role, kind, frame[column]) and not (role == "annotator" and _is_graded_by(column, natures, one)):
            one = one.with_role(role, column, "its name")
    if ("first" in one.roles) != ("second" in one.roles):  # of two that are compared there are two
        one = replace(one, roles={k: v for k, v in one.roles.items() if k not in ("first", "second")})
    if "rater" in one.roles and "annotator" not in one.roles:
        # in a file of labels who rated is an annotator; in one of both, where all are people by their names
        names = frame[one.roles["rater"]].dropna().unique()
        if one.side == "label" or (one.side == "" and len(names) and all(map(is_person, names))):
            roles: dict[Role, str] = {("annotator" if r == "rater" else r): name for r, name in one.roles.items()}
            one = replace(one, roles=roles)
    return one


def _with_group(one: Seen) -> Seen:
    """What each system answers once groups the answers, where no column is called so: a question, or its number."""
    frame = one.source.frame
    if "group" in one.roles or "system" not in one.roles:
        return one
    for column in (str(name) for name in frame if ROLE_OF.get(key(name)) == "source"):
        plain = all(isinstance(cell, str | int | float) and cell == cell for cell in frame[column].tolist())  # noqa: PLR0124
        if plain and frame[column].duplicated().any() and _tells_rows_apart(one, column):
            return one.with_role("group", column, "each system answers it once")
    return one


def _names_the_better(cells: pd.Series, compared: Mapping[str, set[str]]) -> bool:
    """Whether cells are the names of the two that were compared: who won, not who rated."""
    if not compared or cells.name in compared:
        return False
    names = set().union(*compared.values())
    held = {folded(str(cell)) for cell in cells[~blank(cells)].unique()}
    return bool(held & names) and all(cell in names or loosely(cell) in TIE for cell in held)


def _nature(cells: pd.Series) -> str:
    """What cells are, looked at once each; that texts are none of scores shows soon. Lists are nothing."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return "numbers" if cells.notna().any() else "blank"
    if not all(isinstance(cell, Hashable) for cell in cells):
        return ""
    cells = cells.drop_duplicates()
    first = cells.head(_GLIMPSE).astype(object)
    wordy = not first.map(lambda cell: isinstance(cell, int | float) or any(map(str.isdigit, str(cell)[:1]))).any()
    return "texts" if wordy and nature(first) == "texts" else nature(cells)


def _are_words_of(cells: pd.Series, scale: str) -> bool:
    """Whether a column holds words of the scale that was said, and nothing else."""
    if "|" not in scale:
        return False
    words = {folded(part.rpartition("=")[0] or part) for part in scale.split("|")}
    held = {folded(str(cell)) for cell in cells[~blank(cells)].unique()}
    return bool(held) and held <= words and not all(part.replace(".", "").isdigit() for part in held)


def _listed(options: Columns, word: str) -> list[str]:
    columns: Any = options.get(word, ())
    return [columns] if isinstance(columns, str) else list(columns)


def _fits(role: Role | None, kind: str, cells: pd.Series) -> bool:
    if role in ("annotator", "rater", "system", "criterion"):
        # a column `judge` or `expert` may hold either; who is called A, B or 1, in one that says more, is a name
        telling = _WHOSE.search(key(cells.name)) is not None
        named = kind in ("words", "winners") and role in ("system", "criterion")
        scores = False
        if not (telling or named):  # most cells may be numbers, which the others, such as ERROR, are not
            scores = kind in ("numbers", "words", "winners")
            scores = scores or bool(pd.to_numeric(cells[~blank(cells)], errors="coerce").notna().mean() > 0.5)
        return kind != "blank" and not scores and bool(cells.duplicated().any())
    if role in ("source", "output", "text"):
        return kind == "texts"
    if role in ("first", "second"):
        named = re.match(r"model|system|assistant", key(cells.name)) is not None  # a system may be called y
        return kind in ("texts", "winners", *["words"] * named)
    return kind == "numbers" if role == "weight" else kind != "blank" and bool(cells.duplicated().any())


def _is_graded_by(column: str, natures: Mapping[str, str], one: Seen) -> bool:
    """Whether cells under the name of a person are what this person said."""
    others = [read(name) for name, kind in natures.items() if name != column and kind != "blank"]
    beside = any(name.says_nothing or name.side == "label" for name in others)
    if natures[column] == "texts":
        return key(column) == "expert" and not beside
    return bool(blank(one.source.frame[column]).any()) or not beside or key(column) == "expert"


def _candidates(one: Seen, natures: Mapping[str, str], scores: set[str]) -> Iterator[str]:
    """Columns that may hold ids: that of which it was said, those called so, and any that differs in each row."""
    if "item" in one.roles:
        yield one.roles["item"]
        return
    frame, free = one.source.frame, [c for c in natures if c not in {*one.roles.values(), *scores}]
    order = [name for name, role in ROLE_OF.items() if role == "item"]
    named = [c for c in free if key(c) in order or (key(c).endswith("_id") and ROLE_OF.get(key(c)) in (None, "item"))]
    place = {c: order.index(key(c)) if key(c) in order else len(order) // 2 for c in named}
    weak = [c for c in named if key(c) in _WEAK]
    strong = sorted((c for c in named if c not in weak and not blank(frame[c]).all()), key=place.__getitem__)
    whole = [c for c in strong if _tells_rows_apart(one, c)]
    yield from dict.fromkeys((*whole, *strong))
    if "group" in one.roles:
        yield one.roles["group"]
    for column in (c for c in free if c not in named and natures[c] == "texts"):
        cells = frame[column]
        if cells.is_unique and cells.notna().all() and cells.astype(str).str.len().max() <= _SHORT:
            yield column
    yield from sorted(weak, key=place.__getitem__)


def _tells_rows_apart(one: Seen, column: str) -> bool:
    by = [one.roles[role] for role in ("system", "criterion", "annotator", "rater") if role in one.roles]
    return not one.source.frame.duplicated([column, *by]).any()


def _holds_scores(one: Seen, column: str, kind: str, options: Columns, compared: Mapping[str, set[str]]) -> bool:
    """Whether a column may be one of scores, by what was said and by its cells."""
    cells, free = one.source.frame[column], column not in {*one.roles.values(), *one.ids[:1]}
    if column in (*_listed(options, "judge"), *_listed(options, "label")):
        return True
    if not free or kind == "blank":
        return False
    if _names_the_better(cells, compared):
        return True
    if key(column) in _WEAK or ROLE_OF.get(key(column)) in ("item", "weight") or key(column).endswith("_id"):
        return False
    return _are_words_of(cells, options.get("scale", "")) or _may_be_scores(cells, column, kind)


def _may_be_scores(cells: pd.Series, column: str, kind: str) -> bool:
    name = read(column)
    telling = bool(name.side or name.criterion or name.person or name.says_nothing)
    if kind == "numbers":
        return not no_score(column) or (name.side == "label" and not cells.is_unique and not of_a_score(column))
    if kind in ("words", "winners"):
        return telling or (cells.nunique() <= _FEW and not no_score(column))
    few = cells.astype(str).str.strip().str.casefold().nunique() <= _FEW
    return telling and few and not no_score(column) and ROLE_OF.get(key(column)) not in ("source", "output", "text")


# --- whose scores ---------------------------------------------------------------------------------------------------


def sided(files: Sequence[Seen], options: Columns) -> list[Seen]:
    """Each column of scores with its side; those that are of neither have none."""
    if len(files) == 1:
        return [_of_one(files[0], options)]
    return [_of_two(one, options) for one in files]


def _of_two(one: Seen, options: Columns) -> Seen:
    """Of a file that is the judge's or people's by its place: its own, and those that do not say whose they are."""
    mine = [v for v in one.graded if v.side == one.side]
    if _listed(options, one.side) and any(v.why == "as was said" for v in mine):
        return _only(one, [v for v in mine if v.why == "as was said"])
    free = [v for v in one.graded if not v.side]
    bare = any(not v.name.entity and not v.name.criterion for v in mine)
    more = [] if mine and bare and one.side == "judge" else _alike(one, mine, free)
    if not mine:
        more = _scores_first(free)
    if not mine and not more:  # nothing else is there
        more = [v for v in one.graded if v.why != "as was said"]
    return _only(one, [*mine, *(replace(v, side=one.side, why=v.why or "it is a column of scores") for v in more)])


def _scores_first(free: list[Value]) -> list[Value]:
    """Where some say that they are scores, only these."""
    named = [v for v in free if v.name.says_nothing or v.name.criterion]
    plain = [v for v in named if v.name.says_nothing]
    return plain if len(plain) == 1 and not any(v.name.criterion for v in named) else free


@dataclass(slots=True, eq=False)
class _Sharing:
    """The columns of scores of one file that may hold both sides, while they are given to one or the other."""

    file: Seen
    options: Columns
    sides: dict[str, Side] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in self.file.graded:
            columns = _listed(self.options, value.side)  # what was said is all of that side
            self.sides[value.column] = "" if columns and value.column not in columns else value.side
            self.why[value.column] = value.why

    def has(self, side: Side) -> list[Value]:
        return [v for v in self.file.graded if self.sides[v.column] == side]

    def is_sparse(self, value: Value) -> bool:
        """Whether a good part is blank, as only some items are labelled."""
        return value.filled < _SPARSE * max(v.filled for v in self.file.graded)

    @property
    def left(self) -> list[Value]:
        return [v for v in self.file.graded if not v.side and not self.sides[v.column]]

    @property
    def free(self) -> list[Value]:
        """Of neither side yet, and like those that are."""
        return _alike(self.file, [*self.has("judge"), *self.has("label")], self.left)

    @property
    def sparse(self) -> list[Value]:
        named = [v.name for v in self.has("label")]
        if any(not (name.person or name.entity or name.criterion) for name in named):  # a column `human` is all labels
            return []
        return [v for v in self.free if self.is_sparse(v) and not (named and v.name.says_nothing)]

    @property
    def on_another_scale(self) -> list[Value]:
        """Grades beside a judge that has another scale, such as a chance: blank in places, or called as grades are."""
        grades = []
        for value in (v for v in self.left if v.nature == "numbers" and (self.is_sparse(v) or v.name.says_nothing)):
            numbers = pd.to_numeric(self.file.source.frame[value.column], errors="coerce").dropna().unique()
            if 1 < len(numbers) <= _FEW and (numbers % 1 == 0).all():  # whole ones, and few
                grades.append(value)
        return grades

    def give(self, values: Iterable[Value], side: Side, why: str) -> None:
        if not _listed(self.options, side):
            self.sides |= {v.column: side for v in values}
            self.why |= {v.column: why for v in values}


def _of_one(one: Seen, options: Columns) -> Seen:
    """Of a file that may hold both: by names, by who rated, by what is left blank, by what is there beside it."""
    share, side = _Sharing(one, options), one.side or "judge"
    if "annotator" in one.roles and not share.has("label"):
        share.give(_scores_first(share.free), "label", f"`{one.roles['annotator']}` says who gave it")
    if "rater" in one.roles and not share.has("judge") and not share.has("label"):
        share.give(_scores_first(share.free)[:1], side, f"`{one.roles['rater']}` says who gave it")
    for value in share.sparse:
        rows = len(one.source.frame)
        share.give([value], "label", f"blank in {rows - value.filled} of {rows} rows")
    # columns whose names say nothing, by those that stand beside them
    judges, labels = share.has("judge"), share.has("label")
    if judges and not labels:
        share.give(share.free, "label", "scores beside a judge's")
    elif labels and not judges:
        share.give(_scores_first(share.free), "judge", "scores beside the labels")
    elif not judges:
        share.give(_scores_first(share.free), side, "it is a column of scores")
    elif all(v.name.entity for v in judges):
        more = [v for v in share.free if v.name.entity and not v.name.criterion]
        share.give(more, "judge", "scores like those beside it")
    if share.has("judge") and not share.has("label") and one.side != "label":
        share.give(share.on_another_scale, "label", "grades beside a judge's, on a scale of their own")
    # in a file of people alone what was said to be scores are theirs
    turned = one.side == "label" and not share.has("label")
    sides = {column: "label" if whose and turned else whose for column, whose in share.sides.items()}
    kept = [replace(v, side=sides[v.column], why=share.why[v.column]) for v in one.graded]
    return _only(one, [v for v in kept if v.side])


def _alike(one: Seen, scores: Sequence[Value], free: Sequence[Value]) -> list[Value]:
    """Those that may be on the scale of what is known to be scores."""
    if not scores:
        return list(free)
    if any(v.nature != "numbers" for v in scores):
        return [v for v in free if v.nature in {k.nature for k in scores} or v.nature == "words"]
    frame = one.source.frame
    scale = parse_scale(guessed_scale(*(pd.to_numeric(frame[v.column], errors="coerce") for v in scores)))
    if scale is None:
        return []
    numbers = ((v, pd.to_numeric(frame[v.column], errors="coerce").dropna()) for v in free if v.nature == "numbers")
    return [v for v, cells in numbers if len(cells) and np.all(scale.holds(cells))]


def _only(one: Seen, values: Sequence[Value]) -> Seen:
    """With these columns of scores; of the others it is said why they are none."""
    kept, why = {v.column: v for v in values}, {}
    for value in (v for v in one.graded if v.column not in kept):
        why[value.column] = "other columns are said or known to be the scores"
        if value.side and one.side and value.side != one.side:
            other = {"judge": "a judge's scores", "label": "labels"}[value.side]
            why[value.column] = f"by its name {other}, which are taken from the other file"
    order = tuple(kept[v.column] for v in one.graded if v.column in kept)
    return replace(one, graded=order, why=why | one.why)


# --- what was said --------------------------------------------------------------------------------------------------


def refuse_unknown(sources: Sequence[Source], options: Columns) -> None:
    """Each word must name a column that is there; a criterion, a judge's name and a scale need not be columns."""
    there = {str(column): source.name for source in sources for column in source.frame}
    for word in ("item", "label_item", "judge", "label", "annotator", "system", "group"):
        for column in _listed(options, word):
            if column not in there:
                near = difflib.get_close_matches(column, there, n=1)
                near = near or [name for name in there if key(name) == key(column)]
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                held = "; ".join(f"{one.name} has {', '.join(repr(str(c)) for c in one.frame)}" for one in sources)
                raise ArgumentError(word, "must be a column", f"got {column!r}{hint}: {held}")
