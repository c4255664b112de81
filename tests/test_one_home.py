"""A new method, score or option has one home: ``learn``, the command and the estimators find it there."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, fields
from types import ModuleType

import numpy as np
import pytest
import typer

import dagopt
from dagopt import cli
from dagopt.data.data_options import DataOptions
from dagopt.errors import InputError
from dagopt.graph.dag import Graph
from dagopt.graph.formats import FORMATS, Format
from dagopt.methods.method_options import solver
from dagopt.methods.registry import METHODS, Method
from dagopt.options import Options, option, whole
from dagopt.results.answer import Answer
from dagopt.scores.bdeu import BDeuScore
from dagopt.scores.build import SCORES, NamedScore
from dagopt.scores.score_options import ScoreOptions
from dagopt.sklearn import StructureLearner
from dagopt.sklearn.structure_learner import estimator

TAKE_DATA = ("learn", "as_table", "examine", "fit", "score", "score_table", "bootstrap", "path", "edge_posterior")
COMMANDS = ("learn", "doctor", "score", "fit", "explain", "bootstrap", "posterior", "path")


@dataclass(frozen=True)
class ToyOptions(Options):
    """Options of a toy."""

    depth: int = option(2, "How deep the toy looks.", whole(1))


@pytest.fixture
def toy(monkeypatch):
    """Register a method by its module and its entry in the registry, and nothing else."""

    @solver(ToyOptions)
    def solve_toy(problem, options, deadline, progress):
        dag = np.zeros((problem.n_nodes, problem.n_nodes), dtype=np.int8)
        notes = (f"depth {options.depth}",)
        return Answer("toy", dag, problem.score.total(dag), "converged", notes=notes)

    module = ModuleType("dagopt.methods.toy")
    module.solve_toy = solve_toy
    monkeypatch.setitem(sys.modules, "dagopt.methods.toy", module)
    monkeypatch.setitem(METHODS, "toy", Method("toy", "solve_toy", "a toy that joins nothing"))


@pytest.fixture(scope="module")
def data():
    """Return a small table of levels."""
    return dagopt.datasets.load("asia", n_samples=100, random_state=0).data


def test_a_method_is_a_module_and_an_entry(toy, data, tmp_path, capsys):
    """``learn``, the command and its help have it, with its options."""
    assert dagopt.learn(data, "toy", depth=3).notes[0] == "depth 3"
    with pytest.raises(InputError, match="depth= to be a whole number >= 1"):
        dagopt.learn(data, "toy", depth=0)
    data.to_csv(tmp_path / "data.csv", index=False)
    assert cli.run(["learn", str(tmp_path / "data.csv"), "-q", "--method", "toy", "--depth", "5"]) == 0
    assert "depth 5" in capsys.readouterr().out
    assert cli.run(["learn", "--help"]) == 0
    assert "a toy that joins nothing" in " ".join(capsys.readouterr().out.split())
    assert cli.run(["learn", "--method", "toy", "--help"]) == 0
    assert "How deep the toy looks." in capsys.readouterr().out


def test_an_estimator_is_a_class_with_fields(toy, data):
    """Its fields are the parameters, and the options of its method complete its docstring."""

    @estimator
    class Toy(StructureLearner):
        """A toy.

        {options}
        """

        method = "toy"
        depth: int = 2

    learner = Toy(depth=4).fit(data)
    assert learner.result_.notes[0] == "depth 4"
    assert learner.get_params() == StructureLearner().get_params() | {"depth": 4}
    assert "How deep the toy looks." in Toy.__doc__


def test_a_score_is_an_entry(data, monkeypatch):
    """A score in the registry is known by name wherever a score is named."""
    maker = {"discrete": lambda table, options, _: BDeuScore(table, 10 * options.equivalent_sample_size)}
    monkeypatch.setitem(SCORES, "bdeu10", NamedScore("BDeu with ten times the prior", maker))
    expected = dagopt.learn(data, "hc", score="bdeu", equivalent_sample_size=10.0)
    assert dagopt.learn(data, "hc", score="bdeu10").score == pytest.approx(expected.score)
    assert dagopt.HillClimbing(score="bdeu10").fit(data).score_ == pytest.approx(expected.score)


@pytest.mark.parametrize("name", TAKE_DATA)
def test_functions_take_every_option_of_data(name):
    """What takes data takes all their options, with the defaults of their one definition."""
    parameters = inspect.signature(getattr(dagopt, name)).parameters
    assert {one: parameters[one].default for one in DataOptions.defaults()} == DataOptions.defaults()


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_every_option_of_data(name):
    """Each is a flag with the text of its definition."""
    texts = {parameter.name: parameter.help for parameter in typer.main.get_command(cli.app).commands[name].params}
    for one in fields(DataOptions):
        assert texts[one.name].startswith(DataOptions.about(one).text)


def test_estimators_have_every_option_of_score_and_columns():
    """All but those about where data come from."""
    parameters = StructureLearner().get_params()
    wanted = {one.name for one in fields(DataOptions) if not DataOptions.about(one).of_source}
    renamed = {"transform": "transformed"}
    assert {renamed.get(name, name) for name in wanted | set(ScoreOptions.defaults())} <= set(parameters)


def test_a_graph_format_is_one_entry(monkeypatch, tmp_path):
    """Files, the commands and ``--format`` take a format that is only named in the registry."""

    def parse(text):
        names, edges = text.split("|")
        return Graph.from_edges(names.split(), [tuple(edge.split(">")) for edge in edges.split()])

    def render(graph):
        edges = [f"{graph.names[i]}>{graph.names[j]}" for i, j in zip(*np.nonzero(graph.adjacency), strict=True)]
        return f"{' '.join(graph.names)}|{' '.join(edges)}"

    monkeypatch.setitem(FORMATS, "toy", Format(parse, render, (".toy",)))
    graph = Graph.from_edges(["a", "b", "c"], [("a", "b"), ("c", "b")])
    dagopt.write_graph(graph, tmp_path / "graph.toy")
    assert (dagopt.read_graph(tmp_path / "graph.toy").adjacency == graph.adjacency).all()
    assert cli.run(["convert", str(tmp_path / "graph.toy"), str(tmp_path / "graph.dot")]) == 0
    dagopt.simulate(n_nodes=4, n_samples=50, random_state=0).data.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "out"
    assert cli.run(["learn", str(tmp_path / "data.csv"), "-q", "--out", str(out), "--format", "toy"]) == 0
    assert dagopt.read_graph(out / "graph.toy").n_nodes == 4
