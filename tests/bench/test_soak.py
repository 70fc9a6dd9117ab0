"""A short soak, end to end: workers that die, stop and lie, and nothing is lost or left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from robustream.bench import soak

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="what is left behind is counted in /proc")


def test_a_short_soak_loses_nothing_and_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-m", "robustream", "bench", "soak", "--minutes", "0.05", "--strict", "--out", tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    trials = json.loads((tmp_path / "soak.json").read_text())["trials"]
    assert len(trials) >= 6
    assert all(trial["rounds"] >= 2 and trial["wrong"] == [] for trial in trials)
    # Each kind of fault did strike.
    assert all(trial["faults"] > 0 for trial in trials if "threads" not in trial["name"])
    assert f"{len(trials)} of {len(trials)} trials lost nothing" in ended.stdout


class Leaking:
    """A trial that is wrong in its second round and leaves a process, a file and a thread behind."""

    def __init__(self, folder):
        self.folder = folder
        self.left = []

    def __enter__(self):
        return self.round

    def __exit__(self, *_):
        pass

    def round(self, number):
        if number:
            self.left.append(subprocess.Popen(["sleep", "600"]))
            self.left.append((self.folder / ".model.abc.part").open("w"))
            raise ValueError("lost a batch")
        return 1


def test_what_is_lost_or_left_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "_PATIENCE", 0.0)
    leaking = Leaking(tmp_path)
    try:
        trial = soak._run("leaking", tmp_path, 0.0, lambda: leaking)
    finally:
        process, file = leaking.left
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        file.close()
    assert not trial.passed
    assert trial.wrong == ("round 1: ValueError: lost a batch",)
    assert (trial.processes, trial.files, trial.litter) == (1, 1, 1)


def test_a_round_that_hangs_is_given_up(tmp_path, monkeypatch):
    import threading
    from contextlib import nullcontext

    monkeypatch.setattr(soak, "_HANGING", 0.05)
    monkeypatch.setattr(soak, "_PATIENCE", 0.0)
    never = threading.Event()
    trial = soak._run("hanging", tmp_path, 60.0, lambda: nullcontext(lambda number: int(never.wait(30))))
    never.set()
    assert "did not end" in trial.wrong[0]
    assert trial.rounds == 0
