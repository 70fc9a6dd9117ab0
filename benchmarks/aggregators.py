"""How near aggregators come to the mean of the good estimates, case by case, and what a value costs.

    python benchmarks/aggregators.py [seeds]

Each case draws good estimates around 0 (spread 1 in the units of each coordinate) and some bad ones. Printed are the
root mean squared error over the seeds divided by that of the oracle, the share of seeds with exactly the oracle's
verdicts, and the mean share of good estimates that were rejected.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from robustream.aggregators import Aggregator, Filtered, GeometricMedian
from robustream.batch import Estimate
from robustream.spaces import Euclidean, Part, Parts, Subspace

Maker = Callable[[np.random.Generator, int, int], np.ndarray]


class Case(NamedTuple):
    name: str
    count: int
    dimension: int
    bad: float
    make: Maker  # the bad estimates
    good: Maker = lambda rng, count, dimension: rng.normal(size=(count, dimension))


def identical(size: float) -> Maker:
    return lambda rng, count, dimension: np.tile(size * unit(rng, dimension), (count, 1))


def colluding(size: float) -> Maker:
    return lambda rng, count, dimension: size * unit(rng, dimension) + rng.normal(size=(count, dimension))


def colluding_radii(size: float) -> Maker:
    """A shift by so many typical distances of the good ones."""
    return lambda rng, count, dimension: colluding(size * np.sqrt(dimension))(rng, count, dimension)


def groups(size: float, number: int) -> Maker:
    def make(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        centers = np.stack([size * unit(rng, dimension) for _ in range(number)])
        return centers[rng.integers(number, size=count)] + rng.normal(size=(count, dimension))

    return make


def wild(size: float) -> Maker:
    return lambda rng, count, dimension: size * rng.standard_t(2, size=(count, dimension))


def one_coordinate(size: float) -> Maker:
    def make(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        points = rng.normal(size=(count, dimension))
        points[:, 0] += size
        return points

    return make


def unit(rng: np.random.Generator, dimension: int) -> np.ndarray:
    direction = rng.normal(size=dimension)
    return direction / np.linalg.norm(direction)


def student(freedom: float) -> Maker:
    return lambda rng, count, dimension: rng.standard_t(freedom, size=(count, dimension))


def elliptical(freedom: float) -> Maker:
    def make(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        quality = np.sqrt(freedom / rng.chisquare(freedom, size=(count, 1)))
        return quality * rng.normal(size=(count, dimension))

    return make


def unequal(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    return np.exp(rng.uniform(0, np.log(5), size=(count, 1))) * rng.normal(size=(count, dimension))


def two_qualities(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    return rng.choice([1.0, 5.0], size=(count, 1)) * rng.normal(size=(count, dimension))


def correlated(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    spectrum = 1 / np.arange(1, dimension + 1)
    mixing = np.linalg.qr(np.random.default_rng(5).normal(size=(dimension, dimension)))[0] * spectrum
    return rng.normal(size=(count, dimension)) @ mixing.T


def nothing(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    return np.zeros((count, dimension))


def cases() -> Iterator[Case]:
    for dimension in (1, 5, 50, 500):
        for count in (8, 30, 100, 400):
            yield Case("clean normal", count, dimension, 0.0, nothing)
    for dimension in (1, 5, 50, 500):
        for count in (30, 100, 400):
            yield Case("clean t3, independent", count, dimension, 0.0, nothing, student(3))
            yield Case("clean t3, elliptical", count, dimension, 0.0, nothing, elliptical(3))
    for dimension in (1, 20, 200):
        yield Case("spread 1 to 5", 100, dimension, 0.0, nothing, unequal)
        yield Case("spread 1 or 5", 100, dimension, 0.0, nothing, two_qualities)
        yield Case("spread 1 to 5, colluding 3 radii", 100, dimension, 0.3, colluding_radii(6), unequal)
    yield Case("clean, correlated", 100, 50, 0.0, nothing, correlated)
    yield Case("correlated, colluding", 100, 50, 0.4, colluding(5), correlated)
    for dimension in (1, 5, 20, 200, 2000):
        for bad in (0.1, 0.3, 0.45):
            yield Case("identical, 3 radii", 100, dimension, bad, lambda g, n, p: identical(3 * np.sqrt(p))(g, n, p))
            yield Case("colluding, 1 radius", 100, dimension, bad, colluding_radii(1))
            yield Case("colluding, 3 radii", 100, dimension, bad, colluding_radii(3))
            yield Case("shifted by 3 spreads", 100, dimension, bad, colluding(3))
            yield Case("shifted by 5 spreads", 100, dimension, bad, colluding(5))
            yield Case("shifted by 8 spreads", 100, dimension, bad, colluding(8))
            yield Case("one coordinate by 10", 100, dimension, bad, one_coordinate(10))
            yield Case("3 groups, 3 radii", 100, dimension, bad, lambda g, n, p: groups(3 * np.sqrt(p), 3)(g, n, p))
            yield Case("wild t2 x 5", 100, dimension, bad, wild(5))
            yield Case("wild t2 x 1e150", 100, dimension, bad, wild(1e150))
    for count in (5, 8, 12, 20):
        for dimension in (1, 10, 100):
            yield Case("colluding, 10 radii", count, dimension, 0.4, colluding_radii(10))
    for count in (1000,):
        for dimension in (1, 5, 100):
            yield Case("shifted by 3 spreads", count, dimension, 0.4, colluding(3))
            yield Case("shifted by 5 spreads", count, dimension, 0.4, colluding(5))


def fold(aggregator: Aggregator, points: np.ndarray) -> object:
    state = aggregator.init(Parts((Part("coefficients", Euclidean((points.shape[1],))),)))
    estimates = tuple(Estimate(k, "", 100, (point,)) for k, point in enumerate(points))
    return state._replace(estimates=estimates, keys=(0.0,) * len(estimates), taken=len(estimates))


def run(case: Case, seeds: int) -> str:
    error, oracle, median, exact, lost = 0.0, 0.0, 0.0, 0, 0.0
    for seed in range(seeds):
        rng = np.random.default_rng([seed, case.count, case.dimension])
        number = int(case.bad * case.count)
        units = np.exp(rng.uniform(np.log(1e-6), np.log(1e6), size=case.dimension))
        good = case.good(rng, case.count - number, case.dimension)
        points = np.concatenate([case.make(rng, number, case.dimension), good])
        order = rng.permutation(case.count)
        aggregator = Filtered()
        state = fold(aggregator, (points * units)[order])
        error += np.square(aggregator.value(state)[0] / units).sum()
        oracle += np.square(good.mean(axis=0)).sum()
        middle = GeometricMedian(tolerance=1e-4)
        median += np.square(middle.value(fold(middle, points))[0]).sum()
        rejected = np.array([assessment.rejected for assessment in aggregator.assess(state)])
        truth = order < number
        exact += bool((rejected == truth).all())
        lost += rejected[~truth].mean()
    return (
        f"{case.name:34s} {case.count:5d} {case.dimension:5d} {case.bad:5.2f}  {np.sqrt(error / oracle):8.3f} "
        f"{np.sqrt(median / oracle):9.3f}  {exact / seeds:6.2f} {lost / seeds:8.4f}"
    )


def times() -> None:
    rng = np.random.default_rng(0)
    spaces = {"1000 coordinates": (Euclidean((1000,)), lambda: rng.normal(size=1000))}
    spaces["100 x 5 subspaces"] = (
        Subspace(100, 5),
        lambda: np.linalg.qr(np.eye(100, 5) + 0.02 * rng.normal(size=(100, 5)))[0],
    )
    for name, (space, draw) in spaces.items():
        for bad in (0, 400):
            state = Filtered().init(Parts((Part("part", space),)))
            points = [draw() for _ in range(1000)]
            for k in range(bad):
                points[k] = points[0] if isinstance(space, Subspace) else points[k] + 1.0
            estimates = tuple(Estimate(k, "", 1, (point,)) for k, point in enumerate(points))
            state = state._replace(estimates=estimates, keys=(0.0,) * 1000, taken=1000)
            best = np.inf
            for _ in range(5):
                started = time.perf_counter()
                Filtered().value(state)
                best = min(best, time.perf_counter() - started)
            print(f"1000 estimates, {name}, {bad} bad: {1e3 * best:.0f} ms a value")


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    print(f"{'case':34s} count   dim   bad  filtered    median   exact     lost")
    for case in cases():
        if only in case.name:
            print(run(case, seeds), flush=True)
    times()


if __name__ == "__main__":
    main()
