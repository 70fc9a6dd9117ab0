"""Pictures of the tables: faults of nodes, and tags."""

from __future__ import annotations

from typing import Any

from robustream.paper.claims.tables import PAPER_FAULTS, best_constant
from robustream.paper.drawing.style import STYLES, legend_below, new_figure, plot_band, tidy
from robustream.paper.results import Results

__all__ = ["draw_faults", "draw_tags"]

# How methods that have no place in other pictures are drawn: as whom, and under which name.
TAG_STYLES = {
    "ours": ("ours", "ours"),
    "ours, spoiled batches left out": ("oracle", "ours, spoiled batches left out"),
    "ridge on everything": ("plain", "ridge on everything"),
    "online averaging LR": ("averaging", "averaging of ridge"),
    "DRL around ridge": ("geometric median", "geometric median of ridge (DRL)"),
    "stochastic LR": ("one batch", "stochastic gradient"),
    "averaging of RoTR": ("averaging of eigenvectors", "averaging of RoTR"),
}
FAULT_METHODS = (
    ("averaging of eigenvectors", "true"),
    ("averaging", "true"),
    ("geometric median", "true"),
    ("ours", "ours"),
)


def draw_faults(results: Results) -> Any:
    """Draw the error of each method under each fault; the bar is the mean, the dots are repetitions."""
    faults = results.different("fault")
    figure, grid = new_figure(9.5, 4.6)
    axes = grid[0][0]
    width = 0.8 / len(FAULT_METHODS)
    for place, (method, rule) in enumerate(FAULT_METHODS):
        style = STYLES[method]
        for position, fault in enumerate(faults):
            values = results.values(method=method, rule=rule, fault=fault)
            if not values:
                continue
            x = position + (place - (len(FAULT_METHODS) - 1) / 2) * width
            mean = sum(values) / len(values)
            axes.bar(x, mean, 0.9 * width, color=style.color, label=style.label if position == 0 else None)
            axes.plot([x] * len(values), values, "o", color="black", markersize=2)
            # On white, so that a level of the paper's does not run through it.
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            above = max(values) + 0.03
            axes.text(x, above, f"{mean:.2f}", ha="center", va="bottom", fontsize=7, bbox=white, zorder=5)
    for position, fault in enumerate(faults):
        _mark_paper(axes, position, fault, width)
    tidy(axes, "", "", "relative error")
    axes.set_ylim(0, 1.08 * max(results.values()))
    axes.set_xticks(range(len(faults)), [fault.replace(" ", "\n") for fault in faults], fontsize=9)
    legend_below(figure, [axes], 3)
    return figure


def _mark_paper(axes: Any, position: int, fault: str, width: float) -> None:
    """Draw the paper's two numbers as levels across the bars of a fault."""
    for kind, levels in PAPER_FAULTS.items():
        if not fault.startswith(kind):
            continue
        for level, words, dashes in zip(levels, ("DRL", "averaging"), ("--", ":"), strict=True):
            ends = [position - 2 * width, position + 2 * width]
            # The label once, for the first fault that the paper has.
            label = f"the paper's {words}" if fault == "late rows" else None
            axes.plot(ends, [level, level], color="black", linestyle=dashes, linewidth=1.4, label=label)


def draw_tags(results: Results) -> Any:
    """Draw both scores against the share of spoiled batches."""
    figure, grid = new_figure(10.0, 4.8, 1, 2, sharex=True)
    some = results.where(data="clip art")
    filters = {
        best_constant(some, "ORL around ridge"): "online median filter of ridge (ORL)",
        best_constant(some, "ORL-LR"): "online median filter of RoTR (ORL-LR)",
    }
    titles = {"average_precision": "macro average precision", "precision": "precision at the number of true tags"}
    for axes, (field, title) in zip(grid[0], titles.items(), strict=True):
        for method, (style, label) in TAG_STYLES.items():
            _scores(axes, some.where(method=method), field, style, label)
        for method, label in filters.items():
            _scores(axes, some.where(method=method), field, "online median", label, ":" if "RoTR" in label else "-")
        tidy(axes, title, "share of spoiled batches", title)
        axes.set_ylim(0, None)
    legend_below(figure, grid.flat, 3)
    return figure


def _scores(axes: Any, results: Results, field: str, style: str, label: str, dashes: str | None = None) -> None:
    places = results.different("bad")
    if places:
        plot_band(axes, style, places, [results.band(field, bad=place) for place in places], label, dashes)
