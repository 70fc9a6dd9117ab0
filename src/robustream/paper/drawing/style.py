"""How the pictures look: one colour, marker and line for each method, the same in all of them.

The colours are those of Okabe and Ito, which can be told apart with any kind of colour vision; markers and
dashes differ too.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterable
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
    "logarithmic",
    "new_figure",
    "plot_band",
    "tidy",
]


# In the palette of a picture.
COLOURS = 128


class MissingMatplotlibError(RobustreamError, ImportError):
    """A picture was asked for, and matplotlib is not installed."""


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
    """Give a figure without a screen, and its axes."""
    try:
        figure_class = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise MissingMatplotlibError(
            "pictures need matplotlib, which is not installed: pip install 'robustream[report]'"
        ) from error
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
    """Give names to 2 and 5 between powers of ten, only where there is hardly more than one power."""

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
    """Give a figure as PNG, without a date, so that the same results give the same bytes.

    Pictures of lines need few colours: a palette makes them a third as large.
    """
    image = import_module("PIL.Image")
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=dots, metadata={"Software": None})
    image.open(full).convert("RGB").quantize(COLOURS, dither=image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def as_data_address(png: bytes) -> str:
    """Give a picture as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
