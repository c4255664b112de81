"""Columns read as something else than was meant: each is found, with the remedy, and clean ones are left alone."""

import numpy as np
import pandas as pd
import pytest

from dagopt.data.doctor import examine
from made_tables import patients

RNG = np.random.default_rng(0)
ROWS = 60


def _file(tmp_path, name="data.csv", separator=",", **columns):
    rows = [list(columns)] + [[str(column[k]) for column in columns.values()] for k in range(ROWS)]
    path = tmp_path / name
    path.write_text(
        "\n".join(separator.join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows) + "\n"
    )
    return path


def _found(diagnosis):
    return {(finding.code, finding.columns) for finding in diagnosis.findings}


NUMBERS = np.round(RNG.normal(5, 2, ROWS), 3)
OTHERS = np.round(RNG.normal(0, 1, ROWS) + NUMBERS, 3)


def test_decimal_commas_with_semicolons(tmp_path):
    """Numbers of a German spreadsheet are numbers, and it is said that they were read so."""
    path = _file(tmp_path, separator=";", a=[str(x).replace(".", ",") for x in NUMBERS], b=OTHERS)
    diagnosis = examine(path)
    assert ("commas", ("a",)) in _found(diagnosis)
    assert diagnosis.kind == "continuous"


def test_thousands_separators(tmp_path):
    """12,345 is twelve thousand."""
    path = _file(tmp_path, a=[f"{int(1000 * abs(x)) + 1000:,}" for x in NUMBERS], b=OTHERS)
    finding = next(f for f in examine(path).findings if f.code == "commas")
    assert "thousands" in finding.message
    assert "from 1" in finding.consequence


@pytest.mark.parametrize("spelling", ["NA", "N/A", "?", "nan", "NULL"])
def test_missing_spelled_in_a_column_of_words(tmp_path, spelling):
    """A level that often means missing is named, with na_values= as remedy; once listed it is no level."""
    words = np.where(np.arange(ROWS) % 7 == 0, spelling, np.where(NUMBERS > 5, "yes", "no"))
    path = _file(tmp_path, a=words, b=OTHERS)
    finding = next(f for f in examine(path).findings if f.code == "missing-spelled")
    assert "na_values" in finding.remedy
    assert "missing-spelled" not in {code for code, _ in _found(examine(path, na_values=[spelling], missing="drop"))}


def test_none_is_a_level(tmp_path):
    """A level that is called None, as in the insurance network, is left alone."""
    path = _file(tmp_path, a=np.where(NUMBERS > 5, "None", "Mild"), b=np.where(OTHERS > 5, "x", "y"))
    assert "missing-spelled" not in {code for code, _ in _found(examine(path))}


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S"])
def test_dates_in_text(tmp_path, form):
    """Dates in a file are found by their form."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, ROWS), unit="D")
    path = _file(tmp_path, when=[day.strftime(form) for day in days], b=OTHERS, c=NUMBERS)
    assert ("dates", ("when",)) in _found(examine(path))


def test_nearly_unique_text(tmp_path):
    """Names of people are no levels."""
    path = _file(tmp_path, person=[f"patient {k % 50}" for k in range(ROWS)], b=OTHERS, c=NUMBERS)
    assert ("nearly-unique", ("person",)) in _found(examine(path))


@pytest.mark.parametrize("name", ["", "X", "Unnamed: 0", "id"])
def test_row_numbers_that_r_writes(tmp_path, name):
    """The column of row names that write.csv puts first is found, and exclude= leaves it out."""
    path = _file(tmp_path, **{name: range(1, ROWS + 1), "b": OTHERS, "c": NUMBERS})
    shown = name or "column 1"
    finding = next(f for f in examine(path).findings if f.code == "row-numbers")
    assert finding.columns == (shown,)
    assert f"exclude={shown!r}" in finding.remedy
    assert _found(examine(path, exclude=[shown])) == set()


def test_three_levels_are_no_alarm():
    """The species of iris and the class of wine have few levels; nothing is said about them."""
    datasets = pytest.importorskip("sklearn.datasets")
    for loaded in (datasets.load_iris(as_frame=True), datasets.load_wine(as_frame=True)):
        frame = loaded.data.assign(kind=np.array(loaded.target_names, dtype=object)[loaded.target])
        diagnosis = examine(frame)
        assert not diagnosis.errors
        assert "arity" not in {code for code, _ in _found(diagnosis)}
        assert diagnosis.kind == "mixed"


def test_the_patients_are_read_as_meant():
    """Age is a number, sex and smoker are levels, and missing pressures have a remedy."""
    diagnosis = examine(patients())
    assert diagnosis.kinds == {
        "age": "continuous", "sex": "discrete", "bmi": "continuous", "smoker": "discrete", "pressure": "continuous"
    }  # fmt: skip
    assert _found(diagnosis) == {("missing", ("pressure",))}
    assert "missing='em'" in diagnosis.findings[0].remedy
    assert not examine(patients(), missing="em").errors
