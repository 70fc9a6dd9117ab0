"""The bounds: lemmas on samples, rates on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from robustream.paper.bounds import DEFAULTS, FILTER_CONSTANTS, GAMMA, lemma_cells, median_constant, rate_cells
from robustream.paper.drawing import STYLES, legend_below, logarithmic, new_figure, plot_band, tidy
from robustream.paper.experiment import Case, Claim, Context, Criterion, Experiment, Picture, Table
from robustream.paper.results import Cell, Results, slope

__all__ = ["EXPERIMENT", "draw_filter", "draw_lemmas", "draw_rates"]

# Measured slopes may be steeper than a bound's; above it by more than this they contradict it.
TOLERANCE = 0.1
NAMES = {"batches": "T", "rows": "b", "columns": "p", "fraction": "odds of outliers", "others": "lambda(gamma)"}


def _lemma_1(results: Results) -> list[Case]:
    some = results.where(statement="lemma 1")
    return [
        Case(
            f"{share:.0%} bad points, near or far",
            {"largest part of the bound": max(some.values("largest", share=share))},
        )
        for share in some.different("share")
    ]


def _lemma_4(results: Results) -> list[Case]:
    return [
        Case(
            f"chance of a good estimate {row['good']:.1f}, gamma {row['share']:g}",
            {"promised": float(row["promised"]), "observed": float(row["observed"]),  # type: ignore[arg-type]
             "margin": float(row["observed"]) - float(row["promised"])},  # type: ignore[arg-type]
        )
        for row in results.where(statement="lemma 4").rows
    ]  # fmt: skip


def _theorem_3(results: Results) -> list[Case]:
    some = results.where(statement="theorem 3")
    line = some.mean("least", cloud="on a straight line")
    return [
        Case(
            "a cloud in space (Condition 1 excludes a straight line)",
            {"least curvature": some.mean("least", cloud="in space"), "on a straight line": line},
        )
    ]


def _theorem_4(results: Results) -> list[Case]:
    found = []
    places = [place for place in results.different("value", problem="filter") if place >= 30]
    # With the chance that the theorem leaves open at 1 / e, the largest it allows for.
    bound = slope(places, [(math.log(math.log(place)) + 2) / place for place in places])
    for name, factor in FILTER_CONSTANTS.items():
        some = results.where(problem="filter", method=f"to the median, constant {name}")
        measured = slope(places, [some.rms(value=place) for place in places])
        # A function is convex with any smaller constant too: the theorem speaks of these as well, not of larger ones.
        if factor <= 1:
            numbers = {"slope": measured, "slope of the rate": bound, "slope above it": measured - bound}
            found.append(Case(f"constant {name}", numbers))
    return found


def _odds(fraction: float) -> float:
    return fraction / (1 - fraction)


def _measured(results: Results, problem: str, sweep: str, method: str) -> float:
    """Return the slope of an error along one quantity, on logarithmic axes."""
    some = results.where(problem=problem, sweep=sweep, method=method)
    places = some.different("value")
    shown = [_odds(place) if sweep in ("fraction", "others") else place for place in places]
    return slope(shown, [some.rms(value=place) for place in places])


def _slopes(results: Results, problem: str, method: str, bounds: dict[str, float]) -> list[Case]:
    """Compare slopes with those of a bound's leading terms."""
    found = []
    for sweep, bound in bounds.items():
        measured = _measured(results, problem, sweep, method)
        numbers = {"slope": measured, "slope of the bound": bound, "slope above it": measured - bound}
        found.append(Case(NAMES[sweep], numbers))
    return found


def _lambda_gamma(results: Results, problem: str) -> list[Case]:
    """Ask whether the worst batches leave the error bounded, however bad they are."""
    found = []
    some = results.where(problem=problem, sweep="worst")
    for value in some.different("value"):
        here = some.where(value=value)
        bound = median_constant(GAMMA) * here.rms(method="radius of the good batches")
        for method, name in (("geometric median", "exact median"), ("online median", "ORL")):
            error = here.rms(method=method)
            numbers = {"error": error, "C_gamma times the radius": bound, "part of the bound": error / bound}
            found.append(Case(f"{value:.0%} outliers in the worst 40%, {name}", numbers))
    return found


