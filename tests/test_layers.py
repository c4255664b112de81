"""Layers import downwards only, and numba, the solvers, CuPy and print each stay in their place.

The source is parsed, not imported, so imports inside functions and under TYPE_CHECKING count as well.
"""

import ast
from pathlib import Path

import pytest

from benchmarks.rooms import PACKAGE, imports_of, room_of, sources, target

# Lowest first. A room is a folder or a module at the top of the package; a module imports from its own room and from
# rows above its own. The rooms of a row do not know each other. "dagopt" is the front, dagopt/__init__.py.
LAYERS = [
    ["errors", "arrays", "by_name", "spreadsheets", "pace"],
    ["bits", "memory", "deadline"],
    ["files", "options"],
    ["schema"],
    ["kernels"],
    ["data"],
    ["graph", "verifier"],
    ["networks"],
    ["scores"],
    ["problem", "progress"],
    ["workers", "results"],
    ["families"],
    ["lp"],
    ["integer"],
    ["methods"],
    ["learning"],
    ["confidence"],
    ["sklearn", "report"],
    ["dagopt"],
    ["studio"],
    ["cli"],
]
HEIGHT = {part: height for height, row in enumerate(LAYERS) for part in row}

HOMES = {
    "numba": ("kernels/",),
    "highspy": ("lp/highs.py",),
    "pyscipopt": ("lp/cluster_ip.py", "integer/scip.py", "methods/cg_dca/minlp_program.py"),
    "gurobipy": ("integer/gurobi.py",),
    "cupy": ("methods/exact/subset_dp_gpu.py",),
}
PRINTERS = ("cli/",)


def layer_violations(path: str, text: str) -> list[str]:
    """Return the imports of a module that do not go down."""
    own = room_of(path)
    if own not in HEIGHT:
        return [f"{path}: {own!r} has no place in LAYERS"]
    found = []
    for module, line in imports_of(path, text, set(HEIGHT)):
        part = target(module)
        if part not in (None, own) and HEIGHT.get(part, len(LAYERS)) >= HEIGHT[own]:
            found.append(f"{path}:{line}: {own} may not import {part}")
    return found


def wall_violations(path: str, text: str) -> list[str]:
    """Return the imports of numba, a solver or CuPy outside their home."""
    return [
        f"{path}:{line}: {module.split('.')[0]} belongs in {', '.join(home)}"
        for module, line in imports_of(path, text, set(HEIGHT))
        if (home := HOMES.get(module.split(".")[0])) and not path.startswith(home)
    ]


def print_violations(path: str, text: str) -> list[str]:
    """Return the calls of ``print`` in modules that are no command."""
    calls = [node for node in ast.walk(ast.parse(text if "print" in text else "")) if isinstance(node, ast.Call)]
    printed = [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]
    return [f"{path}:{line}: print" for line in printed if not path.startswith(PRINTERS)]


def shadow_violations(path: str, text: str, siblings: set[str]) -> list[str]:
    """Return the names that a package imports over a module of its own, which then cannot be reached."""
    if not path.endswith("__init__.py"):
        return []
    package = ".".join(["dagopt", *Path(path).parts[:-1]])
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return [
        f"{path}:{node.lineno}: {alias.name} hides the module {package}.{alias.name}"
        for node in found
        for alias in node.names
        if node.module != package and (alias.asname or alias.name) in siblings
    ]


@pytest.mark.parametrize("violations", [layer_violations, wall_violations, print_violations])
def test_every_module_keeps_its_place(violations):
    """No module of the package breaks the rule."""
    assert [found for path, text in sources().items() for found in violations(path, text)] == []


def test_no_package_hides_a_module():
    """What a package exports never takes the name of one of its modules."""
    for path, text in sources().items():
        siblings = {file.stem for file in (PACKAGE / path).parent.iterdir()}
        assert shadow_violations(path, text, siblings) == []


