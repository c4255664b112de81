"""The store of compiled kernels: what is loaded, what is compiled again, and what damage does."""

import importlib.util
import os
import pickle
import sys
import time

import numba
import numpy as np
import pytest

from dagopt.kernels import store

pytestmark = pytest.mark.compiled

INNER = "from dagopt.kernels.store import njit\n\n@njit(cache=True, nogil=True)\ndef inner(x):\n    return x + {}\n"
OUTER = (
    "from dagopt.kernels.made_inner import inner\nfrom dagopt.kernels.store import njit\n\n"
    "@njit(cache=True, nogil=True)\ndef outer(x):\n    return 2 * inner(x)\n"
)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that loads two made modules of kernels afresh, as a new process would; it returns ``outer``."""
    monkeypatch.setattr(store, "PACKAGE", tmp_path / "dagopt")
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "store"))
    folder = tmp_path / "dagopt" / "kernels"
    folder.mkdir(parents=True)

    def load(added=1, outer=OUTER):
        for remembered in (store._sources, store._names, store._runs_generic):
            remembered.cache_clear()
        for name, source in (("made_inner", INNER.format(added)), ("made_outer", outer)):
            path = folder / f"{name}.py"
            if not path.exists() or path.read_text() != source:
                path.write_text(source)
            spec = importlib.util.spec_from_file_location(f"dagopt.kernels.{name}", path)
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, spec.name, module)
            exec(compile(source, str(path), "exec"), module.__dict__)  # not through Python's own cache of bytecode
        return sys.modules["dagopt.kernels.made_outer"].outer

    yield load
    for remembered in (store._sources, store._names, store._runs_generic):
        remembered.cache_clear()


def was_loaded(kernel):
    """Say whether all versions of a kernel came from the store."""
    return not kernel.stats.cache_misses and bool(kernel.stats.cache_hits)


def stored(tmp_path, name="made_outer"):
    return sorted((tmp_path / "store" / "kernels").glob(f"{name}.*"))


def test_a_kernel_is_compiled_once(made):
    assert made()(3) == 8
    again = made()
    assert store.is_stored(again)
    assert again(3) == 8
    assert was_loaded(again)


def test_a_kernel_is_given_to_numba_at_its_first_call(made):
    """Not when it is made, nor when it is asked for what is known; a copy in another process is found by name."""
    kernel = made()
    assert kernel.py_func(3) == 8
    assert (kernel.signatures, kernel.__name__, kernel._dispatcher) == ([], "outer", None)
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert kernel._dispatcher is None
    assert kernel(3) == 8
    assert len(kernel.signatures) == 1


def test_types_are_told_apart(made):
    kernel = made()
    assert kernel(3) == 8
    kernel = made()
    assert kernel(0.5) == 3.0
    assert not was_loaded(kernel)
    kernel = made()
    assert (kernel(3), kernel(0.5)) == (8, 3.0)
    assert was_loaded(kernel)


def test_an_unchanged_kernel_survives_a_new_date_of_its_file(made, tmp_path):
    made()(3)
    later = time.time() + 1000
    for name in ("made_inner", "made_outer"):
        os.utime(tmp_path / "dagopt" / "kernels" / f"{name}.py", (later, later))
    kernel = made()
    assert kernel(3) == 8
    assert was_loaded(kernel)


def test_literals_are_numbers_like_any_other(made):
    """A kernel that is called with 0 and with a variable is compiled once."""
    calls = "inner(0) + inner(1) + inner(x)"
    assert made(outer=OUTER.replace("2 * inner(x)", calls))(3) == 7
    assert len(sys.modules["dagopt.kernels.made_inner"].inner.signatures) == 1


def test_ends_of_lines_make_no_difference(made, tmp_path):
    made()(3)
    path = tmp_path / "dagopt" / "kernels" / "made_inner.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    kernel = made()
    assert kernel(3) == 8
    assert was_loaded(kernel)


def test_a_changed_kernel_is_compiled_again(made):
    made()(3)
    kernel = made(outer=OUTER.replace("2 *", "3 *"))
    assert not store.is_stored(kernel)
    assert kernel(3) == 12
    assert not was_loaded(kernel)


def test_a_kernel_whose_inner_kernel_changed_is_compiled_again(made):
    """The cache of numba itself keeps the old code here."""
    made()(3)
    kernel = made(added=5)
    assert kernel(3) == 16
    kernel = made()
    assert kernel(3) == 8
    assert was_loaded(kernel)  # both versions are there


@pytest.mark.parametrize("damage", [b"", b"short", lambda b: b[: len(b) // 2], lambda b: b[:-1] + bytes([b[-1] ^ 1])])
def test_a_damaged_file_is_compiled_again(made, tmp_path, damage):
    made()(3)
    for path in [*stored(tmp_path), *stored(tmp_path, "made_inner")]:
        path.write_bytes(damage(path.read_bytes()) if callable(damage) else damage)
    kernel = made()
    assert kernel(3) == 8
    assert not was_loaded(kernel)
    kernel = made()
    assert kernel(3) == 8
    assert was_loaded(kernel)


def test_where_nothing_can_be_written_kernels_are_compiled_every_time(made, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    for _ in range(2):
        kernel = made()
        assert kernel(3) == 8
        assert not was_loaded(kernel)


def test_old_versions_are_removed_after_a_month(made, tmp_path):
    made()(3)
    (first,) = stored(tmp_path)
    made(outer=OUTER + "# a comment\n")(3)
    assert len(stored(tmp_path)) == 2
    long_ago = time.time() - 2 * store.SUPERSEDED_SECONDS
    os.utime(first, (long_ago, long_ago))
    made(outer=OUTER + "# another comment\n")(3)
    assert first not in stored(tmp_path)
    assert len(stored(tmp_path)) == 2


def test_a_kernel_can_be_removed(made, tmp_path):
    kernel = made()
    kernel(3)
    kernel._cache.flush()
    assert stored(tmp_path) == []
    assert len(stored(tmp_path, "made_inner")) == 1


def test_imports_are_followed_in_every_form(tmp_path, monkeypatch):
    """A module in parentheses, one of a package, and one under another name; the store itself is left out."""
    monkeypatch.setattr(store, "PACKAGE", tmp_path / "dagopt")
    for name in ("a", "room/b", "room/c", "room/d", "store"):
        path = tmp_path / "dagopt" / "kernels" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    text = (
        "import numpy as np\nfrom dagopt.kernels.a import (\n    one,\n    two,\n)\n"
        "from dagopt.kernels.store import njit\n"
        "from dagopt.kernels.room import b, c\nfrom dagopt.kernels.room import d as other\n"
    )
    assert set(store._imports(text)) == {f"dagopt.kernels.{name}" for name in ("a", "room.b", "room.c", "room.d")}


def test_kernels_take_njit_from_the_store():
    """A kernel with numba's own decorator would be compiled again after every installation."""
    for path in (store.PACKAGE / "kernels").rglob("*.py"):
        assert "import njit" not in path.read_text().replace("from dagopt.kernels.store import njit", ""), path


def test_digits_do_not_depend_on_where_a_kernel_comes_from(made):
    values = np.linspace(0.0, 1.0, 7)
    first = made()(values)
    kernel = made()
    assert np.array_equal(kernel(values), first)
    assert was_loaded(kernel)
