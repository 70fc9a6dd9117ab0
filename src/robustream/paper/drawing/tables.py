"""Pictures of the tables: faults of nodes, and tags."""

from __future__ import annotations

from typing import Any

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
    "ORL around ridge, constant 1": ("online median", "online median filter of ridge (ORL), constant 1"),
    "stochastic LR": ("centralized", "stochastic gradient"),
    "averaging of RoTR": ("averaging of eigenvectors", "averaging of RoTR"),
}


def draw_faults(results: Results) -> Any:
    """Draw the error of each method under each fault; the bar is the mean, the dots are repetitions."""
    faults = results.different("fault")
    figure, grid = new_figure(9.5, 4.6)
    axes = grid[0][0]
    methods = (
        ("averaging of eigenvectors", "true"),
        ("averaging", "true"),
        ("geometric median", "true"),
        ("ours", "ours"),
    )
    width = 0.8 / len(methods)
    for place, (method, rule) in enumerate(methods):
        style = STYLES[method]
        for position, fault in enumerate(faults):
            values = results.values(method=method, rule=rule, fault=fault)
            if not values:
                continue
            x = position + (place - (len(methods) - 1) / 2) * width
            mean = sum(values) / len(values)
            axes.bar(x, mean, 0.9 * width, color=style.color, label=style.label if position == 0 else None)
            axes.plot([x] * len(values), values, "o", color="black", markersize=2)
            axes.text(x, 1.04 * max(values), f"{mean:.2f}", ha="center", va="bottom", fontsize=7)
    tidy(axes, "", "", "relative error")
    axes.set_yscale("log")
    axes.set_ylim(top=1.3 * max(results.values()))
    axes.set_xticks(range(len(faults)), [fault.replace(" ", "\n") for fault in faults], fontsize=9)
    legend_below(figure, [axes], 4)
    return figure


def draw_tags(results: Results) -> Any:
    """Draw both scores against the share of spoiled batches."""
    figure, grid = new_figure(10.0, 4.6, 1, 2, sharex=True)
    some = results.where(data="clip art")
    titles = {"average_precision": "macro average precision", "precision": "precision at the number of true tags"}
    for axes, (field, title) in zip(grid[0], titles.items(), strict=True):
        for method, (style, label) in TAG_STYLES.items():
            here = some.where(method=method)
            places = here.different("bad")
            if places:
                plot_band(axes, style, places, [here.band(field, bad=place) for place in places], label)
        tidy(axes, title, "share of spoiled batches", title)
        axes.set_ylim(0, None)
    legend_below(figure, grid.flat, 3)
    return figure
