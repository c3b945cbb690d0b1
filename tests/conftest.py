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

#: The files that take longest. They come first, so that none of them is left to one process when the others are done.
LONGEST = (
    "live/test_hostile.py", "explore/oracle/test_generated.py", "live/test_plain.py", "explore/test_operators.py",
    "live/test_campaign.py", "explore/parts/test_parts.py", "live/test_planted_bugs.py",
    "explore/search/test_memory_limit.py", "live/test_other_clients.py", "explore/search/walks/test_walks.py",
    "live/test_webhooks.py", "explore/reduction/test_reductions.py", "campaign/test_live_commands.py",
    "explore/test_known_answers.py", "campaign/test_resuming.py", "explore/search/test_depth_first.py",
    "cli/test_terminal.py", "audit/test_robustness.py", "test_manual.py", "serve/test_durability.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files, not tests: each file goes to one process (``--dist loadfile``), in this order."""
    here = Path(__file__).parent
    order = {here / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))
