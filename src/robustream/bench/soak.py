"""Faults for minutes on end: what is lost, and what is left behind.

Each trial is repeated until its share of the time is over, and compares what comes out with a run without faults.
Before and after all rounds of a trial everything is counted that a process can leave behind: processes, open files,
sockets, threads, shared memory, files beside the results, and resident memory. Everything is on this machine; what has
to be listened on is bound to the loopback address.
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from robustream.engines import Engine, LocalEngine, Result
from robustream.engines.base import TaskFunction
from robustream.errors import InvalidInputError, RobustreamError
from robustream.estimators import OutlierRobustRegressor

__all__ = ["MEMORY_ALLOWED", "Trial", "soak_steps"]

# The files that the trials with engines fit: so many partitions that a fault always finds some of them unfinished.
_FILES, _ROWS, _COLUMNS = 24, 2_000, 8
_SLOPES = np.arange(1.0, _COLUMNS + 1)
# Small batches in a whole run of a quarter of an hour.
_SMALL_BATCHES = 50_000
_SMALL_ROWS, _SMALL_COLUMNS = 20, 3
# How often a fault strikes, in seconds: a round takes about one.
_BETWEEN_FAULTS = 0.15
# A run whose workers are stopped for good is given up after this, in seconds.
_DEADLINE = 5.0
# What an allocator may keep, in bytes; a leak of a kilobyte a batch would show as 50 MB.
MEMORY_ALLOWED = 50_000_000
# How long processes and sockets may take to go away, in seconds.
_PATIENCE = 30.0
# A run that has not ended after this many seconds hangs.
_HANGING = 120.0


class Trial(NamedTuple):
    """What came of a trial: how often, what was wrong, and what was left behind when it was over."""

    name: str
    rounds: int
    faults: int
    seconds: float
    wrong: tuple[str, ...]
    processes: int
    files: int
    sockets: int
    threads: int
    litter: int  # files beside the results, and segments of shared memory
    memory: int  # bytes by which the resident memory grew after the first round

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong and nothing was left."""
        left = self.processes + self.files + self.sockets + self.threads + self.litter
        return not self.wrong and left == 0 and self.memory <= MEMORY_ALLOWED


class Held(NamedTuple):
    """What this process holds."""

    processes: int
    files: int
    sockets: int
    threads: int
    litter: int
    memory: int

    @classmethod
    def now(cls, folder: Path) -> Held:
        """Count it."""
        gc.collect()
        links = []
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # the one that lists them
                links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sockets = sum(link.startswith("socket:") for link in links)
        litter = sum(path.name.endswith((".part", ".lock")) for path in folder.rglob("*"))
        litter += sum(name.startswith("robustream") for name in os.listdir("/dev/shm"))
        memory = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        counts = len(_descendants()), len(links) - sockets, sockets, threading.active_count()
        return cls(*counts, litter, memory)


# A round does its work, strikes how often it was told to, and returns the number of faults; it raises what is wrong.
Round = Callable[[int], int]


def soak_steps(folder: Path, minutes: float) -> list[tuple[str, Callable[[], Trial]]]:
    """Return the trials, each with its title; together they take about so many minutes."""
    if not Path("/proc/self/fd").is_dir():
        raise InvalidInputError("a soak counts what is left behind in /proc, which only Linux has")
    _make_files(folder / "data")
    trials: list[tuple[str, float, Callable[[], Any]]] = [
        ("local workers killed", 0.15, lambda: _EngineTrial(folder, _kill)),
        ("local workers stopped, then going on", 0.1, lambda: _EngineTrial(folder, _stop_and_go)),
        ("local workers stopped for good", 0.1, lambda: _EngineTrial(folder, _stop, deadline=_DEADLINE)),
        ("garbage replies", 0.1, lambda: _GarbageTrial(folder)),
        ("a Dask scheduler that dies", 0.1, lambda: _SchedulerTrial(folder)),
        ("small batches with reads in between", 0.35, lambda: _SmallBatches(minutes)),
        ("several threads on one model", 0.1, _Threads),
    ]
    if importlib.util.find_spec("distributed") is None:
        trials = [trial for trial in trials if "Dask" not in trial[0]]
    return [(name, partial(_run, name, folder, 60 * minutes * share, make)) for name, share, make in trials]


