"""Options for the columns of a user's files, the tables inferred from them, and what the name of a column says."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict, cast

if TYPE_CHECKING:
    import pandas as pd  # the shell reads its words here, and must not wait for tables

Role = Literal[
    "item", "system", "group", "criterion", "first", "second", "judge", "rater", "label", "annotator", "source",
    "output", "text", "weight", "other",
]  # fmt: skip
Side = Literal["judge", "label", ""]
Wide = Literal["rater", "system", "criterion"]
# a table of calib's, or a path, a frame of pandas, polars, pyarrow, columns, rows; or `InferredTables`
Data: TypeAlias = Any


class Columns(TypedDict, total=False):
    """Options for the columns of a user's files; what they leave open is recognised.

    The same words in Python and, as options, in the shell.
    """

    item: Annotated[str, "Column of ids."]
    label_item: Annotated[str, "Column of ids in the file of labels, if it has another name there."]
    judge: Annotated[str | Sequence[str], "Column or columns with a judge's scores."]
    label: Annotated[str | Sequence[str], "Column or columns with people's labels."]
    annotator: Annotated[str, "Column that says who labelled, in a long file."]
    rater: Annotated[str, "Column that says which judge scored, in a long file; or the judge's name."]
    system: Annotated[str, "Column of who wrote the output."]
    group: Annotated[str, "Column of what several outputs answer, such as the source document."]
    criterion: Annotated[str, "Column of what was rated; or the criterion that is meant."]
    scale: Annotated[str, "1|2|3|4|5, or lo..hi; words worst first, poor|fair|good; words=values, no=0|yes=1."]
    wide: Annotated[Wide, "What several columns of scores stand for: system, rater (judges) or criterion."]


# roles that a command line gives as --column ROLE=NAME; the others have an option of their own
BY_COLUMN = ("item", "label_item", "annotator", "rater", "criterion", "wide")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file or frame as it was read.

    `line(row)` says where a row stands as its user would: "line 17" of a file, "row 15" of a frame.
    """

    frame: pd.DataFrame
    name: str  # "results.csv", "the frame", "the polars DataFrame"
    path: Path | None = None
    line: Callable[[int], str] = "row {}".format
    notes: tuple[str, ...] = ()  # how it was read, where that was a guess: separator, decimal comma, encoding, sheet


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Scores of judges, or labels of people, one per row: who, of what, the number, and the row of the file.

    The columns of `rows` are `ROW`; `ids` and `system` name the columns of the file that hold these.
    """

    rows: pd.DataFrame
    source: Source
    ids: str
    system: str
    table: pd.DataFrame | None = None  # where it is one of calib's

    def line(self, at: int) -> str:
        return self.source.line(int(at))

    def __str__(self) -> str:
        return f"`{self.ids}` of {self.source.name}" if self.ids else f"the rows of {self.source.name}"


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """The role of one column of one source, and why."""

    source: str
    column: str
    role: Role
    why: str  # "its name", "unique in each row", "blank in 740 of 800 rows", "as was said"
    score_of: str = ""  # the system, rater or criterion that a score column is of


@dataclass(frozen=True, slots=True, eq=False)
class InferredTables:
    """A user's files as tables.

    `scores` are the judges' (None where there are none), `annotations` the labels of each annotator, `labels` these
    pooled to one rater per criterion, `items` the texts, where there are any.
    """

    sources: tuple[Source, ...]
    columns: tuple[InferredColumn, ...]
    scale: str
    guessed_scale: bool
    scores: pd.DataFrame | None
    annotations: pd.DataFrame | None
    labels: pd.DataFrame | None
    items: pd.DataFrame | None
    pairwise: bool  # preferences of one of two, as 1, 0.5 and 0 for the first
    words: tuple[str, ...]  # of the scale, in the order of its values, where labels were words
    notes: tuple[str, ...]  # what looks wrong or was forgiven, each a sentence; verbs give them as warnings
    options: Columns
    rows: Mapping[Side, Rows] = field(default_factory=dict)  # those that the tables of both sides were made of
    scale_warnings: tuple[str, ...] = ()  # on judges on a scale of their own, for verbs that need that of people


# --- what the names of columns say ------------------------------------------------------------------------------------


_TOML = resources.files("calib.inputs").joinpath("words.toml")
WORDS: dict[str, dict[str, list[Any]]] = tomllib.loads(_TOML.read_text("utf-8"))
_HUMAN, _EITHER, _JUDGE, _PLAIN, _PLAIN_BESIDE, CRITERIA = (
    frozenset(WORDS["raters"][name]) for name in ("human", "either", "judge", "plain", "plain_beside", "criteria")
)
ROLE_OF: dict[str, Role] = {name: cast("Role", role) for role, names in WORDS["roles"].items() for name in names}
# makers and families of models; no person is called so
_MODELS = re.compile(
    r"gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|command-?r|sonnet|vicuna|alpaca|prometheus|rouge|"
    r"bleu|chatglm|ernie|olmo|wizardlm|zephyr|starling|nemotron|jamba|davinci|turbo|deberta|distilbert|"
    # also names of people, and parts of words: Robert, Bart, coherence, expert5, photo1
    r"(?<![a-z])(?:grok|phi-?\d|palm|bard|opus|haiku|nova-|kimi|yi-\d|falcon|cohere(?!n)|o[134](?:-mini|-preview|-pro)?$|"
    r"(?:flan-?|m)?t5|(?:bart|bert)(?:-?score)?(?![a-z]))",
    re.IGNORECASE,
)
_TEXTS = ("source", "output", "text")  # answer relevancy is a criterion
_NO_SCORES = re.compile(
    r"_(at|on)$|(^|_)(tokens?|latency|time|timestamp|datetime|date|day|month|year|age|cost|price|usd|length|len|words|"
    r"chars|characters|count|num|n|seed|temperature|duration|seconds|secs|ms|split|fold|batch|rank|round|step|turn|"
    r"version|lang|language|draw|run|order|position|line|page|chapter|size|hash|url|category|topic|domain|type|source|weight|"
    r"difficulty|level|tier|retry|retries|attempts?|upvotes|downvotes|likes|clicks|views|priority|iteration|epoch|"
    r"entropy|mass|logprob|prob_mass|chosen|inclusion|stratum|threshold|min|max|alone|needed|saved|factor|"
    r"reason|reasons|reasoning|rationale|explanation|justification|comment|comments|critique|"
    r"confidence|certainty|std|stdev|stddev|sd|stderr|sem|variance)(_|$)"  # the last are of a score, whoever gave it
)
_SCALE = re.compile(r"[(\[][\d\s.,/|to\u2013-]+[)\]]|(?:\b|_)\d+[\s_]?(?:-|\u2013|to|\.\.)[\s_]?\d+\s*$")  # (1-5)


@dataclass(frozen=True, slots=True)
class Name:
    """A score column by its name: the side that it says, the person, the criterion, and what is left of it."""

    side: Side = ""
    person: str = ""  # "annotator_1" of a name that says no more than who labelled
    criterion: str = ""
    entity: str = ""  # a system, a judge or a person, in its own spelling
    by_model: bool = field(default=False, repr=False)  # no word says the side, only a model is called so

    @property
    def says_nothing(self) -> bool:
        """Whether it holds only words that any score may be called by."""
        return not (self.side or self.person or self.criterion or self.entity)

    @property
    def may_be_else(self) -> bool:
        """Whether it holds a word that is no person, model or number: a rater's name, or no score at all."""
        is_plain = is_model(self.entity) or re.fullmatch(r"v?\d+|[a-z]|", self.entity.casefold())
        return not (self.person or is_plain)


