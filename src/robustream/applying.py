"""A model applied to each row of files, in batches: outlier scores, predictions, coordinates.

Every row of every readable file has a line in the output, in order, whatever is wrong with it: cells that cannot be
worked out are empty. What cannot be read at all is listed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError, StorageError
from robustream.estimators import OutlierRobust, OutlierRobustRegressor, TrimmedRegressor
from robustream.persistence import load_with_extra
from robustream.sources.reading_ahead import read_ahead
from robustream.sources.tables import open_tables
from robustream.sources.tables.whole_frames import frame_of_rows

__all__ = ["Applied", "apply_to_files"]

What = Literal["score", "predict", "transform"]
Columns = dict[str, NDArray[Any]]

_ROWS_AT_ONCE = 65_536
_BYTES_AT_ONCE = 64_000_000


class Applied(NamedTuple):
    """What became of the rows."""

    rows: int
    empty: int  # rows with missing or infinite cells
    outliers: int | None  # None where no scores were asked for
    failed: list[tuple[str, str]]  # what could not be read, and why

    def say(self) -> str:
        """Say it in a line."""
        text = f"{self.rows:,} rows"
        if self.outliers is not None:
            share = self.outliers / max(1, self.rows - self.empty)
            text += f", {self.outliers:,} of them outliers ({share:.2%})"
        return text + (f", {self.empty:,} with missing cells." if self.empty else ".")


def apply_to_files(
    what: What,
    model_path: str | os.PathLike[str],
    sources: str | Sequence[str],
    out: str | os.PathLike[str],
    *,
    target: Sequence[str] | None = None,
    header: bool = True,
    separator: str | None = None,
    progress: bool = False,
) -> Applied:
    """Write what a model says of each row of files to one file, whose name says in which format."""
    model, extra = load_with_extra(model_path)
    work = _work(what, model)
    names = getattr(model, "feature_names_in_", None)
    table = open_tables(
        sources,
        target=_targets(model, extra, target) if what == "score" else None,
        columns=None if names is None else [str(name) for name in names],
        missing="keep",
        header=header,
        separator=separator,
    )
    if len(table.feature_names) != model.n_features_in_:
        raise InvalidInputError(
            f"the model has {model.n_features_in_} columns without names, and the files have "
            f"{len(table.feature_names)}: {', '.join(table.feature_names[:5])}, ..."
        )
    size = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // (table.dtype.itemsize * len(table.feature_names))))
    source = table.in_batches(size)
    rows = empty = outliers = 0
    failed: list[tuple[str, str]] = []
    counter = _RowCounter()
    with _writer(out) as write, _bar(progress, what, source.count) as advance:
        for batch in read_ahead(source.batches(), 2):
            advance()
            if batch.failure is not None:
                failed.append((batch.label, batch.failure))
                continue
            columns, complete = _answers(model, work, batch, names)
            file, first = counter.place(batch)
            write({"file": np.full(batch.rows, file, dtype=object), "row": first + np.arange(batch.rows), **columns})
            rows, empty = rows + batch.rows, empty + batch.rows - int(complete.sum())
            outliers += int((columns["outlier"] == True).sum()) if what == "score" else 0  # noqa: E712 (None too)
    return Applied(rows, empty, outliers if what == "score" else None, failed)


def _work(what: What, model: Any) -> Callable[[Any, Any], Columns]:
    method = {"score": "outlier_scores", "predict": "predict", "transform": "transform"}[what]
    if not hasattr(model, method):
        raise InvalidInputError(f"a {type(model).__name__} cannot {what}: it has no {method}")
    if what == "score":
        return _scores(model)
    if what == "predict":
        return lambda X, _: _numbered("prediction", model.predict(X))
    return lambda X, _: _numbered("component", model.transform(X))


def _scores(model: Any) -> Callable[[Any, Any], Columns]:
    def scores(X: Any, y: Any) -> Columns:
        values = model.outlier_scores(X) if y is None else model.outlier_scores(X, y)
        cutoff = model.cutoff_ if y is not None else 1.0
        return {"score": values, "outlier": values > cutoff}

    return scores


def _answers(
    model: Any, work: Callable[[Any, Any], Columns], batch: Batch, names: NDArray[Any] | None
) -> tuple[Columns, NDArray[np.bool_]]:
    """Work on the complete rows, and leave empty cells for the others."""
    complete = np.isfinite(batch.X).all(axis=1)
    if batch.y is not None:
        complete &= np.isfinite(batch.y).reshape(batch.rows, -1).all(axis=1)
    X = batch.X[complete]
    y = None if batch.y is None else batch.y[complete]
    if not len(X):
        # One made-up row tells which columns there are; its values are thrown away.
        made_up = np.zeros((1, batch.X.shape[1]), batch.X.dtype)
        found = work(frame_of_rows(made_up, names), None if batch.y is None else np.zeros_like(batch.y[:1]))
        found = {name: values[:0] for name, values in found.items()}
    else:
        found = work(frame_of_rows(X, names), y)
    if complete.all():
        return found, complete
    return {name: _spread(values, complete) for name, values in found.items()}, complete


def _spread(values: NDArray[Any], complete: NDArray[np.bool_]) -> NDArray[Any]:
    if values.dtype.kind == "f":
        spread = np.full(len(complete), np.nan, dtype=values.dtype)
    else:
        spread = np.full(len(complete), None, dtype=object)
    spread[complete] = values
    return spread


def _numbered(name: str, values: NDArray[Any]) -> Columns:
    if values.ndim == 1:
        return {name: values}
    return {f"{name} {place + 1}": values[:, place] for place in range(values.shape[1])}


def _targets(model: Any, extra: Any, given: Sequence[str] | None) -> list[str] | None:
    """Give the names of the targets: a regression scores rows by how far their targets are from the prediction."""
    if not isinstance(model, (OutlierRobustRegressor, TrimmedRegressor, OutlierRobust)):
        return None
    known = extra.get("targets") if isinstance(extra, dict) else None
    names = list(given or known or ())
    if not names:
        raise InvalidInputError("the model does not know the name of its target; say it with --target")
    return names


class _RowCounter:
    """Tells which file a batch is of, and the number of its first row there."""

    def __init__(self) -> None:
        self._file = ""
        self._next = 0

    def place(self, batch: Batch) -> tuple[str, int]:
        """Give both; batches come in order."""
        file, _, span = batch.label.rpartition("#")
        first = span.partition("-")[0]
        if file != self._file:
            self._file, self._next = file, 0
        # CSV files are cut by bytes, so that their rows must be counted; others say which rows a batch has.
        begin = int(first) if first.isdigit() else self._next
        self._next = begin + batch.rows
        return file or batch.label, begin


@contextmanager
def _writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    """Give a function that appends rows to a file, which appears under its name when it is complete."""
    final = Path(path)
    make = _WRITERS.get(final.suffix.lower())
    if make is None:
        raise InvalidInputError(f"--out must end in one of {', '.join(_WRITERS)}; {final.name} came")
    try:
        handle, name = tempfile.mkstemp(dir=final.absolute().parent, prefix=f".{final.name}.")
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror}") from error
    os.close(handle)
    writer: Any = None

    def write(columns: Columns) -> None:
        nonlocal writer
        table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
        if writer is None:
            writer = make(name, table.schema)
        writer.write_table(table.cast(writer.schema) if hasattr(writer, "schema") else table)

    try:
        yield write
        if writer is None:
            raise InvalidInputError("no row could be read, so that nothing was written")
        writer.close()
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, final)
    except OSError as error:
        raise StorageError(f"{final} cannot be written: {error.strerror or error}") from error
    finally:
        if writer is not None:
            writer.close()
        Path(name).unlink(missing_ok=True)


_WRITERS: dict[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": lambda name, schema: pa.parquet.ParquetWriter(name, schema),
    ".csv": lambda name, schema: pa.csv.CSVWriter(name, schema),
    ".arrow": lambda name, schema: pa.ipc.new_file(name, schema),
    ".feather": lambda name, schema: pa.ipc.new_file(name, schema),
}


def _umask() -> int:
    """Read the mask for new files: it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def _bar(shown: bool, title: str, total: int | None) -> Iterator[Callable[[], None]]:
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
