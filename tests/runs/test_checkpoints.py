"""A run that is killed and resumed ends with the same bits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robustream as rs
from robustream.errors import CheckpointError, DamagedFileError, StorageError

_KILLED_AGAIN_AND_AGAIN = """
import os, signal, sys
import numpy as np
import robustream as rs

folder, checkpoint, out = sys.argv[1:]
rng = np.random.default_rng(0)

def run(report):
    estimator = rs.OutlierRobustRegressor(batch_size=100, n_jobs=2)
    told = [lambda event: os.write(report, b".") and None] if report is not None else []
    model = rs.fit(estimator, folder, target="price", checkpoint=checkpoint, checkpoint_every=1, resume=True,
                   callbacks=told)
    rs.save(model, out, extra=model.fit_notes_)

kills = 0
while kills < 20:
    after = int(rng.integers(1, 8))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        run(writing)
        os._exit(0)
    os.close(writing)
    while after and os.read(reading, 1):
        after -= 1
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if not os.WIFSIGNALED(status):
        break
    kills += 1
run(None)
print(kills)
"""


def test_killed_at_twenty_moments(folder, tmp_path):
    whole = rs.fit(rs.OutlierRobustRegressor(batch_size=100, n_jobs=2), folder, target="price")
    rs.save(whole, tmp_path / "whole.safetensors", extra=whole.fit_notes_)
    script = tmp_path / "killed.py"
    script.write_text(_KILLED_AGAIN_AND_AGAIN)
    out = tmp_path / "resumed.safetensors"
    command = [sys.executable, str(script), str(folder), str(tmp_path / "run.checkpoint"), str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) >= 10, "the run ended before it was killed often enough"
    # The whole file, byte for byte: model, batch report, history.
    assert out.read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


@pytest.mark.parametrize("learner", ["classical", "refined", "trimmed"])
@pytest.mark.parametrize("aggregator", ["filtered", "online-median", "mean"])
def test_resumed_in_the_middle(folder, tmp_path, learner, aggregator):
    def make():
        return rs.OutlierRobustPCA(2, learner=learner, aggregator=aggregator, batch_size=200)

    checkpoint = tmp_path / "checkpoint"
    rs.fit(make(), folder, checkpoint=checkpoint, callbacks=[lambda event: event.batches == 17])
    resumed = rs.fit(make(), folder, checkpoint=checkpoint, resume=True)
    whole = rs.fit(make(), folder)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    assert str(resumed.batch_report_) == str(whole.batch_report_)
    assert str(resumed.fit_notes_) == str(whole.fit_notes_)


def test_a_finished_run_is_resumed_without_reading(folder, tmp_path):
    first = rs.fit(rs.OutlierRobustPCA(1), folder, checkpoint=tmp_path / "checkpoint")
    heard = []
    again = rs.fit(
        rs.OutlierRobustPCA(1), folder, checkpoint=tmp_path / "checkpoint", resume=True, callbacks=[heard.append]
    )
    assert not heard
    np.testing.assert_array_equal(first.components_, again.components_)


def test_what_does_not_fit_is_refused(folder, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    rs.fit(rs.OutlierRobustPCA(1), folder, checkpoint=checkpoint)
    with pytest.raises(CheckpointError, match="exists already"):
        rs.fit(rs.OutlierRobustPCA(1), folder, checkpoint=checkpoint)
    with pytest.raises(CheckpointError, match="n_components"):
        rs.fit(rs.OutlierRobustPCA(2), folder, checkpoint=checkpoint, resume=True)
    with pytest.raises(CheckpointError, match="missing"):
        rs.fit(rs.OutlierRobustPCA(1), folder, missing="error", checkpoint=checkpoint, resume=True)
    with pytest.raises(CheckpointError, match="other data"):
        rs.fit(rs.OutlierRobustPCA(1), str(folder / "part-1*"), checkpoint=checkpoint, resume=True)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-10])
    with pytest.raises(DamagedFileError):
        rs.fit(rs.OutlierRobustPCA(1), folder, checkpoint=checkpoint, resume=True)


def test_a_folder_that_is_not_there(folder, tmp_path):
    with pytest.raises(StorageError, match="nowhere"):
        rs.fit(rs.OutlierRobustPCA(1), folder, checkpoint=tmp_path / "nowhere" / "checkpoint", checkpoint_every=1)


_FULL_DISK = """
import resource, signal, sys
import robustream as rs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[3])
def tighten(event):
    if event.batches == 5:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    rs.fit(rs.OutlierRobustPCA(2), sys.argv[1], checkpoint=sys.argv[2], checkpoint_every=1, callbacks=[tighten])
