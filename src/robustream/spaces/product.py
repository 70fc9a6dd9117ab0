"""Products of spaces: an estimate often has several parts that are compared each in its own units.

Parts are settled one after another. A part may be *expressed* in the light of those settled before it: the level
of a regression line, for instance, is only meaningful for a given slope, and a mean is compared in units of the
column scales. `restore` undoes such a change of units. `express` with nothing settled gives the part as the batch
alone sees it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from robustream.spaces.base import Array, Point, Space

__all__ = ["Part", "Parts", "ProductSpace", "Role"]


Role = Literal["answer", "noise", "passenger"]


class Part(NamedTuple):
    """A named factor of a product.

    Its role says how it speaks for or against an estimate: an answer must agree with those of the others, noise
    (scales and variances) differs between honest batches too, and a passenger is never asked.
    """

    name: str
    space: Space
    role: Role = "answer"


class ProductSpace(ABC):
    """A space whose points are tuples of arrays, with a rule how to read each part off a point."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """Give the factors, in the order in which they are settled."""

    @property
    @abstractmethod
    def primary(self) -> int:
        """Give the place of the part that the paper's theory is about; the rest accompanies it."""

    @abstractmethod
    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        """Read one part off a point, given the values of the parts before it; None if the point lacks it."""

    def known(self, part: int, point: Point) -> Array | None:
        """Tell which entries of a part the point really knows; None if all.

        A batch in which a column never changes knows nothing of its coefficient, whatever number stands there.
        """
        return None

    def weigher(self, part: int, points: Sequence[Point]) -> Callable[[Array], Array] | None:
        """Give what turns offsets of a part from a common value into units of what each point knows of it.

        A batch that has hardly seen any rain may say anything about rain: only what it would cost on its own rows
        counts. The offsets have one row for each point. None if nothing is known about what the points know.
        """
        return None

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        """Turn the value of a part, as expressed in the light of those before it, into the part itself."""
        return value

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> Any:
        """Return the model that the settled parts amount to.

        `rows` is the number of rows behind it; `averaged` tells whether all parts are means over the same estimates.
        """
        return settled

    def why_not(self, point: Point) -> str | None:
        """Give the reason why a tuple of arrays is no point of this space, or None if it is one."""
        for place, part in enumerate(self.parts):
            value = self.express(place, point)
            if value is not None and (reason := part.space.why_not(value)):
                return f"{part.name} {reason}"
        return None


@dataclass(frozen=True)
class Parts(ProductSpace):
    """Parts that have nothing to do with one another, stored in the order of `factors`."""

    factors: tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.factors

    @property
    def primary(self) -> int:
        return 0

    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        return point[part]
