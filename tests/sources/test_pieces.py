"""Whatever the layout of files, every row comes exactly once, in order, from any position and through partitions."""

import gzip
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.sources import Tables, cut
from robustream.sources.tables.lines import LinePieces, Packing, lines_between
from robustream.sources.tables.pieces import regroup
from robustream.sources.tables.stdin import lines_in_groups

FEW = settings(max_examples=40)


def numbers(rows, first=0):
    """Rows that tell their own number."""
    return np.column_stack([np.arange(first, first + rows, dtype=float), np.arange(first, first + rows) / 8])


def table(rows, first=0):
    X = numbers(rows, first)
    return pa.table({"a": X[:, 0], "b": X[:, 1]})


def write_npy(path, rows, first, group):
    np.save(path, numbers(rows, first))


WRITERS = {
    ".parquet": lambda path, rows, first, group: pa_parquet.write_table(table(rows, first), path, row_group_size=group),
    ".feather": lambda path, rows, first, group: pa_feather.write_feather(table(rows, first), path, chunksize=group),
    ".arrow": lambda path, rows, first, group: pa_feather.write_feather(
        table(rows, first), path, chunksize=group, compression="uncompressed"
    ),
    ".npy": write_npy,
}


def assert_same(batch, again):
    assert (batch.index, batch.label, batch.failure) == (again.index, again.label, again.failure)
    np.testing.assert_array_equal(batch.X, again.X)


def assert_consistent(source, starts):
    """Check that the source gives the same from every start and through its partitions; give the batches."""
    whole = list(source)
    assert [batch.index for batch in whole] == list(range(source.count))
    for start in starts:
        for batch, again in zip(whole[start:], source.batches(start), strict=True):
            assert_same(batch, again)
    pieces = [(partition, batch) for partition in source.partitions() for batch in partition.read()]
    for batch, (_, again) in zip(whole, pieces, strict=True):
        assert_same(batch, again)
    return whole


@pytest.mark.parametrize("ending", WRITERS)
@FEW
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    group=st.integers(1, 70),
    batch_size=st.integers(1, 70),
    start=st.integers(0, 200),
)
def test_rows_of_any_layout_come_once_and_in_order(ending, sizes, group, batch_size, start):
    with tempfile.TemporaryDirectory() as folder:
        first = 0
        for place, rows in enumerate(sizes):
            WRITERS[ending](Path(folder) / f"{place}{ending}", rows, first, group)
            first += rows
        tables = Tables(folder)
        assert tables.rows == sum(sizes)
        batches = assert_consistent(tables.in_batches(batch_size), [start])
        np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), numbers(sum(sizes)))
        # Batches end with files, and within a file they are those of an array.
        assert [batch.rows for batch in batches] == [
            piece.stop - piece.start for rows in sizes for piece in cut(rows, batch_size)
        ]
        first_rows = [int(batch.X[0, 0]) for batch in batches]
        before = np.cumsum([0, *sizes])
        for batch, row in zip(batches, first_rows, strict=True):
            place = int(np.searchsorted(before, row, side="right")) - 1
            offset = row - before[place]
            assert batch.label.endswith(f"{place}{ending}#{offset}-{offset + batch.rows - 1}")


@FEW
@given(
    rows=st.lists(st.integers(0, 10**6), min_size=1, max_size=80),
    ending=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    blank=st.lists(st.integers(0, 80), max_size=5),
    header=st.booleans(),
    batch_size=st.integers(1, 90),
    start=st.integers(0, 90),
    compressed=st.booleans(),
)
def test_rows_of_csv_come_once_and_in_order(rows, ending, last, blank, header, batch_size, start, compressed):
    lines = [f"{number},{place}" for place, number in enumerate(rows)]
    for place in blank:
        lines.insert(min(place, len(lines)), "")
    text = ending.join((["x,y"] if header else []) + lines) + (ending if last else "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.csv.gz" if compressed else "a.csv")
        path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
        tables = Tables(path, header=header)
        assert tables.rows == len(rows)
        batches = assert_consistent(tables.in_batches(batch_size), [start])
        X = np.concatenate([batch.X for batch in batches])
        np.testing.assert_array_equal(X, np.column_stack([rows, np.arange(len(rows))]))
        assert [batch.rows for batch in batches] == [piece.stop - piece.start for piece in cut(len(rows), batch_size)]


