"""`robustream.fit`: any of the estimators over any source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from robustream.errors import BelowQuorumError, CheckpointError, InvalidInputError
from robustream.estimators._streaming import unchanged_on_error
from robustream.files import Tree
from robustream.fitting.driving import Moment, Watch, drive
from robustream.fitting.elsewhere import CutOff, drive_elsewhere, open_engine
from robustream.fitting.events import Callback
from robustream.fitting.history import History
from robustream.fitting.keeping import Keeper, resume_from, run_settings
from robustream.fitting.notes import make_notes
from robustream.fitting.opening import Opened, open_table
from robustream.fitting.progress import ProgressBar
from robustream.fitting.targets import Reading
from robustream.runs.cutting import rows_per_batch
from robustream.runs.online import Plan, require_quorum
from robustream.runs.outlying import examine_batch
from robustream.runs.workers import map_in_order
from robustream.sources.base import Source
from robustream.sources.lookahead import read_ahead

__all__ = ["fit"]

# Bytes from which on the start of worker processes, a few seconds, is soon made up for.
_LARGE = 500_000_000
# Beyond so many workers threads wait for one another more than they work.
_FEW_THREADS = 2


def fit(
    estimator: Any,
    source: Any,
    *,
    target: Any = None,
    columns: Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    missing: str = "skip",
    on_error: str = "skip",
    engine: Any = None,
    enough: float | None = None,
    deadline: float | None = None,
    quorum: float = 0.5,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: str | int = "30 s",
    resume: bool = False,
    tolerance: float | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = False,
    classes: Any = None,
    join_small_files: bool = False,
    header: bool = True,
    separator: str | None = None,
    decimal: str | None = None,
) -> Any:
    """Fit an estimator to data that need not fit into memory.

    Parameters
    ----------
    estimator : OutlierRobustPCA, OutlierRobustRegressor or OutlierRobust
        What it had learned before is forgotten.
    source : array, data frame, path, pattern, folder, list of paths, "-", iterable or Source
        Where the rows come from: an array or a pandas, Polars or Arrow table; files (Parquet, Arrow, Feather, CSV, also
        compressed, .npy); "-" for Arrow or CSV on standard input; an iterable of batches (arrays, pairs (X, y), data
        frames), or a function that returns one.
    target : str, list of str or array, default=None
        The column to predict, or several, by name; for arrays y itself.
    columns, exclude : list of str
        The columns to learn from, by default all but the target; those to leave out.
    missing : "skip", "skip-infinite" or "error", default="skip"
        Whether rows with missing cells are left out and counted, or make their batch fail; cells of CSV files that hold
        no number count as missing. A batch that loses more than
        half of its rows fails, and so does one with infinite cells unless "skip-infinite" leaves these rows out too.
    on_error : "skip" or "stop", default="skip"
        Whether a batch that cannot be used is counted, with the reason, or ends the run with FailedBatchError.
    engine : None, "local", "dask" or Engine, default=None
        Where batches are worked on: in this process (None), in processes of this machine ("local", and for large tables
        whenever `n_jobs` of the estimator asks for more than two), on a Dask cluster of this machine ("dask"), or on
        an engine such as `robustream.engines.DaskEngine("tcp://host:8786")`. The result has the same bits.
    enough, deadline : float, default=None
        On an engine, give up stragglers after this share of the partitions, or after so many seconds. What they held
        is listed as late, and `fold_in_late` takes it in afterwards.
    quorum : float, default=0.5
        Unless more than this share of the batches is usable, BelowQuorumError is raised; its `partial` is a model of
        what arrived, which `fold_in_late` can complete.
    checkpoint : path, default=None
        Where to write the state of the run, so that it can go on after being killed.
    checkpoint_every : str or int, default="30 s"
        How often: a time ("30 s", "5 min") or a number of batches.
    resume : bool, default=False
        Whether to go on from the checkpoint, if it exists. The result has the same bits as that of a run without
        interruption. A checkpoint of other data or settings raises CheckpointError.
    tolerance : float, default=None
        Stop as soon as the relative error of the answer is below this with 95% confidence, after 16
        usable batches at least.
    callbacks : list of callables
        Each is called with a `FitEvent` after each batch; one that returns True ends the run.
    progress : bool, default=False
        Whether to show a progress bar (on standard error, and in notebooks).
    classes : list, default=None
        All classes of a classifier's target; needed unless the target is an array.
    join_small_files : bool, default=False
        Whether files smaller than a batch are joined with their neighbours.
    header, separator, decimal : for CSV files
        Whether the first line names the columns; what is between fields and what before decimals, by default as the
        file suggests.

    Returns
    -------
    estimator : the same object, fitted. `fit_notes_` holds what the run noticed: missing cells by column, the worst
        rows, how the answer settled. On an engine `node_report_` says how each partition and worker fared.

    Examples
    --------
    >>> import numpy as np, robustream as rs
    >>> rng = np.random.default_rng(0)
    >>> def days():                                        # any iterable of batches will do
    ...     for day in range(30):
    ...         rows = rng.normal(size=(500, 3)) * [5.0, 1.0, 1.0]
    ...         yield rows[:, ::-1] * 100 if day < 10 else rows
    >>> model = rs.fit(rs.OutlierRobustPCA(1), days)
    >>> np.abs(model.components_).round(1)
    array([[1., 0., 0.]])
    >>> [record.index for record in model.batch_report_ if record.verdict == "rejected"]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    _check_options(on_error, quorum, checkpoint, resume, tolerance)
    cut_off = CutOff(enough, deadline)
    reading = Reading(target, columns, exclude, missing, classes, join_small_files, header, separator, decimal)
    opened = open_table(estimator, source, reading)
    with unchanged_on_error(estimator):
        estimator._begin(opened.layout, opened.names)
        plan = estimator._snapshot.plan
        batches = opened.in_batches(_batch_rows(plan, opened))
        settings = run_settings(
            estimator, {"missing": missing, "header": header, "separator": separator, "decimal": decimal}
        )
        moment = resume_from(checkpoint, settings, batches) if resume and checkpoint is not None else None
        if moment is None:
            moment = Moment(estimator._snapshot.stream, History())
        keeper = _keeper(checkpoint, checkpoint_every, settings, batches)
        with ExitStack() as stack:
            told = list(callbacks)
            if progress:
                told.append(stack.enter_context(ProgressBar(type(estimator).__name__)))
            watch = Watch(batches.count, told, tolerance, on_error == "stop", keeper)
            engine = _choose_engine(engine, plan, opened, cut_off)
            if engine is None:
                moment, nodes = _drive_here(estimator, plan, moment, batches, watch), None
            else:
                started = stack.enter_context(open_engine(engine, None if plan.workers == 1 else plan.workers))
                moment, nodes = drive_elsewhere(estimator, plan, moment, batches, watch, started, cut_off)
        if keeper is not None:
            keeper.write(moment)
        estimator._take(plan, moment.stream)
        estimator.node_report_ = nodes
        _require_quorum(estimator, quorum)
        shown = _shown_settings(reading, tolerance, batches)
        # Several threads for BLAS would wait for each other longer than the work takes.
        with threadpool_limits(1):
            estimator.fit_notes_ = make_notes(estimator, moment, opened.targets, shown)
    return estimator


