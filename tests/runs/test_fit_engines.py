"""The same model wherever the batches are worked on, and what an engine adds: late partitions, nodes, a quorum."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest

import robustream as rs
from robustream.batch import Batch
from robustream.engines import InProcessEngine, LocalEngine
from robustream.errors import BelowQuorumError, InvalidInputError
from robustream.sources.base import Partition, Source


@pytest.fixture(scope="module")
def engine():
    with LocalEngine(2) as started:
        yield started


def _bytes_of(model, path) -> bytes:
    rs.save(model, path, extra=model.fit_notes_)
    return path.read_bytes()


@pytest.mark.parametrize("aggregator", ["filtered", "online-median"])
def test_the_same_bytes_on_every_engine(folder, tmp_path, engine, aggregator):
    def fit(**options):
        model = rs.OutlierRobustRegressor(aggregator=aggregator, batch_size=200)
        return _bytes_of(rs.fit(model, folder, target="price", **options), tmp_path / "model")

    here = fit()
    assert fit(engine=InProcessEngine()) == here
    assert fit(engine=engine) == here


def test_arrays_and_simulated_sources_reach_the_workers(engine):
    rows = np.random.default_rng(0).normal(size=(20_000, 5))
    here, there = (rs.fit(rs.OutlierRobustPCA(2), rows, engine=place) for place in (None, engine))
    np.testing.assert_array_equal(here.components_, there.components_)
    source = rs.sources.SimulatedPCA(batches=12, rows=300, columns=6, components=2)
    here, there = (rs.fit(rs.OutlierRobustPCA(2), source, engine=place) for place in (None, engine))
    np.testing.assert_array_equal(here.components_, there.components_)


def test_a_run_on_an_engine_is_resumed_within_a_partition(folder, tmp_path, engine):
    def make():
        return rs.OutlierRobustPCA(2, batch_size=100)

    stop = [lambda event: event.batches == 18]
    rs.fit(make(), folder, engine=engine, checkpoint=tmp_path / "checkpoint", callbacks=stop)
    resumed = rs.fit(make(), folder, engine=engine, checkpoint=tmp_path / "checkpoint", resume=True)
    assert _bytes_of(resumed, tmp_path / "a") == _bytes_of(rs.fit(make(), folder), tmp_path / "b")


def test_nodes_are_reported(folder, engine):
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target="price", engine=engine)
    culprits = {label.split("#")[0].rsplit("/")[-1] for label in model.node_report_.culprits(model.batch_report_)}
    assert culprits == {f"part-{k:02}.parquet" for k in (*range(7), 20)}
    workers = model.node_report_.workers(model.batch_report_)
    assert sum(worker.partitions for worker in workers) == 21
    assert all(worker.seconds > 0 for worker in workers)


@dataclass(frozen=True)
class _Blocked(Partition):
    """Rows that come only when a file exists, so that a test decides who is late."""

    index: int
    gate: str

    first_index = property(lambda self: self.index)  # type: ignore[assignment]
    count = 1
    label = property(lambda self: f"node {self.index}")  # type: ignore[assignment]

    def read(self, start: int = 0):
        while self.index >= 8 and not _exists(self.gate):
            threading.Event().wait(0.02)
        rng = np.random.default_rng(self.index)
        yield Batch(self.index, self.label, rng.normal(size=(300, 3)) * [4.0, 1.0, 1.0])


def _exists(path: str) -> bool:
    import os

    return os.path.exists(path)


class _Nodes(Source):
    """Ten nodes, the last two of which wait for a file."""

    def __init__(self, gate: str) -> None:
        self.gate = gate

    count = 10

    def batches(self, start: int = 0):
        for partition in self.partitions()[start:]:
            if partition.first_index < 8:
                yield from partition.read()

    def partitions(self):
        return [_Blocked(index, self.gate) for index in range(10)]


def test_stragglers_are_late_and_can_be_folded_in(tmp_path, engine):
    gate = tmp_path / "gate"
    model = rs.fit(rs.OutlierRobustPCA(1), _Nodes(str(gate)), engine=engine, enough=0.8)
    late = [record for record in model.batch_report_ if record.verdict == "late"]
    assert [record.index for record in late] == [8, 9]
    assert model.n_samples_seen_ == 8 * 300
    gate.touch()
    rs.fold_in_late(model, engine)
    assert {record.verdict for record in model.batch_report_} == {"kept"}
    assert model.n_samples_seen_ == 10 * 300
    whole = rs.fit(rs.OutlierRobustPCA(1), _Nodes(str(gate)), engine=engine)
    np.testing.assert_array_equal(model.components_, whole.components_)


def test_below_the_quorum_what_arrived_is_kept(tmp_path, engine):
    gate = tmp_path / "gate"
    with pytest.raises(BelowQuorumError, match="node 9") as caught:
        rs.fit(rs.OutlierRobustPCA(1), _Nodes(str(gate)), engine=engine, enough=0.8, quorum=0.9)
    gate.touch()
    partial = caught.value.partial
    assert partial.n_batches_seen_ == 10
    rs.fold_in_late(partial, engine)
    assert {record.verdict for record in partial.batch_report_} == {"kept"}


def test_what_an_engine_cannot_do(folder, engine):
    with pytest.raises(InvalidInputError, match="only this process"):
        rs.fit(rs.OutlierRobustPCA(1), iter([np.zeros((100, 3))]), engine=engine)
    with pytest.raises(InvalidInputError, match="engine must be"):
        rs.fit(rs.OutlierRobustPCA(1), folder, engine="spark")
    with pytest.raises(InvalidInputError, match="need an engine"):
        rs.fit(rs.OutlierRobustPCA(1), folder, enough=0.5)
    with pytest.raises(InvalidInputError, match="enough"):
        rs.fit(rs.OutlierRobustPCA(1), folder, engine=engine, enough=1.5)
    with pytest.raises(InvalidInputError, match="fitted on an engine"):
        rs.fold_in_late(rs.OutlierRobustPCA(1))


def test_dask_collections_keep_their_partitions(engine):
    import dask.array
    import dask.dataframe
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=3000)
    y[:900] = -y[:900]
    here = rs.fit(rs.OutlierRobustRegressor(), [(X[k : k + 300], y[k : k + 300]) for k in range(0, 3000, 300)])
    array = rs.fit(
        rs.OutlierRobustRegressor(),
        dask.array.from_array(X, chunks=(300, 2)),
        target=dask.array.from_array(y, chunks=300),
        engine=engine,
    )
    np.testing.assert_array_equal(array.coef_, here.coef_)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "day": "monday", "price": y})
    parts = dask.dataframe.from_pandas(frame, npartitions=10, sort=False)
    framed = rs.fit(rs.OutlierRobustRegressor(), parts, target="price", exclude="day", engine=engine)
    np.testing.assert_allclose(framed.coef_, here.coef_, rtol=1e-12)
    assert framed.feature_names_in_.tolist() == ["a", "b", "c"]
    assert [record.verdict for record in framed.batch_report_] == ["rejected"] * 3 + ["kept"] * 7
    with pytest.raises(InvalidInputError, match="no column"):
        rs.fit(rs.OutlierRobustRegressor(), parts, target="cost")
