"""What each column of a file is: ids, scores of judges and of people, who gave them, of what, and texts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pandas as pd

from calib.core.check import ArgumentError
from calib.inputs.cells import TIE, Nature, blank, folded, id_texts, loosely, nature
from calib.inputs.names import (
    ROLE_OF,
    WORDS,
    Columns,
    InferredColumn,
    Name,
    Role,
    Side,
    Source,
    is_model,
    is_person,
    key,
    no_score,
    read_name,
)

BOTH_SIDES: tuple[Side, Side] = ("judge", "label")
WHO: tuple[Role, ...] = ("system", "group", "criterion", "annotator", "rater")
TABLE = frozenset(("item", "criterion", "rater", "score"))  # what a table of scores or ratings has
_NUMBERED = ("system", "build", "release")  # which may be called 417
_WHOSE = re.compile(r"^(annotator|labell?er|worker|coder)|_(id|by|name)$")
FEW_WORDS = 12  # different words that a scale may have
_ABOUT = re.compile(r"(meta|metadata|config|usage|params|attributes|tags)\.")  # objects about a row
_SHORT = 80  # characters of an id
_ID_NAMES = [name for name, role in ROLE_OF.items() if role == "item"]
_WEAK = ("idx", "index", "row", "row_id", "no", "number", "nr", "unnamed_0", "")  # an id only for want of a better
_ALSO_NAMES = frozenset(("n", "ms", "sd", "day", "mark", "max", "min", "page"))  # of counts, and of people
_SUMMARIES = frozenset(WORDS["raters"]["summaries"])


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
    side: Side  # by its place among the files
    roles: dict[Role, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    graded: tuple[Value, ...] = ()  # the columns of scores
    ids: tuple[str, ...] = ()  # columns that may be that of ids, the likeliest first

    def cells(self, role: Role) -> pd.Series | None:
        return self.source.frame[self.roles[role]] if role in self.roles else None

    def of(self, side: Side) -> tuple[Value, ...]:
        return tuple(value for value in self.graded if value.side == side)

    def with_role(self, role: Role, column: str, why: str) -> Seen:
        return replace(self, roles=self.roles | {role: column}, why=self.why | {column: why})

    def columns(self, name_of: Callable[[Value], str] = lambda _: "") -> list[InferredColumn]:
        """The role of each column, in the order of the file; `name_of`: what a column of scores is of."""
        columns, role_of = dict[str, InferredColumn](), {column: role for role, column in self.roles.items()}
        for column in map(str, self.source.frame):
            why = self.why.get(column, "no role was found for it")
            columns[column] = InferredColumn(self.source.name, column, role_of.get(column, "other"), why)
        for value in self.graded:
            side = value.side or "other"
            columns[value.column] = InferredColumn(self.source.name, value.column, side, value.why, name_of(value))
        return list(columns.values())


def is_table(frame: Any) -> bool:
    """Whether a frame is one of calib's tables of scores or ratings."""
    return isinstance(frame, pd.DataFrame) and set(frame.columns) >= TABLE


def seen(source: Source, side: Side, options: Columns) -> Seen:
    """The columns of one source, each by the options, its name and its cells."""
    frame = source.frame
    if is_table(frame) and (side or "method" in frame):
        # a table of calib's, in which each column has its name
        side, origin = side or ("label" if (frame["method"] == "human").all() else "judge"), "a table of calib's"
        own: dict[Role, str] = {name: name for name in ("item", *WHO) if name in frame}
        values = (Value("score", Name(), side, origin, "numbers", len(frame)),)
        return Seen(source, side, own, dict.fromkeys(own.values(), origin), values, ("item",))
    kinds: dict[str, Nature] = {}
    named: dict[str, Role | None] = {}  # the role that a column has by its name
    for name in frame:
        if kind := nature(frame[name]):
            kinds[name], named[name] = kind, ROLE_OF.get(key(name)) or _nested_role(name)
    listed_scores = [*listed(options, "judge"), *listed(options, "label")] if options else []
    scores, winners, scale = set(listed_scores), set[str](), options.get("scale", "")
    # columns that hold words of the scale of the options, and nothing else
    words = {folded(part.rpartition("=")[0] or part) for part in scale.split("|")}
    if "|" in scale and not all(word.replace(".", "").isdigit() for word in words):
        scores |= {name for name, kind in kinds.items() if kind != "blank" and _words_in(frame[name]) <= words}
    compared = {name: role for name, role in named.items() if role in ("first", "second")}
    if sorted(compared.values()) == ["first", "second"]:
        # columns that name the better of two, and do not say who rated
        names = {folded(str(cell)) for column in compared for cell in frame[column].dropna().unique()}
        for column in kinds.keys() - compared.keys():
            cells = _words_in(frame[column])
            if cells & names and all(cell in names or loosely(cell) in TIE for cell in cells):
                winners.add(column)
    one = _with_roles(Seen(source, side), kinds, named, scores, winners, options)
    one = replace(one, ids=tuple(_candidates(one, kinds, scores)))
    graded, no_scores = [], {*one.roles.values(), *one.ids[:1]}
    for column, kind in kinds.items():
        if column not in listed_scores and column in no_scores:
            continue
        if column in (*listed_scores, *winners) or _may_be_scores(frame[column], kind, worded=column in scores):
            name = read_name(column)
            whose, why = name.side, "its name" if name.side else ""
            for which in reversed(BOTH_SIDES) if options else ():
                if side in ("", which) and column in listed(options, which):
                    whose, why = which, "as was said"
            graded.append(Value(column, name, whose, why, kind, int((~blank(frame[column])).sum())))
    people = [value for value in graded if value.name.entity[:1].isupper() and not is_model(value.name.entity)]
    rest = {**kinds, **dict.fromkeys(no_scores, "")}
    graded = _with_initials(graded, [value.name.entity for value in people], rest, frame)
    return replace(one, graded=_without_means(graded))


