"""From a case and a seed to batches: clean rows first, then the contamination in them, then whole bad batches.

Each kind of contamination is a function that gets clean rows and returns what they become. `scene` knows the law of the
clean rows. Distances are in units of it, so that contamination is as far in every design.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.bench.accuracy.designs import TABLES, Array, Design, Mask, Rng, make_design, make_spiked, make_table
from robustream.sources import ArraySource, CorruptedBatches
from robustream.sources.ground_truth import generator_for

if TYPE_CHECKING:
    from robustream.bench.accuracy.cases import Case

__all__ = [
    "LEVEL",
    "PCA_KINDS",
    "REGRESSION_KINDS",
    "Array",
    "ContaminatedBatch",
    "Mask",
    "PCAScene",
    "RegressionScene",
    "Sample",
    "leading_subspace",
    "make_pca",
    "make_regression",
    "spoil_cells",
]


class ContaminatedBatch(NamedTuple):
    """Rows as a method gets them, and what it does not get.

    `clean` marks the rows without contamination. `unspoiled` is X before single cells were spoiled, where they were.
    """

    X: Array
    y: Array | None
    clean: Mask
    unspoiled: Array | None = None


class Sample:
    """The batches of a case for one seed.

    Parameters
    ----------
    batches : at least one; a single one is a table.
    truth : the coefficients, or an orthonormal basis (columns x components) of the leading subspace.
    law : degrees of freedom of the t law of the clean noise (regression) or rows (PCA); infinite for any other.
    standardize : whether the subspace is one of columns of unit variance.
    covariance : that of normal clean rows (PCA), None where nobody asks.
    """

    def __init__(
        self,
        batches: tuple[ContaminatedBatch, ...],
        truth: Array,
        law: float = math.inf,
        *,
        standardize: bool = False,
        covariance: Array | None = None,
    ) -> None:
        self.batches = batches
        self.truth = truth
        self.law = law
        self.standardize = standardize
        self.covariance = covariance

    @property
    def components(self) -> int:
        """The dimension of the true subspace."""
        return self.truth.shape[1]

    @cached_property
    def X(self) -> Array:  # noqa: N802
        """All rows."""
        return np.concatenate([batch.X for batch in self.batches])

    @cached_property
    def y(self) -> Array:
        """All targets."""
        return np.concatenate([_present(batch.y) for batch in self.batches])

    @cached_property
    def clean_X(self) -> Array:  # noqa: N802
        """The rows that the oracle gets: the clean ones, and those with bad cells as they were before."""
        return np.concatenate([b.X[b.clean] if b.unspoiled is None else b.unspoiled for b in self.batches])

    @cached_property
    def clean_y(self) -> Array:
        """The targets of `clean_X`."""
        return np.concatenate([_present(b.y)[b.clean | (b.unspoiled is not None)] for b in self.batches])

    def thinned(self, most_rows: int) -> Sample:
        """Return the sample with evenly spaced rows only, not many more than that, in the same batches."""
        step = math.ceil(len(self.X) / most_rows)
        return Sample(
            tuple(_every(batch, step) for batch in self.batches), self.truth, self.law, standardize=self.standardize
        )


def _every(batch: ContaminatedBatch, step: int) -> ContaminatedBatch:
    y, unspoiled = (None if part is None else part[::step] for part in (batch.y, batch.unspoiled))
    return ContaminatedBatch(batch.X[::step], y, batch.clean[::step], unspoiled)


def _present(y: NDArray[Any] | None) -> NDArray[Any]:
    assert y is not None, "only samples of a regression have targets"
    return y


# The true intercept of every regression; its noise has variance 1.
LEVEL = 3.0


class RegressionScene(NamedTuple):
    """The model that the clean rows follow."""

    design: Design
    coef: Array

    def opposite(self, X: Array, rng: Rng) -> Array:
        """Return targets that follow the model with reversed sign, about the centre of the rows."""
        center = self.design.offset
        return np.asarray(LEVEL + center @ self.coef - (X - center) @ self.coef + rng.standard_normal(len(X)))


class PCAScene(NamedTuple):
    """The law of the clean rows, and a direction of little variance (latent) that is none of the leading ones."""

    design: Design
    minor: Array


def _leverage(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    far = scene.design.observe(rng.uniform(-10, 10, X.shape))
    return far, scene.opposite(far, rng)


def _cluster(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    points = _around(scene.design, 10 * _unit(X.shape[1], rng), len(X), rng)
    return points, np.median(y) + 30 + 0.1 * rng.standard_normal(len(X))


def _near_cluster(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    """As far out as an ordinary row, but all in one place."""
    columns = X.shape[1]
    points = _around(scene.design, max(np.sqrt(columns), 4.0) * _unit(columns, rng), len(X), rng)
    return points, LEVEL + points @ scene.coef + 10 + 0.1 * rng.standard_normal(len(X))


def _plane(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    flat = scene.design.observe(8 * rng.standard_normal((len(X), 3)) @ _directions(X.shape[1], 3, rng).T)
    wrong = rng.standard_normal(X.shape[1]) / _units(scene.design)
    return flat, LEVEL + (flat - scene.design.offset) @ wrong + rng.standard_normal(len(X))


def _vertical(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    return X, y + 10


def _small_shift(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    return X, y + 5


def _sign_flip(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    return X, scene.opposite(X, rng)


def _x_error(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    return scene.design.observe(5 * rng.standard_normal(X.shape)), y


def _shuffled_x(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    """Rows whose x belongs to another y: nothing about them is far."""
    return np.roll(X, max(1, len(X) // 2), axis=0), y


def _scale(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    return X, y + 10 * rng.standard_normal(len(X))


def _missing_code(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    """Rows with a number in one column that stands for one that is not known."""
    X[:, 0] = scene.design.offset[0] + 999 * _units(scene.design)[0]
    return X, y


def _stuck(scene: RegressionScene, X: Array, y: Array, rng: Rng) -> tuple[Array, Array]:
    """Rows that are all the same, and not far from the others: what is missing was filled."""
    return np.tile(scene.design.offset - _units(scene.design), (len(X), 1)), np.full(len(X), LEVEL + 3.0)


RegressionKind = Callable[[RegressionScene, Array, Array, Rng], tuple[Array, Array]]
REGRESSION_KINDS: dict[str, RegressionKind] = {
    "leverage": _leverage,
    "cluster": _cluster,
    "near cluster": _near_cluster,
    "plane": _plane,
    "vertical": _vertical,
    "small shift": _small_shift,
    "sign flip": _sign_flip,
    "x error": _x_error,
    "shuffled x": _shuffled_x,
    "scale": _scale,
    "missing code": _missing_code,
    "stuck": _stuck,
}


def _box(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return np.asarray(scene.design.offset + _units(scene.design) * rng.uniform(-10, 10, X.shape))


def _point_cluster(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return _around(scene.design, 20 * scene.minor, len(X), rng)


def _shift_8(scene: PCAScene, X: Array, rng: Rng) -> Array:
    """The rows as they were, moved by 8 standard deviations in a direction of little variance."""
    return np.asarray(X + 8 * scene.design.factor @ scene.minor)


def _shift_5(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return np.asarray(X + 5 * scene.design.factor @ scene.minor)


def _every_column(scene: PCAScene, X: Array, rng: Rng) -> Array:
    """Every column moved a little, to 8 standard deviations in all."""
    columns = X.shape[1]
    return np.asarray(X + 8 / np.sqrt(columns) * _units(scene.design) * rng.choice([-1.0, 1.0], columns))


def _flat(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return scene.design.observe(10 * rng.standard_normal((len(X), 3)) @ _directions(X.shape[1], 3, rng).T)


def _inflated(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return np.asarray(scene.design.offset + 4 * (X - scene.design.offset))


def _rotated(scene: PCAScene, X: Array, rng: Rng) -> Array:
    """Rows that vary widely in three wrong directions."""
    wrong = _directions(X.shape[1], 3, rng)
    latent = rng.standard_normal(X.shape) + 8 * rng.standard_normal((len(X), 3)) @ wrong.T
    return np.asarray(scene.design.offset + _units(scene.design) * latent)


def _same_row(scene: PCAScene, X: Array, rng: Rng) -> Array:
    return np.tile(scene.design.offset + 6 * _units(scene.design), (len(X), 1))


def _heavy(scene: PCAScene, X: Array, rng: Rng) -> Array:
    """Rows far off in every column, by distances that range over decades."""
    return np.asarray(scene.design.offset + 10 * _units(scene.design) * rng.standard_cauchy(X.shape))


PCAKind = Callable[[PCAScene, Array, Rng], Array]
PCA_KINDS: dict[str, PCAKind] = {
    "box": _box,
    "cluster": _point_cluster,
    "shift 8": _shift_8,
    "shift 5": _shift_5,
    "all columns": _every_column,
    "plane": _flat,
    "scale": _inflated,
    "rotated": _rotated,
    "same row": _same_row,
    "heavy": _heavy,
}


def spoil_cells(design: Design, X: Array, fraction: float, rng: Rng) -> tuple[Array, Mask]:
    """Move a share of the cells about 10 standard deviations away from the middle of their column."""
    cells = rng.random(X.shape) < fraction
    distance = rng.choice([-10.0, 10.0], X.shape) * rng.uniform(0.7, 1.3, X.shape)
    return np.where(cells, design.offset + _units(design) * distance, X), cells


def _units(design: Design) -> Array:
    """The spread of each column, and one for those that have none."""
    return np.where(design.spread > 0, design.spread, 1.0)


def _unit(columns: int, rng: Rng) -> Array:
    direction = rng.standard_normal(columns)
    return np.asarray(direction / np.linalg.norm(direction))


def _directions(columns: int, number: int, rng: Rng) -> Array:
    return np.linalg.qr(rng.standard_normal((columns, number)))[0]


def _around(design: Design, latent: Array, rows: int, rng: Rng) -> Array:
    """A tight cluster of rows."""
    return design.observe(latent + 0.1 * rng.standard_normal((rows, latent.size)))


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
    if case.contamination == "cells":
        unspoiled = X
        X, cells = spoil_cells(design, X, case.fraction, rng)
        bad = np.asarray(cells.any(axis=1))
    elif case.contamination:
        X[bad], y[bad] = REGRESSION_KINDS[case.contamination](scene, X[bad], y[bad], rng)
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
    if case.contamination == "cells":
        unspoiled = X
        X, cells = spoil_cells(design, X, case.fraction, rng)
        bad = np.asarray(cells.any(axis=1))
    elif case.contamination:
        X[bad] = PCA_KINDS[case.contamination](PCAScene(design, _minor(design, case)), X[bad], rng)
    truth = leading_subspace(design.covariance, case.components, standardize=case.standardize)
    batches = _cut(case, seed, X, None, bad, unspoiled)
    return Sample(batches, truth, case.law, standardize=case.standardize, covariance=design.covariance)


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
    number = round(case.fraction * case.rows) if case.contamination != "cells" else 0
    return np.concatenate([rng.permutation(case.rows) < number for _ in range(case.batches)])


def _cut(
    case: Case, seed: int, X: Array, y: Array | None, bad: Mask, unspoiled: Array | None
) -> tuple[ContaminatedBatch, ...]:
    if case.garbage is None:
        parts = [slice(start, start + case.rows) for start in range(0, len(X), case.rows)]
        return tuple(
            ContaminatedBatch(X[p], None if y is None else y[p], ~bad[p], None if unspoiled is None else unspoiled[p])
            for p in parts
        )
    kind, order, fraction = case.garbage.kind, case.garbage.order, case.garbage.fraction
    stream = CorruptedBatches(ArraySource(X, y, batch_size=case.rows), fraction, kind, order, seed=seed)
    batches = []
    for batch in stream:
        rows = slice(batch.index * case.rows, (batch.index + 1) * case.rows)
        clean = ~bad[rows] & ~stream.outlier_rows(batch.index)
        batches.append(ContaminatedBatch(batch.X, batch.y, clean))
    return tuple(batches)
