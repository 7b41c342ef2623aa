"""Small numerics: products in pieces."""

import numpy as np
import pytest

from calib.core.numeric import matrix_product


@pytest.mark.parametrize(
    "shape",
    # one piece; rows in pieces; all three in pieces; a tall and a flat one; lines, also as a last piece
    [(4, 5, 6), (1000, 120, 100), (70, 600, 510), (3, 100_001, 2), (100_001, 3, 2), (1, 9000, 7), (9000, 7, 1),
     (33, 256, 257)],
)  # fmt: skip
def test_a_product_in_pieces_is_the_product(shape):
    (m, k, n), rng = shape, np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (m, k)).astype(float), rng.integers(-9, 9, (k, n)).astype(float)
    whole = a @ b  # sums of whole numbers, so that their order does not count
    np.testing.assert_array_equal(matrix_product(a, b), whole)
    np.testing.assert_array_equal(matrix_product(np.asfortranarray(a), b), whole)
    np.testing.assert_array_equal(matrix_product(a[0], b), whole[0])
    np.testing.assert_array_equal(matrix_product(a, b[:, 0]), whole[:, 0])
    assert matrix_product(a[0], b[:, 0]) == whole[0, 0]


def test_a_product_keeps_the_smaller_type_and_takes_nothing():
    a, b = np.ones((600, 30), dtype=np.float32), np.ones((30, 90), dtype=np.float32)
    assert matrix_product(a, b).dtype == np.float32
    assert matrix_product(np.ones((3, 0)), np.ones((0, 2))).tolist() == [[0, 0]] * 3
    assert matrix_product(np.ones((0, 3)), np.ones((3, 2))).shape == (0, 2)


def test_no_piece_is_so_large_that_blas_wakes_its_threads(monkeypatch):
    sizes = []

    def spied(a, b, out):
        sizes.append((*a.shape, b.shape[1]))
        out[...] = a @ b

    monkeypatch.setattr(np, "matmul", spied)
    for m, k, n in [(1000, 120, 100), (70, 600, 510), (33, 256, 257), (99, 99, 500)]:
        matrix_product(np.ones((m, k)), np.ones((k, n)))
    assert len(sizes) > 100
    # what OpenBLAS has as its limits, of a product of matrices and of one with a vector
    assert all(m * k * n <= (9216 if 1 in (m, n) else 1 << 18) for m, k, n in sizes)