def _run(name: str, folder: Path, seconds: float, make: Callable[[], Any]) -> Trial:
    """Repeat a trial for so long, at least twice, and count what it leaves after the first round, which warms up."""
    started, rounds, faults = monotonic(), 0, 0
    wrong: list[str] = []
    before: Held | None = None
    with make() as one_round, warnings.catch_warnings():
        # Faults are announced, as they should be.
        warnings.simplefilter("ignore")
        while rounds < 2 or monotonic() < started + seconds:
            try:
                faults += _within(_HANGING, partial(one_round, rounds))
            except Exception as error:
                wrong.append(f"round {rounds}: {type(error).__name__}: {error}")
                if isinstance(error, TimeoutError):
                    break
            rounds += 1
            before = before or Held.now(folder)
        # Within the trial: what it needs for all its rounds, such as an engine, is there before and after.
        after = _settled(folder, before or Held.now(folder))
    left = [max(0, now - then) for now, then in zip(after, before or after, strict=True)]
    return Trial(name, rounds, faults, monotonic() - started, tuple(wrong), *left)


def _settled(folder: Path, before: Held) -> Held:
    """Count what is held, once what is ending has had the time to end."""
    end = monotonic() + _PATIENCE
    while True:
        now = Held.now(folder)
        if all(a <= b for a, b in zip(now[:5], before[:5], strict=True)) or monotonic() > end:
            return now
        sleep(0.1)


