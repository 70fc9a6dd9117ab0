"""A column of weights: from every kind of source, on engines, over checkpoints, in model files and reports."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import robustream as rs
from robustream.errors import CheckpointError, DamagedFileError, InvalidInputError
from robustream.learners import LinearProblem, Refined
from robustream.report import collect
from robustream.runs.wire import EstimatePartition, decode_reply, encode_reply
from robustream.sources import ArraySource

ROWS, BATCH = 2000, 250


@cache
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS, 3)) + 5, columns=list("abc"))
    table["w"] = rng.integers(0, 5, ROWS).astype(float)
    table["y"] = table[list("abc")].to_numpy() @ [1.0, -2.0, 0.5] + rng.normal(size=ROWS)
    return table


def arrays():
    return frame()[list("abc")].to_numpy(), frame()["y"].to_numpy(), frame()["w"].to_numpy()


def make(**options):
    return rs.OutlierRobustRegressor(batch_size=BATCH, **options)


@cache
def expected():
    X, y, weights = arrays()
    return rs.fit(make(), X, target=y, weight=weights)


def pieces():
    return [frame().iloc[first : first + BATCH] for first in range(0, ROWS, BATCH)]


def parquet(folder):
    for number, piece in enumerate(pieces()):
        piece.to_parquet(folder / f"{number}.parquet")
    return str(folder / "*.parquet")


def csv(folder):
    frame().to_csv(folder / "all.csv", index=False)
    return str(folder / "all.csv")


def numpy_file(folder):
    np.save(folder / "all.npy", frame().to_numpy())
    return str(folder / "all.npy")


def lines(folder):
    frame().to_json(folder / "all.jsonl", orient="records", lines=True, double_precision=15)
    return str(folder / "all.jsonl")


def dask_frame(folder):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(frame(), npartitions=ROWS // BATCH)


SOURCES = {
    "data frame": (lambda folder: frame(), "y", "w"),
    "files": (parquet, "y", "w"),
    "CSV": (csv, "y", "w"),
    "JSON lines": (lines, "y", "w"),
    "npy": (numpy_file, "f4", "f3"),
    "frames one by one": (lambda folder: pieces(), "y", "w"),
    "stream": (lambda folder: pa.Table.from_pandas(frame()).to_reader(), "y", "w"),
    "Dask data frame": (dask_frame, "y", "w"),
    "dict of columns": (
        lambda folder: [{name: piece[name].to_numpy() for name in piece} for piece in pieces()],
        "y",
        "w",
    ),
}


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_every_source_gives_the_same_answer(kind, tmp_path):
    source, target, weight = SOURCES[kind]
    model = rs.fit(make(), source(tmp_path), target=target, weight=weight)
    np.testing.assert_allclose(model.coef_, expected().coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_stderr_, expected().coef_stderr_, rtol=1e-6)
    assert len(model.feature_names_in_) == 3
    assert model.n_samples_seen_ == np.count_nonzero(arrays()[2])


def test_triples_and_batches_bring_their_weights():
    X, y, weights = arrays()
    cuts = [slice(first, first + BATCH) for first in range(0, ROWS, BATCH)]
    triples = rs.fit(make(), [(X[cut], y[cut], weights[cut]) for cut in cuts])
    np.testing.assert_array_equal(triples.coef_, expected().coef_)
    source = rs.fit(make(), ArraySource(X, y, batch_size=BATCH, weights=weights))
    np.testing.assert_array_equal(source.coef_, expected().coef_)
    principal = rs.fit(rs.OutlierRobustPCA(1), [(X[cut], None, weights[cut]) for cut in cuts])
    whole = rs.fit(rs.OutlierRobustPCA(1, batch_size=BATCH), X, weight=weights)
    np.testing.assert_array_equal(principal.components_, whole.components_)


def test_dask_arrays_bring_weights_of_the_same_blocks():
    da = pytest.importorskip("dask.array")
    X, y, weights = arrays()
    parts = [da.from_array(part, chunks=(BATCH, *part.shape[1:])) for part in (X, y, weights)]
    model = rs.fit(make(), parts[0], target=parts[1], weight=parts[2])
    np.testing.assert_array_equal(model.coef_, expected().coef_)
    with pytest.raises(InvalidInputError, match="weights must be cut into the same partitions"):
        rs.fit(make(), parts[0], target=parts[1], weight=da.from_array(weights, chunks=100))


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_engines_give_the_same_bits(engine, tmp_path):
    here = rs.fit(make(), parquet(tmp_path), target="y", weight="w")
    there = rs.fit(make(n_jobs=2), parquet(tmp_path), target="y", weight="w", engine=engine)
    np.testing.assert_array_equal(here.coef_, there.coef_)
    np.testing.assert_array_equal(here.coef_stderr_, there.coef_stderr_)
    assert [record.total_weight for record in here.batch_report_] == [
        record.total_weight for record in there.batch_report_
    ]


def test_a_run_goes_on_with_the_same_bits(tmp_path):
    source, kept = parquet(tmp_path), tmp_path / "run.checkpoint"
    rs.fit(
        make(), source, target="y", weight="w", checkpoint=kept, checkpoint_every=1,
        callbacks=[lambda event: event.batches == 3],
    )  # fmt: skip
    with pytest.raises(CheckpointError):
        rs.fit(make(), source, target="y", exclude="w", checkpoint=kept, resume=True)
    whole = rs.fit(make(), source, target="y", weight="w")
    resumed = rs.fit(make(), source, target="y", weight="w", checkpoint=kept, resume=True)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.batch_report_ == whole.batch_report_


def test_arrays_with_other_weights_are_other_data(tmp_path):
    X, y, weights = arrays()
    kept = tmp_path / "run.checkpoint"
    rs.fit(make(), X, target=y, weight=weights, checkpoint=kept)
    with pytest.raises(CheckpointError):
        rs.fit(make(), X, target=y, weight=weights + 1, checkpoint=kept, resume=True)


def test_model_files_keep_weights_of_waiting_rows_and_batches(tmp_path):
    X, y, weights = arrays()
    weights = weights + 0.25
    model = rs.OutlierRobustRegressor()
    for first in range(0, 420, 10):
        rows = slice(first, first + 10)
        model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    assert model.run_.pending
    rs.save(model, tmp_path / "model.safetensors")
    loaded = rs.load(tmp_path / "model.safetensors")
    assert loaded.batch_report_ == model.batch_report_
    for each in (model, loaded):
        each.partial_fit(X[420:1000], y[420:1000], sample_weight=weights[420:1000])
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_rows_whose_weight_cannot_be_used_are_left_out_and_counted(tmp_path):
    table = frame().astype({"w": object})
    table.loc[:9, "w"], table.loc[10:14, "w"], table.loc[15, "w"], table.loc[16, "w"] = -2.0, None, np.inf, "many"
    table.to_csv(tmp_path / "dirty.csv", index=False)
    model = rs.fit(make(), str(tmp_path / "dirty.csv"), target="y", weight="w")
    assert model.fit_notes_["weights"] == {"capped": 0, "unusable": 17}
    assert model.fit_notes_["rows_dropped"] == 17
    clean = frame().iloc[17:]
    assert model.n_samples_seen_ == np.count_nonzero(clean["w"])
    notes = " ".join(collect(model, model.fit_notes_).notes)
    assert "Rows left out since their weight is missing, negative or infinite: 17." in notes
    strict = rs.fit(make(), str(tmp_path / "dirty.csv"), target="y", weight="w", missing="error")
    assert strict.batch_report_[0].verdict == "failed"
    assert "the weight in column 'w'" in strict.batch_report_[0].reason


def test_a_batch_without_usable_weights_fails_alone(tmp_path):
    parquet(tmp_path)
    broken = pieces()[2].assign(w=-1.0)
    broken.to_parquet(tmp_path / "2.parquet")
    pieces()[5].assign(w=0.0).to_parquet(tmp_path / "5.parquet")
    model = rs.fit(make(), str(tmp_path / "*.parquet"), target="y", weight="w")
    reasons = {record.index: record.reason for record in model.batch_report_ if record.verdict == "failed"}
    assert set(reasons) == {2, 5}
    assert "250 of 250 rows cannot be used: their weight 'w'" in reasons[2]
    assert "no row has a weight 'w' above zero" in reasons[5]


def test_missing_cells_and_weights_of_files_are_told_apart(tmp_path):
    table = frame().copy()
    table.loc[table.index % 10 == 0, "a"] = np.nan
    table.loc[5, "w"] = np.nan
    table.to_parquet(tmp_path / "gaps.parquet")
    model = rs.fit(make(), tmp_path / "gaps.parquet", target="y", weight="w")
    there = (table["w"] > 0) & table["a"].isna()
    assert model.fit_notes_["missing"] == {"a": int(there.sum())}
    assert model.fit_notes_["weights"]["unusable"] == 1
    np.testing.assert_allclose(model.coef_, [1.0, -2.0, 0.5], atol=0.15)


def test_capped_weights_are_told(tmp_path):
    table = frame().copy()
    table.loc[7, "w"] = 1e9
    table.to_parquet(tmp_path / "heavy.parquet")
    model = rs.fit(make(), tmp_path / "heavy.parquet", target="y", weight="w")
    assert model.fit_notes_["weights"] == {"capped": 1, "unusable": 0}
    assert [record.capped for record in model.batch_report_] == [1] + [0] * 7
    rs.save(model, tmp_path / "model.safetensors", extra=model.fit_notes_)
    assert rs.load(tmp_path / "model.safetensors").batch_report_[0].capped == 1
    assert "was capped: 1." in " ".join(collect(model, model.fit_notes_).notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "nothing"}, "weight must be names of columns; no file has a column 'nothing'"),
        ({"weight": "a", "columns": ["a", "b"]}, "weight must not be a column to learn from"),
        ({"weight": "y"}, "weight must not name the target"),
        ({"weight": "city"}, "weight must be a column of numbers"),
        ({"weight": np.ones(3)}, "one number for each of 2000 rows"),
    ],
    ids=["unknown", "learned", "target", "text", "short"],
)
def test_a_weight_that_cannot_be_is_refused(options, message):
    table = frame().assign(city="Rome")
    with pytest.raises(InvalidInputError, match=message):
        rs.fit(make(), table, target="y", **{"exclude": "city", **options})


def test_files_need_a_name_and_arrays_numbers(tmp_path):
    X, y, _ = arrays()
    with pytest.raises(InvalidInputError, match="weight must be the name of a column here"):
        rs.fit(make(), parquet(tmp_path), target="y", weight=np.ones(ROWS))
    with pytest.raises(InvalidInputError, match="weight must be an array"):
        rs.fit(make(), X, target=y, weight="w")


def test_a_formula_leaves_the_weight_out(tmp_path):
    pytest.importorskip("formulaic")
    model = rs.fit(make(), parquet(tmp_path), formula="y ~ .", weight="w")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.coef_, expected().coef_, rtol=1e-9)


def test_categories_and_weights(tmp_path):
    city = np.where(np.arange(ROWS) % 3 == 0, "Rome", "Paris")
    table = frame().assign(city=city)
    table["y"] += 5.0 * (city == "Rome")
    table.to_parquet(tmp_path / "cities.parquet")
    model = rs.fit(make(), tmp_path / "cities.parquet", target="y", weight="w", categorical="city")
    assert "w" not in model.feature_names_in_
    np.testing.assert_allclose(np.abs(model.coef_[-1]), 5.0, atol=0.2)


@pytest.mark.parametrize("claim", [-1.0, 0.0, float("nan"), float("inf"), "much", True])
def test_a_reply_with_a_weight_that_cannot_be_is_damaged(claim):
    X, y, weights = arrays()
    learner = Refined().regression(LinearProblem())
    space = learner.space(3, 1)
    partition = ArraySource(X, y[:, None], batch_size=BATCH, weights=weights + 1).partitions()[0]
    good = decode_reply(EstimatePartition(learner, 0, space)(partition), space, partition)
    assert good[0].estimate.total_weight == (weights + 1)[:BATCH].sum()
    lie = [one._replace(estimate=one.estimate._replace(total_weight=claim)) for one in good]
    with pytest.raises(DamagedFileError):
        decode_reply(encode_reply(lie), space, partition)
