"""dagopt: learn the structure of a Bayesian network by optimisation, and know how good the answer is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagopt import datasets
    from dagopt.certainty.agreement import Bootstrap
    from dagopt.certainty.bootstrapping import bootstrap
    from dagopt.certainty.explanation import Explanation
    from dagopt.certainty.penalty_path import PenaltyPath, path
    from dagopt.certainty.posterior import EdgePosterior, edge_posterior
    from dagopt.constraints import Constraints
    from dagopt.data.doctor import examine
    from dagopt.data.simulate import simulate
    from dagopt.data.table import as_table
    from dagopt.errors import DagoptError, InputError
    from dagopt.estimators import (
        CGDCA,
        CGMINLP,
        MMHC,
        CuttingPlanes,
        ExactDP,
        HillClimbing,
        OrderSearch,
        StablePC,
        Tabu,
    )
    from dagopt.graph.dag import Graph
    from dagopt.graph.formats import read_graph, write_graph
    from dagopt.graph.metrics import compare
    from dagopt.learning import learn
    from dagopt.parameters.fitting import fit
    from dagopt.report.plots import plot_comparison
    from dagopt.result import Result
    from dagopt.scores.build import make_score, score, score_table

__version__ = "0.1.0.dev0"

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "Bootstrap",
    "Constraints",
    "CuttingPlanes",
    "DagoptError",
    "EdgePosterior",
    "ExactDP",
    "Explanation",
    "Graph",
    "HillClimbing",
    "InputError",
    "OrderSearch",
    "PenaltyPath",
    "Result",
    "StablePC",
    "Tabu",
    "as_table",
    "bootstrap",
    "compare",
    "datasets",
    "edge_posterior",
    "examine",
    "fit",
    "learn",
    "make_score",
    "path",
    "plot_comparison",
    "read_graph",
    "score",
    "score_table",
    "simulate",
    "write_graph",
]

# Where each public name lives; imported at first use, so that `import dagopt` and `dagopt --help` are instant.
_HOMES = {
    "Bootstrap": "dagopt.certainty.agreement",
    "bootstrap": "dagopt.certainty.bootstrapping",
    "Constraints": "dagopt.constraints",
    "CuttingPlanes": "dagopt.estimators",
    "DagoptError": "dagopt.errors",
    "CGDCA": "dagopt.estimators",
    "CGMINLP": "dagopt.estimators",
    "EdgePosterior": "dagopt.certainty.posterior",
    "edge_posterior": "dagopt.certainty.posterior",
    "ExactDP": "dagopt.estimators",
    "Explanation": "dagopt.certainty.explanation",
    "Graph": "dagopt.graph.dag",
    "HillClimbing": "dagopt.estimators",
    "InputError": "dagopt.errors",
    "MMHC": "dagopt.estimators",
    "OrderSearch": "dagopt.estimators",
    "StablePC": "dagopt.estimators",
    "Tabu": "dagopt.estimators",
    "as_table": "dagopt.data.table",
    "compare": "dagopt.graph.metrics",
    "examine": "dagopt.data.doctor",
    "fit": "dagopt.parameters.fitting",
    "learn": "dagopt.learning",
    "PenaltyPath": "dagopt.certainty.penalty_path",
    "path": "dagopt.certainty.penalty_path",
    "plot_comparison": "dagopt.report.plots",
    "Result": "dagopt.result",
    "make_score": "dagopt.scores.build",
    "read_graph": "dagopt.graph.formats",
    "score": "dagopt.scores.build",
    "score_table": "dagopt.scores.build",
    "simulate": "dagopt.data.simulate",
    "write_graph": "dagopt.graph.formats",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("dagopt.datasets")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dagopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
