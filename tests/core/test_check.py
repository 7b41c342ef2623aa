"""The one door for input: what is read, what is refused, and the words of every refusal."""

import numpy as np
import pytest
from refusal import message

from calib.core import check


@pytest.mark.parametrize(
    "value", [[1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], dtype=np.float32), np.array([1, 2], dtype=object)]
)
def test_numbers_are_read_as_floats(value):
    out = check.array(value, "x", ndim=1)
    assert out.dtype == np.float64
    assert out.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "value",
    [[1, None, 3], [1, float("nan"), 3], np.ma.array([1, 99, 3], mask=[False, True, False]),
     np.ma.array([1.0, 99.0, 3.0], mask=[False, True, False])],
)  # fmt: skip
def test_missing_values_become_nan_and_the_input_stays(value):
    assert np.array_equal(check.array(value, "x"), [1, np.nan, 3], equal_nan=True)
    if isinstance(value, np.ma.MaskedArray):
        assert value.data.tolist() == [1, 99, 3]
        assert value.mask.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("value", "glimpse"),
    [(["a", "b"], "['a', 'b']"), ([[1, 2], [3]], "[[1, 2], [3]]"), ([1 + 2j], "[(1+2j)]"),
     (["x" * 99], "['" + "x" * 55 + "...")],
)  # fmt: skip
def test_message_for_what_is_not_numeric(value, glimpse):
    assert message(check.array, value, "x") == f"`x` must be numeric, but got {glimpse}."


@pytest.mark.parametrize(
    ("value", "ndim", "rule"),
    [
        ([[1.0, 2.0]], 1, "must have 1 dimension, but got shape (1, 2)."),
        ([1.0, 2.0, 3.0], 2, "must have 2 dimensions, but got shape (3,)."),
        ([1, -np.inf], None, "must be finite or NaN, but got -inf at (1,)."),
        ([[1, 2], [np.inf, 3]], None, "must be finite or NaN, but got inf at (1, 0)."),
    ],
)
def test_message_for_dimensions_and_infinity(value, ndim, rule):
    assert message(check.array, value, "x", ndim=ndim) == f"`x` {rule}"


def test_same_length_and_choice():
    check.same_length(x=[1, 2], y=(3, 4), groups=None, systems=["a", "b"])
    refused = message(check.same_length, x=[1, 2, 3], y=None, groups=["a"])
    assert refused == "`groups` must have the length of `x` (3), but got 1."
    assert check.choice("a", "method", ("a", "b")) == "a"
    assert message(check.choice, "A", "method", ("a", "b")) == "`method` must be one of 'a', 'b', but got 'A'."


@pytest.mark.parametrize("value", [0, 1, 95, -0.5, float("nan")])
def test_probability(value):
    assert check.probability(0.5, "confidence_level") == 0.5
    assert message(check.probability, value, "confidence_level") == (
        f"`confidence_level` must be between 0 and 1, but got {value!r}."
    )


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (["b", "a", "b"], [0, 1, 0]),
        ([30, 10, 20, 10], [0, 1, 2, 1]),
        (np.array([2.5, 0.5]), [0, 1]),
        (np.array(["y", "x", "y"]), [0, 1, 0]),
        (np.array(["x", "y", "x"], dtype=object), [0, 1, 0]),
        ([True, False], [0, 1]),
        (("b", "a"), [0, 1]),
        # labels of several kinds are not made equal by numpy's reading of them as text
        ([1, "1", 1], [0, 1, 0]),
        # tuples are labels: a document and a part of it
        ([("b", 1), ("a", 1), ("b", 2), ("b", 1)], [0, 1, 2, 0]),
        ([], []),
    ],
)
def test_codes_follow_the_order_of_appearance(labels, codes):
    out = check.codes(labels, "groups")
    assert out.tolist() == codes
    assert np.issubdtype(out.dtype, np.integer)


@pytest.mark.parametrize(
    "labels",
    [["a", None], ["a", float("nan")], np.array(["a", None], dtype=object), np.array(["a", np.nan], dtype=object),
     [1.5, np.nan], np.array([1.5, np.nan], dtype=np.float32), np.ma.array(["a", "b"], mask=[False, True]),
     np.array(["2021-03-01", "NaT"], dtype="datetime64[ns]")],
)  # fmt: skip
def test_message_for_a_missing_label(labels):
    assert message(check.codes, labels, "groups") == "`groups` must have no missing label, but got one at 1."


@pytest.mark.parametrize(
    ("labels", "place"), [(np.array([["a"], ["b"]]), 0), ([["a"], ["b"]], 0), (["a", "b", ["c", "d"]], 2)]
)
def test_labels_have_one_dimension(labels, place):
    assert message(check.codes, labels, "groups") == f"`groups` must have 1 dimension, but got a list at {place}."
    assert message(check.codes, "ab", "groups") == "`groups` must be a sequence of labels, but got the text 'ab'."


def test_a_label_of_pandas_that_is_missing():
    pandas = pytest.importorskip("pandas")
    for labels in (["a", pandas.NA], ["a", pandas.NaT], pandas.Series(["a", None], dtype="string")):
        assert message(check.codes, labels, "groups") == "`groups` must have no missing label, but got one at 1."
    assert check.codes(pandas.Series(["b", "a", "b"], index=[7, 8, 9]), "groups").tolist() == [0, 1, 0]


def test_an_error_has_no_method_message():
    """Tools such as Inspect AI take an attribute `message` of an error for its text."""
    assert not hasattr(check.ArgumentError("x", "must be given"), "message")
