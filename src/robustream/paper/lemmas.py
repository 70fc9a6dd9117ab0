"""Lemma 1, Lemma 4, the convexity of Theorem 3, and what a single bad estimate does, checked on samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robustream.kernels.median import geometric_median
from robustream.paper.experiment import Context
from robustream.paper.results import Cell, Memory, Row, root_mean_square
from robustream.sources import subspace_error
from robustream.spaces import Array

__all__ = ["lemma_cells", "median_constant"]

COUNT = 40  # estimates in a sample
DIMENSIONS = (2, 10, 50)
SHARES = (0.1, 0.2, 0.3, 0.4, 0.45)


class Lemma(NamedTuple):
    """The settings of a cell."""

    trials: int
    seed: int


def lemma_cells(context: Context) -> Iterator[Cell]:
    """Return a cell for each statement."""
    settings = Lemma(context.size.lemma_trials, context.seed)
    works = {"lemma-1": run_lemma_1, "lemma-4": run_lemma_4, "theorem-3": run_theorem_3, "single": run_single}
    for name, work in works.items():
        yield Cell("theory-lemmas", name, work, settings, 0.01 * context.size.lemma_trials)


def median_constant(share: float) -> float:
    """Return C_gamma of Lemma 1.

    >>> round(median_constant(0.4), 3)
    1.342
    """
    return (1 - share) * float(np.sqrt(1 / (1 - 2 * share)))


def run_lemma_1(settings: Lemma, memory: Memory) -> list[Row]:
    """Put bad points where they pull hardest, and compare the median's error with the bound."""
    rows: list[Row] = []
    for share in SHARES:
        # The lemma needs more than 1 - gamma of the points within the radius: one bad point fewer than gamma T.
        bad = int(np.ceil(share * COUNT)) - 1
        for dimension in DIMENSIONS:
            ratios = []
            for trial in range(settings.trials // len(DIMENSIONS) + 1):
                rng = np.random.default_rng([settings.seed, 1, dimension, round(100 * share), trial])
                points = _in_ball(rng, COUNT, dimension)
                points[:bad] = _pulling(rng, bad, dimension)
                # The good points that lie best for the adversary: on the sphere, on the side of the bad ones.
                if trial % 2:
                    points[bad:] /= np.linalg.norm(points[bad:], axis=1, keepdims=True)
                    points[bad:, 0] = np.abs(points[bad:, 0])
                radius = float(np.linalg.norm(points[bad:], axis=1).max())
                median = np.asarray(geometric_median(points))
                ratios.append(float(np.linalg.norm(median)) / (median_constant(share) * radius))
            rows.append(
                {
                    "statement": "lemma 1",
                    "share": share,
                    "dimension": dimension,
                    "trials": len(ratios),
                    "largest": max(ratios),
                    "mean": float(np.mean(ratios)),
                }
            )
    return rows


def run_lemma_4(settings: Lemma, memory: Memory) -> list[Row]:
    """Compare how often the median is near with the chance that the lemma promises."""
    rows: list[Row] = []
    dimension = 10
    for good in (0.7, 0.8, 0.9):
        for share in (0.35, 0.4, 0.45):
            if share - 1 + good <= 0:
                continue
            near = 0
            for trial in range(settings.trials):
                rng = np.random.default_rng([settings.seed, 4, round(100 * good), round(100 * share), trial])
                points = _in_ball(rng, COUNT, dimension)
                far = rng.random(COUNT) > good
                points[far] = _pulling(rng, int(far.sum()), dimension)
                near += bool(np.linalg.norm(geometric_median(points)) < median_constant(share))
            promised = 1 - float(np.exp(-2 * COUNT * (share - 1 + good) ** 2))
            rows.append(
                {
                    "statement": "lemma 4",
                    "share": share,
                    "good": good,
                    "trials": settings.trials,
                    "observed": near / settings.trials,
                    "promised": promised,
                }
            )
    return rows


def run_theorem_3(settings: Lemma, memory: Memory) -> list[Row]:
    """Find the least curvature of the median's loss over pairs of points in a ball, on a line and off it."""
    rows: list[Row] = []
    for name, flat in (("in space", False), ("on a straight line", True)):
        rng = np.random.default_rng([settings.seed, 3, int(flat)])
        cloud = rng.standard_normal((400, 5))
        if flat:
            cloud[:, 1:] = 0.0
        curvature = []
        for _ in range(settings.trials):
            first, second = 2 * _in_ball(rng, 2, 5)
            if flat:
                # Both beyond the cloud, on its line: there the loss is straight.
                first, second = np.eye(5)[0] * (10 + rng.random()), np.eye(5)[0] * (20 + rng.random())
            difference = second - first
            gain = (_gradient(second, cloud) - _gradient(first, cloud)) @ difference
            curvature.append(float(gain / (difference @ difference)))
        rows.append({"statement": "theorem 3", "cloud": name, "trials": settings.trials, "least": min(curvature)})
    return rows


def run_single(settings: Lemma, memory: Memory) -> list[Row]:
    """Move one estimate away from the others, and turn one projector away from the others."""
    dimension, trials = 10, max(1, settings.trials // 100)
    rows: list[Row] = []
    for distance in (0.0, 1e2, 1e4):
        errors: dict[str, list[float]] = {"averaging": [], "median": [], "projectors": []}
        for trial in range(trials):
            rng = np.random.default_rng([settings.seed, 5, trial])
            points = rng.standard_normal((COUNT, dimension))
            points[0, 0] += distance
            errors["averaging"].append(float(np.linalg.norm(points.mean(axis=0))))
            errors["median"].append(float(np.linalg.norm(geometric_median(points))))
            errors["projectors"].append(_averaged_projectors(rng, dimension, wrong=distance > 0))
        rows.append(
            {
                "statement": "one bad estimate",
                "distance": distance,
                "trials": trials,
                **{name: root_mean_square(values) for name, values in errors.items()},
            }
        )
    return rows


def _averaged_projectors(rng: np.random.Generator, columns: int, *, wrong: bool) -> float:
    """Average projectors near one on the first two axes, one of them on the last two where it is to be wrong."""
    rank = 2
    truth = np.eye(columns)[:, :rank]
    bases = [np.linalg.qr(truth + 0.1 * rng.standard_normal(truth.shape))[0] for _ in range(COUNT)]
    if wrong:
        bases[0] = np.eye(columns)[:, -rank:]
    mean = sum(basis @ basis.T for basis in bases) / COUNT
    leading = np.linalg.eigh(mean)[1][:, -rank:]
    return subspace_error(leading, truth)


def _gradient(place: Array, cloud: Array) -> Array:
    difference = place - cloud
    return np.asarray((difference / np.linalg.norm(difference, axis=1, keepdims=True)).mean(axis=0))


def _in_ball(rng: np.random.Generator, count: int, dimension: int) -> Array:
    points = rng.standard_normal((count, dimension))
    radius = rng.random(count) ** (1 / dimension)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True) * radius[:, None])


def _pulling(rng: np.random.Generator, count: int, dimension: int) -> Array:
    """Return bad points that agree, somewhere between near and very far, along the first axis."""
    points = 0.01 * rng.standard_normal((count, dimension))
    points[:, 0] += 10.0 ** rng.uniform(0, 4)
    return np.asarray(points)