def _single(results: Results) -> list[Case]:
    """Ask whether one bad estimate ruins the average and leaves the median alone."""
    some = results.where(statement="one bad estimate")
    near, far = (some.where(distance=distance) for distance in (0.0, max(some.different("distance"), default=0.0)))
    median = far.mean("median") / near.mean("median")
    return [
        Case(words, {"average's error grows": growth, "median's error grows": median, "factor": growth / median})
        for words, growth in (
            ("one of 40 vectors, far away", far.mean("averaging") / near.mean("averaging")),
            ("one of 40 projectors, as wrong as it can be", far.mean("projectors") / near.mean("projectors")),
        )
    ]


AXIS_NAMES = {
    "batches": "number of batches, T",
    "rows": "rows in a batch, b",
    "columns": "columns, p",
    "fraction": "outliers for each clean row",
}
# The exponents of the leading terms: Proposition 1 and Theorems 1, 2 and 5.
BOUNDS = {
    "pca": {"batches": -1.0, "rows": -0.5, "columns": 1.0, "fraction": 1.0},
    "regression": {"batches": -1.0, "rows": -0.5, "columns": 0.5, "fraction": 1.0},
}


def draw_rates(results: Results) -> Any:
    """Draw error against T, b, p and the share of outliers, with the bound's slope through the first median."""
    figure, grid = new_figure(11.5, 6.0, 2, 4, sharey="row")
    for line, problem in zip(grid, BOUNDS, strict=True):
        for axes, sweep in zip(line, AXIS_NAMES, strict=True):
            some = results.where(problem=problem, sweep=sweep)
            for method in ("one batch", "geometric median", "online median"):
                here = some.where(method=method)
                places = here.different("value")
                if not places:
                    continue
                shown = [_odds(place) if sweep == "fraction" else place for place in places]
                bands = [here.band(value=place) for place in places]
                plot_band(axes, method, shown, bands)
                if method == "geometric median":
                    _draw_slope(axes, shown, bands[0].middle, BOUNDS[problem][sweep])  # type: ignore[union-attr]
                    measured = slope(shown, [band.middle for band in bands if band])
                    axes.text(
                        0.03, 0.03, f"slope of the median: {measured:.2f}", transform=axes.transAxes, fontsize=8
                    )  # fmt: skip
            words = "PCA" if problem == "pca" else "regression"
            # The panels of a line share their scale, and its name.
            y = "relative error" if sweep == "batches" else ""
            tidy(axes, f"{words}: bound's slope {BOUNDS[problem][sweep]:g}", AXIS_NAMES[sweep], y)
            logarithmic(axes, x=True)
            _mark_places(axes, [_odds(place) if sweep == "fraction" else place for place in some.different("value")])
    legend_below(figure, grid.flat, 4)
    return figure


def _mark_places(axes: Any, places: list[float]) -> None:
    """Label every other place: on a logarithmic axis of little more than one decade matplotlib labels too much."""
    axes.minorticks_off()
    axes.set_xticks(places, [f"{place:.2g}" if place < 10 else f"{place:.0f}" for place in places])
    # Long names start at the second place: at the first one they would meet those of the panel to the left.
    for label in axes.get_xticklabels()[0 if places and places[0] < 1 else 1 :: 2]:
        label.set_visible(False)


def _draw_slope(axes: Any, places: list[float], start: float, exponent: float) -> None:
    values = [start * (place / places[0]) ** exponent for place in places]
    axes.plot(places, values, color="0.4", linestyle=":", linewidth=1.5, label="slope of the bound's leading term")


def draw_filter(results: Results) -> Any:
    """Draw how the filter nears the geometric median, and the truth, for several constants."""
    figure, grid = new_figure(11.0, 4.0, 1, len(FILTER_CONSTANTS), sharey=True)
    for axes, constant in zip(grid[0], FILTER_CONSTANTS, strict=True):
        for goal, method in (("median", "geometric median"), ("truth", "oracle")):
            here = results.where(problem="filter", method=f"to the {goal}, constant {constant}")
            places = here.different("value")
            if not places:
                continue
            bands = [here.band(value=place) for place in places]
            words = f"distance to the {'geometric median so far' if goal == 'median' else 'truth'}"
            plot_band(axes, method, places, bands, words)
        if axes.lines:
            start = axes.lines[0].get_ydata()[0]
            for exponent, dashes in ((-0.5, "--"), (-1.0, ":")):
                values = [start * (place / places[0]) ** exponent for place in places]
                axes.plot(
                    places, values, color=STYLES["centralized"].color, linestyle=dashes, label=f"slope {exponent:g}"
                )
        tidy(axes, f"constant {constant}", "batches seen, t", "distance")
        logarithmic(axes, x=True)
        axes.label_outer()
    legend_below(figure, grid.flat, 4)
    return figure


