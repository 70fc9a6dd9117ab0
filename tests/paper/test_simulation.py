"""The simulations: what is compared is what users get, and outliers lie where they are said to lie."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.learners import Refined, Trimmed
from robustream.paper.methods import Gathering, arrange, arrival
from robustream.paper.problems import PROBLEMS, Shared
from robustream.paper.results import Results
from robustream.paper.scenarios import CLEAN, SIZES, Content, adversarial, evenly, unevenly
from robustream.paper.simulation import RULES, Stream, run_ours, run_stream, simulation_cells

SIZE = SIZES["tiny"]


def ours(content):
    return Refined()


def run(problem, scenario):
    settings = Stream(problem, 0, 0, SIZE, scenario)
    return Results([*run_stream(settings, {}), *run_ours(settings, {})])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kind", ["printed", "stronger"])
def test_ours_is_what_the_default_estimator_gives(name, kind):
    problem = PROBLEMS[name](SIZE, 3)
    shared = Shared(problem)
    scenario = adversarial(0.4, 1.0, kind, SIZE.batches, 3)
    answer = Gathering.of(problem, shared.learner(Refined()), shared.estimates(scenario.contents, ours)).filtered()
    model = rs.OutlierRobustPCA(SIZE.components) if name == "pca" else rs.OutlierRobustRegressor()
    for index, content in enumerate(scenario.contents):
        batch = problem.batch(index, content)[0]
        model.partial_fit(*(part for part in (batch.X, batch.y) if part is not None))
    expected = model.components_.T if name == "pca" else model.coef_
    assert problem.error(answer) == pytest.approx(problem.error(expected), rel=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_oracle_is_the_plain_method_on_clean_rows(name):
    problem = PROBLEMS[name](SIZE, 0)
    contents = evenly(0.2, "printed", SIZE.batches).contents
    splits = Shared(problem).splits(contents)
    total = sum((split.clean for split in splits[1:]), splits[0].clean)
    assert total.rows == round(0.8 * SIZE.total_rows)
    batches = [problem.batch(index, content) for index, content in enumerate(contents)]
    X = np.concatenate([batch.X[~bad] for batch, bad in batches]).astype(float)
    if name == "pca":
        expected = np.linalg.eigh(X.T @ X)[1][:, -SIZE.components :]
    else:
        expected = np.linalg.lstsq(X, np.concatenate([batch.y[~bad] for batch, bad in batches]), rcond=None)[0]
    assert problem.error(problem.plain(total)) == pytest.approx(problem.error(expected), rel=1e-3)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_centralized_method_sees_all_rows(name):
    problem = PROBLEMS[name](SIZE, 0)
    contents = evenly(0.2, "printed", SIZE.batches).contents
    answer = Shared(problem).everything(contents, [Trimmed(0.2)], [])[Trimmed(0.2)]
    batches = [problem.batch(index, content)[0] for index, content in enumerate(contents)]
    X = np.concatenate([batch.X for batch in batches])
    if name == "pca":
        expected = np.linalg.eigh(rs.trimmed_covariance(X, 0.2))[1][:, -SIZE.components :]
    else:
        expected = rs.trimmed_cross(X, np.concatenate([batch.y for batch in batches]), 0.2)
    assert problem.error(answer) == pytest.approx(problem.error(np.squeeze(expected)), rel=1e-3)


def test_each_batch_is_made_once_for_all_learners(monkeypatch):
    problem = PROBLEMS["regression"](SIZE, 0)
    made = []
    original = problem.batch
    monkeypatch.setattr(
        problem, "batch", lambda index, content: made.append((index, content)) or original(index, content)
    )
    shared = Shared(problem)
    rules = [*RULES.values(), ours]
    shared.prepare(adversarial(0.4, 1.0, "printed", SIZE.batches, 0).contents, rules)
    shared.prepare(evenly(0.0, "printed", SIZE.batches).contents, rules)
    for rule in rules:
        shared.estimates(evenly(0.0, "printed", SIZE.batches).contents, rule)
    assert len(made) == len(set(made)) == SIZE.batches + round(0.4 * SIZE.batches)
    shared.forget([CLEAN])
    shared.estimates(evenly(0.0, "printed", SIZE.batches).contents, ours)
    assert len(made) == len(set(made)) + SIZE.batches


def test_each_batch_trims_its_own_share_and_at_most_half():
    assert [RULES["own"](Content(level)).trim for level in (0.0, 0.273, 0.5, 1.0)] == [0.0, 0.273, 0.5, 0.5]
    assert [RULES["half"](Content(level)).trim for level in (0.0, 1.0)] == [0.5, 0.5]


def test_stronger_outliers_agree_and_are_no_longer_than_the_printed_ones():
    problem = PROBLEMS["pca"](SIZE, 0)
    printed, bad = problem.batch(0, Content(0.4))
    stronger, same = problem.batch(0, Content(0.4, "stronger"))
    assert (bad == same).all()
    assert np.array_equal(printed.X[~bad], stronger.X[~bad])
    lengths = [np.linalg.norm(batch.X[bad], axis=1) for batch in (printed, stronger)]
    np.testing.assert_allclose(*lengths, rtol=1e-4)
    other = problem.batch(1, Content(0.4, "stronger"))
    assert np.linalg.matrix_rank(np.concatenate([stronger.X[bad], other[0].X[other[1]]]), tol=0.1) == SIZE.components


def test_stronger_outliers_of_regression_are_as_large_as_clean_rows():
    problem = PROBLEMS["regression"](SIZE, 0)
    batch, bad = problem.batch(0, Content(0.4, "stronger"))
    assert np.std(batch.X[bad]) == pytest.approx(np.std(batch.X[~bad]), rel=0.1)
    fit = np.linalg.lstsq(batch.X[bad].astype(float), batch.y[bad], rcond=None)[0]
    assert problem.error(-fit) < 0.1


def test_the_uneven_spread_leaves_a_majority_of_batches_usable():
    scenario = unevenly(0.6, "printed", 100, 10_000, 0)
    assert sum(content.level for content in scenario.contents) == pytest.approx(60, abs=0.1)
    assert scenario.beyond_repair == 0.45
    assert {content.level for content in scenario.contents} == {1.0, 0.273}


def test_orders_rearrange_the_same_estimates():
    problem = PROBLEMS["regression"](SIZE, 0)
    scenario = adversarial(0.4, 1.0, "printed", SIZE.batches, 0)
    bad = [content.level > 0 for content in scenario.contents]
    estimates = Shared(problem).estimates(scenario.contents, RULES["own"])
    wrong = {estimate.label for estimate, is_bad in zip(estimates, bad, strict=True) if is_bad}
    for order, places in (("first", range(8)), ("last", range(12, 20))):
        arranged = arrange(estimates, bad, order)
        assert [estimate.index for estimate in arranged] == list(range(SIZE.batches))
        assert {estimate.label for estimate in arranged} == {estimate.label for estimate in estimates}
        assert {arranged[place].label for place in places} == wrong


def test_bad_batches_arrive_where_they_are_told_to():
    bad = [True, False, False, True, False]
    assert arrival(bad, "random") == [0, 1, 2, 3, 4]
    assert arrival(bad, "first") == [0, 3, 1, 2, 4]
    assert arrival(bad, "last") == [1, 2, 4, 0, 3]


def test_names_of_cells_are_unique_and_ours_stand_apart():
    for problem in PROBLEMS:
        size = SIZES["full"]
        cells = list(simulation_cells(problem, size, 0, ("even", "uneven", "adversarial")))
        names = {(cell.group, cell.name) for cell in cells}
        streams = size.repetitions * (1 + 2 * (2 * len(size.fractions) + 2 * len(size.bad_shares)))
        assert len(cells) == len(names) == 2 * streams
        assert sum(cell.ours for cell in cells) == streams
        assert all(cell.group.startswith("ours") == cell.ours for cell in cells)


@pytest.fixture(scope="module", params=["pca", "regression"])
def bad(request):
    return run(request.param, adversarial(0.4, 1.0, "stronger", SIZE.batches, 0))


@pytest.mark.parametrize("order", ["random", "first", "last"])
def test_the_way_ends_where_the_stream_ends(bad, order):
    end = bad.where(seen=SIZE.batches, order=order)
    whole = bad.where(seen=None, order="random", rule=("", "own"))
    # The filter depends on the order; all others do not.
    for method in ("plain", "oracle", "oracle of usable batches", "averaging", "geometric median", "ours"):
        (error,) = end.values(method=method)
        (expected,) = whole.values(method=method)
        assert error == pytest.approx(expected, rel=1e-5), method
    if order == "random":
        assert end.values(method="online median") == whole.values(method="online median")


def test_the_share_beyond_repair_is_that_of_what_has_arrived(bad):
    plain = bad.where(method="plain")
    shares = {
        order: [plain.mean("beyond_repair", order=order, seen=seen) for seen in (5, 10, 20)]
        for order in ("first", "last")
    }
    assert shares == {"first": [1.0, 0.8, 0.4], "last": [0.0, 0.0, 0.4]}
    # There is no oracle of nothing.
    assert not bad.values(method="oracle", order="first", seen=5)
    assert bad.values(method="oracle", order="last", seen=1)


def test_a_bad_batch_alone_is_worse_than_a_good_one_and_the_radius_is_that_of_the_worst_good_one(bad):
    some = bad.where(rule="own")
    assert some.rms(method="one bad batch") > 1.2 * some.rms(method="one good batch")
    assert some.rms(method="radius of the good batches") > some.rms(method="one good batch")


def test_where_all_batches_are_alike_there_is_one_order():
    rows = run("regression", evenly(0.2, "printed", SIZE.batches))
    assert rows.different("order") == ["random"]
    assert rows.values(method="ours", seen=SIZE.batches) == rows.values(method="ours", seen=None)
    assert not rows.values(method="one bad batch")
    assert len(rows.values(method="centralized")) == 2
