"""Answers to a fixed list of questions, as JSON: ``python -m hunt.answers``; for comparing one machine with another."""

from __future__ import annotations

import json
import platform
from typing import Any

import numpy as np

import dagopt

METHODS = ("exact", "gobnilp", "order", "cg-dca", "cg-dca-paper", "hc", "tabu", "mmhc")


def answers() -> dict[str, Any]:
    """Return score and edges of every question, by name."""
    found: dict[str, Any] = {}
    for kind in ("gaussian", "discrete"):
        for seed in range(3):
            data = dagopt.simulate(n_nodes=9, n_samples=300, degree=1.5, random_state=seed, kind=kind).data
            for method in METHODS:
                result = dagopt.learn(data, method, progress=False)
                edges = [[int(i), int(j)] for i, j in np.argwhere(result.adjacency)]
                found[f"{kind} {seed} {method}"] = {"score": result.score, "edges": edges}
    return found


if __name__ == "__main__":
    about = {"python": platform.python_version(), "numpy": np.__version__}
    print(json.dumps({"about": about, "answers": answers()}))
