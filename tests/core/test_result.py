"""The display hooks of the results: text, signature, frame, html; and that results stay as they are."""

import dataclasses
import math
import sys
from html import escape
from inspect import cleandoc

import numpy as np
import pytest

from calib import __version__
from calib.core.result import Estimate, Result, bracket, short
from calib.stats import (
    Interval,
    agreement,
    confidence_sequence,
    convergence,
    mean_interval,
    ppi_difference,
    ppi_mean,
    ppi_ols,
)

NAN = math.nan
X, Y = [1, 2, 3, 1, 3, 2, 2, 2], [1, 2, 3, 1, 2, 3, 1, 4]
GROUPS, SYSTEMS = list("aaabbbcc"), list("xyzxyzxy")
GOLD = [4, 3, 5, 4, 2, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8], [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3]
DRAWS = [[3, 4, 3], [1, 2, 2], [5, 5, 4], [2, 1, 3]]


def results():
    return {
        "agreement": agreement(X, Y, groups=GROUPS, systems=SYSTEMS, level="group"),
        "convergence": convergence(DRAWS, labels=[3, 2, 5, 1], rng=0),
        "mean": mean_interval(GOLD[0]),
        "ppi": ppi_mean(*GOLD, min_labels=6),
        "difference": ppi_difference(
            [4, 5, 4, NAN, NAN], [3, 3, 4, NAN, NAN], [4, 5, 4, 4, 5], [3, 3, 3, 3, 3], estimator="ppi"
        ),
    }


each_result = pytest.mark.parametrize("name", list(results()))


# --- text -------------------------------------------------------------------------------------------------------


def test_text_of_agreement():
    result = agreement(X[:6], Y[:6], method="kendall_c")
    low, high = (f"{end:.4g}" for end in result.interval)
    assert str(result) == f"Kendall tau-c over items = 0.6667, 95 % CI [{low}, {high}] (n = 6)"
    text = str(agreement(X, Y, groups=GROUPS, level="group", confidence_level=0.9))
    assert text.startswith("Spearman rho within groups = 0.75, 90 % CI [")
    assert text.endswith("] (n = 2, 1 group without a correlation left out)")
    text = str(agreement(X, Y, groups=GROUPS, level="group", constant="zero", method="kendall"))
    assert text.startswith("Kendall tau-b within groups = 0.4444, 95 % CI [")
    assert text.endswith("] (n = 3)")
    text = str(agreement(X, Y, systems=SYSTEMS, level="system", method="pearson"))
    assert text.startswith("Pearson r over systems = ")
    assert text.endswith(", no interval: over 3 systems that are fixed no interval was found to hold (n = 3)")


def test_text_of_means():
    assert str(mean_interval([3, 4, 4, 5, 4])) == (
        "human mean = 4, 95 % CI [3.122, 4.878], from 5 human labels (people alone)"
    )
    texts = {m: str(ppi_mean(*GOLD, estimator=m, confidence_level=0.9)) for m in ("ppi", "ppi++", "judge_only")}
    assert texts["ppi"].startswith("human mean = 3.708, 90 % CI [")
    assert texts["ppi"].endswith("], from 6 human labels and 14 judge scores (PPI) [warnings: few_labels]")
    assert texts["ppi++"].endswith("], from 6 human labels and 14 judge scores (PPI++) [warnings: few_labels]")
    assert texts["judge_only"].startswith("judge mean = 3.807, 90 % CI [")
    assert texts["judge_only"].endswith(
        "], from no human labels and 14 judge scores (judge alone: not an interval for the human mean)"
    )
    assert str(results()["difference"]).startswith("human mean difference = ")


def test_text_of_convergence():
    text = str(results()["convergence"])
    assert text.startswith(
        "the mean of 1 draw is 0.5774 points (RMSE) from the mean of all 3; the mean of all 3 is itself"
    )
    assert " from that of endless draws (extrapolated); agreement with people 0.8595 of 1, 0.8 of all 3; r = " in text
    assert "from the exact expectation" in str(convergence(DRAWS, exact=[3, 2, 5, 2], rng=0))
    assert "people" not in str(convergence(DRAWS, rng=0))


