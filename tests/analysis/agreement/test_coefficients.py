"""The coefficient under its own name, beside pandas' `method`."""

import numpy as np
import pytest

from calib.core.check import ArgumentError
from calib.stats import agreement, compare, label_ceiling, rank_judges, reliability

RNG = np.random.default_rng(12)
Y = RNG.integers(1, 6, 40).astype(float)
ONE, TWO = (np.clip(Y + RNG.integers(-k, k + 1, 40), 1, 5) for k in (1, 2))
PEOPLE = np.column_stack([Y, ONE, TWO])
CALLS = {
    "agreement": lambda **how: agreement(ONE, Y, **how),
    "compare": lambda **how: compare(ONE, TWO, Y, **how),
    "rank_judges": lambda **how: rank_judges({"one": ONE, "two": TWO}, Y, **how),
    "label_ceiling": lambda **how: label_ceiling(PEOPLE, Y, **how),
    "reliability": lambda **how: reliability(PEOPLE, Y, **how),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@each_call
def test_both_names_are_one_argument(call):
    named, as_pandas, twice = (
        call(**how)
        for how in ({"coefficient": "pearson"}, {"method": "pearson"}, {"method": "pearson", "coefficient": "pearson"})
    )
    assert named.signature == as_pandas.signature == twice.signature != call().signature
    assert repr(named._rows()) == repr(as_pandas._rows())
    assert str(named) == str(as_pandas) == str(twice)


@each_call
def test_two_coefficients_at_once_are_refused(call):
    with pytest.raises(ArgumentError) as caught:
        call(method="kendall", coefficient="pearson")
    assert caught.value.argument == "method"
    assert str(caught.value) == "`method` must be that of `coefficient` ('pearson'), but got 'kendall'."


@each_call
@pytest.mark.parametrize("name", ["method", "coefficient"])
@pytest.mark.parametrize("value", ["rho", "spa"])
def test_an_error_names_the_argument_that_was_given(call, name, value):
    with pytest.raises(ArgumentError) as caught:
        call(**{name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize("name", ["agreement", "compare", "rank_judges", "label_ceiling"])
def test_a_result_keeps_the_name_that_pandas_has(name):
    found = CALLS[name](coefficient="kendall")
    assert found.method == found.coefficient == "kendall"
