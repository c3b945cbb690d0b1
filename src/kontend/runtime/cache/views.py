"""The cache of a manager: for each kind its objects as they were at one version.

The cache sends no requests. An informer, over HTTP or in process, hands lists and events to a :class:`View`; reconciles
read from it. An object is kept as JSON, so that each read gets its own copy and cannot change those of others.

With ``monotonic`` a view never goes back: it refuses a list that is older than what it has shown, and an older version
of an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from kontend.kube.errors import BadRequest, ServiceUnavailable, not_found
from kontend.kube.json_types import Object
from kontend.kube.meta.field_selectors import parse_field_selector
from kontend.kube.meta.names import Key, key_of, parse_kind
from kontend.kube.meta.selectors import parse_selector
from kontend.runtime.client.call import Call
from kontend.runtime.indexes import OWNER, Indexer, owner_uids
from kontend.runtime.predicates import Event

Handler = Callable[[Event], None]


class OutdatedList(ServiceUnavailable):
    """A list that is older than a version seen or written before; to show it would be to go back in time."""


class Entry(NamedTuple):
    """One object in the cache."""

    body: bytes
    version: int
    labels: Mapping[str, str]
    values: tuple[tuple[str, str], ...]

    def read(self) -> Object:
        """Return a fresh copy."""
        obj: Object = orjson.loads(self.body)
        return obj


class View:
    """The objects of one kind, as of one version."""

    def __init__(self, kind: str, *, plural: str = "", monotonic: bool = True) -> None:
        self.kind = kind
        self.gvk = parse_kind(kind)
        self.plural = plural or self.gvk.kind.lower()
        self.monotonic = monotonic
        #: The highest version seen, in a list, an event or a bookmark.
        self.version = 0
        #: True once a whole list has been seen.
        self.synced = False
        #: The lowest version that a list may have: the last one written, or seen before a restart.
        self.floor = 0
        #: The version of the last list: a watch that began before it may still send what came earlier.
        self.listed = 0
        self._entries: dict[Key, Entry] = {}
        self._indexers: dict[str, Indexer] = {OWNER: owner_uids}
        self._index: dict[tuple[str, str], dict[Key, None]] = {}

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Add an index: find objects by the values of a function."""
        known = self._indexers.setdefault(name, indexer)
        if known is not indexer:
            raise BadRequest(f"{self.kind}: two different indexes are called {name!r}; rename one")
        for key, entry in list(self._entries.items()):
            self._put(key, entry.read())

    # Written by informers

    def replace(self, items: Iterable[Object], version: int) -> list[Event]:
        """Replace all objects by those of a list. Returns the changes."""
        if self.monotonic and version < max(self.version, self.floor):
            raise OutdatedList(
                f"{self.kind}: the server's list is of version {version}, but version "
                f"{max(self.version, self.floor)} was seen or written before; waiting for a newer one "
                "(restart this process if the cluster was restored from a backup or began anew)"
            )
        events: list[Event] = []
        present: set[Key] = set()
        for item in items:
            key = key_of(item)
            present.add(key)
            event = self._change(key, item)
            if event is not None:
                events.append(event)
        for key in [key for key in self._entries if key not in present]:
            events.append(Event(self.kind, self._remove(key), None))
        self.version = self.listed = version
        self.synced = True
        return events

    def apply(self, type: str, obj: Object) -> Event | None:
        """Apply an event of a watch. Returns the change, if there is one."""
        version = _version(obj)
        if type == "BOOKMARK":
            self.version = max(self.version, version)
            return None
        if version <= self.listed:
            return None
        key = key_of(obj)
        entry = self._entries.get(key)
        if self.monotonic and entry is not None and version < entry.version:
            return None
        self.version = max(self.version, version) if self.monotonic else version
        if type != "DELETED":
            return self._change(key, obj)
        if entry is None:
            return None
        self._remove(key)
        return Event(self.kind, obj, None)

    def _change(self, key: Key, obj: Object) -> Event | None:
        obj["apiVersion"], obj["kind"] = self.gvk.api_version, self.gvk.kind  # lists of built-in kinds lack them
        before = self._entries.get(key)
        if before is not None and before.version == _version(obj):
            return None
        old = before.read() if before is not None else None
        self._put(key, obj)
        return Event(self.kind, old, obj)

    def _put(self, key: Key, obj: Object) -> None:
        if key in self._entries:
            self._unindex(key)
        values = tuple((name, value) for name, indexer in self._indexers.items() for value in indexer(obj))
        labels = (obj.get("metadata") or {}).get("labels") or {}
        self._entries[key] = Entry(orjson.dumps(obj), _version(obj), labels, values)
        for value in values:
            self._index.setdefault(value, {})[key] = None

    def _remove(self, key: Key) -> Object:
        self._unindex(key)
        return self._entries.pop(key).read()

    def _unindex(self, key: Key) -> None:
        for value in self._entries[key].values:
            keys = self._index[value]
            keys.pop(key, None)
            if not keys:
                del self._index[value]

    # Read by reconciles

    def get(self, key: Key) -> Object:
        """Return one object. Raises ``NotFound``."""
        entry = self._entries.get(key)
        if entry is None:
            raise not_found(self.gvk.group, self.plural, key.name)
        return entry.read()

    def list(
        self, *, namespace: str = "", labels: str = "", fields: str = "", index: tuple[str, str] | None = None
    ) -> list[Object]:
        """Return the objects that the selectors match, sorted by namespace and name."""
        keys: Iterable[Key] = self._entries
        if index is not None:
            if index[0] not in self._indexers:
                known = ", ".join(sorted(self._indexers))
                raise BadRequest(f"{self.kind} has no index {index[0]!r}; there are: {known}")
            keys = self._index.get(index, ())
        if namespace:
            keys = [key for key in keys if key.namespace == namespace]
        if labels:
            selector = parse_selector(labels)
            keys = [key for key in keys if selector.matches(self._entries[key].labels)]
        objects = [self._entries[key].read() for key in sorted(keys)]
        if fields:
            wanted = parse_field_selector(fields)
            names = [requirement.field for requirement in wanted.requirements]
            objects = [obj for obj in objects if wanted.matches({name: _field(obj, name) for name in names})]
        return objects

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def versions(self) -> dict[Key, int]:
        """Return the version of each object."""
        return {key: entry.version for key, entry in self._entries.items()}


