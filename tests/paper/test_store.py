"""Results on disk: complete or absent, and never mixed."""

from __future__ import annotations

import pytest

from robustream.paper.results import Cell, DamagedResultError, Results, Store, slope


def cell(name, group="group"):
    return Cell(group, name, lambda settings, memory: [], None)


def test_rows_come_back_with_all_their_names(tmp_path):
    store = Store(tmp_path, "tiny", 0)
    store.write(cell("one"), [{"method": "a", "error": 1.5}, {"method": "b", "seen": 3}], {"python": "3"})
    assert store.read([cell("one")]) == [
        {"method": "a", "error": 1.5, "seen": None},
        {"method": "b", "error": None, "seen": 3},
    ]
    assert store.environments([cell("one")]) == [{"python": "3"}]


def test_cells_that_are_not_done_are_left_out(tmp_path):
    store = Store(tmp_path, "tiny", 0)
    store.write(cell("one"), [{"error": 1.0}], {})
    assert not store.has(cell("two"))
    assert store.read([cell("one"), cell("two"), cell("one")]) == [{"error": 1.0}]


def test_sizes_and_seeds_do_not_mix(tmp_path):
    Store(tmp_path, "tiny", 0).write(cell("one"), [{"error": 1.0}], {})
    assert not Store(tmp_path, "tiny", 1).has(cell("one"))
    assert not Store(tmp_path, "quick", 0).has(cell("one"))


def test_a_write_that_was_cut_short_does_not_count(tmp_path):
    store = Store(tmp_path, "tiny", 0)
    store.write(cell("one"), [{"error": 1.0}], {})
    complete = store.path(cell("one")).read_bytes()
    store.path(cell("two")).with_suffix(".123.unfinished").write_bytes(complete[:50])
    assert not store.has(cell("two"))


def test_a_damaged_file_is_named(tmp_path):
    store = Store(tmp_path, "tiny", 0)
    store.write(cell("one"), [{"error": 1.0}], {})
    store.path(cell("one")).write_bytes(b"no Parquet")
    with pytest.raises(DamagedResultError, match=r"one\.parquet cannot be read"):
        store.read([cell("one")])


def test_questions_to_rows():
    results = Results([{"share": 0.1 + 0.2, "error": 3.0}, {"share": 0.3, "error": 4.0}, {"share": 0.4, "error": None}])
    assert results.values(share=0.3) == [3.0, 4.0]
    assert results.values(share=(0.3, 0.4)) == [3.0, 4.0]
    assert results.band(share=0.3)[1:] == (3.0, 4.0)
    assert results.band(share=0.9) is None
    assert slope([1, 2, 4], [8, 4, 2]) == pytest.approx(-1)
