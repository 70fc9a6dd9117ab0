"""Wide regression through pooled second moments."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from robustream.batch import Batch
from robustream.learners import LinearProblem
from robustream.learners.pooled import PooledRegression


def pooled(batches, **problem):
    learner = PooledRegression(LinearProblem(**problem))
    columns, outputs = batches[0].X.shape[1], batches[0].y.shape[1]
    space = learner.space(columns, outputs)
    points = [learner.estimate(batch, np.random.default_rng(0)).point for batch in batches]
    settled = tuple(np.mean([point[part] for point in points], axis=0) for part in range(2))
    return space, points, settled, space.answer(settled, sum(batch.rows for batch in batches), averaged=True)


def batches(rng, count=10, rows=60, columns=40, outputs=2):
    coef = rng.normal(size=(outputs, columns))
    made = []
    for index in range(count):
        X = rng.normal(size=(rows, columns)) + 3
        made.append(Batch(index, "", X, X @ coef.T + 5 + rng.normal(size=(rows, outputs))))
    return coef, made


def test_one_batch_is_least_squares():
    _, made = batches(np.random.default_rng(0), count=1, rows=400)
    solution = pooled(made)[3]
    plain = LinearRegression().fit(made[0].X, made[0].y)
    np.testing.assert_allclose(solution.coef, plain.coef_, atol=1e-8)
    np.testing.assert_allclose(solution.level, plain.intercept_, atol=1e-8)


def test_ridge():
    _, made = batches(np.random.default_rng(0), count=1, rows=400)
    solution = pooled(made, alpha=0.5)[3]
    np.testing.assert_allclose(solution.coef, Ridge(alpha=0.5 * 399).fit(made[0].X, made[0].y).coef_, atol=1e-8)


def test_pooling_beats_averaging_where_rows_are_few():
    """60 rows for 40 columns: the mean of the solutions is far worse than the solution of the mean."""
    rng = np.random.default_rng(0)
    errors = {"pooled": [], "averaged": [], "whole": []}
    for _ in range(10):
        coef, made = batches(rng)
        errors["pooled"].append(np.linalg.norm(pooled(made)[3].coef - coef))
        averaged = np.mean([LinearRegression().fit(batch.X, batch.y).coef_ for batch in made], axis=0)
        errors["averaged"].append(np.linalg.norm(averaged - coef))
        whole = LinearRegression().fit(np.vstack([b.X for b in made]), np.vstack([b.y for b in made]))
        errors["whole"].append(np.linalg.norm(whole.coef_ - coef))
    rms = {name: np.sqrt(np.mean(np.square(values))) for name, values in errors.items()}
    assert rms["pooled"] < 1.1 * rms["whole"]
    assert rms["averaged"] > 1.3 * rms["whole"]


def test_the_residual_scale_counts_the_columns():
    _, made = batches(np.random.default_rng(0), count=20)
    np.testing.assert_allclose(pooled(made)[3].scale, 1.0, atol=0.08)


def test_first_order_coefficients_average_to_the_solution():
    _, made = batches(np.random.default_rng(0))
    space, points, settled, solution = pooled(made)
    asked = space.quantities(points, settled, solution)[0].points
    np.testing.assert_allclose(np.mean(asked, axis=0), solution.coef, atol=1e-9)


def test_rows_far_too_long_are_left_out():
    rng = np.random.default_rng(0)
    _, made = batches(rng, count=20)
    spoiled = [batch._replace(X=np.where(np.arange(60)[:, None] < 6, 1000 * batch.X, batch.X)) for batch in made]
    clean = [batch._replace(X=batch.X[6:], y=batch.y[6:]) for batch in made]
    np.testing.assert_allclose(pooled(spoiled)[3].coef, pooled(clean)[3].coef, atol=1e-9)


def test_a_singular_table_has_a_short_solution():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 100))
    solution = pooled([Batch(0, "", X, X[:, :1] * 2)])[3]
    assert np.isfinite(solution.coef).all()
    assert np.abs(solution.coef).max() < 5
