"""A successor of a state, as plain data: it travels between processes and into checkpoints.

Its three parts answer three questions: how the search came there, which state it is, and what happened on the way.
Very many successors have the last in common: nothing happened.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kontend.explore.model.answer import Refusal
from kontend.explore.model.state.budget import NO_RESERVE, Reserve
from kontend.explore.model.step import Step
from kontend.explore.properties.built_in import Breach
from kontend.kube.meta.names import Key


class StateRecord(NamedTuple):
    """A state, as far as a search records it."""

    key: bytes
    #: The sum of the digests of its objects.
    objects: int
    #: For a new state: equal for states that differ only in counters and made-up names.
    similar: int = 0
    #: The answers of the properties.
    holds: tuple[bool, ...] = ()
    #: The faults that are left.
    reserve: Reserve = NO_RESERVE
    #: The search does not go beyond the state.
    is_stuck: bool = False
    #: The number of objects after a step that creates some; else 0.
    size: int = 0


class Effects(NamedTuple):
    """The events of a macro-step, besides leading to a state."""

    #: Violations, each with the number of steps after which it shows.
    findings: tuple[tuple[int, Breach], ...] = ()
    #: The failure of a reconcile, unless it is a programming error.
    failure: str = ""
    #: The server's answer to a user's action that it has refused.
    refused: Refusal | None = None
    #: The index of the user's action that it ends with; -1 for none.
    action: int = -1
    wrote: bool = False
    #: Properties of clusters that held after a write in the middle of an atomic reconcile.
    passed: tuple[bool, ...] = ()
    #: The keys of the objects that were created.
    created: tuple[Key, ...] = ()
    #: It need not happen, however long a run goes on.
    is_optional: bool = False
    #: A timer fires in it.
    fires: bool = False


#: A macro-step that leads to a state and does nothing else.
NOTHING: Final = Effects()


class Successor(NamedTuple):
    """One macro-step from a state."""

    steps: tuple[Step, ...]
    #: The number of perturbations.
    cost: int
    reached: StateRecord
    effects: Effects
