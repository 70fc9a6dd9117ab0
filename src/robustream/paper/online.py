"""Section 6, online setting: Figures 1a (PCA) and 1b (regression)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from robustream.paper.bounds import median_constant
from robustream.paper.drawing import KIND_WORDS, draw_adversarial, draw_constants, draw_convergence, draw_paths
from robustream.paper.experiment import Case, Claim, Criterion, Experiment, Picture
from robustream.paper.problems import PROBLEMS
from robustream.paper.results import Results
from robustream.paper.scenarios import KINDS, LEVELS
from robustream.paper.simulation import (
    CONSTANT,
    RULE_WORDS,
    RULES,
    cells_of,
    compared,
    near_centralized,
    stream_tables,
)

__all__ = ["ALIKE", "BETTER", "FIGURE_1A", "FIGURE_1B", "edge_words"]

# Within this factor two errors count as comparable; beyond the other one the smaller counts as clearly better.
ALIKE, BETTER = 1.25, 1.5
PLACE = "Section 6, Online setting"
METHODS = {"pca": ("ORL-PCA", "RC-PCA"), "regression": ("ORL-LR", "RoTR")}


def _hard(results: Results, kind: str, rules: Sequence[str] = tuple(RULES)) -> Iterator[tuple[str, str, Results]]:
    """Return the streams with 40% bad batches by what is in them and how much is trimmed, in words and as rows."""
    some = results.where(spread="adversarial", share=0.4, kind=kind, seen=None, order="random")
    for level in LEVELS:
        for rule in rules:
            yield f"{level:.0%} outliers in a bad batch, {RULE_WORDS[rule]}", rule, some.where(level=level)


def bound_of(results: Results, rule: str, share: float) -> dict[str, float]:
    """Return the radius of the good batches, and what Lemma 1 promises with it."""
    radius = results.rms(method="radius of the good batches", rule=rule)
    return {"radius of the good batches": radius, "C_gamma times it": median_constant(share) * radius}


def survives(results: Results, kind: str) -> list[Case]:
    """Compare the filter with Lemma 1's promise, where 40% of the batches are bad."""
    found = []
    for words, rule, some in _hard(results, kind):
        numbers = {"ORL": some.rms(method="online median", rule=rule), **bound_of(some, rule, 0.4)}
        found.append(Case(words, {**numbers, "part of the bound": numbers["ORL"] / numbers["C_gamma times it"]}))
    return found


def survives_orders(results: Results, kind: str) -> list[Case]:
    """Do so wherever in the stream the bad batches come."""
    some = results.where(spread="adversarial", share=0.4, level=1.0, kind=kind)
    found = []
    for order in some.different("order"):
        last = max(some.different("seen"), default=0)
        error = some.rms(method="online median", rule="own", order=order, seen=last)
        numbers = {"ORL": error, **bound_of(some, "own", 0.4)}
        found.append(
            Case(f"bad batches {order}", {**numbers, "part of the bound": error / numbers["C_gamma times it"]})
        )
    return found


def averaging_fails(
    results: Results, kind: str, method: str = "averaging", rules: Sequence[str] = tuple(RULES)
) -> list[Case]:
    """Compare averaging with the filter, where 40% of the batches are bad."""
    return [
        Case(words, compared(some, method, "online median", ("averaging", "ORL"), rule=rule))
        for words, rule, some in _hard(results, kind, rules)
    ]


def contrast(results: Results, kind: str) -> list[Case]:
    """Compare averaging with both medians, where 40% of the batches are nothing but outliers."""
    some = results.where(spread="adversarial", share=0.4, level=1.0, kind=kind, seen=None, order="random")
    return [
        Case(name, compared(some, "averaging", method, ("averaging", "median")))
        for method, name in (("online median", "ORL"), ("geometric median", "exact median"))
    ]


def base_fails(results: Results, kind: str) -> list[Case]:
    """Look at single batches in which outliers are the majority."""
    return [
        Case(
            words,
            {
                "one bad batch": some.rms(method="one bad batch", rule=rule),
                "one good batch": some.rms(method="one good batch", rule=rule),
            },
        )
        for words, rule, some in _hard(results, kind)
    ]


def best_constant(results: Results) -> list[Case]:
    """Compare the filter with all rows at once, with the constant that is best in hindsight."""
    found = []
    for fraction in results.different("fraction", spread="even", method="constant"):
        some = results.where(spread="even", fraction=fraction, kind="printed", rule="own", seen=None)
        errors = {place: some.rms(method="constant", constant=place) for place in some.different("constant")}
        best = min(errors, key=lambda place: errors[place])
        numbers = {"constant": best, "ORL": errors[best], "centralized": some.rms(method="centralized")}
        found.append(
            Case(
                f"share {fraction:g}, own share trimmed{edge_words(best, list(errors))}",
                {**numbers, "factor": numbers["ORL"] / numbers["centralized"]},
            )
        )
    return found


def edge_words(best: float, grid: Sequence[float]) -> str:
    """Return a warning where the best of a grid lies on its edge, so that a better one may lie beyond.

    >>> edge_words(1.0, [0.1, 1.0]), edge_words(1.0, [0.1, 1.0, 10.0])
    (' (the best constant lies on the edge of the grid)', '')
    """
    return " (the best constant lies on the edge of the grid)" if best in (min(grid), max(grid)) else ""


