"""``result.edges``, iteration over a graph, and what a notebook shows of an error."""

import pytest

import dagopt


def test_edges_are_a_frame_and_a_graph_can_be_walked():
    """One row per edge, in the order of the graph, with its direction and gain."""
    result = dagopt.learn(dagopt.simulate(5, 300, 1.2, random_state=1).data, progress=False)
    frame = result.edges
    assert [*zip(frame["from"], frame["to"], strict=True)] == [*result.graph] == result.graph.directed_edges
    assert frame["direction"].tolist() == [*result.directions().values()]
    assert frame["gain"].tolist() == [result.details["edge_gain"][f"{a} -> {b}"] for a, b in result.graph]
    assert [*dagopt.Graph([[0, 1], [1, 0]], ["a", "b"])] == [("a", "b")]


def test_a_notebook_shows_one_frame_of_our_errors():
    """The user's line and the message, none of the library's own lines."""
    with pytest.raises(dagopt.InputError) as caught:
        dagopt.learn([[1.0, 2.0]], "nothing")
    first, last = caught.value._render_traceback_()
    assert "dagopt.learn" in first
    assert last.startswith("InputError: ")
