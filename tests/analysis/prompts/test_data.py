"""Prompts on recorded judges: what one prompt's interval leaves out, averages with gold, the order of systems."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import calib
from calib.datasets import LLM_SUMMEVAL_PROMPTS, TOPICAL_CHAT_PROMPTS, load_llm_summeval
from calib.stats import g_study, prompt_mean

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")


def half(result):
    return (result.interval.high - result.interval.low) / 2


@pytest.fixture(scope="module")
def summeval():
    """Scores (items, prompts), expert means, article and system of each item, by criterion."""
    items, ratings = load_llm_summeval(reading="shen")
    people = ratings["method"] == "human"
    human = ratings[people].groupby(["criterion", "item"], observed=True)["score"].mean()
    judged = ratings[~people].pivot_table(index=["criterion", "item"], columns="prompt", values="score", observed=True)
    judged = judged[list(LLM_SUMMEVAL_PROMPTS)]
    about = items.set_index("item")
    return {
        criterion: (table.to_numpy(), human[criterion].reindex(table.index).to_numpy(), about.loc[table.index])
        for criterion, table in ((c, judged.loc[c]) for c in human.index.levels[0])
    }


@needs_data
@pytest.mark.parametrize(
    ("criterion", "half_width", "components"),
    [
        # an independent computation from the same replies: random-effects half-width, and item, prompt, residual
        ("coherence", 1.02, (0.4985, 0.6692, 0.5360)),
        ("consistency", 0.36, (0.7088, 0.0810, 0.5021)),
        ("fluency", 0.88, (0.5353, 0.5034, 0.5312)),
        ("relevance", 0.48, (0.4724, 0.1454, 0.4972)),
    ],
)
def test_five_formats_of_a_prompt_leave_far_more_open_than_one_of_them_claims(
    summeval, criterion, half_width, components
):
    scores, _, about = summeval[criterion]
    assert scores.shape == (1200, 5)
    result = prompt_mean(scores)
    assert half(result) == pytest.approx(half_width, abs=0.0051)
    found = (result.item_variance * 1200, result.s2_prompt, result.noise_variance * 1200)
    assert found == pytest.approx(components, abs=6e-5)
    study = g_study(scores, confidence_level=None)
    assert [part.estimate for part in study.components] == pytest.approx(components, abs=6e-5)
    alone = [(high - low) / 2 for low, high in result.prompt_intervals]
    assert 0.025 < min(alone) < max(alone) < 0.085
    assert result.range > 5 * result.prompt_width
    grouped = prompt_mean(scores, groups=about["group"])
    assert grouped.n_groups == 100
    assert half(grouped) == pytest.approx(half(result), rel=0.03)  # the prompts decide
    assert grouped.prompt_width > 1.4 * result.prompt_width


@needs_data
@pytest.mark.parametrize(
    ("criterion", "single", "together"),
    [
        ("coherence", (0.444, 0.339, 0.424, 0.430, 0.418), 0.541),
        ("relevance", (0.448, 0.440, 0.384, 0.244, 0.393), 0.505),
    ],
)
def test_the_mean_of_five_formats_agrees_better_than_each(summeval, criterion, single, together):
    x, experts, _ = summeval[criterion]
    assert [spearmanr(column, experts).statistic for column in x.T] == pytest.approx(single, abs=6e-4)
    assert spearmanr(x.mean(axis=1), experts).statistic == pytest.approx(together, abs=6e-4)


@needs_data
@pytest.mark.parametrize(
    ("criterion", "spread", "width", "clustered", "apart"),
    [
        # an independent computation from the same replies; its widths (mean over prompts) are of another interval
        ("naturalness", 0.289, 0.117, 0.142, 10),
        ("coherence", 0.656, 0.122, 0.150, 16),
        ("engagingness", 0.297, 0.113, 0.154, 12),
        ("groundedness", 0.329, 0.084, 0.111, 13),
    ],
)
def test_seven_prompts_on_topical_chat(topical_chat, criterion, spread, width, clustered, apart):
    scores, dialogue = topical_chat[criterion]
    result, grouped = prompt_mean(scores), prompt_mean(scores, groups=dialogue)
    assert 337 <= result.n <= 343
    assert result.range == pytest.approx(spread, abs=6e-4)
    assert result.prompt_width == pytest.approx(width, rel=0.012)
    assert grouped.prompt_width == pytest.approx(clustered, rel=0.055)  # t with 59 df and G / (G - 1): 3 % more
    ends = result.prompt_intervals
    assert sum(a.high < b.low for a in ends for b in ends) == apart
    assert result.range > 2.4 * result.prompt_width
    assert half(result) > result.prompt_width / 2 * 1.4


@pytest.fixture(scope="module")
def topical_chat():
    """Mean of the replies on the scale, for items with ten of them under every prompt."""
    draws, dialogue = [], None
    for prompt in TOPICAL_CHAT_PROMPTS:
        items, ratings = calib.load_topical_chat(prompt, reading="chiang-lee")
        dialogue = items.set_index("item")["group"]
        draws.append(ratings[ratings["method"] != "human"].assign(prompt=prompt))
    table = pd.concat(draws)
    top = np.where(table["criterion"] == "groundedness", 1, 3)
    table = table[(table["score"] >= np.where(top == 1, 0, 1)) & (table["score"] <= top)]
    by = {"index": ["criterion", "item"], "columns": "prompt", "values": "score", "observed": True}
    found = table.pivot_table(**by)[(table.pivot_table(**by, aggfunc="size") >= 10).all(axis=1)]
    return {
        criterion: (rows.to_numpy(), dialogue.loc[rows.index.get_level_values("item")].tolist())
        for criterion, rows in found.groupby(level="criterion", observed=True)
    }
