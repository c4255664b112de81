"""The doctor: each finding on a small table made to have it, and none on a clean one."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dagopt.data.doctor import examine, examine_table
from dagopt.data.table import ContinuousTable, as_table
from dagopt.errors import InputError
from dagopt.scores import MultinomialScore


def _clean(n_samples=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n_samples, 5)) @ rng.normal(size=(5, 5)), columns=list("abcde"))


def _clean_levels(n_samples=500, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n_samples)
    b = np.where(rng.random(n_samples) < 0.8, a, 1 - a)
    c = rng.integers(0, 3, n_samples)
    return pd.DataFrame({"a": a, "b": b, "c": np.where(rng.random(n_samples) < 0.7, c, 2 * b), "d": c})


def _found(diagnosis):
    """Return severity, code and columns of each finding."""
    return {(f.severity, f.code, f.columns) for f in diagnosis.findings}


def _with(**columns):
    return _clean().assign(**columns)


NOISE = np.random.default_rng(99).normal(size=200)
CLEAN = _clean()

CONTINUOUS = {
    "nothing": (CLEAN, set()),
    "missing": (_with(b=CLEAN["b"].where(CLEAN.index > 2)), {("error", "missing", ("b",))}),
    "missing in two": (
        _with(b=CLEAN["b"].where(CLEAN.index > 2), d=CLEAN["d"].where(CLEAN.index != 9)),
        {("error", "missing", ("b", "d"))},
    ),
    "all missing": (_with(b=np.nan), {("error", "missing", ("b",))}),
    "infinite": (_with(c=CLEAN["c"].where(CLEAN.index != 4, -np.inf)), {("error", "infinite", ("c",))}),
    "too large": (_with(c=CLEAN["c"].where(CLEAN.index != 4, 1e200)), {("error", "too-large", ("c",))}),
    "largest float": (_with(c=CLEAN["c"] / CLEAN["c"].abs().max() * 1.7e308), {("error", "too-large", ("c",))}),
    "too small": (_with(c=CLEAN["c"] * 1e-200), {("error", "too-small", ("c",))}),
    "constant": (_with(e=0.1), {("error", "constant", ("e",))}),
    "copy": (_with(f=CLEAN["b"]), {("error", "duplicate", ("b", "f"))}),
    "copy in other units": (_with(f=-3.6 * CLEAN["b"] + 32), {("error", "duplicate", ("b", "f"))}),
    "two copies": (
        _with(f=CLEAN["b"], g=2 * CLEAN["b"]),
        {("error", "duplicate", ("b", "f")), ("error", "duplicate", ("b", "g"))},
    ),
    "row numbers": (_with(f=np.arange(200.0)), {("warning", "identifier", ("f",))}),
    "row numbers down": (_with(f=0.5 * np.arange(200.0)[::-1] + 7), {("warning", "identifier", ("f",))}),
    "few values": (_with(f=np.sign(NOISE)), {("warning", "few-values", ("f",))}),
    "copies beside a huge column": (
        _with(f=CLEAN["b"], c=CLEAN["c"] * 1e200),
        {("error", "duplicate", ("b", "f")), ("error", "too-large", ("c",))},
    ),
}


@pytest.mark.parametrize("frame, expected", CONTINUOUS.values(), ids=CONTINUOUS)
def test_continuous_findings(frame, expected):
    """Each defect gives its finding with its columns and nothing else."""
    diagnosis = examine(frame)
    assert _found(diagnosis) == expected
    assert (diagnosis.kind, diagnosis.n_samples, diagnosis.n_columns) == ("continuous", *frame.shape)


LEVELS = _clean_levels()
IDS = [f"id{k}" for k in range(500)]

DISCRETE = {
    "nothing": (LEVELS, {}, set()),
    "missing": (LEVELS.assign(b=LEVELS["b"].where(LEVELS.index > 2).astype("Int64")), {}, {("error", "missing", "b")}),
    "constant": (LEVELS.assign(e="same"), {}, {("warning", "constant", "e")}),
    "copy": (LEVELS.assign(e=LEVELS["c"]), {}, {("warning", "duplicate", "ce")}),
    "copy with other names": (
        LEVELS.assign(e=LEVELS["c"].map({0: "z", 1: "y", 2: "x"})),
        {},
        {("warning", "duplicate", "ce")},
    ),
    "identifier": (LEVELS.assign(e=IDS), {}, {("warning", "identifier", "e")}),
    "useless arity": (
        LEVELS.assign(e=[k % 250 for k in range(500)]),
        {"kind": "discrete"},
        {("warning", "arity", "e")},
    ),
    "few rows a cell": (LEVELS[:20], {"max_parents": 3}, {("warning", "few-rows", "abcd")}),
    "rows enough": (LEVELS[:20], {"max_parents": 2}, set()),
}


@pytest.mark.parametrize("frame, options, expected", DISCRETE.values(), ids=DISCRETE)
def test_discrete_findings(frame, options, expected):
    """Each defect gives its finding with its columns and nothing else."""
    diagnosis = examine(frame, **options)
    assert _found(diagnosis) == {(severity, code, tuple(columns)) for severity, code, columns in expected}
    assert (diagnosis.kind, diagnosis.n_samples, diagnosis.n_columns) == ("discrete", *frame.shape)


@pytest.mark.parametrize(
    "n_samples, max_parents, enough",
    [(6, None, True), (5, None, False), (2, None, False), (1, None, False), (4, 2, True), (3, 2, False), (6, 99, True)],
)
def test_too_few_rows(n_samples, max_parents, enough):
    """With N < k + 2 rows, k parents and a mean fit every column perfectly, and that stops."""
    diagnosis = examine(_clean()[:n_samples], max_parents=max_parents)
    few = [f for f in diagnosis.errors if f.code == "few-rows"]
    assert bool(few) is not enough
    if few:
        assert few[0].columns == tuple("abcde")
        assert f"max_parents={max(n_samples - 2, 0)}" in few[0].remedy
        if n_samples > 2:
            assert not examine(_clean()[:n_samples], max_parents=n_samples - 2).errors


DEPENDENCES = {
    "sum": (("a", "b"), lambda f: f["a"] + f["b"]),
    "weighted": (("a", "c", "e"), lambda f: 0.5 * f["a"] - 3 * f["c"] + 0.1 * f["e"] + 4),
    "all": (("a", "b", "c", "d", "e"), lambda f: f.sum(axis=1)),
}


def _independent(n_samples=300, seed=1):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_samples, 6)), columns=list("abcdeu"))


@pytest.mark.parametrize("planted, formula", DEPENDENCES.values(), ids=DEPENDENCES)
@pytest.mark.parametrize("noise, code, severity", [(0.0, "dependent", "error"), (1e-4, "nearly-dependent", "warning")])
@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_dependence_names_exactly_the_planted_columns(planted, formula, noise, code, severity, scale):
    """An exact or nearly exact linear combination is found with just the columns that take part."""
    frame = _independent()
    frame["sum"] = scale * (formula(frame[list("abcde")]) + noise * np.random.default_rng(2).normal(size=len(frame)))
    (finding,) = examine(frame).findings
    assert (finding.code, finding.severity) == (code, severity)
    assert set(finding.columns) == {*planted, "sum"}
    assert all(repr(name) in finding.message for name in finding.columns)


def test_two_dependences_are_both_found():
    """Two separate combinations give two findings, each with its own columns."""
    frame = _independent()
    frame["s"], frame["t"] = frame["a"] + frame["b"], frame["c"] - frame["d"]
    found = [set(f.columns) for f in examine(frame).findings if f.code == "dependent"]
    assert sorted(found, key=min) == [{"a", "b", "s"}, {"c", "d", "t"}]


def test_strong_but_honest_dependence_is_no_finding():
    """A column of which the others leave a thousandth is data, not a defect."""
    frame = _independent()
    frame["s"] = frame["a"] + frame["b"] + 0.05 * np.random.default_rng(2).normal(size=len(frame))
    assert examine(frame).findings == ()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(5, 80), st.lists(st.integers(2, 40), min_size=2, max_size=4))
def test_the_claim_about_arity_is_true(seed, n_samples, arities):
    """No edge from or to a column that is flagged improves BIC, whatever the other parents are."""
    rng = np.random.default_rng(seed)
    base = rng.random(n_samples)
    table = as_table(np.stack([np.floor((base if rng.random() < 0.7 else rng.random(n_samples)) * a).astype(int)
                               for a in arities], axis=1), kind="discrete")  # fmt: skip
    flagged = [table.names.index(f.columns[0]) for f in examine_table(table).findings if f.code == "arity"]
    score = MultinomialScore(table, 0.5 * math.log(n_samples))
    for j in flagged:
        for i in range(len(arities)):
            if i == j:
                continue
            assert score.local(i, [j]) <= score.local(i) + 1e-9
            assert score.local(j, [i]) <= score.local(j) + 1e-9
            others = [k for k in range(len(arities)) if k not in (i, j)]
            for J in itertools.chain.from_iterable(itertools.combinations(others, r) for r in range(len(others) + 1)):
                assert score.local(i, [*J, j]) <= score.local(i, J) + 1e-9


def test_arity_is_flagged_when_the_bound_says_so():
    """A column is flagged exactly when the price of every edge exceeds the smaller of the two entropies."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 100), "b": rng.integers(0, 60, 100), "c": rng.integers(0, 8, 100)})
    flagged = {f.columns[0] for f in examine(frame, kind="discrete").findings if f.code == "arity"}
    for j in frame:
        pays = any(
            math.log(100) / 2 * (frame[i].nunique() - 1) * (frame[j].nunique() - 1)
            < 100 * min(naive.entropy(list(frame[i])), naive.entropy(list(frame[j])))
            for i in frame
            if i != j
        )
        assert (j in flagged) is (not pays and frame[j].nunique() > 2)
    assert flagged


