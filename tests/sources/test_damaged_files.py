"""Files that are broken in every way: never an exception out of the batches, always a reason, neighbours untouched."""

import gzip
import io
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import Tables

ROWS = 60


def columns(seed=0, rows=ROWS, **others):
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=rows), "b": rng.normal(size=rows), "y": rng.normal(size=rows)} | others


def parquet(path, **others):
    pa_parquet.write_table(pa.table(columns(**others)), path, row_group_size=25)


def csv_text(**others):
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(pa.table(columns(**others)), sink)
    return sink.getvalue().to_pybytes()


def good_parquet():
    sink = pa.BufferOutputStream()
    pa_parquet.write_table(pa.table(columns()), sink, row_group_size=25)
    return sink.getvalue().to_pybytes()


def spoiled_footer():
    data = bytearray(good_parquet())
    data[-200:-100] = bytes(100)
    return bytes(data)


def good_feather():
    sink = pa.BufferOutputStream()
    pa_feather.write_feather(pa.table(columns()), sink)
    return sink.getvalue().to_pybytes()


def arrow_stream():
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.table(columns()).schema) as writer:
        writer.write_table(pa.table(columns()))
    return sink.getvalue().to_pybytes()


def as_parquet(**changed):
    sink = pa.BufferOutputStream()
    kept = {name: values for name, values in columns(**changed).items() if values is not None}
    pa_parquet.write_table(pa.table(kept), sink)
    return sink.getvalue().to_pybytes()


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object))
    return file.getvalue()


def ragged(number):
    return with_lines(b"1,2,3,4,5\n", number)


def words(number):
    return with_lines(b"1,oops,3\n", number)


def with_lines(line, number):
    lines = csv_text().splitlines(keepends=True)
    lines[22 : 22 + number] = [line] * number
    return b"".join(lines)


# Name of the file, its bytes, and what the reason says.
KNOWN_AT_ONCE = {
    "empty parquet": ("0.parquet", b"", "empty"),
    "empty csv": ("0.csv", b"", "empty"),
    "empty arrow": ("0.arrow", b"", "empty"),
    "empty npy": ("0.npy", b"", "empty"),
    "blank csv": ("0.csv", b"\n\n\n", "empty"),
    "cut parquet": ("0.parquet", good_parquet()[:-300], "not a whole Parquet file"),
    "tiny parquet": ("0.parquet", b"PAR1", "not a whole Parquet file"),
    "wrong magic": ("0.parquet", b"PK\x03\x04" + bytes(range(256)) * 20, "not a whole Parquet file"),
    "csv named parquet": ("0.parquet", csv_text(), "not a whole Parquet file"),
    "spoiled footer": ("0.parquet", spoiled_footer(), "damaged|Parquet"),
    "cut arrow": ("0.feather", good_feather()[:-300], "not a whole Arrow file"),
    "arrow stream": ("0.arrow", arrow_stream(), "an Arrow stream, not an Arrow file"),
    "cut gzip": ("0.csv.gz", gzip.compress(csv_text())[:-50], "ends early"),
    "no gzip": ("0.csv.gz", csv_text(), "gzip|zlib|header"),
    "cut npy": ("0.npy", b"\x93NUMPY\x01\x00v\x00{'descr'", "not a whole NumPy file"),
    "pickle in npy": ("0.npy", pickled(), "not a whole NumPy file"),
    "binary csv": ("0.csv", bytes(range(256)) * 50, "not text"),
    "latin csv": ("0.csv", "größe,b,y\n1,2,3\n".encode("latin-1"), "its columns are 'größe', 'b', 'y'"),
    "unmarked utf-16 csv": ("0.csv", csv_text().decode().encode("utf-16-le"), "not text in UTF-8"),
    "old mac csv": ("0.csv", csv_text().replace(b"\n", b"\r"), "carriage returns"),
    "one long line": ("0.csv", b"x" * (17 << 20), "no line ends"),
    "header only": ("0.csv", b"a,b,y\n", "no rows"),
    "web page": (
        "0.csv",
        b"<!DOCTYPE html>\n<html><body>\n<p>Not found, sorry</p>\n</body></html>",
        "this is a web page",
    ),
    "web page in one line": ("0.csv", b"<html><body>Please log in</body></html>", "this is a web page"),
    "notes": ("0.txt", b"These files are from Ann.", "no rows"),
    "more notes": ("0.txt", b"These files are from Ann.\nShe knows.\n", "it has no column 'a', 'b', 'y'"),
    "parquet named csv": ("0.csv", good_parquet(), "this is a Parquet file"),
    "gzip named csv": ("0.csv", gzip.compress(csv_text()), "this is compressed"),
    "other columns": ("0.csv", b"u,v,w\n1,2,3\n", "no column 'a', 'b', 'y' .its columns are 'u', 'v', 'w'."),
    "column missing": ("0.parquet", as_parquet(b=None), "no column 'b'"),
    "column twice": ("0.csv", b"a,a,b,y\n1,2,3,4\n", "more than one column named 'a'"),
    "text": ("0.parquet", as_parquet(b=["oops"] * ROWS), "column 'b' holds text"),
    "dates": ("0.parquet", as_parquet(b=pa.array(range(ROWS), pa.timestamp("s"))), "column 'b' holds dates"),
    "nested": ("0.parquet", as_parquet(b=[[1.0, 2.0]] * ROWS), "column 'b' holds nested"),
    "text target": ("0.parquet", as_parquet(y=["oops"] * ROWS), "column 'y' holds text"),
    "wide": (
        "0.csv",
        ",".join(f"c{place}" for place in range(100_000)).encode() + b"\n" + b"1," * 99_999 + b"1\n",
        "no column 'a', 'b', 'y' .its columns are 'c0', 'c1', 'c2', 'c3', 'c4' and 99995 more.",
    ),
}

