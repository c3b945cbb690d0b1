"""Fixtures and settings of all tests."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# Test packages import each other's helpers by name (conformance.replayer), whatever file pytest was given.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples on every run and every machine: what fails here fails everywhere.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")
