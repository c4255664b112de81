"""The instances of the paper's experiments are the very ones that published results are about."""

import importlib.util

import numpy as np
import pytest

from dagopt.errors import InputError
from experiments.design import designs
from experiments.instances import SETS, Cell, data_folder, load, missing_data


@pytest.fixture(scope="module")
def drawn(shared):
    """Return the function that draws the published instances."""
    spec = importlib.util.spec_from_file_location("drawing", shared / "tools" / "paper_instances.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.paper_instance


@pytest.mark.parametrize("seed", [0, 9])
def test_simulated_instances_are_the_published_ones(drawn, seed):
    """Every number of every cell's data is equal but for the rounding of sums, and the true graph is."""
    for cell in designs()["table1"].cells:
        X, adjacency = drawn(cell.n_nodes, cell.n_samples, cell.degree, seed)
        table, dag = load(cell, seed)
        np.testing.assert_allclose(table.values, X, rtol=1e-11, atol=1e-11)
        assert np.array_equal(dag, adjacency)


@pytest.mark.parametrize("name", SETS)
def test_data_sets_have_their_columns_rows_and_edges(shared, shared_set, name):
    """A set is read from the folder, with its true graph over the columns in their order."""
    table, dag = load(Cell.named(name), None, shared / "data")
    assert (len(table.names), table.n_samples) == SETS[name][:2]
    expected = {(table.names.index(a), table.names.index(b)) for a, b in shared_set(name)[1]}
    assert {tuple(edge) for edge in np.argwhere(dag)} == expected


def test_a_set_that_is_not_there_is_told(tmp_path):
    """Without the folder, or without a file in it, the reason is named."""
    lucas = Cell.named("lucas")
    assert "--data" in missing_data(lucas, None)
    (tmp_path / "lucas.csv").write_text("a,b\n0,1\n")
    assert missing_data(lucas, tmp_path) == "the data folder has no 'lucas.edges.csv'"
    (tmp_path / "lucas.edges.csv").write_text("from,to\na,b\n")
    assert missing_data(lucas, tmp_path) is None
    with pytest.raises(InputError, match="expected 12 columns and 2000 rows in lucas"):
        load(lucas, None, tmp_path)
    with pytest.raises(InputError, match="not available"):
        load(Cell.named("alarm"), None, tmp_path)
    assert missing_data(Cell.gaussian(15, 5000, 0.5), None) is None


def test_the_folder_of_sets_is_the_one_given_or_the_usual_one(tmp_path, monkeypatch):
    """A folder that is given must exist; the usual one is used if it does."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert data_folder(None) is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_folder(None) == (tmp_path / "shared" / "data").resolve()
    assert data_folder(tmp_path) == tmp_path.resolve()
    with pytest.raises(InputError, match="got none"):
        data_folder(tmp_path / "no")


def test_names_of_cells_lead_back_to_them():
    """A cell is found by its name, and a name that is none is refused."""
    for design in designs().values():
        for cell in design.cells:
            assert Cell.named(cell.name) == cell
    assert Cell.named("n15-N5000-d0.5").label == "(15, 5000, 0.5)"
    with pytest.raises(InputError, match="n15-N5000"):
        Cell.named("n15")
