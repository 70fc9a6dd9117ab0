"""From a case and a seed to batches: clean rows first, then the dirt in them, then whole bad batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from robustream.bench.accuracy.designs import TABLES, Design, make_design, make_spiked, make_table
from robustream.bench.accuracy.dirt import LEVEL, PCA_DIRT, REGRESSION_DIRT, PCAScene, RegressionScene, spoil_cells
from robustream.bench.accuracy.sample import Array, DirtyBatch, Mask, Sample
from robustream.sources import ArraySource, CorruptedBatches
from robustream.sources.ground_truth import generator_for

if TYPE_CHECKING:
    from robustream.bench.accuracy.cases import Case

__all__ = ["leading_subspace", "make_pca", "make_regression"]

Rng = np.random.Generator


def make_regression(case: Case, seed: int) -> Sample:
    """Return the batches of a regression case; the truth is its coefficients."""
    rng = generator_for(seed, 0, f"regression {case.name}")
    design = make_design(case.design, case.columns, rng)
    # Every column explains about as much, whatever its scale.
    coef = rng.standard_normal(case.columns) / np.where(design.spread > 0, design.spread, 1.0)
    scene = RegressionScene(design, coef)
    X = design.draw(case.rows * case.batches, rng)
    noise = rng.standard_t(case.law, len(X)) if math.isfinite(case.law) else rng.standard_normal(len(X))
    if case.uneven:
        noise = noise * (0.5 + np.abs(X[:, 0] - design.offset[0]) / design.spread[0])
    y = LEVEL + X @ coef + noise
    bad, unspoiled = _bad_rows(case, rng), None
    if case.dirt == "cells":
        unspoiled = X
        X, cells = spoil_cells(design, X, case.fraction, rng)
        bad = np.asarray(cells.any(axis=1))
    elif case.dirt:
        X[bad], y[bad] = REGRESSION_DIRT[case.dirt](scene, X[bad], y[bad], rng)
    return Sample(_cut(case, seed, X, y, bad, unspoiled), coef, case.law)


def make_pca(case: Case, seed: int) -> Sample:
    """Return the batches of a PCA case; the truth is a basis of the leading subspace."""
    rng = generator_for(seed, 0, f"pca {case.name}")
    if case.design in TABLES:
        design = make_table(case.design, case.columns, rng)
    else:
        design = make_spiked(case.design, case.columns, case.components, rng)
    X = design.draw(case.rows * case.batches, rng)
    if math.isfinite(case.law):
        X = design.offset + (X - design.offset) / np.sqrt(rng.chisquare(case.law, (len(X), 1)) / case.law)
    bad, unspoiled = _bad_rows(case, rng), None
    if case.dirt == "cells":
        unspoiled = X
        X, cells = spoil_cells(design, X, case.fraction, rng)
        bad = np.asarray(cells.any(axis=1))
    elif case.dirt:
        X[bad] = PCA_DIRT[case.dirt](PCAScene(design, _minor(design, case)), X[bad], rng)
    truth = leading_subspace(design.covariance, case.components, standardize=case.standardize)
    return Sample(_cut(case, seed, X, None, bad, unspoiled), truth, case.law, standardize=case.standardize)


def leading_subspace(scatter: Array, components: int, *, standardize: bool = False) -> Array:
    """Return the leading eigenvectors of a scatter matrix, or of its correlations, as columns."""
    if standardize:
        spread = np.sqrt(np.diag(scatter))
        scatter = scatter / np.outer(spread, spread)
    return np.asarray(np.linalg.eigh(scatter)[1][:, : -components - 1 : -1])


def _minor(design: Design, case: Case) -> Array:
    """A latent direction outside the leading subspace: the first after it of a normal law, a special column else."""
    minor = np.zeros(case.columns)
    minor[0 if case.design in TABLES else case.components] = 1.0
    return minor


def _bad_rows(case: Case, rng: Rng) -> Mask:
    """Choose round(fraction * rows) rows of every batch."""
    number = round(case.fraction * case.rows) if case.dirt != "cells" else 0
    return np.concatenate([rng.permutation(case.rows) < number for _ in range(case.batches)])


def _cut(
    case: Case, seed: int, X: Array, y: Array | None, bad: Mask, unspoiled: Array | None
) -> tuple[DirtyBatch, ...]:
    if case.garbage is None:
        parts = [slice(start, start + case.rows) for start in range(0, len(X), case.rows)]
        return tuple(
            DirtyBatch(X[p], None if y is None else y[p], ~bad[p], None if unspoiled is None else unspoiled[p])
            for p in parts
        )
    kind, order, fraction = case.garbage.kind, case.garbage.order, case.garbage.fraction
    stream = CorruptedBatches(ArraySource(X, y, batch_size=case.rows), fraction, kind, order, seed=seed)
    batches = []
    for batch in stream:
        rows = slice(batch.index * case.rows, (batch.index + 1) * case.rows)
        clean = ~bad[rows] & ~stream.outlier_rows(batch.index)
        batches.append(DirtyBatch(batch.X, batch.y, clean))
    return tuple(batches)
