"""Section 6, distributed setting: Figures 1c (PCA) and 1d (regression)."""

from __future__ import annotations

from robustream.paper.experiment import Claim, Experiment, Finding, verdict
from robustream.paper.ours import OURS_CLAIMS
from robustream.paper.results import Results
from robustream.paper.simulation import (
    ALIKE,
    BROKEN,
    DISTRIBUTED_SETUP,
    RULES,
    cells_of,
    distributed_pictures,
    near_centralized,
    tables_of,
    trim_words,
)

__all__ = ["FIGURE_1C", "FIGURE_1D"]


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


FIGURE_1C = Experiment(
    name="figure-1c",
    title="Figure 1c: distributed PCA",
    line="l.310, l.312",
    says=(
        "Up to a share of 0.5, DRL, division-averaging and the centralized method are alike and much better "
        "than plain PCA; without outliers they are slightly worse than plain PCA. At 0.6 the centralized and "
        "the averaging method break sharply, and DRL does not."
    ),
    setup=DISTRIBUTED_SETUP,
    remark=(
        "With outliers uniform in a box nothing breaks sharply at 0.6: their covariance is a multiple of the "
        "identity and moves no eigenvector, and they fill the places that trimming removes. Ours looks for "
        "what the majority of a batch says, and at an even 0.6 the majority is outliers."
    ),
    cells=cells_of("pca", "even", "uneven"),
    pictures=distributed_pictures("pca", "figure-1c"),
    tables=tables_of("pca", "even", "uneven"),
    claims=DISTRIBUTED_CLAIMS,
)


FIGURE_1D = Experiment(
    name="figure-1d",
    title="Figure 1d: distributed regression",
    line="l.310, l.312",
    says=(
        "As for PCA: alike up to 0.5, plain least squares broken from 0.1 on; at 0.6 centralized and "
        "averaging break and DRL does not."
    ),
    setup=DISTRIBUTED_SETUP,
    remark=(
        "The outliers agree on -theta and have large x: their products are the largest and are trimmed first. As long "
        "as at least their share is trimmed, what is left of the error is mostly shrinkage, the price of trimming, "
        "which is the same for one node, many nodes and all rows at once. A node full of outliers has nothing else to "
        "keep. Ours looks for what the majority of a batch says, and at an even 0.6 the majority is outliers."
    ),
    cells=cells_of("regression", "even", "uneven"),
    pictures=distributed_pictures("regression", "figure-1d"),
    tables=tables_of("regression", "even", "uneven"),
    claims=DISTRIBUTED_CLAIMS,
)
