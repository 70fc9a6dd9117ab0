"""The bounds: lemmas on samples, rates on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from robustream.paper.drawing import STYLES, legend_below, logarithmic, new_figure, plot_band, tidy
from robustream.paper.experiment import Claim, Context, Experiment, Finding, Picture, Table, verdict
from robustream.paper.lemmas import lemma_cells
from robustream.paper.rates import DEFAULTS, FILTER_CONSTANTS, rate_cells
from robustream.paper.results import Cell, Results, slope

__all__ = ["EXPERIMENT", "THEORY_CLAIMS", "draw_filter", "draw_lemmas", "draw_rates"]

# Measured slopes may be steeper than a bound's; above it by more than this they contradict it.
TOLERANCE = 0.1
NAMES = {"batches": "T", "rows": "b", "columns": "p", "fraction": "odds of outliers"}


def _lemma_1(results: Results) -> Finding:
    some = results.where(statement="lemma 1")
    largest = max(some.values("largest"))
    text = (
        f"Largest error over {sum(some.values('trials')):.0f} samples with bad points that agree, near or far: "
        f"{largest:.2f} of the bound."
    )
    return Finding("holds" if largest <= 1 + 1e-6 else "does not hold", text)


def _lemma_4(results: Results) -> Finding:
    some = results.where(statement="lemma 4")
    pairs = list(zip(some.values("observed"), some.values("promised"), strict=True))
    kept = sum(observed >= promised for observed, promised in pairs)
    gap = min(observed - promised for observed, promised in pairs)
    text = f"The median is near as often as promised in {kept} of {len(pairs)} settings; least margin {gap:+.4f}."
    return Finding(verdict(kept, len(pairs)), text)


def _theorem_3(results: Results) -> Finding:
    some = results.where(statement="theorem 3")
    space, line = some.mean("least", cloud="in space"), some.mean("least", cloud="on a straight line")
    text = (
        f"Least curvature over pairs of points: {space:.3f} for a cloud in space, {line:.3f} for one on a straight "
        "line, which Condition 1 excludes."
    )
    return Finding("holds" if space > 0 else "does not hold", text)


def _theorem_4(results: Results) -> Finding:
    slopes = {}
    for name in FILTER_CONSTANTS:
        some = results.where(problem="filter", method=f"to the median, constant {name}")
        places = [place for place in some.different("value") if place >= 30]
        slopes[name] = slope(places, [some.rms(value=place) for place in places])
    places = [place for place in results.different("value", problem="filter") if place >= 30]
    # With the chance that the theorem leaves open at 1 / e, the largest it allows for.
    bound = slope(places, [(math.log(math.log(place)) + 2) / place for place in places])
    listed = "; ".join(f"constant {name}: {value:.2f}" for name, value in slopes.items())
    # A function is convex with any smaller constant too, so that the theorem speaks of these as well.
    rate = [slopes[name] <= bound + TOLERANCE for name, factor in FILTER_CONSTANTS.items() if factor <= 1]
    text = (
        f"Slopes of the filter's distance to the median on logarithmic axes: {listed}. The rate has {bound:.2f} over "
        "the same steps. It is there only for the one constant that equals the curvature; smaller ones, which the "
        "theorem allows for, give about -1/2, as its source proves for the squared distance, and larger ones stop "
        "short."
    )
    return Finding(verdict(sum(rate), len(rate)), text)


def _measured(results: Results, problem: str, sweep: str, method: str) -> float:
    """Return the slope of an error along one quantity, on logarithmic axes."""
    some = results.where(problem=problem, sweep=sweep, method=method)
    places = some.different("value")
    shown = [place / (1 - place) if sweep == "fraction" else place for place in places]
    return slope(shown, [some.rms(value=place) for place in places])


def _slopes(results: Results, problem: str, method: str, bounds: dict[str, float]) -> tuple[int, str]:
    """Count the slopes that are no larger than those of a bound's leading terms, and say all of them."""
    slopes = {sweep: _measured(results, problem, sweep, method) for sweep in bounds}
    good = sum(slopes[sweep] <= bound + TOLERANCE for sweep, bound in bounds.items())
    return good, "; ".join(f"{NAMES[sweep]} {slopes[sweep]:.2f} (bound {bound:g})" for sweep, bound in bounds.items())


