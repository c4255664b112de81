"""Random problems with knowledge and masters with clusters, for the tests of pricing."""

import numpy as np

from dagopt.bits import mask_of
from dagopt.families.families import Family
from dagopt.graph.constraints import Constraints
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.methods.cg_dca.algorithm2 import first_families
from made_masters import problem_of, subsets, table_of


def made_problem(kind, seed, n, known):
    """Return a problem with required and forbidden edges and a limit on parents, or without any."""
    table, rng = table_of(kind, seed, n, 80), np.random.default_rng(seed)
    if not known:
        return problem_of(table)
    order = [table.names[j] for j in rng.permutation(n)]
    pairs = [(a, b) for k, b in enumerate(order) for a in order[:k]]
    required = [pair for pair in pairs if rng.random() < 0.15]
    limit = max([2, *(sum(b == name for _, b in required) for name in order)])
    forbidden = [(b, a) for a, b in pairs if rng.random() < 0.3]
    return problem_of(table, Constraints(required=required, forbidden=forbidden, max_parents=limit))


def made_master(problem, seed):
    """Return a master with the first families, some allowed ones and clusters, and its solution."""
    rng = np.random.default_rng(seed)
    master = RestrictedMaster(problem.n_nodes)
    master.add_families(first_families(problem.score.local, problem.knowledge.must))
    for _ in range(2 * problem.n_nodes):
        node = int(rng.integers(problem.n_nodes))
        parents = rng.choice(allowed_sets(problem, node), shuffle=False)
        master.add_families([Family(node, mask_of(parents), problem.score.local(node, parents))])
    clusters = [rng.permutation(problem.n_nodes)[: rng.integers(2, problem.n_nodes + 1)] for _ in range(6)]
    master.add_clusters([frozenset(cluster.tolist()) for cluster in clusters])
    return master, master.solve()


def allowed_sets(problem, node):
    """Return all allowed parent sets of a node, in an array of tuples."""
    others = [j for j in range(problem.n_nodes) if j != node]
    found = [parents for parents in subsets(others) if problem.knowledge.allows(node, parents)]
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array
