"""What every engine must do; a check takes an engine that it leaves ready for the next.

Whatever has to wait for something else waits on a named pipe: there is no sleeping and no guessing how long a thing
takes. Engines that run tasks in processes of their own (`Engine.isolated`) must survive more, and are asked more.
The last check takes a maker of engines, since it has to see one end.
"""

from __future__ import annotations

import itertools
import os
import select
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from robustream.engines import Engine, Result
from robustream.testing import errands

__all__ = ["ENGINE_CHECKS", "ISOLATED_ENGINE_CHECKS", "check_engine", "check_nothing_is_left_running"]

# Only a failing check waits so long, in seconds.
_PATIENCE = 10.0

EngineCheck = Callable[[Engine], None]


def check_engine(make_engine: Callable[[], Engine]) -> None:
    """Run all checks that apply on one engine, the first of them again at the end, and then see one end."""
    with make_engine() as engine:
        for check in ENGINE_CHECKS + (ISOLATED_ENGINE_CHECKS if engine.isolated else ()):
            check(engine)
        check_each_result_comes_once(engine)
    check_nothing_is_left_running(make_engine)


def check_each_result_comes_once(engine: Engine) -> None:
    """Every task has one result, with its own payload; no tasks have none."""
    results = _by_index(engine.imap(errands.echo, (f"task {number}" for number in range(40))))
    assert [results[index].payload for index in range(40)] == [f"task {index}".encode() for index in range(40)]
    assert all(result.error is None and result.worker and result.seconds >= 0 for result in results.values())
    assert list(engine.imap(errands.echo, [])) == []


def check_a_large_payload_arrives_whole(engine: Engine) -> None:
    """Megabytes come back as they were, and so does nothing at all."""
    results = _by_index(engine.imap(errands.repeat, [0, 1, 5_000_001]))
    assert [results[index].payload for index in range(3)] == [errands.repeat(size) for size in (0, 1, 5_000_001)]


def check_a_raising_task_gives_its_reason(engine: Engine) -> None:
    """What a task raises is its answer, given once; the others are not concerned."""
    with _folder() as folder:
        results = _by_index(engine.imap(partial(errands.raise_if_odd, folder), range(6)))
        assert len(errands.signatures(folder)) == 6, "a task that raised was tried again"
    assert [results[index].payload for index in (0, 2, 4)] == [b"even"] * 3
    assert results[1].payload is None
    assert "ValueError" in (results[1].error or "")
    assert "1 is odd" in (results[1].error or "")
    assert "SystemExit" in (results[3].error or "")
    assert "Unspeakable" in (results[5].error or "")


def check_only_bytes_pass(engine: Engine) -> None:
    """A reply of another type is an error, above all one that could not be decoded."""
    replies = ["nothing", "text", "undecodable", "unpicklable", "bytes"]
    results = _by_index(engine.imap(errands.reply_with, replies))
    for index in range(4):
        assert results[index].payload is None
        assert "bytes" in (results[index].error or "")
    assert results[4].payload == b"bytes"


def check_tasks_are_pulled_as_needed(engine: Engine) -> None:
    """An unbounded list of tasks is read no further than the window; closing ends it."""
    pulled = 0

    def endless() -> Iterator[str]:
        nonlocal pulled
        for pulled in itertools.count(1):
            yield str(pulled)

    for window in (1, 3):
        pulled = 0
        results = engine.imap(errands.echo, endless(), window=window)
        for taken in range(10):
            next(results)
            assert pulled <= taken + 1 + window
        _close(results)
        stopped = pulled
        assert next(results, None) is None
        assert pulled == stopped


def check_a_bad_list_of_tasks_raises(engine: Engine) -> None:
    """What the iterable of tasks itself raises reaches the caller, and the engine stays usable."""

    def broken() -> Iterator[str]:
        yield "good"
        raise LookupError("no more partitions")

    try:
        list(engine.imap(errands.echo, broken()))
    except LookupError:
        pass
    else:
        raise AssertionError("the error of the task list was lost")
    assert [result.payload for result in engine.imap(errands.echo, ["again"])] == [b"again"]


def check_a_task_that_cannot_travel_is_an_error(engine: Engine) -> None:
    """A task that cannot be pickled, or not be loaded by the worker, costs only itself."""
    tasks = ["first", errands.CannotLeave(), errands.CannotArrive(), "last"]
    results = _by_index(engine.imap(errands.echo, tasks))
    assert [results[0].payload, results[3].payload] == [b"first", b"last"]
    for index in (1, 2):
        assert results[index].payload is None
        assert results[index].error


def check_a_killed_worker_costs_nothing(engine: Engine) -> None:
    """A worker killed while working is replaced, its task is tried again, and no other task notices."""
    with _folder() as folder:
        results = _by_index(engine.imap(partial(errands.die_the_first_time, folder), range(6)))
        pids = errands.signatures(folder)
        assert len(pids) == 2, f"the task that kills its worker once was begun {len(pids)} times"
        assert pids[0] != pids[1]
        assert _ends(pids[0]), "nobody was killed"
    assert [results[index].payload for index in range(6)] == [b"alive"] * 6


