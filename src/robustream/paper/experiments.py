"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from robustream.errors import InvalidInputError
from robustream.paper import ours, speed, table_1, table_2, table_2_scale, theory
from robustream.paper.distributed import FIGURE_1C, FIGURE_1D
from robustream.paper.experiment import Experiment
from robustream.paper.online import FIGURE_1A, FIGURE_1B

__all__ = ["EXPERIMENTS", "choose"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        FIGURE_1A,
        FIGURE_1B,
        FIGURE_1C,
        FIGURE_1D,
        table_1.EXPERIMENT,
        table_2.EXPERIMENT,
        table_2_scale.EXPERIMENT,
        speed.EXPERIMENT,
        theory.EXPERIMENT,
        ours.EXPERIMENT,
    )
}


def choose(name: str) -> list[Experiment]:
    """Return the experiment of that name, or all.

    >>> [experiment.name for experiment in choose("table-1")]
    ['table-1']
    """
    if name == "all":
        return list(EXPERIMENTS.values())
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    raise InvalidInputError(f"the experiment must be 'all' or one of {', '.join(EXPERIMENTS)}, got {name!r}")
