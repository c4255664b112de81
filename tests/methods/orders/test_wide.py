"""Search over very many columns, on few: pairs found in blocks, hidden parents, and the best DAG if it is known."""

import itertools

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic, parent_lists
from dagopt.methods.orders import near_pairs, wide
from dagopt.methods.orders.near_pairs import Blocks, pairs_above, unit_columns
from dagopt.methods.orders.wide import WideScore, search_wide
from dagopt.progress import NoProgress


def has_gpu() -> bool:
    """Say whether CuPy finds a device."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        return False


def found_in(values, penalty, most=8, **options):
    """Return what the search finds in a table."""
    names = [f"V{k}" for k in range(values.shape[1])]
    score = WideScore(len(values), penalty * np.arange(most + 1))
    return search_wide(values, names, score, Deadline(), NoProgress(), **options)


@pytest.mark.parametrize("block", [3, 7, 100])
def test_no_pair_above_the_threshold_is_lost(monkeypatch, block):
    """Whatever the blocks, the pairs are those of the whole matrix, each once."""
    monkeypatch.setattr(near_pairs, "BLOCK", block)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 20)) + rng.normal(size=(50, 1)) * rng.random(20) + 1e6
    columns, scale = unit_columns(values, np.arange(20))
    matrix = np.corrcoef(values.T)
    least = float(np.abs(matrix[2, 5])) - 1e-9  # a pair that is hardly above
    assert scale == pytest.approx(values.std(axis=0), rel=1e-9)
    listed = [pairs_above(columns, a, b, least) for a, b, _ in Blocks(columns).above(least, Deadline())]
    pairs = [(int(a), int(b)) for one in listed for a, b in zip(one[0], one[1], strict=True)]
    wanted = [(a, b) for a in range(20) for b in range(a + 1, 20) if abs(matrix[a, b]) > least]
    assert sorted(pairs) == wanted
    assert (2, 5) in pairs
    left = np.ascontiguousarray(columns[4:9], dtype=np.float32)
    beside = {
        (int(a), int(b))
        for x, y, _ in Blocks(columns).above(least, Deadline(), left)
        for a, b in zip(x, y, strict=True)
    }
    assert {(a, b) for a in range(5) for b in range(20) if abs(matrix[a + 4, b]) > least} <= beside


@pytest.mark.parametrize("seed", range(5))
def test_the_best_dag_of_few_columns(seed):
    """On sparse tables of eight columns it is the one that the recursion over all sets proves best."""
    data, _ = dagopt.simulate(8, 500, 1.0, seed)
    best = dagopt.learn(data, "exact", score="bic", progress=False)
    found = found_in(data.to_numpy(), 0.5 * np.log(500))
    constant = -0.5 * 500 * 8 * (1 + np.log(2 * np.pi)) - 500 * np.log(found.scale).sum()
    assert found.is_checked
    assert constant + found.score == pytest.approx(best.score, abs=1e-6)
    edges = [(f"X{p}", f"X{v}") for v, own in enumerate(found.parents) for p in own]
    assert dagopt.score(data, edges, score="bic") == pytest.approx(best.score, abs=1e-6)
    lost = [best.score - dagopt.score(data, [e for e in edges if e != edge], score="bic") for edge in edges]
    assert found.edge_gains == pytest.approx(lost, abs=1e-6)


def test_parents_that_help_only_beside_others_are_found(monkeypatch):
    """Where some are hidden, the search over correlated pairs alone ends below the order search over all pairs."""
    data, _ = dagopt.simulate(15, 200, 2.0, 3)
    penalty = 0.5 * np.log(200)
    best = dagopt.learn(data, "order", score="bic", progress=False).score
    found = found_in(data.to_numpy(), penalty, most=14)
    constant = -0.5 * 200 * 15 * (1 + np.log(2 * np.pi)) - 200 * np.log(found.scale).sum()
    assert found.n_hidden > 0
    assert found.is_checked
    assert constant + found.score == pytest.approx(best, abs=1e-6)
    monkeypatch.setattr(wide, "MOST_ROUNDS", 1)
    assert found_in(data.to_numpy(), penalty, most=14).score < found.score - 1.0


def test_parents_beside_which_others_hide_are_those_of_equivalent_dags():
    """Each is the parent set of the column in a DAG of the class; every undirected edge points to each of its ends."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        dag = np.triu(rng.random((5, 5)) < 0.4, 1).astype(np.int8)
        nothing = np.zeros(0, dtype=np.int64)
        run = wide.WideSearch(parent_lists(dag), np.zeros(5), np.arange(5), *([nothing] * 3), "", np.ones(5))
        cases = wide._cases(run, 5)
        essential = cpdag(dag)
        pairs = np.argwhere(np.triu(dag | dag.T))
        members = []
        for turned in itertools.product([False, True], repeat=len(pairs)):
            one = np.zeros((5, 5), dtype=np.int8)
            for (a, b), back in zip(pairs, turned, strict=True):
                one[(b, a) if back else (a, b)] = 1
            if is_acyclic(one) and np.array_equal(cpdag(one), essential):
                members.append({(v, *np.flatnonzero(one[:, v]).tolist()) for v in range(5)})
        assert set(cases) <= set().union(*members)
        assert {(v, *np.flatnonzero(dag[:, v]).tolist()) for v in range(5) if dag[:, v].any()} <= set(cases)
        for a, b in np.argwhere(essential & essential.T):
            assert any(case[0] == b and a in case[1:] for case in cases)


