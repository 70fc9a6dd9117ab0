"""What we claim of ourselves is judged like all else: by numbers, and strictly."""

from __future__ import annotations

import pytest

from robustream.paper.ours import ON_THE_WAY_CLAIM, OURS_CLAIMS
from robustream.paper.results import Results

USABLE, ALL = OURS_CLAIMS


def stream(name, ours, usable, oracle, beyond=0.4, seen=None, repetition=0, order="random"):
    common = {"scenario": name, "order": order, "seen": seen, "beyond_repair": beyond, "repetition": repetition}
    errors = {"ours": ours, "oracle of usable batches": usable, "oracle": oracle}
    return [{**common, "method": method, "error": error} for method, error in errors.items()]


@pytest.mark.parametrize(
    ("ours", "against_usable", "against_all"),
    [
        (1.1, "holds", "holds"),
        (1.2, "holds", "does not hold"),
        (1.5, "does not hold", "does not hold"),
    ],
)
def test_both_oracles_are_told_apart(ours, against_usable, against_all):
    results = Results(stream("a", ours, usable=1.1, oracle=1.0))
    assert USABLE.judge(results).verdict == against_usable
    finding = ALL.judge(results)
    assert finding.verdict == against_all
    if against_all != "holds":
        assert f"a: {ours:.3f} (1.100 by these rows alone)" in finding.text


def test_streams_beyond_repair_do_not_count():
    results = Results([*stream("a", 1.0, 1.0, 1.0), *stream("b", 9.0, 1.0, 1.0, beyond=0.5)])
    assert USABLE.judge(results).verdict == "holds"
    assert "1 of 1 streams" in USABLE.judge(results).text


def test_repetitions_count_by_their_root_mean_square():
    rows = [*stream("a", 1.25, 1.0, 1.0), *stream("a", 1.0, 1.0, 1.0, repetition=1)]
    assert USABLE.judge(Results(rows)).verdict == "holds"
    assert "1.132 times" in USABLE.judge(Results(rows)).text


def test_on_the_way_only_moments_with_a_good_majority_count():
    rows = [
        *stream("a", 1.0, 1.0, 1.0, beyond=0.2, seen=5),
        # In this repetition most of what has arrived is bad: it is left out.
        *stream("a", 9.0, 1.0, 1.0, beyond=0.6, seen=5, repetition=1),
        *stream("a", 3.0, 1.0, 1.0, beyond=0.4, seen=10),
    ]
    finding = ON_THE_WAY_CLAIM.judge(Results(rows))
    assert finding.verdict == "holds in part"
    assert "1 of 2 moments" in finding.text
    assert "a, bad batches random, 10 seen: 3.00" in finding.text
