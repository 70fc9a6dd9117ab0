"""What it costs to begin: the import, and the first fit with code that has to be compiled or loaded."""

from __future__ import annotations

import statistics
from tempfile import TemporaryDirectory

from robustream.bench.figures import Figure, Target
from robustream.bench.fresh import run_fresh
from robustream.bench.timing import MEDIAN_OF_RATIOS, Comparison

__all__ = ["measure_first_fit", "measure_import"]

_IMPORT = """
from time import perf_counter
started = perf_counter()
__import__(arguments[0])
print(json.dumps(perf_counter() - started))
"""

_FIRST_FIT = """
from time import perf_counter
import numpy
import robustream
name, rows, columns = arguments
X = numpy.random.default_rng(0).standard_normal((rows, columns))
model = getattr(robustream, name)()
seconds = []
for _ in range(2):
    started = perf_counter()
    model.fit(X).components_
    seconds.append(perf_counter() - started)
print(json.dumps(seconds))
"""


def measure_import(repeats: int, target: Target | None = None) -> Figure:
    """Time `import robustream` in multiples of `import sklearn`, each in a fresh process."""
    seconds: dict[str, list[float]] = {"robustream": [], "sklearn": []}
    # The first round reads files that no one has read yet, and does not count.
    for repeat in range(repeats + 1):
        for module, samples in seconds.items():
            sample = run_fresh(_IMPORT, module)
            if repeat:
                samples.append(sample)
    times = Comparison(seconds["robustream"], seconds["sklearn"])
    return Figure(
        "start",
        "import robustream against import sklearn, fresh processes",
        times.ratio,
        "x",
        target,
        MEDIAN_OF_RATIOS,
        times.details(),
    )


def measure_first_fit(estimator: str, rows: int, columns: int, repeats: int) -> list[Figure]:
    """Time the first fit in a fresh process, with an empty and with a filled cache of compiled code."""
    with TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": folder}
        cold = run_fresh(_FIRST_FIT, estimator, rows, columns, environment=environment)
        warm = [run_fresh(_FIRST_FIT, estimator, rows, columns, environment=environment) for _ in range(repeats)]
    figures = (
        ("cold", cold[0], cold[1], "one run"),
        (
            "warm",
            statistics.median(run[0] for run in warm),
            statistics.median(run[1] for run in warm),
            f"median of {repeats}",
        ),
    )
    return [
        Figure(
            "start",
            f"first fit of {estimator}, {rows:,} x {columns}, {kind} Numba cache",
            first,
            "s",
            how=f"{how}, without the import",
            details={"second_fit_seconds": second},
        )
        for kind, first, second, how in figures
    ]
