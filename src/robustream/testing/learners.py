"""What every learner must do; a check takes the learner and a function that makes a batch for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from robustream.batch import Batch, Estimate
from robustream.learners import Learner

__all__ = ["LEARNER_CHECKS", "MakeBatch", "check_learner"]

# Makes a batch of that many rows from a generator; all batches have the same columns and targets of the same kind.
MakeBatch = Callable[[int, np.random.Generator], Batch]
LearnerCheck = Callable[[Learner, MakeBatch], None]


def check_learner(learner: Learner, make_batch: MakeBatch) -> None:
    """Run all checks on a learner."""
    for check in LEARNER_CHECKS:
        check(learner, make_batch)


def check_the_point_lies_in_the_space(learner: Learner, make_batch: MakeBatch) -> None:
    """An ordinary batch gives a point of the space that the learner announces."""
    batch = _batch(learner, make_batch)
    estimate = _estimate(learner, batch)
    assert estimate.failure is None, estimate.failure
    assert estimate.point is not None
    outputs = 1 if batch.y is None or batch.y.ndim == 1 else batch.y.shape[1]
    assert learner.space(batch.X.shape[1], outputs).why_not(estimate.point) is None
    assert (estimate.index, estimate.label, estimate.rows) == (batch.index, batch.label, batch.rows)


def check_the_same_seed_gives_the_same_point(learner: Learner, make_batch: MakeBatch) -> None:
    """All randomness comes from the generator, and none from the past."""
    batch = _batch(learner, make_batch)
    _assert_equal(_estimate(learner, batch), _estimate(learner, batch), tolerance=0.0)


def check_the_batch_is_not_changed(learner: Learner, make_batch: MakeBatch) -> None:
    """The rows may belong to someone else, and may be read-only."""
    batch = _batch(learner, make_batch)
    rows = batch.X.copy()
    rows.flags.writeable = False
    assert _estimate(learner, batch._replace(X=rows)).failure is None
    np.testing.assert_array_equal(rows, batch.X)


def check_the_order_of_rows_does_not_matter(learner: Learner, make_batch: MakeBatch) -> None:
    """A permutation of the rows changes nothing but rounding."""
    batch = _batch(learner, make_batch)
    order = np.random.default_rng(5).permutation(batch.rows)
    shuffled = batch._replace(X=batch.X[order], y=None if batch.y is None else batch.y[order])
    _assert_equal(_estimate(learner, batch), _estimate(learner, shuffled), tolerance=1e-6)


def check_single_precision_works(learner: Learner, make_batch: MakeBatch) -> None:
    """Float32 rows give nearly the point that float64 rows give."""
    batch = _batch(learner, make_batch)
    targets = batch.y
    if targets is not None and np.issubdtype(targets.dtype, np.floating):
        targets = targets.astype(np.float32)
    _assert_equal(
        _estimate(learner, batch._replace(X=batch.X.astype(np.float32), y=targets)),
        _estimate(learner, batch),
        tolerance=1e-2,
    )


def check_hostile_rows_do_not_raise(learner: Learner, make_batch: MakeBatch) -> None:
    """Constant, repeated, huge and few rows give a finite point or a reason, never an exception."""
    batch = _batch(learner, make_batch)
    variants = [
        batch.X * 0,
        np.ones_like(batch.X),
        np.repeat(batch.X[:1], batch.rows, axis=0),
        batch.X * 1e200,
        batch.X * 1e-200,
        np.where(np.arange(batch.X.shape[1]) == 0, 3.0, batch.X),
        batch.X[:, [0] * batch.X.shape[1]],
    ]
    with warnings.catch_warnings():
        # A wrapped estimator may well warn about such rows.
        warnings.simplefilter("ignore")
        for rows in variants:
            _assert_point_or_reason(_estimate(learner, batch._replace(X=rows)))
        for few in (1, 2, 3):
            targets = None if batch.y is None else batch.y[:few]
            _assert_point_or_reason(_estimate(learner, batch._replace(X=batch.X[:few], y=targets)))


def check_row_counts_are_in_order(learner: Learner, make_batch: MakeBatch) -> None:
    """What is needed for any estimate is no more than what makes a batch of its own."""
    for columns in (1, 2, 10, 1000):
        assert 1 <= learner.required_rows(columns) <= learner.minimum_rows(columns)


def _batch(learner: Learner, make_batch: MakeBatch) -> Batch:
    rng = np.random.default_rng(3)
    return make_batch(3 * learner.minimum_rows(make_batch(2, rng).X.shape[1]), rng)


def _estimate(learner: Learner, batch: Batch) -> Estimate:
    return learner.estimate(batch, np.random.default_rng([0, batch.index]))


def _assert_point_or_reason(estimate: Estimate) -> None:
    if estimate.point is None:
        assert estimate.failure
    else:
        assert all(part is None or np.isfinite(part).all() for part in estimate.point)


def _assert_equal(first: Estimate, second: Estimate, *, tolerance: float) -> None:
    assert first.point is not None, first.failure
    assert second.point is not None, second.failure
    for one, other in zip(first.point, second.point, strict=True):
        if one is None or other is None:
            assert one is other
        else:
            scale = float(np.abs(other).max(initial=0.0))
            np.testing.assert_allclose(one, other, atol=tolerance * (1 + scale), rtol=0)


LEARNER_CHECKS: tuple[LearnerCheck, ...] = (
    check_the_point_lies_in_the_space,
    check_the_same_seed_gives_the_same_point,
    check_the_batch_is_not_changed,
    check_the_order_of_rows_does_not_matter,
    check_single_precision_works,
    check_hostile_rows_do_not_raise,
    check_row_counts_are_in_order,
)
