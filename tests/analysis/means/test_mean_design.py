"""Intervals for a mean against their formulas written out, p-values by inversion, and designs by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

from calib.analysis.means.design import Design, mean_data
from calib.analysis.means.guards import options_of
from calib.analysis.means.mean import estimated
from calib.analysis.means.methods import kind_of
from calib.analysis.means.ridge import GroupedItems, SlopePrior, clustered, ridge
from calib.stats import Moments, choose, mean_interval, ppi_difference, ppi_mean, shift_weights

NAN = math.nan


def close(found, wanted, tolerance=1e-10):
    assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def with_judge(y, f, u=None, **options):
    """`ppi_mean` with the judge's scores, where the interval of the labels alone is the narrower, too."""
    design = Design(**{name: options.pop(name) for name in [*options] if name in Design.__dataclass_fields__})
    data, defaults = mean_data(y, f, u, design), dict.fromkeys(("bounds", "step", "same_scale", "binary", "null"))
    defaults |= {"conservative": False, "target": "population", "alternative": "two-sided", "min_labels": 2}
    named = {"confidence": options.pop("confidence_level", 0.95), "estimator": "auto"}
    checked = options_of(data, **(defaults | named | options))
    kind = kind_of(bounded=checked.bounds is not None, binary=checked.binary, conservative=checked.conservative)
    return estimated(data, replace(checked, estimator=kind), ())


def ordinal(seed=0, n=24, rest=150):
    """Labels on 1 to 5 of n labelled items, judge scores on the same scale."""
    rng = np.random.default_rng(seed)
    f = np.clip(rng.normal(3.2, 0.9, n + rest), 1, 5)
    y = np.clip(np.round(f + rng.normal(0.2, 0.7, n + rest)), 1, 5)
    return y[:n], f[:n], f[n:]


def yes_or_no(seed=0, n=40, rest=300):
    rng = np.random.default_rng(seed)
    truth = rng.random(n + rest) < 0.6
    judge = np.where(rng.random(n + rest) < 0.2, ~truth, truth)
    return truth[:n] * 1.0, judge[:n] * 1.0, judge[n:] * 1.0


# --- p-values and one-sided intervals ---------------------------------------------------------------------------

