"""The bars of a gate for a judge: against exact laws, other implementations, and enumeration."""

import math

import numpy as np
import pytest
from scipy import stats as laws

from calib import stats
from calib.gate.judge_bars import judge_bar, open_bar, score_of, settled_bars


def graded(n=150, seed=0):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    return [np.clip(np.round(3 + quality + s * rng.normal(size=n)), 1, 5) for s in (0.6, 0.3)]


@pytest.mark.parametrize(
    ("figure", "method"), [("kappa", "kappa_nominal"), ("weighted_kappa", "kappa"), ("spearman", "spearman")]
)
def test_estimates_are_those_of_agreement(figure, method):
    x, y = graded()
    assert judge_bar(x, y, figure, 0.3).estimate == pytest.approx(stats.agreement(x, y, method=method).estimate)


def test_spearman_is_scipys_with_ties_and_without():
    x, y = graded()
    assert judge_bar(x, y, "spearman", 0.3).estimate == pytest.approx(laws.spearmanr(x, y).statistic)
    x, y = np.random.default_rng(1).normal(size=(2, 80))
    assert judge_bar(x, y, "spearman", 0.3).estimate == pytest.approx(laws.spearmanr(x, y).statistic)


@pytest.mark.parametrize("figure", ["kappa", "weighted_kappa", "spearman"])
def test_the_score_of_an_item_is_what_one_more_of_it_moves(figure):
    # the derivative of (top - bar * bottom) when weight moves to one item, by a thousand copies of all others
    x, y = graded(40)
    whole = score_of(np.tile(x, 1000), np.tile(y, 1000), figure, np.arange(40_000))
    more = score_of(np.append(np.tile(x, 1000), x[3]), np.append(np.tile(y, 1000), y[3]), figure, np.arange(40_001))
    bar, n = 0.4, 40_001
    mean = [float((one.top - bar * one.bottom).mean()) for one in (whole, more)]
    scale = [float(one.bottom.mean()) for one in (whole, more)]
    psi = whole.top[3] - whole.estimate * whole.bottom[3]
    assert (more.estimate - whole.estimate) * n == pytest.approx(psi / scale[0], rel=5e-3, abs=5e-3)
    assert mean[0] / scale[0] == pytest.approx(whole.estimate - bar)


@pytest.mark.parametrize(("k", "n"), [(40, 40), (57, 60), (80, 100), (1, 25)])
def test_rates_have_clopper_and_pearsons_ends_and_the_binomial_p_value(k, n):
    judge, labels = np.r_[np.ones(k), np.zeros(n - k), np.zeros(30)], np.r_[np.ones(n), np.zeros(30)]
    one = judge_bar(judge, labels, "tpr", 0.85)
    exact = laws.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert one.interval == pytest.approx((exact.low, exact.high), abs=1e-5)
    assert one.p_above == pytest.approx(laws.binomtest(k, n, 0.85, alternative="greater").pvalue, abs=1e-8)
    assert one.p_below == pytest.approx(laws.binomtest(k, n, 0.85, alternative="less").pvalue, abs=1e-8)


def tables(n):
    return np.array([(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a)
                     for c in range(n + 1 - a - b)])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "bar", "most"), [(20, 0.6, 0.025), (20, 0.4, 0.0255), pytest.param(30, 0.8, 0.0275, marks=pytest.mark.long)]
)
def test_all_tables_of_pass_and_fail_are_trusted_falsely_no_more_often_than_said(n, bar, most):
    every = tables(n)
    margins = np.stack([every[:, 0] + every[:, 1], every[:, 0] + every[:, 2]])
    measured = ((margins > 0) & (margins < n)).all(axis=0)
    trusted = np.zeros(len(every), dtype=bool)
    for k in np.flatnonzero(measured):
        code = np.repeat(np.arange(4), every[k])
        above, _ = score_of((code < 2) * 1.0, (code % 2 == 0) * 1.0, "kappa", np.arange(n)).tails(bar)
        trusted[k] = above <= 0.025
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        d = (1 - bar) * share * (1 - share)
        cells = [share - d, d, d, 1 - share - d]
        rate = laws.multinomial(n, cells).pmf(every[trusted]).sum()
        assert rate <= most, share
    assert trusted.any()


