"""Check the GPU kernels against the processor's, then time them: python benchmarks/gpu/run.py OUTPUT_FOLDER [part ...].

Parts: checks, kernels, pca, tags, tags-refined; all if none is named.
"""

from __future__ import annotations

import sys
from pathlib import Path

from checks import check_estimators, check_kernels
from common import Floors, Results
from times import time_kernels
from workloads import principal, tags


def main() -> None:
    folder, *chosen = sys.argv[1:]
    results, floors = Results(Path(folder)), Floors()
    for what, figure in floors.rows():
        results.add(f"floor: {what}", figure, note=floors.name)
    parts = {
        "checks": lambda: (check_kernels(results), check_estimators(results)),
        "kernels": lambda: time_kernels(results, floors),
        "pca": lambda: principal(results, floors),
        "tags": lambda: tags(results, floors, refined=False),
        "tags-refined": lambda: tags(results, floors, refined=True),
    }
    for part in chosen or parts:
        parts[part]()


if __name__ == "__main__":
    main()
