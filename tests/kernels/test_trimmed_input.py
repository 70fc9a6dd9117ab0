"""What the trimmed products accept, and how they refuse the rest."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from robustream.errors import InvalidInputError
from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross, trimmed_inner

GOOD = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("trim", [-0.1, 1.0, 2, np.nan, np.inf, "0.2", None, [0.2, 0.3]])
def test_bad_trim(trim: object) -> None:
    for call in (
        lambda: trimmed_inner(GOOD[:, 0], GOOD[:, 1], trim),  # type: ignore[arg-type]
        lambda: trimmed_covariance(GOOD, trim),  # type: ignore[arg-type]
        lambda: trimmed_cross(GOOD, GOOD, trim),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInputError, match=r"trim must be a number in \[0, 1\)"):
            call()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0, np.nan]], "X must be finite; got NaN or infinity"),
        ([[1.0, -np.inf]], "X must be finite"),
        (np.empty((0, 2)), r"X must have at least one row and one column; got shape \(0, 2\)"),
        (np.empty((3, 0)), r"X must have at least one row and one column; got shape \(3, 0\)"),
        (GOOD + 1j, "X must hold real numbers; got dtype complex128"),
        ([["a", "b"]], "X must hold real numbers; got dtype <U1"),
        (GOOD.astype(object), "X must hold real numbers; got dtype object"),
        ([[1.0], [1.0, 2.0]], "X must be an array of numbers; got rows of unequal lengths"),
        (scipy.sparse.csr_matrix(GOOD), "X must be a dense array; got the sparse csr_matrix"),
        (GOOD[:, 0], r"X must be 2-dimensional; got shape \(3,\)"),
        (GOOD[None], r"X must be 2-dimensional; got shape \(1, 3, 2\)"),
        (5.0, r"X must be 2-dimensional; got shape \(\)"),
    ],
)
def test_bad_matrix(bad: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        trimmed_covariance(bad, 0.2)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        trimmed_cross(bad, np.ones(1), 0.2)  # type: ignore[arg-type]


def test_bad_second_argument() -> None:
    with pytest.raises(InvalidInputError, match=r"Y must be 1-dimensional or 2-dimensional; got shape \(1, 3, 2\)"):
        trimmed_cross(GOOD, GOOD[None], 0.2)
    with pytest.raises(InvalidInputError, match="X and Y must have the same number of rows; got 3 and 2"):
        trimmed_cross(GOOD, GOOD[:2], 0.2)
    with pytest.raises(InvalidInputError, match="x and y must have the same number of rows; got 3 and 2"):
        trimmed_inner(GOOD[:, 0], GOOD[:2, 0], 0.2)
    with pytest.raises(InvalidInputError, match="y must be finite"):
        trimmed_inner(GOOD[:, 0], [1.0, np.nan, 1.0], 0.2)
    with pytest.raises(InvalidInputError, match="x must be 1-dimensional"):
        trimmed_inner(GOOD, GOOD, 0.2)
