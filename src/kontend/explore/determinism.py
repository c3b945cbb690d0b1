"""Code that gets the same answers must do the same: a sample of the runs is made twice.

Everything the explorer says rests on this. The second run is watched, so that a difference comes with its cause; what
must not be called, or must not be changed without being declared, is an error even while both runs still agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kontend.explore.impure_calls import ImpureCalls
from kontend.explore.outcome import Outcome, difference
from kontend.explore.undeclared import Undeclared
from kontend.explore.user_code import UserCode
from kontend.kube.meta.names import Key
from kontend.runtime.controller import Controller

#: Which runs are made twice: the first ones, in which most of the code is met, and then one in so many.
_FIRST: Final = 50
_EVERY: Final = 16

_UNKNOWN: Final = (
    "nothing was called that is known to differ: does it keep something from one run to the next in an object? "
    "Name in `memory` what it remembers, as plain data"
)
_PROCESSES: Final = (
    "it was held again in another process: the order of a set (sort it), or something else that differs from one "
    "process to the next"
)


class Nondeterminism(Exception):
    """A reconcile that does not depend on the answers it gets alone; the message says where and, if known, why."""


class Strayed(Exception):
    """A run that made another call than before on the way to where it should go on."""

    def __init__(self, expected: Outcome, found: Outcome) -> None:
        super().__init__(difference(expected, found))
        self.expected = expected
        self.found = found


class Determinism:
    """Holds a controller to what it did before."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._code = UserCode(controller)
        self._undeclared = Undeclared(controller, self._code)

    def checked(self, number: int, request: Key, run: Callable[[], Outcome]) -> Outcome:
        """What the run with this number gives, if it gives it twice."""
        if number > _FIRST and number % _EVERY:
            return self._once(request, run)
        before = self._undeclared.values()
        first = self._once(request, run)
        changed = self._undeclared.changed(before)  # before the second run, which may change it back
        told, calls = self._compared(first, run)
        wrong = [*changed, *calls.forbidden()]
        if told:
            raise self._error(request, told, wrong or calls.suspects() or [_UNKNOWN])
        if wrong:
            raise self._error(request, "", wrong)
        return first

    def held_again(self, request: Key, expected: Outcome, run: Callable[[], Outcome]) -> None:
        """Make a run of another process again. Raises :class:`Nondeterminism` unless it comes to the same."""
        told, calls = self._compared(expected, run)
        if told:
            raise self._error(request, told, calls.suspects() or [_PROCESSES])

    def _once(self, request: Key, run: Callable[[], Outcome]) -> Outcome:
        try:
            return run()
        except Strayed as strayed:
            before = self._undeclared.values()
            _, calls = self._compared(strayed.found, run)
            causes = [*self._undeclared.changed(before), *calls.forbidden()] or calls.suspects() or [_UNKNOWN]
            raise self._error(request, str(strayed), causes) from None

    def _compared(self, first: Outcome, run: Callable[[], Outcome]) -> tuple[str, ImpureCalls]:
        """How another run differs, and the impure calls that it made."""
        with ImpureCalls(self._code) as calls:
            try:
                second = run()
            except Strayed as strayed:
                return str(strayed), calls
        return difference(first, second), calls

    def _error(self, request: Key, told: str, causes: list[str]) -> Nondeterminism:
        what = "with the same answers it did something else" if told else "it depends on more than the answers it gets"
        lines = [f"{self._controller.name} {Key(*request)}: {what}", *([told] if told else []), *causes]
        return Nondeterminism("\n  ".join(lines))
