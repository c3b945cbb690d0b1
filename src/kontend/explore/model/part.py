"""A part of a scenario: some requests and actions that are explored as if there were no others.

A part records what it touches, which shows whether it really has nothing to do with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kontend.cluster.state import Change, State, Version
from kontend.explore.model.state.world import World
from kontend.kube.meta.names import Key


class Coupled(Exception):
    """A change by one part enqueues a request of another one: the number of the controller, and the request."""

    def __init__(self, controller: int, request: Key) -> None:
        super().__init__(controller, request)
        self.controller = controller
        self.request = request


@dataclass(slots=True)
class Part:
    """A part, and its footprint so far."""

    #: The state in which it starts: only its own requests are enqueued, and users are about to take its actions.
    start: World
    #: The cluster before anything happens.
    whole: State
    #: For each instance, the requests of other parts.
    foreign: tuple[frozenset[Key], ...]
    #: For each user, the number of actions that were taken when those of this part are.
    ends: tuple[int, ...]
    #: The requests that it has reconciled: the number of the controller, and the request.
    requests: set[tuple[int, Key]] = field(default_factory=set)
    #: The objects that it has changed, each with all versions before and after a change, by their digests.
    changed: dict[tuple[str, Key], dict[bytes, Version]] = field(default_factory=dict)

    def record(self, changes: Sequence[Change]) -> None:
        """Add some changes to the footprint."""
        for change in changes:
            versions = self.changed.setdefault((change.resource, change.key), {})
            for version in (change.old, change.new):
                if version is not None:
                    versions[version.digest] = version
