"""Values that options cannot have: exit code 2, in the words of the command line, before anything is read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from robustream.aggregators import AGGREGATORS
from robustream.cli import main, options
from robustream.cli.exits import ExitCode
from robustream.cli.wording import as_options
from robustream.learners import RECIPES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    pq.write_table(pa.table(dict(zip("abc", rows.T, strict=True))), tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    ended = CliRunner().invoke(main, list(arguments))
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return ended.exit_code, " ".join(ended.output.split())


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--learner", "best", "must be one of refined, trimmed, classical; 'best' came"),
        ("--aggregator", "median", "must be one of filtered, geometric-median"),
        ("--missing", "keep", "must be one of skip, skip-infinite, error"),
        ("--on-error", "raise", "must be one of skip, stop"),
        ("--engine", "spark", "must be one of local, dask"),
        ("--decimal", ";", "must be one of '.', ','"),
        ("--separator", ";;", "must be a single character"),
        ("--components", "0", "must be a whole number from 1 on, or a share"),
        ("--components", "1.5", "must be a whole number from 1 on, or a share"),
        ("--batch-size", "large", "must be auto or a number of rows"),
        ("--half-life", "nan", "must be above 0; nan came"),
        ("--seed", "-1", "must be at least 0"),
        ("--jobs", "0", "must be a number of batches at once"),
        ("--quorum", "1", "a share from 0 on and below 1"),
        ("--tolerance", "0", "must be between 0 and 1"),
        ("--enough", "1.1", "above 0 and at most 1"),
        ("--enough", "0.5", "--enough and --deadline need --engine"),
        ("--deadline", "-1", "must be above 0"),
        ("--checkpoint-every", "often", "must be a time such as"),
        ("--scheduler", "somewhere", "must be an address such as tcp://host:8786"),
        ("--columns", ",", "must be names of columns"),
        ("--exclude", "a,a", "must name each column once; 'a' came again"),
        ("--report", "m.safetensors", "must be different files"),
    ],
)
def test_a_wrong_value_is_a_wrong_option(folder, option, value, message):
    code, said = run("fit", "pca", "rows.parquet", "-o", "m.safetensors", option, value)
    assert code == 2, said
    assert message in said
    assert option in said
    assert not (folder / "m.safetensors").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit pca rows.parquet -o m.safetensors --resume", "--resume needs --checkpoint"),
        ("fit regression rows.parquet -o m.safetensors --target ,", "'--target': must be names of columns"),
        (
            "fit regression rows.parquet -o m.safetensors --target a --alpha -2",
            "'--alpha': must be at least 0; -2 came",
        ),
        ("score m.safetensors rows.parquet -o scores.txt", "must end in one of .parquet, .csv, .arrow, .feather"),
        ("predict m.safetensors rows.parquet -o out.csv --separator ab", "'--separator': must be a single character"),
    ],
)
def test_options_of_other_commands(folder, arguments, message):
    code, said = run(*arguments.split())
    assert code == 2, said
    assert message in said


def test_the_names_are_those_of_the_library(folder):
    assert set(options.AGGREGATORS) == set(AGGREGATORS)
    for name in RECIPES:
        code, said = run("fit", "pca", "rows.parquet", "-q", "-o", f"{name}.safetensors", "--learner", name)
        assert code == 0, said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--columns a,q", "--columns must be names of columns; no file has a column 'q'"),
        ("--components 9", "--components must be"),
        ("--checkpoint rows.parquet", "files to read"),
    ],
)
def test_what_depends_on_the_files_is_bad_input_in_the_same_words(folder, arguments, message):
    code, said = run("fit", "pca", "rows.parquet", "-o", "m.safetensors", *arguments.split())
    assert code == ExitCode.BAD_INPUT
    assert message in said


def test_messages_of_the_library_name_options():
    said = "missing='skip-infinite' leaves such rows out; go on with resume=True; columns is a word; n_components"
    assert as_options(said) == (
        "--missing skip-infinite leaves such rows out; go on with --resume; columns is a word; --components"
    )


def test_results_are_not_written_over_the_model(folder):
    run("fit", "pca", "rows.parquet", "-q", "-o", "m.csv")
    before = (folder / "m.csv").read_bytes()
    for command in (["report", "m.csv"], ["score", "m.csv", "rows.parquet"]):
        code, said = run(*command, "-o", "m.csv")
        assert code == 2
        assert "--out must not be the model itself" in said
    assert (folder / "m.csv").read_bytes() == before


def test_what_a_model_cannot_do(folder):
    run("fit", "pca", "rows.parquet", "-q", "-o", "m.safetensors")
    code, said = run("predict", "m.safetensors", "rows.parquet", "-o", "p.csv")
    assert code == ExitCode.BAD_INPUT
    assert "the model is an OutlierRobustPCA, which cannot predict; it can score and transform" in said


def test_a_model_that_is_not_there(folder):
    code, said = run("inspect", "nothing.safetensors")
    assert code == ExitCode.BAD_INPUT
    assert said == "Error: there is no file nothing.safetensors"
