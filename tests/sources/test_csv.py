"""CSV files as people have them: words among numbers, other decimals, other encodings, line breaks in quotes."""

import gzip
import io

import numpy as np
import pytest

from robustream.errors import InvalidInputError
from robustream.sources import Tables
from robustream.sources.tables import PipedTable


def numbers(rows=60, columns=2):
    return np.random.default_rng(0).normal(size=(rows, columns)).round(3)


def csv_of(rows, names="ab", separator=",", decimal="."):
    lines = [
        separator.join(names),
        *(separator.join(f"{cell:.3f}".replace(".", decimal) for cell in row) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def read(path, size=20, **options):
    return list(Tables(path, **options).in_batches(size))


def test_a_word_costs_its_row_and_is_counted(tmp_path):
    lines = csv_of(numbers()).splitlines()
    lines[25], lines[27] = "1,oops", "1,n.v."
    (tmp_path / "a.csv").write_text("\n".join(lines))
    batches = read(tmp_path / "a.csv")
    assert [batch.rows for batch in batches] == [20, 18, 20]
    assert batches[1].stats == {"unreadable:b": 2, "rows dropped": 2}
    kept = np.delete(numbers(), [24, 26], axis=0)
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), kept)
    (cells,) = batches[1].illegible
    assert cells == ("b", 2, 4, "column 'b' holds 'oops' where a number is needed")
    failed = read(tmp_path / "a.csv", missing="error")[1]
    assert "column 'b' holds 'oops'" in failed.failure


def test_every_row_keeps_its_place_where_all_are_asked_for(tmp_path):
    lines = csv_of(numbers()).splitlines()
    lines[3], lines[5], lines[7], lines[8] = "oops,1", "1,2,3", ",4", "\xff,5"
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode("latin-1"))
    (batch,) = read(tmp_path / "a.csv", 100, missing="keep")
    expected = numbers()
    expected[2] = np.nan, 1
    expected[4] = np.nan
    expected[6] = np.nan, 4
    expected[7] = np.nan, 5
    np.testing.assert_array_equal(batch.X, expected)
    assert [(cells.column, cells.number, cells.row) for cells in batch.illegible] == [(None, 1, 4), ("a", 2, 2)]


def test_missing_cells_are_still_missing_among_words(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,ok\n" + "1,2,true\n" * 20 + "x,NA,false\n ,3,TRUE\nnan,inf,false\n4,-1e3,0\n")
    (batch,) = read(tmp_path / "a.csv", 100, missing="skip-infinite")
    assert batch.stats == {"unreadable:a": 1, "missing:a": 2, "missing:b": 1, "infinite:b": 1, "rows dropped": 3}
    assert batch.X[-1].tolist() == [4.0, -1000.0, 0.0]


@pytest.mark.parametrize("text", ["x,y\n" * 30, "1\n" * 30, "1,2,3\n" * 30])
def test_a_batch_of_nothing_but_dirt_fails(tmp_path, text):
    (tmp_path / "a.csv").write_text(csv_of(numbers()) + text)
    batches = read(tmp_path / "a.csv", 30)
    assert [batch.failure is None for batch in batches] == [True, True, False]
    assert "30 of 30 rows cannot be used: " in batches[2].failure


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_seen(tmp_path, separator):
    (tmp_path / "a.csv").write_text(csv_of(numbers(), separator=separator, decimal=","))
    tables = Tables(tmp_path / "a.csv")
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in tables.in_batches(20)]), numbers())
    piped = PipedTable(io.BytesIO((tmp_path / "a.csv").read_bytes()))
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in piped.in_batches(20)]), numbers())


def test_decimal_commas_can_be_told(tmp_path):
    """Nothing in the first rows shows them, and thousands look the same."""
    (tmp_path / "a.csv").write_text("a|b\n1|1,500\n" + "2|2,250\n" * 200)
    with pytest.raises(InvalidInputError, match="'b' holds text"):
        Tables(tmp_path / "a.csv")
    (batch,) = read(tmp_path / "a.csv", 500, decimal=",")
    assert batch.X[:2].tolist() == [[1.0, 1.5], [2.0, 2.25]]
    (tmp_path / "a.csv").write_text("a;b\n" + "1;1\n" * 200 + "2;2,25\noops;3,5\n")
    (batch,) = read(tmp_path / "a.csv", 500)
    assert batch.X[-1].tolist() == [2.0, 2.25]
    assert batch.stats == {"unreadable:a": 1, "rows dropped": 1}


