"""scikit-learn's own checks, for all estimators."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import robustream as rs

ESTIMATORS = [
    rs.TrimmedPCA(),
    rs.TrimmedRegressor(),
    rs.TrimmedRegressor(trim=0.1, scale=False, fit_intercept=False),
    rs.OutlierRobustPCA(),
    rs.OutlierRobustCovariance(),
    rs.OutlierRobustPCA(1, learner="trimmed", aggregator="online-median", standardize=True),
    rs.OutlierRobustRegressor(),
    rs.OutlierRobustRegressor(aggregator="mean", alpha=0.1, batch_size=20),
    rs.OutlierRobust(Ridge()),
    rs.OutlierRobust(LinearRegression(), aggregator="coordinate-median"),
    rs.OutlierRobust(SGDRegressor()),
    rs.OutlierRobust(LogisticRegression()),
    rs.OutlierRobust(GaussianNB()),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
