"""Mixed networks: draws follow the equations, densities add up, fits find the parameters again."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from dagopt.data.columns import columns_from_frame
from dagopt.data.mixed import MixedTable
from dagopt.errors import InputError
from dagopt.networks.fitted.fitted_mixed import fit_mixed
from dagopt.networks.logit import fit_logit, log_probabilities
from dagopt.networks.mixed_network import MixedNetwork
from dagopt.networks.simulate import random_mixed_network, simulate


def _network():
    """Return smoker -> pressure <- age, pressure -> ill."""
    return MixedNetwork(
        ("smoker", "age", "pressure", "ill"),
        (("no", "yes"), (), (), ("none", "mild", "severe")),
        ((), (), (0, 1), (2,)),
        (
            np.array([[-0.5]]),
            np.array([[50.0]]),
            np.array([[70.0, 8.0, 1.0]]),
            np.array([[-6.0, 0.05], [-14.0, 0.1]]),
        ),
        np.array([np.nan, 100.0, 25.0, np.nan]),
    )


def _table(frame):
    return MixedTable(tuple(columns_from_frame(frame)))


def test_draws_follow_the_equations():
    """Shares, means and effects of a large sample are those of the network."""
    frame = _network().sample(100_000, 1)
    assert (frame["smoker"] == "yes").mean() == pytest.approx(1 / (1 + np.exp(0.5)), abs=0.01)
    assert frame["age"].std() == pytest.approx(10, abs=0.1)
    noise = frame["pressure"] - frame["age"] - np.where(frame["smoker"] == "yes", 8, 0)
    assert noise.mean() == pytest.approx(70, abs=0.1)
    assert noise.var() == pytest.approx(25, abs=0.5)


def test_the_density_is_a_density():
    """Summed over levels and integrated over a continuous column, probabilities come to one."""
    network = _network()

    def density(pressure):
        rows = [("yes", 55.0, pressure, ill) for ill in ("none", "mild", "severe")]
        frame = pd.DataFrame(rows, columns=network.names)
        own = network.log_likelihoods(frame)
        prior = network.log_likelihoods(frame.assign(pressure=133.0))  # to take smoker and age out
        at_mean = -0.5 * np.log(2 * np.pi * 25)
        share = (
            prior[0] - at_mean - network._node_logs(network._columns(frame.assign(pressure=133.0), range(4)), 3, 3)[0]
        )
        return np.exp(own - share).sum()

    assert quad(density, 93, 173)[0] == pytest.approx(1, abs=1e-6)


def test_a_fit_finds_the_parameters_again():
    """Estimates of many rows are within a few standard errors of the truth, and the errors are about right."""
    network = _network()
    fitted = fit_mixed(_table(network.sample(20_000, 3)), network.parents)
    assert fitted.network.levels == (("no", "yes"), (), (), ("mild", "none", "severe"))
    one = fitted.effects[2]
    np.testing.assert_array_less(np.abs(one.estimates[0] - network.coefficients[2][0]), 4 * one.standard_errors[0])
    assert one.variance == pytest.approx(25, rel=0.05)
    terms = fitted.parameters.set_index(["node", "level", "term"])
    assert list(terms.loc["pressure"].index.get_level_values("term")) == ["(intercept)", "smoker=yes", "age"]
    row = terms.loc[("ill", "severe", "pressure")]  # against mild, which comes first in the alphabet
    assert abs(row["estimate"] - 0.05) < 4 * row["standard_error"]


def test_standard_errors_are_those_of_repeated_draws():
    """The spread of estimates over draws of the same network is what the standard errors say."""
    network = _network()
    found = [fit_mixed(_table(network.sample(500, seed)), network.parents) for seed in range(60)]
    for node, row in ((2, 0), (3, 1)):
        estimates = np.array([fit.effects[node].estimates[row] for fit in found])
        errors = np.array([fit.effects[node].standard_errors[row] for fit in found])
        np.testing.assert_allclose(estimates.std(axis=0), errors.mean(axis=0), rtol=0.35)


def test_two_levels_and_one_binary_parent_have_a_closed_form():
    """The log odds of a two by two table, with the standard error sqrt(1/a + 1/b + 1/c + 1/d)."""
    counts = np.array([[30, 20], [10, 40]])
    x = np.repeat([0, 0, 1, 1], counts.ravel())
    y = np.repeat([0, 1, 0, 1], counts.ravel())
    beta, errors = fit_logit(np.column_stack([np.ones(100), x]), y, 2)
    assert beta[0] == pytest.approx([np.log(20 / 30), np.log(40 / 10) - np.log(20 / 30)], abs=1e-3)
    assert errors[0, 1] == pytest.approx(np.sqrt((1 / counts).sum()), rel=1e-3)


def test_levels_that_are_told_apart_keep_finite_odds():
    """A parent that decides the level gives large coefficients, not infinite ones."""
    x = np.linspace(-1, 1, 40)
    beta, errors = fit_logit(np.column_stack([np.ones(40), x]), (x > 0).astype(int), 2)
    assert np.isfinite(beta).all()
    assert np.isfinite(errors).all()
    p = np.exp(log_probabilities(np.column_stack([np.ones(40), x]), beta))[:, 1]
    assert ((p > 0.5) == (x > 0)).all()


def test_predictions_from_parents_and_from_the_blanket():
    """The mean of the equation; and with children, the posterior mean by Bayes' rule on a fine grid."""
    network = _network()
    frame = network.sample(300, 4)
    mean = 70 + frame["age"] + np.where(frame["smoker"] == "yes", 8, 0)
    np.testing.assert_allclose(network.predict(frame, "pressure", given="parents"), mean)
    near = network.predict(frame, "pressure", given="blanket")
    assert np.mean((near - frame["pressure"]) ** 2) < np.mean((mean - frame["pressure"]) ** 2)
    grid = np.linspace(100, 200, 20001)
    row = frame.iloc[0]
    prior = -0.5 * (grid - mean.iloc[0]) ** 2 / 25
    odds = np.column_stack([np.zeros(len(grid)), -6 + 0.05 * grid, -14 + 0.1 * grid])
    logs = odds[:, network.levels[3].index(row["ill"])] - np.log(np.exp(odds).sum(axis=1)) + prior
    weights = np.exp(logs - logs.max())
    assert near.iloc[0] == pytest.approx((weights * grid).sum() / weights.sum(), abs=1e-3)
    assert set(network.predict(frame, "smoker")) <= {"no", "yes"}


