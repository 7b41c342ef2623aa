"""Variance components by item, prompt, judge and draw: published data, other programs, closed theory, brute force."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusal import message
from scipy import optimize, stats

from calib.analysis.prompts.crossed import _blocks, _restricted, cells_of_array, moments
from calib.analysis.prompts.g_study import Component, GStudy, g_study
from calib.core.result import Interval

NAN, INF = math.nan, math.inf
CROSSED = ("item", "prompt", "judge", "item_prompt", "item_judge", "prompt_judge", "item_prompt_judge", "draw")
# Shrout and Fleiss (1979), table 2: six targets, four judges; their table 3 has BMS 11.24, JMS 32.49, EMS 1.02,
# and their table 4 ICC(2,1) .29, ICC(3,1) .71, ICC(2,4) .62, ICC(3,4) .91
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
# `Penicillin` of the R package lme4, 24 plates x 6 samples, from Davies and Goldsmith (1972), Statistical Methods in
# Research and Production. Bates et al. (2015), Fitting linear mixed-effects models using lme4, and the book on lme4:
# variance of plates .7169, of samples 3.7309, of residuals .3024
PENICILLIN = (
    "27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23 20 24 22 25 23 22 19 "
    "24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23 22 19 26 23 26 24 24 21 25 22 26 24 24 20 "
    "26 24 26 24 25 22 26 23 26 23 23 20 26 23 25 24 24 22 25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19 "
    "24 21 23 21 21 19 26 23 26 24 24 21 25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18"
)


def scores(seed, *shape, item=1.0, prompt=0.5, item_prompt=0.6, draw=0.8):
    """Items x prompts x draws with these standard deviations."""
    rng = np.random.default_rng(seed)
    n, p, _ = shape
    effects = item * rng.normal(size=(n, 1, 1)) + prompt * rng.normal(size=(1, p, 1))
    return effects + item_prompt * rng.normal(size=(n, p, 1)) + draw * rng.normal(size=shape)


def judged(seed, n=12, p=4, j=3, k=2):
    """The same with judges crossed, all seven effects there."""
    rng = np.random.default_rng(seed)
    shapes = [(n, 1, 1), (1, p, 1), (1, 1, j), (n, p, 1), (n, 1, j), (1, p, j), (n, p, j)]
    return sum(rng.normal(size=(*s, 1)) for s in shapes) + 0.7 * rng.normal(size=(n, p, j, k))


def holed(x, seed=0, cells=0.15, draws=0.2):
    """Cells missing, and draws in those that are there."""
    rng = np.random.default_rng(seed)
    gone = (rng.random(x.shape[:-1]) < cells)[..., None] | (rng.random(x.shape) < draws)
    return np.where(gone, NAN, x)


def values(study):
    return {part.name: part.estimate for part in study.components}


def quick(x, **options):
    return values(g_study(x, confidence_level=None, **options))


def by_hand(judges=1, **components):
    """A study of which only the components matter."""
    none, total = Interval(NAN, NAN), sum(components.values())
    parts = tuple(
        Component(name=n, estimate=v, share=v / total, interval=none, interval_items=none, clipped=False)
        for n, v in components.items()
    )
    empty = {"estimator": "moments", "n_items": 9, "n_prompts": 9, "n_judges": judges, "n_draws": 8.0, "n_groups": None}
    return GStudy(components=parts, **empty, n_dropped=0, n_unread=0, confidence_level=0.95, warnings=())


def dense(x, parts):
    """-2 log restricted likelihood up to a constant, by the covariance of all scores."""
    place = np.argwhere(np.isfinite(x))
    y = x[tuple(place.T)]
    v = np.zeros((len(y), len(y)))
    facets = ("item", "prompt", "judge")
    for name, value in parts.items():
        axes = range(x.ndim) if name == "draw" else [facets.index(word) for word in name.split("_")]
        alike = [place[:, None, axis] == place[None, :, axis] for axis in axes]
        v += value * np.logical_and.reduce(alike)
    inverse, ones = np.linalg.inv(v), np.ones(len(y))
    weight = ones @ inverse @ ones
    off = y - (ones @ inverse @ y) / weight
    return np.linalg.slogdet(v)[1] + math.log(weight) + off @ inverse @ off


# --- moments ----------------------------------------------------------------------------------------------------


def test_shrout_and_fleiss():
    """Mean squares, components and the coefficients that they published."""
    study = g_study(SHROUT_FLEISS)
    bms, jms, ems = 11.24, 32.49, 1.02
    wanted = {"item": (bms - ems) / 4, "prompt": (jms - ems) / 6, "residual": ems}
    assert values(study) == pytest.approx(wanted, abs=0.005)
    design = study.d_study(prompts=[1, 4])
    assert_allclose(design.phi, [0.29, 0.62], atol=0.005)
    assert_allclose(design.e_rho2, [0.71, 0.91], atol=0.005)


@pytest.mark.parametrize("estimator", ["moments", "reml"])
def test_penicillin(estimator):
    x = np.array(PENICILLIN.split(), dtype=float).reshape(24, 6)
    wanted = {"item": 0.7169, "prompt": 3.7309, "residual": 0.3024}
    assert quick(x, estimator=estimator) == pytest.approx(wanted, abs=6e-5)


def test_hand_worked():
    """Two items, two prompts, two draws, all by hand.

    Cell means 1, 3 and 4, 8 (grand 4): MS_i = 2 * (2 * 2 ** 2) = 16 over 1 df, MS_p = 2 * (1.5 ** 2 * 2) = 9,
    MS_ip = 4 * .5 ** 2 = 1. Draws stand 1, 1, 1, 2 away from their mean: MS_e = 2 * (1 + 1 + 1 + 4) / 4 = 3.5.
    """
    x = [[[0, 2], [2, 4]], [[3, 5], [6, 10]]]
    item_prompt = 1 - 3.5 / 2
    wanted = {"item": (16 - 1) / 2, "prompt": (9 - 1) / 2, "item_prompt": 0.0, "draw": 3.5}
    study = g_study(x, confidence_level=None)
    assert values(study) == pytest.approx(wanted)
    assert item_prompt < 0
    assert [part.clipped for part in study.components] == [False, False, True, False]
    assert study.warnings == ("negative: item x prompt came out at 0 or below and stands as 0",)
    assert_allclose([part.share for part in study.components], np.array([7.5, 4, 0, 3.5]) / 15)


def _anova(x, names):
    api = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    pd = pytest.importorskip("pandas")
    place = np.indices(x.shape).reshape(x.ndim, -1)[: len(names)]
    frame = pd.DataFrame(dict(zip(names, place, strict=True)) | {"y": x.ravel()})
    model = api.ols("y ~ " + " * ".join(f"C({n})" for n in names), frame).fit()
    table = anova.anova_lm(model)["mean_sq"]
    return {k.replace("C(", "").replace(")", "").replace(":", ""): v for k, v in table.items()}


def test_two_facets_against_anova_of_statsmodels():
    x = scores(1, 7, 4, 3)
    ms = _anova(x, "ip")
    wanted = {
        "item": (ms["i"] - ms["ip"]) / 12,
        "prompt": (ms["p"] - ms["ip"]) / 21,
        "item_prompt": (ms["ip"] - ms["Residual"]) / 3,
        "draw": ms["Residual"],
    }
    assert quick(x) == pytest.approx(wanted)


def test_three_facets_against_anova_of_statsmodels():
    """Expected mean squares of p x i x h (Brennan 2001, section 4.4), solved."""
    x = judged(4, 6, 4, 3, 2)
    ms, (n, p, j, k) = _anova(x, "ipj"), x.shape
    wanted = {
        "item": (ms["i"] - ms["ip"] - ms["ij"] + ms["ipj"]) / (p * j * k),
        "prompt": (ms["p"] - ms["ip"] - ms["pj"] + ms["ipj"]) / (n * j * k),
        "judge": (ms["j"] - ms["ij"] - ms["pj"] + ms["ipj"]) / (n * p * k),
        "item_prompt": (ms["ip"] - ms["ipj"]) / (j * k),
        "item_judge": (ms["ij"] - ms["ipj"]) / (p * k),
        "prompt_judge": (ms["pj"] - ms["ipj"]) / (n * k),
        "item_prompt_judge": (ms["ipj"] - ms["Residual"]) / k,
        "draw": ms["Residual"],
    }
    study = g_study(x)
    assert values(study) == pytest.approx({name: max(v, 0.0) for name, v in wanted.items()})
    assert [p.clipped for p in study.components] == [v <= 0 for v in wanted.values()]
    assert study.n_judges == 3
    single = quick(x[..., :1])
    assert list(single)[-1] == "residual"
    assert "draw" not in single
    assert "item_prompt_judge" not in single


def test_unequal_draws_count_by_their_harmonic_mean():
    x = holed(scores(2, 9, 3, 4), cells=0, draws=0.3)
    counts = np.isfinite(x).sum(axis=2)
    assert counts.min() == 1 < counts.max()
    means = np.nanmean(x, axis=2)
    noise = np.nansum((x - means[..., None]) ** 2) / (counts - 1).sum()
    table = quick(means)
    study = g_study(x, estimator="moments")
    assert study.value("draw") == pytest.approx(noise)
    assert study.value("item") == pytest.approx(table["item"])
    assert study.value("prompt") == pytest.approx(table["prompt"])
    assert study.value("item_prompt") == pytest.approx(table["residual"] - noise * np.mean(1 / counts))
    assert study.n_draws == pytest.approx(stats.hmean(counts.ravel()))
    assert study.n_unread == np.isnan(x).sum()


@pytest.mark.parametrize("prompts", [3, 6])
@pytest.mark.parametrize("unequal", [False, True])
def test_moments_are_unbiased_also_where_prompts_differ_in_noise(prompts, unequal):
    """Mean of 400 unclipped estimates within 3.5 Monte Carlo standard errors; clipping hides no bias here."""
    rng, found = np.random.default_rng(prompts), []
    spread = np.linspace(0.4, 1.6, prompts)[:, None]
    for seed in range(400):
        x = scores(seed, 15, prompts, 3, prompt=0.3, draw=0) + spread * rng.normal(size=(15, prompts, 3))
        if unequal:
            x[:, :, 2][rng.random((15, prompts)) < 0.5] = NAN
        found.append(list(moments(cells_of_array(x, None)).values()))
    truth = [1, 0.09, 0.36, np.mean(spread**2)]
    z = (np.mean(found, axis=0) - truth) / (np.std(found, axis=0, ddof=1) / 20)
    assert np.abs(z).max() < 3.5


# --- restricted maximum likelihood ------------------------------------------------------------------------------


def test_reml_is_moments_on_balanced_data():
    """Where no component is negative (Searle, Casella and McCulloch 1992, section 3.8)."""
    three, four, exact = scores(1, 12, 5, 3), judged(6), scores(3, 12, 5, 1)
    for x in (three, three[:, :, 0], four):
        assert min(quick(x, estimator="moments").values()) > 0
        assert quick(x, estimator="reml") == pytest.approx(quick(x, estimator="moments"), rel=2e-4)
    options = {"draw_variance": np.full((12, 5), 0.4), "confidence_level": None}
    one, other = (g_study(exact[:, :, 0], estimator=estimator, **options) for estimator in ("reml", "moments"))
    assert values(one) == pytest.approx(values(other), rel=2e-4)


def test_reml_at_its_bound():
    """Nothing but a negative interaction: what is left is the variance of all scores, 1 / 3."""
    study = g_study([[1, 2], [2, 1]], estimator="reml", confidence_level=None)
    assert values(study) == pytest.approx({"item": 0, "prompt": 0, "residual": 1 / 3}, abs=1e-5)
    assert [part.clipped for part in study.components] == [True, True, False]


def _mixed(x):
    """The same model by statsmodels: all scores one group, each effect a variance component of it."""
    pd = pytest.importorskip("pandas")
    api = pytest.importorskip("statsmodels.formula.api")
    place = np.argwhere(np.isfinite(x))
    frame = pd.DataFrame({"y": x[tuple(place.T)], "i": place[:, 0], "p": place[:, 1], "one": 1})
    formula = {"item": "0 + C(i)", "prompt": "0 + C(p)"}
    if x.ndim == 3:
        frame["ip"] = frame["i"] * 100 + frame["p"]
        formula["item_prompt"] = "0 + C(ip)"
    model = api.mixedlm("y ~ 1", frame, groups="one", re_formula="0", vc_formula=formula)
    fit = model.fit(reml=True, method="bfgs", gtol=1e-7)
    found = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
    return {**{n: found[n] for n in formula}, ("draw" if x.ndim == 3 else "residual"): fit.scale}


@pytest.mark.parametrize(("seed", "shape"), [(0, (10, 4, 3)), (4, (12, 3, 2)), (5, (14, 5, 1))])
def test_reml_against_mixedlm_of_statsmodels(seed, shape):
    """Cells missing, draws of unequal number; and one draw of each."""
    x = holed(scores(seed, *shape), seed)
    x = x[:, :, 0] if shape[2] == 1 else x
    assert np.isnan(x).any()
    found = quick(x)
    assert min(found.values()) > 0.001
    assert found == pytest.approx(_mixed(x), rel=2e-3)


@pytest.mark.parametrize("build", [lambda: scores(3, 7, 3, 3), lambda: judged(3, 5, 3, 2, 2)])
def test_restricted_likelihood_is_that_of_the_dense_covariance(build):
    """Differences between points, a constant apart; and no point nearby or found by another optimizer is better."""
    x = holed(build(), 2)
    cells = cells_of_array(x, None)
    blocks = _blocks(cells)
    names = [*blocks.kernels, "draw"]
    rng = np.random.default_rng(0)
    points = rng.uniform(0.05, 2, (4, len(names)))

    ours = [_restricted(p, names, blocks)[0] for p in points]
    theirs = [dense(x, dict(zip(names, p, strict=True))) for p in points]
    assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-8)
    found = quick(x)
    at = dense(x, found)
    bounds = [(1e-8, None)] * len(names)
    start = np.full(len(names), 0.3)
    other = optimize.minimize(lambda v: dense(x, dict(zip(names, v, strict=True))), start, bounds=bounds)
    assert at <= other.fun + 1e-5


@pytest.mark.parametrize(
    ("x", "variance"),
    [
        (holed(scores(3, 9, 4, 3), 1), None),
        (holed(judged(5, 6, 3, 3, 2), 1), None),
        (holed(scores(3, 9, 4, 1), 1, draws=0)[:, :, 0], None),
        (holed(scores(3, 9, 4, 1), 1, draws=0)[:, :, 0], np.ones((9, 4))),
    ],
    ids=["draws", "judges", "one draw", "expectations"],
)
def test_gradient_is_that_of_finite_differences(x, variance):
    cells = cells_of_array(x, variance)
    blocks = _blocks(cells)
    names = [*blocks.kernels, "draw"] if blocks.freedom else list(blocks.kernels)
    for seed in range(3):
        at = np.random.default_rng(seed).uniform(0.1, 1.5, len(names))
        numbers = optimize.approx_fprime(at, lambda v: _restricted(v, names, blocks)[0], 1e-6)
        assert_allclose(_restricted(at, names, blocks)[1], numbers, rtol=1e-3, atol=1e-3)


# --- exact expectations -----------------------------------------------------------------------------------------


def test_expectations_are_the_limit_of_many_draws():
    """Draws of two values a distance of 1 around the mean: their variance is 1, and K / (K - 1) of it is found."""
    means = scores(8, 10, 4, 1)[:, :, 0]
    exact = g_study(means, draw_variance=np.ones_like(means))
    drawn = g_study(means[..., None] + np.tile([1.0, -1.0], 500))
    assert exact.n_draws == INF
    table = quick(means)
    assert exact.value("item_prompt") == table["residual"]
    assert exact.value("draw") == 1
    for part, other in zip(exact.components, drawn.components, strict=True):
        assert part.estimate == pytest.approx(other.estimate, abs=2e-3)
        assert_allclose(part.interval, other.interval, atol=0.02)
    assert "confounded" not in str(exact.warnings)


def test_expectations_with_cells_missing():
    x = holed(scores(8, 20, 4, 1), cells=0.2, draws=0)[:, :, 0]
    variance = np.random.default_rng(1).uniform(0.1, 0.5, x.shape)
    study = g_study(x, draw_variance=variance)
    assert study.estimator == "reml"
    plain = quick(x)
    assert study.value("item_prompt") == pytest.approx(plain["residual"], rel=1e-4)
    assert study.value("item") == pytest.approx(plain["item"], rel=1e-4)
    assert study.value("draw") == pytest.approx(variance[np.isfinite(x)].mean())
    gone = np.where(np.arange(20)[:, None] == 3, NAN, variance)
    assert g_study(scores(8, 20, 4, 1)[:, :, 0], draw_variance=gone).n_dropped == 1


# --- D-study ----------------------------------------------------------------------------------------------------


def test_composo():
    """Components of GPT-5.4 under seven prompts, eight draws each (1,613 x 4 replies), and what follows."""
    study = by_hand(item=5.7211, prompt=0.0087, item_prompt=0.1369, draw=0.2211)
    wanted = {(1, 1): 0.9398, (1, 8): 0.9706, (2, 4): 0.9828, (8, 1): 0.9921, (1, INF): 0.9752}
    for (prompts, draws), phi in wanted.items():
        assert study.d_study(prompts, draws).phi[0] == pytest.approx(phi, abs=6e-5)  # the components are rounded
    equal = study.equal_calls(8)
    rows = list(zip(equal.prompts, equal.draws, equal.judges, strict=True))
    assert rows == [(1, 8, 1), (2, 4, 1), (4, 2, 1), (8, 1, 1), (1, INF, 1), (8, INF, 1)]
    assert_allclose([equal.phi[i] for i in (0, 1, 3, 4)], [0.9706, 0.9828, 0.9921, 0.9752], atol=6e-5)


def test_spearman_brown_and_shifts():
    """Without a prompt's own shift both coefficients are those of Spearman and Brown; with it only E(rho^2) is."""
    for shift in (0.0, 0.3):
        study = by_hand(item=2.0, prompt=shift, item_prompt=0.5, draw=1.2)
        one, many = study.d_study(1, 3), study.d_study([2, 5, 40], 3)
        for coefficient in ("e_rho2", "phi") if shift == 0 else ("e_rho2",):
            (r,) = getattr(one, coefficient)
            wanted = [k * r / (1 + (k - 1) * r) for k in (2, 5, 40)]
            assert_allclose(getattr(many, coefficient), wanted)
        assert_allclose(np.subtract(many.absolute_error, many.relative_error), np.divide(shift, [2, 5, 40]), atol=1e-15)
        assert_allclose(many.relative_error, np.divide(0.5 + 1.2 / 3, [2, 5, 40]))


