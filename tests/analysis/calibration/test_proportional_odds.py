"""The engine: many tables at once, and tables that are hard."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from calib.analysis.calibration.proportional_odds import (
    Persons,
    chances,
    counted_rows,
    derivatives,
    distinct_rows,
    fitted,
    log_likelihood,
    with_pseudo,
)


def tables(seed=0, n=30, rows=6, levels=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 2))
    return z, rng.multinomial(60, np.full(rows * levels, 1 / (rows * levels)), n).reshape(n, rows, levels).astype(float)


def test_many_tables_at_once_are_each_as_alone():
    z, counts = tables()
    penalty = np.linspace(0.1, 5, 30)[:, None] * np.ones(2)
    a, b, value = fitted(z, counts, penalty)
    for i in (0, 11, 29):
        one = fitted(z, counts[i], penalty[i])
        for part, alone in zip((a[i], b[i], value[i]), one, strict=True):
            np.testing.assert_allclose(part, alone, atol=1e-7)


def test_inputs_and_penalties_may_differ_between_tables():
    z, counts = tables(n=3)
    a, b, _ = fitted(np.stack([z, 2 * z, 3 * z])[:, None], counts, np.ones((3, 1, 2)))
    assert (a.shape, b.shape) == ((3, 3, 3), (3, 3, 2))
    np.testing.assert_allclose(b[1, 2], fitted(2 * z, counts[2], np.ones(2))[1], atol=1e-7)


def test_no_other_point_is_higher():
    z, counts = tables(n=1)
    a, b, value = fitted(z, counts[0], np.ones(2))
    rng = np.random.default_rng(1)
    for _ in range(200):
        other_a, other_b = np.sort(a + 0.05 * rng.normal(size=3)), b + 0.05 * rng.normal(size=2)
        assert log_likelihood(other_a, other_b, z, counts[0]) - (other_b**2).sum() / 2 <= value + 1e-9


def test_where_it_starts_does_not_matter():
    z, counts = tables(n=1)
    far = (np.array([-9.0, 0.0, 9.0]), np.array([5.0, -5.0]))
    for part, other in zip(fitted(z, counts[0], np.ones(2)), fitted(z, counts[0], np.ones(2), far), strict=True):
        np.testing.assert_allclose(part, other, atol=1e-6)


HARD = {
    "one label": np.eye(1, 12).reshape(3, 4),
    "one row": np.array([[5.0, 1, 1, 5], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "ends only": np.array([[5.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 5]]),
    "middle only": np.array([[0.0, 5, 0, 0], [0, 5, 0, 0], [0, 5, 0, 0]]),
    "separated": np.array([[9.0, 0, 0, 0], [0, 9, 9, 0], [0, 0, 0, 9]]),
    "none": np.zeros((3, 4)),
    "millions": np.array([[1e12, 1, 1, 1], [1, 1e12, 1, 1], [1, 1, 1, 1e12]]),
    "a trace": np.full((3, 4), 1e-12),
}


@pytest.mark.parametrize("penalty", [0.0, 1.0, 1e9])
@pytest.mark.parametrize("table", HARD)
def test_hard_tables_have_an_answer(table, penalty):
    z = np.array([[-1.0, 1e6], [0.0, 1e6], [1.0, -2e6]]) * [1, 1e-6]
    a, b, _ = fitted(z, HARD[table], np.full(2, penalty))
    assert np.isfinite(a).all()
    assert np.isfinite(b).all()
    assert (np.diff(a) > 0).all()


def test_inputs_that_say_the_same_share_their_slope():
    z, counts = tables(n=1)
    twice = np.column_stack([z[:, 0], z[:, 0]])
    alone = fitted(z[:, :1], counts[0], np.zeros(1))[1]
    assert fitted(twice, counts[0], np.zeros(2))[1].sum() == pytest.approx(alone[0], abs=1e-5)
    half = fitted(twice, counts[0], np.ones(2))[1]
    assert half[0] == pytest.approx(half[1])


def test_chances_are_differences_of_the_cumulative_ones_and_never_none():
    a = np.array([-2.0, -1.9, 3.0])
    at = np.array([-3.0, 0.0, 3.0])
    below = np.column_stack([np.zeros(3), 1 / (1 + np.exp(at[:, None] - a)), np.ones(3)])
    np.testing.assert_allclose(chances(a, at), np.diff(below, axis=1), atol=1e-15)
    assert (chances(a, np.array([-300.0, 300.0])) > 0).all()


@settings(deadline=None)
@given(st.lists(st.sampled_from([-3.0, 0.0, 1.0, 2.5, 7.0, 1e6, 2.0**53, 5000.0]), min_size=1, max_size=30))
def test_distinct_rows_are_those_of_numpy(values):
    x = np.array(values)
    distinct, row = distinct_rows(x[:, None])
    expected, place = np.unique(x, return_inverse=True)
    np.testing.assert_array_equal(distinct[:, 0], expected)
    np.testing.assert_array_equal(row, place)


def test_a_table_counts_each_label_once():
    x = np.array([[1.0], [2.0], [1.0], [1.0]])
    table = counted_rows(x, np.array([0, 1, 0, 1]), 2)
    np.testing.assert_array_equal(table.counts, [[2, 1], [0, 1]])
    np.testing.assert_array_equal(
        counted_rows(x, np.array([0, 1, 0, 1]), 2, np.array([1, 0.5, 2, 4])).counts, [[3, 4], [0, 0.5]]
    )


def test_persons_are_inputs_of_zeros_and_ones():
    """The engine without their structure: a column for each person, tau where it rates."""
    rng = np.random.default_rng(4)
    who, tau = np.r_[np.arange(5), rng.integers(0, 5, 15)], np.array([0.0, 0.3, 2.0])
    z, counts = rng.normal(size=(20, 2)), rng.integers(0, 4, (3, 20, 4)).astype(float)
    penalty = np.array([0.5, 2.0, *np.ones(5)])
    persons, problem = Persons(who, tau), (*with_pseudo(z, counts, 1.0), penalty)
    columns = tau[:, None, None] * np.eye(5)[who]
    plain = (*with_pseudo(np.concatenate([np.tile(z, (3, 1, 1)), columns], axis=-1), counts, 1.0), penalty)
    ours, theirs = fitted(*problem, None, persons), fitted(*plain)
    for part, same in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(part, same, atol=1e-8)
    a, b, _ = theirs
    a, b = a + np.array([0.1, 0.2, 0.4]), b + 0.1  # off the top, where no derivative is 0
    (gradient, arrow), (other, dense) = derivatives(a, b, *problem, persons), derivatives(a, b, *plain)
    dense = dense.head
    np.testing.assert_allclose(gradient, other, atol=1e-9)
    np.testing.assert_allclose(arrow.solved(gradient), np.linalg.solve(dense, gradient[..., None])[..., 0], atol=1e-9)
    np.testing.assert_allclose(arrow.log_determinant, np.linalg.slogdet(dense)[1], atol=1e-9)
    inverse = np.einsum("...ii->...i", np.linalg.inv(dense))[..., -5:]
    np.testing.assert_allclose(arrow.variances, inverse, atol=1e-9)
