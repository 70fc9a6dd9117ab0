"""Our own default method on the paper's experiments, including where it loses to the paper's methods.

The oracle is the plain method on clean rows alone. There are two of it. One has the clean rows of the batches that can
be repaired; the other one has all clean rows, also the few in batches where outliers are the majority, which nobody can
tell apart by looking at such a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from robustream.paper.drawing import KIND_WORDS
from robustream.paper.experiment import Case, Claim, Context, Criterion, Experiment, Table, number
from robustream.paper.results import Cell, Results, root_mean_square
from robustream.paper.simulation import RULES, cells_of, scenario_words
from robustream.paper.table_1 import OURS_FAULTS, table_1_cells
from robustream.paper.table_2 import tag_cells

__all__ = ["EXPERIMENT", "losses", "near_oracle", "on_the_way", "streams"]

NEAR = 1.15
USABLE = "oracle of usable batches"
# The paper's methods, and what they are compared with, under every way of trimming.
PAPER_METHODS = ("centralized", "averaging", "geometric median", "online median")
PROBLEM_WORDS = {"pca": "PCA", "regression": "regression"}


class Measured(NamedTuple):
    """Root mean squares of one stream: ours, both oracles, and the best of the paper's methods."""

    problem: str
    spread: str
    kind: str
    words: str
    beyond_repair: float
    ours: float
    usable: float
    oracle: float
    best: float
    best_method: str


def streams(results: Results) -> list[Measured]:
    """Measure all streams."""
    found = []
    for problem in results.different("problem"):
        some = results.where(problem=problem, seen=None, order="random")
        for scenario in some.different("scenario", method="ours"):
            here = some.where(scenario=scenario)
            row = here.rows[0]
            ours, usable, oracle = (here.rms(method=method) for method in ("ours", USABLE, "oracle"))
            errors = {
                f"{method}, {rule}": here.rms(method=method, rule=rule) for method in PAPER_METHODS for rule in RULES
            }
            known = {name: error for name, error in errors.items() if error == error} or {"none": float("nan")}
            best = min(known, key=lambda name: known[name])
            spread, kind = str(row["spread"]), str(row["kind"])
            repair = here.rms("beyond_repair", method="ours")
            words = scenario_words(here)
            found.append(Measured(problem, spread, kind, words, repair, ours, usable, oracle, known[best], best))
    return found


def _groups(measured: Sequence[Measured]) -> Iterator[tuple[str, list[Measured]]]:
    """Return streams that are alike but for their shares, with a name."""
    names: dict[str, list[Measured]] = {}
    for one in measured:
        name = f"{PROBLEM_WORDS[one.problem]}, {one.spread}, {KIND_WORDS[one.kind]}"
        names.setdefault(name, []).append(one)
    yield from names.items()


def near_oracle(results: Results, oracle: str) -> list[Case]:
    """Compare ours with an oracle, wherever fewer than half of the batches are beyond repair."""
    found = []
    for name, group in _groups([one for one in streams(results) if one.beyond_repair < 0.5]):
        ratios = [one.ours / getattr(one, oracle) for one in group]
        numbers = {"streams": len(group), "within 1.15": sum(ratio <= NEAR for ratio in ratios)}
        found.append(Case(name, {**numbers, "largest ours / oracle": max(ratios)}))
    return found


def losses(results: Results) -> list[Case]:
    """Compare ours with the best of the paper's methods and of both ways of trimming, chosen in hindsight."""
    found = []
    for name, group in _groups(streams(results)):
        ratios = [one.ours / one.best for one in group]
        numbers = {"streams": len(group), "where the paper's is better": sum(ratio > 1.05 for ratio in ratios)}
        found.append(Case(name, {**numbers, "largest ours / paper's best": max(ratios)}))
    return found


def on_the_way(results: Results) -> list[Case]:
    """Compare ours with the oracle of what has arrived, wherever fewer than half of that is beyond repair."""
    found = []
    for problem in results.different("problem"):
        some = results.where(problem=problem)
        some = Results(row for row in some.rows if row.get("seen") is not None)
        for scenario in some.different("scenario", method="ours"):
            for order in some.different("order", scenario=scenario):
                here = some.where(scenario=scenario, order=order)
                ratios = [ratio for seen in here.different("seen") if (ratio := _ratio_at(here.where(seen=seen)))]
                if ratios:
                    words = f"{PROBLEM_WORDS[str(problem)]}, {scenario_words(here)}, bad ones {order}"
                    found.append(Case(words, {"moments": len(ratios), "largest ours / oracle": max(ratios)}))
    return found


def _ratio_at(arrived: Results) -> float | None:
    pairs = [
        (arrived.rms(method="ours", repetition=row["repetition"]), float(row["error"]))  # type: ignore[arg-type]
        for row in arrived.where(method=USABLE).rows
        if float(row["beyond_repair"]) < 0.5  # type: ignore[arg-type]
    ]
    if not pairs:
        return None
    return root_mean_square([a for a, _ in pairs]) / root_mean_square([b for _, b in pairs])


