"""Statistics read in one pass give the answers that the rows give, whatever the batches and their order."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import zipfile
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt import memory
from dagopt.data import counts, kept_rows, statistics
from dagopt.data.columns import column_from_dictionary, column_from_series
from dagopt.data.comoments import CoMoments
from dagopt.data.counts import Counts
from dagopt.data.statistics import Statistics
from dagopt.data.summarised import SummarisedMixedTable, SummarisedTable
from dagopt.data.table import DiscreteTable
from dagopt.errors import InputError
from dagopt.scores.build import make_score


def frame_of(kind: str, seed: int, rows: int = 400) -> pd.DataFrame:
    """Return a table with columns of many kinds: whole numbers with few and many values, words, truth values."""
    rng = np.random.default_rng(seed)
    kinds = {"gaussian": "gaussian", "discrete": "discrete"}.get(kind, "mixed")
    frame = dagopt.simulate(4, rows, 1.0, seed, kind=kinds).data
    if kind == "discrete":
        frame["few"] = rng.integers(0, 4, rows)
        frame["yes"] = rng.random(rows) < 0.3
    if kind == "gaussian":
        frame["far"] = rng.standard_normal(rows) + 1e6 + frame.iloc[:, 0]
    if kind == "mixed":
        frame["many"] = rng.integers(0, 40, rows) + (frame.iloc[:, 0].astype(str) > "0").astype(int)
        frame["few"] = rng.integers(0, 4, rows)
        frame["halves"] = rng.integers(0, 3, rows).astype(float)
    return frame


def cut(frame: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Return the rows in parts of any size, in any order; the rows of a part stay together."""
    ends = np.sort(rng.integers(0, len(frame) + 1, rng.integers(1, 8)))
    parts = [frame[a:b] for a, b in itertools.pairwise([0, *ends, len(frame)]) if b > a]
    return [parts[k] for k in rng.permutation(len(parts))]


def summarised_in_parts(frame: pd.DataFrame, seed: int, **options: object) -> Statistics:
    parts = cut(frame, np.random.default_rng(seed))
    found = [dagopt.summarise(part, rows=False, **options) for part in parts]
    total = found[0]
    for one in found[1:]:
        total = total + one
    return total


