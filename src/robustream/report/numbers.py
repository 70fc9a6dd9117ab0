"""Numbers as people read them, in characters that any terminal has."""

from __future__ import annotations

import math

__all__ = ["show_count", "show_number", "show_seconds", "show_share"]

UNKNOWN = "-"


def show_count(count: int) -> str:
    """Return a whole number with separators.

    >>> show_count(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def show_number(value: float | str) -> str:
    """Return a number with four significant digits; a dash if it is unknown, and words as they are.

    >>> show_number(0.000123456), show_number(12345.678), show_number(float("nan"))
    ('0.0001235', '12,350', '-')
    """
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return str(value)
    rounded = float(f"{value:.4g}")
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.4g}"


def show_share(share: float) -> str:
    """Return a share as a percentage.

    >>> show_share(0.1234), show_share(0.0004)
    ('12.3%', '0.04%')
    """
    if math.isnan(share):
        return UNKNOWN
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{100 * share:.1g}%"


def show_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> show_seconds(0.0042), show_seconds(0.8), show_seconds(75), show_seconds(7260)
    ('4.2 ms', '800 ms', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 1:
        milliseconds = 1000 * seconds
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