def test_d_study_of_judges():
    """Each component over the numbers of the facets it belongs to (Brennan 2001, section 4.1)."""
    sizes = dict(zip(CROSSED, [1, 2, 3, 2, 3, 6, 6, 24], strict=True))
    parts = dict(zip(sizes, [2.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], strict=True))
    design = by_hand(judges=9, **parts).d_study(2, 4, judges=3)
    relative = sum(parts[n] / sizes[n] for n in ("item_prompt", "item_judge", "item_prompt_judge", "draw"))
    shift = sum(parts[n] / sizes[n] for n in ("prompt", "judge", "prompt_judge"))
    assert design.relative_error[0] == pytest.approx(relative)
    assert design.absolute_error[0] == pytest.approx(relative + shift)
    assert design.phi[0] == pytest.approx(2 / (2 + relative + shift))
    assert design.e_rho2[0] == pytest.approx(2 / (2 + relative))


def test_d_study_by_simulation():
    """E(rho^2) is the squared correlation of the mean with the item's value; Phi counts the prompts' shift too."""
    study = by_hand(item=1.0, prompt=0.5, item_prompt=0.4, draw=0.9)
    rng, shape = np.random.default_rng(3), (400_000,)
    item, mean = rng.normal(size=shape), np.zeros(shape)
    for _ in range(2):  # of prompts, other ones for each item
        mean += math.sqrt(0.5) * rng.normal(size=shape) + math.sqrt(0.4) * rng.normal(size=shape)
        mean += math.sqrt(0.9 / 3) * rng.normal(size=shape)
    (phi,) = study.d_study(2, 3).phi
    assert np.corrcoef(item, item + mean / 2)[0, 1] ** 2 == pytest.approx(phi, abs=0.005)


