"""Run uncompiled (NUMBA_DISABLE_JIT=1), tests of compiled code are skipped, and hashes may wrap around as compiled."""

import pytest
from numba import config


def pytest_collection_modifyitems(items):
    """Skip or relax tests if compilation is switched off."""
    for item in items if config.DISABLE_JIT else ():
        item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning"))
        if item.get_closest_marker("compiled"):
            item.add_marker(pytest.mark.skip(reason="is about compiled code"))