@given(
    st.lists(st.text("ab", max_size=12), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.lists(st.integers(0, 200), min_size=2, max_size=12),
    st.booleans(),
)
def test_lines_between_borders_are_those_that_begin_there(lines, ending, last, places, seekable):
    data = (ending.join(lines) + (ending if last else "")).encode()
    borders = sorted({min(place, len(data)) for place in places})
    begins = [0] + [place + 1 for place, byte in enumerate(data) if byte == ord("\n") and place + 1 < len(data)]
    every = data.splitlines(keepends=True)
    stream = pa.BufferReader(data)
    if not seekable:
        stream = pa.CompressedInputStream(pa.BufferReader(gzip.compress(data)), "gzip")
    found = list(lines_between(stream, borders)) if len(borders) > 1 else []
    expected = [
        b"".join(line for line, begin in zip(every, begins, strict=False) if first <= begin < stop)
        for first, stop in pairwise(borders)
    ]
    assert found == expected


@pytest.mark.parametrize("compressed", [False, True])
def test_a_csv_file_larger_than_its_head_is_cut_by_bytes(tmp_path, compressed):
    X = numbers(150_000)
    text = "a,b\n" + "\n".join(f"{a},{b}" for a, b in X.tolist()) + "\n"
    path = tmp_path / ("a.csv.gz" if compressed else "a.csv")
    path.write_bytes(gzip.compress(text.encode(), 1) if compressed else text.encode())
    tables = Tables(path)
    source = tables.in_batches(10_000)
    batches = assert_consistent(source, [0, 1, 7, source.count])
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), X)
    assert source.count > 10
    assert max(batch.rows for batch in batches) < 1.5 * min(batch.rows for batch in batches)
    assert all("#bytes " in batch.label for batch in batches)
    assert len(source.partitions()) == (1 if compressed else source.count // (16_000_000 // (16 * 10_000)) or 1)
    if not compressed:
        assert tables.rows == pytest.approx(len(X), rel=0.2)


@FEW
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 30), st.lists(st.integers(1, 12), max_size=8))
def test_regrouping_loses_nothing(sizes, skip, wanted):
    every = table(sum(sizes))
    borders = np.cumsum([0, *sizes])
    chunks = [every.slice(first, size) for first, size in zip(borders[:-1], sizes, strict=True)]
    batches = [batch for chunk in chunks for batch in chunk.to_batches()]
    values = every.column("a").to_pylist()[skip:]
    tables = list(regroup(iter(batches), skip, wanted, keep_rest=True))
    for part, size in zip(tables, wanted, strict=False):
        assert part.column("a").to_pylist() == values[:size]
        values = values[size:]
    if len(tables) < len(wanted):
        assert not values


@FEW
@given(st.binary(max_size=60), st.integers(1, 9), st.integers(1, 7))
def test_lines_in_groups_are_all_lines(data, step, size):
    chunks = iter([data[place : place + step] for place in range(0, len(data), step)])
    groups = list(lines_in_groups(chunks, size))
    lines = [line for line in data.split(b"\n") if line and line != b"\r"]
    assert [line for group, _ in groups for line in group.split(b"\n")] == lines
    assert [number for _, number in groups] == [
        len(lines[place : place + size]) for place in range(0, len(lines), size)
    ]


def test_partitions_begin_at_row_groups_and_are_not_tiny(tmp_path):
    rows = 40_000
    wide = {f"c{place}": np.arange(rows, dtype=np.float32) for place in range(200)}
    pa_parquet.write_table(pa.table(wide), tmp_path / "a.parquet", row_group_size=10_000)
    source = Tables(tmp_path / "a.parquet").in_batches(1000)
    # 20 batches of 0.8 MB make 16 MB, and two row groups hold as many.
    assert [(partition.first_index, partition.count) for partition in source.partitions()] == [(0, 20), (20, 20)]


def test_a_compressed_file_is_one_partition():
    assert list(LinePieces("a.csv.gz", Packing("gzip"), None, (0, 5, 9, 20)).starts()) == [0]
    assert list(LinePieces("a.csv", Packing(), None, (0, 5, 9, 20)).starts()) == [0, 1, 2]


def test_float32_stays_and_others_widen(tmp_path):
    def dtype_of(**columns):
        pa_parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
        return Tables(tmp_path / "a.parquet").dtype

    narrow, half = np.zeros(3, np.float32), np.zeros(3, np.float16)
    assert dtype_of(a=narrow, b=half) == np.float32
    assert dtype_of(a=narrow, b=np.zeros(3)) == np.float64
    assert dtype_of(a=narrow, b=np.zeros(3, int)) == np.float64
    # One file of another width among many does not change the type of all.
    for place, columns in enumerate([{"a": narrow}, {"a": narrow}, {"a": np.zeros(3)}]):
        pa_parquet.write_table(pa.table(columns), tmp_path / f"{place}.parquet")
    (tmp_path / "a.parquet").unlink()
    assert Tables(tmp_path).dtype == np.float32
