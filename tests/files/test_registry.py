"""Only the classes that were named are made, with exactly their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from robustream import files
from robustream.errors import DamagedFileError, InvalidInputError
from robustream.files.registry import Registry


class Point(NamedTuple):
    x: float
    y: float = 0.0


@dataclass(frozen=True)
class Positive:
    value: float

    def __post_init__(self):
        if not self.value > 0:
            raise ValueError("value must be positive")


@dataclass
class Loose:
    value: float


REGISTRY = Registry([Point, Positive])


@pytest.mark.parametrize(
    "value",
    [
        Point(0.5),
        Positive(2.0),
        (),
        (1, [2, (3,)], {"a": (4,)}),
        [Point(1.0, 2.0), (Point(3.0), Positive(1.0))],
        {1: "one", (2, 3): "pair", None: [True]},
        {"@": "a key like a mark", "b": 1},
        {"plain": {"nested": (None,)}},
    ],
)
def test_round_trip_through_bytes(value):
    stored = files.unpack(files.pack(REGISTRY.encode(value), "example"), "example")
    back = REGISTRY.decode(stored)
    assert back == value
    assert type(back) is type(value)


def test_arrays_pass_through():
    back = REGISTRY.decode(REGISTRY.encode((np.arange(3), np.float32(0.1))))
    assert np.array_equal(back[0], np.arange(3))
    assert type(back[1]) is np.float32


@pytest.mark.parametrize(
    "tree",
    [
        {"@": "Unknown"},
        {"@": "Point", "x": 1.0},
        {"@": "Point", "x": 1.0, "y": 2.0, "z": 3.0},
        {"@": ["Point"]},
        {"@": "Positive", "value": -1.0},
        {"@": "Positive", "value": "text"},
        {"@tuple": 3},
        {"@items": [[1]]},
        {"@items": [[[], 1]]},
        {"@other": 1},
    ],
)
def test_other_content_is_refused(tree):
    with pytest.raises(DamagedFileError):
        REGISTRY.decode(tree)


def test_other_objects_are_refused():
    with pytest.raises(InvalidInputError, match="Loose"):
        REGISTRY.encode([Loose(1.0)])
    with pytest.raises(InvalidInputError, match="neither"):
        Registry([Loose])
    with pytest.raises(InvalidInputError, match="two classes"):
        Registry([Point, Point])
