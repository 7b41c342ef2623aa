"""What other programs compute on small data sets: see tests/golden/README.md.

Some of what ppi_py 0.2.3 returns is left out because it is wrong: one-sided intervals with lambda tuned
(`alternative` is dropped, they are two-sided), p-values with lambda tuned where it leaves [0, 1] (the interval
clips it, the p-value does not), quantiles of coarse scores (an exception where no grid point passes; where two
scores are equally near, the estimate hangs on rounding), and coefficients with lambda tuned (once for the
estimate, twice for the interval, which has another centre).
"""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from calib.analysis.means.rates import rogan_gladen_from_rates
from calib.core.numeric import wilson
from calib.stats import mean_interval, ppi_mean

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "ppi.json").read_text())


def data_of(record):
    """The inputs of a record; sets of yes and no are kept as counts: "10" is people yes, judge no."""
    data = GOLDEN["data"][record["data"]]
    if "counts" not in data:
        return data
    pairs = [[float(digit) for digit in pair] for pair, count in data["counts"].items() for _ in range(count)]
    y, f = zip(*pairs, strict=True)
    return {"y": y, "f": f, "u": [1.0] * data["unlabeled"]["1"] + [0.0] * data["unlabeled"]["0"]}


def asked(function):
    records = [record for record in GOLDEN["records"] if record["function"] == function]
    return pytest.mark.parametrize("record", records, ids=[f"{r.get('data', '')}: {r['source']}" for r in records])


def check(record, result):
    """Each expected number is an attribute of the result, or an end of its interval; null is no end."""
    for name, value in record["expected"].items():
        source = result.interval if name in ("low", "high") and hasattr(result, "interval") else result
        wanted = {"low": -math.inf, "high": math.inf}[name] if value is None else value
        assert_allclose(getattr(source, name), wanted, rtol=0, atol=record["tolerance"], err_msg=name)


def of_ppi_py(record):
    assert record["options"]["program"] == "ppi_py"
    return {name: value for name, value in record["options"].items() if name != "program"}


# --- means ------------------------------------------------------------------------------------------------------


@asked("ppi_mean")
def test_means(oracles, record):
    data, times = data_of(record), record.get("times", 1)  # lambda is a factor of the judge's scores
    y, f, u = (np.array(data[name], dtype=float) for name in "yfu")
    groups = {"groups": data["groups"], "groups_unlabeled": data["groups_u"]} if "groups" in data else {}
    estimate = oracles.mean if "program" in record["options"] else partial(ppi_mean, **groups)
    check(record, estimate(y, f * times, u * times, **record["options"]))


@asked("mean_interval")
def test_means_of_labels(record):
    data = data_of(record)
    groups = None if record.get("ungrouped") else data["groups"]
    check(record, mean_interval(data["y"], groups=groups, **record["options"]))


@asked("normal")
def test_the_classical_interval_of_ppi_py_has_a_normal_quantile_and_divides_by_n(record):
    y, level = np.array(data_of(record)["y"]), record["options"]["confidence_level"]
    result = mean_interval(y, estimator="classical", confidence_level=level)
    error = result.std_error * math.sqrt(1 - 1 / len(y))
    half = error * stats.norm.ppf((1 + level) / 2)
    expected = [record["expected"][name] for name in ("estimate", "low", "high")]
    assert_allclose([result.estimate, result.estimate - half, result.estimate + half], expected, rtol=0, atol=1e-12)


@asked("stratified")
def test_strata_as_in_glide_are_its_means_weighted_by_their_sizes(oracles, record):
    data = data_of(record)
    y, f, u, gold, rest = (np.array(data[name]) for name in ("y", "f", "u", "strata", "strata_u"))
    sizes = [((gold == k).sum() + (rest == k).sum()) / (len(gold) + len(rest)) for k in np.unique(gold)]
    parts = [oracles.mean(y[gold == k], f[gold == k], u[rest == k], program="glide") for k in np.unique(gold)]
    estimate = sum(size * part.estimate for size, part in zip(sizes, parts, strict=True))
    error = math.hypot(*(size * part.std_error for size, part in zip(sizes, parts, strict=True)))
    half = stats.norm.ppf((1 + record["options"]["confidence_level"]) / 2) * error
    found = {"estimate": estimate, "std_error": error, "low": estimate - half, "high": estimate + half}
    for name, value in record["expected"].items():
        assert_allclose(found[name], value, rtol=0, atol=record["tolerance"], err_msg=name)


@asked("ppi_quantile")
def test_quantiles(oracles, record):
    data = data_of(record)
    check(record, oracles.quantile(data["y"], data["f"], data["u"], **of_ppi_py(record)))


# --- coefficients -----------------------------------------------------------------------------------------------


@asked("ppi_ols")
def test_least_squares(oracles, record):
    data = data_of(record)
    check(record, oracles.ols(*(data[name] for name in ("x", "y", "f", "x_u", "u")), **of_ppi_py(record)))


@asked("ppi_logistic")
def test_logistic_regression(oracles, record):
    data = data_of(record)
    check(record, oracles.logistic(*(data[name] for name in ("x", "y", "f", "x_u", "u")), **of_ppi_py(record)))


# --- rates ------------------------------------------------------------------------------------------------------


@asked("wilson")
def test_wilson(record):
    k, n, confidence = (record["options"][name] for name in ("k", "n", "confidence"))
    ends = wilson(k, n, special.ndtri((1 + confidence) / 2))
    assert_allclose(ends, list(record["expected"].values()), rtol=0, atol=record["tolerance"])


@asked("rogan_gladen")
def test_rogan_and_gladen(record):
    check(record, rogan_gladen_from_rates(**record["options"]))
