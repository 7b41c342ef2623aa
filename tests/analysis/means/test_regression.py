"""Regression coefficients: ppi_py and statsmodels as oracles, identities, and simulated coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import optimize, special, stats

from calib.analysis.means import regression
from calib.stats import ppi_logistic, ppi_mean, ppi_ols


def linear(seed, n=60, rest=500):
    """Labels with unequal spread; legacy generator, so that ppi_py saw the same numbers."""
    rng = np.random.RandomState(seed)
    x = np.column_stack([np.ones(n + rest), rng.standard_normal(n + rest), rng.random_sample(n + rest)])
    y = x @ [3, 0.5, -1] + rng.standard_normal(n + rest) * (1 + 0.5 * np.abs(x[:, 1]))
    f = 0.8 * y + 0.3 * x[:, 1] + 0.6 * rng.standard_normal(n + rest)
    return x[:n], y[:n], f[:n], x[n:], f[n:]


def binary(seed, n=60, rest=500):
    rng = np.random.RandomState(seed)
    x = np.column_stack([np.ones(n + rest), rng.standard_normal(n + rest), rng.random_sample(n + rest)])
    y = (rng.random_sample(n + rest) < 1 / (1 + np.exp(-x @ [0.5, 1, -1]))).astype(float)
    f = np.clip(0.15 + 0.7 * y + 0.1 * rng.standard_normal(n + rest), 0, 1)
    return x[:n], y[:n], f[:n], x[n:], f[n:]


def against(data):
    x, y, f, x_rest, f_rest = data
    return x, y, -f, x_rest, -f_rest


# --- as ppi_py does it ------------------------------------------------------------------------------------------

# ppi_ols_ci and ppi_logistic_ci of ppi-python 0.2.3, alpha = .05 unless said
OLS = [
    (
        linear(0),
        {},
        [2.576344754884606, 0.358760188250268, -1.6536945527420552],
        [3.421121717910583, 0.9195170810780486, -0.2703233268092931],
    ),
    (
        linear(1),
        {},
        [2.8070201147097538, 0.182150595205104, -2.077139850812902],
        [3.822755456866775, 0.7087400493385698, -0.1257496263387744],
    ),
    (  # lambda clipped to 0
        against(linear(0)),
        {},
        [2.4815828381725167, 0.3861691935064755, -2.089899669820487],
        [3.731411604549593, 1.121209280364005, -0.0542256017967138],
    ),
    (  # alpha = .1
        linear(0),
        {"lam": 1, "confidence_level": 0.9},
        [2.557356860488032, 0.3470069148182148, -1.5590674717136364],
        [3.3298540842727156, 0.8140713000732783, -0.252352229769532],
    ),
]
LOGISTIC = [
    (
        binary(0),
        {},
        [-0.3065402968650024, 0.448489301961729, -1.61578469294846],
        [0.797756909333337, 1.060874882431207, 0.1934648964110535],
    ),
    (
        binary(1),
        {},
        [0.9512514424631833, 0.672357606951868, -5.460548736827421],
        [2.570958231683166, 1.8341598958631222, -2.1263749199699076],
    ),
    (
        binary(0),
        {"lam": 0.5},
        [-0.628599873172537, 0.2152477141721232, -1.8908716000683468],
        [1.0111438465705935, 1.015418047718478, 0.7887264948088442],
    ),
]


@pytest.mark.parametrize(("data", "options", "low", "high"), OLS)
def test_least_squares_as_in_ppi_py(oracles, data, options, low, high):
    result = oracles.ols(*data, **options)
    assert_allclose([result.low, result.high], [low, high], rtol=1e-12)
    assert_allclose(result.estimate, np.add(low, high) / 2, rtol=1e-12)


@pytest.mark.parametrize(("data", "options", "low", "high"), LOGISTIC)
def test_logistic_as_in_ppi_py(oracles, data, options, low, high):
    """Its optimiser stops some 1e-9 before the minimum that Newton's method finds."""
    result = oracles.logistic(*data, **options)
    assert_allclose([result.low, result.high], [low, high], atol=2e-8)


# --- people alone -----------------------------------------------------------------------------------------------


