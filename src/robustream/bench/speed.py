"""`robustream bench speed`: the time of fits and streams as multiples of the plain method's, over a whole grid.

A cell is a shape (rows, columns), a kind of dirt, and a way to come: one table, or calls of so many rows. Plain is the
covariance and its eigenvectors, or the normal equations, of the same rows, one call at a time where they come in calls.
Peers are measured where they are installed and not hopeless. All are timed in turns, so that a busy machine slows all.
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.bench.measurement import Figure, Step, Target, same_threads, say_threads, seconds_of
from robustream.errors import RowsLeftOutWarning
from robustream.estimators import OutlierRobustPCA, OutlierRobustRegressor

__all__ = ["DIRT", "Cell", "draw_grid", "grid", "make_rows", "speed_steps"]

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]

ROWS = (1_000, 10_000, 100_000, 1_000_000)
COLUMNS = (2, 5, 20, 100, 500)
CALLS = (100, 1_000, 10_000)
# Cells of a table beyond which it is left to files (`bench stream`, `bench scale`): 0.8 GB, and passes on top.
MOST_CELLS, QUICK_CELLS = 100_000_000, 10_000_000
# A stream has so many calls, and at most so many rows: enough for its looks to count as they would in a long one.
STREAM_CALLS, STREAM_ROWS, STREAM_COLUMNS = 50, 100_000, (5, 20, 100)
# Cells of a table beyond which a peer is not waited for.
PEER_CELLS = {"HuberRegressor": 20_000_000, "MinCovDet": 500_000, "lmrob": 500_000, "covMcd": 2_000_000}
FAR = 8.0  # spreads that bad rows are away


def _apart(rng: np.random.Generator, X: Any, y: Any, bad: Any) -> None:
    X[bad] += FAR / math.sqrt(X.shape[1]) * np.sign(rng.normal(size=X.shape[1]))
    y[bad] -= FAR * y.std()


def _scattered(rng: np.random.Generator, X: Any, y: Any, bad: Any) -> None:
    X[bad] *= FAR
    y[bad] = rng.normal(0, FAR * y.std(), int(bad.sum()))


def _other_line(rng: np.random.Generator, X: Any, y: Any, bad: Any) -> None:
    X[bad] = X[bad][:, ::-1]
    y[bad] *= -1


def _cells(rng: np.random.Generator, X: Any, y: Any, bad: Any) -> None:
    cells = rng.random(X.shape) < 0.05
    X[cells] += FAR * rng.choice([-1.0, 1.0], int(cells.sum()))


KINDS: dict[str, Callable[..., None]] = {"apart": _apart, "scattered": _scattered, "another line": _other_line}
# Name, share of bad rows, how they are made, and whether whole calls are bad.
DIRT: dict[str, tuple[float, Callable[..., None] | None, bool]] = {
    "clean": (0.0, None, False),
    **{f"{share:.0%} {kind}": (share, make, False) for share in (0.1, 0.3) for kind, make in KINDS.items()},
    "bad cells": (0.0, _cells, False),
    "30% bad calls": (0.3, _other_line, True),
}


class Cell(NamedTuple):
    """One measurement of the grid; `call` is the number of rows of a call, None for one table."""

    problem: str
    rows: int
    columns: int
    dirt: str
    call: int | None = None

    @property
    def title(self) -> str:
        """The cell in words."""
        way = "one table" if self.call is None else f"calls of {self.call:,}"
        return f"{self.problem}, {self.rows:,} x {self.columns}, {self.dirt}, {way}"

    def cuts(self) -> list[slice]:
        """Return the calls."""
        size = self.call or self.rows
        return [slice(first, first + size) for first in range(0, self.rows, size)]


def grid(*, quick: bool = False, most_rows: int = ROWS[-1]) -> list[Cell]:
    """Return the cells; quick ones are one shape in three, and the streams of 20 columns."""
    cells = []
    for problem in ("PCA", "regression"):
        most = QUICK_CELLS if quick else MOST_CELLS
        shapes = [(n, p) for n in ROWS for p in COLUMNS if n <= most_rows and n * p <= most and n >= 4 * p]
        for place, (rows, columns) in enumerate(shapes):
            if not quick or place % 3 == 1:
                cells += [Cell(problem, rows, columns, dirt) for dirt, (_, _, whole) in DIRT.items() if not whole]
        for call in CALLS:
            for columns in (20,) if quick else STREAM_COLUMNS:
                rows = min(call * STREAM_CALLS, STREAM_ROWS)
                cells += [Cell(problem, rows, columns, dirt, call) for dirt in DIRT]
    return cells


def make_rows(cell: Cell, seed: int = 0) -> Rows:
    """Return the rows of a cell and their targets: correlated columns, normal noise, and its dirt."""
    rng = np.random.default_rng([seed, cell.rows, cell.columns])
    X = rng.normal(size=(cell.rows, cell.columns))
    X[:, 1:] += 0.5 * X[:, :-1]
    X[:, 0] *= 3
    y = X @ rng.normal(size=cell.columns) + rng.normal(size=cell.rows)
    share, spoil, whole = DIRT[cell.dirt]
    if spoil is not None:
        bad = rng.random(cell.rows) < share
        if whole:
            bad = np.repeat(rng.random(len(cell.cuts())) < share, cell.call or 1)[: cell.rows]
        spoil(rng, X, y, bad)
    return X, y


# --- who is measured ----------------------------------------------------------------------------------------------


def plain_components(X: Any, y: Any) -> Any:
    """Eigenvectors of the covariance."""
    centered = X - X.mean(axis=0)
    return np.linalg.eigh(centered.T @ centered / len(X))


def plain_line(X: Any, y: Any) -> Any:
    """Normal equations."""
    A = np.column_stack([X, np.ones(len(X))])
    return np.linalg.lstsq(A.T @ A, A.T @ y, rcond=None)[0]


def _ours(cell: Cell, X: Any, y: Any) -> Any:
    components = min(2, cell.columns)
    model: Any = OutlierRobustPCA(components) if cell.problem == "PCA" else OutlierRobustRegressor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsLeftOutWarning)
        if cell.call is None:
            model.fit(X, y)
        else:
            for cut in cell.cuts():
                model.partial_fit(X[cut], y[cut])
        return model.components_ if cell.problem == "PCA" else model.coef_


def _plain(cell: Cell, X: Any, y: Any) -> None:
    plain = plain_components if cell.problem == "PCA" else plain_line
    for cut in cell.cuts():
        plain(X[cut], y[cut])


def _huber(X: Any, y: Any) -> Any:
    from sklearn.linear_model import HuberRegressor

    return HuberRegressor(max_iter=1000).fit(X, y)


def _mcd(X: Any, y: Any) -> Any:
    from sklearn.covariance import MinCovDet

    return MinCovDet(random_state=0).fit(X)


def _intelex(X: Any, y: Any, *, problem: str) -> Any:
    if problem == "PCA":
        return import_module("sklearnex.decomposition").PCA(min(2, X.shape[1])).fit(X)
    return import_module("sklearnex.linear_model").LinearRegression().fit(X, y)


_R_CALL = """
suppressMessages(library(robustbase)); a <- commandArgs(TRUE); n <- as.integer(a[2]); p <- as.integer(a[3])
D <- matrix(readBin(a[1], "double", n * (p + 1)), n, p + 1); X <- D[, 1:p, drop = FALSE]; y <- D[, p + 1]
cat(system.time(if (a[4] == "covMcd") covMcd(X) else lmrob(y ~ X))[["elapsed"]])
"""


@cache
def _has_r() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(robustbase)"], capture_output=True, check=False).returncode == 0


def r_seconds(name: str, X: Any, y: Any) -> float:
    """Return the seconds that a function of R's robustbase took, the start of R and reading not counted."""
    with tempfile.TemporaryDirectory(prefix="robustream-") as folder:
        path = Path(folder) / "rows.bin"
        np.column_stack([X, y]).T.tofile(path)
        shape = [str(size) for size in X.shape]
        done = subprocess.run(
            ["Rscript", "-e", _R_CALL, str(path), *shape, name], capture_output=True, text=True, check=False
        )
    return float(done.stdout) if done.returncode == 0 else math.nan


