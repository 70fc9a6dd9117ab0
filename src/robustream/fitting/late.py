"""Partitions that were late or failed, taken in afterwards."""

from __future__ import annotations

from typing import Any

from robustream.engines import InProcessEngine
from robustream.errors import InvalidInputError
from robustream.estimators._streaming import unchanged_on_error
from robustream.fitting.elsewhere import open_engine
from robustream.runs.distributed import Gathered, gather_missing

__all__ = ["fold_in_late"]


def fold_in_late(model: Any, engine: Any = None) -> Any:
    """Try the partitions once more that were late or failed in `robustream.fit`, and take in what comes.

    Parameters
    ----------
    model : an estimator that `robustream.fit` fitted on an engine.
    engine : None, "local", "dask" or Engine, default=None
        Where to read and learn from them; None is this process.

    Returns
    -------
    model : the same object; `batch_report_` and `node_report_` say what has changed.
    """
    report = getattr(model, "node_report_", None)
    if report is None:
        raise InvalidInputError("fold_in_late is for a model that robustream.fit fitted on an engine")
    snapshot = model._run()
    with unchanged_on_error(model), open_engine(InProcessEngine() if engine is None else engine, None) as started:
        gathered = gather_missing(snapshot.plan, Gathered(snapshot.stream, report), started, quorum=0.0)
        model._take(snapshot.plan, gathered.stream)
        model.node_report_ = gathered.report
    return model
