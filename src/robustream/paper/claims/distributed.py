"""Claims of Figures 1c and 1d: many nodes at once."""

from __future__ import annotations

from robustream.paper.claims.ours import OURS_CLAIMS
from robustream.paper.claims.verdicts import ALIKE, BROKEN, RULES, near_centralized, trim_words, verdict
from robustream.paper.experiment import Claim, Finding
from robustream.paper.results import Results

__all__ = ["DISTRIBUTED_CLAIMS"]


def sharp_break(results: Results) -> Finding:
    """Ask whether at 0.6 averaging and the centralized method break while the geometric median does not."""
    good, total, words = 0, 0, []
    for spread in ("even", "uneven"):
        for rule in RULES:
            some = results.where(spread=spread, fraction=0.6, rule=RULES[rule], seen=None)
            median, averaging = some.rms(method="geometric median"), some.rms(method="averaging")
            centralized = results.rms(spread="even", fraction=0.6, method="centralized", rule=RULES[rule])
            before = results.rms(spread="even", fraction=0.4, method="centralized", rule=RULES[rule])
            total += 1
            good += centralized > 2 * before and averaging > 2 * median
            words.append(
                f"{spread}, {trim_words(rule)}: DRL {median:.2f}, averaging "
                f"{averaging:.2f}, centralized {centralized:.2f} (at 0.4: {before:.2f})"
            )
    text = (
        f"{'; '.join(words)}. Uneven: 45% of the nodes hold outliers only and the others 27%. "
        f"Break and contrast are both there in {good} of {total} settings."
    )
    return Finding(verdict(good, total), text)


def alike_up_to_half(results: Results) -> Finding:
    """Compare the three robust ways with one another and with the plain method, for 0.1 to 0.5."""
    good, total, worst, gain = 0, 0, 0.0, []
    for fraction in results.different("fraction", spread="even"):
        if not 0 < fraction <= 0.5:
            continue
        for rule in RULES:
            some = results.where(spread="even", fraction=fraction, rule=RULES[rule], seen=None)
            errors = [some.rms(method=name) for name in ("geometric median", "averaging", "centralized")]
            plain = results.rms(spread="even", fraction=fraction, method="plain", seen=None)
            total += 1
            good += max(errors) <= ALIKE * min(errors) and max(errors) <= plain / 2
            worst = max(worst, max(errors) / min(errors))
            gain.append(plain / max(errors))
    text = (
        f"Their errors differ by a factor of at most {worst:.2f}, and the plain method's is {min(gain):.1f} to "
        f"{max(gain):.1f} times the worst of them; alike (within {ALIKE}) and twice as good as plain in {good} of "
        f"{total}."
    )
    return Finding(verdict(good, total), text)


def worse_without_outliers(results: Results) -> Finding:
    """Compare with the plain method where there are no outliers."""
    plain = results.rms(spread="even", fraction=0.0, method="plain", seen=None)
    ratios = {
        rule: results.rms(spread="even", fraction=0.0, method="geometric median", rule=rule, seen=None) / plain
        for rule in ("true", "half")
    }
    text = (
        f"Without outliers DRL has {ratios['true']:.2f} times the plain error if nothing is trimmed, and "
        f"{ratios['half']:.1f} times if a half is, as for an unknown share."
    )
    slight = {rule: 1.0 <= ratio <= 1.5 for rule, ratio in ratios.items()}
    return Finding(verdict(sum(slight.values()), 2), text)


def plain_breaks(results: Results) -> Finding:
    """Ask whether a tenth of outliers breaks the plain method."""
    clean, dirty = (results.rms(spread="even", fraction=fraction, method="plain", seen=None) for fraction in (0.0, 0.1))
    text = f"The plain method's error rises from {clean:.3f} to {dirty:.2f} with 10% outliers."
    return Finding("holds" if dirty > BROKEN * clean else "does not hold", text)


DISTRIBUTED_CLAIMS = (
    Claim("l.310", "Up to 0.5 DRL, division-averaging and centralized are alike, and beat plain.", alike_up_to_half),
    Claim("l.310", "Without outliers DRL is slightly worse than plain.", worse_without_outliers),
    Claim("l.310", "Plain breaks down from 0.1 on.", plain_breaks),
    Claim("l.312", "At 0.6 centralized and averaging break sharply; DRL does not.", sharp_break),
    Claim(
        "l.69",
        "Little robustness is lost to the centralized method.",
        lambda results: near_centralized(results, "geometric median"),
    ),
    *OURS_CLAIMS,
)
