"""Reports of real runs: 40 files, 5 of them unreadable and 11 readable but wrong."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.batch import Batch
from robustream.estimators._layout import Layout
from robustream.report import collect
from robustream.runs.online import absorb
from robustream.runs.workers import estimate_in_order

FILES, BATCHES, ROWS, COLUMNS = 40, 4, 300, 12
UNREADABLE = {6: "ArrowInvalid: Parquet magic bytes not found", 13: "the file is empty", 20: "permission denied"} | {
    27: "column 'humidity' is missing",
    34: "the file ends early",
}
WRONG = {2, 5, 9, 12, 16, 19, 23, 26, 30, 33, 37}
NAMES = [
    *("temperature", "humidity", "pressure", "wind speed", "cloud cover", "rainfall"),
    *("sunshine", "visibility", "dew point", "snow depth", "ozone", "pollen"),
]
GENERATOR = np.random.default_rng(7)
MIXING = GENERATOR.normal(size=(4, COLUMNS)) * np.array([[5.0], [3.0], [2.0], [1.2]])
WEIGHTS = np.array([2.4, -1.8, 1.1, 0.6, -0.4, 0.25, -0.12, 0.06, 0.03, 0.0, 0.0, 0.0])


def file_name(number):
    return f"data/part-{number:02d}.parquet"


def weather(target):
    """Yield the batches of all files; a wrong file has its columns mixed up, its scale or its sign changed."""
    rng = np.random.default_rng(3)
    for number in range(FILES):
        for place in range(BATCHES):
            index = number * BATCHES + place
            label = f"{file_name(number)}#{place * ROWS}-{(place + 1) * ROWS - 1}"
            X = rng.normal(size=(ROWS, 4)) @ MIXING + rng.normal(size=(ROWS, COLUMNS)) + 10
            y = X @ WEIGHTS + rng.normal(size=ROWS) if target else None
            if number in UNREADABLE:
                yield Batch.unreadable(index, label, UNREADABLE[number])
            elif number in WRONG and number % 2:
                yield Batch(index, label, X[:, ::-1] * 10.0 ** (number % 3), None if y is None else -3 * y)
            elif number in WRONG:
                yield Batch(
                    index, label, rng.standard_cauchy((ROWS, COLUMNS)) * 50, None if y is None else y + 40 * X[:, 3]
                )
            else:
                yield Batch(index, label, X, y)


def drive(model, target, answer):
    """Run the model over all batches; give the history of its answer, measured against the last one."""
    model._begin(Layout(COLUMNS, int(target)), np.array(NAMES, dtype=object))
    plan, stream = model._snapshot.plan, model._snapshot.stream
    seen = []
    for estimate in estimate_in_order(plan.learner, weather(target), plan.seed, 1):
        stream = absorb(plan, stream._replace(rows_seen=stream.rows_seen + estimate.rows), estimate)
        model._take(plan, stream)
        if stream.next_index % 8 == 0:
            seen.append((stream.next_index, answer(model), stream.rows_seen))
    last = seen[-1][1]
    size = np.linalg.norm(last)
    return [[batches, float(np.linalg.norm(value - last) / size), rows] for batches, value, rows in seen[:-1]]


def extra(history, **more):
    rng = np.random.default_rng(1)
    worst = [
        [f"{file_name(number)}#0-{ROWS - 1}", int(row), float(score)]
        for number, row, score in zip(
            rng.permutation([0, 1, 3, 4, 7, 8, 10, 11, 14, 15]),
            rng.integers(0, 300, 10),
            np.geomspace(80, 4, 10),
            strict=True,
        )
    ]
    return {
        "history": history,
        "worst_rows": worst,
        "missing": {"humidity": 412, "ozone": 96, "pollen": 3, "rainfall": 0},
        "settings": {"source": "data/*.parquet", "missing": "skip", "tolerance": 0.01},
        "timings": {"read": 0.8, "learn": 2.9, "aggregate": 0.4, "total": 3.2},
        **more,
    }


@pytest.fixture(scope="session")
def bad_files():
    return {file_name(number) for number in WRONG | set(UNREADABLE)}


@pytest.fixture(scope="session")
def pca_data():
    model = rs.OutlierRobustPCA(4)
    history = drive(model, False, lambda fitted: fitted.components_.T @ fitted.components_)
    return collect(model, extra(history, title="Principal components of data/*.parquet"))


@pytest.fixture(scope="session")
def regression_data():
    model = rs.OutlierRobustRegressor()
    history = drive(model, True, lambda fitted: fitted.coef_)
    return collect(model, extra(history, title="Regression of price on 12 columns", targets=["price"]))
