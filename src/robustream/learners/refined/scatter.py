"""Robust centre, scale, scatter and row weights of one batch.

Evidence first: rows are dropped only as groups that a valley separates from the majority, in the distance
from the centre or along a projection. Everything else, long tails and rare values included, is kept, so an
ordinary table gets exactly its plain moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.cells import few_far_cells, flag_cells, moments_with_missing
from robustream.learners.refined.groups import Metric, column_units, find_groups, fit_metric, only_far_apart, sharpen
from robustream.learners.refined.tails import LIGHT, degrees_of_freedom, is_elliptical, t_weights
from robustream.spaces import Array

Mask = NDArray[np.bool_]


GAP = 3.0
WILD = -1  # label of rows that are foreign whatever they do


class LocationScatter(NamedTuple):
    """What a batch amounts to, and what was made of its rows and cells."""

    center: Array
    scale: Array  # unit of each column, never 0
    scatter: Array  # covariance of the kept rows
    row_weights: Array
    n_groups: int  # foreign groups found
    completed: Array  # X, with bad cells at their conditional means


class Foreign(NamedTuple):
    """Which rows and cells do not belong."""

    labels: NDArray[np.intp]  # 0 for the majority, else the number of the foreign group or WILD
    unit: Array
    columns: NDArray[np.intp]  # the continuous ones, by which rows were judged
    sample: Array  # majority rows of the subsample, those columns
    metric: Metric | None  # whitens them; None when there is nothing to judge by
    flags: Mask | None  # bad cells, in the cell regime
    completed: Array  # X, with bad cells at their conditional means


def follow_tails(X: Array, weights: Array, sample: Array, metric: Metric) -> Array:
    """Weights of an elliptical t law where the kept sample follows one, else the weights as they are."""
    Z = metric.scores(sample)
    k = Z.shape[1]
    dof = degrees_of_freedom(np.einsum("ij,ij->i", Z, Z), k)
    if not np.isfinite(dof):
        return weights
    for _ in range(8):
        metric = fit_metric(sample, metric.unit, t_weights(np.einsum("ij,ij->i", Z, Z), dof, k))
        Z = metric.scores(sample)
        k = Z.shape[1]
        dof = min(degrees_of_freedom(np.einsum("ij,ij->i", Z, Z), k), LIGHT)
    if not is_elliptical(Z):
        return weights
    for _ in range(2):
        scores = metric.scores(X)
        t = weights * t_weights(np.einsum("ij,ij->i", scores, scores), dof, k)
        metric = fit_metric(X[t > 0], metric.unit, t[t > 0])
    return t


def isolated_rows(X: Array, sample: Array, unit: Array) -> tuple[Mask, Mask]:
    """Which rows stand alone, and which of these are too wild to compute with.

    They are the few rows beyond a gap of a factor GAP in their largest deviation: too few to make a hill.

    The largest of t3 rows leaves such a gap in one batch of 30: a regression may call it back.
    """
    center = np.median(sample, axis=0)
    reach = np.maximum(X.max(axis=0) - center, center - X.min(axis=0)) / unit
    alone = np.zeros(len(X), bool)
    if reach.max() < 30:  # spares ordinary batches the pass over all rows
        return alone, alone
    column = np.flatnonzero(reach >= 30)
    far = np.max(np.abs(X[:, column] - center[column]) / unit[column], axis=1)
    order = np.argsort(far)[::-1][: max(len(X) // 20, 1) + 1]
    gaps = np.flatnonzero(far[order[:-1]] > GAP * np.maximum(far[order[1:]], 10.0))
    if len(gaps):
        alone[order[: gaps[-1] + 1]] = True
    return alone, alone & (far > 1e6)


def foreign_rows(X: Array, rng: np.random.Generator) -> Foreign:
    """Label every row with the foreign group it belongs to, 0 for the majority, and flag bad cells."""
    n, p = X.shape
    size = min(n, max(1500, 10 * p))
    chosen = np.sort(rng.choice(n, size, replace=False)) if size < n else np.arange(n)
    sample = X[chosen].astype(np.float64)
    unit, continuous = column_units(sample)
    columns = np.flatnonzero(continuous)
    labels = np.zeros(n, np.intp)
    alone, wild = isolated_rows(X, sample, unit)
    if alone.any():
        labels[alone] = 1
        labels[wild] = WILD
        if wild.any():  # their squares may overflow; their label is all that is needed
            X = np.where(wild[:, None], np.median(sample, axis=0).astype(X.dtype), X)
        sample, chosen = sample[~alone[chosen]], chosen[~alone[chosen]]
    if not len(columns) or n < 20:
        return Foreign(labels, unit, columns, sample[:, columns], None, None, X)
    part = sample[:, columns]
    found = find_groups(part, unit[columns], rng)
    completed, all_flags = X, None
    flags, whole = None, labels != 0
    if found.groups and few_far_cells(part, found.kept):
        flags, whole = flag_cells(X[:, columns], part)
        whole = whole | (labels != 0)
    if flags is not None:
        all_flags = np.zeros(X.shape, bool)
        all_flags[:, columns] = flags
        completed = X.astype(np.float64)
        completed[~whole] = moments_with_missing(completed[~whole], all_flags[~whole], n_steps=5)[2]
        labels[whole & (labels == 0)] = WILD
        part = completed[chosen[labels[chosen] == 0]][:, columns]
        found = find_groups(part, unit[columns], rng)
    found = only_far_apart(part, unit[columns], found)
    # Number 1 are the rows that stand alone.
    for number, (group, found_rule) in enumerate(zip(found.groups, found.rules, strict=True), start=2):
        rule = sharpen(found_rule, part, found.kept, group, found.metric)
        statistic = rule.statistic(completed if len(columns) == p else completed[:, columns])
        outside = (statistic <= rule.cut.low) | (statistic > rule.cut.high)
        labels[outside & (labels == 0)] = number
    return Foreign(labels, unit, columns, part[found.kept], found.metric, all_flags, completed)


def location_scatter(X: Array, rng: np.random.Generator) -> LocationScatter:
    """Robust location and scatter of the rows of X (n x p)."""
    foreign = foreign_rows(X, rng)
    weights = (foreign.labels == 0).astype(np.float64)
    if foreign.flags is not None:
        use = weights > 0
        mean, scatter, _ = moments_with_missing(X[use].astype(np.float64), foreign.flags[use])
    else:
        if foreign.metric is not None:
            weights = follow_tails(
                X if len(foreign.columns) == X.shape[1] else X[:, foreign.columns],
                weights,
                foreign.sample,
                foreign.metric,
            )
        mean, scatter = weighted_moments(foreign.completed, weights)
    return LocationScatter(mean, foreign.unit, scatter, weights, len(np.unique(foreign.labels)) - 1, foreign.completed)


def weighted_moments(X: Array, weights: Array, near: Array | None = None) -> tuple[Array, Array]:
    """Weighted mean and covariance in one pass over the rows of positive weight.

    Rows are taken from a point near the mean, so that large means cost no digits, float32 included.
    """
    use = weights > 0
    rows, w = (X, weights) if use.all() else (X[use], weights[use])
    start = rows[:1000].mean(axis=0, dtype=np.float64) if near is None else near
    centred = rows - start.astype(X.dtype)
    w = w.astype(X.dtype)
    total = float(w.sum(dtype=np.float64))
    weighted = centred if np.all(w == 1) else centred * w[:, None]
    shift = (w @ centred) / total
    scatter = ((weighted.T @ centred) / total - np.outer(shift, shift)) * (total / max(total - 1.0, 1.0))
    return start.astype(X.dtype) + shift.astype(np.float64), scatter
