"""Batches of a stream searched as one table: the search costs as much for ten small batches as for one.

A search looks at some 1,500 rows, whatever the size of the table. So small batches that are alike are searched
together, and each is then summed up for itself from the rows that the search believes: it keeps an estimate of its own,
and its vote against batches that are wrong as a whole. That is right only where the batches are alike. Those that are
not are searched for themselves, and the others once more without them: batches that leave out another share of their
rows than the others do, beyond chance and by more than half of the usual share. (They are bad as a whole, or dirty, or
of another site.) Each is searched by itself

* where there are groups of which none has the majority, as where half of the batches are bad,
* where all rows together are noisier than those of each batch by itself, by a factor of NOISIER: batches that differ
  from one another hide the rows that are bad in each, and
* where next to nothing was left out, but more of the batch of median or of least noise if it is searched by itself: bad
  batches hide the rows that are bad in good ones. (Of the batches on either side of the median more than half are good
  in most streams; where here most are bad and noisy, as garbage is, the least noisy one is good.)

Neither of the last two is asked of batches that are slices of one table (`majority.slices`), as those of sorted rows
are: there the table is what rows are to be compared with, and a slice by itself has edges and gaps of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from robustream.batch import Batch
from robustream.learners.base import Solved, Together
from robustream.spaces import Array, Law

if TYPE_CHECKING:  # its compiled loops are loaded with the first batch
    from robustream.majority import Group, Majority

__all__ = ["NOISIER", "RowSearch", "lines_together", "majorities_together"]

Mask: TypeAlias = NDArray[np.bool_]
Found = TypeVar("Found")
Value = TypeVar("Value", bound=np.generic)
Moments: TypeAlias = tuple[float, Array, Array]  # sum of the weights, mean and covariance of columns and targets

# Where batches together are noisier than each by itself, by this factor, they differ from one another.
NOISIER = 1.25
# Share of the rows left out below which two batches are searched by themselves: bad rows may hide behind bad batches.
_LITTLE = 0.05
# Of the variance of a column, for directions without any.
_RIDGE = 1e-6


class RowSearch(NamedTuple):
    """What was found of the rows of a regression."""

    rows: Array  # bad cells are filled
    targets: Array
    gaps: Mask | None  # cells that came without a value
    missing: Mask | None  # these, and bad cells
    noise: Array | None  # how many times the noise of others each row has
    filled: int  # cells
    weights: Array | None  # by which rows are believed; None where each is 1
    believed: Mask
    groups: tuple[Group, ...]
    divided: bool  # whether there are groups of which none has the majority
    moments: Moments | None = None  # where they are known already

    def filled_in(self, piece: slice) -> int:
        """Return how many cells of some rows were filled though they had come with a value."""
        if self.missing is None:
            return 0
        bad = self.missing[piece] if self.gaps is None else self.missing[piece] & ~self.gaps[piece]
        return int(np.count_nonzero(bad))


def majorities_together(batches: Sequence[Batch], sum_up: Callable[[Batch, Majority], Solved]) -> Together:
    """Search batches as one cloud of points; `sum_up` makes an answer of a batch and of its part of the majority."""
    from robustream.majority import majority, moments, tile

    rows = np.concatenate([batch.X for batch in batches])
    fit = majority(rows, summed=False)
    believed = np.ones(len(rows), bool)
    for group in fit.groups:
        believed &= ~group.members
    pieces = _pieces(batches)
    if (unlike := _unlike(fit.divided, believed, pieces)) is not None:
        return unlike
    parts = []
    for piece in pieces:
        cells = None if fit.cells is None or not fit.cells[piece].any() else fit.cells[piece]
        center, scatter = moments(rows[piece], fit.weights[piece], cells)
        groups = _part_of(fit.groups, piece)
        parts.append(
            fit._replace(center=center, scatter=scatter, weights=fit.weights[piece], groups=groups, cells=cells)
        )
    own = [(max(float(part.weights.sum()), 1e-300), part.center, part.scatter) for part in parts]
    _, center, scatter = _pooled(own)
    if fit.cells is not None:  # moments of pairs of cells are not those of parts together
        center, scatter = moments(rows, fit.weights, fit.cells)
    fit = fit._replace(center=center, scatter=scatter)
    sliced = tile([Law(part.center, part.scatter) for part in parts])
    if not sliced and _differ(
        fit.scatter, [part.scatter for part in parts], [float(part.weights.sum()) for part in parts]
    ):
        return Together()
    if not sliced and (~believed).mean() < _LITTLE:
        unit = np.where(fit.scatter.diagonal() > 0, fit.scatter.diagonal(), 1.0)
        for one in _told([float((part.scatter.diagonal() / unit).sum()) for part in parts]):
            alone = majority(batches[one].X, summed=False)
            if _hidden(sum(group.rows for group in alone.groups), believed[pieces[one]]):
                return Together()
    whole = batches[0]._replace(X=rows)
    return _each(sum_up, batches, parts, whole, fit)


def lines_together(
    batches: Sequence[Batch],
    search: Callable[[Batch], RowSearch],
    moments_of: Callable[[RowSearch], Moments],
    sum_up: Callable[[Batch, RowSearch], Solved],
) -> Together:
    """Search batches of a regression as one table; `sum_up` makes an answer of a batch and what was found of it."""
    from robustream.majority import tile

    rows, targets = (np.concatenate(part) for part in zip(*((batch.X, batch.y) for batch in batches), strict=True))
    whole = batches[0]._replace(X=rows, y=targets)
    found = search(whole)
    pieces = _pieces(batches)
    if (unlike := _unlike(found.divided, found.believed, pieces)) is not None:
        return unlike
    parts = [
        found._replace(
            rows=found.rows[piece],
            targets=found.targets[piece],
            gaps=_rows_of(found.gaps, piece),
            missing=_rows_of(found.missing, piece),
            noise=_rows_of(found.noise, piece),
            filled=found.filled_in(piece),
            weights=None if found.weights is None or np.all(found.weights[piece] == 1) else found.weights[piece],
            believed=found.believed[piece],
            groups=_part_of(found.groups, piece),
        )
        for piece in pieces
    ]
    moments = [moments_of(part) for part in parts]
    pooled = _pooled(moments)
    columns = rows.shape[1]
    sliced = tile([Law(mean, covariance) for _, mean, covariance in moments])
    if not sliced and np.any(_noise([pooled], columns) > NOISIER**2 * _noise(moments, columns)):
        return Together()
    if not sliced and (~found.believed).mean() < _LITTLE:
        unit = np.maximum(_noise([pooled], columns), 1e-300)
        for one in _told([float((_noise([own], columns) / unit).sum()) for own in moments]):
            alone = search(batches[one])
            if _hidden(int(np.count_nonzero(~alone.believed)), found.believed[pieces[one]]):
                return Together()
    if found.missing is None:  # else the answer has moments of its own, by maximum likelihood
        parts = [part._replace(moments=own) for part, own in zip(parts, moments, strict=True)]
        found = found._replace(moments=pooled)
    return _each(sum_up, batches, parts, whole, found)


def _each(
    sum_up: Callable[[Batch, Found], Solved],
    batches: Sequence[Batch],
    parts: Sequence[Found],
    whole: Batch,
    found: Found,
) -> Together:
    each = (partial(sum_up, batch, part) for batch, part in zip(batches, parts, strict=True))
    return Together(tuple(each), partial(sum_up, whole, found))


def _rows_of(values: NDArray[Value] | None, piece: slice) -> NDArray[Value] | None:
    return None if values is None else values[piece]


def _pieces(batches: Sequence[Batch]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate((batch.rows for batch in batches), initial=0))]


def _part_of(groups: tuple[Group, ...], piece: slice) -> tuple[Group, ...]:
    """Return what of the groups lies in a stretch of the rows."""
    parts = (group._replace(members=group.members[piece]) for group in groups)
    return tuple(
        part._replace(rows=int(part.members.sum()), share=float(part.members.mean()))
        for part in parts
        if part.members.any()
    )


def _unlike(divided: bool, believed: Mask, pieces: Sequence[slice]) -> Together | None:
    """Return which batches leave out another share of their rows than most, or nothing where the rows have no majority.

    None where batches are alike: their shares differ as chance makes them, or by less than half of the usual one.
    """
    from robustream.majority import SIGMAS

    if divided:
        return Together()
    shares = np.array([1 - believed[piece].mean() for piece in pieces])
    sizes = np.array([piece.stop - piece.start for piece in pieces])
    usual, overall = float(np.median(shares)), float(1 - believed.mean())
    chance = SIGMAS * np.sqrt((overall * (1 - overall) + 1 / sizes) / sizes)
    odd = np.abs(shares - usual) > np.maximum(chance, usual / 2)
    return Together(odd=tuple(odd.tolist())) if odd.any() else None


def _told(noise: Sequence[float]) -> set[int]:
    """Return the batches of least and of median noise."""
    order = np.argsort(noise, kind="stable")
    return {int(order[0]), int(order[(len(noise) - 1) // 2])}


def _hidden(left_out: int, believed: Mask) -> bool:
    """Return whether a batch by itself leaves out more rows than were left out of it together, beyond chance."""
    from robustream.majority import SIGMAS

    return left_out - np.count_nonzero(~believed) > SIGMAS * np.sqrt(left_out + 1)


def _differ(whole: Array, parts: Sequence[Array], weights: Sequence[float]) -> bool:
    """Tell whether the scatter of all rows is larger in some direction than that within batches, by NOISIER squared."""
    within = np.average(parts, axis=0, weights=weights)
    unit = np.sqrt(whole.diagonal())
    use = unit > 0
    both = [scatter[np.ix_(use, use)] / np.outer(unit[use], unit[use]) for scatter in (whole, within)]
    both[1].flat[:: use.sum() + 1] += _RIDGE
    if not use.any() or not all(np.isfinite(scatter).all() for scatter in both):
        return False
    last = int(use.sum()) - 1
    return bool(linalg.eigh(*both, eigvals_only=True, subset_by_index=(last, last))[0] > NOISIER**2)


def _pooled(moments: Sequence[Moments]) -> Moments:
    """Return the moments of several parts of a table together."""
    totals, means, covariances = (np.array(part) for part in zip(*moments, strict=True))
    total = totals.sum()
    mean = np.average(means, axis=0, weights=totals)
    roots = np.sqrt(totals)[:, None] * (means - mean)
    return float(total), mean, np.average(covariances, axis=0, weights=totals) + roots.T @ roots / total


def _noise(moments: Sequence[Moments], columns: int) -> Array:
    """Return the variance of each output that lines leave, one line for each part."""
    totals, _, covariances = (np.array(part) for part in zip(*moments, strict=True))
    spread, cross = covariances[:, :columns, :columns], covariances[:, :columns, columns:]
    deviation = np.sqrt(np.einsum("kii->ki", spread))
    unit = np.where(deviation > 0, deviation, 1.0)
    scaled = spread / (unit[:, :, None] * unit[:, None, :]) + _RIDGE * np.eye(columns)
    cross = cross / unit[:, :, None]
    explained = np.einsum("kpo,kpo->ko", cross, np.linalg.solve(scaled, cross))
    left = np.maximum(np.einsum("kii->ki", covariances)[:, columns:] - explained, 0.0)
    return np.asarray((totals @ left) / np.maximum(totals - columns - 1, 1.0).sum())
