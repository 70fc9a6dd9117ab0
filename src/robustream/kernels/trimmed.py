"""Exact trimmed products of columns: the largest products are left out, so no single row can decide an entry.

The public functions check their input, once. `kept_sums` then chooses the way: a plain matrix product when nothing is
trimmed, a masked one for targets of +1 and -1, and otherwise the compiled kernel (`_trimmed_tile`) over tiles of pairs
of columns. The tiles depend on the shapes alone, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustream.errors import InvalidInputError
from robustream.kernels import reference
from robustream.kernels.device_arrays import is_device_array
from robustream.kernels.reference import kept_count
from robustream.kernels.threads import run_tiles

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
    """Return the kernels for arrays on a GPU; imported only when such an array comes."""
    from robustream.kernels.gpu import api

    return api


def _means(sums: NDArray[np.float64], kept: int, dtype: np.dtype[Any]) -> Floats:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return (sums / kept).astype(dtype)


def _checked_trim(trim: object) -> float:
    """Return trim as a float, or say what is wrong with it."""
    value = float(trim) if isinstance(trim, Real) else np.nan
    if not 0.0 <= value < 1.0:
        raise InvalidInputError(f"trim must be a number in [0, 1), the fraction to leave out, got {trim!r}.")
    return value


def _checked(values: ArrayLike, name: str, dimensions: tuple[int, ...]) -> Floats:
    """Return values as a finite, non-empty float array, copying only when its dtype has to change."""
    if hasattr(values, "tocsr") or hasattr(values, "todense"):
        raise InvalidInputError(
            f"{name} must be a dense array, got the sparse {type(values).__name__}. Use {name}.toarray()."
        )
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must be an array of numbers, got rows of unequal lengths.") from error
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim not in dimensions:
        needed = " or ".join(f"{dimension}-dimensional" for dimension in dimensions)
        raise InvalidInputError(f"{name} must be {needed}, got shape {array.shape}.")
    if array.size == 0:
        raise InvalidInputError(f"{name} must have at least one row and one column, got shape {array.shape}.")
    if array.dtype != np.float32 and array.dtype != np.float64:
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    if not _all_finite(array):
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity. Drop or fill those rows first.")
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
            f"{left_name} and {right_name} must have the same number of rows, "
            f"got {first.shape[0]} and {second.shape[0]}."
        )
    dtype = np.result_type(first, second)
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def _all_finite(array: Floats) -> bool:
    """Return whether all is finite, in one pass and without a temporary array unless the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return True
    return all(bool(np.isfinite(rows).all()) for rows in np.array_split(array, 1 + array.size // 2**20))


Sums = NDArray[np.float64]

# What one thread may use to collect products, unless two columns are more.
STORE_BYTES = 2**23
BLOCK_BYTES = 2**21
# How many standard deviations a sampled bracket reaches to each side: a second pass is then rare in a whole tile.
DEVIATIONS = 3.2
LARGEST_WITHOUT_SAMPLE = 1024
SMALLEST_SAMPLE = 512
ROWS_PER_SAMPLED_ROW = 24
# Whole vectors and groups of any dtype.
GROUP = 64
COLUMNS = 16


def kept_sums(left: Floats, right: Floats, kept: int) -> Sums:
    """Sum, for each column of left and of right, the ``kept`` products that are smallest in magnitude.

    Parameters
    ----------
    left, right : arrays of shape (n, p) and (n, m)
        Finite, of the same dtype, checked before. When they are the same object, the result is exactly symmetric.
    kept : int
        From 1 to n.
    """
    if kept == left.shape[0] and not _may_overflow(left, right):
        return _blocked_product(left, right)
    if right is not left and _all_signs(right):
        return _blocked_product(left, right, _column_thresholds(left, kept))
    sums = _tiled_sums(left, right, kept)
    # Partial sums are in the dtype of the input and may overflow where the whole, in float64, does not.
    for i, j in np.argwhere(~np.isfinite(sums)):
        sums[i, j] = reference.kept_sum(left[:, i], right[:, j], kept)
    return sums


def _may_overflow(left: Floats, right: Floats) -> bool:
    """Return whether a product may be too large for the dtype."""
    largest = float(max(left.max(), -left.min())) * float(max(right.max(), -right.min()))
    return largest >= float(np.finfo(left.dtype).max)


def _all_signs(matrix: Floats) -> bool:
    """Return whether every entry is +1 or -1; a look at the first row usually settles it."""
    return all(bool((np.abs(rows) == 1).all()) for rows in (matrix[:1], *_row_blocks(matrix)))


def _row_blocks(*matrices: Floats) -> Iterator[Any]:
    """Cut one matrix, or several side by side, into blocks of rows of a bounded size."""
    width = sum(matrix.shape[1] for matrix in matrices)
    rows = max(1, BLOCK_BYTES // (8 * width))
    for start in range(0, matrices[0].shape[0], rows):
        blocks = tuple(matrix[start : start + rows] for matrix in matrices)
        yield blocks if len(blocks) > 1 else blocks[0]


def _blocked_product(left: Floats, right: Floats, limits: tuple[Floats, Sums] | None = None) -> Sums:
    """Multiply in float64; with limits, a column of left loses what exceeds its threshold, and a share of the ties."""
    sums = np.zeros((left.shape[1], right.shape[1]))
    for left_rows, right_rows in _row_blocks(left, right):
        weighted = left_rows.astype(np.float64)
        if limits is not None:
            thresholds, shares = limits
            magnitudes = np.abs(left_rows)
            weighted[magnitudes > thresholds] = 0.0
            weighted *= np.where(magnitudes == thresholds, shares, 1.0)
        # The same array twice makes NumPy compute one half and mirror it: exactly symmetric.
        sums += weighted.T @ (weighted if right is left else right_rows.astype(np.float64))
    return sums


def _column_thresholds(matrix: Floats, kept: int) -> tuple[Floats, Sums]:
    """Return each column's threshold, and the share of the values tied with it that is kept."""
    thresholds, shares = np.empty(matrix.shape[1], matrix.dtype), np.empty(matrix.shape[1])

    def find(column: int) -> None:
        magnitudes = np.abs(matrix[:, column])
        magnitudes.partition(kept - 1)
        threshold = magnitudes[kept - 1]
        thresholds[column] = threshold
        below = np.count_nonzero(magnitudes < threshold)
        shares[column] = (kept - below) / np.count_nonzero(magnitudes == threshold)

    run_tiles(find, range(matrix.shape[1]))
    return thresholds, shares


class _Plan(NamedTuple):
    """What the kernel needs to know about brackets; depends only on the number of rows and of those kept."""

    sample_rows: NDArray[np.int64]
    capacity: int
    sample_rank: float
    spread: float


def _plan(n_rows: int, kept: int) -> _Plan:
    if n_rows <= LARGEST_WITHOUT_SAMPLE:
        return _Plan(np.empty(0, np.int64), n_rows, 0.0, 0.0)
    size = max(SMALLEST_SAMPLE, n_rows // ROWS_PER_SAMPLED_ROW // GROUP * GROUP)
    # One row at random out of each stretch: sorted rows are sampled evenly, and periodic ones do not mislead.
    places = np.arange(size) + np.random.default_rng(n_rows).random(size)
    sample_rows = (places * (n_rows / size)).astype(np.int64)
    quantile = (kept - 0.5) / n_rows
    spread = DEVIATIONS * np.sqrt(size * quantile * (1 - quantile)) + 1
    # The kernel may take an eighth more, and the gaps of a sample vary with the square root of their number.
    expected = 2.25 * spread + 4 * np.sqrt(2 * spread)
    capacity = min(n_rows, max(LARGEST_WITHOUT_SAMPLE, int(expected * n_rows / size)))
    return _Plan(sample_rows, capacity, quantile * size, float(spread))


def _blocks(columns: int, length: int) -> list[tuple[int, int]]:
    return [(start, min(start + length, columns)) for start in range(0, columns, length)]


def _tiled_sums(left: Floats, right: Floats, kept: int) -> Sums:
    """Let the compiled kernel work on tiles of pairs, the upper triangle only when left is right."""
    # Numba takes long to import, so only those wait for it who need it.
    from robustream.kernels._trimmed_tile import Workspace, new_workspace, tile_kernel

    kernel = tile_kernel(left.dtype)
    plan = _plan(left.shape[0], kept)
    pair_length = plan.capacity + GROUP
    column_bytes = left.shape[0] * left.itemsize
    pairs = max(1, max(STORE_BYTES, 2 * column_bytes) // (pair_length * left.itemsize))
    right_length = min(COLUMNS, right.shape[1], max(1, pairs // COLUMNS))
    left_length = min(2 * COLUMNS, max(1, pairs // right_length))
    if left_length > COLUMNS:
        left_length -= left_length % COLUMNS
    triangle = right is left
    tiles = [
        (*left_block, *right_block)
        for left_block, right_block in product(
            _blocks(left.shape[1], left_length), _blocks(right.shape[1], right_length)
        )
        if not triangle or left_block[0] < right_block[1]
    ]
    sums = np.zeros((left.shape[1], right.shape[1]))
    spare: list[Workspace] = []

    def work(tile: tuple[int, int, int, int]) -> None:
        # Each thread goes on with the workspace it has: fresh memory costs a page fault for every page.
        try:
            space = spare.pop()
        except IndexError:
            lefts = min(left_length, left.shape[1])
            space = new_workspace(left.dtype, lefts, right_length, plan.sample_rows.size, plan.capacity)
        kernel(left, right, tile, triangle, kept, plan.sample_rows, plan.sample_rank, plan.spread, space, sums)
        spare.append(space)

    run_tiles(work, tiles)
    return np.triu(sums) + np.triu(sums, 1).T if triangle else sums
