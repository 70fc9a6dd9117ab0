import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.errors import InvalidInputError
from robustream.sources import coefficient_error, subspace_error

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)


@REPEATABLE
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_subspace_error_is_that_of_the_dense_projectors(columns: int, first: int, second: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((columns, min(first, columns)))
    truth = rng.standard_normal((columns, min(second, columns)))
    projectors = [matrix @ np.linalg.pinv(matrix) for matrix in (basis, truth)]
    dense = np.linalg.norm(projectors[0] - projectors[1]) / np.linalg.norm(projectors[1])
    assert subspace_error(basis, truth) == pytest.approx(dense, abs=1e-7)


def test_close_subspaces_keep_their_digits() -> None:
    truth, tilted = np.eye(5)[:, :1], np.eye(5)[:, :1] + 1e-12 * np.eye(5)[:, 1:2]
    assert subspace_error(tilted, truth) == pytest.approx(np.sqrt(2) * 1e-12, rel=1e-6)


def test_coefficient_error() -> None:
    assert coefficient_error(np.zeros(3), np.ones(3)) == 1
    assert coefficient_error(-np.ones((2, 3)), np.ones((2, 3))) == 2


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(InvalidInputError, match="transposed"):
        subspace_error(np.ones((2, 5)), np.ones((5, 2)))
    with pytest.raises(InvalidInputError, match="5 rows of true_basis"):
        subspace_error(np.ones((4, 2)), np.ones((5, 2)))
    with pytest.raises(InvalidInputError, match="coef must have the shape"):
        coefficient_error(np.ones(3), np.ones(4))
