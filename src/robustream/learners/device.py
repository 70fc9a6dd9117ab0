"""Any learner on the GPU: the passes over all rows run there, the small steps on the host, by the same code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robustream.batch import Batch
from robustream.kernels.device_arrays import host_array, is_device_array
from robustream.learners.base import Learner, Solved
from robustream.spaces import ProductSpace

__all__ = ["OnDevice"]


@dataclass(frozen=True)
class OnDevice(Learner):
    """A learner whose batches lie on the GPU, or are copied there; its estimates are plain NumPy arrays."""

    inner: Learner

    @property
    def judges_rows(self) -> bool:  # type: ignore[override]
        return self.inner.judges_rows

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        return self.inner.takes_weights

    @property
    def takes_any_weights(self) -> bool:  # type: ignore[override]
        return self.inner.takes_any_weights

    @property
    def caps_weights(self) -> bool:  # type: ignore[override]
        return self.inner.caps_weights

    def space(self, n_columns: int, n_outputs: int) -> ProductSpace:
        return self.inner.space(n_columns, n_outputs)

    def required_rows(self, n_columns: int) -> int:
        return self.inner.required_rows(n_columns)

    def minimum_rows(self, n_columns: int) -> int:
        return self.inner.minimum_rows(n_columns)

    def solve(self, batch: Batch, rng: np.random.Generator) -> Solved:
        if batch.weights is not None:  # such batches are worked on on the host
            y = None if batch.y is None else host_array(batch.y)
            return self.inner.solve(batch._replace(X=host_array(batch.X), y=y), rng)
        # Imported here: whoever stays on the host must not need CuPy.
        from robustream.kernels.gpu.numpy_proxy import lend, on_host, work_stream

        with work_stream(is_device_array(batch.X)):
            lent = batch._replace(X=lend(batch.X), y=None if batch.y is None else lend(batch.y))
            solved = self.inner.solve(lent, rng)
            point: Any = solved.point
            return solved._replace(point=type(point)(*(on_host(part) for part in point)))
