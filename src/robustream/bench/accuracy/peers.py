"""What people would use instead, from Python: scikit-learn, statsmodels, river.

Methods that need all rows get all rows of a stream at once; those that can learn in passing get its batches in turn.
Regressions get columns and targets brought to a common scale by median and quartiles of all rows, which a stream
could not know in advance: to their advantage, since some have penalties, step sizes or tolerances in fixed units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from robustream.bench.accuracy.cases import Problem
from robustream.bench.accuracy.generate import leading_subspace
from robustream.bench.accuracy.methods import Fit, Method
from robustream.bench.accuracy.sample import Array, Sample

__all__ = ["python_peers"]


def python_peers(problem: Problem) -> list[Method]:
    """Return the peers of a problem, those that are not installed too."""
    if problem == "pca":
        return [
            Method("PCA", "scikit-learn PCA", problem, _pca),
            Method("IncPCA", "scikit-learn IncrementalPCA", problem, _incremental_pca),
            Method("MCD", "scikit-learn MinCovDet, eigenvectors", problem, _mcd, most_columns=60, most_rows=5000),
        ]
    statsmodels = "" if find_spec("statsmodels") else "statsmodels is not installed"
    resistant = statsmodels or (
        "" if find_spec("statsmodels.robust.resistant_linear_model") else "statsmodels is older than 0.15"
    )
    river = "" if find_spec("river") else "river is not installed"
    return [
        Method("LS", "scikit-learn LinearRegression", problem, _least_squares),
        Method("Huber", "scikit-learn HuberRegressor", problem, _huber),
        Method("RANSAC", "scikit-learn RANSACRegressor", problem, _ransac),
        Method(
            "TheilSen",
            "scikit-learn TheilSenRegressor, 2,000 subsets",
            problem,
            _theil_sen,
            most_columns=20,
            most_rows=2000,
        ),
        Method("SGD", "scikit-learn SGDRegressor, Huber loss", problem, _sgd),
        Method("RLM", "statsmodels RLM, Huber's T", problem, _rlm, 60, 5000, statsmodels),
        Method("DetMM", "statsmodels RLMDetSMM", problem, _det_mm, 20, 5000, resistant, slow=True),
        Method("river", "river LinearRegression, Huber loss", problem, _river, most_columns=60, missing=river),
    ]


def _least_squares(sample: Sample) -> Fit:
    from sklearn.linear_model import LinearRegression

    return _scaled_fit(LinearRegression(), sample)


def _huber(sample: Sample) -> Fit:
    from sklearn.linear_model import HuberRegressor

    return _scaled_fit(HuberRegressor(), sample)


def _ransac(sample: Sample) -> Fit:
    from sklearn.linear_model import RANSACRegressor

    units = _Units(sample)
    model = RANSACRegressor(random_state=0).fit(*units.scale(sample.X, sample.y))
    return Fit(units.unscale(model.estimator_.coef_))


def _theil_sen(sample: Sample) -> Fit:
    from sklearn.linear_model import TheilSenRegressor

    return _scaled_fit(TheilSenRegressor(max_subpopulation=2000, random_state=0), sample)


def _sgd(sample: Sample) -> Fit:
    from sklearn.linear_model import SGDRegressor

    model = SGDRegressor(loss="huber", random_state=0)
    if len(sample.batches) == 1:
        return _scaled_fit(model, sample)
    units = _Units(sample)
    for X, y in units.batches(sample):
        model.partial_fit(X, y)
    return Fit(units.unscale(model.coef_))


def _rlm(sample: Sample) -> Fit:
    api = import_module("statsmodels.api")
    units = _Units(sample)
    X, y = units.scale(sample.X, sample.y)
    return Fit(units.unscale(api.RLM(y, api.add_constant(X, has_constant="add")).fit().params[1:]))


def _det_mm(sample: Sample) -> Fit:
    model = import_module("statsmodels.robust.resistant_linear_model").RLMDetSMM
    units = _Units(sample)
    X, y = units.scale(sample.X, sample.y)
    return Fit(units.unscale(model(y, np.column_stack([np.ones(len(X)), X])).fit().params[1:]))


def _river(sample: Sample) -> Fit:
    linear_model, optim = import_module("river.linear_model"), import_module("river.optim")
    model = linear_model.LinearRegression(loss=optim.losses.Huber())
    units = _Units(sample)
    names = list(range(sample.X.shape[1]))
    for X, y in units.batches(sample):
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(zip(names, row, strict=True)), target)
    return Fit(units.unscale(np.array([model.weights[name] for name in names])))


def _scaled_fit(model: Any, sample: Sample) -> Fit:
    units = _Units(sample)
    return Fit(units.unscale(model.fit(*units.scale(sample.X, sample.y)).coef_))


class _Units:
    """Median and quartile distance of every column and of the target, over all rows of a sample."""

    def __init__(self, sample: Sample) -> None:
        self.center, self.spread = _median_and_spread(sample.X)
        self.y_center, self.y_spread = _median_and_spread(sample.y)

    def scale(self, X: Array, y: Array) -> tuple[Array, Array]:
        return (X - self.center) / self.spread, (y - self.y_center) / self.y_spread

    def batches(self, sample: Sample) -> Iterator[tuple[Array, Array]]:
        for batch in sample.batches:
            assert batch.y is not None
            yield self.scale(batch.X, batch.y)

    def unscale(self, coef: Array) -> Array:
        return np.asarray(coef) * self.y_spread / self.spread


def _median_and_spread(values: Array) -> tuple[Array, Array]:
    low, center, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, values.std(axis=0))
    return center, np.where(spread > 0, spread, 1.0)


def _pca(sample: Sample) -> Fit:
    from sklearn.decomposition import PCA

    return Fit(PCA(sample.components).fit(_standardizer(sample)(sample.X)).components_.T)


def _incremental_pca(sample: Sample) -> Fit:
    from sklearn.decomposition import IncrementalPCA

    model, standardize = IncrementalPCA(sample.components), _standardizer(sample)
    if len(sample.batches) == 1:
        return Fit(model.fit(standardize(sample.X)).components_.T)
    for batch in sample.batches:
        model.partial_fit(standardize(batch.X))
    return Fit(model.components_.T)


def _mcd(sample: Sample) -> Fit:
    from sklearn.covariance import MinCovDet

    scatter = MinCovDet(random_state=0).fit(sample.X).covariance_
    return Fit(leading_subspace(scatter, sample.components, standardize=sample.standardize))


def _standardizer(sample: Sample) -> Callable[[Array], Array]:
    """Return what brings columns to unit scale by mean and standard deviation, where the case asks for it."""
    if not sample.standardize:
        return lambda X: X
    center, spread = sample.X.mean(axis=0), sample.X.std(axis=0)
    return lambda X: (X - center) / spread
