"""The gauntlet: cases are what they say, and the oracle finds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustream.bench.accuracy.cases import PROBLEMS, Case, all_cases, choose_cases
from robustream.bench.accuracy.contamination import LEVEL, PCA_KINDS, REGRESSION_KINDS, PCAScene
from robustream.bench.accuracy.designs import NORMAL_DESIGNS, TABLES, make_design, make_spiked, make_table
from robustream.bench.accuracy.oracle import least_squares, oracle_pca, oracle_regression, pca_error, regression_error

CASES = [case for problem in PROBLEMS for case in all_cases(problem)]


def names(problem):
    return [case.name for case in all_cases(problem)]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_gauntlet_covers_what_it_should(problem):
    cases = all_cases(problem)
    assert len(cases) >= 24
    assert len(set(names(problem))) == len(cases)
    kinds = REGRESSION_KINDS if problem == "regression" else PCA_KINDS
    assert {case.contamination for case in cases} == {"", "cells", *kinds}
    assert {case.fraction for case in cases if case.contamination not in ("", "cells")} == {0.1, 0.2, 0.3, 0.4}
    garbage = [case.garbage for case in cases if case.garbage is not None]
    assert {bad.kind for bad in garbage} == {"random", "colluding", "constant", "stale"}
    assert {bad.order for bad in garbage} == {"random", "first", "last"}
    assert {bad.fraction for bad in garbage} == {0.4, 0.45}
    assert any(case.garbage is not None and case.contamination for case in cases)
    assert {case.columns for case in cases if case.rows == 300} == {30, 200}
    assert min(case.columns for case in cases) == 5
    assert max(case.columns for case in cases) == 200
    assert {case.design for case in cases if case.group == "clean"} >= set(TABLES[1:])
    assert {case.design for case in cases} <= {*NORMAL_DESIGNS, *TABLES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.problem}: {case.name}")
def test_a_case_is_what_it_says(case):
    sample = case.generate(7)
    assert len(sample.batches) == case.batches
    for batch in sample.batches:
        assert batch.X.shape == (case.rows, case.columns)
        assert batch.clean.shape == (case.rows,)
        assert np.isfinite(batch.X).all()
        assert (batch.y is None) == (case.problem == "pca")
    check_masks(case, sample)
    estimate = oracle_regression(sample) if case.problem == "regression" else oracle_pca(sample)
    if case.problem == "regression":
        # Cauchy noise has the largest error of the laws here, 1.4 times the normal one; then three times for chance.
        assert regression_error(sample, estimate) < 4 * math.sqrt(case.columns / len(sample.clean_X))
    else:
        assert sample.truth.shape == (case.columns, case.components)
        np.testing.assert_allclose(sample.truth.T @ sample.truth, np.eye(case.components), atol=1e-9)
        assert pca_error(sample, estimate) < (0.7 if case.design == "faint" else 0.2)


def check_masks(case, sample):
    if case.contamination == "cells":
        (batch,) = sample.batches
        changed = batch.unspoiled != batch.X
        assert changed.mean() == pytest.approx(case.fraction, rel=0.2)
        assert np.array_equal(batch.clean, ~changed.any(axis=1))
        return
    lost = [int((~batch.clean).sum()) for batch in sample.batches]
    bad_rows = round(case.fraction * case.rows) if case.contamination else 0
    if case.garbage is None:
        assert lost == [bad_rows] * case.batches
        return
    whole = [number == case.rows for number in lost]
    assert sum(whole) == round(case.garbage.fraction * case.batches)
    assert all(number in (bad_rows, case.rows) for number in lost)
    if case.garbage.order == "first":
        assert all(whole[: sum(whole)])
    if case.garbage.order == "last":
        assert all(whole[-sum(whole) :])


@pytest.mark.parametrize("case", CASES[::9], ids=lambda case: f"{case.problem}: {case.name}")
def test_a_seed_gives_the_same_sample_and_another_seed_another(case):
    first, again, other = case.generate(3), case.generate(3), case.generate(4)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.truth, again.truth)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.contamination in REGRESSION_KINDS and c.problem == "regression"][:30:3]
)
def test_clean_rows_follow_the_model_and_bad_ones_do_not(case):
    sample = case.generate(5)
    for batch in sample.batches:
        residuals = batch.y - LEVEL - batch.X @ sample.truth
        assert 0.8 < residuals[batch.clean].std() < 1.2
        assert np.sqrt(np.mean(residuals[~batch.clean] ** 2)) > 2


@pytest.mark.parametrize("kind", PCA_KINDS)
@pytest.mark.parametrize("name", ["strong", "scaled"])
def test_bad_rows_of_pca_are_far(kind, name):
    rng = np.random.default_rng(0)
    design = make_spiked(name, 20, 3, rng)
    X = design.draw(500, rng)
    bad = PCA_KINDS[kind](PCAScene(design, np.eye(20)[3]), X, rng)
    latent = np.linalg.solve(design.factor, (bad - design.offset).T)
    assert bad.shape == X.shape
    assert np.mean(np.square(latent).sum(axis=0)) > 40


@pytest.mark.parametrize("name", TABLES)
def test_the_covariance_of_a_table_is_exact(name):
    design = make_table(name, 12, np.random.default_rng(1))
    X = design.draw(200_000, np.random.default_rng(2))
    scale = np.where(design.spread > 0, design.spread, 1.0)
    np.testing.assert_allclose((X.mean(axis=0) - design.offset) / scale, 0.0, atol=0.02)
    # Fourth moments of t3 do not exist: its variances settle slowly.
    tolerance = 0.3 if name == "t3" else 0.05
    np.testing.assert_allclose((np.cov(X.T) - design.covariance) / np.outer(scale, scale), 0.0, atol=tolerance)


def test_tables_have_their_kind():
    def draw(name):
        return make_table(name, 12, np.random.default_rng(0)).draw(900, np.random.default_rng(1))

    counts = draw("counts")[:, :6]
    assert np.array_equal(counts, np.rint(counts))
    assert np.mean(counts == 0) > 0.5
    assert set(draw("one-hot")[:, :6].sum(axis=1)) == {1.0}
    assert set(np.unique(draw("flags")[:, :6])) == {0.0, 1.0}
    assert draw("log-normal")[:, :6].min() > 0
    assert np.array_equal(draw("integers"), np.rint(draw("integers")))
    assert np.ptp(draw("constant"), axis=0)[[1, 10]].max() == 0
    assert np.linalg.matrix_rank(draw("collinear")) == 10
    assert len(np.unique(draw("duplicated"), axis=0)) <= 300


def test_scaled_columns_range_over_six_powers_of_ten_with_large_means():
    design = make_design("scaled", 10, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(np.log10(design.spread))[[0, -1]], [-3, 3], atol=1e-9)
    assert np.median(np.abs(design.offset) / design.spread) > 5


def test_the_oracle_gets_nearer_with_more_rows():
    for problem, design in (("regression", "counts"), ("pca", "counts"), ("pca", "log-normal"), ("pca", "scaled")):
        case = Case(problem, "clean", design, 20, 60_000)
        sample = case.generate(0)
        error = (
            regression_error(sample, oracle_regression(sample))
            if problem == "regression"
            else pca_error(sample, oracle_pca(sample))
        )
        assert error < 0.03


def test_the_error_of_coefficients_does_not_depend_on_units():
    sample = Case("regression", "clean", "correlated", 5, 500).generate(0)
    coef = least_squares(sample.X, sample.y)
    error = regression_error(sample, coef)
    units = np.array([1e-3, 1.0, 1e3, 5.0, 0.1])
    rescaled = Case("regression", "clean", "correlated", 5, 500).generate(0)
    rescaled.batches = tuple(batch._replace(X=batch.X * units) for batch in rescaled.batches)
    rescaled.truth = rescaled.truth / units
    assert regression_error(rescaled, least_squares(rescaled.X, rescaled.y)) == pytest.approx(error, rel=1e-6)


def test_patterns_choose_by_name_group_and_tag():
    assert {case.columns for case in choose_cases("pca", "p=200")} == {200}
    assert {case.group for case in choose_cases("all", "Bad Batches")} == {"bad batches"}
    assert all("40%" in case.name for case in choose_cases("all", "40% bad rows"))
    assert choose_cases("all", "no such thing") == []
    quick = choose_cases("all", quick=True)
    assert len(CASES) / 4 < len(quick) < len(CASES) / 2
    assert {case.fraction for case in quick} >= {0.1, 0.2, 0.3, 0.4}