def test_short_and_bracket_and_no_interval():
    assert " ".join(map(short, (0.0123456, 1600.0, 123456.0, NAN, -0.5))) == "0.01235 1600 1.235e+05 nan -0.5"
    assert bracket(Interval(-0.5, 0.25), 0.999) == "99.9 % CI [-0.5, 0.25]"
    assert bracket(Interval(0.41, 0.67), 0.57) == "57 % CI [0.41, 0.67]"
    assert str(agreement(X, Y, interval="none")).endswith(", no interval (n = 8)")
    assert "nan" not in str(mean_interval([4, 4, 4]))


# --- signature --------------------------------------------------------------------------------------------------


UNREAD = [[3, NAN, 3], *DRAWS[1:]]
IN_GROUPS = {"groups": list("aabbcc"), "groups_unlabeled": list("ddeeffgg"), "confidence_level": 0.8}
NESTED = {"groups": [*GROUPS, "c"], "systems": [*SYSTEMS, "z"], "level": "group", "systems_are": "random"}


@pytest.mark.parametrize(
    ("make", "terms"),
    [
        (lambda: agreement(X[:6], Y[:6]), "spearman|level:item|ci:item-jackknife|cl:0.95|n:6|missing:0"),
        (
            lambda: agreement([*X, NAN], [*Y, 1], method="kendall", **NESTED),
            "kendall|level:group|ci:two-way-jackknife|cl:0.95|n:8|missing:1|groups:2|systems:3|systems-are:random"
            "|constant:skip|skipped:1",
        ),
        (
            lambda: agreement(
                X, Y, groups=GROUPS, level="group", constant="zero", interval="none", confidence_level=0.9
            ),
            "spearman|level:group|ci:none|cl:0.9|n:8|missing:0|groups:3|constant:zero|skipped:1",
        ),
        (lambda: mean_interval(GOLD[0]),
         "t|of:human-mean|alt:two-sided|cl:0.95|labels:6|n:6|lam:0|guarantee:asymptotic"),
        (lambda: ppi_mean(*GOLD, estimator="ppi"),
         "ppi|of:human-mean|alt:two-sided|cl:0.95|labels:6|n:14|lam:1|guarantee:asymptotic"),
        (lambda: ppi_mean(*GOLD, estimator="ppi++", **IN_GROUPS),
         "ppi++|loo|of:human-mean|alt:two-sided|cl:0.8|labels:6|n:14|lam:{0.lam:.4g}|design:groups|groups:3|guarantee:asymptotic"),
        (lambda: ppi_mean([0, 1] * 6, [0, 1] * 6, [0, 1, 1], target="benchmark", alternative="less"),
         "mover-jeffreys-clopper-pearson|of:human-mean|alt:less|cl:0.95|labels:12|n:15|target:benchmark|guarantee:measured"),
        (lambda: results()["difference"],
         "ppi|of:human-mean-difference|alt:two-sided|cl:0.95|labels:3|n:5|lam:1|guarantee:asymptotic"),
        (lambda: convergence(UNREAD, n_subsets=7, coefficient="kendall", rng=0),
         "convergence|to:all-draws|coef:kendall|cl:0.95|n:4|draws:3|unread:1|subsets:7|seed:0"),
        (lambda: convergence(UNREAD, n_subsets=7, rng=np.random.default_rng(0)),
         "convergence|to:all-draws|coef:spearman|cl:0.95|n:4|draws:3|unread:1|subsets:7"),
        (lambda: convergence(DRAWS, exact=[3, 2, 5, 2], rng=0),
         "convergence|to:exact|coef:spearman|cl:0.95|n:4|draws:3|unread:0|subsets:200|seed:0"),
    ],
)  # fmt: skip
def test_signatures(make, terms):
    result = make()
    assert result.signature == f"{terms.format(result)}|v:{__version__}"


def test_a_signature_joins_terms():
    class Made(Result):
        def _terms(self):
            return {"ppi": True, "x": 0.123456, "y": None, "z": "a b"}

    assert Made().signature == f"ppi|x:0.1235|z:a b|v:{__version__}"


# --- frame and html ---------------------------------------------------------------------------------------------


