"""Populations that once broke a promise: each was found by trying to break it, and is a simulation of theory."""

import numpy as np
import pytest
from scipy import special, stats as laws

from calib.stats import accept_threshold, calibration_map, forecast_quality

LEVELS = np.arange(1.0, 6.0)


def whole_documents(rng, *, share_large, large, n_drawn, wrong_in_large, size=1):
    """Verdicts of 500 documents, few of which are large; labels of whole documents drawn at random."""
    sizes = np.where(rng.random(500) < share_large, large, size)
    document = np.repeat(np.arange(500), sizes)
    wrong = (rng.random(len(document)) < np.where(sizes == large, wrong_in_large, 0.02)[document]).astype(float)
    drawn = np.isin(document, rng.choice(500, n_drawn, replace=False))
    return document, wrong, np.where(drawn, wrong, np.nan)


@pytest.mark.long
@pytest.mark.slow
def test_large_documents_that_were_not_drawn_are_allowed_for():
    """No large document is among 26 of 500 in .95 ** 26 = 26 % of the draws, and then no label shows an error."""
    rng, violations = np.random.default_rng(1), 0
    for _ in range(60):
        document, wrong, errors = whole_documents(rng, share_large=0.05, large=100, n_drawn=26, wrong_in_large=1)
        sure = rng.integers(1, 4, len(document)).astype(float)
        accepted = accept_threshold(sure, errors, groups=document).accepts(sure)
        violations += accepted.any() and wrong[accepted].mean() > 0.1
    assert laws.binomtest(violations, 60, 0.1, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[4], [1, 2, 3, 4, 5, 6]])
def test_whole_documents_of_unlike_counts_find_a_start(sizes):
    """2 % errors, 60 documents: much can be accepted, whatever the number of sure items in each document."""
    rng, shares = np.random.default_rng(2), []
    for _ in range(5):
        document = np.repeat(np.arange(300), rng.choice(sizes, 300))
        drawn = np.isin(document, rng.choice(300, 60, replace=False))
        errors = np.where(drawn, rng.random(len(document)) < 0.02, np.nan)
        shares.append(accept_threshold(rng.random(len(document)).round(2), errors, groups=document).accepted)
    assert np.median(shares) > 0.6


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "n_drawn"), [([1, 2, 3, 4, 5, 6], 50), ([1, 9], 40)])
def test_documents_that_are_wholly_wrong_or_right_keep_the_promise(sizes, n_drawn):
    rng, violations, runs = np.random.default_rng(3), 0, 200
    for _ in range(runs):
        document = np.repeat(np.arange(400), rng.choice(sizes, 400))
        wrong = (rng.random(400) < 0.103)[document].astype(float)
        sure = rng.integers(1, 3, len(document)).astype(float)
        errors = np.where(np.isin(document, rng.choice(400, n_drawn, replace=False)), wrong, np.nan)
        accepted = accept_threshold(sure, errors, groups=document).accepts(sure)
        violations += accepted.any() and wrong[accepted].mean() > 0.1
    assert laws.binomtest(violations, runs, 0.1, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("n", [25, 100, 400])
def test_shares_said_of_every_item_have_no_skill(n):
    """They had, surely, in a third of the samples of any size; intervals promise 92 to 96 %."""
    rng, shares, above, runs = np.random.default_rng(4), np.array([0.1, 0.2, 0.3, 0.25, 0.15]), 0, 400
    for _ in range(runs):
        found = forecast_quality(np.tile(shares, (n, 1)), rng.choice(LEVELS, n, p=shares), LEVELS)
        above += found.interval.low > 0
    assert above / runs < 0.08


def test_the_error_of_the_shares_counts_for_nothing_beside_perfect_forecasts():
    y = np.tile([1.0, 2, 3, 4, 5], 6)
    p = 0.999 * np.eye(5)[y.astype(int) - 1] + 0.001 / 5
    ends = forecast_quality(p, y, LEVELS).interval
    assert ends.high - ends.low < 1e-5


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:(unseen_levels|labels_alike|negative_slope)")
@pytest.mark.parametrize("n", [25, 100])
@pytest.mark.parametrize(("thresholds", "slope"), [([-6, -5, -4, -2.5], 0.3), ([1, 2.5, 3.5, 5], 1.0)])
def test_the_interval_of_the_map_covers_also_where_labels_crowd_at_one_end(thresholds, slope, n):
    """At the ceiling 97 of 100 labels are 5: resampled labels alone covered the mean in 0 to 6 % of samples of 25."""
    rng, runs, covered = np.random.default_rng(5), 300, np.zeros(5)
    truth = 1 + special.expit(slope * LEVELS[:, None] - np.array(thresholds)).sum(axis=1)
    for _ in range(runs):
        x = rng.choice(LEVELS, n)
        y = 1 + ((slope * x + rng.logistic(size=n))[:, None] > thresholds).sum(axis=1)
        found = calibration_map(x, y, levels=LEVELS)
        low, high = found.band(LEVELS, found.predict(LEVELS) @ LEVELS)
        covered += (low <= truth) & (truth <= high)
    assert covered.min() / runs > 0.85
    assert 0.9 < covered.mean() / runs < 0.99


def test_sets_without_a_known_scale_say_where_they_end():
    """Of nine labels on ten values 84 % were covered where 90 were promised: what lies beyond them is in no set."""
    pd = pytest.importorskip("pandas")
    import calib

    rows = {"item": [f"i{k}" for k in range(30)], "criterion": "c", "score": np.arange(30.0) % 10}
    judge = pd.DataFrame(rows | {"rater": "judge", "method": "sample"})
    people = pd.DataFrame(rows | {"rater": "people", "method": "human"})[1:20]
    unsaid = calib.score_sets(judge, people).one().warnings
    assert any(text.startswith("unsaid_scale") and "0 to 9" in text for text in unsaid)
    scaled = calib.score_sets(judge, people.assign(scale="0..10")).one().warnings
    assert not any(text.startswith("unsaid_scale") for text in scaled)
