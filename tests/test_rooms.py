"""The picture of the rooms and the counts of the house, on small packages."""

from benchmarks import house
from benchmarks.rooms import cycles, picture, walls

TEXTS = {
    "__init__.py": "from dagopt.low import x",
    "low.py": "",
    "middle/__init__.py": "def f():\n    from dagopt.low import x",
    "middle/deep.py": "if TYPE_CHECKING:\n    from dagopt import high",
    "high.py": "from dagopt.middle import deep\nfrom dagopt import __version__\nimport dagopt.low",
}


def test_imports_in_functions_make_a_cycle():
    edges = walls(TEXTS)
    assert edges == {"dagopt": {"low"}, "low": set(), "middle": {"low", "high"}, "high": {"middle", "low"}}
    assert cycles(edges) == [["high", "middle"]]


def test_a_picture_leaves_out_what_lies_below():
    edges = walls(TEXTS | {"middle/deep.py": ""})
    assert cycles(edges) == []
    assert picture(edges).splitlines()[1:] == [
        " 2  high         middle",
        " 1  dagopt       low",
        " 1  middle       low",
        " 0  low",
    ]


def test_what_is_counted(tmp_path):
    """One long function, one with many arguments, one store, one LP, one name twice."""
    package = tmp_path / "src" / "dagopt"
    for folder in ("a", "b"):
        (package / folder).mkdir(parents=True)
        (package / folder / "same.py").write_text("MOST_SETS = 600_000\n# why\n")
    long = "def f():\n" + "    x = 1\n" * 60
    wide = "def g(a, b, c, d, e, f, g, h, *, i):\n    return Result(a)\n"
    classes = "class Families:\n    pass\nclass Relaxation:\n    def f(self):\n        self.lp = LinearProgram()\n"
    (package / "c.py").write_text(long + wide + classes)
    found = house.counts(tmp_path)
    assert found["rooms that are folders"] == "2"
    assert found["modules"] == "3"
    assert found["file names shared"] == "1, by 2 modules"
    assert (found["functions over 60 lines"], found["functions with more than 8 arguments"]) == ("1", "1")
    assert (found["stores of families"], found["LPs over families"], found["priced roots"]) == ("1", "1", "0")
    assert (found["places that build a Result"], found["numeric constants"]) == ("1", "2")
    assert found["lines that are comments"] == "2"
    assert found["public kernels with a twin"] == "no list"
