"""Pairs of systems' outputs, and the scores of pairs that were judged in both orders."""

import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

import calib
from calib.table import TableError, check_ratings

ITEMS = pd.DataFrame(
    [(f"{source}/{system}", source, system, f"{system} on {source}") for source, system in product("qrs", "XYZ")],
    columns=["item", "source", "system", "output"],
)


def pairs_of(items: pd.DataFrame, *given: object) -> set[tuple[str, str]]:
    made = calib.pair_items(items, *given)
    return set(zip(made["item_a"], made["item_b"], strict=True))


# --- pairs ------------------------------------------------------------------------------------------------------


def test_each_pair_of_systems_stands_there_once_per_source():
    expected = {(f"{q}/{a}", f"{q}/{b}") for q in "qrs" for a, b in combinations("XYZ", 2)}
    made = calib.pair_items(ITEMS)
    assert pairs_of(ITEMS) == expected
    assert len(made) == len(expected)
    assert made["item"].tolist()[:3] == ["q/X vs q/Y", "q/X vs q/Z", "q/Y vs q/Z"]


def test_the_baseline_is_the_second_of_each():
    made = calib.pair_items(ITEMS, "X")
    assert pairs_of(ITEMS, "X") == {(f"{q}/{a}", f"{q}/X") for q in "qrs" for a in "YZ"}
    assert set(made["system_b"]) == {"X"}
    assert (made["output_b"] == "X on " + made["source"]).all()


def test_a_group_of_several_sources_pairs_within_the_source():
    items = ITEMS.assign(group="one")
    assert pairs_of(items) == pairs_of(ITEMS)
    assert set(calib.pair_items(items)["group"]) == {"one"}
    assert set(calib.pair_items(ITEMS)["group"]) == {"source 1", "source 2", "source 3"}


def test_without_a_source_outputs_of_a_group_are_compared():
    items = ITEMS.drop(columns="source").assign(group=ITEMS["source"])
    assert pairs_of(items) == pairs_of(ITEMS)


def test_two_outputs_of_one_system_are_no_pair():
    again = ITEMS.head(2).assign(item=["q/X again", "q/Y again"])
    made = calib.pair_items(pd.concat([ITEMS.head(2), again]))
    assert len(made) == 4
    assert (made["system_a"].astype(object) != made["system_b"].astype(object)).all()


def test_columns_that_both_have_alike_ride_along():
    items = ITEMS.assign(reference=ITEMS["source"].str.upper(), words=range(9), note=np.nan)
    made = calib.pair_items(items)
    assert (made["reference"] == made["source"].str.upper()).all()
    assert made["note"].isna().all()
    assert {"words", "system", "output"}.isdisjoint(made)


def test_outputs_without_an_opponent_are_counted():
    with pytest.warns(UserWarning, match=r"unpaired: 1 of 7 outputs are in no pair, for no other system"):
        assert len(calib.pair_items(ITEMS.head(7))) == 6
    with pytest.warns(UserWarning, match=r"unpaired: 1 of 7 outputs are in no pair, for not the baseline 'X'"):
        assert len(calib.pair_items(ITEMS.head(7), "X")) == 4


def test_hostile_names_are_names():
    names = ["a vs b", "a", "b", "=1+1", "<b>", "\x1b[2J", "\u202ex", "{{source}}", "c vs d", "'a vs b' vs c"]
    items = pd.DataFrame({"item": names, "system": names, "source": "s", "output": names})
    made = calib.pair_items(items)
    assert len(made) == len(names) * (len(names) - 1) / 2
    assert made["item"].is_unique
    assert set(zip(made["system_a"], made["system_b"], strict=True)) == set(combinations(names, 2))
    assert "'a vs b' vs a" in set(made["item"])


@pytest.mark.parametrize(
    ("items", "given", "message"),
    [
        (ITEMS.drop(columns="system"), None, "column `system` is missing, of which pairs are made"),
        (ITEMS.drop(columns="output"), None, "column `output` is missing, of which pairs are made"),
        (ITEMS.drop(columns="source"), None, r"column `source` is missing \(or `group`\)"),
        (ITEMS[ITEMS["system"] == "X"], None, "must have two or more systems with the same `source`"),
        (ITEMS.head(0), None, "must have two or more systems with the same `source`"),
        (ITEMS, "W", "`baseline` must be one of the systems: 'X', 'Y', 'Z', but got 'W'"),
        (ITEMS.assign(output=None), None, "column `output`, row 0: must not be missing"),
        (7, None, "must be a pandas DataFrame, but got int"),
    ],
)
def test_items_that_make_no_pairs_are_refused(items, given, message):
    with pytest.raises(TableError, match=message):
        calib.pair_items(items, given)


# --- ratings in both orders -------------------------------------------------------------------------------------


def ratings(*rows: tuple[str, str, float], **columns: object) -> pd.DataFrame:
    """One draw each: item, what was first, score."""
    frame = pd.DataFrame(rows, columns=["item", "shown_first", "score"])
    frame["draw"] = 2 * frame.groupby(["item", "shown_first"]).cumcount() + (frame["shown_first"] == "b")
    return frame.assign(**({"criterion": "c", "rater": "j", "method": "sample", "scale": "0|0.5|1"} | columns))


