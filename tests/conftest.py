"""Fixtures and settings of all tests."""

from __future__ import annotations

import compileall
import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# Test packages import each other's helpers by name (conformance.replayer), whatever file pytest was given.
sys.path.insert(0, str(Path(__file__).parent))
from costs import Meter, beyond_budget, known_costs, longest_first, split

# The same examples on every run and every machine: what fails here fails everywhere.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once, where Python is asked to write no bytecode, as in many containers.

    Otherwise each of the several hundred processes that tests start compiles it again.
    """
    config.addinivalue_line("markers", "costly: beyond the budget of its file; make test leaves it to .ci/run")
    if "KONTEND_COSTS" in os.environ:
        config.pluginmanager.register(Meter(Path(os.environ["KONTEND_COSTS"]).resolve()))
    if sys.dont_write_bytecode:
        compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is beyond the budget of its file, and put the files that take longest first.

    The order is one of files, not of tests, because each file goes to one process (``--dist loadfile``).
    """
    costs = known_costs()
    costly = {file: beyond_budget(names) for file, names in costs.items()}
    for item in items:
        file, name = split(item.nodeid)
        if name in costly.get(file, ()):
            item.add_marker(pytest.mark.costly)
    order = longest_first((split(item.nodeid)[0] for item in items), costs)
    items.sort(key=lambda item: order[split(item.nodeid)[0]])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage, of which they make little."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exempt the thousands of collected tests from garbage collection, which would look at them again and again.

    They stay exempt after a search in several processes, which freezes and unfreezes what it shares with them.
    """
    gc.collect()
    gc.freeze()
    gc.unfreeze = _leave_frozen


def _leave_frozen() -> None:
    """Do nothing. What is still frozen and no longer needed is freed, unless it is part of a cycle."""
