"""How large a reproduction is: the paper's size, a tenth of it for a check, a tiny one to test the machinery."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SIZES", "Size"]


class Size(NamedTuple):
    """The numbers that differ between a full and a quick run."""

    name: str
    batches: int  # T and k of the paper
    rows: int  # in a batch
    columns: int
    components: int
    repetitions: int
    fractions: tuple[float, ...]  # of outliers among all rows
    bad_shares: tuple[float, ...]  # of batches that are bad in the adversarial streams
    table_repetitions: int
    tag_repetitions: int
    bad_tags: tuple[float, ...]  # shares of batches with spoiled tags
    tag_columns: int
    tag_rows: int  # images in a batch
    tag_batches: int
    scale_seconds: float  # for each method of the run with 4,096 columns
    scale_columns: int
    scale_rows: int  # in a batch of that run
    theory_repetitions: int
    sweep_step: int  # every so many-th place of a sweep of the theory is looked at
    filter_steps: int  # how far the filter is followed
    lemma_trials: int

    @property
    def total_rows(self) -> int:
        """N of the paper."""
        return self.batches * self.rows


SIZES: dict[str, Size] = {
    size.name: size
    for size in (
        Size(
            "full",
            batches=100,
            rows=10_000,
            columns=100,
            components=5,
            repetitions=5,
            fractions=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
            bad_shares=(0.1, 0.2, 0.3, 0.4, 0.45),
            table_repetitions=10,
            tag_repetitions=3,
            bad_tags=(0.0, 0.1, 0.2, 0.3, 0.4),
            tag_columns=1280,
            tag_rows=325,
            tag_batches=15,
            scale_seconds=600.0,
            scale_columns=4096,
            scale_rows=10_000,
            theory_repetitions=10,
            sweep_step=1,
            filter_steps=10_000,
            lemma_trials=2000,
        ),
        Size(
            "quick",
            batches=50,
            rows=2_000,
            columns=100,
            components=5,
            repetitions=2,
            fractions=(0.0, 0.1, 0.2, 0.4, 0.6),
            bad_shares=(0.2, 0.4),
            table_repetitions=2,
            tag_repetitions=1,
            bad_tags=(0.0, 0.4),
            tag_columns=640,
            tag_rows=200,
            tag_batches=15,
            scale_seconds=5.0,
            scale_columns=1024,
            scale_rows=1_000,
            theory_repetitions=3,
            sweep_step=1,
            filter_steps=3_000,
            lemma_trials=200,
        ),
        Size(
            "tiny",
            batches=20,
            rows=400,
            columns=20,
            components=2,
            repetitions=1,
            fractions=(0.0, 0.1, 0.4, 0.6),
            bad_shares=(0.4,),
            table_repetitions=1,
            tag_repetitions=1,
            bad_tags=(0.0, 0.4),
            tag_columns=640,
            tag_rows=200,
            tag_batches=15,
            scale_seconds=1.0,
            scale_columns=256,
            scale_rows=500,
            theory_repetitions=1,
            sweep_step=2,
            filter_steps=300,
            lemma_trials=20,
        ),
    )
}
