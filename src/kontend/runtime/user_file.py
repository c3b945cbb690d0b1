"""A user's file of Python, imported: controllers to run, scenarios to explore."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType


class BadFile(ValueError):
    """A file that cannot be imported; the message says why."""


def load_file(path: str | Path) -> ModuleType:
    """Import a file of Python, which runs it. It may import what lies beside it."""
    file = Path(path).resolve()
    if not file.is_file():
        raise BadFile(f"{path}: no such file")
    # Not just the stem: a file called operator.py must not take the place of the standard module.
    name = f"kontend_user_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadFile(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        where = f"{path}{_line(str(file), error)}"
        raise BadFile(f"{where}: it cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _line(file: str, error: Exception) -> str:
    """The line of a file that an error is about, as ``:31``."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines else ""
