"""Tables that come through a pipe."""

import gzip
import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import open_tables
from robustream.sources.tables import PipedTable

X = np.arange(50.0).reshape(25, 2)
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1]})


def stream_bytes():
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    return sink.getvalue().to_pybytes()


def file_bytes():
    sink = pa.BufferOutputStream()
    pa_feather.write_feather(TABLE, sink, chunksize=7)
    return sink.getvalue().to_pybytes()


CSV = b"a,b\n" + b"".join(b"%g,%g\n" % tuple(row) for row in X)
CONTENTS = {
    "arrow stream": stream_bytes(),
    "arrow file": file_bytes(),
    "csv": CSV,
    "csv without last break": CSV[:-1],
    "csv with gaps": CSV.replace(b"\n", b"\r\n\r\n"),
    "gzip": gzip.compress(CSV),
    "arrow in gzip": gzip.compress(stream_bytes()),
    "zstd": pa.compress(CSV, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("start", [0, 2, 9])
def test_rows_come_in_batches(content, start):
    piped = PipedTable(io.BytesIO(CONTENTS[content]))
    assert (piped.feature_names, piped.rows, piped.dtype) == (("a", "b"), None, np.float64)
    source = piped.in_batches(10)
    assert source.count is None
    assert source.partitions() is None
    expected = [X[:10], X[10:20], X[20:]][start:]
    for index, (batch, rows) in enumerate(zip(source.batches(start), expected, strict=True), start):
        np.testing.assert_array_equal(batch.X, rows)
        assert batch.index == index
        assert batch.label == f"standard input#{10 * index}-{10 * index + len(rows) - 1}"
    with pytest.raises(InvalidInputError, match="only once"):
        source.batches()


def test_a_large_stream_goes_beyond_its_head():
    rows = np.arange(200_000.0).reshape(-1, 2)
    text = b"a,b\n" + b"".join(b"%g,%.1f\n" % tuple(row) for row in rows.tolist())
    batches = list(PipedTable(io.BytesIO(text)).in_batches(30_000))
    assert [batch.rows for batch in batches] == [30_000, 30_000, 30_000, 10_000]
    np.testing.assert_allclose(np.concatenate([batch.X[:, 1] for batch in batches]), rows[:, 1])


def test_bad_lines_are_left_out_and_a_cut_stream_ends_with_a_reason():
    lines = CSV.splitlines(keepends=True)
    lines[15] = b"1,2,3\n"
    batches = list(PipedTable(io.BytesIO(b"".join(lines))).in_batches(10))
    whole = list(PipedTable(io.BytesIO(CSV)).in_batches(10))
    assert [before.rows - after.rows for before, after in zip(whole, batches, strict=True)] == [0, 1, 0]
    assert batches[1].stats == {"unreadable lines": 1, "rows dropped": 1}
    batches = list(PipedTable(io.BytesIO(stream_bytes()[:-300])).in_batches(10))
    assert batches[0].failure is None
    assert "the stream broke off" in batches[-1].failure


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xff\xff\xff", b"ARROW1\0\0", b"\x1f\x8b", b"a\0b"])
def test_what_cannot_be_read_is_an_error_that_says_so(content):
    with pytest.raises(InvalidInputError, match="Nothing can be read from standard input"):
        PipedTable(io.BytesIO(content))


def test_a_dash_is_standard_input():
    code = (
        "from robustream.sources import open_tables\n"
        "tables = open_tables('-', target='b')\n"
        "print([(batch.X.tolist(), batch.y.tolist()) for batch in tables.in_batches(2)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=b"a,b\n1,2\n3,4\n5,6\n", capture_output=True, check=True)
    assert ran.stdout.decode().strip() == "[([[1.0], [3.0]], [2.0, 4.0]), ([[5.0]], [6.0])]"
    with pytest.raises(InvalidInputError, match="together with files"):
        open_tables(["-", "a.csv"])
    with pytest.raises(InvalidInputError, match="join_small_files"):
        open_tables("-", join_small_files=True)
