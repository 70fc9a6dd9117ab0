"""Claims of Tables 1 and 2 and about speed."""

from __future__ import annotations

import re

from robustream.paper.claims.streams import verdict
from robustream.paper.experiment import Claim, Finding
from robustream.paper.results import Results

__all__ = ["SPEED_CLAIMS", "TABLE_1_CLAIMS", "TABLE_2_CLAIMS", "best_constant"]

# The paper's errors under its two faults: DRL, then division-averaging.
PAPER_FAULTS = {"late": (0.26, 0.42), "flipped": (0.31, 0.78)}


def _faulty(results: Results, kind: str) -> Finding:
    """Compare the geometric median with averaging under all readings of a fault."""
    words, good, total = [], 0, 0
    for fault in results.different("fault"):
        if not fault.startswith(kind):
            continue
        some = results.where(fault=fault, rule="true")
        median = some.mean(method="geometric median")
        for method in ("averaging", "averaging of eigenvectors"):
            averaging = some.mean(method=method)
            total += 1
            # Clearly better, by half of the paper's own factor.
            good += averaging >= (1 + PAPER_FAULTS[kind][1] / PAPER_FAULTS[kind][0]) / 2 * median
            words.append(f"{fault}, {method}: {averaging:.2f} against {median:.2f} for DRL")
    ours = ", ".join(
        f"{results.mean(fault=fault, method='ours'):.2f}"
        for fault in results.different("fault")
        if fault.startswith(kind)
    )
    paper = PAPER_FAULTS[kind]
    text = f"{'; '.join(words)}. Ours: {ours}. The paper: {paper[1]:.2f} against {paper[0]:.2f} for DRL."
    return Finding(verdict(good, total), text)


def best_constant(results: Results, method: str) -> str:
    """Give the name of a method with the constant that was best on unspoiled tags, in hindsight."""
    names = [name for name in results.different("method") if re.fullmatch(rf"{re.escape(method)}, constant .*", name)]
    return max(names, key=lambda name: results.mean("precision", method=name, bad=0.0))


def _margin(results: Results) -> Finding:
    """Compare ORL-LR with averaging and the stochastic gradient on tags as they are."""
    some = results.where(data="clip art", bad=0.0)
    orl, around = best_constant(some, "ORL-LR"), best_constant(some, "ORL around ridge")
    names = (orl, around, "online averaging LR", "stochastic LR", "ours", "ridge on everything")
    scores = {name: some.mean("precision", method=name) for name in names}
    margin = max(scores[orl], scores[around]) - max(scores["online averaging LR"], scores["stochastic LR"])
    listed = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    text = (
        f"Precision at the number of true tags, tags as typed: {listed}. The margin of the better ORL over averaging "
        f"and the stochastic gradient is {100 * margin:+.0f} points; the paper: +9 (0.36, 0.27, 0.23). Its Flickr "
        "images are not at hand; these are 200 tags of Open Clip Art drawings."
    )
    return Finding("holds" if margin >= 0.09 else "holds in part" if margin >= 0.02 else "does not hold", text)


def _margin_when_spoiled(results: Results) -> Finding:
    """Compare the geometric median with averaging where batches are spoiled."""
    some = results.where(data="clip art")
    worst = max(some.different("bad"))
    around = best_constant(some, "ORL around ridge")
    names = (around, "online averaging LR", "stochastic LR", "ridge on everything", "ours")
    scores = {name: some.mean("average_precision", method=name, bad=worst) for name in names}
    margin = scores[around] - max(scores["online averaging LR"], scores["stochastic LR"])
    listed = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
    text = f"Macro average precision with {worst:.0%} of the batches spoiled: {listed}."
    return Finding("holds" if margin >= 0.09 else "holds in part" if margin >= 0.02 else "does not hold", text)


