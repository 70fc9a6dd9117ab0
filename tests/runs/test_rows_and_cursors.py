"""Rows as dicts, cursors that serve one thread only, and datasets of Hugging Face."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import robustream as rs


@pytest.fixture
def frame():
    rows = np.random.default_rng(0).normal(size=(2_000, 3)) * [5, 2, 1]
    return pd.DataFrame(rows, columns=["a", "b", "c"])


@pytest.fixture
def database(frame):
    connection = sqlite3.connect(":memory:")
    frame.to_sql("rows", connection, index=False)
    yield connection
    connection.close()


def components(source, **options):
    return rs.fit(rs.OutlierRobustPCA(1, **options), source).components_.tobytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_chunks_of_a_cursor_of_sqlite(frame, database, workers):
    chunks = pd.read_sql("select * from rows", database, chunksize=250)
    assert components(chunks, n_jobs=workers) == components(frame, batch_size=250)


def test_rows_of_a_cursor_of_sqlite_as_dicts(frame, database):
    database.row_factory = sqlite3.Row
    rows = (dict(row) for row in database.execute("select * from rows"))
    assert components(rows) == components(frame, batch_size=2_000)


def test_a_batch_size_counts_for_rows_as_dicts(frame):
    model = rs.fit(rs.OutlierRobustPCA(1, batch_size=500), frame.to_dict("records"))
    assert [record.rows for record in model.batch_report_] == [500] * 4
    assert model.components_.tobytes() == components(frame, batch_size=500)


@pytest.mark.parametrize(("missing", "used"), [("use", 2_000), ("skip", 1_998)])
def test_rows_as_a_list_of_dicts_with_holes(frame, missing, used):
    rows = frame.to_dict("records")
    rows[3]["a"] = "no number"
    del rows[7]["b"]
    model = rs.fit(rs.OutlierRobustRegressor(), rows, target="c", missing=missing)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.n_samples_seen_ == used
    assert model.fit_notes_["missing"] == {"a": 1, "b": 1}


def test_batches_as_dicts_of_columns(frame):
    parts = ({name: frame[name].to_numpy()[k : k + 500] for name in frame} for k in range(0, 2_000, 500))
    assert components(parts) == components(frame, batch_size=500)


def test_what_a_function_raises_is_passed_on():
    def rows():
        yield {"a": 1.0, "b": 2.0}
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError, match="the database went away"):
        rs.fit(rs.OutlierRobustPCA(1), rows)


@pytest.mark.filterwarnings("ignore")
def test_datasets_of_hugging_face(frame):
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_pandas(frame)
    expected = components(frame, batch_size=500)
    assert components(dataset, batch_size=500) == expected
    assert components(dataset.to_iterable_dataset(), batch_size=500) == expected
