"""Order knowledge, paths and priors of edges against brute force over all DAGs of five columns, in every method."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dagopt
from benchmarks.knowledge import Checked, draw, faults
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.graph.knowledge import reaching

PROVING = ("exact", "auto", "branch-and-cut", "gobnilp")
SEARCHING = ("order", "hc", "tabu")


@pytest.mark.parametrize("seed", range(8))
def test_every_method_holds_order_paths_and_beliefs(seed: int) -> None:
    """Proven answers are the best of all DAGs that obey, searches obey, and bounds hold."""
    drawn = draw(seed)
    checked = Checked(drawn)
    for method in (*PROVING, *SEARCHING) if seed < 2 else PROVING[:2]:
        counts: Counter[str] = Counter()
        assert faults(drawn, checked, method, counts) == []
        assert not counts["refused"]
        if method in PROVING[:2]:
            assert counts["best"] == counts["proven"] == 1


def test_an_order_excludes_paths() -> None:
    """No path leads from the later to the earlier column."""
    data, _ = dagopt.simulate(n_nodes=6, n_samples=300, degree=2, random_state=1)
    free = dagopt.learn(data)
    reach = np.linalg.matrix_power(np.eye(6) + free.adjacency, 6) > 0
    tail, head = next((i, j) for i, j in np.argwhere(reach) if i != j and not free.adjacency[i, j])
    result = dagopt.learn(data, constraints={"before": [(free.names[head], free.names[tail])]})
    again = np.linalg.matrix_power(np.eye(6) + result.adjacency, 6) > 0
    assert not again[tail, head]
    assert result.score <= free.score


def test_paths_are_made_by_the_best_edges() -> None:
    """Columns that the data do not join are joined by a path, at the lowest cost, and other paths are not touched."""
    data, _ = dagopt.simulate(n_nodes=6, n_samples=300, degree=1, random_state=1)
    free = dagopt.learn(data)
    reach = reaching(free.adjacency != 0)
    tail, head = next((i, j) for i, j in np.argwhere(~reach) if i != j and not reach[j, i])
    known = {"ancestors": [(free.names[tail], free.names[head])]}
    result = dagopt.learn(data, constraints=known)
    assert result.status == "optimal"
    assert reaching(result.adjacency != 0)[tail, head]
    direct = dagopt.learn(data, constraints={"required": known["ancestors"]})
    assert direct.score - 1e-6 <= result.score < free.score
    searched = dagopt.learn(data, "tabu", constraints=known, time_limit=1e-6)
    assert searched.problem.knowledge.allows_dag(searched.adjacency)


def test_paths_that_cannot_be_are_refused() -> None:
    """Contradictions name the pair, and questions about parent sets or orders alone name the key."""
    data, _ = dagopt.simulate(n_nodes=4, n_samples=200, random_state=1)
    both = {"ancestors": [("X0", "X1")], "before": [("X1", "X0")]}
    circle = {"ancestors": [("X0", "X1"), ("X1", "X2"), ("X2", "X0")]}
    closed = {"ancestors": [("X0", "X1")], "forbidden": [("X0", name) for name in ("X1", "X2", "X3")]}
    for known, why in ((both, "contradicts"), (circle, "contradicts"), (closed, "no allowed edges lead from 'X0'")):
        with pytest.raises(InputError, match=why):
            dagopt.learn(data, constraints=known)
    known = {"ancestors": [("X0", "X1")]}
    with pytest.raises(InputError, match="'pc' tests independence and cannot hold ancestors="):
        dagopt.learn(data, "pc", constraints=known)
    result = dagopt.learn(data, constraints=known)
    posterior = partial(dagopt.edge_posterior, data, constraints=known)
    asks = (result.rivals, result.regrets, lambda: result.effect("X0", "X1"), posterior)
    for ask in asks:
        with pytest.raises(InputError, match="ancestors="):
            ask()


def test_contradictions_and_other_questions_are_refused() -> None:
    """A cycle in the order, methods that test, and questions about parent sets alone raise errors."""
    data, _ = dagopt.simulate(n_nodes=4, n_samples=200, random_state=1)
    with pytest.raises(InputError, match="before itself"):
        dagopt.learn(data, constraints={"before": [("X0", "X1"), ("X1", "X0")]})
    with pytest.raises(InputError, match="age"):
        dagopt.learn(data, constraints={"before": [("X0", "age")]})
    known = {"before": [("X0", "X1")]}
    with pytest.raises(InputError, match="'pc' cannot hold before="):
        dagopt.learn(data, "pc", constraints=known)
    result = dagopt.learn(data, constraints=known)
    for ask in (result.rivals, result.regrets, lambda: result.effect("X0", "X1")):
        with pytest.raises(InputError, match="before="):
            ask()
    with pytest.raises(InputError, match="before="):
        dagopt.bootstrap(data, 2, constraints=known)
    assert set(result.directions().values()) <= {"open", "unchecked", "directed"}


def test_beliefs_come_in_many_forms(tmp_path) -> None:
    """Rows, mappings, frames and files say the same."""
    rows = [("a", "b", 0.8), ("c", "a", 0.1)]
    frame = pd.DataFrame(rows, columns=["from", "to", "probability"])
    frame.to_csv(tmp_path / "prior.csv", index=False)
    square = pd.DataFrame(0.5, index=list("abc"), columns=list("abc"))
    square.loc["a", "b"], square.loc["c", "a"] = 0.8, 0.1
    odds = frame.assign(log_odds=np.log(frame["probability"] / (1 - frame["probability"]))).drop(columns="probability")
    expected = np.zeros((3, 3))
    expected[0, 1], expected[2, 0] = np.log(4), -np.log(9)
    forms = (
        rows, {("a", "b"): 0.8, ("c", "a"): 0.1}, frame, odds, square, square.to_numpy(), tmp_path / "prior.csv"
    )  # fmt: skip
    for form in forms:
        assert np.allclose(Constraints(edge_prior=form).resolve(["a", "b", "c"]).log_odds, expected)
    with pytest.raises(InputError, match="required or forbidden"):
        Constraints(edge_prior=[("a", "b", 1.0)])


def test_a_strong_belief_decides_a_direction() -> None:
    """Equivalent directions are told apart by what is believed."""
    data, _ = dagopt.simulate(n_nodes=2, n_samples=300, degree=0.5, random_state=3)
    for tail, head in (("X0", "X1"), ("X1", "X0")):
        result = dagopt.learn(data, constraints={"edge_prior": [(tail, head, 0.99)]})
        assert result.graph.directed_edges == [(tail, head)]


def test_learn_takes_beliefs_and_says_what_they_change() -> None:
    """The note compares with the graph that is learned without them."""
    data, _ = dagopt.simulate(n_nodes=4, n_samples=300, degree=1, random_state=3)
    free = dagopt.learn(data)
    joined = {(a, b): {(a, b), (b, a)} & set(free.dag.edges) for a in free.names for b in free.names}
    absent = next((a, b) for a in free.names for b in free.names if a != b and not joined[a, b])
    result = dagopt.learn(data, edge_prior=[(*absent, 1 - 1e-9)])
    assert absent in result.dag.edges
    assert f"new: '{absent[0]} - {absent[1]}'" in result.summary()
    tail, head = next(iter(free.dag.edges))
    result = dagopt.learn(data, edge_prior={(tail, head): 1e-90, (head, tail): 1e-90})
    assert not joined[tail, head] & set(result.dag.edges)
    assert "beliefs about 2 edges, compared with none: " in result.summary()
    assert "no edge is different" in dagopt.learn(data, edge_prior={absent: 0.49}).summary()
    with pytest.raises(InputError, match="given twice"):
        dagopt.learn(data, edge_prior={absent: 0.4}, constraints={"edge_prior": {absent: 0.4}})
