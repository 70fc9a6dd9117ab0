"""The main job by subprocess: files in, a model, a report and the list of garbage out."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression

import robustream as rs
from robustream.cli.errors import ExitCode
from robustream.files import claim

_spec = importlib.util.spec_from_file_location("garbage", Path(__file__).with_name("garbage.py"))
assert _spec is not None
assert _spec.loader is not None
garbage = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(garbage)


def run(*arguments: object, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "robustream", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The folder, the names of the garbage, the clean rows, and what the command said."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "data").mkdir()
    bad, clean = garbage.make_folder(folder / "data", seed=1)
    command = "fit regression data/ --target price --exclude id -o model.safetensors --report report.html"
    ended = run(*command.split(), folder=folder)
    return folder, bad, clean, ended


def _distrusted(model) -> set[str]:
    records = [record for record in model.batch_report_ if record.verdict != "kept"]
    return {record.label.split("#")[0].rsplit("/")[-1] for record in records}


def test_all_garbage_is_named_and_nothing_else(job):
    folder, bad, _, ended = job
    model = rs.load(folder / "model.safetensors")
    assert _distrusted(model) == bad
    page = (folder / "report.html").read_text()
    listed = page[page.index('id="files"') :]
    listed = listed[: listed.index("</table>")]
    rows = re.findall(r"<tr.*?</tr>", listed, re.DOTALL)
    named = {name for row in rows for name in re.findall(r"part-\d\d\.parquet", row) if "kept" not in row.lower()}
    assert named == bad
    assert "Of 40 files 6 could not be used and 10 contradict the others." in re.sub(r"\s+", " ", ended.stdout)


def test_the_model_is_that_of_the_clean_rows(tmp_path):
    """Over twenty folders, root mean square: a single one says little."""
    ours, oracle = [], []
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        bad, clean = garbage.make_folder(folder, seed)
        model = rs.fit(rs.OutlierRobustRegressor(), folder, target="price", exclude="id")
        assert _distrusted(model) == bad, seed
        scale = np.array([1.0, 10.0, 0.1, 1.0, 3.0, 1.0])
        ours.append(scale * (model.coef_ - garbage.COEF))
        oracle.append(scale * (LinearRegression().fit(*clean).coef_ - garbage.COEF))
    assert np.sqrt(np.mean(np.square(ours))) <= 1.1 * np.sqrt(np.mean(np.square(oracle)))


def test_scores_predictions_and_facts(job):
    folder, bad, _, _ = job
    run(
        "score",
        "model.safetensors",
        "data/part-*.parquet",
        "-o",
        "scored.parquet",
        folder=folder,
        code=ExitCode.INCOMPLETE,
    )
    scored = pq.read_table(folder / "scored.parquet").to_pandas()
    good = scored[~scored["file"].map(lambda name: Path(name).name in bad)]
    assert len(good) == 24 * garbage.ROWS
    # About 1% of ordinary rows; four standard errors.
    assert abs(good["outlier"].mean() - 0.01) < 4 * np.sqrt(0.01 / len(good)) + 0.002
    name = f"data/{sorted(good['file'].unique())[0].rsplit('/')[-1]}"
    run("predict", "model.safetensors", name, "-o", "predicted.csv", folder=folder)
    table = pq.read_table(folder / name).to_pandas()
    expected = rs.load(folder / "model.safetensors").predict(table[[f"x{k}" for k in range(6)]])
    predicted = np.loadtxt(folder / "predicted.csv", delimiter=",", skiprows=1, usecols=2)
    np.testing.assert_allclose(predicted, expected, rtol=1e-12)
    facts = json.loads(
        run("inspect", "model.safetensors", "--json", folder=folder).stdout,
        parse_constant=lambda name: pytest.fail(name),
    )
    assert any(record["distance"] is None for record in facts["distrusted"])
    assert facts["targets"] == ["price"]
    assert {record["verdict"] for record in facts["distrusted"]} == {"rejected", "failed"}
    assert "OutlierRobustRegressor" in run("inspect", "model.safetensors", folder=folder).stdout
    run("report", "model.safetensors", "-o", "again.html", folder=folder)
    assert "contradict the others" in (folder / "again.html").read_text()
    run("transform", "model.safetensors", name, "-o", "x.parquet", folder=folder, code=ExitCode.BAD_INPUT)


def test_components_of_csv_files_and_standard_input(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 4)) * [9.0, 3.0, 1.0, 1.0]
    text = "a,b,c,d\n" + "\n".join(",".join(f"{cell:.6f}" for cell in row) for row in rows) + "\n"
    (tmp_path / "rows.csv").write_text(text)
    run("fit", "pca", "rows.csv", "-k", "2", "-o", "files.safetensors", "-q", folder=tmp_path)
    command = [sys.executable, "-m", "robustream", "fit", "pca", "-", "-k", "2", "-o", "piped.safetensors", "-q"]
    subprocess.run(command, cwd=tmp_path, input=text.encode(), check=True)
    first, second = (rs.load(tmp_path / f"{name}.safetensors") for name in ("files", "piped"))
    np.testing.assert_allclose(np.abs(first.components_ @ second.components_.T), np.eye(2), atol=0.05)
    run("transform", "files.safetensors", "rows.csv", "-o", "c.parquet", folder=tmp_path)
    coordinates = pq.read_table(tmp_path / "c.parquet").to_pandas()
    assert coordinates.columns.tolist() == ["file", "row", "component 1", "component 2"]
    assert coordinates["row"].tolist() == list(range(3000))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("fit pca nowhere -o m.safetensors", ExitCode.BAD_INPUT, "nowhere"),
        ("fit regression data --target nothing -o m.safetensors", ExitCode.BAD_INPUT, "nothing"),
        ("fit pca data -o m.safetensors", ExitCode.BAD_INPUT, "exclude"),
        ("fit pca data --exclude id -o no/such/m.safetensors", ExitCode.CANNOT_WRITE, "folder"),
        ("fit pca data --exclude id --on-error stop -o m.safetensors", ExitCode.STOPPED_AT_FAILURE, "first batch"),
        ("fit pca broken -o m.safetensors", ExitCode.BAD_INPUT, "The only file cannot be used"),
        ("fit pca half --exclude id -o m.safetensors", ExitCode.BELOW_QUORUM, "usable"),
        ("fit pca data --exclude id --components many -o m.safetensors", 2, "components"),
        ("fit pca data --exclude id -o data/0.parquet", ExitCode.BAD_INPUT, "files to read"),
        ("inspect data/notes.txt", ExitCode.BAD_FILE, "notes.txt"),
        ("score missing.safetensors data -o s.parquet", ExitCode.BAD_INPUT, "missing.safetensors"),
    ],
)
def test_exit_codes(arguments, code, message, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "half").mkdir()
    for number in range(3):
        X, y = garbage.clean_rows(0, number)
        pq.write_table(garbage._table(X, y), tmp_path / "data" / f"{number}.parquet")
        pq.write_table(garbage._table(X, y), tmp_path / "half" / f"{number}.parquet")
        (tmp_path / "half" / f"bad{number}.parquet").write_bytes(b"x" * 200_000)
    (tmp_path / "data" / "bad.parquet").write_bytes(b"x" * 1000)
    (tmp_path / "broken" / "bad.parquet").write_bytes(b"x" * 1000)
    (tmp_path / "data" / "notes.txt").write_text("no table")
    ended = run(*arguments.split(), folder=tmp_path, code=code)
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "m.safetensors").exists()


@pytest.mark.parametrize("name", ["second.safetensors", "second.html"])
def test_files_that_another_run_will_write_are_refused_before_any_work(job, name):
    folder = job[0]
    command = "fit regression data/ --target price --exclude id -o second.safetensors --report second.html"
    with claim(folder / name):
        ended = run(*command.split(), folder=folder, code=ExitCode.CANNOT_WRITE)
    assert f"{name} is being written by another run (process {os.getpid()} on" in ended.stderr.replace("\n", " ")
    assert not list(folder.glob("second*"))
    assert not list(folder.glob(".second*"))


@pytest.mark.parametrize("kind", ["pca", "covariance", "regression"])
def test_a_column_of_weights(kind, tmp_path):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(3000, 3)), rng.integers(0, 4, 3000)
    target = rows @ [1.0, 2.0, 3.0] + rng.normal(size=3000)
    weights[5] = -1
    lines = [f"{a},{b},{c},{y},{w}" for (a, b, c), y, w in zip(rows, target, weights, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,y,w", *lines]))
    named = ["--target", "y"] if kind == "regression" else ["--exclude", "y"]
    written = ["-o", "model.safetensors", "--report", "report.html"]
    run("fit", kind, "data.csv", *named, "--weight", "w", *written, folder=tmp_path)
    model = rs.load(tmp_path / "model.safetensors")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_samples_seen_ == np.count_nonzero(weights > 0)
    assert "weight is missing, negative or infinite: 1" in (tmp_path / "report.html").read_text()
    if kind == "regression":
        there = np.maximum(weights, 0)
        plain = LinearRegression().fit(rows, target, sample_weight=there)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)
        run("predict", "model.safetensors", "data.csv", "--out", "predicted.csv", folder=tmp_path)
    ended = run("fit", kind, "data.csv", *named, "--weight", "v", *written, folder=tmp_path, code=ExitCode.BAD_INPUT)
    assert "--weight" in ended.stderr


def test_warnings_name_the_options_of_the_command(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    y = np.where(np.arange(1000) < 300, 100.0, x + rng.normal(size=1000))
    (tmp_path / "data.csv").write_text("\n".join(["x,y", *(f"{a},{b}" for a, b in zip(x, y, strict=True))]))
    command = "fit regression data.csv --target y -o model.safetensors"
    said = run(*command.split(), "--quiet", folder=tmp_path).stderr
    assert said.startswith("Warning: 300 of 1,000 rows were left out; the answer is that of the majority.")
    assert said.endswith("--report shows the groups, and --keep-groups takes all for honest\n")
    assert said.count("\n") == 1
    assert run(*command.split(), folder=tmp_path).stderr == ""  # the headline says it
    assert run(*command.split(), "--quiet", "--keep-groups", folder=tmp_path).stderr == ""


def test_too_few_rows_are_said(tmp_path):
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,3\n")
    (tmp_path / "two.csv").write_text("a,b,y\n1,2,3\n2,1,5\n")
    command = "fit regression {} --target y -o m.st -q"
    ended = run(*command.format("one.csv").split(), folder=tmp_path, code=ExitCode.BAD_INPUT)
    assert "needs at least 2 rows of X, got 1" in ended.stderr
    assert not (tmp_path / "m.st").exists()
    ended = run(*command.format("two.csv").split(), folder=tmp_path)
    assert ended.stderr.startswith("Warning: 2 rows cannot tell 3 coefficients: ")
    assert ended.stderr.count("\n") == 1


def test_a_column_that_one_of_two_files_lacks_is_said(tmp_path):
    rng = np.random.default_rng(0)
    for name, columns in (("whole", "a,b,y"), ("part", "a,y")):
        rows = rng.normal(size=(300, columns.count(",") + 1))
        (tmp_path / f"{name}.csv").write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]))
    told = "Column 'b' is left out, since 1 of 2 files do not have it: part.csv."
    for files in ("whole.csv part.csv", "part.csv whole.csv"):
        command = f"fit regression {files} --target y -o m.safetensors --report r.html"
        assert told in re.sub(r"\s+", " ", run(*command.split(), folder=tmp_path).stdout)
        assert told.replace("'", "&#39;") in (tmp_path / "r.html").read_text()
        assert told[0].lower() + told[1:-1] in rs.load(tmp_path / "m.safetensors").fit_notes_["files"]
