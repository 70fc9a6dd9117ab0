"""Missing cells, bad cells, bad rows and bad batches at once: python benchmarks/gaps.py [--quick] [--peers].

40 streams of 20 batches: principal components and regression, 30 columns (500 rows a batch) and 100 (2,000). In each, a
fifth of the cells is missing, 5% of the cells lie about 10 deviations off, a fifth of the rows is bad in one of several
ways (those of `robustream bench accuracy`), and 6 batches are garbage: their columns in another order or turned, in the
same way for all of them, and their targets shuffled. The oracle is the plain method on the clean cells with the same
gaps: maximum likelihood under the normal law. Errors are those of the subspace, or of predictions; times are beside the
same stream without gaps, whose error is given as well, beside that of the oracle without gaps. With --peers also
scikit-learn's IterativeImputer with PCA and LinearRegression (30 columns).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

import robustream as rs
from robustream.bench.accuracy.contamination import (
    PCA_KINDS,
    REGRESSION_KINDS,
    PCAScene,
    RegressionScene,
    leading_subspace,
    spoil_cells,
)
from robustream.bench.accuracy.designs import make_design, make_spiked
from robustream.majority import covariance_with_gaps
from robustream.sources import subspace_error

BATCHES, BAD_BATCHES = 20, 6
ROWS = {30: 500, 100: 2000}
MISSING, BAD_CELLS, BAD_ROWS = 0.2, 0.05, 0.2
KINDS = {
    "pca": ("box", "cluster", "shift 8", "all columns", "plane", "scale", "rotated", "same row", "box", "shift 8"),
    "regression": (
        "leverage", "cluster", "plane", "vertical", "sign flip", "x error", "scale", "stuck", "leverage", "vertical",
    ),
}  # fmt: skip


def make(problem, columns, kind, seed):
    """Return batches (X, y), masks of missing, bad cells and clean rows, the truth and its covariance."""
    rng = np.random.default_rng([seed, columns, len(problem)])
    components = 3 if columns < 50 else 5
    if problem == "pca":
        design = make_spiked("strong", columns, components, rng)
    else:
        design = make_design("correlated" if seed % 2 else "identity", columns, rng)
        coef = rng.standard_normal(columns) / design.spread
    garbage = rng.permutation(BATCHES) < BAD_BATCHES
    wrong, turn = rng.permutation(columns), np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    minor = np.zeros(columns)
    minor[components] = 1.0
    batches = []
    for index in range(BATCHES):
        X = design.draw(ROWS[columns], rng)
        y = X @ coef + rng.standard_normal(len(X)) if problem == "regression" else None
        clean = rng.permutation(len(X)) >= BAD_ROWS * len(X)
        whole = X.copy()
        X, cells = spoil_cells(design, X, BAD_CELLS, rng)
        if problem == "pca":
            X[~clean] = PCA_KINDS[kind](PCAScene(design, minor), whole[~clean], rng)
        else:
            scene = RegressionScene(design, coef)
            X[~clean], y[~clean] = REGRESSION_KINDS[kind](scene, whole[~clean], y[~clean], rng)
        if garbage[index]:
            clean[:] = False
            X = X[:, wrong] if seed % 3 else X @ turn
            y = None if y is None else y[rng.permutation(len(y))]
        missing = rng.random(X.shape) < MISSING
        batches.append((X, y, missing, cells, clean))
    truth = leading_subspace(design.covariance, components) if problem == "pca" else coef
    return batches, truth, design.covariance


def ours(problem, batches, components, gaps):
    start = time.perf_counter()
    model = rs.OutlierRobustPCA(components) if problem == "pca" else rs.OutlierRobustRegressor()
    for X, y, missing, _, _ in batches:
        rows = np.where(missing, np.nan, X) if gaps else X
        model.partial_fit(rows) if problem == "pca" else model.partial_fit(rows, y)
    found = model.components_.T if problem == "pca" else model.coef_
    return found, time.perf_counter() - start


def oracle(problem, batches, components, gaps):
    keep = [
        (X[clean], None if y is None else y[clean], (cells | (missing & gaps))[clean])
        for X, y, missing, cells, clean in batches
    ]
    X, gone = np.vstack([k[0] for k in keep]), np.vstack([k[2] for k in keep])
    if problem == "pca":
        return leading_subspace(covariance_with_gaps(X, gone, np.ones(len(X)))[1], components)
    joint = np.column_stack([X, np.concatenate([k[1] for k in keep])])
    spread = covariance_with_gaps(joint, np.pad(gone, ((0, 0), (0, 1))), np.ones(len(joint)))[1]
    return np.linalg.solve(spread[:-1, :-1], spread[:-1, -1])


def imputed(problem, batches, components):
    from sklearn.decomposition import PCA
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import LinearRegression

    X = np.vstack([np.where(missing, np.nan, X) for X, _, missing, _, _ in batches])
    filled = IterativeImputer(max_iter=5, random_state=0).fit_transform(X)
    if problem == "pca":
        return PCA(components).fit(filled).components_.T
    return LinearRegression().fit(filled, np.concatenate([batch[1] for batch in batches])).coef_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every fifth stream")
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for problem in KINDS:
            for columns in ROWS:
                run(problem, columns, options)


def run(problem, columns, options) -> None:
    ratios, whole, times, peers, components = [], [], [], [], 3 if columns < 50 else 5
    for seed, kind in enumerate(KINDS[problem]):
        if options.quick and seed % 3:
            continue
        batches, truth, covariance = make(problem, columns, kind, seed)

        def error(found, truth=truth, covariance=covariance):
            if problem == "pca":
                return subspace_error(found, truth)
            return float(np.sqrt((found - truth) @ covariance @ (found - truth)))

        best, best_whole = (error(oracle(problem, batches, components, gaps)) for gaps in (True, False))
        found, taken = ours(problem, batches, components, gaps=True)
        found_whole, complete = ours(problem, batches, components, gaps=False)
        ratios.append(error(found) / best)
        whole.append(error(found_whole) / best_whole)
        times.append(taken / complete)
        if options.peers and columns < 50 and seed < 2:
            peers.append(error(imputed(problem, batches, components)) / best)
        print(
            f"  {problem} {columns} {kind}: {ratios[-1]:.3f}, without gaps {whole[-1]:.3f}; {taken:.2f} s, "
            f"{times[-1]:.1f} times",
            flush=True,
        )
    within, within_whole = (np.mean(np.array(found) <= 1.25) for found in (ratios, whole))
    print(
        f"{problem:<10} {columns:>3} columns: median {np.median(ratios):.3f}, worst {max(ratios):.3f}, within 1.25 "
        f"{within:.0%}; without gaps {np.median(whole):.3f}, {max(whole):.3f}, {within_whole:.0%}; time "
        f"{np.median(times):.1f} times that without gaps"
        + (f"; IterativeImputer {min(peers):.0f} to {max(peers):.0f} times" if peers else ""),
        flush=True,
    )


if __name__ == "__main__":
    main()