class Cache:
    """The views of all cached kinds, and the handlers of their events."""

    def __init__(self, *, monotonic: bool = True) -> None:
        self.monotonic = monotonic
        self.views: dict[str, View] = {}
        self._handlers: dict[str, list[Handler]] = {}

    def view(self, kind: str, *, plural: str = "") -> View:
        """Return the view of a kind; a new one is empty."""
        view = self.views.get(kind)
        if view is None:
            view = self.views[kind] = View(kind, plural=plural, monotonic=self.monotonic)
        elif plural:
            view.plural = plural
        return view

    def on_event(self, kind: str, handler: Handler) -> None:
        """Call ``handler`` for each change of a kind (of all kinds, when it is empty), once the view has it."""
        self._handlers.setdefault(kind, []).append(handler)

    def deliver(self, events: Iterable[Event]) -> None:
        """Call the handlers."""
        for event in events:
            for kind in ("", event.kind):
                for handler in self._handlers.get(kind, ()):
                    handler(event)

    @property
    def has_synced(self) -> bool:
        """True once every kind has been listed."""
        return all(view.synced for view in self.views.values())

    def get(self, kind: str, key: Key) -> Object:
        """Return one object as it is in the cache. Raises ``NotFound``."""
        return self.view(kind).get(key)

    def list(
        self,
        kind: str,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        index: tuple[str, str] | None = None,
    ) -> list[Object]:
        """Return the objects of a kind that the selectors match, as they are in the cache."""
        return self.view(kind).list(namespace=namespace, labels=labels, fields=fields, index=index)

    def answer(self, call: Call) -> Any:
        """Return the response to a cached read."""
        view = self.view(call.kind)
        if call.verb == "get":
            return view.get(call.key)
        query = dict(call.query)
        name, equals, value = query.get("index", "").partition("=")
        items = view.list(
            namespace=call.namespace,
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            index=(name, value) if equals else None,
        )
        return {"metadata": {"resourceVersion": str(view.version)}, "items": items}


def _version(obj: Object) -> int:
    return int((obj.get("metadata") or {}).get("resourceVersion") or 0)


def _field(obj: Object, path: str) -> str:
    """Return a field as a selector compares it: text, empty when the field is missing."""
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None or isinstance(value, (dict, list)):
        return ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
