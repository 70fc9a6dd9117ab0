"""Damaged and crafted files: always a clear error, never much memory. 10,000 cases in all."""

from __future__ import annotations

import hashlib
import json
import re
import tracemalloc

import numpy as np
import pytest

from robustream import files
from robustream.errors import DamagedFileError, NewerFormatError

TREE = {
    "numbers": np.arange(40.0).reshape(5, 8),
    "flags": np.array([True, False, True]),
    "small": np.arange(6, dtype=np.float32),
    "names": np.array(["a", "bb", "ccc"]),
    "nested": [{"x": 1, "y": [float("nan"), 2**70]}, None, "text", np.float32(0.5)],
}
PACKED = files.pack(TREE, "example")
# Reading may take a few times the file's size, and some room for the machinery of errors.
MOST_TIMES, ALLOWANCE = 40, 64_000


def seal(header: bytes, data: bytes = b"") -> bytes:
    """Give a file with a right checksum around any header that begins as it should."""
    front = len(header).to_bytes(8, "little") + header
    blank = re.sub(rb'(?<="checksum":"sha256:)[0-9a-f]{64}', b"0" * 64, front, count=1)
    digest = hashlib.sha256(blank + data).hexdigest().encode()
    return blank.replace(b"0" * 64, digest, 1) + data


def crafted(tensors: str = "", data: bytes = b"", tree: str = "{}", **others: str) -> bytes:
    """Give a file that robustream might have written, but for what is asked for."""
    texts = {"format": "1", "library": "robustream 0.1.0", "checksum": "sha256:" + "0" * 64, "kind": "example"}
    metadata = json.dumps(texts | {"tree": tree} | others, separators=(",", ":"))
    return seal(f'{{"__metadata__":{metadata}{tensors}}}'.encode(), data)


def assert_refused(data: bytes) -> None:
    with pytest.raises((DamagedFileError, NewerFormatError)) as caught:
        files.unpack(data, "example")
    assert len(str(caught.value)) > 20


def peak_memory(data: bytes) -> int:
    tracemalloc.start()
    try:
        assert_refused(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_maker_of_crafted_files_makes_good_ones():
    good = crafted(',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}', bytes(16), '{"a":{"$tensor":"a"}}')
    assert files.unpack(good, "example")["a"].tolist() == [0.0, 0.0]


def test_truncations():
    assert len(PACKED) > 1000
    for length in np.random.default_rng(0).integers(len(PACKED), size=1500).tolist():
        assert_refused(PACKED[:length])


@pytest.mark.parametrize("part", range(5))
def test_flipped_bytes(part):
    """Every byte of the file is covered by the checksum: any change shows."""
    rng = np.random.default_rng(part)
    for _ in range(1200):
        damaged = bytearray(PACKED)
        for place in rng.integers(len(damaged), size=rng.integers(1, 4)):
            damaged[place] ^= int(rng.integers(1, 256))
        if bytes(damaged) != PACKED:
            assert_refused(bytes(damaged))


def test_every_single_byte_counts():
    for place in range(len(PACKED)):
        damaged = bytearray(PACKED)
        damaged[place] ^= 1
        assert_refused(bytes(damaged))


def test_spliced_and_random_bytes():
    rng = np.random.default_rng(1)
    for _ in range(700):
        start, stop = sorted(rng.integers(len(PACKED), size=2).tolist())
        assert_refused(PACKED[:start] + rng.bytes(stop - start + 1) + PACKED[stop:])
        assert_refused(rng.bytes(int(rng.integers(400))))


def test_random_headers_under_a_right_checksum():
    """What the checksum cannot tell: content made up by someone who can compute it."""
    rng = np.random.default_rng(2)
    length = int.from_bytes(PACKED[:8], "little")
    opening = PACKED.index(b'"kind"') - 8
    refused = 0
    tracemalloc.start()
    for _ in range(1500):
        header = bytearray(PACKED[8 : 8 + length])
        for place in rng.integers(opening, length, size=rng.integers(1, 4)):
            header[place] = rng.choice(list(b'0123456789"[]{},:-eEnf\\ $tuF'))
        try:
            files.unpack(seal(bytes(header), PACKED[8 + length :]), "example")
        except (DamagedFileError, NewerFormatError):
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_TIMES * len(PACKED) + ALLOWANCE
    # Some changes, such as another digit of a stored number, give other content that is as good.
    assert refused > 1000


TENSORS = {
    "huge shape": ',"a":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,16]}',
    "shape that overflows": ',"a":{"dtype":"F64","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}',
    "empty with huge sides": ',"a":{"dtype":"F64","shape":[0,4611686018427387904,8],"data_offsets":[0,0]}',
    "negative shape": ',"a":{"dtype":"F64","shape":[-2],"data_offsets":[0,16]}',
    "two negative sides": ',"a":{"dtype":"F64","shape":[-2,-1],"data_offsets":[0,16]}',
    "fraction in shape": ',"a":{"dtype":"F64","shape":[2.0],"data_offsets":[0,16]}',
    "truth in shape": ',"a":{"dtype":"F64","shape":[true,2],"data_offsets":[0,16]}',
    "text in shape": ',"a":{"dtype":"F64","shape":["2"],"data_offsets":[0,16]}',
    "NaN in shape": ',"a":{"dtype":"F64","shape":[NaN],"data_offsets":[0,16]}',
    "NaN in offsets": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,NaN]}',
    "many dimensions": f',"a":{{"dtype":"F64","shape":{json.dumps([1] * 100 + [2])},"data_offsets":[0,16]}}',
    "unknown type": ',"a":{"dtype":"F128","shape":[2],"data_offsets":[0,16]}',
    "type that is none": ',"a":{"dtype":["F64"],"shape":[2],"data_offsets":[0,16]}',
    "wrong type for the bytes": ',"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}',
    "truth values that are none": ',"a":{"dtype":"BOOL","shape":[16],"data_offsets":[0,16]}',
    "outside of the file": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[16,32]}',
    "offsets that overflow": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,18446744073709551632]}',
    "negative offsets": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[-16,0]}',
    "backward offsets": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[16,0]}',
    "one offset": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[16]}',
    "another entry": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16],"extra":1}',
    "no entry": ',"a":3',
    "overlap": ',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},'
    '"b":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}',
    "hole": ',"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}',
    "bytes left over": ',"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}',
    "one name twice": ',"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},'
    '"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}',
    "metadata twice": ',"__metadata__":{},"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}',
    "deep nesting": ',"a":' + "[" * 50_000 + "]" * 50_000,
    "endless digits": ',"a":{"dtype":"F64","shape":[' + "9" * 10_000 + '],"data_offsets":[0,16]}',
    "no JSON": ',"a"',
}


