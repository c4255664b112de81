"""Which test compares each public kernel with a slow, obvious twin.

A kernel is public if Python calls it: another room names it, or it is in the list of kernels to compile ahead of need.
"""

import ast
import json
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src" / "dagopt"
ROOM = "dagopt.kernels"

# the test with the twin: the kernels that it calls
TWINS = {
    "kernels/test_moves.py::test_closure_is_the_sum_of_powers": ["climbing.closure"],
    "kernels/test_moves.py::test_extended_closure_is_the_closure_of_the_extension": ["climbing.extend_closure"],
    "kernels/test_moves.py::test_best_move_is_the_first_of_the_best_legal_ones": [
        "climbing.best_move",
        "climbing.is_legal",
    ],
    "kernels/test_independence_sums.py::test_partial_correlations_are_entries_of_inverses": [
        "independence.partial_correlations",
        "independence.partial_correlations_with",
    ],
    "kernels/test_independence_sums.py::test_separation_finds_the_same_set_however_often_it_is_resumed": [
        "independence.separate_pairs"
    ],
    "kernels/test_independence_sums.py::test_table_statistics_are_sums_over_strata": [
        "independence.table_statistics",
        "independence.table_statistics_with",
    ],
    "kernels/counts/test_counting.py::test_joints_are_sums_over_counters": ["counts.counting.joints"],
    "kernels/counts/test_counting.py::test_joints_many_is_joints_of_each": ["counts.counting.joints_many"],
    "kernels/counts/test_counting.py::test_chains_are_joints_of_prefixes": [
        "counts.counting.chain",
        "counts.counting.joint_chain",
    ],
    "kernels/counts/test_counting.py::test_the_sum_over_the_cells_of_a_set": ["counts.counting.cell_sum"],
    "kernels/counts/test_counting.py::test_additions_are_joints_of_larger_sets": ["counts.counting.additions"],
    "kernels/counts/test_counting.py::test_all_joints_cover_all_masks": ["counts.counting.all_joints"],
    "kernels/counts/test_counting.py::test_slices_cover_the_sets_with_given_high_bits": [
        "counts.counting.plain_joint_slice",
        "counts.slices.walk",  # by joint_slice
    ],
    "kernels/counts/test_counting.py::test_occurring_configurations_are_counted": ["counts.counting.occurring_many"],
    "kernels/counts/test_counting.py::test_renumbering_keeps_equal_labels_equal": ["counts.counting.renumber"],
    "kernels/counts/test_counting.py::test_refining_splits_by_one_more_variable": ["counts.counting.refine"],
    "kernels/counts/test_counting.py::test_sets_are_counted_by_arrays_to_the_last_digit": [
        "counts.few_cells.walk_few_cells"
    ],
    "kernels/counts/test_wide_numbers.py::test_sums_over_subsets_of_high_bits": ["counts.wide_numbers.sum_high"],
    "kernels/counts/test_count_twins.py::test_rows_off_the_most_frequent_level": ["counts.joint_sets.rare_rows"],
    "kernels/counts/test_count_twins.py::test_joints_of_sets": ["counts.joint_sets.joints_of_sets"],
    "kernels/counts/test_count_twins.py::test_joints_from_tables_of_pairs": ["counts.pair_tables.joints_from_pairs"],
    "kernels/counts/test_count_twins.py::test_rows_that_are_rare_in_two_variables": ["counts.pair_tables.pair_rows"],
    "kernels/counts/test_count_twins.py::test_the_worth_of_sets": ["counts.open_sets.worth_of"],
    "kernels/counts/test_count_twins.py::test_tables_of_terms": ["counts.slices.tabulate"],
    "kernels/counts/test_count_twins.py::test_sets_all_of_whose_subsets_are_open": ["counts.open_sets.extended"],
    "families/test_unlimited_listing.py::test_reaches_and_bounds_of_tails": ["counts.tails.reaches"],
    "families/test_unlimited_listing.py::test_the_last_candidates_say_little": ["counts.tails.last_first"],
    "kernels/orders/test_sampled_orders.py::test_sums_over_subsets": ["orders.sampled.sum_subsets"],
    "kernels/orders/test_sampled_orders.py::test_weight_and_edges_of_an_order": ["orders.sampled.begin"],
    "kernels/orders/test_sampled_orders.py::test_a_step_draws_from_all_positions": ["orders.sampled.relocate"],
    "kernels/orders/test_sampled_orders.py::test_long_walks_have_the_shares_of_all_orders": ["orders.sampled.collect"],
    "kernels/cuts/test_matrix_twins.py::test_violation_and_its_gradient": ["cuts.deepest_matrix.violation"],
    "kernels/cuts/test_matrix_twins.py::test_no_matrix_nearby_is_violated_more": ["cuts.deepest_matrix.deepest"],
    "kernels/cuts/test_matrix_twins.py::test_correlations_of_a_factor": ["cuts.deepest_matrix.correlations"],
    "kernels/cuts/test_matrix_twins.py::test_cholesky_and_the_floor_of_eigenvalues": [
        "cuts.logdet_rows.cholesky",
        "cuts.logdet_rows.eigenvalue_floor",
    ],
    "kernels/cuts/test_matrix_twins.py::test_coefficients_of_families": [
        "cuts.logdet_rows.coefficients",
        "cuts.logdet_rows.shared_parents",
    ],
    "kernels/cuts/test_matrix_twins.py::test_flips_take_the_steepest_way_up": ["cuts.logdet_rows.flip"],
    "kernels/cuts/test_matrix_twins.py::test_pivots_and_determinants": [
        "cuts.logdet_rows.logdet",
        "cuts.logdet_rows.sweep_all",
    ],
    "kernels/cuts/test_cluster_twins.py::test_escape": ["cuts.separation.escape"],
    "kernels/cuts/test_cluster_twins.py::test_least_escape_over_all_clusters_with_a_smallest_node": [
        "cuts.separation.least_escape"
    ],
    "kernels/cuts/test_cluster_twins.py::test_sink_order_takes_the_cheapest_sink_each_time": [
        "cuts.separation.sink_order"
    ],
    "kernels/cuts/test_cluster_twins.py::test_families_that_would_close_a_cycle": ["cuts.separation.impossible"],
    "kernels/cuts/test_cluster_twins.py::test_families_with_an_earlier_subset": ["cuts.separation.dominated"],
    "kernels/cuts/test_cluster_twins.py::test_strong_components": ["cuts.growing.strong_components"],
    "kernels/cuts/test_cluster_twins.py::test_support_and_clusters_grown_in_it": [
        "cuts.growing.support_of",
        "cuts.growing.grow_clusters",
    ],
    "kernels/cuts/test_cluster_twins.py::test_what_an_order_implies": ["cuts.tree.propagate"],
    "kernels/cuts/test_cluster_twins.py::test_nodes_that_improve_a_family": ["cuts.tree.improvable"],
    "kernels/cuts/test_cluster_twins.py::test_remainders_of_rows": [
        "cuts.tree.take_row",
        "cuts.tree.best_remainders",
        "cuts.tree.entries",
    ],
    "kernels/cuts/test_cluster_twins.py::test_pairs_of_families_of_a_covered_arc": ["cuts.tree.covered_pairs"],
    "kernels/cuts/test_cluster_twins.py::test_mass_of_arcs": ["cuts.local_cuts.arc_mass"],
    "kernels/cuts/test_local_cuts.py::test_cuts_of_subsets_and_their_rows": [
        "cuts.local_cuts.local_cuts",
        "cuts.local_cuts.cut_row",
    ],
    "kernels/cuts/test_local_cuts.py::test_the_node_with_most_mass_to_and_from_the_subset_comes_next": [
        "cuts.local_cuts.grow_subsets"
    ],
    "kernels/cuts/test_cluster_twins.py::test_the_first_set_without_some_nodes_and_the_totals_of_groups": [
        "cuts.prefixes.fill_bits",  # by made_lists
        "cuts.prefixes.first_fitting",
        "cuts.prefixes.fill_group",
    ],
    "kernels/cuts/test_cluster_twins.py::test_merging_keeps_the_best_of_equal_prefixes": ["cuts.prefixes.merge"],
    "kernels/cuts/test_cluster_twins.py::test_prefixes_grow_by_every_node_that_may_come_next": ["cuts.prefixes.expand"],
    "kernels/gaussian/test_logdet.py::test_logs_are_those_of_regressions": ["gaussian.logdet.logs"],
    "kernels/gaussian/test_logdet.py::test_logs_many_is_logs_of_each": ["gaussian.logdet.logs_many"],
    "kernels/gaussian/test_logdet.py::test_chains_are_logs_of_prefixes": [
        "gaussian.logdet.chain",
        "gaussian.logdet.joint_chain",
    ],
    "kernels/gaussian/test_logdet.py::test_additions_are_logs_of_larger_sets": ["gaussian.logdet.additions"],
    "kernels/gaussian/test_logdet.py::test_removals_are_logs_of_smaller_sets": ["gaussian.logdet.removals"],
    "kernels/gaussian/test_logdet.py::test_all_logdets_cover_all_masks": ["gaussian.logdet.all_logdets"],
    "kernels/gaussian/test_logdet.py::test_slices_are_parts_of_all_logdets": ["gaussian.logdet.logdet_slice"],
    "kernels/gaussian/test_vectors.py::test_twins_agree": [
        "gaussian.vectors.logs",
        "gaussian.vectors.chain",
        "gaussian.vectors.joint_chain",
        "gaussian.vectors.additions",
        "gaussian.vectors.removals",
        "gaussian.vectors.all_logdets",
        "gaussian.vectors.logs_many",
    ],
    "kernels/gaussian/test_vectors.py::test_slices_make_up_the_whole": ["gaussian.vectors.logdet_slice"],
    "kernels/gaussian/test_block_twins.py::test_groups_of_columns": [
        "gaussian.blocks.logs",
        "gaussian.blocks.logs_many",
        "gaussian.blocks.additions",
        "gaussian.blocks.joint_chain",
    ],
    "kernels/gaussian/test_block_twins.py::test_tables_of_groups": ["gaussian.blocks.logdet_slice"],
    "kernels/gaussian/test_block_twins.py::test_gaussians_in_cells": [
        "gaussian.cells.cell_sum",
        "gaussian.cells.precise_cell_sum",
    ],
    "kernels/gaussian/test_block_twins.py::test_gaussians_in_cells_of_all_subsets": ["gaussian.cells.subset_cell_sums"],
    "kernels/gaussian/test_block_twins.py::test_log_determinants_of_cells": ["gaussian.cells.cell_logdets"],
    "kernels/gaussian/test_best_subsets.py::test_walking_down_a_tree_finds_the_best_set_inside_any_set": [
        "gaussian.best_subsets.plant",
        "gaussian.best_subsets.walk_down",
    ],
    "kernels/gaussian/test_min_norm.py::test_a_greedy_base_is_the_subgradient": ["gaussian.min_norm.greedy_base"],
    "kernels/gaussian/test_min_norm.py::test_it_equals_its_twin_and_brute_force": [
        "gaussian.min_norm.min_norm_gaussian"
    ],
    "kernels/gaussian/test_pair_weights.py::test_the_largest_excess_is_that_of_all_sets": [
        "gaussian.pair_weights._walk"  # by largest_excess
    ],
    "kernels/gaussian/test_pair_weights.py::test_the_largest_excess_of_blocks_is_that_of_all_sets": [
        "gaussian.block_pair_weights._walk"  # by largest_block_excess
    ],
    "kernels/gaussian/test_price_climbs.py::test_the_value_of_every_set_found_is_its_remainder": [
        "gaussian.price_climbs.climb_from"
    ],
    "kernels/gaussian/test_block_useful_twins.py::test_pairs_and_parents_that_never_earn_what_they_need": [
        "gaussian.block_useful.useful_pairs",
        "gaussian.block_useful.useful_parents",
    ],
    "families/test_block_search.py::test_mixed_sets_are_those_that_no_subset_beats": [
        "gaussian.block_undominated.resume"  # by Listing
    ],
    "kernels/cuts/test_matrix_twins.py::test_families_of_the_columns_of_blocks": ["cuts.logdet_rows.expand"],
    "kernels/gaussian/test_walk_twins.py::test_the_inverse": ["gaussian.subset_walk.inverse_of"],
    "kernels/gaussian/test_walk_twins.py::test_sweeping_one_variable": ["gaussian.subset_walk.sweep"],
    "kernels/gaussian/test_suffix_twins.py::test_largest_over_subsets": ["gaussian.suffixes.close_subsets"],
    "kernels/gaussian/test_suffix_twins.py::test_the_least_lack": ["gaussian.suffixes.least_lack"],
    "kernels/gaussian/test_suffix_twins.py::test_weights_of_patterns": ["gaussian.suffixes.fill_totals"],
    "kernels/gaussian/test_suffix_twins.py::test_gains_and_where_they_are_attained": ["gaussian.suffixes.fill_gains"],
    "kernels/gaussian/test_suffix_twins.py::test_bounds_of_sets": ["gaussian.suffixes.least_costs_of"],
    "kernels/gaussian/test_suffix_twins.py::test_slopes_of_bounds": ["gaussian.suffixes.slopes"],
    "kernels/gaussian/test_suffix_twins.py::test_states_lose_each_node_in_turn": ["gaussian.suffixes.expand"],
    "kernels/gaussian/test_suffix_twins.py::test_states_are_gathered_once_with_the_least_cost": [
        "gaussian.suffixes.gather",
        "gaussian.suffixes.note_wanted",
    ],
    "families/test_node_search.py::test_all_sets_with_a_large_remainder_are_found": [
        "gaussian.undominated.resume"  # by NodeSearch
    ],
    "kernels/gaussian/test_useful.py::test_candidates_that_are_excluded_are_in_no_set_whose_members_are_all_useful": [
        "gaussian.useful.useful_pairs",
        "gaussian.useful.useful_parents",
    ],
    "methods/exact/test_best_classes.py::test_lists_of_parent_sets_are_the_best": ["lattice.best_classes.best_sets"],
    "methods/exact/test_best_classes.py::test_classes_are_the_best_of_all_dags": [
        "lattice.best_classes.extend"  # by solve_best_classes
    ],
    "kernels/lattice/test_subset_lattice.py::test_fill_gives_the_best_subset": ["lattice.best_parents.fill"],
    "kernels/lattice/test_subset_lattice.py::test_rows_and_blocks_give_the_best_order_of_every_set": [
        "lattice.best_orders.extend",
        "lattice.edge_regret.extend_back",
    ],
    "kernels/lattice/test_subset_lattice.py::test_close_high_in_any_order_of_stretches": ["lattice.subsets.close_high"],
    "kernels/lattice/test_subset_lattice.py::test_best_set_is_the_first_of_the_best": ["lattice.subsets.best_set"],
    "kernels/lattice/test_subset_lattice.py::test_scale_by_size": ["lattice.subsets.scale_by_size"],
    "kernels/lattice/test_way_back.py::test_a_pool_is_gone_through_backwards": ["lattice.edge_regret.blocks_back"],
    "kernels/lattice/test_way_back.py::test_best_scores_with_and_without_each_parent": [
        "lattice.edge_regret.around",
        "lattice.edge_regret.with_and_without",
        "lattice.edge_regret.listed_with_and_without",
    ],
    "kernels/lattice/test_order_sums.py::test_tables_are_sums_over_orders": [
        "lattice.order_sums.weigh",
        "lattice.order_sums.logarithms",
        "lattice.order_sums.sum_before",
        "lattice.order_sums.sum_after",
        "lattice.order_sums.around",
        "lattice.order_sums.parent_shares",
    ],
    "kernels/lattice/test_pool_lattice.py::test_blocks_are_the_plain_recursion": ["lattice.pools.blocks"],
    "kernels/lattice/test_pool_lattice.py::test_best_candidate_is_the_first_of_the_best": [
        "lattice.pools.best_candidate"
    ],
    "kernels/orders/test_insertion_twins.py::test_parents_of_an_order": ["orders.insertion.score_order"],
    "kernels/orders/test_insertion_twins.py::test_only_required_parents": ["orders.insertion.give_required"],
    "kernels/orders/test_insertion_twins.py::test_given_parents_are_used_if_they_score_more": [
        "orders.insertion.use_parents"
    ],
    "kernels/orders/test_insertion_twins.py::test_a_variable_goes_to_its_best_place": ["orders.insertion.insert_best"],
    "kernels/orders/test_linked.py::test_parents_of_an_order": ["orders.linked.follow", "orders.linked.score_order"],
    "kernels/orders/test_linked.py::test_given_parents_are_used_if_they_score_more": ["orders.linked.give_parents"],
    "kernels/orders/test_linked.py::test_local_scores": ["orders.linked.local_scores"],
    "kernels/orders/test_order_trees.py::test_a_walk_ends_where_growing_and_shrinking_does": [
        "orders.trees.walk"  # by Walks
    ],
    "kernels/orders/test_listed_twins.py::test_children_are_those_with_a_set_that_has_the_node": [
        "orders.listed.lists_of"  # by drawn
    ],
    "kernels/orders/test_listed_twins.py::test_each_variable_goes_to_its_best_place": [
        "orders.listed.insert_best_listed"
    ],
    "kernels/orders/test_listed_twins.py::test_a_settled_order_and_its_parents": [
        "orders.listed.settle",
        "orders.listed.listed_parents",
    ],
    "kernels/orders/test_listed_twins.py::test_kicks_end_where_one_place_after_the_other_is_tried": [
        "orders.listed_kicks.kick_listed"
    ],
}
# why a kernel has none, and what is tested instead
WITHOUT = {
    "orders.kicks.kick": "the order of the moves decides where it ends; test_kicks.py checks that the score is that of "
    "the DAG and never falls, and that what is undone leaves no trace",
    "orders.kicks.settle": "as kick",
    "orders.kicks.end": "as kick: ends or undoes what kick and settle began",
    "orders.kicks.queue_all": "as kick: only fills the queue that settle empties",
    "orders.linked.kick": "as orders.kicks.kick, checked in test_linked.py",
    "orders.linked.settle": "as kick",
    "orders.linked.end": "as kick: ends or undoes what kick and settle began",
    "orders.linked.queue_all": "as kick: only fills the queue that settle empties",
}


