"""``metadata.managedFields``, the owners of an object's fields: decoding, encoding and ordering.

The list is kept beside the object, decoded, as a tuple of :class:`ManagedEntry`; sets of fields are shared between all
entries that have the same. What changes ownership is in :mod:`kontend.kube.apply.field_manager` and
:mod:`kontend.kube.apply.server_side`; here are the entries themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import orjson

from kontend.kube.apply.field_set import FieldSet, MalformedFields, Tree, is_member, union
from kontend.kube.field_errors import go_json, go_quote

Operation: TypeAlias = Literal["Apply", "Update"]
#: The identity of a manager: name, operation, apiVersion (of updates only) and subresource.
Identity: TypeAlias = tuple[str, Operation, str, str]

#: Entries that updates may leave behind before the oldest are put together.
MOST_UPDATES: Final = 10
_OLD_UPDATES: Final = "ancient-changes"


class InvalidManagedFields(ValueError):
    """A list of managed fields that the server would not take."""


@dataclass(frozen=True, slots=True)
class ManagedEntry:
    """The fields of one manager, with operation, version and subresource, and the time of its last write or ``""``."""

    manager: str
    operation: Operation
    api_version: str
    time: str
    subresource: str
    fields: FieldSet
    _json: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def identity(self) -> Identity:
        """Two entries with the same identity are one."""
        return self.manager, self.operation, self.api_version if self.operation == "Update" else "", self.subresource

    @property
    def json(self) -> bytes:
        """The entry as canonical JSON."""
        if not self._json:
            head: dict[str, str] = {"manager": self.manager, "operation": self.operation}
            if self.subresource:
                head["subresource"] = self.subresource
            if self.time:
                head["time"] = self.time
            version = orjson.dumps(self.api_version)
            fields = b'{"apiVersion":' + version + b',"fieldsType":"FieldsV1","fieldsV1":' + self.fields.json + b","
            self._json.append(fields + orjson.dumps(head)[1:])
        return self._json[0]

    def replace(self, *, fields: FieldSet, api_version: str | None = None) -> ManagedEntry:
        """Return the same manager's entry with other fields, and maybe at another version."""
        version = self.api_version if api_version is None else api_version
        return managed_entry(self.manager, self.operation, version, self.time, self.subresource, fields)


ManagedFields: TypeAlias = tuple[ManagedEntry, ...]

#: Makes an entry, or finds it: branches of one history write the same ones, and can share them and their JSON.
managed_entry: Final = lru_cache(maxsize=65536)(ManagedEntry)


def _order(entry: ManagedEntry) -> tuple[str, str, str, str, str]:
    return entry.operation, entry.time, entry.manager, entry.api_version, entry.subresource


def in_order(entries: Iterable[ManagedEntry]) -> ManagedFields:
    """Return the entries as the server lists them: applies first, then the older before the newer."""
    return tuple(sorted(entries, key=_order))


def encode(managed: ManagedFields) -> list[dict[str, Any]]:
    """Return the list for ``metadata.managedFields``; all of it fresh."""
    encoded: list[dict[str, Any]] = orjson.loads(encode_json(managed))
    return encoded


def encode_json(managed: ManagedFields) -> bytes:
    """Return the same as JSON.

    >>> encode_json(decode([{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": "m"}]))
    b'[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"manager":"m","operation":"Update"}]'
    """
    return b"[" + b",".join([entry.json for entry in managed]) + b"]"


def decode(raw: Any) -> ManagedFields:
    """Return the entries of a list that a client sent. Raises :class:`InvalidManagedFields` in the server's words."""
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(entry, dict) for entry in raw):
        raise InvalidManagedFields("managedFields must be a list of objects")
    entries = {}
    for index, item in enumerate(raw):
        entry = _decode_entry(item, index)
        entries[entry.identity] = entry
    return in_order(entries.values())


