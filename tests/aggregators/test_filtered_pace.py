"""Between two searches estimates are judged by what the last one found; the answer depends on the estimates alone."""

from __future__ import annotations

import numpy as np
import pytest

from robustream.aggregators import Filtered, filtered
from robustream.aggregators.paged import Paged
from robustream.aggregators.search import Reader, search
from robustream.batch import Estimate
from robustream.estimators import OutlierRobustCovariance, OutlierRobustPCA, OutlierRobustRegressor
from robustream.runs import Run
from robustream.spaces import Euclidean, Part, Parts

PLANE = Parts((Part("place", Euclidean((2,))),))
MODELS = {
    "regression": lambda **options: OutlierRobustRegressor(learner="classical", **options),
    "refined regression": lambda **options: OutlierRobustRegressor(**options),
    "no intercept": lambda **options: OutlierRobustRegressor(learner="classical", fit_intercept=False, **options),
    "PCA": lambda **options: OutlierRobustPCA(2, learner="classical", **options),
    "refined PCA": lambda **options: OutlierRobustPCA(2, **options),
    "covariance": lambda **options: OutlierRobustCovariance(learner="classical", **options),
}


def batches(count, *, bad=lambda k: k % 5 == 3, rows=60, far=40.0):
    """Rows around (100, 0, 0) and a line; every fifth batch is another one, and others come as they are told."""
    rng = np.random.default_rng(count)
    for k in range(count):
        X = rng.normal(size=(rows, 3)) * [3.0, 2.0, 1.0] + [100.0, 0.0, 0.0]
        y = X @ [1.0, -2.0, 0.5] + 7 + rng.normal(size=rows)
        if bad(k):
            X, y = X[:, ::-1] + 5, y + far
        yield X, y


def run_over(model, pieces, look):
    for X, y in pieces:
        model.partial_fit(X, y) if isinstance(model, OutlierRobustRegressor) else model.partial_fit(X)
        if look:
            assert model.run_.value is not None
    return model.run_


def assert_same_bits(first, second):
    assert [None if part is None else part.tobytes() for part in first] == [
        None if part is None else part.tobytes() for part in second
    ]


def said(assessments):
    """Verdicts as text, in which NaN equals NaN."""
    return list(map(str, assessments))


@pytest.mark.parametrize("half_life", [None, 40])
@pytest.mark.parametrize("kind", MODELS)
def test_looks_and_interruptions_do_not_change_a_bit(kind, half_life):
    pieces = list(batches(77))
    quiet = run_over(MODELS[kind](half_life=half_life), pieces, look=False)
    watched = run_over(MODELS[kind](half_life=half_life), pieces, look=True)
    resumed = Run.from_tree(quiet.to_tree(), MODELS[kind](half_life=half_life).plan_for(quiet.layout), quiet.layout)
    for other in (watched, resumed):
        assert_same_bits(quiet.value, other.value)
        assert said(quiet.assess()) == said(other.assess())


@pytest.mark.parametrize("kind", MODELS)
def test_what_came_after_the_search_counts_as_if_it_had_been_searched(kind):
    """Of clean batches all is kept, so that means are those of all batches, in the light of their own centre."""
    run = run_over(MODELS[kind](), batches(79, bad=lambda k: False), look=False)
    last = run.plan.aggregator.value(run.state)
    assert filtered.count_searched(79, None) == 72
    whole = search(run.state, False, Reader(run.space))
    assert whole.outcome.kept.all()
    assert not [assessment for assessment in run.assess() if assessment.rejected]
    for place, (part, one, other) in enumerate(zip(run.space.parts, last, whole.outcome.value, strict=True)):
        if part.role == "noise" and isinstance(part.space, Euclidean):  # a median, of the last search
            continue
        assert (one is None) == (other is None), part.name
        if one is not None:
            # Weights of long tails are those of the last search, too: so parts agree to a part of their errors only.
            exact = set(np.unique(whole.pools[place].weight)) == {79.0} or part.role == "passenger"
            np.testing.assert_allclose(one, other, rtol=1e-9 if exact else 0.05, atol=1e-9 if exact else 0.05)


def fold(points, aggregator=None, order=None, look=False, **options):
    aggregator = aggregator or Filtered()
    state = aggregator.init(PLANE, **options)
    for k in range(len(points)) if order is None else order:
        state, _ = aggregator.step(state, Estimate(int(k), "", 10, (points[k],)))
        if look:
            aggregator.value(state)
    return aggregator, state


def rejected(aggregator, state):
    return [assessment.index for assessment in aggregator.assess(state) if assessment.rejected]


def test_the_order_of_arrival_has_no_say():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 2))
    points[::4] += 30
    straight = fold(points, look=True)
    shuffled = fold(points, order=rng.permutation(150), look=True)
    aggregator = Filtered()
    joined = aggregator.combine([fold(points, aggregator, range(start, 150, 3))[1] for start in range(3)])
    for other in (shuffled, (aggregator, joined)):
        assert_same_bits(straight[0].value(straight[1]), other[0].value(other[1]))
        assert straight[0].assess(straight[1]) == other[0].assess(other[1])


def test_searches_become_rarer():
    counts = range(1, 20_000)
    searched = sorted({filtered.count_searched(count, None) for count in counts})
    assert searched[:68] == [*range(1, 65), 72, 80, 88, 96]
    assert len(searched) < 64 + 8 * 10
    assert all(count - filtered.count_searched(count, None) <= count / 8 for count in counts)
    # With a half-life, as many as it has estimates.
    assert all(count - filtered.count_searched(count, 100.0) < 8 for count in counts)
    assert all(filtered.count_searched(count, 10.0) == count for count in counts)


