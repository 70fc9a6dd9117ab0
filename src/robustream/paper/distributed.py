"""Section 6, distributed setting: Figures 1c (PCA) and 1d (regression)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from robustream.paper.drawing import KIND_WORDS, draw_fractions
from robustream.paper.experiment import Case, Claim, Criterion, Experiment, Picture
from robustream.paper.online import ALIKE, BETTER
from robustream.paper.problems import PROBLEMS
from robustream.paper.results import Results
from robustream.paper.scenarios import KINDS
from robustream.paper.simulation import RULE_WORDS, RULES, cells_of, compared, near_centralized, stream_tables

__all__ = ["FIGURE_1C", "FIGURE_1D"]

PLACE = "Section 6, Distributed setting"
ROBUST = {"geometric median": "DRL", "averaging": "averaging", "centralized": "centralized"}


def _up_to_half(results: Results, kind: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Return the errors of the robust methods and of the plain one for even shares up to one half."""
    for fraction in results.different("fraction", spread="even", kind=kind):
        if not 0 < fraction <= 0.5:
            continue
        some = results.where(spread="even", fraction=fraction, kind=kind, seen=None)
        for rule, words in RULE_WORDS.items():
            errors = {name: some.rms(method=method, rule=rule) for method, name in ROBUST.items()}
            yield f"share {fraction:g}, {words}", {**errors, "plain": some.rms(method="plain")}


def alike(results: Results, kind: str) -> list[Case]:
    """Compare the three robust ways with one another."""
    found = []
    for words, errors in _up_to_half(results, kind):
        robust = [errors[name] for name in ROBUST.values()]
        found.append(Case(words, {**errors, "largest / least": max(robust) / min(robust)}))
    return found


def better_than_plain(results: Results, kind: str) -> list[Case]:
    """Compare the worst of the robust ways with the plain one."""
    found = []
    for words, errors in _up_to_half(results, kind):
        worst = max(errors[name] for name in ROBUST.values())
        found.append(Case(words, {"plain": errors["plain"], "worst robust": worst, "factor": errors["plain"] / worst}))
    return found


def without_outliers(results: Results) -> list[Case]:
    """Compare with the plain method where there are no outliers."""
    some = results.where(spread="even", fraction=0.0, seen=None)
    return [
        Case(words, compared(some, "geometric median", "plain", ("DRL", "plain"), rule=rule))
        for rule, words in (("own", "nothing trimmed"), ("half", "half trimmed"))
    ]


def plain_breaks(results: Results) -> list[Case]:
    """Ask whether a tenth of outliers breaks the plain method."""
    clean, dirty = (results.rms(spread="even", fraction=share, method="plain", seen=None) for share in (0.0, 0.1))
    return [Case("10% outliers", {"clean": clean, "10%": dirty, "factor": dirty / clean})]


def centralized_breaks(results: Results, kind: str, shares: Sequence[float] = ()) -> list[Case]:
    """Compare the centralized method at shares beyond one half with itself at 0.4."""
    found = []
    for share in [one for one in shares if results.where(spread="even", fraction=one)]:
        for rule, words in RULE_WORDS.items():
            some = results.where(spread="even", kind=kind, method="centralized", rule=rule)
            before, after = some.rms(fraction=0.4), some.rms(fraction=share)
            numbers = {"at 0.4": before, "at this share": after, "factor": after / before}
            found.append(Case(f"share {share:g}, {words}", numbers))
    return found


def against_median(
    results: Results, method: str, kind: str, spreads: Sequence[str], rules: Sequence[str] = tuple(RULES)
) -> list[Case]:
    """Compare a method with the geometric median at a share of 0.6."""
    found = []
    for spread in spreads:
        some = results.where(fraction=0.6, kind=kind, seen=None)
        for rule in rules:
            median = some.rms(spread=spread, method="geometric median", rule=rule)
            # All rows at once are the same rows, however they are spread.
            other = some.rms(spread="even" if method == "centralized" else spread, method=method, rule=rule)
            numbers = {method: other, "DRL": median, "factor": other / median}
            found.append(Case(f"{spread} spread, {RULE_WORDS[rule]}", numbers))
    return found


