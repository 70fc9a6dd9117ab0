"""Garbage made on purpose, for tests, experiments and rehearsals.

A source is spoiled by wrapping it: whole batches (`CorruptedBatches`), rows (`CorruptedRows`) or single cells
(`CorruptedCells`). The wrappers nest, leave all else as it was, and know what they spoiled. Estimates on
their way from a node are spoiled by the functions in `FAULTS`, a list of them by `corrupt_estimates`.
"""

from robustream.sources.corruption.batches import BATCH_KINDS, CorruptedBatches
from robustream.sources.corruption.cells import CorruptedCells
from robustream.sources.corruption.estimates import (
    answer_zero,
    collude,
    flip_basis,
    flip_bits,
    flip_signs,
    lie_about_rows,
    lose_numbers,
    reply_stale,
)
from robustream.sources.corruption.faults import FAULTS, CorruptedEstimates, Fault, corrupt_estimates
from robustream.sources.corruption.rows import ROW_KINDS, CorruptedRows

__all__ = [
    "BATCH_KINDS",
    "FAULTS",
    "ROW_KINDS",
    "CorruptedBatches",
    "CorruptedCells",
    "CorruptedEstimates",
    "CorruptedRows",
    "Fault",
    "answer_zero",
    "collude",
    "corrupt_estimates",
    "flip_basis",
    "flip_bits",
    "flip_signs",
    "lie_about_rows",
    "lose_numbers",
    "reply_stale",
]