def test_a_look_searches_at_the_pace_alone(monkeypatch):
    searches = []
    monkeypatch.setattr(filtered, "search", lambda *given: searches.append(given) or search(*given))
    points = np.random.default_rng(1).normal(size=(500, 2))
    fold(points, look=True)
    due = {filtered.count_searched(count, None) for count in range(1, 501)}
    # A record that is higher by a quarter comes about once for each doubling.
    assert len(due) <= len(searches) <= len(due) + 8


@pytest.mark.parametrize("offset", [[50.0, 0.0], [0.0, -1e6]])
def test_what_is_new_is_found_at_once(offset):
    points = np.random.default_rng(2).normal(size=(131, 2))
    points[129] += offset  # the last search that was due is that of 128
    aggregator, state = fold(points, look=True)
    assert rejected(aggregator, state) == [129]
    np.testing.assert_allclose(aggregator.value(state)[0], np.delete(points, 129, axis=0).mean(axis=0), atol=1e-12)


def test_what_is_known_as_bad_needs_no_search(monkeypatch):
    rng = np.random.default_rng(3)
    points, bad = rng.normal(size=(140, 2)), np.arange(140) % 3 == 1
    points[bad] += [20.0, 0.0]
    searches = []
    monkeypatch.setattr(filtered, "search", lambda *given: searches.append(given) or search(*given))
    aggregator, state = fold(points)
    assert rejected(aggregator, state) == np.flatnonzero(bad).tolist()
    assert len(searches) == 1
    np.testing.assert_allclose(aggregator.value(state)[0], points[~bad].mean(axis=0), atol=1e-9)


def test_too_much_that_is_new_is_set_aside_until_the_next_search():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(543, 2))
    points[513:] *= np.geomspace(10, 1e9, 30)[:, None]  # each far beyond all before it
    aggregator, state = fold(points)
    assert set(range(520, 543)) <= set(rejected(aggregator, state))
    assert np.linalg.norm(aggregator.value(state)[0]) < 1


def test_a_drift_is_followed():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(700, 2)) + np.linspace(0, 10, 700)[:, None]
    aggregator, state = fold(points, look=True)
    assert rejected(aggregator, state) == []
    np.testing.assert_allclose(aggregator.value(state)[0], points.mean(axis=0), atol=1e-9)


def test_copies_that_come_late_count_once():
    points = np.random.default_rng(6).normal(size=(135, 2))
    once, copied = fold(points[:130]), fold(np.concatenate([points[:130], np.tile(points[7], (5, 1))]), look=True)
    np.testing.assert_allclose(once[0].value(once[1])[0], copied[0].value(copied[1])[0], atol=1e-12)


def test_a_provisional_estimate_leaves_no_trace():
    """Rows that wait are counted as an estimate that is replaced by a fuller one."""
    points = np.random.default_rng(7).normal(size=(90, 2))
    plain, aggregator = fold(points), Filtered()
    state = aggregator.init(PLANE)
    for k, point in enumerate(points):
        for share in (0.3, 0.6):
            waiting, _ = aggregator.step(state, Estimate(k, "", 3, (point * share,), weight=share))
            aggregator.value(waiting)
        state, _ = aggregator.step(state, Estimate(k, "", 10, (point,)))
    assert_same_bits(plain[0].value(plain[1]), aggregator.value(state))


@pytest.mark.parametrize("half_life", [None, 200])
def test_beyond_the_budget_looks_are_no_different(half_life):
    rng = np.random.default_rng(8)
    points, bad = rng.normal(size=(1200, 2)), rng.random(1200) < 0.3
    points[bad] += 20
    quiet = fold(points, Filtered(budget=300), half_life=half_life)
    watched = fold(points, Filtered(budget=300), half_life=half_life, look=True)
    assert_same_bits(quiet[0].value(quiet[1]), watched[0].value(watched[1]))
    assessments = watched[0].assess(watched[1])
    assert assessments == quiet[0].assess(quiet[1])
    held = [estimate.index for estimate in watched[1].estimates]
    assert len(held) == 300
    assert [assessment.index for assessment in assessments] == held
    assert [assessment.rejected for assessment in assessments] == bad[held].tolist()
    # Those up to a notch of the keys are what the value is of.
    used = np.array([assessment.weight > 0 for assessment in assessments])
    assert 0.9 * 300 * 0.7 - 30 < used.sum() <= (~bad[held]).sum()
    np.testing.assert_allclose(quiet[0].value(quiet[1])[0], points[held][used].mean(axis=0), atol=1e-9)


def test_pages():
    items = [object() for _ in range(1000)]
    grown = Paged()
    for item in items:
        grown = grown.appended(item)
    assert list(grown) == items
    assert (grown[0], grown[-1], grown[517]) == (items[0], items[-1], items[517])
    assert grown[300:303] == tuple(items[300:303])
    shorter = grown.without(517)
    assert list(shorter) == items[:517] + items[518:]
    assert shorter[517] is items[518]
    assert grown.begins_as(shorter, 517)
    assert not grown.begins_as(shorter, 518)
    assert grown.begins_as(Paged(items), 1000)
    assert not grown.begins_as(Paged(items), 1001)
    with pytest.raises(IndexError):
        grown[1000]