def _claims(problem: str) -> tuple[Claim, ...]:
    contrasting = "stronger" if problem == "pca" else "printed"
    claims = [
        Claim(
            PLACE,
            "At a share of 0.6 the centralized method breaks and DRL does not.",
            partial(against_median, method="centralized", kind=contrasting, spreads=("uneven",), rules=("own",)),
            Criterion("factor", at_least=BETTER),
            printed="centralized breaks sharply, DRL is much better",
            reading=f"45% of the nodes full of outliers, each node trims its own share; {KIND_WORDS[contrasting]}",
            headline=problem == "pca",
        ),
        Claim(
            PLACE,
            "Without outliers DRL is slightly worse than plain.",
            without_outliers,
            Criterion("factor", at_least=1.0, at_most=BETTER),
        ),
        Claim(PLACE, "Plain breaks down from 0.1 on.", plain_breaks, Criterion("factor", at_least=3.0)),
    ]
    for kind in KINDS:
        words = KIND_WORDS[kind]
        claims += [
            Claim(
                PLACE,
                f"Up to 0.5 DRL, division-averaging and centralized are alike: {words}.",
                partial(alike, kind=kind),
                Criterion("largest / least", at_most=ALIKE),
                printed="similar performances",
                reading="the same share on every node",
                headline=kind == "printed" and problem == "pca",
            ),
            Claim(
                PLACE,
                f"Up to 0.5 they are much better than plain: {words}.",
                partial(better_than_plain, kind=kind),
                Criterion("factor", at_least=BETTER),
            ),
            Claim(
                PLACE,
                f"At 0.6 centralized breaks sharply: {words}.",
                partial(centralized_breaks, kind=kind, shares=(0.6,)),
                Criterion("factor", at_least=2.0),
            ),
            Claim(
                PLACE,
                f"Centralized breaks later than that: {words}.",
                partial(
                    centralized_breaks,
                    kind=kind,
                    shares=(
                        0.7,
                        0.8,
                        0.9,
                    ),
                ),
                Criterion("factor", at_least=2.0),
                reading="not in the paper, which ends at 0.6",
            ),
            Claim(
                PLACE,
                f"At 0.6 division-averaging is much worse than DRL: {words}.",
                partial(against_median, method="averaging", kind=kind, spreads=("even", "uneven")),
                Criterion("factor", at_least=BETTER),
            ),
            Claim(
                PLACE,
                f"DRL even enhances the robustness of the base method: {words}.",
                partial(against_median, method="centralized", kind=kind, spreads=("uneven",)),
                Criterion("factor", at_least=ALIKE),
                reading="a share of 0.6, unevenly spread: 45% of the nodes full of outliers",
            ),
            Claim(
                "Section 1; Section 6, Distributed setting",
                f"Little robustness is lost to the centralized method: {words}.",
                partial(near_centralized, method="geometric median", name="DRL", kind=kind),
                Criterion("factor", at_most=ALIKE),
            ),
        ]
    return tuple(claims)


def _pictures(problem: str, name: str) -> Sequence[Picture]:
    return tuple(
        Picture(
            f"{name}-{kind}",
            f"Error against the share of outliers: {KIND_WORDS[kind]}.",
            draw_fractions(problem, kind),
        )
        for kind in KINDS
    )


def _setup(problem: str) -> str:
    return (
        "A million rows of 100 columns on 100 nodes; a tenth of the rows in a quick run. The noise has deviation 1, "
        "and outliers have magnitude 10. The paper does not say how outliers are spread over nodes. Even: every node "
        "has the same share. Uneven: 45% of the nodes are filled with outliers first, and the rest is spread evenly, "
        f"so that at 0.6 the other nodes hold 27%. Stronger outliers are {PROBLEMS[problem].stronger}. Each node trims "
        "its own share, at most half, or one half."
    )


FIGURE_1C = Experiment(
    name="figure-1c",
    title="Figure 1c: distributed PCA",
    place=PLACE,
    says=(
        "Up to a share of 0.5, DRL, division-averaging and the centralized method are alike and much better than plain "
        "PCA; without outliers they are slightly worse than plain PCA. At 0.6 the centralized and the averaging method "
        "break sharply, and DRL does not: it even enhances the robustness of the base method."
    ),
    setup=_setup("pca"),
    remark=(
        "With outliers uniform in a box nothing breaks sharply at 0.6: their covariance is a multiple of the identity "
        "and moves no eigenvector, and they fill the places that trimming removes. The printed break comes out with "
        "outliers of the same magnitude in one wrong subspace and an uneven spread."
    ),
    cells=cells_of("pca", "even", "uneven"),
    pictures=_pictures("pca", "figure-1c"),
    tables=stream_tables("pca", "even", "uneven"),
    claims=_claims("pca"),
)
FIGURE_1D = Experiment(
    name="figure-1d",
    title="Figure 1d: distributed regression",
    place=PLACE,
    says=(
        "As for PCA: alike up to 0.5, plain least squares broken from 0.1 on; at 0.6 centralized and averaging break "
        "and DRL does not."
    ),
    setup=_setup("regression"),
    remark=(
        "The printed outliers agree on -theta and have large x: their products are the largest and are trimmed first. "
        "As long as at least their share is trimmed, what is left of the error is mostly shrinkage, which is the same "
        "for one node, many nodes and all rows at once. A node full of outliers has nothing else to keep."
    ),
    cells=cells_of("regression", "even", "uneven"),
    pictures=_pictures("regression", "figure-1d"),
    tables=stream_tables("regression", "even", "uneven"),
    claims=_claims("regression"),
)