def of_criteria(files: Sequence[Seen]) -> list[Seen]:
    """Files with the criteria of columns of scores, by a column of criteria or by the columns beside them."""
    columns = [cells for one in files if (cells := one.cells("criterion")) is not None]
    named = {key(name): str(name) for cells in columns for name in cells.dropna().unique()}
    settled = []
    for one in files:
        graded = []
        of = {v.side for v in one.graded if v.side == v.name.side != "" and v.name.criterion and not v.name.person}
        for value in one.graded if not is_table(one.source.frame) else ():
            whole, name = key(value.column), value.name
            for called in sorted(named, key=len, reverse=True):
                rest = re.sub(rf"(^|_){re.escape(called)}(_|$)", " ", whole) if called else whole
                if rest != whole:
                    name = replace(read_name(rest), criterion=named[called], by_model=name.by_model)
                    break
            # human_helpful beside human_coherence
            if value.side in of and not (name.criterion or name.person or is_model(name.entity)) and name.entity:
                name = replace(name, criterion=name.entity, entity="")
            graded.append(replace(value, name=name, side=value.side if value.why == "as was said" else name.side))
        settled.append(replace(one, graded=tuple(graded)) if graded else one)
    return settled


def _with_initials(
    graded: list[Value], people: list[str], kinds: Mapping[str, str], frame: pd.DataFrame
) -> list[Value]:
    """With columns that may be named after a person or a count (max, page), beside others named after people."""
    values = {value.column: value for value in graded}
    for column, kind in kinds.items():
        initials = len(column) < 4 and any(len(name) < 4 and name.isupper() for name in people)
        alike = initials if column.isupper() else bool(people) and column.istitle() and not initials
        if key(column) in _ALSO_NAMES and alike and kind in ("numbers", "words"):
            values[column] = Value(column, Name(entity=column), "", "", kind, int((~blank(frame[column])).sum()))
    return [values[column] for column in frame if column in values]


def _without_means(graded: Sequence[Value]) -> tuple[Value, ...]:
    """Without columns that are named as a mean, where there are two or more others to average."""
    names = {value.column: folded(value.name.entity) for value in graded if value.why != "as was said"}
    both = {"min", "max"} <= set(names.values())  # else somebody is called Max
    means = {column for column, name in names.items() if name in _SUMMARIES and (both or key(name) not in _ALSO_NAMES)}
    who = [value for value in graded if value.column not in means and (value.name.entity or value.name.person)]
    return tuple(value for value in graded if len(who) < 2 or value.column not in means)


def _nested_role(name: str) -> Role | None:
    """The role of a key in an object, such as `output.model` and `human.annotator`, by its own name."""
    head, _, last = name.rpartition(".")
    role = ROLE_OF.get(key(last)) if head else None
    if head and key(last) == "by" and (side := read_name(head).side):
        return "rater" if side == "judge" else "annotator"
    if role == "system" and read_name(head).side == "judge":
        return "rater"
    return role if role in ("system", "annotator", "rater", "source", "output", "group") else None


def _words_in(cells: pd.Series) -> set[str]:
    return {folded(str(cell)) for cell in cells[~blank(cells)].unique()}


def listed(options: Columns, word: str) -> list[str]:
    columns: Any = options.get(word, ())
    return [columns] if isinstance(columns, str) else list(columns)


