"""Keeping estimates: all of them within a budget, beyond it a sample that no order of arrival can bias.

Each estimate gets a key from hashes of (seed, index); those with the smallest keys stay. The sample is uniform
whatever the order, the same whoever gathers it, and the union of two samples is cut to the right sample. It is also
even: any run of neighbouring indices has its due share of it, to one or two, so that 45% of bad batches in a row are
45% of the sample. Of independent keys, 64 of 1,000 would have a bad majority for one seed in five.
With a half-life the key is that of weighted sampling: an exponential variate over the weight 2^(index / h),
so that the order of keys never changes as time goes on.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.aggregators.paged import Paged
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.spaces import Array, ProductSpace

__all__ = ["Held", "admit", "join", "parse_budget", "recency_weights"]

_LEVELS = 10  # 16 ** 10 batches are more than anyone has
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class Held(NamedTuple):
    """The estimates that are kept, ordered by index, with their sampling keys."""

    space: ProductSpace
    half_life: float | None
    seed: int
    estimates: Paged[Estimate] = Paged()
    keys: NDArray[np.float64] = np.empty(0)
    taken: int = 0
    newest: int = -1


class Budget(NamedTuple):
    """How much may be kept, as a number of estimates or as bytes."""

    estimates: int | None
    size: int | None

    def capacity(self, estimate: Estimate) -> int:
        """Give how many estimates like this one fit."""
        if self.estimates is not None:
            return self.estimates
        assert self.size is not None
        assert estimate.point is not None
        point_bytes = sum(part.nbytes for part in estimate.point if part is not None)
        return max(2, self.size // max(1, point_bytes))


def parse_budget(budget: int | str) -> Budget:
    """Read a budget: a number of estimates, or a size such as '256 MB'.

    >>> parse_budget("256 MB").size
    256000000
    >>> parse_budget(64).estimates
    64
    """
    if isinstance(budget, (int, np.integer)) and not isinstance(budget, bool):
        if budget < 2:
            raise InvalidInputError(f"budget must allow at least 2 estimates, got {budget}")
        return Budget(int(budget), None)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]i?)?b\s*", budget.lower()) if isinstance(budget, str) else None
    if match is None:
        raise InvalidInputError(f"budget must be a number of estimates or a size like '256 MB', got {budget!r}")
    return Budget(None, int(float(match[1]) * _UNITS[match[2] or ""]))


def admit(state: Held, estimate: Estimate, budget: Budget) -> Held:
    """Add an estimate; when the budget is full, the one with the largest key goes.

    A second estimate for an index that is held is a duplicated reply: the first stays.
    """
    held, key = state.estimates, _key(state.seed, estimate.index, state.half_life)
    if not held or held[-1].index < estimate.index:  # as nearly all do
        estimates, keys = held.appended(estimate), np.append(state.keys, key)
    else:
        place = bisect_left(held, estimate.index, key=lambda known: known.index)
        if held[place].index == estimate.index:
            return state
        estimates = Paged((*held[:place], estimate, *held[place:]))
        keys = np.insert(state.keys, place, key)
    if len(estimates) > budget.capacity(estimate):
        last = int(np.argmax(keys))
        # Where it is the new one that goes, all else stays the very same.
        same = estimates[last] is estimate
        estimates, keys = (held, state.keys) if same else (estimates.without(last), np.delete(keys, last))
    newest = max(state.newest, estimate.index)
    return state._replace(estimates=estimates, keys=keys, taken=state.taken + 1, newest=newest)


def join(states: Iterable[Held], budget: Budget) -> Held:
    """Gather what several workers hold and cut it to the budget."""
    gathered = list(states)
    first = gathered[0]
    by_index = {
        estimate.index: (key, estimate)
        for state in reversed(gathered)
        for key, estimate in zip(state.keys, state.estimates, strict=True)
    }
    kept = sorted(by_index.values(), key=lambda pair: pair[0])
    if kept:
        kept = sorted(kept[: budget.capacity(kept[0][1])], key=lambda pair: pair[1].index)
    duplicated = sum(len(state.estimates) for state in gathered) - len(by_index)
    return first._replace(
        estimates=Paged(estimate for _, estimate in kept),
        keys=np.array([key for key, _ in kept], dtype=np.float64),
        taken=sum(state.taken for state in gathered) - duplicated,
        newest=max(state.newest for state in gathered),
    )


def recency_weights(state: Held) -> Array:
    """Give the weight of each held estimate: its own, halved for each half-life of age.

    Beyond the budget the sample is already drawn by age, so that age must not count a second time.
    """
    weights = np.array([estimate.weight for estimate in state.estimates])
    if state.half_life is not None and state.taken == len(state.estimates):
        ages = np.array([state.newest - estimate.index for estimate in state.estimates])
        weights = weights * np.exp2(-ages / state.half_life)
    return weights


def _key(seed: int, index: int, half_life: float | None) -> float:
    key = math.log(-math.log1p(-_even(seed, index)))
    return key if half_life is None else key - index * math.log(2.0) / half_life


def _even(seed: int, index: int) -> float:
    """Give a number in (0, 1), uniform over the seeds and spread evenly over neighbouring indices.

    Of 16 neighbours each gets another first digit (base 16), in an order that is drawn anew for each 16. Of those among
    256 neighbours that share the first digit each gets another second one, and so on.
    """
    state, block, digits = _splitmix(seed), index, 0
    for _ in range(_LEVELS):
        block, place = divmod(block, 16)
        drawn = _splitmix(_splitmix(state ^ block) ^ digits)
        # An odd factor and an offset put 16 places in order; later digits must differ for others of the same first.
        digit = (place * (drawn | 1) + (drawn >> 32)) % 16
        digits = digits * 16 + digit
        state = _splitmix(state)
    return (digits + 0.5) / 16**_LEVELS


def _splitmix(number: int) -> int:
    """Mix 64 bits (the finaliser of SplitMix64): the same on every machine, unlike Python's hash."""
    mask = 2**64 - 1
    mixed = (number + 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return mixed ^ (mixed >> 31)