def key(name: object) -> str:
    """A name as it is looked up.

    Examples
    --------
    >>> key("Item ID"), key("humanScore"), key("model-A")
    ('item_id', 'human_score', 'model_a')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", str(name).strip())
    return re.sub(r"[\W_]+", "_", spaced.casefold()).strip("_")


def few(names: Sequence[str]) -> str:
    """The first of several columns, for a sentence."""
    texts = [f"`{name}`" for name in names[:4]]
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:]))) + (" ..." if len(names) > 4 else "")


def loose(text: object) -> str:
    """A name without what parts its words: gpt-4o is GPT 4o."""
    return key(text).replace("_", "")


def stems(name: object) -> frozenset[str]:
    """The words of a criterion without their endings.

    Examples
    --------
    >>> stems("relevant") < stems("Answer Relevancy"), stems("accurate") == stems("accuracy")
    (True, True)
    """
    ending = re.compile(r"(ness|nt|n?c[ey]|(?<=.{3})(ity|ty|a[ct][ey]))$")
    return frozenset(ending.sub("", word) for word in key(name).split("_"))


def no_score(name: object) -> bool:
    """Whether a column of this name holds numbers that are no scores.

    Examples
    --------
    >>> no_score("total_tokens"), no_score("tone")
    (True, False)
    """
    return _NO_SCORES.search(key(name)) is not None


def is_model(name: object) -> bool:
    return _MODELS.search(str(name)) is not None


def is_person(name: object) -> bool:
    """Whether a rater of this name is one of people.

    Examples
    --------
    >>> [is_person(name) for name in ("expert 2", "annotator_1", "gpt-4o", "human", "A1")]
    [True, True, False, True, False]
    """
    return read_name(name).side == "label" and not is_model(name)


def read_name(name: object) -> Name:
    """What the name of a score column says.

    Examples
    --------
    >>> read_name("human_coherence")
    Name(side='label', person='', criterion='coherence', entity='')
    >>> read_name("gpt-4o_score"), read_name("annotator_2")
    (Name(side='judge', person='', criterion='', entity='gpt-4o'), Name(side='label', person='annotator_2', \
criterion='', entity=''))
    >>> read_name("judge_fluency_gpt4o")
    Name(side='judge', person='', criterion='fluency', entity='gpt4o')
    >>> [read_name(name).side for name in ("llm_label", "gpt-4o_label", "label_gpt-4o", "human_judge")]
    ['judge', 'judge', 'label', 'label']
    """
    text = _SCALE.sub(" ", str(name)).strip()
    # a hyphen, or a dot between digits, within the name of a model separates no words
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", text) if re.fullmatch(r"[a-z]+([A-Z][a-z]+)+", text) else text
    between = r"[\s_:/|()\[\]]+|(?<!\d)\.|\.(?!\d)" if is_model(spaced) else r"[\W_]+"
    parts = list(filter(None, re.split(between, spaced)))
    side: Side = ""
    person, criterion, words, place = "", "", list[str](), 0
    either = behind = False  # whether the word for people may be of a judge, and stands behind other words
    while place < len(parts):
        two = parts[place : place + 2]
        here, after = two[0].casefold(), "".join(two[1:]).casefold()
        numbered = re.fullmatch(r"([^\W\d]+)(\d+)", here)
        word, number = (numbered[1], numbered[2]) if numbered else (here, "")
        follows = not number and re.fullmatch(r"\d+|[a-z]", after) is not None
        both = False  # whether the next part goes with this one
        if side == "judge" and word in _HUMAN:  # who is called so is the judge
            words += [two[0]] * bool(number or word not in _EITHER)
        elif word in _HUMAN or (word == "rater" and (number or follows)):
            either, behind = word in _EITHER and (either or not side), behind or (not side and bool(words))
            side, both = "label", follows
            person = "_".join(two) if follows else two[0] if number else person
        elif here in ("model", "system") and follows:
            words, both = words + two, True
        elif here in _JUDGE:
            side, person = ("judge", "") if either or not side else (side, person)
        elif not criterion and (f"{here}_{after}" in CRITERIA or (ROLE_OF.get(here) in _TEXTS and after in CRITERIA)):
            criterion, both = "_".join(two), True
        elif not criterion and here in CRITERIA:
            criterion = two[0]
        elif here not in _PLAIN:
            words.append(two[0])
        place += 1 + both
    if side or criterion or not {word.casefold() for word in words} - {"is", "was"}:
        words = [word for word in words if word.casefold() not in _PLAIN_BESIDE]
    # what is left of the name, as it was spelled where that is one piece
    piece = re.search(r"[\W_]+".join(map(re.escape, words)), text) if words else None
    entity = piece[0] if piece else "_".join(words)
    by_model = is_model(entity) and (not side or (either and behind and not person))
    return Name("judge" if by_model else side, person, criterion, entity, by_model)
