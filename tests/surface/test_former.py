"""Names of the release before: they work, and say what is in their place."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import stats

RNG = np.random.default_rng(1)
MEANS, VARIANCES = RNG.normal(size=(9, 3)), RNG.exponential(size=(9, 3))
P, Y, LEVELS = RNG.dirichlet([1, 1, 1], 40), RNG.integers(1, 4, 40), [1, 2, 3]


def same(one, other):
    assert repr(one) == repr(other)  # in which NaN equals itself


def test_components():
    with pytest.warns(FutureWarning, match="`exact_components` is `variance_components` now"):
        same(
            stats.exact_components(MEANS[:, 0], VARIANCES[:, 0]),
            stats.variance_components(MEANS[:, 0], VARIANCES[:, 0]),
        )
    with pytest.warns(FutureWarning, match="`chain_components` is `variance_components`"):
        same(stats.chain_components(MEANS, VARIANCES), stats.variance_components(MEANS, VARIANCES))
    with pytest.warns(FutureWarning, match="`method` is called `estimator` now"):
        found = stats.variance_components(MEANS, method="reml")
    same(found, stats.variance_components(MEANS, estimator="reml"))
    assert found.method == found.estimator == "reml"
    assert stats.ChainComponents is stats.VarianceComponents


def test_components_of_tables():
    item, draw = (place.ravel() for place in np.indices((9, 3)))
    table = pd.DataFrame({"item": item.astype(str), "draw": draw, "score": MEANS.ravel(), "method": "sample"})
    table = table.assign(criterion="fluency", rater="judge")
    with pytest.warns(FutureWarning, match="`chain_components` is `variance_components`"):
        same(calib.chain_components(table).one(), calib.variance_components(table).one())


def test_retemper():
    counts = [[3, 0, 1], [0, 0, 0]]
    with pytest.warns(FutureWarning, match="`retemper` is `temper` with `source` now"):
        found = stats.retemper(counts, source=0.5, target=2)
    np.testing.assert_array_equal(found, stats.temper(counts, 2, source=0.5, pseudocount=0.1))


@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_fields_of_a_temperature():
    found = stats.fit_temperature(P, Y, LEVELS)
    assert found.method == found.estimator == "likelihood-ratio"
    before, after, base_rates = found.forecasts
    wanted = {"nll_before": before.nll, "rps_after": after.rps, "skill_after": after.skill, "mean_before": before.mean}
    for name, value in (wanted | {"mean_human": base_rates.mean, "nll_climatology": base_rates.nll}).items():
        with pytest.warns(FutureWarning, match=f"`{name}` is in `forecasts` now"):
            assert getattr(found, name) == value
    for name in ("rps_later", "mode_after", "nonsense"):
        with pytest.raises(AttributeError, match=f"'Temperature' object has no attribute '{name}'"):
            getattr(found, name)


def test_fields_of_a_curve():
    curve = stats.temperature_curve(P, LEVELS, taus=[0, 1])
    for name, number in (("taus", "tau"), ("expectation", "mean"), ("entropy", "entropy")):
        with pytest.warns(FutureWarning, match=f"`{name}` is in `forecasts` now"):
            assert getattr(curve, name) == tuple(getattr(one, number) for one in curve.forecasts)
    assert stats.TemperatureCurve is stats.Temperature
