"""Lines of user code: the user's own line, not that of a library in between."""

from __future__ import annotations

import importlib.util
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kontend.runtime.source_location import SourceLocation, caller


def _function(path: Path, source: str) -> Callable[..., Any]:
    """The function ``f`` of a module with this source."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.f
    return function


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that counts as one of installed packages."""
    directory = tmp_path / "site-packages"
    directory.mkdir()
    paths = {**sysconfig.get_paths(), "purelib": str(directory)}
    monkeypatch.setattr("sysconfig.get_paths", lambda: paths)
    return directory


def test_a_helper_of_a_library_does_not_hide_the_line_that_calls_it(tmp_path: Path, library: Path) -> None:
    helper = _function(library / "helper_of_a_library.py", "def f(call):\n    return call()\n")
    mine = _function(tmp_path / "mine.py", "def f(helper, call):\n    x = 1\n    return helper(call)\n")
    assert mine(helper, caller) == SourceLocation(str(tmp_path / "mine.py"), 3)


def test_a_helper_of_the_project_is_the_line_of_the_call(tmp_path: Path) -> None:
    helper = _function(tmp_path / "helpers.py", "def f(call):\n    return call()\n")
    mine = _function(tmp_path / "mine.py", "def f(helper, call):\n    return helper(call)\n")
    assert mine(helper, caller) == SourceLocation(str(tmp_path / "helpers.py"), 2)
