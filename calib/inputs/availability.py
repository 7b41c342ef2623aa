"""What each analysis needs of a user's tables, and so which can be computed and which cannot, and why.

Each analysis is a row of `_ANALYSES`: its rules and the words in which it is offered. Nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import pandas as pd

from calib.inputs.names import InferredTables
from calib.table import TableError
from calib.table.labelled import MOST_VALUES, label_pairs, scale_levels
from calib.table.pairs import unequal_chances
from calib.table.text import span_of
from calib.table.validate import scores_in

LEAST_GOLD = 10  # of `interval` and `difference`
MOST_IN_PAIRS = 6  # up to so many systems each is compared with each
_LEAST_ITEMS = 4  # of which a correlation has an interval
_LEAST_SYSTEMS = 3  # two agree in full or not at all
_LEAST_VERDICTS = 10
_LEAST_CLAIMS = 30  # items with labels, for a regression with three coefficients
_MOST_SYSTEMS = 60  # each compared with all others
_FIRST_LABELS = 50  # to buy where there is none
_NO_SYSTEMS = "no column says which system wrote what (system=, --system)"


@dataclass(frozen=True, slots=True)
class Can:
    """One question that a user's tables may answer."""

    what: str  # in words
    verb: str  # the function of `calib` that answers it
    possible: bool
    why: str  # what it can be computed from, or what is missing and what to do about it
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of the function beside the files
    systems: tuple[str, ...] = ()  # whose difference it is
    criteria: tuple[str, ...] = ()  # those that it can be computed for; empty where it cannot
    whole: bool = True  # whether that is all of them

    def __str__(self) -> str:
        return f"{self.what}: {'yes' if self.possible else 'no'}, {self.why}"


class Beside(NamedTuple):
    """One judge beside the labels of one criterion: a row for each item that it scored."""

    criterion: str
    rater: str
    frame: pd.DataFrame
    intake: InferredTables

    @property
    def labelled(self) -> pd.DataFrame:
        return self.frame[self.frame["x"].notna() & self.frame["y"].notna()]

    @property
    def people(self) -> pd.DataFrame:
        """People's labels one by one."""
        people = self.intake.labels if self.intake.annotations is None else self.intake.annotations
        assert people is not None
        return people[(people["criterion"].astype(str) == self.criterion) & people["score"].notna()]

    @property
    def has_outputs(self) -> bool:
        items = self.intake.items
        return items is not None and "output" in items and bool(items["output"].notna().any())

    def values(self, column: str) -> list[str]:
        return [str(value) for value in self.frame[column].dropna().unique()]

    def has(self, column: str) -> bool:
        """Whether a column is there, without gaps."""
        return column in self.frame and bool(self.frame[column].notna().all())


Rule: TypeAlias = Callable[[Beside], str]  # why not, or nothing
Words: TypeAlias = Callable[[Sequence[Beside]], str]  # what it can be computed from


def beside(intake: InferredTables) -> tuple[Beside, ...]:
    """Each judge beside the labels; none where a side is missing, or they share no item."""
    if intake.scores is None or intake.labels is None:
        return ()
    place = {item: at for at, item in enumerate(intake.scores["item"].astype(object).unique())}
    pairs = []
    try:
        for pair in label_pairs(scores_in(intake.scores, "scores"), scores_in(intake.labels, "labels")):
            mine = pair.frame[pair.frame["_merge"] != "right_only"]
            in_order = mine.iloc[mine["item"].map(place).argsort(kind="stable")]  # as in the file, not by name
            pairs.append(Beside(str(pair.label["criterion"]), str(pair.label["rater"]), in_order, intake))
    except TableError:  # `InferredTables.notes` say why
        return ()
    return tuple(pairs) if any(len(pair.labelled) for pair in pairs) else ()


