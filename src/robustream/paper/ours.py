"""What we claim of our own defaults: near the oracle wherever most batches can be repaired.

The oracle is the plain method on clean rows alone. There are two of it. One has the clean rows of the batches that can
be repaired; the other one has all clean rows, also the few in batches where outliers are the majority, which nobody can
tell apart by looking at such a batch.
"""

from __future__ import annotations

from typing import NamedTuple

from robustream.paper.experiment import OURS_LINE, Claim, Finding, verdict
from robustream.paper.results import Results, Row, root_mean_square

__all__ = ["ON_THE_WAY_CLAIM", "OURS_CLAIMS"]

OURS = 1.15
USABLE = "oracle of usable batches"


class Measured(NamedTuple):
    """Root mean squares of one stream: ours, the oracle of batches that can be repaired, the oracle of all."""

    ours: float
    usable: float
    oracle: float


def _final(results: Results) -> dict[str, Measured]:
    """Measure the streams in which fewer than half of the batches are beyond repair."""
    some = results.where(seen=None, order="random")
    found = {}
    for scenario in some.different("scenario", method="ours"):
        here = some.where(scenario=scenario)
        if here.rms("beyond_repair", method="ours") < 0.5:
            found[scenario] = Measured(*(here.rms(method=method) for method in ("ours", USABLE, "oracle")))
    return found


def near_oracle(results: Results) -> Finding:
    """Compare ours with the oracle of the batches that can be repaired."""
    ratios = {name: measured.ours / measured.usable for name, measured in _final(results).items()}
    near = sum(ratio <= OURS for ratio in ratios.values())
    worst = max(ratios, key=lambda name: ratios[name])
    text = (
        f"At most {ratios[worst]:.3f} times the plain method on the clean rows of batches with fewer than half "
        f"outliers ({worst}); within {OURS} in {near} of {len(ratios)} streams."
    )
    return Finding(verdict(near, len(ratios)), text)


def near_oracle_of_all_rows(results: Results) -> Finding:
    """Compare ours with the oracle that has the clean rows of lost batches too."""
    measured = _final(results)
    ratios = {name: one.ours / one.oracle for name, one in measured.items()}
    far = [name for name, ratio in ratios.items() if not ratio <= OURS]
    text = f"Within {OURS} times in {len(ratios) - len(far)} of {len(ratios)} streams."
    if far:
        lost = {name: measured[name].usable / measured[name].oracle for name in far}
        listed = "; ".join(f"{name}: {ratios[name]:.3f} ({lost[name]:.3f} by these rows alone)" for name in far)
        text += f" Beyond it: {listed}."
    else:
        worst = max(ratios, key=lambda name: ratios[name])
        text += f" At most {ratios[worst]:.3f} ({worst})."
    return Finding(verdict(len(ratios) - len(far), len(ratios)), text)


def near_oracle_on_the_way(results: Results) -> Finding:
    """Compare ours with the oracle of what has arrived, wherever fewer than half of that is beyond repair."""
    ratios: dict[str, float] = {}
    for ours in _moments(results):
        arrived = results.where(scenario=ours["scenario"], order=ours["order"], seen=ours["seen"])
        pairs = []
        for row in arrived.where(method=USABLE).rows:
            if float(row["beyond_repair"]) < 0.5:  # type: ignore[arg-type]
                pairs.append((arrived.rms(method="ours", repetition=row["repetition"]), float(row["error"])))  # type: ignore[arg-type]
        if pairs:
            name = f"{ours['scenario']}, bad batches {ours['order']}, {ours['seen']} seen"
            ratios[name] = root_mean_square([a for a, _ in pairs]) / root_mean_square([b for _, b in pairs])
    near = sum(ratio <= OURS for ratio in ratios.values())
    far = sorted((name for name in ratios if not ratios[name] <= OURS), key=lambda name: -ratios[name])
    text = f"Within {OURS} times the oracle of what has arrived in {near} of {len(ratios)} moments."
    if far:
        listed = "; ".join(f"{name}: {ratios[name]:.2f}" for name in far[:4])
        text += f" Beyond it, the worst first: {listed}."
    return Finding(verdict(near, len(ratios)), text)


def _moments(results: Results) -> list[Row]:
    """Return the different (stream, order, batches seen) for which there are rows on the way."""
    keys = ("scenario", "order", "seen")
    found = {
        tuple(row[key] for key in keys): {key: row[key] for key in keys}
        for row in results.where(method="ours").rows
        if row["seen"] is not None
    }
    return list(found.values())


OURS_CLAIMS = (
    Claim(
        OURS_LINE,
        "Our defaults come within 1.15 times the oracle of the batches that can be repaired, wherever fewer than half "
        "of the batches are beyond repair.",
        near_oracle,
    ),
    Claim(
        OURS_LINE,
        "The same against the oracle of all clean rows, those in batches with a majority of outliers included.",
        near_oracle_of_all_rows,
    ),
)
ON_THE_WAY_CLAIM = Claim(OURS_LINE, "The same on the way, after any number of batches.", near_oracle_on_the_way)
