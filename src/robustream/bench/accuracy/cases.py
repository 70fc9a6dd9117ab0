"""The cases as data: what is bad, how much of it, where, in which design and size."""

from __future__ import annotations

import math
from fnmatch import fnmatch
from typing import Literal, NamedTuple

from robustream.bench.accuracy.contamination import Sample, make_pca, make_regression
from robustream.bench.accuracy.designs import TABLES

__all__ = ["PROBLEMS", "Case", "Garbage", "all_cases", "choose_cases"]

Problem = Literal["regression", "pca"]
PROBLEMS: tuple[Problem, ...] = ("regression", "pca")


class Garbage(NamedTuple):
    """Whole bad batches: kind and order as in `robustream.sources.CorruptedBatches`, and their share."""

    kind: str
    order: str
    fraction: float


class Case(NamedTuple):
    """One line of the gauntlet.

    `fraction` is the share of bad rows, or cells, in each batch that is not garbage as a whole; `law` the degrees of
    freedom of heavy tails; `uneven` is noise that grows away from the middle of a column; `rows` those of one batch.
    """

    problem: Problem
    group: str
    design: str
    columns: int
    rows: int
    batches: int = 1
    contamination: str = ""
    fraction: float = 0.0
    garbage: Garbage | None = None
    law: float = math.inf
    uneven: bool = False

    @property
    def name(self) -> str:
        """What tells the case from all others of its problem."""
        parts = []
        if self.garbage is not None:
            parts.append(f"{self.garbage.kind} {self.garbage.order} {self.garbage.fraction:.0%}")
        if self.contamination:
            parts.append(f"{self.contamination} {self.fraction:.0%}")
        if math.isfinite(self.law):
            parts.append(f"t{self.law:.0f} {'noise' if self.problem == 'regression' else 'rows'}")
        if self.uneven:
            parts.append("uneven noise")
        size = f"p={self.columns}" + (f" {self.batches}x{self.rows}" if self.batches > 1 else "")
        return f"{' + '.join(parts) or 'clean'}, {self.design} {size}"

    @property
    def tags(self) -> tuple[str, ...]:
        """What the case can be counted under, besides its group."""
        bad_rows = (
            self.fraction if self.contamination and self.contamination != "cells" and self.garbage is None else 0.0
        )
        return (
            *((f"{bad_rows:.0%} bad rows",) if bad_rows else ()),
            self.design,
            f"p={self.columns}",
            "stream" if self.batches > 1 else "table",
        )

    @property
    def components(self) -> int:
        """The number of leading directions of a PCA case."""
        return 2 if self.columns < 10 else 3 if self.columns < 50 else 5

    @property
    def standardize(self) -> bool:
        """Whether a PCA is one of columns of unit variance: it is where their scales differ."""
        return self.problem == "pca" and self.design == "scaled"

    @property
    def cost(self) -> float:
        """About how long a seed takes beside other cases, for the time left."""
        return 1.0 + self.rows * self.batches * self.columns / 1_000_000

    def generate(self, seed: int) -> Sample:
        """Return the batches, the masks of their clean rows and the truth for a seed."""
        return (make_regression if self.problem == "regression" else make_pca)(self, seed)


FRACTIONS = ((0.1, 0.2, 0.4), (0.1, 0.3, 0.4))
SIZES = {"regression": ((5, 800), (20, 1600), (60, 3000)), "pca": ((6, 800), (20, 1600), (100, 3000))}
DESIGNS = {
    "regression": ("identity", "correlated", "scaled"),
    "pca": ("strong", "correlated", "scaled", "faint"),
}
ROW_KINDS = {
    "regression": (
        "leverage", "cluster", "near cluster", "plane", "vertical",
        "small shift", "sign flip", "x error", "shuffled x", "scale",
        "missing code", "stuck",
    ),
    "pca": ("box", "cluster", "shift 8", "shift 5", "all columns", "plane", "scale", "rotated", "same row", "heavy"),
}  # fmt: skip
# Row contamination of wide tables, and of streams of small batches.
WIDE_KINDS = {
    "regression": (("leverage", 0.2), ("cluster", 0.4), ("plane", 0.3), ("sign flip", 0.4)),
    "pca": (("box", 0.4), ("cluster", 0.3), ("shift 8", 0.2), ("plane", 0.4)),
}
SMALL_KINDS = {
    "regression": (("leverage", 0.2), ("vertical", 0.3), ("sign flip", 0.1), ("plane", 0.4)),
    "pca": (("box", 0.2), ("shift 8", 0.3), ("all columns", 0.1), ("plane", 0.4)),
}
BAD_BATCHES = (
    ("random first 40", 0.0), ("random random 45", 0.0), ("random last 45", 0.1),
    ("colluding first 45", 0.0), ("colluding last 45", 0.0), ("colluding random 40", 0.1),
    ("colluding first 40", 0.2), ("constant first 40", 0.0), ("constant last 45", 0.0),
    ("constant random 45", 0.1), ("stale last 40", 0.0), ("stale first 45", 0.0),
)  # fmt: skip


