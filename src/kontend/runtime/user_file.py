"""Imports a user's Python file or package and finds the controllers that it defines."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Final

from kontend.runtime.controller import Controller
from kontend.runtime.source_location import defined_at, raised_at, working_directory
from kontend.runtime.user_sources import UserSource, sent_source

#: Files that mark the root of a project.
_ROOT_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
#: The file that makes a directory a package.
_PACKAGE: Final = "__init__.py"


class BadFile(ValueError):
    """A file that cannot be imported, or whose controllers cannot be constructed; the message says why."""


def load_file(path: str | Path) -> ModuleType:
    """Import a Python file, or a directory that is a package, which runs it.

    It may import modules that lie beside it and, from the project's root, by their full names. A file of a package is
    imported as a part of it, so that relative imports work.
    """
    file = (working_directory() / path).resolve()
    if file.is_dir():
        file = file / _PACKAGE
        if not file.is_file():
            raise BadFile(f"{path}: a directory without {_PACKAGE}; name a Python file or a package")
    if (sent := sent_source(file)) is not None:
        return _imported(path, file, sent.name)
    if not file.is_file():
        raise BadFile(f"{path}: no such file")
    name, package, root = _module(file)
    locations = [str(file.parent)] if file.name == _PACKAGE else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise BadFile(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    for directory in project_directories(file):  # last, so that it hides nothing that is installed
        if str(directory) not in sys.path:
            sys.path.append(str(directory))
    try:
        if package:
            importlib.import_module(package)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        raise _not_imported(path, file, error) from error
    return module


def source_of(path: str | Path) -> UserSource:
    """Return the source of a Python file, under the name by which :func:`load_file` imports it. Raises ``OSError``."""
    file = (working_directory() / path).resolve()
    return UserSource(_module(file)[0], str(file), file.read_text(encoding="utf-8"), file.name == _PACKAGE)


def _module(file: Path) -> tuple[str, str, Path]:
    """Return the name of the module of a file, its package, and the directory from which that is imported."""
    package, root = _package(file)
    # Not just the stem: a file called operator.py must not take the place of the standard module.
    if file.name == _PACKAGE:
        return package or f"kontend_user_{file.parent.name}", package.rpartition(".")[0], root
    return (f"{package}.{file.stem}" if package else f"kontend_user_{file.stem}"), package, root


def _imported(path: str | Path, file: Path, name: str) -> ModuleType:
    """Import a module whose source was sent to this process, which runs it."""
    sys.modules.pop(name, None)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise _not_imported(path, file, error) from error


def _not_imported(path: str | Path, file: Path, error: Exception) -> BadFile:
    location = f"{path}{_line(str(file), error)}"
    return BadFile(f"{location}: it cannot be imported: {type(error).__name__}: {error}")


def file_of_module(name: str) -> Path:
    """Return the file of a module that is imported from the current directory or its ``src``. Raises :class:`BadFile`.

    This imports the packages that it is in.
    """
    for directory in (Path.cwd() / "src", Path.cwd()):
        if directory.is_dir() and str(directory) not in sys.path:
            sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(name)
    except Exception as error:
        raise BadFile(f"{name}: it cannot be imported: {type(error).__name__}: {error}") from error
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        raise BadFile(f"{name}: no such module here; start from the project's root, or give the file")
    return Path(spec.origin)


def controllers_in(module: ModuleType, *, otherwise: str = "construct it yourself") -> list[Controller]:
    """Construct one controller of each class that a module defines, but not of those that it imports.

    A package defines what its ``__init__.py`` imports from its own modules. A class without a ``kind`` is taken for a
    base class and left out. Raises :class:`BadFile` for a class that cannot be constructed without arguments;
    ``otherwise`` ends the message and says what to write instead.
    """
    controllers: list[Controller] = []
    for value in vars(module).values():
        if not isinstance(value, type) or not issubclass(value, Controller) or not _defines(module, value):
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


def _defines(module: ModuleType, value: type) -> bool:
    if value.__module__ == module.__name__:
        return True
    return hasattr(module, "__path__") and value.__module__.startswith(f"{module.__name__}.")


def project_directories(file: Path) -> list[Path]:
    """Return the root of the project of a file, and its directory ``src``; none for a file outside of projects."""
    for directory in file.parents:
        if any((directory / mark).exists() for mark in _ROOT_MARKS):
            return [root for root in (directory, directory / "src") if root.is_dir()]
    return []


def _package(file: Path) -> tuple[str, Path]:
    """Return the package that a file belongs to, and the directory from which that is imported.

    A package whose name is taken by another one cannot be imported; its files are then imported alone.
    """
    parts: list[str] = []
    directory = file.parent
    while (directory / _PACKAGE).is_file() and directory.name.isidentifier():
        parts.insert(0, directory.name)
        directory = directory.parent
    if not parts or not file.stem.isidentifier():
        return "", file.parent
    taken = sys.modules.get(parts[0])
    if parts[0] in sys.stdlib_module_names or (
        taken is not None and str(directory / parts[0]) not in list(getattr(taken, "__path__", []))
    ):
        return "", file.parent
    return ".".join(parts), directory


def _line(file: str, error: Exception) -> str:
    """Return the line of a file that an error is about, as ``:31``."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        lines.append(error.lineno)
    return f":{lines[-1]}" if lines else ""