def _with_roles(
    one: Seen,
    kinds: Mapping[str, str],
    named: Mapping[str, Role | None],
    scores: Collection[str],
    winners: Collection[str],
    options: Columns,
) -> Seen:
    """With the roles of columns: by the options, else by their names, where the cells are of such.

    People who rated are annotators; where no column is called a group, it is what each system answers once.
    """
    frame, roles, why = one.source.frame, dict[Role, str](), dict[str, str]()
    for role in (*WHO, "item"):
        column: Any = options.get(role)
        if role == "item" and one.side == "label":
            column = options.get("label_item") or column
        # a column of scores that is named after its criterion holds no criteria
        of_scores = role == "criterion" and kinds.get(column) in ("numbers", "words") and read_name(column).criterion
        if column is not None and column in frame and not of_scores:
            roles[role], why[column] = column, "as was said"
    for column, by_name in named.items():
        if by_name is None or by_name in ("item", *roles) or column in scores or column in roles.values():
            continue
        rates = by_name in ("rater", "annotator") and column in winners  # they name the better one
        if by_name == "annotator" and not rates:  # cells under the name of a person may be what this person said
            others = [read_name(name) for name, kind in kinds.items() if name != column and kind != "blank"]
            alone = not any(name.says_nothing or name.side == "label" for name in others)
            expert, texts = key(column) == "expert", kinds[column] == "texts"
            rates = (expert and alone) if texts else expert or alone or bool(blank(frame[column]).any())
        if by_name == "rater" and not rates and read_name(column) == Name("judge") and not _WHOSE.search(key(column)):
            # words under `judge` are its verdicts, if they are no models and no other column may hold its scores
            sides = {
                name: read_name(name).side for name, role in named.items()
                if name != column and role is None and kinds[name] != "blank" and not no_score(name)
            }  # fmt: skip
            alone = all(side == "label" or kinds[name] not in ("numbers", "words") for name, side in sides.items())
            cells, beside = _words_in(frame[column]), one.side == "judge" or "label" in sides.values()
            rates = alone and beside and len(cells) > 1 and not any(map(is_model, cells))
        if not rates and _fits_role(by_name, kinds[column], frame[column]):
            roles[by_name], why[column] = column, "its name"
    if ("first" in roles) != ("second" in roles):  # of two that are compared there are two
        roles.pop("first", None)
        roles.pop("second", None)
    if "rater" in roles and "annotator" not in roles:
        # in a file of labels who rated is an annotator; in one of both, where all are people by their names
        names = frame[roles["rater"]].dropna().unique()
        if one.side == "label" or (one.side == "" and len(names) and all(map(is_person, names))):
            roles = {("annotator" if role == "rater" else role): column for role, column in roles.items()}
    one = replace(one, roles=roles, why=why)
    if "system" not in roles or "group" in roles:
        return one
    for column in (column for column, by_name in named.items() if by_name == "source"):  # a question, or its number
        cells = frame[column]
        plain = set(map(type, cells.tolist())) <= {str, int, float, bool} and cells.notna().all()
        if plain and cells.duplicated().any() and _tells_rows_apart(one, column):
            return one.with_role("group", column, "each system answers it once")
    return one


def _fits_role(role: Role, kind: str, cells: pd.Series) -> bool:
    """Whether cells of a kind may be of the role that the name of their column says."""
    if role in ("annotator", "rater", "system", "criterion"):
        # a column `judge` or `expert` may hold names or scores; in one with a telling name, A, B and 1 are names
        telling = _WHOSE.search(key(cells.name)) is not None or key(cells.name) in _NUMBERED
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


def _candidates(one: Seen, kinds: Mapping[str, str], scores: Collection[str]) -> list[str]:
    """Columns that may hold ids, the likeliest first: that of the options, those called so, and any that differs."""
    if "item" in one.roles:
        return [one.roles["item"]]
    used, ranks = {*one.roles.values(), *scores}, dict[str, tuple[int, int]]()
    for place, (column, kind) in enumerate(kinds.items()):
        name = key(column)
        if column in used:
            continue
        if name in _WEAK:
            ranks[column] = (4, _ID_NAMES.index(name))
        elif name in _ID_NAMES or (name.endswith("_id") and name not in ROLE_OF):
            if kind != "blank":
                order = _ID_NAMES.index(name) if name in _ID_NAMES else len(_ID_NAMES) // 2
                ranks[column] = (0 if _tells_rows_apart(one, column) else 1, order)
        elif kind == "texts":
            cells = one.source.frame[column]
            if cells.is_unique and cells.notna().all() and cells.astype(str).str.len().max() <= _SHORT:
                ranks[column] = (3, place)
    if "group" in one.roles:
        ranks[one.roles["group"]] = (2, 0)
    return sorted(ranks, key=ranks.__getitem__)


def _tells_rows_apart(one: Seen, column: str) -> bool:
    by = [one.roles[role] for role in ("system", "criterion", "annotator", "rater") if role in one.roles]
    again = one.source.frame.duplicated([column, *by])  # rows that were exported twice count once
    return not (again.any() and (again & ~one.source.frame.astype(str).duplicated()).any())


