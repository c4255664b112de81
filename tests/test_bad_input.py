"""Bad input, kind by kind: one line on standard error that names the thing and the remedy, exit code 2, no file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dagopt.cli import run
from dagopt.errors import InputError
from dagopt.families.jkl import read_jkl

ROWS = 30


def made(**columns):
    """Return CSV text of three good columns, with some of them replaced or added."""
    rng = np.random.default_rng(0)
    table = {name: list(rng.normal(size=ROWS).round(6)) for name in "ABC"} | columns
    rows = zip(*table.values(), strict=True)
    return "\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n"


def with_cell(cell):
    """Return CSV text of good columns with one cell of B replaced."""
    values = [float(k % 7) + 0.25 for k in range(ROWS)]
    return made(B=[*values[:10], cell, *values[11:]])


GOOD = made()
A, B = ([float(line.split(",")[k]) for line in GOOD.splitlines()[1:]] for k in (0, 1))
SUM = [a + b for a, b in zip(A, B, strict=True)]

FILES = {
    "good.csv": GOOD,
    "levels.csv": "A,B\n" + "x,y\ny,x\nx,x\n" * 10,
    "graph.dot": "digraph { A -> B; B -> C }",
    "empty.csv": "",
    "header.csv": "A,B,C\n",
    "one.csv": "A\n1.5\n2.5\n3.5\n",
    "text.csv": with_cell("oops"),
    "missing.csv": with_cell(""),
    "nan.csv": with_cell("NaN"),
    "inf.csv": with_cell("inf"),
    "huge.csv": with_cell("1e308"),
    "constant.csv": made(B=[1.5] * ROWS),
    "copy.csv": made(D=A),
    "sum.csv": made(D=SUM),
    "names.csv": GOOD.replace("A,B,C", "A,B,A", 1),
    "long.csv": GOOD + "1,2,3,4\n",
    "short.csv": GOOD + "1,2\n",
    "latin.csv": "A,Größe\n1,2\n3,4\n".encode("latin-1"),
    "binary.csv": b"A,B\n\x00\x01,2\n",
    "table.xlsx": b"PK",
    "table.parquet": b"PAR1 but not really",
    "table.csv.gz": b"not compressed",
    "mixed.csv": made(B=["x", "y"] * (ROWS // 2)),
    "nothing.csv": made(B=[""] * ROWS),
    "covariance.csv": "A,B\n1,0.5\n0.5,1\n",
    "wrong_covariance.csv": "A,B\n1,2\n2,1\n",
    "few.csv": "".join(GOOD.splitlines(keepends=True)[:3]),
    "cyclic.dot": "digraph { A -> B; B -> C; C -> A }",
    "undirected.dot": "graph { A -- B }",
    "stranger.dot": "digraph { A -> Z }",
    "broken.dot": "digraph { A -> ",
    "broken.json": "{",
    "other.json": '{"nodes": 3}',
    "broken.bif": "network x { ",
    "broken.graphml": "<graphml>",
    "empty.dot": "",
    "graph.xyz": "A -> B",
    "broken.toml": "required = [",
    "key.toml": "requird = []",
    "shape.toml": 'required = ["A", "B"]',
    "digits.toml": "max_parents = " + "9" * 5000,
    "deep.toml": "required = " + "[" * 5000 + "]" * 5000,
    "digits.json": '{"nodes": ["A", "B"], "edges": [{"from": %s, "to": "B"}]}' % ("9" * 5000),
    "digits.jkl": "9" * 5000 + "\nA 1\n-1.5 0\n",
    "sets.jkl": "1\nA " + "9" * 5000 + "\n-1.5 0\n",
    "parents.jkl": "1\nA 1\n-1.5 " + "9" * 5000 + "\n",
    "header_only.csv": "A\n",
    "tiers.toml": 'tiers = [["A"], ["B"]]',
}

# What is wrong, the command, and words of the line: first what names the thing, then the remedy.
CASES = {
    # the table
    "empty file": ("learn empty.csv", "empty.csv is empty", "give a header row"),
    "header only": ("learn header.csv", "header.csv", "at least one row"),
    "one column": ("learn one.csv", "only one column, 'A'", "separator"),
    "text in a numeric column": ("learn text.csv", "'oops' in data row 11", "correct it"),
    "missing cell": ("learn missing.csv", "column 'B'", "--missing drop"),
    "cell spelled NaN": ("score nan.csv graph.dot", "column 'B'", "--missing drop"),
    "infinite cell": ("learn inf.csv", "column 'B' has 1 infinite values", "--exclude"),
    "number too large": ("learn huge.csv", "column 'B' has the value 1e+308", "rescale"),
    "constant column": ("learn constant.csv", "column 'B' is constant", "leave it out with --exclude"),
    "constant column to score": ("score constant.csv graph.dot", "column 'B' is constant", "--exclude"),
    "copied column": ("learn copy.csv", "'D' is a copy of 'A'", "leave one out with --exclude"),
    "sum of columns": ("learn sum.csv", "is a linear combination of", "leave one of them out"),
    "same name twice": ("learn names.csv", "column name 'A'", "rename"),
    "row too long": ("learn long.csv", "long.csv, line 32", "correct the line"),
    "row too short": ("learn short.csv", "short.csv, line 32", "correct the line"),
    "wrong encoding": ("learn latin.csv", "latin.csv is not UTF-8", "save it with UTF-8"),
    "binary file": ("learn binary.csv", "binary.csv holds binary data", "give a CSV"),
    "spreadsheet": ("learn table.xlsx", "cannot read table.xlsx as a spreadsheet", "save it as CSV"),
    "no Parquet": ("learn table.parquet", "table.parquet", "not a parquet file"),
    "no gzip": ("learn table.csv.gz", "table.csv.gz", "Not a gzipped file"),
    "folder for a table": ("learn folder", "the folder folder has no CSV", "give another folder"),
    "no such table": ("learn nowhere.csv", "no file nowhere.csv", "check the path"),
    "mixed table by tests": ("learn mixed.csv --method pc", "the table is mixed", "--discretize"),
    "kind that is none": ("learn mixed.csv --kind B=nominal", "expected --kind to be one of", "'continuous'"),
    "kind of no column": ("learn mixed.csv --kind Q=discrete", "unknown column 'Q'", "there are: 'A', 'B'"),
    "words as numbers": ("learn mixed.csv --kind B=continuous", "column 'B' cannot be continuous", "--exclude"),
    "cut of no column": ("learn mixed.csv --discretize Q=quantile", "unknown column 'Q'", "there are: 'A', 'B'"),
    "exclude of no column": ("learn good.csv --exclude Q", "unknown column 'Q'", "there are: 'A', 'B', 'C'"),
    "not positive definite": ("learn wrong_covariance.csv --covariance 100", "positive definite", "--missing em"),
    "not square": ("learn good.csv --covariance 100", "covariance of shape (3, 3)", "one row and one column for each"),
    "covariance without rows": ("learn covariance.csv --covariance 1", ">= 2", "change the option"),
    "missing level of numbers": ("learn missing.csv --missing level", "is continuous", "--missing em"),
    "empty column": ("learn nothing.csv --missing em", "column 'B' has no value at all", "--exclude B"),
    "too few rows": ("learn few.csv", "2 rows are too few", "give more rows"),
    "empty table to the doctor": ("doctor empty.csv", "empty.csv is empty", "give a header row"),
    # options about the table
    "unknown column": ("learn good.csv --columns A,Q", "unknown column 'Q'", "there are: 'A', 'B', 'C'"),
    "column twice": ("learn good.csv --columns A,A", "'A' more than once", "list each column once"),
    "unknown kind": ("learn good.csv --kind odd", "--kind", "'continuous', 'discrete'"),
    "unknown way to cut": ("learn good.csv --discretize odd", "--discretize", "'quantile', 'interval'"),
    "one bin": ("learn good.csv --discretize quantile --bins 1", "but got 1", "--bins to be a whole number >= 2"),
    "unknown way with gaps": ("learn good.csv --missing odd", "--missing", "'error', 'drop'"),
    # the score
    "unknown score": ("score good.csv graph.dot --score bicc", "unknown score 'bicc'", "did you mean 'bic'?"),
    "negative penalty": ("score good.csv graph.dot --score -1", "got -1.0", "a penalty >= 0"),
    "penalty that is no number": ("learn good.csv --penalty nan", "got nan", "a penalty >= 0"),
    "penalty beyond all gains": ("learn good.csv --penalty 1e308", "got 1e+308", "choose a lower one"),
    "discrete score of numbers": ("learn good.csv --score bdeu", "'bdeu' needs discrete data", "'bge'"),
    "continuous score of levels": ("learn levels.csv --score bge", "'bge' needs continuous data", "'bdeu'"),
    "no sample size": ("learn levels.csv --score bdeu --ess 0", "--ess", "> 0"),
    "unknown convention": ("score good.csv graph.dot --convention odd", "'odd'", "'paper', 'bnlearn'"),
    # the graph
    "cyclic graph": ("score good.csv cyclic.dot", "A -> B -> C -> A", "remove or reverse"),
    "undirected graph": ("score good.csv undirected.dot", "'A' - 'B' is undirected", "direct it"),
    "unknown node": ("score good.csv stranger.dot", "'Z'", "there are: 'A', 'B', 'C'"),
    "malformed DOT": ("score good.csv broken.dot", "'broken.dot'", "correct that line"),
    "malformed JSON": ("score good.csv broken.json", "'broken.json'", "check the file"),
    "JSON without edges": ("score good.csv other.json", "'other.json'", "add both lists"),
    "malformed BIF": ("convert broken.bif out.dot", "'broken.bif'", "line 1"),
    "malformed GraphML": ("compare broken.graphml graph.dot", "'broken.graphml'", "check the file"),
    "empty graph file": ("compare empty.dot graph.dot", "'empty.dot'", "check how it was written"),
    "unknown suffix": ("compare graph.xyz graph.dot", "'graph.xyz'", "rename it"),
    "no such graph": ("compare nowhere.dot graph.dot", "'nowhere.dot'", "check the path"),
    "graphs over other nodes": ("compare graph.dot stranger.dot", "'Z'", "rename them"),
    "JSON with a long number": ("score good.csv digits.json", "'digits.json'", "thousands of digits"),
    "table of a graph without rows": ("score good.csv header_only.csv", "'header_only.csv'", "check the header"),
    # local scores
    "too many nodes": ("learn digits.jkl", "'digits.jkl'", "correct the line"),
    "too many parent sets": ("learn sets.jkl", "'sets.jkl'", "correct the line"),
    "too many parents": ("learn parents.jkl", "'parents.jkl'", "correct the line"),
    # knowledge
    "knowledge with a long number": ("learn good.csv --knowledge digits.toml", "digits.toml", "limit"),
    "knowledge that nests deep": ("learn good.csv --knowledge deep.toml", "deep.toml", "check the file"),
    "required and forbidden": ("learn good.csv --required A->B --forbidden A->B", "edge A -> B", "remove it from one"),
    "required cycle": ("learn good.csv --required A->B,B->C,C->A", "form a cycle", "remove one of them"),
    "required unknown column": ("learn good.csv --required A->Q", "'Q'", "there are: 'A', 'B', 'C'"),
    "edge without arrow": ("learn good.csv --required A-B", "got 'A-B'", "FROM->TO"),
    "edge to itself": ("learn good.csv --forbidden A->A", "A -> A", "remove it"),
    "column in two tiers": ("learn good.csv --tiers A;B,A", "column 'A'", "list it once"),
    "edge back in time": ("learn good.csv --tiers A;B --required B->A", "B -> A goes back", "remove the edge"),
    "too many required": ("learn good.csv --required A->C,B->C --max-parents 1", "'C'", "raise --max-parents"),
    "tiers twice": ("learn good.csv --knowledge tiers.toml --tiers A;B", "'tiers.toml'", "give them once"),
    "malformed knowledge": ("learn good.csv --knowledge broken.toml", "broken.toml", "Invalid value"),
    "unknown knowledge": ("learn good.csv --knowledge key.toml", "'requird'", "did you mean 'required'?"),
    "knowledge of another shape": ("learn good.csv --knowledge shape.toml", "got 'A'", "a pair (from, to)"),
    "no knowledge file": ("learn good.csv --knowledge nowhere.toml", "nowhere.toml", "got none; check the path"),
    # the method
    "unknown method": ("learn good.csv --method exakt", "unknown method 'exakt'", "did you mean 'exact'?"),
    "option of another method": ("learn good.csv --method hc --n-best 2", "'hc' has no --n-best", "it has --start"),
    "unknown option": ("learn good.csv --alpha 0.1", "'auto' has no --alpha", "it has --device"),
    "option without value": ("learn good.csv --method pc --alpha", "--alpha", "dagopt --help"),
    "level beyond 1": ("learn good.csv --method pc --alpha 2", "--alpha to be a number between 0 and 1", "0.05"),
    "cyclic start": ("learn good.csv --method hc --start cyclic.dot", "A -> B -> C -> A", "remove or reverse"),
    "negative seed": ("learn good.csv --method hc --seed -1", "--seed", ">= 0"),
    "no class": ("learn good.csv --n-best 0", "--n-best", ">= 1"),
    "no memory": (
        "learn good.csv --method exact --memory-limit 10",
        "memory limit is 10 bytes",
        "choose fewer --columns",
    ),
    "memory in words": ("learn good.csv --memory-limit lots", "--memory-limit", "such as '8GB'"),
    "no time": ("learn good.csv --time-limit 0", "--time-limit", "> 0"),
    "no thread": ("learn good.csv --jobs 0", "--jobs", ">= 1"),
    "unknown device": ("learn good.csv --device odd", "--device", "'auto', 'cpu', 'gpu'"),
    "negative limit": ("learn good.csv --max-parents -1", "--max-parents", "dagopt learn --help"),
    "limit in words": ("doctor good.csv --max-parents two", "--max-parents", "dagopt doctor --help"),
    # what is written
    "file for a folder": ("learn good.csv --out good.csv", "'good.csv'", "choose another folder"),
    "folder in a file": ("learn good.csv --out good.csv/deep", "'good.csv/deep'", "choose another folder"),
    "unwritable folder": ("learn good.csv --out /proc/no/such", "'/proc/no/such'", "choose another folder"),
    "unknown format": ("learn good.csv --out new --format docx", "graph format 'docx'", "there are: 'dot'"),
    "format without folder": ("learn good.csv --format dot", "--format dot", "add --out"),
    "numbers as BIF": ("learn good.csv --out new --format bif", "--format bif", "choose dot"),
    "class as BIF": ("learn levels.csv --method pc --out new --format bif", "method 'pc'", "choose dot"),
    "data without suffix": ("simulate --out data", "'data'", "rename it"),
    "data in no folder": ("simulate --out no/data.csv", "no folder 'no'", "create it first"),
    "graph in no folder": ("simulate --out data.csv --graph no/g.dot", "no folder 'no'", "create it first"),
    "graph, but no data": ("simulate --out data.docx --graph g.dot", "'data.docx'", "rename it"),
    "one file for two": ("simulate --out data.csv --graph data.csv", "'data.csv'", "give two names"),
    "BIF without tables": ("convert graph.dot out.bif", "'out.bif'", "--data data.csv"),
    "tables of numbers": ("convert graph.dot out.bif --data good.csv", "good.csv", "discretize them"),
    "tables elsewhere": ("convert graph.dot out.dot --data levels.csv", "out.dot", "name it *.bif"),
    "essential graph of a cycle": ("convert cyclic.dot out.dot --essential", "A -> B -> C -> A", "remove or reverse"),
    "unknown target format": ("convert graph.dot out.dot --to odd", "format 'odd'", "there are: 'dot'"),
    # the rest of the command line
    "one node": ("simulate --nodes 1 --out data.csv", "--nodes", ">= 2"),
    "no row": ("simulate --samples 0 --out data.csv", "--samples", ">= 1"),
    "degree too high": ("simulate --degree 100 --out data.csv", "degree", "from 0 to 9.5"),
    "unknown network": ("networks alram", "'alram'", "did you mean 'alarm'?"),
    "unknown command": ("lern good.csv", "'lern'", "dagopt --help"),
    "no such flag": ("learn good.csv --methd hc", "--methd", "--method"),
    "argument left out": ("learn", "'DATA'", "dagopt learn --help"),
    "no resample": ("learn good.csv --bootstrap 0", "--bootstrap", "greater than or equal to 1"),
}

# Findings are what the doctor is for: exit code 1, and all of it on standard output.
FINDINGS = {
    "missing cell": ("missing.csv", "missing values in column 'B'", "--missing drop"),
    "infinite cell": ("inf.csv", "column 'B' has 1 infinite values", "--exclude"),
    "number too large": ("huge.csv", "column 'B' has the value 1e+308", "rescale"),
    "constant column": ("constant.csv", "column 'B' is constant", "--exclude"),
    "copied column": ("copy.csv", "'D' is a copy of 'A'", "--exclude"),
    "sum of columns": ("sum.csv", "is a linear combination of", "--exclude"),
    "empty column": ("nothing.csv", "missing values in column 'B'", "--missing"),
    "too few rows": ("few.csv", "2 rows are too few", "more rows"),
}


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compile the kernels beforehand, as the first run on a machine says that it does so."""
    from dagopt.learning.learning import learn

    learn({"A": A, "B": B}, progress=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with all the files, and work there."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(folder):
    """Return every path below a folder with its content."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize(("command", "thing", "remedy"), CASES.values(), ids=CASES)
def test_bad_input_is_one_clear_line(folder, capsys, command, thing, remedy):
    """The line names the thing and the remedy, the exit code is 2, and no file is made or changed."""
    before = listing(folder)
    assert run(command.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("dagopt: ")
    assert thing in line
    assert remedy in line
    assert listing(folder) == before


@pytest.mark.parametrize(("name", "thing", "remedy"), FINDINGS.values(), ids=FINDINGS)
def test_the_doctor_finds_it(folder, capsys, name, thing, remedy):
    """The finding and its remedy are printed, for people and for machines, with exit code 1."""
    assert run(["doctor", name]) == 1
    said = capsys.readouterr()
    assert thing in said.out
    assert remedy in said.out
    assert said.err == ""
    assert run(["doctor", name, "--json"]) == 1
    assert any(thing in finding["message"] for finding in json.loads(capsys.readouterr().out)["findings"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("two\n", "line 1: expected the number of nodes"),
        ("1\nA 2\n-1.5 0\n", "expected 2 parent sets for 'A'"),
        ("1\nA 1\n-1.5 1 B\n", "line 3: unknown parent 'B'"),
        ("2\nA 1\n-1.5 0\nB 1\nx 0\n", "line 5: expected a score"),
    ],
)
def test_malformed_local_scores_are_refused(tmp_path, text, message):
    """A .jkl file that is broken is refused with the line that is wrong."""
    path = tmp_path / "broken.jkl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"broken\.jkl") as caught:
        read_jkl(path)
    assert message in str(caught.value)


def test_there_are_enough_kinds():
    """The table covers at least the twenty-five kinds that were promised, each once."""
    assert len(CASES) >= 25
    assert len({command for command, _, _ in CASES.values()}) == len(CASES)