def _require_quorum(estimator: Any, quorum: float) -> None:
    """Raise below the quorum, with a copy of the model as it stands: the estimator itself stays as it was before."""
    try:
        require_quorum(estimator._snapshot.stream, quorum)
    except BelowQuorumError as error:
        raise BelowQuorumError(str(error), copy(estimator)) from None


def _choose_engine(engine: Any, plan: Plan, opened: Opened, cut_off: CutOff) -> Any:
    """Give the engine, or None for this process.

    Several workers are processes where the table is large. A small one is read before processes have started; and two
    threads are as quick as two processes, at half the memory (10,000,000 x 100: 484 MB against 1,000).
    """
    if engine is not None:
        return engine
    if cut_off != CutOff():
        raise InvalidInputError("enough and deadline need an engine: within one process there are no stragglers")
    large = opened.rows is not None and opened.rows * opened.row_bytes >= _LARGE
    return "local" if plan.workers > _FEW_THREADS and large else None


def _drive_here(model: Any, plan: Plan, moment: Moment, source: Source, watch: Watch) -> Moment:
    """Drive a run in this process: one thread reads ahead, the others estimate."""
    batches = read_ahead(source.batches(moment.stream.next_index), 2 * plan.workers)
    examine = partial(examine_batch, plan.learner, plan.seed)
    # One thread for BLAS, however many workers there are: then the bits do not depend on their number.
    with threadpool_limits(1):
        examined = map_in_order(examine, batches, plan.workers)
        try:
            return drive(model, plan, moment, examined, watch)
        finally:
            examined.close()  # type: ignore[attr-defined]
            batches.close()  # type: ignore[attr-defined]


def _batch_rows(plan: Plan, opened: Opened) -> int:
    minimum = plan.learner.minimum_rows(opened.layout.columns)
    return rows_per_batch(opened.rows, minimum, plan.batch_size, opened.row_bytes)


def _keeper(path: str | os.PathLike[str] | None, every: str | int, settings: Tree, source: Source) -> Keeper | None:
    return None if path is None else Keeper(path, every, settings, source.fingerprint())


def _check_options(
    on_error: str, quorum: float, checkpoint: str | os.PathLike[str] | None, resume: bool, tolerance: float | None
) -> None:
    if on_error not in ("skip", "stop"):
        raise InvalidInputError(f"on_error must be 'skip' or 'stop', got {on_error!r}")
    if not 0 <= quorum < 1:
        raise InvalidInputError(f"quorum must be a share, at least 0 and below 1, got {quorum!r}")
    if tolerance is not None and not 0 < tolerance < 1:
        raise InvalidInputError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if resume and checkpoint is None:
        raise InvalidInputError("resume needs checkpoint=, the file to go on from")
    if checkpoint is not None and not resume and os.path.exists(checkpoint):
        raise CheckpointError(
            f"{os.fspath(checkpoint)} exists already: go on from it with resume=True, or remove it to start again"
        )


def _shown_settings(reading: Reading, tolerance: float | None, source: Source) -> dict[str, Tree]:
    shown: dict[str, Tree] = {"missing cells": reading.missing, "batches in the source": source.count}
    if tolerance is not None:
        shown["tolerance"] = tolerance
    return shown
