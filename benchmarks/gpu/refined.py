"""The default learner on rows that lie on the GPU, 30% of them bad: time, the share of the host, and the error."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np
from common import FLOAT, Results

import robustream as rs
from robustream.majority import line, points

_BAD, _COMPONENTS, _REPEATS = 0.3, 5, 7


def time_refined(results: Results) -> None:
    """Time fits of tables of 100 columns, and say what the search on the host takes of it."""
    warnings.simplefilter("ignore", rs.errors.RowsLeftOutWarning)  # they are meant to be
    for rows in (100_000, 1_000_000):
        for kind in ("shifted", "wide"):
            X, y, coef, bad = table(rows, 100, kind)
            fits = {
                "OutlierRobustPCA": lambda X=X: rs.OutlierRobustPCA(_COMPONENTS).fit(X),
                "OutlierRobustRegressor": lambda X=X, y=y: rs.OutlierRobustRegressor().fit(X, y),
            }
            for name, fit in fits.items():
                what = f"{name}().fit, {rows:,} x 100, {kind}"
                total, searched = _times(fit)
                error = _pca_error(fit(), X, bad) if "PCA" in name else _line_error(fit(), X, y, coef, bad)
                note = f"search on the host {searched * 1e3:.1f} ms; error {error:.3f} times the oracle's"
                results.add(what, f"{total * 1e3:.1f} ms", note=note)
    _stream(results)


def _stream(results: Results, batches: int = 20, rows: int = 1_000_000) -> None:
    """Time a stream of batches that lie on the GPU: 30% of the rows of each are bad, and a quarter of the batches."""
    tables = []
    for number in range(batches):
        X = table(rows, 100, "shifted", number + 1)[0]
        if number % 4 == 3:
            X[:, :50] *= 3
        tables.append(X)
    for turn in ("first", "second"):
        start = time.perf_counter()
        model = rs.fit(rs.OutlierRobustPCA(_COMPONENTS), lambda: iter(tables))
        spent = time.perf_counter() - start
        rejected = sum(record.verdict == "rejected" for record in model.batch_report_)
        note = f"{rejected} of {batches} batches rejected; {turn} turn"
        results.add(
            f"robustream.fit, PCA, {batches} x {rows:,} x 100 on the GPU",
            f"{spent:.2f} s, {batches * rows / spent / 1e6:.0f} million rows/s",
            note=note,
        )


def table(rows: int, columns: int, kind: str, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return rows with five strong directions, targets, coefficients, and which rows are bad."""
    draw = cupy.random.RandomState(0)
    loadings = draw.standard_normal((_COMPONENTS, columns), dtype=FLOAT)
    draw = cupy.random.RandomState(seed)
    X = draw.standard_normal((rows, _COMPONENTS), dtype=FLOAT) @ loadings
    X += draw.standard_normal((rows, columns), dtype=FLOAT)
    coef = draw.standard_normal(columns, dtype=FLOAT)
    y = X @ coef + draw.standard_normal(rows, dtype=FLOAT)
    bad = cupy.arange(rows) < _BAD * rows
    if kind == "shifted":
        X[bad] += 3 * draw.standard_normal(columns, dtype=FLOAT)
        y[bad] += 50
    else:
        X[bad] *= 5
        y[bad] = 100 * draw.standard_normal(int(bad.sum()), dtype=FLOAT)
    return X, y, coef, bad


def _times(fit: Callable[[], Any]) -> tuple[float, float]:
    """Return the median time of a fit, and of the search of samples on the host in it."""
    for _ in range(2):
        fit()
    found = []
    for _ in range(_REPEATS):
        cupy.cuda.Device().synchronize()
        with _searching() as spent:
            start = time.perf_counter()
            fit()
            cupy.cuda.Device().synchronize()
            found.append((time.perf_counter() - start, sum(spent)))
    return found[int(np.argsort([total for total, _ in found])[_REPEATS // 2])]


@contextmanager
def _searching() -> Iterator[list[float]]:
    """Add up the time that the two searches take."""
    spent: list[float] = []
    before = points.peel, line.find_group

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                spent.append(time.perf_counter() - start)

        return call

    points.peel, line.find_group = map(timed, before)
    try:
        yield spent
    finally:
        points.peel, line.find_group = before


def _pca_error(model: Any, X: Any, bad: Any) -> float:
    """Return the variance that the components miss of the good rows, by what the best ones miss."""
    good = X[~bad].astype(np.float64)
    good -= good.mean(axis=0)
    covariance = (good.T @ good / len(good)).get()
    values = np.linalg.eigvalsh(covariance)
    basis = model.components_.get().astype(np.float64)
    missed = np.trace(covariance) - np.trace(basis @ covariance @ basis.T)
    return float(missed / values[:-_COMPONENTS].sum())


def _line_error(model: Any, X: Any, y: Any, coef: Any, bad: Any) -> float:
    """Return the error of the coefficients by that of least squares on the good rows."""
    design = cupy.column_stack([X[~bad], cupy.ones(int((~bad).sum()))]).astype(np.float64)
    oracle = cupy.linalg.solve(design.T @ design, design.T @ y[~bad].astype(np.float64))[:-1]
    return float(cupy.linalg.norm(model.coef_.ravel() - coef) / cupy.linalg.norm(oracle - coef))
