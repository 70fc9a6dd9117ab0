"""Pictures of the theory: errors on logarithmic axes with the slopes of the bounds drawn in."""

from __future__ import annotations

from typing import Any

from robustream.paper.drawing.style import STYLES, legend_below, logarithmic, new_figure, plot_band, tidy
from robustream.paper.results import Results, slope
from robustream.paper.theory_rates import FILTER_CONSTANTS

__all__ = ["draw_filter", "draw_lemmas", "draw_rates"]

NAMES = {
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
        for axes, sweep in zip(line, NAMES, strict=True):
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
            tidy(axes, f"{words}: bound's slope {BOUNDS[problem][sweep]:g}", NAMES[sweep], y)
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
