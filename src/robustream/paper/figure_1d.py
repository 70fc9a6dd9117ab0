"""Figure 1d: distributed regression."""

from __future__ import annotations

from robustream.paper.claims.distributed import DISTRIBUTED_CLAIMS
from robustream.paper.experiment import Experiment
from robustream.paper.figure_1 import DISTRIBUTED_SETUP, cells_of, distributed_pictures, tables_of

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="figure-1d",
    title="Figure 1d: distributed regression",
    line="l.310, l.312",
    says=(
        "As for PCA: alike up to 0.5, plain least squares broken from 0.1 on; at 0.6 centralized and "
        "averaging break and DRL does not."
    ),
    setup=DISTRIBUTED_SETUP,
    remark=(
        "The outliers agree on -theta and have large x: their products are the largest and are trimmed first. As long "
        "as at least their share is trimmed, what is left of the error is mostly shrinkage, the price of trimming, "
        "which is the same for one node, many nodes and all rows at once. A node full of outliers has nothing else to "
        "keep. Ours looks for what the majority of a batch says, and at an even 0.6 the majority is outliers."
    ),
    cells=cells_of("regression", "even", "uneven"),
    pictures=distributed_pictures("regression", "figure-1d"),
    tables=tables_of("regression", "even", "uneven"),
    claims=DISTRIBUTED_CLAIMS,
)