@pytest.mark.parametrize("coefficient", ["phi", "e_rho2"])
def test_cheapest_against_all_designs(coefficient):
    study = by_hand(item=1.0, prompt=0.2, item_prompt=0.3, draw=0.9)
    grid = list(itertools.product(range(1, 61), range(1, 201)))
    designs = study.d_study(range(1, 61), range(1, 201))
    reached = np.array(getattr(designs, coefficient))
    prompts, draws = np.array(grid).T
    for target, reply, prompt, n in itertools.product([0.5, 0.8, 0.95], [1.0, 0.02], [0.0, 3.0, 500.0], [1, 250]):
        found = study.cheapest(target, coefficient=coefficient, price_reply=reply, price_prompt=prompt, n_items=n)
        costs = np.where(reached >= target - 1e-12, n * prompts * draws * reply + prompts * prompt, INF)
        assert getattr(found, coefficient)[0] >= target - 1e-9
        assert n * found.prompts[0] * found.draws[0] * reply + found.prompts[0] * prompt == pytest.approx(costs.min())


@pytest.mark.parametrize(
    ("parts", "target", "prompts"),
    [
        # 1 / (1 + 1 / P) = .75 at P = 3, met and not missed
        ({"item": 1.0, "prompt": 0.5, "item_prompt": 0.5, "draw": 0.0}, 0.75, 3),
        ({"item": 1.0, "prompt": 0.0, "residual": 1.0}, 0.8, 4),
    ],
)
def test_cheapest_where_draws_add_nothing(parts, target, prompts):
    found = by_hand(**parts).cheapest(target)
    assert (found.prompts, found.draws) == ((prompts,), (1.0,))


