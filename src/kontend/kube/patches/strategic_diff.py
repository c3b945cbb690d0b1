"""Making strategic merge patches: what turns one object into another, in as few words as the schema allows.

Fields that are gone are null, lists that are replaced stand there whole, lists that are merged only with their changed
items, a ``$patch: delete`` for each one that is gone, and ``$setElementOrder`` when anything in them changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kontend.kube.errors import ApiError
from kontend.kube.json_types import Json
from kontend.kube.patches.strategic_rules import (
    DELETIONS,
    MARKER,
    ORDER,
    RETAIN_KEYS,
    are_maps,
    check_merge_keys,
    failure,
    field_of,
    go_print,
    go_type_of,
    list_field_of,
    same,
    strategy_of,
)
from kontend.kube.schema.tree import Schema


def strategic_patch_diff(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> Json:
    """The strategic merge patch that turns ``old`` into ``new``.

    >>> item = Schema("object", properties={"name": Schema("string"), "image": Schema("string")})
    >>> items = Schema("array", items=item, patch_strategy="merge", patch_merge_key="name")
    >>> spec = Schema("object", properties={"containers": items})
    >>> old = {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}
    >>> new = {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]}
    >>> strategic_patch_diff(old, new, spec)["containers"]
    [{'image': 'b:2', 'name': 'b'}]
    """
    return _diff_maps(old, new, schema, retain_keys=False)


def _diff_maps(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema | None, *, retain_keys: bool) -> Json:
    patch: Json = {}
    for key, value in new.items():
        if key not in old:
            patch[key] = value
            continue
        before = old[key]
        if key == MARKER:
            if not isinstance(before, str) or not isinstance(value, str):
                raise failure(f"invalid value for special key: {MARKER}")
            if value != before:
                patch[key] = value
        elif go_type_of(before) != go_type_of(value):
            patch[key] = value
        elif isinstance(value, dict):
            _diff_field(patch, key, before, value, schema)
        elif isinstance(value, list):
            _diff_list_field(patch, key, before, value, schema)
        elif before != value:
            patch[key] = value
    gone = [key for key in old if key not in new]
    patch.update(dict.fromkeys(gone))
    if retain_keys:
        retained = sorted(key for key, value in new.items() if value is not None)
        if retained and (patch or any(old[key] is not None for key in gone)):
            patch[RETAIN_KEYS] = retained
    return patch


def _diff_field(patch: Json, key: str, before: Json, value: Json, schema: Schema | None) -> None:
    try:
        field = field_of(schema, key)
    except ApiError:
        if _equal(before, value):
            return
        raise
    retain_keys, strategy = strategy_of(field)
    if strategy == "replace":
        patch[key] = value
        return
    below = _diff_maps(before, value, field, retain_keys=retain_keys)
    if below:
        patch[key] = below


def _diff_list_field(patch: Json, key: str, before: list[Any], value: list[Any], schema: Schema | None) -> None:
    try:
        field = list_field_of(schema, key)
    except ApiError:
        if _equal(before, value):
            return
        raise
    retain_keys, strategy = strategy_of(field)
    if strategy != "merge":
        if not _equal(before, value):
            patch[key] = value
        return
    if not before:
        if value:
            patch[key] = value
        return
    deleted: list[Any] = []
    if are_maps(before, value):
        changed = _diff_items(before, value, field, retain_keys=retain_keys)
        merge_key = field.patch_merge_key
        keys = [item[merge_key] for item in value]
        reordered = [item[merge_key] for item in before] != keys
        order: list[Any] = [{merge_key: name} for name in keys] if changed or reordered else []
    else:
        changed, deleted = _diff_scalars(before, value)
        # The server's library has sorted the old list by the time it compares the two.
        order = [] if _equal(sorted(before, key=go_print), value) else value
    if changed:
        patch[key] = changed
    if deleted:
        patch[f"{DELETIONS}/{key}"] = deleted
    if order:
        patch[f"{ORDER}/{key}"] = order


def _diff_items(before: list[Any], value: list[Any], field: Schema, *, retain_keys: bool) -> list[Any]:
    """The changed and new items in the order of ``value``, then a deletion for each item that is gone."""
    key = field.patch_merge_key
    check_merge_keys(before, key)
    check_merge_keys(value, key)
    # Like the server's library, keys are compared by how they print: 80 and "80" are one.
    remaining = {go_print(item[key]): item for item in before}
    changed: list[Any] = []
    for item in value:
        old = remaining.pop(go_print(item[key]), None)
        if old is None:
            changed.append(item)
            continue
        below = _diff_maps(old, item, field.items, retain_keys=retain_keys)
        if below:
            changed.append({**below, key: item[key]})
    gone = sorted(remaining)
    return changed + [{MARKER: "delete", key: remaining[name][key]} for name in gone]


def _diff_scalars(before: list[Any], value: list[Any]) -> tuple[list[Any], list[Any]]:
    added = [item for item in value if not any(same(item, old) for old in before)]
    deleted = {go_print(item): item for item in before if not any(same(item, new) for new in value)}
    return added, [deleted[name] for name in sorted(deleted)]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return same(one, other)
