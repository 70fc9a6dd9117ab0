"""The faults of nodes by name, so that tests and users can go through all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Estimate
from robustream.sources.checking import check_choice, check_fraction
from robustream.sources.corruption.estimates import (
    answer_zero,
    collude,
    flip_bits,
    flip_signs,
    lie_about_rows,
    lose_numbers,
    reply_stale,
)
from robustream.sources.randomness import generator_for
from robustream.sources.spread import place_batches

__all__ = ["FAULTS", "CorruptedEstimates", "Fault", "corrupt_estimates"]

# (what the node should answer, what a node answered before, generator) -> the replies that arrive.
Fault: TypeAlias = Callable[[Estimate, Estimate, np.random.Generator], Sequence[Estimate]]

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "sign-flips": lambda estimate, earlier, rng: [flip_signs(estimate, rng)],
        "bit-flips": lambda estimate, earlier, rng: [flip_bits(estimate, rng)],
        "nan": lambda estimate, earlier, rng: [lose_numbers(estimate, rng)],
        "stale": lambda estimate, earlier, rng: [reply_stale(estimate, earlier)],
        "duplicated": lambda estimate, earlier, rng: [estimate, estimate],
        "zero": lambda estimate, earlier, rng: [answer_zero(estimate)],
        "colluding": lambda estimate, earlier, rng: [collude(estimate)],
        "row-count": lambda estimate, earlier, rng: [lie_about_rows(estimate)],
    }
)


class CorruptedEstimates(NamedTuple):
    """What arrives, and the positions of the estimates that were to be spoiled."""

    estimates: list[Estimate]
    bad_indices: NDArray[np.int64]


def corrupt_estimates(
    estimates: Sequence[Estimate],
    fault: str | Fault = "sign-flips",
    fraction: float = 0.1,
    *,
    order: str = "random",
    seed: int = 0,
) -> CorruptedEstimates:
    """Spoil a share of the estimates of a run.

    Parameters
    ----------
    estimates : the estimates, one for each batch or node.
    fault : a name in `FAULTS`, or a function such as those, for other settings.
    fraction : share of spoiled estimates; exactly round(fraction * count).
    order : which; see `place_batches`.
    seed : for order and garbage.

    Examples
    --------
    >>> nodes = [Estimate(node, f"node {node}", 100, (np.ones(4),)) for node in range(5)]
    >>> arrived, bad = corrupt_estimates(nodes, "zero", 0.4, order="first")
    >>> bad, arrived[0].point, arrived[2].point
    (array([0, 1]), (array([0., 0., 0., 0.]),), (array([1., 1., 1., 1.]),))
    """
    if not callable(fault):
        fault = FAULTS[check_choice("fault", fault, FAULTS)]
    bad = place_batches(
        round(check_fraction("fraction", fraction) * len(estimates)), len(estimates), order=order, seed=seed
    )
    # A stale reply repeats the first estimate that is not spoiled: a sound answer to another question.
    good = np.setdiff1d(np.arange(len(estimates)), bad)
    arrived: list[Estimate] = []
    for place, estimate in enumerate(estimates):
        if place in bad:
            earlier = estimates[int(good[0]) if good.size else 0]
            arrived.extend(fault(estimate, earlier, generator_for(seed, place, "faults of nodes")))
        else:
            arrived.append(estimate)
    return CorruptedEstimates(arrived, bad)
