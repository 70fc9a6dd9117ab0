"""Files that were made, or went wrong, so as to cost far more than they seem to: each fails by name, the run goes on.

The limits are small here, so that the files are small, too.
"""

import gzip
import os
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import robustream as rs
from robustream.cli import main
from robustream.errors import InvalidInputError
from robustream.sources.tables import Tables, files, lines, make_limits


@pytest.fixture
def folder(tmp_path):
    """Return a folder of good files, beside which a bad one does not count."""
    rng = np.random.default_rng(0)
    for place in range(4):
        text = "\n".join(f"{a:.3f},{b:.3f}" for a, b in rng.normal(size=(300, 2)) * [3, 1])
        (tmp_path / f"good-{place}.csv").write_text(f"a,b\n{text}\n")
    return tmp_path


def failures(folder, **options):
    """Return the labels and reasons of what failed in a run over a folder, whose good files are all kept."""
    model = rs.fit(rs.OutlierRobustPCA(1), folder, **options)
    good = [record for record in model.batch_report_ if "good-" in record.label]
    assert len(good) >= 4
    assert all(record.verdict == "kept" for record in good)
    return {
        record.label.removeprefix(f"{folder}/"): record.reason
        for record in model.batch_report_
        if record.verdict == "failed"
    }


def test_compressed_text_that_unpacks_to_far_more(folder, monkeypatch):
    monkeypatch.setattr(lines, "_LEAST_BOMB", 1 << 21)
    bomb = b"a,b\n" + b"1.0,2.0\n" * 700_000
    (folder / "bomb.csv.gz").write_bytes(gzip.compress(bomb))
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.csv", bomb)
    found = failures(folder)
    assert set(found) == {"bomb.csv.gz", "bomb.zip/inside.csv"}
    assert all("unpacks to more than 200 times its" in reason for reason in found.values())


def test_a_line_that_does_not_end(folder):
    rng = np.random.default_rng(1)
    rows = "".join(f"{a:.2f},{b:.2f}\n" for a, b in rng.normal(size=(100_000, 2)) * [3, 1]).encode()
    (folder / "one-line.csv").write_bytes(b"1.5," * 500_000)
    (folder / "in-the-middle.csv").write_bytes(b"a,b\n" + rows + b"7" * 1_000_000 + b"\n" + rows)
    found = failures(folder, max_line_bytes=200_000, quorum=0.0)
    assert sum("one-line" in label for label in found) == 1  # so that it alone does not end the run
    reasons = {label.partition("#")[0]: reason for label, reason in found.items()}
    assert reasons.keys() == {"one-line.csv", "in-the-middle.csv"}
    assert "no line ends within the first 200,000 bytes (max_line_bytes)" in reasons["one-line.csv"]
    assert "a line is longer than 200,000 bytes" in reasons["in-the-middle.csv"]
    # The pieces before and after the line are read.
    whole = Tables(folder / "in-the-middle.csv", limits=make_limits(max_line_bytes=200_000)).in_batches(10_000)
    assert sum(batch.rows for batch in whole) > 150_000


def numbers(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})


@pytest.mark.parametrize(
    ("name", "write", "reason"),
    [
        (
            "dictionary.parquet",
            lambda path: pq.write_table(numbers(50_000), path, dictionary_pagesize_limit=1 << 30, write_batch_size=100),
            "a dictionary of column 'a' takes 400,000 bytes, more than the 100,000 bytes of max_batch_bytes",
        ),
        (
            "page.parquet",
            lambda path: pq.write_table(numbers(50_000), path, use_dictionary=False, data_page_size=1 << 30),
            "of column 'a' takes",
        ),
        (
            "batch.arrow",
            lambda path: pa.feather.write_feather(numbers(50_000), path, chunksize=50_000, compression="uncompressed"),
            "a record batch of 50,000 rows takes 800,000 bytes, more than the 100,000 bytes of max_batch_bytes",
        ),
        ("stripe.orc", lambda path: pa.orc.write_table(numbers(50_000), path), "a stripe of 50,000 rows takes"),
    ],
)
def test_groups_pages_and_dictionaries_that_are_too_large(folder, name, write, reason):
    write(folder / name)
    found = failures(folder, max_batch_bytes=100_000, quorum=0.0)
    assert found
    assert all(label.startswith(name) for label in found)
    assert all(reason in text for text in found.values()), found
    assert not failures(folder)


