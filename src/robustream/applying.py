"""A model applied to each row of files, in batches: outlier scores, predictions, coordinates.

Every row of every readable file has a line in the output, in order, whatever is wrong with it: cells that cannot be
worked out are empty. What cannot be read is listed, with its place.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import get_tags

from robustream.batch import Batch, Illegible
from robustream.errors import InvalidInputError
from robustream.persistence import load_with_extra
from robustream.sources.lookahead import read_ahead
from robustream.sources.tables import make_limits, open_tables
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.encoding import unseen_levels
from robustream.sources.tables.frames import frame_of_rows
from robustream.sources.tables.schema import TextColumnsError, UnknownColumnsError
from robustream.sources.tables.writer import table_writer

__all__ = ["Applied", "apply_to_files"]

What = Literal["score", "predict", "transform"]
Columns = dict[str, NDArray[Any]]

_METHODS: dict[What, str] = {"score": "outlier_scores", "predict": "predict", "transform": "transform"}

_ANSWERS: dict[What, tuple[str, ...]] = {
    "score": ("score", "cutoff", "outlier", "reason", "expected"),
    "predict": ("prediction",),
    "transform": (),
}

_ROWS_AT_ONCE = 65_536
_BYTES_AT_ONCE = 64_000_000


class Applied(NamedTuple):
    """What became of the rows."""

    rows: int
    empty: int  # rows with missing, infinite or unreadable cells
    outliers: int | None  # None where no scores were asked for
    failed: list[tuple[str, str]]  # parts of files that could not be read, and why
    illegible: list[str]  # cells that hold no number, and lines that are no row: the first of each batch and column
    unseen: Mapping[str, int] = {}  # cells of categories whose level the model has no column for

    def say(self) -> str:
        """Return it in a line."""
        text = f"{self.rows:,} rows"
        if self.outliers is not None:
            share = self.outliers / max(1, self.rows - self.empty)
            text += f", {self.outliers:,} of them outliers ({share:.2%})"
        text += (
            f", {self.empty:,} without a result for cells that are missing or hold no number." if self.empty else "."
        )
        for column, cells in self.unseen.items():
            text += f" Cells of {column!r} whose level has no column of its own: {cells:,}."
        return text


def apply_to_files(
    what: What,
    model_path: str | os.PathLike[str],
    sources: str | Sequence[str],
    out: str | os.PathLike[str],
    *,
    target: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    header: bool = True,
    separator: str | None = None,
    decimal: str | None = None,
    max_batch_bytes: int | None = None,
    max_line_bytes: int | None = None,
    progress: bool = False,
) -> Applied:
    """Write what a model says of each row of files to one file, whose name says in which format.

    The columns are the file and the row in it, those that `keep` names as they are in the files, and the answer: the
    score with the cut-off above which a row is an outlier, the prediction, or the coordinates. For the path "-" they go
    to standard output as CSV.
    """
    model, extra = load_with_extra(model_path)
    work = _work(what, model, _known_targets(extra))
    if taken := [name for name in keep if name in ("file", "row", *_ANSWERS[what])]:
        raise InvalidInputError(f"keep must not name {taken[0]!r}: the output has a column of this name", "keep")
    names, encoding = (getattr(model, name, None) for name in ("feature_names_in_", "encoding_"))
    targets = _targets(model, extra, target) if what == "score" else None
    learned = names if encoding is None else encoding.columns
    fitted = [*(() if learned is None else map(str, learned)), *(targets or ())]
    try:
        table = open_tables(
            sources,
            target=targets,
            fitted=fitted,
            columns=None if names is None or encoding is not None else [str(name) for name in names],
            encoder=None if encoding is None else Encoder(fixed=encoding),
            missing="keep",
            keep=keep,
            header=header,
            separator=separator,
            decimal=decimal,
            limits=make_limits(max_batch_bytes, max_line_bytes),
        )
    except UnknownColumnsError as error:
        raise InvalidInputError(_say_unknown(error), *error.arguments) from error
    except TextColumnsError as error:
        raise InvalidInputError(f"the model was fitted to columns of numbers, and here {error.holding}") from error
    if len(table.feature_names) != model.n_features_in_:
        raise InvalidInputError(
            f"the model has {model.n_features_in_} columns without names, and the files have "
            f"{len(table.feature_names)}: {', '.join(table.feature_names[:5])}, ..."
        )
    size = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // (table.dtype.itemsize * len(table.feature_names))))
    source = table.in_batches(size)
    rows = empty = outliers = 0
    failed: list[tuple[str, str]] = []
    illegible: list[str] = []
    unseen: Counter[str] = Counter()
    counter = _RowCounter()
    with table_writer(out) as write, _bar(progress, what, source.count) as advance:
        for batch in read_ahead(source.batches(), 2):
            advance()
            if batch.failure is not None:
                failed.append((batch.label, batch.failure))
                continue
            unseen.update(unseen_levels(batch.stats))
            columns, complete = _answers(model, work, batch, names)
            file, first = counter.place(batch)
            illegible += [_say_illegible(cells, file, first) for cells in sorted(batch.illegible, key=_row_of)]
            if reason := _why_mostly_illegible(batch):
                failed.append((batch.label, reason))
            write(_table(file, first, batch, columns, complete))
            rows, empty = rows + batch.rows, empty + batch.rows - int(complete.sum())
            outliers += int(columns["outlier"].sum()) if what == "score" else 0
    return Applied(rows, empty, outliers if what == "score" else None, failed, illegible, unseen)


def _say_unknown(error: UnknownColumnsError) -> str:
    if error.argument == "target":
        return f"a regression scores rows by their target, and {error.lacking}"
    if error.argument == "keep":
        return str(error)
    return f"the model was fitted to other columns: {error.lacking}"


def _row_of(cells: Illegible) -> int:
    return cells.row


def _say_illegible(cells: Illegible, file: str, first: int) -> str:
    more = f" ({cells.number:,} like it in this part)" if cells.number > 1 else ""
    return f"{file} row {first + cells.row}: {cells.reason}{more}"


def _why_mostly_illegible(batch: Batch) -> str | None:
    """Return why most rows of a batch came to nothing: that is no longer a slip of the pen."""
    worst = max(batch.illegible, key=lambda cells: cells.number, default=None)
    if worst is None or 2 * worst.number <= batch.rows:
        return None
    return f"{worst.number} of {batch.rows} rows could not be read: {worst.reason}"


def _work(what: What, model: Any, targets: Sequence[str]) -> Callable[[Any, Any], Columns]:
    if not hasattr(model, _METHODS[what]):
        raise InvalidInputError(f"the model is an {type(model).__name__}, which cannot {what}; it can {_can(model)}")
    if what == "score":
        return _scores(model, targets)
    if what == "predict":
        return lambda X, _: _named("prediction", model.predict(X), targets)
    return lambda X, _: _named("component", model.transform(X), ())


def _can(model: Any) -> str:
    return " and ".join(what for what, method in _METHODS.items() if hasattr(model, method))


def _scores(model: Any, targets: Sequence[str]) -> Callable[[Any, Any], Columns]:
    def scores(X: Any, y: Any) -> Columns:
        values = model.outlier_scores(X) if y is None else model.outlier_scores(X, y)
        cutoff = model.cutoff_
        answers = {"score": values, "cutoff": np.full(len(values), cutoff), "outlier": values > cutoff}
        return answers | (_first_reasons(model, X, y, len(values), targets) if hasattr(model, "find_reasons") else {})

    return scores


def _first_reasons(model: Any, X: Any, y: Any, rows: int, targets: Sequence[str]) -> Columns:
    """Return the cell that makes each outlier one, and what was expected there; nothing for other rows."""
    first = model.find_reasons(X, y, most=1, targets=targets)
    reason, expected = np.full(rows, None, dtype=object), np.full(rows, np.nan)
    reason[first.row] = first.column
    expected[first.row] = first.expected
    return {"reason": reason, "expected": expected}


def _answers(
    model: Any, work: Callable[[Any, Any], Columns], batch: Batch, names: NDArray[Any] | None
) -> tuple[Columns, NDArray[np.bool_]]:
    """Return the answers for the rows that can have one, and which these are."""
    complete = np.isfinite(batch.X).all(axis=1)
    if getattr(model, "takes_gaps", False):
        complete = ~np.isinf(batch.X).any(axis=1) & ~np.isnan(batch.X).all(axis=1)
    if batch.y is not None:
        complete &= np.isfinite(batch.y).reshape(batch.rows, -1).all(axis=1)
    X = batch.X[complete]
    y = None if batch.y is None else batch.y[complete]
    if not len(X):
        # One made-up row tells which columns there are; its values are thrown away.
        made_up = np.zeros((1, batch.X.shape[1]), batch.X.dtype)
        found = work(frame_of_rows(made_up, names), None if batch.y is None else np.zeros_like(batch.y[:1]))
        return {name: values[:0] for name, values in found.items()}, complete
    return work(frame_of_rows(X, names), y), complete


def _table(file: str, first: int, batch: Batch, answers: Columns, complete: NDArray[np.bool_]) -> pa.Table:
    """Return the rows of the output, with empty cells where a row is not complete."""
    # A place in the answers for each row, null where there is none.
    places = pa.array(np.cumsum(complete) - 1, mask=~complete)
    along = {} if batch.columns is None else {name: batch.columns.column(name) for name in batch.columns.column_names}
    return pa.table(
        {
            "file": pa.array(np.full(batch.rows, file, dtype=object)),
            "row": pa.array(first + np.arange(batch.rows)),
            **along,
            **{name: _arrow(values).take(places) for name, values in answers.items()},
        }
    )


def _arrow(values: NDArray[Any]) -> pa.Array:
    # Text has its type also where all of it is missing.
    return pa.array(values, type=pa.string() if values.dtype == object else None, from_pandas=True)


def _named(what: str, values: NDArray[Any], names: Sequence[str]) -> Columns:
    """Return each column with a name: that of its target if it is known, else its number."""
    if values.ndim == 1:
        return {what: values}
    count = values.shape[1]
    if len(names) != count:
        names = [str(place + 1) for place in range(count)]
    return {f"{what} {name}": values[:, place] for place, name in enumerate(names)}


def _known_targets(extra: Any) -> list[str]:
    """Return the names of the targets that a model file tells."""
    return [str(name) for name in (extra.get("targets") if isinstance(extra, dict) else None) or ()]


def _targets(model: Any, extra: Any, given: Sequence[str] | None) -> list[str] | None:
    """Return the names of the targets: a regression scores rows by how far their targets are from the prediction."""
    if not get_tags(model).target_tags.required:
        return None
    names = list(given or _known_targets(extra))
    if not names:
        raise InvalidInputError("target must be named, since the model does not know the name of its target", "target")
    return names


class _RowCounter:
    """Tells which file a batch is of, and the number of its first row there."""

    def __init__(self) -> None:
        self._file = ""
        self._next = 0

    def place(self, batch: Batch) -> tuple[str, int]:
        """Return both; batches come in order."""
        file, _, span = batch.label.rpartition("#")
        first = span.partition("-")[0]
        if file != self._file:
            self._file, self._next = file, 0
        # CSV files are cut by bytes, so that their rows must be counted; others say which rows a batch has.
        begin = int(first) if first.isdigit() else self._next
        self._next = begin + batch.rows
        return file or batch.label, begin


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
