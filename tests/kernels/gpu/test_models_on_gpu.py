"""Fitted models and rows on a GPU: attributes and answers lie with the rows, files and copies on the host."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import robustream as rs
from robustream.kernels.device_arrays import host_array, library_of

rng = np.random.default_rng(7)
X = (rng.normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]).astype(np.float32)
y = (X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=len(X))).astype(np.float32)
X[:500] += 40

PRINCIPAL = ("components_", "mean_", "column_scale_", "explained_variance_", "explained_variance_ratio_", "cutoffs_")
LINEAR = ("coef_", "intercept_", "scale_")
MODELS = [
    (rs.OutlierRobustPCA(2, batch_size=2000), PRINCIPAL),
    (rs.TrimmedPCA(2, trim=0.1), PRINCIPAL),
    (rs.OutlierRobustRegressor(batch_size=2000), (*LINEAR, "coef_stderr_")),
    (rs.TrimmedRegressor(trim=0.1), LINEAR),
]
models = pytest.mark.parametrize(("model", "attributes"), MODELS, ids=lambda value: type(value).__name__)


def there(library, values):
    """Give host values as an array on the GPU of a library, or skip without it."""
    if library == "torch":
        return pytest.importorskip("torch").from_numpy(np.ascontiguousarray(values)).cuda()
    if library == "jax.numpy":
        jax = pytest.importorskip("jax")
        return jax.device_put(values, jax.devices("gpu")[0])
    return importlib.import_module(library).asarray(values)


@pytest.mark.parametrize("library", ["cupy", "torch", "jax.numpy"])
@models
def test_attributes_are_arrays_of_the_library_of_the_rows(cupy, model, attributes, library):
    here = clone(model).fit(X, y)
    fitted = clone(model).fit(there(library, X), there(library, y))
    for name in attributes:
        value = getattr(fitted, name)
        assert library_of(value) == library, name
        np.testing.assert_allclose(np.abs(host_array(value)), np.abs(getattr(here, name)), rtol=1e-3, atol=1e-3)
    fitted.fit(X, y)
    assert isinstance(getattr(fitted, attributes[0]), np.ndarray)


@pytest.mark.parametrize("library", ["cupy", "torch", "jax.numpy"])
@models
def test_answers_lie_with_the_rows_wherever_the_model_was_fitted(cupy, model, attributes, library):
    rows, targets = there(library, X), there(library, y)
    for fitted in (clone(model).fit(X, y), clone(model).fit(rows, targets)):
        if hasattr(fitted, "predict"):
            methods = [fitted.predict]
            scores = host_array(fitted.outlier_scores(rows, targets))
            np.testing.assert_allclose(scores, fitted.outlier_scores(X, y), rtol=1e-2, atol=1e-3)
            assert fitted.score(rows, targets) == pytest.approx(fitted.score(X, y), abs=1e-4)
        else:
            methods = [fitted.transform, fitted.score_samples, fitted.outlier_scores, fitted.is_outlier]
            back = fitted.inverse_transform(fitted.transform(rows))
            assert library_of(back) == library
            np.testing.assert_allclose(host_array(back), fitted.inverse_transform(fitted.transform(X)), atol=1e-3)
        for answer in methods:
            assert isinstance(answer(X), np.ndarray)
            assert library_of(answer(rows)) == library
            np.testing.assert_allclose(host_array(answer(rows)), answer(X), rtol=1e-2, atol=1e-2)


@models
def test_files_pickles_and_copies_are_on_the_host(cupy, model, attributes, tmp_path):
    fitted = clone(model).fit(cupy.asarray(X), cupy.asarray(y))
    rs.save(fitted, tmp_path / "model.safetensors")
    for other in (rs.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        for name in attributes:
            value = getattr(other, name)
            assert isinstance(value, (np.ndarray, np.floating))
            np.testing.assert_array_equal(value, host_array(getattr(fitted, name)))


def test_calls_from_host_and_gpu_may_alternate(cupy, tmp_path):
    here, mixed = (rs.OutlierRobustPCA(2) for _ in range(2))
    for number, first in enumerate(range(0, 1010, 10)):
        rows = X[5000 + first : 5010 + first]
        here.partial_fit(rows)
        mixed.partial_fit(cupy.asarray(rows) if number % 2 else rows)
    rs.save(mixed, tmp_path / "model.safetensors")  # with rows that wait
    np.testing.assert_allclose(rs.load(tmp_path / "model.safetensors").components_, here.components_, atol=1e-4)
    mixed.partial_fit(cupy.asarray(X))
    assert isinstance(mixed.components_, cupy.ndarray)


def test_summaries_and_intervals(cupy):
    model = rs.OutlierRobustRegressor(batch_size=2000).fit(cupy.asarray(X), cupy.asarray(y))
    other = rs.OutlierRobustRegressor(batch_size=2000).fit(X, y)
    assert isinstance(model.conf_int(), cupy.ndarray)
    np.testing.assert_allclose(model.conf_int().get(), other.conf_int(), atol=1e-4)
    assert model.summary().columns == other.summary().columns


def test_wrapped_estimators_work_on_the_host(cupy):
    rows, labels = cupy.asarray(X), cupy.asarray((y > 0).astype(int))
    model = rs.OutlierRobust(LogisticRegression(), batch_size=2000).fit(rows, labels)
    assert isinstance(model.estimator_.coef_, np.ndarray)
    assert isinstance(model.predict(rows), cupy.ndarray)
    assert isinstance(model.predict(X), np.ndarray)
    np.testing.assert_array_equal(model.predict(rows).get(), model.predict(X))
    assert model.score(rows, labels) > 0.95
    named = rs.OutlierRobust(LogisticRegression(), batch_size=2000).fit(rows, np.where(y > 0, "high", "low"))
    assert set(named.predict(rows)) == {"high", "low"}
    line = rs.OutlierRobust(Ridge(), batch_size=2000).partial_fit(rows, cupy.asarray(y))
    assert isinstance(line.predict(rows), cupy.ndarray)


def test_bad_rows_on_the_gpu_are_refused(cupy):
    bad = cupy.asarray(X).copy()
    bad[3, 2] = cupy.nan
    for model in (rs.TrimmedPCA(2), rs.OutlierRobustPCA(2)):
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(bad)
        fitted = model.fit(cupy.asarray(X))
        with pytest.raises(ValueError, match="columns"):
            fitted.transform(cupy.asarray(X[:, :3]))
        with pytest.raises(ValueError, match="components"):
            fitted.inverse_transform(cupy.asarray(X))


def test_tensors_that_cannot_be_shared_as_they_are(cupy):
    torch = pytest.importorskip("torch")
    rows = torch.from_numpy(X).cuda()
    assert rs.TrimmedPCA(2).fit(rows.requires_grad_()).components_.is_cuda
    assert rs.TrimmedPCA(2).fit(rows.detach().half()).components_.dtype == torch.float32
    with pytest.raises(ValueError, match="bfloat16"):
        rs.TrimmedPCA(2).fit(rows.detach().bfloat16())


def test_what_another_library_still_writes_is_awaited(cupy):
    jax = pytest.importorskip("jax")
    place = jax.devices("gpu")[0]
    # The copy to the GPU goes on after the call: by CUDA's own interface most of such tables were read too early.
    for turn in range(40):
        table = np.random.default_rng(turn).standard_normal((20_000, 6), dtype=np.float32)
        np.testing.assert_array_equal(host_array(jax.device_put(table, place)), table)
