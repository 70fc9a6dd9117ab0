"""`robustream.fit` gives the same model whatever the same rows come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import robustream as rs
from robustream.errors import BelowQuorumError, FailedBatchError, InvalidInputError
from robustream.sources import SimulatedRegression


def test_files_some_of_them_garbage(folder, clean):
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target="price")
    oracle = LinearRegression().fit(*clean)
    # Clean normal rows lose almost nothing: the two differ by a small part of their standard errors.
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=0.3 * model.coef_stderr_.max())
    assert model.feature_names_in_.tolist() == ["c0", "c1", "c2", "c3"]
    named = {record.label.split("#")[0].rsplit("/")[-1]: record for record in model.batch_report_}
    distrusted = {name: record.verdict for name, record in named.items() if record.verdict != "kept"}
    assert distrusted == {f"part-{k:02}.parquet": "rejected" for k in range(7)} | {"part-20.parquet": "failed"}
    assert "Parquet" in named["part-20.parquet"].reason


@pytest.mark.parametrize("shape", ["list", "pattern", "path"])
def test_ways_to_name_files(folder, shape):
    names = {
        "list": [str(folder / f"part-{k:02}.parquet") for k in range(7, 20)],
        "pattern": str(folder / "part-1?.parquet"),
        "path": folder / "part-08.parquet",
    }
    model = rs.fit(rs.OutlierRobustPCA(2), names[shape], columns=["c3", "c1", "c0"])
    assert model.feature_names_in_.tolist() == ["c3", "c1", "c0"]
    assert model.components_.shape == (2, 3)


def test_the_same_rows_from_everywhere(folder):
    paths = [folder / f"part-{k:02}.parquet" for k in range(20)]
    tables = [pq.read_table(path) for path in paths]
    frame = pa.concat_tables(tables).to_pandas()
    X, y = frame[["c0", "c1", "c2", "c3"]].to_numpy(), frame["price"].to_numpy()
    make = lambda: rs.OutlierRobustRegressor(batch_size=400)  # noqa: E731
    expected = make().fit(X, y).coef_
    sources = {
        "files": (paths, "price"),
        "frame": (frame, "price"),
        "arrow": (pa.concat_tables(tables), "price"),
        "frame and array": (frame.drop(columns="price"), y),
        "arrays": (X, y),
        "lists": (X.tolist(), y.tolist()),
        "pairs": ([(X[k : k + 400], y[k : k + 400]) for k in range(0, 8000, 400)], None),
        "generator": (((X[k : k + 400], y[k : k + 400]) for k in range(0, 8000, 400)), None),
        "frames": ([table.to_pandas() for table in tables], "price"),
        "function": (lambda: iter(tables), "price"),
    }
    for name, (source, target) in sources.items():
        model = rs.fit(make(), source, target=target)
        np.testing.assert_array_equal(model.coef_, expected, err_msg=name)
        assert model.n_samples_seen_ == 8000


def test_memory_maps_and_npy_files(tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    expected = rs.OutlierRobustPCA(1, batch_size=500).fit(rows)
    for source in (np.load(tmp_path / "rows.npy", mmap_mode="r"), tmp_path / "rows.npy"):
        model = rs.fit(rs.OutlierRobustPCA(1, batch_size=500), source)
        np.testing.assert_array_equal(model.components_, expected.components_)
        assert model.components_.dtype == np.float32


def test_a_source_object():
    source = SimulatedRegression(rows=300, columns=5, batches=12, seed=3)
    model = rs.fit(rs.OutlierRobustRegressor(), source)
    assert model.n_batches_seen_ == 12


def test_several_targets_and_wrapped_estimators(folder):
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target=["price", "c3"])
    assert model.coef_.shape == (2, 3)
    assert model.fit_notes_["targets"] == ["price", "c3"]
    wrapped = rs.fit(rs.OutlierRobust(Ridge()), folder, target="price")
    assert wrapped.estimator_.coef_.shape == (4,)


def test_classes_in_files(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(10):
        X = rng.normal(size=(300, 2))
        label = np.where(X[:, 0] > 0, "up", "down")
        if number < 3:
            label = np.where(X[:, 0] > 0, "down", "up")
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "way": label}).to_csv(tmp_path / f"{number}.csv", index=False)
    model = rs.fit(rs.OutlierRobust(LogisticRegression()), tmp_path, target="way", classes=["up", "down"])
    assert model.predict(pd.DataFrame({"a": [2.0, -2.0], "b": [0.0, 0.0]})).tolist() == ["up", "down"]
    with pytest.raises(InvalidInputError, match="classes"):
        rs.fit(rs.OutlierRobust(LogisticRegression()), tmp_path, target="way")


def test_missing_cells_are_dropped_and_counted(tmp_path):
    X = np.random.default_rng(0).normal(size=(4000, 3))
    X[::100, 1] = np.nan
    X[1::200, 2] = np.inf
    model = rs.fit(rs.OutlierRobustPCA(1, batch_size=400), X, missing="skip-infinite")
    assert model.n_samples_seen_ == 4000 - 40 - 20
    assert model.fit_notes_["missing"] == {"x1": 40, "x2": 20}
    assert model.fit_notes_["rows_dropped"] == 60
    with pytest.raises(BelowQuorumError, match="'x2' is infinite"):
        rs.fit(rs.OutlierRobustPCA(1, batch_size=400), X)
    with pytest.raises(BelowQuorumError, match="'x1' is missing"):
        rs.fit(rs.OutlierRobustPCA(1, batch_size=400), X[:, :2], missing="error")


def test_the_first_failure_can_stop_the_run(folder):
    with pytest.raises(FailedBatchError, match="part-20"):
        rs.fit(rs.OutlierRobustPCA(1), folder, on_error="stop")


def test_below_the_quorum_there_is_no_model(tmp_path, folder):
    for number in range(7, 10):
        (tmp_path / f"{number}.parquet").write_bytes((folder / f"part-{number:02}.parquet").read_bytes())
        (tmp_path / f"bad{number}.parquet").write_bytes(b"x" * 20_000)
    model = rs.OutlierRobustPCA(1)
    with pytest.raises(BelowQuorumError, match="bad7"):
        rs.fit(model, tmp_path)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (np.zeros((10, 2)), {}, "target"),
        (np.zeros((10, 2)), {"target": np.zeros(9)}, "rows"),
        (np.zeros((10, 2)), {"target": np.zeros(10), "columns": ["a"]}, "names"),
        (np.zeros(10), {"target": np.zeros(10)}, "rows x columns"),
        (3, {}, "source must be"),
        ("no/such/file.parquet", {"target": "y"}, "no file"),
        (np.zeros((10, 2)), {"target": np.zeros(10), "on_error": "ignore"}, "on_error"),
        (np.zeros((10, 2)), {"target": np.zeros(10), "quorum": 1.5}, "quorum"),
        (np.zeros((10, 2)), {"target": np.zeros(10), "tolerance": 2}, "tolerance"),
        (np.zeros((10, 2)), {"target": np.zeros(10), "resume": True}, "checkpoint"),
        ([], {}, "no usable batch"),
    ],
)
def test_wrong_arguments(source, options, message):
    with pytest.raises(InvalidInputError, match=message):
        rs.fit(rs.OutlierRobustRegressor(), source, **options)


def test_estimators_that_cannot_be_fitted_in_batches():
    with pytest.raises(InvalidInputError, match="batch by batch"):
        rs.fit(rs.TrimmedPCA(1), np.zeros((10, 2)))
    with pytest.raises(InvalidInputError, match="batch by batch"):
        rs.fit(rs.OutlierRobustPCA, np.zeros((10, 2)))


def test_an_error_leaves_the_estimator_as_it_was(folder):
    model = rs.fit(rs.OutlierRobustPCA(1), folder)
    before = model.components_.copy()
    with pytest.raises(FailedBatchError):
        rs.fit(model, folder, on_error="stop", columns=["c0", "c1"])
    np.testing.assert_array_equal(model.components_, before)


def test_the_worst_rows_are_named(tmp_path):
    rng = np.random.default_rng(1)
    for number in range(10):
        X = rng.normal(size=(400, 3))
        if number == 4:
            X[123] = 60.0
            X[7, 0] = np.nan
        pq.write_table(pa.table({f"c{k}": X[:, k] for k in range(3)}), tmp_path / f"{number}.parquet")
    model = rs.fit(rs.OutlierRobustPCA(1), tmp_path)
    label, row, score, values, reason = model.fit_notes_["worst_rows"][0]
    assert "4.parquet" in label
    assert row == 123
    assert score > 5
    assert values == {"c0": 60.0, "c1": 60.0, "c2": 60.0}
    assert "is 60, expected" in reason


def test_worst_rows_show_their_targets_and_their_oddest_values():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 30))
    y = X @ rng.normal(size=30)
    X[55, 17], y[55] = -70.0, 900.0
    model = rs.fit(rs.OutlierRobustRegressor(batch_size=500), X, target=y)
    values = model.fit_notes_["worst_rows"][0][3]
    assert len(values) == 6
    assert list(values.items())[:2] == [("y", 900.0), ("x17", -70.0)]


def test_notes_are_kept_with_the_model(folder, tmp_path):
    model = rs.fit(rs.OutlierRobustPCA(1), folder)
    rs.save(model, tmp_path / "model.safetensors")
    assert str(rs.load(tmp_path / "model.safetensors").fit_notes_) == str(model.fit_notes_)


def test_what_is_wrong_with_all_items_is_said():
    with pytest.raises(InvalidInputError, match="rows x columns"):
        rs.fit(rs.OutlierRobustPCA(1), (row for row in np.zeros((5, 3))))


def test_files_without_rows(tmp_path):
    (tmp_path / "empty.csv").write_text("a,b,c\n")
    with pytest.raises(InvalidInputError, match="no rows"):
        rs.fit(rs.OutlierRobustPCA(1), tmp_path, columns=["a", "b"])


def _frames():
    rng = np.random.default_rng(0)
    for day in range(10):
        rows = rng.normal(size=(200, 2))
        frame = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "price": rows @ [1.0, 2.0]})
        yield frame[["price", "b", "a"]] if day == 5 else frame


@pytest.mark.parametrize(
    ("items", "target"),
    [
        (_frames, "price"),
        (lambda: _frames(), ["price"]),
        (_frames(), "price"),
        (list(_frames()), "price"),
        (lambda: ((frame.drop(columns="price"), frame["price"]) for frame in _frames()), None),
        (lambda: (pa.Table.from_pandas(frame) for frame in _frames()), "price"),
    ],
)
def test_names_of_columns_come_with_frames_one_by_one(items, target):
    model = rs.fit(rs.OutlierRobustRegressor(), items, target=target)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(np.ravel(model.coef_), [1.0, 2.0], atol=1e-9)
    assert {record.verdict for record in model.batch_report_} == {"kept"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(next(_frames())[["b", "a"]])


def test_a_frame_of_other_columns_beside_its_target_is_a_failed_batch():
    def items():
        for number, frame in enumerate(_frames()):
            names = {"a": "other"} if number == 3 else {}
            yield frame.drop(columns="price").rename(columns=names), frame["price"]

    model = rs.fit(rs.OutlierRobustRegressor(), items)
    assert [record.index for record in model.batch_report_ if record.verdict == "failed"] == [3]
    assert "no column 'a'" in model.batch_report_[3].reason


def test_a_column_of_several_types_is_named():
    frame = pd.DataFrame({"a": [1.0, "oops", 3.0] * 100, "b": np.arange(300.0)})
    with pytest.raises(InvalidInputError, match=r"column 'a' holds values of several types; pandas\.to_numeric"):
        rs.fit(rs.OutlierRobustPCA(1), frame)
    with pytest.raises(InvalidInputError, match=r"item 0: column 'a' holds values of several types"):
        rs.fit(rs.OutlierRobustPCA(1), [frame])
