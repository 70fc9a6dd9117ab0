"""All that a report shows, as plain values: drawing it needs neither the model nor the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from robustream.batch import BatchRecord, Verdict
from robustream.spaces import Array

__all__ = ["VERDICTS", "Coefficients", "Components", "Kind", "Moment", "ReportData", "WorstRow", "verdict_counts"]

Kind = Literal["pca", "regression", "other"]

VERDICTS: tuple[Verdict, ...] = ("kept", "rejected", "failed", "late")


class Components(NamedTuple):
    """What a PCA learned."""

    components: Array  # components x columns
    explained_variance: Array
    ratio: Array
    mean: Array


class Coefficients(NamedTuple):
    """What a linear model learned; all tables are outputs x columns, NaN where nothing is known."""

    coef: Array
    stderr: Array
    low: Array
    high: Array
    p_value: Array
    intercept: Array
    scale: Array
    targets: tuple[str, ...]


class WorstRow(NamedTuple):
    """A row far from the model: where it is, and its outlier score."""

    label: str
    row: int
    score: float


class Moment(NamedTuple):
    """How good the estimate was after some batches: its relative error, or its distance to the final one."""

    batches: int
    error: float
    rows: int


class ReportData(NamedTuple):
    """One report."""

    title: str
    kind: Kind
    features: tuple[str, ...]
    rows_seen: int
    batches_seen: int
    batches: tuple[BatchRecord, ...]
    outcome: str = ""
    components: Components | None = None
    coefficients: Coefficients | None = None
    worst_rows: tuple[WorstRow, ...] = ()
    convergence: tuple[Moment, ...] = ()
    missing: Mapping[str, int] = {}  # cells by column
    unreadable: Mapping[str, int] = {}  # cells by column that hold no number
    unreadable_lines: int = 0  # lines with too few or too many fields
    settings: Mapping[str, Any] = {}
    timings: Mapping[str, float] = {}
    environment: Mapping[str, Any] = {}


def verdict_counts(data: ReportData) -> dict[Verdict, int]:
    """Count the batches of each verdict; kept ones that a long run no longer lists are counted too."""
    listed = Counter(record.verdict for record in data.batches)
    unlisted = max(0, data.batches_seen - len(data.batches))
    return {verdict: listed[verdict] + (unlisted if verdict == "kept" else 0) for verdict in VERDICTS}
