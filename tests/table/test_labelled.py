"""A judge's scores beside each person's label, as values of people's scale."""

import numpy as np
import pandas as pd
import pytest

from calib.table import TableError, check_scores
from calib.table.labelled import labelled_pairs
from calib.table.validate import validated


def pair_of(labels, *, judge="1|2|3|4|5", people="1|2|3|4|5"):
    """Labels as (item, rater, score) beside a judge who scored the items a to d."""
    scores = pd.DataFrame({"item": list("abcd"), "criterion": "tone", "rater": "gpt", "method": "sample"})
    scores = check_scores(scores.assign(score=[1.0, 2.0, 3.0, 2.0], scale=judge))
    frame = pd.DataFrame(labels, columns=["item", "rater", "score"]).assign(criterion="tone", method="human")
    frame = check_scores(frame.assign(scale=people))
    return next(labelled_pairs(validated(scores, "scores", "scores"), validated(frame, "scores", "gold")))


def test_labels_of_an_item_count_one_together():
    found = pair_of([("a", "ann", 2), ("a", "bea", 4), ("b", "ann", 5)])
    assert found.labels.groupby("row")["weight"].sum().tolist() == [1, 1]
    assert found.labels["y"].tolist() == [2, 4, 5]
    assert found.levels.tolist() == [1, 2, 3, 4, 5]
    assert found.frame["y"].isna().tolist() == [False, False, True, True]


def test_a_mean_between_two_values_counts_for_both_and_stays_the_mean():
    found = pair_of([("a", "mean of 3", 11 / 3), ("b", "mean of 3", 2)])
    mine = found.labels[found.labels["row"] == 0]
    assert sorted(mine["y"]) == [3, 4]
    assert (mine["y"] * mine["weight"]).sum() == pytest.approx(11 / 3)


@pytest.mark.parametrize(
    ("scores", "label"), [([2, 2, 5], 2), ([1, 4, 5], 4), ([2, 3], 2), ([1, 4, 4, 5], 4), ([2, 4], 3), ([5], 5)]
)
def test_one_label_is_the_median_as_a_value_of_the_scale(scores, label):
    """Of two middle values the one nearer to the mean; the lower where both are as near."""
    found = pair_of([("a", f"p{k}", score) for k, score in enumerate(scores)])
    assert found.frame["y"][0] == label


@pytest.mark.parametrize(
    ("judge", "people", "labels", "levels"),
    [
        ("1|2|3|4|5", "1|2|3|4|5", [1, 2], [1, 2, 3, 4, 5]),
        ("0..10", "1|2|3", [1, 3], [1, 2, 3]),  # people's own scale
        ("1|2|3|4|5", "", [2, 3], [1, 2, 3, 4, 5]),  # the judge's, which has their labels
        ("", "", [2, 4], [2, 3, 4]),  # what lies between their labels
        ("", "0..4", [1, 3], [0, 1, 2, 3, 4]),
        ("", "", [0.25, 0.5], [0.25, 0.5]),
    ],
)
def test_values_that_people_could_give(judge, people, labels, levels):
    found = pair_of([("a", "ann", labels[0]), ("b", "ann", labels[1])], judge=judge, people=people)
    np.testing.assert_array_equal(found.levels, levels)


def test_labels_of_no_scale_are_refused():
    with pytest.raises(TableError, match="scale of 2 to 25 values"):
        pair_of([("a", "ann", 3)], judge="", people="")


def test_items_that_the_judge_has_not_scored_are_counted():
    found = pair_of([("a", "ann", 2), ("z", "ann", 4)])
    assert found.n_unmatched == 1 and found.labels["row"].tolist() == [0]
