"""Agreement on pairs: shares with and without ties, kappa, consistency."""

import numpy as np
import pytest

from calib.core.check import ArgumentError
from calib.stats import agreement, pairwise_agreement

JUDGE = np.array([1, 1, 0, 0.5, 1, 0, 0.75, 0.2] * 8)
PEOPLE = np.array([1, 0, 0, 0, 0.5, 0.5, 1, 0] * 8)


def by_hand(x, y):
    a, b = np.sign(x - 0.5), np.sign(y - 0.5)
    decided = (a != 0) & (b != 0)
    return np.mean(a == b), np.mean(a[decided] == b[decided]), decided.sum()


def test_shares_by_hand():
    found = pairwise_agreement(JUDGE, PEOPLE)
    assert (found.with_ties.estimate, found.without_ties.estimate, found.without_ties.n) == by_hand(JUDGE, PEOPLE)
    assert (found.n_ties, found.n_ties_labels) == (8, 16)
    assert found.estimate == found.with_ties.estimate
    assert found.interval == found.with_ties.interval


def test_wilson_and_kappa_have_their_oracles():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    rates = pytest.importorskip("statsmodels.stats.inter_rater")
    found = pairwise_agreement(JUDGE, PEOPLE)
    k = round(found.with_ties.estimate * 64)
    assert found.with_ties.interval == pytest.approx(proportion.proportion_confint(k, 64, method="wilson"))
    table = np.zeros((3, 3))
    np.add.at(table, tuple((np.sign(v - 0.5) + 1).astype(int) for v in (JUDGE, PEOPLE)), 1)
    assert found.kappa.estimate == pytest.approx(rates.cohens_kappa(table).kappa)


def test_kappa_is_that_of_the_agreement_topic_with_groups():
    group = np.arange(64) % 16
    x, y = (np.sign(v - 0.5) for v in (JUDGE, PEOPLE))
    known = agreement(x, y, groups=group, method="kappa_nominal")
    assert pairwise_agreement(JUDGE, PEOPLE, groups=group).kappa.interval == pytest.approx(known.interval)


def test_groups_widen():
    wide = pairwise_agreement(np.repeat(JUDGE, 3), np.repeat(PEOPLE, 3), groups=np.repeat(range(64), 3))
    alone, naive = pairwise_agreement(JUDGE, PEOPLE), pairwise_agreement(np.repeat(JUDGE, 3), np.repeat(PEOPLE, 3))
    widths = [found.interval.high - found.interval.low for found in (naive, alone, wide)]
    assert widths[0] < 0.65 * widths[1] < widths[2] < 1.1 * widths[1]


def test_consistency_is_of_pairs_judged_in_both_orders():
    orders = [[1, 1], [1, 0], [0, 0], [np.nan, 1]]
    found = pairwise_agreement([1, 0.5, 0, 1], [1, 1, 0, 0], orders=orders)
    assert (found.consistency.estimate, found.consistency.n, found.n_order_ties) == (pytest.approx(2 / 3), 3, 1)
    assert not pairwise_agreement([1, 0, 1], [1, 0, 0]).consistency.n


def test_what_is_missing_is_counted():
    found = pairwise_agreement([1, np.nan, 0], [1, 1, np.nan])
    assert (found.n, found.n_missing) == (1, 2)


def test_a_judge_of_one_answer_has_no_kappa_beyond_chance():
    found = pairwise_agreement([1] * 12, [1] * 12)
    assert found.with_ties.estimate == 1
    assert not found.kappa.estimate > 0
    assert found.with_ties.interval.low < 0.8
    assert "agreement with ties 1" in str(found)


def test_all_ties_leave_no_decided_pair():
    found = pairwise_agreement([0.5] * 5, [1, 0, 0.5, 1, 0])
    assert not found.without_ties.n
    assert "without ties: no such pair" in str(found)
    assert list(found.shares) == ["with_ties", "kappa"]


@pytest.mark.parametrize(
    ("judge", "labels", "options", "message"),
    [
        ([3], [1], {}, "`judge` must be the share"),
        ([1, 0], [1], {}, "`labels` must have the length"),
        ([np.nan], [1], {}, "no pair is in both"),
        ([1, 0], [1, 0], {"orders": [1, 0]}, "`orders` must have 2 dimensions"),
        ([1, 0], [1, 0], {"orders": [[1, 0]]}, r"`orders` must have the shape \(2, 2\)"),
    ],
)
def test_refusals(judge, labels, options, message):
    with pytest.raises(ArgumentError, match=message):
        pairwise_agreement(judge, labels, **options)
