"""`robustream.fit`: any of the estimators over any source."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from typing import Any

from robustream.errors import BelowQuorumError, CheckpointError, FewRowsWarning, InvalidInputError, ReadOnceWarning
from robustream.files import Tree, claim, exists
from robustream.files.addresses import shown
from robustream.kernels.threads import one_blas_thread
from robustream.runs.batching import rows_per_batch
from robustream.runs.checkpoints import CheckpointWriter, resume_from
from robustream.runs.distributed import CutOff, drive_elsewhere, open_engine
from robustream.runs.groups import warn_of_groups
from robustream.runs.loop import RunOptions, drive_here
from robustream.runs.notes import History, make_notes, say_lost
from robustream.runs.progress import Callback, ProgressBar
from robustream.runs.resolve import ReadOptions, ResolvedSource, resolve_source
from robustream.runs.run import Plan, Run, unchanged_on_error
from robustream.sources.base import Partition, Source

__all__ = ["fit"]

# Bytes from which on the start of worker processes, a few seconds, is soon made up for.
_LARGE = 500_000_000
# Beyond so many workers threads wait for one another more than they work.
_FEW_THREADS = 2
# Batches of numbered rows have at most 3/2 of the rows wanted; those of a CSV file, which is cut by bytes, have more
# where its later lines are shorter than the first ones, down to one digit for each cell.
_MOST_OF_WANTED = 16


def fit(
    estimator: Any,
    source: Any,
    *,
    target: Any = None,
    columns: Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    missing: str = "use",
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
    categorical: str | Sequence[str] = (),
    categories: Mapping[str, Sequence[Any]] | None = None,
    dates: str | Sequence[str] = (),
    formula: str | None = None,
    numeric_only: bool = False,
    max_batch_bytes: int | None = None,
    max_line_bytes: int | None = None,
    weight: Any = None,
) -> Any:
    """Fit an estimator to data that need not fit into memory.

    Parameters
    ----------
    estimator : OutlierRobustPCA, OutlierRobustRegressor, OutlierRobustCovariance or OutlierRobust
        What it had learned before is forgotten.
    source : array, sparse matrix, data frame, path, pattern, folder, list of paths, "-", iterable or Source
        Where the rows come from: an array, a sparse matrix of SciPy or a pandas, Polars or Arrow table; files (Parquet,
        Arrow, Feather, CSV, also compressed, .npy); "-" for Arrow or CSV on standard input; an iterable of batches
        (arrays, pairs (X, y), data frames), or a function that returns one.
    target : str, list of str or array, default=None
        The column to predict, or several, by name; for arrays y itself.
    columns, exclude : list of str
        The columns to learn from, by default all but the target; those to leave out.
    missing : "use", "skip", "skip-infinite" or "error", default="use"
        Whether rows with missing cells are used with the cells that they have, left out and counted, or make their
        batch fail; cells of CSV files that hold no number count as missing. Only the refined learner can use them; with
        others "use" is the same as "skip". Rows whose target is missing are left out. A batch that loses more than
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
        Whether files smaller than a batch are joined with their neighbours; more than 5,000 of them always are.
    header, separator, decimal : for CSV files
        Whether the first line names the columns; what is between fields and what before decimals, by default as the
        file suggests.
    categorical : list of str
        Columns whose levels become columns of 0 and 1, the same in every batch. The levels are learned in a quick pass
        over these columns; rare ones are "other" together.
    categories : dict of lists, default=None
        The same for columns whose levels are named: `{"city": ["Paris", "Rome"]}`. All others are "other".
    dates : list of str
        Columns of dates that become numbers: days since 1970.
    formula : str, default=None
        Target and columns in one: `"price ~ size + log(age) + C(city)"` (needs the package formulaic).
    numeric_only : bool, default=False
        Whether columns that hold no numbers are left out, and named in `fit_notes_`, in place of an error.
    max_batch_bytes, max_line_bytes : int, default=None
        The most that a batch of a file may take while it is read, by default 1 GB, and the longest line of text, by
        default 16 MB; what needs more is a failed batch.
    weight : str or array, default=None
        How often each row counts: the name of a column, which is then not learned from, or for arrays the weights
        themselves; items of an iterable may be triples (X, y, weights). A weight never says how far a row is believed,
        and is capped: see `docs/weights.md`. Rows of tables whose weight is missing, negative or infinite are left out
        and counted; those of weight 0 are not there.

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
    if missing == "use" and not getattr(estimator, "takes_gaps", False):
        missing = "skip"
    reading = ReadOptions(
        target,
        columns,
        exclude,
        missing,
        classes,
        join_small_files,
        header,
        separator,
        decimal,
        categorical,
        categories,
        dates,
        formula,
        numeric_only,
        max_batch_bytes,
        max_line_bytes,
        weight,
    )
    # A second run that would write the same checkpoint is refused before it reads anything.
    with claim(checkpoint):
        _require_new(checkpoint, resume)
        resolved = resolve_source(estimator, source, reading)
        with unchanged_on_error(estimator):
            run: Run = estimator.begin_run(resolved.layout, resolved.names, resolved.encoding)
            estimator.require_weights(run.plan, weight is not None)
            wanted = _batch_rows(run.plan, resolved)
            batches = resolved.in_batches(wanted)
            read = {"missing": missing, "header": header, "separator": separator, "decimal": decimal}
            if weight is not None:
                read["weight"] = weight if isinstance(weight, str) else "an array"
            settings = {**estimator.run_settings(), "reading": read}
            if resume and checkpoint is not None:
                run = resume_from(checkpoint, run, settings, batches.fingerprint()) or run
            writer = None
            if checkpoint is not None:
                if batches.read_once:
                    _warn_of_one_reading(source, checkpoint)
                writer = CheckpointWriter(checkpoint, checkpoint_every, settings, batches.fingerprint())
            with ExitStack() as stack:
                told = list(callbacks)
                if progress:
                    told.append(stack.enter_context(ProgressBar(type(estimator).__name__)))
                options = RunOptions(estimator, batches.count, told, tolerance, on_error == "stop", writer)
                engine = _choose_engine(engine, run.plan, resolved, cut_off)
                if engine is None:
                    run = drive_here(run, batches, options)
                else:
                    workers = run.plan.workers
                    started = stack.enter_context(open_engine(engine, None if workers == 1 else workers))
                    most = None if resolved.rows is None else _MOST_OF_WANTED * wanted
                    run = drive_elsewhere(run, _partitions(batches), started, options, cut_off, most_rows=most)
            if writer is not None:
                writer.write(run)
            estimator.run_ = run
            _require_quorum(estimator, quorum)
            run.require_columns()
            estimator.require_rows(run.plan, run.layout.columns, run.rows_seen)
            shown = _shown_settings(reading, tolerance, batches)
            # Several threads for BLAS would wait for each other longer than the work takes.
            with one_blas_thread():
                notes = make_notes(estimator, resolved.targets, shown, resolved.unseen)
            if said := [*say_lost(run.history.counts, estimator.batch_report_), *resolved.notes()]:
                notes["files"] = said
            # Rows that were kept as the worst candidates have done their work.
            estimator.run_ = replace(run, notes=notes, history=History())
    if said := estimator.say_few_rows():
        warnings.warn(said, FewRowsWarning, stacklevel=2)
    warn_of_groups(estimator.batch_report_, estimator.groups_)
    return estimator


