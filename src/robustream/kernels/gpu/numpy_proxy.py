"""Rows on the GPU that NumPy's functions take for an array, so that learners and aggregators are written once for both.

NumPy hands the work to whoever defines `__array_ufunc__` and `__array_function__`; here it goes to CuPy. What is as
long as a batch stays on the GPU; what is short (a sample of the rows, column means, a covariance matrix) comes back as
a plain NumPy array, where the small steps of a learner are quicker. Of wide estimates side by side all that is large
stays. What CuPy cannot do is done by NumPy on a copy. A batch comes to the GPU as it is, or as a copy on a stream of
its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from robustream.kernels.gpu.device import as_device_array, free_bytes, load_cupy
from robustream.kernels.gpu.products import tall_product
from robustream.kernels.gpu.rows import row_products
from robustream.kernels.gpu.selection import column_medians

__all__ = [
    "DeviceRows",
    "DeviceStack",
    "DeviceTable",
    "lend",
    "lend_stack",
    "lend_table",
    "on_host",
    "rows_of",
    "work_stream",
]

_FEWEST_ROWS = 8192
# Of columns that one kernel can take the medians of.
_MOST_COLUMNS = 1 << 21
# Rows that are reduced at once where all are.
_STRETCH = 256
# From so many columns on a product is bound by arithmetic.
_MANY_COLUMNS = 512


class DeviceRows(NDArrayOperatorsMixin):
    """A CuPy array with the manners of a NumPy array."""

    __slots__ = ("array",)
    __array_priority__ = 100
    # Results with fewer rows come back to the host, unless they are larger than this.
    fewest_rows: ClassVar[float] = _FEWEST_ROWS
    largest_on_host: ClassVar[int] = 1 << 25

    def __init__(self, array: Any) -> None:
        self.array = array

    @classmethod
    def stays(cls, value: Any) -> bool:
        """Return whether a result is long, or large, and so stays on the GPU."""
        return bool(value.shape[0] > cls.fewest_rows or value.size > cls.largest_on_host)

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        host = self.array.get()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.pop("out", ())
        known = _matmul if ufunc is np.matmul else getattr(load_cupy(), ufunc.__name__, None)
        function = ufunc
        if method != "__call__":
            function, known = getattr(ufunc, method), getattr(known, method, None)
        if outs and isinstance(outs[0], DeviceRows):
            options["out"] = outs[0]
        result = _call(type(self), function, known, inputs, options)
        if not outs:
            return result
        if not isinstance(outs[0], DeviceRows):
            outs[0][...] = on_host(result)
        return outs[0]

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function in _SPECIAL:
            found = _SPECIAL[function](type(self), *inputs, **options)
            if found is not None:
                return found
        module: Any = load_cupy()
        for name in function.__module__.split(".")[1:]:
            module = getattr(module, name, module)
        return _call(type(self), function, getattr(module, function.__name__, None), inputs, options)

    def __getattr__(self, name: str) -> Any:
        """Shapes and types are those of the array; its methods give what NumPy's would."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.array, name)
        if not callable(value):
            return _give(type(self), value)
        return lambda *inputs, **options: _method(type(self), value, inputs, options)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        return _give(type(self), self.array[_place(place)])

    def __setitem__(self, place: Any, values: Any) -> None:
        self.array[_place(place)] = _unwrap(values)

    @property
    def T(self) -> DeviceRows:  # noqa: N802 - NumPy's name
        """The transpose, which stays on the GPU however few rows it has."""
        return type(self)(self.array.T)

    def __float__(self) -> float:
        return float(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)


class DeviceStack(DeviceRows):
    """Wide estimates, one beside the other: all that is large stays on the GPU, few rows as they may be."""

    __slots__ = ()
    fewest_rows: ClassVar[float] = np.inf
    largest_on_host: ClassVar[int] = 1 << 16


class DeviceTable(DeviceRows):
    """Rows that are weighed where they lie: what has a number for each of them stays, along whichever axis."""

    __slots__ = ()

    @classmethod
    def stays(cls, value: Any) -> bool:
        """Return whether a result has as many numbers as there are rows."""
        return bool(max(value.shape) > cls.fewest_rows)


