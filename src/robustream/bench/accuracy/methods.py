"""A method turns a sample into an estimate: coefficients, or a basis of the leading subspace as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robustream.bench.accuracy.cases import Problem
from robustream.bench.accuracy.sample import Array, Sample
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor

__all__ = ["OURS", "Fit", "Method", "our_method"]

OURS = "ours"


class Fit(NamedTuple):
    """An estimate, and the seconds that it took where the method measured them itself."""

    value: Array
    seconds: float | None = None


class Method(NamedTuple):
    """A way to fit.

    Beyond `most_columns` the method is left out, and beyond `most_rows` it gets evenly spaced rows only: it would
    take minutes. `missing` says why it cannot run here, if it cannot. `slow` ones are left out of quick runs.
    """

    name: str
    title: str
    problem: Problem
    fit: Callable[[Sample], Fit]
    most_columns: int | None = None
    most_rows: int | None = None
    missing: str = ""
    slow: bool = False


def our_method(problem: Problem) -> Method:
    """Return ours with default settings: `fit` on a table, `partial_fit` on every batch of a stream."""
    if problem == "regression":
        return Method(OURS, "robustream OutlierRobustRegressor", problem, _fit_regression)
    return Method(OURS, "robustream OutlierRobustPCA", problem, _fit_pca)


def _fit_regression(sample: Sample) -> Fit:
    model = OutlierRobustRegressor()
    if len(sample.batches) == 1:
        return Fit(np.asarray(model.fit(sample.X, sample.y).coef_))
    for batch in sample.batches:
        model.partial_fit(batch.X, batch.y)
    return Fit(np.asarray(model.coef_))


def _fit_pca(sample: Sample) -> Fit:
    model = OutlierRobustPCA(sample.components, standardize=sample.standardize)
    if len(sample.batches) == 1:
        return Fit(np.asarray(model.fit(sample.X).components_.T))
    for batch in sample.batches:
        model.partial_fit(batch.X)
    return Fit(np.asarray(model.components_.T))
