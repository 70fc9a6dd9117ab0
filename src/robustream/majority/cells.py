"""Single bad cells all over a table: found by what the other cells of their rows say of them.

So they are in regressions and in tables with gaps. The rows of other tables are judged column by column
(`columns.cell_limits`), since rows that were filled in with codes or defaults are to be left out there as rows.

Where so many rows have a bad cell that no majority would be left without them, cells are taken as missing instead.
For that a law of the clean cells is needed that neither bad cells nor bad rows have a say in:

1. cells that are far out in their own column start as missing, and only the half of the rows whose lengths are nearest
   together counts;
2. mean and covariance follow by a step of expectation maximisation (`gaps`), and from these each cell's residual, what
   it is less what the row's other cells predict: (K x)_j / K_jj for the precision K, or x_j less its conditional mean
   where it is taken as missing, in units of the column's median residual;
3. cells with a residual beyond SIGMAS are missing for the next round, and rows are kept by their distance in the cells
   that are left.

**Evidence.** The sizes of all residuals of the kept rows have a valley (`evidence.valleys`); the cells beyond it fall
on rows as if independently, and on at least half of the columns. A long tail has no valley, bad rows have their bad
cells together, and an honest column of two kinds is one column: none of them is taken for bad cells.

References: Rousseeuw and Van den Bossche (2018), Detecting deviating data cells; Raymaekers and Rousseeuw (2023), The
cellwise minimum covariance determinant estimator.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.majority.evidence import Array, valleys
from robustream.majority.gaps import conditional, correlation_precision, covariance_with_gaps
from robustream.majority.laws import SIGMAS

Mask = NDArray[np.bool_]

MENDED = 0.15  # share of the rows of a regression with a bad cell from which on cells are missing instead of their rows
ROUNDS = 5  # of law, cells and rows; the last two keep all rows that fit
ROWS_EACH = 3  # rows to a column that a law of cells needs
COLUMNS = 4  # columns below which cells have too little to be predicted from


class CellLaw(NamedTuple):
    """What clean cells are like, and the size of residual beyond which a cell is bad."""

    center: Array
    covariance: Array
    scale: Array  # of the residuals of each column
    limit: float

    def bad(self, scaled: Array, rows: bool = True) -> Mask:
        """Mark the bad cells of scaled rows (NaN where cells are missing), but for those of rows with too many.

        Unless only cells can be bad, those of rows whose other cells do not fit are not marked either.
        """
        scaled = scaled.astype(np.float64)
        there = ~np.isnan(scaled)
        flags = there & (np.abs(scaled) > SIGMAS)
        for _ in range(2):
            flags = there & (np.abs(residuals(scaled, flags, self.center, self.covariance)[0] / self.scale) > SIGMAS)
        alone, _ = residuals(scaled, flags, self.center, self.covariance)
        bad = there & (np.abs(alone / self.scale) > self.limit)
        bad[crowded(bad, there, 2 * SIGMAS)] = False
        if not rows:
            return bad
        # A row whose other cells do not fit either is bad as a row.
        lengths = residuals(scaled, bad, self.center, self.covariance)[1]
        used = np.maximum((there & ~bad).sum(axis=1), 1)
        long = lengths / used > np.median(lengths / used) * (1 + SIGMAS * np.sqrt(2 / used))
        bad[long] = False
        return bad


def residuals(scaled: Array, flags: Mask, center: Array, covariance: Array) -> tuple[Array, Array]:
    """Return each cell less what the others of its row say, and the squared length of rows without flagged cells."""
    missing = np.isnan(scaled) | flags
    deviations = conditional(scaled, missing, center, covariance) - center
    precision = correlation_precision(covariance)
    products = deviations @ precision
    alone = np.where(flags, scaled - center - deviations, products / np.diag(precision))
    return alone, np.sum(products * deviations, axis=1)


def crowded(bad: Mask, there: Mask, deviations: float = SIGMAS) -> Mask:
    """Mark rows with more bad cells than chance brings together, by the share that most rows have."""
    cells, counts = np.maximum(there.sum(axis=1), 1), bad.sum(axis=1)
    most = counts <= 2 * np.median(counts) + 3
    expected = counts[most].sum() / cells[most].sum() * cells
    return np.asarray(counts > expected + deviations * np.sqrt(expected))


def densest(lengths: Array) -> Mask:
    """Mark the half of the rows whose lengths are nearest together: bad rows may be too short as well as too long."""
    order = np.argsort(lengths)
    ordered = lengths[order]
    size = max(len(lengths) // 2, 1)
    first = int(np.argmin(ordered[size - 1 :] - ordered[: len(ordered) - size + 1]))
    kept = np.zeros(len(lengths), bool)
    kept[order[first : first + size]] = True
    return kept


def find_bad_cells(scaled: Array, evidence: float, least: float) -> CellLaw | None:
    """Return the law of clean cells of scaled rows, NaN where cells are missing; None without evidence of bad ones.

    `least` is the share of rows with a bad cell that is asked for.
    """
    n, p = scaled.shape
    there = ~np.isnan(scaled)
    flags = there & (np.abs(scaled) > SIGMAS)
    if (
        p < COLUMNS or n < ROWS_EACH * p or np.mean(flags.any(axis=1)) <= least
    ):  # too few rows have any cell that is far out
        return None
    cells = np.maximum(there.sum(axis=1), 1)
    lengths = np.sum(np.where(there, np.minimum(np.square(scaled), SIGMAS**2), 0.0), axis=1) / cells
    kept = densest(lengths)
    law: tuple[Array, Array] | None = None
    for turn in range(ROUNDS):
        law = covariance_with_gaps(scaled, ~there | flags, kept.astype(float), law, 3 if turn == 0 else 1)
        alone, squares = residuals(scaled, flags, *law)
        ordinary = np.where(there & ~flags & kept[:, None], np.abs(alone), np.nan)
        ordinary[0, np.isnan(ordinary).all(axis=0)] = 0.0
        scale = np.maximum(np.nanmedian(ordinary, axis=0) * 1.4826, 1e-9)
        flags = there & (np.abs(alone) > SIGMAS * scale)
        used = np.maximum((there & ~flags).sum(axis=1), 1)
        lengths = squares / used / max(float(np.median((squares / used)[kept])), 1e-300)
        fits = np.abs(lengths - 1) <= SIGMAS * np.sqrt(2 / used)
        kept = densest(lengths) if turn < ROUNDS - 2 else fits & ~crowded(flags, there)
        if kept.sum() < max(2 * p, n // 3):
            kept = densest(lengths)
    assert law is not None
    sizes = np.abs(alone) / scale
    z, limit = valleys(sizes[kept][there[kept]][None])[0]
    limit = min(float(limit), 2 * SIGMAS)  # beyond, no ordinary cell is found
    bad = (there & (sizes > limit))[kept]
    share = bad.sum(axis=0) / np.maximum(there[kept].sum(axis=0), 1)
    if not (z > evidence and limit > SIGMAS and share.mean() < 0.25):
        return None
    everywhere = np.mean(share > 0.25 * share.mean()) >= 0.5
    enough = np.mean(bad.any(axis=1)) > least
    singly = fall_singly(bad.sum(axis=1), float(np.sum(share * (1 - share))))
    return CellLaw(*law, scale, limit) if everywhere and enough and singly else None


def fall_singly(counts: NDArray[np.intp], variance: float) -> bool:
    """Return whether rows have as many bad cells as if these fell independently: neither together nor by turns.

    The number of a row then has this variance; or that of a Poisson law among the rows that have some, since rows that
    are bad as rows, or those that no fault came upon, may have none.
    """
    least = 1 - 4 * np.sqrt(2 / len(counts))
    if least < float(np.var(counts)) / max(variance, 1e-12) < 1.5:
        return True
    some = counts[counts > 0]
    mean = float(some.mean()) if len(some) else 1.0
    rate = mean  # of the Poisson law whose mean, without zero, is that of these rows
    for _ in range(50):
        rate = mean * -np.expm1(-rate)
    dispersion = float(np.var(some)) / max(mean * (1 + rate - mean), 1e-12)
    return 1 - 4 * np.sqrt(2 / max(len(some), 1)) < dispersion < 1.5
