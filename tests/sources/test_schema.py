"""Which columns are read, which files are found, and what becomes of missing cells and classes."""

import datetime
import decimal
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import Tables, open_tables


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pa_parquet.write_table(pa.table(columns), path)


@pytest.fixture
def folder(tmp_path):
    for place in range(3):
        write(tmp_path / f"{place}.parquet", a=[1.0, 2.0], b=[3, 4], y=[5.0, 6.0], id=["u", "v"])
    return tmp_path


def test_the_majority_decides_even_if_the_first_file_is_garbage(folder):
    write(folder / "0.parquet", z=["x"], a=["y"])
    write(folder / "3.parquet", y=[5.0], extra=[1.0], id=["u"], b=[True], a=[1])
    tables = Tables(folder, target="y", exclude="id")
    assert tables.feature_names == ("a", "b")
    assert tables.target_names == ("y",)
    assert list(tables.problems) == [str(folder / "0.parquet")]
    last = list(tables.in_batches(10))[-1]
    assert (last.X.tolist(), last.y.tolist()) == ([[1.0, 1.0]], [5.0])


def test_columns_are_taken_in_the_order_that_is_asked_for(folder):
    batch = next(iter(Tables(folder, columns=["b", "a"], target=["y"]).in_batches(10)))
    assert batch.X.tolist() == [[3.0, 1.0], [4.0, 2.0]]
    assert batch.y.tolist() == [[5.0], [6.0]]
    assert batch.X.flags.c_contiguous


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'id' holds text.*exclude="),
        ({"target": "price", "exclude": "id"}, "no file has a column 'price'. The columns are 'a', 'b', 'y', 'id'"),
        ({"target": "Y", "exclude": "i"}, "no file has a column 'Y'"),
        ({"exclude": "idd"}, "no file has a column 'idd'. Did you mean 'id'"),
        ({"columns": ["aa"]}, "columns must be names of columns; no file has a column 'aa'"),
        ({"target": "id"}, "target must be a column of numbers; 'id' holds text"),
        ({"target": "y", "exclude": ["y", "id"]}, "exclude must not name the target"),
        ({"columns": ["y"], "target": "y"}, "columns must not name the target"),
        ({"columns": ["a", "a"]}, "columns must name each column once"),
        ({"exclude": ["a", "b", "y", "id"]}, "No column is left"),
        ({"missing": "drop", "exclude": "id"}, "missing must be one of"),
    ],
)
def test_choices_that_cannot_be_met_are_named(folder, options, message):
    with pytest.raises(InvalidInputError, match=message):
        Tables(folder, **options)


def test_numbers_of_all_kinds_are_converted(tmp_path):
    write(
        tmp_path / "a.parquet",
        half=np.array([1, 2], np.float16),
        small=np.array([1, 200], np.uint8),
        large=np.array([1, 2**40]),
        flag=[True, False],
        exact=[decimal.Decimal("1.25"), decimal.Decimal("2.50")],
        coded=pa.array([7, 8]).dictionary_encode(),
    )
    tables = Tables(tmp_path / "a.parquet")
    assert tables.dtype == np.float64
    batch = next(iter(tables.in_batches(10)))
    assert batch.X.tolist() == [[1, 1, 1, 1, 1.25, 7], [2, 200, 2**40, 0, 2.5, 8]]


def test_cells_that_lack_are_missing_whatever_the_type(tmp_path):
    columns = {
        "whole": pa.array([1, None, 3, 4, 5, 6, 7]),
        "flag": pa.array([True, True, None, True, True, True, True]),
        "exact": pa.array([decimal.Decimal(1)] * 3 + [None] + [decimal.Decimal(1)] * 3),
        "y": pa.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, float("inf")]),
    }
    write(tmp_path / "a.parquet", **columns)

    def only(**options):
        return next(iter(Tables(tmp_path / "a.parquet", **{"target": "y", **options}).in_batches(10)))

    assert "skip-infinite" in only().failure
    assert "4 of 7" in only(missing="skip-infinite").failure
    only_finite = only(exclude="exact", missing="skip-infinite")
    assert only_finite.stats == {
        "missing:whole": 1,
        "missing:flag": 1,
        "infinite:y": 1,
        "rows dropped": 3,
    }
    assert only_finite.X.tolist() == [[1, 1], [4, 1], [5, 1], [6, 1]]
    assert "missing='skip'" in only(columns=["whole"], missing="error", target="flag").failure
    kept = only(missing="keep")
    assert kept.X.shape == (7, 3)
    assert np.isnan(kept.X).sum() == 3
    assert np.isinf(kept.y[-1])


