"""Faults that ``hunt.planted`` plants, one at a time: small edits of the source, each of which makes some claim false.

``old`` occurs once in the file. ``tests`` are those of the room, the likely ones first and none of them twice, which
would lose their order; what they do not find, ``parts`` of the hunt must.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAULTS", "Fault"]


class Fault(NamedTuple):
    """One edit of a file below ``src/dagopt``, what it breaks, and where it is looked for."""

    breaks: str
    file: str
    old: str
    new: str
    tests: str
    parts: str = "provers"


CUT = "tests/methods/branch_and_cut"
ROWS_TESTS = f"tests/lp/rows/test_rows.py tests/lp/rows/test_best_dags.py {CUT}/test_rows_method.py"
GAUSSIAN = "tests/kernels/gaussian"
PAIRS = f"{CUT}/test_pair_bound.py {GAUSSIAN}/test_pair_weights.py"
PAIR_KERNELS = f"{GAUSSIAN}/test_pair_weights.py {CUT}/test_pair_bound.py"
SUFFIX = f"{CUT}/test_suffixes.py {GAUSSIAN}/test_suffix_twins.py"
WAITING = f"{CUT}/test_suffixes.py::test_least_costs_hold_for_sets_that_are_not_enumerated"
SEARCH = (
    f"{GAUSSIAN}/test_useful.py {GAUSSIAN}/test_walk_twins.py tests/families/test_undominated.py "
    "tests/families/test_node_search.py"
)
PRICE = (
    f"{GAUSSIAN}/test_price_ceiling.py {GAUSSIAN}/test_price_climbs.py {GAUSSIAN}/test_walk_twins.py "
    "tests/families/test_node_search.py tests/lp/test_pricing.py tests/lp/test_priced_root.py"
)
TREE = f"{CUT}/test_branch_and_cut.py {CUT}/test_rows_method.py {CUT}/test_precedence.py {CUT}/test_prefixes.py"
LISTING = "tests/families/test_listing.py tests/families/test_unlimited_listing.py"
SCORES = "tests/scores"
EXACT = "tests/kernels/lattice tests/methods/exact"

_BOUNDS = (
    Fault(
        "last-node rows: an added parent improves a family even if it loses 5 points",
        "methods/branch_and_cut/precedence.py",
        "least = LEAST_IMPROVEMENT + 1e-11",
        "least = -5.0 + 1e-11",
        f"{CUT}/test_rows_method.py tests/lp/rows",
    ),
    Fault(
        "last-node rows: worse families count as improvements too",
        "kernels/cuts/tree.py",
        "for other in range(offsets[i], k):\n                if score[other] <= score[k] + least:",
        "for other in range(offsets[i], offsets[i + 1]):\n                if score[other] <= score[k] - 5.0:",
        ROWS_TESTS,
    ),
    Fault(
        "bound by pairs: without its term for sets larger than k",
        "methods/branch_and_cut/pair_bound.py",
        "proven = np.maximum(excess.max(axis=1), total - self._beyond[:, min(size + 1, n)])",
        "proven = excess.max(axis=1)",
        PAIRS,
    ),
    Fault(
        "bound by pairs: without its deficits",
        "methods/branch_and_cut/pair_bound.py",
        "point.sum() - deficits.sum() - self._n",
        "point.sum() - self._n",
        PAIRS,
    ),
    Fault(
        "bound by pairs: J without its last possible member",
        "kernels/gaussian/pair_weights.py",
        "end = size if m > 0 else min(last, size)",
        "end = size - 1 if m > 0 else min(last, size)",
        PAIR_KERNELS,
    ),
    Fault(
        "bound by pairs: what a stopped search has not reached is forgotten",
        "kernels/gaussian/pair_weights.py",
        "return Excess(max(best, _open(s, c, e)), value)",
        "return Excess(best, value)",
        PAIR_KERNELS,
    ),
    Fault(
        "bound by pairs: a column that pays in T is given up too early",
        "kernels/gaussian/pair_weights.py",
        "limit = left / s.half * variance",
        "limit = 0.7 * left / s.half * variance",
        PAIR_KERNELS,
    ),
    Fault(
        "multipliers of the LP that are not clipped at 0",
        "lp/relaxation.py",
        "multipliers = np.maximum(solution.multipliers[n:], 0.0)\n        multipliers[multipliers < 1e-11] = 0.0",
        "multipliers = solution.multipliers[n:]",
        "tests/lp/test_relaxation.py",
    ),
    Fault(
        "the LP's bound leaves out families that are not in the LP",
        "lp/relaxation.py",
        "kernels.best_remainders(remainder, self._alive, offsets, largest)",
        "kernels.best_remainders(remainder, self._alive & (self._column >= 0), offsets, largest)",
        "tests/lp/test_relaxation.py " + CUT + "/test_branch_and_cut.py",
    ),
    Fault(
        "pruning 0.01 % early",
        "methods/branch_and_cut/lane.py",
        "return bound <= self.best.score + self.slack",
        "return bound <= self.best.score + self.slack + 1e-4 * abs(self.best.score)",
        TREE,
    ),
    Fault(
        "families excluded by their reduced cost one point early",
        "methods/branch_and_cut/lane.py",
        "part.alive &= point.bound + point.excess >= self.best.score - self.slack",
        "part.alive &= point.bound + point.excess >= self.best.score + 1.0",
        TREE,
    ),
    Fault(
        "branching: the child without the arc is lost",
        "methods/branch_and_cut/lane.py",
        "masks = [node.part.alive & ~(own & has), node.part.alive & ~(own & ~has)]",
        "masks = [node.part.alive & ~(own & ~has)]",
        TREE,
    ),
    Fault(
        "probing: what one order of a pair implies is taken for both",
        "methods/branch_and_cut/precedence.py",
        "implied.restrict_to(*(one.part for one in found))",
        "implied.restrict_to(found[0].part)",
        f"{CUT}/test_precedence.py {CUT}/test_branch_and_cut.py",
    ),
    Fault(
        "precedence: families whose later nodes are undecided are dropped",
        "kernels/cuts/tree.py",
        "if words[k, w] & later[i, w] or after[k, w] & earlier[i, w]:",
        "if words[k, w] & later[i, w] or after[k, w] & ~later[i, w]:",
        f"{CUT}/test_precedence.py {ROWS_TESTS}",
    ),
    Fault(
        "prefixes: those that may still win are dropped one point early",
        "methods/branch_and_cut/prefix_search.py",
        "self.score - self.point.bound - margin)",
        "self.score - self.point.bound + 1.0)",
        f"{CUT}/test_prefixes.py",
        "claims",
    ),
    Fault(
        "prefixes: a search that may keep no more ends as if it were complete",
        "methods/branch_and_cut/prefix_search.py",
        "if self.n_prefixes > self.most:\n                return None",
        "if self.n_prefixes > self.most:\n                prefixes = prefixes[:0]\n                break",
        f"{CUT}/test_prefixes.py",
    ),
    Fault(
        "gobnilp: last-node rows although a class is excluded",
        "methods/branch_and_cut/gobnilp.py",
        'is_plain = not more.get("rows")',
        "is_plain = True",
        f"{CUT}/test_gobnilp.py",
        "claims",
    ),
    Fault(
        "a tree that knows no DAG closes both orders of a pair",
        "methods/branch_and_cut/lane.py",
        "0.0 if self.best.chosen is None else ",
        "",
        f"{CUT}/test_gobnilp.py {CUT}/test_branch_and_cut.py",
        "claims",
    ),
    Fault(
        "prefixes: the groups forbid cycles through nodes of the prefix",
        "kernels/cuts/prefixes.py",
        "if own_score + _rest(groups, grown) >= limits[0]:",
        "if own_score + _rest(groups, grown) > limits[0] + 0.5:",
        f"{CUT}/test_prefixes.py",
        "claims",
    ),
    Fault(
        "likelihood's bound less half a point",
        "methods/likelihood_bound.py",
        "return float(bound + slack) if np.isfinite(bound) else None",
        "return float(bound + slack - 0.5) if np.isfinite(bound) else None",
        "tests/methods/test_likelihood_bound.py",
        "claims",
    ),
    Fault(
        "likelihood's bound: the smallest penalties of sets with one more parent",
        "methods/likelihood_bound.py",
        "bound = min(saturated, apart) - least",
        "bound = min(saturated, apart) - 1.05 * least - 1e-3",
        "tests/methods/test_likelihood_bound.py",
        "claims",
    ),
    Fault(
        "rounding counted once, not twice",
        "results/certificate.py",
        "bound=self.bound + 2 * rounding",
        "bound=self.bound",
        "tests/methods/test_claims.py tests/scores/test_rounding.py",
        "claims",
    ),
    Fault(
        "bounds of a pool by its duals alone",
        "methods/cg_dca/pool_bound.py",
        "lp.duals.constant - sum(least)",
        "lp.duals.constant",
        "tests/methods/cg_dca/test_listed.py tests/methods/cg_dca/test_pricers.py tests/lp/test_restricted_master.py",
    ),
)

_ROWS = (
    Fault(
        "clusters: the right-hand side is one too small",
        "lp/rows/clusters.py",
        "len(cluster) - 1.0, kind, origin)",
        "len(cluster) - 2.0 if len(cluster) > 2 else 1.0, kind, origin)",
        ROWS_TESTS,
    ),
    Fault(
        "symmetry rows despite knowledge",
        "lp/rows/symmetry.py",
        "return bool(everything.all() and not knowledge.must.any() and (limits == limits[0]).all())",
        "return True",
        ROWS_TESTS,
    ),
    Fault(
        "symmetry rows: the reversed arc's families count twice",
        "lp/rows/symmetry.py",
        'return Row(places, np.ones(len(places)), 1.0, "symmetry")',
        'return Row(places, np.ones(len(places)), 0.9, "symmetry")',
        ROWS_TESTS,
    ),
    Fault(
        "entropies and matrices: the right-hand side is lower by a tenth of a percent",
        "lp/rows/matrices.py",
        "upper = -0.5 * float(kernels.logdet(matrix, inside)) + rounding",
        "upper = -0.4995 * float(kernels.logdet(matrix, inside)) + rounding",
        ROWS_TESTS,
    ),
    Fault(
        "entropies and matrices: coefficients of families that share parents",
        "kernels/cuts/logdet_rows.py",
        "size = depth[shared[q]]",
        "size = depth[max(shared[q] - 1, 0)]",
        f"{ROWS_TESTS} tests/kernels/cuts",
    ),
    Fault(
        "matrices: no allowance for rounding in the right-hand side",
        "lp/rows/matrices.py",
        "* (8 + size / 8) / smallest",
        "* 0.0 / smallest",
        ROWS_TESTS,
    ),
    Fault(
        "local cuts: the right-hand side is too small",
        "lp/rows/local.py",
        '1.0 + ROUNDING, "local", origin)',
        '1.0 - 1e-3, "local", origin)',
        f"{ROWS_TESTS} {CUT}/test_branch_and_cut.py",
    ),
    Fault(
        "rows over other families keep the coefficients of the old ones",
        "lp/rows/matrices.py",
        "return Row(places, origin.scale * values[places], row.upper, row.kind, origin)",
        "return Row(places, 1.02 * origin.scale * values[places], row.upper, row.kind, origin)",
        ROWS_TESTS,
    ),
    Fault(
        "best classes: the row that excludes one class excludes its neighbours",
        "methods/branch_and_cut/class_rows.py",
        "return Row(places, values[places], len(ones) - 1.0)",
        "return Row(places, values[places], len(ones) - 2.0)",
        f"{CUT}/test_gobnilp.py",
    ),
)

_SEARCHES = (
    Fault(
        "undominated sets: the third bound times 0.9",
        "kernels/gaussian/useful.py",
        "return 1.0 / (1.0 - largest * largest) if largest < 1.0 else np.inf",
        "return 0.9 / (1.0 - largest * largest) if largest < 1.0 else np.inf",
        SEARCH,
    ),
    Fault(
        "undominated sets: a candidate must earn 5 % more than its cost",
        "kernels/gaussian/undominated.py",
        "threshold = math.exp((step - margin) / half)",
        "threshold = math.exp(1.05 * (step - margin) / half)",
        SEARCH,
    ),
    Fault(
        "undominated sets: larger sets are given up with the cost of two more parents",
        "kernels/gaussian/undominated.py",
        "if largest - cost[k + 1] <= max(scores[0, k], scores[1, k]) - margin:",
        "if largest - cost[k + 1] - 0.5 * step <= max(scores[0, k], scores[1, k]) - margin:",
        SEARCH,
    ),
    Fault(
        "undominated pairs: sets in which the pair is useful are not looked at",
        "kernels/gaussian/useful.py",
        "if c * c * threshold > (threshold - 1.0) * vi * vu or p * p * threshold > (threshold - 1.0) * pi * pu:",
        "if c * c * threshold > 2.0 * (threshold - 1.0) * vi * vu:",
        SEARCH,
    ),
    Fault(
        "priced sets: the sums of gains leave out the largest",
        "kernels/gaussian/prices.py",
        "best = max(best, share * min(reached, full) - (cost[k + m] - cost[k]))",
        "best = max(best, share * min(reached - 0.5 * sums[0], full) - (cost[k + m] - cost[k]))",
        PRICE,
    ),
    Fault(
        "priced sets: the marginal of a candidate counts twice",
        "kernels/gaussian/prices.py",
        "return best - prices.marginal[k, b]",
        "return best - 2.0 * prices.marginal[k, b]",
        PRICE,
    ),
    Fault(
        "priced sets: the quadratic bound times 0.9",
        "kernels/gaussian/price_ceiling.py",
        "found = constant + 0.5 * _ascend(",
        "found = constant + 0.4 * _ascend(",
        PRICE,
    ),
    Fault(
        "priced sets: what is missing to the bound counts twice for each candidate",
        "kernels/gaussian/price_ceiling.py",
        "one = found + 0.5 * (min(prices.terms[p], 0.0) - min(largest, 0.0)) / middle",
        "one = found + min(prices.terms[p], 0.0) / middle",
        PRICE,
    ),
    Fault(
        "pricing: a search that is stopped counts only what it has found",
        "lp/pricing.py",
        "most = max(search.limit, search.ceiling, found) + float(self.constant[i])",
        "most = found + float(self.constant[i])",
        "tests/lp/test_pricing.py tests/lp/test_priced_root.py",
    ),
    Fault(
        "priced root: half of the gap when the sets left are listed",
        "lp/priced_root.py",
        "limits = [one - gap - self._pricing.margin for one in self._best.most]",
        "limits = [one - 0.5 * gap for one in self._best.most]",
        "tests/lp/test_priced_root.py::test_the_families_left_have_the_best_dag_from_a_nearly_best_one "
        "tests/lp/test_pricing.py",
    ),
    Fault(
        "search from the end: the limit is one point too low",
        "methods/branch_and_cut/suffix_search.py",
        "self._limit = self._target - self.tolerance + self._rounding",
        "self._limit = self._target - self.tolerance - 1.0",
        SUFFIX,
    ),
    Fault(
        "search from the end: sets that wait count with one parent more",
        "methods/branch_and_cut/suffix_bound.py",
        "for j in self._outside[rest:]) + lack",
        "for j in self._outside[rest:]) + self._costs.unit + lack",
        WAITING,
    ),
    Fault(
        "search from the end: closed bounds are forgotten",
        "methods/branch_and_cut/suffix_bound.py",
        "least: Floats = np.minimum(self._least, self._closed)\n        for one in self._waiting:",
        "least: Floats = self._least.copy()\n        for one in self._waiting[1:]:",
        WAITING,
    ),
    Fault(
        "search from the end: the best parents inside a set are not the best",
        "kernels/gaussian/best_subsets.py",
        "if most - loss - paid <= best:",
        "if most - loss - paid - costs[y] <= best:",
        f"{GAUSSIAN}/test_best_subsets.py {SUFFIX}",
    ),
    Fault(
        "search from the end: with a matrix per node costs count as if none were negative",
        "methods/branch_and_cut/order_costs.py",
        "return all(node.matrix is self.matrix and node.half == self.half for node in self.nodes)",
        "return True",
        SUFFIX,
    ),
    Fault(
        "listing: supersets are bounded by the likelihood less the penalty of two more parents",
        "families/node_growth.py",
        "chosen = np.flatnonzero((ceiling > best - reach) &",
        "chosen = np.flatnonzero((ceiling > best + 1.0) &",
        LISTING,
    ),
    Fault(
        "listing: a member is redundant although it pays",
        "families/node_growth.py",
        "gain = np.where(at >= 0, self._before.joints[at], np.inf) - sets.joints - spare[b] - edge + reach",
        "gain = np.where(at >= 0, self._before.joints[at], np.inf) - sets.joints - spare[b] - edge - 2.0",
        LISTING,
    ),
    Fault(
        "listing by the kernel: the entropy of a column given all others counts four times",
        "kernels/counts/open_sets.py",
        "- spare[b] - edge + slack",
        "- 4.0 * spare[b] - edge + slack",
        f"tests/kernels/counts/test_count_twins.py {LISTING}",
    ),
    Fault(
        "stand-ins: the worst bound of the sets that they stand for",
        "families/node_growth.py",
        "order = np.lexsort((-ceiling, *part.T))",
        "order = np.lexsort((ceiling, *part.T))",
        LISTING,
    ),
    Fault(
        "a dominated set is one whose subset is not much worse",
        "families/families.py",
        "best = np.lexsort((*words.T, np.bitwise_count(words).sum(axis=1), -score, node))",
        "best = np.lexsort((*words.T, -score, np.bitwise_count(words).sum(axis=1), node))",
        "tests/families",
    ),
)

_SCORES = (
    Fault(
        "Gaussian, bnlearn's convention: one degree of freedom too many",
        "scores/gaussian.py",
        "freedom = n - sizes - 1",
        "freedom = n - sizes",
        f"{SCORES}/test_gaussian_score.py {SCORES}/test_consistency.py {SCORES}/test_published.py",
        "claims",
    ),
    Fault(
        "Gaussian: bounds of supersets without the fall by forbidden parents",
        "scores/gaussian.py",
        "return max(fall, 0.0) if np.isfinite(fall) else 0.0",
        "return max(1.1 * fall, 0.0) if np.isfinite(fall) else 0.0",
        f"{SCORES}/test_set_bounds.py {SCORES}/test_gaussian_score.py {LISTING}",
    ),
    Fault(
        "Gaussian: no allowance for the rounding of logarithms",
        "scores/gaussian.py",
        "return float(n * (power * self._digits.rounding + 2 * (n + 8) * UNIT * size))",
        "return 0.0",
        f"{SCORES}/test_rounding.py::test_gaussian_columns_near_the_edge",
        "claims",
    ),
    Fault(
        "multinomial: sets are left out of the recursion although a best DAG may have them",
        "scores/multinomial.py",
        "largest = max(largest, a * (most - alone / (self._rate * (a - 1))))",
        "largest = max(largest, 0.1 * a * (most - alone / (self._rate * (a - 1))))",
        f"{SCORES}/test_discrete_score.py tests/methods/exact tests/kernels/lattice",
        "claims provers",
    ),
    Fault(
        "BDeu: supersets have one configuration more than those that occur",
        "scores/bdeu.py",
        "np.asarray(-occurring * np.log(self.arity[nodes])",
        "np.asarray(-(occurring + 2) * np.log(self.arity[nodes])",
        f"{SCORES}/test_set_bounds.py {SCORES}/test_discrete_score.py {LISTING}",
    ),
    Fault(
        "BGe: the powers of the prior matrix",
        "scores/bge.py",
        "+ 0.5 * before * sizes * math.log(self._prior)",
        "+ 0.5 * (before - 1) * sizes * math.log(self._prior)",
        f"{SCORES}/test_gaussian_score.py {SCORES}/test_consistency.py {SCORES}/test_published.py",
        "claims",
    ),
    Fault(
        "conditional Gaussian: parameters of a cell",
        "scores/conditional_gaussian.py",
        "(1 + size * (size + 3) / 2) - 1)",
        "(1 + size * (size + 1) / 2) - 1)",
        f"{SCORES}/test_degenerate_gaussian.py {SCORES}/test_consistency.py {SCORES}/test_rounding.py",
        "others",
    ),
    Fault(
        "conditional Gaussian: no allowance for rounding",
        "scores/conditional_gaussian.py",
        "return float(self._errors.sum() * (1 + self.n_nodes * UNIT))",
        "return 0.0",
        f"{SCORES}/test_rounding.py::test_the_allowance_of_conditional_gaussians_covers_their_errors",
        "others",
    ),
    Fault(
        "degenerate Gaussian: potentials count edges once too often",
        "scores/degenerate_gaussian.py",
        "0.5 * self.parameter_cost * (widths**2 - squares)",
        "0.5 * self.parameter_cost * (widths**2 - widths)",
        f"{SCORES}/test_degenerate_gaussian.py {SCORES}/test_consistency.py tests/methods/test_mixed_methods.py",
        "others",
    ),
    Fault(
        "interventions: the score of all rows",
        "scores/interventional.py",
        "bounds[chosen] = part.local_and_bounds(",
        "bounds[chosen] = self.parts[0].local_and_bounds(",
        f"{SCORES}/test_interventional.py {SCORES}/test_rounding.py",
        "others",
    ),
    Fault(
        "your own scores: tiny ones are not brought to a usual size",
        "scores/custom.py",
        "return 0 if size == 0 or USUAL_SIZES[0] <= size <= USUAL_SIZES[1] else 11 - math.frexp(size)[1]",
        "return 0",
        f"{SCORES}/test_rounding.py::test_scores_of_any_size {SCORES}/test_custom.py tests/families/test_jkl.py",
        "others",
    ),
)

_EXACT = (
    Fault(
        "recursion: subsets of two bits are not closed",
        "kernels/lattice/subsets.py",
        "both[k] = b if b > d else d",
        "both[k] = d",
        EXACT,
        "claims provers",
    ),
    Fault(
        "recursion: a sink of eight neighbours is left out",
        "kernels/lattice/best_orders.py",
        "v[6] = _larger(v[4] + b[2], _larger(v[2] + c[2], v[6]))",
        "v[6] = _larger(v[4] + b[2], v[6])",
        EXACT,
        "claims",
    ),
    Fault(
        "best classes: pairs that may still be needed are left out",
        "kernels/lattice/best_classes.py",
        "(a + 1) * (b + 2) <= k and",
        "(a + 2) * (b + 2) <= k and",
        "tests/methods/exact/test_best_classes.py tests/kernels/lattice tests/methods/exact/test_every_dag.py",
        "claims",
    ),
    Fault(
        "regrets: sets that differ by rounding are told apart",
        "methods/exact/edge_regret.py",
        "np.where(scores >= best - _rounding(best), best, scores)",
        "np.where(scores >= best - 1.0, best, scores)",
        "tests/methods/exact/test_edge_regret.py tests/confidence/test_explain.py",
        "claims",
    ),
    Fault(
        "posterior: the fair prior divides by the sets of all columns",
        "methods/exact/edge_posterior.py",
        "-np.array([_log_choose(n - 1, k) for k in range(n)])",
        "-np.array([_log_choose(n, k) for k in range(n)])",
        "tests/methods/exact/test_edge_posterior.py tests/confidence/test_posterior.py",
        "claims",
    ),
    Fault(
        "families of a file: limits of knowledge are not kept",
        "families/families.py",
        "& ~(self.words & ~may).any(axis=1)\n        return self.only(fits & ",
        "\n        return self.only(fits & ",
        "tests/families/test_pool_recursion.py tests/families/test_families.py tests/families/test_jkl.py",
        "claims",
    ),
    Fault(
        "exhaustive pricing: a cluster that required parents meet costs nothing",
        "methods/cg_dca/exhaustive_pricing.py",
        "    if always:\n        costs += dual\n        return\n",
        "    if always:\n        return\n",
        "tests/methods/cg_dca/test_pricers.py",
    ),
)

BLOCKS = (
    f"{GAUSSIAN}/test_block_useful_twins.py {GAUSSIAN}/test_block_twins.py tests/families/test_block_search.py "
    "tests/methods/test_mixed_methods.py"
)

_BLOCKS = (
    Fault(
        "blocks: what the parents' own log-determinant may add is left out",
        "kernels/gaussian/block_useful.py",
        "need -= 0.5 * terms.volume * (most_i + most_j) + margin",
        "need -= margin",
        BLOCKS,
    ),
    Fault(
        "blocks: the bound from both ends leaves out the last column of a parent",
        "kernels/gaussian/block_useful.py",
        "for a in range(mi, size):",
        "for a in range(mi, max(size - 1, mi + 1)):",
        BLOCKS,
    ),
    Fault(
        "blocks: the bound from both ends times 0.8",
        "kernels/gaussian/block_useful.py",
        "total += math.log(max(ratio, 1.0))",
        "total += 0.8 * math.log(max(ratio, 1.0))",
        BLOCKS,
    ),
    Fault(
        "blocks: a member earns its cost only with 10 % more",
        "kernels/gaussian/block_undominated.py",
        "is_beaten = is_beaten or half * (own - without) <= need - margin",
        "is_beaten = is_beaten or half * (own - without) <= 1.1 * need - margin",
        BLOCKS,
    ),
    Fault(
        "blocks: larger sets are given up with the cheapest member twice",
        "kernels/gaussian/block_undominated.py",
        "largest = terms.half * most_i - terms.costs[k + 1] - rooms.spent[k] - least_edge",
        "largest = terms.half * most_i - terms.costs[k + 1] - rooms.spent[k] - 2.0 * least_edge",
        BLOCKS,
    ),
    Fault(
        "blocks: rows over columns leave out those of the node before each one",
        "lp/rows/blocks.py",
        "return np.asarray(np.bincount(owner, values, len(families)), dtype=np.float64)",
        "return np.asarray(1.05 * np.bincount(owner, values, len(families)), dtype=np.float64)",
        f"tests/lp/rows {BLOCKS}",
    ),
    Fault(
        "multinomial: the penalties of no parents do not round",
        "scores/multinomial.py",
        "return float(UNIT * (of_counts + 4 * (self.n_nodes + 8) * empty))",
        "return float(UNIT * of_counts)",
        f"{SCORES}/test_rounding.py::test_multinomial_with_any_penalty",
        "others",
    ),
    Fault(
        "rivals: a component's parent sets that lose half of the limit are left out",
        "methods/branch_and_cut/near_components.py",
        "with LeftFamilies(pool, problem.score.total(dag), within, workers) as left:",
        "with LeftFamilies(pool, problem.score.total(dag), 0.5 * within, workers) as left:",
        f"{CUT}/test_near_components.py tests/confidence/test_rivals.py",
        "near",
    ),
    Fault(
        "effects within a limit: parent sets are listed without slack",
        "methods/branch_and_cut/near_parents.py",
        "pool = listed_with_slack(problem, within, workers)",
        "pool = listed_with_slack(problem, 0.0, workers)",
        f"{CUT}/test_near_parents.py tests/confidence/test_effect_within.py",
        "near",
    ),
    Fault(
        "near families: the limit is a tenth of a point too low",
        "methods/exact/near_families.py",
        "least = best - within - ROUNDING * max(abs(best), 1.0)",
        "least = best - max(within - 0.1, 0.0) - ROUNDING * max(abs(best), 1.0)",
        "tests/methods/exact/test_near_dags.py tests/confidence/test_rivals.py tests/confidence/test_effect_within.py",
        "near",
    ),
    Fault(
        "directions: an edge counts as directed whatever the graph without it loses",
        "results/directions.py",
        "lost = [reversal] if removal is None else [reversal, removal]",
        "lost = [reversal]",
        "tests/results",
        "near",
    ),
)

KNOWN = "tests/methods/test_claims.py tests/graph/test_order_knowledge.py"

_KNOWN = (
    Fault(
        "rounding: DAGs that are worse than the empty one are off by no more than it",
        "methods/claims.py",
        "return float(2 * n * (n + 8) * np.finfo(np.float64).eps * worse)",
        "return float(0.0 * worse)",
        KNOWN,
        "knowing",
    ),
    Fault(
        "beliefs: the bound of a score leaves out what more parents would bring",
        "scores/prior.py",
        "+ np.maximum(self.log_odds[more, node], 0.0).sum())",
        "+ 0.0 * np.maximum(self.log_odds[more, node], 0.0).sum())",
        KNOWN,
        "knowing",
    ),
    Fault(
        "beliefs: many families at once are scored without them",
        "scores/prior.py",
        "return self.data_score.local_packed(nodes, flat, offsets) + odds",
        "return self.data_score.local_packed(nodes, flat, offsets) + 0.0 * odds",
        KNOWN,
        "knowing",
    ),
    Fault(
        "paths: only the edge that leads straight to the end is tried",
        "methods/paths.py",
        "for child in _heads(part.problem.knowledge, tail, head):",
        "for child in _heads(part.problem.knowledge, tail, head)[:1]:",
        KNOWN,
        "knowing",
    ),
    Fault(
        "paths: the rest of a path need not be there",
        "methods/paths.py",
        "left = others if child == head else (*others, (child, head))",
        "left = others",
        KNOWN,
        "knowing",
    ),
    Fault(
        "order: an edge counts as in no cycle although the order closes one",
        "graph/knowledge.py",
        "edges = self.may if self.before is None else self.may | self.before",
        "edges = self.may",
        KNOWN,
        "knowing",
    ),
    Fault(
        "series: the bound is a point too low once the past is taken away",
        "methods/claims.py",
        "replace(one, bound=one.bound - constant)",
        "replace(one, bound=one.bound - constant - 1)",
        "tests/data/test_lags.py",
        "series",
    ),
    Fault(
        "series: rows after a gap take the row before it as their past",
        "data/lags.py",
        "return np.flatnonzero(age >= count).astype(np.int64)",
        "return np.flatnonzero(age >= count - 1).astype(np.int64)[1:]",
        "tests/data/test_lags.py",
        "series",
    ),
)

FAULTS: tuple[Fault, ...] = (*_BOUNDS, *_ROWS, *_SEARCHES, *_SCORES, *_EXACT, *_BLOCKS, *_KNOWN)
