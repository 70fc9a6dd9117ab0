"""Which cells make a row an outlier, what was expected in their place, and how sure it is that the row is one.

**Reasons.** Under the model's mean and covariance a row has the squared distance z'Pz, P being the inverse. If cell j
is taken as missing, its expected value given the others is z_j - (Pz)_j / P_jj, and the distance falls by
(Pz)_j^2 / P_jj: the cell with the largest fall is the first reason. Further ones are found given that those before are
missing, until what is left is ordinary. The share of a reason is its fall over the whole squared distance.

In a regression the row is that of columns and targets together, so that a bad target and a bad cell of x are told
apart, but what makes it an outlier is its residual: a cell is a reason if the squared residual, in units of what is not
known of it, falls by half once the cell is missing, and its share is what that falls by. A rare level of a category, or
good leverage, is far out in x and no reason.

**P values.** The share of the believed rows that lie as far out (`learners.calibration`): no law is assumed, but for
how their tail goes on beyond the farthest. With a false-discovery rate rows are called outliers by Benjamini and
Hochberg's rule.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from robustream.errors import InvalidInputError, NotEnoughRowsError
from robustream.estimators._device import as_numbers, take_rows
from robustream.estimators._summary import target_names
from robustream.kernels.device_arrays import host_array
from robustream.learners.calibration import tail_shares
from robustream.spaces import Array

__all__ = ["Reasons", "ReasonsMixin", "RowModel", "find_reasons"]

# The share of ordinary rows that lie beyond what counts as ordinary once reasons are taken out.
_RATE = 0.01
_MOST_REASONS = 3
# In a regression, the part of its squared residual that a row loses with a cell that is a reason.
_TELLING = 0.5
# What is left of a squared distance below this part of it is rounding.
_DIGITS = 1e-12
# Numbers worked on at a time (32 MB).
_AT_ONCE = 4_000_000


class Reasons(NamedTuple):
    """Cells that make rows outliers, row by row, the first reason first; each field has an entry for each cell."""

    row: NDArray[np.int64]
    column: NDArray[Any]  # names
    value: Array
    expected: Array
    share: Array  # of the squared distance of the row that the cell accounts for
    score: Array  # of the row

    def first(self) -> Reasons:
        """Return the first reason of each row alone."""
        kept = np.append(True, self.row[1:] != self.row[:-1]) if len(self.row) else np.zeros(0, bool)
        return Reasons(*(field[kept] for field in self))

    def in_words(self) -> dict[int, str]:
        """Return the reasons of each row as text."""
        said: dict[int, list[str]] = {}
        for row, column, value, expected, share, _ in zip(*self, strict=True):
            said.setdefault(int(row), []).append(f"{column} is {value:.4g}, expected {expected:.4g} ({share:.0%})")
        return {row: "; ".join(cells) for row, cells in said.items()}

    def to_frame(self) -> Any:
        """Return a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self._asdict())


class RowModel(NamedTuple):
    """What rows are measured by: the centre and the inverse covariance of their cells, and the names of these."""

    center: Array
    precision: Array
    names: tuple[str, ...]
    given: int = 0  # cells at the beginning of which nothing is known: they are no reasons
    targets: int = 0  # cells at the end that the others predict: a row is an outlier by their residuals


