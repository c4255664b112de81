"""A small, fixed part of the hunt: two tables of every family, and broken files of every format."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import kinds_check
from dagopt.methods.branch_and_cut.prefix_search import PrefixSearch
from hunt import cuts, files, knowing, near, others, provers, series, truth
from hunt.__main__ import look_at_claims
from hunt.claims import Wrong, check_method, shrunk
from hunt.record import Record
from hunt.tables import FAMILIES, Instance, draw
from hunt.truth import IS_EXTENDED, Known, best_score, log_gamma

pytestmark = pytest.mark.skipif(not IS_EXTENDED, reason="long doubles are no longer than doubles here")


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_hold(family):
    """Scores, bounds, proofs, classes, regrets and probabilities are those of extended precision."""
    counts = Counter()
    assert look_at_claims(11, 4, counts, family) is None
    assert counts["instances"] == 1
    assert counts["switches: pools"] == 4


@pytest.mark.parametrize("number", range(10))
def test_claims_about_other_tables_hold(number):
    """One table of each kind, from mixed columns to parts of a stream: every method, the best classes and regrets."""
    counts = Counter()
    assert others.look(11, number, counts) is None
    assert counts["bounds"] > 0


@pytest.mark.parametrize("n", [3, 4])
def test_classes_of_all_dags_are_those_of_skeletons_and_v_structures(n):
    """DAGs have the same number if and only if they have the same skeleton and v-structures."""
    names = [truth.class_of(tuple(dag)) for dag in truth.dags_of(n).tolist()]
    pairs = set(zip(truth.classes_of(n).tolist(), names, strict=True))
    assert len(pairs) == len(set(names)) == int(truth.classes_of(n).max()) + 1 == {3: 11, 4: 185}[n]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", kinds_check.ONE_KIND)
def test_brute_force_over_one_kind_of_columns(kind):
    """A table of each kind that the hunt for other tables does not draw, by the command's own comparison."""
    counts, wrong = kinds_check.check(kind, [3])
    assert wrong == []
    assert counts["tables"] == counts["n_best"] == 1
    assert counts["bounds"] == 6


def test_scores_that_differ_from_the_oracle_are_found(monkeypatch):
    """With the scores of the oracle raised a little, every claim of an optimum is wrong."""
    plain = kinds_check.KINDS["Gaussian, BIC"]

    def raised(rng):
        case = plain(rng)
        return dataclasses.replace(case, local={family: value + 1e-3 for family, value in case.local.items()})

    monkeypatch.setitem(kinds_check.KINDS, "Gaussian, BIC", raised)
    assert len(kinds_check.check("Gaussian, BIC", [3])[1]) == 1


@pytest.mark.filterwarnings("ignore::dagopt.errors.DataWarning")
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow), 2, 3])
def test_what_is_near_the_best_is_right(number):
    """Rivals, effects, directions of small tables against all DAGs, and of larger ones found in two ways."""
    counts = Counter()
    assert near.look(5, 14 + number, counts) is None
    assert counts["lists of rivals"] + counts["both ways, by cutting planes"] > 0


@pytest.mark.filterwarnings("ignore::dagopt.errors.DataWarning")
@pytest.mark.parametrize("number", [pytest.param(8, marks=pytest.mark.slow), 15, 21])
def test_claims_under_order_paths_and_beliefs_hold(number):
    """Weights of levels with beliefs, mixed interventions with an order, interventions with paths: every method."""
    counts = Counter()
    assert knowing.look(1, number, counts) is None
    assert counts["bounds"] > 0


@pytest.mark.filterwarnings("ignore::dagopt.errors.DataWarning")
@pytest.mark.parametrize("number", range(3))
def test_claims_about_series_hold(number):
    """Lagged tables with gaps and units: every method, probabilities of edges, regrets and rivals."""
    counts = Counter()
    assert series.look(2, number, counts) is None
    assert counts["bounds"] > 0


@pytest.mark.filterwarnings("ignore::dagopt.errors.DataWarning")
def test_a_false_claim_under_paths_is_found(monkeypatch):
    """A bound that is lowered below the best DAG with the paths is a finding."""
    learn = knowing.dagopt.learn

    def too_low(*arguments, **options):
        result = learn(*arguments, **options)
        return replace(result, certificate=replace(result.certificate, bound=result.score - 1.0))

    monkeypatch.setattr(knowing.dagopt, "learn", too_low)
    assert "is said to exceed" in knowing.look(1, 21, Counter())


def test_broken_requests_are_answered_or_refused():
    """The studio's application answers 40 broken requests, and still has a state."""
    pytest.importorskip("starlette")
    from hunt import studio

    counts = Counter()
    assert studio.look(1, 0, counts) is None
    assert sum(counts.values()) == studio.REQUESTS