def _ours_on_tags(results: Results) -> Finding:
    """Compare ours on spoiled tags with ours where the spoiled batches were left out."""
    some = results.where(data="clip art")
    shares = [bad for bad in some.different("bad") if bad > 0]
    ratios = {
        bad: some.mean("average_precision", method="ours", bad=bad)
        / some.mean("average_precision", method="ours, spoiled batches left out", bad=bad)
        for bad in shares
    }
    ridge = {bad: some.mean("average_precision", method="ridge on everything", bad=bad) for bad in (0.0, max(shares))}
    text = (
        "Macro average precision in parts of that without the spoiled batches: "
        + ", ".join(f"{ratio:.3f} with {bad:.0%} spoiled" for bad, ratio in ratios.items())
        + f". Ridge on everything falls from {ridge[0.0]:.2f} to {ridge[max(shares)]:.2f}."
    )
    return Finding(verdict(sum(ratio >= 0.95 for ratio in ratios.values()), len(ratios)), text)


def _memory(results: Results) -> Finding:
    """Compare peaks of memory."""
    online, batch = (results.mean("peak_bytes", method=name) / 1e6 for name in ("ORL-PCA", "batch RC-PCA"))
    text = (
        f"Above the start of the process: ORL-PCA {online:.0f} MB, batch RC-PCA {batch:.0f} MB, {batch / online:.0f} "
        f"times as much (the paper: 8 MB, 8,000 MB). Ours: {results.mean('peak_bytes', method='ours') / 1e6:.0f} MB."
    )
    return Finding("holds" if batch > 10 * online else "holds in part" if batch > 2 * online else "does not hold", text)


def _time(results: Results) -> Finding:
    """Compare times of online and batch."""
    online, batch, ours = (results.mean("seconds", method=name) for name in ("ORL-PCA", "batch RC-PCA", "ours"))
    text = (
        f"ORL-PCA {online:.1f} s, batch RC-PCA {batch:.1f} s on the same rows and cores, ours {ours:.1f} s (the paper: "
        "212 s and about 27 hours). The work is the same, product by product: a batch method this much slower is an "
        "implementation's matter, not the method's."
    )
    return Finding("holds" if batch > 10 * online else "holds in part" if batch > 2 * online else "does not hold", text)


def _distributed_time(results: Results) -> Finding:
    """Compare the slowest of k nodes and the median with the centralized method."""
    nodes, batch = results.mean("seconds", method="DRL"), results.mean("seconds", method="batch RC-PCA")
    count = results.mean("batches", method="DRL")
    text = (
        f"{count:.0f} nodes timed one by one: the slowest and the median of the answers take {nodes:.2f} s, the "
        f"centralized method {batch:.1f} s, {batch / nodes:.0f} times as long (the paper: 0.6 s and 60 s, but 27 "
        "hours for the same method on the same data in its online section)."
    )
    return Finding(
        "holds" if batch > 0.3 * count * nodes else "holds in part" if batch > nodes else "does not hold", text
    )


def _communication(results: Results) -> Finding:
    """Compare what is sent with the data."""
    some = results.where(method="DRL")
    share = some.mean("sent_bytes") / some.mean("data_bytes")
    text = (
        f"{some.mean('sent_bytes') / 1e3:.0f} kB of eigenvectors are sent for {some.mean('data_bytes') / 1e6:.0f} MB."
    )
    return Finding("holds" if share < 0.01 else "does not hold", text)


TABLE_1_CLAIMS = (
    Claim("l.326", "Late machines hurt averaging more than DRL.", lambda results: _faulty(results, "late")),
    Claim("l.328", "Garbled answers hurt averaging more than DRL.", lambda results: _faulty(results, "flipped")),
)
TABLE_2_CLAIMS = (
    Claim("l.349", "ORL-LR predicts tags better than averaging and stochastic LR, by 9 points.", _margin),
    Claim("l.349", "The same where a part of the batches is spoiled.", _margin_when_spoiled),
    Claim("(ours)", "On spoiled tags ours keeps 95% of what it reaches without the spoiled batches.", _ours_on_tags),
)
SPEED_CLAIMS = (
    Claim("l.303", "ORL-PCA needs far less memory than batch RC-PCA: 8 MB against 8,000.", _memory),
    Claim("l.303", "ORL-PCA takes 212 seconds, batch RC-PCA about 27 hours.", _time),
    Claim("l.307", "Distributed 0.6 seconds, centralized 60.", _distributed_time),
    Claim("l.308", "Communication is negligible.", _communication),
)
