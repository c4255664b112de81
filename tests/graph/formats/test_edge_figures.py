"""Figures of edges in the files that hold them."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

import dagopt


def test_results_and_networkx_graphs_bring_their_figures(tmp_path):
    """Gain, frequency and coefficients of each edge are in GraphML and DOT, and the graphs read back the same."""
    data = dagopt.simulate(6, 300, 1.5, random_state=1).data
    learned = dagopt.learn(data, "exact")
    edges = learned.graph.directed_edges
    figures = {"frequency": {f"{a} -> {b}": 0.5 + k / 100 for k, (a, b) in enumerate(edges)}}
    learned = replace(learned, figures=replace(learned.figures, edge_figures=figures))
    dagopt.write_graph(learned, tmp_path / "a.graphml")
    back = nx.read_graphml(tmp_path / "a.graphml")
    for k, (a, b) in enumerate(edges):
        assert back.edges[a, b]["gain"] == pytest.approx(learned.details["edge_gain"][f"{a} -> {b}"])
        assert back.edges[a, b]["frequency"] == 0.5 + k / 100
    dagopt.write_graph(learned, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert text.count('"gain"=') == text.count('"frequency"=') == len(edges)
    for name in ("a.dot", "a.graphml"):
        assert set(dagopt.read_graph(tmp_path / name).directed_edges) == set(edges)
    fitted = learned.fit().to_networkx()
    dagopt.write_graph(fitted, tmp_path / "b.dot")
    assert (tmp_path / "b.dot").read_text().count('"weight"=') == len(edges)
    dagopt.write_graph(learned, tmp_path / "a.csv")
    assert set(dagopt.read_graph(tmp_path / "a.csv").directed_edges) == set(edges)
