"""The methods of Table 2: each learns linear predictors of tags from batches and scores images with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators import Aggregator, GeometricMedian, Mean, OnlineMedian
from robustream.batch import Batch
from robustream.estimators import OutlierRobustRegressor
from robustream.learners import Classical, Learner, LinearProblem, Trimmed
from robustream.spaces import LinearModels

__all__ = ["ALPHA", "CONSTANTS", "METHODS", "Predictor"]

Array = NDArray[Any]
Rows = tuple[Array, Array]
# Features in, scores of tags out.
Predictor = Callable[[Array], Array]

# The penalty of every ridge regression here, on the mean squared error.
ALPHA = 0.05
# The paper does not give the filter's constant: the best of these on unspoiled tags is taken for it, in hindsight.
CONSTANTS = (0.1, 1.0, 10.0, 100.0)
# Images in a step of the stochastic gradient.
STEP = 25


def _linear(coef: Array, intercept: Array) -> Predictor:
    return lambda features: np.asarray(features @ coef.T + intercept)


def _aggregated(learner: Learner, aggregator: Aggregator, coded: Callable[[Array], Array]) -> Callable[..., Predictor]:
    """Estimate each batch by itself, however small, as the paper does, and aggregate the solutions."""

    def fit(batches: Sequence[Rows]) -> Predictor:
        columns, outputs = batches[0][0].shape[1], batches[0][1].shape[1]
        space = LinearModels(columns, outputs)
        state = aggregator.init(space)
        for index, (features, tags) in enumerate(batches):
            batch = Batch(index, f"batch {index}", features, coded(tags))
            state, _ = aggregator.step(state, learner.estimate(batch, np.random.default_rng(index)))
        coef, level = aggregator.value(state)[:2]
        assert coef is not None
        assert level is not None
        return _linear(coef, level)

    return fit


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
    """Go down the gradient of the squared error, once over the stream, in steps that shrink as 1 / sqrt(t)."""
    first = batches[0][0].astype(np.float64)
    center = first.mean(axis=0)
    # The largest step that the curvature of the first rows allows for.
    step = 1.0 / float(np.square(first - center).sum(axis=1).mean())
    coef = np.zeros((batches[0][1].shape[1], first.shape[1]))
    level = batches[0][1].mean(axis=0)
    taken = 0
    for features, tags in batches:
        for start in range(0, len(features), STEP):
            taken += 1
            rows = features[start : start + STEP] - center
            left = rows @ coef.T + level - tags[start : start + STEP]
            coef -= step / np.sqrt(taken) * left.T @ rows
    return _linear(coef, level - coef @ center)


def _ours(batches: Sequence[Rows]) -> Predictor:
    """Stream through the default estimator with the common penalty."""
    model = OutlierRobustRegressor(alpha=ALPHA)
    for features, tags in batches:
        model.partial_fit(features, tags)
    return _linear(model.coef_, model.intercept_)


_ROTR = Trimmed(0.5, center=True, scale=True).regression(LinearProblem())
_LEAST_SQUARES = Classical().regression(LinearProblem(alpha=ALPHA))


def _same(tags: Array) -> Array:
    return tags


METHODS: dict[str, Callable[[Sequence[Rows]], Predictor]] = {
    **{f"ORL-LR, constant {c:g}": _aggregated(_ROTR, OnlineMedian(c), _signs) for c in CONSTANTS},
    "averaging of RoTR": _aggregated(_ROTR, Mean(), _signs),
    "DRL-LR": _aggregated(_ROTR, GeometricMedian(), _signs),
    **{f"ORL around ridge, constant {c:g}": _aggregated(_LEAST_SQUARES, OnlineMedian(c), _same) for c in CONSTANTS},
    "online averaging LR": _aggregated(_LEAST_SQUARES, Mean(), _same),
    "DRL around ridge": _aggregated(_LEAST_SQUARES, GeometricMedian(), _same),
    "stochastic LR": _stochastic,
    "ridge on everything": _ridge,
    "ours": _ours,
}
