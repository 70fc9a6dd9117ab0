"""The local engine: started from any kind of script, ended with its driver, one thread a worker."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from robustream.engines import LocalEngine
from robustream.errors import EngineError, InvalidInputError
from robustream.testing import errands

# Everything at the top level, the function and its class too, and no guard.
SCRIPT = """
from robustream.engines import LocalEngine

class Suffix:
    text = "!"

def shout(word):
    return (word.upper() + Suffix.text).encode()

with LocalEngine(n_jobs=2) as engine:
    print(sorted(result.payload or result.error for result in engine.imap(shout, ["a", "b"])))
"""
EXPECTED = "[b'A!', b'B!']\n"


def run_python(arguments, **options):
    finished = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)
    assert finished.returncode == 0, finished.stderr
    return finished


def test_a_script_without_a_guard_works(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    finished = run_python([str(path)])
    assert (finished.stdout, finished.stderr) == (EXPECTED, "")


def test_a_script_on_standard_input_works():
    assert run_python(["-"], input=SCRIPT).stdout == EXPECTED


def test_a_notebook_works():
    # Cells are compiled and executed in the namespace of a main module that has no file.
    cells = f"import __main__\nexec(compile({SCRIPT!r}, '<cell 1>', 'exec'), vars(__main__))"
    assert run_python(["-c", cells]).stdout == EXPECTED


def test_an_engine_that_nobody_closes_ends_with_its_script():
    script = SCRIPT.replace("with LocalEngine(n_jobs=2) as engine:", "engine = LocalEngine(n_jobs=2)\nif True:")
    finished = run_python(["-W", "error", "-"], input=script)
    assert (finished.stdout, finished.stderr) == (EXPECTED, "")


@pytest.fixture(scope="module")
def engine():
    with LocalEngine(n_jobs=2) as engine:
        yield engine


def test_workers_end_when_the_driver_is_killed_even_in_the_middle_of_a_task(tmp_path):
    script = f"""
from functools import partial
from pathlib import Path
from robustream.engines import LocalEngine
from robustream.testing import errands
engine = LocalEngine(n_jobs=2)
list(engine.imap(partial(errands.block_or_echo, Path({str(tmp_path)!r})), [("block", 0), ("block", 1)]))
"""
    pipes = [errands.pipe(tmp_path, f"begun-{place}") for place in range(2)]
    driver = subprocess.Popen([sys.executable, "-c", script])
    workers = [os.pidfd_open(int(pipe.read_text())) for pipe in pipes]
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    for worker in workers:
        # Readable once the process has ended; were it not to end, this would wait for ever.
        select.select([worker], [], [])
        os.close(worker)


HOLDING = """
import ctypes, os, sys, time
from pathlib import Path
from robustream.engines import LocalEngine

def hold(path):
    Path(path).write_text(str(os.getpid()))
    # A library call during which no Python code of this process runs.
    ctypes.PyDLL(None).sleep(60)
    return b""

engine = LocalEngine(n_jobs=1)
list(engine.imap(str.encode, ["a"]))
if "copied" in sys.argv and (copy := os.fork()) == 0:
    time.sleep(60)
    os._exit(0)
print(copy if "copied" in sys.argv else 0, flush=True)
list(engine.imap(hold, sys.argv[1:2]))
"""


@pytest.mark.parametrize("copied", ["alone", "copied"])
def test_workers_end_at_once_when_their_driver_is_killed(tmp_path, copied):
    """In the middle of a library's computation too, and although a forked copy of the driver lives on."""
    begun = errands.pipe(tmp_path, "begun")
    driver = subprocess.Popen([sys.executable, "-c", HOLDING, str(begun), copied], stdout=subprocess.PIPE)
    worker = os.pidfd_open(int(begun.read_text()))
    with driver:
        copy = int(driver.stdout.readline())
        driver.kill()
        driver.wait()
        ended = bool(select.select([worker], [], [], 5)[0])
        if not ended:
            signal.pidfd_send_signal(worker, signal.SIGKILL)
        if copy:
            os.kill(copy, signal.SIGKILL)
    os.close(worker)
    assert ended


def test_a_worker_uses_one_thread(engine):
    def count_threads(_):
        import numpy as np
        import pyarrow
        from threadpoolctl import threadpool_info

        from robustream.kernels.threads import get_threads

        np.ones((2, 2)) @ np.ones((2, 2))
        libraries = [library["num_threads"] for library in threadpool_info()]
        return repr((get_threads(), max(libraries), pyarrow.cpu_count())).encode()

    assert [result.payload for result in engine.imap(count_threads, range(2))] == [b"(1, 1, 1)"] * 2


def test_workers_persist_between_calls(engine):
    def pid(_):
        return str(os.getpid()).encode()

    calls = [{result.payload for result in engine.imap(pid, range(20))} for _ in range(3)]
    assert len(set().union(*calls)) <= 2


def test_the_import_path_of_the_driver_reaches_the_workers(engine, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def function(task):\n    return b'found'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with LocalEngine(n_jobs=1) as fresh:
        assert [result.payload for result in fresh.imap(only_here.function, [0])] == [b"found"]


def test_a_function_that_cannot_be_loaded_is_an_error_of_each_task(engine):
    class Function(errands.CannotArrive):
        def __call__(self, task):
            return b""

    results = list(engine.imap(Function(), range(2)))
    assert all("the worker cannot load the task" in result.error for result in results)


def test_two_calls_at_once_are_refused(engine):
    first = engine.imap(errands.echo, ["a", "b"])
    next(first)
    with pytest.raises(InvalidInputError, match="busy with another call"):
        engine.imap(errands.echo, ["c"])
    first.close()
    assert [result.payload for result in engine.imap(errands.echo, ["c"])] == [b"c"]


def test_a_forked_copy_of_the_driver_leaves_the_workers_alone(engine):
    list(engine.imap(errands.echo, ["a"]))
    pid = os.fork()
    if pid == 0:
        engine.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert [result.payload for result in engine.imap(errands.echo, ["b"])] == [b"b"]


def test_workers_that_cannot_start_raise(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with LocalEngine(n_jobs=2) as engine, pytest.raises(EngineError, match="could not start"):
        list(engine.imap(errands.echo, ["a"]))


@pytest.mark.parametrize("n_jobs", [0, True, "2", 1.5])
def test_n_jobs_is_checked(n_jobs):
    with pytest.raises(InvalidInputError, match="n_jobs"):
        LocalEngine(n_jobs=n_jobs)


@pytest.mark.parametrize("options", [{"window": 0}, {"retries": -1}, {"timeout": 0}])
def test_limits_are_checked(engine, options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        engine.imap(errands.echo, [], **options)


def test_n_jobs_counts_as_scikit_learn_does():
    cores = LocalEngine().slots
    assert LocalEngine(n_jobs=-1).slots == cores
    assert LocalEngine(n_jobs=-cores - 5).slots == 1
    assert LocalEngine(n_jobs=3).slots == 3
