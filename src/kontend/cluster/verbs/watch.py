"""Watching, as a pure read of the history.

A :class:`Watch` holds its selection and the last version that it has sent. ``watch.since(state)`` returns the events up
to ``state`` and the watch that goes on from there. Nothing blocks: the holder of the connection calls it again when
the state has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kontend.cluster.options import ListOptions
from kontend.cluster.request import Target
from kontend.cluster.resources import Resource
from kontend.cluster.state import Change, State, Version
from kontend.cluster.storage import read_back
from kontend.cluster.verbs.read import ObjectFilter, expired, filter_of, parse_version, select, too_large
from kontend.kube.errors import ApiError

Event = dict[str, Any]

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

    def since(self, state: State) -> tuple[list[Event], Watch]:
        """The events between the last version seen and ``state``, and the watch that goes on from there."""
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
        """Returns the event of this watch for one change, if there is one."""
        if change.resource != self.resource.key:
            return None
        if self.name and change.key.name != self.name:
            return None
        if self.namespace and self.resource.namespaced and change.key.namespace != self.namespace:
            return None
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

    def _read(self, version: Version | None) -> dict[str, Any] | None:
        if version is None:
            return None
        obj = read_back(self.resource, version)
        return obj if self.predicate is None or self.predicate(obj) else None


def watch(state: State, target: Target, options: ListOptions) -> tuple[Iterable[Event | None], Watch]:
    """Begins a watch: the events to send at once, made as they are read, and the watch that goes on from there.

    None among the events is a pause: the watch has passed over many objects that it does not select.
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
    plain = replace(
        options,
        resource_version="",
        resource_version_match="",
        limit=0,
        continue_token="",
        label_selector="",
        field_selector="",
    )
    return _added(begun, select(state, target, plain), state.resource_version if options.allow_bookmarks else None)


def _added(begun: Watch, versions: Iterable[Version], end: int | None) -> Iterator[Event | None]:
    objects = (begun._read(version) for version in versions)
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