def _within(seconds: float, action: Callable[[], int]) -> int:
    """Run an action on a thread of its own, and raise TimeoutError if it does not end."""
    outcome: list[int | BaseException] = []

    def work() -> None:
        try:
            outcome.append(action())
        except BaseException as error:  # handed to whoever waits
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"it did not end within {seconds:.0f} s")
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _descendants() -> list[int]:
    """Return the processes below this one that are not merely waiting to be collected."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError):
                state, parent = Path(f"/proc/{name}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(name)] = int(parent)
    found, frontier = [], [os.getpid()]
    while frontier:
        frontier = [process for process, parent in parents.items() if parent in frontier]
        found += frontier
    return found


# ---- engines


def _make_files(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(_FILES):
        X, y = _rows(number, _ROWS, _COLUMNS, _SLOPES)
        table = pa.table([*X.T, y], names=[*(f"x{k}" for k in range(_COLUMNS)), "y"])
        pa.parquet.write_table(table, folder / f"part-{number:02}.parquet")


def _rows(seed: int, rows: int, columns: int, slopes: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X @ slopes + rng.normal(size=rows)


def _fit(folder: Path, engine: Engine | None, **options: Any) -> OutlierRobustRegressor:
    from robustream.runs.fit import fit

    model: OutlierRobustRegressor = fit(
        OutlierRobustRegressor(batch_size=_ROWS // 2), str(folder / "data"), target="y", engine=engine, **options
    )
    return model


def _kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def _stop(process: int) -> None:
    os.kill(process, signal.SIGSTOP)


def _stop_and_go(process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    sleep(2 * _BETWEEN_FAULTS)
    os.kill(process, signal.SIGCONT)


@contextmanager
def _struck(strike: Callable[[int], None], seed: int, most: int) -> Iterator[list[int]]:
    """Strike workers of this process, one after another, while a block runs."""
    struck: list[int] = []
    over, chance = threading.Event(), random.Random(seed)

    def work() -> None:
        while len(struck) < most and not over.wait(_BETWEEN_FAULTS * chance.uniform(0.5, 1.5)):
            if workers := _descendants():
                victim = chance.choice(workers)
                with suppress(ProcessLookupError):
                    strike(victim)
                    struck.append(victim)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield struck
    finally:
        over.set()
        thread.join()


class _EngineTrial:
    """Fits on processes of this machine while these are struck, with a checkpoint that is resumed if the run fails."""

    def __init__(self, folder: Path, strike: Callable[[int], None], deadline: float | None = None) -> None:
        self._folder, self._strike, self._deadline = folder, strike, deadline
        self._expected = _fit(folder, None)
        self._checkpoint = folder / "checkpoint"

    def __enter__(self) -> Round:
        return self._round

    def __exit__(self, *_: object) -> None:
        self._checkpoint.unlink(missing_ok=True)

    def _round(self, number: int) -> int:
        # One fault for each task and its retries is more than an engine promises to bear.
        most = 2 if self._deadline is None else 1
        with LocalEngine(2) as engine:
            list(engine.imap(str.encode, ["started", "started"]))
            options: dict[str, Any] = {"checkpoint": self._checkpoint, "checkpoint_every": "5 batches"}
            if self._deadline is not None:
                options |= {"deadline": self._deadline, "quorum": 0.0}
            self._checkpoint.unlink(missing_ok=True)
            with _struck(self._strike, number, most) as struck:
                model = _fit(self._folder, engine, **options)
        self._compare(model)
        return len(struck)

    def _compare(self, model: OutlierRobustRegressor) -> None:
        late = [record for record in model.batch_report_ if record.verdict == "late"]
        others = [record for record in model.batch_report_ if record.verdict not in ("late", "kept")]
        if others:
            raise AssertionError(f"{others[0].label} is {others[0].verdict}: {others[0].reason}")
        if self._deadline is None and late:
            raise AssertionError(f"{late[0].label} is late, though nobody set a deadline")
        if not late and not np.array_equal(model.coef_, self._expected.coef_):
            raise AssertionError("the coefficients are others than those of a run without faults")
        if late and len(late) < len(model.batch_report_) and not np.allclose(model.coef_, _SLOPES, atol=0.2):
            raise AssertionError("the coefficients of the batches that came are wrong")


class _Garbling(Engine):
    """An engine whose workers lie: some replies are cut short, changed, or made up."""

    def __init__(self, inner: Engine, seed: int) -> None:
        self._inner, self._chance = inner, random.Random(seed)
        self.garbled = 0

    @property
    def slots(self) -> int:
        return self._inner.slots

    def imap(self, fn: TaskFunction, tasks: Iterable[Any], **options: Any) -> Iterator[Result]:
        for result in self._inner.imap(fn, tasks, **options):
            if result.payload is not None and self._chance.random() < 0.2:
                self.garbled += 1
                yield result._replace(payload=self._garble(result.payload))
            else:
                yield result

    def _garble(self, payload: bytes) -> bytes:
        place = self._chance.randrange(len(payload))
        return self._chance.choice(
            [
                b"",
                payload[:place],
                payload[:place] + bytes([payload[place] ^ (1 << self._chance.randrange(8))]) + payload[place + 1 :],
                self._chance.randbytes(len(payload)),
            ]
        )

    def close(self) -> None:
        self._inner.close()


class _GarbageTrial:
    """Fits on an engine that garbles replies: these batches fail, each with a reason, and the others are unharmed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._engine = folder, LocalEngine(2)

    def __enter__(self) -> Round:
        return self._round

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def _round(self, number: int) -> int:
        engine = _Garbling(self._engine, number)
        model = _fit(self._folder, engine, quorum=0.0)
        failed = [record for record in model.batch_report_ if record.verdict == "failed"]
        if bool(failed) != bool(engine.garbled) or not all(record.reason for record in failed):
            raise AssertionError(f"{engine.garbled} replies were garbled and {len(failed)} batches failed")
        if not np.allclose(model.coef_, _SLOPES, atol=0.1):
            raise AssertionError("garbage got into the coefficients")
        return engine.garbled


