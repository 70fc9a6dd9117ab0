"""Robust PCA and linear regression over streams in which many rows, and whole batches, may be garbage.

Names are loaded when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robustream._version import __version__ as __version__

if TYPE_CHECKING:
    from robustream import aggregators, engines, errors, learners, sources
    from robustream.batch import BatchRecord
    from robustream.estimators import (
        OutlierRobust,
        OutlierRobustCovariance,
        OutlierRobustPCA,
        OutlierRobustRegressor,
        TrimmedPCA,
        TrimmedRegressor,
    )
    from robustream.kernels.median import geometric_median
    from robustream.kernels.trimmed import trimmed_covariance, trimmed_cross, trimmed_inner
    from robustream.persistence import load, save
    from robustream.runs.distributed import fold_in_late
    from robustream.runs.fit import fit
    from robustream.runs.progress import FitEvent

__all__ = [
    "BatchRecord",
    "FitEvent",
    "OutlierRobust",
    "OutlierRobustCovariance",
    "OutlierRobustPCA",
    "OutlierRobustRegressor",
    "TrimmedPCA",
    "TrimmedRegressor",
    "aggregators",
    "engines",
    "errors",
    "fit",
    "fold_in_late",
    "geometric_median",
    "learners",
    "load",
    "save",
    "sources",
    "trimmed_covariance",
    "trimmed_cross",
    "trimmed_inner",
]

_PACKAGES = ("aggregators", "engines", "errors", "learners", "sources")
_HOMES = {
    "robustream.batch": ("BatchRecord",),
    "robustream.estimators": (
        "OutlierRobust",
        "OutlierRobustCovariance",
        "OutlierRobustPCA",
        "OutlierRobustRegressor",
        "TrimmedPCA",
        "TrimmedRegressor",
    ),
    "robustream.kernels.median": ("geometric_median",),
    "robustream.kernels.trimmed": ("trimmed_covariance", "trimmed_cross", "trimmed_inner"),
    "robustream.persistence": ("load", "save"),
    "robustream.runs.distributed": ("fold_in_late",),
    "robustream.runs.fit": ("fit",),
    "robustream.runs.progress": ("FitEvent",),
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"robustream.{name}")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(home), name)
            return found
    raise AttributeError(f"module 'robustream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
