"""How far out the rows lie that a batch believes: a sketch of their scores, from which p values of new rows are read.

A sketch holds the number of scores, and those at ranks that grow geometrically from the largest on: so that the upper
end, which p values are about, is told row by row, and the rest by a few numbers.

**Beyond the farthest row.** n rows alone allow no p value below 1 / (n + 1), with which a handful of gross outliers in
a large table could never be told at a false-discovery rate. There the tail goes on as a power of the score (Weissman
1978), whose exponent the rows of the tail tell (Hill 1975), less two of its standard errors: as heavy as they allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from robustream.spaces import Array

__all__ = ["score_sketch", "tail_shares"]

# Rows of the tail that tell how it goes on: this share, and no fewer than so many.
_TAIL, _FEWEST = 0.02, 20
# Scores in a sketch: neighbouring ranks differ by less than a tenth for 10,000 rows.
_SIZE = 96


def score_sketch(scores: Array) -> Array:
    """Return the number of scores and those at growing ranks, the largest first."""
    missing = np.isnan(scores)
    finite = np.minimum(scores[~missing] if missing.any() else scores, 1e9)
    finite.sort()
    finite = finite[::-1]
    if not len(finite):
        return np.zeros(_SIZE + 1)
    return np.append(float(len(finite)), np.asarray(finite[_ranks(len(finite)) - 1]))


@lru_cache(maxsize=64)
def _ranks(count: float) -> Array:
    return np.maximum(np.round(np.geomspace(1, max(count, 1), _SIZE)), 1).astype(int)


def tail_shares(sketches: Sequence[Array], counts: Array, scores: Array) -> Array:
    """Return the share of believed rows that lie as far out as each score, the row itself counted in (conformal).

    Each sketch stands for `counts` batches like it. For rows of the believed kind the shares are p values. A row
    without a score (NaN) has none.
    """
    values, masses, total = [], [], 0.0
    for sketch, count in zip(sketches, counts, strict=True):
        ranks = _ranks(float(sketch[0]))
        steps = np.diff(ranks, prepend=0) * float(count)
        # Rows between two ranks lie between their scores: half of them at either.
        values += [sketch[1:], np.append(sketch[1], sketch[1:-1])]
        masses += [steps / 2, steps / 2]
        total += float(sketch[0]) * float(count)
    value, mass = np.concatenate(values), np.concatenate(masses)
    order = np.argsort(-value, kind="stable")
    beyond = np.append(0.0, np.cumsum(mass[order]))
    places = np.searchsorted(-value[order], -scores, side="right")
    shares = np.minimum((1 + beyond[places]) / (1 + total), 1.0)
    within, power = _tail(value[order], mass[order])
    if power > 0:
        far = np.flatnonzero(places == 0)
        with np.errstate(under="ignore"):
            reached = within / total * (scores[far] / value[order][np.searchsorted(beyond[1:], within)]) ** -power
        shares[far] = np.minimum(shares[far], reached)
    return np.where(np.isnan(scores), np.nan, shares)


def _tail(value: Array, mass: Array) -> tuple[float, float]:
    """Return how many rows the tail of falling scores is told by, and the power that it falls with; 0 if none is."""
    reached = np.cumsum(mass)
    within = max(_FEWEST, _TAIL * float(reached[-1])) if len(reached) else 0.0
    if not len(reached) or reached[-1] < 2 * within:
        return 0.0, 0.0
    last = int(np.searchsorted(reached, within))
    if value[last] <= 0:
        return 0.0, 0.0  # an exact fit: what is above nothing has no power
    mean = float(mass[:last] @ np.log(value[:last] / value[last])) / float(mass[:last].sum())
    return within, (1 - 2 / np.sqrt(within)) / max(mean, 1e-6)
