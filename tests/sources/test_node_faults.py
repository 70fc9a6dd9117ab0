import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustream.batch import Estimate, all_finite
from robustream.errors import InvalidInputError
from robustream.sources import subspace_error
from robustream.sources.node_faults import (
    FAULTS,
    READINGS,
    answer_zero,
    collude,
    corrupt_estimates,
    flip_basis,
    flip_bits,
    flip_entries,
    flip_signs,
    flip_subspace,
    lie_about_rows,
    lose_numbers,
    reply_stale,
)
from robustream.spaces import LinearModels, PrincipalModels
from robustream.spaces.linear import LinearPoint
from robustream.spaces.principal import PrincipalPoint

# Slow moments of a busy machine are no failures, and every run tries the same examples.
REPEATABLE = settings(deadline=None, derandomize=True)

COLUMNS, COMPONENTS = 20, 3


def estimate(kind: str, index: int = 0, dtype: type = np.float64) -> Estimate:
    rng = np.random.default_rng(index)
    if kind == "pca":
        basis = np.linalg.qr(rng.standard_normal((COLUMNS, COMPONENTS)))[0]
        arrays = (np.ones(COLUMNS), np.zeros(COLUMNS), basis, np.array([3.0, 2.0, 1.0]), np.array(9.0), np.zeros(2))
        point = PrincipalPoint(*(array.astype(dtype) for array in arrays))
    else:
        coef = rng.standard_normal((2, COLUMNS)).astype(dtype)
        point = LinearPoint(
            coef, np.ones(COLUMNS, dtype), np.ones(2, dtype), np.ones(2, dtype), None, np.ones((), dtype)
        )
    return Estimate(index, f"node {index}", 500, point)


def space(kind: str) -> PrincipalModels | LinearModels:
    return PrincipalModels(COLUMNS, COMPONENTS) if kind == "pca" else LinearModels(COLUMNS, 2)


KINDS = pytest.mark.parametrize("kind", ["pca", "linear"])


@KINDS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fault", list(FAULTS))
def test_every_fault_keeps_the_form_of_a_reply(kind: str, dtype: type, fault: str) -> None:
    sent = [estimate(kind, node, dtype) for node in range(10)]
    arrived, bad = corrupt_estimates(sent, fault, 0.3, seed=1)
    assert bad.size == 3
    assert len(arrived) == (13 if fault == "duplicated" else 10)
    for reply in arrived:
        original = sent[reply.index]
        assert reply.label == original.label
        assert type(reply.point) is type(original.point)
        for part, before in zip(reply.point, original.point, strict=True):
            assert (part is None) == (before is None)
            if part is not None:
                assert (part.shape, part.dtype) == (before.shape, before.dtype)
        if reply.index not in bad:
            assert reply is original
        elif fault != "duplicated":
            assert repr(reply) != repr(original)
    again = corrupt_estimates(sent, fault, 0.3, seed=1)
    assert repr(again.estimates) == repr(arrived)


@KINDS
@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_reply_without_a_point_stays_one(kind: str, fault: str) -> None:
    failed = Estimate(0, "node 0", 500, None, "no rows")
    arrived, _ = corrupt_estimates([failed], fault, 1.0)
    assert all(reply.point is None for reply in arrived)


@REPEATABLE
@given(st.integers(1, 60), st.floats(0, 1), st.integers(0, 99))
def test_sign_flips_are_exactly_as_many_as_asked(size: int, share: float, seed: int) -> None:
    flipped = flip_entries(np.ones(size), np.random.default_rng(seed), share=share)
    assert (flipped == -1).sum() == round(share * size)
    assert np.abs(flipped).sum() == size


