"""Ways to fit a sample: ours, and what people would use instead, from Python (scikit-learn, statsmodels, river) and R.

A method turns a sample into an estimate: coefficients, or a basis of the leading subspace as columns. Methods that need
all rows get all rows of a stream at once; those that can learn in passing get its batches in turn. Regressions get
columns and targets brought to a common scale by median and quartiles of all rows, which a stream could not know in
advance: to their advantage, since some have penalties, step sizes or tolerances in fixed units.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from robustream.bench.accuracy.cases import Problem
from robustream.bench.accuracy.contamination import Array, Sample, leading_subspace
from robustream.errors import RobustreamError
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor

__all__ = ["OURS", "Fit", "Method", "RError", "our_method", "python_peers", "r_peers"]

OURS = "ours"


class Fit(NamedTuple):
    """An estimate, and the seconds that it took where the method measured them itself."""

    value: Array
    seconds: float | None = None


class Method(NamedTuple):
    """A way to fit.

    Beyond `most_columns` the method is left out, and beyond `most_rows` it gets evenly spaced rows only: it would
    take minutes. `missing` says why it cannot run here, if it cannot. `slow` ones are left out of quick runs.
    """

    name: str
    title: str
    problem: Problem
    fit: Callable[[Sample], Fit]
    most_columns: int | None = None
    most_rows: int | None = None
    missing: str = ""
    slow: bool = False


def our_method(problem: Problem) -> Method:
    """Return ours with default settings: `fit` on a table, `partial_fit` on every batch of a stream."""
    if problem == "regression":
        return Method(OURS, "robustream OutlierRobustRegressor", problem, _fit_regression)
    return Method(OURS, "robustream OutlierRobustPCA", problem, _fit_pca)


def _fit_regression(sample: Sample) -> Fit:
    model = OutlierRobustRegressor()
    if len(sample.batches) == 1:
        return Fit(np.asarray(model.fit(sample.X, sample.y).coef_))
    for batch in sample.batches:
        model.partial_fit(batch.X, batch.y)
    return Fit(np.asarray(model.coef_))


def _fit_pca(sample: Sample) -> Fit:
    model = OutlierRobustPCA(sample.components, standardize=sample.standardize)
    if len(sample.batches) == 1:
        return Fit(np.asarray(model.fit(sample.X).components_.T))
    for batch in sample.batches:
        model.partial_fit(batch.X)
    return Fit(np.asarray(model.components_.T))


def python_peers(problem: Problem) -> list[Method]:
    """Return the peers of a problem, those that are not installed too."""
    if problem == "pca":
        return [
            Method("PCA", "scikit-learn PCA", problem, _pca),
            Method("IncPCA", "scikit-learn IncrementalPCA", problem, _incremental_pca),
            Method("MCD", "scikit-learn MinCovDet, eigenvectors", problem, _mcd, most_columns=60, most_rows=5000),
        ]
    statsmodels = "" if find_spec("statsmodels") else "statsmodels is not installed"
    resistant = statsmodels or (
        "" if find_spec("statsmodels.robust.resistant_linear_model") else "statsmodels is older than 0.15"
    )
    river = "" if find_spec("river") else "river is not installed"
    return [
        Method("LS", "scikit-learn LinearRegression", problem, _least_squares),
        Method("Huber", "scikit-learn HuberRegressor", problem, _huber),
        Method("RANSAC", "scikit-learn RANSACRegressor", problem, _ransac),
        Method(
            "TheilSen",
            "scikit-learn TheilSenRegressor, 2,000 subsets",
            problem,
            _theil_sen,
            most_columns=20,
            most_rows=2000,
        ),
        Method("SGD", "scikit-learn SGDRegressor, Huber loss", problem, _sgd),
        Method("RLM", "statsmodels RLM, Huber's T", problem, _rlm, 60, 5000, statsmodels),
        Method("DetMM", "statsmodels RLMDetSMM", problem, _det_mm, 20, 5000, resistant, slow=True),
        Method("river", "river LinearRegression, Huber loss", problem, _river, most_columns=60, missing=river),
    ]


def _least_squares(sample: Sample) -> Fit:
    from sklearn.linear_model import LinearRegression

    return _scaled_fit(LinearRegression(), sample)


def _huber(sample: Sample) -> Fit:
    from sklearn.linear_model import HuberRegressor

    return _scaled_fit(HuberRegressor(), sample)


def _ransac(sample: Sample) -> Fit:
    from sklearn.linear_model import RANSACRegressor

    units = _Units(sample)
    model = RANSACRegressor(random_state=0).fit(*units.scale(sample.X, sample.y))
    return Fit(units.unscale(model.estimator_.coef_))


def _theil_sen(sample: Sample) -> Fit:
    from sklearn.linear_model import TheilSenRegressor

    return _scaled_fit(TheilSenRegressor(max_subpopulation=2000, random_state=0), sample)


def _sgd(sample: Sample) -> Fit:
    from sklearn.linear_model import SGDRegressor

    model = SGDRegressor(loss="huber", random_state=0)
    if len(sample.batches) == 1:
        return _scaled_fit(model, sample)
    units = _Units(sample)
    for X, y in units.batches(sample):
        model.partial_fit(X, y)
    return Fit(units.unscale(model.coef_))


def _rlm(sample: Sample) -> Fit:
    api = import_module("statsmodels.api")
    units = _Units(sample)
    X, y = units.scale(sample.X, sample.y)
    return Fit(units.unscale(api.RLM(y, api.add_constant(X, has_constant="add")).fit().params[1:]))


def _det_mm(sample: Sample) -> Fit:
    model = import_module("statsmodels.robust.resistant_linear_model").RLMDetSMM
    units = _Units(sample)
    X, y = units.scale(sample.X, sample.y)
    return Fit(units.unscale(model(y, np.column_stack([np.ones(len(X)), X])).fit().params[1:]))


def _river(sample: Sample) -> Fit:
    linear_model, optim = import_module("river.linear_model"), import_module("river.optim")
    model = linear_model.LinearRegression(loss=optim.losses.Huber())
    units = _Units(sample)
    names = list(range(sample.X.shape[1]))
    for X, y in units.batches(sample):
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(zip(names, row, strict=True)), target)
    return Fit(units.unscale(np.array([model.weights[name] for name in names])))


def _scaled_fit(model: Any, sample: Sample) -> Fit:
    units = _Units(sample)
    return Fit(units.unscale(model.fit(*units.scale(sample.X, sample.y)).coef_))


class _Units:
    """Median and quartile distance of every column and of the target, over all rows of a sample."""

    def __init__(self, sample: Sample) -> None:
        self.center, self.spread = _median_and_spread(sample.X)
        self.y_center, self.y_spread = _median_and_spread(sample.y)

    def scale(self, X: Array, y: Array) -> tuple[Array, Array]:
        return (X - self.center) / self.spread, (y - self.y_center) / self.y_spread

    def batches(self, sample: Sample) -> Iterator[tuple[Array, Array]]:
        for batch in sample.batches:
            assert batch.y is not None
            yield self.scale(batch.X, batch.y)

    def unscale(self, coef: Array) -> Array:
        return np.asarray(coef) * self.y_spread / self.spread


def _median_and_spread(values: Array) -> tuple[Array, Array]:
    low, center, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, values.std(axis=0))
    return center, np.where(spread > 0, spread, 1.0)


def _pca(sample: Sample) -> Fit:
    from sklearn.decomposition import PCA

    return Fit(PCA(sample.components).fit(_standardizer(sample)(sample.X)).components_.T)


def _incremental_pca(sample: Sample) -> Fit:
    from sklearn.decomposition import IncrementalPCA

    model, standardize = IncrementalPCA(sample.components), _standardizer(sample)
    if len(sample.batches) == 1:
        return Fit(model.fit(standardize(sample.X)).components_.T)
    for batch in sample.batches:
        model.partial_fit(standardize(batch.X))
    return Fit(model.components_.T)


def _mcd(sample: Sample) -> Fit:
    from sklearn.covariance import MinCovDet

    scatter = MinCovDet(random_state=0).fit(sample.X).covariance_
    return Fit(leading_subspace(scatter, sample.components, standardize=sample.standardize))


def _standardizer(sample: Sample) -> Callable[[Array], Array]:
    """Return what brings columns to unit scale by mean and standard deviation, where the case asks for it."""
    if not sample.standardize:
        return lambda X: X
    center, spread = sample.X.mean(axis=0), sample.X.std(axis=0)
    return lambda X: (X - center) / spread


# The time to start R and read the table does not count; the first line of the answer is that of the fit.
SCRIPT = """
arguments <- commandArgs(TRUE)
method <- arguments[1]; components <- as.integer(arguments[3])
table <- as.matrix(read.csv(arguments[2], header = FALSE, colClasses = "numeric"))
dimnames(table) <- NULL
last <- ncol(table)
set.seed(1)
suppressPackageStartupMessages(library(if (method == "PcaHubert") "rrcov" else "robustbase", character.only = TRUE))
taken <- system.time(value <- switch(method,
    lmrob = coef(lmrob(table[, last] ~ table[, -last]))[-1],
    ltsReg = { fitted <- coef(ltsReg(table[, -last], table[, last]))
               if (is.null(names(fitted))) fitted[-1] else fitted[names(fitted) != "Intercept"] },
    PcaHubert = getLoadings(PcaHubert(table, k = components, kmax = components))))