def draw_lemmas(results: Results) -> Any:
    """Draw errors of the median in multiples of Lemma 1's bound, and chances against Lemma 4's promise."""
    figure, grid = new_figure(9.5, 4.0, 1, 2)
    first, second = grid[0]
    some = results.where(statement="lemma 1")
    for dimension, method in zip(some.different("dimension"), ("centralized", "online median", "ours"), strict=False):
        here = some.where(dimension=dimension)
        places = here.different("share")
        style = STYLES[method]
        first.plot(places, [here.rms("largest", share=place) for place in places], color=style.color,
                   marker=style.marker, label=f"largest of all trials, {dimension} dimensions")  # fmt: skip
    first.axhline(1.0, color="0.4", linestyle=":", label="the bound")
    first.set_ylim(0, 1.1)
    tidy(first, "Lemma 1", "share of bad estimates", "error over the bound")
    here = results.where(statement="lemma 4")
    second.plot(here.values("promised"), here.values("observed"), "o", color=STYLES["ours"].color, label="settings")
    second.plot([0, 1], [0, 1], color="0.4", linestyle=":", label="the bound")
    tidy(second, "Lemma 4", "promised chance of being near", "observed")
    legend_below(figure, grid.flat, 3)
    return figure


def _cells(context: Context) -> Iterator[Cell]:
    yield from lemma_cells(context)
    yield from rate_cells(context)


def _tables(results: Results) -> Sequence[Table]:
    return ()


def _claims() -> Sequence[Claim]:
    above = Criterion("slope above it", at_most=TOLERANCE)
    bounded = Criterion("part of the bound", at_most=1.0)
    claims = [
        Claim(
            "Lemma 1",
            "The median's error is at most C_gamma times the radius of the good points.",
            _lemma_1,
            Criterion("largest part of the bound", at_most=1 + 1e-6),
        ),
        Claim(
            "Section 5.3",
            "A single bad estimate can make the average arbitrarily bad, and not the median.",
            _single,
            Criterion("factor", at_least=10.0),
            reading="projectors are bounded",
        ),
        Claim(
            "Lemma 4",
            "The median is near with a chance that grows with the number of estimates.",
            _lemma_4,
            Criterion("margin", at_least=0.0),
        ),
        Claim(
            "Theorem 3",
            "The median's loss is strongly convex.",
            _theorem_3,
            Criterion("least curvature", at_least=1e-6),
        ),
        Claim(
            "Theorem 4",
            "The filter nears the median at the rate log log t / t.",
            _theorem_4,
            above,
            reading="the constant equals the curvature, or is four times too small",
        ),
    ]
    names = {"pca": ("ORL-PCA", "Theorem 1", "Theorem 5", 1.0), "regression": ("ORL-LR", "Theorem 2", "Lemma 5", 0.5)}
    for problem, (online, theorem, single, columns) in names.items():
        claims += [
            Claim(
                f"Proposition 1, {theorem}",
                f"{online}: the error depends on the better batches only, however bad the worst 40% are.",
                partial(_lambda_gamma, problem=problem),
                bounded,
                reading="lambda(gamma): within C_gamma times the radius of the other batches",
            ),
            Claim(
                f"Proposition 1, {theorem}",
                f"{online}: the error falls as 1/sqrt(b) and rises at most with p and with lambda(gamma).",
                partial(
                    _slopes,
                    problem=problem,
                    method="geometric median",
                    bounds={"rows": -0.5, "columns": columns, "fraction": 1.0, "others": 1.0},
                ),
                above,
                reading="slopes of the exact median's error; the filter's way to it is judged at Theorem 4",
            ),
            Claim(
                single,
                "One batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
                partial(
                    _slopes, problem=problem, method="one batch", bounds={"rows": -0.5, "columns": 0.5, "fraction": 1.0}
                ),
                above,
                reading="a bound holds if the error rises no faster",
            ),
        ]
    return claims


EXPERIMENT = Experiment(
    name="theory",
    title="The bounds",
    place="Sections 2, 4, 5 and 7",
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
    claims=_claims(),
)