def test_everything_at_once():
    """All defects of a mixed table show in one look, errors first."""
    frame = _clean().assign(
        hole=CLEAN["a"].where(CLEAN.index > 5) + NOISE,
        endless=np.where(np.arange(200) == 77, np.inf, NOISE),
        flat=1.0,
        copy=CLEAN["b"],
        number=np.arange(200.0) ** 1,
        word=["x", "y"] * 100,
        same="s",
    )
    diagnosis = examine(frame)
    found = {(f.code, f.columns) for f in diagnosis.findings}
    assert found >= {
        ("missing", ("hole",)),
        ("infinite", ("endless",)),
        ("constant", ("flat",)),
        ("constant", ("same",)),
        ("duplicate", ("b", "copy")),
    }
    severities = [f.severity for f in diagnosis.findings]
    assert severities == sorted(severities)  # "error" before "warning"
    assert diagnosis.kind == "mixed"
    assert (diagnosis.n_samples, diagnosis.n_columns) == frame.shape


def test_mixed_tables_are_looked_at_whole():
    """A mixed table is no error; each kind has its findings, and rows must be enough for all levels together."""
    frame = _clean().assign(word=["x", "y"] * 100, same="s", twin=CLEAN["b"])
    assert _found(examine(frame)) == {
        ("error", "duplicate", ("b", "twin")),
        ("warning", "constant", ("same",)),
    }
    assert examine(frame[["a", "b", "word"]]).kinds == {"a": "continuous", "b": "continuous", "word": "discrete"}
    assert examine(frame, discretize="quantile").kind == "discrete"
    few = _clean(12).assign(word=[f"w{k % 6}" for k in range(12)])
    assert {f.code for f in examine(few).errors} == set()
    assert {f.code for f in examine(few[:9]).errors} == {"few-rows"}