def possibilities(intake: InferredTables, pairs: Sequence[Beside]) -> tuple[Can, ...]:
    """All questions that calib has an answer to, in the order of a report."""
    kind = "pairs" if intake.pairwise else "scores"
    alone: tuple[Needs, ...] = ()
    if intake.annotations is None and intake.scores is not None and len(intake.scores):
        alone = _OF_SCORES
    elif intake.scores is None and intake.labels is not None and not intake.pairwise:
        alone = _OF_LABELS
    answers = [answer for need in alone if (answer := need.count(need, intake, pairs)).possible]
    answers += [need.count(need, intake, pairs) for need in _ANALYSES if need.of in ("", kind)]
    if intake.scores is None and intake.annotations is None:
        return tuple(replace(one, why="the files make no tables as they are") for one in answers)
    sides = {"there are no scores of a judge": intake.scores, "there are no labels of people": intake.labels}
    lacking = [text for text, frame in sides.items() if frame is None or not len(frame)]
    missing = " and ".join(lacking) or "no item has both a score of the judge and a label"
    return tuple(one if one.why else replace(one, why=missing) for one in answers)


def _of_judges(need: Needs, _: InferredTables, pairs: Sequence[Beside]) -> Can:
    """The answer for the criteria whose judges all allow it; where one will do, some of them."""
    trouble: dict[str, list[str]] = {}
    for pair in pairs:
        trouble.setdefault(pair.criterion, []).append(need.refusal(pair))
    whole = {pair.criterion for pair in pairs} - {pair.criterion for pair in pairs if not len(pair.labelled)}
    in_part = whole if need.some else set()
    good = tuple(name for name, texts in trouble.items() if not any(texts) or (name in in_part and not all(texts)))
    bad = {name: next(filter(None, texts)) for name, texts in trouble.items() if name not in good}
    if not good:  # where there are no pairs `possibilities` says why
        return need.refused(next(iter(bad.values()), ""))
    words = need.words([pair for pair in pairs if pair.criterion in good and not need.refusal(pair)])
    return need.met(words, good, bad)


@dataclass(frozen=True, slots=True)
class Needs:
    """What an analysis cannot do without, and in what words it is offered."""

    what: str
    verb: str
    rules: tuple[Rule, ...] = ()  # of each judge; the first that objects is heard
    words: Words = lambda _: ""
    of: Literal["scores", "pairs", ""] = ""  # preferences, anything else, or either
    some: bool = False  # whether one of the judges of a criterion will do
    options: Mapping[str, Any] = field(default_factory=dict)
    count: Callable[[Needs, InferredTables, Sequence[Beside]], Can] = _of_judges

    def refusal(self, pair: Beside) -> str:
        """The first rule that the pair breaks, in words."""
        return next(filter(None, (rule(pair) for rule in self.rules)), "")

    def refused(self, why: str) -> Can:
        return Can(self.what, self.verb, False, why, self.options)

    def met(self, words: str, criteria: Iterable[Any], bad: Mapping[str, str] | None = None) -> Can:
        """The answer for these criteria; `bad` says why there is none for others."""
        why = words + "".join(f"; not for {criterion}: {text}" for criterion, text in (bad or {}).items())
        names = tuple(dict.fromkeys(map(str, criteria)))
        return Can(self.what, self.verb, True, why, self.options, criteria=names, whole=not bad)


# --- rules of one judge beside people -----------------------------------------------------------------------------


def _labels(least: int) -> Rule:
    def rule(pair: Beside) -> str:
        n = len(pair.labelled)
        return f"{number(n, 'item')} with a label, at least {least} needed" if n < least else ""

    return rule


def _labels_vary(pair: Beside) -> str:
    return f"every label is {pair.labelled['y'].iloc[0]:g}" if is_one(pair.labelled["y"]) else ""


def _labels_vary_or_have_ends(pair: Beside) -> str:
    """Labels that are all alike need the ends of the scale, which bound the error."""
    scaled = "scale" in pair.frame and bool(pair.frame["scale"].fillna("").ne("").any())
    return "" if scaled else _labels_vary(pair)


