"""What can go wrong with an estimate between a node and whoever gathers it.

Each function takes an estimate and returns a spoiled copy; an estimate without a point stays as it is. All randomness
comes from what is passed in. `FAULTS` has them by name, `corrupt_estimates` spoils a share of the estimates of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.sources.checking import check_choice, check_count, check_fraction, check_positive
from robustream.sources.contamination import place_batches
from robustream.sources.ground_truth import generator_for
from robustream.spaces import Array, Point
from robustream.spaces.factored import leading_directions
from robustream.spaces.principal import PrincipalPoint

__all__ = [
    "FAULTS",
    "READINGS",
    "CorruptedEstimates",
    "Fault",
    "answer_zero",
    "collude",
    "corrupt_estimates",
    "flip_basis",
    "flip_bits",
    "flip_entries",
    "flip_signs",
    "flip_subspace",
    "lie_about_rows",
    "lose_numbers",
    "reply_stale",
]

READINGS = ("basis", "projector")


def flip_entries(array: Array, rng: np.random.Generator, *, share: float = 0.3) -> Array:
    """Turn the sign of round(share * size) entries of an array.

    >>> flip_entries(np.ones(10), np.random.default_rng(0), share=0.3).sum()
    np.float64(4.0)
    """
    chosen = rng.permutation(array.size)[: round(check_fraction("share", share) * array.size)]
    flipped = array.copy()
    flipped.reshape(-1)[chosen] *= -1
    return flipped


def flip_subspace(basis: Array, rng: np.random.Generator, *, share: float = 0.3, reading: str = "basis") -> Array:
    """Turn signs in what stands for a subspace, and give an orthonormal basis of what the receiver then has.

    Parameters
    ----------
    basis : p x d, orthonormal.
    rng : generator.
    share : share of the entries whose sign turns.
    reading : what was sent. "basis": the p x d eigenvectors; their span after the flips is taken.
        "projector": the p x p projector; after the flips, its symmetric part and the d leading eigenvectors
        of that are taken.

    Examples
    --------
    >>> flip_subspace(np.eye(4)[:, :2], np.random.default_rng(0), share=0.0).shape
    (4, 2)
    """
    check_choice("reading", reading, READINGS)
    rank = basis.shape[1]
    if reading == "basis":
        return leading_directions(flip_entries(basis, rng, share=share), rank)
    projector = flip_entries(basis @ basis.T, rng, share=share)
    vectors = np.linalg.eigh((projector + projector.T) / 2)[1]
    return leading_directions(vectors[:, ::-1][:, :rank], rank)


def flip_signs(estimate: Estimate, rng: np.random.Generator, *, share: float = 0.3) -> Estimate:
    """Turn the sign of a share of the entries of every array of the point, as sent; nothing is restored.

    The basis of a PCA is then no longer orthonormal; `flip_basis` gives the readings that are.
    """
    return _change_parts(estimate, lambda part: flip_entries(part, rng, share=share))


def flip_basis(estimate: Estimate, rng: np.random.Generator, *, share: float = 0.3, reading: str = "basis") -> Estimate:
    """Turn signs in the basis of a PCA estimate alone; see `flip_subspace` for the readings."""
    if estimate.point is None:
        return estimate
    if not isinstance(estimate.point, PrincipalPoint):
        raise InvalidInputError(
            f"estimate must be one of principal components; its point is a {type(estimate.point).__name__}. "
            "Use flip_signs for others."
        )
    flipped = flip_subspace(estimate.point.basis, rng, share=share, reading=reading)
    return estimate._replace(point=estimate.point._replace(basis=flipped))


def flip_bits(estimate: Estimate, rng: np.random.Generator, *, bits: int = 8) -> Estimate:
    """Turn that many bits of every array of the point: numbers come out close, absurd or not finite."""
    bits = check_count("bits", bits)

    def flip(part: Array) -> Array:
        raw = np.unpackbits(np.frombuffer(part.tobytes(), dtype=np.uint8))
        raw[rng.permutation(raw.size)[:bits]] ^= 1
        return np.frombuffer(np.packbits(raw).tobytes(), dtype=part.dtype).reshape(part.shape).copy()

    return _change_parts(estimate, flip)


def lose_numbers(estimate: Estimate, rng: np.random.Generator, *, share: float = 0.1) -> Estimate:
    """Put NaN in a share of the entries of every array of the point, at least in one."""
    share = check_fraction("share", share)

    def lose(part: Array) -> Array:
        lost = part.copy()
        lost.reshape(-1)[rng.permutation(part.size)[: max(1, round(share * part.size))]] = np.nan
        return lost

    return _change_parts(estimate, lose)


def answer_zero(estimate: Estimate) -> Estimate:
    """Answer zero in every number."""
    return _change_parts(estimate, np.zeros_like)


def collude(estimate: Estimate, *, magnitude: float = 10.0, seed: int = 0) -> Estimate:
    """Answer what all nodes with the same seed do: one wrong subspace, or one wrong first array of the point.

    The other parts of the point stay, so that nothing but the wrong answer gives the nodes away.

    Parameters
    ----------
    estimate : what the node would have answered.
    magnitude : standard deviation of the entries of the wrong array; a subspace has none.
    seed : the conspiracy.
    """
    if estimate.point is None:
        return estimate
    rng = generator_for(check_count("seed", seed, least=0), 0, "colluding answer")
    magnitude = check_positive("magnitude", magnitude)
    if isinstance(estimate.point, PrincipalPoint):
        basis = estimate.point.basis
        wrong = leading_directions(rng.standard_normal(basis.shape), basis.shape[1]).astype(basis.dtype)
        return estimate._replace(point=estimate.point._replace(basis=wrong))
    first = estimate.point[0]
    if first is None:
        return estimate
    answer: NDArray[Any] = (magnitude * rng.standard_normal(first.shape)).astype(first.dtype)
    return estimate._replace(point=_rebuild(estimate.point, [answer, *estimate.point[1:]]))


def lie_about_rows(estimate: Estimate, *, claim: int = 10**12) -> Estimate:
    """Claim to have seen that many rows, for weight.

    >>> lie_about_rows(Estimate(0, "node 0", 100, (np.ones(2),))).rows
    1000000000000
    """
    return estimate._replace(rows=check_count("claim", claim, least=0))


def reply_stale(estimate: Estimate, earlier: Estimate) -> Estimate:
    """Answer with an earlier result under the index and the label of this one."""
    return earlier._replace(index=estimate.index, label=estimate.label)


def _change_parts(estimate: Estimate, change: Callable[[Array], Array]) -> Estimate:
    """Apply a change to every array of the point that is present."""
    if estimate.point is None:
        return estimate
    parts = [None if part is None else change(np.asarray(part)) for part in estimate.point]
    return estimate._replace(point=_rebuild(estimate.point, parts))


def _rebuild(point: Point, parts: list[Array | None]) -> Point:
    """Return a point of the same kind: a named tuple stays one."""
    make = getattr(type(point), "_make", tuple)
    rebuilt: Point = make(parts)
    return rebuilt


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