class ReasonsMixin:
    """For estimators that hold a run and score rows: `explain`, `outlier_pvalues` and `is_outlier` by a rate."""

    # What the estimators have.
    cutoff_: Any
    outlier_scores: Any
    _held_run: Any

    @abstractmethod
    def _row_model(self) -> RowModel:
        """Return what rows, with their targets, are measured by."""

    def explain(self, X: Any, y: Any = None, *, most: int = _MOST_REASONS) -> Any:
        """Return, for each outlying row, the cells that make it one, with the value expected in their place.

        At most `most` cells of a row are named. A `Reasons`, or a data frame where X is one of pandas; `find_reasons`
        gives the former for both, with the reasons as text: `find_reasons(X).in_words()`.
        """
        reasons = self.find_reasons(X, y, most=most)
        return reasons.to_frame() if type(X).__module__.partition(".")[0] == "pandas" else reasons

    def find_reasons(
        self, X: Any, y: Any = None, *, most: int = _MOST_REASONS, targets: Sequence[str] | None = None
    ) -> Reasons:
        """Return what `explain` does as a `Reasons`, whatever X is; `targets` are names for the columns of y."""
        if type(most) is not int or most < 1:
            raise InvalidInputError(f"most must be a whole number of at least 1, got {most!r}")
        beside = () if y is None else (y,)
        scores = np.asarray(host_array(self.outlier_scores(X, *beside)), dtype=np.float64)
        out = np.flatnonzero(scores > self.cutoff_)
        rows = [host_array(take_rows(self, X, reset=False)), *(as_numbers(table) for table in beside)]
        cells = [np.asarray(table, dtype=np.float64).reshape(len(scores), -1)[out] for table in rows]
        model = self._row_model()
        if targets is not None and model.targets:
            named = target_names(targets, model.targets)
            model = model._replace(names=(*model.names[: -model.targets], *named))
        found = find_reasons(model, np.concatenate(cells, axis=1), most)
        return found._replace(row=out[found.row], score=scores[out[found.row]])

    def outlier_pvalues(self, X: Any, y: Any = None) -> Array:
        """Return the share of believed rows that lie as far out as each row: a p value for rows like those.

        It is calibrated on the rows that were learned from and are believed. Beyond the farthest of them their tail
        goes on as a power of the score.
        """
        run = self._held_run()
        scores = host_array(self.outlier_scores(X) if y is None else self.outlier_scores(X, y))
        fields = getattr(run.space.point_type, "_fields", ())
        points = run.believed if "scores" in fields else []
        sketches = [found for point in points if (found := point[fields.index("scores")]) is not None]
        counts = np.ones(len(sketches))
        if sketches and len(sketches) == len(points):
            sketches = self._as_of_all_rows(sketches, run.believed_rows)
        if not sketches:  # aggregators that keep no estimates have the mean of the sketches
            settled = getattr(run.value, "scores", None)
            if settled is None:
                raise NotEnoughRowsError(
                    "p values rest on the scores of the rows, which are not kept where a table has more columns than "
                    "its batches can be solved for"
                )
            sketches, counts = [settled], np.array([run.plan.aggregator.count(run.complete.state)], dtype=float)
        return tail_shares(sketches, counts, np.asarray(scores, dtype=np.float64) / float(self.cutoff_))

    def _as_of_all_rows(self, sketches: list[Array], rows: Array) -> list[Array]:
        """Return sketches with scores as large as rows have under the model of all batches.

        A batch has measured its rows by its own model, of fewer rows, under which others lie farther out: squares by
        about 1 / (1 - parameters / rows).
        """
        known = 1 - np.minimum(self._measured_by() / np.append(rows, rows.sum()), 0.5)
        shrink = np.sqrt(known[:-1] / known[-1])
        return [np.append(sketch[:1], sketch[1:] * factor) for sketch, factor in zip(sketches, shrink, strict=True)]

    @abstractmethod
    def _measured_by(self) -> int:
        """Return the number of parameters that the distance of a row rests on."""

    def _discovered(self, rate: float, X: Any, y: Any = None) -> NDArray[np.bool_]:
        """Return which rows are outliers, such that this share of them at most is expected to be ordinary."""
        if not 0 < rate < 1:
            raise InvalidInputError(f"false_discovery_rate must lie between 0 and 1, got {rate!r}")
        chances = self.outlier_pvalues(X, y)
        ordered = np.sort(chances[~np.isnan(chances)])
        reached = np.flatnonzero(ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1))
        return chances <= ordered[reached[-1]] if len(reached) else np.zeros(len(chances), bool)


