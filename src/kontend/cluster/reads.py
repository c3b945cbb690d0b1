"""Reads of a state: the objects that the server looks at while it handles a request.

A write to one object may read any other one: the parameters of a policy, the default storage class, the services whose
addresses are taken, the bindings that an authorizer asks. No table of such kinds is kept, because the next one would be
forgotten. A :class:`WatchedState` notes each read that goes through it, and so do the states that come from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kontend.cluster.state import Objects, State, Version
from kontend.kube.meta.names import Key


@dataclass(slots=True)
class Reads:
    """Objects and resources that were read."""

    #: Objects that were asked for by name, whether they were there or not.
    objects: set[tuple[str, Key]] = field(default_factory=set)
    #: Resources all of whose objects were looked at.
    resources: set[str] = field(default_factory=set)

    def add(self, other: Reads) -> None:
        """Add what was read elsewhere."""
        self.objects |= other.objects
        self.resources |= other.resources


class WatchedState(State):
    """A state that notes what is read of it.

    >>> from kontend import Cluster
    >>> reads = Reads()
    >>> cluster = Cluster()
    >>> cluster.state = WatchedState.of(cluster.state, reads)
    >>> spec = {"ports": [{"port": 80}]}
    >>> created = cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    >>> "services" in reads.resources
    True
    """

    __slots__ = ("reads",)

    reads: Reads

    @classmethod
    def of(cls, state: State, reads: Reads) -> WatchedState:
        """Return the same state; from now on ``reads`` gets what is read of it."""
        watched = object.__new__(cls)
        for name in State.__slots__:
            setattr(watched, name, getattr(state, name))
        watched.reads = reads
        return watched

    def objects(self, resource: str) -> Objects:
        self.reads.resources.add(resource)
        return super().objects(resource)

    def find(self, resource: str, key: Key) -> Version | None:
        self.reads.objects.add((resource, key))
        return super().find(resource, key)

    def replace(self, **changes: Any) -> State:
        copy = super().replace(**changes)
        assert isinstance(copy, WatchedState)
        copy.reads = self.reads
        return copy

    def _commit(self, resource: str, key: Key, new: Version | None) -> State:
        state = super()._commit(resource, key, new)
        assert isinstance(state, WatchedState)
        state.reads = self.reads
        return state
