"""Plain data in one file or one message: safetensors with JSON, checksummed, no pickle."""

from robustream.files.format import Content, naming, pack, read, read_any, unpack, unpack_any, write
from robustream.files.tree import Tree

__all__ = ["Content", "Tree", "naming", "pack", "read", "read_any", "unpack", "unpack_any", "write"]
