"""Files of rows as batches: Parquet, Arrow, Feather, CSV and NumPy files, folders and patterns of them.

`Tables` looks at the files and decides what is read; `Tables.in_batches` gives the source. The way of a batch: a
`TableFile` (what is known of a file) is cut into `Pieces`; a `FilePartition` reads consecutive pieces; `conversion`
makes rows of columns; `screening` drops what is missing. Nothing of this raises once the batches are being read:
what cannot be had comes as `Batch.unreadable` with a reason.
"""

from robustream.sources.tables.opening import open_tables
from robustream.sources.tables.piped import PipedSource, PipedTable
from robustream.sources.tables.source import TableSource
from robustream.sources.tables.tables import Tables

__all__ = ["PipedSource", "PipedTable", "TableSource", "Tables", "open_tables"]
