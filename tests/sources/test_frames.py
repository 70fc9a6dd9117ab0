"""One door for frames that are not in memory as a whole: the same rows, whoever holds them."""

import warnings
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pa_parquet
import pytest

import robustream as rs
from robustream.errors import InvalidInputError
from robustream.sources.iterables import is_arrow_stream
from robustream.sources.tables.frames import StreamedTable

# DuckDB would rather give a relation than the result of a statement.
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")

ROWS = 2000
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {"a": RNG.normal(size=ROWS), "b": RNG.normal(size=ROWS), "word": ["x"] * ROWS, "y": np.arange(ROWS, dtype=float)}
)
X = np.column_stack([TABLE["a"], TABLE["b"]])


def dataset(folder):
    pa_parquet.write_table(TABLE, folder / "all.parquet", row_group_size=300)
    return pa_dataset.dataset(folder / "all.parquet")


def lazy_frame(folder):
    return pytest.importorskip("polars").from_arrow(TABLE).lazy()


def relation(folder):
    # The name of the table is that of the module here.
    return pytest.importorskip("duckdb").sql("from TABLE_OF_ROWS")


def query(folder):
    connection = pytest.importorskip("duckdb").connect()
    connection.register("rows", TABLE)
    return connection.execute("select * from rows")


TABLE_OF_ROWS = TABLE


class Speaks:
    """Another library's table."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


AGAIN = {"dataset": dataset, "lazy frame": lazy_frame, "relation": relation, "other": lambda folder: Speaks()}
ONCE = {"reader": lambda folder: TABLE.to_reader(150), "query": query}


@pytest.mark.parametrize("kind", [*AGAIN, *ONCE])
def test_all_rows_come_in_order(tmp_path, kind):
    item = (AGAIN | ONCE)[kind](tmp_path)
    assert is_arrow_stream(item)
    table = StreamedTable(item, target="y", exclude="word")
    assert (table.feature_names, table.target_names, table.rows) == (("a", "b"), ("y",), None)
    source = table.in_batches(300)
    batches = list(source)
    assert [batch.rows for batch in batches] == [300] * 6 + [200]
    assert batches[1].label == "rows 300-599"
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), X)
    if kind in AGAIN:
        again = list(source.batches(5))
        assert [batch.index for batch in again] == [5, 6]
        np.testing.assert_array_equal(again[0].X, batches[5].X)
    else:
        with pytest.raises(InvalidInputError, match="read already and cannot start again"):
            source.batches()


@pytest.mark.parametrize("kind", [*AGAIN, *ONCE])
def test_a_model_of_them_is_the_model_of_the_files(tmp_path, kind):
    folder = tmp_path / "parts"
    folder.mkdir()
    for place in range(10):
        pa_parquet.write_table(TABLE.slice(200 * place, 200), folder / f"{place}.parquet")
    expected = rs.fit(rs.OutlierRobustPCA(1, batch_size=200), folder, exclude=["word", "y"])
    model = rs.fit(rs.OutlierRobustPCA(1, batch_size=200), (AGAIN | ONCE)[kind](tmp_path), exclude=["word", "y"])
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_what_is_in_memory_is_no_stream():
    pandas = pytest.importorskip("pandas")
    for item in (TABLE, TABLE.to_batches()[0], pandas.DataFrame({"a": [1]}), X, [X], "path", pa.Table, Speaks):
        assert not is_arrow_stream(item)


def test_a_stream_that_breaks_off(tmp_path):
    def batches():
        yield from TABLE.to_batches(300)[:3]
        raise OSError("the line is dead")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    batches = list(StreamedTable(reader, columns=["a"]).in_batches(400))
    assert [batch.rows for batch in batches] == [400, 400, 0]
    assert "the stream broke off" in batches[-1].failure
    assert batches[-1].label == "rows 800-800"


def test_missing_cells_and_text(tmp_path):
    table = pa.table({"a": [1.0, None, 3.0], "b": ["x", "y", "z"]})
    with pytest.raises(InvalidInputError, match="'b' holds text"):
        StreamedTable(table.to_reader())
    (batch,) = StreamedTable(table.to_reader(), exclude="b").in_batches(5)
    assert batch.X.tolist() == [[1.0], [3.0]]
    assert batch.stats == {"missing:a": 1.0, "rows dropped": 1}


def test_what_is_odd_about_files_is_in_the_notes_of_a_fit(tmp_path):
    for place in range(4):
        pa_parquet.write_table(TABLE.slice(500 * place, 500), tmp_path / f"{place}.parquet")
    model = rs.fit(rs.OutlierRobustPCA(1), tmp_path, columns=["a", "b"])
    assert "files" not in model.fit_notes_
    (tmp_path / "4.parquet").write_bytes((tmp_path / "0.parquet").read_bytes())
    model = rs.fit(rs.OutlierRobustPCA(1), tmp_path, columns=["a", "b"])
    assert model.fit_notes_["files"] == [f"copies, byte for byte: {tmp_path / '4.parquet'} of {tmp_path / '0.parquet'}"]


@pytest.mark.parametrize("kind", ["reader", "generator", "table"])
def test_a_checkpoint_of_what_is_read_once_says_so(tmp_path, kind):
    table = pa.table(dict(zip("abc", np.random.default_rng(0).normal(size=(3, 2000)), strict=True)))

    def rows():
        if kind == "table":
            return table
        return table.to_reader() if kind == "reader" else iter(table.to_batches(250))

    def fitted(**options):
        return rs.fit(rs.OutlierRobustPCA(1, batch_size=250), rows(), **options)

    saved = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    once = kind != "table"
    with pytest.warns(rs.errors.ReadOnceWarning, match="can be read only once") if once else nullcontext():
        fitted(**saved, callbacks=[lambda event: event.batches == 3])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        resumed = fitted(**saved, resume=True)
    assert any(issubclass(one.category, rs.errors.ReadOnceWarning) for one in said) == once
    np.testing.assert_array_equal(resumed.components_, fitted().components_)
    assert resumed.n_samples_seen_ == 2000
