"""Simulate points without groups, and print what justifies VALLEY: `python null.py [runs]`.

For each law, number of points and of dimensions: the 98% points of the best valley of all views (z) and of the
evidence for a second scale (nats; a dot where the two laws did not differ by CLEAR or the majority was not elliptical
in 98% of the runs), and the share of runs in which a division was made, points stood apart or cells were taken as
missing. A t weight that leaves no point out is not counted: it is no statement about a point.

Then the same for lines: the share of tables with honest noise of several laws in which anything was left out.

`python null.py streams [runs] [FOLDER]`: calls of rows that are shuffled, clean rows of several laws, and of the real
tables in a folder (see `real_tables.py`), so that no batch contradicts another: the share of batches rejected, of rows
left out, and of its own rows that the model calls outliers.

`python null.py stretches [runs]`: honest series whose x and noise depend on the row before, and some whose slopes or
noise change over time: the share in which a stretch is found that contradicts the rest.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

import robustream as rs
from real_tables import load
from robustream.majority import bad_stretches, majority_line
from robustream.majority.columns import spread_lattice
from robustream.majority.evidence import shortest_half
from robustream.majority.points import VALLEY, find_cut, find_spread, majority

LAWS = {
    "normal": lambda r, n, p: r.normal(size=(n, p)),
    "t3": lambda r, n, p: r.normal(size=(n, p)) / np.sqrt(r.chisquare(3, (n, 1))),
    "t3 columns": lambda r, n, p: r.standard_t(3, (n, p)),
    "Cauchy": lambda r, n, p: r.normal(size=(n, p)) / np.sqrt(r.chisquare(1, (n, 1))),
    "Cauchy columns": lambda r, n, p: r.standard_cauchy((n, p)),
    "uniform": lambda r, n, p: r.uniform(size=(n, p)),
    "Laplace": lambda r, n, p: r.laplace(size=(n, p)),
    "exponential": lambda r, n, p: r.exponential(size=(n, p)),
    "log-normal": lambda r, n, p: np.exp(r.normal(size=(n, p))),
    "gamma 0.7": lambda r, n, p: r.gamma(0.7, size=(n, p)),
    "Poisson 3": lambda r, n, p: r.poisson(3, (n, p)).astype(float),
    "five points": lambda r, n, p: r.integers(1, 6, (n, p)).astype(float),
}
DISCRETE = ("Poisson 3", "five points")
SIZES = ((60, 2), (60, 5), (60, 20), (200, 2), (200, 20), (600, 5), (600, 50), (1500, 2), (1500, 20), (1500, 50))

NOISE = {
    "normal": lambda r, n: r.normal(size=n),
    "uniform": lambda r, n: r.uniform(-1, 1, n),
    "exponential": lambda r, n: r.exponential(size=n),
    "log-normal": lambda r, n: r.lognormal(size=n),
    "gamma 0.5": lambda r, n: r.gamma(0.5, size=n),
    "Laplace": lambda r, n: r.laplace(size=n),
    "beta 0.5": lambda r, n: r.beta(0.5, 0.5, n),
    "t3": lambda r, n: r.standard_t(3, n),
    "t1.5": lambda r, n: r.standard_t(1.5, n),
    "two modes": lambda r, n: r.normal(size=n) + 3 * (r.random(n) < 0.5),
    "Poisson 3": lambda r, n: r.poisson(3, n).astype(float),
}
TABLES = tuple((n, p) for n in (60, 200, 1000) for p in (1, 3, 8))


def lines_left_out(noise: str, n: int, p: int, seed: int) -> bool:
    """Return whether anything was left out of an honest table."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.normal(size=(n, p))
    return bool(majority_line(X, X @ rng.normal(size=p) + NOISE[noise](rng, n)).groups)


def run(law: str, n: int, p: int, seed: int) -> tuple[float, float, bool]:
    """Return valley z, nats of the second scale, and whether anything was left out."""
    rng = np.random.default_rng([seed, n, p])
    points = LAWS[law](rng, n, p)
    if law not in DISCRETE:
        points = points @ np.linalg.qr(rng.normal(size=(p, p)))[0]
    answer = majority(points)
    points = spread_lattice(points, rng)[0]
    center, unit = shortest_half(np.sort(points.T, axis=1))
    points = (points - center) / unit
    spread = find_spread(points)
    return (
        find_cut(points).evidence,
        -np.inf if spread is None else spread.evidence,
        bool(answer.groups) or answer.cells is not None,
    )


STREAM_LAWS = ("normal", "t3 columns", "uniform", "exponential")
COLUMNS, BATCHES, ROWS = (3, 8, 20), (10, 20, 60), (100, 300, 1000)


