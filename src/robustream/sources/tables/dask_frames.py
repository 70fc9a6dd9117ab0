"""Dask data frames with categories: encoded partition by partition, where the partition is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from robustream.errors import InvalidInputError
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.encoding import Encoding
from robustream.sources.tables.frames import as_table, encode_frame
from robustream.sources.tables.levels import LevelCounts, join_counts, levels_in
from robustream.sources.tables.schema import choose_columns, columns_of_schema

__all__ = ["encode_collection"]


def encode_collection(
    collection: Any,
    target: str | Sequence[str] | None,
    features: Sequence[str],
    *,
    numeric_only: bool,
    encoder: Encoder | None,
) -> tuple[Any, Encoding | None, list[str]]:
    """Return a data frame as X, how it is made if not of columns as they are, and the names of its columns."""
    if encoder is not None and encoder.target_expressions:
        raise InvalidInputError("the target of a formula over a Dask data frame must be a column as it is.", "formula")
    empty = pd.DataFrame({str(name): pd.Series(dtype=kind) for name, kind in collection.dtypes.items()})
    schema = pa.Schema.from_pandas(empty, preserve_index=False)
    # Objects are text in all but name, as long as nothing is known of them.
    kinds = {field.name: field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema}

    def count(columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        from dask.base import compute
        from dask.delayed import delayed

        parts = [delayed(_levels)(part, list(columns)) for part in collection[list(columns)].to_delayed()]
        return join_counts(compute(*parts), columns, complete=True)  # type: ignore[no-untyped-call]

    selection = choose_columns(
        [columns_of_schema(pa.schema(list(kinds.values())))],
        target=target,
        columns=None if encoder is not None and encoder.names_all else list(features),
        exclude=(),
        missing="keep",
        text_target=True,
        numeric_only=numeric_only,
        encoder=encoder,
        count=count,
    )
    names = list(selection.features)
    if selection.encoding is None:
        return collection[names], None, names
    made = pd.DataFrame({name: pd.Series(dtype="float64") for name in names})
    rows = collection[list(selection.encoding.columns)]
    return rows.map_partitions(_encode, selection.encoding, meta=made), selection.encoding, names


def _levels(part: Any, columns: list[str]) -> dict[str, Counter[str]]:
    return levels_in([as_table(part)], columns)


def _encode(part: Any, encoding: Encoding) -> Any:
    return pd.DataFrame(encode_frame(part, encoding).to_pandas())
