"""What every aggregator must do; a check takes the aggregator."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from robustream.aggregators import Aggregator
from robustream.batch import Estimate
from robustream.errors import InvalidInputError
from robustream.spaces import Array, Euclidean, Part, Parts, Subspace

__all__ = ["AGGREGATOR_CHECKS", "check_aggregator"]

AggregatorCheck = Callable[[Aggregator], None]

_SPACE = Parts((Part("vector", Euclidean((3,))), Part("subspace", Subspace(4, 2)), Part("rare", Euclidean(()))))


def check_aggregator(aggregator: Aggregator) -> None:
    """Run all checks on an aggregator."""
    for check in AGGREGATOR_CHECKS:
        check(aggregator)


def check_step_leaves_the_old_state(aggregator: Aggregator) -> None:
    """The state that a step is given is as good as new afterwards."""
    estimates = _estimates(5)
    before = _fold(aggregator, estimates[:4])
    value = aggregator.value(before)
    aggregator.step(before, estimates[4])
    _assert_same(aggregator.value(before), value, exact=True)
    assert aggregator.count(before) == 4


def check_unusable_estimates_change_nothing(aggregator: Aggregator) -> None:
    """A failed estimate, one that is not finite, one of another shape: refused with a reason, state untouched."""
    state = _fold(aggregator, _estimates(4))
    good = _estimates(5)[4]
    assert good.point is not None
    vector, subspace, rare = good.point
    assert vector is not None
    for bad in (
        good._replace(point=None, failure="the file ended early"),
        good._replace(point=(vector * np.nan, subspace, rare)),
        good._replace(point=(vector[:2], subspace, rare)),
        good._replace(weight=0.0),
    ):
        after, info = aggregator.step(state, bad)
        assert not info.accepted
        assert info.reason
        assert after is state


def check_one_estimate_is_the_value(aggregator: Aggregator) -> None:
    """With a single estimate, or copies of it, there is nothing to decide."""
    one = _estimates(1)
    if aggregator.order_dependent:
        return
    for copies in (1, 2, 5):
        value = aggregator.value(_fold(aggregator, [one[0]._replace(index=k) for k in range(copies)]))
        _assert_same(value, one[0].point, exact=False)


def check_order_does_not_matter(aggregator: Aggregator) -> None:
    """Any order of arrival gives the same value, unless the aggregator says otherwise."""
    if aggregator.order_dependent:
        return
    estimates = _estimates(9)
    value = aggregator.value(_fold(aggregator, estimates))
    for seed in range(3):
        shuffled = [estimates[k] for k in np.random.default_rng(seed).permutation(9)]
        _assert_same(aggregator.value(_fold(aggregator, shuffled)), value, exact=False)


def check_combine_equals_folding(aggregator: Aggregator) -> None:
    """Workers that fold their own share and combine give what one worker gives; an order-dependent one refuses."""
    estimates = _estimates(9)
    states = [_fold(aggregator, part) for part in (estimates[:2], estimates[2:3], estimates[3:])]
    if aggregator.order_dependent:
        try:
            aggregator.combine(states)
        except InvalidInputError:
            return
        raise AssertionError("an order-dependent aggregator must refuse to combine")
    combined = aggregator.combine(states)
    assert aggregator.count(combined) == 9
    _assert_same(aggregator.value(combined), aggregator.value(_fold(aggregator, estimates)), exact=False)


def check_translation_moves_the_value(aggregator: Aggregator) -> None:
    """Shifting all vectors shifts the value by as much (a filter that starts at a fixed place is excused)."""
    if aggregator.order_dependent:
        return
    shift = np.array([100.0, -3.0, 0.5])
    moved = [e._replace(point=(e.point[0] + shift, *e.point[1:])) for e in _estimates(7)]  # type: ignore[index]
    plain = aggregator.value(_fold(aggregator, _estimates(7)))[0]
    shifted = aggregator.value(_fold(aggregator, moved))[0]
    assert plain is not None
    assert shifted is not None
    np.testing.assert_allclose(shifted, plain + shift, atol=1e-6)


def check_missing_parts_are_tolerated(aggregator: Aggregator) -> None:
    """A part that few estimates have is settled from those; one that none has is None."""
    estimates = [e._replace(point=(*e.point[:2], None)) for e in _estimates(5)]  # type: ignore[index]
    assert aggregator.value(_fold(aggregator, estimates))[2] is None
    estimates[3] = _estimates(5)[3]
    value = aggregator.value(_fold(aggregator, estimates))[2]
    expected = estimates[3].point[2]  # type: ignore[index]
    assert expected is not None
    if value is None or not np.allclose(value, expected):
        raise AssertionError(f"the part that one estimate has is {value}, not {expected}")


def check_the_value_lies_in_the_space(aggregator: Aggregator) -> None:
    """Every settled part is a point of its space."""
    value = aggregator.value(_fold(aggregator, _estimates(6)))
    for part, settled in zip(_SPACE.parts, value, strict=True):
        assert settled is not None
        assert part.space.why_not(settled) is None


def check_the_state_travels(aggregator: Aggregator) -> None:
    """A state that was sent elsewhere goes on as if it had stayed."""
    estimates = _estimates(6)
    state = _fold(aggregator, estimates[:3])
    travelled = pickle.loads(pickle.dumps(state))
    for estimate in estimates[3:]:
        state, _ = aggregator.step(state, estimate)
        travelled, _ = aggregator.step(travelled, estimate)
    _assert_same(aggregator.value(travelled), aggregator.value(state), exact=True)


def check_the_report_covers_what_is_held(aggregator: Aggregator) -> None:
    """Each held estimate is assessed once, with a finite weight and a distance that is not negative."""
    state = _fold(aggregator, _estimates(6))
    assessments = aggregator.assess(state)
    assert len(assessments) == len(aggregator.held_points(state))
    assert len({assessment.index for assessment in assessments}) == len(assessments)
    for assessment in assessments:
        assert np.isfinite(assessment.weight)
        assert assessment.distance >= 0


def _estimates(count: int) -> list[Estimate]:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    estimates = []
    for index in range(count):
        near = np.linalg.qr(basis + 0.1 * rng.normal(size=(4, 2)))[0]
        point = (rng.normal(size=3), near, np.asarray(rng.normal()))
        estimates.append(Estimate(index, f"batch {index}", 100, point))
    return estimates


def _fold(aggregator: Aggregator, estimates: Iterable[Estimate]) -> Any:
    state = aggregator.init(_SPACE)
    for estimate in estimates:
        state, info = aggregator.step(state, estimate)
        assert info.accepted, info.reason
    return state


def _assert_same(value: Any, expected: Any, *, exact: bool) -> None:
    for part, first, second in zip(_SPACE.parts, value, expected, strict=True):
        distance = 0.0 if first is None and second is None else _distance(part, first, second)
        assert distance <= (0.0 if exact else 1e-6), f"{part.name} differs by {distance}"


def _distance(part: Part, first: Array, second: Array) -> float:
    return 0.0 if np.array_equal(first, second) else float(part.space.distances(first, [second])[0])


AGGREGATOR_CHECKS: tuple[AggregatorCheck, ...] = (
    check_step_leaves_the_old_state,
    check_unusable_estimates_change_nothing,
    check_one_estimate_is_the_value,
    check_order_does_not_matter,
    check_combine_equals_folding,
    check_translation_moves_the_value,
    check_missing_parts_are_tolerated,
    check_the_value_lies_in_the_space,
    check_the_state_travels,
    check_the_report_covers_what_is_held,
)
