"""What flows between the pieces: batches of rows in, estimates out, and a record of each for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.spaces import Point

__all__ = [
    "BAD_CELLS",
    "BLANKED",
    "BLANKED_DIFFER",
    "CAPPED",
    "GROUP",
    "LEFT_OUT",
    "LOST",
    "LOST_DIFFER",
    "Batch",
    "BatchRecord",
    "Estimate",
    "Illegible",
    "RowGroup",
    "Verdict",
]

Verdict = Literal["kept", "rejected", "failed", "late"]

# How a statistic of an estimate begins that counts rows which its learner left out; the reason follows.
LEFT_OUT = "rows left out: "
# The statistic that counts single cells which its learner took as missing.
BAD_CELLS = "bad cells"
# The statistic that counts rows whose weight was more than a row may count for (`robustream.weights`).
CAPPED = "weights capped"


# How statistics of an estimate begin that describe a group of rows which its learner found: what, and the reason.
GROUP = "group: "


class RowGroup(NamedTuple):
    """Rows of a batch that stand apart from the others for one reason, whether they were left out or not."""

    reason: str
    rows: int
    distance: float  # from the believed rows, in their spreads; NaN where it says nothing
    where: tuple[tuple[int, float], ...] = ()  # columns (targets follow) in which it differs most, and its mean there
    examples: tuple[int, ...] = ()  # a few rows of it, as places in the batch

    def to_stats(self) -> dict[str, float]:
        """Return it as statistics of an estimate."""
        facts: dict[str, float] = {"rows": float(self.rows), "distance": self.distance}
        facts |= {f"column {column}": mean for column, mean in self.where}
        facts |= {f"row {number}": float(row) for number, row in enumerate(self.examples)}
        return {f"{GROUP}{name}: {self.reason}": value for name, value in facts.items() if np.isfinite(value)}

    @classmethod
    def all_from(cls, stats: Mapping[str, float]) -> tuple[RowGroup, ...]:
        """Return the groups that statistics of an estimate describe, the largest first."""
        found: dict[str, dict[str, float]] = {}
        for name, value in stats.items():
            if name.startswith(GROUP):
                what, _, reason = name[len(GROUP) :].partition(": ")
                found.setdefault(reason, {})[what] = value
        groups = [
            cls(
                reason,
                int(facts.get("rows", 0)),
                facts.get("distance", float("nan")),
                tuple((int(name[7:]), mean) for name, mean in facts.items() if name.startswith("column ")),
                tuple(int(row) for name, row in facts.items() if name.startswith("row ")),
            )
            for reason, facts in found.items()
        ]
        return tuple(sorted(groups, key=lambda group: -group.rows))


# How the statistics begin that tell of rows of a file which were dropped for their cells: how many, and in how many
# standard errors they differ from the kept ones. The file follows, and after a line break an example, or the column.
LOST, LOST_DIFFER = "rows lost: ", "lost rows differ: "
# The same of rows that were used, but without cells that hold no number.
BLANKED, BLANKED_DIFFER = "rows blanked: ", "blanked rows differ: "


class Illegible(NamedTuple):
    """Cells of a column that hold no number, or whole lines that are no row: how many, and the first of them."""

    column: str | None  # None for lines
    number: int
    row: int  # the place of the first among the rows that came
    reason: str  # what is wrong with it


class Batch(NamedTuple):
    """Rows that are judged together: they stand or fall as one.

    `index` is the batch's place in the stream. What is random about a batch is seeded by its rows, so that a result
    does not depend on who works on it, or when.
    """

    index: int  # type: ignore[assignment]
    label: str
    X: NDArray[Any]
    y: NDArray[Any] | None = None
    failure: str | None = None  # why the rows could not be had; X is empty then
    stats: Mapping[str, float] = {}  # what a source noticed on the way, such as rows dropped for missing cells
    kept: NDArray[np.bool_] | None = None  # which of the rows that came are in X, where some were dropped
    illegible: tuple[Illegible, ...] = ()  # cells and lines that were taken for missing
    columns: Any = None  # an Arrow table of columns that come along with the rows, if any were asked for
    lost: Mapping[str, float] = {}  # what is told of rows of a file that were dropped, by LOST, BLANKED and so on
    weights: NDArray[Any] | None = None  # how often each row counts; None where each counts once

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def place_of(self, row: int) -> int:
        """Return the place that a row of X had among all rows that came."""
        return row if self.kept is None else int(np.flatnonzero(self.kept)[row])

    def counted(self) -> Batch:
        """Return the batch without the rows of weight 0: these are not there."""
        if self.weights is None or bool((there := self.weights > 0).all()):
            return self
        kept = np.ones(self.rows, bool) if self.kept is None else self.kept.copy()
        kept[np.flatnonzero(kept)] = there
        y = None if self.y is None else self.y[there]
        return self._replace(X=self.X[there], y=y, kept=kept, weights=self.weights[there])

    @classmethod
    def unreadable(cls, index: int, label: str, reason: str, stats: Mapping[str, float] | None = None) -> Batch:
        """Return the batch that stands for rows which could not be had: it counts as failed, with the reason."""
        return cls(index, label, np.empty((0, 0)), None, reason, stats or {})


class Estimate(NamedTuple):
    """What a learner made of one batch: a point of its space, or the reason why there is none.

    `rows` may come from another machine and is a claim; `weight`, in (0, 1], is given by whoever drives the
    run (below 1 for a batch that is still incomplete) and is the only number that aggregators weigh with.
    Moments count by their rows, or by what these weigh together, as far as such claims are believed.
    """

    index: int  # type: ignore[assignment]
    label: str
    rows: int
    point: Point | None
    failure: str | None = None
    weight: float = 1.0
    stats: Mapping[str, float] = {}
    total_weight: float | None = None  # what its rows count for together, where they have weights

    @property
    def left_out(self) -> dict[str, int]:
        """The rows of the batch that its learner left out, by reason."""
        return {name[len(LEFT_OUT) :]: int(rows) for name, rows in self.stats.items() if name.startswith(LEFT_OUT)}


class BatchRecord(NamedTuple):
    """One line of `batch_report_`: what became of a batch, and of the rows in it, as of now."""

    index: int  # type: ignore[assignment]
    label: str
    rows: int
    verdict: Verdict
    weight: float
    distance: float
    reason: str
    left_out: int = 0  # rows that the learner left out of the batch's estimate
    left_out_reason: str = ""
    groups: tuple[RowGroup, ...] = ()  # of rows that stand apart within the batch
    total_weight: float | None = None  # what its rows count for together, where they have weights
    capped: int = 0  # rows whose weight was more than a row may count for


def describe_failure(error: Exception) -> str:
    """Return in one line why no estimate came from a batch."""
    if isinstance(error, OverflowError) and isinstance(error.args[0] if error.args else None, int):
        # Of Python's own numbers, which say no more than the error number of the system.
        return f"{type(error).__name__}: its values are so large that their products are not finite"
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
    return f"{type(error).__name__}: {first_line}"


def all_finite(point: Point) -> bool:
    """Return whether every array of a point that is present is finite."""
    return all(part is None or bool(np.isfinite(part).all()) for part in point)
