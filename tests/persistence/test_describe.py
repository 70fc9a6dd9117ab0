"""What a file is, what it saw, whom it distrusts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import robustream as rs
from robustream import files
from robustream.errors import DamagedFileError
from robustream.persistence import describe, save
from robustream.runs.checkpoints import write_checkpoint


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 3)) * [5.0, 1.0, 1.0]
    rows[300:400] = 50.0 + 1e3 * rng.normal(size=(100, 3))
    return rs.OutlierRobustPCA(1, learner="classical", batch_size=100).fit(pd.DataFrame(rows, columns=list("abc")))


def test_a_model(model, tmp_path):
    path = tmp_path / "model.safetensors"
    save(model, path)
    facts = describe(path)
    assert facts.kind == "model"
    assert facts.estimator == "OutlierRobustPCA"
    assert facts.parameters["learner"] == "classical"
    assert (facts.columns, facts.column_names) == (3, ["a", "b", "c"])
    assert (facts.rows_seen, facts.batches_seen, facts.rows_waiting) == (1200, 12, 0)
    assert facts.verdicts == {"kept": 11, "rejected": 1}
    assert [record.label for record in facts.distrusted] == ["rows 300-399"]
    assert facts.answer["components_"] == (1, 3)
    assert facts.versions["robustream"] == rs.__version__
    assert facts.versions["numpy"] == np.__version__
    assert facts.written.startswith("20")
    assert facts.size == path.stat().st_size


def test_a_checkpoint(model, tmp_path):
    path = tmp_path / "run.safetensors"
    write_checkpoint(path, model.run_, model.run_settings(), "abc")
    facts = describe(path)
    assert facts.kind == "checkpoint"
    assert facts.batches_seen == 12
    assert [record.label for record in facts.distrusted] == ["rows 300-399"]


def test_a_classifier_and_a_model_of_one_table(tmp_path):
    rng = np.random.default_rng(0)
    rows, path = rng.normal(size=(400, 2)), tmp_path / "model.safetensors"
    save(rs.OutlierRobust(GaussianNB()).fit(rows, np.where(rows[:, 0] > 0, "yes", "no")), path)
    assert describe(path).classes == ["no", "yes"]
    save(rs.TrimmedPCA(1).fit(rows), path)
    facts = describe(path)
    assert facts.estimator == "TrimmedPCA"
    assert facts.rows_seen is None


def test_rows_that_only_wait(tmp_path):
    path = tmp_path / "model.safetensors"
    save(rs.OutlierRobustPCA(2).partial_fit(np.eye(4)[:2]), path)
    facts = describe(path)
    assert (facts.rows_waiting, facts.batches_seen, facts.answer) == (2, 0, {})


@pytest.mark.parametrize("entry", ["made", "answer", "settings", "run"])
def test_crafted_facts(model, entry, tmp_path):
    path = tmp_path / "model.safetensors"
    save(model, path)
    tree = files.read(path, "model")
    files.write(path, tree | {entry: "text"}, "model")
    with pytest.raises(DamagedFileError, match=r"model\.safetensors cannot be used"):
        describe(path)


def test_something_else(tmp_path):
    path = tmp_path / "other.safetensors"
    files.write(path, {}, "other")
    with pytest.raises(DamagedFileError, match="not a model or checkpoint"):
        describe(path)
