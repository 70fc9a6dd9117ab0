"""How large a reproduction is: the paper's size, a tenth of it for a check, a tiny one to test the machinery."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SIZES", "Size"]


class Size(NamedTuple):
    """The numbers that differ between a full and a quick run; as they stand, those of the full one."""

    name: str = "full"
    batches: int = 100  # T and k of the paper
    rows: int = 10_000  # in a batch
    columns: int = 100
    components: int = 5
    repetitions: int = 3
    # Of outliers among all rows, beside none.
    fractions: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    bad_shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.45)  # of batches that are bad in the adversarial streams
    table_repetitions: int = 10
    tag_repetitions: int = 3
    bad_tags: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4)  # shares of batches with spoiled tags
    tag_rows: int = 325  # images in a batch
    tag_batches: int = 15
    scale_seconds: float = 600.0  # for all methods of the run with 4,096 columns together
    scale_columns: int = 4096
    scale_rows: int = 10_000  # in a batch of that run
    theory_repetitions: int = 10
    sweep_step: int = 1  # every so many-th place of a sweep of the theory is looked at
    filter_steps: int = 10_000  # how far the filter is followed
    lemma_trials: int = 2000

    @property
    def total_rows(self) -> int:
        """N of the paper."""
        return self.batches * self.rows


_QUICK = Size(
    "quick",
    batches=50,
    rows=2_000,
    repetitions=2,
    fractions=(0.1, 0.2, 0.4, 0.6, 0.9),
    bad_shares=(0.2, 0.4),
    table_repetitions=2,
    tag_repetitions=1,
    bad_tags=(0.0, 0.2, 0.4),
    tag_rows=200,
    scale_seconds=5.0,
    scale_columns=1024,
    scale_rows=1_000,
    theory_repetitions=3,
    filter_steps=3_000,
    lemma_trials=200,
)
_TINY = _QUICK._replace(
    name="tiny",
    batches=20,
    rows=400,
    columns=20,
    components=2,
    repetitions=1,
    fractions=(0.1, 0.2, 0.4, 0.6, 0.9),
    bad_shares=(0.4,),
    table_repetitions=1,
    scale_seconds=1.0,
    scale_columns=256,
    scale_rows=500,
    theory_repetitions=1,
    sweep_step=2,
    filter_steps=300,
    lemma_trials=20,
)
SIZES: dict[str, Size] = {size.name: size for size in (Size(), _QUICK, _TINY)}
