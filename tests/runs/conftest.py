from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COEF = np.array([3.0, -2.0, 1.0, 0.5])


def make_table(seed: int, rows: int = 400, bad: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * [1.0, 2.0, 0.5, 10.0] + [0.0, 5.0, -1.0, 100.0]
    y = X @ (-5 * COEF if bad else COEF) + 7 + rng.normal(size=rows)
    return X, y


def as_table(X: np.ndarray, y: np.ndarray) -> pa.Table:
    return pa.table({**{f"c{k}": X[:, k] for k in range(X.shape[1])}, "price": y})


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Twenty files of 400 rows, the first seven of them garbage, and one that cannot be read."""
    path = tmp_path_factory.mktemp("files")
    for number in range(20):
        pq.write_table(as_table(*make_table(number, bad=number < 7)), path / f"part-{number:02}.parquet")
    (path / "part-20.parquet").write_bytes(b"not a table at all" * 300)
    return path


@pytest.fixture(scope="session")
def clean():
    """All rows of the good files together."""
    pairs = [make_table(number) for number in range(7, 20)]
    return np.concatenate([X for X, _ in pairs]), np.concatenate([y for _, y in pairs])
