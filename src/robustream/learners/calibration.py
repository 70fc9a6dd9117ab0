"""How far out the rows lie that a batch believes: a sketch of their scores, from which p values of new rows are read.

A sketch holds the number of scores, and those at ranks that grow geometrically from the largest on: so that the upper
end, which p values are about, is told row by row, and the rest by a few numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robustream.spaces import Array

__all__ = ["score_sketch", "tail_shares"]

# Scores in a sketch: neighbouring ranks differ by less than a tenth for 10,000 rows.
_SIZE = 96


def score_sketch(scores: Array) -> Array:
    """Return the number of scores and those at growing ranks, the largest first."""
    finite = np.sort(np.minimum(scores[~np.isnan(scores)], 1e9))[::-1]
    if not len(finite):
        return np.zeros(_SIZE + 1)
    return np.append(float(len(finite)), np.asarray(finite[_ranks(len(finite)) - 1]))


def _ranks(count: float) -> Array:
    return np.maximum(np.round(np.geomspace(1, max(count, 1), _SIZE)), 1).astype(int)


def tail_shares(sketches: Sequence[Array], counts: Array, scores: Array) -> Array:
    """Return the share of believed rows that lie as far out as each score, the row itself counted in (conformal).

    Each sketch stands for `counts` batches like it. For rows of the believed kind the shares are p values.
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
    return np.minimum((1 + beyond[places]) / (1 + total), 1.0)
