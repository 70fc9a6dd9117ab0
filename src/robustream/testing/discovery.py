"""What the library has to check: every exported space, learner, aggregator and source, found by itself.

A class that is exported but that nobody told here how to make an example of is an error, so that none is forgotten.
"""

from __future__ import annotations

import atexit
import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from robustream import aggregators, engines, sources, spaces
from robustream.aggregators import Aggregator
from robustream.batch import Batch
from robustream.engines import Engine
from robustream.learners import RECIPES, Learner, LinearProblem, PrincipalProblem, Recipe
from robustream.learners.adapter import Adapter
from robustream.learners.parameters import choose_parameters
from robustream.sources import ArraySource, IterableSource, SimulatedPCA, SimulatedRegression, Source, Tables
from robustream.spaces import Array, Space
from robustream.testing.learners import MakeBatch

__all__ = ["discover_aggregators", "discover_engines", "discover_learners", "discover_sources", "discover_spaces"]


class SpaceExample(NamedTuple):
    """A space with some of its points."""

    name: str
    space: Space
    points: Sequence[Array]


class LearnerExample(NamedTuple):
    """A learner with a maker of batches for it."""

    name: str
    learner: Learner
    make_batch: MakeBatch


def discover_spaces() -> Iterator[SpaceExample]:
    """Yield every exported space with points of it."""
    rng = np.random.default_rng(0)
    examples: dict[str, list[tuple[Space, list[Array]]]] = {
        "Euclidean": [
            (spaces.Euclidean((3,)), list(rng.normal(size=(5, 3)))),
            (spaces.Euclidean((2, 3)), list(1e6 * rng.normal(size=(4, 2, 3)))),
            (spaces.Euclidean(()), [np.asarray(number) for number in rng.normal(size=4)]),
        ],
        "Subspace": [
            (spaces.Subspace(6, 2), _bases(rng, 6, 2, spread=1.0)),
            (spaces.Subspace(6, 2), _bases(rng, 6, 2, spread=1e-4)),
            (spaces.Subspace(3, 3), _bases(rng, 3, 3, spread=1.0)),
        ],
        "LowRank": [(spaces.LowRank(5, 2), list(rng.normal(size=(5, 5, 2))))],
    }
    for name in _concrete(spaces, Space):
        for number, (space, points) in enumerate(_known(examples, name)):
            yield SpaceExample(f"{name}-{number}", space, points)


def discover_aggregators() -> Iterator[tuple[str, Aggregator]]:
    """Yield every exported aggregator with its default settings."""
    for name in _concrete(aggregators, Aggregator):
        kind: Any = getattr(aggregators, name)
        assert kind in aggregators.AGGREGATORS.values(), f"{name} has no entry in AGGREGATORS"
        yield kind.name, kind()


def discover_engines() -> Iterator[tuple[str, Callable[[], Engine]]]:
    """Yield a maker of every exported engine, with two slots where it can have them; of Dask's only if it is there."""
    makers: dict[str, Callable[[], Engine]] = {
        "InProcessEngine": engines.InProcessEngine,
        "LocalEngine": partial(engines.LocalEngine, n_jobs=2),
        "DaskEngine": partial(engines.DaskEngine, n_workers=2),
    }
    for name in _concrete(engines, Engine):
        if name != "DaskEngine" or find_spec("distributed") is not None:
            yield name, _known(makers, name)


def discover_learners() -> Iterator[LearnerExample]:
    """Yield every recipe for each problem, and the adapter around several estimators."""
    for name, recipe in RECIPES.items():
        yield LearnerExample(f"{name}-pca", recipe().pca(PrincipalProblem(2)), _rows_alone)
        scaled = recipe().pca(PrincipalProblem(2, standardize=True))
        yield LearnerExample(f"{name}-pca-standardized", scaled, _rows_alone)
        yield LearnerExample(f"{name}-regression", recipe().regression(LinearProblem()), _two_targets)
        ridge = recipe().regression(LinearProblem(fit_intercept=False, alpha=0.1))
        yield LearnerExample(f"{name}-ridge", ridge, _two_targets)
        if recipe.covariance is not Recipe.covariance:
            yield LearnerExample(f"{name}-covariance", recipe().covariance(), _rows_alone)
    for estimator, make_batch, classes in (
        (LinearRegression(), _two_targets, None),
        (Ridge(), _one_target, None),
        (LogisticRegression(), _three_classes, np.arange(3)),
        (GaussianNB(), _three_classes, np.arange(3)),
        (BernoulliNB(), _three_classes, np.arange(3)),
    ):
        adapter = Adapter(estimator, choose_parameters(estimator, None), classes, make_batch is not _two_targets)
        yield LearnerExample(f"adapter-{type(estimator).__name__}", adapter, make_batch)


