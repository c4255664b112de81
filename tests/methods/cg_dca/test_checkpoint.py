"""Checkpoints: what is saved comes back, a run killed at any time ends as if left alone, strangers are refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dagopt
from dagopt import files
from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.graph.constraints import Constraints
from dagopt.methods.cg_dca import cg_dca
from dagopt.methods.cg_dca.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dagopt.methods.cg_dca.dca_pricing import DcaPricer

OPTIONS = {
    "convex_step": "min-norm",
    "pricing": "dca",
    **dict.fromkeys(("order_start", "order_again", "price_incumbent", "start_integer"), False),
}  # several passes


def made_checkpoint(**changes):
    """Return a checkpoint of 71 nodes, with a set past 64 bits of mask."""
    dag = np.zeros((71, 71), dtype=np.int8)
    dag[0, 2] = dag[1, 2] = 1
    rng = np.random.default_rng(5)
    rng.random(7)
    parts = {
        "problem": {"families": ["a", "b", "c"], "score": "bic", "epsilon": 1e-6, "random_state": 0},
        "families": [Family(0, 0, -1.25), Family(2, 0b11, 0.1 + 0.2), Family(1, 1 << 70, -1e-300)],
        "clusters": [frozenset({0, 2}), frozenset({0, 1, 2})],
        "incumbent": dag,
        "passes": 2,
        "random_state": dict(rng.bit_generator.state),
        "trace": [{"seconds": 0.5, "pass": 1, "phase": "families", "lp": float("nan")}],
    }
    return Checkpoint(**{**parts, **changes})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that is killed within milliseconds")
@pytest.mark.parametrize("kills", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_writer_that_is_killed_leaves_a_whole_checkpoint(tmp_path, kills):
    """Processes that do nothing but write, killed after up to 10 ms: the last complete checkpoint is there."""
    path, rng = tmp_path / "run.json", np.random.default_rng(0)
    families = [Family(k % 71, 1 << (k + 1) % 71, float(k)) for k in range(300)]
    saved = [made_checkpoint(passes=passes, families=families[: 100 * passes]) for passes in (1, 3)]
    save_checkpoint(saved[0], path)
    seen = set()
    for _ in range(kills):
        writer = os.fork()
        if writer == 0:
            while True:
                save_checkpoint(saved[1], path)
                save_checkpoint(saved[0], path)
        time.sleep(float(rng.uniform(0.0, 0.01)))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        loaded = load_checkpoint(path, saved[0].problem, 71)
        assert loaded.families == families[: 100 * loaded.passes]
        seen.add(loaded.passes)
    assert seen == {1, 3}


def test_it_comes_back_as_it_was(tmp_path):
    """Every field survives, floats to the last bit, and the generator draws on where it was."""
    saved = made_checkpoint()
    save_checkpoint(saved, tmp_path / "run.json")
    loaded = load_checkpoint(tmp_path / "run.json", saved.problem, 71)
    assert (loaded.families, loaded.clusters, loaded.passes) == (saved.families, saved.clusters, 2)
    np.testing.assert_array_equal(loaded.incumbent, saved.incumbent)
    assert loaded.incumbent.dtype == np.int8
    assert np.isnan(loaded.trace[0].pop("lp"))
    assert loaded.trace == [{"seconds": 0.5, "pass": 1, "phase": "families"}]
    one, other = np.random.default_rng(), np.random.default_rng()
    one.bit_generator.state, other.bit_generator.state = saved.random_state, loaded.random_state
    np.testing.assert_array_equal(one.random(5), other.random(5))


def test_no_dag_and_numpy_numbers(tmp_path):
    """A run without a DAG yet is saved too, and so are numbers of numpy's own types."""
    problem = {"families": ["a"], "random_state": np.int64(7)}
    saved = made_checkpoint(incumbent=None, problem=problem, families=[Family(0, 0, np.float32(0.5))], clusters=[])
    save_checkpoint(saved, tmp_path / "run.json")
    loaded = load_checkpoint(tmp_path / "run.json", problem, 1)
    assert loaded.incumbent is None
    assert loaded.families == [Family(0, 0, 0.5)]


@pytest.mark.parametrize("key", ["families", "score", "epsilon", "random_state"])
def test_another_run_is_refused_by_name(tmp_path, key):
    """The error names what differs, and both values."""
    saved = made_checkpoint()
    save_checkpoint(saved, tmp_path / "run.json")
    with pytest.raises(InputError, match=f"belongs to another: {key} was .* and is now 'else'"):
        load_checkpoint(tmp_path / "run.json", {**saved.problem, key: "else"}, 71)


def test_other_data_and_options_are_refused(tmp_path):
    """A run continues only with its own data, score, knowledge and options; limits may change."""
    path = tmp_path / "run.json"
    data, _ = dagopt.simulate(6, 200, 1.0, 0)
    other, _ = dagopt.simulate(6, 200, 1.0, 1)

    def run(table, **options):
        return dagopt.learn(table, "cg-dca", checkpoint=path, **{**OPTIONS, **options})

    run(data, max_passes=1)
    for table, options, named in (
        (other, {}, "data"),
        (data, {"score": "aic"}, "score"),
        (data, {"init": "warm"}, "init"),
        (data, {"convex_step": "kelley"}, "convex_step"),
        (data, {"random_state": 3}, "random_state"),
        (data, {"constraints": Constraints(max_parents=2)}, "data"),
    ):
        with pytest.raises(InputError, match=f"belongs to another: {named} was"):
            run(table, resume=True, **options)
    assert run(data, resume=True, max_passes=9).details["passes"] > 1


