"""How often a planted bad cell is the first reason, and which false-discovery rate is met: python reasons.py [runs].

Models are fitted to 2,000 rows of which 30% are bad as rows: their columns in reverse order and moved, their targets
noise of another kind. Then 1,000 fresh rows of which 100 have one cell that is 6 deviations off, given the others, in a
column by chance (columns and target of a regression). Shown are, over the runs: the share of the 100 rows that are
called outliers (1% of ordinary ones are) and have that cell as their first reason; the share of ordinary rows among
those that `is_outlier(false_discovery_rate=0.05)` names, and the share of the 100 that it names. Columns follow two
factors and a noise of their own, of a normal law or of t5. A fifth of the cells of the fresh rows may be missing.
"""

from __future__ import annotations

import os
import sys
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import robustream as rs

SIZES = 2000, 1000, 100  # rows fitted to, fresh rows, and those of them with a bad cell
OFF, BAD_ROWS, MISSING = 6.0, 0.3, 0.2
MODELS = {
    "PCA": lambda: rs.OutlierRobustPCA(2),
    "covariance": lambda: rs.OutlierRobustCovariance(),
    "regression": lambda: rs.OutlierRobustRegressor(),
}


def table(rng, rows, columns, law):
    loadings = np.random.default_rng(columns).normal(size=(2, columns))
    own = rng.normal(size=(rows, columns)) if law == "normal" else rng.standard_t(5, (rows, columns)) * np.sqrt(0.6)
    X = 2 * rng.normal(size=(rows, 2)) @ loadings + own + 10
    return X, X @ np.linspace(-1, 1, columns) + (rng.normal(size=rows) if law == "normal" else rng.standard_t(5, rows))


def run(name, columns, law, gaps, seed):
    rng = np.random.default_rng([seed, columns])
    fitted, fresh, spoilt = SIZES
    X, y = table(rng, fitted, columns, law)
    bad = rng.random(fitted) < BAD_ROWS
    X[bad] = X[bad][:, ::-1] + 12
    y[bad] = rng.normal(size=bad.sum()) * 5 - 60
    model, targets = MODELS[name](), (y,) if name == "regression" else ()
    model.fit(X, *targets)
    X, y = table(rng, fresh, columns, law)
    joint = np.column_stack([X, y]) if name == "regression" else X
    at, rows = rng.integers(0, joint.shape[1], spoilt), np.arange(spoilt)
    # The deviation of a cell given the others, as clean rows have it.
    clean = np.column_stack(table(np.random.default_rng(0), 20_000, columns, law))[:, : joint.shape[1]]
    deviation = 1 / np.sqrt(np.diag(np.linalg.inv(np.cov(clean.T))))
    joint[rows, at] += OFF * deviation[at] * rng.choice([-1, 1], spoilt)
    if gaps:
        missing = rng.random((fresh, columns)) < MISSING
        places = at < columns
        missing[rows[places], at[places]] = False
        joint[:, :columns][missing] = np.nan
    given = (joint[:, :columns], joint[:, columns]) if name == "regression" else (joint,)
    first = model.explain(*given).first()
    names = np.array([*(f"x{k}" for k in range(columns)), "y"])
    of_spoilt = first.row < spoilt
    right = first.column[of_spoilt] == names[at[first.row[of_spoilt]]]
    flags = model.is_outlier(*given, false_discovery_rate=0.05)
    wrong = float(np.mean(np.flatnonzero(flags) >= spoilt)) if flags.any() else 0.0
    return of_spoilt.sum() / spoilt, float(right.mean()) if len(right) else np.nan, wrong, float(flags[:spoilt].mean())


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    warnings.simplefilter("ignore")
    print(
        f"{'model':<12}{'columns':>8} {'law':<8}{'gaps':<6}{'outlying':>9}"
        f"{'first reason':>14}{'FDR at 5%':>11}{'power':>8}"
    )
    for name in MODELS:
        for columns, law, gaps in ((8, "normal", False), (30, "normal", False), (8, "t5", False), (8, "normal", True)):
            found = np.array([run(name, columns, law, gaps, seed) for seed in range(runs)])
            outlying, right, wrong, power = np.nanmean(found, axis=0)
            said = "yes" if gaps else "no"
            print(
                f"{name:<12}{columns:>8} {law:<8}{said:<6}{outlying:>9.1%}{right:>14.1%}{wrong:>11.1%}{power:>8.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