def test_a_file_of_a_kilobyte_with_a_thousand_million_rows(folder):
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000_000, np.int8)), pa.array([1.5]))
    table = pa.table({"a": column, "b": column}).cast(pa.schema({"a": pa.float64(), "b": pa.float64()}))
    pq.write_table(table, folder / "rows.parquet", compression="zstd")
    assert (folder / "rows.parquet").stat().st_size < 20_000
    found = failures(folder, max_batch_bytes=1_000_000)
    assert list(found) == ["rows.parquet"]
    assert "it claims 2,000,000 rows in" in found["rows.parquet"]


def test_devices_and_pipes(folder):
    os.mkfifo(folder / "pipe.csv")
    (folder / "zeros.csv").symlink_to("/dev/zero")
    assert failures(folder) == {"pipe.csv": "not a plain file", "zeros.csv": "not a plain file"}
    with pytest.raises(InvalidInputError, match=r"The only file cannot be used\. /dev/zero: not a plain file"):
        Tables("/dev/zero")


def test_zeros_on_standard_input(tmp_path):
    command = [sys.executable, "-m", "robustream", "fit", "pca", "-", "--max-line-bytes", "1 MB", "-o", tmp_path / "m"]
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(command, stdin=zeros, capture_output=True, text=True)
    assert done.returncode == 3
    assert "no line ends within the first 1 MB (max_line_bytes)" in done.stderr


def test_a_file_that_grows_while_it_is_read(folder):
    tables = Tables(folder)
    source = tables.in_batches(100)
    grown = folder / "good-3.csv"
    for place, batch in enumerate(source):
        assert batch.failure is None
        with grown.open("a") as file:
            file.write(f"{place}.5,1.5\n" * 100)
    assert place + 1 == source.count
    assert batch.rows == 100


def test_a_file_that_grew_since_it_was_looked_at(folder):
    tables = Tables(folder)
    with (folder / "good-3.csv").open("a") as file:
        file.write("0.5,1.5\n" * 100)
    failed = [batch for batch in tables.in_batches(100) if batch.failure is not None]
    assert {batch.label.partition("#")[0] for batch in failed} == {str(folder / "good-3.csv")}
    assert "changed since it was first looked at" in failed[0].failure


def test_thousands_of_tiny_files(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_MOST_ALONE", 1_000)
    rng = np.random.default_rng(0)
    for place in range(2_000):
        text = "\n".join(f"{a:.3f},{b:.3f}" for a, b in rng.normal(size=(3, 2)) * [3, 1])
        (tmp_path / f"{place:04d}.csv").write_text(f"a,b\n{text}\n")
    model = rs.fit(rs.OutlierRobustPCA(1), tmp_path)
    assert model.n_samples_seen_ == 6_000
    assert model.n_batches_seen_ < 20
    assert "2,000 files are smaller than a batch: neighbours were joined" in model.fit_notes_["files"][0]
    assert all(record.verdict == "kept" for record in model.batch_report_)


def test_limits_that_cannot_be(folder):
    with pytest.raises(InvalidInputError, match="max_batch_bytes must be a whole number of at least 1, got 0"):
        rs.fit(rs.OutlierRobustPCA(1), folder, max_batch_bytes=0)
    done = CliRunner().invoke(main, ["fit", "pca", str(folder), "--max-batch-bytes", "much", "-o", str(folder / "m")])
    assert done.exit_code == 2
    assert "'much' is not a number of bytes such as 500000, 512 MB or 2 GB." in done.output