def broken(text, path):
    """Yield files that are no checkpoint."""
    content = json.loads(text)
    yield text[: len(text) // 2]
    yield text[:-1]
    yield "[1, 2]"
    yield "3"
    yield '"text"'
    yield "{}"
    yield json.dumps({**content, "dagopt_checkpoint": 1})
    for key in ("problem", "families", "clusters", "incumbent", "passes", "random_state", "trace"):
        yield json.dumps({name: value for name, value in content.items() if name != key})
    for key, value in (("families", [[0, "zz", 1.0]]), ("families", 5), ("incumbent", [[0, 9]]), ("problem", 4)):
        yield json.dumps({**content, key: value})


def test_a_damaged_file_is_refused(tmp_path):
    """Cut, empty, foreign or incomplete files give one clear line, never a traceback of the reader."""
    path = tmp_path / "run.json"
    saved = made_checkpoint()
    save_checkpoint(saved, path)
    for text in broken(path.read_text(), path):
        path.write_text(text)
        with pytest.raises(InputError, match=r"start again without|expected JSON") as caught:
            load_checkpoint(path, saved.problem, 71)
        assert "\n" not in str(caught.value)
    for content in (b"", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(InputError):
            load_checkpoint(path, saved.problem, 71)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """When the disk fails in the middle, the checkpoint before is still whole, and no draft is left."""
    path = tmp_path / "run.json"
    save_checkpoint(made_checkpoint(), path)
    before = path.read_bytes()

    def half(draft, content):
        with open(draft, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "write_bytes", half)
    with pytest.raises(InputError, match="no space left"):
        save_checkpoint(made_checkpoint(passes=3), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.json"]


def outcome(result):
    """Return what two runs must agree on."""
    return result.adjacency.tolist(), result.score, result.status, result.details["families"], result.details["passes"]


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_a_run_continued_from_any_pass_ends_the_same(tmp_path, monkeypatch, kind):
    """From the checkpoint of every pass the same families, passes, DAG and score follow, and the trace goes on."""
    if kind == "gaussian":
        data, _ = dagopt.simulate(8, 500, 1.5, 1)
    else:
        data, _ = dagopt.datasets.load("insurance", n_samples=300, random_state=0)
        data = data.iloc[:, :10]
    path = tmp_path / "run.json"
    saved = []

    def save_and_keep(checkpoint, where):
        save_checkpoint(checkpoint, where)
        saved.append(tmp_path / f"{len(saved)}.json")
        shutil.copy(where, saved[-1])

    forgotten = []
    forget = DcaPricer.forget
    monkeypatch.setattr(DcaPricer, "forget", lambda pricer: forgotten.append(forget(pricer)))
    monkeypatch.setattr(cg_dca, "save_checkpoint", save_and_keep)
    alone = dagopt.learn(data, "cg-dca", checkpoint=path, **OPTIONS)
    assert len(saved) == len(forgotten) == alone.details["passes"] - 1 >= 2
    monkeypatch.setattr(cg_dca, "save_checkpoint", save_checkpoint)
    for one in list(saved):
        resumed = dagopt.learn(data, "cg-dca", checkpoint=one, resume=True, **OPTIONS)
        assert outcome(resumed) == outcome(alone)
        assert (resumed.trace["seconds"].diff().dropna() >= 0).all()
        facts = ["pass", "phase", "families", "rows", "lp"]
        assert resumed.trace[facts].equals(alone.trace[facts])


CHILD = f"""
import sys, dagopt
OPTIONS = {OPTIONS}
data, _ = dagopt.simulate(12, 2000, 2.0, 0)
dagopt.learn(data, "cg-dca", checkpoint=sys.argv[1], **OPTIONS)
"""


@pytest.mark.slow  # a run is continued from any pass above, without a process that is killed
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_and_resumed(tmp_path):
    """SIGKILL after the first checkpoint, then resume: the DAG and score of the run left alone."""
    path = tmp_path / "run.json"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)])
    end = time.monotonic() + 60
    while not path.exists() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    left = json.loads(path.read_text())
    assert left["passes"] >= 1
    data, _ = dagopt.simulate(12, 2000, 2.0, 0)
    resumed = dagopt.learn(data, "cg-dca", checkpoint=path, resume=True, **OPTIONS)
    alone = dagopt.learn(data, "cg-dca", checkpoint=tmp_path / "alone.json", **OPTIONS)
    assert left["passes"] < alone.details["passes"]
    assert outcome(resumed) == outcome(alone)


def test_resuming_what_was_never_begun_begins(tmp_path):
    """With no file there yet, a run that may resume starts anew; a finished run resumes to its answer."""
    data, _ = dagopt.simulate(6, 200, 1.0, 0)
    path = tmp_path / "run.json"
    first = dagopt.learn(data, "cg-dca", checkpoint=path, resume=True, **OPTIONS)
    assert path.exists()
    assert outcome(dagopt.learn(data, "cg-dca", checkpoint=path, resume=True, **OPTIONS)) == outcome(first)


def test_a_stopped_run_keeps_the_last_whole_pass(tmp_path):
    """A pass that the clock cut short is not saved: its state is not one that a run left alone goes through."""
    data, _ = dagopt.simulate(6, 200, 1.0, 0)
    path = tmp_path / "run.json"
    dagopt.learn(data, "cg-dca", checkpoint=path, time_limit=1e-9, **OPTIONS)
    assert not path.exists()
