"""Sparse matrices: dense blocks of rows within a limit, and the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

import robustream as rs
from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.sparse import DENSE_BYTES, SparseSource

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.csc_matrix, sparse.lil_array]


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(800, 6)) * (rng.random((800, 6)) < 0.3)
    return X, X @ [1.0, 2.0, 0.0, 0.0, -1.0, 3.0] + 1 + rng.normal(size=800)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.__name__)
def test_any_format_gives_what_dense_rows_give(form):
    X, y = table()
    dense, thin = rs.OutlierRobustRegressor().fit(X, y), rs.OutlierRobustRegressor().fit(form(X), y)
    np.testing.assert_array_equal(dense.coef_, thin.coef_)
    for method in ("outlier_scores", "is_outlier", "outlier_pvalues"):
        np.testing.assert_array_equal(getattr(dense, method)(X, y), getattr(dense, method)(form(X), y))
    np.testing.assert_array_equal(dense.predict(X), dense.predict(form(X)))
    np.testing.assert_array_equal(dense.predict_interval(X, 0.9), dense.predict_interval(form(X), 0.9))
    assert dense.score(form(X), y) == dense.score(X, y)


@pytest.mark.parametrize("make", [lambda: rs.OutlierRobustPCA(2), rs.OutlierRobustCovariance, rs.TrimmedPCA])
def test_estimators_without_a_target(make):
    X = np.random.default_rng(0).normal(size=(300, 6)) * [3.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    dense, thin = make().fit(X), make().fit(sparse.csr_array(X))
    for method in ("transform", "outlier_scores", "is_outlier", "decision_function"):
        np.testing.assert_array_equal(getattr(dense, method)(X), getattr(thin, method)(sparse.csc_array(X)))


def test_partial_fit_and_the_wrapper():
    X, y = table()
    dense, thin = rs.OutlierRobustPCA(2), rs.OutlierRobustPCA(2)
    for first in range(0, 800, 10):
        dense.partial_fit(X[first : first + 10])
        thin.partial_fit(sparse.csr_array(X[first : first + 10]))
    np.testing.assert_array_equal(dense.components_, thin.components_)
    labels = (y > 1).astype(int)
    wrapped = rs.OutlierRobust(LogisticRegression()).fit(sparse.csr_array(X), labels)
    np.testing.assert_array_equal(wrapped.predict(sparse.csr_array(X)), wrapped.predict(X))


def test_too_large_a_matrix_is_refused_with_what_to_do():
    wide = sparse.csr_array((3, DENSE_BYTES // 16))
    assert wide.shape[0] * wide.shape[1] * 8 > DENSE_BYTES
    with pytest.raises(
        InvalidInputError, match=r"more than the 1 GiB that one call may: give partial_fit.*robustream.fit"
    ):
        rs.OutlierRobustPCA(1).fit(wide)
    with pytest.raises(InvalidInputError, match="GiB"):
        rs.OutlierRobustRegressor().fit(wide, np.zeros(3))


def test_robustream_fit_makes_one_batch_dense_at_a_time(monkeypatch):
    X, y = table()
    dense = rs.fit(rs.OutlierRobustRegressor(batch_size=100), X, target=y)
    sizes = []
    original = sparse.csr_array.toarray

    def measured(self, *arguments, **options):
        sizes.append(self.shape[0])
        return original(self, *arguments, **options)

    monkeypatch.setattr(sparse.csr_array, "toarray", measured)
    thin = rs.fit(rs.OutlierRobustRegressor(batch_size=100), sparse.csc_array(X), target=y)
    assert sizes == [100] * 8
    np.testing.assert_array_equal(dense.coef_, thin.coef_)


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_sparse_rows_travel_to_workers(engine):
    X, y = table()
    here = rs.fit(rs.OutlierRobustRegressor(batch_size=100), X, target=y, weight=np.arange(800) % 3)
    there = rs.fit(
        rs.OutlierRobustRegressor(batch_size=100, n_jobs=1),
        sparse.coo_array(X),
        target=y,
        weight=np.arange(800) % 3,
        engine=engine,
    )
    np.testing.assert_array_equal(here.coef_, there.coef_)


def test_items_of_an_iterable_may_be_sparse():
    X, y = table()
    items = [(sparse.csr_array(X[first : first + 100]), y[first : first + 100]) for first in range(0, 800, 100)]
    found = rs.fit(rs.OutlierRobustRegressor(), items)
    dense = rs.fit(rs.OutlierRobustRegressor(batch_size=100), X, target=y)
    np.testing.assert_array_equal(found.coef_, dense.coef_)


def test_the_source_starts_anywhere_and_knows_its_data():
    X, y = table()
    source = SparseSource(sparse.csr_array(X), y, batch_size=100, weights=np.ones(800))
    assert source.count == 8
    third: Batch = next(iter(source.batches(3)))
    assert third.label == "rows 300-399"
    np.testing.assert_array_equal(third.X, X[300:400])
    again = SparseSource(sparse.csc_array(X), y, batch_size=100, weights=np.ones(800))
    other = SparseSource(sparse.csr_array(2 * X), y, batch_size=100, weights=np.ones(800))
    assert source.fingerprint() == again.fingerprint() != other.fingerprint()


def test_a_batch_of_a_wide_matrix_that_is_too_large_says_how_many_rows_fit():
    wide = sparse.csr_array((100, DENSE_BYTES // 80))
    with pytest.raises(InvalidInputError, match="set batch_size to at most 6"):
        SparseSource(wide, batch_size=100)
    assert SparseSource(wide, batch_size=6).count == 17


def test_what_is_no_table_of_numbers_is_refused():
    with pytest.raises(InvalidInputError, match="sparse matrix must be rows x columns of numbers"):
        rs.fit(rs.OutlierRobustPCA(1), sparse.csr_array((0, 3)))
    with pytest.raises(InvalidInputError, match="an array has no"):
        rs.fit(rs.OutlierRobustPCA(1), sparse.csr_array((10, 3)), exclude="x")


@pytest.mark.parametrize("columns", [3, 10, 40])
@pytest.mark.parametrize("density", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("law", ["exponential", "counts"])
def test_columns_of_mostly_zeros_get_the_plain_answer(law, density, columns):
    rng = np.random.default_rng(0)
    values = rng.exponential(size=(1200, columns)) if law == "exponential" else rng.poisson(2, (1200, columns)) + 1.0
    X = values * (rng.random((1200, columns)) < density)
    np.testing.assert_allclose(rs.OutlierRobustCovariance().fit(X).covariance_, np.cov(X.T), rtol=1e-6, atol=1e-9)
    coef = np.linspace(-2, 2, columns)
    y = X @ coef + rng.normal(size=1200)
    model, plain = rs.OutlierRobustRegressor().fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-6)
    y[:240] = X[:240] @ (-3 * coef) + 25
    dirty, oracle = rs.OutlierRobustRegressor().fit(X, y), LinearRegression().fit(X[240:], y[240:])
    found, wanted = (np.linalg.norm(X[240:] @ (each.coef_ - coef)) for each in (dirty, oracle))
    assert found < 1.5 * wanted


def test_single_bad_cells_are_mended_beside_a_sparse_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10)) @ np.linalg.cholesky(0.8 + 0.2 * np.eye(10)).T
    X[:, 0] = rng.poisson(2, 2000) * (rng.random(2000) < 0.1)
    y = X @ np.linspace(1, 2, 10) + rng.normal(size=2000)
    bad = (rng.random(X.shape) < 0.1) & (np.arange(10) > 0)
    X[bad] = 60.0
    model = rs.OutlierRobustRegressor().fit(X, y)
    assert "single cells were taken as missing" in model.batch_report_[0].left_out_reason
    np.testing.assert_allclose(model.coef_, np.linspace(1, 2, 10), atol=0.5)
