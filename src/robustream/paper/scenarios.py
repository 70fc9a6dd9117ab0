"""What a batch holds and how batches make up a stream: the settings of the simulations, as plain data.

A stream is one content for each batch. The clean rows of a batch are the same whatever its content, so that an estimate
of one (batch, content, learner) is worked out once and serves every stream, order and aggregator.
"""

from __future__ import annotations

from typing import NamedTuple

from robustream.sources import place_batches, spread_outliers

__all__ = ["CLEAN", "GARBAGE", "Content", "Scenario", "adversarial", "evenly", "unevenly"]

# What bad rows are: without structure, or in agreement on one wrong answer.
GARBAGE = ("incoherent", "colluding")
# The largest share of nodes that are filled with outliers in an uneven spread: below one half, so that most nodes
# stay usable.
UNEVEN_SHARE = 0.45
# Even shares of bad rows, and the share of bad batches, that get a closer look.
DETAILED_FRACTIONS = (0.0, 0.2)
DETAILED_SHARE = 0.4


class Content(NamedTuple):
    """The share of bad rows in a batch, and their kind: "paper", "incoherent" or "colluding"."""

    level: float
    kind: str = "paper"

    @property
    def beyond_repair(self) -> bool:
        """Whether the bad rows are no minority: no learner can tell which rows are meant then."""
        return self.level >= 0.5


CLEAN = Content(0.0)


class Scenario(NamedTuple):
    """A stream: its name, the contents in order of the batches' indices, and what it is called in tables."""

    name: str
    contents: tuple[Content, ...]
    spread: str  # "even", "uneven" or "adversarial"
    fraction: float  # bad rows among all rows
    share: float  # bad batches among all batches
    level: float  # bad rows in a bad batch
    kind: str
    detailed: bool = False  # whether orders, paths and constants are looked at as well

    @property
    def beyond_repair(self) -> float:
        """The share of batches beyond repair."""
        return sum(content.beyond_repair for content in self.contents) / len(self.contents)


def evenly(fraction: float, batches: int) -> Scenario:
    """Return every batch the same share of the paper's outliers."""
    contents = (Content(fraction) if fraction else CLEAN,) * batches
    detailed = fraction in DETAILED_FRACTIONS
    return Scenario(f"even-{fraction:g}", contents, "even", fraction, 1.0, fraction, "paper", detailed=detailed)


def unevenly(fraction: float, batches: int, rows: int, seed: int) -> Scenario:
    """Fill up to 45% of the batches with the paper's outliers; what is left over lies evenly in the others."""
    levels = spread_outliers(fraction, batches, kind="concentrated", rows=rows, share=UNEVEN_SHARE, seed=seed)
    # To a thousandth, so that batches whose shares differ by one row count as the same content.
    contents = tuple(Content(round(float(level), 3)) if level else CLEAN for level in levels)
    share = sum(level > 0.5 for level in levels) / batches
    return Scenario(f"uneven-{fraction:g}", contents, "uneven", fraction, share, 1.0, "paper")


def adversarial(share: float, level: float, kind: str, batches: int, seed: int) -> Scenario:
    """Spoil a share of the batches, and leave the others clean."""
    bad = set(place_batches(round(share * batches), batches, seed=seed).tolist())
    contents = tuple(Content(level, kind) if index in bad else CLEAN for index in range(batches))
    name = f"adversarial-{share:g}-{level:g}-{kind}"
    return Scenario(name, contents, "adversarial", share * level, share, level, kind, detailed=share == DETAILED_SHARE)