def test_without_the_judge_it_is_the_classical_regression():
    api = pytest.importorskip("statsmodels.api")
    x, y, *rest = linear(3)
    fit, result = api.OLS(y, x).fit(), ppi_ols(x, y, *rest, lam=0)
    usual, robust = np.diag(fit.cov_params()), np.diag(fit.get_robustcov_results("HC3").cov_params())
    variance = np.maximum(usual, robust * (len(y) - 1) / len(y))
    assert_allclose(result.estimate, fit.params, rtol=1e-10)
    assert_allclose(result.std_error**2, variance, rtol=1e-10)
    assert_allclose(result.df, len(y) - 3)
    half = stats.t.ppf(0.975, len(y) - 3) * np.sqrt(variance)
    assert_allclose([result.low, result.high], [fit.params - half, fit.params + half], rtol=1e-9)


def test_without_the_judge_it_is_the_classical_logistic_regression():
    api = pytest.importorskip("statsmodels.api")
    x, y, *rest = binary(3)
    fit, result = api.Logit(y, x).fit(disp=0, tol=1e-12), ppi_logistic(x, y, *rest, lam=0)
    assert_allclose(result.estimate, fit.params, rtol=1e-7)
    robust = api.Logit(y, x).fit(disp=0, cov_type="HC0").bse
    assert np.all((result.std_error > robust) & (result.std_error < 1.25 * robust))


# --- both -------------------------------------------------------------------------------------------------------


def test_a_column_of_ones_alone_is_the_mean():
    x, y, f, x_rest, f_rest = linear(4)
    one = ppi_ols(x[:, :1], y, f, x_rest[:, :1], f_rest)
    mean = ppi_mean(y, f, f_rest)
    assert mean.estimator == "t-ppi"
    found = one.estimate[0], one.std_error[0], one.df[0], *one.intervals[0], one.lam
    assert_allclose(found, (mean.estimate, mean.std_error, mean.df, *mean.interval, mean.lam), rtol=1e-10)


def test_units_of_covariates_and_of_the_judge_do_not_matter():
    x, y, f, x_rest, f_rest = linear(5)
    mix = np.array([[1, 2.0, 0], [0, 10, 0], [0, 0, 0.01]])
    one = ppi_ols(x, y, f, x_rest, f_rest)
    two = ppi_ols(x @ mix, y, 100 * f + 7, x_rest @ mix, 100 * f_rest + 7)
    assert_allclose(mix @ two.estimate, one.estimate, rtol=1e-8)
    scale = np.array([1, 10, 0.01])
    x, y, f, x_rest, f_rest = binary(5)
    one, two = ppi_logistic(x, y, f, x_rest, f_rest), ppi_logistic(x * scale, y, f, x_rest * scale, f_rest)
    assert_allclose(two.std_error * scale, one.std_error, rtol=1e-8)


def test_regressing_on_the_judge_too():
    """Without shrinkage the coefficients are those of a regression that has the judge's score as one more column."""
    x, y, f, x_rest, f_rest = linear(6)
    every, judged = np.vstack([x, x_rest]), np.concatenate([f, f_rest])
    both = np.linalg.lstsq(np.column_stack([x, f]), y, rcond=None)[0]
    wanted = both[:3] + both[3] * np.linalg.lstsq(every, judged, rcond=None)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regression, "_PRIOR", 0.0)
        assert_allclose(ppi_ols(x, y, f, x_rest, f_rest).estimate, wanted, rtol=1e-9)


def test_a_judge_who_says_what_the_covariates_say_is_left_out():
    x, y, _, x_rest, _ = linear(7)
    result, alone = (
        ppi_ols(x, y, g, x_rest, g_rest) for g, g_rest in ((x[:, 1], x_rest[:, 1]), (0 * y, x_rest[:, 0] * 0))
    )
    assert_allclose(result.estimate, alone.estimate, rtol=1e-6)
    assert_allclose(alone.estimate, ppi_ols(x, y, 0 * y, x_rest, 0 * x_rest[:, 0], lam=0).estimate, rtol=1e-10)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_an_end_of_the_interval_has_the_p_value_alpha(side):
    x, y, f, x_rest, f_rest = linear(8)
    result = ppi_ols(x, y, f, x_rest, f_rest, alternative=side)
    end = result.low[1] if side != "less" else result.high[1]
    moved = ppi_ols(x, y - end * x[:, 1], f, x_rest, f_rest, alternative=side)
    assert_allclose(moved.p_value[1], 0.05, rtol=1e-6)
    assert (result.low[1] == -np.inf) == (side == "less")
    assert (result.high[1] == np.inf) == (side == "greater")