def test_parents_that_hide_behind_an_edge_the_other_way_are_found(monkeypatch):
    """Looking only beside the parents that columns have ends far below the order search over all pairs."""
    data, _ = dagopt.simulate(40, 200, 2.0, 11)
    penalty = 0.5 * np.log(200) + 4
    found = found_in(data.to_numpy(), penalty, most=14)
    best = dagopt.learn(data, "order", score=penalty, progress=False, max_parents=14).score
    constant = -0.5 * 200 * 40 * (1 + np.log(2 * np.pi)) - 200 * np.log(found.scale).sum()
    assert constant + found.score > best - 5
    own = [(v, *parents.tolist()) for v, parents in enumerate(found.parents)]
    monkeypatch.setattr(wide, "cpdag", lambda dag: dag)
    assert set(wide._cases(found, 14)) <= set(own)
    assert found_in(data.to_numpy(), penalty, most=14).score < found.score - 50


def test_copies_stop_the_search():
    """They are named, up to sign and units, and nothing is searched."""
    values = np.random.default_rng(0).normal(size=(40, 5))
    values[:, 3] = 2 - 3 * values[:, 1]
    found = found_in(values, 2.0)
    assert found.copies.tolist() == [[1, 3]]
    assert not any(map(len, found.parents))


def test_a_start_is_never_lost():
    """A search from a DAG ends no worse, also where its edges are no candidates."""
    data, _ = dagopt.simulate(10, 300, 1.5, 3)
    values, penalty = data.to_numpy(), 0.5 * np.log(300)
    first = found_in(values, penalty)
    again = found_in(values, penalty, kicks=0, start=first.parents)
    assert again.score >= first.score - 1e-6
    with Deadline(1e-9) as over:
        score = WideScore(300, penalty * np.arange(9))
        stopped = search_wide(values, list(data), score, over, NoProgress(), start=first.parents)
    assert not stopped.is_checked


def test_later_rounds_search_near_new_candidates():
    """Columns within two edges of those that have new candidates, whatever the directions."""
    chain = [np.zeros(0, dtype=np.int64), *(np.array([k]) for k in range(9))]
    run = wide.WideSearch(chain, np.zeros(10), np.arange(10), *([np.zeros(0, dtype=np.int64)] * 3), "", np.ones(10))
    assert wide._near(run, np.array([5]), 10).tolist() == [3, 4, 5, 6, 7]
    assert wide._near(run, np.array([0, 9]), 10).tolist() == [0, 1, 2, 7, 8, 9]


