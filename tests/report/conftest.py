"""Reports of real runs: 40 files, 5 of them unreadable and 11 readable but wrong."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pandas as pd
import pytest

import robustream as rs
from robustream.batch import Batch
from robustream.report import collect, write_report
from robustream.runs.run import Layout
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
    run = model.begin_run(Layout(COLUMNS, int(target)), np.array(NAMES, dtype=object))
    seen = []
    for estimate in estimate_in_order(run.plan.learner, weather(target), run.plan.seed, 1):
        model.run_ = run = run.step(estimate)
        if run.next_index % 8 == 0:
            seen.append((run.next_index, answer(model), run.rows_seen))
    last = seen[-1][1]
    size = np.linalg.norm(last)
    return [[batches, float(np.linalg.norm(value - last) / size), rows] for batches, value, rows in seen[:-1]]


def worst_rows(model, target, most=10):
    """Give the rows of the good files that fit worst."""
    found = []
    for batch in weather(target):
        path, _, place = batch.label.partition("#")
        if batch.failure is None and int(path[-10:-8]) not in WRONG:
            X = pd.DataFrame(batch.X, columns=NAMES)
            scores = model.outlier_scores(X, batch.y) if target else model.outlier_scores(X)
            first = int(place.partition("-")[0])
            found += [[batch.label, first + int(row), float(scores[row])] for row in np.argsort(-scores)[:most]]
    return sorted(found, key=lambda row: -row[2])[:most]


def make_report(model, target, answer, **more):
    started = time.perf_counter()
    history = drive(model, target, answer)
    total = time.perf_counter() - started
    extra = {
        "history": history,
        "worst_rows": worst_rows(model, target),
        "missing": {"humidity": 412, "ozone": 96, "pollen": 3, "rainfall": 0},
        "settings": {"source": "data/*.parquet", "missing": "skip", "tolerance": 0.01},
        "timings": {"total": total},
    }
    return collect(model, extra | more)


@pytest.fixture(scope="session")
def bad_files():
    return {file_name(number) for number in WRONG | set(UNREADABLE)}


@pytest.fixture(scope="session")
def pca_data():
    def answer(fitted):
        return fitted.components_.T @ fitted.components_

    return make_report(rs.OutlierRobustPCA(4), False, answer, title="Principal components of data/*.parquet")


@pytest.fixture(scope="session")
def regression_data():
    def answer(fitted):
        return fitted.coef_

    title = "Regression of price on 12 columns"
    return make_report(rs.OutlierRobustRegressor(), True, answer, title=title, targets=["price"])


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with pytest.importorskip("playwright.sync_api").sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def show(browser, tmp_path):
    """Open reports; at the end nothing may have gone wrong in them, and nothing may have been asked for."""
    troubles, requests, contexts = [], [], []

    def open_report(data, viewport=None, **options):
        path = tmp_path / "report.html"
        write_report(data, path)
        context = browser.new_context(viewport=viewport or {"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert troubles == []
    assert {url for url in requests if not url.startswith("data:")} == {(tmp_path / "report.html").as_uri()}
