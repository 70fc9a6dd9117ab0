"""Contamination made on purpose, for tests, experiments and rehearsals.

A source is contaminated by wrapping it: rows (`CorruptedRows`), single cells (`CorruptedCells`) or whole batches
(`CorruptedBatches`). The wrappers nest, leave all else as it was, and know which rows they replaced.

Where the outliers lie decides what can be survived (`place_batches`, `spread_outliers`): no learner can find the truth
in any batch if each has a share of 0.6, while 45% of the batches filled with outliers leave the others a share of 0.27
and most of the batches usable.

Garbage is made in units of the data, so that it is garbage for data of any scale: a magnitude of 10 means ten times a
column's ordinary spread. The units are those of the first batch of the wrapped source, for all batches: bad batches
that are to agree on a wrong answer need the same units.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Batch
from robustream.errors import InvalidInputError
from robustream.sources.base import Source, batch_at
from robustream.sources.checking import check_choice, check_count, check_fraction, check_positive
from robustream.sources.ground_truth import KnownOutliers, Mask, generator_for

__all__ = [
    "BATCH_KINDS",
    "ORDERS",
    "ROW_KINDS",
    "SPREADS",
    "CorruptedBatches",
    "CorruptedCells",
    "CorruptedRows",
    "place_batches",
    "spread_outliers",
]

ORDERS = ("random", "first", "last", "burst", "alternating")
SPREADS = ("even", "concentrated", "random")

ROW_KINDS = ("leverage", "cluster", "shift", "sign-flip", "scale")
BATCH_KINDS = ("random", "colluding", "constant", "stale")

# Quartiles of a few rows are good enough for a scale, and cost nothing beside the batches.
_ROWS = 2_000
# The distance between the quartiles of a standard normal distribution.
_NORMAL_QUARTILES = 1.349
# The wrong subspace has this many directions, each with half the variance of the one before: then all batches
# agree on the leading d of them, whatever number d a learner asks for.
_WRONG_DIRECTIONS = 10
_WRONG_NOISE = 0.1

Counts = NDArray[np.int64]
Scores = NDArray[np.float64]


def place_batches(number: int, batches: int, *, order: str = "random", seed: int = 0) -> Counts:
    """Choose which batches of a stream are bad, in increasing order.

    Parameters
    ----------
    number : how many are bad.
    batches : how many there are.
    order : "random"; "first" and "last": at the start or the end of the stream; "burst": one run in
        the middle; "alternating": as evenly apart as possible, beginning with a bad one.
    seed : for order "random".

    Examples
    --------
    >>> place_batches(4, 10, order="burst")
    array([3, 4, 5, 6])
    >>> place_batches(4, 10, order="alternating")
    array([0, 2, 5, 7])
    """
    batches = check_count("batches", batches, least=0)
    number = check_count("number", number, least=0)
    check_choice("order", order, ORDERS)
    seed = check_count("seed", seed, least=0)
    if number > batches:
        raise InvalidInputError(f"number must be at most the number of batches, {batches}, got {number}.")
    places = np.arange(number, dtype=np.int64)
    if order == "last":
        return places + (batches - number)
    if order == "burst":
        return places + (batches - number) // 2
    if order == "alternating":
        return places * batches // max(1, number)
    if order == "random":
        # The first few of one permutation: with more bad batches, those that were bad before stay bad.
        return np.sort(generator_for(seed, 0, "places of bad batches").permutation(batches)[:number])
    return places


def spread_outliers(
    fraction: float,
    batches: int,
    *,
    kind: str = "even",
    rows: int = 10_000,
    level: float = 1.0,
    share: float = 1.0,
    order: str = "random",
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the fraction of outliers in each batch for a fraction in all of them together.

    Each fraction is a whole number of rows, and their total is the stated one to the nearest row.

    Parameters
    ----------
    fraction : share of outliers among all rows.
    batches : number of batches.
    kind : "even"; "concentrated": as few batches as possible are filled to `level`; "random": shares drawn
        from a flat Dirichlet distribution, none above 1.
    rows : rows in a batch.
    level : share of outliers in a filled batch (concentrated only).
    share : largest share of batches to fill; the outliers that are left lie evenly in the other batches
        (concentrated only).
    order : which batches are filled; see `place_batches` (concentrated only).
    seed : for the random kind and the random order.

    Examples
    --------
    >>> spread_outliers(0.25, 4, kind="concentrated", order="first")
    array([1., 0., 0., 0.])
    >>> spread_outliers(0.6, 5, kind="concentrated", share=0.4, order="last").round(2)
    array([0.33, 0.33, 0.33, 1.  , 1.  ])
    """
    fraction = check_fraction("fraction", fraction)
    batches, rows = check_count("batches", batches), check_count("rows", rows)
    check_choice("kind", kind, SPREADS)
    check_choice("order", order, ORDERS)
    seed = check_count("seed", seed, least=0)
    total = round(fraction * batches * rows)
    if kind == "even":
        counts = _even(total, batches)
    elif kind == "concentrated":
        filled = round(check_fraction("level", level) * rows)
        limit = round(check_fraction("share", share) * batches)
        if total > limit * filled + (batches - limit) * rows:
            raise InvalidInputError(
                f"level must leave room for all outliers; with level {level!r} and share {share!r} "
                f"there is none for a fraction of {fraction!r}."
            )
        counts = _concentrated(total, batches, filled, limit, order=order, seed=seed)
    else:
        counts = _random(total, batches, rows, seed)
    return counts / rows