def _rate(results: Results, problem: str, bounds: dict[str, float]) -> Finding:
    """Judge the bound of one batch."""
    good, words = _slopes(results, problem, "one batch", bounds)
    text = f"Slopes of the error on logarithmic axes: {words}. A bound holds if the error rises no faster."
    return Finding(verdict(good, len(bounds)), text)


def _streamed_rate(results: Results, problem: str, bounds: dict[str, float]) -> Finding:
    """Judge the bound of a stream as its proof does: the exact median's error, and the filter's way to it apart."""
    good, words = _slopes(results, problem, "geometric median", bounds)
    filtered = ", ".join(
        f"{NAMES[sweep]} {_measured(results, problem, sweep, 'online median'):.2f}" for sweep in ("batches", *bounds)
    )
    text = (
        "The bound is the sum of the exact median's error and the filter's distance to it. Slopes of the former on "
        f"logarithmic axes: {words}. Slopes of the filter's error: {filtered}; its distance to the median, which is "
        "the term in T, is judged at Theorem 4."
    )
    return Finding(verdict(good, len(bounds)), text)


def _single(results: Results) -> Finding:
    """Ask whether one bad estimate ruins the average and leaves the median alone."""
    some = results.where(statement="one bad estimate")
    near, far = (some.where(distance=distance) for distance in (0.0, max(some.different("distance"))))
    averaging, median = (far.mean(name) / near.mean(name) for name in ("averaging", "median"))
    projectors = far.mean("projectors") / near.mean("projectors")
    text = (
        f"One of 40 estimates at a distance of {far.mean('distance'):,.0f} spreads: the average's error grows "
        f"{averaging:,.0f} times, the median's {median:.2f} times. One of 40 projectors as wrong as it can be: the "
        f"average's grows {projectors:.2f} times only, since projectors are bounded."
    )
    return Finding(verdict((averaging > 100) + (projectors > 2), 2) if median < 2 else "does not hold", text)


THEORY_CLAIMS = (
    Claim("l.106, Lemma 1", "The median's error is at most C_gamma times the radius of the good points.", _lemma_1),
    Claim("l.265", "A single bad estimate can make the average arbitrarily bad, and not the median.", _single),
    Claim("l.367, Lemma 4", "The median is near with a chance that grows with the number of estimates.", _lemma_4),
    Claim("l.430, Theorem 3", "The median's loss is strongly convex.", _theorem_3),
    Claim("l.442, Theorem 4", "The filter nears the median at the rate log log t / t.", _theorem_4),
    Claim(
        "l.166, l.229, Proposition 1, Theorem 1",
        "ORL-PCA: the error falls as 1/sqrt(b) and rises at most with p and the odds of outliers.",
        lambda results: _streamed_rate(results, "pca", {"rows": -0.5, "columns": 1.0, "fraction": 1.0}),
    ),
    Claim(
        "l.254, Theorem 2",
        "ORL-LR: the error falls as 1/sqrt(b) and rises at most with sqrt(p) and the odds of outliers.",
        lambda results: _streamed_rate(results, "regression", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.478, Theorem 5",
        "RC-PCA on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "pca", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.525, Lemma 5",
        "RoTR on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "regression", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
)


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


def _odds(fraction: float) -> float:
    return fraction / (1 - fraction)


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
    yield from lemma_cells(context.size, context.seed)
    yield from rate_cells(context.size, context.seed)


def _tables(results: Results) -> Sequence[Table]:
    lemma = results.where(statement="lemma 4")
    lines = [
        [f"{row['good']:.2f}", f"{row['share']:.2f}", f"{row['promised']:.3f}", f"{row['observed']:.3f}"]
        for row in lemma.rows
    ]
    head = ("chance of a good estimate", "gamma", "promised", "observed")
    return (Table("Lemma 4: chance that the median of 40 estimates is near.", head, lines),)


EXPERIMENT = Experiment(
    name="theory",
    title="The bounds",
    line="Sections 2, 4, 5, 7",
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
    claims=THEORY_CLAIMS,
)