@pytest.mark.parametrize("size", [1, 5])
def test_at_the_bar_one_in_forty_is_trusted_at_most(size):
    rng, runs, n, share = np.random.default_rng(7), 400, 100, 0.8
    d = 0.4 * share * (1 - share)
    cells, found = [share - d, d, d, 1 - share - d], []
    for _ in range(runs):
        code = rng.choice(4, p=cells, size=n)
        if size > 1:
            shared = np.repeat(rng.choice(4, p=cells, size=n // size), size)
            code = np.where(rng.random(n) < 0.55, shared, code)
        unit = np.arange(n) // size
        found.append(score_of((code < 2) * 1.0, (code % 2 == 0) * 1.0, "kappa", unit).tails(0.6))
    above, below = (np.array(found) <= 0.025).sum(axis=0)
    most = laws.binom.ppf(0.999, runs, 0.025)
    assert above <= most
    assert below <= most
    assert size > 1 or above + below > 0  # of items not so careful that it never speaks


def test_the_ends_of_the_interval_are_the_bars_that_are_just_not_refused():
    x, y = graded(60)
    one = judge_bar(x, y, "kappa", 0.2, groups=np.arange(60) // 3)
    for end, side in zip(one.interval, ("p_above", "p_below"), strict=True):
        at = judge_bar(x, y, "kappa", end, groups=np.arange(60) // 3)
        assert getattr(at, side) == pytest.approx(0.025, abs=1e-4)


@pytest.mark.parametrize(
    ("judge", "labels", "why"),
    [([1] * 30, [1, 0] * 15, "the judge gives every item 1"), ([1, 0] * 15, [1] * 30, "all labels are 1"),
     ([1] * 30, [1] * 30, "the judge gives every item 1"), ([1, 0] * 5, [1, 0] * 5, "needs 20 labels, has 10"),
     ([math.nan] * 30, [1, 0] * 15, "needs 20 labels, has 0")],
)  # fmt: skip
@pytest.mark.parametrize("figure", ["kappa", "weighted_kappa", "spearman", "tpr"])
def test_what_cannot_be_measured_is_never_trusted(judge, labels, why, figure):
    one = judge_bar(judge, labels, figure, 0.1)
    if figure == "tpr" and why.startswith("all labels"):
        assert one.n == 30  # which is what a TPR is of
    else:
        assert (one.outcome, one.reason.partition(":")[0]) == ("inconclusive", why)


def test_several_bars_must_all_hold_and_are_missed_by_holm():
    x, y = np.array([1.0] * 60 + [0.0] * 40), np.array([1.0] * 55 + [0.0] * 45)
    bars = {"kappa": 0.6, "tpr": 0.9, "tnr": 0.95}
    checks = [open_bar(x, y, name, bar, groups=None, error=0.025, min_labels=20) for name, bar in bars.items()]
    outcomes = [one.outcome for one in settled_bars(checks)]
    assert outcomes == ["trusted", "trusted", "inconclusive"]
    # a p-value of .02 misses alone, and not among three
    hits = next(k for k in range(55, 0, -1) if laws.binomtest(k, 55, 0.9, alternative="less").pvalue < 0.02)
    worse = x.copy()
    worse[: 55 - hits] = 0
    alone = judge_bar(worse, y, "tpr", 0.9)
    assert alone.outcome == "untrusted"
    among = [open_bar(worse, y, name, bar, groups=None, error=0.025, min_labels=20) for name, bar in bars.items()]
    settled = settled_bars(among)
    assert settled[1].p_adjusted > 0.025
    assert settled[1].outcome == "inconclusive"
    assert "below the bar, but not after 3 checks" in settled[1].reason


def test_labels_to_decide_decide_about_one_time_in_two():
    counts = np.array([44, 4, 4, 8])
    code = np.repeat(np.arange(4), counts)
    one = judge_bar((code < 2) * 1.0, (code % 2 == 0) * 1.0, "kappa", 0.45)
    assert one.outcome == "inconclusive"
    n, rng = int(one.labels_to_decide), np.random.default_rng(0)
    assert 60 < n < 1000
    found = []
    for _ in range(300):
        drawn = rng.choice(4, p=counts / 60, size=n)
        found.append(score_of((drawn < 2) * 1.0, (drawn % 2 == 0) * 1.0, "kappa", np.arange(n)).tails(0.45)[0])
    assert 0.38 < np.mean(np.array(found) <= 0.025) < 0.62


@pytest.mark.parametrize(("figure", "bar"), [("kappa", 1.0), ("kappa", math.nan), ("tpr", 0.0), ("tau", 0.5)])
def test_a_bar_that_is_none_is_refused(figure, bar):
    with pytest.raises(stats.ArgumentError):
        judge_bar([1, 0] * 20, [1, 0] * 20, figure, bar)


# --- uneven groups, and few disagreements -----------------------------------------------------------------------------


def test_uneven_groups_count_for_less_and_are_named():
    x, y = graded(120)
    even = np.repeat(np.arange(40), 3)
    uneven = np.repeat(np.arange(40), [20] * 2 + [3] * 18 + [2] * 6 + [1] * 14)
    one, other = (judge_bar(x >= 4, y >= 4, "kappa", 0.5, groups=groups) for groups in (even, uneven))
    assert one.warnings == ()
    assert other.warnings == ("uneven_groups: 40 groups of up to 20 of 120 items tell as much as 14 of one size",)
    assert other.conf_low < one.conf_low


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[10] * 3 + [1] * 30, [60] + [1] * 60, [30] * 2 + [1] * 200])
def test_a_judge_at_the_bar_is_trusted_no_more_often_in_uneven_groups(sizes):
    rng, hits, runs = np.random.default_rng(4), 0, 600
    unit, cells = np.repeat(np.arange(len(sizes)), sizes), [0.4, 0.1, 0.1, 0.4]  # kappa .6
    for _ in range(runs):
        code = rng.choice(4, p=cells, size=len(sizes))[unit]  # items of a group are copies
        hits += score_of(*(side.astype(float) for side in np.divmod(code, 2)), "kappa", unit).tails(0.6)[0] <= 0.025
    assert laws.binomtest(hits, runs, 0.025, alternative="greater").pvalue > 0.01, hits


@pytest.mark.parametrize(("n", "share", "bar"), [(61, 0.5, 0.9), (65, 0.5, 0.9), (80, 0.8, 0.9)])
def test_few_disagreements_are_trusted_falsely_no_more_often_than_said(n, share, bar):
    # all tables with up to two disagreements, beyond which none is trusted at these sizes
    d, rate = (1 - bar) * share * (1 - share), 0.0
    law = laws.multinomial(n, [share - d, d, d, 1 - share - d])
    for b, c in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)):
        for a in range(1, n - b - c):
            cells = np.array([a, b, c, n - a - b - c])
            if law.pmf(cells) > 1e-6:
                code = np.repeat(np.arange(4), cells)
                above = score_of((code < 2) * 1.0, (code % 2 == 0) * 1.0, "kappa", np.arange(n)).tails(bar)[0]
                rate += law.pmf(cells) * (above <= 0.025)
    assert rate <= 0.0275