SEEN_IN_READING = {
    "ragged csv": (
        "0.csv",
        ragged(15),
        "15 of 20 rows cannot be used: a line has 5 fields where 3 are needed; it begins",
    ),
    "words in csv": ("0.csv", words(15), "column 'b' holds 'oops' where a number is needed .the first of 15"),
    "all null": ("0.parquet", as_parquet(b=pa.nulls(ROWS)), "20 of 20 rows cannot be used: column 'b' is missing"),
    "null floats": ("0.parquet", as_parquet(b=pa.nulls(ROWS, pa.float64())), "column 'b' is missing in 20 rows"),
    "nothing but NaN": ("0.parquet", as_parquet(a=np.full(ROWS, np.nan)), "column 'a' is missing in 20 rows"),
    "infinite": ("0.parquet", as_parquet(a=np.full(ROWS, np.inf)), "column 'a' is infinite in 20 rows"),
    "infinite target": ("0.parquet", as_parquet(y=np.full(ROWS, -np.inf)), "column 'y' is infinite"),
    "empty cells": ("0.csv", b"a,b,y\n" + b",,\n" * ROWS, "is missing in 20 rows"),
}


def folder_with(tmp_path, name, data):
    """Put a broken file first, before two good ones."""
    (tmp_path / name).write_bytes(data)
    parquet(tmp_path / "1.parquet", seed=1)
    (tmp_path / "2.csv").write_bytes(csv_text(seed=2))
    (tmp_path / "3.csv").write_bytes(csv_text(seed=3))
    return Tables(tmp_path, target="y")


def assert_only_the_bad_file_fails(tables, bad, reason):
    source = tables.in_batches(20)
    batches = list(source)
    assert source.count == len(batches)
    failed = [batch for batch in batches if batch.failure is not None]
    assert failed
    assert {batch.label.split("#")[0] for batch in failed} == {str(bad)}
    for batch in failed:
        assert batch.rows == 0
        assert len(batch.failure) < 400
    assert any(re.search(reason, batch.failure) for batch in failed), failed[0].failure
    good = [batch for batch in batches if not batch.label.startswith(str(bad))]
    expected = [columns(seed=seed) for seed in (1, 2, 3)]
    X = np.concatenate([np.column_stack([part["a"], part["b"]]) for part in expected])
    np.testing.assert_allclose(np.concatenate([batch.X for batch in good]), X, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([batch.y for batch in good]), np.concatenate([e["y"] for e in expected]))
    return failed


@pytest.mark.parametrize("case", KNOWN_AT_ONCE)
def test_what_the_first_look_finds(tmp_path, case):
    name, data, reason = KNOWN_AT_ONCE[case]
    tables = folder_with(tmp_path, name, data)
    bad = tmp_path / name
    assert list(tables.problems) == [str(bad)]
    assert tables.feature_names == ("a", "b")
    assert_only_the_bad_file_fails(tables, bad, reason)


@pytest.mark.parametrize("case", SEEN_IN_READING)
def test_what_reading_finds(tmp_path, case):
    name, data, reason = SEEN_IN_READING[case]
    tables = folder_with(tmp_path, name, data)
    assert not tables.problems
    assert_only_the_bad_file_fails(tables, tmp_path / name, reason)


