"""Categories, dates and formulas as columns of X: the same in every batch, as plain data, and nothing that runs."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustream.errors import DamagedFileError, InvalidInputError
from robustream.sources.tables import Tables
from robustream.sources.tables.encoder import Encoder
from robustream.sources.tables.encoding import Category, Encoding, Factor
from robustream.sources.tables.expressions import columns_in, evaluate
from robustream.sources.tables.formula import read_formula
from robustream.sources.tables.levels import MOST_LEVELS, join_counts, learned_category, levels_in, named_category

COLUMNS = {"x": np.array([1.0, 4.0, np.nan]), "my col": np.array([2.0, 0.0, 1.0])}


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("x", [1.0, 4.0, np.nan]),
        ("sqrt(x) + 1", [2.0, 3.0, np.nan]),
        ("x / `my col`", [0.5, np.nan, np.nan]),
        ("-x ** 2", [-1.0, -16.0, np.nan]),
        ("I(x > 2) * 3", [0.0, 3.0, 0.0]),
        ("log(`my col`)", [np.log(2), np.nan, 0.0]),
    ],
)
def test_expressions_are_arithmetic_over_columns(expression, values):
    np.testing.assert_allclose(evaluate(expression, COLUMNS.__getitem__, COLUMNS.__getitem__), values)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "().__class__",
        "(lambda: x)()",
        "x.__class__()",
        "[x for x in y]",
        "open(x)",
        "'text'",
        "x if y else z",
        "log(x, y)",
        "scale(x)",
        "x and y",
        "1 < x < 2",
        "(" * 900 + "x" + ")" * 90,
        "x + " * 400 + "x",
        "x +",
        "",
    ],
)
def test_nothing_but_arithmetic_is_an_expression(expression):
    with pytest.raises(InvalidInputError, match="cannot be used"):
        columns_in(expression)


def test_powers_of_constants_end_at_once():
    assert np.isnan(evaluate("x + 9 ** 9 ** 9", lambda name: np.ones(2), lambda name: np.ones(2))).all()


def encode(encoding, **columns):
    batch = pa.RecordBatch.from_pydict(columns)
    found = encoding.encode(batch, lambda column, name: column.to_numpy(zero_copy_only=False))
    return np.column_stack(found.columns), found


def test_levels_are_the_same_whatever_a_batch_holds():
    city = Category("city", ("Paris", "Rome"), "Paris", other=True)
    encoding = Encoding(((Factor("x"),), (Factor("city", True, True),)), (city,))
    X, found = encode(encoding, x=[1.0, 2.0, 3.0, 4.0], city=["Rome", "Paris", "Oslo", None])
    np.testing.assert_array_equal(X, [[1, 1, 0], [2, 0, 0], [3, 0, 1], [4, np.nan, np.nan]])
    assert found.unseen == {"city": 1}
    X, found = encode(encoding, x=[1.0], city=pa.array(["Rome"]).dictionary_encode())
    np.testing.assert_array_equal(X, [[1, 1, 0]])
    assert found.unseen == {}


def test_without_other_a_strange_level_is_a_missing_cell():
    encoding = Encoding(((Factor("city", True),),), (Category("city", ("Paris", "Rome"), "Paris", other=False),))
    X, found = encode(encoding, city=["Rome", "Oslo"])
    np.testing.assert_array_equal(X, [[0, 1], [np.nan, np.nan]])
    assert found.unseen == {"city": 1}


def test_interactions_have_a_column_for_each_combination():
    city = Category("city", ("Paris", "Rome"), "Paris", other=False)
    day = Category("day", ("1", "2", "3"), "1", other=False)
    encoding = Encoding(
        ((Factor("x"), Factor("city", True)), (Factor("city", True, True), Factor("day", True, True))), (city, day)
    )
    assert encoding.names == ("x:city[Paris]", "x:city[Rome]", "city[Rome]:day[2]", "city[Rome]:day[3]")
    X, _ = encode(encoding, x=[2.0, 3.0], city=["Rome", "Paris"], day=[3.0, 1.0])
    np.testing.assert_array_equal(X, [[0, 2, 0, 1], [3, 0, 0, 0]])


def test_dates_are_days_in_whatever_type_they_come():
    encoding = Encoding(((Factor("days(when)"),),))
    noon = datetime.datetime(1970, 1, 11, 12)
    for cells in (
        pa.array([noon, None], pa.timestamp("ns")),
        pa.array([noon, None], pa.timestamp("s")),
        pa.array(["1970-01-11T12:00", "soon"]),
        pa.array(["1970-01-11 12:00:00", None]),
    ):
        np.testing.assert_allclose(encode(encoding, when=cells)[0][:, 0], [10.5, np.nan])
    assert encode(encoding, when=pa.array([datetime.date(1970, 1, 11)]))[0].item() == 10


def test_an_encoding_is_plain_data():
    made = Encoding(
        ((Factor("log(x)"),), (Factor("city", True, True),)), (Category("city", ("a", "b"), "b", True),), ("log(y)",)
    )
    assert Encoding.from_tree(made.to_tree(), len(made.names)) == made


@pytest.mark.parametrize(
    "damage",
    [
        lambda tree: tree.update(
            terms={"@tuple": [{"@tuple": [{"@": "Factor", "of": "open(x)", "category": False, "reduced": False}]}]}
        ),
        lambda tree: tree.update(targets={"@tuple": ["__import__('os')"]}),
        lambda tree: tree.update(categories={"@tuple": []}),
        lambda tree: tree.update(terms=7),
        lambda tree: tree.update(targets={"@tuple": [3]}),
        lambda tree: tree.pop("spelled"),
        lambda tree: tree["terms"]["@tuple"].append(tree["terms"]["@tuple"][0]),
        lambda tree: tree["terms"]["@tuple"].append({"@tuple": []}),
    ],
)
def test_an_encoding_from_a_file_runs_nothing_and_is_checked(damage):
    tree = Encoding(((Factor("city", True, True),),), (Category("city", ("a", "b"), "b", True),)).to_tree()
    damage(tree)
    with pytest.raises(DamagedFileError):
        Encoding.from_tree(tree, 2)


def counts(*files):
    return join_counts(
        [levels_in([pa.table({"c": pa.array(cells, pa.string())})], ["c"]) for cells in files], ["c"], complete=True
    )["c"]


def test_words_that_bad_files_make_up_are_no_levels():
    good = ["Paris"] * 500 + ["Rome"] * 300 + ["Oslo"] * 4
    bad = [[f"{place} {row}" for row in range(400)] * 2 for place in range(8)]
    found = learned_category("c", counts(*[good] * 12, *bad))
    # Oslo is rare, but in many files, and in 48 rows.
    assert found == Category("c", ("Oslo", "Paris", "Rome"), "Paris", other=True)


def test_a_column_in_the_wrong_place_adds_no_levels():
    """In forty of a hundred files the names of drivers are where cities should be, the same names in each."""
    good = ["Paris"] * 200 + ["Rome"] * 90 + ["Oslo"]
    bad = [f"driver {row}" for row in range(300)]
    found = learned_category("c", counts(*[good] * 60, *[bad] * 40))
    assert found == Category("c", ("Oslo", "Paris", "Rome"), "Paris", other=True)


def test_a_group_of_files_with_levels_of_its_own_keeps_them():
    north, south = ["Oslo", "Lund"] * 100, ["Rome", "Bari"] * 100
    assert learned_category("c", counts(*[south] * 9, *[north] * 3)).levels == ("Bari", "Lund", "Oslo", "Rome")


def test_a_file_for_each_level_is_fine():
    found = learned_category("c", counts(*[[f"city {place}"] * 100 for place in range(50)]))
    assert len(found.levels) == 50
    assert not found.other


def test_of_one_table_thirty_rows_are_enough():
    found = learned_category("c", counts(["a"] * 9_900 + ["b"] * 30 + ["c"] * 29))
    assert found == Category("c", ("a", "b"), "a", other=True)


def test_columns_that_name_rows_are_no_categories():
    with pytest.raises(InvalidInputError, match=r"5,000 different values, none of them in many rows.*categories="):
        learned_category("c", counts([f"row {row}" for row in range(5_000)]))
    many = [f"level {row % (MOST_LEVELS + 1)}" for row in range(40 * MOST_LEVELS)]
    with pytest.raises(InvalidInputError, match=f"201 levels.*at most {MOST_LEVELS}"):
        learned_category("c", counts(many))


def test_numbers_are_levels_in_their_order():
    found = learned_category("c", counts(["10", "9.0", "9", "2"] * 10))
    assert found.levels == ("2", "9", "10")
    assert found.reference == "9"


def test_named_levels_begin_with_the_reference():
    assert named_category("c", [3, 1.0, "2"]) == Category("c", ("3", "1", "2"), "3", other=True)
    for wrong in ([], ["a", "a"], "ab", [None]):
        with pytest.raises(InvalidInputError, match="categories must name the levels of 'c'"):
            named_category("c", wrong)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ x +", "cannot be used"),
        ("y ~ x | z", "cannot be used"),
        ("", "must be text"),
        ("y ~ 1", "names no column"),
        ("y ~ C(x, Sum)", r"must be C\(column\)"),
        ("y ~ C(x + 1)", r"must be C\(column\)"),
        ("y ~ scale(x)", "there is no function 'scale'"),
        ("y ~ {__import__('os').system('true')}", "cannot be used"),
        ("a:b ~ x", "must have targets"),
    ],
)
def test_a_wrong_formula_is_explained(formula, message):
    with pytest.raises(InvalidInputError, match=message):
        read_formula(formula).columns  # noqa: B018


@pytest.mark.parametrize(
    "text",
    [
        "y ~ x + C(a) + C(b)",
        "y ~ x * C(a)",
        "y ~ C(a):C(b)",
        "y ~ x:C(a) + C(b)",
        "y ~ C(a) * C(b) * x",
        "y ~ log(x) + I(x**2)",
    ],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_formulas_span_what_formulaic_spans(text, intercept):
    """The columns differ in the level that is dropped at most: together they span the same space."""
    formulaic, pd = pytest.importorskip("formulaic"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.uniform(1, 2, 400), "a": rng.choice(["u", "v", "w"], 400), "b": rng.choice(["q", "r"], 400)}
    )
    frame["y"] = 0.0
    text = text if intercept else text + " - 1"
    encoder = Encoder(formula=text, coding="reference" if intercept else "first")
    table = pa.Table.from_pandas(frame)
    kinds = {"x": "float64", "a": "text", "b": "text"}
    encoding = encoder.encoding(
        read_formula(text).columns, kinds, lambda names: join_counts([levels_in([table], names)], names, complete=True)
    )
    X = encode(encoding, **{name: frame[name].to_numpy() for name in encoding.columns})[0]
    X = np.column_stack([np.ones(400), X]) if intercept else X
    theirs = np.asarray(formulaic.model_matrix(text.partition("~")[2], frame))
    assert (
        np.linalg.matrix_rank(X) == X.shape[1] == theirs.shape[1] == np.linalg.matrix_rank(np.column_stack([X, theirs]))
    )


def test_files_of_all_formats_give_the_same_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=300).round(3),
            "month": rng.integers(1, 4, 300),
            "city": pa.array(rng.choice(["Paris", "Rome", "NA"], 300)),
            "y": rng.normal(size=300).round(3),
        }
    )
    table = table.set_column(2, "city", pa.array([None if c == "NA" else c for c in table["city"].to_pylist()]))
    frame = table.to_pandas()
    pq.write_table(table, tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.rename(columns={"city": "City "}).to_csv(tmp_path / "b.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    encoder = Encoder(("city", "month"))
    found = {}
    for name in ("a.parquet", "a.csv", "a.jsonl"):
        tables = Tables(tmp_path / name, target="y", encoder=encoder)
        assert tables.feature_names[0] == "x"
        assert {"city[Paris]", "city[Rome]"} - set(tables.feature_names)
        assert len(tables.feature_names) == 4
        (batch,) = tables.in_batches(1000)
        found[name] = batch
        assert batch.stats["missing:city"] == table["city"].null_count
    both = list(Tables([tmp_path / "a.csv", tmp_path / "b.csv"], target="y", encoder=encoder).in_batches(1000))
    for batch in (found["a.csv"], found["a.jsonl"], *both):
        np.testing.assert_array_equal(batch.X, found["a.parquet"].X)


def test_numbers_of_an_array_can_be_categories(tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([np.arange(100.0), np.arange(100) % 3]))
    (batch,) = Tables(tmp_path / "a.npy", encoder=Encoder(("f1",), coding="all")).in_batches(1000)
    np.testing.assert_array_equal(batch.X[:, 1:], np.eye(3)[np.arange(100) % 3])


def test_columns_without_numbers_are_left_out_and_named(tmp_path):
    pq.write_table(
        pa.table({"x": [1.0, 2.0], "name": ["a", "b"], "day": [datetime.date(2024, 1, 1)] * 2, "y": [1.0, 2.0]}),
        tmp_path / "a.parquet",
    )
    tables = Tables(tmp_path, target="y", numeric_only=True)
    assert tables.feature_names == ("x",)
    assert tables.notes == ("columns without numbers, left out: 'name', 'day'",)
    with pytest.raises(InvalidInputError, match="numeric_only=True all such") as refused:
        Tables(tmp_path, target="y")
    assert "categorical" in refused.value.arguments
    with pytest.raises(InvalidInputError, match=r"dates=\[...\] makes days"):
        Tables(tmp_path, target="y", exclude="name")
    with pytest.raises(InvalidInputError, match="target must be a column of numbers"):
        Tables(tmp_path, target="name", numeric_only=True)


@pytest.mark.parametrize(
    ("encoder", "options", "message"),
    [
        (Encoder(("town",)), {}, "no file has a column 'town'"),
        (Encoder(("city",)), {"target": "city"}, "must not name the target"),
        (Encoder(("city",)), {"exclude": "city"}, "in both"),
        (Encoder(("city",), dates=("city",)), {}, "dates must not name a category"),
        (Encoder(dates=("x",)), {}, "must hold dates"),
        (Encoder(formula="y ~ town"), {}, "formula must name columns that are there"),
        (Encoder(formula="y ~ log(city)"), {}, "Only columns of numbers"),
        (Encoder(formula="y ~ x + C(city, contr.treatment('Bonn'))"), {}, "the reference 'Bonn' must be a level"),
        (Encoder(categories={"city": "Paris"}), {}, "list of levels"),
    ],
)
def test_what_cannot_be_is_said(tmp_path, encoder, options, message):
    (tmp_path / "a.csv").write_text("x,city,y\n" + "1,Paris,2\n3,Rome,4\n" * 20)
    with pytest.raises(InvalidInputError, match=message):
        Tables(tmp_path, **{"target": "y", **options}, encoder=encoder)


def test_what_is_no_date_is_said(tmp_path):
    lines = [f"{row},{'16.07.2024' if row in (2, 5) else '2024-07-16'},{row}" for row in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["x,when,y", *lines]))
    (batch,) = Tables(tmp_path, target="y", encoder=Encoder(dates=("when",))).in_batches(100)
    assert batch.stats == {"unreadable:when": 2.0, "rows dropped": 2}
    assert batch.illegible[0].row == 2
    assert "'16.07.2024' where a date such as 2024-01-31" in batch.illegible[0].reason
