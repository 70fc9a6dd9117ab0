"""Anything that people learn from (arrays, data frames, files, iterables, sources) as a table that can be cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.estimators import OutlierRobust, OutlierRobustPCA, OutlierRobustRegressor
from robustream.estimators._layout import Layout
from robustream.fitting.targets import (
    Reading,
    classifies,
    layout_for,
    names_columns,
    needs_target,
    selection_for,
    target_array,
    target_names,
)
from robustream.sources.base import Source
from robustream.sources.dask import is_dask_collection

__all__ = ["Opened", "open_source", "open_table"]


class Opened(NamedTuple):
    """A table that was looked at: its shape, its names, and how it is cut into batches."""

    layout: Layout
    names: NDArray[Any] | None  # of the columns
    targets: tuple[str, ...]
    rows: int | None
    row_bytes: int
    in_batches: Callable[[int], Source]


def open_table(estimator: Any, source: Any, reading: Reading) -> Opened:
    """Look at what a source argument is, and at what an estimator needs of it."""
    _check_estimator(estimator)
    if isinstance(source, Source):
        return open_source(estimator, source, reading)
    if _are_paths(source):
        return _open_files(estimator, source, reading)
    if isinstance(source, np.ndarray) or (isinstance(source, (list, tuple)) and _are_numbers(source)):
        return _open_arrays(estimator, np.asarray(source), reading)
    if is_dask_collection(source):
        return open_dask(estimator, source, reading)
    if _is_frame(source):
        return _open_frame(estimator, source, reading)
    if callable(source) or isinstance(source, Iterable):
        from robustream.sources.iterables import IterableSource

        by_name = names_columns(reading.target)
        items = IterableSource(
            source,
            target=target_names(estimator, reading.target) if by_name else None,
            columns=reading.columns,
            exclude=reading.exclude,
            missing="keep",
            text_target=classifies(estimator),
        )
        opened = open_source(estimator, items, reading._replace(target=None, columns=None, exclude=()))
        if not by_name:
            return opened
        names = (reading.target,) if isinstance(reading.target, str) else tuple(reading.target)
        return opened._replace(layout=opened.layout._replace(single=isinstance(reading.target, str)), targets=names)
    raise InvalidInputError(
        f"source must be an array, a data frame, a path, a pattern, a folder, an iterable of batches or a Source; "
        f"{type(source).__name__} came"
    )


def open_dask(estimator: Any, collection: Any, reading: Reading) -> Opened:
    """Look at a Dask array or data frame; its partitions are the batches."""
    from robustream.sources.dask import DaskSource

    if not hasattr(collection, "columns"):
        y = reading.target if needs_target(estimator) else None
        source = DaskSource(collection, y)
        return open_source(estimator, source, reading._replace(target=None))
    target = target_names(estimator, reading.target)
    chosen = [] if target is None else [target] if isinstance(target, str) else target
    left_out = {reading.exclude} if isinstance(reading.exclude, str) else set(reading.exclude)
    names = [str(name) for name in (collection.columns if reading.columns is None else reading.columns)]
    absent = [name for name in (*names, *chosen, *left_out) if name not in set(map(str, collection.columns))]
    if absent:
        raise InvalidInputError(f"the data frame has no column {', '.join(map(repr, absent[:5]))}")
    features = [name for name in names if name not in left_out and name not in chosen]
    source = DaskSource(collection[features], None if target is None else collection[target])
    opened = open_source(estimator, source, reading._replace(target=None, columns=None, exclude=()))
    single = opened.layout.single if target is None else isinstance(reading.target, str)
    return opened._replace(
        layout=opened.layout._replace(single=single), names=np.array(features, dtype=object), targets=tuple(chosen)
    )


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not isinstance(
        estimator, (OutlierRobustPCA, OutlierRobustRegressor, OutlierRobust)
    ):
        raise InvalidInputError(
            "estimator must be an OutlierRobustPCA, an OutlierRobustRegressor or an OutlierRobust (around another "
            f"estimator), since only these learn batch by batch; {estimator!r} came"
        )


def _open_files(estimator: Any, paths: Any, reading: Reading) -> Opened:
    from robustream.sources.tables import open_tables

    table = open_tables(
        paths,
        target=target_names(estimator, reading.target),
        columns=reading.columns,
        exclude=reading.exclude,
        missing=reading.missing,
        join_small_files=reading.join_small_files,
        header=reading.header,
        separator=reading.separator,
        decimal=reading.decimal,
        text_target=classifies(estimator),
    )
    if table.rows == 0:
        raise InvalidInputError("the files have columns, but no rows")
    layout = layout_for(estimator, len(table.feature_names), len(table.target_names), reading, None)
    width = len(table.feature_names) + len(table.target_names)
    names = np.array(table.feature_names, dtype=object)
    return Opened(layout, names, table.target_names, table.rows, width * table.dtype.itemsize, table.in_batches)


def _open_arrays(estimator: Any, X: NDArray[Any], reading: Reading) -> Opened:
    if X.ndim != 2 or not len(X) or X.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"an array must be rows x columns of numbers; one of shape {X.shape} and type {X.dtype} came"
        )
    if reading.columns is not None or len(reading.exclude):
        raise InvalidInputError("columns and exclude name columns of data frames and files; an array has no names")
    y = target_array(estimator, reading.target, len(X))
    return _cut_arrays(estimator, X, y, None, reading)


def _open_frame(estimator: Any, frame: Any, reading: Reading) -> Opened:
    from robustream.sources.tables.frames import arrays_of_frame

    by_name = names_columns(reading.target)
    X, y, selection = arrays_of_frame(
        frame,
        target=target_names(estimator, reading.target) if by_name else None,
        columns=reading.columns,
        exclude=reading.exclude,
        text_target=classifies(estimator),
    )
    if not by_name:
        y = target_array(estimator, reading.target, len(X))
    opened = _cut_arrays(estimator, X, y, np.array(selection.features, dtype=object), reading)
    return opened._replace(targets=selection.targets or opened.targets)


def _cut_arrays(
    estimator: Any, X: NDArray[Any], y: NDArray[Any] | None, names: NDArray[Any] | None, reading: Reading
) -> Opened:
    from robustream.sources.arrays import ArraySource
    from robustream.sources.tables.missing import ScreenedSource

    outputs = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    layout = layout_for(estimator, X.shape[1], outputs, reading, y)
    selection = selection_for(estimator, X, y, names, reading)
    width = (X.shape[1] + outputs) * X.dtype.itemsize
    return Opened(
        layout,
        names,
        selection.targets,
        len(X),
        width,
        lambda rows: ScreenedSource(ArraySource(X, y, batch_size=min(rows, len(X))), selection),
    )


def open_source(estimator: Any, source: Source, reading: Reading) -> Opened:
    """Look at batches that come from a Source."""
    from robustream.sources.tables.missing import ScreenedSource

    if reading.target is not None or reading.columns is not None or len(reading.exclude):
        raise InvalidInputError("target, columns and exclude are not for a Source, whose batches have X and y already")
    first, source = _peek(source)
    if needs_target(estimator) and first.y is None:
        raise InvalidInputError(
            f"{type(estimator).__name__} needs a target: name its column with target=, or let the items be pairs (X, y)"
        )
    y = first.y if needs_target(estimator) else None
    selection = selection_for(estimator, first.X, y, _names_of(source), reading)
    layout = layout_for(estimator, first.X.shape[1], len(selection.targets), reading, None)
    layout = layout._replace(single=layout.single if y is None else y.ndim == 1)
    width = (first.X.shape[1] + len(selection.targets)) * selection.dtype.itemsize
    return Opened(
        layout, _names_of(source), selection.targets, None, width, lambda _: ScreenedSource(source, selection)
    )


def _peek(source: Source) -> tuple[Any, Source]:
    """Give the first usable batch, and a source that still has it."""
    from robustream.sources.lookahead import peek

    first, whole = peek(source)
    if first is None or first.failure is not None:
        reason = "" if first is None else f": {first.label}: {first.failure}"
        raise InvalidInputError(f"the source has no usable batch{reason}")
    return first, whole


def _are_paths(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        return True
    return (
        isinstance(source, (list, tuple)) and len(source) > 0 and all(isinstance(s, (str, os.PathLike)) for s in source)
    )


def _are_numbers(source: Any) -> bool:
    """Tell a table written as nested lists from a list of batches."""
    return len(source) > 0 and all(isinstance(row, (list, tuple)) and row and np.isscalar(row[0]) for row in source)


def _is_frame(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__")


def _names_of(source: Source) -> NDArray[Any] | None:
    names = getattr(source, "feature_names", None)
    return None if names is None else np.array(list(names), dtype=object)
