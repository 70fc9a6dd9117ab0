"""Where figures were measured: a ratio means little without it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

__all__ = ["describe_environment"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "threadpoolctl")


def describe_environment(threads: int) -> dict[str, Any]:
    """Return processor, versions, linear algebra libraries and date; nothing that names the machine or its user."""
    from robustream import __version__

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "robustream": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": [
            {key: library.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
            for library in threadpool_info()
            if library.get("user_api") == "blas"
        ],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
