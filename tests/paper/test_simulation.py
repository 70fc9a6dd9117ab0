"""The simulations: what is compared is what users get, and bad rows lie where they are said to lie."""

from __future__ import annotations

import numpy as np
import pytest

import robustream as rs
from robustream.learners import Refined, Trimmed
from robustream.paper.methods import Gathering, arrange
from robustream.paper.problems import PROBLEMS, Shared
from robustream.paper.scenarios import CLEAN, Content, adversarial, evenly, unevenly
from robustream.paper.simulation import simulation_cells
from robustream.paper.sizes import SIZES

SIZE = SIZES["tiny"]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("kind", ["incoherent", "colluding"])
def test_ours_is_what_the_default_estimator_gives(name, kind):
    problem = PROBLEMS[name](SIZE, 3)
    shared = Shared(problem)
    scenario = adversarial(0.4, 1.0, kind, SIZE.batches, 3)
    estimates = shared.estimates(scenario.contents, Refined())
    answer = Gathering.of(problem, shared.learner(Refined()), estimates).filtered()
    model = rs.OutlierRobustPCA(SIZE.components) if name == "pca" else rs.OutlierRobustRegressor()
    for index, content in enumerate(scenario.contents):
        batch = problem.batch(index, content)[0]
        model.partial_fit(*(part for part in (batch.X, batch.y) if part is not None))
    expected = model.components_.T if name == "pca" else model.coef_
    assert problem.error(answer) == pytest.approx(problem.error(expected), rel=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_oracle_is_the_plain_method_on_clean_rows(name):
    problem = PROBLEMS[name](SIZE, 0)
    splits = Shared(problem).splits(evenly(0.2, SIZE.batches).contents)
    total = sum((split.clean for split in splits[1:]), splits[0].clean)
    assert total.rows == round(0.8 * SIZE.total_rows)
    source = problem.source(Content(0.2))
    clean = [problem.batch(index, Content(0.2))[0] for index in range(SIZE.batches)]
    kept = [~source.outlier_rows(index) for index in range(SIZE.batches)]
    X = np.concatenate([batch.X[mask] for batch, mask in zip(clean, kept, strict=True)]).astype(float)
    if name == "pca":
        expected = np.linalg.eigh(X.T @ X)[1][:, -SIZE.components :]
    else:
        y = np.concatenate([batch.y[mask] for batch, mask in zip(clean, kept, strict=True)])
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
    assert problem.error(problem.plain(total)) == pytest.approx(problem.error(expected), rel=1e-3)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_centralized_method_sees_all_rows(name):
    problem = PROBLEMS[name](SIZE, 0)
    contents = evenly(0.2, SIZE.batches).contents
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
    recipes = [Trimmed(0.1), Trimmed(0.5), Refined()]
    shared.prepare(adversarial(0.4, 1.0, "incoherent", SIZE.batches, 0).contents, recipes)
    shared.prepare(evenly(0.0, SIZE.batches).contents, recipes)
    for recipe in recipes:
        shared.estimates(evenly(0.0, SIZE.batches).contents, recipe)
    assert len(made) == len(set(made)) == SIZE.batches + round(0.4 * SIZE.batches)


def test_contents_that_are_the_same_rows_have_one_name():
    assert PROBLEMS["pca"](SIZE, 0).canonical(Content(0.6, "incoherent")) == Content(0.6)
    assert PROBLEMS["regression"](SIZE, 0).canonical(Content(0.6, "colluding")) == Content(0.6)
    assert PROBLEMS["pca"](SIZE, 0).canonical(Content(0.6, "colluding")) == Content(0.6, "colluding")
    assert PROBLEMS["pca"](SIZE, 0).canonical(Content(0.0, "colluding")) == CLEAN


def test_the_uneven_spread_leaves_a_majority_of_batches_usable():
    scenario = unevenly(0.6, 100, 10_000, 0)
    assert sum(content.level for content in scenario.contents) == pytest.approx(60, abs=0.1)
    assert scenario.beyond_repair == 0.45
    assert {content.level for content in scenario.contents} == {1.0, 0.273}


def test_orders_rearrange_the_same_estimates():
    problem = PROBLEMS["regression"](SIZE, 0)
    scenario = adversarial(0.4, 1.0, "colluding", SIZE.batches, 0)
    bad = [content.level > 0 for content in scenario.contents]
    estimates = Shared(problem).estimates(scenario.contents, Trimmed(0.4))
    wrong = {estimate.label for estimate, is_bad in zip(estimates, bad, strict=True) if is_bad}
    for order, places in (("first", range(8)), ("last", range(12, 20))):
        arranged = arrange(estimates, bad, order)
        assert [estimate.index for estimate in arranged] == list(range(SIZE.batches))
        assert {estimate.label for estimate in arranged} == {estimate.label for estimate in estimates}
        assert {arranged[place].label for place in places} == wrong


def test_names_of_cells_are_unique():
    for problem in PROBLEMS:
        names = [
            (c.group, c.name) for c in simulation_cells(problem, SIZES["full"], 0, ("even", "uneven", "adversarial"))
        ]
        assert len(names) == len(set(names)) == 5 * (7 + 6 + 20)