except rs.errors.StorageError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on file sizes")
def test_a_full_disk_leaves_the_last_good_checkpoint(folder, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    rs.fit(
        rs.OutlierRobustPCA(2), folder, checkpoint=checkpoint, checkpoint_every=1, callbacks=[lambda e: e.batches == 4]
    )
    size = checkpoint.stat().st_size
    checkpoint.unlink()
    ended = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(folder), str(checkpoint), str(size)],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert "still there" in ended.stdout or "intact" in ended.stdout or "before" in ended.stdout
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["checkpoint"]
    resumed = rs.fit(rs.OutlierRobustPCA(2), folder, checkpoint=checkpoint, resume=True)
    np.testing.assert_array_equal(resumed.components_, rs.fit(rs.OutlierRobustPCA(2), folder).components_)


def test_a_run_goes_on_only_with_the_same_way_to_read(tmp_path):
    rows = np.random.default_rng(0).integers(0, 99, size=(500, 2))
    (tmp_path / "a.csv").write_text("a|b\n" + "\n".join(f"{a},5|{b},25" for a, b in rows))
    path = tmp_path / "checkpoint"
    rs.fit(rs.OutlierRobustPCA(1), tmp_path / "a.csv", checkpoint=path, decimal=",")
    with pytest.raises(CheckpointError, match="decimal was"):
        rs.fit(rs.OutlierRobustPCA(1), tmp_path / "a.csv", checkpoint=path, resume=True)


_STAYS = """
import sys, time
import robustream as rs

def stay(event):
    print("begun", flush=True)
    time.sleep(60)

rs.fit(rs.OutlierRobustRegressor(batch_size=100), sys.argv[1], target="price", checkpoint=sys.argv[2], callbacks=[stay])
"""


def test_two_runs_do_not_share_a_checkpoint(folder, tmp_path):
    """The second refuses; once the first is killed it goes on, and takes away what that left."""
    kept = tmp_path / "kept"
    kept.mkdir()
    checkpoint = kept / "run.checkpoint"

    def go_on(**options):
        return rs.fit(
            rs.OutlierRobustRegressor(batch_size=100), folder, target="price", checkpoint=checkpoint, **options
        )

    with subprocess.Popen(
        [sys.executable, "-c", _STAYS, str(folder), str(checkpoint)], stdout=subprocess.PIPE
    ) as first:
        first.stdout.readline()
        for resume in (False, True):
            with pytest.raises(StorageError, match=rf"being written by another run \(process {first.pid} on"):
                go_on(resume=resume)
        first.kill()
    (kept / ".run.checkpoint.abcd1234.part").write_bytes(b"half a checkpoint")
    go_on(resume=True)
    assert os.listdir(kept) == ["run.checkpoint"]


def test_a_run_cleans_up_before_its_first_checkpoint(folder, tmp_path):
    left = tmp_path / ".run.checkpoint.abcd1234.part"
    left.write_bytes(b"half a checkpoint")
    seen = []
    rs.fit(
        rs.OutlierRobustRegressor(batch_size=100),
        folder,
        target="price",
        checkpoint=tmp_path / "run.checkpoint",
        callbacks=[lambda event: seen.append(left.exists())],
    )
    assert seen
    assert not any(seen)
