"""Lines of source code in traces, with paths relative to the project's root."""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

from kontend.report.document import Line
from kontend.runtime.source_location import UNKNOWN, SourceLocation, working_directory

#: Files that mark the root of a project.
_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
#: Lines before and after one that are kept with a trace.
_AROUND: Final = 4


class SourceLines:
    """Reads the lines that a trace names."""

    def __init__(self, root: Path) -> None:
        self._root = root
        #: The lines around those that were asked for: by file, then by number.
        self.around: dict[str, dict[str, str]] = {}

    def line(self, location: SourceLocation | None) -> Line | None:
        """A line with its text and function; None for one that is not known."""
        if location is None or location == UNKNOWN:
            return None
        name = self.relative(location.file)
        kept = self.around.setdefault(name, {})
        for number in range(max(1, location.line - _AROUND), location.line + _AROUND + 1):
            text = linecache.getline(location.file, number)
            if text:
                kept[str(number)] = text.rstrip("\n")
        text = linecache.getline(location.file, location.line).strip()
        return Line(name, location.line, text, _function(location.file, location.line))

    def relative(self, file: str | Path) -> str:
        """The path of a file below the project's root, or below the directory that it was imported from."""
        path = Path(file).resolve()
        for base in (
            self._root,
            *(Path(entry).resolve() for entry in sorted(sys.path, key=len, reverse=True) if entry),
        ):
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return path.name


def relative_name(file: Path) -> str:
    """The path of a file below the root of its project."""
    return SourceLines(project_root(file)).relative(file)


def project_root(file: Path) -> Path:
    """The nearest directory above a file that looks like the root of a project.

    Without one it is the current directory, if the file is below it, or else the file's own directory.
    """
    directory = file.resolve().parent
    for candidate in (directory, *directory.parents):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    current = working_directory().resolve()
    return current if directory.is_relative_to(current) else directory


def _function(file: str, line: int) -> str:
    """The innermost function that a line belongs to."""
    functions = [(last - first, name) for name, first, last in _functions(file) if first <= line <= last]
    return min(functions)[1] if functions else ""


@lru_cache(maxsize=100)
def _functions(file: str) -> tuple[tuple[str, int, int], ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple(
        (node.name, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
