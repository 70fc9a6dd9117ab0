"""What people would use instead, from R: lmrob and ltsReg of robustbase, PcaHubert of rrcov, where R is installed."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from robustream.bench.accuracy.cases import Problem
from robustream.bench.accuracy.methods import Fit, Method
from robustream.bench.accuracy.sample import Sample
from robustream.errors import RobustreamError

__all__ = ["RError", "r_peers"]

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
