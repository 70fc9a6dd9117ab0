"""Robust covariance beside that of the clean rows, and its time beside peers': python benchmarks/covariance.py.

Cases are those of the PCA gauntlet with normal tails (`robustream bench accuracy`), three seeds each. The error is that
of the covariance in units of the columns' true deviations, root mean square over the seeds, in multiples of the error
of the clean rows' covariance. Times are beside scikit-learn's MinCovDet and, where R with robustbase is installed, its
covMcd. One thread. With --quick a third of the cases, and 100,000 rows.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import defaultdict

import numpy as np
from sklearn.covariance import MinCovDet
from threadpoolctl import threadpool_limits

import robustream as rs
from robustream.bench.accuracy.cases import choose_cases
from robustream.bench.speed import r_seconds

FIRST_SEED, SEEDS = 70_000, 3


def error(covariance, truth):
    unit = np.sqrt(np.where(np.diag(truth) > 0, np.diag(truth), 1.0))  # a column that never changes is a case too
    return float(np.linalg.norm((covariance - truth) / np.outer(unit, unit)))


def ours(sample):
    model = rs.OutlierRobustCovariance()
    if len(sample.batches) == 1:
        return model.fit(sample.X).covariance_
    for batch in sample.batches:
        model.partial_fit(batch.X)
    return model.covariance_


def accuracy(quick):
    by_group, worst = defaultdict(list), []
    for case in choose_cases("pca", quick=quick):
        if math.isfinite(case.law):
            continue  # rows without a variance, or with a poor estimate of it
        squares = np.zeros(2)
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            sample = case.generate(seed)
            found = error(ours(sample), sample.covariance), error(np.cov(sample.clean_X.T), sample.covariance)
            squares += np.square(found)
        ratio = math.sqrt(squares[0] / squares[1])
        by_group[case.group].append(ratio)
        worst.append((ratio, case.name))
    print("group           cases  median  within 1.1", flush=True)
    for name, ratios in [*by_group.items(), ("all", [ratio for ratio, _ in worst])]:
        print(f"{name:<15} {len(ratios):>5}  {np.median(ratios):6.3f}  {np.mean(np.array(ratios) <= 1.1):10.0%}")
    print("worst:", "; ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(worst, reverse=True)[:6]))


def speed(rows, columns=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    X[: rows // 5] += 50 * rng.normal(size=columns)
    taken = []
    for model in (rs.OutlierRobustCovariance(), MinCovDet(random_state=0)):
        start = time.perf_counter()
        model.fit(X)
        _ = model.covariance_
        taken.append(time.perf_counter() - start)
    taken.append(r_seconds("covMcd", X, X[:, 0]))
    said = [
        f"{name} {seconds:.2f} s, {seconds / taken[0]:.0f} times as fast"
        for name, seconds in zip(("MinCovDet", "covMcd"), taken[1:], strict=True)
        if not math.isnan(seconds)
    ]
    print(f"{rows:,} x {columns}, 20% bad: {taken[0]:.2f} s; {'; '.join(said)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    rs.OutlierRobustCovariance().fit(np.random.default_rng(0).normal(size=(2000, 5)))  # compiled loops are loaded
    with threadpool_limits(1):
        speed(100_000 if quick else 1_000_000)
        accuracy(quick)


if __name__ == "__main__":
    main()
