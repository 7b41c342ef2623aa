"""Temperature, entropy and point scores on recorded judges: LLM-Rubric and Topical-Chat."""

import os

import numpy as np
import pytest

import calib
from calib.stats import CalibWarning, expected_entropy, fit_temperature, point_scores, temperature_curve

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
@pytest.mark.parametrize(
    ("part", "n", "tau", "nll", "rps"),
    [
        # an independent computation from the same files
        ("real", 223, 2.676, (1.4100, 1.2434), (0.1798, 0.1495, 0.1405)),
        ("synth", 662, 4.361, (1.9700, 1.2239), (0.2294, 0.1478, 0.1453)),
    ],
)
def test_llm_rubric_is_too_sure_of_itself_and_knows_less_than_base_rates(part, n, tau, nll, rps):
    judge, labels = rubric(part)
    p = judge.loc[labels["item"]].to_numpy()
    with pytest.warns(CalibWarning, match="no_skill"):
        result = fit_temperature(p, labels["score"].to_numpy(), LEVELS, groups=labels["item"].tolist())
    assert (result.n, result.n_groups, result.n_missing, result.n_impossible) == (n, 223, 0, 0)
    assert result.tau == pytest.approx(tau, abs=5e-4)
    assert (result.forecasts[0].nll, result.forecasts[1].nll) == pytest.approx(nll, abs=6e-5)
    assert (result.forecasts[0].rps, result.forecasts[1].rps, result.forecasts[2].rps) == pytest.approx(rps, abs=6e-5)
    assert 1 < result.interval.low < tau < result.interval.high < 6
    assert result.forecasts[0].skill < result.forecasts[1].skill < 0
    # the judge's mean is .46 and .66 points above people's; a temperature moves it most of the way
    assert (
        result.forecasts[0].mean - result.forecasts[2].mean
        > 2.5 * (result.forecasts[1].mean - result.forecasts[2].mean)
        > 0
    )


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
    for correction, reference, scatter in (
        # over the pooled items; the reference took one random subset, which scatters by this much at 3 draws
        ("none", [0.287, 0.352, 0.409, 0.442], 0.0026),
        ("miller-madow", [0.363, 0.415, 0.451, 0.468], 0.0033),
    ):
        found = np.concatenate([expected_entropy(c, sizes, correction=correction) for c, _ in counts]).mean(axis=0)
        assert found[1:] == pytest.approx(reference[1:], abs=0.0015)
        assert abs(found[0] - reference[0]) < 3 * scatter


@needs_data
@pytest.mark.filterwarnings("ignore:unequal_ties")
def test_point_scores_of_28_runs(twenty_draws):
    found = [point_scores(draws, human) for draws, human, _ in twenty_draws]
    # an independent computation from the same replies; its single draw is the first
    reference = {
        "pearson": (0.517, 0.459, 0.400, 0),
        "spearman": (0.525, 0.458, 0.402, 0),
        "kendall_a": (0.348, 0.263, 0.235, 0),
        "kendall": (0.408, 0.398, 0.349, 11),
        "kendall_c": (0.419, 0.345, 0.378, 0),
        "gamma": (0.472, 0.584, 0.503, 28),
        "pairs": (0.576, 0.473, 0.461, 3),
    }
    first = [point_scores(draws[:, :1], human) for draws, human, _ in twenty_draws]
    for method, (mean, mode, single, wins) in reference.items():
        pairs = np.array([[r.value(name, method) for name in ("mean", "mode")] for r in found])
        assert pairs.mean(axis=0) == pytest.approx([mean, mode], abs=6e-4)
        assert (pairs[:, 1] > pairs[:, 0]).sum() == wins
        assert np.mean([r.value("draw", method) for r in first]) == pytest.approx(single, abs=6e-4)
    ties = np.mean([[row.ties for row in r.readings] + [r.ties_human] for r in found], axis=0)
    assert ties[[0, 2, 4]] == pytest.approx([0.07, 0.45, 0.20], abs=0.006)
    assert all(r.warnings for r in found)
