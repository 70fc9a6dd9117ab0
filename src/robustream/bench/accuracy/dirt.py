"""What dirt does to rows: each function gets clean rows and gives what they become.

`scene` knows the law of the clean rows. Distances are in units of it, so that dirt is as far in every design.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robustream.bench.accuracy.designs import Design
from robustream.bench.accuracy.sample import Array, Mask

__all__ = ["LEVEL", "PCA_DIRT", "REGRESSION_DIRT", "PCAScene", "RegressionScene", "spoil_cells"]

Rng = np.random.Generator

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


RegressionDirt = Callable[[RegressionScene, Array, Array, Rng], tuple[Array, Array]]
REGRESSION_DIRT: dict[str, RegressionDirt] = {
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


PCADirt = Callable[[PCAScene, Array, Rng], Array]
PCA_DIRT: dict[str, PCADirt] = {
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
