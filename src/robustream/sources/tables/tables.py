"""A folder of files as one table: what it holds, decided by the majority of the files, and its batches."""

from __future__ import annotations

from collections.abc import Sequence

from robustream.errors import InvalidInputError
from robustream.sources.checking import check_choice, check_count
from robustream.sources.tables.base import Pieces, TableFile, UnreadablePieces
from robustream.sources.tables.csv_head import Wanted
from robustream.sources.tables.finding import Paths, find_files
from robustream.sources.tables.joined import join_small
from robustream.sources.tables.looking import Unusable, look_at_all
from robustream.sources.tables.reasons import explain
from robustream.sources.tables.schema import choose_columns, why_unfit
from robustream.sources.tables.screening import MISSING
from robustream.sources.tables.selected import Selected
from robustream.sources.tables.source import TableSource

__all__ = ["Tables"]


class Tables(Selected):
    """Files of rows, looked at but not read: Parquet, Arrow, Feather, CSV (plain or compressed) and NumPy files.

    The columns are decided by the majority of the files, since any of them may be garbage. A file that does not have
    them, or that cannot be read, counts as the batches that its size suggests, each with the reason why it failed.
    Columns are matched by name; further columns and another order do not matter.

    Parameters
    ----------
    paths : a file, a folder, a pattern such as "data/*.parquet", or a list of these. Names that begin with a dot or an
        underscore are left out of folders and patterns.
    target : the name of the column to predict, or several names (y then has two dimensions), or None.
    columns : the columns to learn from, in this order; by default all with a name that most files have, but the target.
    exclude : columns to leave out.
    missing : what becomes of rows with missing cells; cells of CSV files that hold no number are such. "skip" leaves
        them out and counts them by column (in `Batch.stats`); a batch that loses more than half of its rows, or has an
        infinite cell, fails. "skip-infinite" leaves rows with infinite cells out as well; "error" fails the batch;
        "keep" leaves NaN in their place.
    join_small_files : whether files smaller than a batch are joined with their neighbours; they then stand or fall
        together.
    header : whether the first line of a CSV file names the columns; without one they are f0, f1 and so on.
    separator : what is between the fields of a CSV file; by default , ; | or a tab as the file suggests.
    decimal : what is before the decimals in a CSV file, "." or ","; by default as the file suggests.
    text_target : whether the target holds classes: text is then allowed, and integers stay integers.

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
    ) -> None:
        check_choice("missing", missing, MISSING)
        self.paths = tuple(find_files(paths))
        self.join_small_files = join_small_files
        looks = look_at_all(self.paths, Wanted(header, separator, decimal))
        readable = [look for look in looks if isinstance(look, TableFile)]
        if not readable:
            raise InvalidInputError(_nothing_readable(looks))
        self._selection = choose_columns(
            # Empty files of others may have their columns, but no say.
            [look for look in readable if look.rows] or readable,
            target=target,
            columns=columns,
            exclude=exclude,
            missing=missing,
            text_target=text_target,
        )
        self._files = [self._fit_for_use(look) for look in looks]
        if all(isinstance(file, Unusable) for file in self._files):
            raise InvalidInputError(_nothing_readable(self._files))

    @property
    def rows(self) -> int:
        """Give the number of rows in usable files, estimated where a file does not say."""
        return sum(file.rows for file in self._files if isinstance(file, TableFile))

    @property
    def problems(self) -> dict[str, str]:
        """Give the files that are known to be unusable, with the reason."""
        return {file.path: file.reason for file in self._files if isinstance(file, Unusable)}

    def in_batches(self, rows_per_batch: int) -> TableSource:
        """Cut the files into batches of about so many rows; see `robustream.sources.cut`."""
        rows_per_batch = check_count("rows_per_batch", rows_per_batch)
        bytes_per_row = self._bytes_per_row()
        pieces = [(self._pieces(file, rows_per_batch, bytes_per_row), file.rows or 0) for file in self._files]
        if self.join_small_files:
            return TableSource(join_small(pieces, rows_per_batch), self._selection, rows_per_batch)
        return TableSource([each for each, _ in pieces], self._selection, rows_per_batch)

    def _fit_for_use(self, look: TableFile | Unusable) -> TableFile | Unusable:
        if isinstance(look, Unusable) or not look.rows:
            return look
        reason = why_unfit(look, self._selection)
        return look if reason is None else Unusable(look.path, look.size, reason, look.rows)

    def _pieces(self, file: TableFile | Unusable, rows_per_batch: int, bytes_per_row: float) -> Pieces:
        if isinstance(file, TableFile):
            try:
                return file.pieces(rows_per_batch)
            except Exception as error:
                file = Unusable(file.path, file.size, explain(error), file.rows)
        rows = file.size / bytes_per_row if file.rows is None else file.rows
        return UnreadablePieces(file.path, max(1, round(rows / rows_per_batch)), file.reason)

    def _bytes_per_row(self) -> float:
        usable = [file for file in self._files if isinstance(file, TableFile)]
        return max(1.0, sum(file.size for file in usable) / max(1, sum(file.rows for file in usable)))


def _nothing_readable(looks: Sequence[TableFile | Unusable]) -> str:
    reasons = [f"{look.path}: {look.reason}" for look in looks if isinstance(look, Unusable)]
    if len(reasons) == 1:
        return f"The only file cannot be used. {reasons[0]}."
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    return f"None of the {len(reasons)} files can be used. {'; '.join(reasons[:3])}{more}."
