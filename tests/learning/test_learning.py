"""Tests of ``learn``: what it takes, what it refuses, what it passes on."""

from __future__ import annotations

import gzip
import inspect
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.graph.constraints import Constraints
from dagopt.learning.learning import learn
from dagopt.methods.method_options import solver
from dagopt.methods.registry import METHODS, Method
from dagopt.options import Options, option, whole
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer


@pytest.fixture(scope="module")
def frame():
    """Return five continuous columns, each the sum of the one before and noise."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(rng.normal(size=(300, 5)).cumsum(axis=1), columns=list("abcde"))


@pytest.fixture(scope="module")
def levels(frame):
    """Return the same cut into two levels each."""
    return (frame > 0).astype(str)


# --- methods --------------------------------------------------------------------------------------------------


def test_auto_is_the_exact_method_while_it_fits(frame):
    """The default is proven."""
    result = learn(frame)
    assert (result.method, result.status) == ("exact", "optimal")
    assert result.score == learn(frame, "exact").score


@pytest.mark.parametrize("name, near", [("exakt", "exact"), ("mmch", "mmhc"), ("tabou", "tabu")])
def test_unknown_method_is_refused_with_the_nearest(frame, name, near):
    """A misspelt method is refused with the name that was probably meant."""
    with pytest.raises(dagopt.InputError, match=f"unknown method '{name}'; did you mean '{near}'"):
        learn(frame, name)


def test_unknown_method_is_refused_with_a_list(frame):
    """A name like no other is refused with those that there are."""
    with pytest.raises(dagopt.InputError, match="there are: 'auto', 'exact'"):
        learn(frame, "zzz")


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_learn_gives(name):
    """Every method's function takes the problem, the clock and the progress, and says what it is."""
    parameters = inspect.signature(METHODS[name].load()).parameters
    assert {"problem", "deadline", "progress"} <= parameters.keys()
    assert METHODS[name].about


@pytest.mark.parametrize("name", ["exact", "hc", "tabu", "pc", "mmhc"])
def test_methods_learn(frame, levels, name):
    """A method returns a graph over the columns of either kind of data, under its own name."""
    for data in (frame, levels):
        result = learn(data, name)
        assert result.method == name
        assert result.names == tuple("abcde")
        assert result.adjacency.shape == (5, 5)
        assert result.n_samples == 300
        assert result.seconds > 0
        assert result.adjacency.any()


@pytest.mark.parametrize("name", METHODS)
def test_unknown_option_is_refused(frame, name):
    """An option that the method does not have is refused by name."""
    with pytest.raises(dagopt.InputError, match=f"method '{name}'.*colour"):
        learn(frame, name, colour="red")


def test_errors_inside_a_method_are_not_hidden(frame, monkeypatch):
    """A TypeError of a method's own is passed on, and the progress is closed all the same."""
    closed = []

    class Own(NoProgress):
        def close(self):
            closed.append(1)

    @solver(Options)
    def broken(problem, options, deadline, progress):
        raise TypeError("a bug")

    monkeypatch.setattr(Method, "load", lambda self: broken)
    with pytest.raises(TypeError, match="a bug"):
        learn(frame, progress=Own())
    assert closed == [1]


# --- scores ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"score": "aic"}, {"score": 2.5}, {"convention": "bnlearn"}, {"score": "bge", "equivalent_sample_size": 2}],
)
def test_score_options_reach_the_score(frame, options):
    """The result's score is that of ``dagopt.score`` with the same options."""
    result = learn(frame, "exact", **options)
    assert result.score == pytest.approx(dagopt.score(frame, result.dag, **options), rel=1e-12)


def test_score_of_the_wrong_kind_is_refused(frame, levels):
    """BDeu wants levels and BGe numbers."""
    with pytest.raises(dagopt.InputError, match="bdeu"):
        learn(frame, score="bdeu")
    with pytest.raises(dagopt.InputError, match="bge"):
        learn(levels, score="bge")


# --- data -----------------------------------------------------------------------------------------------------


def test_data_options_reach_the_table(frame):
    """Columns can be chosen and cut into levels on the way in."""
    result = learn(frame, columns=["d", "a", "b"], discretize="quantile", bins=2)
    assert result.names == ("d", "a", "b")
    assert "multinomial" in result.score_label


def test_doctor_errors_stop(frame):
    """A constant column stops with the finding and its remedy."""
    with pytest.raises(dagopt.InputError, match=r"'f' is constant.*leave it out"):
        learn(frame.assign(f=1.0))


def test_doctor_warnings_are_in_the_result(frame):
    """Columns that nearly determine each other are learned from, and the result carries the warning."""
    noise = np.random.default_rng(0).normal(size=300)
    result = learn(frame.assign(f=frame["a"] + 1e-4 * noise))
    assert result.findings
    assert {finding.severity for finding in result.findings} == {"warning"}
    assert {"a", "f"} <= set(result.findings[0].columns)
    assert result.findings[0].message in result.summary()
    assert not learn(frame).findings


