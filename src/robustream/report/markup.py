"""Writing HTML so that text can never become markup: whatever is not `Markup` already is escaped."""

from __future__ import annotations

import html
import json
from typing import Any

__all__ = ["Markup", "element", "embed_json", "join"]

_VOID = {"meta", "link", "br", "hr", "img", "input", "col"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """Give a value as HTML.

    >>> escape("<b>")
    '&lt;b&gt;'
    """
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def join(*children: object) -> Markup:
    """Put pieces after one another; None stands for nothing."""
    return Markup("".join(escape(child) for child in children if child is not None))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """Write an element; in attribute names '_' stands for '-' and a last '_' is dropped.

    >>> element("p", "a < b", class_="note", hidden=True, title=None)
    '<p class="note" hidden>a &lt; b</p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def embed_json(value: Any, name: str) -> Markup:
    """Put data into the page; no text in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(name)}">{text}</script>')


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
