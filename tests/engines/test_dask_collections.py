"""Dask arrays and data frames: their partitions are kept apart."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators import Filtered
from robustream.engines import InProcessEngine, LocalEngine
from robustream.errors import InvalidInputError
from robustream.learners import Classical, LinearProblem
from robustream.runs import Layout, Plan, Run
from robustream.runs.distributed import drive_elsewhere
from robustream.sources import ArraySource
from robustream.sources.dask import DaskSource, is_dask_collection

array = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")

ROWS = np.random.default_rng(0).normal(size=(120, 4))
TARGETS = ROWS @ [1.0, 2.0, 3.0, 4.0]
PLAN = Plan(Classical().regression(LinearProblem()), Filtered())


def same(batches, slices, columns=slice(None)):
    for batch, rows in zip(batches, slices, strict=True):
        np.testing.assert_array_equal(batch.X, ROWS[rows, columns])
        if batch.y is not None:
            np.testing.assert_array_equal(batch.y, TARGETS[rows])


def test_blocks_of_rows_are_batches_also_if_columns_are_split():
    for columns in (4, 2):
        source = DaskSource(
            array.from_array(ROWS, chunks=((50, 30, 40), columns)), array.from_array(TARGETS, chunks=((50, 30, 40),))
        )
        assert source.count == 3
        assert source.columns == 4
        same(source, [slice(0, 50), slice(50, 80), slice(80, 120)])
        assert [partition.label for partition in source.partitions()] == ["partition 0", "partition 1", "partition 2"]


def test_partitions_of_a_data_frame_are_batches():
    import pandas

    frame = frames.from_pandas(pandas.DataFrame(ROWS, columns=list("abcd")), npartitions=4)
    source = DaskSource(frame[["a", "c"]])
    assert source.columns == ("a", "c")
    same(source, [slice(first, first + 30) for first in range(0, 120, 30)], [0, 2])


def test_a_partition_that_fails_is_a_failed_batch():
    def spoil(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 1:
            raise OSError("lost")
        return block

    spoiled = array.from_array(ROWS, chunks=(40, 4)).map_blocks(spoil, meta=np.empty((0, 0)))
    failures = [batch.failure for batch in DaskSource(spoiled)]
    assert failures == [None, "OSError: lost", None]


@pytest.mark.parametrize("kind", ["here", "local"])
def test_it_gathers_as_arrays_do(kind):
    source = DaskSource(array.from_array(ROWS, chunks=(30, 4)), array.from_array(TARGETS, chunks=30))
    plain = ArraySource(ROWS, TARGETS, batch_size=30)
    with InProcessEngine() if kind == "here" else LocalEngine(n_jobs=2) as engine:
        ours = drive_elsewhere(Run.begin(PLAN, Layout(4, 1)), source.partitions(), engine)
        theirs = drive_elsewhere(Run.begin(PLAN, Layout(4, 1)), plain.partitions(), InProcessEngine())
    for first, second in zip(ours.value, theirs.value, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_partition_carries_only_its_own_rows():
    import cloudpickle

    large = array.concatenate([array.from_array(np.random.default_rng(n).normal(size=(1000, 10))) for n in range(10)])
    sizes = [len(cloudpickle.dumps(partition)) for partition in DaskSource(large).partitions()]
    assert max(sizes) < 2 * 80_000


def test_what_does_not_fit_together_is_refused():
    X = array.from_array(ROWS, chunks=(30, 4))
    with pytest.raises(InvalidInputError, match="same partitions"):
        DaskSource(X, array.from_array(TARGETS, chunks=60))
    with pytest.raises(InvalidInputError, match="blocks of as many rows"):
        DaskSource(X, array.from_array(TARGETS, chunks=((40, 20, 30, 30),)))
    with pytest.raises(InvalidInputError, match="must be a Dask array"):
        DaskSource(ROWS)
    with pytest.raises(InvalidInputError, match="like X"):
        DaskSource(X, TARGETS)
    assert is_dask_collection(X)
    assert not is_dask_collection(ROWS)
