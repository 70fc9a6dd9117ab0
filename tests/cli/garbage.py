"""A folder of forty files as people find it: sixteen of them garbage, of as many kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 6
ROWS = 1200
FILES = 40
COEF = np.array([4.0, -3.0, 2.0, -1.0, 0.5, 0.25])


def clean_rows(seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, number])
    X = rng.normal(size=(ROWS, COLUMNS)) * [1.0, 10.0, 0.1, 1.0, 3.0, 1.0] + [0.0, 50.0, 0.0, -5.0, 0.0, 1.0]
    return X, X @ COEF + 12.0 + rng.normal(size=ROWS)


def _table(X: np.ndarray, y: np.ndarray, names: tuple[str, ...] = ()) -> pa.Table:
    columns = names or tuple(f"x{k}" for k in range(X.shape[1]))
    rows = pa.array([f"row {k}" for k in range(len(X))])
    return pa.table({"id": rows, **dict(zip(columns, X.T, strict=True)), "price": y})


def _wrong(kind: int, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Give readable rows that are wrong, each kind in another way."""
    shuffled = X.copy()
    rng.shuffle(shuffled)
    half = rng.random(len(y)) < 0.7
    return [
        (X, -y),  # a sign lost
        (X, y * 1000),  # another unit
        (shuffled, y),  # rows of X and y no longer belong together
        (X[:, ::-1].copy(), y),  # columns under the wrong names
        (rng.normal(size=X.shape) * 1e6, rng.normal(size=len(y)) * 1e6),  # noise
        (X, rng.normal(size=len(y))),  # a dead sensor
        (X, X @ (COEF + 3.0)),  # another law
        (X, np.where(half, X @ (-2 * COEF), y)),  # most rows of another law
        (X * 0 + rng.normal(size=COLUMNS), y),  # columns that are stuck
        (X.round(-2), np.full(len(y), 7.0)),  # a default value in every row
        (X + rng.normal(size=X.shape) * 60, y),  # X drowned in noise
    ][kind]


def make_folder(folder: Path, seed: int) -> tuple[set[str], tuple[np.ndarray, np.ndarray]]:
    """Write the files; give the names of the garbage, and all clean rows together."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(FILES)[:16]
    clean = []
    for number in range(FILES):
        X, y = clean_rows(seed, number)
        path = folder / f"part-{number:02}.parquet"
        kind = int(np.flatnonzero(places == number)[0]) if number in places else None
        if kind is None:
            clean.append((X, y))
            pq.write_table(_table(X, y), path)
        elif kind < 11:
            pq.write_table(_table(*_wrong(kind, X, y, rng)), path)
        else:
            pq.write_table(_table(X, y), path)
            _break(kind - 11, path, X, y)
    names = {f"part-{place:02}.parquet" for place in places}
    return names, (np.concatenate([X for X, _ in clean]), np.concatenate([y for _, y in clean]))


def _break(kind: int, path: Path, X: np.ndarray, y: np.ndarray) -> None:
    """Make a file unreadable, each kind in another way."""
    whole = path.read_bytes()
    if kind == 0:
        path.write_bytes(b"")
    elif kind == 1:
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == 2:
        path.write_bytes(b"XXXX" + whole[4:-4] + b"XXXX")
    elif kind == 3:
        pq.write_table(_table(X, y, tuple("abcdef")), path)
    else:
        path.write_bytes(np.random.default_rng(0).bytes(len(whole)))
