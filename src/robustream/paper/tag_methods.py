"""The methods of Table 2: each learns linear predictors of tags from batches and scores images with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import Aggregator, GeometricMedian, Mean, OnlineMedian
from robustream.batch import Batch
from robustream.estimators import OutlierRobustRegressor
from robustream.learners import Classical, Learner, LinearProblem, Trimmed
from robustream.paper.stochastic import StochasticRegression
from robustream.spaces import LinearModels

__all__ = ["ALPHA", "CONSTANTS", "Predictor", "Timed", "fit_all", "fit_direct"]

Array = NDArray[Any]
Rows = tuple[Array, Array]
# Features in, scores of tags out.
Predictor = Callable[[Array], Array]

# The penalty of every ridge regression here, on the mean squared error.
ALPHA = 0.05
# The paper does not give the filter's constant: the best of these on unspoiled tags is taken for it, in hindsight.
CONSTANTS = (0.1, 1.0, 10.0, 100.0)


def _linear(coef: Array, intercept: Array) -> Predictor:
    return lambda features: np.asarray(features @ coef.T + intercept)


class Timed(NamedTuple):
    """A fitted predictor and the seconds that it took."""

    predict: Predictor
    seconds: float


def _aggregated(
    learner: Learner, aggregators: Mapping[str, Aggregator], coded: Callable[[Array], Array], batches: Sequence[Rows]
) -> Iterator[tuple[str, Timed]]:
    """Estimate each batch by itself, however small, as the paper does, and aggregate the solutions in several ways."""
    started = perf_counter()
    estimates = []
    for index, (features, tags) in enumerate(batches):
        batch = Batch(index, f"batch {index}", features, coded(tags))
        estimates.append(learner.estimate(batch, np.random.default_rng(index)))
    estimated = perf_counter() - started
    space = LinearModels(batches[0][0].shape[1], batches[0][1].shape[1])
    for name, aggregator in aggregators.items():
        started = perf_counter()
        state = aggregator.init(space)
        for estimate in estimates:
            state, _ = aggregator.step(state, estimate)
        coef, level = aggregator.value(state)[:2]
        assert coef is not None
        assert level is not None
        yield name, Timed(_linear(coef, level), estimated + perf_counter() - started)


def _signs(tags: Array) -> Array:
    """Code tags as -1 and +1: coded 0 and 1, most products are 0, and trimming half of them removes the signal."""
    return 2 * tags - 1


def _ridge(batches: Sequence[Rows]) -> Predictor:
    """Solve for all rows at once."""
    features = np.concatenate([rows for rows, _ in batches]).astype(np.float64)
    tags = np.concatenate([tags for _, tags in batches]).astype(np.float64)
    center, level = features.mean(axis=0), tags.mean(axis=0)
    features -= center
    gram = features.T @ features / len(features) + ALPHA * np.eye(features.shape[1])
    coef = np.linalg.solve(gram, features.T @ (tags - level) / len(features)).T
    return _linear(coef, level - coef @ center)


def _stochastic(batches: Sequence[Rows]) -> Predictor:
    """Go down the gradient, once over the stream."""
    first_features, first_tags = batches[0]
    model = StochasticRegression(first_features.astype(np.float64), first_tags.astype(np.float64))
    for features, tags in batches:
        model.take(features.astype(np.float64), tags.astype(np.float64))
    return _linear(model.coef, model.intercept)


def _ours(batches: Sequence[Rows]) -> Predictor:
    """Stream through the default estimator with the common penalty."""
    model = OutlierRobustRegressor(alpha=ALPHA)
    for features, tags in batches:
        model.partial_fit(features, tags)
    return _linear(model.coef_, model.intercept_)


def _same(tags: Array) -> Array:
    return tags


_ROTR = Trimmed(0.5, center=True, scale=True).regression(LinearProblem())
_LEAST_SQUARES = Classical().regression(LinearProblem(alpha=ALPHA))
_ON_ROTR: dict[str, Aggregator] = {
    **{f"ORL-LR, constant {constant:g}": OnlineMedian(constant) for constant in CONSTANTS},
    "averaging of RoTR": Mean(),
    "DRL-LR": GeometricMedian(),
}
_ON_LEAST_SQUARES: dict[str, Aggregator] = {
    **{f"ORL around ridge, constant {constant:g}": OnlineMedian(constant) for constant in CONSTANTS},
    "online averaging LR": Mean(),
    "DRL around ridge": GeometricMedian(),
}
# Methods that go through the rows by themselves.
DIRECT: dict[str, Callable[[Sequence[Rows]], Predictor]] = {
    "ours": _ours,
    "ridge on everything": _ridge,
    "stochastic LR": _stochastic,
}


def fit_direct(name: str, batches: Sequence[Rows]) -> Timed:
    """Fit one of the methods that need no estimates of batches."""
    started = perf_counter()
    predict = DIRECT[name](batches)
    return Timed(predict, perf_counter() - started)


def fit_all(batches: Sequence[Rows]) -> Iterator[tuple[str, Timed]]:
    """Fit every method, sharing the estimates of batches among aggregators."""
    yield from _aggregated(_ROTR, _ON_ROTR, _signs, batches)
    yield from _aggregated(_LEAST_SQUARES, _ON_LEAST_SQUARES, _same, batches)
    for name in DIRECT:
        yield name, fit_direct(name, batches)
