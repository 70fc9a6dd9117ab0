"""Callbacks, the progress bar, and stopping early."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import fdtri

import robustream as rs
from robustream.errors import InvalidInputError
from robustream.runs.checkpoints import Rhythm
from robustream.runs.stopping import FEWEST_BATCHES, STOPPING_CONFIDENCE, error_bound, is_look


def _batches(seed: int, columns: int, rows: int = 400, most: int = 400):
    rng = np.random.default_rng(seed)
    coef = 2 + np.abs(rng.normal(size=columns))
    for _ in range(most):
        X = rng.normal(size=(rows, columns))
        yield X, X @ coef + rng.normal(size=rows)


def test_callbacks_hear_of_each_batch(folder):
    heard = []
    model = rs.fit(rs.OutlierRobustRegressor(), folder, target="price", callbacks=[heard.append])
    assert [event.batches for event in heard] == list(range(1, len(heard) + 1))
    assert {event.total for event in heard} == {len(heard)}
    assert heard[-1].failed == 1
    assert heard[-1].rows == model.n_samples_seen_
    assert heard[0].model is model


def test_a_callback_can_end_the_run(folder):
    model = rs.fit(rs.OutlierRobustPCA(1), folder, callbacks=[lambda event: event.batches == 12])
    assert model.n_batches_seen_ == 12
    assert "callback" in model.fit_notes_["ended"]


def test_a_progress_bar_goes_to_standard_error(folder, capsys):
    rs.fit(rs.OutlierRobustPCA(1), folder, progress=True)
    shown = capsys.readouterr()
    assert not shown.out
    assert "batches" in shown.err


def test_the_run_stops_when_the_answer_is_good_enough():
    model = rs.fit(rs.OutlierRobustRegressor(learner="classical"), _batches(0, 5), tolerance=0.02)
    assert FEWEST_BATCHES <= model.n_batches_seen_ < 60
    assert "0.02" in model.fit_notes_["ended"]
    looks = model.fit_notes_["history"]
    assert looks[-1][1] <= 0.02


@pytest.mark.parametrize("columns", [1, 8])
def test_the_error_at_the_stop_is_below_the_tolerance(columns):
    runs, tolerance = 40, 0.03
    exceeded = 0
    for seed in range(runs):
        coef = 2 + np.abs(np.random.default_rng(seed).normal(size=columns))
        model = rs.fit(
            rs.OutlierRobustRegressor(learner="classical"), _batches(seed, columns, 200), tolerance=tolerance
        )
        assert model.fit_notes_["ended"] is not None, seed
        exceeded += np.linalg.norm(model.coef_ - coef) > tolerance * np.linalg.norm(coef)
    # Each run may exceed with a chance of 5%: more than 6 of 40 would come by chance once in 300 times.
    assert exceeded <= 6


def test_looks_get_rarer():
    looks = [batches for batches in range(1, 2000) if is_look(batches)]
    assert looks[:4] == [4, 5, 7, 8]
    assert all(later >= 1.2 * earlier for earlier, later in pairwise(looks[8:]))
    assert FEWEST_BATCHES in looks


@pytest.mark.parametrize("dimension", [1, 2, 8, 100])
def test_all_looks_together_keep_95_percent(dimension):
    """Normal estimates of known dimension: the squared spread of K of them is a chi-square, and so is the error."""
    rng = np.random.default_rng(dimension)
    runs, looks = 20_000, [batches for batches in range(FEWEST_BATCHES, 1000) if is_look(batches)]
    for spread in np.geomspace(4, 100, 10):
        squares, seen, stop = np.zeros(runs), 1, np.zeros(runs, int)
        for batches in looks:
            squares += rng.chisquare(dimension * (batches - seen), runs)
            seen = batches
            quantile = fdtri(dimension, dimension * (batches - 1), STOPPING_CONFIDENCE)
            bound = spread * squares / (dimension * (batches - 1)) * quantile / batches
            stop[(stop == 0) & (bound <= 1)] = batches
        assert (stop > 0).all()
        error = spread / stop * rng.chisquare(dimension, runs) / dimension
        assert np.mean(error <= 1) > 0.95


def test_nothing_is_known_from_one_batch_or_a_forgetful_aggregator():
    rows = np.random.default_rng(0).normal(size=(100, 3))
    one = rs.OutlierRobustPCA(1).fit(rows)
    assert error_bound(one.run_) == np.inf
    mean = rs.OutlierRobustPCA(1, aggregator="mean", batch_size=10).fit(rows)
    assert error_bound(mean.run_) == np.inf


@pytest.mark.parametrize("every", ["0 s", "often", -1, 0, "1.5 batches", True])
def test_wrong_rhythms(every):
    if every == "0 s":
        assert Rhythm(every).is_due()
        return
    with pytest.raises(InvalidInputError, match="checkpoint_every"):
        Rhythm(every)


def test_batches_that_failed_do_not_count_towards_the_fewest():
    def half_of_them_fail():
        for X, y in _batches(0, 3, rows=4000):
            yield X, y
            yield X[:, :2], y

    model = rs.fit(rs.OutlierRobustRegressor(learner="classical"), half_of_them_fail, tolerance=0.5, quorum=0.4)
    kept = sum(record.verdict == "kept" for record in model.batch_report_)
    assert (kept, model.n_batches_seen_) == (FEWEST_BATCHES, 2 * FEWEST_BATCHES - 1)
    looks = model.fit_notes_["history"]
    assert [look[0] for look in looks] == [2 * batches - 1 for batches in range(1, 17) if is_look(batches)]
