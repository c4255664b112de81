"""How many proof files the checker accepts, how many changed ones it refuses, its lines and its seconds.

    python -m benchmarks.verifier [--columns 5 8 12] [--methods exact auto branch-and-cut gobnilp cg-dca] [--rows 300]
                                  [--degree 1.5] [--edges 1000] [--kinds continuous discrete] [--honest]

Tables of random networks, continuous and discrete. Every proof is changed in these ways, one at a time: the score and
the bound by 0.01 up and down, each edge (at most ``--edges``) left out, each turned, another penalty or equivalent
sample size, one cell of the data. A turned edge is left out of the count if the graph is as good with it, because that
proof is true. With ``--honest`` no proof is changed, for the seconds of many columns. The last column is the most
memory that the process has had so far, learning included.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import dagopt
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network


def changed_claims(claims: dict[str, Any], result: dagopt.Result, most: int) -> Iterator[dict[str, Any]]:
    """Yield claims that are false."""
    for name in ("score", "bound"):
        for by in (-0.01, 0.01):
            yield claims | {name: claims[name] + by}
    edges = claims["edges"]
    for edge in edges[:most]:
        others = [one for one in edges if one != edge]
        yield claims | {"edges": others}
        turned = [*others, edge[::-1]]
        try:
            same = abs(dagopt.score(result.problem.table, turned, score="bic") - result.score) < 1e-6
        except dagopt.InputError:  # a cycle
            same = False
        if not same:
            yield claims | {"edges": turned}
    for name, value in claims["scoring"].items():
        if isinstance(value, float) and value:
            yield claims | {"scoring": claims["scoring"] | {name: 1.5 * value}}


def changed_cell(data: pd.DataFrame) -> pd.DataFrame:
    """Return the data with one other cell."""
    other, column = data.copy(), data.columns[0]
    values = other[column].unique()
    other.loc[0, column] = next(value for value in values if value != other.loc[0, column])
    return other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", nargs="+", type=int, default=[5, 8, 12])
    parser.add_argument("--methods", nargs="+", default=["exact", "auto", "branch-and-cut", "gobnilp", "cg-dca"])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--degree", type=float, default=1.5)
    parser.add_argument("--edges", type=int, default=1000, help="of each proof that are changed, at most")
    parser.add_argument("--kinds", nargs="+", default=["continuous", "discrete"])
    parser.add_argument("--honest", action="store_true", help="change no proof")
    asked = parser.parse_args()
    lines = sum(len(path.read_text().splitlines()) for path in (Path(dagopt.__file__).parent / "verifier").glob("*.py"))
    print(f"the checker has {lines} lines\n")
    titles = ("data", "columns", "proofs", "accepted", "changed", "refused", "CPU s per proof", "GB")
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    path = Path(tempfile.mkdtemp()) / "proof.json"
    for kind in asked.kinds:
        for columns in asked.columns:
            network = (
                random_gaussian_network(columns, asked.degree, columns)
                if kind == "continuous"
                else random_discrete_network(columns, asked.degree, random_state=columns, levels=2)
            )
            data = network.sample(asked.rows, 0)
            proofs, accepted, changed, refused, seconds = 0, 0, 0, 0, 0.0
            for method in asked.methods:
                result = dagopt.learn(data, method, score="bic", progress=False)
                if result.certificate is None:
                    continue
                result.save_proof(path)
                honest = path.read_text()
                proofs += 1
                start = time.process_time()
                accepted += bool(dagopt.verify(path, data))
                seconds += time.process_time() - start
                if asked.honest:
                    continue
                changed += 1
                refused += not dagopt.verify(path, changed_cell(data))
                if method == asked.methods[0]:  # the others have the same graph, or one as good
                    for claims in changed_claims(json.loads(honest), result, asked.edges):
                        path.write_text(json.dumps(claims))
                        changed += 1
                        refused += not dagopt.verify(path, data)
            told = f"{proofs} | {accepted} | {changed} | {refused} | {seconds / max(proofs, 1):.2f}"
            told += f" | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f}"
            print(f"| {kind} | {columns} | {told} |", flush=True)


if __name__ == "__main__":
    main()
