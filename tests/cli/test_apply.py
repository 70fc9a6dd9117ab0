"""`score`, `predict` and `transform` over files with dirt in them: every row has a line in the output."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import robustream as rs
from robustream.cli import main
from robustream.cli.errors import ExitCode

NAMES = ["a", "b", "price", "age"]


def run(*arguments, code=0):
    ended = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    assert ended.exit_code == code, ended.output
    return ended.output


def write(path, rows, separator=",", decimal="."):
    lines = [separator.join(f"{cell:.4f}".replace(".", decimal) for cell in row) for row in rows]
    path.write_text("\n".join([separator.join(NAMES), *lines]) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with rows of two targets, and a model of them."""
    folder = tmp_path_factory.mktemp("applied")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    rows = np.column_stack([X, X @ [1.0, 2.0] + 5, X @ [3.0, -1.0]]) + rng.normal(size=(3000, 4)) * [0, 0, 0.1, 0.1]
    write(folder / "train.csv", rows)
    run("fit", "regression", folder / "train.csv", "--target", "price,age", "-q", "-o", folder / "m.safetensors")
    run("fit", "pca", folder / "train.csv", "-k", "2", "-q", "-o", folder / "pca.safetensors")
    return folder, rows


def test_a_word_costs_only_its_own_row(made, tmp_path):
    folder, rows = made
    write(tmp_path / "new.csv", rows[:200])
    lines = (tmp_path / "new.csv").read_text().splitlines()
    lines[18] = "1,oops,1,1"
    lines[51] = "1,2"
    lines[61] = ",2,3,4"
    (tmp_path / "new.csv").write_text("\n".join(lines))
    outputs = {"score": "m", "predict": "m", "transform": "pca"}
    for command, model in outputs.items():
        out = tmp_path / f"{command}.csv"
        said = run(command, folder / f"{model}.safetensors", tmp_path / "new.csv", "-o", out)
        assert "200 rows" in said
        assert "1 without a result" in said  # that of the line; cells that are missing are filled by the others
        assert "new.csv row 17: column 'b' holds 'oops' where a number is needed" in said
        assert "new.csv row 50: a line has 2 fields where 4 are needed" in said
        table = pa_csv.read_csv(out).to_pandas()
        assert table["row"].tolist() == list(range(200))
        empty = table.iloc[:, 2].isna()
        assert np.flatnonzero(empty).tolist() == [50]


def test_a_file_of_nothing_but_words_keeps_its_rows_and_is_named(made, tmp_path):
    folder, rows = made
    write(tmp_path / "new.csv", rows[:50])
    (tmp_path / "bad.csv").write_text(",".join(NAMES) + "\n" + "x,y,z,w\n" * 30)
    sources = (tmp_path / "new.csv", tmp_path / "bad.csv")
    said = run("score", folder / "m.safetensors", *sources, "-o", tmp_path / "s.csv", code=ExitCode.INCOMPLETE)
    assert "30 of 30 rows could not be read: column 'a' holds 'x'" in said
    table = pa_csv.read_csv(tmp_path / "s.csv").to_pandas()
    assert len(table) == 80
    assert table["score"].isna().sum() == 30


