"""A tree of plain data in one file or one message: readable with safetensors, checksummed, no pickle.

    write("state.safetensors", {"weights": weights, "labels": ["a", "b"]}, "state")
    tree = read("state.safetensors", "state")

`pack` and `unpack` do the same for bytes. What is read may come from anywhere: whatever is wrong with it is a
DamagedFileError, or a NewerFormatError if a later version wrote it, and it takes no more memory than a small multiple
of its size. Each file has a kind ("model", "checkpoint"), so that one is not taken for another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from robustream.errors import DamagedFileError, InvalidInputError, NewerFormatError
from robustream.storage.atomic import write_atomically
from robustream.storage.envelope import OPENING_SIZE, check_opening, open_envelope, seal
from robustream.storage.tree import Tree, dump_tree, parse_tree

__all__ = ["Content", "Tree", "naming", "pack", "read", "read_any", "unpack", "unpack_any", "write"]


class Content(NamedTuple):
    """What a file or message holds, what it is, and which version wrote it."""

    tree: Tree
    kind: str
    library: str


def pack(tree: Tree, kind: str) -> bytes:
    """Give a tree as bytes.

    >>> unpack(pack({"threshold": 0.1, "names": ["a", "b"]}, "example"), "example")
    {'threshold': 0.1, 'names': ['a', 'b']}
    """
    return b"".join(_pieces(tree, kind))


def unpack(data: bytes, kind: str) -> Tree:
    """Give the tree that `pack` made into bytes."""
    return _of_kind(unpack_any(data), kind)


def unpack_any(data: bytes) -> Content:
    """Give the tree with its kind."""
    envelope = open_envelope(data)
    if envelope.texts.keys() != {"format", "library", "checksum", "kind", "tree"}:
        raise DamagedFileError("its header has other entries than it should have")
    return Content(parse_tree(envelope.texts["tree"], envelope.tensors), envelope.texts["kind"], envelope.library)


def write(path: str | os.PathLike[str], tree: Tree, kind: str) -> None:
    """Write a tree to a file: either the whole file is there afterwards, or what was there before."""
    write_atomically(path, _pieces(tree, kind))


def read(path: str | os.PathLike[str], kind: str) -> Tree:
    """Read the tree from a file; one that does not exist is a FileNotFoundError."""
    with naming(path):
        return _of_kind(unpack_any(_load(Path(path))), kind)


def read_any(path: str | os.PathLike[str]) -> Content:
    """Read the tree from a file, with its kind."""
    with naming(path):
        return unpack_any(_load(Path(path)))


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors about a file name it, and say what to do."""
    try:
        yield
    except DamagedFileError as error:
        raise DamagedFileError(
            f"{os.fspath(path)} cannot be used: {error}. Take another copy of it or make it again."
        ) from error
    except NewerFormatError as error:
        raise NewerFormatError(f"{os.fspath(path)} cannot be used: {error}.") from error


def _pieces(tree: Tree, kind: str) -> list[bytes | memoryview]:
    if not (kind.isascii() and kind.isidentifier()):
        raise InvalidInputError(f"kind must be a word, got {kind!r}")
    text, tensors = dump_tree(tree)
    return seal({"kind": kind, "tree": text}, tensors)


def _of_kind(content: Content, kind: str) -> Tree:
    if content.kind != kind:
        raise DamagedFileError(f"it holds a {content.kind[:40]}, not a {kind}")
    return content.tree


def _load(path: Path) -> bytes:
    """Read a file whole, once its first bytes look right: a wrong file may be huge."""
    with path.open("rb") as file:
        check_opening(file.read(OPENING_SIZE), os.fstat(file.fileno()).st_size)
        file.seek(0)
        return file.read()
