"""Where the garbage lies: which batches are bad, and how many outliers each of them gets.

The spread decides what can be survived: no learner can find the truth in any batch if each has a share of 0.6,
while 45% of the batches filled with outliers leave the others a share of 0.27 and most of the batches usable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustream.errors import InvalidInputError
from robustream.sources.checking import check_choice, check_count, check_fraction
from robustream.sources.randomness import generator_for

__all__ = ["ORDERS", "SPREADS", "place_batches", "spread_outliers"]

ORDERS = ("random", "first", "last", "burst", "alternating")
SPREADS = ("even", "concentrated", "random")

Counts = NDArray[np.int64]


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
        raise InvalidInputError(f"number must be at most the number of batches, {batches}; {number} came.")
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
    """Give the fraction of outliers in each batch for a fraction in all of them together.

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
