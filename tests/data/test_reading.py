"""Reading tables from every source, and the sentence for each thing that can be wrong with one."""

import bz2
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dagopt.data import reading
from dagopt.data.reading import read_columns
from dagopt.errors import InputError

FRAME = pd.DataFrame({"x": [1.5, 2.5, -3.0], "y": [0.1, 0.2, 0.3], "c": ["u", "None", "u"], "k": [3, 1, 3]})


def _content(columns):
    """Return names and cells, numbers as floats and levels as text."""
    return {
        column.name: [None if missing else (column.levels[v] if column.levels else float(v))
                      for v, missing in zip(column.values, column.missing, strict=True)]
        for column in columns
    }  # fmt: skip


EXPECTED = {"x": [1.5, 2.5, -3.0], "y": [0.1, 0.2, 0.3], "c": ["u", "None", "u"], "k": ["3", "1", "3"]}


def _text(separator=",", newline="\n"):
    return FRAME.to_csv(index=False, sep=separator, lineterminator=newline)


def _write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "name, content",
    [
        ("d.csv", _text()),
        ("d.csv", _text(";")),
        ("d.csv", _text("\t")),
        ("d.csv", _text("|")),
        ("d.tsv", _text("\t")),
        ("d.TSV", _text("\t")),
        ("d.txt", _text()),
        ("d", _text()),
        ("windows.csv", _text(newline="\r\n")),
        ("old-mac.csv", _text(newline="\r")),
        ("bom.csv", b"\xef\xbb\xbf" + _text().encode()),
        ("blank-lines.csv", "\n\n" + _text().replace("\n", "\n\n")),
        ("d.csv.gz", gzip.compress(_text().encode(), mtime=0)),
        ("d.csv.bz2", bz2.compress(_text().encode())),
        ("d.csv.xz", lzma.compress(_text().encode())),
        ("d.tsv.gz", gzip.compress(_text("\t").encode(), mtime=0)),
    ],
)
def test_text_files(name, content, tmp_path):
    """Every separator, line end and compression gives the same columns."""
    path = _write(tmp_path / name, content)
    assert _content(read_columns(path)) == EXPECTED
    assert _content(read_columns(str(path))) == EXPECTED


def test_parquet(tmp_path):
    """A Parquet file gives the columns of its frame, and nonsense is refused as such."""
    FRAME.to_parquet(tmp_path / "d.parquet")
    assert _content(read_columns(tmp_path / "d.parquet")) == EXPECTED
    with pytest.raises(InputError, match="as Parquet"):
        read_columns(_write(tmp_path / "bad.parquet", "a,b\n1,2\n"))


@pytest.mark.parametrize(
    "data",
    [FRAME, FRAME.to_dict("list"), pl.DataFrame(FRAME.to_dict("list")), pl.LazyFrame(FRAME.to_dict("list"))],
    ids=["pandas", "dict", "polars", "lazy polars"],
)
def test_frames(data):
    """Frames of pandas and polars and a dict of lists give the same columns."""
    assert _content(read_columns(data)) == EXPECTED


def test_polars_nulls_and_types():
    """Nulls are missing and kinds go by the polars type, as in pandas."""
    frame = pl.DataFrame(
        {"i": [1, None, 2], "f": [1.5, None, float("nan")], "b": [True, None, False], "s": ["x", None, "None"]}
    ).with_columns(pl.Series("e", ["u", None, "u"], dtype=pl.Categorical))
    columns = read_columns(frame)
    assert [column.kind for column in columns] == ["discrete", "continuous", "discrete", "discrete", "discrete"]
    assert _content(columns) == {
        "i": ["1", None, "2"],
        "f": [1.5, None, None],
        "b": ["True", None, "False"],
        "s": ["x", None, "None"],
        "e": ["u", None, "u"],
    }
    with pytest.raises(InputError, match="polars DataFrame but got Series"):
        read_columns(frame["i"])


def test_arrays():
    """Arrays and lists of rows get the names X0, X1, ... and the kind of their dtype."""
    assert _content(read_columns(np.array([[1.5, 2.0], [3.0, 4.0]]))) == {"X0": [1.5, 3.0], "X1": [2.0, 4.0]}
    assert _content(read_columns(np.array([[1, 2], [3, 4]]))) == {"X0": ["1", "3"], "X1": ["2", "4"]}
    assert _content(read_columns([["a", "b"], ["c", "d"]])) == {"X0": ["a", "c"], "X1": ["b", "d"]}
    assert _content(read_columns(np.array([[True, False]]))) == {"X0": ["True"], "X1": ["False"]}


