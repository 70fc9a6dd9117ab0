"""Distributed learning gives the online result, survives bad replies, and knows who is missing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import robustream as rs
from robustream.aggregators import AGGREGATORS, Filtered
from robustream.batch import Batch
from robustream.engines import Engine, InProcessEngine, LocalEngine, Result
from robustream.engines.base import call_task
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files import pack, unpack
from robustream.learners import Classical, LinearProblem, PrincipalProblem
from robustream.runs import Layout, Plan, Run, distributed
from robustream.runs.distributed import CutOff, drive_elsewhere
from robustream.runs.loop import RunOptions, drive_here
from robustream.runs.wire import EstimatePartition, decode_reply, encode_reply, partition_name
from robustream.runs.worst_rows import examine_batch
from robustream.sources import ArraySource, SimulatedPCA, SimulatedRegression, batch_at
from robustream.sources.base import Partition

SOURCE = SimulatedPCA(batches=12, rows=60, columns=6, components=2, seed=3)
PAIRS = SimulatedRegression(batches=12, rows=60, columns=4, seed=3)


def pca_plan(aggregator=None, **options):
    return Plan(Classical().pca(PrincipalProblem(2)), aggregator or Filtered(), **options)


def regression_plan():
    return Plan(Classical().regression(LinearProblem()), Filtered(), seed=5)


def begin(plan, source):
    return Run.begin(plan, Layout(source.columns, int(source is PAIRS)))


def here(plan, source):
    return drive_here(begin(plan, source), source, RunOptions())


def assert_same_value(first, second):
    for ours, theirs in zip(first.value, second.value, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def assert_same(first, second):
    assert_same_value(first, second)
    assert (first.rows_seen, first.next_index) == (second.rows_seen, second.next_index)
    assert repr(first.ledger) == repr(second.ledger)
    assert repr(first.history) == repr(second.history)


@dataclass
class Shuffled(Engine):
    """Gives results in another order, leaves some out as if they were late, and may alter a reply."""

    seed: int = 0
    late: frozenset[int] = frozenset()
    alter: object = None

    @property
    def slots(self):
        return 1

    def imap(self, fn, tasks, **options):
        results = [Result(index, *call_task(fn, task)) for index, task in enumerate(tasks) if index not in self.late]
        for place in np.random.default_rng(self.seed).permutation(len(results)):
            yield self.alter(results[place]) if self.alter else results[place]

    def close(self):
        pass


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_completion_changes_no_bit(name, seed):
    plan = pca_plan(AGGREGATORS[name]())
    run = drive_elsewhere(begin(plan, SOURCE), SOURCE.partitions(), Shuffled(seed))
    assert_same(run, here(plan, SOURCE))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_workers_changes_no_bit(workers):
    plan = regression_plan()
    with LocalEngine(n_jobs=workers) as engine:
        run = drive_elsewhere(begin(plan, PAIRS), PAIRS.partitions(), engine)
    assert_same(run, here(plan, PAIRS))
    assert {record.outcome for record in run.nodes.records} == {"arrived"}
    assert all(record.size > 0 and record.worker and record.seconds > 0 for record in run.nodes.records)


@dataclass(frozen=True)
class Several(Partition):
    """A partition of several batches."""

    source: object
    first_index: int
    count: int
    label: str

    def read(self, start=0):
        return itertools.islice(self.source.batches(self.first_index + start), self.count - start)


def test_partitions_may_have_several_batches():
    plan = pca_plan()
    partitions = [Several(SOURCE, first, 4, f"file-{first}") for first in (0, 4, 8)]
    run = drive_elsewhere(begin(plan, SOURCE), partitions, Shuffled(1, frozenset({1})))
    verdicts = [record.verdict for record in run.ledger.records]
    assert sorted(verdicts) == ["kept"] * 8 + ["late"] * 4
    assert run.next_index == 12
    complete = fold_in_late(run)
    assert_same_value(complete, here(plan, SOURCE))
    assert complete.nodes.missing == []
    assert complete.rows_seen == 12 * 60


def fold_in_late(run):
    @dataclass
    class Holder:
        run_: Run

    return rs.fold_in_late(Holder(run)).run_


def test_enough_is_enough():
    run = drive_elsewhere(
        begin(pca_plan(), SOURCE), SOURCE.partitions(), InProcessEngine(), cut_off=CutOff(enough=0.75)
    )
    assert [partition.first_index for partition in run.nodes.missing] == [9, 10, 11]
    standings = run.nodes.standings(run.ledger.records)
    assert [standing.late for standing in standings] == [0] * 9 + [1] * 3
    assert "cut-off" in standings[9].reason


def test_a_raising_partition_fails_alone():
    @dataclass(frozen=True)
    class Broken(Partition):
        first_index: int = 0
        count: int = 1
        label: str = "folder/broken.parquet"

        def read(self, start=0):
            raise OSError("no such file")

    plan = pca_plan()
    partitions = [Broken(), *list(SOURCE.partitions())[1:]]
    run = drive_elsewhere(begin(plan, SOURCE), partitions, InProcessEngine())
    assert run.nodes.culprits(run.ledger.records) == ["folder/broken.parquet"]
    assert run.nodes.records[0].reason == "OSError: no such file"
    assert run.ledger.usable == 11
    assert partition_name(Broken()) == "estimate-broken.parquet"
    workers = run.nodes.workers(run.ledger.records)
    assert [(worker.partitions, worker.trusted, worker.failed) for worker in workers] == [(12, 11, 1)]


def alterations():
    payload = EstimatePartition(pca_plan().learner, 0, pca_plan().learner.space(6, 0))(next(iter(SOURCE.partitions())))
    tree = unpack(payload, "estimates")

    def changed(**changes):
        return pack({"batches": [{**tree["batches"][0], **changes}]}, "estimates")

    point = tree["batches"][0]["point"]
    yield "cut short", payload[:-7]
    yield "one bit", payload[:-9] + bytes([payload[-9] ^ 1]) + payload[-8:]
    yield "empty", b""
    yield "another kind", pack(tree, "model")
    yield "another index", changed(index=1)
    yield "no batches", pack({"batches": []}, "estimates")
    yield "not finite", changed(point=[None if part is None else np.full_like(part, np.nan) for part in point])
    yield "another shape", changed(point=[point[0][:-1], *point[1:]])
    yield "too few parts", changed(point=point[:2])
    yield "negative rows", changed(rows=-1)
    yield "rows that are no number", changed(rows="many")
    yield "neither point nor reason", changed(point=None)
    yield "text for numbers", changed(point=[["text"], *point[1:]])
    yield "nothing known", pack({"other": 1}, "estimates")


@pytest.mark.parametrize("payload", [pytest.param(payload, id=name) for name, payload in alterations()])
def test_a_damaged_reply_is_refused_whole(payload):
    space = pca_plan().learner.space(6, 0)
    with pytest.raises(DamagedFileError):
        decode_reply(payload, space, next(iter(SOURCE.partitions())))


def test_a_reply_comes_back_as_it_was():
    plan = regression_plan()
    examined = [examine_batch(plan.learner, 5, plan.learner.space(4, 1), batch_at(PAIRS, index)) for index in (2, 3)]
    decoded = decode_reply(encode_reply(examined), plan.learner.space(4, 1), Several(PAIRS, 2, 2, "two"))
    for sent, came in zip(examined, decoded, strict=True):
        assert sent.estimate._replace(point=None) == came.estimate._replace(point=None)
        for first, second in zip(sent.estimate.point, came.estimate.point, strict=True):
            np.testing.assert_array_equal(first, second)
        assert [row[:4] for row in sent.outlying] == [row[:4] for row in came.outlying]
        assert [row.x.tolist() for row in sent.outlying] == [row.x.tolist() for row in came.outlying]


def test_a_claimed_number_of_rows_is_cut_to_what_can_be():
    def lie(result):
        tree = unpack(result.payload, "estimates")
        tree["batches"][0]["rows"] = 10**9
        return result._replace(payload=pack(tree, "estimates"))

    run = drive_elsewhere(begin(pca_plan(), SOURCE), SOURCE.partitions(), Shuffled(0, alter=lie), most_rows=60)
    assert run.rows_seen == 12 * 60
    rows = np.concatenate([batch.X for batch in SOURCE])
    model = rs.fit(rs.OutlierRobustPCA(2, batch_size=60), rows, engine=Shuffled(0, alter=lie))
    assert model.n_samples_seen_ < 100 * len(rows)


def test_arrays_are_partitioned_too():
    plan = pca_plan()
    rows = np.concatenate([batch.X for batch in SOURCE])
    with LocalEngine(n_jobs=1) as engine:
        run = drive_elsewhere(begin(plan, SOURCE), ArraySource(rows, batch_size=60).partitions(), engine)
    assert_same_value(run, here(plan, SOURCE))


@dataclass
class FirstIsLast(Engine):
    """Hands out as an engine of three slots does, but the very first task ends only when nothing else is to do."""

    ahead: int = 0

    @property
    def slots(self):
        return 3

    def imap(self, fn, tasks, **options):
        held = None
        for index, task in enumerate(tasks):
            result = Result(index, *call_task(fn, task))
            if index == 0 and task.first_index == 0:
                held = result
                continue
            self.ahead += held is not None
            yield result
        if held is not None:
            yield held

    def close(self):
        pass


def test_what_waits_is_bounded_and_changes_no_bit(monkeypatch):
    plan, partitions = pca_plan(), SOURCE.partitions()
    size = len(EstimatePartition(plan.learner, 0, plan.learner.space(6, 0))(partitions[0]))
    monkeypatch.setattr(distributed, "_WAITING_BYTES", int(3.5 * size))
    engine = FirstIsLast()
    run = drive_elsewhere(begin(plan, SOURCE), partitions, engine)
    assert_same(run, here(plan, SOURCE))
    assert engine.ahead == 4


def test_with_a_cut_off_the_oldest_is_given_up_when_too_much_waits(monkeypatch):
    plan, partitions = pca_plan(), SOURCE.partitions()
    size = len(EstimatePartition(plan.learner, 0, plan.learner.space(6, 0))(partitions[0]))
    monkeypatch.setattr(distributed, "_WAITING_BYTES", int(3.5 * size))
    run = drive_elsewhere(begin(plan, SOURCE), partitions, FirstIsLast(), cut_off=CutOff(deadline=60.0))
    assert [partition.first_index for partition in run.nodes.missing] == [0]
    assert run.ledger.usable == 11
    assert_same_value(fold_in_late(run), here(plan, SOURCE))


@pytest.mark.parametrize("options", [{"enough": 0.0}, {"enough": 1.5}, {"deadline": 0.0}])
def test_cut_offs_are_checked(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        drive_elsewhere(begin(pca_plan(), SOURCE), SOURCE.partitions(), InProcessEngine(), cut_off=CutOff(**options))


def test_an_unreadable_batch_is_a_failed_estimate():
    @dataclass(frozen=True)
    class Unreadable(Partition):
        first_index: int = 0
        count: int = 1
        label: str = "part-0"

        def read(self, start=0):
            yield Batch.unreadable(0, "part-0#0-9", "the file is damaged")

    plan = pca_plan()
    partitions = [Unreadable(), *list(SOURCE.partitions())[1:]]
    run = drive_elsewhere(begin(plan, SOURCE), partitions, InProcessEngine())
    assert run.nodes.records[0].outcome == "arrived"
    assert run.nodes.culprits(run.ledger.records) == ["part-0"]
