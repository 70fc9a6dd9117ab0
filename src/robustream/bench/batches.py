"""What one batch costs the default learner, and one more estimate the default aggregator, beside what peers cost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import HuberRegressor

from robustream.aggregators import Filtered
from robustream.batch import Batch, Estimate
from robustream.bench.figures import Figure, Target
from robustream.bench.timing import MEDIAN_OF_RATIOS, compare, same_threads
from robustream.learners import Learner, LinearProblem, PrincipalProblem, Refined
from robustream.spaces import Euclidean, Part, Parts

__all__ = ["measure_aggregation", "measure_batches"]

_DIRTY = 0.2


def measure_batches(rows: int, columns: int, repeats: int, target: Target | None = None) -> list[Figure]:
    """Compare a refined batch with IncrementalPCA.partial_fit and HuberRegressor.fit, clean and dirty, on 1 thread."""
    figures = []
    for kind, share in (("clean", 0.0), (f"{_DIRTY:.0%} bad rows", _DIRTY)):
        X, y = _rows(rows, columns, share)
        # The later index spares the learner the standard errors that only the first batches need.
        batch = Batch(100, "", X, y)
        size = f"{rows:,} x {columns} float32, {kind}, 1 thread"
        for title, learner, peer in (
            ("PCA against IncrementalPCA.partial_fit", Refined().pca(PrincipalProblem(5)), partial(_incremental, X)),
            ("regression against HuberRegressor.fit", Refined().regression(LinearProblem()), partial(_huber, X, y)),
        ):
            with same_threads(1):
                times = compare(partial(_estimate, learner, batch), peer, repeats)
            name = f"refined {title}, {size}"
            figures.append(Figure("batch", name, times.ratio, "x", target, MEDIAN_OF_RATIOS, times.details()))
    return figures


def _estimate(learner: Learner, batch: Batch) -> Estimate:
    return learner.estimate(batch, np.random.default_rng(0))


def _incremental(X: NDArray[Any]) -> Any:
    return IncrementalPCA(5).partial_fit(X)


def _huber(X: NDArray[Any], y: NDArray[Any]) -> Any:
    return HuberRegressor().fit(X, y)


def measure_aggregation(
    estimates: int, coordinates: int, columns: int, repeats: int, target: Target | None = None
) -> Figure:
    """Compare the filtered value after one more estimate with the refined PCA (5 components) of one batch."""
    rng = np.random.default_rng(0)
    aggregator = Filtered()
    state = aggregator.init(Parts((Part("vector", Euclidean((coordinates,))),)))
    for index in range(estimates):
        state, _ = aggregator.step(state, Estimate(index, "", 1, (rng.normal(size=coordinates),)))
    X, _ = _rows(10_000, columns, 0.0)
    learner = Refined().pca(PrincipalProblem(5))

    def one_more() -> None:
        after, _ = aggregator.step(state, Estimate(estimates, "", 1, (rng.normal(size=coordinates),)))
        aggregator.value(after)

    with same_threads(1):
        times = compare(one_more, partial(_estimate, learner, Batch(100, "", X)), repeats)
    title = (
        f"filtered value of {estimates:,} estimates of {coordinates:,} coordinates against a refined PCA batch "
        f"of 10,000 x {columns}"
    )
    return Figure("batch", title, times.ratio, "x", target, MEDIAN_OF_RATIOS, times.details())


def _rows(rows: int, columns: int, share: float) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    y = (X @ rng.standard_normal(columns) + rng.standard_normal(rows)).astype(np.float32)
    bad = slice(0, int(share * rows))
    X[bad], y[bad] = 10 * rng.uniform(-1, 1, X[bad].shape), -10 * y[bad]
    return X, y
