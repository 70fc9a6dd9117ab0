"""Batches that are slices of one table: sorted rows, a trend, seasons.

Where a table comes in the order of a column, of its target or of time, each batch is a slice of it. Its mean, its line
and its directions are those of the slice, and differ from the others' by far more than chance, though no row is bad:
lines through slices of a bend, or along a target that hardly varies within a slice, are other lines. Given as one
table, none of these rows would be left out; so none of the batches may be.

Batches are taken for slices if

1. those that are kept differ along some direction of columns and targets by more than they vary within,
   var(means) >= TILED mean(variance within), which exchangeable batches do not: there it is 1 / rows;
2. along that direction all batches adjoin: neighbours lie at most APART of their own deviations apart (slices of a
   uniform law 3.5, of a normal or an exponential one less), so that batches of another place are none; and
3. the table that they make shows no group: rows drawn from normal laws with the means and covariances of the batches
   are asked the question that a table is asked, and so are their deviations from the means of their batches, across
   that direction. Batches that are bad make a group of rows, if they stand clear, or a second scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.majority.columns import APART
from robustream.majority.line import majority_line
from robustream.majority.points import majority
from robustream.spaces import Array, Law

__all__ = ["are_slices", "tile"]

TILED = 4.0  # variance of means along a direction, by that within batches: two deviations
SEPARATE = 1.0  # deviations between neighbours that do not overlap, at least: those of an exponential tail have 2
_FEWEST = 4  # batches that make a table
_FEWEST_TOLD = 8  # of which neighbours alone tell
_WIDEST = 200  # columns and targets, beyond which laws are too dear to draw from
_DRAWN, _PER_COLUMN = 1500, 20  # rows
_MOST = 300  # batches that rows are drawn from
_RIDGE = 1e-6  # of the variance within: moments may be in single precision


def are_slices(laws: Sequence[Law], rows: Array, kept: NDArray[np.bool_], targets: int) -> bool:
    """Return whether batches, given by the laws of their rows and the numbers of these, are slices of one table.

    `kept` marks those that nothing speaks against so far; the last entries of the laws are so many targets.
    """
    if len(laws) < _FEWEST or np.count_nonzero(kept) < 2 or len(laws[0].mean) > _WIDEST:
        return False
    means, spreads = _in_units(laws, kept)
    tiles = _tiles(means, spreads, kept)
    if tiles is None:
        return False
    order, along = tiles
    some = order[:: -(-len(order) // _MOST)]
    across = _drawn(np.zeros_like(means[some]), spreads[some], rows[some])
    across = across @ linalg.null_space(along[None])
    return _is_one(_drawn(means[some], spreads[some], rows[some]), targets) and _is_one(across, 0)


def tile(laws: Sequence[Law]) -> bool:
    """Return whether batches follow one another along some direction as slices of sorted rows do, side by side.

    Nothing is asked of the table that they make; so few batches of garbage must not seem to be slices by chance.
    """
    if len(laws) < _FEWEST_TOLD or len(laws[0].mean) > _WIDEST:
        return False
    every = np.ones(len(laws), bool)
    return _tiles(*_in_units(laws, every), every, SEPARATE) is not None


def _in_units(laws: Sequence[Law], kept: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return means and covariances in units of the usual deviation within a batch; as they are, of columns without."""
    means = np.stack([law.mean for law in laws]).astype(np.float64)
    spreads = np.stack([law.covariance for law in laws]).astype(np.float64)
    unit = np.sqrt(np.maximum(np.einsum("kii->ki", spreads[kept]).mean(axis=0), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    return (means - means[0]) / unit, spreads / np.outer(unit, unit)


def _tiles(
    means: Array, spreads: Array, kept: NDArray[np.bool_], separate: float = 0.0
) -> tuple[NDArray[np.intp], Array] | None:
    """Return the order of batches along the direction in which the kept ones differ most, and it, if they tile it.

    `separate` is how many deviations neighbours must lie apart.

    Columns that do not vary within batches are those of a site or a day: what they do is another question.
    """
    within = spreads[kept].mean(axis=0)
    use = within.diagonal() > 0
    if not use.any() or not (np.isfinite(means).all() and np.isfinite(spreads).all()):
        return None
    means, spreads, within = means[:, use], spreads[:, use][:, :, use], within[np.ix_(use, use)]
    within = within + _RIDGE * np.eye(len(within))
    between = np.cov(means[kept].T, bias=True).reshape(within.shape)
    try:
        root = np.linalg.cholesky(within)
    except np.linalg.LinAlgError:  # columns that say the same, to the last digit
        return None
    inverse = linalg.solve_triangular(root, np.eye(len(root)), lower=True)
    sizes, directions = np.linalg.eigh(inverse @ between @ inverse.T)
    if sizes[-1] < TILED:
        return None
    along = inverse.T @ directions[:, -1]
    place, width = means @ along, np.sqrt(np.maximum(np.einsum("i,kij,j->k", along, spreads, along), 0.0))
    order = np.argsort(place, kind="stable")
    apart, widths = np.diff(place[order]), (width[order][1:] + width[order][:-1]) / 2
    if np.any((apart > APART * widths) | (apart < separate * widths)):
        return None
    whole = np.zeros(len(use))
    whole[use] = within @ along  # so that what is at right angles to it does not vary with the place
    return order, whole


def _drawn(means: Array, spreads: Array, rows: Array) -> Array:
    """Return rows from normal laws, as many from each as its share of all rows."""
    rng, size = np.random.default_rng(0), max(_DRAWN, _PER_COLUMN * means.shape[1])
    counts = np.diff(np.round(np.append(0.0, np.cumsum(rows / rows.sum())) * size)).astype(int)
    parts = []
    for mean, spread, count in zip(means, spreads, counts, strict=True):
        values, vectors = np.linalg.eigh(spread)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        parts.append(mean + rng.normal(size=(count, len(mean))) @ root.T)
    return np.concatenate(parts)


def _is_one(table: Array, targets: int) -> bool:
    """Return whether a table shows no group that stands apart."""
    columns = table.shape[1] - targets
    if not targets:
        found = majority(table)
        return not found.groups and not found.divided
    X = np.ascontiguousarray(table[:, :columns])
    lines = [majority_line(X, np.ascontiguousarray(y)) for y in table[:, columns:].T]
    return not any(line.groups or line.divided for line in lines)
