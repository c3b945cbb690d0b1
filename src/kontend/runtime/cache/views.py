"""What a manager knows of the server: for each kind its objects as they were at one version.

The cache does not talk to anyone. Whoever watches the server (over HTTP or in process) hands lists and events to a
:class:`View`; reconciles read from it. An object is kept as JSON, so that each read gets a copy of its own and nobody
can change what others read.

With ``monotonic`` a view never goes back: a list older than what was shown is refused, and so is an older version of an
object.
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
    """A list that is older than what was seen or written before; showing it would be going back in time."""


class Entry(NamedTuple):
    """One object in the cache."""

    body: bytes
    version: int
    labels: Mapping[str, str]
    values: tuple[tuple[str, str], ...]

    def read(self) -> Object:
        """A fresh copy."""
        obj: Object = orjson.loads(self.body)
        return obj


class View:
    """The objects of one kind, as of one version."""

    def __init__(self, kind: str, *, plural: str = "", monotonic: bool = True) -> None:
        self.kind = kind
        self.named = parse_kind(kind)
        self.plural = plural or self.named.kind.lower()
        self.monotonic = monotonic
        #: The highest version seen, in a list, an event or a bookmark.
        self.version = 0
        #: Whether a whole list has been seen.
        self.synced = False
        #: A list must not be older than this: what was written, or seen before a restart.
        self.floor = 0
        self._entries: dict[Key, Entry] = {}
        self._indexers: dict[str, Indexer] = {OWNER: owner_uids}
        self._index: dict[tuple[str, str], dict[Key, None]] = {}

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Find objects by the values of a function."""
        known = self._indexers.setdefault(name, indexer)
        if known is not indexer:
            raise BadRequest(f"{self.kind}: two different indexes are called {name!r}; rename one")
        for key, entry in list(self._entries.items()):
            self._put(key, entry.read())

    # What the watcher tells

    def replace(self, items: Iterable[Object], version: int) -> list[Event]:
        """A whole list was read: everything else is gone. Returns what changed."""
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
        self.version = version
        self.synced = True
        return events

    def apply(self, type: str, obj: Object) -> Event | None:
        """A watch said something. Returns what changed, if anything."""
        version = _version(obj)
        if type == "BOOKMARK":
            self.version = max(self.version, version)
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
        obj["apiVersion"], obj["kind"] = self.named.api_version, self.named.kind  # lists of built-in kinds lack them
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

    # What reconciles ask

    def get(self, key: Key) -> Object:
        """One object. Raises ``NotFound``."""
        entry = self._entries.get(key)
        if entry is None:
            raise not_found(self.named.group, self.plural, key.name)
        return entry.read()

    def list(
        self, *, namespace: str = "", labels: str = "", fields: str = "", index: tuple[str, str] | None = None
    ) -> list[Object]:
        """The objects that the selectors match, sorted by namespace and name."""
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
        found = [self._entries[key].read() for key in sorted(keys)]
        if fields:
            wanted = parse_field_selector(fields)
            names = [requirement.field for requirement in wanted.requirements]
            found = [obj for obj in found if wanted.matches({name: _field(obj, name) for name in names})]
        return found

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def versions(self) -> dict[Key, int]:
        """The version of each object."""
        return {key: entry.version for key, entry in self._entries.items()}


class Cache:
    """The views of all kinds that somebody is interested in, and who wants to hear of changes."""

    def __init__(self, *, monotonic: bool = True) -> None:
        self.monotonic = monotonic
        self.views: dict[str, View] = {}
        self._handlers: dict[str, list[Handler]] = {}

    def view(self, kind: str, *, plural: str = "") -> View:
        """The view of a kind; an empty one at first."""
        view = self.views.get(kind)
        if view is None:
            view = self.views[kind] = View(kind, plural=plural, monotonic=self.monotonic)
        elif plural:
            view.plural = plural
        return view

    def on_event(self, kind: str, handler: Handler) -> None:
        """Call ``handler`` for each change of a kind (of all, when it is empty), after the view has it."""
        self._handlers.setdefault(kind, []).append(handler)

    def deliver(self, events: Iterable[Event]) -> None:
        """Tell the handlers."""
        for event in events:
            for kind in ("", event.kind):
                for handler in self._handlers.get(kind, ()):
                    handler(event)

    @property
    def has_synced(self) -> bool:
        """Whether every kind has been listed."""
        return all(view.synced for view in self.views.values())

    def get(self, kind: str, key: Key) -> Object:
        """One object as the cache knows it. Raises ``NotFound``."""
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
        """The objects of a kind that the selectors match, as the cache knows them."""
        return self.view(kind).list(namespace=namespace, labels=labels, fields=fields, index=index)

    def answer(self, call: Call) -> Any:
        """What a cached read gets."""
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
    """A field as a selector sees it: text, empty when it is not there."""
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None or isinstance(value, (dict, list)):
        return ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
