"""What can be computed from tables that were taken in, and what cannot and why: counted, not computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from calib.inputs.names import Intake
from calib.inputs.question import (
    LEAST_GOLD,
    LEAST_ITEMS,
    Beside,
    Can,
    asked,
    constant,
    few_labelled,
    is_one,
    labelled,
    no_spread,
    number,
    span,
)
from calib.table import parse_scale
from calib.table.gold import MOST_VALUES, values_of

_LEAST_SYSTEMS = 3  # two agree in full or not at all
_LEAST_VERDICTS = 10
_LEAST_CLAIMS = 30  # items with labels, of which a regression has three coefficients
_MOST_SYSTEMS = 60  # of which each is held against all others
MOST_IN_PAIRS = 6  # systems of which each is held against each
_FIRST_LABELS = 50  # to be bought where there is none
_ONE_BY_ONE = (  # questions about each item, and the labels that they need
    ("what people would say of each item", "calibrate", LEAST_GOLD),
    ("set of labels for each item", "score_sets", 9),  # with fewer a set of 90 % is the whole scale
    ("what the judge may decide alone", "escalate", 22),  # without an error show a risk of 10 % at 90 %
)


def possibilities(taken: Intake, pairs: Sequence[Beside]) -> tuple[Can, ...]:
    """All questions that calib has an answer to, in the order of a report."""
    by_group, by_system = {"level": "group"}, {"level": "system"}
    if taken.pairwise:
        found = [asked("win rate, with interval", "interval", pairs, _few_of_a_rate, _of_all_pairs)]
    else:
        each = {"by": "system"}
        found = [
            asked("human mean, with interval", "interval", pairs, _few_labels, _of_all),
            asked("mean of each system", "interval", pairs, _few_of_a_system, _of_each_system, options=each),
        ]
    found += [_difference(pairs), asked("agreement over items", "agreement", pairs, no_spread, labelled, some=True)]
    if not taken.pairwise:  # the two sides of a pair mirror each other: what is in a group says nothing more
        what = "agreement within groups"
        found.append(asked(what, "agreement", pairs, _no_group, _groups, some=True, options=by_group))
    found += [
        asked("agreement over systems", "agreement", pairs, _few_systems, _systems, some=True, options=by_system),
        _ranking(pairs),
        _reliability(taken),
        *_one_by_one(taken, pairs),
    ]
    if taken.pairwise:
        what, planned = "agreement on pairs", _of_systems(pairs)
        found += [asked(what, "pairwise_agreement", pairs, _few_verdicts, _verdicts_on_pairs, some=True), _board(taken)]
    else:
        planned = list(pairs)
        found += [_verdicts(taken, pairs), _favour(taken, pairs)]
    found += [_labels_needed(planned), _choice(taken)]
    if taken.scores is None and taken.people is None:
        return tuple(replace(one, why="the files make no tables as they are") for one in found)
    return tuple(one if one.why else replace(one, why=_missing(taken)) for one in found)


def _missing(taken: Intake) -> str:
    """Which of the two sides there is not."""
    sides = {"there are no scores of a judge": taken.scores, "there are no labels of people": taken.gold}
    lacking = [text for text, frame in sides.items() if frame is None or not len(frame)]
    return " and ".join(lacking) or "no item has both a score of the judge and a label"


# --- with people's labels ---------------------------------------------------------------------------------------


def _few_of_a_rate(pair: Beside) -> str:
    """Of each system that was preferred or not."""
    return _few_labels(pair) or _few_of_each(pair)


def _of_all_pairs(pairs: Sequence[Beside]) -> str:
    labelled, there = [_pairs_in(pair.labelled) for pair in pairs], [_pairs_in(pair.frame) for pair in pairs]
    return f"{span(labelled)} of {span(there)} pairs have a label"


def _pairs_in(frame: pd.DataFrame) -> int:
    return int(frame["group"].nunique()) if "group" in frame else len(frame)


def _of_all(pairs: Sequence[Beside]) -> str:
    labelled, there = [len(pair.labelled) for pair in pairs], [len(pair.frame) for pair in pairs]
    if labelled == there:
        return f"all {span(there)} items have a label, so the judge adds nothing to it"
    return f"{span(labelled)} of {span(there)} items have a label"


def _few_labels(pair: Beside) -> str:
    # of labels that do not vary only the ends of the scale say how far they may be off
    return few_labelled(pair, LEAST_GOLD) or ("" if pair.scaled else constant("label", pair.labelled["y"]))


def _of_each_system(pairs: Sequence[Beside]) -> str:
    return f"each of {span([len(pair.values('system')) for pair in pairs])} systems has {LEAST_GOLD} labels or more"


def _few_of_a_system(pair: Beside) -> str:
    if not pair.has("system"):
        return "no column says which system wrote what (--system)"
    if len(pair.values("system")) < 2:
        return "there is one system"
    return _few_of_each(pair)


def _few_of_each(pair: Beside) -> str:
    counts = pair.labels_of("system") if pair.has("system") else pd.Series(dtype=int)
    few = [f"{name} has {number(int(n), 'label')}" for name, n in counts.items() if n < LEAST_GOLD]
    more = f" and {len(few) - 2} more" if len(few) > 2 else ""
    return f"{LEAST_GOLD} labels of each are the least, {', '.join(few[:2])}{more}" if few else ""


def _difference(pairs: Sequence[Beside]) -> Can:
    first = next((pair for pair in pairs if not _few_for_a_difference(pair)), None)
    names = tuple(first.values("system")) if first else ()

    def say(good: Sequence[Beside]) -> str:
        one = "each" if len(names) <= MOST_IN_PAIRS else names[0]
        against = " and ".join(names) if len(names) == 2 else f"{len(names)} systems, {one} against the others"
        if not good[0].has("group"):
            return f"{against}, nothing paired, as no column says what both answered (--group)"
        return f"{against}, paired by {number(good[0].frame['group'].nunique(), 'group')}"

    return asked("difference of systems", "difference", pairs, _few_for_a_difference, say, systems=names)


def _few_for_a_difference(pair: Beside) -> str:
    if few := _few_of_a_system(pair):
        return few
    repeats = pair.has("group") and pair.frame.duplicated(["group", "system"]).any()
    return "a system has several items in a group" if repeats else ""


def _groups(pairs: Sequence[Beside]) -> str:
    return f"{span([_varied(pair) for pair in pairs])} groups with labels that differ"


def _systems(pairs: Sequence[Beside]) -> str:
    return f"{span([pair.labelled['system'].nunique() for pair in pairs])} systems with labels"


def _no_group(pair: Beside) -> str:
    if not pair.has("group"):
        return "no column says what several outputs answer (--group)"
    return "" if _varied(pair) > 1 else "two groups at least must have labels and scores that differ within them"


def _varied(pair: Beside) -> int:
    """Groups that have a correlation."""
    return int(pair.labelled.groupby("group")[["x", "y"]].nunique().gt(1).all(axis=1).sum())


def _few_systems(pair: Beside) -> str:
    if not pair.has("system"):
        return "no column says which system wrote what (--system)"
    means = pair.labelled.groupby("system")[["x", "y"]].mean()
    if len(means) < _LEAST_SYSTEMS:
        return f"{number(len(means), 'system')} with labels, {_LEAST_SYSTEMS} are the least"
    return "all systems have one mean" if is_one(means["y"]) or is_one(means["x"]) else ""


def _ranking(pairs: Sequence[Beside]) -> Can:
    judges: dict[str, list[str]] = {}
    for pair in pairs:
        judges.setdefault(pair.criterion, []).extend([] if no_spread(pair) else [pair.rater])

    def too_few(pair: Beside) -> str:
        alone = len(judges[pair.criterion]) < 2
        return (no_spread(pair) or "one judge") if alone else ""

    def say(good: Sequence[Beside]) -> str:
        return f"{span([len(judges[pair.criterion]) for pair in good])} judges"

    return asked("judges compared", "rank_judges", pairs, too_few, say, some=True)


def _one_by_one(taken: Intake, pairs: Sequence[Beside]) -> Iterator[Can]:
    """What is said of each item; of preferences, whose two sides mirror each other, which of them are for people."""
    for what, verb, least in _ONE_BY_ONE[2 * taken.pairwise :]:
        every = verb == "calibrate"

        def rule(pair: Beside, least: int = least, every: bool = every) -> str:
            rest = "" if every else _no_others(pair)
            return few_labelled(pair, least) or rest or no_spread(pair) or _many_values(taken, pair.criterion)

        yield asked(what, verb, pairs, rule, labelled if every else _of_all)


def _no_others(pair: Beside) -> str:
    """Why nothing can be promised of the items without a label."""
    if len(pair.labelled) == len(pair.frame):
        return "all items have a label"
    chance = pair.frame["inclusion"].dropna() if "inclusion" in pair.frame else pd.Series(dtype=float)
    unlike = chance.max() - chance.min() > 1e-6 * chance.max()
    return "the labelled items were drawn with chances that differ" if unlike else ""


def _many_values(taken: Intake, criterion: str) -> str:
    """Why the values of people's scale cannot be counted one by one."""
    frames = [taken.gold if taken.people is None else taken.people, taken.scores]
    people, judges = (frame[frame["criterion"].astype(str) == criterion] for frame in frames if frame is not None)
    n = len(values_of(people["score"].dropna().to_numpy(dtype=float), people.get("scale", []), judges.get("scale", [])))
    return f"labels have {n} values, {MOST_VALUES} are the most (--scale)" if n > MOST_VALUES else ""


