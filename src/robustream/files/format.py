"""A tree of plain data as one safetensors file or message: checksummed, no pickle, read without trust.

    write("state.safetensors", {"weights": weights, "labels": ["a", "b"]}, "state")
    tree = read("state.safetensors", "state")

`pack` and `unpack` do the same for bytes. What is read may come from anywhere: whatever is wrong with it is a
DamagedFileError, or a NewerFormatError if a later version wrote it, and it takes no more memory than a small multiple
of its size. Each file has a kind ("model", "checkpoint"), so that one is not taken for another.

A safetensors file is the length of a header (8 bytes), the header (JSON: a name, type, shape and place for each array,
and free text under `__metadata__`) and the numbers. Ours begin their header with format, library and checksum at a
fixed place: a reader checks these before it believes, or parses, anything else. All later formats begin so as well.
The checksum is the SHA-256 of the whole file with its own digits set to 0. The arrays are then read by the safetensors
library. The writer is ours: that of the library puts the metadata in random order, so that there would be no fixed
place for the checksum and no two files with the same bytes, and it copies every array.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from robustream._version import __version__
from robustream.errors import DamagedFileError, InvalidInputError, NewerFormatError, RequestError
from robustream.files.addresses import as_text, find, is_address, open_address, shown
from robustream.files.atomic import write_atomically
from robustream.files.tree import DTYPES, Tree, dtype_code, dump_json, dump_tree, parse_json, parse_tree

__all__ = ["Content", "exists", "naming", "pack", "read", "read_any", "unpack", "unpack_any", "write"]

FORMAT = 1

_LENGTH_SIZE = 8
_NO_CHECKSUM = b"0" * 64
_OPENING = re.compile(
    rb'\{"__metadata__":\{"format":"([0-9]{1,9})","library":"robustream ([0-9A-Za-z.+-]{1,40})",'
    rb'"checksum":"sha256:([0-9a-f]{64})",'
)
# No opening is longer than this.
_OPENING_SIZE = 256
# The library reads no header of more than 100 MB: a longer text, as of a run of a million batches, becomes an array.
_LONGEST_TEXT = 64_000_000
# No array of a tree can have this name.
_LONG_TREE = "$tree"


class Content(NamedTuple):
    """What a file or message holds, what it is, and which version wrote it."""

    tree: Tree
    kind: str
    library: str


def pack(tree: Tree, kind: str) -> bytes:
    """Return a tree as bytes.

    >>> unpack(pack({"threshold": 0.1, "names": ["a", "b"]}, "example"), "example")
    {'threshold': 0.1, 'names': ['a', 'b']}
    """
    return b"".join(_pieces(tree, kind))


def unpack(data: bytes, kind: str) -> Tree:
    """Return the tree that `pack` made into bytes."""
    return _of_kind(unpack_any(data), kind)


def unpack_any(data: bytes) -> Content:
    """Return the tree with its kind."""
    opening = _check_opening(data, len(data))
    view, place = memoryview(data), opening.checksum_place
    if _digest([view[: place.start], _NO_CHECKSUM, view[place.stop :]]) != opening.checksum:
        raise DamagedFileError("its checksum is wrong: it was changed or cut short")
    if opening.format > FORMAT:
        raise NewerFormatError(
            f"it has format {opening.format}, written by robustream {opening.library}; robustream {__version__} reads "
            f"formats up to {FORMAT}: install robustream {opening.library} or later"
        )
    header = parse_json(bytes(view[_LENGTH_SIZE : opening.data_start]).rstrip(b" "), "its header")
    texts = header.pop("__metadata__")
    if not isinstance(texts, dict) or texts.keys() != {"format", "library", "checksum", "kind", "tree"}:
        raise DamagedFileError("its header has other entries than it should have")
    if not all(isinstance(text, str) for text in texts.values()):
        raise DamagedFileError("its header has metadata that are not text")
    tensors = _read_tensors(data, header)
    text = bytes(tensors.pop(_LONG_TREE)) if _LONG_TREE in tensors else texts["tree"]
    return Content(parse_tree(text, tensors), texts["kind"], opening.library)


def write(path: str | os.PathLike[str], tree: Tree, kind: str) -> None:
    """Write a tree to a file: either the whole file is there afterwards, or what was there before."""
    write_atomically(path, _pieces(tree, kind))


def read(path: str | os.PathLike[str], kind: str) -> Tree:
    """Return the tree in a file; one that does not exist is a FileNotFoundError."""
    with naming(path):
        return _of_kind(unpack_any(_load(path)), kind)


def read_any(path: str | os.PathLike[str]) -> Content:
    """Return the tree in a file, with its kind."""
    with naming(path):
        return unpack_any(_load(path))


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors about a file name it, and say what to do."""
    try:
        yield
    except DamagedFileError as error:
        raise DamagedFileError(
            f"{shown(path)} cannot be used: {error}. Take another copy of it or make it again."
        ) from error
    except NewerFormatError as error:
        raise NewerFormatError(f"{shown(path)} cannot be used: {error}.") from error
    except RequestError as error:
        raise RequestError(f"{shown(path)} cannot be read: {error}") from error


