"""Scores of several raters as those of one: their mean, whoever is missing, and scales that do not go together."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.table import TableError
from calib.table.labelled import lacking_raters, mean_of_annotators, mean_of_raters
from calib.table.validate import scores_in

FIVE = "1|2|3|4|5"
UNSAID = "do not all say theirs and are at"


def rated(rater, scores, scale=FIVE, **columns):
    items = [f"i{place}" for place in range(len(scores))]
    frame = pd.DataFrame({"item": items, "criterion": "tone", "rater": rater, "score": scores, "scale": scale})
    return frame.assign(**{"method": "logprob", "system": "s"} | columns)


def pooled(*tables):
    return mean_of_raters(scores_in(pd.concat(tables, ignore_index=True), "scores")).frame


def message(*tables):
    with pytest.raises(TableError) as caught:
        pooled(*tables)
    return str(caught.value)


def test_it_is_the_plain_mean_with_what_stands_beside_it():
    found = pooled(rated("a", [1, 2, 5]), rated("b", [2, 4, 5]), rated("c", [3, 3, 5]))
    assert found["score"].tolist() == [2, 3, 5]
    assert found["item"].tolist() == ["i0", "i1", "i2"]
    assert set(found["rater"]) == {"mean of 3 raters"}
    assert set(found["system"]) == {"s"}
    assert set(found["scale"]) == {FIVE}
    assert (found["n"].tolist(), found["n_unread"].tolist()) == ([3, 3, 3], [0, 0, 0])


def test_a_rater_with_two_prompts_counts_once_and_one_is_left_as_it_is():
    found = pooled(rated("a", [1, 1], prompt="p"), rated("a", [3, 3], prompt="q"), rated("b", [4, 5], prompt="p"))
    assert found["score"].tolist() == [3, 3.5]
    assert set(found["prompt"]) == {""}
    alone = pooled(rated("a", [1, 2.5]))
    assert (alone["rater"].tolist(), alone["score"].tolist()) == (["a", "a"], [1, 2.5])


def test_an_item_without_one_rater_has_the_mean_of_the_others():
    found = pooled(rated("a", [1, 2, np.nan]), rated("b", [2, np.nan, np.nan]), rated("c", [3, 4]))
    assert found["score"].tolist()[:2] == [2, 3]
    assert np.isnan(found["score"][2])
    assert found["n_unread"].tolist() == [0, 1, 3]
    assert lacking_raters(found) == (
        "raters_missing: 2 of 3 items were not scored by every rater and have the others' mean",
    )
    assert lacking_raters(found[:1]) == ()


def test_each_criterion_has_a_scale_of_its_own():
    other = [rated(rater, [10, 90], "0..100").assign(criterion="style") for rater in "ab"]
    found = pooled(rated("a", [1, 2]), rated("b", [2, 4]), *other)
    assert found.groupby("criterion", observed=True)["score"].apply(list).to_dict() == {
        "tone": [1.5, 3],
        "style": [10, 90],
    }


@pytest.mark.parametrize(
    ("tables", "given"),
    [
        ((rated("a", [1, 2]), rated("b", [10, 90], "0..100")), f"are on 0..100 and {FIVE}"),
        ((rated("a", [1, 2]), rated("b", [10, 90], "")), f"are on {FIVE} and at 10 to 90 ('b')"),
        ((rated("a", [1, 2]), rated("b", [0.2, 0.9], "")), f"are on {FIVE} and at 0.2 to 0.9 ('b')"),
        ((rated("a", [1, 2], ""), rated("b", [1, 90], "")), f"{UNSAID} 1 to 2 ('a'), 1 to 90 ('b')"),
        ((rated("a", [10, 90], "0..100"), rated("b", [1, 5], "")), f"{UNSAID} 10 to 90 ('a'), 1 to 5 ('b')"),
    ],
)  # fmt: skip
def test_raters_on_different_scales_are_refused(tables, given):
    rule = "`scores` must have raters on one scale for each criterion to be pooled"
    assert message(*tables) == f"{rule}, but those of 'tone' {given}."


def test_the_same_ends_are_the_same_scale():
    assert pooled(rated("a", [1, 2]), rated("b", [2, 4.5], "1..5"))["score"].tolist() == [1.5, 3.25]
    assert pooled(rated("a", [1, 5], ""), rated("b", [2, 3], ""))["score"].tolist() == [1.5, 4]


def judges(n=80, raters=6):
    rng = np.random.default_rng(1)
    truth = rng.normal(3, 0.7, n)
    people = rated("ann", np.clip(np.rint(truth), 1, 5), method="human")
    tables = [rated(f"judge {k}", np.clip(truth + 0.8 * rng.normal(size=n), 1, 5)) for k in range(raters)]
    return people.sample(30, random_state=2), pd.concat(tables, ignore_index=True)


@pytest.mark.slow
def test_an_interval_of_the_mean_of_six_judges():
    gold, scores = judges()
    found = calib.interval(scores, gold, pool="rater")
    assert found.labels[0]["rater"] == "mean of 6 raters"
    by_hand = scores.groupby("item", sort=False)["score"].mean().reset_index()
    by_hand = calib.scores_from(by_hand, criterion="tone", rater="mean", scale=FIVE)
    wanted = calib.interval(by_hand, gold).one()
    assert found.one().interval == pytest.approx(wanted.interval)
    alone = calib.interval(scores, gold)
    assert len(alone) == 6
    assert found.one().width_ratio < np.mean([result.width_ratio for result in alone.results])


@pytest.mark.slow
def test_people_among_the_scores_are_no_judges():
    gold, scores = judges()
    both = pd.concat([scores, gold], ignore_index=True)
    assert calib.interval(both, gold, pool="rater").one() == calib.interval(scores, gold, pool="rater").one()
    with pytest.raises(TableError, match=r"^`scores` must have scores of a judge to be pooled, but has none but peop"):
        calib.interval(gold, gold, pool="rater")


def test_it_says_which_items_lack_a_judge_and_pools_nothing_else():
    gold, scores = judges()
    scores.loc[:3, "score"] = np.nan
    assert calib.interval(scores, gold, pool="rater").one().warnings[0].startswith("raters_missing: 4 of 80 items")
    with pytest.raises(ValueError, match=r"^`pool` must be one of 'rater', but got 'prompt'"):
        calib.interval(scores, gold, pool="prompt")


@pytest.mark.slow
def test_a_difference_by_the_mean_of_all_judges():
    gold, scores = judges()
    half = {f"i{place}": "one" if place % 2 else "two" for place in range(80)}
    scores, gold = (frame.assign(system=frame["item"].map(half)) for frame in (scores, gold))
    found = calib.difference(scores, gold, "one", "two", pool="rater")
    assert found.labels[0]["rater"] == "mean of 6 raters"


# --- people ---------------------------------------------------------------------------------------------------------


def people(*tables):
    return mean_of_annotators(scores_in(pd.concat(tables, ignore_index=True), "gold")).frame


def test_people_are_pooled_and_lack_nothing_where_not_all_were_asked():
    found = people(rated("a", [1, 2], method="human"), rated("b", [2, 5, 4], method="human"))
    assert found["score"].tolist() == [1.5, 3.5, 4]
    assert set(found["rater"]) == {"mean of 2 annotators"}
    assert (found["n"].tolist(), lacking_raters(found)) == ([2, 2, 1], ())


def test_of_people_who_do_not_say_their_scale_nothing_is_guessed():
    found = people(*(rated(name, [mark], scale="", method="human") for name, mark in (("a", 1), ("b", 5))))
    assert found["score"].tolist() == [3]
    with pytest.raises(TableError, match="must have raters on one scale"):
        people(*(rated(name, [1], scale=scale, method="human") for name, scale in (("a", FIVE), ("b", "0..100"))))


def test_one_person_and_whoever_is_no_person_stay_apart():
    alone = rated("a", [1, 2], method="human")
    assert people(alone)["rater"].tolist() == ["a", "a"]
    judges = people(rated("a", [1, 2]), rated("b", [2, 5]))
    assert set(judges["rater"]) == {"a", "b"}
    two = people(alone, rated("b", [3, 4], method="human"), rated("c", [5, 5], criterion="depth", method="human"))
    assert two.groupby("criterion", observed=True)["rater"].first().to_dict() == {
        "tone": "mean of 2 annotators",
        "depth": "c",
    }
