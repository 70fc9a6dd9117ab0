"""Rows a second from an S3 server on loopback (moto) beside the same Parquet files on disk; prints a table.

    python benchmarks/s3_speed.py [files] [rows in each] [columns]

It needs moto: pip install 'moto[server]'. Both ways alternate, and the median of their ratios counts.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

import robustream as rs

_ROUNDS = 5


def main(files: int = 20, rows: int = 100_000, columns: int = 20) -> None:
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", server.stderr.readline())):
            pass
        threading.Thread(target=server.stderr.read, daemon=True).start()
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        os.environ.update(keys | {"AWS_ENDPOINT_URL": found[0]})
        store = pa.fs.S3FileSystem(endpoint_override=found[0], allow_bucket_creation=True)
        store.create_dir("bucket")
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            for place in range(files):
                name = f"part-{place:03d}.parquet"
                pq.write_table(pa.table({f"x{k}": rng.normal(size=rows) for k in range(columns)}), Path(folder) / name)
                with store.open_output_stream(f"bucket/{name}") as stream:
                    stream.write((Path(folder) / name).read_bytes())
            _measure(folder, "s3://bucket", files * rows)
    finally:
        server.kill()


def _measure(disk: str, bucket: str, rows: int) -> None:
    print(f"{'learner':10} {'disk rows/s':>14} {'S3 rows/s':>14} {'ratio':>6}")
    for learner in ("refined", "classical"):
        _seconds(learner, disk)
        pairs = [(_seconds(learner, disk), _seconds(learner, bucket)) for _ in range(_ROUNDS)]
        here, there = (rows / median(times) for times in zip(*pairs, strict=True))
        ratio = median(first / second for first, second in pairs)
        print(f"{learner:10} {here:14,.0f} {there:14,.0f} {ratio:6.2f}")


def _seconds(learner: str, source: str) -> float:
    started = time.perf_counter()
    rs.fit(rs.OutlierRobustPCA(2, learner=learner), source)
    return time.perf_counter() - started


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
