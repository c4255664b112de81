"""Sources that are read in one pass, and what is said about damaged ones."""

from __future__ import annotations

import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data import batches, kept_rows, statistics
from dagopt.data.clusters import drawn_in_part, drawn_per_part, parts_of, resamples_of_parts
from dagopt.data.data_options import DataOptions
from dagopt.data.statistics import Statistics
from dagopt.errors import InputError
from dagopt.scores.build import make_score

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = dagopt.simulate(3, 900, 1.0, 0, kind="gaussian").data
    data["level"] = rng.choice(["a", "b, c", "None"], 900)
    data["count"] = rng.integers(0, 30, 900)
    data["few"] = rng.integers(0, 3, 900)
    return data


@pytest.fixture
def small_batches(monkeypatch) -> None:
    """Make batches, and what is kept of rows, so small that every source has many of them."""
    monkeypatch.setattr(batches, "ROWS", 70)
    monkeypatch.setattr(batches, "BLOCK", 2_000)
    monkeypatch.setattr(statistics, "KEPT_CELLS", 0)
    monkeypatch.setattr(statistics, "KEPT_ROWS_PER_COLUMN", 1)


def agrees(source: object, frame: pd.DataFrame, **options: object) -> None:
    """Check that a source has the scores of the frame."""
    table, whole = dagopt.as_table(source, **options), dagopt.as_table(frame, **options)
    assert table.names == whole.names
    assert table.kind == whole.kind
    assert table.n_samples == whole.n_samples
    first, second = make_score(table, "bic"), make_score(whole, "bic")
    for i in range(len(table.names)):
        for parents in [(), ((i + 1) % 6,), ((i + 1) % 6, (i + 2) % 6)]:
            assert first.local(i, parents) == pytest.approx(second.local(i, parents), rel=1e-9)


def written(frame: pd.DataFrame, folder, ending: str) -> object:
    path = folder / f"data{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    elif ending == ".feather":
        frame.to_feather(path)
    elif ending == ".arrow":
        table = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif ending == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    elif ending == ".xlsx":
        frame.to_excel(path, index=False)
    elif ending == ".csv.zip":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("data.csv", frame.to_csv(index=False))
    elif ending == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    else:
        frame.to_csv(path, index=False)
    return path


ENDINGS = [".csv", ".csv.gz", ".csv.zip", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl", ".xlsx"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_table_of_the_frame(ending: str, frame, tmp_path) -> None:
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
    agrees(written(frame, tmp_path, ending), frame)


@pytest.mark.parametrize("ending", [one for one in ENDINGS if one != ".xlsx"])
@pytest.mark.usefixtures("small_batches")
def test_every_format_is_read_in_one_pass(ending: str, frame, tmp_path) -> None:
    found = dagopt.summarise(written(frame, tmp_path, ending))
    assert not found.has_all_rows
    agrees(found, frame)


@pytest.mark.parametrize("kept", [False, True])
def test_folders_globs_and_lists_of_files(kept: bool, frame, tmp_path, request) -> None:
    if not kept:
        request.getfixturevalue("small_batches")
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:300].to_parquet(folder / "a.parquet")
    frame[300:310].to_csv(folder / "b.csv", index=False)
    frame[310:][frame.columns[::-1]].to_parquet(folder / "c.parquet")
    (folder / "readme.md").write_text("no data")
    for source in (folder, str(folder / "*.*[tv]"), sorted(folder.glob("?.*"))):
        agrees(source, frame)


@pytest.mark.usefixtures("small_batches")
def test_streams_and_iterators(frame) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    agrees(table.to_reader(max_chunksize=100), frame)
    agrees((frame[k : k + 111] for k in range(0, 900, 111)), frame)
    agrees(iter(table.to_batches(max_chunksize=123)), frame)


@pytest.mark.usefixtures("small_batches")
def test_duckdb_and_polars_are_not_collected(frame) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.from_pandas(frame).lazy()
    agrees(lazy, frame)
    duckdb = pytest.importorskip("duckdb")
    agrees(duckdb.sql("select * from frame"), frame)


