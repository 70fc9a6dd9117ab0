"""Section 6, online setting: Figures 1a (PCA) and 1b (regression)."""

from __future__ import annotations

from typing import NamedTuple

from robustream.paper.experiment import Claim, Experiment, Finding, verdict
from robustream.paper.ours import ON_THE_WAY_CLAIM, OURS_CLAIMS
from robustream.paper.results import Results
from robustream.paper.simulation import (
    ALIKE,
    ONLINE_SETUP,
    cells_of,
    near_centralized,
    online_pictures,
    tables_of,
    trim_words,
)

__all__ = ["FIGURE_1A", "FIGURE_1B"]

METHOD = "online median"


def _hard_streams(results: Results) -> list[tuple[str, Results]]:
    """Return the streams with 40% bad batches, by what is in them, and all that was trimmed."""
    some = results.where(spread="adversarial", share=0.4, seen=None, order="random")
    return [
        (f"{level:.0%} {kind}", some.where(level=level, kind=kind))
        for level in some.different("level")
        for kind in some.different("kind")
    ]


def comes_near_centralized(results: Results) -> Finding:
    """Compare the filter with all rows at once, with its set constant and with the best one in hindsight."""
    finding = near_centralized(results, METHOD)
    words = []
    for fraction in results.different("fraction", spread="even", method="constant"):
        some = results.where(spread="even", fraction=fraction, rule="true", seen=None)
        errors = {place: some.rms(method="constant", constant=place) for place in some.different("constant")}
        best = min(errors, key=lambda place: errors[place])
        words.append(f"{errors[best] / some.rms(method='centralized'):.2f} at a share of {fraction:g} ({best:g})")
    text = f"{finding.text} With the constant that is best in hindsight, the true share trimmed: {', '.join(words)}."
    return Finding(finding.verdict, text)


def survives(results: Results) -> Finding:
    """Ask whether 40% bad batches leave the filter near what it reaches when they are left out."""
    found = _compared(results, METHOD, f"{METHOD}, bad batches left out")
    good, total = sum(ratio <= ALIKE for ratio in found.ratios), len(found.ratios)
    text = (
        f"40% bad batches; its error in multiples of that with the bad batches left out, over all trims: "
        f"{found.words}. Within {ALIKE} in {good} of {total} settings."
    )
    return Finding(verdict(good, total), text)


def averaging_fails(results: Results) -> Finding:
    """Ask whether averaging has twice the error of the filter with 40% bad batches."""
    found = _compared(results, "averaging", METHOD)
    good, total = sum(ratio >= 2 for ratio in found.ratios), len(found.ratios)
    text = (
        f"40% bad batches; the error of averaging in multiples of the filter's, over all trims: {found.words}. "
        f"Twice as large in {good} of {total} settings."
    )
    return Finding(verdict(good, total), text)


class _Compared(NamedTuple):
    """Ratios of the errors of two methods over all hard streams and trims, and their range in words."""

    ratios: list[float]
    words: str


def _compared(results: Results, method: str, other: str) -> _Compared:
    ratios, words = [], []
    for name, some in _hard_streams(results):
        rules = some.different("rule", method=METHOD)
        here = [some.rms(method=method, rule=rule) / some.rms(method=other, rule=rule) for rule in rules]
        ratios += here
        words.append(f"{name}: {min(here):.2f} to {max(here):.2f}")
    return _Compared(ratios, "; ".join(words))


def averaging_of_eigenvectors_fails(results: Results) -> Finding:
    """The same for averaged eigenvector matrices, and what these are worth where all batches are good."""
    good, words = 0, []
    streams = _hard_streams(results)
    for name, some in streams:
        averaged, filtered = (some.rms(method=method, rule="true") for method in ("averaging of eigenvectors", METHOD))
        good += averaged >= 2 * filtered
        words.append(f"{name}: {averaged:.2f} against {filtered:.2f}")
    clean = results.where(spread="even", fraction=0.0, rule="true", seen=None, order="random")
    text = (
        f"40% bad batches, {trim_words('true')}, averaged eigenvector matrices against the filter: {'; '.join(words)}. "
        f"Twice as large in {good} of {len(streams)} settings; but on clean batches such an average has "
        f"{clean.rms(method='averaging of eigenvectors'):.2f} against {clean.rms(method=METHOD):.2f} already."
    )
    return Finding(verdict(good, len(streams)), text)


