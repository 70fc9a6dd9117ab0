"""The bytes of a safetensors file, written so that every byte is covered by a checksum, and read without trust.

A safetensors file is the length of a header (8 bytes), the header (JSON: a name, type, shape and place for each array,
and free text under `__metadata__`) and the numbers. Ours begin their header with format, library and checksum at a
fixed place: a reader checks these before it believes, or parses, anything else. All later formats begin so as well.
The checksum is the SHA-256 of the whole file with its own digits set to 0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream._version import __version__
from robustream.errors import DamagedFileError, NewerFormatError
from robustream.storage import strict_json
from robustream.storage.arrays import array_bytes, array_from_bytes, check_declaration, dtype_code

__all__ = ["FORMAT", "OPENING_SIZE", "Envelope", "check_opening", "open_envelope", "seal"]

FORMAT = 1

_LENGTH_SIZE = 8
_NO_CHECKSUM = "0" * 64
_OPENING = re.compile(
    rb'\{"__metadata__":\{"format":"([0-9]{1,9})","library":"robustream ([0-9A-Za-z.+-]{1,40})",'
    rb'"checksum":"sha256:([0-9a-f]{64})",'
)
# No opening is longer than this.
OPENING_SIZE = 256


class Envelope(NamedTuple):
    """What a file holds: free text by name, arrays by name, and the version that wrote it."""

    texts: dict[str, str]
    tensors: dict[str, NDArray[Any]]
    library: str


class _Opening(NamedTuple):
    format: int
    library: str
    checksum: bytes
    checksum_place: slice
    data_start: int


def seal(texts: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """Give the bytes of a file, in pieces, so that large arrays are not copied."""
    # No holes are allowed between arrays: falling item sizes keep each at a multiple of its own.
    ordered = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)
    metadata = {"format": str(FORMAT), "library": f"robustream {__version__}", "checksum": f"sha256:{_NO_CHECKSUM}"}
    header: dict[str, Any] = {"__metadata__": {**metadata, **texts}}
    pieces: list[bytes | memoryview] = []
    start = 0
    for name, array in ordered:
        data = array_bytes(array)
        place = [start, start + data.nbytes]
        header[name] = {"dtype": dtype_code(array.dtype), "shape": list(array.shape), "data_offsets": place}
        start = place[1]
        pieces.append(data)
    encoded = strict_json.dump(header).encode("ascii")
    encoded += b" " * (-len(encoded) % _LENGTH_SIZE)
    front = len(encoded).to_bytes(_LENGTH_SIZE, "little") + encoded
    checksum = _digest([front, *pieces]).encode("ascii")
    return [front.replace(_NO_CHECKSUM.encode("ascii"), checksum, 1), *pieces]


def check_opening(front: bytes | memoryview, size: int) -> _Opening:
    """Read the opening of a file of that size; only its first bytes need be there."""
    length = int.from_bytes(front[:_LENGTH_SIZE], "little")
    match = _OPENING.match(bytes(front[_LENGTH_SIZE:OPENING_SIZE]))
    if match is None:
        raise DamagedFileError("it does not begin as a robustream file does")
    data_start = _LENGTH_SIZE + length
    if data_start > size or match.end() > length:
        raise DamagedFileError(f"it is cut short: its header should have {length} bytes, the whole has {size}")
    place = slice(_LENGTH_SIZE + match.start(3), _LENGTH_SIZE + match.end(3))
    return _Opening(int(match[1]), match[2].decode("ascii"), match[3], place, data_start)


def open_envelope(data: bytes) -> Envelope:
    """Give what a file holds, or raise DamagedFileError or NewerFormatError."""
    opening = check_opening(data, len(data))
    view = memoryview(data)
    place = opening.checksum_place
    blank = _digest([view[: place.start], _NO_CHECKSUM.encode("ascii"), view[place.stop :]])
    if blank.encode("ascii") != opening.checksum:
        raise DamagedFileError("its checksum is wrong: it was changed or cut short")
    if opening.format > FORMAT:
        raise NewerFormatError(
            f"it has format {opening.format}, written by robustream {opening.library}; robustream {__version__} reads "
            f"formats up to {FORMAT}: install robustream {opening.library} or later"
        )
    header = strict_json.parse(bytes(view[_LENGTH_SIZE : opening.data_start]), "its header")
    texts = header.pop("__metadata__")
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise DamagedFileError("its header has metadata that are not text")
    return Envelope(texts, _read_tensors(header, view[opening.data_start :]), opening.library)


def _read_tensors(header: dict[str, Any], data: memoryview) -> dict[str, NDArray[Any]]:
    """Check that the arrays fill the data exactly, one after another, before any of them is made."""
    declared: list[tuple[int, int, str, np.dtype[Any], tuple[int, ...]]] = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise DamagedFileError(f"array {name[:60]!r} is not described as it should be")
        offsets = entry["data_offsets"]
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
            raise DamagedFileError(f"array {name[:60]!r} has no valid place")
        start, stop = offsets
        if not 0 <= start <= stop <= data.nbytes:
            raise DamagedFileError(f"array {name[:60]!r} lies outside of the file")
        declared.append(
            (start, stop, name, *check_declaration(name[:60], entry["dtype"], entry["shape"], stop - start))
        )
    reached = 0
    for start, stop, name, _, _ in sorted(declared, key=lambda item: item[:2]):
        if start != reached:
            raise DamagedFileError(f"array {name[:60]!r} overlaps another one, or leaves a hole")
        reached = stop
    if reached != data.nbytes:
        raise DamagedFileError("there are bytes that belong to no array")
    return {
        name: array_from_bytes(name[:60], data[start:stop], dtype, shape)
        for start, stop, name, dtype, shape in declared
    }


def _digest(pieces: Iterable[bytes | memoryview]) -> str:
    hasher = hashlib.sha256()
    for piece in pieces:
        hasher.update(piece)
    return hasher.hexdigest()
