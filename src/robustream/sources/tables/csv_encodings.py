"""Text that says in no way how it is encoded: UTF-8, or else what Windows wrote in Western Europe for decades."""

from __future__ import annotations

__all__ = ["as_utf_8"]

_OTHERWISE = "cp1252"


def as_utf_8(lines: bytes) -> bytes:
    """Give lines in UTF-8; each line by itself, since files are glued together from several.

    >>> as_utf_8("größe\\n".encode("cp1252") + "größe".encode()).decode()
    'größe\\ngröße'
    """
    if _is_utf_8(lines):
        return lines
    return b"\n".join(
        line if _is_utf_8(line) else line.decode(_OTHERWISE, "replace").encode() for line in lines.split(b"\n")
    )


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
