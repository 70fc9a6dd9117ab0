"""The paper's simulated data, with the truth at hand.

Both sources draw the clean rows first and put outliers in the places of some of them. So with one seed the
clean rows are the same for every fraction of outliers, and a larger fraction only adds outliers to those of a
smaller.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.checking import check_count, check_float_dtype, check_positive
from robustream.sources.ground_truth import KnownOutliers, Mask, generator_for

__all__ = ["SimulatedPCA", "SimulatedRegression"]


class _Simulated(KnownOutliers):
    """Equal batches, each made from its own generator, with outliers in random places."""

    def __init__(
        self,
        batches: int,
        rows: int,
        columns: int,
        noise: float,
        outlier_magnitude: float,
        outliers: ArrayLike,
        seed: int,
        dtype: DTypeLike,
    ) -> None:
        self.rows = check_count("rows", rows)
        self.columns = check_count("columns", columns)
        self.noise = check_positive("noise", noise, zero=True)
        self.outlier_magnitude = check_positive("outlier_magnitude", outlier_magnitude, zero=True)
        self.outlier_fractions = _fractions(outliers, check_count("batches", batches))
        self.seed = check_count("seed", seed, least=0)
        self.dtype = check_float_dtype(dtype)

    @property
    def count(self) -> int:
        """Return the number of batches."""
        return self.outlier_fractions.size

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""
        for index in range(check_count("start", start, least=0), self.count):
            yield self.batch(index)

    def batch(self, index: int) -> Batch:
        """Make one batch."""
        self._check_index(index)
        X, y = self._rows(index, self.outlier_rows(index))
        return Batch(index, f"simulated batch {index}", X, y)

    def outlier_rows(self, index: int) -> Mask:
        """Tell for each row of a batch whether it is an outlier; there are round(fraction * rows) of them."""
        self._check_index(index)
        mask = np.zeros(self.rows, dtype=bool)
        number = round(self.outlier_fractions[index] * self.rows)
        mask[self._generator(index, "places").permutation(self.rows)[:number]] = True
        return mask

    @abstractmethod
    def _rows(self, index: int, outliers: Mask) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Make the rows of one batch."""

    def _generator(self, index: int, purpose: str) -> np.random.Generator:
        return generator_for(self.seed, index, f"{type(self).__name__} {purpose}")

    def _normal(self, rng: np.random.Generator, *shape: int) -> NDArray[Any]:
        return rng.standard_normal(shape, dtype=self.dtype.type)

    def _uniform(self, rng: np.random.Generator, *shape: int) -> NDArray[Any]:
        """Draw from [-outlier_magnitude, outlier_magnitude]."""
        values = rng.random(shape, dtype=self.dtype.type)
        values -= 0.5
        values *= 2 * self.outlier_magnitude
        return values

    def _check_index(self, index: int) -> None:
        if check_count("index", index, least=0) >= self.count:
            raise InvalidInputError(f"index must be below the number of batches, {self.count}, got {index!r}.")


class SimulatedPCA(_Simulated):
    """Rows x = U z + noise * e, and outliers uniform in a box.

    Parameters
    ----------
    batches, rows, columns : number of batches, rows in each of them, columns.
    components : dimension of the subspace, d.
    noise : standard deviation of e; z has 1.
    outlier_magnitude : outliers are uniform in [-outlier_magnitude, outlier_magnitude] in each column.
    outliers : fraction of outliers in every batch, or one for each batch; see `spread_outliers`.
    seed, dtype : float32 and float64 give different numbers for the same seed, but the same subspace.

    Attributes
    ----------
    basis : U, the true p x d orthonormal basis.

    Examples
    --------
    >>> source = SimulatedPCA(batches=3, rows=50, columns=8, components=2, outliers=[0.0, 0.2, 1.0])
    >>> [int(source.outlier_rows(index).sum()) for index in range(3)]
    [0, 10, 50]
    >>> source.batch(2).X.shape, source.basis.shape
    ((50, 8), (8, 2))
    """

    def __init__(
        self,
        batches: int = 100,
        rows: int = 10_000,
        columns: int = 100,
        components: int = 5,
        *,
        noise: float = 1.0,
        outlier_magnitude: float = 10.0,
        outliers: ArrayLike = 0.0,
        seed: int = 0,
        dtype: DTypeLike = np.float64,
    ) -> None:
        super().__init__(batches, rows, columns, noise, outlier_magnitude, outliers, seed, dtype)
        self.components = check_count("components", components)
        if self.components > self.columns:
            raise InvalidInputError(
                f"components must be at most the number of columns, {self.columns}, got {components!r}."
            )
        directions = self._generator(0, "truth").standard_normal((self.columns, self.components))
        self.basis: NDArray[np.float64] = np.linalg.qr(directions)[0]

    def _rows(self, index: int, outliers: Mask) -> tuple[NDArray[Any], None]:
        rng = self._generator(index, "rows")
        scores = self._normal(rng, self.rows, self.components)
        X = self._normal(rng, self.rows, self.columns)
        X *= self.noise
        X += scores @ self.basis.T.astype(self.dtype)
        X[outliers] = self._uniform(self._generator(index, "outliers"), int(outliers.sum()), self.columns)
        return X, None


