"""Robust PCA and linear regression over streams in which many rows, and whole batches, may be garbage."""

from robustream import aggregators, errors, learners, sources
from robustream.batch import BatchRecord
from robustream.estimators import (
    OutlierRobust,
    OutlierRobustPCA,
    OutlierRobustRegressor,
    TrimmedPCA,
    TrimmedRegressor,
)
from robustream.kernels.median import geometric_median
from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross, trimmed_inner

__version__ = "0.1.0"

__all__ = [
    "BatchRecord",
    "OutlierRobust",
    "OutlierRobustPCA",
    "OutlierRobustRegressor",
    "TrimmedPCA",
    "TrimmedRegressor",
    "aggregators",
    "errors",
    "geometric_median",
    "learners",
    "sources",
    "trimmed_covariance",
    "trimmed_cross",
    "trimmed_inner",
]
