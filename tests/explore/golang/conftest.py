"""The Go operators of examples/go, for tests that need a Go toolchain."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

OPERATORS = Path(__file__).parents[3] / "examples" / "go"


@pytest.fixture(scope="session")
def operators() -> Path:
    """The module with the operators; skips where there is no Go."""
    if shutil.which("go") is None:
        pytest.skip("there is no command go")
    return OPERATORS
