"""Plain data in one file or one message: safetensors with JSON, checksummed, no pickle."""

from robustream.files.atomic import claim, write_atomically
from robustream.files.format import Content, exists, naming, pack, read, read_any, unpack, unpack_any, write
from robustream.files.tree import Tree

__all__ = [
    "Content",
    "Tree",
    "claim",
    "exists",
    "naming",
    "pack",
    "read",
    "read_any",
    "unpack",
    "unpack_any",
    "write",
    "write_atomically",
]