def _both_vary(pair: Beside) -> str:
    few, x = _labels(_LEAST_ITEMS)(pair), pair.labelled["x"]
    return few or _labels_vary(pair) or (f"every score of {pair.rater} is {x.iloc[0]:g}" if is_one(x) else "")


def _named_systems(least: int) -> Rule:
    def rule(pair: Beside) -> str:
        if not pair.has("system"):
            return _NO_SYSTEMS
        return "there is one system" if len(pair.values("system")) < least else ""

    return rule


def _labels_of_each_system(pair: Beside) -> str:
    if not pair.has("system"):
        return ""
    counts = pair.labelled.groupby(pair.frame["system"].astype(str), sort=False)["y"].size()
    counts = counts.reindex(pair.values("system"), fill_value=0)
    few = [f"{name} has {number(int(n), 'label')}" for name, n in counts.items() if n < LEAST_GOLD]
    more = f" and {len(few) - 2} more" if len(few) > 2 else ""
    return f"at least {LEAST_GOLD} labels of each needed: {', '.join(few[:2])}{more}" if few else ""


def _once_in_a_group(pair: Beside) -> str:
    repeats = pair.has("group") and pair.frame.duplicated(["group", "system"]).any()
    return "a system has several items in a group" if repeats else ""


def _groups_that_vary(pair: Beside) -> str:
    if not pair.has("group"):
        return "no column says what several outputs answer (group=, --group)"
    return "" if _n_varied(pair) > 1 else "two groups at least must have labels and scores that differ within them"


def _n_varied(pair: Beside) -> int:
    return int(pair.labelled.groupby("group")[["x", "y"]].nunique().gt(1).all(axis=1).sum())


def _systems_that_vary(pair: Beside) -> str:
    means = pair.labelled.groupby("system")[["x", "y"]].mean()
    if len(means) < _LEAST_SYSTEMS:
        return f"{number(len(means), 'system')} with labels, at least {_LEAST_SYSTEMS} needed"
    return "all systems have one mean" if is_one(means["y"]) or is_one(means["x"]) else ""


def _others_alike(pair: Beside) -> str:
    """Why nothing can be promised of the items without a label."""
    if len(pair.labelled) == len(pair.frame):
        return "all items have a label"
    return "the labelled items were drawn with chances that differ" if unequal_chances(pair.frame) else ""


def _few_values(pair: Beside) -> str:
    """Whether the values of people's scale can be counted one by one."""
    n = _n_levels(pair)
    return f"labels have {n} values, at most {MOST_VALUES} allowed (scale=, --scale)" if n > MOST_VALUES else ""


def _n_levels(pair: Beside) -> int:
    people, judges = pair.people, pair.intake.scores
    assert judges is not None
    scales = people.get("scale", []), judges[judges["criterion"].astype(str) == pair.criterion].get("scale", [])
    return len(scale_levels(people["score"].to_numpy(dtype=float), *scales))


def _decided_verdict(pair: Beside) -> str:
    """On more than three values the user must say which ones pass, or which difference is an error."""
    n = 0 if pair.intake.pairwise else _n_levels(pair)
    what = "label_threshold=, --label-threshold (which labels pass) or within=, --within (largest allowed difference)"
    return f"people's scale has {n} values: give {what}" if n > 3 else ""


def _both_verdicts(pair: Beside) -> str:
    values = pair.people["score"].unique()
    if len({*values, *pair.frame["x"].dropna()}) == 2:  # the judge has verdicts, too: labels may all be one of them
        return _labels(_LEAST_VERDICTS)(pair)
    if len(values) != 2:
        return f"labels have {number(len(values), 'value')}: give label_threshold=, --label-threshold (which pass)"
    few, passes = _labels(_LEAST_VERDICTS)(pair), pair.labelled["y"] > values.mean()
    one_side = f"people {'pass' if passes.all() else 'fail'} all" if passes.all() or not passes.any() else ""
    return few or one_side or _both_vary(pair)


