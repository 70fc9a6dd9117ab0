"""A run that goes on from a checkpoint ends with the same bits as one that was never interrupted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robustream as rs
from robustream import files
from robustream.aggregators.paged import Paged
from robustream.batch import Batch, Estimate
from robustream.errors import DamagedFileError
from robustream.runs import Layout, Plan, Run
from robustream.runs.checkpoints import Checkpoint, read_checkpoint, why_not, write_checkpoint
from robustream.runs.ledger import Ledger
from robustream.runs.notes import History, Look
from robustream.runs.serialize import decode_estimates, encode_estimates
from robustream.spaces.principal import PrincipalPoint
from robustream.testing import discover_learners


def assert_same_bits(first, second, where="run"):
    """Compare named tuples of arrays to the last bit, the order in memory included."""
    assert type(first) is type(second), where
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype, where
        assert first.shape == second.shape, where
        assert first.flags.f_contiguous == second.flags.f_contiguous, where
        assert first.tolist() == second.tolist() if first.dtype.kind in "UO" else first.tobytes() == second.tobytes()
    elif isinstance(first, (tuple, Paged)):
        assert len(first) == len(second), where
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            assert_same_bits(one, other, f"{where}.{getattr(first, '_fields', range(10**6))[place]}")
    else:
        assert first == second or (first != first and second != second), where


def learned(run):
    return run.state, run.pending, run.rows_seen, run.next_index, run.ledger


def through_bytes(run):
    packed = files.pack(run.to_tree(), "run")
    return Run.from_tree(files.unpack(packed, "run"), run.plan, run.layout)


@pytest.mark.parametrize("aggregator", [*rs.aggregators.AGGREGATORS, "small budget"])
@pytest.mark.parametrize("example", list(discover_learners()), ids=lambda example: example.name)
def test_every_run_goes_on_alike(example, aggregator):
    made = (
        rs.aggregators.Filtered(budget=3) if aggregator == "small budget" else rs.aggregators.AGGREGATORS[aggregator]()
    )
    plan = Plan(example.learner, made, half_life=None if aggregator == "online-median" else 4.0, seed=5)
    rng = np.random.default_rng(0)
    batches: list[Batch] = [example.make_batch(rows, rng) for rows in (80, 90, 7, 80, 60, 5, 80, 100)]
    columns = batches[0].X.shape[1]
    outputs = 0 if batches[0].y is None else (1 if batches[0].y.ndim == 1 else batches[0].y.shape[1])
    straight = interrupted = Run.begin(plan, Layout(columns, outputs))
    for batch in batches:
        straight = straight.feed(batch.X, batch.y)
        interrupted = through_bytes(interrupted).feed(batch.X, batch.y)
    assert_same_bits(learned(straight), learned(interrupted))
    assert_same_bits(straight.value, interrupted.value)


@pytest.fixture
def run():
    rng = np.random.default_rng(0)
    model = rs.OutlierRobustPCA(2, n_jobs=1, batch_size=60)
    for _ in range(6):
        model.partial_fit(rng.normal(size=(60, 4)))
    return model


def checkpoint_of(model):
    return Checkpoint(model.run_.to_tree(), model.run_settings(), "abc", model.run_.next_index)


def test_a_checkpoint_comes_back(run, tmp_path):
    path = tmp_path / "run.safetensors"
    history = History({"missing:a": 3.0}, (), (Look(4, 240, 0.5),))
    write_checkpoint(path, replace(run.run_, history=history), run.run_settings(), "abc")
    checkpoint = read_checkpoint(path)
    after = checkpoint.run(run.run_.plan, run.run_.layout)
    assert_same_bits(learned(run.run_), learned(after))
    assert checkpoint.position == 6
    assert after.history == history
    assert why_not(checkpoint, run.run_settings(), "abc") is None


def test_failed_batches_and_notes_come_back(run):
    estimates = run.run_.state.estimates
    noted = tuple(estimate._replace(stats={"missing: a": 3.0, "b": float(k)}) for k, estimate in enumerate(estimates))
    noted = (*noted[:3], noted[3]._replace(stats={}), *noted[4:])
    assert_same_bits(decode_estimates(encode_estimates(noted, PrincipalPoint), PrincipalPoint), noted)
    ledger = Ledger().enter(Estimate(0, "a.csv#0-9", 10, None, "no rows"), False, "no rows")
    noted_run = replace(run.run_, ledger=ledger)
    assert_same_bits(learned(through_bytes(noted_run)), learned(noted_run))


def test_equal_parts_are_stacked(run):
    tensors = files.pack(run.run_.to_tree(), "run")
    assert tensors.count(b'"dtype"') < 20


def test_reasons_not_to_go_on(run):
    checkpoint, settings = checkpoint_of(run), run.run_settings()
    assert "other data" in why_not(checkpoint, settings, "other")
    assert "other data" in why_not(checkpoint, settings, None)
    rng = np.random.default_rng(0)
    other = rs.OutlierRobustPCA(3, learner=rs.learners.Trimmed(trim=0.2)).partial_fit(rng.normal(size=(60, 4)))
    reason = why_not(checkpoint, other.run_settings(), "abc")
    assert "n_components was 2 and is now 3" in reason
    assert "learner was 'refined'" in reason
    wider = rs.OutlierRobustPCA(2).partial_fit(rng.normal(size=(80, 5)))
    assert "columns was 4 and is now 5" in why_not(checkpoint, wider.run_settings(), "abc")
    reading = {"reading": {"missing": "error", "columns": ["a", "b", "c", "d"]}}
    assert "missing was None and is now 'error'" in why_not(checkpoint, settings | reading, "abc")
    both = checkpoint._replace(settings=settings | reading)
    assert why_not(both, settings | reading, "abc") is None
    assert "columns was 4 and is now 5" in why_not(both, wider.run_settings() | reading, "abc")


def test_how_fast_it_goes_is_no_reason(run):
    quicker = rs.OutlierRobustPCA(2, n_jobs=2, batch_size=60).partial_fit(np.random.default_rng(0).normal(size=(60, 4)))
    assert why_not(checkpoint_of(run), quicker.run_settings(), "abc") is None


def test_a_model_is_no_checkpoint(run, tmp_path):
    path = tmp_path / "model.safetensors"
    rs.save(run, path)
    with pytest.raises(DamagedFileError, match="holds a model, not a checkpoint"):
        read_checkpoint(path)
