"""The Dask engine: clients, addresses, TLS, names, and what it does not do to somebody else's cluster."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from robustream.engines import DaskEngine
from robustream.errors import EngineError, InvalidInputError
from robustream.testing import errands

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """A cluster of somebody else, with one worker of two threads."""
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def echo_all(engine, words=("a", "b", "c")):
    return sorted(result.payload for result in engine.imap(errands.echo, words))


def test_an_existing_client_is_used_and_left_open(client):
    with DaskEngine(client) as engine:
        assert engine.slots == 2
        assert echo_all(engine) == [b"a", b"b", b"c"]
    assert client.status == "running"
    assert client.submit(sum, [1, 2]).result() == 3


def test_an_address_is_enough(cluster):
    with DaskEngine(cluster.scheduler_address) as engine:
        assert echo_all(engine) == [b"a", b"b", b"c"]
        with pytest.raises(ValueError, match="No clients found"):
            distributed.default_client()


def test_a_client_that_gave_its_scheduler_up_leaves_no_thread_behind(cluster):
    before = set(threading.enumerate())
    with DaskEngine(cluster.scheduler_address) as engine:
        assert set(threading.enumerate()) > before
        # What a client does by itself when its scheduler has not answered for too long.
        engine.client.sync(engine.client._close)
        assert engine.client.status == "closed"
    assert set(threading.enumerate()) <= before


def test_tasks_have_readable_names(client):
    def name_of_this_task(_):
        from distributed import get_worker

        return str(get_worker().get_current_task()).encode()

    with DaskEngine(client) as engine:
        names = [
            result.payload.decode()
            for result in engine.imap(name_of_this_task, ["part-03.parquet"], name=lambda part: f"estimate-{part}")
        ]
    assert names[0].startswith("estimate-part-03.parquet-")


def test_equal_tasks_are_all_done(client):
    with DaskEngine(client) as engine:
        assert echo_all(engine, ["same"] * 10) == [b"same"] * 10


def test_no_more_is_submitted_than_can_run_soon(client):
    pulled = 0

    def tasks():
        nonlocal pulled
        for pulled in range(1, 51):
            yield str(pulled)

    with DaskEngine(client) as engine:
        for taken, _ in enumerate(engine.imap(errands.echo, tasks())):
            # Two threads, and one task waiting for each.
            assert pulled <= taken + 4
    assert pulled == 50


def test_stragglers_elsewhere_are_given_up_but_not_killed(client, tmp_path):
    from functools import partial

    with DaskEngine(client) as engine:
        tasks = [("block", 0), ("echo", 1)]
        results = engine.imap(partial(errands.block_or_echo, tmp_path), tasks)
        assert next(results).payload == b"1"
        worker = int(errands.pipe(tmp_path, "begun-0").read_text())
        results.close()
        assert echo_all(engine) == [b"a", b"b", b"c"]
        assert worker in client.run(lambda: __import__("os").getpid()).values()
    errands.pipe(tmp_path, "never-0").write_text("go on")


def test_tls(tmp_path):
    pytest.importorskip("cryptography")
    security = distributed.Security.temporary()
    with DaskEngine(n_workers=1, security=security) as engine:
        address = engine._client.scheduler.address
        assert address.startswith("tls://127.0.0.1")
        assert echo_all(engine) == [b"a", b"b", b"c"]
        with DaskEngine(address, security=security) as second:
            assert echo_all(second) == [b"a", b"b", b"c"]


def test_workers_belong_to_the_cluster(client):
    with pytest.raises(InvalidInputError, match="n_workers"):
        DaskEngine(client, n_workers=2)


def test_without_dask_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install 'robustream\[dask\]'"):
        DaskEngine()


def test_a_script_without_a_guard_is_told_so(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("from robustream.engines import DaskEngine\nDaskEngine(n_workers=1)\n")
    finished = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert finished.returncode != 0
    assert "if __name__ ==" in finished.stderr
