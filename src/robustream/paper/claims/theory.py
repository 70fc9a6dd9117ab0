"""Claims of the theory: two lemmas, convexity, and rates."""

from __future__ import annotations

import math

from robustream.paper.claims.verdicts import verdict
from robustream.paper.experiment import Claim, Finding
from robustream.paper.results import Results, slope
from robustream.paper.theory_rates import FILTER_CONSTANTS

__all__ = ["THEORY_CLAIMS"]

# Measured slopes may be steeper than a bound's; above it by more than this they contradict it.
TOLERANCE = 0.1
NAMES = {"batches": "T", "rows": "b", "columns": "p", "fraction": "odds of outliers"}


def _lemma_1(results: Results) -> Finding:
    some = results.where(statement="lemma 1")
    largest = max(some.values("largest"))
    text = (
        f"Largest error over {sum(some.values('trials')):.0f} samples with bad points that agree, near or far: "
        f"{largest:.2f} of the bound."
    )
    return Finding("holds" if largest <= 1 + 1e-6 else "does not hold", text)


def _lemma_4(results: Results) -> Finding:
    some = results.where(statement="lemma 4")
    pairs = list(zip(some.values("observed"), some.values("promised"), strict=True))
    kept = sum(observed >= promised for observed, promised in pairs)
    gap = min(observed - promised for observed, promised in pairs)
    text = f"The median is near as often as promised in {kept} of {len(pairs)} settings; least margin {gap:+.4f}."
    return Finding(verdict(kept, len(pairs)), text)


def _theorem_3(results: Results) -> Finding:
    some = results.where(statement="theorem 3")
    space, line = some.mean("least", cloud="in space"), some.mean("least", cloud="on a straight line")
    text = (
        f"Least curvature over pairs of points: {space:.3f} for a cloud in space, {line:.3f} for one on a straight "
        "line, which Condition 1 excludes."
    )
    return Finding("holds" if space > 0 else "does not hold", text)


def _theorem_4(results: Results) -> Finding:
    slopes = {}
    for name in FILTER_CONSTANTS:
        some = results.where(problem="filter", method=f"to the median, constant {name}")
        places = [place for place in some.different("value") if place >= 30]
        slopes[name] = slope(places, [some.rms(value=place) for place in places])
    places = [place for place in results.different("value", problem="filter") if place >= 30]
    # With the chance that the theorem leaves open at 1 / e, the largest it allows for.
    bound = slope(places, [(math.log(math.log(place)) + 2) / place for place in places])
    listed = "; ".join(f"constant {name}: {value:.2f}" for name, value in slopes.items())
    # A function is convex with any smaller constant too, so that the theorem speaks of these as well.
    rate = [slopes[name] <= bound + TOLERANCE for name, factor in FILTER_CONSTANTS.items() if factor <= 1]
    text = (
        f"Slopes of the filter's distance to the median on logarithmic axes: {listed}. The rate has {bound:.2f} over "
        "the same steps. It is there only for the one constant that equals the curvature; smaller ones, which the "
        "theorem allows for, give about -1/2, as its source proves for the squared distance, and larger ones stop "
        "short."
    )
    return Finding(verdict(sum(rate), len(rate)), text)


def _measured(results: Results, problem: str, sweep: str, method: str) -> float:
    """Give the slope of an error along one quantity, on logarithmic axes."""
    some = results.where(problem=problem, sweep=sweep, method=method)
    places = some.different("value")
    shown = [place / (1 - place) if sweep == "fraction" else place for place in places]
    return slope(shown, [some.rms(value=place) for place in places])


def _slopes(results: Results, problem: str, method: str, bounds: dict[str, float]) -> tuple[int, str]:
    """Count the slopes that are no larger than those of a bound's leading terms, and say all of them."""
    slopes = {sweep: _measured(results, problem, sweep, method) for sweep in bounds}
    good = sum(slopes[sweep] <= bound + TOLERANCE for sweep, bound in bounds.items())
    return good, "; ".join(f"{NAMES[sweep]} {slopes[sweep]:.2f} (bound {bound:g})" for sweep, bound in bounds.items())


def _rate(results: Results, problem: str, bounds: dict[str, float]) -> Finding:
    """Judge the bound of one batch."""
    good, words = _slopes(results, problem, "one batch", bounds)
    text = f"Slopes of the error on logarithmic axes: {words}. A bound holds if the error rises no faster."
    return Finding(verdict(good, len(bounds)), text)


def _streamed_rate(results: Results, problem: str, bounds: dict[str, float]) -> Finding:
    """Judge the bound of a stream as its proof does: the exact median's error, and the filter's way to it apart."""
    good, words = _slopes(results, problem, "geometric median", bounds)
    filtered = ", ".join(
        f"{NAMES[sweep]} {_measured(results, problem, sweep, 'online median'):.2f}" for sweep in ("batches", *bounds)
    )
    text = (
        "The bound is the sum of the exact median's error and the filter's distance to it. Slopes of the former on "
        f"logarithmic axes: {words}. Slopes of the filter's error: {filtered}; its distance to the median, which is "
        "the term in T, is judged at Theorem 4."
    )
    return Finding(verdict(good, len(bounds)), text)


def _single(results: Results) -> Finding:
    """Ask whether one bad estimate ruins the average and leaves the median alone."""
    some = results.where(statement="one bad estimate")
    near, far = (some.where(distance=distance) for distance in (0.0, max(some.different("distance"))))
    averaging, median = (far.mean(name) / near.mean(name) for name in ("averaging", "median"))
    projectors = far.mean("projectors") / near.mean("projectors")
    text = (
        f"One of 40 estimates at a distance of {far.mean('distance'):,.0f} spreads: the average's error grows "
        f"{averaging:,.0f} times, the median's {median:.2f} times. One of 40 projectors as wrong as it can be: the "
        f"average's grows {projectors:.2f} times only, since projectors are bounded."
    )
    return Finding(verdict((averaging > 100) + (projectors > 2), 2) if median < 2 else "does not hold", text)


THEORY_CLAIMS = (
    Claim("l.106, Lemma 1", "The median's error is at most C_gamma times the radius of the good points.", _lemma_1),
    Claim("l.265", "A single bad estimate can make the average arbitrarily bad, and not the median.", _single),
    Claim("l.367, Lemma 4", "The median is near with a chance that grows with the number of estimates.", _lemma_4),
    Claim("l.430, Theorem 3", "The median's loss is strongly convex.", _theorem_3),
    Claim("l.442, Theorem 4", "The filter nears the median at the rate log log t / t.", _theorem_4),
    Claim(
        "l.166, l.229, Proposition 1, Theorem 1",
        "ORL-PCA: the error falls as 1/sqrt(b) and rises at most with p and the odds of outliers.",
        lambda results: _streamed_rate(results, "pca", {"rows": -0.5, "columns": 1.0, "fraction": 1.0}),
    ),
    Claim(
        "l.254, Theorem 2",
        "ORL-LR: the error falls as 1/sqrt(b) and rises at most with sqrt(p) and the odds of outliers.",
        lambda results: _streamed_rate(results, "regression", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.478, Theorem 5",
        "RC-PCA on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "pca", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.525, Lemma 5",
        "RoTR on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "regression", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
)
