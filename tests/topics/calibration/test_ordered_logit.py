"""Proportional odds: reference values, statsmodels, ridge, levels that nobody used."""

import numpy as np
import pytest

import calib
from calib.stats import ordered_logit

CRITERIA = {
    "coherence": ([0.71672, 2.85987, 4.52906, 5.83356], 1.39437, -2132.9618),
    "relevance": ([-1.41516, 1.00546, 2.72598, 5.14820], 1.40994, -1849.0318),
}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_summeval_has_the_reference_values(criterion):
    """Reference: calibration.md G1 and G2, which statsmodels' OrderedModel gives as well."""
    try:
        _, ratings = calib.datasets.load_summeval_judges()
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))
    rows = ratings[ratings["criterion"] == criterion]
    people = rows[rows["method"] == "human"].pivot(index="item", columns="rater", values="score").median(axis=1)
    digit = rows[rows["rater"] == "gpt-4o"].set_index("item")["score"].reindex(people.index)
    fit = ordered_logit(digit, people, ridge=0.0, pseudo=0.0)
    thresholds, slope, log_likelihood = CRITERIA[criterion]
    np.testing.assert_allclose(fit.thresholds, thresholds, atol=5.1e-6)
    np.testing.assert_allclose(fit.slopes, [slope], atol=5.1e-6)
    assert fit.log_likelihood == pytest.approx(log_likelihood, abs=5.1e-5)