def _features(pair: Beside) -> str:
    """There must be texts or systems, and with several annotators enough items that two labelled."""
    people = pair.people
    each = people[people["item"].isin(pair.labelled["item"])].groupby("item", observed=True)["rater"].nunique()
    n = int((each > 1).sum())
    if len(people["rater"].unique()) > 1 and n < _LEAST_CLAIMS:
        return f"{n} items with two annotators, at least {_LEAST_CLAIMS} needed"
    return "" if pair.has_outputs or _several_systems(pair) else "neither texts nor systems"


def _several_systems(pair: Beside) -> bool:
    return pair.has("system") and 1 < pair.labelled["system"].nunique() <= _MOST_SYSTEMS


def _labels_to_buy(pair: Beside) -> str:
    n, of = len(pair.labelled), len(pair.frame)
    return "" if 2 * n <= of else f"{n} of {of} items have a label already"


# --- in what words they are offered -------------------------------------------------------------------------------


def _counted(text: str, count: Callable[[Beside], int] = lambda pair: len(pair.labelled)) -> Words:
    """A text with the fewest and the most that any of the judges has."""
    return lambda pairs: text.format(span_of([count(pair) for pair in pairs]))


_LABELLED = _counted("{} items with a label")


def _labelled_of_all(pairs: Sequence[Beside]) -> str:
    labelled, there = [len(pair.labelled) for pair in pairs], [len(pair.frame) for pair in pairs]
    if labelled == there:
        return f"all {span_of(there)} items have a label, so the judge adds nothing to it"
    return f"{span_of(labelled)} of {span_of(there)} items have a label"


def _labelled_pairs(pairs: Sequence[Beside]) -> str:
    frames = [(pair.labelled, pair.frame) for pair in pairs]
    each = [[frame["group"].nunique() if "group" in frame else len(frame) for frame in both] for both in frames]
    labelled, there = map(span_of, zip(*each, strict=True))
    return f"{labelled} of {there} pairs have a label"


def _named_features(pairs: Sequence[Beside]) -> str:
    of = ["length"] * pairs[0].has_outputs + ["system"] * any(map(_several_systems, pairs))
    return f"{' and '.join(of)}, {_LABELLED(pairs)}"


# --- analyses that count in their own way -------------------------------------------------------------------------


def _difference(need: Needs, intake: InferredTables, pairs: Sequence[Beside]) -> Can:
    first = next((pair for pair in pairs if not need.refusal(pair)), None)
    names = tuple(first.values("system")) if first else ()

    def words(good: Sequence[Beside]) -> str:
        one = "each" if len(names) <= MOST_IN_PAIRS else names[0]
        against = " and ".join(names) if len(names) == 2 else f"{len(names)} systems, {one} against the others"
        if not good[0].has("group"):
            return f"{against}, nothing paired, as no column says what both answered (group=, --group)"
        return f"{against}, paired by {number(good[0].frame['group'].nunique(), 'group')}"

    return replace(_of_judges(replace(need, words=words), intake, pairs), systems=names)


def _ranking(need: Needs, intake: InferredTables, pairs: Sequence[Beside]) -> Can:
    judges: dict[str, list[str]] = {}
    for pair in pairs:
        judges.setdefault(pair.criterion, []).extend([] if _both_vary(pair) else [pair.rater])

    def two_judges(pair: Beside) -> str:
        return "" if len(judges[pair.criterion]) > 1 else _both_vary(pair) or "one judge"

    words = _counted("{} judges", lambda pair: len(judges[pair.criterion]))
    return _of_judges(replace(need, rules=(two_judges,), words=words), intake, pairs)