def _labels_needed(pairs: Sequence[Beside]) -> Can:
    width = _width_worth_having(pairs)
    why = f"for an interval of +/- {width:g}"
    return asked("labels needed", "labels_needed", pairs, _nothing_to_buy, lambda _: why, options={"half_width": width})


def _of_systems(pairs: Sequence[Beside]) -> list[Beside]:
    """Of preferences, which are planned for each system."""
    return [pair._replace(frame=part) for pair in pairs for _, part in pair.frame.groupby("system", observed=True)]


def _nothing_to_buy(pair: Beside) -> str:
    n, of = len(pair.labelled), len(pair.frame)
    if trouble := _few_labels(pair) or constant("label", pair.labelled["y"]):
        return trouble
    return "" if 2 * n <= of else f"{n} of {of} items have a label already"


def _width_worth_having(pairs: Sequence[Beside]) -> float:
    """The half-width of twice the labels that there are, of people alone, to two digits."""
    widths = [
        2.3 * float(pair.labelled["y"].std()) / math.sqrt(2 * len(pair.labelled))
        for pair in pairs
        if not _nothing_to_buy(pair)
    ]
    if not widths or not max(widths):
        return 0.1
    unit = 10.0 ** (math.floor(math.log10(max(widths))) - 1)
    return float(f"{math.ceil(max(widths) / unit) * unit:.2g}")


