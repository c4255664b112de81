"""Results made by hand, for the tests of the report."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dagopt
from dagopt.data.findings import Finding
from dagopt.graph.dag import as_graph
from dagopt.results.certificate import Certificate
from dagopt.results.figures import Figures
from dagopt.results.result import Result

ODD_NAMES = (
    "<script>alert(1)</script>",
    "say \"hi\" & 'bye'",
    "größe 高さ",
    "{{payload}}",
    "back\\slash",
    "</title>\u2028x",
)


def made(graph, names=None, *, status="optimal", scope="all DAGs", **more):
    """Return a result with everything that a report can show."""
    drawn = as_graph(graph, names)
    rng = np.random.default_rng(0)
    seconds = np.linspace(0.1, 3, 20)
    score = -900 - 200 * np.exp(-seconds)
    trace = pd.DataFrame(
        {
            "seconds": seconds,
            "phase": ["scores"] * 8 + ["orders"] * 12,
            "score": score,
            "bound": np.where(np.arange(20) < 5, np.nan, -890 + 100 * np.exp(-seconds)),
        }
    )
    fields = {
        "score": -900.5,
        "certificate": Certificate(-900.5 if status == "optimal" else -890.25, scope, "branch and cut"),
        "score_label": "BIC <paper>",
        "seconds": 3.0,
        "n_samples": 2000,
        "trace": trace,
        "findings": (Finding("warning", "rare", ("x",), "column '<x>' is rare", "it is poorly known", "merge levels"),),
        "notes": ("a note with <b>",),
        "figures": Figures(
            edge_gain={f"{a} -> {b}": float(rng.exponential(50)) for a, b in drawn.directed_edges},
            node_scores={name: {"local_score": -10.0 * k, "gain": 1.0 * k} for k, name in enumerate(drawn.names)},
            n_sets=1234,
        ),
    }
    return Result(drawn.names, drawn.adjacency, status=status, method="exact", **{**fields, **more})


def bare(graph, names=None, **more):
    """Return a result with nothing but a graph."""
    drawn = as_graph(graph, names)
    fields = {"score": None, "status": "converged", "method": "pc"}
    return Result(drawn.names, drawn.adjacency, **{**fields, **more})


def odd():
    """Return a result whose names try to break out of the page."""
    return made([(a, b) for k, a in enumerate(ODD_NAMES) for b in ODD_NAMES[k + 1 : k + 3]], ODD_NAMES)


def drawn_numbers():
    """Return continuous data and a DAG."""
    return dagopt.simulate(5, 300, 1.5, random_state=4)


def drawn_levels():
    """Return discrete data and a DAG with a configuration that never occurs, a wide and a long table."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"a": rng.choice(["x", "y"], 400), "b": rng.choice(["u", "v"], 400)})
    data.loc[(data["a"] == "x") & (data["b"] == "v"), "b"] = "u"
    data["c"] = np.where((data["a"] == "x") ^ (rng.random(400) < 0.1), "yes", "no")
    data["wide"] = [f"w{k:02d}" for k in rng.permutation(400) % 30]
    data["long"] = rng.choice(["no", "yes"], 400)
    data["many"] = [f"m{k}" for k in rng.permutation(400) % 4]
    edges = [("a", "c"), ("b", "c"), ("wide", "long"), ("many", "long")]
    return data, edges


def learned_from(drawn):
    """Return a result whose graph is the given DAG, with the problem that data and BIC pose."""
    data, dag = drawn
    learned = dagopt.learn(data, "hc", max_parents=1)
    graph = as_graph(dag, learned.names)
    return Result(learned.names, graph.adjacency, -1.0, "converged", "hc", problem=learned.problem)