@pytest.mark.few(18)
@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
@pytest.mark.parametrize("seed", range(17))
def test_scores_of_parts_are_those_of_all_rows(kind: str, seed: int) -> None:
    """Every local score with up to two parents agrees to 1e-9 with that of the rows in memory."""
    frame = frame_of(kind, seed)
    table, whole = dagopt.as_table(summarised_in_parts(frame, seed)), dagopt.as_table(frame)
    expected = {"gaussian": SummarisedTable, "discrete": DiscreteTable, "mixed": SummarisedMixedTable}[kind]
    assert type(table) is expected
    assert table.names == whole.names
    assert table.n_samples == whole.n_samples == len(frame)
    n = len(table.names)
    for name in ("bic", "ebic"):
        one, other = make_score(table, name), make_score(whole, name)
        for i in range(n):
            rest = [j for j in range(n) if j != i]
            for parents in [(), *itertools.combinations(rest, 1), *itertools.combinations(rest, 2)]:
                assert one.local(i, parents) == pytest.approx(other.local(i, parents), rel=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
def test_learning_from_statistics_finds_the_same_graph_and_proof(kind: str) -> None:
    frame = frame_of(kind, 3)
    whole, parts = dagopt.learn(frame), dagopt.learn(summarised_in_parts(frame, 5))
    assert parts.score == pytest.approx(whole.score, rel=1e-9)
    assert parts.status == whole.status == "optimal"
    assert (parts.cpdag_adjacency == whole.cpdag_adjacency).all()
    assert parts.bound >= whole.score


def test_few_rows_are_kept_and_learned_as_they_are() -> None:
    """A source that fits gives the very table that a frame gives, findings included."""
    frame = frame_of("mixed", 2)
    given = dagopt.as_table(iter([frame[:100], frame[100:]]))
    whole = dagopt.as_table(frame)
    for one, other in zip(given.columns, whole.columns, strict=True):
        assert one.levels == other.levels
        assert one.kind == other.kind
        np.testing.assert_array_equal(one.values, other.values)


def exact_comoments(values: np.ndarray) -> np.ndarray:
    """Return the co-moments in rational arithmetic."""
    rows = [[Fraction(float(x)) for x in row] for row in values]
    n = len(rows[0])
    mean = [sum(row[j] for row in rows) / len(rows) for j in range(n)]
    return np.array(
        [[float(sum((r[a] - mean[a]) * (r[b] - mean[b]) for r in rows)) for b in range(n)] for a in range(n)]
    )


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("batch", [1, 7, 64, 300])
def test_comoments_stay_within_their_claimed_error(shift: float, batch: int) -> None:
    """Sorted rows far from zero, in batches of any size: the error of a correlation is below ``roundings``."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.standard_normal((300, 3)), axis=0) + shift
    values[:, 1] -= 0.5 * values[:, 0]
    total = CoMoments.nothing(3)
    for first in range(0, len(values), batch):
        total = total + CoMoments.of(values[first : first + batch])
    exact = exact_comoments(values)
    length = np.sqrt(np.diag(exact))
    error = np.abs(total.correlations().matrix - exact / np.outer(length, length)).max()
    assert error <= total.roundings * 2.0**-53
    np.testing.assert_allclose(total.mean + total.mean_low, values.mean(axis=0), rtol=1e-13, atol=1e-15)


def test_weights_stand_for_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.standard_normal((50, 3)), rng.integers(0, 4, 50)
    one, other = CoMoments.of(values, weights), CoMoments.of(np.repeat(values, weights, axis=0))
    assert one.n_rows == other.n_rows
    np.testing.assert_allclose(one.products, other.products, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
def test_saved_statistics_are_the_same(kind: str, tmp_path) -> None:
    found = summarised_in_parts(frame_of(kind, 1), 2)
    path = found.save(tmp_path / "week")
    assert path.suffix == ".dagstats"
    again = Statistics.load(path)
    empty = np.zeros((len(found.names),) * 2)
    first, second = make_score(dagopt.as_table(found)), make_score(dagopt.as_table(path))
    assert first.total(empty) == second.total(empty)
    assert len(again.rows.cells) == 0
    more = frame_of(kind, 1)[:50]
    assert (again + more).n_read == found.n_read + 50


def test_a_damaged_file_of_statistics_is_refused(tmp_path) -> None:
    path = summarised_in_parts(frame_of("gaussian", 1), 2).save(tmp_path / "week")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"cannot read .*week.dagstats as statistics"):
        Statistics.load(path)


HEADS = (None, True, -1, 0.5, 10**30, float("nan"), "x", [], ["a"], {}, {"a": 1}, [["a"]])


def _with(path, change) -> None:
    """Change the head and the arrays of a file of statistics."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    head = json.loads(parts.pop("head.json"))
    arrays = {name: np.load(io.BytesIO(content)) for name, content in parts.items()}
    change(head, arrays)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("head.json", json.dumps(head))
        for name, array in arrays.items():
            held = io.BytesIO()
            np.save(held, array, allow_pickle=False)
            packed.writestr(name, held.getvalue())


def _outcome(path) -> bool:
    """Return whether a file was read; if not, it was refused in one sentence."""
    try:
        make_score(dagopt.as_table(Statistics.load(path))).local(0, [1])
    except InputError as error:
        said = str(error)
        assert "\n" not in said
        return False
    return True


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
def test_every_change_of_the_head_is_read_or_refused_in_a_sentence(kind: str, tmp_path) -> None:
    """No traceback, whatever one value of the head becomes."""
    path = summarised_in_parts(frame_of(kind, 1), 2).save(tmp_path / "week")
    content, refused = path.read_bytes(), 0
    with zipfile.ZipFile(path) as packed:
        head = json.loads(packed.read("head.json"))
    places = [(key,) for key in head] + [("columns", 0), *(("columns", 0, key) for key in head["columns"][0])]
    for place in places:
        for value in HEADS:

            def change(told, arrays, place=place, value=value) -> None:
                for key in place[:-1]:
                    told = told[key]
                told[place[-1]] = value

            path.write_bytes(content)
            _with(path, change)
            refused += not _outcome(path)
    assert refused > 100


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_arrays_that_cannot_be_statistics_are_refused(kind: str, tmp_path) -> None:
    """Numbers that are not finite, negative counts, matrices that are not symmetric, other types and shapes."""
    path = summarised_in_parts(frame_of(kind, 1), 2).save(tmp_path / "week")
    content = path.read_bytes()

    def entry(value):
        def change(array):
            changed = array.copy()
            changed.flat[1] = value
            return changed

        return change

    numbers = (entry(np.nan), entry(np.inf), lambda a: a.astype(np.float32), lambda a: a[:-1], lambda a: a[None])
    counts = (entry(0), entry(60_000), lambda a: a.astype(np.int32), lambda a: a[..., :-1], lambda a: a[None])
    for name in ("mean.npy", "mean_low.npy", "products.npy", "products_low.npy") if kind == "gaussian" else (
        "weights.npy", "codes.npy"
    ):  # fmt: skip
        for k, change in enumerate(numbers if kind == "gaussian" else counts):
            if (name, k) == ("codes.npy", 0):
                continue  # another row of levels is as good as this one
            path.write_bytes(content)
            _with(path, lambda head, arrays, name=name, change=change: arrays.update({name: change(arrays[name])}))
            with pytest.raises(InputError):
                Statistics.load(path)


def test_a_small_file_of_large_statistics_is_refused(tmp_path, monkeypatch) -> None:
    """A file of zeros is packed a thousandfold: its size is known before it is read."""
    path = summarised_in_parts(frame_of("gaussian", 1), 2).save(tmp_path / "week")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros.npy", bytes(60_000_000))
    monkeypatch.setattr(memory, "available_bytes", lambda: 50_000_000)
    with pytest.raises(InputError, match=r"would take .* of memory"):
        Statistics.load(path)


def test_other_columns_cannot_be_added() -> None:
    frame = frame_of("gaussian", 1)
    with pytest.raises(InputError, match="lack 'X0' and have 'other' in addition"):
        dagopt.summarise(frame) + dagopt.summarise(frame.rename(columns={"X0": "other"}))
    again = dagopt.summarise(frame) + dagopt.summarise(frame[frame.columns[::-1]])
    assert again.names == tuple(frame.columns)


def test_missing_cells_are_counted_dropped_or_a_level() -> None:
    frame = frame_of("discrete", 4)
    frame.iloc[3:9, 0] = None
    found = summarised_in_parts(frame, 1)
    with pytest.raises(InputError, match=r"missing values in column 'X0' .*6 of 400 rows"):
        dagopt.learn(found)
    for how in ("drop", "level"):
        one = dagopt.as_table(summarised_in_parts(frame, 1, missing=how))
        other = dagopt.as_table(frame, missing=how)
        assert one.levels == other.levels
        assert one.n_samples == other.n_samples
        empty = np.zeros((len(one.names),) * 2)
        assert make_score(one).total(empty) == pytest.approx(make_score(other).total(empty), rel=1e-12)


def test_whole_numbers_become_continuous_when_an_eleventh_value_arrives() -> None:
    """The kind depends on all rows, not on those of the first part."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(300), "b": np.sort(rng.integers(0, 14, 300))})
    parts = [dagopt.summarise(frame[k : k + 50], rows=False) for k in range(0, 300, 50)]
    assert parts[0].columns[1].levels is not None
    table = dagopt.as_table(sum(parts[1:], parts[0]))
    assert table.kind == "continuous"
    np.testing.assert_allclose(table.correlation, dagopt.as_table(frame).correlation, atol=1e-14)


def test_numbers_as_text_and_decimals_are_numbers() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(200), 3)
    frame = pd.DataFrame({"a": x, "text": [f"{v:.3f}" for v in x[::-1]], "money": [Decimal(f"{v:.2f}") for v in x]})
    found = summarised_in_parts(frame, 3)
    assert dagopt.as_table(found).kind == "continuous"
    assert {column.name: column.way for column in found.columns} == {"a": "", "text": "text", "money": "Decimal"}


def test_words_among_numbers_are_an_error_with_the_column() -> None:
    numbers = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [1.0, 2.0, 3.5]})
    words = pd.DataFrame({"a": ["low", "high", "low"], "b": [1.0, 2.0, 3.5]})
    with pytest.raises(InputError, match="column 'a' holds numbers in some rows and words in others, such as 'high'"):
        dagopt.summarise(numbers) + dagopt.summarise(words)


def test_a_sample_stands_for_the_rows_and_says_so() -> None:
    frame = frame_of("gaussian", 6)
    table = dagopt.as_table(summarised_in_parts(frame, 1))
    assert sorted(table.sample.values[:, 0]) == sorted(frame.iloc[:, 0])
    with pytest.raises(InputError, match="has no rows"):
        _ = table.values


def test_covariances_are_drawn_as_those_of_gaussian_rows() -> None:
    """Their mean and spread over many draws are those of the Wishart distribution."""
    table = dagopt.as_table(summarised_in_parts(frame_of("gaussian", 6), 1))
    rng = np.random.default_rng(0)
    drawn = np.array([table.drawn(rng, 200).covariance for _ in range(2000)]) / np.outer(table.scale, table.scale)
    r = table.correlation
    np.testing.assert_allclose(drawn.mean(axis=0), r * 199 / 200, atol=0.02)
    np.testing.assert_allclose(drawn.var(axis=0) * 200, 1 + r**2, rtol=0.15)


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
def test_bootstrap_and_parameters_of_statistics(kind: str) -> None:
    frame = frame_of(kind, 3)
    found = summarised_in_parts(frame, 1)
    boot = dagopt.bootstrap(found, 20, n_jobs=1)
    assert len(boot.essential) == 20
    said = " ".join(boot.result.notes)
    assert ("resamples: covariances" in said) == (kind == "gaussian")
    assert ("resamples: of a sample of 400 of 400 rows" in said) == (kind == "mixed")
    result, whole = dagopt.learn(found), dagopt.learn(frame)
    one, other = result.fit().parameters, whole.fit().parameters
    assert len(one) == len(other)
    if kind != "discrete":
        assert str(result.check()).startswith("in a sample of 400 of 400 rows, ")


def test_fewer_rows_than_columns_are_learned_with_a_limit_and_a_warning() -> None:
    data = dagopt.simulate(60, 40, 0.5, 1).data
    result = dagopt.learn(data, "order", score="ebic")
    (finding,) = [one for one in result.findings if one.code == "few-rows"]
    assert "at most 4 parents" in finding.consequence
    assert result.adjacency.sum(axis=0).max() <= 4
    with pytest.raises(InputError, match="10 rows are too few"):
        dagopt.learn(data[:10])


@pytest.mark.parametrize("most_waiting", [0, 100, 10_000])
@pytest.mark.parametrize("levels", [3, 70])
def test_counts_are_those_of_every_row(levels: int, most_waiting: int, monkeypatch) -> None:
    """Rows that have numbers, and rows that are too many for numbers; levels far from zero; parts added and sent."""
    monkeypatch.setattr(counts, "MOST_WAITING", most_waiting)
    rng = np.random.default_rng(levels)
    low = np.array([-5, 0, 7, 10**9, -(2**40), 3, 1, 0, 2, 40, 11, 5])
    cells = low + rng.integers(0, levels, (300, 12))
    cells[100:200] = cells[:100]
    arity = [levels] * 12
    digits = [(np.ascontiguousarray(cells[:, j]), int(low[j])) for j in range(12)]
    whole = Counts.of_digits(digits, arity)
    parts = [Counts.of_digits([(own[a:b], first) for own, first in digits], arity) for a, b in ((0, 90), (90, 300))]
    assert (whole.rows.ndim == 1) == (levels == 3)
    wanted: dict[tuple[int, ...], int] = {}
    for row in (cells - low).tolist():
        wanted[tuple(row)] = wanted.get(tuple(row), 0) + 1
    both = parts[0] + parts[1]
    sent = pickle.loads(pickle.dumps(both))
    assert len(sent.parts[0][1]) == len(wanted)
    for found in (whole, both, parts[1] + parts[0], sent, sent.recoded([np.arange(levels)] * 12, arity)):
        assert len(found.weights) == len(wanted)
        assert {tuple(r): w for r, w in zip(found.codes.T.tolist(), found.weights.tolist(), strict=True)} == wanted
    some = whole.select([3, 0])
    assert some.weights.sum() == 300
    assert len(some.weights) == len({(row[3], row[0]) for row in wanted})


def test_words_in_a_dictionary_are_read_as_words_one_by_one() -> None:
    """Levels, numbers as text, codes with leading zeros, missing cells, and words that do not occur."""
    for words in (
        ["low", "high", "None", "x"],
        ["1.5", "2.25", "-3", "7"],
        ["007", "08", "9", "10"],
        ["1", "2", "3", "4"],
    ):
        codes = np.array([0, 2, 1, -1, 2, 0, 0])
        cells = pd.Series([None if k < 0 else words[k] for k in codes], dtype="str")
        one, other = column_from_dictionary("a", codes, words), column_from_series("a", cells)
        assert (one.kind, one.levels, one.whole, one.way) == (other.kind, other.levels, other.whole, other.way)
        np.testing.assert_array_equal(one.values, other.values)


def test_the_sample_is_that_of_all_rows_at_once(tmp_path, monkeypatch) -> None:
    """Rows that cannot be in it are left out of later batches, which changes nothing."""
    monkeypatch.setattr(kept_rows, "SAMPLED_ROWS", 50)
    monkeypatch.setattr(statistics, "KEPT_CELLS", 0)
    monkeypatch.setattr(statistics, "KEPT_ROWS_PER_COLUMN", 1)
    frame = frame_of("gaussian", 0, 1000)
    batches = [frame[k : k + 100] for k in range(0, 1000, 100)]
    found = dagopt.summarise(iter(batches))
    drawn = np.concatenate([kept_rows.numbers_drawn(100, k) for k in range(10)])
    chosen = frame.to_numpy()[np.sort(np.argsort(drawn)[:50])]
    order = np.argsort(found.rows.place)
    np.testing.assert_array_equal(np.sort(found.rows.cells[order], axis=0), np.sort(chosen, axis=0))
