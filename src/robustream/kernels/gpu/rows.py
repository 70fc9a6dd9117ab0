"""What is worked out for each row of a table on the GPU in one pass: hashes, units, lengths, posteriors.

Each has its counterpart on the host, in `robustream.majority`, and gives the same numbers up to rounding; hashes are
the same to the last bit, so that the same rows are searched wherever they lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from robustream.kernels.gpu.device import kernel, load_cupy

__all__ = ["line_posteriors", "row_products", "row_states", "scaled_rows"]

_THREADS = 256


def row_states(rows: Any, states: Any) -> Any:
    """Return the states of the hash of each row that the host gives to the same numbers in double precision."""
    mixed = load_cupy().empty(len(rows), np.uint64)
    blocks = -(-len(rows) // _THREADS)
    sizes = np.int64(len(rows)), np.int32(rows.shape[1])
    kernel("hash_rows", rows.dtype)((blocks,), (_THREADS,), (rows, *sizes, states, mixed))
    return mixed


def row_products(left: Any, right: Any) -> Any:
    """Return the sum of products of each row of two tables, added in double precision, in that of the first."""
    return _reduction()(left, right, axis=1)


@cache
def _reduction() -> Any:
    return load_cupy().ReductionKernel(
        "T x, S y",
        "T z",
        "(double)x * (double)y",
        "a + b",
        "z = a",
        "0",
        "robustream_row_products",
        reduce_type="double",
    )


def scaled_rows(rows: Any, center: Any, factor: Any) -> Any:
    """Return rows in units of their columns, within the reach of single precision, rounded as the host does."""
    return _scaling()(rows, center, factor)


@cache
def _scaling() -> Any:
    return load_cupy().ElementwiseKernel(
        "T x, float64 c, float64 f",
        "float32 z",
        "z = (float)fmin(fmax(((double)x - c) * f, -1e9), 1e9)",
        "robustream_scaled_rows",
    )


def line_posteriors(rows: Iterable[Any], numbers: Iterable[float]) -> tuple[Any, Any, Any, Any]:
    """Return posteriors of two lines, tail weights, and the log of the density of each row but for a constant.

    Parameters
    ----------
    rows : residuals from either line, prior of the first, and whether the second has rows there; of each row
    numbers : scales of both lines, share of the second, density of the rest, freedom and constant of the t law
    """
    found: tuple[Any, Any, Any, Any] = _line()(*rows, *numbers)
    return found


@cache
def _line() -> Any:
    return load_cupy().ElementwiseKernel(
        "float64 r1, float64 r2, float64 prior, bool other, float64 s, float64 t, float64 q, float64 c, float64 nu,"
        "float64 front",
        "float64 w1, float64 w2, float64 tail, float64 ll",
        """
        const double z2 = (r1 / s) * (r1 / s);
        double f1;
        if (isinf(nu)) { f1 = exp(-0.5 * z2); tail = 1.0; }
        else { f1 = front * exp(-(nu + 1) / 2 * log1p(z2 / nu)); tail = (nu + 1) / (nu + z2); }
        f1 *= prior / s;
        const double f2 = other ? (1 - prior) * q / t * exp(-0.5 * (r2 / t) * (r2 / t)) : 0.0;
        const double reach = sqrt(1.5707963267948966) / c;
        const double decay = fabs(r1) > reach ? 0.5 * (reach / r1) * (reach / r1) : 0.5;
        const double total = f1 + f2 + (1 - prior) * (1 - q) * c * decay + 1e-300;
        w1 = f1 / total; w2 = f2 / total; ll = log(total);
        """,
        "robustream_line_posteriors",
    )
