"""How large a reproduction is, what a batch holds, and how batches make up a stream, all as plain data.

A stream is one content for each batch. The clean rows of a batch are the same whatever its content, so that an estimate
of one (batch, content, learner) is worked out once and serves every stream, order and aggregator.
"""

from __future__ import annotations

from typing import NamedTuple

from robustream.sources import place_batches, spread_outliers

__all__ = ["CLEAN", "KINDS", "LEVELS", "SIZES", "Content", "Scenario", "Size", "adversarial", "evenly", "unevenly"]


class Size(NamedTuple):
    """The numbers that differ between a full and a quick run; as they stand, those of the full one."""

    name: str = "full"
    batches: int = 100  # T and k of the paper
    rows: int = 10_000  # in a batch
    columns: int = 100
    components: int = 5
    repetitions: int = 3
    # Of outliers among all rows, beside none.
    fractions: tuple[float, ...] = (0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.9)
    bad_shares: tuple[float, ...] = (0.1, 0.2, 0.4, 0.45)  # of batches that are bad in the adversarial streams
    table_repetitions: int = 10
    tag_repetitions: int = 3
    bad_tags: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4)  # shares of batches with spoiled tags
    tag_rows: int = 325  # images in a batch
    tag_batches: int = 15
    scale_seconds: float = 240.0  # for all methods of the run with 4,096 columns together
    scale_columns: int = 4096
    scale_rows: int = 10_000  # in a batch of that run
    theory_repetitions: int = 5
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


# The paper's own outliers, and stronger ones: see the classes of `problems`.
KINDS = ("printed", "stronger")
# Shares of outliers in a batch that is overwhelmed by them.
LEVELS = (0.6, 1.0)
# The largest share of nodes that are filled with outliers in an uneven spread: below one half, so that most nodes
# stay usable.
UNEVEN_SHARE = 0.45
# Even shares of outliers, and the share of bad batches, that get a closer look.
DETAILED_FRACTIONS = (0.0, 0.2)
DETAILED_SHARE = 0.4


class Content(NamedTuple):
    """The share of outliers in a batch, and their kind."""

    level: float
    kind: str = "printed"

    @property
    def beyond_repair(self) -> bool:
        """Whether the outliers are no minority: no learner can tell which rows are meant then."""
        return self.level >= 0.5

    @property
    def own_trim(self) -> float:
        """The batch's own share of outliers, at most half: what Eq. 6, Theorem 5 and Lemma 5 speak of."""
        return min(self.level, 0.5)


CLEAN = Content(0.0)


class Scenario(NamedTuple):
    """A stream: its name, the contents in order of the batches' indices, and what it is called in tables."""

    name: str
    contents: tuple[Content, ...]
    spread: str  # "even", "uneven" or "adversarial"
    fraction: float  # outliers among all rows
    share: float  # bad batches among all batches
    level: float  # outliers in a bad batch
    kind: str
    detailed: bool = False  # whether orders, paths and constants are looked at as well

    @property
    def beyond_repair(self) -> float:
        """The share of batches beyond repair."""
        return sum(content.beyond_repair for content in self.contents) / len(self.contents)


def evenly(fraction: float, kind: str, batches: int) -> Scenario:
    """Return the stream with the same share of outliers in every batch."""
    contents = (Content(fraction, kind) if fraction else CLEAN,) * batches
    detailed = fraction in DETAILED_FRACTIONS and kind == "printed"
    return Scenario(f"even-{fraction:g}-{kind}", contents, "even", fraction, 1.0, fraction, kind, detailed=detailed)


def unevenly(fraction: float, kind: str, batches: int, rows: int, seed: int) -> Scenario:
    """Return the stream with up to 45% of the batches full of outliers; what is left over lies evenly in the others."""
    levels = spread_outliers(fraction, batches, kind="concentrated", rows=rows, share=UNEVEN_SHARE, seed=seed)
    # To a thousandth, so that batches whose shares differ by one row count as the same content.
    contents = tuple(Content(round(float(level), 3), kind) if level else CLEAN for level in levels)
    share = sum(level > 0.5 for level in levels) / batches
    return Scenario(f"uneven-{fraction:g}-{kind}", contents, "uneven", fraction, share, 1.0, kind)


def adversarial(share: float, level: float, kind: str, batches: int, seed: int) -> Scenario:
    """Return the stream with a share of bad batches; the others are clean."""
    bad = set(place_batches(round(share * batches), batches, seed=seed).tolist())
    contents = tuple(Content(level, kind) if index in bad else CLEAN for index in range(batches))
    name = f"adversarial-{share:g}-{level:g}-{kind}"
    detailed = share == DETAILED_SHARE and level == 1.0
    return Scenario(name, contents, "adversarial", share * level, share, level, kind, detailed=detailed)