@pytest.mark.parametrize("part", provers.PARTS, ids=lambda part: part.__name__[1:])
def test_claims_hold_where_one_part_decides(part):
    """A table per part of a prover, larger than the others, against the recursion."""
    part(np.random.default_rng(3), Counter())


@pytest.mark.slow
def test_shards_share_the_instances_and_add_up(tmp_path):
    """Two processes look at different tables, and their counts are in one file, from which a second hunt goes on."""
    state = tmp_path / "hunt.json"
    command = [sys.executable, "-m", "hunt", "files", "--seconds", "2", "--jobs", "2", "--state", str(state)]
    seen = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        seen.append(sum(Record.load(state, 0).counts["files"].values()))
    nexts = [json.loads((tmp_path / f"hunt-{k}-of-2.json").read_text())["next"]["files"] for k in (0, 1)]
    assert [number % 2 for number in nexts] == [0, 1]
    assert seen[1] > seen[0] > 0


def test_a_false_claim_is_found(monkeypatch):
    """A score that is off by a millionth of itself is wrong, and the instance is made small."""
    import dagopt

    learn = dagopt.learn

    def lying(*arguments, **options):
        from dataclasses import replace

        result = learn(*arguments, **options)
        return replace(result, score=result.score * (1 + 1e-6))

    instance = draw(0, 0, "gaussian")
    local, factor = instance.truth()
    check_method(instance, "exact", local, factor, Counter())
    monkeypatch.setattr(dagopt, "learn", lying)

    def fails(smaller):
        try:
            check_method(smaller, "exact", *smaller.truth(), Counter())
        except Wrong:
            return True
        return False

    assert fails(instance)
    small = shrunk(instance, fails)
    assert small.values.size < instance.values.size


@pytest.mark.parametrize("switch", ["loss", "score"])
def test_a_search_over_prefixes_that_drops_too_much_is_found(monkeypatch, switch):
    """Limits that are too strict by little more than rounding lose a best DAG of some pool."""
    prepare, group = PrefixSearch._prepare, PrefixSearch._group

    def strict_loss(search, families):
        prepare(search, families)
        search._limits = (search._limits[0], search._limits[1] + 1.5)

    def strict_score(search, n):
        group(search, n)
        search._limits = (search._limits[0] + 1.5, search._limits[1])

    def hunted():
        for seed in range(20):
            cuts.check_pool(np.random.default_rng([7, seed]), counts)

    counts = Counter()
    hunted()
    assert counts["switches: pools"] == 20
    monkeypatch.setattr(PrefixSearch, "_prepare" if switch == "loss" else "_group",
                        strict_loss if switch == "loss" else strict_score)  # fmt: skip
    with pytest.raises(Wrong):
        hunted()


def test_truth_by_hand():
    """Two columns: the best of three DAGs, by the formula of a regression on one column."""
    values = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 4.0], [3.0, 2.0]])
    instance = Instance("gaussian", values, 0.5, {}, Known())
    local, _ = instance.truth()
    apart, left = values - values.mean(axis=0), 0.0
    left = (apart[:, 1] ** 2).sum() - (apart[:, 0] @ apart[:, 1]) ** 2 / (apart[:, 0] ** 2).sum()
    alone = [-2 * (1 + np.log(2 * np.pi) + np.log((apart[:, j] ** 2).mean())) for j in (0, 1)]
    joined = -2 * (1 + np.log(2 * np.pi) + np.log(left / 4)) - 0.5
    assert float(best_score(local, 2, Known())) == pytest.approx(alone[0] + max(alone[1], joined))
    assert float(log_gamma(5.0)) == pytest.approx(np.log(24.0), rel=1e-15)


@pytest.mark.parametrize("kind", sorted(files.COMMANDS))
def test_broken_files_end_in_a_sentence(kind, tmp_path, monkeypatch, capsys):
    """Every format, broken in a few ways, through one of its commands: an answer or one line."""
    monkeypatch.chdir(tmp_path)
    for name, content in files.right_files().items():
        (tmp_path / name).write_bytes(content)
    rng = np.random.default_rng(len(kind))
    ending = kind[kind.index(".") :]
    for _ in range(6):
        (tmp_path / f"broken{ending}").write_bytes(files.broken(files.right_files()[kind], rng))
        code = files.run_command(files.COMMANDS[kind][0], f"broken{ending}")
        said = capsys.readouterr().err
        assert code in (0, 1, 2)
        assert code != 2 or said.count("\n") == 1
