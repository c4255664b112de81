"""Order knowledge and priors of edges against brute force over all DAGs of five columns, in every method."""

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.graph.knowledge import Constraints
from tests.oracles.every_dag import continuous_table, discrete_table, parent_sets, totals

PROVING = ("exact", "branch-and-cut", "gobnilp", "auto")
SEARCHING = ("order", "hc", "tabu")


def best_of_all(problem, before) -> float:
    """Return the best score of the DAGs with an order in which all pairs of ``before`` hold."""
    n, found = problem.n_nodes, totals(problem.score, problem.knowledge)
    with_order = parent_sets(n).copy()
    for a, b in before:
        with_order[:, b] |= 1 << a
    left = np.full(len(with_order), (1 << n) - 1)
    for _ in range(n):
        for i in range(n):
            left &= ~(((with_order[:, i] & left) == 0) * (1 << i))
    return float(found[left == 0].max())


def draw(seed: int):
    """Return a table, pairs of an order, and constraints with them, perhaps with beliefs and a limit."""
    rng = np.random.default_rng(seed)
    table = continuous_table(5, seed) if seed % 2 else discrete_table(5, seed)
    order = rng.permutation(5)
    every = [(int(order[i]), int(order[j])) for i in range(5) for j in range(i + 1, 5)]
    pairs = [every[k] for k in rng.choice(10, rng.integers(1, 4), replace=False)]
    known = {"before": [(table.names[a], table.names[b]) for a, b in pairs]}
    if seed % 3:
        ends = [(0, 1), (2, 3), (4, 0)]
        known["edge_prior"] = [(table.names[a], table.names[b], float(rng.uniform(0.01, 0.99))) for a, b in ends]
    if seed % 4 == 0:
        known["max_parents"] = 2
    return table, pairs, known


def check(seed: int, methods) -> None:
    """Run the methods on a drawn problem and compare them with brute force."""
    table, pairs, known = draw(seed)
    for method in methods:
        result = dagopt.learn(table, method, score="bic", constraints=known)
        best = best_of_all(result.problem, pairs)
        assert result.problem.knowledge.allows_dag(result.adjacency)
        assert result.problem.score.total(result.adjacency) == pytest.approx(result.score)
        assert result.score <= best + 1e-6
        assert result.bound is None or result.bound >= best - 1e-9
        if method in PROVING:
            assert result.score == pytest.approx(best, abs=1e-6)
        if method in ("exact", "auto"):
            assert result.status == "optimal"


@pytest.mark.parametrize("seed", range(6))
def test_every_method_holds_order_and_beliefs(seed: int) -> None:
    """Proven answers are the best of all DAGs that obey, searches obey."""
    check(seed, (*PROVING, *SEARCHING))


@pytest.mark.slow
def test_order_and_beliefs_on_many_tables() -> None:
    """The same on 60 tables, for the methods that prove."""
    for seed in range(6, 66):
        check(seed, PROVING)


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
    forms = (rows, {("a", "b"): 0.8, ("c", "a"): 0.1}, frame, odds, square, tmp_path / "prior.csv")
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
