"""Sources whose truth is known: which rows are outliers, and how far an estimate is from the truth.

Simulated and contaminated sources draw from generators that depend on a seed, a batch's index and a purpose, and on
nothing else, so that the truth about any batch can be made again alone.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source

__all__ = ["KnownOutliers", "Mask", "clean_part", "coefficient_error", "generator_for", "subspace_error"]

Mask = NDArray[np.bool_]


class KnownOutliers(Source):
    """A source that can tell its outliers, so that a fit on the clean rows alone can be the yardstick."""

    @abstractmethod
    def outlier_rows(self, index: int) -> Mask:
        """Tell for each row of a batch whether it is an outlier."""


def clean_part(source: KnownOutliers, batch: Batch) -> Batch:
    """Return the rows of a batch that are no outliers.

    >>> from robustream.sources import SimulatedPCA, batch_at
    >>> source = SimulatedPCA(batches=1, rows=10, columns=3, components=1, outliers=0.4)
    >>> clean_part(source, batch_at(source, 0)).rows
    6
    """
    kept = ~source.outlier_rows(batch.index)
    y: NDArray[Any] | None = None if batch.y is None else batch.y[kept]
    return batch._replace(X=batch.X[kept], y=y)


def generator_for(seed: int, index: int, purpose: str) -> np.random.Generator:
    """Return the generator of one batch for one purpose, so that any batch can be made alone.

    The purpose keeps apart what would otherwise be the same numbers: a source and a wrapper around it often
    have the same seed. All keys have the same length, since NumPy takes [1, 2] and [1, 2, 0] for the same
    seed.

    >>> bool(generator_for(0, 7, "rows").random() == generator_for(0, 7, "rows").random())
    True
    """
    return np.random.default_rng([seed, index, zlib.crc32(purpose.encode())])


def subspace_error(basis: ArrayLike, true_basis: ArrayLike) -> float:
    """Return ||P - P*||_F / ||P*||_F for the projectors on two subspaces; no p x p matrix is formed.

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
    """Return ||theta - theta*|| / ||theta*||.

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
        raise InvalidInputError(f"coef must have the shape of true_coef, {second.shape}, got {first.shape}.")
    return float(np.linalg.norm(first - second) / np.linalg.norm(second))


def _matrix(name: str, value: ArrayLike) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 2 or not 1 <= array.shape[1] <= array.shape[0]:
        raise InvalidInputError(
            f"{name} must be p x d with 1 <= d <= p, got an array of shape {array.shape}. "
            "A fitted model's components_ have to be transposed."
        )
    return array