# --- verdicts, favour, boards -----------------------------------------------------------------------------------


def _of_people(taken: Intake, pair: Beside) -> pd.DataFrame:
    """People's labels one by one."""
    people = taken.gold if taken.people is None else taken.people
    assert people is not None
    return people[(people["criterion"].astype(str) == pair.criterion) & people["score"].notna()]


def _verdicts(taken: Intake, pairs: Sequence[Beside]) -> Can:
    def rule(pair: Beside) -> str:
        values = sorted(_of_people(taken, pair)["score"].unique())
        if len(values) != 2:
            return f"labels have {len(values)} values (--pass-mark says what passes)"
        passes = pair.labelled["y"] > sum(values) / 2
        one_side = f"people {'pass' if passes.all() else 'fail'} all" if passes.all() or not passes.any() else ""
        return few_labelled(pair, _LEAST_VERDICTS) or one_side or no_spread(pair)

    def say(good: Sequence[Beside]) -> str:
        return f"{span([len(pair.labelled) for pair in good])} labels, two values"

    return asked("pass and fail", "pass_fail", pairs, rule, say, some=True)


def _favour(taken: Intake, pairs: Sequence[Beside]) -> Can:
    texts = taken.items is not None and "output" in taken.items and bool(taken.items["output"].notna().any())

    def rule(pair: Beside) -> str:
        if few := few_labelled(pair, _LEAST_CLAIMS) or no_spread(pair):
            return few
        people = _of_people(taken, pair)
        each = people[people["item"].isin(pair.labelled["item"])].groupby("item", observed=True)["rater"].nunique()
        if len(people["rater"].unique()) > 1 and (each > 1).sum() < _LEAST_CLAIMS:
            return f"{int((each > 1).sum())} items with two annotators, {_LEAST_CLAIMS} are the least"
        return "" if texts or _several_systems(pair) else "neither texts nor systems"

    def say(good: Sequence[Beside]) -> str:
        of = ["length"] * texts + ["system"] * any(map(_several_systems, good))
        return f"{' and '.join(of)}, {span([len(pair.labelled) for pair in good])} items with a label"

    return asked("favour at equal quality", "bias", pairs, rule, say, some=True)


