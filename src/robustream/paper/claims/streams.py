"""Claims about the simulations: online and distributed, for both problems."""

from __future__ import annotations

from collections.abc import Callable

from robustream.paper.experiment import Claim, Finding, Verdict
from robustream.paper.results import Results, root_mean_square

__all__ = ["DISTRIBUTED_CLAIMS", "ONLINE_CLAIMS", "OURS_CLAIM"]

# Within this factor two errors count as comparable; beyond the other one a method counts as broken by bad rows.
ALIKE = 1.25
BROKEN = 3.0
OURS = 1.15
RULES = {"true": ("true", "true and half"), "half": ("half", "true and half")}
BEST_RULE = ("", "true", "true and half")


def verdict(good: int, total: int) -> Verdict:
    """Turn a count of settings in which a claim holds into a verdict."""
    if total == 0:
        return "cannot be checked"
    return "holds" if good == total else "holds in part" if good else "does not hold"


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
        f"{len(ratios)} settings (worst at a share of {worst[0]:g}, trimming "
        f"{'the true share' if worst[1] == 'true' else 'a half'})."
    )
    return Finding(verdict(len(near), len(ratios)), text)


def _hard_streams(results: Results) -> list[tuple[str, Results]]:
    """Give the streams with 40% bad batches, by what is in them, and all that was trimmed."""
    some = results.where(spread="adversarial", share=0.4, seen=None, order="random")
    return [
        (f"{level:.0%} {kind}", some.where(level=level, kind=kind))
        for level in some.different("level")
        for kind in some.different("kind")
    ]


def survives(results: Results, method: str) -> Finding:
    """Ask whether 40% bad batches leave a method near what it reaches when they are left out."""
    good, total, words = 0, 0, []
    for name, some in _hard_streams(results):
        ratios = [
            some.rms(method=method, rule=rule) / some.rms(method=f"{method}, bad batches left out", rule=rule)
            for rule in some.different("rule", method=method)
        ]
        good += sum(ratio <= ALIKE for ratio in ratios)
        total += len(ratios)
        words.append(f"{name}: {min(ratios):.2f} to {max(ratios):.2f}")
    text = (
        f"40% bad batches; its error in multiples of that with the bad batches left out, over all trims: "
        f"{'; '.join(words)}. Within {ALIKE} in {good} of {total} settings."
    )
    return Finding(verdict(good, total), text)


def averaging_fails(results: Results, method: str) -> Finding:
    """Ask whether averaging has twice the error of a method with 40% bad batches."""
    good, total, words = 0, 0, []
    for name, some in _hard_streams(results):
        ratios = [
            some.rms(method="averaging", rule=rule) / some.rms(method=method, rule=rule)
            for rule in some.different("rule", method=method)
        ]
        good += sum(ratio >= 2 for ratio in ratios)
        total += len(ratios)
        words.append(f"{name}: {min(ratios):.2f} to {max(ratios):.2f}")
    text = (
        f"40% bad batches; the error of averaging in multiples of the filter's, over all trims: {'; '.join(words)}. "
        f"Twice as large in {good} of {total} settings."
    )
    return Finding(verdict(good, total), text)


def fixed_trim(results: Results) -> Finding:
    """Regression, trim 0.2, 40% of the batches made of outliers: where the contrast with averaging is plainest."""
    some = results.where(rule="0.2", seen=None, order="random")
    clean, bad = some.where(spread="even", fraction=0.0), some.where(share=0.4, level=1.0, kind="colluding")
    median = bad.rms(method="geometric median") / clean.rms(method="geometric median")
    averaging = bad.rms(method="averaging") / clean.rms(method="averaging")
    text = f"Trim 0.2: the geometric median has {median:.2f} times its clean error, averaging {averaging:.1f} times."
    return Finding("holds" if median <= 1.2 and averaging >= 3 else "does not hold", text)


def colluding_components(results: Results) -> Finding:
    """Principal components of plain batches, 40% of them colluding."""
    some = results.where(rule="none", share=0.4, level=1.0, seen=None, order="random")
    words, good = [], 0
    for kind in ("colluding", "incoherent"):
        median, averaging = (some.rms(kind=kind, method=name) for name in ("geometric median", "averaging"))
        good += median <= averaging / 2
        words.append(f"{kind}: {median:.3f} against {averaging:.3f} for averaging projectors")
    text = f"Plain PCA on each batch, 40% of them all outliers; geometric median: {'; '.join(words)}."
    return Finding(verdict(good, 2), text)


