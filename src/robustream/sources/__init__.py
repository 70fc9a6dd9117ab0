"""Where batches come from."""

from robustream.sources.base import Source

__all__ = ["Source"]