def test_dropped_rows_are_a_warning():
    """With missing='drop' missing cells are a warning that says how many rows they cost."""
    frame = _with(b=CLEAN["b"].where(CLEAN.index > 2), d=CLEAN["d"].where(CLEAN.index != 9))
    (finding,) = examine(frame, missing="drop").findings
    assert (finding.severity, finding.code, finding.columns) == ("warning", "missing", ("b", "d"))
    assert "4 rows are left out" in finding.consequence
    assert examine(CLEAN, missing="drop").findings == ()


def test_rows_with_defects_do_not_hide_other_defects():
    """Missing and infinite cells are set aside, so that what else is wrong is still found."""
    frame = _with(b=CLEAN["b"].where(CLEAN.index > 2), f=2 * CLEAN["c"])
    assert _found(examine(frame)) == {("error", "missing", ("b",)), ("error", "duplicate", ("c", "f"))}


def test_nothing_but_missing_cells():
    """A table without one complete row is reported and not an accident."""
    diagnosis = examine(pd.DataFrame({"a": [np.nan] * 3, "b": [np.nan] * 3}))
    assert _found(diagnosis) == {("error", "missing", ("a", "b"))}
    assert (diagnosis.kind, diagnosis.n_samples, diagnosis.n_columns) == ("continuous", 3, 2)


@pytest.mark.parametrize("option", [{"kind": "x"}, {"discretize": "x"}, {"missing": "x"}])
def test_options_are_checked(option):
    """The doctor refuses the same options that learning refuses."""
    with pytest.raises(InputError, match="but got 'x'"):
        examine(CLEAN, **option)


def test_tables_can_be_examined():
    """A table that is ready gives the findings of its source."""
    frame = _with(f=CLEAN["b"])
    assert _found(examine(as_table(frame))) == _found(examine_table(as_table(frame))) == _found(examine(frame))
    empty = ContinuousTable(("a", "b"), np.empty((0, 2)))
    assert [f.code for f in examine_table(empty).findings] == ["few-rows"]


def test_every_finding_has_all_its_sentences():
    """Message, consequence and remedy are there and the message names its columns."""
    frames = [frame for frame, _ in CONTINUOUS.values()] + [frame for frame, _, _ in DISCRETE.values()]
    for finding in itertools.chain.from_iterable(examine(frame).findings for frame in frames):
        assert finding.message
        assert finding.consequence
        assert finding.remedy
        assert all(repr(name) in finding.message for name in finding.columns)
        assert finding.line == f"{finding.message}; {finding.remedy}"
        assert all(part in str(finding) for part in (finding.severity, finding.consequence, finding.remedy))


def test_a_diagnosis_raises_prints_and_serialises():
    """Errors raise with the first and how many more, and the rest is text and plain values."""
    diagnosis = examine(_with(e=1.0, f=CLEAN["b"]))
    with pytest.raises(InputError, match=r"'e' is constant.*\(and 1 more errors"):
        diagnosis.raise_for_errors()
    assert "200 rows, 6 continuous columns: 2 errors\n" in str(diagnosis)
    plain = json.loads(json.dumps(diagnosis.to_dict()))
    assert (plain["errors"], plain["warnings"], len(plain["findings"])) == (2, 0, 2)
    clean = examine(CLEAN)
    clean.raise_for_errors()
    assert "no problems found" in str(clean)


def test_published_sets_have_no_errors(shared_set):
    """The published data sets can all be learned from."""
    for name in ("lucas", "insurance", "alarm", "gaussian_test"):
        assert examine_table(shared_set(name)[0]).errors == ()
