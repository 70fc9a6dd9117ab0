"""No engine listens on anything but the loopback interface."""

from __future__ import annotations

import ipaddress

import pytest

from robustream.engines import DaskEngine, LocalEngine
from robustream.testing import errands

psutil = pytest.importorskip("psutil")


def listening_addresses():
    """Give the addresses on which this process or one below it listens."""
    here = psutil.Process()
    found = set()
    for process in [here, *here.children(recursive=True)]:
        connections = process.net_connections(kind="inet")
        found |= {
            (process.pid, each.laddr.ip, each.laddr.port) for each in connections if each.status == psutil.CONN_LISTEN
        }
    return found


def test_the_local_engine_listens_on_nothing():
    before = listening_addresses()
    with LocalEngine(n_jobs=2) as engine:
        list(engine.imap(errands.echo, ["a", "b", "c"]))
        assert listening_addresses() == before


def test_the_cluster_of_a_dask_engine_listens_on_loopback_only():
    pytest.importorskip("distributed")
    before = listening_addresses()
    with DaskEngine(n_workers=2) as engine:
        list(engine.imap(errands.echo, ["a", "b", "c"]))
        addresses = {ip for _, ip, _ in listening_addresses() - before}
    assert addresses
    assert all(ipaddress.ip_address(ip).is_loopback for ip in addresses)
