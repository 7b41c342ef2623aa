"""Turns as sessions: mean, worst and last, what lacks a turn, whose labels count."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import CalibWarning
from calib.table import TableError, check_scores
from calib.table.sessions import session_items, to_sessions

NAN = float("nan")
TURNS = check_scores(pd.DataFrame({
    "item": ["a1", "a2", "a3", "b1", "b2", "c1"], "group": ["a", "a", "a", "b", "b", "c"],
    "score": [4, 1, 3, 5, NAN, 2], "criterion": "tone", "rater": "judge", "method": "sample", "scale": "1|2|3|4|5",
    "system": ["x", "x", "x", "y", "y", "x"], "model": "m", "length": [1, 2, 3, 4, 5, 6],
}))  # fmt: skip


def labels(**scores):
    named = {"item": [*scores], "score": [*scores.values()]}
    return pd.DataFrame(named).assign(criterion="tone", rater="ann", method="human", scale="1|2|3|4|5")


def by_item(table):
    return dict(zip(table["item"], table["score"].round(6), strict=True))


@pytest.mark.parametrize(("by", "a"), [("mean", 8 / 3), ("worst", 1), ("last", 3)])
def test_a_session_is_unread_where_a_turn_that_counts_is(by, a):
    table = to_sessions(TURNS, by)
    assert by_item(table) == pytest.approx({"a": round(a, 6), "b": NAN, "c": 2}, nan_ok=True)
    assert table["n"].tolist() == [3, 2, 1]
    assert table["system"].tolist() == ["x", "y", "x"]
    assert table["model"].tolist() == ["m"] * 3
    assert "length" not in table
    assert "group" not in table
    assert set(table["scale"]) == {"1|2|3|4|5"}


def test_last_is_by_the_column_turn_or_else_by_the_order_of_the_items():
    mixed = TURNS.iloc[[2, 0, 1, 3, 5]]
    with pytest.warns(CalibWarning, match="last_by_rows"):
        assert by_item(to_sessions(mixed, "last"))["a"] == 1
    assert by_item(to_sessions(mixed.assign(turn=[3, 1, 2, 1, 1]), "last"))["a"] == 3
    assert by_item(to_sessions(labels(a3=2, a1=5, a2=4), "last", items=TURNS)) == {"a": 2}
    with pytest.raises(TableError, match="`scores` must have in `turn` another number in each turn of a session"):
        to_sessions(mixed.assign(turn=1), "last")


def test_the_last_row_is_named_where_the_ids_count_otherwise(recwarn):
    texts = labels(**{"s-1": 1, "s-10": 3, "s-2": 2, "t-1": 4, "t-2": 5}).assign(group=[*"sss", *"tt"])
    with pytest.warns(CalibWarning, match=r"last_by_rows: in 1 of 2 sessions the last row \(such as s-2\) does not"):
        assert by_item(to_sessions(texts, "last")) == {"s": 2, "t": 5}
    recwarn.clear()
    assert by_item(to_sessions(texts.assign(turn=[1, 10, 2, 1, 2]), "last")) == {"s": 3, "t": 5}
    to_sessions(texts, "mean")
    to_sessions(texts.assign(item=["q9", "r8", "s7", "t6", "t7"]), "last")  # names that differ do not count
    assert not [one for one in recwarn if "last_by_rows" in str(one.message)]


def test_labels_of_some_turns_are_left_out_and_counted():
    people = labels(a1=4, a2=2, a3=3, b1=5)
    with pytest.warns(CalibWarning, match="sessions_incomplete: 1 of 2 sessions have labels of some of their turns"):
        assert by_item(to_sessions(people, items=TURNS)) == {"a": 3}
    with pytest.warns(CalibWarning, match="sessions_incomplete: 1 of 2 sessions have no label of their last turn"):
        assert by_item(to_sessions(people, "last", items=TURNS)) == {"a": 3}


def test_labels_of_whole_sessions_stay_but_not_beside_those_of_turns():
    assert by_item(to_sessions(labels(a=4, c1=3, elsewhere=1), items=TURNS)) == {"a": 4, "c": 3, "elsewhere": 1}
    with pytest.raises(TableError, match="`labels` must be of sessions or of their turns, but 'a' has labels of both"):
        to_sessions(labels(a=4, a1=4, a2=1, a3=2), items=TURNS)


def test_sessions_of_one_name_under_two_systems_are_two():
    two = pd.concat([TURNS, TURNS.assign(item="z" + TURNS["item"].astype(str), system="z")], ignore_index=True)
    table = to_sessions(two, "mean")
    assert sorted(table["item"]) == ["a/x", "a/z", "b/y", "b/z", "c/x", "c/z"]
    assert dict(zip(table["item"], table["group"], strict=True))["a/z"] == "a"
    assert len(session_items(two[["item", "group", "system"]])) == 6


def test_what_is_refused():
    with pytest.raises(TableError, match="`scores` must have a column `group`, the session of each turn"):
        to_sessions(labels(a1=4))
    with pytest.raises(ValueError, match="`by` must be one of 'mean', 'worst', 'last', but got 'best'"):
        to_sessions(TURNS, "best")
    with pytest.raises(TableError, match="`group`, the session, of each turn, but 'a2' has none"):
        to_sessions(labels(a1=4), items=pd.DataFrame({"item": ["a1", "a2"], "group": ["a", None]}))
    with pytest.raises(TableError, match="`items` must have one group for each turn, but 'a1' has several"):
        to_sessions(labels(a1=4), items=pd.DataFrame({"item": ["a1", "a1"], "group": ["a", "b"]}))
    drawn = TURNS.assign(chosen=[True, False, True, True, True, True], inclusion=0.5, stratum=0, design="simple")
    with pytest.raises(TableError, match="must have been drawn by whole sessions"):
        to_sessions(drawn)
    assert "chosen" in to_sessions(drawn.assign(chosen=True))


# --- verbs at the level of sessions -----------------------------------------------------------------------------


def made_up(n_sessions=60, seed=5):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 7, n_sessions)
    session = np.repeat(np.arange(n_sessions), n)
    quality = rng.normal(0, 0.7, n_sessions)[session] + rng.normal(0, 0.7, len(session))
    people, judge = (np.clip(np.rint(3 + quality + rng.normal(0, 0.4, len(session))), 1, 5) for _ in range(2))
    frame = pd.DataFrame({"item": [f"t{i}" for i in range(len(session))], "criterion": "tone", "scale": "1|2|3|4|5"})
    names = [f"s{one}" for one in session]
    scores = frame.assign(score=judge, rater="judge", method="sample", group=names)
    return check_scores(scores), check_scores(frame.assign(score=people, rater="ann", method="human")), session


@pytest.mark.parametrize("turns", ["mean", "worst", "last"])
def test_a_verb_at_the_level_of_sessions_is_the_verb_on_their_tables(turns):
    scores, people, session = made_up()
    some = people[session < 25]
    tables = to_sessions(scores, turns), to_sessions(some, turns, items=scores)
    result = calib.interval(scores, some, level="session", turns=turns).one()
    assert result.interval == calib.interval(*tables).one().interval
    assert (result.n_labels, result.n) == (25, 60)
    assert f"human mean of sessions by their {turns} turn = " in str(result)
    agreed = calib.agreement(scores, some, level="session", turns=turns, rng=1)
    assert agreed.one().estimate == calib.agreement(*tables, rng=1).one().estimate
    assert agreed.labels[0]["sessions"] == f"{turns} of turns"
    verdict = calib.gate(scores, some, threshold=2, level="session", turns=turns)
    check = calib.gate(*tables, threshold=2).checks[0]
    assert (verdict.checks[0].interval, verdict.checks[0].n_labels) == (check.interval, 25)
    assert any(note.startswith("sessions: ") and turns in note for note in verdict.notes)


HAND = {"mean": "mean", "worst": "min", "last": "last"}


def by_hand(table, turns, sessions):
    """A table of sessions by pandas alone; `sessions` says of which each item is."""
    keys = ["session", *(name for name in ("system", "criterion", "rater", "method", "scale") if name in table)]
    frame = table.astype({"item": str}).assign(session=lambda f: f["item"].map(sessions))
    frame = frame.groupby(keys, sort=False, observed=True)["score"].agg(HAND[turns]).reset_index()
    system = "/" + frame["system"].astype(str) if "system" in frame else ""
    own = {"group": frame["session"]} if "system" in frame else {}
    return check_scores(frame.assign(item=frame["session"] + system, **own).drop(columns="session"))


@pytest.mark.parametrize("turns", HAND)
def test_two_judges_are_compared_by_sessions(turns):
    scores, people, _ = made_up()
    other = scores.assign(score=np.random.default_rng(3).permutation(scores["score"]), rater="other")
    sessions = dict(zip(scores["item"], scores["group"], strict=True))
    tables = [by_hand(table, turns, sessions) for table in (scores, other, people)]
    want = calib.compare(*tables, rng=1).one()
    got = calib.compare(scores, other, people, level="session", turns=turns, rng=1)
    assert (got.one().interval, got.one().p_value, got.one().n) == (want.interval, want.p_value, 60)
    assert got.labels[0]["sessions"] == f"{turns} of turns"
    assert calib.compare(scores, other, people, rng=1).one().n_groups == 60
    lacking = other.iloc[1:]  # a turn that the other judge has is expected of both
    assert calib.compare(scores, lacking, people, level="session", rng=1).one().n == 59


@pytest.mark.parametrize("turns", HAND)
def test_two_systems_are_compared_by_sessions(turns):
    parts = []
    for at, name in enumerate(("x", "z")):
        scores, people, session = made_up(seed=5 + at)
        own = [t.assign(item=name + t["item"].astype(str), system=name) for t in (scores, people)]
        parts.append((own[0], own[1][session < 25 + 5 * at]))
    scores, people = (pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))
    sessions = dict(zip(scores["item"], scores["group"], strict=True))
    people = people.drop(columns="system") if turns == "worst" else people  # which the scores say
    system = dict(zip(scores["item"], scores["system"], strict=True))
    tables = (
        by_hand(scores, turns, sessions),
        by_hand(people.assign(system=people["item"].map(system)), turns, sessions),
    )
    want = calib.difference(*tables, "x", "z")
    got = calib.difference(scores, people, "x", "z", level="session", turns=turns)
    assert got.one().interval == pytest.approx(want.one().interval, abs=1e-12)
    assert (got.one().n_paired, got.labels[0]["sessions"]) == (25, f"{turns} of turns")
    assert f"of sessions by their {turns} turn" in got.one().estimand
    with pytest.raises(TableError, match="must have one item per group"):
        calib.difference(scores, people, "x", "z")


def test_turns_of_a_session_are_one_cluster_where_the_level_is_not_the_session():
    scores, people, session = made_up()
    some = people[session < 25]
    clustered, alone = calib.interval(scores, some).one(), calib.interval(scores, some, groups=None).one()
    assert clustered.n_groups == 25
    assert clustered.interval.high - clustered.interval.low > 1.1 * (alone.interval.high - alone.interval.low)
    agreed = calib.agreement(scores, some, rng=1).one()
    assert agreed.n_groups == 25
    gates = [calib.gate(scores, some, threshold=2, groups=how).checks[0].interval for how in ("group", None)]
    assert gates[0].high - gates[0].low > 1.1 * (gates[1].high - gates[1].low)


def test_a_turn_that_people_alone_know_leaves_its_session_unread():
    scores, people, _ = made_up()
    people = people.assign(group=scores["group"])
    whole, less = (calib.agreement(s, people, level="session", rng=1).one() for s in (scores, scores.iloc[1:]))
    assert (whole.n, less.n, less.n_missing) == (60, 59, 1)


def test_a_gate_of_sessions_counts_a_turn_without_a_score_as_an_unread_session():
    scores, people, session = made_up()
    items = scores[["item", "group"]]
    short = scores[~scores["item"].isin(["t0", "t1"])]
    verdict = calib.gate(short, people[session > 30], threshold=2, level="session", items=items)
    assert verdict.checks[0].n_unread == 1
    of_some = calib.gate(scores, people, threshold=2, level="session", items=items.head(40)).checks[0]
    assert (of_some.n, of_some.n_unread) == (60, 0)  # what the items leave out is of its session all the same
    with pytest.raises(calib.ArgumentError, match="`turns` must be one of 'mean', 'worst', 'last', but got 'all'"):
        calib.gate(scores, people, threshold=2, level="session", turns="all")
    with pytest.raises(calib.ArgumentError, match="`level` must be one of 'item', 'session', but got 'group'"):
        calib.interval(scores, people, level="group")


@pytest.mark.parametrize(
    "verb",
    [
        calib.interval, calib.agreement, lambda table, people, **how: calib.compare(table, table, people, **how),
        lambda table, people, **how: calib.difference(table, people, "x", "y", **how),
        lambda table, people, **how: calib.gate(table, people, threshold=3, **how),
        lambda table, people, **how: calib.compare_runs(table.assign(system="x"), table.assign(system="y"), **how),
    ],
)  # fmt: skip
def test_how_turns_become_sessions_is_refused_where_they_do_not(verb):
    table = TURNS.dropna(subset="score")
    people = labels(**dict.fromkeys(table["item"], 3))
    with pytest.raises(TableError, match="`turns` needs `level` 'session', but got 'last'"):
        verb(table, people, turns="last")
