"""Whole files: each way to fail is one line that names the path, and what stood there stays."""

import csv
import gzip
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pandas as pd
import pytest

import dagopt
from dagopt import files
from dagopt.data.writing import write_frame
from dagopt.errors import InputError
from dagopt.families.jkl import read_jkl
from dagopt.files import read_text, replacing, write_text
from dagopt.graph import read_graph, write_graph
from dagopt.graph.dag import Graph, as_graph
from dagopt.networks.bif import read_bif
from dagopt.networks.gaussian_json import read_gaussian_json

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.parametrize("text", ["a", "é\r\n\tlast line without an end", "\n x\u2028y\n"])
def test_round_trip(tmp_path, text):
    """A text comes back as it was, line ends and all, and a second text replaces it."""
    path = tmp_path / "a.txt"
    for content in ("old", text):
        write_text(content, path)
        assert read_text(str(path)) == content
    assert os.listdir(tmp_path) == ["a.txt"]


def test_byte_order_mark_is_dropped(tmp_path):
    """A mark at the head, as Windows programs write it, is no part of the text."""
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfabc")
    assert read_text(tmp_path / "a.txt") == "abc"


def bad_files(folder: Path) -> dict[str, str]:
    """Make files that cannot be read, and return what the message says of each."""
    (folder / "empty.bif").write_bytes(b"")
    (folder / "blank.bif").write_bytes(b" \r\n\t\n")
    (folder / "latin.bif").write_bytes("é".encode("latin-1"))
    (folder / "folder.bif").mkdir()
    return {
        "none.bif": "got none; check the path",
        "empty.bif": "an empty file",
        "blank.bif": "an empty file",
        "latin.bif": "expected UTF-8 text in .* got byte 0xe9 at 0",
        "folder.bif": "got a folder",
        "blank.bif/none.bif": "could not read .*not a directory",
        "\0.bif": "could not read .*null",
    }


@pytest.mark.parametrize("read", [read_text, read_bif, read_gaussian_json, read_graph, read_jkl])
def test_files_that_cannot_be_read(tmp_path, read):
    """Every reader says the same of a bad file, in one line with its path."""
    for name, message in bad_files(tmp_path).items():
        with pytest.raises(InputError, match=message) as caught:
            read(tmp_path / name)
        assert repr(str(tmp_path / name)) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_text, read_bif, read_graph, read_jkl])
def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch, read):
    """Ten megabytes of zeros in ten kilobytes are read no further than the memory allows."""
    path = tmp_path / "bomb.csv"
    path.write_bytes(gzip.compress(b"0" * 10_000_000))
    monkeypatch.setattr(files, "available_bytes", lambda: 800_000)
    tracemalloc.start()
    try:
        with pytest.raises(
            InputError, match=r"bomb\.csv' has more than 100\.0 kB of text, too much for the free memory"
        ):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything")
def test_files_without_the_right(tmp_path):
    """A file that may not be read and a folder that may not be written to are named."""
    closed = tmp_path / "closed"
    write_text("a", tmp_path / "a.txt")
    (tmp_path / "a.txt").chmod(0)
    closed.mkdir(mode=0o500)
    with pytest.raises(InputError, match=r"could not read .*a\.txt.*permission denied"):
        read_text(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"could not write .*b\.txt.*permission denied"):
        write_text("b", closed / "b.txt")


