"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from robustream.errors import InvalidInputError
from robustream.paper import figure_1a, figure_1b, figure_1c, figure_1d
from robustream.paper.experiment import Experiment
from robustream.paper.speed import EXPERIMENT as SPEED
from robustream.paper.table_1 import EXPERIMENT as TABLE_1
from robustream.paper.table_2 import EXPERIMENT as TABLE_2
from robustream.paper.table_2 import SCALE_EXPERIMENT as TABLE_2_SCALE
from robustream.paper.theory import EXPERIMENT as THEORY

__all__ = ["EXPERIMENTS", "choose"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        figure_1a.EXPERIMENT,
        figure_1b.EXPERIMENT,
        figure_1c.EXPERIMENT,
        figure_1d.EXPERIMENT,
        TABLE_1,
        TABLE_2,
        TABLE_2_SCALE,
        SPEED,
        THEORY,
    )
}


def choose(name: str) -> list[Experiment]:
    """Give the experiment of that name, or all.

    >>> [experiment.name for experiment in choose("table-1")]
    ['table-1']
    """
    if name == "all":
        return list(EXPERIMENTS.values())
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    raise InvalidInputError(f"the experiment must be 'all' or one of {', '.join(EXPERIMENTS)}; {name!r} came.")
