"""Anything that people learn from (arrays, data frames, files, iterables, sources) as a table that can be cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from robustream.errors import InvalidInputError
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.runs.batching import check_batch_size
from robustream.runs.run import Layout
from robustream.sources.base import Source
from robustream.sources.dask import is_dask_collection
from robustream.sources.iterables import IterableSource, is_arrow_stream
from robustream.sources.sparse import is_sparse
from robustream.weights import check_weights

if TYPE_CHECKING:
    from robustream.sources.tables.encoding import Encoding
    from robustream.sources.tables.schema import Selection

__all__ = ["ReadOptions", "ResolvedSource", "resolve_source"]

_NO_NAMES = (
    "columns, exclude, numeric_only, categories and formulas are for columns of data frames and files; an array has no "
    "names"
)


class ReadOptions(NamedTuple):
    """How a table is to be read; the arguments of `robustream.fit` that say so."""

    target: Any = None
    columns: Sequence[str] | None = None
    exclude: str | Sequence[str] = ()
    missing: str = "use"
    classes: Any = None
    join_small_files: bool = False
    header: bool = True
    separator: str | None = None
    decimal: str | None = None
    categorical: str | Sequence[str] = ()
    categories: Mapping[str, Sequence[Any]] | None = None
    dates: str | Sequence[str] = ()
    formula: str | None = None
    numeric_only: bool = False
    max_batch_bytes: int | None = None
    max_line_bytes: int | None = None
    weight: Any = None

    @property
    def names_columns(self) -> bool:
        """Whether columns are chosen by name, which arrays do not have."""
        chosen = (self.exclude, self.categorical, self.categories, self.dates, self.formula)
        return self.columns is not None or self.numeric_only or any(chosen)


class ResolvedSource(NamedTuple):
    """A table that was looked at: its shape, its names, and how it is cut into batches."""

    layout: Layout
    names: NDArray[Any] | None  # of the columns
    targets: tuple[str, ...]
    rows: int | None
    row_bytes: int
    in_batches: Callable[[int], Source]
    notes: Callable[[], tuple[str, ...]] = tuple  # what a person should know of the files
    encoding: Encoding | None = None  # how X is made, where its columns are not those of the table
    unseen: Mapping[str, int] = {}  # cells whose level has no column of its own, where batches do not count them


def resolve_source(estimator: Any, source: Any, reading: ReadOptions) -> ResolvedSource:
    """Look at what a source argument is, and at what an estimator needs of it."""
    _check_estimator(estimator)
    if reading.formula is not None:
        reading = _with_target_of_formula(estimator, reading)
    if isinstance(source, Source):
        return _open_source(estimator, source, reading)
    if _are_paths(source):
        return _open_files(estimator, source, reading)
    if is_device_array(source) and reading.weight is not None:
        source, target = host_array(source), host_array(reading.target)  # rows with weights are worked on on the host
        reading = reading._replace(target=target)
    if is_sparse(source):
        return _open_sparse(estimator, source, reading)
    if isinstance(source, np.ndarray) or (isinstance(source, (list, tuple)) and _are_numbers(source)):
        return _open_arrays(estimator, np.asarray(source), reading)
    if is_dask_collection(source):
        return _open_dask(estimator, source, reading)
    if is_arrow_stream(source):
        return _open_stream(estimator, source, reading)
    if _is_frame(source):
        return _open_frame(estimator, source, reading)
    if is_device_array(source):
        source, reading = (
            [source if reading.target is None else (source, reading.target)],
            reading._replace(target=None),
        )
    if callable(source) or isinstance(source, Iterable):
        by_name = _names_columns(reading.target)
        batch_size = check_batch_size(getattr(estimator, "batch_size", "auto"))  # for rows that come one by one
        items = IterableSource(
            source,
            target=_target_names(estimator, reading.target) if by_name else None,
            columns=reading.columns,
            exclude=reading.exclude,
            missing="keep",
            text_target=_classifies(estimator),
            weight=_weight_name(reading.weight),
            **_encoding_options(estimator, reading),
            rows_together=None if batch_size == "auto" else batch_size,
        )
        opened = _open_source(estimator, items, _nothing_named(reading))
        opened = opened._replace(encoding=items.encoding)
        if not by_name:
            return opened
        names = (reading.target,) if isinstance(reading.target, str) else tuple(reading.target)
        return opened._replace(layout=opened.layout._replace(single=isinstance(reading.target, str)), targets=names)
    raise InvalidInputError(
        f"source must be an array, a data frame, a path, a pattern, a folder, an iterable of batches or a Source, "
        f"got {type(source).__name__}"
    )


def _open_dask(estimator: Any, collection: Any, reading: ReadOptions) -> ResolvedSource:
    """Look at a Dask array or data frame; its partitions are the batches."""
    from robustream.sources.dask import DaskSource

    if not hasattr(collection, "columns"):
        if reading.names_columns:
            raise InvalidInputError(_NO_NAMES)
        y = reading.target if _needs_target(estimator) else None
        source = DaskSource(collection, y, weights=reading.weight)
        return _open_source(estimator, source, reading._replace(target=None, weight=None))
    target = _target_names(estimator, reading.target)
    chosen = [] if target is None else [target] if isinstance(target, str) else target
    left_out = {reading.exclude} if isinstance(reading.exclude, str) else set(reading.exclude)
    names = [str(name) for name in (collection.columns if reading.columns is None else reading.columns)]
    weight = _weight_name(reading.weight)
    beside = [] if weight is None else [weight]
    absent = [name for name in (*names, *chosen, *left_out, *beside) if name not in set(map(str, collection.columns))]
    if absent:
        raise InvalidInputError(f"the data frame has no column {', '.join(map(repr, absent[:5]))}")
    if weight is not None and (weight in chosen or (reading.columns is not None and weight in names)):
        raise InvalidInputError(f"weight must be neither a target nor a column to learn from, got {weight!r}", "weight")
    features = [name for name in names if name not in left_out and name not in (*chosen, *beside)]
    rows, encoding = collection[features], None
    options = _encoding_options(estimator, reading)
    if options["numeric_only"] or options["encoder"] is not None:
        from robustream.sources.tables.dask_frames import encode_collection

        rows, encoding, features = encode_collection(collection, target, features, **options)
    weights = None if weight is None else collection[weight]
    source = DaskSource(rows, None if target is None else collection[target], weights=weights)
    opened = _open_source(estimator, source, _nothing_named(reading))
    single = opened.layout.single if target is None else isinstance(reading.target, str)
    return opened._replace(
        layout=opened.layout._replace(single=single),
        names=np.array(features, dtype=object),
        targets=tuple(chosen),
        encoding=encoding,
    )


def _nothing_named(reading: ReadOptions) -> ReadOptions:
    """Return the options for batches that have been made by them already."""
    fresh = ReadOptions()
    return reading._replace(
        target=None,
        columns=None,
        exclude=(),
        categorical=fresh.categorical,
        categories=None,
        dates=fresh.dates,
        formula=None,
        numeric_only=False,
        weight=None,
    )


def _check_estimator(estimator: Any) -> None:
    # Only the class is asked: `run_` comes with the first run.
    if isinstance(estimator, type) or not hasattr(type(estimator), "begin_run"):
        raise InvalidInputError(
            "estimator must be an OutlierRobustPCA, an OutlierRobustRegressor, an OutlierRobustCovariance or an "
            f"OutlierRobust (around another estimator), since only these learn batch by batch, got {estimator!r}"
        )


def _open_files(estimator: Any, paths: Any, reading: ReadOptions) -> ResolvedSource:
    from robustream.sources.tables import make_limits, open_tables

    table = open_tables(
        paths,
        target=_target_names(estimator, reading.target),
        columns=reading.columns,
        exclude=reading.exclude,
        missing=reading.missing,
        join_small_files=reading.join_small_files,
        header=reading.header,
        separator=reading.separator,
        decimal=reading.decimal,
        limits=make_limits(reading.max_batch_bytes, reading.max_line_bytes),
        text_target=_classifies(estimator),
        weight=_weight_name(reading.weight),
        **_encoding_options(estimator, reading),
    )
    if table.rows == 0:
        raise InvalidInputError("the files have columns, but no rows")
    return _open_table(estimator, table, reading)


def _open_stream(estimator: Any, stream: Any, reading: ReadOptions) -> ResolvedSource:
    from robustream.sources.tables.frames import StreamedTable

    table = StreamedTable(
        stream,
        target=_target_names(estimator, reading.target),
        columns=reading.columns,
        exclude=reading.exclude,
        missing=reading.missing,
        text_target=_classifies(estimator),
        weight=_weight_name(reading.weight),
        **_encoding_options(estimator, reading),
    )
    return _open_table(estimator, table, reading)


def _open_table(estimator: Any, table: Any, reading: ReadOptions) -> ResolvedSource:
    layout = _layout_for(estimator, len(table.feature_names), len(table.target_names), reading, None)
    width = len(table.feature_names) + len(table.target_names)
    names = np.array(table.feature_names, dtype=object)
    row_bytes = width * table.dtype.itemsize
    return ResolvedSource(
        layout,
        names,
        table.target_names,
        table.rows,
        row_bytes,
        table.in_batches,
        lambda: table.notes,
        table.encoding,
    )


def _open_arrays(estimator: Any, X: NDArray[Any], reading: ReadOptions) -> ResolvedSource:
    if X.ndim != 2 or not len(X) or X.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"an array must be rows x columns of numbers, got one of shape {X.shape} and type {X.dtype}"
        )
    if reading.names_columns:
        raise InvalidInputError(_NO_NAMES)
    y = _target_array(estimator, reading.target, len(X))
    return _cut_arrays(estimator, X, y, None, reading, _weight_array(reading.weight, len(X)))


def _open_sparse(estimator: Any, X: Any, reading: ReadOptions) -> ResolvedSource:
    """Look at a sparse matrix, whose batches are made dense one at a time."""
    from robustream.sources.sparse import SparseSource
    from robustream.sources.tables.missing import ScreenedSource

    if X.ndim != 2 or not X.shape[0] or X.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"a sparse matrix must be rows x columns of numbers, got one of shape {X.shape} and type {X.dtype}"
        )
    if reading.names_columns:
        raise InvalidInputError(_NO_NAMES)
    rows, columns = X.shape
    y, weights = _target_array(estimator, reading.target, rows), _weight_array(reading.weight, rows)
    outputs = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    layout = _layout_for(estimator, columns, outputs, reading, y)
    selection = _selection_for(estimator, X, y, None, reading)
    by_rows = X.tocsr()
    return ResolvedSource(
        layout,
        None,
        selection.targets,
        rows,
        (columns + outputs) * selection.dtype.itemsize,
        lambda size: ScreenedSource(SparseSource(by_rows, y, batch_size=min(size, rows), weights=weights), selection),
    )


def _open_frame(estimator: Any, frame: Any, reading: ReadOptions) -> ResolvedSource:
    from robustream.sources.tables.encoding import unseen_levels
    from robustream.sources.tables.frames import arrays_of_frame

    by_name = _names_columns(reading.target)
    rows, selection = arrays_of_frame(
        frame,
        target=_target_names(estimator, reading.target) if by_name else None,
        columns=reading.columns,
        exclude=reading.exclude,
        text_target=_classifies(estimator),
        weight=reading.weight if isinstance(reading.weight, str) else None,
        **_encoding_options(estimator, reading),
    )
    X, y, weights = rows.X, rows.y, rows.weights
    if not by_name:
        y = _target_array(estimator, reading.target, len(X))
    if weights is None:
        weights = _weight_array(reading.weight, len(X))
    opened = _cut_arrays(estimator, X, y, np.array(selection.features, dtype=object), reading, weights)
    return opened._replace(
        targets=selection.targets or opened.targets,
        notes=lambda: tuple(selection.notes()),
        encoding=selection.encoding,
        unseen=unseen_levels(rows.stats),
    )


def _cut_arrays(
    estimator: Any,
    X: NDArray[Any],
    y: NDArray[Any] | None,
    names: NDArray[Any] | None,
    reading: ReadOptions,
    weights: NDArray[Any] | None,
) -> ResolvedSource:
    from robustream.sources.arrays import ArraySource
    from robustream.sources.tables.missing import ScreenedSource

    outputs = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    layout = _layout_for(estimator, X.shape[1], outputs, reading, y)
    selection = _selection_for(estimator, X, y, names, reading)
    width = (X.shape[1] + outputs) * X.dtype.itemsize
    return ResolvedSource(
        layout,
        names,
        selection.targets,
        len(X),
        width,
        lambda rows: ScreenedSource(ArraySource(X, y, batch_size=min(rows, len(X)), weights=weights), selection),
    )


def _open_source(estimator: Any, source: Source, reading: ReadOptions) -> ResolvedSource:
    """Look at batches that come from a Source."""
    from robustream.sources.tables.missing import ScreenedSource

    if reading.target is not None or reading.weight is not None or reading.names_columns:
        raise InvalidInputError(
            "target, weight, columns, exclude, categories and formulas are not for a Source, whose batches have X, y "
            "and weights already"
        )
    first, source = _peek(source)
    if _needs_target(estimator) and first.y is None:
        raise InvalidInputError(
            f"{type(estimator).__name__} needs a target: name its column with target=, or let the items be pairs (X, y)"
        )
    y = first.y if _needs_target(estimator) else None
    selection = _selection_for(estimator, first.X, y, _names_of(source), reading)
    layout = _layout_for(estimator, first.X.shape[1], len(selection.targets), reading, None)
    layout = layout._replace(single=layout.single if y is None else y.ndim == 1)
    width = (first.X.shape[1] + len(selection.targets)) * selection.dtype.itemsize
    return ResolvedSource(
        layout, _names_of(source), selection.targets, None, width, lambda _: ScreenedSource(source, selection)
    )


def _encoding_options(estimator: Any, reading: ReadOptions) -> dict[str, Any]:
    """Return what becomes of columns that are not plain numbers, as the readers of tables want it."""
    if not any((reading.categorical, reading.categories, reading.dates, reading.formula)):
        return {"numeric_only": reading.numeric_only, "encoder": None}
    from robustream.sources.tables.encoder import make_encoder

    encoder = make_encoder(reading.categorical, reading.categories, reading.dates, reading.formula, _coding(estimator))
    return {"numeric_only": reading.numeric_only, "encoder": encoder}


def _coding(estimator: Any) -> str:
    """Return which levels of categories get a column: see `robustream.sources.tables.encoder`."""
    if not _needs_target(estimator):
        return "all"
    intercept = getattr(getattr(estimator, "estimator", estimator), "fit_intercept", None)
    return "all" if intercept is None else "reference" if intercept else "first"


def _with_target_of_formula(estimator: Any, reading: ReadOptions) -> ReadOptions:
    from robustream.sources.tables.formula import read_formula

    if reading.target is not None or reading.columns is not None or len(reading.exclude):
        raise InvalidInputError("formula names target and columns: target, columns and exclude must not be given too")
    formula = read_formula(str(reading.formula))
    if not formula.intercept and _coding(estimator) == "reference":
        raise InvalidInputError(
            f"formula {formula.text!r} has no intercept, and {type(estimator).__name__} fits one: fit_intercept=False "
            "says so.",
            "fit_intercept",
        )
    targets = formula.target_names
    if not targets and _needs_target(estimator):
        raise InvalidInputError(f"formula {formula.text!r} must have a target before ~, as in 'y ~ x'.", "formula")
    return reading._replace(target=None if not targets else targets[0] if len(targets) == 1 else list(targets))


def _peek(source: Source) -> tuple[Any, Source]:
    """Return the first usable batch, and a source that still has it."""
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
    """Return whether a list is a table written as nested lists, and no list of batches."""
    return len(source) > 0 and all(isinstance(row, (list, tuple)) and row and np.isscalar(row[0]) for row in source)


def _is_frame(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__")


def _names_of(source: Source) -> NDArray[Any] | None:
    names = getattr(source, "feature_names", None)
    return None if names is None else np.array(list(names), dtype=object)


def _layout_for(estimator: Any, columns: int, outputs: int, reading: ReadOptions, y: NDArray[Any] | None) -> Layout:
    """Return the layout of a run; `y` is the whole target where it is at hand."""
    by_name = _names_columns(reading.target)
    single = isinstance(reading.target, str) if by_name else y is None or y.ndim == 1
    if not _classifies(estimator):
        return Layout(columns, outputs if _needs_target(estimator) else 0, single)
    if reading.classes is None and y is None:
        raise InvalidInputError(
            "classes must name all classes of the target: they cannot be known before all files are read"
        )
    classes = np.unique(np.asarray(y if reading.classes is None else reading.classes))
    return Layout(columns, 1, True, classes)


def _selection_for(
    estimator: Any, X: NDArray[Any], y: NDArray[Any] | None, names: NDArray[Any] | None, reading: ReadOptions
) -> Selection:
    """Return how batches of arrays are brought into shape: names, types, and the shape that y has for the learner."""
    from robustream.sources.tables.schema import Selection

    dtype = X.dtype if X.dtype in (np.dtype(np.float32), np.dtype(np.float64)) else np.dtype(np.float64)
    features = tuple(str(name) for name in names) if names is not None else tuple(f"x{k}" for k in range(X.shape[1]))
    outputs = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
    targets = ("y",) if outputs == 1 else tuple(f"y{k}" for k in range(outputs))
    classifier = _classifies(estimator)
    # A wrapped estimator gets y as it came; our own learners take rows x outputs.
    single = estimator.targets_as_given and (y is None or y.ndim == 1)
    weight = reading.weight if isinstance(reading.weight, str) else None
    kind = "as given" if classifier else "number"
    return Selection(features, targets, single, dtype, kind, reading.missing, weight=weight)


def _target_names(estimator: Any, target: Any) -> str | list[str] | None:
    """Return the target as the reader of files wants it: a list where y is to be rows x outputs."""
    if not _needs_target(estimator):
        if target is not None:
            raise InvalidInputError(
                f"{type(estimator).__name__} has no target; leave the column out with exclude=, got target={target!r}"
            )
        return None
    if not _names_columns(target):
        raise InvalidInputError(
            f"{type(estimator).__name__} needs a target: the name of a column, or several names, got {target!r}"
        )
    if estimator.targets_as_given and isinstance(target, str):
        return target
    return [target] if isinstance(target, str) else list(target)


def _target_array(estimator: Any, target: Any, rows: int) -> NDArray[Any] | None:
    """Return the target that came as an array."""
    if not _needs_target(estimator):
        if target is not None:
            raise InvalidInputError(f"{type(estimator).__name__} has no target, got target={type(target).__name__}")
        return None
    if target is None or _names_columns(target):
        raise InvalidInputError(f"{type(estimator).__name__} needs target=y, an array with a row for each row of X")
    y = np.asarray(target)
    if y.ndim not in (1, 2) or len(y) != rows:
        raise InvalidInputError(f"target must have as many rows as X, {rows}, got an array of shape {y.shape}")
    return y


def _weight_name(weight: Any) -> str | None:
    """Return the name of the column of weights."""
    if weight is None or isinstance(weight, str):
        return weight
    raise InvalidInputError(f"weight must be the name of a column here, got {type(weight).__name__}", "weight")


def _weight_array(weight: Any, rows: int) -> NDArray[Any] | None:
    """Return the weights that came as an array."""
    if isinstance(weight, str):
        raise InvalidInputError(f"weight must be an array with a number for each row of X, got {weight!r}", "weight")
    return None if weight is None else check_weights(host_array(weight), rows, "weight")


def _needs_target(estimator: Any) -> bool:
    """Return whether an estimator learns to predict something."""
    return bool(get_tags(estimator).target_tags.required)


def _classifies(estimator: Any) -> bool:
    """Return whether the target holds classes."""
    return bool(is_classifier(estimator))


def _names_columns(target: Any) -> bool:
    """Return whether a target is given by name."""
    return isinstance(target, str) or (
        isinstance(target, (list, tuple)) and len(target) > 0 and all(isinstance(name, str) for name in target)
    )
