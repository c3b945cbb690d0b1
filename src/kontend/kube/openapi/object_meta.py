"""Metadata of custom resources, decoded as the server decodes it.

The schema of a definition says nothing about ``metadata``: it goes through the Go type that all kinds share.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kontend.kube.encoding.decode import decode
from kontend.kube.kinds import type_schema
from kontend.kube.schema.tree import Schema


@lru_cache(maxsize=1)
def _schema() -> Schema:
    return type_schema("meta/v1.ObjectMeta")


def coerce_object_meta(raw: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata of a custom resource as the server keeps it, and the paths of the fields that it does not
    know.

    Raises :class:`~kontend.kube.errors.BadRequest` for values of the wrong type, with Go's message. ``raw``
    is used up: parts of it become parts of the result.

    >>> coerce_object_meta({"name": "w", "color": "red", "labels": {}, "creationTimestamp": None})
    ({'name': 'w'}, ['metadata.color'])
    """
    if not isinstance(raw, dict):
        return decode(raw, _schema())
    # The server writes the metadata out again, keys sorted, before it decodes it: that decides which mistake is first.
    meta, unknown = decode({key: raw[key] for key in sorted(raw)}, _schema())
    return meta, [f"metadata.{path}" for path in unknown]