def test_simulated_mixed_networks():
    """Half the columns are discrete, edges are of every kind, the same seed gives the same rows."""
    data, dag = simulate(12, 500, 1.5, 3, kind="mixed")
    assert (data.dtypes == "category").sum() == 6
    assert nx.is_directed_acyclic_graph(dag)
    pd.testing.assert_frame_equal(data, simulate(12, 500, 1.5, 3, kind="mixed").data)
    drawn = [simulate(12, 5, 2, seed, kind="mixed").dag for seed in range(5)]
    kinds = {(dag.nodes[a]["kind"], dag.nodes[b]["kind"]) for dag in drawn for a, b in dag.edges}
    assert len(kinds) == 4
    assert all(len(own) in (0, 3) for own in random_mixed_network(6, 1, random_state=0, levels=3).levels)


def test_bad_mixed_networks():
    """Wrong shapes and levels are named."""
    with pytest.raises(InputError, match="coefficients of 'b' of shape"):
        MixedNetwork(("a", "b"), ((), ()), ((), (0,)), (np.zeros((1, 1)), np.zeros((1, 1))), np.ones(2))
    with pytest.raises(InputError, match="got 'maybe'"):
        _network().log_likelihood(_network().sample(5, 0).astype({"ill": object}).assign(ill="maybe"))