def breaks_at_half(results: Results) -> Finding:
    """Ask whether the trimmed learner breaks on a batch once half of its rows are outliers."""
    below = results.rms(spread="even", fraction=0.4, method="centralized", rule="half")
    above = results.rms(spread="even", fraction=0.6, method="centralized", rule="half")
    clean = results.rms(spread="even", fraction=0.0, method="centralized", rule="half")
    text = (
        f"All rows at once, half trimmed: error {clean:.2f} without outliers, {below:.2f} with 40%, {above:.2f} "
        "with 60%. Trimming a half removes signal from clean rows, and outliers fill the trimmed places."
    )
    return Finding("holds" if above > BROKEN * below else "does not hold", text)


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
                f"{spread}, {'true share' if rule == 'true' else 'half'} trimmed: DRL {median:.2f}, averaging "
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
            plain = results.rms(spread="even", fraction=fraction, method="plain")
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
    plain = results.rms(spread="even", fraction=0.0, method="plain")
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
    clean, dirty = (results.rms(spread="even", fraction=fraction, method="plain") for fraction in (0.0, 0.1))
    text = f"The plain method's error rises from {clean:.3f} to {dirty:.2f} with 10% outliers."
    return Finding("holds" if dirty > BROKEN * clean else "does not hold", text)


def ours_near_oracle(results: Results) -> Finding:
    """Compare ours with the oracle wherever fewer than half of the batches are beyond repair."""
    ratios, strict = {}, {}
    rows = results.where(method="ours", seen=None, order="random")
    for scenario in rows.different("scenario"):
        some = results.where(scenario=scenario, seen=None, order="random")
        if some.rms("beyond_repair", method="ours") >= 0.5:
            continue
        ours = some.values(method="ours")
        ratios[scenario] = root_mean_square(ours) / some.rms(method="oracle of usable batches")
        strict[scenario] = root_mean_square(ours) / some.rms(method="oracle")
    near = sum(ratio <= OURS for ratio in ratios.values())
    worst = max(ratios, key=lambda name: ratios[name])
    text = (
        f"At most {ratios[worst]:.3f} times the plain method on the clean rows of batches that can be repaired "
        f"({worst}), within {OURS} in {near} of {len(ratios)} streams; against all clean rows, those in batches with "
        f"60% outliers included, at most {max(strict.values()):.3f} times."
    )
    return Finding(verdict(near, len(ratios)), text)


OURS_CLAIM = Claim(
    "(ours)",
    "Our defaults come within 1.15 times the oracle wherever fewer than half of the batches are beyond repair.",
    ours_near_oracle,
)


def _about(method: str, judge: Callable[[Results, str], Finding]) -> Callable[[Results], Finding]:
    return lambda results: judge(results, method)


ONLINE_CLAIMS = {
    "pca": (
        Claim("l.303", "ORL-PCA comes near batch RC-PCA on all rows.", _about("online median", near_centralized)),
        Claim("l.303", "ORL-PCA survives 40% corrupted batches.", _about("online median", survives)),
        Claim("l.303", "Averaging fails on these.", _about("online median", averaging_fails)),
        Claim("l.303", "RC-PCA fails on a batch with half outliers or more.", breaks_at_half),
        Claim("l.106, l.303", "The geometric median resists where averaging does not.", colluding_components),
        OURS_CLAIM,
    ),
    "regression": (
        Claim("l.304", "ORL-LR comes near the centralized method.", _about("online median", near_centralized)),
        Claim("l.304", "ORL-LR survives 40% corrupted batches.", _about("online median", survives)),
        Claim("l.304", "Averaging fails on these.", _about("online median", averaging_fails)),
        Claim("l.304", "The median holds where 40% of the batches are outliers; averaging does not.", fixed_trim),
        OURS_CLAIM,
    ),
}

DISTRIBUTED_CLAIMS = (
    Claim("l.310", "Up to 0.5 DRL, division-averaging and centralized are alike, and beat plain.", alike_up_to_half),
    Claim("l.310", "Without outliers DRL is slightly worse than plain.", worse_without_outliers),
    Claim("l.310", "Plain breaks down from 0.1 on.", plain_breaks),
    Claim("l.312", "At 0.6 centralized and averaging break sharply; DRL does not.", sharp_break),
    Claim("l.69", "Little robustness is lost to the centralized method.", _about("geometric median", near_centralized)),
    OURS_CLAIM,
)
