"""Tests of the public names: they work as they are documented, and cost nothing until they are used."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dagopt

NOT_IMPORTED_AT_ONCE = ("numba", "pandas", "matplotlib", "sklearn", "scipy", "networkx")
NEEDS_MORE = ("dagopt.methods.exact.subset_dp_gpu", "dagopt.solvers")  # CuPy and solvers, which need not be installed


def modules():
    """Return the names of all modules of the package that can be imported anywhere."""
    found = [module.name for module in pkgutil.walk_packages(dagopt.__path__, "dagopt.")]
    return [name for name in found if not name.startswith(NEEDS_MORE) and not name.endswith("__main__")]


def test_importing_the_package_is_cheap():
    """Large packages are loaded when they are needed, not before."""
    code = f"import sys, dagopt, dagopt.cli; print([name for name in {NOT_IMPORTED_AT_ONCE} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_a_small_table_is_learned_without_what_it_does_not_need(asia, tmp_path):
    """The command reads a table, learns, checks the directions and shows them with pandas alone."""
    asia.data.to_csv(tmp_path / "data.csv", index=False)
    absent = tuple(name for name in NOT_IMPORTED_AT_ONCE if name != "pandas") + ("joblib",)
    code = (
        f"import sys; from dagopt.cli import run; run(['learn', 'data.csv'])\n"
        f"print([name for name in {absent} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "directed" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


def test_every_public_name_is_there():
    """Each name of ``__all__`` can be had, is listed by ``dir``, and others are refused."""
    for name in dagopt.__all__:
        assert getattr(dagopt, name) is not None
        assert name in dir(dagopt)
    with pytest.raises(AttributeError, match="lern"):
        _ = dagopt.lern


@pytest.mark.parametrize("name", [name for name in dagopt.__all__ if name != "datasets"])
def test_every_public_name_is_documented(name):
    """Each has a docstring that begins with a sentence."""
    first = (inspect.getdoc(getattr(dagopt, name)) or "").splitlines()[0]
    assert first.endswith((".", ":"))


def public_members():
    """Return (name, object) of every public name, and of the methods and properties that their classes define."""
    for name in dagopt.__all__:
        thing = getattr(dagopt, name)
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for base in (one for one in thing.__mro__ if one.__module__.startswith("dagopt")):
                for attribute, member in vars(base).items():
                    documented = callable(member) or isinstance(member, property | cached_property | classmethod)
                    if documented and not attribute.startswith(("_", "set_")) and not inspect.isclass(member):
                        yield f"{name}.{attribute}", getattr(thing, attribute, member)


def test_every_public_name_has_an_example():
    """Functions, classes, their methods and properties; but for the inner parts of ``Statistics``."""
    inner = (
        "of_columns",
        "most_kept",
        "starts",
        "most_levels",
        "without_rows",
        "moments_of",
        "as_part_of",
        "with_kinds",
    )
    without = [name for name, thing in public_members() if ">>>" not in (inspect.getdoc(thing) or "")]
    assert set(without) == {f"Statistics.{name}" for name in (*inner, "with_kinds", "level_counts", "given_columns")}


def with_examples():
    """Return the names of those that have examples; to look for them with doctest takes 14 ms per module."""
    return [name for name in modules() if ">>>" in Path(importlib.util.find_spec(name).origin).read_text("utf-8")]


def test_every_module_can_be_imported():
    """Also those that nothing imports before they are needed."""
    assert all(importlib.import_module(name).__doc__ for name in modules())


@pytest.mark.parametrize("name", with_examples())
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    """The examples of a module print what they say; what they write goes elsewhere."""
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    cached = {
        f"{cls}.{attribute}": one.__doc__
        for cls, found in vars(module).items()
        if inspect.isclass(found) and found.__module__ == name
        for attribute, one in vars(found).items()
        if isinstance(one, cached_property) and one.__doc__
    }
    monkeypatch.setattr(module, "__test__", cached, raising=False)  # doctest does not find cached properties
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


@pytest.fixture(scope="module")
def asia():
    """Return data of a bundled network and its DAG."""
    return dagopt.datasets.load("asia", n_samples=500, random_state=1)


@pytest.mark.parametrize("form", ["networkx", "edges", "positions", "array", "frame", "file", "model string"])
def test_score_takes_any_dag(asia, form, tmp_path):
    """A DAG may be a networkx graph, edges, an adjacency array, a frame, a file or a model string."""
    data, dag = asia
    names = list(data.columns)
    array = nx.to_numpy_array(dag, nodelist=names).astype(int)
    dagopt.write_graph(dag, tmp_path / "dag.dot")
    parents = {name: ":".join(dag.predecessors(name)) for name in names}
    forms = {
        "networkx": dag,
        "edges": list(dag.edges),
        "positions": [(int(i), int(j)) for i, j in np.argwhere(array)],
        "array": array,
        "frame": pd.DataFrame(array, index=names, columns=names),
        "file": tmp_path / "dag.dot",
        "model string": "".join(f"[{name}{'|' if own else ''}{own}]" for name, own in parents.items()),
    }
    assert dagopt.score(data, forms[form], score="bic") == pytest.approx(dagopt.score_table(data, dag)["score"].sum())


def test_scores_by_name_and_by_penalty(asia):
    """The penalty of BIC by number is BIC, no penalty is the log-likelihood, and the names are those documented."""
    data, dag = asia
    assert dagopt.score(data, dag, 0.5 * np.log(500)) == pytest.approx(dagopt.score(data, dag))
    assert dagopt.score(data, dag, 0) == pytest.approx(dagopt.score(data, dag, "loglik"))
    assert dagopt.score(data, dag, 1.0) == pytest.approx(dagopt.score(data, dag, "aic"))
    assert dagopt.score(data, dag, "bdeu", equivalent_sample_size=10) < 0
    numbers, true = dagopt.simulate(5, 100, 1.0, random_state=0)
    assert dagopt.score(numbers, true, "bge") < 0
    assert dagopt.score(numbers, true, convention="bnlearn") != dagopt.score(numbers, true)


def test_compare():
    """A comparison has the three figures of the paper and the edges behind them."""
    true = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "d")])
    same = dagopt.compare(true, true)
    assert (same.shd, same.precision, same.recall) == (0, 1.0, 1.0)
    found = dagopt.compare([("a", "c"), ("b", "c")], true)
    assert found.shd == 1
    assert found.precision == 1.0
    assert found.recall == pytest.approx(2 / 3)
    assert list(found.missing) == [("c", "d")]


def test_simulate():
    """The arguments are those that are promised, by position, and a seed gives the same draw."""
    data, dag = dagopt.simulate(10, 50, 1.5, 3)
    assert data.shape == (50, 10)
    assert nx.is_directed_acyclic_graph(dag)
    again = dagopt.simulate(n_nodes=10, n_samples=50, degree=1.5, random_state=3)
    pd.testing.assert_frame_equal(data, again.data)
    assert nx.utils.graphs_equal(dag, again.dag)


def test_datasets(asia):
    """Bundled networks give data and networks by name."""
    data, dag = asia
    assert data.shape == (500, 8)
    assert set(dag) == set(data.columns)
    network = dagopt.datasets.load_network("alarm")
    assert (len(network.names), network.dag.number_of_edges()) == (37, 46)
    assert {"asia", "alarm", "lucas", "insurance", "gaussian_test"} <= set(dagopt.datasets.names())


def test_constraints_hold_in_learn(asia):
    """Required and forbidden edges, tiers and the limit hold in what is learned."""
    known = dagopt.Constraints(
        required=[("smoke", "xray")], forbidden=[("smoke", "lung")], tiers=[["asia"], ["dysp"]], max_parents=2
    )
    result = dagopt.learn(asia.data, constraints=known)
    assert result.dag.has_edge("smoke", "xray")
    assert not result.dag.has_edge("smoke", "lung")
    assert not result.dag.has_edge("dysp", "asia")
    assert max(degree for _, degree in result.dag.in_degree()) <= 2


def test_learn(asia):
    """A result has the graphs, the score, what is proven, and words about it."""
    result = dagopt.learn(asia.data)
    assert isinstance(result, dagopt.Result)
    assert nx.is_directed_acyclic_graph(result.dag)
    assert set(result.cpdag) == set(asia.data.columns)
    assert result.adjacency.shape == result.cpdag_adjacency.shape == (8, 8)
    assert result.score == pytest.approx(dagopt.score(asia.data, result.dag))
    assert result.score <= result.bound <= result.score + 1e-6
    assert (result.gap, result.scope, result.status) == (pytest.approx(0, abs=1e-6), "all DAGs", "optimal")
    assert result.score >= dagopt.score(asia.data, asia.dag)
    assert "proven optimal" in result.summary()


def test_examine():
    """The doctor's findings can be had from the library."""
    frame = pd.DataFrame({"a": np.arange(30.0) % 7, "b": [1.5] * 30, "c": np.arange(30.0) ** 2 % 11})
    diagnosis = dagopt.examine(frame)
    assert [finding.code for finding in diagnosis.errors] == ["constant"]
    assert diagnosis.errors[0].columns == ("b",)


def test_graphs_are_read_and_written(tmp_path, asia):
    """A graph that is written is read back the same."""
    dagopt.write_graph(asia.dag, tmp_path / "dag.json")
    back = dagopt.read_graph(tmp_path / "dag.json")
    assert isinstance(back, dagopt.Graph)
    assert set(back.to_networkx().edges) == set(asia.dag.edges)


def test_tables_are_made_once(asia):
    """A table can be made of data, and used in place of it."""
    table = dagopt.as_table(asia.data)
    assert table.kind == "discrete"
    assert dagopt.score(table, asia.dag) == dagopt.score(asia.data, asia.dag)
    scorer = dagopt.make_score(table, "bdeu")
    assert scorer.n_samples == 500


def test_errors_are_of_one_family():
    """What is raised on purpose is a DagoptError, and bad input a ValueError as well."""
    assert issubclass(dagopt.InputError, dagopt.DagoptError)
    assert issubclass(dagopt.InputError, ValueError)
    with pytest.raises(dagopt.InputError):
        dagopt.learn("nowhere.csv")
