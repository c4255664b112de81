"""dagopt: learn the structure of a Bayesian network by optimisation, and know how good the answer is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagopt.data.doctor import examine
    from dagopt.data.table import as_table
    from dagopt.effects.effect import effect
    from dagopt.errors import DagoptError, InputError
    from dagopt.estimators import (
        CGDCA,
        CGMINLP,
        MMHC,
        BranchAndCut,
        CuttingPlanes,
        ExactDP,
        HillClimbing,
        OrderSearch,
        StablePC,
        Tabu,
    )
    from dagopt.evidence.agreement import Bootstrap
    from dagopt.evidence.bootstrap import bootstrap
    from dagopt.evidence.explanation import Explanation
    from dagopt.evidence.penalty_path import PenaltyPath, path
    from dagopt.evidence.posterior import EdgePosterior, edge_posterior
    from dagopt.graph.dag import Graph
    from dagopt.graph.formats import read_graph, write_graph
    from dagopt.graph.metrics import compare
    from dagopt.knowledge import Constraints
    from dagopt.learning import learn
    from dagopt.networks import bundled as datasets
    from dagopt.networks.fitted.fitting import fit
    from dagopt.networks.simulate import simulate
    from dagopt.report.plots import plot_comparison
    from dagopt.result import Result
    from dagopt.scores.build import make_score, score, score_table

__version__ = "0.1.0"

__all__ = [
    "CGDCA",
    "CGMINLP",
    "MMHC",
    "Bootstrap",
    "BranchAndCut",
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
    "effect",
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
    "Bootstrap": "dagopt.evidence.agreement",
    "bootstrap": "dagopt.evidence.bootstrap",
    "Constraints": "dagopt.knowledge",
    "BranchAndCut": "dagopt.estimators",
    "CuttingPlanes": "dagopt.estimators",
    "DagoptError": "dagopt.errors",
    "CGDCA": "dagopt.estimators",
    "CGMINLP": "dagopt.estimators",
    "EdgePosterior": "dagopt.evidence.posterior",
    "edge_posterior": "dagopt.evidence.posterior",
    "effect": "dagopt.effects.effect",
    "ExactDP": "dagopt.estimators",
    "Explanation": "dagopt.evidence.explanation",
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
    "fit": "dagopt.networks.fitted.fitting",
    "learn": "dagopt.learning",
    "PenaltyPath": "dagopt.evidence.penalty_path",
    "path": "dagopt.evidence.penalty_path",
    "plot_comparison": "dagopt.report.plots",
    "Result": "dagopt.result",
    "make_score": "dagopt.scores.build",
    "read_graph": "dagopt.graph.formats",
    "score": "dagopt.scores.build",
    "score_table": "dagopt.scores.build",
    "simulate": "dagopt.networks.simulate",
    "write_graph": "dagopt.graph.formats",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("dagopt.networks.bundled")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dagopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