Kind = type[DeviceRows]


def on_host(value: Any) -> Any:
    """Return a NumPy array of what may lie on the GPU; anything else as it is."""
    if isinstance(value, DeviceRows):
        return value.array.get()
    return value.get() if isinstance(value, load_cupy().ndarray) else value


def _call(kind: Kind, function: Callable[..., Any], known: Any, inputs: Any, options: Any) -> Any:
    """Let CuPy do it, or NumPy on copies where CuPy does not know how."""
    if known is not None:
        with suppress(TypeError, NotImplementedError, AttributeError):
            given = {key: _unwrap(value) for key, value in options.items()}
            return _give(kind, known(*(_unwrap(value) for value in inputs), **given))
    copied = {key: _copied(value) for key, value in options.items()}
    return function(*(_copied(value) for value in inputs), **copied)


def _matmul(left: Any, right: Any, **options: Any) -> Any:
    """Multiply; second moments of many columns by the units for short numbers."""
    many = left.ndim == right.ndim == 2 and min(left.shape[0], right.shape[1]) >= _MANY_COLUMNS
    if many and len(right) > _FEWEST_ROWS and left.dtype == right.dtype == np.float32 and not options:
        upright = left.T
        if upright.flags.c_contiguous and right.flags.c_contiguous:
            same = upright.data.ptr == right.data.ptr and upright.shape == right.shape
            return tall_product(right if same else upright, right)
    return load_cupy().matmul(left, right, **options)


def _method(kind: Kind, method: Any, inputs: Any, options: Any) -> Any:
    initial = options.pop("initial", None)
    result = _along_rows(kind, method, inputs, options)
    if result is None:
        result = _give(kind, method(*(_unwrap(value) for value in inputs), **options))
    if initial is None:
        return result
    # Of the reductions only the extremes are asked with a value to begin with.
    return np.maximum(result, initial) if method.__name__ == "max" else np.minimum(result, initial)


def _along_rows(kind: Kind, method: Any, inputs: Any, options: Any) -> Any:
    """Reduce all columns of many rows in two steps: CuPy in one step leaves most of the GPU idle."""
    name, array = method.__name__, method.__self__
    if (
        name not in ("max", "min", "sum", "mean", "std")
        or inputs
        or options.get("axis") != 0
        or set(options) - {"axis", "dtype"}
    ):
        return None
    if array.ndim != 2 or len(array) < _STRETCH**2:
        return None
    if name == "std":
        squares = kind(load_cupy().square(array - _unwrap(kind(array).mean(axis=0))))
        return np.sqrt(squares.mean(axis=0))
    whole = len(array) // _STRETCH * _STRETCH
    first = getattr(array[:whole].reshape(-1, _STRETCH, array.shape[1]), "sum" if name == "mean" else name)
    real = {"dtype": options["dtype"]} if options.get("dtype") is not None else {}
    parts = load_cupy().concatenate([first(axis=1, **real), array[whole:].astype(real.get("dtype", array.dtype))])
    total = getattr(parts, "sum" if name == "mean" else name)(axis=0)
    return _give(kind, (total / len(array)).astype(total.dtype) if name == "mean" else total)


def rows_of(value: Any) -> Any:
    """Return the CuPy array that rows are, or a copy on the GPU of those on the host."""
    return _unwrap(value)


def _unwrap(value: Any) -> Any:
    """Return what CuPy works on: its own arrays, numbers as they are."""
    if isinstance(value, DeviceRows):
        return value.array
    if isinstance(value, np.ndarray):
        return as_device_array(value) if value.ndim else value[()]
    if isinstance(value, (tuple, list)) and any(isinstance(part, (DeviceRows, np.ndarray)) for part in value):
        return type(value)(_unwrap(part) for part in value)
    return value


def _copied(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_copied(part) for part in value)
    return on_host(value)


def _give(kind: Kind, value: Any) -> Any:
    """Keep what is long on the GPU; give back what is short."""
    if isinstance(value, (tuple, list)):
        return type(value)(_give(kind, part) for part in value)
    if not isinstance(value, load_cupy().ndarray):
        return value
    if value.ndim == 0:
        return value.get()[()]
    return kind(value) if kind.stays(value) else value.get()


