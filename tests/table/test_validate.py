"""The door: a frame is checked once, what is known to be checked, and what little mass says."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import ArgumentError, CalibWarning
from calib.table import TableArgumentError, TableError, checks, validate as door
from calib.table.validate import SliceKey, ValidatedTable, ratings_in, renamed_errors, scores_in, validated


def scores(n: int = 6, **columns: object) -> pd.DataFrame:
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(n)], "criterion": "fluency", "rater": "judge"})
    return frame.assign(score=np.arange(n) % 5 + 1.0, scale="1|2|3|4|5", **columns)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tables were looked at, in order."""
    seen: list[str] = []
    typed = checks._check_type

    def count(frame: pd.DataFrame, table: str) -> pd.DataFrame:
        seen.append(table)
        return typed(frame, table)

    monkeypatch.setattr(checks, "_check_type", count)
    return seen


# --- known to be checked ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_verb_looks_at_no_table_that_calib_made(looked):
    items, people = calib.load_planted()
    human = calib.summarize(people, items, pool="rater")
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items)
    looked.clear()
    calib.interval(judge, human)
    calib.agreement(judge, human, level="group")
    calib.labels_needed(judge, human, half_width=0.2)
    assert looked == []


def test_a_users_frame_is_looked_at_once(looked):
    mine = calib.scores_from(pd.DataFrame({"item": [f"i{k}" for k in range(40)], "score": 3.0}), rater="judge")
    gold = mine.assign(rater="me", score=np.arange(40) % 5 + 1.0).head(12)
    looked.clear()
    calib.interval(mine, gold)
    assert looked == ["scores"]  # the gold, which was changed