def _may_be_scores(cells: pd.Series, kind: str, *, worded: bool) -> bool:
    """Whether a column may be one of scores, by its name and its cells; `worded`: it has the words of the scale."""
    column, plain = str(cells.name), key(cells.name)
    if kind == "blank" or plain in _WEAK or plain.endswith("_id") or ROLE_OF.get(plain) in ("item", "weight"):
        return False
    if worded:
        return True
    name = read_name(column)
    telling = bool(name.side or name.criterion or name.person or name.says_nothing)
    if not telling and _ABOUT.match(column):
        return False
    if kind == "numbers":  # which are no scores if they go up by one from row to row
        numbers = pd.to_numeric(cells, errors="coerce")
        counts_rows = len(numbers) > FEW_WORDS and bool((numbers.diff().iloc[1:] == 1).all())
        return not no_score(column) and not counts_rows
    if kind in ("words", "winners"):
        return (telling or cells.nunique() <= FEW_WORDS) and not no_score(column)
    in_words = cells.astype(str).str.strip().str.casefold().nunique() <= FEW_WORDS
    return telling and in_words and not no_score(column) and ROLE_OF.get(plain) not in ("source", "output", "text")


def with_ids(files: Sequence[Seen], notes: list[str]) -> list[Seen]:
    """Files with their columns of ids: of two files those that have most in common.

    What else is called like ids and repeats is a group; rows of means or sums below the others are left out.
    """
    likeliest = [one.ids[0] if one.ids else "" for one in files]
    if len(files) > 1 and all(likeliest):
        texts = [{column: set(id_texts(one.source.frame[column]).dropna()) for column in one.ids} for one in files]
        best = -1.0
        for mine, ours in texts[0].items():
            for other, theirs in texts[1].items():
                shared = len(ours & theirs) / max(len(theirs), 1)
                if shared > best + 1e-9:
                    best, likeliest = shared, [mine, other]
    settled = []
    for one, ids in zip(files, likeliest, strict=True):
        if not ids:
            settled.append(one)
            continue
        by_name = key(ids) in _ID_NAMES or key(ids).endswith("_id") or not one.source.frame[ids].is_unique
        origin = "both have it" if ids not in one.ids[:1] else "its name" if by_name else "unique in each row"
        origin = "as was said" if one.why.get(ids) == "as was said" else origin
        frame, others = one.source.frame, set(one.ids) - {ids, *one.roles.values()}
        roles = {role: column for role, column in one.roles.items() if column != ids}
        new = replace(one, roles=roles | {"item": ids}, why=one.why | {ids: origin})
        for column in one.ids if others and "group" not in roles and frame[ids].is_unique else ():
            cells = frame[column].dropna()
            if column in others and cells.duplicated().any() and 1 < cells.nunique() < len(cells):
                new = new.with_role("group", column, "ids that repeat, beside ids that do not")
                break
        names, last = frame[ids].tolist(), 0
        while last < len(names) and folded(str(names[-1 - last])).rstrip(":") in _SUMMARIES:
            last += 1
        if 0 < 2 * last < len(names) and not is_table(frame):
            such = ", ".join(repr(str(name)) for name in names[-last:])
            last_rows = f"{one.source.name}: the last rows ({such})"
            notes.append(f"{last_rows} are taken for summaries of the others and left out.")
            new = replace(new, source=replace(one.source, frame=frame.iloc[:-last]))
        settled.append(new)
    return settled


def with_lists(sources: Sequence[Source], options: Columns) -> Columns:
    """Options with names between commas as several columns: "Anna,Ben", where no column is called so."""
    columns, split = {name for source in sources for name in source.frame}, dict[str, list[str]]()
    for word in BOTH_SIDES:
        for name in listed(options, word):
            parts = [part.strip() for part in name.split(",")]
            split.setdefault(word, []).extend(parts if name not in columns and columns.issuperset(parts) else [name])
    new = {word: names for word, names in split.items() if names != listed(options, word)}
    return cast(Columns, {**options, **new})


def refuse_unknown(sources: Sequence[Source], options: Columns) -> None:
    """Refuse an option that names no column; a criterion, a judge's name and a scale need not be columns."""
    columns = [str(column) for source in sources for column in source.frame]
    for word in ("item", "label_item", "judge", "label", "annotator", "system", "group"):
        for column in listed(options, word):
            if column not in columns:
                near = difflib.get_close_matches(column, columns, n=1)
                near = near or [name for name in columns if key(name) == key(column)]
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                names = "; ".join(f"{one.name} has {', '.join(repr(str(c)) for c in one.frame)}" for one in sources)
                raise ArgumentError(word, "must be a column", f"got {column!r}{hint}: {names}")
