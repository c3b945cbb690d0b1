"""An object as it was read, and the changes made to it since.

Every safe write begins with a snapshot: take it before the object is changed, change the object, and send the
difference with the version that was read. An object that cannot be written (None, not read, without a version to lock)
is refused at the snapshot, before anything is changed or sent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from kontend.cluster.request import MERGE_PATCH
from kontend.kube.encoding.json_text import canonical
from kontend.kube.encoding.plain_data import plain_bytes, plain_value
from kontend.kube.errors import WrongObject
from kontend.kube.json_types import Object
from kontend.kube.meta.named import shown
from kontend.kube.patches.merge_patch import merge_patch_diff
from kontend.kube.schema.pruning import copy_json
from kontend.runtime.client.patches import Patch, raw

Mutate = Callable[[Object], object]


class Snapshot:
    """An object as it was read."""

    __slots__ = ("_content", "_data", "generation", "version")

    def __init__(self, obj: Object) -> None:
        metadata = obj["metadata"]
        generation = metadata.get("generation")
        #: The resourceVersion that was read.
        self.version = str(metadata.get("resourceVersion") or "")
        #: The generation that was read, for kinds that count them.
        self.generation: int | None = generation if isinstance(generation, int) else None
        # Most objects never change, and none is read back then.
        self._data = _data(obj)
        self._content: Object | None = None if self._data else copy_json(obj)

    @classmethod
    def of(cls, obj: Any, caller: str, *, lock: bool = True) -> Snapshot:
        """Copy ``obj``. Raises :class:`WrongObject`, with the name of ``caller``, when it cannot be written."""
        if not isinstance(obj, dict):
            raise WrongObject(
                f"{caller}: expected an object that was read (a dict with apiVersion, kind and metadata), found {obj!r}"
            )
        metadata = obj.get("metadata")
        for field in ("apiVersion", "kind"):
            if not isinstance(obj.get(field), str) or not obj[field]:
                raise WrongObject(f"{caller}: the object has no {field}; objects that were read have one")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise WrongObject(f"{caller}: the object has no metadata.name; objects that were read have one")
        if lock and (not isinstance(metadata.get("resourceVersion"), str) or not metadata["resourceVersion"]):
            raise WrongObject(
                f"{caller}: the {obj['kind']} {metadata['name']!r} has no resourceVersion to lock; "
                "pass an object that was read"
            )
        return cls(obj)

    @property
    def content(self) -> Object:
        """The object, which nobody may change."""
        if self._content is None:
            self._content = plain_value(self._data)
        return self._content

    def changes(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes in ``obj`` as a merge patch. A field that was absent and is null has not changed."""
        if self._data and _data(obj) == self._data:
            return {}
        before: Mapping[str, Any] = self.content
        if before.get("status") is None:  # an empty status is made so that something can be put into it
            before = {**before, "status": {}}
            obj = {**obj, "status": obj.get("status") or {}}
        diff = merge_patch_diff(before, obj)
        _forget_nulls(diff, before)
        return diff

    def status_changes(self, obj: Mapping[str, Any], caller: str) -> Any:
        """Return the changes in the status, ``{}`` for none. Raises :class:`WrongObject` for any other change."""
        changes = self.changes(obj)
        status = changes.pop("status", {})
        if changes:
            raise WrongObject(
                f"{caller}: {_first_path(changes)} was changed, but this writes only the status; "
                "use mutate_object for spec and metadata"
            )
        return status

    def patch(self, changes: Mapping[str, Any], *, lock: bool) -> Patch:
        """Return a merge patch of ``changes``; with ``lock`` the server refuses it if the object has changed since."""
        body = dict(changes)
        if lock:
            body["metadata"] = {**(body.get("metadata") or {}), "resourceVersion": self.version}
        return raw(MERGE_PATCH, canonical(body))

    def restore(self, obj: Object) -> None:
        """Restore ``obj`` to the copy."""
        content = plain_value(self._data) if self._data else copy_json(self.content)
        obj.clear()
        obj.update(content)


def _data(obj: Any) -> bytes:
    """All of an object; empty if something in it is not plain."""
    try:
        return plain_bytes(obj)
    except ValueError:
        return b""


def metadata_of(obj: Any, caller: str) -> dict[str, Any]:
    """Return the metadata of an object, to be changed in place; there always is some."""
    if not isinstance(obj, dict):
        expected = "an object (a dict with apiVersion, kind and metadata)"
        raise WrongObject(f"{caller}: expected {expected}, found {shown(obj)}")
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise WrongObject(f"{caller}: metadata: expected a dict, found {metadata!r}")
    return metadata


def apply_mutation(mutate: Mutate, obj: Object, caller: str) -> None:
    """Apply the user's function to ``obj``."""
    answer = mutate(obj)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise WrongObject(f"{caller}: mutate must be a plain function, not async: it changes the object in memory")


def check_mutation(mutate: Any, caller: str) -> None:
    """Raise :class:`WrongObject` for a ``mutate`` that cannot be called."""
    if not callable(mutate):
        raise WrongObject(f"{caller}: expected a function that changes the object, found {mutate!r}")


def _forget_nulls(diff: dict[str, Any], old: Mapping[str, Any]) -> None:
    for key in list(diff):
        change, before = diff[key], old.get(key)
        if change is None and before is None:
            del diff[key]
        elif isinstance(change, dict) and isinstance(before, dict):
            _forget_nulls(change, before)
            if not change:
                del diff[key]


def _first_path(changes: Mapping[str, Any]) -> str:
    key, change = next(iter(changes.items()))
    return f"{key}.{_first_path(change)}" if isinstance(change, dict) and change else str(key)