def _reliability_row(need: Needs, intake: InferredTables, _: Sequence[Beside]) -> Can:
    if intake.annotations is None or not len(intake.annotations):
        return need.refused("there are no labels of people")
    bad: dict[str, str] = {}
    good: dict[str, int] = {}
    for criterion, rows in intake.annotations.groupby("criterion", observed=True, sort=False):
        each = rows.dropna(subset=["score"]).groupby("item", observed=True)["rater"].nunique()
        raters = rows["rater"].nunique()
        if raters < 2:
            bad[str(criterion)] = "only one annotator: at least two needed"
        elif (n := int((each > 1).sum())) < _LEAST_ITEMS:
            bad[str(criterion)] = f"{number(n, 'item')} with two annotators, at least {_LEAST_ITEMS} needed"
        else:
            good[str(criterion)] = raters
    if not good:
        return need.refused(next(iter(bad.values())))
    return need.met(f"{span_of(list(good.values()))} annotators", good, bad)


def _leaderboard(need: Needs, intake: InferredTables, _: Sequence[Beside]) -> Can:
    frames = [frame for frame in (intake.scores, intake.labels) if frame is not None]
    systems = {str(name) for frame in frames if "system" in frame for name in frame["system"].dropna().unique()}
    in_pairs = any(one.role == "first" for one in intake.columns)
    if not frames or not in_pairs or len(systems) < 3:
        return need.refused("fewer than three systems are named (model_a, model_b)")
    return need.met(f"{len(systems)} systems", frames[0]["criterion"].unique())


def _labels_needed(need: Needs, intake: InferredTables, pairs: Sequence[Beside]) -> Can:
    """For the half-width that twice the labels would give without the judge, to two digits."""
    if intake.pairwise:  # preferences are planned for each system
        pairs = [pair._replace(frame=part) for pair in pairs for _, part in pair.frame.groupby("system", observed=True)]
    labels = [pair.labelled["y"] for pair in pairs if not need.refusal(pair)]
    width, widest = 0.1, max((2.3 * float(y.std()) / math.sqrt(2 * len(y)) for y in labels), default=0.0)
    if widest:
        unit = 10.0 ** (math.floor(math.log10(widest)) - 1)
        width = float(f"{math.ceil(widest / unit) * unit:.2g}")
    why = f"for an interval of +/- {width:g}"
    return _of_judges(replace(need, words=lambda _: why, options={"half_width": width}), intake, pairs)


def _choice(need: Needs, intake: InferredTables, _: Sequence[Beside]) -> Can:
    if intake.scores is None or not len(intake.scores):
        return need.refused("there are no scores of a judge")
    if intake.labels is not None and len(intake.labels):
        return need.refused("some items are labelled already; draw before you label")
    whose, n = intake.scores[["criterion", "rater"]].drop_duplicates(), intake.scores["item"].nunique()
    if n * len(whose) != len(intake.scores):
        return need.refused("each judge must have scored the same items on each criterion")
    if n < 2 or intake.scores["score"].isna().any():
        return need.refused("each item must have a score" if n > 1 else "there is one item")
    need = replace(need, options={"n": min(_FIRST_LABELS, n)})
    return need.met(f"none of {n} items has a label", whose["criterion"])


def _judge_alone(need: Needs, intake: InferredTables, _: Sequence[Beside]) -> Can:
    """What a judge's scores answer without a label, of the judge alone."""
    assert intake.scores is not None
    scores = intake.scores
    systems = tuple(map(str, scores["system"].dropna().unique())) if "system" in scores else ()
    if ("by" in need.options or need.verb == "difference") and len(systems) < 2:
        return need.refused(_NO_SYSTEMS)
    answer = need.met("of the judge alone: what people would say is not in it", scores["criterion"].unique())
    return replace(answer, systems=systems) if need.verb == "difference" else answer


def _labels_alone(need: Needs, intake: InferredTables, _: Sequence[Beside]) -> Can:
    """What labels answer without a judge: their mean, where each part has enough of them."""
    assert intake.labels is not None
    table = intake.labels[intake.labels["score"].notna()]
    if "by" in need.options and ("system" not in table or table["system"].nunique() < 2):
        return need.refused(_NO_SYSTEMS)
    counts = table.groupby(["criterion", *need.options.values()], observed=True)["score"].count()
    if counts.empty or counts.min() < LEAST_GOLD:
        return need.refused(f"at least {LEAST_GOLD} labels needed")
    return need.met(f"{len(table)} labels and no judge", table["criterion"].unique())