@pytest.mark.parametrize("write", [lambda path: write_text("new", path), lambda path: write_frame(FRAME, path)])
def test_places_that_cannot_be_written(tmp_path, write):
    """A folder, a missing folder, a file as a folder and a null character are told apart, and nothing is left."""
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "old.csv").write_text("old")
    before = sorted(os.listdir(tmp_path))
    for name, message in (
        ("folder.csv", "got a folder"),
        ("none/a.csv", "there is no folder"),
        ("old.csv/a.csv", "there is no folder"),
        ("\0.csv", "null"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            write(tmp_path / name)
        assert repr(str(tmp_path / name)) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device"), RuntimeError("odd")])
def test_a_failed_block_leaves_the_old_file(tmp_path, error):
    """Whatever ends the block early, the old file stands and the draft is gone; errors of the system are told."""
    path = tmp_path / "a.txt"
    write_text("old", path)

    def fail():
        with replacing(path) as draft:
            draft.write_text("half")
            assert draft.parent == tmp_path
            raise error

    with pytest.raises(InputError if isinstance(error, OSError) else type(error)) as caught:
        fail()
    if isinstance(error, OSError):
        assert "a.txt': no space left on device" in str(caught.value)
    assert read_text(path) == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_texts_outside_utf8(tmp_path):
    """A lone surrogate is refused, in a text and in a table, before anything is replaced."""
    path = tmp_path / "a.csv"
    write_text("old", path)
    for write in (
        lambda: write_text("x\ud800", path),
        lambda: write_frame(pd.DataFrame({"a": pd.Series(["\ud800"], dtype=object)}), path),
    ):
        with pytest.raises(InputError, match=r"the part '\\ud800' cannot be written as UTF-8"):
            write()
    assert read_text(path) == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_link_is_replaced_and_its_file_stays(tmp_path):
    """What a link leads to is not written to: the link itself becomes the file."""
    (tmp_path / "there").mkdir()
    there = tmp_path / "there" / "a.csv"
    there.write_text("mine")
    link = tmp_path / "a.csv"
    for write in (lambda: write_text("a\n1\n", link), lambda: write_frame(pd.DataFrame({"a": [1]}), link)):
        link.unlink(missing_ok=True)
        link.symlink_to(there)
        write()
        assert not link.is_symlink()
        assert (link.read_text(), there.read_text()) == ("a\n1\n", "mine")
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "there"]


def test_a_folder_may_be_a_link(tmp_path):
    """Files of a linked folder are written there."""
    (tmp_path / "there").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "there")
    write_text("a", tmp_path / "folder" / "a.txt")
    assert (tmp_path / "there" / "a.txt").read_text() == "a"


def test_streams_that_are_named_by_links(tmp_path):
    """/dev/stdout is a link that is followed, also where it leads to a file."""
    code = "from dagopt.files import write_text; write_text('text', '/dev/stdout')"
    with open(tmp_path / "out.txt", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "text"
    assert Path("/dev/stdout").is_symlink()


FORMULAS = ["=1+1", "+a", "-a", "@a", "\ta", "'=1+1", "''-a", "a=b", "-5", "'quoted'", "plain"]


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path):
    """Names and levels that a spreadsheet would run have an apostrophe in the file, and come back as they were."""
    names = [name for name in FORMULAS if name != "\ta"]  # spaces around names are dropped
    levels = pd.DataFrame({name: ["=x", "'=x", "y", "+1"] * 3 for name in names})
    write_frame(levels, tmp_path / "data.csv")
    with open(tmp_path / "data.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r" and not cell.strip("+-").isdecimal()]
    table = dagopt.as_table(tmp_path / "data.csv", kind="discrete")
    assert list(table.names) == names
    assert table.levels[0] == dagopt.as_table(levels, kind="discrete").levels[0]
    graph = Graph.from_edges(FORMULAS, [("=1+1", "+a"), ("-5", "'=1+1")])
    for name in ("graph.csv", "graph.adj.csv"):
        write_graph(graph, tmp_path / name)
        assert as_graph(tmp_path / name, FORMULAS) == graph
    assert "'=1+1,'+a" in (tmp_path / "graph.csv").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_written_to(tmp_path):
    """A pipe is no file to replace: the text goes through it."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text("through", pipe)
    reader.join(timeout=10)
    assert got == ["through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "a,b\n1,x\n2,y\n"), ("a.TSV", "a\tb\n1\tx\n2\ty\n"), ("a b.v2.csv.gz", "a,b\n1,x\n2,y\n")],
)
def test_frames_as_text(tmp_path, name, text):
    """The suffix gives separator and compression."""
    write_frame(FRAME, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content).decode() == text
    assert os.listdir(tmp_path) == [name]


def test_frames_as_parquet(tmp_path):
    """A Parquet file gives the frame back."""
    pytest.importorskip("pyarrow")
    write_frame(FRAME, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), FRAME)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    """Where pyarrow is missing, the message says what to install and no file appears."""

    def missing(*_, **__):
        raise ImportError

    monkeypatch.setattr(pd.DataFrame, "to_parquet", missing)
    with pytest.raises(InputError, match=r"a\.parquet' needs pyarrow; install it with: pip install"):
        write_frame(FRAME, tmp_path / "a.parquet")
    assert os.listdir(tmp_path) == []


def test_frames_in_other_formats(tmp_path):
    """A suffix that is not known is refused."""
    with pytest.raises(InputError, match=r"expected a \.csv, \.tsv or \.parquet file"):
        write_frame(FRAME, tmp_path / "a.xlsx")
