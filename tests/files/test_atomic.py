"""A file is whole or untouched, on a full disk and in a read-only folder too."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
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


def test_what_killed_writers_left_long_ago_is_removed(tmp_path):
    path = tmp_path / "state.safetensors"
    old, young = tmp_path / ".state.safetensors.aaaa.part", tmp_path / ".state.safetensors.bbbb.part"
    foreign = tmp_path / ".other.safetensors.cccc.part"
    for left in (old, young, foreign):
        left.write_bytes(b"half")
    for left in (old, foreign):
        os.utime(left, (0, 0))
    files.write(path, {"round": 1}, "example")
    assert sorted(os.listdir(tmp_path)) == [foreign.name, young.name, path.name]


def test_relative_paths_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.write(Path("state.safetensors"), {"round": 1}, "example")
    assert files.read("state.safetensors", "example") == {"round": 1}