@pytest.mark.parametrize("tensors", TENSORS.values(), ids=TENSORS.keys())
def test_hostile_arrays(tensors):
    data = crafted(tensors, b"\x07" * 16, '{"a":{"$tensor":"a"}}')
    assert peak_memory(data) < MOST_TIMES * len(data) + ALLOWANCE


CONTENT = {
    "no JSON": "{",
    "nothing": "",
    "deep nesting": '{"a":' * 20_000 + "1" + "}" * 20_000,
    "somewhat deep nesting": "[" * 200 + "]" * 200,
    "one key twice": '{"a":1,"a":2}',
    "constant": "[NaN]",
    "unknown array": '{"a":{"$tensor":"b"}}',
    "one array twice": '{"a":{"$tensor":"a"},"b":{"$tensor":"a"}}',
    "array not used": "{}",
    "unknown mark": '[{"$tensor":"a"},{"$code":"print(1)"}]',
    "mark among keys": '[{"$tensor":"a"},{"b":1,"$tensor":"a"}]',
    "mark with another key": '[{"$tensor":"a","b":1}]',
    "number that is none": '[{"$tensor":"a"},{"$number":"0xzz"}]',
    "scalar without type": '[{"$tensor":"a"},{"$scalar":1}]',
    "scalar of unknown type": '[{"$tensor":"a"},{"$scalar":1,"type":"object"}]',
    "scalar too large": '[{"$tensor":"a"},{"$scalar":300,"type":"uint8"}]',
    "scalar NaN as whole number": '[{"$tensor":"a"},{"$scalar":{"$number":"nan"},"type":"int64"}]',
    "text too wide": '[{"$tensor":"a"},{"$text":["a","b"],"shape":[2],"width":1000000000}]',
    "text too narrow": '[{"$tensor":"a"},{"$text":["abc"],"shape":[1],"width":2}]',
    "text of another shape": '[{"$tensor":"a"},{"$text":["abc"],"shape":[2]}]',
    "text of negative shape": '[{"$tensor":"a"},{"$text":["abc"],"shape":[-1,-1]}]',
    "text that is none": '[{"$tensor":"a"},{"$text":[1],"shape":[1]}]',
    "one long text and many": '[{"$tensor":"a"},{"$text":["'
    + "x" * 5000
    + '"'
    + ',""' * 5000
    + '],"shape":[5001],"width":5000}]',
    "characters of another type": '{"a":{"$characters":"a"}}',
}


@pytest.mark.parametrize("tree", CONTENT.values(), ids=CONTENT.keys())
def test_hostile_content(tree):
    data = crafted(',"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}', bytes(16), tree)
    assert peak_memory(data) < MOST_TIMES * len(data) + ALLOWANCE


@pytest.mark.parametrize("length", [0, 1, 7, 2**16, 2**32, 2**63, 2**64 - 1])
def test_hostile_header_lengths(length):
    data = length.to_bytes(8, "little") + PACKED[8:]
    assert peak_memory(data) < MOST_TIMES * len(data) + ALLOWANCE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        seal(b"{}"),
        seal(b'{"__metadata__":{}}'),
        crafted(kind=3),
        crafted(kind="other"),
        crafted(more="text"),
        crafted(format="0x1"),
        seal(crafted()[8:].replace(b"robustream 0.1.0", b"robustream " + b"9" * 500)),
        seal(crafted()[8:].replace(b'"kind":"example"', b'"kind":"\xff\xfe"')),
        seal(crafted()[8:] + b"garbage"),
    ],
    ids=range(11),
)
def test_hostile_metadata(data):
    assert_refused(data)


def test_memory_of_a_header_full_of_small_things():
    """The costliest JSON for its size: empty lists. It is parsed only under a right checksum."""
    data = crafted(',"a":[' + "[]," * 100_000 + "[]]")
    assert peak_memory(data) < MOST_TIMES * len(data) + ALLOWANCE


def test_a_newer_format_says_what_is_needed(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(crafted(format="7", library="robustream 3.2.1", tree="something else altogether"))
    with pytest.raises(NewerFormatError, match=r"model\.safetensors.*format 7.*install robustream 3\.2\.1 or later"):
        files.read(path, "example")


def test_a_damaged_file_says_what_to_do(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(PACKED[:-1])
    with pytest.raises(DamagedFileError, match=r"model\.safetensors cannot be used: .*checksum.*make it again"):
        files.read(path, "example")


def test_a_large_foreign_file_is_not_read_into_memory(tmp_path):
    path = tmp_path / "foreign.bin"
    with path.open("wb") as file:
        file.truncate(10**9)
    tracemalloc.start()
    try:
        with pytest.raises(DamagedFileError, match="does not begin"):
            files.read(path, "example")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
