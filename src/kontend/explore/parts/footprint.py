"""Footprints of parts: what they read and change, and whether two of them have anything to do with each other.

Two parts are independent if neither changes an object that the other one reads, lists, or changes, and no change of one
enqueues a request of the other. Then every run of the whole scenario is, for each part, a run of that part alone; and
runs of the parts, one after the other, are a run of the whole.

To answer a request the server reads more than the request names: the parameters of a policy, the default storage class,
the services whose addresses are taken. It notes these reads itself (:mod:`kontend.cluster.reads`).
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from kontend.cluster.reads import Reads
from kontend.cluster.startup.seed import UnknownKind
from kontend.cluster.state import Version
from kontend.explore.model.model import Model
from kontend.explore.model.part import Part
from kontend.kube.errors import ApiError
from kontend.kube.meta.names import Key
from kontend.kube.meta.selectors import parse_selector

#: The parameter of a list that selects by labels.
_LABELS = "labelSelector"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list that a part makes."""

    resource: str
    namespace: str
    query: tuple[tuple[str, str], ...]

    def shows(self, resource: str, key: Key, versions: dict[bytes, Version]) -> bool:
        """It could show one of these versions of an object."""
        if resource != self.resource or (self.namespace and key.namespace != self.namespace):
            return False
        labels = dict(self.query).get(_LABELS)
        if labels is None:
            return True
        try:
            selector = parse_selector(labels)
        except ApiError:
            return True
        return any(selector.matches(_labels(version)) for version in versions.values())


@dataclass(frozen=True, slots=True)
class Footprint:
    """All that a part has touched."""

    part: Part
    #: The objects that it has asked for by name, to read or to write them.
    named: frozenset[tuple[str, Key]]
    listings: frozenset[Listing]
    #: All that the server has looked at for its requests and actions.
    reads: Reads

    def meets(self, other: Footprint) -> bool:
        """Two parts are not independent."""
        mine, others = self.part, other.part
        return bool(mine.requests & others.requests) or _touches(self, other) or _touches(other, self)


def footprint(model: Model, part: Part) -> Footprint:
    """The footprint of a part that was explored, of the scenario that ``model`` explores as a whole."""
    named: set[tuple[str, Key]] = {
        (_resource(model, action.kind), action.key)
        for user, begin, end in zip(model.layout.users, part.start.acted, part.ends, strict=True)
        for action in user.actions[begin:end]
    }
    listings: set[Listing] = set()
    reads = Reads()
    for user, begin, end in zip(model.layout.users, part.start.acted, part.ends, strict=True):
        for action in user.actions[begin:end]:
            reads.add(model.layout.server.reads_for(action))
    programs = {program.number: program for program in model.programs}
    for number, request in part.requests:
        reads.add(model.layout.server.reads_of(programs[number], request))
        for call in programs[number].calls_of(request):
            resource = _resource(model, call.kind)
            if call.verb in ("list", "deletecollection"):
                listings.add(Listing(resource, call.namespace, call.query))
            else:
                named.add((resource, call.key))
    return Footprint(part, frozenset(named), frozenset(listings), reads)


def _touches(one: Footprint, other: Footprint) -> bool:
    """One part changes something that another one reads or changes."""
    changed = one.part.changed
    if changed.keys() & (other.named | other.part.changed.keys() | other.reads.objects):
        return True
    if {resource for resource, _ in changed} & other.reads.resources:
        return True
    return any(
        listing.shows(resource, key, versions)
        for listing in other.listings
        for (resource, key), versions in changed.items()
    )


def _resource(model: Model, kind: str) -> str:
    """The resource that serves a kind; empty for one that the initial state does not have."""
    try:
        return model.resource(model.initial(), kind)
    except UnknownKind:
        return ""


def _labels(version: Version) -> dict[str, str]:
    return (orjson.loads(version.body).get("metadata") or {}).get("labels") or {}