def _place(place: Any) -> Any:
    """Return an index that CuPy takes: flags within several indices become numbers."""
    if isinstance(place, tuple):
        return tuple(np.flatnonzero(part) if _is_flags(part) else _unwrap(part) for part in place)
    return _unwrap(place)


def _is_flags(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == bool and part.ndim == 1


def _median(kind: Kind, values: Any, axis: int | None = None, **options: Any) -> Any:
    array = _unwrap(values)
    if axis not in (0, None) or options or array.ndim != (2 if axis == 0 else 1) or array.dtype.kind != "f":
        return None
    if axis == 0 and array.shape[1] > _MOST_COLUMNS:
        return None
    medians = column_medians(array if array.ndim == 2 else array[:, None])
    return _give(kind, medians.astype(array.dtype, copy=False) if axis == 0 else medians[0])


def _quantile(kind: Kind, values: Any, share: Any, *, method: str = "linear", **options: Any) -> Any:
    array, axis = _unwrap(values), options.pop("axis", None)
    if method != "weibull" or options or array.ndim != (1 if axis is None else 2) or axis not in (None, 0):
        return None
    ranks = np.clip((len(array) + 1) * np.asarray(share, float) - 1, 0.0, len(array) - 1.0)
    lower = ranks.astype(int)
    pair = load_cupy().sort(array, axis=0)[_unwrap(np.stack([lower, np.minimum(lower + 1, len(array) - 1)]))].get()
    part = (ranks - lower).reshape(ranks.shape + (1,) * (array.ndim - 1))
    return pair[0] + part * (pair[1] - pair[0])


def _clip(kind: Kind, values: Any, low: Any, high: Any, *, out: Any = None, order: str = "K") -> Any:
    cupy, bounded = load_cupy(), [_unwrap(value) for value in (values, low, high)]
    if out is not None:
        if not isinstance(out, DeviceRows):
            return None
        cupy.clip(*bounded, out=out.array)
        return out
    clipped = cupy.clip(*bounded)
    return _give(kind, cupy.ascontiguousarray(clipped) if order == "C" else clipped)


def _einsum(kind: Kind, subscripts: Any, *factors: Any, **options: Any) -> Any:
    if subscripts != "ij,ij->i" or options:
        return None
    return _give(kind, row_products(*(_unwrap(factor) for factor in factors)))


def _interp(kind: Kind, *given: Any, **options: Any) -> Any:
    if options:
        return None
    cupy = load_cupy()  # which takes none of these from the host
    return _give(kind, cupy.interp(*(cupy.asarray(_unwrap(value)) for value in given)))


_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.median: _median,
    np.quantile: _quantile,
    np.clip: _clip,
    np.einsum: _einsum,
    np.interp: _interp,
}


_streams = threading.local()
# Bytes that the work on one number of a stack takes at most, copies and what is between included.
_BYTES_FOR_ONE = 32


def lend(values: Any) -> Any:
    """Return an array as rows on the GPU; half precision becomes single, in which the sums are."""
    array = as_device_array(values.array if isinstance(values, DeviceRows) else values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return DeviceRows(array)


def lend_table(values: Any) -> Any:
    """Return rows on the GPU, one behind the other, of which whatever has a number for each stays there."""
    return DeviceTable(load_cupy().ascontiguousarray(lend(values).array))


def lend_stack(values: Any) -> Any:
    """Return estimates side by side on the GPU; as they are if there is not the memory for the work on them."""
    return DeviceStack(load_cupy().asarray(values)) if free_bytes() > _BYTES_FOR_ONE * values.size else values


def work_stream(resident: bool) -> AbstractContextManager[Any]:
    """Return where to work: on the caller's stream with rows that are there, else on one for each thread.

    Two threads with batches from the host then work at once: one copies while the other computes.
    """
    if resident:
        return nullcontext()
    if not hasattr(_streams, "stream"):
        _streams.stream = load_cupy().cuda.Stream(non_blocking=True)
    return _streams.stream
