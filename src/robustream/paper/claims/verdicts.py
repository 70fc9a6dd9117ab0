"""What claims share: from counts to verdicts, and which rows a way of trimming has."""

from __future__ import annotations

from robustream.paper.experiment import Finding, Verdict
from robustream.paper.results import Results

__all__ = ["ALIKE", "BROKEN", "RULES", "near_centralized", "trim_words", "verdict"]

# Within this factor two errors count as comparable; beyond the other one a method counts as broken by bad rows.
ALIKE = 1.25
BROKEN = 3.0
RULES = {"true": ("true", "true and half"), "half": ("half", "true and half")}


def verdict(good: int, total: int) -> Verdict:
    """Turn a count of settings in which a claim holds into a verdict.

    >>> verdict(3, 3), verdict(1, 3), verdict(0, 3)
    ('holds', 'holds in part', 'does not hold')
    """
    if total == 0:
        return "cannot be checked"
    return "holds" if good == total else "holds in part" if good else "does not hold"


def trim_words(rule: str) -> str:
    """Say how much is trimmed."""
    return {"true": "the true share trimmed", "half": "a half trimmed", "none": "nothing trimmed"}.get(
        rule, f"{rule} trimmed"
    )


def near_centralized(results: Results, method: str) -> Finding:
    """Compare a method with the centralized one where all batches have the same share of outliers, up to one half."""
    ratios = {
        (fraction, rule): results.rms(spread="even", fraction=fraction, method=method, rule=RULES[rule], seen=None)
        / results.rms(spread="even", fraction=fraction, method="centralized", rule=RULES[rule])
        for fraction in results.different("fraction", spread="even")
        if fraction <= 0.5
        for rule in RULES
    }
    near = {key: ratio for key, ratio in ratios.items() if ratio <= ALIKE}
    worst = max(ratios, key=lambda key: ratios[key])
    text = (
        f"Outliers spread evenly, up to one half: its error is {min(ratios.values()):.2f} to "
        f"{max(ratios.values()):.2f} times that of the centralized method; within {ALIKE} times in {len(near)} of "
        f"{len(ratios)} settings (worst at a share of {worst[0]:g}, {trim_words(worst[1])})."
    )
    return Finding(verdict(len(near), len(ratios)), text)
