"""Linear programs on HiGHS: values as scipy's, one sign of duals, and growing equals starting from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dagopt.errors import DagoptError
from dagopt.lp import highs
from dagopt.lp.highs import LinearProgram, SolverError

SEEDS = st.integers(0, 2**16)


def made_program(seed):
    """Return costs, rows, right-hand sides and upper bounds of a maximisation that 0 satisfies."""
    rng = np.random.default_rng(seed)
    n_columns, n_rows = rng.integers(1, 8), rng.integers(1, 8)
    matrix = rng.integers(-1, 4, (n_rows, n_columns)) * rng.random((n_rows, n_columns))
    return rng.normal(size=n_columns) * 5, matrix, rng.random(n_rows) * 4, rng.random(n_columns) * 3 + 0.1


def filled(maximise, costs, matrix, right, upper):
    """Return the program, given at once: columns first."""
    program = LinearProgram(maximise)
    for cost, bound in zip(costs, upper, strict=True):
        program.add_column(cost, 0.0, bound)
    for row, bound in zip(matrix, right, strict=True):
        program.add_row(-np.inf, bound, range(len(costs)), row)
    return program


def oracle(costs, matrix, right, upper):
    """Return the value of the maximisation by scipy."""
    answer = linprog(-costs, A_ub=matrix, b_ub=right, bounds=[(0, u) for u in upper], method="highs-ipm")
    assert answer.status == 0
    return -answer.fun


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_an_optimal_point_with_its_multipliers(seed):
    """Maximising under rows <=, λ >= 0, slack rows have λ = 0, and reduced costs have the sign of the bound."""
    costs, matrix, right, upper = made_program(seed)
    solution = filled(True, costs, matrix, right, upper).solve()
    assert solution.value == pytest.approx(oracle(costs, matrix, right, upper), abs=1e-6)
    assert solution.value == pytest.approx(costs @ solution.point, abs=1e-9)
    assert (solution.multipliers >= -1e-9).all()
    slack = right - matrix @ solution.point
    assert (slack >= -1e-7).all()
    np.testing.assert_allclose(slack * solution.multipliers, 0.0, atol=1e-6)
    gain = costs - solution.multipliers @ matrix
    assert (gain[solution.point < upper - 1e-7] <= 1e-7).all()
    assert (gain[solution.point > 1e-7] >= -1e-7).all()
    assert right @ solution.multipliers + np.maximum(gain, 0) @ upper == pytest.approx(solution.value, abs=1e-6)


@settings(deadline=None, max_examples=18)
@given(SEEDS)
def test_minimising_is_maximising_the_negative(seed):
    """The value turns its sign, and the multipliers are those of the maximisation."""
    costs, matrix, right, upper = made_program(seed)
    most = filled(True, costs, matrix, right, upper).solve()
    least = filled(False, -costs, matrix, right, upper).solve()
    assert least.value == pytest.approx(-most.value, abs=1e-7)
    assert (least.multipliers >= -1e-9).all()
    gain = costs - least.multipliers @ matrix
    assert right @ least.multipliers + np.maximum(gain, 0) @ upper == pytest.approx(most.value, abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_growing_equals_starting_from_scratch(seed):
    """Columns and rows that come one by one, with solves between, lead to the value of the whole at once."""
    costs, matrix, right, upper = made_program(seed)
    rng = np.random.default_rng(seed)
    program, columns, rows = LinearProgram(True), [], []
    left = [("column", j) for j in range(len(costs))] + [("row", r) for r in range(len(right))]
    for kind, k in [left[m] for m in rng.permutation(len(left))]:
        if kind == "column":
            assert program.add_column(costs[k], 0.0, upper[k], range(len(rows)), matrix[rows, k]) == len(columns)
            columns.append(k)
        else:
            assert program.add_row(-np.inf, right[k], range(len(columns)), matrix[k, columns]) == len(rows)
            rows.append(k)
        if columns and rng.random() < 0.5:
            expected = oracle(costs[columns], matrix[np.ix_(rows, columns)], right[rows], upper[columns])
            assert program.solve().value == pytest.approx(expected, abs=1e-6)
    assert (program.n_columns, program.n_rows) == (len(costs), len(right))
    solution = program.solve()
    assert solution.value == pytest.approx(oracle(costs, matrix, right, upper), abs=1e-6)
    assert solution.point @ costs[columns] == pytest.approx(solution.value, abs=1e-6)
    assert len(solution.multipliers) == len(right)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_costs_are_changed(seed):
    """With other costs, and then with one more row, the program is the other one."""
    costs, matrix, right, upper = made_program(seed)
    program = filled(True, costs, matrix, right, upper)
    program.solve()
    changed = costs.copy()
    changed[len(costs) // 2 :] = 1.0
    program.set_costs(len(costs) // 2, np.ones(len(costs) - len(costs) // 2))
    assert program.solve().value == pytest.approx(oracle(changed, matrix, right, upper), abs=1e-6)
    assert program.add_row(-np.inf, 0.0, range(len(costs)), np.ones(len(costs))) == len(right)
    assert program.solve().value == pytest.approx(0.0, abs=1e-7)


def test_an_equality_may_have_either_sign():
    """Max -x subject to x = 2: one more unit on the right costs one."""
    program = LinearProgram(True)
    program.add_column(-1.0, 0.0, np.inf)
    program.add_row(2.0, 2.0, [0], [1.0])
    solution = program.solve()
    assert (solution.value, solution.point[0], solution.multipliers[0]) == (-2.0, 2.0, -1.0)


def test_a_program_without_an_answer_is_an_error():
    """No point, or no end, is reported as an error of the library that says what HiGHS said."""
    empty = LinearProgram(True)
    empty.add_column(1.0, 0.0, 1.0)
    empty.add_row(2.0, 2.0, [0], [1.0])
    with pytest.raises(SolverError, match="Infeasible"):
        empty.solve()
    endless = LinearProgram(False)
    endless.add_column(-1.0, 0.0, np.inf)
    with pytest.raises(DagoptError, match=r"[Uu]nbounded"):
        endless.solve()


def test_a_second_simplex_saves_a_run_that_the_first_cannot_end(monkeypatch):
    """When HiGHS stops without an answer, another way is tried before giving up."""
    program = filled(True, np.array([1.0]), np.array([[2.0]]), np.array([1.0]), np.array([3.0]))
    run, calls = program._run, []
    monkeypatch.setattr(program, "_run", lambda: run() and (calls.append(1) or len(calls) > 2))
    assert program.solve().value == pytest.approx(0.5)
    assert len(calls) == 3


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_are_deleted_were_never_there(seed):
    """Without some columns the program has the answer of one that was made without them."""
    costs, matrix, right, upper = made_program(seed)
    program = filled(True, costs, matrix, right, upper)
    program.solve()
    gone = np.arange(0, len(costs), 3)[::-1]
    program.delete_columns(gone)
    left = np.delete(np.arange(len(costs)), gone)
    expected = filled(True, costs[left], matrix[:, left], right, upper[left]).solve()
    assert program.n_columns == len(left)
    assert program.solve().value == pytest.approx(expected.value)


def test_what_the_simplex_cannot_solve_the_interior_point_method_does(monkeypatch):
    """After three failed runs of the simplex the other method gives the point; later the simplex comes first again."""
    costs, matrix, right, upper = made_program(3)
    program = filled(True, costs, matrix, right, upper)
    run, solvers = LinearProgram._run, []

    def fails_three_times(self):
        solvers.append(self._highs.getOptionValue("solver")[1])
        return run(self) and len(solvers) > 3

    monkeypatch.setattr(LinearProgram, "_run", fails_three_times)
    monkeypatch.setattr(highs, "GIVEN_UP", ())
    assert program.solve().value == pytest.approx(oracle(costs, matrix, right, upper), abs=1e-6)
    program.solve()
    assert solvers == ["choose"] * 3 + ["ipm", "choose"]


def test_a_time_limit_is_told_from_infeasibility():
    """Both give no point, but only one is out of time."""
    costs, matrix, right, upper = made_program(5)
    program = filled(True, costs, matrix, right, upper)
    assert program.solve_within(0.0) is None
    assert program.out_of_time
    program.add_row(-np.inf, -1.0, [0], [1.0])
    assert program.solve_within(10.0) is None
    assert not program.out_of_time


@settings(max_examples=18, deadline=None)
@given(SEEDS)
def test_other_right_sides_give_the_value_of_a_new_program(seed):
    """Some rows get one other right side after a solve."""
    costs, matrix, right, upper = made_program(seed)
    program = filled(True, costs, matrix, right, upper)
    program.solve()
    rows = np.arange(0, len(right), 2)
    program.set_row_uppers(rows, np.full(len(rows), 1.5))
    right[rows] = 1.5
    assert program.solve().value == pytest.approx(oracle(costs, matrix, right, upper), abs=1e-6)