@pytest.mark.parametrize("judges", [1, 3])
def test_cheapest_of_crossed_judges_against_all_designs(judges):
    study = by_hand(judges=9, **dict(zip(CROSSED, [4.0, 0.6, 0.1, 0.9, 0.2, 0.3, 0.4, 1.7], strict=True)))
    prompts, draws = np.array(list(itertools.product(range(1, 41), range(1, 41)))).T
    designs = study.d_study(range(1, 41), range(1, 41), judges=judges)
    for coefficient, price in itertools.product(("phi", "e_rho2"), (0.0, 5.0)):
        found = study.cheapest(0.85, coefficient=coefficient, judges=judges, price_prompt=price)
        reached = np.array(getattr(designs, coefficient)) >= 0.85
        costs = np.where(reached, judges * prompts * draws + price * prompts, INF)
        assert found.judges == (judges,)
        assert getattr(found, coefficient)[0] >= 0.85
        assert judges * found.prompts[0] * found.draws[0] + price * found.prompts[0] == costs.min()


# --- intervals --------------------------------------------------------------------------------------------------


def _hand_interval(value, floor, pieces):
    """The formula of the docstring from lists of estimates with one level left out."""
    squares = [((g := len(v)) - 1) / g * np.sum((np.array(v) - np.mean(v)) ** 2) for v in pieces]
    total = sum(squares)
    freedom = total**2 / sum(s**2 / (len(v) - 1) for s, v in zip(squares, pieces, strict=True))
    reach = stats.t.ppf(0.95, freedom) * math.sqrt(total) / (value + floor)
    return [max((value + floor) * math.exp(sign * reach) - floor, 0) for sign in (-1, 1)]


