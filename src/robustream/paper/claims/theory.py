"""Claims of the theory: two lemmas, convexity, and rates."""

from __future__ import annotations

from robustream.paper.claims.streams import verdict
from robustream.paper.experiment import Claim, Finding
from robustream.paper.results import Results, slope

__all__ = ["THEORY_CLAIMS"]

# Measured slopes may be steeper than a bound's; above it by more than this they contradict it.
TOLERANCE = 0.1


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
    text = f"The median is near as often as promised in {kept} of {len(pairs)} settings; least margin {gap:+.3f}."
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
    for name in results.different("method", problem="filter"):
        some = results.where(problem="filter", method=name)
        places = [place for place in some.different("value") if place >= 30]
        slopes[name] = slope(places, [some.rms(value=place) for place in places])
    listed = "; ".join(f"{name}: {value:.2f}" for name, value in slopes.items())
    rate = [value <= -1 + TOLERANCE for name, value in slopes.items() if name.startswith("to the median")]
    text = (
        f"Slopes of the filter's distance on logarithmic axes: {listed}. The rate log log t / t would be about -1. The "
        "source that the paper cites proves it for the squared distance, which allows for -1/2."
    )
    return Finding(verdict(sum(rate), len(rate)), text)


def _rate(results: Results, problem: str, method: str, bounds: dict[str, float]) -> Finding:
    """Compare measured slopes with those of a bound's leading terms: none may be larger."""
    words, good = [], 0
    for sweep, bound in bounds.items():
        some = results.where(problem=problem, sweep=sweep, method=method)
        places = some.different("value")
        errors = [some.rms(value=place) for place in places]
        shown = [place / (1 - place) if sweep == "fraction" else place for place in places]
        measured = slope(shown, errors)
        good += measured <= bound + TOLERANCE
        words.append(f"{sweep}: {measured:.2f} (bound {bound:g})")
    text = f"Slopes of the error on logarithmic axes: {'; '.join(words)}. A bound holds if the error rises no faster."
    return Finding(verdict(good, len(bounds)), text)


THEORY_CLAIMS = (
    Claim("l.106, Lemma 1", "The median's error is at most C_gamma times the radius of the good points.", _lemma_1),
    Claim("l.367, Lemma 4", "The median is near with a chance that grows with the number of estimates.", _lemma_4),
    Claim("l.430, Theorem 3", "The median's loss is strongly convex.", _theorem_3),
    Claim("l.442, Theorem 4", "The filter nears the median at the rate log log t / t.", _theorem_4),
    Claim(
        "l.166, l.229, Proposition 1, Theorem 1",
        "ORL-PCA: the error falls as 1/sqrt(b) and rises at most with p and the odds of outliers.",
        lambda results: _rate(results, "pca", "online median", {"rows": -0.5, "columns": 1.0, "fraction": 1.0}),
    ),
    Claim(
        "l.254, Theorem 2",
        "ORL-LR: the error falls as 1/sqrt(b) and rises at most with sqrt(p) and the odds of outliers.",
        lambda results: _rate(results, "regression", "online median", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.478, Theorem 5",
        "RC-PCA on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "pca", "one batch", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
    Claim(
        "l.525, Lemma 5",
        "RoTR on one batch: the error falls as 1/sqrt(n), rises as sqrt(p) and with the odds of outliers.",
        lambda results: _rate(results, "regression", "one batch", {"rows": -0.5, "columns": 0.5, "fraction": 1.0}),
    ),
)
