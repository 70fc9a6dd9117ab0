"""Files of rows as one table: what they hold, decided by the majority of the files, and their batches.

`Tables` probes every file, cheaply, from footers, headers and first lines, and decides what is read; a file that is
unfit never stops the rest. `TableSource` has the batches, one file after the other; a `FilePartition` is what a worker
reads by itself.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.files.addresses import fetching_ahead, is_address, shown
from robustream.sources.base import Partition, Source
from robustream.sources.checking import check_choice, check_count
from robustream.sources.tables.arrow import look_at_arrow
from robustream.sources.tables.csv import look_at_csv
from robustream.sources.tables.csv_dialect import Wanted
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.encoding import Encoding
from robustream.sources.tables.error_text import (
    BombError,
    Limits,
    UnusableError,
    explain,
    in_bytes,
    some_files,
    some_names,
)
from robustream.sources.tables.jsonl import look_at_json_lines
from robustream.sources.tables.levels import LevelCounts, join_counts, levels_in
from robustream.sources.tables.missing import MISSING, batch_of_rows
from robustream.sources.tables.npy import look_at_numpy
from robustream.sources.tables.orc import look_at_orc
from robustream.sources.tables.parquet import look_at_parquet
from robustream.sources.tables.paths import (
    EXTENSIONS,
    Paths,
    archive_of,
    extension_of,
    find_copies,
    find_files,
    open_archive,
    open_file,
)
from robustream.sources.tables.pieces import (
    CHANGED,
    JoinedPieces,
    Outcome,
    Pieces,
    RespelledPieces,
    TableFile,
    UnreadablePieces,
)
from robustream.sources.tables.rows import Rows
from robustream.sources.tables.schema import (
    NUMBERS_IN_TEXT,
    NUMERIC,
    Selected,
    Selection,
    choose_columns,
    uncommon_columns,
    usual_spellings,
    why_unfit,
)

__all__ = ["FilePartition", "TableSource", "Tables"]

_FORMATS = {
    "parquet": "Parquet",
    "arrow": "Arrow",
    "npy": "NumPy",
    "orc": "ORC",
    "jsonl": "JSON",
    "zip": "zip",
    "workbook": "Excel",
}
_BINARY = {"parquet": look_at_parquet, "arrow": look_at_arrow, "npy": look_at_numpy, "orc": look_at_orc}

# Columns that are nearly all zeros take a hundredth of their numbers in a file. Rows beyond so many times its size, and
# beyond a batch, are those of a file that was made to keep its reader busy for ever.
_MOST_UNPACKED = 1_000
_USUAL_LIMITS = Limits()

# Judging batches against each other takes memory and time with the square of their number.
_MOST_ALONE = 5_000

# Probing is waiting for disks and networks, not computing.
_AT_ONCE = 8

# Levels of categories are learned from about so many rows at most, read in pieces.
_ROWS_LOOKED_AT = 4_000_000
_ROWS_AT_ONCE = 1 << 16

# A worker is sent at least this much, so that opening the file does not cost more than reading it.
_PARTITION_BYTES = 16_000_000


@dataclass(frozen=True)
class _Unusable:
    """A file that cannot be used, with the reason; `rows` are None where nothing tells how many it has."""

    path: str
    size: int
    reason: str
    rows: int | None = None


class Tables(Selected):
    """Files of rows, looked at but not read: Parquet, Arrow, Feather, ORC, CSV, JSON lines and NumPy.

    The columns are decided by the majority of the files, since any of them may be garbage. A file that does not have
    them, or that cannot be read, counts as the batches that its size suggests, each with the reason why it failed.
    Columns are matched by name, whatever its case, blanks and accents; further columns and another order do not matter.
    What else a person should know of the files is in `notes`: those of another format in a folder, empty tables, copies
    of files, names that are spelled otherwise, columns of text that stands for numbers.

    Parameters
    ----------
    paths : a file, a folder, a pattern such as "data/*.parquet", an address of one of these such as "s3://bucket/data",
        or a list. Names that begin with a dot or an underscore are left out of folders and patterns.
    target : the name of the column to predict, or several names (y then has two dimensions), or None.
    columns : the columns to learn from, in this order; by default all with a name that most files have, but the target.
    exclude : columns to leave out.
    missing : what becomes of rows with missing cells; cells of CSV files that hold no number are such. "skip" leaves
        them out and counts them by column (in `Batch.stats`); a batch that loses more than half of its rows, or has an
        infinite cell, fails. "skip-infinite" leaves rows with infinite cells out as well; "error" fails the batch;
        "keep" leaves NaN in their place.
    join_small_files : whether files smaller than a batch are joined with their neighbours; they then stand or fall
        together. More than 5,000 of them always are.
    header : whether the first line of a CSV file names the columns; without one they are f0, f1 and so on.
    separator : what is between the fields of a CSV file; by default , ; | or a tab as the file suggests.
    decimal : what is before the decimals in a CSV file, "." or ","; by default as the file suggests.
    text_target : whether the target holds classes: text is then allowed, and integers stay integers.
    keep : columns that come along in `Batch.columns` as they are, such as the names of rows.
    numeric_only : whether columns that hold no numbers are left out, and named in `notes`, in place of an error.
    encoder : what becomes of categories and dates; see `robustream.sources.tables.encoder`.
    limits : the most bytes of a batch, 1 GB, and of a line of text, 16 MB; what needs more fails.
    weight : the column that says how often each row counts. Rows whose weight is missing, negative or infinite are left
        out and counted; those of weight 0 are not there.
    fitted : the names that columns had when a model was fitted, which all files may spell otherwise.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("size,age,price\\n1,2,3\\n4,5,6\\n7,,9\\n")
    >>> tables = Tables(folder, target="price")
    >>> tables.feature_names, tables.target_names, tables.rows
    (('size', 'age'), ('price',), 3)
    >>> [(batch.X.tolist(), batch.y.tolist(), batch.stats) for batch in tables.in_batches(10)]
    [([[1.0, 2.0], [4.0, 5.0]], [3.0, 6.0], {'missing:age': 1.0, 'rows dropped': 1})]
    """

    def __init__(
        self,
        paths: Paths,
        *,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: str | Sequence[str] = (),
        missing: str = "skip",
        join_small_files: bool = False,
        header: bool = True,
        separator: str | None = None,
        decimal: str | None = None,
        text_target: bool = False,
        keep: Sequence[str] = (),
        numeric_only: bool = False,
        encoder: Encoder | None = None,
        limits: Limits = _USUAL_LIMITS,
        weight: str | None = None,
        fitted: Sequence[str] = (),
    ) -> None:
        check_choice("missing", missing, MISSING)
        self._limits = limits
        self._others: list[str] = []
        sizes: dict[str, int] = {}
        self.paths = tuple(find_files(paths, self._others, sizes))
        self.join_small_files = join_small_files
        self._joined = 0
        wanted = Wanted(header, separator, decimal)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            looks = list(pool.map(lambda path: _probe(path, wanted, sizes, limits), self.paths))
        readable = [look for look in looks if isinstance(look, TableFile)]
        if not readable:
            raise InvalidInputError(_nothing_readable(looks))
        asked = [name for names in (target, columns, exclude, weight) if names is not None for name in _listed(names)]
        asked += () if encoder is None else encoder.columns_of(())
        self._spellings = usual_spellings([look.columns for look in readable], asked, fitted)
        self._respelled: dict[str, list[str]] = {name: [] for name in self._spellings}
        if self._spellings:
            looks = [self._respell(look) for look in looks]
            readable = [look for look in looks if isinstance(look, TableFile)]
        self._selection = choose_columns(
            # Empty files of others may have their columns, but no say.
            [look.columns for look in readable if look.rows] or [look.columns for look in readable],
            target=target,
            columns=columns,
            exclude=exclude,
            missing=missing,
            text_target=text_target,
            show=partial(_example, readable),
            keep=keep,
            numeric_only=numeric_only,
            encoder=encoder,
            count=partial(_count_levels, readable),
            weight=weight,
        )
        self._selection = replace(self._selection, limits=limits)
        # Where columns are chosen, those that are not need no word.
        chosen = columns is not None or (encoder is not None and encoder.names_all)
        self._not_asked = None if chosen else frozenset(_listed(exclude))
        self._files = [self._fit_for_use(look) for look in looks]
        if all(isinstance(file, _Unusable) for file in self._files):
            raise InvalidInputError(_nothing_readable(self._files))

    @property
    def rows(self) -> int:
        """The number of rows in usable files, estimated where a file does not say."""
        return sum(file.rows for file in self._files if isinstance(file, TableFile))

    @property
    def problems(self) -> dict[str, str]:
        """The files that are known to be unusable, with the reason."""
        return {shown(file.path): file.reason for file in self._files if isinstance(file, _Unusable)}

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the files beside those that failed."""
        return tuple(self._notes())

    def in_batches(self, rows_per_batch: int) -> TableSource:
        """Cut the files into batches of about so many rows; see `robustream.sources.cut`."""
        rows_per_batch = check_count("rows_per_batch", rows_per_batch)
        bytes_per_row = self._bytes_per_row()
        pieces = [(self._pieces(file, rows_per_batch, bytes_per_row), file.rows or 0) for file in self._files]
        small = sum(rows < rows_per_batch for _, rows in pieces)
        self._joined = 0 if self.join_small_files or small <= _MOST_ALONE else small
        if self.join_small_files or self._joined:
            return TableSource(_join_small(pieces, rows_per_batch), self._selection, rows_per_batch)
        return TableSource([each for each, _ in pieces], self._selection, rows_per_batch)

    def _fit_for_use(self, look: TableFile | _Unusable) -> TableFile | _Unusable:
        if isinstance(look, _Unusable) or not look.rows:
            return look
        reason = why_unfit(look.columns, self._selection)
        if reason is not None:
            return _Unusable(look.path, look.size, reason, look.rows)
        unpacked = look.rows * len(self._selection.learned) * self._selection.dtype.itemsize
        if unpacked > max(self._limits.max_batch_bytes, _MOST_UNPACKED * look.size):
            reason = f"it claims {look.rows:,} rows in {in_bytes(look.size)}, as no file with different rows can"
            return _Unusable(look.path, look.size, reason)
        return look

    def _respell(self, look: TableFile | _Unusable) -> TableFile | _Unusable:
        if isinstance(look, _Unusable) or self._spellings.keys().isdisjoint(look.columns.kinds):
            return look
        spelled = {self._spellings[name]: name for name in look.columns.kinds if name in self._spellings}
        for name in spelled.values():
            self._respelled[name].append(look.path)
        usual = [self._spellings.get(name, name) for name in look.columns.kinds]
        return replace(
            look,
            columns=replace(
                look.columns,
                kinds=dict(zip(usual, look.columns.kinds.values(), strict=True)),
                doubled=frozenset(self._spellings.get(name, name) for name in look.columns.doubled),
            ),
            pieces=lambda rows: RespelledPieces(look.pieces(rows), spelled),
            example=lambda name: look.example(spelled.get(name, name)),
        )

    def _notes(self) -> Iterator[str]:
        if self._joined:
            yield f"{self._joined:,} files are smaller than a batch: neighbours were joined, too many to judge alone"
        if self._others:
            yield f"left out, since no format is known for the name: {some_files(self._others)}"
        for name, files in self._respelled.items():
            if files and self._spellings[name] in self._selection.names:
                yield f"column {name!r} of {some_files(files)} is taken for {self._spellings[name]!r}"
        yield from self._uncommon()
        if copies := [f"{path} of {first}" for path, first in find_copies(self.paths).items()]:
            yield f"copies, byte for byte: {some_files(copies)}"
        for name in self._selection.names if self._selection.target_kind != "text" else self._selection.features:
            written = [file for file in self._files if isinstance(file, TableFile) and _is_written(file, name)]
            if written:
                yield f"numbers out of text in column {name!r} of {some_files([file.path for file in written])}"
        if empty := [file.path for file in self._files if isinstance(file, TableFile) and not file.rows]:
            yield f"without any row: {some_files(empty)}"
        yield from self._selection.notes()

    def _uncommon(self) -> Iterator[str]:
        """Say which columns are not read since too few files have them."""
        if self._not_asked is None:
            return
        files = [file for file in self._files if isinstance(file, TableFile) and file.rows]
        alike: dict[tuple[int, ...], list[str]] = {}
        for name, without in uncommon_columns([file.columns for file in files], self._selection).items():
            if name not in self._not_asked:
                alike.setdefault(tuple(without), []).append(name)
        for places, names in alike.items():
            several = len(names) > 1
            yield (
                f"{'columns' if several else 'column'} {some_names(names)} {'are' if several else 'is'} left out, "
                f"since {len(places)} of {len(files)} files do not have {'them' if several else 'it'}: "
                f"{some_files([files[place].path for place in places])}"
            )

    def _pieces(self, file: TableFile | _Unusable, rows_per_batch: int, bytes_per_row: float) -> Pieces:
        if isinstance(file, TableFile):
            try:
                return file.pieces(rows_per_batch)
            except BombError as error:
                return UnreadablePieces(file.path, 1, str(error))
            except Exception as error:
                file = _Unusable(file.path, file.size, explain(error), file.rows)
        rows = file.size / bytes_per_row if file.rows is None else file.rows
        return UnreadablePieces(file.path, max(1, round(rows / rows_per_batch)), file.reason)

    def _bytes_per_row(self) -> float:
        usable = [file for file in self._files if isinstance(file, TableFile)]
        return max(1.0, sum(file.size for file in usable) / max(1, sum(file.rows for file in usable)))


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def _is_written(file: TableFile, name: str) -> bool:
    return file.columns.kinds.get(name) in NUMBERS_IN_TEXT


