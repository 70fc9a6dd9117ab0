"""What was left out because it was not there, or could not be read."""

from __future__ import annotations

from robustream.report.data import ReportData
from robustream.report.numbers import show_count

__all__ = ["lacking_cells", "say_unreadable_lines"]


def lacking_cells(data: ReportData) -> list[tuple[str, int, int]]:
    """Give each column with the cells that are missing and those that hold no number, the worst column first."""
    counts = {
        name: (data.missing.get(name, 0), data.unreadable.get(name, 0)) for name in {**data.missing, **data.unreadable}
    }
    found = [(name, missing, unreadable) for name, (missing, unreadable) in counts.items() if missing + unreadable]
    return sorted(found, key=lambda entry: -entry[1] - entry[2])


def say_unreadable_lines(data: ReportData) -> str | None:
    """Say how many lines of CSV files were left out; None if there are none."""
    if not data.unreadable_lines:
        return None
    lines = "1 line has" if data.unreadable_lines == 1 else f"{show_count(data.unreadable_lines)} lines have"
    return f"{lines} too few or too many fields."
