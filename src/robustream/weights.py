"""What weights of rows mean, and how far they are believed.

A weight says how often a row counts, never how far it is believed. So weights have no say in the search for the
majority, where each row has one voice as copies of a row have one together; they count in what is then made of the
believed rows. And they are claims, like the cells of a row:

* No row counts for more than `MOST` times what the rows of its batch count for on average (root n times in batches of n
  rows, where that is less), what is capped itself counted as capped. Any tenth of the rows then has half of the weight
  at most. Rows that are copied more often than that are no rows of their own anyway (`majority.columns.MANY`).
* What a batch weighs beside others is the sum of its weights, if that is not more than `MOST` times as much for each
  row as in the usual batch.
* Frequencies are at least 1 on average. Weights that are less say how rows compare, and are brought to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustream.errors import InvalidInputError

__all__ = [
    "MOST",
    "as_frequencies",
    "batch_claim",
    "batch_claims",
    "cap_weights",
    "check_weights",
    "most_weight",
    "stand_ins",
    "usable_weights",
]

Array = NDArray[np.floating[Any]]

# Times the mean weight that a row, or the rows of a batch, may count for.
MOST = 5.0
# Rows that stand for weighted ones are at most so many times these.
_MOST_REPEATED = 16


def usable_weights(weights: Array) -> NDArray[np.bool_]:
    """Mark weights that are numbers a row can count with: finite, and not negative."""
    return np.isfinite(weights) & (weights >= 0)


def check_weights(weights: Any, rows: int, name: str = "sample_weight", *, only_zeros: bool = False) -> Array:
    """Return weights for so many rows in double precision, or raise InvalidInputError; also for zeros unless allowed.

    >>> check_weights([1, 2, 0], 3)
    array([1., 2., 0.])
    """
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must hold numbers: {error}", name) from error
    if found.shape != (rows,):
        raise InvalidInputError(f"{name} must have one number for each of {rows} rows, got shape {found.shape}", name)
    if not (usable := usable_weights(found)).all():
        place = int(np.flatnonzero(~usable)[0])
        raise InvalidInputError(
            f"{name} must be finite and not negative, got {found[place]} for row {place}; 0 leaves a row out", name
        )
    if not only_zeros and not found.any():
        raise InvalidInputError(f"{name} must have a number above zero: with zero weights alone no row is left", name)
    return found


def cap_weights(weights: Array) -> tuple[Array, int]:
    """Return weights above 0 without those beyond what a row may count for, and how many were beyond.

    The cap c is the one with c = most * mean(min(weights, c)), the largest if there are several.

    >>> weights, capped = cap_weights(np.append(np.ones(99), 1e9))
    >>> float(weights[-1].round(2)), capped
    (5.21, 1)
    """
    count = len(weights)
    most = min(MOST, np.sqrt(count))
    largest = np.sort(weights)[::-1]
    left = np.append(np.cumsum(largest[::-1])[::-1], 0.0)  # sums of what is left without the k largest
    k = np.arange(int(np.ceil(count / most)))  # how many are capped: of more than that the mean rises as the cap does
    caps = most * left[k] / (count - most * k)
    fits = np.flatnonzero(largest[k] <= caps * (1 + 1e-12))
    capped = int(fits[0]) if len(fits) else 0
    return (np.minimum(weights, caps[capped]), capped) if capped else (weights, 0)


def as_frequencies(weights: Array) -> Array:
    """Return weights whose mean is at least 1: as they are, or brought to that."""
    mean = float(weights.mean())
    return weights if mean >= 1 else weights / mean


def most_weight(batches: Iterable[tuple[int, float | None]]) -> float:
    """Return the most that a row of a batch may weigh on average, of batches with rows and their total weight.

    The total is None where each row counts once. Of two batches the lighter one is usual: nobody knows which is right.
    """
    each = [1.0 if total is None else total / max(rows, 1) for rows, total in batches]
    return MOST * sorted(each)[(len(each) - 1) // 2] if each else MOST


def batch_claim(rows: int, total: float | None, most: float) -> float:
    """Return what a batch weighs beside others, its rows no more than `most` on average.

    >>> batches = [(100, None), (100, 120.0), (100, 1e9)]
    >>> [batch_claim(rows, total, most_weight(batches)) for rows, total in batches]
    [100.0, 120.0, 600.0]
    """
    rows = max(rows, 1)
    return rows * min(1.0 if total is None else total / rows, most)


def batch_claims(batches: Sequence[tuple[int, float | None]]) -> Array:
    """Return what batches weigh beside each other."""
    most = most_weight(batches)
    return np.array([batch_claim(rows, total, most) for rows, total in batches], dtype=np.float64)


def stand_ins(weights: Array) -> NDArray[np.intp]:
    """Return places of rows that, each counted once, stand for weighted rows: for what is told by ranks.

    Whole numbers repeat rows, if that does not make many times the rows; of others evenly spaced ones of the whole are
    taken, as many as there are rows.

    >>> stand_ins(np.array([2.0, 1.0, 3.0])).tolist(), stand_ins(np.array([0.5, 0.5, 2.0, 1.0])).tolist()
    ([0, 0, 1, 2, 2, 2], [0, 2, 2, 3])
    """
    count, total = len(weights), float(weights.sum())
    if total <= _MOST_REPEATED * count and np.all(weights == np.floor(weights)):
        return np.repeat(np.arange(count), weights.astype(np.intp))
    wanted = (np.arange(count) + 0.5) * (total / count)
    return np.minimum(np.searchsorted(np.cumsum(weights), wanted), count - 1)
