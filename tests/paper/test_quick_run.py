"""The quick run, as a user starts it: one run, all that must be true of it.

One test, so that the run is made once however tests are shared out among processes.
"""

from __future__ import annotations

import subprocess
import sys

from robustream.paper.bounds import median_constant
from robustream.paper.experiment import Context
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.page import make_page
from robustream.paper.results import Results, Store
from robustream.paper.scenarios import SIZES

CONTEXT = Context(SIZES["quick"])
# Started as a process of its own, with its workers.
START = "from robustream.cli.reproduce import reproduce; reproduce()"


def read(store, name):
    return Results(store.read(EXPERIMENTS[name].cells(CONTEXT)))


# What is checked below; `robustream reproduce all --quick` has the others, in some minutes more.
RUN = ("figure-1b",)


def test_the_quick_run(tmp_path):
    for name in RUN:
        finished = subprocess.run(
            [sys.executable, "-c", START, name, "--quick", "--out", str(tmp_path), "--jobs", "2"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
    store = Store(tmp_path, "quick", 0)
    page = make_page([EXPERIMENTS[name] for name in RUN], CONTEXT, store)
    assert all(section.complete for section in page.sections)
    check_regression_with_outlier_batches(read(store, "figure-1b"))
    assert (tmp_path / "index.html").stat().st_size > 20_000


def check_regression_with_outlier_batches(results):
    """40% of the batches made of outliers, each batch trims its own share: the median survives, averaging does not."""
    some = results.where(rule="own", seen=None, order="random", spread="adversarial", share=0.4, level=1.0)
    bad = some.where(kind="printed")
    bound = median_constant(0.4) * bad.rms(method="radius of the good batches")
    assert bad.rms(method="geometric median") <= bound
    assert bad.rms(method="averaging") > 3 * bad.rms(method="geometric median")
