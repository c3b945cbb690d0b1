"""Built-in properties: their names, and the sentences for violations that concern whole states and runs.

Properties of single writes are judged in :mod:`kontend.explore.properties.writes`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kontend.explore.program.progress import Failure
from kontend.runtime.source_location import SourceLocation


class BuiltIn(StrEnum):
    """The properties that every scenario is checked for, by the names under which violations are reported.

    >>> BuiltIn.LOST_UPDATE == "lost update"
    True
    """

    #: User code raised a programming error (TypeError, KeyError …).
    EXCEPTION = "exception"
    #: A write changed a field that another client had changed since the writer read the object.
    LOST_UPDATE = "lost update"
    #: A write removed an element of a list that another client had added since the writer read the object.
    VANISHED_ELEMENT = "vanished element"
    #: A write or delete hit an object of the same name, but with another uid than the one that was read.
    WRONG_OBJECT = "wrong object"
    #: A delete hit an object that belongs to a live owner, while the reconcile had read an earlier owner of that name.
    WRONG_OWNER = "wrong owner"
    #: A write set observedGeneration to a generation that the reconcile never read.
    OBSERVED_GENERATION = "observed generation"
    #: A write took back what a user had written, although the writer had read it.
    FIGHT = "fight"
    #: A set of states that a fair run never leaves, in which something is written again and again (a livelock).
    NEVER_SETTLES = "never settles"
    #: A reconcile fails again and again where nothing else can happen any more.
    FAILS_FOREVER = "fails forever"
    #: A perturbed run settles in a final state that no unperturbed run reaches.
    DIVERGED = "diverged"
    #: Everything has settled, and an object waits forever for a finalizer that a controller has put there.
    LEAK = "leak"


class Breach(NamedTuple):
    """A violation of a property, without the trace that shows it."""

    property: str
    sentence: str
    #: The line that made the call, for a violation by a single write; the line that raised, for an exception.
    line: SourceLocation | None = None


def not_eventually(name: str) -> Breach:
    """A quiescent state in which an ``eventually`` does not hold."""
    return Breach(name, f"everything has settled, and {name} does not hold")


def never_again(name: str, *, perturbed: bool) -> Breach:
    """A set of states that a fair run never leaves and in which an ``eventually`` never holds."""
    return Breach(name, f"from here {name} never holds, {_whatever(perturbed)}")


def initially_broken(name: str, why: str = "") -> Breach:
    """An invariant that is broken before the first step."""
    return Breach(name, f"{name} is broken in the initial state{why and f': {why}'}")


def broken_by(name: str, text: str) -> Breach:
    """An invariant that a write breaks."""
    return Breach(name, f"{name} is broken by {text}")


def diverged() -> Breach:
    """A final state that no unperturbed run reaches."""
    return Breach(BuiltIn.DIVERGED, "everything settles in a final state that differs from every unperturbed run")


def never_settles(states: int, failure: str, *, perturbed: bool, waits: bool = False) -> Breach:
    """A set of states that a fair run never leaves (``waits``: as long as no user acts), and that writes something."""
    many = f"{states} states lead only to each other" if states > 1 else "this state leads only to itself"
    why = f"; a reconcile fails there: {failure}" if failure else ""
    return Breach(
        BuiltIn.NEVER_SETTLES,
        f"from here the controllers never stop writing, {_whatever(perturbed, waits)}: {many}{why}",
    )


def still_writes(writes: int, begin: int, end: int) -> Breach:
    """An unperturbed run that goes on writing although no state comes back: numbers grow."""
    cycle = f"step {end} repeats step {begin}" if end == begin + 1 else f"steps {begin + 1} to {end} repeat"
    return Breach(
        BuiltIn.NEVER_SETTLES,
        f"an unperturbed run still writes after {writes} writes: {cycle} again and again, with other numbers",
    )


def fails_forever(failure: str) -> Breach:
    """A set of states that a fair run never leaves, in which nothing is written and a reconcile fails."""
    return Breach(
        BuiltIn.FAILS_FOREVER, f"from here a reconcile fails again and again, and nothing else changes: {failure}"
    )


def raised(instance: str, request: str, failure: Failure) -> Breach:
    """A programming error that left a reconcile."""
    trace = f"\n{failure.traceback}" if failure.traceback else ""
    return Breach(
        BuiltIn.EXCEPTION, f"the reconcile of {request} by {instance} raised {failure.text}{trace}", failure.line
    )


def _whatever(perturbed: bool, waits: bool = False) -> str:
    if waits:
        return "as long as no user acts" if perturbed else "as long as no user acts and nothing perturbs them"
    return "whatever happens" if perturbed else "as long as nothing perturbs them"
