"""What a finished run has to say besides its model: plain data for the report and for the model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustream.estimators import OutlierRobust, OutlierRobustPCA
from robustream.files import Tree
from robustream.fitting.driving import Moment
from robustream.fitting.history import cells_by_column, total_dropped
from robustream.runs.outlying import OutlyingRow

__all__ = ["make_notes"]

_WORST_SHOWN = 50


def make_notes(model: Any, moment: Moment, targets: tuple[str, ...], settings: dict[str, Tree]) -> dict[str, Tree]:
    """Gather them; nothing here depends on the clock, so that the same run always says the same."""
    return {
        "targets": list(targets),
        "history": [[look.batches, look.error_bound, look.rows] for look in moment.history.looks],
        "worst_rows": _worst_rows(model, moment),
        "missing": cells_by_column(moment.history.counts),
        "unreadable": cells_by_column(moment.history.counts, ("unreadable",)),
        "unreadable_lines": int(moment.history.counts.get("unreadable lines", 0)),
        "rows_dropped": total_dropped(moment.history.counts),
        "ended": moment.ended,
        "settings": settings,
    }


def _worst_rows(model: Any, moment: Moment) -> list[Tree]:
    """Measure the rows that batches named by the final model, but for those of batches that are not believed.

    A batch names the rows that fit worst to its own answer: in one that is garbage, these may well be its good ones.
    """
    believed = {record.index for record in model.batch_report_ if record.verdict == "kept"}
    rows = [row for row in moment.history.outlying if row.index in believed]
    if not rows or isinstance(model, OutlierRobust):
        return []
    from robustream.sources.tables.frames import frame_of_rows  # pyarrow comes with the first files

    X = frame_of_rows(np.stack([row.x for row in rows]), getattr(model, "feature_names_in_", None))
    if isinstance(model, OutlierRobustPCA):
        scores = model.outlier_scores(X)
    else:
        scores = model.outlier_scores(X, np.stack([row.y for row in rows if row.y is not None]))
    order = np.argsort(-scores, kind="stable")[:_WORST_SHOWN]
    return [[rows[place].label, _row_in_file(rows[place]), float(scores[place])] for place in order]


def _row_in_file(row: OutlyingRow) -> int:
    """Give the number of a row in its file if the label says where the batch begins, else in its batch."""
    first = row.label.rpartition("#")[2].partition("-")[0]
    return row.row + (int(first) if first.isdigit() else 0)
