"""Files that lie elsewhere: S3 (moto on loopback), the web, memory; what goes wrong there, and what is never shown."""

import functools
import http.server
import io
import re
import sqlite3
import subprocess
import sys
import threading
import urllib.request
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.fs
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import robustream as rs
from robustream.cli import main
from robustream.errors import BelowQuorumError, InvalidInputError, RequestError, StorageError
from robustream.files import addresses
from robustream.sources import Tables

KEY, SECRET = "AKIAEXAMPLE", "a-secret-that-nobody-sees"


class Moto:
    """An S3 server in a process of its own."""

    def __init__(self):
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", self.process.stderr.readline())):
            assert self.process.poll() is None
        self.url = found[0]
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.files = pa.fs.S3FileSystem(
            endpoint_override=self.url,
            region="us-east-1",
            access_key=KEY,
            secret_key=SECRET,
            allow_bucket_creation=True,
        )

    def put(self, path, content):
        self.files.create_dir(path.partition("/")[0])
        with self.files.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    def believe(self, requests):
        """Check credentials after so many requests."""
        plain = {"Content-Type": "text/plain"}
        asked = urllib.request.Request(f"{self.url}/moto-api/reset-auth", str(requests).encode(), plain)
        urllib.request.urlopen(asked).close()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


@pytest.fixture(scope="module")
def shared_server():
    server = Moto()
    yield server
    server.stop()


@pytest.fixture
def as_user(monkeypatch):
    def connect(server):
        for name, value in {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": server.url,
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(addresses, "WAITS", (0.01, 0.02))
        return server

    return connect


@pytest.fixture
def server(shared_server, as_user):
    return as_user(shared_server)


def table(seed, rows=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)) * [6.0, 3.0, 1.0, 1.0]
    return pa.table({f"x{column}": x[:, column] for column in range(4)})


