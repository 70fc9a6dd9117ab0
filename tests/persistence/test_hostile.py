"""Crafted models and checkpoints under a right checksum: they load, or say that they cannot."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import robustream as rs
from robustream import files
from robustream.errors import DamagedFileError, UnsupportedEstimatorError
from robustream.persistence import load, save
from robustream.persistence.model import build_model, model_from_tree
from robustream.runs.checkpoints import checkpoint_from_tree, read_checkpoint, write_checkpoint

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
MODELS = {
    "pca": rs.OutlierRobustPCA(2, batch_size=60).fit(X).partial_fit(X[:5]),
    "mean": rs.OutlierRobustRegressor(aggregator="mean", learner="classical", batch_size=60).fit(X, X[:, 0]),
    "filter": rs.OutlierRobustPCA(1, aggregator=rs.aggregators.OnlineMedian(), batch_size=60).fit(X),
    "classifier": rs.OutlierRobust(LogisticRegression(), batch_size=60).fit(X, X[:, 0] > 0),
    "table": rs.TrimmedRegressor().fit(X, X[:, 0]),
}
HOSTILE = [
    None,
    -1,
    2**70,
    10**12,
    0.5,
    float("nan"),
    "text",
    "",
    [],
    [[]],
    {},
    {"@": "Held"},
    {"@": "os.system", "command": "true"},
    {"@tuple": []},
    True,
    np.zeros(0),
    np.full((2, 3), np.nan),
    np.array(["a"]),
    np.array(3),
    np.arange(7),
]


def places(tree, path=()):
    """Give the path to every entry of a tree."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def replaced(tree, path, value):
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def without(tree, path):
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return changed


@pytest.mark.parametrize("name", MODELS)
def test_models_with_any_entry_replaced(name, tmp_path):
    path = tmp_path / "model.safetensors"
    save(MODELS[name], path)
    tree = files.read(path, "model")
    del tree["made"], tree["extra"]
    rng = np.random.default_rng(0)
    chosen = [place for place in places(tree) if place[0] != "answer" or name == "table"]
    chosen = [chosen[k] for k in rng.permutation(len(chosen))[:100]]
    refused = 0
    tracemalloc.start()
    for place in chosen:
        cases = [replaced(tree, place, HOSTILE[k]) for k in rng.choice(len(HOSTILE), size=2, replace=False)]
        for case in [*cases, without(tree, place)]:
            try:
                model_from_tree(case)
            except (DamagedFileError, UnsupportedEstimatorError):
                refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > len(chosen)
    assert peak < 100_000_000


def test_checkpoints_with_any_entry_replaced(tmp_path):
    path = tmp_path / "run.safetensors"
    model = MODELS["pca"]
    write_checkpoint(path, model.run_, model.run_settings(), "abc")
    tree = files.read(path, "checkpoint")
    rng = np.random.default_rng(1)
    for place in places(tree):
        for case in [replaced(tree, place, HOSTILE[rng.integers(len(HOSTILE))]), without(tree, place)]:
            try:
                checkpoint_from_tree(case).run(*build_model(case)[1:])
            except (DamagedFileError, UnsupportedEstimatorError):
                continue


@pytest.mark.parametrize("columns", [10**6 + 1, 10**9, 10**15])
def test_a_table_that_is_not_there_is_not_believed(columns, tmp_path):
    path = tmp_path / "model.safetensors"
    model = rs.OutlierRobust(LogisticRegression()).partial_fit(X[:1], [True], classes=[False, True])
    save(model, path)
    tree = files.read(path, "model")
    tree["settings"]["layout"]["columns"] = tree["run"]["columns"] = columns
    with pytest.raises(DamagedFileError, match="do not show"):
        model_from_tree(tree)


def test_estimates_of_another_shape_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save(MODELS["pca"], path)
    tree = files.read(path, "model")
    parts = tree["run"]["state"]["estimates"]["groups"][0]["parts"]
    parts["basis"] = parts["basis"][:, :, :1].copy()
    with pytest.raises(DamagedFileError, match="estimate of batch 0"):
        model_from_tree(tree)


@pytest.mark.parametrize("read", [load, read_checkpoint])
def test_damaged_files_are_named(read, tmp_path):
    path = tmp_path / "model.safetensors"
    save(MODELS["pca"], path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 8, *rng.integers(len(whole), size=50).tolist()]:
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFileError, match=r"model\.safetensors cannot be used"):
            read(path)


def test_foreign_safetensors_files_are_no_models(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "foreign.safetensors"
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(DamagedFileError, match="does not begin as a robustream file"):
        load(path)
