"""``python -m experiments``: the quick run of table 1 through the command, a killed run, and a cluster of two."""

import json
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from dagopt import cli
from dagopt.scores.build import make_score
from experiments.commands import paper_commands
from experiments.design import designs
from experiments.instances import load
from experiments.records import parse_graph
from experiments.store import best_of, read_folder

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAPER = typer.main.get_command(paper_commands).commands


def run_paper(arguments):
    """Run ``python -m experiments`` with these arguments and return its exit code."""
    return cli.run(arguments, paper_commands, "python -m experiments")


OUTCOME = ("status", "score", "true_score", "bound", "graph", "shd")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Return the folder of results of ``python -m experiments run table1 --quick``."""
    folder = tmp_path_factory.mktemp("quick") / "results"
    assert run_paper(["run", "table1", "--quick", "--quiet", "--jobs", "2", "--results", str(folder)]) == 0
    return folder


def outcomes(folder):
    """Return what came out of every run, without times."""
    return {
        key: tuple(getattr(record, name) for name in OUTCOME) for key, record in best_of(read_folder(folder)).items()
    }


def test_the_quick_run_is_right(quick):
    """Every run has an answer, none above the proven optimum, and each score is that of the graph kept."""
    records = read_folder(quick)
    assert {record.key for record in records} == {run.key for run in designs()["table1"].quick_runs()}
    optimum = {record.instance: record.score for record in records if record.method == "exact"}
    for record in records:
        table, true = load(record.cell, record.seed)
        score = make_score(table, "bic")
        assert record.true_score == pytest.approx(score.total(true), abs=1e-3)
        assert optimum[record.instance] >= record.true_score - 1e-3
        if record.method == "exact":
            assert record.status == "optimal"
            assert record.bound == pytest.approx(record.score, abs=1e-3)
        if record.score is not None:
            assert record.score <= optimum[record.instance] + 1e-3
        if record.method != "pc":
            assert record.score == pytest.approx(
                score.total(parse_graph(record.graph, table.values.shape[1])), abs=1e-3
            )
        if record.method == "cg-dca-paper":
            assert record.first_pricing > 0


def test_show_has_the_runs_in_text_files_and_json(quick, tmp_path, capsys):
    """Tables are printed, written as Markdown and LaTeX with pictures, and given as JSON."""
    out, page = tmp_path / "tables", tmp_path / "results.md"
    assert run_paper(["show", "all", "--results", str(quick), "--out", str(out), "--markdown", str(page)]) == 0
    printed = capsys.readouterr().out
    for design in designs().values():
        assert f"{design.place}: {design.title}" in printed
        assert {f"{design.name}.md", f"{design.name}.tex"} <= {file.name for file in out.iterdir()}
        assert (out / f"{design.name}.md").read_text().strip() in page.read_text()
    assert (out / "profiles.png").read_bytes().startswith(b"\x89PNG")
    assert "(tables/profiles.png)" in page.read_text()
    assert run_paper(["show", "table1", "--results", str(quick), "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    row = dict(zip(table["parts"][0]["columns"], table["parts"][0]["rows"]["(15, 5000, 2.0)"], strict=True))
    assert (row["runs"], row["CG-DCA paper"], row["exact"]) == (1, 0.39, 0.0)


def test_a_second_run_has_nothing_to_do(quick, capsys):
    """What is recorded is not run again, and the list counts it."""
    before = outcomes(quick)
    assert run_paper(["run", "table1", "--quick", "--quiet", "--results", str(quick)]) == 0
    assert "0 of 0 runs made (nothing to do), 11 were recorded before" in capsys.readouterr().out
    assert outcomes(quick) == before
    assert run_paper(["list", "--results", str(quick), "--json"]) == 0
    listed = {row["table"]: row for row in json.loads(capsys.readouterr().out)["tables"]}
    assert listed["table1"]["recorded"] == 11
    assert listed["table9"]["recorded"] == 6
    assert listed["headline"]["recorded"] == 2


@pytest.mark.slow
def test_a_run_killed_at_any_moment_and_restarted_gives_the_same(quick, tmp_path):
    """The set of results, with scores and graphs, is that of a run left alone."""
    folder = tmp_path / "results"
    chosen = ["table1", "--quick", "--quiet", "--methods", "hc,pc", "--jobs", "2", "--results", str(folder)]
    process = subprocess.Popen([sys.executable, "-m", "experiments", "run", *chosen], stdout=subprocess.DEVNULL)
    time.sleep(random.uniform(1.0, 9.0))
    process.kill()
    process.wait()
    assert run_paper(["run", *chosen]) == 0
    alone = {key: outcome for key, outcome in outcomes(quick).items() if key[2] in ("hc", "pc")}
    assert outcomes(folder) == alone
    assert len(read_folder(folder)) == len(alone) == 4


@pytest.mark.slow
def test_the_same_command_on_a_cluster(quick, tmp_path):
    """Two workers of dask make the runs, and they are those of this machine's threads."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        options = ["--backend", "dask", "--scheduler", cluster.scheduler_address, "--results", str(tmp_path)]
        assert run_paper(["run", "table1", "--quick", "--quiet", "--methods", "hc", *options]) == 0
    assert outcomes(tmp_path) == {key: one for key, one in outcomes(quick).items() if key[2] == "hc"}


def test_runs_without_an_answer_are_told(quick, tmp_path, capsys):
    """Exit code 1 and the reason; what is recorded as failed is left alone unless asked again."""
    shutil.copytree(quick, tmp_path / "results")
    file = tmp_path / "results" / "hc.jsonl"
    first, *rest = file.read_text().splitlines()
    failed = {
        key: value for key, value in json.loads(first).items() if key in ("instance", "seed", "method", "options")
    }
    file.write_text("\n".join([json.dumps(failed | {"limit": 600, "status": "failed", "error": "x"}), *rest]) + "\n")
    options = ["table1", "--quick", "--methods", "hc", "--results", str(tmp_path / "results"), "--json"]
    assert run_paper(["run", *options, "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 0
    assert run_paper(["run", *options, "--retry"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["made"] == {"converged": 1}
    assert re.search(r"runs 0/1  left about \d+ s", captured.err)
    assert outcomes(tmp_path / "results") == outcomes(quick)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "tabel1"], "did you mean 'table1'"),
        (["show", "table1", "--results", "no"], "expected a folder of results at 'no'"),
        (["run", "table1", "--seeds", "0..3"], "expected --seeds to be numbers such as 0-2,5"),
        (["run", "table1", "--methods", "hcc"], "has no runs with these --methods"),
        (["run", "table1", "--time-limit", "0"], "expected --time-limit to be a number > 0"),
        (["run", "table1", "--backend", "dusk"], "did you mean 'dask'"),
        (["run", "table3", "--data", "no"], "expected a folder at 'no' with the data sets"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments, message, tmp_path, monkeypatch, capsys):
    """Exit code 2, nothing on standard output, nothing made."""
    monkeypatch.chdir(tmp_path)
    assert run_paper([*arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", PAPER)
def test_help_has_an_example_and_the_page_every_option(name, capsys):
    """Each command shows how it is used, and docs/paper.md has its options."""
    assert run_paper([name, "--help"]) == 0
    assert f"python -m experiments {name}" in capsys.readouterr().out
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    for parameter in PAPER[name].params:
        longest = max(parameter.opts, key=len)
        if longest.startswith("--") and longest != "--help":
            assert f"`{longest}" in page, longest
    for table in designs():
        assert f"`{table}`" in page
