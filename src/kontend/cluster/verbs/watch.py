"""Watching, as a pure read of the history.

A :class:`Watch` holds its selection and the last version that it has sent. ``watch.since(state)`` returns the events up
to ``state`` and the watch that goes on from there. Nothing blocks: the holder of the connection calls it again when
the state has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kontend.cluster.options import ListOptions
from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import Change, State, Version
from kontend.cluster.storage import read_back
from kontend.cluster.verbs.read import ObjectFilter, expired, filter_of, parse_version, selection_of, too_large
from kontend.cluster.verbs.selection import Pair, in_order, selected
from kontend.kube.errors import ApiError

Event = dict[str, Any]
Encoder = Callable[[Resource, Version], Any]

#: Objects that a watch passes over before it pauses, so that a selector of little does not hold its caller up.
_PAUSE_AFTER: Final = 100


@dataclass(frozen=True, slots=True)
class Watch:
    """One watch: which objects, and the last version it has seen."""

    resource: Resource
    namespace: str
    name: str
    predicate: ObjectFilter | None
    version: int
    bookmarks: bool
    #: Makes the JSON of an object that all readers share, where they want no more than that.
    encode: Encoder | None = None

    def since(self, state: State) -> tuple[list[Event], Watch]:
        """Return the events between the last version seen and ``state``, and the watch that goes on from there."""
        if state.resource_version <= self.version:
            return [], self
        events = [event for event in self._events(state) if event is not None]
        return events, replace(self, version=state.resource_version)

    def _events(self, state: State) -> Iterator[Event | None]:
        if self.version < state.floor:
            yield _error(expired(self.version, state.floor))
            return
        yield from _with_pauses(self.event(change) for change in state.changes_since(self.version, self.resource.key))

    def event(self, change: Change) -> Event | None:
        """Return the event of this watch for one change, if there is one."""
        if change.resource != self.resource.key:
            return None
        if self.name and change.key.name != self.name:
            return None
        if self.namespace and self.resource.namespaced and change.key.namespace != self.namespace:
            return None
        if self.encode is not None and self.predicate is None and change.new is not None:
            kind = "ADDED" if change.old is None else "MODIFIED"
            return {"type": kind, "object": self.encode(self.resource, change.new)}
        now = self._read(change.new)
        before = self._read(change.old) if now is None or self.predicate is not None else None
        if now is not None:
            had = change.old is not None if self.predicate is None else before is not None
            return {"type": "MODIFIED" if had else "ADDED", "object": now}
        if before is None:
            return None
        # What goes out of sight is shown as it last was, at the version that took it away.
        before["metadata"]["resourceVersion"] = str(change.resource_version)
        return {"type": "DELETED", "object": before}

    def bookmark(self, version: int, *, initial_events_end: bool = False) -> Event:
        """Tells the client how far the watch has got, without an object."""
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        if self.resource.custom is None:
            metadata["creationTimestamp"] = None
        body = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": metadata}
        return {"type": "BOOKMARK", "object": body}

    def shown(self, version: Version) -> Any:
        """Return an object as the watch shows it, or None if it is not selected."""
        if self.encode is not None and self.predicate is None:
            return self.encode(self.resource, version)
        return self._read(version)

    def _read(self, version: Version | None) -> dict[str, Any] | None:
        if version is None:
            return None
        obj = read_back(self.resource, version)
        return obj if self.predicate is None or self.predicate(obj) else None


def watch(
    state: State, target: Target, options: ListOptions, encode: Encoder | None = None
) -> tuple[Iterable[Event | None], Watch]:
    """Begins a watch: the events to send at once, made as they are read, and the watch that goes on from there.

    None among the events is a pause: the watch has passed over many objects that it does not select. With ``encode``,
    the objects of events are what it makes of them, where nothing else has to be known about them.
    """
    predicate = filter_of(target, options)
    wanted = parse_version(options.resource_version, ApiError)
    legacy = options.send_initial_events is None and not wanted
    initial = legacy or bool(options.send_initial_events)
    begun = Watch(
        target.resource,
        target.namespace,
        target.name,
        predicate,
        state.resource_version,
        options.allow_bookmarks,
        encode,
    )
    if options.send_initial_events and wanted > state.resource_version:
        raise too_large(wanted, state.resource_version)
    if initial:
        return _initial_events(state, target, options, begun), begun
    if not wanted:
        return (), begun
    if wanted > state.resource_version:
        return (), replace(begun, version=wanted)
    return replace(begun, version=wanted)._events(state), begun


def _initial_events(state: State, target: Target, options: ListOptions, begun: Watch) -> Iterator[Event | None]:
    at, selection = state.resource_version, selection_of(target, options)
    pairs = None if selection is None else selected(state, target, at, selection)
    if pairs is None:
        pairs = in_order(state, target, at)
    else:
        begun = replace(begun, predicate=None)  # these are the selected ones already
    return _added(begun, pairs, at if options.allow_bookmarks else None)


def _added(begun: Watch, pairs: Iterable[Pair], end: int | None) -> Iterator[Event | None]:
    objects = (begun.shown(version) for _, version in pairs)
    yield from _with_pauses(None if obj is None else {"type": "ADDED", "object": obj} for obj in objects)
    if end is not None:
        yield begun.bookmark(end, initial_events_end=True)


def _with_pauses(events: Iterable[Event | None]) -> Iterator[Event | None]:
    """Leaves out what is not selected, except for one None in a hundred.

    >>> list(_with_pauses([None] * 250 + [{"type": "ADDED"}]))
    [None, None, {'type': 'ADDED'}]
    """
    passed = 0
    for event in events:
        if event is not None:
            yield event
            continue
        passed += 1
        if passed % _PAUSE_AFTER == 0:
            yield None


def _error(error: ApiError) -> Event:
    status: Mapping[str, Any] = error.status()
    return {"type": "ERROR", "object": status}
