"""Plain data in one file or one message: safetensors with JSON, checksummed, no pickle."""

from robustream.storage.tree import Tree

__all__ = ["Tree"]
