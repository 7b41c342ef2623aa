"""Gold on averaged prompts: the intervals of `ppi_mean`, the jackknife by hand, simulated coverage."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.prompts.averaging import _unexplained
from calib.stats import averaging, ppi_mean

NAN = math.nan


def half(result):
    return (result.interval.high - result.interval.low) / 2


def judged(rng, n, n_gold, *, sd=1.0, prompts=4):
    quality = rng.normal(3, 1, n)
    f = quality[:, None] + sd * rng.normal(size=(n, prompts)) + rng.normal(size=prompts)
    return np.where(np.arange(n) < n_gold, quality + 0.5 * rng.normal(size=n), NAN), f


def test_each_interval_is_that_of_ppi_mean():
    y, f = judged(np.random.default_rng(13), 400, 60)
    result = averaging(y, f)
    assert result.average == ppi_mean(y, f.mean(axis=1))
    assert result.alone == tuple(ppi_mean(y, one) for one in f.T)
    grouped = averaging(y, f, groups=np.arange(400) // 3, bounds=(-1, 8), step=4)
    assert grouped.average == ppi_mean(y, f.mean(axis=1), groups=np.arange(400) // 3, bounds=(-1, 8), step=4)
    assert result.half_width == half(result.average)
    assert result.half_widths == tuple(map(half, result.alone))
    gold = ~np.isnan(y)
    assert_allclose(result.r_alone, [np.corrcoef(y[gold], one[gold])[0, 1] for one in f.T])
    assert_allclose(result.r, np.corrcoef(y[gold], f[gold].mean(axis=1))[0, 1])
    assert result.best == int(np.argmax(np.abs(result.r_alone)))
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert list(frame["prompt"]) == ["average", "1", "2", "3", "4"]
    assert frame["half_width"][0] == result.half_width


@pytest.mark.parametrize("size", [1, 3])
def test_the_interval_of_the_ratio_is_a_unexplained_over_labelled_units(size):
    y, f = judged(np.random.default_rng(14), 300, 60)
    group = np.arange(300) // size
    result = averaging(y, f, groups=group)

    def logs(keep):
        left = np.log([1 - np.corrcoef(y[keep], x[keep])[0, 1] ** 2 for x in (f.mean(axis=1), *f.T)])
        return left[0] - left[1:].mean(), left[0] - left[1 + result.best]

    gold = ~np.isnan(y)
    units = np.unique(group[gold])
    without = np.array([logs(gold & (group != unit)) for unit in units])
    error = np.sqrt((len(units) - 1) ** 2 / len(units) * without.var(axis=0, ddof=1))
    center, reach = np.array(logs(gold)), stats.t.ppf(0.975, len(units) - 1) * error
    assert_allclose([result.labels_ratio, result.labels_ratio_best], np.exp(center))
    ends = (result.labels_ratio_interval, result.labels_ratio_best_interval)
    assert_allclose(ends, np.exp([center - reach, center + reach]).T)


@pytest.mark.slow
def test_the_ratio_is_that_of_the_residual_variances_and_is_covered():
    # quality q, label q + e, score q + sd u: r^2 = 1 / (1.25 (1 + sd^2)) alone, 1 / (1.25 (1 + sd^2 / 4)) on average
    true = (1 - 0.8 / 1.25) / (1 - 0.8 / 2)
    rng, runs = np.random.default_rng(15), 300
    found = [averaging(*judged(rng, 80, 80)) for _ in range(runs)]
    assert np.mean([np.log(r.labels_ratio) for r in found]) == pytest.approx(math.log(true), abs=0.02)
    hits = sum(r.labels_ratio_interval.low <= true <= r.labels_ratio_interval.high for r in found)
    assert 0.9 < hits / runs < 0.985


def test_the_three_verdicts():
    rng = np.random.default_rng(16)
    y, f = judged(rng, 300, 150, sd=1.5)
    assert averaging(y, f).verdict == "helped"
    noise = rng.normal(3, 6, (300, 1))
    bad = averaging(y, np.column_stack([f[:, :1], noise, noise]))  # one good prompt, drowned
    assert (bad.verdict, bad.verdict_best, bad.best) == ("did not help", "did not help", 0)
    same = averaging(y, f[:, [0, 0, 0]])
    assert (same.verdict, same.labels_ratio) == ("cannot be said", pytest.approx(1))
    assert_allclose(same.labels_ratio_interval, 1)
    assert any(text.startswith("optimistic_best: prompt 1") for text in bad.warnings)
    assert "averaging did not help" in str(bad)
    assert averaging(y, np.column_stack([noise, -f[:, 0]])).best == 1  # a score turned upside down serves as well


def test_a_prompt_that_says_nothing_and_gaps_are_counted():
    y, f = judged(np.random.default_rng(17), 200, 80)
    f[:, 1], f[[0, 150], 2] = 0.1, NAN
    result = averaging(y, f)
    assert result.r_alone[1] == 0
    assert (result.n, result.n_gold, result.n_dropped) == (198, 79, 2)
    assert [text.partition(":")[0] for text in result.warnings[-2:]] == ["constant", "dropped"]
    assert message(averaging, y, f[:, :1]) == "`f` must have two prompts at least, but got shape (200, 1)."
    assert message(averaging, y[1:], f) == "`y` must have the length of `f` (200), but got 199."


def test_a_prompt_with_one_other_score_explains_nothing_without_it():
    y, f = judged(np.random.default_rng(22), 60, 60, prompts=2)
    f[:, 1] = 0.1
    f[7, 1] = 0.7
    without = np.arange(60) != 7
    log = [np.log(1 - np.corrcoef(y[without], x[without])[0, 1] ** 2) for x in (f.mean(axis=1), f[:, 0])]
    _, left = _unexplained(y, np.column_stack([f.mean(axis=1), f]), np.arange(60))
    assert_allclose(left[8], [*log, 0], atol=1e-12)
