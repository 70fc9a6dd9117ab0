"""Pictures: a heat map of the gauntlet by case and method, and one of each kind by share of bad rows and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from robustream.bench.accuracy.kinds import KindResult
from robustream.bench.accuracy.run import CaseResult
from robustream.bench.accuracy.summary import NEAR, TITLES, format_ratio, method_names
from robustream.errors import RobustreamError

__all__ = ["PICTURE_NAME", "MissingMatplotlibError", "draw_picture", "draw_sweep", "write_picture"]

PICTURE_NAME = "accuracy.png"
# All that is this many times the oracle's error, or more, has the same colour.
DARKEST = 20.0
PANELS_IN_ROW = 10
ROW_HEIGHT, CELL_WIDTH, LABEL_WIDTH = 0.19, 0.62, 4.2


class MissingMatplotlibError(RobustreamError, ImportError):
    """A picture was asked for, and matplotlib is not installed."""


def write_picture(folder: Path, results: Sequence[CaseResult]) -> Path:
    """Draw the results and write them as PNG."""
    target = folder / PICTURE_NAME
    draw_picture(results).savefig(target, dpi=110)
    return target


def draw_picture(results: Sequence[CaseResult]) -> Any:
    """Return a matplotlib figure, made without a screen: a panel for each problem, rows are cases, columns methods."""
    problems = list(dict.fromkeys(result.problem for result in results))
    panels = [[result for result in results if result.problem == problem] for problem in problems]
    names = [method_names(results, problem) for problem in problems]
    widths = [LABEL_WIDTH + CELL_WIDTH * len(methods) for methods in names]
    height = 1.6 + ROW_HEIGHT * max(len(panel) for panel in panels)
    figure = _new_figure(sum(widths), height)
    figure.suptitle("Error in multiples of the oracle's (the plain method on the clean rows alone)", fontsize=11)
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), width_ratios=widths))
    image = None
    for axes, panel, methods in zip(all_axes, panels, names, strict=True):
        image = _draw_panel(axes, panel, methods)
        axes.set_title(TITLES[panel[0].problem], fontsize=11, loc="left")
        axes.set_anchor("N")
    _add_scale(figure, image, list(all_axes))
    return figure


def draw_sweep(results: Sequence[KindResult]) -> Any:
    """Return a matplotlib figure with a panel for each kind: holes are dark, white what could not be made.

    To the right the share of bad rows grows, upwards their number; the worst kinds come first.
    """
    kinds: dict[str, dict[tuple[int, float], float]] = {}
    for result in results:
        task = result.task
        assert task.share is not None
        assert task.rows is not None
        kinds.setdefault(task.name, {})[task.rows, task.share] = result.ratio
    shares = sorted({share for ratios in kinds.values() for _, share in ratios})
    counts = sorted({count for ratios in kinds.values() for count, _ in ratios})
    order = sorted(kinds, key=lambda name: -sum(ratio > NEAR for ratio in kinds[name].values()))
    columns = min(PANELS_IN_ROW, len(order))
    rows = math.ceil(len(order) / columns)
    figure = _new_figure(0.8 + 1.7 * columns, 1.4 + 1.35 * rows)
    figure.suptitle(
        f"Error in multiples of the oracle's: share of bad rows ({shares[0]:.0%} to {shares[-1]:.0%}) to the right, "
        f"rows ({counts[0]:,} to {counts[-1]:,}) upwards",
        fontsize=10,
    )
    all_axes = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    image = None
    for axes, name in zip(all_axes, order, strict=False):
        values = np.array([[kinds[name].get((count, share), math.nan) for share in shares] for count in counts])
        values[np.isinf(values)] = DARKEST
        image = _shade(axes, np.log10(np.clip(values, 1.0, DARKEST)))
        axes.invert_yaxis()
        axes.set_title(name, fontsize=6, pad=2)
        axes.set_xticks(range(0, len(shares), 2), [f"{share:.0%}" for share in shares[::2]], fontsize=5)
        axes.set_yticks(range(len(counts)), [f"{count:,}" for count in counts], fontsize=5)
    for axes in all_axes[len(order) :]:
        axes.set_axis_off()
    _add_scale(figure, image, list(all_axes))
    return figure


def _new_figure(width: float, height: float) -> Any:
    try:
        figure_class = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingMatplotlibError(
            "the picture needs matplotlib, which is not installed: pip install 'robustream[report]', "
            "or pip install matplotlib"
        ) from error
    return figure_class(figsize=(width, height), layout="constrained")


def _add_scale(figure: Any, image: Any, axes: list[Any]) -> None:
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.4, aspect=40, pad=0.01)
    marks = [1, 1.25, 2, 5, 10, DARKEST]
    bar.set_ticks([math.log10(mark) for mark in marks], labels=[*(f"{mark:g}" for mark in marks[:-1]), f"≥{DARKEST:g}"])
    bar.ax.tick_params(labelsize=8)


def _shade(axes: Any, shades: Any) -> Any:
    """Draw a heat map; its scale of lightness (cividis) can be told with any kind of colour vision, and in grey."""
    limits = {"vmin": 0.0, "vmax": math.log10(DARKEST)}
    return axes.imshow(np.ma.masked_invalid(shades), cmap="cividis_r", aspect="auto", **limits)


def _draw_panel(axes: Any, results: Sequence[CaseResult], methods: Sequence[str]) -> Any:
    """Draw one problem."""
    values = np.array([[_number(result, method) for method in methods] for result in results])
    shades = np.log10(np.clip(values, 1.0, DARKEST))
    axes.set_facecolor("0.9")
    image = _shade(axes, shades)
    for row, result in enumerate(results):
        for column, method in enumerate(methods):
            dark = shades[row, column] > 0.55 * math.log10(DARKEST)
            axes.text(
                column, row, _words(result, method), ha="center", va="center", fontsize=7,
                color="white" if dark else "black", fontweight="bold" if column == 0 else "normal",
            )  # fmt: skip
    axes.set_xticks(range(len(methods)), methods, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(results)), [result.name for result in results], fontsize=7)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for place in range(1, len(results)):
        if results[place].group != results[place - 1].group:
            axes.axhline(place - 0.5, color="white", linewidth=3)
    axes.axvline(0.5, color="white", linewidth=3)
    return image


def _number(result: CaseResult, method: str) -> float:
    ratio = result.ratio(method)
    return math.nan if ratio is None or math.isinf(ratio) else ratio


def _words(result: CaseResult, method: str) -> str:
    score, ratio = result.score(method), result.ratio(method)
    if score is None or score.state == "skipped":
        return "-"
    return score.state if ratio is None or math.isinf(ratio) else format_ratio(ratio)