class Device:
    """Stands for CuPy: arrays of its own that NumPy does not take by itself."""

    def __init__(self):
        self.multiplied = 0

    def asarray(self, array):
        return OnDevice(array.held if isinstance(array, OnDevice) else array, self)

    def abs(self, array, out):
        np.abs(array.held, out=out.held)

    def flatnonzero(self, array):
        return OnDevice(np.flatnonzero(array.held), self)

    def asnumpy(self, array):
        return array.held


class OnDevice:
    """An array on the device; only what CuPy's arrays have too."""

    __array__ = None  # CuPy refuses to be turned into a NumPy array silently

    def __init__(self, held, device):
        self.held, self.device = held, device

    def __getitem__(self, part):
        return OnDevice(self.held[part], self.device)

    def __len__(self):
        return len(self.held)

    def __matmul__(self, other):
        self.device.multiplied += 1
        return OnDevice(self.held @ other.held, self.device)

    def __gt__(self, bar):
        return OnDevice(self.held > bar, self.device)

    @property
    def T(self):
        return OnDevice(self.held.T, self.device)

    @property
    def shape(self):
        return self.held.shape


def test_products_on_a_device_are_those_of_the_processor(monkeypatch):
    """With a stand-in for CuPy: nothing but its own calls reaches an array on the device."""
    device = Device()
    monkeypatch.setattr(near_pairs, "_gpu", lambda device_, shape: device)
    monkeypatch.setattr(near_pairs, "GPU_BLOCK", 8)
    data, _ = dagopt.simulate(25, 200, 1.0, 1)
    values, penalty = data.to_numpy(), 0.5 * np.log(200)
    there = found_in(values, penalty, device="gpu")
    here = found_in(values, penalty, device="cpu")
    assert device.multiplied > 10
    assert there.where == "on a GPU"
    assert there.score == here.score
    assert [own.tolist() for own in there.parents] == [own.tolist() for own in here.parents]


def test_a_device_with_little_memory_is_not_used(monkeypatch):
    """It is refused by name if it was asked for, and the processor is used otherwise."""
    monkeypatch.setattr(near_pairs, "find_device", lambda: (np, "a small device", 1 << 20))
    monkeypatch.setattr(near_pairs, "WORTH_A_GPU", 1)
    columns = np.eye(600)
    assert Blocks(columns).where == "on the CPU"
    with pytest.raises(InputError, match=r"products of 600 columns need .* but a small device has"):
        Blocks(columns, "gpu")


@pytest.mark.skipif(not has_gpu(), reason="needs CuPy and a CUDA device")
@pytest.mark.parametrize("n", [50, 9_000])
def test_pairs_found_on_a_gpu(n):
    """No pair above the threshold is lost, and those found are those of the processor; blocks do not fit evenly."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, n))
    values[:, 1::2] += 0.6 * values[:, : n // 2]
    columns, _ = unit_columns(values, np.arange(n))
    found = []
    for device in ("cpu", "gpu"):
        blocks = Blocks(columns, device)
        assert blocks.where == ("on the CPU" if device == "cpu" else "on a GPU")
        listed = [pairs_above(columns, a, b, 0.4) for a, b, _ in blocks.above(0.4, Deadline())]
        found.append({(int(a), int(b)) for one in listed for a, b in zip(one[0], one[1], strict=True)})
        left = np.ascontiguousarray(columns[:7], dtype=np.float32)
        beside = [(some[a], b) for a, b, _ in blocks.above(0.4, Deadline(), left) for some in [np.arange(7)]]
        found.append({(int(x), int(y)) for a, b in beside for x, y in zip(a, b, strict=True)})
    assert found[0] == found[2]
    assert {(a, b) for a, b in found[0] if a < 7} <= found[3]


@pytest.mark.skipif(not has_gpu(), reason="needs CuPy and a CUDA device")
def test_a_search_on_a_gpu_is_that_on_the_processor():
    """The graph and its score are the same."""
    data, _ = dagopt.simulate(300, 300, 1.0, 0)
    values, penalty = data.to_numpy(), 0.5 * np.log(300) + 2
    here, there = (found_in(values, penalty, device=device) for device in ("cpu", "gpu"))
    assert there.where == "on a GPU"
    assert there.score == pytest.approx(here.score, abs=1e-6)