def _peers(cell: Cell, X: Any, y: Any) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield the peers of a table that are installed and not hopeless, with what times them once."""
    if cell.call is not None:
        return
    own: dict[str, Callable[..., Any]] = {"MinCovDet": _mcd} if cell.problem == "PCA" else {"HuberRegressor": _huber}
    for name, fit in own.items():
        if X.size <= PEER_CELLS[name]:
            yield name, partial(seconds_of, partial(fit, X, y))
    if find_spec("sklearnex") is not None:
        yield "scikit-learn-intelex", partial(seconds_of, partial(_intelex, X, y, problem=cell.problem))
    name = "covMcd" if cell.problem == "PCA" else "lmrob"
    if _has_r() and X.size <= PEER_CELLS[name]:
        yield name, partial(r_seconds, name, X, y)


# --- targets and steps --------------------------------------------------------------------------------------------


def target_of(cell: Cell) -> Target | None:
    """Return how many times the plain method's time a cell may take."""
    if cell.call is None:
        return Target("<=", 10, 5) if cell.rows >= 100_000 else None
    bounds = {1_000: 20.0, 10_000: 6.0}
    return Target("<=", bounds[cell.call]) if cell.columns == 20 and cell.call in bounds else None


def measure_cell(cell: Cell, threads: int, repeats: int, *, peers: bool) -> list[Figure]:
    """Time ours, plain and peers in turns, after a call of ours and of plain that does not count."""
    X, y = make_rows(cell)
    sides: dict[str, Callable[[], float]] = {
        "ours": partial(seconds_of, partial(_ours, cell, X, y)),
        "plain": partial(seconds_of, partial(_plain, cell, X, y)),
    }
    with same_threads(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what they are given; time is all that counts here
        for side in tuple(sides.values()):
            side()
        sides |= dict(_peers(cell, X, y)) if peers else {}
        samples = [{name: side() for name, side in sides.items()} for _ in range(repeats)]
    found = []
    for name in list(sides)[1:]:
        ratio = statistics.median(sample["ours"] / sample[name] for sample in samples)
        group = f"our time / {name}, {say_threads(threads)}"
        target = target_of(cell) if name == "plain" else Target("<", 1) if cell.rows >= 10_000 else None
        seconds = {side: [sample[side] for sample in samples] for side in ("ours", name)}
        details = {**cell._asdict(), "seconds": seconds, "rows a second": cell.rows / min(seconds["ours"])}
        found.append(Figure(group, cell.title, ratio, "x", target, "median of turns", details))
    return found


def speed_steps(
    cells: Sequence[Cell], threads: Sequence[int], *, quick: bool = False, peers: bool = True
) -> list[Step]:
    """Return a step for each cell and number of threads."""
    repeats = 2 if quick else 3
    return [
        Step(f"{cell.title}, {say_threads(number)}", partial(measure_cell, cell, number, repeats, peers=peers))
        for number in threads
        for cell in cells
    ]


def draw_grid(figures: Sequence[Figure]) -> Any:
    """Return a matplotlib figure: our time over plain, a panel for each problem and number of threads."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure as Picture

    plain = [figure for figure in figures if "/ plain" in figure.group]
    groups = list(dict.fromkeys((figure.details["problem"], figure.group) for figure in plain))
    height = 0.8 + 0.22 * len({_row(figure) for figure in plain})
    picture = Picture(figsize=(6.5 * len(groups), height + 1), layout="constrained")
    picture.suptitle("Time of a fit in multiples of the plain method's")
    for axes, (problem, group) in zip(np.atleast_1d(picture.subplots(1, len(groups))), groups, strict=True):
        chosen = [figure for figure in plain if (figure.details["problem"], figure.group) == (problem, group)]
        shapes = sorted({_column(figure) for figure in chosen})
        rows = list(dict.fromkeys(_row(figure) for figure in chosen))
        values = np.full((len(rows), len(shapes)), np.nan)
        for figure in chosen:
            values[rows.index(_row(figure)), shapes.index(_column(figure))] = figure.value
        axes.imshow(values, norm=LogNorm(1, 300), cmap="YlOrRd", aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                axes.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=6)
        axes.set_xticks(range(len(shapes)), [f"{n:,} x {p}" for n, p in shapes], rotation=90, fontsize=7)
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.set_title(f"{problem}, {group.rpartition(', ')[2]}", fontsize=9)
    return picture


def _row(figure: Figure) -> str:
    call = figure.details["call"]
    return f"{figure.details['dirt']}{'' if call is None else f', calls of {call:,}'}"


def _column(figure: Figure) -> tuple[int, int]:
    return figure.details["rows"], figure.details["columns"]