def _pieces(tree: Tree, kind: str) -> list[bytes | memoryview]:
    if not (kind.isascii() and kind.isidentifier()):
        raise InvalidInputError(f"kind must be a word, got {kind!r}")
    text, tensors = dump_tree(tree)
    if len(text) > _LONGEST_TEXT:
        tensors[_LONG_TREE], text = np.frombuffer(text.encode("ascii"), np.uint8), ""
    return _seal({"kind": kind, "tree": text}, tensors)


def _of_kind(content: Content, kind: str) -> Tree:
    if content.kind != kind:
        raise DamagedFileError(f"it holds a {content.kind[:40]}, not a {kind}")
    return content.tree


def _load(path: str | os.PathLike[str]) -> bytes:
    """Read a file whole, once its first bytes look right: a wrong file may be huge."""
    with _open(as_text(path)) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        _check_opening(file.read(_OPENING_SIZE), size)
        file.seek(0)
        return file.read()


def _open(path: str) -> Any:
    if not is_address(path):
        return open(path, "rb")
    try:
        return open_address(path, whole=False)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown(path)) from None


def exists(path: str | os.PathLike[str]) -> bool:
    """Tell whether there is a file."""
    text = as_text(path)
    try:
        return find(text).kind == "file" if is_address(text) else os.path.exists(text)
    except RequestError as error:
        raise RequestError(f"{shown(path)} cannot be looked at: {error}") from error


def _seal(texts: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces, so that large arrays are not copied."""
    metadata = {"format": str(FORMAT), "library": f"robustream {__version__}"}
    metadata["checksum"] = f"sha256:{_NO_CHECKSUM.decode('ascii')}"
    header: dict[str, Any] = {"__metadata__": {**metadata, **texts}}
    pieces: list[bytes | memoryview] = []
    start = 0
    # No holes are allowed between arrays: falling item sizes keep each at a multiple of its own.
    for name, array in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        code = dtype_code(array.dtype)
        little = np.ascontiguousarray(array, dtype=DTYPES[code])
        stop = start + little.nbytes
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [start, stop]}
        pieces.append(little.reshape(-1).view(np.uint8).data)
        start = stop
    encoded = dump_json(header).encode("ascii")
    encoded += b" " * (-len(encoded) % _LENGTH_SIZE)
    front = len(encoded).to_bytes(_LENGTH_SIZE, "little") + encoded
    return [front.replace(_NO_CHECKSUM, _digest([front, *pieces]), 1), *pieces]


class _Opening(NamedTuple):
    format: int
    library: str
    checksum: bytes
    checksum_place: slice
    data_start: int


def _check_opening(front: bytes, size: int) -> _Opening:
    """Read the opening of a file of that size; only its first bytes need be there."""
    length = int.from_bytes(front[:_LENGTH_SIZE], "little")
    match = _OPENING.match(front[_LENGTH_SIZE:_OPENING_SIZE])
    if match is None:
        raise DamagedFileError("it does not begin as a robustream file does")
    data_start = _LENGTH_SIZE + length
    if data_start > size or match.end() > length:
        raise DamagedFileError(f"it is cut short: its header must have {length} bytes, the whole has {size}")
    place = slice(_LENGTH_SIZE + match.start(3), _LENGTH_SIZE + match.end(3))
    return _Opening(int(match[1]), match[2].decode("ascii"), match[3], place, data_start)


def _read_tensors(data: bytes, entries: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays; the library sees to it that they fill the data exactly before it makes any of them."""
    try:
        found = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise DamagedFileError(f"its arrays are not described as they must be ({str(error)[:200]})") from error
    if any(len(entry) != 3 for entry in entries.values()):
        raise DamagedFileError("its arrays have other entries than type, shape and place")
    return {name: _array(name[:60], each["dtype"], each["shape"], each["data"]) for name, each in found}


def _array(name: str, code: str, shape: list[int], data: bytearray) -> NDArray[Any]:
    if code not in DTYPES:
        raise DamagedFileError(f"array {name!r} has the type {code!r}, which robustream does not write")
    if code == "BOOL" and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise DamagedFileError(f"array {name!r} has truth values other than 0 and 1")
    try:
        return np.frombuffer(data, DTYPES[code]).reshape(shape).astype(DTYPES[code].newbyteorder("="), copy=False)
    # An empty array may have sides whose product no machine can count, and any array too many sides for NumPy.
    except (ValueError, OverflowError) as error:
        raise DamagedFileError(f"array {name!r} has no valid shape") from error


def _digest(pieces: Iterable[bytes | memoryview]) -> bytes:
    hasher = hashlib.sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest().encode("ascii")