def all_cases(problem: Problem) -> list[Case]:
    """Return every case of a problem, by group."""
    return [*_rows(problem), *_cells_and_tails(problem), *_bad_batches(problem), *_small(problem), *_clean(problem)]


def choose_cases(problem: str = "all", pattern: str = "", *, quick: bool = False) -> list[Case]:
    """Return the cases of a problem whose name, group or a tag has the pattern in it; quick: about a third.

    >>> [case.name for case in choose_cases("pca", "cells*p=20")]
    ['cells 2%, strong p=20', 'cells 5%, strong p=20']
    """
    wanted = f"*{pattern.lower()}*"
    chosen = []
    for each in PROBLEMS:
        if problem in (each, "all"):
            cases = all_cases(each)
            # Shares come in threes: another place in each three takes all of them in.
            chosen += [case for place, case in enumerate(cases) if not quick or (place + place // 3) % 3 == 0]
    return [case for case in chosen if any(fnmatch(w.lower(), wanted) for w in (case.name, case.group, *case.tags))]


def _rows(problem: Problem) -> list[Case]:
    """Every kind at three shares, each in another design and size; then wide ones, and everyday tables."""
    cases = []
    designs, sizes = DESIGNS[problem], SIZES[problem]
    for place, kind in enumerate(ROW_KINDS[problem]):
        shares = (0.1, 0.2, 0.3, 0.4) if kind == "shift 8" else FRACTIONS[place % 2]
        for step, share in enumerate(shares):
            columns, rows = sizes[(place + 2 * step) % len(sizes)]
            design = designs[(place + step) % len(designs)]
            cases.append(Case(problem, "rows", design, columns, rows, contamination=kind, fraction=share))
    plain = "correlated" if problem == "regression" else "strong"
    for kind, share in WIDE_KINDS[problem]:
        cases.append(Case(problem, "rows", plain, 200, 4000, contamination=kind, fraction=share))
    far = "leverage" if problem == "regression" else "box"
    near = "vertical" if problem == "regression" else "cluster"
    for kind, share, table in ((far, 0.3, "counts"), (near, 0.2, "one-hot"), (far, 0.1, "integers")):
        cases.append(Case(problem, "rows", table, 20, 2000, contamination=kind, fraction=share))
    return cases


def _cells_and_tails(problem: Problem) -> list[Case]:
    plain = "identity" if problem == "regression" else "strong"
    wide = SIZES[problem][2][0]
    cells = ((0.02, plain, 20, 2000), (0.05, plain, 20, 2000), (0.05, "correlated", wide, 3000))
    cases = [
        Case(problem, "cells", design, columns, rows, contamination="cells", fraction=share)
        for share, design, columns, rows in cells
    ]
    tails = ((3.0, plain, 20, 2000), (3.0, "correlated", wide, 3000), (1.0, plain, 5, 1000))
    for law, design, columns, rows in tails:
        cases.append(Case(problem, "heavy tails", design, columns, rows, law=law))
    contamination = "leverage" if problem == "regression" else "cluster"
    cases.append(Case(problem, "heavy tails", plain, 20, 2000, contamination=contamination, fraction=0.2, law=3.0))
    return cases


def _bad_batches(problem: Problem) -> list[Case]:
    cases = []
    contamination = "leverage" if problem == "regression" else "box"
    for place, (words, share) in enumerate(BAD_BATCHES):
        kind, order, percent = words.split()
        garbage = Garbage(kind, order, int(percent) / 100)
        design = DESIGNS[problem][place % 3]
        columns, rows = ((10, 400), (20, 400), (40, 600))[(place + place // 3) % 3]
        case = Case(problem, "bad batches", design, columns, rows, 20, garbage=garbage)
        cases.append(case._replace(contamination=contamination, fraction=share) if share else case)
    return cases


def _small(problem: Problem) -> list[Case]:
    """Batches of 300 rows, few or none of which can stand alone."""
    plain = "identity" if problem == "regression" else "strong"
    cases = []
    for columns, batches in ((30, 30), (200, 40)):
        for kind, share in SMALL_KINDS[problem]:
            cases.append(
                Case(problem, "small batches", plain, columns, 300, batches, contamination=kind, fraction=share)
            )
        garbage = Garbage("colluding", "first", 0.4)
        cases.append(Case(problem, "small batches", plain, columns, 300, batches, garbage=garbage))
        cases.append(Case(problem, "small batches", plain, columns, 300, batches))
    return cases


def _clean(problem: Problem) -> list[Case]:
    small, middle, large = SIZES[problem]
    sizes = zip(DESIGNS[problem], (middle, large, small, middle), strict=False)
    cases = [Case(problem, "clean", design, *size) for design, size in sizes]
    # Rows with t3 tails are a matter of heavy tails in PCA: there they have an oracle of their own.
    tables = TABLES if problem == "regression" else TABLES[1:]
    cases += [Case(problem, "clean", table, 20, 1500) for table in tables]
    if problem == "regression":
        cases += [Case(problem, "clean", "identity", *size, uneven=True) for size in (small, middle)]
    return cases
