"""Verbs on scores in parts: the numbers of one table, whatever the parts are."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.core.check import ArgumentError
from calib.table import TableError


@pytest.fixture(scope="module")
def scores(ratings, items):
    """Of two judges, neither of whom could be read on two of the items."""
    return calib.summarize(ratings, items).assign(mass=0.9)


@pytest.fixture(scope="module")
def people(items):
    rng = np.random.default_rng(8)
    label = pd.DataFrame({"score": rng.integers(1, 6, len(items)).astype(float)})
    return calib.table.check_scores(items.assign(criterion="fluency", rater="ann", scale="1|2|3|4|5", **label))


@pytest.fixture(scope="module")
def gold(people):
    return people[people["item"].isin([f"i{k}" for k in range(3, 600, 5)])]


def close(found, wanted, tolerance=1e-12):
    one, two = found.to_frame(), wanted.to_frame()
    pd.testing.assert_frame_equal(one, two, rtol=tolerance, atol=tolerance)


INTERVALS = [
    {},
    {"by": "system", "min_labels": 2},
    {"groups": None},
    {"groups": None, "by": "system", "min_labels": 2},
    {"strata": "system"},
    {"weights": "times"},
    {"weights": "times", "groups": None},
    {"target": "benchmark", "groups": None},
    {"conservative": True},
    *({"estimator": name} for name in ("classical", "ppi", "ppi++")),
    {"estimator": "ppi++", "by": "system", "min_labels": 2},
    {"estimator": "judge_only", "groups": None},
    {"estimator": "regression", "groups": None},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "asked", [*INTERVALS[:3], *(pytest.param(one, marks=pytest.mark.slow) for one in INTERVALS[3:])], ids=str
)
def test_an_interval_of_parts_is_that_of_the_whole(scores, gold, cut, asked):
    heavy = scores.assign(times=1.0 + scores["item"].astype(str).str.len())
    whole = calib.interval(heavy, gold, **asked)
    for number, seed in ((3, 1), (20, 2)):
        close(calib.interval(cut(heavy, number, seed), gold, **asked), whole)


@pytest.mark.slow
def test_yes_and_no_has_its_own_interval_in_parts_too(scores, gold, cut):
    one = scores[scores["rater"] == "few"].assign(scale="0|1")
    judge = one.assign(score=(one["score"] > 3).astype(float).where(one["score"].notna()), low=np.nan, high=np.nan)
    label = gold.assign(score=(gold["score"] > 3).astype(float), scale="0|1")
    whole = calib.interval(judge, label, groups=None)
    assert whole.one().estimator == "mover-jeffreys-clopper-pearson"
    close(calib.interval(cut(judge, 6), label, groups=None), whole)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "groups", "strata", "active"])
def test_scores_of_choose_items_keep_their_design(scores, people, cut, design):
    some = scores[scores["rater"] == "few"].dropna(subset="score")
    on = "entropy" if design == "active" else "score"
    drawn = calib.choose(some, 120, rng=1, design=design, on=on)
    label = people[people["item"].isin(drawn.loc[drawn["chosen"], "item"])]
    close(calib.interval(cut(drawn, 5), label, groups=None), calib.interval(drawn, label, groups=None))


@pytest.mark.slow
def test_little_mass_is_counted_over_all_parts(scores, gold, cut):
    place = scores["item"].astype(str).str[1:].astype(int)
    thin = scores.assign(mass=np.where(place % 9 == 0, 0.2 + place / 1e4, 0.9))
    with pytest.warns(UserWarning, match="little_mass") as whole:
        calib.interval(thin, gold)
    with pytest.warns(UserWarning, match="little_mass") as parts:
        calib.interval(cut(thin, 8), gold)
    assert sorted({str(one.message) for one in parts}) == sorted({str(one.message) for one in whole})


@pytest.mark.slow
def test_what_cannot_be_had_of_parts_is_refused(scores, gold, cut):
    parts = cut(scores, 3)
    with pytest.raises(TableError, match="`pool` cannot be had of partitions"):
        calib.interval(parts, gold, pool="rater")
    with pytest.raises(ArgumentError, match="`labels` must be a table of calib's"):
        calib.interval(parts, pd.DataFrame({"id": ["i1"], "label": [3]}))
    with pytest.raises(ArgumentError, match="describes your own file"):
        calib.interval(parts, gold, scale="1|2|3")
    with pytest.raises(TableError, match="column `colour` is missing"):
        calib.interval(parts, gold, by="colour")
    with pytest.raises(ArgumentError, match="folder or a list where groups repeat"):
        calib.interval(iter(parts), gold)
    again = [*parts, parts[0].head(1).assign(rater="third")]
    with pytest.raises(TableError, match="all rows of an item must stand in one part"):
        calib.interval(again, gold)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_part_on_another_scale_is_no_secret(scores, gold, cut):
    some = [part.assign(scale="0..100" if k == 2 else "1|2|3|4|5") for k, part in enumerate(cut(scores, 4))]
    some = [part[~part["item"].isin(gold["item"])] if k == 2 else part for k, part in enumerate(some)]
    whole = calib.interval(pd.concat([part.astype({"scale": str}) for part in some]), gold)
    close(calib.interval(some, gold), whole)
    assert not np.allclose(whole.to_frame()["lam"], calib.interval(cut(scores, 4), gold).to_frame()["lam"])


@pytest.mark.slow
def test_orders_of_pairs_are_counted_once_for_all_parts(pairs, cut):
    human = pd.DataFrame({"item": [f"i{k}" for k in range(0, 40, 2)], "score": [float(k % 3 == 0) for k in range(20)]})
    human = calib.table.check_scores(human.assign(criterion="better", rater="ann", scale="0|1"))
    with pytest.warns(UserWarning, match="one_order") as said:
        calib.interval(cut(pairs, 6), human)
    assert [str(one.message)[:28] for one in said] == ["one_order: 2 of 40 pairs hav"]


def test_an_error_says_in_which_part_it_is(scores, gold, cut):
    parts = cut(scores, 3)
    parts[1] = parts[1].assign(score=9.0)
    with pytest.raises(TableError, match="must lie on the scale") as caught:
        calib.interval(parts, gold)
    assert caught.value.__notes__ == ["This is said of part 1."]