def test_bad_lines_spoil_only_their_own_batch(tmp_path):
    (tmp_path / "a.csv").write_bytes(ragged(15))
    batches = list(Tables(tmp_path / "a.csv").in_batches(20))
    assert [batch.failure is None for batch in batches] == [True, False, True]


def test_a_spoiled_page_spoils_only_its_own_row_group(tmp_path):
    path = tmp_path / "a.parquet"
    pa_parquet.write_table(pa.table(columns()), path, row_group_size=20, compression="zstd", use_dictionary=False)
    place = pa_parquet.read_metadata(path).row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 60] = b"\xff" * 60
    path.write_bytes(data)
    assert [batch.failure is None for batch in Tables(path).in_batches(20)] == [True, False, True]
    # What comes after the page in its group is lost with it; the groups around it are not.
    halves = [batch.failure is None for batch in Tables(path).in_batches(10)]
    assert halves == [True, True, False, False, True, True]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.feather", "a.npy"])
@pytest.mark.parametrize("change", ["gone", "emptied", "shorter", "other", "folder"])
def test_files_that_change_after_the_first_look(tmp_path, name, change):
    path = tmp_path / name
    contents = {"a.parquet": good_parquet(), "a.csv": csv_text(), "a.feather": good_feather()}
    if name == "a.npy":
        np.save(path, np.arange(240.0).reshape(60, 4))
    else:
        path.write_bytes(contents[name])
    source = Tables(path).in_batches(20)
    whole = path.read_bytes()
    path.unlink()
    if change == "folder":
        path.mkdir()
    elif change != "gone":
        path.write_bytes({"emptied": b"", "shorter": whole[: len(whole) // 2], "other": b"hello\n" * 500}[change])
    batches = list(source)
    assert len(batches) == source.count == 3
    # The first half of a CSV file is as good as ever; the last batch is gone in any case.
    assert batches[-1].failure
    if change == "gone":
        assert {batch.failure for batch in batches} == {"the file is not there any more"}


def test_links_that_lead_nowhere_and_folders_named_like_files(tmp_path):
    parquet(tmp_path / "1.parquet")
    (tmp_path / "0.parquet").symlink_to(tmp_path / "nowhere.parquet")
    os.mkfifo(tmp_path / "2.parquet")
    tables = Tables(tmp_path)
    assert tables.problems == {
        str(tmp_path / "0.parquet"): "this is a link to a file that is not there",
        str(tmp_path / "2.parquet"): "not a plain file",
    }
    (tmp_path / "3.parquet").mkdir()
    assert Tables([tmp_path / "1.parquet"]).problems == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_files_that_may_not_be_read(tmp_path):
    parquet(tmp_path / "1.parquet")
    parquet(tmp_path / "0.parquet")
    (tmp_path / "0.parquet").chmod(0)
    assert "permission denied" in Tables(tmp_path).problems[str(tmp_path / "0.parquet")]


def test_an_unreadable_file_counts_as_the_batches_its_size_suggests(tmp_path):
    for place in range(3):
        parquet(tmp_path / f"{place}.parquet", rows=4000)
    size = (tmp_path / "0.parquet").stat().st_size
    (tmp_path / "bad.parquet").write_bytes(b"x" * (2 * size))
    (tmp_path / "small.parquet").write_bytes(b"x")
    labels = [batch.label for batch in Tables(tmp_path).in_batches(1000) if batch.failure]
    assert sum("bad" in label for label in labels) == 8
    assert sum("small" in label for label in labels) == 1


def test_a_wide_file_that_has_the_columns_is_fine(tmp_path):
    wide = {f"c{place}": np.zeros(3) for place in range(5_000)} | columns(rows=3)
    pa_parquet.write_table(pa.table(wide), tmp_path / "0.parquet")
    names = ",".join(f"c{place}" for place in range(100_000))
    (tmp_path / "0.csv").write_text(f"{names},y,a,b\n" + f"{'0,' * 100_000}1,2,3\n" * 3)
    for place in range(1, 4):
        parquet(tmp_path / f"{place}.parquet")
    tables = Tables(tmp_path, target="y")
    assert tables.feature_names == ("a", "b")
    assert not tables.problems
    first, second = list(tables.in_batches(20))[:2]
    assert (first.X.tolist(), first.y.tolist()) == ([[2.0, 3.0]] * 3, [1.0] * 3)
    assert second.X.shape == (3, 2)


def test_nothing_readable_is_an_error_that_says_why(tmp_path):
    for place in range(5):
        (tmp_path / f"{place}.parquet").write_bytes(b"")
    with pytest.raises(InvalidInputError, match=r"None of the 5 files can be used.*empty.*and 2 more"):
        Tables(tmp_path)
