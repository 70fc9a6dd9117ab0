"""Where estimates are made: in this process, on all cores of this machine, or on a Dask cluster."""

from robustream.engines.base import Engine, Result
from robustream.engines.dask import DaskEngine
from robustream.engines.inprocess import InProcessEngine
from robustream.engines.local import LocalEngine

__all__ = ["DaskEngine", "Engine", "InProcessEngine", "LocalEngine", "Result"]
