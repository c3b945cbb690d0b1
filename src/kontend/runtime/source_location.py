"""Lines of the user's code, for messages that name the line to change."""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

_PACKAGE: Final = __name__.partition(".")[0]
_LIBRARIES: Final = ("stdlib", "platstdlib", "purelib", "platlib")
#: The directory of the process that has sent its work to this one.
_SENT_FROM: list[Path] = []


def working_directory() -> Path:
    """Return the directory that paths in messages are relative to: that in which the user has started the command."""
    return _SENT_FROM[-1] if _SENT_FROM else Path.cwd()


def work_for(directory: Path) -> None:
    """Write messages as a process in another directory, perhaps on another machine, would."""
    _SENT_FROM[:] = [directory]


class SourceLocation(NamedTuple):
    """A line of a file.

    >>> str(SourceLocation("somewhere/mine.py", 31))
    'somewhere/mine.py:31'
    """

    file: str
    line: int

    def __str__(self) -> str:
        """Return ``file:line``; the path is relative to the current directory where it lies below it."""
        path, current = Path(self.file), working_directory()
        return f"{path.relative_to(current) if path.is_relative_to(current) else path}:{self.line}"

    @property
    def short(self) -> str:
        """The name of the file, without its directories, and the line.

        >>> SourceLocation("/home/me/widgets.py", 31).short
        'widgets.py:31'
        """
        return f"{Path(self.file).name}:{self.line}"


#: Stands for a line that is not known.
UNKNOWN: Final = SourceLocation("", 0)


def caller() -> SourceLocation | None:
    """Return the line of user code that called into kontend, or that of a library if there is no user code."""
    frame: FrameType | None = sys._getframe(1)
    library: SourceLocation | None = None
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__")):
            location = SourceLocation(frame.f_code.co_filename, frame.f_lineno)
            if not _is_in_a_library(location.file):
                return location
            library = library or location
        frame = frame.f_back
    return library


def raised_at(error: BaseException) -> SourceLocation | None:
    """Return the innermost line of user code in the traceback of an error, or of a library if there is none."""
    locations = [
        SourceLocation(frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_ours(frame.f_globals.get("__name__"))
    ]
    own = [location for location in locations if not _is_in_a_library(location.file)]
    return next(reversed(own or locations), None)


def defined_at(cls: type) -> SourceLocation | None:
    """Return the line of a class statement; None for a class of this package and for one without a file."""
    if _is_ours(cls.__module__):
        return None
    try:
        file = inspect.getsourcefile(cls)
        _, line = inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return None
    return SourceLocation(file, line) if file else None


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE


@cache
def _is_in_a_library(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    paths = sysconfig.get_paths()
    return any(Path(file).is_relative_to(paths[name]) for name in _LIBRARIES)