def _several_systems(pair: Beside) -> bool:
    return pair.has("system") and 1 < pair.labelled["system"].nunique() <= _MOST_SYSTEMS


def _few_verdicts(pair: Beside) -> str:
    return few_labelled(pair, _LEAST_VERDICTS)


def _verdicts_on_pairs(pairs: Sequence[Beside]) -> str:
    # of several systems a pair has two rows, one for each
    each = [len(pair.labelled) // min(len(pair.values("system")), 2) for pair in pairs]
    return f"{span(each)} verdicts of people"


def _board(taken: Intake) -> Can:
    what, verb = "leaderboard", "leaderboard"
    frames = [frame for frame in (taken.scores, taken.gold) if frame is not None]
    systems = {str(name) for frame in frames if "system" in frame for name in frame["system"].dropna().unique()}
    named = any(one.role == "first" for one in taken.columns)
    if not frames or not named or len(systems) < 3:
        return Can(what, verb, False, "fewer than three systems are named (model_a, model_b)")
    criteria = tuple(dict.fromkeys(str(name) for name in frames[0]["criterion"].unique()))
    return Can(what, verb, True, f"{len(systems)} systems", criteria=criteria)


# --- with one side alone ----------------------------------------------------------------------------------------


def _reliability(taken: Intake) -> Can:
    what, verb = "reliability of people, ceiling of a judge", "reliability"
    if taken.people is None or not len(taken.people):
        return Can(what, verb, False, "there are no labels of people")
    bad: dict[str, str] = {}
    good: dict[str, int] = {}
    for criterion, rows in taken.people.groupby("criterion", observed=True, sort=False):
        each = rows.dropna(subset=["score"]).groupby("item", observed=True)["rater"].nunique()
        raters = rows["rater"].nunique()
        if raters < 2:
            bad[str(criterion)] = "one annotator: no ceiling"
        elif (n := int((each > 1).sum())) < LEAST_ITEMS:
            bad[str(criterion)] = f"{number(n, 'item')} with two annotators, {LEAST_ITEMS} are the least"
        else:
            good[str(criterion)] = raters
    if not good:
        return Can(what, verb, False, next(iter(bad.values())))
    not_all = "".join(f"; not for {criterion}: {text}" for criterion, text in bad.items())
    return Can(
        what, verb, True, f"{span(list(good.values()))} annotators{not_all}", criteria=tuple(good), whole=not bad
    )


def _choice(taken: Intake) -> Can:
    what, verb = "items to label", "choose_items"
    if taken.scores is None or not len(taken.scores):
        return Can(what, verb, False, "there are no scores of a judge")
    if taken.gold is not None and len(taken.gold):
        return Can(what, verb, False, "some have labels already, and the drawing comes before the labels")
    whose = taken.scores[["criterion", "rater"]].drop_duplicates()
    if len(whose) > 1:
        return Can(
            what, verb, False, f"are drawn by one judge on one criterion, here are {len(whose)}: name one (--judge)"
        )
    n = len(taken.scores)
    if n < 2 or taken.scores["score"].isna().any():
        return Can(what, verb, False, "each item must have a score" if n > 1 else "there is one item")
    criteria = tuple(map(str, whose["criterion"]))
    return Can(what, verb, True, f"none of {n} items has a label", {"n": min(_FIRST_LABELS, n)}, criteria=criteria)


def scale_in_words(taken: Intake) -> str:
    """The scale, and whether it was said."""
    if not taken.scale:
        return "scale not known (--scale)"
    known = parse_scale(taken.scale)
    values = dict(zip(known.values, taken.words, strict=False)) if known and taken.words else {}
    text = ", ".join(f"{word} = {value:g}" for value, word in values.items()) or taken.scale
    return f"scale {text}{' (a guess, --scale says it)' * taken.guessed_scale}"
