"""Which of many points, or rows of a table, belong to the majority, and how far."""

from robustream.majority.columns import mend
from robustream.majority.line import Line, majority_line
from robustream.majority.points import Group, Majority, majority, moments

__all__ = ["Group", "Line", "Majority", "majority", "majority_line", "mend", "moments"]
