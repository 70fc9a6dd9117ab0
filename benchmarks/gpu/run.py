"""Check the GPU kernels against the processor's, then time them: python benchmarks/gpu/run.py OUTPUT_FOLDER [part ...].

Parts: checks, kernels, refined, estimates, sending, pca, tags, tags-refined; all if none is named. `tags=10` takes 10
batches and not 100.
"""

from __future__ import annotations

import sys
from pathlib import Path

from checks import check_estimators, check_kernels
from common import Floors, Results
from estimates import time_filter
from refined import time_refined
from times import time_kernels
from workloads import principal, sending, tags


def main() -> None:
    folder, *chosen = sys.argv[1:]
    results, floors = Results(Path(folder)), Floors()
    for what, figure in floors.rows():
        results.add(f"floor: {what}", figure, note=floors.name)
    parts = {
        "checks": lambda: (check_kernels(results), check_estimators(results)),
        "kernels": lambda: time_kernels(results, floors),
        "refined": lambda: time_refined(results),
        "estimates": lambda: time_filter(results, floors),
        "sending": lambda: sending(results),
        "pca": lambda count=100: principal(results, floors, count),
        "tags": lambda count=100: tags(results, floors, False, count),
        "tags-refined": lambda count=100: tags(results, floors, True, count),
    }
    for part in chosen or parts:
        name, _, count = part.partition("=")
        parts[name](*([int(count)] if count else []))


if __name__ == "__main__":
    main()