_ALONE = {"estimator": "judge_only"}
_OF_SCORES = (
    Needs("judge's own mean", "interval", options=_ALONE, count=_judge_alone),
    Needs("judge's own mean of each system", "interval", options=_ALONE | {"by": "system"}, count=_judge_alone),
    Needs("judge's own difference of systems", "difference", options=_ALONE, count=_judge_alone),
)
_OF_LABELS = (
    Needs("human mean, from labels alone", "interval", count=_labels_alone),
    Needs("mean of each system, from labels alone", "interval", options={"by": "system"}, count=_labels_alone),
)
_OF_MEANS = (_labels(LEAST_GOLD), _labels_vary_or_have_ends)
_OF_SYSTEMS = (_named_systems(2), _labels_of_each_system)
_ANALYSES = (
    Needs("win rate, with interval", "interval", (*_OF_MEANS, _labels_of_each_system), _labelled_pairs, "pairs"),
    Needs("human mean, with interval", "interval", _OF_MEANS, _labelled_of_all, "scores"),
    Needs("mean of each system", "interval", _OF_SYSTEMS,
          _counted(f"each of {{}} systems has {LEAST_GOLD} labels or more", lambda pair: len(pair.values("system"))),
          "scores", options={"by": "system"}),
    Needs("difference of systems", "difference", (*_OF_SYSTEMS, _once_in_a_group), count=_difference),
    Needs("agreement over items", "agreement", (_both_vary,), _LABELLED, some=True),
    # not of pairs, whose two sides mirror each other
    Needs("agreement within groups", "agreement", (_groups_that_vary,),
          _counted("{} groups with labels that differ", _n_varied), "scores", some=True, options={"level": "group"}),
    Needs("agreement over systems", "agreement", (_named_systems(1), _systems_that_vary),
          _counted("{} systems with labels", lambda pair: pair.labelled["system"].nunique()), some=True,
          options={"level": "system"}),
    Needs("judges compared", "rank_judges", some=True, count=_ranking),
    Needs("reliability of people, ceiling of a judge", "reliability", count=_reliability_row),
    Needs("what people would say of each item", "calibrate", (_labels(LEAST_GOLD), _both_vary, _few_values),
          _LABELLED, "scores"),
    # with fewer labels a set of 90 % is the whole scale
    Needs("set of labels for each item", "score_sets", (_labels(9), _others_alike, _both_vary, _few_values),
          _labelled_of_all, "scores"),
    # 22 labels without an error show a risk below 10 % at 90 %
    Needs("what the judge may decide alone", "escalate",
          (_labels(22), _others_alike, _both_vary, _few_values, _decided_verdict),
          _labelled_of_all),
    # of several systems a pair has two rows, one for each
    Needs("agreement on pairs", "pairwise_agreement", (_labels(_LEAST_VERDICTS),),
          _counted("{} verdicts of people", lambda pair: len(pair.labelled) // min(len(pair.values("system")), 2)),
          "pairs", some=True),
    Needs("leaderboard", "leaderboard", of="pairs", count=_leaderboard),
    Needs("pass and fail", "pass_fail", (_both_verdicts,), _counted("{} labels, pass or fail"), "scores", some=True),
    Needs("favour at equal quality", "bias", (_labels(_LEAST_CLAIMS), _both_vary, _features), _named_features,
          "scores", some=True),
    Needs("labels needed", "labels_needed", (*_OF_MEANS, _labels_vary, _labels_to_buy), count=_labels_needed),
    Needs("items to label", "choose", count=_choice),
)  # fmt: skip


def is_one(values: pd.Series) -> bool:
    """Whether all values are one and the same."""
    return len(values) > 0 and bool((values == values.iloc[0]).all())


def number(n: int, of: str) -> str:
    return f"{n or 'no'} {of}{'s' * (n != 1)}"
