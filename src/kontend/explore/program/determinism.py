"""Checks that user code is deterministic: identical responses must lead to identical requests.

Every verdict of the explorer rests on this. Each path runs a second time with all tokens renamed
(:mod:`kontend.explore.program.symbols`), other durations, and the caches of functools cleared; undeclared state that a
run changes is an error. A sample of the paths is also watched from the last response on: clocks and random numbers are
errors even while both runs still agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from kontend.explore.program.driven import Strayed
from kontend.explore.program.durations import OtherDurations
from kontend.explore.program.foreign import ForeignController
from kontend.explore.program.impure_calls import ImpureCalls
from kontend.explore.program.progress import Progress, difference
from kontend.explore.program.set_order import iterated_sets
from kontend.explore.program.symbols import Assumption, Refuted
from kontend.explore.program.undeclared_state import UndeclaredState
from kontend.explore.program.user_code import UserCode
from kontend.kube.meta.names import Key
from kontend.runtime.controller import Controller
from kontend.runtime.source_location import UNKNOWN

#: The paths that are watched: the first ones of each kind, and then one in this number.
_FIRST: Final = 3
_EVERY: Final = 64

_UNKNOWN: Final = (
    "no call is known that differs from run to run: does the controller keep something from one run to the next in an "
    "object or in a cache of functools? Name it in `memory`, as plain data"
)
_PROCESSES: Final = (
    "it was run again in another process: the order of a set (sort it), or something else that differs from one "
    "process to the next"
)


class Nondeterminism(Exception):
    """A reconcile that depends on more than the responses it gets; the message says where and, if known, why."""


class WatchedPaths:
    """Chooses the paths of one controller that are watched, from one search to the next."""

    def __init__(self) -> None:
        self._kinds: Counter[Hashable] = Counter()
        self._paths = 0

    def takes(self, kind: Hashable) -> bool:
        """Reports whether the next path, which is of some kind, is watched."""
        self._kinds[kind] += 1
        self._paths += 1
        return self._kinds[kind] <= _FIRST or self._paths % _EVERY == 0


class Determinism:
    """Compares the runs of one controller."""

    def __init__(self, controller: Controller, assumptions: frozenset[Assumption]) -> None:
        self._controller = controller
        self._assumptions = assumptions
        self.code = UserCode(controller)
        self.undeclared = UndeclaredState(controller, self.code)
        self.durations = OtherDurations(self.code)
        self._unknown = controller.suspects if isinstance(controller, ForeignController) else _UNKNOWN
        self._sets_checked = isinstance(controller, ForeignController)

    def checked(self, request: Key, run: Callable[[], Progress], run_mirrored: Callable[[bool], Progress]) -> Progress:
        """The progress of a run. Raises :class:`Nondeterminism` or :class:`Refuted`.

        ``run_mirrored`` is told whether code in another language is taken not to read the clock.
        """
        self._check_sets(request)
        before = self.undeclared.values()
        first = self._once(request, run)
        changed = self.undeclared.changed(before)
        if changed:
            described, calls = self._compared(first, run)
            raise self._error(request, described, [*changed, *calls.forbidden()])
        self._check_mirrored(request, first, run, run_mirrored)
        return first

    def watch(
        self, request: Key, expected: Progress, run: Callable[[AbstractContextManager[object]], Progress]
    ) -> None:
        """Make a run again, and watch what it is told to. Raises :class:`Nondeterminism` for impure calls there."""
        self._check_sets(request)
        calls = ImpureCalls(self.code)
        try:
            described = difference(expected, run(calls))
        except Strayed as strayed:
            described = str(strayed)
        if described:
            _, calls = self._compared(expected, lambda: run(nullcontext()))
            raise self._error(request, described, calls.forbidden() or calls.suspects() or [self._unknown])
        if calls.forbidden():
            raise self._error(request, "", calls.forbidden())

    def rerun(self, request: Key, expected: Progress, run: Callable[[], Progress]) -> None:
        """Make a run of another process again. Raises :class:`Nondeterminism` unless it does the same."""
        described, calls = self._compared(expected, run)
        if described:
            raise self._error(request, described, calls.suspects() or [_PROCESSES])

    def _check_mirrored(
        self, request: Key, first: Progress, run: Callable[[], Progress], run_mirrored: Callable[[bool], Progress]
    ) -> None:
        """Raise when a run with renamed tokens, or with empty caches, does something else."""
        self.undeclared.clear_caches()

        def compared(*, clockless: bool = False) -> str:
            try:
                return difference(first, run_mirrored(clockless))
            except Strayed as strayed:
                return str(strayed)

        described = compared(clockless=True)
        if not described:
            return
        if isinstance(self._controller, ForeignController):
            at_the_same_time = compared()
            line = next((line for line in first.lines if line != UNKNOWN), UNKNOWN)
            if not at_the_same_time or self._controller.unifies(at_the_same_time, line, compared):
                if compared(clockless=True):
                    raise Refuted(Assumption.CLOCKLESS)
                return
        again, calls = self._compared(first, run)
        if again:
            raise self._error(request, again, calls.suspects() or [self._unknown])
        # The same tokens give the same run, so the code can tell tokens apart by more than equality.
        if first.uuids and Assumption.WHOLE_UUIDS in self._assumptions:
            raise Refuted(Assumption.WHOLE_UUIDS)
        if Assumption.OPAQUE_VERSIONS in self._assumptions:
            raise Refuted(Assumption.OPAQUE_VERSIONS)
        raise self._error(request, described, calls.suspects() or [self._unknown])

    def _check_sets(self, request: Key) -> None:
        if self._sets_checked:
            return
        self._sets_checked = True
        lines = iterated_sets(self._controller, self.code)
        if lines:
            raise self._error(request, "", [f"{line}; use sorted(...)" for line in lines])

    def _once(self, request: Key, run: Callable[[], Progress]) -> Progress:
        try:
            return run()
        except Strayed as strayed:
            before = self.undeclared.values()
            _, calls = self._compared(strayed.actual, run)
            causes = [*self.undeclared.changed(before), *calls.forbidden()] or calls.suspects() or [self._unknown]
            raise self._error(request, str(strayed), causes) from None

    def _compared(self, first: Progress, run: Callable[[], Progress]) -> tuple[str, ImpureCalls]:
        """The difference of another run, and the impure calls that it made."""
        calls = ImpureCalls(self.code)
        with nullcontext() if isinstance(self._controller, ForeignController) else calls:
            try:
                second = run()
            except Strayed as strayed:
                return str(strayed), calls
        return difference(first, second), calls

    def _error(self, request: Key, described: str, causes: list[str]) -> Nondeterminism:
        what = "identical responses led to different requests" if described else "it depends on more than its responses"
        lines = [
            f"{self._controller.name} {Key(*request)}: nondeterministic: {what}",
            *([described] if described else []),
        ]
        return Nondeterminism("\n  ".join([*lines, *causes]))
