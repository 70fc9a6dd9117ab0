"""The closer look at some streams: what stands at the end of the way is what the whole stream gives."""

from __future__ import annotations

import pytest

from robustream.paper.methods import arrival
from robustream.paper.results import Results
from robustream.paper.scenarios import adversarial, evenly
from robustream.paper.simulation import Streams, run_streams
from robustream.paper.sizes import SIZES

SIZE = SIZES["tiny"]


def run(problem, scenario):
    return Results(run_streams(Streams(problem, 0, 0, SIZE, scenario), {}))


@pytest.fixture(scope="module", params=["pca", "regression"])
def bad(request):
    return run(request.param, adversarial(0.4, 1.0, "colluding", SIZE.batches, 0))


@pytest.mark.parametrize("order", ["random", "first", "last"])
def test_the_way_ends_where_the_stream_ends(bad, order):
    end = bad.where(seen=SIZE.batches, order=order)
    whole = bad.where(seen=None, order="random", rule=("", "true"))
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


def test_a_bad_batch_alone_is_worse_than_a_good_one(bad):
    for rule in ("true", "none"):
        assert bad.rms(method="one bad batch", rule=rule) > 1.2 * bad.rms(method="one good batch", rule=rule)


def test_all_rows_at_once_are_tried_on_bad_batches_too(bad):
    assert len(bad.values(method="centralized", rule=("true", "half"))) == 2


def test_where_all_batches_are_alike_there_is_one_order():
    rows = run("regression", evenly(0.2, SIZE.batches))
    assert rows.different("order") == ["random"]
    assert rows.values(method="ours", seen=SIZE.batches) == rows.values(method="ours", seen=None)
    assert not rows.values(method="one bad batch")


def test_bad_batches_arrive_where_they_are_told_to():
    bad = [True, False, False, True, False]
    assert arrival(bad, "random") == [0, 1, 2, 3, 4]
    assert arrival(bad, "first") == [0, 3, 1, 2, 4]
    assert arrival(bad, "last") == [1, 2, 4, 0, 3]
