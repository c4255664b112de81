"""The part of ``benchmarks/never_below.py`` that does not depend on the clock: small problems, to the end."""

import pytest

from benchmarks.never_below import KINDS, below, compare


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_auto_is_not_below_another_method(number):
    """Where the exact method does not fit, search and prover together are as good as any other, and no bound is false.

    One problem of every kind, with up to six columns.
    """
    line = compare(number, None, 1, most_columns=6, memory_limit="1kB")
    assert "order" in line["scores"]
    assert line["below"] == {}


def test_what_is_below_is_told():
    """A better score of another method is told, and so is one above the bound."""
    assert below({"auto": -10.0, "order": -9.0, "hc": -11.0}, -9.5) == {"order": 1.0, "bound, order": 0.5}
    assert below({"auto": -10.0, "order": -10.0 + 1e-9}, -10.0) == {}