def _faults(results: Results) -> list[Case]:
    """Compare ours under the faults of Table 1 with DRL."""
    found = []
    for fault in OURS_FAULTS:
        ours, median = (results.mean(fault=fault, method=method) for method in ("ours", "DRL"))
        found.append(Case(fault, {"ours": ours, "DRL, after SVD": median, "ours / DRL": ours / median}))
    return found


def _tags(results: Results) -> list[Case]:
    """Compare ours on spoiled tags with ours where the spoiled batches were left out."""
    found = []
    for data in ("clip art", "delicious"):
        for bad in [share for share in results.different("bad", data=data) if share]:
            some = results.where(data=data, bad=bad)
            ours, without = (
                some.mean("precision", method=method) for method in ("ours", "ours, spoiled batches left out")
            )
            found.append(
                Case(f"{data}, {bad:.0%} spoiled", {"ours": ours, "left out": without, "share kept": ours / without})
            )
    return found


def _wrong_labels(results: Results) -> list[Case]:
    """Compare ours with ridge where people gave wrong labels, in all batches alike."""
    some, found = results.where(data="CIFAR-10N"), []
    for labels in some.different("labels"):
        ours, ridge = (some.mean("precision", labels=labels, method=name) for name in ("ours", "ridge on everything"))
        found.append(Case(f"labels: {labels}", {"ours": ours, "ridge": ridge, "ours / ridge": ours / ridge}))
    return found


def _tables(results: Results) -> Sequence[Table]:
    lines = [
        [
            PROBLEM_WORDS[one.problem],
            one.words,
            *(number(value) for value in (one.ours, one.oracle)),
            f"{one.ours / one.oracle:.2f}",
            f"{one.ours / one.usable:.2f}" if one.usable == one.usable else "-",
            number(one.best),
            one.best_method,
            f"{one.ours / one.best:.2f}",
        ]
        for one in streams(results)
    ]
    head = (
        "problem", "outliers", "ours", "oracle", "ours / oracle", "ours / oracle of usable batches",
        "best of the paper's", "which", "ours / best",
    )  # fmt: skip
    lost = [line for line in lines if float(line[-1]) > 1.05]
    caption = "Root mean square of the relative error over repetitions. The best of the paper's is chosen in hindsight."
    return (
        Table("Where a method of the paper does better than ours, by more than 5%.", head, lost),
        Table(caption, head, lines),
    )


def _cells(context: Context) -> Iterator[Cell]:
    simulations = [cells_of(problem, "even", "uneven", "adversarial")(context) for problem in PROBLEM_WORDS]
    yield from chain(*simulations, table_1_cells(context), tag_cells(context))


EXPERIMENT = Experiment(
    name="ours",
    title="Our own method",
    place="not in the paper",
    says="Nothing: this is the default of this package, learner `refined` and aggregator `filtered`, on the same data.",
    setup=(
        "The streams of Figure 1, the faults of Table 1 and the tags of Table 2. The default method is not told how "
        "many outliers there are, nor any constant. The oracle is the plain method on the clean rows alone."
    ),
    remark=(
        "The default looks for what the majority of a batch says. Where outliers are the majority of every batch, "
        "that is the outliers, and trimming half of the largest products, as the paper does, is better against "
        "outliers that are large and without structure."
    ),
    cells=_cells,
    pictures=(),
    tables=_tables,
    claims=(
        Claim(
            "ours",
            "Within 1.15 times the oracle of the batches that can be repaired, where most batches can be.",
            partial(near_oracle, oracle="usable"),
            Criterion("largest ours / oracle", at_most=NEAR),
            reading="oracle: the plain method on the clean rows of batches with fewer than half outliers",
        ),
        Claim(
            "ours",
            "The same against the oracle of all clean rows, those in batches with a majority of outliers included.",
            partial(near_oracle, oracle="oracle"),
            Criterion("largest ours / oracle", at_most=NEAR),
        ),
        Claim(
            "ours",
            "The same on the way, after any number of batches.",
            on_the_way,
            Criterion("largest ours / oracle", at_most=NEAR),
        ),
        Claim(
            "ours",
            "No method of the paper does better, by more than 5%, on any stream.",
            losses,
            Criterion("largest ours / paper's best", at_most=1.05),
        ),
        Claim("ours", "No worse than DRL under the faults of Table 1.", _faults, Criterion("ours / DRL", at_most=1.0)),
        Claim(
            "ours",
            "On spoiled tags it keeps 95% of what it reaches without the spoiled batches.",
            _tags,
            Criterion("share kept", at_least=0.95),
        ),
        Claim(
            "ours",
            "Where all batches have wrong human labels it is no worse than ridge.",
            _wrong_labels,
            Criterion("ours / ridge", at_least=0.99),
            reading="CIFAR-10N, where `--data` gives it",
        ),
    ),
)
