"""The theory: lemmas on samples, rates on logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robustream.paper.cells import Cell
from robustream.paper.claims.theory import THEORY_CLAIMS
from robustream.paper.drawing.theory import draw_filter, draw_lemmas, draw_rates
from robustream.paper.experiment import Context, Experiment, Picture, Table
from robustream.paper.results import Results
from robustream.paper.theory_lemmas import lemma_cells
from robustream.paper.theory_rates import DEFAULTS, rate_cells

__all__ = ["EXPERIMENT"]


def _cells(context: Context) -> Iterator[Cell]:
    yield from lemma_cells(context.size, context.seed)
    yield from rate_cells(context.size, context.seed)


def _tables(results: Results) -> Sequence[Table]:
    lemma = results.where(statement="lemma 4")
    lines = [
        [f"{row['good']:.2f}", f"{row['share']:.2f}", f"{row['promised']:.3f}", f"{row['observed']:.3f}"]
        for row in lemma.rows
    ]
    head = ("chance of a good estimate", "gamma", "promised", "observed")
    return (Table("Lemma 4: chance that the median of 40 estimates is near.", head, lines),)


EXPERIMENT = Experiment(
    name="theory",
    title="The bounds",
    line="Sections 2, 4, 5, 7",
    says=(
        "Lemma 1 bounds the median's error, Lemma 4 its chance of being large; the median's loss is strongly convex "
        "(Theorem 3), so that the filter nears it as log log t / t (Theorem 4); Proposition 1 and Theorems 1, 2 and 5 "
        "give rates in T, b, p and the odds of outliers."
    ),
    setup=(
        f"One quantity varies at a time around T = {DEFAULTS.batches}, b = {DEFAULTS.rows}, p = {DEFAULTS.columns} "
        "and no outliers; three components; the share trimmed is that of the outliers. The paper's outliers are "
        "spread evenly."
    ),
    remark=(
        "Bounds are upper bounds: an error that falls faster, or rises more slowly, agrees with them. The proofs of "
        "Theorems 1 and 2 have N where the statements have b."
    ),
    cells=_cells,
    pictures=(
        Picture(
            "theory-rates",
            "Errors with the slopes of the bounds' leading terms. The bounds are sums: the term in T falls as 1/T, the "
            "others do not depend on T.",
            draw_rates,
        ),
        Picture("theory-filter", "Theorem 4: the filter on its way, normal estimates in 10 dimensions.", draw_filter),
        Picture("theory-lemmas", "Lemma 1 and Lemma 4 on samples.", draw_lemmas),
    ),
    tables=_tables,
    claims=THEORY_CLAIMS,
)
