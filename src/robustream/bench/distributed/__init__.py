"""What engines cost beside bare process pools and bare Dask, how work scales, and what the gatherer needs."""

from robustream.bench.distributed.suite import distributed_steps

__all__ = ["distributed_steps"]
