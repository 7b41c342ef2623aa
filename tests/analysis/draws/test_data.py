"""How many draws recorded judges need: GPT-3.5 on Topical-Chat by 20 draws, LLM-Rubric by token probabilities."""

import os

import numpy as np
import pytest

import calib
from calib.datasets import TOPICAL_CHAT_PROMPTS
from calib.stats import precision_gain, variance_components

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
REASONED = ("analyze_rate", "analyze_rate_auto_cot", "rate_explain", "rate_explain_auto_cot")


@pytest.fixture(scope="module")
def rubric():
    items, ratings = calib.load_llm_rubric()
    judge = calib.summarize(ratings[ratings["method"] == "logprob"], items)
    return {
        name: variance_components(rows["score"], rows["sd"] ** 2)
        for name, rows in judge.groupby("criterion", observed=True)
    }


@needs_data
@pytest.mark.parametrize(("criterion", "r"), [("Q0", 5.71), ("Q3", 1.51), ("Q8", 20.74)])
def test_llm_rubric_has_these_ratios(rubric, criterion, r):
    # an independent computation from the same probabilities (variance of the expectations with n - 1)
    result = rubric[criterion]
    assert result.r == pytest.approx(r, abs=0.005)
    assert result.n == 223
    assert result.interval.low < r < result.interval.high


@needs_data
def test_what_twenty_draws_recover_is_not_one_number(rubric):
    gain = [float(precision_gain(rubric[name].r, 20)) for name in ("Q3", "Q0", "Q8")]
    assert gain == pytest.approx([0.90, 0.81, 0.62], abs=0.005)


@pytest.fixture(scope="module")
def chat():
    """Components of 7 prompts x 4 criteria, by items with all 20 replies read; reasoned or not."""
    return [cell for prompt in TOPICAL_CHAT_PROMPTS for cell in cells_of(prompt)]


def cells_of(prompt):
    _, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
    judge = ratings[ratings["method"] != "human"]
    for criterion, rows in judge.groupby("criterion", observed=True):
        low, high = (0, 1) if criterion == "groundedness" else (1, 3)
        on_scale = rows.assign(score=rows["score"].where(rows["score"].between(low, high)))
        draws = on_scale.pivot_table(index="item", columns="draw", values="score", observed=True, dropna=False)
        yield draws.to_numpy(), prompt in REASONED


@needs_data
def test_topical_chat_has_these_reliabilities(chat):
    # an independent computation from the same replies: ICC(1) .22-.60 and one .74 for a bare score, .63-.78 with an
    # explanation; reliability .59-.95 of 5 draws and .85-.986 of 20; variance within an item .05-.28
    found = [(variance_components(x[np.isfinite(x).all(axis=1)]), reasoned) for x, reasoned in chat]
    assert len(found) == 28
    bare = sorted(result.icc for result, reasoned in found if not reasoned)
    explained = sorted(result.icc for result, reasoned in found if reasoned)
    assert (len(bare), len(explained)) == (12, 16)
    assert [bare[0], bare[-2], bare[-1]] == pytest.approx([0.22, 0.60, 0.74], abs=0.005)
    assert [explained[0], explained[-1]] == pytest.approx([0.63, 0.78], abs=0.005)
    for n, low, high in ((5, 0.59, 0.95), (20, 0.85, 0.986)):
        reached = [float(result.reliability(n)) for result, _ in found]
        assert [min(reached), max(reached)] == pytest.approx([low, high], abs=0.005)
    within = [result.within for result, _ in found]
    assert [min(within), max(within)] == pytest.approx([0.05, 0.28], abs=0.005)


@needs_data
def test_a_few_draws_foretell_twenty(chat):
    # the interval of r from the first five replies of all items against all twenty, of the same items
    inside = []
    for x, _ in chat:
        pilot, whole = variance_components(x[:, :5]), variance_components(x)
        inside.append(pilot.interval.low <= whole.r <= pilot.interval.high)
    assert sum(inside) >= 27


@needs_data
def test_unread_replies_are_no_reason_to_drop_an_item(chat):
    for x, _ in chat:
        moments, reml = variance_components(x), variance_components(x, estimator="reml")
        assert moments.n_unread + np.isfinite(x).sum() + 20 * moments.n_dropped == x.size
        assert moments.icc == pytest.approx(reml.icc, abs=0.003)
