"""Which of many points, or rows of a table, belong to the majority, and how far."""

from robustream.majority.columns import APART, row_states
from robustream.majority.gaps import conditional, covariance_with_gaps, open_variance
from robustream.majority.laws import SIGMAS
from robustream.majority.line import Line, majority_line
from robustream.majority.points import HALF_OF_ROWS, Group, Majority, Rule, bad_cells, majority, moments
from robustream.majority.slices import are_slices, tile
from robustream.majority.stretches import bad_stretches

__all__ = [
    "APART",
    "HALF_OF_ROWS",
    "SIGMAS",
    "Group",
    "Line",
    "Majority",
    "Rule",
    "are_slices",
    "bad_cells",
    "bad_stretches",
    "conditional",
    "covariance_with_gaps",
    "majority",
    "majority_line",
    "moments",
    "open_variance",
    "row_states",
    "tile",
]