value[is.na(value)] <- 0
cat(sprintf("%.17g", c(taken[["elapsed"]], as.vector(value))), sep = "\\n")
"""
PACKAGES: dict[Problem, str] = {"regression": "robustbase", "pca": "rrcov"}
PATIENCE = 60.0


class RError(RobustreamError, RuntimeError):
    """R ended without an answer."""


def r_peers(problem: Problem) -> list[Method]:
    """Return the peers of a problem; where R or its package is not installed, they say so."""
    missing = _missing(PACKAGES[problem])
    if problem == "pca":
        return [Method("PcaHubert", "R rrcov PcaHubert", problem, partial(_fit, "PcaHubert"), 200, 5000, missing, True)]
    return [
        Method(name, f"R robustbase {name}", problem, partial(_fit, name), 60, 5000, missing, True)
        for name in ("lmrob", "ltsReg")
    ]


@cache
def _missing(package: str) -> str:
    program = shutil.which("Rscript")
    if program is None:
        return "R is not installed"
    check = [program, "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"]
    try:
        found = subprocess.run(check, capture_output=True, check=False, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return "R does not answer"
    return "" if found else f"R's {package} is not installed (Debian: r-cran-{package})"


def _fit(method: str, sample: Sample) -> Fit:
    columns = sample.X.shape[1]
    table = sample.X
    if method != "PcaHubert":
        table = np.column_stack([sample.X, sample.y])
    elif sample.standardize:
        center = np.median(sample.X, axis=0)
        table = (sample.X - center) / np.median(np.abs(sample.X - center), axis=0)
    components = sample.components if method == "PcaHubert" else 0
    with TemporaryDirectory() as folder:
        script, data = Path(folder, "fit.R"), Path(folder, "table.csv")
        script.write_text(SCRIPT, encoding="utf-8")
        np.savetxt(data, table, delimiter=",", fmt="%.17g")
        command = ["Rscript", "--vanilla", str(script), method, str(data), str(components)]
        try:
            finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"R took over {PATIENCE:g} s") from error
    if finished.returncode != 0:
        words = " ".join(finished.stderr.split()).partition("Error")[2].partition(" Calls:")[0]
        raise RError(words.removeprefix(" in ") or "R said nothing")
    seconds, *numbers = (float(line) for line in finished.stdout.split())
    value = np.array(numbers)
    return Fit(value if method != "PcaHubert" else value.reshape(components, columns).T, seconds)
