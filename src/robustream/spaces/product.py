"""Products of spaces: an estimate often has several parts that are compared each in its own units.

Parts are settled one after another. A part may be *expressed* in the light of those settled before it: the level
of a regression line, for instance, is only meaningful for a given slope, and a mean is compared in units of the
column scales. `restore` undoes such a change of units. `express` with nothing settled gives the part as the batch
alone sees it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustream.spaces.base import Array, Point, Space

__all__ = ["Chance", "Law", "Part", "PartMean", "Parts", "ProductSpace", "Quantity", "Role", "Settled", "usual_chance"]


# Values of parts, in their order, as far as they are settled.
Settled: TypeAlias = Sequence[Array | None]
Role = Literal["answer", "noise", "passenger"]


class Part(NamedTuple):
    """A named factor of a product.

    Its role says how it speaks for or against an estimate: an answer must agree with those of the others, noise
    (scales and variances) differs between honest batches too, and a passenger is never asked.
    """

    name: str
    space: Space
    role: Role = "answer"
    is_log: bool = False  # whether it holds logarithms of scales
    said: str = ""  # what people call it, if that differs from its name

    @property
    def noun(self) -> str:
        """What people call it."""
        return self.said or self.name


class PartMean(NamedTuple):
    """The mean of a part over points, and that of what comes with it (`ProductSpace.companion`)."""

    value: Array
    companion: Array | None = None


class Quantity(NamedTuple):
    """Something that the answer tells: as each point has it, and as it was settled."""

    name: str
    space: Space
    points: list[Array]
    value: Array | None


class Places(NamedTuple):
    """Where the rows of points lie, a row for each point."""

    varying: Array  # means of columns that vary within batches, in units of their usual spread there
    fixed: Array  # values of columns that hardly any batch sees vary, so that none knows what they do


class Law(NamedTuple):
    """What is known of the rows of a batch that it believes: columns, then targets."""

    mean: Array
    covariance: Array


class Chance(NamedTuple):
    """What chance makes of the estimate of a batch as noisy as most."""

    variance: Array  # of one row: a matrix, or its diagonal
    rows: float


def usual_chance(covariances: Sequence[Array], rows: Array) -> Chance:
    """Return the covariance and the number of rows of the batch that has the median variance of the mean."""
    sizes = np.array([np.trace(covariance) for covariance in covariances], dtype=np.float64) / rows
    middle = int(np.argsort(sizes, kind="stable")[(len(sizes) - 1) // 2])
    return Chance(np.asarray(covariances[middle], dtype=np.float64), float(rows[middle]))


class ProductSpace(ABC):
    """A space whose points are tuples of arrays, with a rule how to read each part off a point.

    Aggregators need `parts`, `express` and `restore`. All else that somebody asks about a kind of problem is answered
    here too, so that a new kind is one file: the answer and its quantities, and how badly rows fit to a point.
    """

    # The class of points, and that of values with a field for each part: named tuples, or plain tuples.
    point_type: ClassVar[type[tuple[Any, ...]]] = tuple
    value_type: ClassVar[type[tuple[Any, ...]]] = tuple
    # The names of the columns, where they are known.
    names: tuple[str, ...] = ()

    def named(self, names: Iterable[Any] | None) -> Self:
        """Return the space with names for the columns, which only reasons are said with."""
        if names is None:
            return self
        other = copy(self)
        # Of a frozen dataclass, which compares and hashes as before.
        object.__setattr__(other, "names", tuple(str(name) for name in names))
        return other

    def column_name(self, column: int) -> str:
        """Return the name of a column, or its number."""
        return self.names[column] if column < len(self.names) else f"x{column}"

    def entry_name(self, part: int, entry: int) -> str:
        """Return what people call an entry of a part, counted as in its flat array."""
        noun, space = self.parts[part].noun, self.parts[part].space
        return noun if getattr(space, "shape", None) in ((), (1,)) else f"{noun} {entry}"

    def relative_errors(self, part: int, points: Sequence[Point]) -> Array | None:
        """Return the standard error of each entry (points x entries) up to a factor; None where all are alike."""
        return None

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """Return the factors, in the order in which they are settled."""

    @property
    @abstractmethod
    def primary(self) -> int:
        """Return the place of the part that the paper's theory is about; the rest accompanies it."""

    @abstractmethod
    def express(self, part: int, point: Point, settled: Sequence[Array | None] | None = None) -> Array | None:
        """Read one part off a point, given the values of the parts before it; None if the point lacks it."""

    def read(self, point: Point) -> Point:
        """Return a point as it is best asked many times: what is worked out for it then stays with it."""
        return point

    def known(self, part: int, point: Point) -> NDArray[np.bool_] | None:
        """Return which entries of a part the point really knows; None if all.

        A batch in which a column never changes knows nothing of its coefficient, whatever number stands there.
        """
        return None

    def weigher(self, part: int, points: Sequence[Point]) -> Callable[[Array], Array] | None:
        """Return what turns offsets of a part from a common value into units of what each point knows of it.

        A batch that has hardly seen any rain may say anything about rain: only what it would cost on its own rows
        counts. The offsets have one row for each point. None if nothing is known about what the points know.
        """
        return None

    @property
    def targets(self) -> int:
        """Return how many entries of a law are targets: the last ones."""
        return 0

    def law(self, point: Point) -> Law | None:
        """Return mean and covariance of the rows of a batch; None if it does not bring them, or not of all columns."""
        return None

    def chance(self, part: int, points: Sequence[Point], rows: Array) -> Chance | None:
        """Return how a part varies by the chance of rows alone, in a batch as noisy as most; or None.

        In the coordinates of the part that `weigher` gives; of a subspace, the covariance of rows that it is found in.
        `rows` are those of each point.
        """
        return None

    def where(self, part: int, points: Sequence[Point]) -> Places | None:
        """Return where the rows of each point lie, if a part may follow from it; else None.

        A line fitted to one end of a bend differs from one fitted to the other, and neither is bad.
        """
        return None

    def restore(self, part: int, value: Array, settled: Sequence[Array | None]) -> Array:
        """Turn the value of a part, as expressed in the light of those before it, into the part itself."""
        return value

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        """Return the mean of a part, taken in the light of some settled values, in the light of others near them.

        None says that it has to be worked out anew from all points, which costs the more the more there are.
        """
        return None

    def companion(self, part: int, point: Point) -> Array | None:
        """Return what else of the points must be averaged for the mean of a part to be restated; None if nothing."""
        return None

    def answer(self, settled: Sequence[Array | None], rows: int, averaged: bool) -> Any:
        """Return the model that the settled parts amount to.

        `rows` is the number of rows behind it; `averaged` tells whether all parts are means over the same estimates.
        """
        return settled

    def quantities(self, points: Sequence[Point], settled: Sequence[Array | None], answer: Any) -> list[Quantity]:
        """Return what the answer tells, the most important first, with what each of the points says of it.

        Their spread bounds the error of the answer.
        """
        return [self.quantity(place, points, settled) for place, part in enumerate(self.parts) if part.role == "answer"]

    def quantity(self, place: int, points: Sequence[Point], settled: Sequence[Array | None]) -> Quantity:
        """Return a part as a quantity of the answer."""
        expressed = [self.express(place, point, settled) for point in points]
        part = self.parts[place]
        return Quantity(part.name, part.space, [value for value in expressed if value is not None], settled[place])

    def row_scores(self, point: Point, X: NDArray[Any], y: NDArray[Any] | None) -> Array | None:
        """Return how badly each row fits to a point, higher is worse; None if rows have no scores."""
        return None

    def value(self, settled: Sequence[Array | None]) -> tuple[Any, ...]:
        """Return the settled parts by name."""
        make: Any = self.value_type
        return tuple(settled) if make is tuple else make(*settled)

    def why_not(self, point: Point) -> str | None:
        """Return the reason why a tuple of arrays is no point of this space, or None if it is one."""
        point = self.read(point)
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

    def restate(
        self, part: int, mean: PartMean, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> Array | None:
        return mean.value
