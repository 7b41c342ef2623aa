"""From which confidence on a judge may decide alone: reference values, the guarantee, odd input."""

import numpy as np
import pytest
from scipy import stats as laws

import calib
from calib.analysis.calibration.accept_threshold import clopper_pearson_end, zero_error_labels
from calib.stats import accept_threshold


def jury():
    """Agreement of nine judges about 3,200 answers, the error of their majority, and the question of each."""
    try:
        items, ratings = calib.datasets.load_triviaqa_judges()
    except calib.datasets.DatasetError as error:
        pytest.skip(str(error))
    said = ratings.pivot(index="item", columns="rater", values="score")
    votes = said.drop(columns="human").sum(axis=1)
    question = items.set_index("item")["group"].reindex(said.index)
    return np.maximum(votes, 9 - votes).to_numpy(), ((votes >= 5) != (said["human"] == 1)).to_numpy(), question


def test_triviaqa_has_the_reference_values():
    """Reference: calibration.md G7, the 400 answers to the first 50 questions by id."""
    sure, wrong, question = jury()
    first = question.isin(sorted(set(question))[:50]).to_numpy()
    result = accept_threshold(sure[first], wrong[first], pool=sure)
    at = {point.threshold: point for point in result.curve}
    assert [(at[a].m, at[a].errors) for a in (9, 8, 6, 5)] == [(77, 2), (239, 12), (354, 53), (400, 78)]
    np.testing.assert_allclose([at[a].bound for a in (9, 8, 6, 5)], [0.06764, 0.07350, 0.17691, 0.22275], atol=5.1e-6)
    rest = [(wrong[~first][sure[~first] >= a]) for a in (9, 8, 6, 5)]
    assert [(len(part), part.sum()) for part in rest] == [(542, 13), (1927, 55), (2639, 196), (2800, 264)]


def test_bounds_and_the_least_number_of_labels_have_the_reference_values():
    """Reference: calibration.md 3.1; the bound solves P(Bin(m, U) <= e) = delta."""
    np.testing.assert_allclose(
        clopper_pearson_end([2, 5, 0], [60, 100, 30], 0.1), [0.086278, 0.090771, 0.073881], atol=5.1e-7
    )
    assert laws.binom.cdf(5, 100, clopper_pearson_end(5, 100, 0.1)) == pytest.approx(0.1)
    assert [zero_error_labels(risk, 0.9) for risk in (0.05, 0.1, 0.15, 0.2)] == [45, 22, 15, 11]
    assert [zero_error_labels(risk, 0.95) for risk in (0.05, 0.1, 0.15, 0.2)] == [59, 29, 19, 14]
