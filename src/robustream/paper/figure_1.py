"""What the four panels of Figure 1 share; each has a file of its own that says what is particular to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from robustream.paper.cells import Cell
from robustream.paper.drawing.streams import (
    draw_adversarial,
    draw_constants,
    draw_convergence,
    draw_fractions,
    draw_paths,
)
from robustream.paper.experiment import Context, Picture, Table
from robustream.paper.results import Results
from robustream.paper.simulation import simulation_cells

__all__ = ["DISTRIBUTED_SETUP", "ONLINE_SETUP", "cells_of", "distributed_pictures", "online_pictures", "tables_of"]

_METHODS = ("plain", "centralized", "averaging", "geometric median", "online median", "ours", "oracle")
_EIGENVECTORS = ("averaging of eigenvectors",)

ONLINE_SETUP = (
    "p = 100, N = 1e6 rows in T = 100 batches, noise 1, outliers of magnitude 10; a tenth of the rows in a quick run. "
    "Streams: outliers spread evenly over the batches; 45% of the batches filled with outliers first and the rest "
    "spread evenly (at a share of 0.6 the other batches hold 27%); and an adversarial choice of 10 to 45% bad "
    "batches, the others clean, with 60% or 100% bad rows in a bad batch, without structure or in agreement on one "
    "wrong answer. The learner trims the true share of bad rows in the whole stream, or one half. The filter's "
    "constant, which the paper does not give, is 1 for PCA and 0.3 for regression, near the best of the sweep. Bands "
    "are the span of all repetitions, lines their root mean square."
)
DISTRIBUTED_SETUP = (
    "p = 100, N = 1e6 rows on k = 100 nodes, noise 1, outliers of magnitude 10; a tenth of the rows in a quick run. "
    "The paper does not say how outliers are spread over nodes. Even: every node has the same share. Uneven: 45% of "
    "the nodes are filled with outliers first, the rest is spread evenly, so that at 0.6 the other nodes hold 27% and "
    "a majority of the nodes is below its breakdown point. Trimmed: the true share of outliers, or one half."
)


def cells_of(problem: str, *spreads: str) -> Callable[[Context], Iterator[Cell]]:
    """Give the cells of some spreads."""
    return lambda context: simulation_cells(problem, context.size, context.seed, spreads)


def _methods(problem: str) -> tuple[str, ...]:
    return (*_METHODS[:2], *_EIGENVECTORS, *_METHODS[2:]) if problem == "pca" else _METHODS


def online_pictures(problem: str, name: str) -> Sequence[Picture]:
    """Give the pictures of an online experiment."""
    methods = _methods(problem)
    # All rows at once are the same rows whatever the batches they came in; there is nothing to show by bad batches.
    streamed = tuple(method for method in methods if method != "centralized")
    return (
        Picture(f"{name}-fractions", "Error against the share of outliers.", draw_fractions(problem, methods)),
        Picture(
            f"{name}-bad-batches-true-trim",
            "Error against the share of bad batches; the true share of bad rows is trimmed.",
            draw_adversarial(problem, "true", streamed),
        ),
        Picture(
            f"{name}-bad-batches-half-trim",
            "Error against the share of bad batches; one half is trimmed, as Algorithm 4 prints.",
            draw_adversarial(problem, "half", streamed),
        ),
        Picture(f"{name}-convergence", "Error against batches seen, all batches alike.", draw_convergence(problem)),
        Picture(
            f"{name}-batches-seen",
            "Error against batches seen; 40% of the batches are all outliers, the true share is trimmed. Where they "
            "come anywhere, in some repetitions they are the majority of the first batches.",
            draw_paths(problem),
        ),
        Picture(
            f"{name}-constant",
            "Error at the end against the filter's constant, the true share trimmed.",
            draw_constants(problem),
        ),
    )


def distributed_pictures(problem: str, name: str) -> Sequence[Picture]:
    """Give the picture of a distributed experiment."""
    methods = tuple(method for method in _methods(problem) if method != "online median")
    return (Picture(f"{name}-fractions", "Error against the share of outliers.", draw_fractions(problem, methods)),)


def tables_of(problem: str, *spreads: str) -> Callable[[Results], Sequence[Table]]:
    """Give errors as numbers: one line for each stream, with the true share trimmed."""
    columns = [method for method in _methods(problem) if method != "oracle"]

    def tables(results: Results) -> Sequence[Table]:
        lines = []
        for scenario in results.where(problem=problem, spread=spreads).different("scenario"):
            some = results.where(problem=problem, scenario=scenario, seen=None, order="random")
            errors = [some.rms(method=method, rule=("", "true", "true and half")) for method in columns]
            ours, oracle, usable = (some.rms(method=name) for name in ("ours", "oracle", "oracle of usable batches"))
            ratios = [_number(ours / yardstick, ".2f") for yardstick in (oracle, usable)]
            lines.append([scenario, *(_number(error) for error in (*errors, oracle)), *ratios])
        head = ["stream", *columns, "oracle", "ours / oracle", "ours / oracle of usable batches"]
        caption = (
            "Root mean square of the relative error over repetitions, the true share trimmed. Names say the share of "
            "outliers, or the share of bad batches, then that of outliers in them and their kind. The oracle is the "
            "plain method on all clean rows; that of usable batches has those of batches with fewer than half outliers."
        )
        return (Table(caption, head, lines),)

    return tables


def _number(value: float, form: str = ".3g") -> str:
    return "-" if value != value else format(value, form)
