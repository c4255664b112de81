"""Graphs over named variables: DAGs, their equivalence classes, comparison, and files."""

from dagopt.graph.cpdag import extend_pdag, meek_closure, random_member, v_structures
from dagopt.graph.dag import Graph, as_graph, find_cycle, require_dag, topological_order
from dagopt.graph.formats import FORMATS, read_graph, write_graph
from dagopt.graph.metrics import Comparison, compare

__all__ = [
    "FORMATS",
    "Comparison",
    "Graph",
    "as_graph",
    "compare",
    "extend_pdag",
    "find_cycle",
    "meek_closure",
    "random_member",
    "read_graph",
    "require_dag",
    "topological_order",
    "v_structures",
    "write_graph",
]
