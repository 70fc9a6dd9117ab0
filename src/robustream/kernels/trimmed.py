"""Exact trimmed products of columns: the largest products are left out, so no single row can decide an entry.

The functions here check their input, once; ``_tiles`` chooses the way and does the work.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustream.errors import InvalidInputError
from robustream.kernels._tiles import kept_sums
from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.reference import kept_count

__all__ = ["trimmed_covariance", "trimmed_cross", "trimmed_inner"]

Floats = NDArray[np.floating]


def trimmed_inner(x: ArrayLike, y: ArrayLike, trim: float) -> float:
    """Sum the products of two vectors without the largest ones in magnitude.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Finite numbers. float32 stays float32; integers become float64.
    trim : float
        The fraction of the products to leave out, in [0, 1); floor(trim * n) of them are.

    Returns
    -------
    float
        The plain sum of the kept products. Products that tie at the border share the places left equally.

    Examples
    --------
    >>> import robustream as rs
    >>> rs.trimmed_inner([1.0, 2.0, 3.0, 100.0], [1.0, 1.0, 1.0, 1.0], trim=0.25)
    6.0
    """
    trim = _checked_trim(trim)
    if is_device_array(x):
        return float(_on_device().trimmed_inner(x, y, trim))
    left, right = _checked_pair(x, y, "x", "y", 1, 1)
    kept = kept_count(left.shape[0], trim)
    return float(kept_sums(left[:, None], right[:, None], kept)[0, 0])


def trimmed_covariance(X: ArrayLike, trim: float) -> Floats:
    """Average the kept products of every pair of columns, without centring.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Finite numbers. float32 stays float32; integers become float64.
    trim : float
        The fraction of each pair's products to leave out, in [0, 1); floor(trim * n) of them are.

    Returns
    -------
    ndarray of shape (p, p)
        Exactly symmetric; the same bits for any number of threads.

    Examples
    --------
    >>> import robustream as rs
    >>> rs.trimmed_covariance([[1.0, 0.0], [1.0, 2.0], [2.0, 2.0], [9.0, 9.0]], trim=0.25)
    array([[2.        , 2.        ],
           [2.        , 2.66666667]])
    """
    trim = _checked_trim(trim)
    if is_device_array(X):
        return _on_device().trimmed_covariance(X, trim)
    matrix = _checked(X, "X", (2,))
    kept = kept_count(matrix.shape[0], trim)
    return _means(kept_sums(matrix, matrix, kept), kept, matrix.dtype)


def trimmed_cross(X: ArrayLike, Y: ArrayLike, trim: float) -> Floats:
    """Average the kept products of every column of X with every column of Y, without centring.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Finite numbers.
    Y : array-like of shape (n, m) or (n,)
        Finite numbers. When all are +1 or -1, what is kept does not depend on Y, and one matrix product does it.
    trim : float
        The fraction of each pair's products to leave out, in [0, 1); floor(trim * n) of them are.

    Returns
    -------
    ndarray of shape (p, m), or (p,) when Y is one-dimensional
        float32 when X and Y are, else float64; the same bits for any number of threads.

    Examples
    --------
    >>> import robustream as rs
    >>> rs.trimmed_cross([[1.0, 0.0], [1.0, 2.0], [2.0, 2.0], [9.0, 9.0]], [1.0, 1.0, -1.0, 50.0], trim=0.25)
    array([0., 0.])
    """
    trim = _checked_trim(trim)
    if is_device_array(X):
        return _on_device().trimmed_cross(X, Y, trim)
    left, right = _checked_pair(X, Y, "X", "Y", 2, (1, 2))
    kept = kept_count(left.shape[0], trim)
    means = _means(kept_sums(left, right.reshape(right.shape[0], -1), kept), kept, left.dtype)
    return means if right.ndim == 2 else means[:, 0]


def _on_device() -> Any:
    """Give the kernels for arrays on a GPU; imported only when such an array comes."""
    from robustream.kernels.gpu import entry

    return entry


def _means(sums: NDArray[np.float64], kept: int, dtype: np.dtype[Any]) -> Floats:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return (sums / kept).astype(dtype)


def _checked_trim(trim: object) -> float:
    """Return trim as a float, or say what is wrong with it."""
    value = float(trim) if isinstance(trim, Real) else np.nan
    if not 0.0 <= value < 1.0:
        raise InvalidInputError(f"trim must be a number in [0, 1), the fraction to leave out; got {trim!r}.")
    return value


def _checked(values: ArrayLike, name: str, dimensions: tuple[int, ...]) -> Floats:
    """Return values as a finite, non-empty float array, copying only when its dtype has to change."""
    if hasattr(values, "tocsr") or hasattr(values, "todense"):
        raise InvalidInputError(
            f"{name} must be a dense array; got the sparse {type(values).__name__}. Use {name}.toarray()."
        )
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must be an array of numbers; got rows of unequal lengths.") from error
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold real numbers; got dtype {array.dtype}.")
    if array.ndim not in dimensions:
        needed = " or ".join(f"{dimension}-dimensional" for dimension in dimensions)
        raise InvalidInputError(f"{name} must be {needed}; got shape {array.shape}.")
    if array.size == 0:
        raise InvalidInputError(f"{name} must have at least one row and one column; got shape {array.shape}.")
    if array.dtype != np.float32 and array.dtype != np.float64:
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    if not _all_finite(array):
        raise InvalidInputError(f"{name} must be finite; got NaN or infinity. Drop or fill those rows first.")
    return array


def _checked_pair(
    left: ArrayLike,
    right: ArrayLike,
    left_name: str,
    right_name: str,
    left_ndim: int,
    right_ndim: int | tuple[int, ...],
) -> tuple[Floats, Floats]:
    first = _checked(left, left_name, (left_ndim,))
    second = _checked(right, right_name, right_ndim if isinstance(right_ndim, tuple) else (right_ndim,))
    if first.shape[0] != second.shape[0]:
        raise InvalidInputError(
            f"{left_name} and {right_name} must have the same number of rows; "
            f"got {first.shape[0]} and {second.shape[0]}."
        )
    dtype = np.result_type(first, second)
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def _all_finite(array: Floats) -> bool:
    """Tell whether all is finite, in one pass and without a temporary array unless the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return True
    return all(bool(np.isfinite(rows).all()) for rows in np.array_split(array, 1 + array.size // 2**20))
