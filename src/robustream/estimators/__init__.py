"""The scikit-learn face: everything below, as estimators."""

from robustream.estimators.covariance import OutlierRobustCovariance
from robustream.estimators.pca import OutlierRobustPCA
from robustream.estimators.regression import OutlierRobustRegressor
from robustream.estimators.trimmed import TrimmedPCA, TrimmedRegressor
from robustream.estimators.wrapper import OutlierRobust

__all__ = [
    "OutlierRobust",
    "OutlierRobustCovariance",
    "OutlierRobustPCA",
    "OutlierRobustRegressor",
    "TrimmedPCA",
    "TrimmedRegressor",
]