def test_predictions_are_named_after_their_targets(made, tmp_path):
    folder, rows = made
    write(tmp_path / "new.csv", rows[:20])
    run("predict", folder / "m.safetensors", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    table = pa_csv.read_csv(tmp_path / "p.csv").to_pandas()
    assert table.columns.tolist() == ["file", "row", "prediction price", "prediction age"]
    np.testing.assert_allclose(table["prediction price"], rows[:20, :2] @ [1.0, 2.0] + 5, atol=0.05)


def test_semicolons_and_decimal_commas_on_the_way_in(made, tmp_path):
    folder, rows = made
    write(tmp_path / "new.csv", rows[:20], separator=";", decimal=",")
    write(tmp_path / "plain.csv", rows[:20])
    for name, options in ("new", ()), ("new", ("--separator", ";", "--decimal", ",")), ("plain", ()):
        run("predict", folder / "m.safetensors", tmp_path / f"{name}.csv", "-o", tmp_path / "p.csv", *options)
        table = pa_csv.read_csv(tmp_path / "p.csv").to_pandas()
        np.testing.assert_allclose(table["prediction price"], rows[:20, :2] @ [1.0, 2.0] + 5, atol=0.05)


def test_a_fit_says_how_many_cells_hold_no_number(made, tmp_path):
    folder, _ = made
    lines = (folder / "train.csv").read_text().splitlines()
    lines[5], lines[1000], lines[2000] = "x,1,1,1", "y,1,1,1", "1,1"
    (tmp_path / "dirty.csv").write_text("\n".join(lines))
    said = run(
        "fit", "pca", tmp_path / "dirty.csv", "-o", tmp_path / "m.safetensors", "--report", tmp_path / "report.html"
    )
    said = " ".join(said.replace("─", " ").split())
    assert "column missing no number a 0 2" in said
    assert "1 line has too few or too many fields" in said
    page = (tmp_path / "report.html").read_text()
    assert "1 line has too few or too many fields" in page


def test_files_of_other_columns(made, tmp_path):
    folder, _ = made
    (tmp_path / "other.csv").write_text("u,v\n1,2\n")
    said = run(
        "predict", folder / "m.safetensors", tmp_path / "other.csv", "-o", tmp_path / "p.csv", code=ExitCode.BAD_INPUT
    )
    assert "the model was fitted to other columns: no file has a column 'a', 'b'. The columns are 'u', 'v'." in said
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    said = run(
        "score", folder / "m.safetensors", tmp_path / "other.csv", "-o", tmp_path / "p.csv", code=ExitCode.BAD_INPUT
    )
    assert "a regression scores rows by their target, and no file has a column 'price', 'age'" in said
    (tmp_path / "text.csv").write_text("a,b\n1,x\n2,y\n")
    said = run(
        "predict", folder / "m.safetensors", tmp_path / "text.csv", "-o", tmp_path / "p.csv", code=ExitCode.BAD_INPUT
    )
    assert "the model was fitted to columns of numbers, and here 'b' holds text ('x' in line 2 of " in said
    assert "exclude" not in said


@pytest.mark.parametrize("command", ["predict", "score"])
def test_names_are_matched_as_in_a_fit(command, made, tmp_path):
    folder, rows = made
    write(tmp_path / "as.csv", rows[:50])
    text = (tmp_path / "as.csv").read_text()
    (tmp_path / "otherwise.csv").write_text(text.replace("a,b,price,age", "A , b,PRICE,age"))
    for name in ("as", "otherwise"):
        run(command, folder / "m.safetensors", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.parquet")
    first, second = (pq.read_table(tmp_path / f"{name}.parquet").drop(["file"]) for name in ("as", "otherwise"))
    assert first.equals(second)


@pytest.fixture(scope="module")
def named(made, tmp_path_factory):
    """The same rows with names and dates, as Parquet, Arrow and CSV files."""
    folder, rows = made[0], made[1][:200]
    place = tmp_path_factory.mktemp("named")
    days = [date(2024, 1, 1) + timedelta(days=number) for number in range(200)]
    names = [f"row {number}" if number else "NA" for number in range(200)]
    table = pa.table({"id": names, "day": days, **dict(zip(NAMES, rows.T, strict=True))})
    pq.write_table(table, place / "new.parquet")
    feather.write_feather(table, place / "new.feather")
    pa_csv.write_csv(table, place / "new.csv")
    return folder / "m.safetensors", place, table


@pytest.mark.parametrize("name", ["new.parquet", "new.feather", "new.csv"])
@pytest.mark.parametrize("command", ["score", "predict"])
def test_named_columns_come_along(named, command, name, tmp_path):
    model, folder, table = named
    run(command, model, folder / name, "--keep", "day,id", "-o", tmp_path / "out.parquet")
    got = pq.read_table(tmp_path / "out.parquet")
    assert got.column_names[:4] == ["file", "row", "day", "id"]
    assert got["id"].to_pylist() == table["id"].to_pylist()
    assert list(map(str, got["day"].to_pylist())) == list(map(str, table["day"].to_pylist()))
    if name != "new.csv":
        assert got.schema.field("day").type == pa.date32()


def test_columns_of_the_model_can_come_along_too(named, tmp_path):
    model, folder, table = named
    np.save(tmp_path / "new.npy", np.column_stack([table[name] for name in NAMES]))
    run("fit", "pca", tmp_path / "new.npy", "-k", "2", "-q", "-o", tmp_path / "pca.safetensors")
    for source, name in (folder / "new.csv", "a"), (folder / "new.parquet", "price"):
        run("score", model, source, "--keep", name, "-o", tmp_path / "out.parquet")
        np.testing.assert_allclose(pq.read_table(tmp_path / "out.parquet")[name], table[name], atol=1e-12)
    run("transform", tmp_path / "pca.safetensors", tmp_path / "new.npy", "--keep", "f1", "-o", tmp_path / "out.parquet")
    np.testing.assert_array_equal(pq.read_table(tmp_path / "out.parquet")["f1"], table["b"])


def test_rows_that_cannot_be_read_keep_their_names(named, tmp_path):
    model, folder, _ = named
    lines = (folder / "new.csv").read_text().splitlines()
    lines[3] = ",".join([lines[3].split(",")[0], *(["oops"] * lines[3].count(","))])
    (tmp_path / "new.csv").write_text("\n".join(lines))
    run("score", model, tmp_path / "new.csv", "--keep", "id", "-o", tmp_path / "out.parquet")
    got = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert got[2]["id"] == "row 2"
    assert got[2]["score"] is got[2]["cutoff"] is got[2]["outlier"] is None
    assert got[0]["id"] == "NA"


def test_columns_that_cannot_be_kept(named, tmp_path):
    model, folder, table = named
    said = run("score", model, folder / "new.csv", "--keep", "idd", "-o", tmp_path / "s.csv", code=ExitCode.BAD_INPUT)
    assert "no file has a column 'idd'. Did you mean 'id'?" in said
    assert "Option: --keep" in said
    pq.write_table(table.rename_columns(["score", *table.column_names[1:]]), tmp_path / "new.parquet")
    said = run(
        "score", model, tmp_path / "new.parquet", "--keep", "score", "-o", tmp_path / "s.csv", code=ExitCode.BAD_INPUT
    )
    assert "keep must not name 'score'" in said
    numbers = table.set_column(0, "id", pa.array(range(200)))
    pq.write_table(numbers, tmp_path / "0.parquet")
    pq.write_table(table, tmp_path / "1.parquet")
    said = run(
        "score", model, tmp_path / "?.parquet", "--keep", "id", "-o", tmp_path / "s.csv", code=ExitCode.BAD_INPUT
    )
    assert "'id' holds another type in some file" in said
    assert not (tmp_path / "s.csv").exists()


def test_scores_go_to_standard_output_with_their_cutoff(named, tmp_path):
    model, folder, _ = named
    ended = CliRunner().invoke(main, ["score", str(model), str(folder / "new.parquet"), "--keep", "id", "-o", "-"])
    assert ended.exit_code == 0, ended.output
    table = pa_csv.read_csv(pa.BufferReader(ended.stdout_bytes)).to_pandas()
    assert table.columns.tolist() == ["file", "row", "id", "score", "cutoff", "outlier", "reason", "expected"]
    assert len(table) == 200
    assert ((table["reason"].fillna("") != "") == table["outlier"]).all()
    assert (table["expected"].notna() == table["outlier"]).all()
    cutoff = rs.load(model).cutoff_
    np.testing.assert_allclose(table["cutoff"], cutoff)
    assert ((table["score"] > cutoff) == table["outlier"]).all()
    assert "200 rows" in ended.stderr
    assert "Written" not in ended.stderr


def test_a_reader_that_stops_early_is_no_error_worth_a_message(named):
    model, folder, _ = named
    command = f'"{sys.executable}" -m robustream score {model} {folder / "new.csv"} -q -o - | head -1'
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert ended.stdout == '"file","row","score","cutoff","outlier","reason","expected"\n'
    assert "Traceback" not in ended.stderr


def test_a_first_part_without_any_number_does_not_decide_the_types(made, tmp_path):
    folder, rows = made
    (tmp_path / "0.csv").write_text(",".join(NAMES) + "\n" + "x,y,z,w\n" * 30)
    write(tmp_path / "1.csv", rows[:50])
    for ending in ("parquet", "csv", "arrow"):
        out = tmp_path / f"out.{ending}"
        run("score", folder / "m.safetensors", tmp_path / "?.csv", "-o", out, code=ExitCode.INCOMPLETE)
    got = pq.read_table(tmp_path / "out.parquet")
    assert got.schema.field("outlier").type == pa.bool_()
    assert got["outlier"].null_count == 30
