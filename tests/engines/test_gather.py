"""Distributed learning gives the online result, survives bad replies, and knows who is missing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from robustream.aggregators import AGGREGATORS, Filtered
from robustream.batch import Batch
from robustream.engines import Engine, InProcessEngine, LocalEngine, Result
from robustream.engines.base import call_task
from robustream.errors import BelowQuorumError, DamagedFileError, InvalidInputError
from robustream.files import pack, unpack
from robustream.learners import Classical, LinearProblem, PrincipalProblem
from robustream.runs.distributed import gather, gather_missing
from robustream.runs.online import Plan, absorb, begin, settle
from robustream.runs.outlying import examine_batch
from robustream.runs.payload import Batches, decode_estimates, encode_estimates
from robustream.runs.remote import EstimatePartition, partition_name
from robustream.runs.waiting import WaitingRoom
from robustream.runs.workers import estimate_batch
from robustream.sources import ArraySource, SimulatedPCA, SimulatedRegression, batch_at
from robustream.sources.base import Partition

SOURCE = SimulatedPCA(batches=12, rows=60, columns=6, components=2, seed=3)
PAIRS = SimulatedRegression(batches=12, rows=60, columns=4, seed=3)


def pca_plan(aggregator=None, **options):
    return Plan(Classical().pca(PrincipalProblem(2)), aggregator or Filtered(), **options)


def regression_plan():
    return Plan(Classical().regression(LinearProblem()), Filtered(), seed=5)


def online(plan, source, outputs=0):
    stream = begin(plan, source.columns, outputs)
    for batch in source:
        stream = stream._replace(rows_seen=stream.rows_seen + batch.rows)
        stream = absorb(plan, stream, estimate_batch(plan.learner, plan.seed, batch))
    return stream


def assert_same(plan, first, second):
    for ours, theirs in zip(settle(plan, first), settle(plan, second), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert first._replace(state=None, ledger=None) == second._replace(state=None, ledger=None)
    assert repr(first.ledger) == repr(second.ledger)


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
    gathered = gather(plan, begin(plan, 6, 0), SOURCE.partitions(), Shuffled(seed))
    assert_same(plan, gathered.stream, online(plan, SOURCE))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_workers_changes_no_bit(workers):
    plan = regression_plan()
    with LocalEngine(n_jobs=workers) as engine:
        gathered = gather(plan, begin(plan, 4, 1), PAIRS.partitions(), engine)
    assert_same(plan, gathered.stream, online(plan, PAIRS, 1))
    assert {record.outcome for record in gathered.report.records} == {"arrived"}
    assert all(record.size > 0 and record.worker and record.seconds > 0 for record in gathered.report.records)


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
    gathered = gather(plan, begin(plan, 6, 0), partitions, Shuffled(1, frozenset({1})), quorum=0.5)
    verdicts = [record.verdict for record in gathered.stream.ledger.records]
    assert sorted(verdicts) == ["kept"] * 8 + ["late"] * 4
    assert gathered.stream.next_index == 12
    complete = gather_missing(plan, gathered, InProcessEngine())
    settled = zip(settle(plan, complete.stream), settle(plan, online(plan, SOURCE)), strict=True)
    assert all(np.array_equal(ours, theirs) for ours, theirs in settled)
    assert complete.report.missing == []


def test_enough_is_enough():
    plan = pca_plan()
    seen = []
    gathered = gather(
        plan, begin(plan, 6, 0), SOURCE.partitions(), InProcessEngine(), enough=0.75, on_result=seen.append
    )
    assert len(seen) == 9
    assert [partition.first_index for partition in gathered.report.missing] == [9, 10, 11]
    standings = gathered.report.standings(gathered.stream.ledger.records)
    assert [standing.late for standing in standings] == [0] * 9 + [1] * 3
    assert "cut-off" in standings[9].reason


def test_below_the_quorum_what_arrived_is_kept_for_a_second_try():
    plan = pca_plan()
    late = frozenset(range(6))
    with pytest.raises(BelowQuorumError, match=r"only 6 of 12 batches.*batch 0.*batch 5") as caught:
        gather(plan, begin(plan, 6, 0), SOURCE.partitions(), Shuffled(0, late))
    assert caught.value.partial.stream.ledger.usable == 6
    gathered = gather_missing(plan, caught.value.partial, InProcessEngine())
    assert gathered.stream.rows_seen == 12 * 60
    for ours, theirs in zip(settle(plan, gathered.stream), settle(plan, online(plan, SOURCE)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
    gathered = gather(plan, begin(plan, 6, 0), partitions, InProcessEngine())
    assert gathered.report.culprits(gathered.stream.ledger.records) == ["folder/broken.parquet"]
    assert gathered.report.records[0].reason == "OSError: no such file"
    assert gathered.stream.ledger.usable == 11
    assert partition_name(Broken()) == "estimate-broken.parquet"
    workers = gathered.report.workers(gathered.stream.ledger.records)
    assert [(worker.partitions, worker.trusted, worker.failed) for worker in workers] == [(12, 11, 1)]


def alterations():
    payload = EstimatePartition(pca_plan().learner, 0)(next(iter(SOURCE.partitions())))
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
    yield "not finite", changed(point=[np.full_like(part, np.nan) for part in point])
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
        decode_estimates(payload, space, Batches(0, 1))


def test_a_reply_comes_back_as_it_was():
    plan = regression_plan()
    examined = [examine_batch(plan.learner, 5, batch_at(PAIRS, index)) for index in (2, 3)]
    decoded = decode_estimates(encode_estimates(examined), plan.learner.space(4, 1), Batches(2, 2))
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

    plan = pca_plan()
    gathered = gather(plan, begin(plan, 6, 0), SOURCE.partitions(), Shuffled(0, alter=lie), most_rows=60)
    assert gathered.stream.rows_seen == 12 * 60


def test_arrays_are_partitioned_too():
    plan = pca_plan()
    rows = np.concatenate([batch.X for batch in SOURCE])
    with LocalEngine(n_jobs=1) as engine:
        gathered = gather(plan, begin(plan, 6, 0), ArraySource(rows, batch_size=60).partitions(), engine)
    for ours, theirs in zip(settle(plan, gathered.stream), settle(plan, online(plan, SOURCE)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_who_comes_early_waits_on_disk():
    with WaitingRoom(limit=10) as room:
        for number in range(5):
            room.put(number, bytes([number]) * 4)
        assert room.held_bytes <= 10
        assert [room.take(number) for number in (4, 0, 2, 1, 3)] == [bytes([n]) * 4 for n in (4, 0, 2, 1, 3)]
        assert 3 not in room


@pytest.mark.parametrize("options", [{"enough": 0.0}, {"enough": 1.5}, {"deadline": 0.0}])
def test_cut_offs_are_checked(options):
    plan = pca_plan()
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        gather(plan, begin(plan, 6, 0), SOURCE.partitions(), InProcessEngine(), **options)


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
    gathered = gather(plan, begin(plan, 6, 0), partitions, InProcessEngine())
    assert gathered.report.records[0].outcome == "arrived"
    assert gathered.report.culprits(gathered.stream.ledger.records) == ["part-0"]
