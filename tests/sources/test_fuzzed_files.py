"""Files with random damage: every batch comes, with finite rows or with a reason; nothing is raised."""

import gzip
import io
import json
import random
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.orc as pa_orc
import pyarrow.parquet as pa_parquet
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import Tables

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "f0": RNG.normal(size=200),
        "f1": pa.array([None if row % 50 == 0 else row for row in range(200)]),
        "f2": RNG.normal(size=200).astype(np.float32),
        "text": [f"word {row % 7}" for row in range(200)],
    }
)


def written(write):
    sink = pa.BufferOutputStream()
    write(sink)
    return sink.getvalue().to_pybytes()


def array_file():
    file = io.BytesIO()
    np.save(file, RNG.normal(size=(200, 3)))
    return file.getvalue()


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("text.csv", CSV)
    return file.getvalue()


CSV = written(lambda sink: pa_csv.write_csv(TABLE, sink))
FILES = {
    "groups.parquet": written(lambda sink: pa_parquet.write_table(TABLE, sink, row_group_size=70)),
    "packed.parquet": written(
        lambda sink: pa_parquet.write_table(TABLE, sink, compression="zstd", use_dictionary=False)
    ),
    "packed.feather": written(lambda sink: pa_feather.write_feather(TABLE, sink, chunksize=70)),
    "plain.arrow": written(lambda sink: pa_feather.write_feather(TABLE, sink, compression="uncompressed")),
    "text.csv": CSV,
    "packed.csv.gz": gzip.compress(CSV),
    "array.npy": array_file(),
    "stripes.orc": written(lambda sink: pa_orc.write_table(TABLE, sink)),
    "lines.jsonl": "\n".join(map(json.dumps, TABLE.to_pylist())).encode(),
    "archive.zip": archive(),
}


def damaged(data, rng):
    """Cut the bytes off, change a few of them, or put others in their place."""
    changed = bytearray(data)
    way = rng.random()
    if way < 0.3:
        return bytes(changed[: rng.randrange(1, len(changed))])
    if way < 0.8:
        for _ in range(rng.choice([1, 2, 5, 20])):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    else:
        place = rng.randrange(len(changed))
        changed[place : place + rng.randrange(1, 40)] = rng.randbytes(rng.randrange(40))
    return bytes(changed)


@pytest.mark.parametrize("name", FILES)
def test_damage_never_gets_out(tmp_path, name):
    rng = random.Random(name)
    outcomes = set()
    for _ in range(60):
        (tmp_path / name).write_bytes(damaged(FILES[name], rng))
        try:
            source = Tables(tmp_path / name, columns=["f0", "f1", "f2"]).in_batches(60)
        except InvalidInputError:
            outcomes.add("refused")
            continue
        batches = list(source)
        assert len(batches) == source.count
        for batch in batches:
            assert batch.failure or np.isfinite(batch.X).all()
            outcomes.add("failed" if batch.failure else "read")
    if name != "lines.jsonl":
        assert "refused" in outcomes
    if name not in ("packed.csv.gz", "archive.zip"):
        assert "read" in outcomes
