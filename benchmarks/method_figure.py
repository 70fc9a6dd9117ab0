"""Draw the figure of docs/method.md, the method at work on points and on a line: `python method_figure.py [file.png]`.

The first two panels are one sample: a plane of points with a group of 30%, which no column shows, and the view of it
that the search chose, with the density on its own scale and the valley at which the group is cut off. The third is a
line of which 30% of the rows have their sign flipped.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from robustream.majority import majority, majority_line
from robustream.majority.evidence import WIDTHS, shortest_half
from robustream.majority.points import find_cut

PAGE = Path(__file__).parents[1] / "docs" / "images" / "method.png"
GOOD, BAD, ACCENT, GREY = "#2b6a99", "#d1603d", "#222222", "#8a8a8a"
POINTS, SHARE = 1000, 0.3


def plane(rng: np.random.Generator) -> np.ndarray:
    """Return a narrow cloud along the diagonal, and a group beside it that stays within the range of both columns."""
    along, across = rng.normal(0, 3.0, POINTS), rng.normal(0, 0.5, POINTS)
    group = rng.random(POINTS) < SHARE
    along[group] = rng.normal(0, 1.2, group.sum())
    across[group] += 3.5
    return np.column_stack([along - across, along + across]) / np.sqrt(2)


def draw_plane(ax: Axes, points: np.ndarray) -> None:
    """Draw the points by their weight, and the direction of the cut."""
    found, cut = majority(points), find_cut(points)
    kept = found.weights > 0.5
    ax.scatter(*points[kept].T, s=6, color=GOOD, lw=0, alpha=0.7, label=f"majority, {kept.sum()} points")
    reason = found.groups[0].reason
    ax.scatter(*points[~kept].T, s=6, color=BAD, lw=0, alpha=0.7, label=f"left out, {(~kept).sum()}: {reason}")
    direction = cut.axes[:, 0] / np.linalg.norm(cut.axes[:, 0])
    arrow = {"arrowstyle": "->", "color": ACCENT, "lw": 1.5}
    ax.annotate("", found.center + 6.5 * direction, found.center, arrowprops=arrow)
    ax.text(*(found.center + 7.3 * direction), "view", ha="center", va="center", color=ACCENT)
    ax.set(title="A plane of points", xlabel="first column", ylabel="second column")
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(loc="lower right", frameon=False, fontsize=8, markerscale=2)


def draw_view(ax: Axes, points: np.ndarray) -> None:
    """Draw the density of the view on the scale of the search, and its valley."""
    cut = find_cut(points)
    view = cut.view(points)
    center, scale = (float(a[0]) for a in shortest_half(np.sort(view)[None]))
    t = np.arcsinh((view - center) / scale)
    threshold = np.arcsinh(((cut.high if np.isfinite(cut.high) else cut.low) - center) / scale)
    bad = cut.outside(points)
    bins = np.linspace(t.min() - 0.2, t.max() + 0.2, 60)
    ax.hist([t[~bad], t[bad]], bins, stacked=True, color=[GOOD, BAD], alpha=0.45)
    grid = np.linspace(bins[0], bins[-1], 400)
    density = np.exp(-0.5 * ((grid[:, None] - t) / WIDTHS[0]) ** 2).sum(axis=1)
    density *= (bins[1] - bins[0]) / (WIDTHS[0] * np.sqrt(2 * np.pi))
    ax.plot(grid, density, color=ACCENT, lw=1.5)
    ax.axvline(threshold, color=GREY, ls="--", lw=1)
    ax.text(threshold, 0.97 * ax.get_ylim()[1], f"valley \nz = {cut.evidence:.1f} ", va="top", ha="right", color=ACCENT)
    ax.set(title="Its view", xlabel="asinh((view - centre) / scale)", ylabel="points")


def draw_line(ax: Axes, rng: np.random.Generator) -> None:
    """Draw rows of which some are flipped, what was left out, and the two fits."""
    x = rng.uniform(-1, 5, POINTS)
    y = 1 + 2 * x + rng.normal(size=POINTS)
    flipped = rng.random(POINTS) < SHARE
    y[flipped] *= -1
    found = majority_line(x[:, None], y)
    kept = found.weights > 0.5
    ax.scatter(x[kept], y[kept], s=6, color=GOOD, lw=0, alpha=0.7, label=f"majority, {kept.sum()} rows")
    reason = found.groups[0].reason.removeprefix("they ")
    ax.scatter(x[~kept], y[~kept], s=6, color=BAD, lw=0, alpha=0.7, label=f"left out, {(~kept).sum()}: {reason}")
    ends = np.array([-1, 5])
    for weights, style, name in ((np.ones(POINTS), "--", "least squares"), (found.weights, "-", "the majority's line")):
        slope, intercept = np.polyfit(x, y, 1, w=np.sqrt(weights))
        ax.plot(ends, intercept + slope * ends, style, color=ACCENT, lw=1.5, label=name)
    ax.set(title="A line with flipped rows", xlabel="x", ylabel="y")
    ax.legend(loc="lower left", frameon=False, fontsize=8, markerscale=2)


def main() -> None:
    """Draw the three panels."""
    rng = np.random.default_rng(1)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    points = plane(rng)
    draw_plane(left, points)
    draw_view(middle, points)
    draw_line(right, rng)
    for ax in (left, middle, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else PAGE, dpi=110)


if __name__ == "__main__":
    main()