def test_dates_are_refused_by_name(tmp_path):
    write(tmp_path / "a.parquet", a=[1.0], day=[datetime.date(2024, 1, 1)], at=[datetime.datetime(2024, 1, 1)])
    with pytest.raises(InvalidInputError, match="'day', 'at' hold dates or times"):
        Tables(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("a,day\n1,2024-01-01\n")
    with pytest.raises(InvalidInputError, match="'day' holds dates or times"):
        Tables(tmp_path / "b.csv")


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize(
    ("values", "kind"), [(["u", None, "v"], object), ([1, None, 3], np.int64), ([True, None, False], np.bool_)]
)
def test_classes_keep_their_type(tmp_path, ending, values, kind):
    path = tmp_path / f"a{ending}"
    if ending == ".csv":
        path.write_text("a,y\n" + "".join(f"1,{'' if value is None else value}\n" for value in values))
    else:
        write(path, a=[1.0, 1.0, 1.0], y=values)
    batch = next(iter(Tables(path, target="y", text_target=True).in_batches(10)))
    assert batch.y.dtype == kind
    assert batch.y.tolist() == [values[0], values[2]]
    assert batch.stats["missing:y"] == 1


def test_a_stray_word_does_not_make_numbers_text(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\nbroken,3\n" + "4,5\n" * 30)
    batches = list(Tables(tmp_path / "a.csv").in_batches(8))
    assert [batch.rows for batch in batches] == [7, 8, 8, 8]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "a,b\n1,2\n3,4\n", {}),
        ("a.csv", "\ufeffa;b\r\n1;2\r\n3;4\r\n", {}),
        ("a.csv", "a\tb\n1\t2\n3\t4\n", {}),
        ("a.tsv", "a\tb\n1\t2\n3\t4", {}),
        ("a.txt", '"a","b"\n"1","2"\n3,4\n', {}),
        ("a.csv", "a|b\n1|2\n3|4\n", {"separator": "|"}),
        ("a.csv", "\n\na , b\n1, 2\n3 ,4\n\n", {}),
    ],
)
def test_separators_and_marks(tmp_path, name, text, options):
    (tmp_path / name).write_bytes(text.encode())
    tables = Tables(tmp_path / name, **options)
    assert tables.feature_names == ("a", "b")
    assert next(iter(tables.in_batches(5))).X.tolist() == [[1, 2], [3, 4]]


def test_files_without_names_and_rows(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    assert Tables(tmp_path / "a.csv", header=False).feature_names == ("f0", "f1")
    np.save(tmp_path / "b.npy", np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32))
    tables = Tables(tmp_path, header=False)
    assert [batch.X.tolist() for batch in tables.in_batches(5)] == [[[1, 2], [3, 4]]] * 2
    (tmp_path / "c.csv").write_text("f0,f1\n")
    write(tmp_path / "d.parquet", f0=pa.array([], pa.float64()), f1=pa.array([], pa.float64()))
    (tmp_path / "a.csv").unlink()
    tables = Tables(tmp_path)
    # c.csv has only a header; a table in Parquet may be empty on purpose.
    assert [batch.failure is None for batch in tables.in_batches(5)] == [True, False]
    assert "no rows" in tables.problems[str(tmp_path / "c.csv")]
    assert tables.notes == (f"without any row: {tmp_path / 'd.parquet'}",)


