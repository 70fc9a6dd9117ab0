"""Figure 1c: distributed PCA."""

from __future__ import annotations

from robustream.paper.claims.distributed import DISTRIBUTED_CLAIMS
from robustream.paper.experiment import Experiment
from robustream.paper.figure_1 import DISTRIBUTED_SETUP, cells_of, distributed_pictures, tables_of

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="figure-1c",
    title="Figure 1c: distributed PCA",
    line="l.310, l.312",
    says=(
        "Up to a share of 0.5, DRL, division-averaging and the centralized method are alike and much better "
        "than plain PCA; without outliers they are slightly worse than plain PCA. At 0.6 the centralized and "
        "the averaging method break sharply, and DRL does not."
    ),
    setup=DISTRIBUTED_SETUP,
    remark=(
        "With outliers uniform in a box nothing breaks sharply at 0.6: their covariance is a multiple of the "
        "identity and moves no eigenvector, and they fill the places that trimming removes. Ours looks for "
        "what the majority of a batch says, and at an even 0.6 the majority is outliers."
    ),
    cells=cells_of("pca", "even", "uneven"),
    pictures=distributed_pictures("pca", "figure-1c"),
    tables=tables_of("pca", "even", "uneven"),
    claims=DISTRIBUTED_CLAIMS,
)