def test_the_whole_package_is_looked_at():
    """The table is about this package: its parts are found, and each has one place."""
    assert {"__init__.py", "cli/__init__.py", "graph/dag.py", "kernels/counts/counting.py"} <= set(sources())
    assert len(HEIGHT) == sum(map(len, LAYERS))


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("data/cells.py", "from dagopt.graph.dag import Graph", "data/cells.py:1: data may not import graph"),
        ("data/cells.py", "import os\nimport dagopt.graph.dag as d", "data/cells.py:2: data may not import graph"),
        (
            "data/cells.py",
            "def f():\n    from dagopt.scores import score",
            "data/cells.py:2: data may not import scores",
        ),
        (
            "data/cells.py",
            "if TYPE_CHECKING:\n    from dagopt import graph",
            "data/cells.py:2: data may not import graph",
        ),
        ("data/cells.py", "from dagopt import learn", "data/cells.py:1: data may not import dagopt"),
        ("data/cells.py", "import dagopt", "data/cells.py:1: data may not import dagopt"),
        ("data/cells.py", "from .. import graph", "data/cells.py:1: data may not import graph"),
        ("data/cells.py", "from ..graph.dag import Graph", "data/cells.py:1: data may not import graph"),
        ("data/cells.py", "from dagopt.strange import x", "data/cells.py:1: data may not import strange"),
        ("data/cells.py", "import_module('dagopt.cli')", "data/cells.py:1: data may not import cli"),
        ("data/deep/er.py", "from ...graph import dag", "data/deep/er.py:1: data may not import graph"),
        ("errors.py", "from dagopt.files import read_text", "errors.py:1: errors may not import files"),
        ("graph/dag.py", "from dagopt.networks.bif import parse_bif", "graph may not import networks"),
        ("report/html.py", "from dagopt.cli import app", "report/html.py:1: report may not import cli"),
        ("results/result.py", "from dagopt.report.html import write_report", "results may not import report"),
        ("results/result.py", "def f():\n    from dagopt.learning import posing", "results may not import learning"),
        ("strange.py", "", "strange.py: 'strange' has no place in LAYERS"),
        ("lp/highs.py", "from dagopt.integer.scip import x", "lp may not import integer"),
        ("families/families.py", "from dagopt.lp.relaxation import x", "families may not import lp"),
        ("integer/recursion.py", "from dagopt.methods.auto import x", "integer may not import methods"),
        (
            "methods/orders/search.py",
            "def f():\n    import dagopt.confidence.bootstrap",
            "methods may not import confidence",
        ),
    ],
)
def test_a_wrong_layer_is_found(path, text, message):
    """Every way to write an import upwards or sideways is reported with its line."""
    (found,) = layer_violations(path, text)
    assert message in found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("networks/bif.py", "from dagopt.graph.formats.bif_blocks import x\nfrom dagopt.networks.checks import y"),
        ("graph/dag.py", "from . import order\nfrom .order import is_acyclic\nfrom ..errors import InputError"),
        ("report/html.py", "from dagopt import __version__"),
        ("cli/demo.py", "from dagopt.networks import datasets\nimport numpy, networkx.algorithms"),
        ("methods/cg_dca/kelley.py", "from dagopt.lp import highs\nfrom dagopt.lp.highs import LinearProgram"),
        ("integer/scip.py", "from dagopt.families.families import Families\nfrom . import gurobi"),
        ("cli/show.py", "import dagopt\nfrom dagopt import demo\nimport_module(name)"),
        ("__init__.py", "from dagopt.learning.learning import learn\nimport_module('dagopt.networks.datasets')"),
    ],
)
def test_imports_downwards_are_free(path, text):
    """What goes down, stays in its package or comes from elsewhere is no violation."""
    assert layer_violations(path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "n_found"),
    [
        ("scores/base.py", "import numba", 1),
        ("scores/base.py", "def f():\n    from numba.core import types", 1),
        ("kernels/counts/counting.py", "from numba import njit", 0),
        ("methods/exact/exact.py", "import highspy, gurobipy\nimport_module('pyscipopt')", 3),
        ("lp/highs.py", "import highspy", 0),
        ("methods/exact/gpu.py", "import cupy as cp\nimport cupyx", 1),
        ("methods/exact/subset_dp_gpu.py", "import cupy as cp", 0),
    ],
)
def test_a_breach_of_a_wall_is_found(path, text, n_found):
    """A package with a home is reported elsewhere, however it is imported."""
    assert len(wall_violations(path, text)) == n_found


def test_a_print_is_found():
    """A call of print is reported; the print of a console, or in the commands, is not."""
    assert print_violations("data/table.py", "def f():\n    print('x')\nconsole.print('x')") == [
        "data/table.py:2: print"
    ]
    assert print_violations("cli/show.py", "print('x')") == print_violations("cli/demo.py", "print('x')") == []


def test_a_hidden_module_is_found():
    """A function exported under the name of its module is reported; the module itself is not."""
    siblings = {"__init__", "cpdag", "dag"}
    assert len(shadow_violations("graph/__init__.py", "from dagopt.graph.cpdag import cpdag, x", siblings)) == 1
    assert shadow_violations("graph/__init__.py", "from dagopt.graph import cpdag", siblings) == []
    assert shadow_violations("graph/dag.py", "from dagopt.graph.cpdag import cpdag", siblings) == []
