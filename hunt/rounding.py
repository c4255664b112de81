"""How large are the errors of scores, beside what the library allows for? ``python -m hunt.rounding --instances 300``.

For random tables of every family, each local score, computed alone and as a difference of potentials, is compared with
extended precision. The sum over the nodes of the largest error of any parent set is at least the error of any DAG's
score; it is printed as a share of ``score.rounding``, which a bound allows for twice. Parent sets that no DAG as good
as the empty one can have, because of their penalty, do not count; the last column counts them too. (Where edges are
required, the best DAG may have such sets; their penalties have an allowance of their own, in ``methods/claims.py``.)
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.scores.build import make_score
from hunt.tables import FAMILIES, Instance, draw
from hunt.truth import bits


def shares_of_allowance(instance: Instance) -> tuple[float, float] | None:
    """Return the largest error of a score as a share of what is allowed; None where the table is refused.

    The second number is over all parent sets, also those that no DAG as good as the empty one can have.
    """
    known = {name: value for name, value in instance.arguments().items() if name != "constraints"}
    try:
        table = as_table(instance.data())
        score = make_score(table, **known)
    except InputError:
        return None
    if not 0 < score.rounding < np.inf:
        return None
    local, _ = instance.truth()
    n, total, whole = instance.n, 0.0, 0.0
    most = [max(value for (i, _), value in local.items() if i == node and np.isfinite(value)) for node in range(n)]
    room = sum(most) - sum(local[node, 0] for node in range(n))  # what a DAG can gain over the empty one, at most
    for node in range(n):
        potential = np.empty(1 << n)
        score.fill_potentials(0, n, potential, node)
        worst = worst_of_all = 0.0
        for mask in range(1 << n):
            true = local.get((node, mask))
            if mask >> node & 1 or true is None or not np.isfinite(true) or score.unbounded(node, np.array(bits(mask))):
                continue
            values = (score.local(node, bits(mask)), potential[mask | 1 << node] - potential[mask])
            error = max(abs(float(value - true)) for value in values)
            worst_of_all = max(worst_of_all, error)
            if true >= most[node] - room:
                worst = max(worst, error)
        total, whole = total + worst, whole + worst_of_all
    return total / score.rounding, whole / score.rounding


def main() -> None:
    """Print one row per family."""
    parser = argparse.ArgumentParser(prog="python -m hunt.rounding", description=__doc__)
    parser.add_argument("--instances", type=int, default=260)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES, help="only tables of this family")
    asked = parser.parse_args()
    shares = defaultdict[str, list[tuple[float, float]]](list)
    for number in range(asked.instances):
        instance = draw(asked.seed, number, asked.family)
        both = shares_of_allowance(instance)
        if both is not None:
            shares[instance.family].append(both)
            shares["all"].append(both)
    print("| family | tables | largest error / allowance | median | largest over all sets |\n|---|---|---|---|---|")
    for family in (*FAMILIES, "all"):
        if shares[family]:
            own, whole = np.array(shares[family]).T
            print(f"| {family} | {len(own)} | {own.max():.2g} | {np.median(own):.2g} | {whole.max():.2g} |")


if __name__ == "__main__":
    main()