def base_fails(results: Results) -> Finding:
    """Ask whether the learner's answer is useless on a batch in which outliers are the majority."""
    good, total, words = 0, 0, []
    sound: list[float] = []
    for name, some in _hard_streams(results):
        errors = [some.rms(method="one bad batch", rule=rule) for rule in ("true", "half")]
        sound.extend(some.rms(method="one good batch", rule=rule) for rule in ("true", "half"))
        total += len(errors)
        good += sum(error >= 1 for error in errors)
        words.append(f"{name}: {errors[0]:.2f} with the true share trimmed, {errors[1]:.2f} with a half")
    text = (
        f"Error on one bad batch by itself: {'; '.join(words)}; on a clean batch {min(sound):.2f} to {max(sound):.2f}. "
        f"Useless, which is 1 or more, as far off as no answer at all, in {good} of {total} settings."
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


def survives_orders(results: Results) -> Finding:
    """Ask whether the filter stands 40% bad batches wherever they come."""
    some = results.where(spread="adversarial", share=0.4, level=1.0, rule="true")
    last = max(some.different("seen"))
    good, total, words = 0, 0, []
    for kind in some.different("kind"):
        here = some.where(kind=kind)
        alone = here.rms(method=f"{METHOD}, bad batches left out")
        ratios = {order: here.rms(method=METHOD, order=order, seen=last) / alone for order in here.different("order")}
        good += sum(ratio <= ALIKE for ratio in ratios.values())
        total += len(ratios)
        words.append(f"{kind}: " + ", ".join(f"{order} {ratio:.2f}" for order, ratio in ratios.items()))
    text = (
        "40% of the batches all outliers, the true share trimmed; its error in multiples of that with these left out, "
        f"by where they come: {'; '.join(words)}. Within {ALIKE} in {good} of {total} settings. The exact median and "
        "ours give the same answer in every order."
    )
    return Finding(verdict(good, total), text)


ONLINE_CLAIMS = {
    "pca": (
        Claim("l.303", "ORL-PCA comes near batch RC-PCA on all rows.", comes_near_centralized),
        Claim("l.173, l.303", "ORL-PCA survives 40% corrupted batches, however bad these are.", survives),
        Claim("l.303", "It does so whatever the order of the batches.", survives_orders),
        Claim("l.303", "Averaging fails on these: projectors.", averaging_fails),
        Claim("l.303", "Averaging fails on these: eigenvector matrices.", averaging_of_eigenvectors_fails),
        Claim("l.152, l.303", "RC-PCA's answer is useless on a batch with half outliers or more.", base_fails),
        Claim("l.106, l.303", "The geometric median resists where averaging does not.", colluding_components),
        *OURS_CLAIMS,
        ON_THE_WAY_CLAIM,
    ),
    "regression": (
        Claim("l.304", "ORL-LR comes near the centralized method.", comes_near_centralized),
        Claim("l.173, l.304", "ORL-LR survives 40% corrupted batches, however bad these are.", survives),
        Claim("l.304", "It does so whatever the order of the batches.", survives_orders),
        Claim("l.304", "Averaging fails on these.", averaging_fails),
        Claim("l.152", "RoTR's answer is useless on a batch with half outliers or more.", base_fails),
        Claim("l.304", "The median holds where 40% of the batches are outliers; averaging does not.", fixed_trim),
        *OURS_CLAIMS,
        ON_THE_WAY_CLAIM,
    ),
}


FIGURE_1A = Experiment(
    name="figure-1a",
    title="Figure 1a: online PCA",
    line="l.303",
    says=(
        "ORL-PCA converges to about what batch RC-PCA reaches with all rows at hand, at a fraction of time "
        "and memory. When up to 40% of the batches are overwhelmed by outliers, the estimates of these are "
        "useless, averaging fails, and ORL-PCA still finds the subspace."
    ),
    setup=ONLINE_SETUP,
    remark=(
        "The figure itself is not in the source. The paper does not say how outliers are spread over batches, which "
        "constant the filter had, or whether projectors or eigenvectors are averaged. Averaging projectors is itself "
        "resistant to garbage without structure. Against garbage that agrees, trimming leaves the answers of good "
        "batches so far apart that the median falls to it as well; where nothing is trimmed, good batches agree, the "
        "median holds, and the paper's contrast with averaging is there."
    ),
    cells=cells_of("pca", "even", "uneven", "adversarial"),
    pictures=online_pictures("pca", "figure-1a"),
    tables=tables_of("pca", "even", "uneven", "adversarial"),
    claims=ONLINE_CLAIMS["pca"],
)


FIGURE_1B = Experiment(
    name="figure-1b",
    title="Figure 1b: online regression",
    line="l.304",
    says=("As for PCA: ORL-LR is robust to outliers and to corrupted batches, and naive averaging is not."),
    setup=ONLINE_SETUP,
    remark=(
        "The outliers that the paper prints, y = -theta.x + v, all agree on -theta: they are the colluding "
        "kind here. Garbage without structure has y independent of x. RoTR shrinks: trimming makes "
        "coefficients too short, so that errors near 1 mean an answer near 0, which bad batches can hardly "
        "make worse."
    ),
    cells=cells_of("regression", "even", "uneven", "adversarial"),
    pictures=online_pictures("regression", "figure-1b"),
    tables=tables_of("regression", "even", "uneven", "adversarial"),
    claims=ONLINE_CLAIMS["regression"],
)