WRITES = {
    "loc": lambda f: f.loc.__setitem__((0, "score"), 99.0),
    "iat": lambda f: f.iat.__setitem__((0, f.columns.get_loc("score")), 99.0),
    "column": lambda f: f.__setitem__("score", 99.0),
    "in place": lambda f: f.__setitem__("score", f["score"].add(90.0)),
    "replace": lambda f: f.replace(1.0, 99.0, inplace=True),  # noqa: PD002 - what is tested
    "update": lambda f: f.update(pd.DataFrame({"score": [99.0]})),
    "index": lambda f: f.__setattr__("index", [9] * len(f)),
    "name of the index": lambda f: f.__setattr__("index", f.index.rename("item")),
    "memory": lambda f: f["score"].array.__setitem__(0, 99.0),
    "codes": lambda f: f["item"].array.__setitem__(1, "i0"),
    "categories": lambda f: f.__setitem__("rater", f["rater"].cat.rename_categories(["other"])),
    "a column twice": lambda f: f.insert(0, "score", 3.0, allow_duplicates=True),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_frame_that_was_written_to_is_not_known_and_checked_anew(write):
    frame = calib.table.check_scores(scores())
    assert checks.is_checked(frame, "scores")
    WRITES[write](frame)
    assert not checks.is_checked(frame, "scores")
    if write in ("loc", "column", "replace"):
        with pytest.raises(TableError, match="must lie on the scale"):
            calib.table.check_scores(frame)


def test_a_checked_copy_shares_nothing_with_what_it_was_made_of():
    frame = calib.table.check_scores(scores())
    again = calib.table.check_scores(frame)
    again.loc[0, "score"] = 5.0
    assert frame.loc[0, "score"] == 1.0
    assert checks.is_checked(frame, "scores")
    assert not checks.is_checked(again, "scores")


def test_a_column_that_no_rule_is_about_does_not_matter_but_the_kind_of_the_table_does():
    frame = calib.table.check_scores(scores())
    frame["note"] = "mine"
    assert checks.is_checked(frame, "scores")
    assert not checks.is_checked(frame, "ratings")
    frame["group"] = [None] * len(frame)
    assert not checks.is_checked(frame, "scores")


@pytest.mark.slow
def test_nothing_is_kept_of_a_frame_that_is_gone():
    gc.collect()
    before = len(checks._CHECKED)
    frame = calib.table.check_scores(scores())
    del frame
    gc.collect()
    assert len(checks._CHECKED) == before


# --- the door ---------------------------------------------------------------------------------------------------


def test_a_checked_value_goes_through_as_it_is():
    once = scores_in(scores(), "gold")
    assert scores_in(once, "other") is once
    assert (once.kind, once.argument) == ("scores", "gold")
    assert once.only(once.frame["score"] > 3).frame["score"].min() == 4
    assert isinstance(once.only(once.frame["score"] > 3), ValidatedTable)


def test_ratings_are_summarised_at_the_door_and_scores_are_no_ratings():
    items, people = calib.load_planted()
    assert len(scores_in(people, "human").frame) == len(calib.summarize(people))
    with pytest.raises(TableError, match=r"`pilot`: ratings: must be ratings"):
        ratings_in(calib.summarize(people, items), "pilot")


def test_errors_name_the_argument_that_a_frame_came_as():
    with pytest.raises(TableError, match=r"`gold`: scores: column `score`, row 0: must be a number, but got 'x'"):
        validated(scores().assign(score="x"), "scores", "gold")


def test_who_is_who_though_a_missing_temperature_differs_from_itself():
    label = {"criterion": "a", "rater": "b", "prompt": "", "method": "human", "temperature": float("nan")}
    other = {**label, "temperature": float("nan")}
    assert label != other
    assert SliceKey.of(label) == SliceKey.of(other)
    assert str(SliceKey.of(label).label) == str(label)
    assert SliceKey.of({**label, "temperature": 0.7}) != SliceKey.of(label)


def test_arrays_refuse_in_the_names_of_the_verb():
    with pytest.raises(ArgumentError) as caught, renamed_errors({"criterion": "fluency"}, y="labels", f="scores"):
        raise ArgumentError("y", "must have the length of {0}", "got 2", mentions=("f",))
    assert str(caught.value) == "fluency: `labels` must have the length of `scores`, but got 2."
    assert (caught.value.argument, caught.value.mentions, caught.value.about) == ("labels", ("scores",), "fluency")
    assert caught.value.sentence("--{}".format) == "fluency: --labels must have the length of --scores, but got 2."
    braces = ArgumentError("x", "must have {0} fields", "got '{1} {0}'", mentions=("y",))
    assert "{1}" in str(braces), "braces in a value are no names"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_comes_back_from_another_process(again):
    error = TableArgumentError("y", "must have the length of {0}", "got 2", mentions=("f",)).renamed(
        {}, about="fluency"
    )
    back = again(error)
    assert (type(back), str(back), back.argument, back.mentions) == (type(error), str(error), "y", ("f",))


def test_a_former_name_of_an_argument_is_refused():
    human = calib.scores_from(pd.DataFrame({"item": [f"i{k}" for k in range(40)], "score": np.arange(40) % 5}))
    with pytest.raises(TypeError, match="method"):
        calib.choose(human, 10, method="simple", rng=1)


@pytest.mark.slow
def test_a_users_column_is_used_or_refused_by_name():
    n = 40
    judge = scores(n, doc=np.arange(n) // 4, y=1.0, x=2.0)
    human = scores(n).assign(rater="me", score=np.arange(n) % 4 + 2.0).head(20)
    assert calib.interval(judge, human, groups="doc").one().n_groups == 5
    for options in ({"weights": "y"}, {"by": "y"}, {"strata": "x"}, {"by": "item"}, {"weights": "_merge"}):
        with pytest.raises(TableError, match="cannot be used here, as calib has one of that name: rename it"):
            calib.interval(judge, human, **options)


def test_no_scores_and_no_judge_are_refused_in_words():
    judge, human = scores(40).assign(score=np.nan), scores(40).assign(rater="me")
    with pytest.raises(ArgumentError, match="`scores` must have a score at least, but has none"):
        calib.interval(judge, human, estimator="judge_only")
    with pytest.raises(ArgumentError, match="`scores` must be given beside a table of calib's"):
        calib.alternative_annotator_test(None, human)


# --- mass -------------------------------------------------------------------------------------------------------


def judged(mass: list[float]) -> pd.DataFrame:
    n = len(mass)
    return scores(n, mass=mass, method="logprob")


def people(n: int) -> pd.DataFrame:
    return scores(n).assign(rater="me", score=np.arange(n) % 4 + 2.0)


def test_a_verb_warns_of_little_mass_and_names_it():
    judge, human = judged([0.9] * 30 + [0.02] * 10), people(40)
    with pytest.warns(
        CalibWarning, match=r"little_mass: 10 of 40 scores of fluency by judge .* \(least: 0.02, item 'i3"
    ):
        results = calib.interval(judge, human.head(20))
    assert any(text.startswith("little_mass: 10 of 40") for text in results.one().warnings)


def two_systems(frame: pd.DataFrame) -> pd.DataFrame:
    number = frame["item"].str[1:].astype(int)
    return frame.assign(group=number // 2, system=number % 2)


VERBS = {
    "agreement": calib.agreement,
    "difference": lambda judge, human: calib.difference(two_systems(judge), two_systems(human), "0", "1"),
    "rank": lambda judge, human: calib.rank_judges(pd.concat([judge, judge.assign(rater="other")]), human),
    "reliability": lambda judge, human: calib.reliability(pd.concat([human, human.assign(rater="you")]), judge),
    "will_it_help": calib.will_it_help,
    "labels_needed": lambda judge, human: calib.labels_needed(judge, human, half_width=0.5),
    "choose": lambda judge, _human: calib.choose(judge, 10, rng=1),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_verb_on_scores_warns_of_little_mass(verb):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        verb(judged([0.9] * 30 + [0.02] * 10), people(40))
    assert any("little_mass" in str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    ("mass", "unread"),
    [([0.6] * 40, 0), ([float("nan")] * 40, 0), ([0.9] * 200 + [0.1], 0), ([0.9] * 30 + [0.0] * 10, 10)],
)
def test_neither_enough_mass_nor_what_could_not_be_read_is_worth_a_word(mass, unread):
    judge = judged(mass)
    judge.loc[len(mass) - unread :, "score"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        door.scores_in(judge, "scores")