def test_standard_input(monkeypatch):
    """A dash reads standard input."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(_text().encode())))
    assert _content(read_columns("-")) == EXPECTED


def test_cells_of_text_files(tmp_path):
    """Quotes, separators and line ends in quotes, spaces and spellings of missing are read cell by cell."""
    text = 'w,"a ""b""",num\n"x, y",None," 1.5"\n"two\nlines",NA,NA\nNone,,2\n'
    assert _content(read_columns(_write(tmp_path / "d.csv", text))) == {
        "w": ["x, y", "two\nlines", "None"],
        'a "b"': ["None", "NA", None],
        "num": [1.5, None, 2.0],
    }


def test_na_values_match_the_text_of_a_cell(tmp_path):
    """A further spelling of missing is honoured in whole numbers, fractions and words alike."""
    path = _write(tmp_path / "d.csv", "i,f,w\n1,0.5,a\n-999,-999,-999\n2,1.5,b\n")
    assert _content(read_columns(path, na_values=["-999"])) == {
        "i": ["1", None, "2"],
        "f": [0.5, None, 1.5],
        "w": ["a", None, "b"],
    }
    assert _content(read_columns(path))["f"] == [0.5, -999.0, 1.5]


def test_missing_cells_do_not_change_levels(tmp_path):
    """Whole numbers have the same levels whether or not another cell of the column is empty."""
    full = read_columns(_write(tmp_path / "full.csv", "a,b\n01,x\n1,y\n2,z\n"))
    holed = read_columns(_write(tmp_path / "holed.csv", "a,b\n01,x\n1,y\n2,z\n,z\n"))
    assert full[0].levels == holed[0].levels == ("1", "2")


def test_names_are_trimmed_and_made_up(tmp_path):
    """Names lose the spaces around them, an empty one is made up, and one may run over two lines."""
    columns = read_columns(_write(tmp_path / "d.csv", ' a ,,"two\nlines"\n1,2,3\n4,5,6\n'))
    assert [column.name for column in columns] == ["a", "column 2", "two\nlines"]
    assert _content(columns)["a"] == ["1", "4"]


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "is empty"),
        (" \n \n", "is empty"),
        (",\n,\n", "has only separators"),
        ("a,b,c\n", "a header but no rows"),
        ("a,b,c", "a header but no rows"),
        ("a,b\n  \n", "a header but no rows"),
        ("a\n1\n2\n", "only one column, 'a'.*separator"),
        ("a,b,a\n1,2,3\n", "column name 'a' occurs more than once"),
        ("a,b,c\n1,2,3\n1,2\n", "line 3: expected 3 fields as in the header but got 2"),
        ("a,b,c\n1,2\n1,2,3\n", "line 2: expected 3 fields as in the header but got 2"),
        ("a,b,c\nx,y,z\n\nx,y\n", "line 4: expected 3 fields as in the header but got 2"),
        ("a,b,c\n1,2,3\n1,2,3,4\n", "line 3: expected 3 fields as in the header but got 4"),
        ("a,b\n1,2,3\n1,2,3\n", "line 2: expected 2 fields as in the header but got 3"),
        ("a,b,c\n1,2\n1,2\n", "line 2: expected 3 fields as in the header but got 2"),
        ('"a\nb",c\n1,2\n1\n', "line 4: expected 2 fields as in the header but got 1"),
        ("a,b\r1,2\r1\r", "line 3: expected 2 fields as in the header but got 1"),
        ('a,b\n1,"2\n3,4\n', "cannot read"),
        (b"a,b\n1\x00,2\n", "binary"),
        (b"\x89PNG\r\n\x1a\n", "not UTF-8 text.*0x89 at position 0"),
        ("a,b\ncafé,1\n".encode("latin-1"), "not UTF-8 text.*0xe9 at position 7"),
    ],
)
def test_what_is_wrong_with_a_file(content, message, tmp_path):
    """Each defect of a text file is named, with its line where it has one, and the file."""
    with pytest.raises(InputError, match=message) as caught:
        read_columns(_write(tmp_path / "data.csv", content))
    if "column" not in message:
        assert "data.csv" in str(caught.value)


