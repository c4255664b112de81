"""Resamples, restarts and penalties on a dask cluster of two worker processes: the answers of one machine."""

import joblib
import numpy as np
import pytest

import dagopt

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Two workers with one thread each, in processes of their own."""
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    """Return 8 columns, 400 rows."""
    return dagopt.simulate(8, 400, 1.5, 3).data


def _pids(client):
    return set(client.run(lambda: __import__("os").getpid()).values())


def test_resamples_restarts_and_penalties_do_not_depend_on_where_they_run(cluster, data):
    """The bootstrap, the order search and the path of the exact method, here and there."""
    asked = {
        "bootstrap": lambda: dagopt.bootstrap(data, 6, random_state=1, progress=False).edges.to_dict("records"),
        "restarts": lambda: dagopt.learn(data, "order", restarts=4, random_state=1, progress=False).adjacency.tolist(),
        "path": lambda: [
            (result.score, result.adjacency.tolist())
            for result in dagopt.path(data, n=4, method="exact", progress=False).results
        ],
    }
    here = {name: call() for name, call in asked.items()}
    with joblib.parallel_config(backend="dask"):
        there = {name: call() for name, call in asked.items()}
    assert there == here


def test_the_work_is_done_by_the_workers(cluster, data):
    """Tasks ran in both processes."""
    with joblib.parallel_config(backend="dask"):
        dagopt.bootstrap(data, 12, random_state=2, progress=False)
    ran = cluster.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(_pids(cluster)) == 2
    assert np.all(np.array(list(ran.values())) > 0)
