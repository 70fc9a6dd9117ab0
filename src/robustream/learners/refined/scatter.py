"""Robust centre, scale, scatter and row weights of one batch.

Evidence first: rows are dropped only as groups that a valley separates from the majority, in the distance
from the centre or along a projection, and weighted down only where they follow a law of their own. Everything
else, long tails and rare values included, is kept, so an ordinary table gets exactly its plain moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustream.learners.refined.cells import few_far_cells, flag_cells, moments_with_missing
from robustream.learners.refined.columns import Columns, typical_columns
from robustream.learners.refined.fewrows import far_group
from robustream.learners.refined.groups import FAR_OUT, KEEP_AT_LEAST, beyond_gap, find_groups, only_far_apart, sharpen
from robustream.learners.refined.metric import Metric, fit_metric, lengths
from robustream.learners.refined.populations import (
    HINT,
    LEADING_AXES,
    MOST_ROWS,
    evidence,
    fit_populations,
    two_populations,
)
from robustream.learners.refined.tails import LIGHT, belonging, degrees_of_freedom, is_elliptical, is_normal, t_weights
from robustream.spaces import Array

Mask = NDArray[np.bool_]


BORDERLESS = 30  # dimensions; from here on lengths of normal rows vary too little for borders to be in doubt
FLAT, LONG = 2.0, 4.0  # kurtosis; uniform values have 1.8, normal ones 3, those of a double exponential law 6
WILD = -1  # label of rows that are foreign whatever they do
ALONE = 1  # label of rows that stand alone, each for itself; groups have the labels that follow


class LocationScatter(NamedTuple):
    """What a batch amounts to, and what was made of its rows and cells."""

    center: Array
    scatter: Array  # covariance of the kept rows
    ordinary: Mask  # rows that are thought to be
    completed: Array  # X, with bad cells at their conditional means


class Foreign(NamedTuple):
    """Which rows and cells do not belong."""

    labels: NDArray[np.intp]  # 0 for the majority, else the number of the foreign group or WILD
    typical: Columns
    sample: Array  # majority rows of the subsample: the continuous columns in their units
    metric: Metric | None  # whitens them; None when there is nothing to judge by
    flags: Mask | None  # bad cells, in the cell regime
    completed: Array  # X, with bad cells at their conditional means


class Weighted(NamedTuple):
    """Weights of the rows in the moments, and which rows are thought to be ordinary."""

    weights: Array
    ordinary: Mask


def weigh(X: Array, foreign: Foreign) -> Weighted:
    """Weigh the rows by what the kept ones follow: the larger of two populations, or an elliptical t law.

    Rows of anything else have weight 1.
    """
    labels, metric = foreign.labels, foreign.metric
    ordinary = labels == 0
    plain = Weighted(ordinary.astype(np.float64), ordinary)
    if metric is None:
        return plain
    Z = metric.scores(foreign.sample)
    if evidence(Z[:, :LEADING_AXES]) > HINT:
        leading = Metric(metric.center, metric.whiten[:, :LEADING_AXES]).scores(foreign.typical.standard(X))
        populations = two_populations(thin_out(leading[ordinary]))
        if populations is not None:
            belonging = ordinary * populations.belonging(leading)
            if np.mean(belonging) > KEEP_AT_LEAST:
                return Weighted(belonging, belonging > 0.5)
    dof = degrees_of_freedom(lengths(Z), Z.shape[1])
    if np.isfinite(dof):
        return Weighted(follow_tails(X, plain.weights, foreign, dof), ordinary)
    groups = np.unique(labels[labels > ALONE])
    return doubt(X, plain, foreign, groups) if len(groups) and Z.shape[1] <= BORDERLESS else plain


def thin_out(rows: Array) -> Array:
    """Some of the rows, evenly spaced, in double precision."""
    return rows[:: -(-len(rows) // MOST_ROWS)].astype(np.float64)


def follow_tails(X: Array, weights: Array, foreign: Foreign, dof: float) -> Array:
    """Weights of an elliptical t law where the kept sample follows one, else the weights as they are."""
    assert foreign.metric is not None
    metric, sample = foreign.metric, foreign.sample
    Z = metric.scores(sample)
    for _ in range(8):
        metric = fit_metric(sample, t_weights(lengths(Z), dof, Z.shape[1]))
        Z = metric.scores(sample)
        dof = min(degrees_of_freedom(lengths(Z), Z.shape[1]), LIGHT)
    if not is_elliptical(Z):
        return weights
    standard = foreign.typical.standard(X)
    for _ in range(2):
        t = weights * t_weights(lengths(metric.scores(standard)), dof, Z.shape[1])
        metric = fit_metric(standard[t > 0], t[t > 0])
    return t


def doubt(X: Array, plain: Weighted, foreign: Foreign, groups: NDArray[np.intp]) -> Weighted:
    """Weigh rows at the border of groups that surround the majority, as wide normal noise does, by how they belong.

    A cut would leave the bad rows inside of it, just where a row counts most.
    """
    assert foreign.metric is not None
    weights, ordinary = plain
    normal = is_normal(foreign.metric.scores(foreign.sample))
    Z = foreign.metric.scores(foreign.typical.standard(X))
    squared = lengths(Z)
    for label in groups:
        group = foreign.labels == label
        inflation = float(np.mean(squared[group])) / Z.shape[1]
        around = np.sum(np.square(np.mean(Z[group], axis=0))) < 0.1 * inflation * Z.shape[1]
        if not around or inflation <= 1:
            continue
        if normal and _like_normal(Z[group]):
            both = np.flatnonzero(plain.ordinary | group)
            start = np.where(group[both], 0.0, 1.0)
            populations = fit_populations(thin_out(Z[both]), thin_out(start), n_steps=10)
            weights = np.where(group, 1.0, weights) * populations.belonging(Z)
        else:
            weights = weights * belonging(squared, Z.shape[1], inflation, float(np.mean(group)))
    return Weighted(weights, ordinary)


def _like_normal(Z: Array) -> bool:
    """Whether rows thin out like normal ones along the axis where they are widest: not two clouds, no heavy tails."""
    centred = Z - Z.mean(axis=0)
    squared = np.square(centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1], dtype=np.float64)
    return bool(FLAT < np.mean(squared**2) / np.mean(squared) ** 2 < LONG)


def isolated_rows(X: Array, typical: Columns) -> tuple[Mask, Mask]:
    """Which rows stand alone in their largest deviation, and which of these are too wild to compute with.

    The largest of t3 rows leaves such a gap in one batch of 30: a regression may call it back.
    """
    center, unit = typical.middle, typical.unit
    reach = np.maximum(X.max(axis=0) - center, center - X.min(axis=0)) / unit
    alone = np.zeros(len(X), bool)
    if reach.max() < FAR_OUT:  # spares ordinary batches the pass over all rows
        return alone, alone
    column = np.flatnonzero(reach >= FAR_OUT)
    far = np.max(np.abs(X[:, column] - center[column]) / unit[column], axis=1)
    alone = beyond_gap(far)
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
        chosen = chosen[labels[chosen] == 0]
        sample = typical.blurred(typical.standard(completed[chosen]), rng)
        found = find_groups(sample, rng)
    if found.groups:
        found, standard = only_far_apart(sample, found), typical.standard(completed)
    for number, (group, rule) in enumerate(zip(found.groups, found.rules, strict=True), start=ALONE + 2):
        outside = sharpen(rule, sample, found.kept, group, found.metric).outside(standard)
        labels[outside & (labels == 0)] = number
    alone_here = chosen[found.alone]
    labels[alone_here[labels[alone_here] == 0]] = ALONE
    return Foreign(labels, typical, sample[found.kept], found.metric, flags, completed)


def location_scatter(X: Array, rng: np.random.Generator) -> LocationScatter:
    """Robust location and scatter of the rows of X (n x p)."""
    foreign = foreign_rows(X, rng)
    if foreign.flags is not None:
        use = foreign.labels == 0
        mean, scatter, _ = moments_with_missing(X[use].astype(np.float64), foreign.flags[use])
        return LocationScatter(mean, scatter, use, foreign.completed)
    weights, ordinary = weigh(X, foreign)
    mean, scatter = weighted_moments(foreign.completed, weights)
    return LocationScatter(mean, scatter, ordinary, foreign.completed)


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
