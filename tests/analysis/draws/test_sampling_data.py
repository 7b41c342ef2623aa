"""How far draws and prompts move recorded judges: known numbers, worked out here from mean squares alone."""

import os
from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata

import calib
from calib import datasets
from calib.datasets import TOPICAL_CHAT_PROMPTS
from calib.stats import convergence, expectation, g_study, precision_gain, spearman_brown, variance, variance_components

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
REASONED = ("analyze_rate", "analyze_rate_auto_cot", "rate_explain", "rate_explain_auto_cot")
CRITERIA = ("naturalness", "coherence", "engagingness", "groundedness")


def components(x: np.ndarray) -> tuple[float, ...]:
    """Item, prompt, item x prompt, draw of scores without a gap (items, prompts, draws); one draw: a residual.

    Every line is the sum of squares of a two-way table, written out.
    """
    n, p, k = x.shape
    cell, item, prompt, all_ = x.mean(axis=2), x.mean(axis=(1, 2)), x.mean(axis=(0, 2)), x.mean()
    ms_item = p * k * sum((item - all_) ** 2) / (n - 1)
    ms_prompt = n * k * sum((prompt - all_) ** 2) / (p - 1)
    ms_cell = k * np.sum((cell - item[:, None] - prompt + all_) ** 2) / ((n - 1) * (p - 1))
    between = (ms_item - ms_cell) / (p * k), (ms_prompt - ms_cell) / (n * k)
    if k == 1:
        return *between, ms_cell
    ms_draw = np.sum((x - cell[:, :, None]) ** 2) / (n * p * (k - 1))
    return *between, (ms_cell - ms_draw) / k, ms_draw


def found(study) -> list[float]:
    return [part.estimate for part in study.components]


# --- composo: items x prompts x draws ---------------------------------------------------------------------------


def queries(judge: str) -> list[dict[str, np.ndarray]]:
    """For each prompt the queries without a gap, in the order of the file: (4 responses, 8 draws)."""
    _, ratings = datasets.load_composo(judge)
    out = []
    for _, rows in ratings.groupby("prompt", observed=True, sort=False):
        names = rows["item"].iloc[::32].astype(str).str.removesuffix("__1")
        scores = zip(names, rows["score"].to_numpy().reshape(-1, 4, 8), strict=True)
        out.append({name: score for name, score in scores if np.isfinite(score).all()})
    return out