def _decode_entry(raw: dict[str, Any], index: int) -> ManagedEntry:
    operation, fields_type = raw.get("operation"), raw.get("fieldsType")
    if operation != "Apply" and operation != "Update":
        raise InvalidManagedFields("operation must be `Apply` or `Update`")
    texts = [raw.get(name) or "" for name in ("manager", "apiVersion", "subresource")]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidManagedFields(f"manager, apiVersion and subresource of entry {index} must be strings")
    manager, api_version, subresource = texts
    if not api_version:
        raise InvalidManagedFields("apiVersion must not be empty")
    if not fields_type:
        raise InvalidManagedFields(f"missing fieldsType in managed fields entry {index}")
    if fields_type != "FieldsV1":
        raise InvalidManagedFields(f"invalid fieldsType {go_quote(str(fields_type))} in managed fields entry {index}")
    try:
        fields = FieldSet.parse(raw.get("fieldsV1") or {})
    except (MalformedFields, RecursionError) as error:
        raise InvalidManagedFields(f"error decoding versioned set: error decoding set: {error}") from None
    return managed_entry(manager, operation, api_version, _decode_time(raw.get("time")), subresource, fields)


def _decode_time(raw: Any) -> str:
    """Return a time in the one form that the server writes: UTC, whole seconds."""
    if raw is None:
        return ""
    if not isinstance(raw, str):
        raise InvalidManagedFields(f"not a time: {raw}")
    return _parse_time(raw)


@lru_cache(maxsize=4096)
def _parse_time(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        pass
    raise InvalidManagedFields(f"not a time: {text}")


def is_reset(raw: Any) -> bool:
    """Report whether a request resets the managed fields: an empty list, or one with a single empty entry.

    >>> is_reset([]), is_reset([{}]), is_reset(None), is_reset([{"manager": "m"}])
    (True, True, False, False)
    """
    return isinstance(raw, list) and (not raw or raw == [{}])


def keep_times(old: ManagedFields, new: ManagedFields) -> ManagedFields:
    """``old`` if ``new`` differs from it in times only. For writes that change nothing else in the object."""
    if len(old) == len(new) and all(
        a.fields == b.fields and a.identity == b.identity and a.api_version == b.api_version
        for a, b in zip(old, new, strict=True)
    ):
        return old
    return new


def cap_updates(managed: ManagedFields) -> ManagedFields:
    """At most :data:`MOST_UPDATES` entries of updates: the oldest of a version become one, without a name."""
    excess = sum(entry.operation == "Update" for entry in managed) - MOST_UPDATES
    if excess <= 0:
        return managed
    by_identity = {entry.identity: entry for entry in managed}
    updates = [entry for entry in managed if entry.operation == "Update"]
    updates.sort(key=lambda entry: (entry.time, identity_text(entry.identity)))
    first: dict[str, Identity] = {}
    for entry in updates:
        if excess <= 0:
            break
        version = entry.api_version
        if version not in first:
            first[version] = entry.identity
            continue
        bucket: Identity = (_OLD_UPDATES, "Update", version, "")
        if bucket not in by_identity:
            by_identity[bucket] = by_identity.pop(first[version])
        fields = FieldSet(union(entry.fields.tree, by_identity[bucket].fields.tree))
        by_identity[bucket] = managed_entry(_OLD_UPDATES, "Update", version, entry.time, "", fields)
        del by_identity[entry.identity]
        excess -= 1
    return in_order(by_identity.values())


def identity_text(identity: Identity) -> str:
    """Return the identity as the JSON by which the server sorts managers."""
    names = ("manager", "operation", "apiVersion", "subresource")
    parts = [f'"{name}":{go_json(value)}' for name, value in zip(names, identity, strict=True) if value]
    return "{" + ",".join(parts) + "}"


def owns(tree: Tree, path: Iterable[str]) -> bool:
    """Report whether the field at a path of field names is in the set."""
    node: Tree | None = tree
    for name in path:
        node = None if node is None else node.get("f:" + name)
    return is_member(node)