class _SchedulerTrial:
    """Kills the scheduler of a Dask cluster in the middle of a run: an error in time, and nothing that hangs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Round:
        import dask
        import distributed

        # Dask tells its log at length about what is done to it here, and waits for half a minute.
        for name in ("distributed", distributed.client.__name__, distributed.batched.__name__):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set({"distributed.comm.timeouts.connect": "5 s"})
        return self._round

    def __exit__(self, *_: object) -> None: ...

    def _round(self, number: int) -> int:
        from robustream.engines import DaskEngine

        address_file = self._folder / f"scheduler-{number}"
        common = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(address_file)]
        commands = [
            ["distributed.cli.dask_scheduler", "--port", "0", *common],
            ["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common],
        ]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder
            )
            for command in commands
        ]
        struck: list[int] = []

        def strike(event: Any) -> None:
            if event.batches >= 3 and not struck:
                struck.append(processes[0].pid)
                processes[0].kill()

        try:
            with DaskEngine(_address_in(address_file)) as engine:
                _fit(self._folder, engine, quorum=0.0, callbacks=[strike])
        except (RobustreamError, OSError):
            return len(struck)  # said, and in time
        finally:
            for process in processes[::-1]:
                process.kill()
                process.wait()
            address_file.unlink(missing_ok=True)
        return len(struck)


def _address_in(path: Path) -> str:
    import json

    end = monotonic() + 60
    while monotonic() < end:
        with suppress(OSError, ValueError, KeyError):
            return str(json.loads(path.read_text(encoding="utf-8"))["address"])
        sleep(0.05)
    raise TimeoutError("the scheduler did not start")


# ---- models


class _SmallBatches:
    """Feeds one model small batches, a quarter of them garbage, and reads it every now and then."""

    def __init__(self, minutes: float) -> None:
        self._model = OutlierRobustRegressor()
        self._slopes = np.arange(1.0, _SMALL_COLUMNS + 1)
        # In rounds of which a whole run has a hundred or so, whatever its length.
        self._batches = max(50, round(_SMALL_BATCHES * min(1.0, minutes / 15) / 100))
        self._most = round(_SMALL_BATCHES * max(1.0, minutes / 15))
        self._fed = 0

    def __enter__(self) -> Round:
        return self._round

    def __exit__(self, *_: object) -> None: ...

    def _round(self, number: int) -> int:
        bad = 0
        for _ in range(self._batches if self._fed < self._most else 0):
            X, y = _rows(self._fed, 4 * _SMALL_ROWS, _SMALL_COLUMNS, self._slopes)
            if self._fed % 4 == 3:
                y, bad = -50 * y, bad + 1
            self._model.partial_fit(X, y)
            self._fed += 1
        if self._model.n_samples_seen_ != 4 * _SMALL_ROWS * self._fed:
            raise AssertionError(f"{self._fed} batches were fed and {self._model.n_samples_seen_} rows are seen")
        if not np.allclose(self._model.coef_, self._slopes, atol=0.2):
            raise AssertionError(f"after {self._fed} batches the coefficients are {self._model.coef_}")
        return bad


class _Threads:
    """One thread teaches a model while others read it: each reading is that of some moment, and the end is exact."""

    def __enter__(self) -> Round:
        return self._round

    def __exit__(self, *_: object) -> None: ...

    def _round(self, number: int) -> int:
        slopes, batches = np.arange(1.0, 5.0), 40
        shared, alone = OutlierRobustRegressor(), OutlierRobustRegressor()
        tables = [_rows(1000 * number + k, 300, 4, slopes) for k in range(batches)]
        shared.partial_fit(*tables[0])
        over, wrong = threading.Event(), []

        def read() -> None:
            while not over.is_set():
                try:
                    coef, seen = shared.coef_, shared.n_samples_seen_
                    predicted = shared.predict(tables[0][0])
                    if seen % 300 or not np.allclose(coef, slopes, atol=0.5) or not np.isfinite(predicted).all():
                        wrong.append(f"a reading of {coef} after {seen} rows")
                except Exception as error:  # counted
                    wrong.append(repr(error))

        readers = [threading.Thread(target=read, daemon=True) for _ in range(4)]
        for reader in readers:
            reader.start()
        for table in tables[1:]:
            shared.partial_fit(*table)
        over.set()
        for reader in readers:
            reader.join()
        for table in tables:
            alone.partial_fit(*table)
        if wrong:
            raise AssertionError(wrong[0])
        if not np.array_equal(shared.coef_, alone.coef_):
            raise AssertionError("the model that was read meanwhile is another one")
        return 0
