"""Which code is the user's own: not the standard library, not what was installed, not ours."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Final

from kontend.runtime.controller import Controller

OURS: Final = str(Path(__file__).parent.parent) + os.sep
_LIBRARIES: Final = tuple(
    {
        OURS,
        os.path.dirname(os.__file__) + os.sep,
        *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
_INSTALLED: Final = {"site-packages", "dist-packages"}


class UserCode:
    """The user's own code, for one controller."""

    def __init__(self, controller: Controller) -> None:
        self._own = _package_of(controller)
        self._known: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Whether a file is the user's."""
        found = self._known.get(file)
        if found is None:
            found = self._known[file] = self._is_own(file)
        return found

    def _is_own(self, file: str) -> bool:
        # An operator that was installed is in site-packages and still what is explored.
        if self._own and file.startswith(self._own):
            return True
        # Names such as <string> are of code that somebody generated.
        return not (file.startswith(("<", *_LIBRARIES)) or _INSTALLED.intersection(Path(file).parts))


def _package_of(controller: Controller) -> str:
    """Where the outermost package of a controller's class lies, or its file if it is in none."""
    name = type(controller).__module__
    outermost = sys.modules.get(name.partition(".")[0])
    if outermost is not None and outermost.__file__ and hasattr(outermost, "__path__"):
        return os.path.dirname(outermost.__file__) + os.sep
    return getattr(sys.modules.get(name), "__file__", None) or ""
