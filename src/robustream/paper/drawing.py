"""How the pictures look: one colour, marker and line for each method, the same in all of them.

The colours are those of Okabe and Ito, which can be told apart with any kind of colour vision; markers and
dashes differ too.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

from robustream.paper.results import Results

__all__ = [
    "STYLES",
    "Style",
    "as_png",
    "draw_adversarial",
    "draw_constants",
    "draw_convergence",
    "draw_fractions",
    "draw_paths",
    "legend_below",
    "logarithmic",
    "new_figure",
    "plot_band",
    "tidy",
]

# In the palette of a picture.
COLOURS = 128


class Style(NamedTuple):
    """How a method is drawn, and what it is called."""

    label: str
    color: str
    marker: str
    dashes: str = "-"
    # Methods that come out alike lie on one another: wide lines below narrow ones show that there are several.
    width: float = 1.6


STYLES: dict[str, Style] = {
    "plain": Style("plain", "#000000", "x", ":"),
    "centralized": Style("centralized RC-PCA / RoTR", "#0072B2", "s", width=3.4),
    "averaging": Style("averaging", "#009E73", "^", width=2.4),
    "averaging of eigenvectors": Style("averaging of eigenvector matrices", "#56B4E9", "v", "--"),
    "geometric median": Style("geometric median (DRL)", "#CC79A7", "D", width=2.0),
    "online median": Style("online median filter (ORL)", "#E69F00", "o", width=1.2),
    "ours": Style("ours, defaults", "#D55E00", "*"),
    "oracle": Style("oracle (plain, clean rows only)", "#7F7F7F", "", "--"),
    "one batch": Style("one batch", "#0072B2", "s"),
}


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a figure without a screen, and its axes."""
    figure_class = import_module("matplotlib.figure").Figure
    figure = figure_class(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def plot_band(
    axes: Any,
    method: str,
    places: list[float],
    bands: list[Any],
    label: str | None = None,
    dashes: str | None = None,
) -> None:
    """Draw the middle of each band as a line, and the span as a shade; in the style of a method, if not told."""
    style = STYLES[method]
    axes.plot(
        places,
        [band.middle for band in bands],
        color=style.color,
        marker=style.marker or None,
        linestyle=dashes or style.dashes,
        label=label or style.label,
        # For the same reason a large hollow marker is drawn around small full ones.
        markersize={"*": 9, "^": 10, "s": 7}.get(style.marker, 4),
        markerfacecolor="none" if style.marker == "^" else style.color,
        linewidth=style.width,
        # The oracle's dashes over ours: where they meet, both can be seen.
        zorder={"ours": 3, "oracle": 4}.get(method, 2),
    )
    axes.fill_between(
        places, [band.low for band in bands], [band.high for band in bands], color=style.color, alpha=0.15, linewidth=0
    )


def tidy(axes: Any, title: str = "", x: str = "", y: str = "") -> None:
    """Label axes and leave out what carries no number."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(which="both", labelsize=8)
    axes.grid(True, which="major", color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def logarithmic(axes: Any, *, x: bool = False) -> None:
    """Make the scale of errors logarithmic, and that of places too if asked, with plain numbers beside it."""
    ticker = import_module("matplotlib.ticker")
    axes.set_yscale("log")
    scales = [axes.yaxis]
    if x:
        axes.set_xscale("log")
        scales.append(axes.xaxis)
    for scale in scales:
        scale.set_major_formatter(ticker.FuncFormatter(lambda value, place: f"{value:g}"))
        scale.set_minor_formatter(ticker.FuncFormatter(_between_powers(scale)))


def _between_powers(scale: Any) -> Callable[[float, int], str]:
    """Return names to 2 and 5 between powers of ten, only where there is hardly more than one power."""

    def name(value: float, place: int) -> str:
        low, high = scale.get_view_interval()
        digit = round(value / 10 ** math.floor(math.log10(value)))
        return f"{value:g}" if digit in (2, 5) and high < 50 * low else ""

    return name


def legend_below(figure: Any, axes: Iterable[Any], columns: int = 4) -> None:
    """Gather the labels of all panels in one legend below them, outside of every panel."""
    handles: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )


def as_png(figure: Any, dots: int = 110) -> bytes:
    """Return a figure as PNG, without a date, so that the same results give the same bytes.

    Pictures of lines need few colours: a palette makes them a third as large.
    """
    image = import_module("PIL.Image")
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=dots, metadata={"Software": None})
    image.open(full).convert("RGB").quantize(COLOURS, dither=image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


ERROR = "relative error"
KIND_WORDS = {"printed": "the paper's own outliers", "stronger": "stronger outliers"}
STREAM_METHODS = ("plain", "centralized", "averaging", "geometric median", "online median", "ours", "oracle")


def draw_fractions(problem: str, kind: str) -> Callable[[Results], Any]:
    """Draw error against the share of outliers among all rows, by spread (rows) and trim (columns)."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 7.2, 2, 2, sharex=True, sharey=True)
        spreads = (("even", "on all nodes alike"), ("uneven", "fill up to 45% of the nodes first"))
        for line, (spread, words) in zip(grid, spreads, strict=True):
            for axes, (rule, trim) in zip(line, (("own", "each node's own share"), ("half", "one half")), strict=True):
                some = results.where(problem=problem, kind=kind, seen=None, order="random", rule=("", rule))
                for method in STREAM_METHODS:
                    # All rows at once are the same rows, however they are spread.
                    here = some.where(spread="even" if method == "centralized" else spread, method=method)
                    clean = results.where(problem=problem, fraction=0.0, seen=None, rule=("", rule), method=method)
                    if method != "online median":
                        _draw_places(axes, method, here, "fraction", clean)
                tidy(axes, f"outliers {words};\ntrimmed: {trim}", "share of outliers among all rows", ERROR)
                logarithmic(axes)
                axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw


def draw_adversarial(problem: str, rule: str) -> Callable[[Results], Any]:
    """Draw error against the share of bad batches, by what is in a bad batch."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 7.2, 2, 2, sharex=True, sharey=True)
        some = results.where(problem=problem, seen=None, order="random", rule=("", rule))
        for line, level in zip(grid, (1.0, 0.6), strict=True):
            for axes, (kind, words) in zip(line, KIND_WORDS.items(), strict=True):
                for method in STREAM_METHODS:
                    here = some.where(spread="adversarial", kind=kind, level=level, method=method)
                    clean = some.where(spread="even", fraction=0.0, method=method)
                    if method != "centralized":
                        _draw_places(axes, method, here, "share", clean)
                tidy(axes, f"bad batches: {level:.0%} outliers;\n{words}", "share of bad batches", ERROR)
                logarithmic(axes)
                axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw


def _draw_places(axes: Any, method: str, results: Results, field: str, clean: Results) -> None:
    """Draw a method's errors along a field, from where there are no outliers."""
    bands = {0.0: clean.band(), **{place: results.band(**{field: place}) for place in results.different(field)}}
    found = {place: band for place, band in bands.items() if band}
    if found:
        plot_band(axes, method, list(found), list(found.values()))


PATH_METHODS = ("plain", "averaging", "geometric median", "online median", "ours", "oracle")


def draw_convergence(problem: str) -> Callable[[Results], Any]:
    """Draw error against batches seen where all batches are alike: without outliers, and with a fifth of them."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(9.5, 4.2, 1, 2, sharex=True, sharey=True)
        panels = ((0.0, "no outliers"), (0.2, "20% outliers in all batches, 20% trimmed"))
        for axes, (fraction, words) in zip(grid[0], panels, strict=True):
            _path(axes, results.where(problem=problem, spread="even", fraction=fraction, kind="printed"), words)
        legend_below(figure, grid.flat, 4)
        return figure

    return draw


def draw_paths(problem: str) -> Callable[[Results], Any]:
    """Draw error against batches seen with 40% bad ones, by their place in the stream."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(11.0, 6.6, 2, 3, sharex=True, sharey=True)
        for line, (kind, words) in zip(grid, KIND_WORDS.items(), strict=True):
            for axes, order in zip(line, ("random", "first", "last"), strict=True):
                some = results.where(problem=problem, spread="adversarial", share=0.4, level=1.0, kind=kind)
                where = "anywhere" if order == "random" else order
                _path(axes, some, f"bad batches come {where};\n{words}", order)
        legend_below(figure, grid.flat, 4)
        return figure

    return draw


def _path(axes: Any, results: Results, title: str, order: str = "random") -> None:
    """Draw the errors on the way, and that of all rows at once as a level, since it knows no way."""
    for method in PATH_METHODS:
        here = results.where(method=method, order=order, rule=("", "own"))
        places = here.different("seen")
        if places:
            plot_band(axes, method, places, [here.band(seen=moment) for moment in places])
    style = STYLES["centralized"]
    level = results.rms(method="centralized", rule="own", seen=None)
    if level == level:
        axes.axhline(level, color=style.color, linewidth=2.0, linestyle="-.", label=f"{style.label}, all rows at once")
    tidy(axes, title, "batches seen", ERROR)
    logarithmic(axes, x=True)
    axes.label_outer()


def draw_constants(problem: str) -> Callable[[Results], Any]:
    """Draw the final error of the filter against its constant, with the exact median and ours for comparison."""

    def draw(results: Results) -> Any:
        figure, grid = new_figure(11.0, 3.9, 1, 3, sharex=True, sharey=True)
        panels = (("even", 0.0, "printed"), ("adversarial", 0.4, "printed"), ("adversarial", 0.4, "stronger"))
        for axes, (spread, fraction, kind) in zip(grid[0], panels, strict=True):
            some = results.where(problem=problem, spread=spread, fraction=fraction, kind=kind)
            for order, dashes in (("random", "-"), ("first", "--"), ("last", ":")):
                here = some.where(method="constant", order=order)
                places = here.different("constant")
                if places:
                    values = [here.rms(constant=place) for place in places]
                    axes.plot(places, values, color=STYLES["online median"].color, linestyle=dashes, marker="o",
                              markersize=4, label=f"online median filter, bad batches {order}")  # fmt: skip
            for method in ("geometric median", "averaging", "ours"):
                level = some.where(method=method, rule=("", "own"), seen=None).rms()
                if level == level:
                    axes.axhline(level, color=STYLES[method].color, linewidth=1.6, label=STYLES[method].label)
            words = "clean" if spread == "even" else f"40% of the batches bad: {KIND_WORDS[kind]}"
            tidy(axes, words, "the filter's constant", ERROR)
            logarithmic(axes, x=True)
            axes.label_outer()
        legend_below(figure, grid.flat, 3)
        return figure

    return draw