def _even(total: int, batches: int) -> Counts:
    """Share a total out; batches that get one row more are spread evenly too."""
    borders = np.arange(batches + 1, dtype=np.int64) * total // max(1, batches)
    return np.diff(borders)


def _concentrated(total: int, batches: int, filled: int, limit: int, *, order: str, seed: int) -> Counts:
    """Fill up to `limit` batches; one more takes what is left or, at the limit, the others all do."""
    full = min(limit, total // filled) if filled else 0
    rest = total - full * filled
    partial = 1 if rest and full < limit and filled else 0
    chosen = place_batches(full + partial, batches, order=order, seed=seed)
    counts = np.zeros(batches, dtype=np.int64)
    counts[chosen] = filled
    if partial:
        counts[chosen[-1]] = rest
    elif rest:
        others = np.setdiff1d(np.arange(batches), chosen)
        counts[others] = _even(rest, others.size)
    return counts


def _random(total: int, batches: int, rows: int, seed: int) -> Counts:
    """Draw uneven shares, scale them to the total with none above a full batch, round to rows."""
    shares = generator_for(seed, 0, "spread of outliers").standard_exponential(batches)
    exact = np.zeros(batches)
    open_batches = np.ones(batches, dtype=bool)
    while open_batches.any():
        left = total - rows * np.count_nonzero(~open_batches)
        exact[open_batches] = shares[open_batches] / shares[open_batches].sum() * left
        over = open_batches & (exact > rows)
        if not over.any():
            break
        exact[over] = rows
        open_batches &= ~over
    counts = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    # The largest remainders are rounded up; full batches have none.
    order = np.argsort(np.where(counts < rows, counts - exact, np.inf), kind="stable")
    counts[order[:missing]] += 1
    return counts


@dataclass(frozen=True)
class Units:
    """Center and scale of each column; for labels (integers, text) those of their places in sorted order."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    labels: NDArray[Any] | None = None

    def read(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Express values in these units."""
        if self.labels is not None:
            # A label that the first batch did not have gets the place of its neighbour.
            values = np.searchsorted(self.labels, values).clip(0, self.labels.size - 1)
        return (np.asarray(values, dtype=np.float64) - self.center) / self.scale

    def write(self, scores: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the values for numbers in these units, in the type of the data."""
        values = self.center + self.scale * scores
        if self.labels is not None:
            return self.labels[np.rint(values).astype(np.intp).clip(0, self.labels.size - 1)].astype(dtype)
        if np.issubdtype(dtype, np.integer):
            bounds = np.iinfo(dtype)
            # One step inside the bounds, which a float may be unable to hold, is garbage enough.
            return np.rint(values).clip(bounds.min / 2, bounds.max / 2).astype(dtype)
        return values.astype(dtype)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], magnitude: float) -> NDArray[np.float64]:
        """Draw numbers in these units: uniform up to a magnitude, or labels that are equally likely."""
        if self.labels is not None:
            return np.asarray((rng.integers(self.labels.size, size=shape) - self.center) / self.scale)
        return magnitude * rng.uniform(-1.0, 1.0, shape)


def units_of(values: NDArray[Any], *, target: bool = False) -> Units:
    """Return the units of some rows; targets that are no real numbers are labels."""
    if target and not np.issubdtype(values.dtype, np.floating):
        labels = np.unique(values)
        return Units(np.asarray((labels.size - 1) / 2), np.asarray(1.0), labels)
    rows = values[:_ROWS].astype(np.float64)
    with warnings.catch_warnings():
        # Columns without any number get center 0 and scale 1 below.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, center, high = np.nanquantile(rows, [0.25, 0.5, 0.75], axis=0)
        scale = (high - low) / _NORMAL_QUARTILES
        # Sparse columns have equal quartiles and some spread nevertheless.
        scale = np.where(scale > 0, scale, np.nanstd(rows, axis=0))
    usable = np.isfinite(center) & np.isfinite(scale) & (scale > 0)
    return Units(np.where(np.isfinite(center), center, 0.0), np.where(usable, scale, 1.0))


class Corrupted(KnownOutliers):
    """A source whose batches are those of another one, spoiled."""

    def __init__(self, source: Source, magnitude: float, seed: int) -> None:
        if not isinstance(source, Source):
            raise InvalidInputError(f"source must be a Source, such as ArraySource(X), got {type(source).__name__}.")
        self.source = source
        self.magnitude = check_positive("magnitude", magnitude)
        self.seed = check_count("seed", seed, least=0)

    @property
    def count(self) -> int | None:
        """Return the number of batches of the wrapped source."""
        return self.source.count

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """Yield the batches from index `start` on."""
        for batch in self.source.batches(start=start):
            yield self._spoil(batch)

    def outlier_rows(self, index: int) -> Mask:
        """Tell for each row of a batch whether it was spoiled here or was an outlier before."""
        if isinstance(self.source, KnownOutliers):
            before = self.source.outlier_rows(index)
        else:
            before = np.zeros(batch_at(self.source, index).rows, dtype=bool)
        return before | self._spoiled_rows(index, before.size)

    @abstractmethod
    def _spoil(self, batch: Batch) -> Batch:
        """Return the batch with its garbage."""

    @abstractmethod
    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        """Tell which rows of a batch are spoiled here."""

    def _generator(self, index: int, purpose: str) -> np.random.Generator:
        return generator_for(self.seed, index, f"{type(self).__name__} {purpose}")

    def _random_rows(self, index: int, rows: int, fraction: float) -> Mask:
        """Choose round(fraction * rows) rows; a larger fraction keeps those of a smaller one."""
        mask = np.zeros(rows, dtype=bool)
        mask[self._generator(index, "places").permutation(rows)[: round(fraction * rows)]] = True
        return mask

    @cached_property
    def _first(self) -> Batch:
        return batch_at(self.source, 0)

    @cached_property
    def _x_units(self) -> Units:
        return units_of(self._first.X)

    @cached_property
    def _y_units(self) -> Units | None:
        return None if self._first.y is None else units_of(self._first.y, target=True)


class CorruptedRows(Corrupted):
    """A source in which some rows of each batch are outliers.

    Parameters
    ----------
    source : the source to spoil.
    fraction : share of bad rows; exactly round(fraction * rows) of each batch.
    kind : "leverage": far out, with the relation to y reversed (without y, with the columns reversed);
        "cluster": close to one far point; "shift": y moved up (without y, all columns); "sign-flip": y
        mirrored (without y, half of the cells of x); "scale": x stretched, y as it was.
    magnitude : how far, in units of each column's spread in the first batch.
    seed : for places and garbage.

    Examples
    --------
    >>> from robustream.sources import SimulatedRegression
    >>> source = CorruptedRows(SimulatedRegression(batches=2, rows=50, columns=3), 0.1, "shift")
    >>> int(source.outlier_rows(0).sum())
    5
    """

    def __init__(
        self,
        source: Source,
        fraction: float = 0.1,
        kind: str = "leverage",
        *,
        magnitude: float = 10.0,
        seed: int = 0,
    ) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)
        self.kind = check_choice("kind", kind, ROW_KINDS)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return self._random_rows(index, rows, self.fraction)

    def _spoil(self, batch: Batch) -> Batch:
        bad = self._spoiled_rows(batch.index, batch.rows)
        X, y, y_units = batch.X.copy(), None if batch.y is None else batch.y.copy(), self._y_units
        x_scores = self._x_units.read(X[bad])
        y_scores = None if y is None or y_units is None else y_units.read(y[bad])
        x_scores, y_scores = self._change(batch.index, x_scores, y_scores)
        X[bad] = self._x_units.write(x_scores, X.dtype)
        if y is not None and y_units is not None and y_scores is not None:
            y[bad] = y_units.write(y_scores, y.dtype)
        return batch._replace(X=X, y=y)

    def _change(self, index: int, x: Scores, y: Scores | None) -> tuple[Scores, Scores | None]:
        """Make outliers of rows in units of the data, where 0 is a column's center and 1 its spread."""
        rng, magnitude = self._generator(index, "garbage"), self.magnitude
        if self.kind == "leverage":
            return (magnitude * x[:, ::-1], None) if y is None else (magnitude * x, -magnitude * y)
        if self.kind == "cluster":
            # From the generator of no batch in particular: the cluster stands at the same place in all.
            common = self._generator(0, "common point")
            x_point = magnitude * common.choice([-1.0, 1.0], size=x.shape[1:])
            x = x_point + 0.1 * rng.standard_normal(x.shape)
            if y is None:
                return x, None
            y_point = magnitude * common.choice([-1.0, 1.0], size=y.shape[1:])
            return x, y_point + 0.1 * rng.standard_normal(y.shape)
        if self.kind == "shift":
            return (x + magnitude, None) if y is None else (x, y + magnitude)
        if self.kind == "sign-flip":
            if y is not None:
                return x, -y
            mirrored = rng.permuted(np.broadcast_to(np.arange(x.shape[1]), x.shape), axis=1) < (x.shape[1] + 1) // 2
            return np.where(mirrored, -x, x), None
        return magnitude * x, y


class CorruptedCells(Corrupted):
    """A source in which single cells of X are far off; y is left alone.

    Parameters
    ----------
    source : the source to spoil.
    fraction : share of bad cells; exactly round(fraction * cells) of each batch.
    magnitude : their distance from the column's center, on either side, in units of the column's spread in
        the first batch.
    seed : for places and signs.

    Examples
    --------
    >>> from robustream.sources import SimulatedPCA
    >>> source = CorruptedCells(SimulatedPCA(batches=2, rows=50, columns=10, components=1), 0.02)
    >>> int(source.bad_cells(1).sum())
    10
    """

    def __init__(self, source: Source, fraction: float = 0.02, *, magnitude: float = 10.0, seed: int = 0) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)

    def bad_cells(self, index: int) -> Mask:
        """Tell for each cell of a batch whether it was spoiled here."""
        return self._cells(index, batch_at(self.source, index).rows)

    def _cells(self, index: int, rows: int) -> Mask:
        columns = self._first.X.shape[1]
        return self._random_rows(index, rows * columns, self.fraction).reshape(rows, columns)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return np.asarray(self._cells(index, rows).any(axis=1))

    def _spoil(self, batch: Batch) -> Batch:
        bad = self._cells(batch.index, batch.rows)
        rng = self._generator(batch.index, "signs")
        signs = rng.choice([-1.0, 1.0], size=batch.X.shape)
        garbage = self._x_units.write(self.magnitude * signs, batch.X.dtype)
        return batch._replace(X=np.where(bad, garbage, batch.X))


class CorruptedBatches(Corrupted):
    """A source in which some batches are garbage as a whole, and the others are as they were.

    Parameters
    ----------
    source : the source to spoil; the number of its batches must be known.
    fraction : share of bad batches; exactly round(fraction * count) are bad.
    kind : "random": rows without structure, new ones in each batch; "colluding": all bad batches agree on one
        wrong subspace or, where there is a y, on one wrong coefficient vector, with large x; "constant": all
        rows are one and the same, in all bad batches; "stale": copies of the first good batch.
    order : where the bad batches stand: "random", "first", "last", "burst", "alternating"; see
        `place_batches`.
    level : share of the rows of a bad batch that are replaced.
    magnitude : size of the garbage, in units of each column's spread in the first batch.
    seed : for the garbage and the random order.

    Attributes
    ----------
    bad_indices : the indices of the bad batches, increasing.

    Examples
    --------
    >>> from robustream.sources import SimulatedPCA
    >>> clean = SimulatedPCA(batches=10, rows=20, columns=4, components=1)
    >>> CorruptedBatches(clean, 0.3, "colluding", order="burst").bad_indices
    array([3, 4, 5])
    """

    def __init__(
        self,
        source: Source,
        fraction: float = 0.4,
        kind: str = "random",
        order: str = "random",
        *,
        level: float = 1.0,
        magnitude: float = 10.0,
        seed: int = 0,
    ) -> None:
        super().__init__(source, magnitude, seed)
        self.fraction = check_fraction("fraction", fraction)
        self.kind = check_choice("kind", kind, BATCH_KINDS)
        self.order = order
        self.level = check_fraction("level", level)
        if source.count is None:
            raise InvalidInputError(
                "source must have a known number of batches, so that a share can be chosen; its count is None. "
                "For an unbounded source use CorruptedRows or CorruptedCells."
            )
        self.bad_indices = place_batches(round(self.fraction * source.count), source.count, order=order, seed=self.seed)

    @property
    def wrong_basis(self) -> Scores:
        """Return the subspace on which colluding batches agree but for noise: p x r, leading directions first."""
        factor = self._x_units.scale[:, None] * self._wrong_directions * self._wrong_deviations
        return np.linalg.svd(factor, full_matrices=False)[0]

    @property
    def wrong_coef(self) -> Scores:
        """Return the coefficients on which colluding batches agree, in the shape of a fitted model's."""
        if self._y_units is None:
            raise InvalidInputError("wrong_coef needs a source with y; this one has none.")
        return np.asarray((self._wrong_weights * self._y_units.scale).T / self._x_units.scale)

    def _spoil(self, batch: Batch) -> Batch:
        if batch.index not in self.bad_indices:
            return batch
        bad = self._spoiled_rows(batch.index, batch.rows)
        X, y = batch.X.copy(), None if batch.y is None else batch.y.copy()
        if self.kind == "stale":
            repeated = np.arange(batch.rows)[bad] % self._stale.rows
            X[bad] = self._stale.X[repeated]
            if y is not None and self._stale.y is not None:
                y[bad] = self._stale.y[repeated]
            return batch._replace(X=X, y=y)
        x_scores, y_scores = self._garbage(batch.index, int(bad.sum()), None if y is None else y.shape[1:])
        X[bad] = self._x_units.write(x_scores, X.dtype)
        if y is not None and y_scores is not None and self._y_units is not None:
            y[bad] = self._y_units.write(y_scores, y.dtype)
        return batch._replace(X=X, y=y)

    def _spoiled_rows(self, index: int, rows: int) -> Mask:
        return self._random_rows(index, rows, self.level if index in self.bad_indices else 0.0)

    def _garbage(self, index: int, rows: int, outputs: tuple[int, ...] | None) -> tuple[Scores, Scores | None]:
        """Make bad rows in units of the data."""
        rng = self._generator(index, "garbage")
        columns = self._x_units.center.size
        if self.kind == "constant":
            common = self._generator(0, "constant row")
            x_row = self.magnitude * common.choice([-1.0, 1.0], columns)
            X = np.tile(x_row, (rows, 1))
            if outputs is None:
                return X, None
            return X, np.full((rows, *outputs), self.magnitude * common.choice([-1.0, 1.0], outputs))
        if outputs is None and self.kind == "colluding":
            scores = rng.standard_normal((rows, self._wrong_deviations.size)) * self._wrong_deviations
            return scores @ self._wrong_directions.T + rng.standard_normal((rows, columns)), None
        X = self.magnitude * rng.uniform(-1.0, 1.0, (rows, columns))
        if outputs is None or self._y_units is None:
            return X, None
        if self.kind == "random":
            return X, self._y_units.random(rng, (rows, *outputs), self.magnitude)
        return X, X @ self._wrong_weights + _WRONG_NOISE * rng.standard_normal((rows, *outputs))

    @cached_property
    def _wrong_directions(self) -> Scores:
        columns = self._x_units.center.size
        directions = self._generator(0, "wrong subspace").standard_normal((columns, min(columns, _WRONG_DIRECTIONS)))
        return np.linalg.qr(directions)[0]

    @property
    def _wrong_deviations(self) -> Scores:
        return self.magnitude * np.sqrt(0.5) ** np.arange(self._wrong_directions.shape[1])

    @cached_property
    def _wrong_weights(self) -> Scores:
        """Columns (x outputs), of unit length: the wrong y is about as large for its x as the right one."""
        first_y: NDArray[Any] = np.zeros(0) if self._first.y is None else self._first.y
        weights = self._generator(0, "wrong weights").standard_normal((self._first.X.shape[1], *first_y.shape[1:]))
        return np.asarray(weights / np.linalg.norm(weights, axis=0))

    @cached_property
    def _stale(self) -> Batch:
        """The first good batch or, if there is none, the first."""
        good = np.setdiff1d(np.arange(self.count or 0), self.bad_indices)
        return batch_at(self.source, int(good[0]) if good.size else 0)