def test_files_are_found_sorted_and_once(tmp_path):
    for name in ("b/2.parquet", "a/1.parquet", "a/_hidden.parquet", "a/.also.parquet", "_tmp/9.parquet", "c.PARQUET"):
        write(tmp_path / name, a=[1.0])
    (tmp_path / "notes.md").write_text("no table")

    def names(*paths):
        return [
            path.removeprefix(str(tmp_path) + "/") for path in Tables([str(tmp_path / path) for path in paths]).paths
        ]

    assert names("") == ["a/1.parquet", "b/2.parquet", "c.PARQUET"]
    assert Tables(tmp_path).notes[0] == f"left out, since no format is known for the name: {tmp_path / 'notes.md'}"
    assert names("*/*.parquet") == ["a/1.parquet", "b/2.parquet"]
    assert names("_t*/*") == ["_tmp/9.parquet"]
    assert names("**/*.parquet", "a") == names("**/*.parquet")
    assert names("a/_hidden.parquet", "a") == ["a/_hidden.parquet", "a/1.parquet"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ("nowhere/*.csv", "No file matches the pattern 'nowhere"),
        ("nowhere.csv", "no file or folder"),
        ([], "empty list"),
    ],
)
def test_nothing_found_names_what_was_looked_for(paths, message):
    with pytest.raises(InvalidInputError, match=message):
        open_tables(paths)


def test_an_empty_folder_says_which_formats_are_known(tmp_path):
    with pytest.raises(InvalidInputError, match=r"holds no file of a known format .*\.parquet"):
        Tables(tmp_path)


def test_small_files_are_joined_only_on_request(tmp_path):
    for place in range(7):
        write(tmp_path / f"{place}.parquet", a=np.arange(4.0) + 10 * place)
    (tmp_path / "3.parquet").write_bytes(b"")
    assert Tables(tmp_path).in_batches(8).count == 7
    source = Tables(tmp_path, join_small_files=True).in_batches(8)
    batches = list(source)
    assert [batch.rows for batch in batches] == [8, 4, 0, 8, 4]
    assert [batch.failure is None for batch in batches] == [True, True, False, True, True]
    assert "0.parquet to" in batches[0].label
    assert "(2 files)" in batches[0].label
    (tmp_path / "1.parquet").unlink()
    assert "1.parquet: the file is not there any more" in next(iter(source)).failure


def test_the_fingerprint_tells_other_data_and_other_batches(folder):
    def fingerprint(size=5, **options):
        return Tables(folder, exclude="id", **options).in_batches(size).fingerprint()

    before = fingerprint()
    assert fingerprint() == before
    assert len({before, fingerprint(1), fingerprint(target="y"), fingerprint(missing="error")}) == 4
    write(folder / "1.parquet", a=[1.0, 2.5], b=[3, 4], y=[5.0, 6.0], id=["u", "v"])
    changed = fingerprint()
    assert changed != before
    (folder / "1.parquet").rename(folder / "9.parquet")
    assert fingerprint() not in (before, changed)


@pytest.mark.parametrize("text", [",a,b\n0,1,2\n1,3,4\n", "a,b,\n1,2,\n3,4,\n", "Unnamed: 0,a, ,b\n0,1,,2\n1,3,,4\n"])
def test_columns_without_a_name_are_left_out(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    tables = Tables(tmp_path / "a.csv")
    assert tables.feature_names == ("a", "b")
    assert [batch.X.tolist() for batch in tables.in_batches(5)] == [[[1, 2], [3, 4]]]


def test_the_index_of_a_data_frame_is_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, 5.0]}).iloc[[0, 2]]
    frame.to_parquet(tmp_path / "a.parquet", index=True)
    assert Tables(tmp_path / "a.parquet").feature_names == ("a", "b")
    assert Tables(tmp_path / "a.parquet", columns=["__index_level_0__"]).feature_names == ("__index_level_0__",)