Y, F, U = ordinal()
YES, SAID, REST = yes_or_no()
BOUNDED = {"bounds": (1, 5), "step": 1}
DOCUMENTS = {"groups": np.arange(24) // 2, "groups_unlabeled": 12 + np.arange(150) // 3}
SCATTERED = {"groups": np.arange(24) % 15, "groups_unlabeled": np.arange(150) % 40}
STRATA = {"strata": F > 3.2, "strata_unlabeled": U > 3.2}
WEIGHTS = {"weights": 1 + F / 5, "weights_unlabeled": 1 + U / 5}
CHANCE = {"inclusion": np.clip(F / 10, 0.05, 1)}
CASES = {
    "bounded": ((Y, F, U), BOUNDED),
    "unbounded": ((Y, F, U), {}),
    "labels alone, bounded": ((Y, F), BOUNDED),
    "labels alone": ((Y, F), {}),
    "yes or no": ((YES, SAID, REST), {}),
    "Clopper-Pearson": ((YES, SAID, REST), {"conservative": True}),
    "yes or no alone": ((YES, SAID), {}),
    "Clopper-Pearson alone": ((YES, SAID), {"conservative": True}),
    "yes or no as 1 and 2": ((YES + 1, SAID + 1, REST + 1), {"bounds": (1, 2), "step": 1}),
    "yes or no, benchmark": ((YES, SAID, REST), {"target": "benchmark"}),
    "groups": ((Y, F, U), DOCUMENTS),
    "groups, bounded": ((Y, F, U), DOCUMENTS | BOUNDED),
    "groups scattered, bounded": ((Y, F, U), SCATTERED | BOUNDED),
    "groups, bounded, benchmark": ((Y, F, U), DOCUMENTS | BOUNDED | {"target": "benchmark"}),
    "strata": ((Y, F, U), STRATA),
    "strata, bounded": ((Y, F, U), STRATA | BOUNDED),
    "strata, bounded, benchmark": ((Y, F, U), STRATA | BOUNDED | {"target": "benchmark"}),
    "benchmark": ((Y, F, U), {"target": "benchmark"}),
    "benchmark, bounded": ((Y, F, U), BOUNDED | {"target": "benchmark"}),
    "weights": ((Y, F, U), WEIGHTS),
    "weights, bounded": ((Y, F, U), WEIGHTS | BOUNDED),
    "weights, groups, bounded": ((Y, F, U), WEIGHTS | DOCUMENTS | BOUNDED),
    "inclusion": ((Y, F, U), CHANCE),
    "inclusion, bounded": ((Y, F, U), CHANCE | BOUNDED),
    "moments": ((Y, F, Moments.from_chunks([U])), BOUNDED),
    **{m: ((Y, F, U), {"estimator": m}) for m in ("regression", "classical", "ppi", "ppi++")},
    **{f"{m}, groups": ((Y, F, U), {"estimator": m} | DOCUMENTS) for m in ("classical", "ppi", "ppi++", "judge_only")},
    "judge_only": ((Y, F, U), {"estimator": "judge_only"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("case", CASES)
def test_an_end_of_the_interval_has_p_equal_to_alpha(case, level):
    arrays, options = CASES[case]
    options = options | {"confidence_level": level}
    low, high = ppi_mean(*arrays, **options).interval
    assert low < high
    for end in (low, high):
        close(ppi_mean(*arrays, **options, null=end).p_value, 1 - level, 1e-8)
    lower = ppi_mean(*arrays, **options, alternative="greater").interval
    upper = ppi_mean(*arrays, **options, alternative="less").interval
    close(ppi_mean(*arrays, **options, alternative="greater", null=lower.low).p_value, 1 - level, 1e-8)
    close(ppi_mean(*arrays, **options, alternative="less", null=upper.high).p_value, 1 - level, 1e-8)


@pytest.mark.parametrize("case", CASES)
def test_a_one_sided_end_is_that_of_the_two_sided_interval_with_twice_alpha(case):
    arrays, options = CASES[case]
    both = ppi_mean(*arrays, **options, confidence_level=0.9)
    lower = ppi_mean(*arrays, **options, alternative="greater", confidence_level=0.95)
    upper = ppi_mean(*arrays, **options, alternative="less", confidence_level=0.95)
    close([lower.interval.low, upper.interval.high], both.interval)
    # the other end is where the scale ends
    whole = options.get("bounds", (0, 1))
    scored = both.estimator[:4] in ("move", "jeff", "clop", "gaff")
    bounds = whole if scored else (-math.inf, math.inf)
    assert (lower.interval.high, upper.interval.low) == (bounds[1], bounds[0])
    for result in (lower, upper):
        assert (result.estimate, result.std_error) == (both.estimate, both.std_error)
        close(result.width_ratio, ppi_mean(*arrays, **options).width_ratio)  # that of the two-sided one


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_p_value_falls_away_from_the_estimate(case):
    arrays, options = CASES[case]
    result = ppi_mean(*arrays, **options)
    far = [result.interval.low + share * (result.interval.high - result.interval.low) for share in (-0.4, 0, 0.2)]
    two = [ppi_mean(*arrays, **options, null=null).p_value for null in far]
    one = [ppi_mean(*arrays, **options, null=null, alternative="greater").p_value for null in far]
    assert two == sorted(two)
    assert len(set(two)) == 3
    close(np.array(two[:2]) / 2, one[:2], 1e-8)


def test_a_difference_is_tested_against_zero_or_what_was_asked():
    y_b, f_b, _ = ordinal(1, 24)
    result = ppi_difference(Y, y_b, F, f_b, bounds=(1, 5), step=1)
    for end in result.interval:
        close(ppi_difference(Y, y_b, F, f_b, bounds=(1, 5), step=1, null=end).p_value, 0.05, 1e-8)
    assert result.null == 0


# --- formulas ---------------------------------------------------------------------------------------------------


def kish(weights):
    values = list(weights)
    return sum(values) ** 2 / sum(v * v for v in values) if any(values) else 0.0


def below_zero(factors, shapes, sigma):
    """That gamma variables times factors, and sigma times a normal one, add up to less than 0.

    By Gil-Pelaez (1951), Biometrika 38:481, on the real axis: 1/2 - 1/pi int Im(phi(u)) / u du.
    """
    spread = math.sqrt(shapes @ factors**2 + sigma**2)

    def integrand(u):
        angle = shapes @ np.arctan(u / spread * factors)
        size = shapes @ np.log1p((u / spread * factors) ** 2) / 2 + (sigma * u / spread) ** 2 / 2
        return math.sin(angle) * math.exp(-size) / u

    parts = [integrate.quad(integrand, *ends, epsabs=1e-12, limit=500)[0] for ends in ((0, 2), (2, 10), (10, 80))]
    return 0.5 - sum(parts) / math.pi


def mean_powers(values, count, grouped):
    """Mean size and mean square; of groups a square counts by the square of what the group counts."""
    return (np.average(np.abs(values) ** power, weights=count ** (power if grouped else 1)) for power in (1, 2))


def evenness(values, count, grouped):
    size, square = mean_powers(values, count, grouped)
    return min(math.pi / 2 * size**2 / square, 1)


def gaffke_by_formula(
    point, labels, errors, off, count, reach, bounds, level, *, judge=0.0, part=1.0, predicted=0.0, sampled=1.0,
    full=False, two=False, grouped=False, values=9,
):  # fmt: skip
    """Ends of the interval; `reach` is how far beyond the ends of the scale an error can go."""
    n = kish(count)
    least = min(0.15 + 3.5 / n, 1)

    def sd(values):
        return math.sqrt([*mean_powers(values, count, grouped)][1] * n / (n - 1))

    distance = {}
    for side in (1, -1):
        distance[side] = part * (side * point - min(side * bounds[0], side * bounds[1]))
        if not full and sd(labels) > 0 and values >= 4:
            own = math.sqrt(2) * sd(np.minimum(side * labels, 0))
            room = part * (max(side * bounds[0], side * bounds[1]) - side * point)
            skewed = max(1, 1.5 * sd(labels) / room)
            even = evenness(labels, count, grouped)
            distance[side] = min(distance[side], 2.5 * max(sd(labels), own) * skewed / even**3)
    far = max(distance.values())
    size, square = (
        n * mean + far**power for mean, power in zip(mean_powers(labels, count, grouped), (1, 2), strict=True)
    )
    even_y, even_d = min(math.pi / 2 * size**2 / (n + 1) / square, 1), evenness(errors, count, grouped)
    w = max(least, min(0.6 if two else 1, least / even_y), min(0.5, least / even_d))
    left = min(1, sd(errors) / max(sd(labels), predicted))
    missing = min(max((1 - sampled) * math.sqrt(n / 2) - 1, 0), 1)
    lam = max(1 - even_d * (1 - 0.3 * (1 - left)), missing) * min(1, n / 20)
    w, lam = (1.0, 1.0) if full else (w, lam)
    w *= (count**2).sum() / count.sum()
    found = []
    for side in (1, -1):
        values = np.append(side * point + off * side, side * point - distance[side] - part * lam * reach[side])
        weights, shapes = np.append(count, 1), np.append(np.ones(len(count)), w)
        sigma = math.sqrt(judge) * (sum(count) + w)

        def tail(t, values=values, weights=weights, shapes=shapes, sigma=sigma):
            return below_zero(weights * (values - t), shapes, sigma) - (1 - level) / 2

        t = optimize.brentq(tail, min(values) - 20 * math.sqrt(judge), side * point, xtol=1e-11)
        found.append(side * max(t, min(side * bounds[0], side * bounds[1])))
    return found


def by_formula(y, f, u, *, k=1.0, b0=0.0, robust=True, finite=False):
    """The corrected mean of section "W-PPI", item by item; also what an interval on a scale needs."""
    n, N = len(y), len(u)
    y_mean, f_mean, u_mean = sum(y) / n, sum(f) / n, sum(u) / N
    every = [*f, *u]
    s2 = sum((x - sum(every) / (n + N)) ** 2 for x in every) / (n + N - 1)
    sff = sum((x - f_mean) ** 2 for x in f)
    sfy = sum((a - f_mean) * (b - y_mean) for a, b in zip(f, y, strict=True))
    base = sff + k * s2
    b = (sfy + b0 * k * s2) / base
    gap = N / (n + N) * (u_mean - f_mean)
    e = [(b_ - y_mean) - b * (a - f_mean) for a, b_ in zip(f, y, strict=True)]
    p = 1 + sff / base
    usual = sum(x * x for x in e) / (n - p) * (1 / n + gap**2 * sff / base**2)
    hc3, off = 0.0, []
    for a, x in zip(f, e, strict=True):
        pull, leverage = 1 / n + gap * (a - f_mean) / base, (a - f_mean) ** 2 / base
        hc3 += (n - 1) / n * (pull * x / (1 - 1 / n - leverage)) ** 2
        off.append(n * abs(pull) * x / (1 - min(leverage, 0.9)))
    left = N / (n + N) if finite else 1
    residual = (max(usual, hc3) if robust else usual) * left
    judge = 0.0 if finite else b**2 * s2 / (n + N)
    variance = residual + judge
    df = variance**2 / (residual**2 / (n - p) + judge**2 / (n + N - 1))
    wrong = [b * (x - f_mean - gap) for x in every]
    law = {"labels": y - y_mean, "errors": np.array(e), "off": math.sqrt(left) * np.array(off), "judge": judge}
    law |= {"reach": {1: max(wrong), -1: -min(wrong)}, "part": math.sqrt(left), "values": len(set(y))}
    law |= {"predicted": abs(b) * math.sqrt(s2), "sampled": sff / (n - 1) / s2}
    return y_mean + b * gap, variance, df, b, law


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_a_bounded_mean_written_out(seed, finite, full):
    y, f, u = ordinal(seed, n=10 + 6 * seed)
    if seed == 4:
        y = np.maximum(y, 4)  # a ceiling
    options = {"bounds": (1, 5), "target": "benchmark" if finite else "population", "conservative": full}
    for shift, k, b0 in ((0, 4, 1), (-0.7, 1, 0)):  # on the scale, and off it
        result = with_judge(y, f + shift, u + shift, confidence_level=0.9, **options)
        point, variance, _, b, law = by_formula(y, f + shift, u + shift, k=k, b0=b0, finite=finite)
        close([result.estimate, result.std_error], [point, math.sqrt(variance)])
        close(result.lam, b * len(u) / (len(y) + len(u)))
        wanted = gaffke_by_formula(point, **law, count=np.ones(len(y)), bounds=(1, 5), level=0.9, full=full)
        close(result.interval, wanted, 1e-7)
        told = with_judge(y, f + shift, u + shift, confidence_level=0.9, same_scale=k == 1, **options)
        assert told.lam != result.lam


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("finite", [False, True])
def test_a_mean_without_bounds_written_out(seed, finite):
    rng = np.random.default_rng(seed)
    f = rng.standard_t(4, 60) * 30 + 7
    y = 0.4 * f + rng.normal(0, 5 + np.abs(f) / 5, 60)
    y, f, u = y[: 12 + seed], f[: 12 + seed], f[12 + seed :]
    result = ppi_mean(y, f, u, target="benchmark" if finite else "population")
    point, variance, df, _, _ = by_formula(y, f, u, finite=finite)
    close([result.estimate, result.std_error, result.df], [point, math.sqrt(variance), df])
    half = stats.t.ppf(0.975, df) * math.sqrt(variance)
    close(result.interval, [point - half, point + half])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_regression_estimator_is_the_one_of_double_sampling(seed):
    # Cochran (1977), Sampling Techniques, section 12.6: s2_e (1/n + (f_all - f)^2 / S_ff) + b^2 s2_f / (n + N);
    # its first part is the error of a fitted value of least squares
    api = pytest.importorskip("statsmodels.api")
    y, f, u = ordinal(seed, n=10 + 3 * seed)
    every = np.append(f, u)
    fit = api.OLS(y, api.add_constant(f)).fit()
    there = fit.get_prediction([[1, every.mean()]])
    judge = fit.params[1] ** 2 * every.var(ddof=1) / len(every)
    variance = float(there.se_mean[0]) ** 2 + judge
    result = ppi_mean(y, f, u, estimator="regression", bounds=(1, 5))
    close([result.estimate, result.std_error], [there.predicted_mean[0], math.sqrt(variance)])
    df = variance**2 / (float(there.se_mean[0]) ** 4 / (len(y) - 2) + judge**2 / (len(y) + len(u) - 1))
    close(result.df, df, 1e-9)
    half = stats.t.ppf(0.975, df) * math.sqrt(variance)
    close(result.interval, [result.estimate - half, result.estimate + half])


def test_with_the_judge_known_everywhere_regression_has_two_degrees_of_freedom_less_than_labels():
    y, f, _ = ordinal(3, 15)
    known = Moments(*map(np.asarray, (10**12, 3.2, 0.8e12, 1.0, 5.0)))
    close(ppi_mean(y, f, known, estimator="regression").df, 13, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9, -0.6])
@pytest.mark.parametrize("n", [6, 12, 30])
def test_gaussian_variance_ratio_of_regression(n, rho):
    # Mani et al. (2025), arXiv:2505.20178: Var / Var(mean of labels) = (1 - rho^2) (n - 2) / (n - 3) for N without end;
    # at |rho| = 1 / sqrt(n - 2) it is 1. The estimated variance has this mean too (normal scores)
    sets = 20_000
    rng = np.random.default_rng(n)
    f = rng.normal(size=(sets, n))
    y = rho * f + math.sqrt(1 - rho**2) * rng.normal(size=(sets, n))
    zero, one = np.zeros(sets), np.ones(sets)
    rest = Moments(np.full(sets, 10**12), zero, 1e12 * one, -9 * one, 9 * one)
    parts = ridge(y.ravel(), f.ravel(), np.repeat(np.arange(sets), n), rest, SlopePrior(0, 0), robust=False)
    wanted = (1 - rho**2) * (n - 2) / (n - 3)
    single = ppi_mean(
        y[7], f[7], Moments(*map(np.asarray, (10**12, 0.0, 1e12, -9.0, 9.0))), estimator="regression", min_labels=4
    )
    close([single.estimate, single.std_error], [parts.point[7], math.sqrt(parts.variance[7])], 1e-8)
    square = n * parts.point**2  # the mean is 0
    for found in (square, n * parts.variance):
        far = (found.mean() - wanted) / (found.std() / math.sqrt(sets))
        assert abs(far) < 4, (found.mean(), wanted)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_regression_covers_exactly_under_normality(rho):
    # by theory exact, so the verdict has two sides
    sets, n = 20_000, 8
    rng = np.random.default_rng(8)
    f = rng.normal(size=(sets, n))
    y = rho * f + math.sqrt(1 - rho**2) * rng.normal(size=(sets, n))
    one = np.ones(sets)
    rest = Moments(np.full(sets, 10**12), 0 * one, 1e12 * one, -9 * one, 9 * one)
    parts = ridge(y.ravel(), f.ravel(), np.repeat(np.arange(sets), n), rest, SlopePrior(0, 0), robust=False)
    hits = np.abs(parts.point) <= stats.t.ppf(0.975, parts.satterthwaite) * np.sqrt(parts.variance)
    assert stats.binomtest(int(hits.sum()), sets, 0.95).pvalue > 1e-4


@pytest.mark.parametrize("options", [{"estimator": "regression"}, {}, {"bounds": (-100, 100)}])
def test_a_perfect_linear_judge_leaves_nothing_when_everything_is_scored(options):
    f = np.random.default_rng(0).normal(0, 1, 40)
    errors = []
    for N in (10**2, 10**4, 10**8):
        rest = Moments(*map(np.asarray, (N, 0.0, float(N), -4.0, 4.0)))
        errors.append(ppi_mean(2 * f + 1, f, rest, **options).std_error)
    assert errors == sorted(errors, reverse=True)
    if options.get("estimator") == "regression":
        pooled = [
            (np.sum((f - f.mean()) ** 2) + N + 40 * N / (40 + N) * f.mean() ** 2) / (39 + N) for N in (100, 10**8)
        ]
        close(errors[0], 2 * math.sqrt(pooled[0] / 140))
        close(errors[2], 2 * math.sqrt(pooled[1] / (40 + 10**8)), 1e-7)
        assert errors[2] < 3e-4


def ends_by_formula(k, m, tail, shift):
    low = 0.0 if k == 0 else stats.beta.ppf(tail, k + shift, m - k + 1 - shift)
    high = 1.0 if k == m else stats.beta.ppf(1 - tail, k + 1 - shift, m - k + shift)
    return np.array([k / m - low, high - k / m])


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rare", [False, True])
def test_yes_or_no_written_out(conservative, finite, turned, rare):
    y, f, u = yes_or_no(4, 30, 200)
    if rare:  # one yes each: the simple sample sets the lower end
        y = np.isin(np.arange(30), [np.argmax(f), np.argmin(f)]) * 1.0
    f, u = (1 - f, 1 - u) if turned else (f, u)
    z = stats.norm.ppf(0.975)
    n, N = len(y), len(u)
    q = (f.sum() + u.sum()) / (n + N)
    rates, far, within, left = [], [], [], []
    for said, weight in ((1, q), (0, 1 - q)):
        k, m, rest = int(y[f == said].sum()), int(np.sum(f == said)), int(np.sum(u == said))
        usual, exact = ends_by_formula(k, m, 0.025, 0.5), ends_by_formula(k, m, 0.025, 0)
        wide = exact if conservative else np.maximum(usual, ends_by_formula(k, m, 0.045, 0))
        left.append(rest / (rest + m) if finite else 1)
        rates.append(k / m)
        far.append([weight * math.sqrt(left[-1]) * np.maximum(part, 0) for part in (usual, wide)])
        within.append(weight**2 * k / m * (1 - k / m) / m)
    wide = z * math.sqrt((q * (1 - q) + z * z / 4 / (n + N)) / (n + N)) / (1 + z * z / (n + N))
    centre = (q + z * z / 2 / (n + N)) / (1 + z * z / (n + N))
    of_q = np.array([0, 0] if finite else [q - centre + wide, centre + wide - q])
    if rates[0] < rates[1]:
        of_q = of_q[::-1]
    gap, theta = rates[0] - rates[1], q * rates[0] + (1 - q) * rates[1]
    (usual_yes, wide_yes), (usual_no, wide_no) = far
    pairs = [(wide_yes, wide_no)] if conservative else [(wide_yes, usual_no), (usual_yes, wide_no)]
    distance = np.max([np.sqrt(one**2 + two**2 + (gap * of_q) ** 2) for one, two in pairs], axis=0)
    between = 0 if finite else gap**2 * q * (1 - q) / (n + N)
    variance = sum(within) + between
    size = theta * (1 - theta) / variance
    simple = ends_by_formula(size * theta, size, 0.025, 0)
    if not conservative:
        usual, exact = (ends_by_formula(size * theta, size, *how) for how in ((0.025, 0.5), (1.4 * 0.025, 0)))
        simple = np.maximum(usual, exact)
    simple = simple * math.sqrt((np.dot(left, within) + between) / variance)
    low, high = np.array([theta, theta]) + [-1, 1] * np.maximum(distance, simple)
    assert simple[0] > distance[0] or not rare
    result = with_judge(y, f, u, conservative=conservative, target="benchmark" if finite else "population")
    close([result.estimate, *result.interval], [theta, low, high], 1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 12])
def test_a_conservative_interval_is_nowhere_narrower(n):
    for y in (Y[:n], np.r_[np.full(n - 1, 4.0), 2.0], np.full(n, 5.0)):
        low, high = mean_interval(y, bounds=(1, 5)).interval
        wide = mean_interval(y, bounds=(1, 5), conservative=True).interval
        assert wide.low <= low + 1e-9
        assert wide.high >= high - 1e-9


def test_a_probability_of_the_judge_is_a_score():
    y, f, u = yes_or_no(5)
    rng = np.random.default_rng(5)
    soft, rest = (np.where(s == 1, rng.uniform(0.5, 1, len(s)), rng.uniform(0, 0.49, len(s))) for s in (f, u))
    result = with_judge(y, soft, rest)
    assert result.estimator == "gaffke-ppi"
    point, _, _, _, law = by_formula(y, soft, rest, k=4, b0=1)
    close(
        result.interval,
        gaffke_by_formula(point, **law, count=np.ones(len(y)), bounds=(0, 1), level=0.95, two=True),
        1e-7,
    )
    assert with_judge(y, soft, rest, conservative=True).estimator == "gaffke-ppi-conservative"
    # on another scale of two values the same
    other = with_judge(2 * y + 1, 2 * soft + 1, 2 * rest + 1, bounds=(1, 3), step=2)
    close([other.estimate, *other.interval], [2 * x + 1 for x in (result.estimate, *result.interval)])
    assert ppi_mean(y, f, u).estimator == "mover-jeffreys-clopper-pearson"


# --- benchmark --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, BOUNDED, {"strata": np.arange(24) % 2}, {"groups": np.arange(24) // 2}])
def test_with_nothing_unlabelled_the_benchmark_is_known(options):
    result = ppi_mean(Y, F, target="benchmark", **options)
    close([result.estimate, *result.interval], [Y.mean()] * 3)
    assert (result.std_error, result.target) == (0, "benchmark")


def test_with_nothing_unlabelled_the_rate_of_a_benchmark_is_known():
    result = ppi_mean(YES, SAID, target="benchmark")
    close([result.estimate, *result.interval], [YES.mean()] * 3)


@pytest.mark.parametrize("options", [{}, BOUNDED, {"strata": np.arange(24) % 2}, {"groups": np.arange(24) // 2}])
def test_a_known_mean_is_its_own_and_no_other(options):
    known = ppi_mean(Y, F, target="benchmark", **options).estimate
    for null, p in ((known, 1), (2.0, 0)):
        assert ppi_mean(Y, F, target="benchmark", null=null, **options).p_value == p


# --- groups -----------------------------------------------------------------------------------------------------


def clusters_by_formula(y, f, u, groups, groups_rest, *, k, b0, finite=False):
    """Errors summed over groups in a loop over the items; CR1 and its form with leverages, the larger."""
    n, every = len(y), [*f, *u]
    M = len(every)
    centre, y_mean, f_mean = sum(every) / M, sum(y) / n, sum(f) / n
    gold, others = list(dict.fromkeys(groups)), [h for h in dict.fromkeys(groups_rest) if h not in set(groups)]
    label, judged, drift = (dict.fromkeys([*gold, *others], 0.0) for _ in range(3))
    for h, a, b in zip(groups, y, f, strict=True):
        label[h] += (a - y_mean) / n
        judged[h] += (b - f_mean) / n
    for h, x in zip([*groups, *groups_rest], every, strict=True):
        drift[h] += (x - centre) / M
    held = {h: list(groups).count(h) / n for h in gold}
    # Kish's number of groups
    g, total = 1 / sum(x * x for x in held.values()), len(gold) + len(others)
    seen = {h: judged[h] - drift[h] for h in gold}
    square = sum(x * x for x in seen.values())
    own = max(square / g, sum((x - centre) ** 2 for x in every) / M / (n * g))
    base = square + sum(drift[h] ** 2 for h in others) + k * own
    b = (sum(label[h] * seen[h] for h in gold) + b0 * k * own) / base
    error = {h: (label[h] - b * judged[h]) * (1 + (centre - f_mean) * seen[h] / base) for h in gold}
    p = 1 + square / base
    plain = np.array([label[h] - b * judged[h] for h in gold])
    each = [((a - y_mean) - b * (x - f_mean)) / n for a, x in zip(y, f, strict=True)]
    alike = sum(x * x for x in plain) / sum(x * x for x in each)
    summed = {h: error[h] + (0 if finite else b * drift[h]) for h in gold}
    usual = sum(x * x for x in summed.values()) * g / (g - p)
    robust = (g - 1) / g * sum((summed[h] / (1 - min(held[h] + seen[h] ** 2 / base, 0.99))) ** 2 for h in gold)
    left = 1 - len(gold) / total if finite else 1
    residual = max(usual, robust) * left
    m = len(others)
    judge = 0.0 if finite or not m else b * b * m / max(m - 1, 1) * sum(drift[h] ** 2 for h in others)
    share = np.array([held[h] for h in gold])
    off = [math.sqrt(left) * summed[h] / held[h] / (1 - min(seen[h] ** 2 / base, 0.9)) for h in gold]
    size, wrong = n / len(gold), [b * (x - centre) for x in every]
    law = {
        "labels": np.array([label[h] for h in gold]) / share,
        "errors": plain / share,
        "off": np.array(off),
        "judge": judge,
    }
    kept, spread = min(max(alike / size, 1 / size), 1), sum((x - centre) ** 2 for x in every) / M
    law |= {"count": share * len(gold), "part": math.sqrt(left * kept), "predicted": abs(b) * math.sqrt(spread * kept)}
    law |= {"sampled": sum((x - f_mean) ** 2 for x in f) / (n - 1) / spread, "grouped": True, "values": len(set(y))}
    return y_mean + b * (centre - f_mean), residual + judge, g - p, law | {"reach": {1: max(wrong), -1: -min(wrong)}}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("design", ["apart", "scattered", "benchmark"])
@pytest.mark.parametrize("bounds", [None, (1, 5)])
def test_groups_written_out(seed, design, bounds):
    y, f, u = ordinal(seed)
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 9, 24)
    rest = rng.integers(0, 60, 150) if design == "scattered" else rng.integers(9, 60, 150)
    finite = design == "benchmark"
    k, b0 = (4, 1) if bounds else (1, 0)
    found = clusters_by_formula(y, f, u, groups.tolist(), rest.tolist(), k=k, b0=b0, finite=finite)
    point, variance, df, law = found
    target = "benchmark" if finite else "population"
    result = with_judge(y, f, u, groups=groups, groups_unlabeled=rest, bounds=bounds, target=target)
    close([result.estimate, result.std_error], [point, math.sqrt(variance)])
    if bounds:
        close(result.interval, gaffke_by_formula(point, **law, bounds=bounds, level=0.95), 1e-7)
    else:
        close(result.df, df)
    assert result.n_groups == len(set(groups.tolist()))


@pytest.mark.parametrize("prior", [SlopePrior(0, 0), SlopePrior(1, 0), SlopePrior(4, 1)])
def test_one_item_in_each_group_is_the_form_for_items(prior):
    # both minimise the same sum as N grows; with the judge's means equal on both sides they have the same errors
    rng = np.random.default_rng(7)
    n, N = 20, 200_000
    f = rng.normal(0, 0.9, n)
    f -= f.mean()
    y = 0.7 * f + rng.normal(0, 1, n)
    u = rng.normal(0, 1, N)
    u -= u.mean()
    each = Moments(np.ones(N), u, np.zeros(N), u, u)
    both = GroupedItems(y, f, each, np.arange(n), n + np.arange(N), np.ones(n), np.ones(n + N))
    rest = Moments.from_chunks([(u, np.zeros(N, dtype=int))], n_systems=1)
    one, two = clustered(both, prior), ridge(y, f, np.zeros(n, dtype=int), rest, prior)
    close([one.slope[0], one.df[0]], [two.slope[0], two.df[0]], 1e-3)
    close([one.point[0], one.variance[0]], [two.point[0], two.variance[0]], 2e-3)


def test_labels_of_groups_alone_have_the_error_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    y, f, _ = ordinal(2)
    groups = np.arange(24) // 3
    wanted = api.OLS(y, np.ones(24)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    result = ppi_mean(y, f, groups=groups, estimator="classical")
    close([result.estimate, result.std_error], [wanted.params[0], wanted.bse[0]])
    close(result.interval, wanted.conf_int()[0])


# --- strata -----------------------------------------------------------------------------------------------------


def strata_by_formula(parts, *, k, b0, finite):
    """Each stratum's corrected mean by its own slope, or by one of all; what was not seen is shared by size."""
    n_all, M = sum(len(y) for y, _, _ in parts), sum(len(y) + len(u) for y, _, u in parts)
    sums = []
    for y, f, u in parts:
        every = np.append(f, u)
        s2 = every.var(ddof=1)
        sums.append((np.sum((f - f.mean()) ** 2) + k * s2, np.sum((f - f.mean()) * (y - y.mean())) + b0 * k * s2, s2))
    one_slope = min(len(y) for y, _, _ in parts) < 10
    if one_slope:
        sums = [(sum(s[0] for s in sums), sum(s[1] for s in sums), s[2]) for s in sums]
    errors = [
        (y - y.mean()) - lean / base * (f - f.mean()) for (y, f, _), (base, lean, _) in zip(parts, sums, strict=True)
    ]
    found, laws = [], []
    for (y, f, u), (base, lean, s2), e in zip(parts, sums, errors, strict=True):
        n, N, b = len(y), len(u), lean / base
        gap, sff = N / (n + N) * (u.mean() - f.mean()), np.sum((f - f.mean()) ** 2)
        p = 1 + sff / base
        usual = e @ e / (n - p) * (1 / n + gap**2 * sff / base**2)
        pull, leverage = 1 / n + gap * (f - f.mean()) / base, (f - f.mean()) ** 2 / base
        residual = max(usual, (n - 1) / n * np.sum((pull * e / (1 - 1 / n - leverage)) ** 2))
        left, wrong = N / (n + N) if finite else 1, b * (np.append(f, u) - f.mean() - gap)
        off = math.sqrt(left) * n * abs(pull) * e / (1 - np.minimum(leverage, 0.9))
        share = (n + N) / M
        laws.append((y - y.mean(), e, off, np.full(n, share * n_all / n), share * np.array([max(wrong), -min(wrong)])))
        laws[-1] += (share * math.sqrt(left), share * abs(b) * math.sqrt(s2), share * sff / (n - 1) / s2)
        residual, judge = (residual * N / (n + N), 0.0) if finite else (residual, b * b * s2 / (n + N))
        found.append(((n + N) / M, y.mean() + b * gap, residual, judge, n - p, n + N))
    point = sum(w * m for w, m, *_ in found)
    between = 0.0 if finite else sum(w * (m - point) ** 2 for w, m, *_ in found) / M
    variance = sum(w * w * (a + c) for w, _, a, c, _, _ in found) + between
    spread = sum(w**4 * (a * a / df + c * c / (N - 1)) for w, _, a, c, df, N in found)
    *items, reach, part, predicted, sampled = zip(*laws, strict=True)
    labels, errors, off, count = map(np.concatenate, items)
    law = {
        "labels": labels,
        "errors": errors,
        "off": off,
        "count": count,
        "reach": dict(zip((1, -1), sum(reach), strict=True)),
    }
    return (
        point,
        variance,
        variance**2 / spread,
        law
        | {
            "values": len({label for labels, *_ in parts for label in labels}),
            "part": sum(part),
            "predicted": sum(predicted),
            "sampled": sum(sampled),
            "judge": sum(w * w * c for w, _, _, c, *_ in found) + between,
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(12, 15, 11), (4, 9, 20)])
@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("bounds", [None, (1, 5)])
def test_strata_written_out(seed, sizes, finite, bounds):
    parts = [ordinal(10 * seed + j, n, 80 + 30 * j) for j, n in enumerate(sizes)]
    k, b0 = (4, 1) if bounds else (1, 0)
    point, variance, df, law = strata_by_formula(parts, k=k, b0=b0, finite=finite)
    y, f, u = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    names = np.repeat(["a", "b", "c"], sizes)
    rest = np.repeat(["a", "b", "c"], [len(u) for _, _, u in parts])
    order = np.random.default_rng(seed).permutation(len(y))
    result = ppi_mean(
        y[order], f[order], u, strata=names[order], strata_unlabeled=rest, bounds=bounds,
        step=1 if bounds else None, target="benchmark" if finite else "population",
    )  # fmt: skip
    close([result.estimate, result.std_error], [point, math.sqrt(variance)])
    if bounds:
        close(result.interval, gaffke_by_formula(point, **law, bounds=bounds, level=0.95), 1e-7)
    else:
        close(result.df, df)
    assert result.design == "strata"


def test_one_stratum_is_no_stratum():
    one = ppi_mean(Y, F, U, strata=[0] * 24, strata_unlabeled=[0] * 150, **BOUNDED)
    two = ppi_mean(Y, F, U, **BOUNDED)
    close([one.estimate, one.std_error, one.df, *one.interval], [two.estimate, two.std_error, two.df, *two.interval])


def test_a_stratum_that_is_labelled_whole_has_no_error_in_a_benchmark():
    y, f, _ = ordinal(1, 30, 0)  # the second stratum alone has items without a label
    y2, f2, u2 = ordinal(2, 15, 100)
    result = ppi_mean(
        np.append(y, y2),
        np.append(f, f2),
        u2,
        strata=[0] * 30 + [1] * 15,
        strata_unlabeled=[1] * 100,
        target="benchmark",
    )
    alone = ppi_mean(y2, f2, u2, target="benchmark")
    close(result.estimate, (30 * y.mean() + 115 * alone.estimate) / 145)
    close(result.std_error, 115 / 145 * alone.std_error)


# --- coverage of designs ----------------------------------------------------------------------------------------


def verdict(hits, reps, low=0.94, high=0.985):
    """Not below the one and not above the other, beyond the chance of one in ten thousand."""
    below = stats.binomtest(hits, reps, low, alternative="less").pvalue
    above = stats.binomtest(hits, reps, high, alternative="greater").pvalue
    assert min(below, above) > 1e-4, hits / reps


def repeated(draw, reps, truth):
    """Coverage verdict, and no bias beyond four standard errors."""
    results = [draw() for _ in range(reps)]
    verdict(sum(r.interval.low <= truth <= r.interval.high for r in results), reps)
    off = np.array([r.estimate for r in results]) - truth
    assert abs(off.mean()) < 4 * off.std() / math.sqrt(reps)


def two_topics(rng, n, share):
    """A judge that is too kind with one topic and too hard with the other; labels are not on a scale."""
    law = rng.random(n) < share
    f = np.where(law, 2.5, 3.8) + rng.normal(0, 0.7, n)
    return law, f, f + np.where(law, -0.6, 0.3) + rng.normal(0, 0.6, n)


TRUTH = {0: 4.1, 1: 1.9}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share", "target"), [(40, 0.3, 0.6), (60, 0.5, 0.8)])
def test_weights_for_a_known_shift(n, share, target):
    rng = np.random.default_rng(11)

    def draw():
        law, f, y = two_topics(rng, n + 300, share)
        w = shift_weights(law, {True: target, False: 1 - target})
        return ppi_mean(y[:n], f[:n], f[n:], weights=w[:n], weights_unlabeled=w[n:])

    repeated(draw, 500, target * TRUTH[1] + (1 - target) * TRUTH[0])
    _, f, y = two_topics(rng, n + 300, share)
    assert abs(ppi_mean(y[:n], f[:n], f[n:]).estimate - (target * TRUTH[1] + (1 - target) * TRUTH[0])) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share", "target"), [(30, 0.2, 1.0), (30, 0.2, 0.9)])
def test_weights_for_a_great_shift(n, share, target):
    rng = np.random.default_rng(12)

    def draw():
        while True:
            law, f, y = two_topics(rng, n + 300, share)
            if law[:n].sum() >= 3:
                break
        w = shift_weights(law, {True: target, False: 1 - target})
        return ppi_mean(y[:n], f[:n], f[n:], weights=w[:n], weights_unlabeled=w[n:])

    results, truth = [draw() for _ in range(500)], target * TRUTH[1] + (1 - target) * TRUTH[0]
    verdict(sum(r.interval.low <= truth <= r.interval.high for r in results), 500, 0.945, 1)


def test_a_label_of_weight_zero_is_no_label():
    rng = np.random.default_rng(13)
    law, f, y = two_topics(rng, 340, 0.5)
    gold, w = law[:40], law.astype(float)
    one = ppi_mean(y[:40], f[:40], f[40:], weights=w[:40], weights_unlabeled=w[40:])
    kept = np.append(gold, np.ones(300, dtype=bool))
    y, f, w = y[kept], f[kept], w[kept]
    n = int(gold.sum())
    two = ppi_mean(y[:n], f[:n], f[n:], weights=w[:n], weights_unlabeled=w[n:])
    close([one.estimate, one.std_error, one.df], [two.estimate, two.std_error, two.df], 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [None, (1, 5)])
def test_items_chosen_where_the_judge_is_unsure(bounds):
    # where the judge is unsure it is also too kind: labels unweighted would be off
    rng = np.random.default_rng(14)

    def world(m):
        unsure = rng.random(m) < 0.3
        f = np.where(unsure, rng.uniform(2, 4, m), rng.uniform(1.5, 4.5, m))
        error = np.where(unsure, rng.choice([-1.5, -1, 0.5], m), rng.choice([-0.2, 0.2], m))
        return f, np.clip(f + error, 1, 5), np.where(unsure, 1.0, 0.05)

    _, y, _ = world(2_000_000)
    truth = float(y.mean())

    def draw():
        f, y, entropy = world(400)
        choice = choose(f, 40, design="active", entropy=entropy, rng=rng)
        return ppi_mean(np.where(choice.chosen, y, NAN), f, inclusion=choice.inclusion, bounds=bounds)

    repeated(draw, 500, truth)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [None, (1, 5)])
def test_documents_with_labelled_and_unlabelled_items(bounds):
    rng = np.random.default_rng(15)

    def draw():
        document = np.repeat(np.arange(30), 8)
        level = rng.choice([-0.7, 0.7], 30)[document]
        f = 3 + level + rng.uniform(-1, 1, 240)
        y = np.clip(np.round(3 + level + rng.choice([-0.6, 0.6], 30)[document] + rng.uniform(-0.5, 0.5, 240)), 1, 5)
        given = np.zeros(240, dtype=bool)
        given[rng.choice(240, 60, replace=False)] = True
        return ppi_mean(np.where(given, y, NAN), f, groups=document, bounds=bounds)

    # symmetric about 3
    repeated(draw, 500, 3.0)


@pytest.mark.slow
def test_strata_of_unequal_judges_by_simulation():
    rng = np.random.default_rng(16)

    def draw():
        parts = rng.random(500) < 0.3
        f = rng.normal(np.where(parts, 4, 3), 0.5)
        y = f + np.where(parts, -1, 0.5) + rng.normal(0, np.where(parts, 1, 0.3))
        given = np.zeros(500, dtype=bool)
        given[rng.choice(np.flatnonzero(parts), 25, replace=False)] = True  # more than their share
        given[rng.choice(np.flatnonzero(~parts), 15, replace=False)] = True
        return ppi_mean(np.where(given, y, NAN), f, strata=parts)

    repeated(draw, 500, 0.3 * 3 + 0.7 * 3.5)


# --- folds ------------------------------------------------------------------------------------------------------


def fitted(x, y):
    """A judge that learns from the labels: least squares on twelve features, of which one matters."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]


def said(judge, x):
    return np.column_stack([np.ones(len(x)), x]) @ judge


@pytest.mark.slow
def test_tuned_on_the_same_labels_it_is_too_short_and_in_folds_it_holds():
    rng = np.random.default_rng(17)
    n, N, reps = 30, 400, 400
    fold = np.arange(n) % 5
    naive, crossed = [], []
    for _ in range(reps):
        x, noise = rng.normal(size=(n + N, 12)), rng.normal(size=n)
        y = x[:n, 0] + noise
        judge = fitted(x[:n], y)
        naive.append(ppi_mean(y, said(judge, x[:n]), said(judge, x[n:]), tuned_on_labels=True))
        judges = [fitted(x[:n][fold != k], y[fold != k]) for k in range(5)]
        f = np.array([said(judges[k], x[i : i + 1])[0] for i, k in enumerate(fold)])
        rest = np.column_stack([said(judge, x[n:]) for judge in judges])
        crossed.append(ppi_mean(y, f, rest, folds=fold))
    hits = [sum(r.interval.low <= 0 <= r.interval.high for r in results) for results in (naive, crossed)]
    assert stats.binomtest(hits[0], reps, 0.93, alternative="less").pvalue < 1e-4  # the warning is right
    verdict(hits[1], reps, 0.935, 0.99)
    assert all(r.warnings[0].startswith("tuned_on_labels: ") for r in naive)
    assert not any("tuned_on_labels" in text for r in crossed for text in r.warnings)


def test_columns_of_folds_are_in_sorted_order_and_weigh_as_many_items_as_they_judged():
    rng = np.random.default_rng(18)
    rest = rng.normal(size=(50, 3))
    fold = np.array(["b"] * 4 + ["a"] * 6 + ["c"] * 2)
    y, f = rng.normal(size=(2, 12))
    result = ppi_mean(y, f, rest, folds=fold)
    one = ppi_mean(y, f, rest @ [6 / 12, 4 / 12, 2 / 12])
    close([result.estimate, result.std_error, *result.interval], [one.estimate, one.std_error, *one.interval])


def test_messages_about_folds():
    y, f = np.random.default_rng(0).normal(size=(2, 12))
    with pytest.raises(ValueError, match=r"`f_unlabeled` must have a column for each fold \(2\), but has 3"):
        ppi_mean(y, f, np.zeros((9, 3)), folds=[0, 1] * 6)
    with pytest.raises(ValueError, match="`f_unlabeled` must have 2 dimensions"):
        ppi_mean(y, f, np.zeros(9), folds=[0, 1] * 6)
    with pytest.raises(ValueError, match="`folds` must have the length of `y`"):
        ppi_mean(y, f, np.zeros((9, 2)), folds=[0, 1])


def test_folds_need_the_rest_as_columns():
    y, f = np.random.default_rng(0).normal(size=(2, 40))
    with pytest.raises(ValueError, match="`folds`"):
        ppi_mean(np.append(y[:20], [NAN] * 20), f, folds=[0, 1] * 20)