@pytest.mark.usefixtures("small_batches")
def test_a_dask_frame_is_reduced_in_its_parts(frame) -> None:
    dask = pytest.importorskip("dask.dataframe")
    agrees(dask.from_pandas(frame, npartitions=7), frame)


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
def test_a_cluster_gives_what_one_machine_gives(frame) -> None:
    """Several workers, real processes: statistics, and those of resamples, are equal to the last digits."""
    dask = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    parts = dask.from_pandas(frame, npartitions=5)

    def found():
        whole = parts_of(parts, DataOptions())
        kinds = [column.kind("auto") for column in whole.whole.columns]
        return whole.whole.without_rows(), list(resamples_of_parts(whole, kinds, 3, 600, 7))

    here, drawn_here = found()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=60),
    ):
        there, drawn_there = found()
    np.testing.assert_allclose(there.moments.products, here.moments.products, rtol=1e-14, atol=1e-10)
    for one, other in zip(drawn_here, drawn_there, strict=True):
        np.testing.assert_allclose(one.moments.products, other.moments.products, rtol=1e-14, atol=1e-10)


@pytest.mark.usefixtures("small_batches")
def test_workers_in_this_process_give_what_one_machine_gives(frame) -> None:
    """Several workers of a real scheduler: counts of distinct rows are equal, and so are edges of resamples."""
    dask = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    levels, numbers = frame[["level", "few"]], frame[["X0", "X1", "X2"]]

    def found():
        counts = dagopt.summarise(dask.from_pandas(levels, npartitions=5), rows=False).counts
        boot = dagopt.bootstrap(dask.from_pandas(numbers, npartitions=4), 3, n_jobs=1, progress=False)
        return dict(zip(map(tuple, counts.codes.T), counts.weights, strict=True)), boot.essential

    here = found()
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=60),
    ):
        there = found()
    assert there[0] == here[0]
    assert sum(there[0].values()) == len(frame)
    np.testing.assert_array_equal(there[1], here[1])


@pytest.mark.usefixtures("small_batches")
def test_rows_that_cannot_be_in_the_sample_are_not_kept(frame, tmp_path, monkeypatch) -> None:
    """If the source says how many rows it has, few rows beside the sample are kept; the sample is as large as ever."""
    monkeypatch.setattr(kept_rows, "SAMPLED_ROWS", 100)
    monkeypatch.setattr(batches, "ROWS", 90)
    frame.to_parquet(tmp_path / "data.parquet")
    kept: list[int] = []
    known = Statistics.of_columns
    monkeypatch.setattr(
        Statistics, "of_columns", lambda *args: kept.append(len((one := known(*args)).rows.drawn)) or one
    )
    found = dagopt.summarise(tmp_path / "data.parquet")
    assert len(found.rows.drawn) == 100
    assert len(kept) == 10
    assert sum(kept) < 300
    for row in found.rows.cells[:5]:
        assert (np.isclose(frame[["X0", "X1", "X2"]], row[:3]).all(axis=1)).sum() == 1


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("with_replacement", [True, False])
def test_resamples_of_a_dask_frame_are_rows_drawn_in_its_parts(frame, with_replacement) -> None:
    """The co-moments of each are those of the rows, repeated as often as drawn, and it has as many as asked for."""
    dask = pytest.importorskip("dask.dataframe")
    frame = frame.copy()
    frame.iloc[5, 0] = np.nan
    data = dask.from_pandas(frame, npartitions=4)
    whole = parts_of(data, DataOptions(missing="drop"))
    assert whole.sizes.sum() == len(frame) - 1
    kinds = [column.kind("auto") for column in whole.whole.columns]
    names = [name for name, kind in zip(frame, kinds, strict=True) if kind == "continuous"]
    pieces = [part.dropna() for part in (data.get_partition(k).compute(scheduler="sync") for k in range(4))]
    found = list(resamples_of_parts(whole, kinds, 3, 500, 11, with_replacement=with_replacement))
    for number, one in enumerate(found):
        per_part = drawn_per_part(whole.sizes, 500, 11, number, with_replacement)
        assert per_part.sum() == 500
        often = [
            drawn_in_part(len(piece), int(m), 11, number, p, with_replacement)
            for p, (piece, m) in enumerate(zip(pieces, per_part, strict=True))
        ]
        assert max(times.max() for times in often) > (1 if with_replacement else 0)
        rows = np.concatenate(
            [np.repeat(piece[names].to_numpy(float), times, axis=0) for piece, times in zip(pieces, often, strict=True)]
        )
        places = [int(one.starts[list(one.names).index(name)]) for name in names]
        ours = one.moments.select(np.array(places)).products / len(rows)
        np.testing.assert_allclose(ours, np.cov(rows.T, bias=True), rtol=1e-9, atol=1e-12)
        assert one.n_samples == len(rows) == 500
    products = [one.moments.products for one in found]
    assert not np.allclose(products[0], products[1])


