"""What every space must do; a check takes the space and at least three of its points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robustream.spaces import Array, Space

__all__ = ["SPACE_CHECKS", "check_space"]

SpaceCheck = Callable[[Space, Sequence[Array]], None]


def check_space(space: Space, points: Sequence[Array]) -> None:
    """Run all checks on a space, given at least three different points of it."""
    for check in SPACE_CHECKS:
        check(space, points)


def check_points_are_recognised(space: Space, points: Sequence[Array]) -> None:
    """A point is accepted; another shape or a value that is not finite is refused with a reason."""
    for point in points:
        assert space.why_not(point) is None
    spoiled = points[0].copy()
    spoiled.flat[0] = np.nan
    assert space.why_not(spoiled)
    if points[0].ndim:
        assert space.why_not(np.zeros(tuple(size + 1 for size in points[0].shape)))


def check_distance_is_a_metric(space: Space, points: Sequence[Array]) -> None:
    """Distances are zero to oneself, symmetric, and obey the triangle inequality."""
    table = _table(space, points)
    slack = _tolerance(table)
    assert np.all(np.abs(np.diag(table)) <= slack)
    np.testing.assert_allclose(table, table.T, atol=slack)
    for middle in range(len(points)):
        assert np.all(table[:, middle, None] + table[None, middle, :] >= table - slack)


def check_coordinates_are_isometric(space: Space, points: Sequence[Array]) -> None:
    """The embedding keeps all distances."""
    coordinates = space.coordinates(points)
    embedded = np.sqrt(np.square(coordinates[:, None] - coordinates[None]).sum(axis=2))
    table = _table(space, points)
    np.testing.assert_allclose(embedded, table, atol=_tolerance(table))


def check_mix_is_linear(space: Space, points: Sequence[Array]) -> None:
    """The distance to a mix of two points obeys Stewart's theorem, as it must in a Hilbert space."""
    first, second, third = points[:3]
    weight = 0.3
    mixture = space.mix([first, second], np.array([1 - weight, weight]))
    table = _table(space, points[:3])
    expected = (1 - weight) * table[0, 2] ** 2 + weight * table[1, 2] ** 2 - weight * (1 - weight) * table[0, 1] ** 2
    squared = float(space.distances(mixture, [third])[0]) ** 2
    np.testing.assert_allclose(squared, max(expected, 0.0), atol=_tolerance(table) * (1 + table.max()))


def check_one_point_mixes_to_itself(space: Space, points: Sequence[Array]) -> None:
    """All the weight on one point gives that point, projected or not."""
    weights = np.zeros(len(points))
    weights[1] = 1.0
    mixture = space.mix(points, weights)
    slack = _tolerance(_table(space, points))
    assert space.distances(mixture, [points[1]])[0] <= slack
    assert space.distances(space.project(mixture), [points[1]])[0] <= slack


def check_blend_is_a_mix(space: Space, points: Sequence[Array]) -> None:
    """Moving part of the way equals mixing with that weight; not moving changes nothing."""
    slack = _tolerance(_table(space, points))
    blended = space.blend(points[0], points[1], 0.25)
    mixed = space.mix(points[:2], np.array([0.75, 0.25]))
    np.testing.assert_allclose(space.distances(blended, points), space.distances(mixed, points), atol=slack)
    assert space.distances(space.blend(points[0], points[1], 0.0), points[:1])[0] <= slack


def check_projection_gives_a_point(space: Space, points: Sequence[Array]) -> None:
    """A mixture comes back as a point, and a point as itself."""
    mixture = space.mix(points, np.full(len(points), 1 / len(points)))
    assert space.why_not(space.project(mixture)) is None
    assert space.distances(space.project(points[0]), points[:1])[0] <= _tolerance(_table(space, points))


def check_entries_lead_back(space: Space, points: Sequence[Array]) -> None:
    """The entries of a point, asked for in slices, give the point."""
    rows = space.entry_rows(points[0])
    slices = [space.entries(points[:1], slice(row, row + 1))[0] for row in range(rows)]
    back = space.from_entries(np.concatenate(slices), points[0])
    assert space.distances(back, points[:1])[0] <= 1e-6 * (1 + float(np.abs(points[0]).max()))


def check_origin_is_zero(space: Space, points: Sequence[Array]) -> None:
    """Half of a point lies halfway between the origin and the point."""
    origin = space.origin(points[0])
    whole = float(space.distances(origin, points[:1])[0])
    half = float(space.distances(space.blend(origin, points[0], 0.5), points[:1])[0])
    np.testing.assert_allclose(half, whole / 2, rtol=1e-6)


def _table(space: Space, points: Sequence[Array]) -> Array:
    return np.stack([space.distances(point, points) for point in points])


def _tolerance(table: Array) -> float:
    """Half of the digits: distances are square roots of sums of squares."""
    return float(1e-7 * (1 + table.max()))


SPACE_CHECKS: tuple[SpaceCheck, ...] = (
    check_points_are_recognised,
    check_distance_is_a_metric,
    check_coordinates_are_isometric,
    check_mix_is_linear,
    check_one_point_mixes_to_itself,
    check_blend_is_a_mix,
    check_projection_gives_a_point,
    check_entries_lead_back,
    check_origin_is_zero,
)