def _require_quorum(estimator: Any, quorum: float) -> None:
    """Raise below the quorum, with a copy of the model as it stands: the estimator itself stays as it was before."""
    try:
        estimator.run_.require_quorum(quorum)
    except BelowQuorumError as error:
        raise BelowQuorumError(str(error), copy(estimator)) from None


def _partitions(source: Source) -> Sequence[Partition]:
    partitions = source.partitions()
    if partitions is None:
        raise InvalidInputError(
            "only this process can read that source (an iterable, a pipe): leave engine out, or give files or arrays"
        )
    return partitions


def _choose_engine(engine: Any, plan: Plan, resolved: ResolvedSource, cut_off: CutOff) -> Any:
    """Return the engine, or None for this process.

    Several workers are processes where the table is large. A small one is read before processes have started; and two
    threads are as quick as two processes, at half the memory (10,000,000 x 100: 484 MB against 1,000).
    """
    if engine is not None:
        return engine
    if cut_off != CutOff():
        raise InvalidInputError("enough and deadline need an engine: within one process there are no stragglers")
    large = resolved.rows is not None and resolved.rows * resolved.row_bytes >= _LARGE
    return "local" if plan.workers > _FEW_THREADS and large else None


def _batch_rows(plan: Plan, resolved: ResolvedSource) -> int:
    minimum = plan.learner.minimum_rows(resolved.layout.columns)
    return rows_per_batch(resolved.rows, minimum, plan.batch_size, resolved.row_bytes)


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


def _warn_of_one_reading(source: Any, checkpoint: str | os.PathLike[str]) -> None:
    warnings.warn(
        f"{type(source).__name__} can be read only once: to go on from the checkpoint {shown(checkpoint)}, give a new "
        "one with the same rows from the first on. That they are the same is not checked",
        ReadOnceWarning,
        stacklevel=3,
    )


def _require_new(checkpoint: str | os.PathLike[str] | None, resume: bool) -> None:
    if checkpoint is not None and not resume and exists(checkpoint):
        raise CheckpointError(
            f"{shown(checkpoint)} exists already: go on from it with resume=True, or remove it to start again",
            "resume",
        )


def _shown_settings(reading: ReadOptions, tolerance: float | None, source: Source) -> dict[str, Tree]:
    shown: dict[str, Tree] = {"missing cells": reading.missing, "batches in the source": source.count}
    if tolerance is not None:
        shown["tolerance"] = tolerance
    if reading.weight is not None:
        shown["weights of rows"] = reading.weight if isinstance(reading.weight, str) else "an array"
    return shown