@each_result
def test_frames_have_every_digit(name):
    """Their columns are held by `tests/golden`."""
    pytest.importorskip("pandas")
    result = results()[name]
    frame = result.to_frame()
    if name == "convergence":
        assert tuple(frame["rmse"][:-1]) == result.rmse[:-1]
        assert np.isnan(frame["rmse"].iloc[-1])  # all draws beside themselves
        assert (tuple(frame["rmse_limit"]), tuple(frame["draws"])) == (result.rmse_limit, result.sizes)
        return
    [row] = frame.to_dict("records")
    assert (row["estimate"], row["std_error"], row["n"]) == (result.estimate, result.std_error, result.n)
    assert (row["conf_low"], row["conf_high"]) == result.interval


@each_result
def test_html_says_what_may_be_concluded_and_shows_six_columns_at_most(name):
    pytest.importorskip("pandas")
    result = results()[name]
    html = result._repr_html_()
    assert f"<p>{escape(result.conclusion)}</p>" in html
    assert "nan" not in html.lower()
    assert 1 <= html.count("<th ") <= 6
    assert f"all {result.to_frame().shape[1]} columns: <code>.to_frame()</code>" in html
    if name != "convergence":
        assert short(result.estimate) in html
    assert "nan" not in agreement(X, Y, interval="none")._repr_html_().lower()


@each_result
def test_without_pandas_there_is_no_html(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    result = results()[name]
    assert result._repr_html_() is None
    with pytest.raises(ImportError):
        result.to_frame()


# --- frozen -----------------------------------------------------------------------------------------------------


@each_result
def test_results_are_frozen_values(name):
    result = results()[name]
    field = dataclasses.fields(result)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(result, field, 0)
    assert not hasattr(result, "__dict__")
    assert hash(result) == hash(dataclasses.replace(result))
    numbers = [v for v in dataclasses.astuple(result) if not isinstance(v, str | tuple | None)]
    assert all(type(v) in (int, float) for v in numbers), [type(v) for v in numbers]


@each_result
def test_nothing_is_rounded_inside(name):
    result = results()[name]
    # the standard error of this agreement is .25; its p-value is that of a t of 3 with one degree of freedom
    field = {"convergence": "rmse", "agreement": "p_value"}.get(name, "std_error")
    value = np.ravel(getattr(result, field))[0]
    assert value != np.round(value, 6)


def test_a_result_of_many_numbers_has_a_row_for_each():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y, f, x = rng.normal(size=12), rng.normal(size=30), np.column_stack([np.ones(30), rng.normal(size=30)])
    coefficients = ppi_ols(x[:12], y, f[:12], x[12:], f[12:], names=["one", "length"])
    looks = confidence_sequence(y, f[:12], f, bounds=None)
    for result, column, wanted in ((coefficients, "term", ["one", "length"]), (looks, "n_labels", [10, 11, 12])):
        frame = result.to_frame()
        assert frame.equals(pd.DataFrame(result._rows()))
        assert frame[column].tolist() == wanted
        assert frame["conf_low"].tolist() == result.low.tolist()


@pytest.mark.parametrize("written", [lambda doc: doc, cleandoc])
def test_a_docstring_has_the_shared_attributes_as_each_python_keeps_it(written, monkeypatch):
    """From Python 3.13 on the compiler takes the indent away."""
    monkeypatch.setattr(Estimate, "__doc__", written(Estimate.__doc__))
    doc = "A share.\n\n    Attributes\n    ----------\n    warnings : tuple of str\n        Its own.\n    "
    child = type("Child", (Estimate,), {"__doc__": written(doc), "__slots__": ()})
    lines = cleandoc(child.__doc__).splitlines()
    assert [line for line in lines if " : " in line] == [
        "estimate : float", "interval : Interval", "confidence_level : float", "warnings : tuple of str"
    ]  # fmt: skip


def test_without_docstrings_as_under_oo_a_result_is_made(monkeypatch):
    monkeypatch.setattr(Estimate, "__doc__", None)
    assert type("Child", (Estimate,), {"__doc__": "Child(estimate)", "__slots__": ()}).__doc__ == "Child(estimate)"


def test_results_are_equal_where_a_field_is_not_a_number():
    one, other = (mean_interval(GOLD[0]) for _ in range(2))
    alike = [dataclasses.replace(result, lam=NAN) for result in (one, other)]
    assert alike[0] == alike[1]
    assert hash(alike[0]) == hash(alike[1])
    assert alike[0] != one != "text"
