"""Imports a user's Python file and finds the controllers that it defines."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from kontend.runtime.controller import Controller
from kontend.runtime.source_location import defined_at, raised_at


class BadFile(ValueError):
    """A file that cannot be imported, or whose controllers cannot be constructed; the message says why."""


def load_file(path: str | Path) -> ModuleType:
    """Import a Python file, which runs it. It may import modules that lie beside it."""
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
        location = f"{path}{_line(str(file), error)}"
        raise BadFile(f"{location}: it cannot be imported: {type(error).__name__}: {error}") from error
    return module


def controllers_in(module: ModuleType, *, otherwise: str = "construct it yourself") -> list[Controller]:
    """Construct one controller of each class that a module defines, but not of those that it imports.

    A class without a ``kind`` is taken for a base class and left out. Raises :class:`BadFile` for a class that cannot
    be constructed without arguments; ``otherwise`` ends the message and says what to write instead.
    """
    controllers: list[Controller] = []
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, Controller) or value.__module__ != module.__name__:
            continue
        if not value.kind:
            continue
        try:
            controllers.append(value())
        except Exception as error:
            location = raised_at(error) or defined_at(value)
            reason = f"{value.__name__}() raised {type(error).__name__}: {error}; {otherwise}"
            raise BadFile(f"{location}: {reason}" if location is not None else reason) from error
    return controllers


def _line(file: str, error: Exception) -> str:
    """Return the line of a file that an error is about, as ``:31``."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines else ""
