"""Small runs of every estimator, learner, aggregator and engine give what they gave before.

`unchanged.json` holds, for each case, rounded numbers that hold on every machine and a hash of the whole model file or
checkpoint that holds on machines like the one it was made on (same processor family, NumPy, SciPy and scikit-learn).

    python tests/test_unchanged.py --renew                  # all cases
    python tests/test_unchanged.py --renew refined filtered # those whose name has one of these words
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

import robustream as rs
from robustream import files
from robustream.aggregators import AGGREGATORS
from robustream.engines import InProcessEngine, LocalEngine
from robustream.errors import RobustreamError
from robustream.learners import RECIPES

STORED = Path(__file__).with_name("unchanged.json")
BATCH = 100
Facts = dict[str, Any]


@cache
def rows() -> np.ndarray:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1600, 5)) @ np.diag([4.0, 3.0, 1.0, 1.0, 0.5]) + [0.0, 10.0, -3.0, 0.0, 1.0]
    X[::37] = rng.normal(size=X[::37].shape) * 60  # single rows
    X[300:600] = rng.normal(size=(300, 5)) * [1.0, 1.0, 30.0, 1.0, 1.0]  # whole batches
    return X


@cache
def target() -> np.ndarray:
    rng = np.random.default_rng(8)
    y = rows() @ [1.0, -2.0, 0.5, 0.0, 3.0] + 4 + rng.normal(size=1600)
    # Some noise: the scale of an exact fit is rounding, and another one on each machine.
    y[300:600] = rows()[300:600] @ [-5.0, 0.0, 0.0, 1.0, 0.0] + 0.01 * rng.normal(size=300)
    return y


def labels() -> np.ndarray:
    return (rows()[:, 0] + 0.5 * np.random.default_rng(9).normal(size=1600) > 0).astype(int)


def write_files(folder: Path) -> str:
    import pandas as pd

    table = pd.DataFrame(rows(), columns=list("abcde")).assign(y=target())
    for number in range(4):
        table[number * 400 : (number + 1) * 400].to_parquet(folder / f"part-{number}.parquet", row_group_size=200)
    return str(folder / "part-*.parquet")


def write_csv(folder: Path) -> str:
    import pandas as pd

    table = pd.DataFrame(rows().round(6), columns=list("abcde")).assign(y=target().round(6)).astype(object)
    table.loc[5::50, "b"] = ""
    table.loc[700:720, "c"] = "n/a?"
    table.to_csv(folder / "table.csv", index=False)
    return str(folder / "table.csv")


# ---- what is compared


# Words for people, and what differs from machine to machine or from folder to folder.
LEFT_OUT = {"made", "reason", "fingerprint"}


def digest(value: Any, folder: Path) -> str:
    """Return a hash of nested plain data in which every bit shows."""
    sha = hashlib.sha256()

    def add(node: Any) -> None:
        if isinstance(node, dict):
            for name in sorted(node.keys() - LEFT_OUT):
                sha.update(f"{name}{{".encode())
                add(node[name])
        elif isinstance(node, (list, tuple)):
            sha.update(f"[{len(node)}".encode())
            for item in node:
                add(item)
        elif isinstance(node, np.ndarray) and node.dtype.kind not in "OUS":
            sha.update(f"{node.dtype.str}{node.shape}".encode() + np.ascontiguousarray(node).tobytes())
        elif isinstance(node, np.ndarray):
            add([str(item) for item in node.ravel()])
        else:
            sha.update(repr(node).replace(str(folder), "").encode() + b";")

    add(value)
    return sha.hexdigest()[:16]


def file_digest(path: Path) -> str:
    return digest(files.read_any(path).tree, path.parent)


def numbers(model: Any, scores: Any = None) -> Facts:
    found: dict[str, Any] = {}
    for name in ("components_", "explained_variance_", "mean_", "coef_", "intercept_", "scale_", "coef_stderr_"):
        if hasattr(model, name):
            found[name] = np.ravel(getattr(model, name))[:12].tolist()
    if hasattr(model, "estimator_"):
        inner = model.estimator_
        names = [name for name in ("coef_", "intercept_", "theta_", "var_") if hasattr(inner, name)]
        found |= {f"estimator_.{name}": np.ravel(getattr(inner, name)).tolist() for name in names}
    if scores is not None:
        found["scores"] = np.asarray(scores, dtype=float)[::160].tolist()
    if hasattr(model, "batch_report_"):
        found["verdicts"] = "".join(record.verdict[0] for record in model.batch_report_)
        found["seen"] = [model.n_samples_seen_, model.n_batches_seen_]
        try:
            found["certificate"] = [model.certificate(0.1).radius]
        except RobustreamError as error:
            found["certificate"] = type(error).__name__
    notes = getattr(model, "fit_notes_", None)
    if notes:
        found["looks"] = [number for look in notes["history"] for number in look]
        found["worst rows"] = [number for row in notes["worst_rows"][:5] for number in row[1:3]]
        found["missing"] = [sum(notes["missing"].values()), sum(notes["unreadable"].values()), notes["rows_dropped"]]
    return {name: value if isinstance(value, str) else [_round(n) for n in value] for name, value in found.items()}


def _round(number: float) -> float | str:
    return float(f"{number:.5g}") if np.isfinite(number) else str(number)


def facts(model: Any, folder: Path, scores: Any = None) -> Facts:
    path = folder / "model.safetensors"
    rs.save(model, path)
    return {"numbers": numbers(rs.load(path), scores), "file": file_digest(path)}


# ---- cases, by name: kind of model, learner, aggregator, way


def pca_case(folder: Path, **parameters: Any) -> Facts:
    model = rs.OutlierRobustPCA(2, batch_size=BATCH, **parameters).fit(rows())
    return facts(model, folder, model.outlier_scores(rows()))


def regression_case(folder: Path, **parameters: Any) -> Facts:
    model = rs.OutlierRobustRegressor(batch_size=BATCH, **parameters).fit(rows(), target())
    return facts(model, folder, model.outlier_scores(rows(), target()))


def moments_case(folder: Path) -> Facts:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2400, 510)).astype(np.float32)
    y = X[:, 0] * 2 - X[:, 3] + rng.normal(size=2400).astype(np.float32)
    model = rs.OutlierRobustRegressor(batch_size=600).fit(X, y)
    return facts(model, folder, model.outlier_scores(X[:1600], y[:1600]))


def calls_case(folder: Path, model: Any, y: np.ndarray | None) -> Facts:
    """Calls of partial_fit, some too small for a batch of their own, a save and load on the way, rows that wait."""
    cuts = [0, 10, 25, 200, 207, 215, 600, 900, 905, 1300, 1590, 1600]
    for first, last in pairwise(cuts):
        model.partial_fit(rows()[first:last], *(() if y is None else (y[first:last],)))
        if first == 215:
            rs.save(model, folder / "halfway.safetensors")
            model = rs.load(folder / "halfway.safetensors")
    return facts(model, folder)


def classes_case(folder: Path) -> Facts:
    model = rs.OutlierRobust(GaussianNB(), batch_size=BATCH).fit(rows(), labels())
    return facts(model, folder, model.predict_proba(rows())[:, 0])


def wrapped_case(folder: Path) -> Facts:
    model = rs.fit(rs.OutlierRobust(LinearRegression(), batch_size=BATCH), write_files(folder), target="y")
    return facts(model, folder)


def trimmed_case(folder: Path, model: Any, y: np.ndarray | None = None) -> Facts:
    arguments = (rows(),) if y is None else (rows(), y)
    return facts(model.fit(*arguments), folder, model.outlier_scores(*arguments))


def pca(learner: str) -> Any:
    return rs.OutlierRobustPCA(2, learner=learner, batch_size=BATCH)


def regression(learner: str) -> Any:
    return rs.OutlierRobustRegressor(learner=learner, batch_size=BATCH)


def files_case(folder: Path, learner: str, engine: Any = None, **options: Any) -> Facts:
    model = rs.fit(regression(learner), write_files(folder), target="y", engine=engine, **options)
    return facts(model, folder)


def local_case(folder: Path, learner: str) -> Facts:
    with LocalEngine(2) as engine:
        return files_case(folder, learner, engine)


def csv_case(folder: Path, learner: str) -> Facts:
    return facts(rs.fit(pca(learner), write_csv(folder), exclude="y"), folder)


def tolerance_case(folder: Path, learner: str) -> Facts:
    source = rs.sources.ArraySource(np.tile(rows()[600:], (4, 1)), batch_size=BATCH)
    return facts(rs.fit(pca(learner), source, tolerance=0.9), folder)


def resume_case(folder: Path, learner: str) -> Facts:
    """A run that ended after 7 batches and went on; the checkpoint halfway is compared as well."""
    source, path = write_files(folder), folder / "run.checkpoint"
    rs.fit(regression(learner), source, target="y", checkpoint=path, callbacks=[lambda event: event.batches == 7])
    halfway = file_digest(path)
    found = files_case(folder, learner, checkpoint=path, resume=True)
    return {**found, "checkpoint": halfway, "last checkpoint": file_digest(path)}


def late_case(folder: Path, learner: str) -> Facts:
    """Half of the partitions are given up, and taken in afterwards."""
    model = rs.fit(pca(learner), write_files(folder), exclude="y", engine=InProcessEngine(), enough=0.5, quorum=0.0)
    before = facts(model, folder)
    after = facts(rs.fold_in_late(model), folder)
    return {"numbers": {**after["numbers"], "before": before["numbers"]["verdicts"]}, "file": after["file"]}


def cases() -> dict[str, Callable[[Path], Facts]]:
    found: dict[str, Callable[[Path], Facts]] = {}
    for learner in RECIPES:
        found[f"pca {learner} filtered"] = lambda folder, one=learner: pca_case(folder, learner=one)
        found[f"regression {learner} filtered"] = lambda folder, one=learner: regression_case(folder, learner=one)
        found[f"pca {learner} geometric-median calls"] = lambda folder, one=learner: calls_case(
            folder, rs.OutlierRobustPCA(2, learner=one, aggregator="geometric-median", half_life=5.0), None
        )
    for aggregator in AGGREGATORS:
        if aggregator != "filtered":
            found[f"pca classical {aggregator}"] = lambda folder, one=aggregator: pca_case(
                folder, learner="classical", aggregator=one, standardize=True
            )
            found[f"regression classical {aggregator}"] = lambda folder, one=aggregator: regression_case(
                folder, learner="classical", aggregator=one
            )
    for name, case in {
        "files": files_case,
        "local engine": local_case,
        "csv": csv_case,
        "tolerance": tolerance_case,
        "resume": resume_case,
        "late partitions": late_case,
    }.items():
        for learner in ("refined", "classical"):
            found[f"{name} {learner} filtered"] = lambda folder, run=case, one=learner: run(folder, one)
    return found | {
        "files classical filtered in-process engine": lambda folder: files_case(folder, "classical", InProcessEngine()),
        "regression classical filtered calls": lambda folder: calls_case(
            folder, rs.OutlierRobustRegressor(learner="classical", alpha=0.1), target()
        ),
        "share of variance refined filtered": lambda folder: facts(
            rs.OutlierRobustPCA(0.9, batch_size=BATCH).fit(rows()), folder
        ),
        "moments refined filtered": moments_case,
        "wrapper classes filtered": classes_case,
        "wrapper files filtered": wrapped_case,
        "trimmed pca": lambda folder: trimmed_case(folder, rs.TrimmedPCA(2)),
        "trimmed regressor": lambda folder: trimmed_case(folder, rs.TrimmedRegressor(), target()),
    }


CASES = cases()


def machine() -> list[str]:
    versions = [f"{library.__name__} {library.__version__}" for library in (np, scipy, sklearn)]
    return sorted(versions + [str(info.get("architecture")) for info in threadpool_info() if "architecture" in info])


def measure(name: str) -> Facts:
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        return CASES[name](Path(folder))


@cache
def stored() -> dict[str, Any]:
    return json.loads(STORED.read_text())


@pytest.mark.parametrize("name", CASES)
def test_gives_what_it_gave(name: str) -> None:
    found, before = measure(name), stored()["cases"][name]
    assert set(found["numbers"]) == set(before["numbers"])
    for place, value in before["numbers"].items():
        assert _close(found["numbers"][place], value), (place, found["numbers"][place], value)
    if machine() == stored()["machine"]:
        assert {key: value for key, value in found.items() if key != "numbers"} == {
            key: value for key, value in before.items() if key != "numbers"
        }


def _close(found: Any, before: Any) -> bool:
    if isinstance(found, str) or isinstance(before, str):
        return bool(found == before)
    if len(found) != len(before):
        return False
    return all(
        one == two if isinstance(one, str) or isinstance(two, str) else bool(np.isclose(one, two, 1e-3, 1e-6))
        for one, two in zip(found, before, strict=True)
    )


def pairs() -> Iterator[tuple[str, str]]:
    yield "files classical filtered", "files classical filtered in-process engine"
    for learner in ("refined", "classical"):
        yield f"files {learner} filtered", f"local engine {learner} filtered"
        yield f"files {learner} filtered", f"resume {learner} filtered"


@pytest.mark.parametrize(("first", "second"), list(pairs()))
def test_the_way_changes_no_bit(first: str, second: str) -> None:
    assert stored()["cases"][first]["file"] == stored()["cases"][second]["file"]


def renew(words: list[str]) -> None:
    before = stored()["cases"] if STORED.exists() else {}
    chosen = [name for name in CASES if not words or name not in before or any(word in name for word in words)]
    after = {name: measure(name) if name in chosen else before[name] for name in CASES}
    STORED.write_text(json.dumps({"machine": machine(), "cases": after}, separators=(",", ":")) + "\n")
    changed = [name for name in chosen if before.get(name) != after[name]]
    print(f"{len(chosen)} cases run, {len(changed)} changed", *changed, sep="\n  ")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--renew"]:
        sys.exit(__doc__)
    renew(sys.argv[2:])