def test_names_that_differ_in_case_blanks_and_accents_are_one_column(tmp_path):
    for place in range(3):
        write(tmp_path / f"{place}.parquet", **{"Dep Time": [place + 1.0, 2.0], "Größe": [3.0, 4.0]})
    (tmp_path / "3.csv").write_text(" GRÖSSE,dep_time\n30,10\nforty,20\n50,30\n")
    tables = Tables(tmp_path)
    assert tables.feature_names == ("Dep Time", "Größe")
    *_, batch = tables.in_batches(5)
    assert batch.X.tolist() == [[10.0, 30.0], [30.0, 50.0]]
    assert batch.stats == {"unreadable:Größe": 1.0, "rows dropped": 1}
    assert tables.notes == (
        f"column 'dep_time' of {tmp_path / '3.csv'} is taken for 'Dep Time'",
        f"column 'GRÖSSE' of {tmp_path / '3.csv'} is taken for 'Größe'",
    )
    # The name that was asked for is the name, also where most files spell it otherwise.
    assert Tables(tmp_path, target="dep_time").target_names == ("dep_time",)
    # Two such columns of one file are two columns.
    write(tmp_path / "4.parquet", **{"Dep Time": [5.0], "Grösse": [6.0], "Grosse": [7.0]})
    *_, third, fourth = Tables(tmp_path).in_batches(5)
    assert "no column 'Größe'" in third.failure
    assert "no column 'Größe'" in fourth.failure


def test_spellings_reach_workers(tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("A,b\n3,4\n")
    source = pickle.loads(pickle.dumps(Tables(tmp_path).in_batches(5)))
    assert [batch.X.tolist() for part in source.partitions() for batch in part.read()] == [[[1, 2]], [[3, 4]]]


def test_copies_are_named(tmp_path):
    rng = np.random.default_rng(0)
    for place in range(4):
        np.save(tmp_path / f"{place}.npy", rng.normal(size=(2000, 3)))
    (tmp_path / "4.npy").write_bytes((tmp_path / "2.npy").read_bytes())
    changed = bytearray((tmp_path / "2.npy").read_bytes())
    changed[20_000] ^= 1
    (tmp_path / "5.npy").write_bytes(changed)
    assert Tables(tmp_path).notes == (f"copies, byte for byte: {tmp_path / '4.npy'} of {tmp_path / '2.npy'}",)


@pytest.mark.parametrize("order", [1, -1])
def test_columns_that_too_few_files_have_are_named(order, tmp_path):
    write(tmp_path / "0.parquet", a=[1.0], b=[2.0], c=[3.0], y=[4.0])
    write(tmp_path / "1.parquet", a=[1.0], y=[4.0])
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"][::order]
    tables = Tables(files, target="y")
    assert tables.feature_names == ("a",)
    assert tables.notes == (
        f"columns 'b', 'c' are left out, since 1 of 2 files do not have them: {tmp_path / '1.parquet'}",
    )
    # Not where a person has said which columns there are to be, or not to be.
    assert Tables(files, target="y", exclude=["b", "c"]).notes == ()
    assert Tables(files, target="y", columns=["a"]).notes == ()


def test_columns_that_a_few_files_have_beside_the_others_need_no_word(folder):
    for place in range(3, 8):
        write(folder / f"{place}.parquet", a=[1.0], b=[3], y=[5.0])
    write(folder / "8.parquet", a=[1.0], b=[3], y=[5.0], extra=[1.0])
    assert [note for note in Tables(folder, exclude="id").notes if "left out" in note] == []


def test_the_names_of_a_model_may_be_spelled_otherwise_by_all_files(tmp_path):
    write(tmp_path / "0.parquet", **{"SIZE ": [1.0], "b": [2.0]})
    with pytest.raises(InvalidInputError, match="no file has a column 'size'"):
        Tables(tmp_path, columns=["size"])
    tables = Tables(tmp_path, columns=["b", "size"], fitted=["size", "b"])
    assert [batch.X.tolist() for batch in tables.in_batches(5)] == [[[2.0, 1.0]]]