def stream_of_law(law: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return rows of a law, targets with noise of the same law, and the rows of a call."""
    rng = np.random.default_rng([seed, 3])
    p, batches, rows = COLUMNS[seed % 3], BATCHES[seed // 3 % 3], ROWS[seed // 9 % 3]
    X = LAWS[law](rng, rows * batches, p) * np.linspace(3, 1, p)
    return X, X @ rng.normal(size=p) + LAWS[law](rng, len(X), 1)[:, 0], rows


def stream_of_table(folder: Path, name: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the shuffled rows of a real table, in units of its columns, and the rows of a call."""
    X, y, _, _ = load(folder, name)
    spread = X.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(y))
    return (X / np.where(spread > 0, spread, 1))[order], y[order], max(len(y) // BATCHES[seed % 3], 5 * X.shape[1])


def show_streams(runs: int, folder: Path | None) -> None:
    """Print what streams of shuffled clean rows lose."""
    sources = {law: lambda seed, law=law: stream_of_law(law, seed) for law in STREAM_LAWS}
    for path in sorted(folder.glob("*_mask.csv.gz")) if folder else ():
        name = path.name.removesuffix("_mask.csv.gz")
        sources[name] = lambda seed, name=name: stream_of_table(folder, name, seed)
    print(f"{runs} streams each: % of batches rejected | of rows left out | of its own rows flagged (median, worst)")
    for name, make in sources.items():
        for kind in (rs.OutlierRobustPCA, rs.OutlierRobustRegressor):
            rejected, rows, flagged = [], [], []
            for seed in range(runs):
                X, y, size = make(seed)
                targets = () if kind is rs.OutlierRobustPCA else (y,)
                model = kind()
                for start in range(0, len(X) - size + 1, size):
                    model.partial_fit(*(part[start : start + size] for part in (X, *targets)))
                records = model.batch_report_
                rejected += [record.verdict == "rejected" for record in records]
                rows.append(sum(record.left_out or 0 for record in records) / len(X))
                flagged.append(model.is_outlier(X, *targets).mean())
            shares = [100 * f for f in (np.mean(rejected), np.mean(rows), np.median(flagged), max(flagged))]
            print(f"{name:15}{kind.__name__:24}" + "".join(f"{share:8.2f}" for share in shares), flush=True)


def series(rng: np.random.Generator, n: int, p: int, memory: float) -> np.ndarray:
    rows = lfilter([1.0], [1.0, -memory], rng.normal(size=(n + 200, p)), axis=0)[200:]
    return rows / rows.std(axis=0)


def show_stretches(runs: int) -> None:
    print(f"{runs} series each: % in which a stretch is found")
    found = []
    for of_x, of_noise in ((0, 0), (0.9, 0), (0.9, 0.9), (0.99, 0.9), (0.99, 0.99), (0, 0.9)):
        for strength in (0.2, 0.5, 1, 3):
            hits = 0
            for seed in range(runs):
                rng, n, p = np.random.default_rng(seed), (300, 1000, 4000)[seed % 3], (1, 3, 8)[seed // 3 % 3]
                X, noise = series(rng, n, p, of_x), series(rng, n, 1, of_noise)[:, 0]
                hits += bad_stretches(X, strength * X.sum(axis=1) / np.sqrt(p) + noise) is not None
            found.append(hits / runs)
    print(
        f"memory of the row before: {100 * np.mean(found):.2f} in all, {100 * max(found):.1f} in the worst of 24 cells"
    )
    for kind in ("slope of a season", "slope that wanders", "noise ten times as large for a quarter of the time"):
        hits = 0
        for seed in range(runs):
            rng, n = np.random.default_rng(seed), (300, 1000, 4000)[seed % 3]
            X, time = rng.normal(size=(n, 3)), np.arange(n) / n
            slope, spread = np.ones(n), np.ones(n)
            if kind == "slope of a season":
                slope += 0.9 * np.sin(2 * np.pi * time * (1, 2, 4)[seed // 3 % 3])
            elif kind == "slope that wanders":
                slope += 0.7 * np.cumsum(rng.normal(size=n)) / np.sqrt(n)
            else:
                spread[(time > 0.5) & (time < 0.75)] = 10
            y = slope * X[:, 0] + 0.3 * X[:, 1] + spread * rng.normal(size=n)
            hits += bad_stretches(X, y) is not None
        print(f"{kind}: {100 * hits / runs:.1f}")


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["stretches"]:
        show_stretches(int(sys.argv[2]) if len(sys.argv) > 2 else 150)
        return
    if sys.argv[1:2] == ["streams"]:
        warnings.simplefilter("ignore")
        runs = int(sys.argv[2]) if len(sys.argv) > 2 else 27
        show_streams(runs, Path(sys.argv[3]) if len(sys.argv) > 3 else None)
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"98% points of z | nats | % of runs with anything left out; limit of both {VALLEY}; {runs} runs each")
    print(f"{'':15}" + "".join(f"{f'{n} x {p}':>16}" for n, p in SIZES) + "     all")
    overall = []
    for law in LAWS:
        row, parts = [], []
        for n, p in SIZES:
            found = np.array([run(law, n, p, seed) for seed in range(runs)])
            z, nats = np.quantile(found[:, 0], 0.98), np.quantile(found[:, 1], 0.98, method="lower")
            row.append(found[:, 2].mean())
            parts.append(f"{z:5.1f} |{'  . ' if np.isinf(nats) else f'{nats:4.1f}'} |{100 * row[-1]:3.0f}")
        overall += row
        print(f"{law:15}" + "".join(f"{part:>16}" for part in parts) + f"{100 * np.mean(row):7.1f}%", flush=True)
    print(f"all laws and sizes: {100 * np.mean(overall):.1f}% of the runs, worst cell {100 * max(overall):.0f}%")
    print(f"{'lines':15}" + "".join(f"{f'{n} x {p}':>11}" for n, p in TABLES) + "     all")
    for noise in NOISE:
        row = [np.mean([lines_left_out(noise, n, p, seed) for seed in range(runs)]) for n, p in TABLES]
        print(f"{noise:15}" + "".join(f"{share:11.1%}" for share in row) + f"{np.mean(row):8.2%}", flush=True)


if __name__ == "__main__":
    main()
