"""A file is whole or untouched, on a full disk and in a read-only folder too."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from robustream import files
from robustream.errors import RobustreamError, StorageError

WRITE_TOO_MUCH = """
import resource, signal, sys
import numpy as np
from robustream.errors import StorageError
from robustream import files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    files.write(sys.argv[1], {"large": np.zeros(100_000)}, "example")
except StorageError as error:
    print(error)
"""


@pytest.fixture
def small_disk(tmp_path):
    """Give a folder on a disk of 1 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_file(small_disk):
    path = small_disk / "state.safetensors"
    files.write(path, {"round": 1}, "example")
    with pytest.raises(StorageError, match=r"state\.safetensors could not be written .*intact") as caught:
        files.write(path, {"large": np.zeros(1_000_000)}, "example")
    assert caught.value.errno == errno.ENOSPC
    assert files.read(path, "example") == {"round": 1}
    assert os.listdir(small_disk) == ["state.safetensors"]


def test_a_disk_turned_read_only_leaves_the_old_file(small_disk):
    path = small_disk / "state.safetensors"
    files.write(path, {"round": 1}, "example")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match=r"Read-only.*intact"):
        files.write(path, {"round": 2}, "example")
    assert files.read(path, "example") == {"round": 1}


def test_a_file_size_limit_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.safetensors"
    files.write(path, {"round": 1}, "example")
    finished = subprocess.run(
        [sys.executable, "-c", WRITE_TOO_MUCH, str(path)], capture_output=True, text=True, check=True
    )
    assert "could not be written" in finished.stdout
    assert "intact" in finished.stdout
    assert files.read(path, "example") == {"round": 1}
    assert os.listdir(tmp_path) == ["state.safetensors"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"could not be written.*nothing was left") as caught:
        files.write(tmp_path / "none" / "state.safetensors", {}, "example")
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, RobustreamError)


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind the superuser")
def test_a_read_only_folder_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.safetensors"
    files.write(path, {"round": 1}, "example")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="intact"):
            files.write(path, {"round": 2}, "example")
    finally:
        tmp_path.chmod(0o700)
    assert files.read(path, "example") == {"round": 1}


def test_a_folder_of_that_name_stays(tmp_path):
    path = tmp_path / "state.safetensors"
    path.mkdir()
    with pytest.raises(StorageError):
        files.write(path, {}, "example")
    assert path.is_dir()
    assert os.listdir(tmp_path) == ["state.safetensors"]


def test_a_new_file_has_the_usual_mode_and_a_replaced_one_its_own(tmp_path):
    plain, path = tmp_path / "plain", tmp_path / "state.safetensors"
    plain.write_text("")
    files.write(path, {}, "example")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    files.write(path, {}, "example")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.safetensors", tmp_path / "latest.safetensors"
    files.write(target, {"round": 1}, "example")
    link.symlink_to(target)
    files.write(link, {"round": 2}, "example")
    assert link.is_symlink()
    assert files.read(target, "example") == {"round": 2}


def test_what_killed_writers_left_is_removed(tmp_path):
    path = tmp_path / "state.safetensors"
    left = [tmp_path / ".state.safetensors.aaaa.part", tmp_path / ".state.safetensors.bbbb.part"]
    foreign = [tmp_path / ".other.safetensors.cccc.part", tmp_path / ".state.safetensors.old.dddd.part"]
    for file in (*left, *foreign):
        file.write_bytes(b"half")
    files.write(path, {"round": 1}, "example")
    assert sorted(os.listdir(tmp_path)) == [foreign[0].name, foreign[1].name, path.name]


# Claims a file, or writes without end; says so, and stays until it is killed.
OCCUPY = """
import itertools, sys, time
from robustream.files import claim, write_atomically

def endless():
    yield b"half"
    print("begun", flush=True)
    time.sleep(60)

if sys.argv[1] == "claim":
    with claim(sys.argv[2]):
        print("begun", flush=True)
        time.sleep(60)
write_atomically(sys.argv[2], endless())
"""


@pytest.mark.parametrize("how", ["claim", "write"])
def test_a_file_that_another_process_writes_is_refused_until_that_is_gone(tmp_path, how):
    path = tmp_path / "state.safetensors"
    files.write(path, {"round": 1}, "example")
    with subprocess.Popen([sys.executable, "-c", OCCUPY, how, str(path)], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        message = rf"state\.safetensors is being written by another run \(process {other.pid} on"
        with pytest.raises(StorageError, match=message), files.claim(path):
            pass
        with pytest.raises(StorageError, match=message):
            files.write(path, {"round": 2}, "example")
        files.write(tmp_path / "other.safetensors", {}, "example")
        other.kill()
    # A lock that nobody holds and half a file are left; the next writer takes both away.
    assert files.read(path, "example") == {"round": 1}
    files.write(path, {"round": 3}, "example")
    assert files.read(path, "example") == {"round": 3}
    assert sorted(os.listdir(tmp_path)) == ["other.safetensors", "state.safetensors"]


def test_a_claim_is_for_one_run_of_this_process_and_for_all_its_writes(tmp_path):
    path = tmp_path / "state.safetensors"
    with files.claim(path, None, tmp_path / "report.html"):
        refused = pytest.raises(StorageError, match=r"report\.html is being written by another run \(in this process\)")
        with refused, files.claim(tmp_path / "report.html"):
            pass
        for number in range(3):
            files.write(path, {"round": number}, "example")
    assert os.listdir(tmp_path) == ["state.safetensors"]
    with files.claim(path):
        pass


def test_a_forked_copy_neither_has_the_claim_nor_ends_it(tmp_path):
    path = tmp_path / "state.safetensors"
    with files.claim(path):
        pid = os.fork()
        if pid == 0:
            try:
                files.write(path, {"round": 1}, "example")
            except StorageError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert not path.exists()
        files.write(path, {"round": 2}, "example")


def test_writers_at_the_same_time_wait_for_each_other(tmp_path):
    path = tmp_path / "state.safetensors"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: files.write(path, {"round": number}, "example"), range(20)))
    assert files.read(path, "example")["round"] in range(20)
    assert os.listdir(tmp_path) == ["state.safetensors"]


def test_where_there_are_no_locks_files_are_written_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("robustream.files.atomic.fcntl", None)
    path, old, young = tmp_path / "a", tmp_path / ".a.aaaa.part", tmp_path / ".a.bbbb.part"
    for left in (old, young):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    files.write(path, {}, "example")
    assert sorted(os.listdir(tmp_path)) == [young.name, "a"]


def test_a_long_name_has_room_for_its_lock(tmp_path):
    path = tmp_path / ("x" * 240 + ".safetensors")
    files.write(path, {"round": 1}, "example")
    assert os.listdir(tmp_path) == [path.name]


def test_relative_paths_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.write(Path("state.safetensors"), {"round": 1}, "example")
    assert files.read("state.safetensors", "example") == {"round": 1}
