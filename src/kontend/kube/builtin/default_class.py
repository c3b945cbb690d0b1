"""The class of an object that names none: the one that an annotation marks as the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def default_class(classes: Iterable[Mapping[str, Any]], *annotations: str) -> str:
    """Return the name of the marked class, the newest of several and of equally new ones the first by name; or nothing.

    >>> default_class([{"metadata": {"name": "a", "annotations": {"default": "true"}}}], "default")
    'a'
    """
    marked = [
        metadata
        for metadata in (candidate.get("metadata") or {} for candidate in classes)
        if any((metadata.get("annotations") or {}).get(annotation) == "true" for annotation in annotations)
    ]
    marked.sort(key=lambda metadata: str(metadata["name"]))
    marked.sort(key=lambda metadata: str(metadata.get("creationTimestamp") or ""), reverse=True)
    return str(marked[0]["name"]) if marked else ""