@pytest.mark.usefixtures("small_batches")
def test_the_bootstrap_of_a_dask_frame_says_where_rows_are_drawn(frame) -> None:
    dask = pytest.importorskip("dask.dataframe")
    data = dask.from_pandas(frame, npartitions=3)
    boot = dagopt.bootstrap(data, 3, n_jobs=1, progress=False)
    again = dagopt.bootstrap(data, 3, n_jobs=2, progress=False)
    assert boot.n_done == 3
    assert any("where the parts of the Dask DataFrame are" in note for note in boot.result.notes)
    assert (boot.essential == again.essential).all()


def test_lists_of_dicts_and_xarray(frame) -> None:
    agrees(frame.to_dict("records"), frame)
    xarray = pytest.importorskip("xarray")
    agrees(xarray.Dataset.from_dataframe(frame), frame)
    numbers = frame[["X0", "X1", "X2"]]
    array = xarray.DataArray(numbers.to_numpy(), dims=("row", "gene"), coords={"gene": list(numbers.columns)})
    assert dagopt.as_table(array).names == ("X0", "X1", "X2")


@pytest.mark.usefixtures("small_batches")
def test_a_parquet_part_that_is_cut_off_is_named(frame, tmp_path) -> None:
    frame.to_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cannot read .*b\.parquet: .*; it may be damaged or cut off"):
        dagopt.learn(tmp_path)


@pytest.mark.usefixtures("small_batches")
def test_an_arrow_stream_that_is_cut_off_is_named_with_the_row(frame, tmp_path) -> None:
    table = pa.Table.from_pandas(frame[["X0", "X1"]], preserve_index=False)
    with pa.ipc.new_stream(tmp_path / "whole.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    whole = (tmp_path / "whole.arrow").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(InputError, match=r"cannot read .*cut\.arrow after row 600: .*; it may be damaged or cut off"):
        dagopt.summarise(tmp_path / "cut.arrow")


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_that_ends_in_the_middle_of_a_row_is_named(packed: bool, frame, tmp_path) -> None:
    text = frame.to_csv(index=False)
    cut = text[: text.rindex(",", 0, len(text) - 20)]
    path = tmp_path / ("data.csv.gz" if packed else "data.csv")
    path.write_bytes(gzip.compress(cut.encode()) if packed else cut.encode())
    with pytest.raises(
        InputError, match=r"data\.csv.*, line \d+: expected 6 fields as in the header but got \d"
    ) as said:
        dagopt.summarise(path)
    assert f"line {cut.count(chr(10)) + 1}:" in str(said.value)


@pytest.mark.usefixtures("small_batches")
def test_a_packed_file_that_is_cut_off_is_named(frame, tmp_path) -> None:
    path = tmp_path / "data.csv.gz"
    packed = gzip.compress(frame.to_csv(index=False).encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"cannot read .*data\.csv\.gz after line \d+: .*cut off"):
        dagopt.summarise(path)


@pytest.mark.usefixtures("small_batches")
def test_a_part_with_other_columns_is_named(frame, tmp_path) -> None:
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename(columns={"X1": "new"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet' lack 'X1' and have 'new' in addition"):
        dagopt.learn(tmp_path)


@pytest.mark.usefixtures("small_batches")
def test_a_word_in_a_column_of_numbers_is_named(frame, tmp_path) -> None:
    frame[:500].to_csv(tmp_path / "a.csv", index=False)
    odd = frame[500:].astype({"X0": object})
    odd.iloc[7, 0] = "broken"
    odd.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match=r"b\.csv.*'X0'.*'broken'"):
        dagopt.learn(tmp_path)


@pytest.mark.usefixtures("small_batches")
def test_quoted_cells_may_have_line_ends(frame, tmp_path) -> None:
    frame["level"] = np.where(frame["level"] == "a", 'one\n"two", three', frame["level"])
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    agrees(dagopt.summarise(path), frame)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("https://example.org/data.csv", "download the file first"),
        ("no/such/*.parquet", "no file matches"),
        (object(), "expected a table but got|got object"),
        (iter([1, 2]), "expected an iterator of frames or Arrow batches but part 1 is a int"),
        (iter([]), "no rows"),
        (42, "got int"),
        ("s3://bucket/data.parquet", "s3://bucket/data.parquet is an address on the net"),
        ([{"a": {"x": 1}, "b": 2.0}] * 5, "column 'a' holds lists or records"),
        (iter([pa.table({"a": [[1, 2], [3]], "b": [1.0, 2.0]})]), "column 'a' holds lists or records"),
    ],
)
def test_everything_else_gets_a_sentence(source: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        dagopt.learn(source)


def test_a_lazy_frame_that_cannot_be_read_gets_a_sentence() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match="cannot read the polars LazyFrame: No such file"):
        dagopt.learn(polars.scan_csv("nothing.csv"))


