"""Small files of every format, as examples of sources that read files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from robustream.sources import Source, Tables

__all__ = ["file_examples"]


def file_examples() -> list[Source]:
    """Return a source for each format, one for a folder of several, and one that joins small files."""
    folder = _folder()
    examples: list[Source] = [Tables(path, target="f2").in_batches(9) for path in sorted(folder.iterdir())]
    examples.append(Tables(folder, target=["f1", "f2"], missing="error").in_batches(20))
    examples.append(Tables(folder, join_small_files=True).in_batches(120))
    return examples


@cache
def _folder() -> Path:
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.feather as pa_feather
    import pyarrow.parquet as pa_parquet

    folder = Path(tempfile.mkdtemp(prefix="robustream-examples-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    numbers = np.random.default_rng(0).normal(size=(50, 3))
    table = pa.table({f"f{place}": numbers[:, place] for place in range(3)})
    pa_parquet.write_table(table, folder / "a.parquet", row_group_size=13)
    pa_feather.write_feather(table, folder / "b.feather", chunksize=13)
    pa_csv.write_csv(table, folder / "c.csv")
    with pa.output_stream(folder / "d.csv.gz", compression="gzip") as file:
        pa_csv.write_csv(table, file)
    np.save(folder / "e.npy", numbers)
    return folder