@pytest.mark.parametrize("function", [ppi_ols, ppi_logistic])
def test_blocks_types_and_layouts_do_not_matter(function, monkeypatch):
    data = binary(9) if function is ppi_logistic else linear(9)
    one = function(*data)
    monkeypatch.setattr(regression, "_ROWS", 7)
    x, y, f, x_rest, f_rest = data
    two = function(x.tolist(), y.tolist(), f.tolist(), np.asfortranarray(x_rest), f_rest.tolist())
    for name in ("estimate", "std_error", "low", "high", "df", "p_value"):
        assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-7, atol=1e-12)


# --- coverage ---------------------------------------------------------------------------------------------------


def fresh(rng, n, rest, noise):
    size = n + rest
    x = np.column_stack([np.ones(size), rng.standard_normal(size)])
    y = x @ [3, 0.5] + rng.standard_normal(size)
    f = y + noise * rng.standard_normal(size)
    return x[:n], y[:n], f[:n], x[n:], f[n:]


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 40])
def test_coverage_of_least_squares_with_few_labels(n):
    """Normal labels: ppi_py's method holds about 85 % and 91 % of the time."""
    rng, sets = np.random.default_rng(12), 1000
    results = [ppi_ols(*fresh(rng, n, 400, 0.7)) for _ in range(sets)]
    held = np.sum([(r.low <= [3, 0.5]) & (r.high >= [3, 0.5]) for r in results], axis=0)
    for hits in held:
        assert stats.binomtest(int(hits), sets, 0.96).pvalue > 1e-3  # the larger of two variances is a little wide


@pytest.mark.slow
def test_coverage_of_logistic_regression():
    rng, sets, beta = np.random.default_rng(13), 400, np.array([0.5, 1.0])
    held = np.zeros(2)
    for _ in range(sets):
        x = np.column_stack([np.ones(500), rng.standard_normal(500)])
        y = (rng.random(500) < 1 / (1 + np.exp(-x @ beta))).astype(float)
        f = np.where(rng.random(500) < 0.85, y, 1 - y)
        result = ppi_logistic(x[:80], y[:80], f[:80], x[80:], f[80:])
        held += (result.low <= beta) & (result.high >= beta)
    for hits in held:
        assert stats.binomtest(int(hits), sets, 0.95).pvalue > 1e-3


def rare(rng, rate, n, slope=1.0, rest=600):
    """Yes at this rate, given one covariate; a judge that finds 80 % of them and calls 5 % of the others so."""
    chances = np.linspace(-5, 5, 2001)
    density = stats.norm.pdf(chances) / stats.norm.pdf(chances).sum()
    start = optimize.brentq(lambda a: density @ special.expit(a + slope * chances) - rate, -20, 20)
    x = np.column_stack([np.ones(n + rest), rng.standard_normal(n + rest)])
    y = rng.random(n + rest) < special.expit(x @ [start, slope])
    f = np.where(y, rng.random(n + rest) < 0.8, rng.random(n + rest) < 0.05)
    return np.array([start, slope]), (x[:n], y[:n] * 1.0, f[:n] * 1.0, x[n:], f[n:] * 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "n"), [(0.05, 100), (0.1, 50), (0.1, 100), (0.05, 200), (0.03, 300), (0.95, 100), (0.9, 60)]
)
def test_coverage_of_logistic_regression_where_one_outcome_is_rare(rate, n):
    rng, sets, held, refused = np.random.default_rng(14), 600, np.zeros(2), 0
    for _ in range(sets):
        beta, data = rare(rng, rate, n)
        try:
            result = ppi_logistic(*data)
        except ValueError:  # too few of one outcome, or separated
            refused += 1
        else:
            held += (result.low <= beta) & (result.high >= beta)
    share = held / (sets - refused)
    assert refused < 0.05 * sets
    assert np.all(share > 0.93 - 3 * np.sqrt(0.93 * 0.07 / sets)), share


