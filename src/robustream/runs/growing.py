"""A sequence that never changes, but can be made longer without being copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, overload

__all__ = ["Growing"]

Item = TypeVar("Item")


class Growing(Sequence[Item]):
    """The first so many items of a list that longer sequences share.

    Only the longest of those that share a list makes it longer; any other copies its own part first. So whoever holds a
    sequence never sees it change, and a run of a hundred thousand batches does not copy its book for each of them.

    Parameters
    ----------
    items : what is in it; a copy is made, unless it is such a sequence itself.

    Examples
    --------
    >>> short = Growing([1, 2])
    >>> long, other = short.with_item(3), short.with_item(4)
    >>> short, long, other
    ((1, 2), (1, 2, 3), (1, 2, 4))
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, items: Sequence[Item] = ()) -> None:
        self._shared: list[Item] = items._shared if isinstance(items, Growing) else list(items)
        self._length = len(items)

    def with_item(self, item: Item) -> Growing[Item]:
        """Give the sequence with one more item at its end."""
        longer = Growing(self)
        # An empty one may be a default that everybody begins with.
        if 0 < self._length == len(self._shared):
            self._shared.append(item)
        # Another thread may have been first.
        if len(self._shared) == self._length or self._shared[self._length] is not item:
            longer._shared = [*self, item]
        longer._length += 1
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self._shared[: self._length])[place]
        return self._shared[range(self._length)[place]]

    def __iter__(self) -> Iterator[Item]:
        return islice(self._shared, self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self[:] == tuple(other)

    def __hash__(self) -> int:
        return hash(self[:])

    def __repr__(self) -> str:
        return repr(self[:])

    def __reduce__(self) -> tuple[Any, ...]:
        # What longer sequences have added belongs to them alone.
        return Growing, (self[:],)
