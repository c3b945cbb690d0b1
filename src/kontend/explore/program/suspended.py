"""Runs that are suspended where they wait for a response, so that the way there need not be run again.

Coroutines cannot be copied: a suspended run goes on with the first response that is new, and all others start again.
While a run is suspended other runs of the same controller go on, which is right only if it holds nothing that they can
see: no lock, no variable that it sets back at the end. So runs are suspended only of controllers with no memory and
with nothing in reach but plain data and objects that are known to be harmless, and no longer once any of it changes.

A suspended run is always ended explicitly, and this module refers to it until then: CPython 3.11 may crash where the
garbage collector ends a coroutine.
"""

from __future__ import annotations

import atexit
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Final, NamedTuple

from kontend.explore.program.driven import DrivenRun, Exchange
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.progress import Progress, difference
from kontend.explore.program.undeclared_state import UndeclaredState
from kontend.runtime.controller import Controller

#: The number of runs that a process keeps at a time, the last ones.
_MOST: Final = 200
#: Packages whose objects cannot be held by a run, or do not tell it.
_HARMLESS: Final = frozenset(
    {
        "__future__",
        "_abc",
        "_pytest",
        "abc",
        "builtins",
        "collections",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "ipaddress",
        "kontend",
        "logging",
        "pathlib",
        "re",
        "string",
        "types",
        "typing",
        "typing_extensions",
        "uuid",
    }
)


class Twins(NamedTuple):
    """A run, and the same with all tokens renamed, unless it is only looked at."""

    run: DrivenRun
    mirror: DrivenRun | None

    @classmethod
    def started(cls, start: Callable[[bool], DrivenRun], *, alone: bool = False) -> Twins:
        """Start both, or one ``alone``: ``start`` is told whether tokens are renamed."""
        run = start(False)
        if alone:
            return cls(run, None)
        try:
            return cls(run, start(True))
        except BaseException:
            run.close()
            raise

    def follow(self, exchange: Exchange, undeclared: UndeclaredState) -> None:
        """Give both a response to one of their calls. Raises :class:`Strayed` if it is another call this time."""
        self.run.follow(exchange)
        if self.mirror is not None:
            undeclared.clear_caches()
            self.mirror.follow(exchange)

    def progress(self) -> Progress | None:
        """Their progress; None where they differ."""
        progress = self.run.progress()
        differs = self.mirror is not None and difference(progress, self.mirror.progress())
        return None if differs else progress

    def close(self) -> None:
        """End both."""
        self.run.close()
        if self.mirror is not None:
            self.mirror.close()


#: All suspended runs: the number of their :class:`SuspendedRuns`, and the node at which they wait.
_waiting: Final[OrderedDict[tuple[int, bytes], Twins]] = OrderedDict()
_numbers: Final = count()


@atexit.register
def end_suspended_runs() -> None:
    """End all runs that are suspended in this process."""
    while _waiting:
        _waiting.popitem()[1].close()


class SuspendedRuns:
    """The suspended runs of one controller, by the node of its tree at which they wait."""

    def __init__(self, controller: Controller, undeclared: UndeclaredState) -> None:
        self._number = next(_numbers)
        self._is_foreign = isinstance(controller, ForeignController)
        self._undeclared = undeclared
        self._is_possible: bool | None = False if controller.memory else None
        self._values = undeclared.values()

    @property
    def is_possible(self) -> bool:
        """Runs can be suspended."""
        if self._is_possible is None:
            is_harmless = all(map(_is_harmless, self._undeclared.opaque_types()))
            self._is_possible = is_harmless and not self._undeclared.is_hidden_in_closures()
        return self._is_possible

    def resumed(self, node: bytes) -> Twins | None:
        """The runs that wait at a node, which go on and do not wait there any more."""
        return _waiting.pop((self._number, node), None)

    def keep(self, node: bytes, twins: Twins, progress: Progress | None) -> bool:
        """Keep runs that wait at a node, and end those that have ended.

        False, and no run is kept from now on, where they differ (None) or have changed what others can see.
        """
        replaced = self.resumed(node)
        if replaced is not None:
            replaced.close()
        if progress is not None and progress.done is None:
            _waiting[self._number, node] = twins
        else:
            twins.close()
        if progress is None and self._is_foreign:  # the whole path is run, to find out what; others may wait on
            return False
        if progress is None or self._undeclared.values() != self._values:
            self.give_up()
            return False
        if len(_waiting) > _MOST:
            _waiting.popitem(last=False)[1].close()
        return True

    def give_up(self) -> None:
        """End all runs that wait, and keep none from now on."""
        self._is_possible = False
        for key in [key for key in _waiting if key[0] == self._number]:
            _waiting.pop(key).close()


def _is_harmless(kind: type) -> bool:
    if issubclass(kind, (GeneratorType, CoroutineType, AsyncGeneratorType)):
        return False
    return issubclass(kind, (type, Controller)) or kind.__module__.partition(".")[0] in _HARMLESS
