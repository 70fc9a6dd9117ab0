"""Values that options cannot have: exit code 2, in the words of the command line, before anything is read."""

from __future__ import annotations

from importlib import import_module

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from robustream.aggregators import AGGREGATORS
from robustream.cli import main, options
from robustream.cli.errors import Command, ExitCode
from robustream.errors import InvalidInputError
from robustream.learners import RECIPES
from robustream.paper.experiments import EXPERIMENTS
from robustream.paper.scenarios import SIZES


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
        ("--learner", "best", "'best' is not one of 'refined', 'trimmed', 'classical'"),
        ("--aggregator", "median", "'median' is not one of 'filtered', 'geometric-median'"),
        ("--missing", "keep", "'keep' is not one of 'use', 'skip', 'skip-infinite', 'error'"),
        ("--on-error", "raise", "'raise' is not one of 'skip', 'stop'"),
        ("--engine", "spark", "'spark' is not one of 'local', 'dask'"),
        ("--decimal", ";", "';' is not one of '.', ','"),
        ("--separator", ";;", "';;' is neither a single character nor tab"),
        ("--components", "0", "'0' is neither a whole number from 1 on nor a share"),
        ("--components", "1.5", "'1.5' is neither a whole number from 1 on nor a share"),
        ("--batch-size", "large", "'large' is neither auto nor a number of rows"),
        ("--half-life", "nan", "nan is not in the range x>0"),
        ("--deadline", "inf", "inf is not in the range x>0"),
        ("--seed", "-1", "-1 is not in the range x>=0"),
        ("--jobs", "0", "0 is neither a number of batches at once nor -1"),
        ("--quorum", "1", "1.0 is not in the range 0<=x<1"),
        ("--tolerance", "0", "0.0 is not in the range 0<x<1"),
        ("--enough", "1.1", "1.1 is not in the range 0<x<=1"),
        ("--enough", "0.5", "--enough and --deadline need --engine"),
        ("--deadline", "-1", "-1.0 is not in the range x>0"),
        ("--checkpoint-every", "often", "'often' is neither a time such as"),
        ("--scheduler", "somewhere", "'somewhere' is not an address such as tcp://host:8786"),
        ("--columns", ",", "no column is named"),
        ("--exclude", "a,a", "'a' is named twice"),
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
        ("fit regression rows.parquet -o m.safetensors --target ,", "'--target': no column is named"),
        (
            "fit regression rows.parquet -o m.safetensors --target a --alpha -2",
            "'--alpha': -2.0 is not in the range x>=0",
        ),
        (
            "score m.safetensors rows.parquet -o scores.txt",
            "scores.txt does not end in one of .parquet, .csv, .arrow, .feather",
        ),
        (
            "predict m.safetensors rows.parquet -o out.csv --separator ab",
            "'--separator': 'ab' is neither a single character",
        ),
    ],
)
def test_options_of_other_commands(folder, arguments, message):
    code, said = run(*arguments.split())
    assert code == 2, said
    assert message in said


def test_the_experiments_are_those_of_the_paper():
    command = import_module("robustream.cli.reproduce")
    assert tuple(EXPERIMENTS) == command.EXPERIMENTS
    assert set(command.SIZES) == set(SIZES)


def test_the_names_are_those_of_the_library(folder):
    assert set(options.AGGREGATORS) == set(AGGREGATORS)
    assert set(options.LEARNERS) == set(RECIPES)
    for name in RECIPES:
        code, said = run("fit", "pca", "rows.parquet", "-q", "-o", f"{name}.safetensors", "--learner", name)
        assert code == 0, said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--columns a,q",
            "no file has a column 'q'. The columns are 'a', 'b', 'c'. Option: --columns",
        ),
        ("--components 9", "got 9 Option: --components"),
        ("--checkpoint rows.parquet", "files to read"),
    ],
)
def test_what_depends_on_the_files_is_bad_input_in_the_same_words(folder, arguments, message):
    code, said = run("fit", "pca", "rows.parquet", "-o", "m.safetensors", *arguments.split())
    assert code == ExitCode.BAD_INPUT
    assert message in said


def test_options_are_named_for_the_arguments_that_a_message_is_about():
    @click.command(cls=Command)
    @options.option("--components", "-k", "n_components")
    @options.option("--header/--no-header", default=True)
    def command(n_components, header):
        raise InvalidInputError("n_components must be 1", "n_components", "header", "nothing")

    ended = CliRunner().invoke(command, [])
    assert ended.exit_code == ExitCode.BAD_INPUT
    assert ended.stderr == "Error: n_components must be 1\nOptions: --components, --header/--no-header\n"


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
