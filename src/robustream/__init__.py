"""Robust PCA and linear regression over streams in which many rows, and whole batches, may be garbage."""

from robustream import aggregators, engines, errors, learners, sources
from robustream._version import __version__ as __version__
from robustream.batch import BatchRecord
from robustream.estimators import (
    OutlierRobust,
    OutlierRobustPCA,
    OutlierRobustRegressor,
    TrimmedPCA,
    TrimmedRegressor,
)
from robustream.fitting import FitEvent, fit, fold_in_late
from robustream.kernels.median import geometric_median
from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross, trimmed_inner
from robustream.persistence import load, save

__all__ = [
    "BatchRecord",
    "FitEvent",
    "OutlierRobust",
    "OutlierRobustPCA",
    "OutlierRobustRegressor",
    "TrimmedPCA",
    "TrimmedRegressor",
    "aggregators",
    "engines",
    "errors",
    "fit",
    "fold_in_late",
    "geometric_median",
    "learners",
    "load",
    "save",
    "sources",
    "trimmed_covariance",
    "trimmed_cross",
    "trimmed_inner",
]
