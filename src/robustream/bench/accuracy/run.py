"""Fit every method on every case and seed; keep the errors, the seconds and what went wrong."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from robustream.bench.accuracy.cases import Case, Garbage, Problem
from robustream.bench.accuracy.contamination import Sample
from robustream.bench.accuracy.oracle import oracle_pca, oracle_regression, pca_error, regression_error
from robustream.bench.accuracy.peers import Method, our_method, python_peers, r_peers
from robustream.bench.measurement import same_threads

__all__ = ["TIME_LIMIT", "CaseResult", "Score", "choose_methods", "ratio_of_rms", "run_case", "run_cases"]

# A method whose fit takes longer is not tried on the other seeds of the case, and has no ratio there.
TIME_LIMIT = 60.0


class Score(NamedTuple):
    """What a method did on a case: its error and seconds for each seed.

    `state` is "ok"; "failed": an exception or numbers that are not finite; "slow": over the time limit; "skipped":
    more columns than the method can take in that time. `note` says more.
    """

    method: str
    state: str = "ok"
    errors: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    note: str = ""
    warnings: int = 0


class CaseResult(NamedTuple):
    """A case as it was run: the errors of the oracle for each seed, and the scores of the methods."""

    problem: str
    group: str
    name: str
    tags: tuple[str, ...]
    rows: int
    columns: int
    batches: int
    oracle: tuple[float, ...]
    scores: tuple[Score, ...]

    def score(self, method: str) -> Score | None:
        """Return the score of a method, if it was run."""
        return next((score for score in self.scores if score.method == method), None)

    def ratio(self, method: str) -> float | None:
        """Return the error of a method in multiples of the oracle's; infinity if it failed, None if there is none."""
        score = self.score(method)
        if score is None or score.state in ("slow", "skipped"):
            return None
        return math.inf if score.state == "failed" else ratio_of_rms(score.errors, self.oracle)

    def time(self, method: str) -> float | None:
        """Return the median of the seconds of a method."""
        score = self.score(method)
        return statistics.median(score.seconds) if score is not None and score.seconds else None


def ratio_of_rms(errors: Sequence[float], yardstick: Sequence[float]) -> float:
    """Return the root mean square of errors in multiples of that of others on the same seeds.

    >>> ratio_of_rms([3.0, 4.0], [1.0, 1.0])
    3.5355339059327378
    """
    if len(errors) != len(yardstick):
        raise ValueError(f"errors and yardstick must be of the same seeds, got {len(errors)} and {len(yardstick)}.")
    # Scaled first, since the square of a diverged estimate may overflow.
    largest = max((abs(error) for error in errors), default=0.0) or 1.0
    rms = largest * math.sqrt(statistics.fmean((error / largest) ** 2 for error in errors))
    return rms / math.sqrt(statistics.fmean(error**2 for error in yardstick))


def choose_methods(problem: Problem, *, peers: bool = True, quick: bool = False) -> list[Method]:
    """Return the methods of a problem, ours first; those that cannot run here say why."""
    # Whether R is installed takes a second to find out, and all of its methods are slow.
    others = [*python_peers(problem), *(() if quick else r_peers(problem))] if peers else []
    return [our_method(problem), *(method for method in others if not (quick and method.slow))]


def run_cases(
    cases: Iterable[Case],
    methods: Sequence[Method],
    seeds: Sequence[int],
    before: Callable[[Case], None] = lambda case: None,
    advance: Callable[[Case], None] = lambda case: None,
) -> list[CaseResult]:
    """Run cases with the methods of their problem; `before` is called for each case, `advance` after each seed."""
    results = []
    usable = [method for method in methods if not method.missing]
    # One thread: matrices this small only lose time to more, and then the seconds of all methods mean the same.
    with same_threads(1):
        for problem in dict.fromkeys(method.problem for method in usable):
            _warm_up(problem, usable)
        for case in cases:
            before(case)
            chosen = [method for method in usable if method.problem == case.problem]
            results.append(run_case(case, chosen, seeds, partial(advance, case)))
    return results


def run_case(
    case: Case, methods: Sequence[Method], seeds: Sequence[int], advance: Callable[[], None] = lambda: None
) -> CaseResult:
    """Fit all methods on one case, seed by seed."""
    oracle: list[float] = []
    scores = {method.name: _begin(case, method) for method in methods}
    measure = regression_error if case.problem == "regression" else pca_error
    best = oracle_regression if case.problem == "regression" else oracle_pca
    for seed in seeds:
        sample = case.generate(seed)
        oracle.append(measure(sample, best(sample)))
        for method in methods:
            if scores[method.name].state == "ok":
                scores[method.name] = _try(method, sample, measure, scores[method.name])
        advance()
    return CaseResult(
        case.problem, case.group, case.name, case.tags, case.rows, case.columns, case.batches,
        tuple(oracle), tuple(scores.values()),
    )  # fmt: skip


def _begin(case: Case, method: Method) -> Score:
    rows = case.rows * case.batches
    if method.most_columns is not None and case.columns > method.most_columns:
        return Score(method.name, "skipped", note=f"over {method.most_columns} columns")
    if method.most_rows is not None and rows > method.most_rows:
        return Score(method.name, note=f"about {method.most_rows:,} of {rows:,} rows")
    return Score(method.name)


def _try(method: Method, sample: Sample, measure: Callable[[Sample, Any], float], score: Score) -> Score:
    """Fit a method on a sample and add what came of it to its score."""
    given = sample
    if method.most_rows is not None and len(sample.X) > method.most_rows:
        given = sample.thinned(method.most_rows)
    # Joined outside the clock: a stream's rows lie in one array before a method that needs that is called.
    _ = given.X, (given.y if method.problem == "regression" else None)
    started = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = method.fit(given)
        except TimeoutError as error:
            return score._replace(state="slow", note=str(error))
        # Whatever a peer raises is a result of the case, and no reason to lose the others.
        except Exception as error:
            first = (str(error).splitlines() or [""])[0]
            return score._replace(state="failed", note=f"{type(error).__name__}: {first}"[:200])
    seconds = perf_counter() - started if fit.seconds is None else fit.seconds
    if not np.all(np.isfinite(fit.value)):
        return score._replace(state="failed", note="the estimate is not finite")
    if seconds > TIME_LIMIT:
        return score._replace(state="slow", note=f"took over {TIME_LIMIT:g} s")
    return score._replace(
        errors=(*score.errors, measure(sample, fit.value)),
        seconds=(*score.seconds, seconds),
        warnings=score.warnings + len(caught),
    )


def _warm_up(problem: Problem, methods: Sequence[Method]) -> None:
    """Fit everything once on a little table and a little stream: what is loaded or compiled then is not timed."""
    design = "identity" if problem == "regression" else "strong"
    for garbage in (None, Garbage("random", "first", 0.2)):
        sample = Case(problem, "warm-up", design, 5, 100, 1 if garbage is None else 5, garbage=garbage).generate(0)
        for method in methods:
            if method.problem == problem and not method.slow:
                _try(method, sample, lambda sample, value: 0.0, Score(method.name))