def _claims(problem: str) -> tuple[Claim, ...]:
    online, base = METHODS[problem]
    constant = f"constant {CONSTANT[problem]:g}"
    # The printed outliers of regression agree on a wrong answer; those of PCA do not, and averaging resists them.
    contrasting = "stronger" if problem == "pca" else "printed"
    claims = [
        Claim(
            PLACE,
            f"{online} reaches about the error of batch {base} on all rows.",
            best_constant,
            Criterion("factor", at_most=ALIKE),
            printed="comparable",
            reading="the same share in all batches, own share trimmed, the constant best in hindsight",
            headline=problem == "pca",
        ),
        Claim(
            PLACE,
            "The same with the constant of all other lines.",
            partial(near_centralized, method="online median", name=online, kind="printed"),
            Criterion("factor", at_most=ALIKE),
            printed="comparable",
            reading=f"the same share in all batches, up to half; {constant}",
        ),
        Claim(
            PLACE,
            f"{base}: averaging fails where 40% of the batches are outliers, and the median does not.",
            partial(contrast, kind=contrasting),
            Criterion("factor", at_least=BETTER),
            printed="averaging fails, ORL does not",
            reading=f"own share trimmed; {KIND_WORDS[contrasting]}; {constant}, or the exact median",
            headline=True,
        ),
    ]
    for kind in KINDS:
        words = KIND_WORDS[kind]
        claims += [
            Claim(
                f"{PLACE}; Lemma 1",
                f"{online} survives 40% corrupted batches: {words}.",
                partial(survives, kind=kind),
                Criterion("part of the bound", at_most=1.0),
                printed="correct estimation",
                reading=f"within C_gamma times the radius of the good batches; {constant}",
                headline=kind == "printed" and problem == "regression",
            ),
            Claim(
                PLACE,
                f"It does so whatever the order of the batches: {words}.",
                partial(survives_orders, kind=kind),
                Criterion("part of the bound", at_most=1.0),
                reading="own share trimmed",
            ),
            Claim(
                PLACE,
                f"Averaging fails on 40% corrupted batches: {words}.",
                partial(averaging_fails, kind=kind),
                Criterion("factor", at_least=BETTER),
                reading=constant,
            ),
            Claim(
                "Section 3; Section 6, Online setting",
                f"{base} is useless on a batch with half outliers or more: {words}.",
                partial(base_fails, kind=kind),
                Criterion("one bad batch", at_least=1.0),
                reading="useless: as far off as no answer at all",
            ),
        ]
    if problem == "pca":
        claims.append(
            Claim(
                PLACE,
                "Averaged eigenvector matrices fail on 40% corrupted batches.",
                partial(averaging_fails, kind="printed", method="averaging of eigenvectors", rules=("own",)),
                Criterion("factor", at_least=BETTER),
                reading="own share trimmed; such an average is bad without any outlier, too",
            )
        )
    return tuple(claims)


def _pictures(problem: str, name: str) -> Sequence[Picture]:
    return (
        Picture(
            f"{name}-bad-batches",
            "Error against the share of bad batches; each batch trims its own share.",
            draw_adversarial(problem, "own"),
        ),
        Picture(
            f"{name}-bad-batches-half-trim",
            "Error against the share of bad batches; one half is trimmed, as Algorithm 4 prints.",
            draw_adversarial(problem, "half"),
        ),
        Picture(f"{name}-convergence", "Error against batches seen, all batches alike.", draw_convergence(problem)),
        Picture(
            f"{name}-batches-seen",
            "Error against batches seen; 40% of the batches are all outliers, each batch trims its own share. Where "
            "they come anywhere, in some repetitions they are the majority of the first batches.",
            draw_paths(problem),
        ),
        Picture(
            f"{name}-constant",
            "Error at the end against the filter's constant; each batch trims its own share.",
            draw_constants(problem),
        ),
    )


def _setup(problem: str) -> str:
    return (
        "A million rows of 100 columns in 100 batches; a tenth of the rows in a quick run. The noise has deviation 1, "
        "and outliers have magnitude 10. Outliers lie evenly in all batches, or some of the batches are bad and the "
        f"others clean. A bad batch has 60 or 100% outliers. Stronger outliers are {PROBLEMS[problem].stronger}. Each "
        "batch trims its own share, at most half, or one half. Errors are the root mean square over repetitions."
    )


FIGURE_1A = Experiment(
    name="figure-1a",
    title="Figure 1a: online PCA",
    place=PLACE,
    says=(
        "ORL-PCA converges to about what batch RC-PCA reaches with all rows at hand, at a fraction of time and memory. "
        "When up to 40% of the batches are overwhelmed by outliers, the estimates of these are useless, averaging "
        "fails, and ORL-PCA still finds the subspace."
    ),
    setup=_setup("pca"),
    remark=(
        "The figure itself is not in the source. Averaged projectors resist outliers without structure, such as those "
        "in a box; the contrast with the median comes out with outliers that agree. It also takes a small constant, "
        "and good batches that are not trimmed: trimming half of a clean batch leaves its estimate so far off that "
        "the median falls as well."
    ),
    cells=cells_of("pca", "even", "adversarial"),
    pictures=_pictures("pca", "figure-1a"),
    tables=stream_tables("pca", "even", "adversarial"),
    claims=_claims("pca"),
)
FIGURE_1B = Experiment(
    name="figure-1b",
    title="Figure 1b: online regression",
    place=PLACE,
    says="As for PCA: ORL-LR is robust to outliers and to corrupted batches, and naive averaging is not.",
    setup=_setup("regression"),
    remark=(
        "The printed outliers all agree on -theta. RoTR shrinks: trimming makes coefficients too short, so that an "
        "error near 1 means an answer near 0, which bad batches can hardly make worse. Where each batch trims its own "
        "share, clean batches are not shrunk, and the contrast is there."
    ),
    cells=cells_of("regression", "even", "adversarial"),
    pictures=_pictures("regression", "figure-1b"),
    tables=stream_tables("regression", "even", "adversarial"),
    claims=_claims("regression"),
)
