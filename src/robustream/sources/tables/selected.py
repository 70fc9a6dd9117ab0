"""A table whose columns have been chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.sources.tables.conversion import Selection

__all__ = ["Selected"]


class Selected:
    """What the chosen columns tell of a table that has not been read yet."""

    _selection: Selection

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Give the names of the columns of X."""
        return self._selection.features

    @property
    def target_names(self) -> tuple[str, ...]:
        """Give the names of the columns of y."""
        return self._selection.targets

    @property
    def dtype(self) -> np.dtype[Any]:
        """Give the type of X: float32 if all columns are float16 or float32, else float64."""
        return self._selection.dtype
