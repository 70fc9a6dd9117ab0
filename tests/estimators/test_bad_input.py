"""Bad input gets a clear error that names the argument, before anything changes."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import robustream as rs
from robustream.errors import DeviceError

ROWS = np.random.default_rng(0).normal(size=(60, 4))
TARGET = ROWS @ [1.0, 2.0, 3.0, 4.0]

MODELS = {
    "pca": lambda **options: rs.OutlierRobustPCA(2, **options),
    "regression": lambda **options: rs.OutlierRobustRegressor(**options),
    "wrapper": lambda **options: rs.OutlierRobust(Ridge(), **options),
    "classical-pca": lambda **options: rs.OutlierRobustPCA(2, learner="classical", **options),
    "trimmed-learner-regression": lambda **options: rs.OutlierRobustRegressor(learner="trimmed", **options),
}
USING_GAPS = {"pca", "regression"}  # NaN is a missing cell for them, which is data
ALONE = {"trimmed-pca": lambda: rs.TrimmedPCA(2), "trimmed-regression": lambda: rs.TrimmedRegressor()}


def spoiled(value):
    rows = ROWS.copy()
    rows[3, 2] = value
    return rows


BAD_ROWS = {
    "nan": (spoiled(np.nan), "NaN"),
    "infinity": (spoiled(np.inf), "infinity"),
    "no rows": (ROWS[:0], "0 sample"),
    "no columns": (ROWS[:, :0], "0 feature"),
    "one dimension": (ROWS[:, 0], "2D array"),
    "three dimensions": (ROWS[None], "dim 3|3D|ndim=3|dimension|array with dim"),
    "strings": (ROWS.astype(str).astype(object) + "x", "could not convert|string"),
    "complex": (ROWS + 1j, "[Cc]omplex"),
    "another number of columns": (ROWS[:, :3], "3 features|3 columns"),
}


def arguments(name, rows):
    return (rows,) if "pca" in name else (rows, TARGET)


def state_of(model):
    return pickle.dumps({key: value for key, value in sorted(model.__dict__.items()) if key != "_snapshot"})


def cases(names, kinds):
    return [(name, kind) for name in sorted(names) for kind in sorted(kinds) if kind != "nan" or name not in USING_GAPS]


@pytest.mark.parametrize(("name", "kind"), cases(MODELS, BAD_ROWS))
def test_a_rejected_partial_fit_leaves_the_model_as_it_was(name, kind):
    rows, message = BAD_ROWS[kind]
    model = MODELS[name]().partial_fit(*arguments(name, ROWS))
    run, before = model.run_, state_of(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(*arguments(name, rows))
    assert model.run_ is run
    assert state_of(model) == before


@pytest.mark.parametrize(("name", "kind"), cases(MODELS | ALONE, set(BAD_ROWS) - {"another number of columns"}))
def test_a_rejected_first_call_leaves_the_model_unfitted(name, kind):
    rows, message = BAD_ROWS[kind]
    model = (MODELS | ALONE)[name]()
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*arguments(name, rows))
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "_snapshot")


@pytest.mark.parametrize("name", ["regression", "wrapper"])
def test_bad_targets(name):
    model = MODELS[name]().partial_fit(ROWS, TARGET)
    before = copy.copy(model.__dict__)
    nan = [(np.where(np.arange(60) == 3, np.nan, TARGET), "NaN"), (np.full(60, np.nan), "NaN|target")]
    for target, message in [
        *(nan if name not in USING_GAPS else []),
        (TARGET[:50], "inconsistent|60"),
        (np.column_stack([TARGET, TARGET]), "outputs|shape"),
        (TARGET.astype(object) + 1j, "complex|[Cc]omplex"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            model.partial_fit(ROWS, target)
        assert model.__dict__ == before


@pytest.mark.parametrize("model", [rs.OutlierRobustRegressor(), rs.OutlierRobustCovariance()])
def test_no_rows_are_refused_by_number(model):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.fit(np.empty((0, 4)), [])
    model.partial_fit(ROWS, TARGET)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.partial_fit(ROWS[:0], TARGET[:0])
    assert model.n_samples_seen_ == 60


@pytest.mark.parametrize("learner", ["classical", "trimmed"])
def test_learners_without_gaps_name_the_one_that_takes_them(learner):
    rows = spoiled(np.nan)
    told = f"NaN: learner='{learner}' takes no missing cells. Use learner='refined' .*missing='skip'"
    for model in (rs.OutlierRobustPCA(2, learner=learner), rs.OutlierRobustRegressor(learner=learner)):
        with pytest.raises(rs.errors.InvalidInputError, match=f"Input X contains {told}"):
            model.fit(rows, TARGET)
        with pytest.raises(rs.errors.InvalidInputError, match=f"Input X contains {told}"):
            model.fit(ROWS, TARGET).outlier_scores(rows, *([TARGET] if hasattr(model, "coef_") else []))
    with pytest.raises(rs.errors.InvalidInputError, match=f"Input y contains {told}"):
        rs.OutlierRobustRegressor(learner=learner).fit(ROWS, np.where(TARGET > 0, TARGET, np.nan))


def test_targets_too_large_for_float32_are_refused():
    with pytest.raises(ValueError, match="y has values too large"):
        rs.OutlierRobustRegressor().fit(ROWS.astype(np.float32), TARGET * 1e60)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 5}, "n_components .* from 1 to .*4"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"n_components": "two"}, "n_components"),
        ({"learner": "magic"}, "learner must be one of"),
        ({"aggregator": "magic"}, "aggregator must be one of"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1}, "batch_size"),
        ({"half_life": -1}, "half_life"),
        ({"half_life": "long"}, "half_life"),
        ({"half_life": 3, "aggregator": "online-median"}, "half_life"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": -3}, "random_state"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_bad_settings_of_pca(options, message):
    with pytest.raises(ValueError, match=message):
        rs.OutlierRobustPCA(**options).fit(ROWS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"learner": 3}, "learner"),
        ({"device": "tpu"}, "device"),
    ],
)
def test_bad_settings_of_regression(options, message):
    with pytest.raises(ValueError, match=message):
        rs.OutlierRobustRegressor(**options).fit(ROWS, TARGET)


@pytest.mark.parametrize("trim", [-0.1, 1.0, 1.5, np.nan, "half"])
def test_bad_trims(trim):
    with pytest.raises(ValueError, match="trim"):
        rs.TrimmedPCA(2, trim=trim).fit(ROWS)
    with pytest.raises(ValueError, match="trim"):
        rs.TrimmedRegressor(trim=trim).fit(ROWS, TARGET)


def test_too_few_rows():
    with pytest.raises(ValueError, match="at least 3 rows"):
        rs.OutlierRobustPCA(2).fit(ROWS[:2])
    with pytest.raises(ValueError, match="minimum of 2"):
        rs.OutlierRobustRegressor().fit(ROWS[:1], TARGET[:1])


def test_garbage_in_most_batches_fails_loudly_and_names_them():
    rows = ROWS.copy()
    rows[:40] = 1e300  # finite, but its squares are not
    with pytest.raises(rs.errors.BelowQuorumError, match=r"2 of 6 batches.*rows 0-9"):
        rs.OutlierRobustPCA(1, batch_size=10).fit(rows)


def test_many_batches_that_fail_alike_are_named_together():
    rows = np.tile(ROWS, (5, 1))
    rows[:200] = 1e300
    with pytest.raises(rs.errors.BelowQuorumError, match=r"rows 0-9, .*, rows 40-49 and 15 more: ") as raised:
        rs.OutlierRobustPCA(1, batch_size=10).fit(rows)
    assert len(str(raised.value)) < 300


def test_garbage_in_some_batches_is_recorded():
    rows = np.tile(ROWS, (5, 1))
    rows[:40] = 1e300
    model = rs.OutlierRobustPCA(1, batch_size=20, aggregator="geometric-median").fit(rows)
    verdicts = [record.verdict for record in model.batch_report_]
    assert verdicts == ["failed", "failed"] + ["kept"] * 13
    assert "finite" in model.batch_report_[0].reason
    assert model.n_batches_seen_ == 15


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="needs a machine without CuPy")
@pytest.mark.parametrize("estimator", [rs.OutlierRobustPCA(1, device="cuda"), rs.OutlierRobustRegressor(device="cuda")])
def test_a_gpu_that_is_not_there(estimator):
    with pytest.raises(DeviceError, match="CuPy"):
        estimator.fit(ROWS, ROWS[:, 0])


@pytest.mark.parametrize("model", [rs.OutlierRobustRegressor(), rs.TrimmedRegressor()], ids=lambda m: type(m).__name__)
def test_fewer_rows_than_coefficients_are_worth_a_warning(model):
    X = np.random.default_rng(0).normal(size=(6, 4))
    with pytest.warns(rs.errors.FewRowsWarning, match="2 rows cannot tell 5 coefficients"):
        model.fit(X[:2], X[:2, 0])
    if isinstance(model, rs.OutlierRobustRegressor):
        with pytest.warns(rs.errors.FewRowsWarning, match="2 rows cannot tell 5 coefficients"):
            rs.fit(model, X[:2], target=X[:2, 0])
        with pytest.raises(rs.errors.InvalidInputError, match="needs at least 2 rows of X, got 1"):
            rs.fit(model, X[:1], target=X[:1, 0])
        assert model.n_samples_seen_ == 2
    model.fit(X, X[:, 0])
    rs.OutlierRobustRegressor(alpha=0.1).fit(X[:2], X[:2, 0])


@pytest.mark.parametrize(
    "model", [rs.OutlierRobustPCA(1), rs.TrimmedPCA(1), rs.OutlierRobustCovariance()], ids=lambda m: type(m).__name__
)
def test_rows_that_any_such_model_fits_exactly_are_worth_a_warning(model):
    X = np.random.default_rng(0).normal(size=(6, 4))
    with pytest.warns(rs.errors.FewRowsWarning, match="any 2 rows fit such a model exactly"):
        model.fit(X[:2])
    if not isinstance(model, rs.TrimmedPCA):
        with pytest.warns(rs.errors.FewRowsWarning, match="any 2 rows fit such a model exactly"):
            rs.fit(model, X[:2])
        with pytest.raises(rs.errors.InvalidInputError, match="needs at least 2 rows of X, got 1"):
            rs.fit(model, [X[:1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", rs.errors.FewRowsWarning)
        model.fit(X)


@pytest.mark.parametrize(
    "cells", [["x"] * 60, np.full(60, "2020-01-01", dtype="datetime64[ns]")], ids=["text", "dates"]
)
@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustRegressor(), rs.OutlierRobustCovariance()])
def test_columns_that_hold_no_numbers_are_named(model, cells):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=list("abcd")).assign(city=cells)
    with pytest.raises(rs.errors.InvalidInputError, match=r"no numbers: 'city'\. .*categorical"):
        model.fit(frame, TARGET)


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(2), rs.OutlierRobustRegressor()])
def test_columns_of_one_name_are_named(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["size", "size", "b", "c"])
    told = "more than one column named 'size'"
    with pytest.raises(rs.errors.InvalidInputError, match=told):
        model.fit(frame, TARGET)
    target = {"target": TARGET} if isinstance(model, rs.OutlierRobustRegressor) else {}
    for given in (frame, importlib.import_module("pyarrow").table(list(ROWS.T), names=list(frame.columns))):
        with pytest.raises(rs.errors.InvalidInputError, match=told):
            rs.fit(model, given, **target)


@pytest.mark.parametrize("model", [rs.OutlierRobustPCA(1), rs.OutlierRobustRegressor()])
def test_values_whose_products_overflow_are_said_to_be_too_large(model):
    target = TARGET * 1e160  # of the regression: columns are brought to units of their own
    with pytest.raises(rs.errors.BelowQuorumError, match="values are so large that their products are not finite"):
        model.fit(ROWS * 1e150, target)