def kernels():
    """Return the compiled functions of every module of the room of kernels."""
    found = {}
    for path in sorted((PACKAGE / "kernels").rglob("*.py")):
        module = ".".join([ROOM, *path.relative_to(PACKAGE / "kernels").with_suffix("").parts])
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        found[module] = {
            f.name for f in functions if any(ast.unparse(mark).startswith("njit") for mark in f.decorator_list)
        }
    return found


def named_by(tree, known):
    """Return the kernels that a module names: imported one by one, or as attributes of a module that it imports."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    pairs = [(node.module, alias.name) for node in imports for alias in node.names]
    found = {f"{module}.{name}" for module, name in pairs if name in known.get(module, ())}
    modules = [whole for module, name in pairs if (whole := f"{module}.{name}") in known]
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {f"{module}.{name}" for module in modules for name in known[module] & attributes}


def public_kernels():
    """Return the names of the kernels that Python calls."""
    known = kernels()
    others = [path.read_text() for path in PACKAGE.rglob("*.py") if PACKAGE / "kernels" not in path.parents]
    found = set().union(*(named_by(ast.parse(text), known) for text in others if ROOM in text))
    found = {name.removeprefix(f"{ROOM}.") for name in found}
    kernels_in_list = json.loads((PACKAGE / "kernels" / "needed.json").read_text())["kernels"]
    listed = {kernel for kernel, _, runs, _ in kernels_in_list if runs}
    own = {name for name in found if not name.rpartition(".")[2].startswith("_")}
    return own | {
        kernel for kernel in listed if kernel.rpartition(".")[2] in known[f"{ROOM}.{kernel.rpartition('.')[0]}"]
    }


def test_every_public_kernel_has_a_twin_or_a_reason():
    """Each once; and nothing is named that is not public any more."""
    named = [*(kernel for own in TWINS.values() for kernel in own), *WITHOUT]
    assert sorted(named) == sorted(public_kernels())


def test_the_tests_exist_and_name_their_kernels():
    """A test that was renamed, or no longer speaks of its kernel, is noticed."""
    for where, own in TWINS.items():
        path, _, test = where.partition("::")
        text = (TESTS / path).read_text()
        assert f"\ndef {test}(" in text, where
        through = {"walk": "joint_slice", "_walk": "largest_excess", "resume": "NodeSearch", "extend": "best("}
        for kernel in own:
            name = kernel.rpartition(".")[2]
            assert name in text or through[name] in text, f"{where} does not speak of {kernel}"


def test_a_kernel_without_a_place_is_found():
    """Imported by name, or as an attribute of its module; private ones and other modules' do not count."""
    known = {f"{ROOM}.cuts.tree": {"entries", "_hidden"}, f"{ROOM}.boxes": set()}
    for text in (
        "from dagopt.kernels.cuts.tree import entries",
        "from dagopt.kernels.cuts import tree\ntree.entries(1)",
        "from dagopt.kernels.cuts import tree as kernels\nself._kernels = kernels\nself._kernels.entries(1)",
    ):
        assert named_by(ast.parse(text), known) == {f"{ROOM}.cuts.tree.entries"}
    assert named_by(ast.parse("from dagopt.lp import tree\ntree.entries(1)"), known) == set()