def test_what_is_no_file(tmp_path):
    """A folder, a missing file, a broken archive and a foreign format are each named."""
    with pytest.raises(InputError, match="has no CSV, Parquet, Arrow or JSON lines file"):
        read_columns(tmp_path)
    with pytest.raises(InputError, match=r"there is no file .*gone.csv"):
        read_columns(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"cannot read .*d\.csv\.gz"):
        read_columns(_write(tmp_path / "d.csv.gz", "a,b\n1,2\n"))
    with pytest.raises(InputError, match=r"cannot read .*e\.csv\.gz"):
        read_columns(_write(tmp_path / "e.csv.gz", gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-9]))
    with pytest.raises(InputError, match=r"cannot read .*d\.csv\.xz"):
        read_columns(_write(tmp_path / "d.csv.xz", "a,b\n1,2\n"))
    with pytest.raises(InputError, match=r"cannot read .*d\.xlsx as a spreadsheet: .*; save it as CSV"):
        read_columns(_write(tmp_path / "d.xlsx", b"PK"))


@pytest.mark.parametrize(
    "data, message",
    [
        (None, "expected a table .* but got NoneType"),
        (np.arange(3.0), "1 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([[1, 2], [3]], "rows have different lengths"),
        ({"a": [1, 2], "b": [1]}, "cannot make a table from the dict"),
        (pd.DataFrame({"a": [], "b": []}), "2 columns but no rows"),
        (np.zeros((0, 3)), "3 columns but no rows"),
        (pd.DataFrame({"a": [1, 2]}), "only one column, 'a'"),
        (pd.DataFrame(), "no column"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "column name 'a' occurs more than once"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "column name '1' occurs more than once"),
    ],
)
def test_what_is_no_table(data, message):
    """Objects that hold no table are refused with what they are."""
    with pytest.raises(InputError, match=message):
        read_columns(data)


@pytest.mark.parametrize(
    "columns, names",
    [
        (["k", "x"], ["k", "x"]),
        ([3, 0], ["k", "x"]),
        (["k", 0], ["k", "x"]),
        (np.array([1, 2]), ["y", "c"]),
        ("k, x", ["k", "x"]),
        (("y", "c", "x"), ["y", "c", "x"]),
    ],
)
def test_chosen_columns(columns, names):
    """Columns are chosen by name or position, in the order given."""
    assert [column.name for column in read_columns(FRAME, columns)] == names


@pytest.mark.parametrize(
    "columns, message",
    [
        (["x", "yy"], "unknown column 'yy'"),
        (["xy", "c"], "unknown column 'xy'; did you mean"),
        ([0, 4], "unknown column '4'"),
        ([0, -1], "unknown column '-1'"),
        (["x", "y", "x"], "columns= lists 'x' more than once"),
        (["x", 0], "columns= lists 'x' more than once"),
        (["x"], "only one column, 'x'"),
        ([], "no column"),
    ],
)
def test_columns_that_cannot_be_chosen(columns, message):
    """An unknown column gets the nearest name, and a column chosen twice is refused however it is named."""
    with pytest.raises(InputError, match=message):
        read_columns(FRAME, columns)


def test_a_name_goes_before_a_position():
    """A number that is the name of a column means that column."""
    frame = pd.DataFrame([[1, 2, 3]], columns=[2, 0, 7])
    assert [column.name for column in read_columns(frame, [0, 7])] == ["0", "7"]
    assert [column.name for column in read_columns(frame, [1, 2])] == ["0", "2"]


def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    """A megabyte of zeros in a kilobyte is read no further than the memory allows."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0" * 1_000_000))
    monkeypatch.setattr(reading, "available_bytes", lambda: 600_000)
    with pytest.raises(InputError, match=r"bomb\.csv\.gz has more than 100\.0 kB of text, too much for the free"):
        read_columns(path)


def test_single_spaces_separate_columns_if_nothing_else_does(tmp_path):
    """As R writes tables; a first line of words with other numbers of them below is one column."""
    path = tmp_path / "spaces.txt"
    path.write_text('"a" "b c" "d"\n1 2.5 "x y"\n3 4.5 z\n')
    columns = read_columns(path)
    assert [column.name for column in columns] == ["a", "b c", "d"]
    assert columns[1].values.tolist() == [2.5, 4.5]
    assert columns[2].levels == ("x y", "z")
    path.write_text("two words\none\nthree\n")
    with pytest.raises(InputError, match="only one column"):
        read_columns(path)
