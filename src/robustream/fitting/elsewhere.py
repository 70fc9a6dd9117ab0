"""A run on an engine: partitions are estimated by its workers, and folded here in the order of their batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from robustream.batch import Batch
from robustream.engines import DaskEngine, Engine, LocalEngine
from robustream.errors import InvalidInputError
from robustream.fitting.driving import Moment, Watch, drive
from robustream.runs.distributed import Gathering, fold_missing
from robustream.runs.nodes import NodeReport
from robustream.runs.online import Plan
from robustream.sources.base import Partition, Source

__all__ = ["CutOff", "drive_elsewhere", "open_engine"]


class CutOff(NamedTuple):
    """When stragglers are given up: after a share of the partitions, or after some seconds."""

    enough: float | None = None
    deadline: float | None = None


@contextmanager
def open_engine(engine: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Give the engine that was asked for; one that is started here ends here."""
    if isinstance(engine, Engine):
        yield engine
        return
    if engine not in ("local", "dask"):
        raise InvalidInputError(f"engine must be None, 'local', 'dask' or an Engine, got {engine!r}")
    with LocalEngine(n_jobs) if engine == "local" else DaskEngine(n_workers=n_jobs) as started:
        yield started


def drive_elsewhere(
    model: Any, plan: Plan, moment: Moment, source: Source, watch: Watch, engine: Engine, cut_off: CutOff
) -> tuple[Moment, NodeReport]:
    """Drive a run on an engine; batches of partitions that were given up are entered as late."""
    partitions = source.partitions()
    if partitions is None:
        raise InvalidInputError(
            "only this process can read that source (an iterable, a pipe): leave engine out, or give files or arrays"
        )
    space = plan.learner.space(moment.stream.columns, moment.stream.outputs)
    work = Gathering(plan, space, _remaining(partitions, moment.stream.next_index), engine, *cut_off, examine=True)
    # One thread for BLAS, as in the workers, which need the cores; and then the bits do not depend on their number.
    with threadpool_limits(1):
        moment = drive(model, plan, moment, work.examined(), watch)
    if moment.ended is None:
        moment = moment._replace(stream=fold_missing(moment.stream, work.report))
    return moment, work.report


def _remaining(partitions: Sequence[Partition], position: int) -> list[Partition]:
    """Give what is left to read from a position on, which may lie within a partition."""
    left: list[Partition] = []
    for partition in partitions:
        if partition.first_index >= position:
            left.append(partition)
        elif partition.first_index + partition.count > position:
            left.append(_Tail(partition, position - partition.first_index))
    return left


@dataclass(frozen=True)
class _Tail(Partition):
    """A partition without its first batches."""

    whole: Partition
    passed: int

    @property
    def first_index(self) -> int:  # type: ignore[override]
        return self.whole.first_index + self.passed

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.whole.count - self.passed

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.whole.label

    def read(self, start: int = 0) -> Iterator[Batch]:
        return self.whole.read(self.passed + start)
