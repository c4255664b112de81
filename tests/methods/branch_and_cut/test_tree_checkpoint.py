"""Checkpoints of branch and cut: from each one the same DAG and bound follow; a file that was changed is refused."""

from __future__ import annotations

import json
import shutil
from itertools import islice

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods import checkpoint_file
from dagopt.methods.branch_and_cut import branch_and_cut, lane, suffix_search, tree
from dagopt.methods.branch_and_cut.checkpoint import load_saved
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.methods.checkpoint_file import Saver, array, digest_of, identity_of, packed, write_checkpoint
from dagopt.progress import NoProgress
from dagopt.schema import Misfit
from dagopt.workers import Workers
from made_problems import problem_of


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Keep a copy of every checkpoint; each state is written at once."""
    copies = []

    def write(content, path):
        write_checkpoint(content, path)
        copies.append(tmp_path / f"{len(copies)}.json")
        shutil.copy(path, copies[-1])

    monkeypatch.setattr(checkpoint_file, "write_checkpoint", write)
    monkeypatch.setattr(checkpoint_file, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(checkpoint_file, "COST_SHARE", np.inf)
    return copies


def outcome(result):
    """Return what two runs must agree on."""
    details = {name: result.details.get(name) for name in ("n_tree_nodes", "n_cuts", "n_lps", "n_states")}
    return result.adjacency.tolist(), result.score, result.bound, result.status, details


def branching(monkeypatch):
    """Make a run branch early, and save itself after every round of the tree and every second one at the root."""
    monkeypatch.setattr(tree, "RENEWED_WORK", 0)
    monkeypatch.setattr(lane, "RENEWED_ROUNDS", 2)
    rules = branch_and_cut.Rules(tolerance=1e-8, rounds_back=(2, 1), share=(0.5, 0.5), most_rounds=1, pairs=2)
    monkeypatch.setattr(branch_and_cut, "RULES", rules)


@pytest.mark.parametrize("kind", [pytest.param("gaussian", marks=pytest.mark.slow), "discrete", "mixed"])
def test_a_tree_is_continued_to_the_same_end(kind, kept, tmp_path, monkeypatch):
    """At the root and below it: nodes, cuts, LPs, DAG and bound are those of the run that was not stopped."""
    branching(monkeypatch)
    if kind == "gaussian":
        data, _ = dagopt.simulate(8, 300, 2.0, 3)
    else:
        data, _ = dagopt.datasets.load("insurance", n_samples=200, random_state=0)
        data = data.iloc[:, :9]
        if kind == "mixed":
            data["x"] = np.random.default_rng(0).normal(size=200) + data.iloc[:, 0].cat.codes
    options = {"rows": ("entropies", "last-node", "symmetry", "local"), "checkpoint": tmp_path / "run.json"}
    alone = dagopt.learn(data, "branch-and-cut", **options)
    assert alone.status == "optimal"
    assert kept
    for one in list(kept)[:: max(len(kept) // 2, 1)]:
        resumed = dagopt.learn(data, "branch-and-cut", **(options | {"checkpoint": one, "resume": True}))
        assert outcome(resumed) == outcome(alone)
        assert (resumed.trace["seconds"].diff().dropna() >= 0).all()


def test_a_search_from_the_end_is_continued_to_the_same_end(kept, tmp_path, monkeypatch):
    """From each size of states the same states, DAG and bound follow."""
    monkeypatch.setattr(suffix_search, "FEWEST_NODES", 2)
    data, _ = dagopt.simulate(11, 1000, 2.0, 1)
    options = {"max_sets": 10, "checkpoint": tmp_path / "run.json"}
    alone = dagopt.learn(data, "branch-and-cut", **options)
    assert alone.status == "optimal"
    assert len(kept) > 3
    for one in list(kept)[1::3]:
        resumed = dagopt.learn(data, "branch-and-cut", **(options | {"checkpoint": one, "resume": True}))
        assert outcome(resumed) == outcome(alone)


def test_pricing_is_continued_to_the_same_end(kept, tmp_path, monkeypatch):
    """Without a time limit the bounds take turns by rounds alone, so that the same rounds follow."""
    monkeypatch.setattr(branch_and_cut, "suited", lambda *facts: None)
    data, _ = dagopt.simulate(8, 400, 1.5, 2)
    monkeypatch.setattr(PairBound, "run", lambda pairs, until=None: setattr(pairs, "over", True))
    options = {"max_sets": 10, "checkpoint": tmp_path / "run.json"}
    alone = dagopt.learn(data, "branch-and-cut", **options)
    assert len(kept) >= 2
    for one in list(kept)[:: max(len(kept) // 2, 1)]:
        resumed = dagopt.learn(data, "branch-and-cut", **(options | {"checkpoint": one, "resume": True}))
        assert outcome(resumed) == outcome(alone)
        assert resumed.details["n_pricing_rounds"] == alone.details["n_pricing_rounds"]


def test_what_a_search_that_was_given_up_visited_is_kept(kept, tmp_path, monkeypatch):
    """Pricing that goes on after it reports as many sets as a run that was not stopped."""
    monkeypatch.setattr(suffix_search, "FEWEST_NODES", 2)
    monkeypatch.setattr(suffix_search, "FORESEEN_FROM", 3)
    monkeypatch.setattr(suffix_search.SuffixSearch, "_too_many", lambda *facts: True)
    monkeypatch.setattr(PairBound, "run", lambda pairs, until=None: setattr(pairs, "over", True))
    data, _ = dagopt.simulate(9, 1000, 2.0, 1)
    options = {"max_sets": 10, "checkpoint": tmp_path / "run.json"}
    alone = dagopt.learn(data, "branch-and-cut", **options)
    assert alone.details["n_states"] > 0
    assert alone.details["n_pricing_rounds"] > 0
    resumed = dagopt.learn(data, "branch-and-cut", **(options | {"checkpoint": kept[-1], "resume": True}))
    assert outcome(resumed) == outcome(alone)


def test_pairs_go_on_from_their_state():
    """The bound of another run is not above the one that it goes on from, and in the end nearly that of one run."""
    problem = problem_of(dagopt.as_table(dagopt.simulate(10, 300, 2.0, 0).data))
    dag = dagopt.learn(problem.table, "order").adjacency
    with Workers(Deadline(), NoProgress(), 1) as workers:
        whole, half, rest = (PairBound(problem.score, dag, workers) for _ in range(3))
        whole.run()
        for _ in range(2):
            half._round(half._lp or half._start())
        rest.go_on(half.state)
        assert rest.bound == half.bound
        rest.run()
    assert rest.bound <= half.bound
    assert rest.bound - problem.score.total(dag) < 1.2 * (whole.bound - problem.score.total(dag))


def test_a_stopped_run_is_saved_and_goes_on(tmp_path, monkeypatch):
    """A run that the clock ends leaves its last state, from which another one proves the best DAG."""
    monkeypatch.setattr(suffix_search, "FEWEST_NODES", 2)
    data, _ = dagopt.simulate(11, 1000, 2.0, 1)
    path = tmp_path / "run.json"
    states = []
    options = {"max_sets": 10, "checkpoint": path}

    class Late(Deadline):
        @property
        def reason(self):
            return "time_limit" if path.exists() or len(states) > 1 else None

    problem = problem_of(dagopt.as_table(data))
    search = branch_and_cut._Run(problem, Late(), NoProgress(), branch_and_cut.BranchAndCutOptions(**options), None)
    save = search._save
    search._save = lambda dag, **stage: (states.append(stage), save(dag, **stage))
    stopped = search.solve()
    search.saver.flush()
    assert stopped.status == "time_limit"
    resumed = dagopt.learn(data, "branch-and-cut", score="bic", resume=True, **options)
    assert resumed.status == "optimal"
    assert resumed.score == pytest.approx(dagopt.learn(data, "exact", score="bic").score)


def test_auto_continues_a_checkpoint(kept, tmp_path, monkeypatch):
    """Whatever it would choose: here exact, which saves nothing."""
    branching(monkeypatch)
    data, _ = dagopt.simulate(8, 300, 2.0, 3)
    path = tmp_path / "run.json"
    first = dagopt.learn(data, "branch-and-cut", checkpoint=path)
    shutil.copy(kept[0], path)
    result = dagopt.learn(data, checkpoint=path, resume=True, time_limit=60)
    assert result.status == "optimal"
    assert result.score == pytest.approx(first.score)
    assert "its checkpoint is continued" in result.notes[0]
    assert dagopt.learn(data, checkpoint=tmp_path / "none.json", resume=True).method == "exact"
    assert not (tmp_path / "none.json").exists()


def test_other_data_and_options_are_refused(kept, tmp_path, monkeypatch):
    """The error names what differs."""
    branching(monkeypatch)
    data, _ = dagopt.simulate(8, 300, 2.0, 3)
    other, _ = dagopt.simulate(8, 300, 2.0, 4)
    path = tmp_path / "run.json"
    dagopt.learn(data, "branch-and-cut", checkpoint=path)
    assert path.exists()
    for table, options, named in ((other, {}, "data"), (data, {"score": "aic"}, "score"), (data, {"rows": ()}, "rows")):
        with pytest.raises(InputError, match=f"belongs to another: {named} was"):
            dagopt.learn(table, "branch-and-cut", checkpoint=path, resume=True, **options)
    with pytest.raises(InputError, match="resume=True needs checkpoint="):
        dagopt.learn(data, "branch-and-cut", resume=True)


def test_what_is_neither_data_nor_label_identifies_a_run_too():
    """Rows with interventions and beliefs change local scores: another run."""
    data, _ = dagopt.simulate(5, 200, 1.0, 0)
    targets = np.where(np.arange(200) < 50, "X1", "")
    believed = {"constraints": dagopt.Constraints(edge_prior={("X0", "X1"): 0.9})}
    problems = [
        dagopt.learn(data, "hc", score="bic", **more).problem for more in ({}, {"interventions": targets}, believed)
    ]
    found = [identity_of(one, {})["values"] + identity_of(one, {})["data"] for one in problems]
    assert len(set(found)) == 3


def changed(value):
    """Yield plain values in each of which one part is other than in the given one."""
    if isinstance(value, dict):
        for key in value:
            yield {name: one for name, one in value.items() if name != key}
            yield from ({**value, key: one} for one in changed(value[key]))
    elif isinstance(value, list) and value:
        yield value[1:]
        for k in {0, len(value) - 1}:
            yield from ([*value[:k], one, *value[k + 1 :]] for one in changed(value[k]))
    else:
        yield from ("zz", -3, None, [], {}, 10**9)


def test_a_changed_file_gives_one_sentence(kept, tmp_path, monkeypatch):
    """Also with the right hash: no change of a part ends in anything but an error of one line, or a run."""
    branching(monkeypatch)
    data, _ = dagopt.simulate(5, 200, 2.0, 3)
    path = tmp_path / "run.json"
    dagopt.learn(data, "branch-and-cut", checkpoint=path)
    content = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"note": "', '"note": "x'))
    with pytest.raises(InputError, match="is not one, or is damaged; start again without resume="):
        load_saved(path, content["problem"], problem_of(dagopt.as_table(data)))
    del content["sha256"]
    errors, problem = [], problem_of(dagopt.as_table(data))
    for one in islice(changed(content), 0, None, 3):
        path.write_text(json.dumps({**one, "sha256": digest_of(one)}))
        try:
            load_saved(path, content["problem"], problem)
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > 80
    assert not any("\n" in error for error in errors)


@pytest.mark.parametrize("kind", [np.bool_, np.int64, np.float64, np.uint64, np.uint8])
def test_arrays_come_back(kind):
    """Any shape and type, and the wrong ones are refused."""
    values = np.random.default_rng(0).integers(0, 2, (3, 11)).astype(kind)
    plain = json.loads(json.dumps(packed(values)))
    found = array(kind, 3, None)(plain, "here")
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    for wrong in (array(kind, 4, None), array(kind, 3), array(np.float32, 3, 11)):
        with pytest.raises(Misfit, match="here"):
            wrong(plain, "here")


def test_files_are_written_every_few_minutes(tmp_path):
    """The first state is not written at once; what is not written yet is when the run ends."""
    now, written = [0.0], []
    path = tmp_path / "run.json"
    saver = Saver(path, clock=lambda: now[0])
    for seconds in (1.0, 119.0, 121.0, 130.0):
        now[0] = seconds
        saver.note(lambda seconds=seconds: written.append(seconds) or {"at": seconds})
    assert written == [121.0]
    saver.flush()
    saver.flush()
    assert written == [121.0, 130.0]
    assert json.loads(path.read_text())["at"] == 130.0


def test_a_proof_does_not_end_because_its_checkpoint_cannot_be_written(tmp_path):
    """A folder that is not there is an error at once; one that goes away later is told, and the run goes on."""
    with pytest.raises(InputError, match="there is no folder"):
        dagopt.learn(dagopt.simulate(5, 100, 1.0, 0).data, "branch-and-cut", checkpoint=tmp_path / "no" / "run.json")
    folder, told = tmp_path / "gone", []
    folder.mkdir()
    saver = Saver(folder / "run.json", told.append)
    folder.rmdir()
    saver.note(lambda: {"at": 1})
    saver.flush()
    assert "there is no folder" in told[0]
    folder.mkdir()
    saver.flush()
    assert (folder / "run.json").exists()
