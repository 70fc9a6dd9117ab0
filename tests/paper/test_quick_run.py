"""The quick run, as a user starts it: one run, all that must be true of it.

One test, so that the run is made once however tests are shared out among processes.
"""

from __future__ import annotations

import subprocess
import sys

from robustream.paper.experiment import Context
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.page import make_page
from robustream.paper.results import Results, Store
from robustream.paper.sizes import SIZES

CONTEXT = Context(SIZES["quick"])
# Started as a process of its own, with its workers.
START = "from robustream.cli.reproduce import reproduce; reproduce()"


def read(store, name):
    return Results(store.read(EXPERIMENTS[name].cells(CONTEXT)))


def test_the_quick_run(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-c", START, "all", "--quick", "--out", str(tmp_path), "--jobs", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    store = Store(tmp_path, "quick", 0)
    page = make_page(list(EXPERIMENTS.values()), CONTEXT, store)
    assert all(section.complete for section in page.sections)
    check_regression_with_outlier_batches(read(store, "figure-1b"))
    check_colluding_components(read(store, "figure-1a"))
    # What we promise is asserted; what the paper says, and what is only a hope, gets a verdict on the page.
    ours = [pair for section in page.sections for pair in section.findings if pair[0].is_ours]
    promised = [pair for pair in ours if "can be repaired" in pair[0].says or "On spoiled tags" in pair[0].says]
    assert len(promised) == 5
    assert all(finding.verdict == "holds" for _, finding in promised), promised
    assert (tmp_path / "index.html").stat().st_size > 100_000


def check_regression_with_outlier_batches(results):
    """Trim 0.2, 40% of the batches made of outliers: the median keeps its clean error, averaging does not."""
    some = results.where(rule="0.2", seen=None, order="random")
    clean = some.where(spread="even", fraction=0.0)
    bad = some.where(spread="adversarial", share=0.4, level=1.0, kind="colluding")
    assert bad.rms(method="geometric median") < 1.2 * clean.rms(method="geometric median")
    assert bad.rms(method="averaging") > 3 * clean.rms(method="averaging")


def check_colluding_components(results):
    """40% of the batches collude: the median has at most half of averaging's error."""
    bad = results.where(rule="none", share=0.4, level=1.0, kind="colluding", seen=None, order="random")
    assert bad.rms(method="geometric median") <= 0.5 * bad.rms(method="averaging")
