"""Categories, dates and formulas from files to predictions: one encoding, wherever the rows are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LinearRegression, LogisticRegression

import robustream as rs
from robustream.cli import main
from robustream.engines import LocalEngine
from robustream.errors import DamagedFileError, InvalidInputError

CITIES = {"Paris": 0.0, "Rome": 2.0, "Oslo": -1.0, "Bonn": 5.0}
GOOD, BAD, ROWS = 12, 6, 500


def make_frame(seed: int, bad: bool = False) -> pd.DataFrame:
    """Rows in which a tenth of the cities are rare; of a bad file all cities are made up."""
    rng = np.random.default_rng(seed)
    city = rng.choice(list(CITIES), ROWS, p=[0.5, 0.3, 0.15, 0.05])
    x, age = rng.normal(size=ROWS), rng.uniform(1, 5, ROWS)
    price = 1 + 2 * x + 3 * np.log(age) + np.array([CITIES[name] for name in city]) + rng.normal(size=ROWS)
    frame = pd.DataFrame({"x": x, "age": age, "city": city, "id": [f"{seed}-{row}" for row in range(ROWS)]})
    frame["price"] = rng.normal(size=ROWS) * 50 if bad else price
    if bad:
        frame["city"] = [f"town {seed} {number}" for number in rng.integers(0, 200, ROWS)]
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cities")
    for number in range(GOOD + BAD):
        frame = make_frame(number, bad=number < BAD)
        if number % 2:
            frame.to_parquet(path / f"{number:02}.parquet", index=False)
        else:
            frame.to_csv(path / f"{number:02}.csv", index=False)
    return path


@pytest.fixture(scope="module")
def clean():
    return pd.concat([make_frame(number) for number in range(BAD, BAD + GOOD)], ignore_index=True)


FORMULA = "price ~ x + log(age) + C(city)"
NAMES = ["x", "log(age)", "city[Bonn]", "city[Oslo]", "city[Rome]", "city[other]"]


@pytest.fixture(scope="module")
def model(folder):
    return rs.fit(rs.OutlierRobustRegressor(), folder, formula=FORMULA)


def plain(clean):
    """The plain method on the clean rows."""
    indicators = [clean["city"] == name for name in ("Bonn", "Oslo", "Rome")]
    X = np.column_stack([clean["x"], np.log(clean["age"]), *indicators]).astype(float)
    return LinearRegression().fit(X, clean["price"])


def test_bad_files_add_no_levels_and_the_answer_is_that_of_the_clean_rows(model, clean):
    assert list(model.feature_names_in_) == NAMES
    assert [record.verdict for record in model.batch_report_].count("rejected") >= BAD
    expected = plain(clean)
    # In units of what noise of scale 1 leaves unknown, for 6,000 rows of which the rarest city has 5%.
    unknown = 1 / np.sqrt(len(clean) * np.array([1, 0.2, 0.05, 0.15, 0.3]))
    assert np.abs((model.coef_[:5] - expected.coef_) / unknown).max() < 0.5
    assert model.coef_[5] == 0  # no row of the clean files is of another city
    assert model.fit_notes_["other_levels"] == {"city": BAD * ROWS}
    assert model.fit_notes_["files"] == [
        "category 'city' has 4 levels, compared with 'Paris'; all others are city[other]"
    ]


def test_columns_by_name_and_formulas_agree(folder):
    by_name = rs.fit(rs.OutlierRobustRegressor(), folder, target="price", columns=["x"], categorical="city")
    by_formula = rs.fit(rs.OutlierRobustRegressor(), folder, formula="price ~ x + city")
    np.testing.assert_array_equal(by_name.coef_, by_formula.coef_)
    assert by_name.encoding_ == by_formula.encoding_


def test_the_encoding_is_part_of_the_model_file(model, clean, tmp_path):
    rs.save(model, tmp_path / "m.safetensors")
    loaded = rs.load(tmp_path / "m.safetensors")
    assert loaded.encoding_ == model.encoding_
    predicted = loaded.predict(clean)
    np.testing.assert_array_equal(predicted, model.predict(clean))
    np.testing.assert_array_equal(predicted, loaded.predict(pl.from_pandas(clean[["id", "city", "age", "x"]])))
    assert loaded.score(clean, clean["price"]) > 0.8
    assert np.mean(loaded.is_outlier(clean, clean["price"])) < 0.03
    with pytest.raises(InvalidInputError, match="no column 'city'"):
        loaded.predict(clean.drop(columns="city"))


def test_a_damaged_encoding_is_refused(model, tmp_path):
    from robustream import files

    rs.save(model, tmp_path / "m.safetensors")
    tree = files.read(tmp_path / "m.safetensors", "model")
    tree["settings"]["encoding"]["terms"]["@tuple"][1]["@tuple"][0]["of"] = "open(age)"
    files.write(tmp_path / "bad.safetensors", tree, "model")
    with pytest.raises(DamagedFileError, match="makes no sense"):
        rs.load(tmp_path / "bad.safetensors")


def test_unknown_cities_are_other_or_a_missing_cell(model, clean):
    frame = clean.head(2).assign(city=["Atlantis", "Paris"], x=0.0, age=1.0)
    assert model.predict(frame)[0] == model.predict(frame)[1]  # nothing was learned of others
    strict = rs.fit(rs.OutlierRobustRegressor(), clean, target="price", categorical="city", columns=["x"])
    assert list(strict.feature_names_in_) == ["x", "city[Bonn]", "city[Oslo]", "city[Rome]"]
    # A missing city is filled with what is known of cities: the mean of all by how often they come.
    empty = strict.predict(frame.assign(city=[None, "Paris"]))
    np.testing.assert_array_equal(strict.predict(frame), empty)
    mean = np.mean([CITIES[name] for name in clean["city"]])
    assert empty[0] - empty[1] == pytest.approx(mean, abs=0.1)  # 6,000 rows with noise of scale 1
    options = {"target": "price", "categorical": "city", "columns": ["x"]}
    without_gaps = rs.fit(rs.OutlierRobustRegressor(learner="classical"), clean, **options)
    with pytest.raises(ValueError, match="NaN"):
        without_gaps.predict(frame)


def test_learning_goes_on_with_frames_and_a_new_fit_forgets(model, clean, tmp_path):
    rs.save(model, tmp_path / "m.safetensors")
    later = rs.load(tmp_path / "m.safetensors").partial_fit(clean, clean["price"])
    assert later.n_samples_seen_ == model.n_samples_seen_ + len(clean)
    later.fit(clean[["x", "age"]], clean["price"])
    assert not hasattr(later, "encoding_")
    assert later.predict(clean[["x", "age"]]).shape == (len(clean),)


def test_the_same_bytes_on_an_engine_and_after_a_stop(folder, model, tmp_path):
    def written(name, **options):
        path = tmp_path / name
        rs.save(rs.fit(rs.OutlierRobustRegressor(), folder, formula=FORMULA, **options), path)
        return path.read_bytes()

    rs.save(model, tmp_path / "here")
    here = (tmp_path / "here").read_bytes()
    with LocalEngine(2) as engine:
        assert written("local", engine=engine) == here
    checkpoint = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    stop = {"callbacks": [lambda event: event.batches == 7]}
    rs.fit(rs.OutlierRobustRegressor(), folder, formula=FORMULA, **checkpoint, **stop)
    assert written("resumed", resume=True, **checkpoint) == here


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dataset", "once", "iterable", "dask"])
def test_frames_of_all_kinds(clean, kind):
    frame = clean.drop(columns="id").assign(city=clean["city"].astype("category"))
    options = {"categorical": "city"}
    named = {"categories": {"city": ["Paris", "Bonn", "Oslo", "Rome"]}}
    if kind == "polars":
        frame = pl.from_pandas(frame)
    elif kind == "arrow":
        frame = pa.Table.from_pandas(frame)
    elif kind == "dataset":
        import pyarrow.dataset

        frame = pyarrow.dataset.dataset(pa.Table.from_pandas(frame))
    elif kind == "once":
        reader = pa.Table.from_pandas(frame).to_reader()
        with pytest.raises(InvalidInputError, match="must be named, since these rows can be read only once"):
            rs.fit(rs.OutlierRobustRegressor(), reader, target="price", **options)
        frame, options = pa.Table.from_pandas(frame).to_reader(), named
    elif kind == "iterable":
        parts = [frame.iloc[first : first + 1000] for first in range(0, len(frame), 1000)]
        frame, options = (lambda: iter(parts)), named
    elif kind == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=6)
    model = rs.fit(rs.OutlierRobustRegressor(), frame, target="price", **options)
    assert list(model.feature_names_in_)[:5] == ["x", "age", "city[Bonn]", "city[Oslo]", "city[Rome]"]
    assert np.abs(model.coef_[2:5] - [5, -1, 2]).max() < 0.3
    assert model.predict(clean.head()).shape == (5,)


def test_rare_levels_of_a_frame_are_counted(clean):
    frame = clean.assign(city=clean["city"].mask(clean.index < 20, "Atlantis"))
    model = rs.fit(rs.OutlierRobustRegressor(), frame, target="price", categorical="city", exclude="id")
    assert model.feature_names_in_[-1] == "city[other]"
    assert model.fit_notes_["other_levels"] == {"city": 20}


def test_without_an_intercept_and_in_pca_no_level_is_dropped(clean):
    options = {"categorical": "city", "columns": ["x"]}
    flat = rs.fit(rs.OutlierRobustRegressor(fit_intercept=False), clean, target="price", **options)
    assert list(flat.feature_names_in_) == ["x", *(f"city[{name}]" for name in sorted(CITIES))]
    pca = rs.fit(rs.OutlierRobustPCA(2), clean, **options)
    assert list(pca.feature_names_in_) == list(flat.feature_names_in_)
    assert pca.transform(clean).shape == (len(clean), 2)
    with pytest.raises(InvalidInputError, match="has no intercept"):
        rs.fit(rs.OutlierRobustRegressor(), clean, formula="price ~ x - 1")


def test_classifiers_take_categories_too(clean):
    frame = clean.assign(dear=np.where(clean["price"] > 6, "yes", "no"))
    wrapped = rs.OutlierRobust(LogisticRegression())
    model = rs.fit(wrapped, frame, formula="dear ~ x + log(age) + C(city)", classes=["no", "yes"])
    assert np.mean(model.predict(frame) == frame["dear"]) > 0.85


def test_the_target_of_a_formula_may_be_worked_out(clean, tmp_path):
    frame = clean.assign(price=np.exp(clean["price"] / 10))
    frame.to_csv(tmp_path / "a.csv", index=False)
    model = rs.fit(rs.OutlierRobustRegressor(), tmp_path / "a.csv", formula="log(price) ~ x + log(age) + C(city)")
    assert abs(model.coef_[0] - 0.2) < 0.01
    rs.save(model, tmp_path / "m.safetensors")
    run("score", tmp_path / "m.safetensors", tmp_path / "a.csv", "-o", tmp_path / "s.csv")
    assert np.mean(pd.read_csv(tmp_path / "s.csv")["outlier"]) < 0.03


def test_columns_of_arrays_have_no_names():
    for options in ({"categorical": "a"}, {"formula": "y ~ a"}, {"numeric_only": True}):
        with pytest.raises(InvalidInputError):
            rs.fit(rs.OutlierRobustRegressor(), np.ones((10, 2)), **options)


def run(*arguments, code=0):
    ended = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert ended.exit_code == code, ended.output
    return ended.output


def test_the_command_line_from_fit_to_scores(folder, tmp_path):
    out, report = tmp_path / "m.safetensors", tmp_path / "r.html"
    options = ("--target", "price", "--categorical", "city", "--numeric-only", "-o", out, "--report", report)
    said = run("fit", "regression", folder, *options)
    assert "Columns without numbers, left out: 'id'." in said
    assert "Cells of 'city' whose level has no column of its own: 3,000." in said
    assert "all others are city[other]" in report.read_text()
    make_frame(30).assign(city=["Atlantis", *make_frame(30)["city"][1:]]).to_csv(tmp_path / "new.csv", index=False)
    said = run("predict", out, tmp_path / "new.csv", "-o", tmp_path / "p.csv", "--keep", "city")
    assert "Cells of 'city' whose level has no column of its own: 1." in said
    written = pa_csv.read_csv(tmp_path / "p.csv")
    assert written.num_rows == ROWS
    assert written["city"][0].as_py() == "Atlantis"
    run("fit", "regression", folder, "--formula", FORMULA, "-q", "-o", out)
    run("score", out, tmp_path / "new.csv", "-o", tmp_path / "s.csv")
    assert pa_csv.read_csv(tmp_path / "s.csv")["outlier"].null_count == 0
    run("fit", "pca", folder, "--exclude", "id,price", "--categorical", "city", "-q", "-o", out)
    run("transform", out, tmp_path / "new.csv", "-o", tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--target", "price"], 3, "--categorical"),
        (["--target", "price", "--categorical", "id"], 3, "different values, none of them in many rows"),
        (["--target", "price", "--categorical", "town"], 3, "no file has a column 'town'"),
        (
            ["--target", "price", "--formula", "price ~ x"],
            2,
            "either --target or --formula must name what to predict, got both",
        ),
        ([], 2, "either --target or --formula must name what to predict, got neither"),
        (["--formula", "price ~ x", "--exclude", "id"], 2, "--formula names the columns"),
        (["--formula", "price ~ bs(x)"], 3, "there is no function 'bs'"),
        (["--formula", "price ~ 0 + x"], 3, "--no-intercept"),
        (["--formula", "x +"], 3, "cannot be used"),
        (["--formula", "~ x"], 3, "must have a target before ~"),
        (["--formula", "price"], 3, "must have a target before ~"),
    ],
)
def test_wrong_commands_are_explained(folder, tmp_path, options, code, message):
    assert message in run("fit", "regression", folder, *options, "-o", tmp_path / "m", code=code)