def test_intervals_by_hand():
    x = scores(5, 14, 4, 3)
    found = moments(cells_of_array(x, None))
    items = [moments(cells_of_array(np.delete(x, i, 0), None)) for i in range(14)]
    prompts = [moments(cells_of_array(np.delete(x, p, 1), None)) for p in range(4)]
    noise = found["draw"] / 3
    floors = {
        "item": (found["item_prompt"] + noise) / 4,
        "prompt": (found["item_prompt"] + noise) / 14,
        "item_prompt": noise,
        "draw": 0,
    }
    for part in g_study(x, confidence_level=0.9).components:
        pieces = [[row[part.name] for row in rows] for rows in (items, prompts)]
        assert_allclose(part.interval, _hand_interval(found[part.name], floors[part.name], pieces))
        assert_allclose(part.interval_items, _hand_interval(found[part.name], floors[part.name], pieces[:1]))


def test_intervals_of_reml_leave_out_whole_groups():
    x, groups = holed(scores(5, 14, 4, 3)), np.arange(14) // 2
    study = g_study(x, groups=groups, confidence_level=0.9)
    assert study.n_groups == 7
    found = quick(x)
    rows = [quick(x[groups != g]) for g in range(7)]
    noise = found["draw"] * np.mean([1 / c for c in np.isfinite(x).sum(-1).ravel() if c])
    part = study.components[0]
    wanted = _hand_interval(found["item"], (found["item_prompt"] + noise) / 4, [[r["item"] for r in rows]])
    assert_allclose(part.interval_items, wanted, rtol=1e-3)


