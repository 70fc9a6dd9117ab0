"""A new kind of problem is one file: a space, a learner and an estimator, and everything else works with them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.console import Console
from sklearn.base import BaseEstimator

import robustream as rs
from robustream.estimators._streaming import StreamingMixin
from robustream.estimators._summary import Shown, Summary
from robustream.learners import Learner, Solved
from robustream.persistence import model as model_file
from robustream.report import collect
from robustream.report.page import render_html
from robustream.report.tables import summary_tables
from robustream.runs.run import Plan
from robustream.runs.stopping import error_bound
from robustream.spaces import Euclidean, Part, ProductSpace


class LocationPoint(NamedTuple):
    center: np.ndarray
    log_scale: np.ndarray


class LocationValue(NamedTuple):
    center: Any = None
    log_scale: Any = None


@dataclass(frozen=True)
class Locations(ProductSpace):
    point_type = LocationPoint
    value_type = LocationValue
    columns: int

    @property
    def parts(self):
        shape = (self.columns,)
        return Part("centre", Euclidean(shape)), Part("log scale", Euclidean(shape), "noise", is_log=True)

    @property
    def primary(self):
        return 0

    def express(self, part, point, settled=None):
        return point[part]

    def row_scores(self, point, X, y):
        return np.abs((X - point[0]) / np.exp(point[1])).max(axis=1)


@dataclass(frozen=True)
class LocationLearner(Learner):
    def space(self, n_columns, n_outputs):
        return Locations(n_columns)

    def required_rows(self, n_columns):
        return 2

    def minimum_rows(self, n_columns):
        return 10

    def solve(self, batch, rng):
        return Solved(LocationPoint(np.median(batch.X, axis=0), np.log(batch.X.std(axis=0))))


class Location(StreamingMixin, BaseEstimator):
    cutoff_ = 4.0

    def __init__(self, batch_size=100, random_state=None):
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X, y=None):
        return rs.fit(self, X)

    def plan_for(self, layout):
        return Plan(LocationLearner(), rs.aggregators.Filtered(), self.batch_size)

    @property
    def center_(self):
        return self.run_.value.center

    def outlier_scores(self, X):
        return np.abs(np.asarray(X) - self.center_).max(axis=1)

    def answer(self):
        return {"center_": self.center_}

    def shown(self, targets=None):
        rows = tuple((f"x{place}", float(value)) for place, value in enumerate(self.center_))
        return Shown("Location", tables=(Summary("Centre of the rows", ("", "centre"), rows, ("a note",)),))


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal([1.0, 2.0, 3.0], size=(2000, 3))
    X[300:500] += 50
    X[1234] = 30
    return X


def test_it_is_fitted_judged_stopped_and_shown(rows):
    model = rs.fit(Location(), rows, tolerance=0.5)
    np.testing.assert_allclose(model.center_, [1.0, 2.0, 3.0], atol=0.15)
    assert [record.index for record in model.batch_report_ if record.verdict == "rejected"] == [3, 4]
    assert model.fit_notes_["ended"]
    assert 0 < error_bound(model.run_) < 0.5
    assert model.certificate(0.1).quantity == "centre"
    assert model.fit_notes_["worst_rows"][0][1] == 34
    page = render_html(collect(model, model.fit_notes_))
    assert "Centre of the rows" in page
    assert "a note" in page
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*summary_tables(collect(model)))
    assert "x2" in console.export_text()


def test_it_is_kept_in_files(rows, tmp_path, monkeypatch):
    for names in (model_file._KINDS, model_file._STREAMING):
        monkeypatch.setitem(names, "Location", Location)
    stop = [lambda event: event.batches == 7]
    rs.fit(Location(), rows, checkpoint=tmp_path / "checkpoint", callbacks=stop)
    model = rs.fit(Location(), rows, checkpoint=tmp_path / "checkpoint", resume=True)
    rs.save(model, tmp_path / "model")
    loaded = rs.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.center_, model.center_)
    np.testing.assert_array_equal(loaded.run_.feed(rows, None).value.center, model.run_.feed(rows, None).value.center)


def test_it_runs_on_an_engine(rows):
    here, there = (rs.fit(Location(), rows, engine=engine) for engine in (None, rs.engines.InProcessEngine()))
    np.testing.assert_array_equal(here.center_, there.center_)