def test_a_rare_outcome_has_the_degrees_of_freedom_of_its_labels():
    _, data = rare(np.random.default_rng(0), 0.1, 80)
    y = data[1]
    result, yes = ppi_logistic(*data, lam=0), y.sum()
    assert_allclose(result.df, 2 * yes * (80 - yes) / 80 - 2, rtol=1e-9)
    assert_allclose((result.high - result.low) / 2, stats.t.ppf(0.975, result.df) * result.std_error, rtol=1e-9)


# --- refusals and display ---------------------------------------------------------------------------------------


def test_refusals():
    x, y, f, x_rest, f_rest = linear(0)
    bad = f_rest.copy()
    bad[3] = np.nan
    assert message(ppi_ols, x, y, f, x_rest, bad) == "`f_unlabeled` must be finite, but has NaN or infinity at 3."
    assert message(ppi_ols, x, y[1:], f, x_rest, f_rest) == "`y` must have the length of `X` (60), but got 59."
    assert (
        message(ppi_ols, x, y, f, x_rest[:, :2], f_rest) == "`X_unlabeled` must have the columns of `X` (3), but has 2."
    )
    assert message(ppi_ols, x[:5], y[:5], f[:5], x_rest, f_rest) == (
        "`y` must have 6 labels at least for 3 coefficients, but got 5."
    )
    twice = np.column_stack([x, x[:, 1]])
    assert message(ppi_ols, twice, y, f, np.column_stack([x_rest, x_rest[:, 1]]), f_rest).startswith(
        "`X` must have columns"
    )
    assert (
        message(ppi_ols, x, y, f, x_rest, f_rest, names=["a"]) == "`names` must name the 3 columns of `X`, but got 1."
    )
    assert message(ppi_logistic, x, y, f, x_rest, f_rest).startswith("`y` must be within [0, 1], but goes from ")


def test_separated_labels_are_told():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(60), np.sort(rng.normal(size=60))])
    y = (x[:, 1] > 0).astype(float)
    text = message(ppi_logistic, x[::2], y[::2], y[::2], x[1::2], y[1::2])
    assert text == "`y` must not be separated by the columns of `X`, but no finite coefficients fit it best."


def test_what_the_labels_cannot_tell():
    x, y, f, x_rest, f_rest = linear(0)
    exact = ppi_ols(x, x @ [1, 2, 3], f, x_rest, f_rest)
    assert np.isnan([exact.low, exact.high, exact.p_value]).all()
    assert_allclose(exact.estimate, [1, 2, 3])
    alone = np.column_stack([np.ones(12), np.eye(12)[3]])
    told = ppi_ols(alone, y[:12], f[:12], x_rest[:, :2], f_rest)
    assert told.warnings == ("leverage: a coefficient hangs on labelled item 3 alone",)
    text = "`X_unlabeled` must have columns that do not depend on each other, but they do."
    assert message(ppi_ols, x, y, f, np.ones((500, 3)), f_rest, lam=1) == text
    x, y, f, x_rest, f_rest = binary(0)
    assert message(ppi_logistic, x, 0 * y, f, x_rest, f_rest) == "`y` must hold both outcomes, but all 60 labels are 0."


def test_few_labels_of_one_outcome_are_told():
    x, y, f, x_rest, f_rest = binary(0)
    keep = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:6]])
    result = ppi_logistic(x[keep][:, :2], y[keep], f[keep], x_rest[:, :2], f_rest)
    assert result.warnings[0].startswith("few_labels: 6 labels of the rarer outcome")


def test_a_row_for_each_coefficient():
    pandas = pytest.importorskip("pandas")
    x, y, f, x_rest, f_rest = linear(0)
    frame = pandas.DataFrame(x, columns=["one", "length", "age"])
    result = ppi_ols(frame, y, f, x_rest, f_rest)
    table = result.to_frame()
    assert table["term"].tolist() == ["one", "length", "age"]
    assert_allclose(table["estimate"], result.estimate)
    assert str(result).startswith("one = ")
    assert result.signature.startswith("OLS|d:3|alt:two-sided|cl:0.95|lam:")
