"""Whether annotators are alike in strictness: against Friedman's test, and how often it errs; whose mean it is."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from calib.labelling.read import _strictness, price_of, strictness_of
from calib.stats import ppi_mean


def labels_of(scores, criterion="tone"):
    """A row per label of a table of items and annotators, NaN where there is none."""
    found = [
        (f"i{item}", criterion, f"ann-{rater}", score)
        for item, row in enumerate(scores)
        for rater, score in enumerate(row)
        if score == score
    ]
    return pd.DataFrame(found, columns=["item", "criterion", "rater", "score"])


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_of_ranks_it_is_friedmans_test(raters):
    rng = np.random.default_rng(1)
    ranks = np.array([rng.permutation(raters) for _ in range(9)]) + 1.0
    ranks[:4] = np.sort(ranks[:4], axis=1)
    of_each = scipy_stats.friedmanchisquare(*ranks.T).pvalue if raters > 2 else None
    wins = (ranks[:, 1] > ranks[:, 0]).sum()
    known = of_each or scipy_stats.chi2.sf((2 * wins - 9) ** 2 / 9, 1)  # of two: the sign test
    p, off = _strictness(labels_of(ranks))
    assert p == pytest.approx(known, rel=1e-9)
    assert off.to_numpy() == pytest.approx(ranks.mean(axis=0) - (raters + 1) / 2, abs=1e-12)


def test_only_items_in_common_count():
    rng = np.random.default_rng(2)
    common = rng.integers(1, 6, (10, 3)).astype(float)
    common[0, 1] = math.nan
    own = np.full((30, 3), math.nan)
    own[np.arange(30), np.arange(30) % 3] = 5
    found, known = _strictness(labels_of([*common, *own])), _strictness(labels_of(common))
    assert found[0] == pytest.approx(known[0], rel=1e-12)
    assert found[1].tolist() == pytest.approx(known[1].tolist(), rel=1e-12)


def test_annotators_who_differ_are_named_and_others_are_not():
    base = np.array([1.0, 2, 3, 4, 3, 2, 1, 4, 3, 2])
    (said,) = strictness_of(labels_of(np.column_stack([base, base, base + 1])))
    assert said.startswith(
        "tone: annotators differ on the items in common ('ann-0' -0.33, 'ann-1' -0.33, 'ann-2' +0.67"
    )
    assert "an interval of their labels is one for these annotators" in said
    for same in (np.column_stack([base, base]), base[:, None], np.column_stack([base, base + 1])[:4]):
        assert strictness_of(labels_of(same)) == []
    assert strictness_of(labels_of([])) == []


def test_p_values_are_adjusted_over_criteria():
    rng = np.random.default_rng(3)
    one = np.array([[1.0, 2]] * 5 + [[2, 2]] * 5)  # p .025 by itself
    assert len(strictness_of(labels_of(one))) == 1
    alike = [labels_of(rng.permuted(np.array([[1.0, 2]] * 10), axis=1), name) for name in ("depth", "wit")]
    assert strictness_of(pd.concat([labels_of(one), *alike])) == []


def test_reading_before_the_first_of_four_criteria_is_paid_for():
    """Once a median of answers was taken, which are mostly quick: 3.25 seconds a label came out, not 10.75."""
    items = np.repeat([f"i{k}" for k in range(10)], 4)
    answers = pd.DataFrame({"item": items, "rater": "ann", "score": 3.0, "seconds": [40.0, 1, 1, 1] * 10})
    assert price_of(answers) == (10.75, [])
    answers.loc[4, "seconds"] = 4000.0
    price, (said,) = price_of(answers)
    assert price == pytest.approx((9 * 43 + 10 * 43) / 40)
    assert said.startswith("1 item took more than ten times the median (the longest 4003 s)")


@pytest.mark.slow
@pytest.mark.parametrize(
    "raters", [pytest.param(2, marks=pytest.mark.long), 3, pytest.param(5, marks=pytest.mark.long)]
)
def test_annotators_who_are_alike_are_told_apart_as_often_as_it_is_said(raters):
    rng, number = np.random.default_rng(20261123), 1500
    found = 0
    for _ in range(number):
        y = np.round(rng.normal(3, 0.8, (10, 1)) + rng.normal(0, 0.5, (10, raters))).clip(1, 5)
        found += _strictness(labels_of(y))[0] < 0.05
    assert scipy_stats.binomtest(found, number, 0.05, alternative="greater").pvalue > 1e-3
    assert found / number > 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("sd", "general"), [(0.0, (0.93, 0.98)), (0.5, (0.5, 0.61))])
def test_an_interval_is_one_for_those_who_labelled_not_for_people_in_general(sd, general):
    """60 of 300 items by three annotators, 10 in common; each annotator's own mean is off by `sd`."""
    rng, number, cuts = np.random.default_rng(20261122), 400, np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf])
    covered = {"these": 0, "general": 0}
    for _ in range(number):
        quality, off = rng.normal(0, 0.8, 300), rng.normal(0, sd, 3) if sd else np.zeros(3)
        given = (3 + quality[:, None] + off + rng.normal(0, 0.5, (300, 3))).round().clip(1, 5)
        judge = (3 + quality + rng.normal(0, 0.5, 300)).clip(1, 5)
        drawn, y = rng.permutation(300)[:60], np.full(300, np.nan)
        y[drawn] = given[drawn, np.arange(60) % 3]
        y[drawn[:10]] = given[drawn[:10]].mean(axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            low, high = ppi_mean(y, judge, bounds=(1, 5)).interval
        shares = np.diff(scipy_stats.norm.cdf(cuts, 3 + off[:, None], math.hypot(0.8, 0.5)))
        covered["these"] += low <= (shares @ np.arange(1, 6)).mean() <= high
        covered["general"] += low <= 3 <= high
    assert 0.93 <= covered["these"] / number <= 0.995
    assert general[0] <= covered["general"] / number <= general[1]