# --- knowledge ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exact", "hc", "tabu", "mmhc"])
def test_knowledge_is_honoured(frame, name):
    """The learned DAG has what is required, nothing that is forbidden, and keeps to tiers and limits."""
    known = Constraints(required=[("e", "a")], forbidden=[("b", "c"), ("c", "b")], tiers=[["d"], ["c"]], max_parents=2)
    result = learn(frame, name, constraints=known)
    assert known.resolve(result.names).allows_dag(result.adjacency)
    assert result.dag.has_edge("e", "a")


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_max_parents_is_honoured(frame, limit):
    """No node has more parents than the option says."""
    result = learn(frame, score="loglik", max_parents=limit)
    assert result.adjacency.sum(axis=0).max() == limit
    assert result.scope == f"parent sets of size <= {limit}"


@pytest.mark.parametrize("in_constraints, option", [(3, 1), (1, 3)])
def test_lower_of_two_limits_counts(frame, in_constraints, option):
    """A limit in the constraints and one as an option both hold."""
    known = Constraints(max_parents=in_constraints)
    result = learn(frame, score="loglik", constraints=known, max_parents=option)
    assert result.adjacency.sum(axis=0).max() == 1


def test_limit_by_column_and_as_an_option_is_refused(frame):
    """A limit by column and another for all is refused rather than guessed at."""
    with pytest.raises(dagopt.InputError, match="max_parents= is given twice"):
        learn(frame, constraints=Constraints(max_parents={"a": 1}), max_parents=2)


def test_unknown_column_in_constraints_is_refused(frame):
    """Knowledge about a column that is not there is refused."""
    with pytest.raises(dagopt.InputError, match="unknown column in the required edges: 'x'"):
        learn(frame, constraints=Constraints(required=[("x", "a")]))


# --- the clock ------------------------------------------------------------------------------------------------


def test_time_limit_is_checked(frame):
    """A limit that is not positive is refused before anything is done."""
    with pytest.raises(dagopt.InputError, match="time_limit"):
        learn(frame, time_limit=0)


def test_method_gets_the_time_limit(frame, monkeypatch):
    """The method is given a clock with the limit and all options that are not of the data."""
    seen = {}

    @dataclass(frozen=True)
    class Depth(Options):
        depth: int = option(0, "How deep.", whole(0))

    @solver(Depth)
    def stand_in(problem, options, deadline, progress):
        seen.update(depth=options.depth, limit=deadline.time_limit)
        return Answer("stand-in", np.zeros((5, 5), dtype=np.int8), None, "converged")

    monkeypatch.setattr(Method, "load", lambda self: stand_in)
    result = learn(frame, time_limit=7, missing="drop", depth=3)
    assert seen == {"limit": 7.0, "depth": 3}
    assert (result.method, result.n_samples) == ("stand-in", 300)


def test_a_file_of_local_scores_has_its_best_dag(tmp_path):
    """A .jkl file of all local scores gives the optimum of the data, and of the constraints, with its scope."""
    from dagopt.data.table import as_table
    from dagopt.deadline import Deadline
    from dagopt.families.jkl import write_jkl
    from dagopt.families.listing import candidate_pool
    from dagopt.graph.constraints import Constraints
    from dagopt.progress import NoProgress
    from dagopt.scores import make_score
    from dagopt.workers import Workers

    data = dagopt.datasets.load("asia", n_samples=300, random_state=2).data
    table = as_table(data)
    with Workers(Deadline(), NoProgress()) as workers:
        pool = candidate_pool(make_score(table), Constraints().resolve(table.names), workers)
    path = tmp_path / "asia.jkl"
    write_jkl(pool.to_local_scores(), path)
    result = dagopt.learn(path, progress=False)
    assert (result.status, result.scope) == ("optimal", "the given pool")
    assert result.bound == pytest.approx(result.score, rel=1e-13)
    assert result.bound > result.score  # the rounding of the sum
    assert result.score == pytest.approx(dagopt.learn(data, "exact", progress=False).score, abs=1e-9)
    limited = dagopt.learn(str(path), "exact", max_parents=1, progress=False)
    assert limited.score == pytest.approx(dagopt.learn(data, "exact", max_parents=1, progress=False).score, abs=1e-9)
    with pytest.raises(dagopt.InputError, match="needs data"):
        dagopt.learn(path, "hc")


def test_local_scores_under_any_name(tmp_path):
    """A file of local scores is read by its name, compressed too, or because format= says so; auto takes any size."""
    names = [f"v{k}" for k in range(70)]
    text = "70\n" + "".join(f"{a} 2\n-5 0\n-1.5 1 {b}\n" for a, b in zip(names, [*names[1:], names[0]], strict=True))
    (tmp_path / "ring.jkl.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "ring.txt").write_text(text)
    for data, options in [(tmp_path / "ring.jkl.gz", {}), (str(tmp_path / "ring.txt"), {"format": "jkl"})]:
        result = dagopt.learn(data, progress=False, **options)
        assert (result.status, result.scope) == ("optimal", "the given pool")
        assert result.score == pytest.approx(-5 - 69 * 1.5)
    with pytest.raises(dagopt.InputError, match="format= to be 'jkl'"):
        dagopt.learn(tmp_path / "ring.txt", format="csv")