def test_one_column_with_commas_is_not_guessed(tmp_path):
    """They may be decimals, or fields below a line of remarks."""
    (tmp_path / "a.csv").write_text("a\n1,5\n2,5\n3,5\n4,0\n")
    assert "a line has 2 fields where 1 are needed" in read(tmp_path / "a.csv")[0].failure
    (batch,) = read(tmp_path / "a.csv", separator=";")
    assert batch.X.ravel().tolist() == [1.5, 2.5, 3.5, 4.0]


@pytest.mark.parametrize("options", [{"separator": ";;"}, {"decimal": "x,"}, {"separator": ";", "decimal": ";"}])
def test_separators_that_cannot_be(tmp_path, options):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(InvalidInputError, match=r"separator|decimal"):
        Tables(tmp_path / "a.csv", **options)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("rows", [60, 100_000])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_other_encodings(tmp_path, name, rows, encoding):
    """100,000 rows are more than the head of a file."""
    expected = numbers(rows)
    content = csv_of(expected, names=["größe", "b"]).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    tables = Tables(tmp_path / name)
    assert tables.feature_names == ("größe", "b")
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in tables.in_batches(rows // 3)]), expected)
    piped = PipedTable(io.BytesIO((tmp_path / name).read_bytes()))
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in piped.in_batches(rows // 3)]), expected)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("rows", [60, 50_000])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_breaks_in_quotes(tmp_path, name, rows, ending):
    """Half of the fields have one, in a file that fits the head and in one that does not."""
    expected = np.column_stack([np.arange(rows), numbers(rows)[:, 0]])
    remarks = (['"two', f'lines, and ""quotes"""{ending}'] if row % 2 else ["one", ending] for row in range(rows))
    lines = [f"{row:.0f},{remark[0]}{ending if len(remark[1]) > 2 else ''}{remark[1].rstrip()},{value:.3f}{ending}"
             for (row, value), remark in zip(expected, remarks, strict=True)]  # fmt: skip
    content = (f'a,"what{ending}was said",b{ending}' + "".join(lines)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    tables = Tables(tmp_path / name, columns=["a", "b"])
    batches = list(tables.in_batches(rows // 3))
    assert [batch.failure for batch in batches] == [None] * 3
    assert not any(batch.stats for batch in batches)
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), expected)
    piped = list(PipedTable(io.BytesIO(content), columns=["a", "b"]).in_batches(rows // 3))
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in piped]), expected)


def test_a_stray_quote_opens_nothing(tmp_path):
    (tmp_path / "a.csv").write_text('size,a\n5" pipe,1\n7",2\n3,3\n')
    (batch,) = read(tmp_path / "a.csv", exclude="size")
    assert batch.X.ravel().tolist() == [1.0, 2.0, 3.0]


def test_classes_in_the_words_of_windows(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,art\n1,gr\xfcn\n2,blau\noops,blau\n".encode("cp1252"))
    (batch,) = read(tmp_path / "a.csv", target="art", text_target=True)
    assert batch.y.tolist() == ["grün", "blau"]


def test_a_first_line_that_is_a_row_is_suspected(tmp_path):
    (tmp_path / "a.csv").write_text("0.25,red\n0.5,blue\n0.75,red\n")
    with pytest.raises(InvalidInputError, match=r"header=False says so"):
        Tables(tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match=r"no file has a column 'size'.*header=False"):
        Tables(tmp_path / "a.csv", columns=["size"])
    (tmp_path / "a.csv").write_text("size,colour,2019\n0.5,blue,1\n0.75,red,2\n")
    with pytest.raises(InvalidInputError) as caught:
        Tables(tmp_path / "a.csv")
    assert "header" not in str(caught.value)