def check_a_deadly_task_ends_with_an_error(engine: Engine) -> None:
    """A task that always kills its worker is given up after its retries; the others have their results."""
    with _folder() as folder:
        results = _by_index(engine.imap(partial(errands.die_if_three, folder), range(6), retries=1))
        pids = errands.signatures(folder)
        assert len(pids) == len(set(pids)) == 2, f"with one retry it was begun {len(pids)} times"
        assert all(_ends(pid) for pid in pids), "nobody was killed"
    assert results[3].payload is None
    assert "died" in (results[3].error or "")
    assert [results[index].payload for index in (0, 1, 2, 4, 5)] == [b"alive"] * 5


def check_stragglers_are_cut_off(engine: Engine) -> None:
    """Closing the iterator gives up what still runs, and all slots can be used at once."""
    with _folder() as folder:
        stuck = max(1, engine.slots - 1)
        tasks = [("block", place) for place in range(stuck)] + [("echo", place) for place in range(3)]
        results = engine.imap(partial(errands.block_or_echo, folder), tasks, window=len(tasks))
        if engine.slots > 1:
            assert sorted(next(results).index for _ in range(3)) == [stuck, stuck + 1, stuck + 2]
            pids = [int(errands.pipe(folder, f"begun-{place}").read_text()) for place in range(stuck)]
            assert all(_runs(pid) for pid in pids)
        _close(results)
        _all_slots_meet(engine)


def check_the_timeout_ends_the_iterator(engine: Engine) -> None:
    """After the timeout the iterator ends although a task never does."""
    with _folder() as folder:
        tasks = [("never", 0)]
        assert list(engine.imap(partial(errands.block_or_echo, folder), tasks, timeout=0.2)) == []
        _all_slots_meet(engine)


def check_nothing_is_left_running(make_engine: Callable[[], Engine]) -> None:
    """Closing an engine ends every process that it started, one stuck in a task too, and every listening socket."""
    before = _descendants(), _listening()
    with make_engine() as engine:
        workers = {result.worker for result in engine.imap(errands.echo, map(str, range(20)))}
        if engine.isolated:
            with _folder() as folder:
                results = engine.imap(partial(errands.block_or_echo, folder), [("echo", 0), ("never", 1)], window=2)
                next(results)
                _close(results)
    pids = {int(worker.rpartition(":")[2]) for worker in workers}
    if engine.isolated:
        assert os.getpid() not in pids
        assert all(_ends(pid) for pid in pids), "a worker outlives its engine"
        left = _descendants() - before[0]
        assert not left, f"processes outlive the engine: {sorted(left)}"
    assert _listening() <= before[1], "a socket still listens"


def _all_slots_meet(engine: Engine) -> None:
    """Run as many tasks as there are slots, none of which can end unless all run at the same time."""
    count = engine.slots
    if count < 2:
        return
    with _folder() as folder:
        for place in range(count):
            errands.pipe(folder, f"ring-{place}")
        results = _by_index(engine.imap(partial(errands.pass_the_token, folder, count), range(count)))
    assert [results[place].payload for place in range(count)] == [b"met"] * count


def _by_index(results: Iterator[Result]) -> dict[int, Result]:
    found: dict[int, Result] = {}
    for result in results:
        assert result.index not in found, f"task {result.index} has two results"
        assert (result.payload is None) != (result.error is None)
        found[result.index] = result
    assert sorted(found) == list(range(len(found)))
    return found


def _close(results: Iterator[Result]) -> None:
    close = getattr(results, "close", None)
    assert close is not None, "imap must give an iterator that can be closed"
    close()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="robustream-engine-") as name:
        yield Path(name)


def _ends(pid: int) -> bool:
    """Return whether a process has ended; one that was killed closes its connections a moment before it is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], _PATIENCE)[0])
    finally:
        os.close(descriptor)


def _runs(pid: int) -> bool:
    """Return whether a process is there and no zombie."""
    return _state(pid) not in (None, "Z", "X")


def _state(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def _descendants() -> set[tuple[int, str]]:
    """Return the processes below this one; Python's own tracker of shared resources stays until the end, by design."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    found, fresh = set(), {os.getpid()}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        found |= fresh
    named = {(pid, _command(pid)) for pid in found if _runs(pid)}
    return {(pid, command) for pid, command in named if "resource_tracker" not in command}


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _listening() -> set[str]:
    """Return the sockets of this process that listen."""
    own = set()
    for link in Path("/proc/self/fd").glob("*"):
        try:
            own.add(os.readlink(link))
        except OSError:
            continue
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        lines = Path(table).read_text().splitlines()[1:] if Path(table).exists() else []
        listening |= {f"socket:[{fields[9]}]" for line in lines if (fields := line.split())[3] == "0A"}
    return own & listening


ENGINE_CHECKS: tuple[EngineCheck, ...] = (
    check_each_result_comes_once,
    check_a_large_payload_arrives_whole,
    check_a_raising_task_gives_its_reason,
    check_only_bytes_pass,
    check_tasks_are_pulled_as_needed,
    check_a_bad_list_of_tasks_raises,
)
ISOLATED_ENGINE_CHECKS: tuple[EngineCheck, ...] = (
    check_a_task_that_cannot_travel_is_an_error,
    check_a_killed_worker_costs_nothing,
    check_a_deadly_task_ends_with_an_error,
    check_stragglers_are_cut_off,
    check_the_timeout_ends_the_iterator,
)
