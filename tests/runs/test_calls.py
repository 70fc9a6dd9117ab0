"""Calls that are batches wait for one another and are searched as one table; nobody sees anything of it."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.batch import Batch
from robustream.learners import LinearProblem, PrincipalProblem, Refined
from robustream.learners.refined import RefinedRegression
from robustream.learners.together import RowSearch, _noise, _pooled

COEF = np.array([1.0, -2.0, 0.5, 3.0])


def call(rng, rows=300, bad=0.0, sign=1.0):
    X = rng.normal(size=(rows, 4)) * [1.0, 2.0, 3.0, 4.0] + 5
    y = sign * (X @ COEF) + rng.normal(size=rows)
    off = rng.random(rows) < bad
    X[off], y[off] = X[off] * 3, 200 - y[off]
    return X, y


def calls(count, seed=0, **dirt):
    rng = np.random.default_rng(seed)
    return [call(rng, **dirt) for _ in range(count)]


def fed(made, model=None, look=False):
    model = model or rs.OutlierRobustRegressor(n_jobs=1)
    for X, y in made:
        model.partial_fit(X, y)
        if look:
            assert np.isfinite(model.coef_).all()
    return model


def test_calls_wait_until_there_are_enough():
    made = calls(25, bad=0.1)
    waiting = [len(fed(made[:count]).run_.waiting) for count in (1, 5, 15, 16, 25)]
    assert waiting == [1, 5, 15, 0, 9]


@pytest.mark.parametrize("settings", [{"batch_size": 300}, {"half_life": 10.0}, {"learner": "classical"}])
def test_whoever_names_a_size_or_a_pace_or_searches_nothing_waits_for_none(settings):
    assert fed(calls(3), rs.OutlierRobustRegressor(n_jobs=1, **settings)).run_.waiting == ()


def test_weighted_and_large_calls_wait_for_none():
    X, y = call(np.random.default_rng(0))
    model = fed(calls(3)).partial_fit(X, y, sample_weight=np.repeat([1.0, 2.0], 150))
    assert model.run_.waiting == ()
    assert [record.rows for record in model.batch_report_] == [300] * 4
    assert fed(calls(3)).partial_fit(*call(np.random.default_rng(0), 50_000)).run_.waiting == ()


def test_all_that_was_seen_is_told():
    model = fed(calls(7, bad=0.1))
    assert (model.n_batches_seen_, model.n_samples_seen_) == (7, 2100)
    records = model.batch_report_
    assert [record.label for record in records] == [f"rows {300 * k}-{300 * k + 299}" for k in range(7)]
    assert all(record.left_out for record in records)


def test_looks_change_nothing():
    made = calls(27, bad=0.1)
    assert np.array_equal(fed(made).coef_, fed(made, look=True).coef_)


def test_a_stored_model_goes_on_with_the_calls_that_wait(tmp_path):
    made = calls(27, bad=0.1)
    rs.save(fed(made[:13]), tmp_path / "model.rs")
    loaded = rs.load(tmp_path / "model.rs")
    assert len(loaded.run_.waiting) == 13
    assert np.array_equal(fed(made[13:], loaded).coef_, fed(made).coef_)


def test_clean_calls_have_the_estimates_that_they_have_alone():
    made = calls(16)
    for together, alone in zip(fed(made).run_.state.estimates, estimates_alone(made), strict=True):
        for one, other in zip(together.point, alone.point, strict=True):
            if one is not None or other is not None:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def estimates_alone(made):
    return fed(made, rs.OutlierRobustRegressor(n_jobs=1, batch_size=300)).run_.state.estimates


def search_of(made):
    learner = Refined().regression(LinearProblem())
    return learner.search_together([Batch(k, "", X, y) for k, (X, y) in enumerate(made)])


def test_calls_that_are_alike_are_searched_as_one_table():
    found = search_of(calls(10, bad=0.1))
    assert len(found.solve) == 10
    assert found.whole().left_out
    rows = Refined().pca(PrincipalProblem(2))
    assert rows.search_together([Batch(k, "", X) for k, (X, _) in enumerate(calls(10, bad=0.1))]).solve


def test_calls_that_leave_out_more_than_others_are_parted_from_them():
    odd = search_of([*calls(8, bad=0.1), *calls(2, seed=1, sign=-1.0)]).odd
    assert odd == (False,) * 8 + (True,) * 2


def test_copies_are_searched_by_themselves():
    made = calls(5)
    assert search_of([*made, made[0]]) == (None, None, None)


def test_calls_with_gaps_are_searched_by_themselves():
    made = calls(5)
    made[2][0][0, 0] = np.nan
    assert search_of(made) == (None, None, None)


@pytest.mark.parametrize("bad", [4, 9, 10])
def test_bad_calls_are_rejected_as_when_each_is_searched_alone(bad):
    made = [*calls(20 - bad, bad=0.1), *calls(bad, seed=1, sign=-1.0)]
    made = [made[k] for k in np.random.default_rng(2).permutation(20)]
    verdicts = [[record.verdict for record in fed(made, model).batch_report_] for model in (None, alone())]
    assert verdicts[0] == verdicts[1]


def alone():
    return rs.OutlierRobustRegressor(n_jobs=1, batch_size=300)


def test_sites_that_differ_hide_no_bad_rows():
    rng, good = np.random.default_rng(0), []
    model = rs.OutlierRobustRegressor(n_jobs=1)
    for k in range(20):
        X, y = call(rng)
        y += 40 * (k % 5)  # a level of its own for each site, within which bad rows stand out
        off = rng.random(300) < 0.1
        good.append((X[~off], y[~off].copy()))
        y[off] += 25
        model.partial_fit(X, y)
    X, y = (np.concatenate(parts) for parts in zip(*good, strict=True))
    oracle = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    scale = np.sqrt(np.var(y - X @ oracle[:4]) / len(X))
    assert np.abs(model.coef_ - oracle[:4]).max() < 2 * scale


def test_pooled_moments_are_those_of_all_rows():
    learner = RefinedRegression(LinearProblem())
    made = calls(3)

    def moments(X, y):
        every = np.ones(len(X), bool)
        return learner._moments(RowSearch(X, y[:, None], None, None, None, 0, None, every, (), False))

    pooled = _pooled([moments(X, y) for X, y in made])
    whole = moments(*(np.concatenate(part) for part in zip(*made, strict=True)))
    for one, other in zip(pooled, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    X, y = (np.concatenate(part) for part in zip(*made, strict=True))
    full = np.column_stack([X, np.ones(len(X))])
    squares = np.square(y - full @ np.linalg.lstsq(full, y, rcond=None)[0]).sum()
    # The ridge, a millionth of each variance, leaves a thousandth of the noise where targets vary as much.
    np.testing.assert_allclose(_noise([whole], 4), squares / (len(X) - 5), rtol=1e-3)


def test_bad_calls_hide_no_bad_rows_of_good_ones():
    rng = np.random.default_rng(12)
    made = []
    for k in range(4):  # half of the calls follow another line, and a sixth of all rows neither
        X, y = call(rng, 500)
        off = rng.random(500) < 0.15
        X[off], y[off] = 2 * X[off], -3 * y[off]
        made.append((X, y if k < 2 else -5 * y))
    records = fed(made).batch_report_
    assert all(record.left_out > 40 for record in records)
