"""A long sequence that grows at its end by copies that share most of their memory.

States and books never change: each batch makes a new one. Items lie in pages, so that a new one copies a page and the
list of pages, not all that came before, and two states are compared page by page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Generic, TypeVar, overload

__all__ = ["Paged"]

Item = TypeVar("Item")

_PAGE = 256


class Paged(Sequence[Item], Generic[Item]):
    """Items in their order; every page but the last has the same number of them, until one is taken out.

    >>> three = Paged("ab").appended("c")
    >>> list(three), len(three), three[-1]
    (['a', 'b', 'c'], 3, 'c')
    >>> list(three.without(1))
    ['a', 'c']
    """

    __slots__ = ("_length", "pages")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        whole = tuple(items)
        self.pages: tuple[tuple[Item, ...], ...] = tuple(
            whole[first : first + _PAGE] for first in range(0, len(whole), _PAGE)
        )
        self._length = len(whole)

    @classmethod
    def _of(cls, pages: tuple[tuple[Item, ...], ...], length: int) -> Paged[Item]:
        made: Paged[Item] = cls()
        made.pages, made._length = pages, length
        return made

    def appended(self, item: Item) -> Paged[Item]:
        """Return the sequence with one more item at its end."""
        if self.pages and len(self.pages[-1]) < _PAGE:
            return self._of((*self.pages[:-1], (*self.pages[-1], item)), self._length + 1)
        return self._of((*self.pages, (item,)), self._length + 1)

    def without(self, place: int) -> Paged[Item]:
        """Return the sequence without one of its items; other pages stay as they are."""
        number, inside = self._find(place)
        page = self.pages[number]
        left = page[:inside] + page[inside + 1 :]
        around = (self.pages[:number], (left,) if left else (), self.pages[number + 1 :])
        return self._of(tuple(chain(*around)), self._length - 1)

    def begins_as(self, other: Paged[Item], count: int) -> bool:
        """Return whether the first items, so many, are the same objects in both."""
        if count > min(len(self), len(other)):
            return False
        alike = 0
        for own, others in zip(self.pages, other.pages, strict=False):
            if own is not others:
                break
            alike += 1
            count -= len(own)
        rest = (chain.from_iterable(each.pages[alike:]) for each in (self, other))
        return all(one is another for one, another in islice(zip(*rest, strict=False), max(count, 0)))

    def _find(self, place: int) -> tuple[int, int]:
        for number, page in enumerate(self.pages):
            if place < len(page):
                return number, place
            place -= len(page)
        raise IndexError("there are not so many items")

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        if place < 0:
            place += self._length
            if place < 0:
                raise IndexError("there are not so many items")
        if self.pages and place >= self._length - len(self.pages[-1]):
            return self.pages[-1][place - self._length + len(self.pages[-1])]
        number, inside = self._find(place)
        return self.pages[number][inside]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self.pages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Paged, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Paged({list(self)!r})"