def packed(name, rows):
    """Return a table as the bytes of a file of that name."""
    stream = io.BytesIO()
    if name.endswith(".npy"):
        np.save(stream, np.column_stack([column.to_numpy() for column in rows.columns]))
    elif name.endswith(".parquet"):
        pq.write_table(rows, stream, row_group_size=150)
    elif name.endswith(".arrow"):
        pa.feather.write_feather(rows, stream, chunksize=150)
    elif name.endswith(".orc"):
        pa.orc.write_table(rows, stream)
    elif name.endswith(".jsonl"):
        stream.write("\n".join(map(str, rows.to_pylist())).replace("'", '"').encode())
    elif name.endswith(".zip"):
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("inside.csv", packed("inside.csv", rows))
    elif name.endswith(".csv.gz"):
        stream.write(pa.compress(packed("a.csv", rows), codec="gzip", asbytes=True))
    else:
        pa.csv.write_csv(rows, stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.orc", "a.csv", "a.csv.gz", "a.jsonl", "a.npy", "a.zip"])
def test_every_format_has_the_rows_that_it_has_on_disk(server, tmp_path, name, monkeypatch):
    content = packed(name, table(0))
    (tmp_path / name).write_bytes(content)
    server.put(f"formats/{name}", content)
    here = list(Tables(tmp_path / name).in_batches(100))
    # Objects that are fetched at once, and those that are too large for that.
    for whole in (1 << 25, 1):
        monkeypatch.setattr(addresses, "_WHOLE", whole)
        there = list(Tables(f"s3://formats/{name}").in_batches(100))
        assert [batch.failure for batch in there] == [None] * len(here)
        for one, other in zip(here, there, strict=True):
            np.testing.assert_array_equal(one.X, other.X)
            assert other.label == one.label.replace(str(tmp_path), "s3://formats")


def test_folders_patterns_and_lists(server):
    for name in ("a/1.csv", "a/b/2.csv", "a/b/_hidden.csv", "a/notes.md", "c/3.csv", "c/x-4.parquet"):
        server.put(f"names/{name}", packed(name, table(1, 50)))

    def found(*paths):
        return [path.removeprefix("s3://names/") for path in Tables(list(paths)).paths]

    assert found("s3://names/a") == found("s3://names/a/") == ["a/1.csv", "a/b/2.csv"]
    assert found("s3://names/*/*.csv") == ["a/1.csv", "c/3.csv"]
    assert found("s3://names/**/*.csv") == ["a/1.csv", "a/b/2.csv", "c/3.csv"]
    assert found("s3://names/c/[0-3].csv", "s3://names/a/?.csv") == ["c/3.csv", "a/1.csv"]
    assert found(Path("s3://names/c/3.csv")) == ["c/3.csv"]
    assert "s3://names/a/notes.md" in Tables("s3://names/a").notes[0]
    with pytest.raises(InvalidInputError, match=r"No file matches the pattern 's3://names/a/\*.orc'"):
        Tables("s3://names/a/*.orc")
    with pytest.raises(InvalidInputError, match="There is no file or folder 's3://names/d'"):
        Tables("s3://names/d")


def test_a_bucket_with_40_percent_garbage(server, tmp_path):
    """The bad objects are named, the answer is that of the good ones, and all has the bits that files on disk have."""
    garbage = [b"<html>503</html>", b"", b"PAR1 but no more", bytes(1000)]
    good, bad = [], []
    (tmp_path / "all").mkdir()
    (tmp_path / "good").mkdir()
    for place in range(30):
        name, rows = f"day-{place:02d}.parquet", table(100 + place)
        if place % 5 >= 2:
            good.append(name)
            (tmp_path / "good" / name).write_bytes(packed(name, rows))
        else:
            bad.append(name)
            rows = pa.table(
                {"x0": rows["x3"], "x1": rows["x2"], "x2": rows["x1"], "x3": pa.array(rows["x0"].to_numpy() * 50)}
            )
        content = garbage[place % 4] if place % 5 == 0 else packed(name, rows)
        (tmp_path / "all" / name).write_bytes(content)
        server.put(f"garbage/{name}", content)
    oracle = rs.fit(rs.OutlierRobustPCA(2), tmp_path / "good")
    here, there = rs.fit(rs.OutlierRobustPCA(2), tmp_path / "all"), rs.fit(rs.OutlierRobustPCA(2), "s3://garbage")
    assert here.components_.tobytes() == there.components_.tobytes()
    named = {
        record.label.partition("#")[0] for record in there.batch_report_ if record.verdict in ("failed", "rejected")
    }
    assert named == {f"s3://garbage/{name}" for name in bad}

    def error(model):
        return np.linalg.norm(model.components_[:, 2:])

    assert error(there) <= 1.15 * error(oracle)
    elsewhere = rs.fit(rs.OutlierRobustPCA(2), "s3://garbage", engine="local")
    assert elsewhere.components_.tobytes() == there.components_.tobytes()


def test_the_same_rows_have_the_same_bits_through_every_door(server, tmp_path):
    for place in range(6):
        content = packed("a.parquet", table(place, 1_000))
        (tmp_path / f"{place}.parquet").write_bytes(content)
        server.put(f"doors/{place}.parquet", content)
    pattern = f"{tmp_path}/*.parquet"
    frame = pd.read_parquet(tmp_path)
    with sqlite3.connect(":memory:") as database:
        frame.to_sql("rows", database, index=False)
        doors = {
            "S3": "s3://doors",
            "pandas": frame,
            "Polars": pl.scan_parquet(pattern),
            "DuckDB": duckdb.connect().sql(f"select * from read_parquet('{pattern}')"),
            "dataset": pa.dataset.dataset(tmp_path),
            "SQLite": pd.read_sql("select * from rows", database, chunksize=500),
        }
        here = rs.fit(rs.OutlierRobustPCA(2, batch_size=500), tmp_path)
        assert here.n_batches_seen_ == 12
        for name, source in doors.items():
            there = rs.fit(rs.OutlierRobustPCA(2, batch_size=500), source)
            assert there.n_batches_seen_ == 12, name
            for part in ("components_", "explained_variance_", "mean_"):
                assert getattr(there, part).tobytes() == getattr(here, part).tobytes(), (name, part)
    database.close()


def test_models_checkpoints_reports_and_scores_are_written_there(server, tmp_path):
    for place in range(6):
        server.put(f"mine/in/{place}.csv", packed("a.csv", table(place)))

    def run(*command):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        return done.output

    fit = ["fit", "pca", "s3://mine/in", "--checkpoint", "s3://mine/run.checkpoint", "--out"]
    said = run(*fit, "s3://mine/m.safetensors", "--report", "s3://mine/r.html")
    assert "Model written to s3://mine/m.safetensors, report to s3://mine/r.html." in said
    run(*fit, "s3://mine/again.safetensors", "--resume", "-q")
    assert addresses.read_bytes("s3://mine/again.safetensors") == addresses.read_bytes("s3://mine/m.safetensors")
    assert b"s3://mine/in/3.csv" in addresses.read_bytes("s3://mine/r.html")
    run("score", "s3://mine/m.safetensors", "s3://mine/in/*.csv", "-o", "s3://mine/scored.parquet")
    with addresses.open_address("s3://mine/scored.parquet") as file:
        assert pq.read_table(file).num_rows == 2400
    assert "s3://mine/m.safetensors" in run("inspect", "s3://mine/m.safetensors")
    run("report", "s3://mine/m.safetensors", "-o", "s3://mine/r2.html")
    again = CliRunner().invoke(main, [*fit, "s3://mine/x.safetensors"])
    assert again.exit_code == 6
    assert "s3://mine/run.checkpoint exists already" in again.output
    with pytest.raises(FileNotFoundError, match="s3://mine/none"):
        rs.load("s3://mine/none")
    local = tmp_path / "m.safetensors"
    run(*fit[:3], "-q", "--out", local.as_uri())
    assert rs.load(local.as_uri()).components_.tobytes() == rs.load(local).components_.tobytes()


def one_line(*command):
    """Return the exit code of a command that fails, and the one line that it says."""
    done = CliRunner().invoke(main, command)
    lines = done.output.strip().splitlines()
    assert len(lines) == 1, done.output
    assert SECRET not in done.output
    return done.exit_code, lines[0]


def test_wrong_credentials_and_a_missing_bucket_are_one_line(server, tmp_path):
    server.put("private/a.csv", packed("a.csv", table(0)))
    out = ["-q", "--out", str(tmp_path / "m.safetensors")]
    assert one_line("fit", "pca", "s3://no-such-bucket/*.csv", *out) == (
        3,
        "Error: s3://no-such-bucket/*.csv cannot be read: there is no such bucket",
    )
    code, line = one_line("fit", "pca", "s3://private/a.csv", "--out", "s3://no-such-bucket/m.safetensors")
    assert (code, line) == (7, "Error: s3://no-such-bucket/m.safetensors cannot be written: there is no such bucket")
    server.believe(0)
    try:
        code, line = one_line("fit", "pca", "s3://private/*.csv", *out)
        assert (code, line) == (
            3,
            "Error: s3://private/*.csv cannot be read: the credentials that were found are not accepted",
        )
        code, line = one_line("fit", "pca", "s3://private/a.csv", *out)
        assert code == 3
        assert "cannot be read: access is denied to the credentials that were found" in line
    finally:
        server.believe(1_000_000)


def test_a_server_that_goes_away(as_user, tmp_path):
    server = as_user(Moto())
    try:
        for place in range(12):
            server.put(f"gone/{place:02d}.csv", packed("a.csv", table(place)))

        def stop_after_three(event):
            if event.batches == 3:
                server.stop()

        with pytest.raises(BelowQuorumError, match=r"s3://gone/.*: the server does not answer"):
            rs.fit(rs.OutlierRobustPCA(1), "s3://gone", callbacks=[stop_after_three])
        code, line = one_line("fit", "pca", "s3://gone", "-q", "-o", str(tmp_path / "m.safetensors"))
        assert code == 3
        assert line.startswith("Error: s3://gone cannot be read: the server does not answer")
        with pytest.raises(StorageError, match="s3://gone/x cannot be written: the server does not answer"):
            rs.fit(rs.OutlierRobustPCA(1), np.eye(9), checkpoint="s3://gone/x")
        with pytest.raises(RequestError, match="s3://gone/m cannot be read: the server does not answer"):
            rs.load("s3://gone/m")
    finally:
        server.stop()


def test_secrets_are_in_no_label_report_checkpoint_or_message(server, monkeypatch, tmp_path):
    for place in range(3):
        server.put(f"secret/in/{place}.csv", packed("a.csv", table(place)))
    server.put("secret/in/bad.csv", b"x0,x1,x2,x3\nwrong")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    host = server.url.removeprefix("http://")
    where = f"?endpoint_override={host}&scheme=http&region=us-east-1"
    address = f"s3://{KEY}:{SECRET}@secret/in{where}"
    checkpoint, model_file, report = tmp_path / "c", tmp_path / "m", tmp_path / "r.html"
    command = ["fit", "pca", address, "--checkpoint", str(checkpoint), "-o", str(model_file), "--report", str(report)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "s3://secret/in/bad.csv" in done.output
    assert [record.label for record in rs.load(model_file).batch_report_][:1] == ["s3://secret/in/0.csv#0-399"]
    everything = done.output.encode() + b"".join(file.read_bytes() for file in (checkpoint, model_file, report))
    for word in (KEY, SECRET, host, "endpoint_override"):
        assert word.encode() not in everything
    written = f"s3://{KEY}:{SECRET}@secret/m.safetensors{where}"
    rs.save(rs.load(model_file), written)
    assert rs.load(written).n_features_in_ == 4
    with pytest.raises(FileNotFoundError) as raised:
        rs.load(written.replace("m.safe", "n.safe"))
    assert SECRET not in str(raised.value)


class Flaky(http.server.SimpleHTTPRequestHandler):
    """A web server that fails at first."""

    failures = 0

    def do_GET(self):
        if type(self).failures > 0:
            type(self).failures -= 1
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def web(tmp_path, monkeypatch):
    monkeypatch.setattr(addresses, "WAITS", (0.01, 0.02))
    (tmp_path / "data").mkdir()
    for place in range(4):
        (tmp_path / "data" / f"{place}.csv").write_bytes(packed("a.csv", table(place)))
    handler = functools.partial(Flaky, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_web_with_a_signature_and_requests_that_fail_at_first(web, tmp_path):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    here = rs.fit(rs.OutlierRobustPCA(1), tmp_path / "data")
    Flaky.failures = 2
    there = rs.fit(rs.OutlierRobustPCA(1), [f"{web}/data/{place}.csv?token={SECRET}" for place in range(4)])
    assert Flaky.failures == 0
    assert there.components_.tobytes() == here.components_.tobytes()
    assert there.batch_report_[0].label == f"{web}/data/0.csv#0-399"
    assert len(Tables(f"{web}/data/").paths) == len(Tables(f"{web}/data/*.csv").paths) == 4
    Flaky.failures = 1_000
    try:
        tables = Tables([f"{web}/data/0.csv", str(tmp_path / "data/1.csv")])
    finally:
        Flaky.failures = 0
    assert list(tables.problems) == [f"{web}/data/0.csv"]


def test_memory_and_unknown_kinds(monkeypatch):
    pytest.importorskip("fsspec")
    for place in range(3):
        addresses.write_bytes(f"memory://tables/{place}.csv", [packed("a.csv", table(place))])
    model = rs.fit(rs.OutlierRobustPCA(1), "memory://tables/*.csv")
    assert [record.label for record in model.batch_report_][2] == "memory://tables/2.csv#0-399"
    with pytest.raises(InvalidInputError, match="nowhere:// is no kind of address"):
        Tables("nowhere://a.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InvalidInputError, match=r"need fsspec: pip install 'robustream\[cloud\]'"):
        Tables("https://example.org/a.csv")
