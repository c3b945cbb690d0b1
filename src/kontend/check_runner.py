"""Lets a test framework run the searches of ``check``.

A test framework sets the runner for as long as a test runs. This module imports nothing, so setting it costs nothing in
tests that never explore.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

#: Gets the scenario, its options and the search that ``check`` would run; returns the verdict.
Runner = Callable[[Any, Any, Callable[[Any, Any], Any]], Any]
CHECK_RUNNER: Final[ContextVar[Runner | None]] = ContextVar("kontend_check_runner", default=None)
