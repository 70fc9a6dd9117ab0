"""R squared on test rows of real tables, clean and spoiled: python benchmarks/real_tables.py FOLDER [seeds].

FOLDER has `NAME.csv.gz` (the last column is the target) and `NAME_mask.csv.gz` (its first column marks test rows), as
the tables of the UCI repository are packed by `uci_datasets`. Each is fitted as it is, shuffled and sorted by the
target, and with a fifth of its training rows in a far cluster (10 deviations off in x and y), or three tenths in a row
with targets turned around their mean. Beside it: least squares on the clean rows, which is the goal, and on the spoiled
ones.
"""

from __future__ import annotations

import gzip
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

import robustream as rs

NEAR, NEAR_SPOILED = 0.03, 0.05  # R squared within which an answer is that of least squares on clean rows


def load(folder, name):
    with gzip.open(folder / f"{name}.csv.gz") as file:
        table = np.loadtxt(file, delimiter=",")
    with gzip.open(folder / f"{name}_mask.csv.gz") as file:
        test = np.loadtxt(file, delimiter=",")[:, 0] > 0
    return table[~test, :-1], table[~test, -1], table[test, :-1], table[test, -1]


def cluster(rng, X, y):
    bad = rng.choice(len(y), len(y) // 5, replace=False)
    spread, level = X.std(axis=0), y.mean() - 10 * y.std()
    X[bad] = X[rng.integers(len(y))] + 10 * spread + 0.1 * spread * rng.normal(size=(len(bad), X.shape[1]))
    y[bad] = level + 0.1 * y.std() * rng.normal(size=len(bad))
    return X, y


def flipped(rng, X, y):
    size = int(0.3 * len(y))
    start = rng.integers(0, len(y) - size)
    y[start : start + size] = 2 * y.mean() - y[start : start + size]
    return X, y


WAYS = {
    "file order": lambda rng, X, y: (X, y),
    "shuffled": lambda rng, X, y: (lambda order: (X[order], y[order]))(rng.permutation(len(y))),
    "sorted by the target": lambda rng, X, y: (lambda order: (X[order], y[order]))(np.argsort(y, kind="stable")),
    "far cluster, 20%": cluster,
    "stretch of flipped targets, 30%": flipped,
}


def main() -> None:
    folder, seeds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    warnings.simplefilter("ignore", rs.errors.RowsLeftOutWarning)
    names = sorted(path.name.removesuffix(".csv.gz") for path in folder.glob("*.csv.gz") if "_mask" not in path.name)
    near = {way: [] for way in WAYS}
    for name in names:
        X, y, X_test, y_test = load(folder, name)
        goal = LinearRegression().fit(X, y).score(X_test, y_test)
        for way, spoil in WAYS.items():
            for seed in range(seeds):
                rows, targets = spoil(np.random.default_rng([seed, 7]), X.copy(), y.copy())
                ours = rs.OutlierRobustRegressor().fit(rows, targets)
                plain = LinearRegression().fit(rows, targets)
                left_out = ours.batch_report_[0].left_out / len(targets)
                found = ours.score(X_test, y_test)
                near[way].append(found > goal - (NEAR_SPOILED if spoil in (cluster, flipped) else NEAR))
                print(
                    f"{name:12} {way:32} {seed}  goal {goal:6.3f}  ours {found:6.3f}"
                    f"  plain {plain.score(X_test, y_test):6.3f}  left out {left_out:4.0%}",
                    flush=True,
                )
    for way, each in near.items():
        print(f"{way}: {np.mean(each):.0%} of {len(each)} near the goal")


if __name__ == "__main__":
    main()
