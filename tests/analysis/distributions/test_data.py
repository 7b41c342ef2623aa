"""Temperature, entropy and point scores on recorded judges: LLM-Rubric and Topical-Chat."""

import os

import numpy as np
import pytest

import calib
from calib.stats import expected_entropy, temperature_curve

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
CRITERIA = ("naturalness", "coherence", "engagingness", "groundedness")
LEVELS = [1, 2, 3, 4]


def rubric(part, question="Q0"):
    """Probabilities, items as rows; and every label with its item."""
    _, ratings = calib.load_llm_rubric(part)
    ratings = ratings[ratings["criterion"] == question]
    judge = ratings[ratings["method"] == "logprob"].pivot_table(index="item", columns="score", values="weight")
    labels = ratings[(ratings["method"] == "human") & ratings["score"].between(1, 4)]
    return judge[LEVELS], labels[labels["item"].isin(judge.index)]


@needs_data
def test_temperature_moves_the_aggregate():
    judge, _ = rubric("real")
    result = temperature_curve(judge.to_numpy(), LEVELS, taus=(0.5, 0.7, 1, 1.3, 2))
    # an independent computation from the same file
    assert [one.mean for one in result.forecasts] == pytest.approx(
        [3.441273, 3.370589, 3.282864, 3.209942, 3.077441], abs=6e-7
    )
    assert [one.entropy for one in result.forecasts] == pytest.approx(
        [0.756875, 0.871545, 0.984651, 1.063115, 1.179331], abs=6e-7
    )


@needs_data
def test_entropy_of_few_draws(twenty_draws):
    sizes = [3, 5, 10, 20]
    counts = [((draws[:, :, None] == levels).sum(axis=1), levels) for draws, _, levels in twenty_draws]
    # over the pooled items; the reference took one random subset, which scatters by .0026 at 3 draws
    reference = [0.287, 0.352, 0.409, 0.442]
    found = np.concatenate([expected_entropy(c, sizes) for c, _ in counts]).mean(axis=0)
    assert found[1:] == pytest.approx(reference[1:], abs=0.0015)
    assert abs(found[0] - reference[0]) < 3 * 0.0026