class SimulatedRegression(_Simulated):
    """Rows y = theta.x + noise * e with standard normal x; outliers have large x and y = -theta.x + noise * v.

    Parameters
    ----------
    batches, rows, columns : number of batches, rows in each of them, columns.
    outputs : None for one output and a y of one dimension, or the number of columns of y.
    noise : standard deviation of the noise; that of the outliers too.
    outlier_magnitude : outliers' x are uniform in [-outlier_magnitude, outlier_magnitude] in each column.
    outliers : fraction of outliers in every batch, or one for each batch; see `spread_outliers`.
    intercept : a constant that is added to y, for outliers too.
    seed, dtype : float32 and float64 give different numbers for the same seed, but the same coefficients.

    Attributes
    ----------
    coef : the true coefficients: columns, or outputs x columns, standard normal.

    Examples
    --------
    >>> source = SimulatedRegression(batches=2, rows=50, columns=4, noise=0.0, outliers=0.1)
    >>> batch, outliers = source.batch(1), source.outlier_rows(1)
    >>> bool(np.allclose(batch.y[~outliers], batch.X[~outliers] @ source.coef))
    True
    """

    def __init__(
        self,
        batches: int = 100,
        rows: int = 10_000,
        columns: int = 100,
        outputs: int | None = None,
        *,
        noise: float = 1.0,
        outlier_magnitude: float = 10.0,
        outliers: ArrayLike = 0.0,
        intercept: float = 0.0,
        seed: int = 0,
        dtype: DTypeLike = np.float64,
    ) -> None:
        super().__init__(batches, rows, columns, noise, outlier_magnitude, outliers, seed, dtype)
        self.outputs = None if outputs is None else check_count("outputs", outputs)
        self.intercept = float(intercept)
        shape = (self.columns,) if self.outputs is None else (self.outputs, self.columns)
        self.coef: NDArray[np.float64] = self._generator(0, "truth").standard_normal(shape)

    def _rows(self, index: int, outliers: Mask) -> tuple[NDArray[Any], NDArray[Any]]:
        rng = self._generator(index, "rows")
        X = self._normal(rng, self.rows, self.columns)
        # The noise of a row is the same whether it is an outlier or not: it is as good as any for v.
        y = self._normal(rng, self.rows, *(() if self.outputs is None else (self.outputs,)))
        y *= self.noise
        X[outliers] = self._uniform(self._generator(index, "outliers"), int(outliers.sum()), self.columns)
        explained = X @ self.coef.T.astype(self.dtype)
        explained[outliers] *= -1
        y += explained + self.dtype.type(self.intercept)
        return X, y


def _fractions(outliers: ArrayLike, batches: int) -> NDArray[np.float64]:
    """Return one fraction for each batch."""
    try:
        fractions = np.asarray(outliers, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"outliers must be a number or one number for each batch, got {outliers!r}.") from None
    if fractions.shape not in ((), (batches,)):
        raise InvalidInputError(
            f"outliers must be a number or one number for each of the {batches} batches, "
            f"got an array of shape {fractions.shape}."
        )
    if not np.all((fractions >= 0) & (fractions <= 1)):
        raise InvalidInputError(f"outliers must lie between 0 and 1, got {outliers!r}.")
    return np.broadcast_to(fractions, batches).copy()
