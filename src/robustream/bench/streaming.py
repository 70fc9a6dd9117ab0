"""Principal components over a stream, beside scikit-learn's on the same batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from robustream.bench.figures import Figure, Target
from robustream.bench.timing import same_threads, say_threads
from robustream.estimators import OutlierRobustPCA
from robustream.sources import SimulatedPCA

__all__ = ["MODELS", "measure_stream"]

COMPONENTS = 5


def _incremental_pca() -> Any:
    # This module of scikit-learn takes a while to load, and only a race needs it.
    from sklearn.decomposition import IncrementalPCA

    return IncrementalPCA(COMPONENTS)


PEER = "IncrementalPCA"
PAPER = "ORL-PCA"
DEFAULT = "OutlierRobustPCA with its defaults"
MODELS: Mapping[str, Callable[[], Any]] = {
    PAPER: lambda: OutlierRobustPCA(COMPONENTS, learner="trimmed", aggregator="online-median"),
    DEFAULT: lambda: OutlierRobustPCA(COMPONENTS),
    PEER: _incremental_pca,
}


def measure_stream(
    batches: int, rows: int, columns: int, threads: int, targets: Mapping[str, Target] | None = None
) -> list[Figure]:
    """Time each model over a stream in multiples of scikit-learn's; the batches are made off the clock."""
    stream = SimulatedPCA(batches, rows, columns, COMPONENTS, outliers=0.1, dtype=np.float32)
    models = {name: make() for name, make in MODELS.items()}
    seconds = dict.fromkeys(models, 0.0)
    names = list(models)
    with same_threads(threads):
        # One batch for models that are thrown away: code is compiled or loaded off the clock too.
        for make in MODELS.values():
            _ = make().partial_fit(stream.batch(0).X).components_
        for batch in stream:
            for name in names:
                started = perf_counter()
                models[name].partial_fit(batch.X)
                seconds[name] += perf_counter() - started
            # Whoever comes first finds the batch in no cache, so the first place goes round.
            names.append(names.pop(0))
        for name, model in models.items():
            started = perf_counter()
            _ = model.components_
            seconds[name] += perf_counter() - started
    return [
        Figure(
            "stream",
            f"{name} against {PEER}, {batches} batches of {rows:,} x {columns} float32, {say_threads(threads)}",
            seconds[name] / seconds[PEER],
            "x",
            (targets or {}).get(name),
            "ratio of the total times, each batch goes to all models in turns",
            {"seconds": seconds[name], "peer_seconds": seconds[PEER]},
        )
        for name in models
        if name != PEER
    ]