def discover_sources() -> Iterator[tuple[str, Source]]:
    """Yield every exported source at a small size."""
    rng = np.random.default_rng(0)
    rows = SimulatedPCA(batches=6, rows=12, columns=4, components=2, outliers=0.25)
    pairs = SimulatedRegression(batches=6, rows=12, columns=4, outliers=0.25)
    examples: dict[str, list[Source]] = {
        "ArraySource": [ArraySource(rng.normal(size=(50, 3)), rng.normal(size=50), batch_size=9)],
        "IterableSource": [
            IterableSource([rng.normal(size=(5, 3)) for _ in range(4)]),
            IterableSource(lambda: ((np.full((5, 3), k), np.arange(5)) for k in range(4))),
        ],
        "SimulatedPCA": [rows],
        "SimulatedRegression": [pairs],
        "TableSource": _file_examples(),
    }
    wrappers: tuple[Callable[..., Source], ...] = (
        sources.CorruptedBatches,
        sources.CorruptedCells,
        sources.CorruptedRows,
    )
    for wrapper in wrappers:
        examples[wrapper.__name__] = [wrapper(rows), wrapper(pairs)]
    for name in _concrete(sources, Source):
        for number, source in enumerate(_known(examples, name)):
            yield f"{name}-{number}", source


def _concrete(module: ModuleType, base: type) -> list[str]:
    exported = [(name, getattr(module, name)) for name in module.__all__]
    return [
        n for n, kind in exported if isinstance(kind, type) and issubclass(kind, base) and not inspect.isabstract(kind)
    ]


def _known(examples: dict[str, Any], name: str) -> Any:
    assert name in examples, f"robustream.testing.discovery has no example of {name}"
    return examples[name]


def _bases(rng: np.random.Generator, columns: int, rank: int, spread: float) -> list[Array]:
    center = np.linalg.qr(rng.normal(size=(columns, rank)))[0]
    return [np.linalg.qr(center + spread * rng.normal(size=(columns, rank)))[0] for _ in range(5)]


def _rows_alone(rows: int, rng: np.random.Generator) -> Batch:
    return Batch(0, "rows", rng.normal(size=(rows, 4)) * [5.0, 3.0, 1.0, 1.0] + 2.0)


def _two_targets(rows: int, rng: np.random.Generator) -> Batch:
    batch = _rows_alone(rows, rng)
    coef = np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0], [1.0, 1.0]])
    return batch._replace(y=batch.X @ coef + 1.0 + rng.normal(size=(rows, 2)))


def _one_target(rows: int, rng: np.random.Generator) -> Batch:
    batch = _two_targets(rows, rng)
    assert batch.y is not None
    return batch._replace(y=batch.y[:, 0])


def _three_classes(rows: int, rng: np.random.Generator) -> Batch:
    batch = _rows_alone(rows, rng)
    return batch._replace(y=np.digitize(batch.X[:, 0] + rng.normal(size=rows), [0.0, 4.0]))


def _file_examples() -> list[Source]:
    """Return a source for each format, one for a folder of several, and one that joins small files."""
    folder = _folder()
    examples: list[Source] = [Tables(path, target="f2").in_batches(9) for path in sorted(folder.iterdir())]
    examples.append(Tables(folder, target=["f1", "f2"], missing="error").in_batches(20))
    examples.append(Tables(folder, join_small_files=True).in_batches(120))
    return examples


@cache
def _folder() -> Path:
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.feather as pa_feather
    import pyarrow.parquet as pa_parquet

    folder = Path(tempfile.mkdtemp(prefix="robustream-examples-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    numbers = np.random.default_rng(0).normal(size=(50, 3))
    table = pa.table({f"f{place}": numbers[:, place] for place in range(3)})
    pa_parquet.write_table(table, folder / "a.parquet", row_group_size=13)
    pa_feather.write_feather(table, folder / "b.feather", chunksize=13)
    pa_csv.write_csv(table, folder / "c.csv")
    with pa.output_stream(folder / "d.csv.gz", compression="gzip") as file:
        pa_csv.write_csv(table, file)
    np.save(folder / "e.npy", numbers)
    return folder
