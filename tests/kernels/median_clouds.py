"""Sets of points that make a geometric median hard to find, and a slow search with more digits."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

steady = settings(max_examples=60, deadline=None, derandomize=True)


def long_objective(points, median, weights=None):
    """The sum of weighted distances with more digits than the library has."""
    points, median = np.asarray(points, np.longdouble), np.asarray(median, np.longdouble)
    weights = np.ones(len(points)) if weights is None else weights
    distances = np.sqrt(((points - median) ** 2).reshape(len(points), -1).sum(axis=1))
    return np.sum(distances * np.asarray(weights, np.longdouble))


def long_optimum(points, start, weights=None, steps=3000):
    """The lowest objective that another way finds: plain Weiszfeld with more digits, and every point."""
    points = np.asarray(points, np.longdouble)
    weights = np.asarray(np.ones(len(points)) if weights is None else weights, np.longdouble)
    place = np.asarray(start, np.longdouble) + np.longdouble(1e-4) * (points.mean(axis=0) - start)
    for _ in range(steps):
        distances = np.sqrt(((points - place) ** 2).sum(axis=1))
        if (distances == 0.0).any():
            break
        pulls = weights / distances
        place = pulls @ points / pulls.sum()
    return min(long_objective(points, y, weights) for y in [place, *points[weights > 0]])


def cloud_of(kind, count, dimension, rng):
    """A set of points of one of the kinds that make a median hard to find."""
    normal = rng.standard_normal((count, dimension))
    if kind == "colluding":
        normal[: 2 * count // 5] = 10.0 + 1e-3 * normal[: 2 * count // 5]
    elif kind == "copies far off":
        normal[: 2 * count // 5] = 1e6
    elif kind == "heavy tails":
        normal = normal / rng.standard_normal((count, 1)) ** 3
    elif kind == "one wide dimension":
        normal[:, 0] *= 1e4
    elif kind == "clustered":
        normal = 1e-3 * normal + rng.standard_normal((5, dimension))[rng.integers(0, 5, count)]
    elif kind == "nearly collinear":
        normal = 1e-4 * normal + np.outer(rng.standard_normal(count), rng.standard_normal(dimension))
    elif kind == "lattice":
        normal = np.rint(1.5 * normal)
    elif kind == "many scales":
        normal *= 10.0 ** rng.integers(-12, 3, (count, 1))
    elif kind == "far from the origin":
        normal = 1e8 + 1e-2 * normal
    return normal


KINDS = [
    "normal",
    "colluding",
    "copies far off",
    "heavy tails",
    "one wide dimension",
    "clustered",
    "nearly collinear",
]
SMALL_KINDS = [*KINDS, "lattice", "many scales", "far from the origin"]

clouds = st.builds(
    lambda kind, count, dimension, seed: cloud_of(kind, count, dimension, np.random.default_rng(seed)),
    st.sampled_from(SMALL_KINDS),
    st.integers(1, 25),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
plain_clouds = st.builds(
    lambda count, dimension, seed: np.random.default_rng(seed).standard_normal((count, dimension)),
    st.integers(3, 25),
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
)