def _example(files: Sequence[TableFile], name: str) -> str | None:
    """Show a cell of a column that is no number in most files: the first that a file can show."""
    shown = (file.example(name) for file in files if file.columns.kinds.get(name, "null") not in NUMERIC)
    return next((cell for cell in shown if cell is not None), None)


def _count_levels(files: Sequence[TableFile], columns: Sequence[str]) -> Mapping[str, LevelCounts]:
    """Count the levels of columns in all files that have them; of very many rows a part of each file is looked at."""
    fit = [file for file in files if file.rows and all(name in file.columns.kinds for name in columns)]
    share = min(1.0, _ROWS_LOOKED_AT / max(1, sum(file.rows for file in fit)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counts = pool.map(lambda file: levels_in(_columns_alone(file, columns, share), columns), fit)
        return join_counts(counts, columns, complete=share == 1.0)


def _columns_alone(file: TableFile, columns: Sequence[str], share: float) -> Iterator[pa.Table]:
    """Yield some columns of a file, or of a share of its pieces, spread evenly; what cannot be read is left out."""
    alone = Selection((), (), False, np.dtype(np.float64), "number", "keep", tuple(columns), Encoding(()))
    try:
        pieces = file.pieces(_ROWS_AT_ONCE)
        wanted = max(1, round(share * pieces.count))
        spans = [(place * pieces.count // wanted, place * pieces.count // wanted + 1) for place in range(wanted)]
        for start, stop in [(0, pieces.count)] if wanted == pieces.count else spans:
            for outcome in pieces.read(start, stop, alone):
                if isinstance(outcome, Rows) and outcome.columns is not None:
                    yield outcome.columns
    except Exception:
        # Whoever reads the batches will say what is wrong with the file.
        return


def _nothing_readable(looks: Sequence[TableFile | _Unusable]) -> str:
    reasons = [f"{shown(look.path)}: {look.reason}" for look in looks if isinstance(look, _Unusable)]
    if len(reasons) == 1:
        return f"The only file cannot be used. {reasons[0]}."
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    return f"None of the {len(reasons)} files can be used. {'; '.join(reasons[:3])}{more}."


def _probe(path: str, wanted: Wanted, sizes: Mapping[str, int], limits: Limits) -> TableFile | _Unusable:
    """Look at a file: its footer, its header or its first lines."""
    format_name, compression = EXTENSIONS.get(extension_of(path) or "", ("", None))
    size = 0
    try:
        archive = archive_of(path)
        size = sizes.get(path) or _size_of(archive or path)
        if archive is not None:
            with open_archive(archive) as members:
                size = members.getinfo(path[len(archive) + 1 :]).file_size
        if format_name == "jsonl":
            return look_at_json_lines(path, size, compression, archive, limits)
        if format_name == "workbook":
            return look_at_csv(path, size, compression, archive, Wanted(wanted.header, ",", "."), limits)
        if format_name in ("csv", "tsv"):
            if format_name == "tsv" and wanted.separator is None:
                wanted = replace(wanted, separator="\t")
            return look_at_csv(path, size, compression, archive, wanted, limits)
        if archive is not None:
            raise UnusableError("only text (CSV, JSON lines) can be read out of a zip archive; unpack it")
        if format_name in _BINARY:
            return _BINARY[format_name](path, size)
        if format_name == "zip":
            raise UnusableError("not a whole zip archive, or one without tables")
        raise UnusableError(f"no format is known for a name like {os.path.basename(shown(path))!r}")
    except FileNotFoundError:
        broken = "this is a link to a file that is not there"
        return _Unusable(path, size, broken if os.path.islink(path) else "the file is not there any more")
    except Exception as error:
        # Whatever is no table at all counts as one batch, however large it is; a table that is damaged by its size.
        rows = 0 if isinstance(error, BombError) else None
        return _Unusable(path, size, explain(error, _FORMATS.get(format_name, "CSV")), rows)


def _size_of(path: str) -> int:
    """Return the bytes of a file, which must be one that has any."""
    if is_address(path):
        with open_file(path, whole=False) as file:
            size = int(file.size())
    else:
        status = os.stat(path)
        size = status.st_size
        # Opening a pipe or a device would wait for whoever writes to it.
        if not stat.S_ISREG(status.st_mode):
            raise UnusableError("this is a folder, not a file" if stat.S_ISDIR(status.st_mode) else "not a plain file")
    if size == 0:
        raise UnusableError("the file is empty (0 bytes)")
    return size


def _join_small(files: Sequence[tuple[Pieces, int]], rows_per_batch: int) -> list[Pieces]:
    """Join neighbouring files of fewer rows than a batch until they make one.

    Parameters
    ----------
    files : the pieces of each file with the number of its rows. Files that are known to be unusable stay alone.
    rows_per_batch : the rows wanted in a batch.
    """
    joined: list[Pieces] = []
    waiting: list[Pieces] = []
    rows_waiting = 0
    for pieces, rows in files:
        small = pieces.count == 1 and rows < rows_per_batch and not isinstance(pieces, UnreadablePieces)
        if small:
            waiting.append(pieces)
            rows_waiting += rows
        if waiting and (not small or rows_waiting >= rows_per_batch):
            joined.append(_join(waiting))
            waiting, rows_waiting = [], 0
        if not small:
            joined.append(pieces)
    return [*joined, _join(waiting)] if waiting else joined


def _join(pieces: list[Pieces]) -> Pieces:
    return pieces[0] if len(pieces) == 1 else JoinedPieces(tuple(pieces))


class TableSource(Selected, Source):
    """Batches of the files of a `Tables`, cut at the borders of files; made by `Tables.in_batches`.

    Parameters
    ----------
    pieces : the cuts of each file, in order.
    selection : the columns to read.
    rows_per_batch : the rows wanted in a batch.
    """

    def __init__(self, pieces: Sequence[Pieces], selection: Selection, rows_per_batch: int) -> None:
        self._pieces = tuple(each for each in pieces if each.count)
        self._selection = selection
        self._rows_per_batch = rows_per_batch
        self._ends = list(accumulate(each.count for each in self._pieces))

    @property
    def count(self) -> int:
        """Return the number of batches."""
        return self._ends[-1] if self._ends else 0

    def batches(self, start: int = 0) -> Iterator[Batch]:
        start = check_count("start", start, least=0)
        with fetching_ahead([pieces.path for pieces in self._pieces]) as about_to_read:
            for place in range(bisect_right(self._ends, start), len(self._pieces)):
                pieces = self._pieces[place]
                first_index = self._ends[place] - pieces.count
                about_to_read(place)
                yield from self._partition(place, 0, pieces.count).read(max(0, start - first_index))

    def partitions(self) -> Sequence[Partition]:
        """Return parts of files that begin where reading can begin at no cost, none of them very small."""
        row_bytes = self._selection.dtype.itemsize * len(self._selection.learned)
        least = max(1, _PARTITION_BYTES // max(1, row_bytes * self._rows_per_batch))
        partitions: list[Partition] = []
        for place, pieces in enumerate(self._pieces):
            borders = [0]
            for start in pieces.starts():
                if start - borders[-1] >= least:
                    borders.append(start)
            partitions += [self._partition(place, first, stop) for first, stop in pairwise([*borders, pieces.count])]
        return partitions

    def fingerprint(self) -> str:
        """Return a digest of the files (name, size, first and last bytes), the columns and the batch size."""
        digest = blake2b(digest_size=16)
        digest.update(f"({self._selection.digest()}, {self._rows_per_batch})".encode())
        for pieces in self._pieces:
            digest.update(pieces.fingerprint().encode())
        return digest.hexdigest()

    def _partition(self, place: int, first: int, stop: int) -> FilePartition:
        pieces = self._pieces[place]
        first_index = self._ends[place] - pieces.count + first
        return FilePartition(pieces, self._selection, first_index, first, stop - first)


@dataclass(frozen=True)
class FilePartition(Partition):
    """The pieces of a file from `first_piece` on.

    Parameters
    ----------
    pieces : the file and its cuts.
    selection : the columns to read.
    first_index : the index of the first batch in the stream.
    first_piece : its place in the file.
    count : how many there are.
    """

    pieces: Pieces
    selection: Selection
    first_index: int
    first_piece: int
    count: int

    @property
    def label(self) -> str:  # type: ignore[override]
        """Name the file, and the batches of it if they are not all."""
        if self.count == self.pieces.count:
            return shown(self.pieces.path)
        return f"{shown(self.pieces.label(self.first_piece))} and {self.count - 1} after it"

    def read(self, start: int = 0) -> Iterator[Batch]:
        place = start
        while place < self.count:
            for outcome in self._outcomes(place):
                index, label = self.first_index + place, shown(self.pieces.label(self.first_piece + place))
                if isinstance(outcome, UnusableError):
                    yield Batch.unreadable(index, label, shown(str(outcome)))
                else:
                    yield batch_of_rows(index, label, outcome, self.selection)
                place += 1

    def _outcomes(self, place: int) -> Iterator[Outcome]:
        """Yield what becomes of the pieces from `place` on, up to where a broken reading can begin again."""
        due, stop = self.first_piece + place, self.first_piece + self.count
        try:
            for outcome in self.pieces.read(due, stop, self.selection):
                yield outcome
                due += 1
            reason = f"the file ends before these rows; {CHANGED}"
        except Exception as error:
            reason = explain(error, self.pieces.format)
        # What is read forward from the same place as the broken piece would break there again.
        again = next((start for start in self.pieces.starts() if start > due), stop)
        for _ in range(due, min(again, stop)):
            yield UnusableError(reason)
