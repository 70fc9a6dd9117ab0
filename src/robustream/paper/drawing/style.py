"""How the pictures look: one colour, marker and line for each method, the same in all of them.

The colours are those of Okabe and Ito, which can be told apart with any kind of colour vision; markers and
dashes differ too.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from robustream.errors import RobustreamError

__all__ = [
    "STYLES",
    "MissingMatplotlibError",
    "Style",
    "as_data_address",
    "as_png",
    "legend_below",
    "new_figure",
    "plot_band",
    "tidy",
]


class MissingMatplotlibError(RobustreamError, ImportError):
    """A picture was asked for, and matplotlib is not installed."""


class Style(NamedTuple):
    """How a method is drawn, and what it is called."""

    label: str
    color: str
    marker: str
    dashes: str = "-"


STYLES: dict[str, Style] = {
    "plain": Style("plain", "#000000", "x", ":"),
    "centralized": Style("centralized RC-PCA / RoTR", "#0072B2", "s"),
    "averaging": Style("averaging", "#009E73", "^"),
    "averaging of eigenvectors": Style("averaging of eigenvector matrices", "#56B4E9", "v", "--"),
    "geometric median": Style("geometric median (DRL)", "#CC79A7", "D"),
    "online median": Style("online median filter (ORL)", "#E69F00", "o"),
    "ours": Style("ours, defaults", "#D55E00", "*"),
    "oracle": Style("oracle (plain, clean rows only)", "#7F7F7F", "", "--"),
    "one batch": Style("one batch", "#0072B2", "s"),
}


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Give a figure without a screen, and its axes."""
    try:
        figure_class = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingMatplotlibError(
            "pictures need matplotlib, which is not installed: pip install 'robustream[report]'"
        ) from error
    figure = figure_class(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def plot_band(axes: Any, method: str, places: list[float], bands: list[Any], label: str | None = None) -> None:
    """Draw the middle of each band as a line, and the span as a shade."""
    style = STYLES[method]
    axes.plot(
        places,
        [band.middle for band in bands],
        color=style.color,
        marker=style.marker or None,
        linestyle=style.dashes,
        label=label or style.label,
        # Methods that come out alike lie on one another: a large hollow marker shows around a small full one.
        markersize={"*": 9, "^": 10}.get(style.marker, 5),
        markerfacecolor="none" if style.marker == "^" else style.color,
        linewidth=1.6,
        zorder=3 if method == "ours" else 2,
    )
    axes.fill_between(
        places, [band.low for band in bands], [band.high for band in bands], color=style.color, alpha=0.15, linewidth=0
    )


def tidy(axes: Any, title: str = "", x: str = "", y: str = "") -> None:
    """Label axes and leave out what carries no number."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, which="major", color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


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
    """Give a figure as PNG, without a date, so that the same results give the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots, metadata={"Software": None})
    return buffer.getvalue()


def as_data_address(png: bytes) -> str:
    """Give a picture as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
