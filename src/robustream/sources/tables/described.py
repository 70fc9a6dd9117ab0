"""What is known of the columns of a table before it is read."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from robustream.sources.tables.kinds import columns_of, kind_of

__all__ = ["ArrowColumns", "Described", "doubled_names"]


class Described(ABC):
    """Columns with their kinds."""

    columns: Mapping[str, str]
    doubled: frozenset[str]  # names that more than one column has
    certain: bool  # whether the kinds hold for all rows, or only for the first ones


@dataclass(frozen=True)
class ArrowColumns(Described):
    """The columns of an Arrow schema."""

    columns: Mapping[str, str]
    doubled: frozenset[str]
    certain: bool = True

    @classmethod
    def of(cls, schema: pa.Schema) -> ArrowColumns:
        """Read a schema."""
        kinds = [kind_of(arrow_type) for arrow_type in schema.types]
        return cls(columns_of(schema.names, kinds), doubled_names(schema.names))


def doubled_names(names: Iterable[str]) -> frozenset[str]:
    """Give the names that come more than once.

    >>> sorted(doubled_names(["a", "b", "a"]))
    ['a']
    """
    return frozenset(name for name, times in Counter(names).items() if times > 1)
