"""A state in a file: portable JSON, written whole or not at all, readable by people and by other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson

from kontend.cluster.state import State
from kontend.safe_files import write_private
from kontend.serve.storage.record import Counters, Row, all_rows, rebuild

_KIND: Final = "kontend.dev/Snapshot"
_FORMAT: Final = 1


class BadSnapshot(Exception):
    """A file that is not a snapshot; the message names it and says why."""


def save(state: State, path: Path) -> None:
    """Write a state to a file."""
    counters = Counters.of(state)
    document = {
        "kind": _KIND,
        "format": _FORMAT,
        "resourceVersion": counters.resource_version,
        "serial": counters.serial,
        "now": counters.now,
        "historyBegins": counters.floor,
        "versions": [_document(row) for row in all_rows(state)],
    }
    write_private(path, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _document(row: Row) -> dict[str, Any]:
    return {
        "resourceVersion": row.resource_version,
        "resource": row.resource,
        "namespace": row.namespace,
        "name": row.name,
        "object": None if row.body is None else orjson.loads(row.body),
        "managedFields": orjson.loads(row.managed) if row.managed else [],
        "replaced": row.replaced,
    }


def load(path: Path) -> State:
    """Read a state from a file."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BadSnapshot(f"{path}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise BadSnapshot(f"{path}: not a snapshot: {error}") from None
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise BadSnapshot(f"{path}: not a snapshot: expected kind {_KIND}")
    if document.get("format") != _FORMAT:
        raise BadSnapshot(f"{path}: written by another version of kontend (format {document.get('format')})")
    try:
        counters = Counters(*(int(document[name]) for name in ("resourceVersion", "serial", "now", "historyBegins")))
        rows = sorted(_row(version) for version in document["versions"])
        return rebuild(rows, counters)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadSnapshot(f"{path}: damaged: {type(error).__name__}: {error}") from None


def _row(document: dict[str, Any]) -> Row:
    obj = document["object"]
    return Row(
        int(document["resourceVersion"]),
        str(document["resource"]),
        str(document["namespace"]),
        str(document["name"]),
        None if obj is None else orjson.dumps(obj, option=orjson.OPT_SORT_KEYS),
        orjson.dumps(document["managedFields"], option=orjson.OPT_SORT_KEYS),
        int(document["replaced"]),
    )
