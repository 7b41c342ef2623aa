"""Planning: published integers, statsmodels' power, the law of the regression estimator, and simulation."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import stats

from calib.analysis.planning.half_width import half_width_on
from calib.analysis.planning.judge_correlation import will_it_help
from calib.analysis.planning.labels import break_even, error_with_judge, labels_needed
from calib.core.check import ArgumentError
from calib.stats import CalibWarning, mean_interval, ppi_mean

NAN = math.nan


def pilot(seed=0, n=60, rest=400, rho=0.7):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n + rest)
    y = 3 + 1.2 * (rho * f + math.sqrt(1 - rho**2) * rng.normal(size=n + rest))
    y[n:] = NAN
    return y, f


# --- how many labels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.7, 0.9])
@pytest.mark.parametrize("half", [0.1, 0.25, 0.4])
def test_the_number_is_the_smallest_that_reaches_the_half_width(rho, half):
    options = {"rho": rho, "sd": 1.1, "n_items": 2000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)
        found = labels_needed(**options, half_width=half)

    def width(n):  # the formulas of the docstring
        v = 1.21 * ((1 - rho**2) / n * (1 + (1 - n / 2000) / (n - 3)) + rho**2 / 2000)
        return min(stats.t.ppf(0.975, n - 2) * math.sqrt(v), stats.t.ppf(0.975, n - 1) * 1.1 / math.sqrt(n))

    assert_allclose(found.half_width, width(found.n_labels))
    assert found.half_width <= half
    assert found.n_labels == 10 or width(found.n_labels - 1) > half
    alone = found.n_labels_alone
    assert stats.t.ppf(0.975, alone - 1) * 1.1 / math.sqrt(alone) <= half
    assert stats.t.ppf(0.975, alone - 2) * 1.1 / math.sqrt(alone - 1) > half


def test_labels_alone_are_those_of_statsmodels():
    # the same t-based power of a one-sample test
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    for difference in (0.2, 0.5, 0.9):
        wanted = power.solve_power(effect_size=difference / 1.3, alpha=0.05, power=0.8, alternative="two-sided")
        found = labels_needed(rho=0.6, sd=1.3, n_items=1000, difference=difference)
        assert found.n_labels_alone == math.ceil(wanted)
        assert found.n_labels < found.n_labels_alone


def test_the_law_is_that_of_the_regression_estimator():
    # normal scores, n = 8 of M = 24 labelled: simulated standard error within 4 of its own standard errors
    n, total, rho, repeats = 8, 24, 0.6, 100_000
    rng = np.random.default_rng(20)
    f = rng.normal(size=(repeats, total))
    y = rho * f[:, :n] + math.sqrt(1 - rho**2) * rng.normal(size=(repeats, n))
    centred = f[:, :n] - f[:, :n].mean(axis=1, keepdims=True)
    slope = (centred * y).sum(axis=1) / (centred**2).sum(axis=1)
    estimate = y.mean(axis=1) + slope * (f.mean(axis=1) - f[:, :n].mean(axis=1))
    variance = float(np.mean(estimate**2))
    spread = float(np.std(estimate**2)) / math.sqrt(repeats)
    assert abs(variance - error_with_judge(n, total, rho, 1.0) ** 2) < 4 * spread


def test_many_items_cost_the_no_free_lunch_factor():
    # Mani et al. (2025): (1 - rho^2)(n - 2)/(n - 3) times the variance of labels alone
    for n, rho in ((6, 0.5), (20, 0.3), (100, 0.9)):
        assert_allclose(error_with_judge(n, 10**12, rho, 1.0) ** 2 * n, (1 - rho**2) * (n - 2) / (n - 3), rtol=1e-8)


def test_a_pilot_gives_rho_and_sd():
    y, f = pilot()
    given = ~np.isnan(y)
    found = labels_needed(y, f, half_width=0.2)
    rho, sd = stats.pearsonr(y[given], f[given]).statistic, np.std(y[given], ddof=1)
    assert_allclose([found.rho, found.sd, found.n_items], [rho, sd, 460])
    direct = labels_needed(rho=rho, sd=sd, n_items=460, half_width=0.2)
    assert found.n_labels == direct.n_labels
    assert_allclose(found.curve, direct.curve)
    assert labels_needed(y, f, n_items=5000, half_width=0.2).n_labels < found.n_labels


def test_the_curve_falls_and_ends_at_all_items():
    curve = np.array(labels_needed(rho=0.7, sd=1, n_items=800, half_width=0.2).curve)
    assert (np.diff(curve, axis=0)[:, 0] > 0).all()
    assert (np.diff(curve, axis=0)[:, 1:] < 0).all()
    assert (curve[0, 0], curve[-1, 0]) == (10, 800)
    assert (curve[:-1, 1] < curve[:-1, 2]).all()


def test_a_million_items_take_no_time():
    assert labels_needed(rho=0.9, sd=1, n_items=10**6, half_width=0.01).n_labels == pytest.approx(
        stats.norm.ppf(0.975) ** 2 * 0.19 / (0.01**2 - stats.norm.ppf(0.975) ** 2 * 0.81 / 10**6), rel=0.001
    )


def test_warnings_have_names():
    with pytest.warns(CalibWarning, match=r"^weak_judge: a correlation of 0\.1 does not pay with 18 labels"):
        found = labels_needed(rho=0.1, sd=1, n_items=1000, half_width=0.5)
    assert found.n_labels_alone == found.n_labels
    with pytest.warns(CalibWarning, match=r"^few: "):
        assert labels_needed(rho=0.9, sd=1, n_items=1000, half_width=5).n_labels == 10
    with pytest.warns(CalibWarning, match=r"^pilot: a correlation of 0\.\d+ from 12 labels is uncertain: 95 % CI"):
        found = labels_needed(*pilot(n=12), half_width=0.3)
    assert [text.split(":")[0] for text in found.warnings] == ["pilot"]


def test_messages_about_labels():
    known = {"rho": 0.5, "sd": 1.0}
    pair = "`y` and `f`, or `rho` and `sd`, must be given, but not both pairs and no half of one."
    assert message(labels_needed, half_width=1) == pair
    assert message(labels_needed, *pilot(), rho=0.5, sd=1, half_width=1) == pair
    assert message(labels_needed, rho=0.5, n_items=100, half_width=1) == pair
    assert (
        message(labels_needed, **known, half_width=1)
        == "`n_items` must be given where there is no pilot, but came without."
    )
    assert (
        message(labels_needed, **known, n_items=100, half_width=1, difference=1)
        == "`half_width` or `difference` must be given, and not both."
    )
    assert (
        message(labels_needed, **known, n_items=100, half_width=0.1)
        == "`half_width` must be 0.1984 or more, which labels for all 100 items reach, but got 0.1: "
        "more items are needed."
    )
    assert message(labels_needed, **known, n_items=100, difference=-0.1).startswith("`difference` must be 0.2829 or ")
    assert message(labels_needed, **known, n_items=100, half_width=1, bounds=(1, 5)) == (
        "`mean` must be given with `bounds` and lie within them, but got None."
    )
    assert message(labels_needed, [1, 1, 1, 1], [1, 2, 3, 4], half_width=1) == (
        "`y` must vary to plan from it, but every label is 1."
    )
    assert message(labels_needed, [1, 2, 1, NAN], [1, 2, 3, 4], half_width=1) == (
        "`y` must have four labels at least, but got 3."
    )
    assert message(labels_needed, [1, 2, 1, 5], [1, 2, NAN, 4], half_width=1) == (
        "`f` must have a judge score for each label, but got NaN at 2."
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rho"), [(20, 0.6), (40, 0.9), (120, 0.5)])
def test_on_a_scale_the_half_width_is_that_of_the_interval(n, rho):
    rng, half = np.random.default_rng(n), []
    y, f = drawn(rho, 200_000, rng, (1, 5))
    known = {"rho": np.corrcoef(y, f)[0, 1], "sd": y.std(), "mean": y.mean(), "bounds": (1, 5), "n_items": n + 800}
    for _ in range(400):
        y, f = drawn(rho, n + 800, rng, (1, 5))
        half.append(np.diff(ppi_mean(y[:n], f[:n], f[n:], bounds=(1, 5)).interval)[0] / 2)
    found = labels_needed(**known, half_width=float(np.mean(half)))
    assert abs(found.n_labels - n) <= 1 + 0.05 * n
    assert found.n_labels_alone > found.n_labels
    bare = labels_needed(**{name: value for name, value in known.items() if name != "bounds"}, half_width=np.mean(half))
    assert bare.n_labels <= found.n_labels


# --- does it help -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 20, 50, 100, 400])
def test_break_even_is_above_the_price_of_the_slope(n):
    # 1 / sqrt(n - 2), Mani et al. (2025), is that of the regression estimator with its usual variance
    y, f = pilot(n=n, rest=0, rho=0.6)
    found = will_it_help(y, f)
    assert 1 / math.sqrt(n - 2) < found.break_even
    assert_allclose(found.break_even, break_even(n, 10**8), rtol=0.03)
    assert found.helps == (abs(found.rho) > found.break_even) == (found.width_ratio < 1)


def drawn(rho, size, rng, bounds):
    f = rng.normal(size=size)
    y = rho * f + math.sqrt(1 - rho**2) * rng.normal(size=size)
    return (y, f) if bounds is None else (np.clip(3.4 + 0.9 * y, *bounds), np.clip(3.4 + 0.9 * f, *bounds))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rest"), [(12, 600), (20, 600), (20, 100), (50, 1000), (50, 150), (100, 1000)])
@pytest.mark.parametrize("bounds", [None, (1, 5)])
def test_at_break_even_the_two_intervals_are_as_wide(ratio_with_judge, n, rest, bounds):
    rng, width_alone = np.random.default_rng([n, rest]), 0.0
    pilot_y, pilot_f = drawn(0.5, 200_000, rng, bounds)
    width = half_width_on(bounds, None, pilot_y.mean(), pilot_y.std(), 0.95)
    even = width.break_even(n, n + rest, pilot_f.std())
    if even == 1:  # never: see the next test
        return
    wider = []
    for _ in range(400):
        y, f = drawn(even, n + rest, rng, bounds)
        result, alone = ppi_mean(y[:n], f[:n], f[n:], bounds=bounds), mean_interval(y[:n], bounds=bounds)
        wider.append((ratio_with_judge(result) - 1) * np.diff(alone.interval)[0])
        width_alone += np.diff(alone.interval)[0] / 400
    ratios = np.array(wider) / width_alone
    assert abs(ratios.mean()) < 0.01 + 3 * ratios.std() / math.sqrt(len(ratios))
    if n >= 20:  # the rule of thumb that `ppi_mean` warns by
        assert abs(break_even(n, rest) - even) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "below", "above"), [(20, 0.1, 0.65), (50, 0.05, 0.45), (100, 0.03, 0.35)])
def test_labels_alone_are_the_result_where_a_judge_probably_does_not_pay(n, below, above):
    rng = np.random.default_rng(n)
    for rho, least, most in ((below, 0.75, 1.0), (above, 0.0, 0.15)):
        y, f = (np.reshape(side, (400, n + 1000)) for side in drawn(rho, 400 * (n + 1000), rng, None))
        told = [ppi_mean(a[:n], b[:n], b[n:]).warnings for a, b in zip(y, f, strict=True)]
        share = np.mean([any(text.startswith("labels_alone") for text in texts) for texts in told])
        assert least < share <= most


@pytest.mark.slow
def test_with_ten_labels_of_a_scale_a_judge_gains_little():
    rng = np.random.default_rng(3)
    for rho in (0.3, 0.6, 0.9):
        ends, (many_y, many_f) = [], drawn(rho, 200_000, rng, (1, 5))
        for _ in range(300):
            y, f = drawn(rho, 500, rng, (1, 5))
            judged, alone = ppi_mean(y[:10], f[:10], f[10:], bounds=(1, 5)), mean_interval(y[:10], bounds=(1, 5))
            ends.append((judged.interval.high - judged.interval.low, alone.interval.high - alone.interval.low))
        width = half_width_on((1, 5), None, many_y.mean(), many_y.std(), 0.95)
        ratio = np.divide(*np.mean(ends, axis=0))
        assert 0.8 < ratio < 1
        planned = width.judged(10, 500, np.corrcoef(many_y, many_f)[0, 1], many_f.std())
        assert_allclose(planned / width.alone(10), ratio, rtol=0.05)
        assert_allclose(width.alone(10), np.mean(ends, axis=0)[1] / 2, rtol=0.05)


def test_the_correlation_and_its_interval_are_scipys():
    y, f = pilot()
    found = will_it_help(y, f, confidence_level=0.9)
    wanted = stats.pearsonr(y[:60], f[:60])
    assert_allclose(found.rho, wanted.statistic)
    assert_allclose(found.interval, wanted.confidence_interval(0.9))
    assert found.verdict == "the judge helps"
    assert found.label_factor == pytest.approx(1 / found.width_ratio**2)
    assert (found.n_labels, found.n_items) == (60, 460)
    assert will_it_help(y[:60], f[:60]).width_ratio < found.width_ratio  # with endless items
    assert will_it_help(y, -f).helps


def test_half_the_variance_is_twice_the_labels():
    # Dorner, Nastl and Hardt (2025): rho^2 <= 1/2 for a judge no better than the judged, so a factor of 2 at most.
    # 0/1 answers of a model right in 70 %, judged by a copy whose errors are its own coin
    rng = np.random.default_rng(5)
    y = (rng.random(100_000) < 0.7).astype(float)
    f = np.where(rng.random(100_000) < 0.7, y, 1 - y)
    assert will_it_help(y, f).label_factor < 2
    x = np.array([-1.0, 1.0, 1.0, -1.0] * 1000)
    e = np.array([-1.0, 1.0, -1.0, 1.0] * 1000)
    assert will_it_help(x + e, x).label_factor == pytest.approx(2, rel=0.001)


def test_a_weak_or_constant_judge():
    y, f = np.tile([1.0, 2.0], 10), np.repeat([1.0, 2.0], 10)
    found = will_it_help(y, f)
    assert (found.helps, found.verdict) == (False, "the judge does not help")
    assert str(found).endswith("take the labels alone")
    with pytest.warns(CalibWarning, match=r"^constant_judge: "):
        found = will_it_help(y, np.ones(20))
    assert (found.rho, found.helps) == (0, False)
    unsure = will_it_help(*pilot(seed=1, n=12, rest=0, rho=0.5))
    assert unsure.helps == ("seems" in unsure.verdict)


@pytest.mark.parametrize("bounds", [None, (1, 5)])
@pytest.mark.parametrize("n_rest", [0, 1, 200])  # 0: endless items
def test_a_judge_that_says_nothing_does_not_help(bounds, n_rest):
    y = np.append(np.tile([2.0, 3.0, 4.0, 3.0], 5), np.full(n_rest, NAN))
    f = np.tile(np.repeat([2.0, 4.0], 4), 40)[: 20 + n_rest]  # has correlation 0
    scale = {} if bounds is None else {"bounds": bounds}
    found = will_it_help(y, f, **scale)
    assert (found.helps, found.width_ratio, found.label_factor) == (False, 1, 1)
    assert str(found).endswith("take the labels alone")
    with pytest.warns(CalibWarning, match=r"^constant_judge: "):
        constant = will_it_help(y, np.full(20 + n_rest, 3.0), **scale)
    assert (constant.helps, constant.width_ratio) == (False, 1)


def test_a_perfect_pilot_is_not_sure():
    found = will_it_help([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert math.isnan(found.interval.low)
    assert "too few to show it" in str(found)
    assert found.label_factor > 5  # `ppi_mean` does not believe the slope of five labels as it is


def test_results_tell_themselves():
    for result in (labels_needed(rho=0.7, sd=1, n_items=800, difference=0.3), will_it_help(*pilot())):
        assert result._rows()
        assert "|v:" in result.signature
        assert "\n" not in str(result)
    assert str(labels_needed(rho=0.7, sd=1, n_items=800, difference=0.3)) == (
        "51 labels with the judge (r = 0.7, 800 items), 90 without, for a difference of 0.3 found with power 0.8"
    )


@pytest.mark.parametrize("power", [0.0, 0.05, 0.04, 1.0, -0.5])
def test_a_power_that_a_coin_has_is_refused(power):
    with pytest.raises(ArgumentError, match="`power` must be between 1 - `confidence_level`"):
        labels_needed(rho=0.5, sd=1.0, n_items=800, difference=0.3, power=power)
