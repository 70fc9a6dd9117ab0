"""Count how often intervals hold what they promise: `python intervals.py [runs] [first seed]`.

For each design, noise and size: the share of 95% intervals of `conf_int` that hold the coefficients and the intercept,
and the share of new rows of the good kind that `predict_interval` holds. A size is a table, or a stream of batches.
With 200 runs a share over 5 parameters has a standard error of about one point. Then the same for the loadings and the
variances of the first three of five principal components, by the law of the rows.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import t

import robustream as rs

Rows = np.ndarray[Any, np.dtype[np.float64]]
Rng = np.random.Generator
SIZES = ((400, 1), (3000, 1), (12000, 1), (3000, 8), (12000, 32))
COLUMNS = 4
COEF, LEVEL = np.arange(1.0, COLUMNS + 1), 3.0

DESIGNS: dict[str, Callable[[Rng, int], Rows]] = {
    "normal": lambda r, n: r.normal(size=(n, COLUMNS)),
    "skewed": lambda r, n: r.exponential(size=(n, COLUMNS)),
}
NOISE: dict[str, Callable[[Rng, Rows], Rows]] = {
    "normal": lambda r, x: r.normal(size=len(x)),
    "t3": lambda r, x: r.standard_t(3, len(x)),
    "uneven": lambda r, x: r.normal(size=len(x)) * np.abs(x[:, 0]),
    "uniform": lambda r, x: r.uniform(-1.7, 1.7, len(x)),
    "exponential": lambda r, x: r.exponential(size=len(x)) - 1,
    "20% on another line": lambda r, x: r.normal(size=len(x)),
    "20% far off": lambda r, x: r.normal(size=len(x)),
    "sites differ": lambda r, x: r.normal(size=len(x)),
}

# Principal components: independent scores of these deviations, along directions that are no columns.
PCA_SIZES = ((1000, 1), (1200, 4), (6000, 20))
DEVIATIONS, TOLD = np.array([5.0, 3.0, 1.8, 1.0, 0.5]), 3
AXES = np.linalg.qr(np.random.default_rng(99).normal(size=(len(DEVIATIONS), len(DEVIATIONS))))[0]
SCORES: dict[str, Callable[[Rng, tuple[int, int]], Rows]] = {
    "normal": lambda r, shape: r.normal(size=shape),
    "t8": lambda r, shape: r.normal(size=shape) * np.sqrt(6 / r.chisquare(8, shape[0]))[:, None],
    "uniform": lambda r, shape: r.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "exponential": lambda r, shape: r.exponential(size=shape),
    "20% far off": lambda r, shape: r.normal(size=shape),
}


def spoil(rng: Rng, noise: str, x: Rows, y: Rows) -> None:
    """Spoil a fifth of the rows, where the noise says so."""
    bad = rng.choice(len(x), len(x) // 5, replace=False)
    if noise == "20% on another line":
        y[bad] = x[bad] @ -COEF + 10 + rng.normal(size=len(bad))
    if noise == "20% far off":
        y[bad] += 30 + 3 * rng.normal(size=len(bad))


def run(design: str, noise: str, rows: int, batches: int, seed: int) -> tuple[float, float]:
    """Return the share of parameters, and of new rows, that lie within their intervals."""
    rng = np.random.default_rng([seed, rows, batches])
    x, fresh = DESIGNS[design](rng, rows), DESIGNS[design](rng, 500)
    y = x @ COEF + LEVEL + NOISE[noise](rng, x)
    if noise == "sites differ":  # honest batches with a level and a slope of their own
        site = np.arange(rows) * batches // rows
        y += rng.normal(size=batches)[site] * 0.2 + rng.normal(size=batches)[site] * 0.2 * x[:, 0]
    spoil(rng, noise, x, y)
    model = rs.OutlierRobustRegressor()
    if batches == 1:
        model.fit(x, y)
    else:
        for part in np.array_split(np.arange(rows), batches):
            model.partial_fit(x[part], y[part])
    table = np.array([row[5:] for row in model.summary().rows])
    truth = np.append(LEVEL, COEF)
    held = (table[:, 0] <= truth) & (truth <= table[:, 1])
    low, high = model.predict_interval(fresh).T
    target = fresh @ COEF + LEVEL + NOISE[noise](rng, fresh)
    return float(held.mean()), float(((low <= target) & (target <= high)).mean())


def run_components(law: str, rows: int, batches: int, seed: int) -> tuple[float, float]:
    """Return the share of loadings, and of variances, that lie within 95% intervals by their standard errors."""
    rng = np.random.default_rng([seed, rows, batches])
    table = SCORES[law](rng, (rows, len(DEVIATIONS))) * DEVIATIONS @ AXES
    if law == "20% far off":
        table[rng.choice(rows, rows // 5, replace=False)] += 40 * AXES[-1]
    model = rs.OutlierRobustPCA(TOLD)
    for part in np.array_split(table, batches):
        model.partial_fit(part)
    truth = AXES[:TOLD] * np.sign(np.sum(AXES[:TOLD] * model.components_, axis=1, keepdims=True))
    quantile = t.ppf(0.975, batches - 1 if batches >= 8 else rows - 1)
    loadings = np.abs(model.components_ - truth) <= quantile * model.components_stderr_
    off = np.abs(model.explained_variance_ - DEVIATIONS[:TOLD] ** 2)
    return float(loadings.mean()), float((off <= quantile * model.explained_variance_stderr_).mean())


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore", rs.errors.RowsLeftOutWarning)
    print(f"% of parameters / % of new rows within their 95% intervals, {runs} runs (a quarter of them at 12,000 rows)")
    head = "".join(f"{f'{n:,}' + (f' in {b}' if b > 1 else ''):>16}" for n, b in SIZES)
    print(f"{'design':8}{'noise':22}{head}")
    for design in DESIGNS:
        for noise in NOISE:
            cells = []
            for rows, batches in SIZES:
                if noise == "sites differ" and batches == 1:
                    cells.append(f"{'':>16}")
                    continue
                count = runs if rows < 10_000 else max(runs // 4, 1)
                found = np.mean([run(design, noise, rows, batches, first + seed) for seed in range(count)], axis=0)
                cells.append(f"{f'{100 * found[0]:.1f} / {100 * found[1]:.1f}':>16}")
            print(f"{design:8}{noise:22}{''.join(cells)}", flush=True)
    print(f"\n% of loadings / % of variances of principal components within their 95% intervals, {runs} runs")
    print(f"{'rows':30}" + "".join(f"{f'{n:,}' + (f' in {b}' if b > 1 else ''):>16}" for n, b in PCA_SIZES))
    for law in SCORES:
        cells = []
        for rows, batches in PCA_SIZES:
            found = np.mean([run_components(law, rows, batches, first + seed) for seed in range(runs)], axis=0)
            cells.append(f"{f'{100 * found[0]:.1f} / {100 * found[1]:.1f}':>16}")
        print(f"{law:30}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
