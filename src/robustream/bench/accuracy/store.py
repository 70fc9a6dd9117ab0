"""Results on disk: JSON with everything, from which tables and pictures can be made again, and CSV for a glance."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robustream.bench.accuracy.run import CaseResult, Score
from robustream.bench.accuracy.summary import summarize

__all__ = ["CSV_NAME", "JSON_NAME", "read_json", "results_as_data", "results_from_data", "write_csv", "write_json"]

JSON_NAME = "accuracy.json"
CSV_NAME = "accuracy.csv"


def results_as_data(results: Sequence[CaseResult]) -> list[dict[str, Any]]:
    """Return results as plain data for JSON, with the ratios, which are made from the errors."""
    return [
        {
            **result._asdict(),
            "tags": list(result.tags),
            "oracle": list(result.oracle),
            "scores": [
                {
                    **score._asdict(),
                    "errors": list(score.errors),
                    "seconds": list(score.seconds),
                    "ratio": _finite(result.ratio(score.method)),
                }
                for score in result.scores
            ],
        }
        for result in results
    ]


def results_from_data(data: Sequence[Mapping[str, Any]]) -> list[CaseResult]:
    """Return the results that `results_as_data` wrote."""
    results = []
    for case in data:
        scores = []
        for entry in case["scores"]:
            fields = {key: value for key, value in entry.items() if key != "ratio"}
            scores.append(Score(**{**fields, "errors": tuple(entry["errors"]), "seconds": tuple(entry["seconds"])}))
        sequences = {"tags": tuple(case["tags"]), "oracle": tuple(case["oracle"]), "scores": tuple(scores)}
        results.append(CaseResult(**{**case, **sequences}))
    return results


def write_json(folder: Path, results: Sequence[CaseResult], facts: Mapping[str, Any]) -> Path:
    """Write results, their summary and the facts of the run (seeds, methods, environment)."""
    target = folder / JSON_NAME
    data = {
        **facts,
        "summary": [share.as_data() for share in summarize(results)],
        "cases": results_as_data(results),
    }
    target.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return target


def read_json(path: Path) -> list[CaseResult]:
    """Read the results of a run."""
    return results_from_data(json.loads(path.read_text(encoding="utf-8"))["cases"])


def write_csv(folder: Path, results: Sequence[CaseResult]) -> Path:
    """Write a line for each case and method."""
    target = folder / CSV_NAME
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            (
                "problem",
                "group",
                "case",
                "method",
                "ratio",
                "error",
                "oracle_error",
                "seconds",
                "seeds",
                "state",
                "note",
            )
        )
        for result in results:
            for score in result.scores:
                writer.writerow(
                    (
                        result.problem,
                        result.group,
                        result.name,
                        score.method,
                        _finite(result.ratio(score.method)),
                        _rms(score.errors),
                        _rms(result.oracle),
                        result.time(score.method),
                        len(score.errors),
                        score.state,
                        score.note,
                    )
                )
    return target


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rms(values: Sequence[float]) -> float | None:
    return math.hypot(*values) / math.sqrt(len(values)) if values else None
