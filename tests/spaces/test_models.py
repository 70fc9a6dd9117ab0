"""The product spaces of principal and linear models."""

from __future__ import annotations

import numpy as np

from robustream.spaces import LinearModels, PrincipalModels
from robustream.spaces.linear import LinearPoint
from robustream.spaces.principal import PrincipalPoint


def test_the_spectrum_gives_back_the_eigenvalues_of_one_batch():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 5)) * [4, 3, 2, 1, 1]
    covariance = np.cov(rows.T)
    values, vectors = np.linalg.eigh(covariance)
    point = PrincipalPoint(
        rows.mean(axis=0),
        np.zeros(5),
        vectors[:, :-3:-1],
        values[:-3:-1],
        np.asarray(np.trace(covariance)),
        np.zeros(2),
    )
    space = PrincipalModels(5, 2)
    spectrum = space.spectrum(point.basis, space.express(3, point), space.express(4, point))
    np.testing.assert_allclose(spectrum.explained_variance, values[:-3:-1])
    np.testing.assert_allclose(spectrum.total_variance, np.trace(covariance))
    np.testing.assert_allclose(spectrum.noise_variance, values[:3].mean())
    np.testing.assert_allclose(np.abs(spectrum.components), np.abs(vectors[:, :-3:-1].T))


def test_all_components_leave_no_noise():
    point = PrincipalPoint(np.zeros(2), np.zeros(2), np.eye(2), np.array([2.0, 1.0]), np.asarray(3.0), np.zeros(2))
    space = PrincipalModels(2, 2)
    assert space.express(4, point) == 0
    spectrum = space.spectrum(point.basis, space.express(3, point), space.express(4, point))
    np.testing.assert_allclose(spectrum.explained_variance, [2, 1])


def test_the_level_is_taken_at_the_settled_coefficients():
    point = LinearPoint(np.array([[2.0]]), np.array([10.0]), np.array([21.0]), np.zeros(1), None, np.zeros(()))
    space = LinearModels(1, 1)
    assert space.express(1, point) == 1.0
    assert space.express(1, point, [np.array([[2.1]])]) == 0.0
    assert space.value([space.express(place, point) for place in range(len(space.parts))]).variance is None


def test_the_reason_names_the_part():
    point = LinearPoint(np.zeros((1, 2)), np.zeros(2), np.zeros(1), np.array([np.inf]), None, np.zeros(()))
    assert "log residual scale" in LinearModels(2, 1).why_not(point)
