"""Fixtures for all tests: the folder of published data beside the repository, and made tables."""

from __future__ import annotations

import csv
import gc
import importlib.util
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dagopt.data.table import ContinuousTable, as_table


@pytest.hookimpl(tryfirst=True)  # before those that are slow are left out
def pytest_collection_modifyitems(items):
    """Leave all but a few cases of a test marked ``few`` to ``make test-all``."""
    cases = {}
    for item in items:
        if item.get_closest_marker("few"):
            cases.setdefault((item.parent, item.originalname), []).append(item)
    for of_one in cases.values():
        (number,) = of_one[0].get_closest_marker("few").args
        for item in set(of_one) - set(spread(of_one, number)):
            item.add_marker(pytest.mark.slow)


def spread(cases, number):
    """Return so many cases, one after the other that whose values of the parameters were chosen least before."""
    values = [[(name, id(value)) for name, value in case.callspec.params.items()] for case in cases]
    waiting, chosen, times = list(range(len(cases))), [], Counter()
    while waiting and len(chosen) < number:
        chosen.append(min(waiting, key=lambda place: sum(times[value] for value in values[place])))
        waiting.remove(chosen[-1])
        times.update(values[chosen[-1]])
    return [cases[place] for place in chosen]


def pytest_collection_finish():
    """Leave what was imported out of the search for garbage, which looks through all of it now and then."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared():
    """Return the folder ``shared`` beside the repository, or skip."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder 'shared' beside the repository")
    return folder


@pytest.fixture(scope="session")
def shared_set(shared):
    """Return a function from the name of a published data set to its table and the edges of its true DAG."""
    known = {}

    def load(name):
        if name not in known:
            path = shared / "data" / f"{name}.csv"
            with open(shared / "data" / f"{name}.edges.csv", newline="") as file:
                edges = [(row["from"], row["to"]) for row in csv.DictReader(file)]
            known[name] = as_table(path if path.exists() else path.with_name(f"{name}.csv.gz")), edges
        return known[name]

    return load


@pytest.fixture(scope="session")
def paper_instances(shared):
    """Return the published results on the paper's simulated instances, each with its table and true DAG."""
    spec = importlib.util.spec_from_file_location("paper_instances", shared / "tools" / "paper_instances.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    published = json.loads((shared / "anchors" / "gaussian_instances.json").read_text())["instances"]
    drawn = []
    for record in published:
        X, adjacency = module.paper_instance(record["n"], record["N"], record["d"], record["seed"])
        table = ContinuousTable(tuple(f"X{j}" for j in range(record["n"])), X)
        assert table.covariance is not None  # kept, so that the rows can be let go
        drawn.append((record, table, adjacency))
    return drawn


@pytest.fixture
def rng():
    """Return a generator with a fixed seed."""
    return np.random.default_rng(20240501)
