"""Table 1: machines that are late, and answers that are garbled on their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from robustream.batch import Batch, Estimate
from robustream.kernels.trimmed import trimmed_covariance
from robustream.learners import Recipe, Refined, Trimmed
from robustream.paper.cells import Cell, Memory, Row
from robustream.paper.contents import Content
from robustream.paper.estimates import Shared
from robustream.paper.methods import Gathering
from robustream.paper.problems import PrincipalComponents
from robustream.paper.sizes import Size
from robustream.sources.corruption import corrupt_estimates, flip_basis
from robustream.sources.randomness import generator_for

__all__ = ["FAULTS", "FRACTION", "table_1_cells"]

FRACTION = 0.4
# The readings of the paper's two faults; "none" is the same run without any.
FAULTS = {
    "none": "no fault",
    "late rows": "the slow half answers from the rows it has read so far, from 1% to all of them",
    "late iterations": "the slow half answers after two steps of subspace iteration from a random start",
    "flipped eigenvectors": "a tenth of the nodes: 30% of the entries of the eigenvector matrix change sign",
    "flipped projector": "a tenth of the nodes: 30% of the entries of the projector change sign",
}
LATE_SHARE = 0.49
STEPS = 2


class Faulty(NamedTuple):
    """The settings of a cell."""

    repetition: int
    seed: int
    size: Size


def table_1_cells(size: Size, seed: int) -> Iterator[Cell]:
    """Give one cell for each repetition, in the group of the simulation with the same data where there is one."""
    for repetition in range(size.table_repetitions):
        cost = 25 * size.total_rows / 1e6 * size.columns / 100
        yield Cell(
            f"pca-{repetition}", "table-1", run_table_1, Faulty(repetition, 1000 * seed + repetition, size), cost
        )


def run_table_1(settings: Faulty, memory: Memory) -> list[Row]:
    """Let faults befall the same estimates, and aggregate what arrives."""
    shared = memory.setdefault("shared", Shared(PrincipalComponents(settings.size, settings.seed)))
    contents = (Content(FRACTION),) * settings.size.batches
    recipes = {Trimmed(FRACTION): "true", Trimmed(0.5): "half", Refined(): "ours"}
    shared.prepare(contents, recipes)
    rows: list[Row] = []
    for recipe, rule in recipes.items():
        estimates = shared.estimates(contents, recipe)
        for fault in FAULTS:
            arrived = _arrive(fault, shared, recipe, contents, estimates, settings.seed)
            gathered = Gathering.of(shared.problem, shared.learner(recipe), arrived)
            answers = {"averaging": gathered.average(), "geometric median": gathered.geometric_median()}
            if isinstance(recipe, Refined):
                answers = {"ours": gathered.filtered()}
            else:
                answers["averaging of eigenvectors"] = gathered.average_eigenvectors()
            for method, answer in answers.items():
                error = shared.problem.error(answer)
                rows.append(
                    {"repetition": settings.repetition, "fault": fault, "rule": rule, "method": method, "error": error}
                )
    splits = [split.clean for split in shared.splits(contents)]
    oracle = shared.problem.error(shared.problem.plain(sum(splits[1:], splits[0])))
    rows.append({"repetition": settings.repetition, "fault": "none", "rule": "", "method": "oracle", "error": oracle})
    return rows


def _arrive(
    fault: str, shared: Shared, recipe: Recipe, contents: Sequence[Content], estimates: list[Estimate], seed: int
) -> list[Estimate]:
    if fault.startswith("flipped"):
        reading = "basis" if fault.endswith("eigenvectors") else "projector"
        flip: Callable[..., Any] = partial(_flip, reading=reading)
        return corrupt_estimates(estimates, flip, 0.1, seed=seed).estimates
    if fault == "none":
        return estimates
    late = generator_for(seed, 0, "late nodes").permutation(len(estimates))[: round(LATE_SHARE * len(estimates))]
    degrade = _from_few_rows if fault == "late rows" else _from_few_steps
    arrived = list(estimates)
    for node in late.tolist():
        batch, _ = shared.problem.batch(node, contents[node])
        arrived[node] = degrade(shared, recipe, batch, generator_for(seed, node, "how late a node is"))
    return arrived


def _flip(estimate: Estimate, earlier: Estimate, rng: np.random.Generator, reading: str) -> list[Estimate]:
    return [flip_basis(estimate, rng, reading=reading)]


def _from_few_rows(shared: Shared, recipe: Recipe, batch: Batch, rng: np.random.Generator) -> Estimate:
    read = max(2 * shared.problem.size.components, round(rng.uniform(0.01, 1.0) * batch.rows))
    return shared.learner(recipe).estimate(batch._replace(X=batch.X[:read]), rng)


def _from_few_steps(shared: Shared, recipe: Recipe, batch: Batch, rng: np.random.Generator) -> Estimate:
    """Stop the search for eigenvectors early; the covariance matrix is complete."""
    estimate = shared.learner(recipe).estimate(batch, rng)
    assert estimate.point is not None
    matrix = trimmed_covariance(batch.X, recipe.trim) if isinstance(recipe, Trimmed) else _modelled(estimate)
    basis = rng.standard_normal((batch.X.shape[1], shared.problem.size.components))
    for _ in range(STEPS):
        basis = linalg.qr(matrix @ basis, mode="economic")[0]
    return estimate._replace(point=estimate.point._replace(basis=basis.astype(batch.X.dtype)))  # type: ignore[attr-defined]


def _modelled(estimate: Estimate) -> Any:
    """Rebuild the refined learner's matrix: a point keeps its leading part and the level of the rest."""
    point: Any = estimate.point
    columns, components = point.basis.shape
    noise = float(point.total_variance - point.eigenvalues.sum()) / (columns - components)
    return noise * np.eye(columns) + (point.basis * (point.eigenvalues - noise)) @ point.basis.T
