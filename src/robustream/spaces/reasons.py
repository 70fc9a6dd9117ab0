"""Why an estimate is not believed, in words: which of its entries differs from that of the others, and by how much.

The unit is the standard error of one estimate: how far the entry lies from the middle in the estimates that are
believed. An estimate that knows little of an entry, as a batch in which a column hardly changes, has a larger one.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.spaces.base import Array, Point
from robustream.spaces.factored import Subspace
from robustream.spaces.product import ProductSpace

__all__ = ["say_differences", "say_factor"]

Mask: TypeAlias = NDArray[np.bool_]

# Standard errors from which on one entry explains a verdict: 1 of 370 normal ones is as far off by chance.
_TELLING = 3.0
# Entries that a reason names at most, and how far behind the first the second may be.
_MOST_NAMED, _NEAR = 2, 0.5
# Below so many points the median deviation says less than the root of the mean square.
_FEW = 8
_NORMAL_MAD = 1.482602218505602
# Beyond it a number of times only means that it is large.
_MANY = 1e5


def say_differences(
    space: ProductSpace,
    place: int,
    points: Sequence[Point],
    settled: Sequence[Array | None],
    believed: Mask,
    doubted: Sequence[int],
    explained: Container[int] = (),
) -> list[str]:
    """Return for each of the doubted points how that part of it differs from the believed ones.

    All points must have the part; `settled` are the values of all parts. Of points that something else explains
    already, only what is telling is said, and perhaps nothing.

    >>> from robustream.spaces import LinearModels
    >>> slopes = np.array([[2.0, 1.0], [2.1, 1.1], [1.9, 0.9], [2.0, 7.0]])
    >>> points = [(slope[None], np.zeros(2), np.zeros(1), np.zeros(1), None, np.zeros(()), None) for slope in slopes]
    >>> space = LinearModels(2, 1).named(["Distance", "TaxiIn"])
    >>> say_differences(space, 0, points, [None] * 7, np.array([True, True, True, False]), [3])
    ["its slope of TaxiIn is 60 standard errors from the others' (7 beside 1)"]
    """
    if not len(doubted):
        return []
    values = [np.asarray(space.express(place, point, settled), dtype=np.float64) for point in points]
    with np.errstate(all="ignore"):
        if isinstance(space.parts[place].space, Subspace):
            return _say_turns(space, np.stack(values), settled[place], believed, doubted)
        return _say_entries(space, place, points, np.stack(values), settled, believed, doubted, explained)


def say_factor(noun: str, log_factor: float) -> str:
    """Return in words that a spread is off by a factor, given as its logarithm.

    >>> say_factor("noise", np.log(12.0)), say_factor("noise", -np.log(30.0))
    ("its noise is 12 times as large as the others'", "its noise is 30 times smaller than the others'")
    """
    times = _times(float(np.exp(min(abs(log_factor), 300.0))))
    return f"its {noun} is {times} {'as large as' if log_factor > 0 else 'smaller than'} the others'"


def _say_entries(
    space: ProductSpace,
    place: int,
    points: Sequence[Point],
    values: Array,
    settled: Sequence[Array | None],
    believed: Mask,
    doubted: Sequence[int],
    explained: Container[int],
) -> list[str]:
    shape, flat = values.shape[1:], values.reshape(len(values), -1)
    middle = np.median(flat[believed], axis=0)
    offsets = flat - middle
    errors = space.relative_errors(place, points)
    if errors is not None:
        offsets = offsets / errors
    unit = _spread(offsets[believed])
    if np.any(unit > 0):
        # Where nearly all agree to the last digit, those few say nothing against the estimate that saw more.
        distances = np.where(unit > 0, np.abs(offsets) / np.where(unit > 0, unit, 1.0), 0.0)
    else:
        distances = np.where(offsets != 0, np.inf, 0.0)
    distances = np.nan_to_num(distances, nan=0.0, posinf=np.inf)
    together = np.sqrt(np.square(distances).mean(axis=1))
    typical = float(np.median(together[believed]))
    original = space.restore(place, middle.reshape(shape), settled).ravel()
    noun = space.parts[place].noun
    said = []
    for point in doubted:
        own = space.restore(place, values[point], settled).ravel()
        order = np.argsort(-distances[point], kind="stable")[:_MOST_NAMED]
        far = distances[point, order]
        named = [
            _say_entry(space.entry_name(place, int(entry)), distance, float(own[entry]), float(original[entry]))
            for entry, distance in zip(order, far, strict=True)
            if distance >= max(_TELLING, _NEAR * far[0])
        ]
        if named or point in explained:
            said.append("; ".join(named))
            continue
        relative = together[point] / typical if typical > 0 else np.inf
        entry = int(order[0])
        said.append(
            f"its {noun} are together {_times(float(relative))} as far from the others' as is usual, though none is "
            f"far off alone (farthest: {space.entry_name(place, entry)}, {_number(float(own[entry]))} beside "
            f"{_number(float(original[entry]))})"
        )
    return said


def _spread(offsets: Array) -> Array:
    if len(offsets) < _FEW:
        return np.sqrt(np.square(offsets).sum(axis=0) / max(1, len(offsets) - 1))
    return np.asarray(_NORMAL_MAD * np.median(np.abs(offsets), axis=0))


def _say_entry(name: str, distance: float, own: float, others: float) -> str:
    values = f"{_number(own)} beside {_number(others)}"
    if not np.isfinite(distance):
        return f"its {name} differs, where all others agree ({values})"
    shown = _number(distance) if distance < _MANY else "very many"
    return f"its {name} is {shown} standard errors from the others' ({values})"


def _say_turns(
    space: ProductSpace, bases: Array, common: Array | None, believed: Mask, doubted: Sequence[int]
) -> list[str]:
    """Return by how much subspaces are turned, and towards which columns."""
    assert common is not None
    center = np.asarray(common, dtype=np.float64)
    outside = bases - center @ (center.T @ bases)
    sines = np.sqrt(np.maximum(np.linalg.eigvalsh(outside.transpose(0, 2, 1) @ outside)[:, -1], 0.0))
    angles = np.degrees(np.arcsin(np.minimum(sines, 1.0)))
    typical = float(np.median(angles[believed]))
    said = []
    for point in doubted:
        direction = np.linalg.svd(outside[point], full_matrices=False)[0][:, 0]
        order = np.argsort(-np.abs(direction), kind="stable")[:_MOST_NAMED]
        near = [int(column) for column in order if abs(direction[column]) >= _NEAR * abs(direction[order[0]])]
        towards = " and ".join(space.column_name(column) for column in near)
        said.append(
            f"its components are turned by {_number(float(angles[point]))} degrees from the others', towards {towards} "
            f"(usual: {_number(typical)} degrees)"
        )
    return said


def _number(value: Any) -> str:
    return f"{value:.3g}" if not 1000 <= abs(value) < 1e6 else f"{value:,.0f}"


def _times(times: float) -> str:
    return f"{_number(times)} times" if times < _MANY else "very many times"
