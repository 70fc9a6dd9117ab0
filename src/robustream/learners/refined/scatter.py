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
from robustream.learners.refined.columns import Columns, typical_columns
from robustream.learners.refined.fewrows import far_group
from robustream.learners.refined.groups import Metric, find_groups, fit_metric, only_far_apart, sharpen
from robustream.learners.refined.tails import LIGHT, belonging, degrees_of_freedom, is_elliptical, t_weights
from robustream.spaces import Array

Mask = NDArray[np.bool_]


GAP = 3.0
BORDERLESS = 30  # dimensions; from here on lengths of normal rows vary too little for borders to be in doubt
WILD = -1  # label of rows that are foreign whatever they do
ALONE = 1  # label of rows that stand alone, each for itself; groups have the labels that follow


class LocationScatter(NamedTuple):
    """What a batch amounts to, and what was made of its rows and cells."""

    center: Array
    scatter: Array  # covariance of the kept rows
    row_weights: Array
    completed: Array  # X, with bad cells at their conditional means


class Foreign(NamedTuple):
    """Which rows and cells do not belong."""

    labels: NDArray[np.intp]  # 0 for the majority, else the number of the foreign group or WILD
    typical: Columns
    sample: Array  # majority rows of the subsample: the continuous columns in their units
    metric: Metric | None  # whitens them; None when there is nothing to judge by
    flags: Mask | None  # bad cells, in the cell regime
    completed: Array  # X, with bad cells at their conditional means


def follow_tails(X: Array, weights: Array, foreign: Foreign) -> Array:
    """Weights of an elliptical t law where the kept sample follows one, else the weights as they are."""
    if foreign.metric is None:
        return weights
    metric, sample = foreign.metric, foreign.sample
    Z = metric.scores(sample)
    k = Z.shape[1]
    dof = degrees_of_freedom(np.einsum("ij,ij->i", Z, Z), k)
    if not np.isfinite(dof):
        return doubt(X, weights, foreign)
    for _ in range(8):
        metric = fit_metric(sample, t_weights(np.einsum("ij,ij->i", Z, Z), dof, k))
        Z = metric.scores(sample)
        k = Z.shape[1]
        dof = min(degrees_of_freedom(np.einsum("ij,ij->i", Z, Z), k), LIGHT)
    if not is_elliptical(Z):
        return weights
    standard = foreign.typical.standard(X)
    for _ in range(2):
        scores = metric.scores(standard)
        t = weights * t_weights(np.einsum("ij,ij->i", scores, scores), dof, k)
        metric = fit_metric(standard[t > 0], t[t > 0])
    return t


def doubt(X: Array, weights: Array, foreign: Foreign) -> Array:
    """Weights with less for rows at the border of groups that surround the majority, as wide normal noise does.

    A cut would leave the bad rows inside of it, just where a row counts most.
    """
    metric = foreign.metric
    groups = np.unique(foreign.labels[foreign.labels > ALONE])
    if metric is None or metric.whiten.shape[1] > BORDERLESS or not len(groups):
        return weights
    Z = metric.scores(foreign.typical.standard(X))
    squared = np.einsum("ij,ij->i", Z, Z)
    for label in groups:
        group = foreign.labels == label
        inflation = float(np.mean(squared[group])) / Z.shape[1]
        around = np.sum(np.square(np.mean(Z[group], axis=0))) < 0.1 * inflation * Z.shape[1]
        if around and inflation > 1:
            weights = weights * belonging(squared, Z.shape[1], inflation, float(np.mean(group)))
    return weights


def isolated_rows(X: Array, typical: Columns) -> tuple[Mask, Mask]:
    """Which rows stand alone, and which of these are too wild to compute with.

    They are the few rows beyond a gap of a factor GAP in their largest deviation: too few to make a hill.

    The largest of t3 rows leaves such a gap in one batch of 30: a regression may call it back.
    """
    center, unit = typical.middle, typical.unit
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
    typical = typical_columns(X[chosen])
    labels = np.zeros(n, np.intp)
    alone, wild = isolated_rows(X, typical)
    if alone.any():
        labels[alone] = ALONE
        labels[wild] = WILD
        if wild.any():  # their squares may overflow; their label is all that is needed
            X = np.where(wild[:, None], typical.middle.astype(X.dtype), X)
        chosen = chosen[~alone[chosen]]
    sample = typical.blurred(typical.standard(X[chosen]), rng)
    together = far_group(sample, rng)
    if together.any():
        labels[chosen[together]] = ALONE + 1
        chosen, sample = chosen[~together], sample[~together]
    if not sample.shape[1] or n < 20:
        return Foreign(labels, typical, sample, None, None, X)
    found = find_groups(sample, rng)
    completed, flags = X, None
    if found.groups and few_far_cells(sample, found.kept):
        flags, whole = flag_cells(typical.standard(X), sample)
    if flags is not None:
        whole |= labels != 0
        flags = typical.spread(flags)
        completed = X.astype(np.float64)
        completed[~whole] = moments_with_missing(completed[~whole], flags[~whole], n_steps=5)[2]
        labels[whole & (labels == 0)] = WILD
        sample = typical.blurred(typical.standard(completed[chosen[labels[chosen] == 0]]), rng)
        found = find_groups(sample, rng)
    if found.groups:
        found, standard = only_far_apart(sample, found), typical.standard(completed)
    for number, (group, rule) in enumerate(zip(found.groups, found.rules, strict=True), start=ALONE + 2):
        outside = sharpen(rule, sample, found.kept, group, found.metric).outside(standard)
        labels[outside & (labels == 0)] = number
    return Foreign(labels, typical, sample[found.kept], found.metric, flags, completed)


def location_scatter(X: Array, rng: np.random.Generator) -> LocationScatter:
    """Robust location and scatter of the rows of X (n x p)."""
    foreign = foreign_rows(X, rng)
    weights = (foreign.labels == 0).astype(np.float64)
    if foreign.flags is not None:
        use = weights > 0
        mean, scatter, _ = moments_with_missing(X[use].astype(np.float64), foreign.flags[use])
    else:
        weights = follow_tails(X, weights, foreign)
        mean, scatter = weighted_moments(foreign.completed, weights)
    return LocationScatter(mean, scatter, weights, foreign.completed)


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
    shift = (w @ centred) / total
    if not np.all(w == 1):
        centred *= np.sqrt(w)[:, None]
    # The product of a matrix with itself takes half of the time of one with another.
    scatter = ((centred.T @ centred) / total - np.outer(shift, shift)) * (total / max(total - 1.0, 1.0))
    return start.astype(X.dtype) + shift.astype(np.float64), scatter
