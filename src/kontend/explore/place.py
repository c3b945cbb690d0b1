"""Where users wrote something, for messages that name the line to change."""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

_PACKAGE: Final = __name__.partition(".")[0]
_LIBRARIES: Final = ("stdlib", "platstdlib", "purelib", "platlib")


class Place(NamedTuple):
    """A line of a file.

    >>> str(Place("somewhere/mine.py", 31))
    'somewhere/mine.py:31'
    """

    file: str
    line: int

    def __str__(self) -> str:
        """The path is relative to the current directory where it lies below it."""
        path, here = Path(self.file), Path.cwd()
        return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{self.line}"


def caller() -> Place | None:
    """The line that called into kontend: that of the innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def raised_at(error: BaseException) -> Place | None:
    """The innermost line of users' code that an error passed through: not one of ours, and rather none of a library."""
    places = [
        Place(frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_ours(frame.f_globals.get("__name__"))
    ]
    own = [place for place in places if not _is_of_a_library(place.file)]
    return next(reversed(own or places), None)


def defined_at(cls: type) -> Place | None:
    """The line of a class; None for ours, and for one without a file."""
    if _is_ours(cls.__module__):
        return None
    try:
        file = inspect.getsourcefile(cls)
        _, line = inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return None
    return Place(file, line) if file else None


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE


def _is_of_a_library(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    paths = sysconfig.get_paths()
    return any(Path(file).is_relative_to(paths[name]) for name in _LIBRARIES)