def test_other_files_get_a_sentence(frame, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as packed:
        packed.writestr("data.parquet", b"PAR1")
    (tmp_path / "data.json").write_text("[]")
    frame.to_pickle(tmp_path / "data.pkl")
    for name, said in (
        ("data.zip", "expected a text file in .*data.zip but got 'data.parquet'; unpack it first"),
        ("data.json", "one object per line"),
        ("data.pkl", "is a .pkl file, which cannot be read; save it as CSV or Parquet"),
    ):
        with pytest.raises(InputError, match=said):
            dagopt.learn(tmp_path / name)


@pytest.mark.parametrize("alone", [True, False])
def test_a_damaged_page_of_a_parquet_file_is_found_by_its_checksum(alone: bool, frame, tmp_path) -> None:
    """If the file has checksums; without them changed numbers cannot be told from others."""
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pa.Table.from_pandas(frame), path, write_page_checksum=True, compression="none")
    agrees(path, frame)
    content = bytearray(path.read_bytes())
    content[2_000] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"cannot read .*data\.parquet.*CRC"):
        dagopt.learn(path if alone else tmp_path)


def test_an_empty_folder_gets_a_sentence(tmp_path) -> None:
    with pytest.raises(InputError, match="has no CSV, Parquet, Arrow or JSON lines file"):
        dagopt.learn(tmp_path)


def test_update_starts_from_the_last_graph_and_says_what_changed() -> None:
    data = dagopt.simulate(6, 3000, 1.0, 2).data
    rng = np.random.default_rng(0)
    noise = data.apply(lambda column: rng.permutation(column.to_numpy()))
    statistics_ = dagopt.summarise(noise[:500])
    first = dagopt.learn(statistics_)
    second = dagopt.update(first, dagopt.summarise(data))
    assert second.score == dagopt.learn(data).score
    assert "since the last graph, of 500 rows, edges are new: " in second.notes[-1]
    again = dagopt.update(second, data)
    assert again.notes[-1] == "since the last graph, of 3000 rows, no edge has changed"
    with pytest.raises(InputError, match="expected the columns of the last answer"):
        dagopt.update(first, data.rename(columns={"X0": "other"}), start=None)


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_missing_cells_of_a_source_that_is_read_once(kind):
    """EM looks at the data more than once; an iterator and a stream give what the frame gives."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame["b"] += frame["a"]
    if kind == "levels":
        frame = frame.gt(0).replace({True: "yes", False: "no"}).astype(object)
    frame.iloc[5, 1] = None
    whole = dagopt.learn(frame, missing="em", progress=False)
    for source in (iter([frame[:90], frame[90:]]), pa.Table.from_pandas(frame).to_reader()):
        found = dagopt.learn(source, missing="em", progress=False)
        assert found.score == pytest.approx(whole.score, rel=1e-9)
        assert (found.adjacency == whole.adjacency).all()