def test_intervals_of_groups():
    x = scores(5, 14, 4, 3)
    assert g_study(x, groups=list("abcdefghijklmn")).components == g_study(x).components
    shared = np.repeat(scores(6, 20, 4, 3), 5, axis=0) + 0.1 * scores(7, 100, 4, 3)
    apart, together = (g_study(shared, groups=g).components[0] for g in (None, np.arange(100) // 5))
    assert apart.estimate == together.estimate
    widths = [math.log(part.interval_items.high / part.interval_items.low) for part in (apart, together)]
    assert widths[1] > 1.7 * widths[0]


@pytest.mark.parametrize("systems", [10, 25, 50])
def test_rows_in_a_regular_order(systems):
    """Rows are left out in lots: not one system a lot, or the interval is one over systems."""
    rng = np.random.default_rng(systems)
    x = scores(1, 1000, 3, 2) + np.tile(2 * rng.normal(size=systems), 1000 // systems)[:, None, None]
    widths = [np.ptp(g_study(rows).components[0].interval_items) for rows in (x, rng.permutation(x))]
    assert 0.7 < widths[0] / widths[1] < 1.4


def test_no_interval_where_nothing_can_be_said():
    two = g_study(scores(5, 14, 2, 3))
    assert all(np.isnan(part.interval).all() for part in two.components)
    assert all(np.isfinite(part.interval_items).all() for part in two.components)
    none = g_study(scores(5, 14, 4, 3), confidence_level=None)
    assert math.isnan(none.confidence_level)
    assert all(np.isnan([*part.interval, *part.interval_items]).all() for part in none.components)
    two, three = (g_study(judged(1, 10, 4, judges)).components[0].interval.low for judges in (2, 3))
    assert two != three


def test_confidence_level_nests():
    x = scores(5, 30, 5, 3)
    for narrow, wide in zip(*(g_study(x, confidence_level=c).components for c in (0.8, 0.99)), strict=True):
        assert wide.interval.low <= narrow.interval.low <= narrow.estimate <= narrow.interval.high < wide.interval.high


# --- invariances ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "x", [scores(5, 14, 4, 3), holed(scores(5, 14, 4, 3)), judged(2)], ids=["all", "holes", "judges"]
)
def test_order_origin_and_unit_do_not_matter(x):
    study, rng = g_study(x), np.random.default_rng(0)
    moved = x
    for axis in range(x.ndim):
        moved = np.take(moved, rng.permutation(x.shape[axis]), axis)
    for other, factor in ((g_study(moved), 1), (g_study(x + 100), 1), (g_study(10 * x), 100), (g_study(-x), 1)):
        for part, new in zip(study.components, other.components, strict=True):
            close = {"rtol": 2e-3, "atol": 1e-4 * factor}
            assert_allclose(new.estimate, factor * part.estimate, **close)
            assert_allclose(new.share, part.share, rtol=2e-3, atol=1e-4)
            if part.estimate > 0.01:
                assert_allclose(
                    new.interval_items, np.multiply(factor, part.interval_items), rtol=0.02, atol=0.02 * factor
                )


def test_prompts_and_judges_are_alike():
    x = judged(2, 12, 3, 3)
    one, other = values(g_study(x)), values(g_study(x.swapaxes(1, 2)))
    swapped = {"prompt": "judge", "judge": "prompt", "item_prompt": "item_judge", "item_judge": "item_prompt"}
    assert {name: other[swapped.get(name, name)] for name in one} == pytest.approx(one)


# --- what is missing --------------------------------------------------------------------------------------------


def test_missing_scores():
    x = scores(5, 14, 4, 3)
    padded = np.concatenate([x, np.full((14, 4, 2), NAN)], axis=2)
    assert values(g_study(padded)) == pytest.approx(values(g_study(x)))
    assert g_study(padded).n_unread == 14 * 4 * 2
    dead = np.concatenate([x, np.full((2, 4, 3), NAN)])
    study = g_study(dead)
    assert (study.n_items, study.n_dropped, study.n_unread, study.estimator) == (14, 2, 0, "moments")
    assert study.components == g_study(x).components
    hole = x.copy()
    hole[3, 1] = NAN
    auto, dropped = g_study(hole), g_study(hole, estimator="moments")
    assert (auto.estimator, auto.n_items, auto.n_dropped, auto.n_unread) == ("reml", 14, 0, 3)
    assert (dropped.estimator, dropped.n_items, dropped.n_dropped, dropped.n_unread) == ("moments", 13, 1, 0)
    assert dropped.components == g_study(np.delete(x, 3, 0)).components
    masked = np.ma.masked_invalid(hole)
    assert g_study(masked).components == auto.components


def test_reml_uses_what_incomplete_items_say():
    """The draws of an item with one cell count for the variance of draws."""
    x = scores(5, 14, 4, 3)
    x[0, 1:] = NAN
    free = 13 * 4 * 2 + 2
    squares = np.nansum((x - np.where(np.isnan(x[..., :1]), 0, x).mean(axis=2, keepdims=True)) ** 2)
    assert quick(x)["draw"] == pytest.approx(squares / free, rel=0.02)


# --- words ------------------------------------------------------------------------------------------------------


def test_warnings_and_words():
    one = g_study(scores(5, 14, 4, 1))
    assert [w.split(":")[0] for w in one.warnings] == ["few_prompts", "confounded"]
    assert "4 prompts" in one.warnings[0]
    many = g_study(scores(5, 14, 6, 3))
    assert many.warnings == ()
    judges = g_study(judged(6, 12, 6, 3))
    assert "3 judges" in next(w for w in judges.warnings if w.startswith("few"))
    assert " x 3 judges" in str(judges)
    assert str(many).startswith("variance of one score: item ")
    assert len(many.to_frame() if pytest.importorskip("pandas") else []) == 4
    assert str(by_hand(item=1.0, prompt=0.0, item_prompt=0.0, draw=1.0).d_study([1, 2], [1, INF])) == (
        "1 prompt x 1 draw: Phi 0.5; 1 prompt x exact probabilities: Phi 1; "
        "2 prompts x 1 draw: Phi 0.6667; 2 prompts x exact probabilities: Phi 1"
    )
    assert "E(rho^2)" in str(by_hand(item=1.0, prompt=0.5, draw=0.4).cheapest(0.8, coefficient="e_rho2"))
    with pytest.raises(KeyError, match="there are item, prompt, item_prompt, draw"):
        many.value("judge")
    with pytest.raises(dataclasses.FrozenInstanceError):
        many.estimator = "reml"


def test_errors_name_the_argument():
    x, study = scores(5, 14, 4, 3), by_hand(item=1.0, prompt=0.2, item_prompt=0.3, draw=0.9)
    table = x[:, :, 0]
    cases = [
        ("`x`", lambda: g_study(table[:, 0])),
        ("`x`", lambda: g_study(table[:, :1])),
        ("`x`", lambda: g_study(x[:1])),
        ("`x`", lambda: g_study(x * NAN)),
        ("`x`", lambda: g_study(judged(1)[:, :, :1])),
        ("`x`", lambda: g_study(np.where(x > 1, INF, x))),
        ("`x`", lambda: g_study([["good", "bad"]])),
        ("`estimator`", lambda: g_study(x, estimator="ml")),
        ("`confidence_level`", lambda: g_study(x, confidence_level=95)),
        ("`groups`", lambda: g_study(x, groups=[1, 2])),
        ("`groups`", lambda: g_study(x, groups=[None] * 14)),
        ("`draw_variance`", lambda: g_study(table, draw_variance=table[:, :2])),
        ("`draw_variance`", lambda: g_study(x, draw_variance=table)),
        ("`target`", lambda: study.cheapest(1)),
        ("`target`", lambda: study.cheapest(0)),
        ("`target`", lambda: by_hand(item=0.0, prompt=0.2, item_prompt=0.3, draw=0.9).cheapest(0.8)),
        ("`coefficient`", lambda: study.cheapest(0.8, coefficient="rho")),
        ("`prompts`", lambda: study.d_study(0)),
        ("`prompts`", lambda: study.d_study([1, 1.5])),
        ("`draws`", lambda: study.d_study(1, 0.5)),
        ("`judges`", lambda: study.d_study(judges=0)),
        ("`calls`", lambda: study.equal_calls(0)),
        ("`draws`", lambda: g_study(table).d_study(1, 2)),
        ("`draws`", lambda: g_study(table).equal_calls(8)),
        ("`x`", lambda: g_study(np.where(np.arange(4)[:, None] % 2, x, NAN)[:, 1:3])),
        ("`draw_variance`", lambda: g_study(table, draw_variance=-np.ones_like(table))),
        # one judge: 4 / (4 + .2 + .4) at most
        ("`target`", lambda: by_hand(item=4.0, judge=0.2, item_judge=0.4, item_prompt=0.3, draw=0.7).cheapest(0.9)),
        ("`judges`", lambda: study.d_study(1, 1, judges=3)),
        *[("`prompts`", lambda wrong=wrong: study.d_study(wrong)) for wrong in (INF, "many", [])],
        *[
            (f"`{name}`", lambda name=name, value=value: study.cheapest(0.9, **{name: value}))
            for name, value in [("price_reply", -1.0), ("price_reply", NAN), ("price_prompt", -1.0), ("n_items", 0)]
        ],
    ]
    for name, call in cases:
        text = message(call)
        assert text.startswith(name), text
        assert text.endswith("."), text


# --- too little, and what makes no sense ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "groups"), [(2, None), (14, [0] * 14), (14, [0] * 13 + [1])])
def test_too_few_units_have_no_interval(n, groups):
    assert np.isnan(g_study(scores(5, n, 4, 3), groups=groups).components[0].interval_items).all()


def test_prompts_without_scores():
    x = scores(5, 14, 3, 3)
    x[:, 2] = NAN
    assert g_study(x).n_prompts == 2


def test_prices():
    study = by_hand(item=1.0, prompt=0.2, item_prompt=0.3, draw=0.9)
    found = study.cheapest(0.9, price_reply=0.0, price_prompt=1.0)
    assert found.phi[0] >= 0.9 or math.isinf(found.draws[0])
    assert found.prompts[0] == 5  # .5 / 5 < 1 / 9: prompts alone, as replies are free


def test_constant_scores():
    for estimator in ("moments", "reml"):
        assert set(values(g_study(np.ones((5, 3, 2)), estimator=estimator)).values()) == {0.0}


def test_cheapest_with_token_probabilities():
    study = by_hand(item=1.0, prompt=0.1, item_prompt=0.2, draw=2.0)
    # one reply under each prompt, and nothing of the draws: 1 / (1 + .3 / P) >= .9 from P = 3 on
    found = study.cheapest(0.9, exact=True)
    assert (found.prompts, found.draws) == ((3,), (INF,))
    assert study.cheapest(0.9).draws[0] < INF
    told = g_study(np.random.default_rng(1).normal(size=(50, 1)) + np.zeros((50, 3)), draw_variance=np.ones((50, 3)))
    assert told.cheapest(0.9).draws == (INF,)


@pytest.mark.parametrize("seed", range(4))
def test_reml_with_draws_that_hardly_differ_is_that_of_their_means(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 1, 1)) + 0.5 * rng.normal(size=(1, 5, 1)) + 0.6 * rng.normal(size=(60, 5, 1))
    x = x + 1e-3 * rng.normal(size=(60, 5, 3))
    x[rng.random((60, 5)) < 0.1] = NAN
    ours, means = (g_study(table, confidence_level=None) for table in (x, x.mean(axis=2)))
    for name in ("item", "prompt"):
        assert ours.value(name) == pytest.approx(means.value(name), rel=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_reml_with_equal_draws_is_that_of_one(seed):
    """A judge at temperature 0 under prompts that not all items have."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(30, 1)) + 0.5 * rng.normal(size=(1, 4)) + 0.6 * rng.normal(size=(30, 4)), 1)
    x[rng.random(x.shape) < 0.15] = NAN
    ours, one = g_study(np.repeat(x[:, :, None], 3, axis=2), confidence_level=None), g_study(x, confidence_level=None)
    assert_allclose(
        [ours.value("item"), ours.value("prompt")], [one.value("item"), one.value("prompt")], rtol=1e-4, atol=1e-5
    )
