"""A run of ``learn`` reads, checks, lists and hashes once: each step hands its result to the next."""

from collections import Counter

import pytest

import dagopt
from dagopt.data.data_options import DataOptions
from dagopt.families.undominated import Listing
from dagopt.learning import recording
from dagopt.methods import start
from dagopt.methods.branch_and_cut import gobnilp
from dagopt.methods.registry import METHODS
from dagopt.options import Options
from dagopt.scores import block_likelihood
from dagopt.scores.score_options import ScoreOptions


@pytest.fixture
def counted(monkeypatch):
    """Return the number of calls of what should be done once."""
    calls = Counter()

    def count(owner, name, label=None):
        plain = getattr(owner, name)

        def called(*args, **kwargs):
            calls[label or name] += 1
            return plain(*args, **kwargs)

        monkeypatch.setattr(owner, name, called)

    count(Listing, "__init__", "listing")
    count(gobnilp, "Candidates", "listing")
    count(block_likelihood, "rounding_margin", "margin")
    count(start, "as_graph", "start")
    count(recording, "hash_of", "hash")
    checked = Options.__post_init__

    def check(self):
        calls[type(self)] += 1
        checked(self)

    monkeypatch.setattr(Options, "__post_init__", check)
    return calls


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Return a file of 30 columns of numbers, too many for the exact method, and the true DAG."""
    data, dag = dagopt.simulate(n_nodes=30, n_samples=300, degree=0.8, random_state=0)
    path = tmp_path_factory.mktemp("data") / "numbers.csv"
    data.to_csv(path, index=False)
    return path, dag


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """Return a file of 37 columns of levels."""
    path = tmp_path_factory.mktemp("data") / "levels.csv"
    dagopt.datasets.load("alarm", n_samples=100, random_state=0).data.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", ["auto", "branch-and-cut", "cg-dca", "order", "hc"])
def test_numbers(method, numbers, counted):
    """Whatever the method; the start that is given is checked once too."""
    path, dag = numbers
    jobs = {"n_jobs": 1} if "n_jobs" in METHODS[method].options() else {}
    result = dagopt.learn(path, method, start=dag, time_limit=600, progress=False, **jobs)
    assert counted["start"] == counted["hash"] == 1
    assert counted[ScoreOptions] == counted[DataOptions] == 1
    if method not in ("order", "hc"):  # which search for reversed edges too, with options of their own
        assert counted[METHODS[method].options_type()] == 1
    assert counted["listing"] <= 1
    assert counted["margin"] <= 1
    if result.method == "branch-and-cut":
        assert counted["listing"] == counted["margin"] == 1
    if method == "auto":
        assert result.method == "branch-and-cut"


@pytest.mark.parametrize("method", ["auto", "gobnilp"])
def test_levels(method, levels, counted):
    """Sets of levels are listed once."""
    result = dagopt.learn(levels, method, time_limit=4, n_jobs=1, progress=False)
    assert result.method == "gobnilp"
    assert counted["listing"] == counted["hash"] == 1
    assert counted[METHODS[method].options_type()] == counted[ScoreOptions] == counted[DataOptions] == 1
