"""Objects as clients show them in lists: the ``Table`` of ``kubectl get``, and metadata alone.

Which columns a built-in kind has, with their descriptions, is data taken from the server's source; what stands in them
is computed in :mod:`kontend.kube.printing.kind_cells`. Custom resources bring their columns along as JSONPaths. Every
other kind has a name and the time of its creation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Final

import orjson

from kontend.kube.errors import BadRequest
from kontend.kube.field_errors import go_float, go_json, go_quote
from kontend.kube.json_types import Json
from kontend.kube.printing.ages import age
from kontend.kube.printing.json_path import BadPath, find, parse
from kontend.kube.printing.kind_cells import CELLS, row_conditions

META: Final = "meta.k8s.io/v1"


@lru_cache(maxsize=1)
def _columns() -> dict[str, list[Json]]:
    data = resources.files("kontend.kube").joinpath("data/table_columns.json").read_bytes()
    names = ("name", "type", "format", "description", "priority")
    table: dict[str, list[list[Any]]] = orjson.loads(data)
    return {kind: [dict(zip(names, row, strict=True)) for row in rows] for kind, rows in table.items()}


def table(
    group: str,
    kind: str,
    objects: Sequence[Mapping[str, Any]],
    *,
    columns: Sequence[Mapping[str, Any]] | None = None,
    shown: Sequence[Mapping[str, Any]] | None = None,
    now: str,
    include_object: str = "Metadata",
    headers: bool = True,
) -> Json:
    """Return a ``Table`` with a row for each object.

    ``columns`` are the printer columns of a custom resource, none of them meaning the server's default; ``None`` is for
    built-in kinds. ``shown`` are the objects to include, where they are printed in another form. ``now`` is what ages
    are counted from. Watches have ``headers`` only in their first event.

    >>> made = {"metadata": {"name": "c", "creationTimestamp": "2026-01-01T00:00:00Z"}, "data": {"a": "1"}}
    >>> table("", "ConfigMap", [made], now="2026-01-01T00:01:00Z", include_object="None")["rows"]
    [{'cells': ['c', 1, '60s'], 'object': None}]
    """
    if include_object not in ("", "Metadata", "Object", "None"):
        why = (
            f"includeObject: Invalid value: {go_quote(include_object)}: must be 'Metadata', 'Object', 'None', or empty"
        )
        raise BadRequest(f"Unable to convert to Table as requested: {why}")
    rows: list[Json] | None
    if columns is not None:
        definitions = _custom_columns(columns)
        readable = _readable(columns) if columns else _AGE_COLUMN
        rows = [{"cells": _custom_cells(obj, readable, now)} for obj in objects]
    elif kind in CELLS and group in CELLS[kind].groups:
        definitions = _columns()[kind]
        if kind == "FlowSchema":  # in the order in which they are matched
            order = sorted(range(len(objects)), key=lambda index: _precedence(objects[index]))
            shown = None if shown is None else [shown[index] for index in order]
            objects = [objects[index] for index in order]
        rows = [{"cells": CELLS[kind].of(obj, now), **row_conditions(kind, obj)} for obj in objects]
    else:
        definitions = _columns()[""]
        # The server's fallback leaves an empty list of rows nil.
        rows = [{"cells": _default_cells(obj)} for obj in objects] or None
    for index, row in enumerate(rows or ()):
        whole = include_object == "Object" and shown is not None
        row["object"] = _shown(shown[index] if whole and shown is not None else objects[index], include_object)
    result: Json = {"kind": "Table", "apiVersion": META, "metadata": {}, "columnDefinitions": None, "rows": rows}
    if headers:
        result["columnDefinitions"] = definitions
    return result


def _precedence(schema: Mapping[str, Any]) -> tuple[int, str]:
    return (schema.get("spec") or {}).get("matchingPrecedence") or 0, (schema.get("metadata") or {}).get("name", "")


def _shown(obj: Mapping[str, Any], include_object: str) -> Any:
    if include_object == "Object":
        return obj
    return None if include_object == "None" else partial_metadata(obj)


def partial_metadata(obj: Mapping[str, Any]) -> Json:
    """Return an object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj.get("metadata") or {}}


def partial_metadata_list(body: Mapping[str, Any]) -> Json:
    """Return a list reduced to the metadata of its items; an empty one has null for items, as the server's has."""
    metadata = body.get("metadata") or {}
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": META,
        "metadata": {key: metadata[key] for key in _LIST_METADATA if metadata.get(key)},
        "items": [partial_metadata(item) for item in body.get("items") or ()] or None,
    }


_LIST_METADATA: Final = ("resourceVersion", "continue", "remainingItemCount")


def _default_cells(obj: Mapping[str, Any]) -> list[Any]:
    metadata = obj.get("metadata") or {}
    return [metadata.get("name", ""), metadata.get("creationTimestamp") or "0001-01-01T00:00:00Z"]


# Custom resources


#: Go writes a float without a fraction like an integer, up to this one.
_SMALLEST_WITH_EXPONENT: Final = 1e21
_AGE_COLUMN: Final = ({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},)


def _custom_columns(columns: Sequence[Mapping[str, Any]]) -> list[Json]:
    name, created = _columns()[""]
    if not columns:
        return [name, {**created, "name": "Age"}]
    return [
        name,
        *(
            {
                "name": column.get("name", ""),
                "type": column.get("type", ""),
                "format": column.get("format", ""),
                "description": column.get("description")
                or f"Custom resource definition column (in JSONPath format): {column.get('jsonPath', '')}",
                "priority": column.get("priority", 0),
            }
            for column in _readable(columns)
        ),
    ]


def _readable(columns: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the columns before the first one whose path cannot be read: the server shows no more than these."""
    for index, column in enumerate(columns):
        try:
            parse(column.get("jsonPath", ""))
        except BadPath:
            return columns[:index]
    return columns


def _custom_cells(obj: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], now: str) -> list[Any]:
    cells: list[Any] = [(obj.get("metadata") or {}).get("name", "")]
    for column in columns:
        values = find(column.get("jsonPath", ""), obj)
        cells.append(_cell(column.get("type", ""), values[0], now) if values else None)
    return cells


def _cell(column_type: str, value: Any, now: str) -> Any:
    """Return a value as a column of that type shows it; None where it does not fit."""
    if value is None:
        return "<no value>" if column_type == "string" else None
    if column_type == "string":
        return _text(value)
    if column_type == "date":
        return age(value, now) if isinstance(value, str) else None
    if column_type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if column_type == "integer":
        return int(value)
    if column_type != "number":
        return None
    return int(value) if abs(value) < _SMALLEST_WITH_EXPONENT and value == int(value) else float(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else go_json(value)
