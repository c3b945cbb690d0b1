"""Objects as a log has them: without what the server adds to every write, and without secrets.

Values of Secrets are replaced by numbers, equal ones by the same: a report can show that a value changed and must never
show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

_DROPPED: Final = frozenset({"managedFields", "selfLink"})
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET: Final = ("data", "stringData")


class Contents:
    """Makes contents of logged objects."""

    def __init__(self) -> None:
        self._secrets: dict[str, int] = {}

    def of(self, obj: Mapping[str, Any], *, secret: bool) -> bytes:
        """Return an object as canonical JSON."""
        metadata = obj.get("metadata")
        kept = {**obj}
        if isinstance(metadata, Mapping):
            kept["metadata"] = {name: value for name, value in metadata.items() if name not in _DROPPED}
        if secret:
            self._hide(kept)
        # A copy: the bytes that orjson returns keep its whole buffer in memory.
        return bytes(memoryview(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)))

    def _hide(self, obj: dict[str, Any]) -> None:
        for name in _SECRET:
            values = obj.get(name)
            if isinstance(values, Mapping):
                obj[name] = {key: self._number(value) for key, value in values.items()}
        annotations = obj.get("metadata", {}).get("annotations")
        if isinstance(annotations, Mapping) and _LAST_APPLIED in annotations:
            hidden = {**annotations, _LAST_APPLIED: self._number(annotations[_LAST_APPLIED])}
            obj["metadata"] = {**obj["metadata"], "annotations": hidden}

    def _number(self, value: Any) -> str:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        # Hashes, so that the values themselves do not stay in memory for the length of a log.
        return f"(secret {self._secrets.setdefault(str(hash(text)), len(self._secrets) + 1)})"


def version_of(obj: Any) -> int | None:
    """Return the resourceVersion of an object; None where it has none that can be compared.

    >>> version_of({"metadata": {"resourceVersion": "7"}}), version_of({"metadata": {}})
    (7, None)
    """
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    text = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() and int(text) > 0 else None


def uid_of(obj: Any) -> str:
    """Return the uid of an object, or nothing."""
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    return uid if isinstance(uid, str) else ""


def kind_of(obj: Any) -> str:
    """Return the kind as traces show it, such as ``Deployment.apps/v1``."""
    if not isinstance(obj, Mapping) or not isinstance(obj.get("kind"), str) or not obj.get("apiVersion"):
        return ""
    group, slash, version = str(obj["apiVersion"]).rpartition("/")
    return f"{obj['kind']}.{group}/{version}" if slash else f"{obj['kind']}/{version}"


def is_object(response: Any, name: str, kind: str) -> bool:
    """Return whether the response is the object itself, not a status or a view of it."""
    if not isinstance(response, Mapping) or kind_of(response) != kind:
        return False
    metadata = response.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("name") == name


def is_gone(obj: Mapping[str, Any], *, deletes: bool) -> bool:
    """Nothing keeps an object any more that is being deleted."""
    metadata = obj["metadata"]
    return (deletes or bool(metadata.get("deletionTimestamp"))) and not metadata.get("finalizers")
