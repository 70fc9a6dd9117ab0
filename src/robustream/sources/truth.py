"""How far an estimate is from the truth, in the paper's metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robustream.errors import InvalidInputError

__all__ = ["coefficient_error", "subspace_error"]


def subspace_error(basis: ArrayLike, true_basis: ArrayLike) -> float:
    """Give ||P - P*||_F / ||P*||_F for the projectors on two subspaces; no p x p matrix is formed.

    Parameters
    ----------
    basis, true_basis : p x d arrays with independent columns (`components_.T` of a fitted model); they need
        not be orthonormal, and their numbers of columns may differ.

    Examples
    --------
    >>> subspace_error(np.eye(3)[:, :1], np.eye(3)[:, :1])
    0.0
    >>> round(subspace_error(np.eye(3)[:, :1], np.eye(3)[:, 1:2]), 4)
    1.4142
    """
    first, second = _matrix("basis", basis), _matrix("true_basis", true_basis)
    if first.shape[0] != second.shape[0]:
        raise InvalidInputError(
            f"basis must have the {second.shape[0]} rows of true_basis; its shape is {first.shape}. "
            "A fitted model's components_ have to be transposed."
        )
    first, second = np.linalg.qr(first)[0], np.linalg.qr(second)[0]
    # Each part of a basis outside the other subspace: d - ||U'V||^2 would cancel for close subspaces.
    inner = first.T @ second
    outside = np.square(second - first @ inner).sum() + np.square(first - second @ inner.T).sum()
    return float(np.sqrt(outside / second.shape[1]))


def coefficient_error(coef: ArrayLike, true_coef: ArrayLike) -> float:
    """Give ||theta - theta*|| / ||theta*||.

    Parameters
    ----------
    coef, true_coef : coefficients of one output, or outputs x columns; a single output may be written either
        way.

    Examples
    --------
    >>> coefficient_error([[3.0, 5.0]], [3.0, 4.0])
    0.2
    """
    first, second = (np.atleast_2d(np.asarray(value, dtype=np.float64)) for value in (coef, true_coef))
    if first.shape != second.shape:
        raise InvalidInputError(f"coef must have the shape of true_coef, {second.shape}; {first.shape} came.")
    return float(np.linalg.norm(first - second) / np.linalg.norm(second))


def _matrix(name: str, value: ArrayLike) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 2 or not 1 <= array.shape[1] <= array.shape[0]:
        raise InvalidInputError(
            f"{name} must be p x d with 1 <= d <= p; an array of shape {array.shape} came. "
            "A fitted model's components_ have to be transposed."
        )
    return array
