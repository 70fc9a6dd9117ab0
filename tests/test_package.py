"""The package as a whole: what it exports, what it imports, what its examples print."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import robustream

MODULES = sorted(module.name for module in pkgutil.walk_packages(robustream.__path__, "robustream."))


@pytest.mark.parametrize("name", ["robustream", *(name for name in MODULES if not name.endswith("__main__"))])
def test_examples_in_docstrings_print_what_they_say(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


CONTRACT = """
trimmed_inner trimmed_covariance trimmed_cross geometric_median TrimmedPCA TrimmedRegressor OutlierRobustPCA
OutlierRobustRegressor OutlierRobust learners aggregators
"""


def test_the_contract_is_exported():
    assert set(CONTRACT.split()) <= set(robustream.__all__) <= set(dir(robustream))


def loaded_by(statement):
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_loads_nothing_optional_or_slow():
    """Optional dependencies stay optional, and the compiler is loaded when first needed."""
    forbidden = {
        "dask",
        "pyspark",
        "cupy",
        "torch",
        "matplotlib",
        "pandas",
        "pyarrow",
        "numba",
        "click",
        "rich",
        "jinja2",
    }
    # scikit-learn itself loads pandas where that is installed.
    assert not forbidden & (loaded_by("from robustream import *") - loaded_by("import sklearn"))


def test_names_are_loaded_when_they_are_used():
    assert not {"numpy", "scipy", "sklearn"} & loaded_by("import robustream")
    assert not hasattr(robustream, "nothing")


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert version("robustream") == robustream.__version__
    except PackageNotFoundError:
        pytest.skip("robustream runs from a source tree that was not installed")