def find_reasons(model: RowModel, rows: Array, most: int) -> Reasons:
    """Return the reasons of rows; scores are left to whoever knows them.

    A missing cell (NaN) is no reason, and the others are measured without it. Rows with the same gaps go together.
    """
    found: list[tuple[NDArray[Any], ...]] = []
    # In units of what is not known of each cell given the others, so that those of the columns have no say.
    unit = np.sqrt(np.maximum(np.diag(model.precision), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    given, rows = rows, rows * unit
    model = model._replace(center=model.center * unit, precision=model.precision / np.outer(unit, unit))
    patterns, which = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    for number, missing in enumerate(patterns):
        there, places = np.flatnonzero(~missing), np.flatnonzero(which.reshape(-1) == number)
        known = _without(model, missing)
        count = min(most, len(there) - known.given)
        step = max(1, _AT_ONCE // max(1, len(there) * (most + 1)))
        for start in range(0, len(places) if count > 0 else 0, step):
            part = places[start : start + step]
            found += [
                (part[row], there[column], *others)
                for row, column, *others in _search(known, rows[np.ix_(part, there)] - known.center, count)
            ]
    names = np.array(model.names, dtype=object)
    if not found:
        nothing = np.zeros(0)
        return Reasons(nothing.astype(int), names[:0], nothing, nothing, nothing, nothing)
    row, column, off, share = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(row, kind="stable")
    row, column, off, share = row[order], column[order].astype(int), off[order], share[order]
    value = given[row, column]
    return Reasons(row, names[column], value, value - off / unit[column], share, np.full(len(row), np.nan))


def _without(model: RowModel, missing: NDArray[np.bool_]) -> RowModel:
    """Return what the other cells of rows are measured by where some are missing."""
    if not missing.any():
        return model
    there = ~missing
    beside, own = model.precision[np.ix_(missing, there)], model.precision[np.ix_(missing, missing)]
    own = own + np.eye(len(own)) * (1e-12 * float(np.abs(own).max(initial=0.0)) + 1e-300)
    precision = model.precision[np.ix_(there, there)] - beside.T @ np.linalg.solve(own, beside)
    given, targets = int(there[: model.given].sum()), int(there[len(there) - model.targets :].sum())
    return model._replace(center=model.center[there], precision=precision, given=given, targets=targets)


def _residual(pull: Array, given: Array, aims: NDArray[np.intp]) -> Array:
    """Return the largest squared residual of the targets of each row, in units of what is not known of it."""
    found: Array = (np.square(pull[:, aims]) / np.maximum(given[:, aims], 1e-300)).max(axis=1, initial=0.0)
    return found


def _residual_without(pull: Array, given: Array, beside: Array, aims: NDArray[np.intp]) -> Array:
    """Return what `_residual` becomes if each of the cells (rows x cells) is missing.

    `beside` is the precision of targets and cells together, rows x targets x cells.
    """
    left = np.zeros_like(pull)
    for place, aim in enumerate(aims):
        share = beside[:, place] / np.maximum(given, 1e-300)
        off = np.square(pull[:, aim, None] - share * pull)
        known = given[:, aim, None] - share * beside[:, place]
        own = np.arange(pull.shape[1]) == aim
        # Nothing is left of a target that is missing itself, or that was found before.
        left = np.maximum(left, np.where(own | ~np.isfinite(given[:, aim, None]), 0.0, off / np.maximum(known, 1e-300)))
    return left


def _search(model: RowModel, z: Array, most: int) -> list[tuple[Any, ...]]:
    """Return, for each round, rows, the cells found in it, how far these are off in the end, and their shares."""
    count, cells = z.shape
    # Cells that nothing is known of, as of constant columns, must not make systems singular.
    precision = model.precision + np.eye(cells) * (1e-12 * float(np.abs(model.precision).max(initial=0.0)) + 1e-300)
    pull = z @ precision
    aims = np.arange(cells - model.targets, cells)
    whole = _residual(pull, np.tile(np.diag(precision), (count, 1)), aims)
    if not len(aims):
        whole = np.einsum("ij,ij->i", z, pull)
    ordinary = chdtri(len(aims), _RATE) if len(aims) else 0.0
    left, chosen, falls = whole.copy(), np.zeros((count, 0), int), np.zeros((count, 0))
    active = np.ones((count, 0), bool)
    off: Array = np.zeros((count, 0))
    for number in range(most):
        given: Array = np.tile(np.diag(precision), (count, 1))
        now, beside_aims = pull.copy(), np.tile(precision[aims], (count, 1, 1))
        if number:
            block = precision[chosen[:, :, None], chosen[:, None, :]]
            beside = precision[chosen]  # rows x chosen x cells
            solved = np.linalg.solve(block, beside)
            given -= np.einsum("nkc,nkc->nc", beside, solved)
            off = np.linalg.solve(block, np.take_along_axis(pull, chosen, axis=1)[:, :, None])[:, :, 0]
            now -= np.einsum("nk,nkc->nc", off, beside)
            beside_aims -= np.einsum("nka,nkc->nac", beside[:, :, aims], solved)
            np.put_along_axis(given, chosen, np.inf, axis=1)
        fall = np.square(now) / np.maximum(given, 1e-300)
        fall[:, : model.given] = -1.0
        size = fall
        if len(aims):
            size = np.maximum(left[:, None] - _residual_without(now, given, beside_aims, aims), 0.0)
            telling = (size >= _TELLING * left[:, None]) & (fall > 0)
            fall = np.where(telling | ~telling.any(axis=1, keepdims=True), fall, -1.0)
        best = np.argmax(fall, axis=1)
        size = size[np.arange(count), best]
        enough = ordinary if len(aims) else chdtri(max(cells - number, 1), _RATE)
        wanted = np.ones(count, bool) if number == 0 else active[:, -1] & (left > np.maximum(enough, whole * _DIGITS))
        left = np.where(wanted, left - size, left)
        chosen, falls = np.column_stack([chosen, best]), np.column_stack([falls, size])
        active = np.column_stack([active, wanted])
    # What was expected in place of all cells found in a row together, not of those that it did not need.
    result = []
    off = np.zeros((count, most))
    for number in range(1, most + 1):
        rows = np.flatnonzero(active.sum(axis=1) == number)
        cut = chosen[rows, :number]
        block = precision[cut[:, :, None], cut[:, None, :]]
        off[rows, :number] = np.linalg.solve(block, np.take_along_axis(pull[rows], cut, axis=1)[:, :, None])[:, :, 0]
    shares = falls / np.maximum(whole, 1e-300)[:, None]
    for number in range(most):
        rows = np.flatnonzero(active[:, number])
        result.append((rows, chosen[rows, number], off[rows, number], np.clip(shares[rows, number], 0.0, 1.0)))
    return result
