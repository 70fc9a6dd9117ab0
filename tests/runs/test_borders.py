"""Where batches begin and end: a call of partial_fit is a border."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustream as rs
from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.runs.batching import check_batch_size, cut_call, cut_whole, stratified_order
from robustream.runs.workers import count_workers


@given(st.integers(1, 10**7), st.integers(1, 10**5))
def test_auto_gives_one_batch_or_at_least_eight(rows, minimum):
    cuts = cut_whole(rows, minimum, "auto")
    assert cuts[0].start == 0
    assert cuts[-1].stop == rows
    assert all(first.stop == second.start for first, second in pairwise(cuts))
    assert len(cuts) == 1 or len(cuts) >= 8
    if len(cuts) > 1:
        assert min(piece.stop - piece.start for piece in cuts) >= 0.75 * minimum


@given(st.integers(1, 10**6), st.integers(1, 10**5), st.one_of(st.just("auto"), st.integers(1, 10**6)))
@settings(max_examples=60)
def test_a_call_is_cut_without_loss(rows, minimum, batch_size):
    cuts = cut_call(rows, minimum, batch_size)
    assert sum(piece.stop - piece.start for piece in cuts) == rows


def test_the_papers_size_gives_the_papers_batches():
    assert len(cut_whole(1_000_000, 500, "auto")) == 100


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "all", None, True])
def test_bad_batch_sizes_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="batch_size"):
        check_batch_size(wrong)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 10))
def test_stratified_batches_have_their_share_of_every_class(labels, batches):
    labels = np.array(labels)
    order, cuts = stratified_order(labels, batches)
    assert sorted(order) == list(range(len(labels)))
    for label in np.unique(labels):
        counts = [int((labels[order[piece]] == label).sum()) for piece in cuts]
        assert max(counts) - min(counts) <= 1


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(400, 3)) * [3.0, 2.0, 1.0]


def indices(model):
    return [(record.rows, record.verdict) for record in model.batch_report_]


def test_a_large_call_is_a_batch_and_small_calls_wait_for_one_another(rows):
    model = rs.OutlierRobustPCA(1, learner="classical")  # needs 20 rows for a batch
    model.partial_fit(rows[:8])
    assert model.n_batches_seen_ == 0
    model.partial_fit(rows[8:108])
    assert model.n_batches_seen_ == 1
    assert model.run_.pending_rows == 8
    model.partial_fit(rows[108:116])
    assert model.n_batches_seen_ == 1
    model.partial_fit(rows[116:124])
    assert model.n_batches_seen_ == 2
    assert model.run_.pending_rows == 0
    assert model.n_samples_seen_ == 124
    assert indices(model) == [(100, "kept"), (24, "kept")]


def test_waiting_rows_count_when_an_attribute_is_read_and_are_not_stored(rows):
    def fed(*stops):
        model = rs.OutlierRobustPCA(1, learner="classical", aggregator="mean")
        for start, stop in pairwise((0, *stops)):
            model.partial_fit(rows[start:stop])
        return model

    model = fed(100, 110)
    assert model.n_batches_seen_ == 1
    # Up to row 108, since steps are 4 rows here; eight of the twenty rows that make a batch have 0.4 of its weight.
    expected = (rows[:100].mean(axis=0) + 0.4 * rows[100:108].mean(axis=0)) / 1.4
    np.testing.assert_allclose(model.mean_, expected)
    assert [record.rows for record in model.batch_report_] == [100, 8]
    assert "waiting" in model.batch_report_[1].label
    # Reading must not change what comes next.
    model.partial_fit(rows[110:120])
    np.testing.assert_array_equal(model.components_, fed(100, 110, 120).components_)


def test_too_few_rows_say_how_many_are_missing(rows):
    model = rs.OutlierRobustPCA(2).partial_fit(rows[:1])
    with pytest.raises(NotEnoughRowsError, match="2 more"):
        model.components_  # noqa: B018
    assert not hasattr(model, "components_")
    model.partial_fit(rows[1:3])
    assert model.components_.shape == (2, 3)


def test_waiting_rows_are_copied(rows):
    buffer = rows[:10].copy()
    model = rs.OutlierRobustPCA(1).partial_fit(buffer)
    before = model.mean_.copy()
    buffer[:] = 1e9
    model.partial_fit(rows[10:12])
    assert np.abs(model.mean_ - before).max() < 10


def test_a_bad_call_does_not_spoil_its_neighbours(rows):
    good = rs.OutlierRobustPCA(1)
    for start in range(0, 400, 40):
        good.partial_fit(rows[start : start + 40])
    dirty = rs.OutlierRobustPCA(1)
    for start in range(0, 400, 40):
        dirty.partial_fit(rows[start : start + 40])
        if start % 120 == 0:
            dirty.partial_fit(np.random.default_rng(start).normal(size=(30, 3)) * [1, 1, 1000])
    assert np.abs(dirty.components_[0] @ good.components_[0]) > 0.98


def test_a_long_call_is_cut(rows):
    model = rs.OutlierRobustPCA(1, batch_size=50).partial_fit(rows)
    assert model.n_batches_seen_ == 8


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_any_number_of_workers_gives_the_same_bits(rows, n_jobs):
    one = rs.OutlierRobustPCA(2, batch_size=40).fit(rows)
    many = rs.OutlierRobustPCA(2, batch_size=40, n_jobs=n_jobs).fit(rows)
    np.testing.assert_array_equal(one.components_, many.components_)
    assert one.batch_report_ == many.batch_report_


@pytest.mark.parametrize("wrong", [0, 1.5, "all", True])
def test_bad_numbers_of_workers_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="n_jobs"):
        count_workers(wrong)


def error_over_oracle(model, seed, size, bad_calls=0.0, bad_rows=0.0):
    """Return the error after 10,000 rows of 20 columns in small calls, over that of least squares on the good rows.

    Bad calls follow another line, bad rows lie far from theirs; all calls are below the learner's minimum of 105 rows.
    """
    rng = np.random.default_rng(seed)
    coef, calls = rng.normal(size=20), 10_000 // size
    bad, good = rng.permutation(calls) < bad_calls * calls, []
    for call in range(calls):
        X = rng.normal(size=(size, 20))
        y = X @ (-coef if bad[call] else coef) + rng.normal(size=size)
        off = rng.random(size) < bad_rows
        y[off] += rng.choice([20.0, -30.0], off.sum())
        good += [] if bad[call] else [(X[~off], y[~off])]
        model.partial_fit(X, y)
    X, y = (np.concatenate(parts) for parts in zip(*good, strict=True))
    oracle = np.linalg.lstsq(X, y, rcond=None)[0]
    return np.linalg.norm(model.coef_ - coef) / np.linalg.norm(oracle - coef)


@pytest.mark.parametrize(("size", "seed"), [(10, 0), (50, 0), (50, 1), (50, 2), (50, 3), (25, 4)])
def test_bad_small_calls_do_not_taint_good_ones(size, seed):
    assert error_over_oracle(rs.OutlierRobustRegressor(), seed, size, bad_calls=0.4) < 1.5


@pytest.mark.parametrize("size", [10, 50])
def test_bad_rows_of_small_calls_are_told_among_all_of_them(size):
    assert error_over_oracle(rs.OutlierRobustRegressor(), 0, size, bad_rows=0.1) < 1.25


def test_small_calls_that_contradict_each_other_are_on_record_apart(tmp_path):
    model = rs.OutlierRobustRegressor()
    error_over_oracle(model, 0, 50, bad_calls=0.4)
    rejected = [record for record in model.batch_report_ if record.verdict == "rejected"]
    # Of 80 bad calls of 50 rows; those of a few pools are left out as bad rows.
    assert sum(record.rows for record in rejected) > 60 * 50
    assert all("calls among" in record.label or "50 rows, call" in record.label for record in rejected)
    rs.save(model, tmp_path / "model.rs")
    np.testing.assert_array_equal(rs.load(tmp_path / "model.rs").coef_, model.coef_)


def test_the_answer_changes_at_its_pace_when_rows_come_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=len(X))
    model = rs.OutlierRobustRegressor().partial_fit(X[:5_000], y[:5_000])
    changes, seen = 0, model.coef_
    for row in range(5_000, 5_299):  # 300 would be a batch
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        now = model.coef_
        changes, seen = changes + (not np.array_equal(now, seen)), now
    assert model.run_.pending_rows == 299
    assert model.run_.counted_rows == 120  # up to row 5,120: 256 rows are a step from 4,096 to 8,191 rows
    assert changes == 1


@pytest.mark.parametrize("rows", [8, 12, 30])
@pytest.mark.parametrize("bad", [0.1, 0.33])
def test_bad_small_calls_that_come_first_are_outvoted(rows, bad):
    rng, model, calls = np.random.default_rng(0), rs.OutlierRobustRegressor(), 3_000 // rows
    coef = np.arange(1.0, 7.0)
    for k in range(calls):
        X = rng.normal(size=(rows, 6))
        y = X @ coef + rng.normal(size=rows)
        model.partial_fit(X, -y if k < bad * calls else y)
    # Five standard errors of a coefficient from two thirds of the rows.
    np.testing.assert_allclose(model.coef_, coef, atol=5 / np.sqrt(2_000))