def crossed(prompts: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Responses to the queries that all prompts have: (items, prompts, draws)."""
    shared = [name for name in prompts[0] if all(name in others for others in prompts)]
    return np.concatenate([np.stack([prompt[name] for prompt in prompts], axis=1) for name in shared])


@pytest.fixture(scope="module", params=["gpt-5.4", "gpt-5.4-mini"])
def composo(request):
    return request.param, queries(request.param)


@needs_data
def test_composo_components_keyed_by_number_alone(composo):
    """The numbers that are told of these files: rows keyed by number, where of two subsets with it the last counts."""
    judge, prompts = composo
    numbered = [{name.rpartition("-")[2]: score for name, score in prompt.items()} for prompt in prompts]
    x = crossed(numbered)
    n, told = {
        "gpt-5.4": (1613, (5.7211, 0.0087, 0.1369, 0.2211)),
        "gpt-5.4-mini": (1442, (4.6140, 0.0167, 0.1655, 0.4478)),
    }[judge]
    assert len(x) == 4 * n
    assert components(x) == pytest.approx(told, abs=6e-5)
    study = g_study(x, confidence_level=None)
    assert found(study) == pytest.approx(components(x), rel=1e-9)
    if judge == "gpt-5.4":
        for p, k, phi in [(1, 1, 0.9398), (1, 8, 0.9706), (2, 4, 0.9828), (8, 1, 0.9921), (1, np.inf, 0.9752)]:
            assert study.d_study(p, k).phi == pytest.approx((phi,), abs=6e-5)


@needs_data
def test_composo_components_keyed_by_query(composo):
    """The same with the subset in the key: the other key put different texts together under different prompts."""
    judge, prompts = composo
    x = crossed(prompts)
    n, wanted = {
        "gpt-5.4": (1647, (5.6863, 0.0087, 0.1332, 0.2229)),
        "gpt-5.4-mini": (1472, (4.5813, 0.0168, 0.1579, 0.4509)),
    }[judge]
    assert len(x) == 4 * n
    assert components(x) == pytest.approx(wanted, abs=6e-5)
    assert found(g_study(x, confidence_level=None)) == pytest.approx(components(x), rel=1e-9)


# --- HANNA: items x prompts -------------------------------------------------------------------------------------


@needs_data
def test_hanna_components():
    _, ratings = datasets.load_hanna()
    for judge, criterion, told in [
        ("ChatGPT", "coherence", (0.5626, 0.0119, 0.1357)),
        ("Llama-13B", "relevance", (0.1552, 0.3295, 0.4302)),
    ]:
        rows = ratings[(ratings["rater"] == judge) & (ratings["criterion"] == criterion)]
        x = rows.pivot_table("score", "item", "prompt", observed=True).to_numpy()
        assert x.shape == (1056, 4)
        assert components(x[:, :, None]) == pytest.approx(told, abs=6e-5)
        assert found(g_study(x, confidence_level=None)) == pytest.approx(told, abs=6e-5)


# --- Topical-Chat: items x prompts x draws, with gaps -----------------------------------------------------------


@pytest.fixture(scope="module")
def topical():
    """Of each criterion the draws (360 items, 7 prompts, 20 draws), NaN where off the scale."""
    drawn = {criterion: np.full((360, 7, 20), np.nan) for criterion in CRITERIA}
    for place, prompt in enumerate(TOPICAL_CHAT_PROMPTS):
        items, ratings = datasets.load_topical_chat(prompt, reading="chiang-lee")
        for criterion in CRITERIA:
            low, high = (0, 1) if criterion == "groundedness" else (1, 3)
            rows = ratings[(ratings["criterion"] == criterion) & (ratings["method"] == "sample")]
            where = rows["item"].map({item: n for n, item in enumerate(items["item"])}).astype(int)
            drawn[criterion][where, place, rows["draw"]] = rows["score"].where(rows["score"].between(low, high))
    return drawn


@needs_data
@pytest.mark.parametrize(
    ("criterion", "n", "shares", "spread"),
    [
        ("naturalness", 342, (42, 2, 15, 41), 0.289),
        ("coherence", 343, (48, 9, 10, 33), 0.656),
        ("engagingness", 341, (50, 2, 13, 35), 0.297),
        ("groundedness", 337, (47, 7, 12, 33), 0.329),
    ],
)
def test_topical_chat_shares(topical, criterion, n, shares, spread):
    x = topical[criterion]
    x = x[(np.isfinite(x).sum(axis=2) >= 10).all(axis=1)]
    counts, cell = np.isfinite(x).sum(axis=2), np.nanmean(x, axis=2)
    # mean squares of the cell means; a cell's mean holds the draws' variance over its own count
    draw = np.nansum((x - cell[:, :, None]) ** 2) / (counts - 1).sum()
    item, prompt, rest = components(cell[:, :, None])
    parts = np.array([item, prompt, rest - draw * np.mean(1 / counts), draw])
    assert len(x) == n
    assert 100 * parts / parts.sum() == pytest.approx(shares, abs=1)
    assert np.ptp(cell.mean(axis=0)) == pytest.approx(spread, abs=6e-4)
    assert found(g_study(x, confidence_level=None)) == pytest.approx(parts, rel=1e-9)


@needs_data
def test_topical_chat_has_these_reliabilities(twenty_draws):
    # an independent computation from the same replies: ICC(1) .22-.60 and one .74 for a bare score, .63-.78 with an
    # explanation; reliability .59-.95 of 5 draws and .85-.986 of 20; variance within an item .05-.28
    prompts = [prompt for prompt in TOPICAL_CHAT_PROMPTS for _ in CRITERIA]
    cells = zip(twenty_draws, prompts, strict=True)
    found = [(variance_components(x), prompt in REASONED) for (x, *_), prompt in cells]
    bare = sorted(result.icc for result, reasoned in found if not reasoned)
    explained = sorted(result.icc for result, reasoned in found if reasoned)
    assert (len(bare), len(explained)) == (12, 16)
    assert [bare[0], bare[-2], bare[-1]] == pytest.approx([0.22, 0.60, 0.74], abs=0.005)
    assert [explained[0], explained[-1]] == pytest.approx([0.63, 0.78], abs=0.005)
    for n, low, high in ((5, 0.59, 0.95), (20, 0.85, 0.986)):
        reached = [float(spearman_brown(result.icc, n)) for result, _ in found]
        assert [min(reached), max(reached)] == pytest.approx([low, high], abs=0.005)
    within = [result.within for result, _ in found]
    assert [min(within), max(within)] == pytest.approx([0.05, 0.28], abs=0.005)


@needs_data
def test_a_few_draws_foretell_twenty_and_unread_replies_drop_no_item(topical):
    inside = []
    for criterion, place in product(CRITERIA, range(7)):
        x = topical[criterion][:, place]
        moments = variance_components(x)
        assert moments.n_unread + np.isfinite(x).sum() + 20 * moments.n_dropped == x.size
        # the interval of r from the first five replies of all items against all twenty, of the same items
        low, high = variance_components(x[:, :5]).interval
        inside.append(low <= moments.r <= high)
    assert sum(inside) >= 27


def subset_means(x: np.ndarray, size: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Means of random subsets of the draws without replacement, anew for each item: (repeats, items)."""
    if size == x.shape[1]:
        return x.mean(axis=1)[None]
    chosen = [rng.random(x.shape).argpartition(size - 1, axis=1)[:, :size] for _ in range(repeats)]
    return np.stack([np.take_along_axis(x, columns, axis=1).mean(axis=1) for columns in chosen]).round(9)


def correlations(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    off, other = rows - rows.mean(axis=1, keepdims=True), y - y.mean()
    return off @ other / np.sqrt((off**2).sum(axis=1) * (other @ other))


@needs_data
def test_topical_chat_spearman_rises_with_draws(twenty_draws):
    rng = np.random.default_rng(0)
    rho = [
        [correlations(rankdata(subset_means(x, n, 40, rng), axis=1), rankdata(y)).mean() for n in (1, 5, 10, 20)]
        for x, y, _ in twenty_draws
    ]
    assert np.mean(rho, axis=0) == pytest.approx([0.406, 0.493, 0.513, 0.525], abs=3e-3)
    ours = [convergence(x, labels=y, sizes=[1, 5, 10, 20], n_subsets=120, rng=0).agreement for x, y, _ in twenty_draws]
    assert np.mean(ours, axis=0) == pytest.approx([0.406, 0.493, 0.513, 0.525], abs=3e-3)


@needs_data
def test_topical_chat_follows_the_law_of_draws(twenty_draws):
    """From the 20 draws alone, Pearson at fewer draws: at N = 1, where the law reaches furthest, by 500 repeats."""
    rng = np.random.default_rng(1)
    for x, y, _ in twenty_draws:
        parts = variance_components(x)
        within = x.var(axis=1, ddof=1).mean()
        between = x.mean(axis=1).var(ddof=1) - within / 20
        assert (parts.within, parts.between) == pytest.approx((within, between), rel=1e-9)
        last = correlations(x.mean(axis=1)[None], y)[0]
        law = last * np.sqrt((1 + parts.r / 20) / (1 + parts.r))
        # 500 repeats leave a standard error of about .001
        assert correlations(subset_means(x, 1, 500, rng), y).mean() == pytest.approx(law, abs=0.0055)


# --- LLM-Rubric: exact distributions ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rubric():
    _, ratings = calib.load_llm_rubric("real")
    rows = ratings[ratings["method"] == "logprob"]
    tables = rows.groupby("criterion", observed=True)
    return {name: part.pivot_table("weight", "item", "score", observed=True).to_numpy() for name, part in tables}


@needs_data
@pytest.mark.parametrize(("question", "r", "gain"), [("Q0", 5.71, 0.81), ("Q3", 1.51, 0.90), ("Q8", 20.74, 0.62)])
def test_llm_rubric_within_over_between(rubric, question, r, gain):
    p = rubric[question]
    levels = np.arange(1, 5)
    mean = p @ levels / p.sum(axis=1)
    spread = p @ levels**2 / p.sum(axis=1) - mean**2
    assert spread.mean() / mean.var(ddof=1) == pytest.approx(r, abs=6e-3)
    parts = variance_components(expectation(p, levels), variance(p, levels))
    assert parts.r == pytest.approx(spread.mean() / mean.var(ddof=1), rel=1e-9)
    assert parts.n == 223
    assert parts.interval.low < r < parts.interval.high
    # what twenty draws recover is not one number
    assert precision_gain(parts.r, 20) == pytest.approx(gain, abs=0.005)


@needs_data
@pytest.mark.parametrize(
    ("question", "rho"),
    [("Q0", (0.364, 0.644, 0.771, 0.859, 0.932, 0.965)), ("Q8", (0.195, 0.400, 0.525, 0.649, 0.802, 0.885))],
)
def test_llm_rubric_rank_correlation_of_draws_with_the_expectation(rubric, question, rho):
    p = rubric[question] / rubric[question].sum(axis=1, keepdims=True)
    levels = np.arange(1, 5)
    rng = np.random.default_rng(2)
    target = rankdata(p @ levels)
    for n, wanted in zip((1, 5, 10, 20, 50, 100), rho, strict=True):
        drawn = rng.multinomial(n, p, size=(300, len(p))) @ levels  # sums: ties are exact
        # a repeat has a standard deviation of .06 at most; the known numbers have an error of their own
        assert correlations(rankdata(drawn, axis=1), target).mean() == pytest.approx(wanted, abs=0.012)
