"""Figure 1a: online PCA."""

from __future__ import annotations

from robustream.paper.claims.online import ONLINE_CLAIMS
from robustream.paper.experiment import Experiment
from robustream.paper.figure_1 import ONLINE_SETUP, cells_of, online_pictures, tables_of

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    name="figure-1a",
    title="Figure 1a: online PCA",
    line="l.303",
    says=(
        "ORL-PCA converges to about what batch RC-PCA reaches with all rows at hand, at a fraction of time "
        "and memory. When up to 40% of the batches are overwhelmed by outliers, the estimates of these are "
        "useless, averaging fails, and ORL-PCA still finds the subspace."
    ),
    setup=ONLINE_SETUP,
    remark=(
        "The figure itself is not in the source. The paper does not say how outliers are spread over batches, which "
        "constant the filter had, or whether projectors or eigenvectors are averaged. Averaging projectors is itself "
        "resistant to garbage without structure. Against garbage that agrees, trimming leaves the answers of good "
        "batches so far apart that the median falls to it as well; where nothing is trimmed, good batches agree, the "
        "median holds, and the paper's contrast with averaging is there."
    ),
    cells=cells_of("pca", "even", "uneven", "adversarial"),
    pictures=online_pictures("pca", "figure-1a"),
    tables=tables_of("pca", "even", "uneven", "adversarial"),
    claims=ONLINE_CLAIMS["pca"],
)