@KINDS
def test_sign_flips_leave_sizes_and_the_original(kind: str) -> None:
    sent = estimate(kind)
    before = [None if part is None else part.copy() for part in sent.point]
    flipped = flip_signs(sent, np.random.default_rng(0), share=0.5)
    for part, flipped_part, copy in zip(sent.point, flipped.point, before, strict=True):
        if part is not None:
            np.testing.assert_array_equal(part, copy)
            np.testing.assert_array_equal(np.abs(part), np.abs(flipped_part))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_readings_of_a_flipped_subspace_are_subspaces(reading: str, dtype: type) -> None:
    sent = estimate("pca", dtype=dtype)
    rng = np.random.default_rng(0)
    reply = flip_basis(sent, rng, reading=reading)
    basis = reply.point.basis
    assert basis.dtype == dtype
    np.testing.assert_allclose(basis.T @ basis, np.eye(COMPONENTS), atol=1e-5)
    assert subspace_error(basis, sent.point.basis) > 0.2
    unharmed = flip_subspace(sent.point.basis, rng, share=0.0, reading=reading)
    assert subspace_error(unharmed, sent.point.basis) < 1e-5
    assert space("pca").why_not(reply.point) is None


def test_a_flipped_projector_is_hurt_less_than_a_flipped_basis() -> None:
    # The p^2 flips of a projector are noise that its leading eigenvectors average out: the readings differ.
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((100, 5)))[0]
    errors = {
        reading: np.mean(
            [
                subspace_error(flip_subspace(basis, np.random.default_rng(seed), reading=reading), basis)
                for seed in range(5)
            ]
        )
        for reading in READINGS
    }
    # Each column keeps 1 - 2 * 0.3 of itself; the rest is noise of norm sqrt(1 - 0.4^2) outside the subspace.
    assert errors["basis"] == pytest.approx(np.sqrt(2 * (1 - 0.4**2)), abs=0.1)
    assert errors["projector"] < errors["basis"]


@KINDS
def test_colluding_nodes_agree_and_keep_the_rest(kind: str) -> None:
    one, two = collude(estimate(kind, 1)), collude(estimate(kind, 2))
    place = 2 if kind == "pca" else 0
    np.testing.assert_array_equal(one.point[place], two.point[place])
    assert not np.array_equal(one.point[place], collude(estimate(kind, 1), seed=1).point[place])
    assert one.point[1] is not None
    assert space(kind).why_not(one.point) is None


@KINDS
def test_the_other_faults_do_what_they_say(kind: str) -> None:
    sent, rng = estimate(kind, 1), np.random.default_rng(0)
    assert not all_finite(lose_numbers(sent, rng).point)
    assert not any(part.any() for part in answer_zero(sent).point if part is not None)
    assert lie_about_rows(sent, claim=7) == sent._replace(rows=7)
    earlier = estimate(kind, 0)
    stale = reply_stale(sent, earlier)
    assert (stale.index, stale.label) == (1, "node 1")
    assert stale.point is earlier.point
    flipped = flip_bits(sent, rng, bits=1)
    for part, before in zip(flipped.point, sent.point, strict=True):
        if part is not None:
            different = np.frombuffer(part.tobytes(), np.uint8) ^ np.frombuffer(before.tobytes(), np.uint8)
            assert np.unpackbits(different).sum() == 1


def test_a_fault_of_ones_own() -> None:
    sent = [estimate("linear", node) for node in range(4)]
    arrived, _ = corrupt_estimates(sent, lambda reply, earlier, rng: [], 0.5)
    assert len(arrived) == 2


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"fault must be one of 'sign-flips', .*, got 'odd'"):
        corrupt_estimates([estimate("pca")], "odd")
    with pytest.raises(InvalidInputError, match="fraction must be"):
        corrupt_estimates([estimate("pca")], "nan", 3.0)
    with pytest.raises(InvalidInputError, match="share must be"):
        flip_signs(estimate("pca"), np.random.default_rng(0), share=-1)
    with pytest.raises(InvalidInputError, match="'basis', 'projector'"):
        flip_basis(estimate("pca"), np.random.default_rng(0), reading="odd")
    with pytest.raises(InvalidInputError, match="principal components"):
        flip_basis(estimate("linear"), np.random.default_rng(0))
