"""Fixtures and settings of all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Test packages import each other's helpers by name (conformance.replayer), whatever file pytest was given.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples on every run and every machine: what fails here fails everywhere.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files, not tests: each file goes to one process (``--dist loadfile``), in this order."""
    from effort import LONGEST

    tests = Path(__file__).parent
    order = {tests / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
