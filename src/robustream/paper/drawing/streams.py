"""Pictures of the simulations: error against bad rows, bad batches, batches seen, and the filter's constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from robustream.paper.drawing.style import STYLES, legend_below, logarithmic, new_figure, plot_band, tidy
from robustream.paper.results import Results

__all__ = ["draw_adversarial", "draw_constants", "draw_convergence", "draw_fractions", "draw_paths"]

ERROR = "relative error"
KINDS = {"incoherent": "garbage without structure", "colluding": "garbage that agrees"}


def draw_fractions(problem: str, methods: Sequence[str]) -> Callable[[Results], Any]:
    """Draw error against the share of outliers among all rows, by spread (rows) and trim (columns)."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 7.2, 2, 2, sharex=True, sharey=True)
        for line, (spread, words) in zip(
            grid,
            (("even", "in all batches alike"), ("uneven", "fill up to 45% of the batches first")),
            strict=True,
        ):
            for axes, (rule, trim) in zip(line, (("true", "the true share"), ("half", "one half")), strict=True):
                some = results.where(problem=problem, spread=(spread, "even"), seen=None, order="random")
                for method in methods:
                    _fractions(axes, some, method, spread, rule)
                tidy(axes, f"outliers {words};\ntrimmed: {trim}", "share of outliers among all rows", ERROR)
                logarithmic(axes)
                axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw


def _fractions(axes: Any, results: Results, method: str, spread: str, rule: str) -> None:
    places, bands = [], []
    # The centralized method does not see which batch a row came from: its rows are those of the even spread.
    chosen = "even" if method == "centralized" else spread
    rules = ("", rule, "true and half")
    for fraction in results.different("fraction"):
        here = results.where(fraction=fraction, method=method, rule=rules, spread="even" if fraction == 0 else chosen)
        if band := here.band():
            places.append(fraction)
            bands.append(band)
    if places:
        plot_band(axes, method, places, bands)


def draw_adversarial(problem: str, rule: str, methods: Sequence[str]) -> Callable[[Results], Any]:
    """Draw error against the share of bad batches, by what is in a bad batch."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 7.2, 2, 2, sharex=True, sharey=True)
        for line, level in zip(grid, (1.0, 0.6), strict=True):
            for axes, (kind, words) in zip(line, KINDS.items(), strict=True):
                bad = results.where(problem=problem, spread="adversarial", kind=kind, level=level)
                for method in methods:
                    clean = results.where(problem=problem, spread="even", fraction=0.0)
                    places, bands = [], []
                    for share, some in [(0.0, clean), *((s, bad.where(share=s)) for s in bad.different("share"))]:
                        # Nothing is trimmed of a clean stream whose share of outliers is known to be 0.
                        here = some.where(seen=None, order="random", method=method, rule=("", rule))
                        if band := here.band():
                            places.append(share)
                            bands.append(band)
                    if places:
                        plot_band(axes, method, places, bands)
                tidy(axes, f"bad batches: {level:.0%} {words}", "share of bad batches", ERROR)
                logarithmic(axes)
                axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw


PATH_METHODS = ("plain", "averaging", "geometric median", "online median", "ours", "oracle")


def draw_convergence(problem: str) -> Callable[[Results], Any]:
    """Draw error against batches seen where all batches are alike: without outliers, and with a fifth of them."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 4.2, 1, 2, sharex=True, sharey=True)
        for axes, (fraction, words) in zip(
            grid[0], ((0.0, "no outliers"), (0.2, "20% outliers in all batches, 20% trimmed")), strict=True
        ):
            _path(axes, results.where(problem=problem, spread="even", fraction=fraction), words)
        legend_below(figure, grid.flat, 4)
        return figure

    return draw


def draw_paths(problem: str) -> Callable[[Results], Any]:
    """Draw error against batches seen with 40% bad ones, by their place in the stream."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(11.0, 6.6, 2, 3, sharex=True, sharey=True)
        for line, (kind, words) in zip(grid, KINDS.items(), strict=True):
            for axes, order in zip(line, ("random", "first", "last"), strict=True):
                some = results.where(problem=problem, spread="adversarial", share=0.4, level=1.0, kind=kind)
                where = {"random": "anywhere", "first": "first", "last": "last"}[order]
                _path(axes, some, f"bad batches come {where};\n{words}", order)
        legend_below(figure, grid.flat, 4)
        return figure

    return draw


def _path(axes: Any, results: Results, title: str, order: str = "random") -> None:
    """Draw the errors on the way, and that of all rows at once as a level, since it knows no way."""
    for method in PATH_METHODS:
        here = results.where(method=method, order=order, rule=("", "true"))
        places = here.different("seen")
        if places:
            plot_band(axes, method, places, [here.band(seen=moment) for moment in places])
    style = STYLES["centralized"]
    level = results.rms(method="centralized", rule="true", seen=None)
    if level == level:
        axes.axhline(level, color=style.color, linewidth=2.0, linestyle="-.", label=f"{style.label}, all rows at once")
    tidy(axes, title, "batches seen", ERROR)
    logarithmic(axes, x=True)
    axes.label_outer()


def draw_constants(problem: str) -> Callable[[Results], Any]:
    """Draw the final error of the filter against its constant, with the exact median and ours for comparison."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(11.0, 3.9, 1, 3, sharex=True, sharey=True)
        panels = (("even", 0.0, "paper"), ("adversarial", 0.4, "incoherent"), ("adversarial", 0.4, "colluding"))
        for axes, (spread, fraction, kind) in zip(grid[0], panels, strict=True):
            some = results.where(problem=problem, spread=spread, fraction=fraction, kind=kind)
            for order, dashes in (("random", "-"), ("first", "--"), ("last", ":")):
                here = some.where(method="constant", order=order)
                places = here.different("constant")
                values = [here.rms(constant=place) for place in places]
                if spread == "adversarial" or order == "random":
                    words = f"online median filter, bad batches {order}"
                    axes.plot(places, values, color=STYLES["online median"].color, linestyle=dashes, marker="o",
                              markersize=4, label=words)  # fmt: skip
            for method, rule in (("geometric median", "true"), ("ours", "")):
                level = some.where(method=method, rule=rule, seen=None).rms()
                axes.axhline(level, color=STYLES[method].color, linewidth=1.6, label=STYLES[method].label)
            words = "clean" if spread == "even" else f"40% of the batches: {KINDS[kind]}"
            tidy(axes, words, "the filter's constant", ERROR)
            logarithmic(axes, x=True)
            axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw
