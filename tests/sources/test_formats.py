"""JSON lines, ORC and zip archives hold the same rows as any other file."""

import gzip
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import Tables

ROWS = 1000
X = np.column_stack([np.arange(ROWS) / 8, np.arange(ROWS) % 7, np.arange(ROWS) % 2])
NAMES = ("a", "b", "c")


def json_lines(X=X):
    return "\n".join(json.dumps({"a": row[0], "text": "x", "b": int(row[1]), "c": bool(row[2])}) for row in X).encode()


def csv(X=X):
    return "\n".join([",".join(NAMES), *(",".join(map(repr, row)) for row in X.tolist())]).encode()


def write_orc(path, X=X):
    pa_orc.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), path, stripe_size=4096, batch_size=64)


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def rows_of(tables, size=90):
    source = tables.in_batches(size)
    batches = list(source)
    assert [batch.failure for batch in batches] == [None] * source.count
    for start in (1, source.count - 1):
        assert next(source.batches(start)).X.tolist() == batches[start].X.tolist()
    again = [batch for part in source.partitions() for batch in part.read()]
    assert [batch.label for batch in again] == [batch.label for batch in batches]
    return np.concatenate([batch.X for batch in batches])


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.orc", "a.zip"])
def test_all_rows_come_in_order(tmp_path, name):
    if name.endswith("json") or "jsonl" in name:
        (tmp_path / name).write_bytes(gzip.compress(json_lines()) if name.endswith("gz") else json_lines())
    elif name.endswith("orc"):
        write_orc(tmp_path / name)
    else:
        write_zip(tmp_path / name, {"folder/a.csv": csv(X[:400]), "folder/b.jsonl": json_lines(X[400:])})
    tables = Tables(tmp_path, columns=list(NAMES))
    assert tables.rows == ROWS
    np.testing.assert_array_equal(rows_of(tables), X)


def test_a_large_file_of_json_lines_is_cut_by_bytes(tmp_path):
    large = np.tile(X, (60, 1))
    (tmp_path / "a.jsonl").write_bytes(json_lines(large))
    write_zip(tmp_path / "b.zip", {"a.jsonl": json_lines(large)})
    for name in ("a.jsonl", "b.zip"):
        tables = Tables(tmp_path / name, columns=list(NAMES))
        assert "#bytes " in next(iter(tables.in_batches(9000))).label
        np.testing.assert_array_equal(rows_of(tables, 9000), large)


def test_dirt_in_json_lines(tmp_path):
    lines = [
        '{"a": 1, "b": "1,234"}',
        '{"a": 2, "b": 5}',
        "",
        '{"a": 3}',
        '{"a": null, "b": 1}',
        '{"a": "oops", "b": 1}',
        "not json",
        "[1, 2]",
        *('{"a": 4, "b": true}' for _ in range(20)),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (batch,) = Tables(tmp_path / "a.jsonl").in_batches(100)
    assert batch.X.tolist() == [[1, 1234], [2, 5], *([[4, 1]] * 20)]
    assert batch.stats == {
        "missing:a": 1.0,
        "missing:b": 1.0,
        "unreadable lines": 2.0,
        "unreadable:a": 1.0,
        "rows dropped": 5,
    }


def test_text_targets_of_json_lines(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1, "y": "yes"}\n{"a": 2, "y": "no"}\n')
    (batch,) = Tables(tmp_path / "a.jsonl", target="y", text_target=True).in_batches(100)
    assert batch.y.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.jsonl", b"[1, 2]\n", "one array of JSON"),
        ("a.jsonl", b"a,b\n1,2\n", "not JSON lines"),
        ("a.jsonl", b"\n\n", "empty"),
        ("a.orc", b"ORC is a thing of myths", "damaged|not a whole ORC"),
        ("a.zip", b"PK but no archive", "not a whole zip archive"),
    ],
)
def test_what_is_no_such_file(tmp_path, name, data, reason):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidInputError, match=f"The only file cannot be used.*({reason})"):
        Tables(tmp_path / name)


def test_members_of_archives(tmp_path):
    write_zip(
        tmp_path / "a.zip", {"a.csv": csv(), "__MACOSX/a.csv": b"junk", "readme.md": b"hello", "b.parquet": b"PAR1"}
    )
    tables = Tables(tmp_path)
    assert tables.paths == (f"{tmp_path}/a.zip/a.csv", f"{tmp_path}/a.zip/b.parquet")
    assert tables.problems == {
        f"{tmp_path}/a.zip/b.parquet": "only text (CSV, JSON lines) can be read out of a zip archive; unpack it"
    }
    assert f"{tmp_path}/a.zip/readme.md" in tables.notes[0]
    assert Tables(f"{tmp_path}/a.zip/a.csv").rows == ROWS
    with pytest.raises(InvalidInputError, match="cannot be used"):
        Tables(f"{tmp_path}/a.zip/c.csv")
    source = Tables(f"{tmp_path}/a.zip/a.csv").in_batches(100)
    before = source.fingerprint()
    write_zip(tmp_path / "a.zip", {"a.csv": csv(X + 1)})
    assert Tables(f"{tmp_path}/a.zip/a.csv").in_batches(100).fingerprint() != before
