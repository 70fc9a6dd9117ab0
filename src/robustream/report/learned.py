"""The part of the page on what was learned: components with their loadings, or coefficients with their intervals."""

from __future__ import annotations

import numpy as np

from robustream.report.data import Coefficients, Components, ReportData
from robustream.report.grids import Cell, Column, number_cell, table
from robustream.report.markup import Markup, element, join
from robustream.report.numbers import show_count, show_number, show_share
from robustream.report.payload import strongest

__all__ = ["learned"]

# Beyond these a table is no longer read, and a page no longer small.
_LOADING_ROWS = 500
_LOADING_COMPONENTS = 12
_COEFFICIENT_ROWS = 1_000


def learned(data: ReportData) -> Markup | None:
    """Write the section; None if the model has nothing to show."""
    if data.components is not None:
        content = _principal(data.components, data.features)
    elif data.coefficients is not None:
        content = _linear(data.coefficients, data.features)
    else:
        return None
    return element("section", element("h2", "What was learned"), content, id="learned")


def chart(name: str, caption: str, *, height: str = "") -> Markup:
    """Give the place of a chart, which the script fills."""
    return element(
        "figure",
        element("figcaption", caption),
        element("div", class_=f"chart {height}".strip(), data_chart=name),
        class_="drawn",
    )


def _principal(found: Components, features: tuple[str, ...]) -> Markup:
    titles = ("Component", "Variance", "Share", "Cumulative")
    steps = zip(found.explained_variance, found.ratio, np.cumsum(found.ratio), strict=True)
    rows = [
        [number_cell(number, str(number)), _value(variance), _share(share), _share(sum_so_far)]
        for number, (variance, share, sum_so_far) in enumerate(steps, 1)
    ]
    variances = table("variance", "Variance along each component", [Column(title, "number") for title in titles], rows)
    return join(
        element("div", chart("scree", "Share of the total variance"), element("div", variances), class_="pair"),
        _loadings(found, features),
    )


def _loadings(found: Components, features: tuple[str, ...]) -> Markup:
    shown = found.components[:_LOADING_COMPONENTS]
    strength = np.abs(shown).max(axis=0)
    largest = float(strength.max(initial=np.finfo(float).tiny))
    order = np.argsort(-strength, kind="stable")[:_LOADING_ROWS]
    rows = [
        [
            Cell(features[column]),
            *(_loading_cell(float(shown[place, column]), largest) for place in range(len(shown))),
            _value(float(found.mean[column])),
        ]
        for column in order
    ]
    columns = [
        Column("Column"),
        *(Column(f"PC {place + 1}", "size") for place in range(len(shown))),
        Column("Centre", "number", minor=True),
    ]
    left = len(found.components) - len(shown)
    note = f" The first {len(shown)} of {len(found.components)} components are shown." if left else ""
    return join(
        element("h3", "Loadings"),
        element("p", f"How much each column takes part in each component, the strongest columns first.{note}"),
        table(
            "loadings", "Loadings by column and component", columns, rows, total=len(features), search="Find a column"
        ),
    )


def _loading_cell(value: float, largest: float) -> Cell:
    """Give a cell with a bar to the left for negative loadings and to the right for positive ones."""
    side = "negative" if value < 0 else "positive"
    bar = element("span", class_=f"bar {side}", style=f"--size:{abs(value) / largest:.3f}", aria_hidden="true")
    return number_cell(value, f"{value:.3f}", bar)


def _linear(found: Coefficients, features: tuple[str, ...]) -> Markup:
    several = len(found.targets) > 1
    places = strongest(found, _COEFFICIENT_ROWS)
    columns = [
        Column("Column"),
        *([Column("Output")] if several else []),
        Column("Coefficient", "number"),
        Column("Std. error", "number", minor=True),
        Column("95% from", "number"),
        Column("to", "number"),
        Column("p", "number", minor=True),
    ]
    rows = [
        [
            Cell(features[place[1]]),
            *([Cell(found.targets[place[0]])] if several else []),
            *(_value(float(values[place])) for values in (found.coef, found.stderr, found.low, found.high)),
            number_cell(float(found.p_value[place]), _show_p(float(found.p_value[place]))),
        ]
        for place in places
    ]
    known = bool(np.isfinite(found.stderr).any())
    caption = "Coefficients with 95% intervals" if known else "Coefficients"
    return join(
        chart("coefficients", caption),
        table("coefficients", caption, columns, rows, total=found.coef.size, search="Find a column"),
        element("p", _levels(found), class_="note"),
    )


def _value(value: float) -> Cell:
    return number_cell(value, show_number(value))


def _share(share: float) -> Cell:
    return number_cell(share, show_share(share))


def _show_p(p_value: float) -> str:
    return "< 0.0001" if p_value < 1e-4 else show_number(p_value)


def _levels(found: Coefficients) -> str:
    shown = [
        f"{name}: intercept {show_number(float(level))}"
        + (f", residual scale {show_number(float(scale))}" if np.isfinite(scale) else "")
        for name, level, scale in list(zip(found.targets, found.intercept, found.scale, strict=True))[:20]
    ]
    left = len(found.targets) - len(shown)
    return "; ".join(shown) + (f"; and {show_count(left)} more outputs." if left else ".")