def test_orders_count_the_same_however_many_draws_were_read():
    (row,) = calib.summarize(ratings(*[("p", "a", 1.0)] * 9, ("p", "b", 0.0))).itertuples()
    assert (row.score, row.score_a_first, row.score_b_first, row.n) == (0.5, 1.0, 0.0, 10)
    # the law of one draw in a random order: half 1, half 0
    assert (row.entropy, row.sd) == (pytest.approx(np.log(2)), pytest.approx(0.5))
    assert (row.low, row.high) == (0.5, 0.5)


def test_bounds_of_a_pair_hold_its_score():
    told = [("p", "a", 1.0), ("p", "a", 1.0), ("p", "a", 1.0), ("p", "b", 0.0)]
    sure = ratings(*told).assign(weight=0.6, method="logprob", status="ok", low=np.nan, high=np.nan)
    unclear = sure.assign(score=np.nan, weight=0.4, status="ambiguous", low=0.0, high=1.0)
    (row,) = calib.summarize(pd.concat([sure, unclear])).itertuples()
    assert (row.score, row.low, row.high) == (0.5, pytest.approx(0.3), pytest.approx(0.7))


def test_chains_vary_within_an_order_the_liking_for_a_place_is_no_noise():
    told = [("p", "a", 1.0), ("p", "a", 0.5), ("p", "b", 0.0), ("p", "b", 0.0)]
    (row,) = calib.summarize(ratings(*told, method="chain", weight=1.0)).itertuples()
    assert row.var_between == pytest.approx((0.125 + 0) / 2)


def test_a_pair_of_which_one_order_is_unread_is_told():
    table = ratings(("p", "a", 1.0), ("p", "b", np.nan), ("q", "a", 1.0), ("q", "b", 0.5), ("r", "b", np.nan))
    with pytest.warns(UserWarning, match=r"^one_order: 1 of 3 pairs have a verdict in one order alone"):
        scores = calib.summarize(table).set_index("item")
    assert scores["score"].tolist() == [1.0, 0.75, pytest.approx(np.nan, nan_ok=True)]
    assert scores["score_b_first"].isna().tolist() == [True, False, True]
    assert scores["n_unread"].tolist() == [1, 0, 1]
    assert scores.dropna(subset=["score_a_first", "score_b_first"]).index.tolist() == ["q"]


def test_a_run_that_broke_off_between_the_orders_is_told():
    with pytest.warns(UserWarning, match=r"^one_order: 1 of 2 pairs"):
        calib.summarize(ratings(("p", "a", 1.0), ("p", "b", 1.0), ("q", "a", 1.0)))


def test_people_may_see_a_pair_in_one_order():
    people = pd.DataFrame({"item": ["p", "q", "p"], "rater": ["ann", "ann", "bob"], "score": [1, 0, 0.5]})
    people = people.assign(criterion="c", shown_first=["a", "b", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = calib.summarize(people)
        pooled = calib.summarize(people, pool="rater").set_index("item")
    assert scores["score"].tolist() == [1, 0, 0.5]
    assert pooled.loc["p", ["score", "score_a_first", "score_b_first"]].tolist() == [0.75, 1.0, 0.5]
    assert np.isnan(pooled.loc["q", "score_a_first"])


def test_raters_and_prompts_are_pooled_order_by_order():
    one = ratings(("p", "a", 1.0), ("p", "b", 0.0))
    other = ratings(("p", "a", 0.5), ("p", "b", 0.5))
    for name, pool in (("rater", "rater"), ("prompt", "prompt")):
        both = pd.concat([one.assign(prompt="").assign(**{name: "1"}), other.assign(prompt="").assign(**{name: "2"})])
        (row,) = calib.summarize(both, pool=pool).itertuples()
        assert (row.score, row.score_a_first, row.score_b_first) == (0.5, 0.75, 0.25)


def test_systems_of_a_pair_come_from_the_items():
    pairs = calib.pair_items(ITEMS)
    table = ratings(*((item, first, 1.0) for item in pairs["item"] for first in "ab"))
    scores = calib.summarize(table, pairs)
    for name in ("system_a", "system_b", "group"):
        assert scores[name].tolist() == pairs[name].tolist()


def test_draws_are_numbered_by_the_order_where_no_number_came():
    people = ratings(("p", "a", 1.0), ("p", "b", 0.0)).drop(columns="draw")
    assert check_ratings(people)["draw"].tolist() == [0, 1]
    with pytest.raises(TableError, match=r"`shown_first`, row 1: must be one within a draw \(the two orders are two"):
        check_ratings(people.assign(draw=0))
    with pytest.raises(TableError, match=r"column `shown_first`, row 0: must be one of a, b, "):
        check_ratings(people.assign(shown_first="first"))


def test_tables_with_and_without_an_order_go_together():
    pairs = ratings(("p", "a", 1.0), ("p", "b", 0.0))
    both = check_ratings(pd.concat([pairs, pairs.drop(columns="shown_first").assign(item="x", rater="k")]))
    assert both["shown_first"].tolist() == ["a", "b", "", ""]
    scores = calib.summarize(both).set_index("item")
    assert scores["score"].tolist() == [0.5, 0.5]
    assert np.isnan(scores.loc["x", "score_a_first"])
