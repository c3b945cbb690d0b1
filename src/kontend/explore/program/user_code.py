"""Tells the user's own code from the standard library, installed packages and ours."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Final

from kontend.runtime.controller import Controller

OURS: Final = str(Path(__file__).parents[2]) + os.sep
_LIBRARIES: Final = tuple(
    {
        OURS,
        os.path.dirname(os.__file__) + os.sep,
        *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
_INSTALLED: Final = {"site-packages", "dist-packages"}


class UserCode:
    """The user's own code, for one controller, or for functions beside it."""

    def __init__(self, controller: Controller | None = None) -> None:
        self._own = _package_of(controller) if controller is not None else ""
        self._known: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Returns True for a file of the user's."""
        is_own = self._known.get(file)
        if is_own is None:
            is_own = self._known[file] = self._is_own(file)
        return is_own

    def _is_own(self, file: str) -> bool:
        # An operator that was installed is in site-packages and still what is explored.
        if self._own and file.startswith(self._own):
            return True
        # Names such as <string> belong to generated code.
        return not (file.startswith(("<", *_LIBRARIES)) or _INSTALLED.intersection(Path(file).parts))


def _package_of(controller: Controller) -> str:
    """The directory of the outermost package of a controller's class, or its file if it is in none."""
    name = type(controller).__module__
    outermost = sys.modules.get(name.partition(".")[0])
    file: str | None = getattr(outermost, "__file__", None)  # modules of an interactive interpreter have none
    if file and hasattr(outermost, "__path__"):
        return os.path.dirname(file) + os.sep
    return getattr(sys.modules.get(name), "__file__", None) or ""
