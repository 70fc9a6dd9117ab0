"""Figure 1b: online regression."""

from __future__ import annotations

from robustream.paper.claims.online import ONLINE_CLAIMS
from robustream.paper.experiment import Experiment
from robustream.paper.figure_1 import ONLINE_SETUP, cells_of, online_pictures, tables_of

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="figure-1b",
    title="Figure 1b: online regression",
    line="l.304",
    says=("As for PCA: ORL-LR is robust to outliers and to corrupted batches, and naive averaging is not."),
    setup=ONLINE_SETUP,
    remark=(
        "The outliers that the paper prints, y = -theta.x + v, all agree on -theta: they are the colluding "
        "kind here. Garbage without structure has y independent of x. RoTR shrinks: trimming makes "
        "coefficients too short, so that errors near 1 mean an answer near 0, which bad batches can hardly "
        "make worse."
    ),
    cells=cells_of("regression", "even", "uneven", "adversarial"),
    pictures=online_pictures("regression", "figure-1b"),
    tables=tables_of("regression", "even", "uneven", "adversarial"),
    claims=ONLINE_CLAIMS["regression"],
)
